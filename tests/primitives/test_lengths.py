"""Length: units, the flat top, how credit falls, and DAPO's overlong punishment."""

from __future__ import annotations

import math
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.measure import length, overlong
from rewardkit.primitives.notes import listen


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("completion", "unit", "expected"),
    table(
        ("", "words", 1.0, "an empty text is short"),
        ("one two", "words", 1.0, "at the full limit"),
        ("one two three", "words", 0.75, "one word over"),
        ("one two three four five six", "words", 0.0, "at the end"),
        ("ab", "characters", 1.0, "characters at the full limit"),
        (None, "words", None, "no completion is not judged"),
    ),
)
def test_length_falls_in_a_straight_line_between_its_limits(completion, unit, expected):
    assert length(full_until=2, zero_from=6, unit=unit)(completion) == expected


@given(words=st.integers(0, 100), more=st.integers(0, 100), full=st.integers(0, 50), span=st.integers(1, 50))
def test_length_never_rises_with_the_words(words, more, full, span):
    measure = length(full_until=full, zero_from=full + span)
    assert measure("w " * words) >= measure("w " * (words + more))


@pytest.mark.parametrize(
    ("size", "linear", "cosine", "exponential"),
    table(
        (0, 0.0, 0.0, 0.0, "nothing"),
        (12, 0.2, 0.5 - math.cos(math.pi * 0.2) / 2, math.expm1(0.8) / math.expm1(4), "a fifth up"),
        (20, 1.0, 1.0, 1.0, "at the first full length"),
        (30, 1.0, 1.0, 1.0, "at the last full length"),
        (35, 0.75, 0.5 - math.cos(math.pi * 0.75) / 2, math.expm1(3) / math.expm1(4), "a quarter down"),
        (40, 0.5, 0.5, 1 / (1 + math.exp(2)), "half way down"),
    ),
)  # fmt: skip
def test_length_with_a_flat_top_falls_on_both_sides(size, linear, cosine, exponential):
    made = partial(length, zero_until=10, full_from=20, full_until=30, zero_from=50)
    for fall, expected in (("linear", linear), ("cosine", cosine), ("exponential", exponential)):
        assert made(fall=fall)("w " * size) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_short_texts_lose_from_nothing_on_where_only_the_top_is_given():
    measure = length(full_from=4, full_until=8, zero_from=12)
    assert [measure("w " * size) for size in (0, 1, 4, 8, 10)] == [0.0, 0.25, 1.0, 1.0, 0.5]


@pytest.mark.parametrize(
    ("size", "options", "expected"),
    table(
        (0, {}, 0.0, "nothing"),
        (10, {}, 0.5, "half of the way"),
        (20, {}, 1.0, "enough"),
        (100_000, {}, 1.0, "however long"),
        (15, {"zero_until": 10}, 0.5, "half of the way from there"),
        (10, {"fall": "exponential"}, 1 / (1 + math.exp(2)), "another way down"),
    ),
)
def test_where_no_upper_limit_is_given_long_texts_lose_nothing(size, options, expected):
    measure = length(full_from=20, **options)
    assert measure("w " * size) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert eval(repr(measure)) == measure


@pytest.mark.parametrize(
    ("text", "expected"),
    table(
        ("我有三个苹果", 6, "Chinese characters are words"),
        ("我有3个apple。", 5, "beside numbers and Latin words; punctuation is none"),
        ("사과를 먹는다", 2, "Korean has spaces"),
        ("one two", 2, "English"),
        ("2 + 2 = 4", 5, "signs by themselves"),
        ("。。。", 1, "punctuation without any word is a run"),
    ),
)
def test_words_of_all_scripts(text, expected):
    with listen() as notes:
        length(full_until=1, zero_from=100)(text)
    assert notes == {"length": expected}


@given(a=st.text("ab 中。!", max_size=12), b=st.text("ab 中。!", max_size=12))
def test_words_of_two_texts_add_up(a, b):
    def size(text):
        with listen() as notes:
            length(full_until=1, zero_from=100)(text)
        return notes["length"]

    assert size(f"{a} {b}") == size(a) + size(b)


class Letters:
    """A tokenizer as libraries make them: an object with `encode`."""

    def encode(self, text):
        return list(text)

    def __call__(self, text):
        return {"input_ids": list(text), "attention_mask": []}


def pairs_of_letters(text):
    return [text[at : at + 2] for at in range(0, len(text), 2)]


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    table(
        (Letters(), 8, "an object with encode, though it can be called"),
        (pairs_of_letters, 4, "a function"),
        (str.split, 2, "a method"),
    ),
)
def test_tokens_are_what_the_tokenizer_gives(tokenizer, expected):
    with listen() as notes:
        measure = length(full_until=2, zero_from=10, unit="tokens", tokenizer=tokenizer)
        assert measure("one four") == (10 - expected) / 8
    assert notes == {"length": expected}


def test_a_tokenizer_that_raises_is_the_users_error():
    def broken(text):
        raise LookupError("no vocabulary")

    with pytest.raises(LookupError, match="no vocabulary"):
        length(full_until=2, zero_from=10, unit="tokens", tokenizer=broken)("one")


SIZES = st.integers(0, 60)
LIMITS = st.tuples(*[st.integers(1, 15)] * 4)


@given(limits=LIMITS, fall=st.sampled_from(["linear", "cosine", "exponential"]), size=SIZES, more=SIZES)
def test_length_rises_to_its_flat_top_and_falls_behind_it(limits, fall, size, more):
    zero_until, full_from, full_until, zero_from = (sum(limits[: at + 1]) for at in range(4))
    measure = length(
        zero_until=zero_until, full_from=full_from, full_until=full_until, zero_from=zero_from,
        fall=fall, unit="characters",
    )  # fmt: skip
    near, far = measure("x" * size), measure("x" * (size + more))
    assert 0.0 <= near <= 1.0
    if size + more <= full_until:
        assert near <= far
    if size >= full_from:
        assert near >= far


@pytest.mark.parametrize(
    ("size", "expected"),
    table(
        (0, 0.0, "nothing"),
        (16_384, 0.0, "the last length without punishment"),
        (16_385, 1 / 4096, "one more"),
        (18_432, 0.5, "half way"),
        (30_000, 1.0, "beyond it"),
    ),
)
def test_overlong_is_the_negative_of_equation_13_of_dapo(size, expected):
    def paper(length, longest=20_480, cache=4_096):
        if length <= longest - cache:
            return 0.0
        return ((longest - cache) - length) / cache if length <= longest else -1.0

    score = overlong(limit=20_480, buffer=4_096, unit="characters")("x" * size)
    assert score == expected == -paper(size)


def test_overlong_counts_in_every_unit_and_leaves_out_what_is_no_text():
    assert overlong(limit=4, buffer=2)("one two three") == 0.5
    assert overlong(limit=4, buffer=2, unit="tokens", tokenizer=str.split)("one two three") == 0.5
    assert overlong(limit=4, buffer=4)("one") == 0.25
    assert overlong(limit=4, buffer=2)(None) is None


@given(size=SIZES, more=SIZES, limit=st.integers(1, 50), buffer=st.integers(1, 50))
def test_overlong_never_falls_with_the_length(size, more, limit, buffer):
    measure = overlong(limit=max(limit, buffer), buffer=buffer, unit="characters")
    assert 0.0 <= measure("x" * size) <= measure("x" * (size + more)) <= 1.0
