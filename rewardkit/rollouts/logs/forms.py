"""The logs that trainers write, recognised by their columns: what they hold as rollouts, and which scores."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.errors import RolloutsError
from rewardkit.rollouts.columns import ALIASES, names_of
from rewardkit.rollouts.files import INSPECT, SAVED, Rejected, Row, Source
from rewardkit.rollouts.logs.log import LOGGED, Log, clear_texts, listed, numeric, rename, values_of
from rewardkit.rollouts.logs.verifiers import SUM, rows_of_episode

__all__ = ["read_log"]

KNOWN = {alias for aliases in ALIASES.values() for alias in aliases}


@dataclass(frozen=True)
class Form:
    """A form of log: how its columns are recognised, and what is made of its rows, which are changed.

    `read` also gets the columns that a person gave a meaning: they are no scores.
    """

    name: str
    fits: Callable[[Sequence[str], Mapping[str, Any]], bool]
    read: Callable[[Source, Collection[str]], Log]


def read_log(source: Source, *, keep: Collection[str] = ()) -> Log:
    """The form that the columns of a source say, and which scores stand in it; its rows become rollouts.

    `keep` are columns that a person gave a meaning: they are no scores. RolloutsError: files of several
    forms, or a data set without completions.
    """
    names = {file: names_of(row.values for row in rows) for file, rows in _by_file(source).items()}
    forms = {}
    for file, rows in _by_file(source).items():
        found = next(f for f in FORMS if f.name == source.form or f.fits(names[file], rows[0].values))
        forms[found.name] = found
    if len(forms) > 1:
        raise RolloutsError(f"the folder holds logs of several forms ({', '.join(forms)}); give one of them")
    form = next(iter(forms.values()), FORMS[-1])
    if form is FORMS[-1]:
        _check_alike(names)
    log = form.read(source, keep)
    saved = f" in a {SAVED}" if source.form == SAVED else ""
    told = clear_texts(source.rows, log.scores)
    return replace(log, kind=f"{log.kind}{saved}", warnings=(*log.warnings, *told))


def _by_file(source: Source) -> dict[str, list[Row]]:
    files: dict[str, list[Row]] = {}
    for row in source.rows:
        files.setdefault(row.file, []).append(row)
    return files


def _check_alike(names: Mapping[str, Sequence[str]]) -> None:
    """RolloutsError where files of one folder hold different things: not the same canonical columns."""
    held = {
        file: sorted(canonical for canonical, aliases in ALIASES.items() if set(own) & set(aliases))
        for file, own in names.items()
    }
    first = next(iter(held), "")
    for file, columns in held.items():
        if columns != held[first]:
            raise RolloutsError(
                f"the files of the folder hold different things: {first!r} has {held[first]}, "
                f"{file!r} has {columns}; give one of them, or a folder of like files"
            )


def _rewarded(kind: str, source: Source, reward: str, beside: Sequence[str], **more: Any) -> Log:
    """A log with one column that is the reward, and others beside it, recorded where they are numbers."""
    numbers = [name for name in beside if numeric(values_of(source.rows, name))]
    rename(source.rows, [reward, *beside])
    also = f"; recorded beside it: {listed(numbers)}" if numbers else ""
    return Log(
        kind,
        scores={LOGGED + reward: 1.0, **{LOGGED + name: 0.0 for name in numbers}},
        total=LOGGED + reward,
        notes=(f"took {reward!r} for the reward{also}",),
        **more,
    )


# TRL: GRPOTrainer.log and RLOOTrainer.log write step, prompt, completion, one column a reward function, those
# of log_extra in alphabetical order, advantage (1.16; the reward functions' names are get_callable_name's).


def _is_trl(names: Sequence[str], first: Mapping[str, Any]) -> bool:
    if not {"step", "prompt", "completion", "advantage"} <= set(names):
        return False
    between = _between(names)
    return bool(between) and isinstance(first.get(between[0]), float | int | None)


def _between(names: Sequence[str]) -> list[str]:
    order = list(names)
    return order[order.index("completion") + 1 : order.index("advantage")] if "advantage" in order else []


def _trl(source: Source, keep: Collection[str]) -> Log:
    warnings = _drop_repeats(source)
    rows, known = source.rows, KNOWN | set(keep)
    between = _between(source.names)
    rewards = between[:1]
    for name in between[1:]:
        if name in known or not all(map(_from_float32, values_of(rows, name))):
            break  # what log_extra brought stands behind all of them
        rewards.append(name)
    paid = _paid(rows, rewards)
    rewards = rewards[:paid]
    extras = [
        name
        for name in between
        if name not in rewards and name not in known and numeric(values_of(rows, name))
    ]
    also = f" and {listed(extras)} for numbers that log_extra left" if extras else ""
    notes = [f"took {listed(rewards)} for the scores of TRL's reward functions{also}"]
    if paid is None and len(rewards) > 1:
        warnings += (
            f"which of {listed(rewards)} are reward functions cannot be told from the advantages "
            "(reward_weights may differ): all are taken for such; give weights to say otherwise",
        )
    if len(rewards) > 1:
        notes.append(
            "TRL logs no reward_weights: each counts 1 in a diagnosis of the log unless weights are given"
        )
    rename(rows, [*rewards, *extras])
    return Log(
        "TRL completions",
        scores={LOGGED + name: float(name in rewards) for name in (*rewards, *extras)},
        total=LOGGED + rewards[0] if len(rewards) == 1 else None,
        on_missing="skip",  # nansum: what a function did not judge is left out of the sum
        notes=tuple(notes),
        warnings=warnings,
    )


def _paid(rows: Sequence[Row], names: Sequence[str]) -> int | None:
    """How many of the columns are reward functions: those whose sum the advantages follow in each group.

    Whatever advantages are divided by, within a group they differ as the rewards do. The last columns that
    are the same within every group change no advantage: they are rewards only if they are called so. ``None``
    where no sum fits, as with weights.
    """
    groups, _ = pd.factorize(
        np.array(list(map(repr, zip(values_of(rows, "step"), values_of(rows, "prompt"), strict=True))))
    )
    table = pd.DataFrame({name: values_of(rows, name) for name in [*names, "advantage"]})
    missing = table.isna().any()
    table = table.astype(float).fillna(0.0)
    centred = table - table.groupby(groups).transform("mean")
    sums = centred[names].cumsum(axis=1).assign(advantage=centred["advantage"])
    largest = sums.abs().groupby(groups).transform("max")
    told = largest["advantage"] > NOISE
    alike = (sums / largest)[told]  # NaN where a sum is the same in a whole group: it fits nothing
    fitting = [
        count
        for count, name in enumerate(names, start=1)
        if told.any() and ((alike[name] - alike["advantage"]).abs() < NOISE).all()
    ]
    if not fitting:
        return None
    paid = fitting[-1]
    while paid > fitting[0] and "reward" not in (name := names[paid - 1]).lower():
        if missing[name] or centred[name].abs().max() > NOISE:
            break  # a reward function: it did not judge some, or it told completions of a group apart
        paid -= 1
    return paid


NOISE = 1e-3
"""Below which differences of advantages and of rewards that were scaled alike are rounding. Our choice."""


def _from_float32(value: Any) -> bool:
    """Whether a value can be a reward of TRL, which holds them as float32; a missing one can."""
    if type(value) is not float or not math.isfinite(value):
        return value is None or type(value) is float
    with np.errstate(over="ignore"):
        return float(np.float32(value)) == value


def _drop_repeats(source: Source) -> tuple[str, ...]:
    """Drop files that repeat the one before, as TRL logs a batch at each step it trains on it; and say so."""
    files = _by_file(source)
    repeats = []
    last: list[dict[str, Any]] = []
    for file, rows in files.items():
        content = [{name: value for name, value in row.values.items() if name != "step"} for row in rows]
        if content == last:
            repeats.append(file)
        last = content
    if not repeats:
        return ()
    source.rows = [row for row in source.rows if row.file not in repeats]
    shown = ", ".join(repeats[:3]) + (" ..." if len(repeats) > 3 else "")
    return (
        f"{len(repeats)} of {len(files)} files left out that repeat the rows of the one before them, as TRL "
        f"logs a batch at each step it trains on it ({shown})",
    )


# verl: RayPPOTrainer._write_generations writes <step>.jsonl with input, output, gts, score, step and what the
# reward function returned beside the score; trainer v1 adds uid, "{prompt}_{session}_{index}" (0.9.1). siiRL
# dumps validations as an array with rank, global_step, data_source, input, output, score, extras (0.2.0).

VERL_BASE = ("input", "output", "gts", "step", "global_step", "rank", "data_source", "uid", "request_id")
UID = re.compile(r"(.+)_\d+_\d+")
"""The key of a row in verl's trainer v1: the prompt's id and two numbers."""


def _is_verl(names: Sequence[str], first: Mapping[str, Any]) -> bool:
    return {"input", "output", "score"} <= set(names) and bool({"step", "global_step"} & set(names))


def _verl(source: Source, keep: Collection[str]) -> Log:
    uids = [str(uid) for uid in values_of(source.rows, "uid")]
    if all(map(UID.fullmatch, uids)):
        for row, uid in zip(source.rows, uids, strict=True):
            row.values |= {"rollout_id": uid, "prompt_id": UID.sub(r"\1", uid)}
            del row.values["uid"]
    names = source.names
    own = {*VERL_BASE, "prompt_id", "rollout_id", "score", *keep}
    kind = "siiRL validation dump" if "rank" in names else "verl rollout dump"
    return _rewarded(kind, source, "score", [name for name in names if name not in own])


# verl's and siiRL's training sets: chat messages as prompt, the truth inside reward_model, no completions.


def _is_training_set(names: Sequence[str], first: Mapping[str, Any]) -> bool:
    return (
        "prompt" in names
        and isinstance(first.get("reward_model"), Mapping)
        and not {"messages", *ALIASES["completion"]} & set(names)
    )


def _training_set(source: Source, keep: Collection[str]) -> Log:
    if {"completion", "messages"} & set(keep):
        return _plain(source, keep)
    raise RolloutsError(
        "this is a training set of verl or siiRL (prompt, reward_model ...): it has no completions; give the "
        "log of a run as the rollouts and join this to it, with --join on the command line or join= in Python"
    )


# verifiers: v1 appends an episode a line to traces.jsonl (0.4.0); vf-eval before it wrote results.jsonl.


def _is_traces(names: Sequence[str], first: Mapping[str, Any]) -> bool:
    return isinstance(first.get("traces"), list) and isinstance(first.get("task"), Mapping)


def _traces(source: Source, keep: Collection[str]) -> Log:
    weights: dict[str, float] = {}
    rows: list[Row] = []
    rejected: list[Rejected] = []
    for row in source.rows:
        try:
            found, lost = rows_of_episode(row.values, weights)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
            found, lost = [], [f"is no episode that can be read ({type(error).__name__}: {error})"]
        rows += [replace(row, values=values) for values in found]
        rejected += map(row.rejected, lost)
    source.rows = rows
    source.reject(rejected)
    weights = {name: 1.0 if math.isnan(weight) else weight for name, weight in weights.items()}
    paid = [name.removeprefix(LOGGED) for name, weight in weights.items() if weight]
    return Log(
        "verifiers traces",
        scores=weights,
        total=SUM,
        on_missing="skip",
        notes=(
            f"took {listed(paid) or 'nothing'} for the rewards, with the weights that the log gives them",
        ),
    )


RESULTS_BASE = ("generation_ms", "scoring_ms", "total_ms", "is_completed", "is_truncated", "example_id", "id")
"""Numbers of a result that are no metrics of a rubric."""


def _is_results(names: Sequence[str], first: Mapping[str, Any]) -> bool:
    return {"example_id", "prompt", "completion", "reward"} <= set(names)


def _results(source: Source, keep: Collection[str]) -> Log:
    metrics: dict[str, Any] = {}
    for row in source.rows:
        if isinstance(own := row.values.get("metrics"), Mapping):
            row.values |= own  # as they stand in what vf-eval writes today
            metrics |= own
        prompt, completion = row.values.get("prompt"), row.values.get("completion")
        if isinstance(prompt, list) and isinstance(completion, list):
            row.values.setdefault("messages", [*prompt, *completion])
    aside = {"reward", *RESULTS_BASE, *keep, *KNOWN} - metrics.keys() | {"reward"}
    beside = [name for name in source.names if name not in aside and numeric(values_of(source.rows, name))]
    usual = {"prompt_id": "example_id", "data_source": "task", "ground_truth": "answer"}
    return _rewarded("verifiers results", source, "reward", beside, usual=usual)


# Inspect: its reader has named the columns already (inspect_logs).


def _inspect(source: Source, keep: Collection[str]) -> Log:
    names = [name for name in source.names if name.startswith(LOGGED)]
    scorers = listed(name.removeprefix(LOGGED) for name in names)
    return Log(
        INSPECT,
        scores=dict.fromkeys(names, 1.0),
        total=names[0] if len(names) == 1 else None,
        on_missing="skip",
        notes=(f"took {scorers or 'nothing'} for the scores, each counting 1",),
    )


# Any other table: a column called reward is what a trainer paid.


def _plain(source: Source, keep: Collection[str]) -> Log:
    names = source.names
    if any(name.startswith(("score/", "status/")) for name in names):
        return Log("rollouts")  # a scored table: score() says what to do with it
    paid = [name for name in ("reward", "reward_raw") if name in names]
    rename(source.rows, paid)
    logged = [name for name in source.names if name.startswith(LOGGED)]
    columns = [name for name in logged if numeric(values_of(source.rows, name))]
    total = next((name for name in (f"{LOGGED}reward", f"{LOGGED}score") if name in columns), None)
    return Log(
        "rollouts",
        scores={name: float(name == total) for name in columns},
        total=total,
        notes=tuple(
            f"took {name!r} for a score of the log ({LOGGED}{name})"
            for name in paid
            if LOGGED + name in columns
        ),
    )


FORMS = (
    Form(INSPECT, lambda names, first: False, _inspect),
    Form("TRL completions", _is_trl, _trl),
    Form("verl rollout dump", _is_verl, _verl),
    Form("verifiers traces", _is_traces, _traces),
    Form("verifiers results", _is_results, _results),
    Form("training set of verl or siiRL", _is_training_set, _training_set),
    Form("rollouts", lambda names, first: True, _plain),
)
"""In the order in which they are tried."""
