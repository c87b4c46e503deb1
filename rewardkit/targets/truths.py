"""Parse truths that are JSON texts in a training set, for rewards that take objects."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rewardkit.errors import RewardError, preview
from rewardkit.rewards.component import parameters
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.calls import scoring

TRUTH = "ground_truth"
OBJECTS = re.compile(r"\b(?:dict|list|tuple|Mapping|Sequence|MutableMapping)\b")


MOST_TRIALS = 8
"""Truths to try as texts, at most, before all of them stay texts. Our choice: a gate
may keep the first few from the function that reads them."""


class TruthParser:
    """A parser of truths into the form that a reward takes.

    A Parquet file of a training set often stores objects and lists as JSON texts. They
    are parsed if the annotation of a function of the reward asks for a dict or a list,
    or if such a function fails on one of the first few texts. Other truths stay
    unchanged.
    """

    def __init__(self, reward: Reward) -> None:
        self.reward = reward
        self.taker = next(_takers_of_objects(reward), None)
        self.takes_objects = self.taker is not None
        self.trials_left = MOST_TRIALS

    def parse(self, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return rows with truths in the form that the reward takes.

        Raises:
            RewardError: an annotation excludes texts, and a truth is a text that is not
                a JSON object or array.
        """
        return [self._parse_row(row) for row in rows]

    def _parse_row(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        truth = row.get(TRUTH)
        value = _read_object(truth)
        if value is None:
            if self.taker is not None and isinstance(truth, str):
                name, annotation = self.taker
                raise RewardError(
                    f"ground_truth={preview(truth)} is a text, and {name!r} takes "
                    f"{annotation}; write the truths of the training set as JSON, or "
                    "let the function take a text"
                )
            return row
        if not self.takes_objects and self.trials_left:
            self.trials_left -= 1
            self.takes_objects = _fails_on_text(self.reward, row)
        return {**row, TRUTH: value} if self.takes_objects else row


def _read_object(truth: Any) -> Any:
    """Parse a JSON text of a dict or list; return None for any other value."""
    if not isinstance(truth, str) or truth.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(truth)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _takers_of_objects(reward: Reward) -> Iterator[tuple[str, str]]:
    """Yield name and annotation of each function whose truth may not be a text."""
    for name, function in _functions_of_truth(reward):
        parameter = parameters(function).get(TRUTH)
        if parameter is None or parameter.annotation is parameter.empty:
            continue
        annotation = parameter.annotation
        text = annotation if isinstance(annotation, str) else str(annotation)
        if isinstance(annotation, type) and "[" not in text:
            text = annotation.__name__
        takes_text = any(part.strip() in ("str", "Any") for part in text.split("|"))
        if OBJECTS.search(text) and not takes_text:
            yield name, text


def _functions_of_truth(reward: Reward) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the fields and components that may take the truth, by name."""
    for branch in reward.branches:
        yield from branch.fields.items()
        for component in branch.components:
            if (component.columns or {}).get(TRUTH, TRUTH) == TRUTH:
                yield component.name, component.function


def _fails_on_text(reward: Reward, row: Mapping[str, Any]) -> bool:
    """Return whether a function fails as it takes the row's text for an object."""
    with scoring():
        result = reward(**row)
    reasons = result.reasons.values()
    return any(
        TRUTH in reason.names and reason.expected == "json.loads" for reason in reasons
    )
