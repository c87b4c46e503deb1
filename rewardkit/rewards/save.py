"""Save a reward as a Python file that `load_reward` reads."""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any

import rewardkit
from rewardkit.errors import CAUGHT, RewardError, describe_error, preview
from rewardkit.rewards.component import parameters
from rewardkit.rewards.load import FILE_MODULE, run_file
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.source import (
    Source,
    expression,
    imported_modules,
    imports_beside,
    name_at_the_top,
    source_of,
    without_statements,
)
from rewardkit.rollouts.paths import write_whole

_TRYING: ContextVar[bool] = ContextVar("trying", default=False)
"""Whether a written file is being tested by a run."""


def save_reward(reward: Reward, path: str | Path) -> Path:
    """Write a reward as a Python file and return its path.

    The file is loaded once to check that it defines the same reward.

    rewardkit's own functions are written as the calls that made them. A function from
    an importable module is imported. A function from a file is copied with its whole
    file, without attributes that other code set on its module. A function from a
    notebook is copied if the only name it uses from outside is ``rk``. RewardError,
    and no file, if a function cannot be written (a lambda without a name, missing
    names).
    """
    path = Path(path)
    if not isinstance(reward, Reward):
        raise RewardError(
            f"{preview(reward)} is no Reward; make one with rk.Reward(...) or "
            "rk.load_reward"
        )
    if path.suffix != ".py":
        raise RewardError(
            f"{str(path)!r} does not end in .py; a reward is saved as a Python file"
        )

    def check(module: ModuleType) -> None:
        if _definition(module.reward) != _definition(reward):
            raise RewardError(
                f"reward {reward.name!r} cannot be written as a file: what the file "
                "gives differs from it"
            )

    text = DefinitionWriter(path.parent, reserved={"reward"}).file(reward)
    write_module(path, text, f"the file for reward {reward.name!r}", check)
    return path


def write_module(
    path: Path, text: str, label: str, check: Callable[[ModuleType], None]
) -> None:
    """Write a Python file after a test run whose module passes `check`."""

    def write(temporary: Path) -> None:
        with run_beside(temporary, text, label) as module:
            check(module)
        temporary.write_text(text, encoding="utf-8")

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, write)


@contextmanager
def run_beside(temporary: Path, text: str, label: str) -> Iterator[ModuleType]:
    """Run a text as a file beside `temporary`, and remove the file after the block.

    RewardError, in which the file is called `label`: it does not run.
    """
    if _TRYING.get():  # the file contains a copy of the script that saves it
        raise RewardError(
            "the file has a copy of this script, which would write it again; write it "
            "under if __name__ == '__main__':"
        )
    trial = temporary.with_name(
        f"{temporary.name.strip('.').replace('.', '_')}_trial.py"
    )
    before = set(sys.modules)
    trying = _TRYING.set(True)
    try:
        trial.write_text(text, encoding="utf-8")
        try:
            module = run_file(trial)
        except RewardError as error:
            reason = str(error)
            if error.__cause__ is not None:
                reason = describe_error(error.__cause__)
            raise RewardError(f"{label} does not run: {reason}") from error
        yield module
    finally:
        _TRYING.reset(trying)
        trial.unlink(missing_ok=True)
        for name in set(sys.modules) - before:
            if name.startswith(FILE_MODULE):
                del sys.modules[name]


ORIGINS = (
    r'"(?:sources|transform_sources|fingerprints)": {[^}]*}|"origin": "(?:[^"\\]|\\.)*"'
)
"""Entries of a record about the source files of functions."""


def _definition(reward: Reward) -> str:
    """Return a definition as text, without the source files of its functions."""
    text = re.sub(ORIGINS, "", json.dumps(reward.record(), sort_keys=True, default=str))
    return re.sub(r"\bnp\.\w+\(([^()]*)\)", r"\1", text)


