"""What a diagnosis makes of a log's total, of parts that never vary, of labels and of small slices."""

from dataclasses import replace

import numpy as np
import pytest
from planted.tables import GROUPS, ROWS, outcomes, scored, scores_of

import rewardkit as rk
from rewardkit.rollouts.logs.log import Logged

DRAW = np.random.default_rng(3)
RIGHT = outcomes(DRAW, 100, 8, 0.45)[0]
NEAT = DRAW.random(ROWS)
PARTS = {
    "that cancel": {"right": RIGHT, "brief": 1 - RIGHT},
    "that do not": {"right": RIGHT, "neat": NEAT},
}


def log_of(parts, weights):
    """Scores of a log: these parts and their sum, with these weights."""
    total = sum(parts.values())
    made = scored(parts, GROUPS, logged={**parts, "total": total}, total="total")
    rollouts = made.rollouts
    given = [name for name in rollouts.table if name.startswith("given_")]
    columns = dict(rollouts.logged.components)
    logged = Logged(columns, dict(weights), columns["total"], "nan")
    table = rollouts.table.drop(columns=given)
    rollouts = replace(rollouts, logged=logged, table=table)
    return rk.score(rk.recorded(rollouts), rollouts)


def loud(diagnosis):
    return {
        (item.code, item.component)
        for item in diagnosis.findings
        if item.severity != "info"
    }


@pytest.mark.parametrize(
    ("parts", "expected"),
    [("that cancel", {("opposed", None)}), ("that do not", set())],
)
def test_parts_that_are_only_recorded_beside_their_sum_are_diagnosed(parts, expected):
    weights = dict.fromkeys(PARTS[parts], 0.0) | {"total": 1.0}
    diagnosis = rk.diagnose(log_of(PARTS[parts], weights))
    assert loud(diagnosis) == expected
    (item,) = diagnosis["total_of_parts"]
    assert item.sentence == (
        f"'total' in the log is {' + '.join(PARTS[parts])} on every row, so these "
        "parts are diagnosed with these weights."
    )
    assert diagnosis.scores.reward.weights["total"] == 0


