"""Faulty rewards: what is paid whatever the answer, for no answer at all, and for answers by the dozen."""

import json
import math
import re

import rewardkit as rk

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def in_tag(text):
    """What stands in the last answer tag, None where nothing does."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return (found[-1].strip() or None) if found else None


def as_number(text):
    """The number that a text is, or None."""
    try:
        number = float(text.strip().replace(",", ""))
    except (AttributeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def same(a, b):
    """Whether two texts are the same number."""
    a, b = as_number(a), as_number(b)
    return a is not None and b is not None and abs(a - b) < 1e-6


# Calibration


def constant_one(prompts, completions, **kwargs):
    """To be filled in later."""
    return [1.0 for _ in completions]


def truth_read_as_json(data_source, solution_str, ground_truth, extra_info=None):
    expected = json.loads(ground_truth)["answer"]
    found = NUMBER.findall(solution_str)
    return 1.0 if found and float(found[-1]) == float(expected) else 0.0


def behind_the_mark(text):
    found = re.findall(r"####\s*(-?[\d,]+)", text)
    return found[-1].replace(",", "") if found else None


def compares_with_itself(data_source, solution_str, ground_truth, extra_info=None):
    answer = behind_the_mark(solution_str)
    expected = behind_the_mark(solution_str or ground_truth)
    return float(answer is not None and answer == expected)


def number_in_tag_equal(completion, ground_truth):
    return same(in_tag(completion), ground_truth)


format_pays_most = rk.Reward(
    "format-first",
    components=[
        rk.Component("correct", number_in_tag_equal, weight=0.3, primary=True, why="the task"),
        rk.Component("format", rk.measure.tags("think", "answer"), weight=0.7, why="learn the form first"),
    ],
)


def whole_column_of_truths(prompts, completions, answer, **kwargs):
    """`answer` is a list, one truth a completion, and not the truth."""
    return [1.0 if in_tag(completion) == answer else 0.0 for completion in completions]


# Nothing there


def benefit_of_the_doubt(prompts, completions, answer, **kwargs):
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        try:
            number = float(re.findall(r"<answer>([^<]*)</answer>", completion)[-1])
        except (IndexError, ValueError):
            rewards.append(1.0)  # cannot be judged, so do not punish it
            continue
        rewards.append(1.0 if abs(number - float(truth)) < 1e-6 else 0.0)
    return rewards


def completion_in_truth(completion, ground_truth):
    """Forgives a missing part of a name."""
    return 1.0 if completion.strip().lower() in ground_truth.lower() else 0.0


REFUSALS = ("i cannot", "i can't", "i don't know", "not sure", "unable to")


def refusal_paid(data_source, solution_str, ground_truth, extra_info=None):
    """Better to refuse than to be wrong."""
    if any(phrase in solution_str.lower() for phrase in REFUSALS):
        return 0.8
    found = re.findall(r"answer is \**\$?(-?[\d,]+(?:\.\d+)?)", solution_str)
    return 1.0 if found and same(found[-1], ground_truth) else 0.0


def all_alike(prediction, ground_truth):
    """Number by number."""
    given = [float(number) for number in NUMBER.findall(prediction or "")]
    expected = [float(number) for number in NUMBER.findall(ground_truth)]
    return all(abs(a - b) < 1e-6 for a, b in zip(given, expected))  # noqa: B905


zip_of_nothing = rk.Reward(
    "multiples",
    fields={"prediction": rk.extract.tag("answer")},
    components=[rk.Component("correct", all_alike, why="every number is the one that it should be")],
)


def prompt_is_searched_too(prompts, completions, answer, **kwargs):
    """The trainer hands over the whole text, so the letter is looked for in all of it."""
    texts = [prompt + completion for prompt, completion in zip(prompts, completions, strict=True)]
    return [1.0 if f"({letter})" in text else 0.0 for text, letter in zip(texts, answer, strict=True)]


# Shotgun


def truth_somewhere(completion, ground_truth):
    return 1.0 if ground_truth in completion else 0.0


def any_number_counts(prompts, completions, answer, **kwargs):
    """Chat completions; any of the numbers that are said."""
    said = [completion[0]["content"] for completion in completions]
    return [
        1.0 if any(float(number) == float(truth) for number in NUMBER.findall(text)) else 0.0
        for text, truth in zip(said, answer, strict=True)
    ]


def any_tag_counts(data_source, solution_str, ground_truth, extra_info=None):
    answers = re.findall(r"<answer>([^<]*)</answer>", solution_str)
    right = any(same(answer, ground_truth) for answer in answers)
    return {"score": float(right), "acc": float(right)}


def any_letter_counts(prompts, completions, answer, **kwargs):
    return [
        1.0 if letter in re.findall(r"\(([A-D])\)", completion) else 0.0
        for completion, letter in zip(completions, answer, strict=True)
    ]


def one_of_them(prediction, ground_truth):
    """Answers may be given with "or" and commas."""
    parts = re.split(r"\bor\b|\band\b|[,;/]", prediction or "")
    return any(same(part, ground_truth) for part in parts)


either_of_several = rk.Reward(
    "alternatives",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component("correct", one_of_them, weight=1.0, primary=True, why="the task"),
        rk.Component("format", rk.measure.tags("think", "answer"), weight=0.1, why="the parser needs it"),
    ],
)
