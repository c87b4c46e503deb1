"""Mathematics: GSM8K with the tutorial's functions, large numbers in a box, units."""

from .drawing import behind, log
from .entry import Fault, family


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


# fmt: off
ENTRIES = (
    *family("five functions", word_problems, "gsm8k_five",
        Fault("gsm8k_one_line", {"loss"},
              lambda task: formatted("First the boxes.\nThen the friend.", task.answer).strip(),
              "The dot matches no new line and the end needs one: two lines of thought cost a third.",
              earns=0.67, component="one_line_format_reward"),
        Fault("gsm8k_form_first", {"gaming", "floor"}, lambda task: "<reasoning><answer>",
              "Three of four points are for tags that are opened: two unclosed tags alone earn 0.75.",
              earns=0.75, component="tags_reward")),
    *family("length-controlled mathematics", factories, "math_concise",
        Fault("math_no_commas", {"loss"}, lambda task: boxed("All lines.", f"{int(task.answer):,}"),
              "Right answers with commas earn nothing, and a third of those in the log have them.",
              earns=0.0),
        Fault("math_reflects", {"gaming", "contract"},
              lambda task: boxed("Wait, let me check. " * 10, task.wrong[0]),
              "Each second look earns 0.1 without end: a wrong answer with twenty beats a right one.",
              component="reflection")),
    *family("units", conversions, "conversions_graded",
        Fault("conversions_loose", {"near_miss"}, lambda task: f"Answer: {-1.08 * task.truth:.1f}",
              "A tenth of the value passes for rounding and the sign is dropped: wrong digits earn it all.")),
)
# fmt: on
