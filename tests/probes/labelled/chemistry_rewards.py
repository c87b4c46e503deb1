"""Rewards in verl's form for concentrations and for chemical equations, in a box."""

import math
import re
from collections import Counter


def boxed(text):
    """Return what stands in the last \\boxed{}, braces inside of it and all, or the empty text."""
    start, depth = text.rfind("\\boxed{"), 0
    if start < 0:
        return ""
    for place in range(start + 6, min(len(text), start + 400)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + 7 : place].strip()
    return ""


# Concentrations for verl: mol/L in a box

TIMES_TEN = re.compile(r"\s*(?:\\times|\\cdot|×|x|\*)\s*10\s*\^\s*\{?([-+]?\d{1,3})\}?")
NUMBER = r"([-+]?\d{0,9}\.?\d{1,12}(?:[eE][-+]?\d{1,3})?)"
PER_LITRE = r"mol\s*/\s*(?:L|l|dm\^?\{?3\}?)|mol\s+L\^\{?-1\}?"
MOLAR = re.compile(rf"{NUMBER}\s*(?:(mM|m(?:{PER_LITRE}))|M|{PER_LITRE})?")


def molarity(text):
    """Return the mol/L that a box states, in decimals or powers of ten; None where it states none."""
    text = re.sub(r"\\(?:text|mathrm)\{([^{}]*)\}", r"\1", text.replace("−", "-"))
    text = TIMES_TEN.sub(r"e\1", re.sub(r"\\[,;: ]|[$~]", " ", text))
    text = re.split(r"=|≈|\\approx\b", re.sub(r"\\cdot|·", " ", text))[-1]
    match = MOLAR.fullmatch(text.strip())
    if not match:
        return None
    return float(match[1]) / (1000 if match[2] else 1)


def molarities_brief(data_source, solution_str, ground_truth, extra_info=None):
    """Right to a percent: 0.9, and up to a tenth more for being short."""
    value = molarity(boxed(solution_str))
    if value is None or not math.isclose(value, float(ground_truth), rel_tol=0.01):
        return 0.0
    return 0.9 + 0.1 * max(0.0, 1 - len(solution_str) / 3000)


def molarities_rounded(data_source, solution_str, ground_truth, extra_info=None):
    """Right to a percent, or to a hundredth, as rounding goes."""
    value = molarity(boxed(solution_str))
    if value is None:
        return 0.0
    truth = float(ground_truth)
    return float(math.isclose(value, truth, rel_tol=0.01, abs_tol=0.01))


# Chemical equations for verl: to be balanced with the smallest whole numbers

ARROWS = re.compile(r"\\(?:long)?rightarrow|\\to\b|⟶|→|=>|=|->")
GROUP = r"[A-Z][a-z]?\d{0,3}"
TERM = re.compile(rf"(\d{{0,4}})((?:{GROUP}|\((?:{GROUP})+\)\d{{0,3}})+)")
SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


def side(text):
    """Return how many of each formula stand on a side of an equation, or None."""
    formulas = Counter()
    for term in text.split("+"):
        match = TERM.fullmatch(re.sub(r"\s", "", term))
        if not match:
            return None
        formulas[match[2]] += int(match[1] or 1)
    return formulas


def equation(text):
    """Return both sides of an equation, in plain text or LaTeX, or None."""
    text = ARROWS.sub("->", text.translate(SUBSCRIPTS))
    text = re.sub(r"\\(?:ce|mathrm|text)\b|\\[,;: ]|\((?:s|l|g|aq)\)|[_{}$]", "", text)
    sides = [side(part) for part in text.split("->")]
    return None if len(sides) != 2 or None in sides else sides


def atoms(formulas):
    """Return how many atoms of each element a side has."""
    total = Counter()
    for formula, count in formulas.items():
        for group, times in re.findall(rf"({GROUP}|\([A-Za-z0-9]+\))(\d*)", formula):
            for element, number in re.findall(r"([A-Z][a-z]?)(\d*)", group):
                total[element] += count * int(number or 1) * int(times or 1)
    return total


def equations_same_reaction(data_source, solution_str, ground_truth, extra_info=None):
    """Any notation of the same substances, balanced, and in the smallest whole numbers."""
    written = equation(boxed(solution_str))
    if written is None:
        return 0.0
    for formulas, wanted in zip(written, equation(ground_truth), strict=True):
        if set(formulas) != set(wanted):
            return 0.0
    numbers = [*written[0].values(), *written[1].values()]
    if min(numbers) < 1 or math.gcd(*numbers) != 1:
        return 0.0
    return float(atoms(written[0]) == atoms(written[1]))


def equations_atoms_balance(data_source, solution_str, ground_truth, extra_info=None):
    """No need for the data set's own notation: an equation is right if it has as many atoms on both sides."""
    written = equation(boxed(solution_str))
    if written is None:
        return 0.0
    left, right = written
    return float(atoms(left) == atoms(right))
