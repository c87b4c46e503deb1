"""Strategy: a way to write completions for a subject whose verdict is known.

A subject is a prompt with a known right answer. Its wrong answers are made here too.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

from rapidfuzz import fuzz

from rewardkit.answers.formats import TAG, Format
from rewardkit.answers.kinds import (
    ESTIMATE,
    KINDS,
    OPTION_LETTERS,
    kind_of,
    read_options,
)
from rewardkit.answers.marks import CLEAR_MARKS
from rewardkit.primitives.extract.letters import read_choice
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.messages import prompt_text
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import as_decimal, distance, read_number

Row = Mapping[str, Any]

OPENED_TAG = re.compile(r"<[A-Za-z_][\w.-]{0,30}>\s*\Z")
"""A tag that a prompt opens at its end, for the completion to go on."""


def completion_of(row: Row) -> str:
    """Return the completion of a row as text."""
    return str(row.get("completion"))


def prompt_of(row: Row) -> str:
    """Return the prompt of a row as text."""
    return prompt_text(row.get("prompt"))


def opened_tag(row: Row) -> str:
    """Return the tag that a prompt opens at its end, with what follows, or ""."""
    opened = OPENED_TAG.search(prompt_of(row))
    return opened[0] if opened else ""


@dataclass(frozen=True)
class Subject:
    """A prompt that is probed: its row, right and wrong answers, and their format.

    Attributes:
        rollout_id: The id of the row.
        columns: The row itself.
        prompt: The prompt as text.
        answer: The right answer, None where no truth is known.
        kind: The kind of the answer: one of `kinds.KINDS`, "list" or "prose".
        wrong: Certainly wrong answers of the same kind, the plainest first.
        format: How completions state the answer.
        reference: A completion that earns what a right answer can; without a truth the
            rollout that earns most.
        baseline: The reference with the plainest wrong answer; without a truth a
            rollout that earns least.
        part: The data source, or the part of a route.
        siblings: Other rows of the group, if the reward looks at whole groups.
        others: Right answers to other prompts.
        nearest: The text among all such answers that is most like the right one, "" if
            none is much like it.
        paid_answers: Answers of the prompt's completions in the same format, each paid
            at least once.
        unpaid_answers: The other answers of the prompt's completions.
        worse: The format of a less paid completion of the prompt, with its reasoning.
    """

    rollout_id: Any
    columns: Row
    prompt: str
    answer: str | None
    kind: str
    wrong: tuple[str, ...]
    format: Format
    reference: str
    baseline: str
    part: str = ""
    siblings: tuple[Row, ...] = field(default=(), repr=False)
    others: tuple[str, ...] = ()
    nearest: str = ""
    paid_answers: tuple[str, ...] = ()
    unpaid_answers: tuple[str, ...] = ()
    worse: Format | None = None

    @property
    def right(self) -> str:
        """The right answer; only for subjects with one."""
        assert self.answer is not None
        return self.answer

    @cached_property
    def stub(self) -> str | None:
        """The right program with empty functions, None if the answer is not code."""
        return write_stub(self.right) if self.kind == "code" else None

    @property
    def empty_tags(self) -> str:
        """The tags of the reference with nothing in them."""
        names = dict.fromkeys(TAG.findall(self.reference))
        return "".join(f"<{name}></{name}>" for name in names)

    def write(self, answer: str, *, reasoning: str | None = None) -> str:
        """Write a completion with this answer, see `Format.write`."""
        return self.format.write(answer, reasoning=reasoning)

    def attempt(self, answers: Iterable[str]) -> Attempt:
        """Return an attempt: completions with these answers, tried together."""
        return Attempt(tuple(map(self.write, answers)))


Completion = tuple[Subject, str]
"""A subject, and a completion for it."""

Expects = Literal["wrong", "right", "place", "form", "more", "back"]
"""The expectation of completions:

- wrong: a wrong answer must not gain.
- right: a right answer must not lose.
- place: the first right answer must not lose if the others, with other text around
  them, do not lose.
- form: a wrong answer in false marks must not earn what the form earns.
- more: right answers of growing length must not earn ever more.
- back: the call must come back.
"""

EASE: Mapping[str, float] = {
    "blind": 1.0,
    "copy": 1.0,
    "guess": 0.6,
    "form": 0.6,
    "near": 0.5,
    "opposite": 0.5,
    "text": 0.3,
    "known": 0.1,
}
"""How easily a policy finds a completion, by what it must know. Our choice.