@pytest.mark.parametrize("paid_names", [["total"], ["right", "neat", "form"]])
def test_settings_weigh_every_function_of_a_log_and_say_nothing_of_its_total(
    paid_names,
):
    parts = {**PARTS["that do not"], "form": np.tile([0.0, 1.0, 1.0, 1.0], ROWS // 4)}
    weights = dict.fromkeys([*parts, "total"], 0.0) | dict.fromkeys(paid_names, 1.0)
    log = log_of(parts, weights)
    diagnosis = rk.diagnose(log, training={"reward_weights": [1, 0.2, 0.5]})
    assert [*diagnosis.scores.reward.weights.values()] == [1, 0.2, 0.5, 0]
    assert not diagnosis["total_of_parts"]
    with pytest.raises(rk.InputError, match="the settings have 2 reward_weights"):
        rk.diagnose(log, training={"reward_weights": [1, 0.2]})


@pytest.mark.parametrize(
    ("weights", "trained", "expected"),
    [
        ({"odd": 0.2}, [1, 0.5, 2], {"right": 1, "neat": 0.5, "logged_odd": 2}),
        ({"total": 0, "neat": 1, "odd": 1}, [1, 2], {"neat": 1, "logged_odd": 2}),
    ],
    ids=["beside the total", "in place of it"],
)
def test_settings_weigh_a_column_that_a_person_has_weighed(weights, trained, expected):
    parts = PARTS["that do not"]
    rollouts = log_of(parts, {"right": 0.0, "neat": 0.0, "total": 1.0}).rollouts
    rollouts = replace(rollouts, table=rollouts.table.assign(odd=1 - NEAT))
    scores = rk.score(rk.recorded(rollouts, weights=weights), rollouts)
    diagnosis = rk.diagnose(scores, training={"reward_weights": trained})
    paid = {
        name: weight
        for name, weight in diagnosis.scores.reward.weights.items()
        if weight
    }
    assert paid == expected


def test_a_total_that_is_weighed_beside_its_parts_neither_dominates_nor_repeats_one():
    parts = PARTS["that do not"]
    diagnosis = rk.diagnose(log_of(parts, dict.fromkeys([*parts, "total"], 1.0)))
    assert loud(diagnosis) == set()


@pytest.mark.parametrize(
    ("name", "settings", "is_told"),
    [
        ("points", {}, True),
        ("points", {"filter_metric": "points"}, False),
        ("right", {}, False),
    ],
)
def test_what_groups_are_filtered_by_or_is_called_right_is_never_dominant(
    name, settings, is_told
):
    """The scores of a log do not say which of them is the task; a filter by one does."""
    form = np.where(np.arange(ROWS) % 8 == 0, 0.5, 0.0)
    weights = {name: 0.5, "form": 0.5, "total": 0.0}
    log = log_of({name: RIGHT, "form": form}, weights)
    alarms = loud(rk.diagnose(log, training=settings))
    assert (("dominant", name) in alarms) is is_told


def test_a_part_that_never_varies_does_not_make_the_other_one_dominant():
    scores = scores_of({"form": np.ones(ROWS), "right": RIGHT}, GROUPS)
    assert loud(rk.diagnose(scores)) == {("constant", "form")}


def test_a_penalty_that_is_the_same_on_every_row_says_that_it_punishes_none():
    scores = scores_of(
        {"right": RIGHT, "overlong": np.full(ROWS, -1.0)},
        GROUPS,
        ranges={"overlong": (-1.0, 0.0)},
        weights={"overlong": 0.5},
    )
    (item,) = rk.diagnose(scores)["constant"]
    assert "fires on every completion, so it punishes none in particular" in (
        item.sentence
    )


def test_groups_in_which_the_components_cancel_are_counted_in_words():
    cancelled = GROUPS < 40
    neat = np.where(cancelled, 1 - RIGHT, NEAT)
    scores = scores_of({"right": RIGHT, "neat": neat}, GROUPS)
    weights = {"primary": True}
    reward = replace(
        scores.reward,
        components=[
            replace(scores.reward.components[0], **weights),
            scores.reward.components[1],
        ],
    )
    diagnosis = rk.diagnose(
        rk.score(reward, scores.rollouts),
        thresholds={"opposed": 0.99, "zero_std": 0.2},
    )
    (item,) = diagnosis["zero_std_groups"]
    assert "of groups the components cancel: right and wrong completions earn" in (
        item.sentence
    )
    assert "tied between" not in item.sentence


@pytest.mark.parametrize(
    ("groups_of_a", "expected"),
    [
        (4, "1 of 2 values of 'task' are not judged by themselves, which takes 10"),
        (50, "each of 2 values of 'task' is judged, too"),
        (100, "'task' has the same value on all rows"),
    ],
)
def test_slices_by_a_named_column_say_which_are_too_small(groups_of_a, expected):
    task = np.where(GROUPS < groups_of_a, "a", "b")
    scores = scores_of({"right": RIGHT}, GROUPS, columns={"task": task})
    page = rk.diagnose(scores, by=["task"]).text()
    assert f"Note: {expected}" in page
    assert "Note:" not in rk.diagnose(scores).text()


def test_a_label_that_disagrees_stands_first():
    label = np.where(DRAW.random(ROWS) < 0.2, 1 - RIGHT, RIGHT)
    parts = {"right": RIGHT, "again": RIGHT, "flat": np.where(GROUPS < 99, 0.0, NEAT)}
    scores = scores_of(parts, GROUPS, columns={"is_good": label})
    diagnosis = rk.diagnose(scores, label="is_good")
    assert diagnosis.findings[0].code == "label_disagrees"
    assert len(loud(diagnosis)) > 1
