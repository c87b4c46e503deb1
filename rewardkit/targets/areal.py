"""AReaL's rewards: f(prompt, completions, prompt_ids, completion_ids, **data) -> float.

Source: `RLVRWorkflow` in areal/workflow/rlvr.py and `AsyncRewardWrapper` in
areal/api/reward_api.py of AReaL (2026-09): called for one completion, by position with
the decoded prompt, one text as ``completions`` and the tokens of both, by keyword with
the columns of the data set. They are only read so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardkit.scoring.callers import MadeColumn, RowColumns, copy_column
from rewardkit.targets.adapter import Adapter, Arguments
from rewardkit.targets.columns import (
    Row,
    columns_asked,
    filled_columns,
    named_parameters,
    required_columns,
    uses,
)
from rewardkit.targets.openrlhf import prompt_text
from rewardkit.targets.target import Target, TrainerReading

TOKEN_PARAMETERS = ("prompt_ids", "completion_ids")
"""Names of the parameters after the two texts, whose names are free."""


class Function(Adapter):
    """A function of one prompt and completion, each as text and as tokens."""

    def arguments(self, rows: RowColumns) -> Arguments:
        """Return texts and tokens by position, columns by keyword.

        Tokens that the log lacks are None, as the function does not read them.
        """
        prompts = MadeColumn(prompt_text, rows.column("prompt"))
        positional = [prompts, rows.column("completion")]
        positional += [copy_column(rows.column(name)) for name in TOKEN_PARAMETERS]
        parameters = _own_parameters(self.function)
        return positional, filled_columns(self.function, rows, parameters)


def _own_parameters(function: Any) -> list[str]:
    """Return the names of the parameters that AReaL fills by position."""
    return list(named_parameters(function))[: 2 + len(TOKEN_PARAMETERS)]


def is_areal(function: Any) -> bool:
    """Return whether the third and fourth parameter have AReaL's names of tokens."""
    return tuple(_own_parameters(function)[2:]) == TOKEN_PARAMETERS


def readings(value: Any, rows: Sequence[Row]) -> list[TrainerReading]:
    """Propose a reading of a function that `is_areal` accepts.

    It needs only the tokens that its code reads.
    """
    if isinstance(value, type) or not callable(value) or not is_areal(value):
        return []
    parameters = _own_parameters(value)
    tokens = [name for name in TOKEN_PARAMETERS if uses(value, name)]
    mapping = dict(
        zip(parameters, ("prompt", "completion", *TOKEN_PARAMETERS), strict=True)
    )
    for name in TOKEN_PARAMETERS:
        if name not in tokens:
            mapping[name] = "nothing, as it is not read"
    needs = (*tokens, *required_columns(value, parameters, rows))
    return [
        TrainerReading(
            "it takes prompt_ids and completion_ids behind two texts",
            Function(value, needs=needs),
            mapping | columns_asked(value, parameters, rows),
            sure=True,
        )
    ]


AREAL = Target(
    name="areal",
    title="AReaL",
    versions="2026-09",
    form="f(prompt, completions, prompt_ids, completion_ids, **data) -> float",
    readings=readings,
)
