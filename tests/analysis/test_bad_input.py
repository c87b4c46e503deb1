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
from rewardkit.analysis.findings.log import only_finite
from rewardkit.analysis.statistics.groups import LARGEST, overflows

INF, NAN = np.inf, np.nan
MANY = np.repeat(np.arange(20), 4)
HALF = np.tile([0.0, 1.0, 1.0, 0.0], 20)


def plain(values=HALF, groups=MANY, **others):
    return scores_of({"c": values, **others}, groups)


def rewritten(column, places, value):
    """Scores in whose table a number is another, as one that somebody wrote or a transform gave."""
    scores = plain(d=HALF[::-1])
    table = scores.table.copy()
    table.loc[table.index[places], column] = value
    return replace(scores, table=table)


def labelled(values, right=HALF):
    rows = [
        {"prompt_id": f"p{group}", "completion": str(row), "right": float(right[row]), "label": values[row]}
        for row, group in enumerate(MANY)
    ]
    reward = rk.Reward(
        "r",
        components=[
            rk.Component("c", lambda right: right),
            rk.Component("d", lambda completion: int(completion) % 3 / 2, weight=0.3),
        ],
    )
    return rk.score(reward, rows)


def two_sources():
    rows = [
        {"prompt_id": f"p{group % 10}", "data_source": "ab"[group >= 10], "completion": f"{row}", "x": x}
        for row, (group, x) in enumerate(zip(MANY.tolist(), HALF.tolist(), strict=True))
    ]
    return rk.score(rk.Reward("r", components=[rk.Component("c", lambda x: x)]), rows)


def nothing_judged(names):
    """Scores of these components of which none was scored."""
    rows = [{"prompt_id": f"p{group}", "completion": str(row)} for row, group in enumerate(MANY)]
    parts = {"c": lambda completion: int(completion) % 2, "d": lambda completion: int(completion) % 3 / 2}
    made = [
        rk.Component(
            name, (lambda completion: None) if name in names else part, weight=0.5 if name == "d" else 1
        )
        for name, part in parts.items()
    ]
    return rk.score(rk.Reward("r", components=made), rows)


