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


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "frame", "dicts"])
def test_every_kind_of_source_gives_the_same_prompts(tmp_path, kind):
    frame, path = pd.DataFrame(ROWS), tmp_path / f"p.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    read = read_prompts({"frame": frame, "dicts": ROWS}.get(kind, path))
    assert [item.prompt_id for item in read.items] == ["007", "008"]
    assert texts(read) == ["2+2?", "Größe?"]
    assert [item.columns for item in read.items] == [
        {"ground_truth": "4", "level": 1},
        {"ground_truth": None, "level": 2},
    ]
    assert (read.rejected, read.warnings) == ((), ())


def test_a_training_set_of_verl_gives_messages_and_the_truth_inside_reward_model(tmp_path):
    path = tmp_path / "train.parquet"
    row = {
        "data_source": "gsm8k",
        "prompt": [{"role": "system", "content": "Think."}, {"role": "user", "content": "2+2?", "name": "a"}],
        "reward_model": {"style": "rule", "ground_truth": "4"},
        "extra_info": {"index": 3},
    }
    pd.DataFrame([row]).to_parquet(path)
    (prompt,) = read_prompts(path).items
    assert prompt.prompt == prompt.messages == [
        {"role": "system", "content": "Think."},  # Parquet fills "name" in, as None, which servers refuse
        {"role": "user", "content": "2+2?", "name": "a"},
    ]  # fmt: skip
    assert prompt.columns["ground_truth"] == "4"
    assert prompt.columns["data_source"] == "gsm8k"
    assert prompt.columns["extra_info"] == {"index": 3}


def test_a_truth_that_has_a_column_is_not_taken_from_reward_model():
    (prompt,) = read_prompts(
        [{"prompt": "a", "ground_truth": "5", "reward_model": {"ground_truth": "4"}}]
    ).items
    assert prompt.columns == {"ground_truth": "5", "reward_model": {"ground_truth": "4"}}


@pytest.mark.parametrize("name", ["prompt", "question", "query", "input", "instruction", "problem"])
def test_the_usual_names_are_known(name):
    assert texts(read_prompts([{name: "2+2?"}])) == ["2+2?"]


def test_another_name_is_given_and_then_a_column_called_prompt_is_left_out_and_said():
    read = read_prompts([{"text": "2+2?", "prompt": "x"}], columns={"prompt": "text"}, reserved=["prompt"])
    assert texts(read) == ["2+2?"]
    assert read.warnings == (
        "column 'prompt' of the prompts is left out: the log has a column of that name for itself",
    )


def test_a_made_id_is_the_same_wherever_the_row_stands_and_however_it_is_sampled():
    first = {item.prompt: item.prompt_id for item in read_prompts([{"prompt": "a"}, {"prompt": "b"}]).items}
    again = read_prompts([{"prompt": "c"}, {"prompt": "b", "x": 1}, {"prompt": "a"}], system="Hi").items
    assert {item.prompt[-1]["content"]: item.prompt_id for item in again[1:]} == first
    assert len(set(first.values())) == 2
    messages = read_prompts([{"prompt": [{"content": "2+2?", "role": "user"}]}, {"prompt": "2+2?"}]).items
    assert messages[0].prompt_id == read_prompts([{"prompt": USER}]).items[0].prompt_id


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(7, 7, id="a whole number"),
        pytest.param(7.0, 7, id="a whole number in a column with gaps"),
        pytest.param(np.int64(7), 7, id="of numpy"),
        pytest.param("007", "007", id="text"),
    ],
)
def test_an_id_stays_as_it_is(given, expected):
    (prompt,) = read_prompts([{"prompt": "a", "prompt_id": given}]).items
    assert prompt.prompt_id == expected and type(prompt.prompt_id) is type(expected)


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA])
def test_a_row_without_an_id_gets_one(gap):
    (prompt,) = read_prompts([{"prompt": "a", "prompt_id": gap}]).items
    assert prompt.prompt_id == read_prompts([{"prompt": "a"}]).items[0].prompt_id


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        pytest.param({"x": 1}, "has no prompt", id="missing"),
        pytest.param({"prompt": None}, "has no prompt", id="None"),
        pytest.param({"prompt": " \n"}, "has no prompt", id="blank"),
        pytest.param({"prompt": 4}, "has a prompt of type int", id="a number"),
        pytest.param({"prompt": []}, "has a prompt of type list", id="no messages"),
        pytest.param({"prompt": ["2+2?"]}, "has a prompt of type list", id="texts"),
        pytest.param({"prompt": [{"content": "a"}]}, "neither text nor chat messages", id="no role"),
        pytest.param({"prompt": [{"role": "user", "content": 4}]}, "neither text nor", id="content 4"),
        pytest.param({"prompt": "\ud800"}, "half a character", id="a lone surrogate"),
        pytest.param({"prompt": "b", "prompt_id": [1]}, "has a prompt_id of type list", id="a list as id"),
        pytest.param({"prompt": "b", "prompt_id": True}, "has a prompt_id of type bool", id="a bool as id"),
        pytest.param({"prompt": "b", "prompt_id": 1.5}, "has a prompt_id of type float", id="a half"),
    ],
)
def test_a_row_that_is_no_prompt_is_kept_out_and_said(row, reason):
    read = read_prompts([{"prompt": "a"}, row])
    assert texts(read) == ["a"]
    assert [item.line for item in read.rejected] == [2] and reason in read.rejected[0].reason
    assert "1 of 2 rows kept out (the first is line 2" in read.warnings[0]
    with pytest.raises(rk.RolloutsError, match="memory has no usable prompt; line 1: "):
        read_prompts([{"prompt": None}, row])


