"""Evaluation: what answers and failures become, which rows are called together, what gates keep back."""

import asyncio
import functools
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scored import Seen, made, outcome, reasons, score, statuses

import rewardkit as rk
from rewardkit.primitives.primitive import VERDICT, note
from rewardkit.scoring.calls import CONCURRENT_CALLS

ONE, BROKEN = (1.0, "scored", None), "ValueError: broken"


def broken(completion):
    if completion == "bb":
        raise ValueError("broken")
    return completion


def loud(completion):
    raise ExitsOnPrint


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
        (np.bool_(True), 1.0),
        (np.int64(1), 1.0),
        (None, ABSTAINED),
        (math.nan, f"returned nan; {FINITE}"),
        (10**400, f"returned inf; {FINITE}"),
        (1.5, "out of range: returned 1.5; its range is (0.0, 1.0)"),
        ("1.0", f"returned '1.0' of type str; {NUMBER}"),
        ("x" * 1000, f"returned '{'x' * 76}... of type str; {NUMBER}"),
        (NoRepr(), f"returned an object of type NoRepr of type NoRepr; {NUMBER}"),
        (
            object(),
            f"returned <object object> of type object; {NUMBER}",
        ),  # no memory address
        (loud, "ExitsOnPrint"),
    ],
)
def test_a_finite_number_in_range_or_a_bool_is_a_score_and_what_goes_wrong_an_error(
    answer, becomes
):
    function = answer if callable(answer) else lambda completion: answer
    kinds = {
        float: (becomes, "scored", None),
        str: (None, "error", becomes),
        tuple: becomes,
    }
    assert outcome(score(function, rows="a")) == [kinds[type(becomes)]]


def test_a_truth_that_is_an_object_is_not_judged_and_the_reason_names_the_key_to_take():
    row = {
        "completion": "4",
        "prediction": "4",
        "ground_truth": {"id": 7, "answer": "4"},
    }
    ((_, status, why),) = outcome(score(rk.verify.numbers_equal, rows=[row]))
    assert (
        status == "abstained"
        and "is a dict of ['id', 'answer'], no value to compare; take ground_tr" in why
    )


@pytest.mark.parametrize("timeout", [None, 5.0])
def test_an_error_names_the_innermost_line_of_a_users_file_and_none_of_a_library(
    tmp_path, timeout
):
    (tmp_path / "mine.py").write_text(
        "import json\n\ndef read(text):\n    return json.loads(text)\n\n"
        "def f(completion):\n    return read(completion)['score']\n"
    )
    reward = rk.load_reward(f"{tmp_path}/mine.py:f")
    scores = rk.score(reward, [{"completion": one} for one in "{1"], timeout=timeout)
    places = [
        why.rpartition(" ")[2] for why in scores.table[f"error/{reward.names[0]}"]
    ]
    assert places == ["(mine.py:4)", "(mine.py:7)"]


def test_fields_are_computed_once_and_one_that_fails_makes_errors_only_where_it_is_asked_for():
    seen = Seen()
    fields = {
        "size": lambda completion: seen(completion) * len(completion),
        "double": lambda size: 2 * size,
    }
    fields |= {"f": broken, "g": lambda f: f}
    asks = {
        "a": lambda double: double / 10,
        "b": lambda double: double / 10,
        "f": lambda f: True,
        "g": lambda g: True,
    }
    scores = score(
        *(rk.Component(f"asks_{name}", asks[name]) for name in asks), fields=fields
    )
    assert (
        scores.score("asks_a").tolist()
        == scores.score("asks_b").tolist()
        == [0.2, 0.4, 0.6]
    )
    assert (seen.calls, scores.table["field/double"].tolist()) == (
        ["a", "bb", "ccc"],
        [2, 4, 6],
    )
    failed = f"field 'f' failed: {BROKEN}"
    assert outcome(scores, "asks_f") == [ONE, (None, "error", failed), ONE]
    assert reasons(scores, "asks_g") == [None, f"field 'g' failed: {failed}", None]
    assert scores.table["field/f"].tolist() == ["a", None, "ccc"]
    assert scores.table["failed/f"].iloc[1].startswith(f"{BROKEN} (test_evaluation.py:")


@pytest.mark.parametrize("timeout", [None, 30.0])
@pytest.mark.parametrize(
    "give",
    [lambda text: (word for word in text.split()), lambda text: {1: text}.values()],
)
def test_a_field_that_can_be_gone_through_once_serves_all_that_ask_for_it(
    give, timeout
):
    parts = [
        rk.Component(name, lambda words: len(list(words)) / 4) for name in ("c", "d")
    ]
    scores = score(
        *parts, fields={"words": lambda completion: give(completion)}, timeout=timeout
    )
    assert scores.score("c").tolist() == scores.score("d").tolist() == [0.25] * 3


