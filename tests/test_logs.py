"""Logs of trainers: each recognised by its columns, read whole, with the scores that stand in it."""

import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import trainer_logs as made
from trainer_logs import values

import rewardkit as rk
from rewardkit.analysis.statistics.advantages import compute


def write(folder, files):
    """Files by name: text as it is, rows in the form that the name ends in."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content)
        elif name.endswith(".parquet"):
            pd.DataFrame(content).to_parquet(path)
        else:
            made.write_jsonl(path, content)


# Whole logs


@pytest.mark.parametrize("chat", [False, True], ids=["plain", "conversational"])
def test_a_trl_folder_gives_all_steps_with_a_score_a_reward_function(tmp_path, chat):
    steps = [
        made.trl_rows(step, chat=chat, prompts=(f"{step}+0?", "2+2?"))
        for step in (2, 10, 1)
    ]
    rollouts = rk.load_rollouts(made.write_trl(tmp_path / "out", *steps))
    assert values(rollouts, "step") == [1] * 4 + [2] * 4 + [10] * 4
    assert values(rollouts, "completion") == ["4", "10"] * 6
    assert values(rollouts, "ground_truth") == ["4"] * 12
    logged = rollouts.logged
    assert logged.components == {
        name: f"logged/{name}" for name in ("right", "brief", "n_chars")
    }
    assert logged.weights == {"right": 1.0, "brief": 1.0, "n_chars": 0.0}
    assert (logged.total, logged.on_missing) == (None, "skip")
    assert values(rollouts, "logged/brief") == [None, 0.5] * 6
    assert rollouts.group_key == ("prompt", "step") and rollouts.group_sizes == {2: 6}
    assert (
        "TRL completions" in " ".join(repr(rollouts).split())
        and rollouts.summary()["kind"] == "TRL completions"
    )
    assert rollouts.warnings == ()


def test_the_folder_of_completions_one_file_of_any_name_and_the_table_itself_are_the_same_log(
    tmp_path,
):
    folder = made.write_trl(tmp_path / "out", made.trl_rows())
    write(
        tmp_path,
        {
            "mine.parquet": made.trl_rows(),
            "completions_00001.jsonl": [{"completion": "c"}],
        },
    )
    file = folder / "completions/completions_00001.parquet"
    sources = [
        folder,
        folder / "completions",
        file,
        tmp_path / "mine.parquet",
        pd.read_parquet(file),
    ]
    read = [rk.load_rollouts(source) for source in sources]
    assert {item.kind for item in read} == {"TRL completions"}
    texts = {
        item.table.drop(columns="rollout_id").to_json(orient="records") for item in read
    }
    assert len(texts) == 1
    assert values(read[0], "rollout_id") == values(read[1], "rollout_id")
    assert rk.load_rollouts(tmp_path / "completions_00001.jsonl").kind == "rollouts"


def test_a_batch_that_trl_logged_at_each_step_it_trained_on_it_counts_once(tmp_path):
    first, other = made.trl_rows(1), made.trl_rows(3, prompts=("1+1?", "3+3?"))
    again = [
        [{**row, "step": step} for row in rows]
        for step, rows in ((2, first), (4, other))
    ]
    rollouts = rk.load_rollouts(
        made.write_trl(tmp_path / "out", first, again[0], other, again[1])
    )
    assert values(rollouts, "step") == [1] * 4 + [3] * 4
    assert rollouts.warnings[0].startswith(
        "2 of 4 steps left out that repeat the rows of the one before"
    )
    assert "(2, 4)" in rollouts.warnings[0]


def read_logs():
    """Form, and what it is a version of, -> rows, columns, weights and group sizes."""
    logs = {}
    text = (Path(__file__).parent / "data_logs.txt").read_text()
    for block in text.split("\n== ")[1:]:
        kind, *lines = block.strip().splitlines()
        rows = [json.loads(line) for line in lines if line.startswith("{")]
        told = [line.partition(" ")[2] for line in lines[-3:]]  # behind a keyword
        columns, weights, sizes = map(json.loads, told)
        sizes = {int(size): count for size, count in sizes.items()}
        logs[kind] = rows, columns, weights, sizes
    return logs


ALL_LOGS = read_logs()
LOGS = {kind: log for kind, log in ALL_LOGS.items() if ": " not in kind}
NEMO_RL = LOGS["NeMo-RL rollouts"][0]
AREAL = LOGS["AReaL rollouts"][0]
(SKYRL, _), _, _, _ = LOGS["SkyRL evaluation"]
(RESULT, _), _, _, _ = LOGS["verifiers results"]
(SWIFT, _), _, _, _ = LOGS["ms-swift completions"]


@pytest.mark.parametrize("kind", ALL_LOGS)
def test_a_log_has_its_columns_under_our_names_and_its_scores_by_their_weights(kind):
    rows, columns, weights, sizes = ALL_LOGS[kind]
    rollouts = rk.load_rollouts(rows)
    assert rollouts.kind == kind.partition(": ")[0]
    assert rollouts.logged.weights == weights
    assert {name: values(rollouts, name) for name in columns} == columns
    assert rollouts.group_sizes == sizes
    is_told = any("no score of each" in text for text in rollouts.warnings)
    assert is_told == ("one score of several" in kind)


ALIKE = {
    ("siiRL validation dump", "rank"): "verl rollout dump",
    ("prime-rl rollouts", "advantage"): "verifiers results",
    ("prime-rl rollouts", "example_id"): "TRL completions",
    ("ms-swift completions", "prompt"): "TRL columns",
    ("rLLM episodes", "id"): "rows within objects",
    ("rLLM episodes", "task"): "rows within objects",
}
"""Forms that differ in one column only."""


@pytest.mark.parametrize("kind", LOGS)
def test_a_log_that_lacks_a_column_of_its_form_is_not_taken_for_another_one(kind):
    """Of each form its own marks decide: without them a log is a table or none."""
    rows = LOGS[kind][0]
    for name in rows[0]:
        less = [{key: row[key] for key in row if key != name} for row in rows]
        try:
            found = rk.load_rollouts(less).kind
            assert found in {kind, "rollouts", ALIKE.get((kind, name))}, name
        except rk.RolloutsError as error:
            assert "are those of no log that is known" in str(error), name


@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize(
    "odd", ["x", 3, None, [], {}, [None], [[]], [{}], [["x", 3]]], ids=repr
)
def test_a_cell_of_another_kind_costs_no_other_row_its_completion(kind, odd):
    """A log of two rows may lose its form by it; then it is a table or none."""
    rows = LOGS[kind][0]
    compared = 0
    for at in (0, len(rows) - 1):
        others = rk.load_rollouts([*rows[:at], *rows[at + 1 :], rows[0]])
        whole = Counter(values(others, "completion"))
        for name in rows[0]:
            changed = [dict(row) for row in rows]
            changed[at][name] = odd
            try:
                rollouts = rk.load_rollouts([*changed, rows[0]])
            except rk.RolloutsError as error:
                assert re.search(NOT_READ, str(error)), name
                continue
            if rollouts.kind == kind:
                compared += 1
                assert whole <= Counter(values(rollouts, "completion")), name
    assert compared >= len(rows[0])


NOT_READ = "has no usable row|no column holds the completions"
"""What is said of a log that a cell has made unreadable."""


def test_a_list_of_one_verdict_without_completions_makes_no_rows():
    """What a judge says of two texts is no completion of either."""
    judged = {"judgment": {"response": "A is better"}, "decision": "A"}
    row = {"question": "2+2?", "response_A": "4", "response_B": "5"}
    said = "no column holds the completions.* is it 'response_A'"
    with pytest.raises(rk.RolloutsError, match=said):
        rk.load_rollouts([{**row, "judgments": [judged]}])


def test_columns_of_no_known_name_are_asked_for_and_named_as_in_the_file():
    """As a repository writes its own logs."""
    rewards = {"form": 1.0, "right": 0.0}
    row = {"raw": "4 it is", "reward": {"total": 1.0}, "component_rewards": rewards}
    rows = [{**row, "sku_id": sku, "step": 1} for sku in "aabb"]
    with pytest.raises(rk.RolloutsError) as raised:
        rk.load_rollouts(rows)
    assert "is it 'raw'? Where 'sku_id', which rows share" in str(raised.value)
    assert "logged/" not in str(raised.value) and "reward (dict)" in str(raised.value)
    named = {"completion": "raw", "prompt_id": "sku_id"}
    log = rk.load_rollouts(rows, columns=named, group=None)
    assert set(log.logged.components) >= {"form", "right"}


@pytest.mark.parametrize(
    ("form", "right", "other", "is_sum"),
    [
        (lambda at: at % 2, lambda at: at % 3 == 0, lambda f, r, at: f + 2 * r, True),
        (
            lambda at: at % 2,
            lambda at: at % 3 == 0,
            lambda f, r, at: f + 2 * r + at % 7,
            False,
        ),
        (lambda at: 1, lambda at: at % 3 == 0, lambda f, r, at: 1 - r, False),
        (lambda at: 1, lambda at: 1, lambda f, r, at: 0.7, False),
    ],
    ids=["a sum", "no sum", "wrong beside a constant part", "all are constant"],
)
def test_a_column_that_the_parts_add_up_to_is_the_total_under_any_name(
    form, right, other, is_sum
):
    rows = []
    for at in range(24):
        row = {"prompt": "a", "completion": str(at), "step": at, "level": at % 5}
        parts = float(form(at)), float(right(at))
        row["component_rewards"] = dict(
            zip(("form_reward", "right_reward"), parts, strict=True)
        )
        rows.append({**row, "other": float(other(*parts, at))})
    logged = rk.load_rollouts(rows).logged
    assert logged.total == ("logged/other" if is_sum else None)
    assert logged.weights["right_reward"] == (0 if is_sum else 1)


def test_what_tools_return_is_no_rollout():
    """Neither where a person names the completions, nor in the turns of a conversation."""
    called = [{"output": "3", "score": 1.0}, {"output": "4", "score": 1.0}]
    rows = [{"prompt": "1+2?", "gen": "3", "tool_calls": called}] * 2
    rollouts = rk.load_rollouts(rows, columns={"completion": "gen"})
    assert values(rollouts, "completion") == ["3", "3"]
    turns = [
        made.said("user", "1+2?"),
        {"role": "tool", "output": "3", "score": 1.0},
        made.said("assistant", "It is 3."),
    ]
    rollouts = rk.load_rollouts([{"chat": turns, "reward": 1.0}] * 2)
    assert values(rollouts, "completion") == ["It is 3."] * 2
    assert rollouts.logged.weights == {"reward": 1.0}


def test_rows_within_objects_are_counted_where_some_are_left_out():
    some = [{"prompt": "2+2?", "completion": text, "score": 1.0} for text in "456"]
    rows = [
        {"level": 3.5, "first": some, "second": some[:2]},
        {"level": 1.0, "first": [], "error": "timeout"},
    ]
    rollouts = rk.load_rollouts(rows)
    assert values(rollouts, "level") == [3.5] * 3
    assert "left out 2 under 'second'" in rollouts.notes[1]
    assert [place.reason for place in rollouts.rejected] == [
        "has no completions within"
    ]


def test_pairs_of_two_files_are_groups_of_two(tmp_path):
    for name in ("a", "b"):
        row = {"prompt": f"{name}?", "chosen": "4", "rejected": "5"}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row))
    assert rk.load_rollouts(tmp_path).group_sizes == {2: 2}


def test_chat_messages_as_json_are_messages():
    turns = [made.said("assistant", "Let me see."), made.said("assistant", "4")]
    row = {
        "prompt": json.dumps([made.said("user", "2+2?")]),
        "completion": json.dumps(turns),
    }
    rollouts = rk.load_rollouts([row, row])
    assert values(rollouts, "completion") == ["4"] * 2
    assert len(values(rollouts, "messages")[0]) == 3
    other = {**row, "completion": '[{"role": "admin"}'}  # which a model may well write
    assert (
        values(rk.load_rollouts([row, other]), "completion")[1] == other["completion"]
    )


def test_a_list_of_another_length_in_a_line_of_ms_swift_is_left_out_and_said():
    rollouts = rk.load_rollouts(
        [
            {**SWIFT, "step": [str(step)] * 4, "completion_ids": [[7]] * count}
            for step, count in ((1, 3), (2, 4))
        ]
    )
    assert values(rollouts, "completion_ids") == [None] * 4 + [[7]] * 4
    (warning,) = [text for text in rollouts.warnings if text.startswith("Left out")]
    assert "line 1 has 3 of 'completion_ids'" in warning
    short = {**SWIFT, "completion": SWIFT["completion"][:3]}
    rollouts = rk.load_rollouts([short, short])
    assert len(rollouts) == 6
    (warning,) = [text for text in rollouts.warnings if text.startswith("Left out")]
    names = ("prompt", "completion", "step")
    scores = [name for name in SWIFT if name not in names]
    assert scores and f"line 1 has 4 of '{scores[0]}'" in warning


def test_a_table_that_a_tracker_exported_is_the_log_in_it(tmp_path):
    for kind, rows in {
        "TRL completions": pd.DataFrame(made.trl_rows()),
        "ms-swift completions": pd.DataFrame(SWIFT),
    }.items():
        table = {"columns": list(rows), "data": rows.to_numpy(object).tolist()}
        for file in ("log.table.json", "log.jsonl"):
            write(tmp_path, {file: json.dumps(table)})
            rollouts = rk.load_rollouts(tmp_path / file)
            assert len(rollouts) == 4 and set(rollouts.group_sizes) == {2}
            assert rollouts.kind == kind
    table = {"columns": ["completion"], "data": [["a"], ["b", 1]]}
    write(tmp_path, {"x.json": json.dumps(table)})
    (lost,) = rk.load_rollouts(tmp_path / "x.json").rejected
    assert lost.line == 2 and "no list of 1 cells" in lost.reason


def test_a_trace_of_verifiers_has_its_turns_and_the_weighted_sum_of_the_rewards_that_ran():
    late = {"correct": None, "brief": {"score": 0.5, "weight": 0.2}}
    rows = [
        made.episode("a", "4", rewards=late),
        made.episode("b", "4"),
        made.episode("c", "4", rewards={}),
    ]
    rollouts = rk.load_rollouts(rows)
    assert [item["role"] for item in values(rollouts, "prompt")[0]] == [
        "system",
        "user",
    ]
    assert len(values(rollouts, "messages")[0]) == 5
    assert values(rollouts, "logged/correct") == [None, 1.0, None]
    assert values(rollouts, rollouts.logged.total) == [
        pytest.approx(0.1),
        pytest.approx(1.1),
        None,
    ]
    assert rollouts.logged.weights["correct"] == 1.0


def test_a_trace_without_a_message_of_a_model_is_kept_out_with_its_error():
    lost = made.episode(
        "b",
        "4",
        nodes=[],
        errors=[{"type": "ProviderError", "message": "no such model"}],
    )
    circle = made.episode("c", "4")
    circle["traces"][0]["nodes"][0]["parent"] = 4
    seen = made.episode("d", "4", rewards={"only here": {"score": 1.0}})
    broken = {**seen, "traces": [*seen["traces"], "x"]}
    rollouts = rk.load_rollouts([made.episode("a", "4"), lost, circle, broken])
    assert values(rollouts, "rollout_id") == ["a"]
    reasons = {item.line: item.reason for item in rollouts.rejected}
    assert (
        "trace b has no message of a model (ProviderError: no such model)" in reasons[2]
    )
    assert "its messages go in circles" in reasons[3]
    assert "is no episode that can be read" in reasons[4]
    assert "only_here" not in rollouts.logged.weights


# Inspect


class Said(SimpleNamespace):
    """A chat message as Inspect holds it."""

    def model_dump(self, **_):
        return {"id": "m", **vars(self)}


@pytest.fixture
def read_inspect(monkeypatch, tmp_path):
    """Reads log.eval with a stand-in for inspect_ai 0.3.285, which is too much to install for this."""

    def read(*samples):
        def read_eval_log(*_, **__):
            if not samples:
                raise KeyError("eval")
            return SimpleNamespace(
                samples=samples, eval=SimpleNamespace(task="sums", model="m/1")
            )

        module = ModuleType("inspect_ai.log")
        module.read_eval_log = read_eval_log
        monkeypatch.setitem(sys.modules, "inspect_ai", ModuleType("inspect_ai"))
        monkeypatch.setitem(sys.modules, "inspect_ai.log", module)
        (tmp_path / "log.eval").write_bytes(b"PK")
        return rk.load_rollouts(tmp_path / "log.eval")

    return read


def sample(text, *, uuid=None, error=None, **scores):
    return SimpleNamespace(
        id="x", epoch=1, uuid=uuid, input="2+2?", target=["4"], metadata={"level": 2},
        messages=[Said(role="user", content="2+2?"), Said(role="assistant", content=text)],
        output=SimpleNamespace(choices=[text] if text else [], completion=text),
        error=SimpleNamespace(message=error) if error else None,
        scores={name: SimpleNamespace(value=value) for name, value in scores.items()},
    )  # fmt: skip


def test_the_samples_of_an_inspect_log_are_rollouts_and_its_grades_numbers(
    read_inspect,
):
    rollouts = read_inspect(
        sample("4", uuid="u-4", match="C", two={"a": 0.25, "b": float("nan")}),
        sample("5", match="I", two={"a": True, "b": 2}),
        sample("", error="ConnectionError: no host\nat all"),
    )
    assert rollouts.kind == "Inspect log"
    assert (values(rollouts, "rollout_id"), values(rollouts, "prompt_id")) == (
        ["u-4", "x:1"],
        ["x", "x"],
    )
    assert values(rollouts, "ground_truth") == ["4", "4"]
    assert rollouts.logged.weights == {"match": 1.0, "two_a": 1.0, "two_b": 1.0}
    assert values(rollouts, "logged/match") == [1.0, 0.0]
    assert values(rollouts, "logged/two_b") == [None, 2.0]
    (lost,) = rollouts.rejected
    assert lost.reason == "ended in an error: ConnectionError: no host at all"


@pytest.mark.parametrize("name", ["log.eval", "log.json"])
def test_a_log_of_inspect_that_cannot_be_read_is_one_sentence(
    read_inspect, tmp_path, monkeypatch, name
):
    with pytest.raises(rk.RolloutsError, match="that Inspect can read: KeyError"):
        read_inspect()
    for module in ("inspect_ai", "inspect_ai.log"):
        monkeypatch.setitem(sys.modules, module, None)
    write(tmp_path, {name: json.dumps({"version": 2, "status": "success", "eval": {}})})
    with pytest.raises(rk.RolloutsError, match="pip install inspect-ai"):
        rk.load_rollouts(tmp_path / name)


# What is a score, and what an id or a truth


def trl(*left_out, before=None, **extra):
    """Rows of TRL with other columns `before` and behind its two rewards; a reward may be left out."""
    rows = pd.DataFrame(made.trl_rows(), dtype=object)
    advantages = rows["advantage"]
    rows = rows.drop(columns=["gold", "n_chars", "advantage", *left_out])
    for name, value in (before or {}).items():
        rows.insert(3, name, value)
    return rows.assign(**extra, advantage=advantages).to_dict("records")


def verl(**columns):
    """Rows of verl's with further columns, of which a list has a value a row."""
    return pd.DataFrame(made.verl_rows()).assign(**columns).to_dict("records")


