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
        ('{"age": 59.0, "name": "Uma"}', 1.0, 1.0, "another order, and a whole number with a point"),
        ('{"name": "Uma", "age": 59, "email": "u@x"}', 1.0, 1.0, "with what may be there"),
        ('{"name": "Uma", "age": 59, "email": "no"}', 1.0, 1.0, "a format says nothing: documented"),
        ('{"name": "uma", "age": 59}', 0.0, 0.5, "a pattern that is not met"),
        ('{"name": "Uma", "age": "59"}', 0.0, 0.5, "a number in quotes"),
        ('{"name": "Uma", "age": -1}', 0.0, 0.5, "a number out of range"),
        ('{"name": "Uma"}', 0.0, 0.5, "a missing key"),
        ('{"name": "Uma", "age": 59, "x": 1}', 0.0, 2 / 3, "a forbidden key"),
        ('{"name": 1, "age": "59", "x": 1, "y": 2}', 0.0, 0.0, "all wrong"),
        ("{}", 0.0, 0.0, "nothing"),
        ("[1]", 0.0, 0.0, "a list where an object is asked for"),
        ('{"name": "Uma", "age": true}', 0.0, 0.5, "true is no number"),
        ('{"name": "Uma", "age": 1e400}', 0.0, 0.0, "a number beyond floats"),
        ('{"name": "Uma", "age": NaN}', 0.0, 0.0, "no strict JSON"),
        ("{'name': 'Uma', 'age': 59}", 0.0, 0.0, "single quotes"),
        ('{"name": "Zoe", "age": 1} or {"name": "Uma"}', 0.0, 0.5, "the last object counts"),
        ("Uma is 59.", 0.0, 0.0, "no JSON"),
        ("", 0.0, 0.0, "an empty completion"),
        (None, None, None, "no completion is not judged"),
    ),
)
def test_json_fits_a_schema_or_in_part(completion, whole, share):
    assert json_schema(PERSON)(completion) == whole
    assert json_schema(PERSON, partial=True)(completion) == share


@pytest.mark.parametrize(
    ("schema", "json", "expected"),
    table(
        ({"items": {"enum": [1]}}, "[1.0]", 1.0, "1.0 is 1"),
        ({"items": {"enum": [1]}}, "[true]", 0.0, "true is not 1"),
        ({"items": {"const": {"a": [1]}}}, '[{"a": [1]}]', 1.0, "a constant with values inside"),
        ({"items": {"multipleOf": 0.01}}, "[0.07, 19.99, 1e300]", 1.0, "multiples are exact"),
        ({"items": {"multipleOf": 0.01}}, "[0.075]", 0.0, "no multiple"),
        ({"uniqueItems": True}, '[1, true, "1", [1], {"a": 1}]', 1.0, "all different"),
        ({"uniqueItems": True}, '[{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]', 0.0, "one twice"),
        ({"uniqueItems": False}, "[1, 1]", 1.0, "twice, as it may"),
        ({"patternProperties": {"^x": {"type": "integer"}}}, '{"x1": 1, "y": "a"}', 1.0, "keys by pattern"),
        ({"patternProperties": {"^x": {"type": "integer"}}}, '{"x1": "a"}', 0.0, "a wrong value there"),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, '{"x": 1}', 1.0, "no other keys"),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, '{"y": 1}', 0.0, "another key"),
        ({"additionalProperties": {"type": "integer"}}, '{"a": 1, "b": "c"}', 0.0, "other keys by schema"),
        ({"propertyNames": {"pattern": r"^\p{Lu}+$"}}, '{"ÄÖ": 1}', 1.0, "a pattern with a Unicode class"),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, '{"b": 1}', 1.0, "one of two"),
        ({"not": {"required": ["a"]}}, '{"a": 1}', 0.0, "not this"),
        (
            {"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]},
            '{"a": 1}',
            1.0,
            "all named",
        ),
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
            {"$id": "http://example.org/r", "$defs": {"n": {"$id": "n", "type": "array"}}, "$ref": "n"},
            "[1]",
            1.0,
            "a reference by a name inside",
        ),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "integer"}]},
            '[1, "a"]',
            1.0,
            "draft 7, where items is a list",
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
        ({}, "[1]", 1.0, "a schema that asks for nothing"),
    ),
)
def test_the_keywords_of_a_schema(schema, json, expected):
    assert json_schema(schema)(json) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    table(
        ("person", 1.0, "a key"),
        (("people", 0), 1.0, "a key and a position"),
        ("people.1", 0.0, "a value that does not fit"),
        ("people.7", 0.0, "no such position"),
        ("nobody", 0.0, "no such key"),
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
        (A_AND_B, '{"a": 1}', 1.0, "the one described is not there"),
        (A_AND_B, '{"b": 2}', 0.5, "the one required is not there"),
        (A_AND_B, '{"a": 1, "b": "x"}', 0.5, "the one described is wrong"),
        ({"required": ["a", "b"]}, '{"x": 1, "y": 2, "z": 3}', 0.0, "keys nobody asked for"),
        ({"allOf": [{"required": ["a"]}], "required": ["b"]}, '{"b": 1}', 0.5, "required in a part"),
        ({"properties": {"a": INTEGERS}}, '{"a": [1, "x", "y"]}', 0.0, "a key is right or wrong"),
        ({"maxProperties": 1, "required": ["a"]}, '{"a": 1, "b": 2}', 0.0, "a fault of the whole"),
        (A_OR_B, '{"c": 1}', 0.0, "so is a combination"),
        (INTEGERS, '[1, "x"]', 0.0, "a list is right or wrong"),
        (INTEGERS, "[1, 2]", 1.0, "a list that is right"),
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
        ('{"name": "Uma", "age": 1e999}', ["no JSON that could be read"], "a number beyond floats"),
        ("[" * 150 + "]" * 150, ["no JSON that could be read"], "nested too deeply"),
        ('{"name": 1, "age": "x"}', ["$.name: 1 is not of type 'string'"], "only the first fault"),
    ),
)
def test_what_is_wrong_is_noted(completion, noted):
    with listen() as notes:
        json_schema(PERSON)(completion)
    assert notes == {"json_schema": noted}


