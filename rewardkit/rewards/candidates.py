"""Which of the values of a file or module is its reward."""

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
    HandedList,
    Values,
    factories,
    handed_over,
    makers_of_rewards,
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
"""Names of functions that a person or pytest runs; not called to find a reward."""
HELPER = re.compile(r"(?:extract|parse|get|make|build|load|normalize)_")
"""Names of functions that a reward calls. Our choice."""
WEIGHTS_NAME = re.compile(r"(?i)weight|coef")


class Fit(IntEnum):
    """How well a value fits the calls of trainers."""

    NONE = 0
    COLUMNS = 1
    """The log has what it asks for."""
    TRAINER = 2
    """It asks for what only a certain trainer gives."""


@dataclass(frozen=True)
class RewardList:
    """Reward functions that are added up: the name, function and weight of each.

    The weight is None where nothing says it.
    """

    members: tuple[tuple[str, Any, float | None], ...]

    @classmethod
    def of(cls, value: Any, logged: Collection[str] = ()) -> RewardList:
        """Read a list, tuple or dict of functions, see `_weighed_functions`.

        Their names are their own, or the keys of a dict from names to functions where
        the log has no scores under their own names.
        """
        pairs = [*_weighed_functions(value)]
        labels = [label_of(function) for function, _ in pairs]
        has_keys = isinstance(value, dict) and not all(map(callable, value))
        if has_keys and not set(labels) <= set(logged):
            labels = list(map(str, value))
        members = []
        for label, (function, weight) in zip(labels, pairs, strict=True):
            members.append((label, function, weight))
        return cls(tuple(members))

    @property
    def labels(self) -> list[str]:
        """Return the names of the functions."""
        return [label for label, _, _ in self.members]

    @property
    def has_weights(self) -> bool:
        """Return whether each function has a weight."""
        return all(weight is not None for _, _, weight in self.members)

    def weighed(self, weights: Sequence[float | None]) -> RewardList:
        """Return the functions with these weights where they have none."""
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
        attribute: The name that was asked for, "" where none was.
        values: What stands under each name.
        names: The public names that may stand for a reward.
        likely: Those of which one is meant; ``"a,b"`` are functions that are added up.
        logged: Names of the scores in a log.
        handed: Lists that a script hands to a trainer, by the names of their members.
        makers: Calls that the file offers to make a reward's function.
    """

    place: str
    attribute: str
    values: Values
    names: tuple[str, ...]
    likely: tuple[str, ...]
    logged: Collection[str]
    handed: Mapping[str, HandedList]
    makers: Sequence[str]

    def value(self, name: str) -> Any:
        """Return the value of a name, a `RewardList` where it stands for several."""
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
        return functions.weighed(_weights_beside(value, functions.labels, self.values))

    def _weights_by_name(self, names: Sequence[str]) -> list[float | None]:
        """Return the weights of functions that may be named in any order."""
        for handed in self.handed.values():
            if set(handed.functions) == set(names):
                weights: Mapping[str, float | None] = handed.weights
                if not weights and len(self.handed) == 1:
                    order = [*handed.functions]
                    beside = _weights_beside(order, order, self.values)
                    weights = dict(zip(order, beside, strict=True))
                return [weights.get(name) for name in names]
        return _weights_beside(names, names, self.values, has_order=False)

    def only(self) -> str:
        """Return the only likely name. RewardError: there is none, or several."""
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
        """Return the other names that no other candidate uses; none if it was named."""
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
    logged: Collection[str] = (),
    fit: Callable[[Any], Fit] = lambda value: Fit.NONE,
) -> Candidates:
    """Find what may be the reward among the values of a module.

    That is what the attribute names, else `reward`, else the list that the source hands
    to a trainer (also where `reward` is one of it), else the only one that `_likely`
    takes.
    """
    handed: dict[str, HandedList] = {}
    is_reward = isinstance(values.get("reward"), Reward)
    if "," in attribute or not (attribute or is_reward):
        handed = handed_over(source, values, module)
    values = {
        name: value
        for name, value in values.items()
        if not isinstance(value, ModuleType)  # of `import reward`
    }
    for item in handed.values():
        values |= item.functions
    makers = {getattr(value, "__qualname__", "") for value in values.values()}
    makers = {name.partition(".<locals>")[0] for name in makers if ".<locals>" in name}
    makers |= factories(source)
    unused_calls = _unused_calls(source)
    names = []
    for name, value in values.items():
        is_hidden = name.startswith("_") or name in makers
        own_name = getattr(value, "__name__", name)
        is_again = own_name != name and values.get(own_name) is value
        if name in USUAL_NAMES and own_name not in USUAL_NAMES:
            is_again = False  # an alias that says what a trainer is to call
        is_made = name in unused_calls and isinstance(value, FunctionType)
        if not (is_hidden or is_again) and (is_made or _may_be_reward(value, module)):
            names.append(name)
    likely: list[str] = []
    if attribute:
        if set(attribute.split(",")) <= values.keys():
            likely = [attribute]
    elif "reward" in values and not any(
        "reward" in item.functions for item in handed.values()
    ):
        likely = ["reward"]
    elif handed:
        likely = list(handed)
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
        handed,
        makers_of_rewards(source),
    )


def _unused_calls(tree: ast.Module) -> set[str]:
    """Return the names that a module gives to what calls return, and uses nowhere."""
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
    """Return the names of which one is meant, best first.

    That is the function of a name that trainers' guides use, the only list of functions
    with "reward" in its name, a function with a trainer's own arguments, one with
    "reward" in its name, or any, that no other one uses. Of several it is the only list
    or dict of functions that the log has scores of, or with weights beside it, else the
    functions that the log has scores of.
    """
    names = sorted(fits, key=lambda name: -fits[name])
    of_trainer = [name for name in names if fits[name] is Fit.TRAINER]
    unused = _unused(names, values)
    usual = [name for name in names if name in USUAL_NAMES or _is_orm(values[name])]
    used = set().union(*(_names_used(values[name]) for name in names))
    lists = {}
    for name, value in values.items():
        functions = _functions_in(value, logged)
        if functions is not None:
            lists[name] = functions
    of_rewards = []
    for name in lists:
        if name not in used and "reward" in name.lower() and _is_sum(name, values):
            of_rewards.append(name)
    groups = (
        [name for name in usual if name in of_trainer],
        of_rewards,
        [name for name in usual if fits[name]],
        of_trainer,
        usual,
        [name for name in names if "reward" in name.lower() and name not in lists],
        [name for name in unused if not HELPER.match(name)],
        unused or names,
    )
    likely = next(filter(None, groups), [])
    if len(likely) > 1:
        likely = _unused(likely, values)
    if len(likely) == 1:
        return likely
    of_log, weighed = [], []
    for name, functions in lists.items():
        if set(functions.labels) <= set(logged):
            of_log.append(name)
        weights = _weights_beside(values[name], functions.labels, values)
        if functions.weighed(weights).has_weights:
            weighed.append(name)
    chosen = of_log or weighed
    if len(chosen) == 1:
        return chosen
    scored = [name for name in names if name in logged]
    if len(scored) > 1:
        return [",".join(scored)]
    fitting = [name for name in likely if fits[name]]
    return fitting if len(fitting) > 1 else likely


def _is_sum(name: str, values: Values) -> bool:
    """Return whether the functions under a name are added up.

    A dict may say which function is for which data, or be chosen from: it has parts of
    a sum where its keys are in their names, and some ask for something else.
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
    """Return whether a value of this module may stand for a reward."""
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
    """Return what a list, tuple or dict adds up, None unless it is all functions."""
    if not isinstance(value, list | tuple | dict) or not value:
        return None
    if not all(callable(function) for function, _ in _weighed_functions(value)):
        return None
    return RewardList.of(value, logged)


