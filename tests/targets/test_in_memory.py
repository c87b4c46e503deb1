"""What the callables of `functions` give a trainer, called as it calls them; and they change nothing."""

import functools
import math
import pickle
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import TARGETS, find_target
from rewardkit.targets.target import import_file, run_async
from rewardkit.targets.verifiers import columns_of, data_of, trace_of

REWARDS = """
import rewardkit as rk

def paid(completion, ground_truth, prompt, level):
    return (completion == ground_truth) * level - len(prompt) if completion else None

def overall(completion, ground_truth, response_length):
    return (ground_truth == completion) + response_length / 100 if completion else None

def longest(completion): return [float(len(text) == max(map(len, completion))) for text in completion]
def known(completion, ground_truth, level): return completion and (completion == ground_truth) + level or None
def told(level, prompt, step): return level + len(prompt) + step
def size(completion): return float(len(completion))
def share(completion): return [float(len(completion))] * len(completion)

def of(*functions, **more):
    grouped = {one: {"group": one in (longest, share), **more} for one in functions}
    made = [rk.Component(one.__name__, one, range=None, **more) for one, more in grouped.items()]
    return rk.Reward("r", components=made)

fits, counted, length, siblings = map(of, (paid, told, size, share))
near, group = of(overall, weight=-2), of(longest, known).reweigh({"known": -1})
"""


def says(*texts):
    """Turns: of the user, then of the assistant."""
    return [
        {"role": ("user", "assistant")[at], "content": text}
        for at, text in enumerate(texts)
    ]


def message(turn):
    """As eval-protocol has it."""
    return SimpleNamespace(model_dump=lambda exclude_none: turn)


def state(text, question=None, **more):
    """As Inspect has it."""
    turns = [
        SimpleNamespace(role=one["role"], text=one["content"])
        for one in says("2+2?", text)
    ]
    told = {
        "output": SimpleNamespace(completion=text),
        "metadata": {"level": 6, **more},
    }
    return SimpleNamespace(input=question or turns[:1], messages=turns, **told)


def response(text, length):
    """As EasyR1 has it."""
    return {"response": text, "response_length": length, "ground_truth": "4"}


def stepped(reward, judged):
    """As SkyRL wants it."""
    told = {
        "score": reward,
        "judged": judged,
        "paid": reward,
        "judged/paid": judged,
    }
    return {"observations": [], "reward": reward, "done": True, "metadata": told}


def result(score, judged=True):
    """As eval-protocol wants it."""
    one = {
        "score": score,
        "is_score_valid": judged,
        "reason": "" if judged else "not judged",
    }
    return {**one, "metrics": {"paid": one}}


FOUR, SPEC, ASKED = SimpleNamespace(text="4"), {"ground_truth": "4"}, says("2+2?")
LEVEL = {"level": 6}
ANSWERS = [[{"role": "assistant", "content": text}] for text in ("4", "10", "")]
ITEM, TWO = {"prompt_id": 7, "level": 2}, [says("p", "-"), says("q")]
TEXTS, BYTES = np.array(["4", "12345"]), np.array([b"4"] * 2)
TOOL = [
    {"role": "assistant", "content": "ab"},
    {"role": "tool", "content": "<answer>4</answer>"},
]
SWIFT = {
    "messages": [says("2+2?", "a"), says("2+2?", "b")],
    "level": [1, 2],
    "prompt_id": ["", ""],
}
SWIFT |= {"trainer_state": SimpleNamespace(global_step=7)}
# target, the reward, what its function is called with, what it gives
CALLED = [
    ("easyr1", "near", ([response("4", 50)],), {}, [{"overall": -3.0, "judged": 1.0}]),
    ("easyr1", "near", ([response("", 0)],), {}, [{"overall": -9.0, "judged": 0.0}]),
    ("eval-protocol", "fits", (says("2+2?", "4"), "4"), LEVEL, result(2.0)),
    (
        "eval-protocol",
        "fits",
        (list(map(message, says("2+2?", "4"))), "4"),
        LEVEL,
        result(2.0),
    ),
    (
        "eval-protocol",
        "fits",
        (says("2+2?", ""), "4"),
        LEVEL,
        result(-9.0, judged=False),
    ),
    (
        "inspect",
        "fits",
        (state("4", "2+2?"), FOUR),
        {},
        {"value": 2.0, "metadata": {"paid": 2.0}},
    ),
    (
        "inspect",
        "fits",
        (state("5"), FOUR),
        {},
        {"value": -4.0, "metadata": {"paid": -4.0}},
    ),
    (
        "inspect",
        "fits",
        (state(""), FOUR),
        {},
        {"value": math.nan, "metadata": {"paid": None}},
    ),
    # the truth is as it is in the data set: a number
    (
        "inspect",
        "fits",
        (state("4", ground_truth=4), FOUR),
        {},
        {"value": -4.0, "metadata": {"paid": -4.0}},
    ),
    (
        "skyrl-gym",
        "fits",
        ("4", ASKED, {"reward_spec": SPEC, **LEVEL}),
        {},
        stepped(2.0, 1.0),
    ),
    (
        "skyrl-gym",
        "fits",
        ("", ASKED, {"reward_model": SPEC, **LEVEL}),
        {},
        stepped(-9.0, 0.0),
    ),
    # Atropos gives one value for all, or lists
    (
        "atropos",
        "group",
        (ANSWERS,),
        {"ground_truth": "4", "item": {"level": 2}},
        [-3.0, -1.0, -9.0],
    ),
    (
        "atropos",
        "group",
        (ANSWERS,),
        {"solution": "4", "item": ITEM},
        [-3.0, -1.0, -9.0],
    ),
    (
        "atropos",
        "group",
        (["4", "10", ""],),
        {"answer": ["4"] * 3, "level": [2] * 3},
        [-3.0, -1.0, -9.0],
    ),
    ("ms-swift", "counted", (["a", "b"],), SWIFT, [12.0, 13.0]),
    (
        "ms-swift",
        "siblings",
        (["a", "b", "c"],),
        {"prompt_id": ["x", "x", "y"]},
        [2.0, 2.0, 1.0],
    ),
    # an empty prompt_id is none; what a tool said last is no completion
    (
        "ms-swift",
        "siblings",
        (["a", "b"],),
        {"prompt_id": ["", ""], "messages": TWO},
        [1.0, 1.0],
    ),
    (
        "ms-swift",
        "length",
        (["<answer>4</answer>", "ab"],),
        {"messages": [TOOL, TOOL[:1]]},
        [2.0, 2.0],
    ),
    ("ms-swift", "length", (["<answer>4</answer>"],), {"messages": [ASKED]}, [18.0]),
    # a data pipeline of Tunix gives arrays, and bytes
    (
        "tunix",
        "length",
        (np.array(["p", "q"]), TEXTS),
        {"answer": BYTES, "mode": "x"},
        [1.0, 5.0],
    ),
    ("tunix", "siblings", (["a", "b", "a"], ["x", "y", "z"]), {}, [2.0, 1.0, 2.0]),
]


