"""Features: what completions do that a policy could do more of, or less."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import pandas as pd

from rewardkit.analysis.rehearsal.kinds import MARK, NO_MARK, form_of, name_marks
from rewardkit.analysis.statistics import Codes, Floats, Mask
from rewardkit.answers.stated import Statement
from rewardkit.monitoring.readings import ATTACKS, CompletionReading, both_ends

LEAST_FEATURE_SHARE = 0.02
"""Share of the rows of a watched form or wording. Our choice."""
SHORTEST_COPIED = 12
"""Characters of a prompt that no completion repeats by chance. Our choice."""
LONG, SHORT = 0.9, 0.1
"""Quantiles of the first lengths from which a completion is long or short."""
LEAST_LONGER = 1.2
"""Times the median length that a long completion has at least. Our choice."""
TOKEN = re.compile(r"\d[\d.,]*|[^\W\d_]+|[^\w\s]")
"""A number, a word or a sign of a completion."""
ANY_NUMBER = "\u2039number\u203a"
"""Stands for any number: which one depends on the prompt."""
MOST_WORDINGS = 60
"""Wordings that are watched, those whose share differs most. Our choice."""
ALONE, EDGE = 0, 1
"""Codes of no word: beside a word by itself, and of the start and end of a text."""


@dataclass(frozen=True, eq=False)
class Feature:
    """Something that completions do.

    `does` and `does_not` say it of completions ("are empty", "are not empty"); without
    the second, that fewer do it says nothing. `rows`
    are 1 where one does it, else 0, (rows,). `is_wording` marks texts of the policy.
    """

    does: str
    does_not: str
    rows: Floats
    is_wording: bool = False


@dataclass(frozen=True, eq=False)
class StepTexts:
    """The completions that are read, (rows,) each, and what each does by itself.

    `is_early` marks those of the first steps, which lengths are compared with.
    """

    prompts: Sequence[str]
    completions: Sequence[str]
    readings: Sequence[CompletionReading]
    groups: Codes
    is_early: Mask
    is_cut: Mask

    @cached_property
    def statements(self) -> Sequence[Statement]:
        """Return what they state as answers."""
        return [reading.statement for reading in self.readings]


def read_features(texts: StepTexts) -> list[Feature]:
    """Return what the completions do, what a person can name best first."""
    return [*_conduct(texts), *_lengths(texts), *_forms(texts), *_wordings(texts)]


def _conduct(texts: StepTexts) -> Iterable[Feature]:
    """Yield what is suspicious in itself: nothing written, no answer, several ..."""
    readings, statements = texts.readings, texts.statements
    is_marked = np.array([statement.is_marked for statement in statements])
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
        _fixed_answers(texts, statements)
    )
    rows["are cut at the limit", "end by themselves"] = texts.is_cut
    for place, attack in enumerate(ATTACKS):
        has_attack = [reading.attacks[place] for reading in readings]
        rows[attack.does, attack.does_not] = has_attack
    for (does, does_not), values in rows.items():
        yield Feature(does, does_not, np.array(list(values), dtype=float))


def same_texts(texts: StepTexts) -> list[bool]:
    """Return which rows have the text of a sibling."""
    pairs = list(zip(texts.groups.tolist(), texts.completions, strict=True))
    counts = Counter(pairs)
    return [counts[pair] > 1 for pair in pairs]


def _fixed_answers(texts: StepTexts, statements: Sequence[Statement]) -> list[bool]:
    """Return which rows state the answer that is stated on most prompts.

    A line such as "Confidence: high" is none, nor is a whole text.
    """
    prompts: dict[str, set[int]] = {}
    answers = []
    for group, statement in zip(texts.groups.tolist(), statements, strict=True):
        is_stated = statement.is_marked or statement.mark == "number"
        answers.append(statement.answer if is_stated else "")
        if answers[-1]:
            prompts.setdefault(answers[-1], set()).add(group)
    if not prompts:
        return [False] * len(answers)
    most = max(prompts, key=lambda answer: len(prompts[answer]))
    return [answer == most for answer in answers]


def _lengths(texts: StepTexts) -> Iterable[Feature]:
    """Yield what is long, and what is short, beside the completions of the start."""
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
    """Yield the marks that completions have, and forms made of several."""
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
    """Yield words, signs and pairs of them whose share differs most over the run."""
    ends = list(map(both_ends, texts.completions))
    least = max(1.0, LEAST_FEATURE_SHARE * len(ends))
    for wording, rows in find_wordings(ends, texts.is_early, least).items():
        yield Feature(f"have {wording}", f"lack {wording}", rows, is_wording=True)


# --- words, signs and pairs of them


@dataclass(frozen=True, eq=False)
class WordPairs:
    """Two neighbouring words of a row, (pairs,) each, as codes of `words`.

    Words are sorted, so that pairs have an order that no text decides. The second one
    is `ALONE` where a word counts by itself.
    """

    rows: Codes
    firsts: Codes
    seconds: Codes
    words: Sequence[str]


def find_wordings(
    texts: Sequence[str], is_early: Mask, least: float
) -> dict[str, Floats]:
    """Return the wordings whose share differs most between early rows and others.

    They are named as a person reads them; rows are 1 where a text has one, else 0.

    Args:
        texts: of the rows.
        is_early: of the rows.
        least: rows that have to have a wording.
    """
    count, early_count = len(texts), np.count_nonzero(is_early)
    pairs = _read_pairs(texts)
    if early_count in (0, count) or not len(pairs.rows):
        return {}
    codes, keys = pd.factorize(pairs.firsts * len(pairs.words) + pairs.seconds)
    is_frequent = (np.bincount(codes) >= least)[codes]
    places = np.sort(codes[is_frequent] * count + pairs.rows[is_frequent])
    # a wording that is twice in a row counts once
    codes, rows = np.divmod(places[np.diff(places, prepend=-1) > 0], count)
    counts = np.bincount(codes, minlength=len(keys))
    early = np.bincount(codes, is_early[rows], minlength=len(keys))
    late = counts - early
    differences = np.abs(late / (count - early_count) - early / early_count)
    wordings = np.flatnonzero(counts >= least)
    order = np.lexsort((keys[wordings], -differences[wordings]))
    named = {}
    for wording in wordings[order][:MOST_WORDINGS].tolist():
        start, stop = np.searchsorted(codes, [wording, wording + 1])
        has_wording = np.zeros(count)
        has_wording[rows[start:stop]] = 1.0
        first, second = divmod(int(keys[wording]), len(pairs.words))
        named[_name(pairs.words, first, second)] = has_wording
    return named


def _read_pairs(texts: Sequence[str]) -> WordPairs:
    """Read the words of texts, each by itself and with the next one."""
    code_of: defaultdict[str, int] = defaultdict()
    code_of.default_factory = code_of.__len__
    tokens = array("q")
    lengths = []
    for text in texts:
        before = len(tokens)
        tokens.extend(map(code_of.__getitem__, TOKEN.findall(text)))
        lengths.append(len(tokens) - before)
    usual = []  # in lower case, whatever the number
    for token in code_of:
        usual.append(ANY_NUMBER if token[0].isdecimal() else token.lower())
    words = ["", "", *sorted(set(usual))]
    place = {word: code for code, word in enumerate(words)}
    codes = np.array([place[word] for word in usual], dtype=np.intp)
    # each text between two edges
    sizes = np.array(lengths, dtype=np.intp) + 2
    ends = np.cumsum(sizes)
    rows = np.repeat(np.arange(len(texts)), sizes)
    padded = np.full(len(rows), EDGE, dtype=np.intp)
    is_word = np.ones(len(rows), dtype=bool)
    is_word[ends - 1] = is_word[ends - sizes] = False
    padded[is_word] = codes[np.frombuffer(tokens, dtype=np.int64)]
    firsts, seconds = padded[:-1], padded[1:]
    is_pair = (firsts != EDGE) | (seconds != EDGE)
    is_alone = is_word & (padded != place.get(ANY_NUMBER, EDGE))
    alone = padded[is_alone]
    return WordPairs(
        np.concatenate([rows[:-1][is_pair], rows[is_alone]]),
        np.concatenate([firsts[is_pair], alone]),
        np.concatenate([seconds[is_pair], np.full(len(alone), ALONE)]),
        words,
    )


def _name(words: Sequence[str], first: int, second: int) -> str:
    """Name a wording as a person reads it."""
    if second == ALONE:
        return f"`{words[first]}`"
    if first == EDGE:
        return f"`{words[second]}` at the start"
    if second == EDGE:
        return f"`{words[first]}` at the end"
    return f"`{words[first]} {words[second]}`"
