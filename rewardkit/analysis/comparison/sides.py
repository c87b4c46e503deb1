"""Side: one of the scored tables that are compared, and the figures it stands for."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.comparison.matching import keep_shared
from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.forecast import Forecast, forecast
from rewardkit.analysis.rehearsal.outlook import Outlook, TakesOver
from rewardkit.errors import InputError, RewardError, preview
from rewardkit.history.run import Run
from rewardkit.history.runs import load_version
from rewardkit.history.runs_folder import LABEL
from rewardkit.history.versions import Version, write_files
from rewardkit.plain import Plain, Record
from rewardkit.rewards.load import find_reward
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.scores import Scores

SIDE_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
GRAVE_SEVERITIES = ("high", "warn")
OUTLOOK = "outlook"
"""Key of what is known of a run under which its outlook stands."""


@dataclass(frozen=True, eq=False)
class Side:
    """A scored table that is compared with others, by name.

    `all_scores` are the caller's; `scores`, with their `diagnosis`, are of the rollouts
    that all versions have. `run` is its kept run, None where it was not kept.
    """

    name: str
    all_scores: Scores = field(repr=False)
    scores: Scores = field(repr=False)
    diagnosis: Diagnosis = field(repr=False)
    run: Run | None = field(default=None, repr=False)

    @property
    def has_all_rows(self) -> bool:
        """Return whether all rows that were given are compared."""
        return self.scores is self.all_scores

    @cached_property
    def source(self) -> Mapping[str, bytes]:
        """Return the files of the reward by name, {} where they are not at hand."""
        if self.run is not None:
            return self.run.version.source
        read_from = self.scores.reward.read_from
        return read_from.files if read_from else {}

    @cached_property
    def to_run(self) -> Reward:
        """Return the reward in a form that can be run, where there is one.

        Of a kept run it is read from the source of its version.
        """
        reward = self.scores.reward
        if self.run is None or reward.can_run:
            return reward
        return read_kept_reward(self.run.version) or reward

    @cached_property
    def rehearsed(self) -> tuple[Outlook | None, float]:
        """Return the outlook of training on it, and the seconds of its rehearsal.

        If the kept run has an outlook of the same rows and settings, it is read (0
        seconds). Else the training is rehearsed now, and the outlook is kept.
        """
        diagnosis = self.diagnosis
        run = self.run if self.has_all_rows else None
        if run is not None:
            outlook = kept_outlook(run, diagnosis)
            if outlook is not None:
                return outlook, 0.0
        started = time.perf_counter()
        outlook = forecast(diagnosis).outlook
        if run is not None and outlook is not None:
            keep_outlook(run, diagnosis, outlook)
        return outlook, time.perf_counter() - started

    @property
    def outlook(self) -> Outlook | None:
        """Return what training would make of the task, None where nothing tells it."""
        outlook, _ = self.rehearsed
        return outlook

    @property
    def kept_figures(self) -> Plain:
        """Return the figures kept with its run, of all rows: cases, exploits ..."""
        return {} if self.run is None else self.run.figures

    @cached_property
    def figures(self) -> Record:
        """Return the figures of its compared rows: mean, signals, findings.

        ``signal`` is the share of groups of several judged rows whose rewards differ,
        ``task_signal`` that of the groups in which completions differ in the task and
        are paid differently; None where there is nothing to tell it by.
        """
        table = self.diagnosis.group_signal
        views = {view.part or "all" for view in self.diagnosis.views}
        rows = table[table["slice"].isin(views)]

        def share(name: str) -> float | None:
            judged = rows[rows[name].notna()]
            if judged.empty:
                return None
            return float(np.average(judged[name], weights=judged["groups"]))

        zero_std = share("zero_std")
        mean = pd.Series(self.diagnosis.scores.rewards).mean()
        severities = Counter(item.severity for item in self.diagnosis.findings)
        return {
            "mean": None if pd.isna(mean) else float(mean),
            "signal": None if zero_std is None else 1 - zero_std,
            "task_signal": share("task_signal"),
            "findings": [severities[severity] for severity in GRAVE_SEVERITIES],
        }

    def record(self) -> Record:
        """Return what it is as plain data."""
        scores = self.scores
        return {
            "name": self.name,
            "reward": scores.reward.name,
            "rows": len(self.all_scores),
            "rollouts": scores.rollouts.source,
            "fingerprints": scores.reward.record()["fingerprints"],
            "note": "" if self.run is None else self.run.note,
        }


def open_sides(
    versions: Sequence[Any],
    names: Sequence[str] | None,
    *,
    label: str | None,
    **settings: Any,
) -> tuple[Side, ...]:
    """Return the sides of a comparison, diagnosed, each with a name of its own.

    All are diagnosed on the rollouts that all of them have, see `keep_shared`.

    Args:
        versions: Scores, kept runs, or what names one: a version, a tag, a folder.
        names: What they are called; None for their own names.
        label: A trusted column; without one that under which all runs were kept.
        **settings: Of `diagnose`.

    Raises:
        InputError: Something else, or no rollout is in all of them, see `keep_shared`.
        RolloutsError: Scores that are not there, or cannot be read.
    """
    opened = [
        _open(version, SIDE_LETTERS[i % 26]) for i, version in enumerate(versions)
    ]
    if label is None:
        labels = {run.figures.get(LABEL) if run else None for _, _, run in opened}
        label = labels.pop() if len(labels) == 1 else None
    if names is None:
        names = [own_name for own_name, _, _ in opened]
    unique_names = _number_alike(names)
    shared = keep_shared([scores for _, scores, _ in opened], unique_names)
    sides = []
    for name, (_, all_scores, run), scores in zip(
        unique_names, opened, shared, strict=True
    ):
        diagnosis = diagnose(scores, label=label, **settings)
        sides.append(Side(name, all_scores, scores, diagnosis, run))
    return tuple(sides)


def _number_alike(names: Sequence[str]) -> list[str]:
    """Return the names, each repeated one with its number behind it."""
    counts: Counter[str] = Counter()
    unique = []
    for name in names:
        counts[name] += 1
        unique.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return unique


def _open(version: Any, letter: str) -> tuple[str, Scores, Run | None]:
    """Return the name, the scores and the kept run of what is to be compared."""
    name = letter
    if isinstance(version, str | Path):
        name = str(version)
        version = load_version(version)
    if isinstance(version, Scores):
        return name, version, None
    if not isinstance(version, Run):
        raise InputError(
            "compare takes Scores, as rk.score or rk.load_scores give them, kept runs, "
            f"or the names of runs and folders, not {preview(version)}"
        )
    return version.version.name, version.scores, version


def read_kept_reward(version: Version) -> Reward | None:
    """Return the reward of a version, its files run anew from a folder of their own.

    None where its source was not kept, does not run by itself, or gives another reward.
    """
    file, _, name = str(version.about["entry"]).rpartition(":")
    if file not in version.source:  # no file, or the module of a package
        return None
    with TemporaryDirectory() as folder:
        write_files(Path(folder), version.source)
        try:
            reward, _ = find_reward(f"{Path(folder) / file}:{name}")
        except RewardError:
            return None
    if not isinstance(reward, Reward):
        return None
    is_same = reward.record()["fingerprints"]["reward"] == version.fingerprint
    return reward if is_same else None


def kept_outlook(run: Run, diagnosis: Diagnosis) -> Outlook | None:
    """Return the outlook that was kept with a run, made under the same settings.

    None where there is none, or one of other settings, label or seed.
    """
    stored = run.about.get(OUTLOOK)
    if stored is None or stored["settings"] != _settings(diagnosis):
        return None
    # runs kept by older versions have no interval
    fields = {"interval": (math.nan, math.nan), **stored["fields"]}
    if fields["takes_over"] is not None:
        takes_over = dict(fields["takes_over"])
        takes_over["share"] = tuple(takes_over["share"])
        fields["takes_over"] = TakesOver(**takes_over)
    for name in ("untried", "interval"):
        fields[name] = tuple(fields[name])
    return Outlook(**fields)


def keep_outlook(run: Run, source: Diagnosis | Forecast, outlook: Outlook) -> None:
    """Keep an outlook with its run, unless its folder cannot be written.

    Args:
        run: The run.
        source: What it was made of, which has the settings.
        outlook: The outlook.
    """
    about = {"settings": _settings(source), "fields": asdict(outlook)}
    with suppress(OSError):
        run.changed(outlook=about)


def _settings(source: Diagnosis | Forecast) -> Record:
    """Return what an outlook depends on besides the scores."""
    label = source.views[0].context.label_name
    return {"training": source.training.record(), "label": label, "seed": source.seed}
