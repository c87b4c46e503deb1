"""Component: which columns a function is given, what is refused, and how it is recorded."""

import functools
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import rewardkit as rk
from rewardkit.rewards.component import Call
from rewardkit.rewards.fingerprint import describe, sources

ROW = {"completion": "four", "ground_truth": "4", "prompt": "2+2?"}
HERE = Path(__file__).name


def with_option(completion, *, k=1):
    return 1.0


SIGNATURES = [
    ("", None, {}),
    (
        "completion, *, prompt=None",
        {"prompt": "prompt"},
        {"completion": "four", "prompt": "2+2?"},
    ),
    (
        "a, b=1, c=None",
        {"a": "completion", "c": "prompt"},
        {"a": "four", "b": 1, "c": "2+2?"},
    ),
    ("completion, **kwargs", None, {"completion": "four", "kwargs": {}}),
]


@pytest.mark.parametrize(("signature", "columns", "given"), SIGNATURES)
def test_parameters_without_a_default_and_those_named_in_columns_are_filled(
    signature, columns, given
):
    names = {"heard": []}
    exec(
        f"def f({signature}):\n    heard.append(dict(locals()))\n    return 1.0", names
    )
    rk.Reward("r", components=[rk.Component("c", names["f"], columns=columns)])(**ROW)
    assert names["heard"] == [given]


def test_callable_objects_and_methods_are_asked_like_functions_and_async_ones_are_known_as_such():
    class Judge:
        async def __call__(self, completion, k=1):
            return len(completion) / 4

        def method(self, ground_truth):
            return float(ground_truth) / 8

    judge = Judge()
    reward = rk.Reward(
        "r", components=[rk.Component("a", judge), rk.Component("b", judge.method)]
    )
    assert reward(**ROW).scores == {"a": 1.0, "b": 0.5}
    functions = judge.__call__, functools.partial(judge, k=2), judge, judge.method
    assert [Call.of(function, "c").is_async for function in functions] == [
        True,
        True,
        True,
        False,
    ]


NO_COMPONENT = [
    ("c", max, {}, "cannot be read"),
    ("c", 3, {}, "needs a function, not 3"),
    ("c", len, {"columns": {"obk": "x"}}, "did you mean 'obj'?"),
    ("c", lambda a=1, b=2, /: 1, {"columns": {"b": "x"}}, "name that in columns="),
    ("a b", len, {}, "must be a Python identifier"),
    ("c", len, {"weight": float("nan")}, "weight=nan is not a finite number"),
    ("c", len, {"gate": "correct"}, "make one with rk.gate"),
    ("c", len, {"range": (1.0, 0.0)}, "low below high"),
    ("c", len, {"batch": True, "group": True}, "exclude each other"),
]


@pytest.mark.parametrize(("name", "function", "options", "said"), NO_COMPONENT)
def test_what_a_component_cannot_be_is_an_error_where_it_is_written(
    name, function, options, said
):
    with pytest.raises(rk.RewardError) as raised:
        rk.Component(name, function, **options)
    assert said in str(raised.value) and "\n" not in str(raised.value)


def scoring(*functions, **options):
    parts = [
        rk.Component(f"c{at}", function, **options)
        for at, function in enumerate(functions)
    ]
    return rk.Reward("r", components=parts).record()["fingerprints"]["scoring"]


def test_what_decides_a_score_changes_the_scoring_fingerprint_and_weight_and_why_do_not():
    functions = [
        with_option, *(functools.partial(with_option, k=k) for k in (1, 2)),
        *(rk.measure.length(full_until=3, zero_from=at) for at in (5, 6)), *map(rk.measure.keywords, "ab"),
    ]  # fmt: skip
    options = [
        {"gate": rk.gate("completion", equals="x")}, {"gate": rk.gate(with_option)}, {"range": (0.0, 2.0)},
        {"range": None}, {"columns": {"k": "prompt"}}, {"batch": True}, {"group": True},
    ]  # fmt: skip
    found = [
        *map(scoring, functions),
        *(scoring(with_option, **one) for one in options),
    ]
    assert len(set(found)) == len(functions) + len(options)
    assert scoring(with_option) == scoring(with_option, weight=2.0, why="because")


