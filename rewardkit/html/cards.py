"""How rollouts, rewards, results, scores and checks look in a notebook: plain data in, escaped HTML out.

Each is short, whatever it is made of: texts are cut, and rows beyond the first few counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.html import markup

__all__ = [
    "Scored",
    "check",
    "facts",
    "first_rows",
    "histogram",
    "misses",
    "result",
    "reward",
    "rollouts",
    "route",
    "scores",
]

Plain = Mapping[str, Any]

TEXT = 200  # characters of a text of the rollouts, of a function, of a reason
SENTENCE = 600  # characters of what is said of them
COMPONENTS = 24  # rows of a table of components or fields
MISSES = 12  # rows of missed expectations that are open
FIGURES = ("weight", "mean", "std", "lowest", "highest")
BINS = 40
BAR = "#0072b2"  # at least 3 : 1 on white and on nearly black


# --- rollouts


def rollouts(about: Plain, columns: Sequence[str], first: Sequence[Plain]) -> str:
    """Rollouts: how they were read and grouped, and the `first` of them; `about` is their summary.

    Without `first` no text of theirs is in it.
    """
    rows = first_rows(first, about["group_key"], limit=TEXT) if first else ""
    title = f"{about['rows']:,} rollout{'s' * (about['rows'] != 1)}"
    return markup.card(title, markup.table(("", ""), facts(about, columns), limit=SENTENCE) + rows)


def facts(about: Plain, columns: Sequence[str] = ()) -> list[tuple[str, str]]:
    """What was read and how, a row each with its name: source, groups, columns, notes, warnings.

    Without `columns` only those that were renamed.
    """
    sizes = ", ".join(f"{count} of {size}" for size, count in about["group_sizes"].items())
    renamed = ", ".join(
        f"{name} from {source}" for name, source in about["mapping"].items() if name != source
    )
    all_columns = ", ".join(columns) + (f" ({renamed})" if columns and renamed else renamed)
    rejected = len(about["rejected"])
    kept_out = f", {rejected} row{'s' * (rejected != 1)} kept out" if rejected else ""
    kind = f" ({about['kind']})" if about["kind"] not in ("", "rollouts") else ""
    key = ", ".join(about["group_key"]) or "row"
    return [
        ("Rollouts", f"{about['rows']:,} from {about['source']}{kind}{kept_out}"),
        ("Groups", f"{about['groups']:,} by {key}" + (f" (sizes: {sizes})" if sizes else "")),
        *([("Columns", all_columns)] if all_columns else []),
        *([("Log", "\n".join(about["notes"]))] if about["notes"] else []),
        *(("Note", sentence) for sentence in about["warnings"]),
    ]


def first_rows(
    rows: Sequence[Plain],
    group_key: Sequence[str],
    *,
    text: Callable[[Any], str] | None = None,
    limit: int = markup.LONGEST_SHOWN,
) -> str:
    """Rollouts as a table: id, what makes their group, texts; a prompt that stands above is not said again.

    `text` stands for texts where they are not to be shown; prompts are then left out.
    """
    texts = ("prompt", "completion", "ground_truth")
    wanted = dict.fromkeys(["rollout_id", *group_key, *texts])
    there = {name for row in rows for name in row}
    names = [name for name in wanted if name in there and not (text and name == "prompt")]

    def cell(row: Plain, name: str, above: Plain) -> Any:
        if name == "prompt" and above and row[name] == above[name]:
            return "as above"
        shown = text(row[name]) if text and name in texts else row[name]
        return "-" if shown is None else shown

    cells = [
        [cell(row, name, above) for name in names] for above, row in zip([{}, *rows], rows, strict=False)
    ]
    return markup.table(names, cells, limit=limit)


# --- rewards


def reward(name: str, fields: Plain, components: Sequence[Plain], options: Plain) -> str:
    """A reward: its fields and components as they are declared, and how they add up.

    `components` are records of them, `options` what else is set by its name; what is empty is left out.
    """
    about = [(key, value) for key, value in options.items() if value]
    declared = [
        (
            item["name"],
            item["function"],
            f"{item['weight']:g}",
            item["gate"] or "",
            _span(item["range"]),
            item["why"],
        )
        for item in components
    ]
    header = ("component", "function", "weight", "gate", "range", "why")
    body = [_table(("field", "function"), list(fields.items())) if fields else ""]
    body += [_table(header, declared, numeric=("weight",)), _table(("", ""), about)]
    return markup.card(f"Reward {name}", "".join(body))


def route(name: str, column: str, parts: Sequence[tuple[str, str, Plain, str]]) -> str:
    """A route: a row a part with its value of the column, its reward, its weights, and its aggregation."""
    rows = [
        (value, inner, ", ".join(f"{key} {weight:g}" for key, weight in weights.items()), how)
        for value, inner, weights, how in parts
    ]
    return markup.card(f"Reward {name}", _table((column, "reward", "weights", "aggregation"), rows))


def _span(span: Sequence[Any] | None) -> str:
    return "unbounded" if span is None else " to ".join(f"{float(end):g}" for end in span)


def result(
    total: float,
    components: Sequence[tuple[str, str, float, float | None, str]],
    fields: Plain,
    notes: Plain,
) -> str:
    """What one completion got: its reward, then a row a component with status, score, weight and reason."""
    rows = [
        (name, status, _number(score), "-" if weight is None else f"{weight:g}", why)
        for name, status, score, weight, why in components
    ]
    header = ("component", "status", "score", "weight", "reason")
    body = _table(header, rows, numeric=("score", "weight"))
    for what, values in (("field", fields), ("note", notes)):
        if values:
            body += _table((what, "value"), [(name, repr(value)) for name, value in values.items()])
    return markup.card(f"Reward {_number(total)}" if not math.isnan(total) else "No reward: not judged", body)


# --- scores and checks


@dataclass(frozen=True)
class Scored:
    """A component of scored rollouts: scores (NaN unless scored), counts by status, reasons of its errors."""

    name: str
    weight: float
    scores: NDArray[Any]
    counts: Mapping[str, int]
    errors: Sequence[str]

    def figures(self) -> list[str]:
        """Weight, mean, spread and observed range, as `FIGURES` has them."""
        found = [math.nan] * 4
        if len(known := self.scores[~np.isnan(self.scores)]):
            with np.errstate(over="ignore", invalid="ignore"):  # unbounded scores may be enormous
                found = [known.mean(), known.std(), known.min(), known.max()]
        return [_number(value) for value in (self.weight, *found)]

    def most_frequent_error(self) -> str:
        """The reason that most errors have, with how many these are."""
        ((reason, count),) = Counter(self.errors).most_common(1) or [("", 0)]
        return f"{count:,} times {reason}" if count else ""


def scores(name: str, rewards: NDArray[Any], components: Sequence[Scored]) -> str:
    """Scored rollouts: how the reward is spread, and a row a component."""
    known = rewards[~np.isnan(rewards)]
    missing = len(rewards) - len(known)
    said = [f"{len(rewards):,} rollouts"]
    with np.errstate(over="ignore", invalid="ignore"):  # rewards may be enormous
        said += [f"mean reward {known.mean():.3g}, std {known.std():.3g}"] if len(known) else []
    said += [f"{missing:,} ({missing / len(rewards):.1%}) not judged"] if missing else []
    statuses = dict.fromkeys(status for item in components for status in item.counts)
    rows = [
        (
            item.name,
            *item.figures(),
            *(f"{item.counts[status]:,}" if item.counts[status] else "" for status in statuses),
            item.most_frequent_error(),
        )
        for item in components
    ]
    header = ("component", *FIGURES, *statuses, "most frequent error")
    body = histogram(rewards) + _table(header, rows, numeric=(*FIGURES, *statuses))
    return markup.card(f"Scores of {name}", body, said=", ".join(said))


def histogram(values: NDArray[Any], *, width: int = 420, height: int = 120) -> str:
    """A histogram of rewards as SVG, with its reach in words."""
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return "<p>no reward was judged</p>"
    low, high = float(known.min()), float(known.max())
    places = np.full(len(known), BINS // 2)
    if (span := high / 2 - low / 2) > 0:  # halves: the whole of a huge span is inf
        places = np.minimum(((known / 2 - low / 2) / span * BINS).astype(int), BINS - 1)
    counts = np.bincount(places, minlength=BINS)
    scale, step = height / counts.max(), width / BINS
    bars = "".join(
        f'<rect x="{place * step:.1f}" y="{height - count * scale:.1f}" '
        f'width="{step - 1:.1f}" height="{count * scale:.1f}" fill="{BAR}"/>'
        for place, count in enumerate(counts)
    )
    reach = f"reward from {low:.3g} to {high:.3g}" if high > low else f"reward {low:.3g}"
    label = f"{reach}, {len(known):,} completions, up to {counts.max():,} a bar"
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {width} {height + 18}" '
        f'width="{width}" height="{height + 18}" style="max-width:100%;height:auto">{bars}'
        f'<text x="0" y="{height + 14}" font-size="12" fill="currentColor">{label}</text></svg>'
    )


def check(name: str, outcome: Plain) -> str:
    """The `outcome` of a check, as its record has it: how many cases passed, and the first misses."""
    total = outcome["passed"] + outcome["failed"]
    mark = "\u2717" if outcome["failed"] else "\u2713" if total else "-"
    left_out = ", ".join(f"{count} of {component!r}" for component, count in outcome["left_out"].items())
    said = f"<p>left out, as the reward has no such component: {markup.escaped(left_out)}</p>"
    body = misses(outcome["misses"], most=MISSES, limit=TEXT) + (said if left_out else "")
    title = f"{mark} {outcome['passed']:,} of {total:,} cases passed, {outcome['failed']:,} failed"
    return markup.card(title, body, said=f"reward {name}")


def misses(
    missed: Sequence[Plain],
    *,
    text: Callable[[Any], str] = str,
    reason: Callable[[str], str] = str,
    most: int | None = None,
    limit: int = markup.LONGEST_SHOWN,
) -> str:
    """Missed expectations as a table: what was expected, what came, and why it matters; "" without any.

    `text` and `reason` stand for texts, and for reasons of errors, where these are not to be shown.
    """
    if not missed:
        return ""
    header = ("case", "what", "expected", "got", "fields", "completion", "why")
    rows = [
        (
            miss["case"],
            miss["what"],
            miss["expected"],
            reason(miss["got"]) if isinstance(miss["got"], str) else miss["got"],
            text("; ".join(f"{name} = {value!r}" for name, value in miss["fields"].items())),
            text(miss["completion"]),
            text(miss["why"]),
        )
        for miss in missed
    ]
    return markup.table(header, rows, numeric=("expected", "got"), stacked=True, most=most, limit=limit)


def _table(header: Sequence[str], rows: Sequence[Sequence[object]], *, numeric: Sequence[str] = ()) -> str:
    """A table of the first rows, with short cells and without empty columns; nothing where there are none."""
    kept = [place for place in range(len(header)) if any(row[place] != "" for row in rows)]
    head, cells = [header[place] for place in kept], [[row[place] for place in kept] for row in rows]
    return markup.table(head, cells, numeric=numeric, most=COMPONENTS, limit=TEXT) if rows else ""


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value + 0.0:.4g}"
