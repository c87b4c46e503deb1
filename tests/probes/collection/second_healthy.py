"""Healthy rewards: strict, graded, negative, shaped, lenient, behind gates; each as its author wants it."""

from __future__ import annotations

import ast
import asyncio
import json
import re
from collections import Counter
from fractions import Fraction

import rewardkit as rk


def after_thinking(text):
    """What follows the last closed thought, up to another that is opened."""
    return text.rsplit("</think>", 1)[-1].split("<think>")[0]


def one_tag(text):
    """The stripped content of the only answer tag after the thought, or nothing."""
    rest = after_thinking(text)
    alone = rest.count("<answer>") == rest.count("</answer>") == 1
    found = re.search(r"<answer>(.*?)</answer>", rest, re.DOTALL) if alone else None
    return found.group(1).strip() if found else ""


def one_call(text):
    """The JSON value in the only call after the thought, or None."""
    rest = after_thinking(text)
    alone = rest.count("<tool_call>") == rest.count("</tool_call>") == 1
    found = re.search(r"<tool_call>(.*?)</tool_call>", rest, re.DOTALL) if alone else None
    return read_json(found.group(1)) if found else None


def one_line(text, mark):
    """What stands behind the mark on the last line of a text that has only one such line, or nothing."""
    lines = [line.strip() for line in text.strip().splitlines()]
    if not lines or not lines[-1].startswith(mark) or text.count(mark) != 1:
        return ""
    return lines[-1][len(mark) :].strip()


def read_json(text):
    """The JSON value in a text, or None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# exact


def exact_last_line(completion, ground_truth):
    """The number as the truth has it, on the last line and nowhere else announced."""
    return 1.0 if one_line(completion, "Final answer:") == ground_truth else 0.0


def signed_letter(data_source, solution_str, ground_truth, extra_info=None):
    """A letter in brackets on the last line: 1 where it is right, -1 where not, and -0.5 without one."""
    letter = re.fullmatch(r"\(([A-D])\)\.?", one_line(solution_str, "Answer:"))
    if not letter:
        return {"score": -0.5, "acc": 0.0}
    right = letter.group(1) == ground_truth
    return {"score": 1.0 if right else -1.0, "acc": float(right)}


def iso_date(prompts, completions, ground_truth, **kwargs):
    """A date in ISO form in the tag; other forms of the same day are not what downstream code reads."""
    return [float(one_tag(text) == day) for text, day in zip(completions, ground_truth, strict=True)]


def verdict_word(completion, ground_truth):
    """0 for a wrong word, -0.5 for anything that is no verdict."""
    said = one_tag(completion).lower().rstrip(".")
    if said not in ("yes", "no"):
        return -0.5
    return 1.0 if said == ground_truth else 0.0


def whole_call(prompts, completions, ground_truth, **kwargs):
    """One call, after the thought, with name and arguments as wanted."""
    rewards = []
    for completion, truth in zip(completions, ground_truth, strict=True):
        call = one_call(completion)
        rewards.append(1.0 if isinstance(call, dict) and call == json.loads(truth) else 0.0)
    return rewards


def judged_where_there_is_a_truth(completion, ground_truth):
    """Nothing is said of prompts without a truth."""
    if not ground_truth:
        return None
    return 1.0 if one_tag(completion) == ground_truth else 0.0


def invoice_as_read(completion, ground_truth):
    """Every field of the invoice, or nothing."""
    fences = re.findall(r"```json[ \t\r]*\n(.*?)```", completion, re.DOTALL)
    read = read_json(fences[0]) if len(fences) == 1 else None
    said, wanted = (json.dumps(one, sort_keys=True) for one in (read, json.loads(ground_truth)))
    return 1.0 if said == wanted else 0.0


# lenient


FRACTION = re.compile(r"(-?)\\[dt]?frac\{([0-9]{1,9})\}\{([0-9]{1,9})\}")
SLASH = re.compile(r"(-?)([0-9]{1,9})/([0-9]{1,9})")
DECIMAL = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?")


def value_of(text):
    """The rational number that LaTeX, a slash or a decimal point writes, or None."""
    if len(text) > 100:
        return None
    text = re.sub(r"\s*([{}/])\s*", r"\1", text.strip(" \t\r\n$.")).removeprefix("+")
    text = re.sub(r"frac([0-9])([0-9])$", r"frac{\1}{\2}", text)
    written = FRACTION.fullmatch(text) or SLASH.fullmatch(text)
    if written:
        sign, above, below = written.groups()
        return Fraction(int(sign + above), int(below)) if int(below) else None
    text = re.sub(r"(?<=[0-9]),(?=[0-9]{3}(?:[^0-9]|$))", "", text)
    return Fraction(text) if DECIMAL.fullmatch(text) else None


def boxed(text):
    """The content of the last box, up to the brace that closes it, or nothing."""
    starts = [found.end() for found in re.finditer(r"\\boxed\s{0,3}\{", text)]
    if not starts:
        return ""
    begin, depth = starts[-1], 1
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[begin:place]
    return ""


def same_value_boxed(prompts, completions, answer, **kwargs):
    """The same number in the last box, however it is written."""
    values = [value_of(boxed(completion)) for completion in completions]
    return [
        float(one is not None and one == value_of(truth)) for one, truth in zip(values, answer, strict=True)
    ]


def same_query(data_source, solution_str, ground_truth, extra_info=None):
    """The same query but for layout, the case of its words and the last semicolon."""
    fences = re.findall(r"```(?:sql|SQL)?[ \t\r]*\n(.*?)```", solution_str, re.DOTALL)
    if len(fences) != 1:
        return 0.0
    said, wanted = (" ".join(query.split()).rstrip("; ").lower() for query in (fences[0], ground_truth))
    return 1.0 if said == wanted else 0.0


def same_syntax(completion, ground_truth):
    """Source with the same syntax tree, so that layout and comments are free."""
    fences = re.findall(r"```(?:python|py)?[ \t\r]*\n(.*?)```", completion, re.DOTALL)
    if len(fences) != 1 or len(fences[0]) > 4000:
        return 0.0
    try:
        said = ast.dump(ast.parse(fences[0].strip()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0.0
    return 1.0 if said == ast.dump(ast.parse(ground_truth.strip())) else 0.0


def normalised(text):
    """SQuAD's normal form: lower case, without articles, punctuation and spare white space."""
    text = re.sub(r"[^\w\s]", "", text.lower())
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


