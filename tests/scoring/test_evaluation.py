"""Evaluation: what a component's answer, or its failure, becomes; and what it is called with."""

import asyncio
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scored import outcome, reasons, score, statuses

import rewardkit as rk

ONE = (1.0, "scored", None)


def raising(error):
    def f(completion):
        raise error

    return f


class ExitsOnPrint(Exception):
    def __str__(self):
        raise SystemExit(3)


class NoRepr:
    def __repr__(self):
        raise ValueError("no repr")


FINITE = "a score must be finite (return None for 'not judged')"
NUMBER = "a component returns a number, a bool or None"
ABSTAINED = (None, "abstained", "returned None")


@pytest.mark.parametrize(
    ("answer", "becomes"),
    [
        (0.5, 0.5),
        (True, 1.0),
        (np.float32(0.5), 0.5),
        (None, ABSTAINED),
        (math.nan, f"returned nan; {FINITE}"),
        (10**400, f"returned inf; {FINITE}"),
        (1.5, "out of range: returned 1.5; its range is (0.0, 1.0)"),
        ("1.0", f"returned '1.0' of type str; {NUMBER}"),
        ("x" * 1000, f"returned '{'x' * 76}... of type str; {NUMBER}"),
        (NoRepr(), f"returned an object of type NoRepr of type NoRepr; {NUMBER}"),
        (object(), f"returned <object object> of type object; {NUMBER}"),  # no memory address
        (raising(KeyError("x")), "KeyError: 'x'"),
        (raising(StopIteration()), "StopIteration"),
        (raising(asyncio.CancelledError()), "CancelledError"),
        (raising(ExitsOnPrint()), "ExitsOnPrint"),
    ],
)
def test_a_finite_number_in_range_or_a_bool_is_a_score_and_what_goes_wrong_an_error(answer, becomes):
    function = answer if callable(answer) else lambda completion: answer
    kinds = {float: (becomes, "scored", None), str: (None, "error", becomes), tuple: becomes}
    assert outcome(score(function, rows="a")) == [kinds[type(becomes)]]


def test_a_truth_that_is_an_object_is_not_judged_and_the_reason_names_the_key_to_take():
    row = {"completion": "4", "prediction": "4", "ground_truth": {"id": 7, "answer": "4"}}
    assert outcome(score(rk.verify.numbers_equal, rows=[row])) == [
        (
            None,
            "abstained",
            "returned None: ground_truth is a dict of ['id', 'answer'], no value to compare; take "
            "ground_truth['answer'] in a field, and name that in rk.Component(..., "
            "columns={'ground_truth': FIELD})",
        )
    ]


@pytest.mark.parametrize("timeout", [None, 5.0])
def test_an_error_names_the_innermost_line_of_a_users_file_and_none_of_a_library(tmp_path, timeout):
    (tmp_path / "mine.py").write_text(
        "import json\n\ndef read(text):\n    return json.loads(text)\n\n"
        "def f(completion):\n    return read(completion)['score']\n"
    )
    scores = rk.score(
        rk.load_reward(f"{tmp_path}/mine.py:f"), [{"completion": one} for one in "{1"], timeout=timeout
    )
    places = [why.rpartition(" ")[2] for why in scores.table[f"error/{scores.reward.names[0]}"]]
    assert places == ["(mine.py:4)", "(mine.py:7)"]


def test_fields_are_computed_once_per_rollout_and_may_ask_for_earlier_fields():
    calls = []

    def size(completion):
        calls.append(completion)
        return len(completion)

    parts = [rk.Component(name, lambda double: double / 10) for name in ("c", "d")]
    scores = score(*parts, fields={"size": size, "double": lambda size: 2 * size})
    assert scores.table["field/double"].tolist() == [2, 4, 6]
    assert scores.score("c").tolist() == scores.score("d").tolist() == [0.2, 0.4, 0.6]
    assert calls == ["a", "bb", "ccc"]


