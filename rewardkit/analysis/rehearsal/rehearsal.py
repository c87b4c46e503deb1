"""The rehearsal of a view: learners of two paces, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.rehearsal.kinds import Kind
from rewardkit.analysis.rehearsal.policy import (
    Course,
    Learners,
    Material,
    RehearsalPlan,
    rehearse,
)
from rewardkit.analysis.rehearsal.rows import (
    Rows,
    collect,
    is_paid_by_step,
    is_scored_anew,
    pay_rows,
    pay_task,
    weights_at,
    why_not_by_step,
    why_siblings_are_logged,
)
from rewardkit.analysis.statistics import Floats, Interval, Mask
from rewardkit.analysis.view import View
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.deadlines import TimeLimit

STEPS = 160
PROMPTS = 16
"""Prompts of a step where the training does not say."""
MOST_STEPS = 640
"""Steps until which the weights of a schedule are followed. Our choice."""
MOST_DRAWN = 1024
"""Completions of a step: larger ones are rehearsed with fewer prompts. Our choice."""
LEARNERS = 16
"""Learners of each pace. Our choice: the bands are then known to a tenth."""
CALLED_LEARNERS = 4
"""The same where the reward is called on all siblings that they draw: it takes time."""
PACES = {
    "gentle": {"style": 0.35, "contrast": 0.35, "erosion": 0.08},
    "fast": {"style": 0.7, "contrast": 0.7, "erosion": 0.2},
}
"""Pace -> the steps of its learners.

