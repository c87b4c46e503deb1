"""Scorecard: what a reward comes to at a glance: a verdict, five tiles, and the things that matter most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.forecast import Forecast
from rewardkit.analysis.suggestions.suggestion import Suggestions
from rewardkit.errors import InputError, RewardError
from rewardkit.findings import Finding, counted
from rewardkit.html import markup
from rewardkit.html.blocks import Quote
from rewardkit.html.excerpts import (
    UserText,
    one_line,
)
from rewardkit.html.pages import Point, point_of, quote_of, redact_example
from rewardkit.mutation.results import MutantResult
from rewardkit.notebook import tiles
from rewardkit.notebook.tiles import BROKEN, EXPLOITS, SIGNAL, Tile
from rewardkit.plain import PlainRecord
from rewardkit.probes.points import clearest_examples, describe_turns
from rewardkit.probes.result import JUDGES_NOTHING, ProbeResult, kind_of_alarm
from rewardkit.rewards.recorded import is_recorded
from rewardkit.scoring.cases import CheckResult
from rewardkit.scoring.explain import explained, field_spans
from rewardkit.scoring.scores import Scores

MIME = "application/vnd.rewardkit.short+json"
POINTS = 3  # things that are told in full
AGREES = "wherever the log has a score to compare with, this reward gives the same"
LONGEST_POINT = 160  # characters of a completion that shows one of them
COSTS = {
    "hole": "Training pays for it, so a policy learns it in place of the task.",
    "loss of right answers": "Right answers go unpaid, so training leads away from them.",
    BROKEN: "The trainer gets another number than you expect, or none.",
}
"""Kind of an alarm of the probes -> why it matters."""


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
        grades = [tile.grade for tile in self.tiles]
        if self.failed or "high" in grades:
            return "high"
        asked = [tile for tile in self.tiles if tile.question in (SIGNAL, EXPLOITS)]
        unknown = any(tile.grade == "info" and tile.reason for tile in asked)
        return "warn" if unknown or "warn" in grades else "good"

    @property
    def verdict(self) -> str:
        """Whether it is ready, and why, in a sentence; then what nobody has looked at."""
        grade = self.grade
        reasons = [
            tile.reason for tile in self.tiles if tile.grade == grade and tile.reason
        ]
        if grade == "high":
            told = [f"the page '{title}' failed" for title in self.failed] + reasons
            return f"Not ready: {_listed(told)}."
        unknown = [
            tile.reason for tile in self.tiles if tile.grade == "info" and tile.reason
        ]
        said = f"Read before use: {_listed(reasons)}." if reasons else ""
        if not said:
            said = "Not yet judged:" if grade == "warn" else "No objection found."
        return " ".join([said, *(f"{one[:1].upper()}{one[1:]}." for one in unknown)])

    @property
    def worst(self) -> tuple[Point, ...]:
        """The points that are told in full."""
        return self.points[:POINTS]

    @property
    def more(self) -> str:
        """How many points are left, in words; "" where none is."""
        left = len(self.points[POINTS:])
        return counted(left, "more finding") if left else ""


def _listed(things: Sequence[str]) -> str:
    *most, last = things
    return f"{', '.join(most)}, and {last}" if most else last


# --- in short


@dataclass(frozen=True)
class Short(PlainRecord):
    """What a notebook came to, in short: shown at its end, and read back by the report.

    `line` is its verdict, `next` the first thing to do, `points` are what was found, as it may be shown, and
    `facts` what else the first page of a report tells, by name.
    """

    line: str
    tiles: tuple[Tile, ...]
    next: str
    points: tuple[Point, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def found(cls, notebook: Any) -> Short | None:
        """From an executed notebook that shows it; ``None`` where it does not."""
        shown = (
            output.get("data", {})
            for cell in notebook.cells
            for output in cell.get("outputs", [])
        )
        for record in (data[MIME] for data in shown if MIME in data):
            found = tuple(Tile(**item) for item in record["tiles"])
            points = tuple(_read_point(item) for item in record["points"])
            return cls(**{**record, "tiles": found, "points": points})
        return None

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        shown = markup.part("report", "short", self)
        return {"text/html": shown, "text/plain": self.line, MIME: self.record()}


Summarized = (
    CheckResult | MutantResult | ProbeResult | Diagnosis | Forecast | Suggestions
)


def summarize(*records: Summarized | None) -> Short:
    """Sum up what a notebook found: tiles, the worst findings, and the first thing to do.

    Args:
        *records: Either a ProbeResult, with a CheckResult and a MutantResult where
            there are cases; or a Diagnosis, its Forecast and its Suggestions. In any
            order; None is left out.

    Returns:
        A record that shows itself, and that a report reads back for its first page.

    Raises:
        InputError: Neither of the two sets of records.
    """
    given: dict[type, Any] = {type(record): record for record in records}
    if ProbeResult in given:
        checked = given.get(CheckResult)
        if checked is not None and not checked.cases:
            checked = None
        return _sum_up_checks(given[ProbeResult], checked, given.get(MutantResult))
    if {Diagnosis, Forecast, Suggestions} <= given.keys():
        return _sum_up_analysis(given[Diagnosis], given[Forecast], given[Suggestions])
    names = [type(record).__name__ for record in records]
    raise InputError(
        "summarize takes a ProbeResult, or a Diagnosis with its Forecast and "
        f"Suggestions, not {names}"
    )


def _sum_up_checks(
    probed: ProbeResult, checked: CheckResult | None, mutated: MutantResult | None
) -> Short:
    holes = _of_probes(probed)
    all_tiles = (tiles.cases_tile(checked, mutated), *tiles.probe_tiles(probed))
    points = [point.freeze() for point in (*holes, *_of_cases(checked))]
    next_step = _next(probed, checked, mutated, holes)
    return Short(probed.in_short, all_tiles, next_step, tuple(points))


def _sum_up_analysis(
    diagnosis: Diagnosis, expected: Forecast, advice: Suggestions
) -> Short:
    change = tiles.change_tile(advice)
    all_tiles = (
        tiles.signal_tile(diagnosis),
        tiles.source_tile(diagnosis),
        tiles.forecast_tile(expected, diagnosis),
        change,
    )
    next_step = "Nothing."
    if change.grade == "good":
        next_step = f"Nothing has to be changed; to try: {change.figure}."
    graded = [item for item in diagnosis.findings if item.severity != "info"]
    for item in graded:
        if item.advice:
            next_step = item.advice
            break
    points = [_of_diagnosis(item, diagnosis.scores).freeze() for item in graded]
    facts = _facts_of(diagnosis)
    return Short(expected.verdict, all_tiles, next_step, tuple(points), facts)


def _facts_of(diagnosis: Diagnosis) -> dict[str, str]:
    """Return what the first page says of the label, and of the scores in the log."""
    facts = {}
    if label := diagnosis.views[0].context.label_name:
        facts["Label"] = f"{label}, trusted to say which completions are good"
    scores = diagnosis.scores
    if scores.rollouts.logged and not is_recorded(scores.reward):
        codes = {item.code for item in diagnosis.findings}
        if not codes & {"log_mismatch", "log_not_compared"}:
            facts["Log"] = AGREES
    return facts


def _next(
    result: ProbeResult,
    checked: CheckResult | None,
    mutated: MutantResult | None,
    points: Sequence[Point],
) -> str:
    """The first thing to do: what fails always, then missed cases, then alarms, then a stronger case file."""
    fails = bool(result.alarms) and result.alarms[0].code in JUDGES_NOTHING
    if checked is not None and checked.misses and not fails:
        return f"Mend what case {checked.misses[0].case!r} misses, or what it expects."
    if points:
        return str(points[0].advice)
    if checked is None:
        return "Write cases for what the reward must give, and check them here."
    if mutated is not None and mutated.stopped:
        return "Mend why the reward judges nothing, which stands with the mutants."
    if mutated is not None and mutated.proposed_cases:
        return "Read the proposed cases, and add them to the case file."
    if mutated is not None and mutated.survived:
        return f"{mutated.next_step}."
    return (
        f"{result.inconclusive[0].why}."
        if result.inconclusive
        else "Nothing: all of it holds."
    )


# --- what matters


def _read_point(record: Mapping[str, Any]) -> Point:
    """Return the point of which this is the record."""
    quotes = [Quote(**quote) for quote in record["examples"]]
    return Point(**{**record, "examples": quotes})


def _of_diagnosis(item: Finding, scores: Scores) -> Point:
    """Return a finding of a diagnosis with the first completion that it names."""
    rows = np.flatnonzero(scores.table["rollout_id"].isin(item.rollout_ids[:1]))
    if not len(rows):
        return point_of(item)
    try:
        found = explained(scores, int(rows[0]))
    except RewardError:  # a route that has no reward for it
        return point_of(item)
    about = f"rollout {item.rollout_ids[0]} earned {markup.number(found.result.reward)}"
    quote = Quote(one_line(about), found.completion, found.spans, LONGEST_POINT)
    return point_of(item, examples=[quote])


def _of_probes(result: ProbeResult) -> list[Point]:
    """Return the alarms of the probes, each with the completion that shows it most plainly."""
    points = []
    for item in result.alarms:
        examples = []
        for example in clearest_examples(item)[:1]:
            about = f"tried on rollout {example.rollout_id}"
            turns = describe_turns(example)
            said = UserText(
                f"{about}: {example.said}", f"{about}: {redact_example(example).said}"
            )
            quoted = UserText(f"{about}; {turns}", about) if turns else about
            spans = field_spans(result.reward, example.columns)
            text = said if example.said else quoted
            examples.append(quote_of(example, text, spans, longest=LONGEST_POINT))
        reason = COSTS[kind_of_alarm(item)]
        points.append(point_of(item, reason=reason, examples=examples))
    return points


def _of_cases(checked: CheckResult | None) -> list[Point]:
    """Return the missed cases as one point, with the first of them."""
    if checked is None or not checked.misses:
        return []
    miss = checked.misses[0]
    many = f"{checked.failed} of {counted(len(checked.cases), 'case')}"
    what = f"Missed: {many}. The first is {miss.case!r}."
    before = f"{miss.what}: expected {miss.expected}, got "
    got, redacted = markup.number(miss.got), markup.number(miss.redacted().got)
    turns = f"; {miss.turns.removesuffix(': ')}" if miss.turns else ""
    about = UserText(f"{before}{got}{turns}", f"{before}{redacted}")
    do = "Mend the reward, or what the case expects where that is wrong."
    case_says = f'The case says: "{one_line(miss.why, 300)}".' if miss.why else ""
    why = UserText(case_says, "")
    quote = Quote(about, str(miss.completion), {}, LONGEST_POINT)
    return [Point("high", "cases", one_line(what, 400), why, do, [quote])]
