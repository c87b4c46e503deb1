"""Rules of logged objects that the JSON Schema of their row judges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rewardkit.answers.logged import Answers
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
    fitting, unfitting = [], []
    for answer in observed.logged:
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
    for words, has in FEATURES.items():
        at_fault = [answer for answer, *pair in fitting if has(*pair)]
        others = [answer for answer, *pair in fitting if not has(*pair)]
        lost = [answer for answer in at_fault if answer.is_unpaid]
        paid = [answer for answer in others if answer.is_paid]
        is_rule = len(lost) >= max(LEAST_OF_FEATURE, (1 - MOST_PAID) * len(at_fault))
        if is_rule and paid and len(paid) >= LEAST_PAID * len(others):
            yield _report(
                observed,
                "schema_unpaid",
                at_fault,
                lost,
                common=words,
                paid_rows=len(paid),
                others=len(others),
            )
    passed = [answer for answer in unfitting if answer.is_paid]
    if are_many(passed, [answer for answer in unfitting if answer.is_unpaid]):
        yield _report(observed, "schema_unread", unfitting, passed)


def _report(
    observed: Observed, code: str, tried: Answers, found: Answers, **evidence: Any
) -> Finding:
    """Return the finding of some of the objects, the first one as its example."""
    return observed.finding(
        code,
        len(tried),
        len(found),
        examples=[observed.row_example(found[0].row, found[0].reward, code)],
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
