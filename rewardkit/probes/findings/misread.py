"""Rules that find why right completions of the log are unpaid.

Such completions are tried once more: with the tag that their prompt opened, with the
whole prompt before them, with their marks exchanged, and with their truth in forms that
rewards often expect. The change that makes them earn more is the cause.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

from rewardkit.answers.comparison import answers_truth
from rewardkit.answers.formats import THINKING
from rewardkit.answers.kinds import kind_of
from rewardkit.answers.locales import NUMBER
from rewardkit.answers.logged import UNPAID_TO, LoggedAnswer
from rewardkit.answers.misjudged import are_many
from rewardkit.errors import preview
from rewardkit.findings import Finding, Findings, rule, severity_of
from rewardkit.primitives.messages import NO_JSON, read_strict_json
from rewardkit.probes.code.constants import constants
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import SHARE_OF_RULE, RowOutcome, are_equal, scores_in
from rewardkit.probes.subjects.log import in_turn
from rewardkit.strategies.strategy import (
    OPENED_TAG,
    Row,
    completion_of,
    opened_tag,
    prompt_of,
)

MOST_RIGHT, MOST_WRONG = 8, 4  # rows that are tried once more: our choice
RAISED_SHARE = 0.75
"""Least share of the right rows that must earn more. Of the wrong rows at most a
quarter may. Our choice."""
LEAST_RAISED = 2  # least right rows that must earn more
LEAST_TAG_RISE = 0.05
"""Least rise by a tag, as a share of the span of all rewards. Our choice: its length
alone may be paid."""
LEAST_REWARD_RISE = 0.5
"""Least rise of a row, as a share of the span of all rewards. Our choice."""

MISREAD = ("prompt_left_out", "prompt_read", "first_mark_read", "truth_unread")
"""Codes of causes for which right completions of the log are not paid."""
PAYING_ALL = ("prompt_read", "truth_unread")
"""Those for which wrong ones may be paid as well."""

ANSWER_MARK = re.compile(
    r"\\boxed\{[^{}\n]{0,80}\}|<(\w{1,30})>[^<>\n]{0,80}</\1>|####[^\n]{0,40}"
)
"""A mark of an answer: in a completion, or in a prompt that gives an example."""
PROMPT_CHANGES = (
    ("marks", "no answer mark in their prompts", ANSWER_MARK),
    ("blank", "their prompts left blank", re.compile(r"(?s).+")),
)
"""Parts that are removed from prompts: a name, the words for it, and its pattern."""
TRUTH_KEY = re.compile(r"[A-Za-z]\w{1,30}")
MOST_TRUTH_KEYS = 12  # texts of the code that are tried as keys of a truth: our choice
TRUTH_FORMS = ("#### {}", r"\boxed{{{}}}", "<answer>{}</answer>")
"""How data sets mark the answer of a truth."""


class Rereading(NamedTuple):
    """Another way to put a row before the reward.

    `code` is that of the finding if right rows earn more this way. `form` is its name
    among other ways, `says` the words for the change; `completion` and `columns` are
    the new values.
    """

    code: str
    form: str
    says: str
    completion: str
    columns: dict[str, Any]


def _reread(answer: LoggedAnswer, keys: Sequence[str]) -> Iterator[Rereading]:
    """Yield ways to put a row before the reward, beginning with the row as it is."""
    text = answer.completion
    yield Rereading("", "", "", text, {})
    prompt = prompt_of(answer.row)
    tag = opened_tag(answer.row)
    if tag:
        yield Rereading("prompt_left_out", tag, _says_opened(tag), tag + text, {})
    says = "their prompts before them"
    yield Rereading("prompt_left_out", "prompt", says, prompt + text, {})
    for form, says, pattern in PROMPT_CHANGES:
        changed = _without(pattern, answer.row.get("prompt"))
        if changed != answer.row.get("prompt"):
            yield Rereading("prompt_read", form, says, text, {"prompt": changed})
    if text.startswith(prompt):
        says = "the prompts cut off that their texts begin with"
        yield Rereading("prompt_read", "prefix", says, text.removeprefix(prompt), {})
    exchanged = _exchange_marks(text)
    if exchanged != text:
        says = "their first and their last mark exchanged"
        yield Rereading("first_mark_read", "exchanged", says, exchanged, {})
    truth = answer.row.get("ground_truth")
    for form, other in _forms_of_truth(truth, answer.truth, keys):
        if other != truth or type(other) is not type(truth):
            says = f"a truth such as {other!r} in place of {preview(truth)}"
            yield Rereading("truth_unread", form, says, text, {"ground_truth": other})


def _forms_of_truth(
    truth: Any, answer: str | None, keys: Sequence[str]
) -> Iterator[tuple[str, Any]]:
    """Yield a truth in other forms, each with its name."""
    number = _only_number(truth)
    options = {"answer": answer, "number": number}
    options = {name: text for name, text in options.items() if text is not None}
    yield from options.items()
    for (name, text), form in product(options.items(), TRUTH_FORMS):
        yield f"{name} in {form}", form.format(text)
    bare = number or answer
    value = read_strict_json(str(truth)) if not isinstance(truth, dict) else truth
    if isinstance(value, dict):
        objects: dict[str, Any] = {f"key {key}": {**value, key: bare} for key in keys}
        objects["object"] = value
        for name, item in objects.items():
            if isinstance(truth, str) == (name != "object"):
                item = json.dumps(item, default=str)
            yield name, item
    elif isinstance(truth, str | int | float) and bare is not None:
        yield "list", [bare]
        if value is not None and value is not NO_JSON:
            yield "value", value


def _only_number(truth: Any) -> str | None:
    """Return the number in a truth; None if it has several numbers or none."""
    numbers = {*NUMBER.findall(str(truth))}
    return numbers.pop() if len(numbers) == 1 else None


def _judge_by_number(answer: LoggedAnswer) -> bool | None:
    """Return whether an answer is the only number of its truth; None without one.

    A number within an unmarked text is no answer.
    """
    number = _only_number(answer.row.get("ground_truth"))
    is_stated = answer.statement.is_marked or kind_of(answer.answer) == "number"
    if number is None or not is_stated:
        return None
    return answers_truth(answer.answer, number)


def _are_most(moved: Sequence[Any], sample: Sequence[Any]) -> bool:
    """Return whether a change moved enough rows of a sample to be the cause."""
    return len(moved) >= max(LEAST_RAISED, RAISED_SHARE * len(sample))


def _says_opened(tag: str) -> str:
    return f"{tag.strip()}, which their prompts have opened, before them"


def _without(pattern: re.Pattern[str], prompt: Any) -> Any:
    """Return a prompt, a text or messages, without the matches of a pattern."""
    if isinstance(prompt, str):
        return pattern.sub("", prompt)
    if isinstance(prompt, list):
        return [_without(pattern, turn) for turn in prompt]
    if isinstance(prompt, dict):
        return {**prompt, "content": _without(pattern, prompt.get("content"))}
    return prompt


def _exchange_marks(completion: str) -> str:
    """Exchange the first and the last mark of a completion, if they are of one kind.

    A reward that wants a single mark pays neither text.
    """
    marks = [
        mark for mark in ANSWER_MARK.finditer(completion) if mark[1] not in THINKING
    ]
    if len(marks) < 2 or marks[0][1] != marks[-1][1]:
        return completion
    first, last = marks[0], marks[-1]
    between = completion[first.end() : last.start()]
    before, behind = completion[: first.start()], completion[last.end() :]
    return f"{before}{last[0]}{between}{first[0]}{behind}"


@rule(*MISREAD)
def misread_rows(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report a change that makes unpaid right completions earn more.

    Or one that makes wrong completions earn less that are paid like right ones: right
    completions of other prompts are tried for that. If no truth says which completions
    are right, those with the only number of their truth count as right. Components for
    form alone are left out, since nothing is known to be right for them.
    """
    if observed.unread_truth and not observed.has_one_component:
        return
    answers = in_turn(observed.logged, lambda answer: answer.prompt)
    if not any(answer.is_right for answer in answers):
        answers = [
            replace(answer, is_right=_judge_by_number(answer)) for answer in answers
        ]
    wrong = [answer for answer in answers if answer.is_right is False]
    right = [answer for answer in answers if answer.is_right]
    right.sort(key=lambda answer: not answer.is_marked)
    lost = [answer for answer in right if not answer.gain > UNPAID_TO]  # or NaN
    others = [answer for answer in right if answer.is_paid]
    cause = None
    if are_many(lost, right):
        cause = _find_cause(observed, lost, wrong, others, 1, len(right))
    if cause is None:
        strangers = _strangers(observed, right)
        rewards = observed.tries.retry([answer.row for answer in strangers])
        pairs = zip(strangers, rewards, strict=True)
        gained = [answer for answer, reward in pairs if reward >= answer.reward - 1e-9]
        if are_many(gained, strangers):
            cause = _find_cause(observed, gained, right, [], -1, len(strangers))
    if cause is not None:
        yield cause


