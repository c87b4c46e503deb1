"""The rule on how the reward of equal answers goes with their length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rewardkit.analysis.findings import conclusive, finding
from rewardkit.analysis.rehearsal.kinds import MARK
from rewardkit.analysis.statistics import Codes, Floats, Mask, group_stats
from rewardkit.analysis.statistics.curves import (
    CurveFit,
    LengthCurve,
    fit_curve,
    tell_curve,
)
from rewardkit.analysis.statistics.distributions import two_piles
from rewardkit.analysis.verdicts import rows_to_read
from rewardkit.analysis.view import View
from rewardkit.answers.requests import read_length_asked
from rewardkit.answers.stated import LONGEST_TRUTH_STATED, read_statement
from rewardkit.findings import Finding, Findings, rule
from rewardkit.primitives.messages import prompt_text
from rewardkit.primitives.texts import normal_text
from rewardkit.rollouts.values import column_values

MOST_VERDICT_LEVELS = 10
"""Values of a verdict up to which equal ones make rows alike. Our choice."""
MOST_OF_ONE_LENGTH = 0.8
"""Share of the right rows whose prompts may ask for the same length. Our choice."""
ONE_CURVE = 0.9
"""Share of the differences that lengths explain where no prompt's wish counts.

Our choice: a reward that reads the wish pays the same length otherwise elsewhere.
"""
ONE_SIDE = 0.95
"""Share of the rows that must lie on the side of their answer. Our choice."""


@dataclass(frozen=True, eq=False)
class AlikeRows:
    """Classes of rows that should earn the same, whatever their length.

    `classes` are codes, -1 for rows without a class. `is_right` marks the rows that are
    right, or paid better; None where nothing tells two kinds apart. `right` and `wrong`
    are the names of the two.
    """

    classes: Codes
    is_right: Mask | None
    right: str
    wrong: str = "wrong ones"


@rule("length_curve")
def length_curve(
    view: View,
    findings: Findings,
    *,
    length_explains: float = 0.5,  # of the differences among equal answers: our choice
    length_high: float = 0.5,  # of what being right adds: our choice
) -> Iterator[Finding]:
    """Find that length moves what equal answers earn: where it turns, and how far.

    A sum of components has other rules on length, so that only a turn is reported.
    """
    if not view.varies or conclusive(findings, "length_bias"):
        return
    forms = find_forms(view)
    alike = _alike_by_verdict(view, forms) or _alike_by_answer(view, forms)
    if alike is None:
        return
    is_alike = (alike.classes >= 0) & view.is_judged
    is_right = is_alike if alike.is_right is None else is_alike & alike.is_right
    is_free = _are_free(view, is_right)
    is_alike, is_right = is_alike & is_free, is_right & is_free
    fit = _fit(view, alike.classes, is_right)
    if fit is None or fit.curve.explained < length_explains:
        return
    wrong = None
    if alike.is_right is None:
        levels = group_stats(view.rewards[is_alike], alike.classes[is_alike]).mean
        span = 2 * float(np.nanstd(levels))
    else:
        is_wrong = is_alike & ~alike.is_right
        span = float(view.rewards[is_right].mean() - view.rewards[is_wrong].mean())
        wrong_fit = _fit(view, alike.classes, is_wrong)
        if wrong_fit is not None:
            wrong = wrong_fit.curve
        elif is_wrong.any():  # they earn the same at each length
            ends = np.full(len(fit.curve.lengths), view.rewards[is_wrong].mean())
            wrong = LengthCurve(fit.curve.lengths, ends)
    curve = fit.curve
    unit = view.context.length_unit
    story = tell_curve(curve, wrong, span, unit, high=length_high)
    places = story.places
    certain = [(int(np.argmax(curve.values)), int(np.argmin(curve.values)))]
    if story.kind == "turns":
        certain = [(places[0], places[1]), (places[2], places[1])]
    is_of_parts = len(view.paid_names) > 1 and story.kind != "turns"
    if not story.kind or is_of_parts:
        return
    if not all(fit.is_certain(*pair, view.bootstrap) for pair in certain):
        return
    yield finding(
        view,
        "length_curve",
        n=int(is_right.sum()),
        value=curve.explained,
        limit=length_explains,
        severity=story.severity,
        reading=is_right & (view.context.lengths >= curve.lengths[places[-1]]),
        cost=min(story.worth, 1.0),
        among=alike.right,
        others=alike.wrong,
        worth=story.worth,
        **story.words,
    )


def _are_free(view: View, is_right: Mask) -> Mask:
    """Return the rows whose prompt asks for no length, (rows,).

    A length that a prompt asks for may well decide the reward. If one curve fits all
    prompts, whatever length they ask for, all rows that are read count. If no prompt
    asks for a length, all rows do.
    """
    table = view.context.table
    if "prompt" not in table:
        return np.ones(len(view), dtype=bool)
    places = np.flatnonzero(rows_to_read(view.groups))
    _, firsts, codes = np.unique(
        view.groups[places], return_index=True, return_inverse=True
    )
    prompts = map(prompt_text, column_values(table["prompt"].iloc[places[firsts]]))
    wishes = np.array(list(map(read_length_asked, prompts)))
    if not wishes.any():
        return np.ones(len(view), dtype=bool)
    is_free = np.zeros(len(view), dtype=bool)
    is_free[places] = wishes[codes] == ""
    is_read = is_right[places]
    _, counts = np.unique(wishes[codes][is_read], return_counts=True)
    if counts.max(initial=0) <= MOST_OF_ONE_LENGTH * is_read.sum():
        fit = _fit(view, np.zeros(len(view), dtype=int), places[is_read])
        if fit is not None and fit.curve.explained >= ONE_CURVE:
            is_free[places] = True
    return is_free


def _fit(view: View, classes: Codes, rows: Mask | Codes) -> CurveFit | None:
    """Fit the rewards of some rows by length, among those of the same class."""
    classes = np.unique(classes[rows], return_inverse=True)[1]
    lengths = view.context.lengths[rows]
    prompts = view.bootstrap.prompts[rows]
    return fit_curve(lengths, view.rewards[rows], classes, prompts)


def find_forms(view: View) -> Codes:
    """Return codes of the form of completions, (rows,), -1 for rows that are not read.

    The form is the set of marks, which of them occur twice, and whether text stands
    before or behind them. Marks change the length, but a reward for marks is no reward
    for length. All 0 where marks tell no forms apart.
    """
    places = np.flatnonzero(rows_to_read(view.groups))
    forms = list(map(_form, view.completions[places].tolist()))
    codes = np.full(len(view), -1)
    codes[places], names = pd.factorize(pd.Series(forms, dtype=object))
    return codes if len(names) > 1 else np.zeros(len(view), dtype=int)


def _form(completion: str) -> tuple[Hashable, ...]:
    marks = list(MARK.finditer(completion))
    if not marks:
        return ()
    counts = Counter(mark[0] for mark in marks)
    is_alone = (
        not completion[: marks[0].start()].strip(),
        not completion[marks[-1].end() :].strip(),
    )
    return (*is_alone, frozenset((mark, n > 1) for mark, n in counts.items()))


def _alike_by_verdict(view: View, forms: Codes) -> AlikeRows | None:
    """Return siblings with the same verdict; None where the reward is the verdict."""
    verdicts = view.verdicts
    if verdicts is None or (verdicts.is_component and len(view.paid_names) == 1):
        return None
    levels, codes = np.unique(verdicts.scores, return_inverse=True)
    levels = levels[~np.isnan(levels)]
    if not 1 < len(levels) <= MOST_VERDICT_LEVELS:
        return None
    is_known = ~np.isnan(verdicts.scores) & (forms >= 0)
    classes = (view.groups * (len(levels) + 1) + codes) * (forms.max() + 1) + forms
    classes = np.where(is_known, classes, -1)
    return AlikeRows(classes, verdicts.scores == levels[-1], "right answers")


def _alike_by_answer(view: View, forms: Codes) -> AlikeRows | None:
    """Return siblings that state the same answer, and which answers are paid better."""
    places = np.flatnonzero(rows_to_read(view.groups) & view.is_judged)
    answers = []
    for completion in view.completions[places]:
        statement = read_statement(str(completion))
        has_mark = len(statement.answer) <= LONGEST_TRUTH_STATED
        has_mark &= statement.mark != "whole"
        if statement.is_marked:  # a reward may refuse two answers
            before = read_statement(str(completion)[: statement.before])
            has_mark &= before.mark != statement.mark
        answers.append(normal_text(statement.answer) or None if has_mark else None)
    stated, _ = pd.factorize(pd.Series(answers, dtype=object))
    classes = np.full(len(view), -1)
    has_answer = stated >= 0
    if not has_answer.any():
        return None
    keys = view.groups[places] * (stated.max() + 1) + stated
    keys = keys * (forms.max() + 1) + forms[places]
    _, codes = np.unique(keys[has_answer], return_inverse=True)
    classes[places[has_answer]] = codes
    is_better = _split_answers(view.rewards, classes)
    if is_better is None:
        return AlikeRows(classes, None, "answers that are equal")
    return AlikeRows(classes, is_better, "the better paid answers", "the others")


def _split_answers(rewards: Floats, classes: Codes) -> Mask | None:
    """Return which rows state an answer that is paid better; None where none is.

    Answers are split into two piles by their mean reward. The split counts if nearly
    all rows lie on the same side as the mean of their answer.
    """
    is_alike = classes >= 0
    means = group_stats(rewards[is_alike], classes[is_alike]).mean
    if len(means) < 2:
        return None
    low, high, _ = two_piles(means)
    middle = (low + high) / 2
    of_row = means[classes[is_alike]] > middle
    is_alone = min(of_row.mean(), 1 - of_row.mean()) == 0
    if is_alone or ((rewards[is_alike] > middle) == of_row).mean() < ONE_SIDE:
        return None
    is_better = np.zeros(len(rewards), dtype=bool)
    is_better[is_alike] = of_row
    return is_better
