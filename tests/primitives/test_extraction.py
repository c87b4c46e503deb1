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
        ("<answer>3</answer> no: <answer>4</answer>", "4", "of several pairs the last"),
        ("<ANSWER>4</Answer>", "4", "case does not matter"),
        ("<answer>1<answer>2</answer>3</answer>", "2", "of nested pairs the innermost"),
        ("<answer></answer>", "", "an empty pair is found and empty"),
        ("4</answer>", None, "never opened"),
        ("<answers>4</answers>", None, "a longer name is another tag"),
        ("<answer>3</answer> <answer/>", "", "an empty pair is a pair"),
        ("<answer note='a>b' n = \">\">42</answer>", "42", "in quotes of both kinds, with spaces"),
        ('<answer note="a>b"/> 42', "", "a tag with it that closes itself"),
    ),
)
def test_tag_gives_the_text_of_the_last_pair(completion, expected):
    assert tag("answer")(completion) == expected


@pytest.mark.parametrize(
    ("completion", "closed", "unclosed", "prefilled", "both"),
    table(
        ("4", None, None, None, "4", "no tag"),
        ("4</answer>", None, None, "4", "4", "never opened"),
        ("<answer>4</answer>", "4", "4", "4", "4", "one pair"),
        ("<answer>4</answer> <answer> 5 ", "4", "5", "4", "5", "cut off in the second"),
        ("4</answer> 5</answer>", None, None, "4", "4", "closed twice"),
        ("<answer>4</answer", None, "4", None, "4", "cut off in its closing tag"),
        ("<answer>4</ANS", None, "4", None, "4", "earlier in it, in upper case"),
        ("<answer>4</b", None, "4</b", None, "4</b", "cut off in another tag"),
        ("<answer>4<", None, "4<", None, "4<", "a bracket alone may be a sign"),
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
        (r"\boxed{1 + \boxed{2}}", "2", "of nested boxes the innermost"),
        (r"\boxed{\}}", r"\}", "an escaped closing brace does not close"),
        (r"\boxed{a} } }", "a", "closing braces too many"),
        (r"\boxed{}", "", "an empty box is found and empty"),
        (r"\boxed{4", None, "a box that is never closed"),
        (r"so \boxed 4.", "4", "one digit without braces"),
        (r"\boxed4", "4", "without a space"),
        (r"\boxed x", "x", "one letter without braces"),
        (r"\boxed 4.5", None, "and of decimals"),
        (r"\boxed x^2", None, "and of a power"),
        (r"\fbox{$\frac{1}{2}$}", r"$\frac{1}{2}$", "with mathematics in it"),
        ("boxed{4}", None, "no backslash"),
        (r"\\boxed{4}", None, "a line break before the word boxed is no box"),
        (r"\boxedtext{4}", None, "a longer command"),
    ),
)
def test_boxed_gives_the_content_of_the_last_box(completion, expected):
    assert boxed()(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (after("####"), "#### 42\nbye", "42", "to the end of the line"),
        (after("####"), "#### 1\n#### 2\n", "2", "of several markers the last"),
        (after("####", which="first"), "#### 1\n#### 2\n", "1", "the first where asked"),
        (after("####", until="end"), "#### 42\nbye ", "42\nbye", "to the end of the completion"),
        (after("####"), "#### 42\r\nbye", "42", "a carriage return is white space"),
        (after("####"), "####", "", "nothing after it is found and empty"),
        (after("Answer:"), "answer: 42", None, "case counts"),
        (after("Answer:", case=False), "ANSWER: 42", "42", "case does not count where asked"),
        (after("(.*)"), "xyz", None, "the marker is no pattern"),
        (after("####", which="first"), "#### 1 #### 2", "1 #### 2", "the first of two on a line"),
        (after("</think>", until="end"), "a</think>b</think> c ", "c", "behind the last closing tag"),
        (after("\u00c9T\u00c9", case=False), "\u00e9t\u00e9 42", "42", "letters that are not ASCII"),
        (after("\ud800"), "\ud800 42", "42", "a lone surrogate for a marker"),
    ),
)
def test_after_gives_the_text_behind_the_marker(extractor, completion, expected):
    assert extractor(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (pattern(r"total: (\d+)"), "total: 3, total: 4", "4", "the first group of the last match"),
        (pattern(r"\d+"), "a 12 b", "12", "without groups the whole match"),
        (pattern(r"(\d+) (kg)"), "12 kg", "12", "of two groups the first"),
        (pattern(r"(\d+) (kg)", group=0), "12 kg", "12 kg", "group 0 is the whole match"),
        (pattern(r"(?P<n>\d+) kg", group="n"), "12 kg", "12", "a group by name"),
        (pattern(r"a|(b)"), "b a", "b", "a match without the group is left out"),
        (pattern(r"\d+"), "none", None, "no match"),
        (pattern(r"(\d)(?:,(\d))?", group=2), "1,2 3", "2", "a match without the group is passed over"),
    ),
)
def test_pattern_gives_a_group_of_the_last_match(extractor, completion, expected):
    assert extractor(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (code_block(), "```\nx = 1\n```", "x = 1", "a block without a language"),
        (code_block(), "```\na\n```\n```\nb\n```", "b", "of several blocks the last"),
        (code_block(which="first"), "```\na\n```\n```\nb\n```", "a", "the first where asked"),
        (code_block("python"), "```python\na\n```\n```json\n{}\n```", "a", "of the language asked for"),
        (code_block("py"), "```python\na\n```", "a", "the short name of a language"),
        (code_block("python"), "```py\na\n```", "a", "and the long one"),
        (code_block("python"), "```Python3\na\n```", "a", "with a version"),
        (code_block("python"), "```{python}\na\n```", "a", "in braces, as notebooks of text have it"),
        (code_block("python"), "```{.python .numberLines}\na\n```", "a", "as a class, as Pandoc has it"),
        (code_block("c"), "```c++\na\n```", None, "another language that begins alike"),
        (code_block(), "~~~\na\n~~~", "a", "tildes"),
        (code_block(), "~~~\n```\n~~~", "```", "backticks do not close tildes"),
        (code_block(), "````\n```\na\n```\n````", "```\na\n```", "a shorter fence does not close"),
        (code_block(), "- x\n    ```python\n    if a:\n        b\n    ```", "if a:\n    b", "in a list"),
        (code_block(), "- ```\n  a\n    b\n  ```", "a\n  b", "right behind the mark of a list"),
        (code_block("sh"), "1. ```sh\n   a\n   b\n   ```", "a\nb", "behind a number"),
        (code_block(), "\t```\n\ta\n\t\tb\n\t```", "a\n\tb", "indented by a tab"),
        (code_block("python"), "> ```python\n> if a:\n>     b\n>\n> c\n> ```", "if a:\n    b\n\nc", "quoted"),
        (code_block(), "> - ```\n>   a\n>   ```", "a", "in a list in a quote"),
        (code_block(), "> ```\n> a\n\n```\nb\n```", "b", "a quote ends, and its open block with it"),
        (code_block(), "```\n> ```\n```", "> ```", "a quoted fence does not close one that is not"),
        (code_block(), "```\n- ```\n```", "- ```", "nor does one in a list"),
        (code_block(), "```\n(\n    ```\n)\n```", "(\n    ```\n)", "one indented by four is code"),
        (code_block(), "~~~\nx\n~~~ `y\n~~~", "x\n~~~ `y", "what has text behind it does not close"),
        (code_block(unclosed=True), "> ```\n> a\n> b", "a\nb", "cut off in a quote"),
        (code_block(), "```x``` inline", None, "inline code is no block"),
        (code_block(), "text ```\na\n```", None, "a fence starts its line"),
        (code_block(), "```\n```", "", "an empty block is found and empty"),
        (code_block(), "```python\na", None, "a block that is never closed"),
        (
            code_block(),
            "```python\na\n```python\n```",
            "a\n```python",
            "a language does not close",
        ),
        (code_block(unclosed=True), "```\na\n```\n```\nb", "b", "cut off in the second"),
        (code_block("json", unclosed=True), "```\na\n```\n```python\nb", None, "cut off in another language"),
        (code_block(unclosed=True), "```\na\n```", "a", "closed all the same"),
        (code_block(unclosed=True), "none", None, "no fence"),
    ),
)
def test_code_block_gives_the_content_of_the_last_block(extractor, completion, expected):
    assert extractor(completion) == expected
