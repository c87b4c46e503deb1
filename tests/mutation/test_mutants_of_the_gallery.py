"""The bundled case files: every mutant of a bundled reward that makes a difference is caught."""

from itertools import product
from pathlib import Path

import pytest

import rewardkit as rk

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parent.parent.parent
NAMES = sorted(
    {path.stem for path in (ROOT / "rewardkit" / "gallery").glob("*.py")}
    - {"__init__", "pairwise"}
)
OWN_ROLLOUTS = {
    "arithmetic": "gallery:arithmetic",
    "mixed": "gallery:mixed",
    "tagged": "gallery:arithmetic",
}

LETTER = "[largest-choice] Component 'correct' {}."
ONE_MORE = (
    "runs other code, max(2, len(letters)) for max(1, len(letters)) in in_chinese()"
)
LAST = r"rk.extract.pattern('The answer is \\(([A-D])\\)\\.\\s*$'"
SAME = {
    # twice one letter of one or two is all; of none it is nothing
    "chinese": [f"Component 'language' {ONE_MORE}."],
    "routed": [f"[chinese] Component 'language' {ONE_MORE}."],
    # all components read one text: they are missing together
    "keywords": ["The reward has on_missing='skip'."],
    # the extractor gives one capital letter, and the truths are one; a text has one end
    "mixed": [
        *(
            LETTER.format(f"has {option}=True")
            for option in ("exact", "case", "white_space", "punctuation")
        ),
        LETTER.format("is met by a text that contains the truth"),
        f"[largest-choice] Component 'sentence' runs other code, {LAST}, which='fi... for {LAST}).",
    ],
    # no form is worth a score between the two
    "strict_format": ["The reward has a gate with at_least=0.525, not 0.75."],
    # behind the gate on the form there is one closed pair, whichever would be taken
    "tagged": [
        "Field 'reasoning' takes the first match, not the last.",
        "Field 'reasoning' has unclosed=True.",
        "Field 'reasoning' has prefilled=True.",
    ],
}
"""Changes that change no reward of any rollout: a case for them would be about nothing."""


def rollouts_of(name):
    """Rollouts of the reward's own kind: real ones, or the completion of each case beside the truth of each.

    Those of another source of a route have truths of another kind.
    """
    if name in OWN_ROLLOUTS:
        return OWN_ROLLOUTS[name]
    columns = [case.columns for case in rk.load_cases(f"gallery:{name}")]
    return [
        {
            **dict(one),
            **(
                {"ground_truth": other["ground_truth"]} if "ground_truth" in one else {}
            ),
        }
        for one, other in product(columns, repeat=2)
        if one.get("data_source") == other.get("data_source")
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_change_that_makes_a_difference_is_noticed_and_the_others_are_known_one_by_one(
    name,
):
    result = rk.mutants(
        rk.load_reward(f"gallery:{name}"), f"gallery:{name}", rollouts_of(name)
    )
    assert (result.survived, result.left_out, result.score) == ((), (), 1.0), repr(
        result
    )
    assert len(result.noticed) >= 18
    assert {item.mutant.sentence for item in result.not_told_apart} == set(
        SAME.get(name, ())
    )
    cases = len(rk.load_cases(f"gallery:{name}"))
    assert repr(result).startswith(
        f"Mutation score 1.00: your {cases} cases catch all "
    )


def test_a_case_that_is_gone_is_missed():
    name = "concise"
    reward, cases = rk.load_reward(f"gallery:{name}"), rk.load_cases(f"gallery:{name}")
    without = [case for case in cases if case.name != "nearly right"]
    survived = rk.mutants(reward, without, rollouts_of(name)).survived
    assert [item.mutant.after for item in survived] == [
        "partial(rk.verify.numbers_equal, relative=0.01)"
    ]
    assert (
        survived[0].case["ground_truth"] == "1000" and survived[0].case["reward"] == 0.0
    )
