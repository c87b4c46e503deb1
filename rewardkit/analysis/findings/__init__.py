"""What diagnose() looks for: rules by subject, their thresholds and sentences."""

from rewardkit.analysis.findings import (
    components,
    groups,
    shortcuts,
    sparsity,
    spread,
    steps,
)
from rewardkit.analysis.findings.rule import Rule, thresholds_of

__all__ = ["RULES", "THRESHOLDS"]

RULES: tuple[Rule, ...] = (
    *sparsity.RULES,
    *groups.RULES,
    *spread.RULES,
    *components.RULES,
    *shortcuts.RULES,
    *steps.RULES,
)
"""In the order in which they run: each is told what those before it said."""
THRESHOLDS = thresholds_of(RULES)
"""Name -> where a number begins to matter; each stands with its source in the rule that has it."""
