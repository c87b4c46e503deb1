"""Rollouts: what is read, under which names, in which groups, and what is kept out with which reason."""

import copy
import json
import logging

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.rollouts.values import as_column, column_values


def values(rollouts, name):
    return rollouts.columns()[name]


def prompts(texts):
    return rk.load_rollouts([{"prompt": text, "completion": "c"} for text in texts])


TURNS = [
    {"role": "assistant", "content": "first"},
    {"role": "user", "content": "no"},
    {"role": "assistant", "content": [{"type": "text", "text": "last"}]},
]


@pytest.mark.parametrize(
    ("row", "columns", "expected", "why"),
    [
        ({"response": "c"}, None, {"completion": "c"}, "usual names"),
        ({"completion": "c", "answer": "4"}, None, {"ground_truth": "4"}, ""),
        ({"completion": "c", "ground_truth": "4", "answer": "b"}, None, {"ground_truth": "4", "answer": "b"},
         "a canonical name comes first, and its alias is a column of the user's own"),
        ({"solution": "b", "answer": "4", "response": "r"}, None, {"ground_truth": "4", "solution": "b"},
         "the first alias wins"),
        ({"completion": "not this", "text": "this"}, {"completion": "text"}, {"completion": "this"},
         "columns= comes before every name"),
        ({"answer": "a", "prompt": "p"}, {"completion": "answer"}, {"completion": "a", "ground_truth": None},
         "what columns= takes is not taken a second time by its alias"),
        ({"completion": "", "n": float("nan")}, None, {"completion": "", "n": None}, "missing is None"),
        ({"completion": TURNS}, None, {"completion": "last"}, "chat becomes the last turn of the assistant"),
        ({"messages": TURNS}, None, {"completion": "last", "messages": TURNS}, "and messages, which stay"),
    ],
)  # fmt: skip
def test_columns_are_known_by_the_usual_names_or_by_those_that_are_given(row, columns, expected, why):
    for source in ([row], pd.DataFrame([row])):
        rollouts = rk.load_rollouts(source, columns=columns)
        assert {name: rollouts[0].get(name) for name in expected} == expected, why


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, ["no column holds the completions", "text", "completion", "response", "solution_str"]),
        ({"columns": {"completion": "txet"}}, ["did you mean 'text'?"]),
        ({"columns": {"completions": "text"}}, ["did you mean 'completion'?"]),
        ({"columns": {"completion": "text"}, "group": "polcy"}, ["'polcy'", "did you mean 'policy'?"]),
    ],
)
def test_names_that_are_not_there_are_an_error_that_names_the_nearest(options, said):
    with pytest.raises(rk.RolloutsError) as raised:
        rk.load_rollouts([{"text": "x", "policy": "p"}], **options)
    assert [words for words in said if words not in str(raised.value)] == []


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ({"prompt_id": "1", "prompt": "p"}, ("prompt_id",)),
        ({"prompt_id": "1", "policy": "a", "step": 3, "data_source": "d"},
         ("prompt_id", "policy", "step", "data_source")),
    ],
)  # fmt: skip
def test_a_group_is_the_prompt_with_policy_step_and_data_source_where_present(row, key):
    assert rk.load_rollouts([{"completion": "c", **row}]).group_key == key


SPLIT = [{"prompt": "p", "policy": policy, "step": step} for policy in "ab" for step in (1, 2)]
IDS = [("1", "a"), (None, "a"), (None, "a"), (None, None), (None, None)]
IDS = [{"prompt_id": one, "prompt": text} for one, text in IDS]
SEEDS = [{"prompt": "p", "seed": seed, "part": part} for seed in (1, 2) for part in "ab"]


