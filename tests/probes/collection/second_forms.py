"""Faulty rewards whose form or conduct is wrong: lost layouts, fakes, claims, broken contracts, hangs."""

from __future__ import annotations

import ast
import json
import re
import threading

import rewardkit as rk


def after_thinking(text):
    """What follows the last closed thought, up to another that is opened."""
    return text.rsplit("</think>", 1)[-1].split("<think>")[0]


def last_line(text, mark):
    """What stands behind the last line that begins with the mark, or nothing."""
    found = re.findall(rf"^[ \t]*{re.escape(mark)}[ \t]*([^\n]*)", text, re.MULTILINE)
    return found[-1].strip() if found else ""


def last_tag(text):
    """The stripped content of the last answer tag after the thought, or nothing."""
    rest = after_thinking(text)
    found = re.findall(r"<answer>((?:(?!<answer>).)*?)</answer>", rest, re.DOTALL)
    return found[-1].strip() if found else ""


# equivalents


def tag_on_one_line(completion, ground_truth):
    """The tag's content, forgiving about case, spaces and the year's separator."""
    found = re.findall(r"<answer>((?:(?!<answer>).)*?)</answer>", after_thinking(completion))
    said = found[-1].strip().replace("/", "-") if found else ""
    return 1.0 if said == ground_truth else 0.0


def total_without_commas(prompts, completions, ground_truth, **kwargs):
    """Totals as numbers, with or without a dollar sign, a space, zeros at the end or a full stop."""
    rewards = []
    for completion, truth in zip(completions, ground_truth, strict=True):
        line = last_line(completion, "Total:")
        number = re.fullmatch(r"\$?[ ]?([0-9]{1,12}(?:\.[0-9]{1,12})?)(?:[ ]?(?:USD|dollars))?\.?", line)
        rewards.append(1.0 if number and abs(float(number.group(1)) - float(truth)) < 1e-6 else 0.0)
    return rewards


def letter_in_any_case(data_source, solution_str, ground_truth, extra_info=None):
    """A letter, in brackets or not, with a full stop or not, whatever the case."""
    found = re.findall(
        r"^[ \t]*answer[ \t]*:[ \t]*\(?([a-d])\)?[ \t.]*\r?$", solution_str, re.MULTILINE | re.IGNORECASE
    )
    return 1.0 if found and found[-1] == ground_truth else 0.0


# look-alikes


def first_call_in_the_text(prompts, completions, ground_truth, **kwargs):
    """The called tool, as JSON in tags."""
    rewards = []
    for completion, truth in zip(completions, ground_truth, strict=True):
        call = re.search(r"<tool_call>((?:(?!<tool_call>).)*?)</tool_call>", completion, re.DOTALL)
        try:
            rewards.append(1.0 if call and json.loads(call.group(1)) == json.loads(truth) else 0.0)
        except (ValueError, RecursionError):
            rewards.append(0.0)
    return rewards


def split_at_the_tag(prompts, completions, answer, **kwargs):
    """The text between the tags, taken as the well-known GSM8K script does."""
    texts = [completion[0]["content"] for completion in completions]
    said = [text.split("<answer>")[-1].split("</answer>")[0].strip() for text in texts]
    return [2.0 if one == truth else 0.0 for one, truth in zip(said, answer, strict=True)]


def after_the_last_assistant(data_source, solution_str, ground_truth, extra_info=None):
    """A whole turn of thought and answer, behind the marker of the chat template."""
    for marker in ("<|im_start|>assistant", "Assistant:"):
        if marker in solution_str:
            solution_str = solution_str.split(marker)[-1]
    turn = re.fullmatch(r"\s*<think>(.*?)</think>\s*<answer>(.*?)</answer>\s*", solution_str, re.DOTALL)
    if not turn or "<answer>" in turn.group(1) or "<answer>" in turn.group(2):
        return 0.0
    return 1.0 if turn.group(2).strip() == ground_truth else 0.1


# judge


def remarks_on_itself(completion, ground_truth):
    """Accuracy, and more for a model that checks what it does."""
    right = last_line(completion, "Final answer:") == ground_truth
    checks = re.search(
        r"(double[- ]checked|verified|i am (certain|confident)|proven correct)", completion, re.I
    )
    return 1.0 * right + 0.9 * bool(checks)


def judged_by_overlap(prompt):
    """Stands for a judge model: goes through the prompt and ends in a score of one digit."""
    response = prompt.split("[RESPONSE]")[1].split("[REFERENCE]")[0]
    reference = prompt.split("[REFERENCE]")[1]
    said, wanted = (re.findall(r"\w+", text.lower()) for text in (response, reference))
    common = len(set(said) & set(wanted))
    share = 2 * common / max(1, len(set(said)) + len(set(wanted)))
    return f"The response says: {response.strip()}\nCompared with the reference.\nScore: {round(9 * share)}"


def score_in_the_transcript(completion, ground_truth):
    """A judge compares with the reference; its score is read from what it writes."""
    verdict = judged_by_overlap(f"[RESPONSE]\n{completion}\n[REFERENCE]\n{ground_truth}")
    score = re.search(r"Score:\s*([0-9]{1,2})\b", verdict)
    return min(9, int(score.group(1))) / 9 if score else 0.0


def praised(completion):
    """Stands for a preference model: how well-meant words it likes are."""
    liked = ("excellent", "helpful", "accurate", "comprehensive", "well-structured", "insightful", "correct")
    return min(1.0, sum(word in completion.lower() for word in liked) / 3)


