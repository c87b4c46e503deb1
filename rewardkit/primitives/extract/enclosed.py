"""Extraction of enclosed text: tags, boxes and fenced code."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Annotated, NamedTuple

from rewardkit.primitives.extract.extractor import (
    Extractor,
    Span,
    Which,
    text_like,
    trim,
)


@lru_cache(maxsize=256)
def tag_tokens(name: str) -> re.Pattern[str]:
    """Compile a pattern of the tags called `name`, in any case, attributes allowed.

    Group 1 is the slash of a closing tag. A tag that ends in ``/>`` is an empty pair. A
    value in quotes may contain ">".
    """
    attributes = r"""(?:=\s*+(?:"[^"<]*+"|'[^'<]*+')|[^<>])*+"""
    return re.compile(rf"<(/?){re.escape(name)}(?:/|\s{attributes})?>", re.IGNORECASE)


tag_name = text_like(
    r"[A-Za-z_][\w.-]*",
    "is not the name of a tag; give it without brackets, such as 'answer'",
)
"""Check of an option that is the name of a tag."""


@dataclass(frozen=True, repr=False)
class tag(Extractor):
    """Extract the text inside ``<name>...</name>``, by default of the last pair.

    Case and attributes of the tag do not matter, and ``<name/>`` is an empty pair. Of
    nested pairs the innermost counts. Closing tags without an opening one are ignored,
    and so are opening tags without a closing one. With ``unclosed=True`` (a completion
    cut off at its token limit) a tag still open at the end encloses the rest.
    ``prefilled=True`` is for a chat template that ends the prompt with the opening tag:
    the completion then starts inside it. For the text behind ``</think>`` write
    ``after("</think>", until="end")``. ValueError: `name` cannot be a tag, or an option
    is unknown.

    >>> tag("answer")("<answer>3</answer> no: <answer> 4 </answer>")
    '4'
    >>> tag("answer")("<answer>4"), tag("answer", unclosed=True)("<answer>4")
    (None, '4')
    >>> tag("think", prefilled=True)("2 + 2 is 4.</think> 4")
    '2 + 2 is 4.'
    """

    name: Annotated[str, tag_name]
    _: KW_ONLY
    which: Which = "last"
    unclosed: bool = False
    prefilled: bool = False

    def occurrences(self, completion: str) -> list[Span]:
        spans: list[Span] = []
        start = 0 if self.prefilled else None  # of the content of the open tag
        for token in tag_tokens(self.name).finditer(completion):
            is_closing = bool(token[1])
            if is_closing and start is not None:
                spans.append(trim(completion, start, token.start()))
                start = None
            elif not is_closing and token[0].endswith("/>"):
                spans.append((token.end(), token.end()))
                start = None
            elif not is_closing:
                start = token.end()
        if self.unclosed and start is not None:
            spans.append(trim(completion, start, self._end(completion, start)))
        return spans

    def _end(self, completion: str, start: int) -> int:
        """Return the end of the completion, or the start of a cut-off closing tag."""
        closing = f"</{self.name}".lower()
        cut = completion.rfind("</", max(start, len(completion) - len(closing)))
        if cut >= 0 and closing.startswith(completion[cut:].lower()):
            return cut
        return len(completion)


_BOXES = re.compile(
    r"""\\(?:boxed|fbox) \s* (?P<box>\{)
      | \\(?:boxed|fbox) (?: \s*(?P<digit>[0-9]) | \s+(?P<letter>[A-Za-z]) )
        (?! \w | [.,][0-9] | [\^{] )
      | \\. | [{}]""",
    re.DOTALL | re.VERBOSE,
)


class Box(NamedTuple):
    """The spans of a box and of its content."""

    outer: Span
    inner: Span


def find_boxes(text: str) -> list[Box]:
    """Find all boxes of a text, in text order."""
    boxes: list[Box] = []
    if "\\boxed" not in text and "\\fbox" not in text:
        return boxes
    openings: list[re.Match[str]] = []
    for token in _BOXES.finditer(text):
        if token["digit"] or token["letter"]:
            boxes.append(Box(token.span(), (token.end() - 1, token.end())))
        elif token["box"] or token[0] == "{":
            openings.append(token)
        elif token[0] == "}" and openings:
            opening = openings.pop()
            if opening["box"]:
                inner = trim(text, opening.end(), token.start())
                boxes.append(Box((opening.start(), token.end()), inner))
    return sorted(boxes)


@dataclass(frozen=True, repr=False)
class boxed(Extractor):
    r"""Extract the content of ``\boxed{...}`` or ``\fbox{...}`` with its inner braces.

    By default it is the last box to open (so the innermost). White space may precede
    the brace. Without a brace TeX boxes one character: ``\boxed 4`` holds 4, but
    ``\boxed 42`` and ``\boxed x^2`` are ignored, as TeX would box less than the author
    meant. A box that is never closed is ignored. ValueError: `which` is unknown.

    >>> boxed()(r"so \boxed{\frac{1}{2}}")
    '\\frac{1}{2}'
    """

    _: KW_ONLY
    which: Which = "last"

    def occurrences(self, completion: str) -> list[Span]:
        return [box.inner for box in find_boxes(completion)]


# A fence may be nested in block quotes and lists; group "before" has their marks.
_FENCE = re.compile(
    r"""^(?P<before> (?:[ ]*+>)*+ [ \t]*+ (?P<items>
      (?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+ ) )
        (?P<fence> `{3,}+ (?=[^`\n]*+$) | ~{3,}+ ) [ \t]*+
        (?P<language> \S*+ ) [^\n]*+ $""",
    re.MULTILINE | re.VERBOSE,
)


Language = Annotated[
    str,
    text_like(r"[^\s`]+", "is not the word behind a fence; give one such as 'python'"),
]


@dataclass(frozen=True, repr=False)
class code_block(Extractor):
    r"""Extract the last code block fenced by ````` ``` ````` or ``~~~``.

    The block has any language, or `language` in any case: py, py3, python3 and {python}
    are python, js is javascript, ts typescript and c++ cpp; other names must be equal.
    As in CommonMark, text behind the language on the line of the fence is no code
    ("```python x=1" has none), and a fence is alone on its line but may be nested in
    lists and block quotes: their marks and the indentation of the fence are no part of
    the code. A closing fence that is indented four columns more than the opening one is
    code. A block that is never closed is ignored; with ``unclosed=True`` (a completion
    cut off at its token limit) a block still open at the end holds the rest.
    ValueError: `language` is no word, or an option is unknown.

    >>> code_block("python")("```python\nprint(1)\n```")
    'print(1)'
    >>> code_block()("1. Run\n   ```sh\n   if a; then\n     b\n   ```")
    'if a; then\n  b'
    """

    language: Language | None = None
    _: KW_ONLY
    which: Which = "last"
    unclosed: bool = False

    def occurrences(self, completion: str) -> list[Span]:
        spans: list[Span] = []
        opening: re.Match[str] | None = None
        for fence in _FENCE.finditer(completion):
            if opening is None:
                opening = fence
            elif _closes(fence, opening):
                if self._has_language(opening):
                    spans.append(trim(completion, opening.end(), fence.start()))
                opening = None
        if opening and self.unclosed and self._has_language(opening):
            spans.append(trim(completion, opening.end(), len(completion)))
        return spans

    def _has_language(self, fence: re.Match[str]) -> bool:
        if self.language is None:
            return True
        return _language_of(fence["language"]) == _language_of(self.language)

    def text_at(self, completion: str, span: Span) -> str:
        """Return the code without the quote marks and indentation of its fence."""
        code = completion[slice(*span)]
        end = span[0]
        while completion[end - 1].isspace():
            end -= 1
        fence = _FENCE.match(completion, completion.rfind("\n", 0, end) + 1)
        if not (fence and fence["before"]):
            return code
        # Lines below the mark of a list item have white space in its place.
        margin = re.sub(r"[^\s>]", " ", fence["before"])
        lines = []
        for line in code.split("\n"):
            if line.startswith(margin):
                lines.append(line.removeprefix(margin))
            else:
                lines.append(line.lstrip(margin))
        return "\n".join(lines).strip()


_LANGUAGES = {"py": "python", "js": "javascript", "ts": "typescript", "c++": "cpp"}


def _language_of(word: str) -> str:
    """Return the name of a language: python for py, Python3 and {.python."""
    name = word.lower().strip("{}.,").removesuffix("3")
    return _LANGUAGES.get(name, name)


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    """Return whether a fence closes `opening`: bare, as long, not indented far more."""
    if fence["language"] or fence["items"]:
        return False
    if not fence["fence"].startswith(opening["fence"]):
        return False
    indent = len(opening["before"].expandtabs(4))
    return len(fence["before"].expandtabs(4)) < indent + 4
