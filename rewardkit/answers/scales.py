"""Scales: answers in another unit or on another scale than their truths."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import permutations
from statistics import fmean
from typing import Any

from rewardkit.answers.locales import read_local
from rewardkit.answers.logged import UNPAID_TO, LoggedAnswer
from rewardkit.plain import is_number
from rewardkit.primitives.messages import prompt_text
from rewardkit.primitives.verify.numbers import CONTEXT, as_decimal

LEAST_FACTORS = 4
"""Truths of which answers are the same multiple: one answer to one truth says nothing.
Our choice.
"""
FACTOR_SHARE = 0.3
"""Share of all answers that are such a multiple. Our choice."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
Size = tuple[float, float]
"""Width and height."""
_COORDINATE = r"\s{0,9}(-?\d{1,6}(?:\.\d{1,20})?)\s{0,9}"
FOUR_NUMBERS = re.compile(rf"\[{','.join([_COORDINATE] * 4)}\]")
WIDTH_KEY = re.compile(r"(?:.*_)?(?:width|w)", re.IGNORECASE)
HEIGHT_KEY = re.compile(r"(?:.*_)?(?:height|h)", re.IGNORECASE)
"""Names of columns with the size of an image."""
SIZE_IN_PROMPT = re.compile(r"(?<![\d.])(\d{2,5})\s?[x×]\s?(\d{2,5})(?![\d.])")
SAME_BOX = 0.5
"""Intersection over union from which two boxes are one: PASCAL VOC's."""
SHARES_OF_IMAGE = (1.0, 100.0, 1000.0)
"""How long an image is on the scales of shares: Qwen2-VL's boxes are in thousandths."""


@dataclass(frozen=True)
class OtherScale:
    """Answers that are `factor` times the truths in `column`, of `count` that have one.

    `kind` is "numbers" or "boxes".
    """

    kind: str
    column: str
    factor: str
    answers: Sequence[LoggedAnswer]
    count: int

    @property
    def evidence(self) -> dict[str, Any]:
        """Return what a finding says of it."""
        return {
            "factor": self.factor,
            "column": self.column,
            "answers": self.kind,
            "earned": fmean(answer.gain for answer in self.answers),
        }


def find_other_scales(
    answers: Iterable[LoggedAnswer], columns: AbstractSet[str]
) -> Iterator[OtherScale]:
    """Find answers that are the same multiple of their truths and earned nothing.

    Those of boxes earned less than full marks: they may overlap all the same.

    Args:
        answers: Of a log, or a part of one.
        columns: Columns that may hold truths.
    """
    unpaid: dict[tuple[str, str, str], list[LoggedAnswer]] = defaultdict(list)
    counts: Counter[tuple[str, str]] = Counter()
    for answer in answers:
        for name, kind, factors in _find_factors(answer, columns):
            counts[kind, name] += 1
            is_unpaid = not answer.is_paid
            if kind == "numbers":
                is_unpaid = answer.gain <= UNPAID_TO
            if math.isnan(answer.gain):  # all earn the same
                is_unpaid = answer.reward <= 0
            for factor in factors:
                if factor != "1" and is_unpaid:
                    unpaid[kind, name, factor].append(answer)
    for (kind, name, factor), lost in unpaid.items():
        truths = {str(answer.row[name]) for answer in lost}
        count = counts[kind, name]
        if len(truths) >= LEAST_FACTORS and len(lost) >= FACTOR_SHARE * count:
            yield OtherScale(kind, name, factor, lost, count)


def _find_factors(
    answer: LoggedAnswer, names: AbstractSet[str]
) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield columns with the truth's kind there, and by what the answer is off."""
    size = find_image_size(answer.row)
    for name in sorted(names & answer.row.keys()):
        truth = str(answer.row[name])
        factor = find_factor(answer.answer, truth)
        if factor is not None:
            yield name, "numbers", [factor]
            continue
        factors = find_box_factors(answer.answer, truth, size)
        if factors is not None:
            yield name, "boxes", factors


