"""Limits on the rate, time and cost of asking a model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from rewardkit.primitives.primitive import Count, Positive, Primitive, finite_number


def _prices(option: str, value: Any) -> Any:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(
            f"{option}={value!r} does not fit; give (of the question, of the answer)"
        )
    return tuple(finite_number(option, price) for price in value)


def _budget(option: str, value: Any) -> Any:
    if isinstance(value, int | float) and value == 0:
        raise ValueError(
            f"{option}={value!r} pays for no call; give a sum above 0, or None for no "
            "budget"
        )
    return finite_number(option, value, above=True)


@dataclass(frozen=True, repr=False)
class Limits(Primitive):
    """Limits on the rate, time and cost of asking a server.

    At most `concurrency` calls run at a time. `requests_per_minute` and
    `tokens_per_minute` include repeated attempts; tokens are estimated before a call,
    as a quarter of its characters plus the most tokens of the answer.

    An attempt takes at most `timeout` seconds. After a failure (429, 5xx, timeout) it
    is repeated up to `retries` times, after the wait that the server asks for, else
    with exponential backoff. During an outage only one question at a time is repeated;
    after five questions in a row without an answer (5xx, timeout, no connection) the
    server is not asked for half a minute. `call_deadline` bounds a call with all its
    attempts and waits. `run_deadline` bounds a run: running calls are stopped, and the
    scores so far are kept.

    `prices` are for a million tokens of the question and of the answer; with them costs
    are recorded. Once `budget` is reached, no new call starts; running calls finish and
    may exceed it. ValueError: invalid numbers, a budget without prices.

    >>> Limits(concurrency=4, prices=(0.15, 0.6), budget=2.0)
    rk.judges.Limits(concurrency=4, prices=(0.15, 0.6), budget=2.0)
    """

    _: KW_ONLY
    # our choice, about what a hosted endpoint takes from one client
    concurrency: int = 16
    requests_per_minute: Positive | None = None
    tokens_per_minute: Positive | None = None
    timeout: Positive = 60.0  # our choice: a sentence and a level take seconds
    # our choice: 0.5 to 8 s between them, 20 s in all
    retries: Count = 6
    call_deadline: Positive = 300.0
    run_deadline: Positive | None = None
    prices: Annotated[tuple[float, float], _prices] | None = None
    budget: Annotated[float, _budget] | None = None

    @property
    def factory(self) -> str:
        """Name of the call that makes it."""
        return "rk.judges.Limits"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget is not None and self.prices is None:
            raise ValueError(
                "budget= needs prices=, of a million tokens of (question, answer)"
            )

    def cost(self, tokens: tuple[int, int]) -> float | None:
        """Return the cost of tokens of (question, answer), None without prices."""
        if self.prices is None:
            return None
        question, answer = self.prices
        return (tokens[0] * question + tokens[1] * answer) / 1e6
