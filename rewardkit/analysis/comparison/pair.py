"""Pair: two versions, from their definitions to which of them to train on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from rewardkit.analysis.comparison import grounds as measured
from rewardkit.analysis.comparison.before_after import (
    BeforeAfter,
    Figure,
    before_after,
)
from rewardkit.analysis.comparison.changes import (
    FindingChanges,
    compare_cases,
    compare_findings,
    describe_cases,
)
from rewardkit.analysis.comparison.definition_changes import (
    ComponentMatch,
    DefinitionChange,
    definition_changes,
    match_components,
)
from rewardkit.analysis.comparison.grounds import Ground, Mark, mark_of, mark_of_counts
from rewardkit.analysis.comparison.matching import (
    MatchedRows,
    count_unmatched,
    match_rows,
)
from rewardkit.analysis.comparison.sides import Side
from rewardkit.analysis.comparison.task_order import (
    SharedTask,
    compare_order,
    compare_slices,
    find_task,
)
from rewardkit.analysis.statistics import group_stats
from rewardkit.findings import SEVERITIES, counted, percent, short_number
from rewardkit.history.run import source_diff
from rewardkit.html.blocks import Block, Quote, Table
from rewardkit.html.excerpts import one_line
from rewardkit.plain import Plain, Record, to_plain
from rewardkit.scoring.cases import Case

SHOWN_EXAMPLES = 2
"""Rollouts whose advantage changes its sign that are shown. Our choice."""

PairVerdict = Literal["better", "worse", "no difference", "not decided"]


@dataclass(frozen=True, eq=False, repr=False)
class Pair(BeforeAfter):
    """What differs between two versions, A and B, and which of them is better.

    It adds to `BeforeAfter` the `sides`, the rows that they share (`matched`), and the
    `cases` that only one of them passes (None where none were given).
    `is_task_redefined` says whether any two of all versions that are compared define a
    component of the task differently.
    """

    sides: tuple[Side, Side]
    matched: MatchedRows = field(repr=False)
    cases: Plain | None
    is_task_redefined: bool = False

    # --- what changed

    @cached_property
    def changes(self) -> tuple[DefinitionChange, ...]:
        """Return what changed in the definition; components are matched by meaning."""
        a, b = (side.scores.reward.record() for side in self.sides)
        changes = definition_changes(a, b, self.components.renamed)
        return (*changes, *self.components.redefined)

    @cached_property
    def components(self) -> ComponentMatch:
        """Return which components are the same, by what they score."""
        a, b = (side.scores for side in self.sides)
        return match_components(a, b, self.matched)

    @cached_property
    def findings(self) -> FindingChanges:
        """Return which findings are new, gone, or of another severity.

        A finding of a renamed component is not new.
        """
        return compare_findings(self.a, self.b, self.components.renamed)

    @property
    def run(self) -> Record:
        """Return the settings and versions that differed in scoring, of A and B."""
        settings = []
        for side in self.sides:
            run = side.scores.run
            versions = run.get("versions", {})
            settings.append({"ignore_gates": run.get("ignore_gates"), **versions})
        before, after = settings
        changes = {}
        for name in {**before, **after}:
            if before.get(name) != after.get(name):
                changes[name] = [before.get(name), after.get(name)]
        return changes

    @cached_property
    def source_lines(self) -> list[str]:
        """Return what changed in the source, as lines of a unified diff.

        Empty where the source of one of the two is not at hand.
        """
        before, after = (side.source for side in self.sides)
        return source_diff(before, after) if before and after else []

    @property
    def definition_lines(self) -> list[str]:
        """Return what changed in the definition, a line each."""
        lines = []
        for change in self.changes:
            if not (change.is_source and self.source_lines):
                lines.append(one_line(change, 200))
        for name, (was, now) in self.run.items():
            lines.append(f"{name} was {was}, is {now}")
        return lines or ["the source" if self.source_lines else "the same"]

    # --- the figures

    @cached_property
    def task(self) -> SharedTask | None:
        """Return the verdicts on the task that hold for both sides, or None.

        If other versions redefined the task, those that hold for all, if there are any.
        """
        is_redefined = self.is_task_redefined or bool(self.redefined_task)
        task = find_task(self.a, self.b, self.matched, is_redefined=is_redefined)
        if task is None and not self.redefined_task:
            return find_task(self.a, self.b, self.matched)
        return task

    @cached_property
    def redefined_task(self) -> tuple[DefinitionChange, ...]:
        """Return the components of the task, of either side, that B redefines."""
        names: set[str] = set()
        for view in (*self.a.views, *self.b.views):
            names.update(view.task)
        return tuple(item for item in self.components.redefined if item.name in names)

    @cached_property
    def order(self) -> Figure:
        """Return how much better B orders siblings as the task does, as AUCs."""
        return compare_order(self, self.task)

    @cached_property
    def slices(self) -> dict[str, Figure]:
        """Return `order` of each slice of the rows."""
        return compare_slices(self, self.task, self.matched)

    @cached_property
    def task_signal(self) -> Figure:
        """Return the change in the share of groups with a signal of the task.

        Their completions differ in the task, and are paid differently. Of groups with
        two rows or more that are judged on both sides.
        """
        if self.task is None:
            nothing = np.zeros(len(self.table), dtype=bool)
            reason = "nothing says which completions are right"
            return self._mean(nothing, nothing, self.bootstrap.prompts, reason)
        a, b = (group_stats(values, self.siblings) for values in self.both("reward"))
        task = group_stats(self.task.scores, self.siblings)
        several = a.has_pairs & b.has_pairs & task.has_pairs
        change = task.live * (b.live.astype(float) - a.live)
        owner = self.bootstrap.of_groups(self.siblings)
        return self._mean(change, several, owner, "no group has two judged siblings")

    @cached_property
    def marks(self) -> dict[str, Mark]:
        """Return which figures of B are better or worse than those of A beyond noise.

        The mean reward has no mark, as weights move it. Groups with a signal are marked
        only if their signal of the task is not known.
        """
        signal: Mark = "within noise"
        if self.task is None:
            signal = mark_of(self.signal, is_gain=False)
        counts = [side.figures["findings"] for side in self.sides]
        return {
            "signal": signal,
            "task_signal": mark_of(self.task_signal),
            "auc": mark_of(self.order),
            "cases": mark_of_counts(*self._passed),
            "findings": mark_of_counts(*counts, is_gain=False),
            "exploits": mark_of_counts(*self._exploits, is_gain=False),
            "outlook": self._outlook_mark,
        }

    @property
    def _outlook_mark(self) -> Mark:
        a, b = (side.outlook for side in self.sides)
        if not (self.has_one_task and a and b and a.task and b.task):
            return "not known"
        for ground in measured.of_outlooks(a, b):
            return "better" if ground.is_better else "worse"
        return "within noise"

    @property
    def has_one_task(self) -> bool:
        """Return whether rehearsals of both sides are of the same task."""
        return self.task is not None and self.task.is_of_both

    @property
    def _passed(self) -> tuple[int | None, int | None]:
        """Return the number of cases that each side passes, None where not known."""
        if self.cases is None or self.cases["reason"]:
            return None, None
        a, b = (self.cases[side]["passed"] for side in "ab")
        return a, b

    @property
    def _exploits(self) -> tuple[int | None, int | None]:
        """Return the number of exploits found by the probes of each side.

        None where not known, or where other rows were probed than are compared.
        """
        if not all(side.has_all_rows for side in self.sides):
            return None, None
        a, b = (side.kept_figures.get("exploits") for side in self.sides)
        return a, b

    # --- the verdict

    @cached_property
    def grounds(self) -> tuple[Ground, ...]:
        """Return each measurement by which B is better than A, or worse.

        Findings depend on the task of each reward. Where B redefines it, they count
        only if both sides have the same verdicts on it.
        """
        grounds = [
            *measured.of_cases(self.cases),
            *measured.of_exploits(*self._exploits),
            *measured.of_order(self.order, self.slices),
        ]
        if self.has_one_task:
            grounds += measured.of_outlooks(*(side.outlook for side in self.sides))
        if self.redefined_task and not self.has_one_task:
            return tuple(grounds)
        return (*grounds, *measured.of_findings(self))

    @property
    def verdict(self) -> PairVerdict:
        """Return whether B is the one to train on, rather than A.

        "not decided" where grounds contradict each other, or the two differ and nothing
        that was measured says which is better.
        """
        ways = {ground.is_better for ground in self.grounds}
        if len(ways) > 1:
            return "not decided"
        if ways:
            return "better" if True in ways else "worse"
        return "no difference" if measured.is_equal(self, self.order) else "not decided"

    @property
    def reason(self) -> str:
        """Return why the verdict is so."""
        for_b = [ground for ground in self.grounds if ground.is_better]
        for_a = [ground for ground in self.grounds if not ground.is_better]
        if for_a and for_b:
            return (
                f"for {self.names[1]}: {measured.join_sentences(for_b)}; against it: "
                f"{measured.join_sentences(for_a)}"
            )
        if self.grounds:
            return measured.join_sentences(self.grounds)
        signs = self.advantages
        turned = "no advantage changes its sign"
        if signs["flipped"]:
            turned = f"{percent(signs['value'])} of the advantages change sign"
        elif signs["changed"]:
            share = percent(signs["changed"] / signs["n"])
            turned = f"{share} of the advantages become 0, or are 0 no more"
        if self.task is None and self.verdict == "not decided":
            return f"{turned}, and {self._why_no_task}"
        if not self.marked:
            return f"{turned}, and no figure is better or worse beyond noise"
        marked = ", ".join(self.marked)
        return f"{turned}, and what differs decides nothing by itself ({marked})"

    @property
    def _why_no_task(self) -> str:
        """Say why it is not known which completions are right, and what would tell."""
        if self.redefined_task:
            changes = [
                f"{item.name!r} ({percent(item.share or 0)} of its scores)"
                for item in self.redefined_task
            ]
            return (
                f"the task was redefined in {', '.join(changes)}: nothing outside the "
                "two rewards says which is right; a label would, or cases that tell "
                "them apart"
            )
        why = "nothing says which completions are right"
        if "ground_truth" in self.a.scores.table:
            why += ", as their answers cannot be read and compared with the truths"
        return f"{why}; a label would, or cases that tell the two apart"

    @property
    def marked(self) -> list[str]:
        """Return which figures are better or worse, such as "signal worse"."""
        return [
            f"{name.replace('_', ' ')} {mark}"
            for name, mark in self.marks.items()
            if mark in ("better", "worse")
        ]

    @property
    def worst_new(self) -> str | None:
        """Return the highest severity that is new in B; a lost case counts as high."""
        severities = {item.severity for item in self.findings.new_or_worse}
        if self.cases and self.cases["lost"]:
            severities.add("high")
        return min(severities, key=SEVERITIES.index, default=None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what to be careful with, a sentence each."""
        views = [*self.a.views, *self.b.views]
        reasons = dict.fromkeys(view.context.why_no_label for view in views)
        unused = [f"the label is not used: {reason}" for reason in reasons if reason]
        return (*super().notes, *unused)

    # --- examples

    @property
    def turned(self) -> pd.DataFrame:
        """Return the rollouts whose advantage changes its sign, the largest first."""
        a, b = self.both("advantage")
        is_turned = a * b < 0
        order = np.argsort(-np.abs(b - a)[is_turned], kind="stable")
        places = np.flatnonzero(is_turned)[order]
        rows = self.table.iloc[places]
        table = self.sides[1].scores.table
        return pd.DataFrame(
            {
                "version": self.names[1],
                "against": self.names[0],
                "rollout_id": rows["rollout_id"].tolist(),
                "reward_before": rows["reward_a"].to_numpy(),
                "reward": rows["reward_b"].to_numpy(),
                "advantage_before": rows["advantage_a"].to_numpy(),
                "advantage": rows["advantage_b"].to_numpy(),
                "completion": table["completion"].iloc[self.matched.b[places]].tolist(),
            }
        )

    @property
    def examples(self) -> list[Block]:
        """Return rollouts whose advantage changes its sign, and what each side pays."""
        ids = self.advantages["rollout_ids"][:SHOWN_EXAMPLES]
        blocks: list[Block] = []
        for rollout_id in ids:
            place = self.table.index[self.table["rollout_id"] == rollout_id][0]
            texts = []
            about = [f"rollout {one_line(rollout_id, 60)}"]
            ends = zip("ab", self.sides, self.names, self.matched[:2], strict=True)
            for letter, side, name, rows in ends:
                about.append(f"{name} {self._payment(letter, side, place, rows)}")
                texts.append(str(side.scores.table["completion"].iloc[rows[place]]))
            if not blocks:
                blocks.append("Advantages that change their sign, such as:")
            blocks.append(Quote("; ".join(about), texts[0]))
            if texts[1] != texts[0]:
                blocks.append(Quote(f"its completion in {self.names[1]}", texts[1]))
        return blocks

    def _payment(self, letter: str, side: Side, place: int, rows: Any) -> str:
        """Return what one side pays for a rollout, and for what."""
        row = self.table.loc[place]
        reward = float(row.to_dict()[f"reward_{letter}"])
        names = [f"score/{name}" for name in side.scores.reward.names]
        scores = side.scores.table[names].iloc[rows[place]].dropna()
        parts = []
        for column, score in scores.items():
            name = str(column).removeprefix("score/")
            parts.append(f"{name} {short_number(float(score))}")
        return (
            f"pays {short_number(reward)} ({', '.join(parts)}), "
            f"advantage {row[f'advantage_{letter}']:+.2f}"
        )

    # --- as data, and as text

    def record(self) -> Record:
        """Return the pair as plain data."""
        prints = [side.record()["fingerprints"] for side in self.sides]
        graded = [
            {**now.record(), "before": was.severity}
            for was, now in self.findings.graded
        ]
        plain: Record = to_plain(
            {
                "a": self.names[0],
                "b": self.names[1],
                "pair_verdict": self.verdict,
                "grounds": self.grounds,
                "marks": self.marks,
                "changed": self.changed,
                "matching": self.matching,
                "notes": self.notes,
                "run": self.run,
                "rewards": self.rewards,
                "cases": self.cases,
                "definition": {
                    "same": prints[0]["reward"] == prints[1]["reward"],
                    "same_scoring": prints[0]["scoring"] == prints[1]["scoring"],
                    "changes": self.changes,
                },
                "advantage_sign_changes": self.advantages,
                "rank_agreement": self.ranks,
                "group_signal": self.signal,
                "task_order": {**self.order, "slices": self.slices},
                "findings": {
                    "new": self.findings.new,
                    "gone": self.findings.gone,
                    "severity": graded,
                },
            }
        )
        return plain

    @property
    def lines(self) -> list[str]:
        """Return what moved, cases and findings, a line each."""
        return [*self.moves, *describe_cases(self.cases), *self.findings.lines]

    @property
    def tables(self) -> list[Table]:
        """Return the rollouts that moved most, and the findings that came and went."""
        header = (*self.names, "difference")
        moved = []
        for row in [*self.rewards["largest_down"], *self.rewards["largest_up"]]:
            numbers = [short_number(row[name]) for name in ("a", "b", "delta")]
            moved.append((row["rollout_id"], *numbers))
        tables = [
            Table("Rollouts that moved most", ("rollout", *header), moved, header)
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


def make_pair(
    a: Side,
    b: Side,
    *,
    cases: Sequence[Case] | None,
    timeout: float | None,
) -> Pair:
    """Put two sides side by side, on the rollouts that both have.

    Raises:
        InputError: No rollout in common, rollouts of other prompts under the same
            `rollout_id`, one that stands twice, or cases that cannot be used.
    """
    names = a.name, b.name
    matched = match_rows(a.scores, b.scores, names)
    if not (a.has_all_rows and b.has_all_rows):
        matched = count_unmatched(matched, a.all_scores, b.all_scores)
    moved = before_after(a.diagnosis, b.diagnosis, matched, names)
    changes = None
    if cases is not None:
        changes = compare_cases(a.to_run, b.to_run, cases, timeout)
    return Pair(**vars(moved), sides=(a, b), matched=matched, cases=changes)
