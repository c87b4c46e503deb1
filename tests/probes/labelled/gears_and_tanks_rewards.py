"""Rewards for gears, alloys, idioms, tanks and determinants: lengths, judges and selectors."""

import re
from xml.etree import ElementTree

# Gears for TRL, with DAPO's soft overlong punishment over the trainer's tokens

RPM = re.compile(r"<rpm>\s*(\d{1,6}(?:\.\d{1,3})?)(?:\s*rpm)?\s*</rpm>", re.IGNORECASE)


def speed(completion):
    """Return the number in the last rpm tag, or None."""
    speeds = RPM.findall(completion)
    return float(speeds[-1]) if speeds else None


def gears_overlong(completions, completion_ids, rpm, limit=420, cache=160, **kwargs):
    """1.0 for the speed, less up to 0.8 for tokens between limit - cache and limit."""
    rewards = []
    for text, ids, truth in zip(completions, completion_ids, rpm, strict=True):
        exceeding = len(ids) - (limit - cache)
        penalty = max(-0.8, min(0.0, -exceeding / cache))
        rewards.append(float(speed(text) == truth) + penalty)
    return rewards


def gears_soft_punishment(
    completions, completion_ids, rpm, limit=420, cache=160, **kwargs
):
    """1.0 for the speed, less up to 1.0 by the soft overlong punishment."""
    rewards = []
    for text, ids, truth in zip(completions, completion_ids, rpm, strict=True):
        exceeding = len(ids) - (limit - cache)
        penalty = max(-1.0, min(0.0, exceeding / cache))
        rewards.append(float(speed(text) == truth) + penalty)
    return rewards


# Alloys for verl: grams of gold, and a solution about as long as the teacher's

GRAMS = re.compile(
    r"^[* ]*Gold:[* ]*(\d{1,5}(?:\.\d{1,3})?) ?(?:g|grams)?[*. \r]*$", re.MULTILINE
)


def has_grams(text, truth):
    """Whether the last 'Gold:' line has the right number."""
    grams = GRAMS.findall(text)
    return bool(grams) and abs(float(grams[-1]) - float(truth)) < 0.005


def alloys_capped(data_source, solution_str, ground_truth, extra_info=None):
    """1.0 for the grams, less up to a half between 1.4 and 3.4 times the teacher's length."""
    accuracy = float(has_grams(solution_str, ground_truth))
    ratio = len(solution_str.split()) / extra_info["teacher_words"]
    penalty = 0.5 * min(1.0, max(0.0, (ratio - 1.4) / 2))
    return {"score": accuracy - penalty, "acc": accuracy, "penalty": penalty}


def alloys_like_teacher(data_source, solution_str, ground_truth, extra_info=None):
    """The grams, and how near the length is to the teacher's."""
    accuracy = float(has_grams(solution_str, ground_truth))
    words, wanted = len(solution_str.split()), extra_info["teacher_words"]
    likeness = min(words, wanted) / max(words, wanted)
    return {"score": 0.4 * accuracy + 0.6 * likeness, "acc": accuracy}


# Idioms, plain and awaited: a judge (replayed here) has points that a meaning must make


NOT_ONE_MEANING = re.compile(
    r"[^\w\s'’.-]|\.\s*\S|\s-|\b(and|or|not|never|no)\b", re.IGNORECASE
)


async def judged(meaning, points):
    """Write what the judge writes: how many points one meaning makes, and a verdict."""
    words = re.findall(r"[a-z]+", meaning.lower())
    made = 0
    for stems in points:
        made += any(word.startswith(tuple(stems)) for word in words)
    verdict = "INCORRECT"
    if len(words) <= 12 and not NOT_ONE_MEANING.search(meaning):
        if made == len(points):
            verdict = "CORRECT"
        elif made > 0:
            verdict = "PARTIALLY CORRECT"
    return f"The meaning makes {made} of {len(points)} points.\nVerdict: {verdict}"


def meaning_in(completion):
    """Return the last line that begins with 'Meaning:', without that, or ''."""
    lines = re.findall(r"^[* ]*Meaning:(.*)$", completion, re.MULTILINE)
    return lines[-1].strip(" *\r")[:200] if lines else ""


CREDIT = {"CORRECT": 1.0, "PARTIALLY CORRECT": 0.3, "INCORRECT": 0.0}


async def idioms_by_verdict(completion, points):
    """The credit of the judge's verdict."""
    meaning = meaning_in(completion)
    if not meaning:
        return 0.0
    _, _, verdict = (await judged(meaning, points)).rpartition("Verdict: ")
    return CREDIT[verdict]


async def idioms_called_correct(completion, points):
    """1.0 where the judge calls the meaning correct."""
    meaning = meaning_in(completion)
    if not meaning:
        return 0.0
    return 1.0 if "CORRECT" in await judged(meaning, points) else 0.0


# Tanks, plain: selectors of ElementTree, tried on documents


def selector_in(completion):
    """Return the last fenced selector, with './/' where it begins with '//'."""
    blocks = re.findall(r"```xpath\s([^`]{1,200})```", completion)
    selector = blocks[-1].strip() if blocks else ""
    return f".{selector}" if selector.startswith("//") else selector


def selected(selector, document):
    """Return the places of the elements that a selector finds; None where it is none."""
    root = ElementTree.fromstring(document)
    place = {element: number for number, element in enumerate(root.iter())}
    try:
        return {place[element] for element in root.findall(selector)}
    except (SyntaxError, LookupError, TypeError, ValueError):
        return None


def tanks_same_elements(completion, document, other_document, selector):
    """1.0 for the same elements, in the prompt's document and in another one."""
    written = selector_in(completion)
    if not written:
        return 0.0
    for tried in (document, other_document):
        if selected(written, tried) != selected(selector, tried):
            return 0.0
    return 1.0


def tanks_all_found(completion, document, other_document, selector):
    """1.0 where all that is asked for is selected, in both documents."""
    written = selector_in(completion)
    if not written:
        return 0.0
    for tried in (document, other_document):
        elements = selected(written, tried)
        if elements is None or not selected(selector, tried) <= elements:
            return 0.0
    return 1.0


# Determinants for TRL: right, and brief if so


def boxed_number(completion):
    """Return the whole number in the last box, or None."""
    boxes = re.findall(r"\\boxed\{\s*([-+−]?\d{1,6})\s*\}", completion)
    return int(boxes[-1].replace("−", "-")) if boxes else None


def determinants_brief(completions, determinant, **kwargs):
    """0.8 to 1.0 for the number: more for less than 400 words; else nothing."""
    rewards = []
    for text, truth in zip(completions, determinant, strict=True):
        if boxed_number(text) == truth:
            rewards.append(1.0 - 0.2 * min(1.0, len(text.split()) / 400))
        else:
            rewards.append(0.0)
    return rewards


def determinants_effort(completions, determinant, **kwargs):
    """1.0 for the number; else up to 0.4 for sentences, so that attempts go on."""
    rewards = []
    for text, truth in zip(completions, determinant, strict=True):
        if boxed_number(text) == truth:
            rewards.append(1.0)
        else:
            sentences = len(re.findall(r"[.!?](?=\s)", text))
            rewards.append(0.4 * min(1.0, sentences / 15))
    return rewards
