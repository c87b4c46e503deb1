"""Edits of a completion's record: whatever they make is certainly wrong, and can be made again."""

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.probes.contract.constants import constants
from rewardkit.probes.search.edits import EDITS, crossed, edited, openers
from rewardkit.probes.search.pieces import RIGHT, Piece, described, mentions, plain, written
from rewardkit.probes.search.vocabulary import SLOT, Told, Vocabulary, gathered
from rewardkit.probes.subjects.calibration import Calibration
from rewardkit.probes.subjects.formats import REASONING, Format
from rewardkit.probes.subjects.subject import Subject
from rewardkit.probes.subjects.wrongness import certainly_wrong

TAGGED = Format("<answer>", f"<think>{REASONING}</think>\n", "<answer>", "</answer>")
BOXED = Format("box", f"{REASONING}\n", r"So it is $\boxed{", "}$.")
SAID = Format("the answer is", "", "The answer is ", ".")
JSON = Format("JSON", "", '{"answer": ', "}", quoted=True)
CHOICES = "Which is largest?\n(A) one bale\n(B) a barn\n(C) some straw\n(D) no straw"


def subject(right, kind, wrong, form=TAGGED, prompt="How many?", **columns):
    reference, baseline = form.write(right), form.write(wrong[0])
    return Subject("p0", columns, prompt, right, kind, tuple(wrong), form, reference, baseline)


SUBJECTS = {
    "a number": subject("42", "number", ("17", "95", "160", "211")),
    "a number in a box": subject("42", "number", ("17", "95", "160"), BOXED),
    "zero": subject("0", "number", ("17", "95"), SAID),
    "one": subject("1", "number", ("17", "95"), JSON),
    "ten": subject("10", "number", ("35", "77", "211")),
    "a negative number": subject("-7", "number", ("35", "120", "211"), SAID),
    "a decimal": subject("2.5", "number", ("31", "48", "90")),
    "thousands": subject("1,250", "number", ("3,999", "4,700", "310")),
    "a letter": subject("B", "choice", ("A", "C", "D"), prompt=CHOICES),
    "the letter A": subject("A", "choice", ("B", "C", "D"), SAID, prompt=CHOICES),
    "a name": subject("Paris", "text", ("Lima", "Oslo", "none of these")),
    "one of several names": subject("Burma", "text", ("Laos", "Chad"), ground_truth=["Burma", "Myanmar"]),
    "a fraction": subject(r"\frac{3}{4}", "mathematics", ("2x+1", "-917"), BOXED),
    "an object": subject('{"total": 12}', "json", ('{"total": 73}',), Format("bare")),
    "code": subject("return 2 * x", "code", ("pass", "print(1)"), Format("fence", "", "```\n", "\n```")),
}
HOSTILE = (
    "42", "<answer>42</answer>", "forty-two", "4²", "21 + 21", "4 2", "84/2", "the answer is 42", "0", "none",
    "B", "(b)", "a barn", "Paris.", "myanmar", "0.75", r"\frac{6}{8}", "3/4", '"total": 12', "return  2 * x",
    "-7", "7", "1250", "1 250", "2.5", "5/2", "Score: 10", "10/10", "1", "1.0", "because", "10%", "100%",
)  # fmt: skip
VOCABULARY = Vocabulary(
    HOSTILE,
    ("answer", "think", "b"),
    (3, 42, 300),
    (
        Told(f"We take {SLOT} from {SLOT}.\n<answer>{SLOT}</answer>", "Another prompt"),
        Told("Paris", "How many?"),
    ),
)


def records(subject, seed, rounds):
    """Records as a search makes them: edits of edits, crossed."""
    draw = np.random.default_rng(seed)
    made = [plain(subject), *openers(plain(subject), VOCABULARY)]
    for _ in range(rounds):
        a, b = (made[int(draw.integers(len(made)))] for _ in range(2))
        made.append(edited(crossed(a, b, draw) if draw.random() < 0.3 else a, draw, VOCABULARY))
    return made


# A judge of its own, that knows nothing of records

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
MARKS = (
    r"<answer>(.*?)</answer>",
    r"<answer>([^<]*)</answer>",
    r"\\boxed\{(.*?)\}",
    r"[Aa]nswer is ([^.]*)\.",
)
MARKS += (r'"answer": "?([^"}]*)"?\}', r"```\n(.*?)\n```", r"(\{.*?\})")


def readings(text):
    """What strict judges read: the first mark, the last mark, or the whole text."""
    for mark in MARKS:
        found = re.findall(mark, text, re.DOTALL)
        if found:
            yield from (found[0], found[-1])
    yield text
    yield from text.strip().splitlines()[:1]
    yield from text.strip().splitlines()[-1:]


