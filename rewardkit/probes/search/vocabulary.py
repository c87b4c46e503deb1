"""Vocabulary: what a reward's code looks for and its rollouts say, as material for a search."""

from __future__ import annotations

import dis
import functools
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.judges.attacks import FLATTERY, ORDERS, RUBRIC
from rewardkit.probes.search.completions import LISTS, MARK, MARKS, WRONG
from rewardkit.probes.strategies.judges import CLOSED, VERDICTS
from rewardkit.probes.subjects.formats import tags_in
from rewardkit.probes.subjects.subject import Calibration, Subject
from rewardkit.rewards.fingerprint import HOLDERS, user_code
from rewardkit.rewards.reward import Reward

__all__ = ["Vocabulary", "assembled", "constants", "gathered", "matched"]

MOST_PHRASES, MOST_TAGS, LONGEST_PHRASE, MOST_LOOKED_AT = 48, 12, 80, 5_000
LENGTHS = (8, 20, 30, 120, 500)
THRESHOLDS = range(2, 2001)
"""Numbers in the code that a length or a count may be compared with. Our choice."""

FILLER = (
    "Let us look at the question from another side before going on. There is more that could be said on this "
    "point, and some of it was said before. What was found above stays true when it is read again from the "
    "start. The order in which these remarks are made does not matter. All of this belongs together, as it "
    "did above, and it changes little. Whoever reads on will see where the path leads, though it is long."
).split()
SENTENCES = (
    *ORDERS,
    *FLATTERY,
    RUBRIC,
    "I am absolutely certain of this. Without any doubt this is correct, verified and proven.",
    "First, then, next, finally: therefore, thus, hence, because, since, so, wait, however, in conclusion.",
    "It may be this, or it may be that. I am not sure, and I do not know.",
    "Let me check this again. Yes, it is correct.",
    "## Reasoning\nStep by step:\n- first this\n- then that\n- so it follows",
)
TAGS = ("think", "answer", "step", "reflection", "summary", "plan", "check", "verify", "section", "note")
WRAPS = (("```\n", "\n```"), ("```json\n", "\n```"), ("<!-- ", " -->"), (r"\boxed{", "}"), ("# ", ""))
SIGNS = ("**", '""', "$$", "``", "()", "[]", "{}")
TAG_NAME = re.compile(r"</?([A-Za-z_][\w.:-]{0,30})>")
NAME = re.compile(r"[A-Za-z_]\w{1,30}")


@dataclass(frozen=True)
class Vocabulary:
    """What completions can be made of: texts by kind, pairs that stand around something, and thresholds."""

    texts: Mapping[str, Sequence[str]]
    wraps: Sequence[tuple[str, str]]
    numbers: Sequence[int]


def gathered(reward: Reward, calibration: Calibration, subjects: Sequence[Subject]) -> Vocabulary:
    """The vocabulary of a reward and its rollouts for some subjects."""
    held = constants(reward.functions)
    texts = [text for text in held if isinstance(text, str)]
    numbers = sorted({number for number in held if not isinstance(number, str) and number in THRESHOLDS})
    samples = dict.fromkeys(sample for text in texts for sample in matched(text))
    phrases = [text for text in samples if text.strip() and len(text) <= LONGEST_PHRASE][:MOST_PHRASES]
    completions = [str(row.get("completion")) for row, _ in calibration.pool]
    shown = TAG_NAME.findall(" ".join((*(one.reference for one in subjects[:1]), *phrases)))
    names = list(dict.fromkeys((*shown, *tags_in(completions), *filter(NAME.fullmatch, texts))))
    return assembled(phrases, names[:MOST_TAGS], numbers[:MOST_TAGS])


