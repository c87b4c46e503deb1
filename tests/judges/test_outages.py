"""Judges in the long run: deadlines, servers that fail or are gone, and whose answers are cached."""

import socket
import time

import httpx
import openai
import pytest
from judged import judge, score, verdict
from server import Reply, error, said

import rewardkit as rk
from rewardkit.judges import connection
from rewardkit.judges.cache import server_name

ROWS = [str(at) for at in range(40)]
LATE = "the run has had its 0.6 s"
SECONDS = 0.6  # of a run
SLACK = 1.5  # for a busy machine; each case took 2 s or more, most of them minutes


def slow(reply, seconds):
    """The reply after some seconds."""
    return Reply(reply.body, delay=seconds)


def wait_for(seconds):
    """An answer that sends the client away for some seconds."""
    return Reply({}, status=429, headers={"retry-after": str(seconds)})


DEADLINES = [
    # what the server does, limits, the fewest rows that are judged
    (lambda *_: slow(verdict(), 0.2), {"concurrency": 2}, 2),
    (lambda *_: slow(verdict(), 3.0), {}, 0),
    (lambda *_: wait_for(30), {}, 0),
    (lambda *_: Reply({}, status=503), {"retries": 6}, 0),  # its waits are ours
    (lambda *_: verdict(), {"requests_per_minute": 6}, 1),
    (lambda *_: slow(said("Well, yes."), 0.4), {}, 0),  # ends the second question
]


@pytest.mark.parametrize(("answer", "limits", "fewest"), DEADLINES)
def test_a_run_ends_at_its_deadline_whatever_it_waits_for_and_keeps_what_is_judged(
    serve, answer, limits, fewest
):
    settings = {"concurrency": 4, "timeout": 60.0, **limits}
    asking = judge(serve(answer), limits={**settings, "run_deadline": SECONDS})
    began = time.monotonic()
    scores = score(asking, ROWS)
    assert time.monotonic() - began < SECONDS + SLACK
    counts = scores.counts["c"]
    assert counts["scored"] >= fewest
    assert counts["scored"] + counts["abstained"] == len(ROWS)
    assert set(scores.table["error/c"].dropna()) == {LATE}


def test_a_server_that_accepts_and_never_answers_cannot_hold_a_run_beyond_its_deadline():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        limits = rk.judges.Limits(run_deadline=SECONDS)
        asking = rk.judge("Clear?", model="tiny", base_url=url, limits=limits)
        began = time.monotonic()
        assert set(score(asking, ROWS).table["error/c"]) == {LATE}
        assert time.monotonic() - began < SECONDS + SLACK


def test_a_run_in_time_is_judged_whole(serve):
    limits = {"run_deadline": 60.0, "concurrency": 4}
    scores = score(judge(serve(lambda *_: verdict()), limits=limits), ROWS)
    assert scores.counts["c"]["scored"] == len(ROWS)


OUTAGES = [(1, 3 + 1 + 4), (16, 16 + 3 * 3 + 4)]


@pytest.mark.parametrize(("concurrency", "most"), OUTAGES)
def test_of_a_server_that_fails_one_question_is_repeated_and_the_rest_is_not_asked(
    serve, concurrency, most
):
    server = serve(lambda *_: error(500, "out of memory"))
    scores = score(judge(server, limits={"concurrency": concurrency}), ROWS)
    assert len(server.asked) <= most
    reasons = scores.table["error/c"].value_counts()
    (breaker,) = [why for why in reasons.index if "look at its log" in why]
    assert f"the server at '{server.url}' answered none of the last 5" in breaker
    assert "Error code: 500 - out of memory" in breaker
    assert len(reasons) == 2 and reasons[breaker] >= len(ROWS) - 16 - 4
    assert scores.table["reward"].isna().all()


def test_a_server_that_goes_away_is_not_asked_for_each_of_the_rows_that_are_left(
    serve, monkeypatch
):
    monkeypatch.setattr(connection, "FIRST_WAIT", 0.01)
    server = serve(lambda *_: Reply(verdict().body, headers={"connection": "close"}))
    asking = judge(server, limits={"retries": 2}, cache=False)
    assert score(asking, ["before"]).counts["c"]["scored"] == 1
    server.close()
    scores = score(asking, ROWS)
    assert set(scores.table["status/c"]) == {"abstained"}
    (why,) = set(scores.table["error/c"])
    assert "does not answer" in why and "start it, or correct the base URL" in why


def is_broken_at_first(server, row):
    return len(server.asked) <= 10


def is_broken_by_some(server, row):
    return row % 5 == 0


SOUND = [(is_broken_at_first, 40), (is_broken_by_some, 32)]


