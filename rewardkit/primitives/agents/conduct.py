"""How an agent went about its task: its turns and tool calls.

Every factory here returns a small frozen callable of `messages`, a transcript as `read_calls` reads it or a
completion as one turn, that gives a score in [0, 1]. Missing messages are not judged: ``None``. A transcript
without turns or calls is judged, as the docstrings say.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from rewardkit.primitives.agents.transcripts import Failed, ToolCall, read_calls, read_turns
from rewardkit.primitives.factories import Made, one_of, whole_number
from rewardkit.primitives.notes import note

__all__ = [
    "call_efficiency",
    "calls_within",
    "failed_calls",
    "repeated_calls",
    "tool_calls",
    "turns",
]


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{name!r} is not the name of a tool; give it as text, such as 'search'")


def _check_failed(failed: Any) -> None:
    if failed is not None and not callable(failed):
        raise ValueError(f"failed={failed!r} is no function; give one of a result's text, or leave it out")


def _count(calls: tuple[ToolCall, ...], name: str | None) -> int:
    """How many calls there are, of all tools or of one; left as a note."""
    count = sum(name is None or call.name == name for call in calls)
    note("calls" if name is None else f"calls of {name}", count)
    return count


@dataclass(frozen=True, repr=False)
class Turns(Made):
    full_until: float = field(kw_only=True)
    zero_from: float = field(kw_only=True)

    def __post_init__(self) -> None:
        if not 0 <= self.full_until < self.zero_from < math.inf:
            raise ValueError(
                f"turns needs 0 <= full_until < zero_from; got full_until={self.full_until!r}, "
                f"zero_from={self.zero_from!r}"
            )

    def __call__(self, messages: Any) -> float | None:
        read = read_turns(messages)
        if read is None:
            return None
        count = len(read) - 1  # the first is what comes before the assistant speaks
        note("turns", count)
        return min(1.0, max(0.0, (self.zero_from - count) / (self.zero_from - self.full_until)))


def turns(*, full_until: float, zero_from: float) -> Turns:
    """1.0 up to `full_until` assistant messages, then falling in a straight line to 0.0 at `zero_from`.

    The fall is (zero_from - turns) / (zero_from - full_until). No turn at all is within any limit: 1.0. Notes
    the turns. ValueError: limits that do not rise.

    >>> turns(full_until=1, zero_from=3)([{"role": "assistant", "content": "Hm."}] * 2)
    0.5
    """
    return Turns(full_until=full_until, zero_from=zero_from)


@dataclass(frozen=True, repr=False)
class ToolCalls(Made):
    names: tuple[str, ...] = field(metadata={"star": True})
    mode: Literal["share", "all", "any"] = field(kw_only=True, default="share")

    def __post_init__(self) -> None:
        one_of("mode", self.mode, ("share", "all", "any"))
        for name in self.names:
            _check_name(name)
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"tool_calls takes different names; got {self.names!r}")
        if not self.names and self.mode != "share":
            raise ValueError(f"mode={self.mode!r} needs the names of tools, such as tool_calls('search')")

    def __call__(self, messages: Any) -> float | None:
        calls = read_calls(messages)
        if calls is None:
            return None
        counts = Counter(call.name for call in calls if not call.malformed)
        note("tool_calls", dict(counts))
        if not self.names:
            return float(bool(counts))
        called = sum(name in counts for name in self.names)
        if self.mode == "share":
            return called / len(self.names)
        return float(called == len(self.names) if self.mode == "all" else called > 0)


def tool_calls(*names: str, mode: Literal["share", "all", "any"] = "share") -> ToolCalls:
    """Share of the named tools that were called, or 1.0 when all or any were; without names: any call at all.

    How often and with what success does not count, but a malformed call calls nothing. No calls: 0.0. Notes
    the calls of each tool. ValueError: the same name twice, unknown mode, a mode without names.

    >>> text = '<tool_call>{"name": "search", "arguments": {"q": "Paris"}}</tool_call>'
    >>> tool_calls("search", "read")(text), tool_calls("search", "read", mode="any")(text), tool_calls()(text)
    (0.5, 1.0, 1.0)
    """
    return ToolCalls(names, mode=mode)


@dataclass(frozen=True, repr=False)
class CallsWithin(Made):
    budget: int
    name: str | None = field(kw_only=True, default=None)
    zero_from: int | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        whole_number("budget", self.budget, 0)
        if self.name is not None:
            _check_name(self.name)
        if self.zero_from is not None:
            whole_number("zero_from", self.zero_from, self.budget + 1)

    def __call__(self, messages: Any) -> float | None:
        calls = read_calls(messages)
        if calls is None:
            return None
        zero_from = self.budget + 1 if self.zero_from is None else self.zero_from
        return min(1.0, max(0.0, (zero_from - _count(calls, self.name)) / (zero_from - self.budget)))


def calls_within(budget: int, *, name: str | None = None, zero_from: int | None = None) -> CallsWithin:
    """1.0 up to `budget` calls, of all tools or of the one called `name`, 0.0 beyond.

    With `zero_from` it falls in a straight line instead, (zero_from - calls) / (zero_from - budget). Failed
    and malformed calls use the budget up too; no calls are within it: 1.0. Notes the calls. ValueError:
    limits that are no counts or do not rise.

    >>> messages = [{"role": "assistant", "tool_calls": [{"function": {"name": "search"}}]}] * 3
    >>> calls_within(2)(messages), calls_within(2, zero_from=4)(messages), calls_within(0, name="f")(messages)
    (0.0, 0.5, 1.0)
    """
    return CallsWithin(budget, name=name, zero_from=zero_from)


@dataclass(frozen=True, repr=False)
class CallEfficiency(Made):
    low: int
    high: int
    name: str | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        whole_number("low", self.low, 0)
        whole_number("high", self.high, self.low)
        if self.name is not None:
            _check_name(self.name)

    def __call__(self, messages: Any) -> float | None:
        calls = read_calls(messages)
        if calls is None:
            return None
        count = _count(calls, self.name)
        if count < self.low:
            return count / self.low
        return 1.0 if count <= self.high else self.high / count


def call_efficiency(low: int, high: int, *, name: str | None = None) -> CallEfficiency:
    """1.0 for `low` to `high` calls, of all tools or of `name`; calls / low below, high / calls above.

    So half of `low` and twice `high` are 0.5 alike, and no call where some are expected is 0.0, judged and
    bad. Failed and malformed calls count. Notes the calls. ValueError: limits that are no counts or fall.

    >>> messages = [{"role": "assistant", "tool_calls": [{"function": {"name": "search"}}]}] * 4
    >>> call_efficiency(1, 2)(messages), call_efficiency(5, 8)(messages), call_efficiency(1, 2)([])
    (0.5, 0.8, 0.0)
    """
    return CallEfficiency(low, high, name=name)


@dataclass(frozen=True, repr=False)
class FailedCalls(Made):
    failed: Failed | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        _check_failed(self.failed)

    def __call__(self, messages: Any) -> float | None:
        calls = read_calls(messages, failed=self.failed)
        if calls is None:
            return None
        count = sum(call.failed is True for call in calls)
        note("failed_calls", count)
        return count / len(calls) if calls else 0.0


def failed_calls(*, failed: Failed | None = None) -> FailedCalls:
    """Share of the calls that failed: failed calls / calls; pay it with a negative weight.

    No call failed where none was made: 0.0, as whoever makes none did nothing wrong here (`tool_calls` judges
    that). A call is malformed, or its result tells of an error, see `says_error`, or `failed` says so of the
    result's text; a call whose result is not there did not fail. Notes the failed calls. ValueError: `failed`
    is no function.

    >>> failed_calls()('<tool_call>{"name": "search"}</tool_call><tool_call>{"name": sea')
    0.5
    """
    return FailedCalls(failed=failed)


@dataclass(frozen=True, repr=False)
class RepeatedCalls(Made):
    retries: int = field(kw_only=True, default=1)
    failed: Failed | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        whole_number("retries", self.retries, 0)
        _check_failed(self.failed)

    def __call__(self, messages: Any) -> float | None:
        calls = read_calls(messages, failed=self.failed)
        if calls is None:
            return None
        repeated = 0
        failed_before: dict[str, bool] = {}
        retried: Counter[str] = Counter()
        for call in calls:
            key = call.key
            if failed_before.get(key) and retried[key] < self.retries:
                retried[key] += 1
            else:
                repeated += key in failed_before
            failed_before[key] = call.failed is True
        note("repeated_calls", repeated)
        return repeated / len(calls) if calls else 0.0


def repeated_calls(*, retries: int = 1, failed: Failed | None = None) -> RepeatedCalls:
    """Share of the calls that repeat an earlier one, same tool and same arguments: repeats / calls.

    The order of keys and 1 or 1.0 make no difference. A call that follows when the same call has just failed
    is a retry, not a repeat, `retries` times for each call, so that a loop of failures still counts; what
    failed is as in `failed_calls`. No calls repeat nothing: 0.0. Pay it with a negative weight. Notes the
    repeats. ValueError: `retries` is no count, `failed` no function.

    >>> repeated_calls()('<tool_call>{"name": "search"}</tool_call>' * 4)
    0.75
    """
    return RepeatedCalls(retries=retries, failed=failed)
