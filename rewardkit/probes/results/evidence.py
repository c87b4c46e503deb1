"""What findings are made of: counts, examples, components, and what was observed."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, zip_longest
from statistics import fmean
from typing import Any

from rewardkit.answers.kinds import read_truth
from rewardkit.findings import Example, Finding
from rewardkit.probes.runner import RowOutcome, Variants, part_for
from rewardkit.probes.subjects.log import prompt_text
from rewardkit.probes.subjects.scales import Calibration, Scale
from rewardkit.probes.trials import Measured, Trial
from rewardkit.probes.verdicts import (
    Fall,
    RewardRange,
    components_at_fault,
    expected_rewards,
    find_fall,
    severity_of,
    wilson,
)
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward
from rewardkit.strategies.strategy import Attempt
from rewardkit.strategies.subject import Row, Subject

MOST_EXAMPLES = 3
"""Examples that a finding keeps, the clearest first."""

USUAL_COLUMNS = (
    "prompt",
    "completion",
    "messages",
    "ground_truth",
    "data_source",
    "extra_info",
)
"""Columns that are shown of a reward that asks for whole rows."""


def make_finding(
    code: str,
    family: str,
    tried: int,
    found: int | None = None,
    *,
    severity: str = "",
    component: str | None = None,
    part: str = "",
    threshold: float | None = None,
    examples: Iterable[Example] = (),
    **evidence: Any,
) -> Finding:
    """Make a finding with its evidence.

    Args:
        code: Its code in `findings.toml`.
        family: The family of the probe.
        tried: On how much it was tried.
        found: On how much of that it was found; None where that makes no share.
        severity: Given where the risk does not decide: by default the risk is the
            gain times the share in which it was found.
        component: The component that it is about.
        part: The data source that it is about.
        threshold: The limit that was passed.
        examples: The clearest first; a few are kept.
        evidence: What its sentence needs.
    """
    counts: dict[str, Any] = {"value": 1.0, "tried": tried}
    if found is not None:
        share = found / tried
        counts |= {"value": share, "interval": wilson(found, tried), "found": found}
        if "gain" in evidence:
            counts["risk"] = evidence["gain"] * found / tried
    counts |= evidence
    return Finding(
        code,
        severity or severity_of(counts["risk"]),
        component,
        counts,
        tried,
        threshold,
        part=part,
        family=family,
        examples=tuple(islice(examples, MOST_EXAMPLES)),
    )


def row_example(
    row: Row, reward: float, probe: str, said: str, columns: Row | None = None
) -> Example:
    """Make an example of a row of which only what it got is known."""
    if columns is None:
        usual = ("completion", "ground_truth")
        columns = {name: row[name] for name in usual if name in row}
    return Example(row.get("rollout_id"), columns, reward, None, probe=probe, said=said)


def merge_parts(findings: Iterable[Finding], parts: Sequence[str]) -> list[Finding]:
    """Merge findings of one code and component in several parts.

    A finding in all `parts` names none.
    """
    alike: dict[tuple[str, str | None], list[Finding]] = defaultdict(list)
    for finding in findings:
        alike[finding.code, finding.component].append(finding)
    return [_merge(group, parts) for group in alike.values()]


def _merge(findings: Sequence[Finding], parts: Sequence[str]) -> Finding:
    """Merge findings: as bad as the worst, with pooled rates and examples of each."""
    if len(findings) == 1:
        return findings[0]
    findings = sorted(findings, key=lambda finding: finding.order)
    named = list(dict.fromkeys(finding.part for finding in findings))
    evidences = [finding.evidence for finding in findings]
    tried = sum(evidence["tried"] for evidence in evidences)
    counts = [evidence.get("found", 0) for evidence in evidences]
    pooled = {**evidences[0], "tried": tried, "parts": named}
    if sum(counts):
        found = sum(counts)
        pooled |= {"found": found, "value": found / tried}
        pooled["interval"] = wilson(found, tried)
        if "gain" in pooled:
            gains = [evidence["gain"] for evidence in evidences]
            pooled["gain"] = fmean(gains, counts)
    if "also" in pooled:
        probes = chain.from_iterable(evidence["also"] for evidence in evidences)
        pooled["also"] = list(dict.fromkeys(probes))
    rounds = zip_longest(*(finding.examples for finding in findings))
    examples = filter(None, chain.from_iterable(rounds))
    part = "" if set(named) >= set(parts) else ", ".join(named)
    return replace(
        findings[0],
        evidence=pooled,
        n=sum(finding.n for finding in findings),
        examples=tuple(islice(examples, MOST_EXAMPLES)),
        part=part,
    )


def special_truth(truth: Any) -> str:
    """Name what is special about a truth: "empty", "zero", "negative", or "".

    >>> special_truth(" "), special_truth("2 - 2 = 0 #### 0")
    ('empty', 'zero')
    >>> special_truth(-3), special_truth("12")
    ('negative', '')
    """
    if truth is None:
        return ""
    answer = read_truth(truth)
    if answer is None:
        return "empty"
    if re.fullmatch(r"[-+]?0+(\.0*)?", answer):
        return "zero"
    return "negative" if re.match(r"[-−]\s?[\d.]", answer) else ""


@dataclass(frozen=True, eq=False)
class Observed:
    """A reward and what was observed of it, on all rollouts or on those of a `part`.

    `measured` is what the reference and baseline of each subject got; `special_truths`
    are the kinds of special truths that the rollouts have, see `special_truth`.
    """

    reward: Reward
    calibration: Calibration
    measured: Mapping[Any, Measured]
    variants: Variants
    special_truths: frozenset[str]
    part: str = ""

    def of(self, part: str) -> Observed:
        """Return what was observed on the prompts of a part."""
        calibration = self.calibration
        subjects = [one for one in calibration.subjects if one.part == part]
        left_out = [one for one in calibration.left_out if one.subject.part == part]
        calibration = replace(
            calibration, subjects=tuple(subjects), left_out=tuple(left_out)
        )
        return replace(self, calibration=calibration, part=part)

    @cached_property
    def noise(self) -> float:
        """Share of full marks by which rewards of the same completion differ."""
        spreads = [
            measured.spread / self.calibration.scales[key].span
            for key, measured in self.measured.items()
        ]
        return max(spreads, default=0.0)

    @cached_property
    def by_prompt(self) -> Mapping[str, list[tuple[str, float]]]:
        """Text of a prompt -> its judged completions, each with its reward."""
        completions: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for row, outcome in self.calibration.pool:
            if outcome.judged:
                completion = str(row.get("completion"))
                prompt = prompt_text(row.get("prompt"))
                completions[prompt].append((completion, outcome.reward))
        return completions

    def scale(self, subject: Subject) -> Scale:
        """Return what completions earn there; of a left out subject, elsewhere."""
        scales, subjects = self.calibration.scales, self.calibration.subjects
        return scales.get(subject.rollout_id) or scales[subjects[0].rollout_id]

    def is_beyond(self, subject: Subject) -> bool:
        """Whether full marks are only declared: no known completion earns them."""
        if subject.answer is not None:
            return False
        return self.scale(subject).right > max(self.calibration.rewards) + 1e-9

    def falls(self, trial: Trial) -> bool:
        """Whether a trial found something, as far as it alone tells."""
        scale = self.scale(trial.subject)
        return find_fall(trial, scale, graded=False, noise=self.noise) is not None

    def has_truth(self, attempt: Attempt) -> bool:
        """Whether the rollouts have truths such as the attempt puts in, if it does."""
        if "ground_truth" not in attempt.columns:
            return True
        return special_truth(attempt.columns["ground_truth"]) in self.special_truths

    def weights(self, row: Row) -> dict[str, float]:
        """Return the weights of the components for a row."""
        return dict(part_for(self.reward, row).weights)

    @cached_property
    def components(self) -> dict[str, Component]:
        """The components by name."""
        return {component.name: component for component in self.reward.all_components}

    @cached_property
    def has_one_component(self) -> bool:
        """Whether there is one component, which findings then do not name."""
        return len(self.reward.all_components) < 2

    def finding(
        self,
        code: str,
        family: str,
        tried: int,
        found: int | None = None,
        *,
        components: Sequence[str] | None = None,
        component: str | None = None,
        **evidence: Any,
    ) -> Finding:
        """Make a finding of this part; of several components it names the first."""
        if not self.has_one_component:
            if components is not None:
                evidence["components"] = list(components)
            evidence["component"] = components[0] if components else component
        return make_finding(code, family, tried, found, part=self.part, **evidence)

    def example(
        self,
        subject: Subject,
        completion: str,
        reward: float,
        expected: RewardRange,
        probe: str,
        **columns: Any,
    ) -> Example:
        """Make an example, with what right and wrong answers earn there."""
        scale = self.scale(subject)
        row = self.variants.of(subject.columns, completion, **columns)
        return Example(
            subject.rollout_id,
            self.shown_columns(row),
            reward,
            expected,
            right=math.nan if self.is_beyond(subject) else scale.right,
            wrong=scale.wrong,
            probe=probe,
            of_rollouts=subject.answer is None,
        )

    def example_of(self, fall: Fall) -> Example:
        """Make an example of the completion of a trial that fell."""
        trial = fall.trial
        rewards = trial.rewards
        place = 0
        if trial.probe.expects == "right":
            place = rewards.index(min(rewards))
        elif trial.probe.expects == "more":
            place = len(rewards) - 1
        expected = expected_rewards(trial.probe, self.scale(trial.subject))
        text, columns = trial.attempt.rows[place]
        return self.example(
            trial.subject, text, rewards[place], expected, trial.probe.name, **columns
        )

    def shown_columns(self, row: Row) -> dict[str, Any]:
        """Return the columns that the reward asks for, or the usual ones."""
        names = set(self.reward.needs)
        if not names <= set(row):  # it asks for whole rows
            names |= {*USUAL_COLUMNS}
            for function in self.reward.functions:
                names |= {*getattr(function, "needs", ())}
            for name, logged_name in self.variants.names.items():
                if logged_name != name:
                    names.discard(logged_name)
        return {name: row[name] for name in row if name in names}

    def components_of(self, falls: Sequence[Fall]) -> list[str]:
        """List the components that make falls, all together, the largest part first.

        Those that make less than a tenth of the largest part are left out.
        """
        parts: dict[str, float] = defaultdict(float)
        for fall in falls:
            for name, change in self._changes(fall.trial):
                parts[name] += change
        limit = max(parts.values(), default=0.0) / 10
        names = [name for name, part in parts.items() if part > 0 and part >= limit]
        return sorted(names, key=lambda name: -parts[name])

    def _changes(self, trial: Trial) -> list[tuple[str, float]]:
        """List what each component adds to a fall."""
        measured = self.measured[trial.subject.rollout_id]
        outcomes = [outcome for outcome in trial.outcomes if outcome is not None]
        outcome: RowOutcome = min(outcomes, key=lambda outcome: outcome.reward)
        before: Mapping[str, float] = measured.baseline.scores
        sign = 1
        match trial.probe.expects:
            case "right":
                before, sign = measured.reference.scores, -1
            case "more":
                outcome, before = outcomes[-1], measured.reference.scores
            case "form":
                before = {}  # all that is paid without the task
        weights = self.weights(trial.subject.columns)
        changes = components_at_fault(weights, outcome.scores, before)
        return [(name, sign * change) for name, change in changes]
