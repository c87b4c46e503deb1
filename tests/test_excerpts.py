"""Completions to read: short, nothing hidden in them, and what fields took still marked."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.html.excerpts import LONGEST, Shown, one_line, shown, visible
from rewardkit.scoring.explain import field_spans

HIDDEN = {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}
SIGNS = st.characters(codec="utf-8") | st.sampled_from(list("\u202e\u200b\ud800\x1b\r\n\t\x00\u2028"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\x1b[2Jb", "a␛[2Jb", id="an escape does not reach the terminal"),
        pytest.param("a\x00\r\nb\tc", "a␀␍\nb\tc", id="line breaks and tabs stay"),
        pytest.param("a\u202eb\u2066", "a⟨U+202E⟩b⟨U+2066⟩", id="nothing turns the direction"),
        pytest.param("4\u200b2\ufeff", "4⟨U+200B⟩2⟨U+FEFF⟩", id="what has no width is seen"),
        pytest.param("naïve 漢字 ２", "naïve 漢字 ２", id="letters are as they are"),
    ],
)
def test_nothing_is_hidden_in_a_text_that_is_shown(text, expected):
    assert visible(text) == shown(text).text == expected


def test_what_is_long_is_left_out_of_the_middle_and_what_a_field_took_stays_in_sight():
    assert shown("x" * 100, longest=30).text == f"{'x' * 20} ⟨70 characters⟩ {'x' * 10}"
    text = "so " * 500 + "<answer>42</answer>" + " and" * 500
    at = text.index("42")
    read = shown(text, {"prediction": [(at, at + 2)]})
    (start, end) = read.spans["prediction"][0]
    assert read.text[start:end] == "42"
    assert read.text.count("characters⟩") == 2 and len(read.text) < 2 * LONGEST


@given(st.text(SIGNS, max_size=900), st.integers(0, 900), st.integers(0, 40))
def test_a_span_marks_the_same_text_when_it_is_shown(text, start, length):
    end = min(start + length, len(text))
    start = min(start, end)
    read = shown(text, {"field": [(start, end)]}, longest=60)
    (low, high) = read.spans["field"][0]
    assert read.text[low:high] == visible(text[start:end])
    assert not {unicodedata.category(sign) for sign in read.text if sign not in "\n\t"} & HIDDEN
    assert one_line(text).isprintable() and len(one_line(text)) <= 300


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        pytest.param({"p": [(1, 3)]}, "a⟦p: bc⟧d", id="one"),
        pytest.param({"p": [(0, 4)], "q": [(1, 2)]}, "⟦p: abcd⟧", id="one in another is left out"),
        pytest.param({"p": [(2, 2)]}, "ab⟦p: ⟧cd", id="an empty one"),
    ],
)
def test_what_a_field_took_stands_in_brackets_in_a_terminal(spans, expected):
    assert Shown("abcd", spans).bracketed() == expected


ANSWER = rk.Reward(
    "answer", {"prediction": rk.extract.tag("answer")}, [rk.Component("right", rk.verify.numbers_equal)]
)


def test_fields_are_those_of_extractors_and_of_texts_of_some_length():
    columns = {"completion": "<answer>42</answer>", "ground_truth": "42"}
    assert field_spans(ANSWER, columns) == {"prediction": [(8, 10)]}
    assert field_spans(ANSWER, {**columns, "completion": "x" * 30_000}) == {}
    assert field_spans(ANSWER, {"ground_truth": "42"}) == {}
    own = rk.Reward("own", fields={"size": of_any}, components=[rk.Component("any", any_size)])
    assert field_spans(own, columns) == {}


def of_any(completion):
    return len(completion)


def any_size(size):
    return size > 0


def test_a_pattern_that_takes_too_long_marks_nothing():
    slow = rk.extract.pattern(r"(a|aa)+$", timeout=0.01)
    reward = rk.Reward("slow", fields={"size": slow}, components=[rk.Component("any", any_size)])
    assert field_spans(reward, {"completion": "a" * 5000 + "b"}) == {}
