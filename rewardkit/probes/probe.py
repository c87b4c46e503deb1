"""probe() and assert_holds(): find paid wrong answers and lost right ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from rewardkit.answers.truth_column import name_truth
from rewardkit.errors import (
    InputError,
    RewardError,
    RolloutsError,
    check_label,
    check_whole_number,
)
from rewardkit.findings import SEVERITIES, Finding, Rule, run_rules
from rewardkit.history.baseline import Baseline, load_baseline
from rewardkit.html.excerpts import one_line
from rewardkit.html.pages import Page
from rewardkit.judges.report import warn_of_calls
from rewardkit.probes.code.constants import phrases_in
from rewardkit.probes.code.verdicts import has_judge, own_verdicts
from rewardkit.probes.contract import CONTRACT_RULES, check_contract
from rewardkit.probes.contract.hang import hangs, try_to_hang
from rewardkit.probes.falls import tally_trials
from rewardkit.probes.findings import (
    ALWAYS_FAILING,
    OVERALL_RULES,
    PART_RULES,
    WHOLE_RULES,
    failures,
    find_paid,
    idle_components,
    parts_without_truth,
)
from rewardkit.probes.findings.evidence import Observed, special_truth
from rewardkit.probes.findings.faults import sort_findings
from rewardkit.probes.findings.log_columns import contradicts_log
from rewardkit.probes.findings.logged import LOG_RULES
from rewardkit.probes.inconclusive import (
    Inconclusive,
    explain_failed,
    explain_noise,
    explain_parts,
    explain_penalty,
    explain_unchecked,
    explain_unlimited,
    explain_unread,
    explain_unsearched,
    explain_unwritable,
)
from rewardkit.probes.options import (
    BUDGET,
    CALL_TIMEOUT,
    LEAKAGE,
    SEARCH_CALLS,
    check_arguments,
    choose_probes,
)
from rewardkit.probes.points import probe_point
from rewardkit.probes.proof import find_doubts
from rewardkit.probes.ratings import rating_misread
from rewardkit.probes.result import ProbeResult, count_alarms
from rewardkit.probes.runner import Tries, measure_subjects
from rewardkit.probes.search import exploits
from rewardkit.probes.subjects import calibrate
from rewardkit.probes.subjects.log import with_cases
from rewardkit.probes.trials import ProbeTrial, run_trials
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import CaseSource, cases_of
from rewardkit.scoring.deadlines import cannot_limit, time_limit
from rewardkit.scoring.prints import caught_prints
from rewardkit.scoring.ray_calls import workers_on
from rewardkit.scoring.ray_engine import Ray
from rewardkit.strategies.added_text import (
    JUDGE_FAMILY,
    SOUGHT_TEXT,
    fake_verdicts,
    sought_text,
)
from rewardkit.strategies.programs import kills_process, print_verdicts
from rewardkit.strategies.strategy import Strategy

RULES: tuple[Rule, ...] = (
    *OVERALL_RULES,
    *LOG_RULES,
    *PART_RULES,
    *WHOLE_RULES,
    exploits,
    rating_misread,
    hangs,
    *CONTRACT_RULES,
    contradicts_log,
)
"""All rules; `probe` runs each at its step."""

LATE_CALLS = 2
"""Late calls of one pass after which its other calls are not made."""

CALIBRATED, TRIED, SEARCHED, CHECKED = 0.15, 0.6, 0.85, 0.9
"""Approximate shares of the work that are done after the steps. Our choice."""


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
    primary: str | None = None,
    only: Sequence[str] | str | None = None,
    timeout: float | None = CALL_TIMEOUT,
    budget: float = BUDGET,
    leakage: float = LEAKAGE,
    search: int = SEARCH_CALLS,
    expects_partial: bool = False,
    seed: int = 0,
    baseline: Baseline | str | Path | None = None,
    engine: Ray | None = None,
    progress: Callable[[float], bool] | None = None,
) -> ProbeResult:
    """Try what bad answers would earn of a reward, and what right ones would lose.

    Completions with a known verdict are written for the user's own prompts, scored, and
    compared with a right and a plainly wrong answer of the same form.

    Args:
        reward: The reward. A judge among its components is asked for each completion,
            up to its budget; without a budget a warning is logged.
        rollouts: Rollouts that show how answers are written.
        cases: More completions to learn from.
        label: A column that says which rollouts are right.
        primary: The component that is the task; by default what reads the truth.
        only: Families or single probes to try; all by default.
        timeout: Seconds that one call may take; None for no limit.
        budget: Seconds for all of it. What was not tried is in `.untried`.
        leakage: Share of the ceiling that a wrong answer in good form may earn.
        search: Completions to try beyond the fixed list; what pays is made as small as
            it goes. 0 for none.
        expects_partial: Whether nearly right answers may earn a part.
        seed: Draws prompts, rows and edits.
        baseline: Accepted findings, or a file of them; these are no alarms.
        engine: `rk.Ray` makes the calls of users' functions on the nodes of a cluster,
            with the same findings; it needs a `timeout`. Judges are asked, and the
            contract is checked, from this process.
        progress: Called with the share of the work that is done, many times. Where it
            returns False the rest is untried.

    Raises:
        RewardError: The reward asks for a column that is not there, or an argument
            cannot be used; with an engine, the reward cannot be sent to a node.
        RolloutsError: The rollouts cannot be read.
        InputError: `only` has a name that is none, or the baseline is none; no such
            cluster, or a node of it lacks the versions of this process.
        ModuleNotFoundError: Ray is not installed.
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
    check_whole_number("seed", seed, 0)
    check_label(label)
    if engine is not None and timeout is None:
        raise RewardError(
            "engine= makes calls where they can be ended; give timeout=, the seconds "
            "of one call"
        )
    if not isinstance(rollouts, Rollouts):
        rollouts = load_rollouts(rollouts)
    if baseline is not None:
        baseline = load_baseline(baseline)  # a broken file should not cost a minute
    if cases is not None:
        rollouts = with_cases(rollouts, cases_of(cases))
    rollouts = name_truth(rollouts, {*reward.needs} - {label})
    if primary is not None:
        reward = reward.with_task(primary)
    else:
        truth = rollouts.mapping.get("ground_truth", "ground_truth")
        reward = reward.with_truth(truth)
    probes, families = choose_probes(only)
    reward.check_columns(list(rollouts.as_logged()))
    label = rollouts.label_column(label)
    rollouts.check_columns([label] if label is not None else [])
    plan = ProbePlan(
        probes,
        families,
        timeout=timeout,
        unsendable=cannot_limit(reward.functions),
        leakage=leakage,
        search=search,
        is_graded=expects_partial,
        seed=seed,
    )
    seconds = None if plan.unsendable else timeout
    with (
        workers_on(engine, reward) as workers,
        time_limit(seconds, patience=LATE_CALLS, workers=workers) as limit,
    ):
        tries = Tries(reward, limit, budget, rollouts.mapping, progress=progress)
        observed = observe(tries, rollouts, label, seed)
        result = _run_steps(observed, plan)
    return result if baseline is None else result.under_baseline(baseline)


