"""Baseline: findings that are known and accepted, each with a reason and a date, in a file to commit."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardkit.errors import InputError
from rewardkit.findings import SEVERITIES, Finding
from rewardkit.probes.strategies.families import PROBES
from rewardkit.rollouts.write import write_whole

if TYPE_CHECKING:
    from rewardkit.probes.probe import ProbeResult

__all__ = ["Accepted", "Baseline", "accept", "grown", "load_baseline", "stale", "under_baseline"]

NEEDED = ("reward", "finding", "reason", "date", "severity")
ALONE = ("constant", "ignores_truth", "inverted", "always_errors", "always_abstains", "always_late")
"""Findings behind which nothing else was tried, of all or of their part."""


@dataclass(frozen=True)
class Accepted:
    """A finding that is accepted: of which reward, what it is known by, why, since when, how grave then."""

    reward: str
    finding: str
    reason: str
    date: str
    severity: str


@dataclass(frozen=True)
class Baseline:
    """What a baseline file says, of one reward or of several, and its path."""

    path: str
    accepted: tuple[Accepted, ...] = ()

    def entry(self, finding: Finding) -> Accepted | None:
        """What it says of a finding of the reward that it is `of`; ``None`` where that is nothing."""
        return next((item for item in self.accepted if item.finding == finding.key), None)

    def of(self, reward: str) -> Baseline:
        """What it says of the reward of this name."""
        return replace(self, accepted=tuple(item for item in self.accepted if item.reward == reward))


def load_baseline(path: str | Path) -> Baseline:
    """The baseline of a JSON file: ``{"accepted": [{"reward", "finding", "reason", "date", "severity"}]}``.

    InputError: there is no such file, or it is none.
    """
    return Baseline(str(path), tuple(_entry(raw) for raw in _read(path)["accepted"]))


def accept(
    path: str | Path,
    findings: Iterable[Finding],
    reason: str,
    date: str | datetime.date | None = None,
    *,
    reward: str,
) -> int:
    """Write findings of a reward into a baseline, made where there is none, and give how many were written.

    `reward` is its name. An entry for the same finding of it is replaced, the others stay as they are. `date`
    is today's where none is given. InputError: no reason, no date such as "2026-11-22", a file or folder that
    cannot be used.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise InputError(
            f"reason={reason!r} does not say why a finding is accepted; write a sentence for the next reader"
        )
    day = str(date if date is not None else datetime.date.today())
    if not _is_date(day):
        raise InputError(f"date={date!r} is no date; write it as '2026-11-22'")
    file = Path(path).resolve()  # where a link leads to, which a new file would take the place of
    if not file.parent.is_dir():
        raise InputError(f"there is no folder {str(file.parent)!r} to write {file.name!r} to; make it first")
    whole = _read(file) if file.exists() else {"accepted": []}
    fresh: dict[tuple[str, str], dict[str, Any]] = {}
    for item in findings:
        known = fresh.get((reward, item.key))
        if known is None or _graver(item.severity, known["severity"]):
            values = (reward, item.key, reason.strip(), day, item.severity)
            fresh[reward, item.key] = dict(zip(NEEDED, values, strict=True))
    count = len(fresh)
    if fresh or not file.exists():
        kept = [fresh.pop((raw["reward"], raw["finding"]), raw) for raw in whole["accepted"]]
        text = _written({**whole, "accepted": [*kept, *fresh.values()]})
        write_whole(file, lambda temporary: temporary.write_bytes(text))
    return count


def under_baseline(result: ProbeResult, baseline: Baseline | str | Path) -> ProbeResult:
    """The result with `accepted` filled in the findings that a baseline knows of the reward of this name.

    One that is graver than when it was accepted counts again: see `grown`.
    """
    if not isinstance(baseline, Baseline):
        baseline = load_baseline(baseline)
    baseline = baseline.of(result.reward.name)
    findings = []
    for item in result.findings:
        entry = baseline.entry(item)
        known = entry is not None and not _graver(item.severity, entry.severity)
        findings.append(replace(item, accepted=entry.reason if entry and known else ""))
    return replace(result, findings=tuple(findings), baseline=baseline)


def grown(result: ProbeResult) -> list[tuple[Finding, Accepted]]:
    """The findings that were accepted when they were less grave, with what was accepted."""
    if result.baseline is None:
        return []
    pairs = [(item, result.baseline.entry(item)) for item in result.findings if not item.accepted]
    return [(item, entry) for item, entry in pairs if entry is not None]


def stale(result: ProbeResult) -> tuple[Accepted, ...]:
    """What the baseline accepts that is not found any more; nothing where not everything was tried."""
    if result.baseline is None or result.untried or not result.calibration.subjects:
        return ()
    if len(result.probes) < len(PROBES) or any(item.code in ALONE for item in result.findings):
        return ()
    found = {item.key for item in result.findings}
    return tuple(item for item in result.baseline.accepted if item.finding not in found)


def _graver(severity: str, other: str) -> bool:
    return SEVERITIES.index(severity) < SEVERITIES.index(other)


def _is_date(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _read(path: str | Path) -> dict[str, Any]:
    """A baseline file as JSON, of which all entries can be used. InputError: it is none."""
    file = Path(path)
    if not file.is_file():
        raise InputError(
            f"there is no baseline file {str(path)!r}; accept what is found now into it, with "
            "'rewardkit probe ... --baseline FILE --accept REASON'"
        )
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(path)!r} is no JSON ({error}); a baseline is one object") from None
    entries = whole.get("accepted") if isinstance(whole, dict) else None
    if not isinstance(entries, list):
        raise InputError(
            f"{str(path)!r} is no baseline; that is a JSON object with a list 'accepted' of objects with "
            f"{', '.join(NEEDED)}"
        )
    seen: set[tuple[str, str]] = set()
    for place, raw in enumerate(entries):
        where = f"{path}: entry {place + 1}"
        if isinstance(raw, dict) and "reward" not in raw and {*NEEDED[1:]} <= {*raw}:
            raise InputError(
                f"{where} does not say of which reward {raw['finding']!r} was accepted, as files of before "
                "rewardkit knew findings by their reward; accept what is found now into a new file"
            )
        if not isinstance(raw, dict) or not all(isinstance(raw.get(name), str) for name in NEEDED):
            raise InputError(f"{where} is {raw!r}; an entry has texts for {', '.join(NEEDED)}")
        if raw["severity"] not in SEVERITIES:
            raise InputError(f"{where}: severity {raw['severity']!r} is none of {', '.join(SEVERITIES)}")
        if not _is_date(raw["date"]) or not raw["reason"].strip():
            raise InputError(f"{where} needs a reason and a date such as '2026-11-22'; it is {raw!r}")
        if (raw["reward"], raw["finding"]) in seen:
            raise InputError(
                f"{where}: {raw['finding']!r} of {raw['reward']!r} is accepted twice; keep one of the two"
            )
        seen.add((raw["reward"], raw["finding"]))
    return dict(whole)


def _entry(raw: dict[str, Any]) -> Accepted:
    return Accepted(**{name: raw[name] for name in NEEDED})


def _written(whole: dict[str, Any]) -> bytes:
    try:
        return f"{json.dumps(whole, indent=2, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError:  # half a character in the name of a part, which only an escape can write
        return f"{json.dumps(whole, indent=2)}\n".encode()
