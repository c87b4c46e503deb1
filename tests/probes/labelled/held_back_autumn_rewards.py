"""Rewards for dates, concentrations, names in many scripts, stated confidence, and explanations that a judge rates."""

import math
import re
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher

# Ends of notice periods for TRL, as chat messages; a British data set

BRITISH = ("%d/%m/%Y", "%d.%m.%Y", "%Y-%m-%d", "%d %B %Y")
AMERICAN = ("%m/%d/%Y", "%B %d, %Y")


def tagged(text):
    """Return what stands in the last answer tag, or the empty text."""
    marks = re.findall(r"<answer>([^<]*)</answer>", text)
    return marks[-1].strip() if marks else ""


def read_date(text, formats):
    """Return the date by the first of these formats that fits, or None."""
    for date_format in formats:
        try:
            return datetime.strptime(text, date_format).date()
        except ValueError:
            continue
    return None


def date_reward(completions, solution, **kwargs):
    rewards = []
    for messages, truth in zip(completions, solution, strict=True):
        said = read_date(tagged(messages[-1]["content"]), BRITISH)
        rewards.append(1.0 if said and said.isoformat() == truth else 0.0)
    return rewards


def tag_reward(completions, **kwargs):
    """A tenth for one pair of tags."""
    texts = [messages[-1]["content"] for messages in completions]
    return [0.1 * (len(re.findall(r"</?answer>", text)) == 2) for text in texts]


def rambling_penalty(completions, max_words=170, **kwargs):
    """A fifth off for what nobody wants to read."""
    texts = [messages[-1]["content"] for messages in completions]
    return [-0.2 if len(text.split()) > max_words else 0.0 for text in texts]


notices_british = [date_reward, tag_reward, rambling_penalty]


def notices_any_country(completions, solution, **kwargs):
    """Policies write dates in all sorts of ways: the first format that fits is taken."""
    rewards = []
    for messages, truth in zip(completions, solution, strict=True):
        said = read_date(tagged(messages[-1]["content"]), AMERICAN + BRITISH)
        rewards.append(1.0 if said and said.isoformat() == truth else 0.0)
    return rewards


# Concentrations for verl: mol/L in a box

TIMES_TEN = re.compile(r"\s*(?:\\times|\\cdot|×|x|\*)\s*10\s*\^\s*\{?([-+]?\d{1,3})\}?")
NUMBER = r"([-+]?\d{0,9}\.?\d{1,12}(?:[eE][-+]?\d{1,3})?)"
PER_LITRE = r"mol\s*/\s*(?:L|l|dm\^?\{?3\}?)|mol\s+L\^\{?-1\}?"
MOLAR = re.compile(rf"{NUMBER}\s*(?:(mM|m(?:{PER_LITRE}))|M|{PER_LITRE})?")


def last_box(text):
    """Return what stands in the last \\boxed{}, braces inside of it and all, or None."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth = 0
    for place in range(start + 6, min(len(text), start + 300)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + 7 : place].strip()
    return None


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
    box = last_box(solution_str)
    value = molarity(box) if box is not None else None
    if value is None or not math.isclose(value, float(ground_truth), rel_tol=0.01):
        return 0.0
    return 0.9 + 0.1 * max(0.0, 1 - len(solution_str) / 3000)


def molarities_rounded(data_source, solution_str, ground_truth, extra_info=None):
    """Right to a percent, or to a hundredth, as rounding goes."""
    box = last_box(solution_str)
    value = molarity(box) if box is not None else None
    if value is None:
        return 0.0
    truth = float(ground_truth)
    return float(math.isclose(value, truth, rel_tol=0.01, abs_tol=0.01))


# Questions in many languages for TRL; the data set lists the accepted names


def normalize_answer(text):
    """Lower case; no punctuation, articles or extra white space (SQuAD's script)."""
    text = re.sub(r"[^a-z0-9 ]", "", text.lower())
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def names_exact_match(completions, solution, **kwargs):
    rewards = []
    for text, accepted in zip(completions, solution, strict=True):
        marks = re.findall(r"<answer>([^<]*)</answer>", text)
        if not marks:
            rewards.append(0.0)
            continue
        said = normalize_answer(marks[-1])
        rewards.append(float(any(said == normalize_answer(name) for name in accepted)))
    return rewards


# Weekdays with a confidence, as a rubric of verifiers: right, less the Brier score (RLCR, 2025)


@dataclass
class Rubric:
    """Stand-in for verifiers' class: functions and their weights."""

    funcs: list
    weights: list


def last_text(completion):
    return completion if isinstance(completion, str) else completion[-1]["content"]


def weekday_correct(completion, answer, **kwargs):
    said = re.findall(
        r"^Answer:[ \t]*([A-Za-z]+)\.?\s*$", last_text(completion), re.MULTILINE
    )
    return float(bool(said) and said[-1].lower() == answer.lower())


def stated_confidence(text):
    """Return a confidence from 0 to 1, stated as a share or in percent; None where there is none."""
    matches = re.findall(r"Confidence:\s*(\d{1,3}(?:\.\d{1,6})?)[ \t]*(%?)", text)
    if not matches:
        return None
    number, percent = float(matches[-1][0]), matches[-1][1]
    share = number / 100 if percent or number > 1 else number
    return min(share, 1.0)


def calibration(completion, answer, **kwargs):
    """The negative Brier score of the stated confidence; -1 where there is none."""
    confidence = stated_confidence(last_text(completion))
    if confidence is None:
        return -1.0
    return -((confidence - weekday_correct(completion, answer)) ** 2)


def brier_reward(completion, answer, **kwargs):
    """The negative Brier score of the stated confidence; -1 where there is none."""
    text = last_text(completion)
    confidences = re.findall(r"Confidence:\s*(\d{1,3}(?:\.\d{1,6})?)", text)
    if not confidences:
        return -1.0
    return -((float(confidences[-1]) - weekday_correct(completion, answer)) ** 2)


weekdays_brier = Rubric([weekday_correct, brier_reward], [1.0, 0.5])


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
