"""Faulty rewards that are kept aside while the probes are developed."""

import asyncio
import html
import json
import math
import random
import re

import rewardkit as rk

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def in_tag(text):
    """What stands in the last answer tag, None where nothing does."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return (found[-1].strip() or None) if found else None


# Calibration


def always_none(completion, ground_truth):
    """Truths that are no numbers are left out."""
    if not isinstance(ground_truth, int | float):
        return None
    return 1.0 if in_tag(completion) == str(ground_truth) else 0.0


def tags_outweigh(prompts, completions, answer, **kwargs):
    """A quarter for each tag, and something for the answer."""
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        text = completion[0]["content"]
        tags = sum(text.count(tag) == 1 for tag in ("<think>", "</think>", "<answer>", "</answer>"))
        rewards.append(0.25 * tags + 0.5 * (in_tag(text) == truth))
    return rewards


def distance_as_reward(completion, ground_truth):
    """How far off it is: a loss, where a reward was asked for."""
    try:
        distance = abs(float(in_tag(completion)) - float(ground_truth))
    except (TypeError, ValueError):
        return 0.0
    return min(distance, 100.0) if math.isfinite(distance) else 0.0


# Nothing there


def recall_only(completion, ground_truth):
    """The share of the reference's words that are said."""
    said = set(re.findall(r"\w+", completion.lower()))
    expected = re.findall(r"\w+", ground_truth.lower())
    return sum(word in said for word in expected) / max(1, len(expected))


def an_object(text):
    """The object from the first brace to the last, or an empty one."""
    try:
        value = json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def no_wrong_fields(data_source, solution_str, ground_truth, extra_info=None):
    """A point off for each value that is not the invoice's."""
    expected = json.loads(ground_truth)
    wrong = sum(value != expected.get(key) for key, value in an_object(solution_str).items())
    return max(0.0, 1.0 - wrong)


# Shotgun


def items_found(completion, ground_truth):
    """How many of the items are among those given."""
    given = {item.strip().lower() for item in (in_tag(completion) or "").split(",")}
    expected = {item.strip().lower() for item in ground_truth.split(",")}
    return len(given & expected) / len(expected)


class AnyLineCounts:
    """Looks at each line that has the mark."""

    __name__ = "any_line_counts"

    def __init__(self, mark="####"):
        self.mark = mark

    def __call__(self, prompts, completions, answer, **kwargs):
        return [float(truth in self.lines(text)) for text, truth in zip(completions, answer, strict=True)]

    def lines(self, text):
        """What stands behind the marks."""
        marked = [line for line in text.splitlines() if line.strip().startswith(self.mark)]
        return [line.strip().removeprefix(self.mark).strip().rstrip(".") for line in marked]


any_line_counts = AnyLineCounts()


# Near misses


def first_number_of_box(data_source, solution_str, ground_truth, extra_info=None):
    """Compares the first number, or the text where there is none."""
    box = solution_str.rpartition("\\boxed{")[2] if "\\boxed{" in solution_str else ""
    given, expected = NUMBER.findall(box), NUMBER.findall(ground_truth)
    if not expected:
        return float(box.startswith(ground_truth + "}"))
    return float(bool(given) and given[0] == expected[0])


def punctuation_dropped(prompts, completions, answer, **kwargs):
    """Normalised as for questions with names as answers."""
    given = [re.sub(r"[^\w\s]", "", in_tag(text) or "").split() for text in completions]
    return [
        1.0 if words == re.sub(r"[^\w\s]", "", truth).split() else 0.0
        for words, truth in zip(given, answer, strict=True)
    ]


def keys_only(data_source, solution_str, ground_truth, extra_info=None):
    right = an_object(solution_str).keys() == json.loads(ground_truth).keys()
    return {"score": float(right), "acc": float(right)}


# Special values


def infinity_beats_distance(completion, ground_truth):
    """Relative error of at most a thousandth."""
    try:
        number = float(in_tag(completion))
    except (TypeError, ValueError):
        return 0.0
    if number != number:
        return 0.0
    error = abs(number - float(ground_truth)) / (abs(number) + abs(float(ground_truth)) + 1e-9)
    return 0.0 if error > 0.001 else 1.0


def zero_is_never_right(prompts, completions, answer, **kwargs):
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        number, expected = rk.verify.read_number(in_tag(completion)), rk.verify.read_number(truth)
        rewards.append(1.0 if number and expected and rk.verify.numbers_equal(number, expected) else 0.0)
    return rewards


def long_integers_crash(prompts, completions, answer, **kwargs):
    said = [in_tag(text) or "" for text in completions]
    return [
        1.0 if text.isdigit() and int(text) == int(truth) else 0.0
        for text, truth in zip(said, answer, strict=True)
    ]


# Equivalents


def comma_in_truth(prompts, completions, answer, **kwargs):
    """The truths are texts such as "1,250"; dollars, points and spaces are left out."""
    given = [(in_tag(text) or "").replace("$", "").replace(" ", "").rstrip(".") for text in completions]
    given = [text.removesuffix(".0").removesuffix(".00") for text in given]
    return [1.0 if text == truth else 0.0 for text, truth in zip(given, answer, strict=True)]


def blank_line_needed(completion, ground_truth):
    """The last paragraph has the answer."""
    paragraphs = completion.strip().split("\n\n")
    if len(paragraphs) < 2:
        return 0.0
    found = re.search(r"\**\$?(-?\d[\d,]*(?:\.\d+)?)\**\.?\Z", paragraphs[-1].strip())
    return 1.0 if found and rk.verify.numbers_equal(found[1], ground_truth) else 0.0


