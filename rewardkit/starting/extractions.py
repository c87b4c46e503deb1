"""Measure ways to read the answers of a log, and how often each is right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.answers import Row, Truth
from rewardkit.answers.formats import find_answer_keys, find_answer_tags
from rewardkit.answers.kinds import LIST_MARK
from rewardkit.primitives import extract
from rewardkit.primitives.extract import Extractor
from rewardkit.rewards.source import code_of

Objects = np.ndarray[Any, np.dtype[np.object_]]

# Shares are of the completions; all of these are our choice.
MOST_NAMES = 3  # tags, or labels of lines, to try
RARE_SHARE = 0.01  # below it, a form occurs by accident
COMMON_SHARE = 0.25  # from it on, the policy knows a form
USUAL_SHARE = 0.5  # from it on, a form is the usual one
SECOND_SHARE = 0.05  # least share of a second form that is also read
CHANCE = 0.01  # difference between shares of right answers that is chance
STRICT_PRECISION = 0.9  # share of the best precision that a stricter way must reach
HEAD = re.compile(r"(?m)^[ \t]*([A-Za-z][\w ]{0,28}:)[ \t]*\S")  # label of a line
ANY_TEXT = ("text", "prose", "accepted", "mathematics")  # kinds of truth
SHORT_COMPLETION = 200  # characters up to which a completion may be only the answer


@dataclass(frozen=True, eq=False)
class Extraction:
    """A way to read answers, with the answer and score of each row.

    Attributes:
        extractor: The extractor, None if the completion itself is the answer.
        values: (rows,) the answer, or None.
        scores: (rows,) the score of the answer, None if the row is not judged.
    """

    extractor: Extractor | None
    values: Objects
    scores: Objects

    @property
    def is_marked(self) -> bool:
        """Whether the extractor looks for a mark: all but `number` and None do."""
        return not isinstance(self.extractor, extract.number | None)

    @property
    def code(self) -> str:
        """The Python expression of its extractor."""
        return "the completion" if self.extractor is None else code_of(self.extractor)

    @property
    def short_code(self) -> str:
        """The code without the module."""
        return self.code.replace("rk.extract.", "")

    @property
    def share_found(self) -> float:
        """Share of the completions in which it finds an answer."""
        return float(np.mean(pd.notna(self.values)))

    @property
    def share_right(self) -> float:
        """Mean score over the rows with a truth, 0.0 without any."""
        return _mean_score(self.scores)

    @property
    def precision(self) -> float:
        """Mean score of the answers that it finds."""
        return self.share_right / self.share_found if self.share_found else 0.0


def _mean_score(scores: Objects) -> float:
    """Return the mean of the scores that are not None, 0.0 without any."""
    judged = scores[pd.notna(scores)]
    return float(np.mean(judged)) if len(judged) else 0.0


def measure_extractor(
    extractor: Extractor | None, rows: Sequence[Row], truth: Truth
) -> Extraction:
    """Read the answer of each row with an extractor, and score it by the truth."""
    reader: Callable[[str], Any] = str if extractor is None else extractor
    values = []
    scores = []
    score_of: dict[tuple[str, str], float | None] = {}
    for row in rows:
        value = reader(row["completion"])
        if value == []:  # an empty list is no answer
            value = None
        ground_truth = row.get("ground_truth")
        key = repr(value), repr(ground_truth)
        if key not in score_of:  # siblings often agree, and some comparisons are slow
            score_of[key] = truth.judge(value, ground_truth)
        values.append(value)
        scores.append(score_of[key])
    return Extraction(
        extractor, np.array(values, dtype=object), np.array(scores, dtype=object)
    )


def measure_extractors(
    rows: Sequence[Row], prompts: Sequence[str], truth: Truth
) -> list[Extraction]:
    """Return the extractions that find answers in these rows, strictest first.

    If none does, and the truth can be compared, return one extraction: the completion
    itself if the truth is any text, else the last one tried.
    """
    extractions: list[Extraction] = []
    last: list[Extraction] = []
    for extractor in dict.fromkeys(_propose_extractors(rows, prompts, truth)):
        extraction = measure_extractor(extractor, rows, truth)
        last = [extraction]
        is_covered = any(_is_as_right(outer, extraction) for outer in extractions)
        if extraction.share_found >= RARE_SHARE and not is_covered:
            extractions.append(extraction)
    if extractions or not truth.verified:
        return extractions
    if truth.kind in ANY_TEXT:
        return [measure_extractor(None, rows, truth)]
    return last


def _is_as_right(outer: Extraction, inner: Extraction) -> bool:
    """Return whether `outer` is right as often as `inner`, which reads a part of it."""
    extractor = inner.extractor
    if not isinstance(extractor, extract.within) or extractor.outer != outer.extractor:
        return False
    return outer.share_right + CHANCE >= inner.share_right


def _propose_extractors(
    rows: Sequence[Row], prompts: Sequence[str], truth: Truth
) -> list[Extractor | None]:
    """Return extractors for this kind of truth and these completions, loosest last."""
    texts = [row["completion"] for row in rows]
    spellings: dict[str, str] = {}  # the case of a tag does not matter
    for name in find_answer_tags(texts, prompts):
        spellings.setdefault(name.lower(), name)
    tags = [extract.tag(name) for name in spellings.values()][:MOST_NAMES]
    names = [key for key in find_answer_keys(texts) if "." not in key]
    keys = [extract.json_value(key) for key in names]
    objects = [extract.json_value(), extract.json_value(repair=True)]
    if truth.kind == "json":
        return [*objects, *tags]
    marks: list[Extractor | None] = []
    if truth.kind == "labels":
        ends = [text.strip().rpartition("\n")[2] for text in texts]
        marks += [*keys, *objects, *tags, *map(extract.after, _find_heads(ends))]
        bullets = extract.every(extract.pattern(LIST_MARK))
        return [*marks, bullets, *([None] if _are_short(texts) else [])]
    labels = [extract.after(head) for head in _find_heads(texts)]
    number = extract.number()
    box = extract.boxed()
    phrase = extract.answer_phrase()
    if truth.kind == "number":
        for outer in (*tags, box):
            marks += [outer, extract.within(outer, number)]
        after_words = [extract.within(outer, number) for outer in (phrase, *labels)]
        return [*marks, extract.gsm8k(), *after_words, *keys, number]
    for tag in tags:
        marks += [tag, extract.within(tag, box)]
    marks.append(box)
    if truth.kind == "choice":
        return [*marks, extract.choice(truth.options), *keys]
    marks += [extract.after("####"), phrase, *labels]
    if not truth.verified:
        return [*marks, extract.code_block(), extract.json_value()]
    marks += keys
    if _are_short(texts):
        marks.append(None)
    return marks


def _are_short(texts: Sequence[str]) -> bool:
    """Return whether completions may consist of only the answer."""
    lengths = sorted(len(text) for text in texts)
    return lengths[len(texts) // 2] <= SHORT_COMPLETION


def _find_heads(texts: Sequence[str]) -> list[str]:
    """Return labels such as "City:" that begin a line in many texts."""
    heads: Counter[str] = Counter()
    for text in texts:
        heads.update(dict.fromkeys(HEAD.findall(text)).keys())
    least = COMMON_SHARE * len(texts)
    return [head for head, count in heads.most_common(MOST_NAMES) if count >= least]


def choose_extraction(
    extractions: Sequence[Extraction], rows: Sequence[Row], truth: Truth
) -> Extraction | None:
    """Choose how a first reward reads answers; None if the log does not show it.

    Choose the strictest common way that is right nearly as often as the best. If it
    finds no answer in many completions, the next way that finds right answers there is
    its fallback. If all ways are rare but the truth can be compared, choose the way
    that is right most often.
    """
    least = COMMON_SHARE if truth.verified else USUAL_SHARE
    common = [way for way in extractions if way.share_found >= least]
    best = max((way.precision for way in common), default=0.0)
    first = None
    for way in common:
        is_precise = way.precision >= STRICT_PRECISION * best - CHANCE
        if is_precise and (way.is_marked or truth.verified):
            first = way
            break
    if first is None and truth.verified:
        return max(extractions, key=lambda way: (way.share_right, way.share_found))
    if first is None or first.extractor is None or _is_list(first):
        return first
    if first.is_marked and truth.verified:
        for second in extractions:
            if second.extractor is None or _is_list(second):
                continue
            if _adds_answers(second, first):
                both = extract.first_of(first.extractor, second.extractor)
                return measure_extractor(both, rows, truth)
    return first


def _is_list(way: Extraction) -> bool:
    """Return whether a way reads a list, which cannot be combined with other ways."""
    return isinstance(way.extractor, extract.every)


def _adds_answers(second: Extraction, first: Extraction) -> bool:
    """Return whether `second` finds answers in many completions without a `first`.

    They must be right at least half as often as those of the first way.
    """
    if not second.is_marked and first.share_found >= USUAL_SHARE:
        return False
    added = pd.isna(first.values) & pd.notna(second.values)
    if np.mean(added) < SECOND_SHARE:
        return False
    return _mean_score(second.scores[added]) >= first.precision / 2
