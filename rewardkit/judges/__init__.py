"""Judges: components that ask a model by a rubric, about siblings, or a reward model.

README.md follows a question through the modules.
"""

from rewardkit.judges.comparing import pairwise, ranking
from rewardkit.judges.deepeval import from_deepeval
from rewardkit.judges.limits import Limits
from rewardkit.judges.reward_model import reward_endpoint, reward_model
from rewardkit.judges.rubric import judge

__all__ = [
    "Limits",
    "from_deepeval",
    "judge",
    "pairwise",
    "ranking",
    "reward_endpoint",
    "reward_model",
]
