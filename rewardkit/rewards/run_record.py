"""The reward of a run record: it can be weighed and diagnosed anew, but not run."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.primitives.gates import Gate, gate
from rewardkit.primitives.weights import min_max, rank, standardise
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import Recorded
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import Route

MAKERS: Mapping[str, Any] = {
    make.__name__: make for make in (gate, standardise, min_max, rank)
}
"""What a record names by the call that made it, and has its options in that."""


def reward_from_record(record: Mapping[str, Any]) -> Reward:
    """Return the reward of a run record, which can be weighed anew but not run.

    RewardError also where the record is none.
    """
    try:
        if "route" in record:
            route = record["route"]
            inner = {
                item["value"]: reward_from_record(item["reward"])
                for item in route["rewards"]
            }
            default = reward_from_record(route["default"]) if route["default"] else None
            return Route(route["column"], inner, default, name=record["name"])
        return Reward(
            record["name"],
            {name: Recorded(text) for name, text in record["fields"].items()},
            [_component(item) for item in record["components"]],
            aggregation=record["aggregation"],
            on_missing=record["on_missing"],
            gate=_gate(record["gate"]),
            transform=_made(record["transform"]) if record["transform"] else None,
            recorded={key: record[key] for key in ("sources", "transform_sources")},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RewardError(
            f"this run record does not hold a reward ({error!r}); score again with "
            "this version"
        ) from None


def _component(item: Mapping[str, Any]) -> Component:
    return Component(
        item["name"],
        Recorded(item["function"], tuple(item["asks_for"])),
        weight=item["weight"],
        why=item["why"],
        gate=_gate(item["gate"]),
        columns=item["columns"],
        range=tuple(map(float, item["range"])) if item["range"] else None,  # type: ignore[arg-type]
        batch="group" if item["kind"] == "batch by group" else item["kind"] == "batch",
        group=item["kind"] == "group",
        primary=item["primary"],
        expects_partial=item.get("expects_partial", False),
    )


def _gate(text: str | None) -> Gate | None:
    """Return the gate that prints so; a predicate is replaced by a stand-in."""
    made = _made(text) if text else None
    return (
        Gate(Recorded(made.text[len("gate(") : -1]))
        if isinstance(made, Recorded)
        else made
    )


def _made(text: str) -> Any:
    """Make what a text says where one of the `MAKERS` makes it, else a stand-in."""
    try:
        match ast.parse(text, mode="eval").body:
            case ast.Call(
                func=ast.Name(id=name), args=arguments, keywords=keywords
            ) if name in MAKERS:
                options = {
                    str(item.arg): ast.literal_eval(item.value) for item in keywords
                }
                return MAKERS[name](*map(ast.literal_eval, arguments), **options)
    except (SyntaxError, TypeError, ValueError):
        pass
    return Recorded(text)
