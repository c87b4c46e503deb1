"""review(): check a changed reward, for the CI of a training repository."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.analysis.comparison.compare import Comparison, compare
from rewardkit.analysis.comparison.version_table import version_blocks
from rewardkit.errors import InputError, preview
from rewardkit.findings import SEVERITIES, Findings, counted
from rewardkit.history.baseline import Baseline
from rewardkit.history.run import Run
from rewardkit.history.runs import find_run, runs
from rewardkit.history.runs_folder import KEPT_RUNS, LABEL
from rewardkit.html.blocks import Block
from rewardkit.html.excerpts import one_line
from rewardkit.html.has_page import HasPage
from rewardkit.html.pages import Page, point_of
from rewardkit.plain import to_plain
from rewardkit.probes.options import BUDGET, CALL_TIMEOUT
from rewardkit.probes.probe import alarms_from, probe
from rewardkit.probes.result import ProbeResult
from rewardkit.rewards.fingerprint import definition_hash
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import Case
from rewardkit.scoring.check import check
from rewardkit.scoring.check_result import CheckResult
from rewardkit.scoring.score import score

LAST = "last"
"""Stands for the newest kept run of another definition under the same name."""
MOST_SHOWN = 3
"""Alarms that are shown in full. Our choice."""


@dataclass(frozen=True, eq=False, repr=False)
class Review(HasPage):
    """The review of a reward: its cases, probes, and a comparison with the last run.

    `checked` is None without cases. `compared` is None if there is nothing to compare
    with, as `why_not_compared` explains. `fail_on` is the severity from which an alarm,
    or a new finding, is a problem.
    """

    name: str
    checked: CheckResult | None
    probed: ProbeResult
    compared: Comparison | None
    why_not_compared: str
    fail_on: str

    @property
    def alarms(self) -> Findings:
        """Return the alarms of the probes that are problems, the worst first."""
        return alarms_from(self.probed, self.fail_on)

    @property
    def problems(self) -> list[str]:
        """Return the reasons why it does not pass; empty if it does."""
        return list(self._problems())

    def _problems(self) -> Iterator[str]:
        checked, compared = self.checked, self.compared
        if checked is not None and not checked.is_met:
            failed = checked.failed + len(checked.unknown)
            yield f"{counted(failed, 'case')} missed"
        if self.probed.is_unprobed:
            yield "no prompt could be probed"
        if self.alarms:
            yield f"{counted(len(self.alarms), 'alarm')} of the probes"
        if compared is None:
            return
        pair = compared.pairs[-1]
        if pair.verdict == "worse":
            yield f"worse than {pair.names[0]}: {pair.reason}"
        new = compared.worst_new
        if new is not None and SEVERITIES.index(new) <= SEVERITIES.index(self.fail_on):
            yield f"findings that {pair.names[0]} did not have"

    @property
    def passed(self) -> bool:
        """Return whether there is no problem."""
        return not self.problems

    def record(self) -> dict[str, Any]:
        """Return it as plain data."""
        compared, checked = self.compared, self.checked
        plain: dict[str, Any] = to_plain(
            {
                "reward": self.name,
                "passed": self.passed,
                "problems": self.problems,
                "check": None if checked is None else checked.record(),
                "probe": self.probed.record(),
                "compare": None if compared is None else compared.record(),
                "why_not_compared": self.why_not_compared,
            }
        )
        return plain

    def page(self) -> Page:
        """Return the verdict, a line each on cases, probes and the run before."""
        blocks: list[Block] = []
        if self.checked is None:
            blocks.append("Cases: none were given")
        else:
            cases = f"Cases: {self.checked.passed} of {self.checked.decided} pass"
            if self.checked.undecided:
                cases += f"; {self.checked.undecided} undecided"
            blocks.append(cases)
            blocks += [one_line(miss) for miss in self.checked.misses[:MOST_SHOWN]]
            blocks += self.checked.unknown_sentences
        blocks.append(f"Probes: {self.probed.in_short}")
        blocks += [point_of(alarm) for alarm in self.alarms[:MOST_SHOWN]]
        milder = [item for item in self.probed.alarms if item not in self.alarms]
        blocks += [f"{item.severity} {item.code}: {item.statement}" for item in milder]
        blocks += self._comparison_blocks()
        verdict = "; ".join(self.problems)
        title = f"{self.name} {'passes' if self.passed else 'does not pass'}"
        return Page(title, blocks, verdict)

    def _comparison_blocks(self) -> list[Block]:
        if self.compared is None:
            return [f"Not compared: {self.why_not_compared}"]
        pair = self.compared.pairs[-1]
        lines = [f"Against {pair.names[0]}: {pair.verdict}, {pair.reason}"]
        changes = "; ".join(pair.definition_lines[:MOST_SHOWN])
        lines.append(f"What changed: {changes}")
        table, *_ = version_blocks(self.compared.names, self.compared.figures)
        return [*lines, table]


def review(
    reward: Reward,
    rollouts: Rollouts | Any,
    *,
    cases: Sequence[Case] | str | Path | None = None,
    against: Any = LAST,
    folder: str | Path = KEPT_RUNS,
    baseline: Baseline | str | Path | None = None,
    label: str | None = None,
    training: Any = None,
    fail_on: str = "high",
    timeout: float | None = CALL_TIMEOUT,
    budget: float = BUDGET,
    seed: int = 0,
) -> Review:
    """Check and probe a reward, and compare it with the run that was kept before.

    Args:
        reward: The reward as it is now.
        rollouts: Completions to probe it from, and to compare it on, as
            `load_rollouts` takes them.
        cases: Cases that it must pass, or their file; undecided ones do not count.
        against: "last" for the newest kept run of another definition under this name;
            else what `compare` takes; None to compare with nothing.
        folder: The folder of kept runs.
        baseline: Accepted findings, or a file of them.
        label: A trusted column, as in `probe` and `compare`; by default the label of
            the former run, if the rollouts have that column.
        training: Settings of the trainer, as `Training.of` takes them.
        fail_on: The severity from which a finding is a problem, "high" or "warn".
        timeout: Seconds for each call of the reward's functions.
        budget: Seconds for all probes.
        seed: The seed for everything that is drawn.

    Raises:
        InputError: What is given is no reward, cannot be read, or does not go together.
    """
    check_reward(reward, "review")
    if fail_on not in SEVERITIES[:2]:
        raise InputError(f"fail_on={preview(fail_on)} is none of 'high', 'warn'")
    if not isinstance(rollouts, Rollouts):
        rollouts = load_rollouts(rollouts)
    before, why = _find_before(reward, against, folder)
    name = str(before)
    if isinstance(before, Run):
        name = before.version.name
        if label is None and before.figures.get(LABEL) in rollouts.table:
            label = before.figures[LABEL]
    checked = None if cases is None else check(reward, cases, timeout=timeout)
    probed = probe(
        reward,
        rollouts,
        label=label,
        baseline=baseline,
        timeout=timeout,
        budget=budget,
        seed=seed,
    )
    compared = None
    if before is not None:
        compared = compare(
            before,
            score(reward, rollouts, timeout=timeout),
            names=[name, "this one"],
            cases=cases,
            label=label,
            training=training,
            seed=seed,
            timeout=timeout,
        )
    return Review(reward.name, checked, probed, compared, why, fail_on)


def _find_before(reward: Reward, against: Any, folder: str | Path) -> tuple[Any, str]:
    """Return the run to compare with, or None and why there is none."""
    if against is None:
        return None, "that was not asked for"
    if isinstance(against, str) and against != LAST:
        against = find_run(against, folder) or against
    if against == LAST:
        earlier = runs(folder).select(reward=reward.name)
        if not len(earlier):
            return None, (
                f"no run of {reward.name!r} is kept in {str(folder)!r} (rewardkit "
                "score REWARD ROLLOUTS --keep)"
            )
        definition = definition_hash(reward.record())
        others = [run for run in earlier if run.version.definition != definition]
        if not others:
            return None, (
                f"all runs of {reward.name!r} in {str(folder)!r} are of this definition"
            )
        against = others[0]
    return against, ""
