"""Write rewards as Python expressions, and read the users' code that they need.

An expression is the Python that a person would write for a reward, a primitive or a
plain value. A `Source` is users' code that a file copies or imports.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import re
import symtable
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.util import decode_source
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rewardkit.errors import CAUGHT, RewardError, preview
from rewardkit.primitives import extract, measure, siblings, verify, weights
from rewardkit.primitives.gates import Gate
from rewardkit.primitives.primitive import Made
from rewardkit.rewards.component import Component
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import RoutedReward
from rewardkit.workers.pool import MODULE_SOURCE, namesakes

PRIMITIVE_ROOMS: Any = {
    "rk.extract": extract,
    "rk.measure": measure,
    "rk.siblings": siblings,
    "rk.verify": verify,
    "rk.weigh": weights,
}
QUOTED = re.compile(r"""'((?:[^'"\\]|\\.)*)'|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
"""A literal by `repr`; the group is content that needs no escape in double quotes."""
EXPRESSION_WIDTH = 90
"""Characters of a line; a longer call has one line per item."""


@dataclass(frozen=True)
class Source:
    """The source of a user's object: a module to import, a file, or a cell.

    `text` is the code to copy from a file or cell; `names` maps each name that it binds
    to its value.
    """

    module: str = ""
    file: str = ""
    text: str = ""
    names: Mapping[str, Any] = field(default_factory=dict)


def source_of(value: Any, owner: str, folder: Path) -> tuple[str, Source]:
    """Return the name of a user's function, class or object, and its source.

    `folder` is where the copy is written: a file that imports its neighbours can only
    be copied into its own folder. RewardError: the object has no name at the top of a
    file or cell, its source cannot be read, or its cell needs names from other cells.
    """
    name = name_at_the_top(value) or getattr(value, "__qualname__", "")
    if not name.isidentifier():
        raise RewardError(
            f"{owner!r} uses {preview(value)}, which has no name to write; give it "
            "plain values, or a "
            "function with a name at the top of a file or cell"
        )
    module = inspect.getmodule(value)
    for namesake in namesakes().get(getattr(module, "__name__", ""), ()):
        if getattr(namesake, name, None) is value:
            module = namesake
    if (
        module is not None
        and module.__name__ != "__main__"
        and MODULE_SOURCE not in vars(module)
        and getattr(module, name, None) is value
    ):
        return name, Source(module.__name__)
    text = _file_text(module, value)
    if module is None or text is None:
        statement = _statement(value, name, owner)
        return name, Source(text=f"{statement}\n", names={name: value})
    path = Path(str(module.__file__))
    unset = object()
    if any(getattr(node, "level", 0) for node in ast.walk(ast.parse(text))):
        raise RewardError(
            f"{owner!r} uses {name!r}, whose file has relative imports, which a copy "
            "of it would not find; import by full names"
        )
    beside = imports_beside(text, path.parent)
    if beside and folder.resolve() != path.parent:
        raise RewardError(
            f"{owner!r} uses {name!r}, whose file imports {beside[0]!r} from beside "
            "itself; write the new "
            f"file into {str(path.parent)!r}, too"
        )
    names = {bound: vars(module).get(bound, unset) for bound in names_bound(text)}
    return name, Source(file=path.name, text=text.rstrip() + "\n", names=names)


def without_statements(
    source: Source, names: Collection[str], bound_again: Collection[str]
) -> Source:
    """Return a source without the assignments of these names.

    Comments directly above an assignment are removed with it. A name stays if the code
    reads it, binds it a second time, or lists it in `__all__` without being
    `bound_again` after the source.
    """
    tree = ast.parse(source.text)
    bound: dict[str, ast.stmt] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in names:
                bound[name] = statement
            case ast.AnnAssign(target=ast.Name(id=name)) if name in names:
                bound[name] = statement
    used = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    for statement in tree.body:
        nodes = list(ast.walk(statement))
        if any(isinstance(node, ast.Name) and node.id == "__all__" for node in nodes):
            public = {
                str(node.value) for node in nodes if isinstance(node, ast.Constant)
            }
            used.update(public.difference(bound_again))
    lines = source.text.split("\n")
    removals = {}  # name -> indices of its lines
    for name, statement in bound.items():
        last = statement.end_lineno or statement.lineno
        others = [x for x in tree.body if x is not statement and x.lineno <= last]
        previous_end = max((x.end_lineno or 0 for x in others), default=0)
        is_alone = previous_end < statement.lineno
        if used[name] == 1 and is_alone:
            first = statement.lineno - 1
            while first > previous_end and lines[first - 1].startswith("#"):
                first -= 1
            removals[name] = range(first, last)
    if not removals:
        return source
    removed = set(chain(*removals.values()))
    remaining = [line for at, line in enumerate(lines) if at not in removed]
    text = re.sub(r"\n{4,}", "\n\n\n", "\n".join(remaining)).rstrip() + "\n"
    names_left = {name: x for name, x in source.names.items() if name not in removals}
    return replace(source, text=text, names=names_left)


def names_bound(text: str) -> list[str]:
    """Return the names that code binds at the top of its file."""
    names = []
    for symbol in symtable.symtable(text, "file", "exec").get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            names.append(symbol.get_name())
    return names


def name_at_the_top(value: Any) -> str:
    """Return the global name of an object in its module, or ""."""
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
    """Return the text of a module's file; None for the cells of a notebook."""
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
    """Return the source of a function in a notebook that needs no other cell."""
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
    """Return the names that a statement uses but does not bind, except ``rk``."""
    top = symtable.symtable(text, "statement", "exec")
    used: set[str] = set()
    tables = [top]
    for table in tables:
        tables += table.get_children()
        for symbol in table.get_symbols():
            is_outer = table is top or symbol.is_global()
            if is_outer and symbol.is_referenced():
                used.add(symbol.get_name())
    used.difference_update(names_bound(text), dir(builtins))
    return sorted(used - {"rk", "__file__", "__name__"})


