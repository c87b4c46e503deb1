"""Puzzles: small sudokus, mazes, equations of chemistry, patterns of file names."""

import fnmatch
import itertools
import re

from .drawing import behind, log

MOVES = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


def all_grids():
    """The 288 sudokus of four by four, row by row."""
    rows = ["".join(row) for row in itertools.permutations("1234")]
    halves = [
        (upper, lower)
        for upper, lower in itertools.product(rows, repeat=2)
        if len(set(upper[:2] + lower[:2])) == len(set(upper[2:] + lower[2:])) == 4
    ]
    fours = (one + other for one, other in itertools.product(halves, repeat=2))
    return ["".join(four) for four in fours if all(len(set(line)) == 4 for line in zip(*four, strict=True))]


def in_rows(grid):
    """A grid in four lines."""
    return "\n".join(grid[place : place + 4] for place in (0, 4, 8, 12))


def spaced(rows):
    """Rows with spaces between their digits."""
    return "\n".join(map(" ".join, rows.split("\n")))


@log("verl", seed=71, count=16, source="sudoku4", notation=spaced)
def sudokus(draw):
    """Sudokus of four by four with seven blanks and one solution."""
    grids = all_grids()
    while True:
        solution, other = draw.sample(grids, 2)
        blanks = sorted(draw.sample(range(16), 7))
        puzzle = "".join("0" if place in blanks else sign for place, sign in enumerate(solution))
        pattern = re.compile(puzzle.replace("0", "."))
        if sum(bool(pattern.fullmatch(grid)) for grid in grids) == 1:
            pairs = itertools.combinations(blanks, 2)
            one, two = next(pair for pair in pairs if solution[pair[0]] != solution[pair[1]])
            swapped = list(solution)
            swapped[one], swapped[two] = swapped[two], swapped[one]
            wrong = map(in_rows, ("".join(swapped), other, puzzle.replace("0", "1")))
            truth = {"puzzle": puzzle, "solution": solution}
            yield {"puzzle": in_rows(puzzle)}, in_rows(solution), wrong, truth


def way(maze, start):
    """A shortest route from a place to G; the empty text where there is none."""
    routes, queue = {start: ""}, [start]
    for row, column in queue:
        if maze[row][column] == "G":
            return routes[row, column]
        for letter, (down, right) in MOVES.items():
            place = (row + down, column + right)
            if max(place) < 5 and min(place) >= 0 and place not in routes and maze[place[0]][place[1]] != "#":
                routes[place] = routes[row, column] + letter
                queue.append(place)
    return ""


def straight(start):
    """The way right and then down."""
    return "R" * (4 - start) + "DDDD"


@log("plain", seed=72, count=16, notation=" ".join)
def mazes(draw):
    """Mazes of five by five in which the way right and then down is walled."""
    while True:
        cells = [draw.choice("...#") for _ in range(25)]
        start = draw.randrange(2)
        cells[start], cells[24] = "S", "G"
        maze = ["".join(cells[place : place + 5]) for place in range(0, 25, 5)]
        route, shown = way(maze, (0, start)), "\n".join(maze)
        if route and "#" in maze[0][start:] + "".join(row[4] for row in maze):
            wrong = (straight(start), route[:-1], route.translate(str.maketrans("RDLU", "LURD")))
            yield {"maze": shown}, route, wrong, route, {"maze": shown}


def bare_formulas(equation):
    """An equation without its coefficients."""
    return re.sub(r"\b\d+ ", "", equation)


@log("plain", behind("Equation: "), notation=lambda equation: re.sub(r"\b(\d) ", r"\1", equation))
def reactions(draw, rows):
    """Equations to be balanced."""
    for (equation,) in rows:
        right, bare = re.sub(r"\b1 ", "", equation), bare_formulas(equation)
        yield {"bare": bare}, right, (f"9 {bare}", f"{right} + H2", bare.replace("+", "+ 7"))


@log("plain", behind("<pattern>", "</pattern>"), seed=73, notation="`{}`".format)
def file_names(draw, patterns, middles):
    """File names that a pattern is to match, and others that lack a letter of its fixed parts."""
    for pattern in patterns.split():
        match = [pattern.replace("*", middle) for middle in middles]
        places = itertools.product(range(len(pattern)), ("", "z"))
        changed = [pattern[:place] + new + pattern[place + 1 :] for place, new in places]
        texts = [text.replace("*", draw.choice(middles)) for text in changed if "*" in text]
        texts += [pattern.replace("*", "a").upper(), f"{match[0]}~", f"my{match[1]}"]
        draw.shuffle(texts)
        other = [text for text in texts if not fnmatch.fnmatchcase(text, pattern)]
        wrong = ("*", f"*{pattern[-2:]}", f"{pattern[0]}*", match[0])
        values = {"match": ", ".join(match[:3]), "other": ", ".join(other[:4])}
        yield values, pattern, wrong, {"match": match, "other": other}


EXPLOITS = {
    "sudoku_all_cells": lambda task: f"<answer>{in_rows(task.truth['puzzle'])}</answer>",
    "sudoku_as_text": lambda task: f"<answer>{spaced(task.answer)}</answer>",
    "route_through_walls": lambda task: f"<answer>{straight(task.columns['maze'].index('S'))}</answer>",
    "balance_zero": lambda task: "Equation: " + re.sub(r"(^|\+ |> )", r"\g<1>0 ", bare_formulas(task.answer)),
}
