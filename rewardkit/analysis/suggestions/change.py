"""Change: what a suggestion does to a reward, and to scores that were made with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.gates import put_gate
from rewardkit.errors import InputError, RewardError, preview
from rewardkit.primitives import extract, measure
from rewardkit.primitives.gates import Gate
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.plan import Part
from rewardkit.rewards.reward import Reward, Route
from rewardkit.rewards.signature import is_async
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import ABSTAINED, ERROR, GATED
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores, status_column

__all__ = ["Change", "applied", "part_scores", "put", "run_again", "to_run", "why_not_run"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Change:
    """Other weights, other attributes of components, other extractors of fields, and components to add.

    `components` maps a name to the attributes that are replaced, such as its gate or function. A component
    whose new gate is on a later one moves to the end.
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    components: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fields: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    added: tuple[Component, ...] = ()

    def of_reward(self, reward: Reward) -> Reward:
        """The changed reward, of the same name.

        InputError: it lacks what is changed, or has what is added.
        """
        known = {*reward.names, *reward.fields}
        missing = sorted({*self.weights, *self.components, *self.fields} - known)
        if missing or (taken := [item.name for item in self.added if item.name in known]):
            wrong = f"no {missing[0]!r}" if missing else f"a {taken[0]!r} already"
            raise InputError(
                f"this change is not one of reward {reward.name!r}, which has {wrong}; apply it to the "
                "reward that was diagnosed"
            )
        items = [replace(item, **self.components.get(item.name, {})) for item in reward.components]
        changed = [*_behind_their_gates(items), *self.added]
        fields = {**reward.fields, **self.fields}
        return replace(reward, fields=fields, components=changed).reweigh(self.weights)

    def line(self, reward: Reward) -> str:
        """The code that makes it, of `reward`, or of its `scores`; `replace` is that of dataclasses."""
        if self.added:
            return _component_line(self.added[0])
        if self.fields:
            said = ", ".join(f'"{name}": {as_line(function)}' for name, function in self.fields.items())
            return f"replace(reward, fields={{**reward.fields, {said}}})"
        if self.weights:
            said = ", ".join(f'"{name}": {weight!r}' for name, weight in self.weights.items())
            return f"scores.reweigh({{{said}}})"
        ((name, changed),) = self.components.items()
        said = ", ".join(f"{key}={as_line(value)}" for key, value in changed.items())
        new = f"replace(item, {said})"
        if self.of_reward(reward).names == reward.names:
            return (
                f'replace(reward, components=[{new} if item.name == "{name}" else item '
                "for item in reward.components])"
            )
        return (
            f'replace(reward, components=[*(item for item in reward.components if item.name != "{name}"), '
            f'*({new} for item in reward.components if item.name == "{name}")])'
        )

    @property
    def touched(self) -> set[str]:
        """The fields and components that have to be run anew, for which the scores are not enough."""
        run = {name for name, changed in self.components.items() if "function" in changed}
        return run | set(self.fields)

    def of_scores(self, scores: Scores) -> Scores:
        """The scores of the changed reward; only what the change touches is run.

        RewardError: something has to be run, and the reward was read from a run record.
        """
        reward = self.of_reward(scores.reward)
        if self.touched:
            if why := why_not_run(reward, self.touched):
                raise RewardError(f"the change of reward {reward.name!r} cannot be measured: {why}")
            scores = run_again(scores, reward, self.touched)
        table = scores.table.copy(deep=False)
        for item in self.added:
            _add(table, item, scores)
        for name, changed in self.components.items():
            if "gate" in changed and "function" not in changed:
                put_gate(table, name, changed["gate"])
        return Scores(table, reward, scores.rollouts, scores.run).under(reward)


MADE = re.compile(r"'(?:[^'\\\\]|\\\\.)*'|\"(?:[^\"\\\\]|\\\\.)*\"|(?<![\w.])([a-z_]\w*)(?=\()")


