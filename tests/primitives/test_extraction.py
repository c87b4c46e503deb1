"""Extraction: what each extractor finds, where, and what it must not find."""

from __future__ import annotations

import pytest

from rewardkit.primitives.extraction import (
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


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("completion", "expected"),
    table(
        ("<answer>4</answer>", "4", "one pair"),
        ("so <answer> 4\n</answer>.", "4", "white space around the value is left out"),
        ("<answer>3</answer> no: <answer>4</answer>", "4", "of several pairs the last"),
        ("<ANSWER>4</Answer>", "4", "case does not matter"),
        ('<answer unit="kg" n=1>4</answer >', "4", "attributes do not matter"),
        ("<answer>1<answer>2</answer>3</answer>", "2", "of nested pairs the innermost"),
        ("<answer>a <b>bold</b></answer>", "a <b>bold</b>", "other tags inside are text"),
        ("<answer></answer>", "", "an empty pair is found and empty"),
        ("<answer> \t\n </answer>", "", "a pair of white space is found and empty"),
        ("<answer>4</answer><answer>", "4", "an opening tag at the end hides nothing"),
        ("</answer>4<answer>", None, "closed before it is opened"),
        ("4</answer>", None, "never opened"),
        ("<answers>4</answers>", None, "a longer name is another tag"),
        ("<answer-2>4</answer-2>", None, "a name with a suffix is another tag"),
        ("&lt;answer&gt;4&lt;/answer&gt;", None, "escaped brackets are no tag"),
        ("<answer>4</think>", None, "closed by another tag"),
        ("", None, "empty completion"),
        ("<answer>\x00\x1b[1m4</answer>", "\x00\x1b[1m4", "control characters stay in the value"),
        ("<answer>\ud800</answer>", "\ud800", "a lone surrogate is a character"),
        ("\u202e<answer>\u0634\u06a9\u0631</answer>", "\u0634\u06a9\u0631", "right-to-left text"),
    ),
)
def test_tag_gives_the_text_of_the_last_pair(completion, expected):
    assert tag("answer")(completion) == expected


def test_an_unclosed_tag_counts_for_nothing():
    assert tag("answer")("<answer>4") is None
    assert tag("answer")("<answer>4 <answer>5</answer>") == "5"


@pytest.mark.parametrize(
    ("completion", "expected"),
    table(
        (r"\boxed{4}", "4", "one box"),
        (r"so \boxed{\frac{1}{2}}.", r"\frac{1}{2}", "inner braces belong to it"),
        (r"\boxed{3} no \boxed{4}", "4", "of several boxes the last"),
        (r"\boxed{1 + \boxed{2}}", "2", "of nested boxes the innermost"),
        (r"\boxed{1 \boxed{2}", "2", "an unclosed box around another hides nothing"),
        (r"\boxed {4}", "4", "a space before the brace"),
        (r"\boxed{ 4 }", "4", "white space around the value is left out"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}", "escaped braces are text"),
        (r"\boxed{\}}", r"\}", "an escaped closing brace does not close"),
        (r"\boxed{a} } }", "a", "closing braces too many"),
        (r"{ \boxed{4}", "4", "an open brace before it"),
        (r"\boxed{}", "", "an empty box is found and empty"),
        (r"\boxed{4", None, "a box that is never closed"),
        (r"\boxed{{4}", None, "closed only once of twice"),
        (r"\boxed 4", None, "a box without braces"),
        ("boxed{4}", None, "no backslash"),
        (r"\\boxed{4}", None, "a line break before the word boxed is no box"),
        (r"\boxedtext{4}", None, "a longer command"),
        ("", None, "empty completion"),
        ("\\boxed{4}\\", "4", "a backslash at the very end"),
        ("\\boxed{\ud800\u202e}", "\ud800\u202e", "lone surrogate and direction mark"),
    ),
)
def test_boxed_gives_the_content_of_the_last_box(completion, expected):
    assert boxed()(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (after("####"), "6 * 7 = 42\n#### 42", "42", "to the end of the text"),
        (after("####"), "#### 42\nbye", "42", "to the end of the line"),
        (after("####"), "#### 1\n#### 2\n", "2", "of several markers the last"),
        (after("####", which="first"), "#### 1\n#### 2\n", "1", "the first where asked"),
        (after("####", until="end"), "#### 42\nbye ", "42\nbye", "to the end of the completion"),
        (after("####"), "#### 42\r\nbye", "42", "a carriage return is white space"),
        (after("####"), "####", "", "nothing after it is found and empty"),
        (after("####"), "####\n42", "", "the next line is not its line"),
        (after("Answer:"), "answer: 42", None, "case counts"),
        (after("Answer:", case=False), "ANSWER: 42", "42", "case does not count where asked"),
        (after("(.*)"), "xyz", None, "the marker is no pattern"),
        (after("(.*)"), "(.*) 4", "4", "signs of patterns are plain text"),
        (after("####"), "### 42", None, "a shorter marker"),
        (after("####"), "", None, "empty completion"),
        (after("####"), "#### \x00\ud800", "\x00\ud800", "control character and lone surrogate"),
        (after("\u062c:"), "\u062c: 42", "42", "right-to-left marker"),
    ),
)
def test_after_gives_the_text_behind_the_marker(extractor, completion, expected):
    assert extractor(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (pattern(r"total: (\d+)"), "total: 3, total: 4", "4", "the first group of the last match"),
        (pattern(r"total: (\d+)", which="first"), "total: 3, total: 4", "3", "of the first match"),
        (pattern(r"\d+"), "a 12 b", "12", "without groups the whole match"),
        (pattern(r"(\d+) (kg)"), "12 kg", "12", "of two groups the first"),
        (pattern(r"(\d+) (kg)", group=2), "12 kg", "kg", "the group asked for"),
        (pattern(r"(\d+) (kg)", group=0), "12 kg", "12 kg", "group 0 is the whole match"),
        (pattern(r"(?P<n>\d+) kg", group="n"), "12 kg", "12", "a group by name"),
        (pattern(r"a|(b)"), "b a", "b", "a match without the group is left out"),
        (pattern(r"(\w)?x"), "x", None, "a group that took no part is not found"),
        (pattern(r"=(.*)"), "= 4 ", "4", "white space around the value is left out"),
        (pattern(r"=(\s*)"), "=  ", "", "a match of white space is found and empty"),
        (pattern(r"\d+"), "none", None, "no match"),
        (pattern(r"\d+"), "", None, "empty completion"),
        (pattern(r"(?i)ANSWER (\w)"), "answer b", "b", "inline flags"),
        (pattern(r"x(.)"), "x\ud800", "\ud800", "a lone surrogate is a character"),
    ),
)
def test_pattern_gives_a_group_of_the_last_match(extractor, completion, expected):
    assert extractor(completion) == expected


