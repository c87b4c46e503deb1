"""How two versions order right completions above wrong ones, on the same rollouts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rewardkit.analysis.comparison.before_after import BeforeAfter, Figure
from rewardkit.analysis.comparison.matching import MatchedRows
from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.parts import choose_columns, parts_of
from rewardkit.analysis.statistics import Floats, Mask, in_both, ratio
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.verdicts import judge_by_answers, judge_by_objects
from rewardkit.rewards.reward import Part

TESTS = 5
"""Makes the level of a difference 99 % in place of 95: versions are compared again and
again, and each comparison decides something. Our choice."""


@dataclass(frozen=True, eq=False)
class SharedTask:
    """Verdicts that two sides share: how well each of their rows did the task.

    `scores`, (rows,), are NaN where nothing is known; `words` say where they come from.
    `is_of_both` says whether each side by itself has these verdicts, and so a rehearsal
    of it. `is_labelled` says whether they are a trusted label.
    """

    words: str
    scores: Floats
    is_of_both: bool
    is_labelled: bool = False


def find_task(
    a: Diagnosis, b: Diagnosis, matched: MatchedRows, *, is_redefined: bool = False
) -> SharedTask | None:
    """Return verdicts on the task that hold for both sides, or None.

    A trusted label, even if a component repeats it; else what both sides name, such as
    a verdict of the log or a component with equal scores in both; else the stated
    answers or objects. Verdicts that only one side has would favour that side.

    Args:
        a: One side.
        b: The other.
        matched: The rows of both.
        is_redefined: Whether B redefines a component of the task. Then no component
            gives the verdicts.
    """
    words, before, is_of_reward = _named_task(a)
    _, after, is_of_other = _named_task(b)
    before = before[matched.a]
    after = after[matched.b]
    is_known = in_both(before, after)
    is_alike = np.allclose(before[is_known], after[is_known])
    if is_redefined and (is_of_reward or is_of_other):
        is_alike = False
    if is_alike and len(np.unique(before[is_known])) > 1:
        task = np.where(is_known, before, np.nan)
        is_labelled = all(view.context.label_name for view in (*a.views, *b.views))
        return SharedTask(words, task, is_of_both=True, is_labelled=is_labelled)
    rows = (a.scores.table, a.scores.groups)
    verdicts = judge_by_answers(*rows) or judge_by_objects(*rows)
    if verdicts is None:
        return None
    return SharedTask(verdicts.words, verdicts.scores[matched.a], is_of_both=False)


def _named_task(side: Diagnosis) -> tuple[str, Floats, bool]:
    """Return the verdicts of one side on which rows did the task.

    Their name, the scores, (rows,), and whether a component of the reward gives any.
    """
    is_of_reward = False
    task = np.full(len(side.scores), np.nan)
    words = []
    for view in side.views:
        if view.context.any_label is not None:
            task[view.rows] = view.context.any_label
            words.append(repr(view.context.label_name))
        elif view.verdicts is not None:
            task[view.rows] = view.verdicts.scores
            words.append(view.verdicts.words)
            is_of_reward |= view.verdicts.is_component
    return " and ".join(dict.fromkeys(words)), task, is_of_reward


def compare_order(
    pair: BeforeAfter,
    task: SharedTask | None,
    among: Mask | None = None,
    tests: int = 1,
) -> Figure:
    """Return by how much B orders siblings by the task better than A.

    `value` is ``auc_b`` minus ``auc_a``. An AUC is the share of pairs of siblings that
    differ in the task in which the better one gets the higher reward; ties count half.
    Rows that one side has not judged are left out.

    Args:
        pair: Both sides.
        task: The verdicts on the rows.
        among: The rows that count, (rows,), in whole groups; None: all.
        tests: The number of intervals that the level holds for together.
    """
    unknown: Figure = dict.fromkeys(("value", "auc_a", "auc_b"), np.nan)
    unknown |= {"interval": (np.nan, np.nan), "n": 0}
    if task is None:
        reason = "nothing says which completions are right: name a label"
        return {**unknown, "reason": reason}
    a, b = pair.both("reward")
    is_compared = in_both(a, b)
    if among is not None:
        is_compared &= among
    order = np.where(is_compared, task.scores, np.nan)
    owner = pair.bootstrap.of_groups(pair.siblings)
    agree_a, pairs = concordance(a, order, pair.siblings, total=len(owner))
    agree_b, _ = concordance(b, order, pair.siblings, total=len(owner))
    if not pairs.any():
        return {**unknown, "reason": "no two siblings differ in the task"}
    sums = [agree_b - agree_a, pairs]
    return {
        "value": ratio(agree_b - agree_a, pairs),
        "interval": pair.bootstrap.interval(sums, owner, tests=TESTS * tests),
        "n": int(pairs.sum()),
        "auc_a": ratio(agree_a, pairs),
        "auc_b": ratio(agree_b, pairs),
        "reason": None,
    }


def compare_slices(
    pair: BeforeAfter, task: SharedTask | None, matched: MatchedRows
) -> dict[str, Figure]:
    """Return `compare_order` of each slice that has enough groups, by its label."""
    if task is None:
        return {}
    scores = pair.a.scores
    all_rows = Part("", scores.reward, np.arange(len(scores)))
    slices = parts_of(scores, all_rows, choose_columns(scores, None))
    figures = {}
    for part in slices:
        among = np.isin(matched.a, part.rows)
        figures[part.label] = compare_order(pair, task, among, tests=len(slices))
    return figures
