"""Tables, completions and extractors to look at in a notebook, where no record shows them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from pandas.api.types import is_number

from rewardkit.errors import InputError, preview
from rewardkit.html.blocks import Block, Quote, Table
from rewardkit.html.cards import USER_COLUMNS
from rewardkit.html.excerpts import UserText
from rewardkit.html.pages import Page
from rewardkit.primitives.extract import Extractor
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import Case
from rewardkit.scoring.explain import spans_of

MOST_ROWS_SHOWN = 200
MOST_EXTRACTIONS = 6  # completions on which extractors are compared
LONGEST_READ = 1000  # characters of a completion that is shown to be read


def show(table: pd.DataFrame | Sequence[Case], title: str = "") -> Page:
    """Show a table with short numbers, or its completions to be read one by one.

    Texts of rollouts are escaped, cut, and hidden in a redacted notebook.

    Args:
        table: A DataFrame, such as `diagnosis.components` or `diagnosis.highest(8)`;
            with a column `completion` each row is a completion below its figures. Or
            cases, which are rows with what each expects.
        title: What it is a table of.

    Returns:
        A page, which shows itself as the last line of a cell.

    Raises:
        InputError: Something else is given.
    """
    if isinstance(table, pd.DataFrame):
        if not len(table):
            return Page(f"{title}: none" if title else "none")
        if "completion" in table.columns:
            return Page(title, _quote_completions(table))
        return Page(title, [_table_of_figures(table)])
    if isinstance(table, Sequence) and all(isinstance(row, Case) for row in table):
        return Page(f"{title}: {len(table)}", [_table_of_cases(table)])
    raise InputError(f"show takes a DataFrame or a list of cases, not {preview(table)}")


def try_extractors(rollouts: Rollouts, reward: Reward, **extractors: Extractor) -> Page:
    """Compare the extractors of a reward with others, on the completions of rollouts.

    A table has the share of completions in which each finds something, and in which it
    differs from the first. Below it are the completions on which they differ most,
    with what each takes marked.

    Args:
        rollouts: The completions.
        reward: The reward whose fields are tried first. A reward that is read from a
            trainer's function has none.
        **extractors: Others by name, such as ``boxed=rk.extract.boxed()``.

    Returns:
        A page, which shows itself as the last line of a cell.
    """
    tried = {**_own_extractors(reward), **extractors}
    if not tried:
        return Page("no extractors to compare")
    texts = rollouts.table["completion"].tolist()
    spans = {}
    values = {}
    for name, extractor in tried.items():
        spans[name] = [spans_of(extractor, text) for text in texts]
        values[name] = _first_values(texts, spans[name])
    finders = [name for name in tried if any(map(_is_found, values[name]))]
    first = next(iter(values.values()))
    shares = []
    for name, own in values.items():
        differing = [a != b for a, b in zip(own, first, strict=True)]
        shares.append((
            name,
            repr(tried[name]),
            _share(map(_is_found, own), len(texts)),
            _share(differing, len(texts)),
        ))  # fmt: skip
    header = ("name", "extractor", "finds something", "differs from the first")
    blocks: list[Block] = [Table("", header, shares, header[2:], is_open=True)]
    if len(tried) == len(extractors):
        blocks.append(
            "This reward has no extractor of its own: "
            "what it reads, its code or the trainer's decides."
        )
    for row in _rows_of_most_variety(texts, values, finders):
        extracted = [f"{name} = {values[name][row]!r}" for name in finders]
        marked = {name: spans[name][row] for name in finders}
        about = UserText("; ".join(extracted), instead="")
        blocks.append(Quote(about, texts[row], marked, LONGEST_READ))
    return Page("extractions, where they differ most", blocks)


# --- tables


def _table_of_figures(table: pd.DataFrame) -> Table:
    header = list(map(str, table.columns))
    numeric = [str(name) for name in table.columns if table[name].map(is_number).all()]
    rows = []
    for row in table.itertuples(index=False):
        cells = zip(header, row, strict=True)
        rows.append([_cell(name, value) for name, value in cells])
    return Table("", header, rows, numeric, is_open=True, most=MOST_ROWS_SHOWN)


def _table_of_cases(cases: Sequence[Case]) -> Table:
    rows = []
    for case in cases:
        expected = case.reward.written if case.reward else ""
        completion = UserText(case.columns.get("completion"))
        rows.append((case.name, expected, completion, UserText(case.why)))
    header = ("case", "expects", "completion", "why")
    return Table("", header, rows, is_open=True, most=MOST_ROWS_SHOWN)


def _quote_completions(table: pd.DataFrame) -> list[Quote]:
    quotes = []
    for record in table.to_dict("records"):
        completion = record.pop("completion")
        figures = []
        for name, value in record.items():
            # a route has no score for the components of its other parts
            if value is not None and not _is_nan(value):
                words = str(name).replace("_", " ")
                if str(name).startswith("score/"):
                    words = str(name).removeprefix("score/")
                figures.append(f"{words} {_cell(name, value)}")
        quotes.append(Quote(", ".join(figures), str(completion), {}, LONGEST_READ))
    return quotes


def _cell(name: Any, value: Any) -> object:
    if name in USER_COLUMNS:
        return UserText(value)
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "-"
    return "0" if abs(value) < 1e-9 else f"{value:.3g}"


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


# --- extractors


def _own_extractors(reward: Reward) -> dict[str, Extractor]:
    """Return the fields that are extractors, of a route with the name of their part."""
    extractors = {}
    for part in reward.branches:
        for name, field in part.fields.items():
            if isinstance(field, Extractor):
                is_route = len(reward.branches) > 1
                extractors[f"{part.name}: {name}" if is_route else name] = field
    return extractors


def _first_values(texts: Sequence[str], spans: Sequence[Any]) -> list[str | None]:
    values: list[str | None] = []
    for text, found in zip(texts, spans, strict=True):
        values.append(text[slice(*found[0])] if found else None)
    return values


def _is_found(value: str | None) -> bool:
    return value is not None


def _share(flags: Any, total: int) -> str:
    return f"{sum(flags) / max(total, 1):.1%}"


def _rows_of_most_variety(
    texts: Sequence[str], values: dict[str, list[str | None]], names: Sequence[str]
) -> list[int]:
    """Return the rows on which the extractors differ most, each text once."""
    variety = [len({values[name][row] for name in names}) for row in range(len(texts))]
    rows: dict[str, int] = {}
    for row in sorted(range(len(texts)), key=lambda row: -variety[row]):
        rows.setdefault(texts[row], row)
    return list(rows.values())[:MOST_EXTRACTIONS]
