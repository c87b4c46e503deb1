"""Scorecard: what a reward comes to at a glance: a verdict, five tiles, and the things that matter most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.forecast import Forecast
from rewardkit.analysis.view import View
from rewardkit.errors import RewardError
from rewardkit.findings import SEVERITIES, Finding, counted, percent
from rewardkit.html import markup
from rewardkit.html.excerpts import one_line
from rewardkit.notebook.redaction import redacted_finding, redacted_reason
from rewardkit.probes.mutants.results import MutantResult
from rewardkit.probes.probe import ProbeResult
from rewardkit.probes.results.sentences import fix_for
from rewardkit.probes.results.summary import alarms_in_words, kind_of_alarm, ran, tried, undecided
from rewardkit.scoring.cases import CheckResult
from rewardkit.scoring.explain import explained, field_spans
from rewardkit.scoring.scores import Scores

__all__ = [
    "MARKS",
    "Point",
    "Scorecard",
    "Tile",
    "cases_tile",
    "forecast_tile",
    "points_of",
    "probe_tiles",
    "signal_tile",
]

MARKS = {"high": "\u25cf", "warn": "\u25b2", "info": "\u25cb", "good": "\u2713"}
"""A shape a grade, so that it is told without colour; "info" is what is not known."""
POINTS = 3  # things that are told in full
LONGEST = 400  # characters of a completion that shows one of them
BROKEN = "broken contract"
COSTS = {
    "hole": "Training pays for it, so a policy learns it in place of the task.",
    "loss of right answers": "Right answers go unpaid, so training leads away from them.",
    BROKEN: "The trainer gets another number than you expect, or none.",
}
"""Kind of an alarm of the probes -> why it matters."""
SHORTCUTS = ("label_disagrees", "length_bias", "column_bias", "truncated_paid")
"""Findings of a diagnosis that are about what is selected, not about whether anything is."""


@dataclass(frozen=True)
class Tile:
    """The answer to one question: its grade, the figure with its interval, and what the figure is of.

    `grade` is "good", "warn", "high", or "info" where it is not known. `reason` is what the verdict says of
    it, "" where it says nothing.
    """

    question: str
    grade: str
    figure: str
    said: str
    reason: str = ""


@dataclass(frozen=True)
class Point:
    """A thing that matters: what was found, why it matters, what to do; and a completion that shows it."""

    severity: str
    code: str
    what: str
    why: str
    do: str
    about: str = ""
    completion: str = ""
    spans: Mapping[str, Sequence[tuple[int, int]]] | None = None

    @property
    def html(self) -> Any:
        """The completion, with what the reward read of it marked, as a piece of HTML; "" without one."""
        if not self.completion:
            return ""
        return markup.html_of(markup.quoted(markup.marked(self.completion, self.spans or {}, limit=LONGEST)))


@dataclass(frozen=True)
class Scorecard:
    """What a reward comes to: its tiles, and the `points` that matter, the worst first."""

    name: str
    tiles: tuple[Tile, ...]
    points: tuple[Point, ...] = ()
    failed: tuple[str, ...] = ()
    """Titles of pages that failed."""

    @property
    def grade(self) -> str:
        """How it stands: "high" (not ready), "warn" (read before use), or "good"."""
        if self.failed:
            return "high"
        grades = {tile.grade for tile in self.tiles}
        return next((grade for grade in ("high", "warn") if grade in grades), self._unknown)

    @property
    def _unknown(self) -> str:
        """Where nothing speaks against it: whether its signal and its exploits are known."""
        asked = [tile for tile in self.tiles if tile.question in (SIGNAL, EXPLOITS)]
        return "warn" if any(tile.grade == "info" and tile.reason for tile in asked) else "good"

    @property
    def verdict(self) -> str:
        """Whether it is ready, and why, in a sentence; then what nobody has looked at."""
        grade = self.grade
        reasons = [tile.reason for tile in self.tiles if tile.grade == grade and tile.reason]
        if grade == "high":
            told = [f"the page '{title}' failed" for title in self.failed] + reasons
            return f"Not ready: {_listed(told)}."
        unknown = [tile.reason for tile in self.tiles if tile.grade == "info" and tile.reason]
        said = f"Read before use: {_listed(reasons)}." if reasons else ""
        if not said:
            said = "Not yet judged:" if grade == "warn" else "No objection found."
        return " ".join([said, *(f"{one[:1].upper()}{one[1:]}." for one in unknown)])

    @property
    def worst(self) -> tuple[Point, ...]:
        """The points that are told in full."""
        return self.points[:POINTS]


CASES, SIGNAL, EXPLOITS, CONTRACT, SELECTS = (
    "Right on cases",
    "Learnable signal",
    "Exploits",
    "Contract",
    "Selects for",
)


def _listed(things: Sequence[str]) -> str:
    *most, last = things
    return f"{', '.join(most)}, and {last}" if most else last


# --- tiles


def cases_tile(
    checked: CheckResult | None, mutated: MutantResult | None = None, *, recorded: bool = False
) -> Tile:
    """Whether it gives what was written down, and whether the cases would notice if it did not.

    `recorded`: the rewards are what stands in a log.
    """
    if recorded:
        return Tile(
            CASES, "info", "-", "scores of a log", "nothing says that the scores in the log are right"
        )
    if checked is None:
        return Tile(CASES, "info", "-", "no cases were given", "no cases say what it must give")
    total, said = len(checked.cases), "cases pass"
    if mutated is not None and mutated.noticed + mutated.survived:
        caught, changes = len(mutated.noticed), len(mutated.noticed) + len(mutated.survived)
        said += f"; they notice {caught} of {counted(changes, 'small change')} of it"
    missed = f"{checked.failed} of {total} cases are missed" if checked.failed else ""
    grade = "high" if missed else "good" if total else "info"
    return Tile(CASES, grade, f"{checked.passed:,} of {total:,}", said, missed)


def signal_tile(diagnosis: Diagnosis) -> Tile:
    """In what share of the groups siblings earn differently, and the worst that the diagnosis found."""
    views = diagnosis.views
    several = sum(view.several for view in views)
    if not several:
        return Tile(SIGNAL, "info", "-", "no siblings", "no group has two completions to compare")
    live = 1 - sum(int(view.dead.sum()) for view in views) / several
    interval = _live_interval(views[0]) if len(views) == 1 else (math.nan, math.nan)
    few = next((str(item.evidence["reason"]) for item in diagnosis["not_enough"]), "")
    found = [item for item in diagnosis.findings if item.code not in SHORTCUTS]
    return _graded(SIGNAL, found, _with(percent(live), interval), f"of {counted(several, 'group')} vary", few)


def _live_interval(view: View) -> tuple[float, float]:
    several = (view.dead | view.live).astype(float)
    low, high = view.bootstrap.interval([view.live.astype(float), several], view.owner)
    return float(low), float(high)


def probe_tiles(result: ProbeResult) -> tuple[Tile, Tile]:
    """What a policy could exploit, and whether the contract with the trainer holds."""
    broken = [item for item in result.alarms if kind_of_alarm(item) == BROKEN]
    others = [item for item in result.alarms if item not in broken]
    made = f"in {tried(result)}"
    nothing = "no right answer is known" if undecided(result) else "the budget was over"
    if not ran(result):
        nothing = "no prompt could be probed"
    if not others and (not ran(result) or undecided(result) or result.untried):
        exploits = Tile(EXPLOITS, "info", "-", made, f"the probes are inconclusive, as {nothing}")
    else:
        grade = others[0].severity if others else "good"
        exploits = Tile(EXPLOITS, grade, f"{len(others)} found", made, alarms_in_words(others))
    grade = broken[0].severity if broken else "good"
    said = f"broken, in {counted(result.calls, 'call')}" if broken else "kept"
    contract = Tile(
        CONTRACT, grade, f"{len(broken)} broken" if broken else "kept", said, alarms_in_words(broken)
    )
    if not broken:
        contract = replace(contract, said=f"in {counted(result.calls, 'call')}")
    return exploits, contract


def forecast_tile(forecast: Forecast, diagnosis: Diagnosis) -> Tile:
    """What becomes of the task, or of the label, in the best of the siblings; and what shortcut is paid."""
    found = [item for item in diagnosis.findings if item.code in SHORTCUTS]
    if len(forecast.best_of) < 2:
        return _graded(SELECTS, found, "-", forecast.verdict, forecast.verdict)
    followed = "label" if "label" in forecast.best_of.curves else f"score/{diagnosis.views[0].primary}"
    curve = forecast.best_of.curves.get(followed)
    if curve is None:
        return _graded(SELECTS, found, "-", forecast.verdict)
    now, best = curve.value[-1] - curve.change[-1], curve.value[-1]
    name, n = forecast.called(followed), f"{forecast.best_of.points[-1]:g}"
    figure = f"{now:.2g} \u2192 {best:.2g} ({curve.low[-1]:.2g}\u2013{curve.high[-1]:.2g})"
    tile = _graded(SELECTS, found, figure, f"{name}, from one sibling to the best of {n}")
    if curve.change_high[-1] < 0:
        return replace(tile, grade="high", reason=f"what it picks is worse in {name}")
    if curve.change_low[-1] <= 0 and tile.grade == "good":
        return replace(tile, grade="warn", reason=f"what it picks is not clearly better in {name}")
    return tile


def _graded(question: str, found: Sequence[Finding], figure: str, said: str, unknown: str = "") -> Tile:
    """A tile with the grade of the worst of its findings."""
    for severity, word in (("high", "grave finding"), ("warn", "warning")):
        if count := sum(item.severity == severity for item in found):
            return Tile(question, severity, figure, said, f"{counted(count, word)} ({question.lower()})")
    return Tile(question, "info" if unknown else "good", figure, said, unknown)


def _with(value: str, interval: tuple[float, float]) -> str:
    ends = [percent(end).removesuffix(" %") for end in interval]
    return value if math.isnan(interval[0]) else f"{value} ({ends[0]}\u2013{ends[1]})"


# --- what matters


def points_of(findings: Sequence[Finding], scores: Scores, *, redact: bool = False) -> list[Point]:
    """Findings of a diagnosis as points, each with the first completion that it names."""
    return [_of_diagnosis(item, scores, redact=redact) for item in findings if item.severity != "info"]


def _of_diagnosis(item: Finding, scores: Scores, *, redact: bool) -> Point:
    told = redacted_finding(item) if redact else item
    point = Point(item.severity, item.code, one_line(told.said, 600), "", one_line(told.advice, 400))
    if redact or not item.rollout_ids:
        return point
    rows = np.flatnonzero(scores.table["rollout_id"] == item.rollout_ids[0])
    if not len(rows):
        return point
    try:
        shown = explained(scores, int(rows[0]))
    except RewardError:  # a route that has no reward for it
        return point
    about = f"rollout {item.rollout_ids[0]} earned {markup.number(shown.result.reward)}"
    return replace(point, about=about, completion=shown.completion, spans=shown.spans)


def points_of_probes(result: ProbeResult, *, redact: bool = False) -> list[Point]:
    """Alarms of the probes as points, each with the completion that shows it most plainly."""
    points = []
    for item in result.alarms:
        told = redacted_finding(item) if redact else item
        what, do = one_line(told.sentence, 600), one_line(fix_for(told), 400)
        point = Point(item.severity, item.code, what, COSTS[kind_of_alarm(item)], do)
        if item.examples and not redact:
            one = item.examples[0]
            earned = one.said or f"earned {one.reward:.4g}"
            about = one_line("; ".join(filter(None, (f"tried: {earned}", one.scale))), 300)
            spans = field_spans(result.reward, one.columns)
            point = replace(point, about=about, completion=one.completion[: 2 * LONGEST], spans=spans)
        points.append(point)
    return points


def point_of_cases(checked: CheckResult, *, redact: bool = False) -> list[Point]:
    """The missed cases as one point, with the first of them."""
    if not checked.misses:
        return []
    miss = checked.misses[0]
    many = f"{checked.failed} of {counted(len(checked.cases), 'case')}"
    what = f"{many} are missed. The first is {miss.case!r}"
    got = markup.number(miss.got) if isinstance(miss.got, float) else str(miss.got)
    about = f"{miss.what}: expected {miss.expected}, got {redacted_reason(got) if redact else got}"
    do = "Mend the reward, or what the case expects where that is wrong."
    point = Point("high", "cases", one_line(what, 400) + ".", "" if redact else one_line(miss.why, 300), do)
    return [replace(point, about=one_line(about, 300), completion="" if redact else str(miss.completion))]


def sorted_points(points: Iterable[Point]) -> tuple[Point, ...]:
    """The worst first; of one severity in the order they were given."""
    return tuple(sorted(points, key=lambda item: SEVERITIES.index(item.severity)))
