"""Test whether a case file would catch a wrong reward, and propose missing cases."""

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
"""Most rollouts on which mutants are tried. Our choice: a second or two."""


@caught_prints()  # thousands of calls may print
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

    The mutants:

    - a component has weight 0, the other sign, or a constant score;
    - two weights are swapped;
    - a gate is removed, or its limit moved;
    - missing scores count differently;
    - an extractor takes another match, or lacks an alternative;
    - a tolerance or limit is looser or tighter;
    - in a user's function with available source, a comparison, number, index, `and` or
      `not` is changed.

    In a route each reward is changed. The transform and functions of whole groups are
    not changed, as cases do not test them.

    A mutant is *noticed* if a case fails that passes for the reward, as in `check`
    (expectations of a missing component do not count), or if changed code does not end
    where the original does. Of the others, a mutant with a different reward on a case
    or rollout has *survived*, and one without is *not told apart*; without rollouts,
    all others have survived. Mutants after the end of the budget are *not tried*. The
    mutation score is noticed / (noticed + survived). For each survivor, the row with
    the largest difference becomes a proposed case, unless more than half of the cases
    fail already.

    Functions are assumed to be deterministic and are called once for the same
    arguments. Changed code always runs in worker processes, here or on a cluster.

    Args:
        reward: The reward to change. Rewards are of single rows, before any transform.
        cases: Cases, or the path of a case file.
        rollouts: Rollouts that may tell a mutant apart.
        ignore: Components whose expectations do not count, as in `check`.
        timeout: Seconds for one call, as in `check`. By default changed code may take 2
            s, or three times the reward's slowest call if that is longer.
        budget: Seconds in total; a call of the reward itself without a timeout may
            exceed it.
        seed: Seed for drawing rollouts if there are more than `most`.
        most: Most rollouts on which mutants are tried.
        engine: `rk.Ray` makes the calls of worker processes on the nodes of a cluster,
            with the same result. These are calls of changed code, and with a `timeout`
            all of users' functions.

    Raises:
        RewardError: As in `check`; invalid `most` or `budget`; with an engine, the
            reward cannot be sent to a node.
        CasesError: As in `check`, or no cases.
        InputError: No such cluster, or a node with other versions than this process.
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
    """The data for each mutant: cases with expectations, and further rows."""

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
    """Try all mutants of a reward on the cases, then on the rollouts."""
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
    expected, failing = _split_expectations(cases, original)
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
    survivor_distances = {}
    for place, mutant in enumerate(mutants_made):
        verdict, row_distances = _judge(mutant, trial)
        judged.append(verdict)
        if row_distances is not None:
            survivor_distances[place] = row_distances
    judged, proposed = propose_cases(rows, judged, survivor_distances)
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


def _split_expectations(
    cases: Sequence[Case], original: Outcomes
) -> tuple[list[Expectation], dict[str, tuple[int, ...]]]:
    """Split the expectations of cases by whether the original meets them.

    Returns:
        Those that are met, and the rows of those that fail, by the name of the case.
    """
    unsure = find_late(original)  # a faster mutant may get a score there
    expected = []
    failing: dict[str, tuple[int, ...]] = {}
    for item in expectations_of(cases):
        if not item.is_met(original):
            failing[item.case.name] = item.rows
        elif not unsure[list(item.rows)].any():
            expected.append(item)
    return expected, failing


def _find_failing(
    expectations: Sequence[Expectation], outcomes: Outcomes
) -> tuple[str, ...]:
    """Return the names of cases that fail, ignoring components that are missing."""
    names: dict[str, None] = {}
    for item in expectations:
        has_part = item.part == WHOLE or item.part in outcomes.components
        if has_part and not item.is_met(outcomes):
            names[item.case.name] = None
    return tuple(names)


def _judge(mutant: Mutant, trial: _Trial) -> tuple[Judged, Floats | None]:
    """Try a mutant; for a survivor also return its distances by row, (rows,)."""
    rows = trial.rows
    place = ""
    try:
        case_outcomes = outcomes_of(mutant.reward, trial.columns, trial.memory)
        names = _find_failing(trial.expected, case_outcomes)
        if names:
            return Judged(mutant, "noticed", names), None
        place = ", on a rollout"
        outcomes = outcomes_of(mutant.reward, rows.columns, trial.memory)
    except Hangs as error:
        verdict: Verdict = "survived" if place else "noticed"
        return Judged(mutant, verdict, reason=f"{error}{place}"), None
    except (BudgetOver, CannotLimit) as error:
        return Judged(mutant, "not tried", reason=str(error)), None
    row_distances = distances(rows.original, outcomes)
    if not row_distances.any():
        alike: Verdict = "not told apart" if rows.rollouts else "survived"
        return Judged(mutant, alike), None
    clearest = rows.ordered(row_distances)[:MOST_DIFFERENCES]
    judged = Judged(
        mutant,
        "survived",
        differs=int(np.count_nonzero(row_distances[: rows.rollouts])),
        differences=tuple(rows.difference(row, outcomes) for row in clearest),
    )
    return judged, row_distances


def _commonest_reason(outcomes: Outcomes) -> tuple[str, Reason | None]:
    """Find the component that most often gives no score, and its main reason.

    Returns:
        The end of a clause that names the component, or "", and the reason.
    """
    reasons: Counter[tuple[str, Reason]] = Counter()
    for name, outcome in outcomes.components.items():
        for reason in outcome.reasons.values():
            reasons[f", as component {name!r} gives no score", reason] += 1
    return reasons.most_common(1)[0][0] if reasons else ("", None)
