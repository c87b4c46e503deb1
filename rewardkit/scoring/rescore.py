"""rescore(): score a changed reward, calling only functions that the change affects.

`reuse.py` decides call by call. This module finds the affected fields and components
and updates the scored table. Changed gates, suggestions and the workbench use it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import pandas as pd

from rewardkit.primitives.gates import Gate
from rewardkit.rewards.fingerprint import Recorded
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.columns import PART_PREFIXES
from rewardkit.scoring.deadlines import time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.prints import caught_prints
from rewardkit.scoring.reuse import (
    UNSCORED,
    Earlier,
    asked_by,
    has_same_function,
    record_only_error,
)
from rewardkit.scoring.scored import outcome_columns, read_columns
from rewardkit.scoring.scores import Scores


class Moved(NamedTuple):
    """The fields and components that a change of a reward may affect.

    Those in `run` must be called for all rows. The gates of `gated` may open for other
    rows; "" is the gate on the whole reward. `why` says why existing scores do not
    suffice; it is "" if the change affects only gates on named parts that are scored
    row by row.
    """

    run: set[str]
    gated: set[str]
    why: str = ""

    @property
    def names(self) -> set[str]:
        """Return the names of all affected fields and components."""
        return self.run | self.gated

    def first_of(self, names: Iterable[str]) -> str | None:
        """Return the first affected one of these names, or None."""
        return next((name for name in names if name in self.names), None)


def moved_by(
    reward: Reward, *, run: Iterable[str] = (), gated: Iterable[str] = ()
) -> Moved:
    """Find everything that changed functions and changed gates affect.

    Args:
        reward: The reward after the change.
        run: Fields and components whose functions changed.
        gated: Components whose gates changed; "" for the gate on the whole reward.
    """
    moved = Moved(set(run), set(gated))
    reasons = []
    for name, call in reward.field_calls.items():
        if moved.first_of(call.asks_for) is not None:
            moved.run.add(name)
    for place, item in enumerate(reward.components):
        name = item.name
        cause = moved.first_of(item.asks_for)
        if cause is not None:
            moved.run.add(name)
            reasons.append(f"{name!r} asks for the score of {cause!r}")
        names = asked_by(item.gate, item.gate_call, reward.names[:place])
        cause = moved.first_of(names)
        if item.gate and cause is not None:
            moved.gated.add(name)
            if callable(item.gate.on):
                reasons.append(
                    f"the gate of {name!r} is a predicate that asks for {cause!r}, or "
                    "may"
                )
        if (item.group or item.batch) and name in moved.gated:
            moved.run.add(name)
            reasons.append(
                f"{name!r} is scored from several rows at once, and would see others"
            )
    cause = None
    if reward.gate and "" not in moved.gated:
        names = asked_by(reward.gate, reward.gate_call, reward.names)
        cause = moved.first_of(names)
    if reward.gate and cause is not None:
        verb = f"asks for {cause!r}"
        if isinstance(reward.gate.on, Recorded):
            verb = f"may ask for {cause!r}: its record does not say"
        reasons.append(f"the gate on the whole reward {verb}")
        # the gate may now close other rows for every component
        moved = moved_by(reward, run=moved.run, gated={*reward.names, ""})
    return moved._replace(why=reasons[0] if reasons else "")


def replace_gates(reward: Reward, gates: Mapping[str, Gate | None]) -> Reward:
    """Return the reward with these gates on its components."""
    components = []
    for item in reward.components:
        gate = gates.get(item.name, item.gate)
        components.append(replace(item, gate=gate))
    return replace(reward, components=components)


def rescore(
    scores: Scores, reward: Reward, *, run: bool = True
) -> tuple[Scores, dict[str, int]]:
    """Score a changed reward, reusing the scores that the change does not affect.

    A function is called only if it or one of its arguments changed.

    Args:
        scores: The scores before the change.
        reward: The reward after the change, with the same parts.
        run: Whether to call components on rows whose gate is newly open; otherwise
            these rows are ``abstained``.

    Returns:
        The scores, and by component the number of rows that lack a score.

    Raises:
        RewardError: A function has to be called, but the reward was read from a record.
    """
    names, again = set[str](), set[str]()
    for old, new in zip(scores.reward.branches, reward.branches, strict=True):
        moved = _compare(old, new)
        if "" in moved.gated and isinstance(getattr(new.gate, "on", None), Recorded):
            # it is not known which scores its predicate reads
            raise record_only_error(reward)
        names |= moved.names
        again |= _fields_called_again(new, moved)
    if not names:
        return scores.under(reward), {}
    with time_limit(scores.run.get("timeout")) as limit, caught_prints() as printed:
        outcomes = evaluate(
            scores.plan(reward),
            read_columns(reward, scores.rollouts),
            groups=scores.groups,
            ignore_gates=bool(scores.run.get("ignore_gates")),
            limit=limit,
            earlier=Earlier(scores.outcomes, again, opens=run),
        )
    printed.show()
    to_score = {}
    for name in reward.names:
        reasons = outcomes.components[name].reasons.values()
        count = sum(reason == UNSCORED for reason in reasons)
        if count and name in names:
            to_score[name] = count
    table = _replace_columns(scores.table, outcomes, names)
    return Scores(table, reward, scores.rollouts, scores.run).under(reward), to_score


def _compare(old: Reward, new: Reward) -> Moved:
    """Find what differs between a reward and a changed one."""
    before = {item.name: item for item in old.components}
    run, gated = set[str](), set[str]()
    for name, function in new.fields.items():
        if function is not old.fields.get(name):
            run.add(name)
    for item in new.components:
        other = before.get(item.name)
        if other is None or not has_same_function(item, other):
            run.add(item.name)
        if other is None or item.gate != other.gate:
            gated.add(item.name)
    return moved_by(new, run=run, gated=gated)


def _fields_called_again(reward: Reward, moved: Moved) -> set[str]:
    """Return the fields that called components need, as tables may lack their values.

    A reward that was read from a record cannot call any.
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
    """Replace the columns of these parts of a scored table; "" is the reward's gate."""
    columns = outcome_columns(outcomes, names)
    stale = set[str]()
    for prefix in PART_PREFIXES:
        stale.update(f"{prefix}{name}" for name in names)
    stale -= columns.keys()
    replaced = table.drop(columns=list(stale), errors="ignore").assign(**columns)
    if "" in names:
        replaced["gate/reward"] = outcomes.gate
    return replaced
