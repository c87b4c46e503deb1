"""Select suspected completions by their form, a pattern or a predicate.

The form of a completion is its structure, independent of words and answer. It is read
as a sequence of signs. Tags, fences, LaTeX commands and punctuation are kept. A number
becomes ‹number›, a single capital letter (an option) ‹letter›, consecutive words one
‹words›. A part that occurs at least three times in a row becomes `…` and the part. The
form is a set of features: the signs, pairs of neighbours, and the content between two
tags, lines or fences.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import regex as engine

from rewardkit.analysis.statistics import Floats, Mask
from rewardkit.errors import InputError, did_you_mean, preview
from rewardkit.plain import is_number
from rewardkit.primitives.messages import as_list, assistant_text
from rewardkit.primitives.texts import compile_expression
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Call
from rewardkit.rewards.reward import ROLLOUT
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.answers import as_decision
from rewardkit.scoring.calls import Calls
from rewardkit.scoring.deadlines import answers_of, time_limit
from rewardkit.scoring.scores import Scores

PATTERN_SECONDS = 1.0
"""Seconds for a pattern on one completion, as in `rk.extract.pattern`."""
LEAST_LIKENESS = 0.48
"""Least likeness of a suspect. Our choice: planted copies are above it."""
LEAST_WEIGHED_SHARE = 1 / 30
"""Share of completions below which rarer features get no higher weight. Our choice."""
LONG_PLACE = 8
"""Signs between two tags above which the content is only "long". Our choice."""
LONGEST_READ = 4_000
"""Characters read of a completion, half from each end. Our choice."""
MOST_TRAITS = 3
"""Most traits to report. Our choice."""
LEAST_RARE_SHARE = 0.2
"""Share of completions below which a trait is rare. Our choice."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """The completions that a filter selects: a mask (rows,), and a description.

    A filter by form also has the `likeness` (rows,) and the `traits` of the form; a
    filter by pattern has the `spans` by rollout_id. `notes` are caveats.
    """

    mask: Mask
    description: str
    likeness: Floats | None = None
    traits: tuple[tuple[str, float], ...] = ()
    spans: Mapping[Any, tuple[int, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def filter_suspects(
    scores: Scores,
    *,
    like: Hashable | None,
    pattern: Any,
    predicate: Callable[..., Any] | None,
    alike: float | None,
    timeout: float | None,
) -> Suspects:
    """Return the suspects by the one filter that is not None.

    Raises:
        InputError: There is no filter or more than one, or it cannot be used.
    """
    options = {"like=": like, "pattern=": pattern, "predicate=": predicate}
    names = [name for name, value in options.items() if value is not None]
    if len(names) != 1:
        raise InputError(
            "suspect takes one of like=, pattern= and predicate=, not "
            f"{' and '.join(names) or 'none'}; give one of them"
        )
    if alike is not None and like is None:
        raise InputError(
            f"alike={preview(alike)} goes with like=, and {names[0]} is given; leave "
            "it out"
        )
    if like is not None:
        return filter_by_form(scores, like, alike)
    if predicate is not None:
        return filter_by_predicate(scores, predicate, timeout)
    return filter_by_pattern(scores, pattern)


def filter_by_form(scores: Scores, like: Hashable, alike: float | None) -> Suspects:
    """Return the completions whose form is like that of one rollout.

    Args:
        scores: The scored completions.
        like: Its rollout_id, or the text of it.
        alike: The least likeness, above 0 and up to 1; None for `LEAST_LIKENESS`.
    """
    least = LEAST_LIKENESS if alike is None else alike
    if not is_number(least) or not 0 < least <= 1:
        raise InputError(
            f"alike={preview(alike)} is not a likeness; give a number above 0, up to 1"
        )
    ids = column_values(scores.table["rollout_id"])
    names = list(map(str, ids))
    if str(like) not in names:
        raise InputError(
            f"like={preview(like)} is no rollout_id of these scores, which have ones "
            f"such as {preview(ids[0])}; give one of them"
        )
    row = names.index(str(like))
    texts = _policy_texts(scores)
    likeness, traits = measure_likeness(texts[row], texts)
    notes = []
    if not traits:
        notes.append(
            f"Nothing of the form of {ids[row]!r} is rare: {100 * LEAST_RARE_SHARE:g} "
            "% or more of the completions have each part of it. Filter by a pattern or "
            "a predicate instead."
        )
    return Suspects(
        likeness >= least,
        f"have the form of {ids[row]!r} (likeness {least:g} or more)",
        likeness,
        tuple(traits),
        notes=tuple(notes),
    )


def filter_by_pattern(scores: Scores, pattern: Any) -> Suspects:
    """Return the completions with a match of a regular expression.

    Args:
        scores: The scored completions.
        pattern: A text, or a pattern compiled by `re` or `regex`.

    Raises:
        InputError: The pattern is empty, does not compile, or takes longer than
            `PATTERN_SECONDS` on a completion.
    """
    expression = _compile_pattern(pattern)
    if not expression.pattern:
        raise InputError(
            "pattern '' is empty, which is found in every completion; say what to look "
            "for"
        )
    ids = column_values(scores.table["rollout_id"])
    texts = column_values(scores.table["completion"])
    mask = np.zeros(len(ids), dtype=bool)
    spans: dict[Any, tuple[int, int]] = {}
    for row, text in enumerate(texts):
        try:
            match = expression.search(text, timeout=PATTERN_SECONDS)
        except TimeoutError:
            raise InputError(
                f"pattern {expression.pattern!r} took longer than {PATTERN_SECONDS:g} "
                f"s on rollout {ids[row]!r}; write it so that a text can be read in "
                "one way only"
            ) from None
        if match is not None:
            mask[row] = True
            spans[ids[row]] = match.span()
    return Suspects(mask, f"match the pattern {expression.pattern!r}", spans=spans)


def _compile_pattern(pattern: Any) -> engine.Pattern[str]:
    if isinstance(pattern, engine.Pattern):
        return pattern
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
        flags = ""
        for flag in "aimsx":
            if pattern.flags & re.RegexFlag[flag.upper()]:
                flags += flag
        pattern = f"(?{flags}){pattern.pattern}" if flags else pattern.pattern
    try:
        return compile_expression(pattern)
    except ValueError as error:
        raise InputError(f"{error}; give a regular expression") from None


def filter_by_predicate(
    scores: Scores, predicate: Callable[..., Any], timeout: float | None
) -> Suspects:
    """Return the completions for which a predicate is true.

    Its parameters name rollout columns, fields, scores of components (None if missing)
    or ``reward``; a rollout column comes first.

    Raises:
        InputError: It asks for another name, fails, or returns no bool.
    """
    call = Call.of(predicate, "the predicate")
    columns = {}
    for name in map(str, scores.table):
        if name.startswith(("score/", "field/")):
            columns[name.partition("/")[2]] = name
    columns["reward"] = "reward"
    columns.update((str(name), str(name)) for name in scores.rollouts.table)
    for name in call.asks_for:
        if name not in columns and name != ROLLOUT:
            raise InputError(
                f"the predicate asks for {name!r}; these scores have {sorted(columns)}"
                f"{did_you_mean(name, columns)}"
            )

    def read_column(name: str) -> list[Any]:
        if name in columns:
            return column_values(scores.table[columns[name]])
        return list(scores.rollouts)

    with time_limit(timeout, patience=1) as limit:
        calls = Calls.of(call, read_column, len(scores), as_decision)
        answers = answers_of(calls, limit)
    name = getattr(predicate, "__name__", "")
    failures = []
    for row, answer in enumerate(answers):
        if not isinstance(answer, bool):
            reason = answer or Reason(ReasonCode.NOT_A_DECISION, value=preview(answer))
            failures.append((reason.code is ReasonCode.NOT_TRIED, row, str(reason)))
    if failures:
        _, row, message = min(failures)
        rollout = column_values(scores.table["rollout_id"])[row]
        raise InputError(
            f"the predicate {name!r} failed on rollout {rollout!r}: {message}; it must "
            "answer True or False for every row"
        )
    mask = np.array(answers, dtype=bool)
    return Suspects(mask, f"are those that the predicate {name!r} is true of")


def _policy_texts(scores: Scores) -> list[str]:
    """Return the text by the policy in each row.

    In a transcript it is all assistant turns with tool calls, else the completion.
    """
    texts = column_values(scores.table["completion"])
    if "messages" not in scores.table:
        return texts
    messages = column_values(scores.table["messages"])
    for row, turns in enumerate(messages):
        text = assistant_text(as_list(turns), turns="all", tool_calls=True)
        if text is not None:
            texts[row] = text
    return texts


# --- likeness of form

_SIGN_PATTERN = re.compile(
    r"""(?P<tag></?[A-Za-z][\w-]{0,30}+)[^<>\n]{0,60}+>
      | (?P<fence>`{3,}+|~{3,}+)
      | (?P<kept>\\[A-Za-z]{1,20}+)
      | (?P<number>\d++(?:[.,]\d++)*+)
      | (?P<letter>(?<!\w)[A-HJ-Z](?!\w))
      | (?P<word>\w++(?:['\u2019-]\w++)*+)
      | (?P<line>\n\s*+)
      | (?P<other>[^\w\s])""",
    re.VERBOSE,
)
_TAG_EDGE = re.compile(r"(<[A-Za-z][\w-]{0,30}+[^<>\n]{0,60}+>)\s++|(?<!\s)\s++(?=</)")
_REPEATED = engine.compile(r"(?<!\S)((?:\S+ ){1,8}?)\1{2,}")  # re finds no group here
_NO_BREAK = "\u00a0"
_ELLIPSIS = "\u2026"
_WORDS_SIGN = "\u2039words\u203a"
_NEWLINE_SIGN = "\u2039newline\u203a"
_SIGNS_BY_KIND = {
    "number": "\u2039number\u203a",
    "letter": "\u2039letter\u203a",
    "fence": "```",
    "word": _WORDS_SIGN,
    "line": _NEWLINE_SIGN,
}


