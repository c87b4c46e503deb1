"""rescore(): the scores of a changed reward; what the change leaves alone is taken from the scored table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from rewardkit.errors import RewardError
from rewardkit.primitives.gates import Gate, gate
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import Recorded
from rewardkit.rewards.reward import ROLLOUT, Reward
from rewardkit.rewards.signature import Call
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.outcomes import GATED
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores

UNSCORED = Reason(ReasonCode.GATE_WAS_CLOSED)
WRITTEN = ("field", "failed", "score", "status", "error", "reason", "verdict", "cost")
RUN_BY = ("function", "columns", "range", "batch", "group")
"""The attributes of a component that decide its scores, beside its gate."""


class Moved(NamedTuple):
    """What may come out otherwise: `run` has to be called for all rows, `gated` may be open for other rows.

    `why` is the reason why scores do not say what comes out under other gates; "" if they do, which is where
    all that hangs on them are gates on them by name, of what is scored row by row.
    """

    run: set[str]
    gated: set[str]
    """"" is the gate on the whole reward."""
    why: str = ""

    @property
    def names(self) -> set[str]:
        """All of them."""
        return self.run | self.gated


def moved_by(
    reward: Reward, *, run: Iterable[str] = (), gated: Iterable[str] = ()
) -> Moved:
    """What moves with fields and components that are others, and with components behind other gates."""
    moved = Moved(set(run), set(gated))
    reasons: list[str] = []

    def follows(to: set[str], name: str, asked: Iterable[str], why: str = "") -> None:
        if on := next((other for other in asked if other in moved.names), None):
            to.add(name)
            reasons.append(why.format(on))

    for name, call in reward.field_calls.items():
        follows(moved.run, name, call.asks_for)
    for at, item in enumerate(reward.components):
        name, asked = item.name, _asked(item.gate, item.gate_call, reward.names[:at])
        follows(
            moved.run, name, item.asks_for, f"{name!r} asks for the score of {{!r}}"
        )
        predicate = f"the gate of {name!r} is a predicate that asks for {{!r}}, or may"
        follows(
            moved.gated,
            name,
            asked,
            predicate if item.gate and callable(item.gate.on) else "",
        )
        if item.group or item.batch:
            why = f"{name!r} is scored from several rows at once, and would see others"
            follows(moved.run, name, {name} & moved.gated, why)
    if "" not in moved.gated:
        asked = _asked(reward.gate, reward.gate_call, reward.names)
        unread = isinstance(getattr(reward.gate, "on", None), Recorded)
        said = (
            "may ask for {!r}: its record does not say" if unread else "asks for {!r}"
        )
        follows(moved.gated, "", asked, f"the gate on the whole reward {said}")
        if "" in moved.gated:  # it may close other rows now, for every component
            moved = moved_by(reward, run=moved.run, gated={*reward.names, ""})
    return moved._replace(why=next(filter(None, reasons), ""))


def _asked(
    gate: Gate | None, call: Call | None, earlier: Sequence[str]
) -> Sequence[str]:
    """What a gate asks for; a predicate from a run record may ask for all that is scored earlier."""
    if gate is None or call is None:
        return ()
    return earlier if isinstance(gate.on, Recorded) else call.asks_for


def behind(reward: Reward, gates: Mapping[str, Gate | None]) -> Reward:
    """The reward with these gates on its components."""
    items = [
        replace(item, gate=gates.get(item.name, item.gate))
        for item in reward.components
    ]
    return replace(reward, components=items)


def rescore(
    scores: Scores, reward: Reward, *, run: bool = True
) -> tuple[Scores, dict[str, int]]:
    """The scores of `reward`, a changed one of `scores`, and by component the rows that lack a score.

    Run are functions that are others and what depends on them, and, with `run`, components whose gate opens
    for rows in which they were not called; without it these rows are ``abstained``. RewardError: something
    has to be run, and the reward was read from a record.
    """
    opened: set[str] = set()
    while True:
        pairs = zip(scores.reward.branches, reward.branches, strict=True)
        moves = [_moved(old, new, opened) for old, new in pairs]
        names = set[str]().union(*(moved.names for moved in moves))
        again = _scored(scores, reward, moves, names) if names else scores.table
        to_score = {
            name: count
            for name in reward.names
            if name in names
            and (count := int((again[f"reason/{name}"] == UNSCORED.to_json()).sum()))
        }
        if not (run and to_score):
            break
        opened |= to_score.keys()
    written = [f"{kind}/{name}" for name in names for kind in WRITTEN]
    table = scores.table.drop(
        columns=[f"failed/{name}" for name in names], errors="ignore"
    )
    table = table.assign(
        **{column: again[column] for column in written if column in again}
    )
    if "" in names:
        table["gate/reward"] = again.get("gate/reward", 1.0)
    return Scores(table, reward, scores.rollouts, scores.run).under(reward), to_score


def _moved(old: Reward, new: Reward, opened: set[str]) -> Moved:
    """What one reward changes of another, where what has `opened` is run."""
    before = {item.name: item for item in old.components}

    def differ(*parts: str) -> set[str]:
        """Components of which one of these attributes is another, or which are new."""
        others = [(item, part) for item in new.components for part in parts]
        return {
            i.name
            for i, part in others
            if getattr(i, part) != getattr(before.get(i.name), part, ...)
        }

    fields = {
        name
        for name, function in new.fields.items()
        if function is not old.fields.get(name)
    }
    return moved_by(
        new,
        run=fields | differ(*RUN_BY) | (opened & {*new.names}),
        gated=differ("gate"),
    )


class Known(Recorded):
    """Stands for a function whose answers are known: the last column that it asks for."""

    together = "all"

    def __call__(self, *columns: Any) -> Any:
        """The last column."""
        return columns[-1]


def _scored(
    scores: Scores, reward: Reward, moves: Iterable[Moved], names: set[str]
) -> pd.DataFrame:
    """The scored table of these fields and components and what they ask for; only what moves is run."""
    known: dict[str, Any] = {}
    left, table = iter(moves), scores.rollouts.table
    made = reward.map(lambda inner: _replay(scores, inner, next(left), names, known))
    if any(type(getattr(item, "on", item)) is Recorded for item in made.functions):
        why = "was read from a run record and cannot score; load the reward itself"
        raise RewardError(f"reward {reward.name!r} {why}")
    if (
        ROLLOUT in made.needs and ROLLOUT not in table
    ):  # the row without what is known beside it
        logged = scores.rollouts.as_logged()
        known[ROLLOUT] = [
            dict(zip(logged, row, strict=True))
            for row in zip(*logged.values(), strict=True)
        ]
    columns = {
        name: pd.Series(values, table.index, dtype=object)
        for name, values in known.items()
    }
    rollouts = replace(scores.rollouts, table=table.assign(**columns))
    return score(made, rollouts, timeout=scores.run.get("timeout")).table


def _replay(
    scores: Scores, reward: Reward, moved: Moved, names: set[str], known: dict[str, Any]
) -> Reward:
    """The reward with what is known in place of its functions; `known` gets the columns that say it."""
    table, ignored = scores.table, bool(scores.run.get("ignore_gates"))
    needed, run = {*names, "", reward.names[0]}, set(moved.run)
    for name, call in reversed(reward.calls):
        needed |= set(call.asks_for) if name in needed else set()
        if (
            name in run and reward.recorded is None
        ):  # fields as they were, not as a table keeps them
            run |= reward.fields.keys() & call.asks_for
    fields = {
        name: function for name, function in reward.fields.items() if name in needed
    }
    for name in fields.keys() - run:
        values = column_values(table[f"field/{name}"])
        known[f"field {name}"] = _answers(values, scores.reasons(name))
        fields[name] = Known("known", (f"field {name}",))
    items = []
    for item in (item for item in reward.components if item.name in needed):
        name, gated = item.name, item.name in moved.gated
        if name in run:
            items.append(replace(item, gate=None) if ignored else item)
            continue
        reasons = scores.reasons(name)
        known[f"ran {name}"] = ran = scores.status(name) != GATED
        if gated:
            ran = ran & [
                reason is None or not reason.is_undecided_gate for reason in reasons
            ]
        column = f"score {name} {gated}"
        whys = [
            reason if called else UNSCORED
            for reason, called in zip(reasons, ran, strict=True)
        ]
        known[column] = _answers(scores.score(name), whys)
        asked = [other for other in item.asks_for if gated and other in reward.names]
        on = item.gate if gated else gate(f"ran {name}", equals=True)
        items.append(
            Component(name, Known("known", (*asked, column)), gate=on, range=None)
        )
    whole = None if ignored else reward.gate
    if whole and "" not in moved.gated:
        known["gate"] = table.get("gate/reward", pd.Series(1.0, table.index)).map(
            {1.0: True, 0.0: False}
        )
        asked = [
            other for other in dict(reward.calls)[""].asks_for if other in reward.names
        ]
        whole = gate(Known("known", (*asked, "gate")))
    return replace(
        reward,
        fields=fields,
        components=items,
        gate=whole,
        transform=None,
        recorded=None,
    )


def _answers(values: Iterable[Any], reasons: Iterable[Reason | None]) -> list[Any]:
    """What a function gave for each row: a value, or the reason why there is none."""
    return [
        value if reason is None else reason
        for value, reason in zip(values, reasons, strict=True)
    ]
