"""Rules of logged objects that the JSON Schema of their row judges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rewardkit.answers.logged import Answers, LoggedAnswer
from rewardkit.answers.misjudged import are_many
from rewardkit.findings import Finding, Findings, rule
from rewardkit.primitives.measure.schema import json_schema
from rewardkit.primitives.messages import read_strict_json
from rewardkit.probes.findings.evidence import Observed
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
