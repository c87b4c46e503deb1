"""`rewardkit score`: scores of logged completions."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import rewardkit as rk
from rewardkit.cli.command import Answer, Options, command
from rewardkit.cli.group import INTERRUPTED
from rewardkit.cli.output import recognised
from rewardkit.scoring.outcomes import STATUSES
from rewardkit.scoring.scores import folder_for
from rewardkit.targets.load import reward_named


@command(
    "REWARD ROLLOUTS --as --timeout --no-cache READING --json",
    {
        "-o --output FOLDER": "Folder for scores.parquet and run.json.",
        "--workers N": "Number of processes; groups stay together.  [default: this one]",
    },
)
def score(options: Options) -> Answer:
    """Score every completion of ROLLOUTS with REWARD.

    ROLLOUTS is a JSONL, Parquet or CSV file, or what a trainer wrote: a file or folder
    of TRL, verl, siiRL, verifiers, Inspect or datasets. REWARD may be "logged": the
    scores that stand in the log. The exit code is 1 where no completion has a reward,
    130 where scoring was interrupted: what was done is written then.

    Example:
      rewardkit score gallery:arithmetic gallery:arithmetic -o run1
    """
    with (
        folder_for(options.output) if options.output else nullcontext() as folder
    ):  # known before the work
        return _scored(options, folder)


def _scored(options: Options, folder: Path | None) -> Answer:
    rollouts = rk.load_rollouts(options.rollouts, **options.reading)
    reward = reward_named(options.reward, rollouts, as_=options.as_)
    started, rows = time.perf_counter(), len(rollouts)
    limit = options.time_limit(reward)
    interrupted: dict[str, Any] = {}
    try:
        scores = rk.score(
            reward,
            rollouts,
            timeout=limit,
            workers=options.workers,
            progress=options.is_watched,
        )
    except rk.Interrupted as error:
        scores, interrupted = (
            error.scores,
            {"interrupted": True, "rows_given": error.rows},
        )
    seconds = time.perf_counter() - started
    with interrupts_held() as signals:
        if folder:
            scores.save(folder)
    totals = {
        status: sum(counts[status] for counts in scores.counts.values())
        for status in STATUSES
    }
    totals["errors"] = totals.pop("error")
    missing = scores.record["rewards_missing"]
    record = {
        "rows": len(scores),
        **interrupted,
        **totals,
        "rewards_missing": missing,
        "seconds": round(seconds, 3),
        "output": str(folder) if folder else None,
        "components": scores.counts,
        "asked": scores.asked,
        "rollouts": rollouts.summary(),
        "origin": reward.origin,
    }
    written = [f"written to {folder}"] if folder else []
    text = "\n".join([str(rollouts), *recognised(reward.origin), str(scores), *written])
    if interrupted or signals:
        where = written[0] if folder else "not written, as no -o FOLDER was given"
        why = f"interrupted; {len(scores):,} of {rows:,} rollouts were scored, {where}"
        return Answer(record, text, INTERRUPTED, why)
    if missing == len(scores):
        return Answer(record, text, 1, f"no rollout has a reward{_most_often(scores)}")
    return Answer(record, text)


@contextmanager
def interrupts_held() -> Iterator[list[int]]:
    """Let no Ctrl-C or SIGTERM into the block; gives the signals that came. One that is ignored stays so."""
    signals: list[int] = []
    numbers = [
        one
        for one in (signal.SIGINT, signal.SIGTERM)
        if callable(signal.getsignal(one))
    ]
    before = {
        number: signal.signal(number, lambda number, _: signals.append(number))
        for number in numbers
    }
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _most_often(scores: rk.Scores) -> str:
    """Return the most frequent reason why a component was not scored."""
    errors = (
        scores.table[[f"error/{name}" for name in scores.reward.names]]
        .to_numpy()
        .ravel()
    )
    reasons = Counter(reason for reason in errors if isinstance(reason, str) and reason)
    return f"; most often: {reasons.most_common(1)[0][0]}" if reasons else ""
