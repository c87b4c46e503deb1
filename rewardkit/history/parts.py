"""load_scores(): read a folder of parts of a scored table as one table.

`Scores.save` writes one part, a recorder one after another during training. A finished
part is renamed into place, so a reader never sees half a part.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from rewardkit.errors import RewardError, RolloutsError
from rewardkit.findings import counted
from rewardkit.history.files import part_paths
from rewardkit.history.joining import ScoresFile, join_parts
from rewardkit.history.runs_folder import KEPT_RUNS, data_path, find_scored
from rewardkit.plain import Plain, Record
from rewardkit.rewards.recorded import reward_from_record
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.file_cache import FileCache
from rewardkit.rollouts.paths import SAVED_SCORES, job_digits
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.parted import FIGURES, SAMPLED_SHARES, PartFigures
from rewardkit.scoring.scores import RUN_RECORD, UNFINISHED, Scores
from rewardkit.scoring.stored import (
    METADATA,
    StoredTable,
    join_tables,
    parquet,
    read_stored,
)

logger = logging.getLogger(__name__)

DATA_HASH = "data"
"""Key of a record with the hash of rollouts in a file of their own."""

LARGEST_TABLE = 250_000
"""Most rows read of a large log. Our choice: figures to three digits, in 2 GB."""

BROKEN_EXAMPLES = 3
"""Files named in a note on broken parts."""


def is_scored(path: str | Path) -> bool:
    """Return whether `load_scores` takes a path: it holds scores or does not exist."""
    return not Path(path).exists() or holds_scores(path)


def holds_scores(path: str | Path) -> bool:
    """Return whether a path is a file or folder with scores."""
    file = Path(path)
    if not file.exists():
        return False
    if file.is_dir():
        return bool(part_paths(file))
    try:
        return METADATA in (parquet().read_schema(file).metadata or {})
    except (pa.ArrowInvalid, OSError):
        return False


def read_record(path: Path) -> Record:
    """Read the record of a part without its rows; RolloutsError: it has none."""
    try:
        return read_stored(path).record
    except ValueError:
        raise _not_a_table(path) from None


def comparable_record(record: Plain) -> Record:
    """Return the entries of a reward's record that all parts of a table must share.

    The hashes of functions are not among them: they differ in a process that received
    the reward without its file.
    """
    if "route" in record:
        route = record["route"]
        rewards = {
            item["value"]: comparable_record(item["reward"])
            for item in route["rewards"]
        }
        default = route["default"] and comparable_record(route["default"])
        return {"column": route["column"], "rewards": rewards, "default": default}
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


def load_scores(path: str | Path, *, cache: FileCache | None = None) -> Scores:
    """Load scores from a file, a folder, or a kept run.

    The reward of the scores comes from the run record: it can be reweighted and
    diagnosed, but not run.

    - A kept run is named by its version or a tag, such as "v2".
    - A folder of a `Recorder` may still grow. Its rows are sorted by step. If a resumed
      run repeated steps, the later rows count.
    - A large log that was scored in parts is sampled: about `LARGEST_TABLE` rows, whole
      groups chosen by the hash of their prompt, the same ones each time.
    - An interrupted scoring is logged as a warning.

    ``.rollouts.notes`` name rows that were left out and unreadable files,
    ``.rollouts.cautions`` an interrupted scoring. ``.record["recorder"]`` describes the
    recorders.

    Args:
        path: A file, a folder that `Scores.save` or a recorder wrote, or the name of a
            run in the folder ``runs``.
        cache: Files of recorders that were read before.

    Raises:
        RolloutsError: The file is missing or not one of rewardkit's, or the parts are
            of different rewards.
    """
    place = find_scored(path, Path(KEPT_RUNS)) or Path(path)
    return load_named(place, str(path), cache)


def load_named(place: Path, name: str, cache: FileCache | None = None) -> Scores:
    """Load the scores of a file or folder; warn if they are unfinished, by `name`."""
    scores = _load(place, cache)
    caution = _describe_unfinished(place, name, scores)
    if not caution:
        return scores
    logger.warning("%s", caution)
    return _with_cautions(scores, (caution,))


def _describe_unfinished(place: Path, name: str, scores: Scores) -> str:
    """Say how far an interrupted scoring came, or return "" if it is finished."""
    if UNFINISHED in scores.run:
        count = f"{len(scores):,} of {scores.run[UNFINISHED]['rows_given']:,} rollouts"
    else:
        run = _run_record(place)
        if _is_finished(run):
            return ""
        # a log that is read part by part has no count of all rows
        rows = _figures_of(place, run).rows
        if not rows:
            return ""
        count = f"{rows:,} rollouts so far"
    return f"{name} is unfinished: {count}; run the same `score` again"


def _load(place: Path, cache: FileCache | None = None) -> Scores:
    """Load the scores of a file or folder; see `load_scores`."""
    cache = cache or FileCache()
    if not place.is_dir():
        if not place.is_file():
            raise _no_file(place)
        return join_parts([_read_part(place)], [])
    run = _run_record(place)
    paths = _files_of_last_run(place, run)
    if not paths:
        raise _no_file(place / SAVED_SCORES)
    parts, broken = [], []
    figures = _figures_of(place, run)
    share = min(1.0, LARGEST_TABLE / max(1, figures.rows))
    for file in paths:
        try:
            if job_digits(file):
                parts.append(_read_share(file, share))
            else:
                parts.append(cache.load(file, _read_part))
        except RolloutsError as error:
            broken.append((file, error))
    if not parts:
        raise broken[0][1]
    _check_one_reward(place, parts)
    notes = []
    if broken:
        names = [file.name for file, _ in broken[:BROKEN_EXAMPLES]]
        ellipsis = ", ..." if len(broken) > len(names) else ""
        notes.append(
            f"{counted(len(broken), 'file')} of scores cannot be read and "
            f"{'is' if len(broken) == 1 else 'are'} left out: "
            f"{', '.join(names)}{ellipsis}"
        )
    cautions = tuple(notes) if _is_finished(run) else ()
    for caution in cautions:
        logger.warning("%s: %s; run the same `score` again", place, caution)
    if share == 1:
        return _with_cautions(join_parts(parts, notes), cautions)
    rows_read = sum(part.table.num_rows for part in parts)
    note = (
        f"a sample of {rows_read:,} of {figures.rows:,} rows, whole groups drawn by "
        f"the hash of their prompt; {figures}"
    )
    logger.warning("%s: %s", place, note)
    scores = join_parts(parts, [*notes, note], sampled_from=figures.rows)
    return _with_cautions(scores, cautions)


def _with_cautions(scores: Scores, cautions: tuple[str, ...]) -> Scores:
    """Return the scores with these cautions on their rollouts."""
    return replace(scores, rollouts=replace(scores.rollouts, cautions=cautions))


def _files_of_last_run(folder: Path, run: Plain) -> list[Path]:
    """List the files of the last run in a folder that may hold parts of earlier runs.

    Earlier parts hold the same rows: the scoring was repeated with other options, or
    restarted as groups were scattered. Of an unfinished run the job that wrote last
    counts.
    """
    paths = part_paths(folder)
    if _is_finished(run) and "parts" in run:
        return [folder / name for name in run["parts"]]
    if len(set(map(job_digits, paths))) < 2:
        return paths
    last = ""
    if not _is_finished(run):
        last = job_digits(max(paths, key=_changed_at))
    return [path for path in paths if job_digits(path) == last]


def _changed_at(path: Path) -> int:
    """Return the modification time of a file, 0 if it was removed meanwhile."""
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return 0


def _run_record(folder: Path) -> Record:
    """Return the run record of a folder, {} without a readable one."""
    with suppress(OSError, ValueError):
        text = (folder / RUN_RECORD).read_text(encoding="utf-8")
        return dict(json.loads(text))
    return {}


def _is_finished(run: Plain) -> bool:
    """Return whether a run record is that of a finished scoring."""
    return bool(run) and UNFINISHED not in run


def _figures_of(folder: Path, run: Plain) -> PartFigures:
    """Return the figures of a large log or of its parts so far, else zeros."""
    if _is_finished(run):
        return PartFigures(**run.get(FIGURES, {}))
    figures = []
    for path in filter(job_digits, _files_of_last_run(folder, run)):
        with suppress(RolloutsError):  # reported when the part is read
            figures.append(read_record(path)[FIGURES])
    return PartFigures.join(figures)


def _no_file(file: Path) -> RolloutsError:
    return RolloutsError(
        f"there is no file {str(file)!r}; give the folder or the Parquet file that "
        "'rewardkit score -o' wrote, or the folder of a recorder, which writes its "
        "first file some seconds after the first scores"
    )


def _not_a_table(file: Path) -> RolloutsError:
    return RolloutsError(
        f"{str(file)!r} is not a scored table of this version of rewardkit; make one "
        "with 'rewardkit score ... -o FOLDER'"
    )


def _read_part(file: Path, share: float = 1.0) -> ScoresFile:
    """Read a part, or a share of its prompts; see `read_stored`."""
    try:
        stored = read_stored(file, None, share=share)
        record = stored.record
        reward = reward_from_record(record["reward"])
        about = record["rollouts"]
        for key in ("mapping", "source", "group_key"):
            about[key]
    except (KeyError, TypeError, ValueError):
        raise _not_a_table(file) from None
    table, json_columns = stored.table, stored.json_columns
    if not {f"reason/{name}" for name in reward.names} <= {*table.column_names}:
        raise _not_a_table(file)
    if DATA_HASH in record:
        data = _read_rollouts(file, record[DATA_HASH])
        columns, json_columns = data.table, json_columns + data.json_columns
        for name in table.column_names:
            columns = columns.append_column(name, table.column(name))
        table = columns
    return ScoresFile(table, record, json_columns, file, reward)


def _read_share(file: Path, share: float) -> ScoresFile:
    """Read the groups of a share of the prompts of a large log's part."""
    if share <= SAMPLED_SHARES[-1]:
        return _read_part(file, share)
    part = _read_part(file)
    if share == 1:
        return part
    group_key = tuple(part.record["rollouts"]["group_key"])
    names = {*group_key, "prompt", "prompt_id", "data_source", "rollout_id"}
    keys = part.table.select(sorted(names.intersection(part.table.column_names)))
    rollouts = Rollouts(join_tables([replace(part, table=keys)]), {}, group_key)
    is_chosen = pa.array(rollouts.prompt_shares < share)
    return replace(part, table=part.table.filter(is_chosen))