def summed(weight, noise=0.0):
    """Rows with a total of two numbers, one of them with this weight, beside a third number."""
    draw = np.random.default_rng(2)
    table = pd.DataFrame(
        draw.integers(0, 2, (40, 3)), columns=["right", "tidy", "level"]
    )
    total = table["right"] + weight * table["tidy"] + noise * draw.random(40)
    return table.assign(completion="a", reward=total).to_dict("records")


@pytest.mark.parametrize(
    ("rows", "weights", "total", "why"),
    [
        (trl(n=3), {"right": 1.0, "brief": 1.0, "n": 0.0}, None, "whole numbers are of log_extra"),
        (trl(answer=4.0), {"right": 1.0, "brief": 1.0}, None, "a ground truth is no score"),
        (trl(brief=None), {"right": 1.0}, "logged/right", "what judged nothing is no score of this log"),
        (trl("brief"), {"right": 1.0}, "logged/right", "the only reward function is the reward"),
        (trl("brief", before={"tables": "2+2"}), {"right": 1.0}, "logged/right", "data may stand before the reward"),
        ([{"completion": "a", "quality": 0.5, "level": 3}], {}, None, "other numbers stay what they were"),
        ([{"completion": "a", "score": 0.5, "level": 3}], {"score": 1.0}, "logged/score", "a score is a total"),
        ([{"completion": "a", "tool_reward": 0.5}], {"tool_reward": 1.0}, "logged/tool_reward", "the only reward"),
        ([{"completion": "a", "reward": 2, "tool_reward": 1}], {"reward": 1.0, "tool_reward": 0.0},
         "logged/reward", "beside a total a reward is recorded"),
        ([{"completion": "a", "b_reward": 2, "c_reward": 1}], {"b_reward": 1.0, "c_reward": 1.0}, None, "two rewards"),
        ([{"completion": "a", "b_reward": 2, "c_penalty": -1}, {"completion": "b", "b_reward": 1, "c_penalty": 0}],
         {"b_reward": 1.0, "c_penalty": 1.0}, None, "a penalty is what rows lose"),
        ([{"completion": "a", "b_reward": 2, "c_penalty": 1.1}, {"completion": "b", "b_reward": 1, "c_penalty": 1.1}],
         {"b_reward": 1.0}, "logged/b_reward", "a setting of the sampling"),
        ([{"completion": "a", "reward": 1.2, "rewards": {"right": 1.0, "brief": 0.4}}],
         {"reward": 1.0, "right": 0.0, "brief": 0.0}, "logged/reward", "scores in an object"),
        (summed(0.1), {"reward": 1.0, "right": 0.0, "tidy": 0.0}, "logged/reward", "the total is their sum"),
        (summed(0.0), {"reward": 1.0}, "logged/reward", "a copy of the total may be a label"),
        (trl("brief", before={"tables": "2+2"}, reward=[0.2, 0.4, 0.2, 0.4]), {"reward": 1.0}, "logged/reward",
         "a total beside its parts is no log of TRL's"),
        (summed(0.1, noise=0.01), {"reward": 1.0}, "logged/reward", "the total is no sum of what stands beside it"),
        ([{"completion": "a", "reward": 1.2, "components": {"right": "yes"}}], {"reward": 1.0}, "logged/reward",
         "an object of texts holds no scores"),
        ([{**RESULT, "completion": None}, RESULT], LOGS["verifiers results"][2], "logged/reward", "results"),
    ],
)  # fmt: skip
def test_what_is_a_score_of_the_trainer_and_which_is_the_reward(
    rows, weights, total, why
):
    rollouts = rk.load_rollouts(rows)
    assert (rollouts.logged.weights, rollouts.logged.total) == (weights, total), why
    assert bool(rollouts.logged) == bool(weights)


