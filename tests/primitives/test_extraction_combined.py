"""Extraction by several extractors: the first that finds something, one in another, all occurrences."""

from __future__ import annotations

import pytest

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
    number,
    pattern,
    python_literal,
    tag,
    tool_call,
    within,
)


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


ANSWER = tag("answer")


@pytest.mark.parametrize(
    ("extractors", "completion", "expected"),
    table(
        ((ANSWER, number()), "I think it is 4", "4", "the second where the first finds nothing"),
        ((ANSWER, number()), "<answer>x</answer> 4", "x", "the first where it finds something"),
        ((ANSWER, number()), "4? <answer></answer>", "", "an empty value counts as found"),
        ((ANSWER, number()), "none", None, "none finds anything"),
        ((ANSWER, number()), "", None, "empty completion"),
        ((json_value("b"), number()), '{"a": 4}', "4", "a path that leads nowhere is not found"),
        ((first_of(boxed()), number()), r"\boxed{x} 4", "x", "one inside another"),
        ((number(which="first"), ANSWER), "1 2 <answer>3</answer>", "1", "each keeps its own which"),
    ),
)
def test_first_of_gives_the_value_of_the_first_that_finds_one(extractors, completion, expected):
    assert first_of(*extractors)(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (within(ANSWER, number()), "3 <answer>so 4 apples</answer> 5", "4", "a number in a tag"),
        (within(ANSWER, number()), "3 <answer>none</answer> 5", None, "nothing in the tag"),
        (within(ANSWER, number()), "3", None, "no tag"),
        (
            within(ANSWER, number()),
            "<answer>3</answer><answer></answer>",
            None,
            "the last tag is empty",
        ),
        (within(ANSWER, tag("b")), "<answer><b> 4 </b></answer>", "4", "a tag in a tag"),
        (within(ANSWER, boxed(), number()), r"<answer>1 \boxed{x = 2} 3</answer>", "2", "three deep"),
        (within(ANSWER, boxed(), number()), r"<answer>1</answer> \boxed{2}", None, "a box elsewhere"),
        (
            within(ANSWER, first_of(boxed(), number())),
            "<answer>4</answer>",
            "4",
            "the first of two in it",
        ),
        (
            within(first_of(boxed(), ANSWER), number()),
            "<answer>x = 4</answer>",
            "4",
            "in the first of two",
        ),
        (
            first_of(within(ANSWER, number()), ANSWER),
            "<answer>x</answer>",
            "x",
            "back to the outer",
        ),
        (within(within(tag("a"), tag("b")), number()), "<a>1<b>2</b>3</a>", "2", "one in another"),
        (
            within(ANSWER, within(tag("b"), number())),
            "<answer><b>2</b>3</answer>",
            "2",
            "the other way",
        ),
        (
            within(after("</think>", until="end"), number(which="first")),
            "1</think> 2 3",
            "2",
            "which of its own",
        ),
        (within(tag("think", prefilled=True), number()), "1 2</think> 3", "2", "in what the prompt opened"),
        (within(code_block("json"), json_value("a")), '```json\n{"a": 4}\n```', "4", "JSON in a block"),
        (within(json_value("a"), number()), '{"a": "it is 4 kg"}', "4", "in a text of JSON"),
        (within(json_value("a"), number(), number()), '{"a": "it is 4 kg"}', "4", "and in that again"),
        (within(json_value("a"), tag("b")), '{"a": "<b>\\u0034</b>"}', "4", "in a text that JSON escapes"),
        (within(ANSWER, json_value("a", repair=True)), "<answer>{'a': 4}</answer>", "4", "repaired"),
        (within(ANSWER, number()), "", None, "empty completion"),
        (within(ANSWER, number()), None, None, "no completion"),
        (within(ANSWER, gsm8k()), "#### 3\n<answer>#### 4</answer>", "4", "a mark in a tag"),
        (within(answer_phrase(), number()), "The answer is 4 of 5. 6", "5", "in a sentence"),
        (within(citation(), pattern(r"\d+")), "[Source: doc-12]", "12", "in an id"),
        (within(boxed(), choice()), r"A. \boxed{\text{B}}", "B", "a choice in a box"),
    ),
)
def test_within_gives_what_the_inner_finds_in_what_the_outer_found(extractor, completion, expected):
    assert extractor(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (citation(), "[Source: a] x [Source: b; c]", ["a", "b", "c"], "all citations"),
        (citation(), "none", [], "none"),
        (citation(), "[Source: ]", [""], "an empty one"),
        (number(), "1, 2 and 3/4", ["1", "2", "3/4"], "all numbers"),
        (number(which="first"), "1, 2", ["1", "2"], "whichever would have counted"),
        (tag("a"), "<a>1</a><a> 2 </a><a>3", ["1", "2"], "all pairs"),
        (boxed(), r"\boxed{1 \boxed{2}}", [r"1 \boxed{2}", "2"], "boxes in each other"),
        (code_block("python"), "```python\na\n```\n```c\nb\n```\n```python\n```", ["a", ""], "all blocks"),
        (json_value("a"), '{"a": 1} {"b": 2} {"a": "x"}', ["1", "x"], "those that have the key"),
        (json_value(), '{"a": 1} [2]', ['{"a": 1}', "[2]"], "all of JSON"),
        (json_value("a", repair=True), "{'a': 1}", ["1"], "what was repaired"),
        (python_literal(0), "[1] (2,)", ["1", "2"], "literals"),
        (choice(), "(A) is small. (B), not C.", ["A", "B"], "of the surest mark"),
        (choice(), "(A) or (B)", [], "a hedge"),
        (gsm8k(), "#### 1\n#### 2", ["1", "2"], "all marks"),
        (answer_phrase(), "Answer: 1\nAnswer: 2", ["1", "2"], "all phrases"),
        (answer_phrase(), "Answer: 4, no, answer: 5", ["4, no", "5"], "each up to the next"),
        (after("#"), "#1\n#2", ["1", "2"], "all markers"),
        (pattern(r"\d"), "1 2", ["1", "2"], "all matches"),
        (tool_call(path="name"), '<tool_call>{"name": "f"}</tool_call>' * 2, ["f", "f"], "all calls"),
        (first_of(tag("a"), number()), "1 <a>2</a> 3", ["2"], "all of the first that finds one"),
        (first_of(tag("a"), number()), "1 2", ["1", "2"], "all of the second"),
        (within(tag("a"), number()), "1 <a>2 3</a>", ["2", "3"], "all in the last pair"),
        (within(tag("a"), number()), "1", [], "no pair"),
        (within(json_value("a"), number()), '{"a": "1 or 2"}', ["1", "2"], "all in a text of JSON"),
        (number(), "", [], "empty completion"),
        (number(), None, None, "no completion"),
        (number(), 4, None, "no text"),
    ),
)
def test_every_gives_the_list_of_all_occurrences(extractor, completion, expected):
    assert every(extractor)(completion) == expected
    assert len(every(extractor).spans(completion)) == len(expected or [])


def test_spans_of_combinations_are_those_in_the_completion():
    text = "4 <answer>so 4</answer> [Source: a, b]"
    assert [text[slice(*span)] for span in every(citation()).spans(text)] == ["a", "b"]
    assert within(ANSWER, number()).spans(text) == [(13, 14)]
    assert every(within(ANSWER, number())).spans(text) == [(13, 14)]
    text = 'x {"a": "1 or 2"}'
    assert within(json_value("a"), number()).spans(text) == [(2, len(text))]
    assert every(within(json_value("a"), number())).spans(text) == [(2, len(text))] * 2
