"""Component: which columns a function is given, what is refused, and how it is recorded."""

import functools
import inspect
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

import rewardkit as rk
from rewardkit.rewards.fingerprint import describe, sources
from rewardkit.rewards.signature import Call

ROW = {"completion": "four", "ground_truth": "4", "prompt": "2+2?"}


def heard(function, **options):
    """What the component's function, which records its arguments, is called with."""
    rk.Reward("r", components=[rk.Component("c", function, **options)])(**ROW)
    return function.heard


class Listener:
    """A callable whose calls are recorded; `make` gives it a signature."""

    def __init__(self, source):
        self.heard = []
        names = {"heard": self.heard}
        exec(f"def f{source}:\n    heard.append(dict(locals()))\n    return 1.0", names)
        self.function = names["f"]
        self.__signature__ = inspect.signature(self.function)

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


@pytest.mark.parametrize(
    ("signature", "columns", "given"),
    [
        ("(completion)", None, {"completion": "four"}),
        ("(ground_truth, completion)", None, {"ground_truth": "4", "completion": "four"}),
        ("(completion, /)", None, {"completion": "four"}),
        ("(*, completion)", None, {"completion": "four"}),
        ("(completion, *, ground_truth)", None, {"completion": "four", "ground_truth": "4"}),
        ("(completion, prompt=None)", None, {"completion": "four", "prompt": None}),
        ("(completion, prompt=None)", {"prompt": "prompt"}, {"completion": "four", "prompt": "2+2?"}),
        ("(completion, *, prompt=None)", {"prompt": "prompt"}, {"completion": "four", "prompt": "2+2?"}),
        ("(completion, a=1, prompt=None)", {"prompt": "prompt"},
         {"completion": "four", "a": 1, "prompt": "2+2?"}),
        ("(text)", {"text": "completion"}, {"text": "four"}),
        ("(completion, truth)", {"truth": "ground_truth"}, {"completion": "four", "truth": "4"}),
        ("(completion, **kwargs)", None, {"completion": "four", "kwargs": {}}),
        ("(completion, *args)", None, {"completion": "four", "args": ()}),
        ("(a, b)", {"a": "completion", "b": "completion"}, {"a": "four", "b": "four"}),
        ("()", None, {}),
    ],
)  # fmt: skip
def test_parameters_without_a_default_and_those_named_in_columns_are_filled_by_name(
    signature, columns, given
):
    assert heard(Listener(signature), columns=columns) == [given]


def test_bound_arguments_of_a_partial_are_not_filled():
    def f(completion, ground_truth, *, prompt):
        return (completion, ground_truth, prompt) == ("bound", "4", "given")

    bound = functools.partial(f, "bound", prompt="given")
    component = rk.Component("c", bound)
    assert component.asks_for == ("ground_truth",)
    assert rk.Reward("r", components=[component])(**ROW).scores == {"c": 1.0}


def test_callable_objects_and_methods_are_asked_like_functions():
    class Judge:
        def __call__(self, completion):
            return len(completion) / 4

        def method(self, ground_truth):
            return float(ground_truth) / 8

    reward = rk.Reward("r", components=[rk.Component("a", Judge()), rk.Component("b", Judge().method)])
    assert reward(**ROW).scores == {"a": 1.0, "b": 0.5}


def test_async_functions_objects_and_partials_are_known_as_such():
    async def f(completion, k=1):
        return 1.0

    class Judge:
        async def __call__(self, completion):
            return 1.0

    for function in (f, functools.partial(f, k=2), Judge()):
        assert Call.read(function, "c").is_async
    assert not Call.read(len, "c").is_async


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: rk.Component("c", 3), "needs a function, not 3"),
        (lambda: rk.Component("c", max), "cannot be read"),
        (
            lambda: rk.Component("c", lambda completion: 1, columns={"completon": "x"}),
            "did you mean 'completion'?",
        ),
        (lambda: rk.Component("c", lambda a=1, b=2, /: 1, columns={"b": "x"}), "name that in columns="),
        (lambda: rk.Component("a b", len), "must be a Python identifier"),
        (lambda: rk.Component("class", len), "no keyword"),
        (lambda: rk.Component("", len), "must be a Python identifier"),
        (
            lambda: rk.Component("c", lambda completion: 1, weight=float("nan")),
            "weight=nan is not a finite number",
        ),
        (lambda: rk.Component("c", lambda completion: 1, weight=float("inf")), "is not a finite number"),
        (lambda: rk.Component("c", lambda completion: 1, weight="1"), "weight='1' is not a finite number"),
        (lambda: rk.Component("c", lambda completion: 1, weight=True), "weight=True is not a finite number"),
        (lambda: rk.Component("c", lambda completion: 1, gate="correct"), "make one with rk.gate"),
        (lambda: rk.Component("c", lambda completion: 1, range=(1.0, 0.0)), "low below high"),
        (lambda: rk.Component("c", lambda completion: 1, range=(0.0, 1.0, 2.0)), "low below high"),
        (lambda: rk.Component("c", lambda completion: 1, range=(float("nan"), 1.0)), "low below high"),
        (lambda: rk.Component("c", lambda completion: 1, batch=True, group=True), "exclude each other"),
    ],
)
def test_what_a_component_cannot_be_is_an_error_where_it_is_written(make, said):
    with pytest.raises(rk.RewardError) as raised:
        make()
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def with_option(completion, *, k=1):
    return 1.0


