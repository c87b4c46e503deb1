"""Answers: what a truth states, where completions state theirs, and which are right."""

import json
import math
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import read_table

import rewardkit as rk
from rewardkit.answers.comparison import states_truth
from rewardkit.answers.formats import REASONING, Format
from rewardkit.answers.judging import JudgedLog, judge_log
from rewardkit.answers.kinds import (
    common_kind,
    kind_of,
    kind_of_stated,
    read_options,
    read_truth,
)
from rewardkit.answers.marks import find_marks
from rewardkit.answers.misjudged import find_contradictions, find_misjudged
from rewardkit.answers.truth_column import name_truth
from rewardkit.probes.subjects.drafts import with_format
from rewardkit.probes.subjects.log import plain_subject
from rewardkit.strategies import strategy
from rewardkit.strategies.strategy import write_stub, wrong_answers
from rewardkit.strategies.values import truth_like

OF_TRUTHS = [
    ("20 + 22 = 42\n#### 42", "42"),
    (r"so it is $\boxed{\frac{1}{2}}$", r"\frac{1}{2}"),
    (["Paris", "paris, France"], "Paris"),
    ({"a": 1}, '{"a": 1}'),
    *((empty, None) for empty in ("  ", None, [], "x ####")),
]
KINDS = r"""
-3.5 :: number
$1,234 :: number
50% :: number
B :: choice
(C) :: choice
B) Mercury :: choice
A boat :: text
Ada Lovelace :: text
1.2.3 :: text
Select one of them.⏎It is from Oslo :: text
\sqrt{2} :: mathematics
x^2+1 :: mathematics
(3, 4) :: mathematics
\{-5, 8\} :: mathematics
$3x - 2$ :: mathematics
Prices of $3 and $4 rose :: text
{"a": [1, 2]} :: json
[1, 2] :: json
def f(x):⏎    return x :: code
SELECT COUNT(*)⏎FROM item⏎WHERE price = 7 :: code
WITH dear AS (⏎  SELECT name⏎  FROM item⏎)⏎SELECT * FROM dear :: code
"""
OPTIONS = r"""
Which?⏎A. one⏎B. two⏎C. three :: ABC
Which? (A) one (B) two (E) none :: ABE
A question without options. :: ABCD
"""
READ = [
    *((read_truth, *row) for row in OF_TRUTHS),
    *((kind_of, *row) for row in read_table(KINDS)),
    *((read_options, *row) for row in read_table(OPTIONS)),
]


@pytest.mark.parametrize(
    ("read", "given", "expected"), READ, ids=[str(row[1])[:20] for row in READ]
)
def test_the_answer_of_a_truth_its_kind_and_the_letters_that_a_prompt_offers(
    read, given, expected
):
    assert read(given) == expected


MARKS = r"""
<THINK>1</THINK> so 4 :: '' :: 4 :: number
<think>1</think><answer> 4 </answer> :: <answer>  :: 4 :: tag <answer>
<Answer id="1">4</Answer> :: '' :: 4 :: number
so \boxed{\frac{1}{2}}. :: \boxed{ :: \frac{1}{2} :: box
5 + 2⏎#### 7 :: ####  :: 7 :: ####
```python⏎print(1)⏎``` :: ```python⏎ :: print(1) :: fence
It is **4** now :: ** :: 4 :: bold
So `0 7 * * 1` it is :: ` :: 0 7 * * 1 :: backticks
Here: {"sum": 4} :: Here:  :: {"sum": 4} :: object
Well.⏎Answer: Oslo. :: Answer:  :: Oslo :: colon
It makes 1/2 of it :: '' :: 1/2 :: number
Well.⏎Oslo ⏎ :: '' :: Oslo :: line
"""
"""A completion, what opens the answer in it, the answer, and the name of its mark."""


