"""What completions at fault have in common, and other completions have not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rewardkit.answers.comparison import describe_notation
from rewardkit.answers.formats import TAG
from rewardkit.answers.logged import Answers, LoggedAnswer
from rewardkit.answers.wordings import both_ends, find_wordings
from rewardkit.primitives.texts import normal_text
from rewardkit.rollouts.values import extra_names

IN_COMMON, IN_OTHERS = 0.95, 0.1
"""Share of the rows at fault that a common trait holds, and of the other rows that it
may hold. Our choice."""
IN_COMMON_NOTATION = 0.5
"""The first share where answers are written otherwise than their truths: a cause by
itself, while other rows may be lost by another one. Our choice."""
LEAST_OTHERS = 3  # other rows without the trait, of which a share means something
EARN_LESS = "earn less"
"""What is said of the other rows, where those at fault are paid."""
LEAST_ALIKE = 4  # rows at fault that have something in common by more than chance
LEAST_TRAIT_PROMPTS = 3  # the same for their prompts
MOST_VALUES = 12  # different values that are worth a comparison
ROUND_STEPS = (1000, 500, 100, 50, 10, 5)
"""Steps of round limits, the roundest first."""

WORDING_OF_LETTERS = re.compile(r"`[^\W\d_]")
"""Begins the name of a wording that is a word and no sign or number."""
TOOL_TRAIT = "tool"
"""Kind of a trait: what a tool replied is taken for what the model says."""
FORM_TRAIT = "form"
"""Kind of a trait that may well be asked for: tags are missing, or are there twice."""
MARK_TRAIT, LABEL_TRAIT = "mark", "label"
"""Kinds of traits that a prompt may ask for: another mark, or another label."""

BELOW = "_below"
"""End of the kinds of traits that lie below a limit."""

MARK_WORDS = {
    "tag": "in a tag",
    "box": r"in \boxed",
    "####": "behind ####",
    "fence": "in a block of code",
    "object": "in an object",
    "fenced object": "in an object in a block of code",
}
"""Name of a mark -> where it puts the answer."""
TOUCHING = {
    r"\*\*\Z": "bold type around",
    r"\$\Z": "a dollar sign before",
    r"`\Z": "backticks around",
    r"[\"“'‘]\Z": "quotes around",
    r"[(\[]\Z": "brackets around",
}
"""Expression of the text before an answer -> what touches the answer then."""


@dataclass(frozen=True)
class Trait:
    """What rows at fault have in common.

    `says` has the figures of both sides. `score` is the share of the rows at fault that
    have it, less that of the others. `others` counts the other rows that have it.
    """

    kind: str
    says: str
    score: float
    others: int = 0

    @property
    def figure(self) -> str:
        """The kind of trait, whether above or below a limit."""
        return self.kind.removesuffix(BELOW)


# --- what is compared


def _form(answer: LoggedAnswer) -> str:
    """Describe which tags a completion has, and whether its mark stands there twice."""
    names = sorted(set(TAG.findall(answer.completion)))
    form = f"the tags {', '.join(names)}" if names else "no tags"
    marks = re.findall(r"####|\\boxed|</answer>", answer.completion)
    return f"{form} and {len(marks)} marks" if len(marks) > 1 else form


def _line(answer: LoggedAnswer) -> str:
    """Describe what stands beside the answer on its line; "" for nothing.

    Before it that is a sentence, as a label is no other word.
    """
    start = answer.statement.before
    line = answer.completion[:start].rpartition("\n")[2]
    behind = answer.completion[start + len(answer.answer) :]
    sides = {
        "a sentence before": re.search(r"[.!?。]\s", line),
        "words behind": re.match(r"[^\n\w<]*\w", behind),
    }
    return " and ".join(side for side in sides if sides[side])


def _touching(answer: LoggedAnswer) -> str:
    """Describe what touches an answer, within its mark where it has one."""
    truth = answer.truth or ""
    if answer.answer.endswith(";") and not (truth or ";").endswith(";"):
        return "a semicolon behind"
    start = answer.statement.before
    if answer.statement.mark == "whole" or answer.statement.is_marked:
        start = max(0, answer.completion.rfind(truth))
    before = answer.completion[:start]
    if answer.statement.is_marked:
        before = before[answer.statement.before :]
    for expression, name in TOUCHING.items():
        if re.search(expression, before[-2:]):
            return name
    return ""


def _letters(answer: LoggedAnswer) -> str:
    is_beyond = re.search(r"[^\W\d_a-zA-Z]", answer.answer)
    return "letters beyond A to Z" if is_beyond else ""


def _tool_reply(answer: LoggedAnswer) -> str:
    """Describe where the truth stands if the model itself does not say it."""
    truth = normal_text(answer.truth or "")
    if not truth or truth in answer.own_words:
        return ""
    is_there = truth in normal_text(answer.completion)
    return "the truth in a tool's reply alone" if is_there else ""


Mask = NDArray[np.bool_]
"""Which rows, (rows,)."""
TraitColumn = tuple[str, str, Callable[[LoggedAnswer], str | int]]
"""Kind of a trait, its words, and what is compared."""

TRAITS: Sequence[TraitColumn] = (
    (FORM_TRAIT, "have {}", _form),
    (
        "notation",
        "write {}",
        lambda answer: describe_notation(answer.answer, answer.truth or ""),
    ),
    ("letters", "write {} in the answer", _letters),
    ("touching", "have {} the answer", _touching),
    (
        MARK_TRAIT,
        "have the answer {}",
        lambda answer: MARK_WORDS.get(answer.statement.mark, ""),
    ),
    (TOOL_TRAIT, "have {}", _tool_reply),
    (
        "behind",
        "have {} characters behind the answer",
        lambda answer: answer.statement.behind,
    ),
    ("line", "have {} the answer on its line", _line),
    (
        LABEL_TRAIT,
        "call the answer {}",
        lambda answer: answer.written_label and repr(answer.written_label),
    ),
)
LENGTH_COLUMN: TraitColumn = (
    "length",
    "have {} characters",
    lambda answer: len(answer.completion),
)
TRAITS_OF_LENGTH: Sequence[TraitColumn] = (
    ("turns", "have {} turns of the assistant", lambda answer: answer.turns),
    (
        "answer",
        "state an answer of {} characters",
        lambda answer: len(answer.answer),
    ),
    (
        "window",
        "begin the answer {} characters before their end",
        lambda answer: len(answer.completion) - answer.statement.before,
    ),
    (
        "before",
        "have {} characters before the answer",
        lambda answer: answer.statement.before,
    ),
    LENGTH_COLUMN,
)
"""Of equally good ones the first is told, those of slices before these. A text is one
of a few values, a number a length."""


def _slices(answers: Answers) -> Iterator[TraitColumn]:
    """Yield the data source, and what `extra_info` says in words or yes and no."""
    yield "slice", "come from {}", lambda answer: answer.part
    for name in extra_names(answer.row.get("extra_info") for answer in answers):
        yield "slice", f"have {name} {{}}", partial(_extra, name=name)


def _extra(answer: LoggedAnswer, name: str) -> str:
    extra = answer.row.get("extra_info")
    return str(extra.get(name, "")) if isinstance(extra, Mapping) else ""


def find_trait(
    at_fault: Answers,
    others: Answers,
    *,
    is_length: bool = False,
    wording: Trait | None = None,
) -> Trait | None:
    """Find what separates rows at fault from other rows best; None where nothing does.

    Args:
        at_fault: Rows at fault.
        others: Rows of the same kind that are not.
        is_length: Whether it is known to be the length of completions.
        wording: What `find_wording` found; it is told before an equal length.
    """
    if not _are_enough(at_fault):
        return None
    rows = [*at_fault, *others]
    compare = partial(_compare_columns, rows, np.arange(len(rows)) < len(at_fault))
    if is_length:
        traits = compare([LENGTH_COLUMN])
    else:
        traits = compare([*TRAITS, *_slices(rows)])
        traits += [] if wording is None else [wording]
        traits += compare(TRAITS_OF_LENGTH)
    return max(traits, key=lambda trait: trait.score, default=None)


def _are_enough(at_fault: Answers) -> bool:
    """Return whether rows at fault have something in common by more than chance."""
    prompts = {answer.prompt for answer in at_fault}
    return len(at_fault) >= LEAST_ALIKE and len(prompts) >= LEAST_TRAIT_PROMPTS


def _compare_columns(
    rows: Answers, is_at_fault: Mask, columns: Sequence[TraitColumn]
) -> list[Trait]:
    """Return the traits that set rows at fault, the first ones, apart from others."""
    fate = "are paid" if rows[0].is_unpaid else EARN_LESS
    traits: list[Trait] = []
    for kind, words, describe in columns:
        values = np.array(list(map(describe, rows)), dtype=object)
        for suffix, phrase, has in _split(values, is_at_fault):
            says = words.format(phrase)
            trait = _compare(kind + suffix, says, has, is_at_fault, fate)
            if trait is not None:
                traits.append(trait)
    return traits


def _split(
    values: NDArray[np.object_], is_at_fault: Mask
) -> Iterator[tuple[str, str, Mask]]:
    """Yield the best ways to split values of rows at fault from those of others.

    That is what the kind of a trait ends with, what is said of the values, and which
    rows have them, (rows,).
    """
    at_fault, others = values[is_at_fault].tolist(), values[~is_at_fault].tolist()
    if isinstance(at_fault[0], str):
        counts, counts_of_others = Counter(at_fault), Counter(others)
        common = [value for value in counts if counts[value] > counts_of_others[value]]
        common.sort(key=lambda value: -counts[value])
        if common and "" not in common and len(common) <= MOST_VALUES:
            has = np.array([value in common for value in values], dtype=bool)
            yield "", " or ".join(common), has
        return
    for sign, comparative, suffix in ((1, "more", ""), (-1, "fewer", BELOW)):
        lengths = (sign * values).astype(np.int64)
        limit = find_limit(
            lengths[is_at_fault].tolist(), lengths[~is_at_fault].tolist()
        )
        if limit is not None:
            phrase = f"{comparative} than {abs(limit):,}" if limit else "one or more"
            yield suffix, phrase, lengths > limit


def find_wording(at_fault: Answers, others: Answers) -> Trait | None:
    """Find the words that paid rows have and other rows have not, see `find_trait`.

    Only where all truths are known and in none of these rows: words may go with
    another place of the answer, which is misread here.
    """
    if not _are_enough(at_fault):
        return None
    for answer in at_fault:
        truth = re.escape(normal_text(answer.truth or ""))
        if not truth or re.search(rf"(?<!\w){truth}(?!\w)", answer.own_words):
            return None
    texts = [both_ends(answer.completion) for answer in (*at_fault, *others)]
    is_first = np.arange(len(texts)) < len(at_fault)
    traits: list[tuple[float, bool, int, Trait]] = []
    for words, rows in find_wordings(texts, is_first, LEAST_ALIKE).items():
        trait = _compare("wording", f"have {words}", rows == 1.0, is_first, EARN_LESS)
        if trait is not None:
            is_word = WORDING_OF_LETTERS.match(words) is not None
            traits.append((trait.score, is_word, -len(words), trait))
    return max(traits, key=lambda item: item[:3])[3] if traits else None


def _compare(
    kind: str, words: str, has: Mask, is_at_fault: Mask, fate: str
) -> Trait | None:
    """Make a trait if most rows at fault have it, and few of the others."""
    n, total = int(is_at_fault.sum()), len(has)
    count = int(has[is_at_fault].sum())
    others = int(has.sum()) - count
    without = total - n - others
    if without < LEAST_OTHERS:
        return None
    share = 1 - without / (total - n)
    least_share = IN_COMMON_NOTATION if kind == "notation" else IN_COMMON
    if count < least_share * n or share > IN_OTHERS:
        return None
    who = f"All {n}" if count == n else f"{count} of {n}"
    rest = without + n - count
    says = f"{who} {words}; of the others, {without} of {rest} {fate}."
    return Trait(kind, says, count / n - share, others)


def find_common_form(answers: Answers) -> Trait | None:
    """Find how nearly all rows write their answers, where no others are to compare."""
    n = len(answers)
    unmarked: TraitColumn = ("", "have {} the answer", lambda answer: "no mark around")
    for kind, words, describe in (*TRAITS, unmarked):
        ((value, count),) = Counter(map(describe, answers)).most_common(1)
        is_text = isinstance(value, str) and value
        if is_text and kind not in (FORM_TRAIT, "line") and count >= IN_COMMON * n:
            who = f"All {n}" if count == n else f"{count} of {n}"
            return Trait(kind, f"{who} {words.format(value)}.", count / n)
    return None


def find_limit(lengths: Sequence[int], others: Sequence[int]) -> int | None:
    """Find the limit that most of `lengths` pass and the fewest others; None for none.

    >>> find_limit([312, 340, 400], [80, 120, 243])
    300
    """
    limits: list[tuple[float, int]] = []
    in_order = sorted(lengths)
    for place, first in enumerate(in_order[: int((1 - IN_COMMON) * len(lengths)) + 1]):
        below = [length for length in others if length < first]
        if below:
            score = len(below) / len(others) - place / len(lengths)
            limits.append((score, _round_between(max(below), first)))
    return max(limits)[1] if limits else None


def _round_between(low: int, high: int) -> int:
    """Return the roundest number from `low` to below `high`.

    >>> _round_between(243, 312), _round_between(-90, -40)
    (300, -50)
    """
    for step in ROUND_STEPS:
        number = -(-low // step) * step
        if number < high:
            return number
    return low
