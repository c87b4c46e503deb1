"""Find a limit that no score reaches, by watching the comparisons of a reward.

A reward that asks whether a score from 0 to 1 is above 10 pays nobody, and no
completion shows why: its comparisons do.
"""

from __future__ import annotations

import ast
import linecache
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from rewardkit.rewards.reward import Reward
from rewardkit.scoring.answers import LIBRARY_PREFIXES
from rewardkit.strategies.strategy import Row

LEAST_LIMIT = 5.0
"""Limit that is on another scale than a score from 0 to 1. Our choice."""
LEAST_SCORE = 0.5
"""Score from which it is no accident that the limit is not reached. Our choice."""
MOST_SECONDS = 1.0
"""Time in which rows are judged again, under a tracer. Our choice."""

Comparison = tuple[str, ast.Compare]
"""The file and the code of a comparison."""


@dataclass(frozen=True)
class Limit:
    """A comparison of a score from 0 to 1, at most `largest`, with a `limit` above."""

    code: str
    place: str
    limit: float
    largest: float


def find_limit(reward: Reward, rows: Sequence[Row]) -> Limit | None:
    """Return the comparison with a limit that a score from 0 to 1 never reaches.

    Args:
        reward: The reward.
        rows: Rows that it has judged before, so that it comes to an end.
    """
    watched: dict[Comparison, list[list[Any]]] = defaultdict(list)

    def trace(frame: FrameType, event: str, result: Any) -> Any:
        path = frame.f_code.co_filename
        if path.startswith(LIBRARY_PREFIXES):
            return None
        if event == "call":
            frame.f_trace_lines = _has_comparison(frame.f_code)
        elif event == "line":
            for item in _comparisons_by_line(path).get(frame.f_lineno, ()):
                sides = [_read_side(side, frame) for side in _sides_of(item)]
                watched[path, item].append(sides)
        elif event == "return" and frame.f_back:  # what a line compares may be this
            path, name = frame.f_back.f_code.co_filename, frame.f_code.co_name
            for item in _comparisons_by_line(path).get(frame.f_back.f_lineno, ()):
                for place, side in enumerate(_sides_of(item)):
                    if watched[path, item] and _is_call_of(side, name):
                        watched[path, item][-1][place] = result
        return trace

    before, end = sys.gettrace(), time.monotonic() + MOST_SECONDS
    sys.settrace(trace)
    try:
        for row in rows:
            (reward.for_row(row) or reward)(**row)
            if time.monotonic() > end:
                break
    finally:
        sys.settrace(before)
    return _first_unreached(watched)


def _first_unreached(
    watched: Mapping[Comparison, Sequence[Sequence[Any]]],
) -> Limit | None:
    for (path, item), pairs in watched.items():
        first, second = zip(*pairs, strict=True)
        for scores, limits in ((first, second), (second, first)):
            if not all(isinstance(value, float) for value in scores):
                continue
            if not all(isinstance(value, int | float) for value in limits):
                continue
            is_share = min(scores) >= 0 and LEAST_SCORE <= max(scores) <= 1
            if is_share and min(limits) == max(limits) >= LEAST_LIMIT:
                place = f"Line {item.lineno} of {Path(path).name}"
                return Limit(ast.unparse(item), place, limits[0], max(scores))
    return None


@cache
def _comparisons_by_line(path: str) -> Mapping[int, list[ast.Compare]]:
    """Return the comparisons of two numbers by size in a file, by line."""
    comparisons: dict[int, list[ast.Compare]] = defaultdict(list)
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return comparisons
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            if isinstance(node.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE):
                comparisons[node.lineno].append(node)
    return comparisons


@cache
def _has_comparison(code: CodeType) -> bool:
    lines = {line for _, _, line in code.co_lines()}
    return not lines.isdisjoint(_comparisons_by_line(code.co_filename))


def _sides_of(item: ast.Compare) -> tuple[ast.expr, ast.expr]:
    return item.left, item.comparators[0]


def _read_side(side: ast.expr, frame: FrameType) -> Any:
    """Return the value of a number or a name; None of all else."""
    if isinstance(side, ast.Constant):
        return side.value
    if isinstance(side, ast.Name):
        return frame.f_locals.get(side.id, frame.f_globals.get(side.id))
    return None


def _is_call_of(side: ast.expr, name: str) -> bool:
    if not isinstance(side, ast.Call):
        return False
    function = side.func
    return name in (getattr(function, "id", None), getattr(function, "attr", None))
