"""Kinds: what an answer is: a number, a choice, mathematics, JSON, code, a text."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from rewardkit.primitives.extract import boxed
from rewardkit.primitives.extract.structured import read_json
from rewardkit.primitives.texts import normal_text
from rewardkit.primitives.verify.numbers import read_number

KINDS: Final = ("number", "choice", "mathematics", "json", "code", "text")

ESTIMATE: Final = "estimate"
"""A number for how likely the truth is, such as 70 % for "yes"."""

OPTION_LETTERS = "ABCDEFGHIJ"
"""Letters that options of a choice can have."""
KIND_SHARE = 0.9
"""Share of the answers that must be of a kind for it to be that of all. Our choice."""
PROSE_WORDS = 8
"""Words from which on a text is compared by the words it shares. Our choice."""
LISTED_SHARE = 0.8
"""Share of the answers that must have several items to be lists. Our choice."""
LABELS_SHARE = 0.5
"""Share of the truths that have several items where they are labels. Our choice."""
ITEM_WORDS = 5
"""Words of an item of a list, on average; a part of a sentence has more. Our choice."""

OPTION = re.compile(r"(?:^|[\s(\[])([A-J])[).\]:](?=\s)", re.MULTILINE)
PROGRAM_TEXT = re.compile(
    r"^\s*(def |class |import |from \w+ import|assert |return |print\(|#include|"
    r"function )"
    r"|(?i:^\s*select\b.+\bfrom\b|\A\s*select\b[\s\S]+?^[ \t]*from\b)"
    r"|(?i:\A\s*with\s+\w+\s+as\s*\()",
    re.M,
)
MATHEMATICS = re.compile(
    r"\\(?:[A-Za-z]+|\{)|[\w)}][\^/*]\s*[\w({\\]|[A-Za-z]\s*=\s*\S"
    r"|^\([^()]*,[^()]*\)$|^\$[^$]+\$$|√|π|∞"
)
PATH_OR_ADDRESS = re.compile(r"\d+\.\d+\.\d+|://|\w/\w+/")
"""What stands in addresses, versions and paths, and in no formula."""

BOXED = boxed()
NOTHING_WORDS = ("none", "null", "nothing", "n/a")
"""Truths that say in a word that there is no answer."""

WHOLLY_TAGGED = re.compile(r"(?s)<([A-Za-z_][\w.-]{0,30})>([^<>]*)</\1>")
"""A truth that stands in a tag, as a completion would write it."""

MARKED_TRUTH = re.compile(r"(?<!\S)####(?!#)")
"""What stands before the answer of a worked solution; a maze has more such signs."""


def read_truth(truth: Any) -> str | None:
    r"""Return the answer that a truth states, as a completion would write it, or None.

    Of a worked solution that is what stands behind ``####`` or in the last box, of a
    text in a tag what is in it, of a list of accepted answers the first; an object, and
    a list of several numbers, is written as JSON.

    >>> read_truth("48 / 2 = 24, 48 + 24 = 72\n#### 72"), read_truth([])
    ('72', None)
    >>> read_truth(["Oslo", "Oslo city"]), read_truth([3, 4])
    ('Oslo', '[3, 4]')
    >>> read_truth('["S.####", "....G"]')
    '["S.####", "....G"]'
    >>> read_truth("<answer>African wild dog</answer>")
    'African wild dog'
    """
    if isinstance(truth, list | tuple):
        if not truth:
            return None
        are_numbers = all(isinstance(item, int | float) for item in truth)
        is_point = are_numbers and len(truth) > 1  # a box, a span, a sequence
        if not is_point and all(isinstance(item, str | int | float) for item in truth):
            return read_truth(truth[0])
    if isinstance(truth, dict | list | tuple):
        return json.dumps(truth, ensure_ascii=False, default=str)
    return None if truth is None else _read_text(str(truth))


@lru_cache(maxsize=256)  # siblings have one truth, which may be long
def _read_text(truth: str) -> str | None:
    """Return the answer of a text, or None where it is empty."""
    text = truth.strip()
    solutions = MARKED_TRUTH.split(text)
    if len(solutions) > 1:
        return solutions[-1].strip() or None
    tagged = WHOLLY_TAGGED.fullmatch(text)
    if tagged:
        text = tagged[2].strip()
    return BOXED(text) or text or None


def is_nothing(truth: str) -> bool:
    """Return whether a truth says that no answer is the right one.

    >>> is_nothing("[]"), is_nothing('{"calls": []}'), is_nothing("None")
    (True, True, True)
    >>> is_nothing("0"), is_nothing('{"calls": ["go"]}')
    (False, False)
    """
    value = read_json(truth)
    if value is not None:
        return _holds_nothing(value)
    return not truth.strip() or normal_text(truth) in NOTHING_WORDS


def _holds_nothing(value: Any) -> bool:
    """Return whether there is no value, or none in an object or list."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return all(map(_holds_nothing, value))
    return value in (None, "")


