"""What holds for all extractors, whatever the text: values and spans, padding, which, every, pickle, repr."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.primitives.extract import (
    after,
    answer_phrase,
    boxed,
    choice,
    citation,
    code_block,
    every,
    first_of,
    gsm8k,
    json_value,
    math_answer,
    number,
    pattern,
    python_literal,
    tag,
    tool_call,
    within,
)

LAST = (
    *(tag("answer"), boxed(), after("####"), pattern(r"\d+"), number(), code_block(), json_value(), choice()),
    *(answer_phrase(), citation(), tool_call(), python_literal(), gsm8k(), math_answer()),
    *(within(tag("answer"), number()), first_of(tag("answer"), boxed(), number())),
)
CUT_OFF = (  # what they find depends on where the text ends
    tag("answer", unclosed=True, prefilled=True),
    after("####", until="end", case=False),
    code_block(unclosed=True),
    within(tag("answer", unclosed=True), first_of(code_block("python", unclosed=True), number())),
)
OTHERS = (
    tag("answer", which="first"),
    tag("answer", prefilled=True),
    pattern(r"(?P<n>\d)\.(\d)", group="n", which="first", timeout=2.0),
    number(percent=True),
    code_block("python", which="first"),
    choice("ABCDEFGHI", case=False),
    answer_phrase(which="first", language="en"),
    answer_phrase(language="zh"),
    citation("See also", which="first"),
    tool_call("f", which="first"),
    gsm8k(mode="flexible"),
    within(within(tag("answer"), boxed()), first_of(json_value(), number(which="first"))),
)
WITH_PATH = (
    json_value(("a", "1"), which="first"),
    json_value("a", repair=True, which="first"),
    python_literal("a"),
    tool_call("f", "arguments.a"),
    first_of(json_value("a"), choice()),
    within(json_value("a", repair=True), number()),
)
ALL = (*LAST, *CUT_OFF, *OTHERS, *WITH_PATH)
CODE = tuple(x for x in LAST + CUT_OFF + OTHERS if "code_block" in repr(x))  # indented with its fence
VERBATIM = tuple(x for x in LAST + CUT_OFF + OTHERS if x not in CODE)

PIECES = (
    "<answer>|</answer>|<answer/>|<ANSWER x=1>|\\boxed{|\\boxed|{|}|\\|####|####\n|```\n|```python\n|~~~\n"
    '|(B)|answer is |A|B.|1|2|-|,234|.|$|e5| |\n|\r\n|\t|[1, "]|[2]|{"a": |"a"|"|:|\ud800|\u202e|\x00|\u00e9'
    '|    |> |not | or | is wrong|, |<answer n=">">'
    "|Answer:|\u7b54\u6848\u662f|[Source: a, b]|[See also: |]|<tool_call>|</tool_call>"
    '|{"name": "f", "arguments": {"a": 1}}|{\'a\': 3|(1, |\'|)|**|1/2|10^|%'
).split("|")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=60)


def name_of(extractor):
    return repr(extractor).partition("(")[0]


@pytest.mark.parametrize("extractor", ALL, ids=repr)
@settings(max_examples=25)
@given(completion=TEXTS)
def test_there_is_a_span_exactly_where_there_is_a_value_which_is_its_text(extractor, completion):
    value, spans = extractor(completion), extractor.spans(completion)
    assert len(spans) == (value is not None)
    if extractor in VERBATIM:
        assert [completion[start:end] for start, end in spans] == ([] if value is None else [value])


@pytest.mark.parametrize(
    "extractor",
    [x for x in LAST + CUT_OFF + OTHERS if name_of(x) not in ("first_of", "within")],
    ids=repr,
)
@settings(max_examples=25)
@given(completion=TEXTS)
def test_the_span_is_the_first_or_the_last_of_the_occurrences_in_text_order(extractor, completion):
    places = extractor.occurrences(completion)
    assert places == sorted(places)
    assert extractor.spans(completion) == (places[:1] if extractor.which == "first" else places[-1:])


@pytest.mark.parametrize("extractor", ALL, ids=repr)
@settings(max_examples=25)
@given(completion=TEXTS, padding=st.sampled_from(["Let me see.\n", "\n \n", "so we go on, it is:\n\n"]))
def test_neutral_padding_in_front_does_not_change_what_is_found(extractor, completion, padding):
    if "prefilled=True" in repr(extractor):
        completion = f"<answer>{completion}"  # without an opening tag the padding is in the pair
    assert extractor(padding + completion) == extractor(completion)
    shifted = [(start + len(padding), end + len(padding)) for start, end in extractor.spans(completion)]
    assert extractor.spans(padding + completion) == shifted


@pytest.mark.parametrize("extractor", LAST + OTHERS, ids=repr)
@settings(max_examples=25)
@given(completion=TEXTS, padding=st.sampled_from(["\nThat is all.", "\n \n", "\n\nso we go on"]))
def test_neutral_padding_behind_does_not_change_what_is_found(extractor, completion, padding):
    if name_of(extractor) == "answer_phrase":
        completion += "x"  # where nothing follows on the line, the next line is the answer
    assert extractor(completion + padding) == extractor(completion)
    assert extractor.spans(completion + padding) == extractor.spans(completion)


@pytest.mark.parametrize("extractor", ALL, ids=repr)
@settings(max_examples=20)
@given(completion=TEXTS)
def test_every_gives_a_value_a_span_and_has_the_one_that_counts(extractor, completion):
    values, spans = every(extractor)(completion), every(extractor).spans(completion)
    assert len(values) == len(spans)
    assert spans == sorted(spans)
    assert extractor(completion) is None or extractor(completion) in values
    assert all(place in spans for place in extractor.spans(completion))


@given(value=st.text(alphabet=st.characters(exclude_characters="<>"), max_size=40))
def test_what_was_put_between_tags_is_found_again(value):
    assert tag("answer")(f"1 <answer>{value}</answer> 2") == value.strip()


@given(value=st.recursive(st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)))
def test_a_value_that_was_written_as_json_is_found_again(value):
    found = json_value("a")(f"Here {{it}} is: {json.dumps({'a': value})} [sic].")
    assert found == (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize("extractor", ALL, ids=repr)
def test_what_is_not_a_string_has_nothing_in_it(extractor):
    for nothing in (None, 4, float("nan"), b"<answer>4</answer>", ["4"]):
        assert extractor(nothing) is None
        assert extractor.spans(nothing) == every(extractor).spans(nothing) == []
        assert every(extractor)(nothing) is None


def test_which_first_and_last_differ_for_every_extractor():
    text = "<answer>1</answer> \\boxed{2}\n#### 3\n```\n4\n```\n[5] (A) Answer: x\n[Source: a]"
    text += '<tool_call>{"name": "f"}</tool_call>'
    text += "<answer>6</answer> \\boxed{7}\n#### 8\n```\n9\n```\n[0] (B) Answer: y\n[Source: b]"
    text += '<tool_call>{"name": "g"}</tool_call> (1,)'
    choosing = [x for x in LAST if "which" in {field.name for field in fields(x)}]
    found = [(x(text), replace(x, which="first")(text)) for x in choosing]
    assert found == [
        ("6", "1"), ("7", "2"), ("8", "3"), ("1", "1"), ("1", "1"), ("9", "4"), ('{"name": "g"}', "[5]"),
        ("B", "A"), ("y", "x"), ("b", "a"), ('{"name": "g"}', '{"name": "f"}'), ("(1,)", "[5]"),
    ]  # fmt: skip


def test_parts_of_a_combination_are_replaced_by_name():
    both = first_of(tag("a"), number())
    assert replace(both, extractors=(number(),)) == first_of(number())
    assert replace(within(tag("a"), number()), outer=boxed()) == within(boxed(), number())
    assert replace(within(tag("a"), number()), inner=(boxed(),)) == within(tag("a"), boxed())


@pytest.mark.parametrize("extractor", [*ALL, every(number()), every(within(*ALL[:2]))], ids=repr)
def test_an_extractor_is_frozen_survives_pickle_and_its_repr_makes_it_again(extractor):
    assert pickle.loads(pickle.dumps(extractor)) == extractor
    again = eval(repr(extractor), {name: getattr(rk.extract, name) for name in rk.extract.__all__})
    assert again == extractor
    assert hash(again) == hash(extractor)
    assert replace(extractor) == extractor
    with pytest.raises(AttributeError):
        extractor.which = "first"


@pytest.mark.parametrize(
    ("extractor", "expected"),
    [
        (tag("answer", which="first"), "tag('answer', which='first')"),
        (tag("a", unclosed=True, prefilled=True), "tag('a', unclosed=True, prefilled=True)"),
        (first_of(tag("answer"), number()), "first_of(tag('answer'), number())"),
        (gsm8k("flexible"), "gsm8k(mode='flexible')"),
        (citation(), "citation()"),
        (citation("See"), "citation('See')"),
        (json_value(("a", 1)), "json_value(('a', '1'))"),
        (python_literal(0), "python_literal(('0',))"),
        (tool_call("f", "arguments"), "tool_call('f', path='arguments')"),
        (every(citation()), "every(citation())"),
    ],
)
def test_the_repr_reads_like_the_call(extractor, expected):
    assert repr(extractor) == expected
