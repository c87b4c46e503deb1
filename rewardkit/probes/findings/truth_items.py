"""The rule of lists in truths: an item that decides nothing where its twin does.

Results that a reward keeps under the name of each constraint lose the first of two with
one name. Values of a list's items are changed one at a time, on completions that were
paid: a limit to a hundred times as much and to 0, a word to a strange one.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.findings import Finding, Findings, rule
from rewardkit.plain import is_number
from rewardkit.primitives.messages import read_strict_json
from rewardkit.probes.falls import NOISY
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import rewards_in
from rewardkit.strategies.strategy import Row

MOST_PROMPTS, LEAST_PROMPTS = 24, 4
"""Prompts that are tried, and that have to show it. Our choice."""
SHARE_OF_PROMPTS = 0.5
"""Share of the prompts with twins that have to show it. Our choice."""
SHARE_OF_ITEMS = 0.1  # share of the remaining budget for changing items: our choice
STRANGE_WORD = "qzxv"

Path = tuple[str, ...]
"""Keys of objects that lead to a value."""


@dataclass(frozen=True)
class Leaf:
    """A value in an item of a list: keys to the list, its place, keys to the value."""

    listed: Path
    place: int
    inner: Path
    value: Any

    @property
    def others(self) -> Sequence[Any]:
        """Values one of which breaks what this one asks for."""
        if not is_number(self.value):
            return (STRANGE_WORD,)
        return (100 * self.value or 100, 0 if self.value else -100)


@rule("item_unread")
def unread_items(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report truths with two like items of which only one moves the reward.

    Only of lists of which several items count: of several answers one is enough.
    """
    if observed.noise > NOISY:
        return
    rows: dict[tuple[str, str], Row] = {}
    for answer in observed.logged:
        if answer.is_paid and _find_twins(_list_leaves(answer.row)):
            rows.setdefault(answer.prompt, answer.row)
    if len(rows) < LEAST_PROMPTS:
        return
    lists: dict[Path, int] = defaultdict(int)
    unread: dict[tuple[Path, Path], list[bool]] = defaultdict(list)
    shown: dict[tuple[Path, Path], tuple[Row, float]] = {}
    for row in list(rows.values())[:MOST_PROMPTS]:
        leaves = _list_leaves(row)
        moved, reward = _find_moved(observed, row, leaves)
        places = {(leaf.listed, leaf.place) for leaf in leaves if moved.get(leaf)}
        for listed in {listed for listed, _ in places}:
            lists[listed] += sum(name == listed for name, _ in places) > 1
        for key, twins in _find_twins(leaves).items():
            verdicts = [moved[leaf] for leaf in twins if leaf in moved]
            if any(verdicts):
                unread[key].append(not all(verdicts))
                if not all(verdicts):
                    shown[key] = row, reward
    for key, verdicts in unread.items():
        count, (listed, inner) = sum(verdicts), key
        is_all_asked = lists[listed] >= LEAST_PROMPTS
        is_frequent = count >= max(LEAST_PROMPTS, SHARE_OF_PROMPTS * len(verdicts))
        if is_all_asked and is_frequent:
            yield observed.finding(
                "item_unread",
                len(verdicts),
                count,
                examples=[observed.row_example(*shown[key], "item_unread")],
                listed=".".join(listed) or "ground_truth",
                key=".".join(inner),
                logged=True,
            )


def _find_moved(
    observed: Observed, row: Row, leaves: Sequence[Leaf]
) -> tuple[dict[Leaf, bool], float]:
    """Return whether another value of each leaf moves the reward, and the reward.

    A leaf is left out where that is not known.
    """
    changed = [row]
    for leaf in leaves:
        for value in leaf.others:
            truth = _change(row["ground_truth"], leaf, value)
            changed.append(observed.tries.varied(row, ground_truth=truth))
    outcomes = observed.tries.outcomes(changed, share=SHARE_OF_ITEMS)
    reward, *rewards = rewards_in(outcomes)
    moved: dict[Leaf, bool] = {}
    for leaf in leaves:
        others = [rewards.pop(0) for _ in leaf.others]
        if any(abs(other - reward) > 1e-9 for other in others):
            moved[leaf] = True
        elif not any(map(math.isnan, [reward, *others])):
            moved[leaf] = False
    return moved, reward


def _find_twins(leaves: Sequence[Leaf]) -> dict[tuple[Path, Path], list[Leaf]]:
    """Return the numbers that several items of a list have under the same keys."""
    twins: dict[tuple[Path, Path], list[Leaf]] = defaultdict(list)
    for leaf in leaves:
        if is_number(leaf.value):
            twins[leaf.listed, leaf.inner].append(leaf)
    return {key: items for key, items in twins.items() if len(items) > 1}


def _list_leaves(row: Row) -> list[Leaf]:
    """Return the numbers and texts in objects that are items of the truth's lists."""
    truth = row.get("ground_truth")
    value = read_strict_json(truth) if isinstance(truth, str) else truth
    leaves = []
    for listed, items in _walk(value):
        for place, item in enumerate(items if isinstance(items, list) else ()):
            for inner, leaf in _walk(item if isinstance(item, Mapping) else {}):
                if is_number(leaf) or isinstance(leaf, str):
                    leaves.append(Leaf(listed, place, inner, leaf))
    return leaves


def _walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield what stands in objects within objects, and how it is reached."""
    if not isinstance(value, Mapping):
        yield path, value
        return
    for key, inner in value.items():
        yield from _walk(inner, (*path, key))


def _change(truth: Any, leaf: Leaf, value: Any) -> Any:
    """Return the truth with another value of a leaf, as text where it is one."""
    copy = json.loads(truth if isinstance(truth, str) else json.dumps(truth))
    inner = copy
    for key in leaf.listed:
        inner = inner[key]
    inner = inner[leaf.place]
    for key in leaf.inner[:-1]:
        inner = inner[key]
    inner[leaf.inner[-1]] = value
    return json.dumps(copy) if isinstance(truth, str) else copy
