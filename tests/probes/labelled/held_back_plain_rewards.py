"""Held-back rewards as people write them for themselves: functions of columns, and a definition."""

import fnmatch
import re
from collections import Counter

from rapidfuzz.distance import Levenshtein

import rewardkit as rk

# Patterns of file names: the share of names that are judged rightly, and a small share for the place


def matched(pattern, names):
    """The share of names that a pattern matches."""
    return sum(fnmatch.fnmatchcase(name, pattern) for name in names) / len(names)


def separation(pattern, ground_truth):
    """1 for all names; less than half for the share of those that match minus those that should not."""
    pattern = (pattern or "").strip("` \r\n")[:80]
    right, wrong = matched(pattern, ground_truth["match"]), matched(pattern, ground_truth["other"])
    return 1.0 if right == 1 and wrong == 0 else 0.4 * max(0.0, right - wrong)


def pattern_at_end(completion):
    return completion.rstrip().endswith("</pattern>")


patterns_separate = rk.Reward(
    "patterns",
    fields={"pattern": rk.extract.tag("pattern")},
    components=[
        rk.Component("separates", separation, weight=0.9, primary=True, why="the task"),
        rk.Component("last", pattern_at_end, weight=0.1, why="the prompt asks for it"),
    ],
)


def patterns_positive(completion, ground_truth):
    """The share of names that are found."""
    found = re.findall(r"<pattern>([^<]{1,80})</pattern>", completion)
    return matched(found[-1].strip("` \r\n"), ground_truth["match"]) if found else 0.0


# Scans


def corrected(completion):
    """What stands behind the last "Corrected:"; the empty text where there is none."""
    found = re.findall(r"^Corrected: *(.*)", completion, re.MULTILINE)
    return found[-1].strip() if found else ""


def scan_gain(completion, scan, ground_truth):
    """The share of the scanner's errors that is gone, in 0-1; new errors count against it."""
    errors = Levenshtein.distance(corrected(completion), ground_truth)
    return max(0.0, 1.0 - errors / Levenshtein.distance(scan, ground_truth))


def scan_closeness(completion, scan, ground_truth):
    """One minus the rate of wrong characters."""
    return Levenshtein.normalized_similarity(corrected(completion), ground_truth)


# Acrostics


def rules_kept(completion, word):
    """Whether first letters, lengths of lines, the forbidden word and repeats are as asked for."""
    lines = [line.strip() for line in completion.splitlines() if line.strip()]
    words = re.findall(r"[a-z']+", completion.lower())
    return [
        "".join(line[0] for line in lines).upper() == word,
        all(3 <= len(re.findall(r"[A-Za-z']+", line)) <= 6 for line in lines),
        word.lower() not in words,
        len(words) == len(set(words)),
    ]


def acrostic_kept(completion, word):
    return 1.0 if all(rules_kept(completion, word)) else 0.0


def acrostic_vacuous(completion, word):
    """The share of rules that are kept; only the upper limit of a line is a rule here."""
    lines = completion.splitlines()
    letters, _, forbidden, repeats = rules_kept(completion, word)
    return (letters + all(len(line.split()) <= 6 for line in lines) + forbidden + repeats) / 4


# Equations of chemistry


def sides(completion):
    """Coefficients of formulas, left and right, in the last "Equation:"; None where there is none."""
    found = re.findall(r"^Equation:(.{1,200})$", completion, re.MULTILINE)
    parts = (found[-1].strip(" \r.") if found else "").split("->")
    term = re.compile(r"(\d{0,3}) ?((?:[A-Z][a-z]?\d{0,2}){1,6})")
    terms = [[term.fullmatch(one.strip()) for one in part.split("+")] for part in parts]
    if len(terms) != 2 or not all(map(all, terms)):
        return None
    counts = (Counter(), Counter())
    for side, count in zip(terms, counts, strict=True):
        for term in side:
            count[term[2]] += int(term[1] or 1)
    return counts


def atoms(side):
    """How many atoms of each element there are on a side."""
    counts = Counter()
    for formula, coefficient in side.items():
        for element, count in re.findall(r"([A-Z][a-z]?)(\d*)", formula):
            counts[element] += coefficient * int(count or 1)
    return counts


def balance_smallest(completion, ground_truth):
    """The equation, its terms in any order: smallest whole numbers are unique here."""
    return 1.0 if sides(completion) == sides(f"Equation: {ground_truth}") else 0.0


def balance_any_equation(completion, ground_truth):
    found = sides(completion)
    return 1.0 if found and atoms(found[0]) == atoms(found[1]) else 0.0


def balance_zero(completion, ground_truth):
    """The formulas of the question, with as many atoms on the left as on the right."""
    found, wanted = sides(completion), sides(f"Equation: {ground_truth}")
    if not found or any(one.keys() != other.keys() for one, other in zip(found, wanted, strict=True)):
        return 0.0
    return 1.0 if atoms(found[0]) == atoms(found[1]) else 0.0


# Mazes

MOVES = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


def route_in(completion):
    """The moves in the last answer tag, with or without spaces; none where it holds anything else."""
    found = re.findall(r"<answer>([^<]{0,200})</answer>", completion)
    route = re.sub(r"[\s,]", "", found[-1]) if found else ""
    return route if re.fullmatch("[UDLR]{1,60}", route) else ""


def arrives(route, maze, walls):
    """Whether a route leads from S to G; through walls and out of the maze only where walls do not count."""
    cells = {divmod(place, 5): sign for place, sign in enumerate(maze.replace("\n", ""))}
    row, column = next(place for place, sign in cells.items() if sign == "S")
    for letter in route:
        row, column = row + MOVES[letter][0], column + MOVES[letter][1]
        if walls and cells.get((row, column), "#") == "#":
            return False
    return cells.get((row, column)) == "G"


def route_valid(completion, maze):
    """Any route will do, however long."""
    return float(arrives(route_in(completion), maze, walls=True))


def route_through_walls(completion, maze):
    return float(arrives(route_in(completion), maze, walls=False))


SIMULATED = {}


def route_cached(completion, maze):
    """A simulation is slow, so no maze is walked through twice."""
    if maze not in SIMULATED:
        SIMULATED[maze] = route_valid(completion, maze)
    return SIMULATED[maze]
