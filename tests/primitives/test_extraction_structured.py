"""Extraction of what has a structure: JSON, strict and repaired, Python literals, tool calls."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.extract import every, json_value, python_literal, tool_call
from rewardkit.primitives.notes import listen


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("path", "completion", "expected"),
    table(
        (None, 'Here: {"a": 1}.', '{"a": 1}', "an object in prose, as it is written"),
        (None, 'x [1,  "]"] y', '[1,  "]"]', "an array, with a bracket in a string"),
        (None, '{"a": 1} {"a": 2}', '{"a": 2}', "of several the last"),
        (None, '{"a": {"b": [1]}}', '{"a": {"b": [1]}}', "what is inside does not count by itself"),
        (None, '{"a": {"b": 1}', '{"b": 1}', "in a broken object the last whole inner one"),
        (None, "{'a': 1}", None, "single quotes are not JSON"),
        (None, '{"a": NaN}', None, "NaN is not JSON"),
        (None, '{"a": 1,}', None, "a trailing comma is not JSON"),
        (None, r"\frac{1}{2}", None, "LaTeX is not JSON"),
        (None, "42", None, "a bare number is no object"),
        (None, "{}", "{}", "an empty object"),
        (None, "", None, "empty completion"),
        (None, '{"a": "\ud800\u202e"}', '{"a": "\ud800\u202e"}', "lone surrogate and direction mark"),
        ("age", '{"name": "Uma", "age": 59}', "59", "a number at a path"),
        ("name", '{"name": "Uma"}', "Uma", "a text comes without its quotes"),
        ("name", '{"name": ""}', "", "an empty text is found and empty"),
        ("a.b", '{"a": {"b": [1, "x"]}}', '[1, "x"]', "others come as JSON"),
        ("a.1", '{"a": [1, 2]}', "2", "a position in a list"),
        ("a", '{"a": null}', "null", "null is a value"),
        ("a", '{"a": true}', "true", "a truth value"),
        ("a", '{"a": 1234567890123456789012}', "1234567890123456789012", "a long integer keeps its digits"),
        (("a.b",), '{"a.b": 1}', "1", "a key with a full stop, as a tuple"),
        ("a.2", '{"a": [1, 2]}', None, "a position past the end"),
        ("a.b", '{"a": 1}', None, "a path through a number"),
        ("b", '{"a": 1}', None, "a key that is not there"),
        (("a", 1), '{"a": [1, 2]}', "2", "a position as a number, as the docstring says"),
        (0, "[7, 8]", "7", "a position alone"),
        ("a", '{"a": 0.10}', "0.10", "a number as it was written"),
        ("a", '{"a": 1e400}', "1e400", "and one that no float can hold"),
        ("a", '{"a": [0.10]}', "[0.1]", "in a list it is what it is"),
        ("a", '{"a": 1, "a": 2}', "2", "of a key that comes twice the last"),
        ("a", '{"a": 1} {"b": 2}', None, "the last object counts, whether it has the key or not"),
        (None, '"text"', None, "a text alone is no object"),
        (None, "```json\n[1]\n```", "[1]", "in a code block"),
        (("a", 0), '{"a": [1, 2]}', "1", "position 0 as a number"),
        ("-1", '{"-1": 2}', "2", "a key that looks like a position from the end"),
        ("a", "[x," * 10 + '{"a": 1}' + "]" * 10, "1", "in ten broken arrays"),
        (None, '[1, x] {"a": [2]}', '{"a": [2]}', "an object is before the array in it"),
    ),
)
def test_json_value_gives_the_last_object_or_the_value_at_the_path(path, completion, expected):
    assert json_value(path)(completion) == expected


def test_json_value_finds_the_first_object_where_asked():
    assert json_value("a", which="first")('{"a": 1} {"a": 2}') == "1"


def test_json_value_has_no_span_where_its_path_leads_nowhere():
    assert json_value("b").spans('{"a": 1}') == []


def test_json_value_never_gives_what_is_not_json():
    assert json_value("a")('{"a": 1e999}') == "1e999"
    assert json_value("a")('{"a": [1e999]}') is None


@pytest.mark.parametrize(
    ("path", "completion", "expected"),
    table(
        (None, "{'a': 1}", '{"a": 1}', "single quotes"),
        (None, '{"a": 1,}', '{"a": 1}', "a comma too many"),
        (None, '{"a": 1 "b": 2}', '{"a": 1, "b": 2}', "a comma too few"),
        (None, '{"a": [1, 2', '{"a": [1, 2]}', "cut off"),
        (None, '{"a": "so it', '{"a": "so it"}', "cut off in a text"),
        (None, "{a: 1}", '{"a": 1}', "a key without quotes"),
        (None, '{"a": True, "b": None}', '{"a": true, "b": null}', "Python's constants"),
        (None, '{"a": 1 // one\n}', '{"a": 1}', "a comment"),
        (None, "Here: {'a': 1}. Bye", '{"a": 1}', "text around it"),
        (None, "```json\n{'a': 1}\n```", '{"a": 1}', "in a code block"),
        (None, "['a', 'b']", '["a", "b"]', "a list"),
        (None, "{'a': 1} {'a': 2}", '{"a": 2}', "of several the last"),
        (None, "{'a': {'b': 1}", '{"a": {"b": 1}}', "a bracket too few"),
        (None, "{\"a\": 1} {'a': 2}", '{"a": 1}', "strict comes before repaired"),
        (None, '{"a": 1, "b": ["x"],}', '{"a": 1, "b": ["x"]}', "a strict part of what is broken is a part"),
        ("c", '{"a": {"b": 1}, "c": 2,}', "2", "a value beside a strict part"),
        (None, '{"a": ["x"], "b": ', '{"a": ["x"], "b": ""}', "cut off behind a strict part"),
        (None, "{'a': [1]} and {\"z\": 2}", '{"z": 2}', "a strict one behind a broken one"),
        ("a", "{'a': 1}", "1", "a path"),
        ("a.b", "{'a': {'b': 'x'}}", "x", "a path to a text"),
        ("b", "{'a': 1}", None, "a path that leads nowhere"),
        ("a", "{\"b\": 1} {'a': 2}", "2", "a path that leads nowhere in what is strict"),
        ("age", '{"name": "Uma", "at": {"city": "Oslo"}, age: 59}', "59", "around a whole inner one"),
        (None, r"\frac{1}{2}", None, "LaTeX"),
        (None, r"\{1, 2\}", None, "a set in LaTeX"),
        (None, "so [sic] it {is}", None, "prose in brackets"),
        (None, "42", None, "a number alone"),
        (None, "", None, "empty completion"),
        (None, "{'a': '" + "x" * 5000 + "'}", None, "more than the library is given"),
        (None, "[" * 30 + "'a'", None, "brackets deeper than the library is given"),
        (None, "{'a': '\ud800'}", '{"a": "\ud800"}', "a lone surrogate"),
    ),
)
def test_json_value_is_repaired_where_none_is_strict(path, completion, expected):
    extractor = json_value(path, repair=True)
    with listen() as notes:
        assert extractor(completion) == expected
    assert notes.get("json") == (None if expected is None else READINGS.get(completion, "repaired"))


READINGS = {"{'a': [1]} and {\"z\": 2}": "strict", "{\"a\": 1} {'a': 2}": "strict"}


@pytest.mark.parametrize(
    ("completion", "reading"),
    [
        ('{"a": 1}', "strict"),
        ("{'a': 1}", "repaired"),
        ("x", None),
        ("", None),
        (None, None),
        ('{"b": 1}', None),
    ],
)
def test_how_json_was_read_is_noted(completion, reading):
    extractor = json_value("a", repair=True)
    with listen() as notes:
        extractor(completion)
    assert notes == ({} if reading is None else {"json": reading})
    with listen() as notes:
        json_value("a")(completion)
    assert notes == {}, "without repair there is nothing to tell apart"


def test_of_what_is_repaired_there_is_one_value():
    text = "{'a': 1} {'a': 2}"
    assert every(json_value("a", repair=True))(text) == ["2"]
    assert every(json_value("a", repair=True, which="first"))(text) == ["1"]
    assert every(json_value("a", repair=True))('{"a": 1} {"a": 2}') == ["1", "2"], "of strict JSON all"


def test_the_span_of_repaired_json_is_the_region_it_was_made_of():
    text = "So: {'a': 1}, {'b': [2, 3  \n"
    assert [text[slice(*span)] for span in json_value(repair=True).spans(text)] == ["{'b': [2, 3"]
    assert [text[slice(*span)] for span in json_value(repair=True, which="first").spans(text)] == ["{'a': 1}"]


@pytest.mark.parametrize(
    ("path", "completion", "expected"),
    table(
        (None, "It is ['a', 1].", "['a', 1]", "a list in prose, as it is written"),
        (None, "{'a': 1}", "{'a': 1}", "a dict"),
        (None, "(1, 2)", "(1, 2)", "a tuple"),
        (None, "{1, 2}", "{1, 2}", "a set"),
        (None, "[]", "[]", "an empty list"),
        (None, "so ()", "()", "an empty tuple"),
        (None, "[True, None, -1.5e3, 0x1F]", None, "hexadecimal digits are not read"),
        (None, "[True, None, -1.5e3]", "[True, None, -1.5e3]", "constants and numbers"),
        (None, "[1] [2]", "[2]", "of several the last"),
        (None, "[[1], [2]]", "[[1], [2]]", "what is inside does not count by itself"),
        (None, "[1, [2]", "[2]", "in what is never closed the last whole inner one"),
        (None, "[1, x, [2]]", "[2]", "in what is no literal, too"),
        (None, "x = [1,  # one\n  2]", "[1,  # one\n  2]", "a comment"),
        (None, "['it''s', \"a]b\"]", "['it''s', \"a]b\"]", "texts behind each other, a bracket in one"),
        (None, "['''a\n'b''']", "['''a\n'b''']", "a text over lines"),
        (None, r"['\d\frac']", r"['\d\frac']", "a backslash that escapes nothing"),
        (None, "f(1, 2)", None, "a call"),
        (None, "x[0]", None, "an index"),
        (None, r"\frac{1}{2} x^{2} \{1\}", None, "LaTeX"),
        (None, "(4)", None, "a number in parentheses"),
        (None, "('a')", None, "a text in parentheses"),
        (None, "(4) or ([5])", "([5])", "a list in parentheses"),
        (None, "[x, y]", None, "names"),
        (None, "[1 + 2]", None, "a sum"),
        (None, "[1-2]", None, "a difference"),
        (None, "[f'x']", None, "a text with a prefix"),
        (None, "[__import__('os')]", None, "code"),
        (None, "[1, 2", None, "never closed"),
        (None, "[1, 2)", None, "closed by another bracket"),
        (None, "{[1]: 2}", "[1]", "a key that cannot be one"),
        (None, "{1: 2, 3}", None, "half a dict"),
        (None, "42 'x'", None, "no brackets"),
        (None, "", None, "empty completion"),
        (None, "[" * 50 + "]" * 50, "[" * 50 + "]" * 50, "fifty brackets deep"),
        (None, "[[1](2,)]", "[1]", "a call inside"),
        (None, "[[1] [2]]", "[2]", "a comma too few"),
        (None, "['" + "x" * 10_000 + "']", None, "more than 10,000 characters"),
        (None, "['\ud800']", None, "a lone surrogate, which Python does not read"),
        (None, "['\x00']", None, "nor does it a null"),
        ("a", "{'a': 'x'}", "x", "a text comes without its quotes"),
        ("a", "{'a': 0.10}", "0.1", "others as Python writes them"),
        ("a.1", "{'a': (1, {2})}", "{2}", "a position"),
        (1, "[1, 'b']", "b", "a position alone"),
        ("1", "{1: 'x'}", "x", "a number for a key"),
        ("a", "{'a': 1, 'a': 2}", "2", "of a key that comes twice the last"),
        ("a", "{'a': ''}", "", "an empty text is found and empty"),
        ("2", "[1, 2]", None, "a position past the end"),
        ("-1", "[1, 2]", None, "a position from the end"),
        ("0", "{1, 2}", None, "a set has no positions"),
        ("a.b", "{'a': 1}", None, "a path through a number"),
        ("a", "['a']", None, "a key of a list"),
    ),
)
def test_python_literal_gives_the_last_one_or_the_value_at_the_path(path, completion, expected):
    assert python_literal(path)(completion) == expected


def test_no_more_literals_are_read_than_time_allows(bounded):
    text = "[1] " * 100_000 + "[2]"
    assert python_literal()(text) == "[2]"
    assert python_literal(which="first")(text) == "[1]"
    assert 1_000 < len(every(python_literal())(text)) < 5_000


LITERALS = st.recursive(
    st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | st.none()
    | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text("a"), inner),
    max_leaves=8,
).filter(lambda value: isinstance(value, list | tuple | dict))  # fmt: skip


@given(value=LITERALS)
def test_a_literal_that_was_written_is_found_again(value):
    found = python_literal()(f"Here (it) is: {value!r} [sic].")
    assert found == repr(value)
    assert ast.literal_eval(found) == value


@given(value=LITERALS)
def test_the_value_at_a_path_of_a_literal_is_the_value_there(value):
    text = repr({"a": (0, value)})
    assert ast.literal_eval(python_literal("a.1")(text)) == value


WEATHER = '{"name": "weather", "arguments": {"city": "Oslo", "days": 3}}'


CODER = "<function=f>\n<parameter=a>\nso\n it is\n</parameter>\n<parameter=b>3</parameter>\n</function>"


def call(text):
    return f"<tool_call>\n{text}\n</tool_call>"


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (tool_call(), call(WEATHER), WEATHER, "a call, as it is written"),
        (tool_call(), f"First: {call(WEATHER)} so.", WEATHER, "in prose"),
        (tool_call(), call('{"name": "f"}') + call('{"name": "g"}'), '{"name": "g"}', "of several the last"),
        (tool_call(which="first"), call('{"name": "f"}') * 2, '{"name": "f"}', "the first where asked"),
        (tool_call("f"), call('{"name": "f"}') + call('{"name": "g"}'), '{"name": "f"}', "of one tool"),
        (tool_call("h"), call('{"name": "f"}'), None, "of a tool that is not called"),
        (tool_call("F"), call('{"name": "f"}'), None, "case counts in names"),
        (tool_call("weather", "arguments.city"), call(WEATHER), "Oslo", "an argument"),
        (tool_call("weather", "arguments.days"), call(WEATHER), "3", "a number"),
        (tool_call(path="name"), call(WEATHER), "weather", "the name"),
        (tool_call(path="arguments"), call(WEATHER), '{"city": "Oslo", "days": 3}', "all arguments"),
        (tool_call(path="arguments.wind"), call(WEATHER), None, "an argument that is not there"),
        (
            tool_call(path=("arguments", "a.b")),
            call('{"name": "f", "arguments": {"a.b": 1}}'),
            "1",
            "a tuple",
        ),
        (
            tool_call(path="arguments.a"),
            call('{"name": "f", "arguments": "{\\"a\\": 1}"}'),
            "1",
            "JSON in JSON",
        ),
        (
            tool_call(path="arguments"),
            call('{"name": "f", "arguments": "x"}'),
            "x",
            "arguments that are text",
        ),
        (tool_call(path="arguments.a"), call('{"name": "f"}'), None, "no arguments"),
        (
            tool_call(path="arguments.a"),
            call('{"name": "f", "parameters": {"a": 1}}'),
            "1",
            "arguments as Llama calls them",
        ),
        (
            tool_call(path="arguments.a"),
            call('{"name": "f", "arguments": {"a": 1}, "parameters": {"a": 2}}'),
            "1",
            "arguments before parameters",
        ),
        (tool_call(), call(CODER), CODER, "a call as Qwen3-Coder writes it"),
        (tool_call("f", "arguments.a"), call(CODER), "so\n it is", "an argument of it"),
        (tool_call("f", "arguments.b"), call(CODER), "3", "another, as text"),
        (tool_call("g"), call(CODER), None, "of another tool"),
        (tool_call(), call("<function=>"), None, "a function without a name"),
        (tool_call(), f"<TOOL_CALL id='1'>{WEATHER}</Tool_Call>", WEATHER, "case and attributes of the tag"),
        (tool_call(), call("{'name': 'f'}"), None, "JSON that is not strict"),
        (tool_call(), call('{"arguments": {}}'), None, "no name"),
        (tool_call(), call('{"name": 3}'), None, "a name that is no text"),
        (tool_call(), call('["name"]'), None, "a list"),
        (tool_call(), call(""), None, "nothing in it"),
        (tool_call(), call("x") + call(WEATHER) + call("y"), WEATHER, "calls that are none are passed over"),
        (tool_call(), f"<tool_call>{WEATHER}", None, "never closed"),
        (tool_call(), f"I use <tool_call> now: {call(WEATHER)}", WEATHER, "a tag that is named before"),
        (tool_call(), WEATHER, None, "no tag"),
        (tool_call(), "", None, "empty completion"),
        (tool_call(path="name"), call('{"name": "\ud800"}'), "\ud800", "a lone surrogate"),
    ),
)
def test_tool_call_gives_the_last_call_or_the_value_at_the_path(extractor, completion, expected):
    assert extractor(completion) == expected


@given(name=st.text(min_size=1), value=st.text())
def test_a_call_that_was_written_is_found_again(name, value):
    text = json.dumps({"name": name, "arguments": {"a": value}})
    assert tool_call(name)(f"so <tool_call>{text}</tool_call>") == text
    assert tool_call(name, "arguments.a")(f"so <tool_call>{text}</tool_call>") == value
