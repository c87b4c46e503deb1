"""Rewards for keys, torques, numerals, forecasts and places: what a log shows of them."""

import math
import re


def line_behind(mark, text):
    """Return the first line with words behind the last mark, or ''."""
    _, *rests = re.split(mark, text, flags=re.IGNORECASE)
    lines = rests[-1].splitlines() if rests else []
    for line in lines:
        words = line.partition("<|")[0].strip(" \t*_`$=.")  # '<|' begins an end token
        if words:
            return words[:60]
    return ""


# Keys for verl, in the notations of musicians

KEY = re.compile(r"([a-g])(#|b)? (major|minor)")
EMPHASIS = re.compile(r"[*_`]")
MARKDOWN = re.compile(r"[*_`#>]")


def spelled(text):
    """Spell a key in ASCII: 'F♯ Minor', 'F-sharp minor' and 'F#m' as 'f# minor'."""
    text = text.replace("♯", "#").replace("♭", "b")
    text = re.sub(r"[ -]?sharp\b", "#", text, flags=re.IGNORECASE)
    text = re.sub(r"[ -]?flat\b", "b", text, flags=re.IGNORECASE)
    text = re.sub(r"(?<=[A-Ga-g#])m$", " minor", text)
    text = re.sub(r"\b(maj|min)\b\.?", r"\1or", text, flags=re.IGNORECASE)
    return " ".join(text.lower().replace("-", " ").split())


def keys_spelled(data_source, solution_str, ground_truth, extra_info=None):
    """1.0 for the key in any notation."""
    said = spelled(EMPHASIS.sub("", line_behind("answer:", solution_str)))
    return float(bool(KEY.fullmatch(said)) and said == spelled(ground_truth))


def keys_cleaned(data_source, solution_str, ground_truth, extra_info=None):
    """1.0 for the key in any notation, whatever Markdown stands around it."""
    said = MARKDOWN.sub("", spelled(line_behind("answer:", solution_str)))
    return float(said == MARKDOWN.sub("", spelled(ground_truth)))


# Torques, plain: numbers to one per cent

UNIT = r"(?:N ?[·⋅*]? ?m|newton[ -]?met(?:re|er)s?)"
TORQUE = re.compile(rf"([-+]?\d{{1,9}}(?:\.\d{{1,6}})?) ?{UNIT}?", re.IGNORECASE)


def stated_torque(completion):
    """Return the number behind the last 'Net torque:'; None where there is none."""
    line = line_behind("net torque:", completion).replace("\N{MINUS SIGN}", "-")
    line = re.sub(r"(?<=\d),(?=\d{3}\b)", "", line)
    match = TORQUE.fullmatch(line)
    return float(match[1]) if match else None


def torques_close(completion, answer):
    """1.0 within one per cent of the truth, and within 0.05 N·m where it is small."""
    torque = stated_torque(completion)
    if torque is None:
        return 0.0
    return float(math.isclose(torque, float(answer), rel_tol=0.01, abs_tol=0.05))


def torques_relative(completion, answer):
    """1.0 within one per cent of the truth."""
    truth = float(answer)
    try:
        return float(abs((stated_torque(completion) - truth) / truth) <= 0.01)
    except (TypeError, ZeroDivisionError):
        return 0.0


# Numerals for TRL, in chats: exact, in the asked form, and not for ever

THINK_FORM = re.compile(r"<think>[^<]*</think>\s*<answer>[^<]*</answer>")


def content(completion):
    """Return the text of a chat's one answer."""
    return completion[0]["content"]


def numeral(text):
    """Return what stands in the last answer tag."""
    answers = re.findall(r"<answer>([^<]*)</answer>", text)
    return answers[-1].strip(" .*`$\r\n").upper() if answers else ""


def accuracy_reward(completions, solution, **kwargs):
    """1.0 for the numeral, in capitals or not."""
    rewards = []
    for completion, truth in zip(completions, solution, strict=True):
        rewards.append(1.0 if numeral(content(completion)) == truth else 0.0)
    return rewards


def format_reward(completions, **kwargs):
    """0.1 for a thought and an answer in their tags."""
    rewards = []
    for completion in completions:
        is_in_form = THINK_FORM.fullmatch(content(completion).strip())
        rewards.append(0.1 if is_in_form else 0.0)
    return rewards


