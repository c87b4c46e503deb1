"""probe(): what bad answers would earn of a reward, and what right ones would lose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rewardkit.errors import RolloutsError, check_label, check_seed
from rewardkit.findings import Finding, percent
from rewardkit.judges.report import warn_of_calls
from rewardkit.probes.arguments import (
    BUDGET,
    LEAKAGE,
    SEARCH_CALLS,
    TIMEOUT,
    check_arguments,
)
from rewardkit.probes.baseline import Baseline, load_baseline
from rewardkit.probes.contract.contract import check_contract
from rewardkit.probes.contract.hang import find_hang, try_to_hang
from rewardkit.probes.families import choose_probes
from rewardkit.probes.result import Inconclusive, ProbeResult
from rewardkit.probes.results.causes import find_causes
from rewardkit.probes.results.evidence import Observed, merge_parts, special_truth
from rewardkit.probes.results.failures import (
    ALWAYS_FAILING,
    find_failures,
    find_in_parts,
    find_overall,
)
from rewardkit.probes.results.floor import find_against_label
from rewardkit.probes.runner import RowOutcome, Tries, Variants
from rewardkit.probes.search.exploits import report_exploit
from rewardkit.probes.search.search import find_why_unsearchable, search_exploits
from rewardkit.probes.subjects.calibration import calibrate
from rewardkit.probes.subjects.cases import with_cases
from rewardkit.probes.subjects.scales import Calibration
from rewardkit.probes.trials import Trial, measure_subjects, run_trials
from rewardkit.probes.verdicts import WILD, tally_trials
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.table import Rollouts, load_rollouts
from rewardkit.scoring.cases import CaseSource, cases_of
from rewardkit.scoring.deadlines import TimeLimit, cannot_limit, time_limit
from rewardkit.scoring.printed import caught_prints
from rewardkit.strategies.strategy import Strategy
from rewardkit.strategies.subject import Row

LATE_CALLS = 2
"""Late calls of one pass, after which its other calls are not made."""

MANY_FAILED = 0.5
"""Share of failed attempts from which little is known. Our choice."""

CALIBRATED, TRIED, SEARCHED, HUNG = 0.15, 0.6, 0.85, 0.9
"""Shares of the work that are done after its steps, about, for a bar. Our choice."""


@contextmanager
def _refuse_deep_nesting() -> Iterator[None]:
    """Raise RolloutsError where a value is nested too deeply to be copied."""
    try:
        yield
    except RecursionError:
        raise RolloutsError(
            "a value of the rollouts is nested deeper than Python can copy; make the "
            "lists and objects in their columns flatter, or write them as text"
        ) from None


@_refuse_deep_nesting()
@caught_prints()  # thousands of attempts print; nobody is to read it
def probe(
    reward: Reward,
    rollouts: Rollouts | str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    cases: CaseSource | None = None,
    label: str | None = None,
    only: Sequence[str] | str | None = None,
    timeout: float | None = TIMEOUT,
    budget: float = BUDGET,
    leakage: float = LEAKAGE,
    search: int = SEARCH_CALLS,
    expects_partial: bool = False,
    seed: int = 0,
    baseline: Baseline | str | Path | None = None,
    progress: Callable[[float], bool] | None = None,
) -> ProbeResult:
    """Try what bad answers would earn of a reward, and what right ones would lose.

    Completions with a known verdict are written for the user's own prompts, scored, and
    compared with what a right and a plainly wrong answer of the same form earn.

    Args:
        reward: The reward. A judge among its components is asked for each completion,
            up to its budget; without a budget a warning is logged.
        rollouts: Rollouts that show how answers are written.
        cases: More completions to learn from.
        label: A column that says which rollouts are right.
        only: Families or single probes to try; all by default.
        timeout: Seconds that one call may take; None for no limit.
        budget: Seconds for all of it. What was not tried is in `.untried`.
        leakage: Share of the ceiling that a wrong answer in good form may earn.
        search: Completions to try beyond the fixed list; what pays is made as small as
            it goes. 0 for none.
        expects_partial: Whether nearly right answers may earn a part.
        seed: Draws prompts, rows and edits.
        baseline: Accepted findings, or a file of them; these are no alarms.
        progress: Called with the share of the work that is done, many times. Where it
            returns False the rest is untried.

    Raises:
        RewardError: The reward asks for a column that is not there, or an argument
            cannot be used.
        RolloutsError: The rollouts cannot be read.
        InputError: `only` has a name that is none, or the baseline is none.
    """
    check_reward(reward, "probe")
    warn_of_calls(reward)
    check_arguments(
        timeout=timeout,
        budget=budget,
        leakage=leakage,
        search=search,
        progress=progress,
    )
    check_seed(seed)
    check_label(label)
    if not isinstance(rollouts, Rollouts):
        rollouts = load_rollouts(rollouts)
    if baseline is not None and not isinstance(baseline, Baseline):
        baseline = load_baseline(baseline)  # a broken file should not cost a minute
    if cases is not None:
        rollouts = with_cases(rollouts, cases_of(cases))
    probes, families = choose_probes(only)
    reward.check_columns(list(rollouts.as_logged()))
    rollouts.check_columns([label] if label is not None else [])
    unsendable = cannot_limit(reward.functions)

    with time_limit(None if unsendable else timeout, patience=LATE_CALLS) as limit:
        variants = Variants(rollouts.mapping)
        tries = Tries(reward, limit, budget, variants, progress=progress)
        calibration = calibrate(tries, rollouts, label=label, seed=seed)
        tries.reach(CALIBRATED)
        steps: list[Step] = []
        trials: list[Trial] = []
        overall = find_overall(calibration, tries)
        if overall is not None:  # it says all there is to say of what is paid
            calibration = replace(calibration, why={})
            steps.append(Step([overall]))
        else:
            observed = observe(tries, calibration, rollouts)
            calibration = observed.calibration
            trials = try_strategies(tries, observed, probes)
            tries.reach(TRIED)
            found = judge_trials(
                trials, observed, leakage=leakage, is_graded=expects_partial
            )
            steps.append(found)
            if search and "search" in families:
                steps.append(search_beyond(tries, observed, found, search, seed))
            tries.reach(SEARCHED)
            steps.append(Step([*find_in_parts(calibration, tries.calls)]))
            if "hang" in families:
                unlimited = unsendable or find_why_unlimited(reward, timeout)
                steps.append(try_hanging(tries, observed, probes, trials, unlimited))
        tries.reach(HUNG)
        if "contract" in families and not is_always_failing(overall):
            steps.append(
                try_contract(
                    tries,
                    calibration,
                    unsendable=unsendable,
                    timeout=timeout,
                    seed=seed,
                )
            )
        if overall is None:
            steps.append(list_failures(trials, steps, observed))
        tries.reach(1.0)

    result = ProbeResult(
        reward,
        collect_findings(steps, calibration, families),
        collect_notes(steps, calibration),
        calibration,
        tuple(item.name for item in probes),
        families,
        name_tried_probes(
            [*trials, *(trial for step in steps for trial in step.hangs)]
        ),
        tries.calls,
        count_untried(trials, probes, tries),
    )
    return result if baseline is None else result.under_baseline(baseline)


@dataclass(frozen=True)
class Step:
    """What one step of probing came to.

    `hangs` are the trials of what may not come back. `failed` are rows beside those of
    trials and the log that failed, of so many `calls`.
    """

    findings: Sequence[Finding] = ()
    notes: Sequence[Inconclusive] = ()
    hangs: Sequence[Trial] = ()
    failed: Sequence[tuple[Row, RowOutcome]] = ()
    calls: int = 0


def observe(tries: Tries, calibration: Calibration, rollouts: Rollouts) -> Observed:
    """Measure the subjects, and leave out those that could not be tried."""
    measured = measure_subjects(tries, calibration.subjects)
    subjects = [one for one in calibration.subjects if one.rollout_id in measured]
    calibration = replace(calibration, subjects=tuple(subjects))
    truths = rollouts.columns().get("ground_truth", [])
    return Observed(
        tries.reward,
        calibration,
        measured,
        tries.variants,
        frozenset(map(special_truth, truths)),
    )


def try_strategies(
    tries: Tries, observed: Observed, probes: Sequence[Strategy]
) -> list[Trial]:
    """Try all probes but those of what may never end."""
    strategies = [probe for probe in probes if probe.expects != "back"]
    return run_trials(tries, observed.calibration.subjects, strategies, observed.falls)


def judge_trials(
    trials: Sequence[Trial], observed: Observed, *, leakage: float, is_graded: bool
) -> Step:
    """Find what wrong answers earn and right ones lose."""
    findings = list(find_against_label(observed))
    if observed.noise > WILD:
        why = (
            "the same completion scored twice differs by up to "
            f"{percent(observed.noise)} of what being right adds, so nothing can be "
            "told of what is paid; take chance out of the reward, or average it"
        )
        return Step(findings, [Inconclusive("probes", why)])
    graded = find_graded(trials, observed.calibration, always=is_graded)
    tallies = tally_trials(
        trials, observed.calibration.scales, graded=graded, noise=observed.noise
    )
    findings += find_causes(trials, tallies, observed, leakage=leakage)
    return Step(findings)


def find_graded(
    trials: Sequence[Trial], calibration: Calibration, *, always: bool
) -> dict[Any, bool]:
    """Say of each subject whether nearly right answers earn a part.

    They do everywhere in a part of the log in which they do anywhere.
    """
    parts: set[str] = set()
    for trial in trials:
        is_near = trial.probe.knows in ("near", "guess")
        if is_near and trial.tried and not trial.failed:
            scale = calibration.scales[trial.subject.rollout_id]
            if 0.05 < scale.gain(trial.reward) < 0.95:
                parts.add(trial.subject.part)
    return {
        subject.rollout_id: always or subject.part in parts
        for subject in calibration.subjects
    }


def search_beyond(
    tries: Tries, observed: Observed, judged: Step, calls: int, seed: int
) -> Step:
    """Search for exploits that no finding explains."""
    if observed.noise > WILD or not observed.calibration.subjects:
        return Step()
    why = find_why_unsearchable(observed.calibration)
    if tries.is_over:
        why = tries.over
    if why:
        return Step(notes=[Inconclusive("search", why)])
    calls_before, failed_before = tries.calls, len(tries.failed)
    exploits = search_exploits(
        tries, observed.calibration, calls=calls, seed=seed, skip=judged.findings
    )
    return Step(
        [report_exploit(exploit, observed) for exploit in exploits],
        failed=tries.failed[failed_before:],
        calls=tries.calls - calls_before,
    )


def find_why_unlimited(reward: Reward, timeout: float | None) -> str:
    """Say why calls of users' code have no time limit; "" where they have one."""
    is_users = any(map(TimeLimit.needed, filter(callable, reward.functions)))
    if timeout is None and is_users:
        return "there is no timeout; give one in seconds"
    return ""


