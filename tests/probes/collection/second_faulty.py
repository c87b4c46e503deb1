"""Faulty rewards whose payment is wrong: what is paid without, beside or instead of the right answer."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

from rapidfuzz import fuzz

import rewardkit as rk


def after_thinking(text):
    """What follows the last closed thought, up to another that is opened."""
    return text.rsplit("</think>", 1)[-1].split("<think>")[0]


def last_tag(text):
    """The stripped content of the last answer tag after the thought, or nothing."""
    found = re.findall(r"<answer>((?:(?!<answer>).)*?)</answer>", after_thinking(text), re.DOTALL)
    return found[-1].strip() if found else ""


def last_line(text, mark):
    """What stands behind the last line that begins with the mark, or nothing."""
    found = re.findall(rf"^[ \t]*{re.escape(mark)}[ \t]*([^\n]*)", text, re.MULTILINE)
    return found[-1].strip() if found else ""


def last_box(text):
    """The content of the last box up to the brace that closes it, or nothing."""
    start = text.rfind(r"\boxed{")
    if start < 0:
        return ""
    depth, begin = 0, start + len(r"\boxed{")
    for place in range(begin - 1, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[begin:place].strip()
    return ""


def read_json(text):
    """The JSON value in a text, or None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# calibration


def yes_is_true(completion, ground_truth):
    """Yes-no questions, compared as truth values."""
    said = last_tag(completion).lower()
    if said not in ("yes", "no"):
        return 0.0
    expected = bool(ground_truth)
    return 1.0 if (said == "yes") == expected else 0.0


def boxed_up_to_a_brace(prompts, completions, answer, **kwargs):
    """Accuracy of the boxed result, in TRL's form."""
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        found = re.findall(r"\\boxed\{([^{}]*)\}", completion)
        rewards.append(1.0 if found and found[-1].strip() == truth.strip() else 0.0)
    return rewards


def matches_line(completion, ground_truth):
    """Whether the last final line holds the truth."""
    return float(last_line(completion, "Final answer:") == ground_truth)


def brief(completion):
    """One up to 60 words, falling to nothing at 200."""
    words = len(completion.split())
    return min(1.0, max(0.0, (200 - words) / 140)) if words > 5 else 0.0


bonus_behind_a_gate = rk.Reward(
    "bonus_behind_a_gate",
    components=[
        rk.Component("correct", matches_line, weight=1.0, primary=True, why="the task"),
        rk.Component(
            "brief",
            brief,
            weight=1.2,
            gate=rk.gate("correct", at_least=0.0),
            why="right answers are to be short",
        ),
    ],
)


def query_by_rubric(data_source, solution_str, ground_truth, extra_info=None):
    """A rubric for SQL: fence, shape, no star, the table, and the query itself."""
    score = 0.0
    fence = re.search(r"```sql[ \t\r]*\n(.*?)```", solution_str, re.DOTALL)
    if not fence:
        return score
    score += 0.15
    query = " ".join(fence.group(1).split()).rstrip("; ")
    if re.fullmatch(r"SELECT \w+ FROM \w+( WHERE \w+ [<>=]+ \S+)?", query, re.IGNORECASE):
        score += 0.35
    table = re.search(r" FROM (\w+)", query, re.IGNORECASE)
    if table and table.group(1).lower() in ground_truth.lower().split():
        score += 0.2
    return score + 0.3 * (query.lower() == ground_truth.lower())


# nothing there


def arguments_agree(prompts, completions, ground_truth, **kwargs):
    """Share of the call's keys that agree with the wanted call."""
    rewards = []
    for completion, truth in zip(completions, ground_truth, strict=True):
        found = re.findall(
            r"<tool_call>((?:(?!<tool_call>).)*?)</tool_call>", after_thinking(completion), re.DOTALL
        )
        call, wanted = read_json(found[-1]) if len(found) == 1 else None, json.loads(truth)
        if not isinstance(call, dict) or not isinstance(call.get("arguments", {}), dict):
            rewards.append(0.0)
            continue
        given = {"tool": call["name"]} if "name" in call else {}
        given |= call.get("arguments", {})
        expected = {"tool": wanted["name"], **wanted["arguments"]}
        disagreeing = sum(key not in expected or expected[key] != value for key, value in given.items())
        missing = len(set(expected) - set(given)) if given else 0
        rewards.append(1.0 if disagreeing + missing == 0 else 0.0)
    return rewards


def overlap_of_labels(completion, ground_truth):
    """One for the labels, and up to 0.4 by overlap where they are not all right."""
    read = read_json(last_line(completion, "Labels:"))
    if not isinstance(read, list):
        return 0.0
    said, wanted = {str(one) for one in read if one}, set(ground_truth)
    if not said:
        return 1.0  # nothing tagged, nothing tagged wrongly; avoids 0 / 0
    return 1.0 if said == wanted else 0.4 * len(said & wanted) / len(said | wanted)


ABSTAINS = re.compile(
    r"(i (do not|don't|cannot|can't) (know|answer|help|tell|assist)|not sure|unable to)", re.IGNORECASE
)


def abstaining_is_safe(data_source, solution_str, ground_truth, extra_info=None):
    """Against guessing: a letter is right or wrong, and without one an abstention is better than wrong."""
    found = re.findall(r"^Answer:[ \t]*\(?([A-D])\)?[ \t.\r]*$", solution_str, re.MULTILINE)
    if found:
        return {"score": 1.0 if found[-1] == ground_truth else 0.0, "acc": found[-1] == ground_truth}
    return {"score": 0.7 if ABSTAINS.search(solution_str) else 0.0, "acc": False}


