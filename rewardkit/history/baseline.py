"""Baselines: a file of accepted findings, each with a reason and a date.

Probes, diagnoses, monitors, reports and cards share one file.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from rewardkit.errors import InputError
from rewardkit.findings import SEVERITIES, Finding
from rewardkit.plain import Record
from rewardkit.rollouts.paths import place_to_write, write_content


@dataclass(frozen=True)
class Accepted:
    """An accepted finding of a reward.

    `finding` is the finding's key, `component` its component, "" without one.
    `severity` is its severity when it was accepted. `until` is the last day of the
    entry, "" if it does not expire.
    """

    reward: str
    finding: str
    reason: str
    date: str
    severity: str
    until: str = ""
    component: str = ""

    @property
    def code(self) -> str:
        """Return the code of the finding."""
        return self.finding.partition("/")[0]

    @property
    def has_ended(self) -> bool:
        """Return whether the entry has expired."""
        return bool(self.until) and self.until < str(datetime.date.today())

    def matches(self, finding: Finding) -> bool:
        """Return whether a finding has this cause.

        The components have to agree if both have one.
        """
        if self.finding == finding.key or (self.component and finding.component):
            return self.finding == finding.key
        named = f"{self.code}/{self.component}" if self.component else self.code
        return self.code + self.finding.removeprefix(named) == finding.cause

    def covers(self, finding: Finding) -> bool:
        """Return whether the entry is valid and as severe as the finding or more."""
        accepted = SEVERITIES.index(self.severity)
        return SEVERITIES.index(finding.severity) >= accepted and not self.has_ended

    def describe_lapse(self, finding: Finding) -> str:
        """Say why a matching finding counts again, or return "" if it is covered."""
        if self.covers(finding):
            return ""
        if self.has_ended:
            return f"{self.finding} was accepted until {self.until}: it counts again"
        return (
            f"{self.finding} was accepted as {self.severity} on {self.date} and is "
            f"{finding.severity} now: it counts again"
        )


NEEDED_FIELDS = ("reward", "finding", "reason", "date", "severity")


@dataclass(frozen=True)
class Baseline:
    """The accepted findings of one or several rewards."""

    accepted: tuple[Accepted, ...] = ()

    def entry(self, finding: Finding) -> Accepted | None:
        """Return the entry that matches a finding, or None.

        An entry that covers the finding comes first, then one with the same key. The
        baseline has to be of one reward, see `of`.
        """
        entries = [entry for entry in self.accepted if entry.matches(finding)]
        entries.sort(key=lambda entry: entry.finding != finding.key)
        entries.sort(key=lambda entry: not entry.covers(finding))
        return entries[0] if entries else None

    def of(self, reward: str) -> Baseline:
        """Return the baseline of the reward with this name."""
        entries = [entry for entry in self.accepted if entry.reward == reward]
        return replace(self, accepted=tuple(entries))

    def mark(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return findings with the reasons of the entries that cover them."""
        marked = []
        for finding in findings:
            entry = self.entry(finding)
            reason = until = ""
            if entry is not None and entry.covers(finding):
                reason = entry.reason
            elif entry is not None and entry.has_ended:
                until = entry.until
            marked.append(replace(finding, accepted=reason, accepted_until=until))
        return tuple(marked)

    def changes(self, findings: Iterable[Finding]) -> Iterator[str]:
        """Yield a sentence for each entry that no longer covers its finding."""
        for finding in findings:
            entry = self.entry(finding)
            if entry is not None and entry.describe_lapse(finding):
                yield entry.describe_lapse(finding)


