"""A measure of a completion's JSON against a JSON Schema."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote

from rewardkit.primitives.extract.extractor import Which
from rewardkit.primitives.extract.structured import Path, json_value, value_at
from rewardkit.primitives.messages import NO_JSON, bracket_depth, read_strict_json
from rewardkit.primitives.primitive import OfText, note
from rewardkit.primitives.texts import Seconds, compile_expression

DEEPEST_INSTANCE = 100
"""Depth of nested values, at most: the library that checks them has its own stack."""

SCHEMA_URI = "urn:rewardkit:schema"
"""Address by which the schemas of single keys refer to the whole schema."""


@dataclass(frozen=True, repr=False)
class json_schema(OfText):
    """Score 1.0 if the JSON object or array in the text fits a JSON Schema, else 0.0.

    The JSON is the match of `extract.json_value` (by default the last; strict, not
    repaired), or the value at `path` in it; a text without JSON scores 0.0.
    ``partial=True`` gives the share of correct keys of an object, among the required
    keys and the described keys that are present. A missing, wrong or forbidden key
    costs one share; a fault of the whole (its type, its size, ``anyOf``) costs all.
    Notes the first five faults.

    The `jsonschema-rs` library decides, by the draft in ``$schema`` (else 2020-12);
    ``format`` is not checked. ``pattern`` runs on the `regex` engine: all patterns
    together have `timeout` seconds before a TimeoutError. ``patternProperties`` runs on
    an engine without lookaround. JSON nested over 100 deep scores 0.0. ValueError at
    construction: no JSON Schema, `partial` is no bool, a pattern that does not compile,
    a ``$ref`` to another document (nothing is ever fetched).

    >>> age = {"type": "integer"}
    >>> person = {"required": ["name", "age"], "properties": {"age": age}}
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
            raise ValueError(
                f"schema={self.schema!r} is not a JSON Schema; give a dict"
            )
        try:
            plain = json.loads(json.dumps(self.schema))
        except (TypeError, ValueError, RecursionError):
            plain = None
        if plain != self.schema:
            raise ValueError(
                "schema holds what JSON cannot; give dicts, lists, texts, numbers, "
                "bools and None"
            )
        object.__setattr__(self, "schema", plain)
        _make_validators(self._schema_text)

    @cached_property
    def _schema_text(self) -> str:
        return json.dumps(self.schema)

    def score(self, completion: str) -> float:
        text = json_value(which=self.which)(completion)
        value = NO_JSON
        if text is not None and bracket_depth(text) <= DEEPEST_INSTANCE:
            value = value_at(read_strict_json(text), self.path)
        deadline = _Deadline(time.monotonic() + self.timeout)
        token = _deadline.set(deadline)
        share = 0.0
        faults = ["no JSON"]
        try:
            if value is not NO_JSON:
                share, faults = self._check(value)
        except UnicodeEncodeError:  # a lone surrogate in a key
            pass
        finally:
            _deadline.reset(token)
        if deadline.is_over:
            raise TimeoutError(
                f"the patterns of the schema took longer than {self.timeout:g} s"
            )
        note("json_schema", faults[:5] or "fits")
        return share

    def _check(self, value: Any) -> tuple[float, list[str]]:
        """Return the score of a value and its faults, in words."""
        validators = _make_validators(self._schema_text)
        if validators.document.is_valid(value):
            return 1.0, []
        if not isinstance(value, dict):
            return 0.0, ["does not fit"]
        described = self.schema.get("properties", {})
        required = self.schema.get("required", [])
        faults = [f"{key!r} is missing" for key in required if key not in value]
        keys = {*required, *(described.keys() & value.keys())}
        for key in value:
            if validators.key.is_valid({key: value[key]}):
                continue
            rule = _short(described[key]) if key in described else "the schema"
            faults.append(f"{key!r} is {_short(value[key])}, which does not fit {rule}")
            keys.add(key)
        if not faults or not validators.rest.is_valid(value):
            return 0.0, [*faults, "does not fit as a whole"]
        if not self.partial:
            return 0.0, faults
        return (len(keys) - len(faults)) / len(keys), faults


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]


@dataclass
class _Deadline:
    """The time (monotonic seconds) by which the patterns of a schema must finish."""

    until: float
    is_over: bool = False


_deadline: ContextVar[_Deadline] = ContextVar("rewardkit_schema_deadline")


class _Pattern:
    """The keyword ``pattern``; the library calls `validate` for each text.

    An error there means that the text does not fit.
    """

    def __init__(self, schema: Any, expression: str, path: Any) -> None:
        self.pattern = compile_expression(expression)

    def validate(self, value: Any) -> None:
        if not isinstance(value, str):
            return
        deadline = _deadline.get()
        seconds = max(deadline.until - time.monotonic(), 1e-9)
        try:
            match = self.pattern.search(value, timeout=seconds)
        except TimeoutError:
            deadline.is_over = True
            raise
        if not match:
            raise ValueError("does not match")


class _Validators(NamedTuple):
    """Validators of the whole document, of single keys, and of all but the keys."""

    document: Any
    key: Any
    rest: Any


@lru_cache(maxsize=64)
def _make_validators(text: str) -> _Validators:
    """Make the validators of a schema, written as JSON.

    Raises:
        ValueError: `text` is no schema, or refers to another document.
    """
    import jsonschema_rs

    schema = json.loads(text)
    draft = {"$schema": schema["$schema"]} if "$schema" in schema else {}

    def retrieve(uri: str) -> Any:
        if uri != SCHEMA_URI:
            raise LookupError("nothing is fetched")
        return schema

    def make_validator(part: dict[str, Any]) -> Any:
        return jsonschema_rs.validator_for(
            part | draft,
            keywords={"pattern": _Pattern},
            pattern_options=jsonschema_rs.RegexOptions(),
            retriever=retrieve,
            validate_formats=False,
        )

    rest = {name: schema[name] for name in schema if name != "required"}
    rest |= _key_keywords(schema, lambda place: {})
    references = _key_keywords(schema, lambda place: {"$ref": f"{SCHEMA_URI}#{place}"})
    try:
        return _Validators(*map(make_validator, (schema, references, rest)))
    except jsonschema_rs.ValidationError as error:
        fault = "is no JSON Schema"
        if isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Referencing):
            fault = "refers to what is not in it; put that under '$defs'"
        path = "".join(f".{part}" for part in error.instance_path)
        raise ValueError(f"schema {fault}: {error.message[:200]}, at ${path}") from None
    except ValueError as error:
        raise ValueError(f"schema is no JSON Schema: {error}") from None


def _key_keywords(
    schema: Mapping[str, Any], make_part: Callable[[str], Any]
) -> dict[str, Any]:
    """Return the keywords about keys ("properties" ...) with their schemas replaced.

    `make_part` takes the JSON pointer of a schema and returns its replacement.
    """
    keywords: dict[str, Any] = {}
    for name in {"properties", "patternProperties"} & schema.keys():
        keywords[name] = {}
        for key in schema[name]:
            place = quote(key.replace("~", "~0").replace("/", "~1"), safe="~")
            keywords[name][key] = make_part(f"/{name}/{place}")
    if "additionalProperties" in schema:
        keywords["additionalProperties"] = make_part("/additionalProperties")
    return keywords
