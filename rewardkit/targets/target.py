"""What a target is: a trainer whose reward functions are read, and ours code."""

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
"""Key that says whether there was a reward, where the trainer needs a number.

With the prefix ``judged/`` before its name, a key says so of a component.
"""


def is_judged_key(key: str) -> bool:
    """Return whether a key says that a number was judged, and is no score itself."""
    return key == JUDGED or key.startswith(JUDGED_PREFIX)


@dataclass(frozen=True)
class Abilities:
    """What a trainer can do with a reward, from which the losses follow.

    Attributes:
        weights: "kept" by the trainer, or "baked in".
        missing: What a row without a reward becomes there, "None" or "number".
        judged: Whether a key beside the number says that there was none.
        siblings: "group" where it hands over whole groups, "batch" where siblings may
            be split over processes, "none" where it calls for one completion at a time.
        waits: For async components: "together", "alone" where each completion waits
            for its own, or "each" where nothing else waits.
        steps: Whether it says which step it is.
        turns: Whether it hands over the whole transcript.
        bounds: The range that it asks for, ``None`` where any number will do.
        columns: All that it hands over of a row, ``None`` where that is every column.
        also: Sentences on what else is lost there, always.
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

    It is the method of this name, or a `function` in a list of the owner's. `weight` is
    what the owner says.
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
        reason: What of the function was recognised.
        adapter: What calls it so.
        mapping: Argument of the trainer -> the column that it is taken from.
        main: The key that is paid where a dict comes back, or the keys of which the
            first that there is is paid; ``None`` where all are.
        weight: The function's weight, where it says one.
        sure: Whether its names are used by no other trainer.
        way: Name of this way ("texts", "messages"), where there are several.
        fits_rows: Whether the trainer takes this way for rollouts such as these.
        provable: Whether the target's caller for the proof calls such functions.
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
    """What is to be written: the reward, and how.

    `columns` maps canonical columns to the data set's own names; `missing` is what a
    row gets that has no reward, where the trainer needs a number; `separate` asks for a
    function a component; `record` and `timeout` are those of `RewardHolder`.
    """

    reward: Reward
    columns: Mapping[str, str] = field(default_factory=dict)
    missing: float = 0.0
    separate: bool = False
    record: Recorder | str | None = None
    timeout: float | None = None


@dataclass(frozen=True)
class TrainerCode:
    """The trainer's part of a file, behind the reward, which is called ``_reward``.

    Attributes:
        code: The code.
        imports: The import lines that it needs.
        usage: The configuration lines to paste.
        functions: Names of what the trainer is to be pointed at.
        combined: Whether that is the reward as one function, not one a component.
        private: Whether functions that are copied in need private names, as the
            trainer takes each public function of the file for a reward.
        ours: False where a proof calls a user's functions as they were found.
    """

    code: str
    imports: tuple[str, ...]
    usage: str
    functions: tuple[str, ...]
    combined: bool = True
    private: bool = False
    ours: bool = True


@dataclass(frozen=True)
class Called:
    """What the trainer's own code made of a file.

    Attributes:
        caller: The code that ran, with its version.
        values: Lists called ``reward`` (NaN where it has none), and by component.
        cast: Names of the lists that it casts to float32.
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
        """Collect a dict a completion, in which `main` is the reward."""
        values = {"reward": [scores[main] for scores in rewards]}
        for name in rewards[0] if rewards else ():
            if name != main and not is_judged_key(name):
                values[name] = [scores[name] for scores in rewards]
        return cls(caller, values, tuple(values) if cast else ())


@dataclass(frozen=True)
class Target:
    """A trainer: how its reward functions are recognised, ours made and called.

    Attributes:
        name: What a person chooses it by, also the name of its template.
        title: Its name in sentences.
        versions: Those that this was tried with.
        form: The signature that it calls.
        readings: ``readings(value, rows)`` proposes ways to read a value.
        abilities: What it can do with a reward.
        functions: Gives a reward as what the trainer calls; None: nothing is code.
        call: Runs the trainer's own code on a file; None: nothing is proved.
        parts: The reward functions in a value that holds several, each read by itself.
        none: What becomes of the trainer where a completion gets ``None``, if it does
            not take that for "not judged".
    """

    name: str
    title: str
    versions: str
    form: str
    readings: Callable[[Any, Sequence[Row]], Iterable[TrainerReading]]
    abilities: Abilities = field(default_factory=Abilities)
    functions: Callable[..., Any] | None = None
    call: Callable[[Path, TrainerCode, Sequence[Row]], Called] | None = None
    parts: Callable[[Any], Sequence[RewardPart]] | None = None
    none: str = ""


# --- what callers of trainers share


def require_installed(distribution: str, *modules: str) -> str:
    """Return the trainer and its version, such as "trl 1.16.0".

    RewardError: it cannot be imported here.
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
    """Run a coroutine in a thread of its own, as a notebook's loop runs already."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(copy_context().run, asyncio.run, coroutine).result()


def import_file(path: Path) -> ModuleType:
    """Import a file from its path, as trainers do."""
    hashed = hashlib.sha256(str(path.resolve()).encode()).hexdigest()
    name = f"export_{path.stem}_{hashed[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # pickling its functions needs to find it there
    spec.loader.exec_module(module)
    return module


def places_by_key(keys: Iterable[str]) -> list[list[int]]:
    """Return the places of each key: of the rows that a trainer hands over together.

    >>> places_by_key(["a", "b", "a"])
    [[0, 2], [1]]
    """
    places: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return list(places.values())
