"""Extraction of what stands behind words that announce it, or where a pattern of the user's own matches."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Annotated, Literal

from rewardkit.primitives.expressions import Expression, Seconds, compiled, in_time
from rewardkit.primitives.extract.extractor import (
    Extractor,
    Span,
    Which,
    text_like,
    trim,
)

Marker = Annotated[
    str,
    text_like(
        r"(?s).*\S.*",
        "is empty or no text; give what stands before the answer, such as '####'",
    ),
]


@dataclass(frozen=True, repr=False)
class after(Extractor):
    r"""Text after `marker` up to the end of its line (``until="end"``: of the completion).

    By default the last marker.

    `marker` is plain text, not a pattern; ``case=False`` finds it in any case.
    ValueError: it is empty, or an option is unknown.

    >>> after("####")("6 * 7 = 42\n#### 42")
    '42'
    """

    marker: Marker
    _: KW_ONLY
    which: Which = "last"
    until: Literal["line", "end"] = "line"
    case: bool = True

    def occurrences(self, completion: str) -> list[Span]:
        found: list[Span] = []
        end = last = -1  # of the line, and of the text in it; looked up once a line
        marker = re.compile(
            rf"{re.escape(self.marker)}(?=(\s*+))", 0 if self.case else re.IGNORECASE
        )
        for match in marker.finditer(completion):
            start = match.end()
            if start > end:
                line = completion.find("\n", start) if self.until == "line" else -1
                end = len(completion) if line < 0 else line
                last = trim(completion, start, end)[1]
            found.append((min(match.end(1), max(start, last)), max(start, last)))
        return found


# Markdown may close behind each word; "answer is" does not begin "answer is not", nor
# 答案是 "答案是否". What the wrong answer is, what it would be if, or whether there is one, is
# not what the answer is: a named group.
_OF_WHAT = r"(?:[^\s.,:;!?=。，：；！？]|[.,](?=\w)){1,30}"
_ENGLISH = rf"""(?P<denied> \b(?i:no|wrong|false|worst|incorrect)[ ]
                 | \b(?i:if|whether|unless|suppos(?:e|ing)|assum(?:e|ing))[ ](?i:that[ ])?
                   (?i:(?:the|my|your)[ ])?(?i:(?:final|correct|right)[ ])? )?+
             (?: (?<!\w)(?i:answer)[*_]{{0,3}}
               (?: (?: [ \t]+(?i:to|for|of)(?:[ \t]+{_OF_WHAT}){{1,8}}? )?
                   [ \t]+(?i:is|was|equals|(?:should|would|must|will|has[ \t]to)[ \t]+be)\b
                   (?![ \t]+(?i:not)\b)
                   [*_]{{0,3}} (?:[ \t]*[:：][*_]{{0,3}})?
                 | [ \t]*(?:[:：]|=(?!=))[*_]{{0,3}} )
             | (?<!\w)(?i:final[ \t]+answer)[*_]{{0,3}}[ \t]*$
             | ^\#{{1,6}}[ \t]+[*_]{{0,3}}(?i:answer)[*_]{{0,3}}[ \t]*$ )"""
_NO_ANSWER = (
    "(?:否|什么|什麼|多少|哪|(?:错误|錯誤|不?正确|不?正確|不?对|不?對|错|錯)的)"
)
_CHINESE = rf"""(?P<denied_zh> (?:错误|錯誤)的? | [没沒]有 | (?:如果|假如|假设|假設|若)(?:正确|正確)?的? )?+
               (?: 最[终終]答案[*_]{{0,3}}[ \t]* (?!(?:应该|應該|应|應)?就?是{_NO_ANSWER})
                     (?:(?:应该|應該|应|應)?就?[是为為])?
                   | 答案 (?: [*_]{{0,3}}[ \t]*
                     (?: (?:应该|應該|应|應)?就?[是为為](?!{_NO_ANSWER}) | (?=[:：]) ) | 】 )
                   | ^\#{{1,6}}[ \t]+[*_]{{0,3}}答案(?=[*_]{{0,3}}[ \t]*$) )
               [*_]{{0,3}} (?:[ \t]*[:：][*_]{{0,3}})?"""
_PHRASES = {
    language: re.compile(rf"(?:{expression}) \s*+", re.VERBOSE | re.MULTILINE)
    for language, expression in {
        "en": _ENGLISH,
        "zh": _CHINESE,
        "any": f"{_ENGLISH} | {_CHINESE}",
    }.items()
}
_BRACES = r"\{[^{}\n]*+\}"
_BRACES = rf"\{{(?:[^{{}}\n]|{_BRACES})*+\}}"
_BRACES = rf"\{{(?:[^{{}}\n]|{_BRACES})*+\}}"  # three deep
_MARK = (
    r"</think(?:ing)?> | </s> | <\|\w{1,30}\|> | 【(?=解析|分析|详解|詳解|点评|考点)"
)
_INSTEAD = r"(?:,[ \t]+|[ \t]\()(?i:not|rather[ \t]than|instead[ \t]of)\b | [，（(](?:而?不是|而非)"
_PIECE = re.compile(
    rf"""\$(?![\s$])[^$\n]*+(?<!\s)\$ | {_BRACES}                # mathematics, whatever stops are in it
      | (?<![^\W_]) (?: (?:[^\W\d_]\.){{2,}}(?=[ \t]+[^\sA-Z]) | (?:Mr|Mrs|Ms|Dr|Prof|St)\.(?=[ ]) )
      | (?P<end> \n | [。！？] | {_MARK} | {_INSTEAD} | [.!?](?=[*_`"'”’)\]]*+(?:\s|\Z)) )""",
    re.VERBOSE,
)
_DISPLAY = re.compile(r"(\$\$|\\\[)[ \t]*\n")
_REMARK = re.compile(r"(?<=[\d%$}*])[ \t]+\((?!mod\b)[^\W\d_][^()\d$\\\n]*\)\Z")
_BEFORE = " \t\r\n*_`\"'“‘"
_BEHIND = " \t\r\n*_`\"'”’.,;:!?。，；：！？、"


@dataclass(frozen=True, repr=False)
class answer_phrase(Extractor):
    r"""What follows "the answer is", "Final answer:", 答案是, 答案： or 最终答案; by default the last.

    Also "was", "should be", "must be" and the like, "the answer to ... is", "answer =",
    答案为, 【答案】, and a heading "# Answer"; not "is not", 是否, "the wrong answer is", "no
    answer", "if the answer is". Up to the end of the sentence or line, or to ", not" or
    "(not" another one; where nothing follows on the line, of the next one that is not
    empty; of a formula on lines of its own, within ``\[`` or ``$$``, all of it. A stop
    ends a sentence before white space only, so "3.5" is whole, but not within ``$...$``
    or braces, nor in "10 a.m. today"; marks such as ``</think>``, ``</s>`` and
    ``<|im_end|>`` end it, too. Punctuation and Markdown around it are left out, as are
    words in brackets behind a number. The words count in any case, in bold, and with
    either colon; ``language="en"`` or ``"zh"`` takes those of one language. ValueError:
    an option is unknown.

    >>> answer_phrase()("So **the answer is:** $3.5$ kg. Done."), answer_phrase()("因此答案是：42。谢谢")
    ('$3.5$ kg', '42')
    >>> answer_phrase()("Answer: 15 (fifteen)"), answer_phrase()("The answer is 15, not 20.")
    ('15', '15')
    """

    _: KW_ONLY
    which: Which = "last"
    language: Literal["any", "en", "zh"] = "any"

    def occurrences(self, completion: str) -> list[Span]:
        phrases = list(_PHRASES[self.language].finditer(completion))
        limits = [*(phrase.start() for phrase in phrases[1:]), len(completion)]
        return [
            _sentence(completion, phrase.end(), limit)
            for phrase, limit in zip(
                phrases, limits, strict=False
            )  # without phrases there is one limit
            if not phrase.lastgroup
        ]


def _sentence(text: str, start: int, limit: int) -> Span:
    """The sentence that starts here, or the formula on lines of its own, without the marks around it."""
    display = _DISPLAY.match(text, start, limit)
    if display:
        close = text.find("$$" if display[1] == "$$" else "\\]", display.end(), limit)
        if close >= 0:
            return trim(text, display.end(), close)
    ends = (
        piece.start() for piece in _PIECE.finditer(text, start, limit) if piece["end"]
    )
    inner = _REMARK.sub("", text[start : next(ends, limit)].rstrip(_BEHIND)).rstrip(
        _BEHIND
    )
    bare = inner.lstrip(_BEFORE)
    marks = inner[: len(inner) - len(bare)].strip()
    if marks and marks in bare:  # they close within the sentence: "**42** apples"
        bare = inner
    end = start + len(inner)
    return end - len(bare), end


Label = Annotated[
    str,
    text_like(
        r"[^\s\[\]:：](?:[^\[\]:：\n]*[^\s\[\]:：])?",
        "is not the label of a citation; give the word before its colon, such as 'Source'",
    ),
]


@lru_cache(maxsize=64)
def citation_patterns(label: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What stands in the brackets of a citation, and each id in that."""
    mark = rf"\s*{re.escape(label)}\s*[:：]"
    bracket = re.compile(rf"\[{mark}([^\[\]\n]*)\]", re.IGNORECASE)
    return bracket, re.compile(rf"(?:{mark})?([^,;，；、]+)", re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class citation(Extractor):
    """The id in ``[Source: id]``, in any case; by default of the last. `every` gives all of them.

    Several ids in one bracket, with commas or semicolons between them, are an
    occurrence each; a bracket with none is found and empty. ValueError: `label` is
    empty or has a bracket or colon in it.

    >>> citation()("Rain [Source: doc-3], then sun [Source: doc-7; doc-9].")
    'doc-9'
    """

    label: Label = "Source"
    _: KW_ONLY
    which: Which = "last"

    def occurrences(self, completion: str) -> list[Span]:
        brackets, identifiers = citation_patterns(self.label)
        found: list[Span] = []
        for bracket in brackets.finditer(completion):
            parts = [
                trim(completion, *part.span(1))
                for part in identifiers.finditer(completion, *bracket.span(1))
            ]
            found += [part for part in parts if part[0] < part[1]] or [
                trim(completion, *bracket.span(1))
            ]
        return found


@dataclass(frozen=True, repr=False)
class pattern(Extractor):
    r"""Text of a group of a regular expression: `group`, else the first group, else the whole match.

    By default the last.

    Runs on the `regex` engine, which gives up after `timeout` seconds: TimeoutError, so
    that the row's components end as ``error`` instead of being judged. ValueError at
    construction: the pattern does not compile or lacks the group.

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
        pattern = compiled(self.expression)
        known = [*range(pattern.groups + 1), *pattern.groupindex]
        if self.group is not None and (
            self.group not in known or isinstance(self.group, bool)
        ):
            raise ValueError(
                f"pattern {self.expression!r} has no group {self.group!r}; it has {known}"
            )

    def occurrences(self, completion: str) -> list[Span]:
        pattern = compiled(self.expression)
        group = self.group if self.group is not None else min(1, pattern.groups)
        matches = pattern.finditer(completion, timeout=self.timeout)
        spans = in_time(self, lambda: [match.span(group) for match in matches])
        return [trim(completion, *span) for span in spans if span != (-1, -1)]
