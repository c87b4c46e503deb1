"""Find which value of a file or module is its reward."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from enum import Enum, IntEnum
from types import FunctionType, ModuleType
from typing import Any

from rewardkit.errors import RewardError, did_you_mean
from rewardkit.plain import is_number
from rewardkit.rewards.component import parameters
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.script import (
    TrainerList,
    Values,
    factories,
    find_trainer_lists,
    reward_makers,
)
from rewardkit.rewards.users_code import (
    helpers,
    label_of,
    names_in,
    without_partial,
)

USUAL_NAMES = ("compute_score", "reward_func", "reward_fn", "reward_function")
"""Names that the guides of trainers give to a reward's function."""
NEVER_CALLED = re.compile(r"main$|test_")
"""Names of functions that a person or pytest runs; never called to find a reward."""
HELPER = re.compile(r"(?:extract|parse|get|make|build|load|normalize)_")
"""Names of helpers, which a reward calls. Our choice."""
WEIGHTS_NAME = re.compile(r"(?i)weight|coef")


class Fit(IntEnum):
    """How well a value fits the way trainers call reward functions."""

    NONE = 0
    COLUMNS = 1
    """The log has all columns that it takes."""
    TRAINER = 2
    """It takes arguments that only one trainer passes."""


@dataclass(frozen=True)
class RewardList:
    """Reward functions that are added up: name, function and weight of each.

    A weight is None if it is unknown.
    """

    members: tuple[tuple[str, Any, float | None], ...]

    @classmethod
    def of(cls, value: Any, logged: Collection[str] = ()) -> RewardList:
        """Read a list, tuple or dict of functions, see `_iterate_weighted`.

        A dict from names to functions gives them the names of its keys, unless the log
        has scores under the functions' own names.
        """
        pairs = [*_iterate_weighted(value)]
        labels = [label_of(function) for function, _ in pairs]
        has_keys = isinstance(value, dict) and not all(map(callable, value))
        if has_keys and not set(labels) <= set(logged):
            labels = list(map(str, value))
        members = [(label, *pair) for label, pair in zip(labels, pairs, strict=True)]
        return cls(tuple(members))

    @property
    def labels(self) -> list[str]:
        """Return the names of the functions."""
        return [label for label, _, _ in self.members]

    @property
    def has_weights(self) -> bool:
        """Return whether each function has a weight."""
        return all(weight is not None for _, _, weight in self.members)

    def fill_weights(self, weights: Sequence[float | None]) -> RewardList:
        """Return a copy in which functions without a weight have these."""
        members = []
        for member, weight in zip(self.members, weights, strict=True):
            if member[2] is None:
                member = (*member[:2], weight)
            members.append(member)
        return RewardList(tuple(members))


@dataclass(frozen=True)
class Candidates:
    """The values of a file or module, and which of them may be its reward.

    Attributes:
        place: The file or module.
        attribute: The name that the user asked for, or "".
        values: The module's value of each name.
        names: The public names that may be a reward.
        likely: The best of `names`; ``"a,b"`` are functions that are added up.
        logged: Names of the scores in a log.
        trainer_lists: Lists that a script passes to a trainer, by the names of their
            members.
        makers: Calls in the file that return a reward function.
    """

    place: str
    attribute: str
    values: Values
    names: tuple[str, ...]
    likely: tuple[str, ...]
    logged: Collection[str]
    trainer_lists: Mapping[str, TrainerList]
    makers: Sequence[str]

    def value(self, name: str) -> Any:
        """Return the value of a name, a `RewardList` if that is several functions."""
        names = name.split(",")
        if len(names) > 1:
            values = [*map(self.values.get, names)]
            if not all(map(callable, values)):
                return values
            weights = self._weights_by_name(names)
            return RewardList(tuple(zip(names, values, weights, strict=True)))
        value = self.values[name]
        functions = _functions_in(value, self.logged)
        if functions is None:
            return value
        weights = _find_weights(value, functions.labels, self.values)
        return functions.fill_weights(weights)

    def _weights_by_name(self, names: Sequence[str]) -> list[float | None]:
        """Return the weights of functions that are named in any order."""
        for trainer_list in self.trainer_lists.values():
            if set(trainer_list.functions) == set(names):
                weights: Mapping[str, float | None] = trainer_list.weights
                if not weights and len(self.trainer_lists) == 1:
                    order = [*trainer_list.functions]
                    variable = _find_weights(order, order, self.values)
                    weights = dict(zip(order, variable, strict=True))
                return [weights.get(name) for name in names]
        return _find_weights(names, names, self.values, has_order=False)

    def only(self) -> str:
        """Return the only likely name. RewardError: no such name, or several."""
        if len(self.likely) == 1:
            return self.likely[0]
        if self.attribute:
            raise RewardError(
                f"{self.place} has no {self.attribute!r}; it has {list(self.names)}"
                f"{did_you_mean(self.attribute, self.names)}"
            )
        if not self.likely:
            raise RewardError(
                f"{self.place} has no reward and no function that may be one"
            )
        example = f"{self.place}:{self.likely[0]}"
        members = [self.values.get(name) for name in self.likely]
        if all(map(callable, members)) and not isinstance(members[0], Reward):
            example += f", or several, as {self.place}:{','.join(self.likely)}"
            if not self.logged:
                example += "; a log that has scores of these tells which"
        advice = ""
        if self.makers:
            advice = f". {', '.join(self.makers)} may make what is meant: write a file "
            advice += f"with reward = {self.makers[0]}"
        raise RewardError(
            f"{self.place} has several that may be the reward: {list(self.likely)}; "
            f"name one, as {example}{advice}"
        )

    def others(self, name: str) -> list[str]:
        """Return other names that no candidate uses; [] if the user named one."""
        if self.attribute:
            return []
        names = name.split(",")
        unused = _unused(self.names, self.values)
        members = {id(self.values.get(name)) for name in names}
        return [other for other in unused if id(self.values[other]) not in members]


