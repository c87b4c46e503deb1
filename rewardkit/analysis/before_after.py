"""BeforeAfter: what changed between two scored tables, A and B, of the same rollouts.

`compare`, `whatif`, `suspect(patched=...)` and `%%reward` are uses of this record. Rows
that one side has not judged are counted and are in no figure. Each figure is plain
data: its `value` with a 95 % `interval` over prompts, the `n` it was measured on, and a
`reason` where it cannot be given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.findings.scored import ATOL, RTOL
from rewardkit.analysis.matching import MatchedRows, notes_of
from rewardkit.analysis.statistics import ZERO_STD, Codes, Floats, Mask, group_stats
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.view import SHOWN_IDS, View
from rewardkit.findings import SEVERITIES, Finding, percent, short_number
from rewardkit.html.pages import HasPage, Page
from rewardkit.scoring.scores import Scores

DELTA_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
ADVANTAGE_SIGNS = "-0+"
MOST_CHANGES = 3
"""New and changed findings, and notes, of a short text; the rest are counted."""
REWARD_MOVES = (
    "up",
    "down",
    "equal",
    "newly_judged",
    "no_longer_judged",
    "judged_in_neither",
)
ONE_PROMPT = "all compared rollouts are of one prompt, so there are no intervals"

Figure = dict[str, Any]
FindingKey = tuple[Any, ...]


class Undiagnosed(NamedTuple):
    """A side of which only rewards and advantages are compared."""

    scores: Scores
    views: tuple[View, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def training(self) -> Any:
        """Return the settings that its advantages were computed with."""
        return self.views[0].training


Side = Diagnosis | Undiagnosed


@dataclass(frozen=True, eq=False, repr=False)
class BeforeAfter(HasPage):
    """What changed between two scored tables, A and B, of the same rollouts.

    `table` has one row for each rollout of both: rollout_id, reward_a, reward_b, delta
    (B minus A), advantage_a and advantage_b; NaN where missing. `siblings` are the
    group codes of these rows, where siblings are siblings on both sides; `bootstrap`
    resamples the prompts of A. `matching` counts the rows, completions and groups that
    are not the same.
    """

    a: Any
    b: Any
    table: pd.DataFrame = field(repr=False)
    siblings: Codes = field(repr=False)
    bootstrap: Bootstrap = field(repr=False)
    matching: Mapping[str, Any]

    def among(self, mask: Mask) -> BeforeAfter:
        """Return the record of some of its rows, such as one slice or the suspects.

        Args:
            mask: Which rows of `table`, (rows,).
        """
        prompts = np.unique(self.bootstrap.prompts[mask], return_inverse=True)[1]
        return BeforeAfter(
            self.a,
            self.b,
            self.table[mask].reset_index(drop=True),
            self.siblings[mask],
            Bootstrap(prompts, seed=self.bootstrap.seed),
            {**self.matching, "matched": int(mask.sum())},
        )

    def both(self, column: str) -> tuple[Floats, Floats]:
        """Return the "reward" or "advantage" of A and of B, (rows,) each."""
        a, b = (self.table[f"{column}_{side}"].to_numpy(dtype=float) for side in "ab")
        return a, b

    @cached_property
    def rewards(self) -> Figure:
        """Return how rewards moved: counts, mean, quantiles, and the largest to read.

        Rewards as near as float32 numbers are equal.
        """
        a, b = self.both("reward")
        delta = b - a
        is_both = ~np.isnan(delta)
        is_moved = is_both & ~np.isclose(a, b, rtol=RTOL, atol=ATOL)
        up, down = is_moved & (delta > 0), is_moved & (delta < 0)
        masks = {
            "up": up,
            "down": down,
            "equal": is_both & ~is_moved,
            "newly_judged": np.isnan(a) & ~np.isnan(b),
            "no_longer_judged": np.isnan(b) & ~np.isnan(a),
            "judged_in_neither": np.isnan(a) & np.isnan(b),
        }
        reason = "no row is judged on both sides"
        quantiles = pd.Series(delta).quantile([*DELTA_QUANTILES])
        return {
            **self._mean(delta, is_both, self.bootstrap.prompts, reason),
            "mean_a": pd.Series(a[is_both]).mean(),
            "mean_b": pd.Series(b[is_both]).mean(),
            **_count(masks),
            "quantiles": {f"{at:g}": edge for at, edge in quantiles.items()},
            "largest_up": self._rows_to_read(delta, up),
            "largest_down": self._rows_to_read(-delta, down),
        }

    @cached_property
    def advantages(self) -> Figure:
        """Return which rows training would push the other way.

        `value` is the share of rows whose advantages have opposite signs (`flipped`);
        `to_zero` and `from_zero` have an advantage on one side only; `counts` has all
        nine cases, A before B. An advantage of at most `ZERO_STD` is rounding. Rows
        without one (not judged, or dropped) are in `missing_a` and `missing_b`.
        """
        before, after = self.both("advantage")
        no_a, no_b = np.isnan(before), np.isnan(after)
        is_both = ~no_a & ~no_b
        a, b = _signs(before, is_both), _signs(after, is_both)
        flipped = a * b < 0
        masks = {
            "changed": a != b,
            "flipped": flipped,
            "to_zero": (a != 0) & (b == 0),
            "from_zero": (a == 0) & (b != 0),
            "missing_a": no_a,
            "missing_b": no_b,
        }
        names = map(" to ".join, product(ADVANTAGE_SIGNS, repeat=2))
        cases = np.bincount((3 * (a + 1) + b + 1)[is_both], minlength=9).tolist()
        largest = self._largest(np.abs(after - before), flipped)
        reason = "no row has an advantage on both sides"
        return {
            **self._mean(flipped, is_both, self.bootstrap.prompts, reason),
            **_count(masks),
            "counts": dict(zip(names, cases, strict=True)),
            "rollout_ids": largest["rollout_id"].tolist(),
        }

    @cached_property
    def ranks(self) -> Figure:
        """Return Kendall's tau-b between the rewards of siblings, pooled over groups.

        (concordant - discordant) / sqrt(pairs untied in A * pairs untied in B), Kendall
        1945: 1 is the same order, -1 the reverse, and a tie on one side only counts
        against it. Pairs with a missing reward are left out, and some of groups of more
        than 64 (`rank_pairs`). `value` is NaN where one side ties all pairs.
        """
        pairs = rank_pairs(*self.both("reward"), self.siblings)
        agreed = pairs["concordant"] - pairs["discordant"]
        ordered = pairs["concordant"] + pairs["discordant"]
        sums = [
            agreed,
            ordered + pairs["tied_in_b_only"],
            ordered + pairs["tied_in_a_only"],
        ]
        totals = [values.sum() for values in sums]
        tied_sides = []
        for side, untied in zip("AB", totals[1:], strict=True):
            if not untied:
                tied_sides.append(side)
        value, reason = float("nan"), None
        if not pairs["n"].any():
            reason = "no two siblings are judged on both sides"
        elif tied_sides:
            reason = f"all pairs of siblings are tied in {' and '.join(tied_sides)}"
        else:
            value = float(_tau(*totals))
        owner = self.bootstrap.of_groups(self.siblings)
        interval = self.bootstrap.interval(sums, owner, _tau)
        return {
            "value": value,
            "interval": interval,
            **_count(pairs),
            "reason": reason,
        }

    @cached_property
    def signal(self) -> Figure:
        """Return how many groups lost their signal, and how many gained one.

        A group has a signal where the rewards of its siblings differ. Of groups with
        two judged rows or more on each side; `value` is B's share without a signal
        minus A's. `all_a` and `all_b` are the shares without an advantage in all groups
        of each side.
        """
        a, b = (group_stats(values, self.siblings) for values in self.both("reward"))
        several = (a.count > 1) & (b.count > 1)
        masks = {"lost": several & a.live & b.dead, "gained": several & a.dead & b.live}
        owner = self.bootstrap.of_groups(self.siblings)
        reason = "no group has two siblings that are judged on both sides"
        change = masks["lost"].astype(float) - masks["gained"]
        return {
            **self._mean(change, several, owner, reason),
            **_count(masks),
            "zero_std_a": pd.Series(a.dead[several]).mean(),
            "zero_std_b": pd.Series(b.dead[several]).mean(),
            "all_a": _share_without_signal(self.a),
            "all_b": _share_without_signal(self.b),
        }

    @property
    def changed(self) -> int:
        """Return the number of rows whose reward differs, or is judged on one side."""
        rewards = self.rewards
        judged_once = rewards["newly_judged"] + rewards["no_longer_judged"]
        return int(rewards["up"] + rewards["down"] + judged_once)

    @cached_property
    def new(self) -> tuple[Finding, ...]:
        """Return the findings of B that A does not have."""
        return _findings_only_in(self.b, self.a)

    @cached_property
    def gone(self) -> tuple[Finding, ...]:
        """Return the findings of A that B does not have."""
        return _findings_only_in(self.a, self.b)

    @cached_property
    def graded(self) -> tuple[tuple[Finding, Finding], ...]:
        """Return the findings whose severity changed, as in A and as in B."""
        after = _findings_by_key(self.b)
        pairs = []
        for key, was in _findings_by_key(self.a).items():
            now = after.get(key, was)
            if was.severity != now.severity:
                pairs.append((was, now))
        return tuple(pairs)

    @property
    def worse(self) -> list[tuple[Finding, Finding]]:
        """Return those of `graded` that are more severe in B."""
        return [(was, now) for was, now in self.graded if now.order[0] < was.order[0]]

    @property
    def new_or_worse(self) -> list[Finding]:
        """Return the findings of B that A does not have, or less severe."""
        return [*self.new, *(now for _, now in self.worse)]

    @property
    def better(self) -> list[Finding]:
        """Return the findings of A that are gone, or less severe, in B."""
        milder = [was for was, now in self.graded if was.order[0] < now.order[0]]
        return [*self.gone, *milder]

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what to be careful with, a sentence each."""
        notes = notes_of(self.matching)
        if self.bootstrap.total < 2:
            notes.append(ONE_PROMPT)
        return tuple(notes)

    @property
    def moves(self) -> list[str]:
        """Return a line each on rewards, advantages, order of siblings and groups."""
        rewards, signs = self.rewards, self.advantages
        ranks, signal = self.ranks, self.signal
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

    @property
    def finding_lines(self) -> list[str]:
        """Return how many findings came and went, and the first new or worse ones.

        What is new for information is only counted.
        """
        lines = []
        for item in self.new:
            if item.severity != "info":
                lines.append(f"  new: {item.severity}: {item.sentence}")
        for was, now in self.worse:
            lines.append(f"  {now.severity}: {now.sentence} (was {was.severity})")
        if len(lines) > MOST_CHANGES:
            lines[MOST_CHANGES:] = [f"  and {len(lines) - MOST_CHANGES} more"]
        counts = {
            "new": len(self.new),
            "more severe": len(self.worse),
            "gone or less severe": len(self.better),
        }
        parts = [f"{count} {name}" for name, count in counts.items() if count]
        return [f"Findings: {', '.join(parts) or 'the same as before'}", *lines]

    def page(self) -> Page:
        """Return what moved, and which findings are new, worse or gone."""
        names = [repr(side.scores.reward.name) for side in (self.b, self.a)]
        title = f"{names[0]} (B) against {names[1]} (A)"
        notes = [f"Note: {note}" for note in self.notes]
        return Page(title, [*self.moves, *self.finding_lines, *notes])

    def _mean(self, values: Any, among: Mask, owner: Codes, reason: str) -> Figure:
        """Return the mean of rows or groups `among`, or the reason against one."""
        value, interval = self.bootstrap.ratio(
            np.where(among, values, 0.0), among.astype(float), owner
        )
        return {
            "value": value,
            "interval": interval,
            "n": int(among.sum()),
            "reason": None if among.any() else reason,
        }

    def _largest(self, size: Floats, mask: Mask) -> pd.DataFrame:
        """Return a few of these rows, largest first, at most one for each prompt."""
        order = np.flatnonzero(mask)[np.argsort(-size[mask], kind="stable")]
        _, first = np.unique(self.bootstrap.prompts[order], return_index=True)
        return self.table.iloc[order[np.sort(first)[:SHOWN_IDS]]]

    def _rows_to_read(self, size: Floats, mask: Mask) -> list[dict[Any, Any]]:
        columns = {"reward_a": "a", "reward_b": "b"}
        rows = self._largest(size, mask).rename(columns=columns)
        return rows[["rollout_id", "a", "b", "delta"]].to_dict("records")


