"""Measures of an agent's conduct: turns, tool calls, and support of its final answer.

They take `messages`, a transcript as `read_calls` reads it or a completion as one turn,
and give a score in [0, 1]. Missing messages are not judged: ``None``. A transcript
without turns or calls is judged, as the docstrings say.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from rewardkit.primitives.agents import (
    FailureTest,
    ToolCall,
    final_answer,
    read_calls,
    read_turns,
)
from rewardkit.primitives.extract.markers import Label, citation_patterns
from rewardkit.primitives.messages import as_list
from rewardkit.primitives.primitive import (
    STAR,
    Count,
    Primitive,
    ShareMode,
    Texts,
    note,
    share_by_mode,
    whole_number,
)
from rewardkit.primitives.texts import bare_words, runs


def _fall(count: int, full_until: float, zero_from: float) -> float:
    """Return 1.0 up to `full_until`, falling linearly to 0.0 at `zero_from`."""
    return min(1.0, max(0.0, (zero_from - count) / (zero_from - full_until)))


class _OfCalls(Primitive):
    """Base of measures of the tool calls of a transcript."""

    failed: Any = None

    def __call__(self, messages: Any) -> float | None:
        calls = read_calls(messages, failed=self.failed)
        return None if calls is None else self.score_calls(calls)

    def score_calls(self, calls: tuple[ToolCall, ...]) -> float:
        """Score the calls of a transcript."""
        raise NotImplementedError


def _count_calls(calls: tuple[ToolCall, ...], name: str | None) -> int:
    """Count and note the calls of the tool `name`, or of all tools."""
    if name is None:
        note("calls", len(calls))
        return len(calls)
    count = sum(call.name == name for call in calls)
    note(f"calls of {name}", count)
    return count


@dataclass(frozen=True, repr=False)
class turns(Primitive):
    """Score 1.0 up to `full_until` assistant messages, linearly to 0.0 at `zero_from`.

    In between it is (zero_from - turns) / (zero_from - full_until). A transcript
    without turns is within any limit: 1.0. Notes the turns. ValueError: limits that do
    not rise.

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
                "turns needs full_until < zero_from; got "
                f"full_until={self.full_until!r}, zero_from={self.zero_from!r}"
            )

    def __call__(self, messages: Any) -> float | None:
        transcript = read_turns(messages)
        if transcript is None:
            return None
        # The first turn is the opening one, without an assistant message.
        count = len(transcript) - 1
        note("turns", count)
        return _fall(count, self.full_until, self.zero_from)


@dataclass(frozen=True, repr=False, init=False)
class tool_calls(_OfCalls):
    """Score the share of the named tools that were called.

    ``mode="all"`` or ``"any"`` gives 1.0 if all or any were called. Without names, any
    call scores 1.0. Number and success of the calls do not count, but a malformed call
    is ignored. No calls score 0.0. Notes the calls of each tool. ValueError: the same
    name twice, unknown mode, a mode without names.

    >>> text = '<tool_call>{"name": "search", "arguments": {"q": "Paris"}}</tool_call>'
    >>> tool_calls("search", "read")(text), tool_calls()(text)
    (0.5, 1.0)
    >>> tool_calls("search", "read", mode="any")(text)
    1.0
    """

    names: Texts = field(metadata=STAR)
    _: KW_ONLY
    mode: ShareMode = "share"

    def __init__(
        self, *args: str, names: tuple[str, ...] = (), mode: ShareMode = "share"
    ) -> None:
        self._fill(names=args or names, mode=mode)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.names and self.mode != "share":
            raise ValueError(
                f"mode={self.mode!r} needs the names of tools, such as "
                "tool_calls('search')"
            )

    def score_calls(self, calls: tuple[ToolCall, ...]) -> float:
        counts = Counter(call.name for call in calls if not call.malformed)
        note("tool_calls", dict(counts))
        if not self.names:
            return float(bool(counts))
        share = sum(name in counts for name in self.names) / len(self.names)
        return share_by_mode(share, self.mode)


