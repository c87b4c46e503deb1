"""The words and signs that name, deny or list a letter of a multiple choice."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rewardkit.primitives.texts import CJK

ANNOUNCED, MARKED, ALONE = range(3)
"""Ranks of a named letter, the clearest first."""


class LetterRules(NamedTuple):
    """The patterns for some options; the last group of a match is the letter."""

    named: tuple[tuple[int, bool, re.Pattern[str]], ...]
    """Rank, whether `is_led` has to hold, and the pattern."""
    denied: re.Pattern[str]
    joined: re.Pattern[str]
    listed: re.Pattern[str]  # a group for each letter
    letter: re.Pattern[str]


@lru_cache(maxsize=64)
def letter_rules(options: str, case: bool) -> LetterRules:
    """Compile the rules for the letters in `options`.

    Without `case` most rules also take a letter in its other case.
    """
    forms = letter_forms(options, case)
    exact = options.replace("I", "")

    def compile_rule(rule: str) -> re.Pattern[str]:
        pattern = rule.replace("=@", f"([{exact}]){_AROUND}")
        pattern = pattern.replace("@", f"([{forms}]){_AROUND}")
        return re.compile(pattern.replace("°", f"[{forms}]"), _FLAGS)

    named = []
    for rank, needs_lead, rule in _NAMING_RULES:
        named.append((rank, needs_lead, compile_rule(rule)))
    letters = [letter_forms(option, False) for option in options]
    return LetterRules(
        tuple(named),
        compile_rule(f"{_DENIAL} {_THAT_IT_IS} {_OPENED} @ | @ {_IS_NOT}"),
        compile_rule(_JOINED_LETTERS),
        re.compile(_list_pattern(letters), _FLAGS),
        compile_rule("@"),
    )


def letter_forms(options: str, case: bool) -> str:
    """Write the letters for a character class.

    Both cases are spelled out, as with re.IGNORECASE a dotless i would match an I and a
    long s an S.
    """
    if case:
        return options
    forms = {*options, *map(str.lower, options), *map(str.upper, options)}
    return "".join(sorted(form for form in forms if len(form) == 1))


def _list_pattern(letters: list[str]) -> str:
    """Write a pattern of a list of all options, or of the first four or more."""
    first, *others = [
        _LIST_ITEM.replace("@", f"([{forms}]){_AROUND}") for forms in letters
    ]
    pattern = first
    for place, item in enumerate(others, start=1):
        part = rf"(?> (?: (?!{first})[\s\S] ){{0,200}}? {item} )"
        pattern += part if place < 4 else f"(?:{part})?+"
    return pattern


_FLAGS = re.MULTILINE | re.VERBOSE

# A letter is not part of a word, a number or an abbreviation. In _BEFORE_LETTER the
# last character is the letter itself.
_BEFORE_LETTER = rf"(?<![^\W{CJK}].)(?<!\w['’.].)(?<!\d[,:/].)"
_AFTER_LETTER = (
    rf"(?![^\W{CJK}]|['’]\w|\.[A-Za-z0-9](?![a-z])|[,:/]\d|\s?%|\+\+|\#"
    r"|[-‐‑][a-z]{2})"
)
# Words that cannot follow an article: "A" before them is a letter.
_NO_NOUN = r"""(?:or|and|nor|but|because|since|as|for|due|by|with|in|on|at|from|of|which
    |that|not|if|when|while|where|then|to|the|it|its|this|these|those|there|would|will
    |should|must|has|had|have|does|can|could|cannot|may|might|are|were|is|was|so|than
    |rather\sthan|instead|we|you|they|he|she)(?![\w'’-])"""
_AROUND = rf"""{_BEFORE_LETTER}(?! (?<=A)[^\S\n]++(?!{_NO_NOUN})[a-z]
    | (?<=a)[^\S\n]++(?!{_NO_NOUN})\w
    | (?<=[Ii])[^\S\n]++(?!(?:or|and|is|because|since|but)\b)[a-z] ){_AFTER_LETTER}"""

# Signs allowed around a letter: "answer: **(B)**".
_ZERO_WIDTH = r"\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe0f\ufeff"
_UNSEEN = re.compile(f"[{_ZERO_WIDTH}]")
_OPENED = rf"""(?: [\s*_]{{0,4}}+ ["']?+ [:：=→]?+
    [\s*_"'“‘`$(\[（【{_ZERO_WIDTH}]{{0,6}}+
    (?: \\(?:boxed|fbox|text|textbf|mathrm|mathbf)\s?\{{\s? ){{0,2}}+
    [(\[（【*]{{0,3}}+ )"""
_CLOSED = r"""[)\]}*_"'”’`$）】]{0,4}+"""

_LEADING_MARKS = " \t*_$\"'“‘`([（【#>-"
_STOPPING = frozenset("\n.,:;!?>→⇒…—–。，：；！？、”)）~✅✓✔☑✗✘❌")
_CHINESE_LEADS = tuple("是 为 為 应 應 即 则 則 故 所以 因此 选 選 或 和".split())
_LEADS = frozenset(
    """so thus hence therefore then that is was be are with for say says said guess pick
    choose chose select think believe leaves left answer option choice letter only get
    gives means definitely probably maybe perhaps possibly clearly obviously either or
    and but because since as just indeed not""".split()
)


def is_led(text: str, start: int) -> bool:
    """Return whether a letter can begin an answer, unlike the C of "vitamin C"."""
    before = _UNSEEN.sub("", text[max(0, start - 30) : start]).rstrip(_LEADING_MARKS)
    if before[-1:] in _STOPPING or before.endswith(_CHINESE_LEADS):
        return True
    words = before.split()
    return not words or words[-1].lower() in _LEADS or words[-1].endswith(("'s", "’s"))


_ADVERB = r"""(?:also|clearly|obviously|definitely|certainly|simply|just|actually
    |therefore|thus|then|indeed|likely|probably|most|necessarily|both|all|either|neither
    |still|not|never)\b"""
_VERB = r"(?:is|was|are|were|can|ca|could|should|would|must|wo)"
_IS = rf"""(?: (?: \s(?:
    (?:{_VERB}(?:n['’]t|not)?|will|has\sto|be)\b | {_ADVERB}) ){{1,4}}+ )"""
_GOOD = r"(?:correct|right|true|best|final|only|actual|proper)\b"
_BAD = r"""(?:wrong|incorrect|false|invalid|impossible|out|ruled\sout|eliminated
    |excluded)\b"""
_TICK = "[✅✓✔☑]"
# The text of an option, or a space, between a letter that begins a line and its sign.
_UP_TO_SIGN = r"(?: [.:]?+(?<=^.[).:])[^\S\n][^\n✅✓✔☑✗✘❌]{0,60}+ | [^\S\n]?+ )"
_ROMAN = r"\\(?:text|textbf|mathrm|mathbf)\s?\{\s?"
_NOUN = r"(?i:answer|option|choice|one|letter)\b"
_OPTION_WORD = r"(?i:option|choice|letter)"
_OPTION_ZH = "(?:选项|選項|项|項)"
_CALLED = rf"\s(?:{_GOOD}|{_BAD}|most)"

_BY_ANNOUNCING = rf"""(?<![Ii]f[ ]the[ ])\b
        (?: (?i:answer) | {_GOOD}\s(?i:option|choice|one|letter) )
        (?: {_IS} | \s(?:to|for|of)(?:\s[\w'’-]{{1,30}}){{1,8}}? {_IS} )?
        {_OPENED} (?: {_OPTION_WORD}{_OPENED} )?+ @
    | <(?i:\w{{0,20}}answer|choice)(?:\s[^<>\n]{{0,100}})?> {_OPENED} @
    | \\(?:boxed|fbox)\s?\{{\s?(?:{_ROMAN})?+[(\[*]{{0,3}}+ @
        (?= \s?[.),:;*\]}}/、&] | \s(?:or|and)\b )
    | (?:答案[】\]]?\s?(?:应该|应|應該|應)?(?:不是|不|并非|就是|是|为|為)?|选择?|選擇?)
        {_OPENED} @"""
_AS_THE_ANSWER = rf"""@ {_CLOSED} (?:
      {_IS} \s(?:the|my|our|your)
        (?: (?:{_CALLED}){{0,2}}+\sanswer | (?:{_CALLED}){{1,2}}+\s{_NOUN} )\b
    | {_OPTION_ZH}?(?:才|就)?是(?:正确|正確|最佳)?的?答案 )"""
_AS_A_CHOICE = rf"""(?<![A-Za-z0-9_])\(\s?@\s?\) | \[\s?@\s?\]
    | （\s?@\s?） | 【\s?@\s?】
    | \b(?i:option|choice) {_IS}?+ {_OPENED} @
    | \b(?i:choose|chose|select|pick|(?:go|going|went)\swith)
      (?:\s{_NOUN})?+ {_OPENED} @
    | {_OPTION_ZH} {_OPENED} @
    | (?: ^[^\S\n]*+{_TICK}\ufe0f? | \[[xX✓✔]\] ) {_OPENED} @
    | {_ROMAN}\(?@[.)]?\s?\}}"""
_AS_RIGHT = rf"""@ {_CLOSED} (?: {_IS}\s(?:{_GOOD}) | {_UP_TO_SIGN}{_TICK}
    | {_OPTION_ZH}?(?:是|才是|也是)?
        (?:正确|正確|对的|對的|[对對](?=[。，,.;；\s]|$)) )"""
# =@ is the letter in its own case, and not I, as the pronoun may precede commas and
# stops, too.
_STANDING_ALONE = r"""=@ (?= [^\S\n]*+$ | (?<=^\$.)\$\.?[^\S\n]*+$
        | [):,;!?*_"'`\]}<。．，：；！？…、）】.]
        | [^\S\n]++(?:because|since|and|or|but|rather\sthan|instead\sof)\b )
    | ^[^\S\n]{0,8}[*_"(\[]{0,3} @
        (?= [):：、] | \.(?=\s|$) | (?<=I)(?: [^\S\n]*+$ | [*\]] ) )"""

_NAMING_RULES = (
    (ANNOUNCED, False, _BY_ANNOUNCING),
    (ANNOUNCED, True, _AS_THE_ANSWER),
    (MARKED, False, _AS_A_CHOICE),
    (MARKED, True, _AS_RIGHT),
    (ALONE, True, _STANDING_ALONE),
)
"""Rank, whether `is_led` has to hold, and pattern with @ for the letter; the first
rule that matches a letter counts."""

_DENIAL = rf"""(?: \b(?i:
        (?: n(?:ot|ever|either|or|obody|o\sone) | cannot | except(?:\sfor)? | doubt
          | unlike(?:ly)?
          | (?:exclud|eliminat|reject|discard)(?:e|es|s|ed|ing)?
            | rul(?:e|es|ed|ing)\sout
          | (?:rather|other)\sthan | instead\sof | (?:anything|all|everything)\sbut )\b
      | (?:wrong|worst|false|untrue|in(?:correct|valid)|bad)\s (?: (?:that|to\ssay)\b
          | (?:answer|option|choice)s?[*_]{{0,3}} (?: {_IS} | \s?[:：=] ) ) )
    | n['’]t\b | ^[^\S\n]*+[✗✘❌]\ufe0f?
    | [不未没沒](?<!不[得能会會].)有?人?
        (?:太|大|一定|能够?|应该?|應該?|可能|可以|会|會|该|該|必|想|要){{0,3}}[是选選为為]
    | [别別](?:要|再)?[选選] | [无無]法[选選] | [并並而]非 | 排除 | 除了 )"""
_THAT_IT_IS = rf"""(?: \s(?: (?:be|been|is|it['’]s|it|that|the|think|believe|say|to|for
    |go|with|choose|pick|select|just|simply|necessarily|either|both|would|should|could|will
    |can)\b | {_GOOD} | {_NOUN} )
    ){{0,6}}+"""
_FILLED = rf"(?: \s(?:{_ADVERB}|(?:the|a|an|my|our)\b) ){{0,3}}+"
# Words that retract the letter before them: "A. Hmm, no, that's wrong", A。不对，
_PAUSE = r"[\s.,;:!?…—–-]{1,4}+"
_TAKEN_BACK = rf"""
      (?: {_PAUSE}
        (?i:hm++|no|nope|wait|oh|oops|sorry|well|actually|but|however|though)\b
          ){{0,4}}+
        {_PAUSE} (?i:that|this|it)(?:['’]s|\s(?:is|was|looks|seems)) (?:
          (?!\snot){_FILLED}\s{_BAD} | (?:n['’]t|\snot){_FILLED}\s{_GOOD} )
        (?= \s?(?:[^\w\s]|$) | \s(?:because|since|as|so)\b )
    | [.,;:!?…—–]{{1,3}}+\s{{1,2}}+
        (?:(?i:hm++|wait|oh|oops|sorry|well|actually){_PAUSE})?+
        (?i:no|nope)\s?[.,;:!…—–](?!\s?\d)
    | [\s。，；！？,.;!?]{{0,3}}+[这這]?(?:不[对對是]?|[错錯]了|是[错錯]的)
        (?=[。，；！,.;!\s]|$)
    | ,?\sor\s(?i:none|neither|nothing|another|something\selse)\b"""
_IS_NOT = rf"""{_CLOSED} (?:
      (?:,?\s(?:however|though|too|which),?)?+\s (?:
          (?:is|was|are|were|seems|looks|(?:must|has\sto|would|should|could)\sbe)\b
            (?!\snot){_FILLED}\s{_BAD}
        | {_VERB}(?:n['’]t|\s?not|\snever)(?:\sbe)? {_FILLED}
          (?: \s(?:{_GOOD}|{_NOUN}|(?:it|valid|possible)\b) | \s?[.,;!?] | \s?$ ) )
    | {_UP_TO_SIGN}[✗✘❌] | {_TAKEN_BACK}
    | {_OPTION_ZH}?(?:是|显然|明显|肯定|也|都|均)?
      (?:不对|不對|错|錯|不正确|不正確|不是(?:正确|正確|答案)
        |不符|不成立|有误|有誤|不可能) )"""

# A letter before the text of its option, not called right.
_LIST_ITEM = rf"""@ [)\]）】.:：、．]
    (?! {_CLOSED} (?:{_IS} \s(?:{_GOOD}|the\b|my\b) | [^\S\n]?{_TICK}) )
    [*_]{{0,3}}[^\S\n]*+[^\s.,;!?。，]"""

# Joined letters, between which the text does not decide; ° is any letter. "or" may
# follow the text of an option.
_PREDICATE = (
    r"(?:is|was|has|does|can|cannot|would|could|should|seems|looks|[a-z]{1,6}n['’]t)\b"
)
_IS_LAST = rf"""(?= {_OPENED} ° {_CLOSED}
    (?: \s?(?:[^\w\s]|$|[{CJK}]) | \s(?:and|or|are|were|both|because|since)\b ) )"""
_JOINED_LETTERS = rf"""@ (?:
    {_CLOSED}
    (?: \s?\((?!\s?(?:or|and|maybe|perhaps|possibly)\b|°\))[^()\n]{{1,60}}\) )?+ (?:
        \s{{0,4}} (?: [,，;] | [,，;]?\s{{0,4}}
          (?: [/&+、–~|-] | \b(?:and|to|through|versus|vs\.?|plus)\b | [和与與及至到]
            | 以及 ) ) {_IS_LAST}
      | (?<![)\]）】])[^\S\n]{{1,2}} (?=°) (?: {_IS_LAST} | (?= .[^\S\n]°\b ) )
      | (?<=[)\]）】])[^\S\n]? (?=[(\[（【]\s?°\s?[)\]）】])
      | (?<=\}})[^\S\n]? (?: \\text\{{\s?(?:and|or|,)\s?\}} )?+ (?=[^\S\n]?\\f?box)
      | [,，;.…]{{0,3}}\s{{0,4}}[(（]?\s? (?:
            \b(?i:or|and/or|maybe|perhaps|possibly|alternatively)\b
            | 或者? | 还是 | 還是 | [也又还還]?可能是? )
        (?: \s(?:else|even|maybe|perhaps|possibly|it['’]s|it\sis|is\sit) )?
      | (?<=\))\s (?: (?!@)[^.;!?()\n] ){{1,40}}?
          \s (?:or|and(?!{_OPENED}°\)\s{_PREDICATE}))
          (?= {_OPENED} °\) ) )
    {_OPENED} (?: {_OPTION_WORD}{_OPENED} )?+ @ )++"""