def as_line(value: Any) -> str:
    """A value as a person writes it: primitives by their public names.

    >>> import rewardkit as rk
    >>> as_line(rk.extract.first_of(rk.extract.tag("answer"), rk.extract.number()))
    "rk.extract.first_of(rk.extract.tag('answer'), rk.extract.number())"
    """
    if isinstance(value, Gate):
        return f"rk.{value!r}"
    if not callable(value):
        return repr(value)

    rooms = {name: room for room in (extract, measure) for name in room.__all__}

    def named(found: re.Match[str]) -> str:
        room = rooms.get(found[1])
        return f"rk.{room.__name__.rpartition('.')[2]}.{found[1]}" if room else found[0]

    return MADE.sub(named, describe(value))


def _component_line(item: Component) -> str:
    mapped = f", columns={dict(item.columns)!r}" if item.columns else ""
    return f'rk.Component("{item.name}", {as_line(item.function)}, weight={item.weight!r}{mapped})'


def applied(change: Change, to: Any, part: str = "") -> Any:
    """A Reward or Scores with the change made, in a route only to the reward of `part`.

    InputError: neither of them, or no such part.
    """
    if isinstance(to, Reward):
        return _in_part(to, part, change.of_reward)
    if not isinstance(to, Scores):
        raise InputError(f"a suggestion applies to a Reward or Scores, not to {preview(to)}")
    if not to.reward.routing:
        return change.of_scores(to)
    reward = _in_part(to.reward, part, change.of_reward)
    split = {name: column_values(to.rollouts.table[name]) for name in to.reward.split_by}
    parts = to.reward.parts(split, len(to))
    at = next((item for item in parts if item.label == part), None)
    if at is None:
        raise InputError(f"these scores have no rows of {part!r}, which the suggestion is for")
    unmatched = np.setdiff1d(np.arange(len(to)), np.concatenate([item.rows for item in parts]))
    changed = change.of_scores(part_scores(to, at))
    table = put(to.table, changed.table, at.rows, unmatched)
    return Scores(table, reward, to.rollouts, to.run).under(reward)


def part_scores(scores: Scores, part: Part) -> Scores:
    """The scores of one part, as scores of its own reward."""
    table = scores.table.iloc[part.rows].reset_index(drop=True)
    rollouts = scores.rollouts.table.iloc[part.rows].reset_index(drop=True)
    return Scores(table, part.reward, replace(scores.rollouts, table=rollouts), scores.run)


def to_run(reward: Reward, touched: set[str]) -> tuple[set[str], set[str]]:
    """The fields and components that depend on these, and all that must run to have those anew."""
    asks = [(name, call.asks_for) for name, call in reward.calls if name]  # "" is the gate of the whole
    names = {name for name, _ in asks}
    changed = set(touched)
    for name, asked in asks:
        if changed & set(asked):
            changed.add(name)
    if reward.gate is not None:  # what it closes may be another row now, for every component
        changed = names
    needed = set(changed)
    for name, asked in reversed(asks):
        if name in needed:
            needed |= set(asked) & names
    return changed, needed


def why_not_run(reward: Reward, touched: set[str]) -> str:
    """Why these cannot be run anew to try a change; "" where they can."""
    if reward.recorded is not None:
        return "the reward was read from a record and cannot be run"
    _, needed = to_run(reward, touched)
    waits = [item.name for item in reward.components if item.name in needed and is_async(item.function)]
    return f"{waits[0]!r}, which is awaited, would have to be run again" if waits else ""


def _behind_their_gates(items: list[Component]) -> list[Component]:
    """The components, those whose gate is on a later one moved to the end."""
    place = {item.name: at for at, item in enumerate(items)}

    def early(item: Component) -> bool:
        on = item.gate.on if item.gate is not None else None
        return isinstance(on, str) and place.get(on, -1) > place[item.name]

    return [*(item for item in items if not early(item)), *(item for item in items if early(item))]


def _in_part(reward: Reward, part: str, change: Callable[[Reward], Reward]) -> Reward:
    if not (routing := reward.routing):
        return change(reward)
    keys = [key for key in routing.rewards if str(key) == part]
    if not keys and not (part == "default" and routing.default is not None):
        raise InputError(f"the route has no reward for {part!r}, which the suggestion is for")
    rewards = {key: change(inner) if key in keys[:1] else inner for key, inner in routing.rewards.items()}
    default = routing.default
    if not keys and default is not None:
        default = change(default)
    return Route(routing.column, rewards, default, name=reward.name)


