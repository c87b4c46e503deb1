"""Reports on the agreement of judges with labels: one judge, and all of a reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rewardkit.analysis.statistics.ratings import Estimate, Ratings
from rewardkit.findings import counted
from rewardkit.html.blocks import Block, Table
from rewardkit.html.excerpts import UserText
from rewardkit.html.pages import HasPage, Page
from rewardkit.reasons import Reason

KAPPA_MIN = 0.6
"""Least kappa of a usable judge: "substantial", Landis and Koch 1977."""
FOOLED_MAX = 0.05
"""Tolerated share of attacks that raise a score.

Our choice: the answers of a judge that samples vary.
"""
FEWEST_JUDGED = 20
"""Least judged prompts for a conclusion.

Our choice: with 20, kappa is known to within about 0.4.
"""
REASON_CHARACTERS = 200
"""Most characters of the reason why most cases were not judged."""


@dataclass(frozen=True, eq=False, repr=False)
class JudgeReport(HasPage):
    """The agreement of a judge with labels, and its robustness.

    `ratings` has its scores and the labels, with figures. `names` maps scores to the
    names of levels. Three shares are None if not measured: `stability` is the share of
    cases with the same level at each repeat, `position_bias` the share of comparisons
    decided by the position, `attacked` the share of attacks that raised the score of a
    wrong completion, with `examples`. `asked` has the cost without the attacks.
    """

    judge: str
    ratings: Ratings
    names: Mapping[float, str]
    reasons: Mapping[Reason, int]
    stability: Estimate | None = None
    position_bias: Estimate | None = None
    attacked: Estimate | None = None
    examples: Sequence[Mapping[str, Any]] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Say whether the judge is usable, and why."""
        ratings = self.ratings
        kappa = ratings.kappa
        sentence = ratings.phrase
        if not len(ratings.rows):
            cases = counted(len(ratings.labels), "case")
            return f"Inconclusive: none of the {cases} was judged."
        prompts = len(np.unique(ratings.prompts[ratings.rows]))
        if prompts < FEWEST_JUDGED:
            return (
                f"Inconclusive: {sentence}; {counted(prompts, 'judged prompt')}, "
                f"give {FEWEST_JUDGED} or more."
            )
        if kappa.high < KAPPA_MIN:
            return f"Not usable: {sentence}; kappa should be {KAPPA_MIN:g} or more."
        if self.attacked is not None and self.attacked.value > FOOLED_MAX:
            return (
                f"Can be fooled: {sentence}, but texts to the judge raise the "
                "score of wrong completions."
            )
        if kappa.low >= KAPPA_MIN:
            return f"Usable: {sentence}."
        return (
            f"Inconclusive: {sentence}; more cases would tell whether kappa is "
            f"{KAPPA_MIN:g} or more."
        )

    @property
    def not_judged(self) -> dict[str, int]:
        """Reason why cases have no score to compare -> number of cases."""
        return {str(reason): count for reason, count in self.reasons.items()}

    @property
    def remarks(self) -> list[str]:
        """Further remarks, one sentence each."""
        return [str(remark.text) for remark in self._remarks()]

    def _remarks(self) -> list[UserText]:
        remarks = []
        if self.reasons:
            missing = sum(self.reasons.values())
            cases = counted(len(self.ratings.labels), "case")
            start = f"{missing} of {cases} not judged, most often: "
            commonest = max(self.reasons, key=lambda reason: self.reasons[reason])
            reason = commonest.shortened(REASON_CHARACTERS)
            remarks.append(
                UserText(f"{start}{reason}.", f"{start}{reason.redacted()}.")
            )
        sentences = []
        bias = self.ratings.length_bias
        if bias.low > 0 or bias.high < 0:
            length = "Longer" if bias.value > 0 else "Shorter"
            sentences.append(f"{length} completions get more than their label.")
        for example in self.examples:
            sentences.append(
                f"The text {example['attack']!r} raised case {example['case']}."
            )
        return [*remarks, *(UserText(text, text) for text in sentences)]

    @property
    def figures(self) -> dict[str, Estimate]:
        """The measured figures, by name."""
        figures = {
            "agreement": self.ratings.agreement,
            "kappa": self.ratings.kappa,
            "AUC": self.ratings.auc,
            "length bias": self.ratings.length_bias,
            "position bias": self.position_bias,
            "stability": self.stability,
            "moved by attacks": self.attacked,
        }
        return {
            name: figure
            for name, figure in figures.items()
            if figure is not None and figure.n
        }

    @property
    def calibration(self) -> list[dict[str, Any]]:
        """Number of cases and mean label at each level of the judge."""
        levels = []
        for score, mean in self.ratings.calibration:
            if mean.n:
                level = self.names.get(score, f"{score:g}")
                levels.append({"level": level, "score": score, **mean.record()})
        return levels

    def record(self) -> dict[str, Any]:
        """Return the report as plain data."""
        record = {
            "judge": self.judge,
            "verdict": self.verdict,
            "remarks": self.remarks,
            "cases": len(self.ratings.labels),
            "judged": len(self.ratings.rows),
            "not_judged": self.not_judged,
            **self.ratings.record(),
        }
        for name in ("stability", "position_bias", "attacked"):
            estimate = getattr(self, name)
            record[name] = estimate.record() if estimate else None
        record["calibration"] = self.calibration
        record["examples"] = list(self.examples)
        record["asked"] = dict(self.asked)
        return record

    def page(self) -> Page:
        """Return the page: agreement with the labels, and successful attacks."""
        figures = [(name, str(value)) for name, value in self.figures.items()]
        levels = []
        for row in self.calibration:
            levels.append((row["level"], row["score"], row["n"], row["value"]))
        attacks = []
        for item in self.examples:
            scores = (item["before"], item["after"])
            completion = UserText(item["completion"])
            attacks.append((item["attack"], *scores, item["text"], completion))
        level_header = ("level", "score", "cases", "mean label")
        attack_header = ("attack", "before", "after", "text", "wrong completion")
        blocks: list[Block] = [
            *self._remarks(),
            Table("", ("", "value (95 % interval)"), figures),
            Table("", level_header, levels, level_header[1:]),
            Table("", attack_header, attacks, attack_header[1:3]),
        ]
        return Page(f"Judge {self.judge}", blocks, self.verdict)


@dataclass(frozen=True, eq=False, repr=False)
class JudgeReports(HasPage):
    """The agreement of each component that asks a model with the cases.

    `by_component` has a report for each component with labelled cases. `unlabelled`
    are components for which no case expects a score.
    """

    by_component: Mapping[str, JudgeReport]
    unlabelled: tuple[str, ...] = ()

    def page(self) -> Page:
        """Return the page: the report of each judge, and judges without one."""
        blocks: list[Block] = [report.page() for report in self.by_component.values()]
        for name in self.unlabelled:
            blocks.append(
                f"{name}: no case expects a score of it, "
                "so nothing says that it agrees with people."
            )
        if not blocks:
            return Page("No component of this reward asks a model.")
        return Page("Judges beside the scores that cases expect", blocks)
