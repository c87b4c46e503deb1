"""The notebook of a new task: the reward on its log and cases, and assertions for nbval and papermill."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rewardkit.starting.truths import code_of

__all__ = ["notebook_text"]

READ = """\
import rewardkit as rk
from rewardkit.notebook import display, parameters, plots, tables
from rewardkit.probes.results.asserting import met

parameters.check_parameters(globals())
show = display.Show(redact=redact)
display.begin()"""

LOAD = """\
logged = rk.load_rollouts(rollouts, columns=columns, group=group or None, join=join or None, on=on, fill=fill)
chosen = rk.load_reward(reward)
written = rk.load_cases(cases)
logged"""

DEFINED = """\
## 1. What is paid

The reward is the file: change it there, and run this notebook again from the top."""

FOUND = """\
## 2. Is the answer found?

What each way takes is marked, in the completions where they differ most."""

EXTRACTED = """\
from rewardkit.primitives.extract import Extractor

several = len(chosen.inner) > 1
own = {
    f"{part.name}: {name}" if several else name: field
    for part in chosen.inner
    for name, field in part.fields.items()
    if isinstance(field, Extractor)
}
others = {"number": rk.extract.number(), "boxed": rk.extract.boxed(), "phrase": rk.extract.answer_phrase()}
show.extraction(logged, {**own, **others})"""

SCORED = """\
## 3. What would the log have earned?

Rewards in few places, and groups whose completions all earn the same, teach little."""

CASES = """\
## 4. Is this what you want?

Each case is a completion of the log with what the reward gives now. `TODO` marks what nobody has decided:
read it, put right what is expected where you disagree, write down why, and take the mark away. Then change
the reward until all cases pass."""

LISTED = """\
checked = rk.check(chosen, written)
todo = [case for case in written if case.why.startswith("TODO")]
show.misses(checked)"""

TABLE = """\
show.frame(tables.cases(checked, redact=redact), f"all cases, {len(todo)} of {len(written)} to be decided")"""

CONTRACT = """\
## 5. Does it keep its contract?

The same rows give the same rewards, in any order; every completion gets a number within its time."""

PROBED = """\
found = rk.probe(chosen, logged, only=["contract"], budget=budget)
show.contract(found)"""

SHORT = """\
show.note(
    f"{checked.passed} of {len(written)} cases pass, {len(todo)} are still to be decided.",
    "Next: rewardkit probe looks for what a policy would find, rewardkit diagnose for what would be learned.",
)"""

HELD = """\
# what nbval and papermill hold this notebook to; what is still to be decided is shown above, and no failure
assert len(scores) == len(logged)
assert not checked.misses, repr(checked)
assert not met(found, "high"), repr(found)"""


def notebook_text(name: str, rollouts: str, reading: Mapping[str, Any]) -> str:
    """The notebook as JSON; `rollouts` and the path in `reading` are as they are seen from its folder."""
    question = (
        f"# {name}: does this reward pay for what you want?\n\n"
        f"The reward in `{name}.py` on the completions that it was written from, and on the cases in "
        f"`{name}_cases.jsonl`."
    )
    cells = [
        ("markdown", question),
        ("parameters", _parameters(name, rollouts, reading)),
        ("code", READ),
        ("code", LOAD),
        ("markdown", DEFINED),
        ("code", 'show.frame(tables.definition(chosen), f"the reward {chosen.name!r}")'),
        ("markdown", FOUND),
        ("code", EXTRACTED),
        ("markdown", SCORED),
        ("code", "scores = rk.score(chosen, logged)\nscores"),
        ("code", "plots.reward_histogram(scores);"),
        ("markdown", CASES),
        ("code", LISTED),
        ("code", TABLE),
        ("markdown", CONTRACT),
        ("code", PROBED),
        ("markdown", "## In short"),
        ("code", SHORT),
        ("code", HELD),
    ]
    notebook = {
        "cells": [_cell(number, kind, text) for number, (kind, text) in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _parameters(name: str, rollouts: str, reading: Mapping[str, Any]) -> str:
    """The cell of typed parameters, with the options by which the log is read."""
    lines = [
        ("reward: str", f"{name}.py", "file.py, or file.py:name"),
        ("rollouts: str", rollouts, "a file of completions, a log or its folder, or gallery:name"),
        ("cases: str", f"{name}_cases.jsonl", "a JSONL file of cases"),
        ("columns: dict", dict(reading.get("columns") or {}), "canonical columns taken from others"),
        (
            "group: list",
            list(reading.get("group") or []),
            "columns that make a group; [] takes the usual ones",
        ),
        ("join: str", str(reading.get("join") or ""), 'the data set of the run; "" joins nothing'),
        ("on: str", reading.get("on") or "prompt", "the column that log and data set have in common"),
        ("fill: dict", dict(reading.get("fill") or {}), "constants for what the log lacks"),
        ("budget: float", 30, "seconds for the contract"),
        ("redact: bool", False, "leave out prompts and completions"),
    ]
    return "\n".join(f"{typed} = {_literal(value)}  # {what}" for typed, value, what in lines)


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{code_of(key)}: {code_of(item)}" for key, item in value.items()) + "}"
    return f"[{', '.join(map(code_of, value))}]" if isinstance(value, list) else code_of(value)


def _cell(number: int, kind: str, text: str) -> dict[str, Any]:
    lines = text.splitlines(keepends=True)
    if kind == "markdown":
        return {"cell_type": "markdown", "id": str(number), "metadata": {}, "source": lines}
    metadata = {"tags": ["parameters"]} if kind == "parameters" else {}
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": str(number),
        "metadata": metadata,
        "outputs": [],
        "source": lines,
    }
