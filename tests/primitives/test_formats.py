"""Formats: tags against a grammar, JSON against a schema; in part, and what is said of faults."""

from __future__ import annotations

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

TWO, NOTHING_ELSE = tags("think", "answer"), tags("a", "b", outside="nowhere")
OPENED = tags("think", "answer", prefilled=True, outside="nowhere")
STEPS = "<plan><step>a</step><step>b</step></plan>"
SIDE_BY_SIDE = (
    ("<think>2+2</think><answer>4</answer>", 1.0, 1.0, "as asked for"),
    ("Hm. <think>2+2</think>\nso\n<answer>4</answer> bye", 1.0, 1.0, "text outside is allowed"),
    ("<answer>4</answer><think>2+2</think>", 0.0, 0.5, "the wrong order"),
    ("<think>2+2<answer></think>4</answer>", 0.0, 0.5, "crossed"),
    (None, None, None, "no completion is not judged"),
)
GRAMMARS = (
    (tags("step+"), "", 0.0, 0.0, "one or more: none"),
    (tags("note?", "answer"), "<note/><note/><answer/>", 0.0, 0.5, "at most one: two"),
    (tags("call*"), "", 1.0, 1.0, "any number: none"),
    (tags("step{1,2}"), "<step/><step/><step/>", 0.0, 0.0, "three of at most two"),
    (tags("plan(step+)", "answer"), f"{STEPS}<answer/>", 1.0, 1.0, "nested as asked for"),
    (tags("plan(step+)", "answer"), "<plan/><step/><answer/>", 0.0, 2 / 3, "beside, not inside"),
    (tags("a", "b", outside="before"), "Hm. <a>x</a><b/>", 1.0, 1.0, "text before, as it may"),
    (OPENED, "</think><answer>4</answer>", 1.0, 1.0, "opened in the prompt, and nothing was thought"),
)


@pytest.mark.parametrize(
    ("made", "completion", "whole", "share"), table(*((TWO, *row) for row in SIDE_BY_SIDE), *GRAMMARS)
)
def test_a_grammar_says_how_often_in_what_order_and_in_what(made, completion, whole, share):
    assert made(completion) == whole
    assert replace(made, partial=True)(completion) == share


NAMES = ("think", "step", "answer")
PARTS = st.sampled_from([f"<{slash}{name}>" for name in NAMES for slash in ("", "/")] + ["x", " "])


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
A_AND_B = {"required": ["a"], "properties": {"b": {"type": "integer"}}}
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
TREE = {"$defs": {"n": {"items": {"$ref": "#/$defs/n"}, "maxItems": 2}}, "$ref": "#/$defs/n"}
EXCLUSIVE = {"minimum": 1, "exclusiveMinimum": True}
PEOPLE = '{"person": {"name": "Uma", "age": 1}, "people": [{"name": "Uma", "age": 1}, {"name": "uma"}]}'
FIRST = '{"name": "Uma", "age": 59} and {"name": "Zoe"}'
PERSONS = (
    ('{"name": "Uma", "age": 59}', 1.0, 1.0, "as asked for"),
    ('Here: {"name": "Uma", "age": 59}.', 1.0, 1.0, "with text around it"),
    ('{"name": "Uma", "age": 59, "email": "no"}', 1.0, 1.0, "a format says nothing: documented"),
    ('{"name": "Uma", "age": 59, "x": 1}', 0.0, 2 / 3, "a forbidden key"),
    ("Uma is 59.", 0.0, 0.0, "no JSON"),
    (None, None, None, "no completion is not judged"),
)
KEYWORDS = (
    ({"items": {"multipleOf": 0.01}}, "[0.07, 19.99, 1e300]", 1.0, "multiples are exact"),
    (TREE, "[[[]], [[], [], []]]", 0.0, "a reference to itself, three deep"),
    ({"$schema": DRAFT_4, "items": EXCLUSIVE}, "[1]", 0.0, "draft 4, where exclusiveMinimum is a bool"),
)
IN_PART = (
    (A_AND_B, '{"b": 2}', 0.5, "the one required is not there"),
    ({"maxProperties": 1, "required": ["a"]}, '{"a": 1, "b": 2}', 0.0, "a fault of the whole"),
)
FITTING = (
    *((json_schema(PERSON), text, whole, why) for text, whole, _, why in PERSONS),
    *((json_schema(PERSON, partial=True), text, share, why) for text, _, share, why in PERSONS),
    *((json_schema(schema), *row) for schema, *row in KEYWORDS),
    (json_schema(PERSON, path=("people", 0)), PEOPLE, 1.0, "a key and a position"),
    *((json_schema(schema, partial=True), *row) for schema, *row in IN_PART),
    (json_schema(PERSON, which="first"), FIRST, 1.0, "the first"),
    (json_schema(PERSON), FIRST, 0.0, "the last"),
)


@pytest.mark.parametrize(("made", "completion", "expected"), table(*FITTING))
def test_json_fits_a_schema_or_in_part(made, completion, expected):
    assert made(completion) == expected


SAID = st.sampled_from(["Uma", "uma", 59, -1, 5.5, True, None])


@given(value=st.dictionaries(st.sampled_from(["name", "age", "x"]), SAID))
def test_the_verdict_is_the_librarys(value):
    expected = Draft202012Validator(PERSON).is_valid(value)
    assert json_schema(PERSON)(json.dumps(value)) == float(expected)
    share = json_schema(PERSON, partial=True)(json.dumps(value))
    assert 0.0 <= share <= 1.0 and (share == 1.0) == expected


UNFIT = '\'age\' is "x", which does not fit {"type": "integer", "minimum": 0}'
TURNED, PLAN = "<answer>4</answer><think>a</think>", tags("plan(step+)", outside="before")
NOTED = (
    (TWO, "<think>a</think><answer>4</answer>", "as asked for", "nothing is wrong"),
    (PLAN, f"<step/>{STEPS}", ["<step> stands outside of <plan>"], "one before and two inside"),
    (json_schema(PERSON), '{"name": "Uma", "age": "x"}', [UNFIT], "a wrong value"),
    (
        json_schema(PERSON),
        '{"name": "Uma", "x": 1}',
        ["'age' is missing", "'x' is 1, which does not fit the schema"],
        "keys",
    ),
    (json_schema(PERSON), "[1]", ["does not fit"], "a fault of the whole"),
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
