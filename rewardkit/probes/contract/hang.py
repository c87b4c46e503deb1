"""Completions on which a call may never come back: every call has to return.

Among them are texts on which a regular expression of the reward takes too long. They
repeat what the expression repeats; whether it is slow on them is measured.
"""

from __future__ import annotations

import math
import re
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, product
from operator import call, methodcaller
from typing import Any

from rewardkit.answers.formats import find_likely_mark
from rewardkit.findings import Finding, rule
from rewardkit.probes.contract.constants import Pattern, patterns_in
from rewardkit.probes.findings import Failure, report_failures
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import NO_BUDGET, RowOutcome, Tries
from rewardkit.probes.trials import ProbeTrial
from rewardkit.reasons import ReasonCode
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.strategies.added_text import LONG_COMPLETION, PATTERNS
from rewardkit.strategies.strategy import Attempt, Row, Strategy, Subject
from rewardkit.workers.pool import DeadlinePassed, Lost, Workers

OFTEN_WRITTEN = 10_000
"""Characters that a policy writes often. Slow on more is for information. Our choice:
3,000 tokens."""

PATIENCE_FACTOR = 4.0
"""Times the limit that a late call gets, to be told from one that never ends."""


def try_to_hang(observed: Observed, probes: Sequence[Strategy]) -> list[ProbeTrial]:
    """Try completions that may hang a call, the shortest first, until one does."""
    tries, subject = observed.tries, observed.calibration.stand_in
    if subject is None:
        return []
    if not subject.format.opening:
        likely = find_likely_mark(subject.reference).format
        subject = replace(subject, format=likely)
    plans: list[tuple[Strategy, Attempt]] = []
    for probe in probes:
        if probe.expects != "back":
            continue
        attempts: Iterable[Attempt] = probe.attempts(subject)
        if probe is PATTERNS:
            attempts = _attempt_patterns(tries.reward.functions, subject)
        plans += [(probe, attempt) for attempt in attempts]
    plans.sort(key=lambda plan: len(plan[1].completions[0]))
    rows = [
        tries.varied(subject.columns, attempt.completions[0]) for _, attempt in plans
    ]
    siblings = [subject.siblings] * len(rows)
    outcomes = tries.outcomes(rows, siblings, until=lambda outcome: outcome.is_gone)
    return [
        ProbeTrial(probe, subject, attempt, (outcome,))
        for (probe, attempt), outcome in zip(plans, outcomes, strict=True)
    ]


def _attempt_patterns(functions: Iterable[Any], subject: Subject) -> Iterator[Attempt]:
    """Yield texts on which patterns in functions are slow, as they are and marked."""
    for text in slow_texts(patterns_in(functions)):
        yield Attempt.of(text)
        yield Attempt.of(subject.write(text))


