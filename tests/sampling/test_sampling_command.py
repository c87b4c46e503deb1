"""Sampling from Python, in a notebook, and from the command line."""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from server import PROMPTS, error, four, rows, run

import rewardkit as rk
from rewardkit.cli import main


def test_it_works_under_a_running_event_loop_and_from_a_table_which_it_does_not_change(serve, capsys):
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
        ({"retries": -1}, "retries is -1; it is a whole number from 0"),
        ({"timeout": 0}, "timeout is 0; it is a number of seconds above 0"),
        ({"extra_body": {"n": 8}}, "extra_body has 'n', which sample sets itself"),
        ({"base_url": "localhost:8000/v1"}, "base_url is 'localhost:8000/v1'; give one such as 'http://"),
        ({"output": "log.csv"}, "the log is JSONL: 'log.csv' should end in .jsonl"),
        ({"columns": {"prompt": "promt"}}, "columns= asks for 'promt'.*did you mean 'prompt'"),
    ],
)
def test_an_option_that_cannot_be_is_said_in_one_sentence_before_anything_is_asked(options, expected):
    with pytest.raises(rk.InputError, match=expected):
        run("http://localhost:1/v1", **options)
    assert list(Path().iterdir()) == []


def test_without_openai_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'reward-workbench\[judges\]'"):
        run("http://localhost:1/v1")


def invoke(server, *arguments):
    Path("p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PROMPTS))
    words = f"sample p.jsonl --base-url {server.url} --model tiny -o log.jsonl"
    return CliRunner().invoke(main, [*words.split(), *arguments])


def test_the_command_prints_one_object_and_exits_1_when_completions_are_missing(serve):
    server = serve(lambda text, attempt: error(500) if "1" in text else four(text, attempt))
    result = invoke(server, "-n", "3", "--retries", "0", "--json")
    got = json.loads(result.stdout)
    assert result.exit_code == 1
    expected = {
        "rows": 6, "prompts": 3, "n": 3, "sampled": 6, "kept": 0, "failed": 3,
        "tokens": {"prompt": 18, "completion": 30}, "output": "log.jsonl",
    }  # fmt: skip
    assert {name: got[name] for name in expected} == expected
    assert got["seconds"] > 0 and got["failures"][0]["rollout_id"] == "q1#0"
    server.answer = four
    again = invoke(server, "-n", "3")
    assert again.exit_code == 0
    assert "log.jsonl has 9 completions: 3 sampled now" in again.stdout and "6 were there" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--extra-body", "{"), "is not JSON"),
        (("--temperature", "hot"), "is not a valid float"),
        (("--prompt", "text"), "columns= asks for 'text'"),
    ],
)
def test_the_command_ends_with_one_line_and_status_2_for_what_it_cannot_use(serve, arguments, expected):
    result = invoke(serve(), *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert expected in result.stderr and len(result.stderr.splitlines()) == 1


def test_the_command_hands_every_option_on(serve):
    server = serve()
    words = (
        "-n 1 --limit 1 --seed 1 --system S --top-p 0.5 --max-tokens 9 --policy P --prompt ground_truth "
        "--prompt-id level --concurrency 2 --timeout 9 --temperature 0.5"
    )
    assert invoke(server, *words.split(), "--extra-body", '{"top_k": 2}').exit_code == 0
    (row,) = rows()
    expected = {
        "prompt_id": 0, "policy": "P", "model": "tiny", "top_p": 0.5, "max_tokens": 9, "temperature": 0.5,
        "extra_body": {"top_k": 2},
    }  # fmt: skip
    assert expected.items() <= row.items()
    assert row["prompt"] == [{"role": "system", "content": "S"}, {"role": "user", "content": "2"}]
