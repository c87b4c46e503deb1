"""The part of a source file that a function needs: its statement, and those that bind what it uses."""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from rewardkit.errors import RewardError
from rewardkit.workers.pool import MODULE_SOURCE

__all__ = ["Piece", "bound", "function_names", "held", "name_at_the_top", "pieces", "renamed"]


@dataclass(frozen=True)
class Piece:
    """A statement at the top of a file: its text, the names it binds, whether it is an import."""

    text: str
    binds: frozenset[str]
    is_import: bool


def pieces(value: Any, name: str, owner: str, folder: Path | None = None) -> list[Piece]:
    """The statements that make a function or class, in the order of its file.

    From a notebook or a prompt, where there is no file, its own statement. `folder` is where they will be
    used: what lies beside the function's file can only be imported there. RewardError: its source cannot be
    read, or a name it uses is bound by no statement.
    """
    module = inspect.getmodule(value)
    whole = _module_source(module, value)
    if whole is None:
        return [_alone(value, name, owner)]
    if getattr(module, name, None) is not value:
        try:
            return [_alone(value, name, owner)]
        except RewardError as error:
            raise RewardError(
                f"{owner!r} uses a function {name!r} that its file does not call so at its end: the name is "
                "bound to something else there; give it a name of its own"
            ) from error
    statements = _statements(whole)
    future = "\n".join(piece.text for piece in statements if piece.text.startswith(FUTURE))
    wanted, taken = [name], set()
    known = {bound for piece in statements for bound in piece.binds}
    while wanted:
        asked = wanted.pop()
        for at, piece in enumerate(statements):
            if asked in piece.binds and at not in taken:
                taken.add(at)
                unknown = outside(f"{future}\n{piece.text}")
                lost = [other for other in unknown if other not in known and not _starred(statements)]
                if lost:
                    raise RewardError(_needs(owner, name, lost))
                wanted += unknown
    chosen = [piece for at, piece in enumerate(statements) if at in taken or piece.text.startswith(FUTURE)]
    chosen += [piece for piece in _starred(statements) if piece not in chosen]
    for piece in chosen:
        _check_import(piece, module, owner, name, folder)
    return chosen


FUTURE = "from __future__ import"


def _module_source(module: ModuleType | None, value: Any) -> str | None:
    """The text of the file that a module was made from; ``None`` for a notebook's cells."""
    if module is None:
        return None
    text = vars(module).get(MODULE_SOURCE)
    if isinstance(text, bytes):
        return text.decode("utf-8-sig")
    file = getattr(module, "__file__", None)
    try:
        if file is None or inspect.getsourcefile(value) != file:
            return None
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, TypeError, UnicodeDecodeError):
        return None


def _alone(value: Any, name: str, owner: str) -> Piece:
    try:
        text = textwrap.dedent(inspect.getsource(value)).strip()
    except (OSError, TypeError):
        raise RewardError(
            f"{owner!r} uses {name!r}, whose source cannot be read; put it into a file and load that"
        ) from None
    lost = outside(text)
    if lost or getattr(value, "__closure__", None):
        raise RewardError(_needs(owner, name, lost or "names of the function around it"))
    return Piece(text, frozenset({name}), False)


def _needs(owner: str, name: str, lost: list[str] | str) -> str:
    return f"{owner!r} uses {name!r}, which needs {lost}; put it into a file with them and load that"


def _statements(source: str) -> list[Piece]:
    lines = source.splitlines()
    found = []
    for node in ast.parse(source).body:
        first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
        text = "\n".join(lines[first - 1 : node.end_lineno])
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        found.append(Piece(text, frozenset(bound(text)), is_import))
    return found


def bound(text: str) -> set[str]:
    """The names that code at the top of a file binds."""
    symbols = symtable.symtable(text, "file", "exec").get_symbols()
    return {symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()}


def _starred(statements: list[Piece]) -> list[Piece]:
    return [piece for piece in statements if piece.is_import and piece.text.rstrip().endswith("import *")]


