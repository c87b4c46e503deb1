"""What a recorder keeps of a training, and what it does not let happen to it."""

import multiprocessing
import os
import pickle
import random
import threading
import time

import numpy as np
import pandas as pd
import pytest
from commands import run
from killed import ROWS, functions, kill_after, score_step

import rewardkit as rk
from rewardkit.history import part_writer, recorder

TRUTHS = {"ground_truth": ["4"] * 4, "level": [1, 1, 2, 2]}
ANSWERS = ["4", "5", "", "4"]
PROMPTS = ["2+2?", "2+2?", "3+1?", "3+1?"]


def right(completion, ground_truth):
    if not completion:
        raise ValueError(f"nothing to compare with {ground_truth}")
    rk.note("seen", completion)
    return completion == ground_truth


def made(name="r", weight=1.0):
    return rk.Reward(
        name,
        fields={"first": rk.extract.pattern("^(.)")},
        components=[
            rk.Component("right", right, weight=weight),
            rk.Component("short", lambda completion: len(completion) < 2, weight=0.5),
        ],
        transform=rk.weigh.standardise(),
    )


def recording(reward, **options):
    """The one function for TRL of a reward."""
    (function,) = rk.targets.trl.functions(reward, **options)
    return function


def call(function, step=0, **columns):
    return function(
        PROMPTS, ANSWERS, trainer_state=state(step), **(TRUTHS | columns)
    )  # fmt: skip


def state(step):
    return type("State", (), {"global_step": step})


def steps_of(scores):
    return scores.table["step"].drop_duplicates().tolist()


def test_what_is_recorded_is_the_table_that_score_makes_of_the_same_rows(folder, read):
    reward = made()
    function = recording(reward, record=folder)
    paid = [call(function, step) for step in (7, 8)]
    rows = [
        {"prompt": prompt, "completion": answer, "ground_truth": "4", "level": level, "step": step}
        for step in (7, 8)
        for prompt, answer, level in zip(PROMPTS, ANSWERS, TRUTHS["level"], strict=True)
    ]  # fmt: skip
    scored, loaded = rk.score(reward, rows, notes=True), read()
    same = [name for name in scored.table if name != "rollout_id"]
    pd.testing.assert_frame_equal(loaded.table[same], scored.table[same])
    assert sorted(loaded.table) == sorted(scored.table)
    assert loaded.rollouts.group_key == scored.rollouts.group_key == ("prompt", "step")
    assert loaded.table["rollout_id"].is_unique
    assert loaded.rewards.tolist() == pytest.approx(
        [np.nan if reward is None else reward for one in paid for reward in one], nan_ok=True
    )  # fmt: skip
    codes = [finding.code for finding in rk.diagnose(scored).findings]
    assert codes == [finding.code for finding in rk.diagnose(loaded).findings] != []
    assert loaded.record["recorder"]["steps"] == ["trainer"]


def test_what_no_one_reads_is_left_out(folder, read):
    function = recording(made(), record=folder)
    chats = [[{"role": "assistant", "content": text}] for text in ANSWERS]
    prompts = [[{"role": "user", "content": text}] for text in PROMPTS]
    function(
        prompts, chats, **TRUTHS, trainer_state=state(0), completion_ids=[[1, 2]] * 4,
        image=[object()] * 4, solution=["x"] * 4, reward=[0.0] * 4,
    )  # fmt: skip
    table = read().table
    assert not {"completion_ids", "image", "reward_raw_2", "messages"} & set(table)
    assert table["completion"].tolist() == ANSWERS
    assert table["prompt"].tolist() == prompts
    assert table["reward"].isna().tolist() == [False, False, True, False]


def test_a_folder_grows_while_it_is_read_and_parts_are_put_together(
    folder, read, monkeypatch
):
    monkeypatch.setattr(recorder, "PART_ROWS", 2 * ROWS)
    function = functions(folder)
    sizes = []
    for step in range(6):
        score_step(function, step)
        if step % 2:
            sizes.append(len(read()))
    assert sizes == [2 * ROWS, 4 * ROWS, 6 * ROWS]
    assert steps_of(read()) == list(range(6))
    assert len(list(folder.glob("scores-*.parquet"))) > 1


def test_columns_that_come_later_or_change_their_kind_are_one_column(folder, read):
    function = recording(made(), record=folder)
    kinds = ([1, 2, 3, 4], [0.5, 1, 2, 3], ["a", "b", None, "d"], [True, "x", 3, None])
    call(function, 0)
    for step, values in enumerate(kinds, 1):
        read()
        call(function, step, own=values)
    loaded = [
        None if pd.isna(value) else value for value in read().table["own"].tolist()
    ]
    assert loaded == [None] * 4 + [value for values in kinds for value in values]


