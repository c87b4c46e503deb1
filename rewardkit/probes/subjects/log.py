"""Log: the rollouts as rows, what those that were scored earned, and other completions in their place."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

import numpy as np

from rewardkit.analysis.context import truths
from rewardkit.answers.formats import Format
from rewardkit.errors import RolloutsError, preview
from rewardkit.primitives.messages import content_text
from rewardkit.probes.runner import RowOutcome, Tries, are_equal
from rewardkit.rollouts.logs.log import numeric
from rewardkit.strategies.subject import Row, Subject

PARTS = 24
"""Data sources, or parts of a route, that are probed, the largest first. Our choice."""

POOL = 96  # rollouts of a part that are scored to see what the reward gives
SIBLINGS = 16  # of a prompt, at the most
BESIDE = 8  # rows of a group, where the reward looks at it
NO_TRUTHS = {
    "prompt",
    "completion",
    "messages",
    "data_source",
    "prompt_id",
    "rollout_id",
    "step",
}


Item = TypeVar("Item")


@dataclass(eq=False)
class Part:
    """One data source, or part of a route: its name, the places of its rows, and what they earn."""

    name: str
    places: list[int]
    seen: list[float] = field(default_factory=list)
    """All rewards that were seen of it, of the log and of what was tried."""
    low: float = math.nan
    high: float = 0.0
    """The lowest and highest reward of its rollouts, see `Log.score`."""


def parts(column: str, rows: Sequence[Row]) -> list[Part]:
    """The rows by what answers may differ in: the parts of a route, or the data sources."""
    found: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        found[str(row[column]) if row.get(column) is not None else ""].append(place)
    largest = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))[:PARTS]
    return [Part(name if len(found) > 1 else "", places) for name, places in largest]


@dataclass(eq=False)
class Log:
    """Rows and their groups, and the reward to try them on; `outcomes` by place of what was scored so far.

    `labels` says of each row whether a trusted column calls it right, see `labels_of`; empty where there is
    none.
    """

    tries: Tries
    rows: Sequence[Row]
    groups: Any  # (rows,) codes
    labels: Sequence[bool | None] = ()
    outcomes: dict[int, RowOutcome] = field(default_factory=dict)

    def score(self, part: Part, draw: np.random.Generator, *, share: float) -> None:
        """Score rows of a part: all siblings of prompts drawn at random, up to a number.

        Where all earn the same, as all are right or all wrong, `low` is what other completions earn there.
        """
        prompts = self.by_prompt(part.places)
        order = draw.permutation(sorted(prompts)).tolist()
        places = [place for group in order for place in prompts[group][:SIBLINGS]][
            :POOL
        ]
        rows = [self.rows[place] for place in places]
        outcomes = self.tries.outcomes(rows, [*map(self.siblings, places)], share=share)
        self.outcomes |= {
            place: out
            for place, out in zip(places, outcomes, strict=True)
            if out is not None
        }
        judged = [
            self.earned(place) for place in places if self.earned(place) > -math.inf
        ]
        if judged:
            part.low, part.high = min(judged), max(judged)
        part.seen += judged
        if judged and are_equal(part.seen) and not self.tries.by_group:
            firsts = [some[0] for some in self.by_prompt(places).values()]
            part.low = min(part.low, *self._exchanged(part, firsts))

    def _exchanged(self, part: Part, places: Sequence[int]) -> list[float]:
        """What rows earn with another's completion, or with none; of what is not judged the highest."""
        texts = [self.text(place) for place in [*places[1:], *places[:1]]]
        tried = [
            (self.plain(place, part), text)
            for place, other in zip(places, texts, strict=True)
            for text in (other, "")
        ]
        return [
            part.high if math.isnan(reward) else reward
            for reward in self.rewards(part, tried)
        ]

    def text(self, place: int) -> str:
        """A row's completion."""
        return str(self.rows[place].get("completion"))

    def earned(self, place: int) -> float:
        """What a row earned; -inf where it was not scored, or not judged."""
        outcome = self.outcomes.get(place)
        return outcome.reward if outcome is not None and outcome.judged else -math.inf

    def ranked(self, places: Sequence[int]) -> list[int]:
        """The rows that were judged, the best paid first."""
        return sorted(
            (at for at in places if self.earned(at) > -math.inf),
            key=lambda at: -self.earned(at),
        )

    def by_prompt(self, places: Iterable[int]) -> dict[int, list[int]]:
        """Rows by the code of their group, in the order in which they are given."""
        found: dict[int, list[int]] = defaultdict(list)
        for place in places:
            found[int(self.groups[place])].append(place)
        return found

    def beside(self, place: int) -> list[int]:
        """The rows of its group, the row itself among them."""
        return list(np.flatnonzero(self.groups == self.groups[place]).tolist())

    def siblings(self, place: int) -> tuple[Row, ...]:
        """The rows beside one in its group, where the reward looks at them."""
        beside = self.beside(place)[:BESIDE] if self.tries.by_group else []
        return tuple(self.rows[other] for other in beside if other != place)

    def truth(self, place: int) -> dict[str, Any]:
        """The columns of a row that a reward may hold a completion against, where they are given."""
        names = {"ground_truth", *self.tries.reward.needs} - NO_TRUTHS
        row = self.rows[place]
        return {name: row[name] for name in sorted(names) if row.get(name) is not None}

    def plain(self, place: int, part: Part, *, baseline: str = "") -> Subject:
        """A row as a subject of which nothing is known but what it earns."""
        row, text, beside = self.rows[place], self.text(place), self.siblings(place)
        key, prompt, form = (
            row.get("rollout_id", place),
            prompt_text(row.get("prompt")),
            Format("bare"),
        )
        return Subject(
            key,
            row,
            prompt,
            None,
            "text",
            (),
            form,
            text,
            baseline or text,
            part.name,
            beside,
        )

    def rewards(self, part: Part, tried: Sequence[tuple[Subject, str]]) -> list[float]:
        """What completions of subjects earn; NaN where not judged, or not tried."""
        outcomes = self.tries.on(
            [(subject, text, {}) for subject, text in tried], share=0.3
        )
        rewards = [
            math.nan if outcome is None else outcome.reward for outcome in outcomes
        ]
        part.seen += [reward for reward in rewards if not math.isnan(reward)]
        return rewards


