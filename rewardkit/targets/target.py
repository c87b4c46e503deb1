"""What a target is: a trainer whose reward functions are read, and for which ours are written and proved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from rewardkit.rewards.reward import Reward
from rewardkit.targets.adapter import Adapter, Row

JUDGED = "judged"
"""The key under which a dict says whether there was a reward, where the trainer needs a number for each."""


@dataclass(frozen=True)
class Abilities:
    """What a trainer can do with a reward, from which the losses follow.

    `weights`: "kept" by the trainer or "baked in". `missing`: what a row without a
    reward becomes there, "None" or "number"; `judged`: whether a key beside the number
    says so. `siblings`: "group" where it hands over whole groups, "batch" where
    siblings may be split over processes, "none" where it calls for one completion at a
    time. `waits` for async components: "together", "alone" where each completion waits
    for its own, or "each" where nothing else waits. `steps`: whether it says which step
    it is. `turns`: whether it hands over the whole transcript. `bounds`: the range that
    it asks for, ``None`` where any number will do. `columns`: all that it hands over of
    a row, ``None`` where that is every column. `also` are sentences on what else is
    lost there, always.
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
class Part:
    """One of the reward functions in a value that holds several, such as a method of an environment.

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
class Reading:
    """One way in which a trainer would call a function.

    `reason` is what of it was recognised, `mapping` which column each of the trainer's
    arguments is taken from. `main` is the key that is paid where a dict comes back,
    ``None`` where all are. A `sure` reading needs no further evidence: its names are
    used by no other trainer. Where the trainer calls a function in several ways, `way`
    names this one ("texts", "messages"); it is `given` where the rollouts are such that
    the trainer takes this one. It is not `provable` where the target's caller for the
    proof does not call such functions.
    """

    reason: str
    adapter: Adapter
    mapping: Mapping[str, str]
    main: str | None = field(default=None, kw_only=True)
    weight: float = field(default=1.0, kw_only=True)
    sure: bool = field(default=False, kw_only=True)
    way: str = field(default="", kw_only=True)
    given: bool = field(default=False, kw_only=True)
    provable: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class Export:
    """What is to be written: the reward, and how.

    `columns` maps canonical columns to the data set's own names; `missing` is what a
    row gets that has no reward, where the trainer needs a number; `separate` asks for a
    function a component.
    """

    reward: Reward
    columns: Mapping[str, str] = field(default_factory=dict)
    missing: float = 0.0
    separate: bool = False


@dataclass(frozen=True)
class Written:
    """The trainer's part of a file: `code` behind the reward, which is called ``_reward`` there.

    `imports` are lines; `usage` are the configuration lines to paste; `functions` names
    what the trainer is to be pointed at: the `whole` reward, or a component each. Where
    it takes each public function of the file for a reward, those that are copied in
    must be `private`. Where a proof calls functions of the user's own, as they were
    found, they are not `ours`.
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
    """What the trainer's own code made of a file: the ``reward`` (NaN where it has none), and components.

    `caller` names the code that ran, with its version; `cast` are the names of what it
    casts to float32.
    """

    caller: str
    values: Mapping[str, Sequence[float]]
    cast: tuple[str, ...] = ()

    @classmethod
    def of_dicts(
        cls,
        caller: str,
        found: Sequence[Mapping[str, float]],
        main: str = "score",
        *,
        cast: bool = False,
    ) -> Self:
        """Of a dict a completion, in which `main` is the reward; all is `cast` or nothing."""
        names = [
            name for name in (found[0] if found else ()) if name not in (main, JUDGED)
        ]
        values = {
            "reward": [one[main] for one in found],
            **{n: [one[n] for one in found] for n in names},
        }
        return cls(caller, values, tuple(values) if cast else ())


@dataclass(frozen=True)
class Target:
    """A trainer: how its reward functions are recognised, ours made, called by its own code.

    `readings(value, rows)` proposes ways to read a value; where that holds several
    reward functions, such as the hooks of an environment, they are `parts(value)`, each
    read by itself. `functions` gives a reward as what the trainer calls; the file that
    holds it is written from ``templates/NAME.py.jinja``, and the trainer's own code
    runs it in `call`. What is ``None`` is not offered. `form` is the signature that it
    calls; `versions` are those that this was tried with. `none` says what becomes of
    the trainer where a completion gets ``None``, if it does not take that for "not
    judged".
    """

    name: str
    title: str
    versions: str
    form: str
    readings: Callable[[Any, Sequence[Row]], Iterable[Reading]]
    abilities: Abilities = field(default_factory=Abilities)
    functions: Callable[..., Any] | None = None
    call: Callable[[Path, Written, Sequence[Row]], Called] | None = None
    parts: Callable[[Any], Sequence[Part]] | None = None
    none: str = ""
