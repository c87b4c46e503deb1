"""The log: its rows, what was scored of them, and other completions for them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from rewardkit.analysis.context import read_label
from rewardkit.analysis.statistics import Floats
from rewardkit.answers.formats import Format
from rewardkit.answers.truth_column import NO_TRUTH_COLUMNS
from rewardkit.errors import CasesError, RolloutsError
from rewardkit.findings import BY_PROBING
from rewardkit.probes.runner import (
    UNTRIED,
    RowOutcome,
    Tries,
    are_equal,
    both_answers,
    rewards_in,
)
from rewardkit.rollouts.columns import lists_of_columns
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import as_column
from rewardkit.scoring.cases import Case
from rewardkit.strategies.strategy import (
    Completion,
    Row,
    Subject,
    completion_of,
    prompt_of,
)

MOST_PARTS_OF_LOG = 24
"""Data sources, or parts of a route, that are probed, the largest first. Our choice."""

MOST_IN_ORDER = 24  # prompts of a part up to which they stay in the log's order
MOST_SCORED = 96  # rollouts of a part that are scored to calibrate it
MOST_READ = 2000  # rollouts of a log that are scored to find right ones that lose
MOST_SIBLINGS = 16  # scored rollouts of a prompt
MOST_SIBLING_ROWS = 8  # rows of a group, if the reward looks at groups
SHARE_OF_TRY = 0.3  # share of the remaining budget for one try of completions

Item = TypeVar("Item")


@dataclass(eq=False)
class ScoredPart:
    """The rows of one data source, or part of a route, and the reward to try them on.

    Attributes:
        tries: The reward, and an account of what was tried.
        rows: All rows of the log.
        groups: Codes of the rows' groups, (rows,).
        labels: Whether a trusted column calls each row right, see `read_labels`; empty
            without such a column.
        outcomes: Place -> the outcome of its row; shared with the other parts.
        name: The name of the part, "" if it is the only one.
        places: The places of the part's rows, see `score` for their order.
        rewards: All rewards in this part so far, of logged and of written completions.
        low: The lowest reward of its rollouts, see `score`.
        high: The highest reward of its rollouts.
    """

    tries: Tries
    rows: Sequence[Row]
    groups: Any
    labels: Sequence[bool | None] = ()
    outcomes: dict[int, RowOutcome] = field(default_factory=dict)
    name: str = ""
    places: Sequence[int] = ()
    rewards: list[float] = field(default_factory=list)
    low: float = math.nan
    high: float = 0.0

    def split(self, names: Sequence[str]) -> list[ScoredPart]:
        """Split all rows by name, the largest part first; a single part has no name."""
        places = defaultdict(list)
        for place, name in enumerate(names):
            places[name].append(place)
        if len(places) == 1:
            return [replace(self, places=range(len(names)))]
        largest = sorted(places, key=lambda name: (-len(places[name]), name))
        return [
            replace(self, name=name, places=places[name], rewards=[])
            for name in largest[:MOST_PARTS_OF_LOG]
        ]

    @property
    def span(self) -> float:
        """Return the difference between the highest and the lowest reward."""
        return self.high - self.low

    @property
    def is_flat(self) -> bool:
        """Return whether all rollouts that were scored earn the same."""
        return self.span <= 1e-9

    def score(self, draw: np.random.Generator, *, share: float) -> None:
        """Score rows: siblings of prompts that are drawn at random, up to a number.

        A log may list one kind of task after the other, so many prompts are put into
        the order in which they were drawn. If all rollouts earn the same, as all are
        right or all wrong, `low` is the least that exchanged completions earn.

        Args:
            draw: Draws prompts.
            share: Share of the remaining budget that may be used.
        """
        prompts = self.by_prompt(self.places)
        drawn = draw.permutation(sorted(prompts)).tolist()
        if len(drawn) > MOST_IN_ORDER:
            self.places = [place for group in drawn for place in prompts[group]]
        places = []
        for group in drawn:
            places += prompts[group][:MOST_SIBLINGS]
        places = places[:MOST_SCORED]
        self._score_places(places, share)
        rewards = [self.earned(place) for place in self.ranked(places)]
        if not rewards:
            return
        self.low, self.high = rewards[-1], rewards[0]
        self.rewards += rewards
        if are_equal(rewards) and not self.tries.by_group:
            firsts = [group[0] for group in self.by_prompt(places).values()]
            self.low = min(self.low, float(self._try_exchanged(firsts).min()))

    def score_rest(self, *, share: float) -> None:
        """Score the other rows of the log, up to a number, unless a model is asked."""
        if self.tries.asks_model or self.tries.late:
            return
        unscored = [
            place for place in range(len(self.rows)) if place not in self.outcomes
        ]
        self._score_places(unscored[: max(0, MOST_READ - len(self.outcomes))], share)

    def _score_places(self, places: Sequence[int], share: float) -> None:
        rows = [self.rows[place] for place in places]
        siblings = [self.siblings(place) for place in places]
        outcomes = self.tries.outcomes(rows, siblings, share=share)
        for place, outcome in zip(places, outcomes, strict=True):
            if outcome.is_tried:
                self.outcomes[place] = outcome

    def _try_exchanged(self, places: Sequence[int]) -> Floats:
        """Try rows with another row's completion, and with an empty one.

        A completion that is not judged counts as the highest.
        """
        subjects = []
        for place, other in zip(places, [*places[1:], *places[:1]], strict=True):
            text = self.text(other)
            subjects.append(replace(self.plain(place), reference=text, baseline=""))
        return np.nan_to_num(self.score_answers(subjects), nan=self.high)

    def text(self, place: int) -> str:
        """Return a row's completion."""
        return completion_of(self.rows[place])

    def earned(self, place: int) -> float:
        """Return the reward of a row; -inf if it was not scored or not judged."""
        outcome = self.outcomes.get(place, UNTRIED)
        return outcome.reward if outcome.is_judged else -math.inf

    def ranked(self, places: Sequence[int]) -> list[int]:
        """Return the judged rows among `places`, the highest reward first."""
        judged = [place for place in places if self.earned(place) > -math.inf]
        return sorted(judged, key=lambda place: -self.earned(place))

    def by_prompt(self, places: Iterable[int]) -> dict[int, list[int]]:
        """Group rows by the code of their group, in the given order."""
        groups = defaultdict(list)
        for place in places:
            groups[int(self.groups[place])].append(place)
        return groups

    def group(self, place: int) -> list[int]:
        """List the rows of a row's group, including the row itself."""
        return list(map(int, np.flatnonzero(self.groups == self.groups[place])))

    def siblings(self, place: int) -> tuple[Row, ...]:
        """Return the other rows of a row's group, if the reward looks at groups."""
        if not self.tries.by_group:
            return ()
        places = self.group(place)[:MOST_SIBLING_ROWS]
        return tuple(self.rows[other] for other in places if other != place)

    def truth(self, place: int) -> dict[str, Any]:
        """Return the filled columns of a row that may hold a truth."""
        names = {"ground_truth", *self.tries.reward.needs} - NO_TRUTH_COLUMNS
        row = self.rows[place]
        return {name: row[name] for name in sorted(names) if row.get(name) is not None}

    def plain(self, place: int) -> Subject:
        """Make a subject of a row without a known answer."""
        subject = plain_subject(self.rows[place])
        return replace(subject, part=self.name, siblings=self.siblings(place))

    def score_all(self, completions: Sequence[Completion]) -> list[float]:
        """Return the rewards of completions; NaN if one was not tried or not judged."""
        rewards = rewards_in(self.tries.on(completions, share=SHARE_OF_TRY))
        self.rewards += [reward for reward in rewards if not math.isnan(reward)]
        return rewards

    def score_answers(self, subjects: Iterable[Subject]) -> Floats:
        """Return the rewards of right and wrong answers of subjects, (subjects, 2)."""
        return np.array(self.score_all(both_answers(subjects))).reshape(-1, 2)


