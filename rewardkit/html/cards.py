"""What rollouts, rewards, results, scores and checks show of themselves: plain data in, escaped HTML out.

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

from rewardkit.html.markup import html_of, number, render, table
from rewardkit.html.pictures import histogram_svg

Plain = Mapping[str, Any]

TEXT = 200  # characters of a text of the rollouts, of a function, of a reason
MISSES = 12  # missed expectations that are open
FIGURES = ("weight", "mean", "std", "lowest", "highest")


def reward(about: Plain) -> str:
    """A reward, as its record has it: fields, components, options; of a route what is paid for each value."""
    rows: list[tuple[Any, ...]] = []
    if route := about.get("route"):
        inner = [(item["value"], item["reward"]) for item in route["rewards"]]
        inner += [("(any other)", route["default"])] if route["default"] else []
        for value, one in inner:
            paid = ", ".join(
                f"{name} {weight:g}" for name, weight in one["weights"].items()
            )
            rows.append((value, one["name"], paid, one["aggregation"]))
    for item in about.get("components", ()):
        weight, gate = f"{item['weight']:g}", item["gate"] or ""
        span = (
            " to ".join(f"{float(end):g}" for end in item["range"] or ()) or "unbounded"
        )
        rows.append((item["name"], item["function"], weight, gate, span, item["why"]))
    return render("reward", about=about, rows=rows)


def rollouts(about: Plain, columns: Sequence[str], first: Sequence[Plain]) -> str:
    """Rollouts: how they were read and grouped, and the `first` of them; `about` is their summary.

    Without `first` no text of theirs is in it.
    """
    rows = html_of(_first_rows(first, about["group_key"]) if first else "")
    left = about["rows"] - len(first) if first else 0
    return render(
        "rollouts", about=about, facts=facts(about, columns), first=rows, left_out=left
    )


def facts(about: Plain, columns: Sequence[str] = ()) -> list[tuple[str, str]]:
    """What was read and how, a row each with its name: source, groups, columns, notes, warnings.

    Without `columns` only those that were renamed.
    """
    sizes = ", ".join(
        f"{count} of {size}" for size, count in about["group_sizes"].items()
    )
    renamed = [
        f"{name} from {source}"
        for name, source in about["mapping"].items()
        if name != source
    ]
    all_columns = ", ".join(columns) + (
        f" ({', '.join(renamed)})" if columns and renamed else ""
    )
    rejected = len(about["rejected"])
    kept_out = f", {rejected} row{'s' * (rejected != 1)} kept out" if rejected else ""
    kind = f" ({about['kind']})" if about["kind"] not in ("", "rollouts") else ""
    key = ", ".join(about["group_key"]) or "row"
    prompts = (
        f", of {about['prompts']:,} prompts"
        if about["prompts"] != about["groups"]
        else ""
    )
    rows = [
        ("Rollouts", f"{about['rows']:,} from {about['source']}{kind}{kept_out}"),
        (
            "Groups",
            f"{about['groups']:,} by {key}"
            + (f" (sizes: {sizes})" if sizes else "")
            + prompts,
        ),
        ("Columns", all_columns or ", ".join(renamed)),
        ("Log", "\n".join(about["notes"])),
        *(("Note", sentence) for sentence in about["warnings"]),
    ]
    return [(name, text) for name, text in rows if text]


def _first_rows(rows: Sequence[Plain], group_key: Sequence[str]) -> str:
    """Rollouts as a table: id, what makes their group, texts; a prompt that stands above is not repeated."""
    wanted = dict.fromkeys(
        ["rollout_id", *group_key, "prompt", "completion", "ground_truth"]
    )
    names = [name for name in wanted if any(name in row for row in rows)]
    cells = [
        ["-" if row[name] is None else row[name] for name in names] for row in rows
    ]
    for row, above, cell in zip(rows[1:], rows, cells[1:], strict=False):
        if "prompt" in names and row["prompt"] == above["prompt"]:
            cell[names.index("prompt")] = "as above"
    return table(names, cells, limit=TEXT)


@dataclass(frozen=True)
class Scored:
    """A component of scored rollouts: scores (NaN unless scored), counts by status, reasons of its errors."""

    name: str
    weight: float
    scores: NDArray[Any]
    counts: Mapping[str, int]
    errors: Sequence[str]


def scores(
    name: str,
    rewards: NDArray[Any],
    components: Sequence[Scored],
    asked: Sequence[str] = (),
) -> str:
    """Scored rollouts: how the reward is spread, a row a component, and what models were `asked`.

    Of a component: weight, mean, spread and observed range, counts, the reason that most errors have.
    """
    missing = int(np.isnan(rewards).sum())
    said = [f"{len(rewards):,} rollouts"]
    if missing < len(rewards):
        said.append("mean reward {:.3g}, std {:.3g}".format(*_figures(rewards)))
    said += (
        [f"{missing:,} ({missing / len(rewards):.1%}) not judged"] if missing else []
    )
    statuses = list(
        dict.fromkeys(status for item in components for status in item.counts)
    )
    rows = []
    for item in components:
        counts = [
            f"{item.counts[status]:,}" if item.counts[status] else ""
            for status in statuses
        ]
        most = [
            f"{count:,} times {reason}"
            for reason, count in Counter(item.errors).most_common(1)
        ] or [""]
        rows.append([item.name, item.weight, *_figures(item.scores), *counts, *most])
    return render(
        "scores",
        name=name,
        said=", ".join(said),
        histogram=html_of(histogram_svg(rewards)),
        header=["component", *FIGURES, *statuses, "most frequent error"],
        rows=rows,
        asked=asked,
    )


def _figures(values: NDArray[Any]) -> list[float]:
    """Mean, spread and ends of what is known."""
    known = values[~np.isnan(values)]
    with np.errstate(over="ignore", invalid="ignore"):  # unbounded ones may be enormous
        return (
            [known.mean(), known.std(), known.min(), known.max()]
            if len(known)
            else [math.nan] * 4
        )


def check(
    name: str,
    outcome: Plain,
    *,
    text: Callable[[Any], str] = str,
    reason: Callable[[str], str] = str,
) -> str:
    """The `outcome` of a check, as its record has it: how many cases passed, and the misses, the first open.

    `text` and `reason` stand for texts, and for reasons of errors, where these are not to be shown.
    """
    header = ("case", "what", "expected", "got", "fields", "completion", "why")
    rows = [
        (
            miss["case"],
            miss["what"],
            miss["expected"],
            reason(miss["got"]) if isinstance(miss["got"], str) else miss["got"],
            text(
                "; ".join(
                    f"{name} = {value!r}" for name, value in miss["fields"].items()
                )
            ),
            text(f"{miss['turns']}{miss['completion']}"),
            text(miss["why"]),
        )
        for miss in outcome["misses"]
    ]
    left_out = ", ".join(
        f"{count} of {component!r}" for component, count in outcome["left_out"].items()
    )
    values = {
        "name": name,
        "left_out": left_out,
        "header": header,
        "first": rows[:MISSES],
        "rest": rows[MISSES:],
    }
    return render("check", **{**outcome, **values})


def judged(about: Plain, figures: Sequence[tuple[str, str]]) -> str:
    """A judge against labels, as its record has it: the verdict, figures, levels, and attacks that worked."""
    levels = [tuple(row[name] for name in LEVELS) for row in about["calibration"]]
    attacks = [tuple(one[name] for name in ATTACKS) for one in about["examples"]]
    return render(
        "judge_report", about=about, figures=figures, levels=levels, attacks=attacks
    )


LEVELS = ("level", "score", "n", "value")
ATTACKS = ("attack", "before", "after", "text", "completion")
TOLD = ("level", "reason", "tokens", "cost", "cached", "raw")
"""Of a verdict what has a place of its own; what else it holds is told behind the reason."""


def verdicts(said: Mapping[str, Plain]) -> str:
    """What models said by component: level, reason, tokens and cost, and the raw answers behind a fold.

    "" where none was asked.
    """
    rows, raw = [], []
    for name, verdict in said.items():
        tokens = " + ".join(f"{count:,.0f}" for count in verdict.get("tokens") or ())
        cost = number(verdict["cost"]) if verdict.get("cost") is not None else ""
        cached = bool(verdict.get("cached"))
        more = [
            f"{key}: {value}"
            for key, value in verdict.items()
            if key not in TOLD and value is not None
        ]
        reason = "\n".join([str(verdict.get("reason", "")), *more])
        level = verdict.get("level", "not judged")
        rows.append(
            (
                name,
                level,
                reason,
                "" if cached else tokens,
                "cached" if cached else cost,
            )
        )
        raw += [(name, text) for text in verdict.get("raw") or ()]
    return render("verdicts", rows=rows, raw=raw) if rows else ""
