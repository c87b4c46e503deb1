"""Evidence: citations against known ids, and the final answer's words in what was retrieved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.agents.evidence import citations, grounding
from rewardkit.primitives.notes import listen
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


def said(content, **more):
    return {"role": "assistant", "content": content, **more}


def result(content, **more):
    return {"role": "tool", "content": content, **more}


KNOWN = ["a1", "a2", "b3", "b4"]
TWO = "First [Source: a1], then [Source: b3]."


@pytest.mark.parametrize(
    ("completion", "known_ids", "precision", "recall", "f1"),
    table(
        (TWO, KNOWN, 1.0, 0.5, 2 / 3, "two of four, both right"),
        ("[Source: a1] [Source: x]", KNOWN, 0.5, 0.25, 1 / 3, "one of two is right"),
        ("[Source: a1] " * 50, KNOWN, 1.0, 0.25, 0.4, "one source fifty times is one"),
        ("见[Source：a1，a2、b3]。", KNOWN, 1.0, 0.75, 6 / 7, "full-width signs"),
        ("[Source: a1,]", KNOWN, 1.0, 0.25, 0.4, "a comma with nothing after it"),
        ("[Source: a]", KNOWN, 0.0, 0.0, 0.0, "a part of an id is none"),
        ("It is 4.", KNOWN, 0.0, 0.0, 0.0, "nothing cited earns nothing"),
        ("[Source: ] [Source:] [Source: ,;]", KNOWN, 0.0, 0.0, 0.0, "a citation of nothing is none"),
        ("[Sources: a1] (Source: a1) [a1] Source: a1]", KNOWN, 0.0, 0.0, 0.0, "other forms are none"),
        ("[Source: a1\n] [Source: a1", KNOWN, 0.0, 0.0, 0.0, "nor is one that the line or the text cuts off"),
        ("[Source: [a1]] [Source: a1]", KNOWN, 1.0, 0.25, 0.4, "brackets in brackets are none"),
        ("<think>[Source: x]</think>[Source: a1]", KNOWN, 1.0, 0.25, 0.4, "thought does not cite"),
        ("[Source: x]</think>[Source: a1]", KNOWN, 1.0, 0.25, 0.4, "nor one that the template began"),
        ([said("[Source: x]"), result("[Source: a2]"), said("[Source: a1]")], KNOWN, 1.0, 0.25, 0.4,
         "of messages the final answer"),
        (TWO, "a1, a2, b3, b4", 1.0, 0.5, 2 / 3, "ids as text with commas"),
        (TWO, {"a1", "a2", "b3", "b4"}, 1.0, 0.5, 2 / 3, "as a set"),
        (TWO, [*KNOWN, None], 1.0, 0.5, 2 / 3, "with a gap"),
        ("[Source: 1] [Source: 3]", [1.0, 2.0], 0.5, 0.5, 0.5, "numbers of a column with gaps"),
        ("[Source: Portland, Oregon; Rome]", ["Portland, Oregon", "Rome"], 1.0, 1.0, 1.0, "a comma in an id"),
        ("[Source: a1]", [], 0.0, None, 0.0, "a citation where nothing is known is invented"),
        ("[Source: a1]", "", 0.0, None, 0.0, "and where the text of ids is empty"),
        ("[Source: ]", [], None, None, None, "a citation of nothing there is silence"),
        ("It is 4.", [], None, None, None, "silence there cannot be judged"),
        (TWO, None, None, None, None, "missing ids"),
        (TWO, float("nan"), None, None, None, "missing ids of a table"),
        (TWO, True, None, None, None, "nor can a bool"),
        (TWO, 1.5, None, None, None, "nor a fraction"),
        (None, KNOWN, None, None, None, "no completion is not judged"),
        (5, KNOWN, None, None, None, "nor is a number"),
    ),
)  # fmt: skip
def test_citations_are_compared_with_the_known_ids(completion, known_ids, precision, recall, f1):
    scores = [citations(kind)(completion, known_ids) for kind in ("precision", "recall", "f1")]
    assert scores == [None if item is None else pytest.approx(item) for item in (precision, recall, f1)]


@pytest.mark.parametrize(
    ("label", "completion"),
    table(
        ("来源", "[来源：a1]", "a Chinese word"),
        ("p.", "[p.: a1] [px: x]", "a label is no pattern"),
    ),
)
def test_the_label_of_a_citation_is_an_option(label, completion):
    assert citations(label=label)(completion, ["a1"]) == 1.0


def test_citations_note_their_counts():
    with listen() as notes:
        citations("f1")("[Source: a1] [Source: x]", KNOWN)
    assert notes == {"citations": {"cited": 2, "known": 4, "right": 1}}


def test_a_reward_fills_both_parameters_by_name():
    cited = Component("cited", citations(), columns={"known_ids": "sources"})
    assert cited.asks_for == ("completion", "sources")
    grounded = Component("grounded", grounding(ngram=1))
    assert grounded.asks_for == ("messages",)
    messages = [said(None), result("Oslo is cold"), said("Oslo [Source: a1]")]
    found = Reward("r", components=[cited, grounded])(
        completion="Oslo [Source: a1]", sources=["a1"], messages=messages
    )
    assert found.scores == {"cited": 1.0, "grounded": pytest.approx(1 / 3)}


FOUND = [said("I look."), result("The tower in Paris is 330 metres high.")]


@pytest.mark.parametrize(
    ("answer", "words", "runs"),
    table(
        ("It is 330 metres high.", 4 / 5, 2 / 3, "two runs of three"),
        ("Rome burns again", 0.0, 0.0, "other words"),
        ("33", 0.0, 0.0, "which is not a part of one"),
        ("330 metres high " * 20, 1.0, 1 / 3, "what is said again counts once"),
        ("", 0.0, 0.0, "no answer is not grounded"),
        ("?!", 0.0, 0.0, "nor is one without words"),
    ),
)
def test_grounding_is_the_share_of_the_answers_runs(answer, words, runs):
    messages = [*FOUND, said(answer)]
    assert grounding(ngram=1)(messages) == pytest.approx(words)
    assert grounding()(messages) == pytest.approx(runs)


@pytest.mark.parametrize(
    ("messages", "expected"),
    table(
        ([said("330 metres")], 0.0, "without results nothing is grounded"),
        ([said("I look."), result("330 metres", is_error=True), said("330 metres")], 0.0, "a failed result"),
        ([said("330 metres"), result("330 metres")], 0.0, "a result that came later"),
        ([said("a"), {"role": "user", "content": "330 metres"}, said("330 metres")], 0.0, "a user's words"),
        ([said("a"), {"role": "user", "content": "<tool_response>330 metres</tool_response>"},
          said("330 metres")], 1.0, "but a response there"),
        ([said("a"), result("330"), result("metres"), said("330 metres")], 0.0, "a run across two results"),
        ([said("a"), result("巴黎的铁塔高330米。"), said("铁塔高330米")], 1.0, "Chinese"),
        ([result("330 metres")], None, "no assistant is not judged"),
        ([], None, "nor are no messages"),
        ("330 metres", None, "nor is a text alone"),
        (5, None, "nor a number"),
    ),
)  # fmt: skip
def test_what_an_answer_can_be_grounded_in(messages, expected):
    assert grounding()(messages) == expected


def test_grounding_notes_its_counts():
    with listen() as notes:
        grounding()([*FOUND, said("It is 330 metres high.")])
    assert notes == {"grounding": {"ngrams": 3, "found": 2}}


PIECES = "330|metres|high| |.|铁|塔|[Source: a1]|[Source: |]|a2, |<think>|</think>|\ud800|\n".split("|")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=20)
RUNS = st.lists(st.builds(result, TEXTS) | st.builds(said, TEXTS), max_size=5)


@given(messages=RUNS, answer=TEXTS, ngram=st.integers(1, 4))
def test_grounding_is_a_score_that_results_only_raise(messages, answer, ngram):
    measure = grounding(ngram=ngram)
    score = measure([*messages, said(answer)])
    assert 0.0 <= score <= measure([result("330 metres high 铁塔"), *messages, said(answer)]) <= 1.0
    if answer and "<think>" not in answer and "</think>" not in answer and score:
        assert measure([result(answer), said(answer)]) == 1.0


@given(completion=TEXTS, known=st.lists(st.sampled_from(KNOWN)) | TEXTS)
def test_f1_lies_between_precision_and_recall(completion, known):
    precision, recall, f1 = (citations(kind)(completion, known) for kind in ("precision", "recall", "f1"))
    for score in (precision, recall, f1):
        assert score is None or 0.0 <= score <= 1.0
    if recall is not None:
        assert min(precision, recall) - 1e-12 <= f1 <= max(precision, recall) + 1e-12


@given(ids=st.lists(st.text("abc12-_.", min_size=1, max_size=4), min_size=1, max_size=6, unique=True))
def test_citing_exactly_the_known_ids_is_perfect(ids):
    for completion in (" ".join(f"[Source: {item}]" for item in ids), f"[Source: {', '.join(ids)}]"):
        assert [citations(kind)(completion, ids) for kind in ("precision", "recall", "f1")] == [1.0] * 3
        assert citations()(completion + "[Source: none]", ids) == len(ids) / (len(ids) + 1)
