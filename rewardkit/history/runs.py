"""Runs: the kept scorings of a folder, and their table.

`history/runs_folder.py` describes the layout of the folder.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from rewardkit.errors import InputError, did_you_mean
from rewardkit.history.parts import load_named
from rewardkit.history.run import Run, date_of, figure_texts, number_text
from rewardkit.history.runs_folder import (
    ABOUT,
    KEPT_RUNS,
    SCORED,
    VERSIONS,
    data_path,
    find_scored,
    read_abouts,
    read_json,
    scoring_names,
    write_access,
    write_numbers,
)
from rewardkit.history.versions import Version, read_versions
from rewardkit.html.blocks import Block, Table
from rewardkit.html.has_page import HasPage
from rewardkit.html.pages import Page
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.scored import read_unfinished
from rewardkit.scoring.scores import UNFINISHED, Scores

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class Runs(HasPage, Sequence[Run]):
    """The kept scorings of a folder, newest first.

    ``runs["v2"]`` is the newest run of a version or tag, ``runs["v2.1"]`` the first of
    a version that was scored on several rollouts, ``runs[0]`` the newest of all.
    `unscored` are the names of kept versions without a run.
    """

    folder: Path
    items: tuple[Run, ...]
    unscored: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.items)

    def __getitem__(self, key: Any) -> Any:
        """Return a run by its index, version or tag, or a slice as `Runs`.

        Raises:
            InputError: No run has this name.
        """
        if isinstance(key, slice):
            return replace(self, items=self.items[key])
        if not isinstance(key, str):
            return self.items[key]
        for run in self.items:
            if key in run.names:
                return run
        if key in self.unscored:
            raise InputError(
                f"{key} in {str(self.folder)!r} has no scoring: `rewardkit runs "
                f"restore {key} -o FILE` writes its source, and `rewardkit score "
                "--keep` of that makes one"
            )
        names = self.names
        raise InputError(
            f"there is no run {key!r} in {str(self.folder)!r}; it has "
            f"{names}{did_you_mean(key, names)}"
        )

    @property
    def names(self) -> list[str]:
        """Return the versions and tags that name runs."""
        names = chain.from_iterable(run.names for run in self.items)
        return list(dict.fromkeys(names))

    def version(self, name: str) -> Version:
        """Return a version by its own name or the name of a run.

        Raises:
            InputError: No version or run has this name.
        """
        if name in self.unscored:
            versions = read_versions(self.folder)
            return next(item for item in versions if item.name == name)
        version: Version = self[name].version
        return version

    def select(self, *, reward: str = "", tag: str = "", version: str = "") -> Runs:
        """Return the runs of a reward's name, a tag and a version; "" selects all."""
        chosen = []
        for run in self.items:
            is_named = not reward or run.version.about["reward"] == reward
            is_tagged = not tag or tag in run.tags
            if is_named and is_tagged and version in ("", run.version.name):
                chosen.append(run)
        unscored = () if reward or tag or version else self.unscored
        return replace(self, items=tuple(chosen), unscored=unscored)

    def newest(self, count: int) -> list[Run]:
        """Return a run of each of the newest `count` versions, oldest first.

        Only runs with the reward's name and the rollouts of the newest run count.
        """
        chosen: dict[str, Run] = {}
        for run in self.items:
            newest = self.items[0]
            is_same_reward = (
                run.version.about["reward"] == newest.version.about["reward"]
            )
            if is_same_reward and run.about["data"] == newest.about["data"]:
                chosen.setdefault(run.version.name, run)
        return list(chosen.values())[:count][::-1]

    @property
    def table(self) -> pd.DataFrame:
        """Return one row per run: its record, with one column per figure."""
        rows = []
        for run in self.items:
            record = run.record()
            rows.append({**record, **record.pop("figures")})
        return pd.DataFrame(rows)

    def record(self) -> dict[str, Any]:
        """Return the runs as plain data."""
        runs = [run.record() for run in self.items]
        return {"runs": runs, "unscored": list(self.unscored)}

    def page(self) -> Page:
        """Return the table of the runs, newest first."""
        blocks: list[Block] = []
        if self.unscored:
            blocks.append(
                f"Without a scoring: {', '.join(self.unscored)} (only checked or "
                f"probed, or the folder in {self.folder / SCORED} is gone)"
            )
        if not self.items:
            title = f"No such runs in {self.folder}"
            if not read_abouts(self.folder):
                title = f"Nothing is kept in {str(self.folder)!r} yet"
            return Page(f"{title}: rewardkit score REWARD LOG --keep", blocks)
        rows = [_cells(run, self) for run in self.items]
        constant = []
        for name in ONCE_IF_CONSTANT:
            if len({row[name] for row in rows}) == 1:
                constant.append(name)
        header = [name for name in COLUMNS if name not in constant]
        is_compared = {row[AGAINST_PARENT] for row in rows} - {"", NOT_KNOWN}
        if not is_compared:
            header.remove(AGAINST_PARENT)
        cells = [[row[name] for name in header] for row in rows]
        about = "; ".join(f"{name} {rows[0][name]}" for name in constant)
        blocks.insert(0, Table("", header, cells, COLUMNS_OF_NUMBERS, wraps=True))
        if not is_compared and any(row[AGAINST_PARENT] for row in rows):
            blocks.append(NOTHING_COMPARED)
        weights = [f"{run.name} {run.shares}" for run in self if run.shares]
        if weights:
            blocks.append(f"Effective weights in %: {'; '.join(weights)}")
        return Page(f"Runs in {self.folder}", blocks, about)

    def to_delete(self, name: str) -> list[Run]:
        """Return the runs that `delete` would remove.

        Raises:
            InputError: No version or run has this name.
        """
        matches = [run for run in self.items if name in (run.name, run.version.name)]
        if not matches and name not in self.unscored:
            self[name]  # raises with the names of all runs
            raise InputError(f"{name!r} is a tag; name the version to delete")
        return matches

    def delete(self, name: str) -> list[Run]:
        """Remove a version with all its runs, or one run such as "v3.1".

        The source and the rollouts are removed if no other run needs them.

        Returns:
            The removed runs.

        Raises:
            InputError: No version or run has this name.
        """
        version = self.version(name)
        removed = self.to_delete(name)
        remaining = [run for run in self.items if run not in removed]
        data_in_use = {run.about["data"] for run in remaining}
        with write_access(self.folder):
            write_numbers(self.folder)
            for run in removed:
                shutil.rmtree(run.folder)
            if version.name not in [run.version.name for run in remaining]:
                version.delete()
            for data in {run.about["data"] for run in removed} - data_in_use:
                data_path(self.folder, data).unlink(missing_ok=True)
        return removed


