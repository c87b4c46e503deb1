"""Proof that a paid completion is certainly wrong.

A strategy calls a completion wrong because of the way it wrote it. Before that counts
as a fault of the reward, other evidence must agree: the same completion on other
prompts, the same error in other numbers, and the answers that the truth lists.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from rewardkit.answers.comparison import WRONG_BY, answers_truth
from rewardkit.answers.kinds import ESTIMATE, letters_of
from rewardkit.answers.truth_column import NO_TRUTH_COLUMNS
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import read_decimal
from rewardkit.probes.falls import PAID_NEARLY, Doubt
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import rewards_in
from rewardkit.probes.trials import ProbeTrial
from rewardkit.strategies.guesses import is_right
from rewardkit.strategies.strategy import Completion, Subject
from rewardkit.strategies.values import has_listed

FAR_LARGER = 3  # factor between a number and those on which its error is tried as well


def find_doubts(
    trials: Sequence[ProbeTrial], observed: Observed
) -> dict[ProbeTrial, Doubt]:
    """Find completions that are paid as right ones and may be right.

    - A listed text, or a copy of the prompt, may be right on its own prompt if no other
      prompt pays it.
    - A number near the right one may be within a tolerance if larger numbers may be off
      by the same share.
    - The truth may list the answer beside the right one.
    - An answer that is nearly right may pass a truth that is a test of answers. So it
      may if the log has no truth and pays different answers of a prompt.
    - Any number may be a good estimate of how likely something is.
    """
    doubts = {}
    proven = set()
    # group the first trials of a probe on each prompt of a part, then the second ones
    counts: Counter[tuple[str, Any]] = Counter()
    groups = defaultdict(list)
    for trial in trials:
        key = trial.probe.name, trial.subject.rollout_id
        groups[*trial.key, counts[key]].append(trial)
        counts[key] += 1
    for alike in groups.values():
        for trial in alike:
            key = trial.probe.name, trial.subject.rollout_id
            if key in proven or not _is_paid_as_right(trial, observed):
                continue
            doubt = _find_doubt(trial, alike, observed)
            if doubt is None:
                proven.add(key)
            else:
                doubts[trial] = doubt
    return doubts


def _is_paid_as_right(trial: ProbeTrial, observed: Observed) -> bool:
    """Return whether a single wrong completion is paid nearly like a right one."""
    subject, attempt = trial.subject, trial.attempt
    if trial.probe.expects != "wrong" or subject.answer is None:
        return False
    if len(attempt.completions) > 1 or attempt.columns or not observed.falls(trial):
        return False
    return observed.scale(subject).gain(trial.reward) >= PAID_NEARLY


def _find_doubt(
    trial: ProbeTrial, alike: Sequence[ProbeTrial], observed: Observed
) -> Doubt | None:
    """Say why a completion may be right; `alike` has its trials on all prompts."""
    subject, (text,), probe = trial.subject, trial.attempt.completions, trial.probe
    answer = subject.format.read_answer(text) or text
    if _is_listed(answer, subject, is_copy=probe.source == "prompt"):
        return Doubt.LISTED
    subjects = [item for item in observed.subjects if item.part == subject.part]
    is_for_others = ESTIMATE not in probe.kinds
    if subject.kind == ESTIMATE and is_for_others and re.search(r"\d", answer):
        return Doubt.ESTIMATE
    if probe.knows == "near" and not _is_stated(subject, subjects):
        return Doubt.UNSTATED
    if probe.knows == "near" and probe.source != "list":
        larger = _enlarge_error(subject, answer, subjects)
        paid_pairs, unpaid_pairs = _split_by_pay(larger, observed)
        return Doubt.TOLERANCE if paid_pairs and not unpaid_pairs else None
    if not probe.source:
        return None
    elsewhere = [(other, text) for other in subjects]
    if probe.source == "list":
        elsewhere = [(item.subject, item.text) for item in alike]
    elsewhere = [pair for pair in elsewhere if _differ(subject, pair[0])]
    paid_pairs, unpaid_pairs = _split_by_pay(elsewhere, observed)
    if probe.source == "list":  # the right answer there may be the same, in a code
        paid_pairs = [
            pair for pair in paid_pairs if not _share_answer(subject, pair[0], observed)
        ]
    return Doubt.OWN_PROMPT if unpaid_pairs and not paid_pairs else None


def _share_answer(first: Subject, other: Subject, observed: Observed) -> bool:
    """Return whether the right completion of each prompt is paid on the other."""
    exchanged = [(other, first.reference), (first, other.reference)]
    paid_pairs, _ = _split_by_pay(exchanged, observed)
    return len(paid_pairs) == len(exchanged)


def _split_by_pay(
    completions: Sequence[Completion], observed: Observed
) -> tuple[list[Completion], list[Completion]]:
    """Split completions into those that are paid nearly like right ones, and others.

    Completions that were not judged are in neither list.
    """
    paid_pairs, unpaid_pairs = [], []
    rewards = rewards_in(observed.tries.on(completions))
    for pair, reward in zip(completions, rewards, strict=True):
        if observed.scale(pair[0]).gain(reward) >= PAID_NEARLY:
            paid_pairs.append(pair)
        elif not math.isnan(reward):
            unpaid_pairs.append(pair)
    return paid_pairs, unpaid_pairs


def _differ(first: Subject, other: Subject) -> bool:
    """Return whether two prompts have different right answers."""
    truth = first.columns.get("ground_truth")
    is_same = truth is not None and truth == other.columns.get("ground_truth")
    return not is_same and not is_right(first.right, other)


def _enlarge_error(
    subject: Subject, answer: str, subjects: Sequence[Subject]
) -> list[Completion]:
    """Write far larger right answers with the same small error, as a share."""
    larger: list[Completion] = []
    right, wrong = read_decimal(subject.right), read_decimal(answer)
    if not right or not wrong or abs(wrong / right - 1) > WRONG_BY:
        return larger
    for other in subjects:
        value = read_decimal(other.right) or Decimal(0)
        if abs(value) >= FAR_LARGER * abs(right):
            error = value * (wrong / right - 1)
            if value == int(value):
                error = Decimal(int(error))
            larger.append((other, other.write(f"{value + error:f}")))
    return larger


def _is_stated(subject: Subject, subjects: Sequence[Subject]) -> bool:
    """Return whether the log states the right answer, and not only a test of answers.

    Without a truth, a test decides if different answers of a prompt are paid and no
    column of any prompt has one of them.
    """
    truth = subject.columns.get("ground_truth")
    if truth in (None, ""):
        return not any(map(_pays_several, subjects)) or any(map(_has_answer, subjects))
    if not isinstance(truth, dict | list) or subject.kind in ("json", "list"):
        return True
    return normal_text(subject.right) in normal_text(str(truth))


def _pays_several(subject: Subject) -> bool:
    """Return whether siblings were paid for different answers, not just notations."""
    right = subject.right
    for answer in subject.paid_answers:
        is_notation = letters_of(answer) == letters_of(right)
        if not is_notation and not answers_truth(answer, right):
            return True
    return False


def _has_answer(subject: Subject) -> bool:
    """Return whether a column, or an item of one, is a right answer to its prompt."""
    if has_listed(subject):
        return True
    for name in subject.columns.keys() - NO_TRUTH_COLUMNS:
        value = subject.columns[name]
        items = value.values() if isinstance(value, dict) else value
        for item in items if isinstance(value, dict | list) else [value]:
            answers = (subject.right, *subject.paid_answers)
            if any(answers_truth(answer, str(item)) for answer in answers):
                return True
    return False


def _is_listed(answer: str, subject: Subject, *, is_copy: bool) -> bool:
    """Return whether the truth lists an answer beside the right one.

    A copy may hold all items that the truth lists: then copying is the task.
    """
    truth = subject.columns.get("ground_truth")
    written = normal_text(answer)
    for items in truth.values() if isinstance(truth, dict) else [truth]:
        if isinstance(items, list) and len(items) > 1:
            listed = {normal_text(str(item)) for item in items}
            if {normal_text(subject.right), written} <= listed:
                return True
            if is_copy and all(item in written for item in listed):
                return True
    return False
