"""What users' functions name and call, without a call."""

import functools
import re

import pytest

import rewardkit as rk
from rewardkit.rewards.users_code import helpers, named_values, user_code

LIMIT = 3


def clean(text):
    return text.strip()


def answer(text):
    if len(text) > LIMIT:
        return score(text[1:])  # each calls the other
    return (lambda: clean(text))()


def score(completion):
    return float(answer(re.escape(completion)) == "x")


CALLED = [
    (score, ["score", "answer", "clean"]),
    (answer, ["answer", "score", "clean"]),
    (clean, ["clean"]),
]


@pytest.mark.parametrize(("function", "names"), CALLED)
def test_helpers_are_the_functions_of_the_file_that_are_called_each_once(
    function, names
):
    assert [item.__name__ for item in helpers(function)] == names


def test_named_values_are_the_globals_that_a_function_and_its_lambdas_name():
    assert named_values(answer) == {"LIMIT": LIMIT, "score": score, "clean": clean}


HELD = [
    (score, [score]),
    (functools.partial(clean, text="x"), [clean]),
    (rk.extract.tag("answer"), []),
    (rk.gate(score), [score]),
]


@pytest.mark.parametrize(("function", "parts"), HELD)
def test_user_code_is_what_rewardkits_own_and_partials_hold(function, parts):
    assert user_code(function) == parts