def try_hanging(
    tries: Tries,
    observed: Observed,
    probes: Sequence[Strategy],
    trials: Sequence[Trial],
    unlimited: str,
) -> Step:
    """Find a call that does not come back, unless one did not already."""
    if unlimited:
        why = f"no call can be ended, as {unlimited}"
        return Step(notes=[Inconclusive("hang", why)])
    if any(outcome.late for _, outcome in observed.calibration.pool):
        return Step()
    if any(trial.late for trial in trials):
        return Step()
    hanging = [probe for probe in probes if probe.expects == "back"]
    hangs = try_to_hang(tries, observed.calibration, hanging)
    findings = find_hang(hangs, observed, max(1.0, tries.left))
    return Step(list(findings), hangs=hangs)


def is_always_failing(overall: Finding | None) -> bool:
    """Whether the reward judges no row, so that no contract can be tried."""
    return overall is not None and overall.code in ALWAYS_FAILING


def try_contract(tries: Tries, calibration: Calibration, **options: Any) -> Step:
    """Find rules of the contract that are broken, and rows that ended a process."""
    calls_before, failed_before = tries.calls, len(tries.failed)
    findings = check_contract(tries.reward, calibration, tries, **options)
    # truths are changed there, too, so that calls may raise for a good reason
    failed = [pair for pair in tries.failed[failed_before:] if pair[1].gone]
    return Step(findings, failed=failed, calls=tries.calls - calls_before)