DRAFT_7 = "http://json-schema.org/draft-07/schema#"
LOOP = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
ERRORS = [
    ({"type": "strin"}, "schema is no JSON Schema: 'strin' is not valid", "an unknown type"),
    ({"properties": {"a": {"minimum": "0"}}}, "at $.properties.a.minimum", "a wrong value inside"),
    ({"$ref": "http://example.org/a"}, "'http://example.org/a', which is not in it", "a URL"),
    ({"properties": {"a": {"$ref": "other.json"}}}, "refers to 'other.json'", "a reference to a file"),
    ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "nothing is fetched", "a draft"),
    ({"$id": "http://example.org/r", "$ref": "other"}, "refers to 'other'", "a reference beside itself"),
    ({"$ref": "#/$defs/x"}, "refers to '#/$defs/x'", "a reference to nothing"),
    ({"items": [1], "$schema": DRAFT_7}, "no JSON Schema", "a list of no schemas"),
    ({"$ref": "#"}, "refers to itself without end", "a reference to itself and nothing else"),
    (LOOP, "refers to itself without end", "two references to each other"),
    ({"pattern": "("}, "pattern '(' does not compile", "a pattern that does not compile"),
    ({"patternProperties": {"[": {}}}, "pattern '[' does not compile", "a pattern for keys"),
    ({"$defs": {"a": {"$defs": {"b": {"pattern": "("}}}}}, "pattern '(' does not compile", "inside"),
    ({"$schema": "http://example.org"}, "$schema='http://example.org' is no known", "an unknown draft"),
    ({"$schema": 7}, "$schema='7' is no known", "a draft that is a number"),
    ({"$defs": {"a": {"$schema": DRAFT_7}}}, "another draft", "two drafts"),
    ({"unevaluatedProperties": False, "patternProperties": {"a": {}}}, "nor unevaluated", "two keywords"),
    ({"enum": {1, 2}}, "holds what JSON cannot", "a set"),
    ({"required": ("a",)}, "holds what JSON cannot", "a tuple"),
    ({1: {}}, "holds what JSON cannot", "a key that is no text"),
    ("person.json", "schema='person.json' is not a JSON Schema; give a dict", "a file name"),
    (True, "schema=True is not a JSON Schema", "a bool"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "piece"), table(*ERRORS))
