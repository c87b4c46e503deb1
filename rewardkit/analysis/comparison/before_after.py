"""BeforeAfter: what changed between two scored tables, A and B, of the same rollouts.

`compare`, `whatif`, `suspect(patched=...)` and `%%reward` are uses of this record. Rows
that one side has not judged are counted and are in no figure. Each figure is plain
data: its `value` with a 95 % `interval` over prompts, the `n` it was measured on, and a
`reason` where it cannot be given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.comparison.changes import (
    FindingChanges,
    compare_findings,
)
from rewardkit.analysis.comparison.matching import MatchedRows, notes_of
from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.findings.logs import ATOL, RTOL
from rewardkit.analysis.rewarded_rows import SHOWN_IDS
from rewardkit.analysis.statistics import (
    Bootstrap,
    Codes,
    Floats,
    Interval,
    Mask,
    group_stats,
    in_both,
    ratio,
)
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.view import signs_of
from rewardkit.findings import percent, short_number
from rewardkit.html.pages import HasPage, Page
from rewardkit.plain import Plain, Record

REWARD_MOVES = (
    "up",
    "down",
    "equal",
    "newly_judged",
    "no_longer_judged",
    "judged_in_neither",
)
ONE_PROMPT = "all compared rollouts are of one prompt, so there are no intervals"

Figure = Record


@dataclass(frozen=True, eq=False, repr=False)
class BeforeAfter(HasPage):
    """What changed between two scored tables, A and B, of the same rollouts.

    `table` has one row for each rollout of both: rollout_id, reward_a, reward_b, delta
    (B minus A), advantage_a and advantage_b; NaN where missing. `siblings` are group
    codes of these rows: siblings of one code are siblings on both sides. `bootstrap`
    resamples the prompts of A. `matching` counts the rows, completions and groups that
    differ. `names` are those of A and B in sentences.
    """

    a: Diagnosis
    b: Diagnosis
    table: pd.DataFrame = field(repr=False)
    siblings: Codes = field(repr=False)
    bootstrap: Bootstrap = field(repr=False)
    matching: Plain
    names: tuple[str, str] = field(default=("A", "B"), kw_only=True)

    def both(self, column: str) -> tuple[Floats, Floats]:
        """Return the "reward" or "advantage" of A and of B, (rows,) each."""
        a, b = (self.table[f"{column}_{side}"].to_numpy(dtype=float) for side in "ab")
        return a, b

    @cached_property
    def rewards(self) -> Figure:
        """Return how rewards moved: counts, mean, and the largest to read.

        Rewards as near as float32 numbers are equal.
        """
        a, b = self.both("reward")
        delta = b - a
        is_both = ~np.isnan(delta)
        is_moved = is_both & ~np.isclose(a, b, rtol=RTOL, atol=ATOL)
        up = is_moved & (delta > 0)
        down = is_moved & (delta < 0)
        masks = (
            up,
            down,
            is_both & ~is_moved,
            np.isnan(a) & ~np.isnan(b),
            np.isnan(b) & ~np.isnan(a),
            np.isnan(a) & np.isnan(b),
        )
        reason = "no row is judged on both sides"
        return {
            **self._mean(delta, is_both, self.bootstrap.prompts, reason),
            "mean_a": pd.Series(a[is_both]).mean(),
            "mean_b": pd.Series(b[is_both]).mean(),
            **_count(dict(zip(REWARD_MOVES, masks, strict=True))),
            "largest_up": self._rows_to_read(delta, up),
            "largest_down": self._rows_to_read(-delta, down),
        }

    @cached_property
    def advantages(self) -> Figure:
        """Return which rows training would push the other way.

        `value` is the share of rows whose advantages have opposite signs (`flipped`);
        `to_zero` and `from_zero` have an advantage on one side only. One below
        `ROUNDING` is 0. Rows without an advantage (not judged, or dropped) are left
        out.
        """
        before, after = self.both("advantage")
        is_both = in_both(before, after)
        a = signs_of(np.where(is_both, before, np.nan))
        b = signs_of(np.where(is_both, after, np.nan))
        is_flipped = a * b < 0
        masks = {
            "changed": a != b,
            "flipped": is_flipped,
            "to_zero": (a != 0) & (b == 0),
            "from_zero": (a == 0) & (b != 0),
        }
        largest = self._largest(np.abs(after - before), is_flipped)
        reason = "no row has an advantage on both sides"
        return {
            **self._mean(is_flipped, is_both, self.bootstrap.prompts, reason),
            **_count(masks),
            "rollout_ids": largest["rollout_id"].tolist(),
        }

    @cached_property
    def ranks(self) -> Figure:
        """Return Kendall's tau-b between the rewards of siblings, pooled over groups.

        (concordant - discordant) / sqrt(pairs untied in A * pairs untied in B), Kendall
        1945: 1 is the same order, -1 the reverse, and a tie on one side only counts
        against it. Pairs with a missing reward are left out, values equal to 12
        decimals are tied, and of groups of more than 64 some pairs are looked at, as in
        `concordance`. `value` is NaN where one side ties all pairs.
        """
        a, b = self.both("reward")
        is_both = in_both(a, b)
        rows = np.arange(len(a), dtype=float)
        a, b, rows = (np.where(is_both, x.round(12), np.nan) for x in (a, b, rows))
        agreed, untied_b = concordance(a, b, self.siblings)  # ties in A count half
        _, untied_a = concordance(b, a, self.siblings)
        _, pairs = concordance(rows, rows, self.siblings)
        sums = [2 * agreed - untied_b, untied_a, untied_b]
        totals = [values.sum() for values in sums]
        untied = zip(self.names, totals[1:], strict=True)
        tied_sides = [side for side, pairs_untied in untied if not pairs_untied]
        value = float("nan")
        reason = None
        if not pairs.any():
            reason = "no two siblings are judged on both sides"
        elif tied_sides:
            reason = f"all pairs of siblings are tied in {' and '.join(tied_sides)}"
        else:
            value = float(_tau(*totals))
        owner = self.bootstrap.of_groups(self.siblings)
        return {
            "value": value,
            "interval": self.bootstrap.interval(sums, owner, _tau),
            "n": int(pairs.sum()),
            "reason": reason,
        }

    @cached_property
    def signal(self) -> Figure:
        """Return how many groups lost their signal, and how many gained one.

        A group has a signal where the rewards of its siblings differ. Of groups with
        two judged rows or more on each side; `value` is B's share without a signal
        minus A's.
        """
        a, b = (group_stats(values, self.siblings) for values in self.both("reward"))
        several = a.has_pairs & b.has_pairs
        masks = {"lost": several & a.live & b.dead, "gained": several & a.dead & b.live}
        owner = self.bootstrap.of_groups(self.siblings)
        reason = "no group has two siblings that are judged on both sides"
        change = masks["lost"].astype(float) - masks["gained"]
        return {
            **self._mean(change, several, owner, reason),
            **_count(masks),
            "zero_std_a": pd.Series(a.dead[several]).mean(),
            "zero_std_b": pd.Series(b.dead[several]).mean(),
        }

    @property
    def changed(self) -> int:
        """Return the number of rows whose reward differs, or is judged on one side."""
        rewards = self.rewards
        judged_once = rewards["newly_judged"] + rewards["no_longer_judged"]
        return int(rewards["up"] + rewards["down"] + judged_once)

    @cached_property
    def findings(self) -> FindingChanges:
        """Return which findings are new, gone, or of another severity."""
        return compare_findings(self.a, self.b)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what to be careful with, a sentence each."""
        notes = notes_of(self.matching, self.names)
        if self.bootstrap.total < 2:
            notes.append(ONE_PROMPT)
        return tuple(notes)

    @property
    def moves(self) -> list[str]:
        """Return a line each on rewards, advantages, order of siblings and groups."""
        rewards = self.rewards
        signs = self.advantages
        ranks = self.ranks
        signal = self.signal
        counts = []
        for name in REWARD_MOVES:
            if rewards[name]:
                counts.append(f"{rewards[name]:,} {name.replace('_', ' ')}")
        moved = ", ".join(counts)
        if rewards["up"] or rewards["down"]:
            means = " -> ".join(short_number(rewards[f"mean_{side}"]) for side in "ab")
            moved += f"; mean {means}, {rewards['value']:+.3g}"
            moved += in_brackets(rewards["interval"], "{:+.3g}".format)
        turned = f"none of {signs['n']:,} changes its sign"
        if signs["changed"]:
            turned = (
                f"{percent(signs['value'])}{in_brackets(signs['interval'])} of "
                f"{signs['n']:,} change sign, {signs['to_zero']:,} become 0, "
                f"{signs['from_zero']:,} are 0 no more"
            )
        around = in_brackets(ranks["interval"], "{:.3f}".format)
        order = f"tau-b {ranks['value']:.3f}{around} over {ranks['n']:,} pairs"
        dead = (
            f"{percent(signal['zero_std_a'])} -> {percent(signal['zero_std_b'])} of "
            f"{signal['n']:,}; {signal['lost']:,} lost their gradient, "
            f"{signal['gained']:,} gained one"
        )
        lines = [
            f"Rewards: {moved}",
            f"Advantages ({self.a.training}): {signs['reason'] or turned}",
            f"Order of siblings: {ranks['reason'] or order}",
            f"Groups without a gradient: {signal['reason'] or dead}",
        ]
        shares = [_share_where_none_is_right(side) for side in (self.a, self.b)]
        if any(shares):
            ends = " -> ".join(map(percent, shares))
            lines.append(f"Squared advantage where nothing is right: {ends}")
        return lines

    def page(self) -> Page:
        """Return what moved, and which findings are new, worse or gone."""
        names = [repr(side.scores.reward.name) for side in (self.b, self.a)]
        title = f"{names[0]} (B) against {names[1]} (A)"
        notes = [f"Note: {note}" for note in self.notes]
        return Page(title, [*self.moves, *self.findings.lines, *notes])

    def _mean(self, values: Any, among: Mask, owner: Codes, reason: str) -> Figure:
        """Return the mean of the rows or groups in `among`, or why there is none."""
        value, interval = self.bootstrap.ratio(
            np.where(among, values, 0.0), among, owner
        )
        return {
            "value": value,
            "interval": interval,
            "n": int(among.sum()),
            "reason": None if among.any() else reason,
        }

    def _largest(self, size: Floats, mask: Mask) -> pd.DataFrame:
        """Return a few of these rows, largest first, at most one a prompt."""
        order = np.flatnonzero(mask)[np.argsort(-size[mask], kind="stable")]
        return self.table.iloc[order[self.bootstrap.firsts(order)[:SHOWN_IDS]]]

    def _rows_to_read(self, size: Floats, mask: Mask) -> list[dict[Any, Any]]:
        columns = {"reward_a": "a", "reward_b": "b"}
        rows = self._largest(size, mask).rename(columns=columns)
        return rows[["rollout_id", "a", "b", "delta"]].to_dict("records")


