"""Completions of a search: what edits make is certainly wrong; what a reward's code looks for is known."""

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.probes.contract.constants import constants
from rewardkit.probes.search import completions
from rewardkit.probes.search.completions import LISTS, written
from rewardkit.probes.search.edits import edited, openers
from rewardkit.probes.search.vocabulary import assembled
from rewardkit.probes.subjects.formats import REASONING, Format
from rewardkit.probes.subjects.subject import Subject

TAGGED = Format("<answer>", f"<think>{REASONING}</think>\n", "<answer>", "</answer>")
BOXED = Format("box", f"{REASONING}\n", r"So it is $\boxed{", "}$.")
LIST = next(iter(LISTS))


def subject(right, kind, wrong, form=TAGGED, **columns):
    return Subject(
        "p0", columns, "How many?", right, kind, wrong, form, form.write(right), form.write(wrong[0])
    )


SUBJECTS = {
    "a number": subject("42", "number", ("17", "95", "160")),
    "thousands": subject("1,250", "number", ("3,999", "4,700", "310")),
    "a letter": subject("(B)", "choice", ("(A)", "(C)", "(D)")),
    "a name": subject("Paris", "text", ("Lima", "Oslo")),
    "one of several names": subject("Burma", "text", ("Laos", "Chad"), ground_truth=["Burma", "Myanmar"]),
    "a fraction": subject(r"\frac{3}{4}", "mathematics", ("2x+1", "-917"), BOXED),
    "an object": subject('{"total": 12}', "json", ('{"total": 73}',), Format("bare")),
}
HOSTILE = ["42", "<answer>42</answer>", "42.0", "1", "B", "(b)", "Paris.", "MYANMAR", r"\frac{3}{4}", "1250",
           '{"total": 12}', "Score: 10", "because", "10%"]  # fmt: skip
VOCABULARY = assembled(HOSTILE, ["verdict", "b"], [3, 42, 300])


def states(text, one):
    """A judge of its own: whether the right answer stands in a text by itself."""
    rights = one.columns.get("ground_truth", [one.right.strip("()")])
    if one.kind == "number":
        return float(one.right.replace(",", "")) in map(
            float, re.findall(r"\d+\.?\d*", text.replace(",", ""))
        )
    return any(re.search(rf"(?<!\w){re.escape(right)}(?!\w)", text, re.IGNORECASE) for right in rights)


@given(st.sampled_from(sorted(SUBJECTS)), st.integers(0, 2**32))
def test_what_edits_make_states_the_right_answer_in_lists_between_wrong_ones_only(name, seed):
    one, draw = SUBJECTS[name], np.random.default_rng(seed)
    made = [completions.plain(one), *openers(completions.plain(one), VOCABULARY)]
    for _ in range(20):
        made.append(edited(made[draw.integers(len(made))], draw, VOCABULARY))
    for record in made:
        text = written(record, one)
        if text is not None and not completions.mentions(record):
            assert not states(text, one), (record, text)
        elif text is not None:
            listed = rf"\W{re.escape(one.wrong[0])}\W.*{re.escape(one.right)}.*{re.escape(one.wrong[1])}\W"
            assert re.search(listed, f" {text} ", re.DOTALL) and one.kind != "json"


CERTAIN = [
    ("a number", "17 and 95, which is Score: 160 or more", True),
    ("a number", "-42.00", False),
    ("thousands", "1250 bales", False),
    ("a letter", "b)", False),
    ("a name", "Lima, or the capital of Peru", True),
    ("a name", "PARIS", False),
    ("one of several names", "In Myanmar.", False),
    ("a fraction", r"\frac{3}{4}", False),
    ("an object", '{"total": 73}', True),
    ("an object", 'So {"total": 12}', False),
]


@pytest.mark.parametrize(("name", "text", "wrong"), CERTAIN)
def test_a_text_is_certainly_wrong_where_it_states_no_accepted_answer_nor_a_number_near_it(name, text, wrong):
    assert completions.certainly_wrong(text, SUBJECTS[name]) is wrong


# The vocabulary

WORDS = ("hence", "thus")
SCORED = re.compile(r"score: (\d+)")


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
        return re.search(r"<step>(one|two)\s+thing", text) and len(text) > 300

    return any(word in completion for word in WORDS) and inner(completion) and SCORED.search(completion)


def test_the_constants_of_code_are_those_that_it_loads_and_no_docstrings_and_of_primitives_their_options():
    found = constants([looks_for, partial(looks_for, ground_truth="partly"), Grader()])
    assert {"hence", "thus", 300, 7, "partly", "We note that", "as was to be shown"} <= {*found}
    assert "Not this." not in found and len(found) < 40
    found = constants([rk.measure.keywords("because", "so"), rk.extract.tag("verdict")])
    assert {"because", "so", "verdict"} <= set(found) and len(found) < 20
