"""Gating: when a gate is open, closed, or cannot tell, and which gates cannot be made."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives.gates import Gate, gate


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


def long_enough(completion):
    return len(completion) > 3


@pytest.mark.parametrize(
    ("limits", "value", "expected"),
    table(
        ({"at_least": 1.0}, 1.0, True, "at the lower limit"),
        ({"at_least": 1.0}, 0.99, False, "below the lower limit"),
        ({"at_least": 0.0}, 0.0, True, "a lower limit of 0 is a limit"),
        ({"at_least": 0.0}, -0.1, False, "below a lower limit of 0"),
        ({"at_most": 0.5}, 0.5, True, "at the upper limit"),
        ({"at_most": 0.5}, 0.51, False, "above the upper limit"),
        ({"at_most": 0.0}, 0.1, False, "an upper limit of 0 is a limit"),
        ({"at_least": 0.2, "at_most": 0.5}, 0.3, True, "between the limits"),
        ({"at_least": 0.2, "at_most": 0.5}, 0.6, False, "above both"),
        ({"at_least": 0.2, "at_most": 0.5}, 0.1, False, "below both"),
        ({"at_least": 0.5, "at_most": 0.5}, 0.5, True, "limits that meet"),
        ({"equals": "json"}, "json", True, "equal text"),
        ({"equals": "json"}, "JSON", False, "other text"),
        ({"equals": 0}, 0.0, True, "equal to 0"),
        ({"equals": False}, True, False, "equal to False"),
        ({"equals": ""}, "", True, "equal to nothing"),
        ({"equals": 0.5, "at_least": 0.2}, 0.3, False, "every condition counts"),
        ({"at_least": 1.0}, True, True, "True is 1"),
        ({"at_least": 1.0}, np.float64(1.0), True, "a numpy score"),
        ({"at_least": 1.0}, math.inf, True, "an infinite value"),
        ({"at_least": 1.0}, None, None, "a missing value"),
        ({"at_least": 1.0}, math.nan, None, "NaN is missing"),
        ({"at_most": 1.0}, np.float64("nan"), None, "NaN of numpy is missing"),
        ({"at_least": 1.0}, np.float32("nan"), None, "NaN in half the bits is missing"),
        ({"equals": "json"}, None, None, "a missing value is not unequal"),
    ),
)
def test_a_gate_is_open_closed_or_cannot_tell(limits, value, expected):
    assert gate("correct", **limits).admits(value) is expected


@given(value=st.floats(allow_nan=False), limit=st.floats(allow_nan=False))
def test_at_least_and_at_most_agree_with_arithmetic(value, limit):
    assert gate("c", at_least=limit).admits(value) is (value >= limit)
    assert gate("c", at_most=limit).admits(value) is (value <= limit)


@pytest.mark.parametrize(
    "made",
    [
        gate("correct", at_least=1.0),
        gate("correct", at_least=0.0, at_most=0.5),
        gate("format", equals="json"),
        gate("flag", equals=False),
    ],
    ids=repr,
)
def test_a_gate_survives_pickle_and_its_repr_makes_it_again(made):
    assert pickle.loads(pickle.dumps(made)) == made
    assert eval(repr(made), {"gate": gate}) == made
    assert made != gate("other", at_least=0.25)


def test_a_gate_prints_as_the_call():
    assert repr(gate("correct", at_least=1.0)) == "gate('correct', at_least=1.0)"
    assert repr(gate("flag", at_least=0.0, equals=False)) == "gate('flag', at_least=0.0, equals=False)"


def test_a_gate_on_a_predicate_keeps_it_and_survives_pickle():
    made = gate(long_enough)
    assert isinstance(made, Gate)
    assert made.on is long_enough
    assert pickle.loads(pickle.dumps(gate(len))) == gate(len)  # a function that any module can find again


@pytest.mark.parametrize(
    ("call", "error", "piece"),
    table(
        (lambda: gate("c"), ValueError, "gate('c') has no condition; add at_least=", "no limits"),
        (lambda: gate(len, at_least=1), ValueError, "takes no limits", "a predicate with a limit"),
        (lambda: gate(len, equals=False), ValueError, "takes no limits", "a predicate with a falsy limit"),
        (lambda: gate("c", at_least=2, at_most=1), ValueError, "never open: at_least=2", "crossed limits"),
        (lambda: gate(3, at_least=1), TypeError, "not on 3", "a number in place of a name"),
        (lambda: gate(None, at_least=1), TypeError, "not on None", "nothing in place of a name"),
        (lambda: gate("c", at_least=math.nan), ValueError, "can never open", "a lower limit of NaN"),
        (lambda: gate("c", at_most=math.nan), ValueError, "can never open", "an upper limit of NaN"),
        (lambda: gate("c", equals=math.nan), ValueError, "can never open", "equal to what equals nothing"),
        (lambda: gate("c", equals=0.0, at_least=1), ValueError, "can never open", "equal to too little"),
        (lambda: gate("c", equals=2.0, at_most=1), ValueError, "can never open", "equal to too much"),
    ),
)
def test_a_gate_that_means_nothing_is_refused_in_a_sentence(call, error, piece):
    with pytest.raises(error) as caught:
        call()
    assert piece in str(caught.value)
