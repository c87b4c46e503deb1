"""`rewardkit score`, `report`: score a log, and write pages about it."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np

import rewardkit as rk
from rewardkit.analysis.summary import run_figures
from rewardkit.cli.command import INTERRUPTED, CommandResult, Options, command
from rewardkit.cli.options import ANY_LOG
from rewardkit.cli.output import recognised
from rewardkit.findings import counted
from rewardkit.history.runs import find_unfinished
from rewardkit.history.runs_folder import (
    KEPT_RUNS,
    LABEL,
    SECONDS_PER_1000,
    write_access,
)
from rewardkit.html.cards import rollouts_page
from rewardkit.plain import Plain, Record
from rewardkit.rollouts.table import ROWS_ON_PAGE
from rewardkit.rollouts.whole_groups import LargeLog
from rewardkit.scoring.parted import PartedScores
from rewardkit.scoring.scored import read_unfinished
from rewardkit.scoring.scores import folder_for, parts_in
from rewardkit.scoring.shards import ROWS_MEMORY
from rewardkit.scoring.streamed import open_log
from rewardkit.targets.load import reward_named

# --- score


@command(
    "REWARD ROLLOUTS --training --address --as --timeout --no-cache READING --json",
    {
        "-o --output FOLDER": "Folder for scores.parquet and run.json; of a log too "
        "large for --memory in parts.",
        "--memory SIZE": (
            "Memory for the rows, with -o, such as 2GB.",
            {"default": ROWS_MEMORY, "show_default": "2GB"},
        ),
        "--force": "Write over another scoring in the folder of -o.",
        "--keep": "Keep the scoring and the source of the reward in the folder runs.",
        "--note TEXT": "With --keep: what was tried.",
        "--tag tags NAME...": "With --keep: a name to find it by.",
        "--redact": "With --keep: keep hashes in place of texts.",
        "--label COLUMN": "With --keep: a trusted column, to note how well the reward "
        "ranks by it.",
        "--workers N": "Number of processes; groups stay together.  [default: this "
        "one]",
        "--engine ray": "Score a log in parts on the nodes of a Ray cluster, with -o.",
    },
)
def score(options: Options) -> CommandResult:
    """Score every completion of ROLLOUTS with REWARD.

    ROLLOUTS is a JSONL, Parquet or CSV file, or what a trainer wrote: a file or folder
    of TRL, ms-swift, verl, siiRL, NeMo, SkyRL, AReaL, tau-bench, prime-rl, verifiers,
    Inspect or datasets. REWARD may be "logged": the scores recorded in the log. The
    exit code is 1 if no completion has a reward or another process scores into the
    folder, and 130 if scoring was interrupted; the scores so far are written then.

    Example:
      rewardkit score gallery:arithmetic gallery:arithmetic -o run1
    """
    # fails before the work if the folder cannot be written
    with folder_for(options.output) if options.output else nullcontext() as folder:
        try:
            return _score_into(folder, options)
        except KeyboardInterrupt:  # a second Ctrl-C during the shutdown
            parts = parts_in(folder) if folder else []
            if not parts:
                raise
            reason = (
                f"interrupted; {counted(len(parts), 'part')} of the scores stand in "
                f"{folder}; the same command goes on"
            )
            return CommandResult({}, "", INTERRUPTED, reason)


def _score_into(folder: Path | None, options: Options) -> CommandResult:
    if options.label is not None and not options.keep:
        raise rk.InputError(
            "--label is for --keep, which is not there; give both, or none"
        )
    if options.keep:
        with write_access(Path(KEPT_RUNS)):
            pass  # fails before the work if the folder cannot be written
    log = _open_log(folder, options)
    first = log.first if isinstance(log, LargeLog) else log
    timeout = options.timeout or None
    reward = reward_named(options.reward, first, as_=options.as_, timeout=timeout)
    reward = options.weigh(reward)
    started = time.perf_counter()
    unfinished = None
    if isinstance(log, rk.Rollouts):
        unfinished = _find_unfinished(options, folder, reward, log)
    settings = options.select("workers memory force")
    settings |= {"engine": options.cluster, "progress": options.is_watched}
    settings |= {"to": folder, "unfinished": unfinished}
    limit = options.time_limit(reward)
    interrupted: Record = {}
    try:
        scores = rk.score(reward, log, timeout=limit, **settings)
    except rk.Interrupted as error:
        scores = error.scores
        interrupted = {"interrupted": True, "rows_given": error.rows}
    seconds = time.perf_counter() - started
    about = scores.record["rollouts"] if isinstance(log, LargeLog) else log.summary()
    missing = scores.record["rewards_missing"]
    record = {
        "rows": len(scores),
        **interrupted,
        **_count_statuses(scores),
        "rewards_missing": missing,
        "seconds": round(seconds, 3),
        "output": str(folder) if folder else None,
        "components": scores.counts,
        "asked": scores.model_use,
        "rollouts": about,
        "origin": reward.origin,
    }
    lines = [_reading_text(about, first), *recognised(reward.origin), str(scores)]
    if unfinished is not None:
        record["scored_before"] = len(unfinished)
        lines.append(f"{len(unfinished):,} rollouts were scored before an interrupt")
    place = "not written, as no -o FOLDER was given"
    if folder:
        place = f"written to {folder}"
        lines.append(f"{place}{_parts_text(scores, options.memory)}")
    if options.keep:
        count = len(scores) - (0 if unfinished is None else len(unfinished))
        run = _keep(options, scores, 1000 * seconds / count if count else None)
        record["run"] = run.record()
        place = f"kept as {run.name} in {KEPT_RUNS} (rewardkit runs)"
        lines.append(place)
    text = "\n".join(lines)
    if interrupted:
        reason = _interrupt_text(len(scores), interrupted["rows_given"], place)
        if folder or (options.keep and not options.redact):
            reason += "; the same command goes on"
        return CommandResult(record, text, INTERRUPTED, reason)
    if missing == len(scores):
        return CommandResult(
            record, text, 1, f"no rollout has a reward{_most_often(scores)}"
        )
    return CommandResult(record, text)


def _count_statuses(scores: rk.Scores) -> Record:
    """Return the number of scores of each status, over all components."""
    totals: Counter[str] = Counter()
    for counts in scores.counts.values():
        totals.update(counts)
    totals["errors"] = totals.pop("error")
    return dict(totals)


def _open_log(folder: Path | None, options: Options) -> rk.Rollouts | LargeLog:
    """Open a log; with a folder for the scores, a large log is opened in parts."""
    if folder is None:
        return rk.load_rollouts(options.rollouts, **options.reading)
    return open_log(
        options.rollouts, options.memory, options.workers, **options.reading
    )


def _interrupt_text(rows: int, all_rows: int | None, place: str) -> str:
    """Describe an interrupted scoring; `all_rows` is None for a log in parts."""
    count = f"{rows:,}" if all_rows is None else f"{rows:,} of {all_rows:,}"
    return f"interrupted; {count} rollouts were scored, {place}"


def _find_unfinished(
    options: Options, folder: Path | None, reward: rk.Reward, rollouts: rk.Rollouts
) -> rk.Scores | None:
    """Return the scores of an interrupted scoring to continue; None with --force."""
    if options.force:
        return None
    unfinished = None
    if folder:
        unfinished = read_unfinished(folder, reward, rollouts)
    if unfinished is None and options.keep:
        unfinished = find_unfinished(reward, rollouts)
    return unfinished


def _keep(options: Options, scores: rk.Scores, seconds: float | None) -> rk.Run:
    """Keep a scoring with figures of its diagnosis; `seconds` are per 1,000 rows."""
    figures: Record = {}
    if seconds is not None:
        figures[SECONDS_PER_1000] = round(seconds, 4)
    if options.label is not None:
        figures[LABEL] = options.label
    if len(scores) and not np.isnan(scores.rewards).all():
        figures |= run_figures(rk.diagnose(scores, label=options.label).views)
    settings = options.select("tags redact")
    return rk.keep(scores, note=options.note or "", figures=figures, **settings)


def _reading_text(about: Plain, first: rk.Rollouts) -> str:
    """Return the text of `Rollouts.page` for a log, of which `first` is a part."""
    rows = [first[row] for row in range(min(len(first), ROWS_ON_PAGE))]
    page = rollouts_page(about, first.names, rows)
    return "\n".join(page.lines(False))


def _parts_text(scores: rk.Scores, memory: int) -> str:
    """Describe the number of parts, and the peak memory.

    If that exceeds the `memory` for rows, say why.
    """
    if not isinstance(scores, PartedScores):
        return ""
    text = f" in {counted(len(scores.paths), 'part')}"
    if scores.memory:
        text += f"; memory at most {scores.memory / 1e9:.2f} GB"
    if scores.memory > memory:
        text += (
            f", more than --memory {memory / 1e9:.2g}GB: that is for rows, and each "
            "process takes 0.2 to 0.3 GB for Python and its libraries"
        )
    return text


def _most_often(scores: rk.Scores) -> str:
    """Describe the most frequent reason why a component was not scored."""
    reasons: Counter[str] = Counter()
    for name in scores.reward.names:
        column = scores.column(f"error/{name}")
        if column is not None:
            reasons.update(column.dropna())
    if not reasons:
        return ""
    ((reason, _),) = reasons.most_common(1)
    return f"; most often: {reason}"


# --- report


@command(
    "--cases --training --label --by --seed --budget --leakage --baseline --redact "
    "--as --timeout --no-cache READING --json --log-weight",
    {
        "--reward REWARD...": 'The reward. Without it, or with "logged": the scores in '
        "the log.",
        "--rollouts ROLLOUTS": (ANY_LOG, {"required": True}),
        "-o --output FOLDER": ("Folder for the pages.", {"default": Path("reports")}),
        "--single-file": "Put everything into index.html, one page to send.",
    },
)
def report(options: Options) -> CommandResult:
    """Write the notebooks on a reward and its rollouts as pages.

    index.html has the verdict and leads to the others. Exit 1 when a notebook failed.

    Example:
      rewardkit report --reward gallery:arithmetic --rollouts gallery:arithmetic
    """
    # papermill takes seconds to import
    from rewardkit.notebook.report import report

    limits = options.notebook_limits()
    limits.pop("timeout", None)  # it depends on the rewards, see below
    written = report(
        options.reward,
        options.rollouts,
        options.output,
        **options.select("cases label training by redact single_file"),
        reading=options.notebook_reading(),
        limits=limits,
        timeout=lambda rewards: options.time_limit(*rewards),
        progress=options.is_watched,
    )
    verdicts = {summary.name: summary.verdict for summary in written.summaries}
    origins = []  # they may quote an error of the reward
    if not options.redact:
        origins = [summary.reward.origin for summary in written.summaries]
    lines = []
    for origin in origins:
        lines += recognised(origin)
    for name, verdict in verdicts.items():
        lines.append(f"{name}: {verdict}")
    for line in written.failed:
        lines.append(f"page failed: {line}")
    lines.append(f"report: {written.index}")
    record = {
        "index": str(written.index),
        "summary": str(written.summary),
        "verdicts": verdicts,
        "failed": written.failed,
        "origins": origins,
    }
    return CommandResult(record, "\n".join(lines), int(bool(written.failed)))