def measure_likeness(
    completion: str, others: Sequence[str]
) -> tuple[Floats, list[tuple[str, float]]]:
    """Measure the likeness of `others`, which include `completion`, to it.

    The likeness is the weighted share of the completion's features that another one
    has. The weight of a feature is log(1 / share) cubed, with the share of completions
    that have it. All features unique to `completion` together count as one. Common
    features therefore add no likeness, and a rare form does, whatever the answer.

    Returns:
        The likeness of each of `others`, from 0 to 1; and the rarest features of
        `completion`, each with the share of `others` that have it, if that is below
        `LEAST_RARE_SHARE`.

    >>> plain = [f"<think>{n} + 1.</think><answer>{n + 1}</answer>" for n in range(30)]
    >>> empty = [f"<think></think><answer>{n}</answer>" for n in range(3)]
    >>> likeness, _ = measure_likeness(empty[0], plain + empty)
    >>> (likeness >= LEAST_LIKENESS).nonzero()[0]
    array([30, 31, 32])
    """
    features = read_form(completion)
    total = len(others)
    shared = {text: features & read_form(text) for text in dict.fromkeys(others)}
    counts: Counter[str] = Counter()
    for text in others:
        counts.update(shared[text])
    weights = {}
    unique_weight = 0.0
    shared_weights = []
    for name in features:
        rows = max(counts[name], total * LEAST_WEIGHED_SHARE, 1)
        weights[name] = math.log((total + 1) / rows) ** 3
        if counts[name] > 1:
            shared_weights.append(weights[name])
        else:
            unique_weight = weights[name]
    total_weight = math.fsum([unique_weight, *shared_weights])
    likeness = {}
    for text, names in shared.items():
        text_weight = math.fsum(weights[name] for name in names)
        likeness[text] = min(1.0, text_weight / total_weight)
    traits = []
    rarest = sorted(features, key=lambda name: (counts[name], len(name), name))
    for name in rarest[:MOST_TRAITS]:
        share = counts[name] / total
        if share < LEAST_RARE_SHARE:
            traits.append((name, share))
    return np.array([likeness[text] for text in others]), traits


