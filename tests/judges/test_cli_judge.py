"""`rewardkit judge`, `rewardkit cache` and `--no-cache`: exit statuses, JSON, and what is asked."""

import json
import os

import pytest
from click.testing import CliRunner
from judged import verdict

import rewardkit as rk
from rewardkit.cli import main

REWARD = """
import rewardkit as rk

clear = rk.judge("How good?", model="tiny", base_url="{url}", scale={{"good": 1.0, "poor": 0.0}},
                 limits=rk.judges.Limits(prices=(1e5, 2e5)))

def named(completion):
    return float(completion.startswith("good"))

def always(completion):
    return 1.0

reward = rk.Reward("r", components=[
    rk.Component("named", named), rk.Component("clear", clear, gate=rk.gate("named", at_least=1.0))])
plain = rk.Reward("p", components=[rk.Component("named", named), rk.Component("always", always)])
"""


@pytest.fixture
def server(serve, tmp_path):
    """A server, in a folder with rewards that ask it, labelled cases, a log and cases with expectations."""
    server = serve(
        lambda text, attempt: verdict("good" if "\ngood " in text else "poor")
    )
    (tmp_path / "mine.py").write_text(REWARD.format(url=server.url))
    rows = [
        {"prompt": f"p{at}", "completion": f"{('good', 'poor')[at % 2]} {at}"}
        for at in range(40)
    ]
    labelled = [{**row, "label": row["completion"].split()[0]} for row in rows]
    scored = [{**row, "label": row["label"] == "good"} for row in labelled]
    cases = [{**rows[0], "scores": {"named": 1}}]
    for name, lines in {
        "labelled": labelled,
        "scored": scored,
        "log": rows,
        "cases": cases,
    }.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return server


def run(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def record(result):
    return json.loads(result.stdout)


RUNS = [
    ("mine.py labelled.jsonl", 0, "clear"),  # the component that asks a model
    ("mine.py:clear labelled.jsonl", 0, "clear"),  # a judge by itself
    ("mine.py scored.jsonl --component named --fail-under 0.9", 0, "named"),
    ("mine.py:always scored.jsonl --fail-under 0.9", 1, "always"),
]


@pytest.mark.parametrize(("line", "status", "judge"), RUNS)
def test_judges_are_reported_and_the_exit_status_is_that_of_the_threshold(
    server, line, status, judge
):
    result = run("judge", *line.split(), "--json", "--no-attacks")
    assert (result.exit_code, list(record(result)["judges"])) == (status, [judge]), (
        result.stderr
    )
    assert record(result)["judges"][judge]["attacked"] is None


BAD = [
    ("mine.py nowhere.jsonl", "there is no file 'nowhere.jsonl'"),
    (
        "mine.py:plain scored.jsonl",
        "ask a model; give --component one of ['named', 'always']",
    ),
    ("mine.py labelled.jsonl --repeats 0", "--repeats"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_input_that_cannot_be_used_is_one_line_and_exit_2(server, line, message):
    result = run("judge", *line.split())
    assert result.exit_code == 2 and message in result.stderr
    assert result.stderr.count("\n") == 1 and server.asked == []


def test_the_cache_says_what_it_keeps_and_forgets_it(server):
    run("check", "mine.py", "cases.jsonl")
    assert record(run("cache", "--json"))["answers"] == len(server.asked) == 1
    assert "1 answer" in run("cache").stdout
    cleared = record(run("cache", "--clear", "--json"))
    assert (cleared["answers"], cleared["forgotten"]) == (0, 1)


def test_without_the_cache_every_call_is_made_again_and_nothing_is_cached(
    server, monkeypatch
):
    command = ("judge", "mine.py", "labelled.jsonl", "--no-attacks")
    assert run(*command).stdout.startswith("clear")
    asked = len(server.asked)
    assert run(*command).exit_code == 0 and len(server.asked) == asked > 0
    monkeypatch.setenv(
        "REWARDKIT_CACHE", os.environ["REWARDKIT_CACHE"]
    )  # put back behind the test
    assert run(*command, "--no-cache").exit_code == 0 and len(server.asked) == 2 * asked
    assert "no answers are cached" in run("cache").stdout


def test_scores_say_what_was_put_to_the_model_and_the_record_holds_it(server):
    assert (
        "put 20 rows to a model: 60 + 100 tokens, cost 26"
        in run("score", "mine.py", "log.jsonl").stdout
    )
    again = run("score", "mine.py", "log.jsonl", "-o", "out", "--json")
    (asked,) = record(again)["asked"].values()
    assert (asked["verdicts"], asked["cached"], asked["tokens"]) == (20, 20, [0, 0])
    scores = rk.load_scores("out")
    assert scores.record["asked"]["clear"] == asked
    assert "clear put 20 rows to a model: 20 cached" in scores._repr_html_()
