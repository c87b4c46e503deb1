"""The mutants of a reward: which changes are made of options, weights, gates, routes and users' own code."""

import importlib
import pickle
import re
import sys
from functools import partial
from pathlib import Path

import pytest

import rewardkit as rk
from rewardkit.mutation.code import Changed, code_changes
from rewardkit.mutation.mutations import mutants_of
from rewardkit.mutation.options import option_changes
from rewardkit.workers.pool import pickled

pytestmark = pytest.mark.integration

extract, measure, verify = rk.extract, rk.measure, rk.verify
FIRST = extract.first_of(extract.tag("answer"), extract.number())
WITHIN = extract.within(extract.tag("answer"), extract.number())
BRIEF = measure.length(full_until=10, zero_from=11)
FROM_NOWHERE = eval("lambda completion: len(completion) > 1")


def graded(completion, limit=0.5):
    return len(completion) / 10 > limit


NUMBERS, CLOSENESS = "partial(numbers_equal, ", "partial(closeness, "
OPTIONS = [
    (extract.boxed(), "boxed(which='first')"),
    (
        FIRST,  # an alternative left out, and each of them changed
        "first_of(number())|first_of(tag('answer'))|first_of(tag('answer'), number(percent=True))|"
        "first_of(tag('answer'), number(which='first'))|first_of(tag('answer', prefilled=True), number())|"
        "first_of(tag('answer', unclosed=True), number())|first_of(tag('answer', which='first'), number())",
    ),
    (
        extract.every(
            WITHIN
        ),  # where all matches count, the first and the last are one
        "every(number())|every(tag('answer'))|every(within(tag('answer', unclosed=True), number()))|"
        "every(within(tag('answer', prefilled=True), number()))|"
        "every(within(tag('answer'), number(percent=True)))",
    ),
    (
        BRIEF,
        "length(full_until=7, zero_from=11)|length(full_until=10, zero_from=14)",
    ),  # none that cross
    (
        measure.keywords("so", "then"),
        "keywords('then')|keywords('so')|keywords('so', 'then', case=True)",
    ),
    # a tolerance where there is none, and the comparison next to it
    (verify.numbers_equal, f"{NUMBERS}absolute=1.0)|{NUMBERS}relative=0.01)|matches"),
    (
        partial(verify.closeness, zero_at=0.1),
        f"{CLOSENESS}zero_at=0.07)|{CLOSENESS}zero_at=0.13)",
    ),
    (
        partial(verify.json_equal, partial=True),
        "json_equal",
    ),  # what is the default is not bound
    (graded, "partial(graded, limit=0.35)|partial(graded, limit=0.65)"),
    (len, ""),
]


@pytest.mark.parametrize(("function", "expected"), OPTIONS)
def test_the_options_of_a_callable_that_are_changed(function, expected):
    found = [
        re.sub(r"rk\.\w+\.", "", change.after) for change in option_changes(function)
    ]
    assert sorted(found) == sorted(filter(None, expected.split("|")))
    assert not list(option_changes(graded, ["limit"]))  # that a column fills


