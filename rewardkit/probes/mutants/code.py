"""Changes of a user's own function: one comparison, number, index or `and` in its code.

A change is made in the syntax tree of the file that the function comes from, and only where that file's code
is still the one that the function has; its decorators, defaults and closure stay as they are. No file is
written.
"""

from __future__ import annotations

import ast
import copy
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import regex

__all__ = ["CodeChange", "code_changes", "helpers", "names_in", "with_code"]

COMPARED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}

FACTOR = 0.7
"""By which a number with a decimal point is changed; a whole number becomes one more. Our choice."""

CONTEXT = (
    ast.Compare,
    ast.BinOp,
    ast.Call,
    ast.Subscript,
    ast.IfExp,
    ast.Lambda,
    ast.Return,
    ast.Assign,
    ast.AugAssign,
)
"""What a number is shown in."""

PLACES = ("group", "start", "end", "span")
"""Methods of a match whose numbers say which group: another is an error, and no other reward."""


@dataclass(frozen=True)
class CodeChange:
    """New `code` for a `function`, or another `value` for a `name` at the top of its file.

    `before` and `after` are the expression that is changed.
    """

    function: FunctionType
    code: CodeType | None
    before: str
    after: str
    name: str = ""
    value: Any = None

    @property
    def where(self) -> str:
        """The function as a sentence calls it."""
        name = self.function.__name__
        return "the lambda" if name == "<lambda>" else f"{name}()"

    def is_in(self, function: FunctionType) -> bool:
        """Whether it changes what a function does by itself."""
        if self.name:
            return function.__globals__ is self.function.__globals__ and self.name in names_in(function)
        return function is self.function


def code_changes(function: FunctionType) -> list[CodeChange] | None:
    """The function with one thing changed, each in turn; ``None`` where its source is not at hand.

    Changed are comparisons (``==`` to ``!=``, ``<`` to ``<=``, ``in``, ``is``), ``and`` and ``or``, a ``not``
    (left out), numbers, ``[0]`` and ``[-1]``, and ``re.search`` to the last match.

    >>> import calendar
    >>> [(change.before, change.after) for change in code_changes(calendar.isleap)][:2]
    [('year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)', 'year % 4 == 0 or (year % 100 != 0 or \
year % 400 == 0)'), ('year % 4 == 0', 'year % 4 != 0')]
    """
    found = _definition(function)
    if found is None:
        return None
    whole, place = found
    changes: list[CodeChange] = []
    number = 0
    while True:
        tree = copy.deepcopy(whole)
        changed = _Changed(function, number)
        changed.body(_definitions(tree)[place])
        if not changed.after:
            return changes
        code = _code(ast.fix_missing_locations(tree), function.__code__)
        if code is not None:
            changes.append(CodeChange(function, code, changed.before, changed.after))
        number += 1


def helpers(function: FunctionType) -> list[FunctionType]:
    """The function itself, and the functions of its file that it calls by name, and those that they call."""
    found: list[FunctionType] = []
    waiting = [function]
    while waiting:
        item = waiting.pop(0)
        if item not in found:
            found.append(item)
            named = [function.__globals__.get(name) for name in names_in(item)]
            waiting += [
                other
                for other in named
                if isinstance(other, FunctionType) and other.__globals__ is function.__globals__
            ]
    return found


def with_code(function: FunctionType, change: CodeChange) -> FunctionType:
    """A copy of a function with the change in it, or in what it calls in its file; else the function itself.

    The file's own functions and values stay as they are.
    """
    among = helpers(function)
    if not any(map(change.is_in, among)):
        return function
    around = dict(function.__globals__)
    made = [(item, _made(item, change, around)) for item in among]
    for name, value in function.__globals__.items():
        around.update((name, copied) for item, copied in made if value is item)
    if change.name:
        around[change.name] = change.value
    return made[0][1]


