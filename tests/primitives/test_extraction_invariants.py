"""Extraction: what holds for every extractor, whatever the text; hostile texts; what constructors refuse."""

from __future__ import annotations

import json
import pickle
import time
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.primitives import extract as extraction
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
    tag("answer"),
    boxed(),
    after("####"),
    pattern(r"\d+"),
    number(),
    code_block(),
    json_value(),
    choice(),
    answer_phrase(),
    citation(),
    tool_call(),
    python_literal(),
    gsm8k(),
    math_answer(),
    within(tag("answer"), number()),
    first_of(tag("answer"), boxed(), number()),
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
    boxed(which="first"),
    after("####", which="first"),
    pattern(r"(?P<n>\d)\.(\d)", group="n", which="first", timeout=2.0),
    number(which="first"),
    number(percent=True),
    code_block("python", which="first"),
    json_value(which="first"),
    choice("1234", which="first"),
    choice("ABCDEFGHI", case=False),
    answer_phrase(which="first", language="en"),
    answer_phrase(language="zh"),
    citation("See also", which="first"),
    tool_call("f", which="first"),
    python_literal(which="first"),
    gsm8k(mode="flexible"),
    within(within(tag("answer"), boxed()), first_of(json_value(), number(which="first"))),
)
WITH_PATH = (
    json_value("a"),
    json_value(("a", "1"), which="first"),
    json_value(repair=True),
    json_value("a", repair=True, which="first"),
    python_literal("a"),
    python_literal(1, which="first"),
    tool_call("f", "arguments.a"),
    tool_call(path=("name",), which="first"),
    first_of(json_value("a"), choice()),
    within(json_value("a", repair=True), number()),
)
ALL = (*LAST, *CUT_OFF, *OTHERS, *WITH_PATH)

PIECES = (
    "<answer>|</answer>|<answer/>|<ANSWER x=1>|\\boxed{|\\boxed|{|}|\\|####|####\n|```\n|```python\n|~~~\n"
    '|(B)|answer is |A|B.|1|2|-|,234|.|$|e5| |\n|\r\n|\t|[1, "]|[2]|{"a": |"a"|"|:|\ud800|\u202e|\x00|\u00e9'
    '|    |> |not | or | is wrong|, |<answer n=">">'
    "|Answer:|\u7b54\u6848\u662f|[Source: a, b]|[See also: |]|<tool_call>|</tool_call>"
    '|{"name": "f", "arguments": {"a": 1}}|{\'a\': 3|(1, |\'|)|**|1/2|10^|%'
).split("|")
COMBINED = (first_of, within)
CODE = tuple(x for x in LAST + CUT_OFF + OTHERS if "code_block" in repr(x))  # indented with its fence
VERBATIM = tuple(x for x in LAST + CUT_OFF + OTHERS if x not in CODE)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=60)


@pytest.mark.parametrize("extractor", VERBATIM, ids=repr)
@settings(max_examples=25)
@given(completion=TEXTS)
def test_the_value_is_the_text_of_the_span_and_there_is_no_span_without_a_value(extractor, completion):
    value, spans = extractor(completion), extractor.spans(completion)
    assert [completion[start:end] for start, end in spans] == ([] if value is None else [value])


@pytest.mark.parametrize("extractor", WITH_PATH + CODE, ids=repr)
@settings(max_examples=25)
@given(completion=TEXTS)
def test_with_a_path_too_there_is_a_span_exactly_where_there_is_a_value(extractor, completion):
    assert (extractor(completion) is None) == (extractor.spans(completion) == [])


