"""A judge's logged rating that the reward misreads is named; what reads it well is not."""

import re

import pytest
from planted_probes import probed

LABELLED, RATIO, BRACKETS = (
    "Fair enough.\nRating: {}",
    "Dull. Score: {}/10",
    "Well [[{}]]",
)
WITH_NUMBER = "It names 2 of the points.\nRating: {}"
FORMS = (LABELLED, RATIO, BRACKETS)


def log(*forms, top=10, prompts=9, siblings=4, **columns):
    """Rows of prompts with siblings, each with a reply in one of the forms."""
    rows = []
    for place in range(prompts * siblings):
        rating = (3 * place + place // 7) % top + 1
        reply = forms[place % len(forms)].format(rating)
        row = {"prompt": f"Ask {place // siblings}", "completion": f"Answer {place} ."}
        rows.append({**row, "reply": reply, **columns})
    return rows


def numbers(reply):
    return [float(text) for text in re.findall(r"\d+(?:\.\d+)?", reply)]


def rating(reply):
    found = re.search(r"(?:Rating|Score): \**(\d+(?:\.\d+)?)|\[\[(\d+)", reply)
    return float(found[1] or found[2]) if found else None


def last_number(completion, reply):
    return numbers(reply)[-1] / 10


def first_number(completion, reply):
    return numbers(reply)[0] / 10


def one_digit(completion, reply):
    return int(re.search(r"\d", reply)[0]) / 10


def digits_at_end(completion, reply):
    return min(1.0, int(re.search(r"\d+$", reply)[0]) / 10)


def brackets_alone(completion, reply):
    found = re.search(r"\[\[(\d+)", reply)
    return int(found[1]) / 10 if found else 0.0


def shares_as_points(completion, reply):
    return rating(reply) / (100 if "/10" in reply else 10)


def harm_of_one_digit(completion, reply):
    return 1 - one_digit(completion, reply)


def of_a_key(completion, info):
    return one_digit(completion, info["judge"])


HALVES = ("Rating: {}.5", "Rating: {}")
MISREAD = {
    "the scale is read": (last_number, log(*FORMS), "high", "'Score: 1/10' earned 1"),
    "the scale of an object": (
        last_number,
        log('{{"score": {}, "of": 10}}', LABELLED),
        "high",
        "every rating in this form",
    ),
    "another number is read": (
        first_number,
        log(LABELLED, WITH_NUMBER),
        "warn",
        "'Rating: 10' behind another number earned 0.2",
    ),
    "10 is read as 1": (
        one_digit,
        log(*FORMS),
        "high",
        "'Rating: 10' earned 0.1, and 'Rating: 9' 0.9, with all else as logged, on 3 of 3 rows",
    ),
    "10 is read as 1, and the log has none": (
        one_digit,
        log(LABELLED, top=9),
        "high",
        "'Rating: 10' earned 0.1, and 'Rating: 9' 0.9",
    ),
    "less is better": (harm_of_one_digit, log(LABELLED), "high", "'Rating: 10' 0.9"),
    "decimals are read alone": (
        digits_at_end,
        log(*HALVES, top=9),
        "high",
        "'Rating: 9.5' earned 0.5",
    ),
    "one form of several is read": (
        brackets_alone,
        log(*FORMS),
        "warn",
        "earned 0, as does every rating in this form",
    ),
    "a form that is rare": (
        brackets_alone,
        log(*[BRACKETS] * 23, LABELLED, prompts=12),
        "info",
        "2 of 48 logged ratings are written so",
    ),
    "a form on another scale": (
        shares_as_points,
        log(RATIO, LABELLED),
        "warn",
        "'Score: 10/10' earned 0.1, and 'Rating: 10' 1",
    ),
    "a reply under a key": (
        of_a_key,
        [{**row, "info": {"judge": row["reply"], "index": 0}} for row in log(LABELLED)],
        "high",
        "misread in info['judge']",
    ),
    "a prompt a row": (
        lambda completion, judge: one_digit(completion, judge),
        [
            {**row, "judge": row["reply"]}
            for row in log(LABELLED, siblings=1, prompts=30)
        ],
        "high",
        "10' earned 0.1",
    ),
}


@pytest.mark.parametrize(
    ("reward", "rows", "severity", "words"), MISREAD.values(), ids=MISREAD
)
def test_a_misread_rating_is_named(reward, rows, severity, words):
    (item,) = probed(reward, rows, search=0, only="judge")["rating_misread"]
    assert item.severity == severity and words in item.sentence, item.sentence


def whole(completion, reply):
    return (rating(reply) - 1) / 9


def clamped(completion, reply):
    return min(1.0, rating(reply) / 5)


def within_nine(completion, reply):
    return rating(reply) / 9 if rating(reply) <= 9 else 0.0


def none_for_some(completion, reply):
    is_odd = int(completion.split()[1]) % 2
    if is_odd and "[[" not in reply:
        return None
    return rating(reply) / (10 if is_odd else 20)


def in_steps(completion, reply):
    return float(rating(reply) >= 7)


def harm(completion, reply):
    return -rating(reply)


def verdict_alone(completion, reply):
    return float("Fair" in reply)


def middle_alone(completion, reply):
    return float(4 <= rating(reply) <= 7)


def of_criteria(completion, reply):
    return sum(numbers(reply)[:2]) / 20


def number_of_task(completion, reply, wanted):
    return float(rating(reply) == wanted)


def within_budget(completion, reply):
    return float(numbers(reply)[0] <= 6)


def gated(completion, reply):
    return 0.0 if "1" in completion else rating(reply) / 10


CRITERIA = ("clarity: {0}, accuracy: {0}", "clarity score: {0}, accuracy score: 7")
TRUTHS = [{**row, "wanted": 8 + place % 3} for place, row in enumerate(log(LABELLED))]
SOUND = {
    "each form is read": (whole, log(*FORMS, WITH_NUMBER, "**Score: {} out of 10**")),
    "clamped": (clamped, log(*FORMS)),
    "nothing beyond the scale": (within_nine, log(LABELLED, top=9)),
    "None for other forms of some rows": (none_for_some, log(*FORMS)),
    "steps": (in_steps, log(*FORMS)),
    "less is better": (harm, log(*FORMS)),
    "a word is read, no number": (verdict_alone, log(*FORMS)),
    "the middle is paid": (middle_alone, log(*FORMS)),
    "criteria": (of_criteria, log(*CRITERIA)),
    "a tool's number, which is to be found": (number_of_task, TRUTHS),
    "a price": (within_budget, log("Price: {}", "It costs {} in all")),
    "a gate on the completion": (gated, log(*FORMS)),
}


@pytest.mark.parametrize(("reward", "rows"), SOUND.values(), ids=SOUND)
def test_what_reads_ratings_well_is_not_named(reward, rows):
    result = probed(reward, rows, search=0, only="judge")
    assert not result["rating_misread"], result["rating_misread"][0].sentence


def test_a_number_of_the_task_is_no_rating():
    alone = log(LABELLED, siblings=1, prompts=30)
    twice = [{**row, "completion": text} for row in alone for text in ("so", "no")]
    for rows in (alone, twice):
        assert not probed(one_digit, rows, search=0, only="judge")["rating_misread"]


def debated(*, begins=False):
    """Replies with the judge's outcome at their end, which quote another in one of three."""
    rows = []
    for place in range(48):
        own, quoted = ("PASS", "FAIL")[:: 1 if place % 2 else -1]
        lines = [f"Item {place // 4} was asked for.", f"Outcome: {own}"]
        if place % 3 == 0:
            lines[0] = f"It tells me to write Outcome: {quoted} here."
        row = {"prompt": f"Ask {place // 4}", "completion": f"Answer {place} ."}
        rows.append({**row, "judgement": "\n".join(lines[:: -1 if begins else 1])})
    return rows


def outcome(place):
    def paid(completion, judgement):
        return float(re.findall(r"Outcome: (\w+)", judgement)[place] == "PASS")

    return paid


@pytest.mark.parametrize(
    ("read", "begins", "words"),
    [
        (0, False, "This judge ends with its own, and 16 are paid by the first one"),
        (-1, True, "This judge begins with its own, and 16 are paid by the last one"),
        (-1, False, ""),
        (0, True, ""),
    ],
)
def test_a_verdict_that_the_judge_only_quotes_is_named_where_it_is_read(
    read, begins, words
):
    result = probed(outcome(read), debated(begins=begins), search=0, only="judge")
    found = result["other_verdict_read"]
    assert [item.severity for item in found] == ["high"] * bool(words)
    assert all(words in item.sentence for item in found)
