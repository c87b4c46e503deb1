"""forecast(): what training would make of a reward."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.parts import make_views, prepare_scores
from rewardkit.analysis.rehearsal.curves import (
    SHARE_OF,
    Curves,
    make_curves,
    tabulate,
)
from rewardkit.analysis.rehearsal.outlook import Outlook, read_outlook, share_text
from rewardkit.analysis.rehearsal.reach import limit_calls
from rewardkit.analysis.rehearsal.rehearsal import PACES, Rehearsal, rehearse_view
from rewardkit.analysis.rehearsal.rows import read_task
from rewardkit.analysis.statistics import NO_INTERVAL, Interval
from rewardkit.analysis.statistics.pairs import first_siblings
from rewardkit.analysis.view import View
from rewardkit.errors import InputError, check_label, check_whole_number, preview
from rewardkit.findings import short_number
from rewardkit.html.blocks import Block, Quote, Table
from rewardkit.html.excerpts import UserText
from rewardkit.html.pages import HasPage, More, Page
from rewardkit.plain import Record, to_plain
from rewardkit.rewards.training import Training
from rewardkit.scoring.scores import Scores

LIMITS = (
    "learners write the kinds of completions that the log has, and longer and shorter "
    "ones; what else a policy may come upon is not known",
    "how fast they learn was fitted to runs of a model of 153 thousand parameters "
    "(data/training); a larger one may need more steps or fewer",
)
FIGURES_SHOWN = 8
"""Rows of figures on the first page. Our choice."""
FRAGILE = 0.25
"""Fragility from which "train" is no advice. Our choice."""
STEPS_APART = 10
"""Steps between the points of curves in the record."""
ADDS_UP = "weighted_sum"


@dataclass(frozen=True)
class BestOf:
    """The share of the task done by the best of n siblings by reward.

    `n` is the median size of a group, `before` the share done by a random sibling,
    `after` that by the best one, with its `interval`, 95 %. NaN where the task is not
    known.
    """

    n: int
    before: float
    after: float
    interval: Interval


@dataclass(frozen=True, eq=False, repr=False)
class Forecast(HasPage):
    """The rehearsed training on a reward, see `rehearsals`.

    `outlook` says what becomes of the task, `table` has the curves, `best_of` is for
    picking the best of n without training. `notes` say what is left out.
    """

    scores: Scores = field(repr=False)
    views: tuple[View, ...]

    @property
    def training(self) -> Training:
        """Return the settings of the trainer."""
        return self.views[0].training

    @property
    def seed(self) -> int:
        """Return the seed of all that is drawn."""
        return self.views[0].bootstrap.seed

    @cached_property
    def rehearsals(self) -> dict[str, Rehearsal]:
        """Return the rehearsal of each part of a route; of another reward that of "".

        Rehearsed when it is first asked for, which takes seconds: the reward is called
        on what the log lacks. Parts without siblings have none.
        """
        rehearsals = {}
        with limit_calls() as limit:
            for view in self.views:
                if view.several:
                    rehearsals[view.part] = rehearse_view(view, limit=limit)
        return rehearsals

    @cached_property
    def outlooks(self) -> dict[str, Outlook]:
        """Return the outlook of each rehearsal."""
        return {part: read_outlook(run) for part, run in self.rehearsals.items()}

    @property
    def worst_part(self) -> str | None:
        """Return the part of the worst outlook, None where nothing can be rehearsed."""
        rank = ("falls", "stalls", None, "rises").index
        return min(
            self.outlooks, key=lambda part: rank(self.outlooks[part].task), default=None
        )

    @property
    def outlook(self) -> Outlook | None:
        """Return the worst outlook of a part, None where there is nothing to choose."""
        part = self.worst_part
        return None if part is None else self.outlooks[part]

    @property
    def table(self) -> pd.DataFrame:
        """Return the curves: one row a part, pace, figure and step.

        With the median of the learners in "middle", and the band that holds 80 % of
        them from "low" to "high".
        """
        tables = [tabulate(curves, part) for part, curves in self._curves.items()]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    @property
    def curves(self) -> Curves:
        """Return the curves of the worst part, by pace and figure."""
        part = self.worst_part
        return {} if part is None else self._curves[part]

    @cached_property
    def _curves(self) -> dict[str, Curves]:
        return {part: make_curves(run) for part, run in self.rehearsals.items()}

    @cached_property
    def best_of(self) -> dict[str, BestOf]:
        """Return what the best of n by reward does of the task, by part."""
        return {view.part: _best_of(view) for view in self.views if view.several}

    @cached_property
    def gated(self) -> Outlook | None:
        """Return the outlook with the component that takes over gated by the task.

        None if the task does not fall, or no component can be gated.
        """
        outlook = self.outlook
        part = self.worst_part
        if outlook is None or part is None or outlook.takes_over is None:
            return None
        name = outlook.takes_over.component
        run = self.rehearsals[part]
        reward = run.view.reward
        if outlook.task != "falls" or not name or reward.aggregation != ADDS_UP:
            return None
        if reward.transform is not None or run.view.components[name].group:
            return None
        return read_outlook(run.gate(name))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what is left out, and why, a sentence each."""
        notes = []
        for view in self.views:
            if view.context.why_no_label:
                notes.append(f"the label is not used: {view.context.why_no_label}")
            missing = int((~view.is_judged).sum())
            if missing:
                rows = f"{missing} of {len(view)} rows"
                notes.append(f"{rows} have no reward, so they move nothing")
        notes += map(_describe_start, self.views)
        notes += map(_describe_lost_by_rate, self.rehearsals.values())
        for outlook in self.outlooks.values():
            notes += outlook.untried
        return tuple(dict.fromkeys(filter(None, notes)))

    @property
    def verdict(self) -> str:
        """Return the sentence of the outlook, or why there is none."""
        if self.outlook is None:
            return (
                "no group has two completions with a reward, so there is nothing to "
                "choose from"
            )
        return self.outlook.sentence

    def record(self) -> Record:
        """Return it as plain data."""
        table = self.table
        context = self.views[0].context
        if len(table):
            table = table[table["step"] % STEPS_APART == 0]
        plain: Record = to_plain(
            {
                "reward": self.scores.reward.name,
                "rows": len(self.scores),
                "training": self.training,
                "label": None if context.label is None else context.label_name,
                "seed": self.seed,
                "outlook": self.outlook,
                "outlooks": self.outlooks,
                "gated": self.gated,
                "best_of": self.best_of,
                "curves": table.to_dict("list"),
                "notes": self.notes,
                "limits": LIMITS,
            }
        )
        return plain

    def page(self) -> Page:
        """Return the outlook, what takes over, what to do, and the figures' ends."""
        name = repr(self.scores.reward.name)
        outlook = self.outlook
        part = self.worst_part
        notes = [f"Note: {note}" for note in self.notes]
        limits = [f"Limit: {limit}" for limit in LIMITS]
        if outlook is None or part is None:
            return Page(f"No forecast of {name}: {self.verdict}", [More("", notes)])
        blocks: list[Block] = [outlook.grade] if outlook.grade else []
        if self._own_judge:
            blocks.append(
                f"Right is what {self._own_judge} of this reward pays; nothing here "
                "checks that. A trusted column would: label=..."
            )
        if len(self.outlooks) > 1:
            blocks += [f"{key}: {item.sentence}" for key, item in self.outlooks.items()]
        grows = outlook.takes_over
        if grows is not None and outlook.task != "rises":
            words = grows.words if outlook.task is None else grows.name
            blocks.append(Quote(f"{words}, for example", grows.example))
        run = self.rehearsals[part]
        plan = run.plan
        caption = (
            f"Rehearsed: {plan.steps} steps of {plan.prompts} prompts x "
            f"{plan.generations} ({self.training}); the median of {len(run.pace) // 2} "
            "learners of a pace, with the band of 80 % of them"
        )
        rows = self._figure_rows()
        header = ("mean of", "at the start", "gentle, at the end", "fast, at the end")
        best = self.best_of[part]
        if np.isfinite(best.after):
            low, high = map(share_text, best.interval)
            blocks.append(
                f"Without training, the best of {best.n} by reward does "
                f"{share_text(best.after)} of the task ({low} to {high}), a random one "
                f"{share_text(best.before)}"
            )
        blocks += [
            *notes,
            f"Next: {self._next_step()}",
            Table(caption, header, rows[:FIGURES_SHOWN], header[1:], True),
            More("", limits),
            Table(f"All {len(rows)} figures", header, rows, header[1:]),
        ]
        return Page(name, blocks, outlook.sentence)

    def _figure_rows(self) -> list[list[str]]:
        rows = []
        for pace, figure in self.curves:
            if pace == "gentle":
                curves = [self.curves[key, figure] for key in PACES]
                start = rounded(curves[0].start)
                ends = []
                for curve in curves:
                    band = f"{rounded(curve.low[-1])} to {rounded(curve.high[-1])}"
                    ends.append(f"{rounded(curve.end)} ({band})")
                rows.append([called(figure), start, *ends])
        return rows

    @property
    def _own_judge(self) -> str:
        """Return the component that alone says what is right, "" where others do."""
        if self.worst_part is None:
            return ""
        view = self.rehearsals[self.worst_part].view
        verdicts = view.verdicts
        if view.context.label is not None or verdicts is None:
            return ""
        return verdicts.words if verdicts.name in view.names else ""

    def _next_step(self) -> str:
        outlook = self.outlook
        gated = self.gated
        assert outlook is not None
        if outlook.task is None:
            return "mend what the sentence above says, then forecast again"
        if gated is not None and outlook.takes_over is not None:
            name = outlook.takes_over.component
            after = f"the task {gated.task}, to {share_text(gated.end)}"
            return f"pay `{name}` to right completions alone (a gate): {after}"
        if outlook.task == "rises" and outlook.fragility < FRAGILE:
            if self._own_judge:
                return "rk.probe(reward, rollouts) says whether it pays what is right"
            return "train; rk.compare(a, b) says whether another reward does better"
        return "rk.suggest(rk.diagnose(scores)) measures changes that answer it"


