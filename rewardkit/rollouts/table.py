"""Read and validate rollouts: one row = one completion."""

from __future__ import annotations

import hashlib
import json
import logging
import operator
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.errors import RolloutsError, did_you_mean
from rewardkit.html import cards
from rewardkit.html.pages import HasPage, Page
from rewardkit.primitives.messages import assistant_text
from rewardkit.rollouts.columns import ALIASES, mapped
from rewardkit.rollouts.files import read_files
from rewardkit.rollouts.join import fill_columns, join_columns
from rewardkit.rollouts.logs.forms import read_log
from rewardkit.rollouts.logs.log import Logged
from rewardkit.rollouts.source import Place, Source
from rewardkit.rollouts.values import as_column, column_values, present

logger = logging.getLogger(__name__)

GROUP_WITH = ("policy", "step", "data_source")
REJECTED_SHOWN = 3
FIRST_SHOWN = 5
NOT_LOGGED = Logged()


@dataclass(frozen=True, eq=False, repr=False)
class Rollouts(HasPage):
    """Validated rollouts.

    `table` has one row a completion, canonical columns first and `rollout_id` in front.
    `mapping` says which source column each canonical one was taken from; `group_key`
    which columns make a group; `rejected` what was kept out. `kind` is the form that
    the source was recognised as, `logged` the scores that stand in it, as columns
    called ``logged/...``; `notes` say what else was taken for what, `cautions` what of
    it to be careful with. `rollouts[i]` is row i as a dict, missing values as ``None``;
    a slice of rows is rollouts again.
    """

    table: pd.DataFrame
    mapping: dict[str, str]
    group_key: tuple[str, ...]
    rejected: tuple[Place, ...] = ()
    source: str = "memory"
    kind: str = "rollouts"
    logged: Logged = NOT_LOGGED
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, position: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, position: slice) -> Rollouts: ...
    def __getitem__(self, position: int | slice) -> dict[str, Any] | Rollouts:
        if isinstance(position, slice):
            return self.select(range(len(self))[position])
        try:
            row = self.table.iloc[operator.index(position)]
        except TypeError:
            raise TypeError(
                f"rollouts[{position!r}] is no row; give a position, such as "
                "rollouts[0] or rollouts[:9] "
                "(of a column: rollouts.table, by a mask: rollouts.select)"
            ) from None
        except IndexError:
            raise IndexError(
                f"there is no row {position}; of {len(self)} rollouts the last is row "
                f"{len(self) - 1}"
            ) from None
        return {str(name): present(row[name]) for name in self.table.columns}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        columns = self.columns()
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def columns(self) -> dict[str, list[Any]]:
        """Every column as a list of Python values, missing ones as ``None``."""
        return {
            str(name): column_values(self.table[name]) for name in self.table.columns
        }

    def as_logged(self) -> dict[str, list[Any]]:
        """Return every column, a renamed one under both its names."""
        columns = self.columns()
        return {
            **{
                source: columns[name]
                for name, source in self.mapping.items()
                if name in columns
            },
            **columns,
        }

    def check_columns(self, names: Iterable[str]) -> None:
        """Raise a RolloutsError where there is no column of one of these names."""
        known = list(map(str, self.table.columns))
        for name in names:
            if name not in known:
                raise RolloutsError(
                    f"the rollouts have no column {name!r}; they have "
                    f"{known}{did_you_mean(name, known)}"
                )

    def select(
        self, rows: NDArray[np.bool_] | NDArray[np.intp] | Sequence[int]
    ) -> Rollouts:
        """Return the rollouts at these positions (or where the mask is true)."""
        chosen = np.asarray(rows, dtype=None if len(rows) else int)
        return replace(self, table=self.table.iloc[np.arange(len(self))[chosen]])

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """Group code of each row, (rows,), from 0 in order of first appearance."""
        return self._codes(self.group_key)

    @cached_property
    def prompts(self) -> NDArray[np.intp]:
        """Prompt code of each row, (rows,): what a bootstrap resamples.

        Groups of one prompt (say of two policies) share it.
        """
        name = next(
            (name for name in ("prompt_id", "prompt") if name in self.table), None
        )
        if name is None:
            return self.groups
        names = [key for key in (name, "data_source") if key in self.table]
        return self.groups if set(names) == set(self.group_key) else self._codes(names)

    def _codes(self, names: Sequence[str]) -> NDArray[np.intp]:
        """Return codes of the combinations of columns, (rows,), by first appearance.

        A missing prompt_id falls back on the prompt, then on the row alone, as does a
        row without columns.
        """
        codes = (
            np.arange(len(self)) if not names else np.zeros(len(self), dtype=np.intp)
        )
        for name in names:  # a text and a number that look alike are two
            own, kinds = pd.factorize(self._keys(name), use_na_sentinel=False)
            codes, _ = pd.factorize(codes * len(kinds) + own)
        return np.asarray(codes, dtype=np.intp)

    def _keys(self, name: str) -> pd.Series[Any]:
        """Return a column's values for comparison, lists and dicts as JSON."""
        if pd.api.types.infer_dtype(self.table[name], skipna=False) in (
            "string",
            "integer",
        ):
            return self.table[name]
        values = column_values(self.table[name])
        if name in ("prompt_id", "prompt") and None in values:
            prompts = (
                column_values(self.table["prompt"])
                if "prompt" in self.table
                else values
            )
            filled = (
                one if one is not None else two
                for one, two in zip(values, prompts, strict=True)
            )
            values = [
                ("row", row) if value is None else value
                for row, value in enumerate(filled)
            ]
        if not {list, dict}.isdisjoint(map(type, values)):
            values = [
                json.dumps(value, sort_keys=True, default=str) for value in values
            ]
        return as_column(values)

    @cached_property
    def group_sizes(self) -> dict[int, int]:
        """Histogram: group size -> number of groups of that size."""
        return dict(sorted(Counter(Counter(self.groups.tolist()).values()).items()))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know before trusting figures on these rollouts."""
        sentences = []
        if self.rejected:
            shown = [
                f"{item.place}: {item.reason}"
                for item in self.rejected[:REJECTED_SHOWN]
            ]
            if len(self.rejected) > REJECTED_SHOWN:
                shown.append(f"and {len(self.rejected) - REJECTED_SHOWN} more")
            every = len(self) + len(self.rejected)
            sentences.append(
                f"{len(self.rejected)} of {every} rows kept out ({'; '.join(shown)})"
            )
        sentences += self.cautions
        key = ", ".join(self.group_key) or "none"
        if set(self.group_sizes) == {1}:
            sentences.append(
                f"every group has one completion (group key: {key}), so nothing can "
                "be said of group signal"
            )
        elif len(self.group_sizes) > 1:
            sizes = ", ".join(
                f"{count} of size {size}" for size, count in self.group_sizes.items()
            )
            sentences.append(f"group sizes are mixed (group key: {key}): {sizes}")
        return tuple(sentences)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of all values in all columns, the same on every machine."""
        digest = hashlib.sha256()
        for name, values in self.columns().items():
            digest.update(repr((name, values)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:16]

    def summary(self) -> dict[str, Any]:
        """Return what was read and how: rows, groups, mapping, scores, warnings."""
        return {
            "source": self.source,
            "kind": self.kind,
            "rows": len(self),
            "rejected": list(map(asdict, self.rejected)),
            "mapping": self.mapping,
            "group_key": list(self.group_key),
            "groups": int(self.groups.max(initial=-1)) + 1,
            "group_sizes": {
                str(size): count for size, count in self.group_sizes.items()
            },
            "prompts": int(self.prompts.max(initial=-1)) + 1,
            "logged": asdict(self.logged),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    def page(self) -> Page:
        """Return what was read and how, with the first rows."""
        rows = [self[row] for row in range(min(FIRST_SHOWN, len(self)))]
        columns = list(map(str, self.table.columns))
        return cards.rollouts_page(self.summary(), columns, rows)


def load_rollouts(
    source: str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    columns: Mapping[str, str] | None = None,
    group: str | Sequence[str] | None = None,
    join: str | Path | pd.DataFrame | Iterable[Mapping[str, Any]] | None = None,
    on: str = "prompt",
    fill: Mapping[str, Any] | None = None,
) -> Rollouts:
    """Load rollouts from a file, a folder of files, a DataFrame, or dicts.

    The logs of TRL, verl, siiRL, verifiers and Inspect are recognised by their columns,
    and data sets that `datasets` saved by their files (`.kind` says which); see
    `ALIASES` for the column names it knows. Scores that stand in a log become columns
    ``logged/<name>`` (`.logged`).

    `columns` maps canonical names to the source's own ({"completion": "text"}) and
    comes before the known aliases. "gallery:arithmetic" stands for the bundled rollouts
    of that name. `group` names the columns that make a group; by default `prompt_id`
    (else the prompt's text) with policy, step and data_source where present. `join` is
    a data set with columns that the log lacks, of the rows with the same `on` (prompts
    in any form, see `join_columns`); `fill` gives constants for what the log lacks. A
    completion in the form of chat messages becomes the text of its last assistant turn.
    Rows without a completion, with one of the wrong type, broken lines and repeated
    `rollout_id` (default: the line, with the file's name in a folder) are kept out and
    listed in `.rejected`. RolloutsError: nothing usable, unknown column, unknown kind
    of file, a data set without completions, a join that matches nothing.

    >>> load_rollouts([{"question": "2+2?", "response": "4", "answer": "4"}]).mapping
    {'prompt': 'question', 'completion': 'response', 'ground_truth': 'answer'}
    """
    name = str(source) if isinstance(source, str | Path) else "memory"
    wanted = dict(columns or {})
    kind, log, logged = read_log(read_files(source, wanted), keep=set(wanted.values()))
    mapping = (
        _mapping(log.source.columns, {**log.usual, **wanted})
        if log.source.columns
        else {}
    )
    read = _validated(log.source, mapping)
    rejected = tuple(read.rejected)
    if len(rejected) == len(read.places):
        count = len(rejected)
        raise RolloutsError(
            (
                f"{name} has no usable row; {rejected[0].place}: {rejected[0].reason} "
                f"({count} rows kept out)"
            )
            if rejected
            else f"{name} has no rows; a rollout file has one completion a row"
        )
    values = read.keep([not place.reason for place in read.places]).columns
    notes, cautions = [*log.notes], [*log.warnings]
    if fill:
        values, filled = fill_columns(values, fill)
        notes += filled
    if join is not None:
        values, done, warnings = join_columns(values, join, on=on, without=fill or ())
        notes.append(done)
        cautions += warnings
    order = [name for name in ALIASES if name in values] + [
        name for name in values if name not in ALIASES
    ]
    rollouts = Rollouts(
        pd.DataFrame({name: as_column(values[name]) for name in order}),
        mapping,
        _group_key(order, group),
        rejected,
        name,
        kind,
        logged,
        tuple(notes),
        tuple(cautions),
    )
    for sentence in rollouts.warnings:
        logger.warning("%s: %s", name, sentence)
    return rollouts


def _mapping(names: Collection[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Map canonical columns to the source's names; completions are required."""
    mapping = mapped(names, wanted)
    if "completion" not in mapping and "messages" not in mapping:
        known = ", ".join(ALIASES["completion"])
        hint = f"name it with columns={{'completion': ...}} (known names: {known})"
        if "reward_model" in names:
            hint = (
                "a training set of verl or siiRL has no completions; give the log of "
                "a run as the rollouts "
                "and join this set to it with join=..."
            )
        raise RolloutsError(
            f"no column holds the completions; the rollouts have {list(names)}: {hint}"
        )
    return mapping


def _validated(read: Source, mapping: Mapping[str, str]) -> Source:
    """Return the rows under canonical names with an id each, and the rejected ones."""
    taken = {*mapping, *mapping.values()}
    columns = {canonical: read.columns[own] for canonical, own in mapping.items()}
    columns |= {
        name: cells for name, cells in read.columns.items() if name not in taken
    }
    nothing = [None] * len(read.places)
    both = zip(
        columns.get("completion", nothing),
        columns.get("messages", nothing),
        strict=True,
    )
    given = [
        messages if completion is None else completion for completion, messages in both
    ]
    columns["completion"] = list(map(assistant_text, given))
    columns["rollout_id"] = _ids(read, columns.get("rollout_id", nothing))
    places, seen = list(read.places), dict[Any, Place]()
    each = zip(
        read.places, given, columns["completion"], columns["rollout_id"], strict=True
    )
    for row, (place, value, completion, rollout_id) in enumerate(each):
        reason = place.reason
        if reason:
            pass
        elif value is None:
            reason = "has no completion"
        elif completion is None:
            reason = (
                f"has a completion of type {type(value).__name__}, not text "
                "or chat messages"
            )
        elif not isinstance(rollout_id, str | int | float):
            reason = (
                f"has a rollout_id of type {type(rollout_id).__name__}, not "
                "text or a number"
            )
        elif seen.setdefault(rollout_id, place) is not place:
            reason = f"repeats rollout_id {rollout_id!r} of {seen[rollout_id].place}"
        places[row] = replace(place, reason=reason)
    return replace(read, columns=columns, places=places)


def _ids(read: Source, given: Sequence[Any]) -> list[Any]:
    """Return the id of each row: its own, else its line if no other row has it.

    In a folder the file's name stands before the line, and before own ids where one
    comes in several files.
    """
    own = {
        (place.file, one)
        for place, one in zip(read.places, given, strict=True)
        if isinstance(one, int | str)
    }
    known = {one for _, one in own}
    ids: list[Any] = []
    for place, one in zip(read.places, given, strict=True):
        inside = f"{place.file.rpartition('.')[0]}:" if place.file else ""
        line = f"{inside}{place.line}" if inside else place.line
        if one is None:
            ids.append(f"line-{line}" if line in known else line)
        else:
            ids.append(
                f"{inside}{one}"
                if len(own) > len(known) and isinstance(one, int | str)
                else one
            )
    return ids


def _group_key(
    names: Sequence[str], group: str | Sequence[str] | None
) -> tuple[str, ...]:
    if group is not None:
        wanted = (group,) if isinstance(group, str) else tuple(group)
        for name in wanted:
            if name not in names:
                raise RolloutsError(
                    f"group= asks for {name!r}; the rollouts have "
                    f"{list(names)}{did_you_mean(name, names)}"
                )
        return wanted
    prompt = next((name for name in ("prompt_id", "prompt") if name in names), None)
    return (prompt, *(name for name in GROUP_WITH if name in names)) if prompt else ()
