"""What differs between the definitions of two rewards, and in what they score."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from rewardkit.analysis.comparison.matching import MatchedRows
from rewardkit.analysis.statistics import Codes, Floats, in_both
from rewardkit.errors import preview
from rewardkit.findings import percent, short_number
from rewardkit.plain import Plain, PlainRecord
from rewardkit.scoring.scores import Scores

COMPONENT_KEYS = (
    "function",
    "weight",
    "schedule",
    "gate",
    "columns",
    "asks_for",
    "range",
    "kind",
    "primary",
    "why",
)
REWARD_KEYS = ("name", "gate", "aggregation", "on_missing", "transform")
SOURCE_KEYS = ("sources", "transform_sources")
"""Hashes of files by name: of the functions, and of the transform."""
SECTIONS = {"field": 1, "component": 2, "order": 4, "source": 5, "why": 6}
"""Order of changes: of the whole first, of components that both have at 3."""
NOTHING: Mapping[str, str] = MappingProxyType({})
DEFAULT_PART: Any = object()
"""In place of a route's value: its default, or a reward that is no route."""

Entries = dict[tuple[str, str], Any]


@dataclass(frozen=True)
class DefinitionChange(PlainRecord):
    """One difference between two definitions.

    `what` is its kind: component, field, weight, gate, source ... `name` is that of the
    component or field, "" for the whole, and `part` that of a route. `before` is None
    where it was added, `after` where it was removed. Of "scores" these are their means,
    and `share` is the share of the rollouts whose score differs. Of a renamed component
    they are its names.
    """

    IN_RECORD = ("what", "name", "before", "after", "part", "share", "change")

    what: str
    name: str
    before: Any
    after: Any
    part: str = ""
    share: float | None = None

    @property
    def change(self) -> str:
        """Return whether it was added, removed or changed."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    @property
    def is_source(self) -> bool:
        """Return whether hashes of source files differ."""
        return self.what == "source"

    @property
    def headline(self) -> str:
        """Return what changed and how, without the values."""
        subject = self.what
        if self.name:
            if subject in (*COMPONENT_KEYS, "scores"):
                subject += " of"
            subject += f" {self.name!r}"
        if self.part:
            subject = f"[{self.part}] {subject}"
        return f"{subject} {self.change}"

    def __str__(self) -> str:
        if self.is_source:
            return self.headline
        if self.share is not None:
            means = f"{short_number(self.before)} -> {short_number(self.after)}"
            return (
                f"component {self.name!r} has the same name and another definition: "
                f"{percent(self.share)} of its scores differ, mean {means}"
            )
        if self.what == "component" and self.before and self.after:
            return f"component {self.before!r} is called {self.after!r} now"
        values = []
        for value in (self.before, self.after):
            if isinstance(value, Mapping) and "function" in value:
                values.append(value["function"])
            elif value is not None:
                values.append(preview(value))
        return f"{self.headline}: {' -> '.join(values)}"


def definition_changes(
    a: Plain,
    b: Plain,
    renamed: Mapping[str, str] = NOTHING,
) -> tuple[DefinitionChange, ...]:
    """Return what differs between two rewards, from `Reward.record()` of each.

    Routes are compared value by value; a reward that is no route is taken for the
    default of one. `renamed` maps the name of a component in B to that in A, and the
    two are compared as one.

    >>> import rewardkit as rk
    >>> short = rk.Component("short", rk.measure.tags("answer"))
    >>> one = rk.Reward("one", components=[short])
    >>> print(*definition_changes(one.record(), one.reweigh({"short": 2.0}).record()))
    weight of 'short' changed: 1.0 -> 2.0
    """
    changes = []
    is_routed = "route" in a or "route" in b
    if is_routed:
        changes += _compare_entries(_route_entries(a), _route_entries(b))
    before = _rewards_by_value(a)
    after = _rewards_by_value(b)
    for value in {**before, **after}:
        part = ""
        if is_routed:
            part = "default" if value is DEFAULT_PART else str(value)
        was = before.get(value)
        now = after.get(value)
        if not (was and now):
            names = was and was["name"], now and now["name"]
            changes.append(DefinitionChange("reward", "", names[0], names[1], part))
            continue
        for name in sorted(_components(now).keys() & renamed.keys()):
            change = DefinitionChange("component", name, renamed[name], name, part)
            changes.append(change)
        old, new = _components(was), _components(now, renamed)
        shared = old.keys() & new.keys()
        changes += _compare_entries(
            _list_entries(was, old, shared), _list_entries(now, new, shared), part
        )
    return tuple(changes)


def _compare_entries(a: Entries, b: Entries, part: str = "") -> list[DefinitionChange]:
    changes = []
    for key in {**a, **b}:
        before = a.get(key)
        after = b.get(key)
        if before != after:
            changes.append(DefinitionChange(*key, before, after, part))
    return sorted(
        changes, key=lambda item: SECTIONS.get(item.what, 3 if item.name else 0)
    )


def _route_entries(record: Plain) -> Entries:
    column = record["route"]["column"] if "route" in record else None
    return {("route", ""): column, ("name", ""): record["name"]}


def _list_entries(
    record: Plain, components: Mapping[str, Plain], shared: Collection[str]
) -> Entries:
    """Return what is defined, by kind and name; `shared` components key by key."""
    entries = {(key, ""): record[key] for key in REWARD_KEYS}
    for name, extractor in record["fields"].items():
        entries["field", name] = extractor
    order = []
    for name, item in components.items():
        if name not in shared:
            entries["component", name] = item
            continue
        order.append(name)
        for key in COMPONENT_KEYS:
            if key in item:
                entries[key, name] = item[key]
    entries["order", ""] = order
    for key in SOURCE_KEYS:
        for name, text in record[key].items():
            entries["source", name] = text
    return entries


def _components(
    record: Plain, renamed: Mapping[str, str] = NOTHING
) -> dict[str, Plain]:
    """Return the components by name, renamed ones by their name in A."""
    items = record["components"]
    return {renamed.get(item["name"], item["name"]): item for item in items}


def _rewards_by_value(record: Plain) -> dict[Any, Plain]:
    """Return the record of each reward by the value that it is for."""
    if "route" not in record:
        return {DEFAULT_PART: record}
    route = record["route"]
    rewards = {item["value"]: item["reward"] for item in route["rewards"]}
    if route["default"]:
        rewards[DEFAULT_PART] = route["default"]
    return rewards


@dataclass(frozen=True)
class ComponentMatch:
    """Components of A and B that are the same, or only have the same name.

    `renamed` maps the name in B to that in A. `redefined` are the components of one
    name whose scores differ.
    """

    renamed: Mapping[str, str]
    redefined: tuple[DefinitionChange, ...]


def match_components(a: Scores, b: Scores, matched: MatchedRows) -> ComponentMatch:
    """Match the components of two versions by their scores of the same rollouts.

    A component that only A has is the same as one that only B has if the two give equal
    scores to every rollout, and not one score to all. Only rollouts of the same
    completion count.
    """
    before = _scores_by_name(a, matched.a[matched.is_same])
    after = _scores_by_name(b, matched.b[matched.is_same])
    renamed: dict[str, str] = {}
    for name in after.keys() - before.keys():
        candidates = before.keys() - after.keys() - {*renamed.values()}
        alike = [other for other in candidates if _is_same(before[other], after[name])]
        if len(alike) == 1:
            renamed[name] = alike[0]
    redefined: list[DefinitionChange] = []
    for name in after:
        if name in before:
            redefined += _redefinition(name, before[name], after[name])
    return ComponentMatch(renamed, tuple(redefined))


def _scores_by_name(scores: Scores, rows: Codes) -> dict[str, Floats]:
    return {name: scores.score(name)[rows] for name in scores.reward.names}


def _is_same(before: Floats, after: Floats) -> bool:
    """Return whether two components have equal scores, which differ among rollouts."""
    judged = before[~np.isnan(before)]
    if len(np.unique(judged)) < 2:
        return False
    return bool(np.allclose(before, after, equal_nan=True))


def _redefinition(
    name: str, before: Floats, after: Floats
) -> Iterator[DefinitionChange]:
    """Yield the difference between two components of one name, if there is one."""
    both = in_both(before, after)
    share = (
        float((~np.isclose(before[both], after[both])).mean()) if both.any() else 0.0
    )
    if share:
        means = float(before[both].mean()), float(after[both].mean())
        yield DefinitionChange("scores", name, *means, share=share)
