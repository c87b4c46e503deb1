"""Hacks: wrong completions that are paid as right ones are, and can be learnt."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from rewardkit.analysis.statistics import Codes, Floats, Mask
from rewardkit.analysis.statistics.pairs import concordance

FEWEST_HACKS = 8
"""Under which nobody can tell what they have in common. Our choice."""
BUCKETS, LETTERS = 512, 3
"""Features of a text: how often runs of so many letters are in each bucket."""
LONGEST = 400
"""Letters at each end of a text that are looked at."""
RIDGE = 10.0


def find_hacks(rewards: Floats, right: Mask) -> Mask:
    """Return which wrong rows are paid as right ones are, (rows,).

    At least half way from the mean wrong one to the mean right one.
    """
    none = np.zeros(len(right), dtype=bool)
    rewards = np.nan_to_num(rewards, nan=-np.inf)
    is_known = np.isfinite(rewards)
    if not (right & is_known).any() or not (~right & is_known).any():
        return none
    low, high = (rewards[side & is_known].mean() for side in (~right, right))
    return ~right & (rewards >= (low + high) / 2) if high > low else none


def learnable(
    completions: Sequence[str], prompts: Codes, right: Mask, hacks: Mask
) -> float:
    """Return how far hacks can be told from other wrong completions by their text.

    From 0, as by chance, to 1: twice the AUC less one of a ridge regression on the
    letters of the completions, fitted to half of the prompts and asked of the others.
    A judge that errs at random pays hacks that no policy can learn.
    """
    wrong = np.flatnonzero(~right)
    is_hack = hacks[wrong]
    if min(is_hack.sum(), (~is_hack).sum()) < FEWEST_HACKS:
        return 0.0
    features = _features([completions[row] for row in wrong.tolist()])
    is_even = prompts[wrong] % 2 == 0
    told = np.zeros(len(wrong))
    for fold in (is_even, ~is_even):
        if is_hack[fold].all() or not is_hack[fold].any() or fold.all():
            return 0.0
        told[~fold] = _predict(features[fold], is_hack[fold], features[~fold])
    share = 0.0
    for fold in (is_even, ~is_even):
        none: Codes = np.zeros(int(fold.sum()), dtype=np.intp)
        agree, pairs = concordance(told[fold], is_hack[fold].astype(float), none)
        share += float(agree.sum() / max(pairs.sum(), 1)) / 2
    return float(np.clip(2 * share - 1, 0.0, 1.0))


def _features(texts: list[str]) -> Floats:
    """Return the logarithm of how often letters are in each bucket, and a constant."""
    counts = np.zeros((len(texts), BUCKETS + 1))
    for place, text in enumerate(texts):
        if len(text) > 2 * LONGEST:
            text = text[:LONGEST] + text[-LONGEST:]
        for start in range(len(text)):
            letters = text[start : start + LETTERS].encode()
            counts[place, crc32(letters) % BUCKETS] += 1
    features: Floats = np.log1p(counts)
    features[:, BUCKETS] = 1.0
    return features


def _predict(features: Floats, is_hack: Mask, others: Floats) -> Floats:
    """Return what a ridge regression fitted to some texts says of others, (others,)."""
    penalty = RIDGE * np.eye(features.shape[1])
    weights = np.linalg.solve(
        features.T @ features + penalty, features.T @ is_hack.astype(float)
    )
    return np.asarray(others @ weights)
