"""Records of a target, a trainer whose reward functions we read and write."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Self

from rewardkit.errors import RewardError
from rewardkit.history.recorder import Recorder
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.columns import JUDGED_PREFIX
from rewardkit.targets.adapter import Adapter
from rewardkit.targets.columns import Row

JUDGED = "judged"
"""Key of a flag: 1.0, or 0.0 for a number that only stands for a missing reward.

The flag of a component has the prefix ``judged/`` before its name.
"""


def is_judged_key(key: str) -> bool:
    """Return whether a key is the flag `JUDGED` of the reward or of a component."""
    return key == JUDGED or key.startswith(JUDGED_PREFIX)


@dataclass(frozen=True)
class Abilities:
    """The abilities of a trainer, which decide the losses of an export.

    Attributes:
        weights: "kept" by the trainer, or "baked in" to the reward.
        missing: The form of a missing reward, "None" or "number".
        judged: Whether a key beside the number marks a missing reward.
        siblings: "group" if it passes whole groups, "batch" if siblings may be split
            over processes, "none" if it calls for one completion at a time.
        waits: How it awaits async components: "together", "alone" if each completion
            blocks the next, or "each" if nothing blocks.
        steps: Whether it passes the step of the training.
        turns: Whether it passes the whole transcript.
        bounds: The range that it requires, or ``None``.
        columns: The columns that it passes, ``None`` for all.
        also: Sentences on losses that every export has.
    """

    weights: Literal["kept", "baked in"] = "baked in"
    missing: Literal["None", "number"] = "number"
    judged: bool = False
    siblings: Literal["group", "batch", "none"] = "none"
    waits: Literal["together", "alone", "each"] = "alone"
    steps: bool = False
    turns: bool = False
    bounds: tuple[float, float] | None = None
    columns: tuple[str, ...] | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class RewardPart:
    """One of the reward functions in a value that holds several.

    It is the owner's method `name`, or a `function` in a list of the owner's. `weight`
    is set by the owner.
    """

    owner: Any
    name: str
    weight: float = 1.0
    function: Any = None

    @property
    def __name__(self) -> str:
        return self.name


@dataclass(frozen=True)
class TrainerReading:
    """One way in which a trainer would call a function.

    Attributes:
        reason: The features by which the function was recognised.
        adapter: The adapter for these calls.
        mapping: Argument of the trainer -> the column that fills it.
        main: The key of the reward in a returned dict, or keys by precedence; ``None``
            if all keys are rewards.
        weight: The function's own weight.
        sure: Whether no other trainer uses its names.
        way: Name of this way ("texts", "messages"), if there are several.
        fits_rows: Whether the trainer uses this way for such rollouts.
        provable: Whether the target's caller for the proof can call the function.
    """

    reason: str
    adapter: Adapter
    mapping: Mapping[str, str]
    main: str | tuple[str, ...] | None = field(default=None, kw_only=True)
    weight: float = field(default=1.0, kw_only=True)
    sure: bool = field(default=False, kw_only=True)
    way: str = field(default="", kw_only=True)
    fits_rows: bool = field(default=False, kw_only=True)
    provable: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class Export:
    """A reward to write, with options.

    `columns` maps canonical columns to the data set's own names. `missing` is the
    reward of a row that is not judged, if the trainer needs a number. `separate` asks
    for one function per component; `record` and `timeout` are those of `RewardHolder`.
    """

    reward: Reward
    columns: Mapping[str, str] = field(default_factory=dict)
    missing: float = 0.0
    separate: bool = False
    record: Recorder | str | None = None
    timeout: float | None = None


@dataclass(frozen=True)
class TrainerCode:
    """The trainer's part of a file, which follows the reward, called ``_reward``.

    Attributes:
        code: The code.
        imports: The import lines that it needs.
        usage: The configuration lines to paste.
        functions: Names of the functions or classes for the trainer's configuration.
        combined: Whether the reward is one function, not one per component.
        private: Whether copied functions need private names, as the trainer takes each
            public function of the file for a reward.
        ours: False if a proof calls the original functions of a user.
    """

    code: str
    imports: tuple[str, ...]
    usage: str
    functions: tuple[str, ...]
    combined: bool = True
    private: bool = False
    ours: bool = True


@dataclass(frozen=True)
class TrainerValues:
    """The values that the trainer's own code computed with a file.

    Attributes:
        caller: The code that ran, with its version.
        values: Lists called ``reward`` (NaN for none), and by component.
        cast: Names of the lists that the trainer casts to float32.
    """

    caller: str
    values: Mapping[str, Sequence[float]]
    cast: tuple[str, ...] = ()

    @classmethod
    def of_dicts(
        cls,
        caller: str,
        rewards: Sequence[Mapping[str, float]],
        main: str = "score",
        *,
        cast: bool = False,
    ) -> Self:
        """Collect the values of one dict per completion; `main` is the reward."""
        values = {"reward": [scores[main] for scores in rewards]}
        for name in rewards[0] if rewards else ():
            if name != main and not is_judged_key(name):
                values[name] = [scores[name] for scores in rewards]
        return cls(caller, values, tuple(values) if cast else ())


@dataclass(frozen=True)
class Target:
    """A trainer, with functions that read, make and call reward functions of its form.

    Attributes:
        name: The name in options, also that of its template.
        title: Its name in sentences.
        versions: The tested versions.
        form: The signature that it calls.
        readings: ``readings(value, rows)`` proposes readings of a value.
        abilities: The abilities of the trainer.
        functions: Makes the callables of a reward; None: no file can be written.
        call: Runs the trainer's own code on a file; None: no proof is possible.
        parts: Returns the reward functions in a value that holds several.
        none: What a ``None`` does in the trainer, if that does not mean "not judged".
    """

    name: str
    title: str
    versions: str
    form: str
    readings: Callable[[Any, Sequence[Row]], Iterable[TrainerReading]]
    abilities: Abilities = field(default_factory=Abilities)
    functions: Callable[..., Any] | None = None
    call: Callable[[Path, TrainerCode, Sequence[Row]], TrainerValues] | None = None
    parts: Callable[[Any], Sequence[RewardPart]] | None = None
    none: str = ""


# --- helpers for the callers of trainers


def require_installed(distribution: str, *modules: str) -> str:
    """Return the trainer and its version, such as "trl 1.16.0".

    RewardError: the trainer cannot be imported here.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    number = ""
    try:
        number = version(distribution)
    except PackageNotFoundError:
        missing = [distribution, *missing]
    if missing:
        raise RewardError(
            f"the proof runs {distribution}'s own code; missing here: "
            f"{', '.join(missing)}; install that, or export without --verify"
        )
    return f"{distribution} {number}"


def run_async(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in its own thread, as a notebook's event loop already runs."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(copy_context().run, asyncio.run, coroutine).result()


def import_file(path: Path) -> ModuleType:
    """Import a file by its path, as trainers do."""
    hashed = hashlib.sha256(str(path.resolve()).encode()).hexdigest()
    name = f"export_{path.stem}_{hashed[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickling its functions needs to find it there
    spec.loader.exec_module(module)
    return module


def places_by_key(keys: Iterable[str]) -> list[list[int]]:
    """Return the places of each key, so that rows of one key can be called together.

    >>> places_by_key(["a", "b", "a"])
    [[0, 2], [1]]
    """
    places: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return list(places.values())
