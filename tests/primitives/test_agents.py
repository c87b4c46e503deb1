"""Transcripts: the assistant's text, calls in both forms, the final answer; conduct and evidence scored."""

import functools
import json

import inventory
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tabled import table

import rewardkit as rk
from rewardkit.primitives.agents import final_answer, read_turns, says_error

measure, assistant_text, read_calls = (
    rk.measure,
    rk.extract.assistant_text,
    rk.measure.read_calls,
)


def said(content=None, **more):
    return {"role": "assistant", "content": content, **more}


def call(name, arguments="{}", id=None):
    made = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return made if id is None else {"id": id, **made}


def calling(*calls, content=None):
    """A turn that calls tools, each given as its name, as (name, arguments), or as a call."""
    calls = [(each,) if isinstance(each, str) else each for each in calls]
    made = [call(*each) if isinstance(each, tuple) else each for each in calls]
    return said(content, tool_calls=made)


def result(content, id=None, **more):
    return {
        "role": "tool",
        "content": content,
        **({} if id is None else {"tool_call_id": id}),
        **more,
    }


def user(content):
    return {"role": "user", "content": content}


def hermes(name, arguments):
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def brief(calls):
    return [
        (item.name, item.arguments, item.result, item.failed, item.turn)
        for item in calls
    ]


SEARCH = hermes("search", {"q": "Oslo"})
OSLO = {"q": "Oslo"}
CUT = '<tool_call>\n{"name": "search", "arguments": {"q": "Os'
INSIDE = CUT.removeprefix("<tool_call>\n")
CALL = {
    "id": "1",
    "type": "function",
    "function": {"name": "f", "arguments": '{"a": 1}'},
}
WRITTEN = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
CALLS, USER, SAID = {"tool_calls": True}, user("2+2?"), said("3")


@pytest.mark.parametrize(
    ("messages", "options", "expected"),
    table(
        ([SAID, USER, said("4")], {}, "4", "of several the last"),
        ([SAID, USER, said("4")], {"turns": "all"}, "3\n\n4", "all of them"),
        (None, {}, None, "nothing"),
        ([said(tool_calls=[CALL])], {}, "", "calls are left out"),
        ([said({1: 2})], {}, "", "content that JSON has not"),
        ([said("So.", tool_calls=[CALL])], CALLS, f"So.\n{WRITTEN}", "behind the text"),
        (
            [said(tool_calls=[{"name": "f", "parameters": {"a": 1}}])],
            CALLS,
            WRITTEN,
            "as Llama calls them",
        ),
        ([said(function_call=CALL["function"])], CALLS, WRITTEN, "the form of 2023"),
        (
            [said("4", tool_calls=[{"name": 3}, None, "f", {}, {"function": None}])],
            CALLS,
            "4",
            "none is one",
        ),
    ),
)
def test_the_text_of_the_assistant_is_the_last_or_all_with_calls_where_asked(
    messages, options, expected
):
    assert assistant_text(messages, **options) == expected


COLDLY, SEARCHED = ("search", OSLO, "cold", False, 0), ("search", OSLO, None, None, 0)
BOTH = [("f", {}, "of f", False, 0), ("g", {}, "of g", False, 0)]
STRUCTURED = table(
    ([calling(("f", '{"a": 1'))], [("f", '{"a": 1', None, True, 0)], "arguments that are cut off"),
    ([calling("f", "g"), result("of f"), result("of g")], BOTH, "without ids by their order"),
    ([calling(call("f", id="x")), result("of another", "z")], [("f", {}, None, None, 0)],
     "a result of another id is not taken"),
    ([said(None, function_call=CALL["function"]), {"role": "function", "name": "f", "content": "ok"}],
     [("f", {"a": 1}, "ok", False, 0)], "the old function_call"),
)  # fmt: skip
IN_TEXT = table(
    ([said(SEARCH + "<tool_response>cold</tool_response>")], [SEARCHED],
     "an assistant cannot write its own results"),
    ([said(f"{CUT}</tool_call>{SEARCH}"), result("cold")], [("", INSIDE, None, True, 0), COLDLY],
     "an environment that passes over what it cannot read"),
    (f"<think>In <tool_call></tool_call> tags, so {CUT}</think>{SEARCH}", [SEARCHED],
     "what is only thought of is no call"),
    ("<tool_call><function=f>\n<parameter=a>\nso\n it is\n</parameter><parameter=b>3</parameter></function>",
     [("f", {"a": "so\n it is", "b": "3"}, None, None, 0)], "Qwen3-Coder's"),
)  # fmt: skip