def short(completion):
    return len(completion) / 10


def test_functions_of_verifiers_have_their_weights_in_the_configuration_and_no_name_is_overwritten(
    tmp_path,
):
    parts = [rk.Component("reward", short), rk.Component("rewards", short, weight=-0.2)]
    reward = rk.Reward("r", components=parts)
    made = rk.export(reward, to="verifiers", path=tmp_path / "out.py", separate=True)
    assert (
        f'[env.taskset.task.rewards.rewards]\nfn = "{made.path}:rewards"\nweight = -0.2'
        in made.usage
    )
    module, data = import_file(made.path), data_of({"prompt": "p", "completion": "abc"})
    trace = trace_of({"prompt": "p", "completion": "abc"}, data)
    assert (
        run_async(module.rewards(data, trace))
        == run_async(module.reward(data, trace))
        == 0.3
    )


def test_the_last_answer_is_the_completion_with_its_white_space_and_an_answer_of_the_root_comes_first():
    row = {"prompt": "p", "completion": " 4\n"}
    trace = trace_of(row, data_of(row))
    assert (
        trace.last_reply == "4"
        and columns_of(data_of(row), trace)["completion"] == " 4\n"
    )
    trace.root_reply = "root"
    assert columns_of(data_of(row), trace)["completion"] == "root"
    silent = SimpleNamespace(messages=[], assistant_messages=[], root_reply=None)
    expected = {"answer": "4", "messages": [], "completion": None}
    assert columns_of(SimpleNamespace(answer="4"), silent) == expected


@pytest.mark.parametrize(
    "target", [one for one in TARGETS if one.functions], ids=lambda target: target.name
)
def test_the_module_of_a_target_offers_its_functions_by_name(target):
    stem = {"inspect": "inspect_ai"}.get(target.name, target.name.replace("-", "_"))
    assert getattr(rk.targets, stem).functions is target.functions


@pytest.mark.parametrize(
    ("target", "reward", "arguments", "keywords", "expected"), CALLED
)
def test_callables_give_plain_values_change_nothing_and_record_them_under_the_step_they_are_told(
    target, reward, arguments, keywords, expected, load, tmp_path
):
    folder = tmp_path / "run"
    options = {} if target == "inspect" else {"missing": -9.0}
    reward = load(REWARDS, reward, rollouts=None)
    before = repr((arguments, keywords))
    for record in (None, folder):
        made = find_target(target).functions(reward, record=record, **options)
        function = made[0] if isinstance(made, list) else made
        assert repr(function(*arguments, **keywords)) == repr(expected)
        assert repr((arguments, keywords)) == before
    rk.Recorder(folder).flush()
    scores = rk.load_scores(folder)
    is_told = "trainer_state" in keywords
    assert set(scores.table["step"]) == ({7} if is_told else {1})
    assert scores.record["recorder"]["steps"] == ["trainer" if is_told else "calls"]
    paid = expected if isinstance(expected, list) else [expected]
    assert len(scores) == len(paid)
    if isinstance(paid[0], float):
        missing = [-9.0 if math.isnan(value) else value for value in scores.rewards]
        assert missing == paid


