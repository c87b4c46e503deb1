"""`math_equal` against math-verify on the same pairs in the same order.

math-verify is called with its defaults, ``verify(parse(truth), parse(prediction))``, on texts in dollars, as
its README asks for LaTeX. `math_equal` forgets its verdicts before each run. Of the pairs labelled by hand those
whose truth decides are judged once by each. Details are the verdicts that differ, and the wrong ones.
"""

from __future__ import annotations

import logging
import re

import data_latex_pairs
import data_math_solutions
from benches.table import Row, in_turn

import rewardkit as rk
from rewardkit.primitives.verify import math as mathematics

OTHER_NUMBERS = (
    r"0|-7|1,234|1234|1,234.50|3.14|0.1|0.10000000001|1/2|0.5|.5|2/4|-1/3|0.333333|1/3|$5|\$5.00|6.02e23|"
    r"6.02 \times 10^{23}|\frac{9}{7}|\dfrac{9}{7}|9/7|-5|12|1000000|1,000,000|1{,}000{,}000|10^{6}|1e6|"
    "\u22125|\uff11\uff12"
).split("|")
AIM_NUMBERS, AIM_LATEX = 1 / 100, 1 / 5
AIM_ACCEPTED, AIM_REJECTED = 1 / 3, 1 / 2
AGAINST = "math-verify"

_MARKED = re.compile(
    r"(?<!\\)\$|\\boxed|\\[(\[]|[^\W\d_\\]{3,} [^\W\d_]{2,} |\n|####|\*\*"
)
"""What says that a text is a sentence, or says itself where its formula stands."""


def in_dollars(text):
    """Return the text as the README of math-verify asks; sentences, and what has dollars or a box, are left."""
    return text if _MARKED.search(text) else f"${text}$"


def theirs(pairs):
    """Return math-verify's verdicts."""
    from math_verify import parse, verify

    return [
        verify(parse(in_dollars(truth)), parse(in_dollars(prediction)))
        for prediction, truth in pairs
    ]


def ours(pairs):
    """Return the verdicts of `math_equal`, which remembers none from before."""
    mathematics._judge.cache_clear()
    return [rk.verify.math_equal(prediction, truth) for prediction, truth in pairs]


def compare(title, pairs, aim, runs):
    """Return the seconds of both sides; its details are the verdicts that differ."""
    seconds = in_turn(lambda: ours(pairs), lambda: theirs(pairs), runs=runs)
    verdicts = dict(
        zip(pairs, zip(ours(pairs), theirs(pairs), strict=True), strict=True)
    )
    details = []
    for (prediction, truth), (mine, other) in verdicts.items():
        if mine != other:
            details.append(
                f"{prediction!r} for {truth!r}: math_equal {mine}, math-verify {other}"
            )
    what = f"math_equal, {len(pairs):,} {title}"
    return Row(what, seconds[0], AGAINST, seconds[1], aim=aim, details=details)


def judge(
    rows,
    verdicts_on,
):
    """Return the wrong pairs that are accepted, and the right ones rejected."""
    accepted, rejected = [], []
    for row in rows:
        pair = (row.solution, row.truth)
        (verdict,) = verdicts_on([pair])
        if verdict and not row.right:
            accepted.append(pair)
        if row.right and not verdict:
            rejected.append(pair)
    return accepted, rejected


def labelled():
    """Compare the errors on the labelled pairs that decide; the details are those of `math_equal`."""
    pairs = data_math_solutions.DECIDING
    accepted, rejected = judge(pairs, ours)
    others = judge(pairs, theirs)
    for error, mine, other, aim in (
        ("wrong ones accepted", accepted, others[0], AIM_ACCEPTED),
        ("right ones rejected", rejected, others[1], AIM_REJECTED),
    ):
        what = f"math_equal, {len(pairs)} labelled pairs: {error}"
        details = [f"{prediction!r} for {truth!r}" for prediction, truth in mine]
        counts = [len(mine)], AGAINST, [len(other)]
        yield Row(what, *counts, unit="pairs", aim=aim, details=details)


def rows(runs):
    """Compare the errors, and the seconds on numbers and LaTeX."""
    logging.getLogger(AGAINST.replace("-", "_")).setLevel(logging.CRITICAL)
    yield from labelled()
    answer, rollouts = rk.extract.tag("answer"), rk.load_rollouts("gallery:arithmetic")
    logged = [(answer(row["completion"]), row["ground_truth"]) for row in rollouts]
    answers = [pair for pair in logged if pair[0] is not None]
    numbers = [pair for pair in answers if rk.verify.read_number(pair[0]) is not None]
    other = [(a, b) for a in OTHER_NUMBERS for b in OTHER_NUMBERS]
    latex = [row[:2] for row in data_latex_pairs.log()]
    for title, pairs, aim in (
        ("answers of a log", answers, AIM_NUMBERS),
        ("plain numbers of a log", numbers, AIM_NUMBERS),
        ("pairs of numbers in other notations", other, AIM_NUMBERS),
        ("pairs of LaTeX, repeated as in a log", latex, AIM_LATEX),
    ):
        yield compare(title, pairs, aim, runs)
