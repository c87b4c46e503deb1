"""Answers: search agents with aliases, options in several languages, yes or no, sets of labels."""

from .drawing import behind, log, on_a_line

TOPICS = "art climate crime diplomacy economy education energy health law sports technology transport".split()


def searched(thought, answer):
    """A completion of a search agent: one search, what it brought, the answer."""
    return (
        f"<think>{thought}</think>\n<search> that question </search>\n\n<information>Doc 1(Title: Almanac) "
        f"An entry on this subject.</information>\n\n<think>Doc 1 helps.</think>\n<answer> {answer} </answer>"
    )


@log("verl", searched, source="nq")
def facts(draw, rows):
    """Questions with several golden answers, in Search-R1's form."""
    for question, golden, wrong in rows:
        aliases = golden.split("; ")
        yield {"question": question}, aliases[0], wrong.split("; "), {"target": aliases}


@log("verl", on_a_line, seed=5, source="mmmlu")
def choices(draw, rows):
    """Questions in four languages with four options each."""
    for place, (language, word, letter, question, texts) in enumerate(rows):
        right, *options = texts.split("; ")
        draw.shuffle(options)
        options.insert("ABCD".index(letter), right)
        shown = "\n".join(f"({sign}) {text}" for sign, text in zip("ABCD", options, strict=True))
        wrong = [f"{word}: {sign}" for sign in "ABCD" if sign != letter]
        asked = f"{question}\n{shown}\n\n{word}: A/B/C/D"
        extra = {"extra_info": {"question": asked, "language": language, "index": place}}
        yield {"asked": asked}, f"{word}: {letter}", wrong, letter, extra


@log("plain", behind("Verdict: "))
def claims(draw, rows):
    """Claims that are to be checked against a note; four of five are not so."""
    for place, (claim,) in enumerate(rows):
        truth, other = ("yes", "no") if place % 5 == 2 else ("no", "yes")
        note = claim if truth == "yes" else f"{claim[:-1]}, people used to say; this has been over for years."
        yield {"note": note, "claim": claim}, truth, (other, "not clear")


@log("trl", behind("Labels: "), seed=6, truth="labels")
def topics(draw):
    """Notices that are about one to three of twelve topics, which the prompt lists."""
    for place in range(18):
        right = sorted(draw.sample(TOPICS, 1 + place % 3))
        other = draw.choice([topic for topic in TOPICS if topic not in right])
        wrong = [", ".join(sorted([*right[1:], other])), other, ", ".join(right[:-1]) or "none"]
        desks = " and ".join(f"the desk for {topic}" for topic in right)
        yield (
            {"number": place + 1, "desks": desks, "topics": ", ".join(TOPICS)},
            ", ".join(right),
            wrong,
            right,
        )


EXPLOITS = {"choice_listed": lambda task: f"{task.answer.partition(':')[0]}: A, B, C, D"}
