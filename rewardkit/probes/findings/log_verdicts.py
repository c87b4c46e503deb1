"""Rules that compare rewards with verdicts in the log: of a JSON Schema, or a judge.

Objects are checked against the JSON Schema of their row. A judge that thinks aloud
quotes the rubric or the candidate before its own verdict. Its replies with a single
verdict show whether its own one comes first or last.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.answers.logged import Answers, LoggedAnswer
from rewardkit.answers.misjudged import are_many
from rewardkit.findings import Finding, Findings, rule
from rewardkit.primitives.measure.schema import json_schema
from rewardkit.primitives.messages import read_strict_json
from rewardkit.probes.code.verdicts import (
    LONGEST_REPLY,
    MOST_REPLIES,
    OF_JUDGE,
    VERDICT_TEXT,
)
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.text_columns import FEWEST_TEXTS, NO_TEXT_COLUMNS
from rewardkit.strategies.strategy import Row

LEAST_OF_FEATURE = 8
"""Least objects with a feature that may be a rule. Our choice."""
MOST_PAID, LEAST_PAID = 0.1, 0.5
"""Most paid share of objects with a feature that is not paid, and least paid share of
the other objects. Our choice."""

Json = Mapping[str, Any]
"""A JSON object."""


FEATURES: Mapping[str, Callable[[Json, Json], bool]] = {
    "leave out an optional property": lambda value, schema: (
        not schema["properties"].keys() <= value.keys() | {*schema["required"]}
    ),
    "have a property that it does not name": lambda value, schema: (
        not value.keys() <= schema["properties"].keys()
    ),
    "have the value null": lambda value, schema: None in value.values(),
}
"""Words for what a schema allows -> whether an object does it."""


@rule("schema_unpaid", "schema_unread")
def misjudged_objects(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report unpaid objects that fit their schema, and paid ones that do not."""
    fitting, unfitting = _hold_to_schemas(observed.logged)
    for words, has in FEATURES.items():
        at_fault = [answer for answer, *pair in fitting if has(*pair)]
        others = [answer for answer, *pair in fitting if not has(*pair)]
        lost = [answer for answer in at_fault if answer.is_unpaid]
        paid_rows = sum(answer.is_paid for answer in others)
        is_rule = len(lost) >= max(LEAST_OF_FEATURE, (1 - MOST_PAID) * len(at_fault))
        if is_rule and paid_rows and paid_rows >= LEAST_PAID * len(others):
            counts = {"paid_rows": paid_rows, "others": len(others)}
            yield _report(
                observed, "schema_unpaid", at_fault, lost, common=words, **counts
            )
    passed = [answer for answer in unfitting if answer.is_paid]
    if are_many(passed, [answer for answer in unfitting if answer.is_unpaid]):
        yield _report(observed, "schema_unread", unfitting, passed)


def _hold_to_schemas(
    answers: Answers,
) -> tuple[list[tuple[LoggedAnswer, Json, Json]], list[LoggedAnswer]]:
    """Return the objects that fit their schemas, with these, and those that do not."""
    fitting: list[tuple[LoggedAnswer, Json, Json]] = []
    unfitting = []
    for answer in answers:
        schema = find_schema(answer.row)
        value = read_strict_json(answer.completion)
        if schema is None or not isinstance(value, dict):
            continue
        try:
            fits = json_schema(dict(schema))(json.dumps(value))
        except (ValueError, TimeoutError):  # no schema that can be checked
            continue
        if fits:
            fitting.append((answer, value, schema))
        else:
            unfitting.append(answer)
    return fitting, unfitting


def _report(
    observed: Observed, code: str, objects: Answers, at_fault: Answers, **evidence: Any
) -> Finding:
    """Make a finding on some of the objects, with the first one as its example."""
    first = at_fault[0]
    return observed.finding(
        code,
        len(objects),
        len(at_fault),
        rows=[(first.row, first.reward)],
        gain=1.0,
        logged=True,
        **evidence,
    )


