"""What a target is: a trainer whose reward functions are read, and for which ours are written and proved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rewardkit.rewards.reward import Reward
from rewardkit.targets.adapter import Row
from rewardkit.targets.reading import Reading

__all__ = ["Abilities", "Called", "Export", "Target", "Written"]


@dataclass(frozen=True)
class Abilities:
    """What a trainer can do with a reward, from which the losses follow.

    `weights`: "kept" by the trainer or "baked in". `missing`: what a row without a reward becomes there,
    "None" or "number". `siblings`: "group" where it hands over whole groups, "batch" where siblings may be
    split over processes, "none" where it calls for one completion at a time. `waits` for async components:
    "together", "alone" where each completion waits for its own, or "each" where nothing else waits. `steps`:
    whether it says which step it is. `turns`: whether it hands over the whole transcript. `bounds`: the range
    that it asks for, ``None`` where any number will do. `columns`: all that it hands over of a row, ``None``
    where that is every column.
    `also` are sentences on what else is lost there, always.
    """

    weights: Literal["kept", "baked in"] = "baked in"
    missing: Literal["None", "number"] = "number"
    siblings: Literal["group", "batch", "none"] = "none"
    waits: Literal["together", "alone", "each"] = "alone"
    steps: bool = False
    turns: bool = False
    bounds: tuple[float, float] | None = None
    columns: tuple[str, ...] | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Export:
    """What is to be written: the reward, and how.

    `columns` maps canonical columns to the data set's own names; `missing` is what a row gets that has no
    reward, where the trainer needs a number; `separate` asks for a function a component.
    """

    reward: Reward
    columns: Mapping[str, str] = field(default_factory=dict)
    missing: float = 0.0
    separate: bool = False


@dataclass(frozen=True)
class Written:
    """The trainer's part of a file: `code` behind the reward, which is called ``_reward`` there.

    `imports` are lines; `usage` are the configuration lines to paste, with ``{path}`` for the file's path;
    `functions` names what the trainer is to be pointed at: the `whole` reward, or a component each. Where it
    takes each public function of the file for a reward, those that are copied in must be `private`. Where a
    proof calls functions of the user's own, as they were found, they are not `ours`.
    """

    code: str
    imports: tuple[str, ...]
    usage: str
    functions: tuple[str, ...]
    whole: bool = True
    private: bool = False
    ours: bool = True


@dataclass(frozen=True)
class Called:
    """What the trainer's own code made of a file: rewards (NaN where it has none), and components by name.

    `caller` names the code that ran, with its version; `cast` are the names of what it casts to float32.
    """

    caller: str
    rewards: Sequence[float]
    components: Mapping[str, Sequence[float]] = field(default_factory=dict)
    cast: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """A trainer: how its reward functions are recognised, ours written, called by its own code.

    `readings(value, rows)` proposes ways to read a value; where that holds several reward functions, such as
    the hooks of an environment, they are `parts(value)`, each read by itself. What is ``None`` is not
    offered. `form` is the signature that it calls; `versions` are those that this was tried with.
    """

    name: str
    title: str
    versions: str
    form: str
    readings: Callable[[Any, Sequence[Row]], list[Reading]]
    abilities: Abilities = field(default_factory=Abilities)
    functions: Callable[..., Any] | None = None
    write: Callable[[Export], Written] | None = None
    call: Callable[[Path, Written, Sequence[Row]], Called] | None = None
    parts: Callable[[Any], Sequence[Any]] | None = None