def hangs(completion):
    if completion == "hang":
        time.sleep(60)
    return len(completion) / 4


def opened(lock, completion):
    return lock is not None


def test_a_call_that_hangs_costs_its_row_a_reason_and_the_run_goes_on(
    limited, tmp_path
):
    reward = rk.Reward("r", components=[rk.Component("c", hangs)])
    record = rk.Recorder(tmp_path / "run")
    (function,) = rk.targets.trl.functions(reward, record=record, timeout=0.5)
    began = time.monotonic()
    assert function(["p"] * 3, ["ab", "hang", "a"]) == [0.5, None, 0.25]
    assert time.monotonic() - began < 30
    record.flush()
    scores = rk.load_scores(tmp_path / "run")
    assert scores.errors("c") == ["took longer than 0.5 s"]
    assert scores.record["timeout"] == 0.5
    again = pickle.loads(pickle.dumps(function))
    assert again(["p"], ["abc"]) == [0.75]


@pytest.mark.parametrize(
    ("function", "timeout", "match"),
    [
        (hangs, 0, "give seconds above 0"),
        (hangs, "soon", "give seconds above 0"),
        (functools.partial(opened, threading.Lock()), 1.0, "cannot be called in another process.*leave timeout out"),
    ],
)  # fmt: skip
def test_a_time_limit_that_cannot_be_kept_is_refused_before_training(
    function, timeout, match
):
    reward = rk.Reward("r", components=[rk.Component("c", function)])
    with pytest.raises(rk.RewardError, match=match):
        rk.targets.trl.functions(reward, timeout=timeout)


def some(completion):
    """Not judged, an error, the least, and more."""
    if not completion:
        return None
    return 1 / (len(completion) - 2) if len(completion) < 4 else 0


GATE = rk.gate("some", at_least=0.5)
FIGURES = {"components/some/mean": 0.5, "components/some/at_minimum": 0.5, "components/some/not_judged": 0.5,
           "components/late/mean": 1.0, "components/late/at_minimum": 0.0, "components/late/not_judged": 0.5,
           "components/never/not_judged": 1.0}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, FIGURES), ({"separate": True}, FIGURES), ({"metrics": False}, {})],
)
def test_trl_logs_figures_of_each_component_once_a_batch(options, expected):
    """A gated row is judged; where nothing is judged, there is no mean."""
    parts = [
        rk.Component("some", some),
        rk.Component("late", lambda completion: 1.0, gate=GATE),
        rk.Component("never", lambda completion: None),
    ]
    functions = rk.targets.trl.functions(rk.Reward("r", components=parts), **options)
    logged = []
    for function in functions:
        function(
            ["p"] * 4,
            ["", "ab", "abc", "abcd"],
            log_metric=lambda name, value: logged.append((name, value)),
        )
    metrics = dict(logged)
    assert len(metrics) == len(logged)
    seconds = [metrics.pop(name) for name in list(metrics) if name.endswith("/seconds")]
    assert metrics == expected
    assert len(seconds) == (3 if expected else 0)
    assert all(0 <= value < 1 for value in seconds)


def test_seconds_are_those_that_the_calls_of_a_component_took():
    parts = [
        rk.Component("slow", lambda completion: time.sleep(0.05) or 1.0),
        rk.Component("quick", lambda completion: 1.0),
    ]
    (function,) = rk.targets.trl.functions(rk.Reward("r", components=parts))
    metrics = {}
    function(["p"] * 4, ["a"] * 4, log_metric=metrics.__setitem__)
    assert 0.2 <= metrics["components/slow/seconds"] < 0.5
    assert metrics["components/quick/seconds"] < 0.05


def test_a_proof_is_no_training_and_records_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reward = rk.Reward("r", components=[rk.Component("short", short)])
    rows = [{"prompt": "p", "completion": text} for text in ("a", "bb")]
    made = rk.export(
        reward, to="easyr1", path=tmp_path / "out.py", record="run", verify=rows
    )
    assert made.proof.equal
    rk.Recorder("run").flush()
    assert not (tmp_path / "run").exists()
    (function,) = (getattr(import_file(made.path), name) for name in made.functions)
    function([{"response": "a", "response_length": 1, "ground_truth": "4"}])
    rk.Recorder("run").flush()
    assert len(rk.load_scores("run")) == 1


@pytest.mark.parametrize("name", ["trl", "tunix", "ms-swift"])
def test_a_column_of_the_data_set_may_have_the_name_of_any_parameter(name):
    part = rk.Component("right", lambda completion, self: completion == self)
    made = find_target(name).functions(rk.Reward("r", components=[part]))
    function = made[0] if isinstance(made, list) else made
    batch = {"prompts": ["?", "?"], "completions": ["4", "5"], "self": ["4", "4"]}
    assert function(**batch) == [1, 0]
