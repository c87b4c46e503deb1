"""Inspect's own scorers, states, eval and reader of logs."""

import pytest
from inspect_ai import log
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Score,
    Target,
    accuracy,
    includes,
    match,
    scorer,
)
from inspect_ai.solver import TaskState
from table import read_as, rows

import rewardkit as rk
from rewardkit.targets.inspect_ai import evaluated

ROLLOUTS = rows("it is 4", "4 or 5", "", "four", level=2)


@scorer(metrics=[accuracy()])
def mine():
    """In the words of its documentation: correct where the target stands in the completion."""

    async def score(state: TaskState, target: Target) -> Score:
        found = state.output.completion
        return Score(
            value=CORRECT if target.text in found else INCORRECT,
            answer=found,
            explanation=found,
        )

    return score


@scorer(metrics={"*": [accuracy()]})
def several():
    async def score(state, target):
        said = state.output.completion
        if not said:
            return Score.unscored(reason="no_response")
        return Score(
            value={"found": target.text in said, "level": state.metadata["level"] / 2}
        )

    return score


made_already = match(location="end")
READ = [
    (f"{__file__}:mine", [1, 1, 0, 0]),  # what makes a scorer
    (f"{__file__}:several", [2, 2, None, 1]),  # a dict of values, and unscored
    (f"{__file__}:made_already", [1, 0, 0, 0]),  # a scorer of theirs
    ("inspect_ai.scorer:includes", [1, 1, 0, 0]),
]


@pytest.mark.parametrize(("place", "expected"), READ)
def test_a_scorer_is_read_as_it_is_called_there(place, expected, no_workers):
    assert read_as("Inspect", "inspect", place, ROLLOUTS)[1] == expected
    if "includes" in place:  # in their own eval, too
        assert [
            {"C": 1, "I": 0}[one.value] for one in evaluated(includes(), list(ROLLOUTS))
        ] == expected


@pytest.mark.parametrize("kind", ["eval", "json"])
def test_a_log_that_inspect_wrote_is_read_through_its_own_reader(tmp_path, kind):
    when, path = "2026-11-22T00:00:00+00:00", tmp_path / f"log.{kind}"
    setup = {"dataset": log.EvalDataset(), "config": log.EvalConfig()}
    about = log.EvalSpec(created=when, task="sums", model="m/1", **setup)
    said, scores = ModelOutput.from_content("m/1", "4"), {"match": Score(value="C")}
    one = log.EvalSample(
        id="x", epoch=1, input="2+2?", target="4", output=said, scores=scores
    )
    log.write_eval_log(
        log.EvalLog(status="success", eval=about, samples=[one]), str(path)
    )
    (row,) = rk.load_rollouts(path)
    assert (row["completion"], row["ground_truth"], row["logged/match"]) == (
        "4",
        "4",
        1.0,
    )
