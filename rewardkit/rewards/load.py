"""Find what the name of a reward stands for, and run reward files."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import linecache
import os
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from rewardkit.errors import (
    CAUGHT,
    InputError,
    RewardError,
    describe_error,
    did_you_mean,
)
from rewardkit.rewards.candidates import Candidates, Fit, find_candidates
from rewardkit.rewards.component import parameters
from rewardkit.rewards.fingerprint import SOURCE_HASH, ReadFrom, source_hash
from rewardkit.rewards.reward import Reward
from rewardkit.workers.pool import MODULE_SOURCE, NAMESAKES
from rewardkit.workers.worker import (
    INSTALLED,
    PACKAGE,
    START_ERROR,
    forget_others,
    import_folders,
    make_package,
)

MODULE_FILES = "__rewardkit_files__"
"""The name under which the module that a file made holds what was run of files."""
GALLERY = "rewardkit.gallery"
MAIN = "__name__"
"""What a script compares with "__main__" where it is to do something when it is run."""
FILE_MODULE = "reward_file_"
"""Start of the name of the module that a run of a file makes."""


def find_reward(name: str) -> tuple[Any, str]:
    """Return what stands under `file.py:name` or `package.module:name`, and its name.

    Without a name that is the only one that can be meant, see `find_candidates`; a
    `RewardList` stands for several functions. A file is run anew at each call.

    Raises:
        RewardError: No such file or name, several functions and no name, or an error
            while the file runs (with file and line).
    """
    candidates = candidates_of(name)
    only = candidates.only()
    return candidates.value(only), only


def candidates_of(
    name: str,
    logged: Collection[str] = (),
    fit: Callable[[Any], Fit] = lambda value: Fit.NONE,
) -> Candidates:
    """Return what may stand under the name of a reward, for a log with such scores.

    `fit` says how well a value fits the calls of trainers.

    Raises:
        RewardError: No such file, or an error while it runs (with file and line).
    """
    place, attribute = _place(name)
    module = _module(place)
    values = dict(vars(module))
    for part in filter(None, attribute.split(",")):
        owner, _, method = part.partition(".")
        if owner not in values and hasattr(module, owner):  # which a package may make
            values[owner] = getattr(module, owner)
        if method and hasattr(values.get(owner), method):
            if isinstance(values[owner], type):
                values[owner] = make_object(values[owner])
            values[part] = getattr(values[owner], method)
    source = ast.parse(b"")
    if str(module.__file__).endswith(".py"):
        source = ast.parse(_content(module))
    return find_candidates(
        place, attribute, values, module.__name__, source, logged, fit
    )


def _content(module: ModuleType) -> bytes:
    """Return what the file of a module holds, also of one in a zip."""
    path = Path(str(module.__file__))
    if path.is_file() or module.__spec__ is None:
        return path.read_bytes()
    content: bytes = module.__spec__.loader.get_data(str(path))  # type: ignore[union-attr]
    return content


def _place(name: str) -> tuple[str, str]:
    """Return the file or module that the name of a reward is in, and its attribute.

    "" where none is named.
    """
    # the colon of a drive, as in C:\\r.py, is followed by more than a name
    match = re.fullmatch(r"(.*?)(?::([\w.,]*))?", str(name), re.DOTALL)
    place, attribute = match.groups("") if match else (str(name), "")
    if place == "gallery":
        module_name, _, attribute = attribute.partition(".")
        place = f"{GALLERY}.{module_name}"
    return place, attribute


def _module(place: str) -> ModuleType:
    """Run the file, or import the module, of this name.

    Raises:
        RewardError: There is none, or it raises.
    """
    if place.endswith(".py"):
        if not Path(place).is_file():
            raise RewardError(
                f"there is no reward file {place!r}; give the path of a Python file, "
                "as file.py:name"
            )
        return run_file(Path(place))
    if not re.fullmatch(r"\w+(\.\w+)*", place):
        raise RewardError(
            f"{place!r} is neither a Python file (ending in .py) nor a module; write "
            "file.py:name or package.module:name"
        )
    try:
        return importlib.import_module(place)
    except CAUGHT as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        # a missing module other than this or its package is an error inside it
        if not missing or not f"{place}.".startswith(f"{missing}."):
            raise RewardError(failed(place, error)) from error
    package, _, name = place.rpartition(".")
    if package != GALLERY:
        raise RewardError(
            f"there is no module {place!r} to import; for a file write its path with "
            ".py"
        )
    names = gallery_names()
    raise RewardError(
        f"the gallery has no {name!r}; it has {names}{did_you_mean(name, names)}"
    )


def gallery_names() -> list[str]:
    """Return the names of the modules of the gallery."""
    modules = pkgutil.iter_modules(importlib.import_module(GALLERY).__path__)
    return sorted(module.name for module in modules)


def run_file(path: Path) -> ModuleType:
    """Run a file and return its module; its folder is importable while it runs.

    Modules of other folders that have the names of files beside it are in `sys.modules`
    again when it has run.
    """
    path = path.resolve()
    # modules that an earlier run imported may have changed
    for helper in _HELPERS & _beside(path).keys():
        package, _, attribute = helper.rpartition(".")
        vars(sys.modules.get(package, ModuleType(""))).pop(attribute, None)
        del sys.modules[helper]
    before = sys.modules.copy()
    others = forget_others(str(path.parent))
    imported = _beside(path)
    importlib.invalidate_caches()
    folders = import_folders(str(path))
    sys.path[:0] = folders
    # bytecode of modules beside it would take two edits of one second for one
    writes = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        content = path.read_bytes()
        _check_keeps_nothing(path, content)
        name = _name(path.stem, str(path).encode())
        module = _run(name, str(path), content, content, is_in_folder=True)
        files = {path.name: content} | _files_below(path.parent)
    except CAUGHT as error:
        raise RewardError(failed(str(path), error)) from error
    finally:
        for folder in folders:
            sys.path.remove(folder)
        sys.dont_write_bytecode = writes
        helpers = _beside(path)
        for name in imported:
            helpers.pop(name, None)
        own_namesakes = _put_back(others, before)
        # of a run that failed, too
        _HELPERS.update(helpers.keys() - own_namesakes.keys())
    beside_text = b"".join(file.read_bytes() for file in helpers.values())
    vars(module)[SOURCE_HASH] = source_hash(content + beside_text)
    vars(module).update({MODULE_FILES: files, NAMESAKES: own_namesakes})
    return module


def _put_back(
    others: Mapping[str, ModuleType], before: Mapping[str, ModuleType]
) -> dict[str, ModuleType]:
    """Put forgotten modules back; return those that were imported in their place."""
    own_namesakes = {}
    tops = {name.partition(".")[0] for name in others}
    for name, module in sys.modules.copy().items():
        if name.partition(".")[0] in tops and before.get(name) is not module:
            own_namesakes[name] = sys.modules.pop(name)
    sys.modules.update(others)
    return own_namesakes


def _check_keeps_nothing(path: Path, content: bytes) -> None:
    """Raise a RewardError where a file keeps a scoring whenever it is read.

    Before it runs, as what it would keep has to be scored first.
    """
    if b".keep(" not in content or b"rewardkit" not in content:
        return
    try:
        nodes: list[ast.AST] = [ast.parse(content)]
    except (SyntaxError, ValueError):  # which the run tells
        return
    while nodes:
        node = nodes.pop()
        match node:
            case ast.Call(func=ast.Attribute(attr="keep")):
                raise RewardError(
                    f"{path.name} keeps a scoring in line {node.lineno}, and would do "
                    "so whenever the reward is read from it; put that under if "
                    "__name__ == '__main__', or into a script of its own"
                )
        if not _runs_later(node):
            nodes += ast.iter_child_nodes(node)


def _runs_later(node: ast.AST) -> bool:
    """Return whether what stands in a node is not run when a file is read."""
    if isinstance(node, ast.If):
        names = [item.id for item in ast.walk(node.test) if isinstance(item, ast.Name)]
        return MAIN in names
    later = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    return isinstance(node, later)


def _files_below(folder: Path) -> dict[str, bytes]:
    """Return the files of imported modules in a folder and those in it, by name.

    Not of libraries that are installed there.
    """
    files = {}
    for name, place in _modules_below(folder).items():
        if name == "__main__" or not place.endswith(".py"):
            continue
        file = Path(place)
        if not INSTALLED & {*file.parts} and file.is_file():
            files[file.relative_to(folder).as_posix()] = file.read_bytes()
    return files


def with_source(reward: Reward, name: str, attribute: str) -> Reward:
    """Return a reward with the files that `find_reward` has just read for this name.

    `attribute` is what it found.
    """
    place, _ = _place(name)
    if place.endswith(".py"):
        path = Path(place).resolve()
        module = sys.modules[_name(path.stem, str(path).encode())]
        files = vars(module)[MODULE_FILES]
        entry = path.name
    else:
        path = Path(str(sys.modules[place].__file__))
        entry, files = path.name, {path.name: _content(sys.modules[place])}
        top = place.partition(".")[0]
        if top != place and not INSTALLED & {*path.parts} and top != "rewardkit":
            package = Path(str(sys.modules[top].__file__)).parent
            entry = place
            files = {}
            for name, content in _files_below(package).items():
                files[f"{top}/{name}"] = content
    read_from = ReadFrom(f"{entry}:{attribute}", files, reward.record())
    return replace(reward, read_from=read_from)


def run_text(file: str, text: str) -> ModuleType:
    """Run the text of a user's file, copied into a file that rewardkit wrote.

    As a module of its own its names cannot clash with those of the file around it.
    """
    content = text.encode("utf-8", "surrogatepass")
    name = _name(file.partition(".")[0], content)
    place = f"<{name[-8:]}>/{file}"  # two files of one name have lines of their own
    # lines as Python counts them, not str.splitlines
    lines = [f"{line}\n" for line in text.split("\n")]
    linecache.cache[place] = len(text), None, lines, place
    return sys.modules.get(name) or _run(name, place, text, content)


def _name(stem: str, content: bytes) -> str:
    return f"{FILE_MODULE}{stem}_{hashlib.sha256(content).hexdigest()[:8]}"


def _run(
    name: str,
    place: str,
    text: str | bytes,
    content: bytes,
    *,
    is_in_folder: bool = False,
) -> ModuleType:
    """Run a text as a module whose name, for pickling, is made from its content."""
    before = sys.modules.get(name)
    module = ModuleType(name)
    source = {MODULE_SOURCE: content, SOURCE_HASH: source_hash(content)}
    vars(module).update({"__file__": place, **source})
    sys.modules[name] = module
    try:
        code = compile(text, place, "exec", dont_inherit=True)
        if is_in_folder:
            module.__package__ = make_package(place, content)
        exec(code, vars(module))
    except BaseException:
        del sys.modules[name]
        if before:
            sys.modules[name] = before
        raise
    return module


_HELPERS: set[str] = set()
"""Names of modules that reward files imported from their own folder."""


def forget_beside(path: Path) -> None:
    """Make the next run of the file import the modules beside it anew.

    Packages and their modules stay.
    """
    for name in _beside(path.resolve()):
        is_package = "." in name or hasattr(sys.modules[name], "__path__")
        if not is_package and name != "__main__":
            _HELPERS.add(name)


def _beside(path: Path) -> dict[str, Path]:
    """Return the imported modules whose files lie beside the file, sorted by name."""
    folder = str(path.parent)
    modules = sorted(_modules_below(path.parent).items())
    return {
        name: Path(file) for name, file in modules if os.path.dirname(file) == folder
    }


def _modules_below(folder: Path) -> dict[str, str]:
    """Return the files of imported modules in a folder or those in it, by name.

    As texts: an environment may lie there, with thousands.
    """
    files = {}
    start = os.path.join(folder, "")  # of the root as well
    modules = sys.modules.copy()  # another thread may import meanwhile
    for name, module in modules.items():
        file = getattr(module, "__file__", None) or ""
        # thousands are elsewhere, and a prefix is compared at once
        if file.startswith(start) and not name.startswith(FILE_MODULE):
            files[name] = file
    return files


def failed(place: str, error: BaseException) -> str:
    """Return one sentence on an error in the user's code: file, line, what."""
    if isinstance(error, SyntaxError):
        return (
            f"{error.filename or place}:{error.lineno}: "
            f"{type(error).__name__}: {error.msg}"
        )
    ends = (place, place.replace(".", "/") + ".py")
    where = place
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename.endswith(ends):
            where = f"{frame.filename}:{frame.lineno}"
    text = str(error) if isinstance(error, InputError) else describe_error(error)
    text = re.sub(rf"{PACKAGE}\w+", "", text)
    package = sys.modules.get(str(getattr(error, "name", "")))
    start_error = getattr(package, START_ERROR, "")
    if start_error:
        text += f"; __init__.py failed: {start_error}"
    return f"{where}: {' '.join(text.split())}"


