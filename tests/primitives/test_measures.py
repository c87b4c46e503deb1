"""Measures of text: keywords, similarity, steps, patterns, length, repetition, diversity; what they note."""

import base64
import math
import random
from collections import Counter
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tabled import noted, table

import rewardkit as rk
from rewardkit.primitives.primitive import listen

measure = rk.measure
ORDINARY = "The total is the sum of the parts, and the parts are the two boxes on the table and the chair."
CODE = """
def area(shape):
    if shape.kind == "circle":
        return shape.radius ** 2 * math.pi
    if shape.kind == "square":
        return shape.side ** 2
    return None
"""
ARGUMENT = "So x = 4. So y = 5. So x + y = 9. Yes. The sum of x and y is 9. Yes."
ENCODED = base64.b64encode(random.Random(20261203).randbytes(3000)).decode()
INSIDE = "also authentic firstly"
ROUND, LINE = "I will try again. ", "I will try this again.\n"
CYCLE = (
    " ".join(f"w{at}" for at in range(200)) + " "
)  # the share of different words in the whole falls
STEPS, CHINESE = (
    "### Step 1: Add\nWe add.\n### Step 2: Double\nWe double.",
    "第一步：相加。\n第二步：加倍。",
)
TOP = partial(measure.length, full_from=20, zero_until=10, full_until=30, zero_from=50)
LOOP, SENTENCES, LINES = (
    partial(measure.repetition, kind=kind) for kind in ("loop", "sentences", "lines")
)
SCORES = (
    (
        measure.keywords("first", "so", mode="any"),
        INSIDE,
        0.0,
        "inside other words they do not count",
    ),
    (measure.keywords("正确"), "不正确", 1.0, "also behind a not: documented"),
    (
        measure.keywords("5"),
        "15, 5.2, 1,500",
        0.0,
        "fault in the wild: digits inside other numbers",
    ),
    (measure.regex(r"\d+"), "it is 42", 1.0, "a part of the text"),
    (measure.regex(r"\d+", mode="fullmatch"), "it is 42", 0.0, "not all of it"),
    (measure.length(full_until=2, zero_from=6), "one two three", 0.75, "one word over"),
    (
        measure.length(full_from=20, full_until=30, zero_from=40),
        "w " * 4,
        0.2,
        "short texts lose, too",
    ),
    (TOP(fall="linear"), "w " * 12, 0.2, "a fifth up"),
    (TOP(fall="cosine"), "w " * 12, 0.5 - math.cos(math.pi * 0.2) / 2, "by the cosine"),
    (
        TOP(fall="exponential"),
        "w " * 12,
        math.expm1(0.8) / math.expm1(4),
        "by the exponential",
    ),
    (measure.repetition(), "no " * 1001, 1 - 1 / 998, "a long loop comes near 1"),
    (measure.repetition(), ENCODED, 0.0, "what is encoded has no spaces by nature"),
    (LOOP(), ROUND * 3, 1.0, "three rounds, and nothing else"),
    (LOOP(), ROUND * 3 + "Done.", 0.0, "a loop that ended is none at the end"),
    (LOOP(), "等一下。" * 6, 1.0, "rounds in Chinese"),
    (SENTENCES(), LINE * 4, 0.75, "a sentence four times"),
    (LINES(), LINE * 4, 0.75, "a line four times"),
    (
        SENTENCES(),
        "I will try this again! i WILL try  this again!",
        0.5,
        "in any case and white space",
    ),
    (
        measure.diversity(window=50),
        CYCLE * 5,
        1.0,
        "it does not fall with length by itself",
    ),
    (
        measure.steps(2, kind="sections"),
        "# One\n# Two\ntext\n# Two\nmore",
        0.5,
        "a heading before another",
    ),
    (measure.steps(10), STEPS, 0.2, "steps as headings"),
    (measure.steps(10), CHINESE, 0.2, "steps in Chinese"),
    (
        measure.steps(10, kind="lines"),
        "1. Add.\n2. Add.\n3. add!",
        0.1,
        "the same again, however numbered",
    ),
    # the negative of equation 13 of the paper of DAPO: ((20480 - 4096) - 18432) / 4096
    (
        measure.overlong(limit=20_480, buffer=4_096, unit="characters"),
        "x" * 18_432,
        0.5,
        "half way",
    ),
)


