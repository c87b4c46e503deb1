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
        ({"at_least": 0.0}, 0.0, True, "a lower limit of 0 is a limit"),
        ({"at_least": 0.0}, -0.1, False, "below a lower limit of 0"),
        ({"at_most": 0.5}, 0.5, True, "at the upper limit"),
        ({"at_most": 0.5}, 0.51, False, "above the upper limit"),
        ({"at_least": 0.2, "at_most": 0.5}, 0.3, True, "between the limits"),
        ({"at_least": 0.2, "at_most": 0.5}, 0.6, False, "above both"),
        ({"at_least": 0.2, "at_most": 0.5}, 0.1, False, "below both"),
        ({"at_least": 0.5, "at_most": 0.5}, 0.5, True, "limits that meet"),
        ({"equals": "json"}, "json", True, "equal text"),
        ({"equals": False}, True, False, "equal to False"),
        ({"equals": ""}, "", True, "equal to nothing"),
        ({"equals": 0.5, "at_least": 0.2}, 0.3, False, "every condition counts"),
        ({"at_least": 1.0}, np.float64(1.0), True, "a numpy score"),
        ({"at_least": 1.0}, None, None, "a missing value"),
        ({"at_least": 1.0}, math.nan, None, "NaN is missing"),
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


def test_a_gate_on_a_predicate_keeps_it_and_survives_pickle():
    made = gate(long_enough)
    assert isinstance(made, Gate)
    assert made.on is long_enough
    assert pickle.loads(pickle.dumps(gate(len))) == gate(len)  # a function that any module can find again
