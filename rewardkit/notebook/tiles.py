"""Tiles: the answer to one question about a reward, with a grade and a figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.forecast import Forecast
from rewardkit.analysis.rehearsal.outlook import share_text
from rewardkit.findings import (
    NAMED,
    NOT_DECIDED,
    Findings,
    counted,
    most,
    percent,
    short_number,
)
from rewardkit.monitoring.monitor import Monitor
from rewardkit.mutation.results import MutantResult
from rewardkit.probes.result import ProbeResult, count_alarms
from rewardkit.scoring.check_result import CheckResult
from rewardkit.scoring.deadlines import TimeLimit

SHORTCUTS = (
    "label_disagrees",
    "wrong_above_right",
    "length_bias",
    "column_bias",
    "truncated_paid",
    "length_curve",
    "right_unpaid",
    "wrong_paid",
)
"""Findings on shortcuts, not on differences between siblings."""
NOTICED = 0.5
"""Share of mutants that the cases should notice. Our choice."""
SHOWN_SHARE = 0.005
"""Least share of full marks that a tile reports for a wrong answer. Our choice: less
is shown as 0 %."""
BROKEN = "broken contract"
CASES = "Right on cases"
SIGNAL = "Learnable signal"
HOLES = "Holes and losses"
RUN = "The run"
CONTRACT = "Contract"
TRAINED = "Trained on it"


@dataclass(frozen=True)
class Tile:
    """The answer to one question: a grade, a figure and a caption (`words`).

    `grade` is "good", "warn", "high", or "info" if unknown. `ends` is the interval of
    the figure. `reason` is the tile's part of the verdict, or "".
    """

    question: str
    grade: str
    figure: str
    words: str
    reason: str = ""
    ends: str = ""

    @property
    def is_unknown(self) -> bool:
        """Return whether the verdict reports the question as unanswered."""
        return self.grade == "info" and self.reason != ""


def unknown(question: str, words: str, reason: str = "") -> Tile:
    """Return the tile of an unanswered question."""
    return Tile(question, "info", "-", words, reason)


# --- cases, contract and exploits


def cases_tile(
    checked: CheckResult | None,
    mutants: MutantResult | None = None,
    *,
    recorded: bool = False,
) -> Tile:
    """Show whether the cases pass, and whether they would notice a changed reward.

    `recorded`: the rewards are recorded in a log.
    """
    if recorded:
        reason = "nothing says that the scores in the log are right"
        return unknown(CASES, "scores of a log", reason)
    if checked is None:
        return unknown(CASES, "no cases were given", "no cases say what it must give")
    caught = survived = 0
    if mutants is not None:
        caught = len(mutants.noticed)
        survived = len(mutants.survived)
    changes = caught + survived
    catches = f"catch {caught} of {counted(changes, 'mutant')}"
    words = "cases pass"
    if changes:
        words += f". They {catches}"
    if checked.left_out:
        names = most(sorted(map(repr, checked.left_out)), NAMED)
        words += f"; what they expect of {names} is left out"
    if checked.undecided:
        words += f"; {checked.undecided:,} undecided"
    total = checked.decided
    tile = Tile(CASES, "good", f"{checked.passed:,} of {total:,}", words)
    if checked.failed:
        reason = f"{checked.failed} of {counted(total, 'case')} missed"
        return replace(tile, grade="high", reason=reason)
    if checked.unknown:
        reason = checked.unknown_sentences[0]
        return replace(tile, grade="high", reason=reason)
    if caught < NOTICED * changes:
        return replace(tile, grade="warn", reason=f"the cases {catches}")
    return tile if total else replace(tile, grade="info")


def holes_tile(result: ProbeResult) -> Tile:
    """Count the probes' holes and losses: wrong answers paid, right answers unpaid.

    The grade of 0 is "good" only if the probes could try everything.
    """
    holes = [alarm for alarm in result.alarms if alarm.fault != BROKEN]
    figure = f"{len(holes)} found"
    probes = f"in {result.effort}"
    if holes:
        grade = holes[0].severity
        reason = count_alarms(holes)
        return Tile(HOLES, grade, figure, _count_codes(holes), reason)
    if result.why_blind:
        reason = f"the probes say nothing, as {result.why_blind}"
        return unknown(HOLES, probes, reason)
    words = probes
    if result.wrong_share >= SHOWN_SHARE:
        words = f"a wrong answer earns up to {percent(result.wrong_share)}; {probes}"
    if result.gaps:
        gaps = "; ".join(result.gaps)
        reason = f"the probes do not say all: {gaps}"
        return Tile(HOLES, "info", figure, f"{words}; {gaps}", reason)
    return Tile(HOLES, "good", figure, words)


def contract_tile(result: ProbeResult) -> Tile:
    """Show whether the trainer's contract holds."""
    broken = [alarm for alarm in result.alarms if alarm.fault == BROKEN]
    if broken:
        grade = broken[0].severity
        figure = f"{len(broken)} broken"
        codes = _count_codes(broken)
        reason = count_alarms(broken)
        return Tile(CONTRACT, grade, figure, codes, reason)
    functions = result.reward.functions
    if any(getattr(function, "asks_model", False) for function in functions):
        words = (
            f"in {counted(result.calls, 'call')}; a model may answer differently when "
            "it is asked again, so answers are cached"
        )
    elif any(callable(item) and TimeLimit.needed(item) for item in functions):
        words = f"in {counted(result.calls, 'call')}"
    else:
        words = "only rewardkit's own code is called"
    return Tile(CONTRACT, "good", "kept", words)