def read_items(truth: Any) -> list[str]:
    """Return the texts of a JSON list that is written as a text, [] of anything else.

    >>> read_items('["bug", "ui"]'), read_items("[1, 2]"), read_items("bug, ui")
    (['bug', 'ui'], [], [])
    """
    items = read_json(truth) if isinstance(truth, str) else None
    if isinstance(items, list) and all(isinstance(item, str) for item in items):
        return items
    return []


def states_list(completion: str, truth: Any) -> bool:
    """Return whether a completion states a truth's items as a JSON list, in any order.

    >>> states_list('Labels: ["b", "a"]', ["a", "b"]), states_list("a", ["a", "b"])
    (True, False)
    """
    if not isinstance(truth, list | tuple) or not truth:
        return False
    wanted = sorted(map(str, truth))
    for text in re.findall(r"\[[^\[\]]*\]", completion):
        items = read_json(text)
        if isinstance(items, list) and sorted(map(str, items)) == wanted:
            return True
    return False


LIST_MARK = r"(?m)^ *(?:[-*•]|\**\(?\d+[.):]\**) +(.+)$"
"""What marks an item of a list that has a line an item; the item is the group."""


def states_items(completion: str, items: Sequence[Any]) -> bool:
    r"""Return whether a completion lists these items in text, in any order.

    With bullets, or with commas in a tag, on the last line, or behind its colon. One
    item alone is no list.

    >>> states_items("Labels: b, a", ["a", "b"]), states_items("- b\n- a", ["a", "b"])
    (True, True)
    """
    wanted = sorted(normal_text(str(item)) for item in items)
    if len(wanted) < 2:
        return False
    last = completion.strip().rpartition("\n")[2]
    texts = [last, last.partition(":")[2]]
    texts += re.findall(r">([^<>]+)</", completion)
    lists = [split_items(text)[0] for text in texts]
    lists.append(re.findall(LIST_MARK, completion))
    return any(sorted(map(normal_text, stated)) == wanted for stated in lists)


def are_lists(truths: Sequence[Any], completions: Sequence[str]) -> bool:
    """Return whether texts are lists with commas: of few different items, as labels.

    Half of them have several short items, an item comes twice on average, and some of
    the completions list them. "Oslo, Norway" is no list of labels.
    """
    texts = {str(truth) for truth in truths}
    several = sum(map(_has_short_items, texts))
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(split_items(text)[0])
    if several < LABELS_SHARE * len(texts) or 2 * len(counts) > counts.total():
        return False
    lists = [split_items(str(truth))[0] for truth in truths]
    return any(map(states_items, completions, lists))


@lru_cache(maxsize=256)  # siblings have one truth
def kind_of(answer: str) -> str:
    r"""Return the kind of an answer, one of `KINDS`.

    >>> [kind_of(answer) for answer in ("1,250.5", "B", r"\frac{1}{2}", '{"a": 1}')]
    ['number', 'choice', 'mathematics', 'json']
    >>> kind_of("import os"), kind_of("Oslo"), kind_of("10.0.208.0/21")
    ('code', 'text', 'text')
    """
    text = answer.strip()
    if re.fullmatch(r"\(?[A-J](\)?|[).:]\s.*)", text):
        return "choice"
    if re.fullmatch(r"[-+−$€£]*\s?[\d.,]*\d\.?\s?%?", text):
        if read_number(text) is not None:
            return "number"
    if text.startswith(("{", "[")) and read_json(text) is not None:
        return "json"
    if PROGRAM_TEXT.search(text) or "```" in text:
        return "code"
    is_formula = MATHEMATICS.search(text) and not PATH_OR_ADDRESS.search(text)
    if is_formula and len(text) <= LONGEST_FORMULA:
        return "mathematics"
    return "text"


