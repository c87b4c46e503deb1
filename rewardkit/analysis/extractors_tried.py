"""Other ways to read and to compare the answer, tried on the rollouts, with the rows that each would move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.changes import Change, why_not_run
from rewardkit.analysis.proposal import Found, Proposal
from rewardkit.analysis.proposals import READABLE, prediction_column
from rewardkit.analysis.view import View
from rewardkit.primitives import extract, verify
from rewardkit.primitives.extract import Extractor
from rewardkit.rewards.component import Component
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

__all__ = ["readings"]

LOOSER, STRICTER = ("starved", "sparse", "never earned"), ("saturated", "always earned")
EXAMPLES = 5
MOST_ROWS = 100_000
"""Rows up to which they are tried: a Python call a row and way. Our choice."""
TOLERANCE = 0.01  # relative: our choice
LETTERS = "ABCDE"

Kind = Literal["numbers", "letters", "text"]


@dataclass(frozen=True)
class Way:
    """Another extractor or verifier: what it is called, the code that makes it, and itself."""

    what: str
    code: str
    function: Callable[..., Any]


def readings(view: View, scores: Scores, codes: Found) -> tuple[list[Proposal], list[str]]:
    """Proposals for a primary component that is hardly, or nearly always, earned; and why some are left out.

    Each has its rows that would move, and up to five of them to read. Ways that move no row are left out, and
    those that move the same rows to the same scores as a simpler one.
    """
    name = view.primary
    item = view.components[name]
    fault = _fault(view, codes)
    if not fault:
        return [], []
    looser = fault in LOOSER
    who = f"other extractors and verifiers for {name!r} are not tried: "
    source = prediction_column(scores, item)
    if source is None:
        return [], [who + "it does not compare one column with 'ground_truth'"]
    asked = source.removeprefix("field/")
    if reason := why_not_run(scores.reward, {name}) or why_not_run(scores.reward, {asked, name}):
        return [], [who + reason]
    if len(scores) > MOST_ROWS:
        return [], [who + f"{len(scores):,} rows are many to run; diagnose a sample of {MOST_ROWS:,}"]
    kind = _kind(scores)
    tried = [
        *_extractors(view, asked, looser, kind),
        *_verifiers(item, asked, looser, kind),
    ]
    found, seen = [], [scores.score(name)]
    for way, change, line in tried:
        changed = change.of_scores(scores)
        if any(np.array_equal(changed.score(name), other, equal_nan=True) for other in seen):
            continue
        proposal = _proposal(view, scores, changed, source, fault, way, change, line)
        if proposal.more["rows_up" if looser else "rows_down"] or proposal.more["rows_judged"]:
            seen.append(changed.score(name))
            found.append(proposal)
    if tried and not found:
        ways = ", ".join(way.what for way, _, _ in tried)
        return [], [f"{'looser' if looser else 'stricter'} ways to judge {name!r} move no row: tried {ways}"]
    return found, []


def _fault(view: View, codes: Found) -> str:
    """What is wrong with the primary component, in words; "" where it is neither rare nor nearly sure."""
    told = next((code for code in (*LOOSER, *STRICTER) if (code, view.primary) in codes), "")
    if told or ("constant", view.primary) not in codes or view.components[view.primary].range is None:
        return told
    value = np.nanmax(view.scores[view.primary])
    ends = dict(zip(view.span(view.primary), ("never earned", "always earned"), strict=True))
    return ends.get(float(value), "")


def _kind(scores: Scores) -> Kind:
    """What the truths are: mostly numbers, mostly letters of a choice, or texts."""
    truths = [value for value in column_values(scores.table["ground_truth"]) if value is not None]
    if not truths:
        return "text"
    readable = sum(verify.read_number(value) is not None for value in truths)
    letters = sum(str(value).strip().upper() in tuple(LETTERS) for value in truths)
    if readable >= READABLE * len(truths):
        return "numbers"
    return "letters" if letters >= READABLE * len(truths) else "text"


Tried = tuple[Way, Change, str]


def _extractors(view: View, asked: str, looser: bool, kind: Kind) -> Iterator[Tried]:
    """Other extractors for the field that the component compares."""
    current = view.reward.fields.get(asked)
    if current is None:
        return
    now = f'reward.fields["{asked}"]'
    ways = _looser_extractors(current, now, kind) if looser else _stricter_extractors(current, now, kind)
    for way in ways:
        change = Change(fields={asked: way.function})
        yield way, change, f'replace(reward, fields={{**reward.fields, "{asked}": {way.code}}})'


def _looser_extractors(current: Callable[..., Any], now: str, kind: Kind) -> Iterator[Way]:
    """The one that is there with more behind it, then others in its place; the simplest first."""
    plain = [
        ("answer_phrase()", extract.answer_phrase()),
        ("boxed()", extract.boxed()),
        *([("number()", extract.number())] if kind == "numbers" else []),
        *([(f'choice("{LETTERS}")', extract.choice(LETTERS))] if kind == "letters" else []),
    ]
    if not isinstance(current, Extractor) or isinstance(current, extract.every):
        for code, extractor in plain:
            yield Way(code, f"rk.extract.{code}", extractor)
        return
    if isinstance(current, extract.tag) and not current.unclosed:
        yield Way("an unclosed tag", f"replace({now}, unclosed=True)", replace(current, unclosed=True))
    if kind == "numbers":
        inner = extract.within(current, extract.number())
        code = f"rk.extract.first_of(rk.extract.within({now}, rk.extract.number()), {now})"
        yield Way("the last number in it", code, extract.first_of(inner, current))
    for code, extractor in plain:
        whole = f"rk.extract.first_of({now}, rk.extract.{code})"
        yield Way(f"or else {code}", whole, extract.first_of(current, extractor))
    if kind == "numbers":
        yield Way("number(), the last anywhere", "rk.extract.number()", extract.number())


def _stricter_extractors(current: Callable[..., Any], now: str, kind: Kind) -> Iterator[Way]:
    if isinstance(current, extract.first_of) and len(current.extractors) > 1:
        yield Way("only the first of its extractors", f"{now}.extractors[0]", current.extractors[0])
    if isinstance(current, extract.tag) and current.unclosed:
        yield Way("only a closed tag", f"replace({now}, unclosed=False)", replace(current, unclosed=False))
    if type(current) is type(extract.number()) and kind == "numbers":
        code = "rk.extract.within(rk.extract.answer_phrase(), rk.extract.number())"
        yield Way(
            "a number in an answer phrase", code, extract.within(extract.answer_phrase(), extract.number())
        )


def _verifiers(item: Component, asked: str, looser: bool, kind: Kind) -> Iterator[Tried]:
    """Other verifiers for the component, which take what it takes."""
    base, bound = _unbound(item.function)
    ways = _looser_verifiers(base, kind) if looser else _stricter_verifiers(base, bound, kind)
    columns = None if asked == "prediction" else {"prediction": asked}
    same = {"columns": columns, "range": (0.0, 1.0), "batch": False, "group": False}
    for way in ways:
        others = {name: value for name, value in same.items() if getattr(item, name) != value}
        if not item.columns and columns is None:
            others.pop("columns", None)
        change = Change(components={item.name: {"function": way.function, **others}})
        told = ", ".join([f"function={way.code}", *(f"{name}={value!r}" for name, value in others.items())])
        line = (
            f"replace(reward, components=[replace(item, {told}) "
            f'if item.name == "{item.name}" else item for item in reward.components])'
        )
        yield way, change, line


def _unbound(function: Any) -> tuple[Any, bool]:
    """The function inside of partials, and whether there were any."""
    bound = False
    while isinstance(function, partial):
        function, bound = function.func, True
    return function, bound


def _way(name: str) -> Way:
    return Way(name, f"rk.verify.{name}", getattr(verify, name))


def _looser_verifiers(base: Any, kind: Kind) -> Iterator[Way]:
    own = [verify.numbers_equal, verify.math_equal, verify.matches, verify.choice_equal]
    names = {
        "numbers": ("numbers_equal", "math_equal"),
        "letters": ("choice_equal",),
        "text": ("matches", "math_equal"),
    }[kind]
    yield from (_way(name) for name in names if getattr(verify, name) is not base)
    if kind == "numbers" and base in own[:2]:
        yield Way(
            f"numbers_equal within {TOLERANCE:g}",
            f"partial(rk.verify.numbers_equal, relative={TOLERANCE})",
            partial(verify.numbers_equal, relative=TOLERANCE),
        )


def _stricter_verifiers(base: Any, bound: bool, kind: Kind) -> Iterator[Way]:
    """Without a tolerance, by value, and to the letter."""
    loose = base in (verify.contains, verify.f1, verify.closeness, verify.math_equal)
    if kind == "numbers" and (loose or (base is verify.numbers_equal and bound)):
        yield _way("numbers_equal")
    if kind != "numbers" and (loose or (base is verify.matches and bound)):
        yield _way("matches")
    yield Way(
        "the same characters", "partial(rk.verify.matches, exact=True)", partial(verify.matches, exact=True)
    )


def _proposal(
    view: View,
    before: Scores,
    after: Scores,
    source: str,
    fault: str,
    way: Way,
    change: Change,
    line: str,
) -> Proposal:
    name = view.primary
    old, new = before.score(name), after.score(name)
    known, both = ~np.isnan(old), ~np.isnan(old) & ~np.isnan(new)
    up, down, judged = both & (new > old), known & ~(new >= old), ~known & ~np.isnan(new)
    looser = fault in LOOSER
    kinds = (up, judged, down) if looser else (down, judged, up)
    rows = [row for kind in kinds for row in _spread(kind)][:EXAMPLES]
    told = f"{int(up.sum())} {'row earns' if up.sum() == 1 else 'rows earn'} more, {int(down.sum())} less"
    if judged.any():
        count, earn = int(judged.sum()), int((new[judged] > 0).sum())
        told += (
            f", and {count} {'is' if count == 1 else 'are'} judged that {'was' if count == 1 else 'were'} not"
        )
        told += f" ({earn} {'earns' if earn == 1 else 'earn'} it)"
    risk = "a looser way may pay for what is wrong" if looser else "a stricter way may miss what is right"
    why = f"{name!r} is {fault}; judged by {way.what} {told}: read the examples, as {risk}"
    more = {"rows_up": int(up.sum()), "rows_down": int(down.sum()), "rows_judged": int(judged.sum())}
    examples = tuple(_example(before, after, source, name, row) for row in rows)
    code = "looser_reading" if looser else "stricter_reading"
    return Proposal(code, name, line, why, change, after, more=more, examples=examples)


def _spread(rows: NDArray[np.bool_]) -> list[int]:
    """A few of these rows, spread over all of them."""
    at = np.flatnonzero(rows)
    places = np.unique(np.linspace(0, max(len(at) - 1, 0), min(EXAMPLES, len(at))).astype(int))
    return [int(at[place]) for place in places]


def _example(before: Scores, after: Scores, source: str, name: str, row: int) -> dict[str, Any]:
    """What was compared with the truth before and after, and what it earned."""
    return {
        "rollout_id": _plain(before.table["rollout_id"].iloc[row]),
        "old": _plain(before.table[source].iloc[row]),
        "new": _plain(after.table[source].iloc[row]),
        "ground_truth": _plain(before.table["ground_truth"].iloc[row]),
        "score_before": float(before.score(name)[row]),
        "score_after": float(after.score(name)[row]),
    }


def _plain(value: Any) -> Any:
    """A value of numpy's as Python's own."""
    return value.item() if isinstance(value, np.generic) else value
