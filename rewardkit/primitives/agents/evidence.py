"""Measures of a final answer's evidence: its citations, the results it repeats."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from rewardkit.primitives.agents import final_answer, read_turns
from rewardkit.primitives.extract.markers import Label, citation_patterns
from rewardkit.primitives.messages import as_list
from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import Primitive
from rewardkit.primitives.texts import bare_words, runs

_COMMAS = re.compile("[,，、;；]")


def _cited_ids(answer: str, label: str, known_ids: set[str]) -> set[str]:
    """Return the ids that an answer cites; known ones may hold commas."""
    brackets, ids = citation_patterns(label)
    cited: set[str] = set()
    for inner in brackets.findall(answer):
        for part in map(str.strip, re.split("[;；]", inner)):
            if part in known_ids:  # as "Portland, Oregon"
                cited.add(part)
            else:
                cited.update(map(str.strip, ids.findall(part)))
    return cited - {""}


def _read_ids(value: Any) -> set[str] | None:
    """Read ids from a list, a set, a text with commas or one number, else ``None``."""
    if value is None:
        return None
    entries: list[Any] | None
    if isinstance(value, str):
        entries = _COMMAS.split(value)
    elif isinstance(value, set | frozenset):
        entries = list(value)
    else:
        entries = as_list(value)
    ids: set[str] = set()
    for entry in [value] if entries is None else entries:
        if isinstance(entry, float) and entry.is_integer():
            # A table holds whole numbers so beside a missing one.
            ids.add(str(int(entry)))
        elif isinstance(entry, str | int) and not isinstance(entry, bool):
            ids.add(str(entry).strip())
        elif entry is not None:  # None is a gap in a list
            return None
    return ids - {""}


@dataclass(frozen=True, repr=False)
class citations(Primitive):
    """Agreement of the ids cited as ``[Source: a, b]`` with the known ones.

    "precision" is right / cited, "recall" right / known, "f1" 2 right / (cited +
    known); recall alone is paid by citing everything. Counts in the final answer (of a
    completion or messages), outside ``<think>``. Who cites nothing earns 0.0 of each,
    so that silence is not paid. `known_ids` is a list or text with commas: map it with
    ``columns={"known_ids": "sources"}``. Not judged (``None``): a missing completion,
    missing or unreadable ids, and recall or silence where no id is known; a citation
    there has precision 0.0. Notes the counts. ValueError: unknown kind, a label with
    brackets or a colon.

    >>> citations()("It is [Source: a1] and [source: a1, b9].", ["a1", "a2"])
    0.5
    """

    kind: Literal["precision", "recall", "f1"] = "precision"
    _: KW_ONLY
    label: Label = "Source"

    def __call__(self, completion: Any, known_ids: Any) -> float | None:
        turns, ids = read_turns(completion), _read_ids(known_ids)
        answer = final_answer(turns) if turns else None
        if answer is None or ids is None:
            return None
        cited = _cited_ids(answer, self.label, ids)
        right = len(cited & ids)
        note("citations", {"cited": len(cited), "known": len(ids), "right": right})
        if not ids and (self.kind == "recall" or not cited):
            return None
        if not cited:
            return 0.0
        if self.kind == "precision":
            return right / len(cited)
        if self.kind == "recall":
            return right / len(ids)
        return 2 * right / (len(cited) + len(ids))


@dataclass(frozen=True, repr=False)
class grounding(Primitive):
    """Share of the final answer's runs of `ngram` words that stand in a result.

    Each run counts once. The answer is the last assistant turn without ``<think>`` and
    calls, one of fewer words is one run. Case and punctuation do not matter; a Chinese
    or Japanese character is a word. Results that failed or came later ground nothing.
    Without results or words nothing is grounded: 0.0, so that skipping the search is
    not paid; where tools are optional, gate it on `tool_calls`. A text alone has no
    results to compare with: ``None``. It says where words come from, not that they are
    true, and copying earns 1.0. Notes the counts. ValueError: `ngram` under 1.

    >>> results = [{"role": "tool", "content": "The tower is 330 metres high."}]
    >>> answer = {"role": "assistant", "content": "It is 330 metres high."}
    >>> grounding()([*results, answer])
    0.6666666666666666
    """

    _: KW_ONLY
    ngram: int = 3

    def __call__(self, messages: Any) -> float | None:
        turns = None if isinstance(messages, str) else read_turns(messages)
        answer = final_answer(turns) if turns else None
        if turns is None or answer is None:
            return None
        words = bare_words(answer)
        size = min(self.ngram, len(words))
        ngrams = set(runs(words, size))
        grounded: set[tuple[str, ...]] = set()
        for turn in turns[:-1]:
            for result in turn.results:
                if not result.has_failed():
                    grounded |= ngrams.intersection(runs(bare_words(result.text), size))
        note("grounding", {"ngrams": len(ngrams), "found": len(grounded)})
        return len(grounded) / len(ngrams) if ngrams else 0.0
