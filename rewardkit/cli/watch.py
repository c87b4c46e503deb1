"""`rewardkit monitor`: give the verdict on a run, also while it is training."""

from __future__ import annotations

import json
import time
from pathlib import Path

import rewardkit as rk
from rewardkit.cli.accepting import accept_alarms, baseline_before
from rewardkit.cli.analyse import fail_status, scored_or_logged
from rewardkit.cli.command import CommandResult, Options, command
from rewardkit.cli.output import added_text, say
from rewardkit.monitoring.monitor import Monitor
from rewardkit.monitoring.readings import CompletionReader
from rewardkit.plain import to_json
from rewardkit.rollouts.file_cache import FileCache
from rewardkit.scoring.cases import append_cases

SECONDS_BETWEEN_LOOKS = 10.0
"""Default interval of --follow. Our choice."""


@command(
    "SCORES --label --primary --training --seed --fail-on --baseline --accept "
    "--finding --until --verbose READING --log-weight --json",
    {
        "--follow": "Look again when there is more, until Ctrl-C.",
        "--every SECONDS": (
            "Seconds between two looks with --follow.",
            {"default": SECONDS_BETWEEN_LOOKS},
        ),
        "--write-cases FILE": "Add cases of what is newly paid to this file.",
    },
)
def monitor(options: Options) -> CommandResult:
    """Say what a run has come to over its steps: healthy, watch or stop, since when.

    SCORES may be the folder that a recorder writes in training, or a trainer's log.
    Exit status 1 with --fail-on if there is an alarm of this severity.

    Example:
      rewardkit monitor gallery:brevity
    """
    if options.follow:
        return _follow(options)
    source = scored_or_logged(options)
    watched = _watch(options, source.scores)
    (watched,), accepted, lines = accept_alarms(options, [watched])
    text = "\n".join(
        [watched.page(options.scores).text(verbose=options.verbose), *lines]
    )
    status = fail_status(watched.worst, options.fail_on)
    record = {**watched.record(), **accepted}
    if options.write_cases:
        record["cases_written"] = append_cases(options.write_cases, watched.cases)
        text += f"\n{added_text(record['cases_written'], options.write_cases)}"
    return source.result(record, text, status)


def _watch(
    options: Options, scores: rk.Scores, reader: CompletionReader | None = None
) -> Monitor:
    settings = options.select("label primary training seed")
    baseline = baseline_before(options)
    return rk.monitor(scores, baseline=baseline, reader=reader, **settings)


def _follow(options: Options) -> CommandResult:
    """Print a line for each new step, and the page if the verdict changes.

    With --json, print an object for each new step.
    """
    verdict = ""
    last = None
    status = 0
    cache = FileCache()
    reader = CompletionReader()
    try:
        while True:
            scores, waits_for = _look(options, cache)
            if waits_for:
                if last != waits_for:
                    say(f"waiting: {waits_for}", err=True)
                last = waits_for
            elif scores is not None and scores.table["step"].max() != last:
                last = scores.table["step"].max()
                watched = _watch(options, scores, reader)
                status = fail_status(watched.worst, options.fail_on)
                _print_step(options, watched, is_new=watched.verdict != verdict)
                verdict = watched.verdict
            time.sleep(options.every)
    except KeyboardInterrupt:
        return CommandResult({}, "", status)


def _print_step(options: Options, watched: Monitor, *, is_new: bool) -> None:
    """Print the verdict at the last step, and the page if the verdict `is_new`."""
    if options.json:
        record = json.dumps(to_json(watched.record()))
        say(record, stream=options.stdout)
        return
    text = f"step {watched.last_step:g}: {watched.verdict}"
    if is_new:
        text += f"\n{watched.page(options.scores).text(verbose=options.verbose)}"
    say(text, stream=options.stdout)


def _look(options: Options, cache: FileCache) -> tuple[rk.Scores | None, str]:
    """Return the scores of a run, None without news, and what is still missing.

    A folder that is being written may be empty, or have an incomplete file.
    """
    if not cache.has_news(Path(options.scores)):
        return None, ""
    try:
        scores = scored_or_logged(options, cache).scores
    except rk.RolloutsError as error:
        return None, str(error)
    return (scores, "") if scores.has_steps else (None, "a second step")
