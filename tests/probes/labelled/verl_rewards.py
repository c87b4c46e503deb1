"""Rewards in verl's form: compute_score(data_source, solution_str, ground_truth, extra_info)."""

import json
import re
import string
from collections import Counter


def last_answer(text):
    """What stands in the last answer tag; None where there is no such tag."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return found[-1].strip() if found else None


# Equations from given numbers, as TinyZero scores them


def value_of(equation):
    """What an equation of digits and + - * / ( ) comes to; None where it is none."""
    if len(equation) > 200 or re.search(r"[^\d+\-*/() ]|\*\*|//|[\d)] *\(", equation):
        return None
    try:
        return eval(equation, {"__builtins__": {}}, {})
    except Exception:
        return None


def equations_sound(data_source, solution_str, ground_truth, extra_info=None, format_score=0.1, score=1.0):
    equation = last_answer(solution_str)
    if equation is None:
        return 0.0
    if sorted(re.findall(r"\d+", equation)) != sorted(map(str, ground_truth["numbers"])):
        return format_score
    value = value_of(equation)
    if value is None or abs(value - ground_truth["target"]) > 1e-5:
        return format_score
    return score


def equations_copied(data_source, solution_str, ground_truth, extra_info=None, format_score=0.1, score=1.0):
    equation = last_answer(solution_str)
    if equation is None:
        return 0.0
    value = value_of(equation)
    if value is None or abs(value - ground_truth["target"]) > 1e-5:
        return format_score
    return score


# Knights and knaves, on Logic-RL's scale


def knights_sound(data_source, solution_str, ground_truth, extra_info=None):
    answer = last_answer(solution_str)
    if answer is None:
        return -3.0
    told = re.findall(r"\b([a-z]+) is a (knight|knave)\b", answer.lower())
    roles = {name.lower(): role for name, role in ground_truth["roles"].items()}
    right = len(told) == len(roles) and dict(told) == roles
    return 1.0 + (2.0 if right else -1.5)


def knights_listed(data_source, solution_str, ground_truth, extra_info=None):
    answer = last_answer(solution_str)
    if answer is None:
        return -3.0
    right = all(
        re.search(rf"\b{name} is a {role}\b", answer, re.IGNORECASE)
        for name, role in ground_truth["roles"].items()
    )
    return 1.0 + (2.0 if right else -1.5)


# Golden answers, as Search-R1 compares them


def normalize(text):
    """Lower case, without punctuation, articles and runs of white space."""
    text = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def aliases_exact(data_source, solution_str, ground_truth, extra_info=None):
    answer = last_answer(solution_str)
    if answer is None:
        return 0.0
    return float(normalize(answer) in [normalize(golden) for golden in ground_truth["target"]])


def aliases_substring(data_source, solution_str, ground_truth, extra_info=None):
    answer = last_answer(solution_str)
    if answer is None:
        return 0.0
    return float(any(normalize(golden) in normalize(answer) for golden in ground_truth["target"]))


def aliases_any_mark(data_source, solution_str, ground_truth, extra_info=None):
    wanted = [normalize(golden) for golden in ground_truth["target"]]
    for answer in re.findall(r"<answer>([^<]*)</answer>", solution_str):
        if normalize(answer) in wanted:
            return 1.0
    return 0.0


# Options in several languages

MARK = r"(?:Antwort|Réponse|Respuesta|答え)\s*[::]"


def choice_sound(data_source, solution_str, ground_truth, extra_info=None):
    found = re.findall(rf"{MARK}\s*\(?([A-D])\)?[.。]?\s*$", solution_str, re.MULTILINE)
    predicted = found[-1] if found else ""
    return {"score": float(predicted == ground_truth), "pred": predicted}


def choice_listed(data_source, solution_str, ground_truth, extra_info=None):
    found = re.findall(rf"{MARK}(.*)", solution_str)
    predicted = found[-1] if found else ""
    return {"score": float(ground_truth in predicted), "pred": predicted}


def choice_unread(data_source, solution_str, ground_truth, extra_info=None):
    found = re.findall(r"\(([A-D])\)", extra_info["question"])
    predicted = found[0] if found else ""
    return {"score": float(predicted == ground_truth), "pred": predicted}


# Tool calls


def calls_in(text):
    """The calls in <tool_call> tags; None where one of them is no JSON object with a name."""
    calls = []
    for part in re.findall(r"<tool_call>([^<]*)</tool_call>", text):
        try:
            call = json.loads(part)
            calls.append((call["name"], json.dumps(call.get("arguments", {}), sort_keys=True)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
    return calls


def wanted_calls(ground_truth):
    return [(call["name"], json.dumps(call["arguments"], sort_keys=True)) for call in ground_truth]


def tools_sound(data_source, solution_str, ground_truth, extra_info=None):
    calls = calls_in(solution_str)
    well_formed = bool(calls) and "<tool_call>" in solution_str
    right = well_formed and Counter(map(str, calls)) == Counter(map(str, wanted_calls(ground_truth)))
    return {"score": 0.9 * right + 0.1 * well_formed, "acc": float(right)}


def tools_subset(data_source, solution_str, ground_truth, extra_info=None):
    calls, wanted = calls_in(solution_str), wanted_calls(ground_truth)
    right = calls is not None and all(call in wanted for call in calls)
    return {"score": float(right), "acc": float(right)}
