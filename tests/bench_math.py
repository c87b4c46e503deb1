"""`math_equal` against math-verify, run by `make bench`: pairs a second, and every verdict that differs.

math-verify is called with its defaults, ``verify(parse(truth), parse(prediction))``, on texts in dollars, as
its README asks for LaTeX. Both sides see the same pairs in the same order, `RUNS` times in turn after one run
that does not count (it warms the parsers on either side); `math_equal` forgets its verdicts before each run.
The 300 pairs labelled by hand, of which every second truth decides, are judged once by each: how many wrong
answers it accepts, how many right ones it rejects, and how long the slowest takes. Nothing here fails.
"""

from __future__ import annotations

import logging
import re
import statistics
import time
from collections.abc import Callable, Sequence

import data_latex_pairs
import data_math_solutions
from bench import in_turn

import rewardkit as rk
from rewardkit.primitives.verify import math as mathematics

RUNS = 3
OTHER_NUMBERS = (
    r"0|-7|1,234|1234|1,234.50|3.14|0.1|0.10000000001|1/2|0.5|.5|2/4|-1/3|0.333333|1/3|$5|\$5.00|6.02e23|"
    r"6.02 \times 10^{23}|\frac{9}{7}|\dfrac{9}{7}|9/7|-5|12|1000000|1,000,000|1{,}000{,}000|10^{6}|1e6|"
    "\u22125|\uff11\uff12"
).split("|")

Pair = tuple[str, str]


_MARKED = re.compile(
    r"(?<!\\)\$|\\boxed|\\[(\[]|[^\W\d_\\]{3,} [^\W\d_]{2,} |\n|####|\*\*"
)
"""What says that a text is a sentence, or says itself where its formula stands."""


def in_dollars(text: str) -> str:
    """As the README of math-verify asks; sentences, and what has dollars or a box, are left."""
    return text if _MARKED.search(text) else f"${text}$"


def theirs(pairs: Sequence[Pair]) -> list[bool]:
    """math-verify's verdicts."""
    from math_verify import parse, verify

    return [
        verify(parse(in_dollars(truth)), parse(in_dollars(prediction)))
        for prediction, truth in pairs
    ]


def ours(pairs: Sequence[Pair]) -> list[bool | None]:
    """The verdicts of `math_equal`, which remembers none from before."""
    mathematics._judge.cache_clear()
    return [rk.verify.math_equal(prediction, truth) for prediction, truth in pairs]


def compare(title: str, pairs: Sequence[Pair], aim: str) -> None:
    """Print pairs a second of each side, their ratio and the verdicts that differ."""
    said: dict[str, Sequence[bool | None]] = {}
    sides = in_turn(
        lambda: said.update(ours=ours(pairs)),
        lambda: said.update(theirs=theirs(pairs)),
        runs=RUNS,
    )
    fast, slow = ([len(pairs) / seconds for seconds in side] for side in sides)
    ratios = [a / b for a, b in zip(fast, slow, strict=True)]
    verdicts = dict(
        zip(pairs, zip(said["ours"], said["theirs"], strict=True), strict=True)
    )
    differing = {pair: both for pair, both in verdicts.items() if both[0] != both[1]}
    print(f"{title}: {len(pairs):,} pairs, {len(verdicts):,} of them distinct")
    print(f"  rk.verify.math_equal  {statistics.median(fast):12,.0f} pairs/s")
    print(f"  math-verify           {statistics.median(slow):12,.0f} pairs/s")
    lowest, middle, highest = min(ratios), statistics.median(ratios), max(ratios)
    print(f"  ratio {middle:.1f} (lowest {lowest:.1f}, highest {highest:.1f}; {aim})")
    print(f"  differing verdicts: {len(differing)} of {len(verdicts):,} distinct pairs")
    for (prediction, truth), (mine_, other_) in differing.items():
        print(
            f"    {prediction!r} for {truth!r}: math_equal {mine_}, math-verify {other_}"
        )


def judge(
    rows: Sequence[data_math_solutions.Labelled],
    verdicts_on: Callable[[Sequence[Pair]], Sequence[bool | None]],
) -> tuple[list[Pair], list[Pair], float]:
    """Return the wrong pairs that are accepted, the right ones rejected, and the seconds of the slowest."""
    accepted, rejected, slowest = [], [], 0.0
    for row in rows:
        pair = (row.solution, row.truth)
        started = time.perf_counter()
        (verdict,) = verdicts_on([pair])
        slowest = max(slowest, time.perf_counter() - started)
        if verdict and not row.right:
            accepted.append(pair)
        if row.right and not verdict:
            rejected.append(pair)
    return accepted, rejected, slowest


def print_errors() -> None:
    """Print the table of errors on the labelled pairs, and what `math_equal` has wrong."""
    print("(c) 300 pairs labelled by hand: wrong ones accepted, right ones rejected")
    wrong: list[tuple[str, Pair]] = []
    for half in ("LOOKED_AT", "DECIDING"):
        rows = getattr(data_math_solutions, half)
        for name, verdicts_on in (("math_equal", ours), ("math-verify", theirs)):
            accepted, rejected, slowest = judge(rows, verdicts_on)
            print(
                f"  {half:9} {len(rows)} pairs  {name:11}  {len(accepted):2} accepted  "
                f"{len(rejected):2} rejected  slowest {slowest:.2f} s"
            )
            if verdicts_on is ours:
                wrong += [("accepted", pair) for pair in accepted]
                wrong += [("rejected", pair) for pair in rejected]
    for error, (prediction, truth) in wrong:
        print(f"    {error} by math_equal: {prediction!r} for {truth!r}")


def main() -> None:
    """Print all comparisons."""
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    started = time.perf_counter()
    rk.verify.math_equal("x", r"\frac{x}{1}")
    print(
        f"math_equal's worker starts in {time.perf_counter() - started:.1f} s, once; not counted below"
    )
    theirs([("x", "x")])
    print_errors()
    answer, rollouts = rk.extract.tag("answer"), rk.load_rollouts("gallery:arithmetic")
    logged = [(answer(row["completion"]), row["ground_truth"]) for row in rollouts]
    answers = [
        (prediction, truth) for prediction, truth in logged if prediction is not None
    ]
    numbers = [(p, t) for p, t in answers if rk.verify.read_number(p) is not None]
    compare("(a) bundled arithmetic answers, as logged", answers, "aim 100")
    compare("(a) those that are plain numbers", numbers, "aim 100, none differing")
    other = [(a, b) for a in OTHER_NUMBERS for b in OTHER_NUMBERS]
    compare("(a) other plain numbers, each with each", other, "aim 100")
    log = data_latex_pairs.log()
    compare("(b) LaTeX as a training log repeats it", [row[:2] for row in log], "aim 5")
    wrong = {row for row in log if rk.verify.math_equal(*row[:2]) is not row[2]}
    print(f"  rows where math_equal is not what the log was made to be: {len(wrong)}")


if __name__ == "__main__":
    main()