def plain_subject(row: Row) -> Subject:
    """Make a subject of a row without a known answer."""
    text, form, row_id = completion_of(row), Format("bare"), row.get("rollout_id")
    return Subject(row_id, row, prompt_of(row), None, "text", (), form, text, text)


def in_turn(items: Iterable[Item], key: Callable[[Item], Hashable]) -> list[Item]:
    """Order items: the first of each key, then the second of each, and so on.

    >>> in_turn(["a1", "a2", "b1"], lambda item: item[0])
    ['a1', 'b1', 'a2']
    """
    turns: defaultdict[Hashable, Iterator[int]] = defaultdict(count)
    return sorted(items, key=lambda item: next(turns[key(item)]))


def read_labels(values: Sequence[Any], name: str) -> list[bool | None]:
    """Read from labels whether each row is right; None if the label is missing.

    Unlike in `read_label`, all rows may be right, or all wrong.

    Raises:
        RolloutsError: There are no labels, or they are not read as right and wrong.

    >>> read_labels(["true", "No", None], "ok"), read_labels([-1, 1, -1], "ok")
    ([True, False, None], [False, True, False])
    >>> read_labels([0, 0], "ok")
    [False, False]
    """
    labels, why = read_label(values, name, may_be_one=True)
    if labels is None:
        raise RolloutsError(f"the label {why}")
    return [None if np.isnan(label) else bool(label) for label in labels]


# --- rollouts from cases


def rollouts_of(cases: Sequence[Case]) -> Rollouts:
    """Return cases as rollouts, each with the name of its case and its own group.

    Raises:
        CasesError: A probe wrote all of them.
    """
    if all(map(_is_of_probe, cases)):
        raise CasesError(
            f"a probe wrote all of these cases ({len(cases)}), and none of them is a "
            "place to probe from; give rollouts as well, or cases with right answers"
        )
    return with_cases(Rollouts(pd.DataFrame(), {}, (), source="cases"), cases)


def with_cases(rollouts: Rollouts, cases: Sequence[Case]) -> Rollouts:
    r"""Return rollouts followed by cases, each with its own group.

    Cases that a probe wrote are left out, since they do not show how answers are
    written. Cases that are among the rollouts already are not repeated.

    >>> half = Case("half a letter", {"completion": "\ud83d"})
    >>> table = pd.DataFrame({"rollout_id": [7], "completion": "4"})
    >>> rollouts = Rollouts(table, {}, ())
    >>> with_cases(rollouts, [half])[1]
    {'rollout_id': 'case half a letter', 'completion': '\ud83d'}
    """
    ids = set(rollouts.table.get("rollout_id", ()))
    rows = []
    for case in cases:
        case_id = f"case {case.name}"
        if case_id in ids or _is_of_probe(case):
            continue
        rows.append({**case.columns, "rollout_id": case_id})
        if case.below is not None:
            rows.append({**case.below, "rollout_id": f"{case_id}, below"})
    lists = lists_of_columns([*rollouts, *rows])
    columns = {name: as_column(values) for name, values in lists.items()}
    return replace(rollouts, table=pd.DataFrame(columns))


def _is_of_probe(case: Case) -> bool:
    """Return whether a probe wrote the case."""
    return case.why.startswith(BY_PROBING)
