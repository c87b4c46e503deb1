"""Extraction of what stands behind words that announce it: a marker, "the answer is", [Source: id]."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from rewardkit.primitives.extract.extractor import WHICH, Extractor, Span, Which, trim
from rewardkit.primitives.factories import one_of, true_or_false

__all__ = ["after", "answer_phrase", "citation"]

_SPACE = re.compile(r"\s*")


def _space_end(text: str, start: int) -> int:
    """Where the white space that starts here ends."""
    match = _SPACE.match(text, start)
    return match.end() if match else start


@dataclass(frozen=True, repr=False)
class After(Extractor):
    marker: str
    which: Which = "last"
    until: Literal["line", "end"] = "line"
    case: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.marker, str) or not self.marker.strip():
            raise ValueError(
                f"marker={self.marker!r} is empty; give the text that stands before the answer, such as "
                "'####'"
            )
        one_of("which", self.which, WHICH)
        one_of("until", self.until, ("line", "end"))
        true_or_false(case=self.case)

    def occurrences(self, completion: str) -> list[Span]:
        found: list[Span] = []
        end = last = -1  # of the line, and of the text in it; looked up once a line
        for match in re.finditer(re.escape(self.marker), completion, 0 if self.case else re.IGNORECASE):
            start = match.end()
            if start > end:
                line = completion.find("\n", start) if self.until == "line" else -1
                end = len(completion) if line < 0 else line
                last = trim(completion, start, end)[1]
            found.append((min(_space_end(completion, start), max(start, last)), max(start, last)))
        return found


def after(
    marker: str, *, which: Which = "last", until: Literal["line", "end"] = "line", case: bool = True
) -> After:
    r"""Text after `marker` up to the end of its line (``until="end"``: of the completion).

    By default the last marker.

    `marker` is plain text, not a pattern; ``case=False`` finds it in any case. ValueError: it is empty, or an
    option is unknown.

    >>> after("####")("6 * 7 = 42\n#### 42")
    '42'
    """
    return After(marker, which, until, case)


# Markdown may close behind each word; "answer is" does not begin "answer is not", nor 答案是 "答案是否". What
# the wrong answer is, or whether there is one, is not what the answer is.
_OF_WHAT = r"(?:[^\s.,:;!?=。，：；！？]|[.,](?=\w)){1,30}"
_ENGLISH = rf"""(?<!\w)(?i:answer)(?<!\b(?i:no)[ ]......)(?<!\b(?i:wrong|false|worst)[ ]......)
               (?<!\b(?i:incorrect)[ ]......)[*_]{{0,3}}
               (?: (?: [ \t]+(?i:to|for|of)(?:[ \t]+{_OF_WHAT}){{1,8}}? )?
                   [ \t]+(?i:is|was|equals|(?:should|would|must|will|has[ \t]to)[ \t]+be)\b
                   (?![ \t]+(?i:not)\b)
                   [*_]{{0,3}} (?:[ \t]*[:：][*_]{{0,3}})?
                 | [ \t]*(?:[:：]|=(?!=))[*_]{{0,3}} )
             | (?<!\w)(?i:final[ \t]+answer)[*_]{{0,3}}[ \t]*$
             | ^\#{{1,6}}[ \t]+[*_]{{0,3}}(?i:answer)[*_]{{0,3}}[ \t]*$"""
_NO_ANSWER = "(?:否|什么|什麼|多少|哪|(?:错误|錯誤|不?正确|不?正確|不?对|不?對|错|錯)的)"
_CHINESE = rf"""(?: 最[终終]答案[*_]{{0,3}}[ \t]* (?!(?:应该|應該|应|應)?就?是{_NO_ANSWER})
                     (?:(?:应该|應該|应|應)?就?[是为為])?
                   | (?<!错误)(?<!錯誤)(?<!错误的)(?<!錯誤的)(?<!没有)(?<!沒有)答案 (?: [*_]{{0,3}}[ \t]*
                     (?: (?:应该|應該|应|應)?就?[是为為](?!{_NO_ANSWER}) | (?=[:：]) ) | 】 )
                   | ^\#{{1,6}}[ \t]+[*_]{{0,3}}答案(?=[*_]{{0,3}}[ \t]*$) )
               [*_]{{0,3}} (?:[ \t]*[:：][*_]{{0,3}})?"""
_PHRASES = {
    language: re.compile(expression, re.VERBOSE | re.MULTILINE)
    for language, expression in {"en": _ENGLISH, "zh": _CHINESE, "any": f"{_ENGLISH} | {_CHINESE}"}.items()
}
_BRACES = r"\{[^{}\n]*+\}"
_BRACES = rf"\{{(?:[^{{}}\n]|{_BRACES})*+\}}"
_BRACES = rf"\{{(?:[^{{}}\n]|{_BRACES})*+\}}"  # three deep
_MARK = r"</think(?:ing)?> | </s> | <\|\w{1,30}\|> | 【(?=解析|分析|详解|詳解|点评|考点)"
_PIECE = re.compile(
    rf"""\$(?![\s$])[^$\n]*+(?<!\s)\$ | {_BRACES}                # mathematics, whatever stops are in it
      | (?<![^\W_]) (?: (?:[^\W\d_]\.){{2,}}(?=[ \t]+[^\sA-Z]) | (?:Mr|Mrs|Ms|Dr|Prof|St)\.(?=[ ]) )
      | (?P<end> \n | [。！？] | {_MARK} | [.!?](?=[*_`"'”’)\]]*+(?:\s|\Z)) )""",
    re.VERBOSE,
)
_DISPLAY = re.compile(r"(\$\$|\\\[)[ \t]*\n")
_INITIALS = re.compile(r"(?<![^\W_])(?:[^\W\d_]\.)+[^\W\d_]\Z")
_BEFORE = " \t\r\n*_`\"'“‘"
_BEHIND = " \t\r\n*_`\"'”’.,;:!?。，；：！？、"


