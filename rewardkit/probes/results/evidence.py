"""Seen: what findings are made of, and the examples and components that they name."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rewardkit.findings import Example
from rewardkit.probes.results.sentences import components_at_fault
from rewardkit.probes.runner import Outcome, Row, Variants
from rewardkit.probes.strategies.attempts import Attempt, Probe
from rewardkit.probes.subjects.answers import answer_in
from rewardkit.probes.subjects.log import prompt_text
from rewardkit.probes.subjects.subject import Calibration, Scale, Subject
from rewardkit.probes.trials import Known, Trial
from rewardkit.probes.verdicts import FULL, LOST, MORE, PAID, Fall, fall, threshold
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward

__all__ = ["EXAMPLES", "Seen", "component_of", "example_of", "special"]

EXAMPLES = 3


def special(truth: Any) -> str:
    """What is special about a truth: "empty", "zero", "negative", or "" for nothing.

    >>> special(" "), special("2 - 2 = 0 #### 0"), special(-3), special("12")
    ('empty', 'zero', 'negative', '')
    """
    if truth is None:
        return ""
    answer = answer_in(truth)
    if answer is None:
        return "empty"
    if re.fullmatch(r"[-+]?0+(\.0*)?", answer):
        return "zero"
    return "negative" if re.match(r"[-−]\s?[\d.]", answer) else ""


@dataclass(frozen=True, eq=False)
class Seen:
    """What findings are made of: the reward and what was seen of it."""

    reward: Reward
    calibration: Calibration
    known: Mapping[Any, Known]
    variants: Variants
    truths: frozenset[str]
    """What kinds of special truths the rollouts have: see `special`."""

    @cached_property
    def noise(self) -> float:
        """The share of full marks by which the same completion earned more or less another time."""
        spans = {key: self.calibration.scales[key].span for key in self.known}
        return max((known.spread / spans[key] for key, known in self.known.items()), default=0.0)

    @cached_property
    def by_prompt(self) -> Mapping[str, list[tuple[Row, Outcome]]]:
        """The rollouts that were scored, with what they got, by the text of their prompt."""
        found: dict[str, list[tuple[Row, Outcome]]] = defaultdict(list)
        for row, outcome in self.calibration.pool:
            found[prompt_text(row.get("prompt"))].append((row, outcome))
        return found

    def falls(self, trial: Trial) -> bool:
        """Whether a trial found something, as far as it alone tells."""
        scale = self.calibration.scales[trial.subject.rollout_id]
        return fall(trial, scale, graded=False, noise=self.noise) is not None

    def has_truth(self, attempt: Attempt) -> bool:
        """Whether an attempt that changes the truth makes it one as the rollouts have."""
        if "ground_truth" not in attempt.columns:
            return True
        return special(attempt.columns["ground_truth"]) in self.truths

    def weights(self, row: Row) -> dict[str, float]:
        """The weights of the components for a row."""
        parts = self.reward.parts({name: [value] for name, value in row.items()}, 1)
        return parts[0].reward.weights if parts else {}

    def components(self) -> dict[str, Component]:
        """The components by name."""
        return {item.name: item for inner in self.reward.inner for item in inner.components}

    def example(
        self,
        subject: Subject,
        completion: str,
        reward: float,
        expected: tuple[float, float] | None,
        probe: str,
        scale: Scale | None = None,
        **columns: Any,
    ) -> Example:
        """A completion of a subject as an example, with what right and wrong answers earn there."""
        scale = scale or self.calibration.scales[subject.rollout_id]
        row = self.variants.of(subject.columns, completion, **columns)
        earned = reward, expected, scale.right, scale.wrong
        of_rollouts = subject.answer is None
        return Example(subject.rollout_id, self.shown(row), *earned, probe, of_rollouts=of_rollouts)

    def shown(self, row: Row) -> dict[str, Any]:
        """The columns of a row that the reward asks for; where it asks for the whole row, the usual ones."""
        needs = set(self.reward.needs)
        if needs <= set(row):
            return {name: row[name] for name in row if name in needs}
        of_log = {source for name, source in self.variants.names.items() if source != name}
        kept = ("prompt", "completion", "messages", "ground_truth", "data_source", "extra_info")
        functions = [function for inner in self.reward.inner for function in inner.functions]
        asked = {name for function in functions for name in getattr(function, "needs", ())}
        return {name: row[name] for name in row if (name in kept or name in asked) and name not in of_log}


def component_of(falls: Sequence[Fall], seen: Seen) -> str | None:
    """The component that makes most of the change, where there are several; ``None`` for the whole."""
    if sum(len(inner.components) for inner in seen.reward.inner) < 2 or not falls:
        return None
    trial = falls[0].trial
    known = seen.known.get(trial.subject.rollout_id)
    outcomes = [out for out in trial.outcomes if out]
    outcome = outcomes[-1] if trial.probe.expects == "more" and outcomes else None
    outcome = outcome or min(outcomes, key=lambda out: out.reward, default=None)
    if known is None or outcome is None:
        return None
    of_right = known.reference.scores
    befores = {"right": of_right, "more": of_right, "form": {}}  # of a form all that is paid without the task
    before = befores.get(trial.probe.expects, known.baseline.scores)
    changes = components_at_fault(seen.weights(trial.subject.columns), outcome.scores, before)
    sign = -1 if trial.probe.expects == "right" else 1
    return next((name for name, change in changes if change * sign > 0), None)


def example_of(fall: Fall, seen: Seen) -> Example:
    """A fall as an example: the completion that fell, what it earned and what it should have."""
    trial = fall.trial
    rewards = [math.nan if outcome is None else outcome.reward for outcome in trial.outcomes]
    worst = 0
    if trial.probe.expects == "right":
        worst = rewards.index(min(rewards))
    if trial.probe.expects == "more":
        worst = len(rewards) - 1
    scale, text = seen.calibration.scales[trial.subject.rollout_id], trial.attempt.completions[worst]
    expected, columns = _expected(trial.probe, scale), trial.attempt.columns
    return seen.example(trial.subject, text, rewards[worst], expected, trial.probe.name, **columns)


def _expected(probe: Probe, scale: Scale) -> tuple[float, float]:
    """The rewards that would have been right."""
    if probe.expects == "right":
        return scale.right - (1 - FULL) * scale.span, scale.right + scale.span
    if probe.expects == "more":
        return scale.wrong, scale.right + 0.1 * scale.span
    if probe.expects == "form":
        return min(scale.floor, scale.plain), scale.plain
    return min(scale.floor, scale.wrong), scale.wrong + _allowed(probe) * scale.span


def _allowed(probe: Probe) -> float:
    return {FULL: 0.9, PAID: LOST, MORE: 0.1}.get(threshold(probe, graded=False), 0.1)
