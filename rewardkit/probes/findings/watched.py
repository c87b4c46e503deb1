"""Rules that watch the code of a reward while it scores rows of the log.

A reward may find a verdict inside of a word: "INCORRECT" has a C in it. The function
that reads the judge's reply is called by itself, and its arguments are recorded.
"""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any

from rewardkit.findings import SEVERITIES, Finding, Findings, rule, severity_of
from rewardkit.probes.code.verdicts import OF_JUDGE
from rewardkit.probes.findings.evidence import Observed, alarms_among
from rewardkit.probes.runner import SHARE_OF_RULE, score_rows
from rewardkit.probes.subjects.log import in_turn
from rewardkit.rewards.component import is_async
from rewardkit.rewards.users_code import (
    codes_in,
    helpers,
    named_values,
    names_in,
    user_code,
)
from rewardkit.strategies.strategy import Row, prompt_of

FINDING_CODE = "verdict_in_words"
PROGRAMS = "programs"  # which may end the process that they run in
MOST_WATCHED = 200  # rows of the log that are scored once more

WORDS_WITH_VERDICT = {
    "A": "NOT_ATTEMPTED",
    "B": "POSSIBLY BETTER",
    "C": "INCORRECT",
    "CORRECT": "INCORRECT",
    "Correct": "InCorrect",
    "correct": "incorrect",
    "valid": "invalid",
    "VALID": "INVALID",
}
"""Verdict -> a word with another meaning that contains it."""

HARMLESS_MODULES = ("re", "json", "string", "math", "unicodedata")
HARMFUL_NAMES = ("open", "exec", "eval", "input", "__import__")


@dataclass(frozen=True)
class VerdictReader:
    """A function that also finds these verdicts inside of words."""

    function: FunctionType
    verdicts: tuple[str, ...]

    def misreads(self, text: Any) -> bool:
        """Return whether it reads a verdict that stands only inside of words."""
        inside = [rf"\w+{item}\w*|{item}\w+" for item in self.verdicts]
        alone = re.sub("|".join(inside), "", str(text))
        return bool(_read(self.function, text) != _read(self.function, alone))


def _read(function: FunctionType, text: Any) -> Any:
    """Return a function's value for a text; None if it raises."""
    try:
        return function(text)
    except Exception:  # it is the user's
        return None


def find_reader(functions: Sequence[Any]) -> VerdictReader | None:
    """Find a helper that reads a judge's reply and finds verdicts inside of words.

    >>> def read_grade(reply): return "A" in reply
    >>> def reward(completion): return float(read_grade("A"))
    >>> read_grade.__globals__.update(read_grade=read_grade)
    >>> find_reader([reward]).verdicts
    ('A',)
    """
    for helper in filter(_reads_verdicts, _helpers_of(functions)):
        verdicts = [word for word in WORDS_WITH_VERDICT if _finds_inside(helper, word)]
        letters = [verdict for verdict in verdicts if len(verdict) == 1]
        if verdicts:  # a letter is found in other verdicts as well
            return VerdictReader(helper, tuple(letters or verdicts))
    return None


def _helpers_of(functions: Sequence[Any]) -> Iterator[FunctionType]:
    """Yield the users' functions that functions call."""
    for function in functions:
        for part in user_code(getattr(function, "function", function)):
            if isinstance(part, FunctionType):
                yield from helpers(part)[1:]


def _reads_verdicts(function: FunctionType) -> bool:
    """Return whether a function may read a judge's reply, and can be called safely."""
    parameters = list(inspect.signature(function).parameters.values())
    required = [item.name for item in parameters if item.default is item.empty]
    names = [function.__name__, *required]
    if len(required) != 1 or is_async(function):
        return False
    return any(map(OF_JUDGE.search, names)) and _is_harmless(function)


def _is_harmless(function: FunctionType) -> bool:
    """Return whether a function does nothing but read its text."""
    for part in helpers(function):
        if not set(HARMFUL_NAMES).isdisjoint(names_in(part)):
            return False
        for code in codes_in(part.__code__):
            for step in dis.get_instructions(code):
                if step.opname == "IMPORT_NAME" and step.argval not in HARMLESS_MODULES:
                    return False
        for value in named_values(part).values():
            if isinstance(value, ModuleType) and value.__name__ not in HARMLESS_MODULES:
                return False
            if callable(value) and value not in helpers(function):
                return False
    return True


def _finds_inside(function: FunctionType, verdict: str) -> bool:
    """Return whether a function finds a verdict in a word with another meaning."""
    longer = WORDS_WITH_VERDICT[verdict]
    if len(verdict) == 1:  # such a word may stand in a table of its own
        longer = f"QQ{verdict}QQ"
    value = _read(function, verdict)
    return bool(value != _read(function, "") and _read(function, longer) == value)


def _hear(observed: Observed, reader: VerdictReader, row: Row) -> list[Any]:
    """Score a row in this process, and list the arguments of the reader."""
    answers = []

    def listen(*texts: Any, **options: Any) -> Any:
        answers.extend([*texts, *options.values()][:1])
        return reader.function(*texts, **options)

    scope, name = reader.function.__globals__, reader.function.__name__
    scope[name] = listen
    try:
        score_rows(observed.reward, [row], None)
    finally:
        scope[name] = reader.function
    return answers


def _find_caused(
    observed: Observed, reader: VerdictReader, findings: Findings
) -> list[Finding]:
    """Find the alarms that are caused by a verdict inside of a word."""
    caused = []
    row, _ = observed.pool[0]
    for finding in alarms_among(findings):
        if finding.examples and finding.family != PROGRAMS:
            columns = {**row, **finding.examples[0].columns}
            answers = _hear(observed, reader, columns)
            if any(map(reader.misreads, answers)):
                caused.append(finding)
    return caused


@rule(FINDING_CODE)
def verdict_in_words(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report a judge whose verdict is found inside of words, and what that pays."""
    reader = find_reader(observed.reward.functions)
    tries = observed.tries
    if reader is None or tries.by_group:
        return
    judged = observed.calibration.judged
    by_prompt = in_turn(judged, lambda pair: prompt_of(pair[0]))
    fitting = SHARE_OF_RULE * tries.seconds_left / max(tries.seconds_a_call, 1e-4)
    n = 0
    misread = []
    for row, reward in by_prompt[: min(MOST_WATCHED, max(0, int(fitting)))]:
        answers = _hear(observed, reader, row)
        n += len(answers)
        for answer in filter(reader.misreads, answers):
            outcome = f"the judge said {answer!r}"
            misread.append(observed.row_example(row, reward, FINDING_CODE, outcome))
    if not n:
        return
    caused = _find_caused(observed, reader, findings)
    severities = [severity_of(len(misread) / n), *(item.severity for item in caused)]
    first_of_each = chain.from_iterable(item.examples[:1] for item in caused)
    verdict = reader.verdicts[-1]
    yield observed.finding(
        FINDING_CODE,
        n,
        len(misread),
        severity=min(severities, key=SEVERITIES.index),
        examples=[*first_of_each, *misread],
        reader=reader.function.__name__,
        verdict=verdict,
        word=WORDS_WITH_VERDICT[verdict],
        also=[item.code for item in caused],
    )
