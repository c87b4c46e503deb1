"""The form that makes the open completion a case: what is expected of it, and why."""

from __future__ import annotations

import json
import math
from typing import Any

import ipywidgets as widgets

from rewardkit.errors import InputError
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.filters import Sieve
from rewardkit.notebook.workbench.parts import Message, button, classed, control, row
from rewardkit.scoring.cases import OWN_KEYS, UNSCORED
from rewardkit.scoring.outcomes import STATUSES

__all__ = ["CaseForm", "read_expected"]

REWARD = "reward"


class CaseForm:
    """Expected value, name and why of a case for what is open; it is added to the case file as one line."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._opened: Opened | None = None
        self._proposed = ""
        reward = bench.scored.reward
        looks = {item.name for inner in reward.inner for item in inner.components if item.group}
        self._of_siblings = {*looks, REWARD} if looks else set()
        names = sorted([REWARD, *reward.names], key=lambda name: name in self._of_siblings)
        what = {"options": names, "tooltip": "what the case expects of"}
        self.what = control(widgets.Dropdown, "expects of", "rewardkit-case-what", self._fill, **what)
        self.expected = _text("value", "1.0, or 0.5 to 0.8, or gated", "rewardkit-case-expected", "18em")
        self.name = _text("name", "a name of its own", "rewardkit-case-name", "20em")
        self.why = _text("why", "what this case is about", "rewardkit-case-why", "30em")
        self.path = _text("file", "cases.jsonl", "rewardkit-case-path", "20em")
        self.path.value = bench.cases_path
        self.save = button(
            "Add to the cases", "rewardkit-case-save", self.add, "one line at the end of the file"
        )
        self.message = Message()
        self.opener = widgets.ToggleButton(
            description="Make this a case", tooltip="key c: the form of a case"
        )
        classed(self.opener, "rewardkit-case-open").observe(lambda change: self._turn(), "value")
        first = row(self.what, self.expected, self.name)
        rows = [first, row(self.why, self.path, self.save), self.message.widget]
        self.widget = classed(widgets.VBox(rows), "rewardkit-case", "rk-bench-form")
        self._turn()

    def _turn(self) -> None:
        """Show the form while it is asked for and a completion is open."""
        self.opener.disabled = self._opened is None
        shown = self.opener.value and self._opened is not None
        self.widget.layout.display = "" if shown else "none"

    def show(self, opened: Opened | None) -> None:
        """Take over what is open, with what it gets now as what is expected.

        What a person has written for it stays.
        """
        if opened is self._opened:
            if self.expected.value == self._proposed:
                self._fill()
            return
        self._opened = opened
        self._turn()
        if opened is None:
            return
        proposed = opened.case or {}
        if opened.row is not None:
            identity = self.bench.scored.table["rollout_id"].iloc[opened.row]
            self.name.value = f"rollout {identity}"
        else:
            self.name.value = str(proposed.get("name", "probed"))
        self.why.value = str(proposed.get("why", ""))
        self.what.index = 0
        self.message.clear()
        self._fill()

    def _fill(self) -> None:
        self._propose()
        self._proposed = self.expected.value

    def _propose(self) -> None:
        opened = self._opened
        if opened is None:
            return
        if opened.row is None:
            self.expected.value = _written((opened.case or {}).get(self.what.value, ""))
            return
        scores, name = self.bench.scores, self.what.value
        if name in self._of_siblings:
            self.message.tell("A case stands alone: what looks at siblings is not judged in it.")
            self.expected.value = UNSCORED[0]
            return
        if name == REWARD:
            value, status = float(scores.table["reward_raw"].iloc[opened.row]), "unscored"
        elif f"score/{name}" in scores.table:
            value = float(scores.score(name)[opened.row])
            status = STATUSES[scores.status(name)[opened.row]]
        else:
            value, status = math.nan, ""
        wrong = name == REWARD and self.bench.right[0][opened.row] == 0
        if wrong and value >= Sieve(self.bench).middle:
            self.message.tell("This answer is wrong: say what it should earn, such as 0 or 0 to 0.2.")
            self.expected.value = ""
            return
        self.expected.value = status if math.isnan(value) else f"{value:.6g}"

    def case(self) -> dict[str, Any]:
        """The case as the form stands. InputError: no value is expected, or one that cannot be read."""
        opened = self._opened
        if opened is None:
            raise InputError("no completion is open; open one in Browse first")
        taken = [name for name in self.bench.scored.reward.needs if name in OWN_KEYS]
        if taken:
            raise InputError(
                f"the reward asks for a column {taken[0]!r}, which in a case file says something of the case "
                "itself; rename the column"
            )
        expected = read_expected(self.expected.value)
        columns = dict(opened.columns) if opened.row is None else self._columns(opened.row)
        asked = {REWARD: expected} if self.what.value == REWARD else {"scores": {self.what.value: expected}}
        name = self.name.value.strip() or "case"
        return {"name": name, **columns, **asked, "why": self.why.value.strip()}

    def _columns(self, row: int) -> dict[str, Any]:
        """What the reward asks for, with the completion and the truth, as the log has them."""
        rollout = self.bench.scored.rollouts[row]
        text = rollout.get("messages") is None
        wanted = [
            "completion" if text else "messages",
            *self.bench.scored.reward.needs,
            "ground_truth",
            "prompt",
        ]
        return {
            name: rollout[name]
            for name in dict.fromkeys(wanted)
            if name in rollout and (rollout[name] is not None or name in self.bench.scored.reward.needs)
        }

    def add(self) -> None:
        """Write the case; what is wrong is said, and then nothing was written."""
        path = self.path.value.strip()
        try:
            case = self.case()
            added = self.bench.write_case(case, path)
        except InputError as error:
            self.message.warn(f"Not saved: {error}")
        except OSError as error:
            self.message.warn(
                f"Not saved: {path!r} cannot be written ({error.strerror}); the form keeps the case"
            )
        else:
            where = f"in {path}"
            told = (
                f"Saved as {case['name']!r} {where}"
                if added
                else f"A case that expects the same is {where} already"
            )
            self.message.tell(f"{told}.")


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


def _written(value: Any) -> str:
    return f"{value[0]:g} to {value[1]:g}" if isinstance(value, list) else str(value)


def _text(name: str, hint: str, mark: str, width: str) -> Any:
    return control(widgets.Text, name, mark, placeholder=hint, width=width)
