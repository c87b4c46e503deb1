"""mutants(): whether a case file would notice if the reward were another, and the cases that are missing."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.errors import CasesError, InputError, RewardError, did_you_mean
from rewardkit.primitives.gates import Gate
from rewardkit.probes.mutants.remembering import Remembered
from rewardkit.probes.mutants.results import MutantResult
from rewardkit.probes.mutants.trial import Trial
from rewardkit.probes.probe import BUDGET
from rewardkit.probes.suspects.budgeted import check_budget
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.table import Rollouts, load_rollouts
from rewardkit.scoring.cases import Case, CaseSource, cases_of, without
from rewardkit.scoring.printed import caught_prints

__all__ = ["mutants"]

MOST_ROLLOUTS = 2_000
"""That mutants are tried on; of more, so many are drawn with the seed. Our choice: a second or two."""


@caught_prints()  # by attempts in their thousands; nobody is to read it
def mutants(
    reward: Reward,
    cases: CaseSource,
    rollouts: Rollouts | str | Path | pd.DataFrame | Iterable[Mapping[str, Any]] | None = None,
    *,
    ignore: Collection[str] = (),
    timeout: float | None = None,
    budget: float = BUDGET,
    seed: int = 0,
    most: int = MOST_ROLLOUTS,
) -> MutantResult:
    """Change the reward in small ways that matter, one at a time, and see which changes the cases notice.

    A component is left out, not paid, paid with the other sign, constant or turned round; weights are
    swapped; gates open, close and move; scores add up otherwise; extractors take the other match, or do
    without an alternative; tolerances and limits are looser and tighter; in users' own functions, where their
    source is at hand, a comparison, a number, an index or an `and` is another. Of a route each reward is
    changed. What cannot make a difference is not changed (equal weights, the limit of a gate on a score of 0
    or 1); the transform and functions of whole groups are left out, as cases do not see them.

    A mutant is *noticed* when a case misses that holds for the reward, as `check` has it (what a case expects
    of a component that is gone is no miss), when a component raises wherever it scored, or when changed code
    does not end where the reward's own does. Of the others those that give another reward on a case or a
    rollout have *survived*, and those that do not are *not told apart*; without rollouts nobody knows, and
    all others have survived. What the `budget` of seconds does not reach is *not tried*. The score is
    noticed / (noticed + survived). What a case misses already notices nothing, and where more than half of
    the cases miss, none are proposed. Rewards are those of a row alone, before any transform; of more than
    `most` rollouts so many are drawn with the `seed`.

    Functions are taken to give the same for the same arguments and are called once for them; `ignore` and
    `timeout` are as in `check`, and changed code always runs in worker processes: a call may take the timeout
    (2 s without one), and three times what the reward's slowest call took. The budget is kept but for a call
    of the reward itself that has no timeout. RewardError and CasesError as in `check`; RolloutsError as in
    `load_rollouts`; InputError: `most` or `budget` is none.

    >>> import rewardkit as rk
    >>> right = rk.Component("right", rk.verify.matches, columns={"prediction": "completion"})
    >>> brief = rk.Component("brief", rk.measure.length(full_until=2, zero_from=4), weight=0.5,
    ...                      gate=rk.gate("right", at_least=1.0))
    >>> case, rollout = ({"completion": text, "ground_truth": "Oslo"} for text in ("Oslo", "Rome"))
    >>> result = mutants(rk.Reward("r", components=[right, brief]), [{**case, "reward": 1.5}], [rollout])
    >>> [item.mutant.sentence for item in result.survived if item.mutant.kind == "gate"]
    ["Component 'brief' has no gate."]
    >>> result.proposed_cases[0]["completion"], result.proposed_cases[0]["reward"]
    ('Rome', 0.0)
    """
    check_reward(reward, "mutants")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(f"most={most!r} is not a number of rollouts; give a whole number from 1")
    check_budget(budget)
    known = _cases(cases, {name for name in ignore if name not in reward.names})
    _check_cases(reward, known)
    rollouts = None if rollouts is None else _drawn(reward, rollouts, most, seed)
    with _remembered(reward, timeout, budget) as memory:
        return Trial(reward, known, rollouts, memory, seed=seed, budget=budget).result()


def _cases(cases: CaseSource, ignored: Collection[str]) -> list[Case]:
    """The cases, without what they expect of ignored components."""
    known, _ = without(cases_of(cases), ignored)
    if not known:
        raise CasesError("there are no cases; give one or more, or the path of a case file")
    return known


def _check_cases(reward: Reward, cases: Sequence[Case]) -> None:
    """CasesError, RewardError: what `check` says of cases that the reward cannot be held to."""
    for case in cases:
        for name in case.scores:
            if name not in reward.names:
                raise CasesError(
                    f"case {case.name!r} expects a score of {name!r}; reward {reward.name!r} has "
                    f"{list(reward.names)}{did_you_mean(name, reward.names)}"
                )
        try:
            reward.check_columns(list(case.columns))
        except RewardError as error:
            raise RewardError(f"case {case.name!r}: {error}") from None


def _drawn(reward: Reward, source: Any, most: int, seed: int) -> Rollouts:
    """The rollouts; of many so many, drawn with the seed, in their order."""
    with _without_groups():
        rollouts = source if isinstance(source, Rollouts) else load_rollouts(source)
    reward.check_columns([str(name) for name in rollouts.table.columns])
    if len(rollouts) <= most:
        return rollouts
    drawn = np.random.default_rng(seed).choice(len(rollouts), most, replace=False)
    return rollouts.select(sorted(drawn.tolist()))


@contextmanager
def _without_groups() -> Iterator[None]:
    """Inside, nothing is logged of the groups of rollouts: here each is one of its own."""

    def wanted(record: logging.LogRecord) -> bool:
        return "(group key: " not in record.getMessage()

    log = logging.getLogger(load_rollouts.__module__)
    log.addFilter(wanted)
    try:
        yield
    finally:
        log.removeFilter(wanted)


def _remembered(reward: Reward, timeout: float | None, budget: float) -> Remembered:
    functions = [item.on if isinstance(item, Gate) else item for item in reward.functions]
    try:
        return Remembered(timeout, functions, budget)
    except (ValueError, TypeError):
        raise RewardError(f"timeout={timeout!r} is not a time; give seconds above 0, or None") from None
