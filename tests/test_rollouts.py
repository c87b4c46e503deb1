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
from rewardkit.rollouts.table import ALIASES
from rewardkit.rollouts.values import as_column, column_values


def values(rollouts, name):
    return rollouts.columns()[name]


def jsonl(folder, *lines):
    path = folder / "rollouts.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def line(**row):
    return json.dumps(row)


@pytest.mark.parametrize(
    ("alias", "canonical"),
    [
        ("response", "completion"),
        ("solution_str", "completion"),
        ("answer", "ground_truth"),
        ("solution", "ground_truth"),
        ("question", "prompt"),
        ("problem_id", "prompt_id"),
        ("dataset", "data_source"),
        ("checkpoint", "policy"),
        ("global_step", "step"),
    ],
)
def test_the_usual_other_names_are_known_and_the_mapping_says_which_was_taken(alias, canonical):
    row = {"prompt": "p", "completion": "c"}
    row.pop(canonical, None)
    rollouts = rk.load_rollouts([{**row, alias: "value"}])
    assert values(rollouts, canonical) == ["value"]
    assert rollouts.mapping[canonical] == alias
    assert alias not in rollouts.table


def test_a_canonical_name_comes_before_its_aliases_which_stay_as_columns_of_the_users_own():
    rollouts = rk.load_rollouts([{"completion": "c", "ground_truth": "truth", "answer": "other"}])
    assert (values(rollouts, "ground_truth"), values(rollouts, "answer")) == (["truth"], ["other"])


def test_the_first_alias_wins_over_later_ones():
    rollouts = rk.load_rollouts([{"solution": "later", "answer": "first", "response": "r"}])
    assert rollouts.mapping["ground_truth"] == "answer"
    assert values(rollouts, "solution") == ["later"]


def test_columns_comes_before_every_alias():
    rollouts = rk.load_rollouts([{"completion": "not this", "text": "this"}], columns={"completion": "text"})
    assert values(rollouts, "completion") == ["this"]
    assert rollouts.mapping == {"completion": "text"}


def test_a_column_that_columns_pushes_aside_is_warned_of(caplog):
    rk.load_rollouts([{"completion": "not this", "text": "this"}], columns={"completion": "text"})
    assert any("left out" in message for message in caplog.messages)


def test_a_source_taken_by_columns_is_not_taken_a_second_time_by_its_alias():
    rollouts = rk.load_rollouts([{"answer": "the text", "prompt": "p"}], columns={"completion": "answer"})
    assert values(rollouts, "completion") == ["the text"]
    assert "ground_truth" not in rollouts.table


def test_one_source_may_be_taken_for_two_canonical_columns():
    rollouts = rk.load_rollouts([{"text": "x"}], columns={"completion": "text", "ground_truth": "text"})
    assert (values(rollouts, "completion"), values(rollouts, "ground_truth")) == (["x"], ["x"])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"completion": "txet"}, "did you mean 'text'?"),
        ({"completions": "text"}, "did you mean 'completion'?"),
    ],
)
def test_columns_that_are_not_there_are_an_error_that_names_the_nearest(columns, said):
    with pytest.raises(rk.RolloutsError) as raised:
        rk.load_rollouts([{"text": "x"}], columns=columns)
    assert said in str(raised.value)


def test_without_a_column_of_completions_the_error_lists_the_columns_and_the_known_names():
    with pytest.raises(rk.RolloutsError, match="no column holds the completions") as raised:
        rk.load_rollouts([{"txt": "x"}])
    assert all(name in str(raised.value) for name in ["txt", *ALIASES["completion"]])


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ({"prompt_id": "1", "prompt": "p"}, ("prompt_id",)),
        ({"prompt": "p"}, ("prompt",)),
        ({"prompt": "p", "policy": "a"}, ("prompt", "policy")),
        ({"prompt_id": "1", "step": 3, "data_source": "d"}, ("prompt_id", "step", "data_source")),
        ({"prompt_id": "1", "policy": "a", "step": 3, "data_source": "d"},
         ("prompt_id", "policy", "step", "data_source")),
        ({"x": 1}, ()),
    ],
)  # fmt: skip
def test_a_group_is_the_prompt_with_policy_step_and_data_source_where_present(row, key):
    assert rk.load_rollouts([{"completion": "c", **row}]).group_key == key


def test_rows_of_one_prompt_are_split_by_policy_and_step():
    rows = [{"prompt": "p", "completion": "c", "policy": p, "step": s} for p in "ab" for s in (1, 2)]
    rollouts = rk.load_rollouts([*rows, *rows])
    assert rollouts.groups.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert rollouts.prompts.tolist() == [0] * 8


def test_groups_are_never_inferred_from_the_order_of_rows():
    rows = [{"prompt": prompt, "completion": "c"} for prompt in "abab"]
    assert rk.load_rollouts(rows).groups.tolist() == [0, 1, 0, 1]
    assert rk.load_rollouts([{"completion": "c"}] * 3).groups.tolist() == [0, 1, 2]


def test_rows_without_prompt_id_fall_back_on_the_prompt_and_then_on_themselves():
    rows = [("1", "a"), (None, "a"), (None, "a"), (None, None), (None, None)]
    rollouts = rk.load_rollouts([{"completion": "c", "prompt_id": i, "prompt": p} for i, p in rows])
    assert rollouts.groups.tolist() == [0, 1, 1, 2, 3]


def test_group_names_the_columns_that_make_a_group():
    rows = [
        {"completion": "c", "prompt": "p", "seed": seed, "part": part} for seed in (1, 2) for part in "ab"
    ]
    assert rk.load_rollouts(rows, group="seed").groups.tolist() == [0, 0, 1, 1]
    assert rk.load_rollouts(rows, group=["seed", "part"]).group_sizes == {1: 4}


