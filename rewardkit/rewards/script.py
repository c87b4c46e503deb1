"""Read reward functions and their weights from the source of a training script."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import FunctionType, ModuleType
from typing import Any

from rewardkit.errors import CAUGHT
from rewardkit.rewards.users_code import label_of
from rewardkit.rollouts.columns import free_name

FUNCTIONS_NAME = re.compile(r"(?i)reward_?(?:func(?:tion)?|fn)s")
"""Keywords and variables with which scripts pass reward functions to a trainer."""
WEIGHTS = "reward_weights"
EVALUATED = (
    ast.List | ast.Tuple | ast.Name | ast.Attribute | ast.Call | ast.keyword
) | (ast.Constant | ast.expr_context)
"""Syntax in a list of functions that is evaluated here."""
CHANGES = frozenset("append extend insert remove pop clear".split())
"""Methods that change a list after it is written."""

MAKER = re.compile(r"(?:make|get|build|create)_\w*(?:reward|score)")
"""Names of functions that return a reward function. Our choice."""

Values = Mapping[str, Any]
"""The value of each name of a module."""


@dataclass(frozen=True)
class TrainerList:
    """A list of reward functions that a script passes to a trainer.

    Attributes:
        functions: The functions by name.
        weights: The weights in the same call, by function name; {} if it has none.
        where: The variable or keyword and the line of the list.
    """

    functions: Mapping[str, Callable[..., Any]]
    weights: Mapping[str, float]
    where: str


def find_trainer_lists(
    tree: ast.Module, values: Values, module: str
) -> dict[str, TrainerList]:
    """Find the lists of reward functions that a script passes to a trainer.

    Lists inside functions count. A list is evaluated only if all its calls are of
    functions that the module itself defines, as others may load a model.

    Args:
        tree: The source.
        values: The values of its module.
        module: The name of its module.

    Returns:
        Each list by the names of its members, joined with commas.
    """
    changed = _changed_lists(tree)
    variables = _variables(tree)
    names = dict(values)
    lists: dict[str, TrainerList] = {}
    for name, value, call, is_global in _settings(tree):
        if is_global and name in values:
            functions = _functions_of(values[name])
        elif call is None and name in changed:
            continue
        else:
            functions = _evaluate(value, values, module)
        if not functions:
            continue
        members = {}
        for function in functions:
            label = _name_of(function, names)
            names[label] = members[label] = function
        calls = [call] if call else _calls_with(name, tree)
        weights = [_weights_in(call, variables, [*members]) for call in calls] or [{}]
        trainer_list = TrainerList(
            members, weights[0], f"{name} in line {value.lineno}"
        )
        labels = ",".join(members)
        first = lists.setdefault(labels, trainer_list)
        if any(weight != first.weights for weight in weights):
            lists[labels] = replace(first, weights={})
    return lists


def _settings(
    tree: ast.Module,
) -> Iterator[tuple[str, ast.expr, ast.Call | None, bool]]:
    """Yield each setting of reward functions: name, value, call, whether global.

    The call is None if the setting is the assignment of a variable.
    """
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner.update(map(id, ast.walk(node)))
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if FUNCTIONS_NAME.fullmatch(keyword.arg or ""):
                    yield str(keyword.arg), keyword.value, node, False
        for name, value in _assigned(node):
            if FUNCTIONS_NAME.fullmatch(name):
                yield name, value, None, id(node) not in inner


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the name and value of the variable that a node assigns."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value


def _variables(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the values of the variables that a source assigns exactly once."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        for name, value in _assigned(node):
            values.setdefault(name, []).append(value)
    return {name: value for name, (value, *others) in values.items() if not others}


def _changed_lists(tree: ast.Module) -> set[str]:
    """Return the variables that a source changes after their assignment."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in CHANGES:
                names.add(name)
            case ast.AugAssign(target=ast.Name(id=name)):
                names.add(name)
    return names


def _calls_with(name: str, tree: ast.Module) -> list[ast.Call]:
    """Return the calls that take this variable as their reward functions."""
    calls = []
    for _, value, call, _ in _settings(tree):
        if call and isinstance(value, ast.Name) and value.id == name:
            calls.append(call)
    return calls


