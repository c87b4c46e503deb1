"""monitor(): judge a run over its steps, find what changed, when and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.parts import make_views, prepare_scores
from rewardkit.analysis.view import View
from rewardkit.errors import InputError, check_label, check_whole_number
from rewardkit.findings import (
    NOT_DECIDED,
    Finding,
    counted,
    percent,
    run_rules,
    short_number,
)
from rewardkit.history.baseline import AcceptsFindings, Baseline, load_baseline
from rewardkit.history.files import RECORDER
from rewardkit.history.parts import holds_scores, load_scores
from rewardkit.html.blocks import Block
from rewardkit.html.excerpts import UserText, one_line
from rewardkit.html.pages import (
    HasPage,
    More,
    Page,
    accepted_findings,
    point_of,
    redact_finding,
)
from rewardkit.monitoring.changes import FEWEST_TO_TELL
from rewardkit.monitoring.page import (
    examples_of,
    figures_table,
    highest_at_end,
    notes_on,
    who_pays,
)
from rewardkit.monitoring.pressure import NewlyPaid
from rewardkit.monitoring.readings import CompletionReader
from rewardkit.monitoring.remedy import TriedGate, make_cases, try_gate
from rewardkit.monitoring.reports import report_paid
from rewardkit.monitoring.rules import RULES
from rewardkit.monitoring.timeline import Timeline
from rewardkit.monitoring.windows import MOST_WINDOWS, restarts
from rewardkit.plain import Record, to_plain
from rewardkit.rewards.recorded import recorded
from rewardkit.rewards.training import Training
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores

VERDICT_OF_SEVERITY = {"high": "stop", "warn": "watch", "info": "healthy"}
"""Worst severity of a finding -> verdict."""
FEWEST_RUN_STEPS = 2
ALARMS_SHOWN = 3
"""Alarms on the first page. Our choice."""


@dataclass(frozen=True, eq=False, repr=False)
class Monitor(AcceptsFindings, HasPage):
    """The verdict on a run, with findings that say since which step they hold.

    `timelines` hold the figures by window of steps, one per part of a route. `notes`
    say what could not be decided. `source` is the name or path of the log, "" if
    objects were given.
    """

    scores: Scores = field(repr=False)
    timelines: tuple[Timeline, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    baseline: Baseline | None = None
    source: str = ""

    @property
    def reward_name(self) -> str:
        """Return the name of the reward."""
        return self.scores.reward.name

    @property
    def verdict(self) -> str:
        """Return "healthy", "watch", "stop" or "not decided".

        A run without alarms is "not decided" if its task is not known, its groups are
        too few, or the task ends far below its start, even if that may be chance. A run
        with an accepted alarm is at best "watch".
        """
        verdict = VERDICT_OF_SEVERITY[self.worst or "info"]
        if verdict == "healthy" and self.accepted:
            return VERDICT_OF_SEVERITY["warn"]
        groups = sum(len(timeline.view.owner) for timeline in self.timelines)
        has_fallen = any(timeline.may_have_fallen for timeline in self.timelines)
        is_known = all(timeline.task for timeline in self.timelines)
        is_open = groups < FEWEST_TO_TELL or has_fallen or not is_known
        if verdict == "healthy" and is_open:
            return NOT_DECIDED
        return verdict

    @property
    def since(self) -> float | None:
        """Return the step at which the worst alarm began, None without alarms."""
        alarms = self.alarms
        return alarms[0].evidence["since"] if alarms else None

    @property
    def accepted(self) -> list[Finding]:
        """Return the alarms that a baseline accepts, worst first."""
        return [
            item for item in self.findings if item.accepted and item.severity != "info"
        ]

    @property
    def newly_paid(self) -> Sequence[NewlyPaid]:
        """Return the features that grew, are paid and do not go with the task."""
        features = [timeline.newly_paid for timeline in self.timelines]
        return list(chain.from_iterable(features))

    @property
    def cases(self) -> list[Record]:
        """Return wrong completions that are newly paid, as cases for a case file."""
        return list(chain.from_iterable(map(make_cases, self.timelines)))

    @property
    def table(self) -> pd.DataFrame:
        """Return the figures, one row per part, figure and window.

        Columns: first_step, last_step, figure, mean, error (standard error over
        groups), groups.
        """
        rows = []
        for timeline in self.timelines:
            part = {"part": timeline.view.part} if timeline.view.part else {}
            for name, figure in timeline.figures.items():
                for window in range(len(figure)):
                    row = {
                        **part,
                        "first_step": timeline.windows.first[window],
                        "last_step": timeline.windows.last[window],
                        "figure": name,
                        "mean": figure.means[window],
                        "error": figure.errors[window],
                        "groups": int(figure.counts[window]),
                    }
                    rows.append(row)
        return pd.DataFrame(rows)

    @property
    def weights(self) -> dict[str, dict[str, float]]:
        """Return the weight of each component and its share of the advantage.

        ``weight`` is declared or read from the log. ``at_start`` and ``at_end`` are the
        shares of the squared advantage in the first and last window.
        """
        weights = {}
        for timeline in self.timelines:
            for name, figure in timeline.effective_weights.items():
                means = figure.means
                weights[name] = {
                    "weight": float(timeline.view.components[name].weight),
                    "at_start": float(means[0]),
                    "at_end": float(means[-1]),
                }
        return weights

    def record(self) -> Record:
        """Return the monitor as plain data."""
        newly_paid = []
        for timeline in self.timelines:
            for item in timeline.newly_paid:
                newly_paid.append(dict(report_paid(timeline, item).evidence))
        plain: Record = to_plain(
            {
                "verdict": self.verdict,
                "since": self.since,
                "sentence": self.sentence,
                "reward": self.scores.reward.name,
                "rows": len(self.scores),
                "steps": [self.first_step, self.last_step],
                "findings": [finding.record() for finding in self.findings],
                "newly_paid": newly_paid,
                "weights": self.weights,
                "notes": [*self.notes, *self.baseline_changes()],
            }
        )
        return plain

    @property
    def first_step(self) -> float:
        """Return the first step of the run."""
        return min(float(timeline.windows.first[0]) for timeline in self.timelines)

    @property
    def last_step(self) -> float:
        """Return the last step of the run."""
        return max(float(timeline.windows.last[-1]) for timeline in self.timelines)

    @property
    def sentence(self) -> str:
        """Summarise the run in one sentence."""
        if self.alarms:
            return self.alarms[0].statement
        if self.accepted:
            worst = self.accepted[0]
            return f"{worst.statement} Accepted: {one_line(worst.accepted)}"
        timeline = self.timelines[0]
        first, last = map(short_number, (self.first_step, self.last_step))
        steps = f"From step {first} to {last}"
        figure = timeline.task_figure
        if figure is None:
            before, after = map(short_number, timeline.figures["reward"].ends)
            return (
                f"{steps} the reward goes from {before} to {after} and nothing "
                "alarming was found; whether the task is done is not known"
            )
        way = "rises"
        if not timeline.task_rises:
            way = "shows no change beyond chance"
            if timeline.may_have_fallen:
                way = "seems to fall, which may be chance"
            if timeline.task_change(-1) is not None:
                way = "falls only as the prompts are others"
        start, end = figure.ends
        sentence = (
            f"{steps} the task {way} ({timeline.task_words}: {percent(start)} to "
            f"{percent(end)})"
        )
        groups = len(timeline.view.owner)
        if groups < FEWEST_TO_TELL:
            return f"{sentence}; {counted(groups, 'group')} are too few to tell more"
        if self.verdict == NOT_DECIDED:
            return f"{sentence}; more steps will tell"
        if not timeline.newly_paid:
            sentence += ", and nothing that it does not need is newly paid"
        dips = [item.statement for item in self.findings if item.code == "task_dips"]
        return ". ".join([sentence, *dips])

    def first_page(self, source: str) -> Page:
        """Return the verdict and the worst alarms, and how to see the rest."""
        name = one_line(self.scores.reward.name)
        blocks: list[Block] = [point_of(alarm) for alarm in self.alarms[:ALARMS_SHOWN]]
        blocks += self._remedies(source)
        blocks.append(f"What changed, and who pays: rewardkit monitor {source}")
        return Page(f"{name}, the run: {self.verdict}", blocks, self._summary)

    @property
    def _summary(self) -> UserText | str:
        """Return the sentence where no alarm below says it."""
        if self.alarms:
            return ""
        hidden = ""
        if self.accepted:
            hidden = redact_finding(self.accepted[0]).statement
        return UserText(self.sentence, hidden)

    def page(self, source: str = "") -> Page:
        """Return verdict, what changed, who pays, completions to read, what to do.

        Args:
            source: What a command takes the scores from, instead of `source`.
        """
        name = one_line(self.scores.reward.name)
        first_alarms = self.alarms[:ALARMS_SHOWN]
        blocks: list[Block] = []
        for alarm in first_alarms:
            examples = examples_of(alarm, self.timelines)
            blocks.append(point_of(alarm, examples=examples))
        for timeline in self.timelines:
            blocks.append(figures_table(timeline))
            blocks += who_pays(timeline)
            blocks.append(More("Paid most at the end", highest_at_end(timeline)))
        others = []
        for item in self.findings:
            if item not in first_alarms and not item.accepted:
                others.append(point_of(item))
        blocks.append(More(counted(len(others), "further finding"), others))
        blocks.append(accepted_findings(self.findings))
        blocks += [f"Note: {note}." for note in (*self.notes, *self.baseline_changes())]
        blocks.append(f"Next: {self._next_step(source or self.source)}")
        return Page(f"{name}, the run: {self.verdict}", blocks, self._summary)

    def _next_step(self, source: str) -> str:
        if self.verdict == "healthy":
            return "train on; look again after more steps"
        if self.accepted and not self.alarms:
            return "nothing else was found; see whether the reason still holds"
        if not self.alarms and not all(item.task for item in self.timelines):
            return "name the task: --primary COMPONENT, or --label COLUMN"
        if not self.alarms:
            return "look again after more steps"
        steps = [self.alarms[0].advice, *self._remedies(source)]
        if self.cases:
            steps.append("Keep them as cases: --write-cases cases.jsonl.")
        return " ".join(steps)

    @cached_property
    def _tried_gates(self) -> list[TriedGate]:
        """Return for each part the gate against its first newly paid feature."""
        trials = [try_gate(self.scores, timeline) for timeline in self.timelines]
        return [trial for trial in trials if trial is not None]

    def _remedies(self, source: str) -> list[str]:
        """Describe each gate that was tried."""
        return [trial.sentence(source) for trial in self._tried_gates]


def read_scores(
    source: Any, *, weights: Mapping[str, float] | None, **reading: Any
) -> Scores:
    """Return the scores of a run, from Scores, a folder of scores, or a log.

    Args:
        source: Scores, a folder or file of `rewardkit score -o`, or a source of
            `load_rollouts`.
        weights: Weights of the scores of a log, as `recorded` takes them.
        **reading: Options of `load_rollouts`.
    """
    if isinstance(source, Scores):
        return source
    if isinstance(source, str | Path) and holds_scores(source):
        return load_scores(source)
    log = source if isinstance(source, Rollouts) else load_rollouts(source, **reading)
    return score(recorded(log, weights), log)


def monitor(
    source: Any,
    *,
    label: str | None = None,
    primary: str | None = None,
    training: Any = None,
    weights: Mapping[str, float] | None = None,
    windows: int = MOST_WINDOWS,
    baseline: Baseline | str | Path | None = None,
    seed: int = 0,
    reader: CompletionReader | None = None,
) -> Monitor:
    """Judge a run over its steps: is it healthy, what changed, when, and what pays.

    An alarm needs evidence that the task is lost, or that something else raises the
    reward: see `monitoring/README.md`.

    Args:
        source: Scores, a folder of them, or a log with steps.
        label: A trusted column of two values, whether completions are right.
        primary: The component that measures the task, if no better evidence exists.
        training: Settings of the trainer, as `Training.of` takes them.
        weights: Weights of the scores of a log, by name.
        windows: Most windows that the steps are divided into, at least 2.
        baseline: Accepted findings, or a file of them.
        seed: Seed of the bootstrap.
        reader: A reader that remembers completions of earlier looks.

    Raises:
        InputError: The source has fewer than two steps, or lacks the column or
            component.
    """
    check_label(label)
    check_whole_number("seed", seed, 0)
    check_whole_number("windows", windows, 2)
    if baseline is not None:
        baseline = load_baseline(baseline)
    settings = Training.of(training)
    scores = prepare_scores(read_scores(source, weights=weights), settings)
    text_steps = scores.rollouts.describe_text_steps()
    if text_steps:
        raise InputError(text_steps)
    _check_one_run(scores)
    if primary is not None:
        scores = replace(scores, reward=scores.reward.with_task(primary))
    label = scores.rollouts.label_column(label)
    reader = reader or CompletionReader()
    views = make_views(scores, training=settings, label=label, seed=seed)
    timelines = []
    for view in views:
        _check_steps(view, scores.rollouts.source)
        timelines.append(Timeline.of(view, windows=windows, reader=reader))
    findings: list[Finding] = []
    notes: list[str] = []
    for timeline in timelines:
        findings += run_rules(RULES, timeline)
        notes += notes_on(timeline, primary)
    findings.sort(key=lambda finding: finding.order)
    watched = Monitor(
        scores,
        tuple(timelines),
        tuple(findings),
        tuple(notes),
        source=str(source) if isinstance(source, str | Path) else "",
    )
    return watched if baseline is None else watched.under_baseline(baseline)


def _check_steps(view: View, source: str) -> None:
    """Raise an InputError if a view has fewer than two steps."""
    steps = view.context.steps
    distinct = 0 if steps is None else len(np.unique(steps[~np.isnan(steps)]))
    if distinct < FEWEST_RUN_STEPS:
        raise InputError(
            f"{source} has {counted(distinct, 'step')}; a run is watched over the "
            "steps of its log, in a column of numbers named 'step': give a log of at "
            "least two steps"
        )


def _check_one_run(scores: Scores) -> None:
    """Raise an InputError if a log holds two runs: its steps return to the first one.

    A resumed run restarts at a later step. Recorded scores are not checked, as
    recorders note their sessions.
    """
    if "step" not in scores.table or RECORDER in scores.run:
        return
    steps = pd.to_numeric(scores.table["step"], errors="coerce").to_numpy(dtype=float)
    for row in restarts(steps):
        if steps[row] <= np.nanmin(steps[:row]):
            raise InputError(
                f"the steps of {scores.rollouts.source} begin anew at step "
                f"{steps[row]:g} with row {row + 1}, so that it holds two runs, or "
                "files of several processes; give the file of one"
            )
