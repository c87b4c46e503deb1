"""The group of commands: each ends in one clear line, not a traceback, when its input cannot be used.

Exit status: 0 done, 1 what was checked does not hold (or a report page failed), 2 input
that cannot be used, 130 interrupted.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import traceback
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.output import Legible, say
from rewardkit.cli.spelling import as_typed
from rewardkit.errors import describe_error
from rewardkit.html.excerpts import LINE

INTERRUPTED = 130
"""Exit status, as a shell gives for Ctrl-C."""

JOBS = {
    "Design": ("new", "lab"),
    "Check": ("check", "probe", "judge"),
    "Analyse": (
        "score",
        "diagnose",
        "whatif",
        "forecast",
        "compare",
        "suspect",
        "report",
    ),
    "Run": ("sample", "export", "cache", "completion"),
}
"""What is to be done -> the commands for it, in the order in which a newcomer meets them."""

CONTEXT: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
}


class Group(click.Group):
    """A group whose commands end in one clear line, not a traceback, when their input cannot be used."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``--debug`` wherever it stands, behind the command too."""
        end = args.index("--") if "--" in args else len(args)
        others = [argument for argument in args[:end] if argument != "--debug"]
        return super().parse_args(
            ctx, ["--debug"] * (len(others) < end) + others + args[end:]
        )

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the commands by what is to be done."""
        for job, names in JOBS.items():
            told = [
                (name.ljust(10), self.commands[name].get_short_help_str(90))
                for name in names
            ]
            with formatter.section(job):
                formatter.write_dl(told)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; input that cannot be used ends with status 2, an interrupt with 130."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            if ctx.params["debug"] and not isinstance(
                error, click.ClickException | KeyboardInterrupt
            ):
                say(traceback.format_exc().rstrip("\n"), err=True)
            say(f"rewardkit: {' '.join(self._reason(error, ctx).split())}", err=True)
            ctx.exit(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 2)

    def _reason(self, error: BaseException, ctx: click.Context) -> str:
        """Return what went wrong, for a person."""
        if isinstance(
            error, KeyboardInterrupt
        ):  # its own text may be of a codec that it came into
            return "interrupted"
        if isinstance(error, click.ClickException):
            where = getattr(error, "ctx", None) or ctx
            return f"{error.format_message()} (see {where.command_path} --help)"
        if isinstance(error, OSError) and error.filename:
            return f"{error.strerror}: {error.filename!r}"
        if isinstance(error, rk.InputError | OSError | ModuleNotFoundError):
            return as_typed(
                str(error),
                self.commands.get(ctx.invoked_subcommand or ""),
                all_of_it=True,
            )
        return f"{describe_error(error)} (this should not happen: run it with --debug and report it)"


@click.group(cls=Group, context_settings=CONTEXT)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="reward-workbench", prog_name="rewardkit")
def main(debug: bool) -> None:
    """Design reward functions for LLM reinforcement learning, and find out what they would do.

    A first hour: `new` writes a reward from a log, `check` tries it on cases, `probe`
    looks for holes, `score` and `diagnose` say what training would learn from it.
    """
    logging.lastResort = logging.StreamHandler(Legible())
    logging.captureWarnings(True)
    if sys.stdout.isatty():
        LINE.set(
            min(LINE.get(), shutil.get_terminal_size().columns - 8)
        )  # options have longer names
    try:
        os.getcwd()
    except FileNotFoundError:
        raise rk.InputError(
            "the working folder does not exist any more; change to another one"
        ) from None
