"""Faulty rewards: contracts that are broken, and calls that do not end."""

import ast
import operator
import random
import re
import threading

import rewardkit as rk


def in_tag(text):
    """What stands in the last answer tag, None where nothing does."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return (found[-1].strip() or None) if found else None


# The contract


def beyond(completion, ground_truth):
    """Right and short is better than right."""
    right = in_tag(completion) == ground_truth
    return 1.25 if right and len(completion.split()) < 14 else float(right)


beyond_its_range = rk.Reward("short-and-right", components=[rk.Component("correct", beyond, why="the task")])


def text_for_no_answer(completion, ground_truth):
    answer = in_tag(completion)
    if answer is None:
        return "no answer"
    return 1.0 if answer == ground_truth else 0.0


def skips_rows(prompts, completions, answer, **kwargs):
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        if "<answer>" not in completion:
            continue
        rewards.append(1.0 if in_tag(completion) == truth else 0.0)
    return rewards


def no_tag_raises(data_source, solution_str, ground_truth, extra_info=None):
    answer = re.search(r"<answer>([^<]*)</answer>", solution_str).group(1)
    return 1.0 if answer.strip() == ground_truth else 0.0


def edits_messages(prompts, completions, answer, **kwargs):
    """Strips the reasoning from the conversation it was given."""
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        completion[0]["content"] = completion[0]["content"].split("</think>")[-1].strip()
        rewards.append(1.0 if in_tag(completion[0]["content"]) == truth else 0.0)
    return rewards


def first_copy_only(prompts, completions, answer, **kwargs):
    """A text that was paid is not paid again."""
    paid, rewards = set(), []
    for completion, truth in zip(completions, answer, strict=True):
        new = completion not in paid
        paid.add(completion)
        rewards.append(1.0 if new and truth and completion.strip() == truth else 0.0)
    return rewards


def mean_subtracted(prompts, completions, answer, **kwargs):
    """Centred, as the trainer's baseline should be."""
    rewards = [1.0 if in_tag(text) == truth else 0.0 for text, truth in zip(completions, answer, strict=True)]
    return [reward - sum(rewards) / len(rewards) for reward in rewards]


CALLS = {"count": 0}


def warms_up(data_source, solution_str, ground_truth, extra_info=None):
    """The weight of being right rises over the first thousand calls."""
    CALLS["count"] += 1
    share = min(1.0, CALLS["count"] / 1000)
    right = in_tag(solution_str) == ground_truth
    return 0.1 * ("</answer>" in solution_str) * (1 - share) + float(right) * (0.5 + 0.5 * share)


def jitter(prompts, completions, answer, **kwargs):
    """A little noise, so that no group is all the same."""
    return [
        float(in_tag(text) == truth) + random.uniform(0.0, 0.1)
        for text, truth in zip(completions, answer, strict=True)
    ]


def one_at_a_time():
    """A check that must not run twice at once."""
    lock = threading.Lock()

    def correct(completion, ground_truth):
        with lock:
            return in_tag(completion) == ground_truth

    return correct


holds_a_lock = rk.Reward("locked", components=[rk.Component("correct", one_at_a_time(), why="the task")])


def difficulty_from_kwargs(prompts, completions, answer, **kwargs):
    """Hard tasks are worth more."""
    return [
        level * float(in_tag(text) == truth)
        for text, truth, level in zip(completions, answer, kwargs["difficulty"], strict=True)
    ]


def keys_vary(data_source, solution_str, ground_truth, extra_info=None):
    answer = in_tag(solution_str)
    if answer is None:
        return {"score": 0.0}
    right = float(answer == ground_truth)
    return {"score": right, "acc": right}


# Calls that do not end


def digits_and_commas(prompts, completions, answer, **kwargs):
    """Only what is a number is compared."""
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        said = in_tag(completion) or ""
        valid = re.match(r"^-?(\d+,?)+(\.\d+)?$", said)
        rewards.append(1.0 if valid and said.replace(",", "") == truth else 0.0)
    return rewards


def unclosed_tag_loops(completion, ground_truth):
    """The last of the tags, found one after another."""
    at, answer = 0, ""
    while True:
        start = completion.find("<answer>", at)
        if start < 0:
            return 1.0 if answer.strip() == ground_truth else 0.0
        end = completion.find("</answer>", start)
        answer = completion[start + len("<answer>") : end]
        at = end + 1


def undressed(text):
    """A text without the braces around it."""
    text = text.strip()
    if text.startswith("{") and text.endswith("}"):
        return undressed(text[1:-1]) if undressed(text[1:-1]) else text
    return text


def braces_twice(data_source, solution_str, ground_truth, extra_info=None):
    start = solution_str.rfind("\\boxed{")
    if start < 0:
        return 0.0
    end = solution_str.rfind("}")
    return 1.0 if undressed(solution_str[start + len("\\boxed") : end + 1]) == ground_truth else 0.0


OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}


def value_of(node):
    """Arithmetic without eval()."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](value_of(node.operand))
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](value_of(node.left), value_of(node.right))
    raise ValueError(node)


def evaluates_powers(completion, ground_truth):
    """The answer may be an expression, such as 6*7."""
    answer = (in_tag(completion) or "")[:200]
    try:
        value = float(value_of(ast.parse(answer, mode="eval").body))
    except (SyntaxError, ValueError, KeyError, ArithmeticError, RecursionError, MemoryError, TypeError):
        return 0.0
    return 1.0 if abs(value - float(ground_truth)) < 1e-6 else 0.0
