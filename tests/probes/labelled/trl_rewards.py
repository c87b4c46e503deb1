"""Rewards in TRL's form: functions of completions and columns, alone and as lists for `reward_funcs`."""

import json
import math
import re
from datetime import datetime
from fractions import Fraction


def tagged(text, tag="answer"):
    """What stands in the last such tag; the empty text where there is none."""
    found = re.findall(rf"<{tag}>([^<]*)</{tag}>", text)
    return found[-1].strip() if found else ""


def listed(text):
    """The items of a list with commas."""
    return [item.strip().lower() for item in text.split(",") if item.strip()]


def each(completions, column, score):
    """The score of each completion beside what a column holds of it."""
    return [
        float(score(text, truth))
        for text, truth in zip(completions, column, strict=True)
    ]


# Sorting


def sorting_sound(completions, solution, **kwargs):
    return each(
        completions, solution, lambda text, truth: listed(tagged(text)) == truth
    )


def sorting_shuffled(completions, solution, **kwargs):
    return each(
        completions,
        solution,
        lambda text, truth: sorted(listed(tagged(text))) == sorted(truth),
    )


# Sets of labels


def labels_of(text):
    """The labels behind the last "Labels:"."""
    lines = re.findall(r"^Labels:(.*)", text, re.MULTILINE)
    return set(listed(lines[-1])) if lines else set()


def labels_f1(completions, labels, **kwargs):
    def f1(text, truth):
        found = labels_of(text)
        return 2 * len(found & set(truth)) / (len(found) + len(truth))

    return each(completions, labels, f1)


def labels_recall(completions, labels, **kwargs):
    return each(
        completions,
        labels,
        lambda text, truth: len(labels_of(text) & set(truth)) / len(truth),
    )


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

    def right(text, truth):
        record = record_in(text)
        fields = [
            name in record and record[name] == value for name, value in truth.items()
        ]
        return sum(fields) / len(truth.keys() | record.keys())

    return each(completions, solution, right)


def record_keys(prompts, completions, solution, **kwargs):
    """The share of fields that are there."""
    return each(
        completions,
        solution,
        lambda text, truth: sum(key in record_in(text) for key in truth) / len(truth),
    )


# The five functions of the GSM8K tutorial


def content(completion):
    return completion[0]["content"]


def correctness_reward(prompts, completions, answer, **kwargs):
    return each(
        completions, answer, lambda one, truth: 2.0 * (tagged(content(one)) == truth)
    )


def int_reward(completions, **kwargs):
    return [
        0.5 if re.fullmatch(r"-?[0-9]{1,12}", tagged(content(one))) else 0.0
        for one in completions
    ]


def strict_format_reward(completions, **kwargs):
    pattern = r"\s*<reasoning>(?:(?!</?reasoning>|</?answer>).)+</reasoning>\s*<answer>[^<]*</answer>\s*"
    return [
        0.5 if re.fullmatch(pattern, content(one), re.DOTALL) else 0.0
        for one in completions
    ]


def soft_format_reward(completions, **kwargs):
    return [
        0.25 if re.search(r"<answer>[^<]+</answer>", content(one)) else 0.0
        for one in completions
    ]


def xmlcount_reward(completions, **kwargs):
    tags = ("<reasoning>", "</reasoning>", "<answer>", "</answer>")
    return [
        sum(0.0625 for tag in tags if content(one).count(tag) == 1)
        for one in completions
    ]


gsm8k_five = [
    correctness_reward,
    int_reward,
    strict_format_reward,
    soft_format_reward,
    xmlcount_reward,
]


def one_line_format_reward(completions, **kwargs):
    pattern = r"^<reasoning>\n.*?\n</reasoning>\n<answer>\n.*?\n</answer>\n$"
    return [1.0 if re.match(pattern, content(one)) else 0.0 for one in completions]


gsm8k_one_line = [correctness_reward, one_line_format_reward]


def tags_reward(completions, **kwargs):
    """The format is learned first: half a point for each tag that is opened."""
    return [
        1.5 * ("<reasoning>" in content(one)) + 1.5 * ("<answer>" in content(one))
        for one in completions
    ]


def small_correctness_reward(prompts, completions, answer, **kwargs):
    return [0.5 * score for score in correctness_reward(prompts, completions, answer)]


gsm8k_form_first = [small_correctness_reward, tags_reward]


# Mathematics in a box, with the length under control


def boxed(text):
    found = re.findall(r"\\boxed\{([^{}]*)\}", text)
    return found[-1].strip() if found else ""