UIDS = [f"ab_c-{prompt}_{session}_0" for prompt in (1, 2) for session in (0, 1)]
(EVALUATED, _), _, _, _ = LOGS["lm-eval samples"]
TURN = json.dumps([made.said("user", "2+2?")])
TRUTHS = [{**row, "response": "4"} for row in made.training_rows()]


@pytest.mark.parametrize(
    ("rows", "column", "expected", "why"),
    [
        (
            verl(uid=UIDS),
            "rollout_id",
            UIDS,
            "the key of a row in verl's new trainer is its id",
        ),
        (
            verl(uid=UIDS),
            "prompt_id",
            ["ab_c-1", "ab_c-1", "ab_c-2", "ab_c-2"],
            "and begins with that of its prompt",
        ),
        (
            verl(gts="4", answer="extracted"),
            "ground_truth",
            ["4"] * 4,
            "what was returned is no truth",
        ),
        (TRUTHS, "ground_truth", ["4", "10"], "the truth inside reward_model"),
        (
            [
                {
                    "completion": "4",
                    "answer": "4",
                    "extra_env_info": {"ground_truth": "2+2"},
                }
            ],
            "ground_truth",
            ["4"],
            "an object of NeMo-RL's name in another log is none of its",
        ),
        (
            [SKYRL | {"env_extras": {}}] * 2,
            "ground_truth",
            [None, None],
            "the first rows of SkyRL's log may have no truth, and those behind them one",
        ),
        (
            [EVALUATED | {"arguments": [[text]]} for text in ("2+2?", "3?", TURN)],
            "prompt",
            ["2+2?", "3?", json.loads(TURN)],
            "a prompt of lm-eval may be chat messages as JSON, whatever others are",
        ),
    ],
)
def test_columns_of_a_log_have_their_place(rows, column, expected, why):
    assert values(rk.load_rollouts(rows), column) == expected, why


