"""Sought: which completions are suspected, by their form, by a pattern, or by a predicate."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import regex as engine
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from rewardkit.analysis.grouping import Floats
from rewardkit.errors import InputError, did_you_mean, preview
from rewardkit.primitives.expressions import compiled
from rewardkit.probes.suspects.likeness import ALIKE, RARE_TRAIT, likeness
from rewardkit.rewards.plan import ROLLOUT
from rewardkit.rewards.signature import Call
from rewardkit.rollouts.values import column_values, present
from rewardkit.scoring.calls import Calls, Failure
from rewardkit.scoring.deadlines import UNTRIED, answers_of, time_limit
from rewardkit.scoring.scores import Scores

__all__ = ["Sought", "like", "with_pattern", "with_predicate"]

SECONDS = 1.0
"""That a pattern may be searched in one completion, as in `rk.extract.pattern`."""
SHARED_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE
"""Flags that `re` and `regex` write alike."""
SHOWN_FLAGS = SHARED_FLAGS | re.ASCII
_NUMBER = re.compile(r"\s*[-+]?\d+(\.\d*)?\s*")


@dataclass(frozen=True, eq=False)
class Sought:
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


def like(scores: Scores, rollout: Hashable, alike: float | None) -> Sought:
    """The completions whose form is like that of one rollout_id; InputError: there is none of the id."""
    alike = ALIKE if alike is None else alike
    if isinstance(alike, bool) or not isinstance(alike, int | float) or not 0 < alike <= 1:
        raise InputError(f"alike={preview(alike)} is not a likeness; give a number above 0, up to 1")
    ids = column_values(scores.table["rollout_id"])
    written = [str(one) for one in ids]  # a number is a text on the command line
    at = next((row for row, one in enumerate(ids) if one == rollout), None)
    if at is None and str(rollout) in written:
        at = written.index(str(rollout))
    if at is None:
        near = (
            None
            if _NUMBER.fullmatch(str(rollout))
            else process.extractOne(str(rollout), written, scorer=fuzz.ratio)
        )  # of numbers none is meant because it has the same digits
        raise InputError(
            f"like={preview(rollout)} is no rollout_id of these scores, which has ones such as "
            f"{preview(ids[0])}"
            f"{did_you_mean(str(rollout), [near[0]] if near else []) or '; give one of them'}"
        )
    texts = column_values(scores.table["completion"])
    found = likeness(texts[at], texts)
    what = f"have the form of {ids[at]!r} (a likeness of {alike:g} or more)"
    common = (
        f"nothing of the form of {ids[at]!r} is rare (all of it is that of {RARE_TRAIT:.0%} or more of the "
        "completions), so that likeness hardly tells it from others; say with a pattern or a predicate "
        "what is suspected"
    ).replace("%", " %")
    return Sought(
        found.values >= alike, what, found.values, found.traits, notes=() if found.traits else (common,)
    )


def with_pattern(scores: Scores, pattern: Any) -> Sought:
    """The completions in which a regular expression is found.

    InputError: it is empty, does not compile, or takes longer than `SECONDS` on one of them.
    """
    expression = _compiled(pattern)
    if not expression.pattern:
        raise InputError("pattern '' is empty, which is found in every completion; say what to look for")
    ids, spans = column_values(scores.table["rollout_id"]), {}
    found = np.zeros(len(scores), dtype=bool)
    for row, text in enumerate(column_values(scores.table["completion"])):
        try:
            match = expression.search(text, timeout=SECONDS)
        except TimeoutError:
            raise InputError(
                f"pattern {expression.pattern!r} took longer than {SECONDS:g} s on rollout {ids[row]!r}; "
                "write it so that a text can be read in one way only"
            ) from None
        if match is not None:
            found[row], spans[ids[row]] = True, match.span()
    flags = [flag.name for flag in re.RegexFlag if flag in SHOWN_FLAGS and expression.flags & flag]
    flags = [] if isinstance(pattern, str) else flags  # a text has its flags in it
    told = f" with {', '.join(map(str, flags))}" if flags else ""
    return Sought(found, f"match the pattern {expression.pattern!r}{told}", spans=spans)


def _compiled(pattern: Any) -> Any:
    """The pattern as the engine that can be stopped has it."""
    if isinstance(pattern, re.Pattern | engine.Pattern) and not isinstance(pattern.pattern, str):
        raise InputError(f"pattern {pattern.pattern!r} is of bytes; give one of text")
    if isinstance(pattern, engine.Pattern):
        return pattern
    try:
        if not isinstance(pattern, re.Pattern):
            return compiled(pattern)
        flags = pattern.flags & SHARED_FLAGS | (engine.ASCII if pattern.flags & re.ASCII else 0)
        return engine.compile(pattern.pattern, int(flags))
    except (ValueError, engine.error) as error:
        raise InputError(f"{error}; give a regular expression") from None


def with_predicate(scores: Scores, predicate: Callable[..., Any], timeout: float | None) -> Sought:
    """The completions of which a predicate is true.

    It asks by parameter name for rollout columns, then for fields, scores of components (``None`` where
    missing) and ``reward``. InputError: it asks for another, fails, or answers with no bool.
    """
    call = Call.read(predicate, "the predicate")
    own = [str(name) for name in scores.table if str(name).startswith(("score/", "field/"))]
    places = {name.partition("/")[2]: name for name in own} | {"reward": "reward"}
    places |= {str(name): str(name) for name in scores.rollouts.table}
    for name in call.asks_for:
        if name not in places and name != ROLLOUT:
            raise InputError(
                f"the predicate asks for {name!r}; these scores have {sorted(places)}"
                f"{did_you_mean(name, places)}"
            )

    def column(name: str) -> list[Any]:
        return column_values(scores.table[places[name]]) if name in places else list(scores.rollouts)

    name = str(getattr(predicate, "__name__", "<"))
    name = "" if name.startswith("<") else f" {name!r}"
    with time_limit(timeout, patience=1) as limit:
        answers = answers_of(Calls.of(call, column, len(scores), _verdict), limit)
    failed = [(row, answer) for row, answer in enumerate(answers) if isinstance(answer, Failure)]
    if failed:
        row, answer = min(failed, key=lambda item: UNTRIED in item[1].message)  # the first that was tried
        rollout = present(scores.table["rollout_id"].iloc[row])
        raise InputError(
            f"the predicate{name} failed on rollout {rollout!r}: {answer.message}; it must answer True "
            "or False for every row"
        )
    return Sought(np.array(answers, dtype=bool), f"are those that the predicate{name} is true of")


def _verdict(answer: Any) -> bool | Failure:
    """What a predicate answered, which must be a bool."""
    if isinstance(answer, bool | np.bool_):
        return bool(answer)
    return answer if isinstance(answer, Failure) else Failure(f"returned {preview(answer)}")
