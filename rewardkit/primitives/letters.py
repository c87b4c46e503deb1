"""Multiple choice in text: which one option it names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from rewardkit.primitives.texts import CJK, normal_form

__all__ = ["read_choice"]


def read_choice(value: Any, options: str) -> str | None:
    """The option that a text names, as it stands in `options`; ``None`` where it names none, or several.

    ValueError: fewer than two different letters or digits.

    >>> read_choice("(b) Paris", "ABCD"), read_choice("A or B", "ABCD"), read_choice("A dog", "ABCD")
    ('B', None, None)
    """
    patterns, whole = _patterns(options)
    if value is None:
        return None
    text = normal_form(str(value), "NFKC")
    alone = whole.fullmatch(text)
    if alone:
        return _as_written(alone[1], options)
    found = {_as_written(match[1], options) for pattern in patterns for match in pattern.finditer(text)}
    return found.pop() if len(found) == 1 else None


def _as_written(letter: str, options: str) -> str:
    return letter if letter in options else next(o for o in options if letter in (o.lower(), o.upper()))


@lru_cache(maxsize=64)
def _patterns(options: str) -> tuple[tuple[re.Pattern[str], ...], re.Pattern[str]]:
    """What marks a letter as named, and a text in which it is all there is. Group 1 is the letter."""
    different = {option.lower() for option in options} if isinstance(options, str) else ()
    if len(different) < 2 or len(different) < len(options) or not options.isalnum():
        raise ValueError(
            f"options={options!r} are not choices; give two or more different letters or digits, such as "
            "'ABCD'"
        )
    # Both cases spelled out: where case is ignored, a dotless i or a long s would be an I or an S.
    forms = {form for option in options for form in (option, option.lower(), option.upper())}
    exact, either = f"([{options}])", f"([{''.join(sorted(form for form in forms if len(form) == 1))}])"
    before, after = rf"(?<![^\W{CJK}])(?<!\w['’])(?<!\d[.,])", rf"(?![^\W{CJK}])(?!['’]\w)(?![.,]\d)"
    article = r"(?<![AI](?=\s+(?!(?:or|and|is|was|because|since)\b)[a-z]))"
    mark = r"\s?[*_\"'(\[]{0,3}"
    return (
        re.compile(before + exact + after + article),
        re.compile(rf"\A[\W_]*+{either}(?=[.):、])(?!\.\d)"),
        re.compile(rf"[(\[]\s?{either}\s?[)\]]"),
        re.compile(rf"\b(?i:option|choice)\s?:?{mark}{either}{after}"),
        re.compile(rf"\b(?i:answer(?: is)?)\s?:?{mark}{either}(?=[^\w\s]|\s*$){after}"),
    ), re.compile(rf"[\W_]*+{either}[\W_]*+")
