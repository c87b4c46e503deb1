"""compare(): two Scores -> what differs between them, rows matched by `rollout_id`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rewardkit.analysis.before_after import BeforeAfter, before_after
from rewardkit.analysis.case_changes import (
    compare_cases,
    describe_cases,
    first_of,
)
from rewardkit.analysis.definition_changes import DefinitionChange, definition_changes
from rewardkit.analysis.diagnosis import diagnose
from rewardkit.analysis.finding_changes import MOST_CHANGES
from rewardkit.analysis.forecast import Forecast, forecast
from rewardkit.analysis.matching import match_rows
from rewardkit.errors import InputError, preview
from rewardkit.findings import SEVERITIES, counted, short_number
from rewardkit.html.blocks import Block, Table
from rewardkit.html.pages import More, Page
from rewardkit.plain import to_plain
from rewardkit.rewards.training import Training
from rewardkit.scoring.cases import Case
from rewardkit.scoring.scores import Scores

GRAVE_SEVERITIES = ("high", "warn")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(BeforeAfter):
    """What differs between two scored tables, A and B: from definition to selection.

    Beside what moved (see `BeforeAfter`) it has the `changes` of the definition, what
    was not the same in the `run` (versions, `ignore_gates`), the `cases` that B passes
    and A fails and the other way round (None where none were given), and in `forecasts`
    what training would make of each side, of all its rows.
    """

    changes: tuple[DefinitionChange, ...]
    run: Mapping[str, Any]
    cases: Mapping[str, Any] | None

    @cached_property
    def forecasts(self) -> tuple[Forecast, Forecast]:
        """Return the forecasts of A and of B, rehearsed when they are looked at."""
        return forecast(self.a), forecast(self.b)

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
        severities = {item.severity for item in self.findings.new_or_worse}
        if self.cases and self.cases["lost"]:
            severities.add("high")
        return min(severities, key=SEVERITIES.index, default=None)

    @property
    def verdict(self) -> str:
        """Return "same", "changed", "gains", "losses" or "gains and losses".

        Gains and losses are of cases, and of findings that are high or warn. They do
        not say which of two rewards is right.
        """
        words = []
        if self.cases and self.cases["gained"]:
            words.append("gains")
        elif any(item.severity in GRAVE_SEVERITIES for item in self.findings.better):
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
        graded = [
            {**now.record(), "before": was.severity}
            for was, now in self.findings.graded
        ]
        plain: dict[str, Any] = to_plain(
            {
                "verdict": self.verdict,
                "changed": self.changed,
                "matching": self.matching,
                "notes": self.notes,
                "run": self.run,
                "rewards": self.rewards,
                "cases": self.cases,
                **sides,
                "training": self.a.training,
                "definition": {
                    "same": a["reward"] == b["reward"],
                    "same_scoring": a["scoring"] == b["scoring"],
                    "changes": self.changes,
                },
                "advantage_sign_changes": self.advantages,
                "rank_agreement": self.ranks,
                "group_signal": self.signal,
                "findings": {
                    "new": self.findings.new,
                    "gone": self.findings.gone,
                    "severity": graded,
                },
                "outlooks": [item.outlook for item in self.forecasts],
            }
        )
        return plain

    def page(self) -> Page:
        """Return the verdict, what moved, what to do, and folded tables of it."""
        a, b = (repr(side.scores.reward.name) for side in (self.a, self.b))
        rollouts = counted(self.matching["matched"], "rollout")
        notes = [f"Note: {note}" for note in self.notes]
        blocks: list[Block] = [
            *self._definition_lines(),
            *self.moves,
            *self._outlook_lines(),
            *describe_cases(self.cases),
            *self.findings.lines,
            *notes[:MOST_CHANGES],
            f"Next: {self._next_step()}",
            More("", notes[MOST_CHANGES:]),
            *self._tables(),
        ]
        title = f"{self.verdict}: {b} (B) against {a} (A) on {rollouts} that both have"
        return Page(title, blocks)

    def _definition_lines(self) -> list[str]:
        lines = []
        if self.changes:
            count = counted(len(self.changes), "change")
            lines.append(f"Definition: {count}: {first_of(self.changes)}")
        for name, (was, now) in self.run.items():
            lines.append(f"{name} was {was} for A, {now} for B")
        return lines or ["Definition: the same"]

    def _outlook_lines(self) -> list[str]:
        """Return a line a side on what training would make of the task."""
        lines: list[str] = []
        for side, item in zip("AB", self.forecasts, strict=True):
            if item.outlook is not None and item.outlook.task is not None:
                lines.append(f"Trained on {side}, {item.verdict}")
        return lines

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
        changes = []
        for item in self.changes:
            changes.append((item.headline, item.before or "", item.after or ""))
        moved = []
        for row in [*self.rewards["largest_down"], *self.rewards["largest_up"]]:
            numbers = [short_number(row[name]) for name in ("a", "b", "delta")]
            moved.append((row["rollout_id"], *numbers))
        caption = f"{counted(len(changes), 'change')} of the definition"
        tables = [
            Table(caption, ("what", "A", "B"), changes),
            Table("Rollouts that moved most", ("rollout", *header), moved, header),
        ]
        findings = {
            "new or more severe": self.findings.new_or_worse,
            "gone or less severe": self.findings.better,
        }
        for kind, items in findings.items():
            rows = [(item.severity, item.code, item.sentence) for item in items]
            caption = f"{counted(len(items), 'finding')} {kind}"
            tables.append(Table(caption, ("severity", "finding", "what it says"), rows))
        return tables


def compare(
    scores_a: Scores,
    scores_b: Scores,
    *,
    cases: Sequence[Case] | str | Path | None = None,
    training: Any = None,
    label: str | None = None,
    seed: int = 0,
    timeout: float | None = None,
) -> Comparison:
    """Compare two scored tables, from their definitions to what training makes of them.

    Two rewards on the same rollouts, or two runs: rows are matched by `rollout_id`, the
    others are counted. Findings are those of all rows of each side.

    Args:
        scores_a: The scores before.
        scores_b: The scores after.
        cases: Cases, or their file, to check where a reward can be run; one from a run
            record cannot.
        training: Settings of the trainer, as `Training.of` takes them.
        label: A column that is trusted, as in `diagnose` and `forecast`.
        seed: Of the bootstrap over the prompts of A.
        timeout: Seconds for each call of the cases, as in `check`.

    Raises:
        InputError: No Scores, no rollout in common, rollouts of other prompts under the
            same `rollout_id`, one that stands twice, or cases, settings or a label that
            cannot be used.
    """
    for scores in (scores_a, scores_b):
        if not isinstance(scores, Scores):
            raise InputError(
                "compare takes two Scores, as rk.score or rk.load_scores give them, "
                f"not {preview(scores)}"
            )
    settings = Training.of(training)
    matched = match_rows(scores_a, scores_b)
    case_changes = None
    if cases is not None:
        case_changes = compare_cases(scores_a.reward, scores_b.reward, cases, timeout)
    a, b = (
        diagnose(scores, training=settings, label=label, seed=seed)
        for scores in (scores_a, scores_b)
    )
    changed = before_after(a, b, matched, seed=seed)
    return Comparison(
        **vars(changed),
        changes=definition_changes(scores_a.reward.record(), scores_b.reward.record()),
        run=_run_changes(scores_a, scores_b),
        cases=case_changes,
    )


def _run_changes(a: Scores, b: Scores) -> dict[str, Any]:
    """Return what was not the same when the two were scored, A and B by name."""
    versions_a, versions_b = (
        {"ignore_gates": run.get("ignore_gates"), **run.get("versions", {})}
        for run in (a.run, b.run)
    )
    changes = {}
    for name in {**versions_a, **versions_b}:
        before, after = versions_a.get(name), versions_b.get(name)
        if before != after:
            changes[name] = [before, after]
    return changes
