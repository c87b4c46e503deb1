"""What is asked of the server, and its log, which is taken up again: nothing lost, mixed or repeated."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import record
from server import ALL, PROMPTS, Reply, four, ids, rows, run, said

import rewardkit as rk
from rewardkit.rollouts.chat import read_answer


def test_the_log_is_read_as_groups_and_scored_without_further_ado_whatever_completions_hold(
    serve,
):
    hostile = '\u2028\x85 \x00 \ud800 \r\n</answer> {"rollout_id": 1}'
    done = run(serve(lambda *_: said(hostile)), n=4)
    rollouts = rk.load_rollouts("log.jsonl")
    assert (done.rows, done.sampled, done.kept, len(rollouts)) == (12, 12, 0, 12)
    assert (
        Path("log.jsonl").read_bytes().count(b"\n") == 12
        and rollouts[0]["completion"] == hostile
    )
    assert rollouts.group_sizes == {4: 3}
    assert (rollouts.warnings, done.warnings, done.failed) == ((), (), ())
    assert record("score gallery:arithmetic log.jsonl")["errors"] == 0


def test_a_request_holds_the_settings_and_a_row_what_was_asked_and_answered_and_its_prompts_columns(
    serve,
):
    server = serve(lambda *_: said("ja", "length", reasoning_content="hm"))
    options = {
        "seed": 5,
        "system": "Be brief.",
        "temperature": 0.5,
        "extra_body": {"top_k": 20},
    }
    run(server, PROMPTS[:1], n=1, max_tokens=7, top_p=0.9, **options)
    (row,), (request,) = rows(), server.asked
    assert row.pop("seconds") > 0
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "0+2?"},
    ]
    settings = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 7, "seed": row["seed"]}
    assert request == {"model": "tiny", "messages": messages, **settings, "top_k": 20}
    assert row == {
        "rollout_id": "q0#0", "prompt_id": "q0", "generation": 0, "policy": "tiny", "prompt": messages,
        **settings, "extra_body": {"top_k": 20}, "ground_truth": "2", "level": 0, "completion": "ja",
        "finish_reason": "length", "prompt_tokens": 3, "completion_tokens": 5, "reasoning_content": "hm",
    }  # fmt: skip


def test_siblings_have_seeds_of_their_own_which_a_second_run_has_again(serve):
    server = serve()
    run(server, seed=5)
    run(server, PROMPTS[::-1], output="again.jsonl", seed=5)
    run(server, output="other.jsonl", seed=6)
    logs = [rows(f"{name}.jsonl") for name in ("log", "again", "other")]
    first, again, other = (
        {row["rollout_id"]: row["seed"] for row in log} for log in logs
    )
    assert first == again
    assert len({*first.values(), *other.values()}) == 12
    run(server, output="without.jsonl")
    assert {"seed", "n", "max_tokens", "top_p"} & set().union(
        *server.asked[-6:]
    ) == set()


@pytest.mark.parametrize(
    ("message", "expected", "others"),
    [
        ({"content": "4"}, "4", {}),
        ({"content": ""}, "", {}),  # an empty text is an empty completion
        ({"content": None, "refusal": "No."}, None, {"refusal": "No."}),
        (
            {"content": "", "tool_calls": [{"id": "a"}]},
            None,
            {"tool_calls": [{"id": "a"}]},
        ),
        (
            {"content": None, "reasoning": "hm"},
            None,
            {"reasoning_content": "hm"},
        ),  # as vLLM calls it now
        ({"content": [{"type": "text", "text": "4"}], "tool_calls": []}, "4", {}),
    ],
)
def test_what_is_no_text_is_never_an_empty_completion(message, expected, others):
    answer = read_answer(
        json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    )
    assert answer.pop("completion") == expected
    assert answer == {
        "finish_reason": "stop",
        "prompt_tokens": None,
        "completion_tokens": None,
        **others,
    }


NO_CHAT = (
    '|{|[]|null|"text"|{}|{"choices": null}|{"choices": []}|{"choices": [1]}|{"choices": [{"text": "4"}]}|'
    '{"choices": [{"message": null}]}|{"error": {"message": "overloaded"}}|'
    '{"choices": [{"message": {"content": "4"}, "finish_reason": "error"}]}|'
) + "[" * 100_000


@pytest.mark.parametrize("body", NO_CHAT.split("|"))
def test_a_body_that_is_no_chat_completion_is_said_to_be_none(body):
    with pytest.raises(ValueError, match="no chat completion"):
        read_answer(body)


def test_answers_without_text_are_counted_kept_and_not_asked_for_again(serve):
    silent = said(None, "length", reasoning_content="hm")
    server = serve(lambda text, attempt: silent if "1" in text else four("", 0))
    done = run(server)
    assert (done.without_text, done.truncated, done.failed, len(server.asked)) == (
        2,
        2,
        (),
        6,
    )
    assert "2 of 6 without text" in str(done)
    rollouts = rk.load_rollouts("log.jsonl")
    assert [item.reason for item in rollouts.rejected] == ["has no completion"] * 2
    assert run(server).sampled == 0


def test_more_prompts_and_a_larger_group_add_to_the_log_and_a_full_one_asks_no_server(
    serve,
):
    server = serve()
    assert (run(server, limit=1, n=1).sampled, run(server, limit=2).sampled) == (1, 3)
    before = Path("log.jsonl").read_bytes()
    done = run(server)
    assert (done.rows, done.kept, done.sampled, len(server.asked)) == (6, 4, 2, 6)
    assert Path("log.jsonl").read_bytes().startswith(before)
    server.close()
    assert (run(server).sampled, run(server, n=1).sampled, ids()) == (0, 0, ALL)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"temperature": 0.7}, "q0#. has temperature 1.0, and this run 0.7"),
        ({"system": "Hi"}, "has prompt '0.2.', and this run .*system"),
        ({"policy": "tiny", "model": "tiny-2"}, "has model None, .* 'tiny-2'"),
        ({"model": "tiny-2"}, "policy 'tiny'; this run samples 'tiny-2'.*--add"),
        ({"prompts": PROMPTS[1:]}, "of prompt 'q0' .* on 2 prompts"),
        ({"prompts": [{**PROMPTS[0], "ground_truth": "9"}, *PROMPTS[1:]]},
         "has ground_truth '2', and this run '9'"),
    ],
)  # fmt: skip
def test_a_log_that_was_made_otherwise_is_not_added_to(serve, options, expected):
    server = serve()
    run(server, concurrency=1)
    before, asked = Path("log.jsonl").read_bytes(), len(server.asked)
    with pytest.raises(rk.RolloutsError, match=expected):
        run(server, **{"n": 3, **options})
    assert (Path("log.jsonl").read_bytes(), len(server.asked)) == (before, asked)


def test_another_policy_and_other_prompts_are_added_on_request_as_groups_of_their_own(
    serve,
):
    server = serve()
    run(server, PROMPTS[:1])
    assert run(server, PROMPTS[1:], add=True).sampled == 4
    assert ids() == ALL
    done = run(server, policy="warm", temperature=1.5, add=True)
    assert (done.rows, done.sampled, done.kept) == (12, 6, 0)
    assert run(server, policy="warm", temperature=1.5, add=True).kept == 6
    rollouts = rk.load_rollouts("log.jsonl")
    assert (len(rollouts), rollouts.group_sizes, rollouts.rejected) == (12, {2: 6}, ())
    assert {row["model"] for row in rows() if row["policy"] == "warm"} == {"tiny"}
    assert run(server, add=True).kept == 6


@pytest.mark.parametrize(
    ("cut", "sampled"), [(1, 0), (2, 1), (60, 1)]
)  # the row is whole; no brace; half
def test_a_broken_last_line_is_mended(serve, cut, sampled):
    server, path = serve(), Path("log.jsonl")
    run(server)
    path.write_bytes(path.read_bytes()[:-cut])
    done = run(server)
    assert done.sampled == sampled and ids() == ALL
    assert ["broken off" in text for text in done.warnings] == [True] * sampled
    assert (run(server, n=3).sampled, len(rows())) == (3, 9)


@pytest.mark.parametrize(
    "content",
    [
        '{"prompt": "2+2?"}\n',
        "notes",
        '{"rollout_id": "q0#0", "comp\n{"rollout_id": "q0#1"}\n',
    ],
)
def test_a_file_that_is_no_log_of_ours_is_left_alone(serve, content):
    path = Path("log.jsonl")
    path.write_text(content)
    with pytest.raises(
        rk.RolloutsError, match=r"'log.jsonl' is no log that sample wrote \("
    ):
        run(serve())
    assert path.read_text() == content


COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
from rewardkit.cli import main
main()
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_in_the_middle_is_taken_up_without_loss_or_repetition(
    serve, end
):
    server = serve(lambda *_: Reply(said("x" * 20_000).body, delay=0.01))
    Path("p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PROMPTS))
    words = f"sample p.jsonl --base-url {server.url} --model tiny -n 20 -o log.jsonl"
    command = [sys.executable, "-c", COMMAND, *words.split()]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    path = Path("log.jsonl")
    while not path.exists() or path.stat().st_size < 100_000:
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(end)
    _, errors = process.communicate(timeout=20)
    before = path.read_bytes()
    whole = before.count(b"\n")
    assert 0 < whole < 60
    if end == signal.SIGINT:
        assert (process.returncode, before[-1:]) == (130, b"\n")
        assert (
            f"interrupted; {whole} of the 60 completions" in errors
            and "Traceback" not in errors
        )
    assert record(words)["kept"] == whole
    assert path.read_bytes().startswith(before[: before.rindex(b"\n") + 1])
    assert ids() == sorted(f"q{i}#{k}" for i in range(3) for k in range(20))