def imported_modules(text: str) -> list[str]:
    """Return the modules that code imports, by their full names."""
    imported = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.append(node.module)
    return imported


def imports_beside(text: str, folder: Path) -> list[str]:
    """Return the modules that code imports from its own folder."""
    beside = []
    for name in imported_modules(text):
        top = folder / name.partition(".")[0]
        if top.is_dir() or top.with_suffix(".py").is_file():
            beside.append(name)
    return beside


def expression(
    value: Any, write_object: Callable[[Any, str], str], owner: str = ""
) -> str:
    """Return the expression for a value; `write_object` writes users' objects.

    >>> half = functools.partial(verify.numbers_equal, absolute=np.float64(0.5))
    >>> expression(half, lambda *_: "?")
    'partial(rk.verify.numbers_equal, absolute=0.5)'
    >>> expression(re.compile("a+"), lambda *_: "?")
    "re.compile('a+', 32)"
    """

    def write(item: Any, owner: str = owner) -> str:
        return expression(item, write_object, owner)

    for write_kind in (_write_ours, _write_container):
        text = write_kind(value, write)
        if text is not None:
            return text
    if isinstance(value, np.generic):
        return write(value.item())
    if _is_literal(value):
        return repr(value)
    if isinstance(value, re.Pattern):
        return f"re.compile({value.pattern!r}, {value.flags})"
    if isinstance(value, float):  # neither infinity nor NaN has a literal
        return f'float("{value}")'
    return write_object(value, owner)


def _write_ours(value: Any, write: Callable[..., str]) -> str | None:
    """Return the expression for a value of a rewardkit type, else None."""
    name = getattr(value, "__qualname__", type(value).__qualname__)
    for room, public in PRIMITIVE_ROOMS.items():
        if name not in public.__all__:
            continue
        if getattr(public, name) is value:
            return f"{room}.{name}"
        if getattr(public, name) is type(value):
            return f"{room}.{value.format_call(write)}"
    if isinstance(value, Gate):
        return f"rk.{value.format_call(write)}"
    if isinstance(value, Made) and value.factory.startswith("rk."):
        return value.format_call(write)
    if isinstance(value, Reward | Component):
        return _definition(value, write)
    return None


def _write_container(value: Any, write: Callable[..., str]) -> str | None:
    """Return the expression for a collection or a partial, else None."""
    if isinstance(value, functools.partial):
        bound = [f"{name}={write(item)}" for name, item in value.keywords.items()]
        return _block("partial(", [*map(write, (value.func, *value.args)), *bound], ")")
    if _is_literal(value):
        return None
    if isinstance(value, dict):
        pairs = []
        for key, item in value.items():
            pairs.append(f"{write(key)}: {write(item, str(key))}")
        return _block("{", pairs, "}")
    if isinstance(value, list):
        return _block("[", map(write, value), "]")
    if isinstance(value, tuple):
        return f"({', '.join(map(write, value))},)"
    if isinstance(value, frozenset):
        return f"frozenset({write(list(value))})"
    return None


def _is_literal(value: Any) -> bool:
    """Return whether `repr` of a value is a literal that equals it."""
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except CAUGHT:
        return False


def _definition(item: Reward | Component, write: Callable[..., str]) -> str:
    """Return the call that makes a reward or component, without options at default."""
    if isinstance(item, RoutedReward):
        arguments = [write(item.column), write(dict(item.rewards))]
        if item.default is not None:
            arguments.append(f"default={write(item.default)}")
        return _block("rk.Route(", [*arguments, f"name={item.name!r}"], ")")
    arguments = []
    schedule = getattr(item, "schedule", None)
    for option in fields(item):
        value = getattr(item, option.name)
        if schedule is not None and option.name in ("weight", "schedule"):
            if option.name == "weight":
                arguments.append(f"weight=rk.{schedule!r}")
            continue
        is_default = option.name != "weight" and (
            value == option.default or value == {}
        )
        if is_default or not option.repr:  # repr=False: its origin, not its definition
            continue
        if option.name == "components":
            value = list(value)
        owner = item.name if isinstance(item, Component) else option.name
        text = write(value, owner)
        if option.name not in ("name", "function"):
            text = f"{option.name}={text}"
        arguments.append(text)
    return _block(f"rk.{type(item).__name__}(", arguments, ")")


def _block(start: str, items: Iterable[str], end: str) -> str:
    """Write items between brackets, on one line or one item per line."""
    items = list(items)
    line = f"{start}{', '.join(items)}{end}"
    if "\n" not in line and len(line) <= EXPRESSION_WIDTH:
        return line
    lines = "".join("    " + item.replace("\n", "\n    ") + ",\n" for item in items)
    return f"{start}\n{lines}{end.lstrip(',')}"


def code_of(value: Any) -> str:
    """Write a primitive or a plain value as code, with double quotes if possible.

    >>> from rewardkit.primitives import extract
    >>> code_of(extract.first_of(extract.tag("answer"), extract.boxed()))
    'rk.extract.first_of(rk.extract.tag("answer"), rk.extract.boxed())'
    """
    return QUOTED.sub(_use_double_quotes, expression(value, _name_of))


def _name_of(value: Any, _: Any) -> str:
    return str(getattr(value, "__name__", repr(value)))


def _use_double_quotes(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else f'"{match[1]}"'
