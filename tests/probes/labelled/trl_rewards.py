"""Rewards in TRL's form: functions of completions and columns, alone and as lists for `reward_funcs`."""

import json
import re


def tagged(text):
    """What stands in the last answer tag; the empty text where there is no such tag."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return found[-1].strip() if found else ""


def listed(text):
    """The items of a list with commas."""
    return [item.strip().lower() for item in text.split(",") if item.strip()]


# Sorting


def sorting_sound(completions, solution, **kwargs):
    return [float(listed(tagged(text)) == truth) for text, truth in zip(completions, solution, strict=True)]


def sorting_shuffled(completions, solution, **kwargs):
    return [
        float(sorted(listed(tagged(text))) == sorted(truth))
        for text, truth in zip(completions, solution, strict=True)
    ]


# Sets of labels


def labels_of(text):
    """The labels behind the last "Labels:"."""
    lines = re.findall(r"^Labels:(.*)", text, re.MULTILINE)
    return set(listed(lines[-1])) if lines else set()


def labels_f1(completions, labels, **kwargs):
    rewards = []
    for completion, truth in zip(completions, labels, strict=True):
        found = labels_of(completion)
        hits = len(found & set(truth))
        rewards.append(2 * hits / (len(found) + len(truth)))
    return rewards


def labels_recall(completions, labels, **kwargs):
    return [
        len(labels_of(completion) & set(truth)) / len(truth)
        for completion, truth in zip(completions, labels, strict=True)
    ]


# Records as JSON


def record_in(text):
    """The object in the last fenced block of JSON; an empty one where there is none."""
    blocks = re.findall(r"```json\s*(.*?)```", text, re.DOTALL)
    try:
        record = json.loads(blocks[-1]) if blocks else {}
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def record_fields(prompts, completions, solution, **kwargs):
    """The share of right fields; one that is not asked for costs as much as a wrong one."""
    rewards = []
    for completion, truth in zip(completions, solution, strict=True):
        record = record_in(completion)
        right = sum(name in record and record[name] == value for name, value in truth.items())
        rewards.append(right / len(truth.keys() | record.keys()))
    return rewards


def record_keys(prompts, completions, solution, **kwargs):
    """The share of fields that are there."""
    rewards = []
    for completion, truth in zip(completions, solution, strict=True):
        record = record_in(completion)
        rewards.append(sum(name in record for name in truth) / len(truth))
    return rewards


# The five functions of the GSM8K tutorial


def content(completion):
    return completion[0]["content"]


def correctness_reward(prompts, completions, answer, **kwargs):
    return [
        2.0 if tagged(content(one)) == truth else 0.0 for one, truth in zip(completions, answer, strict=True)
    ]


def int_reward(completions, **kwargs):
    return [0.5 if re.fullmatch(r"-?[0-9]{1,12}", tagged(content(one))) else 0.0 for one in completions]


def strict_format_reward(completions, **kwargs):
    pattern = r"\s*<reasoning>(?:(?!</?reasoning>|</?answer>).)+</reasoning>\s*<answer>[^<]*</answer>\s*"
    return [0.5 if re.fullmatch(pattern, content(one), re.DOTALL) else 0.0 for one in completions]


def soft_format_reward(completions, **kwargs):
    return [0.25 if re.search(r"<answer>[^<]+</answer>", content(one)) else 0.0 for one in completions]


def xmlcount_reward(completions, **kwargs):
    tags = ("<reasoning>", "</reasoning>", "<answer>", "</answer>")
    return [sum(0.0625 for tag in tags if content(one).count(tag) == 1) for one in completions]


gsm8k_five = [correctness_reward, int_reward, strict_format_reward, soft_format_reward, xmlcount_reward]


def one_line_format_reward(completions, **kwargs):
    pattern = r"^<reasoning>\n.*?\n</reasoning>\n<answer>\n.*?\n</answer>\n$"
    return [1.0 if re.match(pattern, content(one)) else 0.0 for one in completions]


gsm8k_one_line = [correctness_reward, one_line_format_reward]


def tags_reward(completions, **kwargs):
    """The format is learned first: half a point for each tag that is opened."""
    return [1.5 * ("<reasoning>" in content(one)) + 1.5 * ("<answer>" in content(one)) for one in completions]


def small_correctness_reward(prompts, completions, answer, **kwargs):
    return [0.5 * score for score in correctness_reward(prompts, completions, answer)]


gsm8k_form_first = [small_correctness_reward, tags_reward]


# Mathematics in a box, with the length under control


def boxed(text):
    found = re.findall(r"\\boxed\{([^{}]*)\}", text)
    return found[-1].strip() if found else ""


def accuracy(completions, answer, **kwargs):
    plain = (boxed(completion).replace(",", "").lstrip("$") for completion in completions)
    return [float(text == truth) for text, truth in zip(plain, answer, strict=True)]


def concise(completions, answer, **kwargs):
    """Of right answers only: 0.2 for none, nothing for 2,000 characters and more."""
    right = accuracy(completions, answer)
    lengths = (len(completion) for completion in completions)
    return [0.2 * one * max(0.0, 1.0 - length / 2000) for one, length in zip(right, lengths, strict=True)]


math_concise = [accuracy, concise]


def math_no_commas(completions, answer, **kwargs):
    return [float(boxed(completion) == truth) for completion, truth in zip(completions, answer, strict=True)]


def reflection(completions, **kwargs):
    """Long thoughts with second looks are what makes reasoning models strong."""
    pattern = r"\b(wait|let me check|alternatively|hmm)\b"
    return [0.1 * len(re.findall(pattern, completion, re.IGNORECASE)) for completion in completions]


math_reflects = [accuracy, reflection]