def test_a_schema_that_cannot_be_used_is_refused_in_a_sentence(schema, piece):
    with pytest.raises(ValueError) as caught:
        json_schema(schema)
    assert piece in str(caught.value)


@pytest.mark.parametrize(
    ("options", "piece"),
    table(
        ({"path": "a."}, "path='a.' has an empty key", "an empty key"),
        ({"which": "all"}, "which='all' is not known", "an unknown occurrence"),
        ({"timeout": 0}, "timeout=0 is not a time", "no time"),
        ({"timeout": float("inf")}, "timeout=inf is not a time", "all the time"),
    ),
)
def test_an_option_without_meaning_is_refused_in_a_sentence(options, piece):
    with pytest.raises(ValueError) as caught:
        json_schema(PERSON, **options)
    assert piece in str(caught.value)


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


RECURSIVE = {"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}
BRANCH = {"properties": {"x": {"$ref": "#/$defs/n"}}}
LOOKED_UP = {"unevaluatedProperties": False, "anyOf": [{"additionalProperties": True}]}
DOUBLING = {
    "$defs": {"n": {"anyOf": [{**BRANCH, "required": ["a"]}, {**BRANCH, "required": ["b"]}]}},
    "$ref": "#/$defs/n",
}
NUMBERED = ",".join(f'"k{at}":1' for at in range(60_000))
HOSTILE = [
    (RECURSIVE, "[" * 100_000 + "]" * 100_000, 0.0, "brackets without end"),
    (RECURSIVE, "[" * 90 + "]" * 90, 1.0, "as deep as it may be"),
    (DOUBLING, '{"x":' * 60 + "{}" + "}" * 60, 0.0, "two ways at every level"),
    ({"items": {"type": "integer"}}, f"[{'1,' * 500_000}1]", 0.0, "more elements than are checked"),
    ({"items": {"type": "integer"}}, f"[{'1,' * 20_000}1]", 1.0, "as many as are checked"),
    ({"uniqueItems": True}, f"[{'{},' * 300_000}{{}}]", 0.0, "elements that cannot be sorted"),
    ({"additionalProperties": {"type": "string"}}, f"{{{NUMBERED}}}", 0.0, "every key wrong"),
    (LOOKED_UP, f"{{{NUMBERED}}}", 0.0, "every key looked up in a list"),
    ({"items": {"pattern": "^a+$"}}, f'["{"a" * 1_000_000}b"]', 0.0, "a long text for a pattern"),
    ({"items": {"multipleOf": 0.1, "maximum": 1}}, f"[{'1' * 4_000}]", 0.0, "a number of 4,000 digits"),
    ({"items": {"type": "integer"}}, f"[{'1' * 5_000}]", 0.0, "and one of more than Python reads"),
    ({"items": {"pattern": "^a"}}, '["\\ud800", "\ud800"]', 0.0, "lone surrogates, escaped and as they are"),
]  # fmt: skip


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize(("schema", "json", "expected"), table(*HOSTILE))
def test_hostile_json_neither_raises_nor_hangs(bounded, partial, schema, json, expected):
    assert json_schema(schema, partial=partial)(json) == expected


def test_a_pattern_that_takes_too_long_is_an_error_with_its_name(bounded):
    schema = {"items": {"pattern": "(a|aa)+$"}}
    with pytest.raises(
        TimeoutError, match=r"patterns of the schema took too long; the last was '\(a\|aa\)\+\$'"
    ):
        json_schema(schema, timeout=0.2)(f'["{"a" * 5000}! b"]')


def test_the_patterns_of_one_text_share_their_time(bounded):
    schema = {"items": {"pattern": "a+[bc]|d"}}  # in the square of a text's length
    slow = f'"{"a" * 1000}d"'
    with pytest.raises(TimeoutError):
        json_schema(schema, timeout=0.2)(f"[{slow}{(',' + slow) * 999}]")
    assert json_schema(schema)(f"[{slow}]") == 1.0


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
