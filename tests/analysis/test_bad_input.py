"""Tables that cannot be judged in full: a record says what and why; no warning, traceback or silent NaN."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from planted.tables import scores_of

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
    "ragged groups": (plain([0, 1, 0.5, 1, 0], [0, 0, 0, 1, 2]), "not_enough", "only 1 group of two"),
    "nothing judged": (both([NAN] * 80, [NAN] * 80), "not_enough", "none of the 80 rows has a reward"),
    "no weight": (plain(weights={"c": 0.0}), "not_enough", "no component has a weight"),
    "constant everything": (plain(np.ones(80)), "constant", "is 1 on every scored row"),
    "a constant sum": (both(HALF, 1 - HALF), "opposed", "c, d cancel"),
    "infinite": (rewritten("reward", [3, 50]), "not_finite", r"infinite in 2 rows \(2.5 %\)"),
    "an infinite score": (rewritten("score/c", [3]), "not_finite", "Component 'c' is infinite in 1"),
    "labels of four rows": (labelled(FOUR), "label_unusable", "only [34] pairs of siblings .* 100 would do"),
    "three labels": (labelled(np.arange(80) % 3 * 1.0), "label_unusable", "it has 0, 1, 2"),
    "words": (labelled(["yes"] * 80), "label_unusable", "'label' holds no numbers but 'yes'; make"),
    "a label of a component": (labelled(HALF), "label_unusable", "says what the component 'c' says"),
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
