"""Cases: which of them the reward meets, and why the others are missed; run again on a click."""

from __future__ import annotations

from collections.abc import Sequence

import ipywidgets as widgets

from rewardkit.errors import InputError
from rewardkit.html import markup
from rewardkit.html.excerpts import one_line
from rewardkit.notebook.workbench.bench import Bench
from rewardkit.notebook.workbench.parts import Message, Panel, button, classed
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.cases import Case, CheckResult, Miss, check

__all__ = ["CaseTable"]

SHOWN = 100
"""Cases in the table at a time."""
TEXT = 160  # characters of a completion in the table
SHOW = {"all": "all", "missed": "missed only", "passed": "passed only"}


class CaseTable(Panel):
    """A table of cases, each passed or missed, with the misses explained, to be searched."""

    title = "Cases"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._stale = True
        self.result: CheckResult | None = None
        self.again = button(
            "Run again", "rewardkit-cases-again", self.run, "check the reward against the cases"
        )
        self.search = classed(
            widgets.Text(
                description="text",
                placeholder="in a name, completion or why",
                style={"description_width": "auto"},
                layout={"width": "22em"},
            ),
            "rewardkit-cases-search",
        )
        self.show = classed(
            widgets.Dropdown(
                options=[(label, key) for key, label in SHOW.items()],
                description="show",
                style={"description_width": "auto"},
                layout={"width": "13em"},
            ),
            "rewardkit-cases-show",
        )
        self.message = Message()
        self.table = classed(widgets.HTML(), "rewardkit-cases-table")
        for control in (self.search, self.show):
            control.observe(lambda change: self._draw(), "value")
        controls = widgets.HBox([self.again, self.show, self.search], layout={"flex_flow": "row wrap"})
        self.widget = classed(widgets.VBox([controls, self.message.widget, self.table]), "rewardkit-cases")
        bench.observe(self._changed, ["variant", "revised", "cases_written"])

    def _changed(self, change: object) -> None:
        self._stale = True
        self.refresh()

    def refresh(self) -> None:
        """Check anew if the reward or the cases changed; it waits while the tab is out of sight."""
        if self._stale and self.active:
            self.run()

    def run(self) -> None:
        """Check the reward under the variant against the cases as they are now."""
        self._stale = False
        reward = self.bench.reward
        try:
            cases = self.bench.cases()
            self.result = self._checked(reward, cases)
        except (InputError, OSError) as error:
            self.message.warn(str(error))
            return
        if self.result is None:
            self.message.tell("There are no cases yet: open a completion in Browse and make it one.")
        else:
            failed = self.result.failed
            told = f"{self.result.passed} of {len(cases)} cases passed{f', {failed} missed' * bool(failed)}"
            path = self.bench.cases_path
            say = self.message.warn if failed else self.message.tell
            say(f"{told}{f' ({path})' * bool(path)}.")
        self._draw()

    def _checked(self, reward: Reward, cases: Sequence[Case]) -> CheckResult | None:
        if not cases:
            return None
        return check(reward, cases, ignore=self.bench.ignore, timeout=self.bench.timeout)

    def _draw(self) -> None:
        if self.result is None:
            self.table.value = ""
            return
        misses: dict[str, list[Miss]] = {}
        for miss in self.result.misses:
            misses.setdefault(miss.case, []).append(miss)
        cases = [case for case in self.result.cases if self._wanted(case, case.name in misses)]
        cases.sort(key=lambda case: case.name not in misses)  # those that are missed first
        rows = [_row(case, misses.get(case.name, ())) for case in cases[:SHOWN]]
        header = ("case", "result", "expects", "got", "completion", "truth", "why")
        left = len(cases) - len(rows)
        more = f"<p>{left} more: search for them, or show only those that are missed.</p>" if left else ""
        none = "" if rows else "<p>No case is like this.</p>"
        body = markup.table(header, rows) if rows else ""
        self.table.value = f'<div class="rewardkit-scroll rewardkit-tall">{body}</div>{none}{more}'

    def _wanted(self, case: Case, missed: bool) -> bool:
        if self.show.value != "all" and missed != (self.show.value == "missed"):
            return False
        text = self.search.value.casefold()
        said = (case.name, case.columns.get("completion", ""), case.why)
        return not text or any(text in str(item).casefold() for item in said)


def _row(case: Case, misses: Sequence[Miss]) -> tuple[str, ...]:
    expects = {**({"reward": case.reward} if case.reward else {}), **case.scores}
    told = ", ".join(f"{name} {item.written}" for name, item in expects.items())
    got = "; ".join(f"{miss.what} {miss.got}, not {miss.expected}" for miss in misses)
    if misses and misses[0].fields:
        fields = ", ".join(f"{name} = {value!r}" for name, value in misses[0].fields.items())
        got += f" (fields: {one_line(fields, TEXT)})"
    return (
        case.name,
        "\u2717\u00a0missed" if misses else "\u2713\u00a0passed",
        told,
        got or "as expected",
        one_line(case.columns.get("completion", ""), TEXT),
        one_line(case.columns.get("ground_truth", "-"), TEXT),
        case.why,
    )
