"""Join the parts of a scored table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from rewardkit.findings import counted
from rewardkit.history.files import RECORDER, TRAINER_STEPS
from rewardkit.plain import Plain, Record
from rewardkit.rewards.reward import Floats, Reward
from rewardkit.scoring.scores import UNFINISHED, Scores, rollouts_of
from rewardkit.scoring.stored import StoredTable, join_tables


@dataclass(frozen=True)
class ScoresFile(StoredTable):
    """A file of a scored table, with its path and the reward of its record."""

    path: Path
    reward: Reward

    @property
    def recorder(self) -> Plain:
        """Return the record of the recorder, {} if `Scores.save` wrote the file.

        "session" is a recording process since its first batch, or since its steps
        restarted; the names of its parts contain it. "run" is shared by the processes
        that the recorder was sent to. "before" has the number of parts of each session
        at the start of this one: a session without later parts had ended by then, which
        needs no clock. "steps" is the origin of the steps: "trainer", "column" (of the
        data set) or "calls" (the number of the call).
        """
        return dict(self.record.get(RECORDER, {}))

    @cached_property
    def steps(self) -> Floats:
        """Return the step of each row, (rows,)."""
        column = self.table.column("step").to_pandas()
        return np.asarray(pd.to_numeric(column, errors="coerce"), dtype=float)


def join_parts(
    parts: Sequence[ScoresFile], notes: list[str], sampled_from: int = 0
) -> Scores:
    """Join parts to one scored table; drop steps that a resumed run repeated.

    Args:
        parts: At least one part.
        notes: Notes for the rollouts.
        sampled_from: Rows of the log that the parts are a sample of, 0 if they are all.
    """
    first = parts[0]
    masks, sentences = _without_repeated_steps(parts)
    tables = []
    for part, mask in zip(parts, masks, strict=True):
        rows = part.table if mask.all() else part.table.filter(pa.array(mask))
        tables.append(replace(part, table=rows))
    table = join_tables(tables)
    if first.recorder and "step" in table:
        table = table.sort_values("step", kind="stable", ignore_index=True)
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
    rollouts = rollouts_of(table, about)
    rollouts = replace(
        rollouts,
        group_key=tuple(group_key),
        notes=(*rollouts.notes, *notes, *sentences),
        cautions=(),
        sampled_from=sampled_from,
    )
    run = {}
    for key in ("versions", "ignore_gates", "timeout", "printed", UNFINISHED):
        if key in first.record:
            run[key] = first.record[key]
    if first.recorder:
        run[RECORDER] = _join_recorders(parts)
    return Scores(table, first.reward, rollouts, run)


def _join_recorders(parts: Sequence[ScoresFile]) -> Record:
    """Join the records of the recorders of parts."""
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
) -> tuple[list[NDArray[np.bool_]], list[str]]:
    """Return the mask of valid rows of each part, and a note on the others.

    If a session began after a session of another run had ended, it replaces that
    session's steps from its own first step on. Parallel sessions replace nothing.
    """
    masks = [np.ones(part.table.num_rows, dtype=bool) for part in parts]
    sessions: dict[str, Plain] = {}  # the record of each session's last part
    starts: dict[str, float] = {}
    for part in parts:
        if part.recorder:
            name = part.recorder["session"]
            sessions[name] = part.recorder
            step = part.steps.min(initial=np.inf)
            starts[name] = min(step, starts.get(name, np.inf))
    by_trainer = {name for name in sessions if sessions[name]["steps"] == TRAINER_STEPS}
    rows = 0
    for part, mask in zip(parts, masks, strict=True):
        name = part.recorder.get("session", "")
        for later in by_trainer if name in by_trainer else ():
            session = sessions[later]
            had_ended = sessions[name]["part"] <= session["before"].get(name, -1)
            if had_ended and session["run"] != part.recorder["run"]:
                mask &= part.steps < starts[later]
        rows += int((~mask).sum())
    if not rows:
        return masks, []
    sentence = (
        f"{counted(rows, 'row')} are left out: a run that was started again later "
        "recorded their steps anew, and the later rows count"
    )
    return masks, [sentence]
