"""Completions beside their siblings: scores by hand, what is missing, no order, long texts."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tabled import table

import rewardkit as rk

siblings, verify = rk.siblings, rk.verify
AGREE = partial(verify.numbers_equal, absolute=1)
HALF = 1 / 2


def called(made, values):
    """The scores of a column, whatever name the primitive asks for it by."""
    component = rk.Component("made", made)
    assert component.group and len(component.asks_for) == 1
    return (
        made(values)
        if component.call.positional
        else made(**{component.asks_for[0]: values})
    )


TABLE = [
    (
        siblings.diversity(ngram=2),
        ["a b c", "a b d", "x y"],
        [HALF, HALF, 1.0],
        "b c, b d and x y are own",
    ),
    (
        siblings.diversity(ngram=1),
        ["a b", "a b"],
        [0.0, 0.0],
        "copies have nothing of their own",
    ),
    (
        siblings.novelty(),
        ["abcd", "abcd", "abxy"],
        [0.0, 0.0, HALF],
        "a copy is nothing new",
    ),
    (
        siblings.majority(),
        ["4", "5", "5", "4", "6"],
        [HALF, HALF, HALF, HALF, 0.0],
        "two share it",
    ),
    (siblings.majority(), ["4", None, None], [None] * 3, "one answer is no majority"),
    (
        siblings.majority(same=verify.math_equal),
        ["1/2", "0.5", "2"],
        [1.0, 1.0, 0.0],
        "unless compared so",
    ),
    (
        siblings.majority(same=AGREE),
        ["1", "2", "3", "9"],
        [1.0, 1.0, 1.0, 0.0],
        "1 and 3 agree with 2",
    ),
    (
        siblings.rank(of="score"),
        [0.1, 0.9, 0.5],
        [0.0, 1.0, HALF],
        "beats none, both, one",
    ),
    (
        siblings.rank(of="score"),
        [1.0, 1.0, 0.0, None],
        [0.75, 0.75, 0.0, None],
        "a tie is half a win",
    ),
    (
        siblings.best_of(of="score"),
        [0.9, 0.9, 0.1],
        [HALF, HALF, 0.0],
        "the best share it",
    ),
    (
        siblings.length(),
        ["a b", "a b c d", "a b c"],
        [1.0, 0.4, 1.0],
        "4 beside a median of 2.5",
    ),
]


@pytest.mark.parametrize(("made", "values", "expected"), table(*TABLE))
def test_a_group_scores_what_is_worked_out_by_hand(made, values, expected):
    assert called(made, values) == [
        None if one is None else pytest.approx(one) for one in expected
    ]


MADE = [
    *(
        siblings.diversity(ngram=2),
        siblings.novelty(),
        siblings.length(),
        siblings.majority(),
    ),
    *(siblings.rank(of="score"), siblings.best_of(of="score")),
    siblings.majority(same=AGREE),
]


@pytest.mark.parametrize("made", MADE, ids=repr)
def test_what_is_alone_or_missing_is_not_judged(made):
    value = 0.5 if isinstance(made, siblings.rank | siblings.best_of) else "4 5 6"
    assert called(made, [value]) == called(made, [None]) == [None]
    assert called(made, []) == [] and called(made, [None, value]) == [None, None]
    both = called(made, [value, None, value])
    assert (
        both[1] == (0.0 if isinstance(made, siblings.majority) else None)
        and None not in both[::2]
    )


@pytest.mark.parametrize("made", MADE, ids=repr)
@given(data=st.data())
def test_the_order_of_siblings_moves_the_scores_with_them_and_changes_none(made, data):
    texts = st.sampled_from(["1", "2", "3", "a b c", "b c a b", "", None])
    numbers = st.sampled_from([0.0, 0.1, 0.5, 1.0, None])
    of_scores = isinstance(made, siblings.rank | siblings.best_of)
    values = data.draw(st.lists(numbers if of_scores else texts, max_size=6))
    order = data.draw(st.permutations(range(len(values))))
    first, turned = called(made, values), called(made, [values[at] for at in order])
    assert turned == [first[at] for at in order]
    assert all(score is None or 0.0 <= score <= 1.0 for score in first)


PIECES = ["a", "so ", "1", "\u4e2d", "\ud800", "\u0301\u0316", "a b c\n", "[(<"]


@pytest.mark.parametrize("made", [*MADE[:4], MADE[-1]], ids=repr)
def test_eight_long_texts_are_compared_in_time(bounded, made):
    for piece in PIECES:
        text = piece * (100_000 // len(piece))
        group = [f"{mark}{text}" for mark in "abcd"] + [
            f"{text}{mark}" for mark in "abcd"
        ]
        assert all(0.0 <= score <= 1.0 for score in called(made, group)), piece


def test_in_a_reward_they_see_their_group_only_and_go_with_a_score_that_is_missing():
    parts = [
        rk.Component("correct", verify.numbers_equal),
        rk.Component("agrees", siblings.majority(), weight=0.5),
        rk.Component("best", siblings.best_of(of="correct"), weight=0.5),
    ]
    reward = rk.Reward(
        "r", fields={"prediction": rk.extract.number()}, components=parts
    )
    rows = [
        ("p", "4", "4"),
        ("p", "4", "4"),
        ("p", "5", "4"),
        ("q", "7", None),
        ("q", "8", "8"),
    ]
    names = ("prompt_id", "completion", "ground_truth")
    table = rk.score(reward, [dict(zip(names, row, strict=True)) for row in rows]).table
    assert table["score/agrees"].tolist() == [1.0, 1.0, 0.0, HALF, HALF]
    assert table["score/best"].tolist()[:3] == [HALF, HALF, 0.0]
    assert table["status/best"].tolist() == ["scored"] * 3 + ["abstained"] * 2
    assert reward(completion="4", ground_truth="4").status["agrees"] == "abstained"
