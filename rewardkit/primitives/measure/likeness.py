"""Measurement of likeness: a prediction beside the ground truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from rapidfuzz import fuzz

from rewardkit.primitives.primitive import PRINTED_NAMED, Primitive
from rewardkit.primitives.texts import is_missing, words

LONGEST_COMPARED = 20_000
"""Characters of each text that are compared: rapidfuzz takes the square of them."""

LONGEST_PIECE = 1_000
"""Characters of a piece that is looked for: there it takes more than the square."""


@dataclass(frozen=True, repr=False)
class similarity(Primitive):
    """Likeness of prediction and ground truth by rapidfuzz.

    1.0 when the texts (or their sets of words) are the same.

    "ratio" compares the texts, "token_sort" their words in any order, "token_set" the
    sets of words, "partial" the best-fitting piece: the last two are 1.0 for any text
    that contains the truth, a hole a policy finds. In Chinese and Japanese each
    character is a word. A prediction of ``None`` is 0.0, a missing truth is not judged.
    ValueError: unknown method.

    Of texts that differ the first 20,000 characters are compared (and in "partial" the
    first 1,000 of the shorter one); what is left over counts as different.

    >>> similarity()("kitten", "sitten")
    0.8333333333333335
    """

    method: Literal["ratio", "partial", "token_sort", "token_set"] = field(
        default="ratio", metadata=PRINTED_NAMED
    )

    def __call__(self, prediction: Any, ground_truth: Any) -> float | None:
        if is_missing(ground_truth):
            return None
        if prediction is None:
            return 0.0
        texts = (str(prediction), str(ground_truth))
        a, b = sorted(texts, key=lambda text: (len(text), text))
        if a == b:
            return 1.0
        if self.method == "partial":
            short, long = a[:LONGEST_PIECE], b[:LONGEST_COMPARED]
            return fuzz.partial_ratio(short, long) / 100.0 * len(short) / max(1, len(a))
        short, long = a[:LONGEST_COMPARED], b[:LONGEST_COMPARED]
        share = (len(short) + len(long)) / max(1, len(a) + len(b))
        if self.method == "ratio":
            return float(fuzz.ratio(short, long) / 100.0 * share)
        # In words, so that those of Chinese are words, too.
        short, long = " ".join(words(short)), " ".join(words(long))
        ratio = getattr(fuzz, f"{self.method}_ratio")
        return float(ratio(short, long) / 100.0 * share)
