"""Callables that trainers call with their columns, and that return our rewards."""

from __future__ import annotations

import functools
import json
import logging
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from rewardkit.errors import RewardError
from rewardkit.history.batches import Batch, recorded_columns
from rewardkit.history.recorder import Recorder, as_recorder, record_batch
from rewardkit.plain import values_by_field
from rewardkit.primitives.primitive import Made
from rewardkit.rewards.reward import Floats, Reward
from rewardkit.rewards.route import bind
from rewardkit.rollouts.columns import (
    ALIASES,
    JUDGED_PREFIX,
    lists_of_columns,
    map_columns,
)
from rewardkit.scoring.calls import is_scoring
from rewardkit.scoring.deadlines import TimeLimit, cannot_limit, time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.outcomes import ERROR, GATED, SCORED, Outcomes
from rewardkit.targets.target import JUDGED
from rewardkit.workers.pool import MODULE_SOURCE, by_value, namesakes

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RatedBatch:
    """The rewards and scores of a list of completions.

    Attributes:
        rewards: A number per completion, ``None`` if it is not judged.
        scores: Component -> a number per completion: 0.0 if gated, ``None`` if missing.
        notes: The notes of components on each completion.
        outcomes: The outcomes of the components.
    """

    rewards: list[float | None]
    scores: dict[str, list[float | None]]
    notes: list[dict[str, Any]]
    outcomes: Outcomes

    def numbers(self, missing: float) -> tuple[list[float], list[dict[str, float]]]:
        """Return the rewards and the scores of each completion, without ``None``.

        `missing` takes its place.
        """
        columns = {}
        for name, scores in self.scores.items():
            columns[name] = _fill_missing(scores, missing)
        rows = []
        for place in range(len(self.rewards)):
            rows.append({name: scores[place] for name, scores in columns.items()})
        return _fill_missing(self.rewards, missing), rows


def _none_for_nan(scores: Floats) -> list[float | None]:
    return [None if math.isnan(score) else score for score in scores.tolist()]


def _fill_missing(scores: Sequence[float | None], missing: float) -> list[float]:
    return [missing if score is None else score for score in scores]


