"""The form in Browse that turns the open completion into a case."""

from __future__ import annotations

import json
import math
from typing import Any

from rewardkit.errors import InputError
from rewardkit.notebook.workbench.bench import CASE_FILE, Bench, Opened
from rewardkit.notebook.workbench.parts import Message, html, render, stack
from rewardkit.plain import Record, is_number, write_order
from rewardkit.scoring.cases import OWN_KEYS
from rewardkit.scoring.check_result import REWARD
from rewardkit.scoring.expected import EXPECTED_STATUSES, ROUNDING
from rewardkit.scoring.outcomes import STATUSES

ORDER_SIDES = ("above", "below")
"""First word of an expected order, before the rollout_id of a sibling."""

FOUND_ORDER = "the order that was found"
"""Expectation for a pair of completions from a probe: the order in its case."""


class CaseForm:
    """A form for expected value, name and reason of a case for the open completion.

    `fields` has the texts of its fields by name; "what" is the component, or reward,
    of the expectation.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.is_open = False
        self._completion: Opened | None = None
        self._proposed = ""
        reward = bench.scored.reward
        # they compare siblings, which a case lacks
        self._group_names = {item.name for item in reward.all_components if item.group}
        if self._group_names:
            self._group_names.add(REWARD)
        names = [REWARD, *reward.names]
        self.names = sorted(names, key=lambda name: name in self._group_names)
        self.fields = dict.fromkeys(("what", "expected", "name", "why", "path"), "")
        self.fields["what"] = self.names[0]
        self.message = Message()
        self.form = html("rewardkit-case-form")
        self.widget = stack(self.form, self.message.widget, mark="rewardkit-case")
        bench.commands |= {
            "case": self._toggle,
            "case-set": self.set,
            "case-save": self.add,
        }
        self.draw()

    def _toggle(self) -> None:
        self.is_open = not self.is_open
        self.draw()

    def draw(self) -> None:
        """Draw the form if it is open, else only the button that opens it."""
        self.message.widget.layout.display = "" if self.is_open else "none"
        can_open = self._completion is not None
        body = render("case_form", can_open, self.is_open, self.names, self.fields)
        self.form.value = body

    def set(self, name: str, value: str) -> None:
        """Set a field; another component ("what") gets a new proposed expectation."""
        self.fields[name] = value
        if name == "what":
            self._fill()

    def show(self, opened: Opened | None) -> None:
        """Show the form for a completion, with its current score as the expectation.

        Text that a person has written for the same completion is kept.
        """
        if opened is self._completion:
            if self.fields["expected"] == self._proposed:
                self._fill()
            return
        self._completion = opened
        if opened is not None:
            proposed = opened.case or {}
            if opened.row is not None:
                rollout_id = self.bench.scored.table["rollout_id"].iloc[opened.row]
                proposed = {"name": f"rollout {rollout_id}"}
            self.fields["what"] = self.names[0]
            self.fields["name"] = str(proposed.get("name", "probed"))
            self.fields["why"] = str(proposed.get("why", ""))
            path = self.fields["path"] or self.bench.cases_path
            self.fields["path"] = path or CASE_FILE
            self.message.clear()
        self._fill()

    def _fill(self) -> None:
        if self._completion is not None:
            self._proposed = self._propose(self._completion, self.fields["what"])
            self.fields["expected"] = self._proposed
        self.draw()

    def _propose(self, opened: Opened, name: str) -> str:
        """Propose the expectation for a component or the reward, "" if none fits."""
        if opened.row is None:
            proposed = opened.case or {}
            if name == REWARD and "above" in proposed:
                return FOUND_ORDER
            value = proposed.get(name, "")
            if isinstance(value, list):
                return f"{value[0]:g} to {value[1]:g}"
            return str(value)
        if name in self._group_names:
            self.message.tell(
                "A case stands alone: what looks at siblings is not judged in it."
            )
            return EXPECTED_STATUSES[0]
        scores = self.bench.scores
        if name == REWARD:
            score = float(scores.table["reward_raw"].iloc[opened.row])
            status = "unscored"
            is_wrong = self.bench.right[0][opened.row] == 0
            if is_wrong and score >= self.bench.middle:
                self.message.tell(
                    "This answer is wrong: say what it should earn, such as 0 or "
                    "0 to 0.2."
                )
                return ""
        elif f"score/{name}" in scores.table:
            score = float(scores.score(name)[opened.row])
            status = STATUSES[scores.status(name)[opened.row]]
        else:
            return ""
        return status if math.isnan(score) else f"{score:.6g}"

    def case(self) -> Record:
        """Return the case in the form.

        Raises:
            InputError: the expected value is missing or cannot be read; no completion
                is open; a column has the name of a key of cases.
        """
        opened = self._completion
        needs = self.bench.scored.reward.needs
        if opened is None:
            raise InputError("no completion is open; open one in Browse first")
        for name in needs:
            if name in OWN_KEYS:
                raise InputError(
                    f"the reward asks for a column {name!r}, which in a case file says "
                    "something of the case itself; rename the column"
                )
        written = self.fields["expected"].strip()
        side, _, rollout_id = written.partition(" ")
        name = self.fields["name"].strip() or "case"
        why = self.fields["why"].strip()
        component = self.fields["what"]
        if written == FOUND_ORDER and opened.case is not None:
            return {**opened.case, "name": name, "why": why}
        if side in ORDER_SIDES and opened.row is not None:
            order = self._order(opened.row, side, rollout_id.strip())
            if component != REWARD:
                order["component"] = component
            return {"name": name, **order, "why": why}
        scores = {component: read_expected(written)}
        self._check_reachable(component, scores[component])
        return {
            "name": name,
            **(opened.columns if opened.row is None else self._columns(opened.row)),
            **(scores if component == REWARD else {"scores": scores}),
            "why": why,
        }

    def _check_reachable(self, component: str, expected: Any) -> None:
        """Raise an InputError if no completion can get the expected score."""
        what = "the reward" if component == REWARD else repr(component)
        if isinstance(expected, str):
            if component == REWARD and expected != EXPECTED_STATUSES[0]:
                raise InputError(
                    f"{expected!r} is what a component can be, not the reward; give a "
                    f"number, or {EXPECTED_STATUSES[0]}"
                )
            return
        low, high = self.bench.variant.range_of(component)
        ends = expected if isinstance(expected, list) else [expected, expected]
        if ends[1] < low - ROUNDING or ends[0] > high + ROUNDING:
            raise InputError(
                f"{what} is between {low:g} and {high:g} with the weights of the "
                f"panel, and never {self.fields['expected'].strip()}"
            )

    def _order(self, row: int, side: str, rollout_id: str) -> Record:
        """Return the expected order of a row and a sibling, as keys of a case.

        Raises:
            InputError: no sibling has this rollout_id.
        """
        ids = self.bench.scored.table["rollout_id"]
        siblings = {str(ids.iloc[at]): int(at) for at in self.bench.siblings(row)}
        siblings.pop(str(ids.iloc[row]))
        if rollout_id not in siblings:
            raise InputError(
                f"{side} {rollout_id!r} names no sibling of this completion; its "
                f"siblings are {', '.join(siblings) or 'none'}"
            )
        rows = [self._columns(row), self._columns(siblings[rollout_id])]
        if side == "below":
            rows.reverse()
        return write_order(*rows)

    def _columns(self, row: int) -> Record:
        """Return the columns of a row that the reward or a reader of the case needs."""
        needs = self.bench.scored.reward.needs
        rollout = self.bench.scored.rollouts[row]
        answer = "completion" if rollout.get("messages") is None else "messages"
        columns = {}
        for name in dict.fromkeys([answer, *needs, "ground_truth", "prompt"]):
            if name in rollout and (rollout[name] is not None or name in needs):
                columns[name] = rollout[name]
        return columns

    def add(self) -> None:
        """Write the case, or show why nothing was written."""
        path = self.fields["path"].strip()
        self.message.attempt(
            lambda: self.bench.write_case(self.case(), path), "Not saved: "
        )


def read_expected(text: str) -> Any:
    """Read an expectation: a number, a range (0.5 to 0.8, [0.5, 0.8]), or a status.

    The form itself reads an order ("above 12"), as it knows the siblings.

    Raises:
        InputError: anything else.
    """
    text = text.strip()
    if text in EXPECTED_STATUSES:
        return text
    try:
        low, to, high = text.partition(" to ")
        value = [float(low), float(high)] if to else json.loads(text)
    except ValueError:
        value = None
    numbers = value if isinstance(value, list) and len(value) == 2 else [value]
    for item in numbers:
        if not is_number(item):
            raise InputError(
                f"{text!r} is nothing that can be expected; give a number, a range "
                f"such as 0.5 to 0.8, or one of {', '.join(EXPECTED_STATUSES)}; or, of "
                "a sibling, its rollout_id behind above or below"
            )
    return value
