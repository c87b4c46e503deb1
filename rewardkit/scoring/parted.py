"""Scores that stay in the files of a folder, column by column read when asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from rewardkit.plain import Record
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.scores import RUN_RECORD, Scores, rollouts_of
from rewardkit.scoring.stored import join_tables, read_stored

OF_A_RUN = ("versions", "ignore_gates", "timeout", "printed", "figures", "parts")
"""Keys of a run record that are no figures of its scores."""


class PartedScores(Scores):
    """Scores of a folder of parts: its rows are not held.

    A column is read when it is asked for (`rewards`, `score`, `status`); `table` and
    `rollouts` read all, and what is made of them (`reweigh`, `at`) is held.
    """

    folder: Path
    memory: int
    """Bytes that the processes which scored them held at most; 0: not known."""

    def __new__(cls, *args: Any, **fields: Any) -> Any:
        """Make scores that are held where the table is given, as `replace` does."""
        if "table" in fields:
            return Scores(**fields)
        return super().__new__(cls)

    def __init__(self, folder: Path, reward: Reward, memory: int = 0) -> None:
        set_field = object.__setattr__
        text = (folder / RUN_RECORD).read_text(encoding="utf-8")
        record = json.loads(text)
        set_field(self, "folder", folder)
        set_field(self, "reward", reward)
        set_field(self, "memory", memory)
        set_field(self, "_record", record)
        run = {name: record[name] for name in OF_A_RUN if name in record}
        set_field(self, "run", run)

    def __len__(self) -> int:
        return int(self.record["rollouts"]["rows"])

    @property
    def paths(self) -> list[Path]:
        """Return the files of the parts, in their order."""
        return [self.folder / name for name in self.run["parts"]]

    @property
    def record(self) -> Record:
        """Return the run record: what the folder's ``run.json`` says."""
        record: Record = self.__dict__["_record"]
        return record

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of rows by component and status."""
        counts: dict[str, dict[str, int]] = self.record["counts"]
        return counts

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return all rows, which are held from then on; see `Scores`."""
        return self._read(None)

    @cached_property
    def rollouts(self) -> Rollouts:
        """Return the rollouts of all rows, which are held from then on."""
        return rollouts_of(self.table, self.record["rollouts"])

    def column(self, name: str) -> pd.Series[Any] | None:
        """Read a column of all parts; None where none has it."""
        if "table" in self.__dict__:
            return super().column(name)
        return self._read([name]).get(name)

    def _read(self, names: Sequence[str] | None) -> pd.DataFrame:
        """Read these columns of all parts, or all."""
        return join_tables([read_stored(path, names) for path in self.paths])
