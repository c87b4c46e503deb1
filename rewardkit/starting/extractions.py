"""Extractions: ways to read the answers of a log, and how often each one is right."""

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
MOST_NAMES = 3  # names of tags that are tried
RARE_SHARE = 0.01  # under which a way is an accident
COMMON_SHARE = 0.25  # from which on the policy knows a form
USUAL_SHARE = 0.5  # from which on a form is the usual one
SECOND_SHARE = 0.05  # with answers of a second form, for it to be worth reading
CHANCE = 0.01  # by which shares of right answers differ by chance
STRICT_PRECISION = 0.9  # of the best precision, from which on a stricter way is chosen
HEAD = re.compile(r"(?m)^[ \t]*([A-Za-z][\w ]{0,28}:)[ \t]*\S")  # a label of a line
ANY_TEXT = ("text", "prose", "accepted", "mathematics")  # kinds of truth
SHORT_COMPLETION = 200  # characters up to which a completion may be the answer alone


@dataclass(frozen=True, eq=False)
class Extraction:
    """A way to read the answer, with what it reads from each row and how right that is.

    Attributes:
        extractor: What reads it, None where the completion itself is the answer.
        values: (rows,) the text that is read, or None.
        scores: (rows,) its score, or None where the truth is not judged.
    """

    extractor: Extractor | None
    values: Objects
    scores: Objects

    @property
    def is_marked(self) -> bool:
        """Whether the extractor looks for a mark: all do but `number` and None."""
        return not isinstance(self.extractor, extract.number | None)

    @property
    def code(self) -> str:
        """The Python expression that makes its extractor."""
        return "the completion" if self.extractor is None else code_of(self.extractor)

    @property
    def short_code(self) -> str:
        """Its code without the module."""
        return self.code.replace("rk.extract.", "")

    @property
    def share_found(self) -> float:
        """Share of the completions in which it finds something."""
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
    """Return the mean of the scores that are no None, 0.0 without any."""
    judged = scores[pd.notna(scores)]
    return float(np.mean(judged)) if len(judged) else 0.0


def measure_extractor(
    extractor: Extractor | None, rows: Sequence[Row], truth: Truth
) -> Extraction:
    """Read the answer of each row with an extractor, and judge it by the truth."""
    reader: Callable[[str], Any] = str if extractor is None else extractor
    values = []
    scores = []
    score_of: dict[tuple[str, str], float | None] = {}
    for row in rows:
        value = reader(row["completion"])
        if value == []:  # a list of nothing
            value = None
        ground_truth = row.get("ground_truth")
        key = repr(value), repr(ground_truth)
        if key not in score_of:  # siblings say the same, and some comparisons are slow
            score_of[key] = truth.judge(value, ground_truth)
        values.append(value)
        scores.append(score_of[key])
    return Extraction(
        extractor, np.array(values, dtype=object), np.array(scores, dtype=object)
    )


def measure_extractors(
    rows: Sequence[Row], prompts: Sequence[str], truth: Truth
) -> list[Extraction]:
    """Return the extractions that find something in these rows, the strictest first.

    Where none does, one for a truth that can be compared: the completion itself if
    the truth is any text, else the last one.
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
    """Whether all that `outer` reads is as right as the part that `inner` reads."""
    extractor = inner.extractor
    if not isinstance(extractor, extract.within) or extractor.outer != outer.extractor:
        return False
    return outer.share_right + CHANCE >= inner.share_right


def _propose_extractors(
    rows: Sequence[Row], prompts: Sequence[str], truth: Truth
) -> list[Extractor | None]:
    """Return extractors for the truth and what completions show, the loosest last."""
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
        behind = []
        for outer in (phrase, *labels):
            behind.append(extract.within(outer, number))
        return [*marks, extract.gsm8k(), *behind, *keys, number]
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
    """Whether completions may be the answers alone."""
    lengths = sorted(len(text) for text in texts)
    return lengths[len(texts) // 2] <= SHORT_COMPLETION


def _find_heads(texts: Sequence[str]) -> list[str]:
    """Return the labels before a colon that begin a line of many texts, "City:"."""
    heads: Counter[str] = Counter()
    for text in texts:
        heads.update(dict.fromkeys(HEAD.findall(text)).keys())
    least = COMMON_SHARE * len(texts)
    return [head for head, count in heads.most_common(MOST_NAMES) if count >= least]


def choose_extraction(
    extractions: Sequence[Extraction], rows: Sequence[Row], truth: Truth
) -> Extraction | None:
    """Choose how a first reward reads answers, None where nothing says how.

    The strictest common way whose answers are nearly as often right as the best's.
    Where many completions have none there, the next way that finds right ones in these
    stands behind it. With a truth answers are always read: where all ways are rare, by
    the one that is most often right.
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
    """Whether it reads a list, which no way of another can stand behind."""
    return isinstance(way.extractor, extract.every)


def _adds_answers(second: Extraction, first: Extraction) -> bool:
    """Whether the second way finds answers in many completions without a first one.

    They have to be right half as often as those of the first.
    """
    if not second.is_marked and first.share_found >= USUAL_SHARE:
        return False
    added = pd.isna(first.values) & pd.notna(second.values)
    if np.mean(added) < SECOND_SHARE:
        return False
    return _mean_score(second.scores[added]) >= first.precision / 2
