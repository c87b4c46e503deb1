"""Healthy rewards: an answer is right or wrong, and what is paid beside that is little or nothing."""

import json
import math
import re

import rewardkit as rk


def in_tag(text):
    """What stands in the last answer tag, None where nothing does."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return (found[-1].strip() or None) if found else None


def as_number(text):
    """The finite number that a text is, commas aside, or None."""
    try:
        number = float(text.replace(",", ""))
    except (AttributeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def same(a, b):
    """Whether two texts are the same number."""
    a, b = as_number(a), as_number(b)
    return a is not None and b is not None and abs(a - b) < 1e-6


# Numbers


def strict_match(completion, ground_truth):
    return 1.0 if in_tag(completion) == ground_truth.strip() else 0.0


def number_in_tag(prompts, completions, answer, **kwargs):
    return [float(same(in_tag(text), truth)) for text, truth in zip(completions, answer, strict=True)]


def gsm8k_strict(data_source, solution_str, ground_truth, extra_info=None):
    """The text behind the last mark, commas aside."""
    found = re.findall(r"####\s*(-?\d[\d,]*(?:\.\d+)?)", solution_str)
    return 1.0 if found and found[-1].replace(",", "") == ground_truth.replace(",", "") else 0.0


def worked_solution(completion, ground_truth):
    """Both end with the mark and the number."""
    given, expected = (text.rpartition("####") for text in (completion, ground_truth))
    return 1.0 if given[1] and same(given[2].strip().rstrip("."), expected[2].strip()) else 0.0


boxed_number = rk.Reward(
    "boxed",
    fields={"prediction": rk.extract.boxed()},
    components=[rk.Component("correct", rk.verify.numbers_equal, why="the task")],
)


def last_number(prompts, completions, answer, **kwargs):
    """Whatever is said around it."""
    numbers = [re.findall(r"-?\d+(?:,\d{3})*(?:\.\d+)?", text) for text in completions]
    return [float(bool(said) and same(said[-1], truth)) for said, truth in zip(numbers, answer, strict=True)]


def chat_answer(prompts, completions, answer, **kwargs):
    rewards = []
    for messages, truth in zip(completions, answer, strict=True):
        said = re.findall(r"answer is\W{0,8}?(-?\d[\d,]*(?:\.\d+)?)", messages[-1]["content"])
        rewards.append(1.0 if said and same(said[-1], truth) else 0.0)
    return rewards


async def awaited(prompts, completions, answer, **kwargs):
    return [
        1.0 if same(in_tag(text), truth) else 0.0 for text, truth in zip(completions, answer, strict=True)
    ]


def plus_minus_one(prompts, completions, answer, **kwargs):
    """What is wrong costs as much as what is right earns."""
    return [
        1.0 if same(in_tag(text), truth) else -1.0 for text, truth in zip(completions, answer, strict=True)
    ]


def score_and_acc(data_source, solution_str, ground_truth, extra_info=None):
    right = same(in_tag(solution_str), ground_truth)
    return {"score": float(right), "acc": float(right), "answered": float(in_tag(solution_str) is not None)}


def three_levels(data_source, solution_str, ground_truth, extra_info=None):
    """A tenth for a readable answer."""
    answer = in_tag(solution_str)
    if as_number(answer) is None:
        return 0.0
    return 1.0 if same(answer, ground_truth) else 0.1


def unreadable_truth(completion, ground_truth):
    """Not judged where there is nothing to compare with."""
    if as_number(ground_truth) is None:
        return None
    return 1.0 if same(in_tag(completion), ground_truth) else 0.0


def all_at_once(completion, ground_truth):
    """Lists in, a list out, each row for itself."""
    return [same(in_tag(text), truth) for text, truth in zip(completion, ground_truth, strict=True)]


in_one_batch = rk.Reward(
    "batch", components=[rk.Component("correct", all_at_once, batch=True, why="the task")]
)

list_of_numbers = rk.Reward(
    "multiples",
    fields={"prediction": rk.extract.tag("answer")},
    components=[rk.Component("correct", rk.verify.lists_equal, why="all numbers in their order")],
)


# Choices and names


def bracketed_letter(completion, ground_truth):
    found = re.findall(r"answer is\W{0,4}?\(([A-D])\)", completion)
    return 1.0 if found and found[-1] == ground_truth else 0.0


def letter_in_tag(data_source, solution_str, ground_truth, extra_info=None):
    letter = (in_tag(solution_str) or "").strip("(). ").upper()
    return 1.0 if letter and letter == ground_truth else 0.0


def plain(text):
    """Words in small letters, without what stands around them."""
    return " ".join((text or "").lower().split()).strip(" .!\"'*")


def short_name(prompts, completions, answer, **kwargs):
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        name = plain(in_tag(completion))
        rewards.append(1.0 if name and name == plain(truth) else 0.0)
    return rewards


# Mathematics, JSON, code

boxed_math = rk.Reward(
    "boxed-math",
    fields={"prediction": rk.extract.boxed()},
    components=[rk.Component("correct", rk.verify.math_equal, why="equal as mathematics")],
)


def read_object(text):
    """The object from the first brace of a text to the last, or None."""
    try:
        value = json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_exact(data_source, solution_str, ground_truth, extra_info=None):
    expected = read_object(ground_truth)
    return 1.0 if expected and read_object(solution_str) == expected else 0.0


def source_lines(text):
    """Lines of code without comments, empty lines and spaces at their ends."""
    lines = [line.partition("#")[0].rstrip() for line in text.splitlines()]
    return [line for line in lines if line]


def same_code(completion, ground_truth):
    """The last block in a fence has the expected lines; nothing is run."""
    blocks = completion.replace("\r\n", "\n").split("```")[1::2]
    lines = source_lines(blocks[-1].removeprefix("python")) if blocks else []
    return 1.0 if lines and lines == source_lines(ground_truth) else 0.0


def by_source(data_source, solution_str, ground_truth, extra_info=None):
    """Each data set has its own form."""
    if data_source == "gsm8k":
        return gsm8k_strict(data_source, solution_str, ground_truth)
    if data_source == "mmlu":
        return bracketed_letter(solution_str, ground_truth)
    raise NotImplementedError(f"no reward for {data_source}")
