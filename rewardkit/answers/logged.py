"""What a completion of a log states, whether that is right, and what it earned."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rewardkit.answers.formats import blank_tools
from rewardkit.answers.kinds import is_nothing, kind_of
from rewardkit.answers.stated import OBJECT_MARKS, Statement
from rewardkit.primitives.messages import prompt_text
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.math.latex import NUMBER_WORDS

PAID_FROM, UNPAID_TO = 0.8, 0.1
"""Shares of the span of all rewards from which a row is paid, and to which it is not.
Our choice."""

LONGEST_LABEL = 40
"""Characters of a label, at most; a longer text is a sentence. Our choice."""
LABEL_START = re.compile(r"[.!?。:]\s+|[\])}>]")
"""What ends before a label on its line: a sentence, or something in brackets."""

NUMBER_WORD = re.compile(rf"(?i)\b(?:{NUMBER_WORDS})\b")
GIVES_UP = re.compile(
    r"""(?ix) \W*+ (?: (?:I|we|it|this|that) (?:\ am|['’]m)? \ )?
    (?: do\ not\ know | don['’]t\ know | un(?:known|sure|certain|determined)
      | not\ (?:sure|known|enough) | insufficient | no\ idea
      | can(?:not|\ not|['’]t) | could(?:\ not|n['’]t) )\b"""
)
"""What begins an answer that is none. Our choice."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class LoggedAnswer:
    """A completion of the log: what it states, and what the task earned there.

    `truth` is None where the log has none, or several; of several accepted ones it is
    the one that is stated, or the first. `gain` is a share of what the
    task can earn: 0 for the least of the log, or for nothing where penalties are
    below it, 1 for the most; NaN where all earn the same. `is_right` is None where
    that is not certain.
    """

    row: Row
    part: str
    truth: str | None
    statement: Statement
    reward: float
    gain: float = math.nan
    is_right: bool | None = None
    is_open: bool = False
    usual_label: str = ""

    @property
    def completion(self) -> str:
        """The completion."""
        return str(self.row.get("completion"))

    @property
    def prompt(self) -> tuple[str, str]:
        """Tell prompts apart that differ in their truths, or else in their ids."""
        prompt = self.row.get("prompt", self.row.get("prompt_id"))
        truth = self.row.get("ground_truth", self.row.get("prompt_id"))
        return prompt_text(prompt), repr(truth)

    @property
    def statement_key(self) -> tuple[str, ...]:
        """Tell answers apart: the prompt, how the answer is marked, and what it is."""
        return (*self.prompt, self.statement.mark, self.answer)

    @property
    def answer(self) -> str:
        """The answer that it states, "" where it states none."""
        return self.statement.answer

    @property
    def turns(self) -> int:
        """How often the assistant speaks; 0 where the log has no turns."""
        turns = self.row.get("messages")
        if not isinstance(turns, list):
            return 0
        roles = [turn.get("role") for turn in turns if isinstance(turn, dict)]
        return roles.count("assistant")

    @property
    def label(self) -> str:
        """The words before a colon and the answer on its line, "" where none are.

        Statements "Answer: 4" and "**Answer:** 4" have the label "answer".
        """
        return self.written_label.casefold()

    @property
    def written_label(self) -> str:
        """The label as it is written; a sentence before it on its line is no label."""
        start = self.statement.before
        near = self.completion[max(0, start - 2 * LONGEST_LABEL) : start]
        words = near.rpartition("\n")[2].strip(" *_#$")
        label = LABEL_START.split(words[:-1])[-1].strip(" *_")
        has_colon = words.endswith(":") and len(label) <= LONGEST_LABEL
        return label if has_colon else ""

    @property
    def has_usual_label(self) -> bool:
        """Whether its answer has the label that most others have."""
        return bool(self.usual_label) and self.label == self.usual_label

    @property
    def is_marked(self) -> bool:
        """Whether its answer is marked on purpose, or labelled as most others are."""
        return self.statement.is_marked or self.has_usual_label

    @property
    def ends_line(self) -> bool:
        """Whether no word and no other number follows the answer on its line."""
        behind = self.completion[self.statement.before + len(self.answer) :]
        return not re.search(r"\w", behind.partition("\n")[0])

    @property
    def is_paid(self) -> bool:
        """Whether the task earned about as much as the best of the log."""
        return self.gain >= PAID_FROM

    @property
    def is_paid_whole(self) -> bool:
        """Whether it earned that also where objects are paid value by value."""
        is_object = self.statement.mark in OBJECT_MARKS
        return self.is_paid and (self.gain > 0.999 or not is_object)

    @property
    def is_unpaid(self) -> bool:
        """Whether the task earned nothing."""
        return self.gain <= UNPAID_TO

    @cached_property
    def own_text(self) -> str:
        """What the model itself says, without the replies of tools."""
        return blank_tools(self.completion)

    @cached_property
    def own_words(self) -> str:
        """The same, normalised."""
        return normal_text(self.own_text)

    @property
    def states_nothing(self) -> bool:
        """Whether it marks no answer, and does not mention the truth.

        A truth that is empty, "[]", is stated by what marks none. What may be one
        behind the usual label is an answer, if in a notation that is not read.
        """
        if self.truth is None or self.is_marked or is_nothing(self.truth):
            return False
        if self.usual_label:
            label = re.escape(self.usual_label)
            behind = rf"(?i)\b{label}[ *_]*:[ *_$]*([^\s*_$].*)"
            texts = re.findall(behind, self.own_text)
            if any(may_answer(text, self.truth) for text in texts):
                return False
        kind = kind_of(self.truth)
        if kind == "json" and "{" in self.completion:
            return False  # an object that is broken off, or of another notation
        if self.statement.mark == "fence":
            return False  # code is compared by what it does, not by its text
        return normal_text(self.truth) not in self.own_words


Answers = Sequence[LoggedAnswer]
"""The rows of a log, or some of them."""


def may_answer(text: str, truth: str) -> bool:
    """Return whether a text may be an answer, for a number in any notation."""
    if GIVES_UP.match(text):
        return bool(GIVES_UP.match(truth))
    if kind_of(truth) != "number":
        return True
    return any(map(str.isnumeric, text)) or bool(NUMBER_WORD.search(text))