def test_the_score_of_an_earlier_component_is_an_argument_and_a_missing_one_abstains():
    answers = {"a": 1.0, "bb": None, "ccc": 0.0, "d": math.nan}
    first = rk.Component("first", lambda completion: answers[completion])
    seen = Seen()
    scores = score(
        first, rk.Component("c", lambda first: seen(first) * first / 2), rows=answers
    )
    missing = (None, "abstained", "asks for the score of 'first', which is missing")
    assert outcome(scores) == [
        (0.5, "scored", None),
        missing,
        (0.0, "scored", None),
        missing,
    ]
    assert seen.calls == [1.0, 0.0] and {type(value) for value in seen.calls} == {float}


def sized(completion):
    if "x" in completion:
        raise ValueError
    return len(completion) / 8 if completion else None


PARTS = (
    rk.Component("size", sized),
    rk.Component("half", lambda size: size / 2),
    rk.Component(
        "batch",
        lambda completion: [sized(t.replace("x", "")) for t in completion],
        batch=True,
    ),
    rk.Component(
        "gated",
        lambda completion: completion.count("a") / 8,
        gate=rk.gate("size", at_least=0.25),
    ),
)
texts = st.lists(st.text(alphabet="abx", max_size=8), min_size=1, max_size=12)


@settings(max_examples=20)
@given(texts, st.randoms(use_true_random=False))
def test_column_by_column_equals_row_by_row_and_no_row_hangs_on_its_neighbours(
    completions, random
):
    reward = rk.Reward("r", components=PARTS)
    random.shuffle(completions)
    alone = [reward(completion=text) for text in completions]
    scores = score(*PARTS, rows=completions)
    for name in reward.names:
        np.testing.assert_array_equal(
            scores.score(name), [result.scores[name] for result in alone]
        )
        assert statuses(scores, name) == [result.status[name] for result in alone]
        assert scores.table[f"error/{name}"].tolist() == [
            result.errors.get(name) for result in alone
        ]
    np.testing.assert_array_equal(scores.rewards, [result.reward for result in alone])


def test_the_rewards_of_a_route_know_their_own_fields_and_components_alone():
    """What is a field or a component of one is for the other a column of that name."""
    own = rk.Reward(
        "own",
        {"size": lambda completion: 9},
        [rk.Component("right", lambda completion: 1.0)],
    )
    gated = rk.Component(
        "c", lambda size: size / 10, gate=rk.gate("right", at_least=0.5)
    )
    route = rk.Route(
        "data_source", {"x": own, "y": rk.Reward("other", components=[gated])}
    )
    row = {"completion": "a", "size": 3}
    rows = [
        {**row, "data_source": source, "right": at % 2}
        for at, source in enumerate("xyy")
    ]
    scores = rk.score(route, rows)
    assert (
        statuses(scores) == ["gated", "scored", "gated"] and scores.score("c")[1] == 0.3
    )
    assert statuses(scores, "right") == ["scored", "gated", "gated"]


# kinds of calls


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
            return (
                SPOILT[self.wrong]
                if self.wrong in SPOILT
                else [1 / len(text) for text in completion]
            )
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
        assert reasons(field) == [
            why and f"field 'field' failed: {why}" for why in said
        ]
    return scores, calls


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("raises", "ZeroDivisionError: division by zero"),
        ("too few", "returned 1 values for {} completions"),
        ("dict", "returned {{0: 1}}, not a list of scores"),
        (
            "number",
            "returned 0.5, not a list of scores (TypeError: 'float' object is not iterable)",
        ),
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
    again = {
        "all": [],
        "batch": [["", "dddd"], [""], ["dddd"]],
        "group": [["", "dddd"]],
    }[kind]
    assert calls[1:] == again[: 3 if alone else 1]
    size = 1 if alone else len(lost)
    assert reasons(scores) == [
        said.format(size) if row in lost else None for row in range(4)
    ]