def _read_rollouts(file: Path, data: str) -> StoredTable:
    """Read the rollouts of a kept run."""
    path = data_path(file.parents[2], data)
    try:
        return read_stored(path, None)
    except ValueError:
        raise RolloutsError(
            f"the rollouts of the run in {str(file.parent)!r} are gone: there is no "
            f"readable {str(path)!r}; its figures and its source are still there "
            "(rewardkit runs)"
        ) from None


def _check_one_reward(folder: Path, parts: Sequence[ScoresFile]) -> None:
    """Raise a RolloutsError if parts are of different rewards."""
    first = parts[0]
    expected = comparable_record(first.record["reward"])
    for part in parts[1:]:
        if comparable_record(part.record["reward"]) != expected:
            raise RolloutsError(
                f"{str(folder)!r} holds scores of different rewards, "
                f"{first.reward.name!r} in {first.path.name} and {part.reward.name!r} "
                f"in {part.path.name}; record each into a folder of its own, and move "
                "the files of one away"
            )


def check_folder(folder: Path, reward: Reward) -> None:
    """Raise a RewardError if a recorder of this reward cannot use the folder.

    It can if all parts are of the same reward, as when a run is resumed.
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
        if comparable_record(record) != comparable_record(reward.record()):
            raise RewardError(
                f"record={str(folder)!r} holds scores of another reward, "
                f"{record['name']!r}; give each reward a folder of its own"
            )
        return
