"""Measures of text: keywords, similarity, steps, patterns, length, repetition, diversity; what they note."""

from __future__ import annotations

import base64
import math
import random
from collections import Counter
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tabled import columns, noted, table

from rewardkit.primitives.measure import (
    diversity,
    keywords,
    length,
    overlong,
    regex,
    repetition,
    similarity,
    steps,
)

ORDINARY = "The total is the sum of the parts, and the parts are the two boxes on the table and the chair."
CODE = """
def area(shape):
    if shape.kind == "circle":
        return shape.radius ** 2 * math.pi
    if shape.kind == "square":
        return shape.side ** 2
    return None


def name(shape):
    if not shape.kind:
        return None
    return shape.kind
"""
ARGUMENT = "So x = 4. So y = 5. So x + y = 9. Yes. The sum of x and y is 9. Yes."
ENCODED = base64.b64encode(random.Random(20261203).randbytes(3000)).decode()
THREE = ("first", "then", "so")
KEYWORDS = columns(
    (keywords(*THREE), keywords(*THREE, mode="all"), keywords(*THREE, mode="any")),
    ("also authentic firstly", 0.0, 0.0, 0.0, "inside other words they do not count"),
)
PLAIN = (
    (keywords("\u6b63\u786e"), "\u4e0d\u6b63\u786e", 1.0, "also behind a not: documented"),
    (keywords("5"), "15, 5.2, 1,500", 0.0, "fault in the wild: digits inside other numbers"),
)
LOWER_LIMITS = (
    (4, {"full_until": 30, "zero_from": 40}, 0.2, "short texts lose where only the top is given"),
)
TOP = partial(length, zero_until=10, full_from=20, full_until=30, zero_from=50)
RUNS = (
    (ORDINARY, 4, 0.0, "an ordinarily repeated word is no repetition"),
    ("no " * 1001, 4, 1 - 1 / 998, "a long loop comes near 1"),
    (ENCODED, 4, 0.0, "what is encoded has no spaces by nature"),
)
ROUND = "I will try again. "
LOOPS = (
    (ROUND * 3, 1.0, "three rounds, and nothing else"),
    (ROUND * 3 + "Done.", 0.0, "a loop that ended is none at the end"),
    ("等一下。" * 6, 1.0, "Chinese"),
)
AGAIN = columns(
    (repetition(kind="sentences"), repetition(kind="lines")),
    ("I will try this again.\n" * 4, 0.75, 0.75, "and in four lines"),
    ("I will try this again! i WILL try  this again!", 0.5, 0.0, "in any case and white space"),
)
CYCLE = " ".join(f"w{at}" for at in range(200)) + " "  # the share of different words in the whole falls
SCORES = (
    *KEYWORDS,
    *PLAIN,
    (regex(r"\d+"), "it is 42", 1.0, "a part of the text"),
    (regex(r"\d+", mode="fullmatch"), "it is 42", 0.0, "not all of it"),
    (length(full_until=2, zero_from=6), "one two three", 0.75, "one word over"),
    *((length(full_from=20, **options), "w " * size, *row) for size, options, *row in LOWER_LIMITS),
    (TOP(fall="linear"), "w " * 12, 0.2, "a fifth up"),
    (TOP(fall="cosine"), "w " * 12, 0.5 - math.cos(math.pi * 0.2) / 2, "by the cosine"),
    (TOP(fall="exponential"), "w " * 12, math.expm1(0.8) / math.expm1(4), "by the exponential"),
    *((repetition(ngram=ngram), text, *row) for text, ngram, *row in RUNS),
    *((repetition(kind="loop"), *row) for row in LOOPS),
    *AGAIN,
    (diversity(window=50), CYCLE * 5, 1.0, "it does not fall with length by itself"),
    (steps(2, kind="sections"), "# One\n# Two\ntext\n# Two\nmore", 0.5, "a heading before another one"),
    # the negative of equation 13 of the paper of DAPO: ((20480 - 4096) - 18432) / 4096
    (overlong(limit=20_480, buffer=4_096, unit="characters"), "x" * 18_432, 0.5, "half way"),
)