def test_scores_that_are_no_numbers_are_counted_and_a_column_that_a_person_names_is_no_score():
    rollouts = rk.load_rollouts(
        verl(score=[1.0, "bad", None, [0]], gold=4), columns={"ground_truth": "gold"}
    )
    assert (
        "2 values of logged/score are no numbers: taken as missing" in rollouts.warnings
    )
    assert (
        values(rollouts, "ground_truth") == [4] * 4
        and "gold" not in rollouts.logged.components
    )


SCALED = {
    "nothing": {"scale_rewards": "none"},
    "batch": {"scale_rewards": "batch"},
    "group": {"scale_rewards": "group"},
    "GDPO": {"multi_objective_aggregation": "normalize_then_sum"},
}


def trl_log(weights=(1.0, 1.0), scaling="group", prompts=6, **extras):
    """Reward functions and what log_extra brought, as floats; advantages as TRL computes them."""
    draw = np.random.default_rng(0)
    groups = np.arange(prompts).repeat(8)
    rewards = draw.random((8 * prompts, len(weights)))
    rewards[:, ::2] = rewards[:, ::2] < 0.4  # right or wrong
    rewards = rewards.astype(np.float32).astype(float)
    names = ("accuracy_reward", "style", "tidy")
    scores = dict(zip(names, rewards.T, strict=False))
    advantages = compute(
        rk.Training(**SCALED[scaling]),
        rewards @ np.array(weights),
        groups,
        groups // 8,
        scores=scores,
        weights=np.array(weights),
    )
    return pd.DataFrame(
        {
            "step": groups // 8,
            "prompt": [f"p{group}" for group in groups],
            "completion": [f"c{place}" for place in range(8 * prompts)],
            **scores,
            **{name: make(groups, draw).astype(float) for name, make in extras.items()},
            "advantage": advantages.astype(np.float32).astype(float),
        }
    )


