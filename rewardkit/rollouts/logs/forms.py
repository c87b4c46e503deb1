"""The logs that trainers write, recognised by their columns: what they hold as rollouts, and which scores."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import RolloutsError
from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.files import SAVED, Piece, Rejected
from rewardkit.rollouts.logs.log import (
    LOGGED,
    Log,
    Row,
    listed,
    names_of,
    numbers_only,
    numeric,
    values_of,
    with_scores,
)
from rewardkit.rollouts.logs.verifiers import SUM, rows_of_episode

__all__ = ["read_log"]


@dataclass(frozen=True)
class Form:
    """A form of log: how its columns are recognised, and what is made of its files.

    `keep` are columns that a person gave a meaning.
    """

    name: str
    fits: Callable[[Sequence[str], Row], bool]
    read: Callable[[str, Sequence[Piece], Collection[str]], Log]


def read_log(pieces: Sequence[Piece], *, keep: Collection[str] = ()) -> Log:
    """The rows of all pieces in the form that their columns say.

    `keep` are columns that a person gave a meaning: they are no scores. RolloutsError: files of several
    forms, or a data set without completions.
    """
    forms: dict[str, Form] = {}
    for piece in pieces:
        if piece.rows:
            form = _form(piece)
            forms.setdefault(form.name, form)
    if len(forms) > 1:
        raise RolloutsError(f"the folder holds logs of several forms ({', '.join(forms)}); give one of them")
    form = next(iter(forms.values()), FORMS[-1])
    if form is FORMS[-1]:
        _check_alike(pieces)
    saved = f" in a {SAVED}" if any(piece.form == SAVED for piece in pieces) else ""
    return numbers_only(form.read(f"{form.name}{saved}", pieces, keep))


def _check_alike(pieces: Sequence[Piece]) -> None:
    """RolloutsError where files of one folder hold different things: not the same canonical columns."""
    first: tuple[str, set[str]] | None = None
    for piece in pieces:
        if piece.rows:
            names = set(names_of([piece]))
            held = {canonical for canonical, aliases in ALIASES.items() if names & set(aliases)}
            first = first or (piece.file, held)
            if held != first[1]:
                raise RolloutsError(
                    f"the files of the folder hold different things: {first[0]!r} has {sorted(first[1])}, "
                    f"{piece.file!r} has {sorted(held)}; give one of them, or a folder of like files"
                )


def _form(piece: Piece) -> Form:
    names = names_of([piece])
    first = piece.rows[0][1]
    return next(form for form in FORMS if form.name == piece.form or form.fits(names, first))


# TRL: GRPOTrainer.log and RLOOTrainer.log write step, prompt, completion, one column a reward function, those
# of log_extra in alphabetical order, advantage (1.16; the reward functions' names are get_callable_name's).


def _is_trl(names: Sequence[str], first: Row) -> bool:
    if not {"step", "prompt", "completion", "advantage"} <= set(names):
        return False
    between = _between(names)
    return bool(between) and isinstance(first.get(between[0]), float | int | None)


def _between(names: Sequence[str]) -> list[str]:
    order = list(names)
    return order[order.index("completion") + 1 : order.index("advantage")] if "advantage" in order else []


def _trl(kind: str, pieces: Sequence[Piece], keep: Collection[str]) -> Log:
    pieces, repeats = _without_repeats(pieces)
    between = _between(names_of(pieces))
    rewards = between[:1]
    known = {alias for aliases in ALIASES.values() for alias in aliases} | set(keep)
    for name in between[1:]:
        if name in known or not all(map(_from_float32, values_of(pieces, name))):
            break  # what log_extra brought stands behind all of them
        rewards.append(name)
    paid = _paid(pieces, rewards)
    rewards = rewards[:paid]
    extras = [
        name
        for name in between
        if name not in rewards and name not in known and numeric(values_of(pieces, name))
    ]
    also = f" and {listed(extras)} for numbers that log_extra left" if extras else ""
    notes = [f"took {listed(rewards)} for the scores of TRL's reward functions{also}"]
    if paid is None and len(rewards) > 1:
        repeats += (
            f"which of {listed(rewards)} are reward functions cannot be told from the advantages "
            "(reward_weights may differ): all are taken for such; give weights to say otherwise",
        )
    if len(rewards) > 1:
        notes.append(
            "TRL logs no reward_weights: each counts 1 in a diagnosis of the log unless weights are given"
        )
    return Log(
        kind,
        with_scores(pieces, [*rewards, *extras]),
        scores={LOGGED + name: float(name in rewards) for name in (*rewards, *extras)},
        total=LOGGED + rewards[0] if len(rewards) == 1 else None,
        on_missing="skip",  # nansum: what a function did not judge is left out of the sum
        notes=tuple(notes),
        warnings=repeats,
    )


def _paid(pieces: Sequence[Piece], names: Sequence[str]) -> int | None:
    """How many of the columns are reward functions: those whose sum the advantages follow in each group.

    Whatever advantages are divided by, within a group they differ as the rewards do. The last columns that
    are the same within every group change no advantage: they are rewards only if they are called so. ``None``
    where no sum fits, as with weights.
    """
    order: dict[str, list[int]] = {}
    for at, key in enumerate(zip(values_of(pieces, "step"), values_of(pieces, "prompt"), strict=True)):
        order.setdefault(repr(key), []).append(at)
    groups = list(order.values())

    def centred(values: Any) -> list[NDArray[np.float64]]:
        return [values[group] - values[group].mean() for group in groups]

    advantages = centred(np.nan_to_num(np.array(values_of(pieces, "advantage"), dtype=float)))
    told = [at for at, one in enumerate(advantages) if np.abs(one).max() > NOISE]
    columns = [np.nan_to_num(np.array(values_of(pieces, name), dtype=float)) for name in names]
    fitting = []
    for count in range(1, len(names) + 1):
        sums = centred(np.sum(columns[:count], axis=0))
        if told and all(_alike(sums[at], advantages[at]) for at in told):
            fitting.append(count)
    if not fitting:
        return None
    paid = fitting[-1]
    while paid > fitting[0] and "reward" not in names[paid - 1].lower():
        if None in values_of(pieces, names[paid - 1]):
            break  # what a reward function did not judge
        if any(np.abs(one).max() > NOISE for one in centred(columns[paid - 1])):
            break
        paid -= 1
    return paid


NOISE = 1e-3
"""Below which differences of advantages and of rewards that were scaled alike are rounding. Our choice."""


def _alike(sums: NDArray[np.float64], advantages: NDArray[np.float64]) -> bool:
    """Whether two vectors of a group point the same way."""
    size = float(np.abs(sums).max())
    return size > 0 and bool(np.abs(sums / size - advantages / np.abs(advantages).max()).max() < NOISE)


def _from_float32(value: Any) -> bool:
    """Whether a value can be a reward of TRL, which holds them as float32; a missing one can."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return True
    if type(value) is not float:
        return False
    try:
        return bool(struct.unpack("f", struct.pack("f", value))[0] == value)
    except OverflowError:
        return False


