"""ProbeResult: the findings of a probing, what is undecided, and how much was tried."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from rewardkit.findings import (
    SEVERITIES,
    Finding,
    Findings,
    counted,
    most,
    percent,
    read_codes,
)
from rewardkit.history.baseline import Accepted, AcceptsFindings, Baseline
from rewardkit.html.blocks import Block
from rewardkit.html.excerpts import UserText, one_line
from rewardkit.html.pages import HasPage, More, Page, accepted_findings
from rewardkit.probes.falls import Doubt
from rewardkit.probes.inconclusive import Inconclusive
from rewardkit.probes.points import probe_point
from rewardkit.probes.subjects.scales import Calibration, Scale
from rewardkit.rewards.reward import Reward
from rewardkit.strategies import STRATEGIES

MOST_POINTS = 2
"""Alarms that are shown with an example; the others are folded."""

LONGEST_NOTES = 220  # characters of inconclusive notes in a short text with alarms

READINESS = {"high": " is not ready", "warn": " is usable"}

ALARM_PLURALS = {
    "hole": "holes",
    "loss of right answers": "losses of right answers",
    "broken contract": "broken contracts",
    "contradiction to the log": "contradictions to the log",
}

JUDGES_NOTHING = ("always_errors", "always_abstains", "always_late")
"""Findings of a reward that judges no row."""

PROBES_FOR_HOLES = frozenset(
    probe.name for probe in STRATEGIES if probe.expects in ("wrong", "form", "more")
)
"""Names of the probes by which a hole is found."""

OPEN_DOUBTS = frozenset(Doubt) - {Doubt.RARE, Doubt.NOISE}
"""Doubts of findings that say "Not decided"."""

SAYS_ALL = (
    *("constant", "ignores_truth", "inverted", *JUDGES_NOTHING),
    *("prompt_left_out", "truth_unread"),
)
"""Findings after which nothing else is tried, on all rollouts or on a part."""

EARNING_NAMES = {
    "right": "a right answer",
    "wrong": "a wrong one",
    "plain": "a wrong one in no form",
    "floor": "the least of all",
}
EARNING_NAMES_WITHOUT_TRUTH = {
    "right": "no truth is asked for: the best rollout",
    "wrong": "the worst",
}


TABLE_COLUMNS = (
    "severity code family component part rate gain n sentence accepted".split()
)
"""Columns of the table of findings."""


@dataclass(frozen=True, eq=False, repr=False)
class ProbeResult(AcceptsFindings, HasPage):
    """The result of a probing.

    Attributes:
        reward: The reward.
        findings: The findings, the worst first.
        inconclusive: What could not be decided.
        calibration: The prompts, with the rewards of right and wrong answers.
        probes: The probes that were to be tried.
        families: Their families.
        tried_probes: The probes of which some attempt was tried.
        calls: The number of calls.
        untried: Probe -> the number of its attempts that the budget did not reach.
        logged_wrong: The median reward of wrong completions of the log, as a share of
            full marks; NaN without any.
        baseline: The accepted findings of this reward.
    """

    reward: Reward
    findings: tuple[Finding, ...]
    inconclusive: tuple[Inconclusive, ...]
    calibration: Calibration
    probes: tuple[str, ...]
    families: frozenset[str]
    tried_probes: tuple[str, ...]
    calls: int
    untried: Mapping[str, int] = field(default_factory=dict)
    logged_wrong: float = math.nan
    baseline: Baseline | None = None

    @property
    def reward_name(self) -> str:
        """Return the name of the reward."""
        return self.reward.name

    @property
    def table(self) -> pd.DataFrame:
        """Return a table with a row a finding, the worst first."""
        rows = [
            {
                **vars(finding),
                "sentence": finding.sentence,
                "rate": finding.evidence.get("value"),
                "gain": finding.evidence.get("gain"),
            }
            for finding in self.findings
        ]
        return pd.DataFrame(rows, columns=TABLE_COLUMNS, dtype=object)

    @property
    def cases(self) -> list[dict[str, Any]]:
        """Return cases for the alarms, to add to a case file."""
        cases = []
        for finding in self.alarms:
            cases += finding.cases
        return cases

    def record(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "reward": self.reward.name,
            "findings": [finding.record() for finding in self.findings],
            "inconclusive": [note.record() for note in self.inconclusive],
            "untried": dict(self.untried),
            "probes": list(self.probes),
            "subjects": len(self.calibration.subjects),
            "calls": self.calls,
        }

    # --- baseline

    @property
    def stale(self) -> tuple[Accepted, ...]:
        """Return the accepted findings that are gone; () unless all was tried.

        Findings that a diagnosis or a monitor may have do not count.
        """
        if self.baseline is None or len(self.probes) < len(STRATEGIES) or self.untried:
            return ()
        if not self.calibration.subjects or self.says_all:
            return ()
        others = read_codes()["diagnosis"]
        return tuple(
            entry
            for entry in self.baseline.accepted
            if entry.code not in others and not any(map(entry.matches, self.findings))
        )

    def baseline_changes(self) -> Iterator[str]:
        """Yield a sentence for each entry of the baseline that is out of date."""
        yield from super().baseline_changes()
        for entry in self.stale:
            yield (
                f"{entry.finding}, accepted on {entry.date}, is not found any more: "
                "take it out of the file"
            )

    # --- in short

    @cached_property
    def says_all(self) -> bool:
        """Return whether a finding says why nothing else was tried."""
        return any(finding.code in SAYS_ALL for finding in self.findings)

    @property
    def looks_for_holes(self) -> bool:
        """Return whether more than the contract and hangs was to be tried."""
        return bool(self.families - {"contract", "hang"})

    @property
    def is_unprobed(self) -> bool:
        """Return whether no prompt could be probed, and no finding says why."""
        has_subjects = bool(self.calibration.subjects)
        return self.looks_for_holes and not has_subjects and not self.says_all

    @property
    def is_undecided(self) -> bool:
        """Return whether no part has a known right answer, or can do without one."""
        return {*self.calibration.modes.values()} <= {"unknown", "slow"}

    @property
    def why_blind(self) -> str:
        """Say why no hole could have been found; "" if one could."""
        if any(finding.code in JUDGES_NOTHING for finding in self.findings):
            return "it judged none of what was tried"
        if not self.looks_for_holes:
            return "only the contract was probed"
        notes = [note for note in self.inconclusive if note.probe != "hang"]
        if self.tried_probes:
            notes = [note for note in notes if note.probe == "probes"]
        reasons = [note.why for note in notes]
        if not self.tried_probes and not reasons:
            reasons = ["no prompt could be probed"]
        if reasons:
            return "; ".join(one_line(reason, 300) for reason in reasons)
        if self.is_undecided:
            return "no right answer is known"
        if not PROBES_FOR_HOLES.intersection(self.tried_probes):
            return "no wrong answer could be tried"
        return "their time was over" if self.untried else ""

    @property
    def gaps(self) -> tuple[str, ...]:
        """Say what was left out or not decided."""
        gaps = []
        left_out = len(STRATEGIES) - len(self.probes)
        if left_out:
            gaps.append(f"only= leaves out {counted(left_out, 'probe')}")
        undecided = [
            one_line(note.probe, 60)
            for note in self.inconclusive
            if note.probe not in ("probes", "hang")
        ]
        undecided += [
            finding.code
            for finding in self.findings
            if finding.evidence.get("doubt") in OPEN_DOUBTS
            and finding.severity == "info"
            and not finding.accepted
        ]
        if undecided:
            gaps.append(f"not decided: {most(undecided)}")
        return tuple(gaps)

    @property
    def wrong_share(self) -> float:
        """Return the highest reward of a wrong answer, as a share of full marks.

        That is a wrong answer in good form, or the median wrong completion of the log.
        NaN if neither is known.
        """
        calibration = self.calibration
        shares = [
            calibration.scales[subject.rollout_id].wrong_share
            for subject in calibration.subjects
            if subject.answer is not None
        ]
        if not math.isnan(self.logged_wrong):
            shares.append(self.logged_wrong)
        return max(shares, default=math.nan)

    @property
    def effort(self) -> str:
        """Say how much was tried."""
        calls = counted(self.calls, "call")
        if not self.tried_probes:
            return calls
        probes = counted(len(self.tried_probes), "probe")
        prompts = counted(len(self.calibration.subjects), "prompt")
        return f"{probes} on {prompts}, {calls}"

    @property
    def verdict(self) -> str:
        """Say in one line whether the reward held."""
        if self.alarms:
            verdict = count_alarms(self.alarms)
        elif self.is_unprobed:
            return "inconclusive: no prompt could be probed"
        else:
            verdict = self._nothing_found()
        minor = sum(finding.severity == "info" for finding in self.findings)
        if minor:
            verdict += f"; {minor} for information"
        if self._accepted:
            verdict += f"; {self._accepted} accepted"
        return verdict

    @property
    def _accepted(self) -> int:
        """Count the findings that would be alarms if they were not accepted."""
        return sum(finding.severity != finding.gravity for finding in self.findings)

    def _nothing_found(self) -> str:
        fault = "hole" if self.looks_for_holes else "broken contract"
        if self._accepted:
            fault = f"other {fault}"
        sentence = f"no {fault} found in {self.effort}"
        if self.untried:
            return f"unfinished, as the budget was over: {sentence}"
        if not self.looks_for_holes:
            return sentence
        if self.why_blind:
            return f"inconclusive, as {self.why_blind}: {sentence}"
        return "; ".join([sentence, *self.gaps])

    @property
    def _verdict_has_effort(self) -> bool:
        """Return whether the verdict is that nothing was found, which says how much."""
        return not self.alarms and not self.is_unprobed

    @property
    def in_short(self) -> str:
        """Say the verdict, and how much was tried."""
        if self._verdict_has_effort:
            return self.verdict
        return f"{self.verdict}; {self.effort}"

    # --- the page

    def page(self) -> Page:
        """Show the verdict, the alarms, what is undecided, and what answers earn."""
        readiness = READINESS.get(self.worst or "", "")
        title = f"{one_line(self.reward.name)}{readiness}"
        alarms = [probe_point(finding, self.reward) for finding in self.alarms]
        blocks: list[Block] = [*alarms[:MOST_POINTS]]
        others = alarms[MOST_POINTS:]
        if others:
            codes = most([point.code for point in others])
            blocks.append(f"and {len(others)} more: {codes}")
            blocks.append(More(f"{len(others)} more", others))
        for finding in self.findings:
            if finding.code == "partial_credit" and not finding.accepted:
                blocks.append(f"For information: {finding.statement}")
        minor = [
            f"{finding.code}: {finding.statement} {finding.advice}"
            for finding in self.findings
            if finding.severity == "info" and not finding.accepted
        ]
        blocks.append(More("For information", minor))
        blocks.append(accepted_findings(self.findings))
        blocks += self.other_blocks()
        foot = "All of it: text(verbose=True)" if self.findings else ""
        return Page(title, blocks, self.verdict, foot)

    def other_blocks(self) -> list[Block]:
        """Show how much was tried, what is undecided, and what answers earn."""
        blocks: list[Block] = []
        effort: list[str] = []
        if not self._verdict_has_effort:
            effort.append(f"Tried: {self.effort}")
        idle = {*self.probes} - {*self.tried_probes} - {*self.untried}
        if idle and self.tried_probes:
            verb = "does" if len(idle) == 1 else "do"
            effort.append(f"{counted(len(idle), 'probe')} {verb} not apply")
        if effort:
            blocks.append("; ".join(effort))
        notes = [f"{one_line(note.probe)}: {note.why}" for note in self.inconclusive]
        if self.untried:
            names = most([*self.untried])
            notes.append(f"not tried, as the budget was over (budget=...): {names}")
        if notes:
            joined = one_line("; ".join(notes), 10_000)
            short = one_line(joined, LONGEST_NOTES) if self.alarms else joined
            blocks.append(f"Inconclusive: {short}")
            if short != joined:
                blocks.append(More("All that is inconclusive", notes))
        changes = list(self.baseline_changes())
        if changes:
            blocks.append(f"Baseline: {'; '.join(changes)}")
        blocks.append(More("What answers earn", list(self._earnings())))
        return blocks

    def _earnings(self) -> Iterator[Block]:
        """Yield the rewards of right and wrong answers, a line for each part."""
        for part in dict.fromkeys(item.part for item in self.calibration.subjects):
            in_part = self.calibration.of(part).subjects
            scales = [self.calibration.scales[item.rollout_id] for item in in_part]
            kinds = ", ".join(dict.fromkeys(subject.kind for subject in in_part))
            where = f"{one_line(part)}, " if part else ""
            names = EARNING_NAMES
            if in_part[0].answer is None:
                names = EARNING_NAMES_WITHOUT_TRUTH
            earned = ", ".join(
                f"{words} {_range_of(scales, name)}" for name, words in names.items()
            )
            line = f"{where}{counted(len(in_part), 'prompt')} ({kinds}): {earned}"
            example = one_line(in_part[0].reference, 120)
            yield UserText(f"{line}; such as {example}", instead=line)
        if self.logged_wrong > 0:
            earned = percent(self.logged_wrong)
            yield f"Wrong completions of the log: {earned} of full marks in the median"


def count_alarms(alarms: Findings) -> str:
    """Count alarms by kind and severity: "2 holes (1 high, 1 warn)"."""
    phrases = []
    for kind, plural in ALARM_PLURALS.items():
        counts = Counter(alarm.severity for alarm in alarms if alarm.fault == kind)
        severities = [name for name in SEVERITIES if counts[name]]
        if counts.total() == 1:
            phrases.append(f"1 {kind} ({severities[0]})")
        elif severities:
            grades = ", ".join(f"{counts[name]} {name}" for name in severities)
            phrases.append(f"{counts.total()} {plural} ({grades})")
    return ", ".join(phrases)


def _range_of(scales: Sequence[Scale], name: str) -> str:
    """Write the range of rewards, or the value if all are the same."""
    rewards = [getattr(scale, name) + 0.0 for scale in scales]
    low, high = f"{min(rewards):.4g}", f"{max(rewards):.4g}"
    return low if low == high else f"{low} to {high}"
