"""Find rewards that misread the rating in a judge's logged reply.

A reward that takes the last number reads "Rating: 3/10" as 10. The rating of a logged
reply is varied while everything else stays as logged. A better rating must never be
paid less, and no form of it may be paid alike for all ratings if other forms are not.
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
"""Share of the span of rewards by which two ratings differ. Our choice."""
GRAVE_LOSS = 0.5
"""Share of the span from which the loss of a better rating is grave. Our choice."""
OPPOSITE_ENDS = 0.9
"""Share of the span from which a rating in two forms is paid like opposite ends. Our
choice."""
LEAST_ORDER = 0.6
"""Least share of pairs of numbers written alike, such as 3 and 7, that are paid in one
order, less the share in the other order. A scale whose middle is paid best has no
order. Our choice."""

FEW_AFFECTED = 0.05
"""Share of the replies below which a milder misreading is for information. Our
choice."""

BEYOND = math.inf
"""Stands for a rating beyond the scale; ratings that are paid like it may be, too."""

RatingCurve = Mapping[float, float]
"""Rating -> the reward of a row with it, if that was judged."""

RatingCurves = Mapping[RatedForm, RatingCurve]


@dataclass(frozen=True)
class Misread:
    """A misread rating on one row, with another rating that shows it.

    The trait is "flat" if all ratings in the form earn the same, "order" if a better
    rating earns less, "apart" if the same rating earns in another form as much more or
    less as another rating would.
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
        """Return whether a logged reply has this form, and for an order this rating."""
        frame = reply.rating.frame
        is_same = frame == self.form.frame
        if not self.form.frame.neighbours:  # other numbers beside it change nothing
            is_same = frame.words == self.form.frame.words
        has_rating = float(reply.rating.number) == self.rating
        return is_same and (has_rating or self.trait != "order")

    def is_shown(self, curves: RatingCurves) -> bool | None:
        """Return whether another row shows it too; None if no rating moves that row."""
        curve = curves.get(self.form, {})
        other = curves.get(self.other_form, {})
        span = _span_of([curve, other])
        if not span or self.rating not in curve or self.other_rating not in other:
            return None
        loss = other[self.other_rating] - curve[self.rating]
        if self.trait == "flat":
            return not _span_of([curve])
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
    """Find misread ratings, the gravest first, and how many rows show each.

    All forms are tried on the first row, and suspect ones on the others as well.
    """
    curves = _try_ratings(observed, place, rows[0], 0, forms)
    by_words: dict[tuple[str, ...], Misread] = {}
    for suspect in sorted(_find_suspects(curves), key=_rank):
        by_words.setdefault((suspect.trait, *suspect.form.frame.words), suspect)
    suspects = [*by_words.values()][:MOST_SUSPECTS]
    pairs = chain.from_iterable((item.form, item.other_form) for item in suspects)
    suspected = dict.fromkeys(pairs)
    verdicts = {suspect: [True] for suspect in suspects}
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
    """Score a row with other ratings in its reply.

    Args:
        observed: What was observed of the reward.
        place: The place of the replies.
        reply: The row.
        number: The number of the row, which also selects the reply of each form.
        forms: The forms whose ratings are tried.

    Returns:
        The rewards by form and rating; {} if the row no longer earns what it did. A
        doubtful rating is left out if it earns the same as one beyond the scale.
    """
    plans = []
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
    """Return the difference between the highest and the lowest reward."""
    rewards: list[float] = []
    for curve in curves:
        rewards += curve.values()
    return 0.0 if are_equal(rewards) else max(rewards) - min(rewards)


def _order_of(curves: RatingCurves) -> int:
    """Return 1 if larger numbers earn more, -1 if they earn less, 0 if neither.

    Only numbers with equally many characters are compared, as they are read alike.
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
    """Find ratings that one row shows to be misread, at most one of each form."""
    order = _order_of(curves)
    if not order:
        return []
    moved = [form for form, curve in curves.items() if _span_of([curve])]
    suspects = []
    for form, curve in curves.items():
        others = [other for other in moved if other is not form]
        others.sort(key=lambda other: other.top != form.top)
        if len(curve) < 2:
            continue  # its ratings were not judged
        if form not in moved:
            suspects.append(_flat(form, others, curves))
        else:
            suspect = _out_of_order(form, order, curves)
            suspects.append(suspect or _apart(form, others, curves))
    return [suspect for suspect in suspects if suspect is not None]


def _flat(
    form: RatedForm, others: Sequence[RatedForm], curves: RatingCurves
) -> Misread | None:
    """Compare a form whose ratings all earn the same with one in which they do not."""
    if not others:
        return None
    pairs = [(rating, rating) for rating in curves[form]]
    misread = _widest("flat", form, others[0], pairs, curves)
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
    """Compare a form with others that tell ratings of the same scale better apart."""
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


# --- the finding


def _report(
    observed: Observed,
    place: ReplyPlace,
    replies: Sequence[Reply],
    rows_by_misread: Mapping[Misread, int],
) -> Finding:
    """Report the gravest misread rating, and name other forms with the same trait."""
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
