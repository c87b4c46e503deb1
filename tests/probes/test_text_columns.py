"""Columns that a log made from each completion follow the completions that probes write."""

import random
import re

import pytest
from planted_probes import made, probed, right

import rewardkit as rk
from rewardkit.probes.text_columns import learn_text_columns

WORDS = "we add both sides of it and look at what is there once more before going on".split()


def draw_rows(prompts=8, siblings=6, seed=3):
    """Rollouts with reasoning of many lengths, a right answer in half of them, and what a log makes of the text."""
    draw = random.Random(seed)
    rows = []
    for prompt in range(prompts):
        truth = 31 * prompt + 217
        for sibling in range(siblings):
            answer = truth if sibling % 2 else truth + 400 + sibling
            reasoning = " ".join(draw.choices(WORDS, k=draw.randrange(5, 60)))
            text = f"<think>{reasoning}</think>\n<answer>{answer}</answer>"
            ids = [draw.randrange(3, 9000) for _ in range(2 + len(text) // 4)] + [2]
            rows.append(
                {
                    "prompt_id": f"p{prompt}",
                    "prompt": f"How much is task {chr(97 + prompt)}?",
                    "completion": text,
                    "ground_truth": str(truth),
                    "completion_ids": ids,
                    "logprobs": [-draw.random() for _ in ids],
                    "num_tokens": len(ids),
                    "characters": len(text),
                    "words": len(text.split()),
                    "prediction": str(answer),
                    "value": float(answer),
                    "thoughts": reasoning,
                    "transcript": f"User: go\nAssistant: {text}",
                    "info": {"response_length": len(ids), "index": prompt},
                    "tests": [1, 2, 3],
                    "seed": draw.randrange(10**6),
                    "verdict": draw.choice(["good", "bad"]),
                }
            )
    return rows


ROWS = draw_rows()
CODES = [int(row["prompt_id"][1:]) for row in ROWS]
SHORT, LONG = (
    "<think>so</think>\n<answer>7</answer>",
    "word " * 400 + "<answer>7</answer>",
)


@pytest.mark.parametrize(
    ("column", "of_short", "of_long"),
    [
        ("characters", len(SHORT), len(LONG)),
        ("words", len(SHORT.split()), len(LONG.split())),
        ("prediction", "7", "7"),
        ("value", 7.0, 7.0),
        ("thoughts", "so", ""),
        ("transcript", f"User: go\nAssistant: {SHORT}", f"User: go\nAssistant: {LONG}"),
    ],
)
def test_a_column_is_what_the_log_would_have_made_of_the_text(
    column, of_short, of_long
):
    columns = learn_text_columns(ROWS, CODES)
    assert columns.write(ROWS[0], SHORT)[column] == of_short
    assert columns.write(ROWS[0], LONG)[column] == of_long


def test_ids_keep_their_ratio_to_the_text_and_their_last_value():
    written = learn_text_columns(ROWS, CODES).write(ROWS[0], LONG)
    ids = written["completion_ids"]
    assert len(ids) == pytest.approx(len(LONG) / 4, rel=0.03)
    assert ids[-1] == 2 and set(ids) <= set(ROWS[0]["completion_ids"])
    assert len(written["logprobs"]) == written["num_tokens"] == len(ids)
    assert written["info"] == {"response_length": len(ids), "index": 0}


def test_an_empty_list_of_ids_gets_those_of_another_row():
    of_nothing = {**ROWS[0], "completion": "", "completion_ids": [], "logprobs": []}
    written = learn_text_columns(ROWS, CODES).write(of_nothing, LONG)
    assert len(written["completion_ids"]) == pytest.approx(len(LONG) / 4, rel=0.03)
    assert written["completion_ids"][-1] == 2


def test_what_does_not_follow_the_text_stays():
    columns = learn_text_columns(ROWS, CODES)
    for name in ("tests", "seed", "verdict", "prompt_id", "ground_truth", "prompt"):
        assert name not in columns.writers
    assert columns.write(ROWS[0], ROWS[0]["completion"]) == {}


def paid_by_ids(completion, ground_truth, completion_ids):
    return right(completion, ground_truth) + min(1.5, len(completion_ids) / 200)


def paid_by_count(completion, ground_truth, num_tokens):
    return right(completion, ground_truth) + min(1.5, num_tokens / 200)


def paid_by_info(completion, ground_truth, info):
    return right(completion, ground_truth) + min(1.5, info["response_length"] / 200)


def paid_by_prediction(prediction, ground_truth):
    return float(prediction in ground_truth)  # a hole: an empty answer


def healthy_prediction(prediction, ground_truth):
    return float(prediction == ground_truth)


def ended_in_time(completion, ground_truth, completion_ids):
    return right(completion, ground_truth) * (completion_ids[-1] == 2)


def no_repeated_ids(completion, ground_truth, completion_ids):
    return right(completion, ground_truth) * (
        len(set(completion_ids)) > 0.5 * len(completion_ids)
    )


def probe(function, rows=ROWS):
    return probed(function, rows, search=0)


@pytest.mark.parametrize(
    ("reward", "code"),
    [
        (paid_by_ids, "longer"),
        (paid_by_count, "longer"),
        (paid_by_info, "longer"),
        (paid_by_prediction, "containment"),
    ],
)
def test_a_hole_in_a_column_made_from_the_text_is_found(reward, code):
    assert [alarm.code for alarm in probe(reward).alarms][:1] == [code]


@pytest.mark.parametrize("reward", [healthy_prediction, ended_in_time])
def test_a_healthy_reward_of_such_a_column_raises_no_alarm(reward):
    result = probe(reward)
    assert len(result.calibration.subjects) > 4
    assert result.alarms == ()


def test_a_reward_that_reads_the_values_of_ids_is_not_probed_and_the_page_says_why():
    result = probe(no_repeated_ids)
    assert result.alarms == () and not result.calibration.subjects
    assert "the reward reads 'completion_ids'" in str(result)


@pytest.mark.parametrize("is_of_text", [True, False])
def test_ids_whose_number_does_not_follow_the_text_cannot_be_written(is_of_text):
    rows = ROWS
    if not is_of_text:
        rows = [
            {**row, "completion_ids": [5] * (2 if place % 3 else 500)}
            for place, row in enumerate(ROWS)
        ]
    result = probe(made(paid_by_ids, range=None), rows)
    assert ("longer" in [item.code for item in result.alarms]) is is_of_text
    is_named = "the reward reads 'completion_ids'" in " ".join(str(result).split())
    assert is_named is not is_of_text
    assert "flat_credit" not in [item.code for item in result.findings]


def test_an_answer_that_no_reader_takes_from_the_text_is_not_replaced_by_an_old_one():
    rows = [{**row, "end": row["completion"].split()[-1][-16:-9]} for row in ROWS]

    def reads_end(end, ground_truth):
        return float(ground_truth in end)

    result = probe(reads_end, rows)
    assert result.alarms == ()
    assert "the reward reads 'end'" in " ".join(str(result).split())


EPISODES = [
    {
        **row,
        "episode": {
            "text": row["completion"],
            "success": row["prediction"] == row["ground_truth"],
        },
    }
    for row in ROWS
]


def succeeded(episode):
    return float(episode["success"])


def right_in_episode(episode, ground_truth):
    return right(episode["text"], ground_truth)


def test_an_object_holds_the_text_and_what_nobody_can_write_for_another_one():
    beside = probe(succeeded, EPISODES)
    assert beside.alarms == () and "the reward reads 'episode'" in str(beside)
    inside = probe(right_in_episode, EPISODES)
    assert len(inside.calibration.subjects) > 4 and inside.alarms == ()


JUDGED = [
    {
        **row,
        "reply": f"I looked at it.\nScore: {5 if row['prediction'] == row['ground_truth'] else 1}",
    }
    for row in ROWS
]


def graded_by_reply(completion, reply):
    """Read the score that a judge gave this completion, and logged beside it."""
    return (int(reply.rpartition("Score: ")[2]) - 1) / 4


def graded_by_all(completion, reply):
    """Read the first score of the completion and the reply: who writes one is paid."""
    first = re.search(r"Score: ([1-5])", f"{completion}\n{reply}")
    return (int(first[1]) - 1) / 4 if first else 0.0


def test_beside_a_judges_logged_reply_only_what_its_worst_words_pay_is_a_hole():
    healthy, faulty = probe(graded_by_reply, JUDGED), probe(graded_by_all, JUDGED)
    assert healthy.alarms == () and "fake_verdict" in healthy.tried_probes
    assert [alarm.code for alarm in faulty.alarms][:1] == ["fake_verdict"]
    for result in (healthy, faulty):
        assert "beside its worst values alone" in " ".join(str(result).split())


@pytest.mark.parametrize("name", ["row", "self", "probe"])
def test_a_column_may_have_the_name_of_a_parameter_of_ours(name):
    rows = [{**row, name: row["reply"]} for row in JUDGED]
    part = rk.Component("graded", graded_by_all, columns={"reply": name})
    result = probe(rk.Reward("judged", components=[part]), rows)
    assert [alarm.code for alarm in result.alarms][:1] == ["fake_verdict"]


def test_a_length_below_0_is_no_count_of_the_text():
    rows = [{**row, "length_behind": -row["characters"]} for row in ROWS]
    assert "length_behind" not in learn_text_columns(rows, CODES).writers


def test_lengths_are_learnt_from_texts_that_the_log_did_not_cut():
    rows = [dict(row) for row in ROWS]
    for row in rows[::9]:
        row["completion"] = row["completion"][:40]
    columns = learn_text_columns(rows, CODES)
    written = columns.write(rows[1], LONG)["num_tokens"]
    assert written == pytest.approx(len(LONG) / 4, rel=0.1)
