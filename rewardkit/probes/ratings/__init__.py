"""Rewards that misread the rating in a judge's logged reply.

"Rating: 3/10" is read as 10 where the last number is taken. The rating of a logged
reply is varied with all else as logged: a better one must never be paid less, and no
way to write it may be paid alike where others are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

from rewardkit.findings import Finding, Findings, rule
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.ratings.replies import (
    RatedForm,
    Reply,
    ReplyPlace,
    best_rows,
    common_forms,
    find_replies,
)
from rewardkit.probes.runner import are_equal, rewards_in

MISREAD_CODE = "rating_misread"
MOST_SUSPECTS = 4  # forms that are tried on the other rows: our choice

SHARE_OF_RATINGS = 0.2  # share of the remaining budget for each row

LEAST_LOSS = 0.05
"""Share of what ratings add by which two of them differ. Our choice."""
GRAVE_LOSS = 0.5
"""The same from which it is grave that a better rating is paid less."""
OPPOSITE_ENDS = 0.9
"""The same for a rating that is paid in two forms like opposite ends. Our choice."""
LEAST_ORDER = 0.6
"""Share of the pairs of numbers written alike, such as 3 and 7, that are paid in one
order, less those in the other. Where the middle of a scale is paid best, there is no
such order. Our choice."""

FEW_AFFECTED = 0.05
"""Share of the replies under which less grave ones are for information. Our choice."""

BEYOND = math.inf
"""Stands for a rating beyond the scale; what is paid like it may be beyond it, too."""

RatingCurve = Mapping[float, float]
"""Rating -> what a row earned with it; those that were judged."""

RatingCurves = Mapping[RatedForm, RatingCurve]


@dataclass(frozen=True)
class Misread:
    """A rating that is misread, beside another one that shows it, on one row.

    The trait is "flat" where all ratings in the form earn the same, "order" where a
    better one earns less, "apart" where the same one earns as much more or less in
    another form as another rating would.
    """

    trait: str
    form: RatedForm
    rating: float
    other_form: RatedForm
    other_rating: float
    earned: float
    other_earned: float
    is_grave: bool = False

    def is_of(self, reply: Reply) -> bool:
        """Return whether a logged reply has this form, and this rating if it counts."""
        frame = reply.rating.frame
        is_same = frame == self.form.frame
        if not self.form.frame.neighbours:  # other numbers beside it change nothing
            is_same = frame.words == self.form.frame.words
        has_rating = float(reply.rating.number) == self.rating
        return is_same and (has_rating or self.trait != "order")

    def is_shown(self, curves: RatingCurves) -> bool | None:
        """Return whether another row shows it, too; None if no rating moves it."""
        curve = curves.get(self.form, {})
        other = curves.get(self.other_form, {})
        span = _span_of([curve, other])
        if not span or self.rating not in curve or self.other_rating not in other:
            return None
        loss = other[self.other_rating] - curve[self.rating]
        if self.trait == "flat":
            return not _span_of([curve]) if _span_of([other]) else None
        if self.trait == "order":
            return loss > LEAST_LOSS * span
        return abs(loss) >= OPPOSITE_ENDS * span


@rule(MISREAD_CODE)
def rating_misread(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report ratings in the judge's logged replies that are misread."""
    if observed.tries.by_group or observed.tries.asks_model:
        return
    for place, replies in find_replies(observed).items():
        forms = common_forms(replies)
        rows = best_rows(replies)
        misread = _find_misread(observed, place, forms, rows)
        if misread:
            yield _report(observed, place, replies, misread)
            return


# --- other ratings


