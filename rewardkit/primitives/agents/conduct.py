"""How an agent went about its task: its turns and tool calls.

Every name here makes a small frozen callable of `messages`, a transcript as
`read_calls` reads it or a completion as one turn, that gives a score in [0, 1]. Missing
messages are not judged: ``None``. A transcript without turns or calls is judged, as the
docstrings say.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from rewardkit.primitives.agents.transcripts import (
    Failed,
    ToolCall,
    read_calls,
    read_turns,
)
from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import STAR, Count, Primitive, Texts, whole_number

Mode = Literal["share", "all", "any"]


def _falling(count: int, full_until: float, zero_from: float) -> float:
    """1.0 up to one number, and in a straight line to 0.0 at the other."""
    return min(1.0, max(0.0, (zero_from - count) / (zero_from - full_until)))


class _OfCalls(Primitive):
    """Base of what judges the tool calls of a transcript."""

    failed: Any = None

    def __call__(self, messages: Any) -> float | None:
        calls = read_calls(messages, failed=self.failed)
        return None if calls is None else self.judged(calls)

    def judged(self, calls: tuple[ToolCall, ...]) -> float:
        """The score of these calls."""
        raise NotImplementedError


def _count(calls: tuple[ToolCall, ...], name: str | None) -> int:
    """How many calls there are, of all tools or of one; left as a note."""
    count = sum(name is None or call.name == name for call in calls)
    note("calls" if name is None else f"calls of {name}", count)
    return count


@dataclass(frozen=True, repr=False)
class turns(Primitive):
    """1.0 up to `full_until` assistant messages, then falling in a straight line to 0.0 at `zero_from`.

    The fall is (zero_from - turns) / (zero_from - full_until). No turn at all is within
    any limit: 1.0. Notes the turns. ValueError: limits that do not rise.

    >>> turns(full_until=1, zero_from=3)([{"role": "assistant", "content": "Hm."}] * 2)
    0.5
    """

    _: KW_ONLY
    full_until: float
    zero_from: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.full_until < self.zero_from:
            raise ValueError(
                f"turns needs full_until < zero_from; got full_until={self.full_until!r}, "
                f"zero_from={self.zero_from!r}"
            )

    def __call__(self, messages: Any) -> float | None:
        read = read_turns(messages)
        if read is None:
            return None
        count = len(read) - 1  # the first is what comes before the assistant speaks
        note("turns", count)
        return _falling(count, self.full_until, self.zero_from)


@dataclass(frozen=True, repr=False, init=False)
class tool_calls(_OfCalls):
    """Share of the named tools that were called, or 1.0 when all or any were; without names: any call at all.

    How often and with what success does not count, but a malformed call calls nothing.
    No calls: 0.0. Notes the calls of each tool. ValueError: the same name twice,
    unknown mode, a mode without names.

    >>> text = '<tool_call>{"name": "search", "arguments": {"q": "Paris"}}</tool_call>'
    >>> tool_calls("search", "read")(text), tool_calls("search", "read", mode="any")(text), tool_calls()(text)
    (0.5, 1.0, 1.0)
    """

    names: Texts = field(metadata=STAR)
    _: KW_ONLY
    mode: Mode = "share"

    def __init__(
        self, *args: str, names: tuple[str, ...] = (), mode: Mode = "share"
    ) -> None:
        self._fill(names=args or names, mode=mode)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.names and self.mode != "share":
            raise ValueError(
                f"mode={self.mode!r} needs the names of tools, such as tool_calls('search')"
            )

    def judged(self, calls: tuple[ToolCall, ...]) -> float:
        counts = Counter(call.name for call in calls if not call.malformed)
        note("tool_calls", dict(counts))
        if not self.names:
            return float(bool(counts))
        called = sum(name in counts for name in self.names)
        if self.mode == "share":
            return called / len(self.names)
        return float(called == len(self.names) if self.mode == "all" else called > 0)


@dataclass(frozen=True, repr=False)
class calls_within(_OfCalls):
    """1.0 up to `budget` calls, of all tools or of the one called `name`, 0.0 beyond.

    With `zero_from` it falls in a straight line instead, (zero_from - calls) /
    (zero_from - budget). Failed and malformed calls use the budget up too; no calls are
    within it: 1.0. Notes the calls. ValueError: limits that are no counts or do not
    rise.

    >>> messages = [{"role": "assistant", "tool_calls": [{"function": {"name": "search"}}]}] * 3
    >>> calls_within(2)(messages), calls_within(2, zero_from=4)(messages), calls_within(0, name="f")(messages)
    (0.0, 0.5, 1.0)
    """

    budget: Count
    _: KW_ONLY
    name: str | None = None
    zero_from: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.zero_from is not None:
            whole_number("zero_from", self.zero_from, self.budget + 1)

    def judged(self, calls: tuple[ToolCall, ...]) -> float:
        zero_from = self.budget + 1 if self.zero_from is None else self.zero_from
        return _falling(_count(calls, self.name), self.budget, zero_from)


@dataclass(frozen=True, repr=False)
class call_efficiency(_OfCalls):
    """1.0 for `low` to `high` calls, of all tools or of `name`; calls / low below, high / calls above.

    So half of `low` and twice `high` are 0.5 alike, and no call where some are expected
    is 0.0, judged and bad. Failed and malformed calls count. Notes the calls.
    ValueError: limits that are no counts or fall.

    >>> messages = [{"role": "assistant", "tool_calls": [{"function": {"name": "search"}}]}] * 4
    >>> call_efficiency(1, 2)(messages), call_efficiency(5, 8)(messages), call_efficiency(1, 2)([])
    (0.5, 0.8, 0.0)
    """

    low: Count
    high: Count
    _: KW_ONLY
    name: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("high", self.high, self.low)

    def judged(self, calls: tuple[ToolCall, ...]) -> float:
        count = _count(calls, self.name)
        if count < self.low:
            return count / self.low
        return 1.0 if count <= self.high else self.high / count


@dataclass(frozen=True, repr=False)
class failed_calls(_OfCalls):
    """Share of the calls that failed: failed calls / calls; pay it with a negative weight.

    No call failed where none was made: 0.0, as whoever makes none did nothing wrong
    here (`tool_calls` judges that). A call is malformed, or its result tells of an
    error, see `says_error`, or `failed` says so of the result's text; a call whose
    result is not there did not fail. Notes the failed calls. ValueError: `failed` is no
    function.

    >>> failed_calls()('<tool_call>{"name": "search"}</tool_call><tool_call>{"name": sea')
    0.5
    """

    _: KW_ONLY
    failed: Failed | None = None

    def judged(self, calls: tuple[ToolCall, ...]) -> float:
        count = sum(call.failed is True for call in calls)
        note("failed_calls", count)
        return count / len(calls) if calls else 0.0


@dataclass(frozen=True, repr=False)
class repeated_calls(_OfCalls):
    """Share of the calls that repeat an earlier one, same tool and same arguments: repeats / calls.

    The order of keys and 1 or 1.0 make no difference. A call that follows when the same
    call has just failed is a retry, not a repeat, `retries` times for each call, so
    that a loop of failures still counts; what failed is as in `failed_calls`. No calls
    repeat nothing: 0.0. Pay it with a negative weight. Notes the repeats. ValueError:
    `retries` is no count, `failed` no function.

    >>> repeated_calls()('<tool_call>{"name": "search"}</tool_call>' * 4)
    0.75
    """

    _: KW_ONLY
    retries: Count = 1
    failed: Failed | None = None

    def judged(self, calls: tuple[ToolCall, ...]) -> float:
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