def test_broken_lines_are_kept_out_and_said(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text('{"prompt": "a"}\n{"prom\n[]\n')
    read = read_prompts(path)
    assert [item.line for item in read.rejected] == [2, 3]
    assert "2 of 3 rows kept out" in read.warnings[0]


def test_a_repeated_prompt_counts_once_and_other_values_are_said():
    log = [{"prompt": "a", "answer": "1"}] * 3 + [
        {"prompt": "a", "answer": "2"},
        {"prompt": "b", "answer": "1"},
    ]
    read = read_prompts(log)
    assert [(item.prompt, item.columns) for item in read.items] == [
        ("a", {"answer": "1"}),
        ("b", {"answer": "1"}),
    ]
    assert "3 rows repeat a prompt" in read.warnings[0] and "line 2 repeats line 1" in read.warnings[0]
    assert read.warnings[1] == "1 of the repeated prompts have other values in other columns"


def test_a_log_of_completions_gives_each_of_its_prompts_once():
    read = read_prompts("gallery:arithmetic", reserved=["completion", "generation", "policy"])
    assert len(read.items) == 150


@pytest.mark.parametrize(
    ("first", "second"),
    [pytest.param("1", "1", id="equal"), pytest.param(1, "1", id="a number and its text")],
)
def test_one_id_for_two_prompts_is_an_error(first, second):
    rows = [{"prompt_id": first, "prompt": "a"}, {"prompt_id": second, "prompt": "b"}]
    with pytest.raises(rk.RolloutsError, match=r"prompt_id '1' for two prompts \(lines 1 and 2\)"):
        read_prompts(rows)


def test_the_columns_are_what_json_holds():
    row = {
        "prompt": "a", "array": np.array([1, 2]), "day": datetime.date(2026, 1, 2), "nan": float("nan"),
        "price": decimal.Decimal("1.50"), "nested": {"x": (1, float("nan"))}, "true": True,
    }  # fmt: skip
    (prompt,) = read_prompts([row]).items
    assert prompt.columns == {
        "array": [1, 2], "day": "2026-01-02", "nan": None, "price": "1.50", "nested": {"x": [1, None]},
        "true": True,
    }  # fmt: skip


def test_a_column_that_json_cannot_hold_is_left_out_of_all_rows_and_said():
    rows = [{"prompt": "a", "image": "none"}, {"prompt": "b", "image": {"bytes": b"x"}}]
    read = read_prompts(rows)
    assert [item.columns for item in read.items] == [{}, {}]
    assert read.warnings == ("column 'image' of the prompts is left out: JSON cannot hold bytes",)


def test_a_system_prompt_is_put_in_front_and_not_beside_another():
    read = read_prompts(
        [{"prompt": "2+2?"}, {"prompt": [*USER, {"role": "assistant", "content": "4"}, *USER]},
         {"prompt": [{"role": "system", "content": "Old."}, *USER]}],
        system="New.",
    )  # fmt: skip
    assert read.items[0].prompt == [{"role": "system", "content": "New."}, *USER]
    assert [message["role"] for message in read.items[1].prompt] == ["system", "user", "assistant", "user"]
    assert "has a system message of its own" in read.rejected[0].reason


def test_what_was_given_is_not_changed():
    rows = [
        {"prompt": [{"role": "user", "content": "a", "name": None}], "reward_model": {"ground_truth": "4"}}
    ]
    before = json.dumps(rows)
    read_prompts(rows, system="Hi")
    assert json.dumps(rows) == before


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param(
            [{"text": "a"}], r"no column holds the prompts; memory has \['text'\]: name it", id="names"
        ),
        pytest.param([], "memory has no usable prompt", id="nothing"),
        pytest.param("missing.jsonl", "there is no file 'missing.jsonl'", id="no file"),
        pytest.param(4, "not int", id="a number"),
    ],
)
def test_what_holds_no_prompts_is_said(source, expected):
    with pytest.raises(rk.RolloutsError, match=expected):
        read_prompts(source)