@pytest.mark.parametrize(("messages", "expected"), [*STRUCTURED, *IN_TEXT])
def test_calls_are_read_with_their_results(messages, expected):
    assert brief(read_calls(messages)) == expected
    if not isinstance(messages, str):
        assert brief(read_calls(tuple(messages))) == expected


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
        made = [
            (name, json.dumps(given) if as_text else given) for name, given, _ in turn
        ]
        structured.append(
            calling(*(call(*item, id=f"call_{at}") for at, item in enumerate(made)))
        )
        structured += [
            result(text, f"call_{at}")
            for at, (_, _, text) in reversed([*enumerate(turn)])
        ]
        written.append(said("\n".join(hermes(name, given) for name, given, _ in turn)))
        texts = [text for _, _, text in turn]
        if in_user:
            written.append(
                user(
                    "\n".join(
                        f"<tool_response>\n{text}\n</tool_response>" for text in texts
                    )
                )
            )
        else:
            written += map(result, texts)
    calls = read_calls(structured)
    assert calls == read_calls(written)
    expected = [
        (name, given, text, at)
        for at, turn in enumerate(turns)
        for name, given, text in turn
    ]
    assert [
        (item.name, item.arguments, item.result, item.turn) for item in calls
    ] == expected
    assert final_answer(read_turns([*structured, said("So.")])) == "So."


SAME = [
    ('{"a": 1.0}', '{"a": 1}', True),
    ('{"a": 1}', '{"a": "1"}', False),
    ('{"a": null}', "{}", False),
]


@pytest.mark.parametrize(("a", "b", "same"), SAME)
def test_calls_that_ask_for_the_same_have_one_key(a, b, same):
    one, two, other = read_calls([calling(call("f", a), call("f", b), call("g", a))])
    assert (one.key == two.key) is same and one.key != other.key


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    table(
        ("  \n[ERROR] disk full", {}, True, "in capitals and brackets"),
        ('{"data": {"error": "x"}}', {}, False, "deeper inside"),
        ("x", {"status": "error"}, True, "the status of the message"),
        ("x", {"success": False}, True, "no success"),
        ("x", {"error": "timeout"}, True, "its error"),
        (
            "x",
            dict.fromkeys(("status", "is_error", "success", "error")),
            False,
            "fields of nothing",
        ),
    ),
)
def test_what_counts_as_an_error(text, more, expected):
    assert more or says_error(text) is expected
    [read] = read_calls([calling("f"), result(text, **more)])
    assert read.failed is expected


def test_the_final_answer_is_the_last_turn_without_its_calls():
    assert final_answer(read_turns([said("4"), user("Sure?"), said(" 5\n")])) == "5"
    assert (
        final_answer(read_turns([said(f"I look. {SEARCH} Soon.")]))
        == "I look. \n Soon."
    )


CYCLE = {}
CYCLE["a"] = CYCLE
DEEP = functools.reduce(lambda inner, _: {"a": inner}, range(5000), {})
ODD = (
    CYCLE, DEEP, {"a": b"x"}, {"a": {1}}, {"a": object()}, {1: 2}, {"a": float("nan")}, {"a": 10**5000},
    b"{}", '{"a": ' + "9" * 5000 + "}", '{"a": 1e999}', '{"a": ' * 5000 + "1" + "}" * 5000, "[" * 100_000,
)  # fmt: skip


@pytest.mark.parametrize("arguments", ODD, ids=range(len(ODD)))
def test_arguments_that_json_cannot_hold_are_malformed(arguments):
    [read] = read_calls([calling(("f", arguments)), result("ok")])
    assert (read.name, read.malformed, read.failed, read.result) == (
        "f",
        True,
        True,
        "ok",
    )
    assert read.arguments is None or read.arguments == arguments
    assert read.key
    assert hash(read) == hash(read)


KEYS = st.sampled_from(
    "role content tool_calls function id name arguments error".split()
) | st.text(max_size=3)
TEXTS = st.sampled_from(
    [SEARCH, CUT, "<think>", "</think>", "<tool_response>", "tool", '{"a":']
)
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary(max_size=2)
    | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5)
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
    for turns_of in ("last", "all"):
        text = assistant_text(messages, turns=turns_of, tool_calls=True)
        assert text is None or isinstance(text, str)
    for item in inventory.TRANSCRIPTS:
        score = item(messages)
        assert score is None or 0.0 <= score <= 1.0


FAILS, OK = result("Error: timeout"), result("ok")
A = ("a", {"x": 1, "y": [1]})
HITS = [calling("f", "f"), result("0 hits"), result("Error: no")]
SPENT = [calling("f"), result("Error: no")] * 3
AGAIN = [calling(A), FAILS] * 4
KNOWN = ["a1", "a2", "b3", "b4"]
TWO = "First [Source: a1], then [Source: b3]."
FOUND = [
    said("I look."),
    result("The tower is 330 metres high."),
    said("330 metres high " * 20),
]


