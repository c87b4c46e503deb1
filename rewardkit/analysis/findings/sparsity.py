"""Rules on how the scores of a component lie in its range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rewardkit.analysis.findings.rule import FEWEST_GROUPS, Said, finding, rule, share
from rewardkit.analysis.statistics.groups import ZERO_STD, Floats, group_stats
from rewardkit.analysis.view import View
from rewardkit.findings import Finding

__all__ = ["MORE_LEVELS", "RULES", "constant", "never_varies"]

MORE_LEVELS = ("graduate", "pay_component")
"""What answers groups that are tied."""
READINGS = {"starved": "looser_reading", "saturated": "stricter_reading"}
"""What answers a task that is nearly never, or nearly always, earned."""
FIRST = 1 << 16  # rows that are looked at before all are


@rule("constant", "dead", "sparse", "starved", "saturated", "binary")
def shape(
    view: View,
    said: Said,
    *,
    # Share of rows at the minimum: with a quarter right and 8 siblings one group in ten is all wrong even if
    # all prompts are alike ((3/4)^8).
    sparse: float = 0.75,
    sparse_groups_high: float = 0.5,  # half of the batch gives the task no gradient: our choice
    starved: float = 0.05,  # mean as a share of the range: our choice
    saturated: float = 0.95,  # likewise
) -> Iterator[Finding]:
    """How each component's scores lie in its range; what is constant is not also dead or sparse."""
    for name in view.names:
        scores, item = view.scores[name], view.components[name]
        values = scores[~np.isnan(scores)]
        if len(values) < 2:
            continue
        if values.min() == values.max():
            yield _constant(view, name, float(values[0]), len(values))
        elif not _varies_among_siblings(view, scores):
            if group_stats(scores, view.groups).dead.sum() >= FEWEST_GROUPS:
                yield finding(
                    view,
                    "dead",
                    "warn" if item.weight else "info",
                    name,
                    n=len(values),
                    value=0.0,
                    interval=(0.0, 0.0),
                    limit=ZERO_STD,
                    read=~np.isnan(scores),
                    answers=("remove_component",),
                    cost=view.declared_weights[name],
                )
        elif item.weight >= 0:  # a penalty that rarely fires is what one hopes for
            yield from _ends(view, name, sparse, sparse_groups_high, starved, saturated)


def never_varies(view: View) -> bool:
    """Whether the reward is the same on all rows that have one, up to the last digits of a sum.

    Under GDPO, which adds up what it has normalised, each paid component is.
    """
    added = [view.rewards]
    if view.training.name == "gdpo":
        added = [view.scores[name] for name, item in view.components.items() if item.weight]
    known = [values[~np.isnan(values)] for values in added]
    return any(map(len, known)) and all(np.ptp(values) <= ZERO_STD for values in known if len(values))


def constant(view: View, severity: str, name: str | None, value: float, n: int, **more: object) -> Finding:
    """The finding that a component or the reward never varies; of few groups it is no verdict."""
    options = {"penalty": False, **more}
    return finding(view, "constant", severity, name, n=n, value=value, interval=(value, value),
                   limit=ZERO_STD, needs_groups=True, **options)  # type: ignore[arg-type]  # fmt: skip


def _constant(view: View, name: str, value: float, n: int) -> Finding:
    item, ends = view.components[name], view.components[name].range
    penalty = item.weight < 0 and ends is not None and value == ends[0]
    paid = item.weight != 0 and not penalty
    answers: tuple[str, ...] = ("remove_component",)
    if name in view.task:
        highest = ends is not None and value == ends[1]
        answers = ("stricter_reading",) if highest else ("graduate", "looser_reading", "pay_component")
    return constant(
        view,
        "high" if name == view.primary else "warn" if paid else "info",
        name,
        value,
        n,
        penalty=penalty,
        read=~np.isnan(view.scores[name]),
        answers=answers if paid else (),
        cost=view.declared_weights[name],
    )


def _varies_among_siblings(view: View, scores: Floats) -> bool:
    """Whether a group has two scores that differ; the first rows mostly show it."""
    return any(group_stats(scores[:end], view.groups[:end]).live.any() for end in (FIRST, len(scores)))


def _ends(
    view: View, name: str, sparse: float, sparse_groups_high: float, starved: float, saturated: float
) -> Iterator[Finding]:
    """How many of the scores lie at an end of the range, or the mean near one."""
    scores, item = view.scores[name], view.components[name]
    known, (low, high), task = ~np.isnan(scores), view.span(name), name == view.primary
    n = int(known.sum())
    lowest, highest = int((scores == low).sum()), int((scores == high).sum())
    mean = float((np.nanmean(scores) - low) / (high - low))
    if lowest / n >= sparse:
        stats = group_stats(scores, view.groups)
        several = stats.count > 1
        groups_low = float(((stats.high == low) & several).sum() / max(several.sum(), 1))
        grave = task and groups_low >= sparse_groups_high
        yield finding(
            view,
            "sparse",
            "high" if grave else "warn" if item.weight else "info",
            name,
            n=n,
            **share(view, scores == low, known, by_rows=True),
            limit=sparse,
            above=True,
            read=scores == low,
            answers=("graduate", "looser_reading", "pay_component") if task else ("graduate",),
            groups_at_minimum=groups_low,
            cost=groups_low * view.declared_weights[name],
        )
    elif item.range is not None and not starved < mean < saturated:
        code = "starved" if mean <= starved else "saturated"
        yield finding(
            view,
            code,
            "warn" if item.weight else "info",
            name,
            n=n,
            **share(view, np.where(known, (scores - low) / (high - low), 0.0), known, by_rows=True),
            limit=starved if code == "starved" else saturated,
            above=code == "saturated",
            read=scores > low if code == "starved" else scores < high,
            answers=(READINGS[code], "pay_component") if task else (),
            cost=view.declared_weights[name],
        )
    if task and lowest and highest and lowest + highest == n:
        top = share(view, scores == high, known, by_rows=True)
        yield finding(view, "binary", "info", name, n=n, **top, limit=2, read=scores == high,
                      answers=("graduate",), cost=0.0)  # fmt: skip


RULES = (shape,)
