"""Sampling from Python, in a notebook, and from the command line."""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
from commands import record, refused
from commands import run as command
from server import PROMPTS, error, four, rows, run

import rewardkit as rk


def test_it_works_under_a_running_event_loop_and_from_a_table_which_it_does_not_change(
    serve, capsys
):
    server, table = serve(), pd.DataFrame(PROMPTS)
    before = table.copy(deep=True)

    async def cell():
        return run(server, table, progress=True)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(asyncio.run, cell()).result().sampled == 6
    pd.testing.assert_frame_equal(table, before)
    assert "6/6" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"n": 0}, "n is 0; it is a whole number from 1"),
        ({"timeout": 0}, "timeout is 0; it is a number of seconds above 0"),
        ({"extra_body": {"n": 8}}, "extra_body has 'n', which sample sets itself"),
        (
            {"base_url": "localhost:8000/v1"},
            "base_url is 'localhost:8000/v1'; give one such as 'http://",
        ),
        ({"output": "log.csv"}, "the log is JSONL: 'log.csv' should end in .jsonl"),
    ],
)
def test_an_option_that_cannot_be_is_said_in_one_sentence_before_anything_is_asked(
    options, expected
):
    with pytest.raises(rk.InputError, match=expected):
        run("http://localhost:1/v1", **options)
    assert list(Path().iterdir()) == []


def test_without_openai_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"pip install 'reward-workbench\[judges\]'"
    ):
        run("http://localhost:1/v1")


def line(server):
    Path("p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PROMPTS))
    return f"sample p.jsonl --base-url {server.url} --model tiny -o log.jsonl"


def test_the_command_prints_one_object_and_exits_1_when_completions_are_missing(serve):
    server = serve(
        lambda text, attempt: error(500) if "1" in text else four(text, attempt)
    )
    got = record(f"{line(server)} -n 3 --retries 0", 1)
    expected = {
        "rows": 6, "prompts": 3, "n": 3, "sampled": 6, "kept": 0, "failed": 3,
        "tokens": {"prompt": 18, "completion": 30}, "output": "log.jsonl",
    }  # fmt: skip
    assert {name: got[name] for name in expected} == expected
    assert got["seconds"] > 0 and got["failures"][0]["rollout_id"] == "q1#0"
    server.answer = four
    again = command(f"{line(server)} -n 3")
    assert again.exit_code == 0
    assert (
        "log.jsonl has 9 completions: 3 sampled now" in again.stdout
        and "6 were there" in again.stdout
    )


def test_the_command_refuses_what_it_cannot_use_and_hands_every_option_on(serve):
    server = serve()
    refused(f"{line(server)} --extra-body {{", "is not JSON")
    refused(f"{line(server)} --temperature hot", "is not a valid float")
    words = (
        "-n 1 --limit 1 --seed 1 --system S --top-p 0.5 --max-tokens 9 --policy P --prompt ground_truth "
        "--prompt-id level --concurrency 2 --timeout 9 --temperature 0.5 --extra-body '{\"top_k\": 2}'"
    )
    assert command(f"{line(server)} {words}").exit_code == 0
    (row,) = rows()
    expected = {
        "prompt_id": 0, "policy": "P", "model": "tiny", "top_p": 0.5, "max_tokens": 9, "temperature": 0.5,
        "extra_body": {"top_k": 2},
    }  # fmt: skip
    assert expected.items() <= row.items()
    assert row["prompt"] == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "2"},
    ]