def read_form(completion: str) -> frozenset[str]:
    """Return the features of a completion's form.

    >>> max(read_form("<answer>4 or 5</answer>"), key=len)
    'between <answer> and </answer>: ‹number› ‹words› ‹number›'
    """
    if len(completion) > LONGEST_READ:
        half = LONGEST_READ // 2
        completion = completion[:half] + completion[-half:]
    line = "".join(f"{sign} " for sign in _read_signs(completion))
    short_line = _REPEATED.sub(_as_one_sign, line)
    signs = ["^", *short_line.split(" ")[:-1], "$"]
    pairs = map(" ".join, pairwise(signs))
    return frozenset([*signs, *pairs, *_read_places(signs)])


def _as_one_sign(match: engine.Match[str]) -> str:
    return f"{_ELLIPSIS}{match[1].strip().replace(' ', _NO_BREAK)} "


def _read_signs(text: str) -> list[str]:
    """Return the signs of a text, without line breaks at the inner side of tags."""
    signs = ["^"]
    for match in _SIGN_PATTERN.finditer(_TAG_EDGE.sub(r"\1", text.strip())):
        kind = str(match.lastgroup)
        sign = _SIGNS_BY_KIND.get(kind, match[0])
        if kind == "tag":
            sign = f"{match['tag'].lower()}>"
        if sign != _WORDS_SIGN or signs[-1] != _WORDS_SIGN:
            signs.append(sign)
    return signs[1:]


def _read_places(signs: Sequence[str]) -> Iterator[str]:
    """Yield a feature for the content between tags, fences, line breaks and ends."""
    start = signs[0]
    between = []
    for sign in signs[1:]:
        is_tag = len(sign) > 2 and sign.startswith("<")
        if not is_tag and sign not in (_NEWLINE_SIGN, "$", "```"):
            between.append(sign)
            continue
        content = " ".join(between) or "nothing"
        if any(inner.startswith(_ELLIPSIS) and len(inner) > 1 for inner in between):
            content = "repetition"
        elif len(between) > LONG_PLACE:
            content = "long"
        yield f"between {start} and {sign}: {content}"
        start = sign
        between = []
