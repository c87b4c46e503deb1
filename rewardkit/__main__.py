"""The command `rewardkit`; a signal ends it with one line, even while it imports."""

import signal
import sys
from typing import Any

INTERRUPTED_STATUS = 128 + signal.SIGINT

_signals: list[int] = []
"""Numbers of the signals that ended the command, except Ctrl-C's."""


def _interrupt(number: int, _: Any) -> None:
    _signals.append(number)
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; SIGTERM and SIGHUP end it as Ctrl-C does, saving its work."""
    status = INTERRUPTED_STATUS
    try:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, signal.SIGTERM)  # no SIGHUP on Windows
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, _interrupt)
        sys.path.append("")  # the working directory, as of python -m
        from rewardkit.cli import main as command

        command()
    except KeyboardInterrupt:
        print("rewardkit: interrupted", file=sys.stderr)
    except SystemExit as end:
        if end.code != INTERRUPTED_STATUS:
            raise
    if _signals:
        status = 128 + _signals[0]
    sys.exit(status)


if __name__ == "__main__":
    main()
