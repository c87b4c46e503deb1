"""What a log lacks: columns joined from the data set of the run, and constants."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError, did_you_mean, preview
from rewardkit.rollouts.columns import mapped
from rewardkit.rollouts.files import read_files
from rewardkit.rollouts.matching import match
from rewardkit.rollouts.source import Columns, Source

Matches = Sequence[tuple[Sequence[int], bool]]
"""For each row of a log the rows of a data set, and whether by its question alone."""

OF_A_RUN = (
    "rollout_id",
    "completion",
    "messages",
    "policy",
    "step",
    "reward",
    "reward_raw",
)
"""Columns that a data set cannot know, and that are left out of a join."""

OF_SCORES = (
    "field/",
    "score/",
    "status/",
    "error/",
    "reason/",
    "note/",
    "gate/",
    "logged/",
)


def join_columns(
    columns: Columns, source: Any, *, on: str = "prompt", without: Collection[str] = ()
) -> tuple[Columns, str, list[str]]:
    """Join what the columns lack from rows of a data set with the same `on`.

    `source` is a file, folder, table or list of dicts, its columns under the names of
    `ALIASES`. A value that the log has is kept. Nothing is taken for the columns
    `without`, nor where several rows match that differ. RolloutsError: no such key on
    one side, or nothing matches (see `match`).

    >>> log = {"prompt": ["2+2?", "5+5?"], "completion": ["4", "7"]}
    >>> join_columns(log, [{"question": "2+2? ", "answer": "4"}])[0]["ground_truth"]
    ['4', None]
    """
    name = str(source) if isinstance(source, str | Path) else "the joined table"
    read = Source.joined(read_files(source, {}))
    if len(read.rejected) == len(read.places):
        raise RolloutsError(
            f"{name!r} has no rows to join ({len(read.places)} cannot be read)"
        )
    canonical = {old: new for new, old in mapped(read.columns, {}).items()}
    joined = {canonical.get(old, old): cells for old, cells in read.columns.items()}
    for side, table in (("the rollouts have", columns), (f"{name!r} has", joined)):
        if on not in table:
            hint = did_you_mean(on, table)
            raise RolloutsError(f"the join is on {on!r}; {side} {list(table)}{hint}")
    matches = match(columns[on], joined[on], prompts=on == "prompt")
    if not any(rows for rows, _ in matches):
        raise RolloutsError(
            f"no row of the rollouts matches {name!r} by {on}: the rollouts have "
            f"{preview(columns[on][0])}, the data set {preview(joined[on][0])}; is it "
            "the set of this run, and the right column?"
        )
    report = _Join(name, len(matches))
    filled = dict(columns)
    for column, cells in joined.items():
        if column in {*OF_A_RUN, *without} or column.startswith(OF_SCORES):
            report.left_out.append(column)
        elif column != on:
            options = [[cells[row] for row in rows] for rows, _ in matches]
            filled[column] = report.fill(column, columns.get(column), options)
    if read.rejected:
        report.differences.append(
            f"{len(read.rejected)} rows of {name!r} cannot be read and were not joined"
        )
    return filled, report.sentence(on, matches), report.warnings(on, matches)


@dataclass
class _Join:
    """What a join with the data set `name` did to a log of so many rows."""

    name: str
    rows: int
    brought: list[str] = field(default_factory=list)
    filled: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def fill(
        self, column: str, logged: Sequence[Any] | None, options: list[list[Any]]
    ) -> list[Any]:
        """Fill what the log lacks with the one value of the matching rows."""
        cells = [None] * self.rows if logged is None else list(logged)
        lacking = cells.count(None)
        ambiguous = different = 0
        for row, values in enumerate(options):
            if any(value != values[0] for value in values):
                ambiguous += cells[row] is None
            elif values and cells[row] is None:
                cells[row] = values[0]
            elif values and values[0] is not None:
                different += cells[row] != values[0]
        found = lacking - cells.count(None)
        if lacking == self.rows:
            self.brought.append(column)
        elif found:
            self.filled.append(f"filled {found} missing values of {column}")
        if ambiguous:
            self.differences.append(
                f"{ambiguous} of {self.rows} rows match several rows of {self.name!r} "
                f"that differ in {column}: left missing"
            )
        if different:
            self.differences.append(
                f"{column} is in the log and in {self.name!r} and differs in "
                f"{different} rows: kept from the log"
            )
        return cells

    def sentence(self, on: str, matches: Matches) -> str:
        """Say what was joined."""
        matched = sum(bool(rows) for rows, _ in matches)
        parts = [
            f"joined {self.name!r} by {on}: {matched} of {self.rows} rows matched",
            f"brought {', '.join(self.brought) or 'no column'}",
            *self.filled,
        ]
        if self.left_out:
            parts.append(f"left out {', '.join(self.left_out)}")
        return "; ".join(parts)

    def warnings(self, on: str, matches: Matches) -> list[str]:
        """Say what a person should look at: rows without a match, and differences."""
        warnings = []
        unmatched = sum(not rows for rows, _ in matches)
        by_question = sum(is_by_question for _, is_by_question in matches)
        if unmatched:
            warnings.append(
                f"{unmatched} of {self.rows} rows match no row of {self.name!r} by "
                f"{on}: they lack {', '.join(self.brought) or 'nothing'}"
            )
        if by_question:
            warnings.append(
                f"{by_question} of {self.rows} rows have turns before the question "
                f"that no row of {self.name!r} has; make sure they are examples, not "
                "another conversation"
            )
        return [*warnings, *self.differences]


def fill_columns(
    columns: Columns, fill: Mapping[str, Any]
) -> tuple[Columns, list[str]]:
    """Put constants where columns have no value, and say on how many rows."""
    filled, notes = dict(columns), []
    rows = len(columns["completion"])
    for name, value in fill.items():
        own = columns.get(name, [None] * rows)
        filled[name] = [value if cell is None else cell for cell in own]
        notes.append(f"set {name} to {value!r} in {own.count(None)} of {rows} rows")
    return filled, notes
