"""Filters: which completions are suspected, by their form, a pattern or a predicate."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import regex as engine
from numpy.typing import NDArray

from rewardkit.analysis.statistics import Floats
from rewardkit.errors import InputError, did_you_mean, preview
from rewardkit.primitives.expressions import compiled
from rewardkit.primitives.messages import as_list, assistant_text
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.reward import ROLLOUT
from rewardkit.rewards.signature import Call
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.calls import Calls
from rewardkit.scoring.deadlines import answers_of, time_limit
from rewardkit.scoring.scores import Scores
from rewardkit.suspects.likeness import (
    LEAST_LIKENESS,
    LEAST_RARE_SHARE,
    measure_likeness,
)

PATTERN_SECONDS = 1.0
"""Time for a pattern in one completion, as in `rk.extract.pattern`."""


@dataclass(frozen=True, eq=False)
class Suspects:
    """The completions that a filter takes: a mask (rows,), and what they do in words.

    Of those like another one the `likeness` (rows,) and its `traits`; of a pattern the
    `spans` by rollout_id. `notes` say what to be careful with.
    """

    mask: NDArray[np.bool_]
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
        like: Its rollout_id, which may be given as text.
        alike: The least likeness, above 0 and up to 1; None for the usual one.
    """
    least = LEAST_LIKENESS if alike is None else alike
    is_number = isinstance(least, int | float) and not isinstance(least, bool)
    if not is_number or not 0 < least <= 1:
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
    likeness = measure_likeness(texts[row], texts)
    notes: tuple[str, ...] = ()
    if not likeness.traits:
        notes = (
            f"Nothing of the form of {ids[row]!r} is rare: {100 * LEAST_RARE_SHARE:g} "
            "% or more of the completions have each part of it. Filter by a pattern or "
            "a predicate instead.",
        )
    return Suspects(
        likeness.values >= least,
        f"have the form of {ids[row]!r} (likeness {least:g} or more)",
        likeness.values,
        likeness.traits,
        notes=notes,
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
    text = pattern
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
        flags = ""
        for flag in "aimsx":
            if pattern.flags & re.RegexFlag[flag.upper()]:
                flags += flag
        text = f"(?{flags}){pattern.pattern}" if flags else pattern.pattern
    try:
        return compiled(text)
    except ValueError as error:
        raise InputError(f"{error}; give a regular expression") from None


def filter_by_predicate(
    scores: Scores, predicate: Callable[..., Any], timeout: float | None
) -> Suspects:
    """Return the completions for which a predicate is true.

    It asks by parameter name for rollout columns, then for fields, scores of components
    (None where missing) and ``reward``.

    Raises:
        InputError: It asks for another name, fails, or answers with no bool.
    """
    call = Call.read(predicate, "the predicate")
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
        calls = Calls.of(call, read_column, len(scores), _read_answer)
        answers = answers_of(calls, limit)
    name = getattr(predicate, "__name__", "")
    failures = []
    for row, answer in enumerate(answers):
        if isinstance(answer, Reason):
            is_untried = answer.code is ReasonCode.NOT_TRIED
            failures.append((is_untried, row, str(answer)))
    if failures:
        _, row, message = min(failures)
        rollout = column_values(scores.table["rollout_id"])[row]
        raise InputError(
            f"the predicate {name!r} failed on rollout {rollout!r}: {message}; it must "
            "answer True or False for every row"
        )
    mask = np.array(answers, dtype=bool)
    return Suspects(mask, f"are those that the predicate {name!r} is true of")


def _read_answer(answer: Any) -> bool | Reason:
    """Return the bool that a predicate answered, or the reason why there is none."""
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    if isinstance(answer, Reason):
        return answer
    return Reason(ReasonCode.NOT_A_DECISION, value=preview(answer))


def _policy_texts(scores: Scores) -> list[str]:
    """Return what the policy wrote in each row.

    Of a transcript its turns with their calls, else the completion.
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