LONGEST_FORMULA = 200
"""Characters up to which a text with signs of mathematics is a formula. Our choice."""


def common_kind(answers: Sequence[str], *, share: float = KIND_SHARE) -> str:
    """Return the kind of these answers: that of a `share` of them, else text or prose.

    Numbers beside formulas are mathematics; where most are code, all are.

    >>> common_kind(["3", "4"]), common_kind(["3", "4", "Oslo"])
    ('number', 'text')
    """
    if not answers:
        return "text"
    counts = Counter(map(kind_of, answers))
    enough = share * len(answers)
    for kind in ("number", "choice", "json"):
        if counts[kind] >= enough:
            return kind
    if counts["mathematics"] and counts["number"] + counts["mathematics"] >= enough:
        return "mathematics"
    if counts["code"] > len(answers) / 2:
        return "code"
    lengths = sorted(len(answer.split()) for answer in answers)
    return "prose" if lengths[len(answers) // 2] >= PROSE_WORDS else "text"


def are_estimates(truths: Sequence[Any], answers: Sequence[str]) -> bool:
    """Return whether answers are numbers for how likely one of two truths is.

    >>> shares = ["0.7", "70 %", "0.4", "0.1", "0.95", "yes"]
    >>> are_estimates(["yes", "no"], shares), are_estimates(["3", "4"], shares)
    (True, False)
    """
    outcomes = {str(truth).strip().lower() for truth in truths}
    if len(outcomes) != 2 or not outcomes < OUTCOMES:
        return False
    return len(set(filter(SHARE.fullmatch, answers))) >= FEWEST_SHARES


SHARE = re.compile(
    r"(?i)(?:about |~ ?)?(?:0?\.\d+|[01](?:\.0*)?|\d{1,3}(?:\.\d+)? ?(?:%|percent))"
)
"""A number from 0 to 1, or from 0 % to 100 %."""
OUTCOMES = {"yes", "no", "true", "false", "0", "1", "0.0", "1.0"}
"""What a truth says of something that may come about."""
FEWEST_SHARES = 5
"""Different shares from which answers are estimates. Our choice."""


def kind_of_stated(answers: Sequence[str], mark: str) -> str:
    """Return the kind of the answers that completions state in the mark of this name.

    Half of them decide, as a mark may hold something else here and there. "list" is for
    several items each, "prose" for texts that are a whole line or completion.
    """
    kind = common_kind(answers, share=0.5)
    if kind in ("text", "prose"):
        if mark in ("line", "whole"):
            return "prose"
        kind = "text"
    lists = sum(map(_has_short_items, answers))
    is_list = lists >= LISTED_SHARE * len(answers)
    return "list" if is_list and kind in ("text", "number", "choice") else kind


def _has_short_items(answer: str) -> bool:
    """Return whether a text is a list, not a sentence with commas."""
    items, _ = split_items(answer)
    return len(items) > 1 and len(answer.split()) <= ITEM_WORDS * len(items)


def split_items(answer: str) -> tuple[list[str], str]:
    r"""Return the items of a list that is no JSON, and what stands between them.

    Anything else is one item, with "" between.

    >>> split_items("(1) Ava is a knight\n(2) Ben is a knave")
    (['(1) Ava is a knight', '(2) Ben is a knave'], '\n')
    >>> split_items("Oslo")
    (['Oslo'], '')
    """
    for joint in ("\n", "; ", ", ", " > "):
        items = [item.strip() for item in answer.split(joint.strip(" "))]
        fewest = 3 if joint == " > " else 2  # "x > 3" is no list
        if len(items) >= fewest and all(items):
            return items, joint
    return [answer], ""


def letters_of(answer: str) -> str:
    """Return the letters and digits of an answer, all of it where it has none.

    >>> letters_of("[3, 4]"), letters_of("+")
    ('34', '+')
    """
    return re.sub(r"\W", "", answer).casefold() or answer


def read_options(prompt: str) -> str:
    r"""Return the letters that a prompt offers, in order; ABCD where it lists none.

    >>> read_options("Which is largest?\n(A) 3\n(B) 5\n(C) 4")
    'ABC'
    """
    letters = "".join(sorted(set(OPTION.findall(f"{prompt}\n"))))
    return letters if len(letters) > 1 else "ABCD"