EXTRAS = {
    "difficulty": lambda groups, draw: groups,
    "num_tokens": lambda groups, draw: draw.integers(500, size=len(groups)),
}


@pytest.mark.parametrize("scaling", ["group", "nothing"])
@pytest.mark.parametrize(
    "extras", [{}, EXTRAS, {"difficulty": EXTRAS["difficulty"]}], ids=list
)
def test_numbers_that_trl_logged_beside_the_rewards_are_no_rewards(scaling, extras):
    logged = rk.load_rollouts(trl_log(scaling=scaling, **extras)).logged
    # the difficulty is the same for all completions of a prompt: no score at all
    assert logged.weights == {
        "accuracy_reward": 1.0,
        "style": 1.0,
        **{name: 0.0 for name in extras if name != "difficulty"},
    }


def test_where_the_advantages_do_not_tell_which_are_rewards_that_is_said():
    table = trl_log(**EXTRAS)
    noise = np.random.default_rng(1).normal(size=len(table)).astype(np.float32)
    rollouts = rk.load_rollouts(table.assign(advantage=noise.astype(float)))
    assert set(rollouts.logged.weights.values()) == {1.0}
    (said,) = [
        text for text in rollouts.warnings if text.startswith("Cannot tell which of ")
    ]
    assert "'num_tokens'" in said