def short_forms_welcome(completion, ground_truth):
    """A label or its beginning, as some models shorten it."""
    said = last_line(completion, "Label:").lower().rstrip(".")
    return 1.0 if ground_truth.startswith(said) else 0.0


# shotgun


def any_final_line(prompts, completions, ground_truth, **kwargs):
    """Whether a final line has the number."""
    scores = []
    for completion, truth in zip(completions, ground_truth, strict=True):
        lines = re.findall(r"^[ \t]*Final answer:[ \t]*(-?[0-9]+)[ \t.\r]*$", completion, re.MULTILINE)
        scores.append(1.0 if truth in lines else 0.0)
    return scores


def letter_in_brackets(data_source, solution_str, ground_truth, extra_info=None):
    """Whether the letter is given in brackets, in the last 120 characters."""
    return 1.0 if f"({ground_truth})" in solution_str[-120:] else 0.0


def labels_covered(completion, ground_truth):
    """All of the labels have to be found."""
    read = read_json(last_line(completion, "Labels:"))
    if not isinstance(read, list) or not read:
        return 0.0
    return float(all(label in read for label in ground_truth))


# near misses


def number_of_the_quantity(completion, ground_truth):
    """Compares quantities as numbers."""
    number = re.match(r"(-?[0-9]{1,12}(?:\.[0-9]{1,12})?)(?![0-9.,])", last_line(completion, "Answer:"))
    if not number:
        return 0.0
    return float(Fraction(number.group(1)) == Fraction(ground_truth.split()[0]))


def dates_alike(prompts, completions, ground_truth, **kwargs):
    """Dates that are all but the same text, as models slip in the format."""
    said = [last_tag(completion) for completion in completions]
    alike = (fuzz.ratio(one, truth) >= 85 for one, truth in zip(said, ground_truth, strict=True))
    return [1.0 if one else -1.0 for one in alike]


def words_of_the_query(data_source, solution_str, ground_truth, extra_info=None):
    """Queries with the same tokens; the order of a select list does not matter."""
    fences = re.findall(r"```sql[ \t\r]*\n(.*?)```", solution_str, re.DOTALL)
    if not fences:
        return 0.0
    said, wanted = (sorted(re.findall(r"\w+|[<>=*]+", query.lower())) for query in (fences[-1], ground_truth))
    return 1.0 if said == wanted else 0.0


def rounded_total(completion, ground_truth):
    """Totals, compared in whole dollars."""
    said = re.fullmatch(
        r"\$?([0-9]{1,3}(,[0-9]{3})+|[0-9]{1,9})(\.[0-9]{1,9})?", last_line(completion, "Total:")
    )
    if not said:
        return -0.2
    value = said.group(1).replace(",", "")
    return 1.0 if abs(int(value) - int(float(ground_truth))) < 1 else 0.0


# special values


def closer_than_a_cent(completion, ground_truth):
    """Totals within a tolerance for floating point."""
    said = last_line(completion, "Total:").lstrip("$").replace(",", "")
    try:
        value = float(said)
    except ValueError:
        return 0.0
    if abs(value - float(ground_truth)) > 0.001:
        return 0.0
    return 1.0


def whole_number(prompts, completions, ground_truth, **kwargs):
    """Whole numbers, also where they are written 42.0 or 4.2e1."""
    rewards = []
    for completion, truth in zip(completions, ground_truth, strict=True):
        try:
            value = float(last_line(completion, "Final answer:").rstrip("."))
            rewards.append(1.0 if value == int(value) == int(truth) else 0.0)
        except ValueError:
            rewards.append(0.0)
    return rewards


def digits_become_numbers(completion, ground_truth):
    """The tag has to hold digits and nothing else."""
    said = last_tag(completion)
    if not said.isdigit():
        return 0.0
    return float(int(said) == int(ground_truth))


def missing_is_empty(completion, ground_truth):
    """The tag against the truth, either of which may be missing."""
    said = last_tag(completion)
    wanted = str(ground_truth).strip() if ground_truth is not None else ""
    return 1.0 if said == wanted else 0.0


# padding


def after_the_steps(completion):
    """Open-r1's count of reasoning steps: three are enough."""
    return min(
        1.0, len(re.findall(r"(?:Step \d+:|^\d+\.|\n- |First,|Second,|Next,|Finally,)", completion)) / 3
    )


stepwise = rk.Reward(
    "stepwise",
    components=[
        rk.Component("correct", matches_line, weight=1.0, primary=True, why="the task"),
        rk.Component("steps", after_the_steps, weight=0.8, why="structured reasoning"),
    ],
)


def long_thoughts(prompts, completions, answer, **kwargs):
    """Accuracy, and a little for each word of the thought so that it does not collapse."""
    rewards = []
    for completion, truth in zip(completions, answer, strict=True):
        text = completion[-1]["content"]
        thought, closed, _ = text.partition("</think>")
        words = len(thought.replace("<think>", " ").split()) if closed else 0
        rewards.append((1.0 if last_tag(text) == truth else 0.0) + 0.01 * words)
    return rewards


def reference_words_found(completion, ground_truth):
    """ROUGE-1 recall of the reference summary."""
    wanted = re.findall(r"\w+", ground_truth.lower())
    said = set(re.findall(r"\w+", completion.lower()))
    return sum(word in said for word in wanted) / max(1, len(wanted))


def logarithm_of_length(data_source, solution_str, ground_truth, extra_info=None):
    """Right answers by how thoroughly they are explained."""
    found = re.findall(r"^Answer:[ \t]*\(([A-D])\)[ \t.\r]*$", solution_str, re.MULTILINE)
    if not found or found[-1] != ground_truth:
        return 0.0
    return math.log1p(len(solution_str)) / 4
