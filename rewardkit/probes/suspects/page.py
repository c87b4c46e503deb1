"""How a suspicion looks in a notebook, a short page of escaped HTML; how its numbers and rows are told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from rewardkit.findings import percent
from rewardkit.html.markup import card, escaped, folded, listed, marked, table
from rewardkit.rollouts.values import column_values

if TYPE_CHECKING:
    from rewardkit.probes.suspects.suspicion import Suspicion

__all__ = ["around", "cell", "number", "page", "rows_of", "signed", "times_as"]

WIDEST = 140
"""Characters of a completion in a line of text."""
KEPT = 2_000
"""Characters of a completion in the record."""
NONE = 1e-9
"""A mean under this is a rounding error."""
SHOWN = 20
"""Rows of a table; the others are counted. Our choice."""


def page(found: Suspicion) -> str:
    """What is known of the suspects, then, folded, where they are, what pays them, and the clearest to read.

    It has no colours of its own but for marks in completions, so that it reads on a light and a dark page.
    """
    head, *others = found.sentences
    parts = [
        listed(map(escaped, others)),
        _slices(found),
        _payments(found) if len(found) else "",
        _frame("Share by step", found.steps) if len(found.steps) else "",
        *(_completion(found, row) for row in found.clearest.to_dict("records")),
    ]
    parts += [_frame(title.capitalize(), lost, is_open=True) for title, lost in found.losing]
    return card(f"Suspects by {found.reward}", "".join(parts), said=head)


def _slices(found: Suspicion) -> str:
    if not found.slices:
        return ""
    header = ("where", "completions", "suspects", "share", "share elsewhere", "times")
    rows = [
        (
            f"{item.column}={item.value}",
            f"{item.rows:,}",
            f"{item.found:,}",
            percent(item.contrast.found),
            percent(item.contrast.rest),
            "-" if math.isinf(item.lift) else times_as(item.lift),
        )
        for item in found.slices[:SHOWN]
    ]
    summary = f"Where they are more or less often, of {found.looked_at} slices"
    return folded(summary, table(header, rows, numeric=header[1:]))


def _payments(found: Suspicion) -> str:
    header = ("component", "weight", "from the group's mean", "mean score", "of the rest")
    rows = [
        (
            item.component,
            f"{item.weight:g}",
            "-" if math.isnan(item.pays) else f"{item.pays:+.3g}{around(item.interval)}",
            number(item.scores.found),
            number(item.scores.rest),
        )
        for item in found.paid
    ]
    return folded("What moves their rewards", table(header, rows, numeric=header[1:]))


def _completion(found: Suspicion, row: Mapping[Any, Any]) -> str:
    span = found.spans.get(row["rollout_id"])
    told = ", ".join(f"{name} {cell(value)}" for name, value in row.items() if name != "completion")
    return folded(told, marked(str(row["completion"]), {"match": [span]} if span else {}))


def _frame(summary: str, frame: pd.DataFrame, *, is_open: bool = False) -> str:
    rows = [[cell(value) for value in row.values()] for row in rows_of(frame)]
    body = table([str(name) for name in frame.columns], rows, most=SHOWN)
    return folded(f"{summary}: {len(frame)}", body, is_open=is_open)


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A table as plain data, long texts cut."""
    columns = {str(name): column_values(frame[name]) for name in frame.columns}
    return [
        {
            name: value[:KEPT] if isinstance(value, str) else value
            for name, value in zip(columns, values, strict=True)
        }
        for values in zip(*columns.values(), strict=True)
    ]


def cell(value: Any) -> str:
    """A value in a line of text."""
    if isinstance(value, str):
        shown = repr(value)
        return shown if len(shown) <= WIDEST else f"{shown[: WIDEST - 3]}..."
    return number(value) if isinstance(value, float) else "-" if value is None else str(value)


def number(value: float) -> str:
    """A number, - where there is none."""
    return "-" if math.isnan(value) else f"{value:.3g}"


def signed(value: float) -> str:
    """A number with its sign, a rounding error as none."""
    return "0" if abs(value) < NONE else f"{value:+.3g}"


def around(interval: Sequence[float], what: str = "") -> str:
    """An interval behind its value; nothing where there is none."""
    low, high = interval
    return "" if math.isnan(low) else f" ({what}{low:+.3g} to {high:+.3g})"


def times_as(lift: float) -> str:
    """How many times, as a person reads it."""
    return f"{lift:,.0f}" if lift >= 10 else f"{lift:.2g}"
