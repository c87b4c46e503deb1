"""Fields of functions that say how they are called: with the rows of a group, or with all siblings of one."""

from dataclasses import dataclass

import numpy as np
import pytest

import rewardkit as rk

ROWS = rk.load_rollouts(
    [
        {"prompt_id": at // 2, "prompt": "p", "completion": text}
        for at, text in enumerate(["a", "bb", "", "dddd"])
    ]
)
CALLS = []


@dataclass(frozen=True)
class Together:
    """Lengths, and how many there were in the call; `wrong` is what happens where one is empty."""

    together: str
    wrong: str = ""

    def __call__(self, completion):
        CALLS.append(list(completion))
        if "" in completion and self.wrong == "raises":
            return [1 / len(text) for text in completion]
        if "" in completion and self.wrong == "too few":
            return [{}]
        if "" in completion and self.wrong == "no list":
            return {"length": 1}
        return [{"length": len(text), "of": len(completion)} for text in completion]


def length(result):
    return result["length"]


def of(result):
    return result["of"]


def scored(together, wrong="", rollouts=ROWS):
    CALLS.clear()
    reward = rk.Reward(
        "t",
        {"result": Together(together, wrong)},
        [rk.Component("length", length, range=None), rk.Component("of", of, range=None)],
    )
    return rk.score(reward, rollouts)


@pytest.mark.parametrize("together", ["batch", "group"])
def test_a_field_is_computed_once_a_group_for_all_that_ask_for_it(together):
    scores = scored(together)
    assert scores.score("length").tolist() == [1, 2, 0, 4] and scores.score("of").tolist() == [2, 2, 2, 2]
    assert CALLS == [["a", "bb"], ["", "dddd"]]


def test_where_a_batch_fails_its_rows_are_tried_alone():
    scores = scored("batch", "raises")
    np.testing.assert_array_equal(scores.score("length"), [1, 2, np.nan, 4])
    assert CALLS == [["a", "bb"], ["", "dddd"], [""], ["dddd"]]
    assert "ZeroDivisionError" in scores.table["error/length"][2]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("raises", "ZeroDivisionError"),
        ("too few", "returned 1 values for 2 completions"),
        ("no list", "returned {'length': 1}, not a list with a value for each completion"),
    ],
)
def test_a_group_that_fails_has_no_value_for_any_of_its_rows(wrong, said):
    scores = scored("group", wrong)
    np.testing.assert_array_equal(scores.score("length"), [1, 2, np.nan, np.nan])
    assert all(said in scores.table["error/length"][row] for row in (2, 3))


def test_a_single_completion_has_no_siblings():
    CALLS.clear()
    reward = rk.Reward("t", {"result": Together("group")}, [rk.Component("of", of, range=None)])
    found = reward(completion="a")
    assert found.status == {"of": "error"} and "needs the siblings of its group" in found.errors["of"]
    alone = rk.Reward("t", {"result": Together("batch")}, [rk.Component("of", of, range=None)])
    assert alone(completion="a").scores == {"of": 1.0} and CALLS == [["a"]]
