"""Kinds of calls: batches, groups, fields of several rows, coroutines; what they are given and give."""

import asyncio
import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from scored import made, outcome, reasons, score, statuses

import rewardkit as rk
from rewardkit.primitives.notes import VERDICT, note
from rewardkit.scoring.calls import CONCURRENT_CALLS

GROUPS = [
    {"prompt_id": at // 2, "prompt": "p", "completion": text}
    for at, text in enumerate(["a", "bb", "", "dddd"])
]
CALLS = []


HOW = {"all": {"batch": True}, "batch": {"batch": "group"}, "group": {"group": True}}
SPOILT = {"too few": [1.0], "dict": {0: 1}, "number": 0.5}


@dataclass(frozen=True)
class Together:
    """Lengths, and how many there were in the call; `wrong` is what happens where one is empty."""

    wrong: str = ""
    together: str = ""

    def __call__(self, completion):
        CALLS.append(list(completion))
        if "" in completion and self.wrong:
            return SPOILT[self.wrong] if self.wrong in SPOILT else [1 / len(text) for text in completion]
        return [len(text) + len(completion) / 10 for text in completion]


def part(function=lambda field: field, **options):
    return rk.Component("c", function, range=None, **options)


def both(kind, wrong="", rows=GROUPS):
    """What a component of this kind gives, and a field of it, if there is such; and the calls of one."""
    CALLS.clear()
    scores = score(part(Together(wrong), **HOW[kind]), rows=rows)
    calls = list(CALLS)
    if kind != "all":
        CALLS.clear()
        field = score(part(), rows=rows, fields={"field": Together(wrong, kind)})
        np.testing.assert_array_equal(field.score("c"), scores.score("c"))
        assert CALLS == calls
        said = [why and why.replace("scores", "values") for why in reasons(scores)]
        assert reasons(field) == [why and f"field 'field' failed: {why}" for why in said]
    return scores, calls


@pytest.mark.parametrize(
    ("kind", "in_order", "mixed", "calls"),
    [
        ("all", [1.4, 2.4, 0.4, 4.4], [0.4, 1.4, 4.4, 2.4], [["a", "bb", "", "dddd"]]),
        ("batch", [1.2, 2.2, 0.2, 4.2], [0.2, 1.2, 4.2, 2.2], [["a", "bb"], ["", "dddd"]]),
        ("group", [1.2, 2.2, 0.2, 4.2], [0.2, 1.2, 4.2, 2.2], [["a", "bb"], ["", "dddd"]]),
    ],
)
def test_what_takes_several_rows_is_called_with_their_columns_and_gives_a_list(kind, in_order, mixed, calls):
    scores, called = both(kind)
    assert (scores.score("c").tolist(), called) == (in_order, calls)
    scores, called = both(kind, rows=[GROUPS[at] for at in (2, 0, 3, 1)])
    assert scores.score("c").tolist() == mixed
    assert kind != "all" or called == [["", "a", "dddd", "bb"]]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("raises", "ZeroDivisionError: division by zero"),
        ("too few", "returned 1 values for {} completions"),
        ("dict", "returned {{0: 1}}, not a list of scores"),
        ("number", "returned 0.5, not a list of scores (TypeError: 'float' object is not iterable)"),
    ],
)
@pytest.mark.parametrize("kind", ["all", "batch", "group"])
def test_a_call_that_fails_is_an_error_of_all_its_rows_but_those_of_a_batch_are_tried_alone(
    kind, wrong, said
):
    scores, calls = both(kind, wrong)
    lost = {"all": [0, 1, 2, 3], "batch": [2], "group": [2, 3]}[kind]
    if kind == "batch" and wrong == "too few":
        lost = [2, 3]  # no fault of one row
    alone = kind == "batch" and wrong != "too few"
    again = {"all": [], "batch": [["", "dddd"], [""], ["dddd"]], "group": [["", "dddd"]]}[kind]
    assert calls[1:] == again[: 3 if alone else 1]
    size = 1 if alone else len(lost)
    assert reasons(scores) == [said.format(size) if row in lost else None for row in range(4)]


def test_items_of_a_list_are_judged_one_by_one_and_any_sequence_will_do():
    listed = rk.Component("c", lambda completion: [0.5, None, 7, "x"], batch=True)
    assert statuses(score(listed, rows="abcd")) == ["scored", "abstained", "error", "error"]
    kinds = (np.array, iter, tuple, lambda values: dict(enumerate(values)).values())
    parts = [rk.Component(f"c{at}", lambda completion, make=make: make([0.0, 0.5, 1.0]), batch=True)
             for at, make in enumerate(kinds)]  # fmt: skip
    for timeout in (None, 30.0):
        scores = score(*parts, timeout=timeout)
        assert [scores.score(each.name).tolist() for each in parts] == [[0.0, 0.5, 1.0]] * 4


@pytest.mark.parametrize("kind", HOW)
def test_only_rows_whose_gate_is_open_are_in_a_call_and_none_makes_no_call(kind):
    CALLS.clear()
    gated = part(Together(), gate=rk.gate(lambda completion: completion != "bb"), **HOW[kind])
    assert statuses(score(gated)) == ["scored", "gated", "scored"]
    assert statuses(score(gated, rows=("bb",))) == ["gated"] and CALLS == [["a", "ccc"]]