def called(figure: str) -> str:
    """Return the name of a figure as a person reads it.

    >>> called("score/short")
    'short'
    """
    if figure.startswith(SHARE_OF):
        return str(UserText(figure, f"{SHARE_OF}a kind of completions"))
    return figure.removeprefix("score/")


def rounded(value: float) -> str:
    """Write a figure of learners with three decimals: further ones are noise.

    >>> rounded(0.0004), rounded(0.8064), rounded(479.4)
    ('0', '0.806', '479')
    """
    return short_number(round(value, 3))


def _describe_start(view: View) -> str:
    """Say at which steps of a run the learners start, "" where the log is of no run."""
    is_start = view.stages == 0
    if is_start.all():
        return ""
    assert view.context.steps is not None
    last = np.max(view.context.steps[is_start])
    return (
        f"learners begin as the run did up to step {last:g}, and may come to write "
        "what it wrote later. rk.monitor(scores) says what became of the run itself"
    )


def _describe_lost_by_rate(run: Rehearsal) -> str:
    """Say how many learners lose the task by the learning rate, "" where none does."""
    counts = []
    for pace in PACES:
        count = int((run.pace == pace).sum())
        lost = count - int(run.judges_reward(pace).sum())
        if lost:
            counts.append(f"{lost} of {count} {pace} learners")
    if not counts:
        return ""
    return (
        f"{' and '.join(counts)} do not learn the task even where it alone is paid, by "
        "the rate and not by the reward; the outlook and the curves leave them out"
    )