def _without_repeats(pieces: Sequence[Piece]) -> tuple[list[Piece], tuple[str, ...]]:
    """The pieces without those that repeat the one before: TRL logs a batch at each step it trains on it."""

    def content(piece: Piece) -> list[Row]:
        return [{name: value for name, value in row.items() if name != "step"} for _, row in piece.rows]

    kept: list[Piece] = []
    repeats = []
    last: list[Row] | None = None
    for piece in pieces:
        rows = content(piece)
        if rows and rows == last:
            repeats.append(piece.file)
            continue
        kept.append(piece)
        last = rows
    if not repeats:
        return kept, ()
    shown = ", ".join(repeats[:3]) + (" ..." if len(repeats) > 3 else "")
    return kept, (
        f"{len(repeats)} of {len(pieces)} files left out that repeat the rows of the one before them, as TRL "
        f"logs a batch at each step it trains on it ({shown})",
    )


# verl: RayPPOTrainer._write_generations writes <step>.jsonl with input, output, gts, score, step and what the
# reward function returned beside the score; trainer v1 adds uid, "{prompt}_{session}_{index}" (0.9.1). siiRL
# dumps validations as an array with rank, global_step, data_source, input, output, score, extras (0.2.0).

VERL_BASE = ("input", "output", "gts", "step", "global_step", "rank", "data_source", "uid", "request_id")