def _strangers(observed: Observed, right: Sequence[LoggedAnswer]) -> list[LoggedAnswer]:
    """Pair prompts on which an answer is paid with right completions of others."""
    strangers = []
    others = [answer for answer in right if answer.reward > 0 and not answer.is_unpaid]
    for answer in others[: 2 * MOST_RIGHT]:
        for other in reversed(others):
            text = other.completion
            if other.truth != answer.truth and str(answer.truth) not in text:
                row = observed.tries.varied(answer.row, text)
                strangers.append(replace(answer, row=row, is_right=False))
                break
    return strangers


def _find_cause(
    observed: Observed,
    at_fault: Sequence[LoggedAnswer],
    opposite: Sequence[LoggedAnswer],
    others: Sequence[LoggedAnswer],
    sign: int,
    n: int,
) -> Finding | None:
    """Find a change that moves the rows at fault, and no others.

    Args:
        observed: What was observed of the reward.
        at_fault: Right rows that must earn more, or wrong ones that must earn less.
        opposite: Rows with the other verdict, which may not move the same way.
        others: Rows with the same verdict, which may not move the other way.
        sign: 1 for more, -1 for less.
        n: The number of rows with the verdict of those at fault.
    """
    sample = at_fault[:MOST_RIGHT]
    moved = _count_moved(observed, sample, sign)
    moved_beside = _count_moved(observed, opposite[:MOST_WRONG], sign)
    # a change that costs other rows their pay is no cause
    moved_back = _count_moved(observed, others[:MOST_WRONG], -sign)
    for form, hits in moved.items():
        reread, reward, row = hits[0]
        # a reward for form may look for nothing but the tag that the prompt opened
        allowed = MOST_WRONG if OPENED_TAG.fullmatch(form) else MOST_WRONG // 4
        is_certain = len(moved_beside.get(form, ())) <= allowed
        if sign < 0:
            is_certain = reread.code in PAYING_ALL and form not in moved_beside
        if form in moved_back or not is_certain or not _are_most(hits, sample):
            continue
        paid_answers = [answer for answer in observed.logged if answer.is_paid]
        return observed.finding(
            reread.code,
            len(sample),
            len(hits),
            severity=severity_of(len(at_fault) / n),
            rows=[(row, reward)],
            gain=1.0,
            lost=len(at_fault),
            right=n,
            what=reread.says,
            trait="gained" if sign < 0 else "",
            is_partly_paid=reward > 1e-9,
            in_log=sum(answer.states_nothing for answer in paid_answers),
        )
    return None


