"""pairwise and ranking: a model compares the siblings of a group, in both orders."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from statistics import fmean
from typing import Annotated, Any

from rewardkit.errors import NotJudged
from rewardkit.judges.model_judge import ModelJudge
from rewardkit.judges.questions import (
    object_of,
    question,
    read_object,
    shown,
    with_marks,
)
from rewardkit.primitives.notes import VERDICT, note
from rewardkit.primitives.texts import is_missing

Order = Sequence[str]  # labels of siblings as they are shown
Texts = Mapping[
    str, Mapping[str, Any]
]  # label -> column -> value, of siblings that differ
Points = dict[
    tuple[str, str], float
]  # (shown before, shown behind) -> 1.0 won, 0.5 tied

REASON = {"type": "string"}
POINTS = {"first": 1.0, "tie": 0.5, "second": 0.0}
PAIR = object_of({"reason": REASON, "better": {"enum": list(POINTS)}})
MISSING = "a column that the judge is shown is missing"
ALONE = "there is no sibling to compare it with"


class Comparing(ModelJudge):
    """Base of what compares siblings and gives each its share of won comparisons."""

    together = "group"
    by_first = False
    """Whether an answer stands in the verdict of the first sibling alone."""

    def orders(self, labels: Order) -> list[Order]:
        """Return what each call shows; each pair is shown in both orders."""
        raise NotImplementedError

    def asked(
        self, texts: Texts, order: Order
    ) -> tuple[dict[str, Any], Callable[[str], dict[str, Any]]]:
        """Return the request for a call, and the reader of its answer."""
        raise NotImplementedError

    def point(self, value: Mapping[str, Any], one: str, other: str) -> float:
        """Return what an answer gives the first of two: 1.0, or 0.5 for a tie."""
        raise NotImplementedError

    async def __call__(self, **columns: Sequence[Any]) -> list[float | NotJudged]:
        rows = [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]
        labels = [
            None if any(map(is_missing, row.values())) else _label(row) for row in rows
        ]
        times = Counter(filter(None, labels))
        texts = {label: rows[labels.index(label)] for label in sorted(times)}
        orders = self.orders(list(texts))
        requests = [self.asked(texts, order) for order in orders]
        answers = await self.answers([(request, 0, read) for request, read in requests])
        calls = list(zip(orders, answers, strict=True))
        points: Points = {}
        for order, answer in calls:
            if not answer.failed:
                points |= {
                    pair: self.point(answer.value, *pair)
                    for pair in combinations(order, 2)
                }
        paid = self.paid(answers, len(rows))
        scores: list[float | NotJudged] = []
        verdicts = []
        for label in labels:
            of = [
                answer
                for order, answer in calls
                if label in (order[:1] if self.by_first else order)
            ]
            won, verdict = _standing(label, points, times) if label else (None, {})
            if won is None:
                failed = [
                    answer.failed
                    for order, answer in calls
                    if label in order and answer.failed
                ]
                why = next(iter(failed), ALONE) if label else MISSING
            else:
                why = "\n".join(
                    answer.value["reason"] for answer in of if not answer.failed
                )
            scores.append(NotJudged(why) if won is None else won)
            raw = [answer.text for answer in of if answer.text]
            verdicts.append({**verdict, "reason": why, "raw": raw, **paid})
        note(VERDICT, verdicts)
        return scores

    def instructions(self, shows: str, answer: str) -> str:
        """Return what the model is told: what it is shown, rubric, and answer."""
        return (
            "You compare completions that a language model gave to one prompt. "
            f"{shows} The order in which "
            f"they stand says nothing of them.\n\n{with_marks(self.rubric)}\n\nAnswer "
            "with JSON: an object "
            f"with 'reason' (one or two sentences), then {answer}"
        )


def _label(row: Mapping[str, Any]) -> str:
    """Return the mark of a sibling, made of its text, not of its place."""
    return hashlib.sha256(
        json.dumps([shown(value) for value in row.values()]).encode()
    ).hexdigest()[:12]


def _standing(
    label: str, points: Points, times: Mapping[str, int]
) -> tuple[float | None, dict[str, Any]]:
    """Return the share of comparisons that a text has won, or None, and its verdict.

    `times` is how many siblings are the same as each text: they tie with one another.
    """
    count = times[label] - 1
    won, turned = count / 2, []
    for other in times:
        before, behind = points.get((label, other)), points.get((other, label))
        if before is not None and behind is not None:
            won += times[other] * (before + 1 - behind) / 2
            count += times[other]
            turned.append(before == behind != 0.5)
    if not count:
        return None, {}
    bias = {"position_bias": fmean(turned)} if turned else {}
    return won / count, {"level": f"{won:g} of {count} comparisons won", **bias}


def _columns(texts: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the columns to show: common ones once, others by the mark of each text."""
    common = {
        name: value
        for name, value in texts[0][1].items()
        if all(shown(row[name]) == shown(value) for _, row in texts)
    }
    own = {
        f"{name}_{mark}": row[name]
        for mark, row in texts
        for name in row
        if name not in common
    }
    return {**common, **own}


