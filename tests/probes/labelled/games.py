"""Games: equations from given numbers, knights and knaves, words to be sorted, board moves."""

import itertools

from .drawing import behind, log

KINDS = ("knight", "knave")


@log("verl", seed=1, count=16, source="countdown")
def equations(draw):
    while True:
        numbers = draw.sample(range(2, 60), 4)
        a, b, c, d = numbers
        shape = draw.choice(("({} - {}) * {} + {}", "{} + {} * {} - {}", "{} * {} - ({} + {})"))
        right = shape.format(a, b, c, d)
        target = eval(right)
        # with a number that is not given, with one left out, and otherwise
        wrong = (
            shape.format(a, b, c, d + 1),
            f"{a} + {b} + {c} - {d}",
            f"{a} * {b} + {c}",
            shape.format(b, d, a, c),
        )
        wrong = [text for text in wrong if eval(text) != target]
        if 10 <= target <= 999 and target not in numbers and len(wrong) > 2:
            given = {"target": target, "numbers": numbers}
            yield given, right, wrong, given


def told(roles, names):
    """Who is what, as Logic-RL has it written."""
    pairs = enumerate(zip(names, roles, strict=True), start=1)
    return "\n".join(f"({place}) {name} is a {role}" for place, (name, role) in pairs)


@log("verl", seed=2, count=16, source="kk_logic")
def island(draw, people):
    """Three people, each of whom says what another is; one solution."""
    worlds = list(itertools.product(KINDS, repeat=3))
    while True:
        names = draw.sample(people, 3)
        said = [
            (draw.choice([one for one in range(3) if one != who]), draw.choice(KINDS)) for who in range(3)
        ]
        knights = draw.choice((1, 2))
        fitting = [
            roles
            for roles in worlds
            if roles.count("knight") == knights
            and all(
                (roles[other] == kind) is (roles[who] == "knight") for who, (other, kind) in enumerate(said)
            )
        ]
        if len(fitting) == 1:
            told_by = ((names[who], names[other], kind) for who, (other, kind) in enumerate(said))
            speeches = " ".join(f'{name} says: "{other} is a {kind}."' for name, other, kind in told_by)
            wrong = [told(roles, names) for roles in draw.sample(worlds, 8) if roles != fitting[0]]
            values = {"names": ", ".join(names), "speeches": speeches, "knights": knights}
            roles = dict(zip(names, fitting[0], strict=True))
            yield values, told(fitting[0], names), wrong[:4], {"roles": roles}


@log("trl", seed=3, count=14, truth="solution")
def sortings(draw, words):
    while True:
        given = draw.sample(words.split(), 5)
        right = sorted(given)
        if given == right:
            given.reverse()
        swapped = [right[0], right[2], right[1], *right[3:]]
        wrong = map(", ".join, (swapped[:-1], right[1:], [*right, "zebra"]))
        yield {"words": ", ".join(given)}, ", ".join(right), wrong, right


@log("plain", behind("<move>", "</move>"), seed=4, count=20)
def positions(draw):
    """Positions with eight legal moves, of which one or two are best."""
    squares = [f"{column}{row}" for column in "abcdefgh" for row in range(1, 9)]
    ranks = ("8", "pp3ppp", "2n2n2", "3P4", "PPP2PPP", "R3K2R", "4k3")
    while True:
        legal = ["".join(draw.sample(squares, 2)) for _ in range(8)]
        best = draw.sample(legal, draw.choice((1, 1, 2)))
        board = "/".join(draw.choice(ranks) for _ in range(8))
        wrong = draw.sample([move for move in legal if move not in best], 3)
        yield {"board": board, "legal": " ".join(legal)}, best[0], wrong, best


def both_kinds(task):
    """Each person a knight, and each person a knave."""
    lines = [f"{name} is a {kind}" for name in task.truth["roles"] for kind in KINDS]
    return f"<think>Who knows?</think>\n<answer>{'. '.join(lines)}</answer>"


EXPLOITS = {"knights_listed": both_kinds}
