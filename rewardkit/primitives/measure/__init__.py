"""Measures of a text by itself: format, length, repetition, keywords, schema ...

Every name here makes a small frozen callable that gives a score in [0, 1], in time that
is linear in the text or bounded by what its docstring states. What is no text is not
judged: ``None``.

So is a field that was not found: a measure of it (``columns={"completion":
"reasoning"}``) abstains where there is none, and the reward of that row is NaN. Where
that is to count as bad, put the component behind a gate that is closed there (on
`tags`, as `gallery:tagged` does), or measure a field of your own that returns
``reasoning or ""``.
"""

from __future__ import annotations

from rewardkit.primitives.agents import ToolCall, read_calls
from rewardkit.primitives.measure.amounts import diversity, length, overlong, repetition
from rewardkit.primitives.measure.conduct import (
    call_efficiency,
    calls_within,
    citations,
    failed_calls,
    grounding,
    repeated_calls,
    tool_calls,
    turns,
)
from rewardkit.primitives.measure.grammar import tags
from rewardkit.primitives.measure.schema import json_schema
from rewardkit.primitives.measure.wording import keywords, regex, similarity, steps

__all__ = [
    "ToolCall",
    "call_efficiency",
    "calls_within",
    "citations",
    "diversity",
    "failed_calls",
    "grounding",
    "json_schema",
    "keywords",
    "length",
    "overlong",
    "read_calls",
    "regex",
    "repeated_calls",
    "repetition",
    "similarity",
    "steps",
    "tags",
    "tool_calls",
    "turns",
]
