"""The tab Cases: a matrix of all cases; and the form that makes a case in Browse."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from rewardkit.errors import InputError
from rewardkit.findings import NAMED, most
from rewardkit.html.excerpts import one_line
from rewardkit.html.markup import number
from rewardkit.notebook.workbench.bench import CASE_FILE, Bench, Opened
from rewardkit.notebook.workbench.parts import Message, Panel, html, render, stack
from rewardkit.scoring.cases import EXPECTED_STATUSES, OWN_KEYS, Case, Expected
from rewardkit.scoring.check import CheckResult, Miss, components_of
from rewardkit.scoring.outcomes import STATUSES

REWARD = "reward"


class CaseForm:
    """A form with expected value, name and why of a case for the open completion.

    `fields` are its fields by name; "what" is the component that it expects of.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.is_open = False
        self._completion: Opened | None = None
        self._proposed = ""
        reward = bench.scored.reward
        self._of_siblings = {item.name for item in reward.all_components if item.group}
        if self._of_siblings:
            self._of_siblings.add(REWARD)
        names = [REWARD, *reward.names]
        self.names = sorted(names, key=lambda name: name in self._of_siblings)
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
        """Draw the form while it is open, below the buttons of the open completion."""
        self.message.widget.layout.display = "" if self.is_open else "none"
        can_open = self._completion is not None
        body = render("case_form", can_open, self.is_open, self.names, self.fields)
        self.form.value = body

    def set(self, name: str, value: str) -> None:
        """Take over what a person wrote; another component is proposed what it gets."""
        self.fields[name] = value
        if name == "what":
            self._fill()

    def show(self, opened: Opened | None) -> None:
        """Take over what is open, with what it gets now as what is expected.

        What a person has written for it stays.
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
        """Propose what to expect of a component or the reward; with "" say why not."""
        if opened.row is None:
            value = (opened.case or {}).get(name, "")
            if isinstance(value, list):
                return f"{value[0]:g} to {value[1]:g}"
            return str(value)
        if name in self._of_siblings:
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

    def case(self) -> dict[str, Any]:
        """Return the case as it is in the form.

        Raises:
            InputError: no value is expected, or one that cannot be read.
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
        expected: Any = read_expected(self.fields["expected"])
        component = self.fields["what"]
        scores = {component: expected}
        return {
            "name": self.fields["name"].strip() or "case",
            **(opened.columns if opened.row is None else self._columns(opened.row)),
            **(scores if component == REWARD else {"scores": scores}),
            "why": self.fields["why"].strip(),
        }

    def _columns(self, row: int) -> dict[str, Any]:
        """Return what the reward asks for and a person reads, as the log has it."""
        needs = self.bench.scored.reward.needs
        rollout = self.bench.scored.rollouts[row]
        answer = "completion" if rollout.get("messages") is None else "messages"
        columns = {}
        for name in dict.fromkeys([answer, *needs, "ground_truth", "prompt"]):
            if name in rollout and (rollout[name] is not None or name in needs):
                columns[name] = rollout[name]
        return columns

    def add(self) -> None:
        """Write the case; what is wrong is said, and then nothing was written."""
        path = self.fields["path"].strip()
        self.message.attempt(
            lambda: self.bench.write_case(self.case(), path), "Not saved: "
        )


