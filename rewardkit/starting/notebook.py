"""The notebook of a new task: the reward on its log and cases, and assertions for nbval and papermill."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardkit.starting.code import parameters_of

__all__ = ["notebook_text"]

TEMPLATE = Path(__file__).parent / "templates" / "task.ipynb"


def notebook_text(name: str, rollouts: str, reading: Mapping[str, Any]) -> str:
    """The notebook as JSON; `rollouts` and the path in `reading` are as they are seen from its folder."""
    notebook = json.loads(TEMPLATE.read_text(encoding="utf-8").replace("TASK", name))
    parameters_of(
        notebook, {name: value for name, value in {**reading, "rollouts": rollouts}.items() if value}
    )
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