@dataclass(frozen=True)
class ProbePlan:
    """The plan of one probing.

    `unsendable` says why calls cannot be made in another process, None if they can. The
    other fields are arguments of `probe`.
    """

    probes: tuple[Strategy, ...]
    families: frozenset[str]
    timeout: float | None
    unsendable: str | None
    leakage: float
    search: int
    is_graded: bool
    seed: int


def _run_steps(observed: Observed, plan: ProbePlan) -> ProbeResult:
    """Run all rules, each at its step."""
    tries = observed.tries
    tries.reach(CALIBRATED)
    findings = run_rules(OVERALL_RULES, observed)
    can_be_tried = not findings
    penalty = list(explain_penalty(observed))
    notes = [*explain_unwritable(observed), *explain_unread(observed), *penalty]
    if can_be_tried and not penalty:
        observed, findings, open_questions = _probe_answers(observed, plan)
        notes += open_questions
    is_judged = can_be_tried or findings[0].code not in ALWAYS_FAILING
    if "contract" in plan.families and is_judged:
        notes += explain_unchecked(tries)
        before = tries.calls, len(tries.failed)
        findings += check_contract(
            observed,
            unsendable=plan.unsendable,
            timeout=plan.timeout,
            seed=plan.seed,
        )
        # the contract changes truths as well, so calls may raise for a good reason
        observed = observed.since(*before, only_gone=True)
    tries.reach(CHECKED)
    hanging = []
    if can_be_tried and "hang" in plan.families:  # last, as it may take all the time
        unlimited = list(explain_unlimited(tries, plan.timeout, plan.unsendable))
        notes += unlimited
        if not (unlimited or tries.unwritable or has_late_calls(observed)):
            hanging = try_to_hang(observed, plan.probes)
            findings += hangs.find(replace(observed, trials=hanging), findings)
    if can_be_tried:
        findings += failures.find(observed, findings)
        notes = [*explain_parts(observed, findings), *notes]
        notes += explain_failed(observed)
    findings += contradicts_log.find(observed, findings)
    tries.reach(1.0)
    trials = [*observed.trials, *hanging]
    tried_names = {trial.probe.name for trial in trials if trial.is_begun}
    parts = list(observed.calibration.modes)
    return ProbeResult(
        observed.reward,
        tuple(sort_findings(findings, parts, plan.families)),
        tuple(notes),
        observed.calibration,
        tuple(probe.name for probe in plan.probes),
        plan.families,
        tuple(probe.name for probe in plan.probes if probe.name in tried_names),
        tries.calls,
        count_untried(observed, plan.probes),
        observed.logged_wrong,
    )


