"""Judges: components that ask a model: by a rubric, of pairs or of all siblings, or of a reward model.

judge(rubric, model=...)      a Component's function, async          rubric.py
pairwise, ranking(rubric ...) of the siblings of a group             comparing.py
-> question(...)            messages; hostile text between marks   questions.py
-> Session.ask(...)         kept, or asked for within Limits       session.py, cache.py, limits.py
-> read_object(...)         levels by schema; repaired once        questions.py
-> note(VERDICT, ...)       level, reason, raw answer, tokens      scoring/evaluate.py keeps it by row
"""

from rewardkit.judges.comparing import pairwise, ranking
from rewardkit.judges.limits import Limits
from rewardkit.judges.rubric import judge

__all__ = ["Limits", "judge", "pairwise", "ranking"]
