"""Extraction by several extractors: the first that finds something, one in another, all occurrences."""

from __future__ import annotations

import pytest

from rewardkit.primitives.extract import (
    boxed,
    choice,
    citation,
    every,
    first_of,
    json_value,
    number,
    tag,
    within,
)


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


ANSWER = tag("answer")


@pytest.mark.parametrize(
    ("extractors", "completion", "expected"),
    table(
        ((ANSWER, number()), "<answer>x</answer> 4", "x", "the first where it finds something"),
        ((ANSWER, number()), "4? <answer></answer>", "", "an empty value counts as found"),
        ((ANSWER, number()), "none", None, "none finds anything"),
        ((json_value("b"), number()), '{"a": 4}', "4", "a path that leads nowhere is not found"),
    ),
)
def test_first_of_gives_the_value_of_the_first_that_finds_one(extractors, completion, expected):
    assert first_of(*extractors)(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (within(ANSWER, number()), "3 <answer>so 4 apples</answer> 5", "4", "a number in a tag"),
        (within(ANSWER, number()), "3", None, "no tag"),
        (
            within(ANSWER, number()),
            "<answer>3</answer><answer></answer>",
            None,
            "the last tag is empty",
        ),
        (within(ANSWER, boxed(), number()), r"<answer>1 \boxed{x = 2} 3</answer>", "2", "three deep"),
        (within(ANSWER, boxed(), number()), r"<answer>1</answer> \boxed{2}", None, "a box elsewhere"),
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
        (within(json_value("a"), number()), '{"a": "it is 4 kg"}', "4", "in a text of JSON"),
        (within(json_value("a"), number(), number()), '{"a": "it is 4 kg"}', "4", "and in that again"),
        (within(ANSWER, number()), None, None, "no completion"),
    ),
)
def test_within_gives_what_the_inner_finds_in_what_the_outer_found(extractor, completion, expected):
    assert extractor(completion) == expected


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (citation(), "[Source: a] x [Source: b; c]", ["a", "b", "c"], "all citations"),
        (citation(), "none", [], "none"),
        (number(which="first"), "1, 2", ["1", "2"], "whichever would have counted"),
        (json_value("a"), '{"a": 1} {"b": 2} {"a": "x"}', ["1", "x"], "those that have the key"),
        (choice(), "(A) or (B)", [], "a hedge"),
        (first_of(tag("a"), number()), "1 <a>2</a> 3", ["2"], "all of the first that finds one"),
        (first_of(tag("a"), number()), "1 2", ["1", "2"], "all of the second"),
        (within(tag("a"), number()), "1 <a>2 3</a>", ["2", "3"], "all in the last pair"),
        (within(tag("a"), number()), "1", [], "no pair"),
        (within(json_value("a"), number()), '{"a": "1 or 2"}', ["1", "2"], "all in a text of JSON"),
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
