"""Evaluation: what a component's answer, or its failure, becomes; and who is run on which rows."""

import asyncio
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk


def scored(*components, rows=("a", "bb", "ccc"), fields=None):
    """Scores of these components on completions that share a prompt."""
    table = [{"prompt": "p", "completion": row} if isinstance(row, str) else row for row in rows]
    return rk.score(rk.Reward("r", fields or {}, components), table)


def outcome(scores, name="c"):
    """(score or None, status, reason) of each row."""
    columns = [scores.table[f"{kind}/{name}"].tolist() for kind in ("score", "status", "error")]
    return [(None if math.isnan(score) else score, *rest) for score, *rest in zip(*columns, strict=True)]


def one(function, **options):
    return outcome(scored(rk.Component("c", function, **options), rows=("a",)))[0]


def raising(error):
    def f(completion):
        raise error

    return f


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text either")


class ExitsOnPrint(Exception):
    def __str__(self):
        raise SystemExit(3)


class NoRepr:
    def __repr__(self):
        raise ValueError("no repr")


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (0.5, 0.5),
        (1, 1.0),
        (True, 1.0),
        (False, 0.0),
        (np.float32(0.5), 0.5),
        (np.int64(1), 1.0),
        (np.bool_(True), 1.0),
    ],
)
def test_finite_numbers_in_range_and_bools_are_scores(answer, score):
    assert one(lambda completion: answer) == (score, "scored", None)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (raising(KeyError("x")), "KeyError: 'x'"),
        (raising(ValueError()), "ValueError"),
        (raising(StopIteration()), "StopIteration"),
        (raising(SystemExit(1)), "SystemExit: 1"),
        (raising(RecursionError("deep")), "RecursionError: deep"),
        (raising(Unprintable()), "Unprintable"),
        (raising(ExitsOnPrint()), "ExitsOnPrint"),
        (raising(asyncio.CancelledError()), "CancelledError"),
        (lambda completion: math.nan, "returned nan; a score must be finite"),
        (lambda completion: math.inf, "returned inf; a score must be finite"),
        (lambda completion: -math.inf, "returned -inf; a score must be finite"),
        (lambda completion: 10**400, "returned inf; a score must be finite"),
        (lambda completion: 1.5, "out of range: returned 1.5; its range is (0.0, 1.0)"),
        (lambda completion: -0.1, "out of range: returned -0.1"),
        (lambda completion: 2, "out of range: returned 2.0"),
        (lambda completion: "1.0", "returned '1.0' of type str"),
        (lambda completion: [1.0], "returned [1.0] of type list"),
        (lambda completion: 1j, "of type complex"),
        (lambda completion: np.array([1.0]), "of type ndarray"),
        (lambda completion: "x" * 1000, "..."),
        (lambda completion: NoRepr(), "of type NoRepr"),
    ],
)
def test_whatever_goes_wrong_is_an_error_with_the_reason(function, reason):
    score, status, said = one(function)
    assert (score, status) == (None, "error")
    assert reason in said
    assert len(said) < 250


def test_none_abstains():
    assert one(lambda completion: None) == (None, "abstained", "returned None")


def test_a_reason_holds_no_memory_address():
    assert "0x" not in one(lambda completion: object())[2]


def test_keyboard_interrupt_is_the_users_and_ends_the_scoring():
    with pytest.raises(KeyboardInterrupt):
        one(raising(KeyboardInterrupt()))


@pytest.mark.parametrize(
    ("allowed", "answer", "status"),
    [(None, 99.0, "scored"), (None, -3, "scored"), (None, math.inf, "error"), ((-1.0, 2.0), -1.0, "scored"),
     ((-1.0, 2.0), 2.0, "scored"), ((-1.0, 2.0), 2.1, "error"), ((0, 1), -0.0, "scored")],
)  # fmt: skip
def test_the_declared_range_is_what_counts(allowed, answer, status):
    assert one(lambda completion: answer, range=allowed)[1] == status


