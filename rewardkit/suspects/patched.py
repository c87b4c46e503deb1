"""Measure what a patched reward gives suspects and right completions.

Right completions are known by the label, else by the ground truth, full marks of the
task component, or the advantage.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.analysis.comparison.before_after import BeforeAfter, before_after
from rewardkit.analysis.comparison.matching import match_rows
from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.parts import make_views, only_finite
from rewardkit.analysis.rewarded_rows import ROUNDING
from rewardkit.analysis.statistics import Floats, Mask
from rewardkit.analysis.verdicts import judge_by_answers
from rewardkit.analysis.view import View
from rewardkit.findings import counted, percent
from rewardkit.html.markup import number
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.scores import Scores

LARGEST_FALL = 0.1
"""Largest fall, in the share of wrong completions beaten, of one that does not lose.

Our choice. Such ranks do not depend on the scale of a reward, or on a bonus for other
right completions.
"""
LONGEST_REASON = 120
"""Characters of a reason in a sentence. Our choice."""
LONGEST_KEPT_COMPLETION = 2_000
"""Characters of a completion in the record. Our choice."""
LOSS_COLUMNS = {
    "reward": "reward_a",
    "patched": "reward_b",
    "advantage": "advantage_a",
    "patched advantage": "advantage_b",
    "pushed down": "is_pushed_down",
}
"""Column of a table of losing completions -> its column in `BeforeAfter.table`."""


@dataclass(frozen=True, eq=False)
class Patched:
    """The effect of a patched reward on the completions of a log.

    `rows` counts the completions with both rewards in the table, `judged` those that
    got a reward from the patched one, and `why_not` is the most frequent reason for the
    others.

    `suspects` counts suspects: `earned` of them had a positive advantage, `earn` still
    have one, and `earn_right` of the latter are right. `rewards` are their mean rewards
    before and after.

    `right` counts right completions among the others, as defined by `right_by`. `lost`
    is a table of those that lose, with both rewards and advantages. The `pushed_down`,
    whose advantage is no longer positive, come first. `right_suspects` and
    `lost_suspects` are the same for suspects; they are empty if only the reward itself
    says what is right.

    A completion loses if it is no longer judged, is pushed down, or beats a share of
    the wrong completions that is smaller by more than `LARGEST_FALL`. `changes` has all
    changes.
    """

    reward: str
    rows: int
    judged: int = 0
    why_not: str = ""
    suspects: int = 0
    earned: int = 0
    earn: int = 0
    earn_right: int = 0
    rewards: tuple[float, float] = (math.nan, math.nan)
    right: int = 0
    right_by: str = ""
    pushed_down: int = 0
    lost: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    right_suspects: int = 0
    lost_suspects: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    changes: BeforeAfter | None = field(default=None, repr=False)

    @property
    def sentences(self) -> list[str]:
        """Return sentences on unjudged completions, suspects and losses."""
        sentences = []
        name = repr(self.reward)
        unjudged = self.rows - self.judged
        if unjudged:
            why = f" (most often: {self.why_not})" if self.why_not else ""
            sentences.append(
                f"{name} does not judge {unjudged:,} of "
                f"{counted(self.rows, 'completion')}{why}. Fix that first: no reward "
                "is not a low one."
            )
        if not self.judged:
            return sentences
        if self.suspects:
            before, after = map(number, self.rewards)
            right = f", {self.earn_right:,} of them right" if self.earn_right else ""
            sentences.append(
                f"Under {name} {self.earn:,} of {counted(self.suspects, 'suspect')} "
                f"earn more than their siblings{right} ({self.earned:,} before); mean "
                f"reward {after} ({before} before)."
            )
        sentences.append(
            self._loss_sentence("other completions", self.right, self.lost)
        )
        if self.right_suspects:
            sentences.append(
                self._loss_sentence("suspects", self.right_suspects, self.lost_suspects)
            )
        return sentences

    @property
    def faults(self) -> list[str]:
        """Return the remaining faults of the patched reward, one phrase each."""
        faults = []
        if unjudged := self.rows - self.judged:
            faults.append(f"{counted(unjudged, 'completion')} without a reward")
        if wrong := self.earn - self.earn_right:
            faults.append(f"{counted(wrong, 'suspect')} still paid")
        if lost := len(self.lost) + len(self.lost_suspects):
            verb = "loses" if lost == 1 else "lose"
            faults.append(f"{counted(lost, 'right completion')} that {verb}")
        return faults

    def _loss_sentence(self, who: str, right: int, lost: pd.DataFrame) -> str:
        if not right:
            return f"There are no {who} {self.right_by}."
        name = repr(self.reward)
        if lost.empty:
            return f"None of {right:,} {who} {self.right_by} loses under {name}."
        return (
            f"{len(lost):,} of {right:,} {who} {self.right_by} "
            f"({percent(len(lost) / right)}) lose under {name}; "
            f"{int(lost['pushed down'].sum()):,} no longer earn more than their "
            "siblings."
        )

    def record(self) -> dict[str, Any]:
        """Return the figures as plain data, without `changes`."""
        plain = {
            **vars(self),
            "lost": to_records(self.lost),
            "lost_suspects": to_records(self.lost_suspects),
        }
        del plain["changes"]
        return plain


def measure_patch(
    scores: Scores,
    views: Sequence[View],
    patched: Scores,
    suspects: Mask,
    right: Rightness,
    *,
    seed: int,
) -> Patched:
    """Measure the effect of a patched reward on suspects and right completions.

    Args:
        scores: The scores before.
        views: Their views.
        patched: The scores after; rows are matched by `rollout_id`.
        suspects: Which rows of the scores before are suspects, (rows,).
        right: Which of these rows are right.
        seed: Seed of the bootstrap.
    """
    patched = only_finite(patched)
    matched = match_rows(scores, patched)
    training = views[0].training
    after_views = make_views(patched, training=training, seed=seed)
    changes = before_after(
        Diagnosis(scores, (), training, seed, tuple(views)),
        Diagnosis(patched, (), training, seed, after_views),
        matched,
    )
    before, after = changes.both("reward")
    advantages_before, advantages_after = changes.both("advantage")
    earned = advantages_before > ROUNDING
    earns = advantages_after > ROUNDING
    is_pushed_down = earned & ~earns
    is_judged = ~np.isnan(after)
    is_suspect = suspects[matched.a]
    rightness = right.values[matched.a]
    is_right = rightness == 1
    is_wrong = (rightness == 0) & is_judged
    is_right_suspect = is_suspect & is_right & right.is_independent[matched.a]
    fall = _share_beaten(before, is_wrong) - _share_beaten(after, is_wrong)
    loses = ~np.isnan(before) & (~is_judged | is_pushed_down | (fall > LARGEST_FALL))

    table = changes.table.assign(rows=matched.a, is_pushed_down=is_pushed_down)
    lost = _list_losing(scores, table[loses & ~is_suspect & is_right])
    means = changes.table.loc[is_suspect, ["reward_a", "reward_b"]].mean()
    return Patched(
        reward=patched.reward.name,
        rows=len(changes.table),
        judged=int(is_judged.sum()),
        why_not=_commonest_reason(patched, matched.b[~is_judged]),
        suspects=int(is_suspect.sum()),
        earned=int((is_suspect & earned).sum()),
        earn=int((is_suspect & earns).sum()),
        earn_right=int((is_right_suspect & earns).sum()),
        rewards=(float(means["reward_a"]), float(means["reward_b"])),
        right=int((~is_suspect & is_right).sum()),
        right_by=right.by,
        pushed_down=int(lost["pushed down"].sum()),
        lost=lost,
        right_suspects=int(is_right_suspect.sum()),
        lost_suspects=_list_losing(scores, table[loses & is_right_suspect]),
        changes=changes,
    )


def _list_losing(scores: Scores, table: pd.DataFrame) -> pd.DataFrame:
    """Return the losing completions, pushed down first, then by the largest drop."""
    drop = (table["reward_a"] - table["reward_b"]).fillna(np.inf)
    table = table.iloc[np.lexsort((-drop, ~table["is_pushed_down"]))]
    columns = {name: table[old].to_numpy() for name, old in LOSS_COLUMNS.items()}
    return rows_to_read(scores, table["rows"].to_numpy(), columns)


def _share_beaten(rewards: Floats, is_wrong: Mask) -> Floats:
    """Return the share of wrong completions that each beats; ties count half.

    >>> wrong = np.array([True, True, False])
    >>> _share_beaten(np.array([0.0, 0.0, 1.0]), wrong).tolist()
    [0.5, 0.5, 1.0]
    """
    wrong = np.sort(rewards[is_wrong & ~np.isnan(rewards)])
    below = wrong.searchsorted(rewards - ROUNDING)
    up_to = wrong.searchsorted(rewards + ROUNDING)
    return (below + up_to) / 2 / max(len(wrong), 1)


def _commonest_reason(scores: Scores, rows: NDArray[np.intp]) -> str:
    """Return the most frequent reason of these rows for a missing reward."""
    reasons: Counter[str] = Counter()
    for name in scores.reward.names:
        table = scores.table[[f"status/{name}", f"error/{name}"]].iloc[rows].dropna()
        for status, error in table.itertuples(index=False):
            line = " ".join(str(error).split())[:LONGEST_REASON]
            reasons[f"component {name!r}, {status}: {line}"] += 1
    return reasons.most_common(1)[0][0] if reasons else ""


def rows_to_read(
    scores: Scores, rows: NDArray[np.intp], columns: Mapping[str, NDArray[Any]]
) -> pd.DataFrame:
    """Return a table of rollout_id, step if any, these columns, and the completion."""
    table = scores.table.iloc[rows]
    cells: dict[str, Any] = {}
    for name in ("rollout_id", "step"):
        if name in table:
            cells[name] = as_column(column_values(table[name]))
    cells.update(columns)
    cells["completion"] = as_column(column_values(table["completion"]))
    return pd.DataFrame(cells)


def to_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as plain data, with long texts cut."""
    rows = []
    for cells in table.to_dict("records"):
        row = {}
        for name, value in cells.items():
            is_text = isinstance(value, str)
            row[str(name)] = value[:LONGEST_KEPT_COMPLETION] if is_text else value
        rows.append(row)
    return rows