def _made(function: FunctionType, change: CodeChange, around: dict[str, Any]) -> FunctionType:
    """A copy of a function with these names around it, and the new code where it is the changed one."""
    code = change.code if change.code and function is change.function else function.__code__
    made = FunctionType(code, around, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    for name in ("__annotations__", "__doc__", "__module__", "__qualname__"):
        setattr(made, name, getattr(function, name))
    return made


def names_in(function: FunctionType) -> list[str]:
    """The names that a function, and those in it, may take from around it."""
    return _names(function.__code__)


def _names(code: CodeType) -> list[str]:
    inner = [item for item in code.co_consts if isinstance(item, CodeType)]
    return [*code.co_names, *(name for item in inner for name in _names(item))]


def _definition(function: FunctionType) -> tuple[ast.Module, int] | None:
    """The statement of its file that makes the function, and which of the definitions there is its own.

    ``None``: there is no source, or it says something else than the function does.
    """
    try:
        lines, _ = inspect.findsource(function)
        parsed = ast.parse("".join(lines))
    except (OSError, TypeError, ValueError, RecursionError, SyntaxError):
        return None
    wanted = function.__code__
    imports = [item for item in parsed.body if isinstance(item, ast.Import | ast.ImportFrom)]
    for statement in parsed.body:
        if _first_line(statement) <= wanted.co_firstlineno <= (statement.end_lineno or 0):
            whole = ast.Module([*imports, statement], [])  # imported names are compiled otherwise
            code = _code(whole, wanted)
            if code is not None and _same(code, wanted):
                places = [at for at, node in enumerate(_definitions(whole)) if _makes(node, wanted)]
                return (whole, places[0]) if len(places) == 1 else None
    return None


def _first_line(node: Any) -> int:
    """The line where a statement or definition starts, with its decorators."""
    return min([int(node.lineno), *(int(item.lineno) for item in getattr(node, "decorator_list", ()))])


def _definitions(tree: ast.Module) -> list[Any]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def _makes(node: Any, code: CodeType) -> bool:
    """Whether this is the definition that the code comes from."""
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.body.col_offset == _column(code)
    return (node.name, _first_line(node)) == (code.co_name, code.co_firstlineno)


def _column(code: CodeType) -> int:
    """Where the body of a lambda starts in its line."""
    return min((column for _, _, column, _ in code.co_positions() if column), default=0)


def _code(tree: ast.Module, wanted: CodeType) -> CodeType | None:
    """The code that the tree has at the place of the wanted one; ``None`` where it has none."""
    try:
        waiting = [compile(tree, wanted.co_filename, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError):
        return None

    def place(code: CodeType) -> tuple[Any, ...]:
        column = _column(code) if code.co_name == "<lambda>" else 0
        return code.co_name, code.co_firstlineno, code.co_freevars, column

    while waiting:
        code = waiting.pop(0)
        if place(code) == place(wanted):
            return code
        waiting += [item for item in code.co_consts if isinstance(item, CodeType)]
    return None


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two pieces of code do the same."""
    names = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags")
    if any(getattr(a, name) != getattr(b, name) for name in names) or len(a.co_consts) != len(b.co_consts):
        return False
    return all(
        _same(x, y) if isinstance(x, CodeType) and isinstance(y, CodeType) else repr(x) == repr(y)
        for x, y in zip(a.co_consts, b.co_consts, strict=True)
    )


class _Changed(ast.NodeTransformer):
    """Makes the change of one number in the body of a definition; `after` is "" where there are fewer."""

    def __init__(self, function: FunctionType, number: int) -> None:
        self.function = function
        self.left = number
        self.around: list[ast.AST] = []
        self.before = self.after = ""

    def body(self, definition: Any) -> None:
        """Go through the body of a definition: what stands around it was run when it was made."""
        if isinstance(definition, ast.Lambda):
            definition.body = self.visit(definition.body)
        else:
            definition.body = [self.visit(statement) for statement in definition.body]

    def visit(self, node: ast.AST) -> Any:
        for other in _others(node, self.function) if not self.after else ():
            if self.left == 0:
                self.before, self.after = ast.unparse(node), ast.unparse(ast.fix_missing_locations(other))
                return ast.copy_location(other, node)
            self.left -= 1
        if self.after:
            return node
        before = ast.unparse(node) if isinstance(node, CONTEXT) else ""
        visited = super().visit(node)
        if before and self.after and self.before != before and _is_number(self.before):
            self.before, self.after = before, ast.unparse(ast.fix_missing_locations(visited))
        return visited

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.value = self.visit(node.value)
        if _index(node.slice) is None:
            node.slice = self.visit(node.slice)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and node.func.attr in PLACES:
            node.func = self.visit(node.func)
            return node
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        node.value = self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node


def _is_number(text: str) -> bool:
    """Whether the text of an expression is a number alone."""
    return text.replace(".", "").replace("e-", "").isdigit()


def _others(node: ast.AST, function: FunctionType) -> Iterator[ast.expr]:
    """What may stand in place of an expression."""
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            yield _with(node, ops=[*node.ops[:at], COMPARED[type(op)](), *node.ops[at + 1 :]])
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        index = _index(node.slice)
        if index in (0, -1):
            yield _with(node, slice=_constant(-1 if index == 0 else 0))
    elif isinstance(node, ast.Call) and _searches(node, function):
        assert isinstance(node.func, ast.Attribute)
        every = _with(node, func=_with(node.func, attr="finditer"))
        found = ast.Call(ast.Name("list", ast.Load()), [every], [])
        nothing = ast.List([ast.Constant(None)], ast.Load())
        yield ast.Subscript(ast.BoolOp(ast.Or(), [found, nothing]), _constant(-1), ast.Load())
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield _constant(node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is float:
        yield _constant(float(f"{node.value * FACTOR:.6g}") or FACTOR)


def _with(node: Any, **changed: Any) -> Any:
    """A copy of a node with some of its parts changed."""
    return ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), **changed}), node)


def _constant(value: float) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def _index(node: ast.expr) -> Any:
    """The value of an index that is written out; ``None`` for others."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None


def _searches(node: ast.Call, function: FunctionType) -> bool:
    """Whether a call is ``re.search``, or that of a pattern which the file compiles at its top."""
    called = node.func
    if not isinstance(called, ast.Attribute) or called.attr != "search":
        return False
    owner = function.__globals__.get(called.value.id) if isinstance(called.value, ast.Name) else None
    return owner in (re, regex) or isinstance(owner, re.Pattern | regex.Pattern)
