"""Repetition of word runs, loops, sentences and lines; and the diversity of words."""

from __future__ import annotations

import base64
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.measure import diversity, repetition
from rewardkit.primitives.notes import listen


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


ORDINARY = "The total is the sum of the parts, and the parts are the two boxes on the table and the chair."


@pytest.mark.parametrize(
    ("completion", "ngram", "expected"),
    table(
        ("a b a b a b", 2, 0.6, "two of five runs are new"),
        ("a a a a", 1, 0.75, "single words"),
        (ORDINARY, 4, 0.0, "an ordinarily repeated word is no repetition"),
        ("no " * 1001, 4, 1 - 1 / 998, "a long loop comes near 1"),
        ("a b c", 4, 0.0, "fewer words than a run"),
        ("x" * 200, 4, 0.0, "one long word"),
        ("x" * 201, 4, 1 - 2 / 31, "34 of them, the last of three"),
        ("x" * 204 + " y", 4, 1 - 2 / 32, "beside other words"),
        (None, 4, None, "no completion is not judged"),
    ),
)
def test_repetition_is_the_share_of_runs_that_stood_there_before(completion, ngram, expected):
    assert repetition(ngram=ngram)(completion) == expected


@given(words=st.lists(st.sampled_from("abc"), max_size=30), ngram=st.integers(1, 4))
def test_repetition_agrees_with_counting(words, ngram):
    runs = Counter(" ".join(words[start : start + ngram]) for start in range(len(words) - ngram + 1))
    repeated = sum(count - 1 for count in runs.values())
    expected = repeated / runs.total() if runs else 0.0
    with listen() as notes:
        assert repetition(ngram=ngram)(" ".join(words)) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert notes == ({"repeated_ngrams": repeated} if runs else {})


@given(words=st.lists(st.integers(), unique=True, max_size=30), ngram=st.integers(1, 5))
def test_words_that_all_differ_repeat_nothing(words, ngram):
    assert repetition(ngram=ngram)(" ".join(map(str, words))) == 0.0


LIST = "Buy:\n- two red apples\n- two red onions\n- two green apples\n- the bread, the milk and the salt"
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
CHINESE = "答案是四，因为二加二等于四。我们先算二加二，得到四。"


THAI = "ฉันจะลองใหม่อีกครั้งแล้วคิดให้ดี"
FORMULA = "+".join(rf"\\frac{{x_{{{at}}}^2+y_{at}}}{{z_{at}-{at * at}}}" for at in range(30))
RECORDS = "[" + ",".join(f'{{"id":{at},"name":"n{at * 7}","ok":true}}' for at in range(30)) + "]"
ENCODED = base64.b64encode(random.Random(20261203).randbytes(3000)).decode()


@pytest.mark.parametrize(
    ("text", "least"),
    table(
        ("The answer is 0." + "3" * 1000, 0.95, "digits without end"),
        ("答案是0." + "3" * 1000, 0.95, "digits behind Chinese"),
        ("我再试一次" * 40, 0.9, "Chinese"),
    ),
)
def test_a_loop_without_spaces_is_one(text, least):
    assert repetition()(text) > least
    assert repetition(kind="loop")(text) > least


@pytest.mark.parametrize(
    "text",
    table(
        (ENCODED, "what is encoded"),
        (RECORDS, "JSON without spaces"),
        ("=" * 80 + "\none two three four\n" + "=" * 80, "lines of signs"),
        ("AGCT" * 50, "200 characters"),
    ),
)
def test_what_has_no_spaces_by_nature_is_no_loop(text):
    assert repetition()(text) == 0.0


@pytest.mark.parametrize(
    ("text", "runs"),
    table(
        (ORDINARY, 0.0, "fault in the wild: any repeated word counts as repetition"),
        (LIST, 0.0, "a list whose items start alike"),
        (CODE, 0.0, "code that returns None twice"),
        (ARGUMENT, 1 / 20, "an argument in short sentences: one run, x and y aside"),
        ("Hello!!! 1000000 hahaha", 0.0, "letters and digits in a row"),
        ("", 0.0, "nothing"),
    ),
)
def test_ordinary_text_is_not_repetition_of_any_kind(text, runs):
    assert repetition(ngram=8)(text) == 0.0
    for kind in ("loop", "sentences", "lines"):
        assert repetition(kind=kind)(text) == 0.0
    assert repetition()(text) <= runs


@pytest.mark.parametrize(
    ("completion", "ngram", "expected"),
    table(
        ("我我我我我", 4, 0.5, "one character again and again"),
        ("我们走，我们走。", 3, 0.25, "with punctuation"),
        ("我 们 走 我 们 走", 3, 0.25, "with spaces"),
    ),
)
def test_repetition_of_chinese_is_by_characters(completion, ngram, expected):
    assert repetition(ngram=ngram)(completion) == expected


ROUND = "I will try again. "