def find_candidates(
    place: str,
    attribute: str,
    values: Values,
    module: str,
    source: ast.Module,
    logged: Collection[str],
    fit: Callable[[Any], Fit],
) -> Candidates:
    """Find what may be the reward among the values of a module.

    The first rule that names any value decides: the attribute; `reward`, unless the
    source passes it to a trainer in a list; lists that the source passes to a trainer;
    the names that `_likely` returns.
    """
    trainer_lists: dict[str, TrainerList] = {}
    is_reward = isinstance(values.get("reward"), Reward)
    if "," in attribute or not (attribute or is_reward):
        trainer_lists = find_trainer_lists(source, values, module)
    values = {
        name: value
        for name, value in values.items()
        if not isinstance(value, ModuleType)  # of `import reward`
    }
    members: dict[str, Callable[..., Any]] = {}
    for item in trainer_lists.values():
        members |= item.functions
    values |= members
    names = _possible_names(values, module, source)
    likely: list[str] = []
    if attribute:
        if set(attribute.split(",")) <= values.keys():
            likely = [attribute]
    elif "reward" in values and "reward" not in members:
        likely = ["reward"]
    elif trainer_lists:
        likely = list(trainer_lists)
    else:
        fits = {name: fit(values[name]) for name in names}
        ranked = [name for name in names if not NEVER_CALLED.match(name)]
        ranked = ranked or [name for name in names if fits[name]]
        fits = {name: fits[name] for name in ranked}
        likely = _likely(fits, values, logged)
    return Candidates(
        place,
        attribute,
        values,
        tuple(names),
        tuple(likely),
        logged,
        trainer_lists,
        reward_makers(source),
    )


def _possible_names(values: Values, module: str, source: ast.Module) -> list[str]:
    """List the public names in a module that may be a reward."""
    makers = factories(source)
    for value in values.values():
        maker, is_local, _ = getattr(value, "__qualname__", "").partition(".<locals>")
        if is_local:
            makers.add(maker)
    unused_calls = _unused_calls(source)
    names = []
    for name, value in values.items():
        is_hidden = name.startswith("_") or name in makers
        defined_name = getattr(value, "__name__", name)
        is_alias = defined_name != name and values.get(defined_name) is value
        if name in USUAL_NAMES and defined_name not in USUAL_NAMES:
            is_alias = False  # it says which function a trainer is to call
        is_result = name in unused_calls and isinstance(value, FunctionType)
        is_possible = is_result or _may_be_reward(value, module)
        if is_possible and not (is_hidden or is_alias):
            names.append(name)
    return names


