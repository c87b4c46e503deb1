"""The labels of the collection hold: faults are real, healthy rewards judge rightly. No probe is run."""

import copy
import importlib
import inspect
import math
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.errors import RewardError
from rewardkit.rewards.signature import is_async
from rewardkit.scoring.deadlines import CannotLimit, TimeLimit

sys.path.insert(0, str(Path(__file__).parent))
collection = importlib.import_module("collection")
COLLECTION, FAMILIES = collection.COLLECTION, collection.FAMILIES

FAULTY = [label for label in COLLECTION if label.families]
HEALTHY = [label for label in COLLECTION if not label.families]
SECONDS = 0.5


def named(labels):
    return [pytest.param(label, id=label.name) for label in labels]


def shown(*kinds):
    """The labels and what they show, of these kinds; "number" stands for any."""
    return [
        pytest.param(label, row, id=f"{label.name} {place}")
        for label in COLLECTION
        for place, row in enumerate(label.shows)
        if (row["expected"] if isinstance(row["expected"], str) else "number") in kinds
    ]


def read(label):
    """The reward, tried in this process: a worker for each of a hundred takes longer than all tests here."""
    with patch.object(TimeLimit, "run", side_effect=CannotLimit("in this process")):
        return label.reward()


reward_of = cache(read)


@cache
def rollouts_of(label):
    return label.rollouts()


@cache
def scores_of(label):
    return rk.score(reward_of(label), label.rollouts())


def rewards_of(label):
    return scores_of(label).rewards


def scored(label, row, timeout=None):
    """Reward, statuses and errors of one completion that stands in the place of the first rollout."""
    columns = {**copy.deepcopy(rollouts_of(label)[0]), **copy.deepcopy(row)}
    columns.pop("expected")
    table = rk.score(reward_of(label), [columns], timeout=timeout).table
    statuses = [table[name].iloc[0] for name in table.columns if name.startswith("status/")]
    errors = " ".join(str(table[name].iloc[0]) for name in table.columns if name.startswith("error/"))
    return table["reward"].iloc[0], statuses, errors


def ceiling(label):
    """What the best of its rollouts earns."""
    return np.nanmax(rewards_of(label))


def split(label):
    """(rewards of the right rollouts, rewards of the wrong ones), those that are judged."""
    right = np.array([math.nan if one is None else float(one) for one in label.right()])
    rewards = rewards_of(label)
    judged = ~np.isnan(rewards)
    return rewards[(right == 1) & judged], rewards[(right == 0) & judged]


# What was promised


def test_there_are_as_many_rewards_as_promised_and_no_name_twice():
    assert len(FAULTY) >= 48 and len(HEALTHY) >= 33
    assert max(Counter(label.name for label in COLLECTION).values()) == 1


def test_every_family_is_known_and_has_two_rewards_whose_first_family_it_is():
    assert {family for label in FAULTY for family in label.families} == set(FAMILIES)
    assert min(Counter(label.families[0] for label in FAULTY)[family] for family in FAMILIES) >= 2


@pytest.mark.parametrize("labels", [FAULTY, HEALTHY], ids=["faulty", "healthy"])
def test_a_third_is_held_aside_and_all_of_the_later_parts(labels):
    first = [label for label in labels if not label.file.startswith(("second_", "third_"))]
    assert sum(label.held_aside for label in first) / len(first) == pytest.approx(1 / 3, abs=0.03)
    assert all(label.held_aside for label in labels if label not in first)


def test_every_family_has_members_in_both_parts():
    for aside in (False, True):
        assert {label.families[0] for label in FAULTY if label.held_aside is aside} == set(FAMILIES)


def test_what_is_held_aside_stands_in_files_of_its_own():
    assert all(
        label.file.startswith(("aside_", "second_", "third_")) is label.held_aside for label in COLLECTION
    )


