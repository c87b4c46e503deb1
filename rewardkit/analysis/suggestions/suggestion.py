"""What suggest() returns: measured changes, normalizations, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pandas as pd

from rewardkit.analysis.comparison.before_after import in_brackets
from rewardkit.analysis.suggestions.change import (
    Change,
    Changed,
    applied,
    describe_change,
)
from rewardkit.analysis.suggestions.measure import Effect, Trained
from rewardkit.analysis.suggestions.normalization import (
    NORMALIZATION_FIGURES,
    Normalization,
)
from rewardkit.findings import counted, percent
from rewardkit.html.blocks import Block, Code, Table
from rewardkit.html.excerpts import UserText
from rewardkit.html.pages import HasPage, More, Page, explain_columns
from rewardkit.plain import Plain, PlainRecord, Record
from rewardkit.primitives.texts import is_missing
from rewardkit.scoring.scores import Scores

UNRANKED = "neither training nor a trusted label tells them apart"
MOST_CHANGES_SHOWN = 5
"""Changes, and examples, of a page; the others are counted."""
MOST_CHANGES_NAMED = 2
"""Changes that a first page names beside the one that it shows. Our choice."""
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, eq=False, repr=False)
class Suggestion(HasPage, PlainRecord):
    """A change of the reward: the code that makes it, and what it measures here.

    `line` is a whole expression if it begins with ``replace(`` (`dataclasses.replace`),
    ``scores.`` or ``reward.``; a component is added at the end of the reward's. Of a
    route, `reward` in it is the one of `part`.

    `effects` are figures with their intervals and their paired difference. `verdict` is
    "improves" or "harms": by where the task ends in a rehearsed training, if that moves
    by a tenth of the task (see `trained`); else by the order of siblings with different
    trusted labels, if that moves by three standard errors. Otherwise it is "unclear",
    or "" where neither can be measured. `rank` numbers those that improve from 1.

    `answers` is the code of the worst finding that it answers, `outcome` what becomes
    of that. `examples` are rows whose score moves with another way to read or compare
    the answer. `scores` are those after the change (of its part only, for a route).
    """

    code: str
    component: str
    line: str
    why: str
    before: Plain
    after: Plain
    part: str = ""
    scores: Scores | None = field(default=None, repr=False)
    effects: tuple[Effect, ...] = ()
    examples: tuple[Plain, ...] = ()
    rank: int | None = None
    verdict: str = ""
    answers: str = ""
    outcome: str = ""
    change: Change = field(default_factory=Change, repr=False)
    trained: Trained | None = None

    @property
    def named(self) -> str:
        """Return what it does, and in which part."""
        return _where(self) + describe_change(self.code, self.component)

    def apply(self, to: Changed) -> Changed:
        """Return a Reward, or Scores, with the change made.

        In a route the reward of `part` is changed. InputError: neither of them, or one
        without what is changed. RewardError: Scores of a reward that was read from a
        record, where something has to be run.
        """
        return applied(self.change, to, self.part)

    def page(self, *, path: str = "") -> Page:
        """Return the change and why, the line that makes it, and its effects.

        For a terminal `path` names the scores, and a command that tries the change
        stands for its line.
        """
        title = self.named
        if self.rank:
            title = f"{self.rank}. {title}"
        elif self.verdict == "harms":
            title = f"Makes it worse: {title}"
        if self.verdict:
            title += f" ({self.verdict})"
        options = "" if self.part else self.change.options
        blocks: list[Block] = [Code(self.line)]
        if path and options:
            blocks = [Code(f"rewardkit whatif {path} {options}")]
        elif path:
            blocks.insert(0, "In the file of the reward:")
        if self.outcome:
            blocks.append(f"{self.outcome}.")
        details = [_effect_block(self.effects), _example_table(self.examples)]
        return Page(title, [*blocks, More("", details)], f"{self.why}.")


@dataclass(frozen=True, eq=False, repr=False)
class Suggestions(HasPage):
    """Changes of a reward, the table of normalizations, and what was left out.

    Changes that improve where training ends come first, then those that improve the
    order of siblings by a trusted label. Those that make either worse come last. The
    others are unranked.
    """

    changes: tuple[Suggestion, ...]
    normalization: tuple[Normalization, ...]
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """Return the normalization table, one row a way."""
        return pd.DataFrame([row.record() for row in self.normalization])

    def record(self) -> list[Record]:
        """Return all as plain data; normalizations as changes from the row "as_is"."""
        changes = [{"kind": "change", **item.record()} for item in self.changes]
        base = {}
        for row in self.normalization:
            figures = {name: getattr(row, name) for name in NORMALIZATION_FIGURES}
            if row.code == "as_is":
                base[row.part] = figures
                continue
            changes.append(
                {
                    "kind": "normalization",
                    "code": row.code,
                    "part": row.part,
                    "line": row.line,
                    "why": row.effect,
                    "before": base[row.part],
                    "after": figures,
                }
            )
        return changes

    def page(self, *, path: str = "") -> Page:
        """Return the first change in full; the rest is `More`.

        `path` as of a change.
        """
        notes = [f"Note: {note}." for note in self.notes]
        table = normalization_blocks(self.normalization, has_lines=not path)
        pages: list[Block] = []
        for item in self.changes[:MOST_CHANGES_SHOWN]:
            pages.append(item.page(path=path))
        if len(self.changes) > MOST_CHANGES_SHOWN:
            count = len(self.changes) - MOST_CHANGES_SHOWN
            pages.append(f"and {count} more in suggestions.changes")
        folded = self.changes
        caption = "No change of the reward to suggest."
        blocks: list[Block] = [*notes, More("", [*pages, *table])]
        if any(item.verdict != "harms" for item in self.changes):
            folded = self.changes[1:]
            caption = self._describe_ranking()
            blocks = [pages[0], More("", [*pages[1:], *notes, *table])]
        others = [item.named for item in folded[:MOST_CHANGES_NAMED]]
        if len(folded) > MOST_CHANGES_NAMED:
            others.append(counted(len(folded) - MOST_CHANGES_NAMED, "more change"))
        works = sum(row.works for row in self.normalization)
        if works:
            others.append(
                f"{works} of {_count_tried(self.normalization)} reward normalizations "
                "change the advantages"
            )
        foot = ""
        if others:
            foot = (
                f"Also measured: {'; '.join(others)}. All: "
                "suggestions.text(verbose=True)."
            )
        return Page(caption, blocks, foot=foot)

    def _describe_ranking(self) -> str:
        """Say how many changes are ranked, and why the others are not."""
        ranked = sum(item.rank is not None for item in self.changes)
        if not ranked:
            return f"Changes to consider, unranked: {UNRANKED}"
        caption = f"Changes to consider, {ranked} of {len(self.changes)} ranked"
        if ranked < len(self.changes):
            caption += f"; of the others {UNRANKED}"
        return caption


def _where(item: Suggestion | Normalization) -> str:
    return f"[{item.part}] " if item.part else ""


def _effect_block(effects: Sequence[Effect]) -> Block:
    """Return a table of the effects; one line where nothing moves."""
    if not any(item.difference for item in effects):
        values = []
        for item in effects:
            if item.figure != "effective_weight":
                values.append(f"{item.title} {percent(item.before)}")
        return f"Nothing of this changes: {', '.join(values)}"
    rows = []
    for item in effects:
        if item.is_shown:
            before = percent(item.before) + in_brackets(item.before_interval)
            after = percent(item.after) + in_brackets(item.after_interval)
            moved = item.moved.replace(" points", "")
            cells = [
                text.replace(" ", NO_BREAK_SPACE) for text in (before, after, moved)
            ]
            rows.append((item.title, *cells))
    measured_on = f"share, on {counted(effects[0].prompts, 'prompt')}"
    header = (measured_on, "before (95 % interval)", "after", "difference in points")
    return Table("", header, rows, header[1:], is_open=True)


def _example_table(examples: Sequence[Plain]) -> Table:
    names = dict.fromkeys(chain(*examples))
    header = [name.replace("_", " ") for name in names]
    rows = []
    for example in examples:
        rows.append([_cell(name, example.get(name)) for name in names])
    return Table("", header, rows, is_open=True, most=MOST_CHANGES_SHOWN)


def _cell(name: str, value: Any) -> str | UserText:
    if is_missing(value):
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value) if name == "rollout_id" else UserText(value)


def normalization_blocks(
    rows: Sequence[Normalization], *, has_lines: bool
) -> list[Block]:
    """Return the normalizations that change something, and why others do not.

    Args:
        rows: The normalizations.
        has_lines: Whether it has the line of Python that makes each.
    """
    cells = []
    without_effect: dict[str, list[str]] = {}
    for row in rows:
        name = f"{_where(row)}{row.what}"
        if row.works or row.code == "as_is":
            figures = [percent(getattr(row, key)) for key in NORMALIZATION_FIGURES]
            line = row.line if has_lines else ""
            cells.append((name, row.effect, *figures, line))
        else:
            without_effect.setdefault(row.effect, []).append(name)
    meanings = dict(NORMALIZATION_FIGURES.values())
    figure_names = [*meanings]
    header = ("normalization", "effect on the advantages", *figure_names, "line")
    count = counted(_count_tried(rows), "normalization")
    caption = f"{count}, measured on these rollouts"
    blocks: list[Block] = [Table(caption, header, cells, figure_names)]
    blocks.append(explain_columns(meanings))
    for effect, names in without_effect.items():
        blocks.append(f"{', '.join(names)}: {effect}.")
    return blocks


def _count_tried(rows: Sequence[Normalization]) -> int:
    return sum(row.code != "as_is" for row in rows)
