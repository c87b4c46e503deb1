"""What a trainer makes of the rows that learners drew: their rewards and advantages."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rewardkit.analysis.rehearsal.policy import Payment
from rewardkit.analysis.rehearsal.reach import asks_model, looks_at_siblings
from rewardkit.analysis.rehearsal.rows import Rows
from rewardkit.analysis.statistics import Codes, Floats, finite, group_stats
from rewardkit.analysis.statistics import advantages as formulas
from rewardkit.analysis.view import View
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import bind
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.prints import caught_prints

Scored = Callable[[Codes, Codes, int], tuple[Floats, dict[str, Floats]]]
"""Rows drawn, their groups, the step -> their rewards, and scores of components."""


def why_siblings_are_logged(reward: Reward) -> str:
    """Say why siblings are paid as in the log, "" where they are scored anew.

    Learners draw siblings from the completions of several prompts, which a function
    must not be able to see.
    """
    if not looks_at_siblings(reward):
        return ""
    if not reward.can_run:
        return "siblings are paid as in the log: the reward is not at hand"
    if asks_model(reward):
        return "siblings are paid as in the log: the reward asks a model"
    for item in reward.components:
        if item.group:
            read = set(item.asks_for) - {"completion", *reward.names}
            if read:
                name = min(read)
                return f"siblings are paid as in the log: `{item.name}` reads {name!r}"
    return ""


def is_scored_anew(reward: Reward) -> bool:
    """Return whether a reward is called on the siblings that learners draw."""
    return looks_at_siblings(reward) and not why_siblings_are_logged(reward)


def pay_rows(view: View, rows: Rows) -> Payment:
    """Return what computes rewards and advantages of drawn rows, as the trainer does.

    Args:
        view: its training and its reward.
        rows: all that can be drawn.
    """
    training, reward = view.training, view.reward
    scored = _as_logged(rows)
    if is_scored_anew(reward):
        scored = _scored_anew(view, rows)
    elif reward.is_scheduled and not why_not_by_step(reward):
        scored = _at_step(reward, rows)

    def pay(
        drawn: Codes, groups: Codes, batches: Codes, step: int
    ) -> tuple[Floats, Floats]:
        rewards, scores = scored(drawn, groups, step)
        columns = None
        if training.name == "gdpo":
            columns = np.column_stack([scores[name] for name in view.names])
        values = formulas.compute(
            training.name,
            rewards,
            groups,
            batches,
            eps=training.eps,
            columns=columns,
            weights=weights_at(reward, step),
        )
        if training.filter_metric is not None:
            metric = scores.get(str(training.filter_metric), rewards)
            dropped = group_stats(metric, groups).dead[groups]
            values = np.where(dropped, 0.0, values)
        return rewards, values

    return pay


def pay_task(task: Floats) -> Payment:
    """Return what pays for the task alone, 0 where that is not known."""
    known = np.nan_to_num(task)

    def pay(
        drawn: Codes, groups: Codes, batches: Codes, step: int
    ) -> tuple[Floats, Floats]:
        return known[drawn], formulas.grpo(known[drawn], groups)

    return pay


def _as_logged(rows: Rows) -> Scored:
    def scored(
        drawn: Codes, groups: Codes, step: int
    ) -> tuple[Floats, dict[str, Floats]]:
        scores = {name: values[drawn] for name, values in rows.scores.items()}
        return rows.rewards[drawn], scores

    return scored


def _at_step(reward: Reward, rows: Rows) -> Scored:
    """Return what pays rows the weights of the step."""
    as_logged = _as_logged(rows)

    def scored(
        drawn: Codes, groups: Codes, step: int
    ) -> tuple[Floats, dict[str, Floats]]:
        _, scores = as_logged(drawn, groups, step)
        return rows.paid_at(weights_at(reward, step))[drawn], scores

    return scored


def weights_at(reward: Reward, step: float) -> Floats:
    """Return the weights of the components at a step, (components,)."""
    return np.array([item.at(step).weight for item in reward.components], dtype=float)


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


def _scored_anew(view: View, rows: Rows) -> Scored:
    """Return what calls the reward on each group that is drawn."""
    reward, table = view.reward, view.context.table
    columns = {
        name: column_values(table[name]) for name in reward.needs if name in table
    }
    columns["completion"] = rows.completions

    def scored(
        drawn: Codes, groups: Codes, step: int
    ) -> tuple[Floats, dict[str, Floats]]:
        chosen = {
            name: [values[row] for row in drawn.tolist()]
            for name, values in columns.items()
        }
        plan = bind(reward.at(step), chosen, len(drawn))
        with caught_prints():
            outcomes = evaluate(plan, chosen, groups=groups)
        rewards = finite(plan.transform(outcomes.rewards, groups))
        return rewards, outcomes.scores

    return scored
