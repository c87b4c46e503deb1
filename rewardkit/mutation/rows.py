"""Score the rows on which mutants are tried, and propose missing cases.

Each call is made once. The row on which a mutant differs most becomes a proposed case.
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
"""Least limit for a call of changed code, which may loop, without a `timeout`."""

SLOWEST_MULTIPLE = 3.0
"""Limit for changed code as a multiple of the original's slowest call. Our choice."""


class Hangs(Exception):
    """Changed code exceeded its time limit."""


class BudgetOver(Exception):
    """The budget is used up."""


class Memory(TimeLimit):
    """A time limit that caches the results of functions by their arguments.

    Functions of the original reward have the limit `timeout`, as in `check`. Changed
    code runs in worker processes with the same limit; without a `timeout` it is 2 s, or
    three times the original's slowest call if that is longer. After `budget` seconds
    new calls raise BudgetOver; a running call of the original in this process is not
    stopped.
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
        self._alive: list[Any] = []  # keeps objects alive whose ids are keys
        self._slowest = 0.0
        self._was_late = False
        self._budget = budget
        self._ends = time.monotonic() + budget

    @property
    def seconds_left(self) -> float:
        """Return the seconds left of the budget."""
        return self._ends - time.monotonic()

    @staticmethod
    def needed(function: Callable[..., Any]) -> bool:
        """Return True, so that every call is cached."""
        return True

    def run(self, calls: Calls) -> list[Any]:
        """Return the result of each call, from the cache if possible.

        Raises:
            Hangs: Changed code took too long where the original did not.
            BudgetOver: The budget is used up.
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
        for start in range(0, len(places), size):  # the budget is checked before each
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
        """Run calls in worker processes; stop after a late call of changed code."""
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

    def _finished(self, calls: Calls) -> Iterator[Any]:
        for answer in super()._finished(calls):
            yield answer
            self._check()


def outcomes_of(reward: Reward, columns: Columns, memory: Memory) -> Outcomes:
    """Score rows as `check` does, before any transform.

    Raises:
        Hangs: See `Memory.run`.
        BudgetOver: See `Memory.run`.
        CannotLimit: Changed code cannot be sent to a worker process.
    """
    return evaluate(bind(reward, columns), columns, limit=memory)


def find_late(outcomes: Outcomes) -> NDArray[np.bool_]:
    """Return a mask (rows,) of rows with a call that exceeded its time."""
    is_late = np.zeros(len(outcomes.rewards), dtype=bool)
    for outcome in outcomes.components.values():
        for row, reason in outcome.reasons.items():
            is_late[row] |= reason.is_out_of_time
    return is_late


def distances(original: Outcomes, other: Outcomes) -> Floats:
    """Return the distances of two rewards by row, (rows,).

    Infinite if only one of them is judged; 0 if a call of the original exceeded its
    time.
    """
    is_unjudged = np.isnan(original.rewards)
    is_other_unjudged = np.isnan(other.rewards)
    row_distances: Floats = np.abs(original.rewards - other.rewards)
    row_distances[is_unjudged & is_other_unjudged] = 0.0
    row_distances[is_unjudged ^ is_other_unjudged] = np.inf
    row_distances[find_late(original)] = 0.0
    return np.round(row_distances, 9)  # another order of summation is no difference


# --- rows and the cases that are missing

CLEAR_DIFFERENCE = 2 * TOLERANCE
"""Least difference that a case with the default tolerance is certain to notice."""

MOST_DIFFERENCES = 3
"""Most rows listed for a survivor, largest differences first."""

FIRST_CASE_COLUMNS = ("completion", "messages", "ground_truth")
"""The first columns of a proposed case."""

ALWAYS_PROPOSED = ("completion", "ground_truth")
"""Columns of a proposed case even if the reward does not ask for them."""

FIRST_ROLLOUTS = 8
"""Rollouts scored first, to measure the time of one, and whether a reward that takes
whole rows needs all columns. Our choice."""

SHARE_FOR_ROLLOUTS = 0.3
"""Share of the remaining budget for scoring rollouts with the original. Our choice."""

MOST_FAILING = 0.5
"""Share of failing cases above which no case is proposed: the reward is faulty, and so
would be their expectations."""


