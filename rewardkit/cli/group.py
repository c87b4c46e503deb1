"""The group of commands: each ends in one clear line, not a traceback, when its input cannot be used.

Exit status: 0 done, 1 what was checked does not hold (or a report page failed), 2 input that cannot be used,
130 interrupted.
"""

from __future__ import annotations

import os
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

__all__ = ["INTERRUPTED", "interrupts_held", "main"]


INTERRUPTED = 130
"""Exit status, as a shell gives for Ctrl-C."""


@contextmanager
def interrupts_held() -> Iterator[list[int]]:
    """Let no Ctrl-C or SIGTERM into the block; gives the signals that came. Only the main thread has them."""
    came: list[int] = []
    main_thread = threading.current_thread() is threading.main_thread()
    before = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
        if main_thread and callable(handler := signal.getsignal(number))  # one that is ignored stays so
    }
    for number in before:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
            return super().invoke(ctx)
        except KeyboardInterrupt:  # its text may be of a codec that it came into
            click.echo("rewardkit: interrupted", err=True)
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
    try:
        os.getcwd()
    except FileNotFoundError:
        raise rk.InputError("the working folder does not exist any more; change to another one") from None
