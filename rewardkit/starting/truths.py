"""Truths: what kind of ground_truth a log has, and what an answer is compared with it by."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rewardkit.answers.kinds import (
    answer_in,
    kind_of,
    options_in,
    states_list,
)
from rewardkit.primitives import extract, verify
from rewardkit.primitives.extract.extractor import Extractor
from rewardkit.primitives.extract.letters import read_choice
from rewardkit.primitives.texts import is_missing
from rewardkit.starting.reward_functions import accepted

MOST = 0.9  # share of the truths that must be of a kind: our choice
STATED = 0.05  # share of the completions that must state lists, or objects, where the truths are some
ANSWERS = ("answer", "solution", "ground_truth", "gold", "reference")
"""Keys of an object that hold the answer; not "target", which may be what is to be reached. Our choice."""
PROSE = (
    8  # words from which on a text is compared by the words that it shares: our choice
)

Row = dict[str, Any]


KINDS: dict[str, tuple[Callable[..., Any] | None, str]] = {
    "number": (
        verify.numbers_equal,
        "the truths are numbers, compared by their value and exactly",
    ),
    "choice": (verify.choice_equal, "the truths are letters of a choice"),
    "mathematics": (
        verify.math_equal,
        "the truths are mathematics: what is equal is right, however written",
    ),
    "json": (verify.json_equal, "the truths are JSON, compared value by value"),
    "labels": (verify.sets_equal, "the truths are lists, compared in any order"),
    "ordered": (verify.lists_equal, "the truths are lists, compared in their order"),
    "accepted": (accepted, "the truths are lists of answers that are all accepted"),
    "text": (
        verify.matches,
        "the truths are short texts; case, space and outer punctuation do not count",
    ),
    "prose": (
        verify.f1,
        "the truths are long texts: paid is the share of words in common",
    ),
    "none": (None, "the log has no ground_truth"),
    "opaque": (
        None,
        "the truths are objects that say how to judge an answer, not what it is",
    ),
    "code": (
        None,
        "the truths are code or tests, and rewardkit runs no code of completions",
    ),
}
"""Kind of truth -> what compares an answer with it, if anything can, and what is said of it."""


@dataclass(frozen=True)
class Truth:
    """What the truths of a task are.

    `kind` is one of `KINDS`. `reader` finds the answer in a worked solution, `key` is that of the answer
    where truths are objects; `options` are the letters of a choice; `share` is the share of the truths that
    are of the kind.
    """

    kind: str
    reader: Extractor | None = None
    key: str = ""
    options: str = ""
    share: float = 1.0

    @property
    def compare(self) -> Callable[..., Any] | None:
        """What compares an answer with it, if anything can."""
        compare, _ = KINDS[self.kind]
        if compare is None or self.options in ("", "ABCD"):
            return compare
        return partial(compare, options=self.options)

    @property
    def verified(self) -> bool:
        """Whether an answer can be compared with it."""
        return self.compare is not None

    @property
    def holds_more(self) -> bool:
        """Whether the answer has to be taken out of it."""
        return self.reader is not None or bool(self.key)

    @property
    def said(self) -> str:
        """What they are, in words."""
        return KINDS[self.kind][1]

    def judge(self, prediction: str | None, ground_truth: Any) -> float | None:
        """The score of an answer; ``None`` where the truth is none of this kind, or cannot be compared."""
        read = self.reader or (lambda truth: truth)
        if self.key:
            ground_truth = (
                ground_truth.get(self.key) if isinstance(ground_truth, dict) else None
            )
        score = self.compare(prediction, read(ground_truth)) if self.compare else None
        return None if score is None else float(score)


def truth_of(rows: Sequence[Row], prompts: Sequence[str]) -> Truth:
    r"""What the truths of these rows are.

    >>> truth_of([{"completion": "x", "ground_truth": "3 + 4 = 7\n#### 7"}], ["?"])
    Truth(kind='number', reader=gsm8k(), key='', options='', share=1.0)
    """
    known = [row for row in rows if not is_missing(row.get("ground_truth"))]
    answers = [
        answer
        for row in known
        if (answer := answer_in(row["ground_truth"])) is not None
    ]
    if not answers:
        return Truth("none")
    truths = [row["ground_truth"] for row in known]
    if sum(isinstance(truth, list) for truth in truths) >= MOST * len(truths):
        stated = sum(
            states_list(row["completion"], row["ground_truth"]) for row in known
        )
        return Truth("labels" if stated >= STATED * len(known) else "accepted")
    kinds = Counter(map(kind_of, answers))
    kind = _kind(kinds, answers)
    if (
        kind == "json"
    ):  # where completions state no objects these say how to judge, not what
        objects = map(
            extract.json_value(repair=True), (row["completion"] for row in known)
        )
        states = sum(value is not None for value in objects) >= STATED * len(known)
        return Truth("json") if states else _of_objects(known, prompts)
    if kind == "choice":
        letters = "".join(
            read_choice(answer, string.ascii_uppercase[:10]) or "" for answer in answers
        )
        last = max(letters + "B" + "".join(map(options_in, set(prompts))))
        return Truth(
            "choice",
            options=string.ascii_uppercase[: string.ascii_uppercase.index(last) + 1],
        )
    share = kinds["number"] / len(answers) if kind == "number" else 1.0
    return Truth(kind, _reader(truths, kind), share=share)


def _kind(kinds: Counter[str], answers: Sequence[str]) -> str:
    """What most of the answers are, texts where they are of many kinds."""
    total = len(answers)
    ((usual, most),) = kinds.most_common(1)
    if usual in ("number", "choice", "json") and most >= MOST * total:
        return usual
    if kinds["mathematics"] and kinds["number"] + kinds["mathematics"] >= MOST * total:
        return "mathematics"
    if kinds["code"] > total / 2:
        return "code"
    lengths = sorted(len(answer.split()) for answer in answers)
    return "prose" if lengths[total // 2] >= PROSE else "text"


def _of_objects(rows: Sequence[Row], prompts: Sequence[str]) -> Truth:
    """The truths of a key that names the answer, where truths are objects and completions are none."""
    truths = [row["ground_truth"] for row in rows]
    plain = all(
        isinstance(truth, dict)
        and all(isinstance(item, str | int | float | None) for item in truth.values())
        for truth in truths
    )
    key = next(
        (name for name in ANSWERS if plain and all(name in truth for truth in truths)),
        None,
    )
    if key is None:
        return Truth("opaque")
    found = truth_of(
        [{**row, "ground_truth": row["ground_truth"][key]} for row in rows], prompts
    )
    return replace(found, key=key) if found.reader is None else Truth("opaque")


def _reader(truths: Sequence[Any], kind: str) -> Extractor | None:
    """What finds the answer in worked solutions; ``None`` where the truths are the answers."""
    behind: Extractor = extract.gsm8k() if kind == "number" else extract.after("####")
    marks = {"####": behind, "\\boxed": extract.boxed()}
    for mark, extractor in marks.items():
        if sum(
            isinstance(truth, str) and mark in truth for truth in truths
        ) >= MOST * len(truths):
            return extractor
    return None