def _find_misread(
    observed: Observed,
    place: ReplyPlace,
    forms: Sequence[RatedForm],
    rows: Sequence[Reply],
) -> dict[Misread, int]:
    """Find ratings that are misread, the gravest first, and how many rows show each.

    All forms are tried on one row, and what is misread there on the others as well.
    """
    curves = _try_ratings(observed, place, rows[0], 0, forms)
    by_words: dict[tuple[str, ...], Misread] = {}
    for suspect in sorted(_find_suspects(curves), key=_rank):
        by_words.setdefault((suspect.trait, *suspect.form.frame.words), suspect)
    suspects = [*by_words.values()][:MOST_SUSPECTS]
    pairs = chain.from_iterable((item.form, item.other_form) for item in suspects)
    suspected = dict.fromkeys(pairs)
    verdicts: dict[Misread, list[bool]] = {suspect: [True] for suspect in suspects}
    for number, row in enumerate(rows[1:] if suspects else (), start=1):
        curves = _try_ratings(observed, place, row, number, suspected)
        for suspect in suspects:
            is_shown = suspect.is_shown(curves)
            if is_shown is not None:
                verdicts[suspect].append(is_shown)
    misread = {}
    for suspect, row_verdicts in verdicts.items():
        if all(row_verdicts) and len(row_verdicts) > 1:
            misread[suspect] = len(row_verdicts)
    return misread


def _try_ratings(
    observed: Observed,
    place: ReplyPlace,
    reply: Reply,
    number: int,
    forms: Iterable[RatedForm],
) -> RatingCurves:
    """Score a row beside replies with other ratings.

    Args:
        observed: What was observed of the reward.
        place: Where the replies stand.
        reply: The row.
        number: Its number, which is that of each form's reply as well.
        forms: The forms whose ratings are tried.

    Returns:
        What it earned. Ratings that may be beyond their scale are left out where they
        earn what one beyond it does. Nothing where the row no longer earns what it did.
    """
    plans: list[tuple[RatedForm, float]] = []
    for form in forms:
        plans += [(form, rating) for rating in form.texts]
        if form.doubtful:
            plans.append((form, BEYOND))
    tries = observed.tries
    rows = [reply.row]
    for form, rating in plans:
        columns = place.write(reply.row, form.write(rating, number))
        rows.append(tries.varied(reply.row, **columns))
    as_logged, *rewards = rewards_in(tries.outcomes(rows, share=SHARE_OF_RATINGS))
    if not math.isclose(as_logged, reply.earned, abs_tol=1e-9):
        return {}
    curves: dict[RatedForm, dict[float, float]] = {form: {} for form in forms}
    for (form, rating), reward in zip(plans, rewards, strict=True):
        if not math.isnan(reward):
            curves[form][rating] = reward
    for form, curve in curves.items():
        beyond = curve.pop(BEYOND, math.nan)
        for rating in form.doubtful & curve.keys():
            if math.isclose(curve[rating], beyond, abs_tol=1e-9):
                del curve[rating]
    return curves


def _span_of(curves: Iterable[RatingCurve]) -> float:
    """Return the difference between the most and the least that was earned."""
    rewards: list[float] = []
    for curve in curves:
        rewards += curve.values()
    return 0.0 if are_equal(rewards) else max(rewards) - min(rewards)


def _order_of(curves: RatingCurves) -> int:
    """Return 1 where better numbers earn more, -1 where less, 0 where neither is so.

    Only numbers that are written alike are compared: these are read alike.
    """
    rising = falling = 0
    for form, curve in curves.items():
        for low, high in combinations(sorted(curve), 2):
            if len(form.texts[low]) == len(form.texts[high]):
                rising += curve[high] > curve[low]
                falling += curve[high] < curve[low]
    if abs(rising - falling) <= LEAST_ORDER * (rising + falling):
        return 0
    return 1 if rising > falling else -1


def _rank(misread: Misread) -> tuple[bool, bool]:
    return not misread.is_grave, bool(misread.form.frame.neighbours)


def _find_suspects(curves: RatingCurves) -> list[Misread]:
    """Find what one row shows to be misread, at most one rating of each form."""
    order = _order_of(curves)
    if not order:
        return []
    moved = [form for form, curve in curves.items() if _span_of([curve])]
    suspects = []
    for form, curve in curves.items():
        others = [other for other in moved if other is not form]
        others.sort(key=lambda other: other.top != form.top)
        if len(curve) < 2:
            continue  # it is not judged
        if form not in moved:
            suspects.append(_flat(form, others, curves))
        else:
            suspect = _out_of_order(form, order, curves)
            suspects.append(suspect or _apart(form, others, curves))
    return [suspect for suspect in suspects if suspect is not None]


