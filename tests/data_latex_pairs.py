r"""A training log of mathematical answers, made from a seed: what `bench_math` compares and a test checks.

Truths are of the kinds that the MATH data set has (its solutions end in a ``\boxed{}`` of LaTeX), with
numbers put in for A, B and C. A policy answers each `GENERATIONS` times in the way that policies repeat
themselves: mostly one spelling of the truth, at times another, and a few wrong answers that come back.
"""

from __future__ import annotations

import random
from math import gcd

GENERATIONS = 16

# truth, then other right spellings, then wrong answers
TEMPLATES = [
    (r"\frac{A}{B}", [r"\dfrac{A}{B}", r"A/B"], [r"\frac{B}{A}", r"-\frac{A}{B}"]),
    (r"-\frac{A}{B}", [r"-\dfrac{A}{B}", r"\frac{-A}{B}"], [r"\frac{A}{B}", r"-\frac{B}{A}"]),
    (r"A\sqrt{B}", [r"A \sqrt{B}", r"\sqrt{B}\cdot A"], [r"B\sqrt{A}", r"\sqrt{B}", "A"]),
    (
        r"\frac{A\sqrt{B}}{C}",
        [r"\dfrac{A\sqrt{B}}{C}", r"\frac{A}{C}\sqrt{B}"],
        [r"\frac{A\sqrt{C}}{B}", r"A\sqrt{B}"],
    ),
    (
        r"\sqrt{A}+\sqrt{B}",
        [r"\sqrt{B}+\sqrt{A}", r"\sqrt{A} + \sqrt{B}"],
        [r"\sqrt{A+B}", r"\sqrt{A}-\sqrt{B}"],
    ),
    (r"A\pi", [r"A \pi", r"\pi A"], [r"B\pi", r"A", r"A\pi^2"]),
    (r"\frac{A\pi}{B}", [r"\dfrac{A\pi}{B}", r"\frac{A}{B}\pi"], [r"\frac{\pi}{B}", r"\frac{B\pi}{A}"]),
    (r"A+B\pi", [r"B\pi+A", r"B \pi + A"], [r"A-B\pi", r"A\pi+B"]),
    (r"A+Bi", [r"Bi+A", r"A + Bi"], [r"A-Bi", r"B+Ai"]),
    (r"x^2+Ax+B", [r"x^2 + Ax + B", r"B+Ax+x^2"], [r"x^2-Ax+B", r"x^2+Bx+A"]),
    (r"(x+A)(x-B)", [r"(x-B)(x+A)", r"(x + A)(x - B)"], [r"(x-A)(x+B)", r"(x+A)(x+B)"]),
    (r"Ax^3-Bx+C", [r"-Bx+Ax^3+C", r"Ax^3 - Bx + C"], [r"Ax^3+Bx+C", r"Ax^2-Bx+C"]),
    (r"\frac{x+A}{x-B}", [r"\dfrac{x+A}{x-B}", r"(x+A)/(x-B)"], [r"\frac{x-A}{x+B}", r"\frac{x+A}{x+B}"]),
    (r"y=Ax+B", [r"y = Ax + B", r"y=B+Ax"], [r"y=Ax-B", r"y=Bx+A"]),
    (r"Ax+By=C", [r"By+Ax=C", r"Ax + By - C = 0"], [r"Ax-By=C", r"Bx+Ay=C"]),
    (r"Ax-By+C=0", [r"By-Ax-C=0", r"Ax - By + C = 0"], [r"Ax+By+C=0", r"Ax-By-C=0"]),
    (r"(x-A)^2+(y-B)^2=C", [r"(x-A)^2 + (y-B)^2 = C", r"(y-B)^2+(x-A)^2=C"], [r"(x+A)^2+(y+B)^2=C"]),
    (r"x=A", [r"A", r"x = A"], [r"x=-A", r"x=B"]),
    (r"(A,B)", [r"(A, B)", r"\left(A,B\right)"], [r"(B,A)", r"(A,-B)"]),
    (
        r"\left(\frac{A}{B},C\right)",
        [r"\left(\dfrac{A}{B},C\right)", r"(A/B, C)"],
        [r"\left(C,\frac{A}{B}\right)"],
    ),
    (r"(A,B,C)", [r"(A, B, C)", r"\left( A, B, C \right)"], [r"(C,B,A)", r"(A,B,-C)"]),
    (r"A,B", [r"B,A", r"A, B"], [r"A", r"A,-B"]),
    (r"\{A,B,C\}", [r"\{C,B,A\}", r"\left\{A,B,C\right\}"], [r"\{A,B\}", r"\{A,B,-C\}"]),
    (r"A\pm\sqrt{B}", [r"A \pm \sqrt{B}", r"A+\sqrt{B},A-\sqrt{B}"], [r"B\pm\sqrt{A}", r"A+\sqrt{B}"]),
    (r"[-A,B)", [r"[-A, B)", r"\left[-A,B\right)"], [r"(-A,B)", r"[-A,B]"]),
    (
        r"(-\infty,-A)\cup(B,\infty)",
        [r"(-\infty, -A) \cup (B, \infty)"],
        [r"(-\infty,-A]\cup[B,\infty)", r"(-A,B)"],
    ),
    (r"x\le A", [r"x \leq A", r"(-\infty,A]"], [r"x\ge A", r"x<A"]),
    (r"A^{B}", [r"{A}^{B}", r"A ^ {B}"], [r"B^{A}", r"A^{C}"]),
    (r"\frac{1}{A^{B}}", [r"\dfrac{1}{A^{B}}", r"A^{-B}"], [r"\frac{1}{A^{C}}", r"A^{B}"]),
    (r"A\cdot 10^{B}", [r"A \times 10^{B}", r"A\times10^{B}"], [r"A\cdot 10^{C}", r"B\cdot 10^{B}"]),
    (r"\log_{A} B", [r"\log_{A}(B)", r"\frac{\ln B}{\ln A}"], [r"\log_{B} A", r"\log_{A} C"]),
    (r"\ln A", [r"\ln(A)", r"\ln{A}"], [r"\ln B", r"A"]),
    (r"e^{A}-B", [r"e^{A} - B", r"-B+e^{A}"], [r"e^{A}+B", r"e^{B}-A"]),
    (
        r"\begin{pmatrix} A \\ B \end{pmatrix}",
        [r"\begin{pmatrix}A\\B\end{pmatrix}"],
        [r"\begin{pmatrix} B \\ A \end{pmatrix}"],
    ),
    (
        r"\begin{pmatrix} A & B \\ C & 1 \end{pmatrix}",
        [r"\begin{bmatrix}A&B\\C&1\end{bmatrix}"],
        [r"\begin{pmatrix} A & C \\ B & 1 \end{pmatrix}"],
    ),
    (r"A\%", [r"A \%", r"A"], [r"B\%", r"-A\%"]),
    (r"A^\circ", [r"A^{\circ}", r"A"], [r"B^\circ", r"A\pi"]),
    (r"A\text{ cm}", [r"A \text{ cm}", r"A"], [r"B\text{ cm}", r"-A\text{ cm}"]),
    (r"\text{Monday}", [r"Monday", r"\text{monday}"], [r"\text{Tuesday}", r"A"]),
    (r"\$A.B0", [r"A.B0", r"\$A.B"], [r"\$B.A0", r"A"]),
]


