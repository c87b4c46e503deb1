"""Field against ground truth.

Plain functions of ``(prediction, ground_truth)``, usable as components as they are.

They share one rule for what is missing: a `prediction` of ``None`` is judged wrong; a
`ground_truth` that is missing or cannot be read as what the function compares is not
judged: ``None``. Options are keyword-only; bind them with `functools.partial`. What is
called equal is symmetric.
"""

from __future__ import annotations

from rewardkit.primitives.verify.math import math_equal
from rewardkit.primitives.verify.numbers import closeness, numbers_equal, read_number
from rewardkit.primitives.verify.structures import (
    json_equal,
    lists_equal,
    sets_equal,
    sets_f1,
)
from rewardkit.primitives.verify.wording import choice_equal, contains, f1, matches

__all__ = [
    "choice_equal",
    "closeness",
    "contains",
    "f1",
    "json_equal",
    "lists_equal",
    "matches",
    "math_equal",
    "numbers_equal",
    "read_number",
    "sets_equal",
    "sets_f1",
]
