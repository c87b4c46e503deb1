"""Other weights, under which components hold what they declare of the advantage."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rewardkit.analysis.findings.components import OFTEN
from rewardkit.analysis.findings.rule import FEWEST_GROUPS
from rewardkit.analysis.measured import halves, off
from rewardkit.analysis.proposal import Proposal, reweighed
from rewardkit.analysis.view import View
from rewardkit.findings import percent
from rewardkit.scoring.scores import Scores

__all__ = ["weights_for_influence"]

STEPS = 40
WIDEST = 3.0
"""How far a weight may move. Our choice: what needs more is a fault of the component, not of its weight."""
ENOUGH_NEARER = 0.8  # what is left of the difference for other weights to be worth a line: our choice
RAISED = 0.5
"""Share of the live groups in which a component must vary for its weight to be raised.

Our choice: a larger weight of what hardly varies makes a few groups louder and does nothing in the others.
"""
MOST_OFF = 0.1  # difference of effective and declared weight from which other weights are offered: our choice
FEWEST_HALVES = 2 * FEWEST_GROUPS  # prompts, so that either half can give a verdict


def weights_for_influence(view: View, scores: Scores, notes: list[str]) -> list[Proposal]:
    """Weights under which what each component holds comes nearest to what it declares.

    Fitted on one half of the prompts, measured on the other. The task keeps its weight, the others together
    get no more than they have: that the task holds more than it declares is no fault.
    """
    live = _varying(view, [name for name in view.names if view.components[name].weight], OFTEN)
    if len(live) < 2 or not view.effective_weights:
        return []
    declared = {name: view.declared_weights[name] for name in live}
    whole = sum(declared.values())
    target = {name: share / whole for name, share in declared.items()}
    if off(view.effective_weights, target) < MOST_OFF:
        return []
    if view.bootstrap.total < FEWEST_HALVES:
        prompts = f"{view.bootstrap.total} prompt{'s are' if view.bootstrap.total > 1 else ' is'}"
        notes.append(
            f"weights for the declared influence are left out: {prompts} too few to fit them on one half and "
            f"measure on the other; {FEWEST_HALVES} would do"
        )
        return []
    fit, held = halves(view, scores)
    if not fit.effective_weights or not held.effective_weights:
        return []
    best = _nearest(fit, target)
    after = held.under(held.reward.reweigh(best))
    was, now = off(held.effective_weights, target), _off_or_all(after, target)
    if now > ENOUGH_NEARER * was:
        return []
    alone = _alone(held, live)
    limit = (
        f" (weights cannot do more: in {percent(alone)} of the live groups a single component varies and "
        "holds all of it)"
        if alone > now
        else ""
    )
    why = (
        f"what a weight declares and what it holds of the squared advantage differ by up to {percent(was)}; "
        f"under these weights by up to {percent(now)}{limit}. Fitted on one half of the prompts, measured on "
        f"the other. {_caution(view, best)}"
    )
    before = {"declared": {name: round(share, 3) for name, share in target.items()}}
    return [reweighed("declared_weights", None, best, why, scores, views=(held, after), before=before)]


def _caution(view: View, best: Mapping[str, float]) -> str:
    """What such weights do not know."""
    more = [name for name, weight in best.items() if abs(weight) > abs(view.components[name].weight)]
    read = f": read what {' and '.join(map(repr, more))} would be paid more for" if more else ""
    return (
        f"No weight moves more than {WIDEST:g} times, that of {view.primary!r} not at all: weights say who "
        f"holds the advantage, not whether that is right{read}"
    )


def _off_or_all(view: View, target: Mapping[str, float]) -> float:
    return off(view.effective_weights, target) if view.effective_weights else 1.0


def _varying(view: View, names: list[str], share: float) -> list[str]:
    """Those of these components that vary in more than this share of the live groups."""
    often = share * view.live.sum()
    return [name for name in names if view.component_stats[name].live.sum() > often]


def _nearest(view: View, target: Mapping[str, float]) -> dict[str, float]:
    """The best weights of a damped search: less where a component holds too much, more where too little."""
    primary, start = view.primary, {name: float(view.components[name].weight) for name in target}
    raised = _varying(view, list(target), RAISED)
    most = {
        name: abs(start[name]) * (WIDEST if name in raised else 1.0) for name in target if name != primary
    }
    room = sum(abs(start[name]) for name in most)
    weights, best, best_off = dict(start), {}, off(view.effective_weights, target)
    held = view.effective_weights
    least = min(held[primary], target[primary]) if primary in target else -1.0
    for _ in range(STEPS):
        sizes = {
            name: min(abs(weights[name]) * np.sqrt(target[name] / max(held[name], 0.02)), most[name])
            for name in most
        }
        shrunk = min(1.0, room / sum(sizes.values()))
        for name, size in sizes.items():
            size = max(size * shrunk, abs(start[name]) / WIDEST)
            weights[name] = float(f"{np.copysign(size, start[name]):.3g}")
        held = view.under(view.reward.reweigh(weights)).effective_weights
        if not held:  # under these weights no group has a signal
            break
        fits = (
            sum(abs(weights[name]) for name in most) <= room * (1 + 1e-2) and held.get(primary, 0.0) >= least
        )
        if fits and off(held, target) < best_off - 1e-9:
            best, best_off = (
                {name: weights[name] for name in most if weights[name] != start[name]},
                off(held, target),
            )
    return best


def _alone(view: View, names: list[str]) -> float:
    """Share of the live groups in which only one component varies: no weight changes who holds these."""
    moving = sum(view.component_stats[name].live.astype(int) for name in names)
    return float(((moving == 1) & view.live).sum() / max(view.live.sum(), 1))