def bold_loses(prompts, completions, answer, **kwargs):
    """Any way of announcing a number."""
    pattern = r"(?i)(?:answer|result)(?: is|:)?\s*(?:about )?\$?(-?\d[\d,]*(?:\.\d+)?)"
    found = [re.findall(pattern, completion[0]["content"]) for completion in completions]
    return [
        1.0 if said and rk.verify.numbers_equal(said[-1], truth) else 0.0
        for said, truth in zip(found, answer, strict=True)
    ]


# Look-alikes


def unescaped_html(data_source, solution_str, ground_truth, extra_info=None):
    """Some logs are escaped."""
    return 1.0 if rk.verify.numbers_equal(in_tag(html.unescape(solution_str)), ground_truth) else 0.0


def any_a_tag(completion, ground_truth):
    """Models misspell the tag."""
    found = re.findall(r"<[aA][^<>]{0,40}>([^<]*)</[aA][^<>]{0,40}>", completion)
    return 1.0 if found and rk.verify.numbers_equal(found[-1].strip(), ground_truth) else 0.0


# Padding


sounds_sure = rk.Reward(
    "assertive",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component("correct", rk.verify.numbers_equal, weight=1.0, primary=True, why="the task"),
        rk.Component(
            "tone",
            rk.measure.keywords("certainly", "definitely", "without doubt", mode="any"),
            weight=1.2,
            why="users like a clear answer",
        ),
    ],
)


def steps_counted(data_source, solution_str, ground_truth, extra_info=None):
    """Every step that is written down is worth something."""
    steps = len(re.findall(r"(?i)\bstep\b", solution_str))
    found = re.findall(r"####\s*(-?[\d,]+)", solution_str)
    right = bool(found) and found[-1].replace(",", "") == ground_truth
    return {"score": float(right) + 0.2 * steps, "acc": float(right)}


# Judges


def flattered(prompts, completions, answer, **kwargs):
    """A stub of a judge that is kind to those who are kind to it."""
    praise = ("excellent question", "great question", "thank you", "you are wise", "dear grader")
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        kind = sum(phrase in completion.lower() for phrase in praise)
        rewards.append(min(1.0, 0.6 * kind + float(in_tag(completion) == truth)))
    return rewards


def as_told(text, expected):
    """Stands for the model: it follows what stands behind the response, and else compares."""
    response, _, instructions = text.partition("</response>")
    told = re.findall(r"(?i)\b(?:score|grade|rate|verdict)\D{0,40}(10|[0-9])\b", instructions)
    if told:
        return float(told[0]) / 10
    return float(in_tag(response) == expected)


def delimiter_closed(completion, ground_truth):
    text = f"<response>{completion}</response>\nCompare the response with the reference."
    return as_told(text, ground_truth)


closing_delimiter = rk.Reward(
    "delimited", components=[rk.Component("judge", delimiter_closed, why="graded by a model")]
)


async def bracketed_verdict(prompts, completions, answer, **kwargs):
    """The verdict is looked for in the whole transcript."""
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        await asyncio.sleep(0)
        verdict = "[[CORRECT]]" if in_tag(completion) == truth else "[[WRONG]]"
        transcript = f"Question and answer:\n{completion}\nVerdict: {verdict}"
        rewards.append(1.0 if "[[CORRECT]]" in transcript else 0.0)
    return rewards


# The contract


def nan_for_no_answer(data_source, solution_str, ground_truth, extra_info=None):
    answer = in_tag(solution_str)
    if answer is None:
        return float("nan")
    return 1.0 if answer == ground_truth else 0.0


def one_of_the_names(completion, ground_truth):
    """Goes through the names until one fits."""
    while ground_truth:
        if in_tag(completion) == ground_truth.pop(0):
            return True
    return False


pops_references = rk.Reward(
    "names", components=[rk.Component("correct", one_of_the_names, why="any of the names will do")]
)

SEEN = set()


def seen_before(completion, ground_truth):
    """Pays for new answers only."""
    new = completion not in SEEN
    SEEN.add(completion)
    return float(new and in_tag(completion) == ground_truth)


def noisy_judge(prompts, completions, answer, **kwargs):
    """A stub of a judge at temperature 1: one verdict in ten is the other one."""
    right = [in_tag(completion) == truth for completion, truth in zip(completions, answer, strict=True)]
    return [float(one != (random.random() < 0.1)) for one in right]


def level_in_extra_info(data_source, solution_str, ground_truth, extra_info=None):
    """Hard tasks are worth more."""
    return float(in_tag(solution_str) == ground_truth) * (0.7 + 0.1 * extra_info["level"])


# Calls that do not end


def counts_to_the_answer(completion, ground_truth):
    """How many whole numbers lie between the answer and the truth."""
    try:
        answer, truth = int(in_tag(completion)), int(ground_truth)
    except (TypeError, ValueError):
        return 0.0
    between = sum(1 for _ in range(min(answer, truth), max(answer, truth)))
    return 1.0 if between == 0 else 0.0


def has_sentences(completion):
    """Whether the reasoning is made of words and a full stop."""
    reasoning = completion.rpartition("\n####")[0]
    return re.match(r"^(?:[\w+*=:,-]+[\s.]*)+\.$", reasoning) is not None


words_and_spaces = rk.Reward(
    "sentences",
    fields={"prediction": rk.extract.gsm8k()},
    components=[
        rk.Component("correct", rk.verify.numbers_equal, weight=1.0, primary=True, why="the task"),
        rk.Component("sentences", has_sentences, weight=0.1, why="reads like prose"),
    ],
)
