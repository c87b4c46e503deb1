"""Extraction of numbers as they are written in running text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import Literal

from rewardkit.primitives.extract.extractor import Extractor, Span, Which
from rewardkit.primitives.primitive import PRINTED_NAMED
from rewardkit.primitives.texts import CJK

# These patterns find in running text the numbers that `read_number` reads as a whole
# text. There signs, slashes and stops have other uses too: "9-6" holds 9 and 6. A run
# of digits and joints that is no number as a whole ("3.14.15", "3/4/2024", "1:30",
# "1,23") holds none, as no part of it is a number that the author wrote.
_NUMBER_SIGN = "[-+负\u2010\u2011\u2012\u2013\u2212\ufe62\ufe63\uff0b\uff0d]"
_OPENERS = r"-+负.\\\u2010-\u2013\u2212\ufe62\ufe63\uff0b\uff0d"
_CURRENCY = r"(?:\\?[$£¥\ufe69\uff04\uffe1\uffe5\u20a0-\u20cf])"
_SLASH = r"[/\u2044\u2215\uff0f]"
_POINT = r"[.\uff0e\u066b]"
_GAP = r"[ \u00a0\u2007\u2009\u202f]"
_VULGAR_FRACTION = "[¼½¾⅐-⅞↉]"
_LETTER_SIGN = rf"[^\W_{CJK}]"  # Chinese has no spaces between words and numbers
# Plain spaces separate thousands behind a first group of one or two digits, and behind
# one of three digits if a group is 000: "128 256 512" is a list. So is a run with other
# digits before or behind it ("1 234 5"), unless the digits before are a year.
_SPACED_DIGITS = r"""
    (?: (?<!\d[ ]) | (?<=\d{4}[ ]) ) (?![0０])
      (?! \d{1,3} [ ] [1-9]\d\d [/\u2044\u2215\uff0f] )
    (?: \d{1,2} | (?= \d{3} (?:[ ]\d{3})*? [ ]000 ) \d{3} ) (?:[ ]\d{3})++
    (?! \d | [ ]\d++(?![/\u2044\u2215\uff0f]) )"""
_DIGIT_GROUPS = rf"""(?>
    (?![0０])\d{{1,3}} (?: (?:[,\u066c]\d{{3}})+ | (?:\{{,\}}\d{{3}})+ | (?:\\,\d{{3}})+
      | (?:,\\!\d{{3}})+
                       | (?:[\u00a0\u2007\u2009\u202f]\d{{3}})+
                         | (?:，[０-９]{{3}})+ ) (?!\d)
  | {_SPACED_DIGITS}
  | (?!0)[0-9]{{1,2}} (?:,[0-9]{{2}})+ ,[0-9]{{3}} (?!\d)
  | \d+ )"""
_DOTS = r"(?:\.{3,}|…|\s?\\[lc]?dots)?"  # a part of it: 0.333... is not 0.333
_DECIMAL = rf"(?> {_DIGIT_GROUPS} (?:{_POINT}\d+{_DOTS})? | (?<!\.)\.\d+{_DOTS} )"
_EXPONENT = (
    rf"(?: \{{ [ ]? {_NUMBER_SIGN}?\d{{1,6}} [ ]? \}}"
    rf" | {_NUMBER_SIGN}?\d{{1,6}}(?!\d) )"
)
_POWER_OF_TEN = rf"10 (?: \^{_EXPONENT} | [⁺⁻]?[⁰¹²³⁴-⁹]{{1,6}} )"
_TIMES = r"[ ]? (?:\\times|\\cdot|[×·⋅∙*x]) [ ]?"
_ARGUMENT = rf"(?: \s?\{{ [ ]? {_NUMBER_SIGN}?{_DECIMAL} [ ]? \}} | \s?\d )"
_PART = r"(?: \s?\{ [ ]? \d{1,6} [ ]? \} | \s?\d )"
_JOINT = r"[.\uff0e\u066b/\u2044\u2215\uff0f,\u066c:_'’]"
_SUPERSCRIPT = "[⁺⁻⁰¹²³⁴-⁹]"
_RAISES = rf"\^ \{{? {_NUMBER_SIGN}?"
# A part of an expression is no number: 2\sqrt{5}, 2π, and Chinese magnitudes,
# fractions and powers (5万, 5分之2, 2的5次方; but 5千克 and 5千米 are units).
_ROOT = r"(?: \\sqrt | sqrt(?![A-Za-z]) | √ )"
_FACTOR = rf"""[ ]? (?: (?:\\cdot|\\times|[×·⋅∙*]|\\[,;!]) [ ]? )?
    (?: {_ROOT} | \\?pi(?![A-Za-z]) | π | \\[dtc]?frac )"""
_CHINESE_MAGNITUDE = r"""[ ]? (?: [万萬亿億兆百佰十拾]
    | 千(?![克米瓦卡焦伏赫帕升字]) | 分之 | 次[方幂]
    | 的[ ]? (?: 平方 | 立方 | [\dn]{1,6}[ ]?次[方幂] ) )"""
_END = rf"""(?! {_JOINT}\d | -(?:0|\d+-)\d | {_SUPERSCRIPT} | {_RAISES}\d
    | \^\{{?[ ]?\\[dtc]?frac
    | {_FACTOR} | {_CHINESE_MAGNITUDE} )"""
# The arguments of an expression to skip; the bounds keep an unclosed brace cheap.
_BRACED_ARGUMENT = r"(?: \{ (?: [^{}\n] | \{ [^{}\n]{0,100} \} ){0,100}+ \} )"
_ANY = rf"\s? (?: {_BRACED_ARGUMENT} | \\[A-Za-z]{{1,20}} | \w )"
_PASSED = (
    rf"(?: \\[dtc]?frac {_ANY} {_ANY} | \\sqrt (?:\[[^\[\]\n]{{0,100}}\])? {_ANY} )"
)
_WORD_END = rf"[^\W\d_{CJK}][-\u2010\u2011]"  # COVID-19, x-5
_NUMBER = rf"""
    # what a number begins with, and where that has other uses what follows it
    (?= [{_OPENERS}\d¼½¾⅐-⅞↉] )
    (?= [^{_OPENERS}] | {_NUMBER_SIGN}{_CURRENCY}?[\d.\\¼½¾⅐-⅞↉] | \.\d
      | \\(?:[dtcf]|sqrt) )
    (?: (?<!{_LETTER_SIGN}) (?<![)\]}}/^]) (?<!\^\{{) (?<!\w\.) (?<!正)
      (?<!胜) {_NUMBER_SIGN}{_CURRENCY}? )?
    (?: (?<!{_LETTER_SIGN}) (?<!\^) (?<!\^\{{) \\[dtc]?frac {_ARGUMENT}
      (?P<under>{_ARGUMENT}) (?!\d) {_END}
      | (?P<passed> {_PASSED} )
      | (?<!{_LETTER_SIGN}) (?<!{_WORD_END}) (?<![√±]) (?<!sqrt\() (?<!\\pm)
        (?<!\\pm[ ])
        (?: (?<!分之) | (?<=百分之) ) (?<![万萬亿億兆千]) (?<!正负) (?<!胜负)
          (?! (?<=\d[ ]) 000
          (?!\d) )
        (?<!{_LETTER_SIGN}_) (?<!{_LETTER_SIGN}__)  # not inside a word; _4_ is Markdown
        # nor in a date, an address, a path, an index
        (?<!\d{_JOINT}) (?<!{_SLASH}) (?<!_\{{)
        (?<!\^) (?<!\^\{{) (?<!\^{_NUMBER_SIGN}) (?<!\^\{{{_NUMBER_SIGN})
        (?: (?P<whole>{_DIGIT_GROUPS})
            (?: {_GAP} (?=\d) | [ ]? (?!\d) ) (?P<fraction>
              (?P<part>\d{{1,6}}){_SLASH}(?P<of>\d{{1,6}})
              | \\[dtc]?frac (?P<above>{_PART}) (?P<beneath>{_PART})
                | {_VULGAR_FRACTION} ) (?!\d) {_END}
          | {_VULGAR_FRACTION} (?!\d) {_END}
          | (?: {_DECIMAL} {_TIMES} )? {_POWER_OF_TEN} {_END}
          | (?P<hexadecimal> 0(?:[xX][0-9A-Fa-f]|[bBoO][0-9])[0-9A-Za-z]*+ )
          | {_DECIMAL} {_SLASH} (?P<below>{_DECIMAL}) {_END}
          | {_DECIMAL} (?: [eE]{_NUMBER_SIGN}?\d{{1,6}}(?!\d)
            | (?![eE]{_NUMBER_SIGN}?\d) ) {_END}
          # skipped as a whole
          | (?P<none> {_DECIMAL} (?: (?:{_JOINT}|-|{_RAISES}) \d++
            | {_SUPERSCRIPT} )*+ ) ) )
"""
_PERCENT_SIGN = rf"(?: {_GAP}? \\?[%\u066a\ufe6a\uff05] )?"


@cache  # compiled on use, as it would take most of the time of the import
def _pattern(percent: bool) -> re.Pattern[str]:
    return re.compile(_NUMBER + percent * _PERCENT_SIGN, re.VERBOSE)


def _number_spans(match: re.Match[str]) -> list[Span]:
    """Return the spans of the numbers in a match: one, two in "1 3/2", or none."""
    if match.lastgroup is None:  # the usual case: no fraction, nothing to check
        return [match.span()]
    if match["none"] or match["hexadecimal"] or match["passed"]:
        return []
    above = match["part"] or match["above"]
    below = match["of"] or match["beneath"] or match["below"] or match["under"]
    has_zero = False
    if below:
        has_zero = not any(unicodedata.decimal(sign, 0) for sign in below)
    if above and _whole_number(above) >= _whole_number(below):
        spans = [(match.start(), match.end("whole"))]
        if not has_zero:
            spans.append((match.start("fraction"), match.end()))
        return spans
    return [] if has_zero else [match.span()]


def _whole_number(part: str) -> int:
    """Read a part of a fraction; strip braces, and white space that `int` rejects."""
    return int(part.strip().strip("{} "))


@dataclass(frozen=True, repr=False)
class number(Extractor):
    r"""Extract a whole number or decimal as it is written, by default the last one.

    A number may have a sign, thousands separators (also plain spaces, by the rule of
    `read_number`) and decimals. 6.02e23, 3/4, 1 1/2, ½, ``6.02 \times 10^{23}`` and
    ``\frac{1}{2}`` are one number each. `read_number` reads the values (of at most
    1,000 characters). A currency sign is left out unless a minus or plus precedes it. A
    percent sign is left out as a unit; ``percent=True`` keeps it and so makes 50% a
    half. The dots of 0.333... are part of the number, a full stop behind it is not.

    An expression that is no number as a whole has no number in it: "3.14.15",
    "3/4/2024", "2024-01-15", "1:30", "1,23", "1.234,56", "1_000", 0x1F, 5² and 2^10.
    The same holds for digits in a word (GPT-4), an exponent, a root, a fraction of more
    than numbers, and digits before ``\pi``, a root or a Chinese magnitude (5万, 5分之2;
    but 负5 is -5). Other terms and factors count one by one ("x + 5" has 5), letters
    behind a number are a unit ("5x"), and the mark of "The answer is 5!" is no
    factorial. ValueError: `which` or `percent` is unknown.

    >>> number()("It costs $1,234.50."), number()("about 10."), number()("1 1/2 cups")
    ('1,234.50', '10', '1 1/2')
    >>> number()("9-6"), number()("so -6"), number()("50%"), number(percent=True)("50%")
    ('6', '-6', '50', '50%')
    """

    _: KW_ONLY
    which: Which = "last"
    percent: bool = False

    def occurrences(self, completion: str) -> list[Span]:
        spans: list[Span] = []
        for match in _pattern(self.percent).finditer(completion):
            spans += _number_spans(match)
        return spans


# The mark of GSM8K's answers, with white space, Markdown and a currency sign behind it.
_GSM8K_MARK = re.compile(rf"#{{4,}}+(?:[^\S\n]|[*_`]|{_CURRENCY})*+")


@dataclass(frozen=True, repr=False)
class gsm8k(Extractor):
    r"""Extract the answer in GSM8K's form: the number right behind the last ``####``.

    Numbers are those of `number`. Currency signs and Markdown before the number are
    left out, and a mark without a number gives an empty text. ``mode="flexible"`` takes
    the last number of the text if there is no mark, or no number behind the last mark.

    Other graders differ. In strict mode lm-evaluation-harness takes the first
    ``#### ``, verl the last (of the last 300 characters). Both require one space, no
    currency sign and no Markdown, and include a stop in the number ("42."); a run such
    as "3.14.15" is a number to them. In flexible mode both take the last number of the
    text even if a mark has another. ValueError: `mode` is unknown.

    >>> gsm8k()("#### none yet\n#### $1,234.50."), gsm8k()("so 42") is None
    ('1,234.50', True)
    >>> gsm8k("flexible")("#### 42\nI checked it 3 times."), gsm8k("flexible")("so 42")
    ('42', '42')
    """

    mode: Literal["strict", "flexible"] = field(
        default="strict", metadata=PRINTED_NAMED
    )

    def occurrences(self, completion: str) -> list[Span]:
        spans: list[Span] = []
        for mark in _GSM8K_MARK.finditer(completion):
            spans.append(_number_at(completion, mark.end()))
        if self.mode == "strict" or (spans and spans[-1][0] < spans[-1][1]):
            return spans
        return number().occurrences(completion) or spans


def _number_at(completion: str, start: int) -> Span:
    """Return the span of the number at `start`, or an empty span there."""
    match = _pattern(False).match(completion, start)
    spans = _number_spans(match) if match else []
    return spans[0] if spans else (start, start)
