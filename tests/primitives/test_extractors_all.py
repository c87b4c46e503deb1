"""What holds for all extractors, whatever the text: values and spans, padding, which, every, pickle, repr."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rewardkit as rk

extract = rk.extract
NAMES = {name: getattr(extract, name) for name in extract.__all__}


def made(*calls):
    """The extractors that these calls make, as they are written."""
    return tuple(eval(call, NAMES) for call in calls)


LAST = made(
    *("tag('answer')", "boxed()", "after('####')", r"pattern('\\d+')", "number()", "code_block()"),
    *("json_value()", "choice()", "answer_phrase()", "citation()", "tool_call()", "python_literal()"),
    *("gsm8k()", "math_answer()", "within(tag('answer'), number())"),
    "first_of(tag('answer'), boxed(), number())",
)
CUT_OFF = made(  # what they find depends on where the text ends
    "tag('answer', unclosed=True, prefilled=True)",
    "after('####', until='end', case=False)",
    "code_block(unclosed=True)",
    "within(tag('answer', unclosed=True), first_of(code_block('python', unclosed=True), number()))",
)
OTHERS = made(
    *("tag('answer', which='first')", "tag('answer', prefilled=True)", "number(percent=True)"),
    r"pattern('(?P<n>\\d)\\.(\\d)', which='first', group='n', timeout=2.0)",
    *("code_block('python', which='first')", "choice('ABCDEFGHI', case=False)"),
    *("answer_phrase(which='first', language='en')", "answer_phrase(language='zh')"),
    *("citation('See also', which='first')", "tool_call('f', which='first')", "gsm8k(mode='flexible')"),
    "within(within(tag('answer'), boxed()), first_of(json_value(), number(which='first')))",
)
WITH_PATH = made(
    *("json_value(('a', '1'), which='first')", "json_value(('a',), which='first', repair=True)"),
    *("python_literal(('a',))", "tool_call('f', path=('arguments', 'a'))"),
    "first_of(json_value('a'), choice())",
    "within(json_value('a', repair=True), number())",
)
ALL = (*LAST, *CUT_OFF, *OTHERS, *WITH_PATH)

PIECES = (
    "<answer>|</answer>|<answer/>|<ANSWER x=1>|\\boxed{|\\boxed|{|}|\\|####|####\n|```\n|```python\n|~~~\n"
    '|(B)|answer is |A|B.|1|2|-|,234|.|$|e5| |\n|\r\n|\t|[1, "]|[2]|{"a": |"a"|"|:|\ud800|\u202e|\x00|\u00e9'
    '|    |> |not | or | is wrong|, |<answer n=">">'
    "|Answer:|\u7b54\u6848\u662f|[Source: a, b]|[See also: |]|<tool_call>|</tool_call>"
    '|{"name": "f", "arguments": {"a": 1}}|{\'a\': 3|(1, |\'|)|**|1/2|10^|%'
).split("|")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=60)
BEFORE = st.sampled_from(["Let me see.\n", "\n \n", "so we go on, it is:\n\n"])
BEHIND = st.sampled_from(["\nThat is all.", "\n \n", "\n\nso we go on"])


@pytest.mark.parametrize("extractor", ALL, ids=repr)
@settings(max_examples=25)
@given(completion=TEXTS, before=BEFORE, behind=BEHIND)
def test_a_value_has_a_span_which_is_its_text_and_neutral_padding_changes_neither(
    extractor, completion, before, behind
):
    written = repr(extractor)
    if "prefilled=True" in written:
        completion = f"<answer>{completion}"  # without an opening tag the padding is in the pair
    if written.startswith("answer_phrase"):
        completion += "x"  # where nothing follows on the line, the next line is the answer
    value, spans = extractor(completion), extractor.spans(completion)
    assert len(spans) == (value is not None)
    if extractor not in WITH_PATH and "code_block" not in written:  # indented with its fence
        assert [completion[start:end] for start, end in spans] == ([] if value is None else [value])
    if hasattr(extractor, "which") and extractor not in WITH_PATH:
        places = extractor.occurrences(completion)
        assert places == sorted(places)
        assert spans == (places[:1] if extractor.which == "first" else places[-1:])
    values, all_spans = extract.every(extractor)(completion), extract.every(extractor).spans(completion)
    assert len(values) == len(all_spans) and all_spans == sorted(all_spans)
    assert value is None or value in values
    assert all(place in all_spans for place in spans)
    shifted = [(start + len(before), end + len(before)) for start, end in spans]
    assert (extractor(before + completion), extractor.spans(before + completion)) == (value, shifted)
    if extractor in LAST + OTHERS:
        assert (extractor(completion + behind), extractor.spans(completion + behind)) == (value, spans)


@pytest.mark.parametrize("extractor", ALL, ids=repr)
def test_what_is_not_a_string_has_nothing_in_it(extractor):
    every = extract.every(extractor)
    for nothing in (None, 4, float("nan"), b"<answer>4</answer>", ["4"]):
        assert extractor(nothing) is every(nothing) is None
        assert extractor.spans(nothing) == every.spans(nothing) == []


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


EVERY = made(
    "every(number())", "every(within(tag('answer'), boxed()))", "json_value(('a', '1'))", "citation('See')"
)


@pytest.mark.parametrize("extractor", [*ALL, *EVERY], ids=repr)
def test_an_extractor_is_frozen_survives_pickle_and_its_repr_is_the_call_that_makes_it(extractor):
    assert pickle.loads(pickle.dumps(extractor)) == extractor
    again = eval(repr(extractor), NAMES)
    assert (again, hash(again), replace(extractor)) == (extractor, hash(extractor), extractor)
    assert repr(extract.tool_call("f", "arguments")) == "tool_call('f', path='arguments')"
    with pytest.raises(AttributeError):
        extractor.which = "first"
