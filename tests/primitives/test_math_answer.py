"""The final answer of whole solutions, and `math_equal` on them, held against labels and math-verify."""

import logging
import pickle
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
        ("6 * 7 = 42\n#### 42", "42"),
        (r"Hence \[x = 3.\] That is all.", r"\[x = 3.\]"),
        (r"So $2 + 3 = 5$", "5"),
        (r"$S = 1 + 2 = 3$.", "3"),
        ("So $x = 3$ or $x = 5$.", "$x = 3$ or $x = 5$"),
        ("The largest $n$ is 34.", "34"),
        ("She pays $1,234.50 in all.", "$1,234.50"),
        ("It rose by 12.5% in May", "12.5%"),
        ("Er zahlt 1.000,99 Euro", "1.000,99"),
        ("It takes 5 hours and no more", "5 hours"),
        ("It is 7, not 5.", "7"),
        ("It is 7, less than 9.", "7"),
        ("一共有42个苹果", "42个"),
        ("全长5千米。", "5千米"),
        ("If the answer is 20, then $4 x = 20$. So x = 15.", "15"),
        ("所以 $x_1=3, x_2=-1$", "$x_1=3, x_2=-1$"),
        (r"Hence $a = 1 \text{ or } b = 2$.", r"$a = 1 \text{ or } b = 2$"),
        ("$f(1) = 2, x = 3 + 4 = 7$", "7"),
        ("I do not know", None),
        ("", None),
        (None, None),
    ],
)
def test_the_answer_is_found_in_the_documented_order(solution, expected):
    assert answer(solution) == expected
    for start, end in answer.spans(solution):
        assert solution[start:end] == expected


def test_it_is_an_extractor_like_the_others():
    assert repr(answer) == "math_answer()" and pickle.loads(pickle.dumps(answer)) == answer
    reward = rk.Reward(
        "r",
        fields={"prediction": rk.extract.math_answer()},
        components=[rk.Component("correct", rk.verify.math_equal)],
    )
    assert reward(completion=r"So \boxed{\frac12}", ground_truth="0.5").reward == 1.0


@pytest.mark.parametrize(
    ("prediction", "truth", "expected"),
    [
        ("The largest $n$ is 34.", "34", True),
        ("The largest $n$ is 34.", "35", False),
        (r"So \boxed{1} and \boxed{2}.", r"\{1, 2\}", True),
        (r"So \boxed{1} and \boxed{2}.", "2", False),
        ("We get $x = 3$.", "3", True),
        ("所以 $x_1=3, x_2=-1$", "3, -1", True),
        ("所以 $x_1=3, x_2=-1$", "-1", False),
        ("If the answer is 20, then $4 x = 20$. So x = 15.", "20", False),
        ("Er zahlt am Ende 1.000,99 Euro.", "1,000.99", True),
        ("Er zahlt am Ende 1.000,99 Euro.", "1.00099", False),
        ("She has 3 * 4 = 12 apples.", "Each has 4, so 12 in all.\n#### 12", True),
        ("It grew by a quarter, that is 25%.", r"25\%", True),
        ("最大值为 5万元。", "50000", True),
        ("这辆汽车每小时行驶80千米。", "80", True),
        ("这辆汽车每小时行驶80千米。", "8", False),
        ("The solution set of it is $(-\\infty, 2]$.", r"(-\infty, 2]", True),
        ("The solution set of it is $(-\\infty, 2)$.", r"(-\infty, 2]", False),
        (rf"Its inverse is ${MATRIX}$.", MATRIX, True),
        ("I do not know the answer to it", "5", False),
        ("x " * 60_000 + "so it is 5", "5", False),
    ],
)
def test_sentences_are_compared_by_their_answers(prediction, truth, expected):
    assert equal(prediction, truth) is expected


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
