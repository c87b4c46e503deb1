"""Merging: what several parts of the rollouts show alike is one finding, with the rate over all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from statistics import fmean

from rewardkit.findings import Finding
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
    where, every = list(dict.fromkeys(item.part for item in items)), [item.evidence for item in items]
    items = sorted(items, key=lambda item: item.order)
    tried = sum(one["tried"] for one in every)
    evidence = {**items[0].evidence, "tried": tried, "parts": where}
    if found := sum(one.get("found", 0) for one in every):
        evidence |= {"found": found, "value": found / tried, "interval": wilson(found, tried)}
        if "gain" in evidence:
            evidence["gain"] = fmean([one["gain"] for one in every], [one["found"] for one in every])
    if "also" in evidence:
        evidence["also"] = list(dict.fromkeys(name for one in every for name in one["also"]))
    examples = chain.from_iterable(zip_longest(*(item.examples for item in items)))
    return replace(
        items[0],
        evidence=evidence,
        n=sum(item.n for item in items),
        examples=tuple(example for example in examples if example is not None)[:EXAMPLES],
        part="" if set(where) >= set(parts) else ", ".join(where),
    )
