"""Lets the tests of this folder import `planted`, and share the process of rehearsals."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module", autouse=True)
def _one_process(one_process):
    """Each file has it."""
