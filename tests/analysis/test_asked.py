"""What a caller asks for that is not there, is of another kind, or cannot be decided: one clear sentence."""

import pytest
from planted.tables import scores_of

import rewardkit as rk
from rewardkit.analysis.compare import compare

SCORES = scores_of({"c": [0.0, 1.0]}, [0, 0], columns={"right": [0, 1], "words": [3, 4], "label": [0, 1]})
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
NO_SEED, NO_COLUMNS = "is not a whole number of at least 0", "is no list of names of columns"
REFUSED = [  # calls, options, the sentence
    ("diagnose forecast compare whatif", {"label": ["lab"]}, r"label=\['lab'\] is no name of a column"),
    *(("diagnose forecast compare", {"seed": seed}, f"seed={seed} {NO_SEED}") for seed in (-1, 1.5, True)),
    *(("diagnose forecast", {"columns": columns}, NO_COLUMNS) for columns in (3, [3], [["words"]])),
    *(("dead_share", {"size": size}, "whole number of at least 2") for size in (6.5, 1, True, "8", None)),
    *(("highest", {"n": n}, f"from 1 on, not {n!r}") for n in (0, 2.5, True, "8")),
    ("over_steps", {"window": 0}, "window=0 is not a whole number of steps from 1 on"),
    ("diagnose", {"thresholds": {"sparce": 0.5}}, "did you mean 'sparse'"),
    ("diagnose", {"label": "rihgt"}, "no column 'rihgt'.*did you mean 'right'"),
    ("diagnose forecast compare", {"training": {"scale": 1}}, "no setting 'scale'"),
    ("forecast", {"label": "rihgt"}, "label 'rihgt' is not .*did you mean 'right'"),
    ("forecast", {"label": "completion"}, "label 'completion' holds 'comp.*numbers"),
    ("forecast", {"columns": ["words"]}, "'words' of its own.*rename"),
    ("whatif", {"weights": [1, 2]}, r"weights=\[1, 2\] is no dict of component: weight"),
    ("whatif", {"weights": {"c": "x"}}, "'x'"),
    ("whatif", {"gates": {"d": None}}, "gates= names 'd'; reward 'made' has .*"),
    ("whatif", {"gates": {"c": rk.gate(lambda c: c > 0)}}, "only a gate on a column by name can be decided"),
    ("whatif", {"gates": {"c": rk.gate("e", at_least=1)}}, "on 'e', which these scores do not have"),
    *(
        ("whatif", {"gates": {"c": rk.gate("prompt_id", **limit)}}, "'prompt_id' with a number, and it holds")
        for limit in ({"at_least": 1}, {"at_most": 1})
    ),
]


@pytest.mark.parametrize(("calls", "options", "said"), REFUSED, ids=lambda item: str(item)[:40])
def test_what_is_asked_for_and_is_not_there_or_of_another_kind_is_one_sentence(calls, options, said):
    for call in calls.split():
        with pytest.raises((rk.InputError, rk.RewardError), match=said):
            CALLS[call](SCORES, **options)


TAKES = {
    "diagnose": "diagnose takes Scores",
    "forecast": "forecast takes Scores",
    "compare": "compare takes two Scores, as rk",
    "whatif": "whatif takes Scores, as .* or a Diagnosis, not ",
    "suggest": r"suggest takes a Diagnosis, as rk\.diagnose\(scores\) gives it",
}


@pytest.mark.parametrize("call", TAKES)
def test_what_is_no_scores_is_refused(call):
    for other in (None, "run0", [1, 2], REWARD):
        with pytest.raises(rk.InputError, match=TAKES[call]):
            CALLS[call](other)
