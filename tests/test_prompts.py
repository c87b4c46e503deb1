"""Prompts out of data sets: their ids, the columns that go along, and what is kept out."""

import datetime
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
SYSTEM = {"role": "system", "content": "Old."}


def rows_of(source, **options):
    return read_prompts(source, **options)[0]


def test_prompts_have_ids_texts_and_the_other_columns_and_texts_of_csv_stay_texts(
    tmp_path,
):
    pd.DataFrame(ROWS).to_csv(tmp_path / "p.csv", index=False)
    for source in (ROWS, pd.DataFrame(ROWS), tmp_path / "p.csv"):
        assert read_prompts(source) == (ROWS, (), [])
    assert len(rows_of("gallery:arithmetic")) == 150  # a log: each prompt once


def test_a_training_set_of_verl_gives_messages_and_the_truth_inside_reward_model(
    tmp_path,
):
    messages = [
        {"role": "system", "content": "Think."},
        {"role": "user", "content": "2+2?", "name": "a"},
    ]
    row = {
        "data_source": "gsm8k", "prompt": messages, "extra_info": {"index": 3},
        "reward_model": {"style": "rule", "ground_truth": "4"},
    }  # fmt: skip
    pd.DataFrame([row]).to_parquet(tmp_path / "train.parquet")
    (read,) = rows_of(
        tmp_path / "train.parquet"
    )  # Parquet fills "name" in, as None: servers refuse it
    assert read == {**row, "prompt_id": read["prompt_id"], "ground_truth": "4"}


def test_a_made_id_is_the_same_wherever_the_row_stands_and_however_it_is_sampled():
    first = {
        row["prompt"]: row["prompt_id"]
        for row in rows_of([{"prompt": "a"}, {"prompt": "b"}])
    }
    again = rows_of(
        [{"prompt": "c"}, {"prompt": "b", "x": 1}, {"prompt": "a"}], system="Hi"
    )
    assert {
        row["prompt"][-1]["content"]: row["prompt_id"] for row in again[1:]
    } == first
    assert len(set(first.values())) == 2
    turned = [{"prompt": [{"content": "2+2?", "role": "user"}]}]
    assert rows_of(turned) == rows_of([{"prompt": USER}])


MADE = rows_of([{"prompt": "a"}])[0]["prompt_id"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (7, 7),
        (7.0, 7),
        (np.int64(7), 7),
        ("007", "007"),
        (None, MADE),
        (float("nan"), MADE),
        (pd.NA, MADE),
    ],
)
def test_an_id_stays_as_it_is_and_a_row_without_one_gets_one(given, expected):
    ((prompt_id, _),) = (
        row.values() for row in rows_of([{"prompt": "a", "prompt_id": given}])
    )
    assert prompt_id == expected and type(prompt_id) is type(expected)


@pytest.mark.parametrize(
    ("row", "options", "reason"),
    [
        ({"prompt": " \n"}, {}, "has no prompt"),
        ({"prompt": 4}, {}, "has a prompt of type int"),
        ({"prompt": "b", "prompt_id": [1]}, {}, "has a prompt_id of type list"),
        (
            {"prompt": [SYSTEM, *USER]},
            {"system": "New."},
            "has a system message of its own",
        ),
        ([], {}, "a row is an object with columns"),
    ],
    ids=ascii,
)
def test_a_row_that_is_no_prompt_is_kept_out_and_said(row, options, reason):
    read, rejected, warnings = read_prompts([{"prompt": "a"}, row], **options)
    assert len(read) == 1
    assert [item.line for item in rejected] == [2] and reason in rejected[0].reason
    assert "1 of 2 rows kept out (the first is line 2" in warnings[0]
    with pytest.raises(rk.RolloutsError, match="memory has no usable prompt; line 1: "):
        read_prompts([{"prompt": None}, row], **options)


def test_a_repeated_prompt_counts_once_with_the_columns_of_its_first_row():
    given = [
        {"prompt": prompt, "answer": answer} for prompt, answer in ("a1", "a2", "b1")
    ]
    read, _, (said,) = read_prompts(given)
    assert [row["prompt"] + row["answer"] for row in read] == ["a1", "b1"]
    assert "1 rows repeat a prompt" in said and "line 2 repeats line 1" in said


def test_the_columns_are_what_json_holds_and_what_cannot_go_along_is_said():
    given = {
        "array": np.array([1, 2]),
        "true": True,
        "nan": float("nan"),
        "nested": {"x": (1, np.nan)},
    }
    (row,), _, (said,) = read_prompts(
        [{"prompt": "a", **given, "day": datetime.date(2026, 1, 2)}]
    )
    expected = {"array": [1, 2], "true": True, "nan": None, "nested": {"x": [1, None]}}
    assert row == {"prompt_id": MADE, "prompt": "a", **expected}
    assert "'day' of the prompts is left out: JSON cannot hold date" in said


def test_a_system_prompt_is_put_in_front_and_what_was_given_is_not_changed():
    turns = [*USER, {"role": "assistant", "content": "4", "name": None}, *USER]
    rows = [{"prompt": "2+2?"}, {"prompt": turns}]
    before = json.dumps(rows)
    first, second = rows_of(rows, system="New.")
    assert first["prompt"] == [{"role": "system", "content": "New."}, *USER]
    assert [message["role"] for message in second["prompt"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert json.dumps(rows) == before


@pytest.mark.parametrize(
    ("source", "options", "expected"),
    [
        ([{"text": "a"}], {}, r"no column holds the prompts; memory has \['text'\]: name it"),
        ([], {}, "memory has no usable prompt"),
        ([{"prompt_id": 1, "prompt": "a"}, {"prompt_id": "1", "prompt": "b"}], {},
         r"prompt_id '1' for two prompts \(line 1 and line 2\)"),
        (ROWS, {"columns": {"prompt": "promt"}}, "columns= asks for 'promt'.*did you mean 'prompt'"),
    ],
)  # fmt: skip
def test_what_holds_no_prompts_is_said(source, options, expected):
    with pytest.raises(rk.RolloutsError, match=expected):
        read_prompts(source, **options)
