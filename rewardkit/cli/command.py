"""Commands: functions from options to an answer, whose docstring is their help."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import click
from click.core import ParameterSource
from tqdm import tqdm

import rewardkit as rk
from rewardkit.cli.group import CONTEXT, main
from rewardkit.cli.options import (
    READING,
    TIMEOUT,
    Written,
    missing_requirement,
    parameters,
)
from rewardkit.cli.output import Legible, say
from rewardkit.cli.spelling import as_typed
from rewardkit.plain import to_json
from rewardkit.scoring.deadlines import cannot_limit

NOTES = {
    "REWARD": "REWARD is file.py:name, package.module:name or gallery:module[.name]; the attribute `reward` "
    "where no name is given.",
    "SCORES": "SCORES is the folder that `rewardkit score -o` wrote, or its Parquet file; or the log of a "
    "trainer, whose own scores are taken then.",
    "READING": f"Options for reading a log: {', '.join(READING)}; rewardkit score --help tells of them.",
}
"""What a command takes -> what its help says of it at the end."""


@dataclass(frozen=True)
class Answer:
    """The outcome of a command: `record` for programs, `text` for a person, exit status.

    `error` is printed on stderr behind it.
    """

    record: Mapping[str, Any]
    text: str
    status: int = 0
    error: str = ""


class Options(SimpleNamespace):
    """The values of the arguments and options of one call, by name.

    `reading` are those by which rollouts are read; `typed` has each option on the
    command line as it is written.
    """

    reading: dict[str, Any]
    typed: dict[str, str]

    @classmethod
    def of(cls, ctx: click.Context) -> Options:
        """Return the values of a call. UsageError: an option lacks another one."""
        written = {
            str(parameter.name): parameter.opts[0] for parameter in ctx.command.params
        }
        source = ctx.get_parameter_source
        typed = {
            name: written[name]
            for name in written
            if source(name) == ParameterSource.COMMANDLINE
        }
        reading = {
            name: value
            for name, value in ctx.params.items()
            if written[name] in READING
        }
        sentence = missing_requirement(typed, ctx.params)
        if sentence:
            raise click.UsageError(sentence, ctx)
        return cls(**{"json": False, **ctx.params}, reading=reading, typed=typed)

    def select(self, names: str) -> dict[str, Any]:
        """Return the values of these names, to be passed on as keyword arguments."""
        return {name: getattr(self, name) for name in names.split()}

    def notebook_reading(self) -> dict[str, Any]:
        """Return the parameter `reading` of the notebooks: what was set of it."""
        options = {**self.reading, **self.select("as_ log_weights")}
        defaults = {"on": "prompt"}
        reading = {}
        for name, value in options.items():
            if value and value != defaults.get(name):
                reading[name] = value
        return reading

    def notebook_limits(self) -> dict[str, Any]:
        """Return the parameter `limits` of the notebooks: what was set of it, in any."""
        names = ("timeout", "budget", "leakage", "seed", "baseline")
        return {name: getattr(self, name) for name in names if name in self.typed}

    def time_limit(self, *rewards: rk.Reward) -> float | None:
        """Return the time limit in seconds, or None for none.

        Without --timeout it is the default where the rewards can be scored under a limit.
        """
        if self.timeout is not None:
            return self.timeout or None
        why = next(
            filter(None, (cannot_limit(reward.functions) for reward in rewards)), None
        )
        if why:
            say(f"rewardkit: no time limit: {' '.join(why.split())}", err=True)
        return None if why else TIMEOUT

    @property
    def is_watched(self) -> bool:
        """Whether somebody watches a terminal on which progress is shown."""
        return not self.json and sys.stderr.isatty()

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[float], bool]]:
        """Show a bar; the block calls the function it gets with the share that is done."""
        form = "{desc}: {percentage:3.0f} %|{bar}| {elapsed}<{remaining}, {rate_fmt}"
        hidden = not self.is_watched
        with tqdm(
            desc=what,
            total=100,
            unit=" %",
            bar_format=form,
            leave=False,
            disable=hidden,
        ) as bar:
            yield lambda share: bar.update(100 * share - bar.n) or True


def command(
    named: str, own: Written | None = None, **settings: Any
) -> Callable[[Callable[[Options], Answer]], click.Command]:
    """Make a command of a function, under its name; its docstring is the help, with an example at its end.

    Its parameters are those of `parameters`; the example runs as it is. What users'
    code prints meanwhile is no result, and goes to stderr.
    """

    def make_command(work: Callable[[Options], Answer]) -> click.Command:
        @click.pass_context
        def run(ctx: click.Context, /, **_: Any) -> None:
            options = Options.of(ctx)
            with redirect_stdout(cast(Any, Legible())):
                answer = work(options)
            if answer.text and options.json:
                say(
                    json.dumps(
                        to_json(answer.record), ensure_ascii=True, allow_nan=False
                    )
                )
            elif answer.text:
                say(as_typed(answer.text, ctx.command))
            if answer.error:
                say(
                    f"rewardkit: {as_typed(answer.error, ctx.command, all_of_it=True)}",
                    err=True,
                )
            ctx.exit(answer.status)

        name, takes = (
            work.__name__,
            re.findall("[A-Z]+", " ".join([named, *(own or {})])),
        )
        help_text, _, example = (inspect.getdoc(work) or "").partition("\n\nExample:\n")
        notes = [
            NOTES[what]
            for what in NOTES
            if what in takes and (name, what) != ("score", "READING")
        ]
        epilog = "\n\n".join([*notes, f"\b\nExample:\n{example}"])
        context = {**CONTEXT, "show_default": True, **settings}
        option_name = click.Command(
            name,
            context,
            run,
            parameters(named, own or {}),
            help=help_text,
            epilog=epilog,
        )
        main.add_command(option_name)
        return option_name

    return make_command
