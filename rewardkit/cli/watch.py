"""`rewardkit monitor`: what a run over its steps has come to."""

from __future__ import annotations

import time

import rewardkit as rk
from rewardkit.cli.analyse import fail_status, scored_or_logged
from rewardkit.cli.command import CommandResult, Options, command
from rewardkit.cli.output import say
from rewardkit.monitoring.monitor import Monitor

SECONDS = 10.0
"""Between two looks at a run that is followed. Our choice."""


@command(
    "SCORES --label --primary --training --seed --fail-on --verbose READING "
    "--log-weight --json",
    {
        "--follow": "Look again when there is more, until Ctrl-C.",
        "--every SECONDS": (
            "Seconds between two looks with --follow.",
            {"default": SECONDS},
        ),
    },
)
def monitor(options: Options) -> CommandResult:
    """Say what a run has come to over its steps: healthy, watch or stop, since when.

    SCORES may be the folder that a recorder writes in training, or a trainer's log.
    Exit status 1 with --fail-on where there is an alarm of this severity.

    Example:
      rewardkit monitor gallery:brevity
    """
    if options.follow:
        return _follow(options)
    source = scored_or_logged(options)
    watched = _watch(options, source.scores)
    text = watched.page().text(verbose=options.verbose)
    status = fail_status(watched.worst, options.fail_on)
    return source.result(watched.record(), text, status)


def _watch(options: Options, scores: rk.Scores) -> Monitor:
    return rk.monitor(scores, **options.select("label training seed"))


def _follow(options: Options) -> CommandResult:
    """Print the page whenever the verdict changes, and a line for each further step."""
    verdict, last, status = "", None, 0
    try:
        while True:
            try:
                scores = scored_or_logged(options).scores
            except rk.RolloutsError as error:
                scores, waits = None, str(error)
            if scores is None or not scores.has_steps:
                waits = waits if scores is None else "one step so far"
                if last != waits:
                    say(f"waiting: {waits}", err=True)
                last = waits
            elif scores.table["step"].max() != last:
                last = scores.table["step"].max()
                watched = _watch(options, scores)
                status = fail_status(watched.worst, options.fail_on)
                say(f"step {last:g}: {watched.verdict}")
                if watched.verdict != verdict:
                    say(watched.page().text(verbose=options.verbose))
                verdict = watched.verdict
            time.sleep(options.every)
    except KeyboardInterrupt:
        return CommandResult({}, "", status)
