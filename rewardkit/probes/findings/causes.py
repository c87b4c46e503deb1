"""Rules on wrong answers that are paid and right ones that are not, by cause."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from statistics import fmean
from typing import Any

from rewardkit.answers.formats import REASONING
from rewardkit.answers.misjudged import LEAST_MISJUDGED_SHARE, LEAST_ROWS
from rewardkit.findings import AS_MUCH, Finding, Findings, most, rule
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.messages import assistant_text
from rewardkit.probes.code.verdicts import own_verdicts
from rewardkit.probes.falls import (
    FULL_MARKS,
    LAYOUT_LOST,
    PADDING_FAMILIES,
    RARE,
    RIGHT_LOST,
    Tally,
    paid_from,
    risk_of,
)
from rewardkit.probes.findings.evidence import Observed
from rewardkit.strategies import STRATEGIES
from rewardkit.strategies.notations import LAYOUT, NOTATION
from rewardkit.strategies.strategy import Subject

LONGER_TRIAL = "longer"
"""Probe of filler around a wrong answer; it explains other probes that add text."""

MENTION_TRIAL = "mentioned"
"""Probe of the right answer within a text; it explains other texts that contain it."""

MENTIONS_TAG, WINDOWS_LINES = "tag_mentioned", "windows_lines"
"""Layouts whose loss is a fault only if completions of the log have them."""

SHORTEST_VERDICT = 4  # characters of a verdict that is no accident: our choice
VERDICT_PROBES = ("fake_verdict", "verdict_inside")
"""Probes that are paid if a judge's verdict is read out of the completion."""

LONGER_REASONING = ("other_reasoning", "several_lines", MENTIONS_TAG)
"""Layouts that all lose if more words lose."""

MOST_FORMS_NAMED = 4  # forms that a sentence names

HOLE_CODES = tuple(
    probe.name
    for probe in STRATEGIES
    if probe.knows not in (LAYOUT, NOTATION) and probe.family != "hang"
)
"""Names of strategies that are also the code of their finding."""

SECOND_MARKS = ("several_marks", "retracted", "nested", "tags_of_two_kinds")
"""Probes that write other marks beside that of the right answer."""
CALL_KINDS = ("json", "code")
"""Kinds of answers that may be calls, of which a task may need several."""

KINDS_BY_EXPECTATION = {
    "right": "loses",
    "place": "loses",
    "form": "fooled",
    "more": "more",
}

# --- holes


