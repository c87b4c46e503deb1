"""Scorecard of a reward: a verdict, five tiles, and the findings that matter most."""

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
from rewardkit.html.excerpts import UserText, one_line
from rewardkit.html.pages import Point, point_of
from rewardkit.monitoring.monitor import Monitor
from rewardkit.mutation.results import MutantResult
from rewardkit.notebook import tiles
from rewardkit.notebook.tiles import BROKEN, HOLES, SIGNAL, Tile
from rewardkit.plain import Plain, PlainRecord, Record
from rewardkit.probes.points import quote_examples
from rewardkit.probes.result import JUDGES_NOTHING, ProbeResult
from rewardkit.rewards.recorded import is_recorded
from rewardkit.scoring.check_result import CheckResult
from rewardkit.scoring.explain import explain
from rewardkit.scoring.scores import Scores

MIME = "application/vnd.rewardkit.short+json"
POINTS_IN_FULL = 3
AGREES = "this reward gives the scores of the log wherever both have one"
LONGEST_IN_POINT = 200  # characters of the completion in a point
COSTS = {
    "hole": "Training pays for it, so a policy learns it in place of the task.",
    "loss of right answers": (
        "Right answers go unpaid, so training leads away from them."
    ),
    "contradiction to the log": (
        "The log was made by another reward, or this one is called otherwise there."
    ),
    BROKEN: "The trainer gets another number than you expect, or none.",
}
"""Kind of an alarm from the probes -> why it matters."""


@dataclass(frozen=True)
class Scorecard:
    """The results on a reward: its tiles, and its findings as `points`, worst first.

    `failed` has the titles of failed pages.
    """

    name: str
    tiles: tuple[Tile, ...]
    points: tuple[Point, ...] = ()
    failed: tuple[str, ...] = ()

    @property
    def grade(self) -> str:
        """The readiness: "high" (not ready), "warn" (read before use) or "good"."""
        grades = {tile.grade for tile in self.tiles}
        if self.failed or "high" in grades:
            return "high"
        unknown = {tile.question for tile in self.tiles if tile.is_unknown}
        if "warn" in grades or unknown & {SIGNAL, HOLES}:
            return "warn"
        return "good"

    @property
    def verdict(self) -> str:
        """Say whether it is ready, why, and what is not yet judged."""
        reasons = self._reasons(self.grade)
        if self.grade == "high":
            failed = [f"the page '{title}' failed" for title in self.failed]
            return f"Not ready: {_listed([*failed, *reasons])}."
        if reasons:
            sentences = [f"Read before use: {_listed(reasons)}."]
        elif self.grade == "warn":
            sentences = ["Not yet judged:"]
        else:
            sentences = ["No objection found."]
        for reason in self._reasons("info"):
            sentences.append(f"{reason[:1].upper()}{reason[1:]}.")
        return " ".join(sentences)

    def _reasons(self, grade: str) -> list[str]:
        return [
            tile.reason for tile in self.tiles if tile.grade == grade and tile.reason
        ]

    @property
    def worst(self) -> tuple[Point, ...]:
        """Return the points that are shown in full."""
        return self.points[:POINTS_IN_FULL]

    @property
    def rest(self) -> str:
        """Count the other points, in words; "" without any."""
        count = len(self.points[POINTS_IN_FULL:])
        return counted(count, "more finding") if count else ""


def _listed(reasons: Sequence[str]) -> str:
    *first, last = reasons
    return f"{', '.join(first)}, and {last}" if first else last


# --- the summary of a notebook


