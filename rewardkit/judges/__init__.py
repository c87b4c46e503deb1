"""Judges: components that ask a model by a rubric, of siblings, or a reward model.

judge(rubric, model=...)      a Component's function, async          rubric.py pairwise,
ranking(rubric ...) of the siblings of a group             comparing.py -> question(...)
messages; hostile text between marks   questions.py -> Session.ask(...)         cached,
or asked for within Limits     session.py, cache.py, limits.py -> read_object(...)
levels by schema; repaired once        questions.py -> note(VERDICT, ...)       level,
reason, raw answer, tokens      scoring/evaluate.py keeps it by row

reward_model(name_or_path), reward_endpoint(url, model=...)   the logit of a trained
reward model from_deepeval(metric)                                         a metric of
DeepEval
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
