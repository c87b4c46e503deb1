"""Browse: completions to read, found by filters, each beside its siblings, and made into a case."""

from __future__ import annotations

import math
from typing import Any

import ipywidgets as widgets
import numpy as np

from rewardkit.html.excerpts import one_line
from rewardkit.notebook.workbench import reading
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.cases import CaseForm
from rewardkit.notebook.workbench.filters import KINDS, ORDERS, Filter, Sieve
from rewardkit.notebook.workbench.parts import Message, Panel, button, html, made, row, stack

PAGE = 60
"""Completions in the list at a time: only what is shown is rendered."""
CHOICES = 500
"""Values of a column that can be chosen."""
LINE = 60  # characters of a value that can be chosen
ASKED = ("kind", "component", "text", "column", "value", "order", "one_a_group")
"""Controls that a filter takes as they are."""
NOT_SHOWN = ("completion", "prompt", "messages", "ground_truth", "rollout_id")
UNKNOWN = (
    "No completion: what is right and what is wrong is not known here; give label= the name of a column that "
    "says it, or rollouts with a ground_truth."
)


class Browse(Panel):
    """A list of completions on the left, the open one with its siblings on the right."""

    title = "Browse"

    def __init__(self, bench: Bench) -> None:
        self.bench, self.sieve = bench, Sieve(bench)
        self._blank = False
        self.rows = np.zeros(0, dtype=np.intp)
        self._page = self._place = 0
        self._listed: Any = None
        self.found, self.list, self.page = Message(), html("rewardkit-list"), html("rewardkit-page")
        self.earlier = button("\u25c0 Previous", "rewardkit-previous", lambda: self.step(-1), "key k")
        self.later = button("Next \u25b6", "rewardkit-next", lambda: self.step(1), "key j")
        hint = "key f: find it again under show, flagged"
        self.mark = button("\u2691 Flag", "rewardkit-flag", self.flag, hint)
        self.form = CaseForm(bench)
        bar = row(self.earlier, self.later, self.mark, self.form.opener)
        reader = stack(bar, self.form.widget, self.page, mark="rk-bench-reader")
        left = stack(self.found.widget, self.list, mark="rk-bench-left")
        split = row(left, reader, mark="rk-bench-split")
        self.widget = stack(self._filters(), split, mark="rewardkit-browse")
        bench.commands |= {
            "open": lambda row: self._open(int(row)),
            "step": lambda by: self.step(int(by)),
            "flag": lambda _: self.flag(),
            "case": lambda _: setattr(self.form.opener, "value", True),
        }
        bench.observe(self.changed, ["variant", "revised"])
        bench.observe(self._opened, "opened")

    def _filters(self) -> Any:
        names = [("reward", ""), *((name, name) for name in self.bench.scored.reward.names)]
        columns = [(label, name) for label, name in self.sieve.columns() if name not in NOT_SHOWN]

        def chosen(name: str, options: Any, mark: str = "", moved: Any = self.search) -> Any:
            mark = f"rewardkit-{mark or name}"
            return self.control(widgets.Dropdown, name, mark, moved, options=options)

        def typed(name: str, mark: str, hint: str, width: str) -> Any:
            options = {"placeholder": hint, "continuous_update": False, "width": width}
            return self.control(widgets.Text, name, f"rewardkit-{mark}", self.search, **options)

        self.kind = chosen("show", [(label, key) for key, label in KINDS.items()], "kind")
        self.order = chosen("order", list(ORDERS))
        self.text = typed("text", "text", "in the completion, then Enter", "18em")
        self.component = chosen("of", names, "component")
        self.low, self.high = typed("from", "low", "lowest", "8em"), typed("to", "high", "highest", "8em")
        self.column = chosen("column", [("-", ""), *columns], moved=self._column_chosen)
        self.value = chosen("is", [("-", "")], "value")
        mark = "rewardkit-one-a-group"
        self.one_a_group = self.control(widgets.Checkbox, "one a group", mark, self.search, indent=False)
        self.clear = button("Clear", "rewardkit-clear", self._clear, "show all completions again")
        self._chosen = (self.kind, self.order, self.component, self.column)
        self._typed = (self.text, self.low, self.high)
        first = (self.kind, self.order, self.text, self.component, self.low, self.high)
        return row(*first, self.column, self.value, self.one_a_group, self.clear)

    # what is asked for

    @property
    def filter(self) -> Filter:
        """What the controls ask for. ValueError: a limit that is no number."""
        low, high = _limit(self.low.value, -math.inf), _limit(self.high.value, math.inf)
        asked: dict[str, Any] = {name: getattr(self, name).value or "" for name in ASKED}
        return Filter(low=low, high=high, **asked)

    def _column_chosen(self) -> None:
        name = self.column.value
        choices = self.sieve.choices(name) if name else [""]
        options = [(one_line(choice)[:LINE] or "-", choice) for choice in choices[:CHOICES]]
        if left := len(choices) - len(options):
            options.append((f"({left:,} rarer values are not listed)", ""))
        with self._set():
            self.value.options = options
        self.search()

    def _clear(self) -> None:
        with self._set():
            for one in self._chosen:
                one.index = 0
            for one in self._typed:
                one.value = ""
            self.value.options, self.one_a_group.value = [("-", "")], False
        self.search()

    def search(self) -> None:
        """Find the rows that the controls ask for, and open the first if what is open is none of them."""
        self._stale = False
        if not self._find():
            return
        opened = self.bench.opened
        if len(self.rows) and (opened is None or opened.row not in self.rows):
            self.bench.opened = Opened(int(self.rows[0]))  # which lists and draws
        else:
            self._blank = not len(self.rows)
            self._show()

    def _find(self) -> bool:
        """Find the rows that the controls ask for; whether these can be read."""
        try:
            self._asked = self.filter
        except ValueError as error:
            self.found.warn(f"{error} is no number; give one such as 0.5, or nothing")
            return False
        self.rows = self.sieve.rows(self._asked)
        self._page = self._place = 0
        self._listed = None
        return True

    def _told(self) -> str:
        """How many were found, and which of them the list shows."""
        found, total, what = len(self.rows), len(self.bench.scored), "completions"
        if not found:
            right = self.bench.right[0]
            unknown = not (right == 1).any() or not (right == 0).any()
            asks = self._asked.kind in ("wrong but paid", "right but unpaid")
            return UNKNOWN if asks and unknown else "No completion is like this; change or clear the filters."
        if self._asked.one_a_group:
            total, what = len(self.bench.rows_of_group), "groups, each by its first completion"
        of_all = f" of {total:,}" if found < total else ""
        first, last = self._page * PAGE + 1, min((self._page + 1) * PAGE, found)
        part = f"; {first:,} to {last:,} are listed" if found > PAGE else ""
        return f"{found:,}{of_all} {what}{part}"

    # the list

    @property
    def listed(self) -> list[int]:
        """The rows on the page of the list that is shown."""
        found: list[int] = self.rows[self._page * PAGE : (self._page + 1) * PAGE].tolist()
        return found

    def step(self, by: int) -> None:
        """Open the next completion, or that before, of those that were found."""
        opened = self.bench.opened
        listed = opened is not None and opened.row in self.rows
        place = self._place + by if listed or by > 0 else self._place
        if 0 <= place < len(self.rows):
            self.bench.opened = Opened(int(self.rows[place]))
        elif len(self.rows):
            self.found.tell(f"This is the {'last' if by > 0 else 'first'} of {len(self.rows):,} completions.")

    def flag(self) -> None:
        """Flag the completion that is open, or take its flag away."""
        self.bench.flag()
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
        """The list, turned to what is open, and its page: which line is open the page marks by itself."""
        opened = self.bench.opened
        places = np.flatnonzero(self.rows == (-1 if opened is None else opened.row))
        if len(places):  # one that is not among them leaves the place
            self._place = int(places[0])
            self._page = self._place // PAGE
        if self._listed != (self._page, self.bench.variant):
            self._listed = self._page, self.bench.variant
            lines = [reading.line(self.bench, row) for row in self.listed]
            self.list.value = made("listed", lines) if lines else ""
        self.found.tell(self._told())
        shown = opened if not self._blank else None
        self.page.value = "" if shown is None else reading.opened_page(self.bench, shown)
        self.form.show(shown)

    def show_anew(self) -> None:
        """Show what the weights of now give."""
        if self._blank or self.bench.opened is None:
            self.search()
        elif self._find():
            self._show()


def _limit(text: str, none: float) -> float:
    if not text.strip():
        return none
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if math.isnan(limit):
        raise ValueError(repr(text))
    return limit