def log(truths: int = 200, seed: int = 0) -> list[tuple[str, str, bool]]:
    """Rows of (prediction, truth, whether it is right), the generations of a truth together."""
    chance = random.Random(seed)
    rows = []
    for number in range(truths):
        numbers = _numbers(chance)
        truth, right, wrong = (_filled(part, numbers) for part in TEMPLATES[number % len(TEMPLATES)])
        share = chance.uniform(0.3, 0.9)  # of right answers; how hard the task is
        for _ in range(GENERATIONS):
            if chance.random() < share:
                answer = truth[0] if chance.random() < 0.7 else chance.choice(right)
                rows.append((answer, truth[0], True))
            else:
                answer = wrong[0] if chance.random() < 0.6 else chance.choice(wrong)
                rows.append((answer, truth[0], False))
    return rows


def _numbers(chance: random.Random) -> dict[str, str]:
    """Three that no template turns into each other: different, without a common factor, no squares."""
    while True:
        a, b, c = chance.sample([2, 3, 5, 6, 7, 10, 11, 13, 14, 15], 3)
        if gcd(a, b) == gcd(b, c) == gcd(a, c) == 1:
            return {"A": str(a), "B": str(b), "C": str(c)}


def _filled(part: str | list[str], numbers: dict[str, str]) -> list[str]:
    return [text.translate(str.maketrans(numbers)) for text in ([part] if isinstance(part, str) else part)]