@pytest.mark.parametrize(
    ("text", "share"),
    table(
        (ROUND * 3, 1.0, "three rounds, and nothing else"),
        (ROUND * 2, 0.0, "two rounds are no loop"),
        ("Well. " + ROUND * 3, 55 / 59, "three rounds behind something that ends alike"),
        (ROUND * 3 + "I wil", 1.0, "cut off in the middle of a round"),
        (ROUND * 3 + "Done.", 0.0, "a loop that ended is none at the end"),
        (ROUND * 3 + "\n\n", 1.0, "white space behind it does not count"),
        ("x" * 23, 0.0, "too short for a loop"),
        ("ha ha ha ha", 0.0, "a laugh"),
        ("| --- | --- | --- |", 0.0, "the rule of a table"),
        ("等一下。" * 6, 1.0, "Chinese"),
        ("\ud800\x00" * 12, 1.0, "lone surrogates and control characters"),
        (" \n", 0.0, "nothing but white space"),
        (None, None, "no completion is not judged"),
    ),
)
def test_a_loop_at_the_end_counts_by_what_it_takes_of_the_text(text, share):
    assert repetition(kind="loop")(text) == share


def test_the_loop_is_noted():
    with listen() as notes:
        repetition(kind="loop")("Well. " + "no! " * 9)
    assert notes == {"loop": {"characters": 36, "unit": " no!"}}


def loop_by_trying(text):
    """The longest end of a text that is periodic with three rounds or more, found the slow way."""
    text = text.strip()
    longest = 0
    for length in range(24, len(text) + 1):
        end = text[-length:]
        if any(end[period:] == end[:-period] for period in range(1, (length + 2) // 3 + 1)):
            longest = length
    return longest / len(text) if text else 0.0


@given(
    before=st.text("ab ", max_size=6),
    unit=st.text("ab ", min_size=1, max_size=9),
    times=st.integers(1, 8),
    cut=st.integers(0, 8),
)
def test_the_loop_found_is_the_longest_there_is(before, unit, times, cut):
    text = before + unit * times + unit[:cut]
    assert repetition(kind="loop")(text) == pytest.approx(loop_by_trying(text))


@given(
    before=st.text("ab c", max_size=10), unit=st.text("abc", min_size=1, max_size=9), times=st.integers(8, 20)
)
def test_every_round_of_a_loop_costs_more(before, unit, times):
    loop = repetition(kind="loop")
    assert 0.0 < loop(before + unit * 24) <= loop(before + unit * (24 + times)) <= 1.0


@pytest.mark.parametrize(
    ("text", "sentences", "lines"),
    table(
        ("I will try this again. " * 4, 0.75, 0.0, "one sentence four times in one line"),
        ("I will try this again.\n" * 4, 0.75, 0.75, "and in four lines"),
        ("I will try this again! i WILL try  this again!", 0.5, 0.0, "in any case and white space"),
        ("First I add two and two. Then I double it all.", 0.0, 0.0, "two sentences"),
        ("Yes. Yes. Yes. No.", 0.0, 0.0, "short sentences come again"),
        ("So x = 4. So x = 4.", 0.0, 0.0, "signs by themselves are no words"),
        ("It is 3.5 for all of us. It is 3.7 for all of us.", 0.0, 0.0, "a decimal point ends no sentence"),
        ("我们再试一次。我们再试一次！好。", 0.5, 0.0, "Chinese sentences"),
        ("a b c d\n\n a b c d \n", 0.5, 0.5, "white space around lines"),
    ),
)
def test_sentences_and_lines_that_come_again(text, sentences, lines):
    assert repetition(kind="sentences")(text) == sentences
    assert repetition(kind="lines")(text) == lines


@given(lines=st.lists(st.sampled_from(["one two three four", "a b c d e", "x y z", ""]), max_size=9))
def test_lines_agree_with_counting(lines):
    counted = Counter(line for line in lines if len(line.split()) >= 4)
    expected = 1 - len(counted) / counted.total() if counted else 0.0
    assert repetition(kind="lines")("\n".join(lines)) == expected


@pytest.mark.parametrize(
    ("text", "window", "expected"),
    table(
        ("a a a a", 4, 0.25, "all the same"),
        ("a b a b", 2, 1.0, "different in every window"),
        ("the cat and the dog and the cat", 4, 17 / 20, "3, 4, 3, 3 and 4 of four"),
        ("a b", 50, 1.0, "fewer words than the window"),
        ("yes", 50, 1.0, "one word is all different: documented"),
        ("it's it’s", 2, 0.5, "in any shape"),
        ("我们我们", 2, 1.0, "Chinese by characters"),
        ("", 50, 0.0, "nothing"),
        ("... !", 50, 0.0, "no word at all"),
        (None, 50, None, "no completion is not judged"),
    ),
)
def test_diversity_is_the_mean_share_of_different_words_in_a_window(text, window, expected):
    assert diversity(window=window)(text) == expected


@given(words=st.lists(st.sampled_from("abcde"), min_size=1, max_size=30), window=st.integers(1, 8))
def test_diversity_agrees_with_counting(words, window):
    size = min(window, len(words))
    shares = [len(set(words[at : at + size])) / size for at in range(len(words) - size + 1)]
    assert diversity(window=window)(" ".join(words)) == pytest.approx(sum(shares) / len(shares))


def test_diversity_does_not_fall_with_length_by_itself():
    def text(words):  # a cycle of 200 words: the share of different words in the whole falls
        return " ".join(f"w{at % 200}" for at in range(words))

    assert diversity()(text(100)) == diversity()(text(1_000)) == diversity()(text(10_000)) == 1.0


@given(words=st.lists(st.sampled_from("abc"), max_size=30))
def test_saying_a_text_twice_is_never_more_diverse_than_different_words(words):
    assert diversity(window=5)(" ".join(words * 2)) <= diversity(window=5)("v w x y z")
