"""Logs of trainers: each recognised by its columns, read whole, with the scores that stand in it."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest

import rewardkit as rk
from rewardkit.rollouts.logs.inspect import number_of

_spec = importlib.util.spec_from_file_location("trainer_logs", Path(__file__).with_name("trainer_logs.py"))
made = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made)


def values(rollouts, name):
    return rollouts.columns()[name]


# TRL


@pytest.mark.parametrize("chat", [False, True], ids=["plain", "conversational"])
def test_a_trl_folder_gives_all_steps_with_a_score_a_reward_function(tmp_path, chat):
    steps = [made.trl_rows(step, chat=chat, prompts=(f"{step}+0?", "2+2?")) for step in (2, 10, 1)]
    rollouts = rk.load_rollouts(made.write_trl(tmp_path / "out", *steps))
    assert rollouts.kind == "TRL completions"
    assert values(rollouts, "step") == [1] * 4 + [2] * 4 + [10] * 4
    assert values(rollouts, "completion") == ["4", "10"] * 6
    assert values(rollouts, "ground_truth") == ["4"] * 12
    assert rollouts.logged.components == {
        "right": "logged/right",
        "brief": "logged/brief",
        "n_chars": "logged/n_chars",
    }
    assert rollouts.logged.weights == {"right": 1.0, "brief": 1.0, "n_chars": 0.0}
    assert (rollouts.logged.total, rollouts.logged.on_missing) == (None, "skip")
    assert values(rollouts, "logged/brief") == [None, 0.5] * 6
    assert rollouts.group_key == ("prompt", "step") and rollouts.group_sizes == {2: 6}
    assert "TRL completions" in repr(rollouts) and rollouts.summary()["kind"] == "TRL completions"
    assert rollouts.warnings == ()


def test_the_folder_of_completions_one_file_and_the_table_itself_are_the_same_log(tmp_path):
    folder = made.write_trl(tmp_path / "out", made.trl_rows())
    sources = [folder, folder / "completions", folder / "completions/completions_00001.parquet"]
    read = [rk.load_rollouts(source) for source in [*sources, pd.read_parquet(sources[-1])]]
    assert {item.kind for item in read} == {"TRL completions"}
    assert len({json.dumps([item.columns()[name] for name in item.table if name != "rollout_id"])
                for item in read}) == 1  # fmt: skip
    assert values(read[0], "rollout_id") == values(read[1], "rollout_id")


def test_the_name_of_a_file_says_nothing(tmp_path):
    made.write_jsonl(tmp_path / "completions_00001.jsonl", [{"prompt": "p", "completion": "c"}])
    pd.DataFrame(made.trl_rows()).to_parquet(tmp_path / "mine.parquet")
    assert rk.load_rollouts(tmp_path / "completions_00001.jsonl").kind == "rollouts"
    assert rk.load_rollouts(tmp_path / "mine.parquet").kind == "TRL completions"


@pytest.mark.parametrize(
    ("extra", "scores"),
    [
        pytest.param({"n": 3}, ["right", "brief", "n"], id="whole numbers are of log_extra, recorded only"),
        pytest.param({"x": 0.1}, ["right", "brief", "x"], id="0.1 is no float32, so no reward"),
        pytest.param({"answer": 4.0}, ["right", "brief"], id="a ground truth is no score"),
        pytest.param({"note": "text"}, ["right", "brief"], id="text is no score"),
    ],
)
def test_what_log_extra_left_is_no_reward(extra, scores):
    rows = [{key: value for key, value in row.items() if key not in ("gold", "n_chars", "advantage")} | extra
            | {"advantage": row["advantage"]} for row in made.trl_rows()]  # fmt: skip
    logged = rk.load_rollouts(rows).logged
    assert list(logged.components) == scores
    assert [logged.weights[name] for name in scores] == [1.0, 1.0, 0.0][: len(scores)]


def test_a_reward_function_that_judged_nothing_is_a_score_that_is_missing():
    rows = [{**row, "brief": None} for row in made.trl_rows()]
    rollouts = rk.load_rollouts(rows)
    assert "brief" in rollouts.logged.components
    assert values(rollouts, "logged/brief") == [None] * 4


def test_the_only_reward_function_is_the_reward():
    rows = [{key: value for key, value in row.items() if key != "brief"} for row in made.trl_rows()]
    assert rk.load_rollouts(rows).logged.total == "logged/right"


def test_a_batch_that_trl_logged_at_each_step_it_trained_on_it_counts_once(tmp_path):
    first, other = made.trl_rows(1), made.trl_rows(3, prompts=("1+1?", "3+3?"))
    again = [[{**row, "step": step} for row in rows] for step, rows in ((2, first), (4, other))]
    rollouts = rk.load_rollouts(made.write_trl(tmp_path / "out", first, again[0], other, again[1]))
    assert values(rollouts, "step") == [1] * 4 + [3] * 4
    assert rollouts.warnings[0].startswith("2 of 4 files left out that repeat the rows of the one before")
    assert "completions_00002.parquet, completions_00004.parquet" in rollouts.warnings[0]


# verl and siiRL


def test_a_verl_dump_has_its_prompt_answer_and_score_under_our_names(tmp_path):
    for step in (1, 2, 10):
        made.write_jsonl(tmp_path / f"{step}.jsonl", made.verl_rows(step))
    rollouts = rk.load_rollouts(tmp_path)
    assert rollouts.kind == "verl rollout dump"
    assert values(rollouts, "step") == [1] * 4 + [2] * 4 + [10] * 4
    assert values(rollouts, "prompt")[0] == made.rendered("2+2?")
    assert values(rollouts, "completion")[:2] == ["<answer>4</answer>", "<answer>10</answer>"]
    assert rollouts.mapping["completion"] == "output"
    assert values(rollouts, "ground_truth") == [None] * 12
    assert rollouts.logged.weights == {"score": 1.0, "acc": 0.0}
    assert rollouts.logged.total == "logged/score"
    assert values(rollouts, "logged/pred") == ["4", "10"] * 6
    assert rollouts.group_sizes == {2: 6}


def test_what_the_reward_function_returned_is_not_taken_for_the_truth():
    (row, *_) = made.verl_rows()
    rollouts = rk.load_rollouts([{**row, "gts": "4", "answer": "what was extracted"}])
    assert values(rollouts, "ground_truth") == ["4"]
    assert values(rollouts, "logged/answer") == ["what was extracted"]


def test_a_column_that_a_person_names_is_no_score():
    rows = [{**row, "gold": 4} for row in made.verl_rows()]
    rollouts = rk.load_rollouts(rows, columns={"ground_truth": "gold"})
    assert values(rollouts, "ground_truth") == [4] * 4
    assert "gold" not in rollouts.logged.components


def test_the_key_of_a_row_in_verls_new_trainer_is_its_id_and_the_prompts():
    uids = [f"ab_c-{prompt}_{session}_0" for prompt in (1, 2) for session in (0, 1)]
    rows = [{**row, "uid": uid} for row, uid in zip(made.verl_rows(), uids, strict=True)]
    rollouts = rk.load_rollouts(rows)
    assert values(rollouts, "rollout_id") == uids
    assert values(rollouts, "prompt_id") == ["ab_c-1", "ab_c-1", "ab_c-2", "ab_c-2"]
    assert rollouts.group_sizes == {2: 2}


def test_a_uid_of_another_form_is_the_prompts_id_as_ever():
    rows = [{**row, "uid": f"p{at // 2}"} for at, row in enumerate(made.verl_rows())]
    assert values(rk.load_rollouts(rows), "prompt_id") == ["p0", "p0", "p1", "p1"]


def test_a_siirl_validation_dump_is_an_array_a_rank(tmp_path):
    for rank in (0, 1):
        rows = [{"rank": rank, "global_step": 5, "data_source": "toy", "input": "2+2?", "output": "4",
                 "score": 1.0, "format": 0.5}]  # fmt: skip
        (tmp_path / f"step_5_rank_{rank}.json").write_text(json.dumps(rows, indent=4))
    rollouts = rk.load_rollouts(tmp_path)
    assert rollouts.kind == "siiRL validation dump"
    assert (values(rollouts, "step"), values(rollouts, "data_source")) == ([5, 5], ["toy", "toy"])
    assert rollouts.logged.weights == {"score": 1.0, "format": 0.0}


def test_a_training_set_is_no_log_and_the_error_says_what_to_do_with_it(tmp_path):
    path = tmp_path / "train.parquet"
    pd.DataFrame(made.training_rows()).to_parquet(path)
    with pytest.raises(rk.RolloutsError, match=r"training set of verl or siiRL.*no completions.*join"):
        rk.load_rollouts(path)


def test_the_truth_inside_reward_model_is_the_ground_truth():
    rows = [{**row, "response": "4"} for row in made.training_rows()]
    assert values(rk.load_rollouts(rows), "ground_truth") == ["4", "10"]


def test_a_ground_truth_of_its_own_comes_before_the_one_inside_reward_model():
    row = {**made.training_rows()[0], "response": "4"}
    rows = [{**row, "ground_truth": "own"}, row]
    assert values(rk.load_rollouts(rows), "ground_truth") == ["own", None]


# verifiers


def test_verifiers_traces_give_a_rollout_a_trace_with_rewards_by_their_weights(tmp_path):
    path = made.write_jsonl(tmp_path / "traces.jsonl", [made.episode("a", "4"), made.episode("b", "5")])
    rollouts = rk.load_rollouts(path)
    assert rollouts.kind == "verifiers traces"
    assert values(rollouts, "rollout_id") == ["a", "b"]
    assert values(rollouts, "completion") == ["4", "5"]
    assert [item["role"] for item in values(rollouts, "prompt")[0]] == ["system", "user"]
    assert len(values(rollouts, "messages")[0]) == 5
    assert (values(rollouts, "ground_truth"), values(rollouts, "policy")) == (["4", "4"], ["m-1", "m-1"])
    assert rollouts.logged.weights == {"correct": 1.0, "brief": 0.2, "num_turns": 0.0}
    assert values(rollouts, rollouts.logged.total) == pytest.approx([1.1, 0.1])
    assert rollouts.group_sizes == {2: 1}


def test_a_reward_that_did_not_run_is_missing_and_the_sum_is_of_the_others(tmp_path):
    late = {"correct": None, "brief": {"score": 0.5, "weight": 0.2}}
    rows = [made.episode("a", "4", rewards=late), made.episode("b", "4"), made.episode("c", "4", rewards={})]
    rollouts = rk.load_rollouts(made.write_jsonl(tmp_path / "traces.jsonl", rows))
    assert values(rollouts, "logged/correct") == [None, 1.0, None]
    assert values(rollouts, rollouts.logged.total) == [pytest.approx(0.1), pytest.approx(1.1), None]
    assert rollouts.logged.weights["correct"] == 1.0


def test_a_trace_without_a_message_of_a_model_is_kept_out_with_its_error(tmp_path):
    lost = made.episode("b", "4", nodes=[], errors=[{"type": "ProviderError", "message": "no such model"}])
    circle = made.episode("c", "4")
    circle["traces"][0]["nodes"][0]["parent"] = 4
    broken = {**made.episode("d", "4"), "traces": ["x"]}
    path = made.write_jsonl(tmp_path / "traces.jsonl", [made.episode("a", "4"), lost, circle, broken])
    rollouts = rk.load_rollouts(path)
    assert values(rollouts, "rollout_id") == ["a"]
    reasons = {item.line: item.reason for item in rollouts.rejected}
    assert "trace b has no message of a model (ProviderError: no such model)" in reasons[2]
    assert "is no episode that can be read (ValueError: its messages go in circles)" in reasons[3]
    assert "is no episode that can be read" in reasons[4]


def test_the_branch_of_the_last_turn_is_read():
    trace = made.episode("a", "4")["traces"][0]
    nodes = [
        *trace["nodes"],
        {"parent": 1, "message": {"role": "assistant", "content": "5"}, "sampled": True},
    ]
    (row,) = rk.load_rollouts([made.episode("a", "4", nodes=nodes)])
    assert row["completion"] == "5"
    assert [item["content"] for item in row["messages"]] == ["Be brief.", "2+2?", "5"]


def test_results_of_verifiers_evaluations_have_a_reward_and_metrics():
    chat = [{"role": "user", "content": "2+2?"}]
    row = {"example_id": 7, "prompt": chat, "completion": [{"role": "assistant", "content": "4"}],
           "answer": "4", "reward": 0.9, "task": "math", "is_completed": True, "generation_ms": 12.5,
           "metrics": {"correct": 1.0, "num_turns": 1.0}, "correct": 1.0}  # fmt: skip
    lost = {**row, "completion": None, "error": {"error": "ModelError"}}
    rollouts = rk.load_rollouts([row, row, lost])
    assert rollouts.kind == "verifiers results"
    assert (values(rollouts, "prompt_id"), values(rollouts, "data_source")) == ([7, 7], ["math", "math"])
    assert rollouts.logged.weights == {"reward": 1.0, "correct": 0.0, "num_turns": 0.0}
    assert rollouts.logged.total == "logged/reward"
    assert "generation_ms" in rollouts.table and len(values(rollouts, "messages")[0]) == 2
    assert [(item.line, item.reason) for item in rollouts.rejected] == [(3, "has no completion")]


# Inspect


def test_a_log_of_inspect_names_the_package_that_reads_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    (tmp_path / "log.eval").write_bytes(b"PK")
    (tmp_path / "log.json").write_text(json.dumps({"version": 2, "status": "success", "eval": {}}))
    for name in ("log.eval", "log.json"):
        with pytest.raises(rk.RolloutsError, match="pip install inspect-ai"):
            rk.load_rollouts(tmp_path / name)


class Said(SimpleNamespace):
    """A chat message as Inspect holds it."""

    def model_dump(self, **_):
        return {"id": "m", **vars(self)}


@pytest.fixture
def inspect_says(monkeypatch):
    """A stand-in for inspect_ai 0.3.285, which is too much to install for this: what its reader gives."""

    def reading(answer):
        module = ModuleType("inspect_ai.log")
        module.read_eval_log = answer
        monkeypatch.setitem(sys.modules, "inspect_ai", ModuleType("inspect_ai"))
        monkeypatch.setitem(sys.modules, "inspect_ai.log", module)

    return reading


def sample(text, *, error=None, **scores):
    said = [Said(role="user", content="2+2?"), Said(role="assistant", content=text)]
    return SimpleNamespace(
        id="x", epoch=1, uuid=None if text == "no id" else f"u-{text}", input="2+2?", target=["4"],
        messages=said,
        output=SimpleNamespace(choices=[text] if text else [], completion=text), metadata={"level": 2},
        error=SimpleNamespace(message=error) if error else None,
        scores={name: SimpleNamespace(value=value) for name, value in scores.items()},
    )  # fmt: skip


def test_the_samples_of_an_inspect_log_are_rollouts_and_its_grades_numbers(tmp_path, inspect_says):
    samples = [
        sample("4", match="C", two={"a": 0.25, "b": float("nan")}),
        sample("no id", match="I", two={"a": True, "b": 2}),
        sample("", error="ConnectionError: no host\nat all"),
    ]
    log = SimpleNamespace(samples=samples, eval=SimpleNamespace(task="sums", model="m/1"))
    inspect_says(lambda *_, **__: log)
    (tmp_path / "log.eval").write_bytes(b"PK")
    rollouts = rk.load_rollouts(tmp_path / "log.eval")
    assert rollouts.kind == "Inspect log"
    assert (values(rollouts, "rollout_id"), values(rollouts, "prompt_id")) == (["u-4", "x:1"], ["x", "x"])
    assert values(rollouts, "ground_truth") == ["4", "4"]
    assert rollouts.logged.weights == {"match": 1.0, "two_a": 1.0, "two_b": 1.0}
    assert values(rollouts, "logged/match") == [1.0, 0.0]
    assert values(rollouts, "logged/two_b") == [None, 2.0]
    assert [item.reason for item in rollouts.rejected] == [
        "ended in an error: ConnectionError: no host at all"
    ]


def test_a_log_that_inspect_cannot_read_is_one_sentence(tmp_path, inspect_says):
    def fails(*_, **__):
        raise KeyError("eval")

    inspect_says(fails)
    (tmp_path / "log.eval").write_bytes(b"PK")
    with pytest.raises(rk.RolloutsError, match="is not a log that Inspect can read: KeyError"):
        rk.load_rollouts(tmp_path / "log.eval")


@pytest.mark.parametrize(
    ("value", "expected"),
    [("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0), ("yes", 1.0), (" 0.25 ", 0.25), (3, 3.0), (True, 1.0),
     ("A", None), (None, None), ([1], None), (float("nan"), None), ("inf", None)],
)  # fmt: skip
def test_a_grade_of_inspect_is_a_number_or_missing(value, expected):
    assert number_of(value) == expected


# Folders and data sets


def test_a_saved_data_set_is_read_in_the_order_of_its_shards(tmp_path):
    rows = [{"prompt": "p", "completion": text} for text in "abc"]
    rollouts = rk.load_rollouts(made.write_saved_dataset(tmp_path / "set", rows[:1], rows[1:]))
    assert rollouts.kind == "rollouts in a saved data set"
    assert values(rollouts, "completion") == ["a", "b", "c"]


def test_the_splits_of_a_saved_data_set_stand_in_a_column(tmp_path):
    for split in ("train", "test"):
        made.write_saved_dataset(tmp_path / split, [{"prompt": "p", "completion": split}])
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    rollouts = rk.load_rollouts(tmp_path)
    assert values(rollouts, "split") == ["train", "test"] == values(rollouts, "completion")


def test_a_log_inside_of_a_saved_data_set_is_recognised(tmp_path):
    rollouts = rk.load_rollouts(made.write_saved_dataset(tmp_path / "set", made.trl_rows()))
    assert rollouts.kind == "TRL completions in a saved data set"


def test_a_repository_of_shards_is_read_from_its_data_folder(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "README.md").write_text("# a set")
    for shard in (0, 1):
        frame = pd.DataFrame([{"prompt": "p", "completion": f"c{shard}"}])
        frame.to_parquet(tmp_path / f"data/train-0000{shard}-of-00002.parquet")
    assert values(rk.load_rollouts(tmp_path), "completion") == ["c0", "c1"]


def test_an_arrow_file_with_a_footer_is_read_too(tmp_path):
    path = tmp_path / "one.feather.arrow"
    pd.DataFrame([{"prompt": "p", "completion": "c"}]).to_feather(path, compression="uncompressed")
    assert values(rk.load_rollouts(path), "completion") == ["c"]


def test_ids_of_several_files_do_not_meet(tmp_path):
    for name in ("1", "2"):
        made.write_jsonl(
            tmp_path / f"{name}.jsonl", [{"completion": "a"}, {"completion": "b", "rollout_id": "x"}]
        )
    rollouts = rk.load_rollouts(tmp_path)
    assert values(rollouts, "rollout_id") == ["1:1", "1:x", "2:1", "2:x"]
    assert rollouts.rejected == ()


def test_ids_that_no_other_file_has_stay_as_they_are(tmp_path):
    for name in ("1", "2"):
        made.write_jsonl(tmp_path / f"{name}.jsonl", [{"completion": "a", "rollout_id": f"own-{name}"}])
    assert values(rk.load_rollouts(tmp_path), "rollout_id") == ["own-1", "own-2"]


def test_an_id_that_comes_twice_in_one_file_of_several_is_kept_out(tmp_path):
    made.write_jsonl(tmp_path / "1.jsonl", [{"completion": "a", "rollout_id": "x"}])
    made.write_jsonl(tmp_path / "2.jsonl", [{"completion": "b", "rollout_id": "y"}] * 2)
    (lost,) = rk.load_rollouts(tmp_path).rejected
    assert (lost.file, lost.line, lost.reason) == (
        "2.jsonl",
        2,
        "repeats rollout_id 'y' of line 1 of 2.jsonl",
    )


def test_rows_kept_out_of_a_folder_are_listed_with_their_file(tmp_path):
    made.write_jsonl(tmp_path / "2.jsonl", [{"completion": "a"}, {"x": 1}])
    (tmp_path / "10.jsonl").write_text("{\n")
    (tmp_path / "11.jsonl").write_text("")
    rollouts = rk.load_rollouts(tmp_path)
    assert [item.place for item in rollouts.rejected] == [
        "line 2 of 2.jsonl", "line 1 of 10.jsonl", "line 0 of 11.jsonl",
    ]  # fmt: skip
    assert "line 2 of 2.jsonl: has no completion" in rollouts.warnings[0]
    assert rollouts.summary()["rejected"][0] == {"line": 2, "reason": "has no completion", "file": "2.jsonl"}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param({}, "there is no file of rollouts", id="nothing there"),
        pytest.param({"a.jsonl": [{"completion": "c"}], "b.csv": []},
                     "several kinds (1 .csv, 1 .jsonl)", id="kinds"),
        pytest.param({"a.jsonl": [{"completion": "c"}], "b.jsonl": [{"completion": "c", "prompt": "p"}]},
                     "hold different things: 'a.jsonl' has ['completion'], 'b.jsonl' has", id="columns"),
        pytest.param({"a.jsonl": made.verl_rows(), "b.jsonl": made.trl_rows()},
                     "logs of several forms (verl rollout dump, TRL completions)", id="forms"),
    ],
)  # fmt: skip
def test_a_folder_that_is_no_log_is_one_sentence(tmp_path, files, said):
    for name, rows in files.items():
        made.write_jsonl(tmp_path / name, rows)
    with pytest.raises(rk.RolloutsError) as raised:
        rk.load_rollouts(tmp_path)
    assert said in str(raised.value) and "\n" not in str(raised.value)


def test_json_beside_the_rows_is_about_them_and_not_of_them(tmp_path):
    made.write_jsonl(tmp_path / "results.jsonl", [{"prompt": "p", "completion": "c"}])
    (tmp_path / "metadata.json").write_text('{"model": "m"}')
    assert len(rk.load_rollouts(tmp_path)) == 1


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        pytest.param('[{"completion": "a"}, {"completion": "b"}]', 2, id="array"),
        pytest.param('{"completion": "a"}\n{"completion": "b"}\n', 2, id="lines, as datasets writes them"),
        pytest.param('{"completion": "a"}\n', 1, id="one line"),
    ],
)
def test_json_is_an_array_or_lines(tmp_path, text, rows):
    (tmp_path / "log.json").write_text(text)
    assert len(rk.load_rollouts(tmp_path / "log.json")) == rows


@pytest.mark.parametrize(
    ("text", "said"), [("{", "is not a JSON file that can be read"), ('{"a": 1}', "holds one JSON dict")]
)
def test_json_of_another_form_is_one_sentence(tmp_path, text, said):
    (tmp_path / "log.json").write_text(text)
    with pytest.raises(rk.RolloutsError, match=said):
        rk.load_rollouts(tmp_path / "log.json")


# Any table with a reward


def test_a_column_called_reward_is_what_the_trainer_paid():
    rollouts = rk.load_rollouts([{"prompt": "p", "completion": text, "reward": 0.5} for text in "ab"])
    assert rollouts.logged.total == "logged/reward" and "reward" not in rollouts.table
    reward = rk.Reward("r", components=[rk.Component("size", lambda completion: len(completion))])
    assert rk.score(reward, rollouts).table["logged/reward"].tolist() == [0.5, 0.5]


def test_a_reward_that_is_no_number_is_moved_and_no_score():
    rollouts = rk.load_rollouts([{"completion": "a", "reward": "good"}])
    assert values(rollouts, "logged/reward") == ["good"] and not rollouts.logged


def test_other_numbers_of_a_table_stay_what_they_were():
    rollouts = rk.load_rollouts([{"completion": "a", "score": 0.5, "level": 3}])
    assert values(rollouts, "score") == [0.5] and not rollouts.logged


def test_a_score_that_is_no_number_is_missing_and_counted():
    rows = [
        {**row, "score": score} for row, score in zip(made.verl_rows(), (1.0, "bad", None, [0]), strict=True)
    ]
    rollouts = rk.load_rollouts(rows)
    assert values(rollouts, "logged/score") == [1.0, None, None, None]
    assert "2 values of logged/score are no numbers: taken as missing" in rollouts.warnings


def test_a_score_that_only_a_row_kept_out_had_is_none():
    rollouts = rk.load_rollouts([*made.verl_rows(), {**made.verl_rows()[0], "output": 3, "bonus": 1.0}])
    assert list(rollouts.logged.components) == ["score", "acc"]
    assert len(rk.score(rk.recorded(rollouts), rollouts)) == 4


def test_the_callers_rows_are_never_changed():
    for rows in (made.trl_rows(chat=True), made.verl_rows(), [made.episode("a", "4")]):
        before = json.dumps(rows)
        rk.load_rollouts(rows)
        assert json.dumps(rows) == before