@pytest.mark.parametrize(
    ("first", "later", "kept", "why"),
    [
        ([0, 1, 2, 3], [2, 3, 4], [0, 1, 2, 3, 4], "resumed from step 2"),
        ([0, 1, 2], [0, 1], [0, 1], "started anew: the later run counts"),
        ([0, 1], [2, 3], [0, 1, 2, 3], "resumed where it ended"),
    ],
)
def test_of_steps_that_a_resumed_run_records_anew_the_later_rows_count(
    first, later, kept, why, folder, read, monkeypatch
):
    """Whatever the clock says, which goes back here."""
    for rows, steps, now in ((4, first, 2e9), (8, later, 1.0)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        function = functions(folder)
        for step in steps:
            score_step(function, step, rows)
        rk.Recorder(folder).flush()
    scores = read()
    assert steps_of(scores) == kept
    counts = scores.table["step"].value_counts()
    assert {counts[step] for step in later} == {8}, why
    repeated = set(first) - {step for step in first if step < later[0]}
    notes = scores.rollouts.notes
    assert len(notes) == bool(repeated)
    assert not repeated or f"{4 * len(repeated)} rows are left out" in notes[0]
    assert len(scores.record["recorder"]["sessions"]) == 2


def test_trainers_of_several_processes_record_side_by_side(folder, read):
    """Each makes its own recorder, as under torchrun: neither is a later run of the other."""
    both = [functions(folder) for _ in range(2)]
    for step in range(3):
        for function in both:
            score_step(function, step)
            scores = read()
    assert scores.table["step"].value_counts().to_dict() == dict.fromkeys(
        range(3), 2 * ROWS
    )
    assert scores.rollouts.notes == ()


def test_a_gate_that_no_row_of_a_part_met_was_open_there(folder, read):
    reward = rk.Reward(
        "r",
        components=[rk.Component("c", lambda completion: 1.0)],
        gate=rk.gate("completion", equals="a"),
    )
    function = recording(reward, record=folder)
    for texts in (["a", "a"], ["a", "b"]):
        function(["p"] * 2, texts)
        scores = read()
    assert scores.rewards.tolist() == [1.0, 1.0, 1.0, 0.0]
    assert scores.reweigh({"c": 2.0}).rewards.tolist() == [2.0, 2.0, 2.0, 0.0]


def test_steps_that_go_back_in_one_process_are_a_new_start_and_a_few_steps_are_not(
    folder, read
):
    function = functions(folder)
    for step in (10, 12, 11, 13, 40, 20, 21):
        score_step(function, step)
    scores = read()
    assert steps_of(scores) == [10, 11, 12, 13, 20, 21]
    assert len(scores.record["recorder"]["sessions"]) == 2


def test_without_a_step_the_number_of_the_call_counts_on_in_a_resumed_run(folder, read):
    for _ in range(2):
        function = functions(folder)
        for _ in range(3):
            function(["p"] * 2, ["a", "b"])
        rk.Recorder(folder).flush()
    scores = read()
    assert scores.table["step"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert scores.record["recorder"]["steps"] == ["calls"]
    assert scores.rollouts.group_key == ("prompt", "step")


def test_one_row_a_call_makes_groups_of_prompts(folder, read):
    reward = rk.Reward("v", components=[rk.Component("short", lambda completion: len(completion) < 2)])  # fmt: skip
    function = rk.targets.verl.functions(reward, record=folder)
    for text in ("a", "bb", "c"):
        function("gsm8k", text, "4", {"question": "2+2?"})
    scores = read()
    assert scores.rollouts.group_key == ("prompt", "data_source")
    assert scores.groups.tolist() == [0, 0, 0]


def test_redacted_texts_are_hashes_and_all_numbers_stay(folder, read):
    secret = "the password is swordfish"

    def quoting(completion):
        rk.note("seen", completion)
        if completion == secret:
            raise ValueError(secret)
        return 0.5

    reward = rk.Reward(
        "r",
        fields={"word": rk.extract.pattern("(pass.*)")},
        components=[rk.Component("c", quoting), rk.Component("d", lambda completion: secret)],
    )  # fmt: skip
    options = {"redact": True}
    record = rk.Recorder(folder, **options)
    function = recording(reward, record=record)
    function(
        [secret, secret], [secret, "other"], own=[secret, "x"], level=[1, 2],
        data_source=["math", "math"], trainer_state=state(3),
    )  # fmt: skip
    scores = read(**options)
    for path in folder.iterdir():
        content = path.read_bytes()
        assert not [
            word for word in (b"swordfish", b"password", b"other") if word in content
        ]
    assert "swordfish" not in scores.table.to_csv()
    table = scores.table
    assert table["prompt"][0] == table["prompt"][1] == table["completion"][0]
    assert table["completion"][0] != table["completion"][1]
    assert table["level"].tolist() == [1, 2]
    assert table["data_source"].tolist() == ["math", "math"]
    assert table["score/c"].tolist()[1] == 0.5
    assert [reason.code.value for reason in scores.reasons("c") if reason] == ["raised"]
    assert scores.record["recorder"]["redacted"]


def test_a_sample_is_of_whole_groups_and_the_same_in_every_process(tmp_path):
    parts = []
    for folder in ("a", "b"):
        record = rk.Recorder(tmp_path / folder, sample=0.3)
        function = functions(record)
        for step in range(50):
            score_step(function, step)
        record.flush()
        scores = rk.load_scores(tmp_path / folder)
        parts.append(scores.table[["step", "prompt", "completion"]])
        assert set(scores.rollouts.group_sizes) == {4}
        assert 0.2 < len(scores) / (50 * ROWS) < 0.4
        assert scores.record["recorder"]["sample"] == 0.3
    pd.testing.assert_frame_equal(*parts)


def test_a_folder_does_not_outgrow_its_size_and_no_time_goes_without(
    folder, read, caplog
):
    options = {"max_bytes": 4_000_000}
    record = rk.Recorder(folder, **options)
    function = functions(record)
    for step in range(40):
        score_step(function, step, 40, characters=4000)
        record.flush()
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert 2_000_000 < size <= 4_000_000
    scores = read(**options)
    rows = scores.table["step"].value_counts().reindex(range(40), fill_value=0)
    assert rows[:10].tolist() == [40] * 10 and 0 < rows[30:].mean() < 15
    assert set(scores.rollouts.group_sizes) == {4}
    said = [text for text in caplog.messages if "holds half of" in text]
    assert len(said) == 1


def test_not_even_small_parts_outgrow_the_size(folder, read):
    options = {"max_bytes": 100_000}
    function = functions(rk.Recorder(folder, **options))
    for step in range(30):
        score_step(function, step, 400)
        read(**options)
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 100_000


def test_on_a_full_disk_training_goes_on_with_one_warning_and_the_loss_is_recorded(
    folder, read, caplog, monkeypatch
):
    function = functions(folder)
    expected = score_step(function, 0)
    read()
    with monkeypatch.context() as patch:

        def fail(writer, table):
            raise OSError(28, "No space left on device")

        patch.setattr("pyarrow.parquet.ParquetWriter.write_table", fail)
        for step in (1, 2):
            assert score_step(function, step)[1:] == expected[1:]
            rk.Recorder(folder).flush()
    score_step(function, 3)
    scores = read()
    assert steps_of(scores) == [0, 3]
    assert scores.record["recorder"]["rows_left_out"] == 2 * ROWS
    assert len([text for text in caplog.messages if "No space left" in text]) == 1
    assert {path.suffix for path in folder.iterdir()} == {".parquet"}


def test_a_writer_that_is_behind_leaves_rows_out_and_holds_nothing_up(
    folder, read, monkeypatch
):
    monkeypatch.setattr(recorder, "PART_ROWS", ROWS)
    writing, go_on = threading.Event(), threading.Event()
    write = part_writer.PartWriter.write

    def slow(parts, batches):
        writing.set()
        go_on.wait(10)
        write(parts, batches)

    monkeypatch.setattr(part_writer.PartWriter, "write", slow)
    function = functions(folder)
    score_step(function, 0)
    assert writing.wait(10)
    began = time.monotonic()
    for step in range(1, 20):
        score_step(function, step)
    assert time.monotonic() - began < 5
    go_on.set()
    read()
    score_step(function, 20)
    scores = read()
    kept = [0, *range(1, 1 + recorder.PARTS_WAITING), 20]
    assert steps_of(scores) == kept
    assert scores.record["recorder"]["rows_left_out"] == (21 - len(kept)) * ROWS


@pytest.mark.parametrize("cut", ["half", "nothing", "no Parquet"])
def test_a_file_that_cannot_be_read_is_left_out_and_named(cut, folder, read):
    function = functions(folder)
    for step in range(3):
        score_step(function, step)
        read()
    victim = sorted(folder.iterdir())[1]
    content = {"half": victim.read_bytes()[:4000], "nothing": b"", "no Parquet": b"x"}
    victim.write_bytes(content[cut])
    (folder / ".scores-x-000001.parquet.0a").write_bytes(b"being written")
    scores = read()
    assert steps_of(scores) == [0, 2]
    (note,) = scores.rollouts.notes
    assert victim.name in note and "left out" in note


def test_two_rewards_in_one_folder_are_refused_before_and_after(tmp_path, read, folder):
    call(*rk.targets.trl.functions(made(), record=folder))
    read()
    for other in (made("other"), made(weight=2.0)):
        with pytest.raises(rk.RewardError, match=r"another reward.*folder of its own"):
            rk.targets.trl.functions(other, record=folder)
    beside = tmp_path / "beside"
    call(*rk.targets.trl.functions(made("other"), record=beside))
    read(beside)
    (other,) = beside.iterdir()
    other.rename(folder / other.name)
    with pytest.raises(rk.RolloutsError, match=r"different rewards, 'r|'other'"):
        read()


def test_a_folder_of_score_and_a_folder_of_a_recorder_are_not_mixed(
    tmp_path, read, folder
):
    scores = rk.score(made(), [{"completion": "4", "ground_truth": "4"}])
    saved = scores.save(tmp_path / "saved")
    with pytest.raises(rk.RewardError, match=r"'rewardkit score -o' wrote; give"):
        rk.targets.trl.functions(made(), record=saved)
    call(*rk.targets.trl.functions(made(), record=folder))
    read()
    with pytest.raises(rk.RolloutsError, match=r"a recorder wrote .* another folder"):
        scores.save(folder)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"folder": ""}, "is no folder"),
        ({"folder": 3}, "is no folder"),
        ({"sample": 0}, "no share of the groups"),
        ({"sample": 1.5}, "no share of the groups"),
        ({"redact": 1}, "give True or False"),
        ({"max_bytes": 1e9}, "a whole number"),
    ],
)
def test_an_option_that_does_not_fit_is_said_in_a_sentence(options, match):
    with pytest.raises(rk.RewardError, match=match):
        rk.Recorder(**{"folder": "x"} | options)


