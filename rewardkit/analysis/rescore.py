"""rescore(): the scores of a changed reward; what the change leaves alone is taken from the scored table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from rewardkit.primitives.gates import Gate
from rewardkit.rewards.fingerprint import Recorded
from rewardkit.rewards.plan import Plan
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import Call
from rewardkit.scoring.deadlines import time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.printed import caught_prints
from rewardkit.scoring.reuse import UNSCORED, Earlier, cannot_call, has_same_function
from rewardkit.scoring.score import read_columns, result_columns
from rewardkit.scoring.scores import Scores

WRITTEN = ("field", "failed", "score", "status", "error", "reason", "verdict", "cost")


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
    """Return the scores of `reward`, a changed one of `scores`.

    Called are functions that are others, those whose arguments are others, and, with
    `run`, components on rows that a gate kept from them and keeps no longer; without it
    these rows are ``abstained``.

    Returns:
        The scores, and by component the number of rows that lack a score.

    Raises:
        RewardError: something has to be called, and the reward was read from a record.
    """
    names: set[str] = set()
    again: set[str] = set()
    for old, new in zip(scores.reward.branches, reward.branches, strict=True):
        moved = _moved(old, new)
        if "" in moved.gated and isinstance(getattr(new.gate, "on", None), Recorded):
            raise cannot_call(reward)  # nobody knows which scores its predicate reads
        names |= moved.names
        again |= _fields_called_again(new, moved)
    if not names:
        return scores.under(reward), {}
    with time_limit(scores.run.get("timeout")) as limit, caught_prints() as printed:
        outcomes = evaluate(
            Plan(reward, len(scores), tuple(scores.parts_of(reward))),
            read_columns(reward, scores.rollouts),
            groups=scores.groups,
            ignore_gates=bool(scores.run.get("ignore_gates")),
            limit=limit,
            earlier=Earlier(scores.outcomes, again, opens=run),
        )
    printed.show()
    if outcomes.unfinished:
        raise KeyboardInterrupt
    to_score = {}
    for name in reward.names:
        reasons = outcomes.components[name].reasons.values()
        count = sum(reason == UNSCORED for reason in reasons)
        if count and name in names:
            to_score[name] = count
    table = _replace_columns(scores.table, outcomes, names)
    return Scores(table, reward, scores.rollouts, scores.run).under(reward), to_score


def _moved(old: Reward, new: Reward) -> Moved:
    """Return what one reward changes of another."""
    before = {item.name: item for item in old.components}
    run = {
        name
        for name, function in new.fields.items()
        if function is not old.fields.get(name)
    }
    gated = set()
    for item in new.components:
        other = before.get(item.name)
        if other is None or not has_same_function(item, other):
            run.add(item.name)
        if other is None or item.gate != other.gate:
            gated.add(item.name)
    return moved_by(new, run=run, gated=gated)


def _fields_called_again(reward: Reward, moved: Moved) -> set[str]:
    """Return the fields that called components ask for: a table may not keep them whole.

    None, where a reward was read from a record and cannot call them.
    """
    if reward.recorded is not None:
        return set()
    names = moved.names
    for name, call in reversed(reward.calls):
        if name in names:
            names |= reward.fields.keys() & call.asks_for
    return names & reward.fields.keys()


def _replace_columns(
    table: pd.DataFrame, outcomes: Outcomes, names: Collection[str]
) -> pd.DataFrame:
    """Return a scored table with these fields and components (or "") as they came out."""
    result = result_columns(outcomes, outcomes.rewards, outcomes.rewards)
    failed = [f"failed/{name}" for name in names]
    columns = [f"{kind}/{name}" for name in names for kind in WRITTEN]
    replaced = table.drop(columns=failed, errors="ignore")
    replaced = replaced.assign(
        **{column: result[column] for column in columns if column in result}
    )
    if "" in names:
        replaced["gate/reward"] = outcomes.gate
    return replaced
