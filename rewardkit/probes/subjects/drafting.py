"""Drafting: prompts with a truth as subjects, before it is known how answers are written there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from rewardkit.primitives.messages import content_text
from rewardkit.probes.runner import Row
from rewardkit.probes.strategies.attempts import Subject
from rewardkit.probes.subjects.answers import answer_in, kind_of, states_list, wrong_answers
from rewardkit.probes.subjects.formats import Format

__all__ = ["drafts", "prompt_text", "with_format"]

WRONG = 6  # wrong answers of a subject


def drafts(
    rows: Mapping[int, Row], groups: Any, part: str, siblings: Callable[[int], tuple[Row, ...]]
) -> Iterator[tuple[int, Subject]]:
    """Places of rows and subjects with no format yet: first one of each answer, then more prompts of them.

    Prompts whose truth states no answer, or beside which none is certain to be wrong, are left out.
    """
    answers = _answers(rows)
    others = sorted(set(answers.values()))
    of_group: dict[int, int] = {}
    for place in answers:
        of_group.setdefault(int(groups[place]), place)
    for place in _in_turn(of_group.values(), answers):
        row, answer = rows[place], answers[place]
        prompt, kind = prompt_text(row.get("prompt")), kind_of(answer)
        wrong = wrong_answers(answer, kind, prompt=prompt, others=others)[:WRONG]
        if wrong:
            named, bare = row.get("rollout_id", place), Format("bare")
            yield (
                place,
                Subject(named, row, prompt, answer, kind, wrong, bare, "", "", part, siblings(place)),
            )


def _answers(rows: Mapping[int, Row]) -> dict[int, str]:
    """The answer that each truth states; of a list the whole of it, where completions write lists."""
    truths = {place: row.get("ground_truth") for place, row in rows.items()}
    if any(states_list(str(row.get("completion")), truths[place]) for place, row in rows.items()):
        truths = {
            place: json.dumps(truth, ensure_ascii=False) if isinstance(truth, list) else truth
            for place, truth in truths.items()
        }
    stated = {place: answer_in(truth) for place, truth in truths.items()}
    return {place: answer for place, answer in stated.items() if answer is not None}


def _in_turn(places: Iterable[int], answers: Mapping[int, str]) -> list[int]:
    """The places: the first of each answer, then the second of each, and so on."""
    turns: Counter[str] = Counter()
    order: list[tuple[int, int]] = []
    for place in places:
        order.append((turns[answers[place]], place))
        turns[answers[place]] += 1
    return [place for _, place in sorted(order, key=itemgetter(0))]


def with_format(draft: Subject, option: Format) -> Subject:
    """The subject with its completions written in this format."""
    return replace(
        draft, format=option, reference=option.write(draft.right), baseline=option.write(draft.wrong[0])
    )


def prompt_text(prompt: Any) -> str:
    """A prompt as text: of chat messages what the last of them says."""
    if isinstance(prompt, Sequence) and not isinstance(prompt, str) and prompt:
        last = prompt[-1]
        content = last.get("content") if isinstance(last, dict) else last
        return content if isinstance(content, str) else content_text(content)
    return "" if prompt is None else str(prompt)