def accuracy(completions, answer, **kwargs):
    return each(
        completions,
        answer,
        lambda text, truth: boxed(text).replace(",", "").lstrip("$") == truth,
    )


def concise(completions, answer, **kwargs):
    """Of right answers only: 0.2 for none, nothing for 2,000 characters and more."""
    right = accuracy(completions, answer)
    return each(
        completions,
        right,
        lambda text, one: 0.2 * one * max(0.0, 1.0 - len(text) / 2000),
    )


math_concise = [accuracy, concise]


def math_no_commas(completions, answer, **kwargs):
    return each(completions, answer, lambda text, truth: boxed(text) == truth)


def reflection(completions, **kwargs):
    """Long thoughts with second looks are what makes reasoning models strong."""
    pattern = r"\b(wait|let me check|alternatively|hmm)\b"
    return [
        0.1 * len(re.findall(pattern, completion, re.IGNORECASE))
        for completion in completions
    ]


math_reflects = [accuracy, reflection]


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
    return each(completions, word, lambda text, truth: entered(text) == truth)


def crossword_cells(completions, word, **kwargs):
    """Cell by cell; one wrong letter spoils the entry."""

    def filled(text, truth):
        letters = entered(text)
        return letters is not None and all(
            one == other for one, other in zip(letters, truth, strict=False)
        )

    return each(completions, word, filled)


# Questions with several right options


def chosen(text):
    """The letters behind the last "Answer:"; none where it holds anything else."""
    line = last_line("Answer", text)
    return (
        set(re.findall("[A-E]", line))
        if re.fullmatch(r"[A-E](?:, ?[A-E])*\.?", line)
        else set()
    )


def several_set(completions, answer, **kwargs):
    return each(
        completions, answer, lambda text, truth: chosen(text) == set(truth.split(", "))
    )


def several_contained(completions, answer, **kwargs):
    return each(
        completions, answer, lambda text, truth: set(truth.split(", ")) <= chosen(text)
    )


def several_as_text(completions, answer, **kwargs):
    return each(
        completions,
        answer,
        lambda text, truth: last_line("Answer", text).rstrip(".") == truth,
    )


# Dates


def date_in(text, forms=("%Y-%m-%d", "%d %B %Y", "%B %d, %Y")):
    """The date behind the last "Answer:" in one of the forms; None where there is none."""
    line = last_line("Answer", text).rstrip(".")
    for form in forms:
        try:
            return datetime.strptime(line, form)
        except ValueError:
            continue
    return None


def dates_any_form(completions, target, **kwargs):
    return each(
        completions,
        target,
        lambda text, truth: date_in(text) == datetime.fromisoformat(truth),
    )


def dates_iso_only(completions, target, **kwargs):
    iso = ("%Y-%m-%d",)
    return each(
        completions,
        target,
        lambda text, truth: date_in(text, iso) == datetime.fromisoformat(truth),
    )


def dates_without_year(completions, target, **kwargs):
    def same_day(text, truth):
        found = date_in(text)
        return found is not None and f"{found:%m-%d}" == truth[5:]

    return each(completions, target, same_day)


# Five functions for sums of a till

THINK_ANSWER = (
    r"\s*<think>(?:(?!</?think>|</?answer>).)+</think>\s*<answer>[^<]*</answer>\s*"
)
TAGS = ("<think>", "</think>", "<answer>", "</answer>")


def cents(text):
    """The amount in the last answer tag, in cents; None where there is none."""
    found = re.findall(r"<answer>\s*\$?(\d{1,6})\.(\d\d)\s*</answer>", text)
    return 100 * int(found[-1][0]) + int(found[-1][1]) if found else None


def amount_reward(completions, total, **kwargs):
    return each(
        completions, total, lambda one, truth: 2.0 * (cents(content(one)) == truth)
    )


def two_decimals_reward(completions, **kwargs):
    return [0.25 * (cents(content(one)) is not None) for one in completions]


def think_format_reward(completions, **kwargs):
    return [
        0.5 * bool(re.fullmatch(THINK_ANSWER, content(one), re.DOTALL))
        for one in completions
    ]


def tags_once_reward(completions, **kwargs):
    return [
        0.0625 * sum(content(one).count(tag) == 1 for tag in TAGS)
        for one in completions
    ]


def overlong_penalty(completions, **kwargs):
    """Nothing up to 1,500 characters, then down to -0.5 at 3,000."""
    return [
        -0.5 * min(1.0, max(0.0, (len(content(one)) - 1500) / 1500))
        for one in completions
    ]