@dataclass(frozen=True)
class Short(PlainRecord):
    """The summary of a notebook, shown at its end and read back by the report.

    `line` is the verdict, `next` the first thing to do, `points` are the findings, and
    `facts` further entries for the first page of a report, by name.
    """

    line: str
    tiles: tuple[Tile, ...]
    next: str
    points: tuple[Point, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_notebook(cls, notebook: Any) -> Short | None:
        """Read the summary in an executed notebook; None if it has none."""
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                record = output.get("data", {}).get(MIME)
                if record is not None:
                    summaries = tuple(Tile(**tile) for tile in record["tiles"])
                    points = tuple(map(_read_point, record["points"]))
                    return cls(**{**record, "tiles": summaries, "points": points})
        return None

    def _repr_mimebundle_(self, **_: Any) -> Record:
        page = markup.part("report", "short", self)
        return {"text/html": page, "text/plain": self.line, MIME: self.record()}


def _read_point(record: Plain) -> Point:
    quotes = [Quote(**quote) for quote in record["examples"]]
    return Point(**{**record, "examples": quotes})


Summarized = (
    CheckResult
    | MutantResult
    | ProbeResult
    | Diagnosis
    | Forecast
    | Suggestions
    | Monitor
)


def summarize(*records: Summarized | None) -> Short:
    """Summarize a notebook: tiles, the worst findings, and the first thing to do.

    Args:
        *records: Either a ProbeResult, with a CheckResult and a MutantResult if there
            are cases; or a Diagnosis, its Forecast and its Suggestions, with a Monitor
            if there are steps. Any order; None is ignored.

    Returns:
        A record for the end of a notebook, from which a report makes its first page.

    Raises:
        InputError: Neither of the two sets of records.
    """
    by_type: dict[type, Any] = {type(record): record for record in records}
    if ProbeResult in by_type:
        checked = by_type.get(CheckResult)
        if checked is not None and not checked.cases and not checked.unknown:
            checked = None
        return _sum_up_checks(by_type[ProbeResult], checked, by_type.get(MutantResult))
    if {Diagnosis, Forecast, Suggestions} <= by_type.keys():
        expected = by_type[Forecast]
        advice = by_type[Suggestions]
        watched = by_type.get(Monitor)
        return _sum_up_analysis(by_type[Diagnosis], expected, advice, watched)
    names = [type(record).__name__ for record in records]
    raise InputError(
        "summarize takes a ProbeResult, or a Diagnosis with its Forecast and "
        f"Suggestions, not {names}"
    )


def _sum_up_checks(
    probed: ProbeResult, checked: CheckResult | None, mutants: MutantResult | None
) -> Short:
    summaries = (
        tiles.cases_tile(checked, mutants),
        tiles.holes_tile(probed),
        tiles.contract_tile(probed),
    )
    points = [_alarm_point(alarm, probed) for alarm in probed.alarms]
    next_step = _next_step(probed, checked, mutants, points)
    if checked is not None and checked.misses:
        points.append(_misses_point(checked))
    frozen = tuple(point.freeze() for point in points)
    return Short(probed.in_short, summaries, next_step, frozen)


def _sum_up_analysis(
    diagnosis: Diagnosis,
    expected: Forecast,
    advice: Suggestions,
    watched: Monitor | None,
) -> Short:
    summaries = [
        tiles.signal_tile(diagnosis),
        tiles.forecast_tile(expected, diagnosis),
    ]
    alarms: list[Finding] = []
    if watched is not None:
        summaries.insert(0, tiles.run_tile(watched))
        alarms = list(watched.alarms)
    warnings = [*alarms, *diagnosis.alarms]
    steps = [item.advice for item in warnings if item.advice]
    for change in advice.changes:
        if change.verdict != "harms":
            steps.append(f"Nothing has to be changed; to try: {change.named}.")
    points = [_warning_point(item, diagnosis.scores).freeze() for item in warnings]
    next_step = steps[0] if steps else "Nothing."
    facts = _list_facts(diagnosis)
    line = expected.verdict
    if watched is not None and alarms:
        line = watched.sentence
    return Short(line, tuple(summaries), next_step, tuple(points), facts)


def _list_facts(diagnosis: Diagnosis) -> dict[str, str]:
    """Return facts about the label and the log's scores for the first page."""
    facts = {}
    if label := diagnosis.views[0].context.label_name:
        facts["Label"] = f"{label}, trusted to say which completions are good"
    scores = diagnosis.scores
    if scores.rollouts.logged and not is_recorded(scores.reward):
        codes = {item.code for item in diagnosis.findings}
        if not codes & {"log_mismatch", "log_not_compared"}:
            facts["Log"] = AGREES
    return facts


def _next_step(
    probed: ProbeResult,
    checked: CheckResult | None,
    mutants: MutantResult | None,
    points: Sequence[Point],
) -> str:
    """Return the first thing to do.

    The order of priority: a reward that judges nothing, missed cases, alarms, undecided
    cases, a stronger case file.
    """
    judges_nothing = bool(points) and points[0].code in JUDGES_NOTHING
    if checked is not None and checked.misses and not judges_nothing:
        return f"Mend what case {checked.misses[0].case!r} misses, or what it expects."
    if checked is not None and checked.unknown and not judges_nothing:
        return f"{checked.unknown_sentences[0]}."
    if points:
        return str(points[0].advice)
    if checked is None:
        return "Write cases for what the reward must give, and check them here."
    if checked.to_decide:
        count = counted(checked.undecided, "case")
        return f"Decide on {count}, such as {checked.to_decide[0].case!r}."
    if mutants is not None and mutants.stopped:
        return "Mend why the reward judges nothing, which stands with the mutants."
    if mutants is not None and mutants.proposed_cases:
        return "Read the proposed cases, and add them to the case file."
    if mutants is not None and mutants.survived:
        return f"{mutants.next_step}."
    if probed.inconclusive:
        return f"{probed.inconclusive[0].why}."
    return "Nothing: all of it holds."


# --- points


def _warning_point(finding: Finding, scores: Scores) -> Point:
    """Return a finding of a diagnosis with the first completion that it names."""
    rows = np.flatnonzero(scores.table["rollout_id"].isin(finding.rollout_ids[:1]))
    if not len(rows):
        return point_of(finding)
    try:
        example = explain(scores, int(rows[0]))
    except RewardError:  # the route has no reward for this row
        return point_of(finding)
    reward = markup.number(example.result.reward)
    about = one_line(f"rollout {finding.rollout_ids[0]} earned {reward}")
    quote = Quote(about, example.completion, example.spans, LONGEST_IN_POINT)
    return point_of(finding, examples=[quote])


def _alarm_point(alarm: Finding, probed: ProbeResult) -> Point:
    """Return an alarm from the probes with its clearest completion."""
    quotes = quote_examples(alarm, probed.reward, longest=LONGEST_IN_POINT)
    return point_of(alarm, reason=COSTS[alarm.fault], examples=quotes[:1])


def _misses_point(checked: CheckResult) -> Point:
    """Return all missed cases as one point that shows the first."""
    miss = checked.misses[0]
    count = f"{checked.failed} of {counted(checked.decided, 'case')}"
    sentence = one_line(f"Missed: {count}. The first is {miss.case!r}.", 400)
    expected = f"{miss.what}: expected {miss.expected}, got "
    about = UserText(f"{expected}{miss.got}", f"{expected}{miss.redacted().got}")
    reason = f'The case says: "{one_line(miss.why, 300)}".' if miss.why else ""
    advice = "Mend the reward, or a wrong expectation."
    quote = Quote(about, f"{miss.turns}{miss.completion}", {}, LONGEST_IN_POINT)
    return Point("high", "cases", sentence, UserText(reason, ""), advice, [quote])
