"""Settings of all tests: no deadline an example, as processes share cores; the same examples every run."""

import gc
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
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


LONGEST = (
    "test_lab.py",
    "test_report.py",
    "test_hang.py",
    "test_suspect.py",
    "test_workbench.py",
)
"""Files that take longest, which begin first, so that no worker is left alone with one at the end."""


def pytest_collection_modifyitems(items):
    """Put the longest first, and the notebooks."""
    items.sort(
        key=lambda item: item.path.suffix != ".ipynb" and item.path.name not in LONGEST
    )


def pytest_collection_finish():
    """Keep what was imported out of the rounds of the garbage collector, which IPython starts."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    """Say what was skipped, why, and thereby how to run it: the last thing of a run."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in reports
    )
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}", yellow=True)


@pytest.fixture(scope="module")
def here():
    """The notebooks of reports run in this process."""
    from executed import run_here

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rewardkit.notebook.report._execute", run_here)
        patch.setattr("rewardkit.notebook.report.MOST_KERNELS", 1)
        yield


@pytest.fixture(scope="module")
def one_process():
    """All rehearsals of a file call rewards in one process, in place of one each."""
    from rewardkit.analysis.rehearsal.reach import limit_calls

    with limit_calls() as limit, pytest.MonkeyPatch.context() as patch:
        for module in ("forecast", "suggestions.measure"):
            name = f"rewardkit.analysis.{module}.limit_calls"
            patch.setattr(name, lambda: nullcontext(limit))
        yield


@pytest.fixture(scope="module")
def short_rehearsals():
    """Rehearsals of a file are short and have few learners, as it is about other things."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rewardkit.analysis.rehearsal.rehearsal.LEARNERS", 2)
        patch.setattr("rewardkit.analysis.rehearsal.rehearsal.STEPS", 40)
        yield


@pytest.fixture
def no_workers(monkeypatch):
    """Rewards are recognised in this process, as none of them hangs."""
    from rewardkit.scoring.deadlines import CannotLimit, TimeLimit

    def refuse(*_, **__):
        raise CannotLimit("no worker is started")

    monkeypatch.setattr(TimeLimit, "run", refuse)


@pytest.fixture
def bounded() -> Iterator[None]:
    """Fail the test instead of hanging where its calls take more than 5 s (linear work takes under 2).

    Of processor time, as other work on the machine is no fault of the call.
    """

    def late(*_: object) -> None:
        pytest.fail(
            "still busy after 5 s: the work grows faster than the text", pytrace=False
        )

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, 5)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)
