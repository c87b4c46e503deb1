"""Define the arguments and options that commands share, and read their values."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import rewardkit as rk
from rewardkit.errors import read_size
from rewardkit.history.baseline import is_day
from rewardkit.history.runs_folder import KEPT_RUNS
from rewardkit.plain import Plain, Record
from rewardkit.probes.options import BUDGET, LEAKAGE
from rewardkit.rollouts.columns import TEXTS
from rewardkit.rollouts.csv_rows import cell_number

COMMAND_TIMEOUT = 10.0
"""Seconds. Our choice: longer than a check should take, shorter than people wait."""


class Number(click.FloatRange):
    """A number in a range, called "number" in error messages."""

    name = "number"


class Integer(click.IntRange):
    """An integer in a range, called "integer" in error messages."""

    name = "integer"


def label_lines(names: Sequence[str], label: str | None) -> list[str]:
    """Return advice on the first of possible labels, unless a label is set."""
    if label or not names:
        return []
    return [
        f"{names[0]!r} is true or false: if it says which completions are right, add "
        f"--label {names[0]}"
    ]


# --- reading of values


def _read_text(name: str, text: str) -> Any:
    return text


def _pairs(
    form: str, read_value: Callable[[str, str], Any] = _read_text
) -> Callable[..., Any]:
    """Return a callback that reads values such as name=text into a dict.

    BadParameter: another form, or a duplicate name.
    """

    def read_all(
        ctx: click.Context, parameter: click.Parameter, values: Sequence[str]
    ) -> Record:
        texts: dict[str, str] = {}
        for value in values:
            name, _, text = value.partition("=")
            if not name or not text:
                raise click.BadParameter(f"{value!r} is not {form}")
            if name in texts:
                raise click.BadParameter(
                    f"{name!r} is given twice, {texts[name]!r} and {text!r}; give one"
                )
            texts[name] = text
        return {name: read_value(name, text) for name, text in texts.items()}

    return read_all


def _constant(name: str, text: str) -> Any:
    """Return a number if the text is one and the column does not hold texts."""
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
    """Return the settings of a file, if any, overridden by NAME=VALUE."""
    files = [value for value in values if "=" not in value]
    if len(files) > 1:
        raise click.BadParameter(
            f"{files[1]!r} is a second file; give one, and NAME=VALUE for what differs"
        )
    pairs = [value for value in values if "=" in value]
    base = rk.Training.of(files[0]).record() if files else {}
    read_pairs = _pairs("NAME=VALUE, such as scale_rewards=none", _constant)
    return rk.Training.of({**base, **read_pairs(ctx, parameter, pairs)})


def _columns(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return names of columns as a list, or None without any."""
    if isinstance(value, tuple):
        return list(value) or None
    return value


def _keep_no_answers(
    ctx: click.Context, parameter: click.Parameter, is_set: bool
) -> None:
    """Disable the cache of models' answers in this process and its children."""
    from rewardkit.judges.cache import CACHE_FOLDER  # importing it loads all judges

    if is_set:
        os.environ[CACHE_FOLDER] = "off"


def _size(ctx: click.Context, parameter: click.Parameter, value: str | int) -> int:
    """Read a size such as 2GB or 500 MB. InputError: another form."""
    return read_size(str(parameter.name), value)