def in_tags(completion):
    """A thought, then an explanation of ten words or more in the tag."""
    return 1.0 if len(last_tag(completion).split()) >= 10 else 0.0


preference = rk.Reward(
    "preference",
    components=[
        rk.Component("explains", in_tags, weight=0.4, why="an explanation in the tag"),
        rk.Component("preferred", praised, weight=0.6, why="what readers like", primary=True),
    ],
)


# contract


def sorted_for_the_judge(prompts, completions, ground_truth, **kwargs):
    """Accuracy, worked through from the shortest to the longest so that batches are evenly filled."""
    rewards = []
    order = sorted(range(len(completions)), key=lambda place: len(completions[place]))
    for start in range(0, len(order), 8):
        for place in order[start : start + 8]:
            said = last_line(completions[place], "Final answer:")
            rewards.append(1.0 if said == ground_truth[place] else 0.0)
    return rewards


def cleaned_in_place(prompts, completions, answer, **kwargs):
    """Accuracy of chat completions, with white space and markdown taken off first."""
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        message = completion[-1]
        message["content"] = message["content"].replace("**", "").strip() + "\n"
        rewards.append(1.0 if last_line(message["content"], "Final answer:") == truth else 0.0)
    return rewards


def shorter_than_the_batch(prompts, completions, ground_truth, **kwargs):
    """Accuracy, and for right answers up to 0.3 by how they compare with the mean length."""
    lengths = [len(completion.split()) for completion in completions]
    mean = sum(lengths) / len(lengths)
    rewards = []
    for completion, truth, length in zip(completions, ground_truth, lengths, strict=True):
        right = last_tag(completion) == truth
        rewards.append(1.0 + max(-0.3, min(0.3, (mean - length) / max(mean, 1.0))) if right else 0.0)
    return rewards


def call_without_a_type_check(completion, ground_truth):
    """One call after the thought; broken JSON is nothing worth."""
    found = re.findall(
        r"<tool_call>((?:(?!<tool_call>).)*?)</tool_call>", after_thinking(completion), re.DOTALL
    )
    if len(found) != 1:
        return 0.0
    try:
        call = json.loads(found[0])
    except (json.JSONDecodeError, RecursionError):
        return 0.0
    wanted = json.loads(ground_truth)
    if call.get("name") != wanted["name"]:
        return 0.0
    return 1.0 if call.get("arguments") == wanted["arguments"] else 0.2


class AboveItsMean:
    """Pays how much better than the mean of what it has seen so far an answer is."""

    def __init__(self):
        """It has seen nothing."""
        self.count, self.total = 0, 0.0

    def __call__(self, completion, ground_truth):
        """The advantage over the running mean."""
        reward = 1.0 if last_line(completion, "Label:") == ground_truth else 0.0
        self.count += 1
        self.total += reward
        return reward - self.total / self.count


above_its_mean = AboveItsMean()


class Counted:
    """Counts its calls for a dashboard, safe for threads."""

    def __init__(self):
        """A lock and a counter."""
        self.lock, self.calls = threading.Lock(), 0

    def __call__(self, completion, ground_truth):
        """One for the date in the tag."""
        with self.lock:
            self.calls += 1
        return 1.0 if last_tag(completion) == ground_truth else 0.0


counted = rk.Reward("counted", components=[rk.Component("date", Counted(), why="the date in the tag")])


# hang


def evaluated(data_source, solution_str, ground_truth, extra_info=None):
    """Countdown: only digits and signs are let through, then Python says what it is."""
    expression = last_tag(solution_str)
    if not re.fullmatch(r"[0-9+\-*/() ]+", expression):
        return 0.0
    try:
        result = eval(expression, {"__builtins__": None}, {})
    except Exception:
        return 0.1
    used = sorted(int(number) for number in re.findall(r"[0-9]{1,6}", expression))
    if "**" in expression or "//" in expression or used != sorted(ground_truth["numbers"]):
        return 0.1
    return 1.0 if abs(result - ground_truth["target"]) < 1e-5 else 0.1


SHAPE = re.compile(r'Labels:\s*\[\s*("(\w+\s*)+",?\s*)*\]\s*$', re.MULTILINE)


def shape_of_the_labels(completion, ground_truth):
    """A line of quoted labels that has its shape, then the labels themselves."""
    shaped = SHAPE.search(completion)
    if not shaped:
        return 0.0
    said = re.findall(r'"([^"]+)"', shaped.group(0))
    return 1.0 if sorted(said) == sorted(ground_truth) else 0.1


def braces_until_they_close(prompts, completions, ground_truth, **kwargs):
    """The last boxed value, with whatever braces are in it."""
    rewards = []
    for completion, truth in zip(completions, ground_truth, strict=True):
        start = completion.rfind("\\boxed{")
        if start < 0:
            rewards.append(0.0)
            continue
        start += len("\\boxed{")
        end = completion.find("}", start)
        while completion[start:end].count("{") != completion[start:end].count("}"):
            end = completion.find("}", end + 1)
        rewards.append(1.0 if completion[start:end].strip() == truth else 0.0)
    return rewards


def compiled_answer(data_source, solution_str, ground_truth, extra_info=None):
    """Code that has the same syntax tree; a trailing comment or another layout does not matter."""
    fence = re.findall(r"```python[ \t\r]*\n(.*?)```", solution_str, re.DOTALL)
    if not fence:
        return 0.0
    return 1.0 if ast.dump(ast.parse(fence[-1])) == ast.dump(ast.parse(ground_truth)) else 0.0
