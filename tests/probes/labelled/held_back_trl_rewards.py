"""Held-back rewards in TRL's form: functions of completions and columns, alone and as lists."""

import math
import re
from fractions import Fraction


def tagged(text, tag="answer"):
    """What stands in the last such tag; the empty text where there is none."""
    found = re.findall(rf"<{tag}>([^<]*)</{tag}>", text)
    return found[-1].strip() if found else ""


# Times of the clock


def minutes(text):
    """Minutes after midnight, of 24 hours or of am and pm; None where the text is no time."""
    found = re.fullmatch(r"(\d{1,2}):([0-5]\d)(?: ?([ap])\.?m\.?)?", text, re.IGNORECASE)
    if not found:
        return None
    hour, minute, half = int(found[1]), int(found[2]), (found[3] or "").lower()
    if not half:
        return 60 * hour + minute if hour < 24 else None
    return 60 * (hour % 12 + 12 * (half == "p")) + minute if 1 <= hour <= 12 else None


def clock_any_form(completions, arrival, **kwargs):
    pairs = zip(completions, arrival, strict=True)
    return [float(minutes(tagged(text)) == minutes(truth)) for text, truth in pairs]


def closeness(completions, arrival, **kwargs):
    """Up to 0.3 for times that are less than an hour off, around midnight too."""
    rewards = []
    for text, truth in zip(completions, arrival, strict=True):
        found = minutes(tagged(text))
        off = 720 if found is None else abs(found - minutes(truth))
        rewards.append(0.3 * max(0.0, 1.0 - min(off, 1440 - off) / 60))
    return rewards


clock_with_closeness = [clock_any_form, closeness]


def clock_half_day(completions, arrival, **kwargs):
    """Models write am and pm in many ways, so the face of the clock is compared."""
    rewards = []
    for text, truth in zip(completions, arrival, strict=True):
        found = minutes(tagged(text))
        rewards.append(1.0 if found is not None and found % 720 == minutes(truth) % 720 else 0.0)
    return rewards


# Probabilities, as Minerva's examples end


def final(completion):
    """What the last closing sentence says; the empty text where there is none."""
    found = re.findall(r"The final answer is ([^\n]{1,40}?)\. I hope it is correct", completion[0]["content"])
    return found[-1].strip("$ ") if found else ""


def chance(text):
    """A fraction or a decimal as a Fraction; None where the text is neither."""
    plain = re.sub(r"\\d?frac\{(\d{1,4})\}\{(\d{1,4})\}", r"\1/\2", text)
    return Fraction(plain) if re.fullmatch(r"\d{1,4}/[1-9]\d{0,3}|[01]?\.\d{1,9}|[01]", plain) else None


def chances_equal(completions, answer, **kwargs):
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        found = chance(final(completion))
        rewards.append(1.0 if found is not None and abs(found - Fraction(truth)) <= 0.0005 else 0.0)
    return rewards


def chances_as_text(completions, answer, **kwargs):
    return [1.0 if final(one) == truth else 0.0 for one, truth in zip(completions, answer, strict=True)]


def chances_tolerant(completions, answer, **kwargs):
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        found = chance(final(completion))
        rewards.append(float(found is not None and math.isclose(found, Fraction(truth), abs_tol=0.1)))
    return rewards


def closing_sentence(completions, **kwargs):
    return [0.2 if final(one) else 0.0 for one in completions]


def brevity(completions, **kwargs):
    """0.1 for none, nothing for 2,000 characters and more."""
    return [0.1 * max(0.0, 1.0 - len(one[0]["content"]) / 2000) for one in completions]


chances_with_bonuses = [chances_equal, closing_sentence, brevity]


# Codes of diagnoses


def code_reward(completions, icd, **kwargs):
    """2 for the code, 0.5 for another one of its category (the first three signs)."""
    rewards = []
    for text, truth in zip(completions, icd, strict=True):
        code = tagged(text, "code").upper()
        same = re.fullmatch(r"[A-Z]\d\w(\.\w{1,4})?", code) and code[:3] == truth[:3]
        rewards.append(2.0 if code == truth else 0.5 if same else 0.0)
    return rewards


def code_at_end(completions, **kwargs):
    return [0.25 * bool(re.search(r"<code>[A-Z0-9.]{1,8}</code>\s*$", text)) for text in completions]


def prefix_reward(completions, icd, **kwargs):
    """Doctors often leave the last digits out, so less specific codes count as well."""
    rewards = []
    for text, truth in zip(completions, icd, strict=True):
        rewards.append(2.0 if "<code>" in text and truth.startswith(tagged(text, "code").upper()) else 0.0)
    return rewards


codes_by_level = [code_reward, code_at_end]
codes_prefix = [prefix_reward, code_at_end]
