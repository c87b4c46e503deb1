"""A server that fails on demand: what is asked for again, what ends a run, and that no key is shown."""

import json
import re
import time
import traceback
from pathlib import Path

import pytest
from server import ALL, PROMPTS, Reply, error, four, ids, rows, run, said

import rewardkit as rk
from rewardkit.rollouts import chat
from rewardkit.rollouts.chat import Server

KEY = "sk-secret-0123456789"


@pytest.mark.parametrize(
    "trouble",
    [
        error(429),
        error(503),
        Reply(said("4").body, cut=True),
        Reply(said("late").body, delay=0.6),
    ],
    ids=["too many requests", "not there yet", "cut off", "slow"],
)
def test_what_fails_once_is_asked_for_again(serve, trouble):
    server = serve(
        lambda text, attempt: (
            trouble if "1" in text and attempt == 0 else four(text, attempt)
        )
    )
    done = run(server, timeout=0.3, seed=1, n=1)
    assert (done.sampled, done.failed, len(server.asked)) == (3, (), 4)
    assert {row["completion"] for row in rows()} == {
        "<think>2+2</think><answer>4</answer>"
    }


@pytest.mark.parametrize(
    ("trouble", "requests", "said"),
    [
        (error(500, "boom"), 3, "500.*boom"),
        (
            error(400, "use max_completion_tokens"),
            1,
            "use max_completion_tokens",
        ),  # settings that it refuses
        (Reply(b'{"choices": [{"mess'), 1, "no chat completion.*mess"),
        (
            Reply(b"<html>", headers={"Content-Type": "text/html"}),
            1,
            "no chat completion.*html",
        ),
        (Reply({"error": {"message": "busy"}}), 1, "no chat completion.*busy"),
    ],
)
def test_a_prompt_that_always_fails_costs_its_own_siblings_and_is_asked_for_in_the_next_run(
    serve, trouble, requests, said
):
    server = serve(
        lambda text, attempt: trouble if "1" in text else four(text, attempt)
    )
    done = run(server)
    assert [item.rollout_id for item in done.failed] == ["q1#0", "q1#1"]
    assert re.search(said, done.failed[0].reason)
    assert "2 failed, the first q1#0" in str(done)
    assert (done.rows, len(server.asked)) == (4, 4 + 2 * requests)
    server.answer = four
    again = run(server)
    assert (again.kept, again.sampled, again.failed) == (4, 2, ())
    assert ids() == ALL


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (error(401, "bad key"), "refuses the key .*bad key.*; set OPENAI_API_KEY"),
        (error(402, "pay"), "asks for payment"),
        (error(403, "not yours"), "refuses access .*not yours"),
        (
            error(404, "no such model"),
            "does not know the model.*'tinni'.*did you mean 'tiny'",
        ),
        (error(429, "quota", code="insufficient_quota"), "has no quota left"),
    ],
)
def test_what_no_request_will_change_stops_at_once_and_leaves_no_file(
    serve, reply, expected
):
    server = serve(lambda *_: reply)
    with pytest.raises(rk.InputError, match=expected):
        run(server, n=50, model="tinni", concurrency=2, retries=0)
    assert len(server.asked) < 10  # of 150
    assert not Path("log.jsonl").exists()


def test_a_server_that_is_not_there_is_said_at_once(serve):
    server = serve()
    server.close()
    started = time.perf_counter()
    with pytest.raises(
        rk.InputError,
        match=r"the server at 'http://127\.0\.0\.1:\d+/v1' does not answer",
    ):
        run(server, retries=10)
    assert (
        time.perf_counter() - started < 20 and not Path("log.jsonl").exists()
    )  # a minute if asked again


@pytest.mark.parametrize(
    "models", [Reply({}, status=404), Reply(b"<html>"), Reply(delay=0.4)], ids=str
)
def test_a_server_that_does_not_list_its_models_is_asked_nevertheless(
    serve, monkeypatch, models
):
    monkeypatch.setattr(chat, "REACH_SECONDS", 0.2)
    assert run(serve(models=models)).sampled == 6


def test_what_ends_the_run_in_the_middle_keeps_what_the_server_gave(serve):
    def answer(text, attempt):
        return (
            four(text, 0)
            if int(text[:-1]) < 5
            else server.close() or Reply(said("4").body, cut=True)
        )

    server = serve(answer)
    with pytest.raises(
        rk.InputError,
        match=r"does not answer .*10 of the 80 completions .* in 'log\.jsonl'",
    ):
        run(server, [{"prompt": f"{i}?"} for i in range(40)], concurrency=1, retries=1)
    assert len(server.asked) <= 10 + 8
    assert len(rows()) == 10


def test_the_bound_on_requests_at_a_time_is_reached_and_held(serve):
    server = serve(lambda *_: Reply(said("4").body, delay=0.03))
    run(server, n=6, concurrency=3)
    assert server.most_at_once == 3


def test_a_key_is_sent_and_no_key_or_password_is_ever_shown(serve, monkeypatch):
    given = Server("http://me:hidden@localhost:1/v1", "m", 1, 1)
    assert "hidden" not in given.address + repr(given)
    local = serve()
    run(local, output="local.jsonl")
    assert set(local.keys) == {"Bearer no-key"}
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    server = serve(lambda *_: error(500, f"key {KEY} is tired"))
    done = run(server, PROMPTS[:1], retries=0)
    assert set(server.keys) == {f"Bearer {KEY}"}
    server.answer = lambda *_: error(401, f"Incorrect API key provided: {KEY}")
    with pytest.raises(rk.InputError, match=r"\*\*\*") as refused:
        run(server, PROMPTS[:1])
    shown = [
        *traceback.format_exception(refused.value),
        str(done),
        json.dumps(done.record()),
    ]
    assert KEY not in "".join([*shown, repr(Server(server.url, "m", 1, 1))])
    assert "***" in done.failed[0].reason
    monkeypatch.setenv("OPENAI_API_KEY", "sk-“quoted”")
    with pytest.raises(
        rk.InputError, match="OPENAI_API_KEY holds characters that no key has"
    ) as refused:
        run(server)
    assert "quoted" not in str(refused.value)
