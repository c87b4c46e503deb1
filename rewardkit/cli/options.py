"""Arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import rewardkit as rk
from rewardkit.cli.output import say
from rewardkit.judges.cache import FOLDER
from rewardkit.probes.probe import BUDGET
from rewardkit.probes.results.floor import LEAKAGE
from rewardkit.rollouts.columns import TEXTS
from rewardkit.rollouts.files import cell_number
from rewardkit.rollouts.package_data import GALLERY, bundled
from rewardkit.scoring.deadlines import cannot_limit

TIMEOUT = 10.0
"""Seconds. Our choice: beyond what one completion's check should take, below what people wait for."""

NAMED = (
    "REWARD is file.py:name, package.module:name or gallery:module[.name]; the attribute `reward` where no "
    "name is given."
)
SCORES = (
    "SCORES is the folder that `rewardkit score -o` wrote, or its Parquet file; or the log of a trainer, "
    "whose own scores are taken then."
)


class Number(click.FloatRange):
    """A number in a range, named so where another text is given."""

    name = "number"


class Integer(click.IntRange):
    """An integer in a range, named so where another text is given."""

    name = "integer"


# --- how values are read


def pairs(values: tuple[str, ...], form: str) -> dict[str, str]:
    """Texts by name, of values such as name=text. BadParameter: another form, or a name twice."""
    found: dict[str, str] = {}
    for value in values:
        name, equals, source = value.partition("=")
        if not equals or not name or not source:
            raise click.BadParameter(f"{value!r} is not {form}")
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice, {found[name]!r} and {source!r}; give one")
        found[name] = source
    return found


