"""Features of completions whose share may change during training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from rewardkit.analysis.rehearsal.kinds import MARK, NO_MARK, form_of, name_marks
from rewardkit.analysis.statistics import Codes, Floats, Mask
from rewardkit.answers.stated import UNCLOSED, Statement
from rewardkit.answers.wordings import both_ends, find_wordings
from rewardkit.monitoring.readings import ATTACKS, CompletionReading

LEAST_FEATURE_SHARE = 0.02
"""Least share of the rows that show a watched form or wording. Our choice."""
SHORTEST_COPIED = 12
"""Least characters of a prompt whose repetition is a copy. Our choice."""
LONG, SHORT = 0.9, 0.1
"""Quantiles of the early lengths beyond which a completion is long or short."""
LEAST_LONGER = 1.2
"""Least length of a long completion, in median lengths. Our choice."""


@dataclass(frozen=True, eq=False)
class Feature:
    """A feature that some completions have.

    `does` and `does_not` complete the sentence "completions that ..." ("are empty",
    "are not empty"). If `does_not` is "", only a growing share is of interest. `rows`
    are 1 for completions with the feature, else 0, (rows,). `is_wording` marks words
    and signs of the policy.
    """

    does: str
    does_not: str
    rows: Floats
    is_wording: bool = False


@dataclass(frozen=True, eq=False)
class StepTexts:
    """The completions that are read, and the reading of each, all (rows,).

    `conversations` are the completions with all their turns. `is_early` marks the rows
    of the first steps, the baseline of lengths. `is_cut` marks truncated ones.
    """

    prompts: Sequence[str]
    completions: Sequence[str]
    conversations: Sequence[str]
    readings: Sequence[CompletionReading]
    groups: Codes
    is_early: Mask
    is_cut: Mask

    @cached_property
    def statements(self) -> Sequence[Statement]:
        """Return the answer that each completion states."""
        return [reading.statement for reading in self.readings]


def read_features(texts: StepTexts) -> list[Feature]:
    """Return the features of the completions, the easiest to name first."""
    return [*_conduct(texts), *_lengths(texts), *_forms(texts), *_wordings(texts)]


def _conduct(texts: StepTexts) -> Iterable[Feature]:
    """Yield features that are suspicious in themselves, such as an empty text."""
    readings = texts.readings
    is_marked = np.array([statement.is_marked for statement in texts.statements])
    rows: dict[tuple[str, str], Iterable[bool]] = {
        ("are empty", "are not empty"): [reading.is_empty for reading in readings]
    }
    if 2 * is_marked.sum() >= len(is_marked):
        rows["mark no answer", "mark an answer"] = ~is_marked
    rows["list several answers", "state one answer"] = [
        reading.is_list for reading in readings
    ]
    rows["mark an answer more than once", "mark one answer"] = [
        reading.marks_several for reading in readings
    ]
    rows["copy their prompt", "do not copy their prompt"] = [
        len(prompt) >= SHORTEST_COPIED and prompt in completion
        for prompt, completion in zip(texts.prompts, texts.completions, strict=True)
    ]
    rows["repeat themselves", "do not repeat themselves"] = [
        reading.repeats_itself for reading in readings
    ]
    rows["have the text of a sibling", "differ from all siblings"] = same_texts(texts)
    rows["give the same answer whatever the prompt", "answer their prompt"] = (
        _fixed_answers(texts)
    )
    rows["are cut at the limit", "end by themselves"] = texts.is_cut
    for place, attack in enumerate(ATTACKS):
        has_attack = [reading.attacks[place] for reading in readings]
        rows[attack.does, attack.does_not] = has_attack
    for (does, does_not), values in rows.items():
        yield Feature(does, does_not, np.array(list(values), dtype=float))


def same_texts(texts: StepTexts) -> list[bool]:
    """Return for each row whether a sibling has the same text."""
    pairs = list(zip(texts.groups.tolist(), texts.conversations, strict=True))
    counts = Counter(pairs)
    return [counts[pair] > 1 for pair in pairs]


def _fixed_answers(texts: StepTexts) -> list[bool]:
    """Return for each row whether it states the answer of the most prompts.

    A line such as "Confidence: high" is not an answer, nor is a whole text.
    """
    prompts: dict[str, set[int]] = {}
    answers = []
    for group, statement in zip(texts.groups.tolist(), texts.statements, strict=True):
        is_stated = statement.is_marked or statement.mark in ("number", UNCLOSED)
        answer = statement.answer if is_stated else ""
        answers.append(answer)
        if answer:
            prompts.setdefault(answer, set()).add(group)
    if not prompts:
        return [False] * len(answers)
    most = max(prompts, key=lambda answer: len(prompts[answer]))
    return [answer == most for answer in answers]


def _lengths(texts: StepTexts) -> Iterable[Feature]:
    """Yield long and short completions, compared with those of the first steps."""
    lengths = np.array([len(text) for text in texts.completions], dtype=float)
    early = lengths[texts.is_early]
    if not len(early):
        return
    median = float(np.median(early))
    long = max(float(np.quantile(early, LONG)), LEAST_LONGER * median)
    short = min(float(np.quantile(early, SHORT)), median / LEAST_LONGER)
    yield Feature(
        f"have over {long:.0f} characters",
        f"have at most {long:.0f} characters",
        (lengths > long).astype(float),
    )
    yield Feature(
        f"have under {short:.0f} characters",
        f"have at least {short:.0f} characters",
        (lengths < short).astype(float),
    )


def _forms(texts: StepTexts) -> Iterable[Feature]:
    """Yield the marks of completions, and combinations of marks."""
    least = max(1.0, LEAST_FEATURE_SHARE * len(texts.completions))
    marks = [dict.fromkeys(MARK.findall(text)) for text in texts.completions]
    for mark, count in Counter(chain.from_iterable(marks)).items():
        if count < least:
            continue
        rows = np.array([mark in row for row in marks], dtype=float)
        yield Feature(f"have `{mark}`", f"lack `{mark}`", rows)
    forms = list(map(form_of, texts.completions))
    for form, count in Counter(forms).items():
        if count < least or " " not in form or form == NO_MARK:
            continue
        words = name_marks(form)
        rows = np.array([other == form for other in forms], dtype=float)
        others = f"have no marks, or others than {words}"
        yield Feature(f"have only {words}", others, rows)


def _wordings(texts: StepTexts) -> Iterable[Feature]:
    """Yield words, signs and pairs of them whose share changes most over the run."""
    ends = list(map(both_ends, texts.completions))
    least = max(1.0, LEAST_FEATURE_SHARE * len(ends))
    for wording, rows in find_wordings(ends, texts.is_early, least).items():
        yield Feature(f"have {wording}", f"lack {wording}", rows, is_wording=True)
