"""The tab Browse: read the completions that pass a filter, and make cases of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rewardkit.html.excerpts import one_line
from rewardkit.notebook.workbench import reading
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.cases import CaseForm
from rewardkit.notebook.workbench.filters import (
    FILTER_KINDS,
    RIGHT_BUT_UNPAID,
    ROW_ORDERS,
    WRONG_BUT_PAID,
    Filter,
    Sieve,
)
from rewardkit.notebook.workbench.parts import (
    Message,
    Panel,
    html,
    redraw,
    render,
    row,
    stack,
)

LISTED_AT_A_TIME = 60  # completions; only what is in sight is rendered
MOST_CHOICES = 500  # values of a column that can be chosen
LONGEST_CHOICE = 60  # characters of a value that can be chosen
NO_COMPLETION = "No completion is like this; change or clear the filters."
RIGHT_IS_UNKNOWN = (
    "No completion: what is right and what is wrong is not known here; give label= the "
    "name of a column that says it, or rollouts with a ground_truth."
)


class Browse(Panel):
    """A list of completions, and beside it the open one with its siblings.

    `choices` are the values of the filter's column.
    """

    title = "Browse"

    def __init__(self, bench: Bench) -> None:
        self.bench, self.sieve = bench, Sieve(bench)
        self.filter, self.choices = Filter(), [""]
        self._is_blank = False
        self.rows = np.zeros(0, dtype=np.intp)
        self._page = self._place = 0
        self._listed: Any = None  # page and variant of the list that is in sight
        self.count, self.filters = Message(), html("rewardkit-filters")
        self.list, self.page = html("rewardkit-list"), html("rewardkit-page")
        self.form = CaseForm(bench)
        reader = stack(self.form.widget, self.page, mark="rk-bench-reader")
        beside = stack(self.count.widget, self.list, mark="rk-bench-left")
        split = row(beside, reader, mark="rk-bench-split")
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
        """Filter by what a control says; an empty limit is none, a value is a place."""
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
        self.filter, self.choices = Filter(), [""]
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
            self.bench.opened = Opened(int(self.rows[0]))  # which lists and draws
        else:
            self._is_blank = True
            self._show()

    def _find(self) -> None:
        self.rows = self.sieve.rows(self.filter)
        self._page = self._place = 0
        self._listed = None

    def _describe_count(self) -> str:
        """Say how many rows pass, and which of them the list shows."""
        count, total, noun = len(self.rows), len(self.bench.scored), "completions"
        if not count:
            right = self.bench.right[0]
            is_unknown = not {0.0, 1.0} <= set(right.tolist())
            if is_unknown and self.filter.kind in (WRONG_BUT_PAID, RIGHT_BUT_UNPAID):
                return RIGHT_IS_UNKNOWN
            return NO_COMPLETION
        if self.filter.one_a_group:
            total = len(self.bench.rows_of_group)
            noun = "groups, each by its first completion"
        text = f"{count:,} of {total:,} {noun}"
        if count == total:
            text = f"{count:,} {noun}"
        if count > LISTED_AT_A_TIME:
            first = self._page * LISTED_AT_A_TIME
            last = min(first + LISTED_AT_A_TIME, count)
            text += f"; {first + 1:,} to {last:,} are listed"
        return text

    # --- the list

    @property
    def listed(self) -> list[int]:
        """Return the rows on the page of the list that is in sight."""
        first = self._page * LISTED_AT_A_TIME
        rows: list[int] = self.rows[first : first + LISTED_AT_A_TIME].tolist()
        return rows

    def step(self, by: int) -> None:
        """Open the next completion of the list, or the one before."""
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
        """Flag the completion that is open, or take its flag away."""
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
        """Show the list at what is open, and its page; the page marks the open line."""
        opened, variant = self.bench.opened, self.bench.variant
        if opened is not None and opened.row is not None:
            places = np.flatnonzero(self.rows == opened.row)
            if len(places):  # a row that is not listed leaves the place
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
        """Show what the weights of now give."""
        if self._is_blank or self.bench.opened is None:
            self.search()
        else:
            self._find()
            self._show()