@dataclass(frozen=True, repr=False)
class calls_within(_OfCalls):
    """Score 1.0 up to `budget` calls, of all tools or of the tool `name`, 0.0 beyond.

    With `zero_from` it falls linearly instead: (zero_from - calls) / (zero_from -
    budget). Failed and malformed calls count too. No calls score 1.0. Notes the calls.
    ValueError: limits that are no counts or do not rise.

    >>> call = {"function": {"name": "search"}}
    >>> messages = [{"role": "assistant", "tool_calls": [call]}] * 3
    >>> calls_within(2)(messages), calls_within(2, zero_from=4)(messages)
    (0.0, 0.5)
    >>> calls_within(0, name="f")(messages)
    1.0
    """

    budget: Count
    _: KW_ONLY
    name: str | None = None
    zero_from: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.zero_from is not None:
            whole_number("zero_from", self.zero_from, self.budget + 1)

    def score_calls(self, calls: tuple[ToolCall, ...]) -> float:
        count = _count_calls(calls, self.name)
        if self.zero_from is None:
            return float(count <= self.budget)
        return _fall(count, self.budget, self.zero_from)


@dataclass(frozen=True, repr=False)
class call_efficiency(_OfCalls):
    """Score 1.0 for `low` to `high` calls; calls / low below, high / calls above.

    The calls are those of all tools, or of the tool `name`. Half of `low` and twice
    `high` both score 0.5. No call scores 0.0 if `low` is above 0. Failed and malformed
    calls count. Notes the calls. ValueError: limits that are no counts or fall.

    >>> call = {"function": {"name": "search"}}
    >>> messages = [{"role": "assistant", "tool_calls": [call]}] * 4
    >>> call_efficiency(1, 2)(messages), call_efficiency(5, 8)(messages)
    (0.5, 0.8)
    >>> call_efficiency(1, 2)([])
    0.0
    """

    low: Count
    high: Count
    _: KW_ONLY
    name: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("high", self.high, self.low)

    def score_calls(self, calls: tuple[ToolCall, ...]) -> float:
        count = _count_calls(calls, self.name)
        if count < self.low:
            return count / self.low
        return 1.0 if count <= self.high else self.high / count


@dataclass(frozen=True, repr=False)
class failed_calls(_OfCalls):
    """Measure the share of calls that failed: failed calls / calls.

    Give it a negative weight. A transcript without calls scores 0.0, as it has no
    failure (`tool_calls` judges missing calls). A call failed if it is malformed, or if
    its result reports an error by `says_error` or by `failed`, a function of the text
    of the result. A call without a result did not fail. Notes the failed calls.
    ValueError: `failed` is no function.

    >>> cut_off = '<tool_call>{"name": "search"}</tool_call><tool_call>{"name": sea'
    >>> failed_calls()(cut_off)
    0.5
    """

    _: KW_ONLY
    failed: FailureTest | None = None

    def score_calls(self, calls: tuple[ToolCall, ...]) -> float:
        count = sum(call.failed is True for call in calls)
        note("failed_calls", count)
        return count / len(calls) if calls else 0.0


@dataclass(frozen=True, repr=False)
class repeated_calls(_OfCalls):
    """Measure the share of calls that repeat an earlier one: same tool and arguments.

    Give it a negative weight. The order of keys does not matter, and 1 equals 1.0. A
    call whose last attempt failed may be retried `retries` times before it counts as a
    repeat, so that a loop of failures still counts. Failures are those of
    `failed_calls`. No calls score 0.0. Notes the repeats. ValueError: `retries` is no
    count, `failed` no function.

    >>> repeated_calls()('<tool_call>{"name": "search"}</tool_call>' * 4)
    0.75
    """

    _: KW_ONLY
    retries: Count = 1
    failed: FailureTest | None = None

    def score_calls(self, calls: tuple[ToolCall, ...]) -> float:
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


_COMMAS = re.compile("[,，、;；]")


def _cited_ids(answer: str, label: str, known_ids: set[str]) -> set[str]:
    """Return the ids that an answer cites; known ids may contain commas."""
    brackets, ids = citation_patterns(label)
    cited: set[str] = set()
    for inner in brackets.findall(answer):
        for part in map(str.strip, re.split("[;；]", inner)):
            if part in known_ids:  # as "Portland, Oregon"
                cited.add(part)
            else:
                cited.update(map(str.strip, ids.findall(part)))
    return cited - {""}


