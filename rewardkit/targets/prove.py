"""prove(): a file that export wrote, run by the trainer's own code beside rewardkit on the same rollouts."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rewardkit.errors import CAUGHT, RewardError, describe_error, preview
from rewardkit.plain import PlainRecord
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.signature import is_async
from rewardkit.rewards.source import name_at_the_top
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores
from rewardkit.targets.adapter import Adapter
from rewardkit.targets.target import Called, Export, Target, Written
from rewardkit.targets.writing import rendered

RTOL = 1e-9
RTOL_CAST = 1e-6
"""Where the trainer casts to float32, whose steps are 6e-8 of a value."""
ATOL = 1e-12
"""For sums that come near 0. Our choice: a million times the last digit of a reward of 1."""
EXAMPLES = 3


@dataclass(frozen=True)
class Proof(PlainRecord):
    """The trainer's own code against rewardkit's on the same rollouts.

    `caller` is the code that ran; `judged` counts the rollouts that got a reward from
    rewardkit, `compared` the values (rewards, and scores of components that the trainer
    shows), of which `differ` do; NaN equals NaN. `max_abs_difference` is over all of
    them. Where the reward is a function of that very trainer, `original` is the same of
    that function as it was found, `not_original` why it could not be called, and
    `original_failed` what the trainer said that failed on it.
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
        """Whether there was something to compare and no value differs, the original's neither."""
        if self.differ or not self.judged or self.original_failed:
            return False
        return self.original is None or self.original.equal

    def lines(self, what: str = "") -> list[str]:
        """What was found, for a person."""
        verdict = (
            f"{self.differ} DIFFER"
            if self.differ
            else "equal"
            if self.judged
            else "NOTHING PROVED"
        )
        found = [
            f"{self.caller}{what}: {self.compared} values on {self.rows} rollouts, {verdict}, at most "
            f"{self.max_abs_difference:.3g} apart",
            *(f"  {line}" for line in self.examples),
        ]
        if not self.judged:
            found.append("  no rollout has a reward: each failed or was not judged")
        if self.original is not None:
            found += self.original.lines(", on the function as it was found")
        if self.original_failed:
            found.append(
                f"it FAILS on the function as it was found: {self.original_failed}"
            )
        if self.not_original:
            found.append(
                f"the function as it was found was not compared: {self.not_original}"
            )
        return found


def prove(
    target: Target, path: Path, export: Export, written: Written, rollouts: Rollouts
) -> Proof:
    """The trainer's own code on the file at `path`, beside rewardkit's rewards on the same rollouts.

    RewardError: the trainer is not installed here, or has no caller.
    """
    if target.call is None:
        raise RewardError(
            f"{target.title} has no caller to prove the file with; export without verify"
        )
    rows = list(rollouts)
    scores = score(export.reward, rollouts)
    try:
        called = target.call(path, written, rows)
    except ImportError as error:
        raise RewardError(
            f"the proof runs {target.title}'s own code, which cannot be imported here ({error}); install "
            "what it needs, or export without --verify"
        ) from error
    proof = _compared(export, target, called, scores)
    found = _trainers_own(export.reward, target, written, rows)
    if not found:
        return proof
    try:
        called = _called_as_found(target, found, written, rows)
    except RewardError as error:
        return replace(proof, not_original=str(error))
    except CAUGHT as error:
        return replace(
            proof, original_failed=f"called by {target.title}, {describe_error(error)}"
        )
    if "reward" in called.values:  # what else the trainer shows is not ours to know
        called = replace(called, values={"reward": called.values["reward"]})
    return replace(proof, original=_compared(export, target, called, scores))


def _compared(export: Export, target: Target, called: Called, scores: Scores) -> Proof:
    """Each value that the trainer shows beside ours; one of which we know nothing differs.

    Ours is 0 where a component was gated; what is missing is by the target's rule.
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
        left, right = np.asarray(values, dtype=float), scores.rewards
        if name != "reward":
            right = np.where(
                scores.table[f"status/{name}"] == "gated", 0.0, scores.score(name)
            )
        if target.abilities.missing == "number":
            right = np.where(np.isnan(right), export.missing, right)
        rtol = RTOL
        if name in called.cast:
            right, rtol = right.astype(np.float32).astype(float), RTOL_CAST
        same = np.isclose(left, right, rtol=rtol, atol=ATOL, equal_nan=True)
        differ += int((~same).sum())
        largest = max(largest, float(np.nanmax(np.abs(left - right), initial=0.0)))
        examples += [
            f"{name} of rollout {scores.rollouts[int(row)].get('rollout_id')!r}: {target.title} "
            f"{left[row]:g}, rewardkit {right[row]:g}"
            for row in np.flatnonzero(~same)[:EXAMPLES]
        ]
    judged = int((~np.isnan(scores.rewards)).sum())
    return Proof(
        called.caller,
        len(scores.rewards),
        judged,
        compared,
        differ,
        largest,
        tuple(examples),
    )


def _trainers_own(
    reward: Reward, target: Target, written: Written, rows: Sequence[Any]
) -> dict[str, Adapter]:
    """The functions of that very trainer that the reward is as they are, by the names they are called under.

    One whose answer is the reward; or several that the trainer itself adds up, by their
    components' names.
    """
    if reward.routed_by or reward.gate is not None or reward.transform is not None:
        return {}
    called = [*reward.fields.values(), *(item.function for item in reward.components)]
    adapters = [one for one in called if isinstance(one, Adapter)]
    paid = [weight for weight in reward.weights.values() if weight]
    if len(adapters) == 1 and paid == [1] and written.whole:
        found = {written.functions[0]: adapters[0]}
    elif len(adapters) == len(called) > 1 and target.abilities.weights == "kept":
        found = dict(zip(reward.names, adapters, strict=True))
    else:
        return {}
    for adapter in adapters:
        readings = target.readings(adapter.function, rows)
        if not any(
            reading.provable and type(reading.adapter) is type(adapter)
            for reading in readings
        ):
            return {}
    return found


def _called_as_found(
    target: Target,
    adapters: Mapping[str, Adapter],
    written: Written,
    rows: Sequence[Any],
) -> Called:
    """What the trainer makes of the adapters' functions; RewardError where one is no function of a module."""
    found = []
    for entry, adapter in adapters.items():
        function = adapter.function
        name = name_at_the_top(function)
        if not name:
            raise RewardError(
                f"{preview(function)} has no name at the top of a module, by which it could be"
            )
        module = getattr(function, "__module__", "") or type(function).__module__
        found.append(
            {
                "entry": entry,
                "module": module,
                "name": name,
                "waits": is_async(function),
            }
        )
    text = rendered("_as_found", functions=found)
    asked = replace(
        written, functions=tuple(adapters), whole=len(adapters) == 1, ours=False
    )
    assert target.call is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "as_found.py")
        path.write_text(text, encoding="utf-8")
        own = [
            [adapter.columns(row).items() for adapter in adapters.values()]
            for row in rows
        ]
        others = [dict(item for items in found for item in items) for found in own]
        return target.call(
            path,
            asked,
            [{**other, **row} for other, row in zip(others, rows, strict=True)],
        )
