"""What a file that rewardkit writes copies for a user's function: the whole file that it is from."""

from __future__ import annotations

import ast
import builtins
import inspect
import io
import re
import symtable
import sys
import textwrap
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.workers.pool import MODULE_SOURCE

__all__ = ["Source", "name_at_the_top", "names_bound", "renamed", "source_of"]

FUTURE = "from __future__ import"


@dataclass(frozen=True)
class Source:
    """The text to copy, and what each name stands for that it binds at its top."""

    text: str
    names: Mapping[str, Any]
    module: str

    def functions(self) -> list[str]:
        """Names of the functions that are defined in it."""
        return [
            name
            for name, value in self.names.items()
            if inspect.isfunction(value) and value.__module__ == self.module
        ]


def source_of(function: Any, name: str, owner: str, folder: Path) -> Source:
    """What is copied for a function or class of this name: its file, or its statement in a notebook.

    `folder` is where the copy will lie: what the file imports from beside itself can only be imported there.
    RewardError: the source cannot be read; in a notebook, it uses names from outside itself.
    """
    module = inspect.getmodule(function)
    text = _file_text(module, function)
    if module is None or text is None:
        return Source(_statement(function, name, owner), {name: function}, function.__module__)
    _check_imports(text, Path(str(module.__file__)).parent, folder, owner, name)
    unset = object()
    values = {bound: vars(module).get(bound, unset) for bound in names_bound(text)}
    return Source(text.strip("\n"), values, module.__name__)


def names_bound(text: str) -> list[str]:
    """The names that code binds at the top of its file."""
    symbols = symtable.symtable(text, "file", "exec").get_symbols()
    return [symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()]


def name_at_the_top(value: Any) -> str:
    """What an object is called at the top of the file that made it; "" where it has no name there."""
    made_in = getattr(value, "__module__", None) or type(value).__module__
    names = vars(sys.modules[made_in]) if made_in in sys.modules and made_in != "__main__" else {}
    own = getattr(value, "__qualname__", "")
    if names.get(own) is value:
        return str(own)
    return next((name for name, item in names.items() if item is value and name.isidentifier()), "")


def _file_text(module: ModuleType | None, function: Any) -> str | None:
    """The text of the file that a module was made from; ``None`` for a notebook's cells."""
    text = vars(module).get(MODULE_SOURCE) if module is not None else None
    if isinstance(text, bytes):
        return text.decode("utf-8-sig")
    file = getattr(module, "__file__", None)
    try:
        if file is None or inspect.getsourcefile(function) != file:
            return None
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, TypeError, UnicodeDecodeError):
        return None


def _statement(function: Any, name: str, owner: str) -> str:
    """The statement of a notebook's cell that makes a function which needs nothing from around it."""
    try:
        text = textwrap.dedent(inspect.getsource(function)).strip()
    except (OSError, TypeError):
        raise RewardError(
            f"{owner!r} uses {name!r}, whose source cannot be read; put it into a file and load that"
        ) from None
    lost = _names_from_around(text)
    if lost or getattr(function, "__closure__", None):
        needs = lost or "names of the function around it"
        raise RewardError(
            f"{owner!r} uses {name!r}, which needs {needs}; put it into a file with them and load that"
        )
    return text


def _names_from_around(text: str) -> list[str]:
    """Names that a statement uses and does not bind: not built in, and not ``rk``."""
    top = symtable.symtable(text, "statement", "exec")
    used: set[str] = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        used |= {
            s.get_name() for s in table.get_symbols() if s.is_referenced() and (table is top or s.is_global())
        }
    return sorted(used - set(names_bound(text)) - set(dir(builtins)) - {"rk", "__file__", "__name__"})


def _check_imports(text: str, beside: Path, folder: Path, owner: str, name: str) -> None:
    """RewardError where the file imports a module from beside itself, and the copy will lie elsewhere."""
    if folder.resolve() == beside:
        return
    for node in ast.walk(ast.parse(text)):
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        imported += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for module in imported:
            file = getattr(sys.modules.get(module.partition(".")[0]), "__file__", None)
            if file and beside in (Path(file).parent, Path(file).parent.parent):
                raise RewardError(
                    f"{owner!r} uses {name!r}, whose file imports {module!r} from beside itself; write the "
                    f"new file into {str(beside)!r}, too"
                )


def renamed(text: str, names: Mapping[str, str]) -> str:
    r"""The code of a file with names changed that are bound at its top; comments and layout stay.

    Parameters, keyword arguments, attributes and what a class has for itself under such a name stay.

    >>> code = "import g  # once\ndef f(x, y=g): return y(x.f, f=f)"
    >>> print(renamed(code, {"f": "_f", "g": "_g", "x": "_x"}))
    import g as _g  # once
    def _f(x, y=_g): return y(x.f, f=_f)
    """
    if not names:
        return text
    lines = text.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]  # of each line in the text
    own = _own_names(ast.parse(text), lines)

    def new_name(name: str, place: tuple[int, int]) -> str:
        known = any(name in given and start <= place < end for given, start, end in own)
        return name if known else names.get(name, name)

    statement, before, done, parts = "", "", 0, []
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        new = token.string
        if token.type == tokenize.NEWLINE:
            statement = ""
        elif token.type == tokenize.NAME:
            statement = statement or token.string
            new = new_name(token.string, token.start) if before != "." else token.string
            if statement in ("import", "from") and before != "as" and new != token.string:
                as_it_is = after.string in ("as", ".") or before == "from"
                new = token.string if as_it_is else f"{token.string} as {new}"
        elif token.type == tokenize.STRING and _FORMATTED.match(token.string):  # one token before Python 3.12
            renamed_in = partial(_renamed_in_braces, partial(new_name, place=token.start))
            new = _IN_BRACES.sub(renamed_in, token.string)
        if new != token.string:
            at = starts[token.start[0] - 1] + token.start[1]
            parts += [text[done:at], new]
            done = at + len(token.string)
        before = token.string
    return "".join([*parts, text[done:]])


def _renamed_in_braces(new_name: Callable[[str], str], part: re.Match[str]) -> str:
    return _NAME.sub(lambda name: new_name(name[0]), part[0])


_FORMATTED = re.compile(r"(?i)(f|rf|fr)['\"]")
_IN_BRACES = re.compile(r"\{[^{}]*\}")
_NAME = re.compile(r"(?<![\w.'\"])[^\W\d]\w*")


Place = tuple[int, int]
"""Line and column of a token."""


def _own_names(tree: ast.AST, lines: list[str]) -> list[tuple[set[str], Place, Place]]:
    """Names between two places that others may know: of parameters, keyword arguments, members of classes.

    What a function binds besides is changed with the name at the top, which changes nothing for it.
    """

    def place(row: int, column: int) -> Place:  # ast counts bytes, tokens characters
        return row, len(lines[row - 1].encode()[:column].decode())

    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.keyword) and node.arg:
            row, column = place(node.lineno, node.col_offset)
            found.append(({node.arg}, (row, column), (row, column + len(node.arg))))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            body = node.body if isinstance(node.body, list) else [node.body]
            given = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
            end = place(body[-1].end_lineno or 0, body[-1].end_col_offset or 0)
            found.append((given, place(body[0].lineno, body[0].col_offset), end))
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                parts = [part for part in ast.iter_child_nodes(item) if isinstance(part, ast.Name)]
                names = {part.id for part in parts if isinstance(part.ctx, ast.Store)}
                names.add(getattr(item, "name", ""))
                row, column = place(item.lineno, item.col_offset)
                found.append((names, (row, column), (row, column + len("async def ") + max(map(len, names)))))
    return found