def _even(option: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int) or value < 2 or value % 2:
        raise ValueError(
            f"{option}={value!r} does not fit; give an even number from 2, or None "
            "for all"
        )
    return value


@dataclass(frozen=True, repr=False, eq=False)
class pairwise(Comparing):
    """Win rate of a completion against its siblings; an async group component.

    Every pair is asked for twice, with the positions swapped: which is better by the
    rubric, "first", "second" or "tie". A win counts 1, a tie 0.5, and a pair the mean
    of its two answers, so that answers that contradict each other are a tie; their
    share stands in the verdict as "position_bias", 1.0 where position decides alone.
    `opponents` bounds the cost: each is compared with that many siblings (an even
    number), chosen by the texts alone, in whatever order the siblings come.

    Siblings that are the same tie without a call. A pair without both answers is left
    out; what has no comparison at all is not judged, with the reason. Each sibling's
    verdict has the reasons and raw answers of the calls in which it stood first, and an
    equal share of their tokens and cost. The other options are those of `rk.judge`.
    ValueError: an empty rubric, `opponents` that are odd, options that cannot be.

    >>> pairwise("Which explains it better?", model="judge-1", opponents=4)
    rk.judges.pairwise('Which explains it better?', model='judge-1', opponents=4)
    """

    by_first = True
    _: KW_ONLY
    opponents: Annotated[int, _even] | None = None

    def orders(self, labels: Order) -> list[Order]:
        count = len(labels)
        if self.opponents is None or self.opponents >= count - 1:
            pairs = list(combinations(labels, 2))
        else:  # each and the next ones in a ring
            steps = range(1, self.opponents // 2 + 1)
            pairs = [
                (labels[at], labels[(at + step) % count])
                for at in range(count)
                for step in steps
            ]
        return [order for pair in pairs for order in (pair, pair[::-1])]

    def asked(
        self, texts: Texts, order: Order
    ) -> tuple[dict[str, Any], Callable[[str], dict[str, Any]]]:
        instructions = self.instructions(
            "Two are shown, in parts whose names end in 'first' and 'second'.",
            "'better' ('first' or 'second', or 'tie' where neither is better).",
        )
        shows = [
            (mark, texts[label])
            for mark, label in zip(("first", "second"), order, strict=True)
        ]
        request = self.request(question(instructions, _columns(shows)), PAIR)
        return request, lambda text: read_object(text, PAIR)

    def point(self, value: Mapping[str, Any], one: str, other: str) -> float:
        return POINTS[value["better"]]


@dataclass(frozen=True, repr=False, eq=False)
class ranking(Comparing):
    """Share of its siblings that a completion is ranked above by a model.

    It is asked twice, in one order and in its reverse, for the labels of the siblings
    in tiers from best to worst; a tie in a tier counts 0.5, and the score is the mean
    of both answers. Labels and the first order are made of the texts: they say nothing
    of the siblings' order. "position_bias" in the verdict is the share of its siblings
    that stand above it in one answer and below it in the other.

    An answer that leaves out or repeats a sibling is asked for once more; without two
    answers the group is not judged, with the reason, nor is what has no sibling.
    Siblings that are the same stand as one, and tie. Each verdict has an equal share of
    the tokens and cost. The other options are those of `rk.judge`. ValueError: an empty
    rubric, options that cannot be.

    >>> ranking("Which proof is clearest?", model="judge-1").columns
    ('prompt', 'completion')
    """

    def orders(self, labels: Order) -> list[Order]:
        return [labels, labels[::-1]] if len(labels) > 1 else []

    def asked(
        self, texts: Texts, order: Order
    ) -> tuple[dict[str, Any], Callable[[str], dict[str, Any]]]:
        tier = {"type": "array", "items": {"enum": list(texts)}}
        schema = object_of(
            {"reason": REASON, "tiers": {"type": "array", "items": tier}}
        )
        instructions = self.instructions(
            f"Their labels are {', '.join(order)}, in which the names of their parts "
            "end.",
            "'tiers': lists of labels from the best completions to the worst, in one "
            "list where none is "
            "better, and every label once.",
        )

        def read(text: str) -> dict[str, Any]:
            found = read_object(text, schema)
            placed = [label for tier in found["tiers"] for label in tier]
            wrong = [label for label in texts if placed.count(label) != 1]
            if wrong:
                raise ValueError(
                    f"every label has to stand there once, unlike {', '.join(wrong)}"
                )
            return {
                **found,
                "tier": {
                    label: at
                    for at, tier in enumerate(found["tiers"])
                    for label in tier
                },
            }

        shows = [(label, texts[label]) for label in order]
        return self.request(question(instructions, _columns(shows)), schema), read

    def point(self, value: Mapping[str, Any], one: str, other: str) -> float:
        tier = value["tier"]
        return 0.5 if tier[one] == tier[other] else float(tier[one] < tier[other])