@pytest.mark.parametrize(("completion", "opening", "answer", "name"), read_table(MARKS))
def test_marks_are_read_as_the_extractors_of_a_reward_read_them_and_written_back(
    completion, name, answer, opening
):
    marks = {marked.format.name: marked for marked in find_marks(completion)}
    marked = marks[name]
    assert (marked.answer, marked.format.opening) == (answer, opening)
    assert marked.format.write(answer) == completion
    assert f"{opening}other" in marked.format.write("other")


def test_marks_are_found_in_time_in_a_completion_with_thousands_of_tags():
    completion = "".join(f"<t{at}>x</t{at}>" for at in range(20_000))
    began = time.perf_counter()
    assert find_marks(completion)[0].format.tag == "t19999"
    assert time.perf_counter() - began < 5


RIGHT = r"""
<answer>3/6</answer> :: 0.5 :: right :: a fraction is a number
#### 1,200 :: 5 * 240⏎#### 1200 :: right :: a worked solution
The option is B :: (C) Rome :: wrong :: an option that was not named is wrong
Answer: b, a :: a,b :: unknown :: the order of a list may not matter
\boxed{\text{a b}} :: a, b :: unknown :: nor may its separators
Answer: b, c :: a,b :: wrong :: another item is another answer
Answer: 66 m2 :: 66 :: right :: a square metre is a unit
Answer: 5 cm :: 5 m :: wrong :: another unit is another amount
Answer: 5 metres :: 5 m :: right :: the same unit in full
'' :: 7 :: wrong :: nothing is no number
'' :: [] :: unknown :: an empty truth may be stated by nothing
I think so :: 7 :: unknown :: no mark and no number: not known
<answer>perhaps</answer> :: 7 :: wrong :: what a mark holds is the answer
<answer><b>36</b></answer> :: 36 :: right :: the inner tag holds the answer
<answer>0 1 2 12</answer> :: 12 :: wrong :: a list of numbers is none of them
<answer>12</answer><answer>13</answer> :: 12 :: wrong :: the last answer counts
So it is. Answer: H2O. More follows. :: H2O :: right :: a sentence ends behind it
The answer is paris, because it is. :: Paris :: right :: a reason may follow
**Answer:** Au. It is gold.⏎Note: done :: Au :: right :: another line has a colon
Well.⏎Result: **Au**. It is gold. :: Au :: right :: another label, and bold
The answer is Dr. Who. I know him. :: Dr. Who :: right :: a truth has a stop
The answer is the 12th of May 1997. Yes. :: 1997-05-12 :: right :: a date in words
Answer = Monday, May 12, 1997 :: 1997-05-12 :: right :: a day of the week beside it
The answer is May 12, 1997 or 1998. :: 1997-05-12 :: unknown :: it is one of two
The answer is Rome, not Paris. :: Paris :: unknown :: it is denied
The answer is Paris or Rome. :: Paris :: unknown :: it is one of two
The answer is Paris only if I am wrong. :: Paris :: unknown :: on a condition
Is the answer Paris? No. :: Paris :: unknown :: a question states nothing
The answer is Parisian. Yes. :: Paris :: unknown :: it is a part of a word
Answer: Paris. No. Answer: Rome. So. :: Paris :: wrong :: the last one counts
"""
RIGHT_ROWS = [
    *read_table(RIGHT),
    ("123'" * 300, "7", "unknown", "a number too long has no part that is one"),
    ("It is '500'", "7", "wrong", "quotes are around a number"),
]
"""A completion, its truth, whether it is right, and why."""
CERTAIN = {"right": 1.0, "wrong": 0.0, "unknown": math.nan}


TRUTH_COLUMNS = [
    # columns of rows beside the completion "Answer: N", and which of them is the truth
    ({"bearing": int}, "bearing", "a name of its own"),
    ({"bearing": str, "topic": "t{}".format}, "bearing", "another column beside it"),
    ({"answer": str, "bearing": int}, "answer", "a name that is known"),
    ({"bearing": int, "degrees": int}, None, "two columns that say the same"),
    ({"parsed": None}, None, "what each completion states is no truth"),
    ({"year": lambda number: 7}, None, "one value for all"),
    ({"logged/right": int}, None, "a score of the log"),
]


