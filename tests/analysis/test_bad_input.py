"""What cannot be judged or is asked for wrongly: one clear sentence; no warning, traceback or silent NaN."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from planted.tables import scores_of

import rewardkit as rk
from rewardkit.analysis.comparison.compare import compare
from rewardkit.analysis.statistics import LARGEST, overflows

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


FOUR = [None] * 76 + [1.0, 0.0, 1.0, 0.0]
CASES = {
    "one group": (
        plain([1.0, 0, 1], [0, 0, 0]),
        "not_enough",
        "only 1 group of two or more",
    ),
    "ragged groups": (
        plain([0, 1, 0.5, 1, 0], [0, 0, 0, 1, 2]),
        "not_enough",
        "only 1 group of two",
    ),
    "nothing judged": (
        both([NAN] * 80, [NAN] * 80),
        "not_enough",
        "none of the 80 rows has a reward",
    ),
    "no weight": (plain(weights={"c": 0.0}), "not_enough", "no component has a weight"),
    "constant everything": (plain(np.ones(80)), "constant", "is 1 on every scored row"),
    "a constant sum": (both(HALF, 1 - HALF), "opposed", "c, d cancel"),
    "infinite": (
        rewritten("reward", [3, 50]),
        "not_finite",
        r"infinite in 2 rows \(2.5 %\)",
    ),
    "an infinite score": (
        rewritten(["score/c", "reward"], [3]),
        "not_finite",
        "'c' is infinite in 1",
    ),
    "it is returned": (
        plain(np.where(THIRDS == 1, INF, HALF)),
        "not_finite",
        "'c' is infinite in 26",
    ),
    "labels of four rows": (
        labelled(FOUR),
        "label_undecided",
        "only [34] pairs of siblings .* 100 would do",
    ),
    "three labels": (
        labelled(np.arange(80) % 3 * 1.0),
        "label_unusable",
        "it has 0, 1, 2",
    ),
    "words beside truth values": (
        labelled([True, False, "maybe", None] * 20),
        "label_unusable",
        "'label' holds True, False, 'maybe', of which",
    ),
    "words beside a grade": (
        labelled(["yes", 0.5, "no", None] * 20),
        "label_unusable",
        "'label' holds 'yes', 0.5, 'no', of which",
    ),
    "no label": (
        labelled([None] * 80),
        "label_unusable",
        "'label' has no value in any row",
    ),
    "yes alone": (
        labelled(["yes"] * 80),
        "label_unusable",
        "'label' is 1 wherever it has a value",
    ),
    "a label of a component": (
        labelled(HALF),
        "label_unusable",
        "says what the component 'c' says",
    ),
    "a label that a penalty repeats": (
        both(THIRDS, 1 - HALF, weights={"d": -0.3}, columns={"label": HALF}),
        "label_unusable",
        "says the reverse of what the component 'd' says",
    ),
}


@pytest.mark.parametrize(("scores", "code", "words"), CASES.values(), ids=CASES)
def test_a_record_says_what_cannot_be_computed_and_why_and_all_of_it_can_be_shown(
    scores, code, words
):
    """Warnings are errors in these tests: numpy's of NaN and infinite values, too."""
    before = scores.table.copy()
    label = "label" if code.startswith("label_") else None
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
            assert (
                not table.empty
                and not np.isinf(table.select_dtypes("number").to_numpy(float)).any()
            )
    assert scores.table.equals(before)  # the caller's


def test_infinite_rewards_are_not_judged_in_the_figures_and_the_rest_is_as_before():
    scores = rewritten("reward", [3, 50])
    diagnosis, other = (
        rk.diagnose(scores),
        rk.diagnose(rewritten("reward", [3, 50], NAN)),
    )
    assert np.isnan(diagnosis.scores.rewards[[3, 50]]).all()
    np.testing.assert_array_equal(
        diagnosis.views[0].advantages, other.views[0].advantages
    )
    told = [item.record() for item in diagnosis.findings if item.code != "not_finite"]
    assert told == [item.record() for item in other.findings]
    (found,) = diagnosis["not_finite"]
    assert (found.severity, found.component, found.evidence["infinite"]) == (
        "high",
        None,
        2,
    )
    assert found.rollout_ids == tuple(scores.table["rollout_id"].iloc[[3, 50]])