@pytest.mark.parametrize(("made", "text", "expected"), table(*SCORES))
def test_a_measure_scores_a_text(made, text, expected):
    assert made(text) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_ordinary_text_is_not_repetition_of_any_kind():
    # in an argument of short sentences there is one run; any repeated word counted once: a fault in the wild
    for text, runs in ((ORDINARY, 0.0), (CODE, 0.0), (ARGUMENT, 1 / 20)):
        assert (
            measure.repetition(ngram=8)(text)
            == LOOP()(text)
            == SENTENCES()(text)
            == LINES()(text)
            == 0.0
        )
        assert measure.repetition()(text) <= runs


NOTED = (
    (LOOP(), "no! " * 9, {"loop": {"characters": 35, "unit": " no!"}}, "a loop"),
    (
        measure.length(full_until=1, zero_from=9),
        "我有三个苹果",
        {"length": 6},
        "Chinese characters are words",
    ),
    (measure.steps(10, kind="lines"), STEPS, {"lines": 4}, "lines"),
    (measure.steps(10, kind="sections"), CHINESE, {"sections": 0}, "no headings"),
)


@pytest.mark.parametrize(("made", "text", "expected"), table(*NOTED))
def test_a_measure_notes_what_it_counted(made, text, expected):
    assert noted(made, text) == expected


def test_the_innermost_listener_hears_the_last_value_of_each_note_until_its_block_ends_or_raises():
    with listen() as outer:
        rk.note("a", 1)
        with pytest.raises(KeyError), listen() as inner:
            rk.note("b", 1)
            rk.note("b", 2)
            raise KeyError
        rk.note("c", None)
    rk.note("late", 1)
    assert (outer, inner) == ({"a": 1, "c": None}, {"b": 2})


def longest_common_subsequence(a, b):
    row = [0] * (len(b) + 1)
    for letter in a:
        before = row[:]
        for j, other in enumerate(b, 1):
            row[j] = (
                before[j - 1] + 1 if letter == other else max(before[j], row[j - 1])
            )
    return row[-1]


SHORT = st.text("ab c", max_size=12)


@given(a=SHORT, b=SHORT)
def test_similarity_is_symmetric_whole_with_itself_and_twice_the_common_letters_over_all(
    a, b
):
    for method in ("ratio", "partial", "token_sort", "token_set"):
        similarity = measure.similarity(method)
        assert similarity(a, b) == similarity(b, a) and similarity(a, a) == 1.0
    expected = (
        2 * longest_common_subsequence(a, b) / (len(a) + len(b)) if a or b else 1.0
    )
    assert measure.similarity()(a, b) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(
    words=st.lists(st.sampled_from("abcde"), min_size=1, max_size=30),
    size=st.integers(1, 8),
)
def test_repetition_and_diversity_agree_with_counting(words, size):
    text, repetition = " ".join(words), measure.repetition(ngram=size)
    runs = Counter(
        " ".join(words[start : start + size]) for start in range(len(words) - size + 1)
    )
    repeated = sum(count - 1 for count in runs.values())
    expected = repeated / runs.total() if runs else 0.0
    assert repetition(text) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert noted(repetition, text) == ({"repeated_ngrams": repeated} if runs else {})
    window = min(size, len(words))
    shares = [
        len(set(words[at : at + window])) / window
        for at in range(len(words) - window + 1)
    ]
    assert measure.diversity(window=size)(text) == pytest.approx(
        sum(shares) / len(shares)
    )


def loop_by_trying(text):
    """The longest end of a text that is periodic with three rounds or more, found the slow way."""
    text = text.strip()
    ends = [text[-size:] for size in range(24, len(text) + 1)]
    periodic = [
        e for e in ends if any(e[n:] == e[:-n] for n in range(1, (len(e) + 2) // 3 + 1))
    ]
    return max(map(len, periodic), default=0) / (len(text) or 1)


UNITS = st.text("ab ", min_size=1, max_size=9)


@given(
    before=st.text("ab ", max_size=6),
    unit=UNITS,
    times=st.integers(1, 8),
    cut=st.integers(0, 8),
)
def test_the_loop_found_is_the_longest_there_is_and_every_round_costs_more(
    before, unit, times, cut
):
    text, loop = before + unit * times + unit[:cut], LOOP()
    assert loop(text) == pytest.approx(loop_by_trying(text))
    if unit.strip():
        assert (
            0.0
            < loop(before + unit * 24)
            <= loop(before + unit * (24 + times)) + 1e-12
            <= 1.0 + 1e-12
        )