WEIGHTED = [(1.0, 0.2, 0.5), (0.3, 1.0, -0.5), (2.0, 1.0, 0.0), (1.0, 1.0, 1.0)]


@pytest.mark.parametrize("scaling", SCALED)
@pytest.mark.parametrize("weights", WEIGHTED, ids=str)
def test_the_weights_of_a_trl_run_are_read_from_its_advantages(scaling, weights):
    rollouts = rk.load_rollouts(trl_log(weights, scaling, prompts=24))
    found = np.array(list(rollouts.logged.weights.values()))
    if scaling == "nothing" or weights == (1.0, 1.0, 1.0):
        assert found == pytest.approx(weights, rel=1e-3)
    else:  # ratios alone can be told
        assert found == pytest.approx(
            np.array(weights) / np.abs(weights).max(), rel=1e-3
        )
    (note,) = [note for note in rollouts.notes if note.startswith("the advantages fit")]
    assert scaling in note


def test_the_weights_of_a_megatron_run_are_read_though_prompts_recur_in_a_later_step():
    table = trl_log((1.0, 0.2, 0.5), prompts=24)
    table["prompt"] = [f"p{place // 8 % 12}" for place in range(len(table))]
    table = table.rename(columns={"step": "gen_step", "advantage": "advantages"})
    log = rk.load_rollouts(table)
    assert log.kind == "ms-swift completions"
    assert list(log.logged.weights.values()) == pytest.approx([1.0, 0.2, 0.5], rel=1e-3)


def test_two_functions_that_siblings_cannot_tell_apart_are_said_to_be_so():
    table = trl_log().rename(columns={"style": "style_reward"})
    right = table["accuracy_reward"]
    table["style_reward"] = right * 0.5
    means = right.groupby(table["prompt"]).transform("mean")
    table["advantage"] = (right - means) * 1.1
    rollouts = rk.load_rollouts(table)
    assert rollouts.logged.weights["style_reward"] == 1.0
    assert any("'style_reward' cannot be told" in note for note in rollouts.notes)


# Folders and data sets