@dataclass(frozen=True, eq=False)
class TrialRows:
    """Rollouts, then cases, with the original's outcomes.

    `labels` are (rollout_id, None) for a rollout and (None, name) for a case. `allowed`
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

    def ordered(self, row_distances: Floats) -> list[int]:
        """Return rows with a difference, the largest, then the shortest text first."""
        rows = np.flatnonzero(row_distances).tolist()
        return sorted(
            rows, key=lambda row: (-row_distances[row], len(self.completion(row)))
        )

    def difference(self, row: int, mutant: Outcomes) -> Difference:
        """Return the difference of a mutant on a row."""
        rewards = float(self.original.rewards[row]), float(mutant.rewards[row])
        return Difference(*self.labels[row], *rewards, self.completion(row))


def make_rows(
    reward: Reward,
    cases: Sequence[Case],
    case_outcomes: Outcomes,
    failing: set[int],
    rollouts: Rollouts | None,
    order: Sequence[int],
    memory: Memory,
) -> TrialRows:
    """Score as many rollouts as time allows; return these rows and those of the cases.

    If the budget ends meanwhile, return only the cases. Rows that fail or raise cannot
    become proposed cases; no row can if over half of the cases fail, or a column must
    not be in a case.

    Args:
        reward: The original reward.
        cases: The cases.
        case_outcomes: The original's outcomes for the rows of the cases.
        failing: Rows of cases that fail already.
        rollouts: The user's rollouts, if any.
        order: Positions of the rollouts, in the order in which to try them.
        memory: The budget, and the cache of calls.
    """
    ids, logged = _rollouts_in_time(reward, rollouts, order, memory)
    case_columns = columns_of(cases)
    names = []
    for case in cases:
        names += [case.name] * len(case.rows)
    blank = [None] * len(names)
    columns: dict[str, list[Any]] = {}
    for name in logged or case_columns:
        if name in reward.needs or _can_be_in_case(name):
            columns[name] = [*logged.get(name, ()), *case_columns.get(name, blank)]
    try:
        original = outcomes_of(reward, columns, memory)
    except BudgetOver:
        ids = []
        columns = case_columns
        original = case_outcomes
    allowed = np.ones(len(ids) + len(names), dtype=bool)
    allowed[[len(ids) + row for row in failing]] = False
    for outcome in original.components.values():
        allowed &= outcome.status != ERROR
    has_fault = len(failing) > MOST_FAILING * len(names)
    if has_fault or not all(map(_can_be_in_case, columns)):
        allowed[:] = False
    labels: list[tuple[Any, str | None]] = [(rollout_id, None) for rollout_id in ids]
    labels += [(None, name) for name in names]
    return TrialRows(labels, len(ids), columns, original, allowed)


def _rollouts_in_time(
    reward: Reward, rollouts: Rollouts | None, order: Sequence[int], memory: Memory
) -> tuple[list[Any], dict[str, list[Any]]]:
    """Return ids and columns of the rollouts for which the time suffices.

    The columns are those that the reward asks for. A reward that takes whole rows, as
    trainers' functions do, gets all columns if its rewards on the first rows change
    without them.
    """
    if rollouts is None or not order:
        return [], {}
    takes_rows = ROLLOUT in reward.needs
    columns = rollouts.as_logged() if takes_rows else rollouts.columns()
    wanted = {*reward.needs, *ALWAYS_PROPOSED}
    named_columns = {name: column for name, column in columns.items() if name in wanted}
    first = order[:FIRST_ROLLOUTS]
    before = memory.seconds_left
    try:
        with_all = outcomes_of(reward, _select(columns, first), memory)
        seconds = max(before - memory.seconds_left, 1e-6) / len(first)
        with_named = outcomes_of(reward, _select(named_columns, first), memory)
    except BudgetOver:
        return [], {}
    if not distances(with_all, with_named).any():
        columns = named_columns
    places = sorted(order[: int(SHARE_FOR_ROLLOUTS * memory.seconds_left / seconds)])
    ids = rollouts.select(places).table["rollout_id"].tolist()
    return ids, _select(columns, places)


def _select(columns: Columns, rows: Sequence[int]) -> dict[str, list[Any]]:
    return {name: [values[row] for row in rows] for name, values in columns.items()}


def _can_be_in_case(name: str) -> bool:
    """Return whether a case can have this column; some names are expectations."""
    if name in OWN_KEYS or name.startswith(LOGGED):
        return False
    try:
        load_cases([{"completion": "", "reward": 0.0, name: ""}])
    except CasesError:
        return False
    return True


def propose_cases(
    rows: TrialRows,
    judged: Sequence[Judged],
    survivor_distances: Mapping[int, Floats],
) -> tuple[list[Judged], list[dict[str, Any]]]:
    """Propose a case for each survivor, from the row on which it differs most.

    Survivors with the same row share a case. A case expects the current reward.

    Args:
        rows: The rows.
        judged: All mutants.
        survivor_distances: Index of a survivor -> its distances by row, (rows,).

    Returns:
        The mutants, each survivor with its case, and the cases.
    """
    survivors: dict[int, list[int]] = defaultdict(list)
    for place, row_distances in survivor_distances.items():
        candidates = rows.ordered(np.where(rows.allowed, row_distances, 0.0))
        if candidates:
            survivors[candidates[0]].append(place)
    with_cases = list(judged)
    cases = []
    for row, places in survivors.items():
        sentences = [judged[at].mutant.sentence.rstrip(".") for at in places]
        nearest = min(float(survivor_distances[at][row]) for at in places)
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
    """Return the columns of a row, in the order of a case."""
    names = dict.fromkeys([*FIRST_CASE_COLUMNS, *rows.columns])
    values = {name: rows.columns[name][row] for name in names if name in rows.columns}
    if "messages" in values:
        if assistant_text(values["messages"]) == values.get("completion"):
            del values["completion"]
    return values


def _expectation(reward: float, nearest: float) -> dict[str, Any]:
    """Return the expectation of a reward, with a tolerance if a mutant is near it."""
    expected = "unscored" if np.isnan(reward) else round(reward, 9)
    if nearest > CLEAR_DIFFERENCE:
        return {"reward": expected}
    return {"reward": expected, "tolerance": float(f"{nearest / 2:.3g}")}