@pytest.mark.parametrize(("columns", "found", "why"), TRUTH_COLUMNS)
def test_a_truth_is_found_under_a_name_of_its_own(columns, found, why):
    rows = []
    for number in range(6, 12):
        for place in range(2):
            stated = number + 100 * place
            rows.append({"prompt": f"{number}?", "completion": f"Answer: {stated}"})
            for name, write in columns.items():
                rows[-1][name] = write(number) if write else stated
    rollouts = name_truth(rk.load_rollouts(rows), list(columns))
    assert rollouts.mapping.get("ground_truth") == found, why
    if found is not None:
        assert rollouts[2]["ground_truth"] == columns[found](7)


MISJUDGED = [
    # what right completions earn, what a completion that nobody judged earns
    ([0.0] * 2 + [1.0] * 21, 1.0, [], "two of 23 may be slips"),
    ([0.0] * 9 + [1.0] * 100, 1.0, [], "nine of 109, with nothing in common"),
    ([0.0] * 3 + [1.0] * 21, 1.0, ["right_unpaid"], "three are more than a tenth"),
    ([0.0] * 5, 1.0, [], "where none of them is paid, something else is"),
]


@pytest.mark.parametrize(("earned", "unjudged", "codes", "why"), MISJUDGED)
def test_few_right_completions_that_earn_nothing_are_no_fault(
    earned, unjudged, codes, why
):
    labels = [True] * len(earned) + [None]
    rows = [{"prompt": str(at), "completion": "x"} for at in range(len(labels))]
    answers = judge_log(rows, [*earned, unjudged], labels=labels)
    log = JudgedLog(answers, answers, (), by_label=True)
    found = [item.code for item in find_misjudged(log)]
    assert found == codes, why


