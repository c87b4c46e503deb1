"""Tiles: the answer to one question about a reward, with a grade and a figure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.forecast import Forecast
from rewardkit.analysis.suggestions.suggestion import Suggestions
from rewardkit.findings import NAMED, Finding, counted, most, percent
from rewardkit.html.excerpts import one_line
from rewardkit.mutation.results import MutantResult
from rewardkit.probes.result import (
    JUDGES_NOTHING,
    ProbeResult,
    count_alarms,
    kind_of_alarm,
)
from rewardkit.scoring.cases import CheckResult
from rewardkit.scoring.deadlines import TimeLimit

SHORTCUTS = (
    "label_disagrees",
    "wrong_above_right",
    "length_bias",
    "column_bias",
    "truncated_paid",
)
"""Findings about what is selected, not about whether anything is."""
NOTICED = 0.5
"""Share of mutants that the cases should notice. Our choice."""
BROKEN = "broken contract"
CASES, SIGNAL, EXPLOITS = "Right on cases", "Learnable signal", "Exploits"
CONTRACT, SELECTS = "Contract", "Selects for"


@dataclass(frozen=True)
class Tile:
    """The answer to one question: a grade, a figure with its `ends`, and words on it.

    `grade` is "good", "warn", "high", or "info" where it is not known. `reason` is what
    the verdict says of it, "" where it says nothing.
    """

    question: str
    grade: str
    figure: str
    said: str
    reason: str = ""
    ends: str = ""


def cases_tile(
    checked: CheckResult | None,
    mutated: MutantResult | None = None,
    *,
    recorded: bool = False,
) -> Tile:
    """Say whether the cases pass, and whether they would notice a changed reward.

    `recorded`: the rewards are what stands in a log.
    """
    if recorded:
        reason = "nothing says that the scores in the log are right"
        return Tile(CASES, "info", "-", "scores of a log", reason)
    if checked is None:
        return Tile(
            CASES, "info", "-", "no cases were given", "no cases say what it must give"
        )
    total, said = len(checked.cases), "cases pass"
    caught, survived = (
        (len(mutated.noticed), len(mutated.survived)) if mutated is not None else (0, 0)
    )
    changes = caught + survived
    noticed = f"catch {caught} of {counted(changes, 'mutant')}"
    said += f". They {noticed}" if changes else ""
    if left := checked.left_out:
        said += (
            f"; what they expect of {most(sorted(map(repr, left)), NAMED)} is left out"
        )
    grade, reason = "good" if total else "info", ""
    if checked.failed:
        grade, reason = "high", f"{checked.failed} of {counted(total, 'case')} missed"
    elif caught < NOTICED * changes:
        grade, reason = "warn", f"the cases {noticed}"
    return Tile(CASES, grade, f"{checked.passed:,} of {total:,}", said, reason)


def signal_tile(diagnosis: Diagnosis) -> Tile:
    """Say in what share of groups siblings earn differently, and what was found."""
    views = diagnosis.views
    several = sum(view.several for view in views)
    if not several:
        if all(np.isnan(view.rewards).all() for view in views):
            return Tile(SIGNAL, "info", "-", "no rewards", "no completion has a reward")
        return Tile(
            SIGNAL,
            "info",
            "-",
            "no siblings",
            "no group has two completions to compare",
        )
    live = 1 - sum(int(view.dead.sum()) for view in views) / several
    interval = (math.nan, math.nan)
    if len(views) == 1:
        view = views[0]
        sums = [view.live.astype(float), (view.dead | view.live).astype(float)]
        low, high = view.bootstrap.interval(sums, view.owner)
        interval = (float(low), float(high))
    few = next((str(item.evidence["reason"]) for item in diagnosis["not_enough"]), "")
    found = [item for item in diagnosis.findings if item.code not in SHORTCUTS]
    ends = _between(*(percent(end).removesuffix(" %") for end in interval))
    return _graded(
        SIGNAL, found, percent(live), f"of {counted(several, 'group')} vary", few, ends
    )


def probe_tiles(result: ProbeResult) -> tuple[Tile, Tile]:
    """Say what a policy could exploit, and whether the trainer's contract holds."""
    broken = [item for item in result.alarms if kind_of_alarm(item) == BROKEN]
    holes = [item for item in result.alarms if item not in broken]
    nothing, told = _nothing_probed(result), count_alarms(holes)
    if holes or not nothing:
        grade = holes[0].severity if holes else "good"
        exploits = Tile(
            EXPLOITS,
            grade,
            f"{len(holes)} found",
            _codes(holes) or f"in {result.effort}",
            told,
        )
    else:
        exploits = Tile(
            EXPLOITS,
            "info",
            "-",
            f"in {result.effort}",
            f"the probes say nothing, as {nothing}",
        )
    if broken:
        severity, told = broken[0].severity, count_alarms(broken)
        return exploits, Tile(
            CONTRACT, severity, f"{len(broken)} broken", _codes(broken), told
        )
    functions, said = result.reward.functions, f"in {counted(result.calls, 'call')}"
    if any(getattr(item, "asks_model", False) for item in functions):
        said += (
            "; a model may answer differently when it is asked again, so answers are "
            "cached"
        )
    elif not any(callable(item) and TimeLimit.needed(item) for item in functions):
        said = "only rewardkit's own code is called"
    return exploits, Tile(CONTRACT, "good", "kept", said)