def _flat(
    form: RatedForm, others: Sequence[RatedForm], curves: RatingCurves
) -> Misread | None:
    """Hold a form whose ratings all earn the same against one in which they do not."""
    if not others:
        return None
    other, curve = others[0], curves[form]
    other_curve = curves[other]
    pairs = [(min(curve), min(other_curve)), (max(curve), max(other_curve))]
    if form.top == other.top:
        pairs = [(rating, rating) for rating in curve if rating in other_curve]
    misread = _widest("flat", form, other, pairs, curves)
    if misread is None:
        return None
    best = max(max(curves[other].values()) for other in others)
    is_top = misread.earned >= best - LEAST_LOSS * _span_of(curves.values())
    return replace(misread, is_grave=is_top)


def _out_of_order(form: RatedForm, order: int, curves: RatingCurves) -> Misread | None:
    """Find the better rating of a form that loses most by being better."""
    ranked = sorted(curves[form], reverse=order < 0)
    pairs = []
    for worse, better in combinations(ranked, 2):
        if curves[form][better] < curves[form][worse]:
            pairs.append((better, worse))
    misread = _widest("order", form, form, pairs, curves)
    if misread is None:
        return None
    loss = (misread.other_earned - misread.earned) / _span_of(curves.values())
    return replace(misread, is_grave=loss >= GRAVE_LOSS) if loss > LEAST_LOSS else None


def _apart(
    form: RatedForm, others: Sequence[RatedForm], curves: RatingCurves
) -> Misread | None:
    """Hold a form against others that tell ratings of the same scale better apart."""
    for other in others:
        span, other_span = _span_of([curves[form]]), _span_of([curves[other]])
        if form.top == other.top and span < other_span:
            pairs = [(rating, rating) for rating in curves[form]]
            misread = _widest("apart", form, other, pairs, curves)
            if misread and misread.is_shown(curves):
                return misread
    return None


def _widest(
    trait: str,
    form: RatedForm,
    other: RatedForm,
    pairs: Iterable[tuple[float, float]],
    curves: RatingCurves,
) -> Misread | None:
    """Choose the ratings of two forms that are paid most differently."""
    choices = []
    for rating, other_rating in pairs:
        if other_rating in curves[other]:
            earned = curves[form][rating], curves[other][other_rating]
            choices.append(Misread(trait, form, rating, other, other_rating, *earned))
    return max(
        choices, key=lambda item: abs(item.other_earned - item.earned), default=None
    )


# --- what is said


def _report(
    observed: Observed,
    place: ReplyPlace,
    replies: Sequence[Reply],
    rows_by_misread: Mapping[Misread, int],
) -> Finding:
    """Report the gravest rating that is misread, and name other forms of the same."""
    first = next(iter(rows_by_misread))
    alike = [item for item in rows_by_misread if item.trait == first.trait]
    affected = sum(any(item.is_of(reply) for item in alike) for reply in replies)
    phrases = dict.fromkeys(item.form.phrase(item.rating) for item in alike)
    phrase, *others = phrases
    row = best_rows(replies)[0].row
    columns = place.write(row, first.form.write(first.rating, 0))
    trait = first.trait
    if trait == "flat" and first.form.frame.top:
        trait = "scale"
    severity = "warn" if affected >= FEW_AFFECTED * len(replies) else "info"
    if first.is_grave:
        severity = "high"
    n = rows_by_misread[first]
    varied = observed.tries.varied(row, **columns)
    reply = f"the judge said {phrase!r}"
    return observed.finding(
        MISREAD_CODE,
        n,
        n,
        severity=severity,
        examples=[observed.row_example(varied, first.earned, MISREAD_CODE, reply)],
        trait=trait,
        column=place.name,
        phrase=phrase,
        beside=first.form.frame.neighbours,
        earned=first.earned,
        other=first.other_form.phrase(first.other_rating),
        other_earned=first.other_earned,
        is_best=first.is_grave,
        affected=affected,
        replies=len(replies),
        others=others,
    )
