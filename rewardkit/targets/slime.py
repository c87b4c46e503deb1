"""slime's rewards: async f(args, sample, **kwargs) -> float, or of a list of samples.

Source: `async_rm` and `batched_async_rm` in slime/rollout/rm_hub/__init__.py and
`Sample` in slime/utils/types.py of THUDM/slime (2026-10), for `--custom-rm-path`: the
positional arguments are the options of the command line and a sample, or with
`--group-rm` all samples of a prompt. They are only read so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import SimpleNamespace
from typing import Any

from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.targets.adapter import PAID_KEYS, Adapter, Arguments, values_by_row
from rewardkit.targets.columns import Row, required_parameters
from rewardkit.targets.target import Target, TrainerReading


class Status(Enum):
    """The state of a sample, such as completed or truncated."""

    PENDING = "pending"
    COMPLETED = "completed"
    TRUNCATED = "truncated"
    ABORTED = "aborted"
    FAILED = "failed"


class Sample(SimpleNamespace):
    """A stand-in for slime's Sample, with the values of a log."""

    Status = Status


class CommandLine:
    """A stand-in for the options of slime's command line, all of them unknown."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"it reads args.{name}, an option of slime's command line, which a log "
            "does not have"
        )


def make_sample(row: Row) -> Sample:
    """Return a rollout as a sample of slime; its length in words if not logged."""
    metadata = row.get("metadata")
    text = row.get("completion")
    status = row.get("status")
    if status not in [member.value for member in Status]:
        status = Status.COMPLETED.value
    of_log = {
        "index": None,
        "group_index": None,
        "tokens": [],
        "response_length": len(str(text).split()),
        "loss_mask": None,
        "remove_sample": False,
        **row,
    }
    return Sample(
        **of_log
        | {
            "response": text,
            "prompt": row.get("prompt", ""),
            "label": row.get("ground_truth"),
            "metadata": metadata if isinstance(metadata, Mapping) else dict(row),
            "status": Status(status),
            "reward": None,
        }
    )


class Function(Adapter):
    """A function of the options and a sample."""

    gives_row = True
    makers = (lambda row: CommandLine(), make_sample)


class GroupFunction(Adapter):
    """A function of the options and a list of samples, here those of a group."""

    together = "batch"
    gives_row = True
    result = staticmethod(values_by_row)

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the samples."""
        _, name = required_parameters(self.function)
        return (), {name: MadeColumn(make_sample, rows.rows())}

    def shared(self, rows: RowColumns) -> dict[str, Callable[[int], Any]]:
        """Return the options."""
        return {"args": lambda place: CommandLine()}


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a function of `args` and a `sample`, or `samples`."""
    names = [] if isinstance(value, type) else required_parameters(value)
    if len(names) != 2 or names[0] != "args" or "sample" not in names[1]:
        return []
    kind = GroupFunction if names[1].endswith("s") else Function
    adapter = kind(value, needs=("completion",))
    mapping = {
        "args": "nothing, as a log has no options",
        names[1]: "prompt, completion, ground_truth and the other columns",
    }
    reason = f"it takes args and {names[1]}"
    return [TrainerReading(reason, adapter, mapping, main=PAID_KEYS, sure=True)]


SLIME = Target(
    name="slime",
    title="slime",
    versions="2026-10",
    form="async f(args, sample, **kwargs) -> float, or of a list of samples",
    readings=readings,
)
