"""MonitorCallback: judge a run while it trains, and stop the trainer on an alarm."""

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
"""Characters of the printed line. Our choice."""


class MonitorCallback:
    """A callback for the trainers of transformers and TRL that watches the run.

    Every `every` steps it reads the folder in which the reward is recorded, judges the
    run as `rk.monitor` does, and prints a line if the verdict has changed. It waits
    until two steps are recorded. In distributed training the first process judges, and
    all processes follow its verdict.

    An instance is a `transformers.TrainerCallback`: the first instance imports
    transformers.

    Args:
        folder: The folder that the reward is given as `record=`.
        every: Trainer steps between two looks, at least 1.
        stop: Whether the verdict "stop" ends training after the current step.
        **options: Options of `rk.monitor`, such as `label` or `primary`.

    Raises:
        InputError: `every` is not a whole number of at least 1. Later looks raise what
            `rk.monitor` raises.
        ModuleNotFoundError: transformers is not installed.

    Example::

        watch = rk.MonitorCallback("runs/train-1", stop=True)
        trainer = GRPOTrainer(..., callbacks=[watch])
    """

    def __new__(cls, *_: Any, **__: Any) -> MonitorCallback:
        """Create an instance that inherits the other events from TrainerCallback."""
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
        """Judge the run every `every` steps; return the trainer's `control`."""
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
        """Judge the recorded run; None if it has no news or fewer than two steps."""
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
    """Return the first process's verdict, so that all processes stop together."""
    from accelerate.utils import broadcast_object_list

    shared: list[str | None] = broadcast_object_list([verdict])
    return shared[0]
