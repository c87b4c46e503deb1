"""compare(): two Scores -> what differs between them, rows matched by `rollout_id`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rewardkit.analysis.before_after import before_after
from rewardkit.analysis.comparison import Comparison, EqualKL
from rewardkit.analysis.definition_changes import definition_changes
from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.forecast import forecast
from rewardkit.analysis.matching import MatchedRows, match_rows
from rewardkit.analysis.statistics.selection import at_equal_kl
from rewardkit.errors import InputError, preview
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.scoring.cases import Case, load_cases
from rewardkit.scoring.check import check
from rewardkit.scoring.scores import Scores

NO_CURVES = np.array([])


def compare(
    scores_a: Scores,
    scores_b: Scores,
    *,
    cases: Sequence[Case] | str | Path | None = None,
    training: Any = None,
    label: str | None = None,
    seed: int = 0,
    timeout: float | None = None,
) -> Comparison:
    """Compare two scored tables, from their definitions to what they would select for.

    Two rewards on the same rollouts, or two runs: rows are matched by `rollout_id`, the
    others are counted. Findings are those of all rows of each side.

    Args:
        scores_a: The scores before.
        scores_b: The scores after.
        cases: Cases, or their file, to check where a reward can be run; one from a run
            record cannot.
        training: Settings of the trainer, as `Training.of` takes them.
        label: A column that is trusted, as in `diagnose` and `forecast`.
        seed: Of the bootstrap over the prompts of A.
        timeout: Seconds for each call of the cases, as in `check`.

    Raises:
        InputError: No Scores, no rollout in common, rollouts of other prompts under the
            same `rollout_id`, one that stands twice, or cases, settings or a label that
            cannot be used.
    """
    for scores in (scores_a, scores_b):
        if not isinstance(scores, Scores):
            raise InputError(
                "compare takes two Scores, as rk.score or rk.load_scores give them, "
                f"not {preview(scores)}"
            )
    settings = Training.of(training)
    matched = match_rows(scores_a, scores_b)
    case_changes = None
    if cases is not None:
        case_changes = _compare_cases(scores_a.reward, scores_b.reward, cases, timeout)
    a, b = (
        diagnose(scores, training=settings, label=label, seed=seed)
        for scores in (scores_a, scores_b)
    )
    changed = before_after(a, b, matched, seed=seed)
    return Comparison(
        **vars(changed),
        changes=definition_changes(scores_a.reward.record(), scores_b.reward.record()),
        run=_run_changes(scores_a, scores_b),
        cases=case_changes,
        forecast=_compare_selection(a, b, matched, label),
    )


def _compare_cases(
    a: Reward, b: Reward, source: Sequence[Case] | str | Path, timeout: float | None
) -> dict[str, Any]:
    """Return which cases B passes and A fails (`gained`), and the reverse (`lost`).

    What a case expects of a component that one reward lacks counts for neither. Where a
    reward is from a run record and cannot be run, there is a `reason` in their place.
    """
    cases = load_cases(source) if isinstance(source, str | Path) else source
    shared = {"reward", *set(a.names).intersection(b.names)}
    changes: dict[str, Any] = {"cases": len(cases), "a": None, "b": None}
    changes |= {"gained": None, "lost": None, "compared": 0, "reason": None}
    failed: dict[str, set[str]] = {}
    recorded = []
    for side, reward in (("a", a), ("b", b)):
        if not reward.can_run:
            recorded.append(side.upper())
            continue
        result = check(reward, cases, ignore={*a.names, *b.names}, timeout=timeout)
        changes[side] = {"passed": result.passed, "failed": result.failed}
        failed[side] = {miss.case for miss in result.misses if miss.what in shared}
    if recorded:
        changes["reason"] = (
            f"the reward of {' and '.join(recorded)} was read from a run record and "
            "cannot be run"
        )
        return changes
    names = []
    for case in cases:
        if case.reward is not None or shared.intersection(case.scores):
            names.append(case.name)
    changes["compared"] = len(names)
    changes["gained"] = [name for name in names if name in failed["a"] - failed["b"]]
    changes["lost"] = [name for name in names if name in failed["b"] - failed["a"]]
    return changes


def _compare_selection(
    a: Diagnosis, b: Diagnosis, matched: MatchedRows, label: str | None
) -> EqualKL:
    """Return what both rewards select for among the matched rows, at equal KL.

    Where both scored the same completions, the primary component of each side is
    followed on both: one measure for what two rewards pick.
    """
    sides = [("A", a.scores, matched.a), ("B", b.scores, matched.b)]
    measures = {}
    if not matched.counts["other_completions"]:
        for side, scores, own in sides:
            primary = scores.reward.primary
            if not scores.reward.routed_by:
                measures[f"{primary} ({side})"] = scores.score(primary)[own]
    columns = list(measures.values())
    if len(columns) == 2 and np.array_equal(columns[0], columns[1], equal_nan=True):
        measures = {a.scores.reward.primary: columns[0]}
    first, second = (
        replace(
            scores,
            table=scores.table.iloc[own].assign(**measures),
            rollouts=scores.rollouts.select(own),
        )
        for _, scores, own in sides
    )
    if not np.array_equal(first.rollouts.prompts, second.rollouts.prompts):
        reason = (
            "the rollouts in both are not of the same prompts, so nothing is compared "
            "at equal KL"
        )
        return EqualKL("tilted", NO_CURVES, {}, (reason,))
    options: dict[str, Any] = {
        "label": label,
        "columns": [*measures],
        "training": a.training,
        "seed": a.seed,
    }
    curves_a = forecast(first, **options).tilted
    curves_b = forecast(second, **options).tilted
    notes = []
    for side, curves in (("A", curves_a), ("B", curves_b)):
        if not len(curves):
            notes.append(f"{side} judges no row")
        elif curves.kl[-1] <= 0:
            notes.append(f"{side} selects nothing among these siblings")
    return EqualKL("tilted", *at_equal_kl(curves_a, curves_b), tuple(notes))


def _run_changes(a: Scores, b: Scores) -> dict[str, Any]:
    """Return what was not the same when the two were scored, A and B by name."""
    sides = []
    for scores in (a, b):
        versions = scores.run.get("versions", {})
        sides.append({"ignore_gates": scores.run.get("ignore_gates"), **versions})
    changes = {}
    for name in {**sides[0], **sides[1]}:
        pair = [side.get(name) for side in sides]
        if pair[0] != pair[1]:
            changes[name] = pair
    return changes
