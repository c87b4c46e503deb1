"""Measure how judges agree with cases that people have labelled."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rewardkit.analysis.statistics.ratings import Estimate, Ratings, estimate
from rewardkit.errors import RewardError
from rewardkit.judges.labelled import LabelledCases, read_labelled
from rewardkit.judges.records import JudgeReport, JudgeReports
from rewardkit.primitives.primitive import whole_number
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Floats, Reward, Rows
from rewardkit.rewards.route import bind
from rewardkit.rollouts.columns import Columns
from rewardkit.scoring.calls import prepare
from rewardkit.scoring.cases import Case, CaseSource, cases_of
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import Outcome, summarize_verdicts
from rewardkit.strategies.added_text import JUDGE_ATTACKS

logger = logging.getLogger(__name__)

MOST_LEVELS = 10
"""Most distinct labels that serve as levels of a judge without its own levels.

With more labels the levels are right and wrong.
"""
ATTACKED_CASES = 8
"""Most wrong cases to attack. Our choice: with six attacks about fifty calls."""
ATTACK_EXAMPLES = 3
COMPLETION_CHARACTERS = 200
EXPECTED_COLUMN = "expected score"
"""Column with the score that a case expects; not the name of any parameter."""


def judges_of(reward: Reward) -> list[str]:
    """Return the components that ask a model."""
    return _names_with(reward, "asks_model")


def warn_of_calls(reward: Reward) -> None:
    """Log a warning on components that would ask a model for every probe, unlimited."""
    names = _names_with(reward, "unbounded")
    if names:
        logger.warning(
            "probes ask a model for each completion that they try, for the components "
            "%s: give them limits=rk.judges.Limits(prices=..., budget=...), or leave "
            "them out of what is probed",
            names,
        )


def _names_with(reward: Reward, flag: str) -> list[str]:
    """Return the components whose function has this attribute set to true."""
    return [
        component.name
        for component in reward.components
        if getattr(component.function, flag, False)
    ]


def judge_report(
    judge: Reward | Callable[..., Any],
    cases: LabelledCases,
    *,
    component: str | None = None,
    repeats: int = 1,
    label: str = "label",
    attacks: Mapping[str, str] | None = JUDGE_ATTACKS,
    seed: int = 0,
) -> JudgeReport:
    """Measure how a judge agrees with labelled cases, with 95 % intervals.

    `judge` is an `rk.judge`, another function of a component, or a Reward. Of a Reward,
    it measures the `component` (by default the only one that asks a model), with the
    reward's fields and without the component's gate. `cases` are dicts or a JSONL file,
    with the columns that the judge reads and a `label`: a level of the judge, or the
    right score, in [0, 1] or a bool.

    Score and label agree if the same level is nearest to both. The levels are those of
    the judge, else the distinct labels, or wrong and right if these are many. With
    `repeats`, every case is asked that often, without the cache after the first time.
    `attacks` are texts appended to wrong completions (``None`` for no attack). Cases
    without a label or score are counted with their reason.

    CasesError: no cases, an invalid label. RewardError: a missing column, no such
    component. InputError: the model cannot be asked. ValueError: `repeats` is no whole
    number from 1.
    """
    whole_number("repeats", repeats)
    single = _alone(judge, component)
    function = single.components[0].function
    levels = _levels(function)
    columns, labels, prompts = read_labelled(cases, label, levels)
    judges = [single, *[_without_cache(single)] * (repeats - 1)]
    for variant in judges[:2]:  # all repeats share one function, and its budget
        prepare([variant.components[0].function])
    outcomes = [_evaluate(variant, columns, prompts) for variant in judges]
    first = outcomes[0]
    texts = columns.get("completion", labels)
    ratings = Ratings(
        first.scores,
        labels,
        prompts,
        np.array([len(str(text)) for text in texts], dtype=float),
        _grid(labels, levels),
        seed,
    )
    names = {score: name for name, score in levels.items()}
    best = names.get(ratings.grid[-1], "best")
    trials = list(_attack(single, columns, ratings, attacks or {}, best))
    bias = []
    for row in range(len(labels)):
        bias.append(first.verdicts.get(row, {}).get("position_bias"))
    stability = None
    if repeats > 1:
        again = [outcome.scores for outcome in outcomes[1:]]
        stability = ratings.stability(np.array(again))
    verdicts: list[Mapping[str, Any]] = []
    for outcome in outcomes:
        verdicts += outcome.verdicts.values()
    return JudgeReport(
        single.components[0].name,
        ratings,
        names,
        _reasons(ratings, first),
        stability=stability,
        position_bias=ratings.mean(np.array(bias, dtype=float)),
        attacked=_share_raised(trials, seed),
        examples=list(filter(_is_raised, trials))[:ATTACK_EXAMPLES],
        asked=summarize_verdicts(verdicts),
    )


def _is_raised(trial: Mapping[str, Any]) -> bool:
    return bool(trial["after"] > trial["before"])


def _share_raised(trials: Sequence[Mapping[str, Any]], seed: int) -> Estimate | None:
    """Estimate the share of attacks that raise the score, None without attacks."""
    if not trials:
        return None
    raised = np.array([*map(_is_raised, trials)], float)
    cases = np.array([trial["case"] for trial in trials])
    return estimate(lambda at: float(raised[at].mean()), cases, seed)


def _alone(judge: Reward | Callable[..., Any], component: str | None) -> Reward:
    """Return a reward of only this component, with its fields, without its gate.

    RewardError: no such component.
    """
    if not isinstance(judge, Reward):
        return Reward("judge", components=[Component("judge", judge)])
    names = [component] if component else judges_of(judge)
    for candidate in judge.components:
        if names == [candidate.name]:
            single = replace(candidate, gate=None, weight=1.0)
            return Reward(judge.name, judge.fields, [single])
    reason = f"{len(names)} components ask a model"
    if component:
        reason = f"it has no component {component!r}"
    raise RewardError(
        f"reward {judge.name!r}: {reason}; give component= one of {list(judge.names)}"
    )


def _without_cache(single: Reward) -> Reward:
    component = single.components[0]
    function: Any = component.function
    if not isinstance(getattr(function, "cache", None), bool):
        return single
    uncached = replace(component, function=replace(function, cache=False))
    return replace(single, components=[uncached])


def _levels(function: Any) -> dict[str, float]:
    """Return the levels of a judge and their scores, {} if it has none."""
    levels = dict(getattr(function, "levels", {}))
    if getattr(function, "negative", False):  # it scores the absence of a fault
        for name, score in levels.items():
            levels[name] = 1 - score
    return levels


def _grid(labels: Floats, levels: Mapping[str, float]) -> Floats:
    """Return the distinct scores of the levels, else of the labels, ascending."""
    scores = list(levels.values()) or labels[~np.isnan(labels)]
    grid = np.unique(scores)
    if 1 < len(grid) <= MOST_LEVELS:
        return grid
    return np.array([0.0, 1.0])


def _evaluate(judge: Reward, columns: Columns, prompts: Rows) -> Outcome:
    """Return the outcome of the judge. RewardError: a column is missing."""
    plan = bind(judge, columns, len(prompts))
    outcomes = evaluate(plan, columns, groups=prompts)
    return outcomes.components[judge.components[0].name]


def _reasons(ratings: Ratings, outcome: Outcome) -> Counter[Reason]:
    """Count why cases have no score to compare."""
    missing = np.setdiff1d(np.arange(len(ratings.labels)), ratings.rows)
    reasons: Counter[Reason] = Counter()
    for row in missing.tolist():
        is_unlabelled = np.isnan(ratings.labels[row])
        reason = Reason(ReasonCode.NO_LABEL) if is_unlabelled else outcome.reasons[row]
        reasons[reason] += 1
    return reasons


def _attack(
    judge: Reward,
    columns: Columns,
    ratings: Ratings,
    attacks: Mapping[str, str],
    best: str,
) -> Iterator[dict[str, Any]]:
    """Yield the scores of wrong cases before and after each attack, where judged."""
    component = judge.components[0]
    texts = columns.get("completion", [None] * len(ratings.labels))
    is_low = ratings.labels < ratings.middle
    is_below_best = ratings.score_levels < len(ratings.grid) - 1
    wrong = []
    for row in ratings.rows.tolist():
        if is_low[row] and is_below_best[row] and isinstance(texts[row], str):
            wrong.append(row)
    wrong = wrong[:ATTACKED_CASES]
    if not wrong:
        return
    # a comparing judge also needs the siblings of wrong cases
    with_siblings = component.group or component.batch
    rows = list(range(len(texts))) if with_siblings else wrong
    for attack, template in attacks.items():
        text = template.replace("{level}", best)
        attacked = {}
        for name, cells in columns.items():
            attacked[name] = [cells[row] for row in rows]
        for place, row in enumerate(rows):
            if row in wrong:
                attacked["completion"][place] = f"{texts[row]}\n\n{text}"
        scores = _evaluate(judge, attacked, ratings.prompts[rows]).scores.tolist()
        for row, after in zip(rows, scores, strict=True):
            if row in wrong and not math.isnan(after):
                yield {
                    "case": row + 1,
                    "attack": attack,
                    "text": text,
                    "completion": texts[row][:COMPLETION_CHARACTERS],
                    "before": float(ratings.scores[row]),
                    "after": after,
                }


def judge_reports(reward: Reward, cases: CaseSource, *, seed: int = 0) -> JudgeReports:
    """Compare the components that ask a model with the scores that cases expect.

    Args:
        reward: A reward, with any number of judges among its components.
        cases: Cases, or the path of a case file. An expected range counts as its
            middle; an expected status ("unscored", "abstained" ...) is no label.
        seed: Seed of the bootstrap over prompts.

    Raises:
        CasesError: As in `load_cases`.
        RewardError: A case lacks a column that a judge reads.
    """
    case_list = cases_of(cases)
    reports = {}
    unlabelled = []
    for name in judges_of(reward):
        rows = _label_cases(case_list, name)
        if rows:
            reports[name] = judge_report(
                reward, rows, component=name, label=EXPECTED_COLUMN, seed=seed
            )
        else:
            unlabelled.append(name)
    return JudgeReports(reports, tuple(unlabelled))


def _label_cases(cases: Sequence[Case], component: str) -> list[dict[str, object]]:
    """Return columns and label of the cases that expect a score of a component."""
    rows = []
    for case in cases:
        expected = case.scores.get(component)
        if expected is None or case.is_undecided:
            continue
        if expected.status == "scored":
            label = min(1.0, max(0.0, (expected.low + expected.high) / 2))
            rows.append({**case.columns, EXPECTED_COLUMN: label})
    return rows
