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
from rewardkit.probes.families import PROBES
from rewardkit.rollouts.write import place_to_write, write_whole

if TYPE_CHECKING:
    from rewardkit.probes.probe import ProbeResult

ALONE = (
    "constant",
    "ignores_truth",
    "inverted",
    "always_errors",
    "always_abstains",
    "always_late",
)
"""Findings behind which nothing else was tried, of all or of their part."""


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
        return next(
            (item for item in self.accepted if item.finding == finding.key), None
        )

    def of(self, reward: str) -> Baseline:
        """What it says of the reward of this name."""
        return replace(
            self,
            accepted=tuple(item for item in self.accepted if item.reward == reward),
        )


def load_baseline(path: str | Path) -> Baseline:
    """The baseline of a JSON file: ``{"accepted": [{"reward", "finding", "reason", "date", "severity"}]}``.

    InputError: there is no such file, or it is none.
    """
    entries = _read(Path(path))["accepted"]
    return Baseline(
        tuple(Accepted(**{name: raw[name] for name in NEEDED}) for raw in entries)
    )


def accept(
    path: str | Path, findings: Iterable[Finding], reason: str, *, reward: str
) -> int:
    """Write findings of a reward into a baseline, made where there is none, and give how many were written.

    `reward` is its name. An entry for the same finding of it is replaced, the others stay as they are.
    InputError: no reason, a file or folder that cannot be used.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise InputError(
            f"reason={reason!r} does not say why a finding is accepted; write a sentence for the next reader"
        )
    file, today = place_to_write(path), str(datetime.date.today())
    whole = _read(file) if file.exists() else {"accepted": []}
    mildest_first = sorted(findings, key=lambda item: item.order, reverse=True)
    fresh = {
        item.key: asdict(
            Accepted(reward, item.key, reason.strip(), today, item.severity)
        )
        for item in mildest_first
    }
    kept = [
        raw
        for raw in whole["accepted"]
        if raw["reward"] != reward or raw["finding"] not in fresh
    ]
    if fresh or not file.exists():
        text = (
            json.dumps({**whole, "accepted": [*kept, *fresh.values()]}, indent=2) + "\n"
        )
        write_whole(
            file, lambda temporary: temporary.write_text(text, encoding="utf-8")
        )
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
        known = entry and SEVERITIES.index(item.severity) >= SEVERITIES.index(
            entry.severity
        )
        findings.append(replace(item, accepted=entry.reason if entry and known else ""))
    return replace(result, findings=tuple(findings), baseline=baseline)


def changes(result: ProbeResult) -> Iterator[str]:
    """A sentence for each entry that does not fit any more: the finding is graver now, or gone."""
    for item in result.findings:
        entry = (
            result.baseline.entry(item)
            if result.baseline and not item.accepted
            else None
        )
        if entry is not None:
            then = f"{item.key} was accepted as {entry.severity} on {entry.date}"
            yield f"{then} and is {item.severity} now: it counts again"
    for entry in stale(result):
        yield f"{entry.finding}, accepted on {entry.date}, is not found any more: take it out of the file"


def stale(result: ProbeResult) -> tuple[Accepted, ...]:
    """What the baseline accepts that is not found any more; nothing where not everything was tried."""
    whole = (
        len(result.probes) == len(PROBES)
        and not result.untried
        and result.calibration.subjects
    )
    if (
        result.baseline is None
        or not whole
        or any(item.code in ALONE for item in result.findings)
    ):
        return ()
    found = {item.key for item in result.findings}
    return tuple(item for item in result.baseline.accepted if item.finding not in found)


def _read(file: Path) -> dict[str, Any]:
    """A baseline file as JSON, with entries that can be used. InputError: it is none."""
    if not file.is_file():
        if file.is_dir():
            raise InputError(
                f"{str(file)!r} is a folder; name a file in it to be the baseline"
            )
        raise InputError(
            f"there is no baseline file {str(file)!r}; accept what is found now into it, with "
            "'rewardkit probe ... --baseline FILE --accept REASON'"
        )
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{str(file)!r} is no JSON ({error}); a baseline is one object"
        ) from None
    if not isinstance(whole, dict) or not isinstance(whole.get("accepted"), list):
        raise InputError(
            f"{str(file)!r} is no baseline; that is a JSON object with a list 'accepted'"
        )
    for number, raw in enumerate(whole["accepted"], 1):
        texts = [raw.get(name) if isinstance(raw, dict) else None for name in NEEDED]
        if (
            not all(isinstance(text, str) and text.strip() for text in texts)
            or texts[-1] not in SEVERITIES
        ):
            raise InputError(
                f"{file}: entry {number} is {raw!r}; it needs texts for {', '.join(NEEDED)}, the severity "
                f"one of {', '.join(SEVERITIES)}"
            )
    return whole