@pytest.mark.parametrize(
    ("rows", "group", "groups", "why"),
    [
        ([*SPLIT, *SPLIT], None, [0, 1, 2, 3, 0, 1, 2, 3], "a prompt is split by policy and step"),
        ([{"prompt": text} for text in "abab"], None, [0, 1, 0, 1], "never by the order of rows"),
        (IDS, None, [0, 1, 1, 2, 3], "no id: the prompt"),
        (SEEDS, "seed", [0, 0, 1, 1], "group= names a column"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_rows_of_one_prompt_are_a_group(rows, group, groups, why):
    rollouts = rk.load_rollouts([{"completion": "c", **row} for row in rows], group=group)
    assert rollouts.groups.tolist() == groups, why


def test_groups_are_counted_by_size_and_odd_sizes_are_warned_of(caplog):
    assert prompts("aaabbbcd").group_sizes == {1: 2, 3: 2}
    caplog.clear()
    assert ["group sizes are mixed" in text for text in prompts("aab").warnings] == [True]
    assert ["every group has one completion" in text for text in prompts("ab").warnings] == [True]
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    caplog.clear()
    assert prompts("aabb").warnings == ()
    assert caplog.records == []


def test_the_summary_and_the_repr_report_mapping_group_key_and_histogram():
    rollouts = rk.load_rollouts([{"question": prompt, "response": "c"} for prompt in "aab"])
    summary = rollouts.summary()
    assert summary["mapping"] == rollouts.mapping == {"prompt": "question", "completion": "response"}
    assert list(rollouts.table) == ["rollout_id", "prompt", "completion"]
    assert (summary["group_key"], summary["groups"]) == (["prompt"], 2)
    assert summary["group_sizes"] == {"1": 1, "2": 1}
    assert json.loads(json.dumps(summary)) == summary
    assert "completion from response" in repr(rollouts) and "Groups: 2 by prompt" in repr(rollouts)


def test_the_callers_table_list_and_dicts_are_never_changed():
    rows = [{"question": "q", "response": TURNS, "n": None}, {"response": "x"}]
    frame, columns = pd.DataFrame(rows, index=[7, 9]), {"completion": "response"}
    before, kept = copy.deepcopy(rows), frame.copy(deep=True)
    rk.load_rollouts(rows, columns=columns)
    rk.load_rollouts(frame, columns=columns)
    assert rows == before and columns == {"completion": "response"}
    pd.testing.assert_frame_equal(frame, kept)


def test_a_row_is_a_dict_and_select_takes_positions_or_a_mask():
    rollouts = rk.load_rollouts([{"completion": text, "n": at} for at, text in enumerate("abc")])
    assert rollouts[1] == {"rollout_id": 2, "completion": "b", "n": 1}
    assert list(rollouts)[:2] == [rollouts[0], rollouts[1]]
    assert type(rollouts[0]["n"]) is int
    assert values(rollouts.select([2, 0]), "completion") == ["c", "a"]
    assert values(rollouts[1:], "completion") == ["b", "c"] and len(rollouts[:0]) == 0
    assert values(rollouts.select(np.array([True, False, True])), "completion") == ["a", "c"]
    assert len(rollouts.select([])) == len(rollouts.select(np.zeros(3, dtype=bool))) == 0
    assert rollouts.select([2, 0]).groups.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("position", "error", "said"),
    [
        (2, IndexError, "there is no row 2; of 2 rollouts the last is row 1"),
        ("completion", TypeError, "rollouts['completion'] is no row; give a position"),
    ],
)
def test_a_row_that_there_is_not_is_one_sentence(position, error, said):
    with pytest.raises(error) as raised:
        prompts("ab")[position]
    assert said in str(raised.value)


def test_the_fingerprint_follows_values_and_not_the_kind_of_source():
    rows = [{"prompt": "p", "completion": "c", "n": 1}, {"prompt": "p", "completion": "d", "n": 2}]
    same = {rk.load_rollouts(source).fingerprint for source in (rows, pd.DataFrame(rows), iter(rows))}
    assert len(same) == 1
    assert rk.load_rollouts([rows[0], {**rows[1], "n": 3}]).fingerprint not in same


cells = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)


@given(st.lists(cells | st.lists(st.integers()), min_size=1))
def test_a_column_gives_its_values_back_as_they_were(values):
    returned = column_values(as_column(values))
    assert returned == values
    if not {int, float} <= set(map(type, values)):  # whole and other numbers together become floats
        assert [type(value) for value in returned] == [type(value) for value in values]
