"""verifiers' own Task.score, on real traces."""

import asyncio
import threading

import numpy as np
import verifiers.v1 as vf
from table import proved

import rewardkit as rk
from rewardkit.targets.export import export
from rewardkit.targets.verifiers import trace_of


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
        return {"long": float(len(trace.transcript) > 120), "asked": float(len(turns) == task.level)}


def rollouts():
    return rk.load_rollouts("gallery:arithmetic").select(range(64))


def scored(row, config=None):
    """The trace of a row after verifiers' own scoring, on a loop in a thread of its own."""
    data = Question(prompt=row["prompt"], answer=row["ground_truth"])
    trace = trace_of(row, data)
    thread = threading.Thread(target=lambda: asyncio.run(Arithmetic(data, config).score(trace)))
    thread.start()
    thread.join()
    return trace


def test_a_task_of_ones_own_is_scored_as_verifiers_does():
    reward = rk.load_reward(f"{__file__}:Arithmetic", rollouts=rollouts())
    assert reward.weights == {"right": 2.0, "long": -0.25, "asked": -0.25, "length": 0.0}
    scores = rk.score(reward, rollouts())
    traces = [scored(row) for row in rollouts()]
    theirs = [trace.reward for trace in traces]
    assert len(set(theirs)) > 1
    np.testing.assert_array_equal(scores.rewards, theirs)
    for name in ("right", "long", "asked"):
        np.testing.assert_array_equal(scores.score(name), [trace.rewards[name].score for trace in traces])
    np.testing.assert_array_equal(scores.score("length"), [trace.metrics["length"] for trace in traces])
    proved("verifiers", "recognised")
    proved("verifiers", "read")


def test_separate_components_are_scores_of_their_own_with_their_weights(tmp_path):
    reward = rk.load_reward("gallery:arithmetic")
    made = export(reward, to="verifiers", path=tmp_path / "out.py", separate=True, verify=rollouts())
    assert made.proof.equal and made.proof.compared == 64 * 4
    plugged = {
        name: vf.RewardFunctionConfig(fn=f"{made.path}:{name}", weight=weight)
        for name, weight in reward.weights.items()
    }
    trace = scored(rollouts()[0], vf.TaskConfig(rewards={**plugged}))
    own = 2.0 * trace.rewards["right"].score - 0.25 * (
        trace.rewards["long"].score + trace.rewards["asked"].score
    )
    ours = rk.score(reward, rollouts().select([0])).rewards[0]
    assert abs(trace.reward - own - ours) < 1e-9


def abstains(completion):
    return None if len(completion) % 2 else 1.0


async def waits(completion):
    await asyncio.sleep(0)
    return len(completion) / 1000


def test_what_is_not_judged_and_what_waits(tmp_path):
    reward = rk.Reward(
        "half", components=[rk.Component("abstains", abstains), rk.Component("waits", waits, range=None)]
    )
    made = export(reward, to="verifiers", path=tmp_path / "out.py", missing=-1.0, verify=rollouts())
    assert made.proof.equal and not any("async" in sentence for sentence in made.losses)


def test_a_transcript_with_tools_becomes_a_real_trace_and_comes_back(tmp_path):
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
    turns = [
        {"role": "user", "content": "2+2?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "4", "tool_call_id": "1"},
        {"role": "assistant", "content": "4"},
    ]
    rows = rk.load_rollouts(
        [{"prompt": turns[:1], "completion": "4", "messages": turns, "ground_truth": "4"}]
    )
    reward = rk.Reward("calls", components=[rk.Component("calls", rk.measure.tool_calls("add"))])
    made = export(reward, to="verifiers", path=tmp_path / "out.py", verify=rows)
    assert made.proof.equal
