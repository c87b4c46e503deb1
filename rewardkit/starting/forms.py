"""Forms: what shape answers are asked for in, or usually have, and what measures it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from rewardkit.answers import Row, Truth
from rewardkit.answers.formats import THINKING, find_tags
from rewardkit.primitives import extract, measure
from rewardkit.primitives.extract import Extractor
from rewardkit.primitives.verify.structures import json_of
from rewardkit.starting.code import code_of
from rewardkit.starting.extractions import USUAL_SHARE, Extraction

MOST_SCHEMA_KEYS = 12  # of an object whose form is written down: our choice
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
        code: What measures it: an expression, in which ``SCHEMA`` is the schema, or
            ``stated``, which asks for what `mark` reads.
        what: Its name for a reader.
        share: Share of the completions that keep it.
        mark: What reads a field of its own; without one it is the prediction.
        schema: The JSON schema of the answers.
    """

    code: str
    what: str
    share: float
    mark: Extractor | None = None
    schema: dict[str, Any] | None = None


def find_form(
    extraction: Extraction | None,
    rows: Sequence[Row],
    prompts: Sequence[str],
    truth: Truth,
) -> AnswerForm | None:
    """Find the form for how answers are read, None where that goes by no mark."""
    if extraction is None or extraction.extractor is None or not extraction.is_marked:
        return None
    texts = [row["completion"] for row in rows]
    mark = _find_outermost(extraction.extractor)
    if isinstance(mark, extract.tag):
        return _find_tags_form(mark.name, texts, prompts)
    if isinstance(mark, extract.choice):
        # a letter is found in many forms; a sentence is the one that is asked for
        mark = extract.answer_phrase()
        if _share_with(mark, texts) < USUAL_SHARE:
            return None
    schema = None
    if truth.kind == "json":
        schema = schema_of([row.get("ground_truth") for row in rows])
    if schema is None:
        own_mark = None if mark == extraction.extractor else mark
        what = f"what {code_of(mark)} reads"
        return AnswerForm("stated", what, _share_with(mark, texts), own_mark)
    return AnswerForm(
        "rk.measure.json_schema(SCHEMA)",
        "the keys and types of the truths",
        _share_with(measure.json_schema(schema), texts),
        schema=schema,
    )


def _find_outermost(extractor: Extractor) -> Extractor:
    """Return what finds the mark around an answer."""
    while True:
        if isinstance(extractor, extract.first_of):
            extractor = extractor.extractors[0]
        elif isinstance(extractor, extract.within):
            extractor = extractor.outer
        else:
            return extractor


def _share_with(reads: Callable[[str], Any], texts: Sequence[str]) -> float:
    """Return the share of the texts in which something is read, or scored above 0."""
    return sum(bool(reads(text)) for text in texts) / len(texts)


def _find_tags_form(
    answer: str, texts: Sequence[str], prompts: Sequence[str]
) -> AnswerForm:
    """Return the form of the tags that most prompts or completions have, in order.

    That of the answer's tag alone where few completions keep the whole.
    """
    prefilled = [name for name in THINKING if _is_prefilled(name, texts)]
    names = {answer}
    for some in (texts, prompts):
        for name in find_tags(some):
            opened = sum(f"<{name}>" in text for text in some)
            if opened >= USUAL_SHARE * len(some):
                names.add(name)
    places = {name: _median_place(name, texts) for name in names - set(prefilled)}
    order = sorted(places, key=lambda name: (places[name], name))
    alone = measure.tags(answer)
    whole = measure.tags(*prefilled[:1], *order, prefilled=bool(prefilled))
    form, share = alone, _share_with(alone, texts)
    share_of_whole = _share_with(whole, texts)
    if share_of_whole >= USUAL_SHARE * share:
        form, share = whole, share_of_whole
    tags = " and ".join(f"<{name}>" for name in form.names)
    return AnswerForm(code_of(form), tags, share)


def _is_prefilled(name: str, texts: Sequence[str]) -> bool:
    """Whether most completions close a tag that the prompt has opened."""
    closed = sum(f"</{name}>" in text and f"<{name}>" not in text for text in texts)
    return closed >= USUAL_SHARE * len(texts)


def _median_place(name: str, texts: Sequence[str]) -> float:
    """Return where a tag usually opens, in characters; 0.0 where it opens nowhere."""
    places = [text.find(f"<{name}>") for text in texts if f"<{name}>" in text]
    return float(np.median(places)) if places else 0.0


def schema_of(truths: Sequence[Any]) -> dict[str, Any] | None:
    """Return the JSON schema of what these truths share, None for no small objects.

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