def test_rewards_of_many_forms_are_among_them():
    origins = Counter(reward_of(label).origin.partition("read as ")[2].split(":")[0] for label in COLLECTION)
    assert {"TRL", "verl", "a plain function of columns", ""} <= set(origins), origins
    assert min(origins.values()) >= 15, origins
    conversational = [label for label in COLLECTION if "as lists of messages" in reward_of(label).origin]
    assert len(conversational) >= 4
    parts = [item for label in COLLECTION for one in reward_of(label).inner for item in one.components]
    assert any(item.group for item in parts) and any(item.batch is True for item in parts)
    assert sum(any(map(is_async, asked(label))) for label in COLLECTION) >= 2


def asked(label):
    """The functions of a reward, those of its trainer's own among them."""
    return [getattr(item, "function", item) for one in reward_of(label).inner for item in one.functions]


@pytest.mark.parametrize("label", named(COLLECTION))
def test_a_label_says_why_and_shows_it(label):
    assert label.why.endswith(".") and label.shows
    assert label.component in ("", *reward_of(label).names)
    assert label.rollouts().fingerprint == rollouts_of(label).fingerprint
    assert 48 <= len(label.right()) == len(rollouts_of(label)) <= 96


# What the rewards do on their rollouts

EXPECTED_ERRORS = {
    "truth_read_as_json", "divided_by_truth", "beyond_its_range", "text_for_no_answer", "skips_rows",
    "no_tag_raises", "difficulty_from_kwargs", "keys_vary", "nan_for_no_answer", "level_in_extra_info",
    "reason_for_no_move",
}  # fmt: skip
"""Rewards that end in errors on rollouts of their own."""

BLIND = {
    "constant_one", "truth_read_as_json", "compares_with_itself", "whole_column_of_truths", "always_none",
    "distance_as_reward", "prompt_is_searched_too", "keys_only", "difficulty_from_kwargs",
    "act_from_columns", "marker_with_its_space",
}  # fmt: skip
"""Rewards that do not pay right rollouts more than wrong ones."""

GRADED = {"json_shares"}
"""Healthy rewards that pay a slip of a wrong rollout with more than half of the ceiling."""


@pytest.mark.parametrize("label", named(COLLECTION))
def test_only_those_whose_fault_it_is_end_in_errors_on_their_rollouts(label):
    errors = sum(counts["error"] for counts in scores_of(label).counts.values())
    assert (errors > 0) is (label.name in EXPECTED_ERRORS), scores_of(label)


@pytest.mark.parametrize("label", named(label for label in COLLECTION if label.name not in BLIND))
def test_right_rollouts_earn_more_than_wrong_ones(label):
    right, wrong = split(label)
    assert len(right) >= 8 and len(wrong) >= 4
    assert right.mean() > wrong.mean() + 0.1 * ceiling(label)


@pytest.mark.parametrize("label", named(HEALTHY))
def test_a_healthy_reward_pays_every_right_rollout_more_than_any_wrong_one(label):
    right, wrong = split(label)
    assert right.min() > wrong.max()
    assert wrong.max() < 0.5 * ceiling(label) or label.name in GRADED


@pytest.mark.parametrize("name", sorted(BLIND))
def test_a_reward_that_is_blind_does_not(name):
    label = next(label for label in FAULTY if label.name == name)
    right, wrong = split(label)
    assert not len(right) or not len(wrong) or right.mean() <= wrong.mean() + 0.1 * max(1.0, ceiling(label))


# What they show


def is_as_said(label, row):
    """Whether a completion gets what its label says of it: much, little, so much, an error or nothing."""
    reward, statuses, _ = scored(label, row)
    expected = row["expected"]
    if expected == "high":
        return reward >= 0.5 * ceiling(label)
    if expected == "low":
        return reward < 0.5 * ceiling(label)
    if expected in ("error", "none"):  # the key that "keys_vary" misses is not the one that is paid
        there = "error" if expected == "error" else "abstained"
        return there in statuses and (math.isnan(reward) or label.name == "keys_vary")
    return reward == pytest.approx(expected)


