"""The bounded part of `make fuzz`, and that it leaves no primitive out."""

from __future__ import annotations

import fuzz
import pytest

import rewardkit as rk

pytestmark = pytest.mark.integration

NO_CALLS = {
    "Extractor",
    "Span",
    "ToolCall",
    "read_calls",
}  # types, and what the measures of calls read with


def test_every_primitive_is_fuzzed():
    names = {
        name for room in (rk.extract, rk.verify, rk.measure) for name in room.__all__
    }
    called = " ".join(fuzz.inventory.CALLS)
    assert {name for name in names if name not in called} == NO_CALLS


def test_hostile_texts_end_in_a_value_and_in_time():
    found = fuzz.run(1_000_000, 200)
    assert not [
        f"{name}: {fault}" for name, item in found.items() for fault in item.faults
    ]
    assert all(item.calls for item in found.values())


@pytest.mark.parametrize(
    ("call", "check", "said"),
    [
        (lambda text: 1 / 0, lambda text, value: None, "ZeroDivisionError"),
        (lambda text: fuzz.time.sleep(0.02), lambda text, value: None, "took 0.0 s"),
    ],
)
def test_the_fuzzer_notices(call, check, said):
    found = fuzz.one(call, check, "text", 0.01, "here")
    assert found.calls == 1 and said in found.faults[0]