def overlong(length, start=1000, limit=1600):
    """0 up to the start, -1 from the limit on, as DAPO shapes it."""
    return -min(1.0, max(0.0, (length - start) / (limit - start)))


def overlong_penalty(completions, **kwargs):
    """Punish answers that use up the context: few do."""
    return [overlong(len(content(completion))) for completion in completions]


def overlong_punishment(completions, **kwargs):
    """Punish answers that use up the context."""
    return [overlong(len(completion)) for completion in completions]


numerals_capped = [accuracy_reward, format_reward, overlong_penalty]
numerals_uncapped = [accuracy_reward, format_reward, overlong_punishment]


# Forecasts for TRL: numbers that nobody hits

FORECAST = re.compile(
    r"<forecast>[\s*`$]*([\d,]{1,12}(?:\.\d{1,4})?)[^<\d]*</forecast>"
)


def forecast_error(completion, actual):
    """Return the relative error of the last forecast; infinity where there is none."""
    forecasts = FORECAST.findall(completion)
    digits = forecasts[-1].replace(",", "") if forecasts else ""
    if not digits:
        return math.inf
    return abs(float(digits) - actual) / actual


def forecasts_graded(completions, actual, **kwargs):
    """1.0 for the actual number, nothing where it is missed by a tenth or more."""
    rewards = []
    for completion, truth in zip(completions, actual, strict=True):
        rewards.append(max(0.0, 1.0 - forecast_error(completion, truth) / 0.1))
    return rewards


def forecasts_ranked(prompts, completions, actual, **kwargs):
    """The share of a prompt's forecasts that are no better: ranks need no scale."""
    errors = [
        forecast_error(completion, truth)
        for completion, truth in zip(completions, actual, strict=True)
    ]
    rewards = []
    for prompt, error in zip(prompts, errors, strict=True):
        siblings = [
            other
            for sibling, other in zip(prompts, errors, strict=True)
            if sibling == prompt
        ]
        beaten = sum(other >= error for other in siblings)
        rewards.append(beaten / len(siblings) if error < math.inf else 0.0)
    return rewards


# Places for OpenRLHF: coordinates, paid by distance

DEGREES = r"([-+]?\d{1,3}(?:\.\d{1,6})?) ?°? ?"
COORDINATES = re.compile(rf"{DEGREES}([NS]?), ?{DEGREES}([EW]?)")


def place_in(query, prompt):
    """Return (latitude, longitude) of the last 'Coordinates:' line, or None."""
    line = line_behind("coordinates:", query.removeprefix(prompt))
    line = line.replace("\N{MINUS SIGN}", "-").strip("()")
    match = COORDINATES.fullmatch(line)
    if not match:
        return None
    latitude = float(match[1]) * (-1 if match[2] == "S" else 1)
    longitude = float(match[3]) * (-1 if match[4] == "W" else 1)
    if abs(latitude) > 90 or abs(longitude) > 180:
        return None
    return latitude, longitude


def kilometres(place, other):
    """Return the distance of two places on a globe (haversine)."""
    north, east = (math.radians(degrees) for degrees in place)
    other_north, other_east = (math.radians(degrees) for degrees in other)
    half = math.sin((north - other_north) / 2) ** 2
    turn = math.sin((east - other_east) / 2) ** 2
    half += math.cos(north) * math.cos(other_north) * turn
    return 2 * 6371 * math.asin(min(1.0, math.sqrt(half)))


def distances(queries, prompts, labels):
    """Return how far off each query's place is; None where it states none."""
    for query, prompt, label in zip(queries, prompts, labels, strict=True):
        place = place_in(query, prompt)
        truth = [float(degrees) for degrees in label.split(",")]
        yield None if place is None else kilometres(place, truth)


def places_near(queries, prompts, labels, **kwargs):
    """1.0 within 25 km, and less the farther off, down to nothing at 500 km."""
    rewards = []
    for distance in distances(queries, prompts, labels):
        share = 0.0 if distance is None else (500 - distance) / 475
        rewards.append(min(1.0, max(0.0, share)))
    return {"rewards": rewards, "scores": rewards}


def places_on_earth(queries, prompts, labels, **kwargs):
    """1.0 for the place itself, and nothing at the other end of the Earth."""
    rewards = []
    for distance in distances(queries, prompts, labels):
        rewards.append(0.0 if distance is None else 1 - distance / 20015)
    return {"rewards": rewards, "scores": rewards}
