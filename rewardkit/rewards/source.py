"""What a file that rewardkit writes copies for a user's function: the whole file that it is from."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import symtable
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.workers.pool import MODULE_SOURCE

__all__ = ["Source", "name_at_the_top", "names_bound", "source_of"]


@dataclass(frozen=True)
class Source:
    """The text to copy, what each name stands for that it binds at its top, and the name of its file.

    A statement of a notebook has no file: "".
    """

    text: str
    names: Mapping[str, Any]
    file: str = ""


def source_of(function: Any, name: str, owner: str, folder: Path) -> Source:
    """What is copied for a function or class of this name: its file, or its statement in a notebook.

    `folder` is where the copy will lie: what the file imports from beside itself can only be imported there.
    RewardError: the source cannot be read; in a notebook, it uses names from outside itself.
    """
    module = inspect.getmodule(function)
    text = _file_text(module, function)
    if module is None or text is None:
        return Source(_statement(function, name, owner) + "\n", {name: function})
    _check_imports(text, Path(str(module.__file__)).parent, folder, owner, name)
    unset = object()
    values = {bound: vars(module).get(bound, unset) for bound in names_bound(text)}
    file = re.sub(r"[^\w.-]", "_", Path(str(module.__file__)).name)
    return Source(text.rstrip() + "\n", values, file)


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
    content = vars(module).get(MODULE_SOURCE) if module is not None else None
    file = getattr(module, "__file__", None)
    try:
        if content is None:
            if file is None or inspect.getsourcefile(function) != file:
                return None
            content = Path(file).read_bytes()
        return decode_source(content)
    except (OSError, TypeError, SyntaxError, UnicodeDecodeError):
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