def _probe_answers(
    observed: Observed, plan: ProbePlan
) -> tuple[Observed, list[Finding], list[Inconclusive]]:
    """Try wrong and right answers, and search for exploits.

    Returns:
        The observations, the findings, and what stays undecided.
    """
    tries = observed.tries
    observed = try_strategies(observed, plan.probes, is_graded=plan.is_graded)
    tries.reach(TRIED)
    findings = find_paid(observed, plan.leakage)
    notes = list(explain_noise(observed))
    if plan.search and "search" in plan.families:
        notes += explain_unsearched(observed)
        before = tries.calls, len(tries.failed)
        findings += exploits.find(observed, findings, calls=plan.search, seed=plan.seed)
        observed = observed.since(*before)
    tries.reach(SEARCHED)
    if "judge" in plan.families:
        findings += rating_misread.find(observed, findings)
    findings += parts_without_truth.find(observed, findings)
    findings += idle_components.find(observed, findings)
    return observed, findings, notes


def observe(tries: Tries, rollouts: Rollouts, label: str | None, seed: int) -> Observed:
    """Choose the prompts that can be probed, and measure their answers."""
    calibration = calibrate(tries, rollouts, label=label, seed=seed)
    truths = rollouts.columns().get("ground_truth", [])
    special = frozenset(map(special_truth, truths))
    return Observed(tries, calibration, special, logged_scores=rollouts.logged)


def try_strategies(
    observed: Observed, probes: Sequence[Strategy], *, is_graded: bool
) -> Observed:
    """Measure the subjects, and try all probes on them except those that may hang.

    Subjects that could not be measured are left out.
    """
    measured = measure_subjects(observed.tries, observed.subjects)
    subjects = [item for item in observed.subjects if item.rollout_id in measured]
    calibration = replace(observed.calibration, subjects=tuple(subjects))
    observed = replace(observed, calibration=calibration, measured=measured)
    functions = observed.reward.functions
    verdicts = own_verdicts(functions, calibration.judged)
    of_code = [print_verdicts(*phrases_in(functions)), sought_text(*verdicts)]
    left_out = JUDGE_FAMILY
    if observed.tries.asks_model or has_judge(observed.reward, calibration.judged):
        of_code += fake_verdicts(*verdicts)
        left_out = SOUGHT_TEXT.name
    own_probes = {probe.name: probe for probe in of_code}
    strategies = []
    for probe in probes:
        if probe.expects == "back" or left_out in (probe.family, probe.name):
            continue
        if probe is kills_process and not observed.tries.limit:
            continue  # without a limit it would end this process
        if observed.tries.unwritable and probe.expects != "wrong":
            continue  # a right answer is unpaid with the worst values of a column
        strategies.append(own_probes.get(probe.name, probe))
    trials = run_trials(observed.tries, subjects, strategies, observed.falls)
    graded = find_graded_parts(trials, observed)
    if is_graded:
        graded = {*observed.calibration.modes}
    tallies = tally_trials(
        trials,
        observed.calibration.scales,
        graded=graded,
        doubts=find_doubts(trials, observed),
        noise=observed.noise,
    )
    return replace(observed, trials=trials, tallies=tallies)


