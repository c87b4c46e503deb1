"""judge_reports(): every judge of a reward against the scores that cases expect of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewardkit.html.blocks import Block
from rewardkit.html.pages import HasPage, Page
from rewardkit.judges.report import JudgeReport, judge_report, judges_of
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.cases import Case, CaseSource, cases_of

EXPECTED_COLUMN = "expected score"
"""Column with what a case expects of a judge; no parameter of a reward can be called so."""


@dataclass(frozen=True, eq=False, repr=False)
class JudgeReports(HasPage):
    """How each component that asks a model agrees with the cases.

    `by_component` has a report for each component with labelled cases; `unlabelled` are
    the components of which no case expects a score.
    """

    by_component: Mapping[str, JudgeReport]
    unlabelled: tuple[str, ...] = ()

    def page(self) -> Page:
        """Show the report of each judge, and the judges without one."""
        blocks: list[Block] = [report.page() for report in self.by_component.values()]
        for name in self.unlabelled:
            blocks.append(
                f"{name}: no case expects a score of it, "
                "so nothing says that it agrees with people."
            )
        if not blocks:
            return Page("No component of this reward asks a model.")
        return Page("Judges beside the scores that cases expect", blocks)


def judge_reports(reward: Reward, cases: CaseSource, *, seed: int = 0) -> JudgeReports:
    """Compare each component that asks a model with the scores that cases expect of it.

    Args:
        reward: A reward, with any number of judges among its components.
        cases: Cases, or the path of a case file. Of a range its middle counts; a case
            that expects no score ("unscored", "abstained" ...) is no label.
        seed: Seed of the bootstrap over prompts.

    Raises:
        CasesError: As in `load_cases`.
        RewardError: A case lacks a column that a judge reads.
    """
    case_list = cases_of(cases)
    reports = {}
    unlabelled = []
    for name in judges_of(reward):
        rows = _label_cases(case_list, name)
        if rows:
            reports[name] = judge_report(
                reward, rows, component=name, label=EXPECTED_COLUMN, seed=seed
            )
        else:
            unlabelled.append(name)
    return JudgeReports(reports, tuple(unlabelled))


def _label_cases(cases: Sequence[Case], component: str) -> list[dict[str, object]]:
    """Return the columns of the cases that expect a score of a component, and the score."""
    rows = []
    for case in cases:
        expected = case.scores.get(component)
        if expected is not None and expected.status == "scored":
            label = min(1.0, max(0.0, (expected.low + expected.high) / 2))
            rows.append({**case.columns, EXPECTED_COLUMN: label})
    return rows