# --- which completions are right


@dataclass(frozen=True, eq=False)
class Rightness:
    """Which completions are right: `values` (rows,) are 1, 0, or NaN if unknown.

    `by` is a phrase on the source. `is_independent` (rows,) is True if the source is
    not the reward itself; only then a suspect can be right.
    """

    values: Floats
    by: str
    is_independent: Mask


def read_label(rows: int, views: Sequence[View]) -> tuple[Floats | None, list[str]]:
    """Read the label of all rows as 0 and 1, NaN if missing.

    A label that a component repeats is also used: here it defines what is right, and
    is not used as evidence.

    Returns:
        The values (rows,), None without a label or if the column is none (not two
        values, or no numbers); and what is wrong with the column.
    """
    columns = []
    reasons: dict[str, None] = {}
    for view in views:
        context = view.context
        if context.why_no_label:
            reasons[context.why_no_label.partition(", so ")[0]] = None
        columns.append(context.any_label)
    values = join_views(rows, views, columns)
    if np.isnan(values).all():
        return None, list(reasons)
    return values, list(reasons)


def join_views(
    rows: int, views: Sequence[View], columns: Sequence[Floats | None]
) -> Floats:
    """Join a column of each view into one of all rows, NaN if a view has none.

    Rows without a reward in a route are in no view.
    """
    values = np.full(rows, np.nan)
    for view, column in zip(views, columns, strict=True):
        if column is not None:
            values[view.rows] = column
    return values


