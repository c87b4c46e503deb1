"""OpenAI's Python graders, grade(sample, item) -> float, which are only read.

Source: the graders guide of OpenAI's API (2025-05-08 image). A grader is one file under
256 kB that runs without a network beside a fixed list of packages. rewardkit is not
among them, so that no reward of ours could run there unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rewardkit.scoring.callers import MadeColumn, RowColumns
from rewardkit.targets.adapter import Adapter, Arguments
from rewardkit.targets.columns import AliasedRow, Row, required_parameters
from rewardkit.targets.target import Target, TrainerReading


class Grader(Adapter):
    """A function of a sample and of a row of the data set."""

    gives_row = True

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return the samples, and the rows with all aliases of their columns."""
        samples = MadeColumn(_sample, rows.column("completion"))
        return [samples, rows.rows(AliasedRow)], {}


def _sample(text: Any) -> dict[str, Any]:
    """Return a completion as a sample, with its text also parsed as JSON."""
    choices = [{"index": 0, "message": {"role": "assistant", "content": text}}]
    return {
        "output_text": text,
        "output_json": _read_json(text),
        "output_tools": [],
        "choices": choices,
    }


def _read_json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a function of exactly `sample` and `item`."""
    if isinstance(value, type) or required_parameters(value) != ["sample", "item"]:
        return []
    mapping = {'sample["output_text"]': "completion", "item": "all columns"}
    reason = "it takes sample and item"
    return [
        TrainerReading(reason, Grader(value, needs=("completion",)), mapping, sure=True)
    ]


OPENAI = Target(
    name="openai",
    title="OpenAI's graders",
    versions="2025-05",
    form="grade(sample, item) -> float",
    readings=readings,
)
