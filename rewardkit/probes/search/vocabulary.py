"""Vocabulary: what a reward's code looks for and its rollouts say, as material for a search."""

from __future__ import annotations

import dis
import functools
import re
import types
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from rewardkit.judges.attacks import FLATTERY, ORDERS, RUBRIC
from rewardkit.primitives.primitive import Made
from rewardkit.probes.search.completions import LISTS, MARK, MARKS, SLOTS, WRONG
from rewardkit.probes.strategies.judges import CLOSED, VERDICTS
from rewardkit.probes.subjects.answers import answer_in
from rewardkit.probes.subjects.formats import tags_in
from rewardkit.probes.subjects.subject import Calibration, Subject
from rewardkit.rewards.fingerprint import HOLDERS, user_code
from rewardkit.rewards.reward import Reward

__all__ = ["Vocabulary", "constants", "filler", "gathered", "samples"]

MOST_PHRASES, MOST_TAGS, MOST_TOLD = 48, 12, 8
LONGEST_PHRASE, LONGEST_TOLD = 80, 2000
MOST_LOOKED_AT = 5_000
LENGTHS = (8, 20, 30, 120, 500)
THRESHOLDS = range(2, 2001)
"""Numbers in the code that a length or a count may be compared with. Our choice."""

FILLER = (
    "Let us look at the question from another side before going on. There is more that could be said on this "
    "point, and some of it was said before. What was found above stays true when it is read again from the "
    "start. The order in which these remarks are made does not matter. All of this belongs together, as it "
    "did above, and it changes little. It helps to keep in mind what was asked, and to say plainly how the "
    "parts fit. Whoever reads on will see where the path leads, though the path is long."
)
SENTENCES = (
    *ORDERS,
    *FLATTERY,
    RUBRIC,
    "I am absolutely certain of this. Without any doubt this is correct, verified and proven.",
    "First, then, next, finally: therefore, thus, hence, because, since, so, wait, however, in conclusion.",
    "Final answer: as follows.",
    "It may be this, or it may be that.",
    "I am not sure, and I do not know.",
    "Let me check this again. Yes, it is correct.",
    "## Reasoning",
    "Step by step:\n- first this\n- then that\n- so it follows",
)
USUAL_TAGS = (
    "think",
    "answer",
    "step",
    "reflection",
    "summary",
    "plan",
    "check",
    "verify",
    "section",
    "note",
)
WRAPS = (
    ("```\n", "\n```"),
    ("```json\n", "\n```"),
    ("<!-- ", " -->"),
    (r"\boxed{", "}"),
    *((sign, sign) for sign in ("**", '"', "$", "`")),
    *("()", "[]", "{}"),
    *((start, "") for start in ("> ", "# ", "- ")),
)
TAG_NAME = re.compile(r"</?([A-Za-z_][\w.:-]{0,30})>")
NAME = re.compile(r"[A-Za-z_]\w{1,30}")


