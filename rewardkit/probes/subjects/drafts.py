r"""Subjects whose right answer is known, from the truth or from a right completion.

If the truth states an answer, it is written in the format that is paid best. Otherwise
the right answer is read from the mark of a right completion. A mark is accepted by
trial: the reward must be lost if the mark is empty or holds another prompt's answer.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from os.path import commonprefix
from statistics import fmean

import numpy as np
import pandas as pd

from rewardkit.analysis.statistics import Mask
from rewardkit.answers.comparison import answers_truth, read_only_truth
from rewardkit.answers.formats import Format, propose_formats, skeleton
from rewardkit.answers.kinds import (
    ESTIMATE,
    are_estimates,
    common_kind,
    kind_of,
    kind_of_stated,
    read_truth,
    states_list,
)
from rewardkit.answers.marks import LOOSE_MARKS, MarkedAnswer, find_marks
from rewardkit.answers.stated import read_statement
from rewardkit.primitives.texts import normal_text
from rewardkit.probes.subjects.log import ScoredPart, in_turn
from rewardkit.probes.subjects.scales import ENOUGH, TELLS, Placed
from rewardkit.strategies.strategy import (
    Subject,
    nearest_answer,
    wrong_answers,
)

MOST_WRONG = 6  # wrong answers of a subject
TEXTS_WITH_FORMATS = 48  # completions, the best paid, whose formats are tried
FORMAT_TRIALS = 3  # prompts on which a format is tried
MOST_OTHERS = 3  # right answers to other prompts that a subject keeps
FORMATS_AT_A_TIME = 8  # formats that are tried at a time; 2 where calls are slow
IDLE_WAVES = 3  # waves without a better format than a fully paid one, that end it
MARK_TRIALS = 4  # right completions on which marks are tried

MAY_LOSE = 0.5
"""Share of the span that an answer may lose in another completion and still be paid.
Our choice."""

READ_KINDS = ("number", "choice", "json")
"""Kinds whose answers are parsed, so that each answer must be of the kind."""

LEAST_STATED = 4  # least completions that state the truth, or do not: our choice
RIGHT_PAID, OTHERS_PAID = 0.8, 0.5
"""Shares paid by a reward that tells right from wrong: at least of the completions that
state their truth, at most of the others. Our choice."""

LEAST_ANSWERS = 3  # different answers from which shared text is no part of them

# --- from the truth


def drafts(part: ScoredPart) -> Iterator[tuple[int, Subject]]:
    """Yield subjects without a format, each with the place of its row.

    Different answers come first. A prompt is left out if its truth states no answer, or
    if no answer is certainly wrong.
    """
    scored = [place for place in part.places if place in part.outcomes]
    places = dict.fromkeys([*scored, *part.places])
    answers = _state_answers(part, places)
    # if no completion writes JSON, a JSON truth is a record and no answer
    writes_objects = any(re.search(r"[{\[]", part.text(place)) for place in scored)
    stated = [
        place
        for place, answer in answers.items()
        if writes_objects or kind_of(answer) != "json"
    ]
    firsts = [group[0] for group in part.by_prompt(stated).values()]
    for place in in_turn(firsts, answers.__getitem__):
        draft = _make_draft(part, place, answers, kind_of(answers[place]))
        if draft is not None:
            yield place, draft


def _make_draft(
    part: ScoredPart, place: int, answers: Mapping[int, str], kind: str
) -> Subject | None:
    """Make a subject without a format; None if no answer is certainly wrong.

    `answers` are the right ones of all rows. Another row's answer is wrong here, unless
    both rows have the same truth.
    """
    answer, truth = answers[place], part.truth(place)
    different = {
        answers[row] for row in answers if not truth or part.truth(row) != truth
    }
    others = sorted(different)
    draft = replace(part.plain(place), answer=answer, kind=kind)
    wrong = wrong_answers(answer, kind, prompt=draft.prompt, others=others)
    if not wrong:
        return None
    apart = [other for other in others if normal_text(other) != normal_text(answer)]
    spread = apart[:: max(1, len(apart) // MOST_OTHERS)][:MOST_OTHERS]
    nearest = nearest_answer(answer, others) if kind == "text" else ""
    wrong = wrong[:MOST_WRONG]
    return replace(draft, wrong=wrong, others=tuple(spread), nearest=nearest)


def _state_answers(part: ScoredPart, places: Iterable[int]) -> dict[int, str]:
    """Return the answer that each truth states, by place.

    A list states its first item, or the whole list if completions write lists. It
    states no answer if right completions name all items and never a single one.
    """
    truths = {place: part.rows[place].get("ground_truth") for place in places}
    lists = {
        place: truth
        for place, truth in truths.items()
        if isinstance(truth, list | tuple) and len(truth) > 1
    }
    writes_lists = state_all = state_one = False
    for place, items in lists.items():
        writes_lists |= states_list(part.text(place), items)
        if _is_right(part, place):
            answer = read_statement(part.text(place), items).answer
            texts = [str(item) for item in items]
            state_all |= all(normal_text(text) in normal_text(answer) for text in texts)
            state_one |= any(answers_truth(answer, text) for text in texts)
    answers = {}
    for place, truth in truths.items():
        if writes_lists and isinstance(truth, list):
            truth = json.dumps(truth, ensure_ascii=False)
        elif place in lists and state_all and not state_one:
            continue
        stated = read_truth(truth)
        if stated is not None:  # "$7$" is 7, in mathematics
            answers[place] = re.sub(r"^\$([^$]+)\$$", r"\1", stated)
    return answers


def with_format(draft: Subject, option: Format) -> Subject:
    """Return the subject with its completions written in this format.

    A mark or unit that is part of the right answer is not written twice. The wrong
    program is the right one with empty functions, since a checker calls them by name.
    """
    option = option.without_doubles(draft.right)
    return replace(
        draft,
        format=option,
        reference=option.write(draft.right),
        baseline=option.write(draft.stub or draft.wrong[0]),
    )


@dataclass(frozen=True)
class BestFormat:
    """The format in which right answers earn most above wrong ones, if any.

    Attributes:
        format: The format.
        is_fully_paid: Whether right answers in it earn as much as the best rollouts.
        is_inverted: Whether wrong answers earn more in some format.
        is_tried: Whether any format was judged.
    """

    format: Format | None = None
    is_fully_paid: bool = False
    is_inverted: bool = False
    is_tried: bool = False


def best_format(part: ScoredPart, drafted: Placed, *, is_slow: bool) -> BestFormat:
    """Find the best format by trial; formats of rollouts and prompts come first.

    Args:
        part: Rollouts of one part of the log.
        drafted: Subjects without a format.
        is_slow: Whether there is no time for many tries.
    """
    if not drafted:
        return BestFormat()
    count, at_a_time = (1, 2) if is_slow else (FORMAT_TRIALS, FORMATS_AT_A_TIME)
    chosen = drafted[:count]
    best_paid = part.ranked(part.places)[:TEXTS_WITH_FORMATS]
    texts = list(map(part.text, best_paid))
    prompts = [draft.prompt for _, draft in chosen]
    candidates = propose_formats(texts, prompts, chosen[0][1].kind)
    # a prompt without a fully paid rollout says nothing about a format
    highest = [max(map(part.earned, part.group(place))) for place, _ in chosen]
    is_paid = np.array(highest) >= ENOUGH * part.high
    if not is_paid.any():
        is_paid[:] = True
    best = None
    is_full = is_inverted = is_tried = False
    rank, idle = (1e-9, 0.0), 0
    while idle < IDLE_WAVES and part.tries.seconds_left > part.tries.budget / 2:
        if best and part.tries.late:
            break  # unusual forms may be late as well
        wave = list(islice(candidates, at_a_time))
        if not wave:
            break
        idle += is_full
        for option, right, wrong in _score_formats(part, wave, chosen, is_paid):
            is_tried |= not math.isnan(right)
            is_inverted |= right - wrong < -1e-9
            option_rank = round(right - wrong, 6), round(right, 6)
            if option_rank > rank:  # NaN is never better
                best, rank, idle = option, option_rank, 0
                is_full = rank[1] >= ENOUGH * part.high
    return BestFormat(best, is_full, is_inverted, is_tried)


def _score_formats(
    part: ScoredPart, formats: Sequence[Format], drafted: Placed, is_paid: Mask
) -> Iterator[tuple[Format, float, float]]:
    """Yield each format with the mean rewards of right and of wrong answers in it.

    The means are over the drafts in `is_paid`, (drafts,), without what was not judged.
    """
    written = []
    for form, (_, draft) in product(formats, drafted):
        written.append(with_format(draft, form))
    rewards = part.score_answers(written).reshape(len(formats), len(drafted), 2)
    for form, earned in zip(formats, rewards[:, is_paid], strict=True):
        right, wrong = pd.DataFrame(earned).mean().tolist()  # without NaN
        if math.isnan(wrong):
            wrong = min(right, 0.0)
        yield form, right, wrong


def skeletons(part: ScoredPart, place: int, draft: Subject) -> Iterator[Format]:
    """Yield formats of rollouts that state the right answer, the best paid first."""
    siblings = part.ranked(part.group(place))
    for is_last in (False, True):  # an agent may name the answer on the way
        for sibling in siblings:
            if is_last or not part.labels or part.labels[sibling]:
                form = skeleton(part.text(sibling), draft.right, last=is_last)
                if form is not None:
                    yield form


# --- from right completions


def logged(
    part: ScoredPart, count: int, *, has_estimates: bool
) -> list[tuple[int, Subject]]:
    """Make subjects of right completions, with the wrong answers of other prompts.

    Args:
        part: Rollouts of one part of the log.
        count: The most prompts.
        has_estimates: Whether answers estimate how likely the truths are.

    Returns:
        Places and subjects, two of each prompt: with neutral reasoning and as it is.
    """
    right = part.by_prompt(
        place for place in part.ranked(part.places) if _is_right(part, place)
    )
    marks = {}
    for place, *_ in list(right.values())[:count]:
        in_text = find_marks(part.text(place))
        marks[place] = {mark.format.name: mark for mark in in_text}
    name = _find_mark(part, dict(islice(marks.items(), MARK_TRIALS)))
    if name is None:
        return []
    stated = {
        place: _sharpen(named, name) for place, named in marks.items() if name in named
    }
    if name in LOOSE_MARKS:
        stated = _tighten(stated)
    kind = kind_of_stated([mark.answer for mark in stated.values()], name)
    if has_estimates:
        kind = ESTIMATE
    answers = {place: mark.answer for place, mark in stated.items()}
    subjects = []
    for place, mark in stated.items():
        if kind in READ_KINDS and kind_of(mark.answer) != kind:
            continue  # "none" among numbers is no number
        draft = _make_draft(part, place, answers, kind)
        if draft is not None:
            worse = _find_unpaid(part, place, name).format
            for form in dict.fromkeys((mark.format.neutralized(), mark.format)):
                subjects.append((place, replace(with_format(draft, form), worse=worse)))
    return subjects


def states_estimates(part: ScoredPart) -> bool:
    """Return whether completions estimate how likely the truths are."""
    places = [place for place in part.places if place in part.outcomes]
    truths = [part.rows[place].get("ground_truth") for place in places]
    texts = map(part.text, places)
    return are_estimates(truths, [read_statement(text).answer for text in texts])


def _sharpen(named: Mapping[str, MarkedAnswer], name: str) -> MarkedAnswer:
    """Return the mark of a row; of a marked line the clearer mark in it, if any."""
    mark = named[name]
    if name != "line":
        return mark
    for inner in (named.get("box"), named.get("colon")):
        if inner is None or inner.answer not in mark.answer:
            continue
        if inner.format.name == "box" or inner.format.opening.endswith(": "):
            return inner  # the colon of "=SUM(B2:B7)" is no mark
    return mark


def _tighten(stated: dict[int, MarkedAnswer]) -> dict[int, MarkedAnswer]:
    """Move the text that all answers share into the mark: "4. I am sure." becomes "4".

    Programs and queries are left as they are, since they share their first word.
    """
    answers = [mark.answer for mark in stated.values()]
    if len(set(answers)) < LEAST_ANSWERS or common_kind(answers) == "code":
        return stated
    start = commonprefix(answers)  # noqa: RUF071  (texts, not paths)
    end = commonprefix([answer[::-1] for answer in answers])  # noqa: RUF071
    before = re.sub(r"[\w.,+-]*\Z", "", start)
    # ".5" ends a number, ". I am sure." does not
    after = re.sub(r"(?:[\w,]|(?<=\d)\.)*\Z", "", end)[::-1]
    if min(map(len, answers)) <= len(before + after):
        return stated
    tight = {}
    for place, mark in stated.items():
        form = replace(
            mark.format,
            opening=mark.format.opening + before,
            closing=after + mark.format.closing,
        )
        answer = mark.answer.removeprefix(before).removesuffix(after)
        tight[place] = MarkedAnswer(form, answer)
    return tight


def _is_right(part: ScoredPart, place: int) -> bool:
    """Return whether a row is right: by label, else if it has a truth and full pay."""
    if part.labels:
        return part.labels[place] is True
    if not part.truth(place) or part.span * ENOUGH <= 1e-9:
        return False
    return part.earned(place) - part.low >= ENOUGH * part.span


MarkTrial = tuple[int, str, bool]
"""Place of a row, a completion for it, and whether that must lose the reward."""


def _find_mark(
    part: ScoredPart, marks: Mapping[int, Mapping[str, MarkedAnswer]]
) -> str | None:
    """Find the mark that holds the answer in right completions, by three trials.

    1. The reward is lost if the mark is empty.
    2. It is lost if the mark holds another prompt's answer, or one that is paid less.
    3. The right answer is paid in the mark of a completion that is paid less.

    The first mark that passes all three is taken; else one that fails only the second
    (paying another prompt's answer is a fault), else one that fails only the third.

    `marks` has, for the place of each right completion, its marks by name.
    """
    by_name: dict[str, dict[int, MarkedAnswer]] = defaultdict(dict)
    for place, named in marks.items():
        for name, mark in named.items():
            by_name[name][place] = mark
    trials = {}
    completions = []
    fewest_rows = max(min(2, len(marks)), len(marks) - 1)
    for name, in_rows in by_name.items():
        if len(in_rows) >= fewest_rows:
            plan = _plan_mark_trials(part, name, in_rows)
            trials[name] = plan
            completions += [(part.plain(place), text) for place, text, _ in plan]
    rewards = iter(part.score_all(completions))
    ranks = {}
    for name, plan in trials.items():
        passes = []
        for place, _, must_lose in plan:
            loss = part.earned(place) - next(rewards)
            limit = (TELLS if must_lose else MAY_LOSE) * part.span
            is_lost = not loss <= limit  # NaN, not judged, counts as lost
            passes.append(is_lost is must_lose)
        count = len(plan) // 3
        is_needed = sum(passes[0::3]) >= count - 1
        is_exchanged = sum(passes[1::3]) >= count - 1
        is_carried = sum(passes[2::3]) >= count
        if is_needed and (is_exchanged or is_carried):
            ranks[name] = not is_carried, not is_exchanged
    return min(ranks, key=ranks.__getitem__, default=None)


def _plan_mark_trials(
    part: ScoredPart, name: str, in_rows: Mapping[int, MarkedAnswer]
) -> list[MarkTrial]:
    """Plan three trials of a mark for each row: empty, exchanged, carried elsewhere."""
    marks = list(in_rows.values())
    worse = [_find_unpaid(part, place, name) for place in in_rows]
    partners = [*marks[1:], marks[0]]
    if len({partner.answer for partner in partners}) < 2:
        partners = worse
    trials = []
    for place, mark, partner, unpaid in zip(
        in_rows, marks, partners, worse, strict=True
    ):
        elsewhere = unpaid if unpaid.format.name == name else partner
        trials.append((place, mark.format.write(""), True))
        trials.append((place, mark.format.write(partner.answer), True))
        trials.append((place, elsewhere.format.write(mark.answer), False))
    return trials


def _find_unpaid(part: ScoredPart, place: int, name: str) -> MarkedAnswer:
    """Find this mark in a less paid completion of the prompt; else take its text."""
    enough = part.earned(place) - MAY_LOSE * part.span
    unpaid = []
    for other in part.ranked(part.group(place)):
        if part.earned(other) < enough:
            unpaid.append(part.text(other))
            for mark in find_marks(unpaid[-1]):
                if mark.format.name == name:
                    return mark
    return MarkedAnswer(Format("bare"), unpaid[0] if unpaid else "none of these")


def tells_answers_apart(part: ScoredPart) -> bool:
    """Return whether completions that state their truth are paid, and few others.

    Only marked answers of the truth's kind count as others: a reward that does not pay
    "none" where numbers are right may check the form alone.
    """
    right = []
    others = []
    for place in part.ranked(part.places):
        truth = part.rows[place].get("ground_truth")
        right_answer = read_only_truth(truth)
        stated = read_statement(part.text(place), truth)
        if right_answer is None or not stated.is_marked:
            continue
        is_paid = part.earned(place) - part.low >= MAY_LOSE * part.span
        if answers_truth(stated.answer, right_answer):
            right.append(is_paid)
        elif kind_of(stated.answer) == kind_of(right_answer):
            others.append(is_paid)
    if min(len(right), len(others)) < LEAST_STATED:
        return False
    return fmean(right) >= RIGHT_PAID and fmean(others) <= OTHERS_PAID


def against_unpaid(part: ScoredPart, place: int, subject: Subject) -> Subject:
    """Return the subject with the answer of an unpaid sibling as its first wrong one.

    Return it unchanged if no unpaid sibling states an answer in the same mark.
    """
    unpaid = _find_unpaid(part, place, subject.format.name)
    if unpaid.format.name != subject.format.name:
        return subject
    wrong = (unpaid.answer, *subject.wrong)
    return with_format(replace(subject, wrong=wrong), subject.format)
