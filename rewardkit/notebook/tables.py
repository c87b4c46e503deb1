"""Show tables, completions and extractors in a notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_number

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.view import View
from rewardkit.errors import InputError, preview
from rewardkit.findings import short_number
from rewardkit.html.blocks import Block, Picture, Quote, Table
from rewardkit.html.cards import USER_COLUMNS
from rewardkit.html.excerpts import UserText, one_line
from rewardkit.html.pages import Page, explain_columns
from rewardkit.html.pictures import group_svg
from rewardkit.primitives.extract import Extractor
from rewardkit.primitives.texts import is_missing
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import Case
from rewardkit.scoring.explain import spans_of

GROUP_SIZES = (2, 4, 8, 16, 32)  # as trainers have them
MOST_TABLE_ROWS = 200
MOST_EXTRACTIONS = 6  # completions shown with the results of extractors
LONGEST_PROMPT = 160  # characters of a prompt above a completion
LONGEST_QUOTE = 1000  # characters of a completion
GLOSSARIES = (
    {
        "zero_std": "share of the groups without a signal: all siblings earn the same",
        "task_signal": "share of the groups with a signal of the task: some of their "
        "completions did it and some did not",
        "none_right": "share of the groups in which no completion scores above the "
        "lowest score of the primary component",
        "top_decile": "share of the absolute advantage in the tenth of the groups that "
        "holds most",
        "sample_size": "how many rows of equal advantage would be worth as much, as a "
        "share of all rows",
    },
    {
        "groups": "those with so many rewards",
        "batches": "how many a trainer samples for a full one, where it drops groups "
        "without a signal (DAPO)",
    },
    {
        "effective_weight": "share of the squared advantage",
        "sign_influence": "share of the advantages whose sign turns without it",
        "at_minimum": "share of the scores at the lower end of the declared range, or "
        "at the lowest score",
        "at_maximum": "the same at the upper end",
        "between": "share of the variance between groups, which group advantages never "
        "see",
        "dead_groups": "share of the groups whose siblings all get the same score",
        "tied_pairs": "share of the pairs of siblings that get the same score",
    },
)
"""Explanations of columns, for tables that have all columns of one glossary."""


# --- figures as data frames


def group_sizes(
    diagnosis: Diagnosis, sizes: Sequence[int] = GROUP_SIZES
) -> pd.DataFrame:
    """Return the share of groups without a signal by group size (and part).

    Sizes go up to the sampled size. ``groups`` counts the groups with at least that
    many rewards; ``batches`` is the number of batches to sample for a full one if such
    groups are dropped.
    """
    rows = []
    for size in sizes:
        for part, share in diagnosis.dead_share(size).items():
            if not share.groups:
                continue
            low, high = share.interval
            rows.append({
                "part": part,
                "group_size": size,
                "groups": share.groups,
                "without_a_signal": share.value,
                "from": low,
                "to": high,
                "batches": share.batches,
            })  # fmt: skip
    return _table_by_part(rows)


def correlated(diagnosis: Diagnosis) -> pd.DataFrame:
    """Return the correlation of each pair of components among siblings.

    The strongest pairs come first; `why_not` says why a correlation is missing.
    """
    pairs = []
    for view in diagnosis.views:
        for pair in view.correlations.values():
            pairs.append({"part": view.part, **pair.record()})
    pairs.sort(key=lambda pair: -abs(np.nan_to_num(pair["value"])))
    return _table_by_part(pairs).rename(columns={"value": "correlation"})


def group_pictures(diagnosis: Diagnosis) -> Page:
    """Draw the range and mean of groups by mean reward, and groups without a signal."""
    return Page("Groups", draw_groups(diagnosis.views))


def draw_groups(views: Sequence[View]) -> list[Block]:
    """Draw the groups of each part of the reward, below its name."""
    blocks: list[Block] = []
    for view in views:
        if view.part:
            blocks.append(view.part)
        stats = view.stats
        svg = group_svg(stats.low, stats.mean, stats.high, view.dead)
        blocks.append(Picture(svg))
    return blocks


def _table_by_part(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows as a table, without the column "part" if no row has a part."""
    # dtype object, as Arrow-backed text refuses lone surrogates
    table = pd.DataFrame(rows, dtype=object)
    return table if table.empty or table["part"].any() else table.drop(columns="part")


# --- tables and completions as pages


def show(table: pd.DataFrame | Sequence[Case], title: str = "") -> Page:
    """Show a table with short numbers, or its completions one by one.

    Texts of rollouts are escaped and cut, and hidden in a redacted notebook. Folded
    explanations of columns follow a table of a diagnosis.

    Args:
        table: A DataFrame, such as `diagnosis.components` or `diagnosis.highest(8)`, or
            a list of cases. A row with a column `completion` is shown as that
            completion below its figures.
        title: The title of the page.

    Returns:
        A page, which is shown as the last line of a cell.

    Raises:
        InputError: Anything else.
    """
    if isinstance(table, pd.DataFrame):
        if not len(table):
            return Page(f"{title}: none" if title else "None")
        if "completion" in table.columns:
            return Page(title, _quote_completions(table))
        return Page(title, [_table_of_figures(table), *_explain_columns(table)])
    if isinstance(table, Sequence) and all(isinstance(row, Case) for row in table):
        return Page(f"{title}: {len(table)}", [_table_of_cases(table)])
    raise InputError(f"show takes a DataFrame or a list of cases, not {preview(table)}")


