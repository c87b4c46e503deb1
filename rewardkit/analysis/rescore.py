"""rescore(): the scores of a changed reward; what the change leaves alone is taken from the scored table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rewardkit.errors import RewardError
from rewardkit.primitives.gates import Gate, gate
from rewardkit.rewards.fingerprint import Recorded
from rewardkit.rewards.plan import ROLLOUT
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import Call
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.calls import Failure
from rewardkit.scoring.outcomes import ABSTAINED, ERROR, GATED, SCORED
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores

__all__ = ["Moved", "behind", "moved_by", "rescore", "with_fields"]

UNSCORED = "behind a gate that was closed when it was scored"
UNDECIDED = ("its gate ", "the gate on the whole reward ")
"""So the reason begins of a row for which a component was not called, as a gate could not be decided."""
WRITTEN = ("field/", "failed/", "score/", "status/", "error/", "verdict/", "cost/")


class Moved(NamedTuple):
    """What may come out otherwise: `run` has to be called for all rows, `gated` may be open for other rows.

    `why` is the reason why scores do not say what comes out under other gates; "" if they do, which is where
    all that hangs on them are gates on them by name, of what is scored row by row.
    """

    run: set[str]
    gated: set[str]
    why: str

    @property
    def names(self) -> set[str]:
        """All of them; "" is the gate on the whole reward."""
        return self.run | self.gated


def moved_by(reward: Reward, *, run: Iterable[str] = (), gated: Iterable[str] = ()) -> Moved:
    """What moves with fields and components that are others, and with components behind other gates."""
    moved = Moved(set(run), set(gated), "")
    told: list[str] = []

    def first(asked: Iterable[str]) -> str | None:
        return next((name for name in asked if name in moved.names), None)

    for name, call in reward.field_calls.items():
        if first(call.asks_for):
            moved.run.add(name)
    for at, item in enumerate(reward.components):
        if on := first(item.asks_for):
            moved.run.add(item.name)
            told.append(f"{item.name!r} asks for the score of {on!r}")
        if on := first(_asked(item.gate, item.gate_call, reward.names[:at])):
            moved.gated.add(item.name)
            if item.gate and not isinstance(item.gate.on, str):
                told.append(f"the gate of {item.name!r} is a predicate that asks for {on!r}, or may")
        if item.name in moved.gated and (item.group or item.batch):
            moved.run.add(item.name)
            told.append(f"{item.name!r} is scored from several rows at once, and would see others")
    on = first(_asked(reward.gate, reward.gate_call, reward.names))
    if on and "" not in moved.gated:  # what it closes may be another row now, for every component
        unread = reward.gate is not None and isinstance(reward.gate.on, Recorded)
        asks = f"may ask for {on!r}: its record does not say" if unread else f"asks for {on!r}"
        told.append(f"the gate on the whole reward {asks}")
        moved = moved_by(reward, run=moved.run, gated={*reward.names, ""})
    return moved._replace(why=told[0] if told else "")


def _asked(gate: Gate | None, call: Call | None, earlier: Sequence[str]) -> Sequence[str]:
    """What a gate asks for; a predicate that was read from a record may ask for all that is scored earlier."""
    if gate is None or call is None:
        return ()
    return earlier if isinstance(gate.on, Recorded) else call.asks_for


def behind(reward: Reward, gates: Mapping[str, Gate | None]) -> Reward:
    """The reward with these gates on its components."""
    items = [replace(item, gate=gates.get(item.name, item.gate)) for item in reward.components]
    return replace(reward, components=items)


def with_fields(reward: Reward, names: Iterable[str]) -> set[str]:
    """These fields and components, and the fields that have to be extracted for them."""
    needed = set(names)
    for name, call in reversed(reward.calls):
        if name in needed:
            needed.update(asked for asked in call.asks_for if asked in reward.fields)
    return needed


def rescore(scores: Scores, reward: Reward, *, run: bool = True) -> tuple[Scores, dict[str, int]]:
    """The scores of `reward`, a changed one of `scores`, and by component the rows that lack a score.

    Run are functions that are others and what depends on them, and, with `run`, components whose gate opens
    for rows in which they were not called; without it these rows are ``abstained``. RewardError: something
    has to be run, and the reward was read from a record.
    """
    pairs = list(zip(scores.reward.inner, reward.inner, strict=True))
    opened: set[str] = set()
    while True:
        moves = [_moved(old, new, opened) for old, new in pairs]
        again = _scored(scores, reward, moves)
        names = set[str]().union(*(moved.names for moved in moves))
        missing = {name: int((again.table[f"error/{name}"] == UNSCORED).sum()) for name in again.reward.names}
        to_score = {name: count for name, count in missing.items() if count and name in names}
        if not (run and to_score):
            break
        opened |= to_score.keys()
    table = scores.table.copy(deep=False)
    for column in (f"{kind}{name}" for name in names for kind in WRITTEN):
        if column in again.table:
            table[column] = again.table[column]
        elif column.startswith("failed/") and column in table:
            del table[column]
    if "" in names:
        table["gate/reward"] = again.table.get("gate/reward", np.ones(len(table)))
    return Scores(table, reward, scores.rollouts, scores.run).under(reward), to_score


def _moved(old: Reward, new: Reward, opened: set[str]) -> Moved:
    """What one reward changes of another, where what has `opened` is run."""
    fields = {name for name, function in new.fields.items() if function is not old.fields.get(name)}
    before = {item.name: item for item in old.components}
    run, gated = fields | (opened & set(new.names)), set()
    for item in new.components:
        was = before.get(item.name)
        if was is None or any(getattr(item, name) is not getattr(was, name) for name in RUN_BY):
            run.add(item.name)
        elif item.gate != was.gate:
            gated.add(item.name)
    return moved_by(new, run=run, gated=gated)


RUN_BY = ("function", "columns", "range", "batch", "group")
"""The attributes of a component that decide its scores, beside its gate."""


class Known(Recorded):
    """Stands for a function whose answers are known: the last column that it asks for."""

    together = "all"

    def __call__(self, *columns: Any) -> Any:
        """The last column."""
        return columns[-1]


def _scored(scores: Scores, reward: Reward, moves: Iterable[Moved]) -> Scores:
    """Score a reward with what is known in place of the functions that the moves leave alone."""
    known: dict[str, Sequence[Any]] = {}
    left = iter(moves)
    made = reward.map(lambda inner: _replay(scores, inner, next(left), known))
    if any(type(getattr(item, "on", item)) is Recorded for item in made.functions):
        raise RewardError(
            f"reward {reward.name!r} was read from a run record and cannot score what it changes"
        )
    rollouts = scores.rollouts
    if ROLLOUT in made.needs and ROLLOUT not in rollouts.table:  # the row without what is known beside it
        logged = rollouts.as_logged()
        known[ROLLOUT] = [dict(zip(logged, row, strict=True)) for row in zip(*logged.values(), strict=True)]
    index = rollouts.table.index
    columns = {name: pd.Series(values, index=index, dtype=object) for name, values in known.items()}
    return score(
        made, replace(rollouts, table=rollouts.table.assign(**columns)), timeout=scores.run.get("timeout")
    )


def _replay(scores: Scores, reward: Reward, moved: Moved, known: dict[str, Sequence[Any]]) -> Reward:
    """The reward with what is known in place of its functions; `known` gets the columns that say it."""
    table, ignored = scores.table, bool(scores.run.get("ignore_gates"))
    extracted = set() if reward.recorded is not None else with_fields(reward, moved.run)
    fields, items, whole = dict(reward.fields), [], None if ignored else reward.gate
    for name in reward.fields.keys() - moved.run - extracted:
        known[f"field {name}"] = _answers(column_values(table[f"field/{name}"]), table.get(f"failed/{name}"))
        fields[name] = Known("known", (f"field {name}",))
    for item in reward.components:
        name = item.name
        if name in moved.run:
            items.append(replace(item, gate=None) if ignored else item)
            continue
        status, reasons = scores.status(name), table[f"error/{name}"]
        on, asks = item.gate, [other for other in item.asks_for if other in reward.names]
        ran = status != GATED
        if name in moved.gated:
            column = f"score {name}, where its gate was open"
            ran &= ~reasons.astype(object).map(lambda why: str(why).startswith(UNDECIDED)).to_numpy(
                dtype=bool
            )
            reasons = reasons.where(ran, UNSCORED)
            status = np.where(ran, status, ABSTAINED)
        else:
            column, asks, on = f"score {name}", [], gate(f"gate of {name}", equals=True)
            known[f"gate of {name}"] = ran.tolist()
        known[column] = _answers(scores.score(name).tolist(), reasons, status)
        function = Known("known", (*asks, column))
        items.append(
            replace(item, function=function, gate=on, columns=None, range=None, batch=True, group=False)
        )
    if whole is not None and "" not in moved.gated:
        asks = [other for other in reward.gate_call.asks_for if other in reward.names]
        known["gate"] = table.get("gate/reward", pd.Series(1.0, table.index)).map({1.0: True, 0.0: False})
        whole = gate(Known("known", (*asks, "gate")))
    return replace(reward, fields=fields, components=items, gate=whole, transform=None, recorded=None)


def _answers(values: Sequence[Any], reasons: pd.Series[Any] | None, status: Any = None) -> list[Any]:
    """What a function gave for each row: a value, or a Failure for this reason."""
    if reasons is None:
        return list(values)
    codes = np.where(reasons.notna(), ERROR, SCORED) if status is None else status
    return [
        Failure(why or "", abstains=code == ABSTAINED) if code else value
        for value, why, code in zip(values, reasons, codes, strict=True)
    ]
