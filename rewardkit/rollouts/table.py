"""Rollouts: a validated table, one row per completion."""

from __future__ import annotations

import hashlib
import operator
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype

from rewardkit.errors import RolloutsError, did_you_mean, preview
from rewardkit.findings import counted
from rewardkit.html.has_page import HasPage
from rewardkit.plain import Plain, Record
from rewardkit.rollouts.columns import LOGGED, Columns
from rewardkit.rollouts.logs.log import Logged, has_steps
from rewardkit.rollouts.values import Place, as_column, column_values, key_text, present

if TYPE_CHECKING:
    from rewardkit.html.pages import Page

Codes = NDArray[np.intp]
"""Numbers of groups, from 0."""
Hashes = NDArray[np.uint64]

PLAIN_NUMBERS = (np.dtype("<i8"), np.dtype("<f8"))
"""Types of columns whose bytes are the same on every machine."""

REJECTED_EXAMPLES = 3
MOST_SENTENCES = 12
"""Most notes, and most cautions, that are listed for a log in parts."""

ROWS_ON_PAGE = 5
NOT_LOGGED = Logged()
HOW_IT_ENDED = re.compile(r"(?i)trunc|finish|stop|eos|clip|abort|done|complete")
"""Names of columns on how a completion ended, not on whether it is right."""


class StepFalls(NamedTuple):
    """The decreases of a log's step: their number, and where the first one is."""

    times: int
    before: float
    after: float
    rollout: str

    def __str__(self) -> str:
        return (
            f"The steps go backwards {counted(self.times, 'time')}, first from "
            f"{self.before:g} to {self.after:g} at rollout {self.rollout}. "
            "Where a run was restarted, a step has rows of two runs: give one alone."
        )


