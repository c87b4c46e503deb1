"""What the tests of recorders share: a folder, and scores read from it once all is written."""

import sys
from pathlib import Path

import pytest

import rewardkit as rk

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def read(tmp_path):
    """read(**options) writes what waits for a recorder with these options, and loads the folder."""

    def loaded(folder=tmp_path / "run", **options):
        rk.Recorder(folder, **options).flush()
        return rk.load_scores(folder)

    return loaded
