"""export(): a reward as a file that a trainer loads unchanged, with what is lost there, and the proof."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rewardkit.errors import RewardError, preview
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.save import Writer, write_module
from rewardkit.rewards.source import names_bound
from rewardkit.rollouts.load import load_rollouts
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.scores import versions
from rewardkit.targets import named, writing
from rewardkit.targets import prove as proving
from rewardkit.targets.exported import identifier
from rewardkit.targets.losses import losses
from rewardkit.targets.prove import Proof
from rewardkit.targets.target import Export, Written


@dataclass(frozen=True)
class Exported:
    """A file that was written: for which target, what is lost there, how it is used, and the proof if any."""

    target: str
    path: Path
    losses: tuple[str, ...]
    usage: str
    functions: tuple[str, ...] = ()
    proof: Proof | None = None
    plan: tuple[Export, Written] | None = field(default=None, repr=False)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        said = {
            "target": self.target,
            "path": str(self.path),
            "losses": list(self.losses),
            "usage": self.usage,
        }
        return {**said, **(self.proof.record() if self.proof is not None else {})}

    def __repr__(self) -> str:
        lines = [f"written for {self.target}: {self.path}"]
        lines += [f"lost there: {sentence}" for sentence in self.losses] or [
            "nothing is lost there"
        ]
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
    verify: Rollouts | str | Path | Iterable[Mapping[str, Any]] | None = None,
) -> Exported:
    """Write a reward as a Python file that the trainer `to` loads unchanged.

    There it needs the light core of rewardkit only. `columns` maps canonical columns to
    the names that the training set has ({"ground_truth": "solution"}), where they are
    not among the usual ones; `missing` is what a completion without a reward gets where
    the trainer needs a number; ``separate=True`` writes a function a component, for the
    trainer to weigh (TRL). With rollouts to `verify` on, the trainer's own code loads
    the file and its rewards are compared with rewardkit's (`Exported.proof`); a file
    that differs is kept, so that it can be looked at. RewardError, and no file: no such
    target, a function that cannot be written, a reward that the trainer cannot express.
    """
    target, path = named(to), Path(path)
    apart = separate and target.abilities.weights != "kept"
    refused: dict[str, bool] = {
        f"{preview(reward)} is no Reward; make one with rk.Reward(...) or rk.load_reward": (
            not isinstance(reward, Reward)
        ),
        f"{target.title} is a target to read only; nothing is written for it": target.functions
        is None,
        f"{str(path)!r} is not the name of a Python module; give one such as my_reward_{identifier(to)}.py": (
            path.suffix != ".py" or not path.stem.isidentifier()
        ),
        f"{str(path)!r} is there and is no file that export wrote; give another path, as it would be lost": (
            path.is_file() and not _is_export(path)
        ),
        f"missing={missing!r} is not a finite number, which {target.title} needs": not np.isfinite(
            missing
        ),
        f"{target.title} takes one reward, without weights; export without separate": apart,
    }
    if said := next((sentence for sentence, is_so in refused.items() if is_so), ""):
        raise RewardError(said)
    wanted = Export(reward, dict(columns or {}), float(missing), separate)
    lost = losses(wanted, target)
    prepared = wanted
    if target.abilities.siblings == "none":
        prepared = replace(
            wanted, reward=reward.map(lambda inner: replace(inner, transform=None))
        )
    written = writing.written(target, prepared, path)
    writer = Writer(
        path.parent,
        taken={"_reward", *names_bound(written.code)},
        private=written.private,
    )
    body = writer.reward(prepared.reward)
    writer.imports.update(written.imports)
    if beside := sorted(f"{name.replace('.', '/')}.py" for name in writer.beside):
        lost.append(f"it needs {', '.join(beside)} beside it, wherever it runs")
    text = writing.rendered(
        "_file",
        reward=reward,
        target=target,
        version=versions()["reward-workbench"],
        prints=reward.record()["fingerprints"],
        usage=written.usage,
        losses=lost,
        head=writer.head,
        body=body,
        code=re.sub(r"\b_reward\b", body, written.code)
        if body.isidentifier()
        else written.code,
    )

    def check(module: ModuleType) -> None:
        assert all(hasattr(module, name) for name in written.functions), (
            f"{target.name}: {written.functions}"
        )

    write_module(path, text, f"the file for {target.title}", check)
    made = Exported(
        target.name,
        path,
        tuple(lost),
        written.usage,
        written.functions,
        plan=(prepared, written),
    )
    return made if verify is None else prove(made, verify)


def _is_export(path: Path) -> bool:
    """Whether a file begins as those do that are written here: it has said so within its first characters."""
    start = path.read_text(encoding="utf-8", errors="replace")[:1000]
    said = " ".join(start.replace("#", "").split())
    return start.startswith("# Reward ") and "written by rewardkit" in said


def prove(
    made: Exported, rollouts: Rollouts | str | Path | Iterable[Mapping[str, Any]]
) -> Exported:
    """The same with the proof: the trainer's own code on the file, beside rewardkit's on the same rollouts.

    RewardError: the trainer is not installed here, or has no caller.
    """
    assert made.plan is not None
    read = rollouts if isinstance(rollouts, Rollouts) else load_rollouts(rollouts)
    return replace(
        made, proof=proving.prove(named(made.target), made.path, *made.plan, read)
    )
