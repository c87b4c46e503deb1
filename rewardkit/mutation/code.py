"""Changes of a user's own function: one comparison, number, index or `and` in its code.

A change is made in the syntax tree of the file that the function comes from, and only where that file still
gives the code that the function has; its decorators, defaults and closure stay as they are. No file is
written.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from rewardkit.probes.contract.constants import codes_in, names_in

OPPOSITES = (
    (ast.Eq, ast.NotEq),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.In, ast.NotIn),
    (ast.Is, ast.IsNot),
    (ast.And, ast.Or),
)
"""Operators, each of which stands in place of the other."""

OTHER: Mapping[type[ast.AST], Any] = {
    a: b for pair in OPPOSITES for a, b in (pair, pair[::-1])
}

FACTOR = 0.7
"""By which a number with a decimal point is changed; a whole number becomes one more. Our choice."""


@dataclass(frozen=True)
class CodeChange:
    """Another code for a `function`, or another value for a `name` at the top of its file.

    `before` and `after` are the expression that is changed.
    """

    function: FunctionType
    new: Any
    before: str
    after: str
    name: str = ""

    def is_in(self, function: FunctionType) -> bool:
        """Whether it changes what a function does by itself."""
        if self.name:
            return (
                function.__globals__ is self.function.__globals__
                and self.name in names_in(function)
            )
        return function is self.function

    def put(self, new: Any) -> Any:
        """Put a code, or value, in place, and give what was there."""
        if self.name:
            names = self.function.__globals__
            before, names[self.name] = names[self.name], new
        else:
            before, self.function.__code__ = self.function.__code__, new
        return before


class Changed:
    """A callable in which a change of code holds while it runs; all else about it is as before.

    The change is made in the function, or file, itself and undone after the call: one call at a time.
    """

    def __init__(self, called: Any, change: CodeChange) -> None:
        self.called, self.change = called, change

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "called" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.called, name)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.called)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """What the callable gives with the change in it."""
        before = self.change.put(self.change.new)
        try:
            return self.called(*arguments, **keywords)
        finally:
            self.change.put(before)


def code_changes(function: FunctionType) -> list[CodeChange] | None:
    """The function with one thing changed, each in turn; ``None`` where its source is not at hand.

    Changed are comparisons (``==`` to ``!=``, ``<`` to ``<=``, ``in``, ``is``), ``and`` and ``or``, ``not``
    (twice), numbers, and ``[0]`` to ``[-1]`` and back.

    >>> import calendar
    >>> [(change.before, change.after) for change in code_changes(calendar.isleap)][1]
    ('year % 4 == 0', 'year % 4 != 0')
    """
    own = function.__code__
    tree = _statement(function)
    codes = _codes(tree, own)
    if own not in codes:
        return None
    place = codes.index(own)
    around = {
        child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)
    }
    changes = []
    for node, field, new in _edits(tree):
        shown = (
            around[node] if isinstance(node, ast.Constant) else node
        )  # a number with what is around it
        old, before = getattr(node, field), ast.unparse(shown)
        setattr(node, field, new)
        after, edited = ast.unparse(shown), _codes(ast.fix_missing_locations(tree), own)
        setattr(node, field, old)
        code = edited[place] if place < len(edited) else own
        if code != own and (code.co_name, code.co_freevars) == (
            own.co_name,
            own.co_freevars,
        ):
            changes.append(CodeChange(function, code, before, after))
    return changes


def helpers(function: FunctionType) -> list[FunctionType]:
    """The function itself, and the functions of its file that it calls by name, and those that they call."""
    found = [function]
    for item in found:
        for other in map(function.__globals__.get, names_in(item)):
            if (
                isinstance(other, FunctionType)
                and other.__globals__ is function.__globals__
            ):
                found += [] if other in found else [other]
    return found


def _codes(tree: ast.Module, like: CodeType) -> list[CodeType]:
    """All pieces of code that a tree compiles to, in a fixed order; none where it does not compile."""
    try:
        return codes_in(compile(tree, like.co_filename, "exec", dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError):
        return []


def _statement(function: FunctionType) -> ast.Module:
    """The imports of a function's file and the statement that makes it; empty where there is no source."""
    try:
        lines, _ = inspect.findsource(function)
        body = ast.parse("".join(lines)).body
    except (OSError, TypeError, ValueError, RecursionError, SyntaxError):
        return ast.Module([], [])
    imports = [
        item for item in body if isinstance(item, ast.Import | ast.ImportFrom)
    ]  # these change its code
    at = function.__code__.co_firstlineno
    makes = [item for item in body if (item.end_lineno or 0) >= at][:1]
    return ast.Module([*imports, *makes], [])


def _edits(tree: ast.Module) -> Iterator[tuple[Any, str, Any]]:
    """Each part of a node that can be another: the node, the name of the part, and the other."""
    for node in list(ast.walk(tree)):
        match node:
            case ast.Compare(ops=ops):
                for at, op in enumerate(ops):
                    yield node, "ops", [*ops[:at], OTHER[type(op)](), *ops[at + 1 :]]
            case ast.BoolOp(op=op):
                yield node, "op", OTHER[type(op)]()
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
                yield node, "value", float(f"{number * FACTOR:.6g}") or FACTOR
