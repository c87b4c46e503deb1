"""The group of commands: each ends in one clear line, not a traceback, when its input cannot be used.

Exit status: 0 done, 1 what was checked does not hold (or a report page failed), 2 input that cannot be used,
130 interrupted.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import click
from click.core import ParameterSource

import rewardkit as rk
from rewardkit.cli.options import READING, Written, parameters
from rewardkit.cli.output import Answer, Legible, emit, say
from rewardkit.cli.spelling import as_typed
from rewardkit.errors import describe_error

__all__ = ["INTERRUPTED", "Asked", "command", "interrupts_held", "main"]

INTERRUPTED = 130
"""Exit status, as a shell gives for Ctrl-C."""

JOBS = {
    "Design": ("new", "lab"),
    "Check": ("check", "probe", "judge"),
    "Analyse": ("score", "diagnose", "whatif", "forecast", "compare", "suspect", "report"),
    "Run": ("sample", "export", "cache", "completion"),
}
"""What is to be done -> the commands for it, in the order in which a newcomer meets them."""


RANGE = re.compile(r"  \[[\d.<=]*x[<>=\d.]*\]|; [\d.<=]*x[<>=\d.]*(?=\])")
"""What the parser adds to the help of a number: nothing that a person needs to know."""

READ_AS = {"column": "columns", "set": "fill"}
"""Option -> what `load_rollouts` calls it."""


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


class Asked(SimpleNamespace):
    """The values of a command's arguments and options, by name.

    `reading` are those by which rollouts are read; `given` has each option on the command line, as it is
    written.
    """

    reading: dict[str, Any]
    given: dict[str, str]

    @classmethod
    def of(cls, ctx: click.Context) -> Asked:
        """The values of a command that was called."""
        values = dict(ctx.params)
        values |= {"as_": values.pop("as", None), "json": values.get("json", False)}
        if "join" in values:
            reading = {name: values.pop(name) for name in ("column", "group", "join", "on", "set")}
            if reading["on"] is not None and not reading["join"]:
                raise click.UsageError("--on names the key of a join; give --join too", ctx)
            reading |= {"group": list(reading["group"]) or None, "on": reading["on"] or "prompt"}
            values["reading"] = {READ_AS.get(name, name): value for name, value in reading.items()}
        given = {
            str(parameter.name): parameter.opts[0]
            for parameter in ctx.command.params
            if ctx.get_parameter_source(str(parameter.name)) == ParameterSource.COMMANDLINE
        }
        return cls(**values, given=given)

    def some(self, names: str) -> dict[str, Any]:
        """The values of these names, for a function that calls them so."""
        return {name: getattr(self, name) for name in names.split()}


class Command(click.Command):
    """A command whose help names the options for reading rollouts under a heading of their own."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        reading = [written.split()[0] for written in READING]
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        elsewhere = reading if self.name != "score" else []
        told = [one.get_help_record(ctx) for one in options if one.opts[0] not in elsewhere]
        lines = [(name, RANGE.sub("", said)) for name, said in filter(None, told)]
        with formatter.section("Options"):
            formatter.write_dl(lines, col_max=30)


class Group(click.Group):
    """A group whose commands end in one clear line, not a traceback, when their input cannot be used."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``--debug`` wherever it stands, behind the command too."""
        end = args.index("--") if "--" in args else len(args)
        others = [argument for argument in args[:end] if argument != "--debug"]
        return super().parse_args(ctx, ["--debug"] * (len(others) < end) + others + args[end:])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by what is to be done."""
        for job, names in JOBS.items():
            with formatter.section(job):
                formatter.write_dl(
                    [(name.ljust(10), self.commands[name].get_short_help_str(90)) for name in names]
                )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; input that cannot be used ends with status 2, an interrupt with 130."""
        debug = ctx.params.get("debug")
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:  # its text may be of a codec that it came into
            _fail(ctx, "interrupted", INTERRUPTED)
        except click.ClickException as error:
            where = (getattr(error, "ctx", None) or ctx).command_path
            _fail(ctx, f"{error.format_message()} (see {where} --help)")
        except Exception as error:
            if debug:
                say(traceback.format_exc().rstrip("\n"), err=True)
            if isinstance(error, OSError) and error.filename:
                _fail(ctx, f"{error.strerror}: {error.filename!r}")
            if isinstance(error, rk.InputError | OSError | ModuleNotFoundError):
                _fail(
                    ctx, as_typed(str(error), self.commands.get(ctx.invoked_subcommand or ""), all_of_it=True)
                )
            _fail(ctx, f"{describe_error(error)} (this should not happen: run it with --debug and report it)")


def _fail(ctx: click.Context, why: str, status: int = 2) -> None:
    """End the command with one line."""
    say(f"rewardkit: {' '.join(why.split())}", err=True)
    ctx.exit(status)


class _Log(logging.Handler):
    """Says what is logged as warnings, as all else is said."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it."""
        say(self.format(record), err=True)


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Group, context_settings=CONTEXT)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="reward-workbench", prog_name="rewardkit")
def main(debug: bool) -> None:
    """Design reward functions for LLM reinforcement learning, and find out what they would do.

    A first hour: `new` writes a reward from a log, `check` tries it on cases, `probe` looks for holes,
    `score` and `diagnose` say what training would learn from it.
    """
    logging.lastResort = _Log(logging.WARNING)
    logging.captureWarnings(True)
    try:
        os.getcwd()
    except FileNotFoundError:
        raise rk.InputError("the working folder does not exist any more; change to another one") from None


def command(
    name: str, named: str, own: Written | None = None, *, example: str, note: str = "", **settings: Any
) -> Callable[[Callable[[Asked], Answer]], click.Command]:
    """Make a command of a function from what was asked to what was found; its docstring is the help.

    Its parameters are those of `parameters`. What users' code prints meanwhile is no result, and goes to
    stderr. `example` runs as it is.
    """
    lines = "\n".join(f"  {line}" for line in example.splitlines())

    def made(work: Callable[[Asked], Answer]) -> click.Command:
        @click.pass_context
        def run(ctx: click.Context, /, **_: Any) -> None:
            asked = Asked.of(ctx)
            with redirect_stdout(cast(Any, Legible())):
                answer = work(asked)
            text, error = (
                as_typed(answer.text, ctx.command),
                as_typed(answer.error, ctx.command, all_of_it=True),
            )
            emit(replace(answer, text=text, error=error), asked.json)
            ctx.exit(answer.status)

        told = parameters(named, own or {})
        context = {**CONTEXT, "show_default": True, **settings}
        reading = ", ".join(written.split()[0] for written in READING)
        told_of = f"\n\nOptions for reading a log: {reading}; rewardkit score --help tells of them."
        epilog = note + (told_of if "READING" in named and name != "score" else "")
        epilog += f"\n\n\b\nExample:\n{lines}"
        one = Command(name, context, run, params=told, help=work.__doc__, epilog=epilog)
        main.add_command(one)
        return one

    return made
