"""Kinds of completions that a policy can write more of, and hacks among them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import pandas as pd

from rewardkit.analysis.statistics import (
    Codes,
    Columns,
    Floats,
    Interval,
    Mask,
    group_stats,
    ratio,
)
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.findings import short_number

MARK = re.compile(r"</?[A-Za-z_][\w.-]{0,30}>|\\boxed\{|```|####")
MOST_MARKS = 8
"""Marks of a completion that its form names. Our choice."""
SMALLEST_SHARE = 0.02
"""Share of the rows of the smallest kind. Our choice."""
FEWEST_ROWS = 16
LEAST_SPLIT_GAIN = 0.02
"""Share of a kind's own part of the variance that a split must explain. Our choice."""
CUTS = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
"""Quantiles at which a kind may be split."""
ANY = ""
EMPTY = "empty"
NO_MARK = "no mark"
OTHER = "rare forms"
FORM_NAMES = {
    ANY: "completions",
    EMPTY: "empty completions",
    NO_MARK: "completions without tags",
    OTHER: "completions of rare forms",
}
UNKNOWN_FORM = "completions of one form"
"""What a form is called where texts of users are hidden."""
LENGTH = "characters"
MOST_BOUNDS = 2
"""Bounds that a person reads, those that tell most. Our choice."""
MOST_NAMED = 3
"""Marks that a person reads. Our choice."""
FEWEST_HACKS = 8
"""Under which nobody can tell what they have in common. Our choice."""
BUCKETS = 512
LETTERS_OF_A_PIECE = 3
"""Features of a text: how often runs of so many letters are in each bucket."""
LONGEST_END = 400
"""Letters at each end of a text that are looked at."""
RIDGE = 10.0


@dataclass(frozen=True)
class Kind:
    """A kind of completions: their form, and the bounds of their features.

    `form` is `ANY` where all completions have the same one. `bounds` are by feature,
    above the first and up to the second; the feature that explains most comes first.
    `height` counts the steps by which it is longer than the kind of the log that it is
    made of; 0 for a kind of the log.
    """

    form: str
    bounds: Mapping[str, Interval]
    height: int = 0

    @property
    def words(self) -> str:
        """Return the kind as a person names it."""
        if self.form in FORM_NAMES:
            return self._within(FORM_NAMES[self.form])
        return self._within(f"completions with {name_marks(self.form)}")

    @property
    def own_words(self) -> str:
        """Return the kind without what completions say: tags are texts of users."""
        return self._within(FORM_NAMES.get(self.form, UNKNOWN_FORM))

    def _within(self, name: str) -> str:
        """Return the name of a form with the bounds of the kind."""
        if self.height:
            return f"longer {name} than in the log"
        bounds = list(self.bounds)[:MOST_BOUNDS]
        if LENGTH in bounds:
            low, high = self.bounds[LENGTH]
            if np.isinf(low):
                name = f"short {name}"
            elif np.isinf(high):
                name = f"long {name}"
        limits = ", ".join(map(self._describe, bounds))
        return f"{name} ({limits})" if limits else name

    def _describe(self, feature: str) -> str:
        low, high = self.bounds[feature]
        words = f"`{feature}` {{}}"
        if feature == LENGTH:
            low, high = np.floor([low, high])
            words = "{} characters"
        limits = f"{short_number(low)} to {short_number(high)}"
        if np.isinf(low):
            limits = f"up to {short_number(high)}"
        elif np.isinf(high):
            limits = f"above {short_number(low)}"
        return words.format(limits)

    def part(self, feature: str, low: float, high: float) -> Kind:
        """Return the part of this kind in which a feature is within these bounds."""
        before = self.bounds.get(feature, (-np.inf, np.inf))
        narrowed = max(low, before[0]), min(high, before[1])
        return Kind(self.form, {**self.bounds, feature: narrowed})


def form_of(completion: str) -> str:
    r"""Return the marks of a completion in their order, equal neighbours once.

    >>> form_of("<think>so</think> \\boxed{4}")
    '<think> </think> \\boxed{'
    """
    if not completion.strip():
        return EMPTY
    marks: list[str] = []
    for mark in MARK.findall(completion):
        if not marks or marks[-1] != mark:
            marks.append(mark)
    return " ".join(marks[:MOST_MARKS]) or NO_MARK


def name_marks(form: str) -> str:
    r"""Return the marks of a form as a person names them, a pair of tags once.

    >>> name_marks("<think> </think> <answer>")
    '`<think>` and an open `<answer>`'
    >>> name_marks(r"\boxed{ ``` ####")
    '`\\boxed`, code fences and `####`'
    """
    marks = form.split()
    names: dict[str, None] = {}
    for place, mark in enumerate(marks):
        end = mark.replace("<", "</", 1)
        if mark == "```":
            names["code fences"] = None
        elif not mark.startswith("<"):
            names[f"`{mark.rstrip('{')}`"] = None
        elif mark.startswith("</"):
            if mark.replace("</", "<", 1) not in marks[:place]:
                names[f"`{mark}`"] = None
        else:
            is_closed = end in marks[place:]
            names[f"`{mark}`" if is_closed else f"an open `{mark}`"] = None
    *first, last = names
    if len(names) > MOST_NAMED:
        first = [*names][: MOST_NAMED - 1]
        last = "more"
    return f"{', '.join(first)} and {last}" if first else last


