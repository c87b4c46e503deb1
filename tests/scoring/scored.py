"""What the tests of this folder share: components scored, and what came of them."""

import math
import re

import rewardkit as rk


def made(*components, **options):
    """A reward of components, or functions called "c"."""
    parts = [
        item if isinstance(item, rk.Component) else rk.Component("c", item)
        for item in components
    ]
    return rk.Reward("r", components=parts, **options)


def score(*components, rows=("a", "bb", "ccc"), fields=None, reward=None, **options):
    """Scores of such a reward on completions that share a prompt."""
    table = [
        {"prompt": "p", "completion": row} if isinstance(row, str) else row
        for row in rows
    ]
    return rk.score(
        made(*components, fields=fields or {}, **(reward or {})), table, **options
    )


def statuses(scores, name="c"):
    return scores.table[f"status/{name}"].tolist()


def reasons(scores, name="c"):
    """Why there is no score, without the line of the test that it came from."""
    said = scores.table[f"error/{name}"].tolist()
    return [why and re.sub(r" \(test_\w+\.py:\d+\)$", "", why) for why in said]


def outcome(scores, name="c"):
    """(score or None, status, reason) of each row."""
    values = [
        None if math.isnan(value) else value for value in scores.score(name).tolist()
    ]
    return list(zip(values, statuses(scores, name), reasons(scores, name), strict=True))


class Seen:
    """A component that is 1 everywhere, and keeps what it was called with."""

    def __init__(self):
        self.calls = []

    def __call__(self, completion):
        self.calls.append(completion)
        return True
