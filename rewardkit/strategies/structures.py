"""Structures: lists and objects that are wrong in one place, for full marks no more."""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from rewardkit.answers.kinds import split_items
from rewardkit.primitives.extract.structured import read_json
from rewardkit.strategies.strategy import Build, Strategy, strategy
from rewardkit.strategies.subject import Subject
from rewardkit.strategies.wrong_answers import change_values

Place = tuple[str | int, ...]
"""Keys and positions that lead to a value inside of an object."""

ORDER_ASKED = re.compile(
    r"\b(sort|order|rank|arrange|ascending|descending|chronological|sequence|steps?)",
    re.IGNORECASE,
)
"""What a prompt says that asks for an order."""


def near_structure(
    says: str, *kinds: str, family: str = "near_misses"
) -> Callable[[Build], Strategy]:
    """Make a strategy for answers with parts, of a function that writes near misses."""
    return strategy(family, says, knows="near", kinds=kinds)


def _write(subject: Subject, value: Any) -> str:
    return subject.format.write(json.dumps(value, ensure_ascii=False))


# --- objects


@near_structure("an object with one wrong value", "json")
def one_value(subject: Subject) -> Iterator[str]:
    """Change the last of several values, and the first."""
    right = json.loads(subject.right)
    places = list(_find_leaves(right))
    if len(places) > 1:
        for place in dict.fromkeys((places[-1], places[0])):
            other = change_values(_value_at(right, place))
            yield _write(subject, _with_values(right, {place: other}))


def _find_leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the places of all values that are no objects or lists."""
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    else:
        yield place
        return
    for key, child in children:
        yield from _find_leaves(child, (*place, key))


def _value_at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def _with_values(value: Any, values: dict[Place, Any]) -> Any:
    """Return a copy of an object with other values in some places."""
    changed = copy.deepcopy(value)
    for (*path, last), new_value in values.items():
        _value_at(changed, tuple(path))[last] = new_value
    return changed


@near_structure("an object whose values contain the right ones", "json")
def longer_values(subject: Subject) -> Iterator[str]:
    right = json.loads(subject.right)
    if isinstance(right, dict) and right:
        yield _write(subject, _extend_values(right))


def _extend_values(value: Any) -> Any:
    """Return a copy with something added to each value."""
    if isinstance(value, dict):
        return {key: _extend_values(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_extend_values(child) for child in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return int(f"1{abs(value)}6")
    return f"un{value}less" if isinstance(value, str) else value


@near_structure("an object without one of its keys", "json")
def one_key(subject: Subject) -> Iterator[str]:
    right = json.loads(subject.right)
    if isinstance(right, dict) and len(right) > 1:
        right.popitem()
        yield _write(subject, right)


@near_structure("an object with two of its values exchanged", "json")
def swapped_values(subject: Subject) -> Iterator[str]:
    """Exchange two different values of one type that stand behind different keys."""
    right = json.loads(subject.right)
    places = [place for place in _find_leaves(right) if place]
    named = [place for place in places if isinstance(place[-1], str)]
    for here, other in itertools.combinations(named, 2):
        first, second = _value_at(right, here), _value_at(right, other)
        is_different = type(first) is type(second) and first != second
        if is_different and here[-1] != other[-1]:
            yield _write(subject, _with_values(right, {here: second, other: first}))
            return


# --- lists


def _list_items(subject: Subject) -> list[Any]:
    """Return the items of the right answer, none where it is an object."""
    if subject.kind != "json":
        return list(split_items(subject.right)[0])
    right = read_json(subject.right)
    return right if isinstance(right, list) else []


def _write_items(subject: Subject, items: list[Any]) -> str:
    """Write a completion with these items in place of the right ones."""
    if subject.kind == "json":
        return _write(subject, items)
    _, joint = split_items(subject.right)
    return subject.format.write(joint.join(items))


@near_structure(
    "one of the right items over and over", "list", "json", family="shotgun"
)
def repeated_item(subject: Subject) -> Iterator[str]:
    items = _list_items(subject)
    if len(set(map(str, items))) > 1:
        yield _write_items(subject, items[:1] * (2 * len(items)))


@near_structure("the right items in another order", "list", "json")
def other_order(subject: Subject) -> Iterator[str]:
    if not ORDER_ASKED.search(subject.prompt):
        return
    items = _list_items(subject)
    if items[::-1] != items:
        yield _write_items(subject, items[1:] + items[:1])


@near_structure("a list with a wrong item, exchanged or added", "list")
def other_item(subject: Subject) -> Iterator[str]:
    items = _list_items(subject)
    for answer in subject.wrong:
        for wrong_item in split_items(answer)[0]:
            if wrong_item not in items:
                yield _write_items(subject, [*items[:-1], wrong_item])
                yield _write_items(subject, [*items, wrong_item])
                return


@near_structure("a list with one item more, or one less", "list", "json")
def one_item(subject: Subject) -> Iterator[str]:
    items = _list_items(subject)
    if items and subject.kind == "json":
        yield _write_items(subject, [*items, change_values(items[-1])])
    if len(items) > 1:
        yield _write_items(subject, items[:-1])
