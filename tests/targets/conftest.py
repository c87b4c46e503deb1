"""What the tests of targets share: four rollouts, and a file with a reward function, loaded."""

import textwrap

import numpy as np
import pytest

import rewardkit as rk

ROWS = [
    {"prompt_id": 1, "prompt": "2+2?", "completion": "<answer>4</answer>", "ground_truth": "4", "level": 2},
    {"prompt_id": 1, "prompt": "2+2?", "completion": "<answer>5</answer>", "ground_truth": "4", "level": 2},
    {"prompt_id": 2, "prompt": "1+1?", "completion": "", "ground_truth": "2", "level": 1},
    {"prompt_id": 2, "prompt": "1+1?", "completion": "2", "ground_truth": "2", "level": 1},
]


@pytest.fixture
def rollouts():
    return rk.load_rollouts(ROWS)


@pytest.fixture
def load(tmp_path, rollouts):
    """load(source, name="f", rollouts=the four) is what `load_reward` makes of a file with that source."""

    def loaded(source, name="f", **options):
        (tmp_path / "mine.py").write_text(textwrap.dedent(source))
        return rk.load_reward(f"{tmp_path / 'mine.py'}:{name}", **{"rollouts": rollouts, **options})

    return loaded


@pytest.fixture
def rewards(rollouts):
    """rewards(reward) are those of the four rollouts, None where there is none."""

    def given(reward, rows=None, **options):
        scores = rk.score(reward, rows or rollouts, **options)
        return [None if np.isnan(value) else float(value) for value in scores.rewards]

    return given
