"""Redaction: reasons of errors without what they may quote of a completion."""

from __future__ import annotations

import re
from dataclasses import replace

from rewardkit.findings import Example, Finding
from rewardkit.scoring.outcomes import STATUSES

_OWN_REASONS = re.compile(
    r"returned None|needs the siblings of its group|the gate on the whole reward has no value"
    r"|its gate needs [\w', ]+, which is missing|asks for the score of '\w+', which is missing"
)
_FAILED = re.compile(
    r"((?:field '\w+' failed: |its gate failed: )*)([A-Za-z_]\w*)(: .*?)?( \([\w.-]+:\d+\))?",
    re.DOTALL,
)


def redacted_reason(reason: str) -> str:
    """A reason without what it may quote of a completion: our words, the type of an error, its line stay."""
    status, opened, inner = reason.partition(" (")
    if opened and status in ("unscored", *STATUSES) and inner.endswith(")"):
        return f"{status} ({redacted_reason(inner[:-1])})"
    if _OWN_REASONS.fullmatch(reason):
        return reason
    if reason.startswith("returned "):
        return "returned [redacted]"
    if reason.startswith("no reward for "):
        return f"{reason.partition('=')[0]}=[redacted]"
    failed = _FAILED.fullmatch(reason)
    if failed is None:
        return "[redacted]"
    return (
        f"{failed[1]}{failed[2]}{': [redacted]' if failed[3] else ''}{failed[4] or ''}"
    )


OWN_WORDS = ("label_unusable", "not_enough")
"""Findings whose reason quotes names and numbers only."""
TEXTS = ("truths",)
"""Evidence that quotes rollouts; what a search found is said in their words, too."""


def redacted_finding(finding: Finding) -> Finding:
    """A finding without completions, truths and what reasons quote of them."""
    if finding.code in OWN_WORDS:
        return finding
    reason = str(finding.evidence.get("reason", ""))
    texts = (*TEXTS, "says") if finding.code == "exploit" else TEXTS
    evidence = {
        name: "[redacted]" if name in texts else value
        for name, value in finding.evidence.items()
    }
    if reason:
        for name, value in evidence.items():
            if isinstance(value, str):
                evidence[name] = value.replace(reason, redacted_reason(reason))
    examples = tuple(map(_redacted_example, finding.examples))
    return replace(finding, evidence=evidence, examples=examples)


def _redacted_example(example: Example) -> Example:
    said = example.said if not example.said or _FIGURES.fullmatch(example.said) else ""
    return replace(
        example,
        columns={},
        said=said or (redacted_reason(example.said) if example.said else ""),
    )


_FIGURES = re.compile(
    r"[-+\d.einfa]+, before [-+\d.einfa]+|took longer than [\d.]+ s|changed its argument '\w+'"
)
