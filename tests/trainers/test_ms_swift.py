"""ms-swift's own classes, and the function of its trainer that calls rewards."""

import pytest
import waiting
from table import proved

torch = pytest.importorskip("torch")

from swift.rewards import ORM, AsyncORM, orms  # noqa: E402
from swift.rl_core.data import GRPOSample  # noqa: E402
from swift.rl_core.grpo_algorithm import compute_rewards_per_func  # noqa: E402

import rewardkit as rk  # noqa: E402
from rewardkit.targets.export import export  # noqa: E402
from rewardkit.targets.turns import transcript  # noqa: E402


class Ends(ORM):
    """In the words of its documentation: a column of the data set by name."""

    def __call__(self, completions, solution, **kwargs):
        return [
            None if not c else 2.5 * c.endswith(s) - 1 for c, s in zip(completions, solution, strict=True)
        ]


class Turns(AsyncORM):
    async def __call__(self, completions, messages, **kwargs):
        return [float(len(turns)) for turns in messages]


def theirs(function, rows):
    """What their trainer makes of a reward: NaN where it is None."""
    known = [{"messages": transcript(row), "solution": row["ground_truth"]} for row in rows]
    samples = [GRPOSample.from_row(row) for row in known]
    return compute_rewards_per_func(samples, [function], [None], torch.device("cpu"))[:, 0].numpy()


@pytest.mark.parametrize("kind", [Ends, Turns])
def test_a_class_is_read_as_it_is_called_there(kind):
    rows = [{"prompt": "2+2?", "completion": text, "ground_truth": "4"} for text in ("it is 4", "5", "")]
    rollouts = rk.load_rollouts(rows)
    reward = rk.load_reward(f"{__file__}:{kind.__name__}", rollouts=rollouts)
    assert "read as ms-swift" in reward.origin
    ours = rk.score(reward, rollouts).rewards
    assert str(ours.tolist()) == str(theirs(kind(), rows).tolist())  # NaN where there is none
    proved("ms-swift", "recognised")
    proved("ms-swift", "read")


def test_an_async_reward_is_an_async_class_there(tmp_path):
    reward = rk.Reward("slow", components=[rk.Component("slow", waiting.slow, range=None)])
    rollouts = rk.load_rollouts(
        [{"prompt": "2+2?", "completion": text, "ground_truth": "4"} for text in ("4", "")]
    )
    made = export(reward, to="ms-swift", path=tmp_path / "slow.py", missing=-3.0, verify=rollouts)
    assert made.proof.equal and issubclass(orms["slow"], AsyncORM)
    assert theirs(orms["slow"](), list(rollouts)).tolist() == [1 / 64, -3.0]
