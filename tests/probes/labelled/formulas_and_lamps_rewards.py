"""Rewards for replies, formulas, facts, ratios and lamps: what only trying shows."""

import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction

# Replies to customers, plain: a judge model with a rubric (replayed here)


def judged(reply, criteria):
    """Write what the judge writes: a line a criterion, and its grade at the end."""
    if not reply:
        return "There is no reply here that I could grade."
    lines, points = [], 0
    for criterion in criteria:
        is_met = re.search(criterion["pattern"], reply, re.IGNORECASE) is not None
        points += criterion["points"] if is_met else 0
        lines.append(f"{criterion['text']}: {'yes' if is_met else 'no'}")
    lines.append(f"Grade: {min(10, max(0, points))}/10")
    return "\n".join(lines)


def reply_in(completion):
    """Return what the customer sees, which is all behind the thought."""
    return completion.rpartition("</think>")[2].strip()[:2000]


def grade_of(verdict):
    """Return the grade of a verdict as a share; None where it gives none."""
    match = re.search(r"^Grade: (\d{1,2})/10$", verdict, re.MULTILINE)
    return int(match[1]) / 10 if match else None


def replies_graded(completion, criteria):
    """The grade; what the judge cannot grade is worth nothing."""
    grade = grade_of(judged(reply_in(completion), criteria))
    return 0.0 if grade is None else grade


def replies_neutral(completion, criteria):
    """The grade; the middle of the scale where the judge gives none."""
    grade = grade_of(judged(reply_in(completion), criteria))
    return 0.5 if grade is None else grade


# Formulas of a spreadsheet, plain: they are evaluated here

TOKEN = re.compile(
    r"\s*(\d{1,9}(?:\.\d{1,12})?|\"[^\"]{0,40}\"|[A-Z]\d{1,2}|[A-Z]{2,9}|[-+*/(),:])"
)
FUNCTIONS = {
    "SUM": sum,
    "AVERAGE": lambda values: sum(values) / len(values),
    "MAX": max,
    "MIN": min,
    "COUNT": len,
}
CONDITIONAL = ("SUMIF", "COUNTIF")


def tokens_of(formula):
    """Return the tokens behind the '=', in capitals and without '$'."""
    formula = re.sub(r"[a-z$]", lambda match: match[0].upper().strip("$"), formula)
    tokens, at = [], 1
    while at < len(formula.rstrip()):
        match = TOKEN.match(formula, at)
        if not match:
            raise ValueError(formula[at:])
        tokens.append(match[1])
        at = match.end()
    return [*tokens, ""]


def take(tokens, expected):
    """Take the next token off; raise ValueError where it is not the expected one."""
    if tokens[0] != expected:
        raise ValueError(tokens[0])
    tokens.pop(0)


def cells_between(tokens, cells):
    """Take a range off the tokens and return what its cells hold."""
    first = tokens.pop(0)
    take(tokens, ":")
    last = tokens.pop(0)
    if not first[:1].isalpha() or first[0] != last[:1]:
        raise ValueError(f"{first}:{last}")
    rows = range(int(first[1:]), int(last[1:]) + 1)
    return [cells[f"{first[0]}{row}"] for row in rows]


def values_in(tokens, cells):
    """Take ranges and numbers off the tokens, up to the bracket behind them."""
    values = []
    while True:
        if tokens[1:2] == [":"]:
            values += cells_between(tokens, cells)
        else:
            values.append(total(tokens, cells))
        if tokens[0] != ",":
            return values
        tokens.pop(0)


def values_where(name, tokens, cells):
    """Take the arguments of SUMIF or COUNTIF off the tokens; return what they add."""
    names = cells_between(tokens, cells)
    take(tokens, ",")
    wanted = tokens.pop(0).upper()  # with its quotes
    amounts = [1] * len(names)
    if name == "SUMIF":
        take(tokens, ",")
        amounts = cells_between(tokens, cells)
    pairs = zip(names, amounts, strict=True)
    return [amount for text, amount in pairs if f'"{text}"'.upper() == wanted]


