"""The tab Browse: filter completions, read them, and make cases of them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rewardkit.analysis.statistics import Codes, Floats, Mask
from rewardkit.analysis.summary import different
from rewardkit.findings import short_number
from rewardkit.html.excerpts import one_line
from rewardkit.notebook.workbench import reading
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.case_form import CaseForm
from rewardkit.notebook.workbench.parts import (
    Message,
    Panel,
    html,
    redraw,
    render,
    row,
    stack,
)
from rewardkit.scoring.outcomes import STATUSES

MOST_HIGHEST = 24
"""Diverse completions of the highest rewards. Our choice."""
WRONG_BUT_PAID = "wrong but paid"
RIGHT_BUT_UNPAID = "right but unpaid"
LIMITED = {
    WRONG_BUT_PAID: "; wrong, and paid {} or more (another limit: from)",
    RIGHT_BUT_UNPAID: "; right, and paid {} or less (another limit: to)",
}
"""Kind of a filter with a default limit -> the words that name the limit."""
FILTER_KINDS = {
    "all": "all completions",
    "highest": "highest rewards, diverse",
    WRONG_BUT_PAID: WRONG_BUT_PAID,
    RIGHT_BUT_UNPAID: RIGHT_BUT_UNPAID,
    "gated": "behind a closed gate",
    "abstained": "not judged by a component",
    "error": "with an error",
    "no reward": "without a reward",
    "tied": "in groups without a signal",
    "flagged": "flagged",
}
ROW_ORDERS = (
    "reward, highest first",
    "reward, lowest first",
    "advantage",
    "length",
    "log",
)


@dataclass(frozen=True)
class Filter:
    """The settings of the filter.

    `low` and `high` limit the score of `component`, or the reward if it is "". Infinite
    limits pass all rows; finite limits drop missing scores. For kinds that say why a
    score is missing, `component` "" means any component. `low` is also the least reward
    of "wrong but paid", and `high` the largest of "right but unpaid". `text` is
    searched in completions, ignoring case. `column` must have the text `value`.
    """

    kind: str = "all"
    component: str = ""
    low: float = -math.inf
    high: float = math.inf
    text: str = ""
    column: str = ""
    value: str = ""
    order: str = ROW_ORDERS[0]


@dataclass(eq=False)
class Sieve:
    """A filter of a bench's rows; data that no weight changes is computed once."""

    bench: Bench

    def rows(self, row_filter: Filter) -> Codes:
        """Return the rows that pass a filter, in its order."""
        mask = self._mask_kind(row_filter)
        scores = self.bench.scores
        values = self.bench.figures.rewards
        if row_filter.component:
            values = scores.score(row_filter.component)
        if row_filter.low > -math.inf:
            mask &= values >= row_filter.low - 1e-9
        if row_filter.high < math.inf:
            mask &= values <= row_filter.high + 1e-9
        if row_filter.column:
            mask &= self._texts_of(row_filter.column) == row_filter.value
        if row_filter.text:
            mask &= self._find_text(row_filter.text, mask)
        rows = np.flatnonzero(mask)
        return rows[np.argsort(self._keys(row_filter.order, rows), kind="stable")]

    def limit(self, row_filter: Filter) -> float:
        """Return the reward that separates paid from unpaid completions.

        That is the limit in the filter, else the middle between right and wrong rows.
        """
        limit = row_filter.low if row_filter.kind == WRONG_BUT_PAID else row_filter.high
        if math.isinf(limit) or row_filter.component:
            return self.bench.middle
        return limit

    def _mask_kind(self, row_filter: Filter) -> Mask:
        """Return a new mask of the rows of the filter's kind, (rows,)."""
        bench = self.bench
        kind = row_filter.kind
        rewards = bench.figures.rewards
        right = bench.right[0]
        if kind == WRONG_BUT_PAID:
            return np.asarray((right == 0) & (rewards >= self.limit(row_filter)))
        if kind == RIGHT_BUT_UNPAID:
            return np.asarray((right == 1) & (rewards <= self.limit(row_filter)))
        if kind == "no reward":
            return np.isnan(rewards)
        mask = np.full(len(rewards), kind == "all")
        if kind in STATUSES:
            names = bench.scores.reward.names
            if row_filter.component:
                names = (row_filter.component,)
            for name in names:
                mask |= bench.scores.status(name) == STATUSES.index(kind)
        elif kind == "flagged":
            mask[bench.flagged] = True
        elif kind == "tied":
            for view in bench.views:
                mask[view.rows] = view.dead[view.groups]
        elif kind == "highest":
            for view in bench.views:
                mask[view.rows[different(view, MOST_HIGHEST)]] = True
        return mask

    def _find_text(self, text: str, mask_before: Mask) -> Mask:
        """Return the rows of `among` whose completion has the text, ignoring case."""
        texts = self._folded.filter(pa.array(mask_before))
        hits = pc.match_substring(texts, text.casefold())
        mask = mask_before.copy()
        mask[mask_before] = hits.to_numpy(zero_copy_only=False)
        return mask

    @cached_property
    def _folded(self) -> Any:
        """Return the case-folded completions in Arrow, for a search in milliseconds."""
        texts = []
        for text in self.bench.scored.table["completion"]:
            # Arrow refuses lone surrogates
            texts.append(str(text).casefold().encode("utf-8", "replace").decode())
        return pa.array(texts, type=pa.large_string())

    def _texts_of(self, column: str) -> NDArray[np.object_]:
        """Return the values of a column as texts; a verdict as its level."""
        texts = []
        for value in self.bench.scored.table[column]:
            if isinstance(value, dict):
                value = value.get("level", "-")
            texts.append(str(value))
        return np.array(texts, dtype=object)

    def columns(self) -> list[tuple[str, str]]:
        """Return label and name of each column for the filter."""
        scored = self.bench.scored
        columns = [(str(name), str(name)) for name in scored.rollouts.table.columns]
        for label, prefix in (("level", "verdict"), ("why no score", "error")):
            for component in scored.reward.names:
                name = f"{prefix}/{component}"
                if name in scored.table and scored.table[name].notna().any():
                    columns.append((f"{label} of {component}", name))
        return columns

    def choices(self, column: str) -> list[str]:
        """Return the values of a column, the most frequent first."""
        return [text for text, _ in Counter(self._texts_of(column)).most_common()]

    def _keys(self, order: str, rows: Codes) -> Floats:
        """Return the sort key of each row, ascending; missing values are last."""
        figures = self.bench.figures
        if order == "log":
            return np.array(rows, dtype=np.float64)
        if order == "length":
            keys = self._lengths
        elif order == "advantage":
            keys = figures.advantages
        elif order == "reward, lowest first":
            keys = -figures.rewards
        else:
            keys = figures.rewards
        return -np.where(np.isnan(keys), -math.inf, keys)[rows]

    @cached_property
    def _lengths(self) -> Floats:
        completions = self.bench.scored.table["completion"]
        return np.array([len(text) for text in completions], dtype=float)


