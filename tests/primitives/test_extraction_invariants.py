"""Extraction: what holds for every extractor, whatever the text; hostile texts; what constructors refuse."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.primitives import extraction
from rewardkit.primitives.extraction import (
    FirstOf,
    Pattern,
    after,
    assistant_text,
    boxed,
    choice,
    code_block,
    first_of,
    json_value,
    number,
    pattern,
    tag,
)

LAST = (
    tag("answer"),
    boxed(),
    after("####"),
    pattern(r"\d+"),
    number(),
    code_block(),
    json_value(),
    choice(),
    first_of(tag("answer"), boxed(), number()),
)
OTHERS = (
    tag("answer", which="first"),
    boxed(which="first"),
    after("####", which="first"),
    after("####", until="end", case=False),
    pattern(r"(?P<n>\d)\.(\d)", group="n", which="first", timeout=2.0),
    number(which="first"),
    code_block("python", which="first"),
    json_value(which="first"),
    choice("1234", which="first"),
)
WITH_PATH = (json_value("a"), json_value(("a", "1"), which="first"), first_of(json_value("a"), choice()))

PIECES = (
    "<answer>|</answer>|<ANSWER x=1>|\\boxed{|\\boxed|{|}|\\|####|####\n|```\n|```python\n|~~~\n|(B)|"
    'answer is |A|B.|1|2|-|,234|.|$|e5| |\n|\r\n|\t|[1, "]|[2]|{"a": |"a"|"|:|\ud800|\u202e|\x00|\u00e9'
).split("|")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=60)


@pytest.mark.parametrize("extractor", LAST + OTHERS, ids=repr)
@settings(deadline=None)
@given(completion=TEXTS)
def test_the_value_is_the_text_of_the_span_and_there_is_no_span_without_a_value(extractor, completion):
    value, spans = extractor(completion), extractor.spans(completion)
    assert [completion[start:end] for start, end in spans] == ([] if value is None else [value])


@pytest.mark.parametrize("extractor", WITH_PATH, ids=repr)
@settings(deadline=None)
@given(completion=TEXTS)
def test_with_a_path_too_there_is_a_span_exactly_where_there_is_a_value(extractor, completion):
    assert (extractor(completion) is None) == (extractor.spans(completion) == [])


@pytest.mark.parametrize("extractor", [x for x in LAST + OTHERS if not isinstance(x, FirstOf)], ids=repr)
@settings(deadline=None)
@given(completion=TEXTS)
def test_the_span_is_the_first_or_the_last_of_the_occurrences_in_text_order(extractor, completion):
    places = extractor.occurrences(completion)
    assert places == sorted(places)
    assert extractor.spans(completion) == (places[:1] if extractor.which == "first" else places[-1:])


@pytest.mark.parametrize("extractor", LAST + OTHERS + WITH_PATH, ids=repr)
@settings(deadline=None)
@given(completion=TEXTS, padding=st.sampled_from(["Let me see.\n", "\n \n", "so we go on, it is:\n\n"]))
def test_neutral_padding_in_front_does_not_change_what_is_found(extractor, completion, padding):
    assert extractor(padding + completion) == extractor(completion)
    shifted = [(start + len(padding), end + len(padding)) for start, end in extractor.spans(completion)]
    assert extractor.spans(padding + completion) == shifted


@settings(deadline=None)
@given(value=st.text(alphabet=st.characters(exclude_characters="<>"), max_size=40))
def test_what_was_put_between_tags_is_found_again(value):
    assert tag("answer")(f"1 <answer>{value}</answer> 2") == value.strip()


@given(value=st.recursive(st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)))
def test_a_value_that_was_written_as_json_is_found_again(value):
    found = json_value("a")(f"Here {{it}} is: {json.dumps({'a': value})} [sic].")
    assert found == (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize("extractor", LAST + WITH_PATH, ids=repr)
@pytest.mark.parametrize("nothing", [None, 4, float("nan"), b"<answer>4</answer>", ["4"]], ids=repr)
def test_what_is_not_a_string_has_nothing_in_it(extractor, nothing):
    assert extractor(nothing) is None
    assert extractor.spans(nothing) == []


def test_which_first_and_last_differ_for_every_extractor():
    text = "<answer>1</answer> \\boxed{2}\n#### 3\n```\n4\n```\n[5] (A)"
    text += "<answer>6</answer> \\boxed{7}\n#### 8\n```\n9\n```\n[0] (B)"
    found = [(x(text), type(x)(**{**vars(x), "which": "first"})(text)) for x in LAST[:-1]]
    assert found == [
        ("6", "1"), ("7", "2"), ("8", "3"), ("0", "1"), ("0", "1"), ("9", "4"), ("[0]", "[5]"), ("B", "A"),
    ]  # fmt: skip


def test_occurrences_are_all_places_that_could_have_been_taken():
    text = r"\boxed{1 \boxed{2}} \boxed{3}"
    assert [text[slice(*span)] for span in boxed().occurrences(text)] == [r"1 \boxed{2}", "2", "3"]
    text = "<answer>1<answer>2</answer></answer><answer> 3 </answer>"
    assert [text[slice(*span)] for span in tag("answer").occurrences(text)] == ["2", "3"]


ONE_MEGABYTE = 1_000_000
FOUND_IN_ONE = {("pattern", "1"): "1", ("number", "1"): "1", ("first_of", "1"): "1", ("after", "#"): ""}


@pytest.mark.parametrize("character", list('a1A #`~<{[(\\-."\n\x00\ud800\u202e'), ids=ascii)
@pytest.mark.parametrize("extractor", LAST, ids=repr)
def test_a_megabyte_of_one_character_is_no_trouble(bounded, extractor, character):
    expected = FOUND_IN_ONE.get((repr(extractor).partition("(")[0], character))
    found = extractor(character * ONE_MEGABYTE)
    assert found == (expected * ONE_MEGABYTE if expected else expected)


HOSTILE = {
    "100,000 opening tags": ("<answer>" * 100_000, {}),
    "100,000 closing tags": ("</answer>" * 100_000, {}),
    "100,000 tags without their bracket": ("<answer " * 100_000, {}),
    "100,000 attributes": ("<answer " + "a " * 100_000, {}),
    "100,000 boxes that are never closed": ("\\boxed{" * 100_000, {}),
    "100,000 nested boxes": ("\\boxed{" * 100_000 + "x" + "}" * 100_000, {"boxed": "x", "first_of": "x"}),
    "100,000 braces": ("{" * 100_000, {}),
    "100,000 brackets": ("[" * 100_000, {}),
    "100,000 objects in each other": ('{"a":' * 100_000, {}),
    "100,000 brackets before quotes": ('["' * 100_000, {}),
    "100,000 fences": ("```\n" * 100_000, {"code_block": ""}),
    "100,000 markers": ("####\n" * 100_000, {"after": ""}),
    "800 open lists, a megabyte of numbers": ("[" * 800 + "1," * 500_000, {"number": "1", "first_of": "1"}),
    "20,000 markers before white space": ("####" * 20_000 + " " * 200_000, {"after": ""}),
    "a fence before a megabyte and a backtick": ("```" + "a" * ONE_MEGABYTE + "`", {}),
    "a fence before a megabyte of spaces and a backtick": ("```" + " " * ONE_MEGABYTE + "`", {}),
    "100,000 lone capitals": ("A " * 100_000, {"choice": "A"}),
    "100,000 words that announce a choice": ("answer is " * 100_000, {}),
    "a thousands separator every third digit": ("1" + ",111" * 100_000, {"number": "1" + ",111" * 100_000}),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("extractor", [x for x in LAST if not isinstance(x, Pattern)], ids=repr)
def test_hostile_text_is_no_trouble(bounded, extractor, name):
    text, found = HOSTILE[name]
    if name.startswith("a thousands") and isinstance(extractor, FirstOf):
        found = {"first_of": found["number"]}
    assert extractor(text) == found.get(repr(extractor).partition("(")[0])


@pytest.mark.parametrize("extractor", [*LAST, *OTHERS, *WITH_PATH, assistant_text], ids=repr)
def test_every_extractor_survives_pickle_and_its_repr_makes_it_again(extractor):
    assert pickle.loads(pickle.dumps(extractor)) == extractor
    again = eval(repr(extractor), {name: getattr(extraction, name) for name in extraction.__all__})
    assert again == extractor
    assert hash(again) == hash(extractor)


@pytest.mark.parametrize("extractor", LAST, ids=repr)
def test_extractors_are_frozen(extractor):
    with pytest.raises(AttributeError):
        extractor.which = "first"


@pytest.mark.parametrize(
    ("extractor", "expected"),
    [
        (tag("answer"), "tag('answer')"),
        (tag("answer", which="first"), "tag('answer', which='first')"),
        (number(), "number()"),
        (first_of(tag("answer"), number()), "first_of(tag('answer'), number())"),
        (code_block("python"), "code_block('python')"),  # as the docstring of Made says
    ],
)
def test_the_repr_reads_like_the_call(extractor, expected):
    assert repr(extractor) == expected


ERRORS = [
    (lambda: tag("<answer>"), "'<answer>' is not the name of a tag", "a tag with its brackets"),
    (lambda: tag(""), "'' is not the name of a tag", "a tag without a name"),
    (lambda: tag(None), "None is not the name of a tag", "a tag called None"),
    (lambda: after(""), "marker='' is empty", "an empty marker"),
    (lambda: after(" \n"), "is empty; give the text that stands before", "a marker of white space"),
    (lambda: after("#", until="word"), "until='word' is not known; use one of 'line'", "an unknown end"),
    (lambda: pattern("("), "pattern '(' does not compile", "a pattern that does not compile"),
    (lambda: pattern(None), "pattern None does not compile", "a pattern that is no text"),
    (lambda: pattern(b"a"), "does not compile", "a pattern of bytes, which no completion can be"),
    (lambda: pattern("a", group=1), "has no group 1; it has [0]", "a group that is not there"),
    (lambda: pattern("(?P<n>a)", group="m"), "has no group 'm'; it has [0, 1, 'n']", "a missing name"),
    (lambda: pattern("a", timeout=0), "timeout=0 is not a time", "no time at all"),
    (lambda: pattern("a", timeout=float("nan")), "timeout=nan is not a time", "a timeout that is no number"),
    (lambda: json_value(""), "path='' has an empty key", "an empty path"),
    (lambda: json_value("a..b"), "path='a..b' has an empty key", "two full stops"),
    (lambda: json_value(()), "path=() has an empty key", "a path without keys"),
    (lambda: choice("A"), "options='A' are not choices", "one option"),
    (lambda: choice("AA"), "options='AA' are not choices", "one option twice"),
    (lambda: choice("A-D"), "two or more different letters or digits", "a range"),
    (lambda: first_of(), "first_of takes extractors, such as tag('answer'); got none", "no extractor"),
    (lambda: first_of(tag("answer"), "number"), "got ['number']", "a name in place of an extractor"),
]
for made in (lambda w: tag("a", which=w), lambda w: boxed(which=w), lambda w: after("#", which=w),
             lambda w: pattern("a", which=w), lambda w: number(which=w), lambda w: code_block(which=w),
             lambda w: json_value(which=w), lambda w: choice(which=w)):  # fmt: skip
    sentence = "which='middle' is not known; use one of 'first', 'last'"
    ERRORS.append((lambda made=made: made("middle"), sentence, f"which={len(ERRORS)}"))


@pytest.mark.parametrize(("call", "piece"), [pytest.param(c, p, id=why) for c, p, why in ERRORS])
def test_what_an_extractor_cannot_be_made_of_is_refused_in_a_sentence(call, piece):
    with pytest.raises(ValueError) as caught:
        call()
    assert piece in str(caught.value)
