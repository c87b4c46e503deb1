r"""A training log of mathematical answers, made from a seed: what `benches/mathematics.py` compares and a test checks.

Truths are of the kinds that the MATH data set has (its solutions end in a ``\boxed{}`` of LaTeX), with
numbers put in for A, B and C. A policy answers each `GENERATIONS` times in the way that policies repeat
themselves: mostly one spelling of the truth, at times another, and a few wrong answers that come back.
"""

from __future__ import annotations

import random
from math import gcd
from pathlib import Path

GENERATIONS = 16

TEXT = Path(__file__).with_suffix(".txt").read_text()
TEMPLATES = [
    [cell.split(" ; ") for cell in line.split(" | ")] for line in TEXT.splitlines()
]
"""The truth, other right spellings, wrong answers."""


def log(truths: int = 200, seed: int = 0) -> list[tuple[str, str, bool]]:
    """Rows of (prediction, truth, whether it is right), the generations of a truth together."""
    chance = random.Random(seed)
    rows = []
    for number in range(truths):
        numbers = _numbers(chance)
        ((truth,), right, wrong) = (
            [text.translate(numbers) for text in part]
            for part in TEMPLATES[number % len(TEMPLATES)]
        )
        share = chance.uniform(0.3, 0.9)  # of right answers; how hard the task is
        for _ in range(GENERATIONS):
            if chance.random() < share:
                answer = truth if chance.random() < 0.7 else chance.choice(right)
                rows.append((answer, truth, True))
            else:
                answer = wrong[0] if chance.random() < 0.6 else chance.choice(wrong)
                rows.append((answer, truth, False))
    return rows


def _numbers(chance: random.Random) -> dict[int, str]:
    """Three that no template turns into each other: different, without a common factor, no squares."""
    while True:
        a, b, c = chance.sample([2, 3, 5, 6, 7, 10, 11, 13, 14, 15], 3)
        if gcd(a, b) == gcd(b, c) == gcd(a, c) == 1:
            return str.maketrans({"A": str(a), "B": str(b), "C": str(c)})
