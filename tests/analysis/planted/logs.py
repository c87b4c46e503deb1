"""Faults of the log and of the table: numbers that no trainer holds, and too few groups."""

from __future__ import annotations

import numpy as np

import rewardkit as rk
from planted.tables import Fault, base, scored, some
from rewardkit.targets.adapter import Key


def other_log(generator, strength):
    """A log whose total is another in this share of the rows: the reward was changed since."""
    parts, groups = base(generator)
    total = parts["correct"] + 0.5 * parts["tidy"]
    wrong = some(generator, len(groups), strength)
    logged = {"score": np.float32(np.where(wrong, total + 0.25, total))}
    return scored(parts, groups, logged=logged, total="score"), {}


def other_score_in_log(generator, strength):
    parts, groups = base(generator)
    wrong = some(generator, len(groups), strength)
    logged = {"tidy": np.float32(np.where(wrong, 0.0, parts["tidy"]))}
    return scored(parts, groups, logged=logged), {}


def log_of_others(generator, name):
    parts, groups = base(generator)
    return scored(parts, groups, logged={name: parts["correct"]}), {}


def late_keys(generator, share):
    parts, groups = base(generator)
    late = some(generator, len(groups), share)
    given = scored(parts, groups, columns={"late": late.tolist()})

    def returned(given_correct, late):
        return {"score": given_correct, **({"bonus": 0.5} if late else {})}

    task = rk.Component("score", Key("score"), columns={"result": "f"}, range=None)
    return rk.score(rk.Reward("made", {"f": returned}, [task]), given.rollouts), {}


def endless(generator, strength):
    """Points of which so many are this large."""
    share, size = strength
    parts, groups = base(generator)
    points = np.where(some(generator, len(groups), share), size, generator.random(len(groups)))
    return scored({**parts, "points": points}, groups, ranges={"points": None}), {}


def few_groups(generator, size):
    return scored(*base(generator, *size)), {}


FAULTS: dict[str, Fault] = {
    # The reward was changed since: for a third of the answers; for four of 800.
    "other log": Fault(other_log, 1 / 3, 0.005, "log_mismatch", None),
    "other score in the log": Fault(other_score_in_log, 1 / 3, 0.005, "log_mismatch", "tidy"),
    # The log's function has another name; the same in capitals.
    "log of others": Fault(log_of_others, "judge", "Correct", "log_not_compared", None),
    # Keys that came after the sample: in a third of the rows; in one.
    "late keys": Fault(late_keys, 1 / 3, 1 / 800, "unread_keys", None),
    # Points that are infinite in float32: a third, beyond all that squares can hold; one, just beyond.
    "endless points": Fault(endless, (1 / 3, 1e200), (1 / 800, 4e38), "not_finite", "points"),
    # No siblings at all; nine groups.
    "nothing to compare": Fault(few_groups, (100, 1), (9, 8), "not_enough", None),
}
