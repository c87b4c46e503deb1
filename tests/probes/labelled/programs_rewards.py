"""Rewards over programs and graphs as people write them for themselves: functions of columns."""

import ast
import json
import re

# Tracebacks


def function_named(completion):
    """The name behind the last "Function:", without backticks and brackets; the empty text without one."""
    found = re.findall(
        r"^Function: *`?(\w{1,60})(?:\(\))?`?\.?\s*$", completion, re.MULTILINE
    )
    return found[-1] if found else ""


def trace_exact(completion, ground_truth):
    return 1.0 if function_named(completion) == ground_truth else 0.0


def trace_reversed(completion, ground_truth):
    """Models leave parts of the name out or add a module, so it need not be the same."""
    name = function_named(completion)
    return 1.0 if name and name in ground_truth else 0.0


def last_tag(completion):
    """What stands in the last answer tag; the empty text where there is no such tag."""
    found = re.findall(r"<answer>([^<]*)</answer>", completion)
    return found[-1].strip() if found else ""


# What a call returns


def outputs_literal(completion, ground_truth):
    """The value, however its literal is written."""
    answer = last_tag(completion)
    try:
        return (
            1.0
            if len(answer) < 300 and repr(ast.literal_eval(answer)) == ground_truth
            else 0.0
        )
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return 0.0


NAMES = {"sorted": sorted, "len": len, "min": min, "max": max, "sum": sum}


def outputs_evaluated(completion, body, call):
    """Whether "f(...) == answer" holds, as the tests of a program do."""
    answer = last_tag(completion)
    if not re.fullmatch(r"""[\w\[\]{}(),:'" -]{1,300}""", answer) or "__" in answer:
        return 0.0
    names = {"__builtins__": {}, **NAMES}
    names["f"] = eval(f"lambda x: {body}", names)
    try:
        return 1.0 if eval(answer, names) == eval(call, names) else 0.0
    except Exception:
        return 0.0


# Colours of graphs


def colours_in(completion):
    """The colour of each vertex in the last answer; None where there is no such object."""
    try:
        found = json.loads(last_tag(completion))
    except (ValueError, RecursionError):
        return None
    right = isinstance(found, dict) and all(
        type(one) is int and 1 <= one <= 3 for one in found.values()
    )
    return found if right else None


def colours_valid(completion, edges):
    """Any colouring will do; 0.01 for an answer that is none, as reasoning-gym has it."""
    colours = colours_in(completion)
    if colours is None or sorted(colours) != list("abcdef"):
        return 0.01 if last_tag(completion) else 0.0
    return 1.0 if all(colours[one] != colours[other] for one, other in edges) else 0.01


def colours_vacuous(completion, edges):
    colours = colours_in(completion)
    if colours is None:
        return 0.0
    seen = [edge for edge in edges if edge[0] in colours and edge[1] in colours]
    return 1.0 if all(colours[one] != colours[other] for one, other in seen) else 0.0