async def exact_match_of_names(completion, ground_truth):
    """Exact match of normalised names, asked of a service elsewhere."""
    await asyncio.sleep(0)
    said = normalised(one_tag(completion))
    return 1.0 if said and said == normalised(ground_truth) else 0.0


# graded


def quantity_right(completion, ground_truth):
    """Number and unit."""
    return float(one_line(completion, "Answer:").rstrip(".").split() == ground_truth.split())


def quantity_without_its_unit(completion, ground_truth):
    """The number, where the unit is another."""
    said, wanted = one_line(completion, "Answer:").rstrip(".").split(), ground_truth.split()
    return float(len(said) == 2 and said[0] == wanted[0] and said[1] != wanted[1])


quantity = rk.Reward(
    "quantity",
    components=[
        rk.Component("right", quantity_right, weight=1.0, primary=True, why="number and unit"),
        rk.Component(
            "number_only",
            quantity_without_its_unit,
            weight=0.3,
            why="the number without its unit is a part of the way",
            expects_partial=True,
        ),
    ],
)


def call_of(completion):
    """The one call after the thought, if it is an object with a name and arguments."""
    call = one_call(completion)
    whole = (
        isinstance(call, dict) and set(call) == {"name", "arguments"} and isinstance(call["arguments"], dict)
    )
    return call if whole else None


def well_formed(call):
    """Whether there is such a call."""
    return call is not None


def agreement(call, ground_truth):
    """All for the call; up to 0.3 for the right tool with some of its arguments."""
    wanted = json.loads(ground_truth)
    if call == wanted:
        return 1.0
    if call["name"] != wanted["name"]:
        return 0.0
    given, expected = call["arguments"], wanted["arguments"]
    agreeing = sum(key in given and given[key] == value for key, value in expected.items())
    return 0.3 * agreeing / max(len(given), len(expected))


graded_call = rk.Reward(
    "graded_call",
    fields={"call": call_of},
    components=[
        rk.Component("well_formed", well_formed, weight=0.1, why="it can be run"),
        rk.Component(
            "agreement",
            agreement,
            weight=0.9,
            gate=rk.gate("well_formed", at_least=1.0),
            why="the tool, and what it is given; a part of the arguments earns a part",
            primary=True,
            expects_partial=True,
        ),
    ],
)


def agreeing_labels(completion, ground_truth):
    """Jaccard overlap of the labels, squared."""
    read = read_json(one_line(completion, "Labels:"))
    if not isinstance(read, list) or not all(isinstance(one, str) for one in read):
        return 0.0
    said, wanted = set(read), set(ground_truth)
    if len(said) < len(read):
        return 0.0
    return (len(said & wanted) / len(said | wanted)) ** 2


label_overlap = rk.Reward(
    "label_overlap",
    components=[
        rk.Component(
            "overlap", agreeing_labels, why="each label that agrees is worth something", expects_partial=True
        )
    ],
)