AGAINST_PARENT = "against parent"
"""The column of changes since the parent version."""
NOT_KNOWN = "not known"
NOTHING_COMPARED = (
    "Better or worse than the parent: not known; `rewardkit score --keep --label "
    "COLUMN` or `rewardkit check --keep` of each version would tell, `rewardkit "
    "compare` says what differs"
)

COLUMNS = (
    "version",
    "reward",
    "date",
    "data",
    "rows",
    "mean",
    "signal",
    "label AUC",
    "cases",
    "exploits",
    AGAINST_PARENT,
    "tags",
    "note",
)
ONCE_IF_CONSTANT = ("reward", "data", "rows")
"""Columns that stand above the table if all runs have the same value."""
COLUMNS_OF_NUMBERS = ("rows", "mean", "signal", "label AUC", "cases", "exploits")


def _cells(run: Run, runs: Runs) -> dict[str, str]:
    """Return the cells of a run by column, "" for unknown values."""
    figures, about, source = run.figures, run.about, run.data_source
    return {
        **dict.fromkeys(COLUMNS, ""),
        "version": run.name,
        "reward": str(run.version.about["reward"]),
        "date": date_of(about),
        "data": source if ":" in source else Path(source).name,
        "rows": f"{about['rows']:,}",
        "mean": number_text(figures.get("mean")),
        **figure_texts(figures),
        AGAINST_PARENT: against_parent(run, runs),
        "tags": ", ".join(run.tags),
        "note": run.note,
    }


