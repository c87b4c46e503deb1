"""`rewardkit report`: the notebooks as pages.

index.html has the verdict and leads to the others. Exit 1 when a notebook failed.
"""

from __future__ import annotations

from pathlib import Path

from rewardkit.cli.command import Answer, Options, command
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
def report(options: Options) -> Answer:
    """Write the notebooks on a reward and its rollouts as pages.

    index.html has the verdict and leads to the others. Exit 1 when a notebook failed.

    Example:
      rewardkit report --reward gallery:arithmetic --rollouts gallery:arithmetic
    """
    from rewardkit.notebook.report import (
        report,
    )  # papermill takes seconds to import

    limits = options.notebook_limits()
    limits.pop("timeout", None)  # which depends on the rewards
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
    origins = [summary.reward.origin for summary in written.summaries]
    places = {"index": str(written.index), "summary": str(written.summary)}
    lines = [line for origin in origins for line in recognised(origin)]
    lines += [f"{name}: {verdict}" for name, verdict in verdicts.items()]
    lines += [
        *(f"page failed: {line}" for line in written.failed),
        f"report: {written.index}",
    ]
    record = {
        **places,
        "verdicts": verdicts,
        "failed": written.failed,
        "origins": origins,
    }
    return Answer(record, "\n".join(lines), int(bool(written.failed)))
