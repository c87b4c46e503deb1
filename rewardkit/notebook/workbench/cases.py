"""Cases: a form that makes a case of a completion, and a matrix of all cases."""

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
from rewardkit.notebook.workbench.filters import Sieve
from rewardkit.notebook.workbench.parts import Message, Panel, html, render, stack
from rewardkit.scoring.cases import (
    OWN_KEYS,
    UNSCORED,
    Case,
    CheckResult,
    Expected,
    Miss,
    components_of,
)
from rewardkit.scoring.outcomes import STATUSES

REWARD = "reward"


class CaseForm:
    """A form with expected value, name and why of a case for the open completion."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.is_open = False
        self._shown: Opened | None = None
        self._proposed = ""
        reward = bench.scored.reward
        looks = {item.name for item in reward.all_components if item.group}
        self._of_siblings = {*looks, REWARD} if looks else set()
        self.names = sorted(
            [REWARD, *reward.names], key=lambda name: name in self._of_siblings
        )
        self.given = {
            "what": self.names[0],
            **dict.fromkeys(("expected", "name", "why", "path"), ""),
        }
        self.message, self.form = Message(), html("rewardkit-case-form")
        self.widget = stack(self.form, self.message.widget, mark="rewardkit-case")
        bench.commands |= {
            "case": self._turn,
            "case-set": self.set,
            "case-save": self.add,
        }
        self.draw()

    def _turn(self) -> None:
        """Show the form, or no more."""
        self.is_open = not self.is_open
        self.draw()

    def draw(self) -> None:
        """Draw the form while it is asked for, below the buttons of what is open."""
        self.message.widget.layout.display = "" if self.is_open else "none"
        self.form.value = render(
            "case_form", self._shown is not None, self.is_open, self.names, self.given
        )

    def set(self, name: str, value: str) -> None:
        """Take over what a person wrote; another component is proposed what it gets."""
        self.given[name] = value
        if name == "what":
            self._fill()

    def show(self, opened: Opened | None) -> None:
        """Take over what is open, with what it gets now as what is expected.

        What a person has written for it stays.
        """
        if opened is self._shown:
            if self.given["expected"] == self._proposed:
                self._fill()
            return
        self._shown = opened
        if opened is not None:
            proposed = opened.case or {}
            if opened.row is not None:
                rollout_id = self.bench.scored.table["rollout_id"].iloc[opened.row]
                proposed = {"name": f"rollout {rollout_id}"}
            name, why = (
                str(proposed.get("name", "probed")),
                str(proposed.get("why", "")),
            )
            path = self.given["path"] or self.bench.cases_path or CASE_FILE
            self.given |= {
                "what": self.names[0],
                "name": name,
                "why": why,
                "path": path,
            }
            self.message.clear()
        self._fill()

    def _fill(self) -> None:
        if self._shown is not None:
            self.given["expected"] = self._proposed = self._worth(
                self._shown, self.given["what"]
            )
        self.draw()

    def _worth(self, opened: Opened, name: str) -> str:
        """Propose what to expect of a component or the reward; "" says why not."""
        if opened.row is None:
            value = (opened.case or {}).get(name, "")
            return (
                f"{value[0]:g} to {value[1]:g}"
                if isinstance(value, list)
                else str(value)
            )
        if name in self._of_siblings:
            self.message.tell(
                "A case stands alone: what looks at siblings is not judged in it."
            )
            return UNSCORED[0]
        scores = self.bench.scores
        if name == REWARD:
            value, status = (
                float(scores.table["reward_raw"].iloc[opened.row]),
                "unscored",
            )
            if (
                self.bench.right[0][opened.row] == 0
                and value >= Sieve(self.bench).middle
            ):
                self.message.tell(
                    "This answer is wrong: say what it should earn, such as 0 or "
                    "0 to 0.2."
                )
                return ""
        elif f"score/{name}" in scores.table:
            value, status = (
                float(scores.score(name)[opened.row]),
                STATUSES[scores.status(name)[opened.row]],
            )
        else:
            return ""
        return status if math.isnan(value) else f"{value:.6g}"

    def case(self) -> dict[str, Any]:
        """Return the case as the form stands.

        Raises:
            InputError: no value is expected, or one that cannot be read.
        """
        opened, needs = self._shown, self.bench.scored.reward.needs
        if opened is None:
            raise InputError("no completion is open; open one in Browse first")
        if taken := [name for name in needs if name in OWN_KEYS]:
            raise InputError(
                f"the reward asks for a column {taken[0]!r}, which in a case file says "
                "something of the case itself; rename the column"
            )
        expected, columns = read_expected(self.given["expected"]), dict(opened.columns)
        if (
            opened.row is not None
        ):  # what the reward asks for, and what a person reads, as the log has them
            rollout = self.bench.scored.rollouts[opened.row]
            answer = "completion" if rollout.get("messages") is None else "messages"
            wanted = dict.fromkeys([answer, *needs, "ground_truth", "prompt"])
            given = {name: rollout[name] for name in wanted if name in rollout}
            columns = {
                name: value
                for name, value in given.items()
                if value is not None or name in needs
            }
        what, name = self.given["what"], self.given["name"].strip() or "case"
        asked = {REWARD: expected} if what == REWARD else {"scores": {what: expected}}
        return {"name": name, **columns, **asked, "why": self.given["why"].strip()}

    def add(self) -> None:
        """Write the case; what is wrong is said, and then nothing was written."""
        path = self.given["path"].strip()
        self.message.attempt(
            lambda: self.bench.write_case(self.case(), path), "Not saved: "
        )


def read_expected(text: str) -> Any:
    """Read an expectation: a number, a range (0.5 to 0.8, [0.5, 0.8]), or a status.

    Raises:
        InputError: it is none of these.
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
    if not all(
        isinstance(item, int | float) and not isinstance(item, bool) for item in numbers
    ):
        raise InputError(
            f"{given!r} is nothing that can be expected; give a number, a range such "
            f"as 0.5 to 0.8, or one of {', '.join(UNSCORED)}"
        )
    return value


