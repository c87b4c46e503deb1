"""What a log itself shows: right completions that earned nothing, others paid."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise, product
from statistics import fmean
from typing import Any

from rewardkit.answers.judging import JudgedLog
from rewardkit.answers.logged import Answers, LoggedAnswer
from rewardkit.answers.requests import (
    ASKS_FOR_LENGTH,
    ASKS_FOR_NOTHING_ELSE,
    find_marks_asked_for,
)
from rewardkit.answers.stated import read_statement
from rewardkit.answers.traits import (
    FORM_TRAIT,
    IN_OTHERS,
    LABEL_TRAIT,
    MARK_TRAIT,
    TOOL_TRAIT,
    Trait,
    find_limit,
    find_trait,
    find_wording,
)
from rewardkit.errors import preview
from rewardkit.findings import WARN_RISK, most, severity_of
from rewardkit.primitives.texts import normal_text

LEAST_ROWS = 2  # rows that are a fault; one may be a slip
LEAST_MISJUDGED_SHARE = 0.1
"""The same as a share of the rows that are treated as they should be. Our choice."""
LEAST_PROMPTS_APART = 4
"""Prompts on which equal answers earn all and nothing, at least. Our choice."""
LEAST_OF_TRAIT = 8
"""Rows that are a fault below that share, if all of them have what hardly any row has
that is treated as it should be. Our choice."""

UNREAD = Trait("unread", "", 1.0)
"""What is paid in place of the truth, which nothing reads."""


MOST_CLASSES = 12
"""Different truths up to which they are classes. Our choice."""
FEWEST_OF_CLASS = 4
"""Prompts of a class on which nothing is paid, so that it is no chance. Our choice."""
PAID_PROMPTS = 0.5
"""Share of the other prompts that have a paid row, at least. Our choice."""
WORD_SHARE, TIMES_ELSEWHERE = 0.3, 2
"""Share of a class's rows that state its word, and times as often as elsewhere. Our
choice."""

TRAITS_OF_LENGTH_ASKED = ("length", "before", "window")
TRAITS_OF_PLACE = ("behind", "before", "line", "window")
TRAITS_ON_CURVE = (*TRAITS_OF_PLACE, "length")

LEAST_ON_CURVE = 20  # rows of which a curve is one
NEAR_ON_CURVE = 0.1
"""Share of what rows differ by that neighbours on a curve do. Our choice."""

LEAST_WRONG = 3  # wrong rows of which a mean means something
STILL_READ = 0.5
"""Share of what being right adds that it adds in long completions, too, and share of
what right ones lose that wrong ones lose. Our choice."""


@dataclass(frozen=True)
class Misjudged:
    """Rows of a log that a reward judges wrongly, among others of their kind.

    `code` is that of the finding, `trait` what the rows have in common. `is_certain`
    says that a form that may well be asked for is not the reason.
    """

    code: str
    at_fault: Answers
    rows: Answers
    trait: Trait | None = None
    is_certain: bool = True
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def severity(self) -> str:
        """The severity of their share; what all rows of a trait suffer is a rule."""
        if not self.is_certain:
            return "info"
        share = len(self.at_fault) / len(self.rows)
        return severity_of(max(share, WARN_RISK) if self.trait else share)

    @property
    def evidence(self) -> dict[str, Any]:
        """What the sentence of its finding needs."""
        totals = Counter(answer.part for answer in self.rows)
        counts = Counter(answer.part for answer in self.at_fault)
        parts = counts.most_common() if len(totals) > 1 else []
        rewards = [answer.reward for answer in self.at_fault]
        return {
            "gain": 1.0,
            "most": max(rewards),
            "least": min(rewards),
            "prompts": len({answer.prompt for answer in self.at_fault}),
            "by_part": most([f"{part} {n} of {totals[part]}" for part, n in parts]),
            "logged": True,
            "trait": self.trait.kind if self.trait else "",
            "common": self.trait.says if self.trait else "",
            **self.details,
        }


def find_misjudged(log: JudgedLog, *, is_unread: bool = False) -> Iterator[Misjudged]:
    """Find completions that are right and earned nothing, then others that are paid.

    Few of a sort are none, as one may be a slip.

    Args:
        log: The rows of a log.
        is_unread: Whether nothing reads the truth: then that is the cause.
    """
    read_rows, by_label = log.by_judges, log.by_label
    right = [answer for answer in read_rows if answer.is_right]
    if not right:
        return
    right = [answer for answer in right if not math.isnan(answer.gain)]
    paid_right = [answer for answer in right if not answer.is_unpaid]
    if not by_label:  # not to accept another form at all is fine
        asked_for = find_marks_asked_for(right) - find_marks_asked_for(paid_right)
        marks = asked_for | {answer.statement.mark for answer in paid_right}
        right = [answer for answer in right if answer.statement.mark in marks]
    lost = [answer for answer in right if answer.is_unpaid]
    wrong = [answer for answer in log.answers if answer.is_right is False]
    details: dict[str, Any] = {"by_label": by_label}
    if not is_unread and paid_right and len(lost) >= LEAST_ROWS:
        fully_paid = [answer for answer in paid_right if answer.is_paid] or paid_right
        read_wrong = [answer for answer in read_rows if answer.is_right is False]
        is_length = _lose_by_length(lost, paid_right, read_wrong)
        trait = find_trait(lost, fully_paid, is_length=is_length)
        is_known = trait is not None and not _is_asked_for(trait, lost, fully_paid)
        is_rule = is_known and _is_rule(trait, lost)
        is_place = trait is None or trait.figure in TRAITS_ON_CURVE
        if is_place and _go_with_length(right):
            is_rule, lost = False, []  # a curve of lengths says more than one limit
        if is_rule or are_many(lost, paid_right):
            is_certain = by_label or is_known
            judges = () if read_rows is log.answers else log.judges
            named = {**details, "judges": list(judges)}
            yield Misjudged("right_unpaid", lost, right, trait, is_certain, named)
    yield from _find_paid_wrong(wrong, details, is_unread=is_unread)


def _find_paid_wrong(
    wrong: Answers, details: dict[str, Any], *, is_unread: bool
) -> Iterator[Misjudged]:
    """Find wrong answers that are paid; of few only where words set them apart."""
    paid_rows = [answer for answer in wrong if answer.is_paid_whole]
    unpaid_rows = [answer for answer in wrong if not answer.is_paid_whole]
    wording = None if is_unread else find_wording(paid_rows, unpaid_rows)
    if not (_is_rule(wording, paid_rows) or are_many(paid_rows, unpaid_rows)):
        return
    truths = {answer.prompt: answer.truth for answer in paid_rows if answer.is_open}
    silent = sum(answer.states_nothing for answer in paid_rows)
    trait: Trait | None = UNREAD
    if not is_unread:
        trait = find_trait(paid_rows, unpaid_rows, wording=wording)
        if trait and trait.kind == TOOL_TRAIT:
            truths = {}
        elif truths:
            trait = None
    if trait and trait.kind == FORM_TRAIT and not silent:
        trait = replace(trait, kind="")  # the answers are marked
    elif trait and trait.figure in ("answer", *TRAITS_OF_PLACE):
        if silent == len(paid_rows):
            trait = None  # it is one of answers, and there are none
    details = {
        **details,
        "silent": silent,
        "open": len(truths),
        "truths": most(list(map(preview, truths.values()))),
    }
    yield Misjudged("wrong_paid", paid_rows, wrong, trait, details=details)


def find_contradictions(answers: Answers) -> Iterator[Misjudged]:
    """Find equal answers to a prompt of which some earned all and others nothing.

    Only where the task is paid whole or not at all, and where nothing in the
    completions goes with what they earned: a reward may ask for more than the answer.

    Args:
        answers: The rows of a log.
    """
    by_statement: dict[tuple[str, ...], list[LoggedAnswer]] = defaultdict(list)
    for answer in answers:
        if answer.statement.is_marked and not math.isnan(answer.gain):
            by_statement[answer.statement_key].append(answer)
    repeated = [equal for equal in by_statement.values() if len(equal) > 1]
    rows = list(chain.from_iterable(repeated))
    if not all(answer.is_paid_whole or answer.is_unpaid for answer in rows):
        return
    paid_rows: list[LoggedAnswer] = []
    lost: list[LoggedAnswer] = []
    at_fault: list[LoggedAnswer] = []
    for equal in repeated:
        paid_ones = [answer for answer in equal if answer.is_paid]
        unpaid_ones = [answer for answer in equal if answer.is_unpaid]
        if paid_ones and unpaid_ones:
            paid_rows += paid_ones
            lost += unpaid_ones
            fewer = paid_ones if len(paid_ones) < len(unpaid_ones) else unpaid_ones
            at_fault += fewer
    prompts = {answer.prompt for answer in at_fault}
    if len(prompts) < LEAST_PROMPTS_APART or not are_many(at_fault, rows):
        return
    if find_trait(lost, paid_rows) is None:
        yield Misjudged("contradiction", at_fault, rows)


def find_unpaid_truths(answers: Answers) -> Iterator[Misjudged]:
    """Find a class of prompts whose right answer is paid nowhere.

    Truths are codes of classes, which completions call by other words. What is stated
    most where a truth is right, seldom elsewhere, and paid nowhere is the word for it.

    Args:
        answers: The rows of a log.
    """
    judged = []
    for answer in answers:
        if answer.truth is not None and not math.isnan(answer.gain):
            judged.append(answer)
    truths = dict.fromkeys(answer.truth or "" for answer in judged)
    if not 1 < len(truths) <= MOST_CLASSES:
        return  # before any completion is read
    stated: list[tuple[str, LoggedAnswer]] = []
    for answer in judged:
        word = normal_text(read_statement(answer.completion).answer)
        stated.append((word, answer))
    words = {word for word, _ in stated}
    paid_words = {word for word, answer in stated if answer.is_paid}
    if not words.isdisjoint(map(normal_text, truths)):
        return  # truths are no codes
    for truth in truths:
        rows = [answer for answer in judged if answer.truth == truth]
        is_paid_once = any(row.is_paid for row in rows)
        if is_paid_once or len({row.prompt for row in rows}) < FEWEST_OF_CLASS:
            continue
        others = [answer for answer in judged if answer.truth != truth]
        paid_prompts = {answer.prompt for answer in others if answer.is_paid}
        share = len(paid_prompts) / len({answer.prompt for answer in others})
        counts = Counter(word for word, answer in stated if answer.truth == truth)
        word, count = counts.most_common(1)[0]
        usual = sum(other == word for other, _ in stated) - count
        fewest = max(WORD_SHARE, TIMES_ELSEWHERE * usual / len(others)) * len(rows)
        is_lost = word and word not in paid_words and count >= fewest
        if is_lost and share >= PAID_PROMPTS:
            details = {
                "truth": truth,
                "answer": word,
                "most": max(row.reward for row in rows),
                "share": share,
            }
            lost = [row for other, row in stated if (other, row.truth) == (word, truth)]
            yield Misjudged("truth_unpaid", lost, rows, details=details)


def _is_asked_for(trait: Trait, lost: Answers, paid_rows: Answers) -> bool:
    """Whether prompts may want the form without which rows are lost."""
    if trait.kind == MARK_TRAIT:
        return not find_marks_asked_for(lost) or bool(find_marks_asked_for(paid_rows))
    prompts = [text for text, _ in {answer.prompt for answer in lost}]
    if trait.kind == LABEL_TRAIT:
        labels_paid = {answer.label for answer in paid_rows}
        if not {answer.label for answer in lost} <= labels_paid:
            return True  # another word, and not the same one in capitals
        labels = {answer.written_label for answer in paid_rows}
        pairs = product(prompts, labels - {""})
        return not all(prompts) or any(label in text for text, label in pairs)
    if trait.figure in TRAITS_OF_LENGTH_ASKED:
        if all(map(ASKS_FOR_LENGTH.search, prompts)):
            return True
    if trait.kind not in TRAITS_OF_PLACE:
        return trait.kind == FORM_TRAIT
    return all(map(ASKS_FOR_NOTHING_ELSE.search, prompts))


def _is_rule(trait: Trait | None, at_fault: Answers) -> bool:
    """Whether nearly all rows of a trait are at fault, however few they are of all."""
    if trait is None or len(at_fault) < LEAST_OF_TRAIT:
        return False
    return trait.others <= IN_OTHERS * len(at_fault)


def _lose_by_length(lost: Answers, paid_right: Answers, wrong: Answers) -> bool:
    """Whether longer completions earn less, right and wrong ones alike.

    Then the answers of the right ones are read, as they still earn more than wrong ones
    of their length.
    """
    limit = find_limit(
        [len(answer.completion) for answer in lost],
        [len(answer.completion) for answer in paid_right],
    )
    if limit is None:
        return False
    short_wrong = [row.reward for row in wrong if len(row.completion) <= limit]
    long_wrong = [row.reward for row in wrong if len(row.completion) > limit]
    if min(len(long_wrong), len(short_wrong)) < LEAST_WRONG:
        return False
    lost_mean = fmean(answer.reward for answer in lost)
    paid_mean = fmean(answer.reward for answer in paid_right)
    least = STILL_READ * (paid_mean - fmean(short_wrong))
    adds = lost_mean - fmean(long_wrong)
    falls = fmean(short_wrong) - fmean(long_wrong)
    return adds >= least > 0 and falls >= STILL_READ * (paid_mean - lost_mean)


def _go_with_length(right: Answers) -> bool:
    """Return whether rows earn the more alike the nearer their lengths are.

    Most of them earn something between nothing and full marks.
    """
    between = [answer for answer in right if not (answer.is_paid or answer.is_unpaid)]
    in_order = sorted(right, key=lambda answer: len(answer.completion))
    gains = [answer.gain for answer in in_order]
    if len(gains) < LEAST_ON_CURVE or len(between) < len(right) / 2:
        return False
    steps = [abs(after - gain) for gain, after in pairwise(gains)]
    return fmean(steps) <= NEAR_ON_CURVE * (max(gains) - min(gains))


def are_many(at_fault: Answers, others: Answers) -> bool:
    """Return whether rows at fault are no slip, beside those that are not."""
    return len(at_fault) >= max(LEAST_ROWS, LEAST_MISJUDGED_SHARE * len(others))
