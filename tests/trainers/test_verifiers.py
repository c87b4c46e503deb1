"""verifiers' own Task.score, on real traces."""

import asyncio
import threading

import numpy as np
import pytest
import verifiers.v1 as vf
import waiting
from table import arithmetic, read_as

import rewardkit as rk
from rewardkit.targets.export import export
from rewardkit.targets.verifiers import trace_of

ROLLOUTS = arithmetic()


class Question(vf.TaskData):
    answer: str
    level: int = 1


class Arithmetic(vf.Task[Question]):
    """In the form that `vf-init` writes."""

    @vf.metric
    async def length(self, trace):
        return len(trace.last_reply)

    @vf.reward(weight=2.0)
    async def right(self, trace: vf.Trace) -> float:
        return float(self.data.answer in trace.last_reply)

    @vf.reward(weight=-0.25, priority=3)
    async def form(self, task, trace):
        turns = [one for one in trace.messages if one.role == "user"]
        return {
            "long": float(len(trace.transcript) > 120),
            "asked": float(len(turns) == task.level),
        }


def scored(row, config=None):
    """The trace of a row after verifiers' own scoring, on a loop in a thread of its own."""
    data = Question(prompt=row["prompt"], answer=row["ground_truth"])
    trace = trace_of(row, data)
    thread = threading.Thread(
        target=lambda: asyncio.run(Arithmetic(data, config).score(trace))
    )
    thread.start()
    thread.join()
    return trace


def test_a_task_of_ones_own_is_scored_as_verifiers_does():
    reward, ours = read_as("verifiers", "verifiers", f"{__file__}:Arithmetic", ROLLOUTS)
    assert reward.weights == {
        "right": 2.0,
        "long": -0.25,
        "asked": -0.25,
        "length": 0.0,
    }
    scores, traces = rk.score(reward, ROLLOUTS), [scored(row) for row in ROLLOUTS]
    theirs = {
        name: [trace.rewards[name].score for trace in traces]
        for name in ("right", "long", "asked")
    }
    theirs["length"] = [trace.metrics["length"] for trace in traces]
    for name, values in theirs.items():
        np.testing.assert_array_equal(scores.score(name), values)
    assert ours == [trace.reward for trace in traces] and len(set(ours)) > 1


def test_separate_components_are_scores_of_their_own_with_their_weights(tmp_path):
    reward = rk.load_reward("gallery:arithmetic")
    made = export(
        reward, to="verifiers", path=tmp_path / "out.py", separate=True, verify=ROLLOUTS
    )
    assert made.proof.equal and made.proof.compared == 64 * 4
    weights = reward.weights.items()
    plugged = {
        name: vf.RewardFunctionConfig(fn=f"{made.path}:{name}", weight=one)
        for name, one in weights
    }
    trace = scored(ROLLOUTS[0], vf.TaskConfig(rewards=plugged))
    right, long, asked = (
        trace.rewards[name].score for name in ("right", "long", "asked")
    )
    ours = rk.score(reward, ROLLOUTS.select([0])).rewards[0]
    assert trace.reward - 2.0 * right + 0.25 * (long + asked) == pytest.approx(
        ours, abs=1e-9
    )


CALL = {
    "id": "1",
    "type": "function",
    "function": {"name": "add", "arguments": '{"a": 2}'},
}
CALLING = {"role": "assistant", "content": "", "tool_calls": [CALL]}
ANSWERED = (
    {"role": "tool", "content": "4", "tool_call_id": "1"},
    {"role": "assistant", "content": "4"},
)
TURNS = [{"role": "user", "content": "2+2?"}, CALLING, *ANSWERED]
WITH_TOOLS = [
    {"prompt": TURNS[:1], "completion": "4", "messages": TURNS, "ground_truth": "4"}
]
CALLS = rk.Reward(
    "calls", components=[rk.Component("calls", rk.measure.tool_calls("add"))]
)
HALF = waiting.made("half", {waiting.abstains: 1.0, waiting.slow: 1.0})
WRITTEN = {
    "what is not judged and what waits": (HALF, ROLLOUTS),
    "a transcript with tools": (CALLS, rk.load_rollouts(WITH_TOOLS)),
}


@pytest.mark.parametrize(("reward", "rows"), WRITTEN.values(), ids=WRITTEN)
def test_on_real_traces_it_gives_there_what_it_gives_here(reward, rows, tmp_path):
    made = export(
        reward, to="verifiers", path=tmp_path / "out.py", missing=-1.0, verify=rows
    )
    assert made.proof.equal and not any("async" in sentence for sentence in made.losses)


def test_judged_scores_of_a_whole_reward_are_metrics_of_the_trace(tmp_path):
    made = export(HALF, to="verifiers", path=tmp_path / "half.py", missing=-1.0)
    plugged = vf.RewardFunctionConfig(fn=f"{made.path}:half")
    metrics = []
    for text in ("ab", "a"):
        row = {"prompt": "2+2?", "completion": text, "ground_truth": "4"}
        trace = scored(row, vf.TaskConfig(rewards={"half": plugged}))
        metrics.append(trace.metrics)
    assert metrics == [
        {"length": 2.0, "abstains": 1.0, "slow": 2 / 64},
        {"length": 1.0, "slow": 1 / 64},
    ]
