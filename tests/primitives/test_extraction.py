"""Extraction: what each extractor finds, where, and what it must not find."""

from __future__ import annotations

import pytest

from rewardkit.primitives.extract import (
    after,
    boxed,
    code_block,
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
        ("<a-b.c>4</a-b.c>", None, "another tag altogether"),
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
        ("<answer/>", "", "a tag that closes itself is an empty pair"),
        ('<answer n="1" />', "", "with attributes and a space too"),
        ("<answer>3</answer> <answer/>", "", "an empty pair is a pair"),
        ("<answer>1<answer/>2</answer>", "", "the innermost of nested pairs, if it closes itself"),
        ("<answer>a/></answer>", "a/>", "a slash and a bracket in the text"),
        ("<answer>3</answer></answer>", "3", "a closing tag too many"),
        ("<answer\n>4</answer\n>", "4", "line breaks in the tags"),
        ("< answer>4</ answer>", None, "a space before the name"),
        ('<answer note="a>b">42</answer>', "42", "a bracket in a quoted attribute"),
        ("<answer note='a>b' n = \">\">42</answer>", "42", "in quotes of both kinds, with spaces"),
        ('<answer note="a/>">42</answer>', "42", "a slash and a bracket in it close nothing"),
        ('<answer note="a>b"/> 42', "", "a tag with it that closes itself"),
        ('<answer note="a>42</answer>', "42", "a quote that is never closed is a sign"),
        ("<answer it's>42 isn't</answer>", "42 isn't", "an apostrophe that is no value"),
    ),
)
def test_tag_gives_the_text_of_the_last_pair(completion, expected):
    assert tag("answer")(completion) == expected


@pytest.mark.parametrize(
    ("completion", "closed", "unclosed", "prefilled", "both"),
    table(
        ("<answer>4", None, "4", None, "4", "never closed"),
        ("4", None, None, None, "4", "no tag"),
        ("4</answer>", None, None, "4", "4", "never opened"),
        ("<answer>4</answer>", "4", "4", "4", "4", "one pair"),
        ("<answer>4</answer> <answer> 5 ", "4", "5", "4", "5", "cut off in the second"),
        ("<answer>4 <answer>5", None, "5", None, "5", "opened twice"),
        ("4</answer> 5</answer>", None, None, "4", "4", "closed twice"),
        ("4</answer> <answer>5</answer>", "5", "5", "5", "5", "the second pair is opened"),
        ("<answer>4</answer> 5</answer>", "4", "4", "4", "4", "the second is not"),
        ("<answer>4</answer", None, "4", None, "4", "cut off in its closing tag"),
        ("<answer>4</ANS", None, "4", None, "4", "earlier in it, in upper case"),
        ("<answer>4</b", None, "4</b", None, "4</b", "cut off in another tag"),
        ("<answer>4<", None, "4<", None, "4<", "a bracket alone may be a sign"),
        ("<answer>", None, "", None, "", "nothing behind it"),
        ("<answer/>", "", "", "", "", "closed by itself"),
        ("<answer/> 4", "", "", "", "", "text behind one that is closed by itself"),
        ("4 <answer/>", "", "", "", "", "text before it"),
        ("</answer>", None, None, "", "", "closed at once"),
        ("", None, None, None, "", "empty completion"),
        ("\ud800</answer>", None, None, "\ud800", "\ud800", "a lone surrogate"),
    ),
)
def test_tags_that_are_cut_off_or_opened_in_the_prompt(completion, closed, unclosed, prefilled, both):
    assert tag("answer")(completion) == closed
    assert tag("answer", unclosed=True)(completion) == unclosed
    assert tag("answer", prefilled=True)(completion) == prefilled
    assert tag("answer", unclosed=True, prefilled=True)(completion) == both