def test_the_largest_number_of_float32_is_one_and_the_next_is_not():
    numbers = [LARGEST, np.nextafter(LARGEST, INF), -2 * LARGEST, NAN, 0]
    assert overflows(np.array(numbers)).tolist() == [False, True, True, False, False]
    large, small = rk.diagnose(plain(LARGEST * HALF)), rk.diagnose(plain())
    codes = [{item.code for item in side.findings} for side in (large, small)]
    assert codes[0] == codes[1]
    advantages = [side.views[0].advantages for side in (large, small)]
    np.testing.assert_allclose(*advantages, rtol=1e-3)


SCORES = scores_of(
    {"c": [0.0, 1.0]},
    [0, 0],
    columns={"right": [0, 1], "words": [3, 4], "label": [0, 1]},
)
REWARD = rk.Reward("r", components=[rk.Component("a", len)])
CALLS = {
    "diagnose": rk.diagnose,
    "forecast": rk.forecast,
    "compare": lambda scores, **options: compare(SCORES, scores, **options),
    "whatif": rk.whatif,
    "suggest": rk.suggest,
    "dead_share": lambda scores, size: rk.diagnose(scores).dead_share(size),
    "highest": lambda scores, n: rk.diagnose(scores).highest(n),
    "over_steps": lambda scores, window: rk.diagnose(scores).over_steps(window),
}
NO_SEED, NO_COLUMNS = (
    "is not a whole number of at least 0",
    "is no list of names of columns",
)
REFUSED = [  # calls, options, the sentence
    (
        "diagnose forecast compare whatif",
        {"label": ["lab"]},
        r"label=\['lab'\] is no name of a column",
    ),
    *(
        ("diagnose forecast compare", {"seed": seed}, f"seed={seed} {NO_SEED}")
        for seed in (-1, 1.5, True)
    ),
    *(
        ("diagnose", {"columns": columns}, NO_COLUMNS)
        for columns in (3, [3], [["words"]])
    ),
    *(
        ("dead_share", {"size": size}, "whole number of at least 2")
        for size in (6.5, 1, True, "8", None)
    ),
    *(
        ("highest", {"n": n}, f"n={n!r} is not a whole number of at least 1")
        for n in (0, 2.5, True, "8")
    ),
    ("over_steps", {"window": 0}, "window=0 is not a whole number of at least 1"),
    ("diagnose", {"thresholds": {"sparce": 0.5}}, "did you mean 'sparse'"),
    (
        "diagnose forecast",
        {"label": "rihgt"},
        "no column 'rihgt'.*did you mean 'right'",
    ),
    ("diagnose forecast compare", {"training": {"scale": 1}}, "no setting 'scale'"),
    (
        "whatif",
        {"weights": [1, 2]},
        r"weights=\[1, 2\] is no dict of component: weight",
    ),
    ("whatif", {"weights": {"c": "x"}}, "'x'"),
    ("whatif", {"gates": {"d": None}}, "gates= names 'd'; reward 'made' has .*"),
    (
        "whatif",
        {"gates": {"c": rk.gate(lambda c: c > 0)}},
        "only a gate on a column by name can be decided",
    ),
    (
        "whatif",
        {"gates": {"c": rk.gate("e", at_least=1)}},
        "on 'e', which these scores do not have",
    ),
    *(
        (
            "whatif",
            {"gates": {"c": rk.gate("prompt_id", **limit)}},
            "'prompt_id' with a number, and it holds",
        )
        for limit in ({"at_least": 1}, {"at_most": 1})
    ),
]


@pytest.mark.parametrize(
    ("calls", "options", "said"), REFUSED, ids=lambda item: str(item)[:40]
)
def test_what_is_asked_for_and_is_not_there_or_of_another_kind_is_one_sentence(
    calls, options, said
):
    for call in calls.split():
        with pytest.raises((rk.InputError, rk.RewardError), match=said):
            CALLS[call](SCORES, **options)


TAKES = {
    "diagnose": "diagnose takes Scores",
    "forecast": "forecast takes Scores",
    "compare": "compare takes Scores, as rk|there is no file 'run0'",
    "whatif": "whatif takes Scores, as .* or a Diagnosis, not ",
    "suggest": r"suggest takes a Diagnosis, as rk\.diagnose\(scores\) gives it",
}


@pytest.mark.parametrize("call", TAKES)
def test_what_is_no_scores_is_refused(call):
    for other in (None, "run0", [1, 2], REWARD):
        with pytest.raises(rk.InputError, match=TAKES[call]):
            CALLS[call](other)
