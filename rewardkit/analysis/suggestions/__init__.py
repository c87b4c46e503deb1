"""What suggest() proposes: rules, each a change of the reward that answers findings."""

from rewardkit.analysis.suggestions.proposal import Fitting
from rewardkit.analysis.suggestions.readings import readings
from rewardkit.analysis.suggestions.reward_changes import (
    gate_component,
    graduate,
    pay_component,
    remove_component,
    soften_length,
)
from rewardkit.analysis.suggestions.weights import declared_weights

__all__ = ["RULES"]

RULES: tuple[Fitting, ...] = (
    graduate,
    readings,
    pay_component,
    declared_weights,
    gate_component,
    soften_length,
    remove_component,
)
"""In the order in which their changes are told where nothing ranks them."""
