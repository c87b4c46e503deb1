"""Rule that reads or compares the answer in another way, with the rows it moves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from rewardkit.analysis.statistics import spread_out
from rewardkit.analysis.suggestions.change import (
    Change,
    LeftOut,
    Proposal,
    Proposals,
    applied,
    why_not_run,
)
from rewardkit.analysis.suggestions.rules import find_fault, prediction_column
from rewardkit.analysis.view import View
from rewardkit.answers.kinds import common_kind
from rewardkit.findings import Findings
from rewardkit.plain import Record
from rewardkit.primitives import extract, verify
from rewardkit.primitives.extract import Extractor
from rewardkit.rewards.component import Component
from rewardkit.rewards.users_code import without_partial
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores

HARDLY_EARNED = ("starved", "sparse", "never earned")
NEARLY_SURE = ("saturated", "always earned")
NO_SPREAD = ("constant", "errors")
"""Findings of a component that may give all that it judges the same score."""
MOST_EXAMPLES = 5
MOST_ROWS_TO_READ = 100_000
"""Rows up to which ways are tried: a Python call for each row and way. Our choice."""
RELATIVE_TOLERANCE = 0.01
"""Of a looser comparison of numbers. Our choice."""
CHOICE_LETTERS = "ABCDE"
LEAST_SHARE_WITH_WORDS = 0.2
"""Share of unpaid completions with the truth that have the same words before it.

