"""What holds for all primitives: frozen records, scores, missing values, and what they cannot be made of."""

import dataclasses
import math
import pickle
import re

import inventory
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk

extract, measure, verify, weigh, gate = (
    rk.extract,
    rk.measure,
    rk.verify,
    rk.weigh,
    rk.gate,
)


def no_hits(text):
    return text == "0 hits"


def letters(text):
    return list(text)


OF_TEXT = (
    *inventory.MEASURES,
    measure.tags(
        "think?", "step+(answer)", partial=True, outside="before", prefilled=True
    ),
    measure.length(full_until=2, zero_from=10, unit="tokens", tokenizer=letters),
    measure.keywords("So", mode="any", case=True),
    measure.json_schema({"required": ["a"]}, partial=True),
    measure.regex(r"so$|^<", timeout=0.5),
)
OF_MESSAGES = (
    *inventory.TRANSCRIPTS,
    measure.tool_calls("search", "read", mode="all"),
    measure.calls_within(2, name="search", zero_from=9),
    measure.failed_calls(failed=no_hits),
    measure.repeated_calls(retries=0, failed=no_hits),
)
BESIDE_A_TRUTH = (
    measure.similarity(),
    measure.similarity("token_set"),
    measure.citations("f1", label="Doc"),
)
OTHERS = (
    weigh.standardise(clip=2.5, within="batch"),
    weigh.min_max(),
    weigh.rank(within="batch"),
    gate("correct", at_least=0.0, at_most=0.5),
    gate("flag", equals=False),
    gate(no_hits),
)
ALL = (*OF_TEXT, *OF_MESSAGES, *BESIDE_A_TRUTH, *OTHERS)
NAMES = {
    name: getattr(module, name)
    for module in (extract, measure, weigh)
    for name in module.__all__
}
NAMES |= {"gate": gate, "no_hits": no_hits, "letters": letters}


@pytest.mark.parametrize("made", [*inventory.EXTRACTORS, *ALL], ids=repr)
def test_what_is_made_is_a_frozen_record_that_prints_as_the_call_that_makes_it(made):
    again = eval(repr(made), NAMES)
    assert (again, hash(again), dataclasses.replace(made)) == (made, hash(made), made)
    assert [made == other for other in (*inventory.EXTRACTORS, *ALL)].count(True) == 1
    if not {"no_hits", "letters"} & set(
        re.findall(r"\w+", repr(made))
    ):  # functions of no importable module
        assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(AttributeError):
        made.within = made.timeout = None


@pytest.mark.parametrize("made", ALL, ids=repr)
def test_a_wrong_type_of_any_option_is_refused_in_a_sentence_that_names_it(made):
    for option in dataclasses.fields(made):
        for wrong in (object(), b"", [object()]) if option.name != "equals" else ():
            with pytest.raises((ValueError, TypeError)) as caught:
                dataclasses.replace(made, **{option.name: wrong})
            assert {option.name, "pattern", "limits"} & set(
                re.findall(r"\w+", str(caught.value))
            ), caught.value