@pytest.mark.parametrize("expression", [r"(?:a+)+$", r"(a|aa)+$"])
def test_a_runaway_pattern_ends_in_a_timeout_error(bounded, expression):
    with pytest.raises(TimeoutError, match=r"took longer than 0\.2 s"):
        pattern(expression, timeout=0.2)("a" * 5000 + "! b")


@pytest.mark.parametrize(
    ("completion", "expected"),
    table(
        ("The answer is 4.", "4", "a full stop after it is not part of it"),
        ("3 and then 4", "4", "of several the last"),
        ("It costs $1,234.50.", "1,234.50", "thousands separator and decimals"),
        ("1,234,567", "1,234,567", "two separators"),
        ("12345,678", "678", "a comma after more than three digits separates two numbers"),
        ("1,2345", "2345", "four digits behind the comma separate two numbers"),
        ("1,2,3", "3", "a list is no thousands separator"),
        ("so -6", "-6", "a sign"),
        ("9-6", "6", "a subtraction is no sign"),
        ("9--6", "-6", "a sign behind a minus"),
        ("x=-5", "-5", "a sign behind an equals sign"),
        ("\u22125", "\u22125", "a typographic minus"),
        ("-$5", "-$5", "a sign before the currency"),
        ("$-5", "-5", "a sign behind the currency"),
        ("about .5", ".5", "no digit before the point"),
        ("6.02e23 of them", "6.02e23", "an exponent"),
        ("1E5", "1E5", "an exponent in upper case"),
        ("5e", "5", "a letter e alone is no exponent"),
        ("12kg", "12", "letters after it are a unit"),
        ("40%", "40", "a percent sign is left out"),
        ("3/4", "4", "a fraction counts as two numbers"),
        ("version 3.14.15", None, "a dotted run is no number"),
        ("x2 and b12", None, "digits inside a word"),
        ("four", None, "a number in words"),
        ("", None, "empty completion"),
        ("**4**", "4", "bold in Markdown"),
        ("\u202e4\u202c\x00", "4", "direction marks and control characters around it"),
        ("I think...5", "5", "an ellipsis before it is no dotted run"),
        ("so ...-5", "-5", "an ellipsis before its sign does not take the sign away"),
    ),
)
def test_number_gives_the_last_number_as_it_is_written(completion, expected):
    assert number()(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (code_block(), "```\nx = 1\n```", "x = 1", "a block without a language"),
        (code_block(), "```\na\n```\n```\nb\n```", "b", "of several blocks the last"),
        (code_block(which="first"), "```\na\n```\n```\nb\n```", "a", "the first where asked"),
        (code_block("python"), "```python\na\n```\n```json\n{}\n```", "a", "of the language asked for"),
        (code_block("python"), "```Python title=a.py\na\n```", "a", "language in any case, text behind it"),
        (code_block("python"), "```\na\n```", None, "no language is another language"),
        (code_block("py"), "```python\na\n```", None, "the beginning of a language is another language"),
        (code_block(), "~~~\na\n~~~", "a", "tildes"),
        (code_block(), "~~~\n```\n~~~", "```", "backticks do not close tildes"),
        (code_block(), "````\n```\na\n```\n````", "```\na\n```", "a shorter fence does not close"),
        (code_block(), "```\na\n`````  ", "a", "a longer fence with spaces behind it closes"),
        (code_block(), "   ```\r\na\r\n   ```\r\n", "a", "indented by three, with carriage returns"),
        (code_block(), "    ```\n    a\n    ```", None, "indented by four is no fence"),
        (code_block(), "```x``` inline", None, "inline code is no block"),
        (code_block(), "text ```\na\n```", None, "a fence starts its line"),
        (code_block(), "```\n```", "", "an empty block is found and empty"),
        (code_block(), "```\n \n\n```", "", "a block of white space is found and empty"),
        (code_block(), "```python\na", None, "a block that is never closed"),
        (code_block(), "", None, "empty completion"),
        (code_block(), "```\n\ud800\x00\u202e\n```", "\ud800\x00\u202e", "hostile characters"),
    ),
)
def test_code_block_gives_the_content_of_the_last_block(extractor, completion, expected):
    assert extractor(completion) == expected


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
        (("a", 0), '{"a": [1, 2]}', "1", "position 0 as a number"),
    ),
)
def test_json_value_gives_the_last_object_or_the_value_at_the_path(path, completion, expected):
    assert json_value(path)(completion) == expected


