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
"""Most characters of a completion whose fields are searched for a page."""

MOST_SPANS: Final = 4
"""Most marked spans of a field."""


@dataclass(frozen=True)
class Contribution:
    """The contribution of one component: score times weight, NaN without a score.

    `why_not` is the reason of a missing score, `why` the purpose of the component.
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
        """Return the reason of a missing score as a sentence."""
        return str(self.why_not or "")


@dataclass(frozen=True, repr=False)
class Explanation(HasPage):
    """The explanation of the reward of one completion.

    `spans` are the places of the fields in the completion. The contributions in `lines`
    are NaN unless the aggregation is the weighted sum.
    """

    reward: str
    completion: str
    columns: Record
    spans: dict[str, list[Span]]
    lines: tuple[Contribution, ...]
    result: RewardResult

    def page(self) -> Page:
        """Return the page: the completion with marked fields, and contributions."""
        total = number(self.result.reward)
        text = Quote("", self.completion, self.spans, longest=LONGEST_ESCAPED)
        return Page(self.reward, [text, *self.blocks(total)], f"reward {total}")

    def blocks(self, total: str, combined: str = "") -> list[Block]:
        """Return the blocks below the completion: contributions to the `total`."""
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
        reward: A reward, which then scores the rollout, or scores. Scores are not
            computed again, so failures, late calls and group components are explained,
            too.
        rollout: For a reward a dict of columns such as ``rollouts[0]``; for scores the
            position of a row, or its `rollout_id` as text.

    Raises:
        RewardError: A column is missing, or the reward has no part for the rollout.
        RolloutsError: `rollout` has another type, or the row does not exist.
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
    """Return the result of a scored row."""
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
    """Explain a result: the spans of fields, and each component's contribution."""
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
    """Return the spans that an extractor reads, [] if its pattern is too slow."""
    try:
        return extractor.spans(text)
    except TimeoutError:
        return []


def field_spans(reward: Reward, columns: Plain) -> dict[str, list[Span]]:
    """Return the spans of fields in a completion, {} for a very long one."""
    completion = columns.get("completion")
    part = reward.for_row(columns)
    if part is None or not isinstance(completion, str):
        return {}
    if len(completion) > LONGEST_EXTRACTED:
        return {}
    spans = {}
    for name, function in part.fields.items():
        if isinstance(function, Extractor):
            places = spans_of(function, completion)[:MOST_SPANS]
            if places:
                spans[name] = places
    return spans