@dataclass(frozen=True, repr=False)
class RewardHolder(Made):
    """Base of picklable callables that hold a reward, for trainers to call.

    `columns` maps canonical columns to the data set's own names. `missing` is the
    reward of a row that is not judged, if the trainer needs a number. `record` is a
    folder, or a Recorder, for all scores; `timeout` the seconds for a call of a user's
    function, see `rk.score`.

    RewardError: an option that does not fit, a folder with another reward's scores, or
    with `timeout` a function that cannot run in another process.
    """

    reward: Reward
    columns: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    missing: float = field(default=0.0, kw_only=True)
    record: Recorder | str | Path | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.record is not None:
            recorder = as_recorder(self.record)
            recorder.check(self.reward)
            object.__setattr__(self, "record", recorder)
        check_timeout(self.reward, self.timeout)

    @property
    def __name__(self) -> str:
        return identifier(self.reward.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle functions of files that `load_reward` ran by value.

        Another process could not import them.
        """
        options = values_by_field(self)
        files = []
        shared_names = namesakes()
        for name, module in list(sys.modules.items()):
            if name in shared_names or MODULE_SOURCE in vars(module):
                files.append(module)
        with by_value(files):
            return _unpickle, (type(self), cloudpickle.dumps(options))

    @property
    def is_first(self) -> bool:
        """Return whether this callable records and logs for the whole reward.

        With a function per component, each rates all components; only the first
        records them.
        """
        component = getattr(self, "component", None)
        return component is None or component == self.reward.names[0]

    def rate(self, batch: Mapping[str, Sequence[Any]], count: int) -> RatedBatch:
        """Score `count` completions; siblings are those of one prompt.

        Errors are logged, once per reason; a call that takes longer than `timeout` is
        an error of its row. RewardError: the trainer lacks a column that the reward
        needs.
        """
        columns = _rename_columns(batch, self.columns)
        try:
            self.reward.check_columns(list(columns))
        except RewardError as error:
            raise RewardError(
                f"{error}; give the data set that column, or export again with "
                "columns={canonical: its name}"
            ) from None
        groups = _group_codes(columns, count)
        plan = bind(self.reward, columns, count)
        limit = None if self.timeout is None else _limit(self.timeout)
        outcomes = evaluate(plan, columns, groups=groups, notes=True, limit=limit)
        _log_errors(self.reward, outcomes)
        final = plan.transform(outcomes.rewards, groups)
        is_recorded = self.is_first and not is_scoring()
        if isinstance(self.record, Recorder) and is_recorded:
            batch_columns = recorded_columns(columns, self.reward)
            scored = Batch(batch_columns, count, outcomes, final)
            record_batch(self.record, self.reward, scored, timeout=self.timeout)
        score_lists = {}
        for name, outcome in outcomes.components.items():
            scores = np.where(outcome.status == GATED, 0.0, outcome.scores)
            score_lists[name] = _none_for_nan(scores)
        return RatedBatch(
            _none_for_nan(final), score_lists, outcomes.notes or [], outcomes
        )

    def rate_rows(self, rows: Sequence[Mapping[str, Any]]) -> RatedBatch:
        """Score completions given as rows, which may have different columns."""
        return self.rate(lists_of_columns(rows), len(rows))

    def numbers(self, batch: Mapping[str, Sequence[Any]], count: int) -> list[float]:
        """Return only the rewards, with `missing` for rows that are not judged."""
        return self.rate(batch, count).numbers(self.missing)[0]

    def dicts(
        self, rows: Sequence[Mapping[str, Any]], *, main: str = "score"
    ) -> list[dict[str, float]]:
        """Return a dict per row: the reward as `main`, ``judged`` and the scores.

        ``judged`` is 1.0, or 0.0 if the reward is `missing`; ``judged/NAME`` is the
        same for a component, so that a trainer's mean of it is the judged share. All
        values are finite, under the same keys. A component called `main` or ``judged``
        is left out.
        """
        rated = self.rate_rows(rows)
        rewards, score_rows = rated.numbers(self.missing)
        results = []
        for place, reward in enumerate(rewards):
            is_judged = rated.rewards[place] is not None
            result = {main: reward, JUDGED: float(is_judged)}
            for name, score in score_rows[place].items():
                if name in (main, JUDGED):
                    continue
                is_scored = rated.scores[name][place] is not None
                result[name] = score
                result[f"{JUDGED_PREFIX}{name}"] = float(is_scored)
            results.append(result)
        return results


def component_metrics(reward: Reward, outcomes: Outcomes) -> dict[str, float]:
    """Return metrics of each component on a batch, for a trainer's curves.

    Their names are ``components/<name>/...``: the ``mean`` of the scores, the share of
    scores ``at_minimum`` (of the range, or of the batch without a range), the share of
    rows ``not_judged`` (abstained or an error; gated rows are judged), and the
    ``seconds`` of the calls. Without a score, the first two are left out.
    """
    ranges = {}
    for branch in reward.branches:
        for item in branch.components:
            ranges[item.name] = item.range
    metrics = {}
    for name, outcome in outcomes.components.items():
        start = f"components/{name}"
        scores = outcome.scores[outcome.status == SCORED]
        if len(scores):
            limits = ranges[name]
            lowest = scores.min() if limits is None else limits[0]
            metrics[f"{start}/mean"] = float(scores.mean())
            metrics[f"{start}/at_minimum"] = float((scores <= lowest).mean())
        if len(outcome.status):
            is_missing = (outcome.status != SCORED) & (outcome.status != GATED)
            metrics[f"{start}/not_judged"] = float(is_missing.mean())
        metrics[f"{start}/seconds"] = outcome.seconds
    return metrics


def check_timeout(reward: Reward, timeout: float | None) -> None:
    """Raise a RewardError if calls of the reward cannot have this time limit."""
    if timeout is None:
        return
    with time_limit(timeout):
        problem = cannot_limit(reward.functions)
    if problem:
        raise RewardError(
            f"timeout={timeout:g}: {problem}; make what it holds open (a client, a "
            "lock, a file) inside the call, or leave timeout out"
        )


@functools.cache
def _limit(seconds: float) -> TimeLimit:
    """Return the worker processes of this process, which start on the first call."""
    limit = time_limit(seconds)
    assert isinstance(limit, TimeLimit)
    return limit


def _unpickle(kind: type[RewardHolder], options: bytes) -> RewardHolder:
    return kind(**cloudpickle.loads(options))


def _log_errors(reward: Reward, outcomes: Outcomes) -> None:
    """Log each reason why a component failed, but not why it abstained."""
    for name, outcome in outcomes.components.items():
        rows = np.flatnonzero(outcome.status == ERROR).tolist()
        for reason in sorted({str(outcome.reasons[row]) for row in rows}):
            log.warning("reward %r: component %r failed: %s", reward.name, name, reason)


def _rename_columns(
    batch: Mapping[str, Sequence[Any]], columns: Mapping[str, str]
) -> dict[str, list[Any]]:
    """Return the trainer's columns, also under their canonical names.

    `columns` takes precedence over known aliases.
    """
    renamed = {name: list(column) for name, column in batch.items()}
    wanted = {}
    for canonical, source in columns.items():
        if canonical in ALIASES and source in batch:
            wanted[canonical] = source
    for canonical, source in map_columns(list(batch), wanted).items():
        renamed[canonical] = list(batch[source])
    return renamed


def _group_codes(
    columns: Mapping[str, Sequence[Any]], count: int
) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return a group number per row, the same for one prompt (and data source)."""
    names = []
    if "prompt_id" in columns:
        names.append("prompt_id")
    elif "prompt" in columns:
        names.append("prompt")
    if "data_source" in columns:
        names.append("data_source")
    if not names:
        return np.arange(count)
    codes: dict[str, int] = {}
    groups = []
    for key in zip(*(columns[name] for name in names), strict=True):
        text = json.dumps(key, sort_keys=True, default=str)
        groups.append(codes.setdefault(text, len(codes)))
    return np.array(groups, dtype=np.intp)


def identifier(name: str) -> str:
    """Return a name that is valid in Python and configurations, and is no import."""
    text = re.sub(r"\W", "_", name).strip("_")
    if not text.isidentifier():
        text = f"reward_{text}".rstrip("_")
    is_used = iskeyword(text) or text in ("rk", "asyncio")
    return f"{text}_" if is_used else text
