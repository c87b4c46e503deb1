"""What diagnose() looks for: rules by subject, their thresholds and sentences."""

from rewardkit.analysis.findings import (
    components,
    groups,
    shortcuts,
    sparsity,
    spread,
    steps,
)
from rewardkit.findings import Rule

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
THRESHOLDS = {
    name: default for item in RULES for name, default in item.thresholds.items()
}
"""Name -> where a number begins to matter; each stands with its source in the rule that has it."""