def _weighed_functions(value: Any) -> Iterator[tuple[Any, float | None]]:
    """Yield what a list, tuple or dict holds, each with its weight, None without one.

    Weights stand in pairs with the functions, in a second list beside theirs, or in a
    dict under them.
    """
    items = value
    if isinstance(value, dict):
        items = value.items() if all(map(callable, value)) else value.values()
    elif len(value) == 2 and all(isinstance(item, list | tuple) for item in value):
        if len(value[0]) == len(value[1]) and all(map(is_number, value[1])):
            items = zip(*value, strict=True)
    for item in items:
        if isinstance(item, list | tuple) and len(item) == 2 and is_number(item[1]):
            yield item[0], float(item[1])
        else:
            yield item, None


def _weights_beside(
    functions: Any,
    labels: Sequence[str],
    values: Values,
    *,
    has_order: bool = True,
) -> list[float | None]:
    """Return the weights of functions: of a dict of their keys, or a list beside them.

    None for each where there are no such weights, or several.
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
    """Return the names of functions and classes that no other one of these uses."""
    used: set[str] = set()
    for name in names:
        used |= _names_used(values[name]) - {name}
    return [name for name in names if name not in used]


def _names_used(value: Any) -> set[str]:
    """Return the names in the code of a function, or of the methods of a class.

    Of what these call in their file, too.
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
    """Return whether a class is made from ms-swift's ORM, or from a stand-in."""
    bases = value.__mro__[1:] if isinstance(value, type) else ()
    return any(base.__name__ == "ORM" for base in bases)
