"""A log is taken up again: nothing is lost, nothing is sampled twice, nothing is mixed unasked."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import rewardkit as rk
from rewardkit.cli import main

sys.path.insert(0, str(Path(__file__).parent))

from server import ALL, PROMPTS, Reply, ids, rows, run, said


def test_what_is_in_the_log_is_not_sampled_again_and_a_full_one_asks_no_server(serve):
    server = serve()
    run(server, PROMPTS[:2])
    before = Path("log.jsonl").read_bytes()
    done = run(server)
    assert (done.rows, done.kept, done.sampled, len(server.asked)) == (6, 4, 2, 6)
    assert Path("log.jsonl").read_bytes().startswith(before)
    server.close()
    assert run(server).sampled == 0
    assert ids() == ALL


def test_a_larger_group_and_more_prompts_add_to_the_log(serve):
    server = serve()
    assert run(server, limit=1, n=1).sampled == 1
    assert run(server, limit=2, n=1).sampled == 1
    assert run(server, limit=2).sampled == 2
    assert (run(server).sampled, ids()) == (2, ALL)
    assert run(server, n=1).sampled == 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"temperature": 0.7}, "q0#. has temperature 1.0, and this run 0.7", id="temperature"),
        pytest.param({"max_tokens": 9}, "has max_tokens None, and this run 9", id="max_tokens"),
        pytest.param({"seed": 4}, "has seed None, and this run", id="seed"),
        pytest.param({"system": "Hi"}, "has prompt '0.2.', and this run .*system", id="system"),
        pytest.param({"extra_body": {"top_k": 1}}, "has extra_body None", id="extra_body"),
        pytest.param({"policy": "tiny", "model": "tiny-2"}, "has model None, .* 'tiny-2'", id="model"),
        pytest.param({"model": "tiny-2"}, "policy 'tiny'; this run samples 'tiny-2'.*--add", id="policy"),
        pytest.param({"prompts": PROMPTS[1:]}, "of prompt 'q0' .* on 2 prompts", id="fewer prompts"),
        pytest.param(
            {"prompts": [{**PROMPTS[0], "prompt": "9?"}, *PROMPTS[1:]]}, "has prompt '0.2.'", id="another one"
        ),
        pytest.param(
            {"prompts": [{**PROMPTS[0], "ground_truth": "9"}, *PROMPTS[1:]]},
            "has ground_truth '2', and this run '9'",
            id="another truth",
        ),
    ],
)  # fmt: skip
def test_a_log_that_was_made_otherwise_is_not_added_to(serve, options, expected):
    server = serve()
    run(server, concurrency=1)
    before, asked = Path("log.jsonl").read_bytes(), len(server.asked)
    with pytest.raises(rk.RolloutsError, match=expected):
        run(server, **{"n": 3, **options})
    assert (Path("log.jsonl").read_bytes(), len(server.asked)) == (before, asked)


def test_another_policy_is_added_on_request_and_makes_groups_of_its_own(serve):
    server = serve()
    run(server)
    done = run(server, policy="warm", temperature=1.5, add=True)
    assert (done.rows, done.sampled, done.kept) == (12, 6, 0)
    assert run(server, policy="warm", temperature=1.5, add=True).kept == 6
    rollouts = rk.load_rollouts("log.jsonl")
    assert (len(rollouts), rollouts.group_sizes, rollouts.rejected) == (12, {2: 6}, ())
    assert {row["model"] for row in rows() if row["policy"] == "warm"} == {"tiny"}
    assert run(server, add=True).kept == 6


def test_other_prompts_are_added_on_request(serve):
    server = serve()
    run(server, PROMPTS[:1])
    assert run(server, PROMPTS[1:], add=True).sampled == 4
    assert ids() == ALL


@pytest.mark.parametrize(
    ("cut", "sampled", "said"),
    [
        pytest.param(1, 0, (), id="the end of the last line is missing: the row is whole"),
        pytest.param(2, 1, ("broken off",), id="the last line lacks its brace"),
        pytest.param(60, 1, ("broken off",), id="half a line"),
    ],
)
def test_a_broken_last_line_is_mended(serve, cut, sampled, said):
    server = serve()
    run(server)
    path = Path("log.jsonl")
    path.write_bytes(path.read_bytes()[:-cut])
    done = run(server)
    assert done.sampled == sampled
    assert len(done.warnings) == len(said) and all(text in done.warnings[0] for text in said)
    assert ids() == ALL
    assert run(server, n=3).sampled == 3
    assert len(rows()) == 9


@pytest.mark.parametrize(
    "content",
    [
        pytest.param('{"prompt": "2+2?"}\n', id="prompts"),
        pytest.param("notes", id="a text without an end of line"),
        pytest.param(
            '{"rollout_id": "q0#0", "comp\n{"rollout_id": "q0#1"}\n', id="a broken line in the middle"
        ),
        pytest.param("\n\nnotes\n", id="a text"),
    ],
)
def test_a_file_that_is_no_log_of_ours_is_left_alone(serve, content):
    path = Path("log.jsonl")
    path.write_text(content)
    with pytest.raises(rk.RolloutsError, match=r"'log.jsonl' is no log that sample wrote \("):
        run(serve())
    assert path.read_text() == content


COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell in the background ignores it
from rewardkit.cli import main
main()
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_in_the_middle_is_taken_up_without_loss_or_repetition(serve, end):
    server = serve(lambda *_: Reply(said("x" * 20_000).body, delay=0.02))
    Path("p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PROMPTS))
    arguments = [
        "sample",
        "p.jsonl",
        "--base-url",
        server.url,
        "--model",
        "tiny",
        "-n",
        "40",
        "-o",
        "log.jsonl",
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments], stderr=subprocess.PIPE, env=dict(os.environ), text=True
    )
    path = Path("log.jsonl")
    while not path.exists() or path.stat().st_size < 200_000:
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(end)
    _, errors = process.communicate(timeout=20)
    before = path.read_bytes()
    whole = before.count(b"\n")
    assert 0 < whole < 120
    if end == signal.SIGINT:
        assert (process.returncode, before[-1:]) == (130, b"\n")
        assert f"interrupted; {whole} of the 120 completions" in errors and "Traceback" not in errors
    done = CliRunner().invoke(main, [*arguments, "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["kept"] == whole
    assert path.read_bytes().startswith(before[: before.rindex(b"\n") + 1])
    assert ids() == sorted(f"q{i}#{k}" for i in range(3) for k in range(40))
