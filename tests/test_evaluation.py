"""Evaluation: what a component's answer, or its failure, becomes; and who is run on which rows."""

import asyncio
import functools
import math
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.evaluation import CONCURRENT_CALLS


def scored(*components, rows=("a", "bb", "ccc"), fields=None, **options):
    """Scores of these components on completions that share a prompt."""
    table = [{"prompt": "p", "completion": row} if isinstance(row, str) else row for row in rows]
    notes = options.pop("notes", False)
    ignore_gates = options.pop("ignore_gates", False)
    reward = rk.Reward("r", fields or {}, components, **options)
    return rk.score(reward, table, notes=notes, ignore_gates=ignore_gates)


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
    [(0.5, 0.5), (1, 1.0), (True, 1.0), (False, 0.0), (np.float32(0.5), 0.5), (np.int64(1), 1.0), (np.bool_(True), 1.0)],
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


def test_a_batch_component_gets_columns_once_and_gives_a_list():
    calls = []

    def f(completion, prompt):
        calls.append((completion, prompt))
        return [len(text) / 4 for text in completion]

    scores = scored(rk.Component("c", f, batch=True))
    assert scores.score("c").tolist() == [0.25, 0.5, 0.75]
    assert calls == [(["a", "bb", "ccc"], ["p", "p", "p"])]


@pytest.mark.parametrize("make", [np.array, iter, tuple])
def test_a_batch_may_come_back_as_any_sequence(make):
    scores = scored(rk.Component("c", lambda completion: make([0.0, 0.5, 1.0]), batch=True))
    assert scores.score("c").tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("kind", ["batch", "group"])
@pytest.mark.parametrize(
    ("answer", "reason"),
    [([1.0], "returned 1 values for 3 completions"), (0.5, "returned 0.5, not a list of 3 scores"),
     (None, "returned None, not a list of 3 scores"), (NoRepr(), "not a list of 3 scores")],
)  # fmt: skip
def test_a_list_of_another_length_is_an_error_for_all_rows(kind, answer, reason):
    scores = scored(rk.Component("c", lambda completion: answer, **{kind: True}))
    assert [(score, status) for score, status, _ in outcome(scores)] == [(None, "error")] * 3
    assert all(reason in said for _, _, said in outcome(scores))


def test_items_of_a_batch_are_judged_one_by_one():
    scores = scored(rk.Component("c", lambda completion: [0.5, None, 7], batch=True))
    assert scores.table["status/c"].tolist() == ["scored", "abstained", "error"]


@pytest.mark.parametrize("kind", ["batch", "group"])
def test_a_batch_or_group_that_raises_is_an_error_for_its_rows(kind):
    rows = [{"prompt": p, "completion": c} for p, c in (("p", "a"), ("q", "bad"), ("p", "b"))]

    def f(completion):
        if "bad" in completion:
            raise ValueError("bad")
        return [1.0] * len(completion)

    scores = scored(rk.Component("c", f, **{kind: True}), rows=rows)
    expected = ["error"] * 3 if kind == "batch" else ["scored", "error", "scored"]
    assert scores.table["status/c"].tolist() == expected


def test_a_group_component_sees_the_siblings_of_one_group_only_in_their_order():
    rows = [{"prompt": prompt, "completion": str(i)} for i, prompt in enumerate("abacb")]
    seen = []

    def f(completion):
        seen.append(completion)
        return [float(text) for text in completion]

    scores = scored(rk.Component("c", f, group=True, range=None), rows=rows)
    assert sorted(seen) == [["0", "2"], ["1", "4"], ["3"]]
    assert scores.score("c").tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_group_component_sees_only_siblings_whose_gate_is_open():
    seen = []

    def share(completion):
        seen.append(completion)
        return [1.0] * len(completion)

    gate = rk.gate(lambda completion: completion != "bb")
    scores = scored(rk.Component("c", share, group=True, gate=gate))
    assert seen == [["a", "ccc"]]
    assert scores.table["status/c"].tolist() == ["scored", "gated", "scored"]


def test_a_group_component_abstains_for_a_single_completion():
    reward = rk.Reward("r", components=[rk.Component("c", lambda completion: [1.0], group=True)])
    result = reward(completion="a")
    assert (result.status, result.errors) == ({"c": "abstained"}, {"c": "needs the siblings of its group"})
    assert math.isnan(result.reward)


def test_async_components_run_together_but_only_so_many_at_a_time():
    running, most, threads = 0, 0, set()

    async def judge(completion):
        nonlocal running, most
        running += 1
        most = max(most, running)
        threads.add(threading.current_thread())
        await asyncio.sleep(0.001)
        running -= 1
        return int(completion) / 100

    scores = scored(rk.Component("c", judge), rows=[str(i) for i in range(100)])
    assert scores.score("c").tolist() == [i / 100 for i in range(100)]
    assert most == CONCURRENT_CALLS
    assert threading.current_thread() not in threads


def test_async_components_run_inside_a_running_event_loop_as_a_notebook_has_one():
    async def judge(completion, *, k=1):
        await asyncio.sleep(0)
        return k / 4

    async def cell():
        return scored(rk.Component("c", functools.partial(judge, k=2)), rk.Component("d", judge))

    scores = asyncio.run(cell())
    assert scores.score("c").tolist() == [0.5] * 3
    assert scores.score("d").tolist() == [0.25] * 3


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(2), asyncio.CancelledError(), TimeoutError()])
def test_a_failing_async_call_is_an_error_of_its_row(error):
    async def judge(completion):
        if completion == "bb":
            raise error
        return 1.0

    scores = scored(rk.Component("c", judge))
    assert scores.table["status/c"].tolist() == ["scored", "error", "scored"]
    assert type(error).__name__ in outcome(scores)[1][2]


def test_an_async_batch_component_is_awaited():
    async def judge(completion):
        return [0.5] * len(completion)

    assert scored(rk.Component("c", judge, batch=True)).score("c").tolist() == [0.5] * 3


def test_notes_are_columns_on_request_and_cost_nothing_otherwise():
    def f(completion):
        rk.note("size", len(completion))
        if completion == "bb":
            raise ValueError
        return True

    async def g(completion):
        await asyncio.sleep(0)
        rk.note("late", completion.upper())
        return True

    parts = (rk.Component("c", f), rk.Component("d", g))
    heard = scored(*parts, notes=True).table
    assert heard["note/size"].tolist() == [1, 2, 3]
    assert heard["note/late"].tolist() == ["A", "BB", "CCC"]
    silent = scored(*parts).table
    assert [name for name in silent if name.startswith("note/")] == []
    assert silent["score/d"].equals(heard["score/d"])


def test_an_argument_that_a_batch_changes_is_its_own():
    def spoil(completion):
        completion.clear()
        return [1.0, 1.0, 1.0]

    scores = scored(rk.Component("s", spoil, batch=True), rk.Component("c", lambda completion: True))
    assert scores.table["completion"].tolist() == ["a", "bb", "ccc"]
    assert scores.score("c").tolist() == [1.0] * 3


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
