"""explain(): why one completion got its reward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from rewardkit.errors import RewardError, RolloutsError, preview
from rewardkit.html import cards
from rewardkit.html.blocks import Block, Quote
from rewardkit.html.excerpts import UserText
from rewardkit.html.markup import LONGEST_ESCAPED, number
from rewardkit.html.pages import HasPage, Page
from rewardkit.plain import Plain, Record
from rewardkit.primitives.extract import Extractor, Span
from rewardkit.reasons import Reason
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rewards.route import at_step_of
from rewardkit.rollouts.values import present
from rewardkit.scoring.evaluate import RewardResult
from rewardkit.scoring.scores import Scores, select_rows

LONGEST_EXTRACTED: Final = 20_000
"""Characters of a completion up to which a page looks for its fields."""

MOST_SPANS: Final = 4
"""Spans of a field that are marked."""


@dataclass(frozen=True)
class Contribution:
    """What one component added: its score times its weight, NaN where it has none.

    `why_not` is the reason of a missing score, `why` what the component is paid for.
    """

    component: str
    status: str
    score: float
    weight: float
    contribution: float
    gate: str
    why_not: Reason | None
    why: str

    @property
    def reason(self) -> str:
        """Return why there is no score, as a sentence."""
        return str(self.why_not or "")


@dataclass(frozen=True, repr=False)
class Explanation(HasPage):
    """Why one completion got its reward.

    `spans` are the places in the completion that its fields were taken from. Of
    aggregations other than the weighted sum `lines` have no contribution (NaN).
    """

    reward: str
    completion: str
    columns: Record
    spans: dict[str, list[Span]]
    lines: tuple[Contribution, ...]
    result: RewardResult

    def page(self) -> Page:
        """Return the completion with its fields marked, and what components add."""
        total = number(self.result.reward)
        text = Quote("", self.completion, self.spans, longest=LONGEST_ESCAPED)
        return Page(self.reward, [text, *self.blocks(total)], f"reward {total}")

    def blocks(self, total: str, combined: str = "") -> list[Block]:
        """Return what stands below the completion: how components make the `total`."""
        fields: list[tuple[str, object, str]] = []
        for name, value in self.result.fields.items():
            text = "not found" if value is None else UserText(repr(value))
            spans = self.spans.get(name, ())[:MOST_SPANS]
            places = ", ".join(f"{start}-{end}" for start, end in spans)
            fields.append((name, text, places))
        if "ground_truth" in self.columns:
            truth = self.columns["ground_truth"]
            text = "missing" if truth is None else UserText(str(truth))
            fields.append(("ground_truth", text, ""))
        return [
            cards.contribution_table(self.lines, total, combined),
            cards.taken_table(fields),
            *cards.verdict_blocks(self.result.verdicts),
            cards.note_table(self.result.notes),
        ]


def explain(reward: Reward | Scores, rollout: Plain | int | str) -> Explanation:
    """Explain the reward of one completion, before any transform.

    Args:
        reward: a reward, which then judges the rollout; or scores, of which nothing is
            called again, so that it is also told what failed, hung or depends on
            siblings.
        rollout: a dict of columns such as ``rollouts[0]``; of scores the position of a
            row, or its `rollout_id` as text.

    Raises:
        RewardError: a column is missing, or the reward has no part for this rollout.
        RolloutsError: `rollout` is neither, or there is no such row.
    """
    if isinstance(reward, Scores):
        row: Any = rollout
        if isinstance(rollout, str):
            ids = list(map(str, reward.rollouts.table.get("rollout_id", ())))
            row = ids.index(rollout) if rollout in ids else None
        if not isinstance(row, int | np.integer) or not 0 <= row < len(reward):
            raise RolloutsError(
                f"explain takes the position of one of {len(reward)} scored rows or "
                f"a rollout_id as text, not {preview(rollout)}"
            )
        row = int(row)
        result = _result_of_row(reward, row)
        return _explain(reward.reward, reward.rollouts[row], result, f"row {row}")
    check_reward(reward, "explain")
    if not isinstance(rollout, Mapping):
        raise RolloutsError(
            "explain takes one rollout, a dict of columns such as rollouts[0], not "
            f"{preview(rollout)}"
        )
    needs = {*reward.needs, "step"} if reward.is_scheduled else {*reward.needs}
    columns = {name: rollout[name] for name in rollout if name in needs}
    if not set(reward.needs) <= set(columns):
        columns = dict(rollout)  # whole rows, or the error names what is missing
    return _explain(reward, rollout, reward(**columns), "this rollout")


def _result_of_row(scores: Scores, row: int) -> RewardResult:
    """Return what scoring left of a row."""
    row_scores = select_rows(scores, np.array([row]))
    values = row_scores.table.iloc[0]
    result = RewardResult.of(row_scores.outcomes, 0)
    result = replace(result, reward=float(values["reward_raw"]))
    for column in map(str, values.index):
        kind, _, name = column.partition("/")
        note = present(values[column]) if kind == "note" else None
        if note is not None:
            result.notes[name] = note
    return result


def _explain(
    reward: Reward, rollout: Plain, result: RewardResult, place: str
) -> Explanation:
    """Say where the fields stand, and what each component adds."""
    part = reward.for_row(rollout)
    if part is None:
        raise RewardError(
            f"reward {reward.name!r} has no part for {place}, so there is nothing to "
            "explain"
        )
    part = at_step_of(part, rollout)
    completion = rollout.get("completion")
    spans = {}
    for name, function in part.fields.items():
        if isinstance(function, Extractor) and isinstance(completion, str):
            if result.fields.get(name) is not None:
                spans[name] = spans_of(function, completion)
    lines = []
    for item in part.components:
        status, score = result.status[item.name], result.scores[item.name]
        adds = math.nan
        if part.aggregation == "weighted_sum":
            adds = {"scored": item.weight * score, "gated": 0.0}.get(status, math.nan)
        gate = describe(item.gate) if item.gate else ""
        reason = result.reasons.get(item.name)
        line = Contribution(
            item.name, status, score, item.weight, adds, gate, reason, item.why
        )
        lines.append(line)
    text = str(completion)
    return Explanation(part.name, text, dict(rollout), spans, tuple(lines), result)


def spans_of(extractor: Extractor, text: str) -> list[Span]:
    """Find where an extractor takes something; nowhere if its pattern is too slow."""
    try:
        return extractor.spans(text)
    except TimeoutError:
        return []


def field_spans(reward: Reward, columns: Plain) -> dict[str, list[Span]]:
    """Find where fields are taken from a completion; nowhere in a very long one."""
    completion = columns.get("completion")
    part = reward.for_row(columns)
    if part is None or not isinstance(completion, str):
        return {}
    if len(completion) > LONGEST_EXTRACTED:
        return {}
    spans = {}
    for name, function in part.fields.items():
        if isinstance(function, Extractor):
            spans[name] = spans_of(function, completion)[:MOST_SPANS]
    return {name: places for name, places in spans.items() if places}
