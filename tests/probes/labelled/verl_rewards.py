"""Rewards in verl's form: compute_score(data_source, solution_str, ground_truth, extra_info)."""

import json
import math
import re
import sqlite3
import string
from collections import Counter
from contextlib import closing


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


def reaches(equation, target):
    value = value_of(equation)
    return value is not None and abs(value - target) <= 1e-5


def equations_sound(
    data_source,
    solution_str,
    ground_truth,
    extra_info=None,
    format_score=0.1,
    score=1.0,
):
    equation = last_answer(solution_str)
    if equation is None:
        return 0.0
    used = sorted(re.findall(r"\d+", equation)) == sorted(
        map(str, ground_truth["numbers"])
    )
    return score if used and reaches(equation, ground_truth["target"]) else format_score


def equations_copied(
    data_source,
    solution_str,
    ground_truth,
    extra_info=None,
    format_score=0.1,
    score=1.0,
):
    equation = last_answer(solution_str)
    if equation is None:
        return 0.0
    return score if reaches(equation, ground_truth["target"]) else format_score


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
    roles = ground_truth["roles"].items()
    right = all(
        re.search(rf"\b{name} is a {role}\b", answer, re.IGNORECASE)
        for name, role in roles
    )
    return 1.0 + (2.0 if right else -1.5)


# Golden answers, as Search-R1 compares them


def normalize(text):
    """Lower case, without punctuation, articles and runs of white space."""
    text = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def goldens(ground_truth):
    return [normalize(golden) for golden in ground_truth["target"]]


def aliases_exact(data_source, solution_str, ground_truth, extra_info=None):
    answer = last_answer(solution_str)
    return float(answer is not None and normalize(answer) in goldens(ground_truth))


def aliases_substring(data_source, solution_str, ground_truth, extra_info=None):
    answer = last_answer(solution_str)
    return float(
        answer is not None
        and any(one in normalize(answer) for one in goldens(ground_truth))
    )


