"""Baseline: findings that are known and accepted, each with a reason and a date, in a file to commit."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardkit.errors import InputError
from rewardkit.findings import SEVERITIES, Finding
from rewardkit.probes.strategies.families import PROBES
from rewardkit.rollouts.write import write_whole

if TYPE_CHECKING:
    from rewardkit.probes.probe import ProbeResult

__all__ = ["ALONE", "Accepted", "Baseline", "accept", "changes", "load_baseline", "stale", "under_baseline"]

ALONE = ("constant", "ignores_truth", "inverted", "always_errors", "always_abstains", "always_late")
"""Findings behind which nothing else was tried, of all or of their part."""

RENAMED: dict[str, str] = {}
"""Code that a finding had in an earlier version -> the one it has now; baselines are read with both."""


@dataclass(frozen=True)
class Accepted:
    """A finding that is accepted: of which reward, what it is known by, why, since when, how grave then."""

    reward: str
    finding: str
    reason: str
    date: str
    severity: str


NEEDED = tuple(item.name for item in fields(Accepted))


@dataclass(frozen=True)
class Baseline:
    """What a baseline file says, of one reward or of several."""

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
    entries = _read(Path(path))["accepted"]
    return Baseline(tuple(Accepted(**{name: raw[name] for name in NEEDED}) for raw in entries))


def accept(path: str | Path, findings: Iterable[Finding], reason: str, *, reward: str) -> int:
    """Write findings of a reward into a baseline, made where there is none, and give how many were written.

    `reward` is its name. An entry for the same finding of it is replaced, the others stay as they are.
    InputError: no reason, a file or folder that cannot be used.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise InputError(
            f"reason={reason!r} does not say why a finding is accepted; write a sentence for the next reader"
        )
    file = Path(path).resolve()  # where a link leads to, which a new file would take the place of
    if not file.parent.is_dir():
        raise InputError(f"there is no folder {str(file.parent)!r} to write {file.name!r} to; make it first")
    whole = _read(file) if file.exists() else {"accepted": []}
    today = str(datetime.date.today())
    fresh: dict[str, dict[str, str]] = {}
    for item in sorted(findings, key=lambda item: SEVERITIES.index(item.severity), reverse=True):
        fresh[item.key] = asdict(Accepted(reward, item.key, reason.strip(), today, item.severity))
    kept = [raw for raw in whole["accepted"] if raw["reward"] != reward or raw["finding"] not in fresh]
    if fresh or not file.exists():
        text = json.dumps({**whole, "accepted": [*kept, *fresh.values()]}, indent=2) + "\n"
        write_whole(file, lambda temporary: temporary.write_text(text, encoding="utf-8"))
    return len(fresh)


def under_baseline(result: ProbeResult, baseline: Baseline | str | Path) -> ProbeResult:
    """The result with `accepted` filled in the findings that a baseline knows of the reward of this name.

    One that is graver than when it was accepted counts again: see `changes`.
    """
    if not isinstance(baseline, Baseline):
        baseline = load_baseline(baseline)
    baseline = baseline.of(result.reward.name)
    findings = []
    for item in result.findings:
        entry = baseline.entry(item)
        known = entry and SEVERITIES.index(item.severity) >= SEVERITIES.index(entry.severity)
        findings.append(replace(item, accepted=entry.reason if entry and known else ""))
    return replace(result, findings=tuple(findings), baseline=baseline)


def changes(result: ProbeResult) -> Iterator[str]:
    """A sentence for each entry that does not fit any more: the finding is graver now, or gone."""
    for item in result.findings:
        entry = result.baseline.entry(item) if result.baseline and not item.accepted else None
        if entry is not None:
            yield (
                f"{item.key} was accepted as {entry.severity} on {entry.date} and is {item.severity} now: it "
                "counts again"
            )
    for entry in stale(result):
        yield f"{entry.finding}, accepted on {entry.date}, is not found any more: take it out of the file"


def stale(result: ProbeResult) -> tuple[Accepted, ...]:
    """What the baseline accepts that is not found any more; nothing where not everything was tried."""
    if result.baseline is None or result.untried or not result.calibration.subjects:
        return ()
    if len(result.probes) < len(PROBES) or any(item.code in ALONE for item in result.findings):
        return ()
    found = {item.key for item in result.findings}
    return tuple(item for item in result.baseline.accepted if item.finding not in found)


def _read(file: Path) -> dict[str, Any]:
    """A baseline file as JSON, with entries that can be used, under today's codes. InputError: it is none."""
    if not file.is_file():
        raise InputError(
            f"there is no baseline file {str(file)!r}; accept what is found now into it, with "
            "'rewardkit probe ... --baseline FILE --accept REASON'"
        )
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{str(file)!r} is no JSON ({error}); a baseline is one object") from None
    if not isinstance(whole, dict) or not isinstance(whole.get("accepted"), list):
        raise InputError(f"{str(file)!r} is no baseline; that is a JSON object with a list 'accepted'")
    return {
        **whole,
        "accepted": [_entry(raw, f"{file}: entry {n}") for n, raw in enumerate(whole["accepted"], 1)],
    }


def _entry(raw: Any, where: str) -> dict[str, Any]:
    """An entry with today's code. InputError: it is none."""
    whole = isinstance(raw, dict) and all(isinstance(raw.get(name), str) for name in NEEDED)
    if not whole or not raw["reason"].strip() or raw["severity"] not in SEVERITIES:
        raise InputError(
            f"{where} is {raw!r}; it needs texts for {', '.join(NEEDED)}, the severity one of "
            f"{', '.join(SEVERITIES)}"
        )
    code, *rest = raw["finding"].split("/")
    return {**raw, "finding": "/".join([RENAMED.get(code, code), *rest])}
