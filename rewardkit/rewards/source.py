"""Source: a user's code, to be copied into a file or imported by it."""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import decode_source
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.errors import RewardError, preview
from rewardkit.workers.pool import MODULE_SOURCE


@dataclass(frozen=True)
class Source:
    """The code that something is from: a module to import, a file, or a cell.

    Of a file or a cell `text` is what is copied, and `names` what stands under each
    name that it binds.
    """

    module: str = ""
    file: str = ""
    text: str = ""
    names: Mapping[str, Any] = field(default_factory=dict)


def source_of(value: Any, owner: str, folder: Path) -> tuple[str, Source]:
    """Return what a user's function, class or object is called, and its source.

    `folder` is where a copy will lie: what a file imports from beside itself can only
    be imported there. RewardError: it has no name at the top of a file or cell, its
    source cannot be read, or its cell needs more than itself.
    """
    name = name_at_the_top(value) or getattr(value, "__qualname__", "")
    if not name.isidentifier():
        raise RewardError(
            f"{owner!r} uses {preview(value)}, which has no name to write; give it "
            "plain values, or a "
            "function with a name at the top of a file or cell"
        )
    module = inspect.getmodule(value)
    if (
        module is not None
        and module.__name__ != "__main__"
        and MODULE_SOURCE not in vars(module)
    ):
        if getattr(module, name, None) is value:
            return name, Source(module.__name__)
    text = _file_text(module, value)
    if module is None or text is None:
        return name, Source(
            text=_statement(value, name, owner) + "\n", names={name: value}
        )
    path, unset = Path(str(module.__file__)), object()
    beside = imports_beside(text, path.parent)
    if beside and folder.resolve() != path.parent:
        raise RewardError(
            f"{owner!r} uses {name!r}, whose file imports {beside[0]!r} from beside "
            "itself; write the new "
            f"file into {str(path.parent)!r}, too"
        )
    names = {bound: vars(module).get(bound, unset) for bound in names_bound(text)}
    return name, Source(file=path.name, text=text.rstrip() + "\n", names=names)


def names_bound(text: str) -> list[str]:
    """Return the names that code binds at the top of its file."""
    symbols = symtable.symtable(text, "file", "exec").get_symbols()
    return [
        symbol.get_name()
        for symbol in symbols
        if symbol.is_assigned() or symbol.is_imported()
    ]


def name_at_the_top(value: Any) -> str:
    """Return the name of an object at the top of its file, "" where it has none."""
    made_in = getattr(value, "__module__", None) or type(value).__module__
    if made_in not in sys.modules or made_in == "__main__":
        return ""
    names = vars(sys.modules[made_in])
    qualified = getattr(value, "__qualname__", "")
    if names.get(qualified) is value:
        return str(qualified)
    for name, member in names.items():
        if member is value and name.isidentifier():
            return str(name)
    return ""


def _file_text(module: ModuleType | None, value: Any) -> str | None:
    """Return the text of the file that made a module; None for a notebook's cells."""
    content = getattr(module, MODULE_SOURCE, None)
    file = getattr(module, "__file__", None)
    try:
        if content is None and file and inspect.getsourcefile(value) == file:
            content = Path(file).read_bytes()
        if content is None:
            return None
        return decode_source(content)
    except (OSError, TypeError, SyntaxError, UnicodeDecodeError):
        return None


def _statement(value: Any, name: str, owner: str) -> str:
    """Return the source of a function of a notebook that needs nothing around it."""
    try:
        text = textwrap.dedent(inspect.getsource(value)).strip()
    except (OSError, TypeError):
        raise RewardError(
            f"{owner!r} uses {name!r}, whose source cannot be read; put it into a "
            "file and load that"
        ) from None
    needs = _names_from_around(text)
    if not needs and getattr(value, "__closure__", None):
        needs = ["names of the function around it"]
    if needs:
        raise RewardError(
            f"{owner!r} uses {name!r}, which needs {needs}; put it into a file with "
            "them and load that"
        )
    return text


def _names_from_around(text: str) -> list[str]:
    """Names that a statement uses and does not bind: not built in, and not ``rk``."""
    top = symtable.symtable(text, "statement", "exec")
    used: set[str] = set()
    tables = [top]
    for table in tables:
        tables += table.get_children()
        symbols = (
            symbol
            for symbol in table.get_symbols()
            if table is top or symbol.is_global()
        )
        used |= {symbol.get_name() for symbol in symbols if symbol.is_referenced()}
    return sorted(
        used
        - set(names_bound(text))
        - set(dir(builtins))
        - {"rk", "__file__", "__name__"}
    )


def imports_beside(text: str, folder: Path) -> list[str]:
    """Return the modules that code imports from its own folder."""
    imported = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported += [node.module or ""]
    tops = [(name, folder / name.partition(".")[0]) for name in imported if name]
    return [
        name for name, top in tops if top.is_dir() or top.with_suffix(".py").is_file()
    ]
