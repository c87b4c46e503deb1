"""The final answer of whole solutions, and `math_equal` on them, held against labels and math-verify."""

import logging
import sys
from pathlib import Path

import pytest

import rewardkit as rk

sys.path.insert(0, str(Path(__file__).parents[1]))

import data_math_solutions as data

answer = rk.extract.math_answer()
equal = rk.verify.math_equal


@pytest.mark.parametrize(
    ("solution", "expected"),
    [
        (r"First \boxed{1}, then \boxed{42}. The answer is 7.", "42"),
        (r"$x=\boxed{2}$ and $x=\boxed{-5}$.", r"\boxed{2}$ and $x=\boxed{-5}"),
        (r"\boxed{1}. Checking gives \boxed{2}", "2"),
        ("It is $5$. The answer is 12 apples. I checked 3 times.", "12 apples"),
        ("因此答案是：42。谢谢", "42"),
        ("解得 $x=2$。故选：B．", "B"),
        ("So $x = 3$ or $x = 5$.", "$x = 3$ or $x = 5$"),
        ("If the answer is 20, then $4 x = 20$. So x = 15.", "15"),
        ("所以 $x_1=3, x_2=-1$", "$x_1=3, x_2=-1$"),
        (r"\boxed{5}\n#### 7", "5"),
        ("Total: 11 apples (5 red and 6 green) in 3 bags", "3"),
        ("The minimum of $f$ is attained at $x=2$.", "$x=2$"),
        (r"So $x = k\pi$, where $k \in \mathbb{Z}$.", r"$x = k\pi$"),
        ("The points are (1, 2) and (3, 4).", "(1, 2) and (3, 4)"),
        ("故选：A、C．", "A、C"),
        (f"The answer is 5. {'word ' * 4_100}", None),
        (f"{'word ' * 300_000}\n\nThe answer is 5.", "5"),
        (None, None),
    ],
)
def test_the_answer_is_found_in_the_documented_order(solution, expected):
    assert answer(solution) == expected
    for start, end in answer.spans(solution):
        assert solution[start:end] == expected


IN_THE_WILD = [  # a stranger's solutions that came out wrong once, each with what must not be right beside it
    ("The answer is 1.250,50 euros.", "1250.50", "1.25050"),
    ("So the ratio is 3:4.", "3:4", "4:3"),
    (r"Therefore the minimum is $-\dfrac{9}{4}$, attained at $x=\frac12$.", "-9/4", "1/2"),
    (r"\boxed{x \in \{1, 2, 3\}}", r"\{1,2,3\}", r"\{1,2\}"),
    ("共有A、B、C三种。故选：AC", "AC", "A"),
    ("所以 $x>3$ 或 $x<-1$", r"(-\infty,-1)\cup(3,\infty)", r"(-\infty,-1]\cup(3,\infty)"),
    ("No solution exists, so the answer is none.", r"\emptyset", "0"),
    ("答案：百分之二十五", r"25\%", "100/25"),
    (r"$\boxed{\frac{\pi}{3}}$", r"60^\circ", "60"),
    (r"The answer is $\boxed{\textbf{(C)}\ 12}$.", "C", "D"),
    ("**Final Answer**\n\nThe value is **42**.", "42", "4"),
]


@pytest.mark.parametrize(("solution", "truth", "another"), IN_THE_WILD)
def test_solutions_of_a_stranger_are_judged_right(solution, truth, another):
    assert equal(solution, truth) is True
    assert equal(answer(solution), truth) is True
    assert equal(solution, another) is False


def theirs(solution, truth):
    """math-verify's verdict, asked as its README says."""
    from math_verify import parse, verify

    marked = "$" in truth.replace(r"\$", "") or r"\boxed" in truth
    return verify(parse(truth if marked else f"${truth}$"), parse(solution))


@pytest.mark.parametrize(("part", "right"), [("DEVELOPMENT", 110), ("HELD_OUT", 109)])
def test_on_labelled_solutions_it_is_at_least_as_right_as_math_verify(part, right):
    logging.getLogger("math_verify").setLevel(logging.CRITICAL)
    rows = getattr(data, part)
    assert len(rows) == 111 and 60 < sum(row.right for row in rows) < 75
    ours = sum(bool(equal(row.solution, row.truth)) == row.right for row in rows)
    assert ours == right
    assert ours >= sum(theirs(row.solution, row.truth) == row.right for row in rows)
