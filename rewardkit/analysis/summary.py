"""The page of a diagnosis, its tables, and the figures kept with a run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from rapidfuzz import fuzz

from rewardkit.analysis.statistics import (
    Codes,
    Floats,
    Mask,
    between_share,
    count_ties,
    group_stats,
    ratio,
)
from rewardkit.analysis.statistics.advantages import (
    sample_size,
    top_decile,
)
from rewardkit.analysis.statistics.pairs import concordance
from rewardkit.analysis.view import View
from rewardkit.findings import SEVERITIES, Findings, counted, percent
from rewardkit.html.blocks import Block, Table
from rewardkit.html.excerpts import one_line
from rewardkit.html.pages import More, Page, accepted_findings, point_of
from rewardkit.plain import Record
from rewardkit.rewards.reward import Rows
from rewardkit.rollouts.values import as_column, column_values
from rewardkit.scoring.outcomes import STATUSES
from rewardkit.scoring.scores import Scores

MOST_IN_FULL = 3
"""Findings that are written in full; the others are named."""
MOST_FOLDED = 12
"""Findings of one severity that are folded; the others are counted."""
OPEN_COMPONENTS = 8
"""Components up to which their table is open."""
VERDICTS = {"high": "not ready", "warn": "usable", "info": "fine"}
NOUNS = {"high": "grave finding", "warn": "warning", "info": "note"}


MOST_CANDIDATES = 500
"""Rows of the highest rewards among which different ones are looked for. Our choice."""
SAME_TO_READ = 90.0
"""rapidfuzz ratio from which two completions are the same to read. Our choice."""
STEP_QUANTILES = {"p5": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95}
COMPARED_CHARACTERS = 2_000
"""Of each completion: rapidfuzz takes the square of their number."""


# --- the page


def name_codes(findings: Iterable[Any]) -> str:
    """List the codes of findings, with how often each occurs more than once."""
    names = []
    for code, count in Counter(finding.code for finding in findings).items():
        if count > 1:
            code = f"{code} ({count})"
        names.append(code)
    return ", ".join(names)


def diagnosis_page(
    name: str,
    on: str,
    findings: Findings,
    views: Sequence[View],
    notes: Sequence[str],
) -> Page:
    """Return the page of a diagnosis.

    The most severe findings are in full; the others, and a table of the components of
    each view, are folded.

    Args:
        name: of the reward.
        on: what it was diagnosed on.
        findings: in the order of the diagnosis.
        views: one a part of the reward.
        notes: what could not be judged, a sentence each.
    """
    accepted = [item for item in findings if item.accepted]
    warnings = [item for item in findings if item.gravity != "info"]
    infos = [item for item in findings if item.gravity == "info" and not item.accepted]
    in_full = warnings[:MOST_IN_FULL]
    severities = [finding.gravity for finding in findings]
    verdict = VERDICTS[min(severities, key=SEVERITIES.index, default="info")]
    too_few = [finding for finding in infos if finding.code == "not_enough"]
    has_pairs = any(view.several for view in views)
    if not has_pairs or (verdict == "fine" and too_few):
        verdict = "cannot be judged yet"
        in_full = in_full or too_few
    infos = [finding for finding in infos if finding not in in_full]
    others = name_codes([*warnings[MOST_IN_FULL:], *infos])
    blocks: list[Block] = [" ".join([on, *map(_signal, views[:MOST_IN_FULL])])]
    blocks += map(point_of, in_full)
    blocks.append(_folded_findings("more warning", warnings[MOST_IN_FULL:]))
    blocks.append(_folded_findings("note", infos))
    blocks.append(accepted_findings(accepted))
    blocks += [f"Note: {one_line(note)}." for note in notes]
    blocks += [More("", [_components(view)]) for view in views]
    foot = ""
    if others:
        foot = f"Also: {others}. All: diagnosis.text(verbose=True)."
    return Page(
        f"{one_line(name)}: {verdict}. {_counts(findings)}.",
        blocks,
        foot=foot,
    )


def _counts(findings: Findings) -> str:
    """Count the findings by severity, and those that are accepted."""
    counts = Counter(item.severity for item in findings if not item.accepted)
    words = []
    for severity, noun in NOUNS.items():
        if counts[severity]:
            words.append(counted(counts[severity], noun))
    accepted = sum(bool(item.accepted) for item in findings)
    if accepted:
        words.append(f"{accepted} accepted")
    return ", ".join(words) or "Nothing found"


def _signal(view: View) -> str:
    """Say how many groups have a signal."""
    sentence = "No group has two completions with a reward, so there is no advantage."
    if view.several:
        live = percent(1 - int(view.dead.sum()) / view.several)
        verb = "has" if view.several == 1 else "have"
        sentence = f"{live} of {counted(view.several, 'group')} {verb} a signal"
        sentence += f"{_of_the_task(view)}."
    if view.part:
        return f"[{view.part}] {sentence}"
    return sentence


def _of_the_task(view: View) -> str:
    """Say how many groups have a signal of the task."""
    verdicts = view.verdicts
    if verdicts is None:
        return "; whether one of the task is not known without a label"
    if len(view.paid_names) == 1 and verdicts.is_component:
        return ""  # the reward is the task
    share = float(np.nanmean(view.has_task_signal))
    by = "" if verdicts.is_component else f" ({one_line(verdicts.words)})"
    return f", {percent(share)} one of the task{by}"


def _folded_findings(word: str, findings: Findings) -> More:
    points: list[Block] = [*map(point_of, findings[:MOST_FOLDED])]
    hidden = len(findings) - len(points)
    if hidden:
        points.append(f"and {hidden} more in diagnosis.findings")
    return More(counted(len(findings), word), points)


def _components(view: View) -> Table:
    """Return the table of weights, declared and effective."""
    rows = []
    for name in view.names:
        weight = f"{view.components[name].weight:g}"
        declared = percent(view.declared_weights[name])
        effective = percent(view.effective_weights.get(name, math.nan))
        influence = percent(view.sign_influence[name])
        rows.append((name, weight, declared, effective, influence))
    header = (
        "component",
        "weight",
        "declared share",
        "share of the advantage",
        "signs that change without it",
    )
    of_part = f" of {view.part}" if view.part else ""
    caption = f"Components{of_part}: weights declared and effective"
    is_open = len(rows) <= OPEN_COMPONENTS
    return Table(caption, header, rows, header[1:], is_open, most=len(rows))


# --- tables


def _part_of(view: View) -> Record:
    """Return the first cell of a row, the part, where the reward has several."""
    return {"part": view.part} if view.part else {}


def component_row(view: View, name: str) -> Record:
    """Return one row of `Diagnosis.components`."""
    values = view.scores[name]
    scores = pd.Series(values).dropna()
    low, high = view.span(name)
    statuses = np.bincount(view.status[name], minlength=len(STATUSES)).tolist()
    return _part_of(view) | {
        "component": name,
        "weight": float(view.components[name].weight),
        "effective_weight": view.effective_weights.get(name, math.nan),
        "sign_influence": view.sign_influence[name],
        **dict(zip(STATUSES, statuses, strict=True)),
        "mean": scores.mean(),
        "std": scores.std(),
        "lowest": scores.min(),
        "highest": scores.max(),
        "at_minimum": (scores == low).mean(),
        "at_maximum": (scores == high).mean(),
        "between": between_share(values, view.groups),
        "dead_groups": group_stats(values, view.groups).dead_share,
        "tied_pairs": ratio(*count_ties(values, view.groups)),
    }


def signal_of(view: View, rows: Mask) -> Record:
    """Return the figures of `Diagnosis.group_signal` for some groups of a view."""
    kinds, groups = np.unique(view.groups[rows], return_inverse=True)
    rewards = view.rewards[rows]
    advantages = view.advantages[rows]
    primary = view.primary_scores[rows]
    several = group_stats(rewards, groups).count > 1
    least = view.span(view.primary)[0]
    silent = pd.DataFrame(
        {
            "zero_std": view.dead[kinds],
            "task_signal": view.has_task_signal[kinds],
            "none_right": group_stats(primary, groups).high == least,
        }
    )
    shares = {**silent[several].mean()}
    mean_name = "mean_primary" if view.part else f"mean_{view.primary}"
    return {
        "groups": len(kinds),
        "mean_reward": pd.Series(rewards).mean(),
        mean_name: pd.Series(primary).mean(),
        **shares,
        "top_decile": top_decile(advantages, groups),
        "sample_size": sample_size(advantages),
    }


def over_steps(view: View, window: int, apart: int) -> pd.DataFrame:
    """Return the rows of `Diagnosis.over_steps` for one part of the reward."""
    steps = view.context.steps
    if steps is None:
        return pd.DataFrame()
    order = np.argsort(steps, kind="stable")  # NaN last
    distinct, starts = np.unique(steps[order], return_index=True)
    distinct = distinct[~np.isnan(distinct)]
    ends = [*starts[1:].tolist(), len(steps)]
    rows = []
    for place in range((len(distinct) - 1) % apart, len(distinct), apart):
        step = distinct[place]
        first = max(0, place + 1 - window)
        inside = np.sort(order[starts[first] : ends[place]])
        for name, values in {"reward": view.rewards, **view.scores}.items():
            row = _part_of(view) | {"step": step, "figure": name}
            rows.append(row | _step_figures(view, name, values, inside))
    return pd.DataFrame(rows)


def _step_figures(view: View, name: str, values: Floats, inside: Rows) -> Record:
    """Return the figures of the reward or a component at some rows."""
    column = pd.Series(values[inside])
    quantiles = column.quantile([*STEP_QUANTILES.values()])
    at_minimum = np.nan
    if name in view.components:
        at_minimum = float((column.dropna() == view.span(name)[0]).mean())
    return {
        "rows": int(column.count()),
        "mean": column.mean(),
        "std": column.std(),
        **dict(zip(STEP_QUANTILES, quantiles, strict=True)),
        "at_minimum": at_minimum,
        "zero_std": group_stats(values[inside], view.groups[inside]).dead_share,
    }


def highest(scores: Scores, view: View, n: int) -> pd.DataFrame:
    """Return the rows of `Diagnosis.highest` for one part of the reward."""
    rows = different(view, n)
    table = scores.table.iloc[view.rows[rows]]
    names = ["rollout_id", *scores.rollouts.group_key]
    columns: Record = {}
    if view.part:
        columns["part"] = [view.part] * len(rows)
    for name in names:
        columns[name] = column_values(table[name])
    columns |= {"reward": view.rewards[rows], "advantage": view.advantages[rows]}
    for name in view.paid_names:
        columns[f"score/{name}"] = view.scores[name][rows]
    columns["completion"] = column_values(table["completion"])
    for name, values in columns.items():
        if isinstance(values, list):  # pandas' own texts take no lone surrogates
            columns[name] = as_column(values)
    return pd.DataFrame(columns)


def different(view: View, n: int) -> Codes:
    """Return up to `n` rows, highest reward first, one a prompt where possible."""
    advantages = np.nan_to_num(view.advantages)
    table = pd.DataFrame({"reward": view.rewards, "advantage": advantages}).dropna()
    largest = table.nlargest(MOST_CANDIDATES, ["reward", "advantage"])
    candidates = largest.index.to_numpy()
    first = view.bootstrap.firsts(candidates)
    places = dict.fromkeys([*first.tolist(), *range(len(candidates))])
    chosen: dict[int, str] = {}
    for place in places:
        if len(chosen) == n:
            break
        text = view.completions[candidates[place]][:COMPARED_CHARACTERS]
        others = chosen.values()
        if not any(fuzz.ratio(text, x, score_cutoff=SAME_TO_READ) for x in others):
            chosen[place] = text
    return candidates[np.sort(np.array([*chosen], dtype=np.intp))]


# --- kept with a run


def run_figures(views: Sequence[View]) -> Record:
    """Return the figures of a diagnosis that are kept with a run.

    ``label_auc`` is the share of the sibling pairs with different labels that the
    reward orders as the label does, ties half; the label may be one that a component
    repeats. ``effective_weights`` is each component's share of the squared advantage.
    Figures that are not known are left out. Of a route each is a dict by part.
    """
    if len(views) == 1:
        return _figures_of(views[0])
    joined: Record = {}
    for view in views:
        for name, value in _figures_of(view).items():
            joined.setdefault(name, {})[view.part] = value
    if "label_auc" in joined:  # one number to compare versions by
        joined["label_auc"] = float(np.mean([*joined["label_auc"].values()]))
    return joined


def _figures_of(view: View) -> Record:
    figures: Record = {}
    if view.effective_weights:
        figures["effective_weights"] = view.effective_weights
    label = view.context.any_label
    if label is not None:
        auc = ratio(*concordance(view.rewards, label, view.groups))
        if not math.isnan(auc):
            figures["label_auc"] = auc
    return figures
