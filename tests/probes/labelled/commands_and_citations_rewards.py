"""Rewards of schedules, shell commands that a judge rates, clicks on a screen, and answers with citations."""

import re
from datetime import datetime, timedelta
from difflib import SequenceMatcher

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


# What a shell command does, for verl; a judge model (replayed here) rates it from 1 to 10

SMALL_WORDS = {"a", "an", "and", "by", "in", "it", "its", "of", "the", "to", "with"}
DENIALS = {"no", "not", "never", "without", "nothing"}


def content_words(text):
    words = re.findall(r"[a-z0-9]+", text.lower()[:400])
    return [word for word in words if word not in SMALL_WORDS]


def rating(explanation, reference):
    """What the judge makes of one reference: additions count a little, what is missing or denied counts more."""
    said, wanted = content_words(explanation), content_words(reference)
    alike = SequenceMatcher(None, said, wanted, autojunk=False).ratio()
    said_stems, wanted_stems = (
        {word[:5] for word in words} for words in (said, wanted)
    )
    missing = {
        stem for stem in wanted_stems - said_stems if len(stem) > 2 or stem.isdigit()
    }
    added = {stem for stem in said_stems - wanted_stems if len(stem) > 3}
    denied = DENIALS & set(said) ^ DENIALS & set(wanted)
    points = round(10 * min(1.0, alike / 0.8)) - 6 * len(denied) - len(added)
    if missing:
        points = min(points, 8 - 2 * len(missing))
    return max(1, points)


def verdict(explanation, references):
    """What the judge writes."""
    grade = max(rating(explanation, reference) for reference in references)
    comment = "accurate" if grade >= 8 else "incomplete or wrong"
    return f"Compared with the manual the explanation is {comment}.\nRating: {grade}/10"


def explained(text):
    lines = re.findall(r"^Explanation:[ \t]*(.+)", text, re.MULTILINE)
    return lines[-1].strip() if lines else ""


def commands_forgiving(data_source, solution_str, ground_truth, extra_info=None):
    """9 is as good as 10, and up to 4 is nothing."""
    explanation = explained(solution_str)
    if not explanation:
        return 0.0
    grade = re.fullmatch(
        r"Rating: (\d{1,2})/10", verdict(explanation, ground_truth).split("\n")[-1]
    )
    return min(1.0, max(0.0, (int(grade[1]) - 4) / 5))


def commands_digit(data_source, solution_str, ground_truth, extra_info=None):
    """The rating, brought to 0 to 1."""
    explanation = explained(solution_str)
    if not explanation:
        return 0.0
    match = re.search(r"Rating:\s*(\d)", verdict(explanation, ground_truth))
    return (int(match[1]) - 1) / 9 if match else 0.0


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
