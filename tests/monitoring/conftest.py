"""Lets the tests of this folder import `histories`, whose faults make scoring warn on purpose."""

import logging
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def quiet(caplog):
    with caplog.at_level(logging.ERROR, logger="rewardkit"):
        yield
