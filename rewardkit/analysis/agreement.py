"""What moved between the two sides of matched rollouts, A and B: rewards, advantages, ranks, groups.

What one side has not judged is counted and in no figure. Each figure is plain data: its `value` with a 95 %
`interval` over prompts, the `n` it was measured on, and a `reason` where it cannot be given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.findings.log import ATOL, RTOL
from rewardkit.analysis.matched import Matched
from rewardkit.analysis.statistics.groups import ZERO_STD, Codes, Floats, group_stats, tie_rate

__all__ = [
    "advantage_signs",
    "group_signal",
    "rank_agreement",
    "rank_pairs",
    "reward_deltas",
]

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
SIGNS = "-0+"


def reward_deltas(matched: Matched) -> dict[str, Any]:
    """How the reward of each row moved: counts, mean, quantiles of B minus A, and the largest to read.

    Rewards that lie as near as float32 numbers do are equal.
    """
    a, b = matched.rewards
    delta, known = matched.delta, (~np.isnan(a), ~np.isnan(b))
    both = known[0] & known[1]
    moved = both & ~np.isclose(a, b, rtol=RTOL, atol=ATOL)
    up, down = moved & (delta > 0), moved & (delta < 0)
    n, weight = int(both.sum()), both.astype(float)
    sums = [np.where(both, delta, 0.0), weight]
    edges = np.quantile(delta[both], QUANTILES).tolist() if n else [np.nan] * len(QUANTILES)

    def read(rows: Codes) -> list[dict[str, Any]]:
        return [
            {
                "rollout_id": matched.ids[row],
                "a": float(a[row]),
                "b": float(b[row]),
                "delta": float(delta[row]),
            }
            for row in rows.tolist()
        ]

    return {
        "value": float(delta[both].mean()) if n else float("nan"),
        "interval": matched.bootstrap.interval(sums, matched.bootstrap.prompts),
        "n": n,
        "mean_a": float(a[both].mean()) if n else float("nan"),
        "mean_b": float(b[both].mean()) if n else float("nan"),
        "up": int(up.sum()),
        "down": int(down.sum()),
        "equal": int((both & ~moved).sum()),
        "newly_judged": int((known[1] & ~known[0]).sum()),
        "no_longer_judged": int((known[0] & ~known[1]).sum()),
        "judged_in_neither": int((~known[0] & ~known[1]).sum()),
        "quantiles": {f"{share:g}": edge for share, edge in zip(QUANTILES, edges, strict=True)},
        "largest_up": read(matched.most(delta, up)),
        "largest_down": read(matched.most(-delta, down)),
        "reason": None if n else "no row is judged on both sides",
    }


def advantage_signs(matched: Matched) -> dict[str, Any]:
    """Whom training would push the other way: the sign of the advantage, -, 0 or +, on both sides.

    `value` is the share of rows with opposite signs (`flipped`); `to_zero` and `from_zero` have an advantage
    on one side only, `counts` all nine cases, A before B. An advantage of at most `ZERO_STD` is rounding;
    rows without one on a side (not judged, or dropped) are in `missing_a` and `missing_b`.
    """
    both = ~np.isnan(matched.advantages[0]) & ~np.isnan(matched.advantages[1])
    signs = [
        np.where(both & (np.abs(value) > ZERO_STD), np.sign(value), 0.0).astype(int)
        for value in matched.advantages
    ]
    flipped = signs[0] * signs[1] < 0
    n = int(both.sum())
    counts = np.bincount((3 * (signs[0] + 1) + signs[1] + 1)[both], minlength=9).tolist()
    pairs = [f"{before} to {after}" for before in SIGNS for after in SIGNS]
    rows = matched.most(np.abs(matched.advantages[1] - matched.advantages[0]), flipped)
    return {
        "value": float(flipped.sum() / n) if n else float("nan"),
        "interval": matched.bootstrap.interval(
            [flipped.astype(float), both.astype(float)], matched.bootstrap.prompts
        ),
        "n": n,
        "changed": int((signs[0] != signs[1]).sum()),
        "flipped": int(flipped.sum()),
        "to_zero": int(((signs[0] != 0) & (signs[1] == 0)).sum()),
        "from_zero": int(((signs[0] == 0) & (signs[1] != 0)).sum()),
        "missing_a": int(np.isnan(matched.advantages[0]).sum()),
        "missing_b": int(np.isnan(matched.advantages[1]).sum()),
        "counts": dict(zip(pairs, counts, strict=True)),
        "rollout_ids": [matched.ids[row] for row in rows.tolist()],
        "reason": None if n else "no row has an advantage on both sides",
    }


def rank_agreement(matched: Matched) -> dict[str, Any]:
    """Kendall's tau-b between the rewards of siblings, over the pairs of all groups together.

    (concordant - discordant) / sqrt(pairs untied in A * pairs untied in B), Kendall 1945: 1 is the same
    order, -1 the reverse one, and what only one side ties counts against it. Pairs of which a reward is
    missing are left out. `value` is NaN where one side ties all of them.
    """
    a, b = matched.rewards
    agreed, untied_a, untied_b, tied, pairs = rank_pairs(a, b, matched.siblings)
    owner = matched.bootstrap.of_groups(matched.siblings)
    above, left, right = float(agreed.sum()), float(untied_a.sum()), float(untied_b.sum())
    n, tied_both = int(pairs.sum()), int(tied.sum())
    ordered = left + right - (n - tied_both)  # pairs that neither side ties
    reason = None
    if not left or not right:
        sides = " and ".join(name for name, count in (("A", left), ("B", right)) if not count)
        reason = (
            f"all pairs of siblings are tied in {sides}" if n else "no two siblings are judged on both sides"
        )
    return {
        "value": float("nan") if reason else above / float(np.sqrt(left * right)),
        "interval": matched.bootstrap.interval(
            [agreed, untied_a, untied_b], owner, lambda above, left, right: above / np.sqrt(left * right)
        ),
        "n": n,
        "concordant": int((ordered + above) / 2),
        "discordant": int((ordered - above) / 2),
        "tied_in_a_only": int(right - ordered),
        "tied_in_b_only": int(left - ordered),
        "tied_in_both": tied_both,
        "reason": reason,
    }


def rank_pairs(a: Floats, b: Floats, groups: Codes) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """For each group, over its pairs of rows: what tau-b is made of, (groups,) each.

    Concordant minus discordant, not tied in `a`, not tied in `b`, tied in both, and all. Rows with a NaN are
    left out; values that are equal to 12 decimals are tied, as in `tie_rate`.

    >>> [sums.tolist() for sums in rank_pairs(np.array([1., 2, 3]), np.array([1., 1, 0]), np.zeros(3, int))]
    [[-2.0], [3.0], [2.0], [0.0], [3.0]]
    """
    missing = np.isnan(a) | np.isnan(b)
    ranks = [_ranks(np.where(missing, np.nan, values), groups) for values in (a, b)]
    widest = float(np.nanmax(ranks[1], initial=0.0)) + 1
    (tied_a, pairs), (tied_b, _), (tied, _) = (
        tie_rate(values, groups) for values in (*ranks, ranks[0] * widest + ranks[1])
    )
    known = np.flatnonzero(~missing)
    # by group, then by a, then by b: what then stands before a smaller b is discordant, and no tie is
    order = known[np.lexsort((ranks[1][known], ranks[0][known], groups[known]))]
    swapped = _inversions(ranks[1][order].astype(np.int64), groups[order], len(pairs))
    agreed = pairs - tied_a - tied_b + tied - 2 * swapped
    return agreed, pairs - tied_a, pairs - tied_b, tied, pairs


def _ranks(values: Floats, groups: Codes) -> Floats:
    """Rank of each value among the distinct ones of its group, from 0; NaN where it is missing."""
    ranks = np.full(len(values), np.nan)
    known = np.flatnonzero(~np.isnan(values))
    rounded = np.round(values[known], 12)
    order = np.lexsort((rounded, groups[known]))
    ordered, owner = rounded[order], groups[known][order]
    first = np.diff(owner, prepend=-1) != 0
    steps = np.cumsum((np.diff(ordered, prepend=ordered[:1]) != 0) & ~first)
    ranks[known[order]] = steps - steps[_starts(first)]
    return ranks


def _starts(first: NDArray[np.bool_]) -> Codes:
    """For each row the first row of its run; `first` marks these."""
    return np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))


def _inversions(ranks: NDArray[np.int64], groups: Codes, total: int) -> Floats:
    """Pairs of rows of a group of which the earlier has the higher rank, (total,); rows come by group.

    From the highest bit down: two ranks part where their bits first differ, so a pair is counted once, among
    the rows whose higher bits are the same, which a stable sort keeps together and in their order.
    """
    found, blocks = np.zeros(total), groups.astype(np.int64)
    for bit in reversed(range(int(ranks.max(initial=0)).bit_length())):
        high = (ranks >> bit) & 1
        before = np.cumsum(high) - high
        since = before - before[_starts(np.diff(blocks, prepend=-1) != 0)]
        found += np.bincount(groups, np.where(high == 0, since, 0), minlength=total)
        blocks = 2 * blocks + high
        order = np.argsort(blocks, kind="stable")
        ranks, groups, blocks = ranks[order], groups[order], blocks[order]
    return found


def group_signal(matched: Matched) -> dict[str, Any]:
    """How many groups lost their signal (siblings differ in A and are all alike in B), how many gained one.

    Of groups with at least two judged rows on each side; `value` is B's share without a signal minus A's.
    """
    first, second = (group_stats(values, matched.siblings) for values in matched.rewards)
    counted = (first.count > 1) & (second.count > 1)
    n = int(counted.sum())
    lost, gained = counted & first.live & second.dead, counted & first.dead & second.live
    sums = [lost.astype(float) - gained, counted.astype(float)]
    return {
        "value": float(sums[0].sum() / n) if n else float("nan"),
        "interval": matched.bootstrap.interval(sums, matched.bootstrap.of_groups(matched.siblings)),
        "n": n,
        "lost": int(lost.sum()),
        "gained": int(gained.sum()),
        "zero_std_a": float((counted & first.dead).sum() / n) if n else float("nan"),
        "zero_std_b": float((counted & second.dead).sum() / n) if n else float("nan"),
        "reason": None if n else "no group has two siblings that are judged on both sides",
    }