PIECES = "<think>|</think>|<answer>|</answer>|so|first| |\n|a|\ud800|\x00|\u202e".split(
    "|"
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(
    max_size=40
)


@pytest.mark.parametrize("made", OF_TEXT, ids=repr)
@given(completion=TEXTS)
def test_a_measure_of_text_is_a_score_that_white_space_around_it_leaves_alone(
    made, completion
):
    score = made(completion)
    assert isinstance(score, float)
    assert 0.0 <= score <= 1.0
    if getattr(made, "unit", "words") == "words" and not repr(made).startswith(
        "regex("
    ):
        assert made(f"\n {completion}\t") == score
    assert made(completion) == score


@pytest.mark.parametrize("made", [*OF_TEXT, *OF_MESSAGES], ids=repr)
def test_what_is_no_text_or_no_list_of_messages_is_not_judged(made):
    others = (["so"],) if made in OF_TEXT else ({"role": "assistant"}, b"")
    for missing in (None, float("nan"), 5, *others):
        assert made(missing) is None, missing


TAG = extract.tag("a")
PARTS = [rk.Component("c", measure.repetition(), weight=-1)]
REFUSED = (
    (lambda: extract.after(" \n"), "marker=' \\n'", "empty"),
    (lambda: extract.after("#", until="word"), "until='word'", "'line'"),
    (lambda: extract.pattern("("), "pattern '(' does not compile"),
    (lambda: extract.pattern("a", group=1), "no group 1", "[0]"),
    (lambda: extract.pattern("a", timeout=0), "timeout=0", "above 0"),
    (lambda: extract.json_value("a..b"), "path='a..b'", "empty key"),
    (lambda: extract.tool_call(""), "name=''", "name of a tool"),
    (lambda: extract.choice("AA"), "options='AA'", "different"),
    (lambda: extract.within(TAG), "within takes extractors", "none"),
    (lambda: extract.within(extract.every(TAG), TAG), "every(within("),
    (
        lambda: extract.boxed(which="middle"),
        "which='middle' is not known; use one of 'first', 'last'",
    ),
    (
        lambda: rk.siblings.majority(same="math_equal"),
        "same='math_equal'",
        "give a function",
    ),
    (lambda: rk.siblings.rank(of="a b"), "of='a b'", "name of an earlier component"),
    (lambda: rk.siblings.length(zero_from=1), "zero_from=1", "above 1"),
    (lambda: measure.tags(), "tags('think', 'answer')"),
    (lambda: measure.tags("a b"), "'a b' cannot be read"),
    (lambda: measure.tags("a", "A+"), "each name once", "('a', 'A+')"),
    (lambda: measure.keywords(), "one or more words"),
    (lambda: measure.keywords("a", mode="count"), "full_at=None do not go together"),
    (lambda: measure.regex("(" * 5000 + ")" * 5000), "does not compile", "recursion"),
    (lambda: measure.repetition(kind="loop", ngram=3), "ngram=3", "kind='loop'"),
    (lambda: measure.length(), "full_until=None, zero_from=None, full_from=0"),
    (
        lambda: measure.length(full_until=5, zero_from=9, full_from=3, zero_until=3),
        "zero_until=3",
    ),
    (lambda: measure.overlong(limit=5, buffer=6), "buffer=6 is more than limit=5"),
    (
        lambda: measure.turns(full_until=5, zero_from=5),
        "turns",
        "full_until=5, zero_from=5",
    ),
    (lambda: measure.tool_calls(mode="all"), "mode='all'", "names of tools"),
    (
        lambda: measure.calls_within(2, zero_from=2),
        "zero_from=2",
        "whole number from 3",
    ),
    (lambda: measure.json_schema({"type": "strin"}), '"strin"', "at $.type"),
    (lambda: measure.json_schema({"$ref": "#/$defs/x"}), "'/$defs/x' does not exist"),
    (
        lambda: measure.json_schema({"$schema": "http://e.org"}),
        "Unknown meta-schema: 'http://e.org'",
    ),
    (lambda: measure.json_schema({"enum": {1, 2}}), "what JSON cannot"),
    (lambda: measure.json_schema("person.json"), "schema='person.json'", "dict"),
    (lambda: verify.numbers_equal("1", "1", absolute=math.inf), "absolute=inf"),
    (lambda: verify.closeness("1", None, zero_at=0), "zero_at=0", "above 0"),
    (lambda: verify.closeness("1", None, steps=(0.1, 0.5)), "pairs of (error, credit)"),
    (
        lambda: verify.closeness("1", "1", steps=((0.1, 0.5), (0.1, 0.4))),
        "errors that rise",
    ),
    (
        lambda: verify.closeness("1", "1", steps=((0, 1),), zero_at=2),
        "exclude each other",
    ),
    (
        lambda: verify.matches("a", "a", exact=True, unicode_form="NFKC"),
        "exclude each other",
    ),
    (
        lambda: verify.choice_equal("A", "A", options="Aa"),
        "options='Aa'",
        "two or more",
    ),
    (
        lambda: verify.json_equal("1", "1", text="loose"),
        "text='loose'",
        "'exact', 'matches'",
    ),
    (
        lambda: rk.Reward("r", components=PARTS, aggregation="median"),
        "'median'",
        "'weighted_sum'",
    ),
    (lambda: rk.Reward("r", components=PARTS, on_missing="drop"), "'drop'", "'nan'"),
    (
        lambda: rk.Reward("r", components=PARTS, aggregation="weighted_mean"),
        "at least one weight above 0",
    ),
    (lambda: gate("c"), "gate('c') has no condition", "at_least="),
    (lambda: gate("", at_least=1), "'' is not the name of a column"),
    (lambda: gate("c", at_least=2, at_most=1), "never open", "at_least=2"),
    (lambda: weigh.standardise(clip=0), "clip=0"),
)


@pytest.mark.parametrize(("call", "words"), [(call, words) for call, *words in REFUSED])
def test_an_option_without_meaning_is_refused_in_a_sentence(call, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert [word for word in words if word not in str(caught.value)] == [], str(
        caught.value
    )