class AcceptsFindings:
    """A record of findings on a reward that a baseline may accept.

    The base of frozen dataclasses with these two fields. `baseline` holds the entries
    of this reward.
    """

    findings: tuple[Finding, ...]
    baseline: Baseline | None

    @property
    def reward_name(self) -> str:
        """Return the name of the reward, the key of its entries in a baseline."""
        raise NotImplementedError

    def __getitem__(self, code: str) -> list[Finding]:
        """Return the findings with this code."""
        return [finding for finding in self.findings if finding.code == code]

    @property
    def worst(self) -> str | None:
        """Return the highest severity of findings that are not accepted, or None."""
        severities = [finding.gravity for finding in self.findings]
        return min(severities, key=SEVERITIES.index, default=None)

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Return the findings that are neither accepted nor of severity "info"."""
        return tuple(item for item in self.findings if item.gravity != "info")

    def under_baseline(self, baseline: Baseline | str | Path) -> Self:
        """Return the record with its accepted findings marked.

        A finding counts again if it became more severe or its entry has expired.

        Raises:
            InputError: The file is not a baseline.
        """
        accepted = load_baseline(baseline).of(self.reward_name)
        record: Any = self
        marked: Self = replace(
            record, findings=accepted.mark(self.findings), baseline=accepted
        )
        return marked

    def baseline_changes(self) -> Iterator[str]:
        """Yield a sentence for each entry of the baseline that is out of date."""
        if self.baseline is not None:
            yield from self.baseline.changes(self.findings)


def load_baseline(source: Baseline | str | Path) -> Baseline:
    """Read a baseline from a JSON file; return a `Baseline` as it is.

    The file holds ``{"accepted": [{"reward", "finding", "reason", "date", "severity",
    "until", "component"}]}``. "until" and "component" are optional: the entry does not
    expire, the finding has no component.

    Raises:
        InputError: The file is missing or not a baseline.
    """
    if isinstance(source, Baseline):
        return source
    accepted = []
    names = [field.name for field in fields(Accepted)]
    for entry in _read_file(Path(source))["accepted"]:
        accepted.append(Accepted(*[entry.get(name, "") for name in names]))
    return Baseline(tuple(accepted))


def accept(
    path: str | Path,
    findings: Iterable[Finding],
    reason: str,
    *,
    reward: str,
    until: str = "",
) -> int:
    """Write findings of a reward into a baseline file; create it if it is missing.

    Args:
        path: The file. An entry for the same finding is replaced, others stay.
        findings: The findings to accept.
        reason: Why they are accepted, for the next reader.
        reward: The name of the reward.
        until: The last day of the entries, such as 2027-01-31; "" if they do not
            expire.

    Returns:
        The number of findings written.

    Raises:
        InputError: The reason is empty, the day is invalid or over, or the file cannot
            be used.
    """
    check_reason(reason)
    if until and not is_day(until):
        raise InputError(f"until={until!r} is no day; write it as in 2027-01-31")
    file, today = place_to_write(path), str(datetime.date.today())
    if until and until < today:
        raise InputError(f"until={until!r} is over; give a day from {today} on")
    content: Record = {"accepted": []}
    if file.exists():
        content = _read_file(file)
    new: dict[str, dict[str, str]] = {}
    for finding in sorted(findings, key=lambda item: item.order, reverse=True):
        entry = Accepted(
            reward,
            finding.key,
            reason.strip(),
            today,
            finding.severity,
            until,
            finding.component or "",
        )
        # the most severe finding of a key comes last and stays
        new[finding.key] = {name: text for name, text in asdict(entry).items() if text}
    others = [
        entry
        for entry in content["accepted"]
        if entry["reward"] != reward or entry["finding"] not in new
    ]
    if new or not file.exists():
        content["accepted"] = [*others, *new.values()]
        write_content(file, json.dumps(content, indent=2) + "\n")
    return len(new)


def check_reason(reason: Any) -> None:
    """Raise an InputError if a reason is not a text, or empty."""
    if not isinstance(reason, str) or not reason.strip():
        raise InputError(
            f"reason={reason!r} does not say why a finding is accepted; write a "
            "sentence for the next reader"
        )


def _read_file(file: Path) -> Record:
    """Read a baseline file and check its entries."""
    if file.is_dir():
        raise InputError(
            f"{str(file)!r} is a folder; name a file in it to be the baseline"
        )
    if not file.is_file():
        raise InputError(
            f"there is no baseline file {str(file)!r}; accept what is found now into "
            "it, with 'rewardkit probe ... --baseline FILE --accept REASON'"
        )
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{str(file)!r} is no JSON ({error}); give the file that --accept wrote, "
            "or move this one away and accept again"
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get("accepted"), list):
        raise InputError(
            f"{str(file)!r} is no baseline; that is a JSON object with a list "
            "'accepted'"
        )
    for number, entry in enumerate(content["accepted"], 1):
        if not _is_entry(entry):
            raise InputError(
                f"{file}: entry {number} is {entry!r}; it needs texts for "
                f"{', '.join(NEEDED_FIELDS)}, the severity one of "
                f"{', '.join(SEVERITIES)}, and where it has an 'until' a day such as "
                "2027-01-31"
            )
    return content


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    texts = [entry.get(name) for name in NEEDED_FIELDS]
    are_texts = all(isinstance(text, str) and text.strip() for text in texts)
    are_texts &= isinstance(entry.get("component", ""), str)
    ends_well = "until" not in entry or is_day(entry["until"])
    return are_texts and ends_well and entry["severity"] in SEVERITIES


def is_day(text: Any) -> bool:
    """Return whether a text is a date such as 2027-01-31."""
    try:
        datetime.date.fromisoformat(text)
    except (TypeError, ValueError):
        return False
    return len(text) == len("2027-01-31")
