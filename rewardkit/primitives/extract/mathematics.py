"""Extraction of the final answer of a whole solution of a mathematical problem."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from rewardkit.primitives.extract.extractor import Extractor, Span, trim
from rewardkit.primitives.extract.markers import answer_phrase
from rewardkit.primitives.extract.numerals import number
from rewardkit.primitives.extract.tagged import Box
from rewardkit.primitives.extract.tagged import boxes as all_boxes

END: Final = 20_000
"""Characters at the end of a text in which an answer without a box is looked for. Our choice: some pages."""

_NUMERAL = r"(\d{1,9}|[〇零一二两三四五六七八九十百]{1,9})"
CHINESE_FRACTION: Final = rf"(?<![\d.〇零一二两三四五六七八九十百又])(?:{_NUMERAL}又)?{_NUMERAL}分之{_NUMERAL}"
"""Its groups are the whole number, the denominator and the numerator: 一又二分之一."""

_FORMULA = re.compile(  # a currency sign is none: no digit stands behind a formula, no space at its ends
    r"\$\$[^$]++\$\$|(?<!\\)\$(?![\s$])[^$\n]*+(?<![\s\\])\$(?!\d)"
    r"|\\\((?:[^\\]|\\[^()])*+\\\)|\\\[(?:[^\\]|\\[^\[\]])*+\\\]"
    r"|(?<![\w\\])\\?[({\[（](?!\d{1,3}(?:,\d{3})++[^\d,])"  # (1, 2) and [0, ∞), but not (1,234)
    r"(?:\s?+[-−+]?(?:∞|\d[\d./]*+)\s?+[,，;；])++\s?+[-−+]?(?:∞|\d[\d./]*+)\s?+\\?[)}\]）]"
)
_ATTAINED = r"(?:attained|achieved|reached)[ ](?:only[ ])?(?:at|when|if|for)\b|where\b|with[ ]equality\b"
_ASIDE = re.compile(  # behind a value and its unit: 11 apples (5 red and 6 green), 5, attained at x = 2
    rf"""(?<=[\d$%}})\]]) (?<!\$[A-Za-z]\$) (?P<unit> (?:[ ]?+(?!{_ATTAINED})[^\W\d_]{{1,15}}+){{0,3}}+ )
    (?: (?:[ ]\(|（) (?!mod\b) (?=[^()（）\n]*(?:[A-Za-z]{{2}}|[\u4e00-\u9fff])) [^()（）\n]*+ [)）]
      | [,，]?[ ]? (?: (?:(?:which|and)[ ]is[ ])? (?:{_ATTAINED})
                    | (?<=[,，\s])(?:equality[ ]holds|此时|其中|当且仅当) )
        (?:[^.。\n]|\.(?=\d))*+ )""",
    re.VERBOSE,
)
_JOINED = re.compile(
    r"[\s,;.$、，]*+(?:and|or|和|或|及|与)?[\s,;$、，]*+(?:[A-Za-z]\w?\s*=\s*)?"
)
_NAME = re.compile(
    r"[\s$\\()\[\]]*(?:\\angle\s*)?[A-Za-z]{1,3}(?:_\{?\w{1,3}\}?)?'?[\s$\\()\[\]]*"
)
_MARK = re.compile(r"#{4,}+([^\n#]*+)")
_ODD_NUMBER = re.compile(  # that `number` leaves to others: 1.000,99; 5万; 15π and 2√3; 3:4; 四分之三
    r"(?<![\d.,])[-+]?\d{1,3}(?:\.\d{3})+,\d+(?![\d.,]*\d)|(?<![\d.])\d{1,9}(?:\.\d{1,9})?[万亿]"
    r"|[-−]?(?:(?<![\d.])\d{1,9}(?:\.\d{1,9})?)?(?:π|√\d{1,9}(?!\d))"
    r"|(?<![\d.,:：∶])\d{1,9}(?:(?P<gap>[ ]?)[:：∶](?P=gap)\d{1,9}){1,3}(?![:：∶\d]|[.,]\d)"
    rf"|{CHINESE_FRACTION}"
)
_CHOSEN = re.compile(
    r"(?:[故应∴]|因此|所以)\s?选择?[:：]?\s*([A-H]{1,8}(?:[,，、]\s?[A-H])*+)(?![A-Za-z])"
)
_UNIT = re.compile(
    r"\s?(?:\\?%|％|percent|hundred|thousand|million|billion|trillion|°[CF]?|degrees?|dollars?|cents?|euros?|pounds?|yuan|hours?|minutes?|seconds?|days?|weeks?"
    r"|months?|years?|miles?|feet|foot|inch(?:es)?|yards?|met(?:er|re)s?|kilomet(?:er|re)s?|centimet(?:er|re)s?|liters?"
    r"|grams?|kilograms?|(?:[kcm]?m|k?g|[kc]?l|ml|mph|km/h|m/s|ft|lbs?|oz)(?:[²³]|\^\{?[23]\}?)?|[元米度天岁个只人本页]"
    r"|千米|厘米|毫米|平方米|平方厘米|立方厘米|立方米|千克|小时|分钟|公里|公斤)(?![A-Za-z])"
)
_SAYS = re.compile(r"\bis\b|[是为]")
_NOT = re.compile(r"\b(?:not|than|mod)\s+\Z")
_RELATION = re.compile(r"(?<![<>!:\\=])=(?!=)|\\approx|\\implies|\\Rightarrow")
_SEPARATOR = re.compile(r"[,，;]|\\q?quad|\\text\s?\{\s*(?:and|or)\s*\}")
_EQUATION = re.compile(r"[\s$\\(\[]*[A-Za-z](?:_?\{?\w{1,3}\}?)?'?\s*=")


@dataclass(frozen=True, repr=False)
class math_answer(Extractor):
    r"""The final answer of a whole solution, as it is written, for `rk.verify.math_equal` to read.

    The first of these that is there: the last ``\boxed{}``, with those joined to it by
    "and" or commas (a set then); what follows the last "the answer is" (as
    `answer_phrase` has it, Chinese too), or its last formula or number where that is a
    long sentence; what follows the last ``####``; the last formula, displayed or
    inline, with those joined to it, or the last number with its currency and unit,
    whichever stands last. Of a computation such as ``$3 + 4 = 7$`` it is what stands
    behind the last sign, of ``$x = 1, y = 2$`` all of it, and a lone name is no answer:
    in "The largest $n$ is 34." it is 34. What stands in brackets behind a value, and
    where it is attained, is left out: "11 apples (5 red and 6 green)" are 11. Boxes are
    looked for in all of the text, the others in its last 20,000 characters. ``None``
    where there is none of these.

    >>> math_answer()(r"So $x = 3$ or $x = 5$."), math_answer()("She pays $1,234.50 in all.")
    ('$x = 3$ or $x = 5$', '$1,234.50')
    >>> math_answer()(r"Thus \boxed{1} and \boxed{2}."), math_answer()("The largest $n$ is 34.")
    ('\\boxed{1} and \\boxed{2}', '34')
    """

    def occurrences(self, completion: str) -> list[Span]:
        for find in (_boxed, _announced, _marked, _last):
            start = 0 if find is _boxed else _end(completion)
            span = find(completion[start:])
            if span and span[0] < span[1]:
                return [(start + span[0], start + span[1])]
        return []


def _end(text: str) -> int:
    """Where what is read of a long text begins: at a paragraph, else a line, else a word."""
    first = len(text) - END
    starts = (
        (text.find(mark, first) for mark in ("\n\n", "\n", " ")) if first > 0 else (0,)
    )
    return next((start for start in starts if start >= 0), len(text))


def boxes(text: str) -> list[Box]:
    """The boxes of a text that are in no other."""
    return _outermost(all_boxes(text))


def _outermost(every: list[Box]) -> list[Box]:
    found: list[Box] = []
    for box in every:
        if not found or box.outer[0] >= found[-1].outer[1]:
            found.append(box)
    return found


def joined(text: str, spans: list[Span]) -> list[Span]:
    """The last of some spans, with those joined to it by "and" or commas."""
    first = max(0, len(spans) - 1)
    while first and _JOINED.fullmatch(text, spans[first - 1][1], spans[first][0]):
        first -= 1
    return spans[first:]


def _run(text: str, spans: list[Span]) -> Span:
    """From the first to the last of the spans that are joined to the last."""
    run = joined(text, spans)
    return run[0][0], run[-1][1]


def _boxed(text: str) -> Span | None:
    every = all_boxes(text)
    if not every:
        return None
    outer = [box.outer for box in _outermost(every)]
    run = _run(text, outer)
    return every[-1].inner if run == outer[-1] else run


def _announced(text: str) -> Span | None:
    chosen = [match.span(1) for match in _CHOSEN.finditer(text)]
    return _core(text, sorted([*chosen, *answer_phrase().occurrences(text)]))


def _marked(text: str) -> Span | None:
    return _core(
        text, [trim(text, *mark.span(1)) for mark in list(_MARK.finditer(text))[-1:]]
    )


def _core(text: str, sentences: list[Span]) -> Span | None:
    """What the last that is not empty says the answer is: all of it, or of a long one what stands last."""
    last = next((span for span in reversed(sentences) if span[0] < span[1]), None)
    if last is None:
        return None
    words = _FORMULA.sub("", text[slice(*last)])
    long = (
        len(re.findall(r"[^\W\d_]{2,}", words)) > 3
        or _SAYS.search(words)
        or _ASIDE.search(text, *last)
    )
    return (long and _last(text, *last)) or last


def _last(text: str, start: int = 0, end: int | None = None) -> Span | None:
    """The last formula or number, whichever stands last; formulas that are joined are one."""
    end = len(text) if end is None else end
    text = _ASIDE.sub(lambda aside: aside["unit"].ljust(len(aside[0])), text)
    formulas = [match.span() for match in _FORMULA.finditer(text, start, end)]
    in_formula = range(*formulas[-1]) if formulas else ()
    piece = text[start:end]
    spans = [
        *number().occurrences(piece),
        *(match.span() for match in _ODD_NUMBER.finditer(piece)),
    ]
    numbers = [
        (start + first, start + last)
        for first, last in spans
        if start + first not in in_formula
        and not _NOT.search(text, max(start, start + first - 8), start + first)
    ]
    last_number = max(numbers, key=lambda span: (span[1], -span[0]), default=None)
    named = [span for span in formulas if not _NAME.fullmatch(text, *span)]
    if last_number and (not named or last_number[0] >= named[-1][1]):
        return _with_unit(text, *last_number)
    if not named:
        return None
    run = _run(text, named)
    return _value(text, *run) if run == named[-1] else run


def _value(text: str, start: int, end: int) -> Span:
    """What a formula comes to: behind the last sign of a computation, all of it where it is equations."""
    signs = list(_RELATION.finditer(text, start, end))
    if not signs or (
        len(signs) == 1
        and re.search(r"(?<!\\)\b[A-Za-z]", text[start : signs[0].start()])
    ):
        return start, end
    equations = _SEPARATOR.split(text[start:end])
    if len(equations) == len(signs) and all(map(_EQUATION.match, equations)):
        return start, end
    close = 2 if text.endswith(("$$", "\\)", "\\]"), start, end) else 1
    return trim(text, signs[-1].end(), end - close)


def _with_unit(text: str, start: int, end: int) -> Span:
    if unit := _UNIT.match(text, end):
        end = unit.end()
    while start and text[start - 1] in "$€£¥\\":
        start -= 1
    return start, end