def find_graded_parts(trials: Iterable[ProbeTrial], observed: Observed) -> set[str]:
    """Name the parts of the log in which a nearly right answer earns partial credit."""
    parts = set()
    for trial in trials:
        if trial.probe.knows in ("near", "guess"):
            gain = observed.scale(trial.subject).gain(trial.reward)
            if 0.05 < gain < 0.95:
                parts.add(trial.subject.part)
    return parts


def has_late_calls(observed: Observed) -> bool:
    """Return whether a call on the log or of a strategy did not come back."""
    if any(outcome.is_late for _, outcome in observed.pool):
        return True
    return any(trial.is_late for trial in observed.trials)


def count_untried(observed: Observed, probes: Iterable[Strategy]) -> dict[str, int]:
    """Count the attempts of each probe that the budget did not reach.

    If the budget ended before any attempt, each probe has 0.
    """
    trials, tries = observed.trials, observed.tries
    if not trials and tries.is_over and not tries.is_hopeless:
        return {probe.name: 0 for probe in probes}
    return dict(Counter(trial.probe.name for trial in trials if not trial.is_tried))


# --- as a test

FAILING_SEVERITIES = ("warn", "high")
"""Severities that a test can fail on."""


def assert_holds(
    reward: Reward,
    rollouts: Rollouts | str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    severity: Literal["warn", "high"] = "warn",
    baseline: Baseline | str | Path | None = None,
    **options: Any,
) -> None:
    """Probe a reward, and fail on findings that are not accepted.

    Args:
        reward: The reward.
        rollouts: As in `probe`.
        severity: The mildest severity that fails.
        baseline: Accepted findings, or a file of them.
        options: Those of `probe`.

    Raises:
        AssertionError: It lists each finding with its sentence, examples, the line that
            shows it and what to do next. A reward of which nothing could be probed does
            not hold either.
        InputError: An unknown severity, and as in `probe`.

    >>> rows = [{"prompt": "6 * 7?", "completion": "42", "ground_truth": "42"}]
    >>> def paid(completion, ground_truth): return ground_truth in completion
    >>> from rewardkit.rewards.component import Component
    >>> try:
    ...     reward = Reward("in", components=[Component("paid", paid)])
    ...     assert_holds(reward, rows, timeout=None)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0].partition(" (")[0])
    reward 'in' does not hold: 1 hole
    """
    if severity not in FAILING_SEVERITIES:
        raise InputError(
            f"severity={severity!r} is none that fails; use one of "
            f"{', '.join(FAILING_SEVERITIES)}"
        )
    result = probe(reward, rollouts, baseline=baseline, **options)
    name = repr(one_line(reward.name))
    failing = alarms_from(result, severity)
    if failing:
        head = f"reward {name} does not hold: {count_alarms(failing)}"
        points = [probe_point(finding, reward) for finding in failing]
        page = Page(f"{head} in {result.effort}", points)
        raise AssertionError(page.text(verbose=True))
    is_open = not result.tried_probes or result.is_undecided
    if result.probes and is_open and not result.says_all:
        notes = [one_line(note.why, 600) for note in result.inconclusive]
        why = "; ".join(notes) or "there was nothing to try"
        raise AssertionError(
            f"reward {name} was not probed, so nothing says that it holds: {why}"
        )


def alarms_from(result: ProbeResult, severity: str) -> list[Finding]:
    """Return the alarms of this severity or above."""
    mildest = SEVERITIES.index(severity)
    return [
        alarm for alarm in result.alarms if SEVERITIES.index(alarm.severity) <= mildest
    ]
