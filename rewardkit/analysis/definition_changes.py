"""definition_changes(): records of two rewards -> what was added, removed, changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import preview
from rewardkit.plain import PlainRecord

COMPONENT_KEYS = (
    "function",
    "weight",
    "gate",
    "columns",
    "asks_for",
    "range",
    "kind",
    "primary",
    "why",
)
WHOLE_KEYS = ("name", "gate", "aggregation", "on_missing", "transform")
SOURCES = (
    "sources",
    "transform_sources",
)  # file name -> hash, of the functions and of the transform
SECTIONS = {"field": 1, "component": 2, "order": 4, "source": 5, "why": 6}
"""The order of changes: of the whole first, of components that both have at 3."""
DEFAULT: Any = (
    ...
)  # in place of a value: a route's default, and a reward that is no route


@dataclass(frozen=True)
class DefinitionChange(PlainRecord):
    """One difference between two definitions.

    `what` it is (component, field, weight, gate, source ...), of which component or
    field (`name`, "" for the whole), in which `part` of a route. `before` is None where
    it was added, `after` where it was removed.
    """

    IN_RECORD = (
        "what",
        "name",
        "before",
        "after",
        "part",
        "change",
    )

    what: str
    name: str
    before: Any
    after: Any
    part: str = ""

    @property
    def change(self) -> str:
        """Whether it was added, removed or changed."""
        return (
            "added"
            if self.before is None
            else "removed"
            if self.after is None
            else "changed"
        )

    def __str__(self) -> str:
        of = " of" if self.what in COMPONENT_KEYS else ""
        who = (
            f"[{self.part}] " * bool(self.part)
            + self.what
            + f"{of} {self.name!r}" * bool(self.name)
        )
        if self.what == "source":  # hashes
            return f"{who} {self.change}"
        shown = []
        for value in (self.before, self.after):
            if isinstance(value, Mapping) and "function" in value:
                shown.append(value["function"])
            elif value is not None:
                shown.append(preview(value))
        return f"{who} {self.change}: {' -> '.join(shown)}"


def definition_changes(
    a: Mapping[str, Any], b: Mapping[str, Any]
) -> tuple[DefinitionChange, ...]:
    """Return what differs between two rewards, from `Reward.record()` of each.

    A route is compared value by value, and a reward that is no route as its default.

    >>> import rewardkit as rk
    >>> short = rk.Component("short", rk.measure.tags("answer"))
    >>> one = rk.Reward("one", components=[short])
    >>> print(*definition_changes(one.record(), one.reweigh({"short": 2.0}).record()))
    weight of 'short' changed: 1.0 -> 2.0
    """
    columns = [
        record["route"]["column"] if "route" in record else None for record in (a, b)
    ]
    before, after = _parts(a), _parts(b)
    found: list[DefinitionChange] = []
    if any(columns):
        wholes = [{("route", ""): column, ("name", ""): of["name"]}
                  for column, of in zip(columns, (a, b), strict=True)]  # fmt: skip
        found += _between(wholes[0], wholes[1])
    for value in {**before, **after}:
        part = "" if not any(columns) else "default" if value is DEFAULT else str(value)
        was, now = before.get(value), after.get(value)
        if was and now:
            common = _components(was).keys() & _components(now).keys()
            found += _between(_entries(was, common), _entries(now, common), part)
        else:
            found.append(
                DefinitionChange(
                    "reward", "", was and was["name"], now and now["name"], part
                )
            )
    return tuple(found)


Entries = Mapping[tuple[str, str], Any]


def _between(a: Entries, b: Entries, part: str = "") -> list[DefinitionChange]:
    keys = sorted({**a, **b}, key=lambda key: SECTIONS.get(key[0], 3 if key[1] else 0))
    return [
        DefinitionChange(*key, a.get(key), b.get(key), part)
        for key in keys
        if a.get(key) != b.get(key)
    ]


def _entries(record: Mapping[str, Any], common: Collection[str]) -> Entries:
    """Return what is defined, by kind and name; `common` components key by key."""
    items = _components(record)
    return {
        **{(key, ""): record[key] for key in WHOLE_KEYS},
        **{("field", name): field for name, field in record["fields"].items()},
        **{
            ("component", name): item
            for name, item in items.items()
            if name not in common
        },
        **{
            (key, name): items[name][key]
            for name in items
            if name in common
            for key in COMPONENT_KEYS
        },
        ("order", ""): [name for name in items if name in common],
        **{
            ("source", name): text
            for kind in SOURCES
            for name, text in record[kind].items()
        },
    }


def _components(record: Mapping[str, Any]) -> dict[str, Any]:
    return {item["name"]: item for item in record["components"]}


def _parts(record: Mapping[str, Any]) -> dict[Any, Mapping[str, Any]]:
    """Return the record of each reward by the value that it is for."""
    if "route" not in record:
        return {DEFAULT: record}
    route = record["route"]
    inner = {item["value"]: item["reward"] for item in route["rewards"]}
    return inner | ({DEFAULT: route["default"]} if route["default"] else {})
