"""The labels of the collection hold: each fault is shown by a completion, and its twin does not pay it."""

from collections import Counter
from functools import cache

import numpy as np
import pytest
from labelled import COLLECTION, HELD_BACK, QUESTIONS

import rewardkit as rk

pytestmark = pytest.mark.integration

ENTRIES = COLLECTION + HELD_BACK
BY_NAME = {entry.name: entry for entry in ENTRIES}


def named(entries):
    return [pytest.param(entry, id=entry.name) for entry in entries]


@cache
def rollouts_of(entry):
    return entry.rollouts()


@cache
def scored(entry):
    """The reward, and the scores of its log."""
    return entry.loaded, rk.score(entry.loaded, rollouts_of(entry), timeout=None)


def split(entry):
    """(rewards of right rows, rewards of wrong ones)."""
    rewards, right = (
        scored(entry)[1].rewards,
        np.array(entry.right(), dtype=object),
    )
    return rewards[right == True], rewards[right == False]  # noqa: E712


def earned(entry, *writers):
    """What a completion of each task earns on average by each writer, as a share from nothing to full marks.

    Nothing is 0, or what empty completions earn where that is less. Full marks are the best that a right row
    of the log earns; of a score that reads no completion, which no two siblings differ in, their mean.
    """
    reward, rollouts = scored(entry)[0], rollouts_of(entry)
    groups = [one.group for one in entry.log.drawn]
    tasks = [
        (task, rollouts[groups.index(group)])
        for group, task in enumerate(entry.log.tasks)
    ]
    tried = [
        {
            **row,
            "completion": write(task),
            **entry.log.columns_of(write(task)),
            **dict.fromkeys(("prompt_id", "rollout_id"), f"{at} {place}"),
        }
        for at, write in enumerate((lambda task: "", *writers))
        for place, (task, row) in enumerate(tasks)
    ]
    rewards = rk.score(reward, rk.load_rollouts(tried), timeout=None).rewards
    empty, *means = rewards.reshape(-1, len(tasks)).mean(axis=1)
    right, wrong = split(entry)
    full = right.max() or wrong.max()  # a fault may pay right rows nothing
    if right.min() == wrong.min() and right.max() == wrong.max():
        full = right.mean()
    return [(mean - min(0.0, empty)) / (full - min(0.0, empty)) for mean in means]


KINDS = {"trl": "TRL completions", "verl": "verl rollout dump", "plain": "rollouts"}


@pytest.mark.parametrize("entry", named(ENTRIES))
def test_a_log_of_12_to_24_prompts_about_half_right_is_known_as_its_trainers_and_its_reward_judges_every_row(
    entry,
):
    rollouts, scores = rollouts_of(entry), scored(entry)[1]
    sizes = Counter(rollouts.table["prompt"].map(str)).values()
    assert (
        12 <= len(sizes) <= 24
        and set(sizes) == {8 if entry.log.hard else 4}
        and rollouts.kind == KINDS[entry.log.trainer]
    )
    least = 0.3 if entry.log.hard else 0.45
    assert (
        least <= np.mean([one is True for one in entry.right()]) <= 0.6
        and not rollouts.rejected
    )
    assert np.isfinite(scores.rewards).all() and not any(
        counts["error"] for counts in scores.counts.values()
    )
    assert entry.log.held_back == (entry in HELD_BACK) and BY_NAME[entry.name] is entry
    if entry.log.trainer != "plain":
        logged = rk.score(rk.recorded(rollouts), rollouts).rewards
        np.testing.assert_allclose(logged, scores.rewards, atol=1e-6)
    if entry.label:
        assert rollouts.table[entry.label].tolist() == [
            one is True for one in entry.right()
        ]
        has_truth = entry.log.truth in entry.log.tasks[0].columns
        assert ("ground_truth" in rollouts.table) == has_truth


DIGITS = f"<answer>{'9' * 9000}</answer>"
HOSTILE = (
    "",
    " \n",
    "<answer>" * 3000,
    DIGITS,
    "Answer: 1e999",
    "```json\n" + "[" * 9000,
)
LAYOUTS = {
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "lines around it": lambda text: f"\n\n{text}\n\n",
    "a space at its end": lambda text: f"{text} ",
}


@pytest.mark.parametrize(
    "entry", named([entry for entry in ENTRIES if not entry.fault])
)
def test_a_healthy_reward_pays_right_rows_more_than_wrong_ones_in_any_layout_and_hostile_texts_little(
    entry,
):
    right, wrong = split(entry)
    assert right.min() > wrong.max() and right.mean() > wrong.mean() + 0.4 * right.max()
    hostile = (lambda task, text=text: text for text in HOSTILE)
    laid = (
        lambda task, lay=lay: lay(entry.log.written("So.", task.answer))
        for lay in LAYOUTS.values()
    )
    shares = earned(entry, *hostile, *laid)
    assert max(shares[: len(HOSTILE)]) < 0.5, shares
    assert min(shares[len(HOSTILE) :]) > 0.95, shares


@pytest.mark.parametrize("entry", named([entry for entry in ENTRIES if entry.fault]))
def test_a_fault_is_labelled_whole_shown_by_its_exploit_and_judged_rightly_by_its_sound_twin(
    entry,
):
    fault, twin = entry.fault, entry.twin
    assert (
        fault.sentence.endswith(".")
        and fault.questions
        and set(fault.questions) <= set(QUESTIONS)
    )
    assert fault.component in ("", *scored(entry)[0].names)
    assert twin.fault is None and twin.log is entry.log
    (share,), (rightly,) = (earned(one, entry.exploit) for one in (entry, twin))
    if fault.loses:
        assert share <= fault.earns + 1e-6 and rightly >= 0.95
    else:
        assert share >= fault.earns - 0.02 and rightly <= 0.5 * fault.earns
