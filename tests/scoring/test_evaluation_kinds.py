"""Batch, group and async components: what they are given, and what their answers become."""

import asyncio
import functools
import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.scoring.calls import CONCURRENT_CALLS


def scored(*components, rows=("a", "bb", "ccc"), notes=False):
    """Scores of these components on completions that share a prompt."""
    table = [{"prompt": "p", "completion": row} if isinstance(row, str) else row for row in rows]
    return rk.score(rk.Reward("r", components=components), table, notes=notes)


def outcome(scores, name="c"):
    """(score or None, status, reason) of each row."""
    columns = [scores.table[f"{kind}/{name}"].tolist() for kind in ("score", "status", "error")]
    return [(None if math.isnan(score) else score, *rest) for score, *rest in zip(*columns, strict=True)]


class NoRepr:
    def __repr__(self):
        raise ValueError("no repr")


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
    [([1.0], "returned 1 values for 3 completions"), (0.5, "returned 0.5, not a list of scores"),
     (None, "returned None, not a list of scores"), (NoRepr(), "not a list of scores")],
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

    with ThreadPoolExecutor(
        1
    ) as thread:  # the main thread may have a loop already, as a browser test leaves one
        scores = thread.submit(asyncio.run, cell()).result()
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


@pytest.mark.parametrize("make_async", [False, True])
def test_a_note_of_a_batch_is_heard_where_it_can_only_mean_one_completion(make_async):
    def batch(completion):
        rk.note("size", len(completion))
        return [1.0] * len(completion)

    async def awaited(completion):
        return batch(completion)

    part = rk.Component("c", awaited if make_async else batch, batch=True)
    assert rk.Reward("r", components=[part])(completion="a").notes == {"size": 1}


def test_an_argument_that_a_batch_changes_is_its_own():
    def spoil(completion):
        completion.clear()
        return [1.0, 1.0, 1.0]

    scores = scored(rk.Component("s", spoil, batch=True), rk.Component("c", lambda completion: True))
    assert scores.table["completion"].tolist() == ["a", "bb", "ccc"]
    assert scores.score("c").tolist() == [1.0] * 3
