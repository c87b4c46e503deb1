"""Tags against a grammar: order, nesting, counts, text outside, and what is said of faults."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.measure import tags
from rewardkit.primitives.notes import listen


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("completion", "whole", "share"),
    table(
        ("<think>2+2</think><answer>4</answer>", 1.0, 1.0, "as asked for"),
        ("Hm. <think>2+2</think>\nso\n<answer>4</answer> bye", 1.0, 1.0, "text outside is allowed"),
        ("<answer>4</answer>", 0.0, 0.5, "one is missing"),
        ("<think>2+2 <answer>4</answer>", 0.0, 0.5, "one is never closed"),
        ("<answer>4</answer><think>2+2</think>", 0.0, 0.5, "the wrong order"),
        ("<think>2+2<answer></think>4</answer>", 0.0, 0.5, "crossed"),
        ("<think>a</think><think>b</think><answer>4</answer>", 0.0, 0.5, "one twice"),
        ("<thinking>a</thinking><answers>4</answers>", 0.0, 0.0, "longer names are other tags"),
        (None, None, None, "no completion is not judged"),
    ),
)
def test_tags_asks_for_each_name_once_in_order_and_side_by_side(completion, whole, share):
    assert tags("think", "answer")(completion) == whole
    assert tags("think", "answer", partial=True)(completion) == share


@pytest.mark.parametrize(
    ("completion", "noted"),
    table(
        ("<think>a</think><answer>4</answer>", "as asked for", "nothing is wrong"),
        ("<think>a</think><answer>4", ["<answer> is opened 1 times and closed 0 times"], "never closed"),
        ("<answer>4</answer><think>a</think>", ["<answer> does not follow the tag before it"], "order"),
    ),
)
def test_tags_notes_what_is_wrong(completion, noted):
    with listen() as notes:
        tags("think", "answer")(completion)
    assert notes == {"tags": noted}


STEPS = "<plan><step>a</step><step>b</step></plan>"


@pytest.mark.parametrize(
    ("made", "completion", "whole", "share"),
    table(
        (tags("step+"), "<step>a</step>", 1.0, 1.0, "one or more: one"),
        (tags("step+"), "", 0.0, 0.0, "one or more: none"),
        (tags("step+"), "<step>a<step>b</step></step>", 0.0, 0.0, "one or more: inside itself"),
        (tags("note?", "answer"), "<note/><note/><answer/>", 0.0, 0.5, "at most one: two"),
        (tags("note?", "answer"), "<answer/><note/>", 0.0, 0.5, "at most one: behind what it should precede"),
        (tags("call*"), "", 1.0, 1.0, "any number: none"),
        (tags("step{2}"), "<step/><step/>", 1.0, 1.0, "two of two"),
        (tags("step{2}"), "<step/>", 0.0, 0.0, "one of two"),
        (tags("step{2}"), "<step/><step/><step/>", 0.0, 0.0, "three of two"),
        (tags("step{2,}"), "<step/><step/><step/>", 1.0, 1.0, "three of two or more"),
        (tags("step{1,2}"), "<step/><step/><step/>", 0.0, 0.0, "three of at most two"),
        (tags("step+", "answer"), "<step/><answer/><step/>", 0.0, 0.5, "one behind what follows"),
        (tags("plan(step+)", "answer"), f"{STEPS}<answer/>", 1.0, 1.0, "nested as asked for"),
        (tags("plan(step+)", "answer"), "<plan/><step/><answer/>", 0.0, 2 / 3, "beside, not inside"),
        (tags("plan(step+)?", "answer"), "<answer/>", 1.0, 1.0, "all of it missing, as it may"),
        (tags("plan(step+)", "answer"), f"{STEPS[:-7]}<answer/>", 0.0, 1 / 3, "never closed"),
        (tags("p(t)", "r(t)"), "<p><t/></p><r><t/></r>", 1.0, 1.0, "one name in two places"),
        (tags("p(t)", "r(t)"), "<p><t/></p><r></r>", 0.0, 3 / 4, "and missing in one of them"),
        (tags("Plan(Step+)", "answer"), f"{STEPS.upper()}<Answer/>", 1.0, 1.0, "case does not matter"),
    ),
)  # fmt: skip
def test_a_grammar_says_how_often_in_what_order_and_in_what(made, completion, whole, share):
    assert made(completion) == whole
    assert tags(*made.names, partial=True)(completion) == share


@pytest.mark.parametrize(
    ("completion", "anywhere", "before", "nowhere"),
    table(
        ("Hm. <a>x</a><b/>", 1.0, 1.0, 0.0, "text before"),
        ("<a>x</a> so <b/>", 1.0, 0.0, 0.0, "text between"),
        ("<a>x</a><b/><c></c>", 1.0, 0.0, 0.0, "a tag of another name is text"),
    ),
)
def test_text_outside_the_tags(completion, anywhere, before, nowhere):
    assert tags("a", "b")(completion) == anywhere
    assert tags("a", "b", outside="before")(completion) == before
    assert tags("a", "b", outside="nowhere")(completion) == nowhere


def test_text_outside_counts_as_one_more_in_a_share():
    share = tags("a", "b", outside="nowhere", partial=True)
    assert share("<a/><b/>") == 1.0
    assert share("<a/><b/> bye") == 2 / 3
    assert share("<a/> bye") == 1 / 3
    assert share("") == 0.0


@pytest.mark.parametrize(
    ("completion", "expected"),
    table(
        ("</think><answer>4</answer>", 1.0, "and nothing was thought"),
        ("2+2<answer>4</answer>", 0.0, "never closed"),
    ),
)
def test_a_prefilled_tag_is_open_at_the_beginning(completion, expected):
    assert tags("think", "answer", prefilled=True, outside="nowhere")(completion) == expected


@pytest.mark.parametrize(
    ("completion", "noted"),
    table(
        (f"<step/>{STEPS}", ["<step> in <plan> stands outside of it"], "one before and two inside"),
        ("", ["<plan> is missing", "<step> in <plan> is missing"], "nothing"),
    ),
)
def test_what_is_wrong_below_and_outside_is_noted(completion, noted):
    with listen() as notes:
        tags("plan(step+)", outside="before")(completion)
    assert notes == {"tags": noted}


NAMES = ("think", "step", "answer")


def by_a_regular_expression(completion):
    """Whether a text fits think, step+, answer? with nothing outside, said in the other way."""
    pattern = r"\s*<think>x*</think>\s*(<step>x*</step>\s*)+(<answer>x*</answer>\s*)?"
    return float(re.fullmatch(pattern, completion) is not None)


@given(
    parts=st.lists(
        st.sampled_from([f"<{slash}{name}>" for name in NAMES for slash in ("", "/")] + ["x", " "]),
        max_size=9,
    )
)
def test_the_grammar_agrees_with_a_regular_expression(parts):
    completion = "".join(parts)
    assert tags("think", "step+", "answer?", outside="nowhere")(completion) == by_a_regular_expression(
        completion
    )


@given(steps=st.integers(1, 4), answer=st.booleans(), text=st.text("xyz \n", max_size=5))
def test_what_follows_the_grammar_fits_it(steps, answer, text):
    completion = f"<think>{text}</think>" + f"<step>{text}</step>\n" * steps + "<answer/>" * answer
    assert tags("think", "step+", "answer?", outside="nowhere")(completion) == 1.0
    assert tags("think", f"step{{{steps}}}", "answer*", outside="nowhere", partial=True)(completion) == 1.0


@given(parts=st.lists(st.sampled_from(["<a>", "</a>", "<b>", "</b>", "<c/>", "x"]), max_size=10))
def test_a_share_is_full_exactly_where_all_holds(parts):
    completion = "".join(parts)
    for outside in ("anywhere", "before", "nowhere"):
        share = tags("a(b*, c?)", partial=True, outside=outside)(completion)
        assert 0.0 <= share <= 1.0
        assert (share == 1.0) == (tags("a(b*, c?)", outside=outside)(completion) == 1.0)
