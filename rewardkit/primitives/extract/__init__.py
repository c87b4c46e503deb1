"""Completion -> field: which piece of a completion is the answer, and where it stands.

Every name here makes a small frozen callable. Called with a completion it gives the
extracted text, ``None`` where nothing was found, ``""`` where the place was found but
is empty (so that `first_of` does not fall through to a number from the reasoning).
`.spans(completion)` gives the ``(start, end)`` it was taken from, on the original text,
and `.occurrences(completion)` every place it could have been taken from. White space
around a value is left out. What is not a string has nothing in it: ``None``.

The value is what stands at its span, but for values at a path, what was repaired, and
code in lists and quotes.
"""

from __future__ import annotations

from rewardkit.primitives.extract.enclosed import boxed, code_block, tag
from rewardkit.primitives.extract.extractor import (
    Extractor,
    Span,
    every,
    first_of,
    within,
)
from rewardkit.primitives.extract.letters import choice
from rewardkit.primitives.extract.markers import after, answer_phrase, citation, pattern
from rewardkit.primitives.extract.mathematics import math_answer
from rewardkit.primitives.extract.numerals import gsm8k, number
from rewardkit.primitives.extract.structured import (
    json_value,
    python_literal,
    tool_call,
)
from rewardkit.primitives.messages import assistant_text

__all__ = [
    "Extractor",
    "Span",
    "after",
    "answer_phrase",
    "assistant_text",
    "boxed",
    "choice",
    "citation",
    "code_block",
    "every",
    "first_of",
    "gsm8k",
    "json_value",
    "math_answer",
    "number",
    "pattern",
    "python_literal",
    "tag",
    "tool_call",
    "within",
]
