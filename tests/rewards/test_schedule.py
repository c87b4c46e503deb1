"""Weights that depend on the step: at a step, over a log, in files, records and exports."""

import numpy as np
import pandas as pd
import pytest
from commands import run

import rewardkit as rk


def right(completion, ground_truth):
    return float(completion.startswith(ground_truth))


def short(completion):
    return float(len(completion) < 4)


def make_reward(weight, **options):
    components = [
        rk.Component("right", right),
        rk.Component("short", short, weight=weight),
    ]
    return rk.Reward("curriculum", components=components, **options)


FALLING = {0: 1.0, 100: 0.2}


@pytest.mark.parametrize(
    "between, step, weight",
    [
        ("linear", 0, 1.0),
        ("linear", 50, 0.6),
        ("linear", 100, 0.2),
        ("linear", 999, 0.2),
        ("linear", np.nan, 1.0),
        ("step", 99, 1.0),
        ("step", 100, 0.2),
        ("step", -3, 1.0),
    ],
)
def test_a_weight_at_a_step(between, step, weight):
    made = rk.schedule(FALLING, between)
    assert made.at(step) == pytest.approx(weight)
    at = make_reward(made).at(step)
    assert at.weights == pytest.approx({"right": 1.0, "short": weight})
    assert not at.is_scheduled


@pytest.mark.parametrize(
    "weights, between, message",
    [
        ({}, "linear", "has no steps"),
        (None, "linear", "has no steps"),
        ({-1: 1.0}, "linear", "-1 is no step"),
        ({0.5: 1.0}, "linear", "0.5 is no step"),
        ({0: "a"}, "linear", "at step 0 is not a finite number"),
        ({0: np.inf}, "linear", "at step 0 is not a finite number"),
        (FALLING, "cubic", "give 'linear' or 'step'"),
    ],
)
def test_what_is_no_schedule_is_refused_in_a_sentence(weights, between, message):
    with pytest.raises(rk.RewardError, match=message):
        rk.schedule(weights, between)


def log(steps=(0, 50, 100, None)):
    rows = []
    for step in steps:
        for text in ("4", "4 it is", "5", "5 it is"):
            row = {"prompt_id": f"p{step}", "completion": text, "ground_truth": "4"}
            rows.append({**row, "step": step})
    return pd.DataFrame(rows)


def test_each_row_is_paid_at_its_step_and_without_one_at_the_first():
    scores = rk.score(make_reward(rk.schedule(FALLING)), rk.load_rollouts(log()))
    paid = [
        2.0,
        1.0,
        1.0,
        0.0,
        1.6,
        1.0,
        0.6,
        0.0,
        1.2,
        1.0,
        0.2,
        0.0,
        2.0,
        1.0,
        1.0,
        0,
    ]
    assert scores.rewards.tolist() == pytest.approx(paid)
    assert scores.at(100).rewards[::4].tolist() == pytest.approx([1.2] * 4)
    view = rk.diagnose(scores).views[0]
    total = sum(view.payments.values())
    assert total.tolist() == pytest.approx(paid)
    plain = scores.reweigh({"short": 0.5})
    assert not plain.reward.is_scheduled and plain.rewards[0] == 1.5
    without = log().drop(columns="step")
    assert rk.score(scores.reward, rk.load_rollouts(without)).rewards[0] == 2.0


def test_saved_scores_and_files_know_the_schedule(tmp_path):
    reward = make_reward(rk.schedule(FALLING, "step"))
    scores = rk.score(reward, rk.load_rollouts(log()))
    scores.save(tmp_path / "out")
    loaded = rk.load_scores(tmp_path / "out")
    assert loaded.reward.components[1].schedule == reward.components[1].schedule
    assert loaded.at(100).rewards[0] == pytest.approx(1.2)
    path = rk.save_reward(reward, tmp_path / "saved.py")
    assert "weight=rk.schedule({0: 1.0, 100: 0.2}, between='step')" in path.read_text()
    assert rk.load_reward(str(path)).at(100).weights["short"] == 0.2
    prints = []
    for weight in (1.0, rk.schedule(FALLING, "step"), rk.schedule(FALLING)):
        prints.append(make_reward(weight).record()["fingerprints"]["reward"])
    assert len({*prints}) == 3


def test_a_route_weighs_each_branch_at_the_step():
    branch = make_reward(rk.schedule(FALLING))
    route = rk.Route("data_source", {"a": branch}, default=make_reward(0.5))
    table = log((0, 100)).assign(data_source=["a", "b"] * 4)
    scores = rk.score(route, rk.load_rollouts(table))
    assert scores.rewards.tolist() == pytest.approx([2, 1, 1, 0, 1.2, 1, 0.2, 0])
    assert route.at(100).for_row({"data_source": "a"}).weights["short"] == 0.2


# --- what a switch does


def many(count=40):
    """Groups of two right answers, which are long, and two short wrong ones."""
    table = log(range(count)).drop(columns="step")
    table["completion"] = ["4 it is", "4 is it", "5", "6"] * count
    return rk.load_rollouts(table)


