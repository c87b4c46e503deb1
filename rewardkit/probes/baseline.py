"""Baselines: findings that are accepted, each with a reason and a date, in a file."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from rewardkit.errors import InputError
from rewardkit.findings import SEVERITIES, Finding
from rewardkit.rollouts.paths import place_to_write, write_whole


@dataclass(frozen=True)
class Accepted:
    """A finding that is accepted for a reward.

    `finding` is its key, `severity` how grave it was then.
    """

    reward: str
    finding: str
    reason: str
    date: str
    severity: str

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is no graver than when it was accepted."""
        then = SEVERITIES.index(self.severity)
        return SEVERITIES.index(finding.severity) >= then


ENTRY_FIELDS = tuple(item.name for item in fields(Accepted))


@dataclass(frozen=True)
class Baseline:
    """What a baseline file accepts, of one reward or of several."""

    accepted: tuple[Accepted, ...] = ()

    def entry(self, finding: Finding) -> Accepted | None:
        """Return the entry for a finding, or None; see `of`."""
        for entry in self.accepted:
            if entry.finding == finding.key:
                return entry
        return None

    def of(self, reward: str) -> Baseline:
        """Return the entries for the reward of this name."""
        entries = [entry for entry in self.accepted if entry.reward == reward]
        return replace(self, accepted=tuple(entries))

    def mark(self, finding: Finding) -> Finding:
        """Return the finding with its accepted reason, "" where none covers it."""
        entry = self.entry(finding)
        if entry is None or not entry.covers(finding):
            return replace(finding, accepted="")
        return replace(finding, accepted=entry.reason)


def load_baseline(path: str | Path) -> Baseline:
    """Read a baseline from a JSON file.

    It holds ``{"accepted": [{"reward", "finding", "reason", "date", "severity"}]}``.

    Raises:
        InputError: There is no such file, or it is none.
    """
    entries = _read_file(Path(path))["accepted"]
    return Baseline(tuple(Accepted(*map(entry.get, ENTRY_FIELDS)) for entry in entries))


def accept(
    path: str | Path, findings: Iterable[Finding], reason: str, *, reward: str
) -> int:
    """Write findings of a reward into a baseline file, which is made where missing.

    Args:
        path: The file. An entry for the same finding is replaced, others stay.
        findings: The findings to accept.
        reason: Why, for the next reader.
        reward: The name of the reward.

    Returns:
        How many findings were written.

    Raises:
        InputError: There is no reason, or the file or folder cannot be used.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise InputError(
            f"reason={reason!r} does not say why a finding is accepted; write a "
            "sentence for the next reader"
        )
    file, today = place_to_write(path), str(datetime.date.today())
    content: dict[str, Any] = {"accepted": []}
    if file.exists():
        content = _read_file(file)
    new: dict[str, dict[str, str]] = {}
    for finding in sorted(findings, key=lambda item: item.order, reverse=True):
        entry = Accepted(reward, finding.key, reason.strip(), today, finding.severity)
        new[finding.key] = asdict(entry)  # the gravest of one key stays
    others = [
        entry
        for entry in content["accepted"]
        if entry["reward"] != reward or entry["finding"] not in new
    ]
    if new or not file.exists():
        content["accepted"] = [*others, *new.values()]
        text = json.dumps(content, indent=2) + "\n"
        write_whole(
            file, lambda temporary: temporary.write_text(text, encoding="utf-8")
        )
    return len(new)


def _read_file(file: Path) -> dict[str, Any]:
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
            f"{str(file)!r} is no JSON ({error}); a baseline is one object"
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
                f"{', '.join(ENTRY_FIELDS)}, the severity one of "
                f"{', '.join(SEVERITIES)}"
            )
    return content


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    texts = [entry.get(name) for name in ENTRY_FIELDS]
    are_texts = all(isinstance(text, str) and text.strip() for text in texts)
    return are_texts and entry["severity"] in SEVERITIES
