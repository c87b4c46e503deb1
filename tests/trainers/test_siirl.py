"""siiRL's own loader and managers."""

from types import SimpleNamespace

import numpy as np
import pytest
import waiting
from siirl.engine.reward_manager.dapo import DAPORewardManager
from table import arithmetic, proved

import rewardkit as rk
from rewardkit.targets import siirl, verl
from rewardkit.targets.export import export


@pytest.mark.parametrize("length", [100, 1])
def test_the_dapo_manager_gives_the_same_and_adds_only_its_own_penalty(length):
    rollouts, reward = arithmetic(32), rk.load_reward("gallery:arithmetic")
    rows, ours = list(rollouts), rk.score(reward, rollouts).rewards.astype(np.float32)
    overlong = SimpleNamespace(enable=True, len=2, penalty_factor=0.5, log=False)
    options = {"max_resp_len": length, "overlong_buffer_cfg": overlong}
    manager = DAPORewardManager(verl.Texts(rows), 0, siirl.functions(reward), **options)
    found = manager(siirl.batch(rows), return_dict=True)["reward_tensor"][:, 0].numpy()
    np.testing.assert_allclose(
        found, ours + min(-(1 - (length - 2)) / 2 * 0.5, 0), rtol=1e-6
    )
    proved("siirl", "called", by="DAPORewardManager of siirl 0.2.0")


def test_async_components_are_waited_for_and_the_loss_is_said(tmp_path):
    reward = rk.load_reward(f"{waiting.__file__}:waiting")
    made = export(reward, to="siirl", path=tmp_path / "w.py", verify=arithmetic(8))
    assert made.proof.equal and "async def compute_score" not in made.path.read_text()
    assert any("async components (slow) block" in loss for loss in made.losses)
