"""Arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import rewardkit as rk
from rewardkit.judges.spending import CACHE_FOLDER
from rewardkit.probes.options import BUDGET, LEAKAGE
from rewardkit.rewards.load import gallery_names
from rewardkit.rollouts.columns import TEXTS
from rewardkit.rollouts.files import cell_number
from rewardkit.rollouts.paths import GALLERY_PREFIX, files_of

TIMEOUT = 10.0
"""Seconds. Our choice: beyond what one completion's check should take, below what people wait for."""


class Number(click.FloatRange):
    """A number in a range, named so where another text is given."""

    name = "number"


class Integer(click.IntRange):
    """An integer in a range, named so where another text is given."""

    name = "integer"


# --- how values are read


def _pairs(
    form: str, read: Callable[[str, str], Any] = lambda name, text: text
) -> Callable[..., Any]:
    """Return a callback that reads values such as name=text into a dict.

    BadParameter: another form, or a name twice.
    """

    def read_all(
        ctx: click.Context, parameter: click.Parameter, values: Sequence[str]
    ) -> dict[str, Any]:
        found: dict[str, str] = {}
        for value in values:
            name, _, text = value.partition("=")
            if not name or not text:
                raise click.BadParameter(f"{value!r} is not {form}")
            if name in found:
                raise click.BadParameter(
                    f"{name!r} is given twice, {found[name]!r} and {text!r}; give one"
                )
            found[name] = text
        return {name: read(name, text) for name, text in found.items()}

    return read_all


def _constant(name: str, text: str) -> Any:
    """Return a number where one is written, but for columns that hold text."""
    number = None if name in TEXTS else cell_number(text)
    return text if number is None else number


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{name}={text!r} is not a number") from None


