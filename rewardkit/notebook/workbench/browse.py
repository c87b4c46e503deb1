"""Browse: read completions that filters find, and make cases of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rewardkit.html.excerpts import one_line
from rewardkit.notebook.workbench import reading
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.cases import CaseForm
from rewardkit.notebook.workbench.filters import FILTER_KINDS, ROW_ORDERS, Filter, Sieve
from rewardkit.notebook.workbench.parts import (
    Message,
    Panel,
    html,
    redraw,
    render,
    row,
    stack,
)

LISTED_AT_A_TIME = 60  # completions; only what is shown is rendered
MOST_CHOICES = 500  # values of a column that can be chosen
LONGEST_CHOICE = 60  # characters of a value that can be chosen
NOT_SHOWN = ("completion", "prompt", "messages", "ground_truth", "rollout_id")
RIGHT_IS_UNKNOWN = (
    "No completion: what is right and what is wrong is not known here; give label= the "
    "name of a column that says it, or rollouts with a ground_truth."
)


class Browse(Panel):
    """A list of completions, and beside it the open one with its siblings."""

    title = "Browse"

    def __init__(self, bench: Bench) -> None:
        self.bench, self.sieve = bench, Sieve(bench)
        self.asked, self.choices = Filter(), [""]  # and the values of its column
        self._blank = False
        self.rows = np.zeros(0, dtype=np.intp)
        self._page = self._place = 0
        self._listed: Any = None
        self.found, self.filters = Message(), html("rewardkit-filters")
        self.list, self.page = html("rewardkit-list"), html("rewardkit-page")
        self.form = CaseForm(bench)
        reader = stack(self.form.widget, self.page, mark="rk-bench-reader")
        left = stack(self.found.widget, self.list, mark="rk-bench-left")
        split = row(left, reader, mark="rk-bench-split")
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

    # what is asked for

    def ask(self, name: str, value: Any) -> None:
        """Ask for what a control says; an empty limit is none, a value is a place."""
        if name == "column":
            self.choices = self.sieve.choices(value) if value else [""]
            self.asked = replace(
                self.asked, column=value, value=next(iter(self.choices), "")
            )
            self.draw_controls()
        else:
            none = getattr(Filter(), name)
            value = (
                self.choices[value]
                if name == "value"
                else none
                if value is None
                else value
            )
            self.asked = replace(self.asked, **{name: value})
        self.search()

    def _clear(self) -> None:
        self.asked, self.choices = Filter(), [""]
        self.draw_controls()
        self.search()

    def draw_controls(self) -> None:
        """Draw what is asked for, and the form of a case."""
        self.form.draw()
        columns = [
            ("", "-"),
            *(
                (one, label)
                for label, one in self.sieve.columns()
                if one not in NOT_SHOWN
            ),
        ]
        shown, left = self.choices[:MOST_CHOICES], len(self.choices[MOST_CHOICES:])
        values = [
            (at, one_line(choice)[:LONGEST_CHOICE] or "-")
            for at, choice in enumerate(shown)
        ]
        components = [
            ("", "reward"),
            *((name, name) for name in self.bench.scored.reward.names),
        ]
        place = self.choices.index(self.asked.value)
        drawn = render(
            "filters",
            self.asked,
            FILTER_KINDS,
            ROW_ORDERS,
            components,
            columns,
            values,
            place,
            left,
        )
        redraw(self.filters, drawn)

    def search(self) -> None:
        """Find the rows that are asked for, and open the first."""
        self._stale = False
        self._find()
        if len(self.rows):
            self.bench.opened = Opened(int(self.rows[0]))  # which lists and draws
        else:
            self._blank = True
            self._show()

    def _find(self) -> None:
        self.rows = self.sieve.rows(self.asked)
        self._page = self._place = 0
        self._listed = None

    def _describe_count(self) -> str:
        """Say how many were found, and which of them the list shows."""
        found, total, what = len(self.rows), len(self.bench.scored), "completions"
        if not found:
            right = self.bench.right[0]
            unknown = not (right == 1).any() or not (right == 0).any()
            asks = self.asked.kind in ("wrong but paid", "right but unpaid")
            return (
                RIGHT_IS_UNKNOWN
                if asks and unknown
                else "No completion is like this; change or clear the filters."
            )
        if self.asked.one_a_group:
            total, what = (
                len(self.bench.rows_of_group),
                "groups, each by its first completion",
            )
        of_all = f" of {total:,}" if found < total else ""
        first, last = (
            self._page * LISTED_AT_A_TIME + 1,
            min((self._page + 1) * LISTED_AT_A_TIME, found),
        )
        part = f"; {first:,} to {last:,} are listed" if found > LISTED_AT_A_TIME else ""
        return f"{found:,}{of_all} {what}{part}"

    # the list

    @property
    def listed(self) -> list[int]:
        """Return the rows on the page of the list that is shown."""
        rows: list[int] = self.rows[
            self._page * LISTED_AT_A_TIME : (self._page + 1) * LISTED_AT_A_TIME
        ].tolist()
        return rows

    def step(self, by: int) -> None:
        """Open the next completion, or that before, of those that were found."""
        opened = self.bench.opened
        listed = opened is not None and opened.row in self.rows
        place = self._place + by if listed or by > 0 else self._place
        if 0 <= place < len(self.rows):
            self.bench.opened = Opened(int(self.rows[place]))
        elif len(self.rows):
            end = "last" if by > 0 else "first"
            self.found.tell(f"This is the {end} of {len(self.rows):,} completions.")

    def flag(self) -> None:
        """Flag the completion that is open, or take its flag away."""
        self.bench.flag()
        if self.asked.kind == "flagged":
            self._find()
        self._listed = None
        self._show()

    # the open one

    def _open(self, row: int) -> None:
        if 0 <= row < len(self.bench.scored):
            self.bench.open(Opened(row))

    def _opened(self, _: Any) -> None:
        if self._stale:
            self._find()
            self._stale = False
        self._blank = False
        self._show()

    def _show(self) -> None:
        """Show the list at what is open, and its page; the page marks the open line."""
        opened = self.bench.opened
        places = np.flatnonzero(self.rows == (-1 if opened is None else opened.row))
        if len(places):  # one that is not among them leaves the place
            self._place = int(places[0])
            self._page = self._place // LISTED_AT_A_TIME
        if self._listed != (self._page, self.bench.variant):
            self._listed = self._page, self.bench.variant
            lines = [reading.line(self.bench, row) for row in self.listed]
            self.list.value = render("listed", lines) if lines else ""
        self.found.tell(self._describe_count())
        shown = opened if not self._blank else None
        self.page.value = (
            "" if shown is None else reading.opened_page(self.bench, shown)
        )
        self.form.show(shown)

    def show_anew(self) -> None:
        """Show what the weights of now give."""
        if self._blank or self.bench.opened is None:
            self.search()
        else:
            self._find()
            self._show()
