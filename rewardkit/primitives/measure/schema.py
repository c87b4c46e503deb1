"""Measurement of a completion's JSON against a JSON Schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

from rewardkit.primitives.expressions import Seconds
from rewardkit.primitives.extract.extractor import Which
from rewardkit.primitives.extract.structured import Path, json_value, value_at
from rewardkit.primitives.factories import OfText
from rewardkit.primitives.json_text import MISSING, depth, read_json
from rewardkit.primitives.notes import note

__all__ = ["json_schema"]

DEEPEST = 100
"""Values inside values, at the most."""


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is beyond floats")
    return number


@dataclass(frozen=True, repr=False)
class json_schema(OfText):
    """1.0 where the JSON object or array in the text fits a JSON Schema, else 0.0.

    The JSON is what `extract.json_value` finds (by default the last; strict, not repaired), or the value at
    `path` in it; a text without any gets 0.0. ``partial=True`` gives the share of an object's keys,
    those that are required and those that are there and described, that are right: a missing, wrong or
    forbidden key costs one share, a fault of the whole (its type, its size, ``anyOf``) all of it. Notes the
    first five faults.

    The `jsonschema` library decides, by the draft that ``$schema`` names (else 2020-12); ``format`` says
    nothing. Patterns run on the `regex` engine: together they may take `timeout` seconds, then TimeoutError.
    A document that takes more than 40,000 checks, or is nested over 100 deep, gets 0.0. ValueError at
    construction: no JSON Schema, `partial` is no bool, a pattern that does not compile, a ``$ref`` that leads
    out of it (nothing is ever fetched).

    >>> person = {"required": ["name", "age"], "properties": {"age": {"type": "integer"}}}
    >>> json_schema(person)('{"name": "Uma", "age": "59"}')
    0.0
    >>> json_schema(person, partial=True)('{"name": "Uma", "age": "59"}')
    0.5
    """

    schema: Mapping[str, Any] = field(hash=False)
    _: KW_ONLY
    path: Path = None
    which: Which = "last"
    partial: bool = False
    timeout: Seconds = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.schema, dict):
            raise ValueError(f"schema={self.schema!r} is not a JSON Schema; give a dict")
        try:
            plain = json.loads(json.dumps(self.schema))
        except (TypeError, ValueError, RecursionError):
            plain = None
        if plain != self.schema:
            raise ValueError(
                "schema holds what JSON cannot; give dicts, lists, texts, numbers, bools and None"
            )
        object.__setattr__(self, "schema", plain)
        _validating().bounded_validator(self._written)

    @cached_property
    def _written(self) -> str:
        return json.dumps(self.schema)

    def score(self, completion: str) -> float:
        text = json_value(which=self.which)(completion)
        value = MISSING if text is None else read_json(text, parse_float=_finite)
        if text is None:
            share, faults = 0.0, ["no JSON"]
        elif value is MISSING or depth(text) > DEEPEST:
            share, faults = 0.0, ["no JSON that could be read"]
        elif (value := value_at(value, self.path)) is MISSING:
            share, faults = 0.0, [f"nothing at {self.path!r}"]
        else:
            share, faults = self._judged(value)
        note("json_schema", faults or "fits")
        return share

    def _judged(self, value: Any) -> tuple[float, list[str]]:
        """The score of a value and the first things that are wrong with it."""
        validating = _validating()
        validator = validating.bounded_validator(self._written)
        try:
            found = validating.errors(validator, value, None if self.partial else 1, self.timeout)
        except (RecursionError, validating.TooMuch):
            return 0.0, ["too large to check"]
        faults = [f"{error.json_path}: {error.message[:80]}" for error in found[:5]]
        if not self.partial or not isinstance(value, dict):
            return float(not found), faults
        return _share(value, found, validator.schema), faults


def _validating() -> Any:
    """The module on top of the jsonschema library, which takes most of a second to import."""
    from rewardkit.primitives.measure import validating

    return validating


def _share(value: dict[str, Any], errors: list[Any], schema: Mapping[str, Any]) -> float:
    """Share of the keys that are required, or there and described, that are there and right."""
    wrong: set[Any] = set()
    for error in errors:
        if error.path:
            wrong.add(error.path[0])
        elif error.validator == "required":
            wrong |= {key for key in error.validator_value if key not in value}
        else:
            return 0.0
    keys = {*schema.get("required", ()), *(schema.get("properties", {}).keys() & value.keys()), *wrong}
    return (len(keys) - len(wrong)) / len(keys) if keys else 1.0
