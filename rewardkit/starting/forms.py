"""Forms: what shape answers are asked for in, or usually have, and what measures it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from rewardkit.answers.formats import THINKING, find_tags
from rewardkit.answers.truths import Row, Truth
from rewardkit.primitives import extract, measure
from rewardkit.primitives.extract import Extractor
from rewardkit.primitives.verify.json_values import json_of
from rewardkit.starting.code import code_of
from rewardkit.starting.extractions import USED, Extraction

KEYS = 12  # of an object whose form is written down: our choice
TYPES = {
    bool: "boolean",
    Decimal: "number",
    str: "string",
    list: "array",
    dict: "object",
}


@dataclass(frozen=True)
class Form:
    """A form that answers have.

    `code` is what measures it, with ``SCHEMA`` in it where there is a `schema`. ``stated`` asks for what
    `mark` reads, which is a field of its own, or the prediction where there is none. `what` names it for a
    reader; `share` of the completions keep it.
    """

    code: str
    what: str
    share: float
    mark: Extractor | None = None
    schema: dict[str, Any] | None = None


def form_of(
    chosen: Extraction | None, rows: Sequence[Row], prompts: Sequence[str], truth: Truth
) -> Form | None:
    """The form that goes with how answers are read; ``None`` where that goes by no mark."""
    if chosen is None or not chosen.marked or chosen.extractor is None:
        return None
    texts = [row["completion"] for row in rows]
    mark = _mark(chosen.extractor)
    if isinstance(mark, extract.tag):
        return _tags(mark.name, texts, prompts)
    if isinstance(
        mark, extract.choice
    ):  # a letter is found in many forms; asked for is a sentence, if any
        mark = extract.answer_phrase()
        if _share(map(mark, texts)) < USED:
            return None
    schema = (
        schema_of([row.get("ground_truth") for row in rows])
        if truth.kind == "json"
        else None
    )
    if schema is None:
        own = mark if mark != chosen.extractor else None
        return Form(
            "stated", f"what {code_of(mark)} reads", _share(map(mark, texts)), own
        )
    share = _share(map(measure.json_schema(schema), texts))
    return Form(
        "rk.measure.json_schema(SCHEMA)",
        "the keys and types of the truths",
        share,
        schema=schema,
    )


def _mark(extractor: Extractor) -> Extractor:
    """What finds the mark around an answer."""
    while isinstance(extractor, extract.first_of | extract.within):
        extractor = (
            extractor.extractors[0]
            if isinstance(extractor, extract.first_of)
            else extractor.outer
        )
    return extractor


def _share(found: Iterable[Any]) -> float:
    """Share of what is found that is something, or the full score."""
    return float(np.mean([bool(one) for one in found]))


def _tags(answer: str, texts: Sequence[str], prompts: Sequence[str]) -> Form:
    """The tags that most prompts or completions have, in order; the answer's alone where few keep that."""
    closed = {
        name: [f"</{name}>" in text and f"<{name}>" not in text for text in texts]
        for name in THINKING
    }
    inside = [
        name for name in THINKING if _share(closed[name]) >= USED
    ]  # tags that the prompt has opened
    names = {
        name
        for some in (texts, prompts)
        for name in find_tags(some)
        if _share(f"<{name}>" in text for text in some) >= USED
    }
    opened = {
        name: [text.find(f"<{name}>") for text in texts if f"<{name}>" in text]
        for name in {*names, answer}
    }
    order = sorted(
        opened.keys() - set(inside),
        key=lambda name: (np.median(opened[name] or 0), name),
    )
    alone = measure.tags(answer)
    whole = measure.tags(*inside[:1], *order, prefilled=bool(inside))
    shares = {made: _share(map(made, texts)) for made in (whole, alone)}
    made = whole if shares[whole] >= USED * shares[alone] else alone
    what = " and ".join(f"<{name}>" for name in made.names)
    return Form(code_of(made), what, shares[made])


def schema_of(truths: Sequence[Any]) -> dict[str, Any] | None:
    """The JSON schema of what all these truths have in common; ``None`` where they are no small objects.

    >>> schema_of(['{"name": "Uma", "age": 59}', {"name": "Ravi", "age": 40, "city": "Accra"}])["properties"]
    {'name': {'type': 'string'}, 'age': {'type': 'number'}}
    """
    objects = [json_of(truth) for truth in truths if truth is not None]
    plain = bool(objects) and all(isinstance(value, dict) for value in objects)
    common = (
        [key for key in objects[0] if all(key in value for value in objects)]
        if plain
        else []
    )
    if not 0 < len(common) <= KEYS:
        return None
    types = {
        key: {TYPES.get(type(value[key]), "null") for value in objects}
        for key in common
    }
    properties = {
        key: {"type": kinds.pop()} if len(kinds) == 1 else {}
        for key, kinds in types.items()
    }
    return {"type": "object", "properties": properties, "required": common}
