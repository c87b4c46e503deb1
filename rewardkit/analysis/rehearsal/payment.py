"""What a trainer makes of the rows that learners drew: their rewards and advantages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rewardkit.analysis.rehearsal.policy import Payment
from rewardkit.analysis.rehearsal.reach import asks_model, looks_at_siblings
from rewardkit.analysis.rehearsal.rows import Rows
from rewardkit.analysis.statistics import Codes, Columns, Floats, finite, group_stats
from rewardkit.analysis.statistics import advantages as formulas
from rewardkit.analysis.view import View
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import bind
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.prints import caught_prints


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
            others = set(item.asks_for) - {"completion", *reward.names}
            if others:
                return (
                    f"siblings are paid as in the log: `{item.name}` reads "
                    f"{min(others)!r}"
                )
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
    training = view.training
    reward = view.reward
    is_anew = is_scored_anew(reward)
    columns_asked = _columns_asked(view, rows) if is_anew else {}
    is_by_step = reward.is_scheduled and not (is_anew or why_not_by_step(reward))

    def pay(
        drawn: Codes, groups: Codes, batches: Codes, step: int
    ) -> tuple[Floats, Floats]:
        if is_anew:
            rewards, scores = _score_drawn(reward, columns_asked, drawn, groups, step)
        else:
            scores = {name: values[drawn] for name, values in rows.scores.items()}
            rewards = rows.rewards[drawn]
        if is_by_step:
            rewards = rows.paid_at(weights_at(reward, step))[drawn]
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
    rewards = np.nan_to_num(task)

    def pay(
        drawn: Codes, groups: Codes, batches: Codes, step: int
    ) -> tuple[Floats, Floats]:
        return rewards[drawn], formulas.grpo(rewards[drawn], groups)

    return pay


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


def _columns_asked(view: View, rows: Rows) -> dict[str, list[Any]]:
    """Return the columns that the reward asks for, with the completions of `rows`."""
    table = view.context.table
    names = [name for name in view.reward.needs if name in table]
    columns = {name: column_values(table[name]) for name in names}
    return {**columns, "completion": rows.completions}


def _score_drawn(
    reward: Reward,
    columns: Mapping[str, list[Any]],
    drawn: Codes,
    groups: Codes,
    step: int,
) -> tuple[Floats, Columns]:
    """Call the reward on each group that is drawn."""
    chosen = {}
    for name, values in columns.items():
        chosen[name] = [values[row] for row in drawn.tolist()]
    plan = bind(reward.at(step), chosen, len(drawn))
    with caught_prints():
        outcomes = evaluate(plan, chosen, groups=groups)
    return finite(plan.transform(outcomes.rewards, groups)), outcomes.scores
