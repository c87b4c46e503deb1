"""Prompts out of data sets: their ids, the columns that go along, and what is kept out."""

import datetime
import decimal
import json

import numpy as np
import pandas as pd
import pytest

import rewardkit as rk
from rewardkit.rollouts.prompts import read_prompts

ROWS = [
    {"prompt_id": "007", "prompt": "2+2?", "ground_truth": "4", "level": 1},
    {"prompt_id": "008", "prompt": "Größe?", "ground_truth": None, "level": 2},
]
USER = [{"role": "user", "content": "2+2?"}]


def texts(read):
    return [item.prompt for item in read.items]


def test_prompts_have_ids_texts_and_the_other_columns_and_texts_of_csv_stay_texts(tmp_path):
    pd.DataFrame(ROWS).to_csv(tmp_path / "p.csv", index=False)
    for source in (ROWS, pd.DataFrame(ROWS), tmp_path / "p.csv"):
        read = read_prompts(source)
        assert [(item.prompt_id, item.prompt, item.columns) for item in read.items] == [
            ("007", "2+2?", {"ground_truth": "4", "level": 1}),
            ("008", "Größe?", {"ground_truth": None, "level": 2}),
        ]
        assert (read.rejected, read.warnings) == ((), ())


def test_a_training_set_of_verl_gives_messages_and_the_truth_inside_reward_model(tmp_path):
    messages = [{"role": "system", "content": "Think."}, {"role": "user", "content": "2+2?", "name": "a"}]
    row = {
        "data_source": "gsm8k", "prompt": messages, "extra_info": {"index": 3},
        "reward_model": {"style": "rule", "ground_truth": "4"},
    }  # fmt: skip
    pd.DataFrame([row]).to_parquet(tmp_path / "train.parquet")
    (prompt,) = read_prompts(tmp_path / "train.parquet").items
    assert prompt.prompt == prompt.messages == messages  # Parquet fills "name" in, as None: servers refuse it
    columns = {"data_source": "gsm8k", "extra_info": {"index": 3}, "ground_truth": "4"}
    assert columns.items() <= prompt.columns.items()


@pytest.mark.parametrize("name", ["prompt", "question", "query", "input", "instruction", "problem"])
def test_the_usual_names_are_known(name):
    assert texts(read_prompts([{name: "2+2?"}])) == ["2+2?"]


def test_another_name_is_given_and_then_a_column_called_prompt_is_left_out_and_said():
    read = read_prompts([{"text": "2+2?", "prompt": "x"}], columns={"prompt": "text"}, reserved=["prompt"])
    assert texts(read) == ["2+2?"]
    (said,) = read.warnings
    assert "column 'prompt' of the prompts is left out: the log has a column of that name" in said


def test_a_made_id_is_the_same_wherever_the_row_stands_and_however_it_is_sampled():
    first = {item.prompt: item.prompt_id for item in read_prompts([{"prompt": "a"}, {"prompt": "b"}]).items}
    again = read_prompts([{"prompt": "c"}, {"prompt": "b", "x": 1}, {"prompt": "a"}], system="Hi").items
    assert {item.prompt[-1]["content"]: item.prompt_id for item in again[1:]} == first
    assert len(set(first.values())) == 2
    turned = read_prompts([{"prompt": [{"content": "2+2?", "role": "user"}]}]).items[0]
    assert turned.prompt_id == read_prompts([{"prompt": USER}]).items[0].prompt_id


MADE = read_prompts([{"prompt": "a"}]).items[0].prompt_id


@pytest.mark.parametrize(
    ("given", "expected"),
    [(7, 7), (7.0, 7), (np.int64(7), 7), ("007", "007"), (None, MADE), (float("nan"), MADE), (pd.NA, MADE)],
)
def test_an_id_stays_as_it_is_and_a_row_without_one_gets_one(given, expected):
    (prompt,) = read_prompts([{"prompt": "a", "prompt_id": given}]).items
    assert prompt.prompt_id == expected and type(prompt.prompt_id) is type(expected)


SYSTEM = {"role": "system", "content": "Old."}


