"""Parts of the tabs: pieces of HTML, and a line that says what happened."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from html import escape
from typing import Any

import ipywidgets as widgets

from rewardkit.errors import InputError
from rewardkit.html import markup


def made(name: str, *values: Any) -> str:
    """Return the HTML that a macro of the workbench's template makes."""
    return markup.part("workbench", name, *values)


@cache
def keys() -> str:
    """Return the panel's script as HTML that runs it: widgets take no other."""
    script = markup.read_asset("workbench.js")
    return f'<img alt="" hidden src="data:," onerror="{escape(script)}">'


def classed(widget: Any, *names: str) -> Any:
    """Return the widget with these CSS classes, by which styles and tests find it."""
    for name in names:
        widget.add_class(name)
    return widget


def html(mark: str, value: str = "") -> Any:
    """Make a widget that shows HTML."""
    return classed(widgets.HTML(value), mark)


def redraw(pane: Any, shown: str) -> None:
    """Show this HTML, also where it is unchanged: else the page would not get it."""
    pane.value = ""
    pane.value = shown


def row(*parts: Any, mark: str) -> Any:
    """Put widgets beside each other, on several lines where the page is narrow."""
    return classed(widgets.HBox(parts), mark)


def stack(*parts: Any, mark: str) -> Any:
    """Put widgets below each other."""
    return classed(widgets.VBox(parts), mark)


class Panel:
    """A tab; while it is `active`, in sight, it follows what changes."""

    title = ""
    widget: Any
    active = True
    _stale = True

    def refresh(self) -> None:
        """Show what stands now, if that changed while the tab was out of sight."""
        if self._stale and self.active:
            self._stale = False
            self.show_anew()

    def changed(self, _: Any = None) -> None:
        """Follow what changed; it waits while the tab is out of sight."""
        self._stale = True
        self.refresh()

    def show_anew(self) -> None:
        """Show what stands now."""

    def draw_controls(self) -> None:
        """Draw the controls as they stand, over what a person typed in the page."""


class Message:
    """A line in which a tab says what happened, or what is wrong and what to do."""

    def __init__(self) -> None:
        self.widget = html("rewardkit-message")
        self.text = ""

    def tell(self, text: str) -> None:
        """Say something; screen readers read it out when they come to it."""
        self._put(text, "status", "")

    def warn(self, text: str) -> None:
        """Say that something is wrong; read out at once."""
        self._put(text, "alert", "\N{WARNING SIGN} ")

    def attempt(self, act: Callable[[], str], refused: str = "") -> None:
        """Do something and say what it says of it; where it cannot be done, why."""
        try:
            self.tell(act())
        except InputError as error:
            self.warn(f"{refused}{error}")

    def clear(self) -> None:
        """Say nothing."""
        self.text = self.widget.value = ""

    def _put(self, text: str, role: str, mark: str) -> None:
        self.text = text
        self.widget.value = f'<p role="{role}">{mark}{markup.escaped(text)}</p>'
