"""Rules of verdicts that a log has beside what was paid: of a schema, or a judge.

Objects are held to the JSON Schema of their row. A judge that thinks aloud quotes the
rubric, or the candidate, before its own verdict; where its replies with one verdict
have it is where its own stands.
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
"""Objects with a feature from which it may be a rule. Our choice."""
MOST_PAID, LEAST_PAID = 0.1, 0.5
"""Share of them up to which they are not paid, and of the others from which these are.
Our choice."""

Json = Mapping[str, Any]
"""A JSON object."""


def _lacks_optional(value: Json, schema: Json) -> bool:
    return not schema["properties"].keys() <= value.keys() | {*schema["required"]}


def _has_further(value: Json, schema: Json) -> bool:
    return not value.keys() <= schema["properties"].keys()


def _has_null(value: Json, schema: Json) -> bool:
    return None in value.values()


FEATURES: Mapping[str, Callable[[Json, Json], bool]] = {
    "leave out an optional property": _lacks_optional,
    "have a property that it does not name": _has_further,
    "have the value null": _has_null,
}
"""What an object may do by its schema, in words."""


@rule("schema_unpaid", "schema_unread")
def misjudged_objects(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report objects that fit their schema and are not paid, and others that are."""
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
    """Return the finding of some of the objects, the first one as its example."""
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
    """Return the JSON Schema of an object that stands in a row, with what it requires.

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
"""Share of replies that must agree where a verdict stands, and what it is worth. Our
choice."""
PLACES = {0: "first", -1: "last"}


@dataclass(frozen=True, eq=False)
class JudgeReply:
    """A logged reply with verdicts, in their order, its row, and what that earned."""

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
    """Report that what is paid goes by the first verdict of replies, not the last.

    Or by the last, where the judge begins with its own.
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
    """Find the columns in which a judge's verdicts stand."""
    replies: dict[str, list[JudgeReply]] = defaultdict(list)
    for row, earned in observed.calibration.judged[:MOST_REPLIES]:
        for column in filter(OF_JUDGE.search, row.keys() - NO_TEXT_COLUMNS):
            text = row[column] if isinstance(row[column], str) else ""
            verdicts = VERDICT_TEXT.findall(text[:LONGEST_REPLY])
            if verdicts:
                replies[column].append(JudgeReply(row, earned, text, verdicts))
    return dict(sorted(replies.items()))


def _find_worth(replies: Sequence[JudgeReply]) -> dict[str, float]:
    """Return what lone verdicts are worth; {} where they earn this or that."""
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
    """Return where the judge's own verdict stands, 0 or -1; None where it differs."""
    places: Counter[int] = Counter()
    for reply in replies:
        lines = reply.text.strip().splitlines()
        if reply.has_one and len(lines) > 1:
            for place in PLACES:
                places[place] += reply.verdicts[place] in lines[place]
                places[-1 - place] -= reply.verdicts[place] in lines[place]
    if not places:
        return None
    place, lead = places.most_common(1)[0]
    count = sum(reply.has_one for reply in replies)
    return place if lead >= AGREEING_SHARE * count else None
