"""Wordings: words and signs that some completions have and others lack."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

CHARACTERS_READ = 4_000
"""Characters of a completion whose words are read, half from either end. Our choice."""
TOKEN = re.compile(r"\d[\d.,]*|[^\W\d_]+|[^\w\s]")
"""A number, a word or a sign of a completion."""
ANY_NUMBER = "\u2039number\u203a"
"""Stands for any number: which one depends on the prompt."""
MOST_WORDINGS = 60
"""Wordings that are told, those whose share differs most. Our choice."""
ALONE, EDGE = 0, 1
"""Codes of no word: beside a word by itself, and of the start and end of a text."""


def both_ends(text: str) -> str:
    """Return the start and the end of a long text, and a short one whole."""
    if len(text) <= CHARACTERS_READ:
        return text
    half = CHARACTERS_READ // 2
    return f"{text[:half]} {text[-half:]}"


@dataclass(frozen=True, eq=False)
class WordPairs:
    """Two neighbouring words of a row, (pairs,) each, as codes of `words`.

    Words are sorted, so that pairs have an order that no text decides. The second one
    is `ALONE` where a word counts by itself.
    """

    rows: NDArray[np.intp]
    firsts: NDArray[np.intp]
    seconds: NDArray[np.intp]
    words: Sequence[str]


def find_wordings(
    texts: Sequence[str], is_first: NDArray[np.bool_], least: float
) -> dict[str, NDArray[np.float64]]:
    """Return the wordings whose share differs most between some rows and the others.

    They are named as a person reads them; rows are 1 where a text has one, else 0.

    Args:
        texts: of the rows.
        is_first: which rows are of the one side.
        least: rows that have to have a wording.
    """
    count, first_count = len(texts), np.count_nonzero(is_first)
    pairs = _read_pairs(texts)
    if first_count in (0, count) or not len(pairs.rows):
        return {}
    codes, keys = pd.factorize(pairs.firsts * len(pairs.words) + pairs.seconds)
    is_frequent = (np.bincount(codes) >= least)[codes]
    places = np.sort(codes[is_frequent] * count + pairs.rows[is_frequent])
    # a wording that is twice in a row counts once
    codes, rows = np.divmod(places[np.diff(places, prepend=-1) > 0], count)
    counts = np.bincount(codes, minlength=len(keys))
    first = np.bincount(codes, is_first[rows], minlength=len(keys))
    rest = counts - first
    differences = np.abs(rest / (count - first_count) - first / first_count)
    wordings = np.flatnonzero(counts >= least)
    order = np.lexsort((keys[wordings], -differences[wordings]))
    named = {}
    for wording in wordings[order][:MOST_WORDINGS].tolist():
        start, stop = np.searchsorted(codes, [wording, wording + 1])
        has_wording = np.zeros(count)
        has_wording[rows[start:stop]] = 1.0
        key = divmod(int(keys[wording]), len(pairs.words))
        named[_name(pairs.words, *key)] = has_wording
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