def _settings(
    ctx: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> rk.Training:
    """Return the settings of a file, if any, with the named ones in their place."""
    files = [value for value in values if "=" not in value]
    if len(files) > 1:
        raise click.BadParameter(
            f"{files[1]!r} is a second file; give one, and NAME=VALUE for what differs"
        )
    named = [value for value in values if "=" in value]
    base = rk.Training.of(files[0]).record() if files else {}
    read = _pairs("NAME=VALUE, such as scale_rewards=none", _constant)
    return rk.Training.of({**base, **read(ctx, parameter, named)})


def _columns(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return names of columns as a list, or None where there are none."""
    return (list(value) or None) if isinstance(value, tuple) else value


def _keep_no_answers(
    ctx: click.Context, parameter: click.Parameter, given: bool
) -> None:
    """Keep no answers of models in this process and in those that it starts."""
    if given:
        os.environ[CACHE_FOLDER] = "off"


# --- what a shell completes

BOUND = re.compile(
    r"(?m)^(?:(?:async )?def|class) ([a-zA-Z]\w*)|^([a-zA-Z]\w*)(?:: [^=\n]+)? = "
)
"""A line at the top of a file that binds a public name."""


def _completed(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return names of the gallery that begin so, names in a Python file, or files."""
    words = f"{parameter.name} {parameter.metavar or ''}".lower()
    kind = next((kind for kind in ("rollouts", "cases") if kind in words), "")
    place, _, _ = incomplete.rpartition(":")
    if place.endswith(".py"):
        names = [f"{place}:{name}" for name in _defined(Path(place))]
    else:
        names = [
            f"{GALLERY_PREFIX}{name}"
            for name in (files_of(f"{kind}.jsonl") if kind else gallery_names())
        ]
    found = [
        CompletionItem(name)
        for name in names
        if incomplete and name.startswith(incomplete)
    ]
    return found or [CompletionItem(incomplete, type="file")]


def _defined(path: Path) -> list[str]:
    """Return the public names that a Python file binds at its top, unrun."""
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return [name or other for name, other in BOUND.findall(text)]


# --- the table

COMPLETED = (
    "A",
    "B",
    "CASES",
    "FILE",
    "PROMPTS",
    "REWARD",
    "ROLLOUTS",
    "SCORES",
    "TRAIN",
)

KINDS: dict[str, dict[str, Any]] = {
    "ARGUMENTS": {"nargs": -1, "type": click.UNPROCESSED},
    "COLUMN": {"callback": _columns},
    "COLUMN=VALUE": {
        "callback": _pairs("column=value, such as data_source=gsm8k", _constant)
    },
    "FILE|NAME=VALUE": {"callback": _settings},
    "CACHE_FOLDER": {"type": click.Path(file_okay=False, path_type=Path)},
    "NAME=NUMBER": {"callback": _pairs("name=number, such as accuracy=2", _number)},
    "NAME=SOURCE": {"callback": _pairs("canonical=source, such as completion=text")},
    "N": {"type": int},
    "NUMBER": {"type": float},
    "OUTPUT": {"type": click.Path(dir_okay=False, path_type=Path)},
    "SECONDS": {"type": Number(min=0)},
    "SEED": {"type": Integer(min=0), "default": 0},
    "SHELL": {"type": click.Choice(["bash", "zsh", "fish"])},
    "SHARE": {"type": Number(min=0, max=1)},
    "warn|high": {"type": click.Choice(["warn", "high"])},
    **{name: {"shell_complete": _completed} for name in COMPLETED},
}
"""What an argument or a value is called in the help -> how it is read, and whether a shell completes it."""

Written = Mapping[str, str | tuple[str, Mapping[str, Any]]]
"""Options as they are written -> the help, what else click takes.

Behind the option stands what Python calls it, where that is another name; behind a
value that may be repeated stands `...`.
"""

ANY_LOG = "Completions (JSONL, Parquet, CSV), a trainer's log (file or folder), or gallery:name."
READING = ("--column", "--group", "--join", "--on", "--set")
"""Options that say how rollouts are read, with the names that `load_rollouts` has for them."""

SHARED: Written = {
    "--rollouts ROLLOUTS": ANY_LOG,
    "--cases CASES": "A JSONL file of cases, or gallery:name.",
    "--training FILE|NAME=VALUE...": "The trainer's settings: verl's YAML, a GRPOConfig, or one such as "
    "scale_rewards=none.  [default: TRL's]",
    "--label COLUMN": "A trusted column that says which completions are good.",
    "--by COLUMN...": "Also look at each value of this column.  [default: those that siblings share]",
    "--seed SEED": "Seed of what is drawn.",
    "--timeout SECONDS": f"Limit for one call of your code; 0: none.  [default: {TIMEOUT:g}]",
    "--budget SECONDS": ("Limit for all probes; what was not tried is listed.", {"default": BUDGET}),
    "--leakage SHARE": ("Most that a wrong answer may earn by its form alone.", {"default": LEAKAGE}),
    "--baseline FILE": "A JSON file of accepted probe findings.",
    "--fail-on warn|high": "Exit 1 when there is a new finding of this severity or above.",
    "--verbose": "Show all of it.",
    "--redact": "Leave out prompts and completions.",
    "--as as_ TARGET[:WAY]": "Read REWARD as a function of this trainer, such as verl or trl:messages.",
    "--no-cache": ("Ask models again: no cache of answers.",
                   {"expose_value": False, "is_eager": True, "callback": _keep_no_answers}),
    "--log-weight log_weights NAME=NUMBER...": "Weight of a score in the log, where these are the reward.",
    "--json": "Print one JSON object instead of text.",
    "--column columns NAME=SOURCE...": "Read a canonical column from this one, such as completion=text.",
    "--group COLUMN...": "Columns that make groups.  [default: prompt_id, policy, step, data_source]",
    "--join TRAIN": "The run's data set, for columns that the log lacks, such as ground_truth.",
    "--on COLUMN": ("Key column of the join.", {"default": "prompt"}),
    "--set fill COLUMN=VALUE...": "Add a column of one value, such as data_source=gsm8k.",
}  # fmt: skip
"""The options that several commands have."""


@dataclass(frozen=True)
class Requirement:
    """Options that need others, and the sentence where these are missing.

    In the sentence ``{}`` stands for the option as it was typed.
    """

    options: tuple[str, ...]
    needed: tuple[str, ...]
    sentence: str


JOINT_OPTIONS = ("cases", "reward_a", "reward_b")
REQUIREMENTS = (
    Requirement(("on",), ("join",), "--on names the key of a join; give --join too"),
    Requirement(
        ("rollouts", "write_cases"),
        ("mutants",),
        "{} is for --mutants, which is not there; give both, or none",
    ),
    Requirement(
        ("accept",),
        ("baseline",),
        "--accept writes into a baseline; name its file with --baseline FILE",
    ),
    Requirement(
        ("columns", "group", "join", "fill"),
        ("verify",),
        "options for reading are for the rollouts of --verify; give it, too",
    ),
    Requirement(
        JOINT_OPTIONS,
        JOINT_OPTIONS,
        "--cases, --reward-a and --reward-b go together: both rewards run the cases",
    ),
)
"""What options need, in each command that has both."""


def missing_requirement(
    typed: Mapping[str, str], values: Mapping[str, Any]
) -> str | None:
    """Return the sentence on the first option that lacks what it needs, or None.

    `typed` has each option on the command line as it is written, `values` the values
    of all that the command has.
    """
    for requirement in REQUIREMENTS:
        given = [typed[name] for name in requirement.options if name in typed]
        lacking = [name for name in requirement.needed if not values.get(name, True)]
        if given and lacking:
            return requirement.sentence.format(given[0])
    return None


def parameters(named: str, own: Written) -> list[click.Parameter]:
    """Return the arguments and options of a command, its `own` options first.

    A name in capitals is an argument, in brackets one that may be missing; READING
    stands for all of these.
    """
    arguments: list[click.Parameter] = []
    options = [_option(*item) for item in own.items()]
    shared = {written.split()[0]: (written, told) for written, told in SHARED.items()}
    for name in named.replace("READING", " ".join(READING)).split():
        if name.startswith("--"):
            options.append(_option(*shared[name]))
        else:
            kind = name.strip("[]")
            arguments.append(
                click.Argument(
                    [kind.lower()], required=kind == name, **KINDS.get(kind, {})
                )
            )
    return [*arguments, *options]


class Option(click.Option):
    """An option as its help tells of it: no range of a number, and options for reading logs in one place."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Give what stands in the help."""
        elsewhere = self.opts[0] in READING and ctx.command.name != "score"
        return None if elsewhere else super().get_help_record(ctx)

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Give what stands behind it, in brackets."""
        return {
            what: said
            for what, said in super().get_help_extra(ctx).items()
            if what != "range"
        }


def _option(written: str, told: str | tuple[str, Mapping[str, Any]]) -> Option:
    """Return an option of a table; without a name for its value it is a flag."""
    help, more = (told, {}) if isinstance(told, str) else told
    *flags, value = written.split() if " " in written else (written, "")
    kind = value.removesuffix("...")
    how: dict[str, Any] = (
        {"metavar": kind, **KINDS.get(kind, {})} if kind else {"is_flag": True}
    )
    return Option(flags, help=help, **{**how, "multiple": value != kind, **more})