def contract_on_log(tile: Tile, findings: Iterable[Any]) -> Tile:
    """Return the contract's tile, downgraded if components fail on rows of the log.

    `findings` are records with a code and a severity.
    """
    if tile.grade != "good":
        return tile
    for finding in findings:
        if finding.code == "errors" and finding.severity != "info":
            reason = "components fail on rows of the log"
            words = f"{reason}: errors"
            grade = finding.severity
            return Tile(CONTRACT, grade, "broken", words, reason, tile.ends)
    return tile


# --- signal, selection and changes


def run_tile(watched: Monitor) -> Tile:
    """Show the monitor's verdict on a run, and since which step."""
    if watched.verdict == NOT_DECIDED:
        return unknown(RUN, NOT_DECIDED, "too little is known to tell")
    grade = {"healthy": "good", "watch": "warn", "stop": "high"}[watched.verdict]
    if not watched.alarms:
        return Tile(RUN, grade, watched.verdict, "over its steps")
    words = f"since step {watched.since:g}: {_count_codes(watched.alarms)}"
    reason = f"the run, since step {watched.since:g}"
    return Tile(RUN, grade, watched.verdict, words, reason)


def signal_tile(diagnosis: Diagnosis) -> Tile:
    """Show the share of groups whose siblings earn differently, and warnings."""
    views = diagnosis.views
    several = sum(view.several for view in views)
    if not several:
        if all(np.isnan(view.rewards).all() for view in views):
            return unknown(SIGNAL, "no rewards", "no completion has a reward")
        reason = "no group has two completions to compare"
        return unknown(SIGNAL, "no siblings", reason)
    dead = sum(int(view.dead.sum()) for view in views)
    words = f"of {counted(several, 'group')} vary"
    ends = ""
    if len(views) == 1:
        (view,) = views
        sums = [view.live.astype(float), (view.dead | view.live).astype(float)]
        low, high = view.bootstrap.interval(sums, view.owner)
        if percent(low) != percent(high):
            ends = f"{short_number(100 * low, 2)} to {percent(high)}"
    tile = Tile(SIGNAL, "good", percent(1 - dead / several), words, ends=ends)
    for finding in diagnosis["not_enough"][:1]:
        reason = str(finding.evidence["reason"])
        tile = replace(tile, grade="info", reason=reason)
    findings = [item for item in diagnosis.findings if item.code not in SHORTCUTS]
    return _grade(tile, findings)


def forecast_tile(forecast: Forecast, diagnosis: Diagnosis) -> Tile:
    """Show where the task starts and ends in a rehearsed training.

    The grade also depends on the findings of shortcuts.
    """
    findings = [item for item in diagnosis.findings if item.code in SHORTCUTS]
    outlook = forecast.outlook
    if outlook is None or outlook.task is None:
        reason = "what training makes of the task is not known"
        return _grade(unknown(TRAINED, forecast.verdict, reason), findings)
    start, end = map(share_text, (outlook.start, outlook.end))
    fails = f"{percent(outlook.fragility)} of learners fail"
    words = f"share of the task, at a {outlook.pace} rate; {fails}"
    curve = forecast.curves[outlook.pace, "task"]
    ends = _between(share_text(curve.low[-1]), share_text(curve.high[-1]))
    tile = Tile(TRAINED, "good", f"{start} \u2192 {end}", words, ends=ends)
    tile = _grade(tile, findings)
    if outlook.task == "falls":
        return replace(tile, grade="high", reason="training would unlearn the task")
    if outlook.task == "stalls" and tile.grade == "good":
        return replace(tile, grade="warn", reason="training would not raise the task")
    return tile


def _grade(tile: Tile, findings: Findings) -> Tile:
    """Return a tile with the worst grade of its findings, and their codes."""
    for severity, noun in (("high", "grave finding"), ("warn", "warning")):
        graded = [finding for finding in findings if finding.severity == severity]
        if graded:
            count = counted(len(graded), noun)
            words = f"{tile.words}; {count}: {_count_codes(graded)}"
            reason = f"{count} ({tile.question.lower()})"
            return replace(tile, grade=severity, words=words, reason=reason)
    return tile


def _count_codes(findings: Findings) -> str:
    """Return the first few codes with their counts: "dominant, saturated (2)"."""
    counts = Counter(finding.code for finding in findings)
    names = []
    for code, count in list(counts.items())[:NAMED]:
        names.append(code if count == 1 else f"{code} ({count})")
    text = ", ".join(names)
    if others := sum(list(counts.values())[NAMED:]):
        text += f" and {others} more"
    return text


def _between(low: str, high: str) -> str:
    """Return the ends of an interval; "" if both look the same."""
    return "" if low == high else f"{low} to {high}"