def read_expected(text: str) -> Any:
    """Read an expectation: a number, a range (0.5 to 0.8, [0.5, 0.8]), or a status.

    Raises:
        InputError: it is none of these.
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
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise InputError(
                f"{text!r} is nothing that can be expected; give a number, a range "
                f"such as 0.5 to 0.8, or one of {', '.join(EXPECTED_STATUSES)}"
            )
    return value


# --- the matrix

MOST_CASES = 100  # in the matrix at a time
LONGEST_IN_MATRIX = 160  # characters of a completion
CASE_KINDS = {"all": "all", "missed": "missed only", "passed": "passed only"}
Misses = dict[str, Miss]
"""Component -> its missed expectation, of one case."""


class CaseMatrix(Panel):
    """A row a case, a column a component: what is met and what is missed."""

    title = "Cases"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.result: CheckResult | None = None
        self.filter = {"show": "all", "text": ""}
        self.message = Message()
        self.table = html("rewardkit-cases-table")
        self.controls = html("rewardkit-cases-controls")
        panes = (self.controls, self.message.widget, self.table)
        self.widget = stack(*panes, mark="rewardkit-cases")
        bench.commands |= {
            "check": self.again,
            "cases": self.ask,
            "open-case": self._open,
        }
        bench.observe(self.changed, ["variant", "revised", "cases_written"])
        self.draw_controls()

    def draw_controls(self) -> None:
        """Draw the filter of the cases."""
        self.controls.value = render("cases_controls", CASE_KINDS, self.filter)

    def ask(self, name: str, value: str) -> None:
        """Show only the cases that a control asks for."""
        self.filter[name] = value
        self._draw()

    def again(self) -> None:
        """Read the cases again, and check the reward against them."""
        self.bench.forget()
        self.show_anew()

    def show_anew(self) -> None:
        """Check the reward under the variant against the cases as they are now."""
        try:
            self.result = self.bench.checked
        except (InputError, OSError) as error:
            self.message.warn(str(error))
            return
        if self.result is None:
            self.message.tell(
                "There are no cases yet. Make one of a completion in Browse or of a "
                "hole in Probes."
            )
        elif self.result.failed:
            self.message.warn(self._summarize(self.result))
        else:
            self.message.tell(self._summarize(self.result))
        self._draw()

    def _summarize(self, result: CheckResult) -> str:
        """Say how many cases passed, where they are from, and what is left out."""
        summary = f"{result.passed} of {len(result.cases)} cases passed"
        if result.failed:
            summary += f", {result.failed} missed"
        path = self.bench.cases_path
        listed = len(self.bench.listed_cases)
        if path and listed:
            summary += f" ({listed} given, the others in {path})"
        elif path:
            summary += f" ({path})"
        if result.left_out:
            names = most(sorted(map(repr, result.left_out)), NAMED)
            summary += (
                f"; what they expect of {names} is left out, as this reward has no "
                "such component"
            )
        return f"{summary}."

    def _draw(self) -> None:
        if self.result is None:
            self.table.value = ""
            return
        misses: dict[str, Misses] = {}
        for miss in self.result.misses:
            misses.setdefault(miss.case, {})[miss.what] = miss
        cases = []
        for at, case in enumerate(self.result.cases):
            if self._is_asked_for(case, case.name in misses):
                cases.append((at, case))
        cases.sort(key=lambda item: item[1].name not in misses)  # missed ones first
        expected = components_of(self.result.cases)
        names = [name for name in self.bench.reward.names if name in expected]
        if any(case.reward is not None for case in self.result.cases):
            names.insert(0, REWARD)
        rows = []
        for at, case in cases[:MOST_CASES]:
            rows.append(_matrix_row(at, case, misses.get(case.name, {}), names))
        self.table.value = render("matrix", names, rows, len(cases) - len(rows))

    def _is_asked_for(self, case: Case, is_missed: bool) -> bool:
        show = self.filter["show"]
        text = self.filter["text"].casefold()
        if show != "all" and is_missed != (show == "missed"):
            return False
        texts = (case.name, case.columns.get("completion", ""), case.why)
        return any(text in str(item).casefold() for item in texts)

    def _open(self, at: int) -> None:
        if self.result is None or not 0 <= at < len(self.result.cases):
            return
        case = self.result.cases[at]
        misses = [miss for miss in self.result.misses if miss.case == case.name]
        outcome = "It gives what is expected."
        if misses:
            outcome = f"Missed: {'; '.join(map(_describe_miss, misses))}"
        about = f"Case {case.name}: {outcome} {case.why}".strip()
        proposed = {"name": case.name, "why": case.why}
        for name, expected in _expectations(case).items():
            proposed[name] = expected.written
        self.bench.open(Opened(None, case.columns, about, proposed))


def _expectations(case: Case) -> dict[str, Expected]:
    """Return what a case expects, by component."""
    if case.reward is None:
        return dict(case.scores)
    return {REWARD: case.reward, **case.scores}


def _matrix_row(
    at: int, case: Case, misses: Misses, names: Sequence[str]
) -> dict[str, Any]:
    remarks = list(map(_describe_miss, misses.values()))
    for miss in list(misses.values())[:1]:
        if miss.fields:
            texts = [f"{name} = {value!r}" for name, value in miss.fields.items()]
            remarks.append(f"fields: {one_line(', '.join(texts), LONGEST_IN_MATRIX)}")
    expected = _expectations(case)
    return {
        "at": at,
        "name": case.name,
        "missed": bool(misses),
        "cells": [_cell(name, expected.get(name), misses.get(name)) for name in names],
        "remark": "; ".join(remarks) or case.why,
        "text": one_line(case.columns.get("completion", ""), LONGEST_IN_MATRIX),
        "truth": one_line(case.columns.get("ground_truth", "-"), LONGEST_IN_MATRIX),
        "why": case.why,
    }


def _describe_miss(miss: Miss) -> str:
    return f"{miss.what} {miss.got}, not {miss.expected}"


def _cell(
    name: str, expected: Expected | None, miss: Miss | None
) -> tuple[str, str, str]:
    """Return the kind of a cell, its text, and its title under the mouse."""
    if expected is None:
        return "none", "", f"{name}: nothing is expected"
    title = f"{name}: {expected.written} is expected"
    if miss is None:
        return "good", "\u2713", f"{title}, and it is"
    got = number(miss.got)
    short = miss.status.get(name, "unscored") if miss.reason else got
    return "high", f"\u2717 {short}", f"{title}, it gives {got}"