EPISODES = [made.episode(name, "4") for name in "ab"]
METRICS = [{"step": 1, "reward/mean": 0.5}]
FOLDERS = {
    "prime-rl": (
        {"metrics.jsonl": METRICS,
         "rollouts/step_2/train/all/traces.jsonl": [*EPISODES, made.episode("lost", "5")],
         "rollouts/step_2/train/effective/traces.jsonl": EPISODES,
         "rollouts/step_10/train/effective/traces.jsonl": [made.episode(name, "4") for name in "cd"],
         "rollouts/step_10/eval/effective/traces.jsonl": [made.episode("e", "4")]},
        ("verifiers traces", [2, 2, 10, 10], {2: 2}),
        ["took the files of 'effective'", "left out 1 of 'all'", "left out 1 of 'eval/effective'", "'metrics.jsonl'"],
    ),
    "prime-rl, a file for each set": (
        {"step_2/train/all.jsonl": [RESULT] * 4, "step_2/train/effective.jsonl": [RESULT] * 2},
        ("verifiers results", [2, 2], {2: 1}),
        ["took the files of 'effective.jsonl' (prime-rl: those that were trained on) and left out 1 of 'all.jsonl'"],
    ),
    "NeMo-RL": (
        {"train_data_step2.jsonl": NEMO_RL, "train_data_step10.jsonl": NEMO_RL[:1] * 2,
         "val_data_step2.jsonl": NEMO_RL[:1], "tensorboard/config.json": "{}", "notes.txt": "Run 7."},
        ("NeMo-RL rollouts", [2, 2, 10, 10], {2: 2}),
        ["left out 1 of 'val_data_step'"],
    ),
    "SkyRL": (
        {"global_step_5_evals/toy.jsonl": [SKYRL] * 2, "global_step_5_evals/aggregated_results.jsonl": METRICS,
         "global_step_20_evals/toy.jsonl": [SKYRL] * 2},
        ("SkyRL evaluation", [5, 5, 20, 20], {2: 2}),
        ["left out files without completions: 'global_step_5_evals/aggregated_results.jsonl'"],
    ),
    "AReaL": (
        {"rollout/3/1.jsonl": AREAL[:2], "eval-rollout/3/2.jsonl": AREAL[:1]},
        ("AReaL rollouts", [3, 3], {2: 1}),
        ["left out 1 of 'eval-rollout'"],
    ),
    "AReaL, as text": (
        {"generated/9/q1.txt": made.areal_dump(("4", 1.0), ("5", 0.0)), "generated/10/q1.txt": made.areal_dump(("4", 1)),
         "generated/10/q2.txt": made.areal_dump(("4", 1)), "generated-eval/9/q3.txt": made.areal_dump(("4", 1.0))},
        ("AReaL text dump", [9, 9, 10, 10], {1: 2, 2: 1}),
        ["left out 1 of 'generated-eval'"],
    ),
    "ms-swift": (
        {"v0/completions.jsonl": [SWIFT], "v0/logging.jsonl": METRICS, "v0/args.json": "{}",
         "v0/checkpoint-5/trainer_state.json": "{\n}"},
        ("ms-swift completions", [5] * 4, {2: 2}),
        ["'logging.jsonl'"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("trainer", FOLDERS)
def test_a_folder_of_a_run_is_read_below_and_what_overlaps_is_left_out_and_said(
    tmp_path, trainer
):
    files, (kind, steps, sizes), sentences = FOLDERS[trainer]
    write(tmp_path, files)
    rollouts = rk.load_rollouts(tmp_path)
    assert (rollouts.kind, values(rollouts, "step")) == (kind, steps)
    assert (rollouts.group_sizes, rollouts.rejected) == (sizes, ())
    notes = " ".join(rollouts.notes)
    assert [sentence for sentence in sentences if sentence not in notes] == []


def test_a_dump_of_areal_is_joined_by_the_query_of_its_name(tmp_path):
    texts = [
        "",
        "\n4 \n",
        "so\nsequence is: \n4",
        "idx: 1 / 2, seqlen: 3, reward is 1.\n",
    ]
    dump = made.areal_dump(*zip(texts, (0, 1.0, True, "nan"), strict=True))
    plain = dump.replace(made.YELLOW, "").replace(made.RESET, "") + "\n"
    write(tmp_path, {"3/a.txt": dump, "3/b.txt": plain})
    data = [{"query_id": name, "prompt": "2+2?", "answer": name} for name in "bca"]
    rollouts = rk.load_rollouts(tmp_path, join=data)
    assert values(rollouts, "completion") == [
        *texts,
        *(text.rstrip("\n") for text in texts),
    ]
    assert values(rollouts, "prompt") == ["user\n2+2?\n"] * 8
    assert values(rollouts, "logged/reward") == [0, 1, 1, None] * 2
    assert values(rollouts, "ground_truth") == ["a"] * 4 + ["b"] * 4
    assert rollouts.group_key == ("prompt_id", "step")


def test_the_folder_that_was_left_out_is_read_where_it_is_given(tmp_path):
    write(tmp_path, FOLDERS["prime-rl"][0])
    ids = {}
    for name in ("step_2/train/all", "step_2", "step_10/eval"):
        ids[name] = values(rk.load_rollouts(tmp_path / "rollouts" / name), "rollout_id")
    expected = {"all": ["a", "b", "lost"], "step_2": ["a", "b"], "eval": ["e"]}
    assert {name.split("/")[-1]: found for name, found in ids.items()} == expected
    file = tmp_path / "train_data_step7.jsonl"
    made.write_jsonl(file, NEMO_RL[:1])
    assert values(rk.load_rollouts(file), "step") == [7]


def test_a_saved_data_set_is_read_in_the_order_of_its_shards_and_a_log_in_it_is_recognised(
    tmp_path,
):
    rows = [{"prompt": "p", "completion": text} for text in "abc"]
    rollouts = rk.load_rollouts(
        made.write_saved_dataset(tmp_path / "set", rows[:1], rows[1:])
    )
    assert values(rollouts, "completion") == ["a", "b", "c"]
    log = rk.load_rollouts(made.write_saved_dataset(tmp_path / "log", made.trl_rows()))
    assert log.kind == "TRL completions"


def test_the_splits_of_a_saved_data_set_stand_in_a_column(tmp_path):
    splits = ["train", "test"]
    for split in splits:
        made.write_saved_dataset(tmp_path / split, [{"completion": split}])
    write(tmp_path, {"dataset_dict.json": json.dumps({"splits": splits})})
    rollouts = rk.load_rollouts(tmp_path)
    assert values(rollouts, "split") == splits == values(rollouts, "completion")


A, B = ([{"completion": text}] for text in "ab")
X = {"completion": "b", "rollout_id": "x"}


@pytest.mark.parametrize(
    ("files", "column", "expected", "why"),
    [
        ({"data/train-00001-of-00002.parquet": B, "data/train-00000-of-00002.parquet": A, "README.md": "#"},
         "completion", ["a", "b"], "shards of a repository"),
        ({"log.json": '[{"completion": "a"}, {"completion": "b"}]'}, "completion", ["a", "b"], "array"),
        ({"log.json": '{"completion": "a"}\n{"completion": "b"}\n'}, "completion", ["a", "b"], "lines"),
        ({"1.jsonl": [*A, X], "2.jsonl": [*A, X]}, "rollout_id", ["1:1", "1:x", "2:1", "2:x"], "do not meet"),
    ],
)  # fmt: skip
def test_a_folder_is_one_table(tmp_path, files, column, expected, why):
    write(tmp_path, files)
    rollouts = rk.load_rollouts(
        tmp_path / "log.json" if "log.json" in files else tmp_path
    )
    assert values(rollouts, column) == expected, why
    assert rollouts.rejected == ()


def test_rows_kept_out_of_a_folder_are_listed_with_their_file(tmp_path):
    files = {"2.jsonl": [X, {"rollout_id": "z"}], "10.jsonl": "{\n", "11.jsonl": ""}
    write(tmp_path, {**files, "12.jsonl": [{**X, "rollout_id": "y"}] * 2})
    rollouts = rk.load_rollouts(tmp_path)
    places = [
        "line 2 of 2.jsonl",
        "line 1 of 10.jsonl",
        "line 0 of 11.jsonl",
        "line 2 of 12.jsonl",
    ]
    assert [item.place for item in rollouts.rejected] == places
    assert rollouts.rejected[3].reason == "repeats rollout_id 'y' of line 1 of 12.jsonl"
    assert "line 2 of 2.jsonl: has no completion" in rollouts.warnings[0]
    assert rollouts.summary()["rejected"][0] == {
        "line": 2,
        "reason": "has no completion",
        "file": "2.jsonl",
    }


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, ["there is no file of rollouts"]),
        ({"README.txt": "Our logs.", "a/log.txt": "idx: 1"}, ["is no dump of AReaL"]),
        ({"a.jsonl": A, "b.csv": []}, ["several kinds (1 .csv, 1 .jsonl)"]),
        ({"a.jsonl": A, "b.jsonl": [{"completion": "c", "prompt": "p"}]},
         ["hold different things", "'a.jsonl' has ['completion'], 'b.jsonl' has"]),
        ({"a.jsonl": made.verl_rows(), "b.jsonl": made.trl_rows()},
         ["several forms (verl rollout dump, TRL completions)"]),
        ({"train.parquet": made.training_rows()}, ["set of verl or siiRL", "no completions", "join"]),
    ],
    ids=["nothing there", "texts", "kinds", "columns", "forms", "training set"],
)  # fmt: skip
def test_what_is_no_log_is_one_sentence(tmp_path, files, said):
    write(tmp_path, files)
    with pytest.raises(rk.RolloutsError) as raised:
        rk.load_rollouts(tmp_path / next(iter(files)) if len(files) == 1 else tmp_path)
    assert [words for words in said if words not in str(raised.value)] == []
    assert "\n" not in str(raised.value)


def test_queries_may_have_the_names_of_the_arguments_of_a_function():
    rows = [
        {"queries": f"2+2?{text}", "prompts": "2+2?", "labels": "4"} for text in "45"
    ]
    named = [
        {"query": row["queries"], "prompt": row["prompts"], "label": "4"}
        for row in rows
    ]
    logs = [list(rk.load_rollouts(log)) for log in (rows, named)]
    assert logs[0] == logs[1] and logs[0][1]["completion"] == "5"
    (first, _) = rk.load_rollouts([{**row, "completion": "5"} for row in rows])
    assert first["prompt"] == "2+2?"