def scoring(*components, **options):
    return rk.Reward("r", options.pop("fields", {}), components, **options).record()["fingerprints"][
        "scoring"
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (rk.measure.length(full_until=3, zero_from=5), rk.measure.length(full_until=3, zero_from=6)),
        (functools.partial(with_option, k=1), functools.partial(with_option, k=2)),
        (with_option, functools.partial(with_option, k=1)),
        (rk.measure.keywords("a"), rk.measure.keywords("b")),
    ],
)
def test_an_option_changes_the_scoring_fingerprint(one, other):
    assert scoring(rk.Component("c", one)) != scoring(rk.Component("c", other))


@pytest.mark.parametrize(
    "options",
    [
        {"gate": rk.gate("completion", equals="x")},
        {"gate": rk.gate(with_option)},
        {"columns": {"k": "prompt"}},
        {"range": (0.0, 2.0)},
        {"range": None},
        {"batch": True},
        {"group": True},
    ],
)
def test_what_decides_a_score_changes_the_scoring_fingerprint(options):
    assert scoring(rk.Component("c", with_option)) != scoring(rk.Component("c", with_option, **options))


@pytest.mark.parametrize("options", [{"weight": 2.0}, {"why": "because"}])
def test_weight_and_why_leave_the_scoring_fingerprint_alone(options):
    assert scoring(rk.Component("c", with_option)) == scoring(rk.Component("c", with_option, **options))


def test_the_source_file_of_a_users_function_is_in_the_fingerprint(tmp_path):
    prints = []
    for body in ("1.0", "0.5", "1.0"):
        (tmp_path / "mine.py").write_text(f"def f(completion):\n    return {body}\n")
        reward = rk.load_reward(f"{tmp_path / 'mine.py'}:f")
        record = reward.record()
        assert list(record["sources"]) == ["mine.py"]
        prints.append(record["fingerprints"]["scoring"])
    assert prints[0] == prints[2] != prints[1]


