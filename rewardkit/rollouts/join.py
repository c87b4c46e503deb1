"""What a log lacks: columns joined from the data set that the run was trained on, and constants."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError, did_you_mean, preview
from rewardkit.rollouts.columns import mapped
from rewardkit.rollouts.files import read_files
from rewardkit.rollouts.matching import match
from rewardkit.rollouts.source import Columns, Source

OF_A_RUN = (
    "rollout_id",
    "completion",
    "messages",
    "policy",
    "step",
    "reward",
    "reward_raw",
)
"""Columns that a data set cannot know: its own of that name are another thing, and left out."""

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
    """The columns with what they lack from rows of a data set with the same `on`; what was done; warnings.

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
    new = {own: canonical for canonical, own in mapped(read.columns, {}).items()}
    data = {new.get(own, own): cells for own, cells in read.columns.items()}
    for side, there in (("the rollouts have", columns), (f"{name!r} has", data)):
        if on not in there:
            raise RolloutsError(
                f"the join is on {on!r}; {side} {list(there)}{did_you_mean(on, there)}"
            )
    rows = len(columns[on])
    matches = match(columns[on], data[on], prompts=on == "prompt")
    matched = sum(bool(found) for found, _ in matches)
    if not matched:
        raise RolloutsError(
            f"no row of the rollouts matches {name!r} by {on}: the rollouts have "
            f"{preview(columns[on][0])}, the data set {preview(data[on][0])}; is it "
            "the set of this run, and "
            "the right column?"
        )
    left_out = [
        column
        for column in data
        if column in {*OF_A_RUN, *without} or column.startswith(OF_SCORES)
    ]
    joined, brought, filled, differences = dict(columns), [], [], []
    for column in [column for column in data if column not in {on, *left_out}]:
        own = columns.get(column, [None] * rows)
        options = [[data[column][row] for row in found] for found, _ in matches]
        agree = [all(cell == cells[0] for cell in cells) for cells in options]
        given = [
            cells[0] if cells and one else None
            for cells, one in zip(options, agree, strict=True)
        ]
        joined[column] = [
            new if old is None else old for old, new in zip(own, given, strict=True)
        ]
        lacking = own.count(None)
        if lacking == rows:
            brought.append(column)
        elif count := lacking - joined[column].count(None):
            filled.append(f"filled {count} missing values of {column}")
        if count := sum(
            old is None and not one for old, one in zip(own, agree, strict=True)
        ):
            differences.append(
                f"{count} of {rows} rows match several rows of {name!r} that differ "
                f"in {column}: left missing"
            )
        both = zip(own, given, strict=True)
        if count := sum(
            old is not None and new is not None and old != new for old, new in both
        ):
            differences.append(
                f"{column} is in the log and in {name!r} and differs in {count} rows: "
                "kept from the log"
            )
    warnings = []
    lacks = ", ".join(brought)
    if matched < rows:
        warnings.append(
            f"{rows - matched} of {rows} rows match no row of {name!r} by {on}: they "
            "lack "
            f"{lacks or 'nothing'}"
        )
    if count := sum(by_question for _, by_question in matches):
        warnings.append(
            f"{count} of {rows} rows have turns before the question that no row of "
            f"{name!r} has; make sure "
            "they are examples, not another conversation"
        )
    if read.rejected:
        differences.append(
            f"{len(read.rejected)} rows of {name!r} cannot be read and were not joined"
        )
    done = [
        f"joined {name!r} by {on}: {matched} of {rows} rows matched",
        f"brought {lacks or 'no column'}",
    ]
    done += [*filled, *([f"left out {', '.join(left_out)}"] if left_out else [])]
    return joined, "; ".join(done), [*warnings, *differences]


def fill_columns(
    columns: Columns, fill: Mapping[str, Any]
) -> tuple[Columns, list[str]]:
    """The columns with a constant where one has no value, and a sentence a column on how many that were."""
    filled, notes = dict(columns), []
    rows = len(columns["completion"])
    for name, value in fill.items():
        own = columns.get(name, [None] * rows)
        filled[name] = [value if cell is None else cell for cell in own]
        notes.append(f"set {name} to {value!r} in {own.count(None)} of {rows} rows")
    return filled, notes
