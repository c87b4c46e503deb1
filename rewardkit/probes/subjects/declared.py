"""What a reward says of itself, by its parameters and declarations: that it reads a truth, or siblings."""

from __future__ import annotations

from rewardkit.rewards.fingerprint import user_code
from rewardkit.rewards.reward import Reward
from rewardkit.targets.adapter import Adapter, uses

__all__ = ["asks_for_truth", "by_group"]


def asks_for_truth(reward: Reward) -> bool:
    """Whether the reward reads a truth, as far as its parameters and code say."""
    functions = [function for inner in reward.inner for function in inner.functions]
    parts = [part for one in functions for part in ([one] if isinstance(one, Adapter) else user_code(one))]
    adapters = [part for part in parts if isinstance(part, Adapter) and "ground_truth" in part.needs]
    return "ground_truth" in reward.needs or any(uses(one.called, "ground_truth") for one in adapters)


def by_group(reward: Reward) -> bool:
    """Whether a component or field looks at the siblings of a group."""
    fields = [function for inner in reward.inner for function in inner.fields.values()]
    grouped = any(item.group for inner in reward.inner for item in inner.components)
    return grouped or any(getattr(function, "together", "") == "group" for function in fields)
