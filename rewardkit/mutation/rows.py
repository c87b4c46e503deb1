"""What mutants are tried on: rows and their scores, each call made once.

A row on which a mutant differs most becomes a missing case.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.errors import CasesError
from rewardkit.mutation.code import Changed
from rewardkit.mutation.results import Difference, Judged
from rewardkit.primitives.messages import assistant_text
from rewardkit.reasons import Reason
from rewardkit.rewards.reward import ROLLOUT, Columns, Floats, Reward
from rewardkit.rewards.route import bind
from rewardkit.rollouts.columns import LOGGED
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.calls import Calls, concurrency
from rewardkit.scoring.cases import OWN_KEYS, Case, load_cases
from rewardkit.scoring.deadlines import TimeLimit, WorkersMaker, answered
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.expectations import columns_of
from rewardkit.scoring.expected import TOLERANCE
from rewardkit.scoring.outcomes import ERROR, Outcomes
from rewardkit.scoring.reuse import content_of
from rewardkit.workers.pool import Workers

LEAST_SECONDS = 2.0
"""Least seconds for a call of changed code without a time limit: it may loop."""

SLOWEST_MULTIPLE = 3.0
"""Times the original's slowest call that changed code may take then. Our choice."""


class Hangs(Exception):
    """Changed code took longer than it may."""


class BudgetOver(Exception):
    """There is no time left for new calls."""


class Memory(TimeLimit):
    """A time limit that remembers what functions gave for which arguments.

    Functions of the original reward run under `timeout`, as in `check`. Other code of
    users runs in worker processes under that time; without it for 2 s, or three times
    the slowest call of the original. After `budget` seconds new calls are BudgetOver; a
    call of the original that runs in this process is waited for.
    """

    def __init__(
        self,
        timeout: float | None,
        originals: Collection[Any],
        budget: float,
        workers: WorkersMaker = Workers,
    ) -> None:
        super().__init__(LEAST_SECONDS if timeout is None else timeout, workers=workers)
        self._timeout = timeout
        self._originals = {id(function): function for function in originals}
        self._answers: dict[Any, dict[Any, Any]] = {}
        self._alive: list[Any] = []  # what is known by its id must keep its place
        self._slowest = 0.0
        self._was_late = False
        self._budget, self._ends = budget, time.monotonic() + budget

    @property
    def seconds_left(self) -> float:
        """Return the seconds left of the budget."""
        return self._ends - time.monotonic()

    @staticmethod
    def needed(function: Callable[..., Any]) -> bool:
        """Return True: every call is remembered."""
        return True

    def run(self, calls: Calls) -> list[Any]:
        """Return what each call gives; only new arguments are called for.

        Raises:
            Hangs: Changed code took too long where the original did not.
            BudgetOver: There is no time left for new calls.
        """
        answers = self._answers.setdefault((id(calls.function), calls.settle), {})
        rows = list(zip(*calls.positional, *calls.keywords.values(), strict=True))
        if not rows:
            rows = [()] * calls.count
        keys = [tuple(map(content_of, row)) for row in rows]
        new = {key: row for row, key in enumerate(keys) if key not in answers}
        places = list(new.values())
        if places:
            self._alive += [calls.function, *(rows[place] for place in places)]
        is_users = TimeLimit.needed(calls.function)
        is_original = id(calls.function) in self._originals
        is_unlimited = is_original and self._timeout is None
        is_changed = isinstance(calls.function, Changed)
        runs_here = not is_changed and (is_unlimited or not is_users)
        size = calls.count
        if calls.is_async:
            size = concurrency(calls.function)
        elif runs_here and is_users:
            size = 1
        for start in range(0, len(places), size):  # the clock is read before each
            batch = places[start : start + size]
            positional, keywords, count = calls.columns(batch)
            part = replace(
                calls, positional=positional, keywords=keywords, count=count, notes=None
            )
            self._check()
            began = time.monotonic()
            if runs_here:
                values = answered(part)
            else:
                values = self._run_elsewhere(part, is_original)
            for place, value in zip(batch, values, strict=True):
                answers[keys[place]] = value
            if runs_here and is_users:
                self._slowest = max(self._slowest, time.monotonic() - began)
        return [answers[key] for key in keys]

    def _check(self) -> None:
        if self.seconds_left <= 0:
            raise BudgetOver(f"the budget of {self._budget:g} s was over")

    def _run_elsewhere(self, calls: Calls, is_original: bool) -> list[Any]:
        """Run calls in worker processes; after a late call of changed code no more."""
        limit = max(LEAST_SECONDS, SLOWEST_MULTIPLE * self._slowest)
        self.seconds = self._timeout or limit
        self._workers.seconds = max(0.01, min(self.seconds, self.seconds_left))
        self.patience = None if is_original or self._was_late else 1
        values = super().run(calls)
        self._check()
        if any(isinstance(value, Reason) and value.is_out_of_time for value in values):
            if self.patience:
                raise Hangs(f"a call took longer than {self.seconds:.3g} s")
            self._was_late = True
        return values

    def _ended(self, calls: Calls) -> Iterator[Any]:
        for answer in super()._ended(calls):
            yield answer
            self._check()