def test_a_single_completion_has_no_siblings_but_is_a_batch():
    def alone(part, **fields):
        told = rk.Reward("r", fields, [part])(completion="a")
        return told.errors.get("c", told.scores["c"])

    lacking = "needs the siblings of its group"
    told = [alone(part(Together(), **how)) for how in HOW.values()]
    assert told == [1.1, 1.1, lacking]
    told = [alone(part(), field=Together(together=kind)) for kind in ("batch", "group")]
    assert told == [1.1, f"field 'field' failed: {lacking}"]


def test_async_components_run_together_but_only_so_many_at_a_time_and_in_one_loop():
    running, most, threads, loops = 0, 0, set(), set()

    async def judge(completion):
        nonlocal running, most
        running += 1
        most = max(most, running)
        threads.add(threading.current_thread())
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0.001)
        running -= 1
        return int(completion) / 100

    for _ in range(2):
        scores = score(judge, rows=[str(i) for i in range(100)])
        assert scores.score("c").tolist() == [i / 100 for i in range(100)]
    assert most == CONCURRENT_CALLS
    assert threading.current_thread() not in threads and len(loops) == 1


def test_async_components_run_inside_a_running_event_loop_as_a_notebook_has_one():
    async def judge(completion, *, k=1):
        await asyncio.sleep(0)
        return k / 4

    async def nested(completion):
        return rk.Reward("inner", components=[rk.Component("c", judge)])(completion=completion).reward

    async def cell():
        return score(functools.partial(judge, k=2), rk.Component("d", judge), rk.Component("n", nested))

    with ThreadPoolExecutor(1) as thread:  # the main thread may have a loop, as a browser test leaves one
        scores = thread.submit(asyncio.run, cell()).result()
    assert scores.score("c").tolist() == [0.5] * 3
    assert scores.score("d").tolist() == scores.score("n").tolist() == [0.25] * 3


def test_whoever_cannot_judge_says_why_and_no_score_is_made_of_it():
    def judge(completion):
        if completion == "bb":
            raise rk.NotJudged("two letters")
        return 1.0

    async def awaited(completion):
        return judge(completion)

    async def together(completion):
        return [judge(text) for text in completion]

    async def short(completion):
        return len(completion) < 3

    said = [(1.0, "scored", None), (None, "abstained", "two letters"), (1.0, "scored", None)]
    for timeout in (None, 30.0):
        scores = score(judge, rk.Component("d", awaited), timeout=timeout)
        assert outcome(scores) == outcome(scores, "d") == said
    assert outcome(score(rk.Component("c", together, group=True))) == [said[1]] * 3
    parted = score(rk.Component("c", together, batch=True, gate=rk.gate(short)), rows=("a", "ccc"))
    assert outcome(parted) == [said[0], (None, "gated", None)]
    gate = rk.gate(lambda completion: judge(completion) == 1.0)
    gated = score(rk.Component("c", lambda completion: 1.0, gate=gate))
    assert statuses(gated) == ["scored", "abstained", "scored"]
    assert statuses(score(lambda field: 1.0, fields={"field": judge})) == ["scored", "abstained", "scored"]
    assert made(judge)(completion="bb").errors == {"c": "two letters"}


class Asking:
    asks_model = True

    def __call__(self, completion):
        note(VERDICT, {"reason": completion, "cost": 0.5})
        rk.note("other", 1)
        return 1.0


class Several:
    asks_model, together = True, "all"

    def __call__(self, completion):
        note(VERDICT, [{"reason": text} for text in completion])
        return [1.0] * len(completion)


def test_what_a_model_said_is_kept_by_row_with_what_it_cost():
    closed = rk.gate(lambda completion: completion != "bb")
    parts = [rk.Component("c", Asking(), gate=closed), rk.Component("d", Several())]
    assert parts[1].batch is True
    table = score(*parts).table
    assert table["verdict/c"].tolist() == [{"reason": "a", "cost": 0.5}, None, {"reason": "ccc", "cost": 0.5}]
    assert table["cost/c"].fillna(-1).tolist() == [0.5, -1, 0.5]
    assert table["verdict/d"].tolist() == [{"reason": text} for text in ("a", "bb", "ccc")]
    assert "note/other" not in table and table["cost/d"].isna().all()
    result = made(*parts)(completion="a")
    assert result.verdicts == {"c": {"reason": "a", "cost": 0.5}, "d": {"reason": "a"}}
    assert result.notes == {"other": 1}


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_notes_are_columns_on_request_and_cost_nothing_otherwise(timeout):
    def f(completion):
        rk.note("size", len(completion))
        return True

    async def g(completion):
        await asyncio.sleep(0)
        rk.note("late", completion.upper())
        return True

    parts = (rk.Component("c", f), rk.Component("d", g))
    heard = score(*parts, notes=True, timeout=timeout).table
    assert heard["note/size"].tolist() == [1, 2, 3] and heard["note/late"].tolist() == ["A", "BB", "CCC"]
    silent = score(*parts).table
    assert silent.equals(heard.drop(columns=["note/size", "note/late"]))
    together = rk.Component("c", lambda completion: f(completion) and [1.0] * len(completion), batch=True)
    assert made(together)(completion="a").notes == {"size": 1}  # where it can only mean one completion
    assert "note/size" not in score(together, notes=True).table
