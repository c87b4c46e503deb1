"""suggest(): findings -> changes of the reward, each with its effect measured on the same rollouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from rewardkit.analysis.suggestions.proposal import Proposal, in_words
from rewardkit.analysis.suggestions.suggestion import Suggestion, Suggestions
from rewardkit.analysis.view import View
from rewardkit.errors import InputError, preview
from rewardkit.findings import Finding, counted, percent, run_rules
from rewardkit.rewards.reward import Part
from rewardkit.scoring.scores import Scores

MOVED = 1e-6  # share of the advantage; less is rounding
TIED_BY_IT = 0.1  # share of the groups: our choice


def suggest(diagnosis: Diagnosis) -> Suggestions:
    """Changes that answer what was found, each measured on the same rollouts, and the normalization table.

    All under the settings of the diagnosis. With its trusted label the changes are ranked by the paired
    difference of the within-group AUC of the reward for the label, whose interval holds for all of them
    together; without one they are not. What was found inconclusively is answered by none, and a change that
    makes worse what it answers is a note. What is fitted is fitted on one half of the prompts and measured on
    the other. Only other extractors and verifiers, a softer length and gates on what sees several rows are
    run; where the reward cannot be, `notes` says so. A part of a route gets suggestions of its own.
    InputError: no diagnosis.

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
        found = [item for item in diagnosis.findings if item.part == view.part]
        ranked, said = _changes(view, scores, found)
        rows = normalizations(view)
        said += list(_by_setting(found, rows)) or _no_help(view, ranked)
        changes += ranked
        notes += [f"[{view.part}] {note}" if view.part else note for note in said]
        table += rows
    return Suggestions(tuple(changes), tuple(table), tuple(notes))


def _changes(
    view: View, scores: Scores, found: Sequence[Finding]
) -> tuple[list[Suggestion], list[str]]:
    """The changes that answer what was found in one reward, ranked; and why others are left out."""
    sure = [item for item in found if not item.evidence.get("inconclusive")]
    proposed = [item for rule in RULES for item in rule(view, scores, sure)]
    notes = [item for item in proposed if isinstance(item, str)]
    proposals = [item for item in proposed if isinstance(item, Proposal)]
    kept = [item for item in proposals if _moves(view, item)]
    measured = [_measured(view, item, len(kept), sure) for item in kept]
    if still := ", ".join(
        in_words(item.code, item.component) for item in proposals if item not in kept
    ):
        what = (
            "" if view.additive else f", as the reward is a {view.reward.aggregation}"
        )
        notes.append(f"left out, as no advantage changes{what}: {still}")
    notes += [item for item in measured if isinstance(item, str)]
    unsure = dict.fromkeys(
        item.code for item in found if item.suggestions and item not in sure
    )
    if unsure:
        notes.append(
            f"not answered, as the rollouts are too few to be sure: {', '.join(unsure)}"
        )
    return _ranked(
        [item for item in measured if isinstance(item, Suggestion)], sure
    ), notes


def _moves(view: View, item: Proposal) -> bool:
    """Whether a proposal changes an advantage, or whether there is one."""
    after = view_of(item.changed, view).advantages
    same = np.array_equal(np.isnan(after), np.isnan(view.advantages))
    return not same or moved(view.advantages, after) >= MOVED


def _measured(
    view: View, proposal: Proposal, tests: int, findings: Sequence[Finding]
) -> Suggestion | str:
    """The suggestion that a proposal becomes, compared with so many others; or why it is none."""
    before, after = proposal.views or (view, view_of(proposal.changed, view))
    found = effects(before, after, tests=tests, held_out=proposal.views is not None)
    answered = next((item for item in findings if _answers(proposal, item)), None)
    outcome, worse = (
        _outcome(before, after, answered, found) if answered else ("", False)
    )
    if answered and worse:
        of = f" of {proposal.component!r}" if proposal.component else ""
        return f"{proposal.code}{of} is left out, as it makes worse what it answers: {outcome}"
    more, why = (
        {
            **proposal.after,
            "advantage_moved": moved(before.advantages, after.advantages),
        },
        proposal.why,
    )
    share = share_in_tied_groups(before, after)
    if share > 0:
        more["added_advantage_in_tied_groups"] = share
    by_label = {item.figure: item for item in found if item.figure.startswith("label_")}
    verdict = ""
    if by_label:
        verdict, said = _judged(before, after, proposal.change, by_label, tests)
        why += f". {said}{_judged_now(before, after)}"
    elif share > 0:
        why += f". It creates spread ({percent(share)} in tied groups), not known to be right"
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
        outcome=outcome,
        change=proposal.change,
    )


def _answers(item: Proposal, found: Finding) -> bool:
    about = item.component is None or found.component in (None, item.component)
    return item.code in found.suggestions and (about or item.code == "pay_component")


