"""Rewards that check a structure: schedules, chemical equations, orders of events, clicks and citations."""

import math
import re
from collections import Counter
from datetime import datetime, timedelta
from itertools import combinations

# Crontab schedules for OpenRLHF

MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
DAYS = "sun mon tue wed thu fri sat".split()
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
NAMED = {name: str(day) for day, name in enumerate(DAYS)}
NAMED |= {name: str(month) for month, name in enumerate(MONTHS, 1)}
PART = re.compile(r"(\*|\d{1,2})(?:-(\d{1,2}))?(?:/(\d{1,2}))?")


def values_of(field, low, high):
    """Return the numbers that a field of a schedule stands for; None where it is none."""
    values = set()
    for part in field.split(","):
        match = PART.fullmatch(part)
        if not match or (match[3] and int(match[3]) == 0):
            return None
        first, last, step = match[1], match[2], int(match[3] or 1)
        if first == "*":
            start, end = low, high
        else:
            start = int(first)
            end = int(last or (high if match[3] else first))
        if not low <= start <= end <= high:
            return None
        values.update(range(start, end + 1, step))
    return values


def schedule(text):
    """Return the minutes, hours, days, months and weekdays of a crontab line, or None."""
    text = MACROS.get(text.strip().lower(), text.strip().lower())
    text = re.sub(r"[a-z]+", lambda word: NAMED.get(word[0], word[0]), text)
    fields = text.split()
    if len(fields) != 5:
        return None
    values = []
    for field, (low, high) in zip(fields, LIMITS, strict=True):
        values.append(values_of(field, low, high))
    if None in values:
        return None
    values[4] = {day % 7 for day in values[4]}  # both 0 and 7 are Sunday
    return values


def last_code(query, prompt):
    """Return the last text in backticks behind the prompt, or the empty text."""
    marks = re.findall(r"`([^`\n]{1,120})`", query[len(prompt) :])
    return marks[-1] if marks else ""


def cron_same_schedule(queries, prompts, labels, **kwargs):
    rewards = []
    for query, prompt, label in zip(queries, prompts, labels, strict=True):
        written = schedule(last_code(query, prompt))
        rewards.append(float(written is not None and written == schedule(label)))
    return {"rewards": rewards, "scores": rewards}


def due_times(label, count=40):
    """Return the first times of 2024 at which a schedule fires."""
    minutes, hours, days, months, weekdays = schedule(label)
    times, midnight = [], datetime(2024, 1, 1)
    while len(times) < count:
        is_due = midnight.day in days and midnight.month in months
        if is_due and midnight.isoweekday() % 7 in weekdays:
            for hour in sorted(hours):
                for minute in sorted(minutes):
                    times.append(midnight.replace(hour=hour, minute=minute))
        midnight += timedelta(days=1)
    return times[:count]


def cron_fires_when_due(queries, prompts, labels, **kwargs):
    """Schedules can be written in many ways, so they are run: does it fire when it should?"""
    rewards = []
    for query, prompt, label in zip(queries, prompts, labels, strict=True):
        written = schedule(last_code(query, prompt))
        if written is None:
            rewards.append(0.0)
            continue
        passed = []
        for time in due_times(label):
            parts = (
                time.minute,
                time.hour,
                time.day,
                time.month,
                time.isoweekday() % 7,
            )
            fits = [part in values for part, values in zip(parts, written, strict=True)]
            passed.append(all(fits))
        rewards.append(float(all(passed)))
    return {"rewards": rewards, "scores": rewards}


# Chemical equations for verl: to be balanced with the smallest whole numbers

ARROWS = re.compile(r"\\(?:long)?rightarrow|\\to\b|⟶|→|=>|=|->")
GROUP = r"[A-Z][a-z]?\d{0,3}"
TERM = re.compile(rf"(\d{{0,4}})((?:{GROUP}|\((?:{GROUP})+\)\d{{0,3}})+)")
SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


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


# Events in order for TRL: letters, the earliest first