def find_kinds(
    completions: Sequence[str],
    features: Columns,
    targets: Sequence[Floats],
) -> tuple[Codes, list[Kind]]:
    """Sort completions into kinds by their form, split where that explains targets.

    A regression tree: each form is split in two at the value of a feature that explains
    most of the variance of the targets, until a kind would be too small.

    Args:
        completions: (rows,) texts.
        features: what the completions show without their truth, (rows,) each.
        targets: what kinds are to tell apart, (rows,) each, NaN where missing.

    Returns:
        The kind of each row, (rows,), and the kinds.
    """
    table = np.column_stack([_standardised(target) for target in targets])
    least = max(FEWEST_ROWS, round(SMALLEST_SHARE * len(completions)))
    forms = np.array([form_of(text) for text in completions], dtype=object)
    counts = pd.Series(forms).value_counts()
    forms[~np.isin(forms, counts.index[counts >= least])] = OTHER
    codes = np.zeros(len(forms), dtype=np.intp)
    kinds: list[Kind] = []
    unique = pd.unique(forms)
    pending = []
    for form in unique:
        name = str(form) if len(unique) > 1 else ANY
        pending.append((Kind(name, {}), np.flatnonzero(forms == form)))
    while pending:
        kind, rows = pending.pop()
        split = _best_split(rows, features, table, least)
        if split is None:
            codes[rows] = len(kinds)
            kinds.append(kind)
            continue
        name, cut = split
        is_low = features[name][rows] <= cut
        pending.append((kind.part(name, cut, np.inf), rows[~is_low]))
        pending.append((kind.part(name, -np.inf, cut), rows[is_low]))
    return codes, kinds


def _standardised(values: Floats) -> Floats:
    """Return the values with mean 0 and variance 1, 0 where they are missing."""
    column = pd.Series(values)
    spread = column.std(ddof=0) or 1.0
    standardised = (column - column.mean()) / spread
    return np.asarray(standardised.fillna(0.0), dtype=float)


def _best_split(
    rows: Codes, features: Columns, table: Floats, least: int
) -> tuple[str, float] | None:
    """Return the feature and value that explain most of these rows, or None."""
    if len(rows) < 2 * least:
        return None
    best = None
    gain = LEAST_SPLIT_GAIN * len(rows)
    targets = table[rows]
    spread = _spread_of(targets)
    for name, column in features.items():
        values = column[rows]
        for cut in np.unique(np.quantile(values, CUTS)):
            is_low = values <= cut
            if min(is_low.sum(), (~is_low).sum()) < least:
                continue
            inside = _spread_of(targets[is_low]) + _spread_of(targets[~is_low])
            if spread - inside > gain:
                best = (name, float(cut))
                gain = spread - inside
    return best


def _spread_of(values: Floats) -> float:
    """Return the sum of squares around the mean."""
    squares = (values - values.mean(axis=0)) ** 2
    return float(squares.sum() / values.shape[1])


def find_hacks(rewards: Floats, right: Mask) -> Mask:
    """Return which wrong rows are paid as right ones are, (rows,).

    At least half way from the mean wrong one to the mean right one. None where that
    mean is missing, or where right ones earn no more.
    """
    low, high = group_stats(rewards, right.astype(np.intp), 2).mean
    is_hack = ~right & (rewards >= (low + high) / 2)
    return np.asarray(is_hack & (high > low))


def learnable(
    completions: Sequence[str], prompts: Codes, right: Mask, hacks: Mask
) -> float:
    """Return how well their text tells hacks from other wrong completions, 0 to 1.

    2 AUC - 1, cut at 0, of a ridge regression on the letters of the completions, fitted
    to half of the prompts and tested on the others. A judge that errs at random pays
    hacks that no policy can learn.
    """
    wrong = np.flatnonzero(~right)
    is_hack = hacks[wrong]
    if min(is_hack.sum(), (~is_hack).sum()) < FEWEST_HACKS:
        return 0.0
    features = _features([completions[row] for row in wrong.tolist()])
    is_even = prompts[wrong] % 2 == 0
    aucs = []
    for fold in (is_even, ~is_even):
        if is_hack[fold].all() or not is_hack[fold].any():
            return 0.0
        chance = _predict(features[fold], is_hack[fold], features[~fold])
        one_group = np.zeros(len(chance), dtype=np.intp)
        order = is_hack[~fold].astype(float)
        aucs.append(ratio(*concordance(chance, order, one_group)))
    return float(np.clip(sum(aucs) - 1, 0.0, 1.0))


def _features(texts: list[str]) -> Floats:
    """Return the logarithm of how often letters are in each bucket, and a constant."""
    counts = np.zeros((len(texts), BUCKETS + 1))
    for place, text in enumerate(texts):
        if len(text) > 2 * LONGEST_END:
            text = text[:LONGEST_END] + text[-LONGEST_END:]
        for start in range(len(text)):
            letters = text[start : start + LETTERS_OF_A_PIECE].encode()
            counts[place, crc32(letters) % BUCKETS] += 1
    features = np.log1p(counts)
    features[:, BUCKETS] = 1.0
    return features


def _predict(features: Floats, is_hack: Mask, others: Floats) -> Floats:
    """Return what a ridge regression fitted to some texts says of others, (others,)."""
    penalty = RIDGE * np.eye(features.shape[1])
    weights = np.linalg.solve(
        features.T @ features + penalty, features.T @ is_hack.astype(float)
    )
    return others @ weights