def _day(
    ctx: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """Check the form of a day. BadParameter: another form."""
    if value is not None and not is_day(value):
        raise click.BadParameter(f"{value!r} is no day; write it as in 2027-01-31")
    return value


# --- the table

FILES = ("CASES", "FILE", "PROMPTS", "REWARD", "ROLLOUTS", "SCORES", "TRAIN")
"""Values that may name files, for shell completion."""

VALUE_KINDS: dict[str, Record] = {
    "ACTION": {"type": click.Choice(["show", "restore", "tag", "export", "delete"])},
    "ARGUMENTS": {"nargs": -1, "type": click.UNPROCESSED},
    "COLUMN": {"callback": _columns},
    "COLUMN=VALUE": {
        "callback": _pairs("column=value, such as data_source=gsm8k", _constant)
    },
    "DAY": {"callback": _day},
    "FILE|NAME=VALUE": {"callback": _settings},
    "FOLDER": {"type": click.Path(file_okay=False, path_type=Path)},
    "NAME=NUMBER": {"callback": _pairs("name=number, such as accuracy=2", _number)},
    "NAME=SOURCE": {"callback": _pairs("canonical=source, such as completion=text")},
    "N": {"type": int},
    "NUMBER": {"type": float},
    "OUTPUT": {"type": click.Path(dir_okay=False, path_type=Path)},
    "SECONDS": {"type": Number(min=0)},
    "SIZE": {"type": str, "callback": _size},
    "SEED": {"type": Integer(min=0), "default": 0},
    "SHELL": {"type": click.Choice(["bash", "zsh", "fish"])},
    "SHARE": {"type": Number(min=0, max=1)},
    "TRACKER": {"type": click.Choice(["mlflow", "trackio", "wandb"])},
    "VERSIONS": {"nargs": -1, "type": click.Path()},
    "ray": {"type": click.Choice(["ray"])},
    "warn|high": {"type": click.Choice(["warn", "high"])},
    **{name: {"type": click.Path()} for name in FILES},
}
"""Name of an argument or value in the help -> settings of click."""

OptionTable = Mapping[str, str | tuple[str, Plain]]
"""Form of an option -> its help, and further settings of click.

The form is the flag, the name in Python if that is different, and the name of the
value, with `...` if it can be repeated.
"""

ANY_LOG = (
    "Completions (JSONL, Parquet, CSV), a trainer's log (file or folder), scores, or "
    "gallery:name."
)
READING = ("--column", "--group", "--join", "--on", "--set")
"""Options for reading rollouts."""

SHARED: OptionTable = {
    "--rollouts ROLLOUTS": ANY_LOG,
    "--cases CASES": "A JSONL file of cases, or gallery:name.",
    "--folder FOLDER": ("The folder of runs.", {"default": KEPT_RUNS}),
    "--training FILE|NAME=VALUE...": "The trainer's settings: verl's YAML, a "
    "GRPOConfig, or one such as scale_rewards=none.  [default: TRL's]",
    "--label COLUMN": "A trusted column that says which completions are good.",
    "--primary NAME": "The component that is the task.  [default: what reads the "
    "truth]",
    "--at-step N": "Use the weights at this step, for a reward with weights by step.",
    "--by COLUMN...": "Also look at each value of this column.  [default: those that "
    "siblings share]",
    "--seed SEED": "Seed of random draws.",
    "--timeout SECONDS": "Limit for one call of your code; 0: none.  [default: "
    f"{COMMAND_TIMEOUT:g}]",
    "--budget SECONDS": (
        "Limit for all probes; what was not tried is listed.",
        {"default": BUDGET},
    ),
    "--leakage SHARE": (
        "Most that a wrong answer may earn by its form alone.",
        {"default": LEAKAGE},
    ),
    "--baseline FILE": "A JSON file of accepted findings.",
    "--accept REASON": "Add the alarms of this run to the baseline, with this reason.",
    "--finding findings CODE[:COMPONENT]...": "With --accept: only the alarms of this "
    "code (and component).",
    "--until DAY": "With --accept: the last day on which they are accepted, such as "
    "2027-01-31.",
    "--fail-on warn|high": "Exit 1 when there is a new finding of this severity or "
    "above.",
    "--verbose": "Show all of it.",
    "--redact": "Leave out prompts and completions.",
    "--address HOST:PORT": "With --engine ray: the cluster's head.  [default: the "
    "cluster of RAY_ADDRESS or of this machine, else a new one]",
    "--as as_ TARGET[:WAY]": "Read REWARD as a function of this trainer, such as verl "
    "or trl:messages.",
    "--no-cache": (
        "Ask models again: no cache of answers.",
        {"expose_value": False, "is_eager": True, "callback": _keep_no_answers},
    ),
    "--log-weight log_weights NAME=NUMBER...": "Weight of a score in the log, if its "
    "scores are the reward.",
    "--json": "Print one JSON object instead of text.",
    "--column columns NAME=SOURCE...": "Read a canonical column from this one, such as "
    "completion=text.",
    "--group COLUMN...": "Columns that make groups.  [default: prompt_id, policy, "
    "step, data_source]",
    "--join TRAIN": "The run's data set, for columns that the log lacks, such as "
    "ground_truth.",
    "--on COLUMN": ("Key column of the join.", {"default": "prompt"}),
    "--set fill COLUMN=VALUE...": "Add a column of one value, such as "
    "data_source=gsm8k.",
}
"""Options of several commands."""


@dataclass(frozen=True)
class Requirement:
    """Options that need others, and the error message if these are missing.

    ``{}`` in the message is replaced by the flag that was typed.
    """

    options: tuple[str, ...]
    needed: tuple[str, ...]
    sentence: str


REQUIREMENTS = (
    Requirement(("on",), ("join",), "--on names the key of a join; give --join too"),
    Requirement(
        ("rollouts", "write_cases", "engine"),
        ("mutants",),
        "{} is for --mutants, which is not there; give both, or none",
    ),
    Requirement(
        ("note", "tags", "redact"),
        ("keep",),
        "{} is for --keep, which is not there; give both, or none",
    ),
    Requirement(
        ("engine",),
        ("output",),
        "--engine ray writes parts into a folder; give -o FOLDER too",
    ),
    Requirement(
        ("address",),
        ("engine",),
        "--address is of a Ray cluster; give --engine ray too",
    ),
    Requirement(
        ("accept",),
        ("baseline",),
        "--accept writes into a baseline; name its file with --baseline FILE",
    ),
    Requirement(
        ("until", "findings"),
        ("accept",),
        "{} is for --accept, which is not there; give both, or none",
    ),
    Requirement(
        ("columns", "group", "join", "fill"),
        ("verify",),
        "options for reading are for the rollouts of --verify; give it, too",
    ),
    Requirement(
        ("rewards",),
        ("cases",),
        "--reward names what runs the cases; give --cases too",
    ),
)
"""Requirements between options, for each command that has both."""


def missing_requirement(typed: Mapping[str, str], values: Plain) -> str | None:
    """Return the message on the first option whose requirement is missing, or None.

    `typed` maps options on the command line to their flags, `values` all options of the
    command to their values.
    """
    for requirement in REQUIREMENTS:
        flags = [typed[name] for name in requirement.options if name in typed]
        lacking = []
        for name in requirement.needed:
            value = values.get(name, True)
            if not value and value != "":  # the command itself refuses ""
                lacking.append(name)
        if flags and lacking:
            return requirement.sentence.format(flags[0])
    return None


def parameters(usage: str, own_options: OptionTable) -> list[click.Parameter]:
    """Return the arguments and options of a command, `own_options` first.

    In `usage`, a name in capitals is an argument, in brackets an optional one; READING
    stands for all options in `READING`.
    """
    shared = {}
    for form, help_text in SHARED.items():
        shared[form.split()[0]] = (form, help_text)
    arguments: list[click.Parameter] = []
    options = [_option(form, help_text) for form, help_text in own_options.items()]
    for name in usage.replace("READING", " ".join(READING)).split():
        if name.startswith("--"):
            options.append(_option(*shared[name]))
            continue
        kind = name.strip("[]")
        settings = VALUE_KINDS.get(kind, {})
        arguments.append(
            click.Argument([kind.lower()], required=kind == name, **settings)
        )
    return [*arguments, *options]


class HelpedOption(click.Option):
    """An option without its range in the help.

    Options for reading logs are only in the help of `score`.
    """

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the entry in the help, or None."""
        if self.opts[0] in READING and ctx.command.name != "score":
            return None
        return super().get_help_record(ctx)

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return the parts in brackets after the help, without the range."""
        extra = dict(super().get_help_extra(ctx))
        extra.pop("range", None)
        return extra


def _option(form: str, help_text: str | tuple[str, Plain]) -> HelpedOption:
    """Return an option of a table; a form without a value is a flag."""
    settings: Plain = {}
    if isinstance(help_text, tuple):
        help_text, settings = help_text
    flags = form.split()
    if len(flags) == 1:
        return HelpedOption(flags, help=help_text, is_flag=True, **settings)
    value = flags.pop()
    kind = value.removesuffix("...")
    defaults = {
        "metavar": kind,
        "multiple": value != kind,
        **VALUE_KINDS.get(kind, {}),
    }
    return HelpedOption(flags, help=help_text, **{**defaults, **settings})
