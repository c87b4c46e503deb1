"""Read text dumps of AReaL: <version>/<query_id>.txt with several rollouts.

Source: `arun_episode` of `RLVRWorkflow` in areal/workflow/rlvr.py and of its sibling
workflows, with `dump_dir`. A rollout is a line with its number, tokens and reward, then
the prompt and the completion, each colored by colorama. Only the data set has the
answer, under the same query_id, id or qid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError
from rewardkit.plain import Record
from rewardkit.rollouts.logs.log import Form, scored_table
from rewardkit.rollouts.values import Place, SourceRows

ROLLOUT_HEAD = re.compile(
    r"^idx: \d+(?: / \d+)?, seqlen: \d+, reward is (.+)\.\nprompt is ?\n", re.MULTILINE
)
ROLLOUT_TEXTS = re.compile(
    r"(?:\x1b\[33m\x1b\[2m)?(.*?)(?:\x1b\[0m)?\nsequence is: ?\n"
    r"(?:\x1b\[33m\x1b\[2m(.*)\x1b\[0m.*|(.*))",
    re.DOTALL,
)
"""Prompt and completion of a rollout, with or without their colors."""

AREAL_DUMP = Form("AReaL text dump", scored_table, join_key="query_id")


def read_areal_dump(path: Path) -> SourceRows:
    """Read the rollouts of a prompt; the folder's name, the model version, is the step.

    RolloutsError: the file is not such a dump.
    """
    _, *pieces = ROLLOUT_HEAD.split(path.read_bytes().decode())
    if not pieces:
        raise RolloutsError(
            f"{str(path)!r} ends in '.txt' and is no dump of AReaL, the only text that "
            "rollouts are read from"
        )
    columns: Record = {"query_id": path.stem, "prompt_id": path.stem}
    if path.parent.name.isdecimal():
        columns["step"] = int(path.parent.name)
    return SourceRows.of_rows(_rows(pieces, columns), form=AREAL_DUMP.name)


def _rows(pieces: list[str], columns: Record) -> Iterator[tuple[Place, Any]]:
    rewards_and_texts = zip(pieces[::2], pieces[1::2], strict=True)
    for number, (reward, rollout) in enumerate(rewards_and_texts, start=1):
        texts = ROLLOUT_TEXTS.fullmatch(rollout)
        row: Any = ValueError("has no sequence behind its prompt")
        if texts:
            prompt, colored, plain = texts.groups()
            completion = plain.rstrip("\n") if colored is None else colored
            scored = {"reward": _number(reward), "completion": completion}
            row = {**columns, "prompt": prompt, **scored}
        yield Place(number), row


def _number(reward: str) -> Any:
    """Return a reward as a number; any other text stays as it is."""
    try:
        return json.loads(reward.lower())
    except ValueError:
        return reward