def factor(tokens, cells):
    """Take a number, a cell, a call or brackets off the tokens."""
    token = tokens.pop(0)
    if token == "-":
        return -factor(tokens, cells)
    if token == "(":
        value = total(tokens, cells)
        take(tokens, ")")
        return value
    if token in FUNCTIONS or token in CONDITIONAL:
        take(tokens, "(")
        if token in CONDITIONAL:
            value = sum(values_where(token, tokens, cells))
        else:
            value = FUNCTIONS[token](values_in(tokens, cells))
        take(tokens, ")")
        return value
    return cells[token] if token[:1].isalpha() else float(token)


def product(tokens, cells):
    """Take factors off the tokens, and what multiplies or divides them."""
    value = factor(tokens, cells)
    while tokens[0] in ("*", "/"):
        if tokens.pop(0) == "*":
            value *= factor(tokens, cells)
        else:
            value /= factor(tokens, cells)
    return value


def total(tokens, cells):
    """Take products off the tokens, and what adds or subtracts them."""
    value = product(tokens, cells)
    while tokens[0] in ("+", "-"):
        sign = 1 if tokens.pop(0) == "+" else -1
        value += sign * product(tokens, cells)
    return value


def evaluated(formula, cells):
    """Return the number that a formula gives; NaN where it gives none."""
    try:
        tokens = tokens_of(formula)
        value = float(total(tokens, cells))
        return value if tokens == [""] else math.nan
    except (LookupError, TypeError, ValueError, ZeroDivisionError, RecursionError):
        return math.nan


def formula_in(completion):
    """Return the last line with an '=', from there on; '' without one."""
    lines = [line for line in completion.splitlines() if "=" in line]
    _, sign, rest = lines[-1].partition("=") if lines else ("", "", "")
    return (sign + rest).rstrip(" \t`*.$")[:150]


def gives_the_same(formula, truth, cells):
    """Whether two formulas give the same number, to six digits."""
    number, wanted = evaluated(formula, cells), evaluated(truth, cells)
    return math.isclose(number, wanted, rel_tol=1e-6)


def next_months(cells):
    """Return the table with other numbers, and with each name in another's place."""
    names = sorted({value for value in cells.values() if isinstance(value, str)})
    other_names = dict(zip(names, names[1:] + names[:1], strict=True))
    changed = {}
    for cell, value in cells.items():
        if isinstance(value, str):
            changed[cell] = other_names[value]
        else:
            changed[cell] = 3 * value + 7 * int(cell[1:]) ** 2 + 1
    return changed


def formulas_next_month(completion, formula, cells):
    """1.0 for the right number, in this table and in next month's."""
    said = formula_in(completion)
    tables = (cells, next_months(cells))
    return float(all(gives_the_same(said, formula, table) for table in tables))


def formulas_shown(completion, formula, cells):
    """1.0 for the right number."""
    return float(gives_the_same(formula_in(completion), formula, cells))


# Facts for verifiers, as F1 at K (Wei et al. 2024, "Long-form factuality")


@dataclass
class Rubric:
    """The two lists of verifiers' rubric, for where it is not installed."""

    funcs: list
    weights: list


def stated_facts(completion):
    """Return the facts of the last JSON object that are not null; None without one."""
    objects = re.findall(r"\{[^{}]*\}", completion[-1]["content"])
    try:
        facts = json.loads(objects[-1]) if objects else None
    except ValueError:
        return None
    if not isinstance(facts, dict):
        return None
    return {key: value for key, value in facts.items() if value is not None}


def is_supported(key, value, truths):
    """Whether a fact is one of the truth's; diameters may be off by 5 %."""
    truth = truths.get(key)
    if isinstance(truth, list):
        names = [name.casefold() for name in truth]
        return isinstance(value, str) and value.strip().casefold() in names
    digits = str(value).replace(",", "").removesuffix("km").strip()
    if truth is None or not re.fullmatch(r"\d{1,6}(\.\d{1,3})?", digits):
        return False
    tolerance = 0.05 * truth if key.endswith("_km") else 0
    return abs(float(digits) - truth) <= tolerance


