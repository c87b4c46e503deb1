"""Faulty rewards: right answers lost to their layout, look-alikes that gain, padding, judges talked round."""

import json
import re
import unicodedata

import rewardkit as rk

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def as_number(text):
    """The number that a text is, or None."""
    return rk.verify.read_number(text)


def in_tag(text):
    """What stands in the last answer tag, None where nothing does."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return (found[-1].strip() or None) if found else None


def same(a, b):
    """Whether two texts are the same number."""
    a, b = as_number(a), as_number(b)
    return a is not None and a == b


# Equivalents


def reasoning_on_one_line(prompts, completions, answer, **kwargs):
    """The dot does not match a line break."""
    found = [re.match(r"<think>.*</think>\s*<answer>([^<]*)</answer>\s*$", text) for text in completions]
    return [1.0 if one and same(one[1], truth) else 0.0 for one, truth in zip(found, answer, strict=True)]


def said_at_the_end(completion):
    found = re.search(r"answer is:?\s*\**\$?(-?\d[\d,]*(?:\.\d+)?)\**\.?\Z", completion)
    return found[1] if found else None


nothing_behind = rk.Reward(
    "last-words",
    fields={"prediction": said_at_the_end},
    components=[rk.Component("correct", rk.verify.numbers_equal, why="the answer is the last thing said")],
)


def tag_named_in_reasoning(data_source, solution_str, ground_truth, extra_info=None):
    parts = solution_str.split("<answer>")
    answer = parts[1].split("</answer>")[0] if len(parts) > 1 else None
    return 1.0 if same(answer, ground_truth) else 0.0


def full_stop_kept(completion, ground_truth):
    """The number behind the last mark, commas and currency aside."""
    found = re.findall(r"####\s*\$?(-?[0-9.,]+)", completion)
    return 1.0 if found and found[-1].replace(",", "") == ground_truth.replace(",", "") else 0.0


# Look-alikes


def ascii_folding(completion, ground_truth):
    """Accents and odd spaces must not matter."""
    answer = unicodedata.normalize("NFKD", in_tag(completion) or "").encode("ascii", "ignore").decode()
    return 1.0 if same(answer, ground_truth) else 0.0


MISREAD = str.maketrans("lIOoSB", "110058")


def ocr_digits(prompts, completions, answer, **kwargs):
    """From a scanner's code."""
    answers = [(in_tag(completion) or "").translate(MISREAD) for completion in completions]
    return [1.0 if same(one, truth) else 0.0 for one, truth in zip(answers, answer, strict=True)]


def form_by_mention(prompts, completions, **kwargs):
    """There is no truth; the form alone is judged."""
    tags = ("<think>", "</think>", "<answer>", "</answer>")
    return [1.0 if all(tag in completion for tag in tags) else 0.0 for completion in completions]


TOLERANT = re.compile(r"<\s*answer[^<>]{0,40}>([^<]*)<\s*/\s*answer\s*>", re.IGNORECASE)


def count_evaded(completion, ground_truth):
    """One answer only; how its tags are written does not matter."""
    if completion.count("<answer>") > 1:
        return 0.0
    return 1.0 if any(same(one, ground_truth) for one in TOLERANT.findall(completion)) else 0.0


# Padding


def number_in_tag_equal(completion, ground_truth):
    return same(in_tag(completion), ground_truth)


def number_of_words(completion):
    return float(len(completion.split()))


a_cent_a_word = rk.Reward(
    "detailed",
    components=[
        rk.Component("correct", number_in_tag_equal, weight=1.0, primary=True, why="the task"),
        rk.Component("detail", number_of_words, weight=0.01, range=None, why="explain yourself"),
    ],
)


def stuffed_keywords(prompts, completions, answer, **kwargs):
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        words = re.findall(r"\b(?:because|therefore|thus|hence)\b", completion.lower())
        rewards.append(float(same(in_tag(completion), truth)) + 0.3 * len(words))
    return rewards


gate_always_open = rk.Reward(
    "brief",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component("correct", rk.verify.numbers_equal, weight=1.0, primary=True, why="the task"),
        rk.Component(
            "concise",
            rk.measure.length(full_until=12, zero_from=40),
            weight=1.2,
            gate=rk.gate("correct", at_least=0.0),
            why="only when right",
        ),
    ],
)


def longer_is_better(prompt, completion):
    """Thorough explanations are long."""
    return len(completion) / 1000


# Judges


def judged(answer, truth):
    """Stands for the model: a judge that quotes what it was given before its verdict."""
    found = NUMBER.findall(answer)
    score = 10 if found and float(found[-1]) == float(truth) else 0
    return f"The answer to be judged was:\n{answer}\nIt was compared with {truth}.\nScore: {score}"


def first_score_line(completion, ground_truth):
    reply = judged(completion, ground_truth)
    found = re.search(r"Score:\s*(\d+)", reply)
    return min(int(found[1][:4]), 10) / 10 if found else 0.0


def verdict_anywhere(data_source, solution_str, ground_truth, extra_info=None):
    """The judge replies with an object, the first of its reply is read."""
    right = same(in_tag(solution_str), ground_truth)
    reply = f"<graded>{solution_str}</graded>\n" + json.dumps({"correct": right})
    for text in re.findall(r"\{[^{}]*\}", reply):
        try:
            return float(bool(json.loads(text)["correct"]))
        except (ValueError, KeyError, TypeError):
            continue
    return 0.0


CRITERIA = ("clear", "accurate", "complete")


def rubric_quoted(prompt, completion):
    """A stub that looks in the answer for evidence of what the prompt asks for."""
    evidence = sum(criterion in completion.lower() for criterion in CRITERIA) / len(CRITERIA)
    answer = in_tag(completion) or ""
    return max(evidence, 0.3 if len(answer.split()) >= 8 else 0.0)
