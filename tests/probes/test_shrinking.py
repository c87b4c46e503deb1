"""shrunk(): the smallest record that still holds, by leaving things out."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardkit.probes.search.pieces import RIGHT, Piece, shortlex, written
from rewardkit.probes.search.shrinking import shrunk
from rewardkit.probes.subjects.formats import Format
from rewardkit.probes.subjects.subject import Subject

FORM = Format("<answer>", "<think>\n", "<answer>", "</answer>")
SUBJECT = Subject("p0", {}, "How many?", "42", "number", ("17", "95", "160"), FORM, "", "")


def shrink(record, holds, calls=10_000):
    """The chain of texts, and how many candidates were tried; `holds` is of the text."""
    tried = []

    def of_records(records):
        texts = [written(record, SUBJECT) for record in records[: max(0, calls - len(tried))]]
        tried.extend(texts)
        answers = [text is not None and bool(holds(text)) for text in texts]
        return answers + [False] * (len(records) - len(answers))

    chain = shrunk(record, of_records, lambda record: shortlex(record, SUBJECT))
    return [written(record, SUBJECT) for record in chain], tried


def phrases(text):
    return tuple(Piece("phrase", word) for word in text.split())


NOISE = (Piece("before"), Piece("sentence", "It is read once more."), Piece("verdict", "Score: 10"))

SMALLEST = [
    pytest.param(text, record, smallest, id=why)
    for why, text, record, smallest in (
        ("one piece of many", "because", (*NOISE, *phrases("so because thus"), *NOISE), "because"),
        ("two pieces far apart", "a.*z", (*NOISE, *phrases("a b c d z"), *NOISE), "az"),
        ("nothing at all", "", NOISE, ""),
        ("repeats, by halving", r"(\S+\s+){22,}\S", (Piece("filler", times=500),), "\n".join("." * 23)),
        ("repeats of a tag", "(?:<t>\n?){3}", (Piece("open", "<t>", times=50),), "<t><t><t>"),
        ("a wrap", "so", (Piece("open", "**"), *phrases("so"), Piece("close", "**")), "so"),
        ("words of a sentence", "again", (Piece("sentence", "read it all once again now"),), "again"),
        ("characters of a word", "e.*e", (Piece("verdict", "Verdict: CORRECT, yes indeed"),), "ee"),
        ("a line break that is needed", "a\nb", phrases("x a b y"), "a\nb"),
        ("an answer in its mark", "<.*17</.*>", (*NOISE, Piece("mark", "", (0,))), "<answer>17</answer>"),
        ("an empty mark", "</answer>", (Piece("mark", " or ", (2, 1, 0)), *NOISE), "<answer></answer>"),
        ("a list with the right answer", r"\D42\D", (Piece("said", " and ", (2, 1, RIGHT, 2)),), "17 42 17"),
        ("a name for a tag", "check", (Piece("open", "<check>"), Piece("close", "</check>")), "check"),
    )
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "record", "smallest"), SMALLEST)
def test_the_smallest_form_is_found(pattern, record, smallest):
    chain, _ = shrink(record, re.compile(pattern, re.DOTALL).search)
    assert chain[-1] == smallest


@pytest.mark.parametrize(("pattern", "record", "smallest"), SMALLEST)
def test_every_step_holds_and_is_smaller_than_the_one_before(pattern, record, smallest):
    chain, _ = shrink(record, re.compile(pattern, re.DOTALL).search)
    assert all(re.search(pattern, text, re.DOTALL) for text in chain)
    sizes = [(len(text), text) for text in chain]
    assert sizes == sorted(set(sizes), reverse=True)


def test_the_two_ends_of_a_wrap_are_left_out_together():
    def closed(text):
        return "so" in text and text.count("(") == text.count(")")

    record = (Piece("open", "("), Piece("open", "(", joint=""), *phrases("so"), *(Piece("close", ")"),) * 2)
    assert shrink(record, closed)[0][-1] == "so"


def test_a_record_of_which_nothing_can_be_left_out_stays_as_it_is():
    record = phrases("a b")
    assert shrink(record, "a\nb".__eq__)[0] == ["a\nb"]


def test_where_nothing_smaller_holds_every_candidate_was_tried_once():
    chain, tried = shrink(phrases("a b c"), lambda text: False)
    assert chain == ["a\nb\nc"]
    assert len(tried) > 6


def test_without_calls_it_gives_what_it_was_given():
    record = (*NOISE, *phrases("so because thus"))
    chain, tried = shrink(record, lambda text: True, calls=0)
    assert chain == [written(record, SUBJECT)] and not tried


def test_with_few_calls_it_is_smaller_and_holds():
    record = (*NOISE, *phrases("so because thus"), Piece("filler", times=300))
    chain, tried = shrink(record, re.compile("because").search, calls=15)
    assert len(tried) == 15
    assert "because" in chain[-1] and len(chain[-1]) < len(chain[0]) / 2


def test_repeats_are_halved_and_not_counted_down():
    _, tried = shrink((Piece("open", "<t>", times=200),), lambda text: text.count("<t>") >= 77)
    assert len(tried) < 40


PIECES = st.lists(
    st.builds(
        Piece,
        st.sampled_from(["phrase", "open", "close", "verdict"]),
        st.text("ab <>", max_size=4),
        joint=st.sampled_from(["", " ", "\n"]),
    ),
    max_size=6,
).map(tuple)


@settings(max_examples=60, deadline=None)
@given(PIECES, st.integers(0, 5), st.integers(0, 5))
def test_no_character_is_left_that_can_be_left_out(record, least_a, least_b):
    def holds(text):
        return text.count("a") >= least_a and text.count("b") >= least_b

    whole = written(record, SUBJECT)
    if not holds(whole):
        return
    chain, _ = shrink(record, holds)
    assert holds(chain[-1])
    assert len(chain[-1]) == least_a + least_b
    assert shrink(record, holds)[0] == chain
