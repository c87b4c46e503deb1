"""Tables that cannot be judged in full: a record says what and why; no warning, traceback or silent NaN."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from planted.tables import scored
from score_tables import scores_of

import rewardkit as rk
from rewardkit.analysis.statistics.groups import LARGEST, overflows

INF, NAN = np.inf, np.nan
MANY = np.repeat(np.arange(20), 4)
HALF = np.tile([0.0, 1.0, 1.0, 0.0], 20)
THIRDS = np.arange(80) % 3 / 2


def plain(values=HALF, groups=MANY, **options):
    return scores_of({"c": values}, groups, **options)


def both(first=HALF, second=THIRDS, **options):
    return scores_of({"c": first, "d": second}, MANY, **options)


def rewritten(columns, places, value=INF, **options):
    """Scores in whose table a number is another, as one that somebody wrote or a transform gave."""
    scores = both(**options)
    table = scores.table.copy()
    table.loc[table.index[places], columns] = value
    return replace(scores, table=table)


def labelled(values):
    return both(weights={"d": 0.3}, columns={"label": values})


FOUR, HALF_INFINITE = [None] * 76 + [1.0, 0.0, 1.0, 0.0], [INF] * 40 + [1.0] * 40
CASES = {
    "one group": (plain([1.0, 0, 1], [0, 0, 0]), "not_enough", "only 1 group of two or more"),
    "groups of one": (plain(HALF, np.arange(80)), "not_enough", "no two of the 80 rewards are in one group"),
    "ragged groups": (plain([0, 1, 0.5, 1, 0], [0, 0, 0, 1, 2]), "not_enough", "only 1 group of two"),
    "nine groups": (plain(HALF[:36], MANY[:36]), "not_enough", "only 9 groups of two .*; 10 would do"),
    "one row": (plain([1.0], [0]), "not_enough", "no two of the 1 rewards"),
    "nothing judged": (both([NAN] * 80, [NAN] * 80), "not_enough", "none of the 80 rows has a reward"),
    "no weight": (plain(weights={"c": 0.0}), "not_enough", "no component has a weight"),
    "a component of NaN": (both(HALF, [NAN] * 80), "abstentions", "'d' was not judged in 100 %"),
    "constant everything": (plain(np.ones(80)), "constant", "is 1 on every scored row"),
    "a constant sum": (both(HALF, 1 - HALF), "opposed", "c, d cancel"),
    "infinite": (rewritten("reward", [3, 50]), "not_finite", r"infinite in 2 rows \(2.5 %\)"),
    "minus infinite": (rewritten("reward", [3], -INF), "not_finite", "The reward is infinite in 1 row"),
    "an infinite score": (rewritten("score/c", [3]), "not_finite", "Component 'c' is infinite in 1"),
    "1e200": (rewritten("reward", [3], 1e200), "not_finite", "as a trainer's float32 holds it"),
    "infinite everywhere": (rewritten("reward", range(80)), "not_finite", r"in 80 rows \(100 %\)"),
    "labels of four rows": (labelled(FOUR), "label_unusable", "only [34] pairs of siblings .* 100 would do"),
    "no label at all": (labelled([None] * 80), "label_unusable", "'label' holds no numbers"),
    "one label": (labelled([None] * 79 + [1.0]), "label_unusable", "not one of two values: it has 1"),
    "three labels": (labelled(np.arange(80) % 3 * 1.0), "label_unusable", "it has 0, 1, 2"),
    "words": (labelled(["yes"] * 80), "label_unusable", "'label' holds no numbers but 'yes'; make"),
    "infinite labels": (labelled(HALF_INFINITE), "label_unusable", "it has 1"),
    "a label of a component": (labelled(HALF), "label_unusable", "says what the component 'c' says"),
    "its reverse": (labelled(1 - HALF), "label_unusable", "says the reverse of the component 'c'"),
    "on a scale": (labelled(1 + 99 * HALF), "label_unusable", "says what the component 'c' says"),
}


@pytest.mark.parametrize(("scores", "code", "words"), CASES.values(), ids=list(CASES))
def test_a_record_says_what_cannot_be_computed_and_why_and_all_of_it_can_be_shown(scores, code, words):
    """Warnings are errors in these tests: numpy's of NaN and infinite values, too."""
    before, label = scores.table.copy(), "label" if code == "label_unusable" else None
    for scaling in ("group", "batch", "none"):
        training = {"scale_rewards": scaling, "num_generations": 8}
        diagnosis = rk.diagnose(scores, training=training, label=label)
        sentences = [item.sentence for item in diagnosis[code]]
        assert any(re.search(words, sentence) for sentence in sentences), sentences
        assert repr(diagnosis).startswith("made: ") and diagnosis._repr_html_()
        assert len(diagnosis.highest(3)) <= 3
        json.dumps(diagnosis.record(), default=str)
        for item in diagnosis.findings:
            assert math.isfinite(item.evidence.get("value", 0.0))
            assert item.code == "not_finite" or "nan" not in item.sentence.lower()
        for table in (diagnosis.components, diagnosis.group_signal):
            assert not table.empty and not np.isinf(table.select_dtypes("number").to_numpy(float)).any()
    assert scores.table.equals(before)  # the caller's