@pytest.mark.parametrize(
    "weight, codes",
    [
        (rk.schedule({0: 0.2, 100: 3.0}, "step"), ["warn"]),  # short above right
        (rk.schedule({0: 0.2, 100: 3.0}), []),  # slowly
        (rk.schedule({0: 0.2, 100: 0.25}, "step"), []),  # a small one
        (0.2, []),
    ],
)
def test_a_switch_that_turns_siblings_around_is_told_before_training(weight, codes):
    diagnosis = rk.diagnose(rk.score(make_reward(weight), many()))
    assert [finding.severity for finding in diagnosis["switch"]] == codes
    if codes:
        (finding,) = diagnosis["switch"]
        assert finding.evidence["turned"] == 1.0
        assert "At step 100 the weight of short switches" in finding.statement


def test_a_switch_that_takes_the_signal_is_told():
    components = [
        rk.Component("right", right, weight=rk.schedule({0: 1, 9: 0}, "step"))
    ]
    reward = rk.Reward("gone", components=components)
    (finding,) = rk.diagnose(rk.score(reward, many()))["switch"]
    assert (finding.evidence["lost"], finding.severity) == (1.0, "warn")


# --- a curriculum: form first, the task later


def curriculum():
    """Pay short ones at first, and right ones from step 100 on."""
    components = [
        rk.Component("short", short, weight=rk.schedule({0: 1.0, 100: 0.2})),
        rk.Component("right", right, weight=rk.schedule({0: 0.0, 100: 1.0})),
    ]
    return rk.Reward("curriculum", components=components)


def test_the_task_of_a_curriculum_is_the_task_before_it_is_paid():
    reward = curriculum()
    assert reward.task == ("right",)
    before = rk.diagnose(rk.score(reward, many()))
    (finding,) = before["unpaid_task"]
    assert "is not paid at the steps of these rows" in finding.statement
    assert before.views[0].verdicts.name == "right"
    assert any("the rows have no step" in note for note in before.notes)
    table = many().table.assign(step=([0] * 4 + [100] * 4) * 20)
    during = rk.diagnose(rk.score(reward, rk.load_rollouts(table)))
    assert not during["unpaid_task"] and not during.notes
    view = during.views[0]
    assert view.weights.tolist() == pytest.approx([0.6, 0.5])
    assert sum(view.payments.values()).tolist() == pytest.approx(view.rewards.tolist())
    # without the form nothing is paid before the first step, and there is no reward
    without = view.under(view.reward.reweigh({"short": 0.0}))
    assert np.isnan(without.rewards.reshape(-1, 4)[0]).all()
    assert without.rewards.reshape(-1, 4)[1].tolist() == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("step, adds", [(0, [1.0, 0.0]), (100, [0.2, 1.0])])
def test_what_a_component_adds_is_explained_at_the_step_of_the_row(step, adds):
    row = {"prompt": "2+2?", "completion": "4", "ground_truth": "4", "step": step}
    reward = curriculum()
    for subject, place in (
        (reward, row),
        (rk.score(reward, rk.load_rollouts([row])), 0),
    ):
        explanation = rk.explain(subject, place)
        assert [line.contribution for line in explanation.lines] == pytest.approx(adds)
        assert explanation.result.reward == pytest.approx(sum(adds))
    columns = {"completion": "4", "ground_truth": "4", "step": np.int64(step)}
    assert list(reward(**columns).weights.values()) == pytest.approx(adds)


def test_a_step_that_is_no_number_is_refused():
    row = {"prompt": "2+2?", "completion": "4", "ground_truth": "4", "step": "fifty"}
    with pytest.raises(rk.RewardError, match="row 0 has step 'fifty'"):
        rk.score(curriculum(), rk.load_rollouts([row]))


# --- at the command line, and in trainers


def test_a_step_is_chosen_at_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reward = make_reward(rk.schedule({0: 1.0, 100: 0.2}))
    rk.score(reward, many()).save("out")
    # at first wrong and short earns what right and long does, and no group has a signal
    assert "0 % of 40 groups have a signal" in run("diagnose out").stdout
    assert "100 % of 40 groups have a signal" in run("diagnose out --at-step 9").stdout
    assert run("diagnose out --at-step x").exit_code == 2


def test_trainers_that_do_not_tell_the_step_refuse_it(tmp_path):
    reward = make_reward(rk.schedule(FALLING))
    with pytest.raises(rk.RewardError, match="does not tell a reward which step it is"):
        rk.export(reward, to="verl", path=tmp_path / "r.py")
    with pytest.raises(rk.RewardError, match="without separate"):
        rk.targets.trl.functions(reward, separate=True)
    (function,) = rk.targets.trl.functions(reward)
    rewards = []
    for step in (0, 50, 100):
        state = type("State", (), {"global_step": step})
        columns = {"ground_truth": ["4"], "trainer_state": state}
        rewards += function(["2+2?"], ["4"], **columns)
    assert rewards == pytest.approx([2.0, 1.6, 1.2])