@lru_cache(maxsize=8)  # so that all who look at a class speak of one object
def make_object(kind: type) -> Any:
    """Make an object of a user's class, the same each time.

    RewardError: its making fails; with file and line.

    >>> class Weighed:
    ...     def __init__(self, weight): ...
    >>> make_object(Weighed)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    rewardkit.errors.RewardError: Weighed() failed at ...: TypeError: ...
    """
    try:
        return kind(**default_settings(kind))
    except CAUGHT as error:
        file = getattr(inspect.getmodule(kind), "__file__", None) or kind.__module__
        raise RewardError(
            f"{kind.__name__}() failed at {failed(str(file), error)}; give an object "
            "of it, made with what it needs"
        ) from error


def default_settings(kind: type) -> dict[str, Any]:
    """Return what a class is made with: settings that say all by themselves.

    These are the required parameters that are annotated with a dataclass.
    """
    hints: dict[str, Any] = {}
    with suppress(*CAUGHT):  # annotations of what is not there
        hints = get_type_hints(kind.__init__)  # type: ignore[misc]
    settings = {}
    for name, parameter in parameters(kind).items():
        hint = hints.get(name)
        if parameter.default is not parameter.empty:
            continue
        if isinstance(hint, type) and is_dataclass(hint):
            settings[name] = hint()
    return settings


def hides_module(path: Path) -> bool:
    """Return whether a file here would be imported in place of another module."""
    try:
        spec = importlib.util.find_spec(path.stem)
    except ImportError:  # a.b.py, where there is no a
        return False
    except ValueError:  # __main__, which has none
        return True
    # a folder without __init__.py, such as the one that `new` made, is no module
    if spec is None or spec.origin is None:
        return False
    is_itself = Path(str(spec.origin)).resolve() == path.resolve()
    return not (spec.has_location and is_itself)
