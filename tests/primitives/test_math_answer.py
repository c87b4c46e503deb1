"""The final answer of whole solutions, and `math_equal` on them, held against labels and math-verify."""

import logging
import sys
from pathlib import Path

import pytest

import rewardkit as rk

sys.path.insert(0, str(Path(__file__).parents[1]))

import data_math_solutions as data

MATRIX = r"\begin{pmatrix}1&0\\0&2\end{pmatrix}"
answer = rk.extract.math_answer()
equal = rk.verify.math_equal


@pytest.mark.parametrize(
    ("solution", "expected"),
    [
        (r"First \boxed{1}, then \boxed{42}. The answer is 7.", "42"),
        (r"$x=\boxed{2}$ and $x=\boxed{-5}$.", r"\boxed{2}$ and $x=\boxed{-5}"),
        (r"\boxed{1}, \boxed{2}, and \boxed{3}", r"\boxed{1}, \boxed{2}, and \boxed{3}"),
        (r"\boxed{1}. Checking gives \boxed{2}", "2"),
        ("It is $5$. The answer is 12 apples. I checked 3 times.", "12 apples"),
        ("The answer is the number of all the ways to pay, so 24 ways it is.", "24"),
        ("因此答案是：42。谢谢", "42"),
        ("解得 $x=2$。故选：B．", "B"),
        ("So $x = 3$ or $x = 5$.", "$x = 3$ or $x = 5$"),
        ("Er zahlt 1.000,99 Euro", "1.000,99"),
        ("If the answer is 20, then $4 x = 20$. So x = 15.", "15"),
        ("所以 $x_1=3, x_2=-1$", "$x_1=3, x_2=-1$"),
        ("#### 5\nThe answer is 7.", "7"),
        (r"\boxed{5}\n#### 7", "5"),
        ("Step 3: 4 apples are left", "4"),
        ("Total: 11 apples (5 red and 6 green) in 3 bags", "3"),
        ("The minimum of $f$ is attained at $x=2$.", "$x=2$"),
        (r"So $x = k\pi$, where $k \in \mathbb{Z}$.", r"$x = k\pi$"),
        ("The points are (1, 2) and (3, 4).", "(1, 2) and (3, 4)"),
        ("故选：A、C．", "A、C"),
        ("概率是十二分之五。", "十二分之五"),
        (f"The answer is 5. {'word ' * 4_100}", None),
        (f"So \\boxed{{5}}.{' word' * 4_100}", "5"),
        (f"$a$ is $b {'c ' * 15_000}$, so $d = 5$", "$d = 5$"),
        (f"{'word ' * 300_000}\n\nThe answer is 5.", "5"),
        ("", None),
        (None, None),
    ],
)
def test_the_answer_is_found_in_the_documented_order(solution, expected):
    assert answer(solution) == expected
    for start, end in answer.spans(solution):
        assert solution[start:end] == expected


@pytest.mark.parametrize(
    ("prediction", "truth", "expected"),
    [
        ("The largest $n$ is 34.", "34", True),
        (r"So \boxed{1} and \boxed{2}.", r"\{1, 2\}", True),
        ("所以 $x_1=3, x_2=-1$", "3, -1", True),
        ("所以 $x_1=3, x_2=-1$", "-1", False),
        ("If the answer is 20, then $4 x = 20$. So x = 15.", "20", False),
        ("Er zahlt am Ende 1.000,99 Euro.", "1.00099", False),
        ("最大值为 5万元。", "50000", True),
        ("The solution set of it is $(-\\infty, 2]$.", r"(-\infty, 2]", True),
        ("The solution set of it is $(-\\infty, 2)$.", r"(-\infty, 2]", False),
        (rf"Its inverse is ${MATRIX}$.", MATRIX, True),
        ("x " * 60_000 + "so it is 5", "5", False),
    ],
)
def test_sentences_are_compared_by_their_answers(prediction, truth, expected):
    assert equal(prediction, truth) is expected


IN_THE_WILD = [  # a stranger's solutions that came out wrong once, each with what must not be right beside it
    ("The answer is 1.250,50 euros.", "1250.50", "1.25050"),
    ("So the ratio is 3:4.", "3:4", "4:3"),
    ("So the ratio is 3:4.", "3/4", "4"),
    ("#### 1/3 of the cake", "1/3", "3"),
    ("The answer is 5 (not 6).", "5", "6"),
    (r"Therefore the minimum is $-\dfrac{9}{4}$, attained at $x=\frac12$.", "-9/4", "1/2"),
    ("Total: 11 apples (5 red and 6 green)", "11", "6"),
    ("x ∈ {1, 2, 3}", r"\{1,2,3\}", "3"),
    (r"\boxed{x \in \{1, 2, 3\}}", r"\{1,2,3\}", r"\{1,2\}"),
    ("共有A、B、C三种。故选：AC", "AC", "A"),
    ("所以 $x>3$ 或 $x<-1$", r"(-\infty,-1)\cup(3,\infty)", r"(-\infty,-1]\cup(3,\infty)"),
    ("No solution exists, so the answer is none.", r"\emptyset", "0"),
    ("答案：百分之二十五", r"25\%", "100/25"),
    ("答案：一又四分之三", "7/4", "3/4"),
    (r"$\boxed{\frac{\pi}{3}}$", r"60^\circ", "60"),
    (r"The answer is $\boxed{\text{(C)}\ 12}$.", "12", "13"),
    (r"The answer is $\boxed{\textbf{(C)}\ 12}$.", "C", "D"),
    ("**Answer:** 7", "7", "8"),
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
