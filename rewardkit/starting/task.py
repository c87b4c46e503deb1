"""Find what a log shows of a task: its truths, its answers, their form and length."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rewardkit.answers import Row, Truth, find_truth
from rewardkit.answers.formats import THINKING, find_tags
from rewardkit.primitives import extract, measure
from rewardkit.primitives.extract import Extractor
from rewardkit.primitives.messages import prompt_text
from rewardkit.primitives.texts import words
from rewardkit.primitives.verify.structures import json_of
from rewardkit.rewards.source import code_of
from rewardkit.rollouts.table import Rollouts
from rewardkit.rollouts.values import column_values
from rewardkit.starting.extractions import (
    USUAL_SHARE,
    Extraction,
    Objects,
    choose_extraction,
    measure_extractor,
    measure_extractors,
)
from rewardkit.starting.verdict import USUAL_AGREEMENT, LogVerdict, find_verdict

MOST_SCHEMA_KEYS = 12  # keys of an object up to which it gets a schema: our choice
JSON_TYPES = {
    bool: "boolean",
    Decimal: "number",
    str: "string",
    list: "array",
    dict: "object",
}


@dataclass(frozen=True)
class AnswerForm:
    """A form that answers have.

    Attributes:
        code: The expression of its measure, with ``SCHEMA`` for the schema; or
            ``stated``, which is true if `mark` finds something.
        name: Its name for readers.
        share: Share of the completions that have it.
        mark: Extractor of a separate field; None if the form is of the prediction.
        schema: The JSON schema of the answers.
    """

    code: str
    name: str
    share: float
    mark: Extractor | None = None
    schema: dict[str, Any] | None = None


def find_form(
    extraction: Extraction | None,
    rows: Sequence[Row],
    prompts: Sequence[str],
    truth: Truth,
) -> AnswerForm | None:
    """Find the form of the answers, None if their extraction looks for no mark."""
    if extraction is None or extraction.extractor is None or not extraction.is_marked:
        return None
    texts = [row["completion"] for row in rows]
    mark = _find_outermost(extraction.extractor)
    if isinstance(mark, extract.tag):
        return _find_tags_form(mark.name, texts, prompts)
    if isinstance(mark, extract.choice):
        # `choice` accepts many forms; prompts usually ask for a sentence
        mark = extract.answer_phrase()
        if _share_with(mark, texts) < USUAL_SHARE:
            return None
    schema = None
    if truth.kind == "json":
        schema = schema_of([row.get("ground_truth") for row in rows])
    if schema is None:
        field_mark = None if mark == extraction.extractor else mark
        name = f"what {code_of(mark)} reads"
        return AnswerForm("stated", name, _share_with(mark, texts), field_mark)
    return AnswerForm(
        "rk.measure.json_schema(SCHEMA)",
        "the keys and types of the truths",
        _share_with(measure.json_schema(schema), texts),
        schema=schema,
    )


def _find_outermost(extractor: Extractor) -> Extractor:
    """Return the extractor that finds the outermost mark around an answer."""
    while True:
        if isinstance(extractor, extract.first_of):
            extractor = extractor.extractors[0]
        elif isinstance(extractor, extract.within):
            extractor = extractor.outer
        else:
            return extractor


def _share_with(function: Callable[[str], Any], texts: Sequence[str]) -> float:
    """Return the share of texts for which an extractor or measure is truthy."""
    return sum(bool(function(text)) for text in texts) / len(texts)


def _find_tags_form(
    answer: str, texts: Sequence[str], prompts: Sequence[str]
) -> AnswerForm:
    """Return the form of the tags that most prompts or completions have, in order.

    If few completions have all of them, return the form of only the answer's tag.
    """
    prefilled = [name for name in THINKING if _is_prefilled(name, texts)]
    names = {answer}
    for sources in (texts, prompts):
        for name in find_tags(sources):
            opened = sum(f"<{name}>" in text for text in sources)
            if opened >= USUAL_SHARE * len(sources):
                names.add(name)
    names -= set(prefilled)
    order = sorted(names, key=lambda name: (_median_place(name, texts), name))
    form = measure.tags(answer)
    share = _share_with(form, texts)
    all_tags = measure.tags(*prefilled[:1], *order, prefilled=bool(prefilled))
    share_of_all = _share_with(all_tags, texts)
    if share_of_all >= USUAL_SHARE * share:
        form = all_tags
        share = share_of_all
    tags = " and ".join(f"<{name}>" for name in form.names)
    return AnswerForm(code_of(form), tags, share)


def _is_prefilled(name: str, texts: Sequence[str]) -> bool:
    """Return whether most completions close a tag that the prompt has opened."""
    closed = sum(f"</{name}>" in text and f"<{name}>" not in text for text in texts)
    return closed >= USUAL_SHARE * len(texts)


def _median_place(name: str, texts: Sequence[str]) -> float:
    """Return the median position at which a tag opens, in characters; else 0.0."""
    places = [text.find(f"<{name}>") for text in texts if f"<{name}>" in text]
    return float(np.median(places)) if places else 0.0


def schema_of(truths: Sequence[Any]) -> dict[str, Any] | None:
    """Return the JSON schema of the keys that all truths share.

    None if truths are no objects, or share no keys or more than `MOST_SCHEMA_KEYS`.

    >>> truths = ['{"name": "Uma", "age": 59}', {"name": "Ravi", "age": 40, "at": "Bo"}]
    >>> schema_of(truths)["properties"]
    {'name': {'type': 'string'}, 'age': {'type': 'number'}}
    """
    objects = [json_of(truth) for truth in truths if truth is not None]
    if not objects or not all(isinstance(value, dict) for value in objects):
        return None
    shared = [key for key in objects[0] if all(key in value for value in objects)]
    if not 0 < len(shared) <= MOST_SCHEMA_KEYS:
        return None
    properties: dict[str, dict[str, str]] = {}
    for key in shared:
        types = {JSON_TYPES.get(type(value[key]), "null") for value in objects}
        properties[key] = {"type": types.pop()} if len(types) == 1 else {}
    return {"type": "object", "properties": properties, "required": shared}


FEWEST_RIGHT = 20  # least right completions for limits of length: our choice
REPEATED_SHARE = 0.1  # repeated share of a text above which it loops: our choice
LOOPING_SHARE = 0.005  # share of looping completions to report: our choice
MOST_SOURCES = 8  # most data sources with a reward each: our choice
UNHURT_QUANTILE = 0.9  # quantile of right lengths that gets full credit: our choice


class LengthLimits(NamedTuple):
    """Limits of length in words: full credit, no credit, and the longest right one."""

    full_until: int
    zero_from: int
    longest: int


@dataclass(frozen=True, eq=False)
class StartingTask:
    """A task, as its log shows it.

    Attributes:
        name: The data source, "" for the whole log.
        rows: The rows of the log.
        prompts: Number of prompts.
        truth: The kind of the truths, and how they are compared.
        extractions: Ways to read the answers.
        chosen: The way of the first reward, None if the log does not show one.
        form: The form of the answers, None if they have none.
        looping: Share of the completions that loop; 0.0 if below `LOOPING_SHARE`.
        verdict: The log's own verdict, None if it has none.
    """

    name: str
    rows: tuple[Row, ...]
    prompts: int
    truth: Truth
    extractions: tuple[Extraction, ...]
    chosen: Extraction | None
    form: AnswerForm | None
    looping: float
    verdict: LogVerdict | None = None

    @property
    def beside_log(self) -> str:
        """A comparison with the log's own verdict, in words; "" without one."""
        if self.verdict is None:
            return ""
        return self.verdict.compare(self.scores)

    @property
    def is_disputed(self) -> NDArray[np.bool_]:
        """(rows,) whether the log's own verdict differs from the chosen way's."""
        if self.verdict is None:
            return np.zeros(len(self.rows), dtype=bool)
        return self.verdict.differs(self.scores)

    @property
    def scores(self) -> Objects:
        """(rows,) the score of each answer, None if it is not judged."""
        if self.chosen is None:
            return np.full(len(self.rows), None, dtype=object)
        return self.chosen.scores

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """(rows,) whether each answer scores 1; True for all without a truth."""
        if self.chosen is None or not self.truth.verified:
            return np.ones(len(self.rows), dtype=bool)
        return np.asarray(self.chosen.scores == 1, dtype=bool)

    @property
    def missed(self) -> tuple[str, float] | None:
        """The way that finds most right answers that `chosen` misses.

        Its code, and the share of rows in which it does; None if no way finds any.
        """
        best = ""
        most = 0.0
        for extraction in self.extractions:
            share = float(np.mean((extraction.scores == 1) & ~self.is_right))
            if share > most:
                best = extraction.code
                most = share
        return (best, most) if most else None

    @property
    def in_order(self) -> float:
        """Share of right answers if truths are compared as ordered lists."""
        return self._mean_as("ordered")

    @property
    def in_common(self) -> float:
        """Mean F1 of the answers if truths are compared as sets."""
        return self._mean_as("shared")

    def _mean_as(self, kind: str) -> float:
        """Return the mean score of the answers if the truths were of another kind."""
        if self.chosen is None:
            return 0.0
        truth = replace(self.truth, kind=kind)
        return measure_extractor(self.chosen.extractor, self.rows, truth).share_right

    @property
    def with_commas(self) -> float:
        """Share of rows whose truth is a list with a separator in an item.

        Answers that separate items by commas cannot express such an item. 0.0 if
        answers are read as JSON or one item per line.
        """
        reader = self.chosen.extractor if self.chosen is not None else None
        if isinstance(reader, extract.json_value | extract.every):
            return 0.0
        count = 0
        for row in self.rows:
            truth = row.get("ground_truth")
            if isinstance(truth, list):
                count += any(re.search(r"[,;]|\band\b", str(item)) for item in truth)
        return count / len(self.rows)

    @property
    def repaired(self) -> float:
        """Share of the completions whose answer is JSON only after a repair."""
        if self.chosen is None or "repair=True" not in self.chosen.code:
            return 0.0
        strict = measure_extractor(extract.json_value(), self.rows, self.truth)
        repaired = pd.notna(self.chosen.values) & pd.isna(strict.values)
        return float(np.mean(repaired))

    @property
    def compared(self) -> list[Extraction]:
        """All extractions and the chosen one, without duplicates."""
        unique = {extraction.code: extraction for extraction in self.extractions}
        if self.chosen is not None:
            unique[self.chosen.code] = self.chosen
        return list(unique.values())

    @cached_property
    def limits(self) -> LengthLimits | None:
        """Limits of length from right completions (from all, without a truth).

        None if these are few, or if the kind of truth determines the length.
        """
        if self.truth.kind in ("json", "labels"):
            return None
        right = compress(self.rows, self.is_right)
        sizes = sorted(len(words(row["completion"])) for row in right)
        if len(sizes) < FEWEST_RIGHT:
            return None
        full = max(1, int(np.quantile(sizes, UNHURT_QUANTILE)))
        return LengthLimits(full, max(2 * full, sizes[-1] + 1), sizes[-1])