Our choice.
"""
LONGEST_WORDS_BEFORE = 24  # characters before the truth, on its line
LONGEST_SHOWN_TRUTH = 80

Kind = Literal["numbers", "letters", "text"]
KINDS_OF_TRUTHS: dict[str, Kind] = {"number": "numbers", "choice": "letters"}
LOOSER_VERIFIERS: dict[Kind, tuple[Callable[..., Any], ...]] = {
    "numbers": (verify.numbers_equal, verify.math_equal),
    "letters": (verify.choice_equal,),
    "text": (verify.matches, verify.math_equal),
}


Ways = Record
"""Other extractors or verifiers by what they are called."""


class AnswerReading(NamedTuple):
    """The fault of the primary component, and the column that it compares.

    `fault` says how rarely or often it is earned; `source` is the column of the scores.
    """

    fault: str
    source: str

    @property
    def is_looser(self) -> bool:
        """Return whether a looser way to read is wanted."""
        return self.fault in HARDLY_EARNED

    @property
    def field(self) -> str:
        """Return the name of the field or column that is compared."""
        return self.source.removeprefix("field/")


def readings(view: View, scores: Scores, findings: Findings) -> Proposals:
    """Propose other ways to judge a primary that is rarely, or nearly always, earned.

    Each proposal counts the rows that move and has up to five of them to read. Left out
    are ways that move no row, and ways with the same scores as a simpler one.
    """
    name = view.primary
    fault = _how_earned(view, findings)
    if not fault:
        return
    item = view.components[name]
    reading = AnswerReading(fault, prediction_column(scores, item) or "")
    if reason := _why_not_tried(scores, name, reading):
        yield LeftOut(
            f"other extractors and verifiers for {name!r} are not tried: {reason}"
        )
        return
    changes = _list_changes(view, scores, item, reading, _kind_of_truths(scores))
    columns = [scores.score(name)]
    for way, change in changes:
        changed = applied(change, scores)
        values = changed.score(name)
        if any(np.array_equal(values, column, equal_nan=True) for column in columns):
            continue
        proposal = _propose(view, scores, changed, reading, way, change)
        moved = "rows_up" if reading.is_looser else "rows_down"
        if proposal.after[moved] or proposal.after["rows_judged"]:
            columns.append(values)
            yield proposal
    if changes and len(columns) == 1:
        names = ", ".join(way for way, _ in changes)
        kind_of_way = "looser" if reading.is_looser else "stricter"
        yield LeftOut(
            f"{kind_of_way} ways to judge {name!r} move no row: tried {names}"
        )


def _how_earned(view: View, findings: Findings) -> str:
    """Return how rarely or often the primary is earned; "" where that is no fault."""
    primary = view.primary
    fault = find_fault(findings, (*HARDLY_EARNED, *NEARLY_SURE), primary)
    if fault:
        return fault
    has_no_spread = find_fault(findings, NO_SPREAD, primary)
    if not has_no_spread or view.components[primary].range is None:
        return ""
    scores = view.primary_scores
    low = np.fmin.reduce(scores)
    high = np.fmax.reduce(scores)
    if low == high == view.span(primary)[1]:
        return "always earned"
    return "never earned" if low == high == view.span(primary)[0] else ""


def _why_not_tried(scores: Scores, name: str, reading: AnswerReading) -> str:
    """Return why no other way can be tried; "" where it can."""
    if not reading.source:
        return "it does not compare one column with 'ground_truth'"
    if len(scores) > MOST_ROWS_TO_READ:
        return (
            f"{len(scores):,} rows are many to run; diagnose a sample of "
            f"{MOST_ROWS_TO_READ:,}"
        )
    reason = why_not_run(scores.reward, {name})
    return reason or why_not_run(scores.reward, {reading.field, name})


def _kind_of_truths(scores: Scores) -> Kind:
    """Return what most truths are: numbers, letters of a choice, or texts."""
    truths = column_values(scores.table["ground_truth"])
    stated = [str(truth) for truth in truths if truth is not None]
    return KINDS_OF_TRUTHS.get(common_kind(stated), "text")


def _list_changes(
    view: View, scores: Scores, item: Component, reading: AnswerReading, kind: Kind
) -> list[tuple[str, Change]]:
    """List the changes to try, extractors before verifiers, the simplest first."""
    current = view.reward.fields.get(reading.field)
    extractors = {}
    if reading.is_looser:
        verifiers = _looser_verifiers(item, kind)
    else:
        verifiers = _stricter_verifiers(item, kind)
    if current is not None and reading.is_looser:
        extractors = _looser_extractors(current, kind, _shown_extractor(scores, view))
    elif current is not None:
        extractors = _stricter_extractors(current, kind)
    changes = []
    for name, function in extractors.items():
        changes.append((name, Change(fields={reading.field: function})))
    attributes = _attributes_of_verifier(item, reading.field)
    for name, function in verifiers.items():
        replaced = {"function": function, **attributes}
        changes.append((name, Change(components={item.name: replaced})))
    return changes


def _stricter_extractors(current: Any, kind: Kind) -> Ways:
    """List extractors that take less than the current one of the field."""
    number = extract.number()
    ways = {}
    if isinstance(current, extract.first_of) and len(current.extractors) > 1:
        ways["only the first of its extractors"] = current.extractors[0]
    if isinstance(current, extract.tag) and current.unclosed:
        ways["only a closed tag"] = replace(current, unclosed=False)
    if type(current) is type(number) and kind == "numbers":
        phrase = extract.within(extract.answer_phrase(), number)
        ways["a number in an answer phrase"] = phrase
    return ways


def _looser_extractors(current: Any, kind: Kind, unpaid: Extractor | None) -> Ways:
    """List extractors that take more: where the current one fails, or always."""
    plain: Ways = {
        "answer_phrase()": extract.answer_phrase(),
        "boxed()": extract.boxed(),
    }
    if kind == "numbers":
        plain["number()"] = extract.number()
    if kind == "letters":
        plain[f'choice("{CHOICE_LETTERS}")'] = extract.choice(CHOICE_LETTERS)
    if unpaid:
        plain["what stands around the truth in unpaid completions"] = unpaid
    if not isinstance(current, Extractor) or isinstance(current, extract.every):
        return plain
    ways: Ways = {}
    if isinstance(current, extract.tag) and not current.unclosed:
        ways["an unclosed tag"] = replace(current, unclosed=True)
    if kind == "numbers":
        inside = extract.within(current, extract.number())
        ways["the last number in it"] = extract.first_of(inside, current)
    for name, function in plain.items():
        ways[f"the same, or else {name}"] = extract.first_of(current, function)
    if kind == "numbers":
        ways["number(), the last anywhere"] = extract.number()
    return ways


def _shown_extractor(scores: Scores, view: View) -> Extractor | None:
    """Return an extractor for the words that precede the truth in unpaid completions.

    None where no words are common.
    """
    counts: Counter[str] = Counter()
    with_truth = 0
    truths = column_values(scores.table["ground_truth"])
    completions = scores.table["completion"]
    is_unpaid = ~(view.primary_scores > view.span(view.primary)[0])
    for row in np.flatnonzero(is_unpaid).tolist():
        truth = str(truths[row]).strip()
        text = completions.iloc[row]
        if not 0 < len(truth) <= LONGEST_SHOWN_TRUTH or truth not in text:
            continue
        with_truth += 1
        before = text[: text.rfind(truth)][-LONGEST_WORDS_BEFORE:]
        match = re.search(r"[^\d\s][^\d]*$", before.rsplit("\n", 1)[-1])
        if match:
            starts = re.finditer(r"(?<!\w)\w|[^\w\s]+", match[0])
            counts.update({match[0][start.start() :] for start in starts})
    common = []
    for words, count in counts.items():
        if count >= LEAST_SHARE_WITH_WORDS * with_truth and len(words.strip()) > 2:
            common.append((count, len(words), words))
    if not common:
        return None
    longest = max(common, key=lambda entry: entry[:2])[2]
    return extract.pattern(re.escape(longest) + r"\s*(\S[^\n]*?)\s*[.!*]*\s*(?:\n|$)")


def _looser_verifiers(item: Component, kind: Kind) -> Ways:
    """List verifiers that accept more: other ways to compare, then a tolerance."""
    base = without_partial(item.function)
    ways = {}
    for function in LOOSER_VERIFIERS[kind]:
        if function is not base:
            ways[function.__name__] = function
    if kind == "numbers" and base in (verify.numbers_equal, verify.math_equal):
        within = partial(verify.numbers_equal, relative=RELATIVE_TOLERANCE)
        ways[f"numbers_equal within {RELATIVE_TOLERANCE:g}"] = within
    return ways


def _stricter_verifiers(item: Component, kind: Kind) -> Ways:
    """List verifiers that accept less: without tolerance, by value, to the letter."""
    base = without_partial(item.function)
    plain = verify.numbers_equal if kind == "numbers" else verify.matches
    loose = (verify.contains, verify.f1, verify.closeness, verify.math_equal)
    has_options = base is plain and base is not item.function
    ways = {}
    if base in loose or has_options:
        ways[plain.__name__] = plain
    ways["the same characters"] = partial(verify.matches, exact=True)
    return ways


def _attributes_of_verifier(item: Component, field: str) -> Record:
    """Return the attributes that a component must change for another verifier."""
    columns = None if field == "prediction" else {"prediction": field}
    needed = {"columns": columns, "range": (0.0, 1.0), "batch": False, "group": False}
    attributes = {}
    for name, value in needed.items():
        if (getattr(item, name) or None) != (value or None):
            attributes[name] = value
    return attributes


def _propose(
    view: View,
    before: Scores,
    after: Scores,
    reading: AnswerReading,
    way: str,
    change: Change,
) -> Proposal:
    """Propose a way to judge, with the rows that it moves."""
    name = view.primary
    old = before.score(name)
    new = after.score(name)
    up = new > old
    down = ~np.isnan(old) & ~(new >= old)
    judged = np.isnan(old) & ~np.isnan(new)
    counts = {
        "rows_up": int(up.sum()),
        "rows_down": int(down.sum()),
        "rows_judged": int(judged.sum()),
    }
    moved = f"{counts['rows_up']} rows earn more, {counts['rows_down']} less"
    if judged.any():
        moved += (
            f", {counts['rows_judged']} are judged that were not "
            f"({int((new[judged] > 0).sum())} earn it)"
        )
    if reading.is_looser:
        code = "looser_reading"
        kinds = (up, judged, down)
        risk = "a looser way may pay for what is wrong"
    else:
        code = "stricter_reading"
        kinds = (down, judged, up)
        risk = "a stricter way may miss what is right"
    rows = []
    for mask in kinds:
        rows += spread_out(np.flatnonzero(mask), MOST_EXAMPLES).tolist()
    return Proposal(
        code,
        name,
        f"{name!r} is {reading.fault}; judged by {way}, {moved}. Read the examples: "
        f"{risk}",
        change,
        before,
        after=counts,
        examples=_make_examples(before, after, reading.source, name, rows),
    )


def _make_examples(
    before: Scores, after: Scores, source: str, name: str, rows: list[int]
) -> tuple[Record, ...]:
    """Return the first rows with what is read and scored before and after."""
    first = rows[:MOST_EXAMPLES]
    columns = {
        "rollout_id": before.table["rollout_id"],
        "old": before.table[source],
        "new": after.table[source],
        "ground_truth": before.table["ground_truth"],
    }
    cells = {key: column_values(of.iloc[first]) for key, of in columns.items()}
    cells["score_before"] = before.score(name)[first].tolist()
    cells["score_after"] = after.score(name)[first].tolist()
    rows_of_cells = zip(*cells.values(), strict=True)
    return tuple(dict(zip(cells, row, strict=True)) for row in rows_of_cells)
