"""Lets the tests of this folder import `planted`, and share the process of rehearsals."""

import sys
from pathlib import Path

import pytest

import rewardkit as rk

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module", autouse=True)
def _one_process(one_process):
    """Each file has it."""


@pytest.fixture(scope="session")
def good_scores():
    """The sound reward of the gallery on its log."""
    return rk.score(rk.load_reward("gallery:arithmetic"), "gallery:arithmetic")


@pytest.fixture(scope="session")
def flawed_scores():
    """The flawed one, on the same log."""
    return rk.score(rk.load_reward("gallery:arithmetic.flawed"), "gallery:arithmetic")
