"""suggest(): findings -> changes of the reward, each with its effect measured on the same rollouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.findings import RULES as FINDINGS
from rewardkit.analysis.statistics.signal import moved
from rewardkit.analysis.suggestions import RULES
from rewardkit.analysis.suggestions.change import Change, part_scores
from rewardkit.analysis.suggestions.measure import (
    Effect,
    certain,
    effects,
    order_of,
    share_in_tied_groups,
    view_of,
)
from rewardkit.analysis.suggestions.normalization import Normalization, normalizations
from rewardkit.analysis.suggestions.proposal import Proposal
from rewardkit.analysis.suggestions.suggestion import Suggestion, Suggestions
from rewardkit.analysis.view import View
from rewardkit.errors import InputError, preview
from rewardkit.findings import Finding, percent
from rewardkit.rewards.plan import Part

__all__ = ["suggest"]

NOT_KNOWN = "not known to be right"
MOVED = 1e-6  # share of the advantage; less is rounding
TIED_BY_IT = 0.1  # share of the groups: our choice


def suggest(diagnosis: Diagnosis) -> Suggestions:
    """Changes that answer what was found, each measured on the same rollouts, and the normalization table.

    All under the settings of the diagnosis. With its trusted label the changes are ranked by the paired
    difference of the within-group AUC of the reward for the label, whose interval holds for all of them
    together; without one they are not. What was found inconclusively is answered by none. What is fitted is
    fitted on one half of the prompts and measured on the other. Only other extractors and verifiers and a
    softer length are run; where the reward cannot be, `notes` says so. A part of a route gets suggestions of
    its own. InputError: no diagnosis.

    >>> import rewardkit as rk
    >>> reward = rk.load_reward("gallery:arithmetic")
    >>> change = rk.suggest(rk.diagnose(rk.score(reward, "gallery:arithmetic"))).changes[0]
    >>> change.line, change.apply(reward).names[-1], change.rank
    ('rk.Component("close", partial(rk.verify.closeness, zero_at=0.5), weight=0.3)', 'close', None)
    """
    if not isinstance(diagnosis, Diagnosis):
        raise InputError(
            f"suggest takes a Diagnosis, as rk.diagnose(scores) gives it, not {preview(diagnosis)}"
        )
    changes: list[Suggestion] = []
    table: list[Normalization] = []
    notes: list[str] = []
    for view in diagnosis.views:
        scores = part_scores(diagnosis.scores, Part(view.part, view.reward, view.rows))
        told = [item for item in diagnosis.findings if item.part == view.part]
        sure = [item for item in told if not item.evidence.get("inconclusive")]
        proposed = [item for rule in RULES for item in rule(view, scores, sure)]
        left_out = [item for item in proposed if isinstance(item, str)]
        found = [item for item in proposed if isinstance(item, Proposal)]
        useless = [item for item in found if not _moves(view, item)]
        kept = [item for item in found if item not in useless]
        measured, rows = [_measured(view, item, len(kept), sure) for item in kept], normalizations(view)
        changes += _ranked(measured, sure)
        notes += [
            f"[{view.part}] " * bool(view.part) + note
            for note in (
                *left_out,
                *_without_effect(view, useless),
                *_unanswered(told),
                *(_by_setting(sure, rows) or _no_help(view, measured)),
            )
        ]
        table += rows
    return Suggestions(tuple(changes), tuple(table), tuple(notes))


def _moves(view: View, item: Proposal) -> bool:
    """Whether a proposal changes an advantage, or whether there is one."""
    after = view_of(item.changed, view).advantages
    same = np.array_equal(np.isnan(after), np.isnan(view.advantages))
    return not same or moved(view.advantages, after) >= MOVED


def _without_effect(view: View, useless: list[Proposal]) -> list[str]:
    """That changes were left out which change no advantage."""
    what = "" if view.additive else f", as the reward is a {view.reward.aggregation}"
    names = ", ".join(f"{item.code} of {item.component!r}" for item in useless)
    return [f"left out, as no advantage changes{what}: {names}"] if useless else []


def _measured(view: View, proposal: Proposal, tests: int, findings: list[Finding]) -> Suggestion:
    """The suggestion that a proposal becomes, compared with so many others."""
    before, after = proposal.views or (view, view_of(proposal.changed, view))
    found = effects(before, after, tests=tests, held_out=proposal.views is not None)
    more, why = dict(proposal.after), proposal.why
    more["advantage_moved"] = moved(before.advantages, after.advantages)
    share = share_in_tied_groups(before, after)
    if share > 0:
        more["added_advantage_in_tied_groups"] = share
    by_label = {item.figure: item for item in found if item.figure.startswith("label_")}
    verdict = ""
    if by_label:
        verdict, said = _judged(before, after, proposal.change, by_label, tests)
        why += f". {said}{_judged_now(before, after)}"
    elif share > 0:
        why += f". It creates spread ({percent(share)} in tied groups), {NOT_KNOWN}"
    answered = _answered(proposal, findings)
    line = proposal.change.line(proposal.scores.reward)
    return Suggestion(
        proposal.code,
        proposal.component,
        line.replace("scores.", "reward.", 1) if view.part else line,
        why,
        {**_figures(found, "before"), **proposal.before},
        {**_figures(found, "after"), **more},
        view.part,
        proposal.changed,
        found,
        proposal.examples,
        verdict=verdict,
        answers=answered.code if answered else "",
        outcome=_outcome(before, after, answered, found) if answered else "",
        change=proposal.change,
    )


def _answered(item: Proposal, findings: list[Finding]) -> Finding | None:
    """The worst finding that a proposal answers."""
    return next((found for found in findings if _answers(item.code, item.component, found)), None)


def _answers(code: str, component: str | None, found: Finding) -> bool:
    about = component is None or found.component in (None, component) or code == "pay_component"
    return code in found.suggestions and about


def _outcome(before: View, after: View, found: Finding, effects: Sequence[Effect]) -> str:
    """What becomes of a finding, and of the groups without a signal, where these change."""
    rule = next(rule for rule in FINDINGS if found.code in rule.codes)
    key = (found.code, found.component)
    was, now = (
        next((item for item in rule(view, ()) if (item.code, item.component) == key), None)
        for view in (before, after)
    )
    said = [f"{found.code} is no longer found"] if was and not now else []
    moved = {found.code: [item.evidence.get("value", np.nan) for item in (was, now) if item]}
    if found.code != "zero_std_groups":
        moved["groups without a signal"] = [effects[0].before, effects[0].after]
    told = {what: [percent(value) for value in values] for what, values in moved.items()}
    said += [f"{what}: {' -> '.join(ends)}" for what, ends in told.items() if len(set(ends)) == 2]
    return "; ".join(said)


def _judged_now(before: View, after: View) -> str:
    """A word on the rows that a change judges and that were missing, of which the label says nothing here."""
    more = int((np.isnan(before.rewards) & ~np.isnan(after.rewards)).sum())
    if not more:
        return ""
    rows = f"{more} row{'s' if more > 1 else ''} more {'have' if more > 1 else 'has'} a reward"
    return f"; {rows}, but what {before.context.label_name!r} says is of those that have one before and after"


def _judged(
    before: View, after: View, change: Change, by_label: Mapping[str, Effect], tests: int
) -> tuple[str, str]:
    """Whether a change improves or harms the order of siblings with different labels, and the words for it.

    What pays for something new must itself order them as the label does: where a reward orders them worse
    than chance, noise brings it nearer to chance. Nor does a change improve it by which the sibling that is
    put first is right less often, which is what the forecast of a policy begins with.
    """
    effect, first = by_label["label_auc"], by_label["label_best"]
    name, told = before.context.label_name, effect.moved
    if effect.difference == 0 and effect.interval == (0, 0):
        return "unclear", f"It orders siblings of which {name!r} differs as before"
    if not certain(effect.difference, effect.interval, tests):
        return (
            "unclear",
            f"Whether it orders siblings more like {name!r} is not clear: by {told} of the pairs",
        )
    if effect.difference < 0:
        return (
            "harms",
            f"It orders siblings less like {name!r}, by {told} of the pairs: it makes the reward worse",
        )
    new = [item.name for item in change.added]
    new += [key for key in change.weights if before.components[key].weight == 0]
    if new:
        share, interval = order_of(after, new, tests)
        if not (interval[0] > 0.5 and certain(share - 0.5, (interval[0] - 0.5, interval[1] - 0.5), tests)):
            return "unclear", (
                f"It orders siblings more like {name!r}, by {told} of the pairs, but what it adds does so in "
                f"{percent(share)} of them, no more than noise would"
            )
    if first.difference < 0 and certain(first.difference, first.interval, tests):
        return "unclear", (
            f"It orders siblings more like {name!r}, by {told} of the pairs, but the one that it puts first "
            f"has it less often, by {first.moved}"
        )
    return "improves", f"It orders siblings more like {name!r}, by {told} of the pairs"


def _figures(found: tuple[Effect, ...], when: str) -> dict[str, Any]:
    """The figures before or after by name, the effective weights by component."""
    plain = {item.figure: getattr(item, when) for item in found if item.component is None}
    weights = {item.component: round(getattr(item, when), 3) for item in found if item.component is not None}
    return {**plain, **({"effective_weights": weights} if weights else {})}


def _ranked(found: list[Suggestion], findings: list[Finding]) -> list[Suggestion]:
    """What certainly improves the order of the label first, numbered; what certainly harms it last.

    What is unclear stands between them, as an estimate that may be noise ranks nothing: what answers the
    worst finding first, and behind them what leaves `TIED_BY_IT` more of the groups without a signal.
    """
    place = {code: at for at, code in reversed([*enumerate(item.code for item in findings)])}

    def gain(item: Suggestion) -> float:
        return next(effect.difference for effect in item.effects if effect.figure == "label_auc")

    better = sorted((item for item in found if item.verdict == "improves"), key=gain, reverse=True)
    worse = sorted((item for item in found if item.verdict == "harms"), key=gain, reverse=True)
    others = [item for item in found if item.verdict not in ("improves", "harms")]
    others.sort(key=lambda item: place.get(item.answers, len(place)))
    others.sort(key=lambda item: item.effects[0].difference > TIED_BY_IT)
    return [*(replace(item, rank=at) for at, item in enumerate(better, 1)), *others, *worse]


def _unanswered(told: list[Finding]) -> list[str]:
    """The findings that a change would answer, were they certain."""
    codes = [item.code for item in told if item.evidence.get("inconclusive") and item.suggestions]
    if not codes:
        return []
    return [f"not answered, as the rollouts are too few to be sure: {', '.join(dict.fromkeys(codes))}"]


def _by_setting(findings: list[Finding], rows: list[Normalization]) -> list[str]:
    """The findings that a normalization answers, and what it would do."""
    works = {row.code: row for row in rows if row.works}
    answered = [(item.code, works[code]) for item in findings for code in item.suggestions if code in works]
    return [
        f"{code} is answered by: {row.what} ({row.line or 'no setting'}), which {row.effect}"
        for code, row in answered
    ]


def _no_help(view: View, found: list[Suggestion]) -> list[str]:
    """That nothing helps, where that is so."""
    if not found:
        return ["no fix is known here for what was found"]
    name = view.context.label_name
    if view.context.label is not None and not any(item.verdict == "improves" for item in found):
        note = f"no change measurably improves agreement with {name!r}"
        if judging := [
            item.code
            for item in found
            if any(e.figure == "missing" and e.difference < 0 for e in item.effects)
        ]:
            codes = ", ".join(dict.fromkeys(judging))
            note += f"; rows that were missing are judged by {codes}, which these figures leave out"
        return [note]
    if view.context.label is None and all(not _any_difference(item) for item in found):
        return ["no change measurably gives groups a signal or moves an effective weight"]
    return []


def _any_difference(item: Suggestion) -> bool:
    """Whether a change gives groups a signal, or moves an effective weight, for certain."""
    return any(
        (effect.figure == "zero_std" and effect.interval[1] < 0)
        or (effect.figure == "effective_weight" and (effect.interval[0] > 1e-9 or effect.interval[1] < -1e-9))
        for effect in item.effects
    )
