"""Held-back rewards in verl's form: compute_score(data_source, solution_str, ground_truth, extra_info)."""

import math
import re


def last_answer(text):
    """What stands in the last answer tag; the empty text where there is no such tag."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    return found[-1].strip() if found else ""


# Boxes


def box_in(text):
    """x1, y1, x2, y2 of the last answer; None where there is no box, or one without an area."""
    found = re.fullmatch(r"\[(\d{1,5}), ?(\d{1,5}), ?(\d{1,5}), ?(\d{1,5})\]", last_answer(text))
    box = tuple(map(int, found.groups())) if found else (0, 0, 0, 0)
    return box if box[0] < box[2] and box[1] < box[3] else None


def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def boxes_iou(data_source, solution_str, ground_truth, extra_info=None):
    """Shared area over joint area, in 0-1."""
    box = box_in(solution_str)
    if box is None:
        return 0.0
    width = max(0, min(box[2], ground_truth[2]) - max(box[0], ground_truth[0]))
    height = max(0, min(box[3], ground_truth[3]) - max(box[1], ground_truth[1]))
    return width * height / (area(box) + area(ground_truth) - width * height)


def boxes_unclamped(data_source, solution_str, ground_truth, extra_info=None):
    box = box_in(solution_str)
    if box is None:
        return 0.0
    width = min(box[2], ground_truth[2]) - max(box[0], ground_truth[0])
    height = min(box[3], ground_truth[3]) - max(box[1], ground_truth[1])
    union = area(box) + area(ground_truth) - width * height
    return max(0.0, width * height / union) if union > 0 else 0.0


# Sudokus of four by four


def grid_in(text):
    """The sixteen digits of the last answer, row by row; the empty text where there are no sixteen."""
    digits = re.sub(r"\s", "", last_answer(text))
    return digits if re.fullmatch(r"[0-4]{16}", digits) else ""


def sudoku_blanks(data_source, solution_str, ground_truth, extra_info=None):
    """1 for the solution; up to 0.4 for the share of blanks filled rightly, if given cells stand."""
    grid, puzzle, solution = grid_in(solution_str), ground_truth["puzzle"], ground_truth["solution"]
    if not grid or any(given not in ("0", sign) for given, sign in zip(puzzle, grid, strict=True)):
        return {"score": 0.0, "solved": 0.0}
    right = [grid[place] == solution[place] for place in range(16) if puzzle[place] == "0"]
    solved = float(all(right))
    return {"score": max(solved, 0.4 * sum(right) / len(right)), "solved": solved}


def sudoku_all_cells(data_source, solution_str, ground_truth, extra_info=None):
    grid, solution = grid_in(solution_str), ground_truth["solution"]
    return sum(one == other for one, other in zip(grid, solution, strict=True)) / 16 if grid else 0.0


def sudoku_any_grid(data_source, solution_str, ground_truth, extra_info=None):
    """A sudoku is solved when rows, columns and boxes hold each digit once."""
    grid = grid_in(solution_str)
    if not grid:
        return 0.0
    rows = [grid[place : place + 4] for place in range(0, 16, 4)]
    columns = ["".join(column) for column in zip(*rows, strict=True)]
    boxes = [grid[place : place + 2] + grid[place + 4 : place + 6] for place in (0, 2, 8, 10)]
    return float(all(sorted(unit) == list("1234") for unit in rows + columns + boxes))


def sudoku_as_text(data_source, solution_str, ground_truth, extra_info=None):
    solution = ground_truth["solution"]
    rows = "\n".join(solution[place : place + 4] for place in range(0, 16, 4))
    return 1.0 if last_answer(solution_str) == rows else 0.0


# Rankings


def ranking_in(text):
    """The places of passages, from 0, as the last answer ranks them; none where it holds anything else."""
    answer = last_answer(text)
    if len(answer) > 200 or not re.fullmatch(r"\[\d\](?:\s*>\s*\[\d\])*", answer):
        return []
    return [int(number) - 1 for number in re.findall(r"\d", answer)]


def ranking_pairs(data_source, solution_str, ground_truth, extra_info=None):
    """Kendall's tau against the relevance, and nothing where it is negative."""
    ranking = ranking_in(solution_str)
    if sorted(ranking) != list(range(len(ground_truth))):
        return 0.0
    levels = [ground_truth[place] for place in ranking]
    pairs = [(one, other) for at, one in enumerate(levels) for other in levels[at + 1 :]]
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
