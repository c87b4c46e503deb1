"""Parts of the tabs: pieces of HTML, messages, and work in the background."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from functools import cache
from html import escape
from typing import Any

import ipywidgets as widgets

from rewardkit.errors import Cancelled, InputError
from rewardkit.html import markup
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.notebook.workbench.variant import Variant

Progress = Callable[[float], bool]
"""Takes the finished share of the work; returns whether to continue."""
Work = Callable[[Progress], Any]


def render(name: str, *values: Any) -> str:
    """Render a macro of the workbench's template as HTML."""
    return markup.part("workbench", name, *values)


@cache
def keys() -> str:
    """Return the panel's script in HTML that runs it, as widgets allow no <script>."""
    script = markup.read_asset("workbench.js")
    return f'<img alt="" hidden src="data:," onerror="{escape(script)}">'


def add_classes(widget: Any, *names: str) -> Any:
    """Add CSS classes, for styles and tests, to a widget and return it."""
    for name in names:
        widget.add_class(name)
    return widget


def html(mark: str, value: str = "") -> Any:
    """Make a widget that shows HTML."""
    return add_classes(widgets.HTML(value), mark)


def preview_lines(text: str, longest: int) -> str:
    """Return the first characters of a text, and the number of further ones."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]} ... {len(text) - longest:,} more characters"


def redraw(pane: Any, body: str) -> None:
    """Send HTML to the page, even if it equals the last value sent."""
    pane.value = ""
    pane.value = body


def row(*parts: Any, mark: str) -> Any:
    """Put widgets side by side; they wrap on a narrow page."""
    return add_classes(widgets.HBox(parts), mark)


def stack(*parts: Any, mark: str) -> Any:
    """Put widgets below each other."""
    return add_classes(widgets.VBox(parts), mark)


class Panel:
    """A tab, which follows changes of the bench while it is visible (`active`)."""

    title = ""
    widget: Any
    active = True
    _stale = True

    def refresh(self) -> None:
        """Redraw the visible tab if the bench changed while it was hidden."""
        if self._stale and self.active:
            self._stale = False
            self.show_anew()

    def changed(self, _: Any = None) -> None:
        """Redraw the tab after a change, or once it becomes visible."""
        self._stale = True
        self.refresh()

    def show_anew(self) -> None:
        """Draw the current state."""

    def draw_controls(self) -> None:
        """Reset the controls in the page to their current values."""


class Message:
    """A line in which a tab reports an event or a problem."""

    def __init__(self) -> None:
        self.widget = html("rewardkit-message")
        self.text = ""

    def tell(self, text: str) -> None:
        """Show a text; screen readers read it when they reach it."""
        self._put(text, "status", "")

    def warn(self, text: str) -> None:
        """Show a warning; screen readers read it at once."""
        self._put(text, "alert", "\N{WARNING SIGN} ")

    def attempt(self, act: Callable[[], str], error_prefix: str = "") -> None:
        """Run `act` and show the text it returns; show an InputError as a warning.

        Args:
            act: Does the work and returns the text.
            error_prefix: Text before the error's message, such as "Not saved: ".
        """
        try:
            self.tell(act())
        except InputError as error:
            self.warn(f"{error_prefix}{error}")

    def clear(self) -> None:
        """Remove the text."""
        self.text = self.widget.value = ""

    def _put(self, text: str, role: str, mark: str) -> None:
        self.text = text
        self.widget.value = f'<p role="{role}">{mark}{markup.escaped(text)}</p>'


class BackgroundPanel(Panel):
    """A tab that runs its work in a background thread, and shows the result.

    The work uses the reward at the time of the click, and at most one thread runs.
    After an error the tab shows it together with the last result. Cancelled work
    returns the results so far, or raises `Cancelled`.
    """

    budget: float | None = None
    """Seconds for the work, if a person can choose them."""

    def __init__(self, bench: Bench, label: str, mark: str) -> None:
        self.bench = bench
        self.label = label
        self.mark = mark
        self.result: Any = None
        self._settings: tuple[Variant, int] | None = None  # settings of the result
        self._thread: threading.Thread | None = None
        self._cancelled = threading.Event()
        self._finished: float | None = None  # finished share; None if nothing runs
        self.bar = html(f"rewardkit-bar-{mark}")
        self.share = html("rewardkit-share")
        self.message = Message()
        self.moved = Message()
        self.page = html(f"rewardkit-page-{mark}", render("empty", mark))
        first = row(self.bar, self.share, mark="rk-bench-bar")
        below = (self.message.widget, self.moved.widget, self.page)
        self.widget = stack(first, *below, mark=f"rewardkit-{mark}")
        bench.commands |= {f"run-{mark}": self.start, f"cancel-{mark}": self.end}
        bench.observe(self._compare, ["variant", "revised"])
        self.draw_controls()

    def draw_controls(self) -> None:
        """Draw the buttons and the progress."""
        can_run = self._finished is None
        can_stop = not can_run and not self._cancelled.is_set()
        options = (self.mark, self.label, can_run, can_stop, self.budget)
        redraw(self.bar, render("running", *options))
        self.share.value = render("share", self._finished)

    @property
    def busy(self) -> bool:
        """Return whether the work is running."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the work on the current settings, unless it is running."""
        if self.busy:
            return
        try:
            work = self._work()
        except (InputError, OSError) as error:  # such as from a case file
            self.message.warn(str(error))
            return
        self._cancelled.clear()
        self._finished = 0.0
        self.draw_controls()
        self.message.tell("Running ...")
        arguments = (work, self.bench.now)
        self._thread = threading.Thread(target=self._run, args=arguments, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Cancel the work; its results so far are kept."""
        self._cancelled.set()
        self.draw_controls()
        self.message.tell("Stopping ...")

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until the work is finished.

        Raises:
            TimeoutError: it takes longer than `seconds`.
        """
        if self._thread is not None:
            self._thread.join(seconds)
        if self.busy:
            raise TimeoutError(f"not over after {seconds:g} s")

    def _progress(self, share: float) -> bool:
        # the page gets a message per percent, not per row
        if self._finished is not None and share - self._finished >= 0.01:
            self._finished = share
            self.share.value = render("share", share)
        return not self._cancelled.is_set()

    def _run(self, work: Work, settings: tuple[Variant, int]) -> None:
        try:
            result = work(self._progress)
        except Cancelled:
            self.message.tell("Cancelled.")
        except (InputError, OSError) as error:
            self.message.warn(str(error))
        except Exception as error:  # nobody would see the error of a thread
            fault = "This is a fault of rewardkit: please report it."
            self.message.warn(f"{type(error).__name__}: {error}. {fault}")
            traceback.print_exc()
        else:
            self.message.clear()
            if self._cancelled.is_set():
                self.message.tell("Cancelled: this is what was found until then.")
            self._settings = settings
            self._finish(result)
            self._compare()
        finally:
            self._finished = None
            self.draw_controls()

    def _work(self) -> Work:
        raise NotImplementedError

    def _finish(self, result: Any) -> None:
        self.result = result
        self._show(result)

    def _show(self, result: Any) -> None:
        raise NotImplementedError

    def _compare(self, _: Any = None) -> None:
        """Say if the settings have changed since the result."""
        if not self.busy:
            self.message.clear()
        if self._settings is None or self._settings == self.bench.now:
            self.moved.clear()
        else:
            self.moved.tell(
                "The settings have moved since. Run it again for those of now."
            )