def _count_moved(
    observed: Observed, answers: Sequence[LoggedAnswer], sign: int
) -> dict[str, list[tuple[Rereading, float, Row]]]:
    """Return the changes that made rows earn more, or less with `sign` -1, by form.

    Each comes with the former reward and the row.
    """
    tries = observed.tries
    rewards = observed.calibration.rewards
    least_change = max(1e-9, LEAST_REWARD_RISE * (max(rewards) - min(rewards)))
    texts = constants(observed.reward.functions)
    keys = [key for key in texts if isinstance(key, str) and TRUTH_KEY.fullmatch(key)]
    plans = []
    for answer in answers:
        ways = _reread(answer, keys[:MOST_TRUTH_KEYS])
        plans += [(answer, reread) for reread in ways]
    rows = [
        tries.varied(answer.row, reread.completion, **reread.columns)
        for answer, reread in plans
    ]
    rewards = tries.retry(rows)
    moved = defaultdict(list)
    before = math.nan
    for (answer, reread), reward in zip(plans, rewards, strict=True):
        if not reread.code:
            before = reward
        elif sign * (reward - before) > least_change:
            moved[reread.form].append((reread, before, answer.row))
    return moved


class Continuation(NamedTuple):
    """A row whose completion begins in the tag that its prompt opened."""

    row: Row
    outcome: RowOutcome
    tag: str


