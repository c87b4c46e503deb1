"""What the tests of the primitives share: a bound on calls that hostile text could keep busy for hours."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


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
