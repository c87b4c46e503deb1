"""Records as plain data: what JSON and tables are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def to_plain(value: Any) -> Any:
    """Records as dicts, arrays and tuples as lists, all the way down; without fields that no repr shows.

    What has a `record` of its own is that.

    >>> from rewardkit.rewards.training import Training
    >>> to_plain((np.arange(2), Training()))[0], to_plain(Training())["scale_rewards"]
    ([0, 1], 'group')
    """
    if callable(record := getattr(value, "record", None)):
        return record()
    if is_dataclass(value):
        return {
            item.name: to_plain(getattr(value, item.name))
            for item in fields(value)
            if item.repr
        }
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray) else value