def test_an_unknown_group_column_is_an_error_with_the_nearest_name():
    with pytest.raises(rk.RolloutsError, match=r"group= asks for 'polcy'.*did you mean 'policy'\?"):
        rk.load_rollouts([{"completion": "c", "policy": "x"}], group="polcy")


def test_chat_prompts_make_groups():
    chat = [{"role": "user", "content": "2+2?"}]
    rollouts = rk.load_rollouts([{"prompt": prompt, "completion": "c"} for prompt in (chat, "x", list(chat))])
    assert rollouts.groups.tolist() == [0, 1, 0]


def test_the_histogram_counts_groups_by_size():
    rollouts = rk.load_rollouts([{"prompt": prompt, "completion": "c"} for prompt in "aaabbbcd"])
    assert rollouts.group_sizes == {1: 2, 3: 2}


def test_mixed_sizes_and_groups_of_one_are_warned_of_and_equal_sizes_are_not(caplog):
    mixed = rk.load_rollouts([{"prompt": prompt, "completion": "c"} for prompt in "aab"])
    assert ["group sizes are mixed" in text for text in mixed.warnings] == [True]
    single = rk.load_rollouts([{"prompt": prompt, "completion": "c"} for prompt in "ab"])
    assert ["every group has one completion" in text for text in single.warnings] == [True]
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    caplog.clear()
    assert rk.load_rollouts([{"prompt": prompt, "completion": "c"} for prompt in "aabb"]).warnings == ()
    assert caplog.records == []


def test_the_summary_and_the_repr_report_mapping_group_key_and_histogram():
    rollouts = rk.load_rollouts([{"question": prompt, "response": "c"} for prompt in "aab"])
    summary = rollouts.summary()
    assert summary["mapping"] == {"prompt": "question", "completion": "response"}
    assert (summary["group_key"], summary["groups"]) == (["prompt"], 2)
    assert summary["group_sizes"] == {"1": 1, "2": 1}
    assert json.loads(json.dumps(summary)) == summary
    assert "completion from 'response'" in repr(rollouts) and "in 2 groups by prompt" in repr(rollouts)


def test_chat_message_completions_become_the_text_of_the_last_assistant_turn():
    turns = [{"role": "assistant", "content": "first"}, {"role": "user", "content": "no"},
             {"role": "assistant", "content": [{"type": "text", "text": "last"}]}]  # fmt: skip
    assert values(rk.load_rollouts([{"completion": turns}]), "completion") == ["last"]
    by_messages = rk.load_rollouts([{"messages": turns}])
    assert values(by_messages, "completion") == ["last"]
    assert values(by_messages, "messages") == [turns]


def test_a_table_with_chat_messages_and_texts_keeps_both():
    rows = [{"completion": "text"}, {"completion": [{"role": "assistant", "content": "chat"}]}]
    assert values(rk.load_rollouts(pd.DataFrame(rows)), "completion") == ["text", "chat"]


def test_the_callers_table_list_and_dicts_are_never_changed():
    rows = [
        {"question": "q", "response": [{"role": "assistant", "content": "c"}], "n": None},
        {"response": "x"},
    ]
    before = copy.deepcopy(rows)
    frame = pd.DataFrame(rows, index=[7, 9])
    kept = frame.copy(deep=True)
    columns = {"completion": "response"}
    rk.load_rollouts(rows, columns=columns)
    rk.load_rollouts(frame, columns=columns)
    assert rows == before
    assert columns == {"completion": "response"}
    pd.testing.assert_frame_equal(frame, kept)


def test_column_names_that_are_numbers_become_text():
    for source in (
        [{0: "zero", "completion": "c"}],
        pd.DataFrame([["zero", "c"]], columns=[0, "completion"]),
    ):
        assert rk.load_rollouts(source).table["0"].tolist() == ["zero"]


def test_an_empty_completion_is_a_completion():
    assert values(rk.load_rollouts([{"completion": ""}]), "completion") == [""]


def test_a_row_is_a_dict_with_missing_values_as_none():
    rollouts = rk.load_rollouts([{"completion": "a", "n": 1}, {"completion": "b", "n": float("nan")}])
    assert rollouts[1] == {"rollout_id": 2, "completion": "b", "n": None}
    assert list(rollouts) == [rollouts[0], rollouts[1]]
    assert type(rollouts[0]["n"]) is int


def test_select_takes_positions_or_a_mask():
    rollouts = rk.load_rollouts([{"prompt": prompt, "completion": prompt * 2} for prompt in "abc"])
    assert values(rollouts.select([2, 0]), "completion") == ["cc", "aa"]
    assert values(rollouts.select(np.array([True, False, True])), "completion") == ["aa", "cc"]
    assert rollouts.select([2, 0]).groups.tolist() == [0, 1]


def test_the_fingerprint_follows_values_and_not_the_kind_of_source():
    rows = [{"prompt": "p", "completion": "c", "n": 1}, {"prompt": "p", "completion": "d", "n": 2}]
    same = {rk.load_rollouts(source).fingerprint for source in (rows, pd.DataFrame(rows), iter(rows))}
    assert len(same) == 1
    assert rk.load_rollouts([rows[0], {**rows[1], "n": 3}]).fingerprint not in same


@given(
    st.lists(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text()
        | st.floats(allow_nan=False)
        | st.lists(st.integers()),
        min_size=1,
    )
)
def test_a_column_gives_its_values_back_as_they_were(values):
    returned = column_values(as_column(values))
    assert returned == values
    if not {int, float} <= set(map(type, values)):  # whole and other numbers together become floats
        assert [type(value) for value in returned] == [type(value) for value in values]