def find_tasks(rollouts: Rollouts) -> list[StartingTask]:
    """Return one task for each data source, or a single task.

    It is a single task if all sources are read and judged alike, or there are more than
    `MOST_SOURCES`.
    """
    undivided = [find_task("", rollouts)]
    if "data_source" not in rollouts.table:
        return undivided
    sources = np.array(column_values(rollouts.table["data_source"]), dtype=object)
    names = dict.fromkeys(name for name in sources if isinstance(name, str))
    if not 2 <= len(names) <= MOST_SOURCES:
        return undivided
    tasks = [find_task(name, rollouts.select(sources == name)) for name in names]
    ways = {(task.truth.kind, task.chosen and task.chosen.code) for task in tasks}
    return tasks if len(ways) > 1 else undivided


def find_task(name: str, rollouts: Rollouts) -> StartingTask:
    """Find the task of the rollouts of one data source ("" for all)."""
    rows = list(rollouts)
    prompts = [prompt_text(row.get("prompt")) for row in rows]
    truth = find_truth(rows, prompts)
    verdict = find_verdict(rollouts)
    extractions = measure_extractors(rows, prompts, truth)
    chosen = choose_extraction(extractions, rows, truth)
    if verdict is not None and chosen is not None and truth.verified:
        chosen = verdict.choose(chosen, extractions)
        if truth.kind == "prose" and verdict.is_enough(chosen):
            for other in _other_readings(truth):
                ways = measure_extractors(rows, prompts, other)
                best = max(ways, key=verdict.agreement)
                if verdict.agreement(best) >= USUAL_AGREEMENT:
                    truth = other
                    extractions = ways
                    chosen = best
                    break
    repetition = measure.repetition()
    repeated = [repetition(row["completion"]) or 0.0 for row in rows]
    looping = sum(share > REPEATED_SHARE for share in repeated) / len(rows)
    if looping < LOOPING_SHARE:
        looping = 0.0
    return StartingTask(
        name,
        tuple(rows),
        len(set(rollouts.prompts.tolist())),
        truth,
        tuple(extractions),
        chosen,
        find_form(chosen, rows, prompts, truth),
        looping,
        verdict,
    )


def _other_readings(truth: Truth) -> list[Truth]:
    """Return other ways to compare long truths: as whole texts, or by the last number.

    The log's own verdict decides between them.
    """
    return [replace(truth, kind="text"), Truth("number", reader=extract.number())]
