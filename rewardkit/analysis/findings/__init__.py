"""The rules that diagnose() runs, by subject, with their thresholds."""

from rewardkit.analysis.findings import (
    components,
    groups,
    scored,
    shortcuts,
    sparsity,
    spread,
)
from rewardkit.findings import Rule

__all__ = ["RULES", "SCORED_RULES", "THRESHOLDS"]

SCORED_RULES: tuple[Rule, ...] = scored.RULES
"""Of all scored rows."""
RULES: tuple[Rule, ...] = (
    *sparsity.RULES,
    *groups.RULES,
    *spread.RULES,
    *components.RULES,
    *shortcuts.RULES,
)
"""Of a `View`, in their order: each rule gets the findings of those before it."""
THRESHOLDS = {
    name: default for rule in RULES for name, default in rule.thresholds.items()
}
"""Name -> where a number begins to matter; its source stands in the rule."""
