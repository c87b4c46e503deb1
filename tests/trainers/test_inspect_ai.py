"""Inspect's own scorers, states and eval."""

import pytest
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Target, accuracy, includes, match, scorer
from inspect_ai.solver import TaskState
from table import proved

import rewardkit as rk
from rewardkit.targets.inspect_ai import evaluated, state_of, target_of

ROWS = [
    {"prompt": "2+2?", "completion": text, "ground_truth": "4", "level": 2}
    for text in ("it is 4", "4 or 5", "", "four")
]


@scorer(metrics=[accuracy()])
def mine():
    """In the words of its documentation: correct where the target stands in the completion."""

    async def score(state: TaskState, target: Target) -> Score:
        found = state.output.completion
        return Score(value=CORRECT if target.text in found else INCORRECT, answer=found, explanation=found)

    return score


@scorer(metrics={"*": [accuracy()]})
def several():
    async def score(state, target):
        if not state.output.completion:
            return Score.unscored(reason="no_response")
        return Score(
            value={"found": target.text in state.output.completion, "level": state.metadata["level"] / 2}
        )

    return score


made_already = match(location="end")


@pytest.mark.parametrize(
    ("name", "expected", "told"),
    [
        ("mine", [1, 1, 0, 0], "it is a @scorer"),  # what makes a scorer
        ("several", [2, 2, None, 1], "it is a @scorer"),  # a dict of values, and unscored
        ("made_already", [1, 0, 0, 0], "Inspect"),  # a scorer of theirs
    ],
)
def test_a_scorer_is_read_as_it_is_called_there(name, expected, told):
    rollouts = rk.load_rollouts(ROWS)
    reward = rk.load_reward(f"{__file__}:{name}", rollouts=rollouts)
    assert "read as Inspect" in reward.origin and told in reward.origin
    ours = [None if value != value else value for value in rk.score(reward, rollouts).rewards.tolist()]
    assert ours == expected


def test_a_scorer_gives_the_same_in_their_own_eval():
    rollouts = rk.load_rollouts(ROWS)
    theirs = [{"C": 1.0, "I": 0.0}[score.value] for score in evaluated(includes(), list(rollouts))]
    reward = rk.load_reward("inspect_ai.scorer:includes", rollouts=rollouts)
    assert rk.score(reward, rollouts).rewards.tolist() == theirs == [1, 1, 0, 0]
    proved("inspect", "recognised")
    proved("inspect", "read")


def test_the_states_are_their_own():
    state, target = state_of(ROWS[0]), target_of(ROWS[0])
    assert (
        isinstance(state, TaskState) and isinstance(target, Target) and isinstance(state.output, ModelOutput)
    )
    assert (state.input_text, state.output.completion, target.text) == ("2+2?", "it is 4", "4")
    assert state.messages[-1].text == "it is 4" and state.metadata["level"] == 2
