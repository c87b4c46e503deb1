"""Make commands from functions of options; their docstring is the help.

Invalid input ends a command with one line, not a traceback. Exit status: 0 done; 1 a
check failed (or a report page failed, or another process scores into the folder); 2
invalid input; 130 interrupted by Ctrl-C; 128 + number of another signal.
"""

from __future__ import annotations

import errno
import importlib
import inspect
import json
import logging
import os
import re
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from itertools import chain
from types import SimpleNamespace
from typing import Any, cast

import click
from click.core import ParameterSource
from tqdm import tqdm

import rewardkit as rk
from rewardkit.cli.options import (
    COMMAND_TIMEOUT,
    READING,
    OptionTable,
    missing_requirement,
    parameters,
)
from rewardkit.cli.output import Legible, as_typed, say
from rewardkit.errors import FolderInUse, describe_error
from rewardkit.html.excerpts import LINE
from rewardkit.plain import Plain, Record, to_json
from rewardkit.scoring.deadlines import cannot_limit

FREE_SPACE = "; free some space, then run the same command again"
OTHER_PATH = "; give a path that you may use, or change who may use this one"
REMEDIES = {
    errno.ENOSPC: FREE_SPACE,
    errno.EDQUOT: FREE_SPACE,
    errno.EFBIG: FREE_SPACE,
    errno.EACCES: OTHER_PATH,
    errno.EPERM: OTHER_PATH,
    errno.EROFS: OTHER_PATH,
}
"""errno of a failed read or write -> advice."""

INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""

JOBS = {
    "Design": {"new": "design", "lab": "design"},
    "Check": {
        "check": "check",
        "probe": "check",
        "judge": "check",
        "review": "check",
    },
    "Analyse": {
        "score": "score",
        "diagnose": "analyse",
        "monitor": "watch",
        "whatif": "analyse",
        "forecast": "analyse",
        "compare": "analyse",
        "suspect": "analyse",
        "report": "score",
        "runs": "runs",
        "card": "runs",
    },
    "Run": {"sample": "run", "export": "run", "cache": "run", "completion": "run"},
}
"""Job -> its commands, in the order of the help -> their modules, imported on use."""

CONTEXT: Record = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 100,
}

COMMAND_NOTES = {
    "REWARD": "REWARD is file.py:name, package.module:name or gallery:module[.name]; "
    "file.py:a,b are added up, file.py:Class.method is called. Without a name it is "
    "the list that a script hands to its trainer, `reward`, or what can only be meant.",
    "SCORES": "SCORES is the folder that `rewardkit score -o` wrote, or its Parquet "
    "file; or the log of a trainer, whose own scores are taken then.",
    "READING": f"Options for reading a log: {', '.join(READING)}; rewardkit score "
    "--help tells of them.",
}
"""Kind of input -> note at the end of the help."""


# --- the group


