"""Extraction of the final answer from the whole solution of a mathematical problem."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import add
from typing import Final

from rewardkit.primitives.extract.enclosed import Box, find_boxes
from rewardkit.primitives.extract.extractor import Extractor, Span, trim
from rewardkit.primitives.extract.markers import answer_phrase
from rewardkit.primitives.extract.numerals import number

ANSWER_TAIL: Final = 20_000
"""Characters at the end of a text to search for an answer without a box.

Our choice: some pages."""

LONGEST_VALUE_NAME = 20
"""Characters before a box to search for its name, such as "x = ". Our choice."""

LONGEST_JOINT = 300
"""Characters between two boxes of one answer, at most. Our choice: a long sentence."""

_NUMERAL = r"(\d{1,9}|[〇零一二两三四五六七八九十百]{1,9})"
CHINESE_FRACTION: Final = (
    r"(?<![\d.〇零一二两三四五六七八九十百又])"
    rf"(?:{_NUMERAL}又)?{_NUMERAL}分之{_NUMERAL}"
)
"""Pattern of 一又二分之一; its groups are the integer, denominator and numerator."""

# A formula has no digit behind it and no space at its ends, unlike currency signs. The
# brackets of (1, 2) and [0, ∞) make a formula, those of (1,234) do not.
FORMULA: Final = re.compile(
    r"\$\$[^$]++\$\$|(?<!\\)\$(?![\s$])[^$\n]*+(?<![\s\\])\$(?!\d)"
    r"|\\\((?:[^\\]|\\[^()])*+\\\)|\\\[(?:[^\\]|\\[^\[\]])*+\\\]"
    r"|\\begin\{\w?matrix\}(?:[^\\]|\\(?!end))*+\\end\{\w?matrix\}"
    r"|(?<![\w\\])\\?[({\[（](?!\d{1,3}(?:,\d{3})++[^\d,])"
    r"(?:\s?+[-−+]?(?:∞|\d[\d./]*+)\s?+[,，;；])++"
    r"\s?+[-−+]?(?:∞|\d[\d./]*+)\s?+\\?[)}\]）]"
)
_ATTAINED = (
    r"(?:attained|achieved|reached)[ ](?:only[ ])?(?:at|when|if|for)\b|where\b"
    r"|with[ ]equality\b|for[ ](?:all|any|each|every)\b"
)
# Remarks behind a value and its unit: 11 apples (5 red, 6 green); 5, attained at x = 2.
_ASIDE = re.compile(
    rf"""(?<=[\d$%}})\]]) (?<!\$[A-Za-z]\$)
    (?P<unit> (?:[ ]?+(?!{_ATTAINED})[^\W\d_]{{1,15}}+){{0,3}}+ )
    (?: (?:[ ]\(|（) (?!mod\b) (?=[^()（）\n]*(?:[A-Za-z]{{2}}|[\u4e00-\u9fff]))
          [^()（）\n]*+ [)）]
      | [,，]?[ ]? (?: (?:(?:which|and)[ ]is[ ])? (?:{_ATTAINED})
                    | (?<=[,，\s])(?:equality[ ]holds|此时|其中|当且仅当) )
        (?:[^.。\n]|\.(?=\d))*+ )""",
    re.VERBOSE,
)
_IDLE = r"(?:[\s,;.$、，&]|\\[,;:! ()\[\]]|\\q?quad(?![A-Za-z]))*+"
_JOINING_WORD = r"(?:and|or|as well as|und|oder|et|ou|和|或|及|与)"
_NAME_BEFORE = r"(?:\\[a-z]{2,8}|[A-Za-z])(?:_?\{?\w{1,3}\}?)?'?\s*=\s*"  # x_1 =
# A letter with its sign that begins a formula, is no part of one (a + b =, \sin x =, or
# m = n =), and numbers no root (x_1 =).
_NAME_AT_END = re.compile(
    r"(?:^|[$,;:(\[]|(?<![\\A-Za-z])[A-Za-z]{2,20})\s*+"
    r"(?P<name>(?:\\[a-z]{2,8}|[A-Za-z])'?\s*=\s*)\Z"
)
_CONJUNCTION = re.compile(
    rf"{_IDLE}(?:(?:\\(?:text|mbox)\s?\{{\s*)?{_JOINING_WORD}(?:\s*\}})?)?{_IDLE}"
    rf"(?:{_NAME_BEFORE})?"
)
_JOINS = re.compile(
    rf"(?<![^\W\d_])(?:{_JOINING_WORD}|the (?:second|third|other|last))(?![^\W\d_])"
    r"|(?<=\.\s)(?:And|The|Its)\s"
)
_SENTENCE_END = re.compile(r"[.!?。]\s(?!(?:And|The|Its)\s)|\n\s*\n")
_CONCLUDES = re.compile(
    r"\b(?:so|hence|thus|therefore|then|gives?|answer|check|verif\w+|that is|i\.e)\b"
)
_LONE_NAME = re.compile(
    r"[\s$\\()\[\]]*(?:\\angle\s*)?[A-Za-z]{1,3}(?:_\{?\w{1,3}\}?)?'?[\s$\\()\[\]]*"
)
_HASH_MARK = re.compile(r"#{4,}+([^\n#]*+)")
# Numbers that `number` does not find: 1.000,99 and 1,5; 5万; 15π, 2√3; 3:4; 四分之三.
_ODD_NUMBER = re.compile(
    r"(?<![\d.,])[-+]?(?:(?:\d{1,3}(?:[.\s]\d{3})+|\d{1,9}),(?:\d{1,2}|\d{4,9})"
    r"|(?:\d{1,3}(?:\.\d{3})+|0),\d{3})(?![\d.,]*\d)"
    r"|(?<![\d.])\d{1,9}(?:\.\d{1,9})?[万亿]"
    r"|[-−]?(?:(?<![\d.])\d{1,9}(?:\.\d{1,9})?)?(?:π|√\d{1,9}(?!\d))"
    r"|(?<![\d.,:：∶])\d{1,9}(?:(?P<gap>[ ]?)[:：∶](?P=gap)\d{1,9}){1,3}"
    r"(?![:：∶\d]|[.,]\d)"
    rf"|{CHINESE_FRACTION}"
)
_CHOSEN = re.compile(
    r"(?:[故应∴]|因此|所以)\s?选择?[:：]?\s*([A-H]{1,8}(?:[,，、]\s?[A-H])*+)(?![A-Za-z])"
)
_UNIT_BEHIND = re.compile(
    r"\s?(?:\\?%|％|percent|hundred|thousand|million|billion|trillion|°[CF]?|degrees?"
    r"|dollars?|cents?|euros?|pounds?|yuan|hours?|minutes?|seconds?|days?|weeks?"
    r"|months?|years?|miles?|feet|foot|inch(?:es)?|yards?|met(?:er|re)s?"
    r"|kilomet(?:er|re)s?|centimet(?:er|re)s?|liters?|grams?|kilograms?"
    r"|(?:[kcm]?m|k?g|[kc]?l|ml|mph|km/h|m/s|ft|lbs?|oz)(?:[²³]|\^\{?[23]\}?)?"
    r"|[元米度天岁个只人本页]"
    r"|千米|厘米|毫米|平方米|平方厘米|立方厘米|立方米|千克|小时|分钟|公里|公斤)(?![A-Za-z])"
)
_PREDICATE_WORD = re.compile(r"\bis\b|[是为]")
_NEGATION = re.compile(r"\b(?:not|than|mod)\s+\Z")
_EQUALS_SIGN = re.compile(r"(?<![<>!:\\=])=(?!=)|\\approx|\\implies|\\Rightarrow")
_EQUATION_SEPARATOR = re.compile(r"[,，;]|\\q?quad|\\text\s?\{\s*(?:and|or)\s*\}")
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*(?!\s*:)")
_NAMED_EQUATION = re.compile(r"[\s$\\(\[]*[A-Za-z](?:_?\{?\w{1,3}\}?)?'?\s*=")


@dataclass(frozen=True, repr=False)
class math_answer(Extractor):
    r"""Extract the final answer of a whole solution, for `rk.verify.math_equal`.

    The first of these that the text has is the answer:

    1. the last ``\boxed{}``, with boxes joined to it by "and" or commas (as a set);
    2. the text after the last "the answer is" (as in `answer_phrase`, Chinese too), or
       the last formula or number of it if it is a long sentence;
    3. the text after the last ``####``;
    4. the last formula, displayed or inline, with formulas joined to it, or the last
       number with its currency and unit, whichever comes last;
    5. the last words in bold.

    In a computation such as ``$3 + 4 = 7$`` the answer is the part after the last sign,
    in ``$x = 1, y = 2$`` all of it. A lone name is no answer: in "The largest $n$ is
    34." it is 34. Remarks in brackets behind a value, and where it is attained, are
    left out: "11 apples (5 red and 6 green)" are 11. Boxes count in the whole text, the
    others in its last 20,000 characters. The value is ``None`` if the text has none.

    >>> find = math_answer()
    >>> find(r"So $x = 3$ or $x = 5$."), find("She pays $1,234.50 in all.")
    ('$x = 3$ or $x = 5$', '$1,234.50')
    >>> find(r"Thus \boxed{1} and \boxed{2}."), find("The largest $n$ is 34.")
    ('\\boxed{1} and \\boxed{2}', '34')
    """

    def occurrences(self, completion: str) -> list[Span]:
        tail = _tail_start(completion)
        for find, start in (
            (_find_boxed, 0),
            (_find_announced, tail),
            (_find_marked, tail),
            (_find_last, tail),
            (_find_bold, tail),
        ):
            span = find(completion[start:])
            if span and span[0] < span[1]:
                return [(start + span[0], start + span[1])]
        return []


def _tail_start(text: str) -> int:
    """Return the start of the tail of a long text: a paragraph, a line or a word."""
    first = len(text) - ANSWER_TAIL
    if first <= 0:
        return 0
    for mark in ("\n\n", "\n", " "):
        start = text.find(mark, first)
        if start >= 0:
            return start
    return len(text)


def outermost_boxes(text: str) -> list[Box]:
    """Find the boxes of a text that are not inside another one."""
    boxes: list[Box] = []
    for box in find_boxes(text):
        if not boxes or box.outer[0] >= boxes[-1].outer[1]:
            boxes.append(box)
    return boxes


def joined_to_last(
    text: str, spans: list[Span], *, loosely: bool = False
) -> list[Span]:
    """Return the last span, after those joined to it by "and" or commas.

    `loosely` also joins spans with other words between them, even in a next sentence
    that begins with "The" or "And", unless the words draw a conclusion ("so", "hence").
    """
    first = max(0, len(spans) - 1)
    while first:
        between = text[spans[first - 1][1] : spans[first][0]]
        is_joined = _CONJUNCTION.fullmatch(between) is not None
        if loosely and not is_joined and len(between) < LONGEST_JOINT:
            is_apart = _SENTENCE_END.search(between) or _CONCLUDES.search(between)
            is_joined = not is_apart and _JOINS.search(between) is not None
        if not is_joined:
            break
        first -= 1
    return spans[first:]


def _last_run(text: str, spans: list[Span]) -> Span:
    """Return the span that covers the last span and those joined to it."""
    run = joined_to_last(text, spans)
    return run[0][0], run[-1][1]


def _find_boxed(text: str) -> Span | None:
    boxes = find_boxes(text)
    if not boxes:
        return None
    outer = [box.outer for box in outermost_boxes(text)]
    start, end = _last_run(text, outer)
    if (start, end) == outer[-1]:
        return boxes[-1].inner
    names = names_before(text, joined_to_last(text, outer))
    return start - len(names[0]), end


def names_before(text: str, boxes: Sequence[Span]) -> list[str]:
    """Return the name before each box with its equals sign, such as "x = ".

    Each is "" unless all have one: where one is left out, names tell nothing apart.
    """
    names = []
    for start, _ in boxes:
        first = max(0, start - LONGEST_VALUE_NAME)
        match = _NAME_AT_END.search(text, first, start)
        names.append(match["name"] if match else "")
    return names if all(names) else [""] * len(names)


def boxes_apart(text: str) -> str | None:
    r"""Return the contents of boxes that form one answer although text parts them.

    Such boxes are named values, as ``\boxed{k = 45}`` and ``\boxed{n = 2}``, or the
    last boxes of a sentence joined by "and", or of sentences that begin with "The" or
    "And". Returns ``None`` if there are fewer than two.

    >>> boxes_apart(r"The largest is \boxed{5} and the smallest \boxed{2}.")
    '5, 2'
    """
    boxes = outermost_boxes(text)
    contents = [text[slice(*box.inner)] for box in boxes]
    if all(map(_NAMED_EQUATION.match, contents)):
        named = {content.partition("=")[0].strip(): content for content in contents}
        together = list(named.values())
    else:
        run = joined_to_last(text, [box.outer for box in boxes], loosely=True)
        together = list(map(add, names_before(text, run), contents[-len(run) :]))
    return ", ".join(together) if len(together) > 1 else None


def _find_bold(text: str) -> Span | None:
    return max((match.span(1) for match in _BOLD.finditer(text)), default=None)


def _find_announced(text: str) -> Span | None:
    spans = [match.span(1) for match in _CHOSEN.finditer(text)]
    return _find_core(text, sorted(spans + answer_phrase().occurrences(text)))


def _find_marked(text: str) -> Span | None:
    marks = list(_HASH_MARK.finditer(text))
    if not marks:
        return None
    return _find_core(text, [trim(text, *marks[-1].span(1))])


def _find_core(text: str, sentences: list[Span]) -> Span | None:
    """Return the last sentence that is not empty, or the last formula of a long one."""
    sentences = [span for span in sentences if span[0] < span[1]]
    if not sentences:
        return None
    sentence = sentences[-1]
    words = FORMULA.sub("", text[slice(*sentence)])
    is_long = (
        len(re.findall(r"[^\W\d_]{2,}", words)) > 3
        or _PREDICATE_WORD.search(words)
        or _ASIDE.search(text, *sentence)
    )
    if not is_long:
        return sentence
    return _find_last(text, *sentence) or sentence


def _find_last(text: str, start: int = 0, end: int | None = None) -> Span | None:
    """Find the last formula, with formulas joined to it, or the last number."""
    if end is None:
        end = len(text)
    text = _ASIDE.sub(lambda aside: aside["unit"].ljust(len(aside[0])), text)
    formulas = [match.span() for match in FORMULA.finditer(text, start, end)]
    number_span = _find_last_number(text, start, end, formulas[-1:])
    formulas = [span for span in formulas if not _LONE_NAME.fullmatch(text, *span)]
    if number_span and (not formulas or number_span[0] >= formulas[-1][1]):
        return _with_unit(text, *number_span)
    if not formulas:
        return None
    run = _last_run(text, formulas)
    return _result_of(text, *run) if run == formulas[-1] else run


def _find_last_number(
    text: str, start: int, end: int, formulas: list[Span]
) -> Span | None:
    """Find the last number that is neither in one of `formulas` nor after "not"."""
    piece = text[start:end]
    spans = number().occurrences(piece)
    spans += [match.span() for match in _ODD_NUMBER.finditer(piece)]
    numbers: list[Span] = []
    for first, last in spans:
        first = start + first
        last = start + last
        if any(formula[0] <= first < formula[1] for formula in formulas):
            continue
        if not _NEGATION.search(text, max(start, first - 8), first):
            numbers.append((first, last))
    return max(numbers, key=lambda span: (span[1], -span[0]), default=None)


def _result_of(text: str, start: int, end: int) -> Span:
    """Return the part after the last sign of a computation, or whole equations."""
    signs = list(_EQUALS_SIGN.finditer(text, start, end))
    if not signs:
        return start, end
    before = text[start : signs[0].start()]
    if len(signs) == 1 and re.search(r"(?<!\\)\b[A-Za-z]", before):
        return start, end
    equations = _EQUATION_SEPARATOR.split(text[start:end])
    if len(equations) == len(signs) and all(map(_NAMED_EQUATION.match, equations)):
        return start, end
    close = 2 if text.endswith(("$$", "\\)", "\\]"), start, end) else 1
    return trim(text, signs[-1].end(), end - close)


def _with_unit(text: str, start: int, end: int) -> Span:
    unit = _UNIT_BEHIND.match(text, end)
    if unit:
        end = unit.end()
    while start and text[start - 1] in "$€£¥\\":
        start -= 1
    return start, end
