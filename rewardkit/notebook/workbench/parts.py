"""Parts that the tabs are made of: controls, a line that says what happened, code to copy, their template."""

from __future__ import annotations

import html
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import ipywidgets as widgets

from rewardkit.html import markup
from rewardkit.notebook.tiles import GRADES, MARKS

__all__ = ["Message", "Panel", "button", "classed", "control", "copied", "keys", "made", "row"]


def made(name: str, *values: Any) -> str:
    """The HTML that a macro of the template of the workbench makes."""
    return str(getattr(_macros(), name)(*values))


@cache
def _macros() -> Any:
    return markup.macros("workbench", marks=MARKS, grades=GRADES)


@cache
def keys() -> str:
    """The script of the panel, as a piece of HTML that runs it: widgets take no other."""
    script = (files("rewardkit.html") / "templates" / "workbench.js").read_text(encoding="utf-8")
    return f'<img alt="" hidden src="data:," onerror="{html.escape(script)}">'


def classed(widget: Any, *names: str) -> Any:
    """The widget with these CSS classes, by which a page's style and tests find it."""
    for name in names:
        widget.add_class(name)
    return widget


def button(label: str, mark: str, act: Callable[[], Any], tooltip: str) -> Any:
    """A button that does something when it is clicked."""
    found = widgets.Button(description=label, tooltip=tooltip)
    found.on_click(lambda _: act())
    return classed(found, mark)


def control(kind: Any, name: str, mark: str, moved: Callable[[], Any] | None = None, **options: Any) -> Any:
    """A control with its name before it; `moved` is called when its value is another."""
    width = options.pop("width", "auto")
    style = {"description_width": options.pop("name_width", "auto")}
    found = kind(description=name, style=style, layout={"width": width}, **options)
    if moved is not None:
        found.observe(lambda change: moved(), "value")
    return classed(found, mark)


def row(*parts: Any, mark: str = "rk-bench-bar") -> Any:
    """Widgets beside each other, on several lines where the page is narrow."""
    return classed(widgets.HBox(parts), mark)


class Panel:
    """A tab: its title, its widget, and whether it is in sight, so that it has to follow what changes.

    One that is shown by itself is `pinned`: it always follows.
    """

    title = ""
    widget: Any
    active = True
    pinned = False
    _setting = False

    def refresh(self) -> None:
        """Show what stands now, if that changed while the tab was out of sight."""

    def _hold(self, act: Callable[[], Any]) -> None:
        """Set controls without taking it for a person's move: their observers see `_setting`."""
        self._setting = True
        try:
            act()
        finally:
            self._setting = False


class Message:
    """A line in which a tab says what happened, or what is wrong and what to do."""

    def __init__(self) -> None:
        self.widget = classed(widgets.HTML(), "rewardkit-message")
        self.text = ""

    def tell(self, text: str) -> None:
        """Say something; screen readers read it out when they come to it."""
        self._put(text, "status", "")

    def warn(self, text: str) -> None:
        """Say that something is wrong; read out at once."""
        self._put(text, "alert", "\N{WARNING SIGN} ")

    def clear(self) -> None:
        """Say nothing."""
        self.text = self.widget.value = ""

    def _put(self, text: str, role: str, mark: str) -> None:
        self.text = text
        self.widget.value = f'<p role="{role}">{mark}{markup.escaped(text)}</p>'


COPY = (
    "var box = this.parentNode.querySelector('pre');"
    "var range = document.createRange(); range.selectNodeContents(box);"
    "var chosen = getSelection(); chosen.removeAllRanges(); chosen.addRange(range);"
    "var done = () => { this.textContent = 'Copied'; };"
    "if (navigator.clipboard) navigator.clipboard.writeText(box.textContent).then(done);"
    "else if (document.execCommand('copy')) done();"
)
"""What a click does in the page, as widgets have no clipboard; where it may not copy, it selects."""


def copied(code: str) -> str:
    """Code with a button that copies it."""
    return (
        f'<div><button type="button" class="rk-bench-do rewardkit-copy" onclick="{html.escape(COPY)}">'
        f"Copy</button><pre>{markup.escaped(code, limit=None)}</pre></div>"
    )
