"""The assistant's text in a transcript."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.primitives.extract import assistant_text, every, tool_call


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
WRITTEN = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
USER = {"role": "user", "content": "2+2?"}
SAID = {"role": "assistant", "content": "3"}


@pytest.mark.parametrize(
    ("messages", "expected"),
    table(
        ([USER, {"role": "assistant", "content": "4"}], "4", "the assistant's text"),
        ([SAID, USER, {"role": "assistant", "content": "4"}], "4", "of several the last"),
        ([{"role": "assistant", "content": "4"}, USER], "4", "whoever speaks after it"),
        (({"role": "assistant", "content": "4"},), "4", "a tuple of messages"),
        ([{"role": "assistant", "content": [{"type": "text", "text": "a"}, "b"]}], "a\nb", "parts"),
        ([{"role": "assistant", "content": [{"type": "image"}]}], "", "parts without text"),
        ([{"role": "assistant", "content": None}], "", "a message without text"),
        ([{"role": "assistant"}], "", "a message without content"),
        ([USER], None, "no assistant speaks"),
        ([], None, "no messages"),
        ("as it is ", "as it is ", "a string is returned as it is"),
        (["assistant", None, 3], None, "items that are no messages"),
        (None, None, "nothing"),
        (3, None, "a number"),
        (b"4", None, "bytes"),
        ({"role": "assistant", "content": "4"}, None, "a message that is in no list"),
        (np.array([SAID]), "3", "an array of messages"),
        ([{"role": "assistant", "content": np.array(["a", "b"])}], "a\nb", "an array of parts"),
        ([{"role": "assistant", "content": 4}], "", "content that is a number"),
        ([{"role": "assistant", "content": {"text": "4"}}], "4", "content that is a part without a list"),
        ([{"role": "assistant", "content": {"a": 1.0}}], '{"a": 1}', "content that is an object"),
        ([{"role": "assistant", "content": {"text": "4", "a": 1}}], '{"a": 1, "text": "4"}', "no part"),
        ([{"role": "assistant", "content": {1: 2}}], "", "content that JSON has not"),
        (
            [{"role": "assistant", "content": [{"text": None}, {"text": "a"}, [], 3]}],
            "a",
            "parts of wrong types",
        ),
        (
            [{"role": ["assistant"], "content": "4"}, {"content": "5"}, {}],
            None,
            "no role, or one that is no text",
        ),
        ([{"role": "assistant", "content": "\ud800\x00"}], "\ud800\x00", "hostile characters"),
        ([{"role": "assistant", "tool_calls": [CALL]}], "", "calls are left out"),
        ([{"role": "ASSISTANT", "content": "4"}], None, "another role"),
    ),
)
def test_assistant_text_gives_the_last_assistant_message(messages, expected):
    assert assistant_text(messages) == expected


def said(content=None, **rest):
    return {"role": "assistant", "content": content, **rest}


@pytest.mark.parametrize(
    ("messages", "expected"),
    table(
        ([SAID, USER, said("4")], "3\n\n4", "two turns"),
        ([said("4")], "4", "one turn"),
        ([said(""), said("4"), said(None)], "4", "empty turns leave no empty lines"),
        ([said(None), said("")], "", "nothing but empty turns"),
        ([USER], None, "no assistant speaks"),
        ([], None, "no messages"),
        ("4", "4", "a string"),
        (None, None, "nothing"),
    ),
)
def test_assistant_text_of_all_turns_is_joined_by_empty_lines(messages, expected):
    assert assistant_text(messages, turns="all") == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    table(
        (said("Let me see.", tool_calls=[CALL]), f"Let me see.\n{WRITTEN}", "behind the text"),
        (said(None, tool_calls=[CALL, CALL]), f"{WRITTEN}\n{WRITTEN}", "one a line"),
        (said("4"), "4", "no calls"),
        (said("4", tool_calls=[]), "4", "an empty list of calls"),
        (said("", tool_calls=None), "", "no list of calls"),
        (
            said(tool_calls=[{"function": {"name": "f", "arguments": {"a": 1}}}]),
            WRITTEN,
            "arguments as a dict",
        ),
        (said(tool_calls=[{"name": "f", "arguments": {"a": 1}}]), WRITTEN, "a call without a type"),
        (said(tool_calls=np.array([CALL])), WRITTEN, "an array of calls"),
        (said(tool_calls=[{"name": "f", "parameters": {"a": 1}}]), WRITTEN, "arguments as Llama calls them"),
        (said(function_call=CALL["function"]), WRITTEN, "the form of 2023"),
        (
            said(tool_calls=[{"name": "f"}]),
            '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
            "no arguments",
        ),
        (
            said(tool_calls=[{"name": "f", "arguments": "x"}]),
            '<tool_call>{"name": "f", "arguments": "x"}</tool_call>',
            "arguments that are no JSON stay text",
        ),
        (
            said(tool_calls=[{"name": "f", "arguments": "[" * 100_000}]),
            '<tool_call>{"name": "f", "arguments": "' + "[" * 100_000 + '"}</tool_call>',
            "nor are 100,000 brackets",
        ),
        (
            said(tool_calls=[{"name": "f", "arguments": {1j}}]),
            '<tool_call>{"name": "f"}</tool_call>',
            "a set",
        ),
        (
            said(tool_calls=[{"name": "f", "arguments": '{"a": NaN}'}]),
            r'<tool_call>{"name": "f", "arguments": "{\"a\": NaN}"}</tool_call>',
            "a number that JSON has not: the text of it",
        ),
        (said("4", tool_calls=[{"name": 3}, None, "f", {}, {"function": None}]), "4", "calls that are none"),
        (said("4", tool_calls="f"), "4", "calls that are a text"),
        (said("4", tool_calls=CALL), "4", "calls that are a dict"),
        (said("4", tool_calls=7, function_call=7), "4", "calls that are numbers"),
    ),
)
def test_tool_calls_are_written_behind_the_text_where_asked(message, expected):
    assert assistant_text([USER, message], tool_calls=True) == expected


@given(
    name=st.text(min_size=1), arguments=st.dictionaries(st.text(), st.text() | st.integers() | st.booleans())
)
def test_tool_calls_that_are_written_are_found_again(name, arguments):
    message = said("</tool_call> so <tool_call>", tool_calls=[{"name": name, "arguments": arguments}] * 2)
    text = assistant_text([message], tool_calls=True)
    assert every(tool_call(path="name"))(text) == [name, name]
    for key, value in arguments.items():
        found = tool_call(name, ("arguments", key))(text) if key else None
        assert not key or found == (value if isinstance(value, str) else str(value).lower())


def test_a_tag_in_an_argument_does_not_end_the_call():
    message = said(tool_calls=[{"name": "f", "arguments": {"a": "</tool_call> <TOOL_CALL> <b>"}}])
    text = assistant_text([message], tool_calls=True)
    assert tool_call("f", "arguments.a")(text) == "</tool_call> <TOOL_CALL> <b>"
    assert "<b>" in text


JUNK = st.recursive(
    st.none()
    | st.integers()
    | st.text(max_size=3)
    | st.sampled_from(["assistant", "role", "content", "text"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "text", "tool_calls", "function", "name", "arguments"]), inner
        )
    ),
    max_leaves=12,
)


@given(
    messages=JUNK, message=st.dictionaries(st.sampled_from(["content", "tool_calls", "function_call"]), JUNK)
)
def test_messages_of_any_shape_are_a_text_or_none(messages, message):
    for value in (messages, [{"role": "assistant", **message}]):
        for turns in ("last", "all"):
            text = assistant_text(value, turns=turns, tool_calls=True)
            assert text is None or isinstance(text, str)


def test_turns_of_another_name_are_refused():
    with pytest.raises(ValueError, match="turns='first' is not known; use one of 'last', 'all'"):
        assistant_text([], turns="first")


@pytest.mark.parametrize("wrong", [1, "yes", None], ids=repr)
def test_tool_calls_that_are_no_bool_are_refused(wrong):
    with pytest.raises(ValueError, match=r"tool_calls=.* does not fit; give True or False"):
        assistant_text("as it is", tool_calls=wrong)


def test_it_is_bound_with_partial_in_a_field_of_messages():
    spoken = partial(assistant_text, turns="all", tool_calls=True)
    assert pickle.loads(pickle.dumps(spoken))([SAID, SAID]) == "3\n\n3"
    fields = {"spoken": spoken}
    reward = rk.Reward("r", fields, [rk.Component("c", rk.verify.matches, columns={"prediction": "spoken"})])
    assert reward(messages=[SAID], completion="3", ground_truth="3").reward == 1.0
