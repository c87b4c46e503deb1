"""What the source of a training script says of its reward functions."""

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
"""Names under which reward functions are handed to a trainer."""
WEIGHTS = "reward_weights"
EVALUATED = (
    ast.List | ast.Tuple | ast.Name | ast.Attribute | ast.Call | ast.keyword
) | (ast.Constant | ast.expr_context)
"""What the list of functions may be written with."""
CHANGES = frozenset("append extend insert remove pop clear".split())
"""Methods after which a list is no longer what its source says."""


MAKER = re.compile(r"(?:make|get|build|create)_\w*(?:reward|score)")
"""Names of functions that make a reward's function. Our choice."""

Values = Mapping[str, Any]
"""What stands under each name of a module."""


@dataclass(frozen=True)
class HandedList:
    """A list of reward functions that a script hands to a trainer.

    Attributes:
        functions: The functions by name.
        weights: Those that the same call gives, by the functions' names.
        where: Where the list stands.
    """

    functions: Mapping[str, Callable[..., Any]]
    weights: Mapping[str, float]
    where: str


def handed_over(tree: ast.Module, values: Values, module: str) -> dict[str, HandedList]:
    """Find the lists of reward functions that a script hands to a trainer.

    Also inside of functions. Of the code in a list only calls of what the module itself
    defines are made: another one may load a model.

    Args:
        tree: The source.
        values: The values of its module.
        module: The name of that.

    Returns:
        Each list under the names of its members, with commas.
    """
    changed = _changed_lists(tree)
    variables = _variables(tree)
    names = dict(values)
    lists: dict[str, HandedList] = {}
    for name, value, call, is_of_module in _settings(tree):
        if is_of_module and name in values:
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
        handed = HandedList(members, weights[0], f"{name} in line {value.lineno}")
        first = lists.setdefault(",".join(members), handed)
        if any(weight != first.weights for weight in weights):
            lists[",".join(members)] = replace(first, weights={})
    return lists


def _settings(
    tree: ast.Module,
) -> Iterator[tuple[str, ast.expr, ast.Call | None, bool]]:
    """Yield what is set to functions: name, value, its call, whether of the module."""
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
    """Yield the variable that a node sets, with what it is set to."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value


def _variables(tree: ast.Module) -> dict[str, ast.expr]:
    """Return what the variables of a source are set to that are set once."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        for name, value in _assigned(node):
            values.setdefault(name, []).append(value)
    return {name: value for name, (value, *others) in values.items() if not others}


def _changed_lists(tree: ast.Module) -> set[str]:
    """Return the variables that a source changes after they are set."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in CHANGES:
                names.add(name)
            case ast.AugAssign(target=ast.Name(id=name)):
                names.add(name)
    return names


def _calls_with(name: str, tree: ast.Module) -> list[ast.Call]:
    """Return the calls that are given a variable as their reward functions."""
    calls = []
    for _, value, call, _ in _settings(tree):
        if call and isinstance(value, ast.Name) and value.id == name:
            calls.append(call)
    return calls


def _weights_in(
    call: ast.Call, variables: Mapping[str, ast.expr], labels: list[str]
) -> dict[str, float]:
    """Return the weights that a call, or a config in it, gives; {} where none."""
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
    """Return the functions in a list, [] where it has anything else."""
    is_list = isinstance(value, list | tuple)
    return [*value] if is_list and all(map(callable, value)) else []


def _evaluate(value: ast.expr, values: Values, module: str) -> list[Callable[..., Any]]:
    """Return the functions in the source of a list, [] where they are unknown."""
    if not isinstance(value, ast.List | ast.Tuple):
        return []
    for node in ast.walk(value):
        if not (isinstance(node, EVALUATED) and _is_cheap(node, values, module)):
            return []
    try:
        code = compile(ast.Expression(value), "<reward functions>", "eval")
        return _functions_of(eval(code, {**values}))
    except CAUGHT:  # it needs what only the script's run has
        return []


def _is_cheap(node: ast.AST, values: Values, module: str) -> bool:
    """Return whether a node runs no code but the calls of what the module defines."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            maker = values.get(name)
            is_own = isinstance(maker, FunctionType | type)
            is_own = is_own and getattr(maker, "__module__", "") == module
            return is_own or maker is functools.partial
        case ast.Attribute(value=ast.Name(id=name)):
            return isinstance(values.get(name), type | ModuleType)
        case ast.Attribute(value=ast.Attribute()):
            return True
        case ast.Call() | ast.Attribute():
            return False
    return True


def _name_of(function: Callable[..., Any], values: Values) -> str:
    """Return the name of a function among these values, else a free one."""
    label = label_of(function).strip("<>")
    if values.get(label) is function:
        return label
    for name, value in values.items():
        if value is function:
            return name
    return free_name(label, values) if label in values else label


def factories(tree: ast.Module) -> set[str]:
    """Return the names of functions with arguments that return nothing but functions.

    >>> source = "def made(k): return lambda text: k * len(text)"
    >>> factories(ast.parse(source))
    {'made'}
    """
    makers = _makers(tree)
    return {name for name in makers if makers[name]}


def makers_of_rewards(tree: ast.Module) -> list[str]:
    """Return the calls that a file offers to make a reward's function.

    >>> source = "def get_reward_fn(kind, k=1): return lambda text: k * len(text)"
    >>> makers_of_rewards(ast.parse(source))
    ['get_reward_fn(...)']
    """
    calls = []
    for name, has_arguments in _makers(tree).items():
        if MAKER.match(name):
            calls.append(f"{name}(...)" if has_arguments else f"{name}()")
    return calls


def _makers(tree: ast.Module) -> dict[str, bool]:
    """Return which functions return nothing but functions, and need arguments."""
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
    """Return whether its annotation, or each return statement, says functions."""
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
