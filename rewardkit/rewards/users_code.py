"""Find users' functions in callables, and the names and calls in their code.

Nothing is called. Fingerprints hash the code; probes and mutants read it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import sys
import types
from dataclasses import fields, is_dataclass
from typing import Any

HOLDERS = (
    "rewardkit.primitives.",
    "rewardkit.judges.",
    "rewardkit.targets.",
)
"""Packages of rewardkit's callables that may contain a user's function."""


def cell_content(cell: types.CellType) -> Any:
    """Return the content of a closure's cell; None if it is not filled yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def held_values(holder: Any) -> list[Any]:
    """Return the values in a partial, or in the fields of a dataclass; else []."""
    if isinstance(holder, functools.partial):
        return [holder.func, *holder.args, *holder.keywords.values()]
    options = fields(holder) if is_dataclass(holder) else ()
    return [getattr(holder, option.name) for option in options]


def without_partial(function: Any) -> Any:
    """Return the function inside nested partials; another value unchanged."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def label_of(function: Any) -> str:
    """Return the name of a function, of a partial's function or of an object's class.

    >>> label_of(functools.partial(label_of, function=None))
    'label_of'
    """
    function = without_partial(function)
    return str(getattr(function, "__name__", type(function).__name__))


def is_from_rewardkit(code: Any) -> bool:
    """Return whether code is rewardkit's own, not a wrapper with the same name."""
    module = getattr(code, "__module__", None) or ""
    if not module.startswith("rewardkit."):
        return False
    try:
        return operator.attrgetter(code.__qualname__)(sys.modules[module]) is code
    except (AttributeError, KeyError):
        return False


def user_code(function: Any) -> list[Any]:
    """Return the functions and classes in a callable that are not rewardkit's own.

    Includes two kinds of objects that need not be callable: tokenizers, and objects of
    which an adapter calls a method.
    """
    code = function if hasattr(function, "__qualname__") else type(function)
    is_ours = is_from_rewardkit(code) and code.__module__.startswith(HOLDERS)
    if not (is_ours or isinstance(function, functools.partial)):
        return [function]
    inner: list[Any] = []
    for value in held_values(function):
        inner += value if type(value) is tuple else [value]
    parts = []
    for value in inner:
        is_tokenizer = hasattr(value, "encode") and not isinstance(value, str)
        is_called = value is getattr(function, "function", None)
        if callable(value) or is_tokenizer or (is_called and value is not None):
            parts += user_code(value)
    return parts


# --- names and calls in functions


def codes_in(code: types.CodeType) -> list[types.CodeType]:
    """List a code object and those nested in it."""
    codes = [code]
    for outer in codes:  # the list grows in the loop
        codes += [
            inner for inner in outer.co_consts if isinstance(inner, types.CodeType)
        ]
    return codes


def names_in(function: types.FunctionType) -> list[str]:
    """List the global names and attributes in a function and its inner functions."""
    names: list[str] = []
    for code in codes_in(function.__code__):
        names += code.co_names
    return names


def named_values(function: types.FunctionType) -> dict[str, Any]:
    """Return the globals that a function uses, by name.

    >>> limit = 3
    >>> def is_long(text): return len(text) > limit
    >>> is_long.__globals__.update(limit=limit)
    >>> named_values(is_long)
    {'limit': 3}
    """
    scope = function.__globals__
    return {name: scope[name] for name in names_in(function) if name in scope}


def helpers(function: types.FunctionType) -> list[types.FunctionType]:
    """List a function and the functions of its file that it uses, at any depth."""
    functions = [function]
    scope = function.__globals__
    for caller in functions:  # the list grows in the loop
        for callee in named_values(caller).values():
            is_function = isinstance(callee, types.FunctionType)
            if not is_function or callee in functions:
                continue
            if callee.__globals__ is scope:
                functions.append(callee)
    return functions


# --- code that is compiled again with changes


def read_statement(function: types.FunctionType) -> ast.Module:
    """Parse a file's imports and the statement that defines a function.

    The module is empty if its source cannot be read.
    """
    try:
        lines, _ = inspect.findsource(function)
        body = ast.parse("".join(lines)).body
    except (OSError, TypeError, ValueError, RecursionError, SyntaxError):
        return ast.Module([], [])
    # imports from __future__ change the code
    imports = [item for item in body if isinstance(item, ast.Import | ast.ImportFrom)]
    line = function.__code__.co_firstlineno
    makers = [item for item in body if (item.end_lineno or 0) >= line]
    return ast.Module([*imports, *makers[:1]], [])


def compile_codes(tree: ast.Module, like: types.CodeType) -> list[types.CodeType]:
    """Compile a tree to its code objects in a fixed order; [] if that fails."""
    try:
        return codes_in(compile(tree, like.co_filename, "exec", dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError):
        return []
