"""load_scores(): a folder of parts of a scored table, read as one table.

`Scores.save` writes one part, a recorder one after the other while training goes on. A
part is put in place whole, by renaming, so that a reader never sees half of one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from rewardkit.errors import RewardError, RolloutsError
from rewardkit.findings import counted
from rewardkit.history.files import RECORDER, TOLD_STEPS, part_paths
from rewardkit.history.kept import KEPT_RUNS, data_path, find_scored
from rewardkit.rewards.recorded import reward_from_record
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.logs.log import Logged
from rewardkit.rollouts.paths import PART_OF_SCORES, SAVED_SCORES
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.part_figures import FIGURES, PartFigures
from rewardkit.scoring.scores import (
    RUN_RECORD,
    UNFINISHED,
    Scores,
    is_result,
    is_unfinished,
)
from rewardkit.scoring.stored import (
    METADATA,
    from_arrow,
    join_tables,
    parquet,
    read_stored,
)

logger = logging.getLogger(__name__)

DATA_HASH = "data"
"""Key of a record under which the hash of rollouts stands that are kept beside it."""

LARGEST_TABLE = 250_000
"""Rows of a large log that are read. Our choice: figures to three digits, in 2 GB."""

BROKEN_EXAMPLES = 3
"""Files that a note on broken parts names."""


@dataclass(frozen=True)
class RecordingSession:
    """One process that records, from its first batch or from where its steps restart.

    Attributes:
        name: Stands in the names of its parts.
        run: What it shares with the processes that its recorder was sent to.
        before: Session -> the number of its parts that were there when this one began.
            One that has no more of them had ended: no clock is needed to tell.
        steps: Where its steps are from: "trainer", "column" (of the data set), or
            "calls" (their number, as nothing tells the step).
    """

    name: str
    run: str
    before: Mapping[str, int]
    steps: str = TOLD_STEPS


@dataclass(frozen=True)
class ScoresFile:
    """A file of a scored table, as it was read."""

    path: Path
    table: pa.Table
    record: Mapping[str, Any]
    json_columns: tuple[str, ...]
    reward: Reward

    @property
    def recorder(self) -> Mapping[str, Any]:
        """Return what its recorder did; {} where `Scores.save` wrote it."""
        recorder: Mapping[str, Any] = self.record.get(RECORDER, {})
        return recorder

    @property
    def session(self) -> RecordingSession:
        """Return the session that wrote it."""
        about = self.recorder
        return RecordingSession(
            about["session"], about["run"], about["before"], about["steps"]
        )


def is_scored(path: str | Path) -> bool:
    """Return whether a path is for `load_scores`: scores in files, or nothing."""
    return not Path(path).exists() or holds_scores(path)


def holds_scores(path: str | Path) -> bool:
    """Return whether there is a file or folder at a path, with scores in it."""
    file = Path(path)
    if not file.exists():
        return False
    if file.is_dir():
        return bool(part_paths(file))
    try:
        return METADATA in (parquet().read_schema(file).metadata or {})
    except (pa.ArrowInvalid, OSError):
        return False


def read_record(path: Path) -> dict[str, Any]:
    """Return the record of a part, without its rows; RolloutsError: it has none."""
    try:
        record: dict[str, Any] = read_stored(path)["record"]
    except ValueError:
        raise _no_table(path) from None
    return record


def combining(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return of a reward's record what two parts must have in common.

    Not the hashes of its functions: a process that is sent the reward, and does not
    have its file, has others.
    """
    if "route" in record:
        route = record["route"]
        branches: list[Any] = []
        for branch in route["rewards"]:
            branches.append([branch["value"], combining(branch["reward"])])
        default = route["default"] and combining(route["default"])
        return {"column": route["column"], "rewards": branches, "default": default}
    components = []
    for item in record["components"]:
        components.append([item["name"], item["weight"], item["range"]])
    return {
        "name": record["name"],
        "fields": list(record["fields"]),
        "components": components,
        "aggregation": record["aggregation"],
        "on_missing": record["on_missing"],
    }


# --- reading