def _unused_calls(tree: ast.Module) -> set[str]:
    """Return the names that a module assigns a call's result to and never reads."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                names.add(ast.unparse(target))
    for used in ast.walk(tree):
        if isinstance(used, ast.Name) and isinstance(used.ctx, ast.Load):
            names.discard(used.id)
    return names


def _likely(
    fits: Mapping[str, Fit], values: Values, logged: Collection[str]
) -> list[str]:
    """Return the names that are likely the reward, best first.

    If `_best_group` leaves several, the log decides: the only list of functions whose
    scores are all in it; else the only list with weights; else the functions with
    scores in it.
    """
    names = sorted(fits, key=lambda name: -fits[name])
    lists = {}
    for name, value in values.items():
        functions = _functions_in(value, logged)
        if functions is not None:
            lists[name] = functions
    likely = _best_group(names, fits, values, lists)
    if len(likely) > 1:
        likely = _unused(likely, values)
    if len(likely) == 1:
        return likely
    logged_lists = []
    weighted_lists = []
    for name, functions in lists.items():
        if set(functions.labels) <= set(logged):
            logged_lists.append(name)
        weights = _find_weights(values[name], functions.labels, values)
        if functions.fill_weights(weights).has_weights:
            weighted_lists.append(name)
    chosen = logged_lists or weighted_lists
    if len(chosen) == 1:
        return chosen
    scored = [name for name in names if name in logged]
    if len(scored) > 1:
        return [",".join(scored)]
    fitting = [name for name in likely if fits[name]]
    return fitting if len(fitting) > 1 else likely


def _best_group(
    names: list[str],
    fits: Mapping[str, Fit],
    values: Values,
    lists: Collection[str],
) -> list[str]:
    """Return the names that share the strongest sign of a reward.

    The signs, strongest first: a name from trainers' guides, a list of functions with
    "reward" in its name, arguments of one trainer, a function with "reward" in its
    name, not used by another candidate.
    """
    trainer_names = [name for name in names if fits[name] is Fit.TRAINER]
    unused = _unused(names, values)
    usual = [name for name in names if name in USUAL_NAMES or _is_orm(values[name])]
    used = set().union(*(_names_used(values[name]) for name in names))
    reward_lists = []
    for name in lists:
        if name not in used and "reward" in name.lower() and _is_sum(name, values):
            reward_lists.append(name)
    groups = (
        [name for name in usual if name in trainer_names],
        reward_lists,
        [name for name in usual if fits[name]],
        trainer_names,
        usual,
        [name for name in names if "reward" in name.lower() and name not in lists],
        [name for name in unused if not HELPER.match(name)],
        unused or names,
    )
    return next(filter(None, groups), [])


def _is_sum(name: str, values: Values) -> bool:
    """Return whether the functions under a name are added up.

    A dict may instead be a registry, or map data sets to functions. It is a sum if each
    key is part of its function's name and the functions differ in their parameters.
    """
    functions = values[name]
    if not isinstance(functions, dict):
        return True
    signatures = set()
    for key, function in functions.items():
        if str(key) not in label_of(function):
            return False
        signatures.add(tuple(parameters(function)))
    return len(signatures) > 1 and "regist" not in name.lower()


def _may_be_reward(value: Any, module: str) -> bool:
    """Return whether a value of this module may be a reward."""
    if isinstance(value, list | tuple):
        return _functions_in(value) is not None
    if isinstance(value, Reward):
        return True
    value = without_partial(value)
    if isinstance(value, type):
        is_record = is_dataclass(value) and "__call__" not in vars(value)
        if is_record or issubclass(value, Exception | Enum):
            return False
    return callable(value) and getattr(value, "__module__", "") == module


def _functions_in(value: Any, logged: Collection[str] = ()) -> RewardList | None:
    """Return the functions in a list, tuple or dict; None if it has anything else."""
    if not isinstance(value, list | tuple | dict) or not value:
        return None
    if not all(callable(function) for function, _ in _iterate_weighted(value)):
        return None
    return RewardList.of(value, logged)


def _iterate_weighted(value: Any) -> Iterator[tuple[Any, float | None]]:
    """Yield each item of a list, tuple or dict with its weight, or None.

    The value has one of three forms: pairs of function and weight, a list of functions
    and a list of weights, or a dict from functions to weights.
    """
    items = value
    if isinstance(value, dict):
        items = value.items() if all(map(callable, value)) else value.values()
    elif len(value) == 2 and all(isinstance(item, list | tuple) for item in value):
        functions, weights = value
        if len(functions) == len(weights) and all(map(is_number, weights)):
            items = zip(functions, weights, strict=True)
    for item in items:
        if isinstance(item, list | tuple) and len(item) == 2 and is_number(item[1]):
            yield item[0], float(item[1])
        else:
            yield item, None


def _find_weights(
    functions: Any,
    labels: Sequence[str],
    values: Values,
    *,
    has_order: bool = True,
) -> list[float | None]:
    """Find the module's variable that holds the weights of functions.

    That is a dict with their keys or, if they have an order, a list of their length.
    Returns None for each if no variable fits, or several do.
    """
    keys = list(map(str, functions)) if isinstance(functions, dict) else [*labels]
    weights = []
    for name, value in values.items():
        numbers = value
        if not WEIGHTS_NAME.search(name):
            continue
        if isinstance(value, dict) and set(value) == set(keys):
            numbers = [value[key] for key in keys]
        elif not has_order:
            continue
        if isinstance(numbers, list | tuple) and len(numbers) == len(keys):
            if all(map(is_number, numbers)):
                weights.append([float(number) for number in numbers])
    return [*weights[0]] if len(weights) == 1 else [None] * len(keys)


def _unused(names: Sequence[str], values: Values) -> list[str]:
    """Return the functions and classes of `names` that no other of them uses."""
    used: set[str] = set()
    for name in names:
        used |= _names_used(values[name]) - {name}
    return [name for name in names if name not in used]


def _names_used(value: Any) -> set[str]:
    """Return the names in the code of a function, or in the methods of a class.

    Includes the code of functions of the same file that they call.
    """
    names: set[str] = set()
    if isinstance(value, Reward | list | tuple | dict):
        return names
    if isinstance(value, functools.partial):
        names.add(label_of(value))
        value = without_partial(value)
    kind = value
    if not isinstance(value, type | FunctionType):
        kind = type(value)
        names.add(kind.__name__)
    parts = vars(kind).values() if isinstance(kind, type) else [kind]
    for part in parts:
        if isinstance(part, FunctionType):
            for function in helpers(part):
                names.update(names_in(function))
    return names


def _is_orm(value: Any) -> bool:
    """Return whether a class inherits from ms-swift's ORM, or a stand-in for it."""
    bases = value.__mro__[1:] if isinstance(value, type) else ()
    return any(base.__name__ == "ORM" for base in bases)