It must know nothing but the prompt (blind, copy), a few candidates with the right one
among them (guess), how a parser errs (form), something near the answer (near) or its
opposite (opposite), the answer and the usual text around it (text), or the answer alone
(known).
"""


@dataclass(frozen=True)
class Attempt:
    """Completions that are tried together.

    It is a hole if *all* of them are paid, a loss if one is not. `columns` replace
    columns of the row, such as its truth. `transcripts` are the turns before each
    completion, if these differ.
    """

    completions: tuple[str, ...]
    columns: Row = field(default_factory=dict)
    transcripts: tuple[Sequence[Any], ...] = ()

    @classmethod
    def of(cls, *completions: str, **columns: Any) -> Attempt:
        """Return an attempt of these completions with these columns."""
        return cls(completions, columns)

    @property
    def rows(self) -> list[tuple[str, Row]]:
        """Each completion with the columns to replace."""
        if not self.transcripts:
            return [(text, self.columns) for text in self.completions]
        pairs = zip(self.completions, self.transcripts, strict=True)
        return [(text, {**self.columns, "messages": turns}) for text, turns in pairs]


Build = Callable[[Subject], Iterable[Attempt | str]]


@dataclass(frozen=True)
class Strategy:
    """A way to write completions whose verdict is known.

    Attributes:
        name: The name, which is also the code of its finding.
        family: The family in which it is reported.
        build: Writes attempts for a subject; a text is an attempt of one completion.
        says: The words behind "pays" or "does not pay".
        expects: The expectation, see `Expects`.
        knows: What a policy must know to write it, see `EASE`.
        kinds: The kinds of answers that it is for; all without any.
        needs: What the subject must have: a right answer, a mark, or nothing.
        tag: Whether the answer must be marked by a tag.
        source: The source of an answer that may be right by chance: a fixed list of
            texts, or the prompt; "" if it is certainly wrong.
    """

    name: str
    family: str
    build: Build
    says: str
    expects: Expects = "wrong"
    knows: str = "blind"
    kinds: tuple[str, ...] = ()
    needs: Literal["answer", "mark", "nothing"] = "answer"
    tag: bool = False
    source: Literal["", "list", "prompt"] = ""

    def fits(self, subject: Subject) -> bool:
        """Return whether it can be run on this subject."""
        if self.tag and subject.format.tag is None:
            return False
        if self.kinds and subject.kind not in self.kinds:
            return False
        if subject.answer is not None or self.needs == "nothing":
            return True
        return self.needs == "mark" and bool(subject.format.opening)

    def attempts(self, subject: Subject) -> list[Attempt]:
        """Return its attempts on a subject; none if it does not fit."""
        if not self.fits(subject):
            return []
        return [
            Attempt((entry,)) if isinstance(entry, str) else entry
            for entry in self.build(subject)
        ]


def strategy(family: str, says: str, **options: Any) -> Callable[[Build], Strategy]:
    """Make a strategy of a function that writes attempts; it gets the function's name.

    Args:
        family: The family of the strategy.
        says: The words behind "pays" or "does not pay".
        **options: Other attributes of `Strategy`.
    """

    def decorate(build: Build) -> Strategy:
        return Strategy(build.__name__, family, build, says, **options)

    return decorate


near_miss = partial(strategy, "near_misses", knows="near")
"""The decorator `strategy` for answers that are nearly right."""


def strategies_of_texts(
    family: str, place: Callable[[Subject, str], Iterable[str]], **options: Any
) -> Callable[..., Strategy]:
    """Return a function that makes strategies of fixed texts.

    Args:
        family: The family of the strategies.
        place: Writes completions with one of the texts.
        **options: Other attributes of `Strategy`.

    Returns:
        A function of a name, what it says, texts and further attributes.
    """

    def make(name: str, says: str, *texts: str, **more_options: Any) -> Strategy:
        def build(subject: Subject) -> Iterable[str]:
            for text in texts:
                yield from place(subject, text)

        return Strategy(name, family, build, says, **options, **more_options)

    return make


# --- wrong answers of a subject

MUCH_ALIKE = 60.0
"""Least similarity of similar answers, in percent. Our choice."""
MOST_FROM_PROMPTS = 4  # wrong answers taken from other prompts: our choice
STAND_IN = "none of these"
"""An answer that is right nowhere."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
STAND_INS = {"mathematics": "-917", "code": "pass"}
"""Kind of answers -> one that is right nowhere; for other kinds it is `STAND_IN`."""


def wrong_answers(
    answer: str, kind: str, *, prompt: str = "", others: Sequence[str] = ()
) -> tuple[str, ...]:
    r"""Return certainly wrong answers of the same kind, the plainest first.

    None of them overlaps with the right one.

    Args:
        answer: The right answer.
        kind: Its kind.
        prompt: The prompt, which may list the options of a choice.
        others: Right answers to other prompts, which have the usual form.

    >>> wrong_answers("B", "choice", prompt="(A) 3\n(B) 5\n(C) 4")
    ('A', 'C')
    """
    if kind == "number":
        return tuple(_wrong_numbers(answer, others))
    if kind == "choice":
        right = read_choice(answer, OPTION_LETTERS)
        return tuple(letter for letter in read_options(prompt) if letter != right)
    if kind == "json":
        value = json.loads(answer)
        lists = [text for text in others if _is_disjoint(value, read_json(text))]
        changed = json.dumps(change_values(value), ensure_ascii=False)
        return (*lists[:MOST_FROM_PROMPTS], changed)
    if kind == ESTIMATE:
        return (STAND_IN,)  # any number may be a good one
    alike = ("mathematics", "number") if kind == "mathematics" else KINDS
    unlike = [
        text
        for text in dict.fromkeys(others)
        if not _overlap(answer, text) and kind_of(text) in alike
    ]
    unlike.sort(key=lambda text: (fuzz.ratio(answer, text), text))
    return (*unlike[:MOST_FROM_PROMPTS], STAND_INS.get(kind, STAND_IN))


