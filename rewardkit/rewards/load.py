"""Find a reward by its name, and run reward files."""

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
"""Attribute of a module made from a file: the contents of the files that ran."""
GALLERY = "rewardkit.gallery"
MAIN = "__name__"
"""The name that a script compares with "__main__" around code for direct runs."""
FILE_MODULE = "reward_file_"
"""Prefix of the names of modules made from files."""


def find_reward(name: str) -> tuple[Any, str]:
    """Return the value at `file.py:name` or `package.module:name`, and its name.

    Without a name it is the only likely one, see `find_candidates`. Several functions
    are a `RewardList`. A file runs again at each call.

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
    """Return the values that the name of a reward may mean.

    `logged` has the names of the scores in the log. `fit` rates how well a value fits
    the calls of trainers.

    Raises:
        RewardError: No such file, or an error while it runs (with file and line).
    """
    place, attribute = _split_name(name)
    module = _load_module(place)
    values = dict(vars(module))
    for part in filter(None, attribute.split(",")):
        owner, _, method = part.partition(".")
        # the module's __getattr__ may make it
        if owner not in values and hasattr(module, owner):
            values[owner] = getattr(module, owner)
        if method and hasattr(values.get(owner), method):
            if isinstance(values[owner], type):
                values[owner] = make_object(values[owner])
            values[part] = getattr(values[owner], method)
    text = b""
    if str(module.__file__).endswith(".py"):
        text = _read_file_of(module)
    source = ast.parse(text)
    return find_candidates(
        place, attribute, values, module.__name__, source, logged, fit
    )


def _read_file_of(module: ModuleType) -> bytes:
    """Read the file of a module, which may be in a zip."""
    path = Path(str(module.__file__))
    if path.is_file() or module.__spec__ is None:
        return path.read_bytes()
    content: bytes = module.__spec__.loader.get_data(str(path))  # type: ignore[union-attr]
    return content


def _split_name(name: str) -> tuple[str, str]:
    """Split the name of a reward into file or module, and attribute or ""."""
    # the colon of a drive, as in C:\\r.py, is followed by more than a name
    match = re.fullmatch(r"(.*?)(?::([\w.,]*))?", str(name), re.DOTALL)
    place, attribute = match.groups("") if match else (str(name), "")
    if place == "gallery":
        module_name, _, attribute = attribute.partition(".")
        place = f"{GALLERY}.{module_name}"
    return place, attribute


def _load_module(place: str) -> ModuleType:
    """Run the file, or import the module, of this name.

    Raises:
        RewardError: It does not exist, or it raises.
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
        # if another module is missing, the error is inside this one
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

    The file may have neighbours with the names of modules imported from elsewhere. It
    imports its neighbours; the other modules are in `sys.modules` again afterwards.
    """
    path = path.resolve()
    # modules that an earlier run imported may have changed
    for helper in _HELPERS & _modules_beside(path).keys():
        package, _, attribute = helper.rpartition(".")
        vars(sys.modules.get(package, ModuleType(""))).pop(attribute, None)
        del sys.modules[helper]
    before = sys.modules.copy()
    others = forget_others(str(path.parent))
    imported = _modules_beside(path)
    importlib.invalidate_caches()
    folders = import_folders(str(path))
    sys.path[:0] = folders
    # bytecode would hide a second edit of a neighbour within one second
    writes = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        content = path.read_bytes()
        _check_keeps_nothing(path, content)
        name = _module_name(path.stem, str(path).encode())
        module = _run_as_module(name, str(path), content, content, is_in_folder=True)
        files = {path.name: content} | _files_below(path.parent)
    except CAUGHT as error:
        raise RewardError(failed(str(path), error)) from error
    finally:
        for folder in folders:
            sys.path.remove(folder)
        sys.dont_write_bytecode = writes
        helpers = _modules_beside(path)
        for name in imported:
            helpers.pop(name, None)
        replacements = _restore_modules(others, before)
        # also after a run that failed
        _HELPERS.update(helpers.keys() - replacements.keys())
    helper_text = b"".join(file.read_bytes() for file in helpers.values())
    text_hash = source_hash(content + helper_text)
    vars(module).update(
        {SOURCE_HASH: text_hash, MODULE_FILES: files, NAMESAKES: replacements}
    )
    return module


def _restore_modules(
    others: Mapping[str, ModuleType], before: Mapping[str, ModuleType]
) -> dict[str, ModuleType]:
    """Restore forgotten modules; return the modules imported in their place."""
    replacements = {}
    tops = {name.partition(".")[0] for name in others}
    for name, module in sys.modules.copy().items():
        if name.partition(".")[0] in tops and before.get(name) is not module:
            replacements[name] = sys.modules.pop(name)
    sys.modules.update(others)
    return replacements


def _check_keeps_nothing(path: Path, content: bytes) -> None:
    """Raise a RewardError if reading a file would keep a scoring each time.

    Called before the file runs, as it would first score the rollouts.
    """
    if b".keep(" not in content or b"rewardkit" not in content:
        return
    try:
        nodes: list[ast.AST] = [ast.parse(content)]
    except (SyntaxError, ValueError):  # the run reports it
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
    """Return whether the code in a node does not run when its file is read."""
    if isinstance(node, ast.If):
        names = [item.id for item in ast.walk(node.test) if isinstance(item, ast.Name)]
        return MAIN in names
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)


def _files_below(folder: Path) -> dict[str, bytes]:
    """Return the content of each imported module's file below a folder, by name.

    Installed libraries are left out.
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
    """Return a reward with the files that were just read for this name.

    `attribute` is the name of the reward in them.
    """
    place, _ = _split_name(name)
    if place.endswith(".py"):
        path = Path(place).resolve()
        module = sys.modules[_module_name(path.stem, str(path).encode())]
        files = vars(module)[MODULE_FILES]
        entry = path.name
    else:
        module = sys.modules[place]
        path = Path(str(module.__file__))
        entry = path.name
        files = {entry: _read_file_of(module)}
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
    """Run the text of a user's file that was copied into a file written by rewardkit.

    It is a module, so that its names cannot clash with those of the file around it.
    """
    content = text.encode("utf-8", "surrogatepass")
    name = _module_name(file.partition(".")[0], content)
    # unique, so that files of the same name do not share lines in tracebacks
    place = f"<{name[-8:]}>/{file}"
    # lines as Python counts them, not str.splitlines
    lines = [f"{line}\n" for line in text.split("\n")]
    linecache.cache[place] = len(text), None, lines, place
    return sys.modules.get(name) or _run_as_module(name, place, text, content)


