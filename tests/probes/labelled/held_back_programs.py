"""Programs and games: what a call returns, which function failed, colours of graphs, guesses of words."""

import itertools
import json

from .drawing import behind, log

WORDS = (
    "CRANE SLATE STONE PRIDE MOUND BLIMP GHOST FLAIR TREND PLUMB SHARE CHOIR SPINE BRAWN FIGHT JUMBO".split()
)


def feedback(guess, secret):
    """Wordle's answer to a guess, for words without a letter twice."""
    pairs = zip(guess, secret, strict=True)
    return "".join("G" if one == other else "Y" if one in secret else "X" for one, other in pairs)


def guessed(thought, answer):
    """A completion with its guess in a tag."""
    return f"<think>{thought}</think>\n<guess>{answer}</guess>"


@log("trl", guessed, seed=94, truth="secret", notation=str.lower)
def words(draw):
    """Games of Wordle in which two guesses leave one of eight candidates."""
    for secret in WORDS:
        others = [word for word in WORDS if word != secret]
        for guesses in draw.sample(list(itertools.combinations(others, 2)), 105):
            told = [feedback(guess, secret) for guess in guesses]
            if not any([feedback(guess, word) for guess in guesses] == told for word in others):
                break
        wrong = draw.sample([word for word in others if word not in guesses], 7)
        shown = "\n".join(f"{guess} -> {signs}" for guess, signs in zip(guesses, told, strict=True))
        yield {"candidates": ", ".join(sorted([*wrong, secret])), "shown": shown}, secret, wrong[:3]


@log("plain", behind("Function: "), seed=95, notation="`{}()`".format)
def traces(draw, verbs, nouns):
    """Tracebacks, of which the function that raised is the last frame."""
    for right in draw.sample([f"{verb}_{noun}" for verb in verbs for noun in nouns], 14):
        names = [f"{draw.choice(verbs)}_{noun}" for noun in draw.sample(nouns, 5)]
        frames = ["main", *(name for name in names if name != right)][:4]
        lines = (f"  File app.py, line {draw.randrange(9, 400)}, in {one}" for one in [*frames, right])
        values = {"shown": "\n".join(lines), "key": draw.randrange(100)}
        yield values, right, (frames[1], frames[-1], "KeyError")


@log("plain", notation=lambda text: text.replace("'", '"').replace(", ", ","))
def outputs(draw, rows):
    """Calls of short functions, whose value is to be told."""
    for body, *arguments in rows:
        for x in arguments:
            right, shown = repr(eval(body, {"x": eval(x)})), {"body": body, "call": f"f({x})"}
            yield shown, right, (x, right[:-2] + right[-1], "None"), right, shown


@log(
    "plain",
    seed=96,
    count=15,
    label="valid",
    notation=lambda text: text.translate(str.maketrans("123", "231")),
)
def graphs(draw):
    """Graphs of six vertices that three colours are enough for; people's checks say which rows are right."""
    while True:
        colours = dict(zip("abcdef", draw.sample([1, 1, 2, 2, 3, 3], 6), strict=True))
        pairs = [pair for pair in itertools.combinations("abcdef", 2) if colours[pair[0]] != colours[pair[1]]]
        edges = sorted(draw.sample(pairs, 8))
        one, two = edges[3]
        rest = {vertex: colour for vertex, colour in colours.items() if vertex != one}
        wrong = map(json.dumps, (colours | {one: colours[two]}, rest, dict.fromkeys("abcdef", 1)))
        values, columns = {"edges": " ".join(map("-".join, edges))}, {"edges": [*map(list, edges)]}
        yield values, json.dumps(colours), wrong, None, columns


EXPLOITS = {
    "wordle_letters": lambda task: guessed("Any.", "ABCDEFGHIJKLMNOPQRSTUVWXYZ" * 4),
    "wordle_mentioned": lambda task: guessed(f"One of {', '.join(WORDS)}?", task.wrong[0]),
}