@rule(*HOLE_CODES, "containment")
def holes(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report wrong answers that are paid, and special truths that are not."""
    for tally in observed.tallies:
        if tally.falls and tally.probe.name in HOLE_CODES:
            has_marks = tally.probe.name in SECOND_MARKS
            if not has_marks or not _needs_calls(tally, observed):
                yield _make_hole(tally, observed)


def _needs_calls(tally: Tally, observed: Observed) -> bool:
    """Return whether right completions have several different calls in one tag."""
    form = tally.falls[0].subject.format
    if form.tag is None:
        return False
    if f"<{form.tag}>" in form.lead + form.tail:
        return True  # a format without that tag was paid less
    if tally.falls[0].subject.kind not in CALL_KINDS:
        return False
    has_several = []
    for answer in observed.logged:
        if answer.is_right or (answer.is_right is None and answer.is_paid):
            turns = answer.row.get("messages")
            text = assistant_text(turns, turns="all", tool_calls=True)
            calls = texts_in(form.tag, text or answer.completion)
            has_several.append(len(calls) > 1)
    return bool(has_several) and fmean(has_several) >= RARE


def texts_in(tag: str, text: str) -> set[str]:
    """Return the texts in pairs of a tag, in linear time."""
    pieces = text.split(f"</{tag}>")[:-1]
    opening = f"<{tag}>"
    return {piece.partition(opening)[2] for piece in pieces if opening in piece}


def _make_hole(tally: Tally, observed: Observed) -> Finding:
    probe = tally.probe
    falls = sorted(tally.falls, key=lambda fall: (-fall.size, len(fall.text)))
    subjects = [fall.subject for fall in falls]
    threshold = paid_from(probe, graded=False)
    trait = ""
    if probe.expects in ("right", "place"):
        threshold = RIGHT_LOST
        trait = "partly" if tally.size < AS_MUCH else ""
    return observed.finding(
        probe.name,
        tally.n,
        len(falls),
        family=probe.family,
        components=observed.components_of(falls),
        threshold=threshold,
        examples=map(observed.example_of, falls),
        kind=KINDS_BY_EXPECTATION.get(probe.expects, "pays"),
        says=probe.says,
        trait=trait,
        gain=tally.size,
        risk=_risk(tally, observed),
        doubt=str(tally.doubt or ""),
        answers=_kind_of_answers(subjects[0]),
        knows=probe.knows,
        truth=any(subject.answer is not None for subject in subjects),
        beyond=all(map(observed.is_beyond, subjects)),
        length=len(falls[0].text) - len(subjects[0].reference),
        also=_paid_for_the_same(tally, observed),
        with_verdict=_count_verdicts(observed) if probe.name in VERDICT_PROBES else 0,
    )


def _paid_for_the_same(cause: Tally, observed: Observed) -> list[str]:
    """Name the strategies that are paid for a cause by the same components.

    If length is paid, these are all strategies of wrong answers, unless the task pays.
    If a mention is paid, these are added texts that contain the right answer: "B" is in
    many words, and in "Final verdict: [[B]]".
    """
    is_length = cause.probe.name == LONGER_TRIAL
    if cause.doubt or not (is_length or cause.probe.name == MENTION_TRIAL):
        return []
    payers = {*observed.components_of(cause.falls)}
    tasks = chain.from_iterable(branch.task for branch in observed.reward.branches)
    if is_length and not payers.isdisjoint(tasks):
        return []
    names = []
    for tally in observed.tallies:
        is_like = tally is not cause and tally.probe.expects == "wrong"
        if not is_length:
            is_like = tally.probe.family in PADDING_FAMILIES
            is_like &= tally.probe.name != LONGER_TRIAL
            is_like &= all(fall.subject.right in fall.text for fall in tally.falls)
        if is_like and tally.falls:
            if {*observed.components_of(tally.falls)} == payers:
                names.append(tally.probe.name)
    return names


def _count_verdicts(observed: Observed) -> int:
    """Count paid completions of the log that contain a verdict of the reward's judge.

    Short verdicts, and those in many completions, do not count.
    """
    judged = observed.logged
    rows = [(answer.row, answer.reward) for answer in judged]
    holders = set()
    for verdict in own_verdicts(observed.reward.functions, rows):
        holds = [answer for answer in judged if verdict in answer.completion]
        if len(verdict) >= SHORTEST_VERDICT and len(holds) < RARE * len(judged):
            holders |= {id(answer) for answer in holds if answer.is_paid}
    return len(holders)


def _kind_of_answers(subject: Subject) -> str:
    """Return the kind of a subject's answers, "box" for a list of four numbers."""
    if subject.kind == "json":
        value = read_json(subject.answer or "")
        if isinstance(value, dict):  # beside its label
            value = next((item for item in value.values() if _is_box(item)), None)
        if _is_box(value):
            return "box"
    return subject.kind


def _is_box(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 4:
        return False
    return all(isinstance(number, int | float) for number in value)


def _risk(tally: Tally, observed: Observed) -> float:
    """Return the risk of a hole; 0 in doubt, or if no rollout has such a truth."""
    if tally.doubt:
        return 0.0
    if not all(observed.has_truth(fall.trial.attempt) for fall in tally.falls):
        return 0.0
    if tally.probe.name == "sign_flipped" and "negative" not in observed.special_truths:
        return 0.0  # a hyphen before a number that is never negative
    if tally.probe.expects == "form" and len(observed.components) < 2:
        return 0.0  # the form itself earns as much
    if tally.probe.expects == "right":
        return tally.size * tally.rate / 2
    return risk_of(tally, observed.calibration.scales)


# --- losses of right answers


@rule("first_mark_counts")
def first_marks(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report that only the first of two marked answers is read."""
    trials = []
    examples = []
    for trial in observed.trials:
        is_of_part = trial.subject.part == observed.part and trial.is_tried
        if trial.probe.name != SECOND_MARKS[0] or not is_of_part:
            continue
        trials.append(trial)
        scale = observed.scale(trial.subject)
        right_first, right_last = map(scale.gain, trial.rewards)
        if right_first >= FULL_MARKS and right_last < RIGHT_LOST:
            text, reward = trial.attempt.completions[1], trial.rewards[1]
            expected = scale.right, scale.right
            example = trial.subject, text, reward, expected, "first_mark_counts"
            examples.append(observed.example(*example))
    if len(examples) > max(1, (1 - RARE) * len(trials)):
        n, count = len(trials), len(examples)
        yield observed.finding(
            "first_mark_counts", n, count, examples=examples, doubt=""
        )


@rule("loses_layout", "strict")
def layouts(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report layouts that lose right answers, a fault if most layouts are accepted."""
    tallies = {
        tally.probe.name: tally
        for tally in observed.tallies
        if tally.n and tally.probe.knows == LAYOUT
    }
    lost = {
        name: tally
        for name, tally in tallies.items()
        if tally.falls and _is_about_answer(tally, observed)
    }
    if "other_reasoning" in lost:
        for name in LONGER_REASONING:
            tallies.pop(name, None)
            lost.pop(name, None)
    if not lost:
        return
    accepted = len(tallies) - len(lost)
    # a reward that accepts other words searches any text for the answer
    is_lenient = "other_reasoning" in tallies or 2 * accepted >= len(tallies)
    is_fault = is_lenient and any(
        tally.rate * tally.size >= LAYOUT_LOST
        for tally in lost.values()
        if _is_written(tally, observed)
    )
    yield _make_loss(
        "loses_layout" if is_lenient else "strict",
        list(lost.values()),
        observed,
        len(tallies),
        len(lost),
        severity="warn" if is_fault else "info",
        lost=most([tally.probe.says for tally in lost.values()], MOST_FORMS_NAMED),
        layouts=len(tallies),
        kept=accepted,
    )


def _is_written(tally: Tally, observed: Observed) -> bool:
    """Return whether policies write a layout; for two layouts the log must show it.

    These are Windows line ends, and a tag that is named before the answer. A tag does
    not count if the reward refuses several marks on purpose.
    """
    texts = observed.completions
    if tally.probe.name == WINDOWS_LINES:
        return any("\r\n" in text for text in texts)
    if tally.probe.name != MENTIONS_TAG:
        return True
    twice = [other for other in observed.tallies if other.probe.name == "marked_twice"]
    if any(other.falls for other in twice):
        return False
    tag = re.escape(tally.falls[0].subject.format.tag or "")
    naming = re.compile(rf"<{tag}>[^<]*(?:<{tag}>|\band </{tag}>)")
    return sum(map(bool, map(naming.search, texts))) >= LEAST_ROWS


def _is_about_answer(tally: Tally, observed: Observed) -> bool:
    """Return whether the component that loses scores the answer, not just the form.

    Several lines count even for a form, if that has reasoning.
    """
    measured = observed.measured[tally.falls[0].subject.rollout_id]
    components = observed.components_of(tally.falls)
    if not components:
        return True
    name = components[0]
    if measured.reference.scores.get(name) != measured.baseline.scores.get(name):
        return True
    subjects = [fall.subject for fall in tally.falls]
    has_reasoning = all(REASONING in subject.format.lead for subject in subjects)
    return tally.probe.name == "several_lines" and has_reasoning


@rule("loses_notation")
def notations(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report notations of a right answer that are not accepted.

    It is for information, unless right rollouts of the log are lost by a notation.
    """
    lost = [
        (_count_lost_rollouts(tally, observed), tally)
        for tally in observed.tallies
        if tally.falls and tally.probe.knows == NOTATION
    ]
    if not lost:
        return
    lost.sort(key=lambda pair: -pair[0])
    tallies = [tally for _, tally in lost]
    unpaid = [f"{tally.probe.says} ({rows})" for rows, tally in lost if rows]
    rollouts = sum(rows for rows, _ in lost)
    paid_rollouts = sum(answer.is_paid for answer in observed.logged)
    is_fault = rollouts >= max(LEAST_ROWS, LEAST_MISJUDGED_SHARE * paid_rollouts)
    yield _make_loss(
        "loses_notation",
        tallies,
        observed,
        max(tally.n for tally in tallies),
        severity="warn" if is_fault else "info",
        examples=len(unpaid) or len(lost),
        value=fmean(tally.rate for tally in tallies),
        lost=most([tally.probe.says for tally in tallies], 2 * MOST_FORMS_NAMED),
        unpaid=most(unpaid, MOST_FORMS_NAMED),
        rollouts=rollouts,
    )


def _make_loss(
    code: str,
    tallies: Sequence[Tally],
    observed: Observed,
    n: int,
    count: int | None = None,
    *,
    examples: int | None = None,
    **evidence: Any,
) -> Finding:
    """Make the finding of lost forms, with the first `examples` of them as examples."""
    falls = [tally.falls[0] for tally in tallies[:examples]]
    return observed.finding(
        code,
        n,
        count,
        components=observed.components_of(falls),
        threshold=RIGHT_LOST,
        examples=map(observed.example_of, falls),
        rates={tally.probe.name: tally.rate for tally in tallies},
        answers=_kind_of_answers(falls[0].subject),
        **evidence,
    )


def _count_lost_rollouts(tally: Tally, observed: Observed) -> int:
    """Count the unpaid rollouts that state the right answer in a notation."""
    count = 0
    for fall in tally.falls:
        form = fall.subject.format
        written = fall.text.removeprefix(form.lead).removesuffix(form.tail).strip()
        for answer in observed.logged:
            if answer.is_unpaid and answer.prompt[0] == fall.subject.prompt:
                count += written in answer.completion
    return count
