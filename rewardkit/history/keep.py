"""keep(): store a scoring, its definition and its rollouts in a folder of runs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewardkit.errors import InputError, preview
from rewardkit.history.batches import redact as redact_texts
from rewardkit.history.parts import DATA_HASH
from rewardkit.history.run import Run, check_tag
from rewardkit.history.runs_folder import (
    ABOUT,
    FORMAT,
    KEPT_RUNS,
    RUN_NUMBER,
    SCORED,
    data_path,
    next_date,
    put_in_place,
    read_abouts,
    read_json,
    scoring_names,
    take_number,
    temporary_folder,
    write_access,
    write_json,
    write_numbers,
)
from rewardkit.history.versions import keep_version
from rewardkit.plain import Plain, Record
from rewardkit.rewards.fingerprint import fingerprint
from rewardkit.rollouts.paths import SAVED_SCORES, write_whole
from rewardkit.rollouts.table import table_hash
from rewardkit.scoring.parted import PartFigures
from rewardkit.scoring.scores import UNFINISHED, Scores, is_result
from rewardkit.scoring.stored import parquet, to_arrow

NOTE_SEPARATOR = "; "
"""Separator of the notes of a scoring that was kept several times."""


def keep(
    scores: Scores,
    *,
    note: str = "",
    tags: Sequence[str] = (),
    folder: str | Path = KEPT_RUNS,
    figures: Plain | None = None,
    redact: bool = False,
) -> Run:
    """Keep a scoring: its results, its definition with source, its rollouts, a note.

    A scoring that is kept twice is one run with both notes. It is written whole or not
    at all, and several processes may keep runs in one folder.

    Args:
        scores: The scoring.
        note: What was tried, for a later reader.
        tags: Names to find the run by.
        folder: The folder of runs, created if it is missing.
        figures: Further figures, such as ``label_auc`` and ``effective_weights``. The
            mean reward and the share of groups with a signal are always kept.
        redact: Whether texts are replaced by hashes.

    Returns:
        The run.

    Raises:
        RolloutsError: The folder cannot be written, or the record of the run is broken.
        InputError: The note or a tag is not a text.
    """
    if not isinstance(note, str) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(f"note={preview(note)}, tags={preview(tags)} are not texts")
    for tag in tags:
        check_tag(tag)
    if redact:
        scores = redact_texts(scores)
        # an interrupted scoring cannot be resumed from hashed fields
        run = {key: scores.run[key] for key in scores.run if key != UNFINISHED}
        scores = replace(scores, run=run)
    place = Path(folder)
    with write_access(place):
        return _keep_in(place, scores, note, tags, figures or {})


def _keep_in(
    place: Path,
    scores: Scores,
    note: str,
    tags: Sequence[str],
    figures: Plain,
) -> Run:
    """Keep a scoring in a folder that can be written; see `keep`."""
    version = keep_version(scores.reward, place)
    data = scores.rollouts.fingerprint
    _keep_data(scores, data_path(place, data))
    names = list(filter(is_result, map(str, scores.table.columns)))
    results = scores.table[names]
    name = fingerprint([version.fingerprint, data, table_hash(results)])
    target = place / SCORED / name
    write_numbers(place)
    abouts = read_abouts(place)
    unfinished = scores.run.get(UNFINISHED, {}).get("rollouts", "")
    others = [item for item in abouts if item[0] != target]
    continued = []
    for path, other in others:
        is_same = other["version"] == version.name
        is_same &= other.get(UNFINISHED) == (unfinished or data)
        if is_same and other["rows"] <= len(scores):
            continued.append((path, other))
    if not target.exists():
        about: Record = {
            "format": FORMAT,
            "version": version.name,
            "data": data,
            "source": scores.rollouts.source,
            "rows": len(scores),
            UNFINISHED: unfinished,
            "date": next_date(abouts),
            "note": note,
            "tags": list(tags),
            "figures": {**_figures_of(scores), **figures},
        }
        table = to_arrow(results, {**scores.record, DATA_HASH: data})
        with temporary_folder(target.parent) as temporary:
            _write_table(table, temporary / SAVED_SCORES)
            numbers = [other[RUN_NUMBER] for _, other in continued]
            if not numbers:  # as late as possible: a number is never given back
                numbers = [take_number(place, version.name, abouts)]
            about[RUN_NUMBER] = min(numbers)
            write_json(temporary / ABOUT, about)
            put_in_place(temporary, target)  # unless another process kept the same
    run = Run(target, version, read_json(target / ABOUT), version.name)
    _remove(continued, run, others)
    notes = ""
    all_tags: dict[str, None] = {}
    earlier = [other for _, other in continued]
    for entry in (*earlier, run.about, {"note": note, "tags": tags}):
        notes = _add_note(notes, entry["note"])
        all_tags |= dict.fromkeys(entry["tags"])
    figures = {**run.about["figures"], **figures}
    run = run.changed(note=notes, tags=list(all_tags), figures=figures)
    return replace(run, name=scoring_names(read_abouts(place))[target])


def _remove(
    continued: Sequence[tuple[Path, Record]],
    run: Run,
    others: Sequence[tuple[Path, Record]],
) -> None:
    """Remove the interrupted runs that a run continues."""
    used = {run.about["data"]}
    used |= {about["data"] for path, about in others if (path, about) not in continued}
    for path, about in continued:
        shutil.rmtree(path)
        if about["data"] not in used:
            place = run.folder.parents[1]
            data_path(place, about["data"]).unlink(missing_ok=True)


def _add_note(before: str, note: str) -> str:
    """Append a note to others, unless it is one of them."""
    if note in before.split(NOTE_SEPARATOR):
        return before
    return NOTE_SEPARATOR.join(filter(None, [before, note]))


def _keep_data(scores: Scores, path: Path) -> None:
    """Write the rollouts, unless their file exists."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [name for name in scores.table.columns if not is_result(str(name))]
    table = to_arrow(scores.table[names], {})
    write_whole(path, lambda file: _write_table(table, file))


def _write_table(table: Any, path: Path) -> None:
    parquet().write_table(table, path, compression="zstd")


def _figures_of(scores: Scores) -> Record:
    """Return the mean reward, the share of groups with a signal, and rows missing."""
    figures = PartFigures.of(scores)
    return {
        "mean": figures.total / figures.judged if figures.judged else None,
        "signal": figures.signals / figures.siblings if figures.siblings else None,
        "not_judged": figures.rows - figures.judged,
    }