def test_json_value_finds_the_first_object_where_asked():
    assert json_value("a", which="first")('{"a": 1} {"a": 2}') == "1"


def test_json_value_has_no_span_where_its_path_leads_nowhere():
    assert json_value("b").spans('{"a": 1}') == []


def test_json_value_never_gives_what_is_not_json():
    assert json_value("a")('{"a": 1e999}') != "Infinity"


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (choice(), "The answer is (B).", "B", "in parentheses"),
        (choice(), "[ D ]", "D", "in brackets with spaces"),
        (choice(), "option: C", "C", "behind the word option"),
        (choice(), "ANSWER B", "B", "behind the word answer in any case"),
        (choice(), "answer is **(B)**", "B", "bold"),
        (choice(), "**B**", "B", "bold alone"),
        (choice(), "B", "B", "alone"),
        (choice(), "A\nB\n", "B", "of several lines the last"),
        (choice(which="first"), "(A) or (B)", "A", "the first where asked"),
        (choice(), "(A) is larger. So B.", "A", "a marked letter comes before a lone one"),
        (choice(), "A small one is larger", None, "an article is no answer"),
        (choice(), "Option ABBA", None, "the beginning of a word is no answer"),
        (choice(), "(b)", None, "a letter in the other case"),
        (choice("abcd"), "(b)", "b", "small letters where asked"),
        (choice("1234"), "option 3", "3", "digits"),
        (choice(), "(E)", None, "a letter that is no option"),
        (choice(), "I said I'D.", None, "a letter behind an apostrophe"),
        (choice(), "", None, "empty completion"),
        (choice(), "\u202e(B)\ud800\x00", "B", "direction mark, lone surrogate, control character"),
        (choice(), r"so \boxed{B}", "B", "in a box: a brace is punctuation"),
        (choice(), "The choice: \nB     ", "B", "the end of its line, whatever white space stands before it"),
        (choice(), "\u7b54\u6848\u662fB\u3002\nB\u3002", "B", "a full stop that is not ASCII is punctuation"),
        (
            choice(),
            "Answer: A triangle has three sides.",
            "A",
            "an article behind the word answer cannot be told apart",
        ),
    ),
)
def test_choice_gives_the_letter_of_the_answer(extractor, completion, expected):
    assert extractor(completion) == expected


@pytest.mark.parametrize(
    ("extractors", "completion", "expected"),
    table(
        ((tag("answer"), number()), "I think it is 4", "4", "the second where the first finds nothing"),
        ((tag("answer"), number()), "<answer>x</answer> 4", "x", "the first where it finds something"),
        ((tag("answer"), number()), "4? <answer></answer>", "", "an empty value counts as found"),
        ((tag("answer"), number()), "none", None, "none finds anything"),
        ((tag("answer"), number()), "", None, "empty completion"),
        ((json_value("b"), number()), '{"a": 4}', "4", "a path that leads nowhere is not found"),
        ((first_of(boxed()), number()), r"\boxed{x} 4", "x", "one inside another"),
        ((number(which="first"), tag("answer")), "1 2 <answer>3</answer>", "1", "each keeps its own which"),
    ),
)
def test_first_of_gives_the_value_of_the_first_that_finds_one(extractors, completion, expected):
    assert first_of(*extractors)(completion) == expected


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
    ),
)
def test_assistant_text_gives_the_last_assistant_message(messages, expected):
    assert assistant_text(messages) == expected
    assert assistant_text.spans(messages) == ([] if expected is None else [(0, len(expected))])
