"""Extraction of text behind a marker or phrase, or by a regular expression."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Annotated, Literal

from rewardkit.primitives.extract.extractor import (
    Extractor,
    Span,
    Which,
    text_like,
    trim,
)
from rewardkit.primitives.texts import Expression, Seconds, compile_expression, in_time

Marker = Annotated[
    str,
    text_like(
        r"(?s).*\S.*",
        "is empty or no text; give what stands before the answer, such as '####'",
    ),
]


@dataclass(frozen=True, repr=False)
class after(Extractor):
    r"""Extract the text after the last `marker`, up to the end of its line.

    With ``until="end"`` it is the text up to the end of the completion. `marker` is
    plain text, not a pattern; ``case=False`` finds it in any case. ValueError: `marker`
    is empty, or an option is unknown.

    >>> after("####")("6 * 7 = 42\n#### 42")
    '42'
    """

    marker: Marker
    _: KW_ONLY
    which: Which = "last"
    until: Literal["line", "end"] = "line"
    case: bool = True

    def occurrences(self, completion: str) -> list[Span]:
        spans: list[Span] = []
        line_end = text_end = -1  # of the line and of its text, computed once a line
        flags = re.NOFLAG if self.case else re.IGNORECASE
        marker = re.compile(rf"{re.escape(self.marker)}(?=(\s*+))", flags)
        for match in marker.finditer(completion):
            start = match.end()
            if start > line_end:
                line_end = -1
                if self.until == "line":
                    line_end = completion.find("\n", start)
                if line_end < 0:
                    line_end = len(completion)
                text_end = trim(completion, start, line_end)[1]
            end = max(start, text_end)
            spans.append((min(match.end(1), end), end))
        return spans


# Markdown may close behind each word; "answer is" does not begin "answer is not", nor
# 答案是 "答案是否". A named group matches phrases that state no answer: "the wrong
# answer is", "if the answer is", "no answer".
_OF_WHAT = r"(?:[^\s.,:;!?=。，：；！？]|[.,](?=\w)){1,30}"
_ENGLISH_PHRASE = rf"""(?P<denied> \b(?i:no|wrong|false|worst|incorrect)[ ]
                 | \b(?i:if|whether|unless|suppos(?:e|ing)|assum(?:e|ing))
                   [ ](?i:that[ ])?
                   (?i:(?:the|my|your)[ ])?(?i:(?:final|correct|right)[ ])? )?+
             (?: (?<!\w)(?i:answer)[*_]{{0,3}}
               (?: (?: [ \t]+(?i:to|for|of)(?:[ \t]+{_OF_WHAT}){{1,8}}? )?
                   [ \t]+
                   (?i:is|was|equals|(?:should|would|must|will|has[ \t]to)[ \t]+be)\b
                   (?![ \t]+(?i:not)\b)
                   [*_]{{0,3}} (?:[ \t]*[:：][*_]{{0,3}})?
                 | [ \t]*(?:[:：]|=(?!=))[*_]{{0,3}} )
             | (?<!\w)(?i:final[ \t]+answer)[*_]{{0,3}}[ \t]*$
             | ^\#{{1,6}}[ \t]+[*_]{{0,3}}(?i:answer)[*_]{{0,3}}[ \t]*$ )"""
_NO_ANSWER = (
    "(?:否|什么|什麼|多少|哪|(?:错误|錯誤|不?正确|不?正確|不?对|不?對|错|錯)的)"
)
_CHINESE_PHRASE = rf"""(?P<denied_zh> (?:错误|錯誤)的? | [没沒]有
                     | (?:如果|假如|假设|假設|若)(?:正确|正確)?的? )?+
               (?: 最[终終]答案[*_]{{0,3}}[ \t]*
                     (?!(?:应该|應該|应|應)?就?是{_NO_ANSWER})
                     (?:(?:应该|應該|应|應)?就?[是为為])?
                   | 答案 (?: [*_]{{0,3}}[ \t]*
                     (?: (?:应该|應該|应|應)?就?[是为為](?!{_NO_ANSWER})
                     | (?=[:：]) ) | 】 )
                   | ^\#{{1,6}}[ \t]+[*_]{{0,3}}答案(?=[*_]{{0,3}}[ \t]*$) )
               [*_]{{0,3}} (?:[ \t]*[:：][*_]{{0,3}})?"""


def _compile_phrase(expression: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{expression}) \s*+", re.VERBOSE | re.MULTILINE)


_PHRASES = {
    "en": _compile_phrase(_ENGLISH_PHRASE),
    "zh": _compile_phrase(_CHINESE_PHRASE),
    "any": _compile_phrase(f"{_ENGLISH_PHRASE} | {_CHINESE_PHRASE}"),
}
_ONE_DEEP = r"\{[^{}\n]*+\}"
_TWO_DEEP = rf"\{{(?:[^{{}}\n]|{_ONE_DEEP})*+\}}"
_THREE_DEEP = rf"\{{(?:[^{{}}\n]|{_TWO_DEEP})*+\}}"
_END_OF_ANSWER = (
    r"</think(?:ing)?> | </s> | <\|\w{1,30}\|> | 【(?=解析|分析|详解|詳解|点评|考点)"
)
_INSTEAD = r"""(?:,[ \t]+|[ \t]\()(?i:not|rather[ \t]than|instead[ \t]of)\b
      | [，（(](?:而?不是|而非)"""
_SENTENCE_PIECE = re.compile(
    rf"""\$(?![\s$])[^$\n]*+(?<!\s)\$ | {_THREE_DEEP}  # mathematics, with its stops
      | (?<![^\W_]) (?: (?:[^\W\d_]\.){{2,}}(?=[ \t]+[^\sA-Z])
                      | (?:Mr|Mrs|Ms|Dr|Prof|St)\.(?=[ ]) )
      | (?P<end> \n | [。！？] | {_END_OF_ANSWER} | {_INSTEAD}
               | [.!?](?=[*_`"'”’)\]]*+(?:\s|\Z)) )""",
    re.VERBOSE,
)
_DISPLAY = re.compile(r"(\$\$|\\\[)[ \t]*\n")
_REMARK = re.compile(r"(?<=[\d%$}*])[ \t]+\((?!mod\b)[^\W\d_][^()\d$\\\n]*\)\Z")
_OPENING_MARKS = " \t\r\n*_`\"'“‘"
_CLOSING_MARKS = " \t\r\n*_`\"'”’.,;:!?。，；：！？、"


@dataclass(frozen=True, repr=False)
class answer_phrase(Extractor):
    r"""Extract the text after "the answer is", "Final answer:", 答案是 or 最终答案.

    The last phrase counts by default. Phrases are also "was", "should be", "must be"
    and the like, "the answer to ... is", "answer =", 答案为, 【答案】, and a heading
    "# Answer"; not "is not", 是否, "the wrong answer is", "no answer", "if the answer
    is". They match in any case, in bold, and with either colon; ``language="en"`` or
    ``"zh"`` takes those of one language.

    The answer ends with its sentence or line, or before ", not" or "(not". If the rest
    of the line is empty, the next line with text counts. A formula on lines of its own,
    within ``\[`` or ``$$``, is taken whole. A stop ends a sentence only before white
    space, so "3.5" is whole, and not within ``$...$`` or braces, nor in "10 a.m.
    today"; marks such as ``</think>``, ``</s>`` and ``<|im_end|>`` end it, too.
    Punctuation and Markdown around the answer are left out, as are words in brackets
    behind a number. ValueError: an option is unknown.

    >>> answer_phrase()("So **the answer is:** $3.5$ kg. Done.")
    '$3.5$ kg'
    >>> answer_phrase()("因此答案是：42。谢谢"), answer_phrase()("Answer: 15 (fifteen)")
    ('42', '15')
    >>> answer_phrase()("The answer is 15, not 20.")
    '15'
    """

    _: KW_ONLY
    which: Which = "last"
    language: Literal["any", "en", "zh"] = "any"

    def occurrences(self, completion: str) -> list[Span]:
        spans: list[Span] = []
        limit = len(completion)
        for phrase in reversed(list(_PHRASES[self.language].finditer(completion))):
            if not phrase.lastgroup:  # not denied
                spans.append(_sentence_span(completion, phrase.end(), limit))
            limit = phrase.start()
        return spans[::-1]


def _sentence_span(text: str, start: int, limit: int) -> Span:
    """Find the span of the sentence or displayed formula that begins at `start`.

    Marks around it are left out.
    """
    display = _DISPLAY.match(text, start, limit)
    if display:
        closing = "$$" if display[1] == "$$" else "\\]"
        close = text.find(closing, display.end(), limit)
        if close >= 0:
            return trim(text, display.end(), close)
    end = limit
    for piece in _SENTENCE_PIECE.finditer(text, start, limit):
        if piece["end"]:
            end = piece.start()
            break
    inner = text[start:end].rstrip(_CLOSING_MARKS)
    inner = _REMARK.sub("", inner).rstrip(_CLOSING_MARKS)
    bare = inner.lstrip(_OPENING_MARKS)
    marks = inner[: len(inner) - len(bare)].strip()
    if marks and marks in bare:  # they close within the sentence: "**42** apples"
        bare = inner
    end = start + len(inner)
    return end - len(bare), end


Label = Annotated[
    str,
    text_like(
        r"[^\s\[\]:：](?:[^\[\]:：\n]*[^\s\[\]:：])?",
        "is not the label of a citation; give the word before its colon, such as "
        "'Source'",
    ),
]


@lru_cache(maxsize=64)
def citation_patterns(label: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns of a citation's brackets, and of each id in them."""
    mark = rf"\s*{re.escape(label)}\s*[:：]"
    bracket = re.compile(rf"\[{mark}([^\[\]\n]*)\]", re.IGNORECASE)
    return bracket, re.compile(rf"(?:{mark})?([^,;，；、]+)", re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class citation(Extractor):
    """Extract the id in the last ``[Source: id]``, in any case.

    Use `every` for all ids. Each id in a bracket with commas or semicolons is an
    occurrence; a bracket without an id gives an empty text. ValueError: `label` is
    empty or contains a bracket or colon.

    >>> citation()("Rain [Source: doc-3], then sun [Source: doc-7; doc-9].")
    'doc-9'
    """

    label: Label = "Source"
    _: KW_ONLY
    which: Which = "last"

    def occurrences(self, completion: str) -> list[Span]:
        brackets, identifiers = citation_patterns(self.label)
        spans: list[Span] = []
        for bracket in brackets.finditer(completion):
            ids: list[Span] = []
            for identifier in identifiers.finditer(completion, *bracket.span(1)):
                start, end = trim(completion, *identifier.span(1))
                if start < end:
                    ids.append((start, end))
            spans += ids or [trim(completion, *bracket.span(1))]
        return spans


@dataclass(frozen=True, repr=False)
class pattern(Extractor):
    r"""Extract a group of a regular expression, by default from its last match.

    The group is `group`, else the first group, else the whole match. The `regex` engine
    stops after `timeout` seconds with a TimeoutError, so that the row's components end
    as ``error`` and are not judged. ValueError at construction: the pattern does not
    compile or lacks the group.

    >>> pattern(r"total: (\d+)")("total: 3, total: 4")
    '4'
    """

    expression: Expression
    _: KW_ONLY
    group: int | str | None = None
    which: Which = "last"
    timeout: Seconds = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        pattern = compile_expression(self.expression)
        groups = [*range(pattern.groups + 1), *pattern.groupindex]
        if self.group is None:
            return
        if self.group not in groups or isinstance(self.group, bool):
            raise ValueError(
                f"pattern {self.expression!r} has no group {self.group!r}; "
                f"it has {groups}"
            )

    def occurrences(self, completion: str) -> list[Span]:
        pattern = compile_expression(self.expression)
        group = self.group
        if group is None:
            group = min(1, pattern.groups)
        matches = pattern.finditer(completion, timeout=self.timeout)
        spans = in_time(self, lambda: [match.span(group) for match in matches])
        return [trim(completion, *span) for span in spans if span != (-1, -1)]