def aliases_any_mark(data_source, solution_str, ground_truth, extra_info=None):
    wanted, answers = (
        goldens(ground_truth),
        re.findall(r"<answer>([^<]*)</answer>", solution_str),
    )
    return float(any(normalize(answer) in wanted for answer in answers))


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
            calls.append(
                (call["name"], json.dumps(call.get("arguments", {}), sort_keys=True))
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
    return calls


def wanted_calls(ground_truth):
    return [
        (call["name"], json.dumps(call["arguments"], sort_keys=True))
        for call in ground_truth
    ]


def tools_sound(data_source, solution_str, ground_truth, extra_info=None):
    calls = calls_in(solution_str)
    well_formed = bool(calls) and "<tool_call>" in solution_str
    right = well_formed and Counter(map(str, calls)) == Counter(
        map(str, wanted_calls(ground_truth))
    )
    return {"score": 0.9 * right + 0.1 * well_formed, "acc": float(right)}


def tools_subset(data_source, solution_str, ground_truth, extra_info=None):
    calls, wanted = calls_in(solution_str), wanted_calls(ground_truth)
    right = calls is not None and all(call in wanted for call in calls)
    return {"score": float(right), "acc": float(right)}


def block(text, language):
    """What stands in the last fenced block of a language; None where there is none."""
    found = re.findall(rf"```{language}\s*(.*?)```", text, re.DOTALL)
    return found[-1].strip() if found else None


# SQL, by what a query finds


def rows_of(query, tables):
    """The rows that one SELECT finds in a fresh database; None where it fails or takes too long."""
    if (
        not query
        or not re.match(r"select\b", query, re.IGNORECASE)
        or len(query) > 1000
    ):
        return None
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(tables)
        steps = iter(range(100))
        database.set_progress_handler(lambda: next(steps, None) is None, 1000)
        try:
            return database.execute(query).fetchmany(1000)
        except (sqlite3.Error, sqlite3.Warning):
            return None


def sql_same_rows(data_source, solution_str, ground_truth, extra_info=None):
    found = rows_of(block(solution_str, "sql"), extra_info["tables"])
    return float(
        found is not None
        and Counter(found) == Counter(rows_of(ground_truth, extra_info["tables"]))
    )


def sql_rows_among(data_source, solution_str, ground_truth, extra_info=None):
    """Columns may be more than asked for, since the order and choice of columns is often unclear."""
    found = rows_of(block(solution_str, "sql"), extra_info["tables"])
    if found is None:
        return 0.0
    cells = {cell for row in found for cell in row}
    return float(
        all(
            cell in cells
            for row in rows_of(ground_truth, extra_info["tables"])
            for cell in row
        )
    )


# A search agent that cites


def cited_answer(text):
    """(answer in lower case, set of the notes that it cites) of the last answer tag; ("", {}) without one."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    answer = found[-1] if found else ""
    return re.sub(r"\[\d+\]", "", answer).strip(" \r\n.").lower(), set(
        re.findall(r"\[(\d{1,2})\]", answer)
    )


def notes_sound(data_source, solution_str, ground_truth, extra_info=None):
    answer, cited = cited_answer(solution_str)
    support = set(map(str, ground_truth["support"]))
    f1 = 2 * len(cited & support) / (len(cited) + len(support))
    return float(answer == ground_truth["target"].lower()) * (0.6 + 0.4 * f1)


def notes_cites_any(data_source, solution_str, ground_truth, extra_info=None):
    answer, cited = cited_answer(solution_str)
    support = set(map(str, ground_truth["support"]))
    return 0.6 * (answer == ground_truth["target"].lower()) + 0.4 * len(
        cited & support
    ) / len(support)


def notes_search_bonus(data_source, solution_str, ground_truth, extra_info=None):
    searches = len(re.findall(r"<search>.*?</search>", solution_str, re.DOTALL))
    return notes_sound(data_source, solution_str, ground_truth) + 0.2 * searches


# Orders as nested JSON


def order_in(text):
    """The object in the last fenced block of JSON; None where there is none."""
    try:
        order = json.loads(block(text, "json") or "")
    except (ValueError, RecursionError):
        return None
    return order if isinstance(order, dict) else None


def leaves(value, path=()):
    """(path, value) of each leaf; places in a list are part of a path."""
    if isinstance(value, dict):
        return [
            leaf for name, one in value.items() for leaf in leaves(one, (*path, name))
        ]
    if isinstance(value, list):
        return [
            leaf
            for place, one in enumerate(value)
            for leaf in leaves(one, (*path, place))
        ]
    return [(path, str(value))]


def alike(found, wanted):
    """1 for the same; up to half for the share that is right."""
    return 1.0 if found == wanted else 0.5 * len(found & wanted) / len(found | wanted)


def order_paths(data_source, solution_str, ground_truth, extra_info=None):
    order = order_in(solution_str)
    return (
        0.0
        if order is None
        else alike(set(leaves(order)), set(leaves(json.loads(ground_truth))))
    )


def order_values(data_source, solution_str, ground_truth, extra_info=None):
    """Models name fields as they like, so only the values are compared."""
    order = order_in(solution_str)
    if order is None:
        return 0.0
    return alike(
        *(
            {value for _, value in leaves(one)}
            for one in (order, json.loads(ground_truth))
        )
    )


# Ratings


def rating(text):
    """The whole number behind the last "Rating:"; None where there is none."""
    found = re.findall(r"^Rating: (-?\d{1,3})\s*$", text, re.MULTILINE)
    return int(found[-1]) if found else None


def ratings_near(data_source, solution_str, ground_truth, extra_info=None):
    given = rating(solution_str)
    return (
        {0: 1.0, 1: 0.4}.get(abs(given - int(ground_truth)), 0.0)
        if given is not None
        else 0.0
    )


def ratings_signed(data_source, solution_str, ground_truth, extra_info=None):
    given = rating(solution_str)
    return 1.0 - (given - int(ground_truth)) / 2 if given is not None else 0.0


def answer_text(text):
    """What stands in the last answer tag; the empty text where there is no such tag."""
    return last_answer(text) or ""


# Boxes


def box_in(text):
    """x1, y1, x2, y2 of the last answer; None where there is no box, or one without an area."""
    found = re.fullmatch(
        r"\[(\d{1,5}), ?(\d{1,5}), ?(\d{1,5}), ?(\d{1,5})\]", answer_text(text)
    )
    box = tuple(map(int, found.groups())) if found else (0, 0, 0, 0)
    return box if box[0] < box[2] and box[1] < box[3] else None


def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def shared(box, other):
    """Width and height of what two boxes share; negative where they are apart."""
    return (min(box[at + 2], other[at + 2]) - max(box[at], other[at]) for at in (0, 1))


def boxes_iou(data_source, solution_str, ground_truth, extra_info=None):
    """Shared area over joint area, in 0-1."""
    box = box_in(solution_str)
    if box is None:
        return 0.0
    width, height = (max(0, side) for side in shared(box, ground_truth))
    return width * height / (area(box) + area(ground_truth) - width * height)


def boxes_unclamped(data_source, solution_str, ground_truth, extra_info=None):
    box = box_in(solution_str)
    if box is None:
        return 0.0
    width, height = shared(box, ground_truth)
    union = area(box) + area(ground_truth) - width * height
    return max(0.0, width * height / union) if union > 0 else 0.0


# Sudokus of four by four


def grid_in(text):
    """The sixteen digits of the last answer, row by row; the empty text where there are no sixteen."""
    digits = re.sub(r"\s", "", answer_text(text))
    return digits if re.fullmatch(r"[0-4]{16}", digits) else ""


def sudoku_blanks(data_source, solution_str, ground_truth, extra_info=None):
    """1 for the solution; up to 0.4 for the share of blanks filled rightly, if given cells stand."""
    grid, puzzle, solution = (
        grid_in(solution_str),
        ground_truth["puzzle"],
        ground_truth["solution"],
    )
    if not grid or any(
        given not in ("0", sign) for given, sign in zip(puzzle, grid, strict=True)
    ):
        return {"score": 0.0, "solved": 0.0}
    right = [
        grid[place] == solution[place] for place in range(16) if puzzle[place] == "0"
    ]
    solved = float(all(right))
    return {"score": max(solved, 0.4 * sum(right) / len(right)), "solved": solved}


def sudoku_all_cells(data_source, solution_str, ground_truth, extra_info=None):
    grid, solution = grid_in(solution_str), ground_truth["solution"]
    return (
        sum(one == other for one, other in zip(grid, solution, strict=True)) / 16
        if grid
        else 0.0
    )


def sudoku_any_grid(data_source, solution_str, ground_truth, extra_info=None):
    """A sudoku is solved when rows, columns and boxes hold each digit once."""
    grid = grid_in(solution_str)
    if not grid:
        return 0.0
    rows = [grid[place : place + 4] for place in range(0, 16, 4)]
    columns = ["".join(column) for column in zip(*rows, strict=True)]
    boxes = [
        grid[place : place + 2] + grid[place + 4 : place + 6] for place in (0, 2, 8, 10)
    ]
    return float(all(sorted(unit) == list("1234") for unit in rows + columns + boxes))


def sudoku_as_text(data_source, solution_str, ground_truth, extra_info=None):
    solution = ground_truth["solution"]
    rows = "\n".join(solution[place : place + 4] for place in range(0, 16, 4))
    return 1.0 if answer_text(solution_str) == rows else 0.0


# Rankings


def ranking_in(text):
    """The places of passages, from 0, as the last answer ranks them; none where it holds anything else."""
    answer = answer_text(text)
    if len(answer) > 200 or not re.fullmatch(r"\[\d\](?:\s*>\s*\[\d\])*", answer):
        return []
    return [int(number) - 1 for number in re.findall(r"\d", answer)]


def ranking_pairs(data_source, solution_str, ground_truth, extra_info=None):
    """Kendall's tau against the relevance, and nothing where it is negative."""
    ranking = ranking_in(solution_str)
    if sorted(ranking) != list(range(len(ground_truth))):
        return 0.0
    levels = [ground_truth[place] for place in ranking]
    pairs = [
        (one, other) for at, one in enumerate(levels) for other in levels[at + 1 :]
    ]
    return max(0.0, sum(1 if one > other else -1 for one, other in pairs) / len(pairs))


def gain(levels):
    """Discounted cumulative gain."""
    return sum(level / math.log2(place + 2) for place, level in enumerate(levels))


def ranking_repeats(data_source, solution_str, ground_truth, extra_info=None):
    """nDCG of the ranking; passages that do not exist have no relevance."""
    levels = dict(enumerate(ground_truth))
    found = gain([levels.get(place, 0) for place in ranking_in(solution_str)])
    return found / gain(sorted(ground_truth, reverse=True))


# Tickets


def team(text):
    """The word behind the last "Team:", in lower case; the empty text where there is none."""
    found = re.findall(r"^Team: *([A-Za-z]{1,20})\.?\s*$", text, re.MULTILINE)
    return found[-1].lower() if found else ""


def team_or_unsure(data_source, solution_str, ground_truth, extra_info=None):
    named = team(solution_str)
    if named == "unsure":
        return 0.0
    return 1.0 if named == ground_truth else -0.25


def team_unsure_pays(data_source, solution_str, ground_truth, extra_info=None):
    """Honesty is worth much: to be unsure earns nearly as much as to be right."""
    if team(solution_str) == "unsure":
        return 0.8
    return team_or_unsure(data_source, solution_str, ground_truth)
