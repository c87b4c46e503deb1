"""Evidence: findings with their counts, and what they are made of: examples, components, what was seen."""

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
from rewardkit.probes.runner import Variants, part_for
from rewardkit.probes.subjects.log import prompt_text
from rewardkit.probes.subjects.scales import Calibration, Scale
from rewardkit.probes.trials import Known, Trial
from rewardkit.probes.verdicts import (
    Fall,
    Range,
    allowed,
    components_at_fault,
    fall,
    severity,
    wilson,
)
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward
from rewardkit.strategies.strategy import Attempt
from rewardkit.strategies.subject import Row, Subject

EXAMPLES = 3


def finding(
    code: str,
    family: str,
    tried: int,
    found: int | None = None,
    *,
    grave: str = "",
    component: str | None = None,
    part: str = "",
    threshold: float | None = None,
    examples: Iterable[Example] = (),
    **evidence: Any,
) -> Finding:
    """A finding with its evidence: of those tried the number in which it was found, or all of them.

    It is as `grave` as is said, else as its risk: by default its gain times the share in which it was found.
    """
    counts: dict[str, Any] = {"value": 1.0, "tried": tried}
    if found is not None:
        counts |= {
            "value": found / tried,
            "interval": wilson(found, tried),
            "found": found,
        }
        if "gain" in evidence:
            counts["risk"] = evidence["gain"] * found / tried
    counts |= evidence
    level, shown = grave or severity(counts["risk"]), tuple(islice(examples, EXAMPLES))
    return Finding(
        code, level, component, counts, tried, threshold, (), (), part, family, shown
    )


def row_example(
    row: Row, earned: float, probe: str, said: str, shown: Row | None = None
) -> Example:
    """A row of which only what it got is known, as an example with the columns that are `shown`."""
    usual = {name: row[name] for name in ("completion", "ground_truth") if name in row}
    columns = usual if shown is None else shown
    return Example(row.get("rollout_id"), columns, earned, None, probe=probe, said=said)


def merged(findings: Iterable[Finding], parts: Sequence[str]) -> list[Finding]:
    """The findings, with those of one code and component in several parts as one; of all `parts`, of none."""
    alike: dict[tuple[str, str | None], list[Finding]] = defaultdict(list)
    for item in findings:
        alike[item.code, item.component].append(item)
    return [
        _one(items, parts) if len(items) > 1 else items[0] for items in alike.values()
    ]


def _one(items: Sequence[Finding], parts: Sequence[str]) -> Finding:
    """One finding of several: as bad as the worst, with pooled rates and the clearest example of each."""
    where, every = (
        list(dict.fromkeys(item.part for item in items)),
        [item.evidence for item in items],
    )
    items = sorted(items, key=lambda item: item.order)
    tried = sum(one["tried"] for one in every)
    evidence = {**items[0].evidence, "tried": tried, "parts": where}
    if found := sum(one.get("found", 0) for one in every):
        evidence |= {
            "found": found,
            "value": found / tried,
            "interval": wilson(found, tried),
        }
        if "gain" in evidence:
            evidence["gain"] = fmean(
                [one["gain"] for one in every], [one["found"] for one in every]
            )
    if "also" in evidence:
        evidence["also"] = list(
            dict.fromkeys(name for one in every for name in one["also"])
        )
    rounds = chain.from_iterable(zip_longest(*(item.examples for item in items)))
    examples = tuple(islice(filter(None, rounds), EXAMPLES))
    count, part = (
        sum(item.n for item in items),
        "" if set(where) >= set(parts) else ", ".join(where),
    )
    return replace(items[0], evidence=evidence, n=count, examples=examples, part=part)


