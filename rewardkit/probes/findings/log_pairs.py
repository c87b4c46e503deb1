"""Rules on pairs in the log: an answer and its truth, a wrong answer and a right one.

Unpaid answers that are the same multiple of their truths are on another scale. Wrong
answers that earn more than right ones of their prompt are paid for something else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from rewardkit.answers.logged import LoggedAnswer
from rewardkit.answers.scales import find_other_scales
from rewardkit.answers.truth_column import NO_TRUTH_COLUMNS
from rewardkit.findings import HIGH_RISK, Finding, Findings, rule
from rewardkit.probes.findings.evidence import Observed, alarms_among, shortest_first
from rewardkit.probes.runner import RowOutcome

LEAST_OUTPAID = 4  # least prompts on which a wrong answer earns more than a right one
OUTPAID_SHARE = 0.03
"""Least share of such pairs among all pairs of siblings. Our choice."""
CAUSE_SHARE = 0.75
"""Least share of such pairs in which the component at fault pays the wrong answer more.
Our choice."""

Pair = tuple[LoggedAnswer, LoggedAnswer]
"""A wrong answer and a right one of its prompt."""


@rule("other_scale")
def other_scale(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report unpaid answers that are the same multiple of their truths.

    Boxes count if they earned less than full marks, since they may still overlap.
    """
    names = {"ground_truth", *observed.reward.needs} - NO_TRUTH_COLUMNS
    for scale in find_other_scales(observed.logged, names):
        answers = shortest_first(scale.answers)
        yield observed.finding(
            "other_scale",
            scale.count,
            len(answers),
            rows=[(answer.row, answer.reward) for answer in answers],
            gain=1.0,
            **scale.evidence,
        )


@rule("wrong_above_right")
def wrong_above_right(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report wrong completions that earn more than right ones of their prompt.

    If `wrong_paid` was reported, only a component beside the task is worth reporting.
    """
    outcomes = {id(row): outcome for row, outcome in observed.pool}
    pairs = _pair_siblings(observed.logged, outcomes)
    above = []
    for wrong, right in pairs:
        if _reward(wrong, outcomes) > _reward(right, outcomes) + 1e-9:
            above.append((wrong, right))
    prompts = {wrong.prompt for wrong, _ in above}
    if len(prompts) < LEAST_OUTPAID or len(above) <= OUTPAID_SHARE * len(pairs):
        return
    cause = _find_cause(observed, above, outcomes)
    is_reported = any(item.code == "wrong_paid" for item in alarms_among(findings))
    if is_reported and not cause:
        return
    examples = []
    for wrong, right in sorted(above, key=lambda pair: len(pair[0].completion)):
        reward, best = (_reward(answer, outcomes) for answer in (wrong, right))
        example = observed.row_example(
            wrong.row,
            reward,
            "wrong_above_right",
            right=best,
            wrong=reward,
            beside=observed.shown_columns(right.row),
        )
        examples.append(example)
    yield observed.finding(
        "wrong_above_right",
        len(pairs),
        len(above),
        component=cause or None,
        severity="high" if len(above) >= HIGH_RISK * len(pairs) else "warn",
        examples=examples,
        gain=1.0,
        prompts=len(prompts),
        by=cause,
        trait="component" if cause else "",
        logged=True,
    )


def _reward(answer: LoggedAnswer, outcomes: Mapping[int, RowOutcome]) -> float:
    return outcomes[id(answer.row)].reward


def _pair_siblings(
    answers: Sequence[LoggedAnswer], outcomes: Mapping[int, RowOutcome]
) -> list[Pair]:
    """Return the pairs of a certainly wrong and a certainly right sibling.

    Right answers that the task does not pay are left out if they earn no more than the
    median wrong answer of their part: they may lack the required form.
    """
    wrong_rewards = defaultdict(list)
    for answer in answers:
        if answer.is_right is False:
            wrong_rewards[answer.part].append(_reward(answer, outcomes))
    usual = {part: median(rewards) for part, rewards in wrong_rewards.items()}
    right = defaultdict(list)
    for answer in answers:
        least = usual.get(answer.part, 0.0)
        is_credited = answer.is_paid or _reward(answer, outcomes) > least
        if answer.is_right and is_credited:
            right[answer.prompt].append(answer)
    pairs = []
    for answer in answers:
        if answer.is_right is False:
            pairs += [(answer, sibling) for sibling in right[answer.prompt]]
    return pairs


def _find_cause(
    observed: Observed, above: Sequence[Pair], outcomes: Mapping[int, RowOutcome]
) -> str:
    """Return the component beside the task that pays these wrong answers, or ""."""
    counts: Counter[str] = Counter()
    for wrong, right in above:
        reward = observed.reward_for(wrong.row)
        scores, others = (outcomes[id(answer.row)].scores for answer in (wrong, right))
        for name in scores.keys() & others.keys() - {*reward.task}:
            weight = reward.weights[name] or 1.0  # recorded beside a lone total
            counts[name] += weight * scores[name] > weight * others[name]
    for name, count in counts.most_common(1):
        if count >= CAUSE_SHARE * len(above):
            return name
    return ""
