"""Dumps of verl and siiRL, and the training sets of both, which hold no completions.

verl: RayPPOTrainer._write_generations writes <step>.jsonl with input, output, gts, score, step and what the
reward function returned beside the score; trainer v1 adds uid, "{prompt}_{session}_{index}" (0.9.1). siiRL
dumps validations as an array with rank, global_step, data_source, input, output, score, extras (0.2.0).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from rewardkit.errors import RolloutsError
from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.logs.log import Form, Log, first, numeric
from rewardkit.rollouts.logs.table import TABLE
from rewardkit.rollouts.source import Columns, Source

__all__ = ["DUMP", "SIIRL", "TRAINING_SET"]

OWN = ("input", "output", "gts", "step", "global_step", "rank", "data_source", "uid", "request_id", "score")
UID = re.compile(r"(.+)_\d+_\d+")
"""The key of a row in verl's trainer v1: the prompt's id and two numbers."""


def _is_dump(columns: Columns) -> bool:
    return {"input", "output", "score"} <= columns.keys() and bool({"step", "global_step"} & columns.keys())


def _read(source: Source, keep: Collection[str]) -> Log:
    beside = [name for name in source.columns if name not in {*OWN, *keep}]
    numbers = [name for name in beside if numeric(source.columns[name])]
    keys = [UID.fullmatch(str(uid)) for uid in source.columns.get("uid", ())]
    if keys and all(keys):
        ids = {"rollout_id": [key[0] for key in keys if key], "prompt_id": [key[1] for key in keys if key]}
        others = {name: cells for name, cells in source.columns.items() if name != "uid"}
        source = replace(source, columns={**others, **ids})
    return Log(source, {"score": 1.0, **dict.fromkeys(numbers, 0.0)}, beside=beside, total="score")


def _is_training_set(columns: Columns) -> bool:
    return (
        "prompt" in columns
        and isinstance(first(columns.get("reward_model", ())), Mapping)
        and not {"messages", *ALIASES["completion"]} & columns.keys()
    )


def _refused(source: Source, keep: Collection[str]) -> Log:
    if keep:  # a person says where the completions are
        return TABLE.read(source, keep)
    raise RolloutsError(
        "this is a training set of verl or siiRL (prompt, reward_model ...): it has no completions; give the "
        "log of a run as the rollouts and join this to it, with --join on the command line or join= in Python"
    )


SIIRL = Form("siiRL validation dump", lambda columns: _is_dump(columns) and "rank" in columns, _read)
DUMP = Form("verl rollout dump", _is_dump, _read)
TRAINING_SET = Form("training set of verl or siiRL", _is_training_set, _refused)
