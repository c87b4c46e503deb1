"""What a log lacks: columns joined from the data set that the run was trained on, and constants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError, did_you_mean
from rewardkit.rollouts.columns import mapped, names_of
from rewardkit.rollouts.files import read_source
from rewardkit.rollouts.matching import Matches, match_prompts, match_values
from rewardkit.rollouts.values import present

__all__ = ["fill_columns", "join_columns"]

OF_A_RUN = ("rollout_id", "completion", "messages", "policy", "step")
"""Canonical columns that a data set cannot know: its own of that name are another thing, and left out."""

OF_SCORES = ("field/", "score/", "status/", "error/", "note/", "gate/", "logged/")
Row = dict[str, Any]


def join_columns(
    rows: Sequence[Row], source: Any, *, on: str = "prompt", without: Collection[str] = ()
) -> tuple[list[Row], str, list[str]]:
    """The rows with what they lack from the row of a data set with the same `on`; what was done; warnings.

    `source` is a file, folder, table or list of dicts, its columns under the names of `ALIASES`. A column
    that the log has is kept as it is; its missing values are filled. Nothing is taken for the columns
    `without`, nor where several rows match that differ. Prompts are compared as `match_prompts` says, other
    keys as `match_values` does. RolloutsError: no such key on one side, or nothing matches.

    >>> log = [{"prompt": "2+2?", "completion": "4"}, {"prompt": "5+5?", "completion": "7"}]
    >>> join_columns(log, [{"question": "2+2? ", "answer": "4"}])[0][0]["ground_truth"]
    '4'
    """
    name = str(source) if isinstance(source, str | Path) else "the joined table"
    data, unread = _data_rows(source, name)
    has, there = names_of(rows), names_of(data)
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
    left_out = [column for column in there if column in OF_A_RUN or _of_scores(column)]
    set_instead = [column for column in there if column in without and column not in left_out]
    columns = [column for column in there if column not in {on, *left_out, *set_instead}]
    brought = [column for column in columns if all(row.get(column) is None for row in rows)]
    filled, kept, differing, unclear = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    merged = [dict(row) for row in rows]
    for row, places in zip(merged, found.rows, strict=True):
        for column in columns if places else ():
            value, *others = (data[at].get(column) for at in places)
            one = all(other == value for other in others)
            if row.get(column) is not None:
                kept[column] += one and value is not None
                differing[column] += one and value is not None and value != row[column]
            elif not one:
                unclear[column] += 1
            elif value is not None:
                row[column] = value
                filled[column] += column not in brought
    matched = sum(map(bool, found.rows))
    done = [
        f"joined {name!r} by {on}: {matched} of {len(rows)} rows matched",
        f"brought {', '.join(brought) or 'no column'}",
        *(f"filled {count} missing values of {column}" for column, count in (+filled).items()),
    ]
    same = [column for column in +kept if not differing[column]]
    for what, names, why in (
        ("kept from the log", same, "the same in both"),
        ("left out", left_out, "which only a rollout can have"),
        ("left out", set_instead, "which is set"),
    ):
        if names:
            done.append(f"{what} {', '.join(names)}, {why}")
    warnings = _unmatched(found, f"{name!r} by {on}", ", ".join([*brought, *+filled]) or "nothing")
    warnings += [
        f"{count} of {len(rows)} rows match several rows of {name!r} that differ in {column}: left missing "
        "there"
        for column, count in unclear.items()
    ]
    warnings += [
        f"{column} is in the log and in {name!r} and differs in {count} rows: kept from the log"
        for column, count in (+differing).items()
    ]
    if unread:
        warnings.append(f"{unread} rows of {name!r} cannot be read and were not joined")
    return merged, "; ".join(done), warnings


def _unmatched(found: Matches, source: str, lacking: str) -> list[str]:
    """What to be careful with in the matches of prompts; no text of prompts or completions."""
    count, warnings = len(found.rows), []
    if unmatched := sum(not places for places in found.rows):
        why = "of them because it has their question under several system prompts"
        of_these = f", {len(found.unclear)} {why}" if found.unclear else ""
        warnings.append(
            f"{unmatched} of {count} rows match no row of {source}{of_these}: they lack {lacking}"
        )
    if found.last_only:
        warnings.append(
            f"{len(found.last_only)} of {count} rows have turns before the question that no row of {source} "
            "has; make sure they are examples, not another conversation"
        )
    return warnings


def _data_rows(source: Any, name: str) -> tuple[list[Row], int]:
    """The rows of a data set under canonical names, and how many could not be read."""
    read = read_source(source, {})
    if not read.rows:
        raise RolloutsError(f"{name!r} has no rows to join ({len(read.rejected)} cannot be read)")
    new = {source: canonical for canonical, source in mapped(read.names, {}).items()}
    data = [{new.get(key, key): present(value) for key, value in row.values.items()} for row in read.rows]
    return data, len(read.rejected)


def _example(values: Sequence[Any]) -> str:
    value = next((value for value in values if value is not None), None)
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:110]}...{text[-47:]}"


def fill_columns(rows: Sequence[Row], fill: Mapping[str, Any]) -> tuple[list[Row], tuple[str, ...]]:
    """The rows with a constant where a column has no value, and a sentence a column on how many that were.

    RolloutsError: a name that no column can be given, or that every row has a value of already.
    """
    told = []
    filled = [dict(row) for row in rows]
    for name, value in fill.items():
        if not isinstance(name, str) or name in ("", "rollout_id", "completion") or _of_scores(name):
            raise RolloutsError(
                f"fill= cannot set {name!r}; name a column that rollouts may lack, such as data_source"
            )
        lacking = [row for row in filled if row.get(name) is None]
        if not lacking:
            raise RolloutsError(
                f"fill= sets {name!r}, of which every row has a value already; leave it out, or take the "
                f"column from another one with columns={{{name!r}: ...}}"
            )
        for row in lacking:
            row[name] = value
        partly = f" in {len(lacking)} of {len(rows)} rows, the others have a value"
        told.append(f"set {name} to {value!r}{partly if len(lacking) < len(rows) else ''}")
    return filled, tuple(told)


def _of_scores(name: str) -> bool:
    return name in ("reward", "reward_raw") or name.startswith(OF_SCORES)