@pytest.mark.parametrize(
    ("ids", "count"),
    [("prompt_id", 0), ("rollout_id", 1)],
    ids=["one text of several prompts", "one prompt"],
)
def test_equal_answers_contradict_each_other_only_on_one_prompt(ids, count):
    """Questions about images have one text and no truth that is read."""
    rows = []
    earned = []
    for place in range(64):
        text = f"What is shown in {place // 16}?"
        completion = f"<answer>{place % 2}</answer>"
        rows.append({"prompt": text, "completion": completion, ids: str(place // 4)})
        earned.append(float(place % 2 == place // 4 % 2))
    assert len(list(find_contradictions(judge_log(rows, earned)))) == count


@pytest.mark.parametrize(("completion", "truth", "right", "why"), RIGHT_ROWS)
def test_a_completion_is_right_where_it_states_the_truth(completion, truth, right, why):
    expected = pytest.approx(CERTAIN[right], nan_ok=True)
    assert states_truth(completion, truth) == expected, why


def test_an_object_is_no_answer():
    assert math.isnan(states_truth("x", {"answer": "x"}))


def test_the_kind_of_many_answers_is_that_of_nearly_all_or_of_half_where_marks_err():
    answers = ["1", "2", "3", "none"]
    assert common_kind(answers) == "text"
    assert kind_of_stated(answers, "box") == "number"
    assert kind_of_stated(["a, b", "c, d"], "box") == "list"
    assert kind_of_stated(["a, b", "c, d"], "whole") == "prose"
    sentences = ["The lift is closed for repairs, so please use the stairs."] * 2
    assert kind_of_stated(sentences, "tag") == "text"


@given(
    st.integers(-10_000, 10_000), st.lists(st.integers(-500, 500).map(str), max_size=8)
)
def test_wrong_numbers_are_far_from_the_right_one_and_share_no_digits_with_it(
    number, others
):
    wrong = wrong_answers(str(number), "number", others=others)
    assert len(wrong) >= 2
    for text in wrong:
        assert abs(float(text) - number) > max(1, abs(number)) / 2
        assert str(abs(number)) not in text and text.lstrip("-") not in str(abs(number))


def test_a_wrong_choice_is_another_letter_and_every_value_of_a_wrong_object_is_wrong():
    assert all(
        set(wrong_answers(letter, "choice")) == set("ABCD") - {letter}
        for letter in "ABCD"
    )
    right = {
        "name": "Ada",
        "paid": True,
        "items": ["pen", "ink"],
        "total": 3.5,
        "extra": {},
    }
    (wrong,) = wrong_answers(json.dumps(right), "json")
    assert not rk.verify.json_equal(wrong, json.dumps(right), partial=True)


def test_other_answers_are_kept_only_where_neither_is_a_part_of_the_other():
    others = ["Paris", "paris, France", "Par", "Rome", "3^x", r"\frac{1}{2}"]
    of_text = wrong_answers("Paris", "text", others=others)
    assert {"3^x", "Rome"} <= {*of_text} and not {"Paris", "paris, France", "Par"} & {
        *of_text
    }
    of_formula = wrong_answers(r"\frac{1}{2}", "mathematics", others=others)
    assert "3^x" in of_formula and not {"Rome", r"\frac{1}{2}"} & {*of_formula}


def test_a_program_is_emptied_once_for_all_formats(monkeypatch):
    answers = []

    def written(answer):
        answers.append(answer)
        return write_stub(answer)

    monkeypatch.setattr(strategy, "write_stub", written)
    program = "def double(n):\n    return 2 * n"
    row = {"completion": program, "prompt": "?"}
    draft = replace(plain_subject(row), answer=program, kind="code", wrong=("pass",))
    for name in ("bare", "fence"):
        subject = with_format(draft, Format(name, opening=f"{name}:\n"))
        assert subject.baseline == f"{name}:\ndef double(n):\n    return None"
    assert answers == [program]


def test_a_program_that_is_nested_too_deeply_has_no_stub():
    table = " + ".join(["a"] * 2000)  # behind the function, which would be emptied
    assert write_stub(f"def double(n):\n    return {table}")
    assert write_stub(f"def double(n):\n    return 2 * n\n\nb = {table}") is None


LIKE = [
    ("a\n#### 5", "-1", "a\n#### -1"),
    (5, "0", 0),
    (5.0, "-2", -2.0),
    ([5], "0", [0]),
]
LIKE += [("5", "", ""), (5, "", None), (r"\boxed{5}", "0", None), (True, "0", None)]


@pytest.mark.parametrize(("truth", "answer", "made"), LIKE)
def test_a_truth_of_the_same_form_with_another_answer(truth, answer, made):
    assert truth_like(truth, answer) == made


FORMS_WITH_A_UNIT = """
**Turnout:  ::  %** :: '' :: 45.3% :: **Turnout: 45.3%**
**Turnout:  ::  %** :: '' :: 45.3 :: **Turnout: 45.3 %**
Way:  :: '' ::  m. I checked. :: 42 m :: Way: 42 m. I checked.
Way:  :: '' ::  metres :: 42 :: Way: 42 metres
Way:  :: '' ::  more :: 42 m :: Way: 42 m more
Price: $ :: . :: '' :: $5 :: Price: $5.
$ :: $ :: '' :: $5 :: $$5$
** :: ** :: '' :: **B** :: **B**
Turnout:  :: '' ::  . :: Turnout: 45.3 :: Turnout: 45.3 .
<answer> :: </answer> :: '' :: 4 :: <answer>4</answer>
"""
"""Opening, closing, tail, the right answer, and the answer in its form."""


@pytest.mark.parametrize(
    ("opening", "closing", "tail", "right", "written"), read_table(FORMS_WITH_A_UNIT)
)
def test_no_unit_and_no_mark_that_the_right_answer_brings_along_is_written_twice(
    opening, closing, tail, right, written
):
    form = Format("a rollout's", "", opening, closing, tail)
    assert form.without_doubles(right).write(right) == written


def test_neutral_reasoning_stays_behind_a_tag_that_the_prompt_has_opened():
    form = Format("line", "I add.\nSo it is.\n</think>\nWell: ", "Answer: ")
    assert form.neutralized().lead == f"{REASONING}\n</think>\nWell: "
