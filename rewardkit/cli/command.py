"""What a command is: a function from what was asked to an answer, and a docstring that is its help."""

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
from rewardkit.cli.options import NEEDS, READING, TIMEOUT, Written, parameters
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
    """What a command found: `record` for programs, `text` for a person, its exit status.

    `error` is said on stderr behind it.
    """

    record: Mapping[str, Any]
    text: str
    status: int = 0
    error: str = ""


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
        written = {
            str(parameter.name): parameter.opts[0] for parameter in ctx.command.params
        }
        source = ctx.get_parameter_source
        given = {
            name: written[name]
            for name in written
            if source(name) == ParameterSource.COMMANDLINE
        }
        reading = {
            name: value
            for name, value in ctx.params.items()
            if written[name] in READING
        }
        for key, said in NEEDS.items():
            names, _, needed = key.partition(": ")
            one = next((given[name] for name in names.split() if name in given), "")
            if one and not all(
                ctx.params.get(name, True) for name in (needed or names).split()
            ):
                raise click.UsageError(said.format(one), ctx)
        return cls(**{"json": False, **ctx.params}, reading=reading, given=given)

    def some(self, names: str) -> dict[str, Any]:
        """The values of these names, for a function that calls them so."""
        return {name: getattr(self, name) for name in names.split()}

    def notebook_reading(self) -> dict[str, Any]:
        """Return the parameter `reading` of the notebooks: what was set of it."""
        options = {**self.reading, **self.some("as_ log_weights")}
        defaults = {"on": "prompt"}
        reading = {}
        for name, value in options.items():
            if value and value != defaults.get(name):
                reading[name] = value
        return reading

    def notebook_limits(self) -> dict[str, Any]:
        """Return the parameter `limits` of the notebooks: what was set of it, in any."""
        names = ("timeout", "budget", "leakage", "seed", "baseline")
        return {name: getattr(self, name) for name in names if name in self.given}

    def time_limit(self, *rewards: rk.Reward) -> float | None:
        """The time limit that was asked for; else the default, where the rewards can be scored under it."""
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
        """Gives what is told the share of the work that is done, and shows it with the time that remains."""
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
) -> Callable[[Callable[[Asked], Answer]], click.Command]:
    """Make a command of a function, under its name; its docstring is the help, with an example at its end.

    Its parameters are those of `parameters`; the example runs as it is. What users' code prints meanwhile is
    no result, and goes to stderr.
    """

    def made(work: Callable[[Asked], Answer]) -> click.Command:
        @click.pass_context
        def run(ctx: click.Context, /, **_: Any) -> None:
            asked = Asked.of(ctx)
            with redirect_stdout(cast(Any, Legible())):
                answer = work(asked)
            if answer.text and asked.json:
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
        told, _, example = (inspect.getdoc(work) or "").partition("\n\nExample:\n")
        notes = [
            NOTES[what]
            for what in NOTES
            if what in takes and (name, what) != ("score", "READING")
        ]
        epilog = "\n\n".join([*notes, f"\b\nExample:\n{example}"])
        context = {**CONTEXT, "show_default": True, **settings}
        one = click.Command(
            name, context, run, parameters(named, own or {}), help=told, epilog=epilog
        )
        main.add_command(one)
        return one

    return made
