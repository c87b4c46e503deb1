"""The reward that a run record tells of: it can be weighed and diagnosed anew, but not run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.weights import read_transform
from rewardkit.rewards.component import Component
from rewardkit.rewards.fingerprint import Recorded
from rewardkit.rewards.reward import Reward, Route

__all__ = ["reward_from_record"]

SCORING_KEYS = ("name", "function", "asks_for", "gate", "columns", "range", "kind")


def reward_from_record(record: Mapping[str, Any]) -> Reward:
    """The reward of a run record: it can be weighed and diagnosed anew, but not run (RewardError).

    RewardError also where the record is none.
    """
    try:
        if "route" in record:
            route = record["route"]
            inner = {item["value"]: reward_from_record(item["reward"]) for item in route["rewards"]}
            default = reward_from_record(route["default"]) if route["default"] else None
            return Route(route["column"], inner, default, name=record["name"])
        if "version" not in record:
            record = _from_version_1(record)
        return Reward(
            record["name"],
            {name: Recorded(text) for name, text in record["fields"].items()},
            [_component(item) for item in record["components"]],
            aggregation=record["aggregation"],
            on_missing=record["on_missing"],
            gate=Gate(Recorded(record["gate"])) if record["gate"] else None,
            transform=_transform(record["transform"]) if record["transform"] else None,
            recorded={
                "fields": record["fields"],
                "components": [{key: item[key] for key in SCORING_KEYS} for item in record["components"]],
                "gate": record["gate"],
                "sources": record["sources"],
                "transform_sources": record["transform_sources"],
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RewardError(
            f"this run record does not hold a reward ({error!r}); score again with this version"
        ) from None


def _from_version_1(record: Mapping[str, Any]) -> dict[str, Any]:
    """A definition of the first version, with the names that functions of rewardkit have now."""
    text = re.sub(r"rewardkit\.primitives\.\w+\.(\w+)", r"rk.verify.\1", json.dumps(record))
    text = text.replace("rewardkit.recording.as_logged", "rewardkit.rewards.recorded.as_logged")
    return dict(json.loads(text))


def _component(item: Mapping[str, Any]) -> Component:
    return Component(
        item["name"],
        Recorded(item["function"], tuple(item["asks_for"])),
        weight=item["weight"],
        why=item["why"],
        range=(float(item["range"][0]), float(item["range"][1])) if item["range"] else None,
        primary=item["primary"],
        expects_partial=item.get("expects_partial", False),
        gate=Gate(Recorded(item["gate"])) if item["gate"] else None,
    )


def _transform(text: str) -> Callable[..., Any]:
    """The transform that prints so; for one of the user's own, what says that it is not at hand."""
    try:
        return read_transform(text)
    except ValueError:
        return Recorded(text)
