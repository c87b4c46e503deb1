"""Rules on what a reward does not read: items of a truth, and phrases with capitals.

A reward that keeps its results by the name of each constraint loses the first of two
constraints with one name. To find that, values of a list's items are changed one at a
time on paid completions: a limit to a hundred times as much and to 0, a word to a
strange one. A phrase with capitals is never found in a text in lower case.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from rewardkit.findings import Finding, Findings, rule
from rewardkit.plain import is_number
from rewardkit.primitives.messages import read_strict_json
from rewardkit.probes.code.constants import constants, names_used
from rewardkit.probes.falls import NOISY
from rewardkit.probes.findings.evidence import Observed
from rewardkit.strategies.strategy import Row, completion_of
from rewardkit.strategies.values import with_values

MOST_PROMPTS, LEAST_PROMPTS = 12, 4
"""Most prompts that are tried, with twins and as many without; least prompts that must
show the fault. Our choice."""
SHARE_OF_PROMPTS = 0.5
"""Least share of the prompts with twins that must show the fault. Our choice."""
MOST_LIST_ITEMS = 10
"""Items of the longest list that is tried. Our choice."""
STRANGE_WORD = "qzxv"

Path = tuple[Any, ...]
"""Keys of objects that lead to a value."""
Item = tuple[Path, int]
"""Keys that lead to a list, and a place in it."""


@dataclass(frozen=True)
class Leaf:
    """A value in an item of a list: the item, and the keys in it to the value."""

    item: Item
    inner: Path
    value: Any

    @property
    def others(self) -> Sequence[Any]:
        """Return other values, of which at least one breaks the constraint."""
        if isinstance(self.value, bool):
            return (not self.value,)
        if not is_number(self.value):
            return (STRANGE_WORD,)
        if not self.value:
            return (100, -100)
        return (100 * self.value, 0)


@rule("item_unread")
def unread_items(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report truths with two items of the same keys of which only one is read.

    Several items of the list must count, as a list of accepted answers needs only one.
    """
    if observed.noise > NOISY:
        return
    with_twins, with_others = _choose_rows(observed)
    if len(with_twins) < LEAST_PROMPTS:
        return
    chosen = [*with_twins[:MOST_PROMPTS], *with_others[:MOST_PROMPTS]]
    lists: Counter[Path] = Counter()
    prompts: Counter[tuple[Path, Path]] = Counter()
    unread = defaultdict(list)
    for row, reward, moved in _move_items(observed, chosen):
        counts = Counter(listed for (listed, _), is_moved in moved.items() if is_moved)
        lists.update(listed for listed, count in counts.items() if count > 1)
        for key, twins in _find_twins(_list_leaves(row)).items():
            are_moved = [moved[item] for item in twins if item in moved]
            if not any(are_moved):
                continue
            prompts[key] += 1
            if not all(are_moved):
                unread[key].append((row, reward))
    for key, n in prompts.items():
        listed, inner = key
        rows = unread[key]
        is_frequent = len(rows) >= max(LEAST_PROMPTS, SHARE_OF_PROMPTS * n)
        if is_frequent and lists[listed] >= LEAST_PROMPTS:
            yield observed.finding(
                "item_unread",
                n,
                len(rows),
                rows=rows[-1:],
                listed=".".join(map(str, listed)) or "ground_truth",
                key=".".join(map(str, inner)),
                logged=True,
            )


def _choose_rows(observed: Observed) -> tuple[list[Row], list[Row]]:
    """Return a paid row of each prompt: those with twins, those with other items."""
    rows: dict[tuple[str, str], Row] = {}
    for answer in observed.logged:
        if answer.is_paid:
            rows.setdefault(answer.prompt, answer.row)
    with_twins = []
    with_others = []
    for row in rows.values():
        leaves = _list_leaves(row)
        if _find_twins(leaves):
            with_twins.append(row)
        elif len({leaf.item for leaf in leaves}) > 1:
            with_others.append(row)
    return with_twins, with_others


