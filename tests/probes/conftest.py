"""Lets the tests of this folder import `planted_probes`, `probed` and `labelled`."""

import sys
from pathlib import Path

import pytest

from rewardkit.scoring.deadlines import CannotLimit, TimeLimit

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def no_workers(monkeypatch):
    """Rewards are recognised in this process, as none of them hangs."""

    def refuse(*_, **__):
        raise CannotLimit("no worker is started")

    monkeypatch.setattr(TimeLimit, "run", refuse)
