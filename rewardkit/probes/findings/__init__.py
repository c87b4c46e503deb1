"""The rules that probe() runs, how findings are merged, and what is undecided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest
from statistics import fmean

from rewardkit.findings import Finding, Rule, percent, run_rules
from rewardkit.probes.findings import causes, failures, floor
from rewardkit.probes.findings.evidence import (
    EXAMPLES_OF_A_FINDING,
    Observed,
    alarms_among,
)
from rewardkit.probes.result import Inconclusive
from rewardkit.probes.runner import runs_users_code
from rewardkit.probes.verdicts import WILD, wilson
from rewardkit.rewards.reward import Reward

MANY_FAILED = 0.5
"""Share of failed attempts from which little is known. Our choice."""

OVERALL_RULES: tuple[Rule, ...] = (
    failures.judges_nothing,
    failures.always_the_same,
    failures.misreads_truth,
)
"""Of a reward for which nothing else needs to be tried."""
PART_RULES: tuple[Rule, ...] = (
    floor.open_gates,
    floor.leaks,
    floor.flat_credit,
    causes.holes,
    causes.layouts,
    causes.notations,
    floor.not_told_apart,
)
"""Of each part of the log."""
WHOLE_RULES: tuple[Rule, ...] = (
    floor.against_label,
    failures.parts_without_truth,
    failures.failures,
)
"""Of all rollouts, each at a step of its own."""


def find_paid(observed: Observed, leakage: float) -> list[Finding]:
    """Find what wrong answers earn and right ones lose, part by part.

    Nothing but what labels say can be told of a reward that differs from call to call.

    Args:
        observed: What was observed of the reward.
        leakage: Share of the ceiling that a wrong answer in good form may earn.
    """
    findings = run_rules([floor.against_label], observed)
    if observed.noise > WILD:
        return findings
    for part in dict.fromkeys(subject.part for subject in observed.subjects):
        limits = {"leakage": leakage}
        in_part = run_rules(PART_RULES, observed.of(part), thresholds=limits)
        codes = {finding.code for finding in alarms_among(in_part)}
        if not codes.isdisjoint(causes.PAYS_ANYTHING):  # the same cause
            in_part = [item for item in in_part if item.code != "flat_credit"]
        findings += in_part
    return findings


def sort_findings(
    findings: Iterable[Finding], observed: Observed, families: frozenset[str]
) -> list[Finding]:
    """Return the findings, one a code and component, the worst first."""
    chosen = [finding for finding in findings if finding.family in families]
    if any(finding.code == "depends_on_siblings" for finding in chosen):
        # alone, all rows earn the same
        chosen = [finding for finding in chosen if finding.code != "constant"]
    merged = merge_parts(chosen, list(observed.calibration.modes))
    return sorted(merged, key=lambda finding: finding.order)


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
    names = list(dict.fromkeys(finding.part for finding in findings))
    evidences = [finding.evidence for finding in findings]
    n = sum(evidence["tried"] for evidence in evidences)
    counts = [evidence.get("found", 0) for evidence in evidences]
    count = sum(counts)
    pooled = {**evidences[0], "tried": n, "parts": names}
    if count:
        pooled |= {"found": count, "value": count / n, "interval": wilson(count, n)}
        if "gain" in pooled:
            gains = [evidence["gain"] for evidence in evidences]
            pooled["gain"] = fmean(gains, counts)
    if "also" in pooled:
        probes = chain.from_iterable(evidence["also"] for evidence in evidences)
        pooled["also"] = list(dict.fromkeys(probes))
    rounds = zip_longest(*(finding.examples for finding in findings))
    examples = filter(None, chain.from_iterable(rounds))
    return replace(
        findings[0],
        evidence=pooled,
        n=sum(finding.n for finding in findings),
        examples=tuple(islice(examples, EXAMPLES_OF_A_FINDING)),
        part="" if set(names) >= set(parts) else ", ".join(names),
    )


# --- what could not be decided


def explain_parts(
    observed: Observed, findings: Iterable[Finding]
) -> Iterator[Inconclusive]:
    """Say which parts of the log could not be probed, and why."""
    # a reward that ignores the completion pays no right answer more
    if all(finding.code != "ignores_completion" for finding in findings):
        for part, why in observed.calibration.why.items():
            yield Inconclusive(part, why)


def explain_noise(observed: Observed) -> Iterator[Inconclusive]:
    """Say that rewards differ too much from call to call, if they do."""
    if observed.noise > WILD:
        yield Inconclusive(
            "probes",
            "the same completion scored twice differs by up to "
            f"{percent(observed.noise)} of what being right adds, so nothing can be "
            "told of what is paid; take chance out of the reward, or average it",
        )


def explain_unlimited(
    reward: Reward, timeout: float | None, unsendable: str | None
) -> Iterator[Inconclusive]:
    """Say why calls of users' code cannot be ended, if they cannot."""
    why = unsendable
    if not why and timeout is None and runs_users_code(reward):
        why = "there is no timeout; give one in seconds"
    if why:
        yield Inconclusive("hang", f"no call can be ended, as {why}")


def explain_failed(observed: Observed) -> Iterator[Inconclusive]:
    """Say that most attempts failed, if they did."""
    finished = [trial for trial in observed.trials if trial.is_tried]
    count = sum(trial.has_failed for trial in finished)
    if count > MANY_FAILED * len(finished):
        why = f"{count} of {len(finished)} attempts failed"
        yield Inconclusive("probes", f"{why}, so what they would earn is not known")