# --- the matrix

MOST_CASES = 100  # in the matrix at a time
LONGEST_IN_CELL = 160  # characters of a completion
CASE_KINDS = {"all": "all", "missed": "missed only", "passed": "passed only"}


class CaseMatrix(Panel):
    """A row a case, a column a component: what is met and what is missed."""

    title = "Cases"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.result: CheckResult | None = None
        self.asked = {"show": "all", "text": ""}
        self.message, self.table = Message(), html("rewardkit-cases-table")
        self.controls = html("rewardkit-cases-controls")
        self.widget = stack(
            self.controls, self.message.widget, self.table, mark="rewardkit-cases"
        )
        bench.commands |= {
            "check": self.again,
            "cases": self.ask,
            "open-case": self._open,
        }
        bench.observe(self.changed, ["variant", "revised", "cases_written"])
        self.draw_controls()

    def draw_controls(self) -> None:
        """Draw what is asked for."""
        self.controls.value = render("cases_controls", CASE_KINDS, self.asked)

    def ask(self, name: str, value: str) -> None:
        """Show only the cases that a control asks for."""
        self.asked[name] = value
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
        else:
            summary = self._summarize(self.result)
            if self.result.failed:
                self.message.warn(summary)
            else:
                self.message.tell(summary)
        self._draw()

    def _summarize(self, result: CheckResult) -> str:
        """Say how many cases passed, where they are from, and what is left out."""
        summary = f"{result.passed} of {len(result.cases)} cases passed"
        if result.failed:
            summary += f", {result.failed} missed"
        path, given = self.bench.cases_path, len(self.bench.given)
        if path and given:
            summary += f" ({given} given, the others in {path})"
        elif path:
            summary += f" ({path})"
        if result.left_out:
            names = most([repr(name) for name in result.left_out], NAMED)
            summary += (
                f"; what they expect of {names} is left out, as this reward has no "
                "such component"
            )
        return f"{summary}."

    def _draw(self) -> None:
        if self.result is None:
            self.table.value = ""
            return
        misses: dict[str, dict[str, Miss]] = {}
        for miss in self.result.misses:
            misses.setdefault(miss.case, {})[miss.what] = miss
        cases = [
            (at, case)
            for at, case in enumerate(self.result.cases)
            if self._wanted(case, misses)
        ]
        cases.sort(
            key=lambda item: item[1].name not in misses
        )  # those that are missed first
        expected = components_of(self.result.cases)
        names = []
        if any(case.reward is not None for case in self.result.cases):
            names.append("reward")
        names += [name for name in self.bench.reward.names if name in expected]
        rows = [
            _row(at, case, misses.get(case.name, {}), names)
            for at, case in cases[:MOST_CASES]
        ]
        self.table.value = render("matrix", names, rows, len(cases) - len(rows))

    def _wanted(self, case: Case, misses: Any) -> bool:
        show, text = self.asked["show"], self.asked["text"].casefold()
        if show != "all" and (case.name in misses) != (show == "missed"):
            return False
        said = (case.name, case.columns.get("completion", ""), case.why)
        return not text or any(text in str(item).casefold() for item in said)

    def _open(self, at: int) -> None:
        if self.result is None or not 0 <= at < len(self.result.cases):
            return
        case = self.result.cases[at]
        missed = [
            _describe_miss(one) for one in self.result.misses if one.case == case.name
        ]
        told = (
            f"Missed: {'; '.join(missed)}" if missed else "It gives what is expected."
        )
        wanted = {"reward": case.reward, **case.scores}
        expects = {name: one.written for name, one in wanted.items() if one is not None}
        about = f"Case {case.name}: {told} {case.why}".strip()
        self.bench.open(
            Opened(
                None,
                case.columns,
                about,
                {"name": case.name, "why": case.why, **expects},
            )
        )


def _row(
    at: int, case: Case, misses: dict[str, Miss], names: Sequence[str]
) -> dict[str, Any]:
    told = list(map(_describe_miss, misses.values()))
    if misses and (fields := next(iter(misses.values())).fields):
        took = ", ".join(f"{name} = {value!r}" for name, value in fields.items())
        told.append(f"fields: {one_line(took, LONGEST_IN_CELL)}")
    expected = {"reward": case.reward, **case.scores}
    return {
        "at": at,
        "name": case.name,
        "missed": bool(misses),
        "cells": [_cell(name, expected.get(name), misses.get(name)) for name in names],
        "told": "; ".join(told) or case.why,
        "text": one_line(case.columns.get("completion", ""), LONGEST_IN_CELL),
        "truth": one_line(case.columns.get("ground_truth", "-"), LONGEST_IN_CELL),
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
    if miss is None:
        return "good", "\u2713", f"{name}: {expected.written} is expected, and it is"
    got, told = number(miss.got), f"{name}: {expected.written} is expected, it gives "
    return "high", f"\u2717 {got.partition(' ')[0]}", told + got