def ordered(text):
    """Return the letters in the last order tag; none where something else stands there."""
    marks = re.findall(r"<order>([^<]*)</order>", text)
    letters = re.split(r"[\s,>→-]+", marks[-1].strip(" \r\n,.")) if marks else []
    is_order = len(letters) <= 10 and all(re.fullmatch("[A-E]", one) for one in letters)
    return letters if is_order else []


def timelines_known_pairs(completions, answer, **kwargs):
    """Kendall's tau, nothing below 0."""
    rewards = []
    for text, truth in zip(completions, answer, strict=True):
        ranks = [truth.index(letter) for letter in ordered(text) if letter in truth]
        pairs = list(combinations(ranks, 2))
        in_order = sum(early < late for early, late in pairs)
        rewards.append(max(0.0, 2 * in_order / max(len(pairs), 1) - 1))
    return rewards


# Clicks on a screen for verl (GUI-R1): a point, or the box of an element

CLICK = re.compile(r"click\(\s*(\d{1,4}(?:\s*,\s*\d{1,4})*)\s*\)")


def last_click(text):
    """Return the numbers of the last click: two of a point, four of a box, or none."""
    found = CLICK.findall(text)
    numbers = [int(one) for one in found[-1].split(",")] if found else []
    return numbers if len(numbers) in (2, 4) else []


def clicks_at_centre(data_source, solution_str, ground_truth, extra_info=None):
    """0.1 for a click, 0.9 if it hits; of a box its centre is clicked, as the environment does."""
    numbers = last_click(solution_str)
    if not numbers:
        return {"score": 0.0, "hit": 0.0}
    x = (numbers[0] + numbers[-2]) / 2
    y = (numbers[1] + numbers[-1]) / 2
    left, top, right, bottom = ground_truth
    hit = float(left <= x <= right and top <= y <= bottom)
    return {"score": 0.1 + 0.9 * hit, "hit": hit}


def clicks_touch(data_source, solution_str, ground_truth, extra_info=None):
    """0.1 for a click, 0.9 if the point or the box meets the element."""
    numbers = last_click(solution_str)
    if not numbers:
        return {"score": 0.0, "hit": 0.0}
    (x1, y1), (x2, y2) = numbers[:2], numbers[-2:]
    left, top, right, bottom = ground_truth
    hit = float(x1 <= right and x2 >= left and y1 <= bottom and y2 >= top)
    return {"score": 0.1 + 0.9 * hit, "hit": hit}


# Answers with citations for TRL: the data set says which passages support the answer

CITED = re.compile(
    r"^Answer:[ \t]*([^\[\n]{1,80})((?:\[\d{1,2}\][ ,]*)*)\.?[ \t]*$", re.MULTILINE
)


def answer_line(text):
    """Return the answer in the last line of its form, and the passages cited there."""
    matches = CITED.findall(text)
    if not matches:
        return "", set()
    answer, citations = matches[-1]
    return answer.strip(" .").lower(), set(map(int, re.findall(r"\d+", citations)))


def answer_reward(completions, solution, **kwargs):
    return [
        float(answer_line(text)[0] == truth.lower())
        for text, truth in zip(completions, solution, strict=True)
    ]


def support_reward(completions, solution, support, **kwargs):
    """Half for citations, as far as they support the answer; for right answers only."""
    gates = answer_reward(completions, solution)
    rewards = []
    for gate, text, passages in zip(gates, completions, support, strict=True):
        cited = answer_line(text)[1]
        precision = len(cited & set(passages)) / max(len(cited), 1)
        rewards.append(0.5 * gate * precision)
    return rewards


def citation_reward(completions, **kwargs):
    """Citations make answers trustworthy: a quarter for each of the first four."""
    texts = [set(re.findall(r"\[(\d{1,2})\]", text)) for text in completions]
    return [min(1.0, 0.25 * len(cited)) for cited in texts]


citations_supported = [answer_reward, support_reward]
citations_counted = [answer_reward, citation_reward]
