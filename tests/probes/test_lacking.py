"""What code reads under a key that no row has, or in a list that holds lists, is named."""

import pytest
from planted_probes import made, probed, strict

import rewardkit as rk


def log(**columns):
    """Four completions of eight prompts, half of them right, with columns of each place."""
    rows = []
    for place in range(32):
        truth = str(100 + place // 4)
        answer = truth if place % 2 else "7"
        row = {
            "prompt_id": place // 4,
            "prompt": f"How many in box {place // 4}?",
            "completion": f"{'We look. ' * (place % 5)}\n<answer>{answer}</answer>",
            "ground_truth": truth,
        }
        rows.append({**row, **{name: of(place) for name, of in columns.items()}})
    return rows


def helped(completion, ground_truth, info):
    """Half a point less for each tool call of a wrong answer; 0 calls by default."""
    if strict(completion, ground_truth):
        return 1.0
    return -0.1 * info.get("tool_calls", 0)


def calls(place):
    return place % 5


def with_calls(place):
    return {"level": 3, "tool_calls": calls(place)}


def without_calls(place):
    return {"level": 3}


def scored_by(helping):
    """The scores of a trainer that hands over the calls, or not."""

    def score(place):
        return 1.0 if place % 2 else -0.1 * calls(place) * helping

    return score


@pytest.mark.parametrize(
    ("columns", "is_found"),
    [
        ({"info": without_calls, "tool_calls": calls}, True),
        ({"info": without_calls, "__tool_calls__": calls}, True),
        (
            {"info": without_calls, "tool_calls": calls, "reward": scored_by(0)},
            True,
        ),
        (
            {"info": without_calls, "tool_calls": calls, "reward": scored_by(1)},
            False,
        ),
        ({"info": with_calls, "tool_calls": calls}, False),
        ({"info": without_calls, "tool_calls": lambda place: 2}, False),
        ({"info": without_calls}, False),
    ],
)
def test_a_default_is_named_where_the_log_has_the_value_in_another_place(
    columns, is_found
):
    result = probed(made(helped, range=None), log(**columns), only="contract")
    found = result["key_lacking"]
    assert [item.severity for item in found] == ["warn"] * is_found
    for item in found:
        assert "'tool_calls' from info, which no row of the log has" in item.sentence
        assert ", 0 to 4: with it 12 of 32 rows earn something else" in item.sentence


def turns(place):
    return [[5] * (2 + place % 7) for _ in range(1 + place % 3)]


def over(limit, count):
    def penalty(completion, ids):
        return -float(count(ids) > limit)

    parts = [
        rk.Component("correct", strict),
        rk.Component("overlong", penalty, range=(-1.0, 0.0)),
    ]
    return rk.Reward("r", components=parts)


def tokens(ids):
    return sum(map(len, ids))


def flat(place):
    return [5] * (4 + place % 7)


@pytest.mark.parametrize(
    ("reward", "ids", "is_named"),
    [
        (over(10, len), turns, True),
        (over(10, tokens), turns, None),
        (over(900, tokens), turns, False),
        (over(900, len), turns, False),
        (over(900, len), flat, False),
    ],
)
def test_a_penalty_that_counts_the_lists_of_a_list_is_constant_for_that(
    reward, ids, is_named
):
    result = probed(reward, log(ids=ids), search=0)
    found = result["constant"]
    assert [item.component for item in found] == ["overlong"] * (is_named is not None)
    for item in found:
        assert ("`len` counts the lists" in item.sentence) == is_named