@dataclass(frozen=True, eq=False, repr=False)
class Rollouts(HasPage):
    """Validated rollouts.

    ``rollouts[i]`` is row i as a dict, missing values as ``None``; a slice is rollouts.

    Attributes:
        table: One row per completion, `rollout_id` and other canonical columns first.
        mapping: Canonical column -> column of the source.
        group_key: The columns that make a group.
        rejected: The places of rejected rows, with reasons.
        source: The name of the source.
        kind: The form of log that was recognised.
        logged: The scores of the log, in columns ``logged/...``.
        notes: Sentences on how the log was interpreted.
        cautions: Warnings on the log.
        sampled_from: Rows of the log that these are a sample of, 0 if they are all.
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
    sampled_from: int = 0

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, position: int) -> Record: ...
    @overload
    def __getitem__(self, position: slice) -> Rollouts: ...
    def __getitem__(self, position: int | slice) -> Record | Rollouts:
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

    def __iter__(self) -> Iterator[Record]:
        columns = self.columns()
        for values in zip(*columns.values(), strict=True):
            yield dict(zip(columns, values, strict=True))

    def columns(self) -> Columns:
        """Return every column as a list of Python values, missing ones as ``None``."""
        return {
            str(name): column_values(self.table[name]) for name in self.table.columns
        }

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return list(map(str, self.table.columns))

    def as_logged(self) -> Columns:
        """Return every column, a renamed one under both its names."""
        columns = self.columns()
        renamed = {}
        for name, source in self.mapping.items():
            if name in columns:
                renamed[source] = columns[name]
        return renamed | columns

    def check_columns(self, names: Iterable[str]) -> None:
        """Raise a RolloutsError if a column is missing."""
        for name in names:
            if name not in self.names:
                raise RolloutsError(
                    f"the rollouts have no column {name!r}; they have "
                    f"{self.names}{did_you_mean(name, self.names)}"
                )

    def label_column(self, label: str | None) -> str | None:
        """Return the column of a label: ``logged/acc`` for acc, if there is no acc."""
        logged = f"{LOGGED}{label}"
        return logged if logged in self.table and label not in self.table else label

    @property
    def possible_labels(self) -> list[str]:
        """Return the boolean columns that vary within groups, in order.

        Columns on how a completion ended are left out.
        """
        names = []
        for name, values in self.table.items():
            is_label = infer_dtype(values, skipna=True) == "boolean"
            if is_label and not HOW_IT_ENDED.search(str(name)):
                if self.differs_in_groups(values):
                    names.append(str(name).removeprefix(LOGGED))
        return names

    def differs_in_groups(self, values: pd.Series[Any]) -> bool:
        """Return whether siblings have different values of a column."""
        return bool((values.groupby(self.groups).nunique() > 1).any())

    def select(self, rows: NDArray[np.bool_] | Codes | Sequence[int]) -> Rollouts:
        """Return the rollouts of rows, given as positions or as a mask."""
        chosen = np.asarray(rows, dtype=None if len(rows) else int)
        return replace(self, table=self.table.iloc[chosen])

    @cached_property
    def groups(self) -> Codes:
        """Return the group code of each row, (rows,), from 0 by first appearance."""
        return self.codes(self.group_key)

    @cached_property
    def group_hashes(self) -> Hashes:
        """Return a hash of each group's key, (groups,), equal on every machine."""
        return self._hashes(self.group_key, self.groups)

    @cached_property
    def prompt_hashes(self) -> Hashes:
        """Return a hash of each prompt, (prompts,), equal on every machine."""
        return self._hashes(self._prompt_key, self.prompts)

    def _hashes(self, names: Sequence[str], codes: Codes) -> Hashes:
        """Return a hash of the columns' values for each code.

        A row without a prompt is a group of its own, hashed by its `rollout_id`.
        """
        rows = np.unique(codes, return_index=True)[1]
        table = self.table.iloc[rows]
        keys = {}
        for name in names or ["rollout_id"]:
            keys[name] = list(map(_key_text, _filled(table, name)))
        frame = pd.DataFrame(keys, dtype=object)
        hashes = pd.util.hash_pandas_object(frame, index=False, categorize=False)
        return np.asarray(hashes, dtype=np.uint64)

    @property
    def prompt_shares(self) -> NDArray[np.float64]:
        """Return the hash of each row's prompt, scaled to 0 to 1, (rows,).

        The rows below a share are a sample of that share of the prompts.
        """
        return (self.prompt_hashes / 2.0**64)[self.prompts]

    @cached_property
    def prompts(self) -> Codes:
        """Return the prompt code of each row, (rows,): the units of a bootstrap.

        Groups of one prompt, such as those of two policies, share it.
        """
        names = self._prompt_key
        is_group = set(names) == set(self.group_key)
        return self.groups if is_group else self.codes(names)

    @property
    def _prompt_key(self) -> Sequence[str]:
        """Return the columns that identify a prompt."""
        for name in ("prompt_id", "prompt"):
            if name in self.table:
                return [key for key in (name, "data_source") if key in self.table]
        return self.group_key

    def codes(self, names: Sequence[str]) -> Codes:
        """Return codes of the combinations of columns, (rows,), by first appearance.

        A missing prompt_id falls back on the prompt, then on the row. Without columns
        each row has its own code.
        """
        if not names:
            return np.arange(len(self))
        codes = np.zeros(len(self), dtype=np.intp)
        for name in names:
            # without the sentinel missing values get a code
            keys, values = pd.factorize(self._keys(name), use_na_sentinel=False)
            codes, _ = pd.factorize(codes * len(values) + keys)
        return np.asarray(codes, dtype=np.intp)

    def _keys(self, name: str) -> pd.Series[Any]:
        """Return a column's values for comparison, lists and dicts as JSON."""
        column = self.table[name]
        if pd.api.types.infer_dtype(column, skipna=False) in ("string", "integer"):
            return column
        values = _filled(self.table, name)
        if not {list, dict}.isdisjoint(map(type, values)):
            values = list(map(key_text, values))
        return as_column(values)

    @cached_property
    def group_sizes(self) -> dict[int, int]:
        """Return a histogram: group size -> number of groups of that size."""
        sizes, counts = np.unique(np.bincount(self.groups), return_counts=True)
        return dict(zip(sizes.tolist(), counts.tolist(), strict=True))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings that affect figures on these rollouts."""
        return tuple(self.summary()["warnings"])

    def describe_text_steps(self) -> str:
        """Say in how many rows the step is a text, or return ""."""
        steps = self.table.get("step", pd.Series(dtype=float))
        if pd.api.types.is_numeric_dtype(steps):
            return ""
        texts = [step for step in steps if isinstance(step, str)]
        if not texts:
            return ""
        return (
            f"In {len(texts)} of {counted(len(self), 'row')} the step is no number, "
            f"such as {preview(texts[0])}, so that nothing is told over the steps of "
            "the run: mend or leave out those rows."
        )

    def _step_falls(self) -> StepFalls | None:
        """Return where the step decreases, as in a restarted run's log, or None."""
        if not has_steps(self.table):
            return None
        steps = self.table["step"].to_numpy(dtype=float)
        changes = np.flatnonzero(np.diff(steps))
        falls = changes[steps[changes + 1] < steps[changes]]
        last_prompt = self.prompts.max()
        is_by_prompt = np.count_nonzero(np.diff(self.prompts)) == last_prompt
        is_by_prompt &= self.groups.max() > last_prompt
        # an unordered log, or one sorted by prompt, says nothing about the run
        if not len(falls) or 2 * len(changes) > len(steps) or is_by_prompt:
            return None
        row = falls[0]
        rollout = str(self.table["rollout_id"].iloc[row + 1])
        return StepFalls(len(falls), float(steps[row]), float(steps[row + 1]), rollout)

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of all values in all columns, equal on every machine."""
        return table_hash(self.table)

    def summary(self) -> Record:
        """Return a summary of the log: rows, groups, mapping, scores, warnings."""
        sizes = self.group_sizes
        text_steps = self.describe_text_steps()
        cautions = [*self.cautions, *filter(None, [text_steps])]
        falls = None if text_steps else self._step_falls()
        summary = {
            "source": self.source,
            "kind": self.kind,
            "rows": len(self),
            "rejected": [place._asdict() for place in self.rejected],
            "mapping": self.mapping,
            "group_key": list(self.group_key),
            "groups": int(self.groups.max(initial=-1)) + 1,
            "group_sizes": dict(zip(map(str, sizes), sizes.values(), strict=True)),
            "prompts": int(self.prompts.max(initial=-1)) + 1,
            "logged": asdict(self.logged),
            "notes": list(self.notes),
            "cautions": list(dict.fromkeys(cautions)),
            "sampled_from": self.sampled_from,
            "step_falls": falls and falls._asdict(),
        }
        return {**summary, "warnings": _warn_of(summary)}

    def page(self) -> Page:
        """Return the page: the summary and the first rows."""
        from rewardkit.html import cards  # many scores are never shown

        rows = [self[row] for row in range(min(ROWS_ON_PAGE, len(self)))]
        return cards.rollouts_page(self.summary(), self.names, rows)


def table_hash(table: pd.DataFrame) -> str:
    """Return a hash of all values in all columns, equal on every machine."""
    digest = hashlib.sha256()
    for name in table.columns:
        column = table[name]
        if column.dtype in PLAIN_NUMBERS:
            numbers = column.to_numpy()
            digest.update(repr((str(name), numbers.dtype.str)).encode())
            digest.update(np.ascontiguousarray(numbers).data)
            continue
        values = column_values(column)
        name = str(name)
        if set(map(type, values)) == {str}:  # repr is slow on texts
            text = repr((name, "lengths", list(map(len, values))))
            text += "".join(values)
        else:
            text = repr((name, values))
        digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _filled(table: pd.DataFrame, name: str) -> list[Any]:
    """Return a column; replace a missing prompt_id by the prompt, else by the row."""
    values = column_values(table[name])
    if name not in ("prompt_id", "prompt") or None not in values:
        return values
    prompts = column_values(table["prompt"]) if "prompt" in table else values
    filled = []
    for value, prompt, rollout_id in zip(
        values, prompts, table["rollout_id"], strict=True
    ):
        if value is None:
            value = ("row", rollout_id) if prompt is None else prompt
        filled.append(value)
    return filled


def _key_text(value: Any) -> str:
    """Return a text that is the same for equal keys, such as 1 and 1.0."""
    if isinstance(value, int | float):
        return f"\0{float(value)!r}"
    if type(value) is not str:
        return f"\0{key_text(value)}"
    if value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode()  # no lone surrogates


def _warn_of(summary: Plain) -> list[str]:
    """Return the warnings of a summary."""
    sentences = list(summary["cautions"])
    if summary["step_falls"]:
        sentences.append(str(StepFalls(**summary["step_falls"])))
    rejected = summary["rejected"]
    if rejected:
        examples = []
        for row in rejected[:REJECTED_EXAMPLES]:
            place = Place(**row)
            examples.append(f"{place.place}: {place.reason}")
        if len(rejected) > REJECTED_EXAMPLES:
            examples.append(f"and {len(rejected) - REJECTED_EXAMPLES} more")
        count = f"{len(rejected)} of {summary['rows'] + len(rejected)}"
        sentences.insert(0, f"{count} rows kept out ({'; '.join(examples)})")
    key = ", ".join(summary["group_key"]) or "none"
    sizes = summary["group_sizes"]
    if set(sizes) == {"1"}:
        sentences.append(
            f"every group has one completion (group key: {key}), so nothing can "
            "be said of group signal"
        )
    elif len(sizes) > 1:
        counts = [f"{count} of size {size}" for size, count in sizes.items()]
        sentences.append(
            f"group sizes are mixed (group key: {key}): {', '.join(counts)}"
        )
    return sentences


def join_summaries(summaries: Sequence[Plain]) -> Record:
    """Join the summaries of a log's parts, see `Rollouts.summary`.

    Numbers of prompts are added up, as if parts shared none.
    """
    joined: Record = dict(summaries[0])
    for name in ("rows", "groups", "prompts"):
        joined[name] = sum(summary[name] for summary in summaries)
    falls = [part["step_falls"] for part in summaries if part["step_falls"]]
    if falls:
        times = sum(fall["times"] for fall in falls)
        joined["step_falls"] = {**falls[0], "times": times}
    joined["rejected"] = list(
        chain.from_iterable(part["rejected"] for part in summaries)
    )
    for name in ("notes", "cautions"):
        sentences = _join_sentences(summaries, name)
        hidden_count = len(sentences) - MOST_SENTENCES
        if hidden_count > 0:
            sentences[MOST_SENTENCES:] = [f"and {hidden_count} more of other parts"]
        joined[name] = sentences
    sizes: Counter[int] = Counter()
    for summary in summaries:
        for size, count in summary["group_sizes"].items():
            sizes[int(size)] += count
    joined["group_sizes"] = {str(size): sizes[size] for size in sorted(sizes)}
    return {**joined, "warnings": _warn_of(joined)}


def _join_sentences(summaries: Sequence[Plain], name: str) -> list[str]:
    """Join the sentences of parts, adding up the rows that equal sentences count.

    >>> parts = {"rows": 4, "notes": ["1 of 4 rows differ"]}, {"rows": 2, "notes": []}
    >>> _join_sentences(parts, "notes")
    ['1 of 6 rows differ']
    """
    total = sum(part["rows"] for part in summaries)
    row_counts: Counter[tuple[str, str]] = Counter()
    for part in summaries:
        for sentence in part[name]:
            before, separator, after = sentence.partition(f" of {part['rows']} rows")
            number = re.search(r"\d+\Z", before)
            if separator and number:
                key = before[: number.start()], f" of {total} rows{after}"
                row_counts[key] += int(number[0])
            else:
                row_counts[sentence, ""] = 0
    return [
        f"{before}{count}{after}" if after else before
        for (before, after), count in row_counts.items()
    ]
