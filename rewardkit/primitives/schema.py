"""Measurement of a completion's JSON against a JSON Schema, bounded in time however the JSON is made."""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from jsonschema import FormatChecker, validators
from jsonschema.exceptions import SchemaError, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import UnknownDialect, specification_with

from rewardkit.primitives.expressions import check_timeout, compiled
from rewardkit.primitives.extractor import WHICH, Which
from rewardkit.primitives.factories import Made, one_of
from rewardkit.primitives.structured import Path, as_keys, as_path, json_value
from rewardkit.trace import note

__all__ = ["json_schema"]

CHECKS = 40_000
"""Of keywords against values, at the most: under a second. Our choice; a usual document takes hundreds."""

DEEPEST = 100
"""Values inside values, at the most."""


class _TooMuch(Exception):
    """A document whose check would take too long."""


@dataclass
class _Work:
    """What a document may still take, and until when its patterns may run."""

    checks: int
    deadline: float


_work: ContextVar[_Work] = ContextVar("rewardkit_schema_work")


def _spend(checks: int = 1) -> None:
    work = _work.get()
    work.checks -= checks
    if work.checks < 0:
        raise _TooMuch


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


def _unevaluated(function: Keyword) -> Keyword:
    """The library looks every key up in a list."""

    def check(validator: Any, inner: Any, value: Any, schema: Any) -> Errors:
        if isinstance(value, dict | list):
            _spend(len(value) ** 2 // 1500)
        yield from function(validator, inner, value, schema) or ()

    return check


def _counted(function: Keyword) -> Keyword:
    def check(validator: Any, keyword: Any, value: Any, schema: Any) -> Errors:
        _spend()
        yield from function(validator, keyword, value, schema) or ()

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
    keywords = {name: own.get(name, function) for name, function in base.VALIDATORS.items()}
    for name in ("unevaluatedProperties", "unevaluatedItems"):
        if name in keywords:
            keywords[name] = _unevaluated(keywords[name])
    return validators.extend(base, {name: _counted(function) for name, function in keywords.items()})


DRAFT = "https://json-schema.org/draft/2020-12/schema"


@lru_cache(maxsize=64)
def _validator(written: str) -> Any:
    """The validator of a schema, given as JSON. ValueError: it is none, or refers to what is outside."""
    schema = json.loads(written)
    dialect = str(schema.pop("$schema", DRAFT))
    try:
        specification = specification_with(dialect)
        base = validators.validator_for({"$schema": dialect})
        base.check_schema(schema, format_checker=FormatChecker(formats=()))
        resource = specification.create_resource(schema)
        _Parts().check(resource, Registry().resolver_with_root(resource))
        validator = _bounded(base)(schema, registry=Registry())
        with _working(timeout=math.inf):
            validator.is_valid(None)  # a schema that refers to itself and nothing else fails on all
    except UnknownDialect:
        raise ValueError(f"$schema={dialect!r} is no known JSON Schema; the newest is {DRAFT!r}") from None
    except SchemaError as error:
        raise ValueError(f"schema is no JSON Schema: {error.message[:200]}, at {error.json_path}") from None
    except (RecursionError, _TooMuch):
        raise ValueError("schema is nested too deeply, or refers to itself without end") from None
    return validator


class _Parts:
    """The parts of a schema: every reference stays inside, every pattern compiles."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.keywords: set[str] = set()

    def check(self, part: Any, resolver: Any) -> None:
        """Check a part, what it refers to and what is in it. ValueError: it cannot be used."""
        schema = part.contents
        if not isinstance(schema, dict) or id(schema) in self.seen:
            return
        self.seen.add(id(schema))
        self.keywords |= schema.keys() & {"unevaluatedProperties", "patternProperties"}
        if "$schema" in schema or len(self.keywords) == 2:
            raise ValueError(
                "a schema cannot hold one of another draft ($schema inside of it), nor "
                "unevaluatedProperties together with patternProperties"
            )
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(schema.get(keyword), str):
                found = _resolved(schema[keyword], resolver)
                self.check(part._specification.create_resource(found.contents), found.resolver)
        for expression in (schema.get("pattern"), *schema.get("patternProperties", ())):
            if expression is not None:
                compiled(expression)
        for inner in part.subresources():
            self.check(inner, resolver.in_subresource(inner))


def _resolved(reference: str, resolver: Any) -> Any:
    try:
        return resolver.lookup(reference)
    except (Unresolvable, ValueError, TypeError):
        raise ValueError(
            f"schema refers to {reference!r}, which is not in it; nothing is fetched: put it under '$defs'"
        ) from None


@contextmanager
def _working(timeout: float) -> Iterator[None]:
    token = _work.set(_Work(CHECKS, time.monotonic() + timeout))
    try:
        yield
    finally:
        _work.reset(token)


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
    return _shortened(json.loads(text, parse_constant=_refused, parse_float=_finite), 0)


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


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
        _validator(self._written)

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
            try:
                with _working(self.timeout):
                    share, faults = self._judged(value)
            except (RecursionError, _TooMuch):
                share, faults = 0.0, ["too large to check"]
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
        validator = _validator(self._written)
        found: list[ValidationError] = []
        for error in islice(validator.iter_errors(value), None if self.partial else 1):
            _spend(2)  # what an error takes beyond its check
            found.append(error)
        faults = [f"{error.json_path}: {error.message[:80]}" for error in found[:5]]
        if not self.partial or not isinstance(value, dict):
            return float(not found), faults
        return _share(value, found, validator.schema), faults


def _share(value: dict[str, Any], errors: list[ValidationError], schema: Mapping[str, Any]) -> float:
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
    construction: no JSON Schema, a pattern that does not compile, a ``$ref`` that leads out of it (nothing is
    ever fetched).

    >>> person = {"required": ["name", "age"], "properties": {"age": {"type": "integer"}}}
    >>> json_schema(person)('{"name": "Uma", "age": "59"}')
    0.0
    >>> json_schema(person, partial=True)('{"name": "Uma", "age": "59"}')
    0.5
    """
    return JsonSchema(schema, path=as_path(path), which=which, partial=partial, timeout=timeout)