def _module_name(stem: str, content: bytes) -> str:
    return f"{FILE_MODULE}{stem}_{hashlib.sha256(content).hexdigest()[:8]}"


def _run_as_module(
    name: str,
    place: str,
    text: str | bytes,
    content: bytes,
    *,
    is_in_folder: bool = False,
) -> ModuleType:
    """Run a text as a module; pickles refer to it by `name`."""
    before = sys.modules.get(name)
    module = ModuleType(name)
    module.__file__ = place
    vars(module).update({MODULE_SOURCE: content, SOURCE_HASH: source_hash(content)})
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
    """Make the next run of the file import the modules beside it again.

    Packages and their modules are not imported again.
    """
    for name in _modules_beside(path.resolve()):
        is_package = "." in name or hasattr(sys.modules[name], "__path__")
        if not is_package and name != "__main__":
            _HELPERS.add(name)


def _modules_beside(path: Path) -> dict[str, Path]:
    """Return the files of imported modules in the folder of a file, sorted by name."""
    folder = str(path.parent)
    modules = sorted(_modules_below(path.parent).items())
    return {
        name: Path(file) for name, file in modules if os.path.dirname(file) == folder
    }


def _modules_below(folder: Path) -> dict[str, str]:
    """Return the paths of imported modules' files below a folder, by module name.

    Paths are strings, as an environment in the folder may have thousands of modules.
    """
    files = {}
    start = os.path.join(folder, "")  # also right for the root folder
    modules = sys.modules.copy()  # another thread may import meanwhile
    for name, module in modules.items():
        file = getattr(module, "__file__", None) or ""
        if file.startswith(start) and not name.startswith(FILE_MODULE):
            files[name] = file
    return files


def failed(place: str, error: BaseException) -> str:
    """Describe an error in the user's code in one sentence: file, line, message."""
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
    text += _describe_missing_library(error)
    return f"{where}: {' '.join(text.split())}"


def _describe_missing_library(error: BaseException) -> str:
    """Return a sentence on a library that a file goes without, or "".

    The file sets the library's name to None where it cannot import it.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not isinstance(error, AttributeError) or error.obj is not None or not frames:
        return ""
    names = frames[-1].f_globals
    try:
        tree = ast.parse(Path(frames[-1].f_code.co_filename).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ""
    for node in ast.walk(tree):
        for item in node.names if isinstance(node, ast.Import) else ():
            name = item.asname or item.name
            if name in frames[-1].f_code.co_names and names.get(name, "") is None:
                return (
                    f"; {item.name} is not installed: install it, or name functions "
                    "of the file that do without it (file.py:name)"
                )
    return ""


@lru_cache(maxsize=8)  # all callers share one object of a class
def make_object(kind: type) -> Any:
    """Make an object of a user's class; later calls return the same object.

    RewardError: the class raises; the message has file and line.

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
    """Return default arguments for a class.

    A required parameter annotated with a dataclass gets that dataclass's defaults.
    """
    hints: dict[str, Any] = {}
    with suppress(*CAUGHT):  # an annotation may name something that is not imported
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
    """Return whether a file would be imported in place of another module."""
    try:
        spec = importlib.util.find_spec(path.stem)
    except ImportError:  # a.b.py without a module a
        return False
    except ValueError:  # __main__ has no spec
        return True
    # a folder without __init__.py, such as one made by `new`, is no module
    if spec is None or spec.origin is None:
        return False
    is_itself = Path(str(spec.origin)).resolve() == path.resolve()
    return not (spec.has_location and is_itself)