def _columns(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    return pairs(values, "canonical=source, such as completion=text")


def _constants(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Constants by column: numbers where they are written as such, but for columns that hold text."""
    texts = pairs(values, "column=value, such as data_source=gsm8k")
    return {name: text if name in TEXTS else _value(text) for name, text in texts.items()}


def _value(text: str) -> Any:
    number = cell_number(text)
    return text if number is None else number


def _numbers(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    weights = {}
    for name, value in pairs(values, "name=number, such as accuracy=2").items():
        try:
            weights[name] = float(value)
        except ValueError:
            raise click.BadParameter(f"{name}={value!r} is not a number") from None
    return weights


def _settings(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> rk.Training:
    """The settings of a file, if any, with those that were named put in their place."""
    files = [value for value in values if "=" not in value]
    if len(files) > 1:
        raise click.BadParameter(f"{files[1]!r} is a second file; give one, and NAME=VALUE for what differs")
    named = pairs(tuple(value for value in values if "=" in value), "NAME=VALUE, such as scale_rewards=none")
    base = rk.Training.of(files[0]).record() if files else {}
    return rk.Training.of({**base, **{name: _value(value) for name, value in named.items()}})


def _keep_no_answers(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    """Keep no answers of models in this process and in those that it starts."""
    if given:
        os.environ[FOLDER] = "off"


def limit_for(timeout: float | None, *rewards: rk.Reward) -> float | None:
    """The time limit that was asked for; else the default one, where the rewards can be scored under it."""
    if timeout is not None:
        return timeout or None
    why = next(filter(None, (cannot_limit(reward.functions) for reward in rewards)), None)
    if why:
        say(f"rewardkit: no time limit: {' '.join(why.split())}", err=True)
    return None if why else TIMEOUT


# --- what a shell completes


def _completed(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of the gallery that begin so, what a Python file defines, or files."""
    words = f"{parameter.name} {parameter.metavar or ''}".lower()
    kind = next((kind for kind in GALLERIES if kind in words), "reward")
    place, _, _ = incomplete.rpartition(":")
    names = [f"{place}:{name}" for name in _defined(Path(place))] if place.endswith(".py") else []
    for path in sorted(path for pattern in GALLERIES[kind] for path in bundled(pattern[0]).glob(pattern[1])):
        names.append(f"{GALLERY}{path.parent.name if path.stem in GALLERIES else path.stem}")
    found = [CompletionItem(name) for name in names if incomplete and name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


PACKAGE = str(Path(rk.__file__).parent)
GALLERIES = {
    "rollouts": [("data", "*/rollouts.jsonl")],
    "cases": [("data", "*/cases.jsonl"), ("data", "gallery/*.jsonl")],
    "reward": [(PACKAGE, "gallery/[a-z]*.py")],
}
"""What an argument is -> where the files of the gallery are for it."""


def _defined(path: Path) -> Iterator[str]:
    """The public names that a Python file binds at its top, without running it."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return
    for item in body:
        names = [getattr(item, "name", "")] if isinstance(item, ast.FunctionDef | ast.ClassDef) else []
        names += [to.id for to in getattr(item, "targets", []) if isinstance(to, ast.Name)]
        yield from (name for name in names if not name.startswith("_"))


# --- the table

KINDS: dict[str, dict[str, Any]] = {
    "COLUMN=VALUE": {"callback": _constants},
    "FILE|NAME=VALUE": {"callback": _settings},
    "FOLDER": {"type": click.Path(file_okay=False, path_type=Path)},
    "NAME=NUMBER": {"callback": _numbers},
    "NAME=SOURCE": {"callback": _columns},
    "N": {"type": int},
    "NUMBER": {"type": float},
    "OUTPUT": {"type": click.Path(dir_okay=False, path_type=Path)},
    "SECONDS": {"type": Number(min=0)},
    "SEED": {"type": Integer(min=0), "default": 0},
    "SHARE": {"type": Number(min=0, max=1)},
    "warn|high": {"type": click.Choice(["warn", "high"])},
    **{name: {"shell_complete": _completed} for name in ("CASES", "FILE", "REWARD", "ROLLOUTS", "TRAIN")},
}
"""What a value is called in the help -> how it is read."""

Written = Mapping[str, str | tuple[str, Mapping[str, Any]]]
"""Options as they are written, `...` behind those that may be repeated -> the help, what else click takes."""

ANY_LOG = "Completions (JSONL, Parquet, CSV), a trainer's log (file or folder), or gallery:name."
READING: Written = {
    "--column NAME=SOURCE...": "Read a canonical column from this one, such as completion=text.",
    "--group COLUMN...": "Columns that make groups.  [default: prompt_id, policy, step, data_source]",
    "--join TRAIN": "The run's data set, for columns that the log lacks, such as ground_truth.",
    "--on COLUMN": "Key column of the join.  [default: prompt]",
    "--set COLUMN=VALUE...": "Add a column of one value, such as data_source=gsm8k.",
}
"""How rollouts are read; a command gets them as `reading`, the keyword arguments of `load_rollouts`."""

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
    "--as TARGET[:WAY]": "Read REWARD as a function of this trainer, such as verl or trl:messages.",
    "--no-cache": ("Ask models again: no cache of answers.",
                   {"expose_value": False, "is_eager": True, "callback": _keep_no_answers}),
    "--log-weight NAME=NUMBER...": "Weight of a score in the log, where these are the reward.",
    "--json": "Print one JSON object instead of text.",
    **READING,
}  # fmt: skip
"""The options that several commands have."""


ARGUMENTS: dict[str, dict[str, Any]] = {
    "arguments": {"nargs": -1, "type": click.UNPROCESSED},
    "name": {},
    "shell": {"type": click.Choice(["bash", "zsh", "fish"])},
}
"""Arguments that are no files or names of the gallery."""


def parameters(named: str, own: Written) -> list[click.Parameter]:
    """The arguments and options of a command: those of its `own` first, then those that are `named`.

    A name in capitals is an argument, in brackets one that may be missing; READING stands for all of these.
    """
    arguments: list[click.Parameter] = []
    options = [_option(*item) for item in own.items()]
    shared = {written.split()[0]: (written, told) for written, told in SHARED.items()}
    for name in named.replace("READING", " ".join(written.split()[0] for written in READING)).split():
        if name.startswith("--"):
            options.append(_option(*shared[name]))
        else:
            required, name = name[0] != "[", name.strip("[]").lower()
            how = ARGUMENTS.get(name, {"shell_complete": _completed})
            arguments.append(click.Argument([name], required=required, **how))
    return [*arguments, *options]


def _option(written: str, told: str | tuple[str, Mapping[str, Any]]) -> click.Option:
    """An option of a table; without a name for its value it is a flag."""
    help, more = (told, {}) if isinstance(told, str) else told
    *flags, value = written.split() if " " in written else (written, "")
    kind = value.removesuffix("...")
    how: dict[str, Any] = {"metavar": kind, **KINDS.get(kind, {})} if kind else {"is_flag": True}
    return click.Option(flags, help=help, **{**how, "multiple": value != kind, **more})
