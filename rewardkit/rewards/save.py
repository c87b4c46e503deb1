"""save_reward(): a reward as a Python file that `load_reward`, the command line and the notebooks read."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

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
from rewardkit.rewards.source import Piece, function_names, held, name_at_the_top, pieces, renamed
from rewardkit.rollouts.write import write_whole

__all__ = ["Writer", "import_order", "run_beside", "save_reward"]

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
    imported, one from a file is copied with all that it uses there, one from a notebook if it uses nothing
    from outside itself but ``rk``. RewardError, and no file, where a function cannot be written (a lambda, a
    closure, one that needs names that are not there).
    """
    path = Path(path)
    if path.suffix != ".py":
        raise RewardError(f"{str(path)!r} does not end in .py; a reward is saved as a Python file")
    writer = Writer(path.parent)
    text = writer.file(reward)

    def write(temporary: Path) -> None:
        with run_beside(temporary, text, f"the file for reward {reward.name!r}") as module:
            writer.check(vars(module))
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
    """What a reward says of itself, without where its functions' sources lie."""

    def plain(record: Any) -> Any:
        if isinstance(record, dict):
            return {
                key: plain(value)
                for key, value in record.items()
                if key not in ("sources", "fingerprints", "origin")
            }
        return [plain(item) for item in record] if isinstance(record, list) else record

    return json.dumps(plain(reward.record()), sort_keys=True, default=str)


