"""The tab Cases: missed and undecided cases, with buttons to decide them."""

from __future__ import annotations

from collections.abc import Sequence

from rewardkit.errors import InputError
from rewardkit.findings import NAMED, counted, most
from rewardkit.html.blocks import Action, Block, Quote, Table
from rewardkit.html.excerpts import UserText, one_line
from rewardkit.html.pages import Page, Point
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.parts import (
    Message,
    Panel,
    html,
    preview_lines,
    render,
    stack,
)
from rewardkit.scoring.case_updates import Update, propose_updates
from rewardkit.scoring.cases import Case
from rewardkit.scoring.check_result import (
    ABOVE,
    BELOW,
    DROPPED,
    EQUAL,
    REWARD,
    CheckResult,
)

LONGEST_MISSED = 330  # characters of the completion of a missed case
CASES_LISTED = 100  # most passed, and most undecided, cases shown


def _show_case(
    severity: str, case: Case, sentence: str, buttons: Sequence[Action]
) -> Point:
    """Return a case with its completion, or both completions of an order."""
    texts = [str(row.get("completion", "")) for row in case.rows]
    if len(texts) == 1:
        quote = Quote("", texts[0], {}, LONGEST_MISSED)
    else:
        above, below = (preview_lines(text, LONGEST_MISSED) for text in texts)
        text = f"above:\n{above}\n\nbelow:\n{below}"
        quote = Quote("", text, {}, len(text))
    return Point(severity, case.name, sentence, case.why, "", [quote], actions=buttons)


class Cases(Panel):
    """The tab with missed, undecided and passed cases."""

    title = "Cases"

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.result: CheckResult | None = None
        self.message = Message()
        again = render(
            "do",
            ["check"],
            "Run again",
            "check the reward against the cases",
            "rewardkit-cases-again",
        )
        self.page = html("rewardkit-cases-page")
        panes = (html("rewardkit-cases-bar", again), self.message.widget, self.page)
        self.widget = stack(*panes, mark="rewardkit-cases")
        bench.commands |= {
            "check": self.again,
            "open-case": self._open,
            "case-accept": self._accept,
        }
        bench.observe(self.changed, ["variant", "revised", "cases_written"])

    def again(self) -> None:
        """Read the cases again, and check the reward against them."""
        self.bench.forget()
        self.show_anew()

    def show_anew(self) -> None:
        """Check the current reward against the current cases."""
        try:
            self.result = self.bench.checked
        except (InputError, OSError) as error:
            self.message.warn(str(error))
            return
        missing = self.bench.missing_cases
        if missing:
            self.message.warn(missing)
        elif self.result is None:
            self.message.tell(
                "There are no cases yet. Make one of a completion in Browse or of a "
                "hole in Probes."
            )
        elif self.result.failed:
            self.message.warn(self._summarize(self.result))
        else:
            self.message.tell(self._summarize(self.result))
        self._show(self.result)

    def _summarize(self, result: CheckResult) -> str:
        """Say how many cases passed, where they are from, and which were ignored."""
        summary = f"{result.passed} of {result.decided} cases passed"
        if result.undecided:
            summary += f", {result.undecided} undecided"
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

    def _show(self, result: CheckResult | None) -> None:
        missed: list[Block] = []
        undecided: list[Block] = []
        passed = []
        cases: Sequence[Case] = ()
        pending = {}
        if result is not None:
            cases = result.cases
            pending = {item.case: item for item in result.to_decide}
        for at, case in enumerate(cases):
            outcome = self._describe_misses(case)
            buttons = self._buttons(case, at)
            if case.name in pending:
                item = pending[case.name]
                sentence = f"Undecided: {item.what} is {item.got} now."
                undecided.append(_show_case("info", case, sentence, buttons))
            elif outcome:
                missed.append(_show_case("high", case, f"{outcome}.", buttons))
            else:
                completion = UserText(case.columns.get("completion", ""))
                passed.append((case.name, completion, case.why))
        header = ("case", "completion", "why")
        caption = f"{counted(len(passed), 'case')} passed"
        table = Table(caption, header, passed, most=CASES_LISTED)
        page = Page("", [*missed, *undecided[:CASES_LISTED], table])
        self.page.value = render("cards", "", page.body)

    def _buttons(self, case: Case, at: int) -> list[Action]:
        """Return the buttons of a case: open it, and write decisions to its file.

        Cases from a list have no file.
        """
        buttons = [Action("Open in Browse", ["open-case", at])]
        if case in self.bench.listed_cases:
            return buttons
        for number, (label, _) in enumerate(self._decisions(case)):
            command = ["case-accept", at, number]
            buttons.append(
                Action(label, command, f"write it to {self.bench.cases_path}")
            )
        return buttons

    def _decisions(self, case: Case) -> list[tuple[str, list[Update]]]:
        """Return the possible decisions on a case: label, and updates to write."""
        if self.result is None:
            return []
        decisions = []
        for item in self.result.to_decide:
            if item.case != case.name:
                continue
            for choice in item.choices:
                label = str(choice).capitalize()
                if choice not in (ABOVE, BELOW, EQUAL, DROPPED):
                    label = f"Accept {choice}"
                update = Update(case.name, item.what, choice)
                decisions.append((label, [update]))
        updates = []
        for update in propose_updates(self.result):
            if update.case == case.name:
                updates.append(update)
        if updates:
            expected = ", ".join(f"{item.part} {item.expected}" for item in updates)
            decisions.append((f"Accept this: {expected}", updates))
        return decisions

    def _accept(self, at: int, number: int) -> None:
        """Write an accepted decision on a case to the case file."""
        if self.result is None or not 0 <= at < len(self.result.cases):
            return
        decisions = self._decisions(self.result.cases[at])
        if 0 <= number < len(decisions):
            try:
                self.bench.update_cases(decisions[number][1])  # redraws the tab
            except InputError as error:
                self.message.warn(f"Not written: {error}")

    def _describe_misses(self, case: Case) -> str:
        """Say which expectations of a case are missed; "" if it passes."""
        misses = []
        if self.result is not None:
            misses = [miss for miss in self.result.misses if miss.case == case.name]
        sentences = [f"{miss.what} {miss.got}, not {miss.expected}" for miss in misses]
        for miss in misses[:1]:
            texts = [f"{name} = {value!r}" for name, value in miss.fields.items()]
            if texts:
                sentences.append(f"fields: {one_line(', '.join(texts), 160)}")
        return "; ".join(sentences)

    def _open(self, at: int) -> None:
        if self.result is None or not 0 <= at < len(self.result.cases):
            return
        case = self.result.cases[at]
        missed = self._describe_misses(case)
        outcome = f"Missed: {missed}." if missed else "It gives what is expected."
        if case.is_undecided:
            outcome = "Undecided."
        about = f"Case {case.name}: {outcome} {case.why}".strip()
        proposed = {"name": case.name, "why": case.why}
        for name, expected in case.scores.items():
            proposed[name] = expected.written
        if case.reward is not None:
            proposed[REWARD] = case.reward.written
        self.bench.open(Opened(None, case.columns, about, proposed))
