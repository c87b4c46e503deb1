"""siiRL's own loader and managers."""

from types import SimpleNamespace

import numpy as np
import waiting
from table import proved

import rewardkit as rk
from rewardkit.targets import siirl, verl
from rewardkit.targets.export import export


def test_the_dapo_manager_gives_the_same_and_adds_only_its_own_penalty():
    from siirl.engine.reward_manager.dapo import DAPORewardManager

    rollouts = rk.load_rollouts("gallery:arithmetic").select(range(32))
    rows, reward = list(rollouts), rk.load_reward("gallery:arithmetic")
    ours = rk.score(reward, rollouts).rewards.astype(np.float32)
    for length in (100, 1):
        overlong = SimpleNamespace(enable=True, len=2, penalty_factor=0.5, log=False)
        manager = DAPORewardManager(
            verl.Texts(rows), 0, siirl.functions(reward), max_resp_len=length, overlong_buffer_cfg=overlong
        )
        found = manager(siirl.batch(rows), return_dict=True)
        given = found["reward_tensor"][:, 0].numpy()
        expected = ours + min(-(1 - (length - 2)) / 2 * 0.5, 0)
        np.testing.assert_allclose(given, expected, rtol=1e-6)
    proved("siirl", "called", "DAPORewardManager of siirl 0.2.0")


def test_async_components_are_waited_for_and_the_loss_is_said(tmp_path):
    rollouts = rk.load_rollouts("gallery:arithmetic").select(range(8))
    made = export(
        rk.load_reward(f"{waiting.__file__}:waiting"), to="siirl", path=tmp_path / "w.py", verify=rollouts
    )
    assert made.proof.equal and "async def compute_score" not in made.path.read_text()
    assert any("async components (slow) block" in loss for loss in made.losses)
