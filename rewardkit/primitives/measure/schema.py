"""Measurement of a completion's JSON against a JSON Schema."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rewardkit.primitives.expressions import check_timeout
from rewardkit.primitives.extract.extractor import WHICH, Which
from rewardkit.primitives.extract.structured import Path, as_keys, as_path, json_value, refuse_constant
from rewardkit.primitives.factories import Made, one_of, true_or_false
from rewardkit.primitives.notes import note

__all__ = ["json_schema"]

DEEPEST = 100
"""Values inside values, at the most."""


class _Object(dict[str, Any]):
    """An object whose repr is short: the library puts it into every message."""

    def __repr__(self) -> str:
        return "{...}"


class _Array(list[Any]):
    """An array whose repr is short."""

    def __repr__(self) -> str:
        return "[...]"


def _read(text: str) -> Any:
    """The value of a JSON text, with short reprs. ValueError: it is none, or nested too deeply."""
    return _shortened(json.loads(text, parse_constant=refuse_constant, parse_float=_finite), 0)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else refuse_constant(text)


def _shortened(value: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return _Object((key, _shortened(item, depth + 1)) for key, item in value.items())
    if isinstance(value, list):
        return _Array(_shortened(item, depth + 1) for item in value)
    return value


def _at(value: Any, keys: tuple[str, ...]) -> Any:
    """The value at a path. LookupError: it leads nowhere."""
    for key in keys:
        value = value[int(key) if isinstance(value, list) and key.isdecimal() else key]
    return value


@dataclass(frozen=True, repr=False)
class JsonSchema(Made):
    schema: Mapping[str, Any] = field(hash=False)
    path: Path = field(kw_only=True, default=None)
    which: Which = field(kw_only=True, default="last")
    partial: bool = field(kw_only=True, default=False)
    timeout: float = field(kw_only=True, default=1.0)

    def __post_init__(self) -> None:
        one_of("which", self.which, WHICH)
        true_or_false(partial=self.partial)
        check_timeout(self.timeout)
        as_keys(self.path)
        if not isinstance(self.schema, dict):
            raise ValueError(f"schema={self.schema!r} is not a JSON Schema; give a dict")
        try:
            plain = json.loads(json.dumps(self.schema)) == self.schema
        except (TypeError, ValueError, RecursionError):
            plain = False
        if not plain:
            raise ValueError(
                "schema holds what JSON cannot; give dicts, lists, texts, numbers, bools and None"
            )
        object.__setattr__(self, "schema", copy.deepcopy(self.schema))
        _validating().bounded_validator(self._written)

    @cached_property
    def _written(self) -> str:
        return json.dumps(self.schema)

    def __call__(self, completion: str | None) -> float | None:
        if not isinstance(completion, str):
            return None
        value, fault = self._value(completion)
        if fault:
            share, faults = 0.0, [fault]
        else:
            share, faults = self._judged(value)
        note("json_schema", faults or "fits")
        return share

    def _value(self, completion: str) -> tuple[Any, str]:
        """The value to judge, and why there is none ("" where there is one)."""
        text = json_value(which=self.which)(completion)
        if text is None:
            return None, "no JSON"
        try:
            return _at(_read(text), as_keys(self.path)), ""
        except (LookupError, TypeError):
            return None, f"nothing at {self.path!r}"
        except (ValueError, RecursionError):
            return None, "no JSON that could be read"

    def _judged(self, value: Any) -> tuple[float, list[str]]:
        """The score of a value and the first things that are wrong with it."""
        validating = _validating()
        validator = validating.bounded_validator(self._written)
        try:
            with validating.working(self.timeout):
                found = validating.errors(validator, value, None if self.partial else 1)
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


def json_schema(
    schema: Mapping[str, Any],
    *,
    path: str | Sequence[str | int] | None = None,
    which: Which = "last",
    partial: bool = False,
    timeout: float = 1.0,
) -> JsonSchema:
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
    return JsonSchema(schema, path=as_path(path), which=which, partial=partial, timeout=timeout)
