"""Merging: what several parts of the rollouts show alike is one finding, with the rate over all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

from rewardkit.findings import SEVERITIES, Example, Finding
from rewardkit.probes.results.evidence import EXAMPLES
from rewardkit.probes.verdicts import wilson

__all__ = ["merged"]


def merged(findings: Iterable[Finding], parts: Sequence[str]) -> list[Finding]:
    """The findings, with those of one code and component in several parts as one; of all `parts`, of none."""
    alike: dict[tuple[str, str | None], list[Finding]] = defaultdict(list)
    for item in findings:
        alike[item.code, item.component].append(item)
    return [_one(items, parts) if len(items) > 1 else items[0] for items in alike.values()]


def _one(items: Sequence[Finding], parts: Sequence[str]) -> Finding:
    """One finding of several: as bad as the worst, with pooled rates and the clearest example of each."""
    worst = min(items, key=lambda item: (SEVERITIES.index(item.severity), -item.evidence.get("risk", 0.0)))
    where = list(dict.fromkeys(item.part for item in items))
    evidence = {**worst.evidence, **_pooled(items), "parts": where}
    if "also" in worst.evidence:
        others = (name for item in items for name in item.evidence.get("also", ()))
        evidence["also"] = list(dict.fromkeys(others))
    return replace(
        worst,
        evidence=evidence,
        n=sum(item.n for item in items),
        examples=_clearest([worst, *(item for item in items if item is not worst)]),
        part="" if set(where) >= set(parts) else ", ".join(where),
    )


def _pooled(items: Sequence[Finding]) -> dict[str, Any]:
    """The rate over all parts, and what was gained on average where it was found."""
    if not all("tried" in item.evidence for item in items):
        return {}
    if not all({"found", "interval"} <= set(item.evidence) for item in items):
        return {"tried": sum(item.evidence["tried"] for item in items)}
    found = sum(item.evidence["found"] for item in items)
    tried = sum(item.evidence["tried"] for item in items)
    pooled = {"found": found, "tried": tried, "value": found / tried, "interval": wilson(found, tried)}
    if found and all("gain" in item.evidence for item in items):
        pooled["gain"] = sum(item.evidence["gain"] * item.evidence["found"] for item in items) / found
    return pooled


def _clearest(items: Iterable[Finding]) -> tuple[Example, ...]:
    """The first example of each, then the second of each, up to a number."""
    rounds = chain.from_iterable(zip_longest(*(item.examples for item in items)))
    return tuple([example for example in rounds if example is not None][:EXAMPLES])