@pytest.mark.parametrize(("made", "text", "expected"), table(*SCORES))
def test_a_measure_scores_a_text(made, text, expected):
    assert made(text) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("method", "prediction", "ground_truth", "expected"),
    table(
        ("token_set", "it is Paris or London", "Paris", 1.0, "the documented hole: words around the truth"),
        ("ratio", None, "Paris", 0.0, "no prediction"),
        ("ratio", "Paris", float("nan"), None, "a truth of NaN, which is how tables write a missing one"),
        ("ratio", "a" * 40_000, "a" * 80_000, 40_000 / 120_000, "20,000 characters of each are compared"),
    ),
)
def test_similarity_by_method(method, prediction, ground_truth, expected):
    assert similarity(method)(prediction, ground_truth) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "numbered", "lines", "sections"),
    table(
        ("### Step 1: Add\nWe add.\n### Step 2: Double\nWe double.", 2, 4, 2, "steps as headings"),
        ("第一步：相加。\n第二步：加倍。", 2, 2, 0, "Chinese"),
        ("1. Add.\n2. Add.\n3. add!", 1, 1, 0, "the same step again, however it is numbered"),
    ),
)  # fmt: skip
def test_steps_lines_and_sections_are_counted_once_each(text, numbered, lines, sections):
    for kind, count in (("steps", numbered), ("lines", lines), ("sections", sections)):
        assert steps(10, kind=kind)(text) == count / 10
        assert noted(steps(10, kind=kind), text) == {kind: count}


def test_ordinary_text_is_not_repetition_of_any_kind():
    # in an argument of short sentences there is one run; any repeated word counted once: a fault in the wild
    for text, runs in ((ORDINARY, 0.0), (CODE, 0.0), (ARGUMENT, 1 / 20)):
        assert repetition(ngram=8)(text) == 0.0
        assert {repetition(kind=kind)(text) for kind in ("loop", "sentences", "lines")} == {0.0}
        assert repetition()(text) <= runs


@pytest.mark.parametrize(
    ("measure", "text", "expected"),
    table(
        (repetition(kind="loop"), "no! " * 9, {"loop": {"characters": 35, "unit": " no!"}}, "a loop"),
        (length(full_until=1, zero_from=100), "我有三个苹果", {"length": 6}, "Chinese characters are words"),
    ),
)
def test_a_measure_notes_what_it_counted(measure, text, expected):
    assert noted(measure, text) == expected


def longest_common_subsequence(a, b):
    row = [0] * (len(b) + 1)
    for letter in a:
        before = row[:]
        for j, other in enumerate(b, 1):
            row[j] = before[j - 1] + 1 if letter == other else max(before[j], row[j - 1])
    return row[-1]


SHORT = st.text("ab c", max_size=12)


@given(a=SHORT, b=SHORT)
def test_similarity_is_symmetric_whole_with_itself_and_twice_the_common_letters_over_all(a, b):
    for method in ("ratio", "partial", "token_sort", "token_set"):
        assert similarity(method)(a, b) == similarity(method)(b, a)
        assert similarity(method)(a, a) == 1.0
    expected = 2 * longest_common_subsequence(a, b) / (len(a) + len(b)) if a or b else 1.0
    assert similarity()(a, b) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(words=st.lists(st.sampled_from("abcde"), min_size=1, max_size=30), size=st.integers(1, 8))
def test_repetition_and_diversity_agree_with_counting(words, size):
    runs = Counter(" ".join(words[start : start + size]) for start in range(len(words) - size + 1))
    repeated = sum(count - 1 for count in runs.values())
    expected = repeated / runs.total() if runs else 0.0
    assert repetition(ngram=size)(" ".join(words)) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert noted(repetition(ngram=size), " ".join(words)) == ({"repeated_ngrams": repeated} if runs else {})
    window = min(size, len(words))
    shares = [len(set(words[at : at + window])) / window for at in range(len(words) - window + 1)]
    assert diversity(window=size)(" ".join(words)) == pytest.approx(sum(shares) / len(shares))


def loop_by_trying(text):
    """The longest end of a text that is periodic with three rounds or more, found the slow way."""
    text = text.strip()
    longest = 0
    for size in range(24, len(text) + 1):
        end = text[-size:]
        if any(end[period:] == end[:-period] for period in range(1, (size + 2) // 3 + 1)):
            longest = size
    return longest / len(text) if text else 0.0


@given(
    before=st.text("ab ", max_size=6),
    unit=st.text("ab ", min_size=1, max_size=9),
    times=st.integers(1, 8),
    cut=st.integers(0, 8),
)
def test_the_loop_found_is_the_longest_there_is_and_every_round_costs_more(before, unit, times, cut):
    text = before + unit * times + unit[:cut]
    loop = repetition(kind="loop")
    assert loop(text) == pytest.approx(loop_by_trying(text))
    if unit.strip():
        assert 0.0 < loop(before + unit * 24) <= loop(before + unit * (24 + times)) + 1e-12 <= 1.0 + 1e-12