def _is_verl(names: Sequence[str], first: Row) -> bool:
    return {"input", "output", "score"} <= set(names) and bool({"step", "global_step"} & set(names))


def _verl(kind: str, pieces: Sequence[Piece], keep: Collection[str]) -> Log:
    pieces = _with_ids(pieces)
    own = {*VERL_BASE, "prompt_id", "rollout_id", *keep}
    extras = [name for name in names_of(pieces) if name not in own and name != "score"]
    numbers = [name for name in extras if numeric(values_of(pieces, name))]
    also = f"; recorded beside it: {listed(numbers)}" if numbers else ""
    return Log(
        "siiRL validation dump" if "rank" in names_of(pieces) else kind,
        with_scores(pieces, ["score", *extras]),
        scores={f"{LOGGED}score": 1.0, **{LOGGED + name: 0.0 for name in numbers}},
        total=f"{LOGGED}score",
        notes=(f"took 'score' for the reward{also}",),
    )


def _with_ids(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """With the prompt's id and the rollout's own, where ``uid`` is the key of a row in verl's trainer v1."""
    parts = re.compile(r"(.+)_\d+_\d+")
    uids = values_of(pieces, "uid")
    if not uids or not all(isinstance(uid, str) and parts.fullmatch(uid) for uid in uids):
        return pieces

    def made(row: Row) -> Row:
        others = {name: value for name, value in row.items() if name != "uid"}
        return {"rollout_id": row["uid"], "prompt_id": parts.sub(r"\1", row["uid"]), **others}

    return [
        Piece(piece.file, [(line, made(row)) for line, row in piece.rows], piece.rejected) for piece in pieces
    ]


# verl's and siiRL's training sets: chat messages as prompt, the truth inside reward_model, no completions.


def _is_training_set(names: Sequence[str], first: Row) -> bool:
    return (
        "prompt" in names
        and isinstance(first.get("reward_model"), Mapping)
        and not {"messages", *ALIASES["completion"]} & set(names)
    )


def _training_set(kind: str, pieces: Sequence[Piece], keep: Collection[str]) -> Log:
    if {"completion", "messages"} & set(keep):
        return _plain(kind, pieces, keep)
    raise RolloutsError(
        f"this is a {kind} (prompt, reward_model ...): it has no completions; give the log of a run as the "
        "rollouts and join this to it, with --join on the command line or join= in Python"
    )


# verifiers: v1 appends an episode a line to traces.jsonl (0.4.0); vf-eval before it wrote results.jsonl.


def _is_traces(names: Sequence[str], first: Row) -> bool:
    return isinstance(first.get("traces"), list) and isinstance(first.get("task"), Mapping)


def _traces(kind: str, pieces: Sequence[Piece], keep: Collection[str]) -> Log:
    weights: dict[str, float] = {}
    read = []
    for piece in pieces:
        rows, rejected = [], list(piece.rejected)
        for line, episode in piece.rows:
            try:
                found, lost = rows_of_episode(episode, weights)
            except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
                lost = [f"is no episode that can be read ({type(error).__name__}: {error})"]
                found = []
            rows += [(line, row) for row in found]
            rejected += [Rejected(line, why, piece.file) for why in lost]
        read.append(Piece(piece.file, rows, rejected))
    weights = {name: 1.0 if math.isnan(weight) else weight for name, weight in weights.items()}
    paid = [name.removeprefix(LOGGED) for name, weight in weights.items() if weight]
    return Log(
        kind,
        read,
        scores=weights,
        total=SUM,
        on_missing="skip",
        notes=(
            f"took {listed(paid) or 'nothing'} for the rewards, with the weights that the log gives them",
        ),
    )


RESULTS_BASE = ("generation_ms", "scoring_ms", "total_ms", "is_completed", "is_truncated", "example_id", "id")
"""Numbers of a result that are no metrics of a rubric."""


def _is_results(names: Sequence[str], first: Row) -> bool:
    return {"example_id", "prompt", "completion", "reward"} <= set(names)


def _results(kind: str, pieces: Sequence[Piece], keep: Collection[str]) -> Log:
    metrics = {name for item in values_of(pieces, "metrics") if isinstance(item, Mapping) for name in item}
    pieces = [
        Piece(piece.file, [(line, _with_messages(_flat(row))) for line, row in piece.rows], piece.rejected)
        for piece in pieces
    ]
    own = {"reward", *RESULTS_BASE, *keep, *(alias for aliases in ALIASES.values() for alias in aliases)}
    numbers = [
        name
        for name in names_of(pieces)
        if (name in metrics or name not in own) and name != "reward" and numeric(values_of(pieces, name))
    ]
    also = f"; recorded beside it: {listed(numbers)}" if numbers else ""
    return Log(
        kind,
        with_scores(pieces, ["reward", *numbers]),
        {"prompt_id": "example_id", "data_source": "task", "ground_truth": "answer"},
        scores={f"{LOGGED}reward": 1.0, **{LOGGED + name: 0.0 for name in numbers}},
        total=f"{LOGGED}reward",
        notes=(f"took 'reward' for the reward{also}",),
    )


def _flat(row: Row) -> Row:
    """With the metrics as columns, as they stand beside the others in what vf-eval writes today."""
    metrics = row.get("metrics")
    return {**row, **metrics} if isinstance(metrics, Mapping) else row


def _with_messages(row: Row) -> Row:
    """With the whole transcript, where prompt and completion are chat messages."""
    prompt, completion = row.get("prompt"), row.get("completion")
    whole = isinstance(prompt, list) and isinstance(completion, list) and "messages" not in row
    return {**row, "messages": [*prompt, *completion]} if whole else row  # type: ignore[misc]


# Inspect: its reader has named the columns already (inspect_logs).


def _inspect(kind: str, pieces: Sequence[Piece], keep: Collection[str]) -> Log:
    names = [name for name in names_of(pieces) if name.startswith(LOGGED)]
    scorers = listed(name.removeprefix(LOGGED) for name in names)
    return Log(
        kind,
        pieces,
        scores=dict.fromkeys(names, 1.0),
        total=names[0] if len(names) == 1 else None,
        on_missing="skip",
        notes=(f"took {scorers or 'nothing'} for the scores, each counting 1",),
    )


# Any other table: a column called reward is what a trainer paid.


def _plain(kind: str, pieces: Sequence[Piece], keep: Collection[str]) -> Log:
    names = names_of(pieces)
    if any(name.startswith(("score/", "status/")) for name in names):
        return Log(kind, pieces)  # a scored table: score() says what to do with it
    own = [name for name in ("reward", "reward_raw") if name in names and numeric(values_of(pieces, name))]
    kept = [name for name in names if name.startswith(LOGGED) and numeric(values_of(pieces, name))]
    columns = list(dict.fromkeys([*kept, *(LOGGED + name for name in own)]))
    total = next((name for name in (f"{LOGGED}reward", f"{LOGGED}score") if name in columns), None)
    return Log(
        kind,
        with_scores(pieces, [name for name in ("reward", "reward_raw") if name in names]),
        scores={name: float(name == total) for name in columns},
        total=total,
        notes=tuple(f"took {name!r} for a score of the log ({LOGGED}{name})" for name in own),
    )


FORMS = (
    Form("Inspect log", lambda names, first: False, _inspect),
    Form("TRL completions", _is_trl, _trl),
    Form("verl rollout dump", _is_verl, _verl),
    Form("verifiers traces", _is_traces, _traces),
    Form("verifiers results", _is_results, _results),
    Form("training set of verl or siiRL", _is_training_set, _training_set),
    Form("rollouts", lambda names, first: True, _plain),
)
"""In the order in which they are tried."""