def list_failures(
    trials: Sequence[Trial], steps: Sequence[Step], observed: Observed
) -> Step:
    """Find completions that failed; note where most did."""
    failed = [pair for step in steps for pair in step.failed]
    calls = sum(step.calls for step in steps)
    findings = list(find_failures(trials, failed, calls, observed))
    tried = [trial for trial in trials if trial.tried]
    count = sum(trial.failed for trial in tried)
    if count <= MANY_FAILED * len(tried):
        return Step(findings)
    why = (
        f"{count} of {len(tried)} attempts failed, so what they would earn is not known"
    )
    return Step(findings, [Inconclusive("probes", why)])


def collect_findings(
    steps: Sequence[Step], calibration: Calibration, families: frozenset[str]
) -> tuple[Finding, ...]:
    """Collect the findings of all steps, one a code and component, the worst first."""
    findings = [finding for step in steps for finding in step.findings]
    if any(finding.code == "depends_on_siblings" for finding in findings):
        # alone, all rows earn the same
        findings = [finding for finding in findings if finding.code != "constant"]
    chosen = [finding for finding in findings if finding.family in families]
    merged = merge_parts(chosen, list(calibration.modes))
    return tuple(sorted(merged, key=lambda finding: finding.order))


def collect_notes(
    steps: Sequence[Step], calibration: Calibration
) -> tuple[Inconclusive, ...]:
    """Collect what could not be decided."""
    codes = {finding.code for step in steps for finding in step.findings}
    notes: list[Inconclusive] = []
    if "ignores_completion" not in codes:  # else that is why no right answer earns more
        notes += [Inconclusive(part, why) for part, why in calibration.why.items()]
    for step in steps:
        notes += step.notes
    return tuple(notes)


def name_tried_probes(trials: Iterable[Trial]) -> frozenset[str]:
    """Name the probes of which something was tried."""
    return frozenset(
        trial.probe.name
        for trial in trials
        if any(outcome is not None for outcome in trial.outcomes)
    )


def count_untried(
    trials: Sequence[Trial], probes: Iterable[Strategy], tries: Tries
) -> dict[str, int]:
    """Count the attempts of each probe that the budget did not reach.

    All probes have 0 where none was made any more.
    """
    if not trials and tries.is_over and not tries.hopeless:
        return {probe.name: 0 for probe in probes}
    return dict(Counter(trial.probe.name for trial in trials if not trial.tried))