def against_parent(run: Run, runs: Sequence[Run]) -> str:
    """Describe the changes since the newest run of the parent on the same rollouts.

    Counts of cases and exploits are called better or worse. Shares are only quoted, as
    their noise is known to `compare` alone. Return "" without such a run, "not known"
    if the runs share no figure.
    """
    for other in runs:
        is_same_data = other.about["data"] == run.about["data"]
        if other.version.name == run.version.parent and is_same_data:
            break
    else:
        return ""
    before, after = other.figures, run.figures
    moved = []
    has_count = False
    for name, way in (("cases", 1), ("exploits", -1)):
        if name in before and name in after:
            has_count = True
            change = way * (_count(after[name]) - _count(before[name]))
            if change:
                moved.append(f"{name} {'better' if change > 0 else 'worse'}")
    for name in ("signal", "label_auc"):
        pair = before.get(name), after.get(name)
        if None not in pair and pair[0] != pair[1]:
            first, last = map(number_text, pair)
            moved.append(f"{name.replace('_', ' ')} {first} -> {last}")
    if moved:
        return ", ".join(moved)
    return "neither better nor worse" if has_count else NOT_KNOWN


def _count(figure: Any) -> int:
    """Return a count of exploits, or the cases that pass of (passed, all)."""
    return int(figure[0] if isinstance(figure, list | tuple) else figure)


# --- reading


def runs(folder: str | Path = KEPT_RUNS) -> Runs:
    """Return the kept scorings of a folder, newest first.

    Broken ones and those of a newer format are left out with a warning.

    Args:
        folder: The folder of runs.

    >>> from tempfile import mkdtemp
    >>> len(runs(mkdtemp()))
    0
    """
    place = Path(folder)
    by_name = {version.name: version for version in read_versions(place)}
    items = []
    abouts = read_abouts(place)
    scorings = scoring_names(abouts)
    for path, about in abouts:
        version = by_name.get(about["version"])
        source = place / VERSIONS / about["version"]
        if not source.exists():
            log.warning("%s is left out, as its version %s is gone", path, source)
        if version is not None and not version.is_deleted:
            items.append(Run(path, version, about, scorings[path]))
    names = [version.name for version in by_name.values() if not version.is_deleted]
    scored = {run.version.name for run in items}
    unscored = [name for name in names if name not in scored]
    return Runs(place, tuple(items), tuple(unscored))


def find_unfinished(reward: Reward, rollouts: Rollouts) -> Scores | None:
    """Return the kept scores of an interrupted scoring of the rollouts, or None."""
    for path, about in read_abouts(Path(KEPT_RUNS)):
        if about.get(UNFINISHED) == rollouts.fingerprint:
            scores = read_unfinished(path, reward, rollouts)
            if scores is not None:
                return scores
    return None


def find_run(name: str | Path, folder: str | Path = KEPT_RUNS) -> Run | None:
    """Return the kept run of this name, or None.

    Args:
        name: A version ("v2"), a tag, or the folder of a run. As in `load_scores`, a
            file or folder of that name comes first.
        folder: The folder of runs.

    Raises:
        RolloutsError: The name is a version that does not exist, or the record of the
            run is broken or of a newer format.
    """
    path = find_scored(name, Path(folder))
    if path is None or path.parent.name != SCORED or not (path / ABOUT).is_file():
        return None
    about = read_json(path / ABOUT)
    version = path.resolve().parents[1] / VERSIONS / about["version"]
    scorings = scoring_names(read_abouts(path.resolve().parents[1]))
    unique_name = scorings.get(path.resolve()) or str(about["version"])
    return Run(path, Version(version, read_json(version / ABOUT)), about, unique_name)


def load_version(name: str | Path, folder: str | Path = KEPT_RUNS) -> Run | Scores:
    """Return the kept run of a name, else the scores of a file or folder.

    Raises:
        RolloutsError: As in `find_run` and `load_scores`.
    """
    run = find_run(name, folder)
    if run is not None:
        return run
    return load_named(find_scored(name, Path(folder)) or Path(name), str(name))
