"""ms-swift's ORM classes, read and written without ms-swift."""

import copy
from types import SimpleNamespace

import pytest

import rewardkit as rk
from rewardkit.targets import ms_swift

ORM = """
class ORM:
    def __init__(self, args=None, **kwargs):
        self.args = args
"""


SOLUTION = "solution, **kw): return [1.5 if s in c else -0.5 for c, s in zip(completions, solution)]"
TURNS = "messages, **kw): return [len(m) + (m[-1]['content'] == c) for c, m in zip(completions, messages)]"
JUDGED = "level=None, **kw): return [n if c else None for c, n in zip(completions, level)]"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (SOLUTION, [1.5, -0.5, -0.5, 1.5]),
        (TURNS, [3, 3, 3, 3]),  # which the rollouts do not have as a column
        (JUDGED, [2, 2, None, 1]),
        ("**kw): return (float('nan') for c in completions)", [None] * 4),
        ("**kw): return [float(len(c)) for c in completions]", [18, 18, 0, 1]),
    ],
)
def test_a_class_is_read_as_ms_swift_calls_its_objects(reads, body, expected):
    start = "async def" if "len(c)" in body else "def"  # an AsyncORM
    source = f"{ORM}\nclass f(ORM):\n    {start} __call__(self, completions, {body}\n"
    reads(source, expected, "read as ms-swift: its objects take completions")


CALLED = "    def __call__(self, completions, **kwargs): return"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            f"    def __init__(self, args): pass\n{CALLED} [1.0]",
            r"f\(\) failed at .*mine\.py: TypeError: .*'args'; give an object of it",
        ),
        (
            f"    def __init__(self, args=None): self.w = args.weight\n{CALLED} [1.0]",
            r"f\(\) failed at .*mine\.py:2: AttributeError: 'NoneType' .*'weight'",
        ),
        (
            f"{CALLED} ['good' for _ in completions]",
            r"f returned 'good' of type str for a completion; ms-swift expects class R\(ORM\)",
        ),
        (
            "    def __call__(self, completions, level_of, **kwargs): return [1.0]",
            r"f asks for 'level_of'; the rollouts have",
        ),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(load, source, said):
    with pytest.raises(rk.RewardError, match=said):
        load(f"class f:\n{source}")


def test_a_list_of_another_length_is_no_reward(reads):
    reads(f"class f:\n{CALLED} [1.0] * 3", [None] * 4, "it failed: returned 3 values for 1 completion")


def level(level, prompt, step):
    return level + len(prompt) + step


def siblings(completion):
    return [float(len(completion))] * len(completion)


def test_the_function_takes_columns_as_ms_swift_hands_them_over():
    reward = rk.Reward("r", components=[rk.Component("score", level, range=None)])
    (function,) = ms_swift.functions(reward)
    turns = [[{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": text}] for text in "ab"]
    given = {
        "messages": turns,
        "level": [1, 2],
        "prompt_id": ["", ""],
        "trainer_state": SimpleNamespace(global_step=7),
    }
    before = copy.deepcopy(given)
    assert function(["a", "b"], **given) == [12.0, 13.0]
    assert given == before


def test_siblings_are_those_of_one_prompt_id_and_an_empty_one_is_none():
    reward = rk.Reward("r", components=[rk.Component("size", siblings, range=None, group=True)])
    (function,) = ms_swift.functions(reward, missing=-9.0)
    assert function(["a", "b", "c"], prompt_id=["x", "x", "y"]) == [2.0, 2.0, 1.0]
    turns = [[{"role": "user", "content": q}, {"role": "assistant", "content": "-"}] for q in "ppq"]
    assert function(["a", "b", "c"], prompt_id=["", "", ""], messages=turns) == [2.0, 2.0, 1.0]


def said(completion):
    return float(len(completion))


def test_what_a_tool_said_last_is_no_completion():
    (function,) = ms_swift.functions(rk.Reward("r", components=[rk.Component("said", said, range=None)]))
    turns = [{"role": "assistant", "content": "ab"}, {"role": "tool", "content": "<answer>4</answer>"}]
    assert function(["<answer>4</answer>", "ab"], messages=[turns, turns[:1]]) == [2.0, 2.0]
    assert function(["<answer>4</answer>"], messages=[[{"role": "user", "content": "2+2?"}]]) == [18.0]