def test_items_of_a_list_are_judged_one_by_one_and_any_sequence_will_do():
    listed = rk.Component("c", lambda completion: [0.5, None, 7, "x"], batch=True)
    assert statuses(score(listed, rows="abcd")) == [
        "scored",
        "abstained",
        "error",
        "error",
    ]
    kinds = (np.array, iter, tuple, lambda values: dict(enumerate(values)).values())
    parts = [rk.Component(f"c{at}", lambda completion, make=make: make([0.0, 0.5, 1.0]), batch=True)
             for at, make in enumerate(kinds)]  # fmt: skip
    for timeout in (None, 30.0):
        scores = score(*parts, timeout=timeout)
        assert [scores.score(each.name).tolist() for each in parts] == [
            [0.0, 0.5, 1.0]
        ] * 4


@pytest.mark.parametrize("kind", HOW)
def test_only_rows_whose_gate_is_open_are_in_a_call_and_none_makes_no_call(kind):
    CALLS.clear()
    gated = part(
        Together(), gate=rk.gate(lambda completion: completion != "bb"), **HOW[kind]
    )
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
    running, most, loops = 0, 0, set()

    async def judge(completion):
        nonlocal running, most
        running += 1
        most = max(most, running)
        loops.add((threading.current_thread(), asyncio.get_running_loop()))
        await asyncio.sleep(0.001)
        running -= 1
        return int(completion) / 100

    for _ in range(2):
        assert score(judge, rows=map(str, range(100))).score("c").tolist() == [
            i / 100 for i in range(100)
        ]
    assert most == CONCURRENT_CALLS
    ((thread, _),) = loops
    assert thread is not threading.current_thread()


def test_async_components_run_inside_a_running_event_loop_as_a_notebook_has_one():
    async def judge(completion, *, k=1):
        await asyncio.sleep(0)
        return k / 4

    async def nested(completion):
        return rk.Reward("inner", components=[rk.Component("c", judge)])(
            completion=completion
        ).reward

    async def cell():
        return score(functools.partial(judge, k=2), rk.Component("n", nested))

    with ThreadPoolExecutor(
        1
    ) as thread:  # the main thread may have a loop, as a browser test leaves one
        scores = thread.submit(asyncio.run, cell()).result()
    assert (scores.score("c").tolist(), scores.score("n").tolist()) == (
        [0.5] * 3,
        [0.25] * 3,
    )


def test_whoever_cannot_judge_says_why_and_no_score_is_made_of_it():
    def judge(completion):
        if completion == "bb":
            raise rk.NotJudged("two letters")
        return 1.0

    async def awaited(completion):
        return judge(completion)

    async def together(completion):
        return [judge(text) for text in completion]

    lost = (None, "abstained", "two letters")
    for timeout in (None, 30.0):
        scores = score(judge, rk.Component("d", awaited), timeout=timeout)
        assert outcome(scores) == outcome(scores, "d") == [ONE, lost, ONE]
    assert outcome(score(rk.Component("c", together, group=True))) == [lost] * 3
    gate = rk.gate(lambda completion: judge(completion) == 1.0)
    gated = score(rk.Component("c", lambda completion: 1.0, gate=gate))
    assert statuses(gated) == ["scored", "abstained", "scored"]
    assert statuses(score(lambda field: 1.0, fields={"field": judge})) == [
        "scored",
        "abstained",
        "scored",
    ]
    assert made(judge)(completion="bb").errors == {"c": "two letters"}


class Asking:
    asks_model = True

    def __call__(self, completion):
        note(VERDICT, {"reason": completion, "cost": 0.5})
        rk.note("other", 1)
        return 1.0


class Several(Asking):
    together = "all"

    def __call__(self, completion):
        note(VERDICT, [{"reason": text} for text in completion])
        return [1.0] * len(completion)


def test_what_a_model_said_is_kept_by_row_with_what_it_cost():
    closed = rk.gate(lambda completion: completion != "bb")
    parts = [rk.Component("c", Asking(), gate=closed), rk.Component("d", Several())]
    table = score(*parts).table
    assert table["verdict/c"].tolist() == [
        {"reason": "a", "cost": 0.5},
        None,
        {"reason": "ccc", "cost": 0.5},
    ]
    assert table["cost/c"].fillna(-1).tolist() == [0.5, -1, 0.5]
    assert table["verdict/d"].tolist() == [
        {"reason": text} for text in ("a", "bb", "ccc")
    ]
    assert "note/other" not in table and table["cost/d"].isna().all()
    result = made(*parts)(completion="a")
    assert result.verdicts == {"c": {"reason": "a", "cost": 0.5}, "d": {"reason": "a"}}
    assert result.notes == {"other": 1}


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_notes_are_columns_on_request_and_cost_nothing_otherwise(timeout):
    async def noted(completion):
        await asyncio.sleep(0)
        rk.note("size", len(completion))
        return True

    heard = score(noted, notes=True, timeout=timeout).table
    assert heard["note/size"].tolist() == [1, 2, 3]
    assert score(noted).table.equals(heard.drop(columns=["note/size"]))
    batch = rk.Component(
        "c",
        lambda completion: rk.note("size", 1) or [1.0] * len(completion),
        batch=True,
    )
    assert made(batch)(completion="a").notes == {
        "size": 1
    }  # where it can only mean one completion
    assert "note/size" not in score(batch, notes=True).table


