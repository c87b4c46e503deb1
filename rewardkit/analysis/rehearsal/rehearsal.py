"""The rehearsal of a view: its rows as material, learners of two paces, a course."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.rehearsal.kinds import Kind, find_kinds
from rewardkit.analysis.rehearsal.policy import (
    Advantages,
    Course,
    Learners,
    Material,
    fit_ability,
    rehearse,
)
from rewardkit.analysis.rehearsal.reach import HALF, RATIO, Rungs, write_rungs
from rewardkit.analysis.statistics import Codes, Floats, Mask, group_stats
from rewardkit.analysis.statistics import advantages as formulas
from rewardkit.analysis.view import View

STEPS = 160
PROMPTS = 16
"""Prompts of a step where the training does not say."""
MOST_DRAWN = 1024
"""Completions of a step: larger ones are rehearsed with fewer prompts. Our choice."""
LEARNERS = 16
"""Learners of each pace. Our choice: the bands are then known to a tenth."""
STYLE, CONTRAST, EROSION = 1.7, 0.11, 0.032
"""Steps of a learner, fitted to runs of `data/training` at a rate of 3e-4."""
SPREAD = 0.3
"""Standard deviation of the logarithm of a learner's steps: models differ."""
PACES = {"gentle": 0.5, "fast": 1.0}
"""Pace -> a part of the steps that were fitted: rates of 1.5e-4 and 3e-4."""
LAST = 15
"""Steps at the end over which the outcome is the mean."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The completions that learners write: those of the log, then longer ones.

    `task` says what was done of the task, (rows,) from 0 to 1, NaN where that is not
    known; `kinds` and `prompts` are codes, (rows,).
    """

    completions: list[str]
    prompts: Codes
    kinds: Codes
    task: Floats
    rewards: Floats
    scores: Mapping[str, Floats]

    @property
    def right(self) -> Mask:
        """Return which rows did more than half of the task, (rows,)."""
        return np.asarray(np.nan_to_num(self.task) >= HALF, dtype=bool)


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What learners of a view became.

    `course` is of the reward, `sound` that of the task alone, None where nothing says
    what is right. `pace` is that of each learner, (learners,). `why_no_longer` says why
    nothing longer than the log's completions was tried, "" where it was.
    """

    view: View
    rows: Rows
    kinds: tuple[Kind, ...]
    material: Material
    course: Course
    sound: Course | None
    pace: NDArray[np.str_]
    why_no_longer: str

    def ends(self, course: Course, values: Floats) -> Floats:
        """Return the mean of a column over the last steps, (learners,)."""
        return np.asarray(course.mean(values)[-LAST:].mean(axis=0))


def rehearse_view(view: View, *, steps: int = STEPS, seed: int = 0) -> Rehearsal:
    """Rehearse the training of a view's rows, at a gentle and at a fast pace.

    Args:
        view: rows with their scores, verdicts and training.
        steps: of the training.
        seed: of all that is drawn.
    """
    rows, kinds, material, why = collect(view)
    learners, pace = make_learners(seed)
    generations = min(_group_size(view), MOST_DRAWN)
    prompts = view.training.prompts_per_batch or PROMPTS
    sizes = {
        "steps": steps,
        "prompts": min(prompts, MOST_DRAWN // generations),
        "generations": generations,
        "seed": seed,
    }
    course = rehearse(material, _advantages(view, rows), learners, **sizes)
    sound = None
    if not np.isnan(rows.task).all():
        sound = rehearse(material, _grpo_of(rows.task), learners, **sizes)
    return Rehearsal(view, rows, tuple(kinds), material, course, sound, pace, why)


def collect(view: View) -> tuple[Rows, list[Kind], Material, str]:
    """Return what learners write: rows, their kinds, and how often each is written."""
    task = read_task(view)
    completions = [str(text) for text in view.completions]
    right = np.nan_to_num(task) >= HALF
    lengths = np.array([len(text) for text in completions], dtype=float)
    features = {"characters": lengths, **readable_scores(view)}
    targets = [_beside(view.rewards, right), lengths]
    codes, kinds = find_kinds(completions, features, targets)
    prompts = view.bootstrap.prompts
    ability, ease = fit_ability(codes, prompts, right)
    shares = np.bincount(codes, minlength=len(kinds)) / len(codes)
    rungs = write_rungs(view, kinds, codes, task)
    places = np.array(rungs.places, dtype=np.intp)
    parents = [-1] * len(kinds) + rungs.parents
    for parent in rungs.parents:
        ability = np.append(ability, ability[parent])
        shares = np.append(shares, RATIO * shares[parent])
    scores = {}
    for name, values in view.scores.items():
        scores[name] = np.append(values, rungs.scores.get(name, []))
    rows = Rows(
        [*completions, *rungs.texts],
        np.append(prompts, prompts[places]),
        np.append(codes, len(kinds) + np.array(rungs.kinds, dtype=np.intp)),
        np.append(task, _task_of_rungs(view, rungs, task[places])),
        np.append(view.rewards, rungs.rewards),
        scores,
    )
    material = Material(
        rows.kinds, rows.prompts, rows.right, shares, np.array(parents), ability, ease
    )
    return rows, [*kinds, *rungs.names], material, rungs.why_none


def _task_of_rungs(view: View, rungs: Rungs, of_models: Floats) -> Floats:
    """Return what longer completions did of the task; a cut one keeps nothing of it."""
    verdicts = view.verdicts
    if not rungs.texts:
        return of_models
    if view.context.label is None and verdicts is not None and verdicts.is_component:
        return scale_task(view, rungs.scores[verdicts.name])
    longest = max(len(str(text)) for text in view.completions)
    is_cut = np.array([len(text) >= longest for text in rungs.texts])
    return np.where(is_cut, 0.0, of_models)


def make_learners(seed: int) -> tuple[Learners, NDArray[np.str_]]:
    """Return learners of each pace, which differ as models do, and the pace of each."""
    random = np.random.default_rng([seed, 1])
    pace = np.repeat([*PACES], LEARNERS)
    speed = np.repeat([*PACES.values()], LEARNERS)

    def around(middle: float) -> Floats:
        return middle * speed * np.exp(SPREAD * random.standard_normal(len(speed)))

    return Learners(around(STYLE), around(CONTRAST), around(EROSION)), pace


def read_task(view: View) -> Floats:
    """Return what each row did of the task, 0 to 1, (rows,), NaN where unknown."""
    if view.context.label is not None:
        return view.context.label
    if view.verdicts is None:
        return np.full(len(view), np.nan)
    return scale_task(view, view.verdicts.scores)


def scale_task(view: View, scores: Floats) -> Floats:
    """Return scores of the task from 0, nothing, to 1, the most in the log, (rows,)."""
    assert view.verdicts is not None
    low = view.verdicts.low
    high = float(np.fmax.reduce(view.verdicts.scores, initial=low))
    if not high > low:
        return np.where(np.isnan(scores), np.nan, 0.0)
    return np.clip((scores - low) / (high - low), 0.0, 1.0)


def readable_scores(view: View) -> dict[str, Floats]:
    """Return scores that a completion shows without its truth, (rows,) each.

    Of components beside the task that are never gated and do not look at siblings.
    """
    readable = {}
    for name in view.paid_names:
        component = view.components[name]
        is_task = name in view.task or name == getattr(view.verdicts, "name", "")
        if not (is_task or component.group or view.gated[name].any()):
            readable[name] = np.nan_to_num(view.scores[name])
    return readable


def _beside(rewards: Floats, right: Mask) -> Floats:
    """Return the rewards less the mean of those that are as right, (rows,)."""
    sides = right.astype(np.intp)
    beside: Floats = rewards - group_stats(rewards, sides).mean[sides]
    return beside


def _group_size(view: View) -> int:
    if view.training.num_generations:
        return view.training.num_generations
    return max(2, int(np.median(view.stats.count)))


def _advantages(view: View, rows: Rows) -> Advantages:
    """Return the advantages that the trainer computes of rows drawn anew."""
    training = view.training
    metric = rows.scores.get(str(training.filter_metric), rows.rewards)
    columns = np.column_stack([rows.scores[name] for name in view.names])

    def of_rows(drawn: Codes, groups: Codes, batches: Codes) -> Floats:
        values = formulas.compute(
            training.name,
            rows.rewards[drawn],
            groups,
            batches,
            eps=training.eps,
            columns=columns[drawn] if training.name == "gdpo" else None,
            weights=view.weights,
        )
        if training.filter_metric is None:
            return values
        dropped = group_stats(metric[drawn], groups).dead[groups]
        return np.where(dropped, 0.0, values)

    return of_rows


def _grpo_of(values: Floats) -> Advantages:
    def of_rows(drawn: Codes, groups: Codes, batches: Codes) -> Floats:
        return formulas.grpo(np.nan_to_num(values)[drawn], groups)

    return of_rows
