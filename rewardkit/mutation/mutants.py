"""mutants(): whether a case file would catch a wrong reward, and the cases that are missing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.errors import CasesError
from rewardkit.mutation.results import MutantResult
from rewardkit.mutation.scoring import Memory
from rewardkit.mutation.trial import Trial
from rewardkit.primitives.gates import Gate
from rewardkit.probes.arguments import check_arguments
from rewardkit.probes.probe import BUDGET
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.table import Rollouts, load_rollouts
from rewardkit.scoring.cases import CaseSource, cases_for
from rewardkit.scoring.printed import caught_prints

MOST_ROLLOUTS = 2_000
"""That mutants are tried on; of more, so many are drawn with the seed. Our choice: a second or two."""


@caught_prints()  # by attempts in their thousands; nobody is to read it
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
) -> MutantResult:
    """Change the reward in small ways that matter, one at a time, and see which changes the cases catch.

    A component is not paid, paid with the other sign, or constant; two weights are swapped; gates open and
    move; what is missing counts otherwise; extractors take the other match, or do without an alternative;
    tolerances and limits are looser and tighter; in users' own functions, where their source is at hand, a
    comparison, a number, an index, an `and` or a `not` is another. Of a route each reward is changed. The
    transform and functions of whole groups are left out, as cases do not see them.

    A mutant is *noticed* when a case fails that holds for the reward, as `check` has it (what a case expects
    of a component that is gone does not count), or when changed code does not end where the reward's own
    does. Of the others those that give another reward on a case or a rollout have *survived*, and those that
    do not are *not told apart*; without rollouts nobody knows, and all others have survived. What the
    `budget` of seconds does not reach is *not tried*. The mutation score is noticed / (noticed + survived).
    Where more than half of the cases fail already, none are proposed. Rewards are those of a row alone,
    before any transform; of more than `most` rollouts so many are drawn with the `seed`.

    Functions are taken to give the same for the same arguments and are called once for them; `ignore` and
    `timeout` are as in `check`, and changed code always runs in worker processes: a call may take the
    timeout, or without one 2 s and three times what the reward's slowest call took. The budget is kept but
    for a call of the reward itself that has no timeout. RewardError and CasesError as in `check`, and
    where `most` or `budget` is none; RolloutsError as in `load_rollouts`.

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
    check_arguments(most=most, budget=budget, timeout=timeout)
    known, _ = cases_for(reward, cases, ignore)
    if not known:
        raise CasesError(
            "there are no cases; give one or more, or the path of a case file"
        )
    order: list[int] = []
    if rollouts is not None:
        rollouts = (
            rollouts if isinstance(rollouts, Rollouts) else load_rollouts(rollouts)
        )
        reward.check_columns([str(name) for name in rollouts.table.columns])
        order = np.random.default_rng(seed).permutation(len(rollouts))[:most].tolist()
    functions = [
        item.on if isinstance(item, Gate) else item for item in reward.functions
    ]
    memory = Memory(timeout, functions, budget)
    with memory:
        return Trial(reward, known, rollouts, order, memory).result()