@rule("hang", "slow", "dies")
def hangs(observed: Observed, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Report the first completion on which a call does not come back.

    One is enough. A call that comes back after all, in what is left of the budget, is
    slow: a warning where a policy may write such a completion.
    """
    finished = [trial for trial in observed.trials if trial.is_tried]
    for trial in finished:
        outcome = trial.outcomes[0]
        if outcome is not None and outcome.is_gone:
            yield _report_hang(trial, outcome, len(finished), observed)
            return


def _report_hang(
    trial: ProbeTrial, outcome: RowOutcome, n: int, observed: Observed
) -> Finding:
    """Report a call that did not come back, or took long; the last of `n`."""
    component, reason = next(iter(outcome.failures.items()))
    text = trial.attempt.completions[0]
    row = observed.tries.varied(trial.subject.columns, text)
    failure = Failure(trial.probe.name, row, outcome, reason)
    code, severity, longest = failure.code, "high", LONG_COMPLETION
    length, what = len(text), trial.probe.says
    evidence: dict[str, Any] = {
        "length": length,
        "beyond_policy": length > LONG_COMPLETION,
    }
    if reason.code is ReasonCode.LATE:
        seconds = max(1.0, observed.tries.seconds_left)
        limit = min(PATIENCE_FACTOR * reason.seconds, seconds)
        took = _time_call(observed, row, trial.subject, limit)
        if took < math.inf:
            code, severity, longest = "slow", "warn", OFTEN_WRITTEN
            evidence["took"] = took
    if length > longest:
        what, severity = f"{what}, of {length:,} characters", "info"
    return report_failures(
        code,
        n,
        [failure],
        observed,
        severity=severity,
        component=component,
        what=what,
        **evidence,
    )


def _time_call(
    observed: Observed, row: Row, subject: Subject, most_seconds: float
) -> float:
    """Time a call in a warm process; infinite if it takes too long."""
    with TimeLimit(most_seconds, processes=1) as limit:
        tries, siblings = Tries(observed.reward, limit, NO_BUDGET), [subject.siblings]
        tries.outcomes([subject.columns], siblings)
        began = time.monotonic()
        (outcome,) = tries.outcomes([row], siblings)
        if outcome is None or outcome.is_gone:
            return math.inf
        return time.monotonic() - began


# --- texts on which a pattern is slow

TIMED_LENGTHS = (40, 1_000)
"""Characters of the timed texts. 40 are enough for most exponential patterns, 1,000
for the others and for cubic ones; quadratic ones are fast on both. Our choice."""

LONGEST_TEXT = 5_000
"""Characters of the longest text: a reward may take longer on it still. Our choice."""

SLOW_SECONDS = 0.15
"""Processor time that makes a search slow. Our choice: most take a thousandth of it."""

MANY_REPEATS = 8
"""Largest count of a repeated part that is tried. Our choice."""

LONGEST_PART = 60
"""Characters of a repeated part. Our choice."""

MOST_PARTS = 400
"""Parts of one pattern that are tried. Our choice."""

MOST_GROUPS = 60
"""Brackets in a pattern; one with more is not read. Our choice."""

MOST_SLOW_PARTS = 2
"""Slow parts of one pattern that are given. Our choice."""

USUAL_CHARACTERS = "a0A !\n\t_,<{é\r"
"""Characters that are tried besides those that stand in the pattern."""

ENDINGS = ("", "!", "\n!", "\0")
"""Endings that may make the rest of a pattern fail."""

READ_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII

TOKEN = re.compile(
    r"""(?P<times>(?:[*+?]|\{(?:\d+(?:,\d*)?|,\d*)\})[+?]?)
    |(?P<look>\(\?<?[=!])
    |(?P<group>\((?:\?(?:P?<\w+>|P=\w+|>|\(\w+\)|\#[^)]*|[a-zA-Z-]*(?::|(?=\)))))?)
    |(?P<anchor>[$^]|\\[AbBzZ]|\\[1-9]\d?)
    |(?P<item>\[\^?\]?(?:\\.|[^\]\\])*\]|\\x..|\\u.{4}|\\U.{8}|\\0\d*|\\?.)""",
    re.DOTALL | re.VERBOSE,
)
COMMENTS = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\s|#.*", re.DOTALL)
"""White space and comments of a verbose pattern, and what may not be taken for them."""

CONTROL_CHARACTERS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True)
class Node:
    """One part of a pattern with its counts: a single character or a group.

    `source` is the text of a part that takes one character, such as `[a-z]`; a group
    has `branches` instead. A look-around takes no text.
    """

    source: str
    branches: tuple[tuple[Node, ...], ...] = ()
    least: int = 1
    most: int = 1
    is_look: bool = False


Nodes = Sequence[Node]


def slow_texts(patterns: Iterable[Pattern]) -> Iterator[str]:
    """Yield texts on which a pattern takes too long.

    Each is timed in a process that is ended when its time is over. The shortest length
    at which a repeated part is slow is given first.

    Args:
        patterns: Compiled patterns of `re` or `regex`; one that `re` cannot read has no
            such texts.

    Yields:
        Texts of about 40 to 5,000 characters.
    """
    with Workers(seconds=10 * SLOW_SECONDS, cpu_seconds=SLOW_SECONDS) as workers:
        for pattern in patterns:
            pumps = _find_pumps(pattern)
            for place, length in enumerate(TIMED_LENGTHS):
                slow = _time_pumps(workers, pattern, pumps, length)
                if slow:
                    lengths = (*TIMED_LENGTHS[place:], LONGEST_TEXT)
                    for longer, pump, end in product(lengths, sorted(slow), ENDINGS):
                        yield _pumped(pump, longer, end)
                    break


Pump = tuple[str, str]
"""What stands before a repeated part, and the part."""


def _time_pumps(
    workers: Workers, pattern: Pattern, pumps: Sequence[Pump], length: int
) -> set[Pump]:
    """Find the first pumps that are slow at a length, with any ending."""
    methods = ("search", "fullmatch")
    calls = [
        (methodcaller(method, _pumped(pump, length, end)), pattern)
        for end, method, pump in product(ENDINGS, methods, pumps)
    ]
    answers = workers.map(call, calls)  # a function whose import takes no time
    late = filter(_is_late, answers)
    return {pumps[place % len(pumps)] for place, _ in islice(late, MOST_SLOW_PARTS)}


def _is_late(answer: tuple[int, Any]) -> bool:
    return isinstance(answer[1], Lost) and isinstance(answer[1].error, DeadlinePassed)


def _pumped(pump: Pump, length: int, end: str) -> str:
    """Write the prefix, then the part until it has this length, then the ending."""
    prefix, part = pump
    return prefix + part * -(-length // len(part)) + end


def _find_pumps(pattern: Pattern) -> list[Pump]:
    """Find what to repeat in texts for a pattern."""
    nodes = _parse_pattern(pattern.pattern, pattern.flags & READ_FLAGS)
    alphabet = tuple(dict.fromkeys([*USUAL_CHARACTERS, *_literals(nodes)]))
    pumps = (pump for pump in _repeated_parts(nodes, "", alphabet) if pump[1])
    return list(islice(dict.fromkeys(pumps), MOST_PARTS))


# --- reading a pattern


def _parse_pattern(pattern: str, flags: int = 0) -> Nodes:
    """Read a pattern into nodes; one that `re` refuses has none."""
    if pattern.count("(") > MOST_GROUPS:
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern, flags)
    except (re.error, RecursionError, OverflowError, ValueError):
        return ()
    if compiled.flags & re.VERBOSE:
        pattern = COMMENTS.sub(r"\1", pattern)
    branches = _read_branches(TOKEN.finditer(pattern))
    return branches[0] if len(branches) == 1 else (Node("", branches),)


def _read_branches(tokens: Iterator[re.Match[str]]) -> tuple[tuple[Node, ...], ...]:
    """Read alternatives up to the bracket that closes them."""
    branches: list[list[Node]] = [[]]
    for token in tokens:
        nodes, text = branches[-1], token[0]
        match token.lastgroup:
            case "times" if nodes:
                least, most = _read_counts(text)
                nodes[-1] = replace(nodes[-1], least=least, most=most)
            case "group" | "look" as kind:
                inner = _read_branches(tokens)
                nodes.append(Node("", inner, is_look=kind == "look"))
            case "item" if text == "|":
                branches.append([])
            case "item" if text == ")":
                break
            case "item":
                nodes.append(Node(text))
    return tuple(tuple(branch) for branch in branches)


def _read_counts(text: str) -> tuple[int, int]:
    """Read a quantifier such as `*`, `+?` or `{2,5}`."""
    if text[0] in "*+?":
        return int(text[0] == "+"), 1 if text[0] == "?" else sys.maxsize
    low, comma, high = text.rstrip("+?")[1:-1].partition(",")
    least = int(low or 0)
    if high:
        return least, int(high)
    return least, sys.maxsize if comma else least


def _nested(nodes: Nodes) -> Iterator[Nodes]:
    """Yield a sequence of nodes and all sequences in it."""
    yield nodes
    for node in nodes:
        for branch in node.branches:
            yield from _nested(branch)


def _literals(nodes: Nodes) -> Iterator[str]:
    """Yield the characters that a pattern names, ends of ranges among them."""
    for node in chain.from_iterable(_nested(nodes)):
        yield from _characters_in(node.source)


def _characters_in(source: str) -> Iterator[str]:
    """Yield the characters that a one-character part names."""
    if len(source) > 1 and source[0] == "[":
        for token in TOKEN.finditer(source[1:-1].removeprefix("^")):
            yield from _characters_in(token[0])
    elif len(source) > 1 and source[1] in "xuU":
        yield chr(int(source[2:], 16))
    elif len(source) > 1 and source[1] == "0":
        yield chr(int(source[1:], 8))
    elif len(source) > 1 and source[1].isalnum():
        yield from CONTROL_CHARACTERS.get(source[1], "")
    elif source != ".":
        yield source[-1:]


# --- writing texts


def _repeated_parts(
    nodes: Nodes, prefix: str, alphabet: Sequence[str]
) -> Iterator[Pump]:
    """Yield what a pattern repeats, with a text that leads there."""
    for node in nodes:
        if node.most >= MANY_REPEATS:
            for part in _sample_parts((replace(node, least=1, most=1),), alphabet):
                yield prefix, part
        for branch in node.branches:
            yield from _repeated_parts(branch, prefix, alphabet)
        prefix += _sample((node,))


def _sample_parts(body: Nodes, alphabet: Sequence[str]) -> list[str]:
    """Write single characters, and texts that a body, or a part of it, matches."""
    samples = [
        _sample(nodes, character, full=full)
        for nodes, full, character in product(_nested(body), (False, True), alphabet)
    ]
    parts = dict.fromkeys([*alphabet, *samples])
    return [part for part in parts if len(part) <= LONGEST_PART]


def _sample(nodes: Nodes, prefer: str = "", *, full: bool = False) -> str:
    """Write a short text that nodes match, of the character `prefer` where possible.

    With `full`, each optional part is there once.
    """
    text = ""
    for node in nodes:
        if node.is_look:
            continue
        once = _sample_once(node, prefer, full)
        times = max(node.least, int(full and node.most > 0))
        text += (once * min(times, LONGEST_PART))[: LONGEST_PART + 1]
    return text


def _sample_once(node: Node, prefer: str, full: bool) -> str:
    """Write a short text that a node matches once, whatever its counts."""
    if node.branches:
        texts = [_sample(branch, prefer, full=full) for branch in node.branches]
        return min(texts, key=lambda text: (prefer not in text, len(text)))
    named = tuple(_characters_in(node.source))
    if len(named) == 1 and node.source[0] != "[":
        return named[0]
    candidates: list[str] = [prefer, *named, *USUAL_CHARACTERS]
    for character in candidates:
        if character and re.fullmatch(node.source, character):
            return character
    return ""


def samples(pattern: str) -> list[str]:
    """Write texts that a pattern matches: shortest, fullest, and each alternative.

    >>> samples(r"step (one|two)s?")
    ['step one', 'step ones', 'one', 'two']
    """
    nodes = _parse_pattern(pattern)
    texts = [_sample(nodes), _sample(nodes, full=True)]
    for node in chain.from_iterable(_nested(nodes)):
        choices = [_sample(branch) for branch in node.branches]
        if len(choices) > 1 and any(len(text) > 1 for text in choices):
            texts += choices
    return list(dict.fromkeys(filter(None, texts)))
