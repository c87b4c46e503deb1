"""The total of a log and its parts: the weights with which the parts add up to it."""

from __future__ import annotations

from rewardkit.analysis.statistics import Columns
from rewardkit.rewards.recorded import is_recorded, weights_of_parts
from rewardkit.rewards.training import Training
from rewardkit.scoring.scores import Scores


def weigh_as_trained(scores: Scores, training: Training) -> Scores:
    """Return the scores with the weights that the trainer gave them.

    Those in the settings (`reward_weights`, one for each component or reward function
    of the log), else those with which the parts of a log add up to its total.

    Raises:
        InputError: the settings have weights for another number of functions.
    """
    weights = training.reward_weights
    if weights is None or len(weights) == 1:  # the same factor for all
        return weigh_parts(scores)
    names = list(scores.reward.names)
    if is_recorded(scores.reward):
        logged = scores.rollouts.logged
        paid_names = [name for name in names if scores.reward.weights[name]]
        if len(paid_names) != len(weights) and logged.total:
            # a column that a person weighs is no component of the log
            columns = {name: logged.components.get(name) for name in names}
            paid_names = [name for name in names if columns[name] != logged.total]
        names = paid_names
    others = dict.fromkeys(scores.reward.names, 0.0)
    return scores.reweigh(others | training.weights_of(scores.reward.name, names))


def weigh_parts(scores: Scores) -> Scores:
    """Return the scores of a log with the weights that its parts have in its total.

    The total then has no weight, as it is no further component: two parts that cancel
    show in their scores and not in their sum. The same object is returned if the log
    has no total, if its parts have weights, or if they do not add up to it.
    """
    reward = scores.reward
    logged = scores.rollouts.logged
    if reward.routed_by or not is_recorded(reward):
        return scores
    paid_names = [name for name in reward.names if reward.weights[name]]
    columns = {name: scores.score(name) for name in reward.names}
    if len(paid_names) != 1 or logged.components.get(paid_names[0]) != logged.total:
        return scores
    total = columns.pop(paid_names[0])
    weights = weights_of_parts(total, columns)
    if not weights:
        return scores
    return scores.reweigh({paid_names[0]: 0.0, **weights})


def find_totals(columns: Columns) -> frozenset[str]:
    """Return the columns, (rows,) each, that are a sum of several of the others."""
    totals = set()
    for name, values in columns.items():
        others = {other: columns[other] for other in columns if other != name}
        weights = weights_of_parts(values, others)
        if weights and min(weights.values()) > 0:
            totals.add(name)
    return frozenset(totals)
