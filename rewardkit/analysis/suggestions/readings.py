"""Rules that read or compare the answer in another way, with the rows that each would move."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rewardkit.analysis.suggestions.change import Change, applied, why_not_run
from rewardkit.analysis.suggestions.proposal import Proposal, Proposed, told
from rewardkit.analysis.suggestions.reward_changes import READABLE, prediction_column
from rewardkit.analysis.view import View
from rewardkit.findings import Finding
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
SHOWN_BY = 0.2
"""Share of the unpaid completions with the truth in which the same words must stand before it. Our choice."""
LONGEST_WORDS = 24  # characters before the truth, on its line
LONGEST_TRUTH = 80

Kind = Literal["numbers", "letters", "text"]
Way = tuple[str, Any]
"""What it is called, and the extractor or verifier."""


def readings(view: View, scores: Scores, findings: Collection[Finding]) -> Proposed:
    """Proposals for a primary component that is hardly, or nearly always, earned.

    Each has its rows that would move, and up to five of them to read. Ways that move no row are left out, and
    those that move the same rows to the same scores as a simpler one.
    """
    name = view.primary
    item, fault = view.components[name], _fault(view, findings)
    if not fault:
        return
    who = f"other extractors and verifiers for {name!r} are not tried: "
    source = prediction_column(scores, item)
    if source is None:
        yield who + "it does not compare one column with 'ground_truth'"
        return
    asked = source.removeprefix("field/")
    if reason := why_not_run(scores.reward, {name}) or why_not_run(scores.reward, {asked, name}):
        yield who + reason
        return
    if len(scores) > MOST_ROWS:
        yield f"{who}{len(scores):,} rows are many to run; diagnose a sample of {MOST_ROWS:,}"
        return
    looser, kind = fault in LOOSER, _kind(scores)
    tried = [*_extractors(view, scores, asked, looser, kind), *_verifiers(item, asked, looser, kind)]
    seen, moved = [scores.score(name)], False
    for what, change in tried:
        changed = applied(change, scores)
        if any(np.array_equal(changed.score(name), other, equal_nan=True) for other in seen):
            continue
        found = _proposal(view, scores, changed, source, fault, what, change)
        if found.after["rows_up" if looser else "rows_down"] or found.after["rows_judged"]:
            seen.append(changed.score(name))
            moved = True
            yield found
    if tried and not moved:
        ways = ", ".join(what for what, _ in tried)
        yield f"{'looser' if looser else 'stricter'} ways to judge {name!r} move no row: tried {ways}"


def _fault(view: View, findings: Collection[Finding]) -> str:
    """What is wrong with the primary component, in words; "" where it is neither rare nor nearly sure."""
    known = next((code for code in (*LOOSER, *STRICTER) if told(findings, code, view.primary)), "")
    constant = told(findings, "constant", view.primary)
    if known or not constant or view.components[view.primary].range is None:
        return known
    value = np.nanmax(view.scores[view.primary])
    return dict(zip(view.span(view.primary), ("never earned", "always earned"), strict=True)).get(
        float(value), ""
    )


def _kind(scores: Scores) -> Kind:
    """What the truths are: mostly numbers, mostly letters of a choice, or texts."""
    truths = [value for value in column_values(scores.table["ground_truth"]) if value is not None]
    readable = sum(verify.read_number(value) is not None for value in truths)
    letters = sum(str(value).strip().upper() in tuple(LETTERS) for value in truths)
    if truths and readable >= READABLE * len(truths):
        return "numbers"
    return "letters" if truths and letters >= READABLE * len(truths) else "text"


def _extractors(
    view: View, scores: Scores, asked: str, looser: bool, kind: Kind
) -> Iterator[tuple[str, Change]]:
    """Other extractors for the field that the component compares."""
    current = view.reward.fields.get(asked)
    if current is not None:
        ways = _looser_extractors(current, kind, _shown(scores, view)) if looser else _stricter(current, kind)
        for what, function in ways:
            yield what, Change(fields={asked: function})


def _looser_extractors(current: Callable[..., Any], kind: Kind, shown: Extractor | None) -> Iterator[Way]:
    """The one that is there with more behind it, then others in its place; the simplest first."""
    plain: list[Way] = [("answer_phrase()", extract.answer_phrase()), ("boxed()", extract.boxed())]
    plain += [("number()", extract.number())] if kind == "numbers" else []
    plain += [(f'choice("{LETTERS}")', extract.choice(LETTERS))] if kind == "letters" else []
    plain += [("what stands around the truth in unpaid completions", shown)] if shown else []
    if not isinstance(current, Extractor) or isinstance(current, extract.every):
        yield from plain
        return
    if isinstance(current, extract.tag) and not current.unclosed:
        yield "an unclosed tag", replace(current, unclosed=True)
    if kind == "numbers":
        inner = extract.within(current, extract.number())
        yield "the last number in it", extract.first_of(inner, current)
    for what, extractor in plain:
        yield f"or else {what}", extract.first_of(current, extractor)
    if kind == "numbers":
        yield "number(), the last anywhere", extract.number()


def _shown(scores: Scores, view: View) -> Extractor | None:
    """What reads the answer by the words that stand before the truth in the completions that went unpaid."""
    before: Counter[str] = Counter()
    named = 0
    low = view.span(view.primary)[0]
    texts, truths = scores.table["completion"], column_values(scores.table["ground_truth"])
    unpaid = ~(view.scores[view.primary] > low)
    for row in np.flatnonzero(unpaid).tolist():
        truth = str(truths[row]).strip()
        at = texts.iloc[row].rfind(truth) if 0 < len(truth) <= LONGEST_TRUTH else -1
        if at < 0:
            continue
        named += 1
        line = texts.iloc[row][max(0, at - LONGEST_WORDS) : at].rsplit("\n", 1)[-1]
        if found := re.search(r"[^\d\s][^\d]*$", line):
            before.update({found[0][start:] for start in _word_starts(found[0])})
    common = [
        words for words, count in before.items() if count >= SHOWN_BY * named and len(words.strip()) > 2
    ]
    if not common:
        return None
    words = max(common, key=lambda words: (before[words], len(words)))
    return extract.pattern(re.escape(words) + r"\s*(\S[^\n]*?)\s*[.!*]*\s*(?:\n|$)")


def _word_starts(text: str) -> list[int]:
    return [found.start() for found in re.finditer(r"(?<!\w)\w|[^\w\s]+", text)]


def _stricter(current: Callable[..., Any], kind: Kind) -> Iterator[Way]:
    if isinstance(current, extract.first_of) and len(current.extractors) > 1:
        yield "only the first of its extractors", current.extractors[0]
    if isinstance(current, extract.tag) and current.unclosed:
        yield "only a closed tag", replace(current, unclosed=False)
    if type(current) is type(extract.number()) and kind == "numbers":
        yield "a number in an answer phrase", extract.within(extract.answer_phrase(), extract.number())


def _verifiers(item: Component, asked: str, looser: bool, kind: Kind) -> Iterator[tuple[str, Change]]:
    """Other verifiers for the component, which take what it takes."""
    base, bound = item.function, isinstance(item.function, partial)
    while isinstance(base, partial):
        base = base.func
    columns = None if asked == "prediction" else {"prediction": asked}
    same = {"columns": columns, "range": (0.0, 1.0), "batch": False, "group": False}
    others = {name: value for name, value in same.items() if getattr(item, name) != value}
    if not item.columns and columns is None:
        others.pop("columns", None)
    for what, function in _looser_verifiers(base, kind) if looser else _stricter_verifiers(base, bound, kind):
        yield what, Change(components={item.name: {"function": function, **others}})


def _looser_verifiers(base: Any, kind: Kind) -> Iterator[Way]:
    names = {
        "numbers": ("numbers_equal", "math_equal"),
        "letters": ("choice_equal",),
        "text": ("matches", "math_equal"),
    }
    yield from ((name, getattr(verify, name)) for name in names[kind] if getattr(verify, name) is not base)
    if kind == "numbers" and base in (verify.numbers_equal, verify.math_equal):
        yield f"numbers_equal within {TOLERANCE:g}", partial(verify.numbers_equal, relative=TOLERANCE)


def _stricter_verifiers(base: Any, bound: bool, kind: Kind) -> Iterator[Way]:
    """Without a tolerance, by value, and to the letter."""
    loose = base in (verify.contains, verify.f1, verify.closeness, verify.math_equal)
    plain = verify.numbers_equal if kind == "numbers" else verify.matches
    if loose or (base is plain and bound):
        yield plain.__name__, plain
    yield "the same characters", partial(verify.matches, exact=True)


def _proposal(
    view: View, before: Scores, after: Scores, source: str, fault: str, what: str, change: Change
) -> Proposal:
    name, looser = view.primary, fault in LOOSER
    old, new = before.score(name), after.score(name)
    known, both = ~np.isnan(old), ~np.isnan(old) & ~np.isnan(new)
    up, down, judged = both & (new > old), known & ~(new >= old), ~known & ~np.isnan(new)
    rows = [row for kind in ((up, judged, down) if looser else (down, judged, up)) for row in _spread(kind)]
    moved = {"rows_up": int(up.sum()), "rows_down": int(down.sum()), "rows_judged": int(judged.sum())}
    text = f"{moved['rows_up']} rows earn more, {moved['rows_down']} less"
    if judged.any():
        text += f", {moved['rows_judged']} are judged that were not ({int((new[judged] > 0).sum())} earn it)"
    risk = "a looser way may pay for what is wrong" if looser else "a stricter way may miss what is right"
    return Proposal(
        "looser_reading" if looser else "stricter_reading",
        name,
        f"{name!r} is {fault}; judged by {what}, {text}. Read the examples: {risk}",
        change,
        before,
        after=moved,
        examples=tuple(_example(before, after, source, name, row) for row in rows[:EXAMPLES]),
    )


def _spread(rows: NDArray[np.bool_]) -> list[int]:
    """A few of these rows, spread over all of them."""
    at = np.flatnonzero(rows)
    places = np.unique(np.linspace(0, max(len(at) - 1, 0), min(EXAMPLES, len(at))).astype(int))
    return [int(at[place]) for place in places]


def _example(before: Scores, after: Scores, source: str, name: str, row: int) -> dict[str, Any]:
    """What was compared with the truth before and after, and what it earned."""
    cells = {
        "rollout_id": before.table["rollout_id"],
        "old": before.table[source],
        "new": after.table[source],
        "ground_truth": before.table["ground_truth"],
    }
    plain = {key: column_values(column.iloc[[row]])[0] for key, column in cells.items()}
    scores = {"score_before": float(before.score(name)[row]), "score_after": float(after.score(name)[row])}
    return {**plain, **scores}
