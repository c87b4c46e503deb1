"""verifiers: rewards of v1 as functions and as methods of a task, rubrics before it, and the file."""

from types import SimpleNamespace

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets.calling import awaited as run
from rewardkit.targets.calling import loaded
from rewardkit.targets.export import export
from rewardkit.targets.verifiers import columns_of, data_of, trace_of

# with what verifiers' decorators leave on a function, and a base class that is made as its Task is
FUNCTIONS = """
def reward(weight=1.0):
    def mark(function):
        function.reward, function._vf_weight = True, weight
        return function
    return mark

def metric(function):
    function.metric = True
    return function

async def v1(task, trace):
    text = trace.last_reply
    return 2.0 * (task.answer in text) - (not text)

def v1_without_waiting(trace): return float(trace.num_turns + len(trace.messages))
async def v1_keys(task, trace): return {"right": task.answer in trace.last_reply, "level": task.level}
async def v1_transcript(trace): return ("[user]\\n2+2?" in trace.transcript) * float(trace.num_turns)

@reward(weight=0.25)
async def marked(task, trace): return 1.0
def messages(completion, answer, state): return float(answer in completion[-1]["content"]) * state["turn"]
def texts(completion, answer, parser): return float(answer in parser.parse(completion))
def parsed(completion, answer, parser, **kw): return float(answer in parser.parse_answer(completion))
def by_its_code(completion, answer): return float(answer in completion[-1]["content"])
async def any_subset(prompt, completion, info, task): return 1 + float(task == "default" and info == {})

def whatever_comes(completion, answer):
    return float(answer in (completion if isinstance(completion, str) else completion[-1]["content"]))

def a_plain_one(completion, answer): return float(answer in completion)

def plural(completions, answers, states):
    texts = [turns[-1]["content"] for turns in completions]
    return [len(texts) * float(truth in text) for text, truth in zip(texts, answers)]

class Task:
    def __init__(self, data, config=None): self.data, self.config = data, config
class Marked(Task):
    @metric
    def length(self, trace): return len(trace.last_reply)

    @reward(weight=2.0)
    async def right(self, trace): return float(self.data.answer in trace.last_reply)

    @reward(weight=-0.5)
    async def form(self, task, trace):
        assert task is self.data
        return {"empty": float(not trace.last_reply), "tagged": float("<answer>" in trace.last_reply)}

    def helper(self): return 1 / 0

class Parser:
    def parse_answer(self, completion): return completion[-1]["content"].strip("<answer/>")
class Rubric:
    def __init__(self, funcs, weights, parser): self.funcs, self.weights, self.parser = funcs, weights, parser

def right(completion, answer, parser): return float(parser.parse_answer(completion) == answer)
async def long(completion, **kwargs): return float(len(completion[0]["content"]) > 9)

rubric = Rubric([right, long], [1.0, -0.25], Parser())
"""
V1 = "it takes a trace, as in v1; "
BEFORE = "as the functions of rubrics before v1; as "
# name -> the rewards of the four rows, what of the origin is said, the weights
READ = {
    "v1": ([2, 0, -1, 2], f"{V1}task from the row, trace from prompt and completion", {"v1": 1}),
    "v1_without_waiting": ([3] * 4, f"{V1}trace from prompt and completion", None),
    "v1_keys": ([3, 2, 1, 2], V1, {"right": 1, "level": 1}),
    "v1_transcript": ([1, 1, 0, 0], V1, None),
    "marked": ([0.25] * 4, V1, {"marked": 0.25}),
    "messages": ([1, 0, 0, 1], f"{BEFORE}messages", None),
    "texts": ([1, 0, 0, 1], f"{BEFORE}texts", None),
    "parsed": ([1, 0, 0, 1], f"{BEFORE}messages", None),
    "by_its_code": ([1, 0, 0, 1], "read as verifiers before v1", None),
    "any_subset": ([2] * 4, "read as verifiers before v1", None),
    "whatever_comes": ([1, 0, 0, 1], "whatever_comes read as", None),
    "a_plain_one": ([1, 0, 0, 1], "read as a plain function of columns", None),
    "plural": ([2, 0, 0, 2], f"{BEFORE}messages", None),
    "rubric": ([0.75, -0.25, 0, 1], f"{BEFORE}messages", {"right": 1, "long": -0.25}),
    "Marked": (
        [1.5, -0.5, -0.5, 2],
        "length read as verifiers: a metric, which is not paid",
        {"right": 2, "empty": -0.5, "tagged": -0.5, "length": 0},
    ),
}