def outcomes_of(reward: Reward, columns: Columns, memory: Memory) -> Outcomes:
    """Score rows as `check` does, before any transform.

    Raises:
        Hangs: See `Memory`.
        BudgetOver: See `Memory`.
        CannotLimit: Changed code cannot be sent to a worker process.
    """
    return evaluate(bind(reward, columns), columns, limit=memory)


def find_late(outcomes: Outcomes) -> NDArray[np.bool_]:
    """Mark rows on which a call was ended, (rows,): a mutant may get further there."""
    is_late = np.zeros(len(outcomes.rewards), dtype=bool)
    for outcome in outcomes.components.values():
        for row, reason in outcome.reasons.items():
            is_late[row] |= reason.is_out_of_time
    return is_late


def distances(original: Outcomes, other: Outcomes) -> Floats:
    """Measure how far two rewards are apart in each row, (rows,).

    Infinite where one is judged and the other is not; 0 where a call of the original
    was ended.
    """
    unjudged, other_unjudged = np.isnan(original.rewards), np.isnan(other.rewards)
    away: Floats = np.abs(original.rewards - other.rewards)
    away[unjudged & other_unjudged] = 0.0
    away[unjudged ^ other_unjudged] = np.inf
    away[find_late(original)] = 0.0
    return np.round(away, 9)  # the same sum in another order is no difference


# --- rows and the cases that are missing

CLEAR_DIFFERENCE = 2 * TOLERANCE
"""Rewards further apart than this differ in a case with the usual tolerance."""

MOST_DIFFERENCES = 3
"""Rows that are listed for a survivor, the largest differences first."""

FIRST_CASE_COLUMNS = ("completion", "messages", "ground_truth")
"""Columns that stand first in a proposed case."""

ALWAYS_PROPOSED = ("completion", "ground_truth")
"""Columns that a proposed case has whether or not the reward asks for them."""

FIRST_ROLLOUTS = 8
"""Rollouts that are scored first. They show how long one takes, and whether a reward
that takes whole rows needs all their columns. Our choice."""

SHARE_FOR_ROLLOUTS = 0.3
"""Share of the remaining budget that the reward may take on rollouts. Our choice."""

MOST_FAILING = 0.5
"""Share of failing cases above which none are proposed: they would state what a faulty
reward gives."""


@dataclass(frozen=True, eq=False)
class TrialRows:
    """Rollouts, then cases, with what the reward gives for them.

    `labels` are the id of a rollout, or the name of a case, beside None. `allowed`
    marks the rows that may become proposed cases.
    """

    labels: Sequence[tuple[Any, str | None]]
    rollouts: int
    columns: Mapping[str, Sequence[Any]]
    original: Outcomes
    allowed: NDArray[np.bool_]  # (rows,)

    def completion(self, row: int) -> str:
        """Return the completion of a row."""
        if "completion" in self.columns:
            text = self.columns["completion"][row]
        else:
            text = assistant_text(self.columns["messages"][row])
        return text if isinstance(text, str) else ""

    def ordered(self, away: Floats) -> list[int]:
        """List the rows that tell a mutant apart: largest difference, then shortest."""
        rows = np.flatnonzero(away).tolist()
        return sorted(rows, key=lambda row: (-away[row], len(self.completion(row))))

    def difference(self, row: int, mutant: Outcomes) -> Difference:
        """Compare the rewards of a row."""
        rewards = float(self.original.rewards[row]), float(mutant.rewards[row])
        return Difference(*self.labels[row], *rewards, self.completion(row))


def make_rows(
    reward: Reward,
    cases: Sequence[Case],
    of_cases: Outcomes,
    failing: set[int],
    rollouts: Rollouts | None,
    order: Sequence[int],
    memory: Memory,
) -> TrialRows:
    """Score as many rollouts as time allows, and the cases, as rows in that order.

    Keep the cases alone where the budget ends. Rows that are `allowed` may become
    proposed cases: not those that fail or raise, and none where over half the cases
    fail or a column cannot stand in a case.

    Args:
        reward: The original reward.
        cases: The cases, whose rows it gives `of_cases`.
        of_cases: What the reward gives for each of their completions.
        failing: Rows of them whose case fails already.
        rollouts: The user's rollouts, if any.
        order: Positions of the rollouts, in the order in which to try them.
        memory: Holds the budget and the calls made so far.
    """
    ids, logged = _rollouts_in_time(reward, rollouts, order, memory)
    from_cases = columns_of(cases)
    names = []
    for case in cases:
        names += [case.name] * len(case.rows)
    blank = [None] * len(names)
    columns: dict[str, list[Any]] = {}
    for name in logged or from_cases:
        if name in reward.needs or _can_be_in_case(name):
            columns[name] = [*logged.get(name, ()), *from_cases.get(name, blank)]
    try:
        original = outcomes_of(reward, columns, memory)
    except BudgetOver:
        ids, columns, original = [], from_cases, of_cases
    allowed = np.ones(len(ids) + len(names), dtype=bool)
    allowed[[len(ids) + row for row in failing]] = False
    for outcome in original.components.values():
        allowed &= outcome.status != ERROR
    if len(failing) > MOST_FAILING * len(names):
        allowed[:] = False
    if not all(map(_can_be_in_case, columns)):
        allowed[:] = False
    labels: list[tuple[Any, str | None]] = [(rollout_id, None) for rollout_id in ids]
    labels += [(None, name) for name in names]
    return TrialRows(labels, len(ids), columns, original, allowed)