class LastWord(rk.extract.Extractor):
    """An extractor of a user's own, which is no dataclass."""

    def occurrences(self, completion):
        return [(completion.rindex(" ") + 1, len(completion))]


def test_an_extractor_of_a_users_own_is_a_field_whose_file_is_a_source_wherever_it_is_used():
    correct = rk.Component("correct", rk.verify.matches)
    reward = rk.Reward("own", {"prediction": LastWord()}, [correct])
    assert reward(completion="it is 4", ground_truth="4").reward == 1.0
    assert (
        reward.record()["fields"] == {"prediction": "last_word()"}
        and HERE in reward.record()["sources"]
    )
    tag, number = rk.extract.tag("answer"), rk.extract.number()
    for others, files in (([tag, number], []), ([tag, LastWord()], [HERE])):
        assert list(sources([rk.extract.first_of(*others)])) == files


@pytest.mark.parametrize(
    ("function", "written"),
    [
        (rk.verify.matches, "rk.verify.matches"),
        (
            functools.partial(with_option, k=LastWord.occurrences),
            "partial(with_option, k=LastWord.occurrences)",
        ),
        (rk.gate(with_option), "gate(with_option)"),
    ],
)
def test_a_function_is_written_without_memory_addresses(function, written):
    assert describe(function) == written


MINE = """
from functools import partial
import rewardkit as rk

def f(prediction, *, words=frozenset()):
    return 1.0

reward = rk.Reward("r", {"prediction": rk.extract.tag("answer")}, [
    rk.Component("c", partial(f, words=("a", "b"))),
    rk.Component("d", rk.measure.keywords("x", "y", "z"), gate=rk.gate(lambda prediction: True)),
], transform=rk.weigh.rank())

class Above:
    def __init__(self, limit):
        self.limit = limit
    def __call__(self, completion):
        return len(completion) > self.limit
    def closure(self):
        limit = self.limit
        return lambda completion: len(completion) > limit

def one(function):
    return rk.Reward("r", components=[rk.Component("c", function)])

closure_1, closure_2 = one(Above(1).closure()), one(Above(2).closure())
object_1, object_2 = one(Above(1)), one(Above(2))
lambda_1, lambda_2 = one(lambda completion: 1.0), one(lambda completion: 0.0)
"""


def test_fingerprints_are_the_same_in_every_process(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    here = rk.load_reward(str(tmp_path / "mine.py")).record()["fingerprints"]
    code = "import sys, rewardkit as rk; print(rk.load_reward(sys.argv[1]).record()['fingerprints'])"
    paths = {"PYTHONHASHSEED": "1", "PYTHONPATH": str(Path(rk.__file__).parent.parent)}
    command = [sys.executable, "-c", code, str(tmp_path / "mine.py")]
    assert subprocess.check_output(command, text=True, env=paths).strip() == str(here)


def test_closures_states_and_lambdas_of_one_file_have_fingerprints_of_their_own(
    tmp_path,
):
    (tmp_path / "mine.py").write_text(MINE)
    names = [
        f"{kind}_{at}" for kind in ("closure", "object", "lambda") for at in (1, 2)
    ]
    records = [
        rk.load_reward(f"{tmp_path}/mine.py:{name}").record()
        for name in [*names, names[0]]
    ]
    prints = [record["fingerprints"]["scoring"] for record in records]
    assert len(set(prints)) == 6 and prints[6] == prints[0]


def test_a_fingerprint_is_of_the_code_that_ran_though_its_file_is_edited_afterwards(
    tmp_path, monkeypatch
):
    def imported(paid):
        (tmp_path / "edited_after_scoring.py").write_text(
            f"def paid(completion):\n    return {paid}\n"
        )
        importlib.invalidate_caches()
        sys.modules.pop("edited_after_scoring", None)
        function = importlib.import_module("edited_after_scoring").paid
        return rk.Reward("r", components=[rk.Component("paid", function)])

    monkeypatch.syspath_prepend(tmp_path)
    reward = imported(1.0)
    before = reward.record()["fingerprints"]
    again = imported(0.25)
    assert rk.score(reward, [{"completion": "x"}]).rewards.tolist() == [1.0]
    assert (
        reward.reweigh({"paid": 2.0}).reweigh({"paid": 1.0}).record()["fingerprints"]
        == before
    )
    assert again.record()["fingerprints"] != before
