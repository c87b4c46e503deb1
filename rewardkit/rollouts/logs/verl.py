"""Dumps of verl and siiRL: a prompt, an answer and its score a row.

verl: RayPPOTrainer._write_generations writes <step>.jsonl with input, output, gts,
score, step and what the reward function returned beside the score; trainer v1 adds uid,
"{prompt}_{session}_{index}" (0.9.1). siiRL dumps validations as an array with rank,
global_step, data_source, input, output, score, extras (0.2.0).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from rewardkit.rollouts.logs.log import Form, Log, numeric
from rewardkit.rollouts.source import Columns, Source

OWN = (
    "input",
    "output",
    "gts",
    "step",
    "global_step",
    "rank",
    "data_source",
    "uid",
    "request_id",
    "score",
)
UID = re.compile(r"(.+)_\d+_\d+")
"""The key of a row in verl's trainer v1: the prompt's id and two numbers."""


def _is_dump(columns: Columns) -> bool:
    return {"input", "output", "score"} <= columns.keys() and bool(
        {"step", "global_step"} & columns.keys()
    )


def _read(source: Source, keep: Collection[str]) -> Log:
    beside = [name for name in source.columns if name not in {*OWN, *keep}]
    numbers = [name for name in beside if numeric(source.columns[name])]
    keys = [UID.fullmatch(str(uid)) for uid in source.columns.get("uid", ())]
    if keys and all(keys):
        ids = {
            "rollout_id": [key[0] for key in keys if key],
            "prompt_id": [key[1] for key in keys if key],
        }
        others = {
            name: cells for name, cells in source.columns.items() if name != "uid"
        }
        source = replace(source, columns={**others, **ids})
    return Log(
        source,
        {"score": 1.0, **dict.fromkeys(numbers, 0.0)},
        beside=beside,
        total="score",
    )


SIIRL = Form(
    "siiRL validation dump",
    lambda columns: _is_dump(columns) and "rank" in columns,
    _read,
)
DUMP = Form("verl rollout dump", _is_dump, _read)