def takes_for_right(reading, one):
    """Whether a reading is the right answer: of numbers also its first and its last one."""
    rights = one.columns.get("ground_truth", [one.right])
    if one.kind == "number":
        said = NUMBER.findall(reading)
        numbers = [float(number.replace(",", "")) for number in (*said[:1], *said[-1:])]
        return any(abs(abs(number) - abs(float(one.right.replace(",", "")))) < 1e-6 for number in numbers)
    if one.kind == "choice":
        letters = re.findall(r"(?<![A-Za-z])[A-D](?![A-Za-z])", reading)
        return one.right in (*letters[:1], *letters[-1:])
    if one.kind == "mathematics":
        return len(reading) < 300 and rk.verify.math_equal(reading, one.right) is True
    plain = " ".join(reading.lower().split()).strip(" .!'\"")
    return plain in [" ".join(right.lower().split()) for right in rights]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(SUBJECTS)), st.integers(0, 2**32), st.integers(1, 12))
def test_no_edit_makes_what_a_strict_judge_takes_for_right_in_any_reading(name, seed, rounds):
    one = SUBJECTS[name]
    for record in records(one, seed, rounds):
        text = written(record, one)
        if text is not None:
            assert not [said for said in readings(text) if takes_for_right(said, one)], (record, text)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SUBJECTS)), st.integers(0, 2**32))
def test_the_right_answer_stands_only_in_lists_between_wrong_ones(name, seed):
    one = SUBJECTS[name]
    for record in records(one, seed, 8):
        text = written(record, one)
        if text is not None and re.search(rf"(?<![\w.,-]){re.escape(one.right)}(?!\w|[.,]\d)", text):
            assert mentions(record) and one.kind in ("number", "choice", "text", "mathematics")
            for piece in record:
                right = piece.answers.count(RIGHT)
                assert not right or piece.answers[0] != RIGHT != piece.answers[-1]
                assert 2 * right <= len(piece.answers) or not right


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SUBJECTS)), st.integers(0, 2**32))
def test_a_record_gives_the_same_text_again_and_a_seed_the_same_records(name, seed):
    one = SUBJECTS[name]
    first, second = records(one, seed, 6), records(one, seed, 6)
    assert first == second
    for record in first:
        again = eval(repr(record), {"Piece": Piece})
        assert again == record and written(again, one) == written(record, one)


@pytest.mark.parametrize("edit", [pytest.param(edit, id=edit.__name__) for edit in EDITS])
@pytest.mark.parametrize("vocabulary", [VOCABULARY, Vocabulary()], ids=["full", "empty"])
def test_every_edit_changes_something_and_keeps_nothing_from_being_written(edit, vocabulary):
    one, draw = SUBJECTS["a name"], np.random.default_rng(0)
    made = [edit(plain(one), draw, vocabulary) for _ in range(40)]
    assert any(record != plain(one) for record in made)
    assert sum(written(record, one) is not None for record in made) >= 4
    assert edit((), draw, vocabulary) is not None


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_the_plain_record_is_the_baseline(name):
    assert written(plain(SUBJECTS[name]), SUBJECTS[name]) == SUBJECTS[name].baseline


@pytest.mark.parametrize(
    "record",
    [
        pytest.param((Piece("said", ", ", (RIGHT, 0, 1)),), id="the right answer first"),
        pytest.param((Piece("said", ", ", (0, 1, RIGHT)),), id="the right answer last"),
        pytest.param((Piece("said", "", (0, RIGHT, 1)),), id="nothing between the answers"),
        pytest.param((Piece("mark", "", (RIGHT,)),), id="the right answer alone"),
        pytest.param(
            (Piece("said", ", ", (0, RIGHT, RIGHT, RIGHT, 1)),), id="more right ones than wrong ones"
        ),
        pytest.param((Piece("phrase", "It is 42."),), id="the right answer in a phrase"),
        pytest.param((Piece("phrase", "4"), Piece("phrase", "2", joint="")), id="put together of two"),
        pytest.param(
            (Piece("said", ", ", (0, RIGHT, 1)), Piece("phrase", "The end", joint="")),
            id="a list run into a word",
        ),
        pytest.param((Piece("filler", times=10**6),), id="too long"),
        pytest.param((Piece("phrase", "so"),) * 61, id="too many pieces"),
        pytest.param((Piece("told", "We add.", (0,), prompt="How many?"),), id="told to the same prompt"),
    ],
)
def test_what_is_not_certain_is_not_written(record):
    assert written(record, SUBJECTS["a number"]) is None