def test_the_fingerprint_is_of_the_code_that_was_loaded_not_of_what_the_file_holds_later(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def f(completion):\n    return 1.0\n")
    before = rk.load_reward(f"{path}:f")
    path.write_text("def f(completion):\n    return 0.0\n")
    after = rk.load_reward(f"{path}:f")
    assert before(completion="x").reward != after(completion="x").reward
    assert before.record()["fingerprints"]["scoring"] != after.record()["fingerprints"]["scoring"]


def test_two_source_files_of_one_name_are_both_in_the_fingerprint(tmp_path):
    def fingerprint(first, second):
        functions = []
        for folder, body in (("a", first), ("b", second)):
            (tmp_path / folder).mkdir(exist_ok=True)
            path = tmp_path / folder / "mine.py"
            path.write_text(f"def f(completion):\n    return {body}\n")
            functions.append(rk.load_reward(f"{path}:f").components[0].function)
        return scoring(*(rk.Component(f"c{i}", function) for i, function in enumerate(functions)))

    assert len({fingerprint(*bodies) for bodies in (("1.0", "1.0"), ("0.5", "1.0"), ("1.0", "0.5"))}) == 3


def test_rewardkits_own_primitives_need_no_source():
    extractor = rk.extract.first_of(rk.extract.tag("answer"), rk.extract.number())
    assert (
        sources([extractor, rk.verify.matches, functools.partial(rk.verify.matches), rk.gate("x", equals=1)])
        == {}
    )


def test_users_functions_inside_partials_and_gates_are_found():
    gated = rk.gate(with_option)
    for function in (with_option, functools.partial(with_option, k=2), gated):
        assert list(sources([function])) == ["test_component.py"]


def test_a_function_without_source_is_recorded_as_unknown():
    names = {}
    exec("def made(completion):\n    return 1.0", names)
    record = rk.Reward("r", components=[rk.Component("c", names["made"])]).record()
    assert record["sources"] == {"made": "unknown"}


@dataclass(frozen=True)
class Limit:
    at: int

    def __call__(self, completion):
        return 1.0


class Plain:
    def __call__(self, completion):
        return 1.0


@pytest.mark.parametrize(
    ("function", "written"),
    [
        (rk.verify.matches, "rk.verify.matches"),
        (with_option, "with_option"),
        (functools.partial(with_option, k=2), "partial(with_option, k=2)"),
        (rk.extract.tag("answer"), "tag('answer')"),
        (Limit(3), "Limit(at=3)"),
        (Plain(), "Plain()"),
        (rk.gate(with_option), "gate(with_option)"),
        (rk.gate("c", at_least=1.0), "gate('c', at_least=1.0)"),
    ],
)
def test_a_function_is_written_without_memory_addresses(function, written):
    assert describe(function) == written


def test_a_function_bound_to_a_keyword_is_written_and_found_too():
    bound = functools.partial(with_option, k=Plain.__call__)
    assert "0x" not in describe(bound)
    assert describe(bound) != describe(functools.partial(with_option, k=with_option))
    assert list(sources([functools.partial(rk.verify.matches, ground_truth=with_option)])) == [
        "test_component.py"
    ]


def test_fingerprints_are_the_same_in_every_process(tmp_path):
    (tmp_path / "mine.py").write_text(
        textwrap.dedent(
            """
            from functools import partial
            import rewardkit as rk

            def f(prediction, *, words=frozenset()):
                return 1.0

            reward = rk.Reward("r", {"prediction": rk.extract.tag("answer")}, [
                rk.Component("c", partial(f, words=("a", "b"))),
                rk.Component("d", rk.measure.keywords("x", "y", "z"), gate=rk.gate(lambda prediction: True)),
            ], transform=rk.weigh.rank())
            """
        )
    )
    here = rk.load_reward(str(tmp_path / "mine.py")).record()["fingerprints"]
    code = "import sys, rewardkit as rk; print(rk.load_reward(sys.argv[1]).record()['fingerprints'])"
    for seed in "12":
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "mine.py")],
            capture_output=True, text=True, check=True, timeout=60,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(rk.__file__).parent.parent)},
        )  # fmt: skip
        assert done.stdout.strip() == str(here)


def test_closures_defaults_states_and_lambdas_of_one_file_have_fingerprints_of_their_own(tmp_path):
    (tmp_path / "mine.py").write_text(
        textwrap.dedent(
            """\
            import rewardkit as rk

            def above(limit):
                def f(completion):
                    return len(completion) > limit
                return f

            class Above:
                def __init__(self, limit):
                    self.limit = limit
                def __call__(self, completion):
                    return len(completion) > self.limit

            def one(function):
                return rk.Reward("r", components=[rk.Component("c", function)])

            closure_1, closure_2 = one(above(1)), one(above(2))
            object_1, object_2 = one(Above(1)), one(Above(2))
            lambda_1, lambda_2 = one(lambda completion: 1.0), one(lambda completion: 0.0)
            """
        )
    )

    def scoring(name):
        return rk.load_reward(f"{tmp_path}/mine.py:{name}").record()["fingerprints"]["scoring"]

    for kind in ("closure", "object", "lambda"):
        assert scoring(f"{kind}_1") == scoring(f"{kind}_1")
        assert scoring(f"{kind}_1") != scoring(f"{kind}_2"), kind


def test_a_user_s_extractor_inside_of_a_primitive_is_a_source():
    class Own(rk.extract.Extractor):
        which = "last"

        def occurrences(self, completion):
            return []

    inside = rk.extract.first_of(rk.extract.tag("answer"), Own())
    assert list(sources([inside])) == list(sources([rk.extract.within(rk.extract.tag("a"), inside)]))
    assert list(sources([inside])) == ["test_component.py"]