class CommandGroup(click.Group):
    """A group whose commands end with one line on invalid input."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Accept ``--debug`` before and after the command."""
        end = args.index("--") if "--" in args else len(args)
        others = [argument for argument in args[:end] if argument != "--debug"]
        debug = ["--debug"] if len(others) < end else []
        return super().parse_args(ctx, [*debug, *others, *args[end:]])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of the commands."""
        return [*chain(*JOBS.values())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return the command, or None."""
        for modules in JOBS.values():
            if cmd_name in modules:
                importlib.import_module(f"rewardkit.cli.{modules[cmd_name]}")
        return super().get_command(ctx, cmd_name)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the commands, grouped by job."""
        for job, names in JOBS.items():
            rows = []
            for name in names:
                command = self.get_command(ctx, name)
                assert command is not None
                rows.append((name.ljust(10), command.get_short_help_str(90)))
            with formatter.section(job):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error ends it with one line and an exit status."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            expected = click.ClickException | KeyboardInterrupt
            if ctx.params["debug"] and not isinstance(error, expected):
                say(traceback.format_exc().rstrip("\n"), err=True)
            say(f"rewardkit: {' '.join(self._reason(error, ctx).split())}", err=True)
            status = 1 if isinstance(error, FolderInUse) else 2
            ctx.exit(INTERRUPTED if isinstance(error, KeyboardInterrupt) else status)

    def _reason(self, error: BaseException, ctx: click.Context) -> str:
        """Return the message on an error, for a person."""
        if isinstance(error, KeyboardInterrupt):
            return "interrupted"  # its own text may come from an interrupted codec
        if isinstance(error, click.ClickException):
            where = getattr(error, "ctx", None) or ctx
            return f"{error.format_message()} (see {where.command_path} --help)"
        if isinstance(error, OSError) and error.strerror:
            place = f": {error.filename!r}" if error.filename else ""
            return f"{error.strerror}{place}{REMEDIES.get(error.errno or 0, '')}"
        if isinstance(error, MemoryError):
            return "no memory is left; free some, then run the same command again"
        if isinstance(error, rk.InputError | OSError | ModuleNotFoundError):
            subcommand = self.commands.get(ctx.invoked_subcommand or "")
            return as_typed(str(error), subcommand, in_full=True)
        return (
            f"{describe_error(error)} (this should not happen: run it with --debug and "
            "report it)"
        )


@click.group(cls=CommandGroup, context_settings=CONTEXT)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="reward-workbench", prog_name="rewardkit")
def main(debug: bool) -> None:
    """Design reward functions for LLM reinforcement learning, and find out what they would do.

    A first hour: `new` writes a reward from a log, `check` tries it on cases, `probe`
    looks for holes, `score` and `diagnose` say what training would learn from it.
    """  # noqa: E501
    logging.lastResort = logging.StreamHandler(Legible())
    logging.captureWarnings(True)
    if sys.stdout.isatty():
        # `as_typed` makes lines longer
        LINE.set(min(LINE.get(), shutil.get_terminal_size().columns - 8))
    try:
        os.getcwd()
    except FileNotFoundError:
        raise rk.InputError(
            "the working folder does not exist any more; change to another one"
        ) from None


# --- a command


@dataclass(frozen=True)
class CommandResult:
    """The outcome of a command: a record for programs, a text for people, a status.

    `error` is printed on stderr afterwards.
    """

    record: Plain
    text: str
    status: int = 0
    error: str = ""


OF_COMMAND = ("reading", "typed", "stdout")
"""Attributes of `Options` that are no options."""


class Options(SimpleNamespace):
    """The values of the arguments and options of one call, by name.

    `reading` has the options for reading rollouts. `typed` maps the options on the
    command line to their flags. `stdout` is the real one: during the work, prints of
    users' code go to stderr.
    """

    reading: Record
    typed: dict[str, str]
    stdout: Any

    @classmethod
    def of(cls, ctx: click.Context) -> Options:
        """Return the values of a call. UsageError: an option lacks another one."""
        typed = {}
        reading = {}
        for parameter in ctx.command.params:
            name = str(parameter.name)
            flag = parameter.opts[0]
            if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE:
                typed[name] = flag
            if flag in READING:
                reading[name] = ctx.params[name]
        sentence = missing_requirement(typed, ctx.params)
        if sentence:
            raise click.UsageError(sentence, ctx)
        values = {"json": False, **ctx.params, "stdout": sys.stdout}
        return cls(**values, reading=reading, typed=typed)

    def select(self, names: str) -> Record:
        """Return the values of these names as keyword arguments."""
        return {name: getattr(self, name) for name in names.split()}

    def notebook_reading(self) -> Record:
        """Return the parameter `reading` of the notebooks, without defaults."""
        reading = {}
        for name, value in {**self.reading, **self.select("as_ log_weights")}.items():
            is_default = name == "on" and value == "prompt"
            if value and not is_default:
                reading[name] = value
        return reading

    def notebook_limits(self) -> Record:
        """Return the parameter `limits` of the notebooks, from typed options."""
        names = ("timeout", "budget", "leakage", "seed", "baseline")
        return {name: getattr(self, name) for name in names if name in self.typed}

    def read_rollouts(self, source: str | None) -> rk.Rollouts | None:
        """Read rollouts with the options for reading; None without a source."""
        return None if source is None else rk.load_rollouts(source, **self.reading)

    def read_reward(self, **settings: Any) -> rk.Reward:
        """Read REWARD, as a function of the trainer in --as if it is set."""
        return self.weigh(rk.load_reward(self.reward, as_=self.as_, **settings))

    def weigh(self, reward: rk.Reward) -> rk.Reward:
        """Return a reward with the reward_weights of --training, if it has any."""
        if "training" not in self.typed:
            return reward
        return reward.reweigh(self.training.weights_of(reward.name, reward.names))

    def time_limit(self, *rewards: rk.Reward) -> float | None:
        """Return the time limit in seconds, or None for no limit.

        Without --timeout it is the default, if rewards can be scored with a limit.
        """
        if self.timeout is not None:
            return self.timeout or None
        for reward in rewards:
            reason = cannot_limit(reward.functions)
            if reason:
                say(f"rewardkit: no time limit: {' '.join(reason.split())}", err=True)
                return None
        return COMMAND_TIMEOUT

    @property
    def cluster(self) -> rk.Ray | None:
        """Return the cluster of --engine ray, or None."""
        return rk.Ray(self.address) if self.engine else None

    @property
    def is_watched(self) -> bool:
        """Return whether to show progress on a terminal."""
        return not self.json and sys.stderr.isatty()

    @contextmanager
    def progress(self, job: str) -> Iterator[Callable[[float], bool]]:
        """Show a bar; yield a function that takes the finished share."""
        with tqdm(
            desc=job,
            total=100,
            unit=" %",
            bar_format="{desc}: {percentage:3.0f} %|{bar}| {elapsed}<{remaining}, "
            "{rate_fmt}",
            leave=False,
            disable=not self.is_watched,
        ) as bar:

            def show(share: float) -> bool:
                bar.update(100 * share - bar.n)
                return True

            yield show


def command(
    usage: str, own_options: OptionTable | None = None, **settings: Any
) -> Callable[[Callable[[Options], CommandResult]], click.Command]:
    """Return a decorator that makes a command of a function, with its name.

    The docstring is the help; the example at its end must run unchanged. Prints of
    users' code go to stderr, as they are no result. For `usage` and `own_options` see
    `parameters`.
    """
    own_options = own_options or {}

    def make_command(work: Callable[[Options], CommandResult]) -> click.Command:
        @click.pass_context
        def run(ctx: click.Context, /, **_: Any) -> None:
            options = Options.of(ctx)
            with redirect_stdout(cast(Any, Legible())):
                answer = work(options)
            if answer.text and options.json:
                record = to_json(answer.record)
                say(json.dumps(record, ensure_ascii=True, allow_nan=False))
            elif answer.text:
                say(as_typed(answer.text, ctx.command))
            if answer.error:
                error = as_typed(answer.error, ctx.command, in_full=True)
                say(f"rewardkit: {error}", err=True)
            ctx.exit(answer.status)

        name = work.__name__
        inputs = re.findall("[A-Z]+", " ".join([usage, *own_options]))
        help_text, _, example = (inspect.getdoc(work) or "").partition("\n\nExample:\n")
        notes = []
        for kind, note in COMMAND_NOTES.items():
            if kind in inputs and (name, kind) != ("score", "READING"):
                notes.append(note)
        click_command = click.Command(
            name,
            {**CONTEXT, "show_default": True, **settings},
            run,
            parameters(usage, own_options),
            help=help_text,
            epilog="\n\n".join([*notes, f"\b\nExample:\n{example}"]),
        )
        main.add_command(click_command)
        return click_command

    return make_command
