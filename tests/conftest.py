"""Settings of all tests: no deadline an example, as processes share cores; the same examples every run."""

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "rewardkit",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("rewardkit")
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def here():
    """The notebooks of reports run in this process."""
    from executed import page_here

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rewardkit.notebook.report.report._run", page_here)
        patch.setattr("rewardkit.notebook.report.report.AT_ONCE", 1)
        yield
