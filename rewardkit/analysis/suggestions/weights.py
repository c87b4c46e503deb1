"""Other weights, under which components hold what they declare of the advantage."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from rewardkit.analysis.findings.components import OFTEN_VARIES
from rewardkit.analysis.findings.rule import FEWEST_GROUPS
from rewardkit.analysis.suggestions.change import Change
from rewardkit.analysis.suggestions.measure import halves
from rewardkit.analysis.suggestions.proposal import Proposal, Proposed
from rewardkit.analysis.view import View
from rewardkit.findings import Finding, counted, percent
from rewardkit.scoring.scores import Scores

STEPS = 40
WIDEST = 10.0
"""How far a weight may move. Our choice: what needs more is a fault of the component, not of its weight."""
ENOUGH_NEARER = 0.8  # what is left of the difference for other weights to be worth a line: our choice
RAISED = 0.5
"""Share of the live groups in which a component must vary for its weight to be raised.

Our choice: a larger weight of what hardly varies makes a few groups louder and does nothing in the others.
"""
MOST_OFF = 0.1  # difference of effective and declared weight from which other weights are offered: our choice
FEWEST_HALVES = 2 * FEWEST_GROUPS  # prompts, so that either half can give a verdict


def declared_weights(
    view: View, scores: Scores, findings: Collection[Finding]
) -> Proposed:
    """Weights under which what each component holds comes nearest to what it declares.

    Fitted on one half of the prompts, measured on the other. The task keeps its weight, the others together
    get no more than they have: that the task holds more than it declares is no fault.
    """
    live = _varying(
        view,
        [name for name in view.names if view.components[name].weight],
        OFTEN_VARIES,
    )
    if len(live) < 2 or not view.effective_weights:
        return
    whole = sum(view.declared_weights[name] for name in live)
    target = {name: view.declared_weights[name] / whole for name in live}
    if _off(view.effective_weights, target) < MOST_OFF:
        return
    if not view.reward.task_is_known:
        yield "no other weights are offered: nothing says which component is the task; declare it primary"
        return
    if view.bootstrap.total < FEWEST_HALVES:
        prompts = counted(view.bootstrap.total, "prompt")
        yield (
            f"weights for the declared influence are left out: {prompts} cannot be fitted on one half and "
            f"measured on the other; {FEWEST_HALVES} would do"
        )
        return
    fit, held = halves(view, scores)
    if not fit.effective_weights or not held.effective_weights:
        return
    best = _nearest(fit, target)
    after = held.under(held.reward.reweigh(best))
    was = _off(held.effective_weights, target)
    now = _off(after.effective_weights, target) if after.effective_weights else 1.0
    if now > ENOUGH_NEARER * was:
        return
    more = [
        name
        for name, weight in best.items()
        if abs(weight) > abs(view.components[name].weight)
    ]
    read = (
        f": read what {' and '.join(map(repr, more))} would be paid more for"
        if more
        else ""
    )
    why = (
        f"what components declare and what they hold of the advantage differ by up to {percent(was)}; under "
        f"these weights by up to {percent(now)}. Fitted on one half of the prompts, measured on the other. "
        f"No weight moves more than {WIDEST:g} times, that of {view.primary!r} not at all: weights say who "
        f"holds the advantage, not whether that is right{read}"
    )
    before = {"declared": {name: round(share, 3) for name, share in target.items()}}
    yield Proposal(
        "declared_weights",
        None,
        why,
        Change(weights=best),
        scores,
        (held, after),
        before,
    )


def _varying(view: View, names: list[str], share: float) -> list[str]:
    """Those of these components that vary in more than this share of the live groups."""
    often = share * view.live.sum()
    return [name for name in names if view.component_stats[name].live.sum() > often]


def _nearest(view: View, target: Mapping[str, float]) -> dict[str, float]:
    """The best weights of a damped search: less where a component holds too much, more where too little."""
    primary, start = (
        view.primary,
        {name: float(view.components[name].weight) for name in target},
    )
    raised = _varying(view, list(target), RAISED)
    sizes = {name: abs(weight) for name, weight in start.items() if name != primary}
    most = {
        name: size * (WIDEST if name in raised else 1.0) for name, size in sizes.items()
    }
    room = sum(sizes.values())
    held, best = view.effective_weights, {}
    best_off = _off(held, target)
    least = min(held[primary], target[primary]) if primary in target else -1.0
    for _ in range(STEPS):
        for name, size in sizes.items():
            sizes[name] = min(
                size * np.sqrt(target[name] / max(held[name], 0.02)), most[name]
            )
        shrunk = min(1.0, room / sum(sizes.values()))
        sizes = {
            name: max(size * shrunk, abs(start[name]) / WIDEST)
            for name, size in sizes.items()
        }
        weights = {
            name: float(f"{np.copysign(size, start[name]):.3g}")
            for name, size in sizes.items()
        }
        sizes = {name: abs(weight) for name, weight in weights.items()}
        held = view.under(view.reward.reweigh(weights)).effective_weights
        if not held:  # under these weights no group has a signal
            break
        fits = (
            sum(sizes.values()) <= room * (1 + 1e-2) and held.get(primary, 0.0) >= least
        )
        if fits and _off(held, target) < best_off - 1e-9:
            best = {
                name: weight
                for name, weight in weights.items()
                if weight != start[name]
            }
            best_off = _off(held, target)
    return best


def _off(held: Mapping[str, float], target: Mapping[str, float]) -> float:
    """The largest difference between what a component holds and what it should."""
    return max(abs(held[name] - target[name]) for name in target)
