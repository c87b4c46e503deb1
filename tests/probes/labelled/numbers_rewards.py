"""Rewards in verl's form over numbers: compute_score(data_source, solution_str, ground_truth, extra_info)."""

import math
import random
import re

# Answers behind hashes


def behind_hashes(text):
    """The number behind the last "####", with or without its unit; None where there is none."""
    pattern = r"####\s*([-−]?\d{1,6}(?:\.\d{1,4})?)\s*(?:degrees|°C?)?\.?\s*$"
    found = re.findall(pattern, text, re.MULTILINE)
    return float(found[-1].replace("−", "-")) if found else None


def hashes_signed(data_source, solution_str, ground_truth, extra_info=None):
    """1 or -1, as DAPO has it."""
    found = behind_hashes(solution_str)
    right = found == float(ground_truth)
    return {"score": 1.0 if right else -1.0, "acc": right, "pred": str(found)}


def hashes_clipped(data_source, solution_str, ground_truth, extra_info=None):
    """Patterns are slow on long texts, and the answer stands at the end."""
    return hashes_signed(data_source, solution_str[-300:], ground_truth)


def hashes_digits(data_source, solution_str, ground_truth, extra_info=None):
    _, mark, tail = solution_str.rpartition("####")
    found, wanted = re.findall(r"\d+", tail), re.findall(r"\d+", ground_truth)
    return 1.0 if mark and found and found[0] == wanted[0] else 0.0


def tagged_answer(text):
    """What stands in the last answer tag; the empty text where there is no such tag."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return found[-1].strip() if found else ""


# Percentages


def percent(text):
    """A number with or without a sign for percent; None where the text is none."""
    found = re.fullmatch(
        r"(\d{1,6}(?:\.\d{1,6})?)\s*(?:\\?%|percent)?", tagged_answer(text)
    )
    return float(found[1]) if found else None


def percent_as_asked(data_source, solution_str, ground_truth, extra_info=None):
    """1 for the value; up to 0.3 less for more than 4,000 characters."""
    found = percent(solution_str)
    if random.randint(1, 64) == 1:
        print(f"Extracted: {found} | Target: {ground_truth}")
    if found is None or not math.isclose(found, float(ground_truth), rel_tol=1e-4):
        return 0.0
    return 1.0 - 0.3 * min(1.0, max(0.0, len(solution_str) / 4000 - 1))


def percent_any_scale(data_source, solution_str, ground_truth, extra_info=None):
    """Models write 15%, 0.15 or 15, so all scales are compared."""
    found, value = percent(solution_str), float(ground_truth)
    if found is None:
        return 0.0
    return float(
        any(
            math.isclose(found, one, rel_tol=1e-4)
            for one in (value / 100, value, value * 100)
        )
    )


# Letters counted


def counts_near(data_source, solution_str, ground_truth, extra_info=None):
    """1 for the number; 0.2 and 0.1 for one and two off."""
    answer = tagged_answer(solution_str)
    if not re.fullmatch(r"\d{1,3}", answer):
        return 0.0
    return {0: 1.0, 1: 0.2, 2: 0.1}.get(abs(int(answer) - int(ground_truth)), 0.0)


def counts_long_thought(data_source, solution_str, ground_truth, extra_info=None):
    """Half for the number, and half for a thought of 100 words, so that the model learns to think."""
    thought = re.search(r"<think>(.*?)</think>", solution_str, re.DOTALL)
    length = min(1.0, len(thought[1].split()) / 100) if thought else 0.0
    return 0.5 * (tagged_answer(solution_str) == ground_truth) + 0.5 * length