LISTED_AT_A_TIME = 60  # completions on a page of the list
MOST_CHOICES = 500  # values of a column to choose from
LONGEST_CHOICE = 60  # characters of such a value
NO_COMPLETION = "No completion is like this: change or clear the filters"
RIGHT_IS_UNKNOWN = (
    "No completion: what is right and what is wrong is not known here; give label= the "
    "name of a column that says it, or rollouts with a ground_truth."
)


class Browse(Panel):
    """The tab with a list of completions, and the open one with its siblings.

    `choices` are the values of the filter's column.
    """

    title = "Browse"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.sieve = Sieve(bench)
        self.filter = Filter()
        self.choices = [""]
        self._is_blank = False
        self.rows = np.zeros(0, dtype=np.intp)
        self._page = self._place = 0
        self._listed: Any = None  # page and variant of the rendered list
        self.count = Message()
        self.filters = html("rewardkit-filters")
        self.list = html("rewardkit-list")
        self.page = html("rewardkit-page")
        self.form = CaseForm(bench)
        reader = stack(self.form.widget, self.page, mark="rk-bench-reader")
        listing = stack(self.count.widget, self.list, mark="rk-bench-left")
        split = row(listing, reader, mark="rk-bench-split")
        self.widget = stack(self.filters, split, mark="rewardkit-browse")
        bench.commands |= {
            "ask": self.ask,
            "clear": self._clear,
            "open": self._open,
            "step": self.step,
            "flag": self.flag,
        }
        bench.observe(self.changed, ["variant", "revised"])
        bench.observe(self._opened, "opened")
        self.draw_controls()

    # --- the filter

    def ask(self, name: str, value: Any) -> None:
        """Set one setting of the filter from a control of the page.

        An empty limit (None) removes the limit. "value" comes as an index of `choices`.
        """
        if name == "column":
            self.choices = self.sieve.choices(value) if value else [""]
            first = self.choices[0] if self.choices else ""
            self.filter = replace(self.filter, column=value, value=first)
            self.draw_controls()
        else:
            if value is None:
                value = getattr(Filter(), name)
            elif name == "value":
                value = self.choices[value]
            self.filter = replace(self.filter, **{name: value})
        self.search()

    def _clear(self) -> None:
        self.filter = Filter()
        self.choices = [""]
        self.draw_controls()
        self.search()

    def draw_controls(self) -> None:
        """Draw the filter, and the form of a case."""
        self.form.draw()
        columns = [("", "-")]
        for label, name in self.sieve.columns():
            if name not in reading.IN_PLACE:
                columns.append((name, label))
        values = []
        for at, choice in enumerate(self.choices[:MOST_CHOICES]):
            values.append((at, one_line(choice)[:LONGEST_CHOICE] or "-"))
        components = [("", "reward")]
        components += [(name, name) for name in self.bench.scored.reward.names]
        body = render(
            "filters",
            self.filter,
            FILTER_KINDS,
            ROW_ORDERS,
            components,
            columns,
            values,
            self.choices.index(self.filter.value),
            len(self.choices[MOST_CHOICES:]),
        )
        redraw(self.filters, body)

    def search(self) -> None:
        """Find the rows that pass the filter, and open the first."""
        self._stale = False
        self._find()
        if len(self.rows):
            self.bench.opened = Opened(int(self.rows[0]))  # observers draw the list
        else:
            self._is_blank = True
            self._show()

    def _find(self) -> None:
        self.rows = self.sieve.rows(self.filter)
        self._page = self._place = 0
        self._listed = None

    def _describe_count(self) -> str:
        """Say how many rows pass, which of them are listed, and the default limit."""
        count = len(self.rows)
        total = len(self.bench.scored)
        kind = self.filter.kind
        right = self.bench.right[0]
        if kind in LIMITED and not {0.0, 1.0} <= set(right.tolist()):
            return RIGHT_IS_UNKNOWN
        text = NO_COMPLETION
        if count == total:
            text = f"{count:,} completions"
        elif count:
            text = f"{count:,} of {total:,} completions"
        if count > LISTED_AT_A_TIME:
            first = self._page * LISTED_AT_A_TIME
            last = min(first + LISTED_AT_A_TIME, count)
            text += f"; {first + 1:,} to {last:,} are listed"
        if kind in LIMITED:
            limit = short_number(self.sieve.limit(self.filter))
            text += LIMITED[kind].format(limit)
        return text

    # --- the list

    @property
    def listed(self) -> list[int]:
        """Return the rows on the visible page of the list."""
        first = self._page * LISTED_AT_A_TIME
        rows: list[int] = self.rows[first : first + LISTED_AT_A_TIME].tolist()
        return rows

    def step(self, by: int) -> None:
        """Open the next or previous completion of the list; `by` is 1 or -1."""
        opened = self.bench.opened
        is_listed = opened is not None and opened.row in self.rows
        place = self._place
        if is_listed or by > 0:
            place += by
        if 0 <= place < len(self.rows):
            self.bench.opened = Opened(int(self.rows[place]))
        elif len(self.rows):
            end = "last" if by > 0 else "first"
            self.count.tell(f"This is the {end} of {len(self.rows):,} completions.")

    def flag(self) -> None:
        """Flag the open completion, or remove its flag."""
        self.bench.flag()
        if self.filter.kind == "flagged":
            self._find()
        self._listed = None
        self._show()

    # --- the open completion

    def _open(self, row: int) -> None:
        if 0 <= row < len(self.bench.scored):
            self.bench.open(Opened(row))

    def _opened(self, _: Any) -> None:
        if self._stale:
            self._find()
            self._stale = False
        self._is_blank = False
        self._show()

    def _show(self) -> None:
        """Show the open completion, and the page of the list that contains it."""
        opened = self.bench.opened
        variant = self.bench.variant
        if opened is not None and opened.row is not None:
            places = np.flatnonzero(self.rows == opened.row)
            if len(places):  # the place does not move for a row outside the list
                self._place = int(places[0])
                self._page = self._place // LISTED_AT_A_TIME
        if self._listed != (self._page, variant):
            self._listed = self._page, variant
            lines = [reading.line(self.bench, row) for row in self.listed]
            self.list.value = render("listed", lines) if lines else ""
        self.count.tell(self._describe_count())
        if self._is_blank:
            opened = None
        body = ""
        if opened is not None:
            body = reading.opened_page(self.bench, opened)
        self.page.value = body
        self.form.show(opened)

    def show_anew(self) -> None:
        """Show the list and completion under the current weights."""
        if self._is_blank or self.bench.opened is None:
            self.search()
        else:
            self._find()
            self._show()
