"""The mutants of a reward: which changes are made of options, weights, gates, routes and users' own code."""

import calendar
import importlib.util
import pickle
import sys
import textwrap
from functools import partial
from pathlib import Path

import pytest

import rewardkit as rk
from rewardkit.probes.mutants.code import code_changes, helpers, with_code
from rewardkit.probes.mutants.functions import Turned
from rewardkit.probes.mutants.mutating import mutants_of
from rewardkit.probes.mutants.options import option_changes, written
from rewardkit.workers.pool import pickled

extract, measure, verify = rk.extract, rk.measure, rk.verify
FIRST = extract.first_of(extract.tag("answer"), extract.number())
WITHIN = extract.within(extract.tag("answer"), extract.number())


def graded(completion, limit=0.5):
    return len(completion) / 10 > limit


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        pytest.param(extract.boxed(), {"boxed(which='first')"}, id="the other match"),
        pytest.param(extract.boxed(which="first"), {"boxed()"}, id="and back"),
        pytest.param(extract.gsm8k(), {"gsm8k(mode='flexible')"}, id="what is always the last has no first"),
        pytest.param(
            FIRST,
            {
                "first_of(rk.extract.number())",
                "first_of(rk.extract.tag('answer'))",
                "first_of(rk.extract.number(), rk.extract.tag('answer'))",
                "first_of(rk.extract.tag('answer', which='first'), rk.extract.number())",
                "first_of(rk.extract.tag('answer', unclosed=True), rk.extract.number())",
                "first_of(rk.extract.tag('answer', prefilled=True), rk.extract.number())",
                "first_of(rk.extract.tag('answer'), rk.extract.number(which='first'))",
                "first_of(rk.extract.tag('answer'), rk.extract.number(percent=True))",
            },
            id="an alternative left out, in the other order, and each of them changed",
        ),
        pytest.param(
            WITHIN,
            {
                "number()",
                "tag('answer')",
                "within(rk.extract.tag('answer', which='first'), rk.extract.number())",
                "within(rk.extract.tag('answer', unclosed=True), rk.extract.number())",
                "within(rk.extract.tag('answer', prefilled=True), rk.extract.number())",
                "within(rk.extract.tag('answer'), rk.extract.number(which='first'))",
                "within(rk.extract.tag('answer'), rk.extract.number(percent=True))",
            },
            id="inside another, or not",
        ),
        pytest.param(
            extract.every(WITHIN),
            {
                "every(rk.extract.number())",
                "every(rk.extract.tag('answer'))",
                "every(rk.extract.within(rk.extract.tag('answer', which='first'), rk.extract.number()))",
                "every(rk.extract.within(rk.extract.tag('answer', unclosed=True), rk.extract.number()))",
                "every(rk.extract.within(rk.extract.tag('answer', prefilled=True), rk.extract.number()))",
                "every(rk.extract.within(rk.extract.tag('answer'), rk.extract.number(percent=True)))",
            },
            id="where all matches count, the first and the last are one, but for the place to look in",
        ),
        pytest.param(
            measure.length(full_until=10, zero_from=20),
            {
                "length(full_until=7, zero_from=20)",
                "length(full_until=13, zero_from=20)",
                "length(full_until=10, zero_from=14)",
                "length(full_until=10, zero_from=26)",
                "length(full_until=10, zero_from=20, unit='characters')",
                "length(full_until=10, zero_from=20, fall='cosine')",
                "length(full_until=10, zero_from=20, fall='exponential')",
            },
            id="limits, unit and fall; tokens would need a tokenizer",
        ),
        pytest.param(
            measure.length(full_until=10, zero_from=11),
            {
                "length(full_until=7, zero_from=11)",
                "length(full_until=10, zero_from=14)",
                "length(full_until=10, zero_from=11, unit='characters')",
                "length(full_until=10, zero_from=11, fall='cosine')",
                "length(full_until=10, zero_from=11, fall='exponential')",
            },
            id="limits that would cross are left out",
        ),
        pytest.param(
            measure.keywords("so", "then"),
            {
                "keywords('then')",
                "keywords('so')",
                "keywords('so', 'then', mode='all')",
                "keywords('so', 'then', mode='any')",
                "keywords('so', 'then', case=True)",
            },
            id="words, whose order says nothing",
        ),
        pytest.param(
            measure.regex("x", timeout=5.0), {"regex('x', mode='fullmatch', timeout=5.0)"}, id="no timeout"
        ),
        pytest.param(
            verify.numbers_equal,
            {
                "partial(rk.verify.numbers_equal, absolute=1.0)",
                "partial(rk.verify.numbers_equal, relative=0.01)",
                "rk.verify.matches",
            },
            id="a tolerance where there is none, and the comparison next to it",
        ),
        pytest.param(
            partial(verify.closeness, zero_at=0.1),
            {
                "partial(rk.verify.closeness, zero_at=0.07)",
                "partial(rk.verify.closeness, zero_at=0.13)",
                "partial(rk.verify.closeness, zero_at=0.1, scale='absolute')",
            },
            id="what is bound and what is not",
        ),
        pytest.param(
            partial(verify.closeness, steps=((0, 1), (0.1, 0.5))),
            {
                "partial(rk.verify.closeness, steps=((0.1, 0.5),))",
                "partial(rk.verify.closeness, steps=((0, 1),))",
                "partial(rk.verify.closeness, steps=((0, 1), (0.1, 0.5)), scale='absolute')",
            },
            id="steps in place of a line, beside which no line is set",
        ),
        pytest.param(
            partial(verify.json_equal, partial=True),
            {"rk.verify.json_equal", "partial(rk.verify.json_equal, partial=True, text='matches')"},
            id="what is the default is not bound",
        ),
        pytest.param(
            graded,
            {"partial(graded, limit=0.35)", "partial(graded, limit=0.65)"},
            id="a default of a user's function",
        ),
        pytest.param(len, set(), id="nothing to change"),
        pytest.param("text", set(), id="no function"),
    ],
)
def test_the_options_of_a_callable_that_are_changed(function, expected):
    found = [
        change.after.removeprefix("rk.extract.").removeprefix("rk.measure.")
        for change in option_changes(function)
    ]
    assert sorted(found) == sorted(expected)


