"""A verdict that is found inside of words of a judge's answer is named, with what it pays."""

import re

import pytest
from planted_probes import inside, probed, tags

WORDS = {"A": "CORRECT.", "B": "INCORRECT.", "C": "NOT_ATTEMPTED."}
PAY = {"A": 1.0, "B": 0.0, "C": 0.5}
ROWS = [
    row
    for city in ("Lisbon", "Nairobi", "Oslo", "Quito", "Helsinki", "Lima")
    for row in [*tags(city), *tags(f"{city} ")]
]
ROWS = [{**row, "prompt": f"Where? {row['ground_truth'][:3]}"} for row in ROWS]


def ask(completion, truth, letters=WORDS):
    """What a judge says of an answer: now and then a word in place of its letter."""
    answer = (inside(completion) or "").strip()
    letter = "A" if answer == truth.strip() else "B" if answer else "C"
    return letters[letter] if len(completion) % 2 else letter


def grade_inside(reply):
    return next((letter for letter in "ABC" if letter in reply), "B")


def grade_alone(reply):
    letter = re.search(r"\b([ABC])\b", reply)
    return letter[1] if letter else "B"


def grade_by_table(reply):
    return {word: letter for letter, word in WORDS.items()}.get(reply, reply[:1])


def verdict_inside(reply):
    return float("correct" in reply)


def verdict_at_start(reply):
    return float(reply.startswith("correct"))


def letters_inside(completion, ground_truth):
    return PAY[grade_inside(ask(completion, ground_truth))]


def letters_alone(completion, ground_truth):
    return PAY[grade_alone(ask(completion, ground_truth))]


def letters_by_table(completion, ground_truth):
    return PAY[grade_by_table(ask(completion, ground_truth))]


LOWER = {"A": "correct", "B": "incorrect", "C": "nothing there"}


def words_inside(completion, ground_truth):
    return verdict_inside(ask(completion, ground_truth, LOWER))


def words_at_start(completion, ground_truth):
    reply = ask(completion, ground_truth, LOWER)
    return verdict_at_start(LOWER.get(reply, reply))


@pytest.mark.parametrize(
    ("reward", "reader"),
    [
        (letters_inside, "grade_inside('INCORRECT')"),
        (words_inside, "verdict_inside('incorrect')"),
        (letters_alone, ""),
        (letters_by_table, ""),
        (words_at_start, ""),
    ],
)
def test_a_verdict_found_inside_of_words_is_named(reward, reader):
    found = probed(reward, ROWS, search=0)["verdict_in_words"]
    assert len(found) == bool(reader)
    for item in found:
        assert reader in item.sentence and item.severity != "info"


def test_what_such_a_verdict_pays_is_no_finding_of_its_own():
    result = probed(letters_inside, ROWS, search=0)
    (item,) = result["verdict_in_words"]
    assert item is result.findings[0] and item.evidence["also"]
    assert not {*item.evidence["also"]} & {other.code for other in result.findings}
