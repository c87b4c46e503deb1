"""The reward as trainers call it: columns of theirs in, rewards and scores of ours out."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from keyword import iskeyword
from typing import Any

import cloudpickle
import numpy as np

from rewardkit.errors import RewardError
from rewardkit.primitives.primitive import Made
from rewardkit.rewards.plan import bind
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.columns import ALIASES, lists_of_columns
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import ERROR, GATED, SCORED, Outcomes
from rewardkit.targets.target import JUDGED
from rewardkit.workers.pool import MODULE_SOURCE, by_value

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rated:
    """What a list of completions got: `rewards` and, by component, `scores`, a list each.

    Rewards are ``None`` where not judged. A gated component counts 0.0; one that is
    missing is ``None``.
    """

    rewards: list[float | None]
    scores: dict[str, list[float | None]]
    notes: list[dict[str, Any]]

    def numbers(self, missing: float) -> tuple[list[float], list[dict[str, float]]]:
        """The rewards, and for each completion its scores by name, with `missing` where there is none."""

        def filled(values: list[float | None]) -> list[float]:
            return [missing if value is None else value for value in values]

        columns = {name: filled(values) for name, values in self.scores.items()}
        rows = [
            {name: values[at] for name, values in columns.items()}
            for at in range(len(self.rewards))
        ]
        return filled(self.rewards), rows


@dataclass(frozen=True, repr=False)
class RewardHolder(Made):
    """Base of what trainers call: callables that hold a reward and can be pickled.

    `columns` maps canonical columns to the data set's own names; `missing` is what a
    row without a reward gets where the trainer needs a number.
    """

    reward: Reward
    columns: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    missing: float = field(default=0.0, kw_only=True)

    @property
    def __name__(self) -> str:
        return identifier(self.reward.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Functions of a file that `load_reward` ran go along whole: elsewhere no import would find it."""
        held = {item.name: getattr(self, item.name) for item in fields(self)}
        files = [
            module
            for module in list(sys.modules.values())
            if MODULE_SOURCE in vars(module)
        ]
        with by_value(files):
            return _made_again, (type(self), cloudpickle.dumps(held))

    def rate(self, given: Mapping[str, Sequence[Any]], count: int) -> Rated:
        """Rewards and scores of `count` completions, siblings being those of one prompt.

        What went wrong is logged, once for each reason. RewardError: a column is asked
        for that the trainer did not give.
        """
        reward, columns = self.reward, _canonical(given, self.columns)
        try:
            reward.check_columns(list(columns))
        except RewardError as error:
            raise RewardError(
                f"{error}; give the data set that column, or export again with "
                "columns={canonical: its name}"
            ) from None
        groups = _groups(columns, count)
        plan = bind(reward, columns, count)
        found = evaluate(plan, columns, groups=groups, notes=True)
        _log_errors(reward, found)
        rewards = plan.transform(found.rewards, groups).tolist()
        scores = {
            name: [
                0.0 if status == GATED else score if status == SCORED else None
                for score, status in zip(
                    outcome.scores.tolist(), outcome.status.tolist(), strict=True
                )
            ]
            for name, outcome in found.components.items()
        }
        return Rated(
            [None if math.isnan(value) else value for value in rewards],
            scores,
            found.notes or [],
        )

    def rate_rows(self, rows: Sequence[Mapping[str, Any]]) -> Rated:
        """The same of completions as rows, of which one may have columns that another lacks."""
        return self.rate(lists_of_columns(rows), len(rows))

    def numbers(self, given: Mapping[str, Sequence[Any]], count: int) -> list[float]:
        """The rewards alone, with `missing` where there is none."""
        return self.rate(given, count).numbers(self.missing)[0]

    def dicts(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
        """For each row ``score``, ``judged`` (1.0 or 0.0) and the scores, all finite, under the same keys."""
        rated = self.rate_rows(rows)
        found = []
        for reward, scores, judged in zip(
            *rated.numbers(self.missing), rated.rewards, strict=True
        ):
            first = {"score": reward, JUDGED: float(judged is not None)}
            found.append(
                first | scores | first
            )  # a component may be called as one of them
        return found


def _made_again(kind: type[RewardHolder], content: bytes) -> RewardHolder:
    return kind(**cloudpickle.loads(content))


def _log_errors(reward: Reward, found: Outcomes) -> None:
    """A warning for each reason why a component failed; not for what it chose not to judge."""
    for name, outcome in found.components.items():
        reasons = {
            outcome.reasons[row]
            for row in np.flatnonzero(outcome.status == ERROR).tolist()
        }
        for reason in sorted(map(str, reasons)):
            log.warning("reward %r: component %r failed: %s", reward.name, name, reason)


def _canonical(
    given: Mapping[str, Sequence[Any]], columns: Mapping[str, str]
) -> dict[str, list[Any]]:
    """The trainer's columns under canonical names; `columns` comes before the names that are known.

    What a column is called there is kept, too, unless it is canonical.
    """
    found: dict[str, list[Any]] = {name: list(values) for name, values in given.items()}
    for name, aliases in ALIASES.items():
        source = columns.get(name) or next(
            (alias for alias in aliases if alias in given), None
        )
        if source is not None and source in given:
            found[name] = list(given[source])
    return found


def _groups(
    columns: Mapping[str, Sequence[Any]], count: int
) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Group codes: completions of one prompt (and data source) are siblings."""
    keys = [columns[name] for name in ("prompt_id", "prompt") if name in columns][:1]
    keys += [columns["data_source"]] if "data_source" in columns else []
    if not keys:
        return np.arange(count)
    seen: dict[str, int] = {}
    texts = [
        json.dumps(key, sort_keys=True, default=str) for key in zip(*keys, strict=True)
    ]
    return np.array([seen.setdefault(text, len(seen)) for text in texts], dtype=np.intp)


def identifier(name: str) -> str:
    """The name as one that Python, a log and a configuration can take, and no other in a file has."""
    text = "".join(
        letter if letter.isalnum() and letter.isascii() else "_" for letter in name
    ).strip("_")
    text = text if text.isidentifier() else f"reward_{text}".rstrip("_")
    return f"{text}_" if iskeyword(text) or text in ("rk", "asyncio") else text
