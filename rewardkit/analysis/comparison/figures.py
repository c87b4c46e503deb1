"""What moved between the two sides of matched rollouts, A and B: rewards, advantages, ranks, groups.

What one side has not judged is counted and in no figure. Each figure is plain data: its `value` with a 95 %
`interval` over prompts, the `n` it was measured on, and a `reason` where it cannot be given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.comparison.matched import Matched
from rewardkit.analysis.findings.log import ATOL, RTOL
from rewardkit.analysis.statistics.groups import ZERO_STD, Codes, Floats, group_stats
from rewardkit.analysis.statistics.pairs import concordance

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
SIGNS = "-0+"


def _mean(
    matched: Matched, values: Any, of: Any, owner: Codes, reason: str
) -> dict[str, Any]:
    """The mean of `values` among rows or groups `of` a kind, whose prompt is `owner`; else the `reason`."""
    value, interval = matched.bootstrap.ratio(
        np.where(of, values, 0.0), of.astype(float), owner
    )
    return {
        "value": value,
        "interval": interval,
        "n": int(of.sum()),
        "reason": None if of.any() else reason,
    }


def _counts(rows: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(values.sum()) for name, values in rows.items()}


def reward_deltas(matched: Matched) -> dict[str, Any]:
    """How the reward of each row moved: counts, mean, quantiles of B minus A, and the largest to read.

    Rewards that lie as near as float32 numbers do are equal.
    """
    a, b = matched.both("reward")
    delta, no_a, no_b = b - a, np.isnan(a), np.isnan(b)
    both = ~no_a & ~no_b
    moved = both & ~np.isclose(a, b, rtol=RTOL, atol=ATOL)
    up, down = moved & (delta > 0), moved & (delta < 0)
    rows = {
        "up": up,
        "down": down,
        "equal": both & ~moved,
        "newly_judged": no_a & ~no_b,
    }
    rows |= {"no_longer_judged": no_b & ~no_a, "judged_in_neither": no_a & no_b}
    names = {
        "rollout_id": "rollout_id",
        "reward_a": "a",
        "reward_b": "b",
        "delta": "delta",
    }
    read = {
        "largest_up": matched.most(delta, up),
        "largest_down": matched.most(-delta, down),
    }
    return {
        **_mean(
            matched,
            delta,
            both,
            matched.bootstrap.prompts,
            "no row is judged on both sides",
        ),
        **{
            f"mean_{side}": pd.Series(of[both]).mean()
            for side, of in (("a", a), ("b", b))
        },
        **_counts(rows),
        "quantiles": {
            f"{at:g}": edge
            for at, edge in pd.Series(delta).quantile([*QUANTILES]).items()
        },
        **{
            name: some[[*names]].rename(columns=names).to_dict("records")
            for name, some in read.items()
        },
    }


def advantage_signs(matched: Matched) -> dict[str, Any]:
    """Whom training would push the other way: the sign of the advantage, -, 0 or +, on both sides.

    `value` is the share of rows with opposite signs (`flipped`); `to_zero` and `from_zero` have an advantage
    on one side only, `counts` all nine cases, A before B. An advantage of at most `ZERO_STD` is rounding;
    rows without one on a side (not judged, or dropped) are in `missing_a` and `missing_b`.
    """
    before, after = matched.both("advantage")
    no_a, no_b = np.isnan(before), np.isnan(after)
    both = ~no_a & ~no_b
    a, b = (
        np.where(both & (np.abs(of) > ZERO_STD), np.sign(of), 0).astype(int)
        for of in (before, after)
    )
    flipped = a * b < 0
    rows = {"changed": a != b, "flipped": flipped, "to_zero": (a != 0) & (b == 0)}
    rows |= {"from_zero": (a == 0) & (b != 0), "missing_a": no_a, "missing_b": no_b}
    cases = np.bincount((3 * (a + 1) + b + 1)[both], minlength=9).tolist()
    why = "no row has an advantage on both sides"
    return {
        **_mean(matched, flipped, both, matched.bootstrap.prompts, why),
        **_counts(rows),
        "counts": dict(
            zip(
                [f"{was} to {now}" for was in SIGNS for now in SIGNS],
                cases,
                strict=True,
            )
        ),
        "rollout_ids": matched.most(np.abs(after - before), flipped)[
            "rollout_id"
        ].tolist(),
    }


def rank_agreement(matched: Matched) -> dict[str, Any]:
    """Kendall's tau-b between the rewards of siblings, over the pairs of all groups together.

    (concordant - discordant) / sqrt(pairs untied in A * pairs untied in B), Kendall 1945: 1 is the same
    order, -1 the reverse one, and what only one side ties counts against it. Pairs of which a reward is
    missing are left out, and of groups of more than 64 some (`rank_pairs`). `value` is NaN where one side
    ties all of them.
    """
    pairs = rank_pairs(*matched.both("reward"), matched.siblings)
    agreed, ordered = (
        pairs["concordant"] + sign * pairs["discordant"] for sign in (-1, 1)
    )
    sums = [
        agreed,
        ordered + pairs["tied_in_b_only"],
        ordered + pairs["tied_in_a_only"],
    ]
    totals = [values.sum() for values in sums]
    tied = " and ".join(
        name for name, untied in zip("AB", totals[1:], strict=True) if not untied
    )
    reason = f"all pairs of siblings are tied in {tied}" if tied else None
    if not pairs["n"].any():
        reason = "no two siblings are judged on both sides"
    interval = matched.bootstrap.interval(
        sums, matched.bootstrap.of_groups(matched.siblings), _tau
    )
    value = float("nan") if tied else float(_tau(*totals))
    return {"value": value, "interval": interval, **_counts(pairs), "reason": reason}


def _tau(agreed: Any, untied_a: Any, untied_b: Any) -> Any:
    return agreed / np.sqrt(untied_a * untied_b)


def rank_pairs(a: Floats, b: Floats, groups: Codes) -> dict[str, Floats]:
    """For each group how its pairs of rows are ordered in `a` and in `b`, (groups,) each; `n` are all.

    Rows with a NaN are left out; values that are equal to 12 decimals are tied, as in `tie_rate`. Of a group
    of more than 64 rows a part of the pairs is looked at, as in `concordance`.

    >>> found = rank_pairs(np.array([1.0, 2, 3]), np.array([1.0, 1, 0]), np.zeros(3, int))
    >>> {name: int(count[0]) for name, count in found.items() if count[0]}
    {'n': 3, 'discordant': 2, 'tied_in_b_only': 1}
    """
    missing = np.isnan(a) | np.isnan(b)
    a, b, row = (
        np.where(missing, np.nan, np.round(of, 12)) for of in (a, b, np.arange(len(a)))
    )
    agreed, untied_b = concordance(a, b, groups)  # ties in a count half
    _, tied_a = concordance(b, b, groups, a)
    _, tied_b = concordance(a, a, groups, b)
    _, n = concordance(row, row, groups)
    concordant = agreed - tied_a / 2
    return {
        "n": n,
        "concordant": concordant,
        "discordant": untied_b - tied_a - concordant,
        "tied_in_a_only": tied_a,
        "tied_in_b_only": tied_b,
        "tied_in_both": n - untied_b - tied_b,
    }


def group_signal(matched: Matched) -> dict[str, Any]:
    """How many groups lost their signal (siblings differ in A and are all alike in B), how many gained one.

    Of groups with at least two judged rows on each side; `value` is B's share without a signal minus A's.
    """
    a, b = (group_stats(values, matched.siblings) for values in matched.both("reward"))
    several = (a.count > 1) & (b.count > 1)
    owner = matched.bootstrap.of_groups(matched.siblings)
    rows = {"lost": several & a.live & b.dead, "gained": several & a.dead & b.live}
    why = "no group has two siblings that are judged on both sides"
    return {
        **_mean(
            matched, rows["lost"].astype(float) - rows["gained"], several, owner, why
        ),
        **_counts(rows),
        **{
            f"zero_std_{side}": pd.Series(of.dead[several]).mean()
            for side, of in (("a", a), ("b", b))
        },
    }