def find_factor(answer: str, truth: str) -> str | None:
    """Return what an answer divided by its truth is, to 6 digits.

    None without numbers, and where one is 0 or the other one's negative, as no unit is,
    or where no float holds the factor.

    >>> find_factor("250", "2.5 m"), find_factor("7", "7"), find_factor("0", "7")
    ('100', '1', None)
    >>> find_factor("5", "-5"), find_factor("7", "1e-400"), find_factor("1e400", "1")
    (None, None, None)
    """
    number, right = read_local(answer), read_local(truth)
    if not number or not right:
        return None
    factor = float(CONTEXT.divide(as_decimal(number), as_decimal(right)))
    is_factor = math.isfinite(factor) and factor not in (0, -1)
    return f"{factor:.6g}" if is_factor else None


# --- boxes in an image


def find_boxes(text: str) -> list[Box]:
    """Return the boxes of a text, four numbers in brackets each.

    >>> find_boxes("{'bbox': [1, 2, 3, 4.5]}, no box: [3, 2, 1, 4]")
    [(1.0, 2.0, 3.0, 4.5)]
    """
    boxes = []
    for numbers in FOUR_NUMBERS.findall(text):
        x_min, y_min, x_max, y_max = map(float, numbers)
        if x_min < x_max and y_min < y_max:
            boxes.append((x_min, y_min, x_max, y_max))
    return boxes


def find_image_size(row: Mapping[str, Any]) -> Size | None:
    """Return the size of a row's image, from its columns or its prompt, or None.

    >>> find_image_size({"image_width": 640, "image_height": 480})
    (640.0, 480.0)
    >>> find_image_size({"prompt": "A photo of 640x480 pixels. Where is the kite?"})
    (640.0, 480.0)
    """
    width, height = (_read_size(row, name) for name in (WIDTH_KEY, HEIGHT_KEY))
    if width and height:
        return width, height
    written = SIZE_IN_PROMPT.search(prompt_text(row.get("prompt")))
    if not written:
        return None
    return float(written[1]), float(written[2])


def _read_size(row: Mapping[str, Any], names: re.Pattern[str]) -> float:
    for name, value in row.items():
        if is_number(value) and value > 0 and names.fullmatch(name):
            return float(value)
    return 0.0


def find_box_factors(answer: str, truth: str, size: Size | None) -> list[str] | None:
    """Return by what the boxes of a truth have to be multiplied to be the answer's.

    Each factor is that of a scale of the truth and another of the answer: pixels,
    thousandths, hundredths, or shares. "1" alone where they agree as they stand, none
    where no factor helps, and None where either has no box.

    >>> boxes = "[100, 100, 200, 200]", "[156, 208, 312, 416]"
    >>> find_box_factors(*boxes, (640.0, 480.0))
    ['width/1000 and height/1000']
    >>> find_box_factors("[1, 2, 3, 4]", "[1, 2, 3, 4]", (1024.0, 900.0))
    ['1']
    """
    boxes, right = find_boxes(answer), find_boxes(truth)
    if not boxes or not right:
        return None
    if _are_same(boxes, right, (1.0, 1.0)):
        return ["1"]
    scales = {f"{length:g}": (length, length) for length in SHARES_OF_IMAGE}
    if size is not None:
        scales["pixels"] = size
    factors = []
    for name, other in permutations(scales, 2):
        (width, height), (new_width, new_height) = scales[name], scales[other]
        if _are_same(boxes, right, (new_width / width, new_height / height)):
            factors.append(_describe_factor(name, other))
    return factors


def _are_same(boxes: list[Box], right: list[Box], factors: Size) -> bool:
    """Return whether half of the right boxes, multiplied, are among the boxes."""
    x, y = factors
    hits = 0
    for x_min, y_min, x_max, y_max in right:
        scaled = (x_min * x, y_min * y, x_max * x, y_max * y)
        hits += any(_overlap(scaled, box) >= SAME_BOX for box in boxes)
    return 2 * hits >= len(right)


def _overlap(first: Box, second: Box) -> float:
    """Return the intersection over union of two boxes."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    both = max(width, 0.0) * max(height, 0.0)
    areas = 0.0
    for x_min, y_min, x_max, y_max in (first, second):
        areas += (x_max - x_min) * (y_max - y_min)
    return both / (areas - both)


def _describe_factor(scale: str, other: str) -> str:
    """Say by what the first scale is multiplied to be the other one."""
    if other == "pixels":
        over = "" if scale == "1" else f"/{scale}"
        return f"width{over} and height{over}"
    if scale == "pixels":
        return f"{other}/width and {other}/height"
    return f"{float(other) / float(scale):g}"
