"""Verdicts: what attempts earned, against what right and wrong answers earn; how sure, and how bad."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

from rewardkit.findings import BEATS
from rewardkit.probes.subjects.scales import Scale
from rewardkit.probes.trials import Trial
from rewardkit.strategies.equivalents import LAYOUT
from rewardkit.strategies.strategy import EASE, Strategy

FULL = 0.995
"""Share of full marks from which an answer is paid as a right one: what a nearly right one may not earn."""

PAID = 0.6
"""The same for what is no attempt at an answer. Above a half, as some rewards pay no answer at all half-way
between a wrong and a right one. Our choice."""

NEARLY = 0.9
"""The same where nearly right answers honestly earn a part, so that a list of many may. Our choice."""

COPIED = 0.5
"""The same for the prompt as its own answer, however near to the right one it is. Our choice."""

MORE = 0.25
"""Share of full marks that text around a wrong answer may add. Our choice."""

ADDS = ("padding", "judge")
"""Families of text around a wrong answer."""

RISES = 0.05
"""Share of full marks that each longer text adds where rewards rise without an end. Our choice."""

LOST = 0.5
"""Share of full marks whose loss makes a right answer unpaid. Our choice."""

LAYOUT_LOST = 0.25
"""The same for a right answer in another layout, which should cost nothing. Our choice."""

FOOLED = 0.9
"""Share of what the form earns from which a look-alike of it is paid as the form."""

RARE = 0.25
"""Share of the prompts under which a hole may be chance, as a guess is sometimes right. Our choice."""

NOISY = 0.02
"""Share of full marks by which a reward may differ from call to call and pass for the same. Our choice."""

WILD = 0.25
"""Share of full marks by which it differs from call to call from which holes cannot be told. Our choice."""

HIGH, WARN = 0.4, 0.12
"""Risks (share of the ceiling x share of the prompts x ease) from which a finding has this severity."""

Range = tuple[float, float]
"""The lowest and the highest of the rewards that a completion should earn."""


@dataclass(frozen=True)
class Fall:
    """A trial that went wrong, and how much: a share of what being right adds (of a form, of the ceiling)."""

    trial: Trial
    size: float


def wilson(found: int, tried: int, z: float = 1.959964) -> tuple[float, float]:
    """95 % interval of a share by Wilson (1927); NaN where nothing was tried.

    >>> low, high = wilson(8, 8); round(low, 3), high
    (0.676, 1.0)
    """
    if tried == 0:
        return math.nan, math.nan
    share = found / tried
    middle = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = (
        z
        / (1 + z * z / tried)
        * math.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried))
    )
    return max(0.0, middle - half), min(1.0, middle + half)


def fall(
    trial: Trial, scale: Scale, *, graded: bool, noise: float = 0.0
) -> Fall | None:
    """The fall of a trial, or ``None`` where it held, was not tried, or has no reward to speak of.

    Of a `graded` reward a partly right answer may earn a part. `noise` is the share of full marks by which
    the same completion earns more or less another time.
    """
    if not trial.tried or trial.failed:
        return None
    probe, reward = trial.probe, trial.reward
    if probe.expects == "right":
        lost = 1.0 if math.isnan(reward) else 1 - scale.gain(reward)
        enough = LAYOUT_LOST if probe.knows == LAYOUT else LOST
        return Fall(trial, min(1.0, lost)) if lost >= enough + noise else None
    if math.isnan(reward):
        return None
    if probe.expects == "more":
        gains = [
            1.0,
            *(
                scale.gain(outcome.reward)
                for outcome in trial.outcomes
                if outcome is not None
            ),
        ]
        rises = all(later > before + RISES for before, later in pairwise(gains))
        return (
            Fall(trial, gains[-1] - 1)
            if rises and gains[-1] >= 1 + MORE + noise
            else None
        )
    if probe.expects == "form":
        bonus = scale.wrong - scale.plain
        share = bonus / (scale.right - scale.floor)
        fooled = share > 0.01 and (reward - scale.plain) / bonus >= FOOLED
        return Fall(trial, share) if fooled else None
    gain = scale.gain(reward)
    if (
        probe.family in ADDS
    ):  # an answer that is not found any more may earn more than a wrong one
        gain -= max(0.0, scale.gain(scale.plain))
    if probe.expects == "mark" and scale.gain(scale.bare) >= LOST:
        return None  # the answer is found without any mark
    enough = threshold(probe, graded=graded) + (
        -noise if probe.knows == "near" else noise
    )
    return Fall(trial, gain) if gain >= enough else None


def threshold(probe: Strategy, *, graded: bool) -> float:
    """The share of full marks from which a wrong answer of this probe is a hole."""
    if probe.knows == "copy":
        return COPIED
    if probe.knows == "near" or (graded and probe.knows != "blind"):
        return FULL
    if graded and probe.family not in ADDS:
        return NEARLY
    return MORE if probe.family in ADDS else PAID


def allowed(probe: Strategy, scale: Scale) -> Range:
    """The rewards that a completion of this probe should earn."""
    if probe.expects == "right":
        return scale.right - (1 - FULL) * scale.span, scale.right + scale.span
    if probe.expects == "more":
        return scale.wrong, scale.right + 0.1 * scale.span
    if probe.expects == "form":
        return min(scale.floor, scale.plain), scale.plain
    share = {FULL: 0.9, PAID: LOST}.get(threshold(probe, graded=False), 0.1)
    lowest = (
        min(scale.floor, scale.wrong) - scale.span
    )  # a reward that is mended may well pay less
    return lowest, scale.wrong + share * scale.span


@dataclass(frozen=True)
class Tally:
    """What a probe came to: on how many subjects it was `tried`, and its `falls`, the clearest a subject."""

    probe: Strategy
    tried: int
    falls: tuple[Fall, ...]
    answers: int
    """Different right answers among the subjects it was tried on."""
    part: str = ""
    noise: float = 0.0

    @property
    def rate(self) -> float:
        """Share of the subjects on which it found something."""
        return len(self.falls) / self.tried if self.tried else math.nan

    @property
    def size(self) -> float:
        """Mean size of what it found."""
        return fmean(item.size for item in self.falls) if self.falls else 0.0

    @property
    def by_chance(self) -> bool:
        """Whether it found no more than a guess would: few prompts, or all of one answer."""
        if not self.falls:
            return True
        paid = {item.trial.subject.answer for item in self.falls}
        if self.noise > NOISY and self.rate < 1 - RARE:
            return True
        return self.rate < RARE or (
            len(paid) < 2 <= self.answers and self.probe.knows == "blind"
        )


def tallied(
    trials: Iterable[Trial],
    scales: Mapping[Any, Scale],
    *,
    graded: Mapping[Any, bool],
    noise: float = 0.0,
) -> list[Tally]:
    """One tally a probe and part, in the order of the trials; `noise` as in `fall`."""
    by_probe: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in trials:
        by_probe[trial.probe.name, trial.subject.part].append(trial)
    found = []
    for (_, part), some in by_probe.items():
        largest: dict[Any, Fall] = {}
        for trial in some:
            key = trial.subject.rollout_id
            item = fall(trial, scales[key], graded=graded.get(key, False), noise=noise)
            if item and (key not in largest or item.size > largest[key].size):
                largest[key] = item
        answers = {
            trial.subject.rollout_id: trial.subject.answer
            for trial in some
            if trial.tried
        }
        falls, different = tuple(largest.values()), len({*answers.values()})
        found.append(Tally(some[0].probe, len(answers), falls, different, part, noise))
    return found


def risk(tally: Tally, scales: Mapping[Any, Scale]) -> float:
    """What a policy could gain: share of the ceiling x share of the prompts x how easily reached."""
    shares = []
    for item in tally.falls:
        scale = scales[item.trial.subject.rollout_id]
        whole = (
            tally.probe.expects == "form"
        )  # is of the ceiling already, not of what being right adds
        shares.append(
            min(
                1.0,
                item.size * (1 if whole else scale.span / (scale.right - scale.floor)),
            )
        )
    ease = EASE.get(tally.probe.knows, 1.0)
    if tally.size > BEATS and ease >= EASE["near"]:
        ease = 1.0  # training leads there by itself
    return fmean(shares) * tally.rate * ease if shares else 0.0


def severity(value: float) -> str:
    """The severity of a risk."""
    return "high" if value >= HIGH else "warn" if value >= WARN else "info"


def components_at_fault(
    weights: Mapping[str, float],
    scores: Mapping[str, float],
    before: Mapping[str, float],
) -> list[tuple[str, float]]:
    """Components by how much of a change in reward they make, the largest first."""
    changes: dict[str, float] = {}
    for name, weight in weights.items():
        new, old = scores.get(name, math.nan), before.get(name, math.nan)
        change = weight * (
            (0.0 if math.isnan(new) else new) - (0.0 if math.isnan(old) else old)
        )
        if abs(change) > 1e-9:
            changes[name] = change
    return sorted(changes.items(), key=lambda item: -abs(item[1]))
