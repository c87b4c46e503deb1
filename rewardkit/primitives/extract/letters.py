"""Multiple choice in text: which letters are named as the answer, and how plainly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from rewardkit.primitives.extract.extractor import Extractor, Span, Which
from rewardkit.primitives.factories import NAMED
from rewardkit.primitives.texts import CJK, normal_form

__all__ = ["choice", "named_letters", "read_choice"]


def check_options(options: Any, *, case: bool = True) -> None:
    """Raise a ValueError unless these are two or more different letters or digits, as they are compared."""
    different = {option if case else option.lower() for option in options} if isinstance(options, str) else ()
    if len(different) < 2 or len(different) < len(options) or not options.isalnum():
        raise ValueError(
            f"options={options!r} are not choices; give two or more different letters or digits, such as "
            "'ABCD'"
        )


@dataclass(frozen=True, repr=False)
class choice(Extractor):
    r"""The letter of a multiple-choice answer; by default the last one.

    A letter that is announced, "answer is B", ``\boxed{B}``, 答案是B, "B is the answer", comes before one
    that is marked as a choice, "(B)", "option B", "B is right", and that before one that stands alone, "B.",
    "So B", "**B**". `named_letters` has the rules, which `choice_equal` shares. "A" as an article and
    "I" as a pronoun are never the answer, nor is a letter that is denied, "not B", "B is wrong", or one of
    several, "A or B": a hedge takes back what came before it. Options count as they are written; with
    ``case=False`` an announced or marked "b" counts too (the value is then "b": compare with `choice_equal`).
    ValueError: fewer than two options, the same one twice, or an option is unknown.

    >>> choice()("A (small) one: 31 is larger. The answer is (B)."), choice()("A or B")
    ('B', None)
    >>> choice()("the answer is (b)"), choice(case=False)("the answer is (b)")
    (None, 'b')
    """

    options: str = field(default="ABCD", metadata=NAMED)
    _: KW_ONLY
    which: Which = "last"
    case: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_options(self.options, case=self.case)

    def occurrences(self, completion: str) -> list[Span]:
        named = named_letters(completion, self.options, case=self.case)
        return next((spans for spans in named if spans), [])


def read_choice(value: Any, options: str) -> str | None:
    """The option that a text names, as it stands in `options`; ``None`` where it names none, or several.

    Letters are named as `named_letters` has it, in any case, or all there is. ValueError: fewer than two
    different letters or digits.

    >>> read_choice("(b) Paris", "ABCD"), read_choice("A or B", "ABCD"), read_choice("not B", "ABCD")
    ('B', None, None)
    """
    alone = _alone(options)
    if value is None:
        return None
    text = normal_form(str(value), "NFKC")
    whole = alone.fullmatch(text)
    spans = [whole.span(1)] if whole else [span for spans in named_letters(text, options) for span in spans]
    found = {_as_written(text[slice(*span)], options) for span in spans}
    return found.pop() if len(found) == 1 else None


def _as_written(letter: str, options: str) -> str:
    return letter if letter in options else next(o for o in options if letter in (o.lower(), o.upper()))


@lru_cache(maxsize=64)
def _alone(options: str) -> re.Pattern[str]:
    """A text that is one of the letters; the other signs around it do not deny it."""
    check_options(options, case=False)
    return re.compile(rf"(?:(?![¬≠~!✗✘❌])[\W_])*+([{_forms(options, case=False)}])(?:(?![✗✘❌])[\W_])*+")


def _forms(options: str, case: bool) -> str:
    """The letters for a class of a pattern.

    Both cases are spelled out: where a pattern ignores case, a dotless i or a long s is an I or an S.
    """
    forms = {form for option in options for form in (option, option.lower(), option.upper())}
    return options if case else "".join(sorted(form for form in forms if len(form) == 1))


def named_letters(text: str, options: str, *, case: bool = False) -> tuple[list[Span], ...]:
    r"""Where letters are named: those announced as the answer, those marked as a choice, those alone.

    Announced: "answer is B", "the correct option is B", ``<answer>B</answer>``, ``\boxed{B}``, 答案是B,
    选B, "B is the answer". Marked: "(B)", "[B]", "option B", ``\text{B}``, "choose B", "B is right",
    B正确, B ✅. Alone: at the start of a line, behind punctuation or a word such as "so" or "is" (not a
    noun: "vitamin C"), and before punctuation, "because", "or", or the end of the line. Letters count
    as they stand in `options`; with ``case=False`` also the others, where they are announced, marked,
    or begin a line as in "b)". "A" before a word that can follow an article is one, "I" before a verb
    the pronoun.

    A letter that is denied is not named ("not B", "the wrong answer is B", "B. No, that's wrong", 不是B),
    nor are different letters with "or", "and", a comma, a slash or a space between them; both take back
    what was named before them as plainly as they are, or less. A list of the options, all of them or at
    least the first four, in their order, names none, but one that is called right.

    Not understood: a denial in other words ("hardly B", "B) Rome. That is wrong."), a question about what is
    wrong ("The incorrect option is B" is a denial), what a letter abbreviates ("C. elegans", "D. Trump").
    """
    rules = _rules(options, case)
    near = _surroundings(text, rules.letter)

    def matches(pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        return chain.from_iterable(pattern.finditer(text, *span) for span in near)

    plain: dict[int, int] = {}  # where a letter starts -> how plainly it is named, 0 for announced
    for rank, led, pattern in rules.named:
        for match in matches(pattern):
            start = match.start(match.lastindex or 0)
            if start not in plain and (not led or _is_led(text, start)):
                plain[start] = rank
    if not plain:
        return [], [], []
    denied = {match.start(1) for pattern in rules.denied for match in matches(pattern)}
    hedged: set[int] = set()
    for group in matches(rules.joined):
        starts = [match.start() for match in rules.letter.finditer(text, *group.span())]
        _join(text, starts, plain, denied, hedged)
    first, shown = options.upper()[:4], text.upper()
    if all(option in shown for option in first):  # seldom, and quick to see
        listed = (match.start() for match in matches(rules.listed))
        said = denied | hedged
        _leave_out_lists(text, options.lower(), (at for at in listed if at not in said), plain)
    return _not_taken_back(text, plain, denied, hedged)


def _surroundings(text: str, letter: re.Pattern[str]) -> list[Span]:
    """The spans of text around letters, far enough to see what is said of them; they do not overlap."""
    found: list[Span] = []
    for match in letter.finditer(text):
        start, end = max(0, match.start() - 200), match.end() + 100
        if found and start <= found[-1][1]:
            start = found.pop()[0]
        found.append((start, end))
    return found


def _join(text: str, starts: list[int], plain: dict[int, int], denied: set[int], hedged: set[int]) -> None:
    """Enter what letters that are joined have in common: "not A or B", "A and B are wrong", "A or B"."""
    rank = min(plain.get(start, 2) for start in starts)
    if not denied.isdisjoint(starts):
        denied.update(start for start in starts if plain.get(start) != 0)
    left = [start for start in starts if start not in denied]
    if len({text[start].lower() for start in left}) > 1:
        if rank < 2 or all(start in plain for start in left):
            hedged.update(left)
        else:  # "A and B are too small" answers nothing, and takes nothing back
            for start in left:
                plain.pop(start, None)
    plain.update((start, rank) for start in starts if start in hedged or start in denied)


def _leave_out_lists(text: str, options: str, listed: Iterator[int], plain: dict[int, int]) -> None:
    """Take out the letters of a list of all options, or the first four, in their order: "A) 1 B) 2 C) 3"."""
    run: list[int] = []
    for start in listed:
        letter = text[start].lower()
        goes_on = run and plain.get(start) != 0 and start - run[-1] <= 200
        if not (goes_on and options.startswith(letter, len(run))):
            run = []
            if letter != options[0]:
                continue
        run.append(start)
        if len(run) >= min(4, len(options)):
            for member in run:
                plain.pop(member, None)


def _not_taken_back(
    text: str, plain: dict[int, int], denied: set[int], hedged: set[int]
) -> tuple[list[Span], ...]:
    named: tuple[list[Span], ...] = ([], [], [])
    against: dict[str, int] = {}  # letter, or "" for all of them -> the plainest word against it further on
    for start in sorted({*plain, *denied}, reverse=True):
        rank, letter = plain.get(start, 2), text[start].lower()
        if start in hedged or start in denied:
            key = "" if start in hedged else letter
            against[key] = min(rank, against.get(key, 3))
        elif rank < min(against.get(letter, 3), against.get("", 3)):
            named[rank].append((start, start + 1))
    return tuple(spans[::-1] for spans in named)


_INVISIBLE = (
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufe0f\ufeff"
)
_MARKS = f" \t*_$\"'“‘`([（【#>-{_INVISIBLE}"
_STOPS = frozenset("\n.,:;!?>→⇒…—–。，：；！？、”)）~✅✓✔☑✗✘❌")
_LEADS = frozenset(
    """so thus hence therefore then that is was be are with for say says said guess pick choose chose select
    think believe leaves left answer option choice letter only get gives means definitely probably maybe
    perhaps possibly clearly obviously either or and but because since as just indeed not""".split()
)
_CHINESE_LEADS = tuple("是 为 為 应 應 即 则 則 故 所以 因此 选 選 或 和".split())


def _is_led(text: str, start: int) -> bool:
    """Whether a letter stands where an answer can begin, and not behind a noun: "vitamin C", "plan B"."""
    before = text[max(0, start - 30) : start].rstrip(_MARKS)
    if before[-1:] in _STOPS or before.endswith(_CHINESE_LEADS):
        return True
    words = before.split()
    word = words[-1].lower() if words else ""
    return not words or word in _LEADS or word.endswith(("'s", "’s"))


class _Rules(NamedTuple):
    named: tuple[tuple[int, bool, re.Pattern[str]], ...]  # how plainly, whether it has to be led, the pattern
    denied: tuple[re.Pattern[str], ...]
    joined: re.Pattern[str]
    listed: re.Pattern[str]
    letter: re.Pattern[str]


@lru_cache(maxsize=64)
def _rules(options: str, case: bool) -> _Rules:
    """The patterns for some options; the group of a match that took part is the letter."""
    forms = _forms(options, case)
    around = f"{_BEHIND}{_NO_ARTICLE}{_AHEAD}"  # looked at when the letter is there, which is quick
    bare, letter = f"[{forms}]{around}", f"([{forms}]){around}"
    alone = f"([{options.replace('I', '')}]){around}"
    named = (
        (0, False, _announced(letter)),
        (0, True, _is_answer(letter)),
        (1, False, _marked(letter)),
        (1, True, _is_right(letter)),
        (2, True, _stands_alone(letter, alone, "I" in options, case)),
    )
    denied = (f"{_NOT} {_THAT_IT_IS} {_OPENED} {letter}", f"{letter} {_IS_NOT}")
    return _Rules(
        tuple((rank, led, _compiled(expression)) for rank, led, expression in named),
        tuple(map(_compiled, denied)),
        _compiled(_joined(bare, forms)),
        _compiled(_listed(bare)),
        _compiled(bare),
    )


def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.MULTILINE | re.VERBOSE)


# What stands next to a letter: nothing that makes it a part of a word, a number or an abbreviation.
_BEHIND = rf"(?<![^\W{CJK}].)(?<!\w['’.].)(?<!\d[,:/].)"  # the last character is the letter
_AHEAD = rf"(?![^\W{CJK}]|['’]\w|\.[A-Za-z0-9](?![a-z])|[,:/]\d|\s?%|\+\+|\#|[-‐‑][a-z]{{2}})"
# Words that cannot follow an article: what "A" before them is, is a letter.
_NO_NOUN = r"""(?:or|and|nor|but|because|since|as|for|due|by|with|in|on|at|from|of|which|that|not|if|when
    |while|where|then|to|the|it|its|this|these|those|there|would|will|should|must|has|had|have|does|can
    |could|cannot|may|might|are|were|is|was|so|than|rather\sthan|instead|we|you|they|he|she)(?![\w'’-])"""
_NO_ARTICLE = rf"""(?! (?<=A)[^\S\n]++(?!{_NO_NOUN})[a-z] | (?<=a)[^\S\n]++(?!{_NO_NOUN})\w
    | (?<=[Ii])[^\S\n]++(?!(?:or|and|is|because|since|but)\b)[a-z] )"""

# What may stand around a letter, and it is little: "answer: **(B)**".
_OPENED = rf"""(?: [\s*_]{{0,4}}+ ["']?+ [:：=→]?+ [\s*_"'“‘`$(\[（【{_INVISIBLE}]{{0,6}}+
    (?: \\(?:boxed|fbox|text|textbf|mathrm|mathbf)\s?\{{\s? ){{0,2}}+ [(\[（【*]{{0,3}}+ )"""
_CLOSED = r"""[)\]}*_"'”’`$）】]{0,4}+"""
_ROMAN = r"\\(?:text|textbf|mathrm|mathbf)\s?\{\s?"

_ADVERB = r"""(?:also|clearly|obviously|definitely|certainly|simply|just|actually|therefore|thus|then|indeed
    |likely|probably|most|necessarily|both|all|either|neither|still|not|never)\b"""
_VERB = r"""(?:(?:is|was|are|were|can|ca|could|should|would|must|wo)n['’]t|cannot|can|could|should|would|must
    |will|has\sto|is|was|are|were|be)\b"""
_IS = rf"(?: (?: \s(?:{_VERB}|{_ADVERB}) ){{1,4}}+ )"
_GOOD = r"(?:correct|right|true|best|final|only|actual|proper)\b"
_BAD = r"(?:wrong|incorrect|false|invalid|impossible|out|ruled\sout|eliminated|excluded)\b"
_TICK, _CROSS = "[✅✓✔☑]", "[✗✘❌]"
# What stands between a letter that begins a line and such a sign: the text of the option, or a space.
_UP_TO_SIGN = r"(?: [.:]?+(?<=^.[).:])[^\S\n][^\n✅✓✔☑✗✘❌]{0,60}+ | [^\S\n]?+ )"
# Behind such a sign that is said of the letter behind it, on the same line, and not of one before it.
_OF_NEXT = r"(?<![\w)*}~][^\S\n].)(?<![\w)*}~].) \ufe0f?(?![^\S\n]*\n)"
_NOUN = r"(?i:answer|option|choice|one|letter)\b"
_OPTION = r"(?i:option|choice|letter)"
_OPTION_ZH = "(?:选项|選項|项|項)"


def _announced(letter: str) -> str:
    return rf"""
        \b(?: (?i:answer) | {_GOOD}\s(?i:option|choice|one|letter) )
            (?: {_IS} | \s(?:to|for|of)(?:\s[\w'’-]{{1,30}}){{1,8}}? {_IS} )?
            {_OPENED} (?: {_OPTION}{_OPENED} )?+ {letter}
      | <(?i:\w{{0,20}}answer|choice)(?:\s[^<>\n]{{0,100}})?> {_OPENED} {letter}
      | \\(?:boxed|fbox)\s?\{{\s?(?:{_ROMAN})?+[(\[*]{{0,3}}+ {letter}
            (?= \s?[.),:;*\]}}/、&] | \s(?:or|and)\b )
      | (?:答案[】\]]?\s?(?:应该|应|應該|應)?(?:不是|不|并非|就是|是|为|為)?|选择?|選擇?)
            {_OPENED} {letter}"""


def _is_answer(letter: str) -> str:
    adjective = rf"\s(?:{_GOOD}|{_BAD}|most)"
    return rf"""{letter} {_CLOSED} (?:
        {_IS} \s(?:the|my|our|your) (?: (?:{adjective}){{0,2}}+\sanswer | (?:{adjective}){{1,2}}+\s{_NOUN} )\b
      | {_OPTION_ZH}?(?:才|就)?是(?:正确|正確|最佳)?的?答案 )"""


def _marked(letter: str) -> str:
    return rf"""
        (?<![A-Za-z0-9_])\(\s?{letter}\s?\) | \[\s?{letter}\s?\] | （\s?{letter}\s?） | 【\s?{letter}\s?】
      | \b(?i:option|choice) {_IS}?+ {_OPENED} {letter}
      | \b(?i:choose|chose|select|pick|(?:go|going|went)\swith) (?:\s{_NOUN})?+ {_OPENED} {letter}
      | {_OPTION_ZH} {_OPENED} {letter}
      | (?: {_TICK}{_OF_NEXT} | \[[xX✓✔]\] ) {_OPENED} {letter}
      | {_ROMAN}\(?{letter}[.)]?\s?\}}"""


def _is_right(letter: str) -> str:
    return rf"""{letter} {_CLOSED} (?: {_IS}\s(?:{_GOOD}) | {_UP_TO_SIGN}{_TICK}
      | {_OPTION_ZH}?(?:是|才是|也是)?(?:正确|正確|对的|對的|[对對](?=[。，,.;；\s]|$)) )"""


def _stands_alone(letter: str, exact: str, pronoun: bool, case: bool) -> str:
    expression = rf"""{exact} (?= [^\S\n]*+$ | (?<=^\$.)\$\.?[^\S\n]*+$
        | [):,;!?*_"'`\]}}<。．，：；！？…、）】.]
        | [^\S\n]++(?:because|since|and|or|but|rather\sthan|instead\sof)\b )"""
    if pronoun:  # it stands before commas and stops, too
        expression += r"| ^[^\S\n]{0,8}[*_\"(\[]{0,3}(I)(?= [^\S\n]*$ | [.):*\]] )"
    if not case:
        expression += rf"| ^[^\S\n]{{0,8}}[*_]{{0,3}}{letter} (?= [):：、] | \.(?=\s|$) )"
    return expression


# By the first letters of the words, which is quick.
_NOT = rf"""(?: \b(?i:
        (?: n(?:ot|ever|either|or|obody|o\sone) | cannot | ex(?:cept(?:\sfor)?|cluding)
          | eliminat(?:e|es|ed|ing) | r(?:ather\sthan|ul(?:e|es|ed|ing)\sout|eject(?:s|ed|ing)?)
          | d(?:oubt|iscard(?:s|ed|ing)?) | other\sthan | instead\sof | unlike(?:ly)?
          | (?:anything|all|everything)\sbut )\b
      | (?:wrong|worst|false|untrue|in(?:correct|valid)|bad)\s (?: (?:that|to\ssay)\b
          | (?:answer|option|choice)s?[*_]{{0,3}} (?: {_IS} | \s?[:：=] ) ) )
    | n['’]t\b | [¬≠] | {_CROSS}{_OF_NEXT} | ~(?<![\w)*}}~].)~?
    | [不未没沒](?<!不[得能会會].)有?人?
        (?:太|大|一定|能够?|应该?|應該?|可能|可以|会|會|该|該|必|想|要){{0,3}}[是选選为為]
    | [别別](?:要|再)?[选選] | [无無]法[选選] | 并非 | 並非 | 而非 | 排除 | 除了 )"""
_THAT_IT_IS = rf"""(?: \s(?: (?:be|been|is|it['’]s|it|that|the|think|believe|say|to|for|go|with|choose|pick
    |select|just|simply|necessarily|either|both|would
    |should|could|will|can)\b | {_GOOD} | {_NOUN} ) ){{0,6}}+"""
_FILLED = rf"(?: \s(?:{_ADVERB}|(?:the|a|an|my|our)\b) ){{0,3}}+"
# Words that take back what stands before them: "A. Hmm, no, that's wrong", A。不对，
_PAUSE = r"[\s.,;:!?…—–-]{1,4}+"
_TAKEN_BACK = rf"""
      (?: {_PAUSE}(?i:hm++|no|nope|wait|oh|oops|sorry|well|actually|but|however|though)\b ){{0,4}}+
        {_PAUSE} (?i:that|this|it)(?:['’]s|\s(?:is|was|looks|seems)) (?:
          (?!\snot){_FILLED}\s{_BAD} | (?:n['’]t|\snot){_FILLED}\s{_GOOD} )
        (?= \s?(?:[^\w\s]|$) | \s(?:because|since|as|so)\b )
    | [.,;:!?…—–]{{1,3}}+\s{{1,2}}+(?:(?i:hm++|wait|oh|oops|sorry|well|actually){_PAUSE})?+
        (?i:no|nope)\s?[.,;:!…—–](?!\s?\d)
    | [\s。，；！？,.;!?]{{0,3}}+[这這]?(?:不[对對是]?|[错錯]了|是[错錯]的)(?=[。，；！,.;!\s]|$)
    | ,?\sor\s(?i:none|neither|nothing|another|something\selse)\b"""
_IS_NOT = rf"""{_CLOSED} (?:
      (?:,?\s(?:however|though|too|which),?)?+\s (?:
          (?:is|was|are|were|seems|looks|(?:must|has\sto|would|should|could)\sbe)\b (?!\snot){_FILLED}\s{_BAD}
        | (?:(?:is|was|are|were|can|ca|could|should|would|must|wo)(?:n['’]t|\s?not|\snever))(?:\sbe)?
          {_FILLED} (?: \s(?:{_GOOD}|{_NOUN}|(?:it|valid|possible)\b) | \s?[.,;!?] | \s?$ ) )
    | {_UP_TO_SIGN}{_CROSS} | {_TAKEN_BACK}
    | {_OPTION_ZH}?(?:是|显然|明显|肯定|也|都|均)?
      (?:不对|不對|错|錯|不正确|不正確|不是(?:正确|正確|答案)|不符|不成立|有误|有誤|不可能) )"""


def _listed(bare: str) -> str:
    """A letter before the text of its option, of which it is not said that it is right."""
    return rf"""{bare} [)\]）】.:：、．] (?! {_CLOSED} (?:{_IS} \s(?:{_GOOD}|the\b|my\b) | [^\S\n]?{_TICK}) )
        [*_]{{0,3}}[^\S\n]*+[^\s.,;!?。，]"""


_SAYS = r"(?:is|was|has|does|can|cannot|would|could|should|seems|looks|[a-z]{1,6}n['’]t)\b"


def _joined(bare: str, forms: str) -> str:
    """Letters that are not told apart; "or" may follow an option's text: "B) Rome or C) Oslo"."""
    is_last = rf"""(?= {_OPENED} [{forms}] {_CLOSED}
        (?: \s?(?:[^\w\s]|$|[{CJK}]) | \s(?:and|or|are|were|both|because|since)\b ) )"""
    return rf"""{bare} (?:
        {_CLOSED} (?: \s?\((?!\s?(?:or|and|maybe|perhaps|possibly)\b|[{forms}]\))[^()\n]{{1,60}}\) )?+ (?:
            \s{{0,4}}[,，;]?\s{{0,4}}
              (?: [/&+、–~|-] | \b(?:and|to|through|versus|vs\.?|plus)\b | [和与與及至到] | 以及 ) {is_last}
          | \s{{0,4}}[,，;] {is_last}
          | (?<![)\]）】])[^\S\n]{{1,2}} (?=[{forms}]) (?: {is_last} | (?= .[^\S\n][{forms}]\b ) )
          | (?<=[)\]）】])[^\S\n]? (?=[(\[（【]\s?[{forms}]\s?[)\]）】])
          | (?<=\}})[^\S\n]? (?: \\text\{{\s?(?:and|or|,)\s?\}} )?+ (?=[^\S\n]?\\f?box)
          | [,，;.…]{{0,3}}\s{{0,4}}[(（]?\s? (?:
                \b(?i:or|and/or|maybe|perhaps|possibly|alternatively)\b
                | 或者? | 还是 | 還是 | [也又还還]?可能是? )
            (?: \s(?:else|even|maybe|perhaps|possibly|it['’]s|it\sis|is\sit) )?
          | (?<=\))\s (?: (?!{bare})[^.;!?()\n] ){{1,40}}? \s (?:or|and(?!{_OPENED}[{forms}]\)\s{_SAYS}))
              (?= {_OPENED} [{forms}]\) ) )
        {_OPENED} (?: {_OPTION}{_OPENED} )?+ {bare} )++"""