def load_scores(path: str | Path) -> Scores:
    """Load scores: of a file, of a folder that is still being written, of a kept run.

    A run of the folder ``runs`` is named by its version or a tag ("v2"). The folder is
    one that `Scores.save` wrote, or a recorder (`Recorder`), whose rows
    come in the order of their steps. A run that was resumed records some steps twice:
    the later rows count. Of a large log that was scored in parts, a sample of about
    `LARGEST_TABLE` rows is taken: all groups of prompts that their hashes choose, the
    same ones each time. What was left out, and which files cannot be read, is told in
    ``.rollouts.notes``; what recorders did stands in ``.record["recorder"]``. The
    reward is the one of the run record: it can be weighed and diagnosed, not run. A
    scoring that was interrupted is warned of, also in ``.rollouts.cautions``.

    Raises:
        RolloutsError: no such file, one that was not written by rewardkit, or parts of
            different rewards in one folder.
    """
    place = Path(path)
    if not place.exists():
        place = find_scored(str(path), Path(KEPT_RUNS)) or place
    return load_named(place, str(path))


def load_named(place: Path, name: str) -> Scores:
    """Load the scores of a file or folder; warn by this name if they are unfinished."""
    scores = _load(place)
    caution = _describe_unfinished(place, name, scores)
    if not caution:
        return scores
    logger.warning("%s", caution)
    rollouts = replace(scores.rollouts, cautions=(caution,))
    return replace(scores, rollouts=rollouts)


def _describe_unfinished(place: Path, name: str, scores: Scores) -> str:
    """Say how far an interrupted scoring came, "" of one that was finished."""
    if UNFINISHED in scores.run:
        count = f"{len(scores):,} of {scores.run[UNFINISHED]['rows_given']:,} rollouts"
    else:
        records = _records_of_parts(part_paths(place)) if place.is_dir() else []
        if not records or _is_finished(place):
            return ""
        # how many there are is not counted where a log is read part by part
        rows = sum(record[FIGURES]["rows"] for record in records)
        count = f"{rows:,} rollouts so far"
    return f"{name} is unfinished: {count}; run the same `score` again"


def _load(place: Path) -> Scores:
    """Load the scores of a file or folder; see `load_scores`."""
    if not place.is_dir():
        file = place
        if not file.is_file():
            raise _nothing_there(file)
        return _join([_read_part(file)], [])
    paths = part_paths(place)
    if not paths:
        raise _nothing_there(place / SAVED_SCORES)
    parts, broken = [], []
    records = _records_of_parts(paths)
    rows = sum(record[FIGURES]["rows"] for record in records)
    share = min(1.0, LARGEST_TABLE / max(1, rows))
    for file in paths:
        try:
            parts.append(_read_part(file, share))
        except RolloutsError as error:
            if len(paths) == 1:
                raise
            broken.append((file, error))
    if not parts:
        raise broken[0][1]
    _check_one_reward(place, parts)
    notes = []
    if broken:
        names = [file.name for file, _ in broken[:BROKEN_EXAMPLES]]
        more = ", ..." if len(broken) > len(names) else ""
        notes.append(
            f"{counted(len(broken), 'file')} of scores cannot be read and "
            f"{'is' if len(broken) == 1 else 'are'} left out: "
            f"{', '.join(names)}{more}"
        )
    if share < 1:
        notes.append(_describe_sample(place, parts, records))
    return _join(parts, notes)


