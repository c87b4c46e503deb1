"""The group of commands: each ends in one clear line, not a traceback, when its input cannot be used.

Exit status: 0 done, 1 what was checked does not hold (or a report page failed), 2 input that cannot be used,
130 interrupted.
"""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.output import printable
from rewardkit.errors import describe_error

__all__ = ["INTERRUPTED", "main"]


INTERRUPTED = 130
"""Exit status, as a shell gives for Ctrl-C."""


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does: what is done is kept. Only in the main thread, which has it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt("terminated")

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class OneLineGroup(click.Group):
    """A group whose commands end in one clear line, not a traceback, when their input cannot be used."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``--debug`` wherever it stands, behind the command too."""
        end = args.index("--") if "--" in args else len(args)
        others = [argument for argument in args[:end] if argument != "--debug"]
        return super().parse_args(ctx, ["--debug"] * (len(others) < end) + others + args[end:])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; input that cannot be used ends with status 2, an interrupt with 130."""
        try:
            with _terminated_as_interrupted():
                return super().invoke(ctx)
        except KeyboardInterrupt as error:
            click.echo(printable(f"rewardkit: {' '.join(str(error).split()) or 'interrupted'}"), err=True)
            ctx.exit(INTERRUPTED)
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else ctx.command_path
            click.echo(printable(f"rewardkit: {error.format_message()} (see {where} --help)"), err=True)
            ctx.exit(2)
        except (rk.InputError, OSError, ModuleNotFoundError) as error:
            if ctx.params.get("debug"):
                traceback.print_exc()
            text = (
                f"{error.strerror}: {error.filename!r}"
                if isinstance(error, OSError) and error.filename
                else str(error)
            )
            click.echo(printable(f"rewardkit: {' '.join(text.split())}"), err=True)
            ctx.exit(2)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            text = f"{describe_error(error)} (this should not happen: run it with --debug and report it)"
            click.echo(printable(f"rewardkit: {' '.join(text.split())}"), err=True)
            ctx.exit(2)


@click.group(cls=OneLineGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="reward-workbench", prog_name="rewardkit")
def main(debug: bool) -> None:
    """Design reward functions for LLM reinforcement learning, and find out what they would do."""
