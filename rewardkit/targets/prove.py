"""The proof of an exported file: the trainer's own code must give our rewards."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rewardkit.errors import CAUGHT, RewardError, describe_error, preview
from rewardkit.plain import PlainRecord
from rewardkit.rewards.component import is_async
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.source import name_at_the_top
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.calls import scoring
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores
from rewardkit.targets.adapter import Adapter
from rewardkit.targets.target import Export, Target, TrainerCode, TrainerValues
from rewardkit.targets.writing import render

PROOF_RTOL = 1e-9
FLOAT32_RTOL = 1e-6
"""Relative tolerance for values cast to float32, whose precision is 6e-8."""
PROOF_ATOL = 1e-12
"""Absolute tolerance, for sums near 0. Our choice: far above the rounding of 1."""
SHOWN_DIFFERENCES = 3
"""Examples of differences per list of values, at most."""


@dataclass(frozen=True)
class Proof(PlainRecord):
    """A comparison of the trainer's rewards with rewardkit's on the same rollouts.

    Attributes:
        caller: The trainer's code that ran.
        rows: Number of rollouts.
        judged: Number of rollouts with a reward from rewardkit.
        compared: Number of compared values: rewards, and scores of components that the
            trainer shows. NaN equals NaN.
        differ: Number of values that differ.
        max_abs_difference: Largest difference of all compared values.
        examples: Sentences on values that differ.
        original: The comparison of the original function, if the reward was read from
            a function of the same trainer.
        not_original: Why the original function could not be called.
        original_failed: How the original function failed in the trainer.
    """

    IN_RECORD = (
        "caller",
        "rows",
        "judged",
        "compared",
        "differ",
        "max_abs_difference",
        "original",
        "not_original",
        "original_failed",
    )

    caller: str
    rows: int
    judged: int
    compared: int
    differ: int
    max_abs_difference: float
    examples: tuple[str, ...] = ()
    original: Proof | None = None
    not_original: str = ""
    original_failed: str = ""

    @property
    def equal(self) -> bool:
        """Return whether rows were judged and no value differs, nor an original one."""
        if self.differ or not self.judged or self.original_failed:
            return False
        return self.original is None or self.original.equal

    def lines(self, subject: str = "") -> list[str]:
        """Return the outcome in lines for a person; `subject` follows the caller."""
        verdict = "equal" if self.judged else "NOTHING PROVED"
        if self.differ:
            verdict = f"{self.differ} DIFFER"
        lines = [
            f"{self.caller}{subject}: {self.compared} values on {self.rows} rollouts, "
            f"{verdict}, at most {self.max_abs_difference:.3g} apart"
        ]
        lines += [f"  {example}" for example in self.examples]
        if not self.judged:
            lines.append("  no rollout has a reward: each failed or was not judged")
        if self.original is not None:
            lines += self.original.lines(", on the function as it was found")
        if self.original_failed:
            lines.append(
                f"it FAILS on the function as it was found: {self.original_failed}"
            )
        if self.not_original:
            lines.append(
                f"the function as it was found was not compared: {self.not_original}"
            )
        return lines


def run_proof(
    target: Target, path: Path, export: Export, code: TrainerCode, rollouts: Rollouts
) -> Proof:
    """Run the trainer's own code on the file at `path`, and compare with rewardkit.

    RewardError: the trainer is not installed here, or has no caller.
    """
    if target.call is None:
        raise RewardError(
            f"{target.title} has no caller to prove the file with; export without "
            "verify"
        )
    rows = list(rollouts)
    scores = score(export.reward, rollouts)
    try:
        with scoring():  # a proof is no training, and is not recorded
            called = target.call(path, code, rows)
    except ImportError as error:
        raise RewardError(
            f"the proof runs {target.title}'s own code, which cannot be imported here "
            f"({error}); install what it needs, or export without --verify"
        ) from error
    proof = _compare(export, target, called, scores)
    adapters = _original_functions(export.reward, target, code, rows)
    if not adapters:
        return proof
    try:
        called = _call_originals(target, adapters, code, rows)
    except RewardError as error:
        return replace(proof, not_original=str(error))
    except CAUGHT as error:
        failure = f"called by {target.title}, {describe_error(error)}"
        return replace(proof, original_failed=failure)
    if "reward" in called.values:  # only this value has a counterpart here
        called = replace(called, values={"reward": called.values["reward"]})
    return replace(proof, original=_compare(export, target, called, scores))


def _compare(
    export: Export, target: Target, called: TrainerValues, scores: Scores
) -> Proof:
    """Compare each value that the trainer shows with ours; one without ours differs.

    Our score of a gated component is 0; missing ones follow the rule of the target.
    """
    compared = differ = 0
    largest = 0.0
    examples: list[str] = []
    for name, values in called.values.items():
        compared += len(values)
        if name not in ("reward", *export.reward.names):
            differ += len(values)
            examples.append(
                f"{target.title} shows {name!r}, which rewardkit does not have"
            )
            continue
        theirs, ours = np.asarray(values, dtype=float), scores.rewards  # (rollouts,)
        if name != "reward":
            is_gated = scores.table[f"status/{name}"] == "gated"
            ours = np.where(is_gated, 0.0, scores.score(name))
        if target.abilities.missing == "number":
            ours = np.where(np.isnan(ours), export.missing, ours)
        rtol = PROOF_RTOL
        if name in called.cast:
            ours, rtol = ours.astype(np.float32).astype(float), FLOAT32_RTOL
        is_same = np.isclose(theirs, ours, rtol=rtol, atol=PROOF_ATOL, equal_nan=True)
        differ += int((~is_same).sum())
        differences = np.abs(theirs - ours)
        largest = max(largest, float(np.nanmax(differences, initial=0.0)))
        for row in np.flatnonzero(~is_same)[:SHOWN_DIFFERENCES].tolist():
            rollout_id = scores.rollouts[row].get("rollout_id")
            examples.append(
                f"{name} of rollout {rollout_id!r}: {target.title} {theirs[row]:g}, "
                f"rewardkit {ours[row]:g}"
            )
    return Proof(
        called.caller,
        len(scores.rewards),
        int((~np.isnan(scores.rewards)).sum()),
        compared,
        differ,
        largest,
        tuple(examples),
    )


def _original_functions(
    reward: Reward, target: Target, code: TrainerCode, rows: Sequence[Any]
) -> dict[str, Adapter]:
    """Return the original functions of this trainer that make up the reward, by name.

    This is one function whose answer is the reward, under the name in the file, or
    several that the trainer itself adds up, under the names of their components. The
    result is {} for any other reward.
    """
    if reward.routed_by or reward.gate is not None or reward.transform is not None:
        return {}
    functions = [
        *reward.fields.values(),
        *(item.function for item in reward.components),
    ]
    adapters = [function for function in functions if isinstance(function, Adapter)]
    weights = [weight for weight in reward.weights.values() if weight]
    if len(adapters) == 1 and weights == [1] and code.combined:
        names = [code.functions[0]]
    elif len(adapters) == len(functions) > 1 and target.abilities.weights == "kept":
        names = list(reward.names)
    else:
        return {}
    for adapter in adapters:
        kinds = []
        for reading in target.readings(adapter.function, rows):
            if reading.provable:
                kinds.append(type(reading.adapter))
        if type(adapter) not in kinds:
            return {}
    return dict(zip(names, adapters, strict=True))


def _call_originals(
    target: Target,
    adapters: Mapping[str, Adapter],
    code: TrainerCode,
    rows: Sequence[Any],
) -> TrainerValues:
    """Run the trainer's own code on the original functions of the adapters.

    RewardError: a function has no name at the top of a module.
    """
    functions = []
    for entry, adapter in adapters.items():
        function = adapter.function
        name = name_at_the_top(function)
        if not name:
            raise RewardError(
                f"{preview(function)} has no name at the top of a module, by which it "
                "could be"
            )
        module = getattr(function, "__module__", "") or type(function).__module__
        waits = is_async(function)
        functions.append(
            {"entry": entry, "module": module, "name": name, "waits": waits}
        )
    users_code = replace(
        code, functions=tuple(adapters), combined=len(adapters) == 1, ours=False
    )
    own_rows = []
    for row in rows:
        columns: dict[str, Any] = {}
        for adapter in adapters.values():
            columns |= adapter.columns(row)
        own_rows.append(columns | dict(row))
    assert target.call is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "as_found.py")
        path.write_text(render("_as_found", functions=functions), encoding="utf-8")
        return target.call(path, users_code, own_rows)
