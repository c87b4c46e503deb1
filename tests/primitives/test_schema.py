"""A completion's JSON against a JSON Schema: what fits, in part, and what hostile JSON cannot do."""

from __future__ import annotations

import copy
import pickle
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rewardkit.primitives.measure import json_schema
from rewardkit.primitives.notes import listen


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


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


@pytest.mark.parametrize(
    ("completion", "whole", "share"),
    table(
        ('{"name": "Uma", "age": 59}', 1.0, 1.0, "as asked for"),
        ('Here: {"name": "Uma", "age": 59}.', 1.0, 1.0, "with text around it"),
        ('{"name": "Uma", "age": 59, "email": "no"}', 1.0, 1.0, "a format says nothing: documented"),
        ('{"name": "uma", "age": 59}', 0.0, 0.5, "a pattern that is not met"),
        ('{"name": "Uma", "age": "59"}', 0.0, 0.5, "a number in quotes"),
        ('{"name": "Uma", "age": 59, "x": 1}', 0.0, 2 / 3, "a forbidden key"),
        ('{"name": 1, "age": "59", "x": 1, "y": 2}', 0.0, 0.0, "all wrong"),
        ('{"name": "Uma", "age": 1e400}', 0.0, 0.0, "a number beyond floats"),
        ("Uma is 59.", 0.0, 0.0, "no JSON"),
        (None, None, None, "no completion is not judged"),
    ),
)
def test_json_fits_a_schema_or_in_part(completion, whole, share):
    assert json_schema(PERSON)(completion) == whole
    assert json_schema(PERSON, partial=True)(completion) == share


@pytest.mark.parametrize(
    ("schema", "json", "expected"),
    table(
        ({"items": {"multipleOf": 0.01}}, "[0.07, 19.99, 1e300]", 1.0, "multiples are exact"),
        ({"items": {"multipleOf": 0.01}}, "[0.075]", 0.0, "no multiple"),
        ({"uniqueItems": True}, '[1, true, "1", [1], {"a": 1}]', 1.0, "all different"),
        ({"uniqueItems": True}, '[{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]', 0.0, "one twice"),
        ({"uniqueItems": False}, "[1, 1]", 1.0, "twice, as it may"),
        ({"patternProperties": {"^x": {"type": "integer"}}}, '{"x1": 1, "y": "a"}', 1.0, "keys by pattern"),
        ({"patternProperties": {"^x": {"type": "integer"}}}, '{"x1": "a"}', 0.0, "a wrong value there"),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, '{"x": 1}', 1.0, "no other keys"),
        ({"propertyNames": {"pattern": r"^\p{Lu}+$"}}, '{"ÄÖ": 1}', 1.0, "a pattern with a Unicode class"),
        (
            {"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]},
            '{"b": 1}',
            0.0,
            "not named",
        ),
        (
            {"$defs": {"n": {"items": {"$ref": "#/$defs/n"}, "maxItems": 2}}, "$ref": "#/$defs/n"},
            "[[[]], [[], [], []]]",
            0.0,
            "a reference to itself, three deep",
        ),
        (
            {
                "$schema": "http://json-schema.org/draft-04/schema#",
                "items": {"minimum": 1, "exclusiveMinimum": True},
            },
            "[1]",
            0.0,
            "draft 4, where exclusiveMinimum is a bool",
        ),
    ),
)
def test_the_keywords_of_a_schema(schema, json, expected):
    assert json_schema(schema)(json) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    table(
        (("people", 0), 1.0, "a key and a position"),
        ("people.1", 0.0, "a value that does not fit"),
        ("person.name.x", 0.0, "inside a text"),
    ),
)
def test_the_value_at_a_path_is_judged(path, expected):
    text = '{"person": {"name": "Uma", "age": 1}, "people": [{"name": "Uma", "age": 1}, {"name": "uma"}]}'
    assert json_schema(PERSON, path=path)(text) == expected


def test_the_first_json_can_be_judged():
    text = '{"name": "Uma", "age": 59} and {"name": "Zoe"}'
    assert json_schema(PERSON, which="first")(text) == 1.0
    assert json_schema(PERSON)(text) == 0.0


A_AND_B = {"required": ["a"], "properties": {"b": {"type": "integer"}}}
A_OR_B = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
INTEGERS = {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    ("schema", "json", "expected"),
    table(
        ({"required": ["a", "b", "c", "d"]}, '{"a": 1}', 0.25, "one of four required"),
        (A_AND_B, '{"a": 1, "b": 2}', 1.0, "one required, one described"),
        (A_AND_B, '{"b": 2}', 0.5, "the one required is not there"),
        ({"maxProperties": 1, "required": ["a"]}, '{"a": 1, "b": 2}', 0.0, "a fault of the whole"),
        (INTEGERS, '[1, "x"]', 0.0, "a list is right or wrong"),
        ({"minProperties": 0}, "{}", 1.0, "nothing asked for, nothing there"),
    ),
)  # fmt: skip
def test_partial_credit_by_key(schema, json, expected):
    assert json_schema(schema, partial=True)(json) == expected


@pytest.mark.parametrize(
    ("completion", "noted"),
    table(
        ('{"name": "Uma", "age": 59}', "fits", "nothing is wrong"),
        ('{"name": "Uma", "age": "x"}', ["$.age: 'x' is not of type 'integer'"], "a wrong value"),
        ("no", ["no JSON"], "nothing to judge"),
        ("[" * 150 + "]" * 150, ["no JSON that could be read"], "nested too deeply"),
        ('{"name": 1, "age": "x"}', ["$.name: 1 is not of type 'string'"], "only the first fault"),
    ),
)
def test_what_is_wrong_is_noted(completion, noted):
    with listen() as notes:
        json_schema(PERSON)(completion)
    assert notes == {"json_schema": noted}


def test_nothing_is_fetched(monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    with pytest.raises(ValueError, match="nothing is fetched"):
        json_schema({"$ref": "http://127.0.0.1:9/schema.json"})


def test_a_schema_is_kept_as_it_was_given_and_can_be_shared():
    schema = copy.deepcopy(PERSON)
    measure = json_schema(schema, path="a", partial=True)
    assert repr(measure) == f"json_schema({schema!r}, path='a', partial=True)"
    schema["required"].append("zip")
    assert measure.schema == PERSON
    assert json_schema(PERSON)('{"name": "Uma", "age": 59}') == 1.0
    again = pickle.loads(pickle.dumps(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    assert again != json_schema(PERSON)


NAMED = st.dictionaries(
    st.sampled_from(["name", "age", "x"]), st.sampled_from(["Uma", "uma", 59, -1, 5.5, True, None])
)


@given(value=NAMED)
def test_the_verdict_is_the_librarys(value):
    import json

    expected = Draft202012Validator(PERSON).is_valid(value)
    assert json_schema(PERSON)(json.dumps(value)) == float(expected)
    share = json_schema(PERSON, partial=True)(json.dumps(value))
    assert 0.0 <= share <= 1.0
    assert (share == 1.0) == expected
