"""The bundled case files: every mutant of a bundled reward that makes a difference is caught."""

from functools import cache
from itertools import product
from pathlib import Path

import pytest

import rewardkit as rk

ROOT = Path(__file__).parent.parent.parent
SIBLINGS = "pairwise"  # what a case says of it needs its siblings, and a case has none
NAMES = sorted(
    path.stem
    for path in (ROOT / "rewardkit" / "gallery").glob("*.py")
    if path.stem not in ("__init__", SIBLINGS)
)
OWN_ROLLOUTS = {"arithmetic": "gallery:arithmetic", "mixed": "gallery:mixed", "tagged": "gallery:arithmetic"}

LETTER = "[largest-choice] Component 'correct' {}."
ONE_LETTER = "the extractor gives one capital letter, and the truths are one"
ONE_MORE = "runs other code, max(2, len(letters)) for max(1, len(letters)) in in_chinese()"
ONE_CLOSED = "behind the gate on the form there is one closed pair, whichever would be taken"
SAME = {
    "chinese": {
        f"Component 'language' {ONE_MORE}.": "twice one letter of one or two is all; of none it is nothing",
    },
    "keywords": {
        "The reward has on_missing='skip'.": "all components read one text: they are missing together",
    },
    "mixed": {
        LETTER.format("has exact=True"): ONE_LETTER,
        LETTER.format("has case=True"): ONE_LETTER,
        LETTER.format("has white_space=True"): ONE_LETTER,
        LETTER.format("has punctuation=True"): ONE_LETTER,
        LETTER.format("is met by a text that contains the truth"): ONE_LETTER,
        r"[largest-choice] Component 'sentence' runs other code, "
        r"rk.extract.pattern('The answer is \\(([A-D])\\)\\.\\s*$', which='fi... for "
        r"rk.extract.pattern('The answer is \\(([A-D])\\)\\.\\s*$').": "a text has one end",
    },
    "strict_format": {
        "The reward has a gate with at_least=0.525, not 0.75.": "no form is worth a score between the two",
    },
    "routed": {
        f"[chinese] Component 'language' {ONE_MORE}.": "as in gallery:chinese",
    },
    "tagged": {
        "Field 'reasoning' takes the first match, not the last.": ONE_CLOSED,
        "Field 'reasoning' has unclosed=True.": ONE_CLOSED,
        "Field 'reasoning' has prefilled=True.": ONE_CLOSED,
    },
}
"""Changes that change no reward of any rollout, and why: a case for them would be about nothing."""


def rollouts_of(name):
    """Rollouts of the reward's own kind: real ones, or the completion of each case beside the truth of each.

    Those of another source of a route have truths of another kind.
    """
    if name in OWN_ROLLOUTS:
        return OWN_ROLLOUTS[name]
    columns = [case.columns for case in rk.load_cases(f"gallery:{name}")]
    return [
        {**dict(one), **({"ground_truth": other["ground_truth"]} if "ground_truth" in one else {})}
        for one, other in product(columns, repeat=2)
        if one.get("data_source") == other.get("data_source")
    ]


@cache
def result_of(name):
    return rk.mutants(rk.load_reward(f"gallery:{name}"), f"gallery:{name}", rollouts_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_every_change_that_makes_a_difference_is_noticed(name):
    result = result_of(name)
    assert result.survived == (), repr(result)
    assert result.score == 1.0
    assert len(result.noticed) >= 18
    assert result.left_out == ()


@pytest.mark.parametrize("name", NAMES)
def test_the_changes_that_make_none_are_known_one_by_one(name):
    same = {item.mutant.sentence for item in result_of(name).not_told_apart}
    assert same == set(SAME.get(name, ()))


def test_a_case_that_is_gone_is_missed():
    name = "concise"
    reward, cases = rk.load_reward(f"gallery:{name}"), rk.load_cases(f"gallery:{name}")
    without = [case for case in cases if case.name != "nearly right"]
    survived = rk.mutants(reward, without, rollouts_of(name)).survived
    assert [item.mutant.after for item in survived] == ["partial(rk.verify.numbers_equal, relative=0.01)"]
    assert survived[0].case["ground_truth"] == "1000" and survived[0].case["reward"] == 0.0
