"""The rows that learners write, of the log and beyond it, and what these are paid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rewardkit.analysis.rehearsal.kinds import Kind, find_hacks, find_kinds, learnable
from rewardkit.analysis.rehearsal.policy import NEVER, Material, Payment, fit_ability
from rewardkit.analysis.rehearsal.reach import (
    HALF,
    RATIO,
    Reached,
    columns_asked,
    looks_at_siblings,
    reach,
    why_not_called,
)
from rewardkit.analysis.statistics import (
    Codes,
    Columns,
    Floats,
    Mask,
    finite,
    within,
)
from rewardkit.analysis.statistics.advantages import compute, grpo
from rewardkit.analysis.view import View
from rewardkit.rewards.component import Component
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import bind
from rewardkit.scoring.callers import at_rows
from rewardkit.scoring.deadlines import TimeLimit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.prints import caught_prints


@dataclass(frozen=True, eq=False)
class Rows:
    """The completions that learners write: those of the log, then what it lacks.

    `task` is the share done of the task, (rows,), 0 to 1, NaN where it is not known.
    `kinds`, `prompts` and `stages` (see `View.stages`) are codes, (rows,). Completions
    that the log lacks are of the first stage.
    """

    completions: list[str]
    prompts: Codes
    kinds: Codes
    stages: Codes
    task: Floats
    rewards: Floats
    scores: Columns

    @property
    def right(self) -> Mask:
        """Return which rows did more than half of the task, (rows,)."""
        return np.nan_to_num(self.task) >= HALF

    def paid_at(self, weights: Floats) -> Floats:
        """Return the rewards of a weighted sum under other weights, (rows,).

        NaN stays NaN.
        """
        rewards = np.where(np.isnan(self.rewards), np.nan, 0.0)
        for weight, values in zip(weights, self.scores.values(), strict=True):
            rewards += weight * np.nan_to_num(values)
        return rewards

    def gate(self, component: Component) -> Rows:
        """Return the rows where only right ones are paid by a component."""
        name = component.name
        right = self.right
        payment = component.weight * np.nan_to_num(self.scores[name])
        scores = {**self.scores, name: np.where(right, self.scores[name], 0.0)}
        rewards = self.rewards - np.where(right, 0.0, payment)
        return replace(self, rewards=rewards, scores=scores)


def collect(
    view: View,
    task: Floats | None = None,
    limit: TimeLimit | None = None,
    weights: Floats | None = None,
) -> tuple[Rows, list[Kind], Material, str]:
    """Return what learners write, and why the log's completions are all of it, or "".

    The rows, their kinds, and how often each is written.

    Args:
        view: the rows.
        task: the share that each row did of the task, (rows,), as another reward says.
        limit: of calls on completions that the log lacks; None: these are left out.
        weights: of the components, (components,), in place of those of the view.
    """
    is_own = task is None
    logged = read_task(view) if task is None else task
    right = np.nan_to_num(logged) >= HALF
    completions = [str(text) for text in view.completions]
    lengths = np.array([len(text) for text in completions], dtype=float)
    features = {"characters": lengths, **readable_scores(view)}
    # what is paid beside the task: the reward less the mean of rows that are as right
    beside_task = within(view.rewards, right.astype(np.intp))
    codes, kinds = find_kinds(completions, features, [beside_task, lengths])
    reached = Reached()
    if limit is not None:
        reached = reach(view, kinds, codes, logged, limit)
    places = np.array(reached.places, dtype=np.intp)
    prompts = view.bootstrap.prompts
    scores = {}
    for name, values in view.scores.items():
        scores[name] = np.append(values, reached.scores.get(name, []))
    rows = Rows(
        [*completions, *reached.texts],
        np.append(prompts, prompts[places]),
        np.append(codes, len(kinds) + np.array(reached.kinds, dtype=np.intp)),
        np.append(view.stages, np.zeros(len(places), dtype=np.intp)),
        np.append(logged, _task_of_reached(view, reached, logged, is_own=is_own)),
        np.append(view.rewards, reached.rewards),
        scores,
    )
    if weights is not None:
        rows = replace(rows, rewards=rows.paid_at(weights))
    return (
        rows,
        [*kinds, *reached.names],
        _material(rows, codes, reached),
        reached.why_none,
    )


def _material(rows: Rows, codes: Codes, reached: Reached) -> Material:
    """Return how often rows are written and right as the run begins.

    Kinds that it came to write later are within reach. `codes` are the log's kinds.
    """
    logged = len(codes)
    stages = rows.stages[:logged]
    fitted, ease = fit_ability(
        codes, rows.prompts[:logged], rows.right[:logged], stages
    )
    ability = fitted.tolist()
    counts = np.bincount(codes)
    at_start = np.bincount(codes[stages == 0], minlength=len(counts))
    shares = np.maximum(at_start / at_start.sum(), RATIO * counts / logged).tolist()
    parents = [-1] * len(shares) + reached.parents
    with_right = set(rows.kinds[rows.right].tolist())
    for kind in range(len(shares), len(parents)):
        ability.append(ability[parents[kind]] if kind in with_right else NEVER)
        shares.append(RATIO * shares[parents[kind]])
    hacks = find_hacks(rows.rewards, rows.right)
    return Material(
        rows.kinds,
        rows.prompts,
        rows.right,
        hacks,
        learnable(rows.completions, rows.prompts, rows.right, hacks),
        np.array(shares),
        np.array(parents),
        np.array(ability),
        ease,
        rows.stages == 0,
    )


def _task_of_reached(
    view: View, reached: Reached, task: Floats, *, is_own: bool
) -> Floats:
    """Return the share that reached completions do of the task, (texts,).

    Where the component of the task was called on them, by its scores. Else 0 for a text
    that lost its answer, and for others that of the row that it is made of.
    """
    if not reached.texts:
        return np.zeros(0)
    verdicts = view.verdicts
    if is_own and view.context.label is None and verdicts is not None:
        if verdicts.is_component:
            return scale_task(view, reached.scores[verdicts.name])
    logged = task[np.array(reached.places)]
    is_lost = ~np.array(reached.keeps) & ~np.isnan(logged)
    return np.where(is_lost, 0.0, logged)


def read_task(view: View) -> Floats:
    """Return the share that each row did of the task, (rows,), NaN where unknown."""
    if view.context.label is not None:
        return view.context.label
    if view.verdicts is None:
        return np.full(len(view), np.nan)
    return scale_task(view, view.verdicts.scores)


def scale_task(view: View, scores: Floats) -> Floats:
    """Scale scores of the task: 0 is none of it, 1 the best score of the log."""
    assert view.verdicts is not None
    low = view.verdicts.low
    high = float(np.fmax.reduce(view.verdicts.scores, initial=low))
    if not high > low:
        return np.where(np.isnan(scores), np.nan, 0.0)
    return np.clip((scores - low) / (high - low), 0.0, 1.0)


def readable_scores(view: View) -> dict[str, Floats]:
    """Return scores that depend on the completion alone, (rows,) each, by component.

    Of components beside the task without a gate. Recorded ones are taken for such.
    """
    readable = {}
    for name in view.paid_names:
        component = view.components[name]
        is_task = name in view.task or name == getattr(view.verdicts, "name", "")
        is_alone = _columns_read(view.reward, component) <= {"completion"}
        is_alone |= is_recorded(view.reward)
        if is_alone and not (is_task or component.group or view.gated[name].any()):
            readable[name] = np.nan_to_num(view.scores[name])
    return readable


def _columns_read(reward: Reward, component: Component) -> set[str]:
    """Return the columns of the log that a component reads, also by fields."""
    columns = set(component.asks_for)
    while fields := columns & reward.field_calls.keys():
        columns -= fields
        for name in fields:
            columns.update(reward.field_calls[name].asks_for)
    return columns


def why_siblings_are_logged(reward: Reward) -> str:
    """Say why siblings are paid as in the log, "" where they are scored anew.

    Learners draw siblings from the completions of several prompts, which a function
    must not be able to see.
    """
    if not looks_at_siblings(reward):
        return ""
    why = why_not_called(reward)
    for item in reward.components:
        others = set(item.asks_for) - {"completion", *reward.names}
        if item.group and others and not why:
            why = f"`{item.name}` reads {min(others)!r}"
    return f"siblings are paid as in the log: {why}" if why else ""


def is_scored_anew(reward: Reward) -> bool:
    """Return whether a reward is called on the siblings that learners draw."""
    return looks_at_siblings(reward) and not why_siblings_are_logged(reward)


def pay_rows(view: View, rows: Rows) -> Payment:
    """Return what computes rewards and advantages of drawn rows, as the trainer does.

    Args:
        view: its training and its reward.
        rows: all that can be drawn.
    """
    reward = view.reward
    is_anew = is_scored_anew(reward)
    is_by_step = is_paid_by_step(reward)
    columns = {}
    if is_anew:
        columns = columns_asked(view) | {"completion": rows.completions}

    def pay(
        drawn: Codes, groups: Codes, batches: Codes, step: int
    ) -> tuple[Floats, Floats]:
        weights = weights_at(reward, step)
        if is_anew:
            rewards, scores = _score_drawn(reward, columns, drawn, groups, step)
        else:
            scores = {name: values[drawn] for name, values in rows.scores.items()}
            by_row = rows.paid_at(weights) if is_by_step else rows.rewards
            rewards = by_row[drawn]
        return rewards, compute(
            view.training, rewards, groups, batches, scores=scores, weights=weights
        )

    return pay


def pay_task(task: Floats) -> Payment:
    """Return what pays for the task alone, 0 where that is not known."""
    rewards = np.nan_to_num(task)

    def pay(
        drawn: Codes, groups: Codes, batches: Codes, step: int
    ) -> tuple[Floats, Floats]:
        return rewards[drawn], grpo(rewards[drawn], groups)

    return pay


def weights_at(reward: Reward, step: float) -> Floats:
    """Return the weights of the components at a step, (components,)."""
    return np.array([item.at(step).weight for item in reward.components], dtype=float)


def is_paid_by_step(reward: Reward) -> bool:
    """Return whether logged rows are paid by the weights of each step."""
    return reward.is_scheduled and not why_not_by_step(reward)


def why_not_by_step(reward: Reward) -> str:
    """Say why rows are not paid by the step of a schedule, "" where they are."""
    if not reward.is_scheduled or is_scored_anew(reward):
        return ""
    adds_up = reward.aggregation == "weighted_sum" and reward.transform is None
    if adds_up and reward.gate is None:
        return ""
    return (
        "weights depend on the step, and learners are paid as these rows are, as this "
        "reward is no plain sum: forecast scores.at(step), too"
    )


def _score_drawn(
    reward: Reward,
    columns: Mapping[str, list[Any]],
    drawn: Codes,
    groups: Codes,
    step: int,
) -> tuple[Floats, Columns]:
    """Call the reward on each group that is drawn."""
    chosen = {name: at_rows(values, drawn) for name, values in columns.items()}
    plan = bind(reward.at(step), chosen, len(drawn))
    with caught_prints():
        outcomes = evaluate(plan, chosen, groups=groups)
    return finite(plan.transform(outcomes.rewards, groups)), outcomes.scores
