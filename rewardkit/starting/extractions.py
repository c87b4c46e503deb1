"""Extractions: how the answers of a log can be read, what each way takes, and how often it is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.answers.formats import find_answer_keys, find_answer_tags
from rewardkit.answers.truths import Row, Truth
from rewardkit.primitives import extract
from rewardkit.primitives.extract import Extractor
from rewardkit.starting.code import code_of

Objects = np.ndarray[Any, np.dtype[np.object_]]

TAGS = 3  # names that are tried
RARE = 0.01  # share of the completions under which a way is an accident: our choice
USED = 0.5  # share of the completions in which a form stands that is the usual one: our choice
COMMON = 0.25  # share from which on a form is one that the policy knows: our choice
SLIGHT = 0.01  # by which shares of right answers differ by chance: our choice
BESIDE = 0.05  # share of the completions in which a second form is worth reading, too: our choice
NEAR = 0.9  # of how often the best way is right, from which on a stricter one is taken: our choice
SHORT = 200  # characters up to which completions may be the answer and nothing else: our choice


@dataclass(frozen=True, eq=False)
class Extraction:
    """A way to read the answer, measured: what it takes from each row, and how that compares with the truth.

    `extractor` is None where the completion itself is the answer. `values` and `scores` have a text or None,
    and a number or None where the truth is not judged, of each row.
    """

    extractor: Extractor | None
    values: Objects  # (rows,)
    scores: Objects  # (rows,)

    @property
    def marked(self) -> bool:
        """Whether it reads what the writer marked as the answer; others take what stands there."""
        return not isinstance(self.extractor, extract.number | None)

    @property
    def code(self) -> str:
        """The code that makes it."""
        return "the completion" if self.extractor is None else code_of(self.extractor)

    @property
    def short(self) -> str:
        """Its code, as short as a person needs it."""
        return self.code.replace("rk.extract.", "")

    @property
    def found(self) -> float:
        """Share of the completions in which it finds something."""
        return float(np.mean(pd.notna(self.values)))

    @property
    def right(self) -> float:
        """Mean score of what it takes, over the rows with a truth; 0.0 where there is none."""
        return _mean(self.scores)

    @property
    def sure(self) -> float:
        """Mean score of the answers that it finds."""
        return self.right / self.found if self.found else 0.0


def extractions(
    rows: Sequence[Row], prompts: Sequence[str], truth: Truth
) -> list[Extraction]:
    """Those that find something in these rows, the strictest first; where none does, the last for a truth."""
    found: list[Extraction] = []
    for extractor in dict.fromkeys(_candidates(rows, prompts, truth)):
        one = extracted(extractor, rows, truth)
        if one.found >= RARE and not any(_says_as_much(other, one) for other in found):
            found.append(one)
    return found or ([one] if truth.verified else [])


def _says_as_much(outer: Extraction, one: Extraction) -> bool:
    """Whether what stands inside of what the outer one takes is no better an answer."""
    inside = (
        isinstance(one.extractor, extract.within)
        and one.extractor.outer == outer.extractor
    )
    return inside and outer.right + SLIGHT >= one.right


def extracted(
    extractor: Extractor | None, rows: Sequence[Row], truth: Truth
) -> Extraction:
    """What an extractor takes from these rows, held against the truth."""
    read: Callable[[str], str | None] = str if extractor is None else extractor
    values = [read(row["completion"]) for row in rows]
    truths = [row.get("ground_truth") for row in rows]
    keys = [*zip(values, map(repr, truths), strict=True)]
    asked = dict(
        zip(keys, truths, strict=True)
    )  # siblings often say the same, and some comparisons are slow
    known = {key: truth.judge(key[0], asked[key]) for key in asked}
    scores = [known[key] for key in keys]
    return Extraction(
        extractor, np.array(values, dtype=object), np.array(scores, dtype=object)
    )


def _mean(scores: Objects) -> float:
    """Mean of those that are judged; 0.0 where none is."""
    return float(np.mean(scores[pd.notna(scores)])) if pd.notna(scores).any() else 0.0


def _candidates(
    rows: Sequence[Row], prompts: Sequence[str], truth: Truth
) -> list[Extractor | None]:
    """Extractors that fit the truth and what stands in completions and prompts, the loosest last."""
    texts = [row["completion"] for row in rows]
    spellings: dict[str, str] = {}  # the case of a tag does not matter
    for name in find_answer_tags(texts, prompts):
        spellings.setdefault(name.lower(), name)
    tags = [extract.tag(name) for name in spellings.values()][:TAGS]
    keys = [
        extract.json_value(key) for key in find_answer_keys(texts) if "." not in key
    ]
    number, box, phrase = extract.number(), extract.boxed(), extract.answer_phrase()
    if truth.kind in ("json", "labels"):
        return [extract.json_value(), extract.json_value(repair=True), *tags]
    if truth.kind == "number":
        marks = [
            item
            for outer in (*tags, box)
            for item in (outer, extract.within(outer, number))
        ]
        return [*marks, extract.gsm8k(), extract.within(phrase, number), *keys, number]
    marks = [
        *(item for outer in tags for item in (outer, extract.within(outer, box))),
        box,
    ]
    if truth.kind == "choice":
        return [*marks, extract.choice(truth.options), *keys]
    marks += [extract.after("####"), phrase]
    if not truth.verified:
        return [*marks, extract.code_block(), extract.json_value()]
    is_short = sorted(map(len, texts))[len(texts) // 2] <= SHORT
    return [*marks, *keys, *([None] if is_short else [])]


def chosen(
    found: Sequence[Extraction], rows: Sequence[Row], truth: Truth
) -> Extraction | None:
    """The one that a first reward should read answers by; ``None`` where there is nothing to go by.

    The strictest of the common ones whose answers are nearly as often right as the best's; where many
    completions have none there, the next one that finds right ones in these stands behind it. Where there is
    a truth, answers are always read: of rare ways by that which is most often right.
    """
    common = [one for one in found if one.found >= (COMMON if truth.verified else USED)]
    best = max((one.sure for one in common), default=0.0)
    sure = [
        one
        for one in common
        if one.sure >= NEAR * best - SLIGHT and (one.marked or truth.verified)
    ]
    first = next(iter(sure), None)
    if first is None and truth.verified:
        return max(found, key=lambda one: one.right)
    if (
        first is None
        or first.extractor is None
        or not (first.marked and truth.verified)
    ):
        return first
    others = [
        one.extractor
        for one in found
        if one.extractor is not None and _is_second(one, first)
    ]
    return (
        extracted(extract.first_of(first.extractor, others[0]), rows, truth)
        if others
        else first
    )


def _is_second(one: Extraction, first: Extraction) -> bool:
    """Whether it finds answers, right half as often, in many completions where the first one finds none."""
    if not one.marked and first.found >= USED:
        return False
    new = pd.isna(first.values) & pd.notna(one.values)
    return bool(np.mean(new) >= BESIDE) and _mean(one.scores[new]) >= first.sure / 2