def before_after(
    a: Diagnosis,
    b: Diagnosis,
    matched: MatchedRows,
    names: tuple[str, str] = ("A", "B"),
) -> BeforeAfter:
    """Put the rows that two scored tables have in common side by side.

    Args:
        a: The diagnosis before the change. One without findings will do.
        b: The same after the change. It may have other rows.
        matched: The rows of both, as `match_rows` returns them.
        names: Of A and B, as sentences call them.
    """
    groups_a, advantages_a = _by_row(a)
    groups_b, advantages_b = _by_row(b)
    rewards_a = a.scores.rewards[matched.a]
    rewards_b = b.scores.rewards[matched.b]
    table = pd.DataFrame(
        {
            "rollout_id": a.scores.table["rollout_id"].iloc[matched.a].tolist(),
            "reward_a": rewards_a,
            "reward_b": rewards_b,
            "delta": rewards_b - rewards_a,
            "advantage_a": advantages_a[matched.a],
            "advantage_b": advantages_b[matched.b],
        }
    )
    groups = pd.DataFrame({"a": groups_a[matched.a], "b": groups_b[matched.b]})
    groups["both"] = groups.groupby(["a", "b"]).ngroup()
    pairs = {name: _count_pairs(groups[name]) for name in groups}
    counts = {
        **matched.counts,
        "siblings_in_a_only": pairs["a"] - pairs["both"],
        "siblings_in_b_only": pairs["b"] - pairs["both"],
    }
    prompts = np.unique(a.scores.rollouts.prompts[matched.a], return_inverse=True)[1]
    bootstrap = Bootstrap(prompts, seed=a.seed)
    siblings = groups["both"].to_numpy()
    return BeforeAfter(a, b, table, siblings, bootstrap, counts, names=names)


