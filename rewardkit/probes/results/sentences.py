"""What findings of probes say, and what to do about them: the sentences of findings.toml, filled."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from rewardkit.findings import PROBED, Finding, counted, percent
from rewardkit.strategies.attempts import BEATS

LONGEST = 40_000
"""Characters that a completion may well have: some ten thousand tokens. A hang on more is for information."""

OTHERWISE = "See which component pays: rk.explain(reward, {...}) with the columns of the example."

_TABLE = tomllib.loads(
    (files(__package__) / "findings.toml").read_text(encoding="utf-8")
)


def _column(name: str) -> dict[str, Any]:
    """Family, kind or code -> what its row has under this name."""
    return {
        key: row[name]
        for rows in _TABLE.values()
        for key, row in rows.items()
        if name in row
    }


CLAIMS, SAYINGS, FIXES = _column("claim"), _column("says"), _column("fix")
EXPLAINS = _column("explains")
INSTEAD: Sequence[tuple[str, Callable[[Finding], Any]]] = (
    ("fix_without_truth", lambda finding: not finding.evidence.get("truth", True)),
    (
        "fix_of_list",
        lambda finding: finding.evidence.get("answers") in ("list", "json"),
    ),
    ("fix_of_component", lambda finding: finding.component),
)
"""Column of other fixes -> where they fit better."""


def _said(finding: Finding) -> str:
    template = SAYINGS.get(finding.code) or SAYINGS[str(finding.evidence["kind"])]
    return str(template.format_map(_phrases(finding)))


def _phrases(finding: Finding) -> dict[str, Any]:
    """The evidence of a finding, and the phrases that are made of it."""
    e = finding.evidence
    says = str(e.get("says", "")).rstrip(".")
    found, tried = (
        int(e.get("found", e.get("tried", 1))),
        int(e.get("tried", finding.n)),
    )
    gain = percent(e.get("gain", math.nan))
    others, rollouts = (
        e.get("unjudged", 0),
        counted(e.get("rollouts", 0), "right rollout"),
    )
    return {
        **e,
        "claim": CLAIMS.get(finding.code) or CLAIMS.get(finding.family, ""),
        "Says": f"{says[:1].upper()}{says[1:]}",
        "says": says,
        "who": ""
        if says[:1].isupper()
        else "The component "
        if finding.component
        else "The reward ",
        "gain": gain,
        "here": percent(e.get("here", math.nan)),
        "average": f"; {gain} on average of {finding.n} prompts"
        if finding.n > 1
        else "",
        "earned": _earned(e),
        "on": f"on {found} of {counted(tried, 'prompt')}",
        "many": f"All {tried:,}" if found == tried else f"{found:,} of {tried:,}",
        "gate": e.get("on"),
        "alike": f"{others:,} others got none" if others else "whatever was written",
        "paid": f" It comes from {e['paid_by']}." if e.get("paid_by") else "",
        "unpaid": f" {rollouts} went unpaid: {e['unpaid']}."
        if e.get("rollouts")
        else "",
        "stops": ""
        if e.get("length", 0) > LONGEST
        else " One such completion stops the training.",
    }


def _earned(e: Mapping[str, Any]) -> str:
    """What a strategy earned against what being right earns; where it holds the answer, written properly."""
    if e.get("beyond"):
        return "earned more than any rollout"
    best = "the right answer" if e.get("truth", True) else "the best rollout"
    if e.get("knows") in ("known", "mark"):
        best = "a proper answer"
    gain = e.get("gain", 0.0)
    if gain < 0.95:
        return f"closed {percent(gain)} of the gap to {best}"
    return f"beat {best}" if gain > BEATS else f"earned about as much as {best}"


PROBED |= dict.fromkeys(SAYINGS, _said)


def fix_for(finding: Finding) -> str:
    """What to do next about a finding, in one line.

    >>> fix_for(Finding("one_off", "high", None, {}, 8, family="near_misses")).partition(" ")[0]
    'Compare'
    """
    fixes = [_column(name) for name, fits in INSTEAD if fits(finding)] + [FIXES]
    found = (
        column.get(key) for key in (finding.code, finding.family) for column in fixes
    )
    return str(next(filter(None, found), OTHERWISE))


def components_at_fault(
    weights: Mapping[str, float],
    scores: Mapping[str, float],
    before: Mapping[str, float],
) -> list[tuple[str, float]]:
    """Components by how much of a change in reward they make, the largest first."""
    changes: dict[str, float] = {}
    for name, weight in weights.items():
        new, old = scores.get(name, math.nan), before.get(name, math.nan)
        change = weight * (
            (0.0 if math.isnan(new) else new) - (0.0 if math.isnan(old) else old)
        )
        if abs(change) > 1e-9:
            changes[name] = change
    return sorted(changes.items(), key=lambda item: -abs(item[1]))