# gates

ROWS = ("a", "bb", "ccc", "")
OPEN, SHUT = (1.0, "scored", None), (None, "gated", None)


def unknown(name):
    return None, "abstained", f"its gate needs {name!r}, which is missing"


def failed(why):
    return None, "error", f"its gate failed: {why}"


def first(completion):
    """1.0, 0.5, 0.0 and not judged."""
    return {"a": 1.0, "bb": 0.5, "ccc": 0.0}.get(completion)


class NoTruth:
    def __bool__(self):
        raise ValueError("neither true nor false")

    def __repr__(self):
        return "NoTruth()"


FIELDS = {
    "size": lambda completion: len(completion),
    "found": lambda completion: "yes" if completion == "a" else None,
    "f": broken,
    "mixed": lambda completion: "text" if completion == "bb" else 2,
}
TYPES = "supported between instances of 'str' and 'int'"
RETURNED = "its predicate returned"
ANSWER = "; a predicate returns True, False or None"


def answer_of(size, at_two):
    return at_two if size == 2 else True


@pytest.mark.parametrize(
    ("gate", "outcomes"),
    [
        (rk.gate("first", at_least=1.0), [OPEN, SHUT, SHUT, unknown("first")]),
        (rk.gate("first", at_least=0.1, at_most=0.9), [SHUT, OPEN, SHUT, unknown("first")]),
        (rk.gate(lambda first: first > 0), [OPEN, OPEN, SHUT, unknown("first")]),
        (rk.gate("found", equals="yes"), [OPEN, *[unknown("found")] * 3]),
        (rk.gate("f", equals="a"), [OPEN, failed(f"field 'f' failed: {BROKEN}"), SHUT, SHUT]),
        (rk.gate("mixed", at_least=1), [OPEN, failed(f"TypeError: '>=' not {TYPES}"), OPEN, OPEN]),
        (rk.gate(lambda size: answer_of(size, None)), [OPEN, unknown("size"), OPEN, OPEN]),
        (rk.gate(lambda size: answer_of(size, 1)), [OPEN, failed(f"{RETURNED} 1{ANSWER}"), OPEN, OPEN]),
        (rk.gate(lambda size: answer_of(size, NoTruth())),
         [OPEN, failed(f"{RETURNED} NoTruth(){ANSWER}"), OPEN, OPEN]),
    ],
)  # fmt: skip
def test_a_component_is_run_only_where_its_gate_is_open_and_says_elsewhere_why_not(
    gate, outcomes
):
    seen = Seen()
    scores = score(
        rk.Component("first", first),
        rk.Component("c", seen, gate=gate),
        rows=ROWS,
        fields=FIELDS,
    )
    assert outcome(scores) == outcomes
    assert seen.calls == [
        text for text, (value, *_) in zip(ROWS, outcomes, strict=True) if value
    ]
    gains = [{"scored": 1.0, "gated": 0.0}.get(how, math.nan) for _, how, _ in outcomes]
    np.testing.assert_array_equal(
        scores.rewards, np.add([1.0, 0.5, 0.0, math.nan], gains)
    )


def test_ignore_gates_runs_and_counts_every_component():
    parts = (
        rk.Component("first", first),
        rk.Component("c", Seen(), gate=rk.gate("first", at_least=1)),
    )
    gate = rk.gate("completion", equals="none")
    scores = score(*parts, rows=ROWS, reward={"gate": gate}, ignore_gates=True)
    assert outcome(scores) == [OPEN] * 4 and scores.record["ignore_gates"] is True
    assert scores.rewards[:3].tolist() == [2.0, 1.5, 1.0]