WRONG = "17 and 95, which is Score: 160 or more"
CERTAIN = [
    pytest.param(name, text, expected, id=f"{name}: {text}")
    for name, text, expected in (
        ("a number", WRONG, True),
        ("a number", "", True),
        ("a number", "It is 42.", False),
        ("a number", "-42", False),
        ("a number", "42.00", False),
        ("a number", "4,2", False),
        ("a number", "4 - 2", False),
        ("a number", "4\n2", False),
        ("a number", "0.42", False),
        ("a number", "marks.42", False),
        ("a number", "4 or 2", True),
        ("a number", "43", False),
        ("a number", "21*2", False),
        ("a number", "84 / 2", False),
        ("a number", r"\frac{84}{2}", False),
        ("a number", "100^1", False),
        ("a number", "4² or ½", False),
        ("a number", "forty", False),
        ("a number", "9" * 60, False),
        ("a number", "One half of nothing.", True),
        ("one", "One thing at a time.", False),
        ("one", "10/10", False),
        ("one", "100 %", False),
        ("zero", "nothing", False),
        ("a negative number", "7", False),
        ("a decimal", "2.4", False),
        ("a decimal", "5 / 2", False),
        ("thousands", "1250 bales", False),
        ("thousands", "1 250", False),
        ("a letter", "(A) or D", True),
        ("a letter", "b)", False),
        ("a letter", "1B", False),
        ("a letter", "It is a barn.", False),
        ("a letter", "barns by the sea", True),
        ("the letter A", "a question", False),
        ("the letter A", "[[A]]", False),
        ("a name", "Lima, or the capital of Peru", True),
        ("a name", "PARIS", False),
        ("one of several names", "In Myanmar.", False),
        ("a fraction", "917 or 12", True),
        ("a fraction", "0.75", False),
        ("a fraction", r"\frac{6}{8}", False),
        ("a fraction", "3 / 4", False),
        ("a fraction", "¾", False),
        ("a fraction", "2x+1, or else -917", True),
        ("a fraction", r"\frac{ 3 }{4}", False),
        ("an object", '{"total": 73}', True),
        ("an object", '{"n": 1, "total":12}', False),
        ("code", "return x", True),
        ("code", "return  2 * x", False),
    )
]


@pytest.mark.parametrize(("name", "text", "expected"), CERTAIN)
def test_a_text_is_certainly_wrong_only_where_nothing_in_it_can_be_read_as_right(name, text, expected):
    assert certainly_wrong(text, SUBJECTS[name]) is expected


THUS, SO, EMPTY = Piece("phrase", "thus"), Piece("phrase", "so"), Piece("mark")
DESCRIBED = [
    pytest.param(record, expected, id=expected)
    for record, expected in (
        ((), "nothing at all"),
        ((Piece("mark", "", (0,)),), "a wrong answer"),
        ((THUS, SO, EMPTY), "two keywords ('thus', 'so') and an empty answer"),
        ((Piece("open", "<b>", times=3),), "three tags (<b>)"),
        ((Piece("filler", times=300), Piece("prompt")), "300 words of filler and the prompt"),
        ((Piece("mark", ", ", (0, RIGHT, 1)),), "a list of answers with the right one among them"),
        (
            (Piece("delimiter", "```"), Piece("verdict", "Score: 10"), THUS),
            "a delimiter ('```'), a verdict ('Score: 10') and a keyword ('thus')",
        ),
        ((Piece("phrase", ".", times=2), Piece("phrase")), "two signs ('.') and a line break"),
        (
            (Piece("before"), Piece("told", "x", (0,)), Piece("marks", "\n", (0, 1))),
            "a part of the form, the text of another rollout and a list of wrong answers",
        ),
    )
]


@pytest.mark.parametrize(("record", "expected"), DESCRIBED)
def test_what_a_completion_is_made_of_is_said_in_words(record, expected):
    assert described(record) == expected


# The vocabulary

WORDS = ("hence", "thus")


class Grader:
    """Not this."""

    opening = "We note that"

    def __init__(self):
        self.closing = "as was to be shown"

    def __call__(self, completion):
        return float(completion.startswith(self.opening) and completion.endswith(self.closing))


def looks_for(completion, ground_truth, least=7):
    """Not this."""

    def inner(text):
        return re.search(r"step (one|two)", text) and len(text) > 300

    return any(word in completion for word in WORDS) and inner(completion) and "aha" in completion


def test_the_constants_of_code_are_those_that_it_loads_and_no_docstrings():
    found = constants([looks_for, partial(looks_for, ground_truth="partly"), Grader()])
    assert {"hence", "thus", "aha", 300, 7, "partly", "We note that", "as was to be shown"} <= set(found)
    assert "Not this." not in found


def test_of_primitives_the_options_are_known_and_not_their_code():
    found = constants(
        [rk.measure.keywords("because", "so"), rk.extract.tag("verdict"), rk.verify.numbers_equal]
    )
    assert {"because", "so", "verdict"} <= set(found)
    assert len(found) < 20


ROWS = [
    {"prompt_id": f"p{k}", "prompt": f"What is {k} plus 2?", "ground_truth": str(k + 2),
     "completion": f"<steps>{k} + 2 = {k + 2}, the sum of {k} and 2</steps><answer>{k + 2}</answer>"}
    for k in range(12, 30)
]  # fmt: skip


def test_a_vocabulary_has_what_patterns_match_and_what_rollouts_say_without_their_answers():
    reward = rk.Reward("r", components=[rk.Component("c", looks_for)])
    pool = tuple((row, rk.probes.trying.Outcome(1.0, {}, {}, {})) for row in ROWS)
    subjects = [SUBJECTS["a number"]]
    found = gathered(reward, Calibration(tuple(subjects), {}, pool, "truth"), subjects)
    assert {"step one", "hence", "thus", "aha"} <= set(found.phrases)
    assert {"answer", "think", "steps"} <= set(found.tags)
    assert 300 in found.numbers
    assert found.told and not any(re.search(r"\d", told.text) for told in found.told)
    assert found.told[0].text == f"<steps>{SLOT}, the sum of {SLOT} and {SLOT}</steps><answer>{SLOT}</answer>"
