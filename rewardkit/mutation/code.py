"""Change one comparison, number, index or `and` in the code of users' functions.

A change is made in the syntax tree of the function's file, if the file still compiles
to the function's code. Decorators, defaults and closure are kept. No file is written.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from rewardkit.mutation.options import option_changes, scaled
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.primitive import Primitive
from rewardkit.rewards.component import is_async
from rewardkit.rewards.fingerprint import describe
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.users_code import (
    compile_codes,
    helpers,
    names_in,
    read_statement,
    user_code,
)

OPPOSITES = (
    (ast.Eq, ast.NotEq),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.In, ast.NotIn),
    (ast.Is, ast.IsNot),
    (ast.And, ast.Or),
)
"""Pairs of operators that replace each other."""

OTHER_OPERATOR: Mapping[type[ast.AST], Any] = {
    **dict(OPPOSITES),
    **{second: first for first, second in OPPOSITES},
}

MOST_CODE_CHANGES = 40
"""Most changes of a function, spread evenly over its code. Our choice."""

NUMBER_FACTOR = 0.7
"""Factor of a float; an integer is increased by 1. Our choice."""


@dataclass(frozen=True)
class CodeChange:
    """A new code object for a `function`, or a new value for a global `name` of it.

    `before` and `after` are the changed expression.
    """

    function: FunctionType
    new: Any
    before: str
    after: str
    name: str = ""

    def is_in(self, function: FunctionType) -> bool:
        """Return whether it changes this function itself."""
        if not self.name:
            return function is self.function
        shares_file = function.__globals__ is self.function.__globals__
        return shares_file and self.name in names_in(function)

    def put(self, new: Any) -> Any:
        """Set the code object, or value, and return the old one."""
        if self.name:
            names = self.function.__globals__
            before = names[self.name]
            names[self.name] = new
        else:
            before = self.function.__code__
            self.function.__code__ = new
        return before


class Changed:
    """A callable that runs with a code change.

    The change is made in the function or module itself and undone after the call, so
    only one call may run at a time.
    """

    def __init__(self, called: Any, change: CodeChange) -> None:
        self.called = called
        self.change = change

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "called" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.called, name)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.called)

    def __call__(self, /, *arguments: Any, **keywords: Any) -> Any:
        """Call it with the change applied."""
        before = self.change.put(self.change.new)
        try:
            return self.called(*arguments, **keywords)
        finally:
            self.change.put(before)


def code_changes_of(reward: Reward) -> tuple[list[CodeChange], list[str]]:
    """List changes of the users' functions of a reward, and of their globals.

    Changed globals are numbers and primitives. Async functions, such as judges, and
    functions of whole groups are not changed.

    Returns:
        The changes, and a sentence for each part that could not be changed.
    """
    changes: list[CodeChange] = []
    left_out: list[str] = []
    called: list[Any] = [*reward.fields.values()]
    for component in reward.components:
        if not component.group:
            called += [component.function, component.gate]
    parts: dict[Any, None] = {}
    for use in [*called, reward.gate]:
        parts |= dict.fromkeys(user_parts(use))
    names: dict[tuple[int, str], FunctionType] = {}
    for part in parts:
        part_changes = code_changes(part) if isinstance(part, FunctionType) else None
        if part_changes is None:
            left_out.append(
                f"the code of {describe(part)}: it is no function, or its source is "
                "not at hand"
            )
            part_changes = []
        count = len(part_changes)
        if count > MOST_CODE_CHANGES:
            left_out.append(
                f"{count - MOST_CODE_CHANGES} more changes of {part.__name__}: "
                f"{MOST_CODE_CHANGES} were made"
            )
            spread = [
                at * count // MOST_CODE_CHANGES for at in range(MOST_CODE_CHANGES)
            ]
            part_changes = [part_changes[at] for at in spread]
        changes += part_changes
        if isinstance(part, FunctionType):
            for name in names_in(part):
                names[id(part.__globals__), name] = part
    for (_, name), function in names.items():
        changes += _change_global(function, name)
    return changes, left_out


def user_parts(use: Any) -> list[Any]:
    """List the users' functions and objects in a callable or gate of a reward."""
    called = use.on if isinstance(use, Gate) else use
    if not callable(called) or is_async(called):
        return []
    parts = []
    for part in user_code(called):
        if isinstance(part, FunctionType):
            parts += helpers(part)
        elif part.__hash__:
            parts.append(part)
    return parts


def _change_global(function: FunctionType, name: str) -> Iterator[CodeChange]:
    """Yield changes of a global of a function, if it is a number or primitive."""
    value: Any = function.__globals__.get(name)
    if type(value) in (int, float):
        for other in scaled(value):
            codes = f"{name} = {value}", f"{name} = {other}"
            yield CodeChange(function, other, *codes, name)
    elif isinstance(value, Primitive):
        for change in option_changes(value):
            codes = change.before, change.after
            yield CodeChange(function, change.function, *codes, name)


def code_changes(function: FunctionType) -> list[CodeChange] | None:
    """List all single changes of a function's code.

    They change comparisons (``==`` to ``!=``, ``<`` to ``<=``, ``in``, ``is``), ``and``
    and ``or``, ``not`` (doubled), numbers, and ``[0]`` to ``[-1]`` and back.

    Returns:
        The changes; None if the function's source is not available.

    >>> import calendar
    >>> [(change.before, change.after) for change in code_changes(calendar.isleap)][1]
    ('year % 4 == 0', 'year % 4 != 0')
    """
    original = function.__code__
    tree = read_statement(function)
    codes = compile_codes(tree, original)
    if original not in codes:
        return None
    place = codes.index(original)
    parents: dict[ast.AST, ast.AST] = {}
    for node in ast.walk(tree):
        parents |= dict.fromkeys(ast.iter_child_nodes(node), node)
    changes = []
    for node, field, new in _edits(tree):
        # a number is shown with the expression around it
        expression = parents[node] if isinstance(node, ast.Constant) else node
        old = getattr(node, field)
        before = ast.unparse(expression)
        setattr(node, field, new)
        after = ast.unparse(expression)
        edited = compile_codes(ast.fix_missing_locations(tree), original)
        setattr(node, field, old)
        code = edited[place] if place < len(edited) else original
        if code != original and _is_same_function(code, original):
            changes.append(CodeChange(function, code, before, after))
    return changes


def _is_same_function(code: CodeType, original: CodeType) -> bool:
    return code.co_name == original.co_name and code.co_freevars == original.co_freevars


def _edits(tree: ast.Module) -> Iterator[tuple[Any, str, Any]]:
    """Yield each possible edit: the node, the name of the field, the new value."""
    for node in list(ast.walk(tree)):
        match node:
            case ast.Compare(ops=operators):
                for place, operator in enumerate(operators):
                    others = list(operators)
                    others[place] = OTHER_OPERATOR[type(operator)]()
                    yield node, "ops", others
            case ast.BoolOp(op=operator):
                yield node, "op", OTHER_OPERATOR[type(operator)]()
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, "operand", ast.UnaryOp(ast.Not(), operand)
            case ast.Subscript(slice=ast.Constant(value=0)):
                yield node, "slice", ast.Constant(-1)
            case ast.Subscript(
                slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))
            ):
                yield node, "slice", ast.Constant(0)
            case ast.Constant(value=number) if type(number) is int:
                yield node, "value", number + 1
            case ast.Constant(value=number) if type(number) is float:
                smaller = float(f"{number * NUMBER_FACTOR:.6g}")
                yield node, "value", smaller or NUMBER_FACTOR
