"""Answers: what an analysis says to the five questions of its notebook, each from computed values."""

from __future__ import annotations

import pandas as pd

from rewardkit.analysis.context import truths
from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.forecast import Forecast
from rewardkit.analysis.suggestions.measure import FIGURES, Effect
from rewardkit.analysis.suggestions.suggestion import Suggestions
from rewardkit.analysis.view import View
from rewardkit.findings import counted, percent
from rewardkit.rollouts.logs.log import numeric
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

__all__ = ["answers", "followed"]


def followed(scores: Scores, label: str) -> str | None:
    """The label, where a forecast can follow it: a column of numbers; else ``None``."""
    return label if label and numeric(truths(column_values(scores.table[label]))) else None


def answers(diagnosis: Diagnosis, forecast: Forecast, advice: Suggestions) -> pd.DataFrame:
    """One row a question, with its answer in a sentence."""
    rows = {
        "Is there a signal?": "; ".join(map(_signal, diagnosis.views)),
        "Where does it come from?": "; ".join(map(_sources, diagnosis.views)),
        "What does it select for?": _selected(forecast),
        "What could be changed?": _changed(advice),
        "What would it give?": _given(advice),
    }
    return pd.DataFrame({"question": list(rows), "answer": list(rows.values())}, dtype=object)


def _signal(view: View) -> str:
    dead, several = int(view.dead.sum()), int((view.dead | view.live).sum())
    if not several:
        return f"{_where(view)}it cannot be told: no group has two completions with a reward"
    shown = counted(several, "group")
    return f"{_where(view)}in {percent(1 - dead / several)} of {shown} siblings earn differently"


def _sources(view: View) -> str:
    held = sorted(view.effective_weights.items(), key=lambda pair: -pair[1])
    if not held:
        return f"{_where(view)}it cannot be told"
    told = ", ".join(f"{name} {percent(share)}" for name, share in held[:3])
    return f"{_where(view)}of the squared advantage {told}"


def _where(view: View) -> str:
    return f"{view.part}: " if view.part else ""


def _selected(forecast: Forecast) -> str:
    if len(forecast.best_of) < 2:
        return forecast.verdict
    n = forecast.best_of.points[-1]
    return f"the best of {n:g} siblings against one at random: {forecast.verdict}"


def _changed(advice: Suggestions) -> str:
    if not advice.changes:
        return "; ".join(advice.notes) or "nothing is known here that would answer what was found"
    changes = counted(len(advice.changes), "change")
    best = [item for item in advice.changes if item.rank is not None]
    if best:
        improve = f"{counted(len(best), 'change')} improve{'s' * (len(best) == 1)}"
        return f"{improve} the order of the label for certain; first: {best[0].named}"
    if any(item.verdict for item in advice.changes):
        return f"none of {changes} improves the order of the label for certain"
    return f"{changes} to consider; which are right nobody knows without a label"


def _given(advice: Suggestions) -> str:
    """What the first change measures: the order of the label where there is one, else the groups' signal."""
    usable = [item for item in advice.changes if item.verdict != "harms"]
    if not usable:
        return "-"
    effects = {effect.figure: effect for effect in usable[0].effects}
    told = [_moved(effects[name]) for name in ("label_auc", "zero_std") if name in effects]
    return f"{usable[0].named}: {', '.join(told) or 'nothing that can be measured here'}"


def _moved(effect: Effect) -> str:
    held = " on prompts held out" if effect.held_out else ""
    return f"{FIGURES[effect.figure]} from {percent(effect.before)} to {percent(effect.after)}{held}"