def _rollouts_in_time(
    reward: Reward, rollouts: Rollouts | None, order: Sequence[int], memory: Memory
) -> tuple[list[Any], dict[str, list[Any]]]:
    """Return ids and columns of the rollouts there is time for.

    They are the columns that the reward asks for. A reward that takes whole rows, as
    functions of trainers do, gets all columns if the first rows need them.
    """
    if rollouts is None or not order:
        return [], {}
    takes_rows = ROLLOUT in reward.needs
    columns = rollouts.as_logged() if takes_rows else rollouts.columns()
    wanted = {*reward.needs, *ALWAYS_PROPOSED}
    named = {name: column for name, column in columns.items() if name in wanted}
    first = order[:FIRST_ROLLOUTS]
    before = memory.seconds_left
    try:
        with_all = outcomes_of(reward, _select(columns, first), memory)
        seconds = max(before - memory.seconds_left, 1e-6) / len(first)
        with_named = outcomes_of(reward, _select(named, first), memory)
    except BudgetOver:
        return [], {}
    if not distances(with_all, with_named).any():
        columns = named
    places = sorted(order[: int(SHARE_FOR_ROLLOUTS * memory.seconds_left / seconds)])
    ids = rollouts.select(places).table["rollout_id"].tolist()
    return ids, _select(columns, places)


def _select(columns: Columns, rows: Sequence[int]) -> dict[str, list[Any]]:
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def _can_be_in_case(name: str) -> bool:
    """Whether a column can stand in a case, where some names are expectations."""
    if name in OWN_KEYS or name.startswith(LOGGED):
        return False
    try:
        load_cases([{"completion": "", "reward": 0.0, name: ""}])
    except CasesError:
        return False
    return True


def propose_cases(
    rows: TrialRows, judged: Sequence[Judged], away: Mapping[int, Floats]
) -> tuple[list[Judged], list[dict[str, Any]]]:
    """Propose a case for each survivor: the row on which it differs most.

    Survivors with the same row share a case. A case expects what the reward gives now.

    Args:
        rows: Rows to make cases of.
        judged: All mutants.
        away: Place of a survivor -> how far each row is from the reward, (rows,).

    Returns:
        The mutants, each survivor with its case, and the cases.
    """
    survivors: dict[int, list[int]] = defaultdict(list)
    for place, far in away.items():
        apart = rows.ordered(np.where(rows.allowed, far, 0.0))
        if apart:
            survivors[apart[0]].append(place)
    with_cases, cases = list(judged), []
    for row, places in survivors.items():
        sentences = [judged[at].mutant.sentence.rstrip(".") for at in places]
        nearest = min(float(away[at][row]) for at in places)
        case = {
            "name": f"tells apart: {sentences[0]}",
            **_columns_of(rows, row),
            **_expectation(float(rows.original.rewards[row]), nearest),
            "why": "Proposed, with what the reward gives now: is it right? "
            f"It catches: {'; '.join(sentences)}",
        }
        cases.append(case)
        for at in places:
            with_cases[at] = replace(judged[at], case=case)
    return with_cases, cases


def _columns_of(rows: TrialRows, row: int) -> dict[str, Any]:
    """Return the columns of a row as a case has them."""
    names = dict.fromkeys([*FIRST_CASE_COLUMNS, *rows.columns])
    values = {name: rows.columns[name][row] for name in names if name in rows.columns}
    if "messages" in values:
        if assistant_text(values["messages"]) == values.get("completion"):
            del values["completion"]
    return values


def _expectation(reward: float, nearest: float) -> dict[str, Any]:
    """Expect a reward, with a tolerance of its own where a mutant comes near it."""
    expected = "unscored" if np.isnan(reward) else round(reward, 9)
    if nearest > CLEAR_DIFFERENCE:
        return {"reward": expected}
    return {"reward": expected, "tolerance": float(f"{nearest / 2:.3g}")}
