"""Measurement of a completion's JSON against a JSON Schema."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import quote

from rewardkit.primitives.expressions import Seconds, compiled
from rewardkit.primitives.extract.extractor import Which
from rewardkit.primitives.extract.structured import Path, json_value, value_at
from rewardkit.primitives.messages import NO_JSON, bracket_depth, read_strict_json
from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import OfText

DEEPEST = 100
"""Values inside values, at the most: what checks them has a stack of its own."""

WHOLE = "urn:rewardkit:schema"
"""Where the schemas of single keys find the schema that they are a part of."""


@dataclass(frozen=True, repr=False)
class json_schema(OfText):
    """1.0 where the JSON object or array in the text fits a JSON Schema, else 0.0.

    The JSON is what `extract.json_value` finds (by default the last; strict, not
    repaired), or the value at `path` in it; a text without any gets 0.0.
    ``partial=True`` gives the share of an object's keys, those that are required and
    those that are there and described, that are right: a missing, wrong or forbidden
    key costs one share, a fault of the whole (its type, its size, ``anyOf``) all of it.
    Notes the first five faults.

    The `jsonschema-rs` library decides, by the draft that ``$schema`` names (else
    2020-12); ``format`` says nothing. ``pattern`` runs on the `regex` engine: together
    the patterns may take `timeout` seconds, then TimeoutError; ``patternProperties``
    runs on an engine without lookaround. JSON that is nested over 100 deep gets 0.0.
    ValueError at construction: no JSON Schema, `partial` is no bool, a pattern that
    does not compile, a ``$ref`` that leads out of it (nothing is ever fetched).

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
            raise ValueError(
                f"schema={self.schema!r} is not a JSON Schema; give a dict"
            )
        try:
            plain = json.loads(json.dumps(self.schema))
        except (TypeError, ValueError, RecursionError):
            plain = None
        if plain != self.schema:
            raise ValueError(
                "schema holds what JSON cannot; give dicts, lists, texts, numbers, bools and None"
            )
        object.__setattr__(self, "schema", plain)
        _validators(self._written)

    @cached_property
    def _written(self) -> str:
        return json.dumps(self.schema)

    def score(self, completion: str) -> float:
        text = json_value(which=self.which)(completion)
        value = NO_JSON if text is None or bracket_depth(text) > DEEPEST else read_strict_json(text)
        value = value_at(value, self.path)
        limit = _Time(time.monotonic() + self.timeout)
        token = _time.set(limit)
        try:
            share, faults = (
                self._judged(value) if value is not NO_JSON else (0.0, ["no JSON"])
            )
        except (
            UnicodeEncodeError
        ):  # half a character in a key, which no JSON text can hold
            share, faults = 0.0, ["no JSON"]
        finally:
            _time.reset(token)
        if limit.is_up:
            raise TimeoutError(
                f"the patterns of the schema took longer than {self.timeout:g} s"
            )
        note("json_schema", faults[:5] or "fits")
        return share

    def _judged(self, value: Any) -> tuple[float, list[str]]:
        """The score of a value, and what is wrong with it."""
        whole, each, rest = _validators(self._written)
        if whole.is_valid(value):
            return 1.0, []
        if not isinstance(value, dict):
            return 0.0, ["does not fit"]
        described = self.schema.get("properties", {})
        required = self.schema.get("required", [])
        missing = [key for key in required if key not in value]
        wrong = [key for key in value if not each.is_valid({key: value[key]})]
        faults = [f"{key!r} is missing" for key in missing]
        for key in wrong:
            rule = _short(described[key]) if key in described else "the schema"
            faults.append(f"{key!r} is {_short(value[key])}, which does not fit {rule}")
        if not faults or not rest.is_valid(value):
            return 0.0, [*faults, "does not fit as a whole"]
        keys = {*required, *(key for key in described if key in value), *wrong}
        return ((len(keys) - len(faults)) / len(keys) if self.partial else 0.0), faults


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]


@dataclass
class _Time:
    """The moment by which the patterns of a schema must be through with a text, and whether one was not."""

    until: float
    is_up: bool = False


_time: ContextVar[_Time] = ContextVar("rewardkit_schema_time")


class _Pattern:
    """The keyword ``pattern``, which the library calls for each text; where it raises, the text is wrong."""

    def __init__(self, schema: Any, expression: str, path: Any) -> None:
        self.pattern = compiled(expression)

    def validate(self, value: Any) -> None:
        if not isinstance(value, str):
            return
        limit = _time.get()
        try:
            matches = self.pattern.search(
                value, timeout=max(limit.until - time.monotonic(), 1e-9)
            )
        except TimeoutError:
            limit.is_up = True
            raise
        if not matches:
            raise ValueError("does not match")


@lru_cache(maxsize=64)
def _validators(written: str) -> tuple[Any, Any, Any]:
    """What checks a whole value, the keys of an object one by one, and all of an object but its keys.

    ValueError: `written`, a schema as JSON, is none, or refers to what is outside of
    it.
    """
    import jsonschema_rs

    schema = json.loads(written)
    draft = {"$schema": schema["$schema"]} if "$schema" in schema else {}

    def retrieve(uri: str) -> Any:
        if uri != WHOLE:
            raise LookupError("nothing is fetched")
        return schema

    def validator(part: dict[str, Any]) -> Any:
        return jsonschema_rs.validator_for(
            part | draft,
            keywords={"pattern": _Pattern},
            pattern_options=jsonschema_rs.RegexOptions(),
            retriever=retrieve,
            validate_formats=False,
        )

    try:
        whole = validator(schema)
        each = validator(_of_keys(schema, lambda at: {"$ref": f"{WHOLE}#{at}"}))
        rest = {name: inner for name, inner in schema.items() if name != "required"}
        return whole, each, validator(rest | _of_keys(schema, lambda at: {}))
    except jsonschema_rs.ValidationError as error:
        outside = isinstance(error.kind, jsonschema_rs.ValidationErrorKind.Referencing)
        fault = (
            "refers to what is not in it; put that under '$defs'"
            if outside
            else "is no JSON Schema"
        )
        path = "".join(f".{part}" for part in error.instance_path)
        raise ValueError(f"schema {fault}: {error.message[:200]}, at ${path}") from None
    except ValueError as error:
        raise ValueError(f"schema is no JSON Schema: {error}") from None


def _of_keys(schema: Mapping[str, Any], part: Callable[[str], Any]) -> dict[str, Any]:
    """The keywords of an object's keys, with what `part` makes of the place of each schema in them."""
    made: dict[str, Any] = {}
    for name in {"properties", "patternProperties"} & schema.keys():
        places = {
            key: quote(key.replace("~", "~0").replace("/", "~1"), safe="~")
            for key in schema[name]
        }
        made[name] = {key: part(f"/{name}/{place}") for key, place in places.items()}
    if "additionalProperties" in schema:
        made["additionalProperties"] = part("/additionalProperties")
    return made
