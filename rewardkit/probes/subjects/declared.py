"""What a reward says of itself, by its parameters and declarations: that it reads a truth, or siblings."""

from __future__ import annotations

from rewardkit.rewards.fingerprint import user_code
from rewardkit.rewards.reward import Reward
from rewardkit.targets.adapter import Adapter, uses

__all__ = ["asks_for_truth", "by_group"]


def asks_for_truth(reward: Reward) -> bool:
    """Whether the reward reads a truth, as far as its parameters and code say."""
    for inner in reward.inner:
        for function in inner.functions:
            for part in user_code(function) if not isinstance(function, Adapter) else [function]:
                if isinstance(part, Adapter):
                    if "ground_truth" in part.needs and uses(part.called, "ground_truth"):
                        return True
        if "ground_truth" in inner.needs:
            return True
    return False


def by_group(reward: Reward) -> bool:
    """Whether a component or field looks at the siblings of a group."""
    return any(item.group for inner in reward.inner for item in inner.components) or any(
        getattr(function, "together", "") == "group"
        for inner in reward.inner
        for function in inner.fields.values()
    )
