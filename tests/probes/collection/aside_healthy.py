"""Healthy rewards that are kept aside while the probes are developed."""

import json
import math
import re
from collections import Counter
from functools import partial

from rapidfuzz import fuzz

import rewardkit as rk


def in_tag(text):
    """What stands in the last answer tag, None where nothing does."""
    start = text.rfind("<answer>")
    end = text.find("</answer>", start)
    return (text[start + len("<answer>") : end].strip() or None) if 0 <= start < end else None


def number_of(text):
    """The finite number that a text is, or None."""
    try:
        number = float((text or "").replace(",", "").replace("$", ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def right_number(text, truth):
    """Whether a text is the number of the truth."""
    given, expected = number_of(text), number_of(truth)
    return given is not None and expected is not None and math.isclose(given, expected, rel_tol=1e-9)


def token_f1(completion, ground_truth):
    """The harmonic mean of precision and recall of words, each as often as it occurs."""
    given, expected = (Counter(re.findall(r"\w+", text.lower())) for text in (completion, ground_truth))
    common = (given & expected).total()
    return 2 * common / (given.total() + expected.total()) if common else 0.0


steps_of_nearness = rk.Reward(
    "stepped",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component(
            "near",
            partial(rk.verify.closeness, steps=((0, 1), (0.05, 0.4), (0.2, 0.2))),
            expects_partial=True,
            why="partial credit: all for the number, less within 5 and within 20 percent",
        )
    ],
)


def cosine_when_right(prompts, completions, answer, **kwargs):
    """From 1 down to a half over 200 words, for right answers only."""
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        share = min(1.0, len(completion.split()) / 200)
        right = right_number(in_tag(completion), truth)
        rewards.append(0.75 + 0.25 * math.cos(math.pi * share) if right else 0.0)
    return rewards


def shortest_of_the_right(completion, correct):
    """Among the siblings that are right, those that are shortest."""
    sizes = [len(text.split()) for text, right in zip(completion, correct, strict=True) if right]
    return [
        float(bool(right) and len(text.split()) == min(sizes))
        for text, right in zip(completion, correct, strict=True)
    ]


shortest_right_sibling = rk.Reward(
    "relative",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component("correct", rk.verify.numbers_equal, weight=1.0, primary=True, why="the task"),
        rk.Component(
            "shortest", shortest_of_the_right, weight=0.2, group=True, why="the shortest right one of a group"
        ),
    ],
)


def honest(data_source, solution_str, ground_truth, extra_info=None):
    """Wrong costs, right earns, and to say that one does not know does neither."""
    answer = in_tag(solution_str)
    if answer is not None and answer.lower().rstrip(".") in ("i don't know", "unknown"):
        return 0.0
    return 1.0 if right_number(answer, ground_truth) else -1.0


marked = rk.Reward(
    "marked",
    fields={"prediction": rk.extract.gsm8k()},
    components=[rk.Component("correct", rk.verify.numbers_equal, why="the number behind the mark")],
)

lettered = rk.Reward(
    "lettered",
    fields={"prediction": rk.extract.choice("ABCD")},
    components=[rk.Component("correct", rk.verify.choice_equal, why="the letter that is announced")],
)

routed = rk.Route("data_source", {"gsm8k": marked, "mmlu": lettered}, name="by-source")


class NumberBehindMark:
    """The number on the last line, behind a mark."""

    def __init__(self, mark):
        self.mark = mark
        self.__name__ = "number_behind_mark"

    def __call__(self, prompts, completions, answer, **kwargs):
        lines = [text.rstrip().rpartition("\n")[2] for text in completions]
        return [
            float(line.startswith(self.mark) and right_number(line.removeprefix(self.mark).strip(), truth))
            for line, truth in zip(lines, answer, strict=True)
        ]


number_behind_mark = NumberBehindMark("####")


def names_the_unit(prompt, completion):
    """Whether what is counted is named in the completion as in the question."""
    found = re.search(r"How many (\w+)", prompt)
    return found is not None and re.search(rf"\b{found[1]}\b", completion) is not None


thing_named = rk.Reward(
    "unit-named",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component("correct", rk.verify.numbers_equal, weight=1.0, primary=True, why="the task"),
        rk.Component(
            "unit",
            names_the_unit,
            weight=0.2,
            gate=rk.gate("correct", at_least=1.0),
            why="the word that must occur, only when right",
        ),
    ],
)

same_items = rk.Reward(
    "items",
    fields={"prediction": rk.extract.tag("answer")},
    components=[rk.Component("correct", rk.verify.sets_equal, why="these items and no others, in any order")],
)


def first_letter(prompts, completions, answer, **kwargs):
    """The letter that the tag begins with, alone or before its option; not where it names a second one."""
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        said = in_tag(completion) or ""
        found = re.match(r"\(?([A-D])\b", said)
        alone = set(re.findall(r"\b[A-D]\b", said)) == {truth}
        rewards.append(float(found is not None and found[1] == truth and alone))
    return rewards


def fuzzy_similarity(data_source, solution_str, ground_truth, extra_info=None):
    """Similarity of whole texts, squared, so that what has little in common earns next to nothing."""
    said = solution_str[:4000].lower().strip()
    return (fuzz.ratio(said, ground_truth.lower()) / 100) ** 2 if said else 0.0


KEYS = {"vendor", "number", "total", "paid", "item"}


def has_all_keys(prediction):
    """Whether the object has the keys that were asked for, and no others."""
    try:
        value = json.loads(prediction or "")
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and set(value) == KEYS


object_and_form = rk.Reward(
    "object",
    fields={"prediction": rk.extract.json_value()},
    components=[
        rk.Component("correct", rk.verify.json_equal, weight=1.0, primary=True, why="the task"),
        rk.Component(
            "keys",
            has_all_keys,
            weight=0.1,
            why="all keys are there; small, as it says nothing on being right",
        ),
    ],
)


def any_of_the_names(completion, ground_truth):
    """The truth is a list of names that are all right."""
    answer = (in_tag(completion) or "").casefold().strip(" .")
    return answer in [name.casefold() for name in ground_truth]