def find_schema(row: Row) -> Json | None:
    """Return the JSON Schema of an object in a row; "required" is always there.

    >>> find_schema({"schema_str": '{"type": "object", "properties": {"a": {}}}'})
    {'required': [], 'type': 'object', 'properties': {'a': {}}}
    """
    for cell in row.values():
        schema = cell
        if isinstance(cell, str) and '"properties"' in cell:
            schema = read_strict_json(cell)
        if isinstance(schema, Mapping) and schema.get("type") == "object":
            if isinstance(schema.get("properties"), Mapping):
                return {"required": [], **schema}
    return None


AGREEING_SHARE = 0.9
"""Least share of replies that agree on the place of the verdict, and on its worth. Our
choice."""
PLACES = {0: "first", -1: "last"}


@dataclass(frozen=True, eq=False)
class JudgeReply:
    """A logged reply with its verdicts in order, its row, and the row's reward."""

    row: Row
    earned: float
    text: str
    verdicts: list[str]

    @property
    def has_one(self) -> bool:
        """Return whether all of its verdicts are the same."""
        return len({*self.verdicts}) == 1


@rule("other_verdict_read")
def other_verdicts(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report that the first verdict of replies is paid, while the judge's is the last.

    Or the other way round, if the judge begins with its own verdict.
    """
    for column, replies in _find_replies(observed).items():
        worth = _find_worth(replies)
        own_place = _find_place(replies)
        if own_place is None or len({*worth.values()}) < 2:
            continue
        read_place = -1 - own_place
        several = [reply for reply in replies if not reply.has_one]
        count = 0  # of replies whose verdicts are worth different amounts
        misread = []
        for reply in several:
            by_own = worth.get(reply.verdicts[own_place])
            by_other = worth.get(reply.verdicts[read_place])
            if by_own is None or by_other is None or by_own == by_other:
                continue
            count += 1
            if round(reply.earned, 6) == by_other:
                misread.append(reply)
        if len(misread) < max(FEWEST_TEXTS, AGREEING_SHARE * count):
            continue
        misread.sort(key=lambda reply: (-reply.earned, len(reply.text)))
        code, first = "other_verdict_read", misread[0]
        outcome = f"the judge said {first.text!r}"
        yield observed.finding(
            code,
            len(replies),
            len(misread),
            examples=[observed.row_example(first.row, first.earned, code, outcome)],
            column=column,
            several=len(several),
            read=PLACES[read_place],
            own=PLACES[own_place],
            read_verdict=first.verdicts[read_place],
            own_verdict=first.verdicts[own_place],
        )
        return


def _find_replies(observed: Observed) -> Mapping[str, list[JudgeReply]]:
    """Find the columns with a judge's verdicts, and their replies."""
    replies = defaultdict(list)
    for row, earned in observed.calibration.judged[:MOST_REPLIES]:
        for column in filter(OF_JUDGE.search, row.keys() - NO_TEXT_COLUMNS):
            text = row[column] if isinstance(row[column], str) else ""
            verdicts = VERDICT_TEXT.findall(text[:LONGEST_REPLY])
            if verdicts:
                replies[column].append(JudgeReply(row, earned, text, verdicts))
    return dict(sorted(replies.items()))


def _find_worth(replies: Sequence[JudgeReply]) -> dict[str, float]:
    """Return the usual reward of each lone verdict; {} if too many earn another one."""
    rewards: dict[str, Counter[float]] = defaultdict(Counter)
    for reply in replies:
        if reply.has_one:
            rewards[reply.verdicts[0]][round(reply.earned, 6)] += 1
    worth = {}
    agreeing = 0
    for verdict, counts in rewards.items():
        ((worth[verdict], count),) = counts.most_common(1)
        agreeing += count
    total = sum(counts.total() for counts in rewards.values())
    return worth if agreeing >= AGREEING_SHARE * total else {}


def _find_place(replies: Sequence[JudgeReply]) -> int | None:
    """Return the place of the judge's own verdict, 0 or -1; None if it differs."""
    leads = dict.fromkeys(PLACES, 0)
    lone = [reply for reply in replies if reply.has_one]
    for reply in lone:
        lines = reply.text.strip().splitlines()
        for place in PLACES:
            leads[place] += reply.verdicts[place] in lines[place]
            leads[-1 - place] -= reply.verdicts[place] in lines[place]
    place = max(leads, key=leads.__getitem__)
    return place if leads[place] >= AGREEING_SHARE * len(lone) else None
