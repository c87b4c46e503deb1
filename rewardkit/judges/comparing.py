"""Judges `pairwise` and `ranking`: a model compares siblings, in both orders."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import chain, combinations
from statistics import fmean
from typing import Annotated, Any

from rewardkit.errors import NotJudged
from rewardkit.judges.model_judge import (
    ModelJudge,
    column_text,
    object_of,
    question,
    read_object,
    with_marks,
)
from rewardkit.judges.session import ModelAnswer
from rewardkit.primitives.primitive import VERDICT, note
from rewardkit.primitives.texts import is_missing

Order = Sequence[str]
"""Labels of siblings in the order in which a call shows them."""
Texts = Mapping[str, Mapping[str, Any]]
"""Label -> column -> value, for distinct siblings."""
Points = dict[tuple[str, str], float]
"""(label shown earlier, label shown later) -> points of the earlier: 1.0 or 0.5."""
Reader = Callable[[str], dict[str, Any]]

PAIR_POINTS = {"first": 1.0, "tie": 0.5, "second": 0.0}
PAIR_SCHEMA = object_of(
    {"reason": {"type": "string"}, "better": {"enum": list(PAIR_POINTS)}}
)
NO_COLUMN = "a column that the judge is shown is missing"
NO_SIBLING = "there is no sibling to compare it with"


class Comparing(ModelJudge):
    """Base of judges that score a completion by its share of won comparisons."""

    together = "group"
    by_first = False
    """Whether only the verdict of the first sibling contains an answer."""

    def orders(self, labels: Order) -> list[Order]:
        """Return the labels to show in each call; each pair occurs in both orders."""
        raise NotImplementedError

    def make_request(self, texts: Texts, order: Order) -> tuple[dict[str, Any], Reader]:
        """Return the request for a call, and the reader of its answer."""
        raise NotImplementedError

    def point(self, value: Mapping[str, Any], first: str, second: str) -> float:
        """Return the points of the first of two texts: 1.0, or 0.5 for a tie."""
        raise NotImplementedError

    async def __call__(self, **columns: Sequence[Any]) -> list[float | NotJudged]:
        rows = [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]
        labels = list(map(_label, rows))
        copies = Counter(filter(None, labels))  # equal siblings have equal labels
        texts = {label: rows[labels.index(label)] for label in sorted(copies)}
        orders = self.orders(list(texts))
        requests = []
        for order in orders:
            request, reader = self.make_request(texts, order)
            requests.append((request, 0, reader))
        answers = await self.answers(requests)
        calls = list(zip(orders, answers, strict=True))
        points: Points = {}
        for order, answer in calls:
            if not answer.failed:
                for pair in combinations(order, 2):
                    points[pair] = self.point(answer.value, *pair)
        expenses = self.expenses(answers, len(rows))
        scores: list[float | NotJudged] = []
        verdicts = []
        for label in labels:
            score: float | NotJudged = NotJudged(NO_COLUMN)
            verdict: dict[str, Any] = {"reason": NO_COLUMN, "raw": []}
            if label:
                score, verdict = self._verdict(label, calls, points, copies)
            scores.append(score)
            verdicts.append(verdict | expenses)
        note(VERDICT, verdicts)
        return scores

    def _verdict(
        self,
        label: str,
        calls: Sequence[tuple[Order, ModelAnswer]],
        points: Points,
        copies: Mapping[str, int],
    ) -> tuple[float | NotJudged, dict[str, Any]]:
        """Return the share of comparisons that a text has won, and its verdict.

        `copies` counts the equal siblings of each label, which tie with one another.
        """
        reasons = []
        failures = []
        raw = []
        for order, answer in calls:
            if label in order and answer.failed:
                failures.append(answer.failed)
            owners = order[:1] if self.by_first else order
            if label in owners:
                if answer.text:
                    raw.append(answer.text)
                if not answer.failed:
                    reasons.append(answer.value["reason"])
        count = copies[label] - 1
        wins = count / 2
        reversals = []  # for each other text: whether the position decided
        for other in copies:
            as_first = points.get((label, other))
            other_as_first = points.get((other, label))
            if as_first is not None and other_as_first is not None:
                wins += copies[other] * (as_first + 1 - other_as_first) / 2
                count += copies[other]
                reversals.append(as_first == other_as_first != 0.5)
        if not count:
            reason = next(iter(failures), NO_SIBLING)
            return NotJudged(reason), {"reason": reason, "raw": raw}
        verdict: dict[str, Any] = {"level": f"{wins:g} of {count} comparisons won"}
        if reversals:
            verdict["position_bias"] = fmean(reversals)
        return wins / count, {**verdict, "reason": "\n".join(reasons), "raw": raw}

    def instructions(self, presentation: str, answer: str) -> str:
        """Write the model's instructions: presentation, rubric, form of the answer.

        Args:
            presentation: Sentences on how the completions are shown.
            answer: The JSON keys after 'reason', as the end of the text.
        """
        return (
            "You compare completions that a language model gave to one prompt. "
            f"{presentation} The order in which they stand says nothing of them.\n\n"
            f"{with_marks(self.rubric)}\n\nAnswer with JSON: an object with 'reason' "
            f"(one or two sentences), then {answer}"
        )


def _label(row: Mapping[str, Any]) -> str:
    """Return the label of a sibling, a hash of its text, "" if a column is missing."""
    if any(map(is_missing, row.values())):
        return ""
    texts = json.dumps([column_text(value) for value in row.values()])
    return hashlib.sha256(texts.encode()).hexdigest()[:12]


def _columns(texts: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the columns to show: equal ones once, others for each text."""
    columns: dict[str, Any] = {}
    marked: dict[str, Any] = {}
    for name, value in texts[0][1].items():
        if len({column_text(row[name]) for _, row in texts}) == 1:
            columns[name] = value
    for mark, row in texts:
        for name, value in row.items():
            if name not in columns:
                marked[f"{name}_{mark}"] = value
    return {**columns, **marked}


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

    The model is asked about every pair twice, with the positions swapped: which is
    better by the rubric, "first", "second" or "tie". A win counts 1, a tie 0.5, and a
    pair the mean of its two answers, so that contradictory answers are a tie. Their
    share is the verdict's "position_bias", 1.0 if only the position decides.
    `opponents`, an even number, bounds the cost: each completion is compared with that
    many siblings. They are chosen by the texts, independent of the siblings' order.

    Equal siblings tie without a call. A pair without both answers is left out; a
    completion without any comparison is not judged, with the reason. Each sibling's
    verdict has the reasons and raw answers of the calls in which it was shown first,
    and an equal share of the tokens and cost. The other options are those of
    `rk.judge`.
    ValueError: an empty rubric, odd `opponents`, invalid options.

    >>> pairwise("Which explains it better?", model="judge-1", opponents=4)
    rk.judges.pairwise('Which explains it better?', model='judge-1', opponents=4)
    """

    by_first = True
    _: KW_ONLY
    opponents: Annotated[int, _even] | None = None

    def orders(self, labels: Order) -> list[Order]:
        pairs = list(combinations(labels, 2))
        count = len(labels)
        if self.opponents is not None and self.opponents < count - 1:
            pairs = []  # each label with the next ones, in a ring
            for at, label in enumerate(labels):
                for step in range(1, self.opponents // 2 + 1):
                    pairs.append((label, labels[(at + step) % count]))
        orders: list[Order] = []
        for pair in pairs:
            orders += [pair, pair[::-1]]
        return orders

    def make_request(self, texts: Texts, order: Order) -> tuple[dict[str, Any], Reader]:
        instructions = self.instructions(
            "Two are shown, in parts whose names end in 'first' and 'second'.",
            "'better' ('first' or 'second', or 'tie' where neither is better).",
        )
        pair = [("first", texts[order[0]]), ("second", texts[order[1]])]
        messages = question(instructions, _columns(pair))
        reader = partial(read_object, schema=PAIR_SCHEMA)
        return self.request(messages, PAIR_SCHEMA), reader

    def point(self, value: Mapping[str, Any], first: str, second: str) -> float:
        return PAIR_POINTS[value["better"]]


@dataclass(frozen=True, repr=False, eq=False)
class ranking(Comparing):
    """Share of its siblings that a completion is ranked above by a model.

    The model is asked twice, in one order and its reverse, to put the labels of the
    siblings into tiers from best to worst. A tie in a tier counts 0.5, and the score is
    the mean of both answers. Labels and the first order are derived from the texts, so
    they do not depend on the siblings' order. The verdict's "position_bias" is the
    share of siblings ranked above the completion in one answer and below it in the
    other.

    An answer that leaves out or repeats a sibling is requested again, once. Without two
    answers, or without siblings, a completion is not judged, with the reason. Equal
    siblings are shown once, and tie. Each verdict has an equal share of the tokens and
    cost. The other options are those of `rk.judge`. ValueError: an empty rubric,
    invalid options.

    >>> ranking("Which proof is clearest?", model="judge-1").columns
    ('prompt', 'completion')
    """

    def orders(self, labels: Order) -> list[Order]:
        return [labels, labels[::-1]] if len(labels) > 1 else []

    def make_request(self, texts: Texts, order: Order) -> tuple[dict[str, Any], Reader]:
        tier = {"type": "array", "items": {"enum": list(texts)}}
        tiers = {"type": "array", "items": tier}
        schema = object_of({"reason": {"type": "string"}, "tiers": tiers})
        instructions = self.instructions(
            f"Their labels are {', '.join(order)}, in which the names of their parts "
            "end.",
            "'tiers': lists of labels from the best completions to the worst, in one "
            "list where none is better, and every label once.",
        )

        def read_tiers(text: str) -> dict[str, Any]:
            answer = read_object(text, schema)
            labels = list(chain.from_iterable(answer["tiers"]))
            wrong = [label for label in texts if labels.count(label) != 1]
            if wrong:
                raise ValueError(
                    f"every label has to stand there once, unlike {', '.join(wrong)}"
                )
            answer["tier"] = {}
            for place, tier in enumerate(answer["tiers"]):
                answer["tier"] |= dict.fromkeys(tier, place)
            return answer

        labelled = [(label, texts[label]) for label in order]
        messages = question(instructions, _columns(labelled))
        return self.request(messages, schema), read_tiers

    def point(self, value: Mapping[str, Any], first: str, second: str) -> float:
        tier = value["tier"]
        if tier[first] == tier[second]:
            return 0.5
        return float(tier[first] < tier[second])
