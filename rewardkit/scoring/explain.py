"""explain(): why one completion got its reward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import RewardError, RolloutsError, preview
from rewardkit.html import cards
from rewardkit.html.blocks import Block, Quote
from rewardkit.html.excerpts import UserText
from rewardkit.html.markup import LONGEST_ESCAPED, aligned, number
from rewardkit.html.pages import HasPage, Page
from rewardkit.primitives.extract import Extractor, Span
from rewardkit.reasons import Reason, read_reasons
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.values import present
from rewardkit.scoring.result import RewardResult
from rewardkit.scoring.scores import Scores


@dataclass(frozen=True)
class Line:
    """What one component added: its score, weight, what it contributed (NaN where it did not), and why."""

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
        """Why there is no score, as a sentence."""
        return str(self.why_not or "")

    @property
    def cells(self) -> tuple[str, ...]:
        """As a row of a table with `HEADER`."""
        score, weight, adds = (
            number(self.score),
            f"{self.weight:g}",
            number(self.contribution),
        )
        return (
            self.component,
            self.status,
            score,
            weight,
            adds,
            self.gate,
            self.reason or self.why,
        )


@dataclass(frozen=True, repr=False)
class Explanation(HasPage):
    """Why one completion got its reward.

    Fields with the spans they were taken from, a line a component, notes, total.

    `contribution` is weight times score, for a weighted sum; other aggregations have none (NaN).
    """

    reward: str
    completion: str
    columns: dict[str, Any]
    spans: dict[str, list[Span]]
    lines: tuple[Line, ...]
    result: RewardResult

    def __str__(self) -> str:
        out = [
            f"reward {self.reward!r}: {self.result.reward:.4g}",
            "",
            repr(self.completion),
            "",
        ]
        for name, value in self.result.fields.items():
            at = self._places(name)
            out.append(
                f"field {name} = {value!r}" + (f" (characters {at})" if at else "")
            )
        out += ["", *aligned([HEADER, *(line.cells for line in self.lines)])]
        out += [f"note {name} = {value!r}" for name, value in self.result.notes.items()]
        out += [f"verdict {name}: {said}" for name, said in self.verdicts]
        return "\n".join(out)

    @property
    def verdicts(self) -> list[tuple[str, str]]:
        """What models said: component, then level, reason, what the call cost and the raw answer."""
        return [
            (name, verdict_text(verdict))
            for name, verdict in self.result.verdicts.items()
        ]

    @property
    def taken(self) -> list[tuple[str, str, str]]:
        """Each field with what it took and at which characters, then the truth, as text."""
        rows = [
            (name, "not found" if value is None else repr(value), self._places(name))
            for name, value in self.result.fields.items()
        ]
        truth = [
            value for name, value in self.columns.items() if name == "ground_truth"
        ]
        return [
            *rows,
            *(
                ("ground_truth", "missing" if one is None else str(one), "")
                for one in truth
            ),
        ]

    def _places(self, field: str) -> str:
        return ", ".join(
            f"{start}-{end}" for start, end in self.spans.get(field, ())[:MARKED]
        )

    def page(self) -> Page:
        """Return the completion with its fields marked, what each component adds, and notes."""
        total = number(self.result.reward)
        return Page(
            self.reward,
            [
                Quote("", self.completion, self.spans, longest=LONGEST_ESCAPED),
                *self.blocks(total),
            ],
            f"reward {total}",
        )

    def blocks(self, total: str, combined: str = "") -> list[Block]:
        """Return what each component adds to the `total`, and how, below the completion."""
        taken = []
        for name, value, places in self.taken:
            is_ours = value in ("not found", "missing")
            taken.append((name, value if is_ours else UserText(value), places))
        return [
            cards.contribution_table(self.lines, total, combined),
            cards.taken_table(taken),
            *cards.verdict_blocks(self.result.verdicts),
            cards.note_table(self.result.notes),
        ]


HEADER = ("component", "status", "score", "weight", "adds", "gate", "why")


def explain(reward: Reward | Scores, rollout: Mapping[str, Any] | int) -> Explanation:
    """Why this rollout (a dict of columns, such as `rollouts[0]`) gets its reward, before any transform.

    Of scores it is the position of a row; what scoring left is explained, and nothing is called again.
    In a notebook it shows itself with the spans of every field marked. RewardError: it lacks a column that is
    asked for.
    """
    if isinstance(reward, Scores):
        if isinstance(rollout, Mapping) or not 0 <= rollout < len(reward):
            raise RolloutsError(
                f"explain takes the position of one of {len(reward)} scored rows, "
                f"not {preview(rollout)}"
            )
        return explained(reward, int(rollout))
    check_reward(reward, "explain")
    if not isinstance(rollout, Mapping):
        raise RolloutsError(
            f"explain takes one rollout, a dict of columns such as rollouts[0], not {preview(rollout)}"
        )
    columns = {name: rollout[name] for name in rollout if name in reward.needs}
    result = (
        reward(**columns)
        if set(reward.needs) <= set(columns)
        else reward(**dict(rollout))
    )
    return _explanation(reward, rollout, result, "this rollout")


def explained(scores: Scores, row: int) -> Explanation:
    """Why a scored rollout got its reward before any transform, from what scoring left.

    Nothing of the user's is called again: what a call did then is what is told, also where it failed, hung
    or depends on siblings. RewardError: the reward has no part for this row.
    """
    reward, values = scores.reward, scores.table.iloc[row]
    columns = [f"reason/{name}" for name in reward.names]
    reasons = dict(zip(reward.names, read_reasons(values[columns]), strict=True))
    notes = {
        str(name): present(values[name])
        for name in values.index
        if str(name).startswith("note/")
    }
    result = RewardResult(
        reward=float(values["reward_raw"]),
        scores={name: float(values[f"score/{name}"]) for name in reward.names},
        status={name: str(values[f"status/{name}"]) for name in reward.names},
        reasons={name: why for name, why in reasons.items() if why is not None},
        fields={
            name: present(values[f"field/{name}"])
            for name in reward.fields
            if f"field/{name}" in values
        },
        notes={
            name.removeprefix("note/"): value
            for name, value in notes.items()
            if value is not None
        },
        verdicts={
            name: dict(verdict)
            for name in reward.names
            if isinstance(verdict := values.get(f"verdict/{name}"), Mapping)
        },
    )
    return _explanation(reward, scores.rollouts[row], result, f"row {row}")


def _explanation(
    reward: Reward, rollout: Mapping[str, Any], result: RewardResult, what: str
) -> Explanation:
    """The explanation of a result: where the fields stand, and what each component adds."""
    part = reward.for_row(rollout)
    if part is None:
        raise RewardError(
            f"reward {reward.name!r} has no part for {what}, so there is nothing to explain"
        )
    completion = rollout.get("completion")
    spans = {
        name: spans_of(function, completion)
        for name, function in part.fields.items()
        if isinstance(function, Extractor)
        and isinstance(completion, str)
        and result.fields.get(name) is not None
    }
    lines = []
    for item in part.components:
        status, value = result.status[item.name], result.scores[item.name]
        adds = math.nan
        if part.aggregation == "weighted_sum" and status in ("scored", "gated"):
            adds = item.weight * value if status == "scored" else 0.0
        gate = describe(item.gate) if item.gate else ""
        why_not = result.reasons.get(item.name)
        lines.append(
            Line(item.name, status, value, item.weight, adds, gate, why_not, item.why)
        )
    return Explanation(
        part.name, str(completion), dict(rollout), spans, tuple(lines), result
    )


def verdict_text(verdict: Mapping[str, Any]) -> str:
    """What a model said, as a person reads it.

    >>> verdict_text({"level": "good", "reason": "short", "cost": 0.002, "raw": ["{}"], "cached": False})
    "good: short (cost 0.002; raw answer: '{}')"
    """
    level, reason, cost = (
        verdict.get("level"),
        str(verdict.get("reason", "")),
        verdict.get("cost"),
    )
    about = (
        ["cached"]
        if verdict.get("cached")
        else [f"cost {cost:g}"]
        if cost is not None
        else []
    )
    raw = verdict.get("raw")
    about += ["raw answer: " + " | ".join(map(repr, raw))] if raw else []
    said = f"{level}: {reason}" if level else reason
    return f"{said} ({'; '.join(about)})" if about else said


def spans_of(extractor: Extractor, text: str) -> list[Span]:
    """Where an extractor found something; a pattern that takes too long found nothing."""
    try:
        return extractor.spans(text)
    except TimeoutError:
        return []


EXTRACTED = 20_000  # characters of a completion up to which its fields are looked for
MARKED = 4  # spans of a field


def field_spans(reward: Reward, columns: Mapping[str, Any]) -> dict[str, list[Span]]:
    """Where the fields stand that extractors take from the completion; of a very long one nothing."""
    completion = columns.get("completion")
    if not isinstance(completion, str) or len(completion) > EXTRACTED:
        return {}
    part = reward.for_row(columns)
    found = {
        name: spans_of(function, completion)[:MARKED]
        for name, function in (part.fields.items() if part else ())
        if isinstance(function, Extractor)
    }
    return {name: spans for name, spans in found.items() if spans}
