"""Scores: scored rollouts in memory, and saving them."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.errors import RolloutsError
from rewardkit.html.excerpts import UserText
from rewardkit.html.has_page import HasPage
from rewardkit.plain import Plain, Record
from rewardkit.reasons import Reason, read_reasons
from rewardkit.rewards.fingerprint import definition_hash
from rewardkit.rewards.reward import Floats, Part, Reward, Rows
from rewardkit.rewards.route import Plan, steps_of
from rewardkit.rollouts.columns import RESULT_PREFIXES
from rewardkit.rollouts.logs.log import Logged, has_steps
from rewardkit.rollouts.paths import (
    RECORDED_SCORES,
    SAVED_SCORES,
    job_digits,
    write_content,
)
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.outcomes import (
    ABSTAINED,
    ERROR,
    GATED,
    STATUSES,
    Outcome,
    Outcomes,
    summarize_verdicts,
    verdicts_text,
)
from rewardkit.scoring.stored import REWARD_COLUMNS, write_table

if TYPE_CHECKING:
    from rewardkit.html.pages import Page

UNFINISHED = "unfinished"
"""Key of a run record with the finished rows of an interrupted scoring and the hash of
its rollouts."""

RUN_RECORD = "run.json"
"""Name of the file with the run record in a folder of scores."""


def is_result(column: str) -> bool:
    """Return whether a column of a scored table is a result, not a rollout column."""
    return column in REWARD_COLUMNS or column.startswith(RESULT_PREFIXES)


@dataclass(frozen=True, eq=False, repr=False)
class Scores(HasPage):
    """Scored rollouts.

    `table` has the rollout columns, then:

    - ``field/<name>``, and ``failed/<name>``: why an extraction failed,
    - ``score/<component>``, NaN unless scored, and ``status/<component>``,
    - ``error/<component>``: why a score is missing, as a sentence, and
      ``reason/<component>`` (or field): the same as JSON, see `Reason.to_json`,
    - ``verdict/<component>`` and ``cost/<component>`` of judges,
    - ``note/<name>``, if there are notes,
    - ``gate/reward``, unless always open: 1 open, 0 closed, NaN unknown,
    - ``reward_raw``, before the transform, and ``reward``.

    Scores are stored without weights, so `reweigh` calls no function.
    """

    table: pd.DataFrame
    reward: Reward
    rollouts: Rollouts
    run: Plain = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table)

    def column(self, name: str) -> pd.Series[Any] | None:
        """Return a column of the table, or None."""
        return self.table.get(name)

    def _column(self, name: str) -> pd.Series[Any]:
        column = self.column(name)
        if column is None:
            raise KeyError(name)
        return column

    @property
    def groups(self) -> Rows:
        """Return the group code of each row, (rows,)."""
        return self.rollouts.groups

    @property
    def rewards(self) -> Floats:
        """Return the rewards, (rows,), NaN if not judged."""
        return self._column("reward").to_numpy(dtype=float)

    def score(self, component: str) -> Floats:
        """Return the scores of a component, (rows,), NaN unless scored."""
        return self._column(f"score/{component}").to_numpy(dtype=float)

    def status(self, component: str) -> NDArray[np.int8]:
        """Return the statuses of a component, (rows,), as indices of `STATUSES`."""
        column = self._column(f"status/{component}")
        return np.asarray(column.cat.codes, dtype=np.int8)

    def errors(self, component: str) -> list[str]:
        """Return the error sentences of a component, one per row with an error."""
        column = self._column(f"error/{component}")
        return list(column[self.status(component) == ERROR])

    def reasons(self, name: str) -> list[Reason | None]:
        """Return the Reason of each row without a value of a part, else None."""
        column = self.column(f"reason/{name}")
        return [None] * len(self) if column is None else read_reasons(column)

    def _reasons_with(self, name: str, status: int) -> list[Reason]:
        """Return the reasons of a component's rows with this status."""
        if not self.counts[name][STATUSES[status]]:
            return []
        texts = self._column(f"reason/{name}")[self.status(name) == status]
        return [reason for reason in read_reasons(texts) if reason is not None]

    @cached_property
    def outcomes(self) -> Outcomes:
        """Return the outcomes of fields and components, before weights."""
        plan = self.plan(self.reward)
        outcomes = Outcomes.blank(plan)
        for name in self.reward.fields:
            outcomes.fields[name] = column_values(self.table[f"field/{name}"])
            outcomes.failed[name] = self._reasons_by_row(name)
        for name in self.reward.names:
            reasons = self._reasons_by_row(name)
            outcome = Outcome(self.score(name), self.status(name), reasons)
            if f"verdict/{name}" in self.table:
                for row, verdict in enumerate(self.table[f"verdict/{name}"]):
                    if isinstance(verdict, Mapping):
                        outcome.verdicts[row] = dict(verdict)
            outcomes.components[name] = outcome
        outcomes.gate[:] = self.table.get("gate/reward", 1.0)
        return outcomes

    def _reasons_by_row(self, name: str) -> dict[int, Reason]:
        reasons = enumerate(self.reasons(name))
        return {row: reason for row, reason in reasons if reason is not None}

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of rows by component and status."""
        counts = {}
        for name in self.reward.names:
            codes = self.status(name)
            sums = [int((codes == code).sum()) for code in range(len(STATUSES))]
            counts[name] = dict(zip(STATUSES, sums, strict=True))
        return counts

    @cached_property
    def model_use(self) -> dict[str, Record]:
        """Summarise the verdicts of each judge, by component.

        See `summarize_verdicts`; `not_judged` counts the reasons of missing scores.
        """
        return self._summarize_verdicts(str)

    def _summarize_verdicts(
        self, sentence: Callable[[Reason], str]
    ) -> dict[str, Record]:
        summaries = {}
        for name in self.reward.names:
            cells = self.column(f"verdict/{name}")
            if cells is not None:
                verdicts = [cell for cell in cells if isinstance(cell, Mapping)]
                reasons = self._reasons_with(name, ABSTAINED)
                summaries[name] = {
                    **summarize_verdicts(verdicts),
                    "not_judged": dict(Counter(map(sentence, reasons))),
                }
        return summaries

    @cached_property
    def record(self) -> Record:
        """Return the run record: definition, fingerprints, versions, counts.

        The seed is None, as scoring draws no random numbers.
        """
        return self.record_with(self.rollouts.fingerprint)

    def record_with(self, fingerprint: str) -> Record:
        """Return the run record with a known fingerprint of the rollouts."""
        verdicts: Record = {}
        if summaries := self.model_use:
            verdicts["asked"] = summaries
        return {
            "reward": self.reward.record(),
            "rollouts": {**self.rollouts.summary(), "fingerprint": fingerprint},
            "counts": self.counts,
            **verdicts,
            "rewards_missing": int(np.isnan(self.rewards).sum()),
            "seed": None,
            **self.run,
        }

    def reweigh(self, weights: Mapping[str, float]) -> Scores:
        """Return the scores with other weights; no function is called.

        Raises:
            RewardError: A weight names an unknown component.
        """
        return self.under(self.reward.reweigh(weights))

    @property
    def has_steps(self) -> bool:
        """Return whether the rows have at least two different steps, as numbers."""
        return has_steps(self.table) and self.table["step"].nunique() > 1

    @property
    def parts(self) -> list[Part]:
        """Return the parts of a route with their rows; without a route, one part."""
        return self.parts_of(self.reward)

    def parts_of(self, reward: Reward) -> list[Part]:
        """Split the rows by the parts of a reward, see `Reward.parts`."""
        column = reward.routed_by
        values = {column: column_values(self.rollouts.table[column])} if column else {}
        return reward.parts(values, len(self))

    def plan(self, reward: Reward) -> Plan:
        """Return the plan of a reward for these rows."""
        steps = column_values(self.table["step"]) if "step" in self.table else None
        parts = tuple(self.parts_of(reward))
        return Plan(reward, len(self), parts, steps_of(reward, steps))

    def at(self, step: float) -> Scores:
        """Return the scores with the weights of a training step."""
        return self.under(self.reward.at(step))

    def under(self, reward: Reward) -> Scores:
        """Return the scores combined by a reward with the same components."""
        plan = self.plan(reward)
        gate = np.full(len(self), self.table.get("gate/reward", 1.0), dtype=float)
        raw = plan.combine(
            {name: self.score(name) for name in reward.names},
            {name: self.status(name) == GATED for name in reward.names},
            gate,
        )
        final = plan.transform(raw, self.groups)
        table = self.table.assign(reward_raw=raw, reward=final)
        return Scores(table, reward, self.rollouts, self.run)

    def save(self, folder: str | Path) -> Path:
        """Write ``scores.parquet`` and ``run.json`` into a folder, both or neither.

        The Parquet file's metadata has a copy of the record, which `load_scores` reads.

        Returns:
            The folder.

        Raises:
            RolloutsError: The folder cannot be created, or a recorder wrote into it.
        """
        record = self.record
        with folder_for(folder) as place:
            parts = parts_in(place)
            if len(parts) < len(list(place.glob(RECORDED_SCORES))):
                raise RolloutsError(
                    f"{str(folder)!r} holds what a recorder wrote in training, and is "
                    "read as one table; give another folder"
                )
            write_table(
                place / SAVED_SCORES,
                self.table,
                record,
                then=lambda: write_record(place, record),
            )
            for path in parts:
                path.unlink()
        return place

    def keep(self, **options: Any) -> Any:
        """Keep the scoring in a folder of runs, as `rk.keep` does; return the run."""
        # the only import from a room below
        from rewardkit.history.keep import keep

        return keep(self, **options)

    def page(self) -> Page:
        """Return the page: distributions of rewards and scores, and use of models."""
        from rewardkit.html import cards  # many scores are never shown

        components = []
        for name, weight in self.reward.weights.items():
            # summarised at once, as a large log's scores do not all fit into memory
            figures = cards.summarize(self.score(name))
            errors = self._reasons_with(name, ERROR)
            components.append(
                cards.ComponentScores(name, weight, figures, self.counts[name], errors)
            )
        models = []
        redacted = self._summarize_verdicts(lambda reason: str(reason.redacted()))
        for name, summary in self.model_use.items():
            text, redacted_text = verdicts_text(summary), verdicts_text(redacted[name])
            models.append(UserText(f"{name} {text}", f"{name} {redacted_text}"))
        return cards.scores_page(self.reward.name, self.rewards, components, models)


def rollouts_of(table: pd.DataFrame, about: Plain) -> Rollouts:
    """Return the rollouts of a scored table; `about` is their summary."""
    results = list(filter(is_result, table.columns))
    return Rollouts(
        table.drop(columns=results),
        about["mapping"],
        tuple(about["group_key"]),
        (),
        about["source"],
        about["kind"],
        Logged(**about["logged"]),
        tuple(about["notes"]),
        tuple(about["cautions"]),
    )


def select_rows(scores: Scores, rows: NDArray[Any]) -> Scores:
    """Return the scores of rows, given as positions or as a mask."""
    table = scores.table.iloc[rows].reset_index(drop=True)
    return replace(scores, table=table, rollouts=scores.rollouts.select(rows))


def is_unfinished(record: Plain, reward: Reward, rollouts: Rollouts) -> bool:
    """Return whether a record is of an interrupted scoring of reward and rollouts."""
    if record.get(UNFINISHED, {}).get("rollouts") != rollouts.fingerprint:
        return False
    return definition_hash(record["reward"]) == definition_hash(reward.record())


def parts_in(folder: Path) -> list[Path]:
    """List the parts of a scoring in a folder, in order."""
    paths = sorted(folder.glob(RECORDED_SCORES))
    return list(filter(job_digits, paths))


def write_record(folder: Path, record: Plain) -> None:
    """Write the run record of a folder of scores whole or not at all."""
    write_content(folder / RUN_RECORD, json.dumps(record, indent=2) + "\n")


@contextmanager
def folder_for(path: str | Path) -> Iterator[Path]:
    """Create a folder for scores; remove it again if it stays empty.

    Raises:
        RolloutsError: The folder cannot be created.
    """
    new_folders: list[Path] = []
    try:
        try:
            folder = Path(path)
            for place in (folder, *folder.parents):
                if not place.exists():
                    new_folders.append(place)
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no path"
            raise RolloutsError(
                f"no scores can be written to {str(path)!r}: {why}; give another folder"
            ) from None
        yield folder
    finally:
        # rmdir fails at the first folder that is not empty
        with suppress(OSError):
            for place in new_folders:
                place.rmdir()


def reason_columns(
    reasons: Mapping[int, Reason], rows: int
) -> tuple[pd.Series[Any], pd.Series[Any]]:
    """Return two columns of reasons by row: as sentences, and as JSON."""
    columns = []
    for write in (str, Reason.to_json):
        texts = {reason: write(reason) for reason in set(reasons.values())}
        column = np.full(rows, None, dtype=object)
        column[list(reasons)] = [texts[reason] for reason in reasons.values()]
        columns.append(pd.Series(column, dtype=object))
    return columns[0], columns[1]


def status_column(codes: NDArray[Any]) -> pd.Categorical[Any]:
    """Return a status column from codes that index `STATUSES`."""
    return pd.Categorical.from_codes(codes.astype(np.int8), dtype=STATUS_TYPE)


STATUS_TYPE: Any = pd.CategoricalDtype(list(STATUSES))


@cache
def _version(name: str) -> str:
    """Return the version of a package by its folder: importlib.metadata is slow."""
    start = f"{name.replace('-', '_')}-"
    for folder in sys.path:
        with suppress(OSError):
            for entry in os.listdir(folder or "."):
                if entry.startswith(start) and entry.endswith(".dist-info"):
                    return entry.removeprefix(start).removesuffix(".dist-info")
    return "unknown"


def versions() -> dict[str, str]:
    """Return the versions of Python, rewardkit and the libraries that affect scores."""
    installed = {"python": platform.python_version()}
    names = ("reward-workbench", "numpy", "pandas", "math-verify", "rapidfuzz", "regex")
    for name in names:
        installed[name] = _version(name)
    return installed
