"""Dependents: what another gate on a component changes beside its own statuses."""

from __future__ import annotations

from collections.abc import Collection

from rewardkit.primitives.gates import Gate
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import Recorded
from rewardkit.rewards.reward import Reward

__all__ = ["gate_on", "moved_by", "only_run"]


def gate_on(gate: Gate | None) -> Gate | None:
    """The gate itself where it is on a column by name; else None."""
    return gate if gate is not None and isinstance(gate.on, str) else None


def moved_by(reward: Reward, names: Collection[str]) -> set[str]:
    """These components and those behind gates on them by name, and so on."""
    moved = set(names)
    for item in reward.components:
        gate = gate_on(item.gate)
        if gate is not None and gate.on in moved:
            moved.add(item.name)
    return moved


def only_run(reward: Reward, names: Collection[str]) -> str:
    """Why scores do not say what other gates on these components do, so that it must be run; "" if they do.

    They do where all that hangs on these components are gates on them by name, of what is scored row by row.
    """
    moved = moved_by(reward, names)
    earlier: list[str] = []
    for item in reward.components:
        if on := [name for name in item.asks_for if name in moved]:
            return f"{item.name!r} asks for the score of {on[0]!r}"
        if item.gate is not None and (on := _asked(item.gate, item, earlier, moved)):
            return f"the gate of {item.name!r} is a predicate that asks for {on[0]!r}, or may"
        if item.name in moved and (item.group or item.batch):
            return f"{item.name!r} is scored from several rows at once, and would see others"
        earlier.append(item.name)
    gate = gate_on(reward.gate)
    if gate is not None and gate.on in moved:
        return f"the gate on the whole reward asks for {gate.on!r}"
    if gate is None and reward.gate is not None:
        if isinstance(reward.gate.on, Recorded):
            return f"the gate on the whole reward may ask for {min(moved)!r}: its record does not say"
        if reward.gate_call and (on := [name for name in reward.gate_call.asks_for if name in moved]):
            return f"the gate on the whole reward asks for {on[0]!r}"
    return ""


def _asked(gate: Gate, item: Component, earlier: list[str], moved: set[str]) -> list[str]:
    """What the predicate of a gate asks for of what is moved; of one from a record, all that it may."""
    if gate_on(gate) is not None or item.gate_call is None:
        return []
    asked = earlier if isinstance(gate.on, Recorded) else item.gate_call.asks_for
    return [name for name in asked if name in moved]
