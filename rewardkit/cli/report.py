"""`rewardkit report`: the notebooks as pages.

index.html has the verdict and leads to the others. Exit 1 when a notebook failed.
"""

from __future__ import annotations

from pathlib import Path

from rewardkit.cli.command import Answer, Asked, command
from rewardkit.cli.options import ANY_LOG
from rewardkit.cli.output import recognised


@command(
    "--cases --training --label --by --seed --budget --leakage --baseline --redact --as --timeout "
    "--no-cache READING --json --log-weight",
    {
        "--reward REWARD...": 'The reward. Without it, or with "logged": the scores in the log.',
        "--rollouts ROLLOUTS": (ANY_LOG, {"required": True}),
        "-o --output FOLDER": ("Folder for the pages.", {"default": Path("reports")}),
        "--single-file": "Put everything into index.html, one page to send.",
    },
)
def report(asked: Asked) -> Answer:
    """Write the notebooks on a reward and its rollouts as pages.

    index.html has the verdict and leads to the others. Exit 1 when a notebook failed.

    Example:
      rewardkit report --reward gallery:arithmetic --rollouts gallery:arithmetic
    """
    from rewardkit.notebook.report.report import (
        report,
    )  # papermill takes seconds to import

    limits = asked.notebook_limits()
    limits.pop("timeout", None)  # which depends on the rewards
    made = report(
        asked.reward,
        asked.rollouts,
        asked.output,
        **asked.some("cases label training by redact single_file"),
        reading=asked.notebook_reading(),
        limits=limits,
        timeout=lambda rewards: asked.time_limit(*rewards),
        progress=asked.is_watched,
    )
    verdicts = {summary.name: summary.verdict for summary in made.summaries}
    origins = [summary.reward.origin for summary in made.summaries]
    places = {"index": str(made.index), "summary": str(made.summary)}
    lines = [line for origin in origins for line in recognised(origin)]
    lines += [f"{name}: {verdict}" for name, verdict in verdicts.items()]
    lines += [
        *(f"page failed: {line}" for line in made.failed),
        f"report: {made.index}",
    ]
    record = {**places, "verdicts": verdicts, "failed": made.failed, "origins": origins}
    return Answer(record, "\n".join(lines), int(bool(made.failed)))
