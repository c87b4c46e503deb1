"""What an agent's final answer rests on: the sources it cites, the results that its words come from."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from rewardkit.primitives.agents.transcripts import final_answer, read_turns
from rewardkit.primitives.extract.markers import Label, citation_patterns
from rewardkit.primitives.messages import as_list
from rewardkit.primitives.notes import note
from rewardkit.primitives.primitive import Primitive
from rewardkit.primitives.texts import bare_words, runs

_COMMAS = re.compile("[,，、;；]")


def _cited_ids(answer: str, label: str, known: set[str]) -> set[str]:
    """The different ids that an answer cites; a known one may hold commas ("Portland, Oregon")."""
    brackets, ids = citation_patterns(label)
    cited: set[str] = set()
    for part in (
        part for inner in brackets.findall(answer) for part in re.split("[;；]", inner)
    ):
        cited |= (
            {part.strip()}
            if part.strip() in known
            else {each.strip() for each in ids.findall(part)}
        )
    return cited - {""}


def _read_ids(value: Any) -> set[str] | None:
    """Ids from a list, a set, comma text or one number; ``None`` where they cannot be read."""
    if value is None:
        return None
    if isinstance(value, str):
        items: list[Any] | None = _COMMAS.split(value)
    else:
        items = list(value) if isinstance(value, set | frozenset) else as_list(value)
    ids: set[str] = set()
    for item in [value] if items is None else items:
        if (
            isinstance(item, float) and item.is_integer()
        ):  # whole numbers beside a missing one, in a table
            ids.add(str(int(item)))
        elif isinstance(item, str | int) and not isinstance(item, bool):
            ids.add(str(item).strip())
        elif item is not None:  # a gap in a list
            return None
    return ids - {""}


@dataclass(frozen=True, repr=False)
class citations(Primitive):
    """Of the different ids cited as ``[Source: id]`` or ``[Source: a, b]``, how far they are the known ones.

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
        turns, known = read_turns(completion), _read_ids(known_ids)
        answer = final_answer(turns) if turns else None
        if answer is None or known is None:
            return None
        cited = _cited_ids(answer, self.label, known)
        right = len(cited & known)
        note("citations", {"cited": len(cited), "known": len(known), "right": right})
        if not known and (self.kind == "recall" or not cited):
            return None
        total = {
            "precision": len(cited),
            "recall": len(known),
            "f1": (len(cited) + len(known)) / 2,
        }
        return right / total[self.kind] if cited else 0.0


@dataclass(frozen=True, repr=False)
class grounding(Primitive):
    """Share of the different runs of `ngram` words in the final answer that stand in one of the results.

    The answer is the last assistant turn without ``<think>`` and calls, one of fewer
    words is one run. Case and punctuation do not matter; a Chinese or Japanese
    character is a word. Results that failed or came later ground nothing. Without
    results or words nothing is grounded: 0.0, so that skipping the search is not paid;
    where tools are optional, gate it on `tool_calls`. A text alone has no results to
    compare with: ``None``. It says where words come from, not that they are true, and
    copying earns 1.0. Notes the counts. ValueError: `ngram` under 1.

    >>> results = [{"role": "tool", "content": "The tower is 330 metres high."}]
    >>> grounding()([*results, {"role": "assistant", "content": "It is 330 metres high."}])
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
        wanted = set(runs(words, size))
        found: set[tuple[str, ...]] = set()
        for result in (
            result
            for turn in turns[:-1]
            for result in turn.results
            if not result.failed()
        ):
            found.update(wanted.intersection(runs(bare_words(result.text), size)))
        note("grounding", {"ngrams": len(wanted), "found": len(found)})
        return len(found) / len(wanted) if wanted else 0.0
