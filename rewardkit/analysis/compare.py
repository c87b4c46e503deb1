"""compare(): two Scores -> what differs between them, rows matched by `rollout_id`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rewardkit.analysis.comparison.comparison import Comparison, EqualKL
from rewardkit.analysis.comparison.definition_changes import definition_changes
from rewardkit.analysis.comparison.figures import (
    advantage_signs,
    group_signal,
    rank_agreement,
    reward_deltas,
)
from rewardkit.analysis.comparison.matched import match_rows, side_by_side
from rewardkit.analysis.diagnosis import Diagnosis, diagnose
from rewardkit.analysis.forecast import forecast
from rewardkit.analysis.statistics.groups import Codes
from rewardkit.analysis.statistics.selection import at_equal_kl
from rewardkit.errors import InputError, preview
from rewardkit.findings import SEVERITIES, Finding
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.scoring.cases import Case, check, load_cases
from rewardkit.scoring.scores import Scores


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
    """What differs between two scored tables: from their definitions to what they would select for.

    Two rewards on the same rollouts, or two runs: rows are matched by `rollout_id`, the others are counted.
    Advantages and findings are those of all rows of each side, under the settings of `training`; `label` is
    a column that is trusted, as in `diagnose` and `forecast`. `cases` are checked where a reward can be run,
    which one from a record cannot; `timeout` bounds each call there, as in `check`. Intervals are a bootstrap
    over the prompts of A, seeded. InputError: no Scores, no rollout in common, rollouts of other prompts
    under the same `rollout_id`, one that stands twice, cases, settings or a label that cannot be used.
    """
    for scores in (scores_a, scores_b):
        if not isinstance(scores, Scores):
            raise InputError(
                f"compare takes two Scores, as rk.score or rk.load_scores give them, not {preview(scores)}"
            )
    training = Training.of(training)
    rows, counts = match_rows(scores_a, scores_b)
    checked = (
        None
        if cases is None
        else _checked(scores_a.reward, scores_b.reward, cases, timeout)
    )
    a, b = (
        diagnose(scores, training=training, label=label, seed=seed)
        for scores in (scores_a, scores_b)
    )
    matched = side_by_side(a, b, rows, counts, seed=seed)
    unlabelled = dict.fromkeys(
        view.context.why_no_label for side in (a, b) for view in side.views
    )
    first, second = _by_key(a), _by_key(b)
    both = [(was, second[key]) for key, was in first.items() if key in second]
    return Comparison(
        a,
        b,
        table=matched.table,
        matching=matched.counts,
        changes=definition_changes(scores_a.reward.record(), scores_b.reward.record()),
        run=_run(scores_a, scores_b),
        rewards=reward_deltas(matched),
        advantages=advantage_signs(matched),
        ranks=rank_agreement(matched),
        signal=group_signal(matched)
        | {"all_a": _without_gradient(a), "all_b": _without_gradient(b)},
        cases=checked,
        new=_only(b, a),
        gone=_only(a, b),
        graded=tuple((was, now) for was, now in both if was.severity != now.severity),
        forecast=_forecast(a, b, rows, label, same=not counts["other_completions"]),
        notes=(
            *matched.notes,
            *(f"the label is not used: {why}" for why in unlabelled if why),
        ),
    )


def _checked(
    a: Reward, b: Reward, given: Sequence[Case] | str | Path, timeout: float | None
) -> dict[str, Any]:
    """Which cases B passes and A misses (`gained`), and the other way round (`lost`).

    One file serves both: what a case expects of a component that one reward lacks counts for neither. Where a
    reward is one from a run record, which cannot be run, there is a `reason` in place of them.
    """
    cases = load_cases(given) if isinstance(given, str | Path) else given
    shared = {"reward", *set(a.names).intersection(b.names)}
    asked = [
        case.name
        for case in cases
        if case.reward is not None or shared.intersection(case.scores)
    ]
    found: dict[str, Any] = {
        "cases": len(cases),
        "a": None,
        "b": None,
        "gained": None,
        "lost": None,
    }
    missed = {}
    for name, reward in (("a", a), ("b", b)):
        if all(inner.recorded is None for inner in reward.inner):
            result = check(reward, cases, ignore={*a.names, *b.names}, timeout=timeout)
            found[name] = {"passed": result.passed, "failed": result.failed}
            missed[name] = {miss.case for miss in result.misses if miss.what in shared}
    if recorded := [name.upper() for name in "ab" if name not in missed]:
        why = f"the reward of {' and '.join(recorded)} was read from a run record and cannot be run"
        return found | {"compared": 0, "reason": why}
    for kind, one, other in (("gained", "a", "b"), ("lost", "b", "a")):
        found[kind] = [name for name in asked if name in missed[one] - missed[other]]
    return found | {"compared": len(asked), "reason": None}


def _forecast(
    a: Diagnosis,
    b: Diagnosis,
    rows: tuple[Codes, Codes],
    label: str | None,
    *,
    same: bool,
) -> EqualKL:
    """What both rewards select for among the matched rows; `same` says that these are the same completions.

    Then the primary component of each side is followed on both: one measure for what two rewards pick.
    """
    sides = [*zip((a.scores, b.scores), rows, "AB", strict=True)]
    measures = {
        f"{scores.reward.primary} ({name})": scores.score(scores.reward.primary)[own]
        for scores, own, name in sides
        if same and not scores.reward.split_by
    }
    found = list(measures.values())
    if len(found) == 2 and np.array_equal(found[0], found[1], equal_nan=True):
        measures = {a.scores.reward.primary: found[0]}
    both = [
        replace(
            scores,
            table=scores.table.iloc[own].assign(**measures),
            rollouts=scores.rollouts.select(own),
        )
        for scores, own, _ in sides
    ]
    if not np.array_equal(both[0].rollouts.prompts, both[1].rollouts.prompts):
        why = "the rollouts in both are not of the same prompts, so nothing is compared at equal KL"
        return EqualKL("tilted", np.array([]), {}, (why,))
    options: dict[str, Any] = {
        "label": label,
        "columns": [*measures],
        "training": a.training,
        "seed": a.seed,
    }
    views = first, second = [forecast(scores, **options).tilted for scores in both]
    notes = [
        f"{name} {'selects nothing among these siblings' if len(view) else 'judges no row'}"
        for name, view in zip("AB", views, strict=True)
        if not len(view) or view.kl[-1] <= 0
    ]
    return EqualKL("tilted", *at_equal_kl(first, second), tuple(notes))


def _without_gradient(side: Diagnosis) -> float:
    """Share of the groups of all rows, of several judged siblings, that get one reward."""
    dead, live = (
        sum(int(getattr(view, kind).sum()) for view in side.views)
        for kind in ("dead", "live")
    )
    return dead / (dead + live) if dead + live else float("nan")


def _run(*sides: Scores) -> dict[str, Any]:
    """What was not the same when the two were scored: name -> [A, B]."""
    a, b = (
        {"ignore_gates": side.run.get("ignore_gates"), **side.run.get("versions", {})}
        for side in sides
    )
    return {
        name: [a.get(name), b.get(name)] for name in a | b if a.get(name) != b.get(name)
    }


def _by_key(diagnosis: Diagnosis) -> dict[tuple[Any, ...], Finding]:
    """Each finding by code, component, part and what else it is about; of equal ones the worst."""
    found: dict[tuple[Any, ...], Finding] = {}
    for item in sorted(
        diagnosis.findings, key=lambda item: SEVERITIES.index(item.severity)
    ):
        about = (item.evidence.get(name) for name in ("column", "other", "longer"))
        found.setdefault((item.code, item.component, item.part, *about), item)
    return found


def _only(a: Diagnosis, b: Diagnosis) -> tuple[Finding, ...]:
    """The findings of A that B has not.

    One of a slice is there, too, where B says it of the whole: that is then not said again of its slices.
    """
    there = _by_key(b)
    said = {
        key[:3] for key, item in there.items() if not item.evidence.get("inconclusive")
    }
    wholes = sorted((view.part for view in a.views), key=len, reverse=True)

    def said_of_the_whole(item: Finding) -> bool:
        whole = next((name for name in wholes if item.part.startswith(f"{name}: ")), "")
        return item.part not in wholes and (item.code, item.component, whole) in said

    return tuple(
        item
        for key, item in _by_key(a).items()
        if key not in there and not said_of_the_whole(item)
    )