def test_a_parameter_that_a_column_fills_is_no_option():
    assert not list(option_changes(graded, ["limit"]))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        pytest.param(
            FIRST, "rk.extract.first_of(rk.extract.tag('answer'), rk.extract.number())", id="nested"
        ),
        pytest.param(partial(verify.matches, case=True), "partial(rk.verify.matches, case=True)", id="bound"),
        pytest.param(graded, "graded", id="a user's own"),
    ],
)
def test_a_callable_is_written_as_a_person_would(function, text):
    assert written(function) == text


SOURCE = """
    from __future__ import annotations
    import re

    LIMIT = 3
    MARK = re.compile("x")


    def answer(text):
        '''Not 7 of this text is changed.'''
        found = re.findall(r"<a>(.*?)</a>", text)
        return found[0] if found and len(found) <= LIMIT else None


    def first(text: str = "0") -> str | None:
        match = re.search("[0-9]", text) or MARK.search(text)
        return None if match is None else match.group(0)


    def score(completion, ground_truth, *, most=1.0):
        return most if answer(completion) == ground_truth else 0.0


    def shout(function):
        def loud(text):
            return not function(text)
        return loud


    @shout
    def empty(text):
        return text == ""


    short = lambda text: len(text) < 5  # noqa: E731
"""


@pytest.fixture
def module(tmp_path):
    """A user's file, as an import has it."""
    path = tmp_path / "mine_of_mutants.py"
    path.write_text(textwrap.dedent(SOURCE))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    spec.loader.exec_module(made)
    yield made
    del sys.modules[path.stem]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            "answer",
            [
                ("found and len(found) <= LIMIT", "found or len(found) <= LIMIT"),
                ("len(found) <= LIMIT", "len(found) < LIMIT"),
                ("found[0]", "found[-1]"),
            ],
            id="and, a limit, the first of several; no text and no docstring",
        ),
        pytest.param(
            "first",
            [
                (
                    "re.search('[0-9]', text) or MARK.search(text)",
                    "re.search('[0-9]', text) and MARK.search(text)",
                ),
                ("re.search('[0-9]', text)", "(list(re.finditer('[0-9]', text)) or [None])[-1]"),
                ("MARK.search(text)", "(list(MARK.finditer(text)) or [None])[-1]"),
                ("match is None", "match is not None"),
            ],
            id="the last match for the first; not the number of a group",
        ),
        pytest.param(
            "score",
            [
                ("answer(completion) == ground_truth", "answer(completion) != ground_truth"),
                (
                    "most if answer(completion) == ground_truth else 0.0",
                    "most if answer(completion) == ground_truth else 0.7",
                ),
            ],
            id="a number is shown with what is around it; a default is no code",
        ),
        pytest.param("empty", [("not function(text)", "function(text)")], id="what a decorator made of it"),
        pytest.param(
            "short", [("len(text) < 5", "len(text) <= 5"), ("len(text) < 5", "len(text) < 6")], id="a lambda"
        ),
    ],
)
def test_the_changes_of_a_users_function(module, name, expected):
    changes = code_changes(getattr(module, name))
    assert sorted((change.before, change.after) for change in changes) == sorted(expected)


