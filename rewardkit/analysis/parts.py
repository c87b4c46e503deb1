"""From scores to views: the parts of a reward, and slices of the rows of each.

A slice is a part of the rows by the value of a column; findings within it count that
all rows together do not show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.context import context_of, with_truth
from rewardkit.analysis.findings import FEWEST_GROUPS
from rewardkit.analysis.statistics import Bootstrap, Codes, finite, number_of, numbered
from rewardkit.analysis.totals import weigh_as_trained
from rewardkit.analysis.view import View
from rewardkit.errors import InputError, did_you_mean, names_of
from rewardkit.findings import Finding, Findings, counted, most
from rewardkit.rewards.reward import Part, Reward
from rewardkit.rewards.training import Training
from rewardkit.rollouts.values import column_values, extra_names
from rewardkit.scoring.scores import Scores

SLICED_BY = ("data_source", "task", "policy")
"""Columns whose values are slices where the caller names none; not of steps, which a
monitor looks at."""
SHAPE_CODES = ("constant", "dead", "sparse", "starved", "saturated")
"""No fault of a component beside the task: a kind of prompt may not call for it."""
SLICE_CODES = (
    *SHAPE_CODES,
    "zero_std_groups",
    "errors",
    "abstentions",
    "out_of_range",
    "opposed",
    "label_disagrees",
    "wrong_above_right",
    "length_bias",
    "column_bias",
    "truncated_paid",
)
"""Reported of a slice: no signal, no score, pay for something else. Our choice."""
EXTRAS_READ = 10_000  # rows in which keys of `extra_info` are looked for: our choice
MOST_SLICES = 30
"""Values of a column that is sliced unasked. Our choice."""
MOST_NAMED_VALUES = 500
"""Values of a column that the caller names: each verdict's level is divided by them.