def no_hits(text):
    return text == "0 hits"


CONDUCT = (
    (
        measure.turns(full_until=2, zero_from=6),
        [calling("f", "g"), OK, OK] * 3,
        0.75,
        "turns, not calls",
    ),
    (
        measure.tool_calls("search", "read"),
        [calling("search")],
        0.5,
        "a share: one of two",
    ),
    (
        measure.tool_calls("search", "read", mode="all"),
        [calling("search")],
        0.0,
        "all: one of two",
    ),
    (
        measure.tool_calls("search", "read", mode="any"),
        [calling("search")],
        1.0,
        "any: one of two",
    ),
    (measure.calls_within(2), [calling("f", "f")], 1.0, "at the budget"),
    (measure.calls_within(2), SPENT, 0.0, "failed calls use it up"),
    (
        measure.calls_within(2, zero_from=6),
        [calling("f", "search", "f")],
        0.75,
        "one over, in one turn",
    ),
    (measure.calls_within(2, name="search"), SPENT, 1.0, "calls of another tool"),
    (measure.calls_within(0), [calling("f")], 0.0, "a budget of nothing forbids calls"),
    (
        measure.failed_calls(),
        [calling("f", "g"), OK, result('{"success": false}')],
        0.5,
        "one of two failed",
    ),
    (
        measure.failed_calls(),
        [calling(("f", "{"), "g"), OK, OK],
        0.5,
        "malformed arguments",
    ),
    (measure.failed_calls(failed=no_hits), HITS, 0.5, "what failed by the user's word"),
    (measure.repeated_calls(failed=no_hits), HITS, 0.0, "a retry of what failed by it"),
    (measure.repeated_calls(), [calling(A), OK, calling(A), OK], 0.5, "the same call"),
    (
        measure.repeated_calls(),
        [*AGAIN[:4], calling(A), OK],
        1 / 3,
        "a second retry is one",
    ),
    (measure.repeated_calls(retries=0), AGAIN, 0.75, "no retry is free"),
    (measure.repeated_calls(retries=2), AGAIN, 0.25, "two retries are free"),
    (measure.repeated_calls(retries=9), AGAIN, 0.0, "more retries than there are"),
    (measure.call_efficiency(3, 5), [calling(*["f"] * 10)], 0.5, "twice the most"),
    (
        measure.call_efficiency(3, 5, name="f"),
        hermes("f", {}) * 10 + SEARCH,
        0.5,
        "twice the most of one tool",
    ),
    (measure.grounding(ngram=1), FOUND, 1.0, "words that are said again count once"),
    (
        measure.grounding(),
        [said("330 metres")],
        0.0,
        "without results nothing is grounded",
    ),
    (
        measure.grounding(ngram=1),
        [said("330"), result("330")],
        0.0,
        "a result that came later",
    ),
)


@pytest.mark.parametrize(("made", "messages", "expected"), table(*CONDUCT))
def test_conduct_and_grounding_are_scored(made, messages, expected):
    assert made(messages) == expected


@pytest.mark.parametrize(
    ("completion", "known_ids", "precision", "recall", "f1"),
    table(
        (TWO, KNOWN, 1.0, 0.5, 2 / 3, "two of four, both right"),
        ("[Source: a1] " * 50, KNOWN, 1.0, 0.25, 0.4, "one source fifty times is one"),
        ("It is 4.", KNOWN, 0.0, 0.0, 0.0, "nothing cited earns nothing"),
        (
            "[Sources: a1] (Source: a1) [a1] [Source: a1\n] [Source: a1",
            KNOWN,
            0.0,
            0.0,
            0.0,
            "other forms",
        ),
        (
            [said("[Source: x]"), said("[Source: a1]")],
            KNOWN,
            1.0,
            0.25,
            0.4,
            "of messages the final answer",
        ),
        (TWO, "a1, a2, b3, b4", 1.0, 0.5, 2 / 3, "ids as text with commas"),
        (TWO, None, None, None, None, "missing ids"),
        (TWO, True, None, None, None, "nor can a bool"),
        (
            "[Source: 1] [Source: 3]",
            [1.0, 2.0],
            0.5,
            0.5,
            0.5,
            "numbers of a column with gaps",
        ),
        (None, KNOWN, None, None, None, "no completion is not judged"),
    ),
)
def test_citations_are_compared_with_the_known_ids(
    completion, known_ids, precision, recall, f1
):
    scores = [
        measure.citations(kind)(completion, known_ids)
        for kind in ("precision", "recall", "f1")
    ]
    assert scores == [
        None if item is None else pytest.approx(item)
        for item in (precision, recall, f1)
    ]