def test_changed_code_runs_with_the_closure_and_the_names_of_the_original(module):
    (change,) = code_changes(module.empty)
    assert with_code(module.empty, change)("") is True and module.empty("") is False
    (last,) = (change for change in code_changes(module.answer) if change.after == "found[-1]")
    text = "<a>1</a><a>2</a>"
    assert with_code(module.score, last)(text, "2") == 1.0
    assert (module.score(text, "2"), module.score(text, "1"), module.answer(text)) == (0.0, 1.0, "1")
    assert with_code(module.first, last) is module.first
    assert [item.__name__ for item in helpers(module.score)] == ["score", "answer"]


def test_changed_code_goes_to_another_process(module):
    (last,) = (change for change in code_changes(module.answer) if change.after == "found[-1]")
    again = pickle.loads(pickled(with_code(module.score, last)))
    assert again("<a>1</a><a>2</a>", "2") == 1.0


def test_the_last_match_is_none_where_nothing_matches(module):
    for change in code_changes(module.first):
        if "finditer" in change.after:
            assert with_code(module.first, change)("1 2 x") in ("1", "2", "x")
            assert with_code(module.first, change)("") is None


def test_a_file_that_has_changed_since_is_not_changed(module):
    path = Path(module.__file__)
    path.write_text(path.read_text().replace("<= LIMIT", "< LIMIT"))
    assert code_changes(module.answer) is None
    assert code_changes(module.short) is not None


def test_code_without_source_is_not_changed():
    scope = {}
    exec("def made(x):\n    return x > 1", scope)
    assert code_changes(scope["made"]) is None


def test_two_lambdas_in_one_line_are_told_apart():
    one, two = lambda x: x > 1, lambda x: x < 2
    assert {change.before for change in code_changes(one)} == {"x > 1"}
    assert {change.before for change in code_changes(two)} == {"x < 2"}


def test_every_change_of_a_library_function_compiles_and_says_something_else():
    changes = code_changes(calendar.isleap)
    years = [1900, 2000, 2023, 2024, 2100, 2, 400, 401, 101, 5]
    before = [calendar.isleap(year) for year in years]
    assert len(changes) == 11
    assert all([with_code(calendar.isleap, change)(year) for year in years] != before for change in changes)


CORRECT = rk.Component("correct", verify.numbers_equal, weight=1.0)
FORM = rk.Component("form", measure.tags("think", "answer", partial=True), weight=0.5)
BRIEF = rk.Component(
    "brief", measure.length(full_until=10, zero_from=20), weight=0.2, gate=rk.gate("correct", at_least=1.0)
)


def reward_of(*components, **options):
    return rk.Reward("r", {"prediction": extract.tag("answer")}, components, **options)


def sentences(reward, *kinds, seen=None):
    return [mutant.sentence for mutant in mutants_of(reward, seen)[0] if mutant.kind in kinds]