def test_what_a_closed_gate_keeps_from_running_closes_the_gates_behind_it():
    """A chain: c behind b behind a. A wrong row is gated all along and its reward is judged, not missing."""
    seen = Seen()
    reward = made(
        rk.Component("a", lambda completion: completion),
        rk.Component("b", lambda completion: 1.0, gate=rk.gate("a", at_least=1.0)),
        rk.Component("c", seen, gate=rk.gate("b", at_least=1.0)),
        rk.Component("d", lambda b: b),
        rk.Component("e", lambda completion: 1.0, gate=rk.gate(lambda b: b > 0.5)),
    )
    wrong, missing = reward(completion=0.0), reward(completion=None)
    assert list(wrong.status.values()) == ["scored", *["gated"] * 4] and (
        wrong.reward,
        wrong.errors,
    ) == (
        0.0,
        {},
    )
    assert reward(completion=1.0).reward == 5.0 and seen.calls == [1.0]
    assert set(missing.status.values()) == {"abstained"} and math.isnan(missing.reward)
    assert missing.errors["c"] == "its gate needs 'b', which is missing"


@pytest.mark.parametrize(
    "answer",
    [lambda mixed: None if mixed == "text" else True, lambda mixed: mixed == 2 or 1],
)
def test_a_whole_reward_gate_that_cannot_tell_or_fails_leaves_its_rows_unjudged(answer):
    seen = Seen()
    scores = score(seen, rows=ROWS, fields=FIELDS, reward={"gate": rk.gate(answer)})
    assert outcome(scores)[1] == (
        None,
        "abstained",
        "the gate on the whole reward has no value",
    )
    np.testing.assert_array_equal(scores.rewards, [1.0, math.nan, 1.0, 1.0])
    np.testing.assert_array_equal(
        scores.table["gate/reward"], [1.0, math.nan, 1.0, 1.0]
    )
    assert seen.calls == ["a", "ccc", ""]


def test_a_closed_gate_on_the_whole_gives_zero_and_is_asked_as_early_as_it_can_be():
    before, after, seen = Seen(), Seen(), Seen()
    parts = (
        rk.Component("before", before, weight=3.0),
        rk.Component("first", first),
        rk.Component("after", after),
    )
    scores = score(*parts, rows=ROWS, reward={"gate": rk.gate("first", at_least=0.5)})
    assert before.calls == list(ROWS) and after.calls == ["a", "bb"]
    np.testing.assert_array_equal(scores.rewards, [5.0, 4.5, 0.0, math.nan])
    assert statuses(scores, "after") == ["scored", "scored", "gated", "abstained"]
    assert reasons(scores, "after") == [None] * 3 + [
        "the gate on the whole reward has no value"
    ]
    np.testing.assert_array_equal(
        scores.table["gate/reward"], [1.0, 1.0, 0.0, math.nan]
    )
    for aggregation in ("weighted_sum", "product"):  # which leaves out what is gated
        how = {
            "gate": rk.gate(lambda completion: completion == "bb"),
            "aggregation": aggregation,
        }
        assert score(seen, rows=ROWS, reward=how).rewards.tolist() == [
            0.0,
            1.0,
            0.0,
            0.0,
        ]
    assert seen.calls == ["bb"] * 2
    assert (
        "gate/reward"
        not in score(seen, reward={"gate": rk.gate(lambda completion: True)}).table
    )
    shut = rk.Component("shut", first, gate=rk.gate("completion", equals="a"))
    behind = score(shut, rows=ROWS, reward={"gate": rk.gate("shut", at_least=0)})
    assert behind.rewards.tolist() == [1.0, 0.0, 0.0, 0.0]


# a field is text, and a function that takes it for something else is told so


def get_city(prediction):
    return float(prediction.get("city") == "Oslo")


def index_city(prediction):
    return float(prediction["city"] == "Oslo")


def is_whole(prediction):
    return prediction.is_integer()


def is_high(prediction):
    return prediction > 3


def is_far(prediction, ground_truth):
    return abs(prediction - ground_truth) > 1


def get_of_another(prediction):
    return {"a": prediction}.got


def not_a_name(prediction):
    return prediction.strip().missing


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (get_city, "prediction is str; parse it with json.loads(prediction)"),
        (index_city, "prediction is str; parse it with json.loads(prediction)"),
        (is_whole, "prediction is str; parse it with float(prediction)"),
        (is_high, "prediction is str; parse it with float(prediction)"),
        (is_far, "prediction is str; parse it with float(prediction)"),
        (get_of_another, ""),
        (not_a_name, ""),
    ],
)
def test_a_text_that_is_taken_for_a_dict_or_a_number_is_named(function, said):
    component = rk.Component("odd", function)
    reward = rk.Reward("r", {"prediction": rk.extract.tag("a")}, [component])
    result = reward(completion='<a>{"city": "Oslo"}</a>', ground_truth=4)
    assert result.status["odd"] == "error"
    reason = str(result.reasons["odd"])
    assert reason.endswith(said) if said else "parse it" not in reason