def test_what_is_behind_the_thinking_is_what_is_after_its_closing_tag():
    assert after("</think>", until="end")("<think>2+2</think>\nIt is\n4.") == "It is\n4."


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
        (r"so \boxed 4.", "4", "one digit without braces"),
        (r"\boxed4", "4", "without a space"),
        (r"\boxed x", "x", "one letter without braces"),
        (r"\boxed 42", None, "of two digits TeX would box the first"),
        (r"\boxed 4.5", None, "and of decimals"),
        (r"\boxed x^2", None, "and of a power"),
        (r"\boxed -4", None, "and the sign alone"),
        (r"\boxed\pi", None, "a command without braces"),
        (r"\fbox{4}", "4", "the box of TeX's text"),
        (r"\fbox{$\frac{1}{2}$}", r"$\frac{1}{2}$", "with mathematics in it"),
        (r"\boxed{3} \fbox{4}", "4", "one of each"),
        ("\\boxed\n{4}", "4", "a line break before the brace"),
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
        (after("####"), "#### 1 #### 2", "2", "two on a line"),
        (after("####", which="first"), "#### 1 #### 2", "1 #### 2", "the first of two on a line"),
        (after("####"), "########", "", "one behind another"),
        (after("=="), "===", "=", "a sign too many is text"),
        (after("Answer:"), "**Answer:** 42", "** 42", "Markdown stays: answer_phrase leaves it out"),
        (after("</think>", until="end"), "a</think>b</think> c ", "c", "behind the last closing tag"),
        (after("\u00c9T\u00c9", case=False), "\u00e9t\u00e9 42", "42", "letters that are not ASCII"),
        (after("\ud800"), "\ud800 42", "42", "a lone surrogate for a marker"),
        (after("= "), "x=4", None, "a space of the marker counts"),
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
        (pattern(r"(\d+)(?= kg)"), "3 kg 4 g", "3", "what stands behind it is not part of it"),
        (pattern(r"(?<=\$)\d+"), "3 $4", "4", "nor what stands before it"),
        (pattern(r"^(\w+)$"), "a\nb", None, "the ends of the text, not of lines"),
        (pattern(r"(?m)^(\w+)$"), "a\nb", "b", "the ends of lines where asked"),
        (pattern(r"a.b"), "a\nb", None, "a point is no line break"),
        (pattern(r"(?s)a(.)b"), "a\nb", "", "unless asked, and it is white space"),
        (pattern(r"\p{Han}+"), "42 \u7b54\u6848", "\u7b54\u6848", "scripts by name"),
        (pattern(r"(\d)\1"), "1223", "2", "a group again"),
        (pattern(r"(\d)(?:,(\d))?", group=2), "1,2 3", "2", "a match without the group is passed over"),
        (pattern(r"\d+"), "\u0664\u0662", "\u0664\u0662", "digits of other scripts"),
    ),
)
def test_pattern_gives_a_group_of_the_last_match(extractor, completion, expected):
    assert extractor(completion) == expected