Our choice.
"""


def prepare_scores(scores: Scores, training: Training) -> Scores:
    """Return scores as views are made of: finite, with the truth, weighed as trained.

    Raises:
        InputError: the settings have weights for another number of functions.
    """
    return weigh_as_trained(with_truth(only_finite(scores)), training)


def only_finite(scores: Scores) -> Scores:
    """Return the scores without scores and rewards that are infinite in float32.

    The same object where there are none. Statuses stay; the finding `not_finite` names
    the rows.
    """
    changed = {}
    names = [f"score/{name}" for name in scores.reward.names]
    for name in ["reward_raw", "reward", *names]:
        values = scores.table[name].to_numpy(dtype=float)
        finite_values = finite(values)
        if finite_values is not values:
            changed[name] = finite_values
    if not changed:
        return scores
    return replace(scores, table=scores.table.assign(**changed))


def make_views(scores: Scores, **options: Any) -> tuple[View, ...]:
    """Return the views of scores that are finite, one a part of the reward.

    Args:
        scores: as `only_finite` returns them.
        **options: those of `make_view`.

    Raises:
        InputError: no row has a reward; as in `make_view`.
    """
    if not scores.parts:
        raise InputError(
            f"no row of these scores has a reward: {scores.reward.name!r} has none for "
            f"the values of {scores.reward.routed_by!r}"
        )
    return tuple(make_view(scores, part, **options) for part in scores.parts)


def make_view(
    scores: Scores,
    part: Part,
    *,
    training: Training | None = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    seed: int = 0,
    thresholds: Mapping[str, float] | None = None,
    tests: int = 1,
) -> View:
    """Return the view of one part of the scores.

    Args:
        scores: as `only_finite` returns them.
        part: the reward and its rows.
        training: the settings of the trainer; None: the defaults.
        label: a column that says which completions are good.
        columns: columns of numbers to compare with the advantages; None: all.
        seed: of the bootstrap.
        thresholds: thresholds by name, of the rules that are to be run.
        tests: the number of views that the level of intervals holds for together.

    Raises:
        InputError: a label, column or filter metric is missing or holds no numbers.
    """
    training = training or Training()
    _check_metric(training, part.reward)
    rows: Any = part.rows
    if len(rows) == len(scores):
        rows = slice(None)  # so that no array is copied
    table = scores.table.iloc[rows]
    prompts = numbered(scores.rollouts.prompts[rows])
    return View(
        **scored_arrays(scores, part.reward, rows),
        part=part.label,
        rows=part.rows,
        groups=numbered(scores.groups[rows]),
        completions=table["completion"].to_numpy(dtype=object),
        bootstrap=Bootstrap(prompts, seed=seed, tests=tests),
        training=training,
        batches=_batches(table, prompts, training),
        context=context_of(scores, table, label=label, columns=columns),
        thresholds=thresholds or {},
    )


def scored_arrays(
    scores: Scores, reward: Reward, rows: Any = slice(None)
) -> dict[str, Any]:
    """Return the fields of a view that hold what a reward gave to some rows."""
    table = scores.table.iloc[rows]
    names = reward.names
    gate = np.ones(len(table))
    if "gate/reward" in table:
        gate = table["gate/reward"].to_numpy(dtype=float)
    reasons = {name: table[f"reason/{name}"].to_numpy(dtype=object) for name in names}
    return {
        "reward": reward,
        "scores": {name: scores.score(name)[rows] for name in names},
        "status": {name: scores.status(name)[rows] for name in names},
        "reasons": reasons,
        "rewards": scores.rewards[rows],
        "gate": gate,
    }


def _check_metric(training: Training, reward: Reward) -> None:
    """Refuse a filter metric that is neither the reward nor a component."""
    metric = training.filter_metric
    names = ["reward", *reward.names]
    if metric is not None and metric not in names:
        raise InputError(
            f"filter_metric={metric!r} is neither 'reward' nor a component of "
            f"{reward.name!r}: {names[1:]}{did_you_mean(metric, names)}; name the one "
            "that it is, as filter_metric=NAME"
        )


def _batches(table: pd.DataFrame, prompts: Codes, training: Training) -> Codes:
    """Return codes of the batches: steps, else prompts of a batch, else all."""
    if "step" in table:
        codes, _ = pd.factorize(table["step"], sort=True, use_na_sentinel=False)
        return np.asarray(codes, dtype=np.intp)
    if training.prompts_per_batch is None:
        return np.zeros(len(table), dtype=np.intp)
    codes, _ = pd.factorize(prompts)  # numbered in the order in which they come
    return np.asarray(codes // training.prompts_per_batch, dtype=np.intp)


# --- slices


def choose_columns(scores: Scores, names: Sequence[str] | None) -> list[str]:
    """Return the columns whose values are slices: those named, else usual ones.

    Raises:
        InputError: a named column is missing, varies inside groups, or has more values
            than `MOST_NAMED_VALUES`.
    """
    extras = _extra_names(scores)
    if names is None:
        columns = {*scores.rollouts.names} - {scores.reward.routed_by}
        names = [name for name in SLICED_BY if name in columns]
        return usable_columns(scores, [*names, *extras])
    names = names_of(names, "by")
    scores.rollouts.check_columns([name for name in names if name not in extras])
    for name in names:
        codes, kinds = _coded(scores.table, name)
        mixed = _mixed(codes, scores.groups)
        if mixed:
            raise InputError(
                f"by={name!r} differs among the siblings of {mixed} of "
                f"{scores.groups.max() + 1} groups: a part of a group is "
                "nothing that is trained on, so that nothing can be said of it; name a "
                "column that is the same for all siblings"
            )
        if len(kinds) > MOST_NAMED_VALUES:
            raise InputError(
                f"by={name!r} has {len(kinds):,} values, too many to look at each by "
                f"itself (at most {MOST_NAMED_VALUES}); name a column of fewer, such "
                "as the domain of a prompt"
            )
    return names


def usable_columns(scores: Scores, names: Sequence[str]) -> list[str]:
    """Return the columns with few values, each the same for all siblings."""
    columns = []
    for name in names:
        codes, kinds = _coded(scores.table, name)
        if len(kinds) <= MOST_SLICES and not _mixed(codes, scores.groups):
            columns.append(name)
    return columns


def _extra_names(scores: Scores) -> list[str]:
    """List the keys of `extra_info` that are slices, and no columns."""
    table = scores.rollouts.table
    if "extra_info" not in table:
        return []
    names = extra_names(column_values(table["extra_info"].iloc[:EXTRAS_READ]))
    return [name for name in names if name not in table]


def _coded(table: pd.DataFrame, name: str) -> tuple[Codes, Sequence[Any]]:
    """Return the code of each row's value, -1 where missing, and the values by code.

    The values are those of a column, or of a key of `extra_info`.
    """
    if name in table:
        column = table[name]
    else:
        extras = column_values(table["extra_info"])
        column = pd.Series([(extra or {}).get(name) for extra in extras], dtype=object)
    if column.dtype == object:
        values = column_values(column)
        for row, value in enumerate(values):
            if isinstance(value, list | dict):
                values[row] = repr(value)
        column = pd.Series(values, dtype=object)
    codes, kinds = pd.factorize(column)
    return np.asarray(codes, dtype=np.intp), kinds.tolist()


def _mixed(codes: Codes, groups: Codes) -> int:
    """Count the groups whose siblings have different codes."""
    code_of_group = np.empty(number_of(groups), dtype=np.intp)
    code_of_group[groups] = codes
    return len(np.unique(groups[codes != code_of_group[groups]]))


def parts_of(scores: Scores, part: Part, names: Sequence[str]) -> list[Part]:
    """Return the slices of a part that have enough groups for a verdict."""
    pieces = []
    for piece in rows_by(scores, part, names):
        if len(np.unique(scores.groups[piece.rows])) >= FEWEST_GROUPS:
            pieces.append(piece)
    return pieces


def rows_by(scores: Scores, part: Part, names: Sequence[str]) -> Iterator[Part]:
    """Return the rows of a part with each value of each column, as ``column=value``.

    In order of first appearance; none of a column with a single value.
    """
    prefix = f"{part.label}: " if part.label else ""
    for name in names:
        codes, kinds = _coded(scores.table.iloc[part.rows], name)
        if len(kinds) < 2:
            continue
        for code, kind in enumerate(kinds):
            rows = part.rows[codes == code]
            yield Part(f"{prefix}{name}={kind}", part.reward, rows)


def explain_slices(scores: Scores, part: Part, names: Sequence[str]) -> Iterator[str]:
    """Say of each column which of its values have too few groups to be judged."""
    for name in names:
        sizes = {}
        for piece in rows_by(scores, part, [name]):
            sizes[piece.label] = len(np.unique(scores.groups[piece.rows]))
        small = []
        for label, size in sizes.items():
            if size < FEWEST_GROUPS:
                small.append(f"{label} ({counted(size, 'group')})")
        if not sizes:
            yield f"{name!r} has the same value on all rows"
        elif small:
            yield (
                f"{len(small)} of {counted(len(sizes), 'value')} of {name!r} are not "
                f"judged by themselves, which takes {FEWEST_GROUPS} groups: "
                f"{most(small)}"
            )
        else:
            yield f"each of {counted(len(sizes), 'value')} of {name!r} is judged, too"


def find_news(
    parts: Sequence[Part],
    findings: Findings,
    find: Callable[[Part, int], list[Finding]],
) -> Iterator[Finding]:
    """Find what is certain in a slice and not reported of all rows.

    Args:
        parts: the slices.
        findings: those of all rows.
        find: returns the findings of a slice, at a level that holds for this number of
            slices together.
    """
    reported = {None, *map(_subject, findings)}
    for part in parts:
        for finding in find(part, len(parts)):
            is_new = _subject(finding) not in reported and finding.code in SLICE_CODES
            if finding.severity == "info" or not is_new:
                continue
            is_shape = finding.code in SHAPE_CODES
            is_minor = is_shape and finding.component != part.reward.primary
            # it is of a part of the data at most
            yield replace(finding, severity="info" if is_minor else "warn")


def _subject(finding: Finding) -> tuple[str, str | None] | None:
    """Return the code and component of a finding, None if it is inconclusive."""
    if finding.evidence.get("inconclusive"):
        return None
    return finding.code, finding.component