def contract_on_log(tile: Tile, found: Iterable[Any]) -> Tile:
    """Return the contract's tile, not good where components fail on the log.

    What is `found` has a code and a severity.
    """
    failing = next(
        (one for one in found if one.code == "errors" and one.severity != "info"), None
    )
    if failing is None or tile.grade != "good":
        return tile
    told = "components fail on rows of the log"
    return replace(
        tile,
        grade=failing.severity,
        figure="broken",
        said=f"{told}: errors",
        reason=told,
    )


def _nothing_probed(result: ProbeResult) -> str:
    """Why the probes decide nothing; "" where they do."""
    if any(item.code in JUDGES_NOTHING for item in result.findings):
        return "it judged none of what was tried"
    if not result.tried_probes:
        whys = [one_line(item.why, 300) for item in result.inconclusive]
        return "; ".join(whys) or "no prompt could be probed"
    if result.is_undecided:
        return "no right answer is known"
    return "their time was over" if result.untried else ""


def forecast_tile(forecast: Forecast, diagnosis: Diagnosis) -> Tile:
    """Say what becomes of task or label in the best siblings."""
    found = [item for item in diagnosis.findings if item.code in SHORTCUTS]
    if len(forecast.best_of) < 2:
        return _graded(SELECTS, found, "-", forecast.verdict, forecast.verdict)
    followed = (
        "label"
        if "label" in forecast.best_of.curves
        else f"score/{diagnosis.views[0].primary}"
    )
    curve = forecast.best_of.curves.get(followed)
    if curve is None:
        return _graded(SELECTS, found, "-", forecast.verdict)
    now, best = curve.value[-1] - curve.change[-1], curve.value[-1]
    name, n = forecast.called(followed), f"{forecast.best_of.points[-1]:g}"
    figure, ends = (
        f"{now:.2g} \u2192 {best:.2g}",
        _between(f"{curve.low[-1]:.2g}", f"{curve.high[-1]:.2g}"),
    )
    few = (
        ""
        if curve.known[-1] > 1 - 1e-9
        else f", of the {percent(curve.known[-1])} that have it"
    )
    tile = _graded(
        SELECTS,
        found,
        figure,
        f"{name}, from one sibling to the best of {n}{few}",
        ends=ends,
    )
    if curve.change_high[-1] < 0:
        return replace(
            tile, grade="high", reason=f"the answers it picks are worse in {name!r}"
        )
    if (
        not curve.change_low[-1] > 0 and tile.grade == "good"
    ):  # NaN too: nothing is selected
        reason = f"it is not clear that the answers it picks are better in {name!r}"
        return replace(tile, grade="warn", reason=reason)
    return tile


def _graded(
    question: str,
    found: Sequence[Finding],
    figure: str,
    said: str,
    unknown: str = "",
    ends: str = "",
) -> Tile:
    """Return a tile with the grade of the worst of its findings."""
    for severity, word in (("high", "grave finding"), ("warn", "warning")):
        if graded := [item for item in found if item.severity == severity]:
            told = counted(len(graded), word)
            codes = _codes(graded)
            return Tile(
                question,
                severity,
                figure,
                f"{said}; {told}: {codes}",
                f"{told} ({question.lower()})",
                ends,
            )
    return Tile(question, "info" if unknown else "good", figure, said, unknown, ends)


def _codes(found: Sequence[Finding]) -> str:
    """Return the first few codes with their counts: "dominant, saturated (2)"."""
    counts = Counter(item.code for item in found)
    named = [code if many == 1 else f"{code} ({many})" for code, many in counts.items()]
    left = sum(list(counts.values())[NAMED:])
    return ", ".join(named[:NAMED]) + (f" and {left} more" if left else "")


def _between(low: str, high: str) -> str:
    """Return the ends of an interval; "" where both look the same."""
    return "" if low == high else f"{low}\u2013{high}"


def source_tile(diagnosis: Diagnosis) -> Tile:
    """Say which components hold the squared advantage."""
    view = diagnosis.views[0]
    held = sorted(view.effective_weights.items(), key=lambda pair: -pair[1])
    if not held:
        return Tile("Comes from", "info", "-", "no group has a signal")
    (first, share), *others = held
    told = ", ".join(f"{name} {percent(part)}" for name, part in others[:3])
    grade = (
        "warn"
        if any(item.code == "dominant" for item in diagnosis.findings)
        else "good"
    )
    said = f"of the squared advantage{f'; {told}' if told else ''}"
    return Tile("Comes from", grade, f"{first} {percent(share)}", said)


def change_tile(advice: Suggestions) -> Tile:
    """Return the first change that helps, and its measured effect."""
    usable = [item for item in advice.changes if item.verdict != "harms"]
    for first in usable:
        said = (first.outcome or first.why).replace(" -> ", " \u2192 ")
        return Tile("Could be changed", "good", first.named, said)
    nothing = "; ".join(advice.notes) or "no change answers what was found"
    return Tile("Could be changed", "info", "-", nothing)