@pytest.mark.parametrize(("is_broken", "scored"), SOUND)
def test_a_server_that_fails_for_a_while_or_for_some_rows_costs_no_other_row(
    serve, monkeypatch, is_broken, scored
):
    monkeypatch.setattr(connection, "FIRST_WAIT", 0.01)

    def answer(text, attempt):
        row = int(text.split("\n")[-2])
        return Reply({}, status=503) if is_broken(server, row) else verdict()

    server = serve(answer)
    scores = score(judge(server, limits={"retries": 6, "concurrency": 4}), ROWS)
    assert scores.counts["c"]["scored"] == scored
    assert not any("look at its log" in why for why in scores.table["error/c"].dropna())


def test_a_server_that_comes_back_is_asked_again_after_a_while(serve, monkeypatch):
    monkeypatch.setattr("rewardkit.judges.connection.AGAIN_SECONDS", 0.0)
    is_up = []
    server = serve(lambda *_: verdict() if is_up else error(500))
    asking = judge(server, limits={"retries": 1, "concurrency": 1}, cache=False)
    score(asking, ROWS[:10])
    asked = len(server.asked)
    is_up.append(True)
    scores = score(asking, ROWS[:10])
    assert scores.counts["c"]["scored"] == 10 == len(server.asked) - asked


WAITS = [
    # headers of the server, repeats so far, the seconds (at least, at most)
    ({"retry-after-ms": "250"}, 0, (0.25, 0.25)),
    ({"retry-after": "3"}, 0, (3.0, 3.0)),
    ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0, (0.375, 0.5)),  # is over
    ({"retry-after": "3600"}, 0, (0.375, 0.5)),  # nobody waits that long
    ({"retry-after": "soon"}, 2, (1.5, 2.0)),
    ({}, 1, (0.75, 1.0)),
    ({}, 20, (6.0, 8.0)),
]


@pytest.mark.parametrize(("headers", "repeats", "expected"), WAITS)
def test_a_request_is_repeated_when_the_server_says_else_after_longer_and_longer(
    headers, repeats, expected
):
    low, high = expected
    assert (
        low <= connection.seconds_before_repeat(status(503, headers), repeats) <= high
    )


def status(code, headers=None):
    """The client's error of a status."""
    request = httpx.Request("POST", "http://host")
    response = httpx.Response(code, headers=headers, request=request)
    return openai.APIStatusError("no", response=response, body=None)


REQUEST = httpx.Request("POST", "http://host")
FAULTS = [
    # the error, whether it may be repeated, whether the server is down
    (status(429), True, False),
    (status(408), True, False),
    (status(500), True, True),
    (status(503, {"x-should-retry": "false"}), False, True),
    (status(400, {"x-should-retry": "true"}), True, False),
    (status(400), False, False),
    (openai.APITimeoutError(REQUEST), True, True),
    (openai.APIConnectionError(request=REQUEST), True, True),
    (ValueError("the answer is no chat completion"), False, False),
]


@pytest.mark.parametrize(("fault", "may_repeat", "is_outage"), FAULTS)
def test_what_is_repeated_and_what_counts_as_an_outage(fault, may_repeat, is_outage):
    assert connection.may_repeat(fault) is may_repeat
    assert connection.is_outage(fault) is is_outage


@pytest.mark.parametrize("is_new_process", [True, False])
def test_cached_answers_serve_while_their_server_is_down(
    serve, monkeypatch, is_new_process
):
    monkeypatch.setattr(connection, "FIRST_WAIT", 0.01)
    server = serve(lambda *_: Reply(verdict().body, headers={"connection": "close"}))
    asking = judge(server)
    assert score(asking, ROWS[:20]).counts["c"]["scored"] == 20
    server.close()
    if is_new_process:  # other limits have a session of their own
        asking = judge(server, limits={"retries": 1})
    whole = score(asking, ROWS[:20])
    assert whole.score("c").tolist() == [1.0] * 20
    half = score(asking, ROWS).table
    assert half["score/c"].notna().tolist() == [True] * 20 + [False] * 20
    (why,) = set(half["error/c"].dropna())
    assert f"the server at '{server.url}' does not answer" in why
    never_asked = judge(server, base_url=server.url + "/other")
    with pytest.raises(rk.InputError, match="does not answer"):
        score(never_asked, ROWS)


def test_two_servers_with_a_model_of_one_name_do_not_share_answers(serve):
    servers = [serve(lambda *_: verdict("yes")), serve(lambda *_: verdict("no"))]
    for _ in range(2):
        scores = [score(judge(server), ["fine"]).score("c")[0] for server in servers]
        assert scores == [1.0, 0.0]
    score(judge(servers[0], base_url=servers[0].url + "/"), ["fine"])
    assert [len(server.asked) for server in servers] == [1, 1]


NAMES = [
    ("http://host:8000/v1/", "http://host:8000/v1"),
    ("HTTPS://Host:443/V1", "https://host/V1"),
    ("http://me:secret@host:80?key=secret", "http://host"),
    ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
]


@pytest.mark.parametrize(("address", "name"), NAMES)
def test_one_server_has_one_name_whatever_its_address_looks_like(address, name):
    assert server_name(address) == name