class Writer:
    """Collects imports and copied functions while the parts of a reward are written.

    What is copied and is called as one of the names that are `taken` gets another, with an underscore in
    front; so do all functions where the file's public ones are not to be theirs (`private`).
    """

    def __init__(self, folder: Path, *, taken: Collection[str] = (), private: bool = False) -> None:
        self.folder = folder
        self.taken = taken
        self.private = private
        self.imports = {"import rewardkit as rk"}
        self.copied: list[str] = []
        self.named: dict[str, Any] = {}
        self.bound: dict[str, str] = {}  # name -> the statement that binds it
        self.values: dict[str, Any] = {}  # name -> what it stands for where it was copied from
        self.hidden: dict[str, str] = {}  # name -> what it is called in the file

    def file(self, reward: Reward) -> str:
        """The text of the file that gives the reward."""
        body = self.reward(reward)
        parts = ["\n".join(sorted(self.imports, key=import_order)), *self.copied, f"reward = {body}"]
        about = f"Reward {reward.name!r}"
        about = about if about.isprintable() and not set(about) & set('\\"') else "A reward"
        return f'"""{about}, written by rewardkit."""\n\n' + "\n\n\n".join(parts) + "\n"

    def reward(self, reward: Reward) -> str:
        """The expression that gives the reward."""
        if routing := reward.routing:
            inner = "".join(
                f"        {key!r}: {_indented(self.reward(item), 8)},\n"
                for key, item in routing.rewards.items()
            )
            default = (
                f"    default={_indented(self.reward(routing.default), 4)},\n"
                if routing.default is not None
                else ""
            )
            return (
                f"rk.Route(\n    {routing.column!r},\n    {{\n{inner}    }},\n{default}    "
                f"name={reward.name!r},\n)"
            )
        lines = [repr(reward.name)]
        if reward.fields:
            made = "".join(
                f"        {name!r}: {self.call(function, name)},\n"
                for name, function in reward.fields.items()
            )
            lines.append(f"fields={{\n{made}    }}")
        components = "".join(f"        {_indented(self.component(item), 8)},\n" for item in reward.components)
        lines.append(f"components=[\n{components}    ]")
        for name, default in (("aggregation", "weighted_sum"), ("on_missing", "nan")):
            if getattr(reward, name) != default:
                lines.append(f"{name}={getattr(reward, name)!r}")
        if reward.gate is not None:
            lines.append(f"gate={self.gate(reward.gate, reward.name)}")
        if reward.transform is not None:
            lines.append(f"transform={self.call(reward.transform, 'transform')}")
        return "rk.Reward(\n" + "".join(f"    {line},\n" for line in lines) + ")"

    def component(self, item: Component) -> str:
        """The expression that gives the component."""
        lines = [repr(item.name), self.call(item.function, item.name), f"weight={item.weight!r}"]
        if item.why:
            lines.append(f"why={item.why!r}")
        if item.gate is not None:
            lines.append(f"gate={self.gate(item.gate, item.name)}")
        if item.columns:
            lines.append(f"columns={dict(item.columns)!r}")
        if item.range != (0.0, 1.0):
            lines.append(f"range={_literal(item.range)}")
        lines += [
            f"{name}={getattr(item, name)!r}" for name in ("batch", "group", "primary") if getattr(item, name)
        ]
        return "rk.Component(\n" + "".join(f"    {line},\n" for line in lines) + ")"

    def gate(self, gate: Gate, owner: str) -> str:
        """The expression that gives the gate."""
        return f"rk.gate({self.call(gate.on, owner)})" if callable(gate.on) else f"rk.{gate!r}"

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
        if not name.isidentifier():
            name = name_at_the_top(function) or name
        if not name and is_like_new(function):
            return f"{self.call(type(function), owner)}()"
        if not name.isidentifier():
            raise RewardError(
                f"{owner!r} uses {preview(function)}, which has no name to write; give it a function with a "
                "name at the top of a file or cell"
            )
        if self.named.setdefault(name, function) is not function:
            raise RewardError(
                f"{owner!r} uses a second function called {name!r}; give each a name of its own"
            )
        if self._importable(inspect.getmodule(function), name, function):
            self.imports.add(f"from {function.__module__} import {name}")
        else:
            found = pieces(function, name, owner, self.folder)
            self.copy(found, owner)
            there = vars(sys.modules.get(function.__module__, object))
            for copied in (one for piece in found if not piece.is_import for one in piece.binds):
                self.values[copied] = there.get(copied)
            return self.hidden.get(name, name)
        return name

    def check(self, written: Mapping[str, Any]) -> None:
        """RewardError where a name stands for something else in the file that was written.

        That is one whose value was changed after the statement that binds it, say by a decorator that
        registers, or by ``append``.
        """
        for name, value in self.values.items():
            there = written.get(self.hidden.get(name, name))
            if type(there) is type(value) and held(there) != held(value):
                raise RewardError(
                    f"{name!r} was changed after it was made, which a copy of its statement does not do "
                    f"({preview(value)} here, {preview(there)} in the new file); make it in one statement, "
                    "or import it from a module"
                )

    @property
    def statements(self) -> list[str]:
        """What was copied, in its order, as it stands in the file."""
        return [renamed(text, self.hidden) for text in self.copied]

    def hide(self, piece: Piece) -> None:
        """Give what a statement binds other names, where those it has are not for it."""
        names = set(piece.binds) & set(self.taken)
        if self.private:
            names |= {name for name in function_names(piece.text) if not name.startswith("_")}
        for name in sorted(names):
            other = f"_{name}"
            while other in self.taken or other in self.bound:
                other = f"_{other}"
            self.hidden[name] = other

    def copy(self, found: list[Piece], owner: str) -> None:
        """Take statements into the file, each once."""
        for piece in found:
            if all(self.bound.get(name) == piece.text for name in piece.binds) and piece.binds:
                continue
            if twice := [name for name in piece.binds if self.bound.get(name, piece.text) != piece.text]:
                raise RewardError(
                    f"{owner!r} uses {twice[0]!r}, which is bound in two places, of its file or of two "
                    "files; give each a name of its own"
                )
            self.bound.update(dict.fromkeys(piece.binds, piece.text))
            if piece.is_import:
                self.imports.add(piece.text)
            else:
                self.copied.append(piece.text)
                self.hide(piece)

    def argument(self, value: Any, owner: str) -> str:
        """What is bound to a primitive: another primitive, a function, or a plain value."""
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

    @staticmethod
    def _importable(module: Any, name: str, function: Any) -> bool:
        if module is None or module.__name__ == "__main__" or module.__name__.startswith(FILE_MODULE):
            return False
        return getattr(module, name, None) is function


def import_order(line: str) -> tuple[bool, bool, str]:
    """What Python wants first comes first, then others, then rewardkit's own."""
    return not line.startswith("from __future__"), "rewardkit" in line, line


def is_like_new(value: Any) -> bool:
    """Whether an object of a user's class is one that the class makes without arguments."""
    kind = type(value)
    if kind.__module__ == "builtins" or "." in kind.__qualname__ or parameters(kind):
        return False
    try:
        return bool(vars(kind()) == vars(value))
    except CAUGHT:
        return False


def _literal(value: Any) -> str:
    """How a range is written: infinity has no literal of its own."""
    return re.sub(r"\binf\b", 'float("inf")', repr(value))


def _indented(text: str, spaces: int) -> str:
    return text.replace("\n", "\n" + " " * spaces)