def write_stub(answer: str) -> str | None:
    r"""Return an answer with empty Python functions; None if it has no functions.

    >>> write_stub("def double(n):\n    return 2 * n")
    'def double(n):\n    return None'
    """
    program = CLEAR_MARKS["fence"](answer) or answer
    try:
        tree = ast.parse(program)
        functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
        for function in functions:
            function.body = [ast.Return(ast.Constant(None))]
        stub = ast.unparse(ast.fix_missing_locations(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return answer.replace(program, stub) if functions else None


def _wrong_numbers(answer: str, others: Iterable[str]) -> Iterator[str]:
    """Yield numbers that differ by more than half, beyond any tolerance.

    None is a part of the right number or contains it. Answers to other prompts come
    first.
    """
    right = read_number(answer)
    assert right is not None
    before, behind = "", ""
    units = re.fullmatch(r"([$€£+]?)[-−]?[\d.,]*\d(\s?%?)", answer.strip())
    if units:
        before, behind = units.groups()
    size = int(abs(as_decimal(right)))
    steps = (11, 17, 38, 59, 86, 107, 233)
    for text in dict.fromkeys([*others, *(str(size * 3 + step) for step in steps)]):
        number = read_number(text)
        if number is None or "." in text or _overlap(answer, text):
            continue
        if distance(number, right) * 2 > max(1, size):
            yield f"{before}{text}{behind}" if text.isdecimal() else text.strip()


def _overlap(answer: str, other: str) -> bool:
    """Return whether one text is a part of the other, or both say the same."""
    first, second = (
        normal_text(text).replace(",", "").lstrip("-−+$") for text in (answer, other)
    )
    return first in second or second in first


def nearest_answer(answer: str, others: Sequence[str]) -> str:
    """Return the other answer that is most like this one, "" if none is much alike.

    An answer that differs only in case counts if several pairs differ so within words,
    as "Cm7" and "CM7" do; else it may be a slip. If a text has no ASCII letter or
    digit, any other such text counts, since code may drop all of their characters.

    >>> nearest_answer("CM7", ["Dm7", "DM7", "Cm7", "F"])
    'Cm7'
    >>> nearest_answer("Cmaj7", ["cmaj7", "Cmaj", "Cmin7", "Gm"])
    'Cmin7'
    >>> nearest_answer("\u5317\u4eac", ["Lima", "\u4e0a\u6d77"]) == "\u4e0a\u6d77"
    True
    """
    by_case = Counter(text.casefold() for text in {answer, *others})
    has_cases = sum(count > 1 for count in by_case.values()) > 1
    nearest, most = "", MUCH_ALIKE
    for other in others:
        if has_cases and _differ_within_words(answer, other):
            return other
        alike = fuzz.ratio(answer.casefold(), other.casefold())
        if alike >= most and not _overlap(answer, other):
            nearest, most = other, alike
    if nearest or not _is_foreign(answer):
        return nearest
    return next((text for text in others if _is_foreign(text) and text != answer), "")


def _is_foreign(text: str) -> bool:
    """Return whether a text has letters, but no ASCII letter or digit."""
    has_ascii = any(letter.isascii() and letter.isalnum() for letter in text)
    return not has_ascii and any(map(str.isalpha, text))


def _differ_within_words(first: str, second: str) -> bool:
    """Return whether only the case of one letter within a word differs."""
    if first.casefold() != second.casefold() or len(first) != len(second):
        return False
    places = [place for place, letter in enumerate(first) if letter != second[place]]
    return len(places) == 1 and first[: places[0]][-1:].isalnum()


def _is_disjoint(items: Any, others: Any) -> bool:
    """Return whether both are lists, and no item of the second is in the first."""
    if not isinstance(items, list) or not isinstance(others, list) or not others:
        return False
    return not any(item in items for item in others)


def change_values(value: Any) -> Any:
    """Return a JSON value with every leaf replaced by another value of its type.

    Empty lists and objects get a leaf.

    >>> change_values({"name": "Ada", "age": 36, "tags": []})
    {'name': 'none of these', 'age': 145, 'tags': ['none']}
    """
    if isinstance(value, dict):
        changed = {key: change_values(child) for key, child in value.items()}
        return changed or {"none": None}
    if isinstance(value, list):
        return [change_values(child) for child in value] or ["none"]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value * 3 + 37
    return STAND_IN if value != STAND_IN else "another"