def _weights_in(
    call: ast.Call, variables: Mapping[str, ast.expr], labels: list[str]
) -> dict[str, float]:
    """Return the weights in a call, or in a config passed to it; {} without any."""
    calls: list[ast.expr] = [call, *call.args]
    calls += [keyword.value for keyword in call.keywords]
    for part in calls:
        if isinstance(part, ast.Name):
            part = variables.get(part.id, part)
        if not isinstance(part, ast.Call):
            continue
        for keyword in part.keywords:
            value = keyword.value
            if keyword.arg != WEIGHTS:
                continue
            if isinstance(value, ast.Name):
                value = variables.get(value.id, value)
            try:
                numbers = [*map(float, ast.literal_eval(value))]
            except (TypeError, ValueError):
                return {}
            is_of_list = len(numbers) == len(labels)
            return dict(zip(labels, numbers, strict=True)) if is_of_list else {}
    return {}


def _functions_of(value: Any) -> list[Callable[..., Any]]:
    """Return the functions in a list, [] if it has anything else."""
    is_list = isinstance(value, list | tuple)
    return [*value] if is_list and all(map(callable, value)) else []


def _evaluate(value: ast.expr, values: Values, module: str) -> list[Callable[..., Any]]:
    """Evaluate the source of a list of functions; [] if that is not possible."""
    if not isinstance(value, ast.List | ast.Tuple):
        return []
    for node in ast.walk(value):
        if not (isinstance(node, EVALUATED) and _is_cheap(node, values, module)):
            return []
    try:
        code = compile(ast.Expression(value), "<reward functions>", "eval")
        return _functions_of(eval(code, {**values}))
    except CAUGHT:  # it needs values that only a run of the script has
        return []


def _is_cheap(node: ast.AST, values: Values, module: str) -> bool:
    """Return whether a node calls at most functions that the module defines."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            maker = values.get(name)
            if not isinstance(maker, FunctionType | type):
                return False
            return maker.__module__ == module or maker is functools.partial
        case ast.Attribute(value=ast.Name(id=name)):
            return isinstance(values.get(name), type | ModuleType)
        case ast.Attribute(value=ast.Attribute()):
            return True
        case ast.Call() | ast.Attribute():
            return False
    return True


def _name_of(function: Callable[..., Any], values: Values) -> str:
    """Return the name of a function among these values, else an unused name."""
    label = label_of(function).strip("<>")
    if values.get(label) is function:
        return label
    for name, value in values.items():
        if value is function:
            return name
    return free_name(label, values) if label in values else label


def factories(tree: ast.Module) -> set[str]:
    """Return the names of functions that need arguments and only return functions.

    >>> source = "def made(k): return lambda text: k * len(text)"
    >>> factories(ast.parse(source))
    {'made'}
    """
    makers = _makers(tree)
    return {name for name in makers if makers[name]}


def reward_makers(tree: ast.Module) -> list[str]:
    """Return the calls of functions in a file that return a reward function.

    >>> source = "def get_reward_fn(kind, k=1): return lambda text: k * len(text)"
    >>> reward_makers(ast.parse(source))
    ['get_reward_fn(...)']
    """
    calls = []
    for name, has_arguments in _makers(tree).items():
        if MAKER.match(name):
            calls.append(f"{name}(...)" if has_arguments else f"{name}()")
    return calls


def _makers(tree: ast.Module) -> dict[str, bool]:
    """Map each function that only returns functions to whether it needs arguments."""
    makers = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and _returns_functions(node):
            arguments = node.args
            positional = arguments.posonlyargs + arguments.args
            needs_keyword = None in arguments.kw_defaults
            has_positional = len(positional) > len(arguments.defaults)
            makers[node.name] = needs_keyword or has_positional
    return makers


def _returns_functions(function: ast.FunctionDef) -> bool:
    """Return whether a function returns functions by annotation or in each return."""
    if function.returns is not None and "Callable" in ast.unparse(function.returns):
        return True
    inner: set[str] = set()
    returned: list[ast.expr | None] = []
    nodes: list[ast.AST] = [*function.body]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner.add(node.name)
            continue
        if isinstance(node, ast.Return):
            returned.append(node.value)
        if not isinstance(node, ast.Lambda | ast.ClassDef):
            nodes += ast.iter_child_nodes(node)
    if not returned:
        return False
    for value in returned:
        is_inner = isinstance(value, ast.Name) and value.id in inner
        if not (is_inner or isinstance(value, ast.Lambda)):
            return False
    return True
