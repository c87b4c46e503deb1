"""The rules that probe() runs.

This module has the rules on rewards that fail or score the same on everything, or fail
on some rows. Those on paid wrong answers and lost right ones are in `floor` and
`causes`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.answers.traits import find_trait
from rewardkit.findings import (
    HIGH_RISK,
    Example,
    Finding,
    Findings,
    Rule,
    rule,
    run_rules,
    severity_of,
)
from rewardkit.probes.code.comparisons import find_limit
from rewardkit.probes.code.constants import names_used
from rewardkit.probes.falls import WILD
from rewardkit.probes.findings import causes, floor, length, watched
from rewardkit.probes.findings.evidence import Observed, alarms_among, shortest_first
from rewardkit.probes.findings.faults import merge_by_cause
from rewardkit.probes.findings.log_columns import find_nested
from rewardkit.probes.findings.logged import LOG_RULES
from rewardkit.probes.findings.misread import MOST_RIGHT, misread_rows
from rewardkit.probes.findings.tolerance import absolute_tolerance
from rewardkit.probes.runner import RowOutcome, are_equal, scores_in
from rewardkit.probes.subjects import asks_for_truth
from rewardkit.probes.subjects.scales import Calibration
from rewardkit.probes.trials import ProbeTrial
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.strategies.added_text import filler
from rewardkit.strategies.strategy import Row, completion_of, prompt_of

OF_LOG = "rollout"
"""Stands for the name of a probe in failures on rows of the log."""

BEYOND_PROBES = "completion"
"""Stands for it in failures on rows that the search or the contract tried."""

FAILURE_CODES = {
    ReasonCode.LATE: "hang",
    ReasonCode.PROCESS_ENDED: "dies",
    ReasonCode.OUT_OF_RANGE: "out_of_range",
    ReasonCode.NOT_FINITE: "not_finite",
    ReasonCode.WRONG_LENGTH: "wrong_length",
    ReasonCode.WRONG_TYPE: "wrong_type",
    ReasonCode.NOT_A_LIST: "wrong_type",
    ReasonCode.LACKS_KEY: "keys_differ",
}
"""Code of the reason of a failure -> code of its finding, by default "raises"."""

MANY_SCORES = 200
"""Least number of equal scores that makes a component idle. Our choice."""

HUGE_WORDS = 40_000
"""Words of some 200,000 characters: more than 32,768 tokens. Our choice."""

ABOUT_LENGTH = re.compile(r"(?i)length|long|short|token|context|word")
"""Found in names of penalties on length, which must fire on huge texts."""

PROGRAM_RUNNERS = "exec eval subprocess os multiprocessing runpy".split()
"""Names in functions that may run completions; these are not called in this process."""

LEAST_UNPAID = 3
"""Least prompts on which nobody is paid that may have a common cause. Our choice."""

MOST_TITLES = 4
"""Titles of errors that a finding counts. Our choice."""

FATAL_CODES = ("hang", "dies", "wrong_length")
"""Failures of which a single one may stop a training."""

ALWAYS_CODES = {"hang": "always_late", "raises": "always_errors"}
MODE_CODES = {"deaf": "ignores_truth", "inverted": "inverted"}

ALWAYS_FAILING = (
    "always_errors always_abstains always_late wrong_length wrong_type not_finite"
).split()
"""Findings of a reward that judges no row."""


@dataclass(frozen=True)
class Failure:
    """A row on which a component failed, with the probe that wrote it."""

    probe: str
    row: Row
    outcome: RowOutcome
    reason: Reason

    @property
    def code(self) -> str:
        """Return the code of the finding by which it is reported."""
        return FAILURE_CODES.get(self.reason.code, "raises")

    def example(self, observed: Observed) -> Example:
        """Make an example."""
        row, reward, reason = self.row, self.outcome.reward, self.reason.shortened()
        return observed.row_example(row, reward, self.probe, str(reason), reason=reason)


# --- on everything: after one of these findings no probes are tried


@rule(*ALWAYS_FAILING, "dies")
def judges_nothing(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report a reward that judges no row, by its commonest reason."""
    calibration = observed.calibration
    if not calibration.pool or calibration.rewards:
        return
    code: str = "always_abstains"
    why: Reason | str = "no component is for these rows"
    reasons: Counter[Reason] = Counter()
    for _, outcome in calibration.pool:
        reasons.update(outcome.reasons.values())
    if reasons:
        ((reason, _),) = reasons.most_common(1)
        why = reason.shortened()
        if _has_failures(calibration):
            code = FAILURE_CODES.get(reason.code, "raises")
            code = ALWAYS_CODES.get(code, code)
    yield observed.finding(
        code,
        len(calibration.pool),
        severity="high",
        examples=[_first_example(code, observed)],
        reason=why,
    )


