"""How suggestions and normalizations look in a notebook: pieces of escaped HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rewardkit.analysis.suggestions.measure import FIGURES, Effect
from rewardkit.analysis.suggestions.normalization import Normalization
from rewardkit.findings import counted, percent
from rewardkit.html import markup

if TYPE_CHECKING:
    from rewardkit.analysis.suggest import Suggestion, Suggestions

__all__ = [
    "advice_page",
    "caption",
    "changes",
    "normalization_table",
    "suggestion_page",
]

UNRANKED = "without a trusted label nobody knows which completions are better"
MOST_EXAMPLES = 5
SHOWN = 5
"""Changes, and normalizations, of a page; the others are counted."""
TEXT = 200
"""Characters of a text in a page."""
FURTHER = {"added_advantage_in_tied_groups": "share of the added advantage in groups that were tied"}
"""Figures measured once that `why` does not always tell."""


def advice_page(advice: Suggestions) -> str:
    """The first changes, each with its line of code and its effect, and, folded, the normalizations."""
    left = len(advice.changes) - SHOWN
    body = changes(advice, redact=False, most=SHOWN)
    body += f"<p>and {left} more in <code>suggestions.changes</code></p>" if left > 0 else ""
    if rows := advice.normalization:
        body += markup.folded(f"{counted(len(rows), 'normalization')}, measured", normalization_table(rows))
    return markup.card(_begun(caption(advice)), body)


def _begun(text: str) -> str:
    """Words as the beginning of a page."""
    return text[:1].upper() + text[1:]


def suggestion_page(item: Suggestion) -> str:
    """One change: what and why, line of code, measured effects, examples to read."""
    return markup.card("Suggestion", _change(item, redact=False, limit=TEXT))


def caption(advice: Suggestions) -> str:
    """What the order of the changes means: with a label it is a ranking, without one it is none."""
    if not advice.changes:
        return "no change of the reward to suggest"
    judged = [bool(item.verdict) for item in advice.changes]
    if not any(judged):
        return f"changes to consider, unranked: {UNRANKED}"
    ranked = sum(item.rank is not None for item in advice.changes)
    told = f"changes to consider, {ranked} of {len(judged)} ranked by the label"
    return told if all(judged) else f"{told}; those without a verdict are unranked: {UNRANKED}"


def changes(advice: Suggestions, *, redact: bool, most: int | None = None) -> str:
    """A block a change: what and why, line of code, measured effects, examples to read; then the notes.

    With `most` only so many of them, and their texts are short.
    """
    limit = markup.LONGEST_SHOWN if most is None else TEXT
    blocks = markup.listed(_change(item, redact=redact, limit=limit) for item in advice.changes[:most])
    return blocks + "".join(f"<p>Note: {markup.escaped(note)}</p>" for note in advice.notes)


def _change(item: Suggestion, *, redact: bool, limit: int) -> str:
    where = f"[{item.part}] " if item.part else ""
    what = f" of {item.component!r}" if item.component else ""
    rank = f"{item.rank}. " if item.rank is not None else ""
    head = f"{rank}{where}{item.code.replace('_', ' ')}{what}"
    verdict = f" ({item.verdict})" if item.verdict else ""
    parts = [
        f"<p><b>{markup.escaped(head)}</b>{markup.escaped(verdict)}: {markup.escaped(item.why)}</p>",
        markup.code(item.line),
        _effects(item.effects),
    ]
    further = _further(item)
    parts += [f"<p>{markup.escaped(further)}</p>"] if further else []
    if item.examples and not redact:
        parts.append(_examples(item.examples, limit))
    elif item.examples:
        parts.append(f"<p>{len(item.examples)} examples are left out</p>")
    return "".join(parts)


def _effects(effects: Sequence[Effect]) -> str:
    """A row an effect, but for effective weights that hardly move."""
    rows = [
        (_named(item), *(_with_interval(item, when) for when in ("before", "after")), _difference(item))
        for item in effects
        if item.told
    ]
    held = any(item.held_out for item in effects)
    if not any(item.difference for item in effects):
        told = ", ".join(
            f"{_named(item)} {percent(item.before)}" for item in effects if item.figure != "effective_weight"
        )
        return f"<p>{markup.escaped(f'Nothing of this changes: {told}')}</p>" if told else ""
    on = f"share, on {counted(effects[0].prompts, 'prompt')}" + (" held out from the fit" if held else "")
    header = (on, "before (95 % interval)", "after", "difference in points")
    return markup.table(header, rows, numeric=header[1:])


def _named(item: Effect) -> str:
    return FIGURES[item.figure] + (f" of {item.component!r}" if item.component else "")


def _with_interval(item: Effect, when: str) -> str:
    low, high = getattr(item, f"{when}_interval")
    around = "" if math.isnan(low) else f" ({percent(low)} to {percent(high)})"
    return _in_one_line(f"{percent(getattr(item, when))}{around}")


def _difference(item: Effect) -> str:
    if math.isnan(item.difference):
        return "-"
    low, high = item.interval
    around = "" if math.isnan(low) else f" ({_points(low)} to {_points(high)})"
    return _in_one_line(f"{_points(item.difference)}{around}")


def _points(share: float) -> str:
    """Percentage points with their sign; 0 has none."""
    return "0.0" if abs(share) < 0.0005 else f"{100 * share:+.1f}"


def _in_one_line(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _further(item: Suggestion) -> str:
    told = [(said, item.after[name]) for name, said in FURTHER.items() if name in item.after]
    return "; ".join(f"{said}: {percent(value)}" for said, value in told)


def _figure(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _examples(examples: Sequence[Mapping[str, Any]], limit: int) -> str:
    names = list(dict.fromkeys(name for example in examples for name in example))
    rows = [[_cell(example.get(name)) for name in names] for example in examples]
    header = [name.replace("_", " ") for name in names]
    return markup.table(header, rows, most=MOST_EXAMPLES, limit=limit)


def _cell(value: Any) -> str:
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "-" if missing else _figure(value)


def normalization_table(rows: Sequence[Normalization]) -> str:
    """A row a way to normalise."""
    figures = {
        "moved": "changed",
        "sign changes": "sign_changes",
        "top tenth of groups": "top_decile",
        "small-spread groups": "small_groups",
        "effective sample": "sample_size",
        "tied groups": "zero_std",
    }
    cells = []
    for row in rows:
        what = f"{row.part}: {row.what}" if row.part else row.what
        shares = [percent(getattr(row, name)) for name in figures.values()]
        cells.append((what, row.effect, *shares, row.line))
    header = ("normalization", "effect on the advantages", *figures, "line")
    return markup.table(header, cells, numeric=list(figures))
