"""What a log lacks: columns joined from the data set that the run was trained on, and constants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError, did_you_mean
from rewardkit.rollouts.columns import ALIASES, TEXTS, mapped, with_truth
from rewardkit.rollouts.files import read_pieces
from rewardkit.rollouts.matching import Matches, match_prompts, match_values
from rewardkit.rollouts.values import present

__all__ = ["Joined", "fill_columns", "join_columns"]

OF_A_RUN = ("rollout_id", "completion", "messages", "policy", "step")
"""Canonical columns that a data set cannot know: its own of that name are another thing, and left out."""

OF_SCORES = ("field/", "score/", "status/", "error/", "note/", "gate/", "logged/")
UNCLEAR: Any = object()  # stands for values of one key that differ
Row = dict[str, Any]


@dataclass(frozen=True)
class Joined:
    """What a join did, as counts of the log's rows.

    `unmatched` match no row of the data set; of these `unclear` fit rows with different system prompts. Of
    those that match, `last_only` have turns before that the data set has not. `brought` are
    the columns that the log lacked, `filled` how many missing values of its own got one, `kept` the columns
    both have, with the number of rows where they differ. `ambiguous` counts for a column the rows whose
    matches differ in it: left missing. `left_out` are columns of the data set that only a rollout can have,
    `set_instead` those that were given as constants.
    """

    source: str
    on: str
    rows: int
    unmatched: int
    unclear: int
    last_only: int
    brought: tuple[str, ...]
    filled: Mapping[str, int]
    kept: Mapping[str, int]
    ambiguous: Mapping[str, int]
    left_out: tuple[str, ...]
    set_instead: tuple[str, ...]
    rejected: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done, in a sentence."""
        told = [
            f"joined {self.source!r} by {self.on}: {self.rows - self.unmatched} of {self.rows} rows matched",
            f"brought {', '.join(self.brought) or 'no column'}",
        ]
        told += [f"filled {count} missing values of {name}" for name, count in self.filled.items()]
        if same := [name for name, differing in self.kept.items() if not differing]:
            told.append(f"kept from the log {', '.join(same)}, the same in both")
        if self.left_out:
            told.append(f"left out {', '.join(self.left_out)}, which only a rollout can have")
        if self.set_instead:
            told.append(f"left out {', '.join(self.set_instead)}, which is set")
        return ("; ".join(told),)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to be careful with, a sentence each; no text of prompts or completions."""
        told = []
        got = ", ".join([*self.brought, *self.filled])
        if self.unmatched:
            of_these = (
                f", {self.unclear} of them because it has their question under several system prompts"
                if self.unclear
                else ""
            )
            told.append(
                f"{self.unmatched} of {self.rows} rows match no row of {self.source!r} by {self.on}{of_these}"
                f": they lack {got or 'nothing'}"
            )
        if self.last_only:
            told.append(
                f"{self.last_only} of {self.rows} rows have turns before the question that {self.source!r} "
                "has not; make sure they are examples, not another conversation"
            )
        for name, count in self.ambiguous.items():
            told.append(
                f"{count} of {self.rows} rows match several rows of {self.source!r} that differ in {name}: "
                "left missing there"
            )
        for name, count in self.kept.items():
            if count:
                told.append(
                    f"{name} is in the log and in {self.source!r} and differs in {count} rows: kept from the "
                    "log"
                )
        if self.rejected:
            told.append(f"{self.rejected} rows of {self.source!r} cannot be read and were not joined")
        return tuple(told)


def join_columns(
    rows: Sequence[Row], source: Any, *, on: str = "prompt", without: Collection[str] = ()
) -> tuple[list[Row], Joined]:
    """The rows with what they lack from the row of a data set with the same `on`; and the counts.

    `source` is a file, folder, table or list of dicts, its columns under the names of `ALIASES`. A column
    that the log has is kept as it is; its missing values are filled. Nothing is taken for the columns
    `without`. Prompts are compared as `match_prompts`
    says, other keys as `match_values` does. RolloutsError: no such key on one side, or nothing matches.

    >>> log = [{"prompt": "2+2?", "completion": "4"}, {"prompt": "5+5?", "completion": "7"}]
    >>> join_columns(log, [{"question": "2+2? ", "answer": "4"}])[0][0]["ground_truth"]
    '4'
    """
    name = str(source) if isinstance(source, str | Path) else "the joined table"
    data, rejected = _data_rows(source, name)
    has = list(dict.fromkeys(column for row in rows for column in row))
    there = list(dict.fromkeys(column for row in data for column in row))
    for side, names in (("the rollouts have", has), (f"{name!r} has", there)):
        if on not in names:
            raise RolloutsError(f"the join is on {on!r}; {side} {names}{did_you_mean(on, names)}")
    keys, data_keys = [row.get(on) for row in rows], [row.get(on) for row in data]
    found = (match_prompts if on == "prompt" else match_values)(keys, data_keys)
    if not any(found.rows):
        raise RolloutsError(
            f"no row of the rollouts matches {name!r} by {on}: the rollouts have {_example(keys)}, "
            f"the data set {_example(data_keys)}; is it the set of this run, and the right column?"
        )
    left_out = tuple(column for column in there if _of_a_run(column))
    aside = tuple(column for column in there if column in without and column not in left_out)
    columns = [column for column in there if column != on and column not in (*left_out, *aside)]
    return _merged(rows, data, found, columns, has, (name, on, left_out, aside, rejected))


def _data_rows(source: Any, name: str) -> tuple[list[Row], int]:
    """The rows of a data set under canonical names, and how many could not be read."""
    pieces = read_pieces(source, texts={alias for key in TEXTS for alias in ALIASES[key]}, completions=())
    raw = [row for piece in pieces for _, row in piece.rows]
    rejected = sum(len(piece.rejected) for piece in pieces)
    if not raw:
        raise RolloutsError(f"{name!r} has no rows to join ({rejected} cannot be read)")
    names = list(dict.fromkeys(column for row in raw for column in row))
    lifted = list(with_truth(raw, names))
    mapping = mapped(list(dict.fromkeys(column for row in lifted for column in row)), {})
    new = {source: canonical for canonical, source in mapping.items()}
    return [{new.get(key, key): present(value) for key, value in row.items()} for row in lifted], rejected


def _of_a_run(column: str) -> bool:
    return column in OF_A_RUN or column in ("reward", "reward_raw") or column.startswith(OF_SCORES)


def _merged(
    rows: Sequence[Row],
    data: Sequence[Row],
    found: Matches,
    columns: Sequence[str],
    has: Sequence[str],
    about: tuple[str, str, tuple[str, ...], tuple[str, ...], int],
) -> tuple[list[Row], Joined]:
    empty = {column for column in has if all(row.get(column) is None for row in rows)}
    brought = tuple(column for column in columns if column not in has or column in empty)
    filled, kept, ambiguous = Counter[str](), dict[str, int](), Counter[str]()
    one_of: dict[tuple[int, ...], Row] = {}
    merged = []
    for row, places in zip(rows, found.rows, strict=True):
        if not places:
            merged.append(row)
            continue
        key = tuple(places)
        if key not in one_of:
            one_of[key] = _agreed([data[at] for at in key], columns)
        new = dict(row)
        for column, value in one_of[key].items():
            if row.get(column) is not None:
                if value is not UNCLEAR and value is not None:
                    kept[column] = kept.get(column, 0) + (value != row[column])
            elif value is UNCLEAR:
                ambiguous[column] += 1
            elif value is not None:
                new[column] = value
                filled[column] += column not in brought
        merged.append(new)
    unmatched = sum(not places for places in found.rows)
    name, on, left_out, aside, rejected = about
    filled_values = {column: count for column, count in filled.items() if count}
    return merged, Joined(
        name,
        on,
        len(rows),
        unmatched,
        len(found.unclear),
        len(found.last_only),
        brought,
        filled_values,
        kept,
        dict(ambiguous),
        left_out,
        aside,
        rejected,
    )


def _agreed(matches: Sequence[Row], columns: Sequence[str]) -> Row:
    """For each column the value that all matches have, `UNCLEAR` where they differ."""
    agreed = {}
    for column in columns:
        first = matches[0].get(column)
        agreed[column] = first if all(row.get(column) == first for row in matches[1:]) else UNCLEAR
    return agreed


def _example(values: Sequence[Any]) -> str:
    value = next((value for value in values if value is not None), None)
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:110]}...{text[-47:]}"


def fill_columns(rows: Sequence[Row], fill: Mapping[str, Any]) -> tuple[list[Row], tuple[str, ...]]:
    """The rows with a constant where a column has no value, and a sentence a column on how many that were.

    RolloutsError: a name that no column can be given, or that every row has a value of already.
    """
    told = []
    for name, value in fill.items():
        if not isinstance(name, str) or not name or name in ("rollout_id", "completion") or _of_scores(name):
            raise RolloutsError(
                f"fill= cannot set {name!r}; name a column that rollouts may lack, such as data_source"
            )
        count = sum(row.get(name) is None for row in rows)
        if rows and not count:
            raise RolloutsError(
                f"fill= sets {name!r}, of which every row has a value already; leave it out, or take the "
                f"column from another one with columns={{{name!r}: ...}}"
            )
        partly = f" in {count} of {len(rows)} rows, the others have a value" if count < len(rows) else ""
        told.append(f"set {name} to {value!r}{partly}")
    filled = [
        {**row, **{name: value for name, value in fill.items() if row.get(name) is None}} for row in rows
    ]
    return filled, tuple(told)


def _of_scores(name: str) -> bool:
    return name in ("reward", "reward_raw") or name.startswith(OF_SCORES)
