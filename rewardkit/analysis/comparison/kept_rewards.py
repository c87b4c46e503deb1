"""Rewards of kept runs, run from the source that was kept with them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from rewardkit.errors import RewardError
from rewardkit.history.versions import Version
from rewardkit.rewards.load import find_reward
from rewardkit.rewards.reward import Reward


def read_kept_reward(version: Version) -> Reward | None:
    """Return the reward of a version, its files run anew from a folder of their own.

    None where its source was not kept, does not run by itself, or gives another reward.
    """
    file, _, name = str(version.about["entry"]).rpartition(":")
    if file not in version.source:  # none, or the module of a package
        return None
    with TemporaryDirectory() as folder:
        for path, content in version.source.items():
            place = Path(folder) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        try:
            reward, _ = find_reward(f"{Path(folder) / file}:{name}")
        except RewardError:
            return None
    if not isinstance(reward, Reward):
        return None
    is_same = reward.record()["fingerprints"]["reward"] == version.fingerprint
    return reward if is_same else None
