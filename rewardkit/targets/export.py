"""export(): write a reward as a file that a trainer loads unchanged."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import packages_distributions, requires, version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rewardkit.errors import RewardError, preview
from rewardkit.history.recorder import Recorder, as_recorder
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.save import DefinitionWriter, write_module
from rewardkit.rewards.source import imported_modules, names_bound
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.scores import versions
from rewardkit.targets import find_target
from rewardkit.targets.exported import check_timeout, identifier
from rewardkit.targets.prove import Proof, run_proof
from rewardkit.targets.target import Export, Target, TrainerCode
from rewardkit.targets.writing import find_losses, render, write_code

# --- the packages that an exported file imports

OURS = "reward-workbench"
"""Name of the distribution that contains rewardkit."""


def find_requirements(modules: Collection[str]) -> tuple[str, ...]:
    """Return the pip requirements of these modules, such as "sympy==1.13.3".

    Versions are those installed here. A module of no installed package is listed by its
    own name. Modules of Python and dependencies of rewardkit are left out.
    """
    bundled = {*sys.stdlib_module_names, "rewardkit"}
    names = {name.partition(".")[0] for name in modules} - bundled
    if not names:
        return ()
    packages = packages_distributions()
    with_ours = _core_requirements()
    requirements = set()
    for name in names:
        package = packages.get(name, [name])[0]
        if package.lower().replace("_", "-") in with_ours:
            continue
        is_here = name in packages
        requirements.add(f"{package}=={version(package)}" if is_here else name)
    return tuple(sorted(requirements))


def _core_requirements() -> set[str]:
    """Return the names of the packages that rewardkit needs without extras."""
    names = set()
    for text in requires(OURS) or []:
        if "extra ==" not in text:
            names.add(re.split(r"[^\w.-]", text)[0].lower())
    return names


def install_sentence(ours: str, requirements: Collection[str]) -> str:
    """Say how to install the imports of a file on the machine that runs it."""
    sentence = (
        f"install there: {OURS} {ours} (from its checkout: pip install .), imported as "
        "rewardkit"
    )
    if requirements:
        listed = " ".join(f"'{requirement}'" for requirement in requirements)
        sentence += f"; and pip install {listed}"
    return sentence


@dataclass(frozen=True)
class Exported:
    """A file that was written for a trainer.

    Attributes:
        target: The trainer's name.
        path: The file.
        losses: Sentences on what the trainer does differently.
        usage: The configuration lines to paste.
        functions: Names of the functions or classes for the trainer's configuration.
        proof: The comparison of the trainer's rewards with rewardkit's, if it ran.
        plan: The options and the code of the file, for `prove`.
        install: A sentence on how to install the imports of the file.
    """

    target: str
    path: Path
    losses: tuple[str, ...]
    usage: str
    functions: tuple[str, ...] = ()
    proof: Proof | None = None
    plan: tuple[Export, TrainerCode] | None = field(default=None, repr=False)
    install: str = ""

    def record(self) -> dict[str, Any]:
        """Return the export as plain data, with the proof if there is one."""
        record = {
            "target": self.target,
            "path": str(self.path),
            "losses": list(self.losses),
            "usage": self.usage,
            "install": self.install,
        }
        return record if self.proof is None else record | self.proof.record()

    def __repr__(self) -> str:
        lines = [f"written for {self.target}: {self.path}"]
        lines += [f"lost there: {sentence}" for sentence in self.losses]
        if not self.losses:
            lines.append("nothing is lost there")
        if self.install:
            lines.append(self.install)
        lines += ["", textwrap.indent(self.usage, "    ")]
        if self.proof is not None:
            lines += ["", *self.proof.lines()]
        return "\n".join(lines)


def export(
    reward: Reward,
    *,
    to: str,
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    missing: float = 0.0,
    separate: bool = False,
    record: Recorder | str | Path | None = None,
    timeout: float | None = None,
    verify: Rollouts | str | Path | Iterable[Mapping[str, Any]] | None = None,
) -> Exported:
    """Write a reward as a Python file that the trainer `to` loads unchanged.

    The file needs only the light core of rewardkit. No file is written if an error is
    raised; a file whose proof finds differences is kept for inspection.

    Args:
        reward: The reward.
        to: Name of the target.
        path: The file, a Python module.
        columns: Canonical column -> its name in the training set ({"ground_truth":
            "solution"}), if that is not one of the usual names.
        missing: The reward of a completion that is not judged, if the trainer needs a
            number.
        separate: Write one function per component, for the trainer to weigh (TRL).
        record: Folder for the scores of the training, below the folder in which the
            training runs; or a `Recorder` with its options.
        timeout: Seconds for a call of a user's function. A longer call is an error of
            its row, see `rk.score`.
        verify: Rollouts for the proof: the trainer's own code runs the file on them,
            and its rewards are compared with rewardkit's (`Exported.proof`).

    Raises:
        RewardError: There is no such target, a function cannot be written, or the
            trainer cannot express the reward.
    """
    target, path = find_target(to), Path(path)
    _check_arguments(reward, target, path, missing, separate=separate)
    check_timeout(reward, timeout)
    place = _record_option(record)
    plan = Export(reward, dict(columns or {}), float(missing), separate, place, timeout)
    losses = find_losses(plan, target)
    if target.abilities.siblings == "none":
        reward_alone = reward.map(lambda inner: replace(inner, transform=None))
        plan = replace(plan, reward=reward_alone)
    code = write_code(target, plan, path)
    writer = DefinitionWriter(
        path.parent, reserved={"_reward", *names_bound(code.code)}, private=code.private
    )
    body = writer.reward(plan.reward)
    writer.imports.update(code.imports)
    files_beside = sorted(f"{name.replace('.', '/')}.py" for name in writer.beside)
    if files_beside:
        losses.append(f"it needs {', '.join(files_beside)} beside it, wherever it runs")
    modules = _modules_of(writer, path.parent)
    install = install_sentence(
        versions()["reward-workbench"], find_requirements(modules)
    )
    code_text = code.code
    if body.isidentifier():
        code_text = re.sub(r"\b_reward\b", body, code_text)
    text = render(
        "_file",
        reward=reward,
        target=target,
        version=versions()["reward-workbench"],
        install=install,
        prints=reward.record()["fingerprints"],
        usage=code.usage,
        losses=losses,
        head=writer.head,
        body=body,
        code=code_text,
    )

    def check(module: ModuleType) -> None:
        for name in code.functions:
            assert hasattr(module, name), f"{target.name}: {name}"

    write_module(path, text, f"the file for {target.title}", check)
    exported = Exported(
        target.name,
        path,
        tuple(losses),
        code.usage,
        code.functions,
        plan=(plan, code),
        install=install,
    )
    return exported if verify is None else prove(exported, verify)


def _record_option(record: Recorder | str | Path | None) -> Recorder | str | None:
    """Return the option as a file writes it: the text of a folder, or a Recorder."""
    if record is None:
        return None
    recorder = as_recorder(record)
    return recorder if recorder is record else str(recorder.folder)


def _modules_of(writer: DefinitionWriter, folder: Path) -> set[str]:
    """Return the modules that a file and the files beside it import from elsewhere."""
    modules = set(writer.modules)
    for name in writer.beside:
        file = folder / f"{name.replace('.', '/')}.py"
        if file.is_file():
            modules.update(imported_modules(file.read_text(encoding="utf-8")))
    packages_beside = {name.partition(".")[0] for name in writer.beside}
    return {name for name in modules if name.partition(".")[0] not in packages_beside}


def _check_arguments(
    reward: Any, target: Target, path: Path, missing: float, *, separate: bool
) -> None:
    sentence = ""
    if not isinstance(reward, Reward):
        sentence = (
            f"{preview(reward)} is no Reward; make one with rk.Reward(...) or "
            "rk.load_reward"
        )
    elif target.functions is None:
        sentence = f"{target.title} is a target to read only; nothing is written for it"
    elif path.suffix != ".py" or not path.stem.isidentifier():
        sentence = (
            f"{str(path)!r} is not the name of a Python module; give one such as "
            f"my_reward_{identifier(target.name)}.py"
        )
    elif path.is_file() and not _is_export(path):
        sentence = (
            f"{str(path)!r} is there and is no file that export wrote; give another "
            "path, as it would be lost"
        )
    elif not np.isfinite(missing):
        sentence = (
            f"missing={missing!r} is not a finite number, which {target.title} needs"
        )
    elif separate and target.abilities.weights != "kept":
        sentence = (
            f"{target.title} takes one reward, without weights; export without separate"
        )
    elif reward.is_scheduled and separate:
        sentence = (
            f"{target.title} keeps one weight for each function, and reward "
            f"{reward.name!r} has weights that depend on the step; export without "
            "separate"
        )
    elif reward.is_scheduled and not target.abilities.steps:
        sentence = (
            f"{target.title} does not tell a reward which step it is, and reward "
            f"{reward.name!r} has weights that depend on it; export reward.at(step) "
            "for each stretch of the training"
        )
    if sentence:
        raise RewardError(sentence)


def _is_export(path: Path) -> bool:
    """Return whether a file begins like the files that `export` writes."""
    start = path.read_text(encoding="utf-8", errors="replace")[:1000]
    head = " ".join(start.replace("#", "").split())
    return start.startswith("# Reward ") and "written by rewardkit" in head


def prove(
    exported: Exported, rollouts: Rollouts | str | Path | Iterable[Mapping[str, Any]]
) -> Exported:
    """Compare the trainer's rewards with rewardkit's, and return the export with that.

    RewardError: the trainer is not installed here, or has no caller.
    """
    assert exported.plan is not None
    if not isinstance(rollouts, Rollouts):
        rollouts = load_rollouts(rollouts)
    target = find_target(exported.target)
    proof = run_proof(target, exported.path, *exported.plan, rollouts)
    return replace(exported, proof=proof)
