"""The form that makes the open completion a case: what is expected of it, and why."""

from __future__ import annotations

import json
import math
from typing import Any

import ipywidgets as widgets

from rewardkit.errors import InputError
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.filters import Sieve
from rewardkit.notebook.workbench.parts import Message, Panel, button, control, row, stack
from rewardkit.scoring.cases import OWN_KEYS, UNSCORED
from rewardkit.scoring.outcomes import STATUSES

__all__ = ["CaseForm", "read_expected"]

REWARD = "reward"
TEXTS = (
    ("value", "expected", "1.0, or 0.5 to 0.8, or gated", "18em"),
    ("name", "name", "a name of its own", "20em"),
    ("why", "why", "what this case is about", "30em"),
    ("file", "path", "cases.jsonl", "20em"),
)
"""What is typed: its label, its mark, an example, its width."""


class CaseForm(Panel):
    """Expected value, name and why of a case for what is open; it is added to the case file as one line."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._shown: Opened | None = None
        self._proposed = ""
        reward = bench.scored.reward
        looks = {item.name for inner in reward.inner for item in inner.components if item.group}
        self._of_siblings = {*looks, REWARD} if looks else set()
        names = sorted([REWARD, *reward.names], key=lambda name: name in self._of_siblings)
        what = {"options": names, "tooltip": "what the case expects of"}
        self.what = self.control(widgets.Dropdown, "expects of", "rewardkit-case-what", self._fill, **what)
        self.expected, self.name, self.why, self.path = (
            control(widgets.Text, name, f"rewardkit-case-{mark}", placeholder=hint, width=width)
            for name, mark, hint, width in TEXTS
        )
        self.path.value = bench.cases_path
        hint = "one line at the end of the file"
        self.save = button("Add to the cases", "rewardkit-case-save", self.add, hint)
        self.message = Message()
        opener, hint = widgets.ToggleButton, "key c: the form of a case"
        self.opener = control(opener, "Make this a case", "rewardkit-case-open", self._turn, tooltip=hint)
        first, second = row(self.what, self.expected, self.name), row(self.why, self.path, self.save)
        self.widget = stack(first, second, self.message.widget, mark="rewardkit-case").add_class(
            "rk-bench-form"
        )
        self._turn()

    def _turn(self) -> None:
        """Show the form while it is asked for and a completion is open."""
        self.opener.disabled = self._shown is None
        self.widget.layout.display = "" if self.opener.value and self._shown is not None else "none"

    def show(self, opened: Opened | None) -> None:
        """Take over what is open, with what it gets now as what is expected.

        What a person has written for it stays.
        """
        if opened is self._shown:
            if self.expected.value == self._proposed:
                self._fill()
            return
        self._shown = opened
        self._turn()
        if opened is None:
            return
        proposed = opened.case or {"name": "probed"}
        if opened.row is not None:
            proposed = {"name": f"rollout {self.bench.scored.table['rollout_id'].iloc[opened.row]}"}
        self.name.value, self.why.value = str(proposed["name"]), str(proposed.get("why", ""))
        self.message.clear()
        with self._set():
            self.what.index = 0
        self._fill()

    def _fill(self) -> None:
        if self._shown is not None:
            self.expected.value = self._proposed = self._worth(self._shown, self.what.value)

    def _worth(self, opened: Opened, name: str) -> str:
        """What is proposed to expect of a component, or of the reward; it says why where that is nothing."""
        if opened.row is None:
            value = (opened.case or {}).get(name, "")
            return f"{value[0]:g} to {value[1]:g}" if isinstance(value, list) else str(value)
        if name in self._of_siblings:
            self.message.tell("A case stands alone: what looks at siblings is not judged in it.")
            return UNSCORED[0]
        scores = self.bench.scores
        if name == REWARD:
            value, status = float(scores.table["reward_raw"].iloc[opened.row]), "unscored"
            if self.bench.right[0][opened.row] == 0 and value >= Sieve(self.bench).middle:
                self.message.tell("This answer is wrong: say what it should earn, such as 0 or 0 to 0.2.")
                return ""
        elif f"score/{name}" in scores.table:
            value, status = float(scores.score(name)[opened.row]), STATUSES[scores.status(name)[opened.row]]
        else:
            return ""
        return status if math.isnan(value) else f"{value:.6g}"

    def case(self) -> dict[str, Any]:
        """The case as the form stands. InputError: no value is expected, or one that cannot be read."""
        opened, needs = self._shown, self.bench.scored.reward.needs
        if opened is None:
            raise InputError("no completion is open; open one in Browse first")
        if taken := [name for name in needs if name in OWN_KEYS]:
            raise InputError(
                f"the reward asks for a column {taken[0]!r}, which in a case file says something of the case "
                "itself; rename the column"
            )
        expected, columns = read_expected(self.expected.value), dict(opened.columns)
        if opened.row is not None:  # what the reward asks for, and what a person reads, as the log has them
            rollout = self.bench.scored.rollouts[opened.row]
            answer = "completion" if rollout.get("messages") is None else "messages"
            wanted = dict.fromkeys([answer, *needs, "ground_truth", "prompt"])
            given = {name: rollout[name] for name in wanted if name in rollout}
            columns = {name: value for name, value in given.items() if value is not None or name in needs}
        asked = {REWARD: expected} if self.what.value == REWARD else {"scores": {self.what.value: expected}}
        name = self.name.value.strip() or "case"
        return {"name": name, **columns, **asked, "why": self.why.value.strip()}

    def add(self) -> None:
        """Write the case; what is wrong is said, and then nothing was written."""
        path = self.path.value.strip()
        self.message.attempt(lambda: self.bench.write_case(self.case(), path), "Not saved: ")


def read_expected(text: str) -> Any:
    """What a person wrote as an expectation: a number, a range as "0.5 to 0.8" or "[0.5, 0.8]", or a status.

    InputError: none of these.
    """
    given = text.strip()
    if given in UNSCORED:
        return given
    try:
        low, to, high = given.partition(" to ")
        value = [float(low), float(high)] if to else json.loads(given)
    except ValueError:
        value = None
    numbers = value if isinstance(value, list) and len(value) == 2 else [value]
    if not all(isinstance(item, int | float) and not isinstance(item, bool) for item in numbers):
        raise InputError(
            f"{given!r} is nothing that can be expected; give a number, a range such as 0.5 to 0.8, or one "
            f"of {', '.join(UNSCORED)}"
        )
    return value
