"""Puzzles: small sudokus, mazes, equations of chemistry, patterns of file names."""

from __future__ import annotations

import fnmatch
import itertools
import random
import re

from .drawing import Log, Task, behind
from .entry import Fault, family

__all__ = ["ENTRIES"]

MOVES = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}

REACTIONS = """1 N2 + 3 H2 -> 2 NH3|1 CH4 + 2 O2 -> 1 CO2 + 2 H2O|4 Fe + 3 O2 -> 2 Fe2O3
4 Al + 3 O2 -> 2 Al2O3|2 Na + 1 Cl2 -> 2 NaCl|2 K + 2 H2O -> 2 KOH + 1 H2
1 C3H8 + 5 O2 -> 3 CO2 + 4 H2O|1 P4 + 5 O2 -> 2 P2O5
1 Fe2O3 + 3 CO -> 2 Fe + 3 CO2|4 NH3 + 5 O2 -> 4 NO + 6 H2O|2 C2H6 + 7 O2 -> 4 CO2 + 6 H2O
2 KClO3 -> 2 KCl + 3 O2|1 Zn + 2 HCl -> 1 ZnCl2 + 1 H2|2 SO2 + 1 O2 -> 2 SO3|3 Mg + 1 N2 -> 1 Mg3N2"""

FILES = """report_*.pdf img-*.png data_*.csv log.*.txt test_*.py draft-*.md scan_*.tiff song-*.mp3 mail.*.eml
model_*.bin part-*.stl notes_*.org""".split()
MIDDLES = ("1", "07", "final", "x2", "may_3", "old-b")


def all_grids() -> list[str]:
    """The 288 sudokus of four by four, row by row."""
    rows = ["".join(row) for row in itertools.permutations("1234")]
    halves = [
        (upper, lower)
        for upper, lower in itertools.product(rows, repeat=2)
        if len(set(upper[:2] + lower[:2])) == len(set(upper[2:] + lower[2:])) == 4
    ]
    fours = (one + other for one, other in itertools.product(halves, repeat=2))
    return ["".join(four) for four in fours if all(len(set(line)) == 4 for line in zip(*four, strict=True))]


def in_rows(grid: str) -> str:
    """A grid in four lines."""
    return "\n".join(grid[place : place + 4] for place in (0, 4, 8, 12))


def spaced(rows: str) -> str:
    """Rows with spaces between their digits."""
    return "\n".join(map(" ".join, rows.split("\n")))


def sudokus() -> tuple[Task, ...]:
    """Sudokus of four by four with seven blanks and one solution."""
    draw = random.Random(71)
    grids = all_grids()
    tasks: list[Task] = []
    while len(tasks) < 16:
        solution, other = draw.sample(grids, 2)
        blanks = sorted(draw.sample(range(16), 7))
        puzzle = "".join("0" if place in blanks else sign for place, sign in enumerate(solution))
        pattern = re.compile(puzzle.replace("0", "."))
        if sum(bool(pattern.fullmatch(grid)) for grid in grids) > 1:
            continue
        ones = puzzle.replace("0", "1")
        one, two = next(
            pair for pair in itertools.combinations(blanks, 2) if len({solution[at] for at in pair}) == 2
        )
        swapped = list(solution)
        swapped[one], swapped[two] = swapped[two], swapped[one]
        prompt = (
            "Solve this 4x4 sudoku; 0 is a blank, and each row, column and 2x2 box holds 1 to 4.\n"
            f"{in_rows(puzzle)}\nThink in <think></think> and give the four rows in <answer></answer>."
        )
        wrong = tuple(map(in_rows, ("".join(swapped), other, ones)))
        tasks.append(Task(prompt, {"puzzle": puzzle, "solution": solution}, in_rows(solution), wrong))
    return tuple(tasks)


def way(maze: list[str], start: tuple[int, int]) -> str:
    """A shortest route from a place to G; the empty text where there is none."""
    routes, queue = {start: ""}, [start]
    for row, column in queue:
        route = routes[row, column]
        if maze[row][column] == "G":
            return route
        for letter, (down, right) in MOVES.items():
            place = (row + down, column + right)
            if max(place) < 5 and min(place) >= 0 and place not in routes and maze[place[0]][place[1]] != "#":
                routes[place] = route + letter
                queue.append(place)
    return ""


def mazes() -> tuple[Task, ...]:
    """Mazes of five by five in which the way right and then down is walled."""
    draw = random.Random(72)
    tasks: list[Task] = []
    while len(tasks) < 16:
        cells = [draw.choice("...#") for _ in range(25)]
        start, goal = draw.randrange(2), 4
        cells[start], cells[20 + goal] = "S", "G"
        maze = ["".join(cells[place : place + 5]) for place in range(0, 25, 5)]
        route, direct = way(maze, (0, start)), "R" * (goal - start) + "DDDD"
        if not route or "#" not in maze[0][start:] + "".join(row[goal] for row in maze):
            continue
        shown = "\n".join(maze)
        prompt = (
            f"Find a route from S to G, not through # and not out of the maze.\n{shown}\nGive it in letters "
            "U, D, L, R, such as <answer>RRD</answer>."
        )
        wrong = (direct, route[:-1], route.translate(str.maketrans("RDLU", "LURD")))
        tasks.append(Task(prompt, route, route, wrong, {"maze": shown}))
    return tuple(tasks)