def _check_import(
    piece: Piece, module: ModuleType | None, owner: str, name: str, folder: Path | None
) -> None:
    """RewardError where a module is imported from beside the file, and the copy will lie elsewhere."""
    if not piece.is_import or folder is None:
        return
    beside = Path(str(getattr(module, "__file__", ""))).parent
    if folder.resolve() == beside:
        return
    for node in ast.walk(ast.parse(piece.text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for imported in names:
            file = getattr(sys.modules.get(imported.partition(".")[0]), "__file__", None)
            if file and beside in (Path(file).parent, Path(file).parent.parent):
                raise RewardError(
                    f"{owner!r} uses {name!r}, which imports {imported!r} from beside its file; write the "
                    f"new file into {str(beside)!r}, too"
                )


def held(value: Any, depth: int = 4) -> Any:
    """What a name at the top of a file stands for, so far as two runs of it can be compared.

    Plain values as they are, functions by their names, classes by their plain attributes.

    >>> held({"a": (1, print)}) == held({"a": (1, print)}), held([1]) == held([1, 2])
    (True, False)
    """
    if value is None or isinstance(value, str | bytes | int | float):
        return repr(value)
    if depth and isinstance(value, Mapping):
        return [(held(key, 0), held(item, depth - 1)) for key, item in value.items()]
    if depth and isinstance(value, list | tuple):
        return [type(value).__name__, *(held(item, depth - 1) for item in value)]
    if depth and isinstance(value, set | frozenset):
        return sorted(str(held(item, 0)) for item in value)
    if depth and isinstance(value, type):
        return {name: held(item, 1) for name, item in vars(value).items() if not name.startswith("__")}
    return str(getattr(value, "__qualname__", type(value).__qualname__)).lstrip("_")


def outside(source: str) -> list[str]:
    """Names that a piece of code takes from around it: not its own, not built in, and not ``rk``."""
    used: set[str] = set()
    tables = [symtable.symtable(source, "function", "exec")]
    own = {symbol.get_name() for symbol in tables[0].get_symbols() if symbol.is_assigned()}
    own |= {symbol.get_name() for symbol in tables[0].get_symbols() if symbol.is_imported()}
    while tables:
        table = tables.pop()
        tables += table.get_children()
        outermost = table.get_type() == "module"
        used |= {
            s.get_name() for s in table.get_symbols() if s.is_referenced() and (outermost or s.is_global())
        }
    return sorted(used - own - set(dir(builtins)) - {"rk", "__file__", "__name__"})


def function_names(text: str) -> list[str]:
    """The names that a statement at the top of a file binds and that may be those of functions.

    >>> function_names("first = second = lambda x: x"), function_names("class Parser: ...")
    (['first', 'second'], [])
    """
    node = ast.parse(text).body[0]
    if isinstance(node, ast.ClassDef | ast.Import | ast.ImportFrom):
        return []
    if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
        return []
    return sorted(bound(text))


def renamed(text: str, names: Mapping[str, str]) -> str:
    r"""The code with the names that stand at the top of its file changed; as it was where there are none.

    Attributes, keywords and what a function calls so inside itself stay.

    >>> print(renamed("def f(x, g=1):\n    return g(x.f, f=f)", {"f": "_f", "x": "_x"}))
    def _f(x, g=1):
        return g(x.f, f=_f)
    """
    tree = ast.parse(text)
    changed = _Renamer(names)
    changed.visit(tree)
    return ast.unparse(tree) if changed.count else text


class _Renamer(ast.NodeTransformer):
    """Changes names of the file's own level; `hidden` are those that a function around has for itself."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.hidden: frozenset[str] = frozenset()
        self.count = 0

    def new(self, name: str) -> str:
        if name not in self.names or name in self.hidden:
            return name
        self.count += 1
        return self.names[name]

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.new(node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.Global:
        node.names = [self.names.get(name, name) for name in node.names]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.new(node.name)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        node.name = self.new(node.name)
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        return self.inside(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return self.inside(node)

    def inside(self, node: Any) -> Any:
        """A function's defaults see what is around it; its body has names of its own."""
        self.visit(node.args)
        around = self.hidden
        self.hidden = around | _locals(node)
        body = node.body if isinstance(node.body, list) else [node.body]
        found = [self.visit(item) for item in body]
        node.body = found if isinstance(node.body, list) else found[0]
        if getattr(node, "returns", None) is not None:
            node.returns = self.visit(node.returns)
        self.hidden = around
        return node


def _locals(node: Any) -> frozenset[str]:
    """The names that a function has for itself: its parameters, and what it assigns."""
    args = node.args
    own = {
        arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if arg
    }
    given: set[str] = set()
    waiting = list(node.body) if isinstance(node.body, list) else [node.body]
    while waiting:
        item = waiting.pop()
        if isinstance(item, ast.Global):
            given |= set(item.names)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            own.add(item.id)
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own.add(item.name)
        elif isinstance(item, ast.Import | ast.ImportFrom):
            own |= {(alias.asname or alias.name).partition(".")[0] for alias in item.names}
        elif not isinstance(item, ast.Lambda):
            waiting += ast.iter_child_nodes(item)
    return frozenset(own - given)


def name_at_the_top(value: Any) -> str:
    """What an object or a lambda is called at the top of the file that made it; "" where it has no name."""
    made_in = getattr(value, "__module__", None) or type(value).__module__
    names = vars(sys.modules[made_in]) if made_in in sys.modules and made_in != "__main__" else {}
    return next((name for name, item in names.items() if item is value and name.isidentifier()), "")
