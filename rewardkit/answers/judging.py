"""Which completions of a log are right: by a label, by truths, by their siblings."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, mode

from rewardkit.answers.comparison import accepted_answers, answers_truth
from rewardkit.answers.formats import THINKING
from rewardkit.answers.kinds import kind_of
from rewardkit.answers.locales import USUAL_LOCALE, Locale, find_locale, read_date
from rewardkit.answers.logged import Answers, LoggedAnswer, Row, may_answer
from rewardkit.answers.stated import NOTHING_STATED, Statement, read_statement

MARKED_SHARE = 0.5
"""Share of marked answers from which one without a mark states nothing. Our choice."""
TELLS_APART = 0.5
"""What wrong completions earn of a component at most, on average, as a share of what
right ones earn, where it tells them apart. Our choice."""
OWN_SCALE = 0.5
"""Share of the span of all rewards from which that of a part is a scale of its own. Our
choice."""


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
    labels: Sequence[bool | None],
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
    means = []
    for side in (False, True):
        rewards = [0.0]
        for reward, verdict in zip(earned, is_right, strict=True):
            if verdict is side and not math.isnan(reward):
                rewards.append(reward - least)
        means.append(fmean(rewards[1:] or rewards))
    return means[0] <= TELLS_APART * means[1]


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
        if not math.isnan(reward):
            part = str(row.get(routed_by or "data_source") or "")
            read = _read_row(row)
            answers.append(LoggedAnswer(row, part, *read, reward, is_right=is_right))
    answers = _measure_gains(_find_labels(answers), is_routed=bool(routed_by))
    return answers if labels else _judge_by_siblings(_judge_by_truths(answers))


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


def _find_labels(answers: Answers) -> Answers:
    """Add the label that half of all answers have, if there is one.

    What lacks it may state nothing; another answer behind it may be right all the same.
    """
    counts = Counter(answer.label for answer in answers if answer.label)
    for label, count in counts.most_common(1):
        if count >= MARKED_SHARE * len(answers):
            return [replace(answer, usual_label=label) for answer in answers]
    return answers


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
    locales = _find_locales(answers)
    least = MARKED_SHARE * len(answers)
    has_marks = sum(answer.is_marked for answer in answers) >= least
    closings = []
    for name in THINKING:
        if sum(f"</{name}>" in answer.completion for answer in answers) >= least:
            closings.append(name)
    judged: list[LoggedAnswer] = []
    for answer in answers:
        if _is_unfinished(answer.completion, closings):
            answer = replace(answer, statement=NOTHING_STATED)
        is_right = None
        if answer.answer and answer.truth:
            locale = locales.get(answer.part, USUAL_LOCALE)
            is_right = answers_truth(answer.answer, answer.truth, locale)
        is_alone = answer.has_usual_label and answer.ends_line
        if not is_right and not (answer.statement.is_marked or is_alone):
            is_right = False if has_marks and answer.states_nothing else None
        judged.append(replace(answer, is_right=is_right))
    return judged


def _find_locales(answers: Answers) -> dict[str, Locale]:
    """Find how numbers and dates are written in each part of a log that has some."""
    texts: dict[str, list[str]] = defaultdict(list)
    are_counts: dict[str, bool] = defaultdict(lambda: True)
    for answer in answers:
        truth = answer.truth or ""
        are_counts[answer.part] &= truth.strip().isdigit()
        if kind_of(truth) == "number" or read_date(truth):
            texts[answer.part].append(answer.answer)
    locales = {}
    for part, written in texts.items():
        locales[part] = replace(find_locale(written), has_counts=are_counts[part])
    return locales


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
    paid_answers = {answer.statement_key for answer in answers if answer.is_paid}
    judged: list[LoggedAnswer] = []
    for answer in answers:
        is_open = answer.prompt in open_prompts
        is_right = answer.is_right
        if is_right is None and answer.statement.is_marked:
            if is_open and _is_other_number(answer):
                is_right = False
            elif not is_open and answer.statement_key in paid_answers:
                is_right = True
        judged.append(replace(answer, is_right=is_right, is_open=is_open))
    return judged


def _is_other_number(answer: LoggedAnswer) -> bool:
    """Return whether an answer is a number, or none at all, and its truth is one."""
    if answer.truth is None or kind_of(answer.truth) != "number":
        return False
    is_number = kind_of(answer.answer) == "number"
    return is_number or not may_answer(answer.answer, answer.truth)