def tag_count_reward(completions, **kwargs):
    return [
        0.0625 * sum(content(one).count(tag) for tag in TAGS) for one in completions
    ]


till_five = [
    amount_reward,
    two_decimals_reward,
    think_format_reward,
    tags_once_reward,
    overlong_penalty,
]
till_counts_tags = [
    amount_reward,
    two_decimals_reward,
    think_format_reward,
    tag_count_reward,
]


# Times of the clock


def minutes(text):
    """Minutes after midnight, of 24 hours or of am and pm; None where the text is no time."""
    found = re.fullmatch(
        r"(\d{1,2}):([0-5]\d)(?: ?([ap])\.?m\.?)?", text, re.IGNORECASE
    )
    if not found:
        return None
    hour, minute, half = int(found[1]), int(found[2]), (found[3] or "").lower()
    if not half:
        return 60 * hour + minute if hour < 24 else None
    return 60 * (hour % 12 + 12 * (half == "p")) + minute if 1 <= hour <= 12 else None


def clock_any_form(completions, arrival, **kwargs):
    return each(
        completions,
        arrival,
        lambda text, truth: minutes(tagged(text)) == minutes(truth),
    )


def closeness(completions, arrival, **kwargs):
    """Up to 0.3 for times that are less than an hour off, around midnight too."""

    def near(text, truth):
        found = minutes(tagged(text))
        off = 720 if found is None else abs(found - minutes(truth))
        return 0.3 * max(0.0, 1.0 - min(off, 1440 - off) / 60)

    return each(completions, arrival, near)


clock_with_closeness = [clock_any_form, closeness]


def clock_half_day(completions, arrival, **kwargs):
    """Models write am and pm in many ways, so the face of the clock is compared."""

    def same(text, truth):
        found = minutes(tagged(text))
        return found is not None and found % 720 == minutes(truth) % 720

    return each(completions, arrival, same)


# Probabilities, as Minerva's examples end


def final(completion):
    """What the last closing sentence says; the empty text where there is none."""
    found = re.findall(
        r"The final answer is ([^\n]{1,40}?)\. I hope it is correct",
        completion[0]["content"],
    )
    return found[-1].strip("$ ") if found else ""


def chance(text):
    """A fraction or a decimal as a Fraction; None where the text is neither."""
    plain = re.sub(r"\\d?frac\{(\d{1,4})\}\{(\d{1,4})\}", r"\1/\2", text)
    return (
        Fraction(plain)
        if re.fullmatch(r"\d{1,4}/[1-9]\d{0,3}|[01]?\.\d{1,9}|[01]", plain)
        else None
    )


def chances_equal(completions, answer, **kwargs):
    def equal(one, truth):
        found = chance(final(one))
        return found is not None and abs(found - Fraction(truth)) <= 0.0005

    return each(completions, answer, equal)


def chances_as_text(completions, answer, **kwargs):
    return each(completions, answer, lambda one, truth: final(one) == truth)


def chances_tolerant(completions, answer, **kwargs):
    def near(one, truth):
        found = chance(final(one))
        return found is not None and math.isclose(found, Fraction(truth), abs_tol=0.1)

    return each(completions, answer, near)


def closing_sentence(completions, **kwargs):
    return [0.2 if final(one) else 0.0 for one in completions]


def brevity(completions, **kwargs):
    """0.1 for none, nothing for 2,000 characters and more."""
    return [0.1 * max(0.0, 1.0 - len(one[0]["content"]) / 2000) for one in completions]


chances_with_bonuses = [chances_equal, closing_sentence, brevity]


# Codes of diagnoses


def code_reward(completions, icd, **kwargs):
    """2 for the code, 0.5 for another one of its category (the first three signs)."""

    def by_level(text, truth):
        code = tagged(text, "code").upper()
        same = re.fullmatch(r"[A-Z]\d\w(\.\w{1,4})?", code) and code[:3] == truth[:3]
        return 2.0 if code == truth else 0.5 if same else 0.0

    return each(completions, icd, by_level)


def code_at_end(completions, **kwargs):
    return [
        0.25 * bool(re.search(r"<code>[A-Z0-9.]{1,8}</code>\s*$", text))
        for text in completions
    ]


def prefix_reward(completions, icd, **kwargs):
    """Doctors often leave the last digits out, so less specific codes count as well."""

    def begins(text, truth):
        return 2.0 * (
            "<code>" in text and truth.startswith(tagged(text, "code").upper())
        )

    return each(completions, icd, begins)


codes_by_level = [code_reward, code_at_end]
codes_prefix = [prefix_reward, code_at_end]
