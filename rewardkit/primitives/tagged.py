"""Extraction from what a completion marks itself: tags and boxes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from rewardkit.primitives.extractor import Extractor, Span, Which, trim
from rewardkit.primitives.factories import one_of

__all__ = ["boxed", "check_tag_name", "tag", "tag_tokens"]


@lru_cache(maxsize=256)
def tag_tokens(name: str) -> re.Pattern[str]:
    """Opening and closing tags called `name`, in any case, attributes allowed.

    Group 1 is the slash of a closing one.
    """
    return re.compile(rf"<(/?){re.escape(name)}(?:\s[^<>]*)?>", re.IGNORECASE)


def check_tag_name(name: Any) -> None:
    """Raise a ValueError where `name` cannot be the name of a tag."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        raise ValueError(f"{name!r} is not the name of a tag; give it without brackets, such as 'answer'")


@dataclass(frozen=True, repr=False)
class Tag(Extractor):
    name: str
    which: Which = "last"

    def __post_init__(self) -> None:
        check_tag_name(self.name)
        one_of("which", self.which, ("first", "last"))

    def occurrences(self, completion: str) -> list[Span]:
        found: list[Span] = []
        opened: int | None = None
        for token in tag_tokens(self.name).finditer(completion):
            if not token[1]:
                opened = token.end()
            elif opened is not None:
                found.append(trim(completion, opened, token.start()))
                opened = None
        return found


def tag(name: str, *, which: Which = "last") -> Tag:
    """Text inside ``<name>...</name>``; by default of the last pair, the answer a model settled on.

    Case and attributes of the tag do not matter. Of nested pairs the innermost counts; an opening tag that is
    never closed counts for nothing. ValueError: `name` cannot be a tag, or `which` is unknown.

    >>> tag("answer")("<answer>3</answer> no: <answer> 4 </answer>")
    '4'
    >>> tag("answer")("<answer>4") is None
    True
    """
    return Tag(name, which)


@dataclass(frozen=True, repr=False)
class Boxed(Extractor):
    which: Which = "last"

    TOKENS: ClassVar[re.Pattern[str]] = re.compile(r"\\boxed\s*\{|\\.|[{}]", re.DOTALL)

    def __post_init__(self) -> None:
        one_of("which", self.which, ("first", "last"))

    def occurrences(self, completion: str) -> list[Span]:
        found: list[Span] = []
        opened: list[
            int | None
        ] = []  # one entry a brace: where a box's content starts, None for other braces
        for token in self.TOKENS.finditer(completion):
            if token[0].startswith("\\boxed"):
                opened.append(token.end())
            elif token[0] == "{":
                opened.append(None)
            elif token[0] == "}" and opened:
                start = opened.pop()
                if start is not None:
                    found.append(trim(completion, start, token.start()))
        return sorted(found)


def boxed(*, which: Which = "last") -> Boxed:
    r"""Content of ``\boxed{...}`` with its inner braces.

    By default of the last box that opens (so the innermost).

    A box that is never closed counts for nothing. ValueError: `which` is unknown.

    >>> boxed()(r"so \boxed{\frac{1}{2}}")
    '\\frac{1}{2}'
    """
    return Boxed(which)