SOURCE = """
from __future__ import annotations
import re

LIMIT = 3

def answer(text):
    '''Not 7 of this text is changed.'''
    found = re.findall(r"<a>(.*?)</a>", text)
    return found[0] if found and len(found) <= LIMIT else None

def score(completion, ground_truth, *, most=1.0):
    return most if answer(completion) == ground_truth else 0.0

def shout(function):
    def loud(text):
        return not function(text)
    return loud

@shout
def empty(text):
    return text == ""

short = lambda text: len(text) < 5

def last(values, most: int = 2):
    return values[-1] is None or values[-1] not in "ab"
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A user's file, as an import has it."""
    (tmp_path / "mine_of_mutants.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("mine_of_mutants")
    del sys.modules["mine_of_mutants"]


PAID = "most if answer(completion) == ground_truth else {}".format
EITHER = "values[-1] is None {} values[-1] not in 'ab'".format
CODE = {
    "answer": {  # `and`, a limit, the first of several; no text and no docstring
        ("found and len(found) <= LIMIT", "found or len(found) <= LIMIT"),
        ("len(found) <= LIMIT", "len(found) < LIMIT"),
        ("found[0]", "found[-1]"),
        ("found[0]", "found[1]"),
    },
    "score": {  # a number is shown with what is around it; a default is no code
        ("answer(completion) == ground_truth", "answer(completion) != ground_truth"),
        (PAID("0.0"), PAID("0.7")),
    },
    "empty": {
        ("not function(text)", "not not function(text)")
    },  # what a decorator made of it
    "short": {
        ("len(text) < 5", "len(text) <= 5"),
        ("len(text) < 5", "len(text) < 6"),
    },  # a lambda
    "last": {
        (EITHER("or"), EITHER("and")),
        ("values[-1] is None", "values[-1] is not None"),
        ("values[-1] not in 'ab'", "values[-1] in 'ab'"),
        ("values[-1]", "values[0]"),
        ("-1", "-2"),
    },
}


@pytest.mark.parametrize(("name", "expected"), CODE.items(), ids=CODE)
def test_the_changes_of_a_users_function(module, name, expected):
    assert {
        (change.before, change.after) for change in code_changes(getattr(module, name))
    } == expected


def test_a_change_holds_while_the_function_runs_here_and_in_another_process(module):
    (loud,) = code_changes(module.empty)
    assert Changed(module.empty, loud)("") is True and module.empty("") is False
    (last,) = (
        change for change in code_changes(module.answer) if change.after == "found[-1]"
    )
    text = "<a>1</a><a>2</a>"
    changed = Changed(module.score, last)
    for one in (changed, pickle.loads(pickled(changed))):
        assert (one(text, "2"), module.score(text, "2"), module.answer(text)) == (
            1.0,
            0.0,
            "1",
        )
    with pytest.raises(TypeError):
        changed(5, "2")
    assert module.answer(text) == "1"


def test_code_that_has_changed_since_or_is_not_there_is_not_changed_and_two_lambdas_are_told_apart(
    module,
):
    path = Path(module.__file__)
    path.write_text(path.read_text().replace("<= LIMIT", "< LIMIT"))
    assert code_changes(module.answer) is None and code_changes(module.short)
    assert code_changes(FROM_NOWHERE) is None
    one, two = lambda x: x > 1, lambda x: x < 2
    assert {change.before for change in code_changes(one)} == {"x > 1"}
    assert {change.before for change in code_changes(two)} == {"x < 2"}


# --- of a reward

CORRECT = rk.Component("correct", verify.numbers_equal, weight=1.0)
FORM = rk.Component("form", measure.tags("think", "answer", partial=True), weight=0.5)
SHORT = rk.Component(
    "brief",
    measure.length(full_until=10, zero_from=20),
    weight=0.2,
    gate=rk.gate("correct", at_least=1.0),
)


def reward_of(*components, **options):
    return rk.Reward("r", {"prediction": extract.tag("answer")}, components, **options)


def named(function, **options):
    return rk.Component(function.__name__, function, **options)


UNPAID = "'{0}' is not paid|'{0}' is paid with the other sign".format
SWAPPED = "has the weights of 'correct' and '{}' swapped".format
GATED = rk.Component("correct", CORRECT.function, gate=rk.gate("form", at_least=0.5))
SEEN = rk.Component("seen", FORM.function, weight=0.0)
OPEN = rk.Component("open", len, range=None, columns={"obj": "completion"})
LIKE_CORRECT = rk.Component("form", FORM.function)
LIMITS = "{0} no gate|{0} a gate with {1}, not {3}|{0} a gate with {2}, not {3}".format
PRODUCT = reward_of(CORRECT, LIKE_CORRECT, aggregation="product")
STEPS = reward_of(CORRECT, gate=rk.gate("step", at_most=100))
ALWAYS = "'form' is always 0|'form' is always 1|'open' is always 0|'open' is always 1"
MADE = [
    (
        reward_of(CORRECT, FORM),
        "paid|weight",
        f"{UNPAID('correct')}|{UNPAID('form')}|{SWAPPED('form')}",
    ),
    # a product has no penalties, and equal weights nothing to swap
    (PRODUCT, "paid|weight", "'correct' is not paid|'form' is not paid"),
    # what is only recorded is not dropped
    (reward_of(CORRECT, SEEN), "paid|weight", f"{UNPAID('correct')}|{SWAPPED('seen')}"),
    (
        reward_of(CORRECT, SHORT),
        "gate",
        "'brief' has no gate",
    ),  # a gate on all of a score has no other limit
    (
        reward_of(FORM, GATED),
        "gate",
        LIMITS("'correct' has", "at_least=0.35", "at_least=0.65", "0.5"),
    ),
    (STEPS, "gate", LIMITS("has", "at_most=70", "at_most=130", "100")),
    (
        reward_of(CORRECT, on_missing="zero"),
        "on_missing",
        "has on_missing='nan'|has on_missing='skip'",
    ),
    (reward_of(FORM, OPEN), "always", ALWAYS),
]


@pytest.mark.parametrize(("reward", "about", "expected"), MADE)
def test_the_mutants_of_a_reward(reward, about, expected):
    found = [
        re.sub(r"^(Component|The reward) |\.$", "", mutant.sentence)
        for mutant in mutants_of(reward)[0]
    ]
    assert [
        sentence for sentence in found if re.search(about, sentence)
    ] == expected.split("|")


def mutant_to(reward, after):
    (found,) = (mutant for mutant in mutants_of(reward)[0] if mutant.after == after)
    return found


def limit_of(completion):
    return len(completion) > SHARED_LIMIT


def far_from(completion):
    return len(completion) < SHARED_LIMIT or len(completion) == 99


def late(step):
    return step > 5


SHARED_LIMIT = 20


def test_a_number_at_the_top_of_a_file_is_changed_for_all_that_use_it():
    reward = rk.Reward("r", components=[named(limit_of), named(far_from)])
    found = mutant_to(reward, "SHARED_LIMIT = 26")
    assert found.owner == "component 'limit_of' and component 'far_from'"
    assert found.reward(completion="x" * 23).scores == {
        "limit_of": 0.0,
        "far_from": 1.0,
    }
    assert reward(completion="x" * 23).scores == {"limit_of": 1.0, "far_from": 0.0}


def test_the_predicates_of_gates_are_changed_those_on_the_whole_too():
    whole = rk.Reward(
        "r",
        components=[CORRECT],
        fields={"prediction": extract.number()},
        gate=rk.gate(late),
    )
    assert mutant_to(whole, "step >= 5").owner == "the gate of the reward"
    changed = mutant_to(
        rk.Reward("r", components=[named(limit_of, gate=rk.gate(late))]), "step >= 5"
    )
    assert changed.component == "limit_of"
    assert changed.reward(completion="", step=5).status == {"limit_of": "scored"}


def test_functions_of_trainers_are_changed_inside_of_their_adapters(tmp_path):
    path = tmp_path / "trained.py"
    path.write_text(
        "def good(text):\n    return text[0] == 'a'\n\n"
        "def reward(completions, **kwargs):\n    return [1.0 if good(one) else 0.0 for one in completions]\n"
    )
    made, _ = mutants_of(rk.load_reward(str(path), as_="trl"))
    changed = {mutant.after: mutant.reward for mutant in made if mutant.kind == "code"}
    ways = {"1.0 if good(one) else 0.7", "0.7 if good(one) else 0.0"}
    assert set(changed) == {"text[0] != 'a'", "text[-1]", "text[1]", *ways}
    assert changed["text[-1]"](rollout={"completion": "ba"}).reward == 1.0


class Judge:
    def __call__(self, completion):
        return 1.0


def test_what_cannot_be_changed_is_named():
    group = rk.Component(
        "group", lambda completion: [0.0 for _ in completion], group=True
    )
    items = [rk.Component("a", Judge()), rk.Component("b", FROM_NOWHERE), group]
    made, left_out = mutants_of(
        rk.Reward("r", components=items, transform=rk.weigh.rank())
    )
    assert not any(
        mutant.component == "group" and mutant.kind in ("constant", "code")
        for mutant in made
    )
    told = (
        "the code of Judge",
        "the code of <lambda>",
        "component 'group'",
        "the transform",
    )
    assert len(left_out) == 4 and all(
        any(words in one for one in left_out) for words in told
    )


def test_of_a_route_each_reward_is_changed_for_its_own_rows():
    one, other = reward_of(CORRECT), reward_of(rk.Component("form", FORM.function))
    made, _ = mutants_of(
        rk.Route("data_source", {"a": one, "b": one, "c": other}, other)
    )
    assert {mutant.part for mutant in made} == {"a, b", "c, default"}
    always = next(
        mutant
        for mutant in made
        if mutant.part == "a, b" and mutant.after == "always 1"
    )
    row = {"completion": "", "ground_truth": "4"}
    assert [always.reward(**row, data_source=source).reward for source in "abcd"] == [
        1.0,
        1.0,
        0.0,
        0.0,
    ]
    assert always.sentence == "[a, b] Component 'correct' is always 1."