@pytest.mark.parametrize(
    ("reward", "kinds", "expected"),
    [
        pytest.param(
            reward_of(CORRECT, FORM),
            ["weight"],
            [
                "Component 'correct' is not paid.",
                "Component 'correct' is paid with the other sign.",
                "Component 'form' is not paid.",
                "Component 'form' is paid with the other sign.",
                "Components 'correct' and 'form' have each other's weights.",
            ],
            id="weights",
        ),
        pytest.param(
            reward_of(CORRECT, rk.Component("form", FORM.function), aggregation="product"),
            ["weight"],
            ["Component 'correct' is not paid.", "Component 'form' is not paid."],
            id="a product has no penalties, and equal weights nothing to swap",
        ),
        pytest.param(
            reward_of(CORRECT, rk.Component("seen", FORM.function, weight=0.0)),
            ["weight", "component"],
            [
                "Component 'correct' is not paid.",
                "Component 'correct' is paid with the other sign.",
                "Components 'correct' and 'seen' have each other's weights.",
            ],
            id="what is only recorded is not dropped",
        ),
        pytest.param(
            reward_of(CORRECT, FORM, BRIEF),
            ["component"],
            ["Component 'correct' is left out, and with it 'brief'."],
            id="dropped with what depends on it; alone that is weight 0",
        ),
        pytest.param(
            reward_of(CORRECT, FORM, gate=rk.gate("form", at_least=0.5)),
            ["component"],
            ["Component 'form' is left out, and with it the gate on the whole reward."],
            id="dropped with the gate on the whole",
        ),
        pytest.param(
            reward_of(CORRECT, BRIEF),
            ["gate", "threshold"],
            [
                "Component 'brief' has no gate.",
                "Component 'brief' has its gate the other way round.",
                "Component 'correct' has a tolerance, absolute=1.",
                "Component 'correct' has a tolerance, relative=0.01.",
                "Component 'brief' has full_until=7, not 10.",
                "Component 'brief' has full_until=13, not 10.",
                "Component 'brief' has zero_from=14, not 20.",
                "Component 'brief' has zero_from=26, not 20.",
            ],
            id="a gate on all or nothing has no other limit",
        ),
        pytest.param(
            reward_of(FORM, rk.Component("correct", CORRECT.function, gate=rk.gate("form", at_least=0.5))),
            ["gate"],
            ["Component 'correct' has no gate.", "Component 'correct' has its gate the other way round."],
            id="a gate on a share",
        ),
        pytest.param(
            reward_of(CORRECT, gate=rk.gate("step", at_most=100)),
            ["gate", "threshold"],
            [
                "The reward has no gate.",
                "The reward has its gate the other way round.",
                "The reward has a gate with at_most=70, not 100.",
                "The reward has a gate with at_most=130, not 100.",
                "Component 'correct' has a tolerance, absolute=1.",
                "Component 'correct' has a tolerance, relative=0.01.",
            ],
            id="the gate on the whole, on a column",
        ),
        pytest.param(
            reward_of(CORRECT, on_missing="zero"),
            ["aggregation", "missing"],
            ["The reward is not judged where a score is missing.", "The reward leaves out a missing score."],
            id="one component alone adds up to itself, however it is done",
        ),
        pytest.param(
            reward_of(CORRECT, rk.Component("form", FORM.function, weight=-0.5)),
            ["aggregation", "missing"],
            [
                "The reward counts a missing score as 0.",
                "The reward leaves out a missing score.",
            ],
            id="with a penalty there is no product; weights that add up to 1 make the mean the sum",
        ),
        pytest.param(
            reward_of(CORRECT, FORM),
            ["aggregation"],
            [
                "The reward adds up by weighted_mean, not weighted_sum.",
                "The reward adds up by product, not weighted_sum.",
                "The reward adds up by minimum, not weighted_sum.",
            ],
            id="other ways to add up",
        ),
        pytest.param(
            reward_of(FORM),
            ["constant", "inverted"],
            [
                "Component 'form' is always 0, its lowest.",
                "Component 'form' is always 1, its highest.",
                "Component 'form' is turned round.",
            ],
            id="constant, and turned round",
        ),
        pytest.param(
            reward_of(rk.Component("open", graded, range=None)),
            ["constant", "inverted"],
            [],
            id="without a range there is no lowest",
        ),
    ],
)
def test_the_mutants_of_a_reward(reward, kinds, expected):
    assert sentences(reward, *kinds) == expected


