"""MonitorCallback: a trainer that watches what it records, and stops where told to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError, check_whole_number
from rewardkit.history.parts import load_scores
from rewardkit.html.excerpts import one_line
from rewardkit.monitoring.monitor import Monitor, monitor
from rewardkit.monitoring.readings import CompletionReader
from rewardkit.rollouts.file_cache import FileCache

NEEDS_TRANSFORMERS = (
    "a callback of a trainer needs transformers, of the extra 'trainers': pip install "
    "'reward-workbench[trainers]'"
)
LONGEST_ALARM = 600
"""Characters of the line that is printed. Our choice."""


class MonitorCallback:
    """A callback of transformers' trainers, and so of TRL's, that watches the run.

    Every so many steps it reads the folder that the trainer's reward is recorded in,
    judges the run as `rk.monitor` does, and prints a line where the verdict is a new
    one. Until two steps are recorded it waits. With several processes the first one
    reads, and all of them do what it says.

    An instance is a `transformers.TrainerCallback`: transformers is imported when the
    first one is made.

    Args:
        folder: What `record=` of the reward is given.
        every: Steps of the trainer from one look to the next, from 1.
        stop: Whether training ends, after the step, where the verdict is "stop".
        **options: Of `rk.monitor`, such as `label` or `primary`.

    Raises:
        InputError: `every` is no whole number from 1; later, what `rk.monitor` raises.
        ModuleNotFoundError: There is no transformers.

    Example::

        watch = rk.MonitorCallback("runs/train-1", stop=True)
        trainer = GRPOTrainer(..., callbacks=[watch])
    """

    def __new__(cls, *_: Any, **__: Any) -> MonitorCallback:
        """Make it a callback of transformers, which answers to every other event."""
        try:
            from transformers import TrainerCallback
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(NEEDS_TRANSFORMERS, name=error.name) from None
        callback_class = type(cls.__name__, (cls, TrainerCallback), {})
        instance: MonitorCallback = object.__new__(callback_class)
        return instance

    def __init__(
        self, folder: str | Path, every: int = 20, stop: bool = False, **options: Any
    ) -> None:
        check_whole_number("every", every, 1)
        self.folder = Path(folder)
        self.every = every
        self.stop = stop
        self.options = options
        self.verdict: str | None = None
        self.cache, self.reader = FileCache(), CompletionReader()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """Look at the run every so many steps; return what the trainer is to do."""
        if state.global_step % self.every:
            return control
        if state.is_world_process_zero:
            watched = self._look()
            if watched is not None and watched.verdict != self.verdict:
                self.verdict = watched.verdict
                line = f"rewardkit: {watched.verdict}. {watched.sentence}"
                print(one_line(line, LONGEST_ALARM), flush=True)
        if self.stop:
            if args.world_size > 1:
                self.verdict = _as_first_process(self.verdict)
            if self.verdict == "stop":
                control.should_training_stop = True
        return control

    def _look(self) -> Monitor | None:
        """Judge what is recorded; None where it has no two steps or no news."""
        if not self.cache.has_news(self.folder):
            return None
        try:
            scores = load_scores(self.folder, cache=self.cache)
        except RolloutsError:
            return None
        if not scores.has_steps:
            return None
        return monitor(scores, **self.options, reader=self.reader)


def _as_first_process(verdict: str | None) -> str | None:
    """Return what the first process says; if it stopped alone, the rest would wait."""
    from accelerate.utils import broadcast_object_list

    shared: list[str | None] = broadcast_object_list([verdict])
    return shared[0]