def test_a_failure_of_one_row_leaves_the_rows_around_it_alone():
    answers = {"a": 1.0, "b": None, "c": math.nan, "d": 0.5}

    def f(completion):
        if completion == "e":
            raise StopIteration
        return answers[completion]

    scores = scored(rk.Component("c", f), rows="eabcexd")
    assert scores.table["status/c"].tolist() == "error scored abstained error error error scored".split()
    assert outcome(scores)[1][0] == 1.0 and outcome(scores)[-1] == (0.5, "scored", None)


@pytest.mark.parametrize("as_keyword", [False, True])
def test_each_row_gets_its_own_columns(as_keyword):
    def f(completion, *, prompt="-"):
        return float(f"{prompt}{completion}".endswith(completion)) * len(completion)

    columns = {"prompt": "prompt"} if as_keyword else None
    scores = scored(rk.Component("c", f, range=None, columns=columns))
    assert scores.score("c").tolist() == [1.0, 2.0, 3.0]


def test_fields_are_computed_once_per_rollout_and_may_ask_for_earlier_fields():
    calls = []

    def size(completion):
        calls.append(completion)
        return len(completion)

    fields = {"size": size, "double": lambda size: 2 * size}
    parts = [rk.Component(name, lambda double: double / 10) for name in ("c", "d")]
    scores = scored(*parts, fields=fields)
    assert scores.table["field/double"].tolist() == [2, 4, 6]
    assert scores.score("c").tolist() == scores.score("d").tolist() == [0.2, 0.4, 0.6]
    assert calls == ["a", "bb", "ccc"]


def test_a_failing_field_makes_errors_only_of_the_components_that_ask_for_it():
    def field(completion):
        if completion == "bb":
            raise ValueError("no such thing")
        return completion

    scores = scored(
        rk.Component("asks", lambda f: True), rk.Component("other", lambda completion: True),
        rk.Component("indirect", lambda g: True),
        fields={"f": field, "g": lambda f: f},
    )  # fmt: skip
    assert scores.table["status/asks"].tolist() == ["scored", "error", "scored"]
    assert outcome(scores, "asks")[1][2] == "field 'f' failed: ValueError: no such thing"
    assert scores.table["status/indirect"].tolist() == ["scored", "error", "scored"]
    assert scores.table["status/other"].tolist() == ["scored"] * 3
    assert scores.table["field/f"].tolist() == ["a", None, "ccc"]


def test_the_score_of_an_earlier_component_is_an_argument_and_a_missing_one_abstains():
    seen = []

    def later(first):
        seen.append(first)
        return first / 2

    first = rk.Component("first", lambda completion: {"a": 1.0, "bb": None, "ccc": 0.0}[completion])
    scores = scored(first, rk.Component("c", later))
    missing = (None, "abstained", "asks for the score of 'first', which is missing")
    assert outcome(scores) == [(0.5, "scored", None), missing, (0.0, "scored", None)]
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


@given(texts, st.randoms(use_true_random=False))
def test_column_by_column_equals_row_by_row_and_no_row_hangs_on_its_neighbours(completions, random):
    reward = rk.Reward("r", components=PARTS)
    alone = [reward(completion=text) for text in completions]
    order = list(range(len(completions)))
    random.shuffle(order)
    scores = scored(*PARTS, rows=[completions[i] for i in order])
    for name in reward.names:
        np.testing.assert_array_equal(scores.score(name), [alone[i].scores[name] for i in order])
        assert scores.table[f"status/{name}"].tolist() == [alone[i].status[name] for i in order]
        assert scores.table[f"error/{name}"].tolist() == [alone[i].errors.get(name) for i in order]
    np.testing.assert_array_equal(scores.rewards, [alone[i].reward for i in order])


@given(st.lists(st.tuples(st.sampled_from("pqr"), st.integers(0, 9)), min_size=1, max_size=12),
       st.randoms(use_true_random=False))  # fmt: skip
def test_shuffling_rows_shuffles_the_scores_of_group_components(pairs, random):
    def share(completion):
        return [sum(other <= text for other in completion) / len(completion) for text in completion]

    rows = [{"prompt": prompt, "completion": str(n)} for prompt, n in pairs]
    order = list(range(len(rows)))
    random.shuffle(order)
    part = rk.Component("c", share, group=True)
    straight = scored(part, rows=rows).score("c")
    assert scored(part, rows=[rows[i] for i in order]).score("c").tolist() == straight[order].tolist()