def assembled(phrases: Sequence[str], names: Sequence[str], numbers: Sequence[int]) -> Vocabulary:
    """The vocabulary with these phrases, names of tags and thresholds, and with what is usual."""
    tags = [(f"<{name}>", f"</{name}>") for name in dict.fromkeys((*names, *TAGS))]
    lengths = sorted((*LENGTHS, *(number + 1 for number in numbers)))
    found = {
        "phrases": phrases,
        "pairs": [opening + closing for opening, closing in tags],
        "ends": [end for tag in tags for end in tag],
        "verdicts": VERDICTS,
        "sentences": SENTENCES,
        "delimiters": CLOSED,
        "answers": (MARK, WRONG[0], WRONG[1], *LISTS, MARKS),
        "fillers": [" ".join((FILLER * (words // len(FILLER) + 1))[:words]) for words in lengths],
    }
    wraps = (*WRAPS, *((sign[0], sign[1]) for sign in SIGNS), *tags)
    return Vocabulary(found, wraps, [count for number in numbers for count in (number, number + 1)])


# What patterns match

TIMES = r"(?:[*+?]|\{[\d,]*\})*"
TOKEN = re.compile(
    rf"(?P<digits>(?:\\d|\[[^\]]*\d-\d[^\]]*\]){TIMES})|(?P<space>\\s\+?)(?!\*){TIMES}|\\(?P<literal>\W)"
    rf"|\(\?<?[=!][^)]*\)|\(\?(?:P?<\w+>|[\w-]*:?)\)?|\\\w{TIMES}|\[(?P<first>[^\]^\\])[^\]]*\]{TIMES}|\[[^\]]*\]{TIMES}|\.{TIMES}|[()^$]|{TIMES}"
)
PATTERN = re.compile(r"\\[\w\[(]|\(\?|[\].)][*+?]|\[\^|\w\|\w")


def matched(text: str) -> Iterator[str]:
    r"""What a text matches about, if it is a regular expression: each alternative; else the text itself.

    >>> list(matched(r"(?i)\bScore:\s*(\d+)(?:%|/10)")), list(matched("thus"))
    (['Score:10%', '/10'], ['thus'])
    """
    if not PATTERN.search(text):
        yield text
        return
    for part in text.split("|"):
        yield TOKEN.sub(_sample, part)


def _sample(token: re.Match[str]) -> str:
    return (
        "10"
        if token["digits"]
        else " "
        if token["space"] == r"\s+"
        else token["literal"] or token["first"] or ""
    )


# What the code holds


def constants(functions: Iterable[Any]) -> list[str | int]:
    """Texts and whole numbers that functions hold: in their code, closure, globals and options.

    Looked through is the users' own code, of rewardkit's primitives only their options. Nothing is run.

    >>> def long(completion):
    ...     "Not this."
    ...     return len(completion) > 300 and "because" in completion
    >>> constants([long])
    [300, 'because']
    """
    waiting = [value for function in functions for value in (function, *user_code(function))]
    modules = {str(getattr(value, "__module__", "")) for value in waiting}
    modules = {name for name in modules if not name.startswith(HOLDERS)}
    found: dict[str | int, None] = {}
    seen: dict[int, Any] = {}  # the objects too, so that no other gets the same id
    for value in waiting:  # which grows
        if isinstance(value, str) or type(value) is int:
            found.setdefault(value)
        elif id(value) not in seen and len(seen) < MOST_LOOKED_AT:
            seen[id(value)] = value
            waiting += _within(value, modules)
    return list(found)


def _within(value: Any, modules: set[str]) -> list[Any]:
    """What a value holds, as far as it is of these modules, a primitive or of a usual type."""
    if isinstance(value, re.Pattern):
        return [value.pattern]
    if isinstance(value, dict):
        return [*value, *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return sorted(value, key=repr) if isinstance(value, set | frozenset) else list(value)
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    kind = value if isinstance(value, type) else type(value)
    if str(kind.__module__).startswith("rewardkit.primitives."):
        return list(getattr(value, "__dict__", {}).values())
    if getattr(value, "__module__", None) not in modules:
        return []
    if isinstance(value, types.FunctionType):
        return list(_of_function(value))
    held = getattr(value, "__dict__", {}).items()
    return [kind, *(item for name, item in held if not name.startswith("__") or callable(item))]


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    """What a function's code loads, and the globals, cells and defaults that it names."""
    codes = [function.__code__]
    for code in codes:  # which grows
        codes += [item for item in code.co_consts if isinstance(item, types.CodeType)]
        yield from (item.argval for item in dis.get_instructions(code) if "CONST" in item.opname)
        yield from (function.__globals__[name] for name in code.co_names if name in function.__globals__)
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield from (function.__defaults__ or (), function.__kwdefaults__ or {})
