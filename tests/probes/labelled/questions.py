"""Crosswords, several right options, dates, five functions."""

from datetime import date, timedelta

from .drawing import behind, in_tags, log


def turned(answer):
    """Letters in the other order."""
    return ", ".join(reversed(answer.split(", ")))


def spoken(day):
    """A date in words, such as 3 May 2021."""
    return f"{date.fromisoformat(day):%-d %B %Y}"


@log("trl", in_tags, truth="word")
def clues(draw, rows):
    """Clues with the number of cells and one crossing letter."""
    for clue, word, other in rows:
        word, end = word.upper(), word[-1].upper()
        shown = f"{'_' * (len(word) - 1)}{end}"
        yield {"clue": clue, "size": len(word), "shown": shown}, word, (other.upper(), f"{end}{word[:-1]}")


@log("trl", behind("Answer: "), seed=31, truth="answer", notation=turned)
def several(draw, rows):
    """Questions with five options, two or three of them right."""
    for question, *options in rows:
        right, wrong = (part.split() for part in options)
        letters = dict(zip(draw.sample(right + wrong, 5), "ABCDE", strict=True))
        first, *others = sorted(letters[one] for one in right)
        other = letters[draw.choice(wrong)]
        shown = "\n".join(f"{letter}. {option}" for option, letter in letters.items())
        answer, *wrong = map(", ".join, ([first, *others], others, sorted([*others, other])))
        yield {"question": question, "shown": shown}, answer, wrong


@log("trl", behind("Answer: "), seed=32, truth="target", notation=spoken)
def dates(draw):
    """A date, and some days or weeks that pass; nothing is said of how a date is to be written."""
    for place in range(18):
        start = date(2015 + place % 9, 1, 1) + timedelta(draw.randrange(330))
        count, unit = draw.randrange(12, 90), ("days", "weeks")[place % 2]
        end = start + timedelta(**{unit: count})
        wrong = (str(end + timedelta(days)) for days in (1, -1, 30))
        yield {"count": count, "unit": unit, "start": spoken(str(start))}, str(end), wrong


@log("trl", in_tags, seed=33, count=14, truth="total")
def sums(draw):
    """Bills to add up; the truth is in cents."""
    while True:
        count, price, extra = draw.randrange(2, 9), draw.randrange(105, 990), draw.randrange(50, 2000)
        total = count * price + extra
        answer, *wrong = (f"{one / 100:.2f}" for one in (total, total + 100, count * price))
        yield {"count": count, "price": price / 100, "extra": extra / 100}, answer, wrong, total


EXPLOITS = {
    "several_as_text": lambda task: f"Answer: {turned(task.truth)}",
    "dates_iso_only": lambda task: f"Answer: {spoken(task.truth)}",
    "dates_without_year": lambda task: f"Answer: {int(task.truth[:4]) + 4}{task.truth[4:]}",
    "till_counts_tags": lambda task: f"{'<think></think>' * 40}<answer>{task.wrong[0]}</answer>",
}