def _best_of(view: View) -> BestOf:
    """Return the share of the task that the best siblings by reward do."""
    task = read_task(view)
    rewards = np.where(view.stages == 0, view.rewards, np.nan)
    size = int(np.median(view.stats.count[view.stats.has_pairs]))
    is_known = ~np.isnan(task) & ~np.isnan(rewards)
    if not is_known.any():
        return BestOf(size, np.nan, np.nan, NO_INTERVAL)
    firsts = first_siblings(rewards, task, view.groups, len(view.owner))
    after, interval = view.bootstrap.ratio(*firsts, view.owner)
    return BestOf(size, float(task[is_known].mean()), after, interval)


def forecast(
    scores: Scores | Diagnosis,
    *,
    label: str | None = None,
    training: Any = None,
    seed: int = 0,
) -> Forecast:
    """Forecast what training would make of a reward: rehearse it, before a GPU is used.

    Learners write the kinds of completions that the log has, and longer and shorter
    ones that the reward is called on; they are paid as the trainer pays, and trained
    for 160 steps at a gentle and at a fast learning rate, under the weights of each
    step where these follow a schedule (of a weighted sum). See `analysis/README.md`.

    Args:
        scores: The scores; of a diagnosis its scores, label, settings and seed.
        label: A trusted column that says which completions are right. Without it the
            primary component says so, or what the log has (`Verdicts`).
        training: Settings of the trainer, as `Training.of` takes them.
        seed: Of all that is drawn.

    Raises:
        InputError: No Scores, or no such column.

    >>> import rewardkit as rk
    >>> rows = []
    >>> for number in range(1, 11):
    ...     for answer in (number, number, 0, 0):
    ...         row = {"prompt": f"{number}?", "completion": str(answer)}
    ...         rows.append({**row, "ground_truth": str(number)})
    >>> columns = {"prediction": "completion"}
    >>> correct = rk.Component("correct", rk.verify.matches, columns=columns)
    >>> forecast(rk.score(rk.Reward("r", components=[correct]), rows)).outlook.task
    'rises'
    """
    if isinstance(scores, Diagnosis):
        return Forecast(scores.scores, scores.views)
    if not isinstance(scores, Scores):
        raise InputError(
            "forecast takes Scores, as rk.score or rk.load_scores give them, not "
            f"{preview(scores)}"
        )
    check_label(label)
    check_whole_number("seed", seed, 0)
    label = scores.rollouts.label_column(label)
    settings = Training.of(training)
    scores = prepare_scores(scores, settings)
    views = make_views(scores, training=settings, label=label, seed=seed)
    return Forecast(scores, views)
