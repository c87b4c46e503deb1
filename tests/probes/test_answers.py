"""Answers: what a truth states, and what is certainly wrong beside it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.answers.kinds import answer_in, kind_of, options_in
from rewardkit.strategies.special_values import truth_like
from rewardkit.strategies.wrong_answers import wrong_answers

OF_TRUTHS = [
    ("20 + 22 = 42\n#### 42", "42"),
    (r"so it is $\boxed{\frac{1}{2}}$", r"\frac{1}{2}"),
    (["Paris", "paris, France"], "Paris"),
    ({"a": 1}, '{"a": 1}'),
    *((empty, None) for empty in ("  ", None, [], "x ####")),
]
KINDS = {
    "number": ["-3.5", "$1,234", "50%"],
    "choice": ["B", "(C)", "B) Mercury"],
    "text": ["A boat", "Ada Lovelace", "1.2.3"],
    "mathematics": [r"\sqrt{2}", "x^2+1", "(3, 4)"],
    "json": ['{"a": [1, 2]}', "[1, 2]"],
    "code": ["def f(x):\n    return x"],
}
OPTIONS = [
    ("Which?\nA. one\nB. two\nC. three", "ABC"),
    ("Which? (A) one (B) two (E) none", "ABE"),
    ("A question without options.", "ABCD"),
]
KIND_OF = [(answer, kind) for kind, answers in KINDS.items() for answer in answers]
READ = [
    *((answer_in, *row) for row in OF_TRUTHS),
    *((kind_of, *row) for row in KIND_OF),
    *((options_in, *row) for row in OPTIONS),
]


@pytest.mark.parametrize(
    ("read", "given", "expected"), READ, ids=[str(row[1])[:20] for row in READ]
)
def test_the_answer_of_a_truth_its_kind_and_the_letters_that_a_prompt_offers(
    read, given, expected
):
    assert read(given) == expected


@given(
    st.integers(-10_000, 10_000), st.lists(st.integers(-500, 500).map(str), max_size=8)
)
def test_wrong_numbers_are_far_from_the_right_one_and_share_no_digits_with_it(
    number, others
):
    wrong = wrong_answers(str(number), "number", others=others)
    assert len(wrong) >= 2
    for text in wrong:
        assert abs(float(text) - number) > max(1, abs(number)) / 2
        assert str(abs(number)) not in text and text.lstrip("-") not in str(abs(number))


def test_a_wrong_choice_is_another_letter_and_every_value_of_a_wrong_object_is_wrong():
    assert all(
        set(wrong_answers(letter, "choice")) == set("ABCD") - {letter}
        for letter in "ABCD"
    )
    right = {
        "name": "Ada",
        "paid": True,
        "items": ["pen", "ink"],
        "total": 3.5,
        "extra": {},
    }
    (wrong,) = wrong_answers(json.dumps(right), "json")
    assert not rk.verify.json_equal(wrong, json.dumps(right), partial=True)


def test_other_answers_are_kept_only_where_neither_is_a_part_of_the_other():
    others = ["Paris", "paris, France", "Par", "Rome", "3^x", r"\frac{1}{2}"]
    of_text = wrong_answers("Paris", "text", others=others)
    assert {"3^x", "Rome"} <= {*of_text} and not {"Paris", "paris, France", "Par"} & {
        *of_text
    }
    of_formula = wrong_answers(r"\frac{1}{2}", "mathematics", others=others)
    assert "3^x" in of_formula and not {"Rome", r"\frac{1}{2}"} & {*of_formula}


LIKE = [
    ("a\n#### 5", "-1", "a\n#### -1"),
    (5, "0", 0),
    (5.0, "-2", -2.0),
    ([5], "0", [0]),
]
LIKE += [("5", "", ""), (5, "", None), (r"\boxed{5}", "0", None), (True, "0", None)]


@pytest.mark.parametrize(("truth", "answer", "made"), LIKE)
def test_a_truth_of_the_same_form_with_another_answer(truth, answer, made):
    assert truth_like(truth, answer) == made
