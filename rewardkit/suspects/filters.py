"""Filters: which completions are suspected, by their form, by a pattern, or by a predicate."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import regex as engine
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Floats
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
from rewardkit.suspects.likeness import ALIKE, RARE_TRAIT, likeness

SECONDS = 1.0
"""That a pattern may be searched in one completion, as in `rk.extract.pattern`."""


@dataclass(frozen=True, eq=False)
class Filtered:
    """The suspects: `found` (rows,), and `what` they do, in words.

    Of those `like` another the `likeness` (rows,) and its `traits`; of a pattern the `spans` by rollout_id.
    `notes` say what to be careful with.
    """

    found: NDArray[np.bool_]
    what: str
    likeness: Floats | None = None
    traits: tuple[tuple[str, float], ...] = ()
    spans: Mapping[Any, tuple[int, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def like(scores: Scores, rollout: Hashable, alike: float | None) -> Filtered:
    """The completions whose form is like that of one rollout_id, which may be given as text."""
    alike = ALIKE if alike is None else alike
    if (
        isinstance(alike, bool)
        or not isinstance(alike, int | float)
        or not 0 < alike <= 1
    ):
        raise InputError(
            f"alike={preview(alike)} is not a likeness; give a number above 0, up to 1"
        )
    ids = column_values(scores.table["rollout_id"])
    places = {str(one): row for row, one in reversed(list(enumerate(ids)))}
    if (at := places.get(str(rollout))) is None:
        raise InputError(
            f"like={preview(rollout)} is no rollout_id of these scores, which have ones such as "
            f"{preview(ids[0])}; give one of them"
        )
    texts = _spoken(scores)
    found = likeness(texts[at], texts)
    what = f"have the form of {ids[at]!r} (likeness {alike:g} or more)"
    common = (
        f"Nothing of the form of {ids[at]!r} is rare: {100 * RARE_TRAIT:g} % or more of the completions have "
        "each part of it. Filter by a pattern or a predicate instead.",
    )
    return Filtered(
        found.values >= alike,
        what,
        found.values,
        found.traits,
        notes=() if found.traits else common,
    )


def _spoken(scores: Scores) -> list[str]:
    """What the policy wrote in each row: of a transcript its turns with their calls, else the completion."""
    texts = column_values(scores.table["completion"])
    if "messages" not in scores.table:
        return texts
    turns = map(as_list, column_values(scores.table["messages"]))
    told = (assistant_text(some, turns="all", tool_calls=True) for some in turns)
    return [
        text if said is None else said for text, said in zip(texts, told, strict=True)
    ]


def with_pattern(scores: Scores, pattern: Any) -> Filtered:
    """The completions in which a regular expression, a text or one compiled by `re`, is found.

    InputError: it is empty, does not compile, or takes longer than `SECONDS` on one of them.
    """
    if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
        flags = "".join(
            flag for flag in "aimsx" if pattern.flags & re.RegexFlag[flag.upper()]
        )
        pattern = f"(?{flags}){pattern.pattern}" if flags else pattern.pattern
    if isinstance(pattern, engine.Pattern):
        expression = pattern
    else:
        try:
            expression = compiled(pattern)
        except ValueError as error:
            raise InputError(f"{error}; give a regular expression") from None
    if not expression.pattern:
        raise InputError(
            "pattern '' is empty, which is found in every completion; say what to look for"
        )
    spans: dict[Any, tuple[int, int]] = {}
    ids = column_values(scores.table["rollout_id"])
    for one, text in zip(ids, column_values(scores.table["completion"]), strict=True):
        try:
            match = expression.search(text, timeout=SECONDS)
        except TimeoutError:
            raise InputError(
                f"pattern {expression.pattern!r} took longer than {SECONDS:g} s on rollout {one!r}; "
                "write it so that a text can be read in one way only"
            ) from None
        if match is not None:
            spans[one] = match.span()
    found = np.array([one in spans for one in ids], dtype=bool)
    return Filtered(found, f"match the pattern {expression.pattern!r}", spans=spans)


def with_predicate(
    scores: Scores, predicate: Callable[..., Any], timeout: float | None
) -> Filtered:
    """The completions of which a predicate is true.

    It asks by parameter name for rollout columns, then for fields, scores of components (``None`` where
    missing) and ``reward``. InputError: it asks for another, fails, or answers with no bool.
    """
    call = Call.read(predicate, "the predicate")
    own = [
        str(name) for name in scores.table if str(name).startswith(("score/", "field/"))
    ]
    places = {name.partition("/")[2]: name for name in own} | {"reward": "reward"}
    places |= {str(name): str(name) for name in scores.rollouts.table}
    for name in call.asks_for:
        if name not in places and name != ROLLOUT:
            raise InputError(
                f"the predicate asks for {name!r}; these scores have {sorted(places)}"
                f"{did_you_mean(name, places)}"
            )

    def column(name: str) -> list[Any]:
        return (
            column_values(scores.table[places[name]])
            if name in places
            else list(scores.rollouts)
        )

    with time_limit(timeout, patience=1) as limit:
        answers = answers_of(Calls.of(call, column, len(scores), _verdict), limit)
    told = f"the predicate {getattr(predicate, '__name__', '')!r}"
    failed = [
        (row, answer)
        for row, answer in enumerate(answers)
        if isinstance(answer, Reason)
    ]
    if failed:
        tried = [item for item in failed if item[1].code is not ReasonCode.NOT_TRIED]
        row, reason = [*tried, *failed][0]
        rollout = column_values(scores.table["rollout_id"])[row]
        raise InputError(
            f"{told} failed on rollout {rollout!r}: {reason}; it must answer True or False for "
            "every row"
        )
    return Filtered(np.array(answers, dtype=bool), f"are those that {told} is true of")


def _verdict(answer: Any) -> bool | Reason:
    """What a predicate answered, which must be a bool."""
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    if isinstance(answer, Reason):
        return answer
    return Reason(ReasonCode.NOT_A_DECISION, value=preview(answer))