def test_a_gate_on_a_share_is_loosened_and_tightened():
    gated = rk.Component("correct", CORRECT.function, gate=rk.gate("form", at_least=0.5))
    capped = rk.Component("brief", BRIEF.function, gate=rk.gate("form", at_most=0.2))
    found = {
        mutant.after for mutant in mutants_of(reward_of(FORM, gated, capped))[0] if "gate with" in mutant.says
    }
    assert found == {
        "gate('form', at_least=0.25)",
        "gate('form', at_least=0.75)",
        "gate('form', at_most=0.1)",
        "gate('form', at_most=0.6)",
    }


def test_a_component_without_range_takes_what_was_seen():
    reward = reward_of(rk.Component("open", graded, range=None))
    assert sentences(reward, "constant", "inverted", seen={"open": (-2.0, 3.0)}) == [
        "Component 'open' is always -2, its lowest.",
        "Component 'open' is always 3, its highest.",
        "Component 'open' is turned round.",
    ]


def test_a_component_of_batches_is_constant_too():
    lengths = rk.Component("lengths", lambda completion: [len(text) / 10 for text in completion], batch=True)
    made = {mutant.after: mutant.reward for mutant in mutants_of(rk.Reward("r", components=[lengths]))[0]}
    assert made["always 1"](completion="abc").scores == {"lengths": 1.0}
    turned = next(reward for code, reward in made.items() if code.startswith("1 - "))
    assert turned(completion="abc").scores == {"lengths": pytest.approx(0.7)}


def test_a_gate_that_is_turned_round_opens_where_it_was_closed_and_only_there():
    reward = reward_of(
        CORRECT, BRIEF, rk.Component("form", FORM.function, gate=rk.gate(lambda step: step > 5))
    )
    turned = {
        mutant.component: mutant.reward for mutant in mutants_of(reward)[0] if "way round" in mutant.says
    }
    row = {"completion": "<answer>4</answer>", "ground_truth": "4", "step": 9}
    assert turned["brief"](**row).status["brief"] == "gated"
    assert turned["brief"](**{**row, "ground_truth": "5"}).status["brief"] == "scored"
    assert turned["brief"](**{**row, "ground_truth": None}).status["brief"] == "abstained"
    assert turned["form"](**row).status["form"] == "gated"
    assert turned["form"](**{**row, "step": 1}).status["form"] == "scored"


@pytest.mark.parametrize(
    ("answer", "turned"),
    [(1.0, 0.0), (True, 0.0), (0.25, 0.75), (None, None), ([1.0, None], [0.0, None]), ("text", "text")],
)
def test_only_scores_are_turned_round(answer, turned):
    assert Turned(lambda: answer)() == turned


def limit_of(completion):
    return len(completion) > SHARED_LIMIT


def far_from(completion):
    return len(completion) < SHARED_LIMIT or len(completion) == 99


SHARED_LIMIT = 20


def test_a_number_at_the_top_of_a_file_is_changed_for_all_that_use_it():
    reward = rk.Reward("r", components=[rk.Component("a", limit_of), rk.Component("b", far_from)])
    found = [mutant for mutant in mutants_of(reward)[0] if "SHARED_LIMIT = 26" in mutant.after]
    assert [mutant.owner for mutant in found] == ["component 'a' and component 'b'"]
    scores = found[0].reward(completion="x" * 23).scores
    assert scores == {"a": 0.0, "b": 1.0}
    assert reward(completion="x" * 23).scores == {"a": 1.0, "b": 0.0}


def late(step):
    return step > 5


def test_the_predicates_of_gates_are_changed_those_on_the_whole_too():
    whole = rk.Reward("r", components=[CORRECT], fields={"prediction": extract.number()}, gate=rk.gate(late))
    one = rk.Component("a", limit_of, gate=rk.gate(late))
    owners = [mutant.owner for mutant in mutants_of(whole)[0] if mutant.after == "step >= 5"]
    assert owners == ["the gate of the reward"]
    made = mutants_of(rk.Reward("r", components=[one]))[0]
    changed = next(mutant for mutant in made if mutant.after == "step >= 5")
    assert changed.component == "a" and changed.reward(completion="", step=5).status == {"a": "scored"}


