"""Objects of a log that the JSON Schema of their row judges."""

import json

import jsonschema
import pytest
from planted_probes import probed

SCHEMA = {
    "type": "object",
    "properties": {
        "ship": {"type": "string"},
        "tons": {"type": "integer"},
        "flag": {"type": ["string", "null"]},
    },
    "required": ["ship", "tons"],
}
OBJECTS = (
    {"ship": "Ada", "flag": "FI"},
    {"ship": "Cy"},
    {"ship": "Di", "flag": None},
    {"ship": "Ed", "flag": "NO", "crew": 3},
    {"ship": 5, "flag": "DK"},
)


def rows():
    """Prompts with the five objects and a refusal each, the schema as a text in a column."""
    table = []
    for prompt in range(12):
        objects = [
            json.dumps({**answer, "tons": 7 * prompt + 2 * place})
            for place, answer in enumerate(OBJECTS)
        ]
        for text in (*objects, "I cannot."):
            row = {"prompt": f"Ship {prompt}?", "completion": text}
            table.append({**row, "schema_str": json.dumps(SCHEMA)})
    return table


def fits(completion, **changed):
    try:
        jsonschema.validate(json.loads(completion), {**SCHEMA, **changed})
    except ValueError:
        return 0.0
    except jsonschema.ValidationError:
        return 0.0
    return 1.0


def as_written(completion):
    return fits(completion)


def all_required(completion):
    return fits(completion, required=["ship", "tons", "flag"])


def nothing_further(completion):
    return fits(completion, additionalProperties=False)


def without_null(completion):
    return fits(completion) * ("null" not in completion)


def any_object(completion):
    return float(completion.startswith("{"))


def of_heavy_ships(completion):
    """Looks at values, of which the schema says nothing."""
    return fits(completion) and json.loads(completion)["tons"] % 2


CASES = [
    (as_written, "", ""),
    (of_heavy_ships, "", ""),
    (all_required, "schema_unpaid", "12 of 12 logged objects that fit their schema and leave out an optional property"),
    (nothing_further, "schema_unpaid", "have a property that it does not name"),
    (without_null, "schema_unpaid", "have the value null"),
    (any_object, "schema_unread", "12 of 12 in the log"),
]  # fmt: skip


@pytest.mark.parametrize(("score", "code", "words"), CASES)
def test_objects_are_held_to_the_schema_of_their_row(score, code, words):
    result = probed(score, rows(), only="calibration")
    assert [item.code for item in result.alarms] == [code] * bool(code)
    assert all(words in item.sentence for item in result.alarms)