def record_here(function, step):
    score_step(function, step)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of forks
def test_processes_record_side_by_side_into_one_folder(folder, read):
    """As forked data loaders and trainers of several processes do: state is made anew in each."""
    function = functions(folder)
    score_step(function, 0)
    context = multiprocessing.get_context("fork")
    with_pickle = pickle.loads(pickle.dumps(function))
    processes = [
        context.Process(target=record_here, args=(with_pickle, 0)) for _ in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    score_step(function, 1)
    scores = read()
    assert scores.table["step"].value_counts().to_dict() == {0: 3 * ROWS, 1: ROWS}
    assert len(scores.record["recorder"]["sessions"]) == 3
    assert scores.table["rollout_id"].is_unique
    assert len({name.split("-")[0] for name in scores.table["rollout_id"]}) == 3


def test_a_worker_with_another_working_folder_records_into_the_same(
    tmp_path, monkeypatch, folder
):
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps(rk.Recorder("run", redact=True))
    monkeypatch.chdir("/")
    again = pickle.loads(content)
    assert again == rk.Recorder(os.fspath(folder), redact=True)


def test_components_as_functions_record_each_row_once(folder, read):
    functions = rk.targets.trl.functions(made(), separate=True, record=folder)
    for function in functions:
        call(function)
    assert len(read()) == 4


def test_a_process_that_is_killed_loses_the_open_part_alone(tmp_path):
    """Some points here; tests/history/killed.py --times 50 for as many as one likes."""
    random.seed(1)
    for at in range(3):
        folder = tmp_path / str(at)
        last = kill_after(folder, random.uniform(0, 0.5), parts=1)
        scores = rk.load_scores(folder)
        rows = scores.table["step"].value_counts().sort_index()
        assert list(rows.index) == list(range(len(rows))) and set(rows) == {ROWS}
        assert 0 < len(rows) <= last + 2
        assert scores.rollouts.notes == ()


def hangs(completion):
    if completion == "hang":
        time.sleep(60)
    return 1.0


def score_under_limit(function, folder, queue):
    queue.put(function(["p"] * 2, ["a", "hang"]))
    rk.Recorder(folder).flush()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_time_limit_holds_in_a_forked_data_loader(start, folder):
    """Which is a daemon, and may have been forked from a process whose workers run already."""
    reward = rk.Reward("r", components=[rk.Component("c", hangs)])
    function = recording(reward, record=folder, timeout=1.0)
    assert function(["p"] * 2, ["a", "hang"]) == [1.0, None]
    context = multiprocessing.get_context(start)
    queue = context.Queue()
    arguments = (pickle.loads(pickle.dumps(function)), folder, queue)
    process = context.Process(target=score_under_limit, args=arguments, daemon=True)
    process.start()
    assert queue.get(timeout=60) == [1.0, None]
    process.join(60)
    rk.Recorder(folder).flush()
    scores = rk.load_scores(folder)
    assert scores.errors("c") == ["took longer than 1 s"] * 2


@pytest.mark.parametrize("command", ["diagnose {} --json", "forecast {}"])
def test_a_command_reads_a_folder_that_grows(folder, read, command):
    function = functions(folder)
    for step in range(3):
        score_step(function, step)
    read()
    (folder / ".scores-x-000001.parquet.0a").write_bytes(b"being written")
    result = run(command.format(folder))
    assert result.exit_code == 0, result.output