@pytest.mark.parametrize("label", named(COLLECTION))
def test_what_a_label_says_of_completions_is_so(label):
    told = [row for row in label.shows if "completion" in row and row["expected"] != "hang"]
    assert [row for row in told if not is_as_said(label, row)] == []


@pytest.mark.parametrize(("label", "row"), shown("hang"))
def test_what_is_said_to_hang_does(label, row):
    reward, statuses, errors = scored(label, row, timeout=SECONDS)
    assert math.isnan(reward) and "error" in statuses
    assert "took longer than" in errors


@pytest.mark.parametrize("label", named(FAULTY))
def test_a_fault_shows_a_completion_that_is_paid_wrongly_or_something_else(label):
    conduct = {row["expected"] for row in label.shows if "completion" not in row}
    kinds = {str(row["expected"]) for row in label.shows}
    if "equivalents" == label.families[0]:
        assert "low" in kinds
    elif label.families[0] == "hang":
        assert "hang" in kinds
    elif label.families[0] == "contract":
        assert conduct or "error" in kinds


# What they do beside paying


def conducted(kind):
    return [pytest.param(label, id=label.name) for label, _ in (one.values for one in shown(kind))]


def own_function(label):
    """The function that is under its name in its file, or that the reward's one component holds."""
    (component,) = reward_of(label).components
    return getattr(component.function, "function", component.function)


@pytest.mark.parametrize("label", conducted("arguments"))
def test_the_arguments_are_changed(label):
    rollouts = label.rollouts()
    truth = [list(value) if isinstance(value, list) else value for value in rollouts.table["ground_truth"]]
    messages = [[{"role": "assistant", "content": text}] for text in rollouts.table["completion"]]
    known = {
        "prompts": rollouts.table["prompt"].tolist(),
        "completions": messages,
        "answer": truth,
        "completion": rollouts.table["completion"][0],
        "ground_truth": truth[0],
    }
    function = own_function(label)
    handed = {name: known[name] for name in inspect.signature(function).parameters if name in known}
    before = copy.deepcopy(handed)
    function(**handed)
    assert handed != before


@pytest.mark.parametrize("label", conducted("siblings"))
def test_a_completion_earns_another_reward_alone(label):
    reward, rollouts = reward_of(label), rollouts_of(label)
    alone = [rk.score(reward, rollouts.select([row])).rewards[0] for row in range(16)]
    assert not np.allclose(alone, rk.score(reward, rollouts).rewards[:16])


@pytest.mark.parametrize("label", conducted("order"))
def test_a_completion_earns_another_reward_in_another_order(label):
    reward, rollouts = reward_of(label), rollouts_of(label)
    turned = rk.score(reward, rollouts.select(range(len(rollouts) - 1, -1, -1))).rewards[::-1]
    assert not np.allclose(turned, rk.score(reward, rollouts).rewards)


@pytest.mark.parametrize("label", [*conducted("state"), *conducted("random")])
def test_two_calls_differ(label):
    reward, rollouts = read(label), label.rollouts()
    first, second = (rk.score(reward, rollouts).rewards for _ in range(2))
    assert not np.allclose(first, second, rtol=0, atol=1e-6)


@pytest.mark.parametrize("label", conducted("pickle"))
def test_it_cannot_be_sent(label):
    with pytest.raises(RewardError, match="cannot be called in another process"):
        rk.score(reward_of(label), rollouts_of(label), timeout=SECONDS)


UNSTABLE = {
    "warms_up", "jitter", "seen_before", "noisy_judge", "pops_references", "above_its_mean", "spot_check",
}  # fmt: skip


@pytest.mark.parametrize("label", named(label for label in COLLECTION if label.name not in UNSTABLE))
def test_the_others_give_the_same_twice(label):
    np.testing.assert_array_equal(rk.score(reward_of(label), label.rollouts()).rewards, rewards_of(label))
