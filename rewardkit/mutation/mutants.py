"""mutants(): whether a case file would catch a wrong reward, and the missing cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.errors import CasesError
from rewardkit.findings import counted
from rewardkit.mutation.mutations import Mutant, mutants_of
from rewardkit.mutation.results import Judged, MutantResult, Verdict
from rewardkit.mutation.rows import (
    MOST_DIFFERENCES,
    BudgetOver,
    Hangs,
    Memory,
    TrialRows,
    distances,
    find_late,
    make_rows,
    outcomes_of,
    propose_cases,
)
from rewardkit.primitives.gates import Gate
from rewardkit.probes.options import BUDGET, check_arguments
from rewardkit.reasons import Reason
from rewardkit.rewards.reward import Floats, Reward, check_reward
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import WHOLE, Case, CaseSource
from rewardkit.scoring.check import cases_for
from rewardkit.scoring.deadlines import CannotLimit
from rewardkit.scoring.expectations import (
    Expectation,
    columns_of,
    expectations_of,
)
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.scoring.prints import caught_prints
from rewardkit.scoring.ray_calls import workers_on
from rewardkit.scoring.ray_engine import Ray

MOST_ROLLOUTS = 2_000
"""Rollouts that mutants are tried on. Our choice: a second or two."""


@caught_prints()  # thousands of attempts print; nobody is to read it
def mutants(
    reward: Reward,
    cases: CaseSource,
    rollouts: Rollouts
    | str
    | Path
    | pd.DataFrame
    | Iterable[Mapping[str, Any]]
    | None = None,
    *,
    ignore: Collection[str] = (),
    timeout: float | None = None,
    budget: float = BUDGET,
    seed: int = 0,
    most: int = MOST_ROLLOUTS,
    engine: Ray | None = None,
) -> MutantResult:
    """Change the reward in small ways, one at a time, and see which the cases catch.

    A component is not paid, paid with the other sign, or constant; two weights are
    swapped; gates open and move; what is missing counts otherwise; extractors take the
    other match, or do without an alternative; tolerances and limits are looser and
    tighter; in users' own functions, where their source is at hand, a comparison, a
    number, an index, an `and` or a `not` is another. Of a route each reward is changed.
    The transform and functions of whole groups are left out, as cases do not see them.

    A mutant is *noticed* when a case fails that holds for the reward, as `check` has
    it (expectations of a component that is gone do not count), or when changed code
    does not end where the reward's own does. Of the others those that give another
    reward on a case or a rollout have *survived*, and those that do not are *not told
    apart*; without rollouts nobody knows, and all others have survived. What the budget
    does not reach is *not tried*. The mutation score is noticed / (noticed + survived).
    For each survivor the row on which it differs most becomes a proposed case. None
    are proposed where more than half of the cases fail already.

    Functions are taken to give the same for the same arguments and are called once for
    them. Changed code always runs in worker processes, here or on a cluster.

    Args:
        reward: The reward to change. Rewards are those of a row alone, before any
            transform.
        cases: Cases, or the path of a case file.
        rollouts: Rollouts that may tell a mutant apart.
        ignore: Components whose expectations do not count, as in `check`.
        timeout: Seconds for one call, as in `check`. Without it changed code may take
            2 s and three times what the reward's slowest call took.
        budget: Seconds for all of it, but for a call of the reward itself that has no
            timeout.
        seed: Draws rollouts where there are more than `most`.
        most: Rollouts that mutants are tried on, at most.
        engine: `rk.Ray` has the nodes of a cluster make the calls that run in worker
            processes, with the same result: those of changed code, and with a `timeout`
            all of users' functions.

    Raises:
        RewardError: As in `check`; `most` or `budget` cannot be used; with an engine,
            the reward cannot be sent to a node.
        CasesError: As in `check`, or there are no cases.
        InputError: No such cluster, or a node of it lacks the versions of this process.
        ModuleNotFoundError: Ray is not installed.
        RolloutsError: As in `load_rollouts`.

    >>> import rewardkit as rk
    >>> right = rk.Component(
    ...     "right", rk.verify.matches, columns={"prediction": "completion"})
    >>> brief = rk.Component(
    ...     "brief", rk.measure.length(full_until=2, zero_from=4), weight=0.5,
    ...     gate=rk.gate("right", at_least=1.0))
    >>> reward = rk.Reward("r", components=[right, brief])
    >>> oslo = {"completion": "Oslo", "ground_truth": "Oslo", "reward": 1.5}
    >>> rome = {"completion": "Rome", "ground_truth": "Oslo"}
    >>> result = mutants(reward, [oslo], [rome])
    >>> [item.mutant.sentence for item in result.survived if item.mutant.kind == "gate"]
    ["Component 'brief' has no gate."]
    >>> result.proposed_cases[0]["completion"], result.proposed_cases[0]["reward"]
    ('Rome', 0.0)
    """
    check_reward(reward, "mutants")
    check_arguments(most=most, budget=budget, timeout=timeout)
    usable = cases_for(reward, cases, ignore)
    checked_cases = [case for case in usable.cases if not case.is_undecided]
    if not checked_cases:
        raise CasesError(
            "there are no cases that are decided; give one or more, or the path of a "
            "case file"
        )
    order = []
    if rollouts is not None:
        if not isinstance(rollouts, Rollouts):
            rollouts = load_rollouts(rollouts)
        reward.check_columns(rollouts.names, rollouts.mapping)
        order = np.random.default_rng(seed).permutation(len(rollouts))[:most].tolist()
    functions = []
    for function in reward.functions:
        functions.append(function.on if isinstance(function, Gate) else function)
    with workers_on(engine, reward) as workers:
        memory = Memory(timeout, functions, budget, workers)
        with memory:
            result = _try_mutants(reward, checked_cases, rollouts, order, memory)
    unknown = tuple(
        f"what cases expect of {name!r}: the reward has no such component"
        for name in usable.unknown
    )
    return replace(result, left_out=(*result.left_out, *unknown))


@dataclass(frozen=True, eq=False)
class _Trial:
    """What each mutant is tried on: the columns of the cases, then the rows."""

    columns: Mapping[str, Sequence[Any]]
    expected: Sequence[Expectation]
    rows: TrialRows
    memory: Memory


def _try_mutants(
    reward: Reward,
    cases: Sequence[Case],
    rollouts: Rollouts | None,
    order: Sequence[int],
    memory: Memory,
) -> MutantResult:
    """Judge all mutants of a reward on the cases, then on the rollouts."""
    result = MutantResult(reward.name, cases=len(cases), rollouts=len(order))
    columns = columns_of(cases)
    try:
        original = outcomes_of(reward, columns, memory)
    except BudgetOver as error:
        stopped = (
            f"{error} before the reward had judged {counted(len(cases), 'case')}; "
            "give a larger budget, or a faster reward"
        )
        return replace(result, stopped=stopped)
    unsure = find_late(original)  # a mutant may get further there in the same time
    expected = []
    failing: dict[str, tuple[int, ...]] = {}
    for item in expectations_of(cases):
        if not item.is_met(original):
            failing[item.case.name] = item.rows
        elif not unsure[list(item.rows)].any():
            expected.append(item)
    failing_rows = set(chain.from_iterable(failing.values()))
    rows = make_rows(reward, cases, original, failing_rows, rollouts, order, memory)
    nothing_judged = np.isnan([*original.rewards, *rows.original.rewards]).all()
    expects_score = any(item.expects_score for item in expected)
    if nothing_judged and not expects_score:
        component, cause = _commonest_reason(rows.original)
        stopped = (
            f"the reward judges none of the cases and rollouts{component}; "
            "fix that first"
        )
        return replace(result, stopped=stopped, cause=cause)
    trial = _Trial(columns, expected, rows, memory)
    mutants_made, left_out = mutants_of(reward)
    judged = []
    away = {}
    for place, mutant in enumerate(mutants_made):
        verdict, far = _judge(mutant, trial)
        judged.append(verdict)
        if far is not None:
            away[place] = far
    judged, proposed = propose_cases(rows, judged, away)
    if rows.rollouts < len(order):
        missing = len(order) - rows.rollouts
        left_out.append(f"{missing:,} of {len(order):,} rollouts: there was no time")
    return replace(
        result,
        judged=tuple(judged),
        proposed_cases=tuple(proposed),
        rollouts=rows.rollouts,
        left_out=tuple(left_out),
        missed=len(failing),
    )


def _find_failing(
    expectations: Sequence[Expectation], outcomes: Outcomes
) -> tuple[str, ...]:
    """Name the cases that fail, but not for a component that is gone."""
    names: dict[str, None] = {}
    for item in expectations:
        is_there = item.part == WHOLE or item.part in outcomes.components
        if is_there and not item.is_met(outcomes):
            names[item.case.name] = None
    return tuple(names)


def _judge(mutant: Mutant, trial: _Trial) -> tuple[Judged, Floats | None]:
    """Try a mutant; of a survivor also how far each row is from the reward, (rows,)."""
    rows = trial.rows
    place = ""
    try:
        of_cases = outcomes_of(mutant.reward, trial.columns, trial.memory)
        names = _find_failing(trial.expected, of_cases)
        if names:
            return Judged(mutant, "noticed", names), None
        place = ", on a rollout"
        outcomes = outcomes_of(mutant.reward, rows.columns, trial.memory)
    except Hangs as error:
        verdict: Verdict = "survived" if place else "noticed"
        return Judged(mutant, verdict, reason=f"{error}{place}"), None
    except (BudgetOver, CannotLimit) as error:
        return Judged(mutant, "not tried", reason=str(error)), None
    away = distances(rows.original, outcomes)
    if not away.any():
        alike: Verdict = "not told apart" if rows.rollouts else "survived"
        return Judged(mutant, alike), None
    clearest = rows.ordered(away)[:MOST_DIFFERENCES]
    judged = Judged(
        mutant,
        "survived",
        differs=int(np.count_nonzero(away[: rows.rollouts])),
        differences=tuple(rows.difference(row, outcomes) for row in clearest),
    )
    return judged, away


def _commonest_reason(outcomes: Outcomes) -> tuple[str, Reason | None]:
    """Name the component that most often gives no score, and its commonest reason.

    Returns:
        The end of a clause that names the component, or "", and the reason.
    """
    reasons: Counter[tuple[str, Reason]] = Counter()
    for name, outcome in outcomes.components.items():
        for reason in outcome.reasons.values():
            reasons[f", as component {name!r} gives no score", reason] += 1
    return reasons.most_common(1)[0][0] if reasons else ("", None)
