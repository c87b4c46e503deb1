"""math_equal: what is equal, what math-verify gets wrong, and that nothing takes longer than its deadline."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.deadlines import Workers
from rewardkit.primitives import mathematics
from rewardkit.primitives.latex import LONGEST, normal_form, same_text, split
from rewardkit.primitives.mathematics import math_equal
from rewardkit.trace import listen

sys.path.insert(0, str(Path(__file__).parents[1]))

import data_latex_pairs


def table(*rows):
    return [pytest.param(*row[:-1], id=row[-1]) for row in rows]


PLAIN = [
    ("4", "4.0", True, "the same number"),
    ("1/2", "0.5", True, "a fraction and a decimal"),
    ("15", "5", False, "the truth's digits inside another number"),
    ("-3", "3", False, "the wrong sign"),
    ("0.1", "0.10000000001", False, "decimals that differ in the eleventh place"),
    ("0.1", "0.1000000", True, "zeros behind"),
    ("9007199254740993", "9007199254740992", False, "beyond what floats can tell apart"),
    ("1e999999", "1", False, "an exponent that would be an infinite float"),
    ("0.333333", "1/3", False, "a rounded fraction"),
    ("$5$", "5", True, "dollars around a number"),
    (r"\boxed{5}", "5", True, "a box around a number"),
    ("5", r"\text{5}", True, "a number set as text"),
    ("**5**", "5", True, "a number in bold"),
    ("5,", "5", True, "a comma behind a number"),
    ("The answer is 42.", "42", True, "an announced number"),
    ("= 42", "42", True, "an equals sign in front"),
    ("The answer is 42.", "43", False, "another announced number"),
    ("5 36", "536", False, "two numbers are not one"),
]

FRACTIONS_AND_WRAPPING = [
    (r"\dfrac{9}{7}", r"\boxed{\frac{9}{7}}", True, "a bare dfrac and a boxed frac"),
    (r"\tfrac97", r"\frac{9}{7}", True, "tfrac without braces"),
    (r"\(\frac{9}{7}\)", "9/7", True, "LaTeX in parentheses"),
    (r"\[\frac{9}{7}\]", r"$$\dfrac97$$", True, "display mathematics"),
    (r"{\frac{9}{7}}", r"$\displaystyle\frac{9}{7}$", True, "braces, and displaystyle"),
    (r"\boxed{pi/2}", r"\frac{\pi}{2}", True, "a spelling in a box"),
    (r"$pi/2$", r"$$pi/2$$", True, "in dollars"),
    (r"\(pi/2\)", r"\[pi/2\]", True, "in LaTeX's brackets"),
    (r"\large pi/2", r"\displaystyle pi/2", True, "of any size"),
    (r"The result is $\frac{9}{7}$.", r"\frac97", True, "LaTeX in a sentence"),
    (r"So it is \boxed{\frac{9}{7}}, as was asked.", r"\frac97", True, "a box in a sentence"),
    (r"-\dfrac{9}{7}", r"\frac{-9}{7}", True, "a sign above"),
    (r"1\frac{2}{7}", r"\dfrac{9}{7}", True, "a mixed number"),
    (r"\dfrac{9}{7}", r"\boxed{\frac{9}{8}}", False, "another denominator"),
    (r"\dfrac{9}{7}", r"\boxed{\frac{7}{9}}", False, "the wrong way up"),
    (r"\frac{1}{2}", r"\frac{1}{3}", False, "another fraction"),
    (r"\frac{x}{2}", r"\dfrac{x}2", True, "a fraction with a letter"),
    (r"0.\overline{3}", r"\frac{1}{3}", True, "a recurring decimal"),
    (r"0.1\overline{6}", r"\frac{1}{6}", True, "one that recurs later"),
    (r"0.\overline{3}", r"0.\overline{4}", False, "another recurring decimal"),
    (r"0.\overline{3}", "0.3", False, "a decimal that does not recur"),
]

CURRENCY_AND_THOUSANDS = [
    (r"\$1,000", "1000", True, "a dollar sign and a separator"),
    ("$1,000", "1000", True, "an unescaped dollar sign"),
    (r"$\$1,000$", "1000", True, "a dollar sign inside dollars"),
    (r"\$1,000.00", "1{,}000", True, "cents"),
    (r"1\,000", "1000", True, "a thin space"),
    (r"10,\!000", "10000", True, "a comma with a negative space"),
    ("1 000 000", "1000000", True, "spaces"),
    ("x=1,000", "1000", True, "behind an equals sign"),
    ("€5", "5", True, "another currency"),
    (r"\$1,000", "1", False, "the first digits only"),
    (r"\$1,000", "100", False, "a tenth"),
    (r"2\,000\pi", r"2000\pi", True, "a thin space in an expression"),
    (r"2{,}000\pi", r"2000\pi", True, "a comma in braces in an expression"),
    (r"5x+€2", "5x+2", True, "a currency in an expression"),
    (r"\{100,200,300\}", "100200300", False, "a list of three numbers is not one"),
    ("1, 000", "1000", False, "a space behind the comma lists"),
]

SCIENTIFIC = [
    ("6.02e23", r"6.02 \times 10^{23}", True, "e-notation"),
    ("6.02E+23", r"6.02 \cdot 10^{23}", True, "a capital and a sign"),
    ("6.02×10²³", r"6.02 \times 10^{23}", True, "unicode"),
    ("1e-3", "10^{-3}", True, "a negative exponent"),
    ("1e3", "1000", True, "a small one"),
    (r"2\pi \times 10^{-7}", r"2e-7\pi", True, "e-notation in an expression"),
    ("(1e3, 2)", "(1000, 2)", True, "e-notation in a pair"),
    ("6.02e23", r"6.02 \times 10^{22}", False, "another exponent"),
    ("6.02e23", r"6.022 \times 10^{23}", False, "more digits"),
    ("2ex", "2xe", True, "an e that is a letter"),
]

UNICODE = [
    ("\u22125", "-5", True, "a unicode minus"),
    ("\u2212\\frac{1}{2}", "-0.5", True, "a unicode minus before LaTeX"),
    ("x\u22121", "x-1", True, "a unicode minus between terms"),
    ("\u20135", "-5", True, "an en dash"),
    ("\u22125", "5", False, "a unicode minus is a sign"),
    ("\uff11\uff12", "12", True, "full-width digits"),
    ("\uff0d\uff11\uff12", "-12", True, "a full-width sign"),
    ("\\frac{\uff11}{\uff12}", "0.5", True, "full-width digits in LaTeX"),
    ("\uff08\uff11\uff0c\uff12\uff09", "(1,2)", True, "a full-width pair"),
    ("\u0661\u0662", "12", True, "Arabic digits"),
    ("\uff11\uff12", "21", False, "other full-width digits"),
    ("x\u2010y", "x-y", True, "a hyphen"),
    ("x\u2044y", r"\frac{x}{y}", True, "a fraction slash"),
    ("x\u00b7y", "xy", True, "a middle dot"),
    ("\u221a12", r"2\sqrt{3}", True, "a root sign before two digits"),
    ("\u221a(x+1)", r"\sqrt{x+1}", True, "a root sign before parentheses"),
    ("30\u00b0", "30", True, "a degree sign"),
    ("x\u2208(1,2)", r"x\in(1,2)", True, "an element sign"),
    ("x\u2081+x\u2082", "x_1+x_2", True, "lowered digits"),
    ("x\u00b2+\u00bd", r"x^2+\frac12", True, "raised digits and a fraction sign"),
    ("x\u00b9\u00b2", "x^{12}", True, "two raised digits"),
    ("x\u00b9\u00b2", "x^2", False, "raised digits are exponents"),
    ("x\u207b\u00b9", r"\frac1x", True, "a raised minus"),
    ("2\u221a3", r"2\sqrt{3}", True, "a root sign"),
    ("\u03c0/2", r"\frac{\pi}{2}", True, "a Greek letter"),
    ("x\u2264\u22121", r"x\le-1", True, "a relation"),
    ("(\u2212\u221e, 2]", r"(-\infty,2]", True, "infinity"),
]

CALCULATOR_SPELLING = [
    ("-1 + exp(16)", "e^{16}-1", True, "exp"),
    ("2*exp(-x)", r"\frac{2}{e^x}", True, "exp of an expression"),
    ("exp(exp(2))", "e^{e^{2}}", True, "exp of exp"),
    (r"\exp(16)-1", "-1+e^{16}", True, "exp as a command"),
    ("-1 + exp(16)", "e^{16}+1", False, "another sign"),
    ("-1 + exp(16)", "e^{15}-1", False, "another exponent"),
    ("pi/2", r"\dfrac{\pi}{2}", True, "pi"),
    ("3pi/4", r"\frac{3\pi}{4}", True, "a multiple of pi"),
    ("-2*pi^2", r"-2\pi^{2}", True, "a power of pi"),
    ("pi/2", r"\dfrac{\pi}{3}", False, "another part of pi"),
    ("pi/2", r"\frac{1}{2}", False, "pi is not 1"),
    ("sqrt(2)/2", r"\frac{\sqrt{2}}{2}", True, "sqrt"),
    ("sqrt(1+sqrt(2))", r"\sqrt{1+\sqrt{2}}", True, "nested roots"),
    ("sqrt12", r"2\sqrt{3}", True, "a root without parentheses"),
    ("x**2+1", "x^2+1", True, "two stars"),
    ("e^(2x)", "e^{2x}", True, "an exponent in parentheses"),
    ("2^-x", r"\frac{1}{2^x}", True, "a negative exponent without braces"),
    ("sin(x)", r"\sin x", True, "sin"),
    ("log(100)", "2", True, "log"),
    ("(-oo, 2)", r"(-\infty, 2)", True, "oo"),
    ("epic", "e^{pic}", False, "pi inside a word is none"),
]

TINY = [
    ("1/2004!", "1/2006!", False, "factorials in the denominator"),
    ("1/2004!", "1/2004!", True, "the same factorial"),
    (r"\frac{1}{2006!}", r"\frac{1}{2006\cdot 2005!}", True, "an equal factorial"),
    ("1/2^{99}", "1/2^{98}", False, "powers in the denominator"),
    ("1/2^{99}", "2^{-99}", True, "a negative exponent"),
    ("1/2^{98}", "2/2^{99}", True, "a reduced power"),
    ("1/2^{99}", "0", False, "nearly nothing"),
    ("1+1/2^{99}", "1", False, "nearly one"),
    (r"10^{-20}\pi", r"10^{-20}e", False, "small multiples of constants"),
    ("e^{-60}", "e^{-59}", False, "small exponentials"),
    (r"\sqrt{2}+10^{-30}", r"\sqrt{2}", False, "nearly a root"),
    ("x+1/2^{99}", "x+1/2^{98}", False, "a small term beside a letter"),
    ("x/2^{99}", "x/2^{98}", False, "a small factor of a letter"),
    (r"(1/2^{99}, 1)", r"(1/2^{98}, 1)", False, "a small element of a pair"),
    (r"\{1/2^{99}, \pi\}", r"\{1/2^{98}, \pi\}", False, "a small element of a set"),
    (r"[1/2^{99}, \pi)", r"[1/2^{98}, \pi)", False, "a small end of an interval"),
    (r"x<1/2^{99}", r"x<1/2^{98}", False, "a small bound"),
    (r"x=1/2^{99}", r"1/2^{98}", False, "a small value of a letter"),
    (
        r"\begin{pmatrix}1/2^{99}\\1\end{pmatrix}",
        r"\begin{pmatrix}1/2^{98}\\1\end{pmatrix}",
        False,
        "a matrix",
    ),
    ("10^{30}+1", "10^{30}", False, "large integers"),
    (r"\sqrt{10^{60}+1}", "10^{30}", False, "a root that is nearly an integer"),
    (r"e^{\pi\sqrt{163}}", "262537412640768744", False, "Ramanujan's constant is no integer"),
    (r"1+\frac{x-1}{2^{99}}", "1", False, "a small multiple of a letter"),
    (r"\sqrt{2}+\sqrt{3}", r"\sqrt{5+2\sqrt{6}}", True, "roots that are equal"),
    (r"\sqrt[3]{7+5\sqrt{2}}", r"1+\sqrt{2}", True, "a root within a root"),
    (r"\sin^2(1)+\cos^2(1)", "1", True, "an identity"),
    (r"\cos\frac{2\pi}{7}+\cos\frac{4\pi}{7}+\cos\frac{6\pi}{7}", r"-\frac12", True, "a sum of cosines"),
    (r"\log_2 8", "3", True, "a logarithm"),
    (r"\binom{10}{3}", "120", True, "a binomial"),
    ("(5!)!", "120!", True, "a factorial of a factorial"),
]

ROUNDING = [
    ("0.33", r"\frac{1}{3}", False, "two digits of a third"),
    ("0.33333333", r"\frac{1}{3}", False, "eight digits of a third"),
    ("3.14", r"\pi", False, "pi in three digits"),
    ("3.141593", r"\pi", False, "pi in seven digits"),
    ("3.14159265358979323846", r"\pi", False, "pi in 21 digits"),
    (r"\frac{22}{7}", r"\pi", False, "a fraction near pi"),
    ("6.283185", r"2\pi", False, "rounded two pi"),
    ("1.414214", r"\sqrt{2}", False, "a rounded root"),
    ("0.1x", "0.10000000001x", False, "decimals beside letters"),
    (r"0.1\pi", r"0.1000000001\pi", False, "decimals beside pi"),
    ("(0.333333, 2)", r"(\frac13, 2)", False, "rounded in a pair"),
    ("x=0.333333", r"x=\frac13", False, "rounded in an equation"),
    (r"33.3333333\%", r"\frac13", False, "rounded in percent"),
    ("0.1+0.2", "0.3", True, "sums of decimals"),
    ("0.1x+0.2x", "0.3x", True, "sums of decimals beside letters"),
    (r"0.5\ldots", "0.5", True, "digits with an ellipsis, as far as they go"),
    (r"0.333\ldots", r"\frac13", False, "and no farther"),
    (r"\frac{x}{0.1}", "10x", True, "decimals that are exact"),
    (r"(0.5, x)", r"(\frac12, x)", True, "an exact decimal in a pair"),
    (r"0.25\pi", r"\frac{\pi}{4}", True, "an exact decimal beside pi"),
    ("x+0.1234567890123456789012345", "x+0.1234567890123456789012346", False, "the 25th digit"),
]

CUT_OFF = [
    ("4", r"4\sqrt(2)", False, "a root in parentheses"),
    (r"4\sqrt(2)", r"4\sqrt{2}", True, "the same root in braces"),
    (r"\frac{\sqrt(2)}{2}", r"\frac{1}{\sqrt{2}}", True, "a root in parentheses in a fraction"),
    (r"\sqrt[3](2)", r"2^{1/3}", True, "a cube root in parentheses"),
    (r"4\sqrt\left(2\right)", r"4\sqrt{2}", True, "a root in large parentheses"),
    ("3", r"3\sqrt(5)", False, "another root"),
    ("4", r"4\unknown(2)", False, "an unknown command"),
    ("4", "4)(", False, "unmatched parentheses"),
    ("5", "5 @ 7", False, "an unknown sign"),
    ("7", r"x \equiv 3 \pmod 7", False, "a congruence is not its modulus"),
    (r"x\equiv 3\pmod{7}", r"x \equiv 3 \pmod 7", True, "what cannot be read is compared as text"),
    (r"x\equiv 3\pmod{7}", r"x\equiv 4\pmod{7}", False, "another congruence"),
    (r"1-1/\mathrm{e}", r"1+1/\mathrm{e}", False, "an upright e at the end"),
    (r"1-1/\mathrm{e}", r"1-\frac{1}{e}", True, "an upright e is e"),
    (r"1-1/\text{e}", r"1-1/\mathrm{e}", True, "e as text"),
    (r"1-1/\mathrm{e}", "1", False, "an upright e counts"),
    (r"2\mathrm{e}", "2", False, "an upright e is no unit"),
    (r"1/e", r"\frac{1}{\mathrm{e}}", True, "an upright e below"),
    (r"\sqrt{\mathrm{e}}", r"\sqrt{e}", True, "an upright e under a root"),
    (r"\frac{1}{2\mathrm{e}}", r"\frac{1}{2e}", True, "an upright e before a brace"),
    (r"\ln(\mathrm{e})", "1", True, "an upright e in parentheses"),
    (r"e^{\mathrm{e}}", "e^{e}", True, "an upright e above"),
    (r"\frac{1}{\mathrm{e}}", r"\frac{2}{\mathrm{e}}", False, "an upright e below, and another number"),
    (r"1+\mathrm{i}", r"1-\mathrm{i}", False, "an upright i at the end"),
    (r"1-1/\mathrm{x}", r"1-1/\mathrm{y}", False, "other upright letters"),
    (r"1-1/\mathrm{x}", r"1-\frac1x", True, "an upright letter behind a slash"),
    (r"2\mathrm{\pi}", r"2\pi", True, "an upright pi"),
    (r"\pi r^2 h", r"\pi r^2", False, "a letter that is no unit"),
    (r"a^2+2ab", "a^2+2", False, "two letters that are no unit"),
    (r"\sin t", r"\sin(t)", True, "a letter behind a function"),
    (r"\cos t", r"\sin t", False, "another function of it"),
    ("15 or 5", "5", False, "two answers are not one of them"),
    ("It is 7, not 5", "5", False, "a sentence that ends in the truth"),
    ("The cookies are bigger because they are larger.", "16", False, "prose"),
]

SEQUENCES = [
    (r"1, 2, \ldots, n", r"1, 3, 5, \ldots, 2n-1", False, "another sequence"),
    (r"1, 2, \ldots, n", r"1, 2, \dots, n", True, "another ellipsis"),
    (r"1, 2, \ldots, n", "1,2,...,n", True, "three points"),
    ("1,2,\u2026,n", "1,2,...,n", True, "a unicode ellipsis"),
    (r"1, 3, 5, \ldots, 2n-1", r"1, 3, 5, \ldots, -1+2n", True, "an equal last term"),
    (r"1, 2, \ldots, n", r"1, 2, \ldots, m", False, "another last term"),
    (r"1, 2, \ldots, n", r"1, 2, 3, \ldots, n", False, "another number of terms"),
    (r"2, 4, 6, \ldots", r"2, 4, 8, \ldots", False, "an open sequence"),
    (r"1, 2, 3", r"1, 2, 3, \ldots", False, "a finite and an infinite one"),
    (r"\{1,2,\ldots,10\}", r"\{1, 2, \dots, 10\}", True, "in braces"),
    (r"\{1,2,\ldots,10\}", r"\{1, 3, \ldots, 10\}", False, "another one in braces"),
    (r"1+2+\cdots+n", r"1+3+\cdots+n", False, "a sum"),
    (r"1+2+\cdots+n", r"1 + 2 + \dots + n", True, "the same sum"),
    (r"1+2+\cdots+n", "1", False, "a sum is not its first term"),
    (r"1\cdot2\cdots n", r"1 \cdot 2 \cdots n", True, "a product"),
    (r"1\cdot2\cdots n", r"1 \cdot 3 \cdots n", False, "another product"),
    (r"a_1, a_2, \ldots, a_n", r"a_{1}, a_{2}, \ldots, a_{n}", True, "indices"),
]

EQUATIONS = [
    ("3*x-1*y+13=0", "3x + 4y + 14=0", False, "two lines"),
    ("3*x-1*y+13=0", "3x - y + 13=0", True, "the same line with stars"),
    ("3x+4y+14=0", "6x+8y+28=0", True, "twice"),
    ("3x+4y+14=0", "-3x-4y=14", True, "sides exchanged"),
    (r"\frac{x}{2}+\frac{y}{3}=1", "3x+2y=6", True, "without fractions"),
    ("y=2x+1", "2x-y+1=0", True, "solved for y"),
    ("y=2x+1", "y=2x-1", False, "another constant"),
    ("y=2x+1", "y=3x+1", False, "another slope"),
    ("y=2x+1", "x=2y+1", False, "letters exchanged"),
    ("x^2+y^2=1", "x^2+y^2-1=0", True, "a circle"),
    ("x^2+y^2=1", "x^2+y^2=4", False, "another circle"),
    ("x^2+1=0", "x^2+2=0", False, "without real solutions"),
    ("xy=1", "y=1/x", True, "the same solutions"),
    ("xy=1", "xy=2", False, "another hyperbola"),
    ("0=1", "1=2", False, "two false statements"),
    ("3x+4y+14=0", "0", False, "an equation is not its right side"),
    ("2x+z=1", "1", False, "nor this one"),
    ("2+5=7", "7", True, "a sum with its result"),
    ("2+5=8", "8", False, "a wrong sum with its result"),
    ("x=2+5=7", "x=7", True, "a chain"),
    ("x=5", "5", True, "a letter's value"),
    ("x=5", "6", False, "another value"),
    ("x=5", "y=5", False, "another letter"),
    ("f(x)=2x+1", "2x+1", True, "a function's value"),
    ("f(x)=2x+1", "2x", False, "another value of a function"),
    ("2x>6", "x>3", True, "an inequality by a factor"),
    ("-x<-3", "x>3", True, "by a negative one"),
    ("x>3", "x<3", False, "turned round"),
    (r"x\ge 3", "x>3", False, "with and without its end"),
    ("1<x<2", "2>x>1", True, "a chain from behind"),
    ("1<x<2", "(1,2)", True, "an interval"),
    ("-2<x<2", r"x=\pm 2", False, "an interval and the letter's values"),
    ("x=2", "x<2", False, "a value and a bound"),
    ("-2<x<2", r"\pm 2", False, "an interval and its ends"),
]

CONTROLS = [
    (r"50\%", "0.5", True, "percent as a share"),
    (r"50\%", "50", True, "percent as a number"),
    (r"50\%", "5", False, "other percent"),
    (r"50\%", r"50.0\%", True, "percent and percent"),
    (r"12.5\%", "12.5", False, "percent with decimals"),
    (r"5\text{ cm}", "5", True, "a unit as text"),
    (r"5\text{ cm}", r"6\text{ cm}", False, "another number of them"),
    (r"5\text{ cm}", r"5\text{ m}", True, "units do not count"),
    ("5 cm", "5", True, "a bare unit"),
    (r"5~\mathrm{cm}", "5", True, "an upright unit"),
    (r"30^\circ", "30", True, "degrees"),
    (r"30\degree", "30", True, "degrees by name"),
    (r"5^{\text{th}}", "5", True, "an ordinal"),
    (r"\text{Monday}", "Monday", True, "a word"),
    (r"\text{Monday}", r"\text{Tuesday}", False, "another word"),
    (r"\text{yes}", "Yes", True, "case does not count"),
    (r"\text{(A)}", "A", True, "a choice"),
    (r"\text{A}", "B", False, "another choice"),
    ("(1,2)", "(1, 2)", True, "a pair"),
    ("(1,2)", "(2,1)", False, "the order of a pair counts"),
    ("(1,2)", "[1,2]", False, "open and closed"),
    ("[1,2)", "(1,2]", False, "half open"),
    (r"(1,2)\cup(3,4)", r"(3,4)\cup(1,2)", True, "a union"),
    (r"(1,2)\cup(3,4)", r"(1,2)\cup(3,5)", False, "another union"),
    (r"\{1,2,3\}", r"\{3,2,1\}", True, "the order of a set does not count"),
    (r"\{1,2,3\}", r"\{1,2\}", False, "another set"),
    (r"\{\sqrt{2},1\}", r"\{1,\frac{2}{\sqrt{2}}\}", True, "a set of roots"),
    ("1,2", "2,1", True, "a list without brackets"),
    (r"\pm 2", "2,-2", True, "plus and minus"),
    (r"x=\pm 2", r"\{-2,2\}", True, "a letter with two values"),
    (r"x=1 \text{ or } x=2", "1,2", True, "or"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{bmatrix}1&2\\3&4\end{bmatrix}", True, "matrices"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&3\\2&4\end{pmatrix}", False, "transposed"),
    ("x^2+2x+1", "(x+1)^2", True, "a square"),
    ("x^2+2x+1", "(x-1)^2", False, "another square"),
    (r"\frac{x^2-1}{x-1}", "x+1", True, "a reduced fraction"),
    (r"\sin 2x", r"2\sin x\cos x", True, "a double angle"),
    (r"\sqrt{x^2}", "x", False, "a root of a square"),
    (r"\sqrt{50}", r"5\sqrt{2}", True, "a root without squares"),
    (r"\ln 4", r"2\ln 2", True, "a logarithm of a power"),
    ("n!", "n(n-1)!", True, "a factorial with a letter"),
    ("2n+1", "2m+1", False, "another letter"),
    ("e", r"\text{e}", True, "a lone e"),
    (r"\emptyset", r"\{\}", True, "the empty set"),
    (r"\infty", r"-\infty", False, "infinities"),
    (r"1,2", r"(1,2)", True, "a pair without brackets"),
    (r"\frac{n(n+1)}{2}", r"\sum_{k=1}^{n} k", True, "a sum with its formula"),
]

ROWS = [
    *PLAIN,
    *FRACTIONS_AND_WRAPPING,
    *CURRENCY_AND_THOUSANDS,
    *SCIENTIFIC,
    *UNICODE,
    *CALCULATOR_SPELLING,
    *TINY,
    *ROUNDING,
    *CUT_OFF,
    *SEQUENCES,
    *EQUATIONS,
    *CONTROLS,
]


@pytest.mark.parametrize(("prediction", "ground_truth", "expected"), table(*ROWS))
def test_math_equal_is_right_and_symmetric(prediction, ground_truth, expected):
    assert math_equal(prediction, ground_truth) is expected
    assert math_equal(ground_truth, prediction) is expected
    assert math_equal(prediction, prediction) is True


def test_the_table_is_as_large_as_it_should_be():
    assert len({row[:2] for row in ROWS}) == len(ROWS) >= 120


@pytest.fixture
def in_this_process(monkeypatch):
    """Decide without the worker, where debuggers and the measurement of coverage see it."""
    from rewardkit.primitives import symbolic

    monkeypatch.setattr(mathematics, "_ask", symbolic.decide)
    return lambda *pair: mathematics._judge(*pair, 0.0, 0.0)


def test_the_worker_says_what_its_function_says(in_this_process):
    for prediction, truth, expected, why in ROWS:
        assert in_this_process(prediction, truth) == (expected, None), why


def test_the_controls_are_what_math_verify_says():
    from math_verify import parse, verify

    for prediction, truth, expected, why in CONTROLS:
        read, expected_read = (parse(f"${text}$", parsing_timeout=None) for text in (prediction, truth))
        assert verify(expected_read, read, timeout_seconds=None) is expected, why


def test_the_verdicts_on_a_training_log_are_what_it_was_made_to_be():
    rows = dict.fromkeys(data_latex_pairs.log(truths=len(data_latex_pairs.TEMPLATES)))
    wrong = [row for row in rows if math_equal(*row[:2]) is not row[2]]
    assert len(rows) > 120
    assert wrong == []


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "expected"),
    table(
        ("5", None, None, "no truth"),
        ("5", math.nan, None, "a truth of NaN, which is how tables write a missing one"),
        ("5", "", None, "an empty truth"),
        ("x", " \n", None, "a truth of white space"),
        ("5", "\x00", None, "a truth without mathematics"),
        ("x", "$$", None, "a truth of dollars"),
        ("x", "((", None, "a truth of brackets"),
        (None, None, None, "neither"),
        (None, "", None, "no prediction beside an empty truth"),
        (None, "5", False, "no prediction beside a number"),
        (None, r"\frac{1}{2}", False, "no prediction beside LaTeX"),
        (None, "x^2", False, "no prediction beside an expression"),
        (math.nan, "x^2", False, "a prediction of NaN"),
        ("", "5", False, "an empty prediction beside a number"),
        ("", "x^2", False, "an empty prediction beside an expression"),
        ("$$", "x^2", False, "a prediction without mathematics"),
        ("x" * (LONGEST + 1), "x", False, "a prediction that is too long"),
        ("x", "x" * (LONGEST + 1), None, "a truth that is too long"),
        ("x" * (LONGEST + 1), 10**5000, False, "a prediction that is too long beside a long number"),
        ("x", 10**5000, False, "a truth of thousands of digits"),
        (10**5000, 10**5000, True, "numbers of thousands of digits"),
        (0.5, r"\frac12", True, "a float"),
        ("1/2", np.float64(0.5), True, "a numpy float"),
        (Fraction(1, 3), r"\frac13", True, "a Fraction"),
        (r"\frac{x}{1}", "x", True, "a letter"),
    ),
)
def test_missing_and_unreadable_values(prediction, ground_truth, expected):
    assert math_equal(prediction, ground_truth) is expected


@pytest.mark.parametrize(
    ("prediction", "ground_truth", "options", "expected"),
    table(
        ("4.1", "4", {"absolute": 0.1}, True, "numbers, at the absolute limit"),
        ("4.1000001", "4", {"absolute": 0.1}, False, "just past it"),
        ("90", "100", {"relative": 0.1}, True, "at the relative limit, of the larger"),
        ("89.9", "100", {"relative": 0.1}, False, "just past it relatively"),
        ("0.33", r"\frac{1}{3}", {"absolute": 0.005}, True, "two digits of a third"),
        ("0.33", r"\frac{1}{3}", {"absolute": 0.001}, False, "too few digits of a third"),
        ("3.14", r"\pi", {"absolute": 0.005}, True, "three digits of pi"),
        ("3.14", r"\pi", {"relative": 1e-3}, True, "three digits of pi, relatively"),
        ("3.14", r"\pi", {"relative": 1e-4}, False, "too few digits of pi, relatively"),
        ("3.141593", r"\pi", {"absolute": 1e-6}, True, "seven digits of pi"),
        ("3.14159...", r"\pi", {"absolute": 1e-5}, True, "digits with an ellipsis"),
        (r"\frac{22}{7}", r"\pi", {"relative": 1e-3}, True, "a fraction near pi"),
        (r"-\pi", r"\pi", {"relative": 0.9}, False, "the wrong sign"),
        ("1.414", r"\sqrt{2}", {"absolute": 1e-3}, True, "a root"),
        ("(0.33, 2)", r"(\frac13, 2)", {"absolute": 0.01}, True, "a pair of numbers"),
        ("(0.33, 2)", r"(\frac13, 3)", {"absolute": 0.01}, False, "a pair that is not near"),
        (r"(3.14, x)", r"(\pi, x)", {"absolute": 0.01}, True, "a pair with a letter"),
        (r"\{3.14, 1\}", r"\{1, \pi\}", {"absolute": 0.01}, True, "a set"),
        ("1.01,2", "2,1", {"absolute": 0.1}, True, "a list in another order"),
        ("x=3.14", r"x=\pi", {"absolute": 0.01}, True, "a letter's value"),
        (r"[0, 3.14)", r"[0, \pi)", {"absolute": 0.01}, True, "an interval"),
        (r"33.3\%", r"\frac13", {"absolute": 0.001}, True, "percent"),
        ("x+0.33", r"x+\frac13", {"absolute": 0.1}, False, "letters are compared exactly"),
        ("1+i", "1.001+i", {"absolute": 0.1}, False, "so are complex numbers"),
        ("5", "5", {"absolute": 0.1, "relative": 0.1}, True, "equal within any tolerance"),
        (None, "5", {"absolute": 9.0}, False, "no prediction is near nothing"),
    ),
)
def test_rounding_is_forgiven_within_a_tolerance(prediction, ground_truth, options, expected):
    assert math_equal(prediction, ground_truth, **options) is expected
    if prediction is not None:
        assert math_equal(ground_truth, prediction, **options) is expected


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
@pytest.mark.parametrize("option", ["absolute", "relative"])
def test_a_tolerance_without_meaning_is_refused_in_a_sentence(option, value):
    with pytest.raises(ValueError, match=f"0 or above, and finite; got .*{option}={value!r}"):
        math_equal("1", None, **{option: value})


# Hostile text

HOSTILE = [
    *("9^{9^{9}}", "9^{9^{9^{9}}}", "(10!)!", r"x^{10^{9}}"),
    *("{" * 900 + "x" + "}" * 900, r"\sqrt{" * 200 + "2" + "}" * 200, r"\frac{1}{" * 100 + "2" + "}" * 100),
    *("-" * 1900 + "1", "1+" * 900 + "1", "$" * 1900, "\\" * 1900, r"\boxed{" * 200, r"\boxed{1}" * 200),
    *("^2" * 900, "2^" * 600 + "2", "x_" * 600 + "1", "1," * 900, "..." * 500, "!" * 1000 + "5", "((", "}{"),
    *("\ud800", "\ud800" * 1000, "\x00", "\u202e5", "e\u0301", "\U0001f600", "\u0000\\frac", "nan", "inf"),
    *("".join(map(chr, range(32))), r"\frac{1}{0}", r"\infty-\infty", "0^0", "1/0", r"\log 0", r"\begin{a}"),
    r"\sum_{k=1}^{10^{30}} k",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:30])
def test_hostile_text_is_wrong_soon_and_never_raises(bounded, text):
    assert math_equal(text, r"\pi+1") is False
    assert math_equal(text, "x^2+1") is False
    assert math_equal(text, "7") is False
    assert math_equal(r"\pi+1", text) in (False, None)


def test_numbers_of_millions_of_digits_are_told_apart_without_being_computed():
    bombs = ["9^{9^{9}}", "10^{10^{10}}", "(10!)!", "((10!)!)!", "2^{2^{100}}x", r"x^{10^{9}}"]
    with listen() as notes:
        assert [math_equal(bomb, other) for bomb in bombs for other in bombs if bomb != other] == [False] * 30
        assert all(math_equal(bomb, f"{bomb} ") for bomb in bombs)
    assert notes == {}


@pytest.mark.parametrize(
    "piece", ["1", "x", "-", "{", "(", "$", "\\", ",", " ", "\n", "\ud800", r"\frac", "."]
)
def test_a_megabyte_is_not_read(bounded, piece):
    text = piece * (1_000_000 // len(piece)) + "x"
    started = time.perf_counter()
    assert math_equal(text, "7") is False
    assert math_equal(text, r"\pi") is False
    assert math_equal("7", text) is None
    assert normal_form(text) is None
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    "piece", ["1", "{", "(", "$", ",", " 1", r"\left(", "sqrt(", "^(", "1,", r"\text{", "=", "."]
)
def test_a_normal_form_takes_milliseconds(piece):
    started = time.perf_counter()
    for text in (piece * (LONGEST // len(piece)), piece * (LONGEST // len(piece) - 1) + "x"):
        same_text(normal_form(text) or "", "x")
    assert time.perf_counter() - started < 0.5


# Deadlines, the worker and what is remembered

ENDLESS = r"\int \frac{1}{x^5+x+1} dx"


@pytest.fixture(scope="module")
def hasty():
    with Workers(seconds=20.0, cpu_seconds=0.5) as workers:
        yield workers


@pytest.fixture
def impatient(monkeypatch, hasty):
    """A worker that has half a second for a pair, and no memory of former verdicts."""
    monkeypatch.setattr(mathematics, "_WORKERS", hasty)
    _forget()
    yield hasty
    _forget()


def _forget():
    mathematics._short.cache_clear()
    mathematics._long.cache_clear()


def test_a_pair_that_cannot_be_decided_in_time_is_wrong_and_says_so(impatient):
    assert math_equal("2x", "x+x") is True  # the worker has started
    started = time.perf_counter()
    with listen() as notes:
        assert math_equal(ENDLESS, "x^2+x") is False
    assert time.perf_counter() - started < 30
    assert notes == {"math_equal": "not decided: took longer than 0.5 s of processor time"}
    with listen() as notes:
        assert math_equal("2x", r"\frac{4x}{2}") is True  # by the worker that took its place
    assert notes == {}


def test_a_truth_that_cannot_be_read_in_time_is_not_judged(impatient):
    truth = "(" * 900 + "x" + ")" * 900
    with listen() as notes:
        assert math_equal("x^2", truth) is None
    assert "not decided" in notes["math_equal"]
    assert math_equal(truth, "x^2") is False


def test_an_undecided_pair_is_noted_each_time_and_asked_about_once(impatient, asked):
    for _ in range(3):
        with listen() as notes:
            assert math_equal(ENDLESS, "x^2+x") is False
        assert "not decided" in notes["math_equal"]
    assert [pair[:2] for pair in asked] == [(ENDLESS, "x^2+x"), (None, "x^2+x")]


@pytest.fixture
def asked(monkeypatch):
    """What the worker is asked."""
    seen = []
    ask = mathematics._ask
    monkeypatch.setattr(mathematics, "_ask", lambda *pair: seen.append(pair) or ask(*pair))
    _forget()
    return seen


def test_the_worker_is_asked_once_for_each_distinct_pair(asked):
    for _ in range(5):
        assert math_equal(r"\sqrt{18}", r"3\sqrt{2}") is True
        assert math_equal(r"\sqrt{17}", r"3\sqrt{2}") is False
        assert math_equal(r"\sqrt{17}", r"3\sqrt{2}", absolute=1.0) is True
        assert math_equal(r"\sqrt{18}" + "+0" * 200, r"3\sqrt{2}") is True
    assert len(asked) == 4


def test_numbers_and_equal_texts_need_no_worker(asked):
    pairs = [("5", "5.0"), (r"\frac97", "9/7"), ("(1,2)", r"\left(1, 2\right)"), ("x^2 + 1", "$x^2+1$")]
    assert all(math_equal(*pair) for pair in pairs)
    assert math_equal("I do not know", "5") is False
    assert asked == []


def test_little_is_remembered_of_long_texts():
    _forget()
    for number in range(300):
        math_equal("x" * 1900, str(number))
    info = mathematics._long.cache_info()
    assert info.currsize == info.maxsize == 256
    assert mathematics._short.cache_info().currsize == 0


def test_a_killed_worker_is_replaced(impatient):
    assert math_equal("2x", "x+x") is True
    (process,) = impatient._processes
    os.kill(process.popen.pid, signal.SIGKILL)
    with listen() as notes:
        assert math_equal("3x", "x+2x") is True
    assert notes == {}
    assert impatient._processes[0].popen.pid != process.popen.pid


def test_a_worker_that_runs_out_of_memory_does_no_harm(monkeypatch):
    from rewardkit.primitives import symbolic

    monkeypatch.setattr(mathematics, "_ask", lambda *pair: mathematics.Raised(MemoryError("no more")))
    with listen() as notes:
        assert mathematics._judge("x+x", "2x", 0.0, 0.0) == (None, "not decided: no more")
    assert notes == {}
    assert symbolic.decide("x+x", "2x") is True


def test_a_worker_that_has_grown_lets_another_take_over(monkeypatch):
    from rewardkit.primitives import symbolic

    class Ended(BaseException):
        pass

    def end(status):
        raise Ended(status)

    sizes = iter([0, 499, 501])  # nothing is limited where the size is not known
    monkeypatch.setattr(symbolic, "_memory", lambda: next(sizes))
    monkeypatch.setattr(symbolic.os, "_exit", end)
    decide = symbolic.worker(1000)
    assert decide("x+x", "2x") is True
    with pytest.raises(Ended):
        decide("x+x", "2x")


def test_sympy_is_not_imported_in_this_process():
    program = (
        "import sys; from rewardkit.primitives.mathematics import math_equal as equal;"
        "assert equal('1', '1.0') and 'sympy' not in sys.modules;"
        "assert equal('x+x', '2x') and 'sympy' not in sys.modules and 'math_verify' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


SLOW = [row for row in (*TINY, *EQUATIONS, *CONTROLS) if "pmatrix" not in row[0]]


def test_verdicts_are_the_same_in_threads():
    _forget()
    with ThreadPoolExecutor(8) as pool:
        verdicts = list(pool.map(lambda row: math_equal(*row[:2]), SLOW * 2))
    assert verdicts == [row[2] for row in SLOW * 2]


def test_verdicts_are_the_same_under_load():
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        _forget()
        with listen() as notes:
            assert [math_equal(*row[:2]) for row in SLOW] == [row[2] for row in SLOW]
        assert notes == {}
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


# Properties

INTEGERS = st.integers(-(10**12), 10**12)
DENOMINATORS = st.integers(2, 10**6)


def spellings(value: Fraction) -> list[str]:
    above, below = value.numerator, value.denominator
    fraction = rf"\frac{{{above}}}{{{below}}}"
    written = [f"{above}/{below}", fraction, rf"\dfrac{{{above}}}{{{below}}}", rf"\boxed{{{fraction}}}"]
    written += [
        f"${fraction}$",
        rf"\({fraction}\)",
        f"{above}/{below}".replace("-", "\u2212"),
        f" {fraction}. ",
    ]
    if below == 1:
        written += [
            f"{above:,}",
            f"{above}.0",
            f"{above:,}".replace(",", "{,}"),
            f"{above}e0",
            rf"\${above:,}",
        ]
    return written


@given(above=INTEGERS, below=st.just(1) | DENOMINATORS, data=st.data())
def test_spellings_of_a_number_are_equal(above, below, data):
    written = st.sampled_from(spellings(Fraction(above, below)))
    a, b = data.draw(written), data.draw(written)
    assert math_equal(a, b) is True


@given(value=st.fractions(-1000, 1000, max_denominator=1000), places=st.integers(0, 40), data=st.data())
def test_a_number_and_one_a_little_larger_are_never_equal(value, places, data):
    other = value + Fraction(1, 10**places)
    a, b = data.draw(st.sampled_from(spellings(value))), data.draw(st.sampled_from(spellings(other)))
    assert math_equal(a, b) is False


NUMERALS = st.integers(1, 30).map(str) | st.decimals(0, 9, places=2).map(str)
EXPRESSIONS = st.recursive(
    NUMERALS | st.sampled_from(["x", "y", r"\pi", "e"]),
    lambda inner: (
        st.builds("{}+{}".format, inner, inner)
        | st.builds(r"\frac{{{}}}{{{}}}".format, inner, inner)
        | st.builds(r"\sqrt{{{}}}".format, inner)
        | st.builds("({}, {})".format, inner, inner)
        | st.builds("x={}".format, inner)
    ),
    max_leaves=4,
)


@settings(max_examples=60)
@given(a=EXPRESSIONS, b=EXPRESSIONS)
def test_math_equal_is_symmetric_and_reflexive(a, b):
    assert math_equal(a, b) is math_equal(b, a)
    assert math_equal(a, a) is True


@settings(max_examples=60)
@given(a=EXPRESSIONS.filter(lambda text: "=" not in text and "(" not in text), places=st.integers(0, 60))
def test_an_expression_and_one_a_little_larger_are_never_equal(a, places):
    assert math_equal(f"{a}+1/10^{{{places}}}", a) is False


@settings(max_examples=60)
@given(
    text=st.text(alphabet="0123456789xyei+-*/^_=<>()[]{}\\$%&,.;:! \n\u2212\u00b2\u03c0\ud800", max_size=40)
)
def test_any_text_is_judged_and_never_raises(text):
    assert math_equal(text, r"\sqrt{x+7}") is False or same_text(normal_form(text), r"\sqrt{x+7}")
    assert math_equal(r"\sqrt{x+7}", text) in (True, False, None)


# The text form


@pytest.mark.parametrize(
    ("text", "expected"),
    table(
        (r"$\boxed{x}$.", "x", "wrapping and a full stop"),
        ("", None, "nothing"),
        ("  $ $ ", None, "dollars around nothing"),
        (r"\boxed{1}, \boxed{2}", r"\boxed{1}, \boxed{2}", "two boxes are left to math-verify"),
        ("$1$ or $2$", "$1$ or $2$", "so are two formulas"),
        ("sqrt12", r"\sqrt{12}", "a root without parentheses"),
        (r"\dfrac{x}{2} \leq y", r"\frac{x}{2} \le y", "two names of one command"),
        (r"\sqrt12", r"\sqrt12", "in LaTeX the root is of 1"),
        ("f(x)", "f(x)", "a function's parentheses stay"),
        ("2^(x+(1))", "2^{x+(1)}", "inner parentheses stay"),
        ("2^(x", "2^(x", "an open parenthesis stays"),
        ("using", "using", "a word with a function's name in it"),
        (r"\begin{pmatrix}1\\ 2\end{pmatrix}", r"\begin{pmatrix}1\\ 2\end{pmatrix}", "rows of a matrix stay"),
    ),
)
def test_the_normal_form_of_a_text(text, expected):
    assert normal_form(text) == expected


def test_split_sees_no_separator_in_brackets():
    import re

    assert split("a,(b,c),[d,e),f", re.compile(",")) == ["a", "(b,c)", "[d,e)", "f"]
    assert split("", re.compile(",")) == [""]


def test_math_equal_is_a_component_with_its_options_bound():
    near = partial(math_equal, absolute=0.01)
    assert near("3.14", r"\pi") is True