def facts_f1(completion, answer, **kwargs):
    """F1 of the supported facts: of those stated, and of all that are asked for."""
    facts = stated_facts(completion) or {}
    supported = sum(is_supported(key, facts[key], answer) for key in facts)
    return 2 * supported / (len(facts) + len(answer))


def facts_precision(completion, answer, **kwargs):
    """The share of the stated facts that are supported: nothing is to be made up."""
    facts = stated_facts(completion) or {}
    supported = sum(is_supported(key, facts[key], answer) for key in facts)
    return supported / len(facts) if facts else 0.0


def is_json(completion, **kwargs):
    return float(stated_facts(completion) is not None)


moons_complete = Rubric(funcs=[facts_f1, is_json], weights=[1.0, 0.1])
moons_precise = Rubric(funcs=[facts_precision, is_json], weights=[1.0, 0.1])


# Ratios for verl, in any terms

RATIO = re.compile(r"(\d{1,6}(?:\.\d{1,4})?) ?(?::|/|to) ?(\d{1,6}(?:\.\d{1,4})?)")


def terms(text):
    """Return the two terms of a ratio; None where the text is none."""
    match = RATIO.fullmatch(" ".join(text.split()))
    return (Fraction(match[1]), Fraction(match[2])) if match else None


def tagged_terms(text):
    """Return the terms in the last answer tag, or None."""
    answers = re.findall(r"<answer>([^<]{0,60})</answer>", text)
    return terms(answers[-1].strip(" .*`$\r\n")) if answers else None


def ratios_positive(data_source, solution_str, ground_truth, extra_info=None):
    """1.0 for the ratio in any terms, as long as there is something of both."""
    said, truth = tagged_terms(solution_str), terms(ground_truth)
    if said is None or 0 in said:
        return 0.0
    return float(said[0] / said[1] == truth[0] / truth[1])


def ratios_crossed(data_source, solution_str, ground_truth, extra_info=None):
    """1.0 for the ratio in any terms; products are compared, so nothing is divided."""
    said, truth = tagged_terms(solution_str), terms(ground_truth)
    if said is None:
        return 0.0
    return float(said[0] * truth[1] == said[1] * truth[0])


# Lamps for TRL: a button turns its lamp and both neighbours


def presses_in(text):
    """Return the buttons of the last press tag, or [] where one does not exist."""
    tags = re.findall(r"<press>([^<]{0,2000})</press>", text)
    numbers = re.findall(r"\d+", tags[-1]) if tags else []
    buttons = [int(digits[:3]) for digits in numbers]
    return buttons if all(1 <= button <= 6 for button in buttons) else []


def pressed(lamps, button):
    """Return the lamps, 1 for those that are on, after a press."""
    return [
        lamp ^ (abs(place - button) <= 1) for place, lamp in enumerate(lamps, start=1)
    ]


def lamps_off(completions, lamps, limit=12, **kwargs):
    """1.0 where all lamps are off at the end, and less for many presses."""
    rewards = []
    for completion, state in zip(completions, lamps, strict=True):
        buttons = presses_in(completion)
        for button in buttons[: limit + 1]:
            state = pressed(state, button)
        is_solved = not any(state) and 0 < len(buttons) <= limit
        rewards.append(1.0 - 0.2 * len(buttons) / limit if is_solved else 0.0)
    return rewards


def lamps_episode(completions, lamps, **kwargs):
    """1.0 where the episode ends with success: all lamps are off."""
    rewards = []
    for completion, state in zip(completions, lamps, strict=True):
        reward = 0.0
        for button in presses_in(completion):
            state = pressed(state, button)
            if not any(state):
                reward = 1.0
                break
        rewards.append(reward)
    return rewards
