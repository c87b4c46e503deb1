"""The jsonschema library's validators, bounded in time however schema and JSON are made.

Keywords are counted, patterns run on the `regex` engine with a deadline, what the library does in the square
of a document's size is done otherwise or counted as such, and no reference leads out of the schema.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any

from jsonschema import FormatChecker, validators
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import UnknownDialect, specification_with

from rewardkit.primitives.expressions import compiled

__all__ = ["TooMuch", "bounded_validator", "errors"]

CHECKS = 40_000
"""Of keywords against values, at the most: under a second. Our choice; a usual document takes hundreds."""


class TooMuch(Exception):
    """A document whose check would take too long."""


@dataclass
class _Work:
    """What a document may still take, and until when its patterns may run."""

    checks: int
    deadline: float


_work: ContextVar[_Work] = ContextVar("rewardkit_schema_work")


def errors(validator: Any, value: Any, at_most: int | None, timeout: float) -> list[ValidationError]:
    """The first errors of a value, whose patterns may take `timeout` seconds. TooMuch: it is too large."""
    token = _work.set(_Work(CHECKS, time.monotonic() + timeout))
    try:
        return list(islice(validator.iter_errors(value), at_most))
    finally:
        _work.reset(token)


def _spend(checks: int = 1) -> None:
    """Count work on the document at hand; TooMuch where it was all it may take."""
    work = _work.get()
    work.checks -= checks
    if work.checks < 0:
        raise TooMuch


def _search(expression: str, text: str) -> bool:
    """Whether a pattern of the schema occurs in a text; TimeoutError past the deadline."""
    left = _work.get().deadline - time.monotonic()
    try:
        if left <= 0:
            raise TimeoutError
        return compiled(expression).search(text, timeout=left) is not None
    except TimeoutError:
        raise TimeoutError(f"the patterns of the schema took too long; the last was {expression!r}") from None


Errors = Iterator[ValidationError]
Keyword = Callable[[Any, Any, Any, Any], Errors]


def _pattern(validator: Any, expression: str, value: Any, schema: Any) -> Errors:
    if isinstance(value, str) and not _search(expression, value):
        yield ValidationError(f"does not match {expression!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, schema: Any) -> Errors:
    for expression, inner in patterns.items() if isinstance(value, dict) else ():
        for key, item in value.items():
            if _search(expression, key):
                yield from validator.descend(item, inner, path=key, schema_path=expression)


def _additional_properties(validator: Any, inner: Any, value: Any, schema: Any) -> Errors:
    named, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for key, item in value.items() if isinstance(value, dict) else ():
        if key not in named and not any(_search(expression, key) for expression in patterns):
            if inner is False:  # the library's error would not say which key
                yield ValidationError("is not allowed", path=[key])
            else:
                yield from validator.descend(item, inner, path=key)


def _unique_items(validator: Any, unique: bool, value: Any, schema: Any) -> Errors:
    if unique and isinstance(value, list) and len({_key(item) for item in value}) < len(value):
        yield ValidationError("holds an element twice")


def _key(value: Any) -> tuple[Any, Any]:
    """Equal for equal JSON values: 1 and 1.0, but not 1 and true."""
    _spend()
    if isinstance(value, dict):
        return dict, frozenset((key, _key(item)) for key, item in value.items())
    if isinstance(value, list):
        return list, tuple(map(_key, value))
    return (float if type(value) is int else type(value)), value


def _multiple_of(validator: Any, of: Any, value: Any, schema: Any) -> Errors:
    if validator.is_type(value, "number") and Fraction(str(value)) % Fraction(str(of)):
        yield ValidationError(f"{value} is not a multiple of {of}")


def _counted(name: str, function: Keyword) -> Keyword:
    def check(validator: Any, keyword: Any, value: Any, schema: Any) -> Errors:
        looked_up = name.startswith("unevaluated") and isinstance(value, dict | list)  # each key, in a list
        _spend(1 + (len(value) ** 2 // 1500 if looked_up else 0))
        for error in function(validator, keyword, value, schema) or ():
            _spend(2 + len(error.message) // 100)
            yield error

    return check


@lru_cache(maxsize=16)
def _bounded(base: Any) -> Any:
    """A validator class of the library with its keywords counted and its patterns on the other engine."""
    own = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
        "multipleOf": _multiple_of,
    }
    keywords = {name: _counted(name, own.get(name, check)) for name, check in base.VALIDATORS.items()}
    return validators.extend(base, keywords)


DRAFT = "https://json-schema.org/draft/2020-12/schema"


@lru_cache(maxsize=64)
def bounded_validator(written: str) -> Any:
    """The validator of a schema, given as JSON, for `errors`.

    ValueError: it is no JSON Schema, a pattern does not compile, or it refers to what is outside of it.
    """
    schema = json.loads(written)
    dialect = str(schema.pop("$schema", DRAFT))
    try:
        specification = specification_with(dialect)
        base = validators.validator_for({"$schema": dialect})
        base.check_schema(schema, format_checker=FormatChecker(formats=()))
        resource = specification.create_resource(schema)
        _check_part(resource, Registry().resolver_with_root(resource), specification, {})
        validator = _bounded(base)(schema, registry=Registry())
        errors(validator, None, 1, math.inf)  # where a schema refers to itself and nothing else, all fails
    except UnknownDialect:
        raise ValueError(f"$schema={dialect!r} is no known JSON Schema; the newest is {DRAFT!r}") from None
    except SchemaError as error:
        raise ValueError(f"schema is no JSON Schema: {error.message[:200]}, at {error.json_path}") from None
    except (RecursionError, TooMuch):
        raise ValueError("schema is nested too deeply, or refers to itself without end") from None
    return validator


def _check_part(part: Any, resolver: Any, specification: Any, seen: dict[int, Any]) -> None:
    """ValueError: a reference in a part leads out of the schema, or something in it cannot be bounded."""
    schema = part.contents
    if not isinstance(schema, dict) or id(schema) in seen:
        return
    seen[id(schema)] = schema
    held = {"unevaluatedProperties", "patternProperties"}
    if "$schema" in schema or held <= {name for one in seen.values() for name in one}:
        raise ValueError(
            "a schema cannot hold one of another draft ($schema inside of it), nor "
            "unevaluatedProperties together with patternProperties"
        )
    for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
        if isinstance(reference := schema.get(keyword), str):
            try:
                found = resolver.lookup(reference)
            except (Unresolvable, ValueError, TypeError):
                raise ValueError(
                    f"schema refers to {reference!r}, which is not in it; nothing is fetched: put it under "
                    "'$defs'"
                ) from None
            _check_part(specification.create_resource(found.contents), found.resolver, specification, seen)
    for expression in (schema.get("pattern"), *schema.get("patternProperties", ())):
        if expression is not None:
            compiled(expression)
    for inner in part.subresources():
        _check_part(inner, resolver.in_subresource(inner), specification, seen)