def _move_items(
    observed: Observed, rows: Sequence[Row]
) -> Iterator[tuple[Row, float, dict[Item, bool]]]:
    """Yield rows, their rewards, and for each item whether other values change these.

    An item is left out if that is not known.
    """
    changed = []
    for row in rows:
        changed.append(row)
        for leaf in _list_leaves(row):
            for value in leaf.others:
                truth = _change(row["ground_truth"], leaf, value)
                changed.append(observed.tries.varied(row, ground_truth=truth))
    rewards = iter(observed.tries.retry(changed))
    for row in rows:
        reward = next(rewards)
        changes = defaultdict(list)
        for leaf in _list_leaves(row):
            for _ in leaf.others:
                changes[leaf.item].append(abs(next(rewards) - reward))
        moved = {}
        for item, sizes in changes.items():
            is_moved = any(size > 1e-9 for size in sizes)  # not by NaN
            if is_moved or not any(map(math.isnan, sizes)):
                moved[item] = is_moved
        yield row, reward, moved


def _find_twins(leaves: Sequence[Leaf]) -> dict[tuple[Path, Path], list[Item]]:
    """Return items of a list that have a number under the same keys."""
    twins = defaultdict(list)
    for leaf in leaves:
        if is_number(leaf.value):
            listed, _ = leaf.item
            twins[listed, leaf.inner].append(leaf.item)
    return {key: items for key, items in twins.items() if len(items) > 1}


def _list_leaves(row: Row) -> list[Leaf]:
    """Return the values in objects that are items of the truth's lists."""
    truth = row.get("ground_truth")
    value = read_strict_json(truth) if isinstance(truth, str) else truth
    leaves = []
    for listed, items in _walk(value):
        if not isinstance(items, list) or len(items) > MOST_LIST_ITEMS:
            continue
        for place, item in enumerate(items):
            for inner, leaf in _walk(item):
                if inner and (is_number(leaf) or isinstance(leaf, str | bool)):
                    leaves.append(Leaf((listed, place), inner, leaf))
    return leaves


def _walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield each value in nested objects with its path."""
    if not isinstance(value, Mapping):
        yield path, value
        return
    for key, inner in value.items():
        yield from _walk(inner, (*path, key))


def _change(truth: Any, leaf: Leaf, value: Any) -> Any:
    """Return the truth with another value of a leaf; a text stays a text."""
    listed, place = leaf.item
    values = {(*listed, place, *leaf.inner): value}
    if isinstance(truth, str):
        return json.dumps(with_values(json.loads(truth), values))
    return with_values(truth, values)


FOLDING = frozenset({"lower", "casefold"})
"""Methods that make a text lower case."""

FEWEST_WORDS = 3
"""Words of a phrase: two may be a name. Our choice."""

LEAST_HOLDERS = 3
"""Least completions of the log that hold one of the phrases. Our choice."""

MOST_HOLDERS = 12
"""Most completions from which the phrases are removed. Our choice."""


@rule("phrase_unread")
def unread_phrases(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report phrases with capitals that code never finds in texts in lower case.

    The logged completions that hold them must earn the same without them.
    """
    functions = list(observed.reward.functions)
    if FOLDING.isdisjoint(names_used(functions)):
        return
    phrases = [re.escape(text) for text in constants(functions) if _is_phrase(text)]
    if not phrases:
        return
    pattern = re.compile("|".join(phrases).replace("'", "['’]"), re.IGNORECASE)
    holders = []
    for row, reward in observed.calibration.judged:
        if pattern.search(completion_of(row)):
            holders.append((row, reward))
    if len(holders) < LEAST_HOLDERS:
        return
    holders.sort(key=lambda holder: -holder[1])  # 0 cannot be lost
    sample = holders[:MOST_HOLDERS]
    changed = []
    for row, _ in sample:
        text = pattern.sub("", completion_of(row))
        changed.append(observed.tries.varied(row, text))
    if observed.tries.retry(changed) != [reward for _, reward in sample]:
        return
    row, reward = min(sample, key=lambda holder: len(completion_of(holder[0])))
    phrase, *_ = pattern.findall(completion_of(row))
    yield observed.finding(
        "phrase_unread",
        len(sample),
        len(sample),
        rows=[(row, reward)],
        phrase=phrase,
        holders=len(holders),
        judged=len(observed.pool),
    )


def _is_phrase(text: str | int) -> TypeGuard[str]:
    """Return whether a constant is several words of a sentence with a capital."""
    if not isinstance(text, str) or "\n" in text or text == text.lower():
        return False
    words = text.split()
    lower = [word for word in words if word.isalpha() and word.islower()]
    return len(words) >= FEWEST_WORDS and 2 * len(lower) >= len(words)
