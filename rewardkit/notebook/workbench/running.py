"""Running: a piece of work in a thread of its own, with a bar, a button that ends it, and its result."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from rewardkit.errors import Cancelled, InputError
from rewardkit.notebook.workbench.parts import Message, button, classed, row

__all__ = ["Running"]

Progress = Callable[[float], bool]
"""Is told the share that is done; says whether to go on."""
Work = Callable[[Progress], Any]


class Running:
    """Run and Cancel buttons with a bar, around work that takes a `Progress` and gives a result.

    `prepare` gives the work at the click, so that nothing moves under it later. It runs in a thread, so that
    the other tabs stay usable; only one runs at a time. What it raises is said in the panel, and the last
    result stays. Work that is cancelled ends with what it has found, or with `Cancelled`.
    """

    def __init__(
        self,
        label: str,
        mark: str,
        prepare: Callable[[], Work],
        finished: Callable[[Any], None],
    ) -> None:
        self._prepare, self._finished = prepare, finished
        self._thread: threading.Thread | None = None
        self._cancelled = threading.Event()
        self.run = button(label, f"rewardkit-run-{mark}", self.start, f"{label}, in the background")
        self.cancel = button("Cancel", f"rewardkit-cancel-{mark}", self.end, "stop, and show what there is")
        self.cancel.disabled = True
        bar = widgets.FloatProgress(min=0.0, max=1.0, layout={"width": "12em", "visibility": "hidden"})
        self.bar = classed(bar, f"rewardkit-bar-{mark}")
        self.message = Message()
        self.bar_row = row(classed(self.run, "rk-bench-first"), self.cancel, self.bar)
        self.widget = widgets.VBox([self.bar_row, self.message.widget])

    @property
    def busy(self) -> bool:
        """Whether the work is under way."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin the work, if it is not under way."""
        if self.busy:
            return
        work = self._prepare()
        self._cancelled.clear()
        self.run.disabled, self.cancel.disabled = True, False
        self.bar.value, self.bar.layout.visibility = 0.0, "visible"
        self.message.tell("Running ...")
        self._thread = threading.Thread(target=self._go, args=(work,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ask the work to stop; what it has found till then is its result."""
        self._cancelled.set()
        self.cancel.disabled = True
        self.message.tell("Stopping ...")

    def wait(self, seconds: float = 60.0) -> None:
        """Wait until the work is over. TimeoutError: it is not after so many seconds."""
        if self._thread is not None:
            self._thread.join(seconds)
        if self.busy:
            raise TimeoutError(f"not over after {seconds:g} s")

    def _progress(self, share: float) -> bool:
        share = min(max(share, 0.0), 1.0)
        if share - self.bar.value >= 0.01:  # not a message to the page for every row
            self.bar.value = share
        return not self._cancelled.is_set()

    def _go(self, work: Work) -> None:
        try:
            result = work(self._progress)
        except Cancelled:
            self.message.tell("Cancelled.")
        except (InputError, OSError) as error:
            self.message.warn(str(error))
        except Exception as error:  # a thread's error would be seen by no one
            self.message.warn(
                f"{type(error).__name__}: {error}. This is a fault of rewardkit: please report it."
            )
            traceback.print_exc()
        else:
            stopped = self._cancelled.is_set()
            if stopped:
                self.message.tell("Cancelled: this is what was found till then.")
            else:
                self.message.clear()
            self._finished(result)
        finally:
            self.run.disabled, self.cancel.disabled = False, True
            self.bar.layout.visibility = "hidden"
