"""What a forecast says of a rehearsal: outlooks, curves, the gate, the best of n, and what is left out."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.analysis import forecast as module
from rewardkit.analysis.rehearsal.curves import WINDOW, make_curves
from rewardkit.analysis.statistics.pairs import first_siblings

RIGHT = rk.Component(
    "right", lambda completion: float("4" in completion), weight=0.2, primary=True
)
BRIEF = rk.Component("brief", lambda completion: 1 - len(completion) / 40)


def rollouts(prompts=30, right=4, **columns):
    """Groups of eight: half of them hold nothing right, and empty ones are brief."""
    rows = []
    for place in range(prompts):
        texts = ["", "no", "I do not know this one", "so it may well be five, or six"]
        texts += ["I have worked it out: 4"] * (right if place % 2 else 0)
        for at in range(8):
            row = {"prompt": f"2+2? ({place})", "completion": texts[at % len(texts)]}
            rows.append(row | {name: value(place) for name, value in columns.items()})
    return rows


def forecast_of(*components, rows=None, **options):
    reward = rk.Reward("sum", components=components)
    return rk.forecast(rk.score(reward, rows or rollouts()), **options)


@pytest.fixture(scope="module")
def brief():
    return forecast_of(RIGHT, BRIEF)


def test_nothing_is_rehearsed_before_it_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "rehearse_view", lambda *_, **__: asked.append(1))
    found = forecast_of(RIGHT)
    assert not asked
    assert found.rehearsals == {"": None} and asked == [1]


def test_what_falls_is_told_with_the_gate_that_mends_it(brief):
    assert (
        brief.outlook.task == "falls" and brief.outlook.takes_over.component == "brief"
    )
    assert brief.gated.task == "rises"
    told = " ".join(str(brief).split())
    assert told.startswith("'sum': the task falls, from 0.25 to 0.0")
    assert (
        "Next: pay `brief` to right completions alone (a gate): the task rises" in told
    )
    sound = forecast_of(RIGHT)
    assert (sound.outlook.task, sound.gated) == ("rises", None)
    told = " ".join(str(sound).split())
    assert "Right is what 'right' of this reward pays; nothing here checks that" in told
    assert "Next: rk.probe(reward, rollouts) says whether it pays what is right" in told


def test_training_is_advised_where_a_trusted_label_says_what_is_right():
    rows = [row | {"trusted": "4" in row["completion"]} for row in rollouts()]
    rows[0]["trusted"] = True  # a label that says just what the reward says is no check
    told = str(forecast_of(RIGHT, rows=rows, label="trusted"))
    assert "Next: train" in told and "nothing here checks" not in told


def test_the_curves_begin_with_the_log_and_bands_hold_the_median(brief):
    table = brief.table
    assert set(table["pace"]) == {"gentle", "fast"} and set(table["step"]) == {
        *range(160)
    }
    names = ["task", "reward", "score/right", "score/brief", "characters"]
    assert table["figure"].unique().tolist()[:5] == names
    assert table["figure"].unique()[5].startswith("share of ")
    assert (table["low"] <= table["middle"]).all() and (
        table["middle"] <= table["high"]
    ).all()
    first = table[table["step"] == 0].groupby("figure")["middle"].mean()
    scores = brief.scores.table
    for figure, column in (("reward", "reward"), ("score/brief", "score/brief")):
        assert first[figure] == pytest.approx(scores[column].mean(), abs=0.05)


def test_learners_that_the_rate_loses_say_nothing_of_the_reward(brief):
    run = brief.rehearsals[""]
    sound = np.where(run.pace == "fast", 0.0, 1.0)
    sound[-3:] = 1.0  # three of the sixteen fast ones learn what is paid alone
    lossy = replace(run, sound=sound)
    fast = lossy.course.mean(lossy.rows.task)[-WINDOW:, -3:].mean(axis=0)
    assert make_curves(lossy)["fast", "task"].end == pytest.approx(np.median(fast))
    forecast = replace(brief)
    forecast.__dict__["rehearsals"] = {"": lossy}
    (note,) = [note for note in forecast.notes if "by the rate" in note]
    assert note.startswith("13 of 16 fast learners do not learn the task")
    sound[:] = 1.0
    assert not [note for note in forecast.notes if "by the rate" in note]


@pytest.mark.parametrize(("lost", "is_open"), [(1, False), (3, True), (16, False)])
def test_where_other_seeds_decide_otherwise_the_end_has_its_interval(
    brief, lost, is_open
):
    run = replace(brief.rehearsals[""], sound=None)
    run.__dict__["ends"] = np.where(np.arange(32) < lost, 0.0, 0.9)
    ends = {"gentle": 0.9, "fast": 0.9, "interval": run.end_interval}
    outlook = replace(brief.outlook, **ends)
    assert outlook.is_open is is_open
    told = "0.90 (0.00 to 0.90 with other seeds)" in outlook.end_text
    assert told is is_open and ("with other seeds" in outlook.sentence) is is_open


def test_the_best_of_n_is_what_the_first_siblings_do():
    (best,) = forecast_of(RIGHT).best_of.values()
    # half of the groups hold a right one, and it is paid best there
    assert (best.n, best.before, best.after) == (8, 0.25, 0.5)
    assert best.interval[0] < 0.5 < best.interval[1]
    values, task = np.array([1.0, 1, 0, 2, 5]), np.array([1.0, 0, 1, np.nan, 1])
    groups = np.array([0, 0, 0, 1, 1])
    found = first_siblings(values, task, groups, 2)
    assert [item.tolist() for item in found] == [[0.5, 1.0], [1.0, 1.0]]


def test_a_diagnosis_is_forecast_as_it_was_made():
    scores = rk.score(rk.Reward("sum", components=[RIGHT, BRIEF]), rollouts(right=2))
    training = {"scale_rewards": "none"}
    diagnosis = rk.diagnose(scores, training=training, seed=3)
    found = rk.forecast(diagnosis)
    (trained,) = rk.whatif(diagnosis, weights={"brief": 0.5}).trained.values()
    assert trained.before == found.outlook
    assert (found.training.scale_rewards, found.seed) == ("none", 3)
    assert found.outlook == rk.forecast(scores, training=training, seed=3).outlook


def test_the_record_is_plain_and_has_the_outlook_that_a_machine_reads(brief):
    plain = json.loads(json.dumps(brief.record()))
    outlook = plain["outlook"]
    assert outlook["task"] == "falls" and outlook["fragility"] > 0.5
    assert outlook["takes_over"]["component"] == "brief" and "decides" in outlook["why"]
    assert plain["gated"]["task"] == "rises" and plain["curves"]["step"][:3] == [
        0,
        10,
        20,
    ]


def test_each_part_of_a_route_has_an_outlook_and_the_worst_is_told():
    route = rk.Route(
        "data_source",
        {
            "a": rk.Reward("good", components=[RIGHT]),
            "b": rk.Reward("bad", components=[RIGHT, BRIEF]),
        },
    )
    rows = rollouts(data_source=lambda place: "ab"[place // 2 % 2])
    found = rk.forecast(rk.score(route, rows))
    assert {part: item.task for part, item in found.outlooks.items()} == {
        "a": "rises",
        "b": "falls",
    }
    assert found.worst_part == "b" and found.outlook is found.outlooks["b"]
    assert "a: the task rises" in str(found)


def test_a_reward_that_multiplies_or_looks_at_siblings_is_not_said_to_gain_by_a_gate():
    product = rk.Reward("product", components=[RIGHT, BRIEF], aggregation="product")
    found = rk.forecast(rk.score(product, rollouts()))
    assert found.gated is None


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        (rollouts()[::8], {}, "no group has two completions with a reward"),
        (rollouts(prompts=9), {}, "9 prompts are too few"),
        (rollouts(right=0), {}, "no completion of the log is right"),
        (rollouts(ok=lambda place: "x"), {"label": "ok"}, "the label is not used"),
    ],
    ids=["groups of one", "few prompts", "nothing right", "a label of texts"],
)
def test_what_cannot_be_told_is_said(rows, options, words):
    found = forecast_of(RIGHT, BRIEF, rows=rows, **options)
    assert words in " ".join(str(found).split())


def test_rows_without_a_reward_are_counted():
    silent = rk.Component("some", lambda completion: 1.0 if completion else None)
    found = forecast_of(silent, rows=rollouts())
    missing = sum(not row["completion"] for row in rollouts())
    assert f"{missing} of 240 rows have no reward, so they move nothing" in str(found)


def test_forecast_takes_scores_and_a_label_that_is_there():
    with pytest.raises(rk.InputError, match=r"forecast takes Scores.*rk\.score"):
        rk.forecast([1.0])
    with pytest.raises(rk.InputError, match="'rigth'"):
        forecast_of(RIGHT, label="rigth")
    assert math.isnan(forecast_of(BRIEF).outlook.fragility)
