"""Comparison: what compare() says of two scored tables, as figures, data and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.analysis.before_after import MOST_CHANGES, BeforeAfter, in_brackets
from rewardkit.analysis.definition_changes import DefinitionChange
from rewardkit.analysis.forecast import LIMITS
from rewardkit.analysis.statistics import Floats
from rewardkit.analysis.statistics.selection import Pair
from rewardkit.findings import SEVERITIES, counted
from rewardkit.html.blocks import Block, Table
from rewardkit.html.pages import More, Page
from rewardkit.plain import to_plain

GRAVE_SEVERITIES = ("high", "warn")
LONGEST_NAME = 60
"""Characters of a change or a case in a line. Our choice."""


@dataclass(frozen=True, eq=False)
class EqualKL:
    """What two rewards select for at equal `kl` of the tilted view.

    `figures` has a `Pair` for each figure that both follow. "reward" and scores are by
    the own reward of each side, so they compare only where the definitions are the
    same; the label, lengths and columns always do. `notes` say what could not be
    compared.
    """

    how: str
    kl: Floats
    figures: Mapping[str, Pair]
    notes: tuple[str, ...]

    @property
    def last(self) -> list[tuple[str, str, str, str]]:
        """Return name, A, B and B minus A where the shorter of the curves ends."""
        if not self.kl.any():
            return []
        rows = []
        for name, pair in self.figures.items():
            difference = _signed(pair.difference[-1])
            difference += in_brackets((pair.low[-1], pair.high[-1]), _signed)
            rows.append((name, f"{pair.a[-1]:.3g}", f"{pair.b[-1]:.3g}", difference))
        return rows


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(BeforeAfter):
    """What differs between two scored tables, A and B: from definition to selection.

    Beside what moved (see `BeforeAfter`) it has the `changes` of the definition, what
    was not the same in the `run` (versions, `ignore_gates`), the `cases` that B passes
    and A fails and the other way round (None where none were given), and in `forecast`
    what each would select for among the matched rows; there "<component> (A)" is what
    A's primary component says of the picks of both.
    """

    changes: tuple[DefinitionChange, ...]
    run: Mapping[str, Any]
    cases: Mapping[str, Any] | None
    forecast: EqualKL

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what to be careful with, a sentence each."""
        views = [*self.a.views, *self.b.views]
        reasons = dict.fromkeys(view.context.why_no_label for view in views)
        unused = [f"the label is not used: {reason}" for reason in reasons if reason]
        return (*super().notes, *unused)

    @property
    def worst_new(self) -> str | None:
        """Return the highest severity that is new in B; a lost case counts as high."""
        severities = {item.severity for item in self.new}
        severities.update(now.severity for _, now in self.worse)
        if self.cases and self.cases["lost"]:
            severities.add("high")
        return min(severities, key=SEVERITIES.index, default=None)

    @property
    def verdict(self) -> str:
        """Return "same", "changed", "gains", "losses" or "gains and losses".

        Gains and losses are of cases, and of findings that are high or warn. They do
        not say which of two rewards is right.
        """
        gained_cases = bool(self.cases and self.cases["gained"])
        is_better = any(item.severity in GRAVE_SEVERITIES for item in self.better)
        words = []
        if is_better or gained_cases:
            words.append("gains")
        if self.worst_new in GRAVE_SEVERITIES:
            words.append("losses")
        if words:
            return " and ".join(words)
        return "changed" if self.changed or self.advantages["changed"] else "same"

    def record(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        sides = {}
        for name, diagnosis in (("a", self.a), ("b", self.b)):
            scores = diagnosis.scores
            sides[name] = {
                "reward": scores.reward.name,
                "rows": len(scores),
                "rollouts": scores.rollouts.source,
                "fingerprints": scores.reward.record()["fingerprints"],
            }
        a, b = sides["a"]["fingerprints"], sides["b"]["fingerprints"]
        graded = [{**now.record(), "before": was.severity} for was, now in self.graded]
        names = ("verdict", "changed", "matching", "notes", "run", "rewards", "cases")
        fields: dict[str, Any] = {name: getattr(self, name) for name in names}
        fields |= sides
        fields |= {
            "training": self.a.training,
            "definition": {
                "same": a["reward"] == b["reward"],
                "same_scoring": a["scoring"] == b["scoring"],
                "changes": self.changes,
            },
            "advantage_sign_changes": self.advantages,
            "rank_agreement": self.ranks,
            "group_signal": self.signal,
            "findings": {"new": self.new, "gone": self.gone, "severity": graded},
            "forecast": {**to_plain(self.forecast), "limits": LIMITS},
        }
        plain: dict[str, Any] = to_plain(fields)
        return plain

    def page(self) -> Page:
        """Return the verdict, what moved, what to do, and folded tables of it."""
        a, b = (repr(side.scores.reward.name) for side in (self.a, self.b))
        rollouts = counted(self.matching["matched"], "rollout")
        notes = [f"Note: {note}" for note in [*self.notes, *self.forecast.notes]]
        limits = []
        if self.forecast.last:
            limits = [f"Limit: {limit}" for limit in LIMITS[1:]]
        blocks: list[Block] = [
            *self._definition_lines(),
            *self.moves,
            *self._selection_lines(),
            *self._case_lines(),
            *self.finding_lines,
            *notes[:MOST_CHANGES],
            f"Next: {self._next_step()}",
            More("", [*notes[MOST_CHANGES:], *limits]),
            *self._tables(),
        ]
        title = f"{self.verdict}: {b} (B) against {a} (A) on {rollouts} that both have"
        return Page(title, blocks)

    def _definition_lines(self) -> list[str]:
        lines = []
        if self.changes:
            count = counted(len(self.changes), "change")
            lines.append(f"Definition: {count}: {_first([*map(str, self.changes)])}")
        for name, (was, now) in self.run.items():
            lines.append(f"{name} was {was} for A, {now} for B")
        return lines or ["Definition: the same"]

    def _selection_lines(self) -> list[str]:
        """Return a line each on the label, both primary components and the length."""
        lines = []
        for name, a, b, difference in self.forecast.last:
            if name in ("label", "words") or name.endswith((" (A)", " (B)")):
                lines.append(f"  {name}: {a} by A, {b} by B, {difference}")
        if not lines:
            return []
        head = f"What each selects for, at a KL of {self.forecast.kl[-1]:.2g} nats:"
        return [head, *lines, f"  Limit: {LIMITS[0]}"]

    def _case_lines(self) -> list[str]:
        cases = self.cases
        if cases is None:
            return []
        passed = ", ".join(
            f"{side.upper()} passes {cases[side]['passed']}"
            for side in "ab"
            if cases[side]
        )
        if cases["reason"]:
            line = f"Cases were not compared: {cases['reason']}"
            return [f"{line}; {passed}" if passed else line]
        parts = [f"Cases: {passed} of {cases['cases']}"]
        for kind in ("lost", "gained"):
            if names := [repr(name) for name in cases[kind]]:
                parts.append(f"{len(names)} {kind} ({_first(names)})")
        return [", ".join(parts)]

    def _next_step(self) -> str:
        if self.cases and self.cases["lost"]:
            return (
                "mend the cases that B loses; rk.explain shows why each is paid what "
                "it is"
            )
        if self.worst_new:
            return (
                "read what is new in B; rk.suggest(comparison.b) measures changes that "
                "answer it"
            )
        if self.verdict == "same":
            return "nothing; B trains as A does"
        largest = [*self.rewards["largest_down"][:2], *self.rewards["largest_up"][:2]]
        ids = ", ".join(repr(row["rollout_id"]) for row in largest)
        return (
            f"read the rollouts that moved most ({ids or 'comparison.table'}); B is "
            "better only where it is right about them"
        )

    def _tables(self) -> list[Table]:
        header = ("A", "B", "B - A")
        changes = [
            (str(item).partition(": ")[0], item.before or "", item.after or "")
            for item in self.changes
        ]
        moved = []
        for row in [*self.rewards["largest_down"], *self.rewards["largest_up"]]:
            numbers = [f"{row[name]:.3g}" for name in ("a", "b", "delta")]
            moved.append((row["rollout_id"], *numbers))
        tables = [
            Table(
                f"{counted(len(changes), 'change')} of the definition",
                ("what", "A", "B"),
                changes,
            ),
            Table("Rollouts that moved most", ("rollout", *header), moved, header),
            Table(
                "What each selects for",
                ("mean of", *header),
                self.forecast.last,
                header,
            ),
        ]
        bad = [*self.new, *(now for _, now in self.worse)]
        for kind, items in (
            ("new or more severe", bad),
            ("gone or less severe", self.better),
        ):
            rows = [(item.severity, item.code, item.sentence) for item in items]
            caption = f"{counted(len(items), 'finding')} {kind}"
            tables.append(Table(caption, ("severity", "finding", "what it says"), rows))
        for kind in ("lost", "gained"):
            names = (self.cases or {}).get(kind) or []
            caption = f"{counted(len(names), 'case')} {kind}"
            tables.append(Table(caption, ("case",), [(name,) for name in names]))
        return tables


def _signed(value: float) -> str:
    return f"{round(value, 4) + 0:+.3g}"


def _first(texts: Sequence[str]) -> str:
    """Return the first few of these texts, cut, and how many more there are."""
    first = []
    for text in texts[:MOST_CHANGES]:
        is_long = len(text) > LONGEST_NAME
        first.append(f"{text[:LONGEST_NAME]}..." if is_long else text)
    more = len(texts) - MOST_CHANGES
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")