# infinite


def test_infinite_rewards_are_not_judged_in_the_figures_and_the_rest_is_as_before():
    scores = rewritten("reward", [3, 50])
    diagnosis, other = rk.diagnose(scores), rk.diagnose(rewritten("reward", [3, 50], NAN))
    assert np.isnan(diagnosis.scores.rewards[[3, 50]]).all()
    np.testing.assert_array_equal(diagnosis.views[0].advantages, other.views[0].advantages)
    told = [item.record() for item in diagnosis.findings if item.code != "not_finite"]
    assert told == [item.record() for item in other.findings]
    (found,) = diagnosis["not_finite"]
    assert (found.severity, found.component, found.evidence["infinite"]) == ("high", None, 2)
    assert found.rollout_ids == tuple(scores.table["rollout_id"].iloc[[3, 50]])


UNPAID, ENORMOUS = {"weights": {"d": 0.0}}, np.where(np.arange(80) == 7, 1e300, HALF)
INFINITE = {
    "as a score makes it so": (rewritten(["score/c", "reward"], [3]), [("c", "high")]),
    "a score that is returned": (plain(np.where(THIRDS == 1, INF, HALF)), [("c", "high")]),
    "a score that is not paid": (both(HALF, ENORMOUS, **UNPAID), [("d", "info")]),
    "beside one": (rewritten(["score/d", "reward"], [3], **UNPAID), [(None, "high"), ("d", "info")]),
}


@pytest.mark.parametrize(("scores", "expected"), INFINITE.values(), ids=list(INFINITE))
def test_an_infinite_reward_is_told_of_with_the_score_that_makes_it_so(scores, expected):
    diagnosis = rk.diagnose(scores)
    assert [(item.component, item.severity) for item in diagnosis["not_finite"]] == expected
    assert not diagnosis["errors"]


def test_the_largest_number_of_float32_is_one_and_the_next_is_not():
    numbers = [LARGEST, np.nextafter(LARGEST, INF), -2 * LARGEST, NAN, 0]
    assert overflows(np.array(numbers)).tolist() == [False, True, True, False, False]
    large, small = rk.diagnose(plain(LARGEST * HALF)), rk.diagnose(plain())
    assert {item.code for item in large.findings} == {item.code for item in small.findings}
    np.testing.assert_allclose(large.views[0].advantages, small.views[0].advantages, rtol=1e-3)


def test_infinite_numbers_of_other_columns_and_of_the_log_are_missing():
    speed = np.where(np.arange(80) % 3 == 0, 2.0, INF)
    diagnosis = rk.diagnose(both(columns={"speed": speed}), columns=["speed"])
    read = diagnosis.views[0].context.columns["speed"]
    assert diagnosis["column_bias"] == [] and set(read[~np.isnan(read)]) == {2.0}
    total = HALF.copy()
    total[:4] = INF
    assert (
        rk.diagnose(scored({"c": HALF}, MANY, logged={"score": total}, total="score"))["log_mismatch"] == []
    )
    total[4] = 0.25
    (found,) = rk.diagnose(scored({"c": HALF}, MANY, logged={"score": total}, total="score"))["log_mismatch"]
    assert (found.evidence["rows"], found.evidence["compared"], found.evidence["largest"]) == (1, 76, 0.25)


def test_enormous_grades_that_nearly_all_get_are_clustered_as_small_ones_are():
    grade = np.where(np.random.default_rng(0).random(800) < 0.04, np.arange(800) % 9 / 10, 0.7)
    groups = np.repeat(np.arange(100), 8)
    (small,), (large,) = (rk.diagnose(plain(scale * grade, groups))["clustered"] for scale in (1, 3.3e30))
    assert small.severity == "high"
    for figure in ("value", "tied_groups", "levels"):
        assert large.evidence[figure] == pytest.approx(small.evidence[figure])
