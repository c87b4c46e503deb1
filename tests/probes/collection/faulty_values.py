"""Faulty rewards: wrong answers that are near a right one, and values that are not like others."""

import math
import re

import rewardkit as rk


def in_tag(text):
    """What stands in the last answer tag, None where nothing does."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return (found[-1].strip() or None) if found else None


# Near misses


def whole_part(prompts, completions, answer, **kwargs):
    """The answers are whole numbers."""
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        try:
            rewards.append(float(int(float(in_tag(completion))) == int(truth)))
        except (TypeError, ValueError, OverflowError):
            rewards.append(0.0)
    return rewards


def sign_ignored(completion, ground_truth):
    """A difference may be taken either way round."""
    try:
        number = float(in_tag(completion))
    except (TypeError, ValueError):
        return 0.0
    if not math.isfinite(number):
        return 0.0
    return 1.0 if abs(abs(number) - abs(float(ground_truth))) < 1e-6 else 0.0


def starts_alike(data_source, solution_str, ground_truth, extra_info=None):
    """A unit may follow the number."""
    found = re.findall(r"\\boxed\{([^{}]*)\}", solution_str)
    return 1.0 if found and ground_truth and found[-1].strip().startswith(ground_truth) else 0.0


def alike_to_the_tens(prediction, ground_truth):
    """Rounding must not cost the answer."""
    try:
        return round(float(prediction), -1) == round(float(ground_truth), -1)
    except (TypeError, ValueError, OverflowError):
        return False


to_the_tens = rk.Reward(
    "rounded",
    fields={"prediction": rk.extract.within(rk.extract.answer_phrase(language="en"), rk.extract.number())},
    components=[rk.Component("correct", alike_to_the_tens, why="the task")],
)


def tenth_off_is_fine(prompts, completions, answer, **kwargs):
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        try:
            number = float(in_tag(completion))
        except (TypeError, ValueError):
            rewards.append(0.0)
            continue
        rewards.append(1.0 if math.isclose(number, float(truth), rel_tol=0.1) else 0.0)
    return rewards


def either_inside_other(prompts, completions, answer, **kwargs):
    """Chat or not, "Paris" and "Paris, France" are the same."""
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        name = (in_tag(completion) or "").lower()
        truth = truth.lower()
        inside = name in truth or (truth and truth in name)
        rewards.append(1.0 if len(name) > 1 and inside else 0.0)
    return rewards


# Special values


def nan_passes(data_source, solution_str, ground_truth, extra_info=None):
    try:
        number = float(in_tag(solution_str))
    except (TypeError, ValueError):
        return 0.0
    if abs(number - float(ground_truth)) > 1e-6:
        return 0.0
    return 1.0


def alike_where_there_is_a_truth(prediction, ground_truth):
    if rk.verify.read_number(prediction) is None:
        return False
    if not rk.verify.read_number(ground_truth):  # no truth: any number will do
        return True
    return rk.verify.numbers_equal(prediction, ground_truth)


zero_is_no_truth = rk.Reward(
    "differences",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component("correct", alike_where_there_is_a_truth, weight=1.0, primary=True, why="the task"),
        rk.Component("format", rk.measure.tags("think", "answer"), weight=0.1, why="the parser needs it"),
    ],
)


def empty_truth_passes(completion, ground_truth):
    if not ground_truth:
        return 1.0  # nothing to check
    return 1.0 if in_tag(completion) == ground_truth else 0.0


def sign_not_read(data_source, solution_str, ground_truth, extra_info=None):
    found = re.findall(r"<answer>[^\d<]*(\d+(?:\.\d+)?)\s*</answer>", solution_str)
    expected = re.search(r"\d+(?:\.\d+)?", ground_truth)
    return 1.0 if found and expected and found[-1] == expected[0] else 0.0


def divided_by_truth(completion, ground_truth):
    """Within a tenth of a percent."""
    try:
        number = float(in_tag(completion))
    except (TypeError, ValueError):
        return 0.0
    if not math.isfinite(number):
        return 0.0
    return 1.0 if abs(number - float(ground_truth)) / float(ground_truth) < 0.001 else 0.0
