"""Timeline: one part of a run in windows of steps, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from rewardkit.analysis.rehearsal.reach import HALF
from rewardkit.analysis.rehearsal.rows import scale_task
from rewardkit.analysis.rewarded_rows import ROUNDING
from rewardkit.analysis.statistics import Floats, Mask, in_both, within
from rewardkit.analysis.verdicts import Verdicts, are_examples, contradict
from rewardkit.answers.logged import LoggedAnswer
from rewardkit.answers.scales import find_other_scales
from rewardkit.monitoring.changes import (
    Shift,
    change_of_run,
    find_change,
    rises_steadily,
)
from rewardkit.monitoring.features import Feature, same_texts
from rewardkit.monitoring.pressure import GroupPayment, NewlyPaid, find_newly_paid
from rewardkit.monitoring.run_rows import RunRows
from rewardkit.monitoring.task import guess_task
from rewardkit.monitoring.windows import WindowFigure
from rewardkit.rollouts.values import column_values

LEAST_COMPARABLE = 0.8
"""Least share of the completions read whose answers are comparable. Our choice."""
GROWTH_OF_CAUSE = 0.2
"""Least growth of a cause over a change, as a share of completions. Our choice."""
FAR_BELOW = 0.1
"""Fall of the task from which a run is not called healthy. Our choice."""
LEAST_TASK_CHANGE = 0.02
"""Least change of the task, as a share done. Our choice."""
AGREES_WITH_RIGHT = 0.98
"""Least share of the rows on which a component agrees with the task. Our choice."""
STATED = "right answers"
"""Name of the task if stated answers are compared with truths."""


@dataclass(frozen=True, eq=False)
class Timeline(RunRows):
    """One part of a run: how much of its task is done, its figures, and what pays."""

    # --- the task

    @cached_property
    def task(self) -> Verdicts | None:
        """Return how much of the task each row does, 0 to 1, or None if not known.

        The sources in their order: a label, the stated answers compared with truths,
        the component that is known to be the task, a guess. A policy cannot game the
        first two.
        """
        return self._known_task or guess_task(self.view)

    @cached_property
    def _known_task(self) -> Verdicts | None:
        view = self.view
        if view.context.label is not None:
            return Verdicts(view.context.label_name, view.context.label, 0.0)
        stated = self._stated_answers()
        if stated is not None:
            return Verdicts(STATED, stated, 0.0)
        verdicts = view.verdicts
        if verdicts is None or not verdicts.name:
            return None
        return Verdicts(verdicts.name, scale_task(view, verdicts.scores), 0.0)

    @property
    def task_is_guess(self) -> bool:
        """Return whether the task is only guessed from the components."""
        return self._known_task is None and self.task is not None

    @property
    def task_name(self) -> str:
        """Return the name of the task's measure, "" if the task is not known."""
        return self.task.name if self.task else ""

    @cached_property
    def is_graded(self) -> bool:
        """Return whether the task is also done in part."""
        if self.task is None:
            return False
        scores = self.task.scores
        return not bool(np.isin(scores[~np.isnan(scores)], (0.0, 1.0)).all())

    @cached_property
    def task_words(self) -> str:
        """Return the name of the task's measure, and what its figures are.

        The mean of a graded measure is no share of the completions.
        """
        words = self.task_name
        if self.is_graded:
            words = f"share of the range of {words}"
        return f"{words}, a guess" if self.task_is_guess else words

    @cached_property
    def right_component(self) -> str:
        """Return the paid component that is full if the task is done, or ""."""
        if self.task is None or self.task_is_guess:
            return ""
        is_right = self.task.scores >= HALF
        for name in self.view.paid_names:
            low, high = self.view.span(name)
            scores = self.view.scores[name]
            has_both = in_both(self.task.scores, scores)
            if not high > low or not has_both.any():
                continue
            agrees = (scores >= high) == is_right
            if agrees[has_both].mean() >= AGREES_WITH_RIGHT:
                return name
        return ""

    def _stated_answers(self) -> Floats | None:
        """Return 1 for rows that state their truth, 0 for others, NaN if undecided.

        A completion without an answer is wrong. So is one without a marked answer if
        the run began with marked answers. None if too few answers can be compared with
        truths, if all are right or all wrong, or if the task is another.
        """
        if "ground_truth" not in self.view.context.table:
            return None
        statements = self.texts.statements
        values = np.array([reading.is_right for reading in self.texts.readings])
        is_marked = np.array([item.is_marked for item in statements])
        is_early = self.is_early(self.windows.row_windows[self.rows_read])
        marks_are_usual = bool(is_marked[is_early].mean() >= HALF)
        is_unclosed = np.array([item.is_unclosed for item in self.texts.readings])
        if self._accepts_unclosed(is_unclosed & (values == 1.0), values, is_marked):
            is_marked |= is_unclosed
        for place in np.flatnonzero(~is_marked).tolist():
            if marks_are_usual or not statements[place].answer:
                values[place] = 0.0
        is_judged = ~np.isnan(values)
        if is_judged.mean() < LEAST_COMPARABLE or len(np.unique(values[is_judged])) < 2:
            return None
        shares = np.full(len(self.view), np.nan)
        shares[self.rows_read] = values
        return None if self._is_task_another(shares) else shares

    def _is_task_another(self, stated: Floats) -> bool:
        """Return whether truths are examples, and a run began by paying other answers.

        Only its first windows say so: what is paid later may be an exploit.
        """
        table = self.view.context.table
        if not are_examples(table):
            return False
        guess = guess_task(self.view)
        earned = guess.scores if guess else self.view.rewards
        is_early = self.is_early(self.windows.row_windows)
        return contradict(stated[is_early], earned[is_early], of_examples=True)

    def _accepts_unclosed(
        self, is_unclosed: Mask, is_right: Floats, is_marked: Mask
    ) -> bool:
        """Return whether every score that verifies answers accepts unclosed ones.

        Args:
            is_unclosed: Right answers whose tag is not closed, (rows read,).
            is_right: 1 for right answers, 0 for wrong ones, else NaN, (rows read,).
            is_marked: Answers that are properly marked, (rows read,).
        """
        if not is_unclosed.any():
            return False
        is_accepted = False
        for name in self.view.names:
            scores = self.view.scores[name][self.rows_read]
            low, high = self.view.span(name)
            is_full = scores >= high
            right = is_full[is_marked & (is_right == 1.0)]
            wrong = is_full[is_marked & (is_right == 0.0)]
            if not high > low or not len(right) or not len(wrong):
                continue
            if right.mean() < AGREES_WITH_RIGHT or wrong.mean() > 1 - AGREES_WITH_RIGHT:
                continue
            if is_full[is_unclosed].mean() < HALF:
                return False
            is_accepted = True
        return is_accepted

    def find_scale(self) -> str:
        """Return what most stated numbers are, divided by their truths, or ""."""
        table = self.view.context.table
        if "ground_truth" not in table:
            return ""
        answers: list[LoggedAnswer] = []
        truths = column_values(table["ground_truth"].iloc[self.rows_read])
        for truth, statement in zip(truths, self.texts.statements, strict=True):
            row = {"ground_truth": truth}
            answers.append(LoggedAnswer(row, "", None, statement, reward=0.0))
        counts = {}
        for scale in find_other_scales(answers, {"ground_truth"}):
            if scale.kind == "numbers":
                counts[scale.factor] = len(scale.answers)
        return max(counts, key=counts.__getitem__, default="")

    @cached_property
    def task_figure(self) -> WindowFigure | None:
        """Return the share done of the task by window."""
        return self.windows.figure(self.task.scores) if self.task else None

    def task_change(self, way: int) -> Shift | None:
        """Return the rise (1) or fall (-1) of the task."""
        if self.task_figure is None:
            return None
        return find_change(self.task_figure, self.windows, way, least=LEAST_TASK_CHANGE)

    @cached_property
    def task_rises(self) -> bool:
        """Return whether the task rises, or is nearly always done at the end."""
        if self.task_figure is None:
            return False
        means = self.task_figure.means[~np.isnan(self.task_figure.means)]
        if len(means) and means[-1] >= 0.9:
            return True
        change = self.task_change(1)
        if change is None and self.task_change(-1) is None:
            return rises_steadily(self.task_figure, LEAST_TASK_CHANGE)
        # a recovery from a dip is no rise
        return change is not None and change_of_run(self.task_figure, change)[1] > 0

    @cached_property
    def may_have_fallen(self) -> bool:
        """Return whether the task in the last quarter is far below the first quarter.

        Only prompt kinds that end the run count. The difference may be chance.
        """
        if self.task is None:
            return False
        figure = self.figure_of_last_prompts(self.task.scores)
        windows = max(1, len(figure) // 4)
        fall = figure.mean(slice(windows)) - figure.mean(slice(-windows, None))
        return fall >= FAR_BELOW

    # --- figures

    @cached_property
    def figures(self) -> Mapping[str, WindowFigure]:
        """Return the figures of the page, by name."""
        view, windows = self.view, self.windows
        figures = {"reward": windows.figure(view.rewards)}
        if self.task and self.task_figure:
            figures[f"task ({self.task.name})"] = self.task_figure
        for name in view.names:
            figures[name] = windows.figure(view.scores[name])
        figures["groups without a signal"] = self.dead_groups
        figures[self.length_name] = self.lengths
        figures["same text as a sibling"] = self.repeats
        figures["rows without a reward"] = windows.figure(1.0 * np.isnan(view.rewards))
        return figures

    @property
    def reward_spread(self) -> float:
        """Return the standard deviation of the rewards, NaN without rewards."""
        return float(pd.Series(self.view.rewards).std(ddof=0))

    @property
    def length_name(self) -> str:
        """Return the name of the figure of lengths."""
        return f"length in {self.view.context.length_unit}"

    @cached_property
    def lengths(self) -> WindowFigure:
        """Return the mean length of completions by window."""
        return self.windows.figure(self.view.context.lengths)

    @cached_property
    def dead_groups(self) -> WindowFigure:
        """Return the share of groups without a signal by window."""
        view = self.view
        is_dead = np.where(view.stats.count > 1, view.dead, np.nan)
        return self.windows.figure_of_groups(is_dead)

    @cached_property
    def repeated(self) -> Floats:
        """Return 1 for rows with the text of a sibling, else 0, NaN if not read."""
        rows = np.full(len(self.view), np.nan)
        rows[self.rows_read] = same_texts(self.texts)
        return rows

    @cached_property
    def repeats(self) -> WindowFigure:
        """Return the share of rows with the text of a sibling by window."""
        return self.windows_read.figure(self.repeated[self.rows_read])

    # --- who pays

    @cached_property
    def amounts(self) -> Mapping[str, WindowFigure]:
        """Return what each component adds to the reward by window, {} if no sum."""
        if not self.view.additive:
            return {}
        amounts = self.view.payments
        return {
            name: self.windows.figure(amounts[name]) for name in self.view.paid_names
        }

    def split(self, change: Shift) -> dict[str, float]:
        """Return what each component adds to a change of the reward."""
        split = {}
        for name, figure in self.amounts.items():
            before, after = change.means(figure)
            split[name] = after - before
        return split

    @cached_property
    def effective_weights(self) -> Mapping[str, WindowFigure]:
        """Return each component's share of the squared advantage by window."""
        mass = self.view.group_mass
        shares = {}
        for name, share in self.view.group_shares.items():
            values = np.where(mass > 0, share, np.nan)
            shares[name] = self.windows.figure_of_groups(values)
        return shares

    @cached_property
    def newly_paid(self) -> Sequence[NewlyPaid]:
        """Return the newly paid features of the rows that are read.

        If the task falls, features that grow over its fall come first. Wrong
        completions that are paid like right ones come before all.
        """
        items = find_newly_paid(self.features, self._payment, self.windows_read)
        fall = self.task_change(-1)
        if fall is not None:
            items.sort(key=lambda item: not self._grows_over(item, fall))
        return items if self.wrong_paid is None else [self.wrong_paid, *items]

    @cached_property
    def wrong_paid(self) -> NewlyPaid | None:
        """Return wrong completions as a feature that is newly paid, or None."""
        if self.task is None:
            return None
        shares, rewards = self.task.scores, self.view.rewards
        right = rewards[(shares >= HALF) & ~np.isnan(rewards)]
        if not len(right):
            return None
        is_paid = (shares < HALF) & (rewards >= np.median(right))
        rows = is_paid[self.rows_read].astype(float)
        feature = Feature("are wrong and paid like right ones", "", rows)
        items = find_newly_paid([feature], self._payment, self.windows_read)
        return items[0] if items else None

    @cached_property
    def right_unpaid(self) -> Floats:
        """Return 1 for right rows that earn no more than wrong siblings, else 0.

        NaN for rows that are not right and for rows without wrong siblings, as some
        rewards pay nothing if the whole group is right. (rows,). If no prompt has
        siblings, rows are compared with the wrong ones of their window.
        """
        if self.task is None:
            return np.full(len(self.view), np.nan)
        shares, rewards = self.task.scores, self.view.rewards
        wrong = pd.Series(np.where(shares < HALF, rewards, np.nan))
        usual = wrong.groupby(self.view.groups).transform("median")
        if not self.view.several:
            usual = wrong.groupby(self.windows.row_windows).transform("median")
        is_known = (shares >= HALF) & ~np.isnan(rewards) & usual.notna().to_numpy()
        is_unpaid = rewards <= usual.to_numpy() + ROUNDING
        return np.where(is_known, is_unpaid, np.nan)

    def is_exploit(self, item: NewlyPaid) -> bool:
        """Return whether completions with a feature are exploits, and others are not.

        An exploit is empty, lists answers, repeats itself, or attacks a judge.
        """
        exploits = []
        for reading in self.texts.readings:
            is_bare = reading.is_empty or reading.is_list or reading.repeats_itself
            exploits.append(is_bare or any(reading.attacks))
        is_exploit, has_feature = np.array(exploits), item.rows == 1
        share, elsewhere = is_exploit[has_feature].mean(), 0.0
        if not has_feature.all():
            elsewhere = is_exploit[~has_feature].mean()
        return bool(share - elsewhere >= HALF)

    @cached_property
    def _payment(self) -> GroupPayment:
        """Return the advantages of the rows that are read, and their parts."""
        view, rows = self.view, self.rows_read
        shares = np.full(len(view), np.nan) if self.task is None else self.task.scores
        return GroupPayment(
            view.advantages[rows],
            self._advantage_parts,
            {name: view.payments[name][rows] for name in self.amounts},
            shares[rows],
        )

    def causes_of(self, change: Shift) -> list[NewlyPaid]:
        """Return the newly paid features that grow over a change."""
        return [item for item in self.newly_paid if self._grows_over(item, change)]

    @cached_property
    def causes(self) -> Sequence[NewlyPaid]:
        """Return the newly paid features that explain a fall of the task best.

        Without a fall, or if none grows over it, all newly paid features.
        """
        fall = self.task_change(-1)
        growing = [] if fall is None else self.causes_of(fall)
        return growing or self.newly_paid

    def change_beside_causes(self, values: Floats, way: int) -> Shift | None:
        """Return the change of a figure among completions that show no cause.

        If there is none, the newly paid features explain the change of the figure.

        Args:
            values: A value per row, (rows,), NaN if missing.
            way: 1 for a rise, -1 for a fall.
        """
        shows_cause = np.zeros(len(self.rows_read), dtype=bool)
        for item in self.causes:
            if not item.is_wording:
                shows_cause |= item.rows == 1
        others = np.where(shows_cause, np.nan, values[self.rows_read])
        figure = self.windows_read.figure(others)
        return find_change(figure, self.windows_read, way)

    def _grows_over(self, item: NewlyPaid, change: Shift) -> bool:
        before, after = change.means(self.windows_read.figure(item.rows))
        return after - before >= GROWTH_OF_CAUSE

    @cached_property
    def _advantage_parts(self) -> dict[str, Floats]:
        """Return what each component adds to the advantages of the rows read, (rows,).

        {} if the reward is no sum.
        """
        view, rows = self.view, self.rows_read
        scale = np.ones(len(view.owner))
        if view.training.scales_groups:
            scale = np.nan_to_num(view.stats.std) + view.training.eps
        scale = scale[view.groups[rows]]
        parts = {}
        for name in self.amounts:
            pieces = view.pieces[name][rows]
            parts[name] = within(pieces, self.windows_read.groups) / scale
        return parts
