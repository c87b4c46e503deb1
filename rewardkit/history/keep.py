"""keep(): put a scoring, its definition and its rollouts into a folder of runs."""

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
    NUMBER,
    SCORED,
    data_path,
    date_after,
    folder_beside,
    put_in_place,
    read_abouts,
    read_json,
    scoring_names,
    take_number,
    write_json,
    write_numbers,
    written_in,
)
from rewardkit.history.versions import keep_version
from rewardkit.plain import Plain, Record
from rewardkit.rewards.fingerprint import fingerprint
from rewardkit.rollouts.paths import SAVED_SCORES, write_whole
from rewardkit.rollouts.table import table_hash
from rewardkit.scoring.parted import PartFigures
from rewardkit.scoring.scores import UNFINISHED, Scores, is_result
from rewardkit.scoring.stored import parquet, to_arrow

NOTES = "; "
"""What stands between the notes of a scoring that was kept several times."""


def keep(
    scores: Scores,
    *,
    note: str = "",
    tags: Sequence[str] = (),
    folder: str | Path = KEPT_RUNS,
    figures: Plain | None = None,
    redact: bool = False,
) -> Run:
    """Keep a scoring: its results, the definition with its source, and a note.

    The same scoring kept twice is one run, with both notes. It is there whole or not at
    all, and other processes may keep theirs in the same folder meanwhile.

    Args:
        scores: The scoring.
        note: What was tried, for the person who looks at it later.
        tags: Names to find it by.
        folder: Of runs; made where it is missing.
        figures: What else was measured on it, beside the mean reward and the share of
            groups with a signal: ``label_auc``, ``effective_weights``.
        redact: Whether texts are replaced by hashes.

    Returns:
        The run.

    Raises:
        RolloutsError: The folder cannot be written, or what is known of the run is
            broken.
        InputError: A note or tags that are no text.
    """
    if not isinstance(note, str) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(f"note={preview(note)}, tags={preview(tags)} are not texts")
    for tag in tags:
        check_tag(tag)
    if redact:
        scores = redact_texts(scores)
        # fields are hashes now: nothing can go on with them
        run = {key: scores.run[key] for key in scores.run if key != UNFINISHED}
        scores = replace(scores, run=run)
    place = Path(folder)
    with written_in(place):
        return _keep_in(place, scores, note, tags, figures or {})


def _keep_in(
    place: Path,
    scores: Scores,
    note: str,
    tags: Sequence[str],
    figures: Plain,
) -> Run:
    """Keep a scoring in a folder of runs; see `keep`."""
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
    for item in others:
        is_same = item[1]["version"] == version.name
        is_same &= item[1].get(UNFINISHED) == (unfinished or data)
        if is_same and item[1]["rows"] <= len(scores):
            continued.append(item)
    if not target.exists():
        about: Record = {
            "format": FORMAT,
            "version": version.name,
            "data": data,
            "source": scores.rollouts.source,
            "rows": len(scores),
            UNFINISHED: unfinished,
            "date": date_after(abouts),
            "note": note,
            "tags": list(tags),
            "figures": {**_figures_of(scores), **figures},
        }
        table = to_arrow(results, {**scores.record, DATA_HASH: data})
        with folder_beside(target.parent) as temporary:
            _write_table(table, temporary / SAVED_SCORES)
            numbers = [item[NUMBER] for _, item in continued]
            if not numbers:  # as late as can be, as one that is taken stays taken
                numbers = [take_number(place, version.name, abouts)]
            about[NUMBER] = min(numbers)
            write_json(temporary / ABOUT, about)
            put_in_place(temporary, target)  # or another process has kept the same
    run = Run(target, version, read_json(target / ABOUT), version.name)
    _remove(continued, run, others)
    notes = ""
    all_tags: dict[str, None] = {}
    continued_abouts = [about for _, about in continued]
    for entry in (*continued_abouts, run.about, {"note": note, "tags": tags}):
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
    """Append a note to another one, unless it is there already."""
    notes = before.split(NOTES)
    return before if note in notes else NOTES.join(filter(None, [before, note]))


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
    """Return the mean reward, and the share of groups whose rewards differ."""
    figures = PartFigures.of(scores)
    return {
        "mean": figures.total / figures.judged if figures.judged else None,
        "signal": figures.signals / figures.siblings if figures.siblings else None,
        "not_judged": figures.rows - figures.judged,
    }