@rule("prompt_left_out")
def unearned_forms(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report what wants a tag which the prompts have opened already.

    It is a component that no completion earns as it is, or a lone reward, whose parts
    are unknown. Most completions earn more with the tag before them.
    """
    continued = _find_continuations(observed)
    if not continued or any(item.code == "prompt_left_out" for item in findings):
        return
    sample = in_turn(continued, lambda item: prompt_of(item.row))[:MOST_RIGHT]
    rows = []
    for row, _, tag in sample:
        rows.append(observed.tries.varied(row, f"{tag}{row.get('completion')}"))
    outcomes = observed.tries.outcomes(rows, share=SHARE_OF_RULE)
    rewards = observed.calibration.rewards
    span = max(rewards) - min(rewards)
    is_lone = observed.has_one_component
    least_rise = LEAST_TAG_RISE * span if is_lone else 1e-9
    for name in observed.components:
        scores = scores_in((item.outcome for item in continued), name)
        if not scores or not (is_lone or are_equal(scores)):
            continue
        rises = []
        raised = []
        for item, outcome in zip(sample, outcomes, strict=True):
            pair = [row.scores.get(name, math.nan) for row in (item.outcome, outcome)]
            own_rise = pair[1] - pair[0]
            # the weight of a part of a recorded total stands in the total alone
            rise = outcome.reward - item.outcome.reward
            if math.isnan(rise):  # another component did not judge the row
                rise = own_rise
            if abs(own_rise) > 1e-9 and rise > least_rise:
                rises.append(rise)
                raised.append(item)
        if _are_most(raised, sample):
            first, rise = raised[0], fmean(rises)
            yield observed.finding(
                "prompt_left_out",
                len(sample),
                len(raised),
                component=name,
                rows=[(first.row, first.outcome.reward)],
                gain=rise / (span if is_lone and span else span + rise),
                trait="tag" if is_lone else "form",
                lost=len(continued),
                right=len(observed.pool),
                what=_says_opened(first.tag),
                rise=rise,
                span=span,
            )


def _find_continuations(observed: Observed) -> list[Continuation]:
    """Find the rows without the tag that their prompts open, the best paid first."""
    continued = []
    for row, outcome in observed.pool:
        tag = opened_tag(row)
        if tag and tag.strip() not in completion_of(row):
            continued.append(Continuation(row, outcome, tag))
    return sorted(continued, key=lambda item: -item.outcome.reward)


@rule("prompt_read")
def forms_of_prompts(observed: Observed, findings: Findings) -> Iterator[Finding]:
    """Report completions without a mark that are paid for the mark in their prompts."""
    if any(item.code == "prompt_read" for item in findings):
        return
    logged = []
    for answer in in_turn(observed.logged, lambda answer: answer.prompt):
        prompt = answer.row.get("prompt")
        if _without(ANSWER_MARK, prompt) != prompt:
            logged.append(answer)
    unmarked = [item for item in logged if not ANSWER_MARK.search(item.completion)]
    marked = [item for item in logged if ANSWER_MARK.search(item.completion)]
    sample = unmarked[:MOST_RIGHT]
    fallen = _fallen_without_mark(observed, sample)
    if not _are_most(fallen, sample):
        return
    if _fallen_without_mark(observed, marked[:MOST_WRONG]):
        return  # the mark may be a part of the task
    row, before, after = fallen[0]
    rewards = [*observed.calibration.rewards, after]
    yield observed.finding(
        "prompt_read",
        len(sample),
        len(fallen),
        severity="warn",
        rows=[(row, before)],
        gain=(before - after) / (max(rewards) - min(rewards)),
        trait="form",
        lost=len(unmarked),
        right=len(logged),
        before=before,
        after=after,
    )


def _fallen_without_mark(
    observed: Observed, answers: Sequence[LoggedAnswer]
) -> list[tuple[Row, float, float]]:
    """Return rows that earn less without a mark in their prompts, with both rewards."""
    tries = observed.tries
    rows = [tries.varied(answer.row, answer.completion) for answer in answers]
    unmarked = []
    for row in rows:
        prompt = _without(ANSWER_MARK, row.get("prompt"))
        unmarked.append(tries.varied(row, prompt=prompt))
    results = zip(rows, tries.retry(rows), tries.retry(unmarked), strict=True)
    return [result for result in results if result[1] - result[2] > 1e-9]
