"""Which failed requests are repeated, after how long, and when a server is given up.

The retries of the openai client are off: they know nothing of a run's deadline, and
each question would repeat on its own what no server answers.
"""

from __future__ import annotations

import random
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime

FAILING_ATTEMPTS = 3
"""Attempts in a row without an answer from which on a server counts as failing.

Our choice: a server that fails now and then is repeated by all calls under way.
"""
FAILED_QUESTIONS = 5
"""Questions in a row without an answer after which the others are not asked.

Our choice: where every fifth question breaks a sound server, five in a row come once
in about 4,000.
"""
FIRST_WAIT = 0.5  # seconds, doubled each time, as in the openai client
LONGEST_WAIT = 8.0
LONGEST_REQUESTED_WAIT = 60.0  # of a server; as in the openai client


def is_outage(error: BaseException) -> bool:
    """Return whether a server gave no answer, or failed itself (5xx)."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return error.status_code >= 500
    return isinstance(error, openai.APIConnectionError)


def may_repeat(error: BaseException) -> bool:
    """Return whether the same request may be answered at another time."""
    import openai

    if isinstance(error, openai.APIStatusError):
        advice = error.response.headers.get("x-should-retry")
        if advice in ("true", "false"):
            return advice == "true"
        return error.status_code in (408, 409, 429) or is_outage(error)
    return is_outage(error)


def seconds_before_repeat(error: BaseException, repeats: int) -> float:
    """Return how long to wait: what the server says, else longer each time.

    `repeats` counts those that failed. A part is random, so that processes that failed
    together do not come back together.
    """
    headers = getattr(getattr(error, "response", None), "headers", {})
    seconds = _requested_seconds(
        headers.get("retry-after-ms"), headers.get("retry-after")
    )
    if 0 < seconds <= LONGEST_REQUESTED_WAIT:
        return seconds
    seconds = min(LONGEST_WAIT, FIRST_WAIT * 2.0**repeats)
    return seconds * random.uniform(0.75, 1.0)


def _requested_seconds(milliseconds: str | None, after: str | None) -> float:
    """Return the seconds that a server's headers ask for, 0 where they do not."""
    with suppress(TypeError, ValueError):
        return float(milliseconds or "") / 1000
    with suppress(TypeError, ValueError):
        return float(after or "")
    with suppress(TypeError, ValueError):
        return parsedate_to_datetime(after or "").timestamp() - time.time()
    return 0.0