def _is_finished(folder: Path) -> bool:
    """Return whether the run record of a scoring in parts is there, and is of all."""
    try:
        record = json.loads((folder / RUN_RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return UNFINISHED not in record


def _records_of_parts(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the records of the parts of a large log, [] where it is none."""
    records = []
    for path in paths:
        if PART_OF_SCORES.fullmatch(path.name):
            with suppress(RolloutsError):  # which reading it says
                records.append(read_record(path))
    return records


def _describe_sample(
    folder: Path, parts: Sequence[ScoresFile], records: Sequence[Mapping[str, Any]]
) -> str:
    """Say of how many rows a sample is, and what is known of all; log it, too."""
    figures = PartFigures.join(record[FIGURES] for record in records)
    rows = sum(part.table.num_rows for part in parts)
    note = (
        f"a sample of {rows:,} of {figures.rows:,} rows, whole groups drawn by the "
        f"hash of their prompt; {figures}"
    )
    logger.warning("%s: %s", folder, note)
    return note


def _nothing_there(file: Path) -> RolloutsError:
    return RolloutsError(
        f"there is no file {str(file)!r}; give the folder or the Parquet file that "
        "'rewardkit score -o' wrote, or the folder of a recorder, which writes its "
        "first file some seconds after the first scores"
    )


def _no_table(file: Path) -> RolloutsError:
    return RolloutsError(
        f"{str(file)!r} is not a scored table of this version of rewardkit; make one "
        "with 'rewardkit score ... -o FOLDER'"
    )


def _read_part(file: Path, share: float = 1.0) -> ScoresFile:
    """Read a file, or of a part of a large log the groups of a share of its prompts."""
    try:
        table = parquet().read_table(file)
        stored = json.loads(table.schema.metadata[METADATA])
        record, json_columns = stored["record"], tuple(stored["json_columns"])
        reward = reward_from_record(record["reward"])
        about = record["rollouts"]
        for key in ("mapping", "source", "group_key"):
            about[key]
    except (pa.ArrowInvalid, OSError, KeyError, TypeError, ValueError):
        raise _no_table(file) from None
    if not {f"reason/{name}" for name in reward.names} <= {*table.column_names}:
        raise _no_table(file)
    if DATA_HASH in record:
        data, more = _read_rollouts(file, record[DATA_HASH])
        for name in table.column_names:
            data = data.append_column(name, table.column(name))
        table, json_columns = data, (*json_columns, *more)
    if share < 1 and PART_OF_SCORES.fullmatch(file.name):
        hashes = _prompt_hashes(table, json_columns, tuple(about["group_key"]))
        table = table.filter(pa.array(hashes < share * 2.0**64))
    return ScoresFile(file, table, record, json_columns, reward)


def _prompt_hashes(
    table: pa.Table, json_columns: Sequence[str], group_key: tuple[str, ...]
) -> NDArray[np.uint64]:
    """Return the hash of each row's prompt, (rows,)."""
    names = {*group_key, "prompt", "prompt_id", "data_source"}
    names = names.intersection(table.column_names)
    keys = table.select([*sorted(names), "rollout_id"])
    rows = None
    # a prompt is hashed once, where it alone is the key and always there
    is_alone = "prompt" in names and not {"prompt_id", "data_source"} & names
    if is_alone and not table["prompt"].null_count:
        prompts = table["prompt"].combine_chunks().dictionary_encode()
        rows = prompts.indices.to_numpy()
        firsts = np.unique(rows, return_index=True)[1]
        keys = keys.take(pa.array(firsts))
    rollouts = Rollouts(from_arrow(keys, json_columns), {}, group_key)
    hashes = rollouts.prompt_hashes[rollouts.prompts]
    return hashes if rows is None else hashes[rows]


def _read_rollouts(file: Path, data: str) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the rollouts of a run that was kept, and which columns are JSON text."""
    path = data_path(file.parents[2], data)
    try:
        table = parquet().read_table(path)
        json_columns = json.loads(table.schema.metadata[METADATA])["json_columns"]
    except (pa.ArrowInvalid, OSError, KeyError, TypeError, ValueError):
        raise RolloutsError(
            f"the rollouts of the run in {str(file.parent)!r} are gone: there is no "
            f"readable {str(path)!r}; its figures and its source are still there "
            "(rewardkit runs)"
        ) from None
    return table, tuple(json_columns)


def _check_one_reward(folder: Path, parts: Sequence[ScoresFile]) -> None:
    """Raise a RolloutsError where parts are of rewards that do not combine alike."""
    first = parts[0]
    for part in parts[1:]:
        if combining(part.record["reward"]) != combining(first.record["reward"]):
            raise RolloutsError(
                f"{str(folder)!r} holds scores of different rewards, "
                f"{first.reward.name!r} in {first.path.name} and {part.reward.name!r} "
                f"in {part.path.name}; record each into a folder of its own, and move "
                "the files of one away"
            )


# --- joining


def _join(parts: Sequence[ScoresFile], notes: list[str]) -> Scores:
    """Return the scores of parts as one table."""
    first = parts[0]
    masks, sentences = _without_repeated_steps(parts)
    tables = []
    for part, mask in zip(parts, masks, strict=True):
        tables.append(part.table if mask.all() else part.table.filter(pa.array(mask)))
    table = join_tables(tables, [part.json_columns for part in parts])
    if first.recorder and "step" in table:
        table = table.sort_values("step", kind="stable", ignore_index=True)
    results = list(filter(is_result, table.columns))
    about = first.record["rollouts"]
    group_key = []
    for name in about["group_key"]:
        if all(name in part.record["rollouts"]["group_key"] for part in parts):
            group_key.append(name)
    prints = {part.record["reward"]["fingerprints"]["reward"] for part in parts}
    if len(prints) > 1:
        sentences.append(
            f"the parts were scored by {len(prints)} versions of the reward's code; "
            "what changes between them may be the code"
        )
    rollouts = Rollouts(
        table.drop(columns=results),
        about["mapping"],
        tuple(group_key),
        (),
        about["source"],
        about.get("kind", "rollouts"),
        Logged(**about.get("logged", {})),
        (*about.get("notes", ()), *notes, *sentences),
    )
    run = {}
    for key in ("versions", "ignore_gates", "timeout", "printed", UNFINISHED):
        if key in first.record:
            run[key] = first.record[key]
    if first.recorder:
        run[RECORDER] = _join_recorders(parts)
    return Scores(table, first.reward, rollouts, run)


def _join_recorders(parts: Sequence[ScoresFile]) -> dict[str, Any]:
    """Return what the recorders of the parts did, as one record."""
    sessions = dict.fromkeys(part.recorder["session"] for part in parts)
    return {
        "parts": len(parts),
        "sessions": list(sessions),
        "steps": sorted({part.recorder["steps"] for part in parts}),
        "redacted": any(part.recorder["redacted"] for part in parts),
        "sample": min(part.recorder["sample"] for part in parts),
        "rows_left_out": sum(part.recorder["rows_left_out"] for part in parts),
    }


def _without_repeated_steps(
    parts: Sequence[ScoresFile],
) -> tuple[list[np.ndarray[Any, np.dtype[np.bool_]]], list[str]]:
    """Return by part which rows count, and a sentence on those that do not.

    A session that began after one of another run had ended takes the place of its steps
    from its own first one on. Processes that record side by side do not.
    """
    masks = [np.ones(part.table.num_rows, dtype=bool) for part in parts]
    counts: dict[str, int] = {}
    starts: dict[str, float] = {}
    by_name: dict[str, RecordingSession] = {}
    untold = set()
    for part in parts:
        if not part.recorder:
            continue
        session = part.session
        by_name[session.name] = session
        counts[session.name] = part.recorder["part"]
        step = _steps(part).min(initial=np.inf)
        starts[session.name] = min(step, starts.get(session.name, np.inf))
        if session.steps != TOLD_STEPS:
            untold.add(session.name)
    rows = 0
    for part, mask in zip(parts, masks, strict=True):
        if not part.recorder or part.session.name in untold:
            continue
        session = part.session
        for later in by_name.values():
            had_ended = counts[session.name] <= later.before.get(session.name, -1)
            is_other_run = later.run != session.run and later.name not in untold
            if had_ended and is_other_run:
                mask &= _steps(part) < starts[later.name]
        rows += int((~mask).sum())
    if not rows:
        return masks, []
    sentence = (
        f"{counted(rows, 'row')} are left out: a run that was started again later "
        "recorded their steps anew, and the later rows count"
    )
    return masks, [sentence]


def _steps(part: ScoresFile) -> np.ndarray[Any, np.dtype[np.float64]]:
    column = part.table.column("step").to_pandas()
    return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=float)


def check_folder(folder: Path, reward: Reward) -> None:
    """Raise a RewardError where a recorder of this reward would not fit in.

    The folder may hold parts of the same reward, as where a run is resumed.
    """
    if (folder / SAVED_SCORES).exists():
        raise RewardError(
            f"record={str(folder)!r} is a folder that 'rewardkit score -o' wrote; give "
            "another folder"
        )
    for path in part_paths(folder):
        try:
            record = read_record(path)["reward"]
        except RolloutsError:
            continue
        if combining(record) != combining(reward.record()):
            raise RewardError(
                f"record={str(folder)!r} holds scores of another reward, "
                f"{record['name']!r}; give each reward a folder of its own"
            )
        return


def load_unfinished(folder: Path, reward: Reward, rollouts: Rollouts) -> Scores | None:
    """Return what an interrupted scoring of these two left in a folder, if it did."""
    file = folder / SAVED_SCORES
    if not file.is_file():
        return None
    try:
        if is_unfinished(read_record(file), reward, rollouts):
            return _load(folder)
    except RolloutsError:  # broken, or its rollouts are gone: it is scored anew
        pass
    return None
