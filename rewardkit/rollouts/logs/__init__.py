"""The forms of logs that are known, and which of them a source is.

Here are those of tables with a completion and its scores a row. TRL 1.16 writes a file
a step, as GRPOTrainer and RLOOTrainer log them: step, prompt, completion, one column a
reward function (under the name of `get_callable_name`), those of log_extra in
alphabetical order, advantage.

verl: RayPPOTrainer._write_generations writes <step>.jsonl with input, output, gts,
score, step and what the reward function returned beside the score; trainer v1 adds uid,
"{prompt}_{session}_{index}" (0.9.1). siiRL dumps validations as an array with rank,
global_step, data_source, input, output, score, extras (0.2.0).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.errors import RolloutsError
from rewardkit.rollouts.columns import ALIASES, ALL_ALIASES, Columns
from rewardkit.rollouts.logs.evaluations import INSPECT_LOG, RESULTS, TRACES
from rewardkit.rollouts.logs.log import (
    LOGGED,
    Form,
    Logged,
    ParsedLog,
    listed,
    numeric,
    take_scores,
)
from rewardkit.rollouts.values import SourceRows

NOISE = 1e-3
"""Rounding, of differences of advantages and scaled rewards. Our choice."""

VERL_COLUMNS = (
    "input",
    "output",
    "gts",
    "step",
    "global_step",
    "rank",
    "data_source",
    "uid",
    "request_id",
    "score",
)
UID = re.compile(r"(.+)_\d+_\d+")
"""The key of a row in verl's trainer v1: the prompt's id and two numbers."""


def _is_trl(columns: Columns) -> bool:
    if not {"step", "prompt", "completion", "advantage"} <= columns.keys():
        return False
    for name in (*_between(columns)[:1], "advantage"):
        if not numeric([0.0, *columns[name]]):
            return False
    return bool(_between(columns))


def _between(columns: Columns) -> list[str]:
    """Return the columns between completion and advantage: scores, then log_extra's."""
    order = list(columns)
    return order[order.index("completion") + 1 : order.index("advantage")]


def _parse_trl(rows: SourceRows, keep: Collection[str]) -> ParsedLog:
    rows, warnings = _drop_repeats(rows)
    columns = rows.columns
    between = _between(columns)
    reserved = ALL_ALIASES.union(keep)
    candidates = between[:1]
    for name in between[1:]:
        if name in reserved or not _is_float32(columns[name]):
            break
        candidates.append(name)
    count = _count_rewards(columns, candidates)
    rewards = candidates[:count]
    weights = dict.fromkeys(rewards, 1.0)
    for name in between:
        is_extra = name not in reserved and name not in rewards
        if is_extra and numeric(columns[name]):
            weights[name] = 0.0
    notes = []
    if len(rewards) > 1:
        notes = [
            "TRL logs no reward_weights: each has weight 1 until you pass --log-weight"
        ]
        if count is None:
            warnings.append(
                f"Cannot tell which of {listed(rewards)} are reward functions; "
                "counting all with weight 1. Set them with --log-weight."
            )
    return ParsedLog(
        rows,
        weights,
        total=rewards[0] if len(rewards) == 1 else None,
        on_missing="skip",  # nansum: a missing score is left out of the sum
        notes=tuple(notes),
        warnings=tuple(warnings),
    )


def _is_float32(cells: Sequence[Any]) -> bool:
    """Return whether a column can be a reward, which TRL writes as float32."""
    if not set(map(type, cells)) <= {float, type(None)}:
        return False
    values = np.array(cells, dtype=float)
    with np.errstate(over="ignore"):
        return np.array_equal(values.astype(np.float32), values, equal_nan=True)


def _count_rewards(columns: Columns, names: Sequence[str]) -> int | None:
    """Count the reward functions: the columns whose sum the advantages follow.

    Whatever advantages are divided by, within a group they differ as the rewards do. Of
    the last columns those that never differ within a group could be anything: they
    count where they are called a reward. ``None`` where no sum fits, as with weights.
    """
    pairs = list(map(repr, zip(columns["step"], columns["prompt"], strict=True)))
    groups = pd.factorize(np.array(pairs, dtype=object))[0]
    scores = {name: columns[name] for name in [*names, "advantage"]}
    table = pd.DataFrame(scores, dtype=float).fillna(0.0)
    centred = table - table.groupby(groups).transform("mean")
    sums = centred.assign(**centred[names].cumsum(axis=1))
    largest = sums.abs().groupby(groups).transform("max")
    # NaN: a sum that is the same in a whole group
    scaled = (sums / largest)[largest["advantage"] > NOISE]
    off = scaled[names].sub(scaled["advantage"], axis=0).abs().max(skipna=False)
    fitting = np.flatnonzero(off < NOISE) + 1
    if not len(fitting):
        return None
    count = int(fitting[-1])
    while count > fitting[0]:
        name = names[count - 1]
        if "reward" in name.lower() or centred[name].abs().max() > NOISE:
            break
        count -= 1
    return count


