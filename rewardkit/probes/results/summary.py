"""Summary: what probing came to, in one line; how much was tried, and how answers were written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewardkit.findings import SEVERITIES, Finding, counted
from rewardkit.html.excerpts import one_line
from rewardkit.probes.results.baseline import ALONE

if TYPE_CHECKING:
    from rewardkit.probes.probe import ProbeResult

ALARMS = {
    "hole": "holes",
    "loss of right answers": "losses of right answers",
    "broken contract": "broken contracts",
}
FAULTS = ("always_errors", "always_abstains", "always_late")


def verdict(result: ProbeResult) -> str:
    """Whether a reward held, in one line."""
    minor = sum(item.severity == "info" for item in result.findings)
    accepted = sum(
        item.severity != "info" and bool(item.accepted) for item in result.findings
    )
    what = "hole" if result.families - {"contract", "hang"} else "broken contract"
    told = f"no {'other ' * bool(accepted)}{what} found in {tried(result)}"
    if result.alarms:
        told = alarms_in_words(result.alarms)
    elif unprobed(result):
        return "inconclusive: no prompt could be probed"
    elif result.untried:
        told = f"unfinished, as the budget was over: {told}"
    elif undecided(result):
        told = f"inconclusive, as no right answer is known: {told}"
    counts = {"for information": minor, "accepted": accepted}
    return "; ".join(
        [told, *(f"{count} {name}" for name, count in counts.items() if count)]
    )


def in_short(result: ProbeResult) -> str:
    """The verdict, and how much was tried where it does not say that."""
    told = verdict(result)
    return told if tried(result) in told else f"{told}; {tried(result)}"


def unprobed(result: ProbeResult) -> bool:
    """Whether holes were looked for and no prompt could be probed, nor a finding says why that is so."""
    asked = result.families - {"contract", "hang"}
    told = any(item.code in ALONE for item in result.findings)
    return bool(asked) and not result.calibration.subjects and not told


def undecided(result: ProbeResult) -> bool:
    """Whether no part has a right answer that is known, nor one that needs none."""
    return {*result.calibration.modes.values()} <= {"unknown", "slow"}


def alarms_in_words(alarms: Sequence[Finding]) -> str:
    """Alarms counted by what they are and how grave: "2 holes (1 high, 1 warn)"."""
    told = []
    for kind, plural in ALARMS.items():
        counts = Counter(
            item.severity for item in alarms if kind_of_alarm(item) == kind
        )
        by = ", ".join(f"{counts[name]} {name}" for name in SEVERITIES if counts[name])
        if by:
            many = counts.total()
            told.append(
                f"{many} {plural} ({by})" if many > 1 else f"1 {kind} ({by[2:]})"
            )
    return ", ".join(told)


def kind_of_alarm(finding: Finding) -> str:
    """What an alarm is: something wrong that is paid, something right that is not, or a broken contract."""
    if finding.family in ("contract", "hang") or finding.code in (*FAULTS, "raises"):
        return "broken contract"
    lost = finding.family == "equivalents" or finding.code == "right_unpaid"
    return (
        "loss of right answers"
        if lost or finding.evidence.get("kind") == "loses"
        else "hole"
    )


def tried(result: ProbeResult) -> str:
    """How much was tried, in words."""
    if not ran(result):
        return counted(result.calls, "call")
    prompts = counted(len(result.calibration.subjects), "prompt")
    return f"{counted(len(ran(result)), 'probe')} on {prompts}, {counted(result.calls, 'call')}"


def ran(result: ProbeResult) -> tuple[str, ...]:
    """The probes of which something was tried."""
    return tuple(name for name in result.probes if name in result.made)


EARNED = {
    "right": "a right answer",
    "wrong": "a wrong one",
    "plain": "a wrong one in no form",
    "floor": "the least of all",
}
WITHOUT_TRUTH = {
    "right": "no truth is asked for: the best rollout",
    "wrong": "the worst",
}


def earnings(result: ProbeResult, *, texts: bool = True) -> list[str]:
    """What right and wrong answers earn, a line for each part; without `texts` no completion is in it."""
    lines, every = [], result.calibration.subjects
    for part in dict.fromkeys(item.part for item in every):
        subjects = [item for item in every if item.part == part]
        scales = [result.calibration.scales[item.rollout_id] for item in subjects]
        names = WITHOUT_TRUTH if subjects[0].answer is None else EARNED
        spans = {
            said: _span([getattr(one, at) for one in scales])
            for at, said in names.items()
        }
        told = ", ".join(f"{said} {span}" for said, span in spans.items())
        kinds = ", ".join(dict.fromkeys(item.kind for item in subjects))
        where = f"{one_line(part)}, " if part else ""
        such = f"; such as {one_line(subjects[0].reference, 120)}" if texts else ""
        lines.append(
            f"{where}{counted(len(subjects), 'prompt')} ({kinds}): {told}{such}"
        )
    return lines


def _span(values: Sequence[float]) -> str:
    low, high = (f"{value + 0.0:.4g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