def _table_of_figures(table: pd.DataFrame) -> Table:
    header = list(map(str, table.columns))
    numeric = [str(name) for name in table.columns if table[name].map(is_number).all()]
    rows = []
    for row in table.itertuples(index=False):
        rows.append(list(map(_format_value, header, row)))
    return Table("", header, rows, numeric, most=MOST_TABLE_ROWS)


def _explain_columns(table: pd.DataFrame) -> list[Block]:
    blocks: list[Block] = []
    for glossary in GLOSSARIES:
        if set(glossary) <= set(table.columns):
            blocks.append(explain_columns(glossary))
    return blocks


def _table_of_cases(cases: Sequence[Case]) -> Table:
    rows = []
    for case in cases:
        labels = ("equal", "equal") if case.is_equal else ("above", "below")
        for part, row in zip(labels, case.rows, strict=False):
            expected: Any = part
            if case.below is None:
                expected = case.reward.written if case.reward else ""
            completion = UserText(row.get("completion"))
            rows.append((case.name, expected, completion, UserText(case.why)))
    header = ("case", "expects", "completion", "why")
    return Table("", header, rows, most=MOST_TABLE_ROWS)


def _quote_completions(table: pd.DataFrame) -> list[Quote]:
    quotes = []
    for record in table.to_dict("records"):
        completion = record.pop("completion")
        prompt = UserText(record.pop("prompt", None))
        figures = []
        for name, value in record.items():
            # a row has no score for components of other branches of a route
            if not is_missing(value):
                words = str(name).removeprefix("score/").removesuffix("_id")
                figures.append(f"{words} {_format_value(str(name), value)}")
        about = ", ".join(figures)
        if prompt.text is not None:
            about += f"; prompt: {one_line(prompt, LONGEST_PROMPT)}"
        quotes.append(Quote(about, str(completion), {}, LONGEST_QUOTE))
    return quotes


def _format_value(name: str, value: Any) -> object:
    if name in USER_COLUMNS:
        return UserText(value)
    if isinstance(value, float):
        return "-" if math.isnan(value) else short_number(value)
    if isinstance(value, int) and not name.endswith("id"):
        return f"{value:,}"
    return str(value)


# --- extractors


def try_extractors(rollouts: Rollouts, reward: Reward, **extractors: Extractor) -> Page:
    """Compare the extractors of a reward with others, on the completions of rollouts.

    A table has, for each extractor, the share of completions in which it finds
    something, and in which it differs from the first. Below are the completions on
    which they differ most, with each extraction marked.

    Args:
        rollouts: The completions.
        reward: The reward whose fields are tried first. A reward read from a trainer's
            function has none.
        **extractors: Others by name, such as ``boxed=rk.extract.boxed()``.

    Returns:
        A page, which is shown as the last line of a cell.
    """
    fields = _extractors_of(reward)
    by_name = {**fields, **extractors}
    if not by_name:
        return Page("No extractors to compare")
    texts = rollouts.table["completion"].tolist()
    spans = {}
    values = {}
    for name, extractor in by_name.items():
        spans[name] = [spans_of(extractor, text) for text in texts]
        values[name] = list(map(_first_value, texts, spans[name]))
    first = next(iter(values.values()))
    shares = []
    for name, column in values.items():
        finds = len(texts) - column.count(None)
        differs = sum(a != b for a, b in zip(column, first, strict=True))
        total = max(len(texts), 1)
        function = repr(by_name[name])
        shares.append(
            (name, function, f"{finds / total:.1%}", f"{differs / total:.1%}")
        )
    header = ("name", "extractor", "finds something", "differs from the first")
    blocks: list[Block] = [Table("", header, shares, header[2:])]
    if len(by_name) == len(extractors):
        blocks.append(
            "This reward has no extractor of its own: "
            "what it reads, its code or the trainer's decides."
        )
    finders = [name for name in values if values[name].count(None) < len(texts)]
    for row in _rows_of_most_variety(texts, [values[name] for name in finders]):
        extracted = "; ".join(f"{name} = {values[name][row]!r}" for name in finders)
        marked = {name: spans[name][row] for name in finders}
        about = UserText(extracted, instead="")
        blocks.append(Quote(about, texts[row], marked, LONGEST_QUOTE))
    return Page("Extractions, where they differ most", blocks)


def _extractors_of(reward: Reward) -> dict[str, Extractor]:
    """Return the extractors of a reward by field; in a route with the branch's name."""
    extractors = {}
    for part in reward.branches:
        for name, field in part.fields.items():
            if isinstance(field, Extractor):
                is_route = len(reward.branches) > 1
                extractors[f"{part.name}: {name}" if is_route else name] = field
    return extractors


def _first_value(text: str, spans: Sequence[tuple[int, int]]) -> str | None:
    return text[slice(*spans[0])] if spans else None


def _rows_of_most_variety(
    texts: Sequence[str], columns: Sequence[Sequence[str | None]]
) -> list[int]:
    """Return the rows on which the extractors differ most, without equal texts."""
    variety = []
    for row in range(len(texts)):
        variety.append(len({column[row] for column in columns}))
    rows: dict[str, int] = {}
    for row in sorted(range(len(texts)), key=lambda row: -variety[row]):
        rows.setdefault(texts[row], row)
    return list(rows.values())[:MOST_EXTRACTIONS]
