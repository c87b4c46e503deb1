"""Length: units, the flat top, how credit falls, and DAPO's overlong punishment."""

from __future__ import annotations

import math
import pickle
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
        ("one two three four five", "words", 0.25, "one word before the end"),
        ("one two three four five six", "words", 0.0, "at the end"),
        ("w " * 100_000, "words", 0.0, "far past the end"),
        (" one \n\t two ", "words", 1.0, "runs of white space separate"),
        ("<answer>4</answer> five six", "words", 0.75, "tags are words"),
        ("ab", "characters", 1.0, "characters at the full limit"),
        ("abcd", "characters", 0.5, "two characters over"),
        ("a  b", "characters", 0.5, "white space is characters"),
        ("\ud800\u202e\x00", "characters", 0.75, "every code point is one character"),
        ("x" * 1_000_000, "characters", 0.0, "a megabyte"),
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
        (10, 0.0, 0.0, 0.0, "at the end on the short side"),
        (12, 0.2, 0.5 - math.cos(math.pi * 0.2) / 2, math.expm1(0.8) / math.expm1(4), "a fifth up"),
        (15, 0.5, 0.5, 1 / (1 + math.exp(2)), "half way up"),
        (20, 1.0, 1.0, 1.0, "at the first full length"),
        (25, 1.0, 1.0, 1.0, "on the flat top"),
        (30, 1.0, 1.0, 1.0, "at the last full length"),
        (35, 0.75, 0.5 - math.cos(math.pi * 0.75) / 2, math.expm1(3) / math.expm1(4), "a quarter down"),
        (40, 0.5, 0.5, 1 / (1 + math.exp(2)), "half way down"),
        (50, 0.0, 0.0, 0.0, "at the end on the long side"),
        (500, 0.0, 0.0, 0.0, "far past it"),
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
        (19, {}, 0.95, "one short"),
        (20, {}, 1.0, "enough"),
        (100_000, {}, 1.0, "however long"),
        (10, {"zero_until": 10}, 0.0, "the last length that earns nothing"),
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
        ("你好，世界！", 4, "full-width punctuation"),
        ("我 在 家", 3, "with spaces"),
        ("“你好”……", 2, "quotes and dots that Latin script has as well"),
        ("リンゴを食べる", 7, "kana"),
        ("사과를 먹는다", 2, "Korean has spaces"),
        ("one two", 2, "English"),
        ("2 + 2 = 4", 5, "signs by themselves"),
        ("𠀀𠀁", 2, "rare characters"),
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


def test_a_function_as_tokenizer_prints_by_its_name_and_can_be_pickled():
    measure = length(full_until=2, zero_from=10, unit="tokens", tokenizer=pairs_of_letters)
    assert repr(measure) == "length(full_until=2, zero_from=10, unit='tokens', tokenizer=pairs_of_letters)"
    assert eval(repr(measure)) == measure
    by_object = length(full_until=2, zero_from=10, unit="tokens", tokenizer=Letters())
    assert repr(by_object) == "length(full_until=2, zero_from=10, unit='tokens', tokenizer=Letters())"
    assert pickle.loads(pickle.dumps(length(full_until=1, zero_from=2, unit="tokens", tokenizer=str.split)))
    assert hash(length(full_until=1, zero_from=2, unit="tokens", tokenizer=[].count))


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
        (20_480, 1.0, "the limit"),
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


NAN, INF = float("nan"), float("inf")
TOKENS = {"unit": "tokens", "tokenizer": str.split}
ERRORS = [
    (lambda: length(full_until=5, zero_from=5), "got full_until=5, zero_from=5", "limits that do not rise"),
    (lambda: length(full_until=-1, zero_from=5), "length needs 0 <= full_until < zero_from", "below 0"),
    (lambda: length(full_until=NAN, zero_from=5), "full_until=nan", "a limit that is no number"),
    (lambda: length(full_until=5, zero_from=INF), "zero_from=inf", "a line that never falls"),
    (lambda: length(full_until="5", zero_from=9), "full_until='5'", "a limit in quotes"),
    (lambda: length(full_until=5, zero_from=9, full_from=6), "full_from=6", "a top upside down"),
    (lambda: length(full_until=5, zero_from=9, full_from=3, zero_until=3), "zero_until=3", "a wall"),
    (lambda: length(full_until=5, zero_from=9, zero_until=3), "zero_until=3", "no way between"),
    (lambda: length(full_until=5, zero_from=9, full_from=3, zero_until=-1), "zero_until=-1", "below nothing"),
    (lambda: length(), "got full_until=None, zero_from=None, full_from=0", "no limit at all"),
    (lambda: length(full_until=5), "full_until=5, zero_from=None", "a top without an end"),
    (lambda: length(zero_from=5), "full_until=None, zero_from=5", "an end without a top"),
    (lambda: length(full_from=2, zero_from=5), "full_until=None, zero_from=5", "and with a lower limit"),
    (lambda: length(full_from=2, full_until=5), "full_until=5, zero_from=None", "or the other way round"),
    (lambda: length(zero_until=5), "zero_until=5", "short texts lose, and nothing is long enough"),
    (lambda: length(full_from=5, zero_until=5), "zero_until=5", "a wall on the short side"),
    (lambda: length(full_from=INF), "full_from=inf", "never long enough"),
    (lambda: length(full_until=True, zero_from=5), "full_until=True", "a limit that is a bool"),
    (lambda: length(full_from=True), "full_from=True", "a lower one"),
    (lambda: overlong(limit=5, buffer=True), "buffer=True", "a buffer that is a bool"),
    (lambda: overlong(limit=True, buffer=True), "limit=True", "and a limit"),
    (lambda: length(full_until=1, zero_from=5, fall="steep"), "fall='steep' is not known", "a fall"),
    (lambda: length(full_until=1, zero_from=5, unit="lines"), "unit='lines' is not known", "a unit"),
    (lambda: length(full_until=1, zero_from=5, unit="tokens"), "and a tokenizer", "tokens alone"),
    (lambda: length(full_until=1, zero_from=5, tokenizer=str.split), "unit='words'", "a tokenizer for words"),
    (lambda: length(full_until=1, zero_from=5, unit="tokens", tokenizer="gpt2"), "'gpt2' cannot", "name"),
    (lambda: overlong(limit=5, buffer=0), "overlong needs 0 < buffer <= limit; got limit=5", "none"),
    (lambda: overlong(limit=5, buffer=6), "buffer=6", "a buffer beyond the limit"),
    (lambda: overlong(limit=INF, buffer=6), "limit=inf", "no limit"),
    (lambda: overlong(limit=5, buffer=2, unit="tokens"), "and a tokenizer", "tokens alone"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "piece"), table(*ERRORS))
def test_what_no_length_can_be_made_of_is_refused_in_a_sentence(call, piece):
    with pytest.raises(ValueError) as caught:
        call()
    assert piece in str(caught.value)