def bare_formulas(equation: str) -> str:
    """An equation without its coefficients."""
    return re.sub(r"\b\d+ ", "", equation)


def reactions() -> tuple[Task, ...]:
    """Equations to be balanced."""
    tasks = []
    for equation in REACTIONS.replace("\n", "|").split("|"):
        right = re.sub(r"\b1 ", "", equation)
        prompt = (
            f"Balance {bare_formulas(equation)} with the smallest whole numbers. End with a line such as "
            "'Equation: 2 H2 + O2 -> 2 H2O'."
        )
        wrong = (f"9 {bare_formulas(equation)}", f"{right} + H2", bare_formulas(equation).replace("+", "+ 7"))
        tasks.append(Task(prompt, right, right, wrong))
    return tuple(tasks)


def file_names() -> tuple[Task, ...]:
    """File names that a pattern is to match, and others that lack a letter of its fixed parts."""
    draw = random.Random(73)
    tasks = []
    for pattern in FILES:
        match = [pattern.replace("*", middle) for middle in MIDDLES]
        changed = [
            pattern[:place] + new + pattern[place + 1 :] for place in range(len(pattern)) for new in ("", "z")
        ]
        texts = [text.replace("*", draw.choice(MIDDLES)) for text in changed if "*" in text]
        texts += [pattern.replace("*", "a").upper(), f"{match[0]}~", f"my{match[1]}"]
        draw.shuffle(texts)
        other = [text for text in texts if not fnmatch.fnmatchcase(text, pattern)]
        prompt = (
            f"Write one shell pattern (*, ?, [...]) that matches {', '.join(match[:3])} and the like, but "
            f"none of {', '.join(other[:4])} and the like. Give it in <pattern></pattern> at the end."
        )
        begin, end = pattern.split("*")
        wrong = ("*", f"*{end[-2:]}", f"{begin[0]}*", match[0])
        tasks.append(Task(prompt, {"match": match, "other": other}, pattern, wrong))
    return tuple(tasks)


SUDOKUS = Log(sudokus(), "verl", truth="gts", data_source="sudoku4", notation=spaced)
MAZES = Log(mazes(), "plain", notation=" ".join)
EQUATIONS = Log(
    reactions(),
    "plain",
    behind("Equation: "),
    notation=lambda equation: re.sub(r"\b(\d) ", r"\1", equation),
)
PATTERNS = Log(
    file_names(),
    "plain",
    behind("<pattern>", "</pattern>"),
    notation=lambda pattern: f"`{pattern}`",
)

# fmt: off
ENTRIES = (
    *family("small sudokus", SUDOKUS, "sudoku_blanks",
        Fault("sudoku_all_cells", {"gaming", "floor"},
              lambda task: f"<answer>{in_rows(task.truth['puzzle'])}</answer>",
              "Given cells count as well: the puzzle copied with its blanks earns nine of sixteen.",
              earns=9 / 16, missed="A copy earns hardly more than any wrong grid, as closeness is paid."),
        Fault("sudoku_any_grid", {"gaming", "near_miss"},
              lambda task: "<answer>1234\n3412\n2143\n4321</answer>",
              "Nobody looks at the given cells: one correct grid earns it all on every puzzle.",
              missed="A reward that reads no truth is taken for one that is meant to be earned without."),
        Fault("sudoku_as_text", {"loss"}, lambda task: f"<answer>{spaced(task.answer)}</answer>",
              "The rows are compared as text: right ones with spaces between their digits earn nothing.",
              earns=0.0)),
    *family("mazes", MAZES, "route_valid",
        Fault("route_through_walls", {"gaming", "near_miss"},
              lambda task: f"<answer>{'R' * (4 - task.columns['maze'].index('S'))}DDDD</answer>",
              "Only the end of the route counts: the straight way through the walls earns it all."),
        Fault("route_cached", {"contract", "floor", "gaming"}, lambda task: "I do not know.",
              "Scores are kept by maze, not by route: all siblings earn what the first one did.",
              earns=0.8)),
    *family("equations of chemistry", EQUATIONS, "balance_smallest",
        Fault("balance_any_equation", {"gaming", "near_miss"}, lambda task: "Equation: O2 -> O2",
              "Any balanced equation counts: 'O2 -> O2', or the example of the prompt, earns it all."),
        Fault("balance_zero", {"gaming", "near_miss"},
              lambda task: "Equation: " + re.sub(r"(^|\+ |> )", r"\g<1>0 ", bare_formulas(task.answer)),
              "Zero is taken for a coefficient: none of anything is balanced and earns it all.",
              missed="Numbers are set to 0 where there are some; here most formulas have none.")),
    *family("patterns judged by names", PATTERNS, "patterns_separate",
        Fault("patterns_positive", {"gaming", "near_miss"}, lambda task: "<pattern>*</pattern>",
              "Only names that are to match are tried: the pattern for everything earns it all.")),
)
# fmt: on