@pytest.mark.parametrize(
    "extractor", [x for x in LAST + CUT_OFF + OTHERS if not isinstance(x, COMBINED)], ids=repr
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
    if extractor.factory == "answer_phrase":
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
@pytest.mark.parametrize("nothing", [None, 4, float("nan"), b"<answer>4</answer>", ["4"]], ids=repr)
def test_what_is_not_a_string_has_nothing_in_it(extractor, nothing):
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


def test_occurrences_are_all_places_that_could_have_been_taken():
    text = r"\boxed{1 \boxed{2}} \boxed{3}"
    assert [text[slice(*span)] for span in boxed().occurrences(text)] == [r"1 \boxed{2}", "2", "3"]
    text = "<answer>1<answer>2</answer></answer><answer> 3 </answer>"
    assert [text[slice(*span)] for span in tag("answer").occurrences(text)] == ["2", "3"]


ONE_MEGABYTE = 1_000_000


@pytest.mark.parametrize("character", list('a1A #`~<{[(\\-."\n\x00\ud800\u202e'), ids=ascii)
@pytest.mark.parametrize("extractor", LAST, ids=repr)
def test_a_megabyte_of_one_character_is_no_trouble(bounded, extractor, character):
    digits = character == "1" and extractor.factory in ("pattern", "number", "first_of", "math_answer")
    marked = character == "#" and extractor.factory in ("after", "gsm8k")
    expected = character * ONE_MEGABYTE if digits else "" if marked else None
    assert extractor(character * ONE_MEGABYTE) == expected


REPEATED = [
    *("<answer", "<answer ", "<answer>", "</answer>", "<answer>1</answer>", "<answer/>", "<answer></answer "),
    *(
        "{",
        "[",
        "(",
        "}",
        "{}",
        "[]",
        "[1] ",
        "(1,)",
        "({[]})",
        "[[1],[2]],",
        "({[",
        '{"a":',
        '["',
        "['",
        "['''",
    ),
    *(
        '["""',
        "{'a':",
        "{\"a\": 'b'} ",
        "[1,",
        "[1, #",
        "['a' ",
        '["\\',
        "{a:",
        '"',
        "'",
        "[Source: ",
        "[Source: a,",
    ),
    *(
        "\\boxed{",
        "\\boxed ",
        "\\boxed{1}",
        "\\text{A}",
        "\\frac{1",
        "\\frac",
        "\\",
        "1\\,111",
        "$",
        "$a",
        "a. ",
    ),
    *(
        "####",
        "#### ",
        "#### 1\n",
        "9",
        "9,",
        "9,999",
        "1.",
        "-1",
        "1/",
        "1/1 ",
        "1 1/2 ",
        "5 7/2 ",
        "10^",
        "1e",
    ),
    *(" ", "\n", "\r", "`", "```\n", "```python\n", "~", "~~~\n", "*", "_", "\u7684", "\u7b54\u6848\u662f"),
    *("\u6700\u7ec8\u7b54\u6848 ", "A", "(A)", "A ", "I ", "the answer is ", "answer:\n", "answer is A "),
    *("final answer ", "[Source: a]", "<tool_call>", "<tool_call>{", '<tool_call>{"name": "f"}</tool_call>'),
    *(
        "\u0301",
        "\U0001f600",
        "\ud800",
        "\u202e",
        "\x00",
        "\uff11",
        "\uff0c",
        "\u0663",
        "1\u2009111",
        "\u00bd",
    ),
]
PAIRS = [
    *[
        ("<answer>", "</answer>"),
        ("[", "]"),
        ("{", "}"),
        ("(", "'"),
        ('["', '\\"'),
        ("[1", "] "),
        ("1,111", "/"),
    ],
    *[
        ("answer:", " "),
        ("not ", "A "),
        ("A", ", "),
        ("1-", "1:"),
        ('<answer n="', "'"),
        ("####", " "),
        ("$", "a. "),
        ("<tool_call>", '{"a":'),
        ("```\n", " "),
        ("\\boxed", " "),
    ],
]
AWKWARD = [
    *((piece * 50_000)[:50_000] for piece in REPEATED),
    *(((first + second) * 25_000)[:50_000] for first, second in PAIRS),
    *(first * (25_000 // len(first)) + second * (25_000 // len(second)) for first, second in PAIRS),
]
DIFFERENT = (
    *LAST,
    *CUT_OFF,
    *(number(percent=True), gsm8k("flexible"), choice("ABCDEFGHI", case=False), after("answer", case=False)),
    *(json_value("a", repair=True), json_value(repair=True, which="first"), tool_call("f", "a")),
    *(python_literal("a"), every(json_value("a", repair=True)), every(python_literal(0)), every(citation())),
)


@pytest.mark.parametrize("extractor", [x for x in DIFFERENT if not isinstance(x, pattern)], ids=repr)
def test_awkward_texts_take_a_time_that_grows_with_their_length(extractor):
    """50,000 characters take some 0.02 s, the slowest 0.15 s; where it grows with the square it is above 1 s.

    In seconds of the processor, of which coverage doubles what a call takes.
    """
    for text in AWKWARD:
        seconds = []
        while not seconds or (seconds[-1] > 0.6 and len(seconds) < 3):  # another process may slow it down
            started = time.process_time()
            extractor(text)
            seconds.append(time.process_time() - started)
        assert min(seconds) < 0.6, ascii(text[:20])


HOSTILE = {
    "100,000 tags without their bracket": ("<answer " * 100_000, {}),
    "100,000 nested boxes": (
        "\\boxed{" * 100_000 + "x" + "}" * 100_000,
        {"boxed": "x", "first_of": "x", "math_answer": "x"},
    ),
    "100,000 nested tags": (
        "<answer>" * 100_000 + "4" + "</answer>" * 100_000,
        dict.fromkeys(["tag", "first_of", "within", "pattern", "number", "math_answer"], "4"),
    ),
    "100,000 brackets": ("[" * 100_000, {}),
    "100,000 fences": ("```\n" * 100_000, {"code_block": ""}),
    "800 open lists, a megabyte of numbers": ("[" * 800 + "1," * 500_000, {}),
    "20,000 markers before white space": ("####" * 20_000 + " " * 200_000, {"after": "", "gsm8k": ""}),
    "a fence before a megabyte and a backtick": ("```" + "a" * ONE_MEGABYTE + "`", {}),
    "a fence before a megabyte of spaces and a backtick": ("```" + " " * ONE_MEGABYTE + "`", {}),
    "100,000 lone capitals": ("A " * 100_000, {}),
    "100,000 words that announce a choice": ("answer is " * 100_000, {"answer_phrase": ""}),
    "a thousands separator every third digit": (
        "1" + ",111" * 100_000,
        dict.fromkeys(["number", "first_of", "math_answer"], "1" + ",111" * 100_000),
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("extractor", [x for x in LAST if not isinstance(x, pattern)], ids=repr)
def test_hostile_text_is_no_trouble(bounded, extractor, name):
    text, found = HOSTILE[name]
    assert extractor(text) == found.get(extractor.factory)


@pytest.mark.parametrize("extractor", [*ALL, every(number()), every(within(*ALL[:2]))], ids=repr)
def test_every_extractor_survives_pickle_and_its_repr_makes_it_again(extractor):
    assert pickle.loads(pickle.dumps(extractor)) == extractor
    again = eval(repr(extractor), {name: getattr(extraction, name) for name in extraction.__all__})
    assert again == extractor
    assert hash(again) == hash(extractor)


@pytest.mark.parametrize("extractor", LAST, ids=repr)
def test_extractors_are_frozen(extractor):
    with pytest.raises(AttributeError):
        setattr(extractor, next((item.name for item in fields(extractor)), "which"), "first")


@pytest.mark.parametrize(
    ("extractor", "expected"),
    [
        (tag("answer"), "tag('answer')"),
        (tag("answer", which="first"), "tag('answer', which='first')"),
        (number(), "number()"),
        (first_of(tag("answer"), number()), "first_of(tag('answer'), number())"),
        (tag("a", unclosed=True, prefilled=True), "tag('a', unclosed=True, prefilled=True)"),
        (gsm8k(), "gsm8k()"),
        (gsm8k("flexible"), "gsm8k(mode='flexible')"),
        (citation(), "citation()"),
        (citation("See"), "citation('See')"),
        (json_value("a", repair=True), "json_value('a', repair=True)"),
        (json_value(("a", 1)), "json_value(('a', '1'))"),
        (python_literal(0), "python_literal(('0',))"),
        (tool_call("f", "arguments"), "tool_call('f', path='arguments')"),
        (within(tag("a"), number(), boxed()), "within(tag('a'), number(), boxed())"),
        (every(citation()), "every(citation())"),
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
    (lambda: pattern("(a)", group=True), "has no group True; it has [0, 1]", "a truth value for a group"),
    (lambda: pattern("a", timeout=0), "timeout=0 is not a time", "no time at all"),
    (lambda: pattern("a", timeout=float("nan")), "timeout=nan is not a time", "a timeout that is no number"),
    (lambda: json_value(""), "path='' has an empty key", "an empty path"),
    (lambda: json_value("a..b"), "path='a..b' has an empty key", "two full stops"),
    (lambda: json_value(()), "path=() has an empty key", "a path without keys"),
    (lambda: choice("A"), "options='A' are not choices", "one option"),
    (lambda: choice("AA"), "options='AA' are not choices", "one option twice"),
    (lambda: choice("AaBb", case=False), "options='AaBb' are not choices", "letters that differ in case"),
    (lambda: choice(case=1), "case=1 does not fit", "case as a number"),
    (
        lambda: after("#", case="no"),
        "case='no' does not fit; give True or False",
        "case in words, of a marker",
    ),
    (lambda: tag("a", unclosed=1), "unclosed=1 does not fit", "unclosed as a number"),
    (lambda: number(percent=0), "percent=0 does not fit", "percent as a number"),
    (lambda: code_block(unclosed="yes"), "unclosed='yes' does not fit", "unclosed in words"),
    (lambda: json_value(repair=1), "repair=1 does not fit", "repair as a number"),
    (lambda: json_value(-1), "path=-1 is no path", "a position from the end"),
    (lambda: json_value(("a", -1)), "with positions from 0", "a position from the end in a tuple"),
    (lambda: json_value(True), "path=True is no path", "a truth value for a path"),
    (lambda: tool_call(path=("a", False)), "path=('a', False) is no path", "one in a tuple"),
    (lambda: choice("A-D"), "two or more different letters or digits", "a range"),
    (lambda: json_value(1.5), "path=1.5 is no path", "a path that is a number with a point"),
    (lambda: json_value({"a"}), "path={'a'} is no path", "a path that is a set"),
    (
        lambda: json_value(repair="yes"),
        "repair='yes' does not fit; give True or False",
        "repair in words",
    ),
    (lambda: python_literal("a."), "path='a.' has an empty key", "a full stop at the end"),
    (lambda: tool_call(path=""), "path='' has an empty key", "an empty path of a call"),
    (lambda: tool_call(""), "name='' is not the name of a tool", "an empty name of a tool"),
    (lambda: tool_call(3), "name=3 is not the name of a tool", "a number for a name"),
    (
        lambda: tag("a", unclosed=1.5),
        "unclosed=1.5 does not fit; give True or False",
        "neither open nor closed",
    ),
    (lambda: tag("a", prefilled="no"), "prefilled='no' does not fit", "prefilled in words"),
    (lambda: code_block(""), "language='' is not what stands behind a fence", "an empty language"),
    (lambda: code_block("a b"), "language='a b' is not what stands", "a language of two words"),
    (lambda: code_block(unclosed=None), "unclosed=None does not fit", "unclosed as None"),
    (lambda: number(percent="%"), "percent='%' does not fit", "percent as its sign"),
    (lambda: choice(case="upper"), "case='upper' does not fit", "case in words"),
    (lambda: gsm8k("loose"), "mode='loose' is not known; use one of 'strict', 'flexible'", "an unknown mode"),
    (lambda: answer_phrase(language="de"), "language='de' is not known; use one of 'any'", "a language"),
    (lambda: citation(""), "label='' is not the label of a citation", "an empty label"),
    (lambda: citation("[Source:"), "label='[Source:' is not the label", "a label with its bracket"),
    (lambda: citation(None), "label=None is not the label", "no label"),
    (lambda: within(tag("a")), "within takes extractors, such as tag('answer'); got none", "nothing inside"),
    (lambda: within("a", tag("a")), "got ['a']", "a name for an outer extractor"),
    (lambda: within(tag("a"), len), "got [<built-in function len>]", "a function for an inner one"),
    (lambda: within(every(tag("a")), tag("b")), "put every around it: every(within(...))", "a list outside"),
    (lambda: within(tag("a"), every(tag("b"))), "within takes no list", "a list inside"),
    (lambda: first_of(every(tag("a"))), "first_of takes no list", "a list among others"),
    (
        lambda: every("a"),
        "every takes extractors, such as tag('answer'); got ['a']",
        "a name for an extractor",
    ),
    (lambda: every(every(tag("a"))), "every takes no list", "a list of lists"),
    (lambda: first_of(), "first_of takes extractors, such as tag('answer'); got none", "no extractor"),
    (lambda: first_of(tag("answer"), "number"), "got ['number']", "a name in place of an extractor"),
]
for made in (lambda w: tag("a", which=w), lambda w: boxed(which=w), lambda w: after("#", which=w),
             lambda w: pattern("a", which=w), lambda w: number(which=w), lambda w: code_block(which=w),
             lambda w: json_value(which=w), lambda w: choice(which=w), lambda w: citation(which=w),
             lambda w: answer_phrase(which=w), lambda w: tool_call(which=w),
             lambda w: python_literal(which=w)):  # fmt: skip
    sentence = "which='middle' is not known; use one of 'first', 'last'"
    ERRORS.append((lambda made=made: made("middle"), sentence, f"which={len(ERRORS)}"))


@pytest.mark.parametrize(("call", "piece"), [pytest.param(c, p, id=why) for c, p, why in ERRORS])
def test_what_an_extractor_cannot_be_made_of_is_refused_in_a_sentence(call, piece):
    with pytest.raises(ValueError) as caught:
        call()
    assert piece in str(caught.value)
