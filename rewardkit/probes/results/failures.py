"""Failures: rewards that fail on everything, on some of what was tried, or do not come back."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewardkit.findings import Example, Finding
from rewardkit.probes.contract.hang import PATTERNS, of_patterns
from rewardkit.probes.results.evidence import EXAMPLES, Seen
from rewardkit.probes.results.sentences import LONGEST
from rewardkit.probes.runner import Outcome, Row, Tries
from rewardkit.probes.strategies.attempts import Probe
from rewardkit.probes.subjects.formats import shell
from rewardkit.probes.subjects.subject import Calibration
from rewardkit.probes.trials import Trial
from rewardkit.probes.verdicts import wilson
from rewardkit.scoring.calls import LATE, OUT_OF_RANGE

__all__ = ["ENDED", "WRONG_MODES", "constants", "failures", "hangs", "whole", "wrong_mode"]

ENDED = "ended its process"
OF_VALUES = {"many_digits", "infinity", "not_a_number"}
KINDS = (
    ("out_of_range", OUT_OF_RANGE),
    ("not_finite", "a score must be finite"),
    ("wrong_length", "completions"),
    ("wrong_type", "of type "),
    ("wrong_type", "not a list of scores"),
)


def whole(calibration: Calibration, tries: Tries) -> Iterator[Finding]:
    """The one finding of a reward that fails, abstains or is the same everywhere, or is deaf to the truth."""
    outcomes = [outcome for _, outcome in calibration.pool]
    if not outcomes:
        return
    if not calibration.rewards:
        yield _always(calibration, outcomes)
    elif tries.extent.constant and "slow" not in calibration.modes.values() and not _failed(outcomes):
        evidence = {"value": calibration.rewards[0], "tried": tries.extent.count, "calls": tries.calls}
        evidence["unjudged"] = tries.calls - tries.extent.count
        yield _of_all("constant", "calibration", evidence, calibration)
    elif calibration.mode in WRONG_MODES:
        yield wrong_mode(calibration.mode, tries.calls)


def _failed(outcomes: Iterable[Outcome]) -> bool:
    return any(outcome.failures for outcome in outcomes)


def constants(calibration: Calibration) -> Iterator[Finding]:
    """The findings of parts where every completion earns the same, while others are told apart."""
    for part, (value, count) in calibration.constants.items():
        evidence = {"value": value, "tried": count, "calls": count}
        yield Finding("constant", "high", None, evidence, count, family="calibration", part=part)


ALWAYS = {
    "always_late": "does not come back in time",
    "always_errors": "fails",
    "always_abstains": "gives no reward",
}


def _always(calibration: Calibration, outcomes: Sequence[Outcome]) -> Finding:
    """The finding of a reward that judged none of the rollouts."""
    reasons = Counter(reason for outcome in outcomes for reason in outcome.errors.values())
    reason = reasons.most_common(1)[0][0] if reasons else "no component is for these rows"
    failed = _failed(outcomes)
    late = all(outcome.late for outcome in outcomes)
    code = "always_late" if late else "always_errors" if failed else "always_abstains"
    kind = _kind(reason) if code == "always_errors" else ""
    evidence = {"value": 1.0, "what": ALWAYS[code], "tried": len(outcomes), "reason": _short(reason)}
    if kind in SAYS:
        evidence["says"] = f"{SAYS[kind]} on each of {len(outcomes)} completions: {_short(reason)}"
        return _of_all(kind, "contract", evidence, calibration)
    return _of_all(code, "calibration", evidence, calibration)


def _of_all(code: str, family: str, evidence: Mapping[str, Any], calibration: Calibration) -> Finding:
    row, outcome = calibration.pool[0]
    shown = {name: row[name] for name in row if name in ("completion", "ground_truth")}
    example = _example(row, shown, outcome, code)
    return Finding(
        code, "high", None, evidence, len(calibration.pool), None, family=family, examples=(example,)
    )


WRONG_MODES = {"deaf": "ignores_truth", "inverted": "inverted"}


def wrong_mode(mode: str, tried: int, part: str = "") -> Finding:
    """The finding of a reward that does not heed the truth, or pays against it, on all rows or on a part."""
    return Finding(
        WRONG_MODES[mode],
        "high",
        None,
        {"value": 1.0, "tried": tried},
        tried,
        family="calibration",
        part=part,
    )


def failures(trials: Sequence[Trial], calibration: Calibration, seen: Seen) -> Iterator[Finding]:
    """What raised, or gave no score, on what was tried: one finding a component and kind of failure."""
    found: dict[tuple[str, str], list[tuple[str, Row, Any, Outcome, str]]] = defaultdict(list)
    tried = 0
    for row, outcome in calibration.pool:
        tried += 1
        for name, reason in outcome.failures.items():
            found[name, _kind(reason)].append(("", row, row.get("rollout_id"), outcome, reason))
    for trial in trials:
        if not seen.has_truth(trial.attempt):
            continue
        for completion, got in zip(trial.attempt.completions, trial.outcomes, strict=True):
            if got is None:
                continue
            tried += 1
            for name, reason in got.failures.items():
                row = seen.variants.of(trial.subject.columns, completion, **trial.attempt.columns)
                found[name, _kind(reason)].append(
                    (trial.probe.name, row, trial.subject.rollout_id, got, reason)
                )
    for name, kind in _one_cause(found):
        items = found[name, kind]
        late = kind in ("hang", "dies")
        where = {probe for probe, *_ in items}
        own = sum(not probe for probe, *_ in items)
        of_values = where <= OF_VALUES
        shown = f"{len(items)} of {tried} completions"
        yield Finding(
            kind,
            "high" if late or own or kind == "wrong_length" else "warn",
            name if len(seen.components()) > 1 else None,
            {
                "value": len(items) / tried,
                **({} if kind == "hang" else {"interval": wilson(len(items), tried)}),
                "found": len(items),
                "tried": tried,
                "of_rollouts": own,
                "reason": _reasons(items),
                "says": f"{SAYS.get(kind, 'fails')} on {shown} that were tried: {_reasons(items)}",
                "what": f"{shown} that were tried (where one hangs, the others of its kind are not tried)",
                "seconds": _seconds(items[0][4]),
            },
            tried,
            None,
            family="hang" if kind == "hang" else "special_values" if of_values else "contract",
            examples=tuple(
                _example(row, seen.shown(row), outcome, probe or "rollout")
                for probe, row, _, outcome, _ in _shortest(items)
            ),
        )


SAYS = {
    "dies": "ends the process that it runs in",
    "out_of_range": "leaves its declared range",
    "not_finite": "gives what is no finite number",
    "wrong_type": "gives what is no number",
    "wrong_length": "gives lists of the wrong length",
}


def _one_cause(found: Any) -> list[tuple[str, str]]:
    """The failures without those of a component that only passes on what another, or a field, did."""
    kept: dict[tuple[str, str], tuple[str, str]] = {}
    for name, kind in found:
        reason = found[name, kind][0][4]
        field = re.match(r"field '(\w+)' failed", reason)
        kept.setdefault((field.group(1) if field else name, kind), (name, kind))
    return list(kept.values())


def _kind(reason: str) -> str:
    if LATE in reason:
        return "hang"
    if ENDED in reason:
        return "dies"
    if "returned" in reason or OUT_OF_RANGE in reason:
        return next((kind for kind, text in KINDS if text in reason), "raises")
    return "raises"


def _seconds(reason: str) -> float:
    found = re.search(rf"{LATE} ([\d.]+) s", reason)
    return float(found.group(1)) if found else math.nan


def _reasons(items: Sequence[Any]) -> str:
    """The commonest reason, and how many others there are of another type of error."""
    types = Counter(reason.partition(":")[0] for *_, reason in items)
    (first, count), *others = types.most_common()
    reason = next(_short(reason) for *_, reason in items if reason.partition(":")[0] == first)
    if not others:
        return reason
    return f"{reason} ({count}); " + ", ".join(f"{_short(name)} ({many})" for name, many in others[:3])


def _short(reason: str) -> str:
    return reason if len(reason) <= 200 else reason[:197] + "..."


def _shortest(items: Sequence[Any]) -> list[Any]:
    """The clearest: those with the shortest completions, each another one."""
    by_text = {str(item[1].get("completion")): item for item in reversed(items)}
    ordered = [by_text[text] for text in sorted(by_text, key=len)]
    firsts = {item[4].partition(":")[0]: item for item in reversed(ordered)}  # one of each type of error
    ranked = [*sorted(firsts.values(), key=ordered.index), *ordered]
    return list({id(item): item for item in ranked}.values())[:EXAMPLES]


def _example(row: Row, shown: dict[str, Any], outcome: Outcome, probe: str) -> Example:
    said = next(iter({**outcome.errors, **outcome.failures}.values()), "")
    return Example(row.get("rollout_id"), shown, outcome.reward, None, probe=probe, said=_short(said))


def hangs(tries: Tries, calibration: Calibration, seen: Seen, probes: Sequence[Probe]) -> Iterator[Finding]:
    """A completion on which a call does not come back, the shortest there is: one is enough."""
    subject = calibration.stand_in
    if subject is None:
        return
    if not subject.format.opening:
        subject = replace(subject, format=shell(subject.reference))
    planned = [(probe, attempt) for probe in probes for attempt in probe.attempts(subject)]
    if PATTERNS in probes:
        planned += [(PATTERNS, item) for item in of_patterns(seen.reward.functions, subject)]
    planned.sort(key=lambda item: len(item[1].completions[0]))
    rows = [seen.variants.of(subject.columns, attempt.completions[0]) for _, attempt in planned]
    siblings = [subject.siblings] * len(rows) if subject.siblings else []
    outcomes = tries.outcomes(rows, siblings, until=_hangs)
    tried = sum(outcome is not None for outcome in outcomes)
    for (probe, _), row, outcome in zip(planned, rows, outcomes, strict=True):
        if outcome is not None and _hangs(outcome):
            name, reason = next(iter(outcome.failures.items()))
            kind, length = _kind(reason), len(str(row["completion"]))
            what = probe.says if length <= LONGEST else f"{probe.says}, of {length:,} characters"
            evidence = {"value": 1.0, "seconds": _seconds(reason), "reason": _short(reason), "what": what}
            if kind == "dies":
                evidence["says"] = f"{SAYS[kind]} on {what}: {_short(reason)}"
            yield Finding(
                kind,
                "high" if length <= LONGEST else "info",
                name if len(seen.components()) > 1 else None,
                {**evidence, "length": length},
                tried,
                tries.limit.seconds if tries.limit else None,
                family="hang" if kind == "hang" else "contract",
                examples=(_example(row, seen.shown(row), outcome, probe.name),),
            )
            return


def _hangs(outcome: Outcome) -> bool:
    """Whether a call was ended, or ended its process."""
    return outcome.late or any(ENDED in reason for reason in outcome.errors.values())
