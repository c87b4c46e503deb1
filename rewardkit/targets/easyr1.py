"""EasyR1's rewards: compute_score(reward_inputs) -> [{"overall": ..., ...}], or of one.

Source: `AutoRewardManager` in verl/workers/reward/function.py of EasyR1 (2026-07),
which takes ``overall`` as the reward and logs the other keys. REWARD_TYPE in the file
says whether the function takes a list ("batch", the default) or one dict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.targets.adapter import Adapter, Arguments, plain_values
from rewardkit.targets.columns import Row, required_parameters
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import (
    Abilities,
    Target,
    TrainerCode,
    TrainerReading,
    TrainerValues,
    import_file,
)

RESPONSE_LENGTH = "response_length"
NO_LENGTH = object()


class Function(Adapter):
    """A function of a dict with the response, its length in tokens and the truth."""

    gives_row = True

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the dict of each rollout."""
        return [_inputs(rows)], {}

    @staticmethod
    def result(answer: Any) -> Any:
        """Return the function's dict, in plain values.

        Raises:
            ValueError: `answer` is no dict, or lacks "overall", the reward in EasyR1.
        """
        scores = plain_values(answer)
        if type(scores) is not dict or "overall" not in scores:
            raise ValueError(
                f"returned {scores!r} for a response; EasyR1 expects a dict with "
                "'overall'"
            )
        return scores


class Functions(Function):
    """A function of a list of the dicts of `Function`, here those of a group."""

    together = "batch"

    @staticmethod
    def result(answer: Any) -> Any:
        """Return the dicts. ValueError: `answer` is no list of such dicts."""
        if not isinstance(answer, list):
            raise ValueError(
                f"returned {answer!r}; EasyR1 expects a list of dicts with 'overall'"
            )
        return list(map(Function.result, answer))


def _inputs(rows: RowColumns) -> Sequence[dict[str, Any]]:
    """Return the dict of each rollout; length in words if not logged."""
    columns = [rows.column("completion"), rows.column("ground_truth")]
    if RESPONSE_LENGTH in rows:
        columns.append(rows[RESPONSE_LENGTH])
    return MadeColumn(_input, *columns)


def _input(text: Any, truth: Any, length: Any = NO_LENGTH) -> dict[str, Any]:
    if length is NO_LENGTH:
        length = len(str(text).split())
    return {"response": text, RESPONSE_LENGTH: length, "ground_truth": truth}


REWARD_TYPES = {"batch": Functions, "sequential": Function}
TYPE_OF_PARAMETER = {"reward_inputs": "batch", "reward_input": "sequential"}
"""Name of the only argument -> reward type, for files without REWARD_TYPE."""


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose both ways for a function with such an argument or a REWARD_TYPE."""
    names = required_parameters(value)
    if isinstance(value, type) or len(names) != 1:
        return []
    (name,) = names
    declared = getattr(value, "__globals__", {}).get("REWARD_TYPE")
    if not declared and name not in TYPE_OF_PARAMETER:
        return []
    likely = TYPE_OF_PARAMETER.get(name, "batch")
    if declared in REWARD_TYPES:
        likely = declared
    mapping = {
        "response": "completion",
        RESPONSE_LENGTH: "the words of completion",
        "ground_truth": "ground_truth",
    }
    if any(RESPONSE_LENGTH in row for row in rows):
        mapping[RESPONSE_LENGTH] = RESPONSE_LENGTH
    proposals = []
    reason = f"it takes {name}"
    for way in sorted(REWARD_TYPES, key=lambda way: way != likely):
        adapter = REWARD_TYPES[way](value, needs=("completion",))
        proposals.append(
            TrainerReading(reason, adapter, mapping, main="overall", sure=True, way=way)
        )
    return proposals


class ComputeScore(RewardHolder):
    """The reward as a function of a list of dicts, with the same keys for each."""

    def __call__(
        self, reward_inputs: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, float]]:
        """Return dicts of ``overall``, ``judged`` (0.0: no reward) and the scores."""
        rows = []
        for reward_input in reward_inputs:
            row = {"completion": reward_input["response"]}
            for name in ("ground_truth", RESPONSE_LENGTH):
                row[name] = reward_input.get(name)
            rows.append(row)
        return self.dicts(rows, main="overall")


functions = ComputeScore


def call(path: Path, code: TrainerCode, rows: Sequence[Row]) -> TrainerValues:
    """Call the file by a copy of the lines of `compute_reward_batch`."""
    caller = "a copy in small of compute_reward_batch (EasyR1 has no wheel)"
    rewards = import_file(path).compute_score(list(_inputs(RowColumns.of(rows))))
    return TrainerValues.of_dicts(caller, rewards, "overall")


EASYR1 = Target(
    name="easyr1",
    title="EasyR1",
    versions="2026-07",
    form='compute_score(reward_inputs) -> [{"overall": float, ...}]',
    readings=readings,
    abilities=Abilities(
        judged=True,
        waits="together",
        columns=("completion", "ground_truth", RESPONSE_LENGTH),
    ),
    functions=functions,
    call=call,
)