def _drop_repeats(rows: SourceRows) -> tuple[SourceRows, list[str]]:
    """Drop files that repeat the one before: TRL logs a batch at each of its steps."""
    files: dict[str, list[Any]] = {}
    for place, row in zip(rows.places, rows.rows(), strict=True):
        files.setdefault(place.file, []).append({**row, "step": None})
    repeats = [file for before, file in pairwise(files) if files[before] == files[file]]
    if not repeats:
        return rows, []
    examples = ", ".join(repeats[:3]) + (" ..." if len(repeats) > 3 else "")
    warning = (
        f"{len(repeats)} of {len(files)} files left out that repeat the rows of the "
        "one before them, as TRL logs a batch at each step it trains on it "
        f"({examples})"
    )
    return rows.keep([place.file not in repeats for place in rows.places]), [warning]


def _is_verl(columns: Columns) -> bool:
    has_step = "step" in columns or "global_step" in columns
    return has_step and {"input", "output", "score"} <= columns.keys()


def _is_siirl(columns: Columns) -> bool:
    return _is_verl(columns) and "rank" in columns


def _parse_verl(rows: SourceRows, keep: Collection[str]) -> ParsedLog:
    columns = dict(rows.columns)
    beside = [name for name in columns if name not in {*VERL_COLUMNS, *keep}]
    weights = {"score": 1.0}
    for name in beside:
        if numeric(columns[name]):
            weights[name] = 0.0
    prompt_ids = []
    for uid in map(str, columns.get("uid", ())):
        key = UID.fullmatch(uid)
        if key is None:
            break
        prompt_ids.append(key[1])
    if prompt_ids and len(prompt_ids) == len(columns["uid"]):
        columns["rollout_id"] = list(map(str, columns.pop("uid")))
        columns["prompt_id"] = prompt_ids
        rows = replace(rows, columns=columns)
    return ParsedLog(rows, weights, beside=beside, total="score")


def _parse_table(rows: SourceRows, keep: Collection[str]) -> ParsedLog:
    """Read a table in no form of a trainer: `reward` is the total."""
    columns = rows.columns
    if any(name.startswith(("score/", "status/")) for name in columns):
        return ParsedLog(rows)  # a scored table: score() says what to do with it
    rewards = [name for name in ("reward", "reward_raw") if name in columns]
    logged = [name for name in columns if name.startswith(LOGGED)]
    scores = [name for name in (*rewards, *logged) if numeric(columns[name])]
    weights = dict.fromkeys(scores, 0.0)
    total = None
    for name in ("reward", f"{LOGGED}reward", f"{LOGGED}score"):
        if name in scores:
            total = name
            weights[name] = 1.0
            break
    return ParsedLog(rows, weights, beside=rewards, total=total)


FORMS = (
    INSPECT_LOG,
    Form("TRL completions", _parse_trl, _is_trl),
    Form("siiRL validation dump", _parse_verl, _is_siirl),
    Form("verl rollout dump", _parse_verl, _is_verl),
    TRACES,
    RESULTS,
)
"""In the order in which they are tried."""
PLAIN_TABLE = Form("rollouts", _parse_table)
"""What a log of none of these is read as."""


def read_log(
    parts: Sequence[SourceRows], *, keep: Collection[str] = ()
) -> tuple[str, ParsedLog, Logged]:
    """Recognise the form of a log by its columns, and read it and its scores.

    `keep` are columns that a person gave a meaning: they are no scores. RolloutsError:
    files of several forms or of different things, a data set without completions.
    """
    filled = [part for part in parts if len(part.rejected) < len(part.places)]
    forms = list(dict.fromkeys(map(_form_of, filled))) or [PLAIN_TABLE]
    if len(forms) > 1:
        names = ", ".join(form.name for form in forms)
        raise RolloutsError(
            f"the folder holds logs of several forms ({names}); give one of them"
        )
    form = forms[0]
    if form is PLAIN_TABLE:
        _check_alike(filled)
    log, logged = take_scores(form.parse(SourceRows.joined(parts), keep))
    return form.name, log, logged


def _form_of(part: SourceRows) -> Form:
    for form in FORMS:
        has_name = form.name == part.form
        if has_name or (form.fits is not None and form.fits(part.columns)):
            return form
    return PLAIN_TABLE


def _check_alike(parts: Sequence[SourceRows]) -> None:
    """Raise a RolloutsError where files have different canonical columns."""
    columns_of = {}
    for part in parts:
        columns = []
        for name, aliases in ALIASES.items():
            if not part.columns.keys().isdisjoint(aliases):
                columns.append(name)
        columns_of[part.places[0].file] = columns
    for (file, columns), (next_file, next_columns) in pairwise(columns_of.items()):
        if columns != next_columns:
            raise RolloutsError(
                f"the files of the folder hold different things: {file!r} has "
                f"{columns}, {next_file!r} has {next_columns}; give one of them, or a "
                "folder of like files"
            )