def cost_of_the_label(completion, ground_truth):
    """Costs of a wrong label: 2 for the opposite, 1 for a neighbour, 2 for none."""
    order = {"entailment": 0, "neutral": 1, "contradiction": 2}
    said = one_line(completion, "Label:").lower().rstrip(".")
    return -float(abs(order[said] - order[ground_truth])) if said in order else -2.0


# shaped


def thinks_and_answers(completion):
    """A thought and one tag, and nothing else."""
    return bool(re.fullmatch(r"\s*<think>[^<>]+</think>\s*<answer>[^<>]+</answer>\s*", completion))


def right_in_tag(completion, ground_truth):
    """The number in the tag."""
    return one_tag(completion) == ground_truth


def spare(completion):
    """One up to 40 words, falling along a line to nothing at 240."""
    return min(1.0, max(0.0, (240 - len(completion.split())) / 200))


def first_among_siblings(right_tag, completion):
    """One for the shortest right answers of a group, where there are wrong or longer ones beside them."""
    lengths = [len(text.split()) for text, right in zip(completion, right_tag, strict=True) if right]
    short = min(lengths, default=0)
    return [
        float(bool(right) and len(text.split()) == short)
        for text, right in zip(completion, right_tag, strict=True)
    ]


spare_words = rk.Reward(
    "spare_words",
    components=[
        rk.Component("form", thinks_and_answers, weight=0.1, why="a small sum for the form"),
        rk.Component("right", right_in_tag, weight=0.7, why="the task", primary=True),
        rk.Component(
            "spare", spare, weight=0.2, gate=rk.gate("right", at_least=1.0), why="fewer words, if right"
        ),
    ],
)

shortest_of_the_group = rk.Reward(
    "shortest_of_the_group",
    components=[
        rk.Component("right_tag", right_in_tag, weight=1.0, why="the task", primary=True),
        rk.Component(
            "shortest", first_among_siblings, weight=0.1, group=True, why="shorter than its siblings"
        ),
    ],
)


def overlong_is_punished(data_source, solution_str, ground_truth, extra_info=None):
    """DAPO: 1 or -1, and from 300 words on up to another -1 along a line, whatever the answer."""
    right = one_line(solution_str, "Answer:").strip("().") == ground_truth
    return (1.0 if right else -1.0) - min(1.0, max(0.0, (len(solution_str.split()) - 300) / 200))


# several functions, several sources


def accuracy(completions, ground_truth, **kwargs):
    """Two for the number on the last line."""
    said = [one_line(completion[-1]["content"], "Final answer:") for completion in completions]
    return [2.0 if one == truth else 0.0 for one, truth in zip(said, ground_truth, strict=True)]


def last_line_form(completions, **kwargs):
    """A tenth for a number on the last line."""
    said = [one_line(completion[-1]["content"], "Final answer:") for completion in completions]
    return [0.1 if re.fullmatch(r"-?[0-9]{1,9}", one) else 0.0 for one in said]


chat_functions = [accuracy, last_line_form]


def form_of_its_source(data_source, solution_str, ground_truth, extra_info=None):
    """Each source is judged by its own form."""
    if data_source == "gsm8k":
        ends = re.findall(r"^####[ \t]*(-?[0-9]+)[ \t\r]*$", solution_str, re.MULTILINE)
        return 1.0 if ends == [ground_truth] and solution_str.count("####") == 1 else 0.0
    letter = re.search(r"The answer is \(([A-D])\)\.?\s*\Z", solution_str)
    alone = solution_str.count("The answer is") == 1
    return 1.0 if letter and alone and letter.group(1) == ground_truth else 0.0


TREE = (ast.Expression, ast.BinOp, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.Div)


def worth(node):
    """The value of an arithmetic expression as a fraction."""
    if isinstance(node, ast.Constant):
        return Fraction(node.value)
    left, right = worth(node.left), worth(node.right)
    kinds = {ast.Add: left + right, ast.Sub: left - right, ast.Mult: left * right}
    return kinds[type(node.op)] if type(node.op) in kinds else left / right


def makes_the_target(data_source, solution_str, ground_truth, extra_info=None):
    """Countdown without eval: each number once, four operations, the target; a tenth for an expression."""
    expression = one_tag(solution_str)
    if not re.fullmatch(r"[0-9+\-*/() ]{1,80}", expression):
        return 0.0
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        if not all(isinstance(node, TREE) for node in ast.walk(tree)):
            return 0.0
        value = worth(tree.body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return 0.0
    used = Counter(node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    right = used == Counter(ground_truth["numbers"]) and value == ground_truth["target"]
    return 1.0 if right else 0.1
