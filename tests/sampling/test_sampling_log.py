"""What is asked of the server, and what stands in the log."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import rewardkit as rk
from rewardkit.cli import main
from rewardkit.rollouts.chat import read_answer

sys.path.insert(0, str(Path(__file__).parent))

from server import PROMPTS, four, rows, run, said


def test_the_log_is_read_as_groups_and_scored_without_further_ado(serve):
    done = run(serve(), n=4)
    rollouts = rk.load_rollouts("log.jsonl")
    assert (done.rows, done.sampled, done.kept, len(rollouts)) == (12, 12, 0, 12)
    assert rollouts.group_sizes == {4: 3}
    assert (rollouts.warnings, done.warnings, done.failed) == ((), (), ())
    assert rollouts.columns()["ground_truth"][:1] == [rows()[0]["ground_truth"]]
    scored = CliRunner().invoke(main, ["score", "gallery:arithmetic", "log.jsonl", "--json"])
    assert (scored.exit_code, json.loads(scored.stdout)["errors"]) == (0, 0)


def test_a_row_has_what_was_asked_and_answered_and_the_columns_of_its_prompt(serve):
    run(
        serve(lambda text, attempt: said("ja", "length", reasoning_content="hm")),
        n=1,
        max_tokens=7,
        top_p=0.9,
    )
    (row,) = [row for row in rows() if row["prompt_id"] == "q1"]
    assert row.pop("seconds") > 0
    assert row == {
        "rollout_id": "q1#0", "prompt_id": "q1", "generation": 0, "policy": "tiny", "prompt": "1+2?",
        "temperature": 1.0, "top_p": 0.9, "max_tokens": 7, "ground_truth": "3", "level": 1,
        "completion": "ja", "finish_reason": "length", "prompt_tokens": 3, "completion_tokens": 5,
        "reasoning_content": "hm",
    }  # fmt: skip


def test_a_request_holds_the_settings_and_asks_for_one_completion(serve):
    server = serve()
    run(server, PROMPTS[:1], n=1, seed=5, system="Be brief.", temperature=0.5, extra_body={"top_k": 20})
    (request,) = server.asked
    assert request.pop("seed") == rows()[0]["seed"]
    assert request == {
        "model": "tiny", "temperature": 0.5, "top_k": 20,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "0+2?"}],
    }  # fmt: skip
    assert rows()[0]["prompt"] == request["messages"]
    assert rows()[0]["extra_body"] == {"top_k": 20}


def test_siblings_have_seeds_of_their_own_which_a_second_run_has_again(serve):
    server = serve()
    run(server, seed=5)
    run(server, PROMPTS[::-1], output="again.jsonl", seed=5)
    run(server, output="other.jsonl", seed=6)
    first, again, other = ({row["rollout_id"]: row["seed"] for row in rows(f"{name}.jsonl")}
                           for name in ("log", "again", "other"))  # fmt: skip
    assert len(set(first.values())) == 6
    assert first == again
    assert not set(first.values()) & set(other.values())


def test_without_a_seed_none_is_sent(serve):
    server = serve()
    run(server)
    assert {"seed", "n", "max_tokens", "top_p"} & set().union(*server.asked) == set()


@pytest.mark.parametrize(
    ("message", "expected", "others"),
    [
        pytest.param({"content": "4"}, "4", {}, id="text"),
        pytest.param({"content": ""}, "", {}, id="an empty text is an empty completion"),
        pytest.param({"content": None}, None, {}, id="no text is no completion"),
        pytest.param({}, None, {}, id="no content at all"),
        pytest.param({"content": None, "refusal": "No."}, None, {"refusal": "No."}, id="a refusal"),
        pytest.param(
            {"content": "", "tool_calls": [{"id": "a"}]}, None, {"tool_calls": [{"id": "a"}]}, id="a call"
        ),
        pytest.param(
            {"content": None, "reasoning": "hm"}, None, {"reasoning_content": "hm"},
            id="reasoning alone, under vLLM's new name",
        ),
        pytest.param({"content": "4", "reasoning": "hm"}, "4", {"reasoning_content": "hm"}, id="both"),
        pytest.param(
            {"content": [{"type": "text", "text": "4"}], "tool_calls": []}, "4", {}, id="content in parts"
        ),
        pytest.param({"content": "\ud800"}, "\ud800", {}, id="half a character"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_never_an_empty_completion(message, expected, others):
    answer = read_answer(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}))
    assert answer.pop("completion") == expected
    assert answer == {"finish_reason": "stop", "prompt_tokens": None, "completion_tokens": None, **others}


@pytest.mark.parametrize(
    "body",
    [
        "", "{", "[]", "null", '"text"', "{}", '{"choices": null}', '{"choices": []}', '{"choices": [1]}',
        '{"choices": [{"message": null}]}', '{"choices": [{"text": "4"}]}', "[" * 100_000,
        '{"error": {"message": "overloaded"}}',
        '{"choices": [{"message": {"content": "4"}, "finish_reason": "error"}]}',
    ],
)  # fmt: skip
def test_a_body_that_is_no_chat_completion_is_said_to_be_none(body):
    with pytest.raises(ValueError, match="no chat completion"):
        read_answer(body)


def test_answers_without_text_are_counted_kept_and_not_asked_for_again(serve):
    server = serve(
        lambda text, attempt: said(None, "length", reasoning_content="hm") if "1" in text else four("", 0)
    )
    done = run(server)
    assert (done.without_text, done.truncated, done.failed, len(server.asked)) == (2, 2, (), 6)
    assert "2 of 6 without text" in str(done)
    rollouts = rk.load_rollouts("log.jsonl")
    assert [item.reason for item in rollouts.rejected] == ["has no completion"] * 2
    assert run(server).sampled == 0


def test_hostile_completions_stand_in_the_log_as_they_are(serve):
    text = '\u2028\x85 \x00 \ud800 \r\n</answer> {"rollout_id": 1}'
    run(serve(lambda *_: said(text)), PROMPTS[:1], n=1)
    assert Path("log.jsonl").read_bytes().count(b"\n") == 1
    assert rk.load_rollouts("log.jsonl")[0]["completion"] == text
