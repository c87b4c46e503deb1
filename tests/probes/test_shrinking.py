"""shrunk(): the smallest record that still holds, by leaving things out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.probes.search.completions import CLOSING, LISTS, MARK, OPENING, WRONG, Segment, filled
from rewardkit.probes.search.shrinking import shrunk
from rewardkit.probes.subjects.formats import Format
from rewardkit.probes.subjects.subject import Subject

FORM = Format("<answer>", "<think>\n", "<answer>", "</answer>")
SUBJECT = Subject("p0", {}, "How many?", "42", "number", ("17", "95", "160"), FORM, "", "")


def shrink(record, holds, calls=10_000):
    """The smallest text, and the candidates that were tried; `holds` is of the text."""
    tried = []

    def of_record(record):
        text = filled(record, SUBJECT)
        if text not in tried and len(tried) >= calls:
            return False
        if text not in tried:
            tried.append(text)
        return bool(holds(text))

    return filled(shrunk(record, of_record), SUBJECT), tried


def segments(*texts):
    return tuple(map(Segment, texts))


NOISE = segments("It is read once more.\n", "Score: 10", " so ")
FILLED = OPENING + WRONG[2] + CLOSING
SMALLEST = [
    ("two far apart", "a.*z", (*NOISE, *segments("a", "b", "c", "z"), *NOISE), "az"),
    ("a number of words", r"(?:\S+ ){23}", segments("some more words " * 50), ". " * 23),
    ("repeats of a tag", "(?:<t>\n?){3}", (Segment("<t>\n", 50),), "<t><t><t>"),
    ("signs of a word", "e.*e", segments("Verdict: CORRECT, yes indeed"), "ee"),
    ("a line break that is needed", "a\nb", segments("x", "a", "\n", "b", " y"), "a\nb"),
    ("an answer in its mark", "<.*17</.*>", (*NOISE, *segments(FILLED, MARK)), "<answer>17</answer>"),
    ("a list with the right answer", r"\D42\D", segments(f"So {[*LISTS][2]}"), "17 42 95"),
]


@pytest.mark.parametrize(("what", "pattern", "record", "smallest"), SMALLEST)
def test_the_smallest_form_is_found(what, pattern, record, smallest):
    assert shrink(record, re.compile(pattern, re.DOTALL).search)[0] == smallest


def test_with_few_calls_it_is_smaller_and_without_any_as_it_was():
    record = (*NOISE, *segments("so", "because", "thus"), Segment("filler ", 300))
    smallest, tried = shrink(record, re.compile("because").search, calls=15)
    assert len(tried) == 15 and len(smallest) < len(filled(record, SUBJECT)) / 2
    assert shrink(record, re.compile("because").search, calls=0)[0] == filled(record, SUBJECT)


RECORDS = st.lists(st.builds(Segment, st.text("ab <>", max_size=5), st.integers(1, 3)), max_size=6).map(tuple)


@given(RECORDS, st.integers(0, 5), st.integers(0, 5))
def test_no_sign_is_left_that_can_be_left_out(record, least_a, least_b):
    def holds(text):
        return text.count("a") >= least_a and text.count("b") >= least_b

    if holds(filled(record, SUBJECT)):
        smallest, _ = shrink(record, holds)
        assert holds(smallest) and set(smallest) <= {"a", "b"}
        assert shrink(record, holds)[0] == smallest
