"""Rules that read or compare the answer in another way, with the rows that each would move."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from rewardkit.analysis.suggestions.change import Change, applied, why_not_run
from rewardkit.analysis.suggestions.proposal import Proposal, Proposed, told
from rewardkit.analysis.suggestions.reward_changes import prediction_column
from rewardkit.analysis.view import View
from rewardkit.answers.kinds import common_kind
from rewardkit.findings import Finding
from rewardkit.primitives import extract, verify
from rewardkit.primitives.extract import Extractor
from rewardkit.rewards.component import Component
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

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

LOOSER_VERIFIERS: dict[str, tuple[Callable[..., Any], ...]] = {
    "numbers": (verify.numbers_equal, verify.math_equal),
    "letters": (verify.choice_equal,),
    "text": (verify.matches, verify.math_equal),
}

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
    source = prediction_column(scores, item)
    asked = (source or "").removeprefix("field/")
    why_not = why_not_run(scores.reward, {name}) or why_not_run(
        scores.reward, {asked, name}
    )
    if len(scores) > MOST_ROWS:
        why_not = (
            f"{len(scores):,} rows are many to run; diagnose a sample of {MOST_ROWS:,}"
        )
    if source is None:
        why_not = "it does not compare one column with 'ground_truth'"
    if source is None or why_not:
        yield f"other extractors and verifiers for {name!r} are not tried: {why_not}"
        return
    looser, kind = fault in LOOSER, _kind(scores)
    current = view.reward.fields.get(asked)
    extractors = _extractors(
        current, looser, kind, _shown(scores, view) if looser else None
    )
    tried = [(what, Change(fields={asked: function})) for what, function in extractors]
    tried += _verifiers(item, asked, looser, kind)
    seen, moved = [scores.score(name)], False
    for what, change in tried:
        changed = applied(change, scores)
        if any(
            np.array_equal(changed.score(name), other, equal_nan=True) for other in seen
        ):
            continue
        found = _proposal(view, scores, changed, source, fault, what, change)
        if (
            found.after["rows_up" if looser else "rows_down"]
            or found.after["rows_judged"]
        ):
            seen.append(changed.score(name))
            moved = True
            yield found
    if tried and not moved:
        ways = ", ".join(what for what, _ in tried)
        yield f"{'looser' if looser else 'stricter'} ways to judge {name!r} move no row: tried {ways}"


def _fault(view: View, findings: Collection[Finding]) -> str:
    """What is wrong with the primary component, in words; "" where it is neither rare nor nearly sure."""
    known = next(
        (code for code in (*LOOSER, *STRICTER) if told(findings, code, view.primary)),
        "",
    )
    constant = told(findings, "constant", view.primary)
    if known or not constant or view.components[view.primary].range is None:
        return known
    ends = dict(
        zip(view.span(view.primary), ("never earned", "always earned"), strict=True)
    )
    return ends.get(float(np.nanmax(view.scores[view.primary])), "")


def _kind(scores: Scores) -> Kind:
    """Return what most truths are: numbers, letters of a choice, or texts."""
    truths = column_values(scores.table["ground_truth"])
    stated = [str(truth) for truth in truths if truth is not None]
    kind = common_kind(stated)
    return KINDS_OF_TRUTHS.get(kind, "text")


KINDS_OF_TRUTHS: dict[str, Kind] = {"number": "numbers", "choice": "letters"}


def _extractors(
    current: Any, looser: bool, kind: Kind, shown: Extractor | None
) -> list[Way]:
    """Other extractors for the field that is compared, the simplest first: behind it, then in its place."""
    number, phrase = extract.number(), extract.answer_phrase()
    is_tag = isinstance(current, extract.tag)
    if current is None:
        return []
    if not looser:
        several = isinstance(current, extract.first_of) and len(current.extractors) > 1
        ways = (
            [("only the first of its extractors", current.extractors[0])]
            if several
            else []
        )
        ways += (
            [("only a closed tag", replace(current, unclosed=False))]
            if is_tag and current.unclosed
            else []
        )
        if type(current) is type(number) and kind == "numbers":
            ways.append(
                ("a number in an answer phrase", extract.within(phrase, number))
            )
        return ways
    plain: list[Way] = [("answer_phrase()", phrase), ("boxed()", extract.boxed())]
    plain += [("number()", number)] if kind == "numbers" else []
    plain += (
        [(f'choice("{LETTERS}")', extract.choice(LETTERS))] if kind == "letters" else []
    )
    plain += (
        [("what stands around the truth in unpaid completions", shown)] if shown else []
    )
    if not isinstance(current, Extractor) or isinstance(current, extract.every):
        return plain
    ways = []
    if isinstance(current, extract.tag) and not current.unclosed:
        ways.append(("an unclosed tag", replace(current, unclosed=True)))
    behind = [
        (f"or else {what}", extract.first_of(current, extractor))
        for what, extractor in plain
    ]
    if kind != "numbers":
        return [*ways, *behind]
    inside = extract.first_of(extract.within(current, number), current)
    return [
        *ways,
        ("the last number in it", inside),
        *behind,
        ("number(), the last anywhere", number),
    ]


def _shown(scores: Scores, view: View) -> Extractor | None:
    """What reads the answer by the words that stand before the truth in the completions that went unpaid."""
    before: Counter[str] = Counter()
    named, truths = 0, column_values(scores.table["ground_truth"])
    unpaid = ~(view.scores[view.primary] > view.span(view.primary)[0])
    for row in np.flatnonzero(unpaid).tolist():
        truth, text = str(truths[row]).strip(), scores.table["completion"].iloc[row]
        if not 0 < len(truth) <= LONGEST_TRUTH or truth not in text:
            continue
        named += 1
        line = text[: text.rfind(truth)][-LONGEST_WORDS:].rsplit("\n", 1)[-1]
        if found := re.search(r"[^\d\s][^\d]*$", line):
            starts = re.finditer(r"(?<!\w)\w|[^\w\s]+", found[0])
            before.update({found[0][start.start() :] for start in starts})
    common = [
        words
        for words, count in before.items()
        if count >= SHOWN_BY * named and len(words.strip()) > 2
    ]
    if not common:
        return None
    words = max(common, key=lambda words: (before[words], len(words)))
    return extract.pattern(re.escape(words) + r"\s*(\S[^\n]*?)\s*[.!*]*\s*(?:\n|$)")


def _verifiers(
    item: Component, asked: str, looser: bool, kind: Kind
) -> list[tuple[str, Change]]:
    """Other verifiers for the component, which take what it takes."""
    base: Any = item.function
    while isinstance(base, partial):
        base = base.func
    plain = verify.numbers_equal if kind == "numbers" else verify.matches
    if looser:
        ways: list[Way] = [
            (way.__name__, way) for way in LOOSER_VERIFIERS[kind] if way is not base
        ]
        if kind == "numbers" and base in (verify.numbers_equal, verify.math_equal):
            within = partial(verify.numbers_equal, relative=TOLERANCE)
            ways.append((f"numbers_equal within {TOLERANCE:g}", within))
    else:  # without a tolerance, by value, and to the letter
        loose = base in (
            verify.contains,
            verify.f1,
            verify.closeness,
            verify.math_equal,
        )
        ways = (
            [(plain.__name__, plain)]
            if loose or (base is plain and base is not item.function)
            else []
        )
        ways.append(("the same characters", partial(verify.matches, exact=True)))
    columns = None if asked == "prediction" else {"prediction": asked}
    same = {"columns": columns, "range": (0.0, 1.0), "batch": False, "group": False}
    others = {
        name: value
        for name, value in same.items()
        if (getattr(item, name) or None) != (value or None)
    }
    return [
        (what, Change(components={item.name: {"function": function, **others}}))
        for what, function in ways
    ]


def _proposal(
    view: View,
    before: Scores,
    after: Scores,
    source: str,
    fault: str,
    what: str,
    change: Change,
) -> Proposal:
    name, looser = view.primary, fault in LOOSER
    old, new = before.score(name), after.score(name)
    known, both = ~np.isnan(old), ~np.isnan(old) & ~np.isnan(new)
    up, down, judged = (
        both & (new > old),
        known & ~(new >= old),
        ~known & ~np.isnan(new),
    )
    counts = {
        "rows_up": int(up.sum()),
        "rows_down": int(down.sum()),
        "rows_judged": int(judged.sum()),
    }
    text = f"{counts['rows_up']} rows earn more, {counts['rows_down']} less"
    if judged.any():
        text += f", {counts['rows_judged']} are judged that were not ({int((new[judged] > 0).sum())} earn it)"
    risk = (
        "a looser way may pay for what is wrong"
        if looser
        else "a stricter way may miss what is right"
    )
    rows: list[int] = []  # a few of each kind, spread over all of them
    for kind in (up, judged, down) if looser else (down, judged, up):
        at = np.flatnonzero(kind)
        places = np.linspace(0, max(len(at) - 1, 0), min(EXAMPLES, len(at))).astype(int)
        rows += at[np.unique(places)].tolist()
    rows = rows[:EXAMPLES]
    columns = {
        "rollout_id": before,
        "old": before,
        "new": after,
        "ground_truth": before,
    }
    read = {key: source if key in ("old", "new") else key for key in columns}
    cells = [
        column_values(made.table[read[key]].iloc[rows]) for key, made in columns.items()
    ]
    header = (*columns, "score_before", "score_after")
    examples = zip(*cells, old[rows].tolist(), new[rows].tolist(), strict=True)
    return Proposal(
        "looser_reading" if looser else "stricter_reading",
        name,
        f"{name!r} is {fault}; judged by {what}, {text}. Read the examples: {risk}",
        change,
        before,
        after=counts,
        examples=tuple(dict(zip(header, row, strict=True)) for row in examples),
    )
