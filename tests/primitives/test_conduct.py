"""Conduct: turns, and how many calls were made, of which tools, failed and repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.agents.conduct import (
    call_efficiency,
    calls_within,
    failed_calls,
    repeated_calls,
    tool_calls,
    turns,
)
from rewardkit.primitives.notes import listen


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


def said(content, **more):
    return {"role": "assistant", "content": content, **more}


def calling(*calls):
    """A turn that calls tools, each given as its name or as (name, arguments)."""
    pairs = [(item, {}) if isinstance(item, str) else item for item in calls]
    made = [{"function": {"name": name, "arguments": given}} for name, given in pairs]
    return said(None, tool_calls=made)


def result(content):
    return {"role": "tool", "content": content}


def user(content):
    return {"role": "user", "content": content}


def hermes(*names):
    return "".join(f'<tool_call>{{"name": "{name}", "arguments": {{}}}}</tool_call>' for name in names)


BAD = "<tool_call>{</tool_call>"
MISSING = (None, float("nan"), 5, {"role": "assistant"}, b"")


@pytest.mark.parametrize(
    ("messages", "expected"),
    table(
        ("", 1.0, "a completion is one turn"),
        ([said("Hi."), said("So.")], 1.0, "at the full limit"),
        ([said("Hi.")] * 5, 0.25, "one before the end"),
        ([said("Hi.")] * 6, 0.0, "at the end"),
        ([user("?"), said("Hi.")] * 3, 0.75, "the user's turns do not count"),
        ([calling("f", "g"), result("ok"), result("ok")] * 3, 0.75, "nor results, nor how many calls"),
        ([{"role": "system", "content": "x"}, None, 5, {}], 1.0, "what is no message does not"),
        *((missing, None, f"{missing!r} is not judged") for missing in MISSING),
    ),
)
def test_turns_fall_in_a_straight_line_between_the_limits(messages, expected):
    assert turns(full_until=2, zero_from=6)(messages) == expected


@pytest.mark.parametrize(
    ("messages", "share", "every", "some"),
    table(
        ([calling("search")], 0.5, 0.0, 1.0, "one of two"),
        ([calling("search")] * 5, 0.5, 0.0, 1.0, "how often does not count"),
        ([calling("Search", "searching")], 0.0, 0.0, 0.0, "names are compared as they are written"),
        ([calling("delete")], 0.0, 0.0, 0.0, "another tool"),
        ([calling("search"), result("Error: no")], 0.5, 0.0, 1.0, "a call that failed was made"),
        ([calling(("search", "{"), "read")], 0.5, 0.0, 1.0, "a malformed one was not"),
        (hermes("search", "read"), 1.0, 1.0, 1.0, "in a completion"),
        (
            "<think>" + hermes("read") + "</think>" + hermes("search"),
            0.5,
            0.0,
            1.0,
            "not what is only thought of",
        ),
        *((missing, None, None, None, f"{missing!r} is not judged") for missing in MISSING),
    ),
)
def test_tool_calls_by_name(messages, share, every, some):
    assert tool_calls("search", "read")(messages) == share
    assert tool_calls("search", "read", mode="all")(messages) == every
    assert tool_calls("search", "read", mode="any")(messages) == some


@pytest.mark.parametrize(
    ("messages", "expected"),
    table(
        ([calling("f")], 1.0, "a call"),
        (BAD, 0.0, "a malformed one"),
    ),
)
def test_tool_calls_without_names_asks_for_any_call(messages, expected):
    assert tool_calls()(messages) == expected


@pytest.mark.parametrize(
    ("messages", "step", "slope", "searches"),
    table(
        ([calling("f", "f")], 1.0, 1.0, 1.0, "at the budget"),
        ([calling("f", "search", "f")], 0.0, 0.75, 1.0, "one over, in one turn"),
        ([calling("f")] * 5, 0.0, 0.25, 1.0, "one before the end"),
        ([calling("f")] * 6, 0.0, 0.0, 1.0, "at the end"),
        ([calling("f"), result("Error: no")] * 3, 0.0, 0.75, 1.0, "failed calls use it up"),
        (BAD * 3, 0.0, 0.75, 1.0, "and malformed ones, of no tool"),
        *((missing, None, None, None, f"{missing!r} is not judged") for missing in MISSING),
    ),
)
def test_calls_within_a_budget(messages, step, slope, searches):
    assert calls_within(2)(messages) == step
    assert calls_within(2, zero_from=6)(messages) == slope
    assert calls_within(2, name="search")(messages) == searches


def test_a_budget_of_nothing_forbids_calls():
    assert calls_within(0)([calling("f")]) == 0.0
    assert calls_within(0)([said("Hi.")]) == 1.0


@pytest.mark.parametrize(
    ("count", "expected"),
    table(
        (1, 1 / 3, "a third of the least"),
        (2, 2 / 3, "two thirds"),
        (3, 1.0, "the least"),
        (10, 0.5, "twice the most"),
    ),
)
def test_call_efficiency_falls_on_both_sides_of_the_range(count, expected):
    assert call_efficiency(3, 5)([calling(*["f"] * count)]) == expected
    assert call_efficiency(3, 5, name="f")([calling(*["f"] * count, "g")]) == expected
    assert call_efficiency(3, 5)(hermes(*["f"] * count)) == expected


@pytest.mark.parametrize(
    ("made", "messages", "expected"),
    table(
        (call_efficiency(0, 2), [], 1.0, "none where none are needed"),
        (call_efficiency(0, 2), [calling("f")] * 4, 0.5, "too many all the same"),
        (call_efficiency(0, 0), [said("4")], 1.0, "a task without tools"),
        (call_efficiency(0, 0), [calling("f")], 0.0, "where every call is one too many"),
        (call_efficiency(2, 2), BAD * 4, 0.5, "and malformed ones"),
        *((call_efficiency(1, 2), missing, None, f"{missing!r} is not judged") for missing in MISSING),
    ),
)
def test_call_efficiency_at_its_edges(made, messages, expected):
    assert made(messages) == expected


@pytest.mark.parametrize(
    ("messages", "expected"),
    table(
        ([], 0.0, "no message"),
        ([said("Hi.")], 0.0, "no call, none failed"),
        ([calling("f"), result("ok")], 0.0, "a call that went well"),
        ([calling("f"), result("Error: no")], 1.0, "one that did not"),
        ([calling("f", "g"), result("ok"), result('{"success": false}')], 0.5, "one of two"),
        ([calling("f"), result("ok")] * 3 + [calling("f"), result('{"error": "x"}')], 0.25, "one of four"),
        ([calling(("f", "{"), "g"), result("ok"), result("ok")], 0.5, "malformed arguments"),
        (f"<think>{BAD}</think>" + hermes("f"), 0.0, "thought does not fail"),
        ([calling("f"), result("Found: Error: no")], 0.0, "a result that speaks of errors"),
        *((missing, None, f"{missing!r} is not judged") for missing in MISSING),
    ),
)
def test_failed_calls_are_a_share_of_the_calls(messages, expected):
    assert failed_calls()(messages) == expected


def no_hits(text):
    return text == "0 hits"


def test_what_failed_can_be_said_by_the_user():
    messages = [calling("f", "f"), result("0 hits"), result("Error: no")]
    assert failed_calls(failed=no_hits)(messages) == 0.5
    assert failed_calls(failed=no_hits)(BAD) == 1.0
    assert repeated_calls(failed=no_hits)(messages) == 0.0
    assert repeated_calls()(messages) == 0.5
    with pytest.raises(ZeroDivisionError):  # the user's own error is the user's to see
        failed_calls(failed=lambda text: 1 / 0)(messages)


FAILS = result("Error: timeout")
OK = result("ok")
A1, A2 = ("a", {"x": 1, "y": [1]}), ("a", {"x": 2})


@pytest.mark.parametrize(
    ("messages", "expected"),
    table(
        ([], 0.0, "no message"),
        ([said("Hi.")], 0.0, "no call"),
        ([calling(A1), OK, calling(A2), OK], 0.0, "other arguments"),
        ([calling(A1), OK, calling(A1), OK], 0.5, "the same call"),
        ([calling(A1, ("a", {"y": [1], "x": 1.0})), OK, OK], 0.5, "other order of keys, 1.0 for 1"),
        ([calling(A1), OK, calling(A2), OK] * 2, 0.5, "a loop of two"),
        ([calling(A1), FAILS, calling(A1), OK], 0.0, "a retry is no repeat"),
        ([calling(A1), FAILS, calling(A1), FAILS, calling(A1), OK], 1 / 3, "a second retry is one"),
        (hermes("f", "g", "f", "f"), 0.5, "in a completion"),
        (BAD * 4, 0.5, "malformed calls as they are written"),
        *((missing, None, f"{missing!r} is not judged") for missing in MISSING),
    ),
)
def test_repeated_calls_are_a_share_of_the_calls(messages, expected):
    assert repeated_calls()(messages) == expected


@pytest.mark.parametrize(("retries", "expected"), [(0, 0.75), (1, 0.5), (2, 0.25), (3, 0.0), (9, 0.0)])
def test_how_many_retries_are_none_is_an_option(retries, expected):
    assert repeated_calls(retries=retries)([calling(A1), FAILS] * 4) == expected


RUN = [calling("search", ("search", "{")), OK, FAILS, calling("search", "read"), said("Done.")]


@pytest.mark.parametrize(
    ("measure", "noted"),
    table(
        (turns(full_until=1, zero_from=5), {"turns": 3}, "turns"),
        (tool_calls("search"), {"tool_calls": {"search": 2, "read": 1}}, "well-formed calls by tool"),
        (calls_within(2), {"calls": 4}, "calls"),
        (calls_within(2, name="search"), {"calls of search": 3}, "calls of a tool"),
        (call_efficiency(1, 2), {"calls": 4}, "calls for efficiency"),
        (failed_calls(), {"failed_calls": 1}, "failed calls"),
        (repeated_calls(), {"repeated_calls": 1}, "repeated calls"),
    ),
)
def test_measures_note_their_counts(measure, noted):
    with listen() as notes:
        measure(RUN)
    assert notes == noted
    with listen() as notes:
        measure(None)
    assert notes == {}


NAMES = st.sampled_from(["search", "read", "", None])
ARGUMENTS = st.sampled_from([{}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, '{"a": 1}', "{", None])
MESSAGES = st.lists(
    st.one_of(
        st.lists(st.tuples(NAMES, ARGUMENTS), max_size=3).map(lambda calls: calling(*calls)),
        st.sampled_from([said("Hi."), said(hermes("search", "read")), said(BAD), OK, FAILS, user("?"), None]),
    ),
    max_size=8,
)


@given(messages=MESSAGES, more=st.lists(st.sampled_from(["search", "read"]), max_size=3))
def test_more_calls_never_raise_what_a_budget_gives(messages, more):
    for measure in (calls_within(2), calls_within(1, zero_from=5), call_efficiency(0, 2)):
        assert measure([*messages, calling(*more)]) <= measure(messages)
    assert tool_calls("read")([*messages, calling(*more)]) >= tool_calls("read")(messages)