@pytest.mark.parametrize("expression", [r"(?:a+)+$", r"(a|aa)+$"])
def test_a_runaway_pattern_ends_in_a_timeout_error(bounded, expression):
    with pytest.raises(TimeoutError, match=r"took longer than 0\.2 s"):
        pattern(expression, timeout=0.2)("a" * 5000 + "! b")


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (code_block(), "```\nx = 1\n```", "x = 1", "a block without a language"),
        (code_block(), "```\na\n```\n```\nb\n```", "b", "of several blocks the last"),
        (code_block(which="first"), "```\na\n```\n```\nb\n```", "a", "the first where asked"),
        (code_block("python"), "```python\na\n```\n```json\n{}\n```", "a", "of the language asked for"),
        (code_block("python"), "```Python title=a.py\na\n```", "a", "language in any case, text behind it"),
        (code_block("python"), "```\na\n```", None, "no language is another language"),
        (code_block("pyt"), "```python\na\n```", None, "the beginning of a language is another language"),
        (code_block("py"), "```python\na\n```", "a", "the short name of a language"),
        (code_block("python"), "```py\na\n```", "a", "and the long one"),
        (code_block("python"), "```Python3\na\n```", "a", "with a version"),
        (code_block("python"), "```{python}\na\n```", "a", "in braces, as notebooks of text have it"),
        (code_block("python"), "```{.python .numberLines}\na\n```", "a", "as a class, as Pandoc has it"),
        (code_block("c"), "```c++\na\n```", None, "another language that begins alike"),
        (code_block("python"), "```python x=1\n```", "", "what stands on the line of the fence is no code"),
        (code_block(), "~~~\na\n~~~", "a", "tildes"),
        (code_block(), "~~~\n```\n~~~", "```", "backticks do not close tildes"),
        (code_block(), "````\n```\na\n```\n````", "```\na\n```", "a shorter fence does not close"),
        (code_block(), "```\na\n`````  ", "a", "a longer fence with spaces behind it closes"),
        (code_block(), "   ```\r\na\r\n   ```\r\n", "a", "indented by three, with carriage returns"),
        (code_block(), "    ```\n    a\n    ```", "a", "indented by four, as in a list"),
        (code_block(), "- x\n    ```python\n    if a:\n        b\n    ```", "if a:\n    b", "in a list"),
        (code_block(), "- ```\n  a\n    b\n  ```", "a\n  b", "right behind the mark of a list"),
        (code_block("sh"), "1. ```sh\n   a\n   b\n   ```", "a\nb", "behind a number"),
        (code_block(), "\t```\n\ta\n\t\tb\n\t```", "a\n\tb", "indented by a tab"),
        (code_block(), "  ```\n  a\n b\n  ```", "a\nb", "a line that is indented less"),
        (code_block(), "```\na\n    b\n```", "a\n    b", "code keeps the indentation that is its own"),
        (code_block("python"), "> ```python\n> if a:\n>     b\n>\n> c\n> ```", "if a:\n    b\n\nc", "quoted"),
        (code_block(), ">```\n>a\n>```", "a", "quoted without spaces"),
        (code_block(), "> > ```\n> > a\n> > ```", "a", "quoted twice"),
        (code_block(), "> - ```\n>   a\n>   ```", "a", "in a list in a quote"),
        (code_block(), "> ```\n>\n> ```", "", "an empty quoted block"),
        (code_block(), "> ```\n> a\n\n```\nb\n```", "b", "a quote ends, and its open block with it"),
        (code_block(), "```\n> ```\n```", "> ```", "a quoted fence does not close one that is not"),
        (code_block(), "```\n- ```\n```", "- ```", "nor does one in a list"),
        (code_block(), "```\n(\n    ```\n)\n```", "(\n    ```\n)", "one indented by four is code"),
        (code_block(), "```\na\n   ```", "a", "one indented by three closes"),
        (code_block(), "~~~ a`b\nx\n~~~", "x", "a backtick behind tildes"),
        (code_block(), "~~~\nx\n~~~ `y\n~~~", "x\n~~~ `y", "what has text behind it does not close"),
        (code_block(), "~~~python\nx\n~~~~", "x", "more tildes close"),
        (code_block(), "so ```x``` and ```y```", None, "inline code in a sentence"),
        (code_block(unclosed=True), "> ```\n> a\n> b", "a\nb", "cut off in a quote"),
        (code_block(), "```x``` inline", None, "inline code is no block"),
        (code_block(), "text ```\na\n```", None, "a fence starts its line"),
        (code_block(), "```\n```", "", "an empty block is found and empty"),
        (code_block(), "```\n \n\n```", "", "a block of white space is found and empty"),
        (code_block(), "```python\na", None, "a block that is never closed"),
        (code_block(), "", None, "empty completion"),
        (code_block(), "```\n\ud800\x00\u202e\n```", "\ud800\x00\u202e", "hostile characters"),
        (code_block("c++"), "```C++ {.numbered}\na\n```", "a", "a language with signs in its name"),
        (
            code_block(),
            "```python\na\n```python\n```",
            "a\n```python",
            "a language does not close",
        ),
        (code_block(), "```\na\n~~~\n```", "a\n~~~", "tildes do not close backticks"),
        (code_block("python"), "```python\na\n```\n```python\nb", "a", "the last is not closed"),
        (code_block(unclosed=True), "```python\na\nb ", "a\nb", "cut off, where asked for"),
        (code_block(unclosed=True), "```\na\n```\n```\nb", "b", "cut off in the second"),
        (code_block("json", unclosed=True), "```\na\n```\n```python\nb", None, "cut off in another language"),
        (code_block(unclosed=True), "```\na\n```", "a", "closed all the same"),
        (code_block(unclosed=True), "```", "", "nothing behind it"),
        (code_block(unclosed=True), "none", None, "no fence"),
    ),
)
def test_code_block_gives_the_content_of_the_last_block(extractor, completion, expected):
    assert extractor(completion) == expected