LABEL = {"label": "label"}
CASES = {
    "one group": (plain([1.0, 0.0, 1.0], [0, 0, 0]), {}, "not_enough", "only 1 group of two or more"),
    "groups of one": (
        plain(HALF, np.arange(80)),
        {},
        "not_enough",
        "no two of the 80 rewards are in one group",
    ),
    "ragged groups": (plain([0.0, 1, 0.5, 1, 0], [0, 0, 0, 1, 2]), {}, "not_enough", "only 1 group of two"),
    "nine groups": (
        plain(HALF[:36], MANY[:36]),
        {},
        "not_enough",
        "only 9 groups of two or more completions; 10 would do",
    ),
    "one row": (plain([1.0], [0]), {}, "not_enough", "no two of the 1 rewards"),
    "nothing judged": (nothing_judged("cd"), {}, "not_enough", "none of the 80 rows has a reward"),
    "no weight": (
        scores_of({"c": HALF}, MANY, weights={"c": 0.0}),
        {},
        "not_enough",
        "no component has a weight",
    ),
    "a component of NaN": (nothing_judged("d"), {}, "abstentions", "'d' was not judged in 100 %"),
    "constant everything": (plain(np.ones(80)), {}, "constant", "is 1 on every scored row"),
    "a constant sum": (plain(HALF, d=1 - HALF), {}, "opposed", "c, d cancel"),
    "infinite rewards": (
        rewritten("reward", [3, 50], INF),
        {},
        "not_finite",
        r"infinite in 2 rows \(2.5 %\)",
    ),
    "a minus infinite one": (
        rewritten("reward", [3], -INF),
        {},
        "not_finite",
        "The reward is infinite in 1 row",
    ),
    "an infinite score": (rewritten("score/c", [3], INF), {}, "not_finite", "Component 'c' is infinite in 1"),
    "a reward of 1e200": (
        rewritten("reward", [3], 1e200),
        {},
        "not_finite",
        "as a trainer's float32 holds it",
    ),
    "infinite everywhere": (rewritten("reward", range(80), INF), {}, "not_finite", r"in 80 rows \(100 %\)"),
    "labels of four rows": (
        labelled([None] * 76 + [True, False, True, False]),
        LABEL,
        "label_unusable",
        "only [34] pairs of siblings have different labels; 100 would do",
    ),
    "no label at all": (labelled([None] * 80), LABEL, "label_unusable", "'label' holds no numbers"),
    "one label": (
        labelled([None] * 79 + [1.0]),
        LABEL,
        "label_unusable",
        "not one of two values: it has 1",
    ),
    "three labels": (labelled(np.arange(80) % 3 * 1.0), LABEL, "label_unusable", "it has 0, 1, 2"),
    "infinite labels": (labelled([INF] * 40 + [1.0] * 40), LABEL, "label_unusable", "it has 1"),
    "a label of a component": (
        labelled(HALF.tolist()),
        LABEL,
        "label_unusable",
        "says what the component 'c' says",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_record_says_what_cannot_be_computed_and_why(name):
    scores, options, code, words = CASES[name]
    before = scores.table.copy()
    diagnosis = rk.diagnose(scores, **options)
    found = [item for item in diagnosis.findings if item.code == code]
    assert any(re.search(words, item.sentence) for item in found), [item.sentence for item in found]
    assert scores.table.equals(before)  # the caller's


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scaling", ["group", "batch", "none"])
def test_all_that_a_diagnosis_shows_can_be_made_of_it(name, scaling):
    """Warnings are errors in these tests: numpy's of NaN and infinite values, too."""
    scores, options, _, _ = CASES[name]
    diagnosis = rk.diagnose(scores, training={"scale_rewards": scaling, "num_generations": 8}, **options)
    assert repr(diagnosis) and diagnosis._repr_html_()
    assert not diagnosis.components.empty and not diagnosis.group_signal.empty
    assert len(diagnosis.highest(3)) <= 3
    json.dumps(diagnosis.record(), default=str)
    for item in diagnosis.findings:
        value = item.evidence.get("value", 0.0)
        assert not math.isinf(value) and not math.isnan(value), item
        assert "nan" not in item.sentence.lower().replace("gradient of its whole batch nan", ""), (
            item.sentence
        )
    for table in (diagnosis.components, diagnosis.group_signal):
        assert not np.isinf(table.select_dtypes("number").to_numpy(dtype=float)).any()


def test_the_same_prompt_ids_in_two_sources_are_groups_of_their_own():
    diagnosis = rk.diagnose(two_sources())
    assert diagnosis.group_signal["groups"].tolist() == [20, 10, 10]
    assert len(diagnosis.views[0].stats.count) == diagnosis.views[0].bootstrap.total == 20


# infinite


def test_infinite_rewards_are_not_judged_in_the_figures_and_the_rest_is_as_before():
    scores = rewritten("reward", [3, 50], INF)
    missing = rewritten("reward", [3, 50], NAN)
    diagnosis, other = rk.diagnose(scores), rk.diagnose(missing)
    assert np.isnan(diagnosis.scores.rewards[[3, 50]]).all()
    np.testing.assert_array_equal(diagnosis.views[0].advantages, other.views[0].advantages)
    told = [item.record() for item in diagnosis.findings if item.code != "not_finite"]
    assert told == [item.record() for item in other.findings]
    (found,) = diagnosis["not_finite"]
    assert (found.severity, found.component, found.evidence["infinite"]) == ("high", None, 2)
    assert found.rollout_ids == tuple(scores.table["rollout_id"].iloc[[3, 50]])


def test_a_reward_that_an_infinite_score_makes_infinite_is_told_of_once():
    scores = rewritten("score/c", [3], INF)
    scores = replace(
        scores, table=scores.table.assign(reward=np.where(np.arange(80) == 3, INF, scores.rewards))
    )
    assert [item.component for item in rk.diagnose(scores)["not_finite"]] == ["c"]
    assert np.isnan(rk.diagnose(scores).views[0].rewards[3])


def test_an_infinite_score_that_is_not_paid_is_information():
    scores = scores_of({"c": HALF, "d": np.where(np.arange(80) == 7, 1e300, HALF)}, MANY, weights={"d": 0.0})
    (found,) = rk.diagnose(scores)["not_finite"]
    assert (found.component, found.severity, found.evidence["infinite"]) == ("d", "info", 0)
    assert "gradient" not in found.sentence


def test_the_largest_number_of_float32_is_one_and_the_next_is_not():
    assert overflows(np.array([LARGEST, np.nextafter(LARGEST, INF), -2 * LARGEST, NAN, 0])).tolist() == [
        False, True, True, False, False,
    ]  # fmt: skip
    scores = plain(LARGEST * HALF)
    assert only_finite(scores) is scores
    diagnosis = rk.diagnose(scores)
    assert {item.code for item in diagnosis.findings} == {item.code for item in rk.diagnose(plain()).findings}
    np.testing.assert_allclose(
        diagnosis.views[0].advantages, rk.diagnose(plain()).views[0].advantages, rtol=1e-3
    )


def test_infinite_numbers_of_other_columns_and_of_the_log_are_missing():
    rows = [
        {"prompt_id": f"p{group}", "completion": "x" * (row % 7), "right": float(HALF[row]), "speed": INF}
        for row, group in enumerate(MANY)
    ]
    for row in rows[::3]:
        row["speed"] = 2.0
    parts = [
        rk.Component("c", lambda right: right),
        rk.Component("d", lambda completion: len(completion) / 7),
    ]
    diagnosis = rk.diagnose(rk.score(rk.Reward("r", components=parts), rows), columns=["speed"])
    assert diagnosis["column_bias"] == []
    assert set(
        diagnosis.views[0].context.columns["speed"][~np.isnan(diagnosis.views[0].context.columns["speed"])]
    ) == {2.0}


def test_an_infinite_reward_in_the_log_is_compared_with_nothing():
    total = HALF.copy()
    total[:4] = INF
    scores = scored({"c": HALF}, MANY, logged={"score": total}, total="score")
    assert rk.diagnose(scores)["log_mismatch"] == []
    total[4] = 0.25
    (found,) = rk.diagnose(scored({"c": HALF}, MANY, logged={"score": total}, total="score"))["log_mismatch"]
    assert (found.evidence["rows"], found.evidence["compared"], found.evidence["largest"]) == (1, 76, 0.25)


def test_enormous_grades_that_nearly_all_get_are_clustered_as_small_ones_are():
    grade = np.where(np.random.default_rng(0).random(800) < 0.04, np.arange(800) % 9 / 10, 0.7)
    groups = np.repeat(np.arange(100), 8)
    small, large = (rk.diagnose(plain(scale * grade, groups)) for scale in (1, 3.3e30))
    assert [item.severity for item in small["clustered"]] == ["high"]
    for figure in ("value", "tied_groups", "levels"):
        of_small, of_large = (item["clustered"][0].evidence[figure] for item in (small, large))
        assert of_large == pytest.approx(of_small)


def test_an_infinite_score_that_was_returned_is_found_as_that_and_not_as_an_error():
    rows = [{"prompt_id": f"p{at // 4}", "completion": str(at), "given": at % 3} for at in range(80)]
    component = rk.Component("c", lambda given: given if given < 2 else float("inf"), range=None)
    diagnosis = rk.diagnose(rk.score(rk.Reward("r", components=[component]), rows))
    (found,) = diagnosis["not_finite"]
    assert (found.component, found.severity, found.evidence["rows"]) == ("c", "high", 26)
    assert not diagnosis["errors"]


def test_an_infinite_score_that_is_not_paid_does_not_explain_an_infinite_reward():
    scores = scores_of({"c": HALF, "d": HALF}, MANY, weights={"d": 0.0})
    table = scores.table.copy()
    table.loc[3, ["score/d", "reward"]] = INF
    found = rk.diagnose(replace(scores, table=table))["not_finite"]
    assert [(item.component, item.severity) for item in found] == [(None, "high"), ("d", "info")]
