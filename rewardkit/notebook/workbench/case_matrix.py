"""Cases: each held against each component, which of them the reward meets, and why the others are missed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from rewardkit.errors import InputError
from rewardkit.findings import NAMED, most
from rewardkit.html.excerpts import one_line
from rewardkit.html.markup import number
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.parts import Message, Panel, button, control, html, made, row, stack
from rewardkit.scoring.cases import Case, CheckResult, Expected, Miss

__all__ = ["CaseMatrix"]

SHOWN = 100
"""Cases in the matrix at a time."""
TEXT = 160  # characters of a completion
SHOW = {"all": "all", "missed": "missed only", "passed": "passed only"}


class CaseMatrix(Panel):
    """A row a case, a column a component: what is expected is met or missed; a click opens the case."""

    title = "Cases"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.result: CheckResult | None = None
        hint = "check the reward against the cases"
        self.again = button("Run again", "rewardkit-cases-again", self._again, hint)
        looks = {"placeholder": "in a name, completion or why", "width": "22em"}
        self.search = control(widgets.Text, "text", "rewardkit-cases-search", self._draw, **looks)
        options = [(label, key) for key, label in SHOW.items()]
        self.show = control(widgets.Dropdown, "show", "rewardkit-cases-show", self._draw, options=options)
        self.message, self.table = Message(), html("rewardkit-cases-table")
        controls = row(self.again, self.show, self.search)
        self.widget = stack(controls, self.message.widget, self.table, mark="rewardkit-cases")
        bench.commands["open-case"] = self._open
        bench.observe(self.changed, ["variant", "revised", "cases_written"])

    def _again(self) -> None:
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
            told = "There are no cases yet. Make one of a completion in Browse or of a hole in Probes."
            self.message.tell(told)
        else:
            failed, path = self.result.failed, self.bench.cases_path
            told = f"{self.result.passed} of {len(self.result.cases)} cases passed"
            told += f", {failed} missed" * bool(failed)
            if path:
                given = len(self.bench.given)
                told += f" ({given} given, the others in {path})" if given else f" ({path})"
            if left := self.result.left_out:
                names = most([repr(name) for name in left], NAMED)
                told += f"; what they expect of {names} is left out, as this reward has no such component"
            (self.message.warn if failed else self.message.tell)(f"{told}.")
        self._draw()

    def _draw(self) -> None:
        if self.result is None:
            self.table.value = ""
            return
        misses: dict[str, dict[str, Miss]] = {}
        for miss in self.result.misses:
            misses.setdefault(miss.case, {})[miss.what] = miss
        cases = [(at, case) for at, case in enumerate(self.result.cases) if self._wanted(case, misses)]
        cases.sort(key=lambda item: item[1].name not in misses)  # those that are missed first
        expected = {name for case in self.result.cases for name in case.scores}
        names = ["reward"] * any(case.reward is not None for case in self.result.cases)
        names += [name for name in self.bench.reward.names if name in expected]
        rows = [_row(at, case, misses.get(case.name, {}), names) for at, case in cases[:SHOWN]]
        self.table.value = made("matrix", names, rows, len(cases) - len(rows))

    def _wanted(self, case: Case, misses: Any) -> bool:
        if self.show.value != "all" and (case.name in misses) != (self.show.value == "missed"):
            return False
        text = self.search.value.casefold()
        said = (case.name, case.columns.get("completion", ""), case.why)
        return not text or any(text in str(item).casefold() for item in said)

    def _open(self, at: str) -> None:
        if self.result is None or not 0 <= int(at) < len(self.result.cases):
            return
        case = self.result.cases[int(at)]
        missed = [_told(one) for one in self.result.misses if one.case == case.name]
        told = f"Missed: {'; '.join(missed)}" if missed else "It gives what is expected."
        wanted = {"reward": case.reward, **case.scores}
        expects = {name: one.written for name, one in wanted.items() if one is not None}
        about = f"Case {case.name}: {told} {case.why}".strip()
        self.bench.open(Opened(None, case.columns, about, {"name": case.name, "why": case.why, **expects}))


def _row(at: int, case: Case, misses: dict[str, Miss], names: Sequence[str]) -> dict[str, Any]:
    told = list(map(_told, misses.values()))
    if misses and (fields := next(iter(misses.values())).fields):
        took = ", ".join(f"{name} = {value!r}" for name, value in fields.items())
        told.append(f"fields: {one_line(took, TEXT)}")
    expected = {"reward": case.reward, **case.scores}
    return {
        "at": at,
        "name": case.name,
        "missed": bool(misses),
        "cells": [_cell(name, expected.get(name), misses.get(name)) for name in names],
        "told": "; ".join(told) or case.why,
        "text": one_line(case.columns.get("completion", ""), TEXT),
        "truth": one_line(case.columns.get("ground_truth", "-"), TEXT),
        "why": case.why,
    }


def _told(miss: Miss) -> str:
    return f"{miss.what} {miss.got}, not {miss.expected}"


def _cell(name: str, expected: Expected | None, miss: Miss | None) -> tuple[str, str, str]:
    """The kind of a cell, what it says, and what is read of it when the mouse is over it."""
    if expected is None:
        return "none", "", f"{name}: nothing is expected"
    if miss is None:
        return "good", "\u2713", f"{name}: {expected.written} is expected, and it is"
    got, told = number(miss.got), f"{name}: {expected.written} is expected, it gives "
    return "high", f"\u2717 {got.partition(' ')[0]}", told + got
