"""MonitorCallback in transformers' trainers: what it prints, when it stops them, and when it does not."""

import pytest
import tiny
from datasets import Dataset
from transformers import (
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from trl import GRPOConfig, GRPOTrainer

import rewardkit as rk
from rewardkit.targets import trl

COLLAPSED, LOST_AT = "gallery:brevity", 30


def brief(completion):
    return 1 - len(completion) / 16


def scores_until(step):
    """Return the scores of the collapsed run up to a step."""
    log = rk.load_rollouts(COLLAPSED)
    rows = (log.table["step"] <= step).to_numpy().nonzero()[0]
    return rk.score(rk.recorded(log), log.select(rows))


def end_step(watch, step, folder, **state):
    """Return whether the trainer stops after a step, by what it asks of its callbacks."""
    told = TrainerState(global_step=step, **state)
    arguments = TrainingArguments(output_dir=str(folder), use_cpu=True, report_to=[])
    control = watch.on_step_end(arguments, told, TrainerControl(), model=None)
    return control.should_training_stop


@pytest.mark.parametrize("stop", [True, False])
def test_it_waits_then_says_each_new_verdict_once_and_stops_where_told(
    stop, tmp_path, capsys
):
    watch = rk.MonitorCallback(tmp_path / "run", every=5, stop=stop)
    assert isinstance(watch, TrainerCallback) and isinstance(watch, rk.MonitorCallback)
    assert not end_step(watch, 5, tmp_path)  # no folder yet
    scores_until(0).save(tmp_path / "run")
    assert not end_step(watch, 10, tmp_path)  # one step
    assert capsys.readouterr().out == ""
    scores_until(LOST_AT).save(tmp_path / "run")
    assert not end_step(watch, 15, tmp_path)
    assert not end_step(watch, 20, tmp_path)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("rewardkit: healthy. ")
    scores_until(10**6).save(tmp_path / "run")
    assert not end_step(watch, 24, tmp_path)  # no look
    assert not end_step(watch, 25, tmp_path, is_world_process_zero=False)
    assert capsys.readouterr().out == ""
    assert end_step(watch, 25, tmp_path) == stop
    assert end_step(watch, 30, tmp_path) == stop
    (line,) = capsys.readouterr().out.splitlines()
    assert line == f"rewardkit: stop. {rk.monitor(COLLAPSED).sentence}"


def test_a_trainer_trains_on_until_the_run_that_it_records_is_to_be_stopped(
    tmp_path, capsys
):
    reward = rk.Reward("brief", components=[rk.Component("brief", brief)])
    folder = tmp_path / "run"
    record = rk.Recorder(folder)
    looks = []

    class Flush(TrainerCallback):
        """Write what is recorded after each step, as time would; note what was known."""

        def on_step_end(self, args, state, control, **_):
            record.flush()
            looks.append(state.global_step)
            if state.global_step == 4:
                watch.folder = tmp_path / "collapsed"

    scores_until(10**6).save(tmp_path / "collapsed")
    watch = rk.MonitorCallback(folder, every=2, stop=True)
    trainer = GRPOTrainer(
        tiny.model(),
        reward_funcs=trl.functions(reward, record=record),
        args=GRPOConfig(
            output_dir=str(tmp_path),
            max_steps=8,
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=8,
            report_to=[],
            use_cpu=True,
            bf16=False,
            save_strategy="no",
        ),
        train_dataset=Dataset.from_dict({"prompt": ["say abc", "write xyz"]}),
        processing_class=tiny.tokenizer(),
        callbacks=[Flush(), watch],
    )
    trainer.train()
    assert looks == [1, 2, 3, 4]
    said = [
        line
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("rewardkit: ")
    ]
    verdicts = [line.removeprefix("rewardkit: ").partition(".")[0] for line in said]
    assert verdicts == ["not decided", "stop"]  # four steps are too few to be healthy


@pytest.mark.parametrize("every", [0, -1, 2.5, True, "20"])
def test_every_is_a_number_of_steps(every, tmp_path):
    with pytest.raises(rk.InputError, match="whole number of at least 1"):
        rk.MonitorCallback(tmp_path, every=every)
