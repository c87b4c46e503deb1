"""save_reward(): a reward as a Python file that `load_reward`, the command line and the notebooks read."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import rewardkit
from rewardkit.errors import CAUGHT, RewardError, describe_error, preview
from rewardkit.primitives import extract as extraction
from rewardkit.primitives import measure as measurement
from rewardkit.primitives import verify as verification
from rewardkit.primitives import weights as weighting
from rewardkit.primitives.factories import Made
from rewardkit.primitives.gates import Gate
from rewardkit.rewards.component import Component
from rewardkit.rewards.load import FILE_MODULE, run_file
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import parameters
from rewardkit.rewards.source import Source, name_at_the_top, source_of
from rewardkit.rollouts.write import write_whole

__all__ = ["Writer", "run_beside", "save_reward"]

ROOMS = {
    "rk.extract": extraction,
    "rk.measure": measurement,
    "rk.verify": verification,
    "rk.weigh": weighting,
}


def save_reward(reward: Reward, path: str | Path) -> Path:
    """Write a reward as a Python file and give its path.

    The file is loaded once to see that it says the same.

    rewardkit's own functions are written as the calls that made them; a function from an importable module is
    imported, one from a file is copied with its whole file, one from a notebook if it uses nothing from
    outside itself but ``rk``. RewardError, and no file, where a function cannot be written (a lambda without
    a name, one that needs names that are not there).
    """
    path = Path(path)
    if path.suffix != ".py":
        raise RewardError(f"{str(path)!r} does not end in .py; a reward is saved as a Python file")
    text = Writer(path.parent, taken={"reward"}).file(reward)

    def write(temporary: Path) -> None:
        with run_beside(temporary, text, f"the file for reward {reward.name!r}") as module:
            same = _definition(module.reward) == _definition(reward)
        if not same:
            raise RewardError(
                f"reward {reward.name!r} cannot be written as a file: what the file gives differs from it"
            )
        temporary.write_text(text, encoding="utf-8")

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, write)
    return path


@contextmanager
def run_beside(temporary: Path, text: str, what: str) -> Iterator[ModuleType]:
    """The module that a text makes as a file beside `temporary`; the file and the module go with the block.

    RewardError, which calls the file `what`: it does not run.
    """
    trial = temporary.with_name(f"{temporary.name.strip('.').replace('.', '_')}_trial.py")
    before = set(sys.modules)
    try:
        trial.write_text(text, encoding="utf-8")
        try:
            module = run_file(trial)
        except RewardError as error:
            reason = describe_error(error.__cause__) if error.__cause__ is not None else str(error)
            raise RewardError(f"{what} does not run: {reason}") from error
        yield module
    finally:
        trial.unlink(missing_ok=True)
        for name in set(sys.modules) - before:
            if name.startswith(FILE_MODULE):
                del sys.modules[name]


def _definition(reward: Reward) -> str:
    """What a reward says of itself, whatever file its functions are in."""

    def plain(record: Any) -> Any:
        if isinstance(record, dict):
            there = record.keys() - {"sources", "fingerprints", "origin"}
            return {key: plain(record[key]) for key in there}
        return [plain(item) for item in record] if isinstance(record, list) else record

    return json.dumps(plain(reward.record()), sort_keys=True, default=str)


class Writer:
    """Writes the parts of a reward as expressions, and collects what they import and copy.

    A user's file is copied whole: as it is, at the top, or, where it has names that are `taken` or may have
    no public functions there (`private`), as the text of a module of its own.
    """

    def __init__(self, folder: Path, *, taken: Collection[str] = (), private: bool = False) -> None:
        self.folder = folder
        self.private = private
        self.imports = {"import rewardkit as rk"}
        self.top = ""  # the file that stands at the top
        self.statements: list[str] = []  # of a notebook
        self.modules: list[str] = []  # statements that make modules of further files
        self.copied: dict[str, str] = {}  # the text of a file -> what stands before its names: "", "_mine."
        self.names: dict[str, Any] = {name: object() for name in taken}  # name -> what stands under it
        self.names |= {"rk": rewardkit, "partial": functools.partial}

    def file(self, reward: Reward) -> str:
        """The text of the file that gives the reward."""
        body = self.reward(reward)
        about = f"Reward {reward.name!r}"
        about = about if about.isprintable() else "A reward"
        return f"# {about}, saved by rewardkit.\n\n{self.head}\n\n\nreward = {body}\n"

    @property
    def head(self) -> str:
        """What stands before the expressions: what was copied, and imports.

        A file comes first, as it may begin with what only the beginning of a file can have.
        """
        imports = "\n".join(sorted(self.imports, key=lambda line: ("rewardkit" in line, line)))
        parts = [self.top, imports, *self.statements, *self.modules]
        return "\n\n\n".join(part.strip("\n") for part in parts if part)

    def reward(self, reward: Reward) -> str:
        """The expression that gives the reward."""
        if routing := reward.routing:
            inner = [f"{key!r}: {self.reward(item)}" for key, item in routing.rewards.items()]
            default = [f"default={self.reward(routing.default)}"] if routing.default is not None else []
            column, own = repr(routing.column), f"name={reward.name!r}"
            return _block("rk.Route(", [column, _block("{", inner, "}"), *default, own], ")")
        made = [f"{name!r}: {self.call(function, name)}" for name, function in reward.fields.items()]
        arguments = [
            repr(reward.name),
            *(["fields=" + _block("{", made, "}")] if made else []),
            "components=" + _block("[", map(self.component, reward.components), "]"),
            *self.options(reward, "aggregation", "on_missing", "gate", "transform"),
        ]
        return _block("rk.Reward(", arguments, ")")

    def component(self, item: Component) -> str:
        """The expression that gives the component."""
        own = [repr(item.name), self.call(item.function, item.name), f"weight={item.weight!r}"]
        names = [option.name for option in fields(item) if option.name not in ("name", "function", "weight")]
        return _block("rk.Component(", [*own, *self.options(item, *names)], ")")

    def options(self, item: Reward | Component, *names: str) -> list[str]:
        """The options of these names that are not the default, as arguments."""
        written = []
        for option in fields(item):
            value = getattr(item, option.name)
            if option.name not in names or value == option.default or value == {}:
                continue
            owner = option.name if option.name == "transform" else item.name
            text = self.argument(value, owner)
            # infinity has no literal of its own
            text = re.sub(r"\binf\b", 'float("inf")', text) if option.name == "range" else text
            written.append(f"{option.name}={text}")
        return written

    def call(self, function: Callable[..., Any], owner: str) -> str:
        """The expression that gives this function."""
        if isinstance(function, functools.partial):
            self.imports.add("from functools import partial")
            bound = [self.argument(value, owner) for value in function.args]
            bound += [f"{name}={self.argument(value, owner)}" for name, value in function.keywords.items()]
            return f"partial({', '.join([self.call(function.func, owner), *bound])})"
        name = getattr(function, "__qualname__", "")
        for room, public in ROOMS.items():
            if name in public.__all__ and getattr(public, name) is function:
                return f"{room}.{name}"
            if isinstance(function, Made) and function.factory in public.__all__:
                return f"{room}.{function.written(lambda value: self.argument(value, owner))}"
        if isinstance(function, Made) and function.factory.startswith("rk."):
            return function.written(lambda value: self.argument(value, owner))
        name = name_at_the_top(function) or name
        if not name and is_like_new(function):
            return f"{self.call(type(function), owner)}()"
        if not name.isidentifier():
            raise RewardError(
                f"{owner!r} uses {preview(function)}, which has no name to write; give it a function with a "
                "name at the top of a file or cell"
            )
        module = inspect.getmodule(function)
        if (
            module is not None
            and getattr(module, name, None) is function
            and not module.__name__.startswith(("__main__", FILE_MODULE))  # which no import would find
        ):
            own = self.free(name, function)
            self.imports.add(f"from {module.__name__} import {name}" + (f" as {own}" if own != name else ""))
            return own
        return self.copy(source_of(function, name, owner, self.folder)) + name

    def free(self, name: str, value: Any) -> str:
        """The name under which the file can have a value: its own, or one with underscores in front."""
        while self.names.get(name, value) is not value:
            name = f"_{name}"
        self.names[name] = value
        return name

    def copy(self, source: Source) -> str:
        """Take a text into the file, once; gives what stands before its names there."""
        if source.text not in self.copied:
            self.copied[source.text] = self._copied(source)
        return self.copied[source.text]

    def _copied(self, source: Source) -> str:
        clash = any(self.names.get(name, value) is not value for name, value in source.names.items())
        if clash or self.private or (source.file and self.top):
            self.imports.add("from rewardkit.rewards.load import run_text as _run_text")
            own = self.free(f"_{source.file.partition('.')[0] or 'cell'}", source)
            text = source.text if source.file else f"import rewardkit as rk\n\n\n{source.text}"
            self.modules.append(f"{own} = _run_text({source.file or 'cell.py'!r}, {_literal(text)})")
            return f"{own}."
        self.names |= source.names
        if source.file:
            self.top = source.text
        else:
            self.statements.append(source.text)
        return ""

    def argument(self, value: Any, owner: str) -> str:
        """What is bound to a primitive: another primitive, a function, or a plain value."""
        if isinstance(value, Gate):
            return f"rk.gate({self.call(value.on, owner)})" if callable(value.on) else f"rk.{value!r}"
        if callable(value):
            return self.call(value, owner)
        try:
            ast.parse(repr(value), mode="eval")
        except SyntaxError:
            if is_like_new(value):
                return f"{self.call(type(value), owner)}()"
            raise RewardError(
                f"{owner!r} holds {preview(value)}, which cannot be written; give it a function with a name "
                "at the top of a file or cell"
            ) from None
        return repr(value)


def is_like_new(value: Any) -> bool:
    """Whether an object of a user's class is one that the class makes without arguments."""
    kind = type(value)
    if kind.__module__ == "builtins" or "." in kind.__qualname__ or parameters(kind):
        return False
    try:
        return bool(vars(kind()) == vars(value))
    except CAUGHT:
        return False


def _block(start: str, items: Iterable[str], end: str) -> str:
    """Items, one a line and indented, between brackets."""
    lines = "".join("    " + item.replace("\n", "\n    ") + ",\n" for item in items)
    return f"{start}\n{lines}{end}"


def _literal(text: str) -> str:
    """A text as code, to be read as it is where that can be."""
    for quotes in ("'''", '"""'):
        if quotes not in text:
            return f"r{quotes}{text}{quotes}"
    return "(\n" + "".join(f"    {line!r}\n" for line in text.splitlines(keepends=True)) + ")"
