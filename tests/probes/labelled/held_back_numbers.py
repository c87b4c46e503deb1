"""Numbers: final answers behind hashes, slopes in a box, percentages, letters counted."""

import re
from fractions import Fraction

from .drawing import behind, in_tags, log

CHECK = """

Let me check this again, from the start. The reading at noon is given in the question, and so are the changes.
I went down by the first one and up by the second one, in this order, and I did not mix them up. The sign is
that of a thermometer, so a value below the mark of freezing has a minus. So I stay with what I wrote."""


@log("verl", behind("#### "), seed=91, source="gsm8k", notation=lambda answer: answer + CHECK)
def thermometers(draw):
    """Temperatures that end below zero, half of them with a decimal."""
    for place in range(18):
        start, rise = draw.randrange(1, 9), draw.randrange(1, 5)
        right = -(draw.randrange(6, 19) + 0.5 * (place % 2))
        values = {"start": start, "fall": start + rise - right, "rise": rise, "day": place + 1}
        answer, *wrong = (f"{one:g}" for one in (right, -right, right - rise, right + 1))
        yield values, answer, wrong


def latex(slope):
    """A fraction as LaTeX, or a whole number."""
    return re.sub(r"(\d+)/(\d+)", r"\\frac{\1}{\2}", str(slope))


in_box = behind("The slope is $\\boxed{", "}$.")
IN_LATEX = r"\\frac\{(\d+)\}\{(\d+)\}"


@log("trl", in_box, seed=92, count=16, truth="solution", notation=lambda one: re.sub(IN_LATEX, r"\1/\2", one))
def slopes(draw):
    """Lines through two points; five of sixteen are vertical and have no slope."""
    asked = set()
    while True:
        x, y, down = draw.randrange(-5, 6), draw.randrange(-5, 6), draw.choice((-7, -5, -3, 2, 4, 8))
        across = 0 if len(asked) % 3 == 1 else draw.choice((2, 3, 5, 6, 9))
        slope = Fraction(down, across) if across else None
        answer = "\\text{undefined}" if slope is None else latex(slope)
        wrong = ("0", "1", "\\infty") if slope is None else (latex(-slope), latex(1 / slope), str(down))
        if (x, y, down, across) not in asked and slope not in (1, -1) and answer not in wrong:
            asked.add((x, y, down, across))
            solution = f"The line rises by {down} over {across}, so the slope is $\\boxed{{{answer}}}$."
            yield {"x": x, "y": y, "x2": x + across, "y2": y + down}, answer, wrong, solution


def other_denominator(task):
    """The right fraction with another denominator; where there is none, a wrong answer."""
    changed = re.sub(r"\{(\d+)\}$", lambda found: f"{{{int(found[1]) + 2}}}", task.answer)
    return in_box("So.", changed if changed != task.answer else task.wrong[0])


@log("verl", seed=93, source="percent", notation="{}%".format)
def percentages(draw, crowds):
    """Parts of a crowd as whole percentages."""
    for place in range(15):
        hundreds, right = draw.randrange(2, 9), 3 + 6 * place + draw.randrange(5)
        wrong = (f"{right / 100:g}", str(100 - right), str(right + 2), str(hundreds * right))
        values = {"all": 100 * hundreds, "crowd": crowds[place % 6], "some": hundreds * right}
        yield values, str(right), (one for one in wrong if one != str(right))


@log("verl", source="letter_counting")
def letters(draw, rows):
    """Phrases in which the most frequent letter is to be counted."""
    for (phrase,) in rows:
        letter = max(sorted(set(phrase) - {" "}), key=phrase.count)
        right, *wrong = (str(phrase.count(letter) + error) for error in (0, 1, -1, -2))
        yield {"letter": letter, "phrase": phrase}, right, wrong


EXPLOITS = {
    "hashes_clipped": lambda task: f"So.\n#### {task.answer}{CHECK}",
    "hashes_digits": lambda task: f"So.\n#### {int(-float(task.truth))}",
    "slopes_first_brace": other_denominator,
    "counts_long_thought": lambda task: in_tags("Let me see. " * 60, "0"),
}
