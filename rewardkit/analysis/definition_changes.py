"""definition_changes(): the records of two rewards -> what was added, removed and changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rewardkit.errors import preview

__all__ = ["Change", "definition_changes", "unseen_sources"]

COMPONENT_KEYS = ("function", "weight", "gate", "columns", "asks_for", "range", "kind", "primary", "why")
WHOLE_KEYS = ("name", "gate", "aggregation", "on_missing", "transform")
DEFAULT: Any = ...  # in place of a value: a route's default, and a reward that is no route


@dataclass(frozen=True)
class Change:
    """One difference between two definitions; `before` is ``None`` where it was added, `after` where removed.

    `what` it is (component, field, weight, gate, source ...), of which component or field (`name`, "" for the
    whole), in which `part` of a route.
    """

    what: str
    name: str
    before: Any
    after: Any
    part: str = ""

    @property
    def change(self) -> str:
        """Whether it was added, removed or changed."""
        return "added" if self.before is None else "removed" if self.after is None else "changed"

    def record(self) -> dict[str, Any]:
        """The change as plain data."""
        return {**asdict(self), "change": self.change}

    def __str__(self) -> str:
        of = f" of {self.name!r}" if self.what in COMPONENT_KEYS else f" {self.name!r}"
        who = f"{f'[{self.part}] ' if self.part else ''}{self.what}{of if self.name else ''} {self.change}"
        if self.what == "source":  # hashes
            return who
        values = [value for value in (self.before, self.after) if value is not None]
        shown = [value["function"] if isinstance(value, Mapping) and "function" in value else preview(value)
                 for value in values]  # fmt: skip
        return f"{who}: {' -> '.join(shown)}"


def definition_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[Change, ...]:
    """What differs between two rewards, from `Reward.record()` of each; nothing where they say the same.

    A route is compared value by value, and a reward that is no route as its default.

    >>> import rewardkit as rk
    >>> one = rk.Reward("one", components=[rk.Component("short", rk.measure.tags("answer"))])
    >>> print(*definition_changes(one.record(), one.reweigh({"short": 2.0}).record()))
    weight of 'short' changed: 1.0 -> 2.0
    """
    before, after = _parts(a), _parts(b)
    routes = tuple(record["route"]["column"] if "route" in record else None for record in (a, b))
    changes = [Change("route", "", routes[0], routes[1])] if routes[0] != routes[1] else []
    if any(routes) and a["name"] != b["name"]:
        changes.append(Change("name", "", a["name"], b["name"]))
    for value in dict.fromkeys([*before, *after]):
        label = "" if not any(routes) else "default" if value is DEFAULT else str(value)
        if value in before and value in after:
            changes += _between(before[value], after[value], label)
        else:
            was, now = (found[value]["name"] if value in found else None for found in (before, after))
            changes.append(Change("reward", "", was, now, label))
    return tuple(changes)


def unseen_sources(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Names of functions without source on both sides, of which a change cannot be seen."""
    found: list[dict[str, None]] = []
    for whole in (a, b):
        sources = [_sources(record) for record in _parts(whole).values()]
        found.append({name: None for each in sources for name, text in each.items() if "unknown" in text})
    return [name for name in found[0] if name in found[1]]


def _parts(record: Mapping[str, Any]) -> dict[Any, Mapping[str, Any]]:
    """The record of each reward by the value that it is for."""
    if "route" not in record:
        return {DEFAULT: record}
    route = record["route"]
    inner = {item["value"]: item["reward"] for item in route["rewards"]}
    return inner | ({DEFAULT: route["default"]} if route["default"] else {})


def _between(a: Mapping[str, Any], b: Mapping[str, Any], part: str) -> Iterator[Change]:
    """What differs between two rewards that are no routes."""
    for key in WHOLE_KEYS:
        if a[key] != b[key]:
            yield Change(key, "", a[key], b[key], part)
    yield from _named("field", a["fields"], b["fields"], part)
    first, second = ({item["name"]: item for item in record["components"]} for record in (a, b))
    common = [name for name in first if name in second]
    yield from _named(
        "component",
        {name: item for name, item in first.items() if name not in second},
        {name: item for name, item in second.items() if name not in first},
        part,
    )
    for name in common:
        for key in COMPONENT_KEYS:
            if first[name][key] != second[name][key]:
                yield Change(key, name, first[name][key], second[name][key], part)
    if common != (later := [name for name in second if name in first]):
        yield Change("order", "", common, later, part)
    yield from _named("source", _sources(a), _sources(b), part)


def _named(what: str, a: Mapping[str, Any], b: Mapping[str, Any], part: str) -> Iterator[Change]:
    for name in dict.fromkeys([*a, *b]):
        if a.get(name) != b.get(name):
            yield Change(what, name, a.get(name), b.get(name), part)


def _sources(record: Mapping[str, Any]) -> dict[str, str]:
    """File name -> hash, of the functions and of the transform."""
    return {**record["sources"], **record["transform_sources"]}