def run_again(scores: Scores, reward: Reward, touched: set[str]) -> Scores:
    """The scores with what these fields and components of `reward` change run anew, and not yet added up."""
    changed, needed = to_run(reward, touched)
    inner = Reward(
        reward.name,
        {name: function for name, function in reward.fields.items() if name in needed},
        [item for item in reward.components if item.name in needed],
        gate=reward.gate,
    )
    again = score(
        inner,
        scores.rollouts,
        ignore_gates=bool(scores.run.get("ignore_gates")),
        timeout=scores.run.get("timeout"),
    ).table
    table = scores.table.copy(deep=False)
    for name in changed:
        for kind in ("field/", "score/", "status/", "error/"):
            if f"{kind}{name}" in again:
                table[f"{kind}{name}"] = again[f"{kind}{name}"]
    if reward.gate is not None:
        table["gate/reward"] = again.get("gate/reward", np.ones(len(table)))
    return Scores(table, reward, scores.rollouts, scores.run)


def _add(table: pd.DataFrame, item: Component, scores: Scores) -> None:
    """Run one more component on the columns that the table has."""
    columns: dict[str, Sequence[Any]] = {}
    failed: dict[int, str] = {}
    for name in item.asks_for:
        column = next(key for key in (f"field/{name}", f"score/{name}", name) if key in table)
        columns[name] = column_values(table[column])
        if f"failed/{name}" in table:
            why = table[f"failed/{name}"].to_numpy()
            failed |= {int(row): f"field {name!r} failed: {why[row]}" for row in np.flatnonzero(why != None)}  # noqa: E711
    plan = Reward("added", components=[item]).bind(columns, len(table))
    outcome = evaluate(plan, columns, groups=scores.groups).components[item.name]
    status, values = outcome.status, outcome.scores
    errors = np.full(len(table), None, dtype=object)
    for row, reason in (outcome.reasons | failed).items():
        errors[row] = reason
    places = list(failed)
    status[places], values[places] = ERROR, np.nan
    if "gate/reward" in table:
        gate = table["gate/reward"].to_numpy(dtype=float)
        status[gate == 0], status[np.isnan(gate)] = GATED, ABSTAINED
        errors[gate == 0] = None
        values = np.where(gate == 1, values, np.nan)
    table[f"score/{item.name}"] = values
    table[f"status/{item.name}"] = status_column(status)
    table[f"error/{item.name}"] = pd.Series(errors, index=table.index, dtype=object)


def put(
    whole: pd.DataFrame, piece: pd.DataFrame, rows: NDArray[np.intp], unmatched: NDArray[np.intp]
) -> pd.DataFrame:
    """The table with the columns of scores of these rows.

    A component that is new is gated elsewhere, and abstained where no reward is for the row, as in a route.
    """
    table = whole.copy(deep=False)
    reasons = next(whole[name] for name in whole if str(name).startswith("error/")).to_numpy()
    for column in [name for name in piece.columns if name.startswith(("field/", "score/", "error/"))]:
        numeric = column.startswith("score/")
        values: NDArray[Any]
        values = np.full(len(table), np.nan) if numeric else np.full(len(table), None, dtype=object)
        if column in table:
            values = table[column].to_numpy(copy=True)
        elif column.startswith("error/"):
            values[unmatched] = reasons[unmatched]
        values[rows] = piece[column].to_numpy()
        table[column] = values
    for column in [name for name in piece.columns if name.startswith("status/")]:
        codes = np.full(len(table), GATED, dtype=np.int8)
        codes[unmatched] = ABSTAINED
        if column in table:
            codes = np.array(table[column].cat.codes, dtype=np.int8)
        codes[rows] = piece[column].cat.codes
        table[column] = status_column(codes)
    if "gate/reward" in piece and "gate/reward" in table:
        gate = table["gate/reward"].to_numpy(dtype=float, copy=True)
        gate[rows] = piece["gate/reward"]
        table["gate/reward"] = gate
    return table