def in_turn(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[Item]:
    """The items, the first of each key, then the second of each, and so on.

    >>> in_turn(["a1", "a2", "b1"], lambda item: item[0])
    ['a1', 'b1', 'a2']
    """
    turns: defaultdict[Hashable, Iterator[int]] = defaultdict(count)
    return sorted(items, key=lambda item: next(turns[key(item)]))


def labels_of(values: Sequence[Any], name: str) -> list[bool | None]:
    """Whether each row is right by the label of this name; ``None`` where it says nothing.

    True and false, also as texts; or numbers, of two the higher, of one what is not 0. RolloutsError: others.

    >>> labels_of(["true", "False", None], "ok"), labels_of([-1, 1, -1], "ok"), labels_of([0, 0], "ok")
    ([True, False, None], [False, True, False], [False, False])
    """
    given = [
        None if value is None or value != value else value
        for value in truths(list(values))
    ]
    known = [value for value in given if value is not None]
    levels = list(dict.fromkeys(known))
    if known and (not numeric(known) or len(levels) > 2):
        raise RolloutsError(
            f"the label {name!r} holds {', '.join(map(preview, levels[:3]))}, of which it is not known what "
            "is right; make a column of true and false of it"
        )
    wrong = min(levels) if len(levels) == 2 else 0
    return [None if value is None else bool(value > wrong) for value in given]


def prompt_text(prompt: Any) -> str:
    """A prompt as text: of chat messages what the last of them says."""
    if isinstance(prompt, Sequence) and not isinstance(prompt, str) and prompt:
        last = prompt[-1]
        content = last.get("content") if isinstance(last, dict) else last
        return content if isinstance(content, str) else content_text(content)
    return "" if prompt is None else str(prompt)