@pytest.mark.parametrize(
    ("row", "options", "reason"),
    [
        ({"x": 1}, {}, "has no prompt"),
        ({"prompt": " \n"}, {}, "has no prompt"),
        ({"prompt": 4}, {}, "has a prompt of type int"),
        ({"prompt": []}, {}, "has a prompt of type list"),
        ({"prompt": ["2+2?"]}, {}, "has a prompt of type list"),
        ({"prompt": [{"content": "a"}]}, {}, "neither text nor chat messages"),
        ({"prompt": [{"role": "user", "content": 4}]}, {}, "neither text nor"),
        ({"prompt": "b", "prompt_id": [1]}, {}, "has a prompt_id of type list"),
        ({"prompt": "b", "prompt_id": True}, {}, "has a prompt_id of type bool"),
        ({"prompt": "b", "prompt_id": 1.5}, {}, "has a prompt_id of type float"),
        ({"prompt": [SYSTEM, *USER]}, {"system": "New."}, "has a system message of its own"),
    ],
    ids=lambda value: ascii(value),
)
def test_a_row_that_is_no_prompt_is_kept_out_and_said(row, options, reason):
    read = read_prompts([{"prompt": "a"}, row], **options)
    assert len(read.items) == 1
    assert [item.line for item in read.rejected] == [2] and reason in read.rejected[0].reason
    assert "1 of 2 rows kept out (the first is line 2" in read.warnings[0]
    with pytest.raises(rk.RolloutsError, match="memory has no usable prompt; line 1: "):
        read_prompts([{"prompt": None}, row], **options)


def test_broken_lines_are_kept_out_and_said(tmp_path):
    (tmp_path / "p.jsonl").write_text('{"prompt": "a"}\n{"prom\n[]\n')
    read = read_prompts(tmp_path / "p.jsonl")
    assert [item.line for item in read.rejected] == [2, 3]
    assert "2 of 3 rows kept out" in read.warnings[0]


def test_a_repeated_prompt_counts_once_with_the_columns_of_its_first_row():
    rows = [("a", "1"), ("a", "1"), ("a", "1"), ("a", "2"), ("b", "1")]
    read = read_prompts([{"prompt": prompt, "answer": answer} for prompt, answer in rows])
    assert [(item.prompt, item.columns["answer"]) for item in read.items] == [("a", "1"), ("b", "1")]
    assert "3 rows repeat a prompt" in read.warnings[0] and "line 2 repeats line 1" in read.warnings[0]
    log = read_prompts("gallery:arithmetic", reserved=["completion", "generation", "policy"])
    assert len(log.items) == 150


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"array": np.array([1, 2]), "true": True}, {"array": [1, 2], "true": True}),
        ({"day": datetime.date(2026, 1, 2)}, {"day": "2026-01-02"}),
        ({"price": decimal.Decimal("1.50")}, {"price": "1.50"}),
        ({"nan": float("nan"), "nested": {"x": (1, np.nan)}}, {"nan": None, "nested": {"x": [1, None]}}),
        ({"ground_truth": "5", "reward_model": {"ground_truth": "4"}},
         {"ground_truth": "5", "reward_model": {"ground_truth": "4"}}),
    ],
)  # fmt: skip
def test_the_columns_are_what_json_holds(columns, expected):
    (prompt,) = read_prompts([{"prompt": "a", **columns}]).items
    assert prompt.columns == expected


def test_a_column_that_json_cannot_hold_is_left_out_of_all_rows_and_said():
    read = read_prompts([{"prompt": "a", "image": "none"}, {"prompt": "b", "image": {"bytes": b"x"}}])
    assert [item.columns for item in read.items] == [{}, {}]
    assert read.warnings == ("column 'image' of the prompts is left out: JSON cannot hold bytes",)


def test_a_system_prompt_is_put_in_front_and_what_was_given_is_not_changed():
    rows = [
        {"prompt": "2+2?"},
        {"prompt": [*USER, {"role": "assistant", "content": "4", "name": None}, *USER]},
    ]
    before = json.dumps(rows)
    first, second = read_prompts(rows, system="New.").items
    assert first.prompt == [{"role": "system", "content": "New."}, *USER]
    assert [message["role"] for message in second.prompt] == ["system", "user", "assistant", "user"]
    assert json.dumps(rows) == before


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ([{"text": "a"}], r"no column holds the prompts; memory has \['text'\]: name it"),
        ([], "memory has no usable prompt"),
        ("missing.jsonl", "there is no file 'missing.jsonl'"),
        (4, "not int"),
        ([{"prompt_id": 1, "prompt": "a"}, {"prompt_id": "1", "prompt": "b"}],
         r"prompt_id '1' for two prompts \(line 1 and line 2\)"),
    ],
    ids=["names", "nothing", "no file", "a number", "one id for two prompts, a number and its text"],
)  # fmt: skip
def test_what_holds_no_prompts_is_said(source, expected):
    with pytest.raises(rk.RolloutsError, match=expected):
        read_prompts(source)