def before_after(
    a: Side, b: Side, matched: MatchedRows, *, seed: int = 0
) -> BeforeAfter:
    """Put the rows that two scored tables have in common side by side.

    Args:
        a: A `Diagnosis`, or scores with their views, before the change.
        b: The same after the change. It may have other rows.
        matched: The rows of both, as `match_rows` returns them.
        seed: Of the resampling of prompts.
    """
    groups_a, advantages_a = _by_row(a)
    groups_b, advantages_b = _by_row(b)
    rewards_a, rewards_b = a.scores.rewards[matched.a], b.scores.rewards[matched.b]
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
    bootstrap = Bootstrap(prompts, seed=seed)
    siblings = groups["both"].to_numpy()
    return BeforeAfter(a, b, table, siblings, bootstrap, counts)


def in_brackets(
    interval: tuple[float, float], text: Callable[[float], str] = percent
) -> str:
    """Return an interval as it stands behind its value; "" where there is none."""
    low, high = interval
    return "" if np.isnan(low) else f" ({text(low)} to {text(high)})"


def rank_pairs(a: Floats, b: Floats, groups: Codes) -> dict[str, Floats]:
    """Count for each group how its pairs of rows are ordered in `a` and in `b`.

    Rows with a NaN are left out; values equal to 12 decimals are tied, as in
    `count_ties`. Of a group of more than 64 rows some pairs are looked at, as in
    `concordance`.

    Returns:
        Counts by kind of pair, (groups,) each; `n` counts all pairs.

    >>> a, b = np.array([1.0, 2, 3]), np.array([1.0, 1, 0])
    >>> pairs = rank_pairs(a, b, np.zeros(3, int))
    >>> {name: int(count[0]) for name, count in pairs.items() if count[0]}
    {'n': 3, 'discordant': 2, 'tied_in_b_only': 1}
    """
    is_missing = np.isnan(a) | np.isnan(b)
    a, b, row = (
        np.where(is_missing, np.nan, np.round(values, 12))
        for values in (a, b, np.arange(len(a)))
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


def _tau(agreed: Any, untied_a: Any, untied_b: Any) -> Any:
    return agreed / np.sqrt(untied_a * untied_b)


def _count(masks: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(values.sum()) for name, values in masks.items()}


def _count_pairs(groups: pd.Series[Any]) -> int:
    sizes = groups.value_counts()
    return int((sizes * (sizes - 1) // 2).sum())


def _signs(advantages: Floats, is_known: Mask) -> Codes:
    is_real = is_known & (np.abs(advantages) > ZERO_STD)
    return np.where(is_real, np.sign(advantages), 0).astype(int)


def _by_row(side: Side) -> tuple[Codes, Floats]:
    """Return the group and the advantage of each row.

    A row that a route has no reward for is a group of its own.
    """
    rows = len(side.scores)
    groups, advantages = -1 - np.arange(rows), np.full(rows, np.nan)
    for place, view in enumerate(side.views):
        groups[view.rows] = side.scores.groups[view.rows] * len(side.views) + place
        advantages[view.rows] = view.advantages
    return groups, advantages


def _share_without_signal(side: Side) -> float:
    """Return the share of groups of several judged siblings without an advantage."""
    dead = sum(int(view.dead.sum()) for view in side.views)
    live = sum(int(view.live.sum()) for view in side.views)
    return dead / (dead + live) if dead + live else float("nan")


def _share_where_none_is_right(side: Side) -> float:
    """Return the share of the squared advantage in groups without a right completion.

    0 where nothing says which completions are right.
    """
    above = below = 0.0
    for view in side.views:
        phantom, total = view.phantom_mass(view.advantages)
        above += float(phantom.sum())
        below += float(total.sum())
    return above / below if below else 0.0


def _findings_by_key(side: Side) -> dict[FindingKey, Finding]:
    """Return findings by code, component, part and subject; of equal ones the worst."""
    findings: dict[FindingKey, Finding] = {}
    for item in sorted(side.findings, key=lambda item: SEVERITIES.index(item.severity)):
        subject = (item.evidence.get(name) for name in ("column", "other", "longer"))
        findings.setdefault((item.code, item.component, item.part, *subject), item)
    return findings


def _findings_only_in(side: Side, other: Side) -> tuple[Finding, ...]:
    """Return the findings of one side that the other does not have.

    A finding about a slice is in the other side, too, where that has it for the whole,
    which it does not repeat for each slice.
    """
    others = _findings_by_key(other)
    certain = set()
    for key, item in others.items():
        if not item.evidence.get("inconclusive"):
            certain.add(key[:3])
    parts = sorted((view.part for view in side.views), key=len, reverse=True)
    findings = []
    for key, item in _findings_by_key(side).items():
        part = next((part for part in parts if item.part.startswith(f"{part}: ")), "")
        is_of_slice = item.part not in parts
        is_covered = is_of_slice and (item.code, item.component, part) in certain
        if key not in others and not is_covered:
            findings.append(item)
    return tuple(findings)
