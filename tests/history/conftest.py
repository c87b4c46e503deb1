"""What the tests of recorders share: a folder, and scores read from it once all is written."""

import sys
from pathlib import Path

import pytest

import rewardkit as rk

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def folder(tmp_path):
    """The folder of a run."""
    return tmp_path / "run"


@pytest.fixture
def read(folder):
    """read(**options) writes what waits for a recorder with these options, and loads the folder."""

    def loaded(folder=folder, **options):
        rk.Recorder(folder, **options).flush()
        return rk.load_scores(folder)

    return loaded
