"""verifiers: rewards of v1 as functions and as methods of a task, rubrics before it, and the file."""

from types import SimpleNamespace

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import verifiers
from rewardkit.targets.calling import awaited as run
from rewardkit.targets.calling import loaded
from rewardkit.targets.export import export
from rewardkit.targets.verifiers import data_of, trace_of

# what verifiers' decorators leave on a function, and a base class that is made as its Task is
MARKS = """
def reward(weight=1.0):
    def mark(function):
        function.reward, function._vf_weight = True, weight
        return function
    return mark

def metric(function):
    function.metric = True
    return function

class Task:
    def __init__(self, data, config=None):
        self.data, self.config = data, config
"""

# source, the rewards of the four rows, what of the origin is said
READ = {
    "v1: a function of task and trace": (
        "async def f(task, trace):\n    t = trace.last_reply\n    return 2.0 * (task.answer in t) - (not t)",
        [2, 0, -1, 2],
        "it takes a trace, as in v1; task from the row, trace from prompt and completion",
    ),
    "v1: the trace alone, without waiting": (
        "def f(trace): return float(trace.num_turns + len(trace.messages))",
        [3] * 4,
        "trace from prompt and completion",
    ),
    "v1: keys": (
        "async def f(task, trace): return {'right': task.answer in trace.last_reply, 'level': task.level}",
        [3, 2, 1, 2],
        "as in v1",
    ),
    "v1: the transcript": (
        "async def f(trace): return ('[user]\\n2+2?' in trace.transcript) * float(trace.num_turns)",
        [1, 1, 0, 0],
        "as in v1",
    ),
    "before: messages and the state": (
        "def f(completion, answer, state): return float(answer in completion[-1]['content']) * state['turn']",
        [1, 0, 0, 1],
        "as the functions of rubrics before v1; as messages",
    ),
    "before: texts and the parser": (
        "def f(completion, answer, parser): return float(answer in parser.parse(completion))",
        [1, 0, 0, 1],
        "before v1; as texts",
    ),
    "before: what the parser finds in messages": (
        "def f(completion, answer, parser, **kw): return float(answer in parser.parse_answer(completion))",
        [1, 0, 0, 1],
        "as messages",
    ),
    "before: messages, by what its code says": (
        "def f(completion, answer): return float(answer in completion[-1]['content'])",
        [1, 0, 0, 1],
        "read as verifiers",
    ),
    "before: any subset, awaited": (
        "async def f(prompt, completion, info, task): return 1 + float(task == 'default' and info == {})",
        [2] * 4,
        "read as verifiers",
    ),
    "texts or messages, whatever comes": (
        """
        def f(completion, answer):
            text = completion if isinstance(completion, str) else completion[-1]["content"]
            return float(answer in text)
        """,
        [1, 0, 0, 1],
        "f read as",
    ),
    "a function of texts is a plain one": (
        "def f(completion, answer): return float(answer in completion)",
        [1, 0, 0, 1],
        "read as a plain function of columns",
    ),
}


@pytest.mark.parametrize("kind", READ)
def test_a_function_is_read_by_what_it_asks_for(kind, reads):
    reads(*READ[kind])


TASK = (
    MARKS
    + """
class f(Task):
    @metric
    def length(self, trace):
        return len(trace.last_reply)

    @reward(weight=2.0)
    async def right(self, trace):
        return float(self.data.answer in trace.last_reply)

    @reward(weight=-0.5)
    async def form(self, task, trace):
        assert task is self.data
        return {"empty": float(not trace.last_reply), "tagged": float("<answer>" in trace.last_reply)}

    def helper(self):
        return 1 / 0
"""
)


def test_the_marked_methods_of_a_task_are_components_and_saved_with_the_weights_they_have(
    reads, rollouts, rewards, tmp_path
):
    reward = reads(
        TASK,
        [1.5, -0.5, -0.5, 2.0],
        "right read as verifiers: @vf.reward with weight 2; self.data from the row",
        "length read as verifiers: a metric, which is not paid",
        weights={"right": 2.0, "empty": -0.5, "tagged": -0.5, "length": 0.0},
    )
    assert rk.score(reward, rollouts).score("length").tolist() == [18, 18, 0, 1]
    path = rk.save_reward(reward, tmp_path / "saved.py")
    assert rewards(rk.load_reward(str(path))) == rewards(reward)