def judge_rightness(
    scores: Scores, views: Sequence[View], advantages: Floats
) -> Rightness:
    """Decide which completions are right without a label.

    Per view, the first available source decides: the answer is the ground_truth, if
    answers can be read in most completions; full marks by `View.verdicts`, the score of
    the task; a positive advantage.
    """
    values = np.full(len(scores), np.nan)
    is_independent = np.zeros(len(scores), dtype=bool)
    reasons = []
    for view in views:
        by_answers = judge_by_answers(view.context.table, view.groups, most=len(view))
        verdicts = by_answers or view.verdicts
        if verdicts is None:
            right = _is_above(advantages[view.rows], ROUNDING)
            reason = "that earned more than their siblings"
        else:
            right = _is_above(verdicts.scores, np.nanmax(verdicts.scores) - ROUNDING)
            reason = f"with full marks of {verdicts.name!r}"
            is_independent[view.rows] = not verdicts.is_component
        if by_answers:
            reason = "whose answer is the ground_truth"
        values[view.rows] = right
        reasons.append(reason)
    return Rightness(values, " or ".join(dict.fromkeys(reasons)), is_independent)


def _is_above(values: Floats, limit: float) -> Floats:
    """Return 1 for values above a limit, else 0; NaN stays NaN."""
    return np.where(np.isnan(values), np.nan, values > limit)
