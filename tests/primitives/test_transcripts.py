"""Transcripts: the calls that are read out of messages, in both forms; messages that are none."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.agents.transcripts import (
    ToolCall,
    final_answer,
    read_calls,
    read_turns,
    says_error,
)
from rewardkit.primitives.messages import as_list


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


def said(content, **more):
    return {"role": "assistant", "content": content, **more}


def call(name, arguments="{}", id=None):
    made = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return made if id is None else {"id": id, **made}


def calling(*calls, content=None):
    return said(content, tool_calls=list(calls))


def result(content, id=None, **more):
    return {"role": "tool", "content": content, **({} if id is None else {"tool_call_id": id}), **more}


def user(content):
    return {"role": "user", "content": content}


def hermes(name, arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


SEARCH = hermes("search", {"q": "Oslo"})
OSLO = {"q": "Oslo"}
CUT = '<tool_call>\n{"name": "search", "arguments": {"q": "Os'


def brief(calls):
    return [(item.name, item.arguments, item.result, item.failed, item.turn) for item in calls]


STRUCTURED = table(
    ([calling(call("f", '{"a": 1}', "x"))], [("f", {"a": 1}, None, None, 0)], "a call without a result"),
    (
        [calling(call("f", id="x"), call("g", id="y")), result("of g", "y"), result("of f", "x")],
        [("f", {}, "of f", False, 0), ("g", {}, "of g", False, 0)],
        "results find their calls by id, in any order",
    ),
    (
        [calling(call("f"), call("g")), result("of f"), result("of g")],
        [("f", {}, "of f", False, 0), ("g", {}, "of g", False, 0)],
        "without ids by their order",
    ),
    (
        [calling(call("f", id="x"), call("g", id="y")), result("of f"), result("of g")],
        [("f", {}, "of f", False, 0), ("g", {}, "of g", False, 0)],
        "ids that only the calls have",
    ),
    (
        [calling(call("f"), call("g")), result("of f", "x"), result("of g", "y")],
        [("f", {}, "of f", False, 0), ("g", {}, "of g", False, 0)],
        "ids that only the results have",
    ),
    (
        [calling(call("f", id="x")), result("of another", "z")],
        [("f", {}, None, None, 0)],
        "a result of another id is not taken",
    ),
    (
        [calling(call("f", id="x"), call("g", id="y")), result("1", "y"), result("2", "y")],
        [("f", {}, None, None, 0), ("g", {}, "1", False, 0)],
        "a second result of one call is nobody's",
    ),
    (
        [calling(call("f", id="0")), result("1", "0"), calling(call("f", id="0")), result("2", "0")],
        [("f", {}, "1", False, 0), ("f", {}, "2", False, 1)],
        "ids that begin anew in every turn",
    ),
    (
        [calling(call("f", id="0")), calling(call("f", id="0")), result("2", "0")],
        [("f", {}, None, None, 0), ("f", {}, "2", False, 1)],
        "of two unanswered calls of one id the latest is meant",
    ),
    (
        [calling(call("f", id="0"), call("g", id="0")), result("1", "0"), result("2", "0")],
        [("f", {}, "1", False, 0), ("g", {}, "2", False, 0)],
        "one id twice in a turn",
    ),
    (
        [said(None, function_call={"name": "f", "arguments": '{"a": 1}'}),
         {"role": "function", "name": "f", "content": "ok"}],
        [("f", {"a": 1}, "ok", False, 0)],
        "the old function_call",
    ),
    (
        [calling(call("f")), result({"type": "text", "text": "cold"})],
        [("f", {}, "cold", False, 0)],
        "a part that is in no list",
    ),
    (
        [calling(call("f")), result({"text": "cold", "error": "none"})],
        [("f", {}, '{"error": "none", "text": "cold"}', True, 0)],
        "an object with a text is no part",
    ),
    (
        [calling(call("f", ""), call("f", None), call("f", " ")), calling({"function": {"name": "f"}})],
        [*[("f", {}, None, None, 0)] * 3, ("f", {}, None, None, 1)],
        "no arguments are none",
    ),
    ([calling(call("f", '{"a": 1'))], [("f", '{"a": 1', None, True, 0)], "arguments that are cut off"),
    ([calling(call("f", [1]))], [("f", None, None, True, 0)], "nor written as one"),
    ([calling(call("f", '{"a": NaN}'))], [("f", '{"a": NaN}', None, True, 0)], "NaN is not JSON"),
    ([calling(call("  "), call(None), call(5))], [("", {}, None, True, 0)] * 3, "a name that is none"),
    ([calling(None, 5, "f")], [*[("", None, None, True, 0)] * 2, ("", "f", None, True, 0)], "no objects"),
    (
        [calling(call("f", '{"a'), call("g")), result("of g")],
        [("f", '{"a', None, True, 0), ("g", {}, "of g", False, 0)],
        "with too few results the malformed are passed over",
    ),
    (
        [calling(call("f"), call("g")), result({"b": 1, "a": [1.5]}), result(None)],
        [("f", {}, '{"a": [1.5], "b": 1}', False, 0), ("g", {}, "", False, 0)],
        "content that is an object, or nothing",
    ),
    (
        [said(None, tool_calls=np.array([call("f", {"a": np.array([1, 2]), "b": np.float64(2)})]))],
        [("f", {"a": [1, 2], "b": 2}, None, None, 0)],
        "arrays, as tables hold lists",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("messages", "expected"), STRUCTURED)
def test_structured_calls_are_read_with_their_results(messages, expected):
    assert brief(read_calls(messages)) == expected
    assert brief(read_calls(tuple(messages))) == expected


WRITTEN = table(
    (SEARCH, [("search", OSLO, None, None, 0)], "a completion"),
    ([said(f"I look.\n{SEARCH}"), result("cold")], [("search", OSLO, "cold", False, 0)], "a tool message"),
    (
        [said(SEARCH), result("\n<tool_response>\ncold\n</tool_response>")],
        [("search", OSLO, "cold", False, 0)],
        "and in a tool's",
    ),
    (
        [said(SEARCH + hermes("f", {})),
         user("<tool_response>\ncold\n</tool_response>\n<tool_response>\nok</tool_response>")],
        [("search", OSLO, "cold", False, 0), ("f", {}, "ok", False, 0)],
        "two responses in one message",
    ),
    (
        [calling(call("f", id="x"), call("g", id="y")),
         result("<tool_response>a</tool_response>\n<tool_response>b</tool_response>", "y")],
        [("f", {}, None, None, 0), ("g", {}, "a\nb", False, 0)],
        "both of one call where the message names it",
    ),
    ([said(SEARCH), user("And then?")], [("search", OSLO, None, None, 0)], "a user is no tool"),
    (
        [said(SEARCH + "<tool_response>cold</tool_response>")],
        [("search", OSLO, None, None, 0)],
        "an assistant cannot write its own results",
    ),
    ("<tool_call></tool_call>", [("", "", None, True, 0)], "nothing in it"),
    ('<tool_call>{"arguments": {}}</tool_call>', [("", {}, None, True, 0)], "no name in it"),
    ('<tool_call>{"name": "f"}</tool_call>', [("f", {}, None, None, 0)], "no arguments in it"),
    (
        [said(f"{CUT}</tool_call>{SEARCH}"), result("cold")],
        [("", CUT.removeprefix("<tool_call>\n"), None, True, 0), ("search", OSLO, "cold", False, 0)],
        "an environment that passes over what it cannot read",
    ),
    (
        [said(f"{CUT}</tool_call>{SEARCH}"), result("Error: bad JSON"), result("cold")],
        [("", CUT.removeprefix("<tool_call>\n"), "Error: bad JSON", True, 0),
         ("search", OSLO, "cold", False, 0)],
        "and one that answers it",
    ),
    (
        f"<think>In <tool_call></tool_call> tags, so {CUT}</think>{SEARCH}",
        [("search", OSLO, None, None, 0)],
        "what is only thought of is no call",
    ),
    (f"<think>Hm. {SEARCH}", [], "thought that never ends"),
    (
        hermes("write", {"text": "a </think> b"}) + SEARCH,
        [("write", {"text": "a </think> b"}, None, None, 0), ("search", OSLO, None, None, 0)],
        "an end of thought in an argument ends none",
    ),
    (
        f"I write <tool_call> and then.</think>{SEARCH}",
        [("search", OSLO, None, None, 0)],
        "a tag that is only named in it",
    ),
    (
        '<tool_call>{"name": "f", "parameters": {"a": 1}}</tool_call>',
        [("f", {"a": 1}, None, None, 0)],
        "Llama's",
    ),
    (
        "<tool_call>\n<function=f>\n<parameter=a>\nso\n it is\n</parameter>\n<parameter=b>3</parameter>\n"
        "</function>\n</tool_call>",
        [("f", {"a": "so\n it is", "b": "3"}, None, None, 0)],
        "Qwen3-Coder's",
    ),
    ("<tool_call><function=f></function></tool_call>", [("f", {}, None, None, 0)], "without arguments"),
    (
        "<tool_call><function=f><parameter=a>1",
        [("f", {}, None, None, 0)],
        "a parameter that is cut off",
    ),
    (
        [said(f"{SEARCH}</think>"), result("cold")],
        [("search", OSLO, "cold", False, 0)],
        "a call in thought that was run all the same",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("messages", "expected"), WRITTEN)
def test_calls_in_text_are_read_with_their_results(messages, expected):
    assert brief(read_calls(messages)) == expected


@pytest.mark.parametrize(
    "nothing", [None, 5, float("nan"), {}, b"[]", object(), {1}], ids=lambda x: type(x).__name__
)
def test_what_is_neither_a_list_nor_a_text_is_missing(nothing):
    assert read_calls(nothing) is None
    assert read_turns(nothing) is None


SYSTEM = {"role": "system", "content": "Use the tools."}
STRUCTURED_RUN = [
    SYSTEM,
    user("Is it colder in Oslo or in Rome?"),
    calling(call("weather", '{"city": "Oslo", "unit": "C"}', "call_1"),
            call("weather", '{"city": "Rom", "unit": "C"}', "call_2"), content="<think>Two cities.</think>"),
    result('{"error": "unknown city"}', "call_2"),
    result('{"temperature": -3}', "call_1"),
    calling(call("weather", '{"unit": "C", "city": "Rome"}', "call_1")),
    result('{"temperature": 11}', "call_1"),
    calling(call("subtract", '{"a": 11, "b": ', "call_2")),
    result("Error: arguments are no JSON", "call_2"),
    said("Oslo is 14 degrees colder [Source: call_1]."),
]  # fmt: skip
WRITTEN_RUN = [
    SYSTEM,
    user("Is it colder in Oslo or in Rome?"),
    said("<think>Two cities.</think>\n" + hermes("weather", {"city": "Oslo", "unit": "C"}) + "\n"
         + hermes("weather", {"unit": "C", "city": "Rom"})),
    user('<tool_response>\n{"temperature": -3}\n</tool_response>\n'
         '<tool_response>\n{"error": "unknown city"}\n</tool_response>'),
    said(hermes("weather", {"city": "Rome", "unit": "C"})),
    result('{"temperature": 11}'),
    said('<tool_call>\n{"name": "subtract", "arguments": {"a": 11, "b": \n</tool_call>'),
    result("Error: arguments are no JSON"),
    said("Oslo is 14 degrees colder [Source: call_1]."),
]  # fmt: skip


def test_a_run_in_both_forms_gives_the_same_calls():
    structured, written = read_calls(STRUCTURED_RUN), read_calls(WRITTEN_RUN)
    assert structured[:3] == written[:3]
    assert [item.key for item in structured[:3]] == [item.key for item in written[:3]]
    assert [(item.result, item.failed, item.turn, item.malformed) for item in structured] == [
        ('{"temperature": -3}', False, 0, False),
        ('{"error": "unknown city"}', True, 0, False),
        ('{"temperature": 11}', False, 1, False),
        ("Error: arguments are no JSON", True, 2, True),
    ]
    assert (structured[3].result, structured[3].failed, structured[3].turn) == (
        written[3].result, written[3].failed, written[3].turn,
    )  # fmt: skip
    assert [structured[3].name, written[3].name] == ["subtract", ""]  # all of a text call is one JSON
    assert final_answer(read_turns(STRUCTURED_RUN)) == final_answer(read_turns(WRITTEN_RUN))


NAMES = st.sampled_from(["search", "read", "搜索", "a b", "x\ud800"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=6)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
ARGUMENTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=3)
RESULTS = st.sampled_from(["ok", "Error: no", '{"success": false}', "", "ünï"])
TURN = st.lists(st.tuples(NAMES, ARGUMENTS, RESULTS), min_size=1, max_size=3)


@given(turns=st.lists(TURN, max_size=4), as_text=st.booleans(), in_user=st.booleans())
def test_any_run_is_the_same_in_both_forms(turns, as_text, in_user):
    structured, written = [user("Go.")], [user("Go.")]
    for turn in turns:
        made = [(name, json.dumps(given) if as_text else given) for name, given, _ in turn]
        structured.append(calling(*(call(*item, id=f"call_{at}") for at, item in enumerate(made))))
        structured += [result(text, f"call_{at}") for at, (_, _, text) in reversed([*enumerate(turn)])]
        written.append(said("\n".join(hermes(name, given) for name, given, _ in turn)))
        texts = [text for _, _, text in turn]
        if in_user:
            written.append(user("\n".join(f"<tool_response>\n{text}\n</tool_response>" for text in texts)))
        else:
            written += map(result, texts)
    calls = read_calls(structured)
    assert calls == read_calls(written)
    expected = [(name, text) for turn in turns for name, _, text in turn]
    assert [(item.name, item.result) for item in calls] == expected
    given = [arguments for turn in turns for _, arguments, _ in turn]
    assert [item.arguments for item in calls] == given
    assert [item.turn for item in calls] == [at for at, turn in enumerate(turns) for _ in turn]


def shuffled(value, chance):
    """The value with the keys of its objects in another order."""
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: shuffled(value[key], chance) for key in keys}
    return [shuffled(item, chance) for item in value] if isinstance(value, list) else value


@given(arguments=ARGUMENTS, chance=st.randoms(use_true_random=False))
def test_the_order_of_keys_makes_no_difference(arguments, chance):
    other = shuffled(arguments, chance)
    one, two, three = read_calls(
        [calling(call("f", arguments), call("f", other), call("f", json.dumps(other, indent=1)))]
    )
    assert one == two == three
    assert one.key == two.key == three.key
    assert repr(one) == repr(two)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    table(
        ('{"a": 1.0}', '{"a": 1}', True, "whole floats are whole numbers"),
        ('{"a": -0.0}', '{"a": 0}', True, "and without a sign before zero"),
        ('{"a": 1.5}', '{"a": 1}', False, "others are not"),
        ('{"a": 1}', '{"a": "1"}', False, "a number is no text"),
        ('{"a": null}', "{}", False, "null is a value"),
    ),
)
def test_calls_that_ask_for_the_same_have_one_key(a, b, same):
    one, two, other = read_calls([calling(call("f", a), call("f", b), call("g", a))])
    assert (one.key == two.key) is same
    assert one.key != other.key


@pytest.mark.parametrize(
    ("text", "expected"),
    table(
        ("Error: no such city", True, "Error"),
        ("  \n[ERROR] disk full", True, "in capitals and brackets"),
        ("error: timeout", True, "in small letters with a colon"),
        ("Error executing tool search", True, "a sentence that begins so"),
        ("Exception in thread main", True, "Exception"),
        ("Traceback (most recent call last):\n  File", True, "a traceback"),
        ("KeyError: 'city'", True, "the name of an exception"),
        ("ValueError('x')", True, "as it prints"),
        ('{"error": "unknown city"}', True, "a JSON error"),
        ('{"isError": true, "content": []}', True, "isError"),
        ('{"status": "Error"}', True, "a status"),
        ('{"status": "failed"}', True, "another status"),
        ("Errors are rare here", False, "a longer word"),
        ("The error: none", False, "not at its beginning"),
        ('{"error": null, "data": 1}', False, "an error that is null"),
        ('{"error": "", "errors": ["x"]}', False, "an empty one"),
        ('{"error": 0.03, "value": 1.7}', False, "a measured error"),
        ('{"error": 0}', False, "a code of zero"),
        ('{"status": 400}', True, "the least bad number"),
        ('{"status": 399}', False, "one below"),
        ('{"status": 600}', False, "a number that is no status"),
        ('{"data": {"error": "x"}}', False, "deeper inside"),
        ('{"error": "cut o', False, "JSON that is cut off says nothing"),
        ('[{"error": "x"}]', False, "a list"),
        ('"Error"', True, "in quotes"),
        ("{" * 100_000, False, "100,000 braces"),
    ),
)
def test_what_counts_as_an_error(text, expected):
    assert says_error(text) is expected
    [read] = read_calls([calling(call("f")), result(text)])
    assert read.failed is expected


@pytest.mark.parametrize(
    "more",
    [{"status": "error"}, {"is_error": True}, {"success": False}, {"error": "timeout"}],
    ids=lambda more: next(iter(more)),
)
def test_a_tool_message_itself_can_say_that_the_call_failed(more):
    [read] = read_calls([calling(call("f")), result("nothing", **more)])
    assert read.failed is True
    [read] = read_calls([calling(call("f")), result("nothing", **dict.fromkeys(more))])
    assert read.failed is False


def test_a_predicate_of_the_users_decides_for_all_but_malformed_calls():
    messages = [calling(call("f"), call("g"), call("h", "{"), call("i")), result("0 hits", status="error")]
    messages += [result("Error: x"), result("fine")]
    calls = read_calls(messages, failed=lambda text: "0 hits" in text)
    assert [item.failed for item in calls] == [True, False, True, False]
    calls = read_calls(messages[:2], failed=lambda text: 0)
    assert [item.failed for item in calls] == [False, None, True, None]


@pytest.mark.parametrize(
    ("messages", "expected"),
    table(
        ("It is 4.", "It is 4.", "a completion"),
        ([said("4"), user("Sure?"), said(" 5\n")], "5", "the last turn, without white space around it"),
        ([said("4"), said(None)], "", "who says nothing at last"),
        ([said("4"), calling(call("f"), content="I look.")], "I look.", "beside a call"),
        ([said(f"I look. {SEARCH} Soon.")], "I look. \n Soon.", "without calls in its text"),
        ([said("<think>5?</think>4<think>sure</think>")], "4", "without thought"),
    ),
)
def test_the_final_answer(messages, expected):
    assert final_answer(read_turns(messages)) == expected


CYCLE = {}
CYCLE["a"] = CYCLE
DEEP = {}
for _ in range(5000):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(
    "arguments",
    [CYCLE, DEEP, {"a": b"x"}, {"a": {1}}, {"a": object()}, {1: 2}, {"a": float("nan")}, {"a": 10**5000},
     '{"a": ' + "9" * 5000 + "}", '{"a": 1e999}', '{"a": ' * 5000 + "1" + "}" * 5000, "[" * 100_000, b"{}"],
    ids=["cycle", "deep", "bytes", "set", "object", "number key", "nan", "huge", "huge text", "infinity",
         "deep text", "brackets", "bytes for all"],
)  # fmt: skip
def test_arguments_that_json_cannot_hold_are_malformed(arguments):
    [read] = read_calls([calling(call("f", arguments)), result("ok")])
    assert (read.name, read.malformed, read.failed, read.result) == ("f", True, True, "ok")
    assert read.arguments is None or read.arguments == arguments
    assert read.key
    assert hash(read) == hash(read)


def test_arguments_nest_as_deep_as_tools_need():
    arguments = 1
    for _ in range(100):
        arguments = {"a": [arguments]} if _ % 2 else {"a": arguments}
    [read] = read_calls([calling(call("f", {"a": {"b": [[{"c": 1}]]}}))])
    assert not read.malformed
    [read] = read_calls([calling(call("f", {"a": arguments}))])
    assert read.malformed


def test_the_callers_messages_are_left_alone():
    arguments = {"b": [1.0], "a": {"d": 1, "c": 2}}
    messages = [calling(call("f", arguments, "x")), result("ok", "x")]
    before = json.dumps(messages)
    [read] = read_calls(messages)
    read.arguments["a"]["c"] = 3
    assert json.dumps(messages) == before


def test_a_call_is_a_frozen_record():
    [read] = read_calls(SEARCH)
    assert repr(read) == "ToolCall(name='search', arguments={'q': 'Oslo'}, result=None, failed=None, turn=0)"
    assert read == ToolCall("search", {"q": "Oslo"}, None, None, 0)
    assert pickle.loads(pickle.dumps(read)) == read
    with pytest.raises(AttributeError):
        read.name = "f"


@pytest.mark.parametrize(
    ("value", "expected"),
    table(
        ([1], [1], "a list"),
        (np.array([1, None]), [1, None], "an array"),
        ("ab", None, "a text"),
        ({"a": 1}, None, "an object"),
    ),
)
def test_as_list(value, expected):
    assert as_list(value) == expected


KEYS = "role content tool_calls function_call id function name arguments tool_call_id type text error status"
TEXTS = (SEARCH, CUT, "<think>", "</think>", "<tool_response>", "assistant", "tool", "x", '{"a":')
JUNK = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(), st.binary(max_size=2)),
        *(st.text(max_size=5), st.sampled_from(TEXTS)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(KEYS.split()) | st.text(max_size=3), inner, max_size=5),
    ),
    max_leaves=20,
)
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["assistant", "tool", "user", "function"])},
    optional={"content": JUNK, "tool_calls": JUNK | st.lists(JUNK, max_size=3), "function_call": JUNK,
              "tool_call_id": JUNK, "error": JUNK, "status": JUNK},
)  # fmt: skip


@given(messages=JUNK | st.lists(JUNK | MESSAGE, max_size=6))
def test_no_messages_raise(messages):
    calls = read_calls(messages)
    assert (calls is None) == (not isinstance(messages, list | str))
    for item in calls or ():
        assert isinstance(item.key, str)
        assert item.failed is (True if item.malformed else item.failed)
        assert item.malformed or (item.failed is None) == (item.result is None)
        assert 0 <= item.turn < len(read_turns(messages)) - 1
