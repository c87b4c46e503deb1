"""suggest(): findings -> changes of the reward, measured on the same rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rewardkit.analysis.diagnosis import VIEW_RULES, Diagnosis
from rewardkit.analysis.rehearsal.rows import read_task
from rewardkit.analysis.statistics.advantages import moved
from rewardkit.analysis.suggestions.change import (
    LeftOut,
    Proposal,
    ProposalRule,
    part_scores,
)
from rewardkit.analysis.suggestions.measure import (
    Effect,
    Trained,
    effects,
    judge_by_label,
    order_of_added,
    share_in_tied_groups,
    train_on,
    view_of,
)
from rewardkit.analysis.suggestions.normalization import Normalization, normalizations
from rewardkit.analysis.suggestions.readings import readings
from rewardkit.analysis.suggestions.rules import (
    gate_component,
    graduate,
    pay_component,
    remove_component,
    soften_length,
)
from rewardkit.analysis.suggestions.suggestion import Suggestion, Suggestions
from rewardkit.analysis.view import View
from rewardkit.errors import InputError, preview
from rewardkit.findings import Finding, Findings, percent, run_rules
from rewardkit.plain import Record
from rewardkit.scoring.scores import Scores

PROPOSAL_RULES: tuple[ProposalRule, ...] = (
    graduate,
    readings,
    pay_component,
    gate_component,
    soften_length,
    remove_component,
)
"""In the order in which changes are listed where nothing ranks them."""
LEAST_ADVANTAGE_MOVED = 1e-6
"""Share of the advantage; less is rounding."""
SIDES = ("before", "after")
RANKS = {"improves": 0, "harms": 2}
"""Verdict -> place in the list; all others stand between them."""
MORE_GROUPS_TIED = 0.1
"""Share of the groups that a change may leave without a signal. Our choice."""
LEAST_HIGHER = 0.05
"""Share of the task by which a training must end higher, where a change is offered for
no other reason: by as much two seeds of one training differ (`data/training`)."""


def suggest(diagnosis: Diagnosis) -> Suggestions:
    """Propose changes that answer findings, and measure each on the same rollouts.

    All under the settings of the diagnosis. Changes are ranked by where a rehearsed
    training ends; where that tells nothing, by the paired difference of the AUC of the
    reward for the trusted label among siblings, whose interval holds for all changes
    together. Inconclusive findings are not answered. A change that makes its finding
    worse, or by which a training gains less than seeds differ, becomes a note.

    The reward is called only for other extractors and verifiers, a softer length, and
    gates on components that see several rows; `notes` says where it cannot be. Each
    part of a route gets suggestions of its own.

    Args:
        diagnosis: As `rk.diagnose` returns it.

    Raises:
        InputError: It is no diagnosis.

    >>> import rewardkit as rk
    >>> reward = rk.load_reward("gallery:arithmetic.flawed")
    >>> scores = rk.score(reward, "gallery:arithmetic")
    >>> change = rk.suggest(rk.diagnose(scores)).changes[0]
    >>> change.named, change.verdict, change.answers
    ("a gate for 'detail'", 'improves', 'phantom')
    >>> change.apply(reward).components[-1].gate
    gate('correct', at_least=1.0)
    """
    if not isinstance(diagnosis, Diagnosis):
        raise InputError(
            "suggest takes a Diagnosis, as rk.diagnose(scores) gives it, not "
            f"{preview(diagnosis)}"
        )
    changes = []
    table = []
    notes = []
    for view, part in zip(diagnosis.views, diagnosis.scores.parts, strict=True):
        scores = part_scores(diagnosis.scores, part)
        findings = [item for item in diagnosis.findings if item.part == view.part]
        ranked, part_notes = _suggest_for_part(view, scores, findings)
        rows = normalizations(view)
        answered = _answered_by_normalization(view, findings, rows)
        part_notes += answered
        is_improved = any(item.verdict == "improves" for item in ranked)
        if ranked and view.context.label is not None and not (answered or is_improved):
            name = repr(view.context.label_name)
            part_notes.append(f"no change measurably improves agreement with {name}")
        prefix = f"[{view.part}] " if view.part else ""
        notes += [f"{prefix}{note}" for note in part_notes]
        changes += [_name_other_ways(item, rows) for item in ranked]
        table += rows
    return Suggestions(tuple(changes), tuple(table), tuple(notes))


def _suggest_for_part(
    view: View, scores: Scores, findings: Findings
) -> tuple[list[Suggestion], list[str]]:
    """Return the ranked changes for one reward, and notes on those left out."""
    certain_findings = []
    unanswered = []
    for item in findings:
        if not item.evidence.get("inconclusive"):
            certain_findings.append(item)
        elif item.suggestions:
            unanswered.append(item.code)
    proposals = []
    notes = []
    for rule in PROPOSAL_RULES:
        for proposal in rule(view, scores, certain_findings):
            if isinstance(proposal, LeftOut):
                notes.append(proposal.reason)
            else:
                proposals.append(proposal)
    moving = []
    still = []
    for proposal in proposals:
        if _moves_advantages(view, proposal):
            moving.append(proposal)
        else:
            still.append(proposal.phrase)
    if still:
        reason = ""
        if not view.additive:
            reason = f", as the reward is a {view.reward.aggregation}"
        notes.append(f"left out, as no advantage changes{reason}: {', '.join(still)}")
    suggestions, worse = _measure_proposals(view, moving, certain_findings)
    notes += worse
    if unanswered:
        notes.append(
            "not answered, as the rollouts are too few to be sure: "
            f"{', '.join(dict.fromkeys(unanswered))}"
        )
    return _rank(suggestions, certain_findings), notes


def _measure_proposals(
    view: View, proposals: Sequence[Proposal], findings: Findings
) -> tuple[list[Suggestion], list[str]]:
    """Measure proposals; those of no use, or that do harm, become notes.

    A proposal is of no use if neither a rehearsed training nor a trusted label gives a
    verdict, and the training does not end `LEAST_HIGHER` higher. Its note says which
    finding it would mend.
    """
    suggestions = []
    notes = []
    useless: dict[str, tuple[float, str]] = {}
    tests = len(proposals)
    changed = [view_of(proposal.changed, view) for proposal in proposals]
    trainings = train_on(view, changed)
    for proposal, after, trained in zip(proposals, changed, trainings, strict=True):
        measured = effects(view, after, tests=tests)
        suggestion = _make_suggestion(view, after, proposal, measured, tests, trained)
        answered = [item for item in findings if _answers(proposal, item)]
        answered.sort(key=lambda item: item.code != "phantom")  # the cause of others
        mended = outcome = ""
        is_worse = False
        if answered:
            mended, is_worse = _compare_finding(view, after, answered[0], measured)
            sentences = mended, _compare_ties(answered[0], measured)
            outcome = "; ".join(filter(None, sentences))
        is_undecided = suggestion.verdict in ("", "unclear")
        if is_undecided and trained is not None and trained.gain < LEAST_HIGHER:
            if is_worse or (answered and answered[0].severity == "info"):
                mended = ""
            candidates = (trained.gain, mended), useless.get(proposal.phrase)
            useless[proposal.phrase] = max(filter(None, candidates))
        elif is_worse and trained is None:
            notes.append(
                f"{proposal.code} of {proposal.component!r} is left out, as it makes "
                f"worse what it answers: {outcome}"
            )
        elif answered:
            answers = answered[0].code
            suggestions.append(replace(suggestion, answers=answers, outcome=outcome))
        else:
            suggestions.append(suggestion)
    if useless:
        gains = []
        for name, (gain, mended) in useless.items():
            figures = f"{gain:+.2f}".replace("-0.00", "+0.00")
            figures += f", though {mended}" if mended else ""
            gains.append(f"{name} ({figures})")
        notes.append(
            f"left out, as training gains less than the {LEAST_HIGHER:g} by which "
            f"seeds differ: {', '.join(gains)}"
        )
    return suggestions, notes


def _moves_advantages(view: View, proposal: Proposal) -> bool:
    """Return whether a proposal changes an advantage, or the rows that have one."""
    after = view_of(proposal.changed, view).advantages
    if not np.array_equal(np.isnan(after), np.isnan(view.advantages)):
        return True
    return moved(view.advantages, after) >= LEAST_ADVANTAGE_MOVED


def _answers(proposal: Proposal, finding: Finding) -> bool:
    if proposal.code not in finding.suggestions:
        return False
    if proposal.code == "pay_component":
        return True
    return finding.component in (None, proposal.component)


def _make_suggestion(
    before: View,
    after: View,
    proposal: Proposal,
    measured: tuple[Effect, ...],
    tests: int,
    trained: Trained | None,
) -> Suggestion:
    """Make a suggestion of a measured proposal, with its figures and its verdict.

    The verdict is that of training where it tells before and after apart.
    """
    figures: Record = {
        **proposal.after,
        "advantage_moved": moved(before.advantages, after.advantages),
    }
    why = proposal.why
    verdict = ""
    share = share_in_tied_groups(before, after)
    if share > 0:
        figures["added_advantage_in_tied_groups"] = share
    effect_of = {effect.figure: effect for effect in measured}
    if "label_auc" in effect_of:
        verdict, reason = judge_by_label(
            before, after, proposal.change, effect_of, tests
        )
        why += f". {reason}"
    elif share > 0:
        why += (
            f". It creates spread ({percent(share)} in tied groups), not known to be "
            "right"
        )
    if trained is not None and trained.verdict != "unclear":
        _, may_be_noise = order_of_added(
            before, after, proposal.change, read_task(before), tests
        )
        if may_be_noise:
            trained = None
        else:
            verdict = trained.verdict
            why = f"{trained.sentence}. {why}"
    line = proposal.change.line(proposal.scores.reward)
    if before.part:
        line = line.replace("scores.", "reward.", 1)
    return Suggestion(
        proposal.code,
        proposal.component,
        line,
        why,
        _figures(measured, "before"),
        {**_figures(measured, "after"), **figures},
        before.part,
        proposal.changed,
        measured,
        proposal.examples,
        verdict=verdict,
        change=proposal.change,
        trained=trained,
    )


def _compare_finding(
    before: View, after: View, finding: Finding, measured: Sequence[Effect]
) -> tuple[str, bool]:
    """Describe the change of a finding, "" without one, and whether it gets worse.

    Args:
        before: The view before the change.
        after: The view after it.
        finding: What the change answers.
        measured: The effects; the first is that on the groups without a signal.
    """
    has_same_rows = np.array_equal(before.is_judged, after.is_judged)
    if finding.code == "phantom":  # even if too little remains for a finding
        effect = next(item for item in measured if item.figure == "phantom")
        ends = [percent(getattr(effect, side)) for side in SIDES]
        outcome = f"phantom: {' -> '.join(ends)}"
        return outcome, effect.difference > 0 and has_same_rows
    was = _find_again(before, finding)
    now = _find_again(after, finding)
    if was and not now:
        return f"{finding.code} is no longer found", False
    if was and now:
        ends = [percent(item.evidence.get("value", np.nan)) for item in (was, now)]
        if ends[0] != ends[1]:
            is_worse = _badness(now) > _badness(was)
            outcome = f"{finding.code}: {' -> '.join(ends)}"
            return outcome, is_worse and has_same_rows
    return "", False


def _compare_ties(finding: Finding, measured: Sequence[Effect]) -> str:
    """Describe the change of groups without a signal, "" where the finding does."""
    shares = [percent(getattr(measured[0], side)) for side in SIDES]
    if finding.code == "zero_std_groups" or shares[0] == shares[1]:
        return ""
    return f"groups without a signal: {' -> '.join(shares)}"


def _find_again(view: View, finding: Finding) -> Finding | None:
    """Return the same finding, of the same component, in another view, or None."""
    rule = next(rule for rule in VIEW_RULES if finding.code in rule.codes)
    for item in run_rules([rule], view, thresholds=view.thresholds):
        if (item.code, item.component) == (finding.code, finding.component):
            return item
    return None


def _badness(finding: Finding) -> float:
    """Return how far a finding is on the wrong side, by its value."""
    value = finding.evidence.get("value", np.nan)
    if finding.code == "length_bias":
        return float(abs(value - 0.5))
    if finding.code == "starved":
        return float(-value)
    return float(value)


def _figures(measured: Sequence[Effect], side: str) -> Record:
    """Return figures "before" or "after" by name, weights by component."""
    figures = {}
    for item in measured:
        value = getattr(item, side)
        if item.component is None:
            figures[item.figure] = value
        else:
            weights = figures.setdefault("effective_weights", {})
            weights[item.component] = round(value, 3)
    return figures


def _rank(suggestions: list[Suggestion], findings: Findings) -> list[Suggestion]:
    """Sort suggestions: those that improve first, numbered; those that harm last.

    Unclear ones stand between them, by their gain to two digits, then those that leave
    fewer groups without a signal, then the answer to the worst finding.
    """
    codes = [item.code for item in findings]

    def sort_key(item: Suggestion) -> tuple[float, ...]:
        differences = {effect.figure: effect.difference for effect in item.effects}
        gain = differences.get("label_auc", 0.0)
        trained = 0.0
        if item.trained is not None and item.trained.verdict != "unclear":
            trained = item.trained.gain
        if item.verdict in RANKS:
            return (RANKS[item.verdict], -trained, -gain)
        place = codes.index(item.answers) if item.answers else len(codes)
        gain = 0.0 if item.trained is None else round(item.trained.gain, 2)
        return (1, -gain, item.effects[0].difference > MORE_GROUPS_TIED, place)

    ranked = []
    for place, item in enumerate(sorted(suggestions, key=sort_key), 1):
        is_better = item.verdict == "improves"
        ranked.append(replace(item, rank=place) if is_better else item)
    return ranked


def _answered_by_normalization(
    view: View, findings: Findings, rows: Sequence[Normalization]
) -> list[str]:
    """Return a note on each certain finding that a normalization answers.

    The first of `rows` is the reward as it is.
    """
    working = {row.code: row for row in rows if row.works}
    notes = []
    for item in findings:
        if item.evidence.get("inconclusive"):
            continue
        for code in item.suggestions:
            row = working.get(code)
            if row is None:
                continue
            effect = row.effect
            if item.code == "phantom":
                ends = rows[0].phantom, row.phantom
                if ends[0] <= ends[1]:
                    continue
                effect = f"changes it from {' to '.join(map(percent, ends))}"
            setting = row.line or f"{view.training.trainer} has no setting for it"
            notes.append(
                f"{item.code} is answered by: {row.what} ({setting}), which {effect}"
            )
    return notes


def _name_other_ways(item: Suggestion, rows: Sequence[Normalization]) -> Suggestion:
    """Add to a change against phantom signal what a filter and no scaling would do."""
    ways = []
    for row in rows:
        if row.code in ("filter_task", "no_std"):
            ways.append(f"{row.what}: {percent(row.phantom)}")
    if item.answers != "phantom" or not ways:
        return item
    return replace(item, outcome=f"{item.outcome}; other ways: {', '.join(ways)}")