@pytest.mark.parametrize("name", READ)
def test_a_function_a_task_and_a_rubric_are_read_by_what_they_ask_for(name, reads):
    expected, said, weights = READ[name]
    reward = reads(FUNCTIONS, expected, said, name=name, weights=weights)
    assert reward.components[0].group is (name == "plural")


def test_the_marked_methods_of_a_task_are_saved_with_the_weights_they_have(load, rollouts, rewards, tmp_path):
    reward = load(FUNCTIONS, "Marked")
    assert "right read as verifiers: @vf.reward with weight 2; self.data from the row" in reward.origin
    assert rk.score(reward, rollouts).score("length").tolist() == [18, 18, 0, 1]
    path = rk.save_reward(reward, tmp_path / "saved.py")
    assert rewards(rk.load_reward(str(path))) == rewards(reward)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("(trace, runtime): return 1.0", "which a log does not have"),
        ("(task, trace): return task.no_such_column", "no_such_column"),
        ("(task, trace): return 'good' if trace.last_reply else 1.0", "returned 'good'"),
        ("(trace): return float('nan')", "returned nan"),
    ],
)
def test_what_fails_is_no_score_and_says_why(source, said, load, rollouts):
    scores = rk.score(load(f"async def f{source}"), rollouts)
    assert np.isnan(scores.rewards[:2]).all() and said in str(scores.table["error/f"][0])


def test_a_transcript_with_tools_is_handed_over(load, rewards):
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    asked, answer = {"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    messages = [asked, called, {"role": "tool", "content": "4", "tool_call_id": "1"}, answer]
    rows = rk.load_rollouts([{"prompt": [asked], "completion": "4", "messages": messages}])
    source = "async def f(trace): return trace.num_turns + 10.0 * len(trace.tool_messages)"
    assert rewards(load(source, rollouts=rows), rows) == [12.0]
    before = "def f(completion, state): return float(len(completion))"
    assert rewards(load(before, rollouts=rows), rows) == [3.0]


# ---- writing


def of(function, row):
    data = data_of(row)
    return run(function(data, trace_of(row, data)))


def test_separate_functions_have_their_weights_in_the_configuration_and_no_name_is_overwritten(tmp_path):
    parts = [rk.Component("reward", short), rk.Component("rewards", short, weight=-0.2)]
    made = export(rk.Reward("r", components=parts), to="verifiers", path=tmp_path / "out.py", separate=True)
    assert f'[env.taskset.task.rewards.rewards]\nfn = "{made.path}:rewards"\nweight = -0.2' in made.usage
    row = {"prompt": "p", "completion": "abc"}
    assert of(loaded(made.path).rewards, row) == of(loaded(made.path).reward, row) == 0.3


def short(completion):
    return len(completion) / 10


def test_the_last_answer_is_the_completion_with_its_white_space_and_an_answer_of_the_root_comes_first():
    row = {"prompt": "p", "completion": " 4\n"}
    trace = trace_of(row, data_of(row))
    assert trace.last_reply == "4" and columns_of(data_of(row), trace)["completion"] == " 4\n"
    trace.root_reply = "root"
    assert columns_of(data_of(row), trace)["completion"] == "root"
    silent = SimpleNamespace(messages=[], assistant_messages=[], root_reply=None)
    expected = {"answer": "4", "messages": [], "completion": None}
    assert columns_of(SimpleNamespace(answer="4"), silent) == expected
