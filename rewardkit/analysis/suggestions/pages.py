"""How suggestions look: a few lines of text for a terminal, and escaped HTML for a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rewardkit.analysis.rendering import named, wrapped
from rewardkit.analysis.suggestions.measure import Effect
from rewardkit.analysis.suggestions.normalization import Normalization
from rewardkit.findings import counted, percent
from rewardkit.html import markup

if TYPE_CHECKING:
    from rewardkit.analysis.suggest import Suggestion, Suggestions

__all__ = ["advice_page", "caption", "changes", "normalization_table", "suggestion_page", "suggestions_text"]

UNRANKED = "without a trusted label nobody knows which completions are better"
SHOWN = 5
"""Changes, and examples, of a page; the others are counted."""
TEXT = 200
"""Characters of a text in a page."""
FIGURES = {
    "moved": "changed",
    "sign changes": "sign_changes",
    "top tenth of groups": "top_decile",
    "small-spread groups": "small_groups",
    "effective sample": "sample_size",
    "tied groups": "zero_std",
}
"""What the figures of a normalization are called."""


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


def _head(item: Suggestion) -> str:
    """What is told of a change first: its rank, its part, what it changes."""
    rank = f"{item.rank}. " if item.rank else "Makes it worse: " if item.verdict == "harms" else ""
    return f"{rank}{_where(item)}{item.code.replace('_', ' ')}" + (
        f" of {item.component!r}" if item.component else ""
    )


def _where(item: Suggestion | Normalization) -> str:
    return f"[{item.part}] " if item.part else ""


def _without_effect(rows: Sequence[Normalization]) -> list[str]:
    """The normalizations that change nothing, a line a reason."""
    without = [row for row in rows if not row.works and row.code != "as_is"]
    reasons = dict.fromkeys(row.effect.removeprefix("no effect: ") for row in without)
    return [
        f"No effect ({why}): "
        + ", ".join(_where(row) + row.what for row in without if row.effect.endswith(why))
        + "."
        for why in reasons
    ]


# --- as text


def suggestions_text(advice: Suggestions, *, verbose: bool) -> str:
    """The first change and the names of the others, or all of them; then what was left out."""
    useful = [item for item in advice.changes if item.verdict != "harms"]
    lines = [] if useful else ["No change of the reward to suggest."]
    shown = advice.changes if verbose else useful[:1]
    for item in shown:
        lines += _change_lines(item, verbose)
    if verbose or not useful:
        lines += [wrapped(f"Note: {note}.", "  ") for note in advice.notes]
    works = [row for row in advice.normalization if row.works]
    if verbose:
        told = [f"Normalization: {_where(row)}{row.what}: {row.effect}." for row in works]
        lines += [wrapped(line, "  ") for line in (*told, *_without_effect(advice.normalization))]
        return "\n".join(lines)
    left = [item.code for item in advice.changes if item not in shown]
    said = [named(left)] if left else []
    tried = sum(row.code != "as_is" for row in advice.normalization)
    said += [f"{len(works)} of {tried} reward normalizations change the advantages"] if works else []
    if said:
        also = "; ".join(said)
        lines.append(wrapped(f"Also measured: {also}. All: suggestions.text(verbose=True).", "  "))
    return "\n".join(lines)


def _change_lines(item: Suggestion, verbose: bool) -> list[str]:
    lines = [wrapped(f"Change: {_head(item)}: {item.why}."), f"    {item.line}"]
    told = [f"{item.outcome}."] if item.outcome else []
    if verbose:
        told += [_effect_text(effect) for effect in item.effects if effect.told]
        if item.examples:
            example = ", ".join(f"{name} {value!r}" for name, value in item.examples[0].items())
            told.append(f"For example {example}")
    return [*lines, *(f"    {wrapped(text)}" for text in told)]


def _effect_text(effect: Effect) -> str:
    held = ", on prompts held out" if effect.held_out else ""
    return f"{effect.what}: {percent(effect.before)} -> {percent(effect.after)}, {effect.moved}{held}"


# --- as HTML


def advice_page(advice: Suggestions) -> str:
    """The first changes, each with its line of code and its effect, and, folded, the normalizations."""
    title, body = caption(advice), changes(advice, redact=False)
    if rows := advice.normalization:
        tried = counted(sum(row.code != "as_is" for row in rows), "normalization")
        body += markup.folded(f"{tried}, measured", normalization_table(rows))
    return markup.card(title[:1].upper() + title[1:], body)


def suggestion_page(item: Suggestion) -> str:
    """One change: what and why, line of code, measured effects, examples to read."""
    return markup.card("Suggestion", _change(item, redact=False, limit=TEXT))


def changes(advice: Suggestions, *, redact: bool) -> str:
    """A block each of the first changes: what and why, line of code, effects, examples; then the notes."""
    left = len(advice.changes) - SHOWN
    blocks = markup.listed(_change(item, redact=redact, limit=TEXT) for item in advice.changes[:SHOWN])
    blocks += f"<p>and {left} more in <code>suggestions.changes</code></p>" if left > 0 else ""
    return blocks + "".join(f"<p>Note: {markup.escaped(note)}</p>" for note in advice.notes)


def _change(item: Suggestion, *, redact: bool, limit: int) -> str:
    verdict = f" ({item.verdict})" if item.verdict else ""
    left = f"{len(item.examples)} examples are left out" if item.examples and redact else ""
    parts = [
        f"<p><b>{markup.escaped(_head(item))}</b>{markup.escaped(verdict)}: {markup.escaped(item.why)}</p>",
        *(f"<p>{markup.escaped(text)}</p>" for text in (item.outcome, left) if text),
        markup.code(item.line),
        _effects(item.effects),
        _examples(item.examples, limit) if not redact else "",
    ]
    return "".join(parts)


def _effects(effects: Sequence[Effect]) -> str:
    """A row an effect, but for effective weights that hardly move."""
    if not any(item.difference for item in effects):
        still = [item for item in effects if item.figure != "effective_weight"]
        told = ", ".join(f"{item.what} {percent(item.before)}" for item in still)
        return f"<p>{markup.escaped(f'Nothing of this changes: {told}')}</p>" if told else ""
    rows = [
        (
            item.what,
            _around(item.before, item.before_interval),
            _around(item.after, item.after_interval),
            item.moved.replace(" points", "").replace(" ", "\N{NO-BREAK SPACE}"),
        )
        for item in effects
        if item.told
    ]
    held = " held out from the fit" if any(item.held_out for item in effects) else ""
    on = f"share, on {counted(effects[0].prompts, 'prompt')}{held}"
    header = (on, "before (95 % interval)", "after", "difference in points")
    return markup.table(header, rows, numeric=header[1:])


def _around(value: float, interval: tuple[float, float]) -> str:
    ends = "" if math.isnan(interval[0]) else f" ({percent(interval[0])} to {percent(interval[1])})"
    return f"{percent(value)}{ends}".replace(" ", "\N{NO-BREAK SPACE}")


def _examples(examples: Sequence[Mapping[str, Any]], limit: int) -> str:
    names = list(dict.fromkeys(name for example in examples for name in example))
    rows = [[_cell(example.get(name)) for name in names] for example in examples]
    header = [name.replace("_", " ") for name in names]
    return markup.table(header, rows, most=SHOWN, limit=limit) if rows else ""


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def normalization_table(rows: Sequence[Normalization]) -> str:
    """A row a way to normalise that changes something; a line for those that change nothing."""
    cells = [
        (
            _where(row) + row.what,
            row.effect,
            *(percent(getattr(row, name)) for name in FIGURES.values()),
            row.line,
        )
        for row in rows
        if row.works or row.code == "as_is"
    ]
    header = ("normalization", "effect on the advantages", *FIGURES, "line")
    table = markup.table(header, cells, numeric=list(FIGURES))
    return table + "".join(f"<p>{markup.escaped(line)}</p>" for line in _without_effect(rows))