@rule("prompt_left_out", "prompt_read", "first_mark_read", "truth_unread")
def looks_elsewhere(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report why right and wrong answers earn the same, if that is known."""
    modes = {*observed.calibration.modes.values()}
    unread = {"constant", "deaf", "unknown"}
    if asks_for_truth(observed.reward):
        unread.add("no truth")  # none that could be read
    if modes and modes <= unread:
        yield from misread_rows.find(observed, findings)


@rule("constant")
def always_the_same(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report a reward that is the same for all rows that were tried so far."""
    calibration, tries = observed.calibration, observed.tries
    if findings or not calibration.rewards or _has_failures(calibration):
        return
    is_open = not {"slow", "unknown"}.isdisjoint(calibration.modes.values())
    if are_equal(tries.rewards) and not is_open:
        count = len(tries.rewards)
        truths = [row.get("ground_truth") for row in observed.rows]
        # a truth in another form, which `looks_elsewhere` tried, may well raise
        failed = [
            row for row, _ in tries.failed if row.get("ground_truth") not in truths
        ]
        value = calibration.rewards[0]
        are_penalties = all(item.is_penalty for item in tries.reward.all_components)
        nested = find_nested(observed)
        never_fires = are_penalties and not value and not nested
        yield observed.finding(
            "constant",
            count,
            severity="info" if never_fires else "",
            never_fires=never_fires,
            examples=[_first_example("constant", observed)],
            value=value,
            unjudged=tries.calls - count - len(failed),
            **(nested or _unreached_limit(observed, tries.reward.functions)),
        )


@rule("ignores_truth", "inverted")
def misreads_truth(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report a reward that ignores the truth or pays wrong answers more, everywhere."""
    calibration = observed.calibration
    if findings or calibration.mode not in MODE_CODES:
        return
    code = MODE_CODES[calibration.mode]
    paid_answers = [answer for answer in observed.logged if not answer.is_unpaid]
    unpaid_answers = [answer for answer in observed.logged if answer.is_unpaid]
    measured = [answer for answer in observed.logged if not math.isnan(answer.gain)]
    right = [answer for answer in measured if answer.is_right]
    wrong = [answer for answer in measured if answer.is_right is False]
    trait = find_trait(paid_answers, unpaid_answers)
    wrong_first = sorted(
        shortest_first(paid_answers), key=lambda answer: answer.is_right is True
    )
    yield observed.finding(
        code,
        observed.tries.calls,
        rows=[(answer.row, answer.reward) for answer in wrong_first],
        common=trait.says if trait else "",
        right=len(right),
        paid_right=sum(not answer.is_unpaid for answer in right),
        wrong=len(wrong),
        paid_wrong=sum(not answer.is_unpaid for answer in wrong),
        **_unreached_limit(observed, observed.reward.functions),
    )


@rule("other_limit")
def limits_of_prompts(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report a limit that no score reaches, if nobody is paid on some prompts."""
    if any("unreached" in finding.evidence for finding in findings):
        return
    by_prompt = defaultdict(list)
    for row, reward in observed.calibration.judged:
        by_prompt[prompt_of(row)].append((row, reward))
    least = min(observed.calibration.rewards, default=0.0)
    unpaid = []
    for pairs in by_prompt.values():
        if max(reward for _, reward in pairs) <= least:
            unpaid.append(pairs[0])
    if len(unpaid) < LEAST_UNPAID:
        return
    evidence = _unreached_limit(observed, observed.reward.functions)
    if evidence:
        yield observed.finding(
            "other_limit",
            len(by_prompt),
            len(unpaid),
            severity=severity_of(len(unpaid) / len(by_prompt)),
            rows=unpaid[:1],
            **evidence,
        )


def _unreached_limit(observed: Observed, functions: Sequence[Any]) -> dict[str, Any]:
    """Return the evidence of a limit that no score reaches, even of right answers."""
    tries = observed.tries
    may_run_programs = not names_used(functions).isdisjoint(PROGRAM_RUNNERS)
    if not tries.runs_users_code or tries.asks_model or may_run_programs:
        return {}
    judged = [row for row, _ in observed.calibration.judged]
    right = [tries.varied(row, str(row.get("ground_truth"))) for row in judged]
    right = right[:MOST_RIGHT]
    for row, reward in zip(right, tries.retry(right), strict=True):
        if not math.isnan(reward):
            judged.append(row)
    limit = find_limit(observed.reward, judged, functions)
    return {"trait": "other_limit", "unreached": limit} if limit else {}


def _has_failures(calibration: Calibration) -> bool:
    """Return whether rows of the log lack a reward because a call failed."""
    return any(outcome.is_lost for _, outcome in calibration.pool)


def _first_example(code: str, observed: Observed) -> Example:
    """Make an example of the first rollout; any rollout shows the finding."""
    row, outcome = observed.pool[0]
    for reason in outcome.reasons.values():
        return Failure(code, row, outcome, reason).example(observed)
    return observed.row_example(row, outcome.reward, code)


@rule("ignores_truth", "inverted", "constant")
def parts_without_truth(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report parts that ignore the truth, pay wrong answers more, or are constant."""
    for part, mode in observed.calibration.modes.items():
        if mode in MODE_CODES:
            in_part = replace(observed, part=part)
            yield in_part.finding(MODE_CODES[mode], observed.tries.calls)
    if _has_failures(observed.calibration):
        return  # see `failures`; the failed rows might earn something else
    for part, (reward, count) in observed.calibration.constants.items():
        in_part = replace(observed, part=part)
        yield in_part.finding("constant", count, value=reward)


@rule("constant")
def idle_components(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report components that score the same on every text, even on a huge one.

    Nothing is reported if no right answer is known: then all texts may be wrong.
    """
    if any(finding.code == "constant" for finding in findings):
        return
    if {*observed.calibration.modes.values()} <= {"unknown", "slow"}:
        return
    unearned = {item.component for item in findings if item.code == "prompt_left_out"}
    outcomes = [outcome for _, outcome in observed.pool]
    for trial in observed.trials:
        outcomes += trial.outcomes
    for name, component in observed.components.items():
        scores = scores_in(outcomes, name)
        if not component.weight or len(scores) < MANY_SCORES or not are_equal(scores):
            continue
        if name in unearned or _moves_for_huge_text(observed, name, scores[0]):
            continue
        if observed.tries.has_functions_for("batch"):  # they may compare siblings
            in_groups = scores_in(observed.outcomes_in_groups, name)
            if not in_groups or not are_equal(in_groups):
                continue
        nested = find_nested(observed, name)
        about = f"{name} {component.why}" if component.weight > 0 else ""
        # a penalty on length would have fired
        is_about_length = ABOUT_LENGTH.search(about) is not None
        is_zero_penalty = component.is_penalty and not scores[0]
        never_fires = is_zero_penalty and not is_about_length and not nested
        yield observed.finding(
            "constant",
            len(scores),
            severity="info" if never_fires else "warn",
            component=name,
            value=scores[0] + 0.0,  # no -0
            never_fires=never_fires,
            **(nested or _unreached_limit(observed, [component.function])),
        )


def _moves_for_huge_text(observed: Observed, component: str, score: float) -> bool:
    """Return whether a huge text before a right answer gets another score.

    Return True as well if there is no subject to try.
    """
    for subject in observed.subjects[:1]:
        text = f"{filler(HUGE_WORDS)}\n{subject.reference}"
        (outcome,) = observed.tries.on([(subject, text)])
        return outcome.scores.get(component) != score
    return True


# --- on some rows


@rule("raises", *dict.fromkeys(FAILURE_CODES.values()))
def failures(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report calls that raised or gave no score, by component and code."""
    rows = [(OF_LOG, *pair) for pair in observed.pool]
    rows += [(BEYOND_PROBES, *pair) for pair in observed.failed]
    for trial in observed.trials:
        if observed.has_truth(trial.attempt):
            rows += _rows_of(trial, observed)
    groups = defaultdict(list)
    for probe, row, outcome in rows:
        for component, reason in outcome.failures.items():
            failure = Failure(probe, row, outcome, reason)
            groups[component, failure.code].append(failure)
    n = len(rows) + observed.calls - len(observed.failed)
    origins = set()
    for component, code in sorted(
        groups, key=lambda key: observed.components[key[0]].weight == 0
    ):
        group = groups[component, code]
        origin = [*group[0].reason.passed_by, component][0] or component
        if code == "keys_differ":
            origin = ""  # each key is missing where there are others
        if (origin, code) in origins:
            continue  # it only passes on what the same field did
        origins.add((origin, code))
        in_log = any(failure.probe == OF_LOG for failure in group)
        is_grave = in_log or code in FATAL_CODES or len(group) >= HIGH_RISK * n
        yield report_failures(
            code,
            n,
            group,
            observed,
            severity="high" if is_grave else "warn",
            component=component,
            what=f"{len(group)} of {n} completions that were tried",
        )


def _rows_of(
    trial: ProbeTrial, observed: Observed
) -> Iterator[tuple[str, Row, RowOutcome]]:
    outcomes = zip(trial.attempt.rows, trial.outcomes, strict=True)
    for (text, columns), outcome in outcomes:
        if outcome.is_tried:
            row = observed.tries.varied(trial.subject.columns, text, **columns)
            yield trial.probe.name, row, outcome


def report_failures(
    code: str, n: int, group: Sequence[Failure], observed: Observed, **evidence: Any
) -> Finding:
    """Make a finding on failures; an example is the shortest completion of a title."""
    shortest: dict[str, Failure] = {}
    for failure in sorted(group, key=lambda item: len(completion_of(item.row))):
        shortest.setdefault(failure.reason.title, failure)
    counts = Counter(failure.reason.title for failure in group)
    titles = counts.most_common(MOST_TITLES)
    return observed.finding(
        code,
        n,
        len(group),
        examples=[failure.example(observed) for failure in shortest.values()],
        reason=shortest[titles[0][0]].reason.shortened(),
        errors=titles if len(titles) > 1 else [],
        seconds=group[0].reason.seconds or math.nan,
        **evidence,
    )


# --- all rules

OVERALL_RULES: tuple[Rule, ...] = (
    judges_nothing,
    looks_elsewhere,
    always_the_same,
    misreads_truth,
)
"""Rules after whose findings nothing else needs to be tried."""
PART_RULES: tuple[Rule, ...] = (
    floor.open_gates,
    floor.leaks,
    floor.flat_credit,
    floor.partial_credit,
    absolute_tolerance,
    causes.holes,
    length.length_curve,
    causes.first_marks,
    causes.layouts,
    causes.notations,
    floor.not_told_apart,
)
"""Rules on each part of the log."""
WHOLE_RULES: tuple[Rule, ...] = (
    watched.verdict_in_words,
    limits_of_prompts,
    parts_without_truth,
    idle_components,
    failures,
)
"""Rules on all rollouts, each run at its own step."""


def find_paid(observed: Observed, leakage: float) -> list[Finding]:
    """Find paid wrong answers and lost right ones, part by part.

    Find nothing if the reward differs too much from call to call.

    Args:
        observed: What was observed of the reward.
        leakage: Share of the ceiling that a wrong answer in good form may earn.
    """
    if observed.noise > WILD:
        return []
    findings = run_rules(LOG_RULES, observed)
    for part in dict.fromkeys(subject.part for subject in observed.subjects):
        limits = {"leakage": leakage}
        findings += run_rules(PART_RULES, observed.of(part), thresholds=limits)
    findings = merge_by_cause(findings)
    findings += limits_of_prompts.find(observed, findings)
    findings += watched.verdict_in_words.find(observed, findings)
    if any(finding.family == "judge" for finding in alarms_among(findings)):
        for place, finding in enumerate(findings):
            if finding.code in causes.HOLE_CODES:
                evidence = {**finding.evidence, "answers": "judge"}
                findings[place] = replace(finding, evidence=evidence)
    return findings
