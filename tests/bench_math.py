"""`math_equal` against math-verify, run by `make bench`: pairs a second, and every verdict that differs.

math-verify is called with its defaults, ``verify(parse(truth), parse(prediction))``, on texts in dollars, as
its README asks for LaTeX. Both sides see the same pairs in the same order, `RUNS` times in turn after one run
that does not count (it warms the parsers on either side); `math_equal` forgets its verdicts before each run.
Nothing here fails.
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Sequence

import data_latex_pairs
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


def in_dollars(text: str) -> str:
    """As the README of math-verify asks; what has dollars or a box already is left."""
    return text if "$" in text.replace(r"\$", "") or r"\boxed" in text else f"${text}$"


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


def main() -> None:
    """Print all comparisons."""
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    started = time.perf_counter()
    rk.verify.math_equal("x", r"\frac{x}{1}")
    print(
        f"math_equal's worker starts in {time.perf_counter() - started:.1f} s, once; not counted below"
    )
    theirs([("x", "x")])
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