class DefinitionWriter:
    """A writer of rewards as expressions, which collects the code that they need.

    A user's file is copied whole to the top of the written file. It becomes the text of
    a separate module if it defines a `reserved` name, or if the written file may have
    no public functions of it (`private`).
    """

    def __init__(
        self, folder: Path, *, reserved: Collection[str] = (), private: bool = False
    ) -> None:
        self.folder = folder
        self.private = private
        self.reserved = reserved
        self.imports = {"import rewardkit as rk"}
        self.top = ""  # the text of the file copied to the top
        self.bound: Mapping[str, Any] = {}  # the names and values of that file
        # copied cells, and statements that make modules of further files
        self.texts: list[str] = []
        self.written: set[str] = set()  # definitions of written rewards
        self.beside: set[str] = set()  # modules that must be in the same folder
        self.modules: set[str] = set()  # all modules that the copied code imports
        # a module or text -> the prefix of its names, such as "" or "_mine."
        self.prefixes: dict[str, str] = {}
        # name in the written file -> its value
        self.names: dict[str, Any] = {name: object() for name in reserved}
        self.names |= {"rk": rewardkit, "partial": functools.partial, "re": re}

    def file(self, reward: Reward) -> str:
        """Return the text of the file that defines the reward."""
        body = self.reward(reward)
        about = f"Reward {reward.name!r}"
        if not about.isprintable():
            about = "A reward"
        return f"# {about}, saved by rewardkit.\n\n{self.head}\n\n\nreward = {body}\n"

    @property
    def head(self) -> str:
        """The copied code and imports before the expressions.

        A copied file comes first: some of its statements are valid only there.
        """
        lines = [x for x in self.imports if x.rpartition(" ")[2] not in self.bound]
        lines.sort(key=lambda line: ("rewardkit" in line, line))
        parts = filter(None, [self.top, "\n".join(lines), *self.texts])
        return "\n\n\n".join(part.strip("\n") for part in parts)

    def reward(self, reward: Reward) -> str:
        """Return the expression for a reward, or its name in the copied file."""
        definition = _definition(reward)
        self.written.add(definition)
        text = expression(reward, self.write_object)
        for name, value in self.bound.items():
            if isinstance(value, Reward) and _definition(value) == definition:
                return name
        if "partial(" in text:
            self.imports.add("from functools import partial")
        if "re.compile(" in text:
            self.imports.add("import re")
        return text

    def write_object(self, value: Any, owner: str) -> str:
        """Return the expression for a user's object, and copy or import its code."""
        value_name = getattr(value, "__qualname__", "") or name_at_the_top(value)
        if not value_name and is_like_new(value):
            return f"{self.write_object(type(value), owner)}()"
        name, source = source_of(value, owner, self.folder)
        key = source.module or source.text
        if key not in self.prefixes:
            self.prefixes[key] = self.add_source(source)
            text = source.text or f"import {source.module}"
            self.modules.update(imported_modules(text))
            for module in imports_beside(text, self.folder):
                if module.partition(".")[0] != "rewardkit":
                    self.beside.add(module)
        return self.prefixes[key] + name

    def add_source(self, source: Source) -> str:
        """Add code to the written file, and return the prefix of its names there.

        Rewards of a copied file that none of its code reads are left out, unless they
        are the reward being written: the written expression replaces them.
        """
        if source.file:
            rewards = []
            for name, value in source.names.items():
                if isinstance(value, Reward) and (
                    self.private
                    or name in self.names
                    or _definition(value) not in self.written
                ):
                    rewards.append(name)
            source = without_statements(source, rewards, self.reserved)
        has_clash = any(
            self.names.get(name, value) is not value
            for name, value in source.names.items()
        )
        is_second_file = source.file and self.top
        if not (source.module or has_clash or self.private or is_second_file):
            self.names |= source.names
            if source.file:
                self.top = source.text
                self.bound = source.names
            else:
                self.texts.append(source.text)
            return ""
        file = source.file or "cell.py"
        alias = source.module.rpartition(".")[2] or f"_{Path(file).stem}"
        alias = re.sub(r"\W", "_", alias)
        module = sys.modules.get(source.module, source)
        while self.names.setdefault(alias, module) is not module:
            alias = f"_{alias}"
        if source.module == alias:
            self.imports.add(f"import {alias}")
        elif source.module:
            self.imports.add(f"import {source.module} as {alias}")
        else:
            self.imports.add("from rewardkit.rewards.load import run_text as _run_text")
            text = source.text
            if not source.file:
                text = f"import rewardkit as rk\n\n\n{text}"
            self.texts.append(f"{alias} = _run_text({file!r}, {_literal(text)})")
        return f"{alias}."


def is_like_new(value: Any) -> bool:
    """Return whether an object equals a new one of its class without arguments."""
    kind = type(value)
    if kind.__module__ == "builtins" or "." in kind.__qualname__ or parameters(kind):
        return False
    try:
        return bool(vars(kind()) == vars(value))
    except CAUGHT:
        return False


def _literal(text: str) -> str:
    """Return a text as a literal, raw and in triple quotes if possible."""
    quotes = "'''" if "'''" not in text else '"""'
    return f"r{quotes}{text}{quotes}" if quotes not in text else repr(text)