def _outcome(
    before: View, after: View, found: Finding, effects: Sequence[Effect]
) -> tuple[str, bool]:
    """What becomes of a finding, and of the groups without a signal; and whether that finding gets worse."""
    rule = next(rule for rule in FINDINGS if found.code in rule.codes)
    key = (found.code, found.component)
    was, now = (
        next(
            (
                item
                for item in run_rules([rule], view, thresholds=view.thresholds)
                if (item.code, item.component) == key
            ),
            None,
        )
        for view in (before, after)
    )
    said = [f"{found.code} is no longer found"] if was and not now else []
    moved = {
        found.code: [item.evidence.get("value", np.nan) for item in (was, now) if item]
    }
    if found.code != "zero_std_groups":
        moved["groups without a signal"] = [effects[0].before, effects[0].after]
    told = {
        what: [percent(value) for value in values] for what, values in moved.items()
    }
    said += [
        f"{what}: {' -> '.join(ends)}"
        for what, ends in told.items()
        if len(set(ends)) == 2
    ]
    shown = len(set(told[found.code])) == 2  # what no percent shows is no change
    same = np.array_equal(
        np.isnan(before.rewards), np.isnan(after.rewards)
    )  # else it is of other rows
    return "; ".join(said), bool(
        was and now and shown and same and _badness(now) > _badness(was)
    )


def _badness(found: Finding) -> float:
    """How far a finding is on the wrong side, by what is measured for it."""
    value = found.evidence.get("value", np.nan)
    if found.code == "length_bias":
        return float(abs(value - 0.5))
    return float(-value if found.code == "starved" else value)


def _judged_now(before: View, after: View) -> str:
    """A word on the rows that a change judges and that were missing, of which the label says nothing here."""
    more = int((np.isnan(before.rewards) & ~np.isnan(after.rewards)).sum())
    name, have = before.context.label_name, "has" if more == 1 else "have"
    rows = f"{counted(more, 'row')} more {have} a reward, but what {name!r} says is of those that had one"
    return f"; {rows}" if more else ""


def _judged(
    before: View, after: View, change: Change, by_label: dict[str, Effect], tests: int
) -> tuple[str, str]:
    """Whether a change improves or harms the order of siblings with different labels, and the words for it.

    What pays for something new must itself order them as the label does: where a reward orders them worse
    than chance, noise brings it nearer to chance. Nor does a change improve it by which the sibling that is
    put first is right less often, which is what the forecast of a policy begins with.
    """
    effect, first = by_label["label_auc"], by_label["label_best"]
    name, told = before.context.label_name, f"by {effect.moved} of the pairs"
    if effect.difference == 0 and effect.interval == (0, 0):
        return "unclear", f"It orders siblings of which {name!r} differs as before"
    if not certain(effect.difference, effect.interval, tests):
        return (
            "unclear",
            f"Whether it orders siblings more like {name!r} is not clear: {told}",
        )
    if effect.difference < 0:
        return (
            "harms",
            f"It orders siblings less like {name!r}, {told}: it makes the reward worse",
        )
    better = f"It orders siblings more like {name!r}, {told}"
    new = [item.name for item in change.added]
    new += [key for key in change.weights if before.components[key].weight == 0]
    if new:
        share, (low, high) = order_of(after, new, tests)
        if not (low > 0.5 and certain(share - 0.5, (low - 0.5, high - 0.5), tests)):
            return "unclear", (
                f"{better}, but what it adds does so in {percent(share)} of them, no more than noise would"
            )
    if first.difference < 0 and certain(first.difference, first.interval, tests):
        return (
            "unclear",
            f"{better}, but the one that it puts first has it less often, by {first.moved}",
        )
    return "improves", better


def _figures(found: Sequence[Effect], when: str) -> dict[str, Any]:
    """The figures before or after by name, the effective weights by component."""
    plain = {
        item.figure: getattr(item, when) for item in found if item.component is None
    }
    weights = {
        item.component: round(getattr(item, when), 3)
        for item in found
        if item.component is not None
    }
    return {**plain, **({"effective_weights": weights} if weights else {})}


def _ranked(found: list[Suggestion], findings: Sequence[Finding]) -> list[Suggestion]:
    """What certainly improves the order of the label first, numbered; what certainly harms it last.

    What is unclear stands between them, as an estimate that may be noise ranks nothing: what answers the
    worst finding first, and behind them what leaves `TIED_BY_IT` more of the groups without a signal.
    """
    codes = [item.code for item in findings]

    def place(item: Suggestion) -> tuple[float, ...]:
        gain = next(
            (
                effect.difference
                for effect in item.effects
                if effect.figure == "label_auc"
            ),
            0.0,
        )
        if item.verdict in ("improves", "harms"):
            return (0 if item.verdict == "improves" else 2, -gain)
        answered = codes.index(item.answers) if item.answers else len(codes)
        return (1, item.effects[0].difference > TIED_BY_IT, answered)

    ranked = sorted(found, key=place)
    better = sum(item.verdict == "improves" for item in ranked)
    return [
        *(replace(item, rank=at) for at, item in enumerate(ranked[:better], 1)),
        *ranked[better:],
    ]


def _by_setting(
    found: Sequence[Finding], rows: Sequence[Normalization]
) -> Iterator[str]:
    """The findings that a normalization answers, and what it would do."""
    works = {row.code: row for row in rows if row.works}
    for item in found:
        for row in (works[code] for code in item.suggestions if code in works):
            if not item.evidence.get("inconclusive"):
                line = row.line or "no setting"
                yield f"{item.code} is answered by: {row.what} ({line}), which {row.effect}"


def _no_help(view: View, changes: Sequence[Suggestion]) -> list[str]:
    """That nothing helps, where that is so."""
    if not changes:
        return ["no fix is known here for what was found"]
    if view.context.label is None or any(
        item.verdict == "improves" for item in changes
    ):
        return []
    return [f"no change measurably improves agreement with {view.context.label_name!r}"]
