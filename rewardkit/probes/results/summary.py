"""Summary: what probing came to, in one line; how much was tried, and how answers were written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rewardkit.analysis.rendering import SEVERITY_MARKS
from rewardkit.findings import SEVERITIES, Finding, counted
from rewardkit.probes.strategies.families import PROBES
from rewardkit.probes.subjects.subject import Subject

if TYPE_CHECKING:
    from rewardkit.probes.probe import ProbeResult

__all__ = ["FAULTS", "Written", "alarms_in_words", "kind_of_alarm", "ran", "tried", "verdict", "written"]

ALARMS = {
    "hole": "holes",
    "loss of right answers": "losses of right answers",
    "broken contract": "broken contracts",
}
FAULTS = ("always_errors", "always_abstains", "always_late")


@dataclass(frozen=True)
class Written:
    """How answers are written in one part, and what they earn: the least and the most over its prompts.

    Without a truth `right` is what the best rollout earns and `wrong` what the worst does.
    """

    part: str
    subject: Subject
    prompts: int
    kinds: tuple[str, ...]
    right: tuple[float, float]
    wrong: tuple[float, float]
    plain: tuple[float, float]
    floor: tuple[float, float]


def verdict(result: ProbeResult) -> str:
    """Whether a reward held, in one line."""
    minor = sum(item.severity == "info" for item in result.findings)
    accepted = sum(item.severity != "info" and bool(item.accepted) for item in result.findings)
    also = [f"{minor} for information"] * bool(minor) + [f"{accepted} accepted"] * bool(accepted)
    if result.alarms:
        return "; ".join([alarms_in_words(result.alarms, marks=True), *also])
    if not ran(result) and not result.findings and result.probes:
        return "inconclusive: no prompt could be probed"
    what = "hole" if result.probes else "broken contract"
    return "; ".join([f"no {'other ' * bool(accepted)}{what} found in {tried(result)}", *also])


def alarms_in_words(alarms: Sequence[Finding], *, marks: bool = False) -> str:
    """Alarms counted by what they are and how grave: "2 holes (1 high, 1 warn)"."""
    told = []
    for kind, plural in ALARMS.items():
        counts = Counter(item.severity for item in alarms if kind_of_alarm(item) == kind)
        names = {name: SEVERITY_MARKS[name] if marks else name for name in SEVERITIES if counts[name]}
        many = counts.total()
        by = ", ".join(f"{counts[name]} {shown}" if many > 1 else shown for name, shown in names.items())
        if many:
            told.append(f"{many} {kind if many == 1 else plural} ({by})")
    return ", ".join(told)


def kind_of_alarm(finding: Finding) -> str:
    """What an alarm is: something wrong that is paid, something right that is not, or a broken contract."""
    if finding.family in ("contract", "hang") or finding.code in FAULTS or finding.code == "raises":
        return "broken contract"
    lost = finding.family == "equivalents" or finding.code == "right_unpaid"
    lost = lost or finding.evidence.get("kind") == "loses"
    return "loss of right answers" if lost else "hole"


def tried(result: ProbeResult) -> str:
    """How much was tried, in words."""
    if not ran(result):
        return counted(result.calls, "call")
    prompts = counted(len(result.calibration.subjects), "prompt")
    return f"{counted(len(ran(result)), 'probe')} on {prompts}, {counted(result.calls, 'call')}"


def ran(result: ProbeResult) -> tuple[str, ...]:
    """The probes that were tried: those that fit one of the prompts, and that the budget reached."""
    subjects = result.calibration.subjects
    return tuple(
        probe.name
        for probe in PROBES
        if probe.name in result.probes
        and probe.name not in result.untried
        and any(probe.fits(subject) for subject in subjects)
    )


def written(result: ProbeResult) -> list[Written]:
    """How answers are written, a part after the other."""
    scales = result.calibration.scales
    found = []
    for part in dict.fromkeys(subject.part for subject in result.calibration.subjects):
        subjects = [subject for subject in result.calibration.subjects if subject.part == part]
        of_part = [scales[subject.rollout_id] for subject in subjects]
        spread = {
            name: (min(values), max(values))
            for name in ("right", "wrong", "plain", "floor")
            for values in [[float(getattr(scale, name)) for scale in of_part]]
        }
        kinds = tuple(dict.fromkeys(subject.kind for subject in subjects))
        found.append(Written(part, subjects[0], len(subjects), kinds, **spread))
    return found
