"""What each completion of a log states, whether that is right, and what it earned."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, mode
from typing import Any

from rewardkit.answers.dates import read_date
from rewardkit.answers.formats import THINKING, blank_tools
from rewardkit.answers.kinds import is_nothing, kind_of
from rewardkit.answers.stated import (
    NOTHING_STATED,
    OBJECT_MARKS,
    Locale,
    Statement,
    accepted_answers,
    answers_truth,
    find_locale,
    read_statement,
)
from rewardkit.primitives.messages import prompt_text
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.math.latex import NUMBER_WORDS

PAID_FROM, UNPAID_TO = 0.8, 0.1
"""Shares of the span of all rewards from which a row is paid, and to which it is not.
Our choice."""

MARKED_SHARE = 0.5
"""Share of marked answers from which one without a mark states nothing. Our choice."""

LONGEST_LABEL = 40
"""Characters of a label, at most; a longer text is a sentence. Our choice."""
LABEL_START = re.compile(r"[.!?。:]\s+|[\])}>]")
"""What ends before a label on its line: a sentence, or something in brackets."""

NUMBER_WORD = re.compile(rf"(?i)\b(?:{NUMBER_WORDS})\b")
GIVES_UP = re.compile(
    r"""(?ix) \W*+ (?: (?:I|we|it|this|that) (?:\ am|['’]m)? \ )?
    (?: do\ not\ know | don['’]t\ know | un(?:known|sure|certain|determined)
      | not\ (?:sure|known|enough) | insufficient | no\ idea
      | can(?:not|\ not|['’]t) | could(?:\ not|n['’]t) )\b"""
)
"""What begins an answer that is none. Our choice."""

TELLS_APART = 0.5
"""What wrong completions earn of a component at most, on average, as a share of what
right ones earn, where it tells them apart. Our choice."""

OWN_SCALE = 0.5
"""Share of the span of all rewards from which that of a part is a scale of its own. Our
choice."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class LoggedAnswer:
    """A completion of the log: what it states, and what the task earned there.

    `truth` is None where the log has none, or several; of several accepted ones it is
    the one that is stated, or the first. `gain` is a share of what the
    task can earn: 0 for the least of the log, or for nothing where penalties are
    below it, 1 for the most; NaN where all earn the same. `is_right` is None where
    that is not certain.
    """

    row: Row
    part: str
    truth: str | None
    statement: Statement
    reward: float
    gain: float = math.nan
    is_right: bool | None = None
    is_open: bool = False
    usual_label: str = ""

    @property
    def completion(self) -> str:
        """The completion."""
        return str(self.row.get("completion"))

    @property
    def prompt(self) -> tuple[str, str]:
        """Tell prompts apart that differ in their truths alone."""
        prompt = self.row.get("prompt", self.row.get("prompt_id"))
        return prompt_text(prompt), repr(self.row.get("ground_truth"))

    @property
    def answer(self) -> str:
        """The answer that it states, "" where it states none."""
        return self.statement.answer

    @property
    def turns(self) -> int:
        """How often the assistant speaks; 0 where the log has no turns."""
        turns = self.row.get("messages")
        if not isinstance(turns, list):
            return 0
        roles = [turn.get("role") for turn in turns if isinstance(turn, dict)]
        return roles.count("assistant")

    @property
    def label(self) -> str:
        """The words before a colon and the answer on its line, "" where none are.

        Statements "Answer: 4" and "**Answer:** 4" have the label "answer".
        """
        return self.written_label.casefold()

    @property
    def written_label(self) -> str:
        """The label as it is written; a sentence before it on its line is no label."""
        start = self.statement.before
        near = self.completion[max(0, start - 2 * LONGEST_LABEL) : start]
        words = near.rpartition("\n")[2].strip(" *_#$")
        label = LABEL_START.split(words[:-1])[-1].strip(" *_")
        has_colon = words.endswith(":") and len(label) <= LONGEST_LABEL
        return label if has_colon else ""

    @property
    def has_usual_label(self) -> bool:
        """Whether its answer has the label that most others have."""
        return bool(self.usual_label) and self.label == self.usual_label

    @property
    def is_marked(self) -> bool:
        """Whether its answer is marked on purpose, or labelled as most others are."""
        return self.statement.is_marked or self.has_usual_label

    @property
    def ends_line(self) -> bool:
        """Whether no word and no other number follows the answer on its line."""
        behind = self.completion[self.statement.before + len(self.answer) :]
        return not re.search(r"\w", behind.partition("\n")[0])

    @property
    def is_paid(self) -> bool:
        """Whether the task earned about as much as the best of the log."""
        return self.gain >= PAID_FROM

    @property
    def is_paid_whole(self) -> bool:
        """Whether it earned that also where objects are paid value by value."""
        is_object = self.statement.mark in OBJECT_MARKS
        return self.is_paid and (self.gain > 0.999 or not is_object)

    @property
    def is_unpaid(self) -> bool:
        """Whether the task earned nothing."""
        return self.gain <= UNPAID_TO

    @cached_property
    def own_text(self) -> str:
        """What the model itself says, without the replies of tools."""
        return blank_tools(self.completion)

    @cached_property
    def own_words(self) -> str:
        """The same, normalised."""
        return normal_text(self.own_text)

    @property
    def states_nothing(self) -> bool:
        """Whether it marks no answer, and does not mention the truth.

        A truth that is empty, "[]", is stated by what marks none. What may be one
        behind the usual label is an answer, if in a notation that is not read.
        """
        if self.truth is None or self.is_marked or is_nothing(self.truth):
            return False
        if self.usual_label:
            label = re.escape(self.usual_label)
            behind = rf"(?i)\b{label}[ *_]*:[ *_$]*([^\s*_$].*)"
            texts = re.findall(behind, self.own_text)
            if any(_may_answer(text, self.truth) for text in texts):
                return False
        if kind_of(self.truth) == "json" and "{" in self.completion:
            return False  # an object that is broken off, or of another notation
        return normal_text(self.truth) not in self.own_words


Answers = Sequence[LoggedAnswer]
"""The rows of a log, or some of them."""


def judge_log(
    rows: Sequence[Row],
    earned: Sequence[float],
    *,
    routed_by: str | None = None,
    labels: Sequence[bool | None] = (),
) -> list[LoggedAnswer]:
    """Say of the rows of a log what they state, whether that is right, and its gain.

    Args:
        rows: With "completion" and, where known, "prompt" and "ground_truth".
        earned: What the task earned; rows of NaN, not judged, are left out.
        routed_by: The column by whose values rewards differ.
        labels: Whether a trusted label calls the rows right; without any a row is right
            if it states the truth, or what a sibling was paid for.
    """
    answers: list[LoggedAnswer] = []
    judged = labels or [None] * len(rows)
    for row, reward, is_right in zip(rows, earned, judged, strict=True):
        if math.isnan(reward):
            continue
        part = str(row.get(routed_by or "data_source") or "")
        truth, statement = _read_row(row)
        answer = LoggedAnswer(row, part, truth, statement, reward, is_right=is_right)
        answers.append(answer)
    answers = _measure_gains(_find_labels(answers), is_routed=bool(routed_by))
    return answers if labels else _judge_by_siblings(_judge_by_truths(answers))


@dataclass(frozen=True)
class JudgedLog:
    """The rows of a log, as `judge_log` judges them by what the task earned.

    `by_judges` are the same rows by what its components `judges` earned: those that do
    not pay wrong completions about as much as right ones. With the pay of the others a
    right one that is not recognised would seem to be paid. `by_label` tells whether a
    trusted label says which are right.
    """

    answers: Answers
    by_judges: Answers
    judges: tuple[str, ...]
    by_label: bool


def judge_components(
    rows: Sequence[Row],
    earned: Mapping[str, Sequence[float]],
    *,
    routed_by: str | None = None,
    labels: Sequence[bool | None] = (),
) -> JudgedLog:
    """Judge the rows of a log by what each component of the task earned.

    Args:
        rows: As in `judge_log`.
        earned: What each component earned, times its weight.
        routed_by: As in `judge_log`.
        labels: As in `judge_log`.
    """

    def judge(names: Iterable[str]) -> list[LoggedAnswer]:
        columns = [earned[name] for name in names]
        total = list(map(sum, zip(*columns, strict=True)))
        return judge_log(rows, total, routed_by=routed_by, labels=labels)

    answers = by_judges = judge(earned)
    names = tuple(earned)
    verdicts = {id(answer.row): answer.is_right for answer in answers}
    is_right = [verdicts.get(id(row)) for row in rows]
    judges = tuple(name for name in names if _tells_apart(earned[name], is_right))
    if judges and judges != names:
        by_judges = judge(judges)
    return JudgedLog(answers, by_judges, judges or names, bool(labels))


def _tells_apart(earned: Sequence[float], is_right: Sequence[bool | None]) -> bool:
    """Return whether wrong rows earn less than right ones, or nothing."""
    judged = [reward for reward in earned if not math.isnan(reward)]
    least = min(judged, default=0.0)
    rewards_by_verdict: dict[bool | None, list[float]] = defaultdict(list)
    for reward, verdict in zip(earned, is_right, strict=True):
        if not math.isnan(reward):
            rewards_by_verdict[verdict].append(reward - least)
    wrong_mean, right_mean = (
        fmean(rewards_by_verdict[key] or [0.0]) for key in (False, True)
    )
    return wrong_mean <= TELLS_APART * right_mean


def _read_row(row: Row) -> tuple[str | None, Statement]:
    """Return the truth, of several accepted ones the stated one, and the answer."""
    completion = str(row.get("completion"))
    truth = row.get("ground_truth")
    answers = accepted_answers(truth)
    for answer in answers:
        statement = read_statement(completion, answer)
        if answers_truth(statement.answer, answer) or answers == [truth]:
            return answer, statement
    return next(iter(answers), None), read_statement(completion, truth)


def _find_labels(answers: Answers) -> list[LoggedAnswer]:
    """Add the label that half of all answers have, if there is one.

    What lacks it may state nothing; another answer behind it may be right all the same.
    """
    counts = Counter(answer.label for answer in answers if answer.label)
    least = MARKED_SHARE * len(answers)
    usual = [label for label, count in counts.most_common(1) if count >= least]
    if not usual:
        return list(answers)
    return [replace(answer, usual_label=usual[0]) for answer in answers]


def _measure_gains(answers: Answers, *, is_routed: bool) -> list[LoggedAnswer]:
    """Measure what rows earned between the least and the most that a reward gave.

    Parts of a log that one reward pays on scales of their own are measured apart.
    """
    rewards: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        rewards[answer.part].append(answer.reward)
    all_rewards = [answer.reward for answer in answers] or [0.0]
    least, most = min(all_rewards), max(all_rewards)
    ends = {}
    for part, earned in rewards.items():
        low, high = min(earned), max(earned)
        if not is_routed and high - low < OWN_SCALE * (most - least):
            low, high = least, most
        unpaid = [reward for reward in earned if 2 * reward <= low + high]
        if low < 0 and unpaid and mode(unpaid) == 0:  # what is below is a penalty
            low = 0.0
        ends[part] = low, high
    measured: list[LoggedAnswer] = []
    for answer in answers:
        low, high = ends[answer.part]
        if high - low > 1e-9:
            answer = replace(answer, gain=(answer.reward - low) / (high - low))
        measured.append(answer)
    return measured


def _judge_by_truths(answers: Answers) -> list[LoggedAnswer]:
    """Say of each row whether it states the truth, where that is certain.

    Certainly wrong is only an answer that is marked on purpose, or stands alone behind
    the usual label; and none at all, where others have a mark. What stands in a thought
    that most others end is no answer yet.
    """
    written: dict[str, list[str]] = defaultdict(list)
    truths: dict[str, set[str]] = defaultdict(set)
    for answer in answers:
        truth = answer.truth or ""
        truths[answer.part].add(truth)
        if kind_of(truth) == "number" or read_date(truth):
            written[answer.part].append(answer.answer)
    locales = {}
    for part, texts in written.items():
        has_counts = all(truth.strip().isdigit() for truth in truths[part])
        locales[part] = replace(find_locale(texts), has_counts=has_counts)
    is_marked = [answer.is_marked for answer in answers]
    has_marks = bool(answers) and fmean(is_marked) >= MARKED_SHARE
    closings = []
    for name in THINKING:
        closed = [f"</{name}>" in answer.completion for answer in answers]
        if answers and fmean(closed) >= MARKED_SHARE:
            closings.append(name)
    judged: list[LoggedAnswer] = []
    for answer in answers:
        if _is_unfinished(answer.completion, closings):
            answer = replace(answer, statement=NOTHING_STATED)
        is_right = None
        if answer.answer and answer.truth:
            locale = locales.get(answer.part, Locale())
            is_right = answers_truth(answer.answer, answer.truth, locale)
        is_alone = answer.has_usual_label and answer.ends_line
        if not is_right and not (answer.statement.is_marked or is_alone):
            is_right = False if has_marks and answer.states_nothing else None
        judged.append(replace(answer, is_right=is_right))
    return judged


def _is_unfinished(completion: str, closings: Sequence[str]) -> bool:
    """Return whether a completion ends within a thought of one of these tags."""
    for name in closings:
        if completion.rfind(f"<{name}>") > completion.rfind(f"</{name}>"):
            return True
    return False


def _judge_by_siblings(answers: Answers) -> list[LoggedAnswer]:
    """Add that rows are right which state what a sibling was paid for.

    Where a prompt pays all that it was answered, wrong answers too, that says nothing:
    there another number than the truth is a wrong answer.
    """
    by_prompt: dict[tuple[str, str], list[LoggedAnswer]] = defaultdict(list)
    for answer in answers:
        by_prompt[answer.prompt].append(answer)
    open_prompts = set()
    for prompt, siblings in by_prompt.items():
        pays_all = all(answer.is_paid for answer in siblings)
        if pays_all and any(answer.is_right is False for answer in siblings):
            open_prompts.add(prompt)
    paid_answers = {_key(answer) for answer in answers if answer.is_paid}
    judged: list[LoggedAnswer] = []
    for answer in answers:
        is_open = answer.prompt in open_prompts
        is_right = answer.is_right
        if is_right is None and answer.statement.is_marked:
            if is_open and _is_other_number(answer):
                is_right = False
            elif not is_open and _key(answer) in paid_answers:
                is_right = True
        judged.append(replace(answer, is_right=is_right, is_open=is_open))
    return judged


def _is_other_number(answer: LoggedAnswer) -> bool:
    """Return whether an answer is a number, or none at all, and its truth is one."""
    if answer.truth is None or kind_of(answer.truth) != "number":
        return False
    is_number = kind_of(answer.answer) == "number"
    return is_number or not _may_answer(answer.answer, answer.truth)


def _may_answer(text: str, truth: str) -> bool:
    """Return whether a text may be an answer, for a number in any notation."""
    if GIVES_UP.match(text):
        return bool(GIVES_UP.match(truth))
    if kind_of(truth) != "number":
        return True
    return any(map(str.isnumeric, text)) or bool(NUMBER_WORD.search(text))


def _key(answer: LoggedAnswer) -> tuple[str, ...]:
    return (*answer.prompt, answer.statement.mark, answer.answer)
