"""Formats: tags against a grammar, JSON against a schema; in part, and what is said of faults."""

import json
import re
import socket
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tabled import noted, table

from rewardkit.primitives.measure import json_schema, tags

TWO = tags("think", "answer")
OPENED = tags("think", "answer", prefilled=True, outside="nowhere")
STEPS = "<plan><step>a</step><step>b</step></plan>"
GRAMMARS = (
    (
        TWO,
        "Hm. <think>2+2</think>\nso\n<answer>4</answer> bye",
        1.0,
        1.0,
        "text outside is allowed",
    ),
    (TWO, "<answer>4</answer><think>2+2</think>", 0.0, 0.5, "the wrong order"),
    (TWO, "<think>2+2<answer></think>4</answer>", 0.0, 0.5, "crossed"),
    (TWO, None, None, None, "no completion is not judged"),
    (tags("step+"), "", 0.0, 0.0, "one or more: none"),
    (tags("note?", "answer"), "<note/><note/><answer/>", 0.0, 0.5, "at most one: two"),
    (tags("call*"), "", 1.0, 1.0, "any number: none"),
    (tags("step{1,2}"), "<step/><step/><step/>", 0.0, 0.0, "three of at most two"),
    (
        tags("plan(step+)", "answer"),
        f"{STEPS}<answer/>",
        1.0,
        1.0,
        "nested as asked for",
    ),
    (
        tags("plan(step+)", "answer"),
        "<plan/><step/><answer/>",
        0.0,
        2 / 3,
        "beside, not inside",
    ),
    (
        tags("a", "b", outside="before"),
        "Hm. <a>x</a><b/>",
        1.0,
        1.0,
        "text before, as it may",
    ),
    (
        OPENED,
        "</think><answer>4</answer>",
        1.0,
        1.0,
        "opened in the prompt, and nothing was thought",
    ),
)


@pytest.mark.parametrize(("made", "completion", "whole", "share"), table(*GRAMMARS))
def test_a_grammar_says_how_often_in_what_order_and_in_what(
    made, completion, whole, share
):
    assert made(completion) == whole
    assert replace(made, partial=True)(completion) == share


NAMES = ("think", "step", "answer")
PARTS = st.sampled_from(
    [f"<{slash}{name}>" for name in NAMES for slash in ("", "/")] + ["x", " "]
)


@given(parts=st.lists(PARTS, max_size=9))
def test_the_grammar_agrees_with_a_regular_expression(parts):
    completion = "".join(parts)
    pattern = r"\s*<think>x*</think>\s*(<step>x*</step>\s*)+(<answer>x*</answer>\s*)?"
    expected = float(re.fullmatch(pattern, completion) is not None)
    assert tags("think", "step+", "answer?", outside="nowhere")(completion) == expected


PERSON = {
    "type": "object",
    "required": ["name", "age"],
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z]"},
        "age": {"type": "integer", "minimum": 0},
        "email": {"type": "string", "format": "email"},
    },
    "additionalProperties": False,
}
OF_PERSON = json_schema(PERSON)
A_AND_B = {"required": ["a"], "properties": {"b": {"type": "integer"}}}
TREE = {
    "$defs": {"n": {"items": {"$ref": "#/$defs/n"}, "maxItems": 2}},
    "$ref": "#/$defs/n",
}
DRAFT_4 = {
    "$schema": "http://json-schema.org/draft-04/schema#",
    "items": {"minimum": 1, "exclusiveMinimum": True},
}
PEOPLE = '{"person": {"name": "Uma", "age": 1}, "people": [{"name": "Uma", "age": 1}, {"name": "uma"}]}'
FIRST = '{"name": "Uma", "age": 59} and {"name": "Zoe"}'
ONLY_ONE = {"maxProperties": 1, "required": ["a"]}
FITTING = (
    (OF_PERSON, 'Here: {"name": "Uma", "age": 59}.', 1.0, 1.0, "with text around it"),
    (
        OF_PERSON,
        '{"name": "Uma", "age": 59, "email": "no"}',
        1.0,
        1.0,
        "a format says nothing: documented",
    ),
    (OF_PERSON, '{"name": "Uma", "age": 59, "x": 1}', 0.0, 2 / 3, "a forbidden key"),
    (OF_PERSON, "Uma is 59.", 0.0, 0.0, "no JSON"),
    (OF_PERSON, None, None, None, "no completion is not judged"),
    (
        json_schema({"items": {"multipleOf": 0.01}}),
        "[0.07, 19.99, 1e300]",
        1.0,
        1.0,
        "multiples are exact",
    ),
    (
        json_schema(TREE),
        "[[[]], [[], [], []]]",
        0.0,
        0.0,
        "a reference to itself, three deep",
    ),
    (
        json_schema(DRAFT_4),
        "[1]",
        0.0,
        0.0,
        "draft 4, where exclusiveMinimum is a bool",
    ),
    (json_schema(A_AND_B), '{"b": 2}', 0.0, 0.5, "the one required is not there"),
    (json_schema(ONLY_ONE), '{"a": 1, "b": 2}', 0.0, 0.0, "a fault of the whole"),
    (json_schema(PERSON, path=("people", 0)), PEOPLE, 1.0, 1.0, "a key and a position"),
    (json_schema(PERSON, which="first"), FIRST, 1.0, 1.0, "the first"),
    (OF_PERSON, FIRST, 0.0, 0.5, "the last"),
)


@pytest.mark.parametrize(("made", "completion", "whole", "share"), table(*FITTING))
def test_json_fits_a_schema_or_in_part(made, completion, whole, share):
    assert made(completion) == whole
    assert replace(made, partial=True)(completion) == share


SAID = st.sampled_from(["Uma", "uma", 59, -1, 5.5, True, None])


@given(value=st.dictionaries(st.sampled_from(["name", "age", "x"]), SAID))
def test_the_verdict_is_the_librarys(value):
    expected = Draft202012Validator(PERSON).is_valid(value)
    assert json_schema(PERSON)(json.dumps(value)) == float(expected)
    share = json_schema(PERSON, partial=True)(json.dumps(value))
    assert 0.0 <= share <= 1.0 and (share == 1.0) == expected


UNFIT = '\'age\' is "x", which does not fit {"type": "integer", "minimum": 0}'
FORBIDDEN = "'x' is 1, which does not fit the schema"
PLAN = tags("plan(step+)", outside="before")
NOTED = (
    (TWO, "<think>a</think><answer>4</answer>", "as asked for", "nothing is wrong"),
    (
        PLAN,
        f"<step/>{STEPS}",
        ["<step> stands outside of <plan>"],
        "one before and two inside",
    ),
    (OF_PERSON, '{"name": "Uma", "age": "x"}', [UNFIT], "a wrong value"),
    (OF_PERSON, '{"name": "Uma", "x": 1}', ["'age' is missing", FORBIDDEN], "keys"),
    (OF_PERSON, "[1]", ["does not fit"], "a fault of the whole"),
)


@pytest.mark.parametrize(("made", "completion", "expected"), table(*NOTED))
def test_what_is_wrong_is_noted(made, completion, expected):
    assert list(noted(made, completion).values()) == [expected]


def test_nothing_is_fetched(monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(ValueError, match="nothing is fetched"):
        json_schema({"$ref": "http://127.0.0.1:9/schema.json"})