Fitted to the runs of `data/training` that had been looked at, at rates of 1.5e-4 and
3e-4. At half the rate a learner loses less than half: what a step spoils grows faster
than what it gains, as second-order terms do.
"""
SPREAD = 0.3
"""Standard deviation of the logarithm of a learner's steps: models differ."""
LAST_STEPS = 15
"""Steps at the end over which the outcome is the mean."""
RISE = 0.1
"""Change of the share done of the task from which it rises. Our choice."""
UNLUCKY = 0.2
"""Quantile of the learners' ends that the outlook is of. Our choice, from runs that had
been looked at: what one learner in five loses, real runs mostly lose.
"""
RESAMPLES = 1000
"""Resamples of the learners, for an interval."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """The rehearsed training of a view.

    `course` is the training on its reward. `sound` is where the same learners end if
    they are paid for the task alone, (learners,), None where the task is not known.
    `pace` is that of each learner, (learners,). `untried` says what was left out, and
    why.
    """

    view: View
    rows: Rows
    kinds: tuple[Kind, ...]
    material: Material
    learners: Learners
    pace: NDArray[np.str_]
    plan: RehearsalPlan
    course: Course
    sound: Floats | None
    untried: tuple[str, ...]

    @cached_property
    def ends(self) -> Floats:
        """Return the share done of the task over the last steps, (learners,)."""
        return _ends(self.course, self.rows.task)

    @property
    def start(self) -> float:
        """Return the share done of the task at first, NaN where that is not known."""
        return float(np.nanmean(self.at_start(self.rows.task)))

    def at_start(self, values: Floats) -> Floats:
        """Return the values, (rows,), of rows that the log begins with."""
        logged = len(self.view)
        return np.asarray(values[:logged][self.rows.stages[:logged] == 0])

    def end(self, pace: str) -> float:
        """Return the share of the task that four of five learners of a pace reach.

        Of the learners that `judges_reward` marks.
        """
        return float(np.quantile(self.ends[self.judges_reward(pace)], UNLUCKY))

    @cached_property
    def end_interval(self) -> Interval:
        """Return the 95 % interval of the end at the worse pace, over learners."""
        random = np.random.default_rng(self.plan.seed)
        ends = np.full(RESAMPLES, np.inf)
        for pace in PACES:
            of_pace = self.ends[self.judges_reward(pace)]
            drawn = random.choice(of_pace, (RESAMPLES, len(of_pace)))
            ends = np.minimum(ends, np.quantile(drawn, UNLUCKY, axis=1))
        low, high = np.quantile(ends, [0.025, 0.975])
        return float(low), float(high)

    def judges_reward(self, pace: str) -> Mask:
        """Return the learners of a pace that tell something of the reward, (learners,).

        Those that learn the task where it alone is paid: others lose it by the learning
        rate. All of the pace where none does, or where the task is not known.
        """
        is_pace = np.asarray(self.pace == pace)
        if self.sound is None:
            return is_pace
        learns = is_pace & (self.sound >= self.start + RISE)
        return learns if learns.any() else is_pace

    def gate(self, name: str) -> Rehearsal:
        """Rehearse a sum of components with one paid to right completions alone."""
        rows = self.rows.gate(self.view.components[name])
        payment = pay_rows(self.view, rows)
        course = rehearse(self.material, payment, self.learners, self.plan)
        return replace(self, rows=rows, course=course)


def rehearse_view(
    view: View,
    *,
    before: Rehearsal | None = None,
    limit: TimeLimit | None = None,
) -> Rehearsal:
    """Rehearse the training of a view's rows, at a gentle and at a fast pace.

    It has 160 steps. With a schedule it goes on for 80 steps after the last change of a
    weight, up to 640 in all.

    Args:
        view: rows with their scores, verdicts and training; all is drawn by its seed.
        before: the rehearsal of another reward on the same rows, which says what the
            task is, and where it alone ends.
        limit: of calls on completions that the log lacks; None: these are left out.
    """
    task = None if before is None else before.rows.task[: len(view)]
    reward = view.reward
    plan = _plan(view)
    weights = None
    reasons = [why_siblings_are_logged(reward), why_not_by_step(reward)]
    if is_paid_by_step(reward):
        steps = range(plan.first_step, plan.last_step + 1)
        weights = np.mean([weights_at(reward, step) for step in steps], axis=0)
        last = _last_change(reward)
        if last > plan.last_step:
            reasons.append(
                f"weights change until step {last}, and step {plan.last_step} is the "
                "last"
            )
    rows, kinds, material, why = collect(view, task, limit, weights)
    if before is None:
        count = CALLED_LEARNERS if is_scored_anew(reward) else LEARNERS
        learners, pace = make_learners(plan.seed, count)
        sound = None
        if not np.isnan(rows.task).all():
            alone = rehearse(material, pay_task(rows.task), learners, plan)
            sound = _ends(alone, rows.task)
    else:
        learners = before.learners
        pace = before.pace
        sound = before.sound
    course = rehearse(material, pay_rows(view, rows), learners, plan)
    return Rehearsal(
        view,
        rows,
        tuple(kinds),
        material,
        learners,
        pace,
        plan,
        course,
        sound,
        tuple(filter(None, [why, *reasons])),
    )


def _plan(view: View) -> RehearsalPlan:
    """Return the training to rehearse, which begins at the first step of the rows."""
    usual_size = max(2, int(np.median(view.stats.count)))
    generations = min(view.training.num_generations or usual_size, MOST_DRAWN)
    prompts = min(view.training.prompts_per_batch or PROMPTS, MOST_DRAWN // generations)
    first = 0
    if view.context.steps is not None:
        first = int(np.nanmin(view.context.steps))
    until_last = _last_change(view.reward) - first + STEPS // 2
    steps = min(max(STEPS, until_last), MOST_STEPS)
    return RehearsalPlan(steps, prompts, generations, view.bootstrap.seed, first)


def _last_change(reward: Reward) -> int:
    """Return the step from which all weights stay as they are."""
    schedules = [item.schedule for item in reward.components if item.schedule]
    return max((schedule.steps[-1] for schedule in schedules), default=0)


def _ends(course: Course, values: Floats) -> Floats:
    return np.asarray(course.mean(values)[-LAST_STEPS:].mean(axis=0))


def make_learners(seed: int, count: int) -> tuple[Learners, NDArray[np.str_]]:
    """Return `count` learners of each pace, with random speeds, and their paces."""
    random = np.random.default_rng([seed, 1])
    pace = np.repeat([*PACES], count)

    def around(step: str) -> Floats:
        middle = np.array([PACES[name][step] for name in pace.tolist()])
        return middle * np.exp(SPREAD * random.standard_normal(len(pace)))

    return Learners(around("style"), around("contrast"), around("erosion")), pace
