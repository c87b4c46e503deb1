"""ms-swift's own classes, and the function of its trainer that calls rewards."""

from types import SimpleNamespace

import pytest
import torch
import waiting
from swift.rewards import ORM, AsyncORM, orms
from swift.rl_core.data import GRPOSample
from swift.rl_core.grpo_algorithm import compute_rewards_per_func
from table import read_as, rows

import rewardkit as rk
from rewardkit.targets.export import export
from rewardkit.targets.turns import transcript

ROLLOUTS = rows("it is 4", "5", "4", "")


class Ends(ORM):
    """In the words of its documentation: a column of the data set by name."""

    def __call__(self, completions, solution, **kwargs):
        pairs = zip(completions, solution, strict=True)
        return [
            2.5 * text.endswith(truth) - 1 if text else None for text, truth in pairs
        ]


class Turns(AsyncORM):
    async def __call__(self, completions, messages, **kwargs):
        return [float(len(turns)) for turns in messages]


def theirs(function):
    """What their trainer makes of a reward: NaN where it is None."""
    known = [
        {"messages": transcript(row), "solution": row["ground_truth"]}
        for row in ROLLOUTS
    ]
    samples = [GRPOSample.from_row(row) for row in known]
    return compute_rewards_per_func(samples, [function], [None], torch.device("cpu"))[
        :, 0
    ].tolist()


@pytest.mark.parametrize("kind", [Ends, Turns])
def test_a_class_is_read_as_it_is_called_there(kind, no_workers):
    _, ours = read_as("ms-swift", "ms-swift", f"{__file__}:{kind.__name__}", ROLLOUTS)
    assert ours == [None if value != value else value for value in theirs(kind())]


def test_its_trainer_tells_the_step_whose_weights_are_paid(tmp_path):
    falling = rk.schedule({0: 1.0, 100: 0.2})
    reward = waiting.made("falling", {waiting.share: falling})
    export(reward, to="ms-swift", path=tmp_path / "falling.py", verify=ROLLOUTS)
    paid = []
    for step in (0, 50, 100):
        samples = [
            GRPOSample.from_row({"messages": transcript(ROLLOUTS[2]), "solution": "4"})
        ]
        state = SimpleNamespace(global_step=step)
        functions = [orms["falling"]()]
        paid += compute_rewards_per_func(
            samples, functions, [None], torch.device("cpu"), state
        ).tolist()[0]
    assert paid == pytest.approx([1.0, 0.6, 0.2])


def test_an_async_reward_is_an_async_class_there(tmp_path):
    path = tmp_path / "waiting.py"
    made = export(
        waiting.waiting(), to="ms-swift", path=path, missing=-3.0, verify=ROLLOUTS
    )
    assert made.proof.equal and issubclass(orms["waiting"], AsyncORM)
    assert theirs(orms["waiting"]()) == [7 / 64, 1 / 64, 1 / 64, -3.0]
