"""OpenAI's Python graders, grade(sample, item) -> float, which are only read.

Source: the graders guide of OpenAI's API (2025-05-08 image). A grader is one file under
256 kB that runs without a network beside a fixed list of packages. rewardkit is not
among them, so that no reward of ours could run there unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from rewardkit.targets.adapter import Adapter, Arguments
from rewardkit.targets.columns import Row, required_parameters, with_aliases
from rewardkit.targets.target import Target, TrainerReading


class Grader(Adapter):
    """A function of what was sampled and of the data set's row."""

    def arguments(self, rollout: Row) -> Arguments:
        """Return the sample, its text also as JSON, and the row under all its names."""
        text = rollout.get("completion")
        choices = [{"index": 0, "message": {"role": "assistant", "content": text}}]
        sample = {
            "output_text": text,
            "output_json": _read_json(text),
            "output_tools": [],
            "choices": choices,
        }
        item = {
            "reference_answer": rollout.get("ground_truth"),
            **with_aliases(rollout),
        }
        return [sample, deepcopy(item)], {}


def _read_json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Return the reading of a function of exactly these two."""
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
