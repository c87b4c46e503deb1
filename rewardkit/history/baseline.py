"""Baselines: findings that are accepted, each with a reason and a date, in a file.

One file holds for probes, a diagnosis, a monitor, a report and the card.
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
    """A finding that is accepted for a reward.

    `finding` is its key, `component` what it names, "" where the tool that found it
    names none. `severity` is how grave it was then, `until` the last day on which it is
    accepted, "" without an end.
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
        """Return whether its last day is over."""
        return bool(self.until) and self.until < str(datetime.date.today())

    def matches(self, finding: Finding) -> bool:
        """Return whether a finding has its cause; components count if both name one."""
        if self.finding == finding.key or (self.component and finding.component):
            return self.finding == finding.key
        named = f"{self.code}/{self.component}" if self.component else self.code
        return self.code + self.finding.removeprefix(named) == finding.cause

    def covers(self, finding: Finding) -> bool:
        """Return whether the entry still holds for a finding no graver than then."""
        then = SEVERITIES.index(self.severity)
        return SEVERITIES.index(finding.severity) >= then and not self.has_ended

    def why_not(self, finding: Finding) -> str:
        """Say why a finding with its key counts again, "" where it is covered."""
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
    """What a baseline file accepts, of one reward or of several."""

    accepted: tuple[Accepted, ...] = ()

    def entry(self, finding: Finding) -> Accepted | None:
        """Return the entry for a finding, or None; see `of`.

        Of several one that covers it, and of these the one with its own key.
        """
        entries = [entry for entry in self.accepted if entry.matches(finding)]
        entries.sort(key=lambda entry: entry.finding != finding.key)
        entries.sort(key=lambda entry: not entry.covers(finding))
        return entries[0] if entries else None

    def of(self, reward: str) -> Baseline:
        """Return the entries for the reward of this name."""
        entries = [entry for entry in self.accepted if entry.reward == reward]
        return replace(self, accepted=tuple(entries))

    def mark(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return findings with their accepted reasons, "" where nothing covers one."""
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
        """Yield a sentence for each entry that does not cover its finding any more."""
        for finding in findings:
            entry = self.entry(finding)
            if entry is not None and entry.why_not(finding):
                yield entry.why_not(finding)


class AcceptsFindings:
    """A record with findings on a reward, which a baseline may accept.

    A frozen dataclass inherits it and has these two fields; `baseline` is what is
    accepted of this reward.
    """

    findings: tuple[Finding, ...]
    baseline: Baseline | None

    @property
    def reward_name(self) -> str:
        """Return the name of the reward, by which a baseline has its entries."""
        raise NotImplementedError

    def __getitem__(self, code: str) -> list[Finding]:
        """Return the findings with this code."""
        return [finding for finding in self.findings if finding.code == code]

    @property
    def worst(self) -> str | None:
        """Return the highest severity of a finding that is not accepted."""
        severities = [finding.gravity for finding in self.findings]
        return min(severities, key=SEVERITIES.index, default=None)

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Return the findings that are not for information, and not accepted."""
        return tuple(item for item in self.findings if item.gravity != "info")

    def under_baseline(self, baseline: Baseline | str | Path) -> Self:
        """Return it with what a baseline accepts marked in its findings.

        What is graver than when it was accepted, or accepted no longer, counts again.

        Raises:
            InputError: The file is no baseline.
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
    """Read a baseline from a JSON file; one that is read already stays as it is.

    The file holds ``{"accepted": [{"reward", "finding", "reason", "date", "severity",
    "until", "component"}]}``; without "until" an entry has no end, without "component"
    it is of a finding that names none.

    Raises:
        InputError: There is no such file, or it is none.
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
    """Write findings of a reward into a baseline file, which is made where missing.

    Args:
        path: The file. An entry for the same finding is replaced, others stay.
        findings: The findings to accept.
        reason: Why, for the next reader.
        reward: The name of the reward.
        until: The last day on which they are accepted, such as 2027-01-31; "" without
            an end.

    Returns:
        How many findings were written.

    Raises:
        InputError: There is no reason, no such day, or the file or folder cannot be
            used.
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
        # the gravest of one key stays
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
    """Raise an InputError where a reason does not say why a finding is accepted."""
    if not isinstance(reason, str) or not reason.strip():
        raise InputError(
            f"reason={reason!r} does not say why a finding is accepted; write a "
            "sentence for the next reader"
        )


def _read_file(file: Path) -> Record:
    """Read a baseline file whose entries can be used."""
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
    """Return whether a text is a day, such as 2027-01-31."""
    try:
        datetime.date.fromisoformat(text)
    except (TypeError, ValueError):
        return False
    return len(text) == len("2027-01-31")
