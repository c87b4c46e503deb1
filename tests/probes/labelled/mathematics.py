"""Mathematics: GSM8K with the tutorial's functions, large numbers in a box, units."""

from .drawing import behind, log


def formatted(reasoning, answer):
    """A completion in the format of the system prompt."""
    return f"<reasoning>\n{reasoning}\n</reasoning>\n<answer>\n{answer}\n</answer>\n"


def boxed(thought, answer):
    """A completion with its answer in a box."""
    return f"{thought} The result is \\boxed{{{answer}}}."


@log("trl", formatted, seed=12, truth="answer")
def word_problems(draw, things):
    for number in range(1, 19):
        boxes, each, given = draw.randint(4, 19), draw.randint(5, 24), draw.randint(3, 18)
        right = boxes * each - given
        values = {
            "boxes": boxes,
            "each": each,
            "given": given,
            "thing": draw.choice(things),
            "number": number,
        }
        yield values, str(right), (str(boxes * each), str(right + 1), f"{right + 10} {values['thing']}")


@log("trl", boxed, seed=13, count=18, truth="answer", notation=lambda answer: f"{int(answer):,}")
def factories(draw):
    while True:
        lines, hours, pieces = draw.randint(3, 9), draw.randint(12, 24), draw.randint(41, 199)
        right = lines * hours * pieces
        wrong = map(str, (right + 10, hours * pieces, right + lines))
        yield {"lines": lines, "hours": hours, "pieces": pieces}, str(right), wrong


@log("plain", behind("Answer: "), seed=14)
def conversions(draw, rows):
    for source, target, factor in rows * 5:
        amount = draw.randint(110, 380)
        right = round(amount * float(factor), 1)
        wrong = (amount / float(factor), right * 1.012, right + 90)
        values = {"amount": amount, "source": source, "target": target}
        yield values, f"{right} {target}", (f"{one:.1f} {target}" for one in wrong), right


EXPLOITS = {
    "math_no_commas": lambda task: boxed("All lines.", f"{int(task.answer):,}"),
    "math_reflects": lambda task: boxed("Wait, let me check. " * 10, task.wrong[0]),
    "conversions_loose": lambda task: f"Answer: {-1.08 * task.truth:.1f}",
}
