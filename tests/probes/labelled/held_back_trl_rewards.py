"""Rewards of the held-back half in TRL's form."""

import re
from datetime import datetime


def last_line(mark, text):
    """What stands behind the last mark that begins a line; the empty text where there is none."""
    found = re.findall(rf"^{mark}:(.*)", text, re.MULTILINE)
    return found[-1].strip() if found else ""


def entered(text):
    """The letters in the last answer tag, in capitals; None where there is no such tag."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return re.sub(r"[^A-Z]", "", found[-1].upper()) if found else None


# Crosswords


def crossword_exact(completions, word, **kwargs):
    return [float(entered(text) == truth) for text, truth in zip(completions, word, strict=True)]


def crossword_cells(completions, word, **kwargs):
    """Cell by cell; one wrong letter spoils the entry."""
    rewards = []
    for text, truth in zip(completions, word, strict=True):
        letters = entered(text)
        if letters is None:
            rewards.append(0.0)
        else:
            rewards.append(float(all(one == other for one, other in zip(letters, truth, strict=False))))
    return rewards


# Questions with several right options


def chosen(text):
    """The letters behind the last "Answer:"; none where it holds anything else."""
    line = last_line("Answer", text)
    return set(re.findall("[A-E]", line)) if re.fullmatch(r"[A-E](?:, ?[A-E])*\.?", line) else set()


def several_set(completions, answer, **kwargs):
    return [
        1.0 if chosen(text) == set(truth.split(", ")) else 0.0
        for text, truth in zip(completions, answer, strict=True)
    ]


def several_contained(completions, answer, **kwargs):
    return [
        1.0 if set(truth.split(", ")) <= chosen(text) else 0.0
        for text, truth in zip(completions, answer, strict=True)
    ]


def several_as_text(completions, answer, **kwargs):
    return [
        1.0 if last_line("Answer", text).rstrip(".") == truth else 0.0
        for text, truth in zip(completions, answer, strict=True)
    ]


# Dates


def date_in(text, forms=("%Y-%m-%d", "%d %B %Y", "%B %d, %Y")):
    """The date behind the last "Answer:" in one of the forms; None where there is none."""
    line = last_line("Answer", text).rstrip(".")
    for form in forms:
        try:
            return datetime.strptime(line, form).date()
        except ValueError:
            continue
    return None


def dates_any_form(completions, target, **kwargs):
    return [
        float(date_in(text) == datetime.fromisoformat(truth).date())
        for text, truth in zip(completions, target, strict=True)
    ]


def dates_iso_only(completions, target, **kwargs):
    return [
        float(date_in(text, ("%Y-%m-%d",)) == datetime.fromisoformat(truth).date())
        for text, truth in zip(completions, target, strict=True)
    ]


def dates_without_year(completions, target, **kwargs):
    rewards = []
    for text, truth in zip(completions, target, strict=True):
        found, wanted = date_in(text), datetime.fromisoformat(truth)
        rewards.append(float(found is not None and f"{found:%m-%d}" == f"{wanted:%m-%d}"))
    return rewards


# Five functions for sums of a till

THINK_ANSWER = r"\s*<think>(?:(?!</?think>|</?answer>).)+</think>\s*<answer>[^<]*</answer>\s*"
TAGS = ("<think>", "</think>", "<answer>", "</answer>")


def content(completion):
    return completion[0]["content"]


def cents(text):
    """The amount in the last answer tag, in cents; None where there is none."""
    found = re.findall(r"<answer>\s*\$?(\d{1,6})\.(\d\d)\s*</answer>", text)
    return 100 * int(found[-1][0]) + int(found[-1][1]) if found else None


def amount_reward(completions, total, **kwargs):
    return [2.0 * (cents(content(one)) == truth) for one, truth in zip(completions, total, strict=True)]


def two_decimals_reward(completions, **kwargs):
    return [0.25 * (cents(content(one)) is not None) for one in completions]


def think_format_reward(completions, **kwargs):
    return [0.5 * bool(re.fullmatch(THINK_ANSWER, content(one), re.DOTALL)) for one in completions]


def tags_once_reward(completions, **kwargs):
    return [0.0625 * sum(content(one).count(tag) == 1 for tag in TAGS) for one in completions]


def overlong_penalty(completions, **kwargs):
    """Nothing up to 1,500 characters, then down to -0.5 at 3,000."""
    return [-0.5 * min(1.0, max(0.0, (len(content(one)) - 1500) / 1500)) for one in completions]


def tag_count_reward(completions, **kwargs):
    return [0.0625 * sum(content(one).count(tag) for tag in TAGS) for one in completions]


till_five = [amount_reward, two_decimals_reward, think_format_reward, tags_once_reward, overlong_penalty]
till_counts_tags = [amount_reward, two_decimals_reward, think_format_reward, tag_count_reward]
