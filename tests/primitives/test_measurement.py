"""Measurement: keywords, similarity, steps, patterns, and what all measures have in common."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.measure import (
    keywords,
    regex,
    similarity,
    steps,
)
from rewardkit.primitives.notes import listen


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("completion", "share", "every", "some"),
    table(
        ("First this, then that, so there", 1.0, 1.0, 1.0, "all, in any case, before a comma"),
        ("first this and then that", 2 / 3, 0.0, 1.0, "two of three"),
        ("so so so so", 1 / 3, 0.0, 1.0, "how often does not count"),
        ("also authentic firstly", 0.0, 0.0, 0.0, "inside other words they do not count"),
        (None, None, None, None, "no completion is not judged"),
    ),
)
def test_keywords_counts_whole_words(completion, share, every, some):
    words = ("first", "then", "so")
    assert keywords(*words)(completion) == share
    assert keywords(*words, mode="all")(completion) == every
    assert keywords(*words, mode="any")(completion) == some


@pytest.mark.parametrize(
    ("made", "completion", "expected"),
    table(
        (keywords("So", case=True), "so", 0.0, "case counts where asked"),
        (keywords("C++"), "in C++, not C", 1.0, "a word that ends in signs"),
        (keywords("a.c"), "abc", 0.0, "words are no patterns"),
        (keywords("\u00e9t\u00e9"), "e\u0301te\u0301", 1.0, "composed and decomposed letters"),
        (keywords("\u6b63\u786e"), "\u4e0d\u6b63\u786e", 1.0, "also behind a not: documented"),
        (keywords("5"), "15, 5.2, 1,500", 0.0, "fault in the wild: digits inside other numbers"),
        (keywords("5"), "15 or 5", 1.0, "a number by itself"),
        (keywords("so", mode="count", full_at=2), "so, so, so", 1.0, "more occurrences than are paid"),
        (keywords("so", mode="count", full_at=4), "so, SO, so", 0.75, "three occurrences of four"),
        (keywords("so", mode="count", full_at=4, case=True), "so, SO", 0.25, "case counts where asked"),
        (keywords("so", mode="count", full_at=2), "also", 0.0, "no part of a word is counted"),
        (keywords("so", mode="count", full_at=2), None, None, "no completion is not judged"),
    ),
)
def test_keywords_are_plain_text(made, completion, expected):
    assert made(completion) == expected


def test_keywords_notes_those_found():
    with listen() as notes:
        keywords("first", "so")("so what")
    assert notes == {"keywords": ["so"]}


def test_keywords_notes_how_often_they_are_found():
    with listen() as notes:
        keywords("first", "so", mode="count", full_at=3)("so so")
    assert notes == {"keywords": {"first": 0, "so": 2}}


WORDS = st.lists(st.sampled_from(["so", "first", "also", "x"]), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    "options", [{}, {"mode": "all"}, {"mode": "any"}, {"mode": "count", "full_at": 3}], ids=str
)
@given(text=WORDS, more=WORDS)
def test_keywords_never_fall_when_words_are_added(options, text, more):
    measure = keywords("so", "first", **options)
    assert 0.0 <= measure(text) <= measure(f"{text} {more}") <= 1.0


METHODS = ("ratio", "partial", "token_sort", "token_set")


@pytest.mark.parametrize(
    ("method", "prediction", "ground_truth", "expected"),
    table(
        ("ratio", "abc", "xyz", 0.0, "nothing in common"),
        ("ratio", "", "Paris", 0.0, "an empty prediction"),
        ("token_sort", "b a", "a b", 1.0, "words in another order"),
        ("token_set", "it is Paris or London", "Paris", 1.0, "the documented hole: words around the truth"),
        ("ratio", None, "Paris", 0.0, "no prediction"),
        ("ratio", None, None, None, "neither"),
        ("ratio", "Paris", float("nan"), None, "a truth of NaN, which is how tables write a missing one"),
        ("token_sort", "\u4e8c\u4e00", "\u4e00\u4e8c", 1.0, "Chinese characters are words, in another order"),
        ("token_set", "\u4e00\u4e00\u4e8c", "\u4e00\u4e8c", 1.0, "and a set of them"),
        ("ratio", "a" * 40_000, "a" * 80_000, 40_000 / 120_000, "20,000 characters of each are compared"),
        ("partial", "a" * 2_000, "a" * 9_000, 0.5, "and 1,000 of a piece"),
        ("partial", "Paris", "x" * 19_000 + "Paris", 1.0, "a short piece late in a long text"),
    ),
)
def test_similarity_by_method(method, prediction, ground_truth, expected):
    assert similarity(method)(prediction, ground_truth) == (
        expected if expected is None else pytest.approx(expected, rel=1e-12, abs=1e-15)
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ["Paris", "a b", "", "!", " "], ids=repr)
def test_a_text_is_wholly_similar_to_itself(method, text):
    assert similarity(method)(text, text) == 1.0


def longest_common_subsequence(a, b):
    row = [0] * (len(b) + 1)
    for letter in a:
        before = row[:]
        for j, other in enumerate(b, 1):
            row[j] = before[j - 1] + 1 if letter == other else max(before[j], row[j - 1])
    return row[-1]


@given(a=st.text("abc ", max_size=12), b=st.text("abc ", min_size=1, max_size=12))
def test_similarity_is_twice_the_common_letters_over_all_letters(a, b):
    expected = 2 * longest_common_subsequence(a, b) / (len(a) + len(b))
    assert similarity()(a, b) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("method", METHODS)
@given(a=st.text("ab c", max_size=12), b=st.text("ab c", max_size=12))
def test_similarity_is_symmetric(method, a, b):
    assert similarity(method)(a, b) == similarity(method)(b, a)


@pytest.mark.parametrize(
    ("text", "numbered", "lines", "sections"),
    table(
        ("1. Add.\n2. Double.\n3. Halve.", 3, 3, 0, "numbers with full stops"),
        ("- Add.\n* Double.\n\u2022 Halve.", 3, 3, 0, "bullets"),
        ("Step 1: Add.\nstep 2 - Double.\n**Step 3:** Halve.", 3, 3, 0, "the word step"),
        ("### Step 1: Add\nWe add.\n### Step 2: Double\nWe double.", 2, 4, 2, "steps as headings"),
        ("第一步：相加。\n第二步：加倍。", 2, 2, 0, "Chinese"),
        ("步骤1：相加\n1、加倍\n2．减", 3, 3, 0, "and other marks of it"),
        ("1. Add.\n2. Add.\n3. add!", 1, 1, 0, "the same step again, however it is numbered"),
        ("1.\n2.\n3.", 0, 3, 0, "numbers that say nothing"),
        ("Add 1. Then 2. Then 3.", 0, 1, 0, "numbers inside a line"),
        ("  1. Add.\n\t2. Double.\n> 3. Halve.", 3, 3, 0, "indented and quoted"),
        ("# One\ntext\n# Two\nmore", 0, 4, 2, "headings"),
        ("**One**\ntext\n__Two:__\nmore", 0, 4, 2, "bold lines as headings"),
        ("# One\n# Two\n# Three", 0, 3, 0, "headings without text"),
        ("so\nso\nSo.", 0, 1, 0, "the same line again"),
    ),
)  # fmt: skip
def test_steps_lines_and_sections_are_counted_once_each(text, numbered, lines, sections):
    for kind, count in (("steps", numbered), ("lines", lines), ("sections", sections)):
        with listen() as notes:
            assert steps(10, kind=kind)(text) == count / 10
        assert notes == {kind: count}


def test_steps_are_paid_up_to_a_number():
    text = "\n".join(f"{at}. Step {'x' * at}" for at in range(1, 6))
    assert [steps(full_at)(text) for full_at in (4, 5, 10)] == [1.0, 1.0, 0.5]
    assert steps(4)(None) is None


STEP_LINES = st.sampled_from(
    ["1. add", "2. add", "- double", "# One", "# Two", "text", "more", "", "Step 3: so"]
)


@pytest.mark.parametrize("kind", ["steps", "lines"])
@given(lines=st.lists(STEP_LINES, max_size=8), more=STEP_LINES, at=st.integers(0, 8))
def test_steps_and_lines_never_fall_wherever_a_line_is_added(kind, lines, more, at):
    measure = steps(5, kind=kind)
    assert measure("\n".join(lines)) <= measure("\n".join([*lines[:at], more, *lines[at:]]))


def test_sections_fall_where_a_line_higher_up_parts_a_heading_from_its_text():
    measure = steps(2, kind="sections")
    assert measure("# One\ntext\n# Two\nmore") == 1.0
    assert measure("# One\n# Two\ntext\n# Two\nmore") == 0.5
    assert measure("# One\nmore\ntext\n# Two\nmore") == 0.5


@pytest.mark.parametrize("kind", ["steps", "lines", "sections"])
@given(lines=st.lists(STEP_LINES, max_size=8), more=st.lists(STEP_LINES, max_size=4))
def test_steps_never_fall_when_lines_are_added_at_the_end(kind, lines, more):
    measure = steps(5, kind=kind)
    assert 0.0 <= measure("\n".join(lines)) <= measure("\n".join(lines + more)) <= 1.0


@pytest.mark.parametrize(
    ("expression", "text", "search", "fullmatch"),
    table(
        (r"\d+", "42", 1.0, 1.0, "all of the text"),
        (r"\d+", "it is 42", 1.0, 0.0, "a part of it"),
        (r"\d+", "42\n", 1.0, 0.0, "white space counts"),
        (r"\d+", "four", 0.0, 0.0, "nowhere"),
        (r"<think>.*</think>", "<think>a\nb</think>", 0.0, 0.0, "a full stop is no line break"),
        (r"\bcat\b", "a cat", 1.0, 0.0, "borders of words"),
        (r"cat", None, None, None, "no completion is not judged"),
    ),
)
def test_regex_finds_a_pattern_or_matches_all(expression, text, search, fullmatch):
    assert regex(expression)(text) == search
    assert regex(expression, mode="fullmatch")(text) == fullmatch
