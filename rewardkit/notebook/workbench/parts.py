"""Parts that the tabs are made of: buttons, a line that says what happened, code to copy, and their style."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from rewardkit.html import markup

__all__ = ["KEYS", "STYLE", "Message", "Panel", "button", "classed", "copied"]

STYLE = """<style>
.rewardkit-workbench { --rk-line: rgba(127,127,127,.35); --rk-soft: rgba(127,127,127,.1); max-width: 120rem; }
.rewardkit-workbench .widget-html-content, .rewardkit-workbench .jp-RenderedHTMLCommon { line-height: 1.4; }
.rewardkit-workbench table { border-collapse: collapse; font-size: .9em; margin: .3em 0; }
.rewardkit-workbench th, .rewardkit-workbench td { border-bottom: 1px solid var(--rk-line); }
.rewardkit-workbench td[style*="right"], .rewardkit-workbench th[style*="right"] { white-space: nowrap; }
.rewardkit-workbench p { margin: .3em 0; } .rewardkit-workbench figcaption { font-size: .85em; }
.rewardkit-workbench figure { margin: 0 0 .6em; }
.rewardkit-workbench pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--rk-soft);
  padding: .5em; margin: .3em 0; max-height: 30em; overflow-y: auto; }
.rewardkit-workbench :focus-visible { outline: 2px solid #3d8fc4; outline-offset: 1px; }
.rewardkit-live { display: flex; flex-wrap: wrap; gap: 1em 2em; align-items: flex-start; }
.rewardkit-page > .widget-html-content { min-width: 0; }
.rewardkit-live > * { flex: 1 1 22em; min-width: 0; max-width: 34em; overflow-x: auto; }
.rewardkit-live > :last-child { flex-basis: 26em; } .rewardkit-workbench select { appearance: auto; }
.rewardkit-workbench .widget-dropdown > select { background-image: none; padding-right: 2px; }
.rewardkit-workbench .jupyter-widget-tab > .lm-TabBar .lm-TabBar-tab {
  color: var(--jp-ui-font-color1, inherit); }
.rewardkit-message p { margin: 0; padding: .2em .6em; border-left: 4px solid currentColor; max-width: 60em; }
.rewardkit-scroll { overflow-x: auto; } .rewardkit-tall { max-height: 36em; overflow-y: auto; }
.rewardkit-siblings { overflow-x: auto; gap: .6em; padding-bottom: .4em; align-items: stretch; }
.rewardkit-card { flex: 0 0 13em; border: 1px solid var(--rk-line); padding: .3em; overflow: hidden; }
.rewardkit-card .widget-html { height: auto; } .rewardkit-card [aria-current] {
  border-left: 4px solid #3d8fc4; padding-left: .4em; }
.rewardkit-excerpt { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; font-size: .85em;
  max-height: 9em; overflow-y: auto; }
.rewardkit-completion { border-left: 4px solid var(--rk-line); background: var(--rk-soft); padding: .3em .6em;
  margin: .3em 0; max-height: 28em; overflow-y: auto; }
.rewardkit-role { font-weight: 600; } .rewardkit-browse .widget-html { height: auto; }
.rewardkit-aside { opacity: .8; }
.rewardkit-lost { display: none; border: 2px solid #d55e00; padding: .4em .8em; margin: .3em 0; }
.jupyter-widgets-disconnected .rewardkit-lost,
.jupyter-widgets-disconnected.rewardkit-lost { display: block; }
</style>"""


KEYS = (
    '<img alt="" hidden src="data:," onerror="'
    "var panel = this.closest('.rewardkit-workbench');"
    "var names = () => panel.querySelectorAll('.noUi-handle, input, select').forEach(control => {"
    "var box = control.closest('.jupyter-widgets'), label = box && box.querySelector('.widget-label');"
    "var name = (label && label.title) || control.title || (box && box.title);"
    "if (name) control.setAttribute('aria-label', name); });"
    "var keys = event => {"
    "if (!panel.isConnected) return window.removeEventListener('keydown', keys, true);"
    "if (!panel.contains(event.target)) return;"
    "var labs = event.ctrlKey || event.metaKey || event.altKey;"
    "if (labs) event.target.removeAttribute('data-lm-suppress-shortcuts');"
    "else event.target.setAttribute('data-lm-suppress-shortcuts', 'true');"
    "var notebook = panel.closest('.jp-Notebook');"
    "if (event.key === 'Escape' && notebook) notebook.focus(); };"
    "if (panel) { window.addEventListener('keydown', keys, true); names();"
    "new MutationObserver(names).observe(panel, {childList: true, subtree: true}); }"
    '">'
)
"""What widgets cannot say of themselves: whose the keys are, and what a control is called.

JupyterLab takes keys that are not typed into a text field: an arrow in a list would go to another cell, and
D twice delete this one. Its own mark against that is an attribute of what has the focus; keys with Ctrl, Alt
or Command (to save, say) stay its own, and Escape goes back to the notebook. A slider or a box without a
description has no name that a screen reader reads; it gets its tooltip.
"""


def classed(widget: Any, *names: str) -> Any:
    """The widget with these CSS classes, by which a page's style and tests find it."""
    for name in names:
        widget.add_class(name)
    return widget


def button(label: str, mark: str, act: Callable[[], None], tooltip: str) -> Any:
    """A button that does something when it is clicked."""
    layout = {"width": "auto", "align_self": "flex-start", "flex": "0 0 auto"}
    made = widgets.Button(description=label, tooltip=tooltip, layout=layout)
    made.on_click(lambda _: act())
    return classed(made, mark)


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

    def _hold(self, act: Callable[[], None]) -> None:
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
        f'<div><button type="button" class="jupyter-button rewardkit-copy" onclick="{html.escape(COPY)}">'
        f"Copy</button><pre>{markup.escaped(code, limit=None)}</pre></div>"
    )