def in_brackets(interval: Interval, text: Callable[[float], str] = percent) -> str:
    """Write an interval in brackets, to stand behind its value; "" without one."""
    low, high = interval
    return "" if np.isnan(low) else f" ({text(low)} to {text(high)})"


def _tau(agreed: Any, untied_a: Any, untied_b: Any) -> Any:
    return agreed / np.sqrt(untied_a * untied_b)


def _count(masks: Plain) -> dict[str, int]:
    return {name: int(values.sum()) for name, values in masks.items()}


def _count_pairs(groups: pd.Series[Any]) -> int:
    sizes = groups.value_counts()
    return int((sizes * (sizes - 1) // 2).sum())


def _by_row(side: Diagnosis) -> tuple[Codes, Floats]:
    """Return the group and the advantage of each row.

    A row that a route has no reward for is a group of its own.
    """
    rows = len(side.scores)
    groups = -1 - np.arange(rows)
    advantages = np.full(rows, np.nan)
    for place, view in enumerate(side.views):
        groups[view.rows] = side.scores.groups[view.rows] * len(side.views) + place
        advantages[view.rows] = view.advantages
    return groups, advantages


def _share_where_none_is_right(side: Diagnosis) -> float:
    """Return the share of the squared advantage in groups without a right completion.

    0 where nothing says which completions are right.
    """
    masses = [view.phantom_mass(view.advantages) for view in side.views]
    phantom, total = map(np.concatenate, zip(*masses, strict=True))
    return float(np.nan_to_num(ratio(phantom, total)))
