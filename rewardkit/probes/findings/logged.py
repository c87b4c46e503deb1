"""Rules of what the log itself shows: completions that are paid or unpaid wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from rewardkit.answers.formats import TAG, Format
from rewardkit.answers.misjudged import find_misjudged, find_unpaid_truths
from rewardkit.answers.requests import ASKS_FOR_NOTHING_ELSE, WRITTEN_MARKS
from rewardkit.answers.traits import LEAST_TRAIT_PROMPTS, find_common_form
from rewardkit.errors import preview
from rewardkit.findings import Example, Finding, Findings, rule, severity_of
from rewardkit.probes.falls import FULL_MARKS
from rewardkit.probes.findings.evidence import Observed, shortest_first
from rewardkit.probes.findings.log_columns import lacking_keys
from rewardkit.probes.findings.log_pairs import other_scale, wrong_above_right
from rewardkit.probes.findings.log_verdicts import misjudged_objects, other_verdicts
from rewardkit.probes.findings.misread import (
    MISREAD,
    forms_of_prompts,
    misread_rows,
    unearned_forms,
)
from rewardkit.probes.findings.unread import unread_items, unread_phrases
from rewardkit.probes.runner import are_equal
from rewardkit.strategies.programs import EMPTY_QUERY, QUERY
from rewardkit.strategies.strategy import Row, prompt_of

MOST_EMPTY = 0.9
"""Share of the prompts from which it is not their data that pays. Our choice."""


@rule("wrong_paid", "right_unpaid", "truth_unpaid")
def misjudged_rows(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report completions of the log that are right and unpaid, or paid and not right.

    The shortest of each part is an example.
    """
    log = observed.judged_log
    judged = find_misjudged(log, is_unread=observed.unread_truth != "")
    totals = {id(answer.row): answer.reward for answer in observed.logged}
    rewards = totals.values()
    tasks = [branch.task for branch in observed.reward.branches]
    most, least = max(rewards, default=0.0), min(rewards, default=0.0)
    wrong = [answer.reward for answer in observed.logged if answer.is_right is False]
    least = min(wrong, default=least)
    for misjudged in chain(judged, find_unpaid_truths(observed.logged)):
        code, at_fault = misjudged.code, misjudged.at_fault
        shortest: dict[str, Example] = {}
        for answer in shortest_first(at_fault):
            total = totals[id(answer.row)]
            example = observed.row_example(
                answer.row, total, code, right=most, wrong=least
            )
            shortest.setdefault(answer.part, example)
        components = dict.fromkeys(chain.from_iterable(tasks))
        if code == "right_unpaid":
            components = dict.fromkeys(log.judges)
        are_silent = misjudged.evidence.get("silent") == len(at_fault)
        yield observed.finding(
            code,
            len(misjudged.rows),
            len(at_fault),
            components=list(components),
            examples=shortest.values(),
            severity=misjudged.severity,
            kind="silent" if are_silent else "",
            **misjudged.evidence,
        )


@rule("right_unpaid")
def never_paid_rows(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report right completions of the log of which none is paid, as none at all is.

    What is paid is a form that no completion has. Where prompts ask for it, or are not
    known, that is information.
    """
    rewards = observed.calibration.rewards
    right = [answer for answer in observed.logged if answer.is_right]
    prompts = {answer.prompt for answer in right}
    subjects = observed.subjects_with_truth
    if not subjects or len(prompts) < LEAST_TRAIT_PROMPTS or not are_equal(rewards):
        return
    best = max(subjects, key=lambda item: observed.scale(item).right)
    most = observed.scale(best).right
    code, paid_form = "right_unpaid", best.format
    is_explained = any(finding.code in MISREAD for finding in findings)
    if is_explained or most <= max(rewards) + 1e-9:
        return
    is_asked_for = any(
        _asks_for(answer.prompt[0], paid_form, answer.completion) for answer in right
    )
    trait = find_common_form(right)
    least = min(rewards)
    examples = (
        observed.row_example(answer.row, answer.reward, code, right=most, wrong=least)
        for answer in shortest_first(right)
    )
    yield observed.finding(
        code,
        len(right),
        len(right),
        examples=examples,
        severity="info" if is_asked_for else severity_of(1.0),
        gain=1.0,
        prompts=len(prompts),
        by_label=bool(observed.calibration.labels),
        logged=True,
        paid_form=preview(paid_form.marked(best.right)),
        trait=trait.kind if trait else "",
        common=trait.says if trait else "",
    )


def _asks_for(prompt: str, form: Format, completion: str) -> bool:
    """Return whether a prompt asks for this form, or for a mark that is lacking.

    It may show the mark or name it in words. An unknown prompt may ask for anything.
    """
    marks = [*WRITTEN_MARKS.values(), *(f"<{name}>" for name in TAG.findall(prompt))]
    if not prompt or any(mark in prompt and mark not in completion for mark in marks):
        return True
    text = prompt.lower()
    mark = (form.opening.strip() or form.lead.strip()).lower()
    if not mark:
        return bool(ASKS_FOR_NOTHING_ELSE.search(prompt))
    name = mark.strip("<>\\{# ")
    words = [mark]
    if form.tag:
        words.append(f"{name} tag")
    if name == "boxed":
        words.append(name)
    return any(word in text for word in words)


@rule("empty_truth_result")
def empty_truth_results(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report prompts on which an empty query is paid; on all of them it is a hole."""
    queries = [item for item in observed.subjects if QUERY.match(item.answer or "")]
    if not queries:
        return
    subject, tries = queries[0], observed.tries
    scale, completion = observed.scale(subject), subject.write(EMPTY_QUERY)
    prompts: dict[str, Row] = {}
    for row in observed.rows:
        prompts.setdefault(prompt_of(row), row)
    rows = [tries.varied(row, completion) for row in prompts.values()]
    paid_rows = []
    for row, reward in zip(rows, tries.retry(rows), strict=True):
        if scale.gain(reward) >= FULL_MARKS:
            paid_rows.append((row, reward))
    n, count = len(rows), len(paid_rows)
    if 0 < count < MOST_EMPTY * n:
        yield observed.finding("empty_truth_result", n, count, rows=paid_rows, gain=1.0)


LOG_RULES = (
    misread_rows,
    forms_of_prompts,
    unearned_forms,
    other_scale,
    misjudged_rows,
    never_paid_rows,
    wrong_above_right,
    misjudged_objects,
    unread_items,
    empty_truth_results,
    unread_phrases,
    other_verdicts,
    lacking_keys,
)
"""Rules of all rows of the log."""