def special(truth: Any) -> str:
    """What is special about a truth: "empty", "zero", "negative", or "" for nothing.

    >>> special(" "), special("2 - 2 = 0 #### 0"), special(-3), special("12")
    ('empty', 'zero', 'negative', '')
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
class Seen:
    """What findings are made of: the reward and what was seen of it, on all rollouts or on a `part`."""

    reward: Reward
    calibration: Calibration
    known: Mapping[Any, Known]
    variants: Variants
    truths: frozenset[str]
    """What kinds of special truths the rollouts have: see `special`."""
    part: str = ""

    def of(self, part: str) -> Seen:
        """What was seen of the prompts of a part."""
        subjects = tuple(
            item for item in self.calibration.subjects if item.part == part
        )
        left_out = tuple(
            item for item in self.calibration.left_out if item.subject.part == part
        )
        calibration = replace(self.calibration, subjects=subjects, left_out=left_out)
        return replace(self, calibration=calibration, part=part)

    @cached_property
    def noise(self) -> float:
        """The share of full marks by which the same completion earned more or less another time."""
        spans = {key: self.calibration.scales[key].span for key in self.known}
        return max(
            (known.spread / spans[key] for key, known in self.known.items()),
            default=0.0,
        )

    @cached_property
    def by_prompt(self) -> Mapping[str, list[tuple[str, float]]]:
        """The text of a prompt -> its completions that were judged, with what they earned."""
        found: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for row, outcome in self.calibration.pool:
            if outcome.judged:
                found[prompt_text(row.get("prompt"))].append(
                    (str(row.get("completion")), outcome.reward)
                )
        return found

    def scale(self, subject: Subject) -> Scale:
        """What completions of a subject earn; of one that is left out, what those of another prompt do."""
        scales, others = self.calibration.scales, self.calibration.subjects
        return scales.get(subject.rollout_id) or scales[others[0].rollout_id]

    def beyond(self, subject: Subject) -> bool:
        """Whether full marks are only declared there: no right answer is known, and no rollout earns them."""
        return (
            subject.answer is None
            and self.scale(subject).right > max(self.calibration.rewards) + 1e-9
        )

    def falls(self, trial: Trial) -> bool:
        """Whether a trial found something, as far as it alone tells."""
        return (
            fall(trial, self.scale(trial.subject), graded=False, noise=self.noise)
            is not None
        )

    def has_truth(self, attempt: Attempt) -> bool:
        """Whether an attempt that changes the truth makes it one as the rollouts have."""
        truth = attempt.columns.get("ground_truth")
        return "ground_truth" not in attempt.columns or special(truth) in self.truths

    def weights(self, row: Row) -> dict[str, float]:
        """The weights of the components for a row."""
        return dict(part_for(self.reward, row).weights)

    def components(self) -> dict[str, Component]:
        """The components by name."""
        return {item.name: item for item in self.reward.all_components}

    def finding(self, code: str, family: str, *counts: int, **rest: Any) -> Finding:
        """A finding of this part; its component, the first of its `components`, is named of several."""
        if components := rest.get("components"):
            rest["component"] = components[0]
        if len(self.reward.all_components) < 2:
            rest = {
                key: value
                for key, value in rest.items()
                if key not in ("component", "components")
            }
        return finding(code, family, *counts, part=self.part, **rest)

    def example(
        self,
        subject: Subject,
        completion: str,
        reward: float,
        expected: Range,
        probe: str,
        **columns: Any,
    ) -> Example:
        """A completion of a subject as an example, with what right and wrong answers earn there."""
        scale, row = (
            self.scale(subject),
            self.variants.of(subject.columns, completion, **columns),
        )
        best = math.nan if self.beyond(subject) else scale.right
        earned = reward, expected, best, scale.wrong
        of_rollouts = subject.answer is None
        return Example(
            subject.rollout_id, self.shown(row), *earned, probe, of_rollouts=of_rollouts
        )

    def shown(self, row: Row) -> dict[str, Any]:
        """The columns of a row that the reward asks for; where it asks for the whole row, the usual ones."""
        needs = set(self.reward.needs)
        if not needs <= set(row):
            needs |= {
                "prompt",
                "completion",
                "messages",
                "ground_truth",
                "data_source",
                "extra_info",
            }
            for function in self.reward.functions:
                needs |= set(getattr(function, "needs", ()))
            needs -= {
                source for name, source in self.variants.names.items() if source != name
            }
        return {name: row[name] for name in row if name in needs}


def components_of(falls: Sequence[Fall], seen: Seen) -> list[str]:
    """The components that make the changes, all falls together: who makes most, and who a tenth of that."""
    made: dict[str, float] = defaultdict(float)
    for trial in (item.trial for item in falls):
        known, outcomes = (
            seen.known[trial.subject.rollout_id],
            [out for out in trial.outcomes if out],
        )
        outcome, before, sign = (
            min(outcomes, key=lambda out: out.reward),
            known.baseline.scores,
            1,
        )
        if trial.probe.expects == "right":
            before, sign = known.reference.scores, -1
        elif trial.probe.expects == "more":
            outcome, before = outcomes[-1], known.reference.scores
        elif trial.probe.expects == "form":
            before = {}  # all that is paid without the task
        for name, change in components_at_fault(
            seen.weights(trial.subject.columns), outcome.scores, before
        ):
            made[name] += sign * change
    least = max(made.values(), default=0.0) / 10
    at_fault = [name for name, change in made.items() if change > 0 and change >= least]
    return sorted(at_fault, key=lambda name: -made[name])


def example_of(fall: Fall, seen: Seen) -> Example:
    """A fall as an example: the completion that fell, what it earned and what it should have."""
    trial = fall.trial
    rewards = [
        math.nan if outcome is None else outcome.reward for outcome in trial.outcomes
    ]
    place = {"right": rewards.index(min(rewards)), "more": len(rewards) - 1}.get(
        trial.probe.expects, 0
    )
    expected = allowed(trial.probe, seen.scale(trial.subject))
    text, columns = trial.attempt.rows[place]
    return seen.example(
        trial.subject, text, rewards[place], expected, trial.probe.name, **columns
    )