@dataclass(frozen=True, repr=False)
class AnswerPhrase(Extractor):
    which: Which = "last"
    language: Literal["any", "en", "zh"] = "any"

    def __post_init__(self) -> None:
        one_of("which", self.which, WHICH)
        one_of("language", self.language, ("any", "en", "zh"))

    def occurrences(self, completion: str) -> list[Span]:
        phrases = list(_PHRASES[self.language].finditer(completion))
        limits = [*(phrase.start() for phrase in phrases[1:]), len(completion)]
        return [
            _sentence(completion, _space_end(completion, phrase.end()), limit)
            for phrase, limit in zip(phrases, limits, strict=False)  # without phrases there is one limit
        ]


def _sentence(text: str, start: int, limit: int) -> Span:
    """The sentence that starts here, or the formula on lines of its own, without the marks around it."""
    display = _DISPLAY.match(text, start, limit)
    if display:
        close = text.find("$$" if display[1] == "$$" else "\\]", display.end(), limit)
        if close >= 0:
            return trim(text, display.end(), close)
    ends = (piece.start() for piece in _PIECE.finditer(text, start, limit) if piece["end"])
    inner = text[start : next(ends, limit)].rstrip(_BEHIND)
    if text.startswith(".", start + len(inner)) and _INITIALS.search(inner):
        inner += "."  # it is theirs: "10 a.m."
    bare = inner.lstrip(_BEFORE)
    marks = inner[: len(inner) - len(bare)].strip()
    if marks and marks in bare:  # they close within the sentence: "**42** apples"
        bare = inner
    end = start + len(inner)
    return end - len(bare), end


def answer_phrase(*, which: Which = "last", language: Literal["any", "en", "zh"] = "any") -> AnswerPhrase:
    r"""What follows "the answer is", "Final answer:", 答案是, 答案： or 最终答案; by default the last.

    Also "was", "should be", "must be" and the like, "the answer to ... is", "answer =", 答案为, 【答案】,
    and a heading "# Answer"; not "is not", 是否, "the wrong answer is", "no answer". Up to the end of
    the sentence or line; where nothing follows on the line, of the next one that is not empty; of a
    formula on lines of its own, within ``\[`` or ``$$``, all of it. A stop ends a sentence before
    white space only, so "3.5" is whole, but not within ``$...$`` or braces, nor in "10 a.m. today";
    marks such as ``</think>``, ``</s>`` and ``<|im_end|>`` end it, too. Punctuation and Markdown
    around it are left out. The words count in any case, in bold, and with either colon;
    ``language="en"`` or ``"zh"`` takes those of one language. ValueError: an option is unknown.

    >>> answer_phrase()("So **the answer is:** $3.5$ kg. Done."), answer_phrase()("因此答案是：42。谢谢")
    ('$3.5$ kg', '42')
    """
    return AnswerPhrase(which, language)


@lru_cache(maxsize=64)
def _citations(label: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What stands in the brackets of a citation, and each id in that."""
    mark = rf"\s*{re.escape(label)}\s*[:：]"
    bracket = re.compile(rf"\[{mark}([^\[\]\n]*)\]", re.IGNORECASE)
    return bracket, re.compile(rf"(?:{mark})?([^,;，；、]+)", re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class Citation(Extractor):
    label: str = field(default="Source", metadata={"positional": True})
    which: Which = "last"

    def __post_init__(self) -> None:
        label = self.label
        if not isinstance(label, str) or not label or label != label.strip() or set(label) & set("[]:：\n"):
            raise ValueError(
                f"label={label!r} is not the label of a citation; give the word before its colon, such as "
                "'Source'"
            )
        one_of("which", self.which, WHICH)

    def occurrences(self, completion: str) -> list[Span]:
        brackets, identifiers = _citations(self.label)
        found: list[Span] = []
        for bracket in brackets.finditer(completion):
            parts = [
                trim(completion, *part.span(1)) for part in identifiers.finditer(completion, *bracket.span(1))
            ]
            found += [part for part in parts if part[0] < part[1]] or [trim(completion, *bracket.span(1))]
        return found


def citation(label: str = "Source", *, which: Which = "last") -> Citation:
    """The id in ``[Source: id]``, in any case; by default of the last. `every` gives all of them.

    Several ids in one bracket, with commas or semicolons between them, are an occurrence each; a bracket with
    none is found and empty. ValueError: `label` is empty or has a bracket or colon in it.

    >>> citation()("Rain [Source: doc-3], then sun [Source: doc-7; doc-9].")
    'doc-9'
    """
    return Citation(label, which)
