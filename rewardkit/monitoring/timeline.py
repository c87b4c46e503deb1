"""Timeline: one part of a run in windows of steps, and its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.rehearsal.reach import HALF
from rewardkit.analysis.rehearsal.rows import scale_task
from rewardkit.analysis.rewarded_rows import ROUNDING
from rewardkit.analysis.statistics import Codes, Floats, Mask, in_both, within
from rewardkit.analysis.verdicts import Verdicts
from rewardkit.analysis.view import View
from rewardkit.monitoring.changes import (
    FEWEST_STRETCH_GROUPS,
    LEAST_Z,
    Shift,
    change_of_run,
    difference,
    find_change,
)
from rewardkit.monitoring.features import Feature, StepTexts, read_features, same_texts
from rewardkit.monitoring.pressure import (
    LEAST_FEATURE_GROWTH,
    GroupPayment,
    NewlyPaid,
    find_newly_paid,
)
from rewardkit.monitoring.readings import CompletionReader
from rewardkit.monitoring.task import guess_task
from rewardkit.monitoring.windows import WindowFigure, Windows
from rewardkit.rollouts.columns import RIGHT_NAME
from rewardkit.rollouts.values import column_values

RUN_ROWS_READ = 20_000
"""Completions that are read, whole groups of every window. Our choice."""
LEAST_COMPARABLE = 0.8
"""Share of the completions read whose answers must be comparable. Our choice."""
EARLY = 0.15
"""Share of the run that is its start. Our choice."""
GROWTH_OF_CAUSE = 0.2
"""Share of the completions by which a cause grows over a change. Our choice."""
FAR_BELOW = 0.1
"""Fall of the task that a run is not called healthy with. Our choice."""
LEAST_TASK_CHANGE = 0.02
"""Share done of the task by which it has to change. Our choice."""
EXPLAINS = 0.5
"""Share of a fall of the task that what completions do has to explain. Our choice."""
LEAST_RISE = 1.2
"""Times its mean before, to which a number beside the scores rises. Our choice."""
RISES_NAMED = 2
"""Numbers that are said to rise at the same step. Our choice."""
KIND_COLUMNS = (
    "data_source",
    "dataset",
    "task",
    "domain",
    "subject",
    "category",
    "level",
    "difficulty",
    "language",
)
"""Columns that say of which kind a prompt is: others may only follow the steps."""
LEAST_SLICE = 0.1
"""Share of the rows of a slice that is watched by itself. Our choice."""
AGREES_WITH_RIGHT = 0.98
"""Share of the rows on which a component has to say what is right. Our choice."""
STATED = "right answers"
"""The task, where stated answers are compared with truths."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """One part of a run: its rows as a view, and the windows of its steps.

    `rows_read` are the rows whose texts `reader` reads: whole groups, spread over the
    run.
    """

    view: View
    windows: Windows
    rows_read: Codes
    reader: CompletionReader

    @classmethod
    def of(cls, view: View, *, windows: int, reader: CompletionReader) -> Timeline:
        """Cut a view with steps into at most so many windows."""
        steps = view.context.steps
        assert steps is not None
        cut = Windows.of(steps, view.groups, windows)
        return cls(view, cut, cut.spread_rows(RUN_ROWS_READ), reader)

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
        for place in np.flatnonzero(~is_marked).tolist():
            if marks_are_usual or not statements[place].answer:
                values[place] = 0.0
        is_judged = ~np.isnan(values)
        if is_judged.mean() < LEAST_COMPARABLE or len(np.unique(values[is_judged])) < 2:
            return None
        shares = np.full(len(self.view), np.nan)
        shares[self.rows_read] = values
        return shares

    def is_early(self, windows: Codes) -> Mask:
        """Return which of these windows are the start of the run."""
        return windows <= EARLY * (len(self.windows) - 1)

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
    def prompt_kinds(self) -> Codes:
        """Return codes of kinds of prompts, (groups,): their source, level, length."""
        groups = self.view.groups
        last_rows = np.zeros(len(self.view.owner), dtype=np.intp)
        last_rows[groups] = np.arange(len(groups))
        table = self.view.context.table.iloc[last_rows]
        keys = [_column(table, name) for name in KIND_COLUMNS if name in table]
        lengths = np.array([len(text) for text in _texts_of(table, "prompt")])
        edges = np.quantile(lengths, (1 / 3, 2 / 3))
        keys.append(np.searchsorted(edges, lengths).tolist())
        codes = np.zeros(len(table), dtype=np.intp)
        for values in keys:
            ids, kinds = pd.factorize(np.array(list(map(repr, values)), dtype=object))
            codes = codes * (len(kinds) + 1) + ids
        return codes

    def figure_of_last_prompts(self, values: Floats) -> WindowFigure:
        """Return the means of values, (rows,), on prompts of the last kinds.

        Each kind is brought to the mean of all of them, as their mix may change.
        """
        windows = self.windows.of_groups
        is_last = windows >= (1 - EARLY) * (len(self.windows) - 1)
        kinds = np.unique(self.prompt_kinds[is_last])
        means = self.view.group_stats(values).mean
        means = np.where(np.isin(self.prompt_kinds, kinds), means, np.nan)
        by_kind = pd.Series(means).groupby(self.prompt_kinds).transform("mean")
        means = means - by_kind.to_numpy() + pd.Series(means).mean()
        return self.windows.figure_of_groups(means)

    def fall_of_last_prompts(self, values: Floats, least: float) -> Shift | None:
        """Return the fall of values on prompts of the kinds that end the run."""
        figure = self.figure_of_last_prompts(values)
        return find_change(figure, self.windows, -1, least=least)

    def fall_on_same_prompts(self, values: Floats, least: float) -> Shift | None:
        """Return the fall of values, (rows,), that other prompts do not explain."""
        change = find_change(self.windows.figure(values), self.windows, -1, least=least)
        if change is None:
            return None
        means = self.among_same_prompts(values, change)
        if means is not None and means[0] - means[1] >= max(least, -change.size / 2):
            return change
        return self.fall_of_last_prompts(values, least)

    @property
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

    def among_same_prompts(
        self, values: Floats, change: Shift
    ) -> tuple[float, float] | None:
        """Return the means before and after a change, among prompts of the same kinds.

        Kinds count as at the end of the run. None where no kind is in both stretches.
        """
        means = self.view.group_stats(values).mean
        windows = self.windows.of_groups
        stretches = []
        for first, last in (change.reference, change.ending):
            is_inside = (windows >= first) & (windows < last) & ~np.isnan(means)
            rows = pd.DataFrame(
                {"kind": self.prompt_kinds[is_inside], "mean": means[is_inside]}
            )
            stretches.append(rows.groupby("kind")["mean"].agg(["mean", "size"]))
        before, after = stretches
        both = before.index.intersection(after.index)
        before, after = before.loc[both], after.loc[both]
        if before["size"].sum() < FEWEST_STRETCH_GROUPS:
            return None
        shares = after["size"] / after["size"].sum()
        mean_before = float((before["mean"] * shares).sum())
        return mean_before, float((after["mean"] * shares).sum())

    @cached_property
    def slices(self) -> Mapping[tuple[str, Any], Mask]:
        """Return the rows of each column and value that say a kind of prompts, (rows,).

        Of values of at least a tenth of the rows; none of columns with one such value.
        """
        slices: dict[tuple[str, Any], Mask] = {}
        table = self.view.context.table
        for name in KIND_COLUMNS:
            texts = np.array(list(map(str, _column(table, name))), dtype=object)
            values, counts = np.unique(texts, return_counts=True)
            values = values[counts >= LEAST_SLICE * len(table)]
            if len(values) > 1:
                slices |= {(name, value): texts == value for value in values}
        return slices

    # --- texts

    @cached_property
    def windows_read(self) -> Windows:
        """Return the windows of the rows that are read."""
        return Windows(
            self.windows.first,
            self.windows.last,
            self.windows.of_rows[self.rows_read],
            np.unique(self.view.groups[self.rows_read], return_inverse=True)[1],
        )

    @cached_property
    def texts(self) -> StepTexts:
        """Return the completions that are read."""
        table = self.view.context.table.iloc[self.rows_read]
        completions = _texts_of(table, "completion")
        truths = _column(table, "ground_truth")
        cut = self.view.context.truncated
        is_cut = (
            np.zeros(len(table), dtype=bool) if cut is None else cut[self.rows_read]
        )
        windows = self.windows_read
        return StepTexts(
            _texts_of(table, "prompt"),
            completions,
            self.reader.read_all(completions, truths),
            windows.groups,
            self.is_early(windows.of_rows),
            is_cut,
        )

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

    # --- what goes with a change

    @cached_property
    def other_figures(self) -> Mapping[str, WindowFigure]:
        """Return the figures of numbers that are no scores: errors, lengths, cuts."""
        view = self.view
        columns = {**view.context.columns}
        for name in view.names:
            if name not in view.paid_names and not RIGHT_NAME.fullmatch(name):
                columns[name] = view.scores[name]
        if view.context.truncated is not None:
            cut = view.context.truncated.astype(float)
            columns["the share cut at the limit"] = cut
        figures = {}
        for name, values in columns.items():
            if name not in KIND_COLUMNS:
                figures[name] = self.windows.figure(values)
        return {**figures, self.length_name: self.lengths}

    def rises_beside(self, change: Shift) -> list[tuple[str, float, float]]:
        """Return numbers that rise at the step of a change, each from what to what.

        Those that rise most, in standard errors, lengths only where nothing else does.
        Of a dip, they fall behind it.
        """
        is_dip = change.ending[1] < len(self.windows)
        rises: list[tuple[float, tuple[str, float, float]]] = []
        for name, figure in self.other_figures.items():
            z = difference(figure, change)
            if is_dip:
                rest = (change.ending[1], len(self.windows))
                z = min(z, difference(figure, replace(change, reference=rest)))
            elif z > LEAST_Z:
                rise = find_change(figure, self.windows, 1)
                is_same = rise is not None and _overlap(rise.interval, change.interval)
                z = z if is_same else 0.0
            before, after = change.means(figure)
            if z > LEAST_Z and after >= LEAST_RISE * abs(before):
                rises.append((-z, (name, before, after)))
        if len(rises) > 1:
            rises = [item for item in rises if item[1][0] != self.length_name]
        return [rise for _, rise in sorted(rises)[:RISES_NAMED]]

    def steps_of_dip(self, values: Floats, fall: Shift) -> tuple[float, float]:
        """Return the first and the last step that are nearer to a dip than before."""
        table = pd.DataFrame({"step": self.view.context.steps, "value": values})
        means = table.groupby("step")["value"].mean()
        is_low = (means < (fall.before + fall.after) / 2).to_numpy()
        steps = means.index.to_numpy(dtype=float)
        start, stop = fall.ending
        first, last = np.searchsorted(
            steps, (self.windows.first[start], self.windows.last[stop - 1])
        )
        while first < last and not is_low[first]:
            first += 1
        while last > first and not is_low[last]:
            last -= 1
        while first > 0 and is_low[first - 1]:
            first -= 1
        while last < len(steps) - 1 and is_low[last + 1]:
            last += 1
        return float(steps[first]), float(steps[last])

    def lost_by(self, change: Shift) -> str:
        """Return what completions do by which most of a fall of the task is lost.

        That grows over the fall, and is seldom right; "" where there is none.
        """
        if self.task is None:
            return ""
        task = self.task.scores[self.rows_read]
        at_end = self.windows_read.rows_in(change.ending) & ~np.isnan(task)
        most, words = EXPLAINS, ""
        for feature in self.features:
            sides = [(feature.does, feature.rows)]
            if feature.does_not:
                sides.append((feature.does_not, 1 - feature.rows))
            for does, rows in sides:
                has_it = at_end & (rows == 1)
                others = at_end & (rows == 0)
                if feature.is_wording or not has_it.any() or not others.any():
                    continue
                before, after = change.means(self.windows_read.figure(rows))
                gap = float(task[others].mean() - task[has_it].mean())
                share = (after - before) * gap / -change.size
                if after - before >= LEAST_FEATURE_GROWTH and share > most:
                    most, words = share, does
        return words

    @cached_property
    def features(self) -> Sequence[Feature]:
        """Return what the completions that are read do."""
        return read_features(self.texts)

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


def _overlap(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return first[0] <= second[1] and second[0] <= first[1]


def _column(table: pd.DataFrame, name: str) -> list[Any]:
    """Return the values of a column, None each where it is not there."""
    return column_values(table[name]) if name in table else [None] * len(table)


def _texts_of(table: pd.DataFrame, name: str) -> list[str]:
    """Return a column as texts, "" where there are none."""
    texts = []
    for text in _column(table, name):
        texts.append(text if isinstance(text, str) else "")
    return texts