def test_a_failing_field_makes_errors_only_of_the_components_that_ask_for_it():
    def field(completion):
        if completion == "bb":
            raise ValueError("no such thing")
        return completion

    names = {"f": lambda f: True, "g": lambda g: True, "other": lambda completion: True}
    parts = [rk.Component(f"asks_{name}", function) for name, function in names.items()]
    scores = score(*parts, fields={"f": field, "g": lambda f: f})
    failed = "field 'f' failed: ValueError: no such thing"
    assert outcome(scores, "asks_f") == [ONE, (None, "error", failed), ONE]
    assert reasons(scores, "asks_g") == [None, f"field 'g' failed: {failed}", None]
    assert statuses(scores, "asks_other") == ["scored"] * 3
    assert scores.table["field/f"].tolist() == ["a", None, "ccc"]
    assert scores.table["failed/f"].iloc[1].startswith("ValueError: no such thing (test_evaluation.py:")


@pytest.mark.parametrize("timeout", [None, 30.0])
@pytest.mark.parametrize(
    "give", [lambda text: (word for word in text.split()), lambda text: {1: text}.values()]
)
def test_a_field_that_can_be_gone_through_once_serves_all_that_ask_for_it(give, timeout):
    parts = [rk.Component(name, lambda words: len(list(words)) / 4) for name in ("c", "d")]
    scores = score(*parts, fields={"words": lambda completion: give(completion)}, timeout=timeout)
    assert scores.score("c").tolist() == scores.score("d").tolist() == [0.25] * 3


def test_the_score_of_an_earlier_component_is_an_argument_and_a_missing_one_abstains():
    seen = []

    def later(first):
        seen.append(first)
        return first / 2

    answers = {"a": 1.0, "bb": None, "ccc": 0.0, "d": math.nan}
    first = rk.Component("first", lambda completion: answers[completion])
    scores = score(first, rk.Component("c", later), rows=answers)
    missing = (None, "abstained", "asks for the score of 'first', which is missing")
    assert outcome(scores) == [(0.5, "scored", None), missing, (0.0, "scored", None), missing]
    assert seen == [1.0, 0.0] and {type(value) for value in seen} == {float}


def sized(completion):
    if "x" in completion:
        raise ValueError
    return len(completion) / 8 if completion else None


PARTS = (
    rk.Component("size", sized),
    rk.Component("half", lambda size: size / 2),
    rk.Component("batch", lambda completion: [sized(t.replace("x", "")) for t in completion], batch=True),
    rk.Component("gated", lambda completion: completion.count("a") / 8, gate=rk.gate("size", at_least=0.25)),
)
texts = st.lists(st.text(alphabet="abx", max_size=8), min_size=1, max_size=12)


@settings(max_examples=20)
@given(texts, st.randoms(use_true_random=False))
def test_column_by_column_equals_row_by_row_and_no_row_hangs_on_its_neighbours(completions, random):
    reward = rk.Reward("r", components=PARTS)
    random.shuffle(completions)
    alone = [reward(completion=text) for text in completions]
    scores = score(*PARTS, rows=completions)
    for name in reward.names:
        np.testing.assert_array_equal(scores.score(name), [result.scores[name] for result in alone])
        assert statuses(scores, name) == [result.status[name] for result in alone]
        assert scores.table[f"error/{name}"].tolist() == [result.errors.get(name) for result in alone]
    np.testing.assert_array_equal(scores.rewards, [result.reward for result in alone])


def test_the_rewards_of_a_route_know_their_own_fields_and_components_alone():
    """What is a field or a component of one is for the other a column of that name."""
    own = rk.Reward("own", {"size": lambda completion: 9}, [rk.Component("right", lambda completion: 1.0)])
    gated = rk.Component("c", lambda size: size / 10, gate=rk.gate("right", at_least=0.5))
    route = rk.Route("data_source", {"x": own, "y": rk.Reward("other", components=[gated])})
    row = {"completion": "a", "size": 3}
    rows = [{**row, "data_source": source, "right": at % 2} for at, source in enumerate("xyy")]
    scores = rk.score(route, rows)
    assert statuses(scores) == ["gated", "scored", "gated"] and scores.score("c")[1] == 0.3
    assert statuses(scores, "right") == ["scored", "gated", "gated"]