def test_functions_of_trainers_are_changed_inside_of_their_adapters(tmp_path):
    path = tmp_path / "trained.py"
    path.write_text(
        "def good(text):\n    return text[0] == 'a'\n\n"
        "def reward(completions, **kwargs):\n"
        "    return [1.0 if good(text) else 0.0 for text in completions]\n"
    )
    reward = rk.load_reward(str(path), as_="trl")
    changed = {mutant.after: mutant.reward for mutant in mutants_of(reward)[0] if mutant.kind == "code"}
    assert set(changed) == {
        "text[0] != 'a'",
        "text[-1]",
        "1.0 if good(text) else 0.7",
        "0.7 if good(text) else 0.0",
    }
    assert changed["text[-1]"](rollout={"completion": "ba"}).reward == 1.0


def test_what_cases_do_not_see_is_left_out_in_a_sentence():
    group = rk.Component("group", lambda completion: [0.0 for _ in completion], group=True)
    reward = rk.Reward("r", components=[group, rk.Component("a", limit_of)], transform=rk.weigh.rank())
    made, left_out = mutants_of(reward)
    assert not any(
        mutant.component == "group" and mutant.kind in ("constant", "inverted", "code") for mutant in made
    )
    assert any("component 'group'" in sentence for sentence in left_out)
    assert any("transform" in sentence for sentence in left_out)


class Judge:
    def __call__(self, completion):
        return len(completion) > 3


def test_objects_and_functions_without_source_are_named():
    scope = {}
    exec("def made(completion):\n    return len(completion) > 1", scope)
    reward = rk.Reward("r", components=[rk.Component("a", Judge()), rk.Component("b", scope["made"])])
    left_out = mutants_of(reward)[1]
    assert len(left_out) == 2 and "Judge" in left_out[0] and "made: its source" in left_out[1]


LENGTHY = (
    "def lengthy(completion):\n    return completion in (" + ", ".join(map(str, range(100, 142))) + ")\n"
)


def test_of_a_long_function_some_changes_are_made_from_all_over_it_and_the_others_counted(tmp_path):
    (tmp_path / "long.py").write_text(LENGTHY)
    made, left_out = mutants_of(rk.load_reward(str(tmp_path / "long.py:lengthy")))
    code = [mutant.after for mutant in made if mutant.kind == "code"]
    assert len(code) == 40
    assert " not in " in code[0] and "139, 141, 141)" in code[-1]
    assert left_out == ["3 more changes of lengthy: 40 were made"]


def test_of_a_route_each_reward_is_changed_for_its_rows_and_the_routing():
    same = reward_of(CORRECT)
    other = reward_of(rk.Component("form", FORM.function))
    route = rk.Route("data_source", {"a": same, "b": same, "c": other})
    made, _ = mutants_of(route)
    assert {mutant.part for mutant in made} == {"a, b", "c", ""}
    assert [mutant.says for mutant in made if mutant.kind == "route"] == [
        "does not judge 'a'",
        "does not judge 'b'",
        "pays 'b' as 'c'",
        "does not judge 'c'",
        "pays 'c' as 'a'",
        "pays what it does not know as 'a'",
    ]
    always = next(mutant for mutant in made if mutant.part == "a, b" and mutant.after == "always 1")
    row = {"completion": "", "ground_truth": "4"}
    paid = [always.reward(**row, data_source=source).reward for source in "abc"]
    assert paid == [1.0, 1.0, 0.0]
    assert always.sentence == "[a, b] Component 'correct' is always 1, its highest."


@pytest.mark.parametrize("name", ["arithmetic", "tagged", "routed", "tool_use"])
def test_mutants_differ_in_their_sentences_and_the_reward_stays_as_it_was(name):
    reward = rk.load_reward(f"gallery:{name}")
    before = reward.record()
    made, _ = mutants_of(reward)
    assert len({(mutant.part, mutant.sentence) for mutant in made}) == len(made)
    assert all(mutant.before != mutant.after for mutant in made)
    assert reward.record() == before
