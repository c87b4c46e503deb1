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
from rewardkit.analysis.verdicts import Verdicts
from rewardkit.monitoring.changes import (
    Shift,
    change_of_run,
    find_change,
)
from rewardkit.monitoring.features import Feature, same_texts
from rewardkit.monitoring.pressure import (
    GroupPayment,
    NewlyPaid,
    find_newly_paid,
)
from rewardkit.monitoring.run_rows import RunRows
from rewardkit.monitoring.task import guess_task
from rewardkit.monitoring.windows import WindowFigure

LEAST_COMPARABLE = 0.8
"""Share of the completions read whose answers must be comparable. Our choice."""
GROWTH_OF_CAUSE = 0.2
"""Share of the completions by which a cause grows over a change. Our choice."""
FAR_BELOW = 0.1
"""Fall of the task that a run is not called healthy with. Our choice."""
LEAST_TASK_CHANGE = 0.02
"""Share done of the task by which it has to change. Our choice."""
AGREES_WITH_RIGHT = 0.98
"""Share of the rows on which a component has to say what is right. Our choice."""
STATED = "right answers"
"""The task, where stated answers are compared with truths."""


@dataclass(frozen=True, eq=False)
class Timeline(RunRows):
    """One part of a run: what is done of its task, its figures, and who pays."""

    # --- the task

    @cached_property
    def task(self) -> Verdicts | None:
        """Return what was done of the task, 0 to 1; None where nothing says it.

        A label says it first, then the answers that completions state, which a policy
        cannot teach to lie, then the component that is the task, or may be.
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
        """Return whether only names or gaps of components say what the task is."""
        return self._known_task is None and self.task is not None

    @property
    def task_name(self) -> str:
        """Return what says how much of the task is done, "" where nothing does."""
        return self.task.name if self.task else ""

    @property
    def task_words(self) -> str:
        """Return what says how much of the task is done, and whether it is a guess."""
        return f"{self.task_name}, a guess" if self.task_is_guess else self.task_name

    @cached_property
    def right_component(self) -> str:
        """Return the paid component that is full where the task is done, "" if none."""
        if self.task is None or self.task_is_guess:
            return ""
        is_right = self.task.scores >= HALF
        for name in self.view.paid_names:
            low, high = self.view.span(name)
            scores = self.view.scores[name]
            has_both = in_both(self.task.scores, scores)
            if not high > low or not has_both.any():
                continue
            if ((scores >= high) == is_right)[has_both].mean() >= AGREES_WITH_RIGHT:
                return name
        return ""

    def _stated_answers(self) -> Floats | None:
        """Return 1 for rows that state their truth, 0 for others; None if unreadable.

        A completion without an answer is not right, nor is one without a mark where
        the run began with marked answers.
        """
        if "ground_truth" not in self.view.context.table:
            return None
        statements = self.texts.statements
        values = np.array([reading.is_right for reading in self.texts.readings])
        is_marked = np.array([item.is_marked for item in statements])
        is_early = self.is_early(self.windows.of_rows[self.rows_read])
        marks_are_usual = bool(is_marked[is_early].mean() >= HALF)
        is_unclosed = np.array([item.is_unclosed for item in self.texts.readings])
        if self._takes(is_unclosed & (values == 1.0), values, is_marked):
            is_marked |= is_unclosed
        for place in np.flatnonzero(~is_marked).tolist():
            if marks_are_usual or not statements[place].answer:
                values[place] = 0.0
        is_judged = ~np.isnan(values)
        if is_judged.mean() < LEAST_COMPARABLE or len(np.unique(values[is_judged])) < 2:
            return None
        shares = np.full(len(self.view), np.nan)
        shares[self.rows_read] = values
        return shares

    def _takes(self, is_unclosed: Mask, is_right: Floats, is_marked: Mask) -> bool:
        """Return whether all that tell right from wrong take unclosed answers, too.

        Args:
            is_unclosed: right answers that nothing closes, (rows read,).
            is_right: whether answers are right, (rows read,), NaN where unknown.
            is_marked: answers that are marked on purpose, (rows read,).
        """
        if not is_unclosed.any():
            return False
        takes_any = False
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
            takes_any = True
        return takes_any

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
        """Return whether the task rises, or is done nearly always at the end."""
        if self.task_figure is None:
            return False
        means = self.task_figure.means[~np.isnan(self.task_figure.means)]
        if len(means) and means[-1] >= 0.9:
            return True
        change = self.task_change(1)  # it may come back from a dip, and rise no further
        return change is not None and change_of_run(self.task_figure, change)[1] > 0

    @cached_property
    def may_have_fallen(self) -> bool:
        """Return whether the last quarter of the run is far below the first one.

        On prompts of the last kinds; that may be chance.
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
        """Return the figures that are shown, by name."""
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
        """Return the standard deviation of the rewards, NaN where there are none."""
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
        """Return 1 for rows with the text of a sibling, else 0, NaN where not read."""
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
        """Return what each component adds to the reward by window; {} of no sum."""
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
        """Return what is newly paid, of the rows that are read, causes first."""
        items = find_newly_paid(self.features, self._payment, self.windows_read)
        fall = self.task_change(-1)
        if fall is not None:
            items.sort(key=lambda item: not self._grows_over(item, fall))
        return items if self.wrong_paid is None else [self.wrong_paid, *items]

    @cached_property
    def wrong_paid(self) -> NewlyPaid | None:
        """Return wrong completions that are newly paid like right ones, if any."""
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
        """Return 1 for right rows that earn no more than wrong siblings do, else 0.

        NaN for rows that are not right, or without wrong siblings, (rows,): some
        rewards pay nothing to a group that is right throughout. Completions without
        siblings are compared with wrong ones of their window.
        """
        if self.task is None:
            return np.full(len(self.view), np.nan)
        shares, rewards = self.task.scores, self.view.rewards
        wrong = pd.Series(np.where(shares < HALF, rewards, np.nan))
        usual = wrong.groupby(self.view.groups).transform("median")
        if not self.view.several:
            usual = wrong.groupby(self.windows.of_rows).transform("median")
        is_known = (shares >= HALF) & ~np.isnan(rewards) & usual.notna().to_numpy()
        is_unpaid = rewards <= usual.to_numpy() + ROUNDING
        return np.where(is_known, is_unpaid, np.nan)

    def is_exploit(self, item: NewlyPaid) -> bool:
        """Return whether completions with a feature do no task, and others seldom so.

        They are empty, list answers, repeat themselves, or attack what judges them.
        """
        shows = []
        for reading in self.texts.readings:
            is_bare = reading.is_empty or reading.is_list or reading.repeats_itself
            shows.append(is_bare or any(reading.attacks))
        has_it = item.rows == 1
        share, elsewhere = np.mean(np.array(shows)[has_it]), 0.0
        if not has_it.all():
            elsewhere = np.mean(np.array(shows)[~has_it])
        return bool(share - elsewhere >= HALF)

    @cached_property
    def _payment(self) -> GroupPayment:
        """Return what the rows that are read are paid."""
        view, rows = self.view, self.rows_read
        shares = np.full(len(view), np.nan) if self.task is None else self.task.scores
        return GroupPayment(
            view.advantages[rows],
            self._advantage_parts,
            {name: view.payments[name][rows] for name in self.amounts},
            shares[rows],
        )

    def causes_of(self, change: Shift) -> list[NewlyPaid]:
        """Return what is newly paid and grows over a change, what says most first."""
        return [item for item in self.newly_paid if self._grows_over(item, change)]

    @cached_property
    def causes(self) -> Sequence[NewlyPaid]:
        """Return what is newly paid: of a task that falls what grows meanwhile."""
        fall = self.task_change(-1)
        growing = [] if fall is None else self.causes_of(fall)
        return growing or self.newly_paid

    def change_beside_causes(self, values: Floats, way: int) -> Shift | None:
        """Return how a figure changes among completions that show no cause.

        None where it does not: then its change is a shadow of what is newly paid.

        Args:
            values: of all rows, (rows,), NaN where missing.
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
        """Return the parts of the advantages by component, of a sum.

        Of the rows that are read, (rows,) each: whole groups are.
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