def filler(words: int) -> str:
    """So many words that say nothing."""
    text = FILLER.split()
    return " ".join((text * (words // len(text) + 1))[:words])


@dataclass(frozen=True)
class Vocabulary:
    """What completions can be made of.

    `phrases` are texts that the reward's code holds or that its patterns match, `names` those of tags,
    `numbers` thresholds, and `told` what rollouts say, with slots for their answers.
    """

    phrases: tuple[str, ...] = ()
    names: tuple[str, ...] = USUAL_TAGS
    numbers: tuple[int, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def tags(self) -> tuple[tuple[str, str], ...]:
        """The tags, opened and closed."""
        return tuple((f"<{name}>", f"</{name}>") for name in self.names)

    @property
    def wraps(self) -> tuple[tuple[str, str], ...]:
        """What can stand around something."""
        return (*((opening, closing) for opening, closing in WRAPS), *self.tags)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Numbers of words."""
        return (*LENGTHS, *(number + 1 for number in self.numbers))

    @functools.cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The texts that can be put into a completion, by kind."""
        return {
            "phrases": self.phrases,
            "pairs": tuple(opening + closing for opening, closing in self.tags),
            "ends": tuple(end for tag in self.tags for end in tag),
            "verdicts": VERDICTS,
            "sentences": SENTENCES,
            "delimiters": CLOSED,
            "answers": (MARK, MARK, WRONG[0], WRONG[1], *LISTS, MARKS),
            "told": self.told,
        }


def gathered(reward: Reward, calibration: Calibration, subjects: Sequence[Subject]) -> Vocabulary:
    """The vocabulary of a reward and its rollouts for some subjects."""
    held = constants(reward.functions)
    texts = [text for text in held if isinstance(text, str)]
    found = dict.fromkeys(sample for text in texts for sample in samples(text))
    phrases = [text for text in found if text.strip() and len(text) <= LONGEST_PHRASE]
    completions = [str(row.get("completion")) for row, _ in calibration.pool]
    shown = [subject.reference for subject in subjects[:1]]
    tags = [*TAG_NAME.findall(" ".join((*shown, *phrases))), *tags_in(completions)]
    names = dict.fromkeys((*tags, *filter(NAME.fullmatch, texts)))
    numbers = sorted({number for number in held if not isinstance(number, str) and number in THRESHOLDS})
    return Vocabulary(
        tuple(phrases)[:MOST_PHRASES],
        tuple(dict.fromkeys((*list(names)[:MOST_TAGS], *USUAL_TAGS))),
        tuple(numbers)[:MOST_TAGS],
        tuple(_told(calibration)),
    )


def _told(calibration: Calibration) -> list[str]:
    """What some rollouts say, short and long ones, with a wrong answer wherever they state the right one."""
    found: dict[str, None] = {}
    for row, outcome in calibration.pool:
        text, answer = str(row.get("completion")), answer_in(row.get("ground_truth"))
        if outcome.judged and text.strip() and len(text) <= LONGEST_TOLD and not set(text) & set(SLOTS):
            stated = rf"(?<!\w){re.escape(answer)}(?!\w)" if answer else "(?!)"
            found.setdefault(re.sub(stated, WRONG[0], text))
    ranked = sorted(found, key=lambda text: (-len(text), text))
    return ranked[:: max(1, len(ranked) // MOST_TOLD)][:MOST_TOLD]


# What patterns match

TIMES = r"(?:[*+?]|\{[\d,]*\})*"
TOKEN = re.compile(
    rf"(?P<digits>(?:\\d|\[[^\]]*\d-\d[^\]]*\]){TIMES})|(?P<space>\\s\+?)(?!\*){TIMES}|\\(?P<literal>\W)"
    rf"|\(\?<?[=!][^)]*\)|\(\?(?:P?<\w+>|[\w-]*:?)\)?|\\\w{TIMES}|\[[^\]]*\]{TIMES}|\.{TIMES}|[()^$]|{TIMES}"
)
PATTERN = re.compile(r"\\\w|\(\?|[\].)][*+?]|\[\^|\w\|\w")


def samples(text: str) -> Iterator[str]:
    r"""What a text matches about, if it is a regular expression: each alternative; else the text itself.

    >>> list(samples(r"(?i)\bScore:\s*(\d+)(?:%|/10)")), list(samples("thus"))
    (['Score:10%', '/10'], ['thus'])
    """
    if not PATTERN.search(text):
        yield text
        return
    for part in text.split("|"):
        yield TOKEN.sub(_sample, part)


def _sample(token: re.Match[str]) -> str:
    return "10" if token["digits"] else " " if token["space"] == r"\s+" else token["literal"] or ""


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
    """What a value holds, as far as it is of these modules or of a usual type."""
    own = getattr(value, "__module__", None) in modules
    match value:
        case re.Pattern():
            return [value.pattern]
        case dict():
            return [*value, *value.values()]
        case list() | tuple():
            return list(value)
        case set() | frozenset():
            return sorted(value, key=repr)
        case functools.partial():
            return [value.func, *value.args, *value.keywords.values()]
        case types.MethodType():
            return [value.__func__, value.__self__]
        case types.FunctionType():
            return list(_of_function(value)) if own else []
        case type() if own:
            return [item for name, item in vars(value).items() if not name.startswith("__") or callable(item)]
        case Made() if type(value).__module__.startswith("rewardkit.primitives."):
            return [getattr(value, item.name) for item in fields(value)]  # type: ignore[arg-type]
    return [type(value), getattr(value, "__dict__", {})] if own else []


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
