"""What the tests of targets share: four rollouts, a file with a reward function, loaded, and its rewards."""

import textwrap

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.scoring.deadlines import TimeLimit, answered

ROWS = [
    {
        "prompt_id": 1,
        "prompt": "2+2?",
        "completion": "<answer>4</answer>",
        "ground_truth": "4",
        "level": 2,
    },
    {
        "prompt_id": 1,
        "prompt": "2+2?",
        "completion": "<answer>5</answer>",
        "ground_truth": "4",
        "level": 2,
    },
    {
        "prompt_id": 2,
        "prompt": "1+1?",
        "completion": "",
        "ground_truth": "2",
        "level": 1,
    },
    {
        "prompt_id": 2,
        "prompt": "1+1?",
        "completion": "2",
        "ground_truth": "2",
        "level": 1,
    },
]


@pytest.fixture
def limited():
    """Worker processes make the calls that are limited in time, as outside of these tests."""


@pytest.fixture(autouse=True)
def in_this_process(request, monkeypatch):
    """Functions are tried here: a worker for each of the hundreds that are loaded takes a second."""
    if "limited" not in request.fixturenames:
        monkeypatch.setattr(TimeLimit, "run", lambda limit, calls: answered(calls))


@pytest.fixture
def rows():
    return [dict(row) for row in ROWS]


@pytest.fixture
def rollouts():
    return rk.load_rollouts(ROWS)


@pytest.fixture
def load(tmp_path, rollouts):
    """load(source, name="f", rollouts=the four) is what `load_reward` makes of a file with that source.

    A list of rows in place of rollouts is loaded first.
    """

    def loaded(source, name="f", **options):
        (tmp_path / "mine.py").write_text(textwrap.dedent(source))
        given = options.pop("rollouts", rollouts)
        given = rk.load_rollouts(given) if isinstance(given, list) else given
        return rk.load_reward(
            f"{tmp_path / 'mine.py'}:{name}", rollouts=given, **options
        )

    return loaded


@pytest.fixture
def rewards(rollouts):
    """rewards(reward) are those of the four rollouts, None where there is none."""

    def given(reward, rows=None, **options):
        scores = rk.score(reward, rows or rollouts, **options)
        return [None if np.isnan(value) else float(value) for value in scores.rewards]

    return given


@pytest.fixture
def reads(load, rewards, rollouts):
    """reads(source, rewards, *said, ...): what a file is read as; `errors`: of all rows without one."""

    def checked(source, expected, *said, name="f", errors=None):
        reward = load(source, name)
        assert [words for words in said if words not in reward.origin] == [], (
            reward.origin
        )
        assert rewards(reward) == expected
        if errors:
            told = rk.score(reward, rollouts).table[f"error/{reward.names[0]}"].dropna()
            assert (
                len(told) == expected.count(None)
                and told.str.contains(errors, regex=False).all()
            ), told[0]
        return reward

    return checked
