"""Browse: completions to read, found by filters, each beside its siblings, and made into a case."""

from __future__ import annotations

import math
from typing import Any

import ipywidgets as widgets
import numpy as np

from rewardkit.html.excerpts import one_line
from rewardkit.notebook.workbench import reading
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.case_form import CaseForm
from rewardkit.notebook.workbench.filters import KINDS, ORDERS, Filter, Sieve
from rewardkit.notebook.workbench.parts import Message, Panel, button, classed
from rewardkit.scoring.outcomes import STATUSES

__all__ = ["Browse"]

PAGE = 60
"""Completions in the list at a time: only what is shown is rendered."""
SIBLINGS = 16
"""Siblings that are shown side by side; of larger groups those around the open one."""
CHOICES = 500
"""Values of a column that can be chosen."""
LINE = 60  # characters of a completion in the list
ANY = "any"
NOT_SHOWN = ("completion", "prompt", "messages", "ground_truth", "rollout_id")


class Browse(Panel):
    """A list of completions on the left, the open one with its siblings on the right."""

    title = "Browse"

    def __init__(self, bench: Bench) -> None:
        self.bench, self.sieve = bench, Sieve(bench)
        self._stale = self._blank = False
        self.rows = np.zeros(0, dtype=np.intp)
        self._page = self._place = 0
        self._filters()
        self.found = Message()
        self.list = widgets.Select(rows=18, description="", layout={"width": "auto"})
        classed(
            self.list, "rewardkit-list"
        ).tooltip = "completions that were found: arrow keys go through them"
        self.list.observe(lambda change: self._listed(change["new"]), "value")
        self.earlier = button(
            "\u25c0 Previous", "rewardkit-previous", lambda: self.step(-1), "the one before"
        )
        self.later = button("Next \u25b6", "rewardkit-next", lambda: self.step(1), "the next completion")
        self.page = classed(widgets.HTML(), "rewardkit-page")
        self._cards = [_card() for _ in range(SIBLINGS)]
        for place, (opener, _) in enumerate(self._cards):
            opener.on_click(lambda _, place=place: self._open_sibling(place))
        self.siblings = classed(widgets.HBox([]), "rewardkit-siblings")
        self._shown: list[int] = []
        self.form = CaseForm(bench)
        self.widget = classed(self._laid_out(), "rewardkit-browse")
        bench.observe(self._changed, ["variant", "revised"])
        bench.observe(lambda change: self._opened(), "opened")
        self.search()

    def _filters(self) -> None:
        scores = self.bench.scored
        names = [("reward", ""), *((name, name) for name in scores.reward.names)]
        columns = [(label, name) for label, name in self.sieve.columns() if name not in NOT_SHOWN]
        self.kind = _dropdown("show", [(label, key) for key, label in KINDS.items()], "rewardkit-kind")
        self.text = _text("text", "in the completion, then Enter", "rewardkit-text")
        self.component = _dropdown("of", names, "rewardkit-component")
        self.low = _text("from", "lowest", "rewardkit-low", width="8em")
        self.high = _text("to", "highest", "rewardkit-high", width="8em")
        self.status = _dropdown(
            "status", [(ANY, ""), *((name, name) for name in STATUSES)], "rewardkit-status"
        )
        self.column = _dropdown("column", [("-", ""), *columns], "rewardkit-column")
        self.value = _dropdown("is", [("-", "")], "rewardkit-value")
        self.order = _dropdown("order", list(ORDERS), "rewardkit-order")
        self.one_a_group = classed(
            widgets.Checkbox(description="one a group", indent=False, layout={"width": "auto"}),
            "rewardkit-one-a-group",
        )
        self.clear = button("Clear", "rewardkit-clear", self._clear, "show all completions again")
        self.column.observe(lambda change: self._column_chosen(change["new"]), "value")
        for control in self._controls:
            if control is not self.column:
                control.observe(lambda change: self._filtered(), "value")

    @property
    def _controls(self) -> list[Any]:
        return [
            self.kind,
            self.text,
            self.component,
            self.low,
            self.high,
            self.status,
            self.column,
            self.value,
            self.order,
            self.one_a_group,
        ]

    def _laid_out(self) -> Any:
        controls = widgets.HBox([*self._controls, self.clear], layout={"flex_flow": "row wrap"})
        steps = widgets.HBox([self.earlier, self.later])
        left = widgets.VBox(
            [self.found.widget, self.list, steps], layout={"flex": "1 1 20em", "min_width": "18em"}
        )
        right = widgets.VBox(
            [self.siblings, self.page, self.form.widget],
            layout={"flex": "3 1 34em", "min_width": "0", "overflow": "hidden"},
        )
        both = widgets.HBox(
            [left, right], layout={"flex_flow": "row wrap", "align_items": "flex-start", "grid_gap": "0 1em"}
        )
        return widgets.VBox([controls, both])

    # what is asked for

    @property
    def filter(self) -> Filter:
        """What the controls ask for. ValueError: a limit that is no number."""
        return Filter(
            kind=self.kind.value,
            component=self.component.value,
            low=_limit(self.low.value, -math.inf),
            high=_limit(self.high.value, math.inf),
            status=self.status.value,
            text=self.text.value,
            column=self.column.value,
            value=self.value.value or "",
            order=self.order.value,
            one_a_group=self.one_a_group.value,
        )

    def _filtered(self) -> None:
        if not self._setting:
            self.search()

    def _column_chosen(self, name: str) -> None:
        choices = self.sieve.choices(name) if name else [""]
        options = [(one_line(choice)[:LINE] or "-", choice) for choice in choices[:CHOICES]]
        if left := len(choices) - len(options):
            options.append((f"({left:,} rarer values are not listed)", ""))
        self._hold(lambda: setattr(self.value, "options", options))
        self._filtered()

    def _clear(self) -> None:
        def put() -> None:
            for control in (self.kind, self.component, self.status, self.column, self.order):
                control.index = 0
            for control in (self.text, self.low, self.high):
                control.value = ""
            self.one_a_group.value = False

        self._hold(put)
        self.search()

    def search(self) -> None:
        """Find the rows that the controls ask for, and open the first if what is open is none of them."""
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
        return True

    def _told(self) -> str:
        """How many were found, and which of them the list shows."""
        asked, found, total = self._asked, len(self.rows), len(self.bench.scored)
        if not found:
            return self._none(asked)
        if asked.one_a_group:
            total, what = len(self.bench.rows_of_group), "groups, each by its first completion"
        else:
            what = "completions"
        of_all = f" of {total:,}" if found < total else ""
        first, last = self._page * PAGE + 1, min((self._page + 1) * PAGE, found)
        part = f"; {first:,} to {last:,} are listed" if found > PAGE else ""
        return f"{found:,}{of_all} {what}{part}"

    def _none(self, asked: Filter) -> str:
        if asked.kind in ("wrong but paid", "right but unpaid"):
            right = self.bench.right[0]
            if not (right == 1).any() or not (right == 0).any():
                return (
                    "No completion: what is right and what is wrong is not known here; give label= the name "
                    "of a column that says it, or rollouts with a ground_truth."
                )
        return "No completion is like this; change or clear the filters."

    # the list

    def _list(self) -> None:
        rows = self.rows[self._page * PAGE : (self._page + 1) * PAGE].tolist()
        options = [(self._line(row), row) for row in rows]
        opened = self.bench.opened
        value = opened.row if opened is not None and opened.row in rows else None
        self._hold(lambda: self._put_list(options, value))
        self.found.tell(self._told())

    def _put_list(self, options: list[tuple[str, int]], value: int | None) -> None:
        self.list.options = options
        self.list.value = value

    def _line(self, row: int) -> str:
        """A row of the list: reward, right or wrong, how the completion begins."""
        reward, right = self.bench.figures.rewards[row], self.bench.right[0][row]
        mark = "" if math.isnan(right) else "\u2713 " if right == 1 else "\u2717 "
        told = "not judged" if math.isnan(reward) else f"{reward + 0.0:.3f}"
        text = one_line(reading.completion_text(self.bench, row)[:400])[:LINE]
        return f"{told}  {mark}\u2068{text}\u2069"

    def _listed(self, row: int | None) -> None:
        if row is not None and not self._setting:
            self.bench.opened = Opened(row)

    def step(self, by: int) -> None:
        """Open the next completion, or that before, of those that were found."""
        opened = self.bench.opened
        listed = opened is not None and opened.row in self.rows
        place = self._place + by if listed or by > 0 else self._place
        if 0 <= place < len(self.rows):
            self.bench.opened = Opened(int(self.rows[place]))
        elif len(self.rows):
            self.found.tell(f"This is the {'last' if by > 0 else 'first'} of {len(self.rows):,} completions.")

    def _turn_to(self, row: int) -> None:
        """Turn the list to the page that a row is on; one that is not among them leaves the place."""
        places = np.flatnonzero(self.rows == row)
        if len(places):
            self._place = int(places[0])
            self._page = self._place // PAGE

    # the open one

    def _opened(self) -> None:
        self._blank = False
        self._show()

    def _show(self) -> None:
        """The list and the page of what is open."""
        opened = self.bench.opened
        if opened is not None and opened.row is not None:
            self._turn_to(opened.row)
        self._list()
        self._draw()

    def _open_sibling(self, place: int) -> None:
        if place < len(self._shown):
            self.bench.opened = Opened(self._shown[place])

    def _changed(self, change: Any) -> None:
        self._stale = True
        self.refresh()

    def refresh(self) -> None:
        """Show what the weights of now give, if that is another; it waits while the tab is out of sight."""
        if self._stale and self.active:
            self._stale = False
            if self._blank:
                self.search()
            elif self._find():
                self._show()

    def _draw(self) -> None:
        opened = self.bench.opened
        self.form.widget.layout.display = "none" if self._blank or opened is None else ""
        if self._blank or opened is None:
            self.page.value, self.siblings.children = "", []
            return
        self.page.value = reading.opened_page(self.bench, opened)
        self._shown = self._around(opened.row) if opened.row is not None else []
        for (opener, text), row in zip(self._cards, self._shown, strict=False):
            chosen = row == opened.row
            opener.description = "\u25cf open now" if chosen else "Open"
            opener.tooltip = f"open sibling {self.bench.scored.table['rollout_id'].iloc[row]}"
            text.value = reading.card(self.bench, row, chosen=chosen)
        self.siblings.children = [
            classed(widgets.VBox([opener, text]), "rewardkit-card")
            for opener, text in self._cards[: len(self._shown)]
        ]
        self.form.show(opened)

    def _around(self, row: int) -> list[int]:
        """The siblings to show: all, or of a large group those around the open one, by reward."""
        rows = self.bench.siblings(row)
        rewards = np.nan_to_num(self.bench.figures.rewards[rows], nan=-math.inf)
        rows = rows[np.argsort(-rewards, kind="stable")]
        place = int(np.flatnonzero(rows == row)[0])
        start = max(0, min(place - SIBLINGS // 2, len(rows) - SIBLINGS))
        return [int(item) for item in rows[start : start + SIBLINGS]]


def _card() -> tuple[Any, Any]:
    """A button and a text for a sibling."""
    return classed(widgets.Button(layout={"width": "auto"}), "rewardkit-open"), widgets.HTML()


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


def _dropdown(name: str, options: Any, mark: str) -> Any:
    made = widgets.Dropdown(
        options=options,
        description=name,
        style={"description_width": "auto"},
        layout={"width": "auto", "max_width": "19em", "margin": "2px 12px 2px 0"},
    )
    return classed(made, mark)


def _text(name: str, hint: str, mark: str, width: str = "18em") -> Any:
    made = widgets.Text(
        description=name,
        placeholder=hint,
        continuous_update=False,
        style={"description_width": "auto"},
        layout={"width": width, "margin": "2px 12px 2px 0"},
    )
    return classed(made, mark)