def test_the_weight_of_a_marked_function_is_taken_over(reads):
    source = f"{MARKS}\n@reward(weight=0.25)\nasync def f(task, trace): return 1.0"
    reads(source, [0.25] * 4, weights={"f": 0.25})


RUBRIC = """
class Parser:
    def parse_answer(self, completion): return completion[-1]["content"].strip("<answer/>")

class Rubric:
    def __init__(self, funcs, weights, parser):
        self.funcs, self.weights, self.parser = funcs, weights, parser

def right(completion, answer, parser): return float(parser.parse_answer(completion) == answer)

async def long(completion, **kwargs): return float(len(completion[0]["content"]) > 9)

f = Rubric([right, long], [1.0, -0.25], Parser())
"""


def test_a_rubric_is_its_functions_with_its_weights_and_its_parser(reads):
    reads(RUBRIC, [0.75, -0.25, 0.0, 1.0], weights={"right": 1.0, "long": -0.25})


def test_plural_names_are_a_group(reads):
    source = """
        def f(completions, answers, states):
            texts = [turns[-1]["content"] for turns in completions]
            return [len(texts) * float(truth in text) for text, truth in zip(texts, answers)]
    """
    assert reads(source, [2, 0, 0, 2], "as messages").components[0].group


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
    asked = {"role": "user", "content": "2+2?"}
    messages = [
        asked,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "4", "tool_call_id": "1"},
        {"role": "assistant", "content": "4"},
    ]
    rows = rk.load_rollouts([{"prompt": [asked], "completion": "4", "messages": messages}])
    source = "async def f(trace): return trace.num_turns + 10.0 * len(trace.tool_messages)"
    assert rewards(load(source, rollouts=rows), rows) == [12.0]
    before = "def f(completion, state): return float(len(completion))"
    assert rewards(load(before, rollouts=rows), rows) == [3.0]


# ---- writing


def of(function, row):
    data = data_of(row)
    return run(function(data, trace_of(row, data)))


def test_the_file_has_an_async_function_of_task_and_trace(rollouts, tmp_path):
    reward = rk.load_reward("gallery:arithmetic")
    made = export(reward, to="verifiers", path=tmp_path / "out.py")
    assert made.functions == ("arithmetic_v1",) and f'fn = "{made.path}:arithmetic_v1"' in made.usage
    given = [of(loaded(made.path).arithmetic_v1, row) for row in rollouts]
    assert given == rk.score(reward, rollouts).rewards.tolist() and all(type(one) is float for one in given)


def test_separate_functions_have_their_weights_in_the_configuration_and_no_name_is_overwritten(tmp_path):
    parts = [rk.Component("reward", short), rk.Component("rewards", short, weight=-0.2)]
    made = export(rk.Reward("r", components=parts), to="verifiers", path=tmp_path / "out.py", separate=True)
    assert "[env.taskset.task.rewards.rewards]\n" in made.usage and "weight = -0.2" in made.usage
    row = {"prompt": "p", "completion": "abc"}
    assert of(loaded(made.path).rewards, row) == of(loaded(made.path).reward, row) == 0.3


def short(completion):
    return len(completion) / 10


def test_the_last_answer_is_the_completion_with_its_white_space_and_an_answer_of_the_root_comes_first():
    row = {"prompt": "p", "completion": " 4\n"}
    trace = trace_of(row, data_of(row))
    assert trace.last_reply == "4" and verifiers.columns_of(data_of(row), trace)["completion"] == " 4\n"
    trace.root_reply = "root"
    assert verifiers.columns_of(data_of(row), trace)["completion"] == "root"
    silent = SimpleNamespace(messages=[], assistant_messages=[], root_reply=None)
    assert verifiers.columns_of(SimpleNamespace(answer="4"), silent) == {
        "answer": "4",
        "messages": [],
        "completion": None,
    }
