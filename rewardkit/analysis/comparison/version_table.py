"""The table of a comparison: figures by version, with what is better or worse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rewardkit.analysis.comparison.pair import Pair
from rewardkit.analysis.comparison.sides import Side
from rewardkit.analysis.rehearsal.outlook import Outlook
from rewardkit.findings import percent, short_number
from rewardkit.history.runs import NOT_KNOWN
from rewardkit.history.runs_folder import SECONDS_PER_1000
from rewardkit.html.blocks import Block, Table
from rewardkit.plain import Plain, Record

MOST_COLUMNS = 3
"""Versions that stand beside each other. Our choice: more do not fit a line."""


def figures_by_version(sides: Sequence[Side], pairs: Sequence[Pair]) -> list[Record]:
    """Return the figures of each version, None where one is not known.

    ``auc`` is the share of pairs of siblings that differ in the task in which the
    better one earns more; ``cases`` are those that pass, and all; ``findings`` the
    numbers of high ones and of warnings; ``marks`` say which figures are better or
    worse than those of the first version, beyond noise.

    Args:
        sides: The versions.
        pairs: Each but the first against the first.
    """
    against = [None, *pairs]
    figures = []
    for side, pair in zip(sides, against, strict=True):
        letter, of_pair = ("a", pairs[0]) if pair is None else ("b", pair)
        order = of_pair.order
        figures.append(
            {
                **side.figures,
                "auc": None if order["reason"] else order[f"auc_{letter}"],
                "cases": _cases(side, of_pair.cases, letter),
                "exploits": side.kept_figures.get("exploits"),
                "outlook": _plain_outlook(side.outlook),
                SECONDS_PER_1000: side.kept_figures.get(SECONDS_PER_1000),
                "marks": {} if pair is None else pair.marks,
            }
        )
    return figures


def _cases(side: Side, checked: Plain | None, letter: str) -> Any:
    """Return the passing cases and all cases: checked now, else kept with the run."""
    counts = (checked or {}).get(letter)
    if counts is not None:
        return [counts["passed"], counts["passed"] + counts["failed"]]
    return side.kept_figures.get("cases")


def _plain_outlook(outlook: Outlook | None) -> Record | None:
    if outlook is None or outlook.task is None:
        return None
    names = ("task", "start", "end", "fragility")
    return {name: getattr(outlook, name) for name in names}


class Row(NamedTuple):
    """A figure of the table: its name, its short name, and how it is written."""

    words: str
    short: str
    write: Callable[[Any], str]


ROWS = {
    "mean": Row("mean reward", "mean", short_number),
    "signal": Row("groups with a signal", "signal", percent),
    "task_signal": Row("signal of the task", "of the task", percent),
    "auc": Row("AUC of the task", "AUC", "{:.3f}".format),
    "cases": Row("cases", "cases", lambda counts: " of ".join(map(str, counts))),
    "findings": Row("findings", "findings", "{0[0]} high, {0[1]} warn".format),
    "exploits": Row("exploits", "exploits", str),
    "outlook": Row(
        "rehearsed training", "training", "{task}, {start:.2f} to {end:.2f}".format_map
    ),
    SECONDS_PER_1000: Row("seconds per 1,000 rows", "s/1,000", short_number),
}
"""The figures, in their order."""


def version_blocks(names: Sequence[str], figures: Sequence[Plain]) -> list[Block]:
    """Return the table, a column a version, and the figures that no version has.

    More versions than `MOST_COLUMNS` have a row each.
    """
    is_wide = len(names) > MOST_COLUMNS
    rows = []
    unknown = []
    has_marks = False
    for name, row in ROWS.items():
        values = [of_version[name] for of_version in figures]
        if all(value is None for value in values):
            unknown.append(row.words)
            continue
        cells = [row.short if is_wide else row.words]
        for of_version in figures:
            value = of_version[name]
            mark = of_version["marks"].get(name)
            cell = NOT_KNOWN if value is None else row.write(value)
            if mark in ("better", "worse"):
                cell += f" ({mark})"
                has_marks = True
            cells.append(cell)
        rows.append(cells)
    header = ["figure", *names]
    numeric = list(names)
    if is_wide:
        header, *rows = map(list, zip(["version", *names], *rows, strict=True))
        numeric = header[1:]
    blocks: list[Block] = [Table("", header, rows, numeric)]
    if has_marks:
        blocks.append(f"(better) and (worse) are against {names[0]}, beyond noise")
    if unknown:
        blocks.append(f"Not compared, as no version kept them: {', '.join(unknown)}")
    return blocks