def _read_ids(value: Any) -> set[str] | None:
    """Read ids from a list, a set, a text with commas or a number, else ``None``."""
    if value is None:
        return None
    entries: list[Any] | None
    if isinstance(value, str):
        entries = _COMMAS.split(value)
    elif isinstance(value, set | frozenset):
        entries = list(value)
    else:
        entries = as_list(value)
    if entries is None:
        entries = [value]
    ids: set[str] = set()
    for entry in entries:
        if isinstance(entry, float) and entry.is_integer():
            # A table stores integers as floats if one of them is missing.
            ids.add(str(int(entry)))
        elif isinstance(entry, str | int) and not isinstance(entry, bool):
            ids.add(str(entry).strip())
        elif entry is not None:  # None is a gap in a list
            return None
    return ids - {""}


@dataclass(frozen=True, repr=False)
class citations(Primitive):
    """Score the agreement of ids cited as ``[Source: a, b]`` with the known ids.

    "precision" is right / cited, "recall" right / known, "f1" 2 right / (cited +
    known); citing everything maximises recall. Citations count in the final answer (of
    a completion or messages), outside ``<think>``. An answer without citations scores
    0.0 in each, so that silence earns nothing. `known_ids` is a list or a text with
    commas: map it with ``columns={"known_ids": "sources"}``. Not judged (``None``) are
    a missing completion and missing or unreadable ids. Without known ids, recall and
    answers without citations are not judged either; a citation has precision 0.0. Notes
    the counts. ValueError: unknown kind, a label with brackets or a colon.

    >>> citations()("It is [Source: a1] and [source: a1, b9].", ["a1", "a2"])
    0.5
    """

    kind: Literal["precision", "recall", "f1"] = "precision"
    _: KW_ONLY
    label: Label = "Source"

    def __call__(self, completion: Any, known_ids: Any) -> float | None:
        turns = read_turns(completion)
        ids = _read_ids(known_ids)
        answer = final_answer(turns) if turns else None
        if answer is None or ids is None:
            return None
        cited = _cited_ids(answer, self.label, ids)
        right = len(cited & ids)
        note("citations", {"cited": len(cited), "known": len(ids), "right": right})
        if not ids and (self.kind == "recall" or not cited):
            return None
        if not cited:
            return 0.0
        if self.kind == "precision":
            return right / len(cited)
        if self.kind == "recall":
            return right / len(ids)
        return 2 * right / (len(cited) + len(ids))


@dataclass(frozen=True, repr=False)
class grounding(Primitive):
    """Score the share of the final answer's word n-grams that a tool result contains.

    Each n-gram counts once. The answer is the last assistant turn without ``<think>``
    and calls; an answer of fewer words is one n-gram. Case and punctuation do not
    matter; a Chinese or Japanese character is a word. Failed and later results do not
    count. Without results or words the score is 0.0, so that skipping the search earns
    nothing; if tools are optional, gate the measure on `tool_calls`. A text alone has
    no results to compare with: ``None``. The score shows where words come from, not
    that they are true, and copying earns 1.0. Notes the counts. ValueError: `ngram`
    under 1.

    >>> results = [{"role": "tool", "content": "The tower is 330 metres high."}]
    >>> answer = {"role": "assistant", "content": "It is 330 metres high."}
    >>> grounding()([*results, answer])
    0.6666666666666666
    """

    _: KW_ONLY
    ngram: int = 3

    def __call__(self, messages: Any) -> float | None:
        turns = None if isinstance(messages, str) else read_turns(messages)
        answer = final_answer(turns) if turns else None
        if turns is None or answer is None:
            return None
        words = bare_words(answer)
        size = min(self.ngram, len(words))
        ngrams = set(runs(words, size))
        grounded: set[tuple[str, ...]] = set()
        for turn in turns[:-1]:
            for result in turn.results:
                if not result.has_failed():
                    grounded |= ngrams.intersection(runs(bare_words(result.text), size))
        note("grounding", {"ngrams": len(ngrams), "found": len(grounded)})
        return len(grounded) / len(ngrams) if ngrams else 0.0
