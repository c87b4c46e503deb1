"""What suggest() returns: measured changes, normalizations, and notes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pandas as pd

from rewardkit.analysis.suggestions.change import Change, applied, describe_change
from rewardkit.analysis.suggestions.measure import Effect
from rewardkit.analysis.suggestions.normalization import FIGURES, Normalization
from rewardkit.analysis.summary import name_codes
from rewardkit.findings import counted, percent
from rewardkit.html.blocks import Block, Code, Table
from rewardkit.html.excerpts import UserText
from rewardkit.html.pages import HasPage, More, Page
from rewardkit.plain import PlainRecord
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.scores import Scores

Changed = TypeVar("Changed", Reward, Scores)

UNRANKED = "without a trusted label nobody knows which completions are better"
SHOWN = 5
"""Changes, and examples, of a page; the others are counted."""


@dataclass(frozen=True, eq=False, repr=False)
class Suggestion(HasPage, PlainRecord):
    """A change of the reward: the code that makes it, and what it measures here.

    `line` stands for itself where it begins with ``replace(`` (`dataclasses.replace`),
    ``scores.`` or ``reward.``; a component goes to the end of the reward's. In it
    `reward` is, for a route, the one of `part`. `effects` are the figures with their
    intervals and their paired difference. With a trusted label `verdict` says whether
    the change "improves" or "harms" the order of siblings with different labels for
    certain (by three standard errors, as well as by its interval), or is "unclear", and
    `rank` numbers those that improve it from 1; without one both are empty. `answers`
    is the code of the worst finding that it answers, `outcome` what becomes of that.
    `examples` are rows to read where another way to read or compare the answer moves
    their score. `scores` are those with the change made (of its part only, for a
    route), to diagnose or compare.
    """

    IN_RECORD = (
        "code",
        "component",
        "part",
        "line",
        "why",
        "before",
        "after",
        "rank",
        "verdict",
        "answers",
        "outcome",
        "effects",
        "examples",
    )

    code: str
    component: str | None
    line: str
    why: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    part: str = ""
    scores: Scores | None = field(default=None, repr=False)
    effects: tuple[Effect, ...] = ()
    examples: tuple[Mapping[str, Any], ...] = ()
    rank: int | None = None
    verdict: str = ""
    answers: str = ""
    outcome: str = ""
    change: Change = field(default_factory=Change, repr=False)

    @property
    def named(self) -> str:
        """What it does, and in which part."""
        return _where(self) + describe_change(self.code, self.component)

    def apply(self, to: Changed) -> Changed:
        """Return a Reward, or Scores, with the change made.

        In a route the reward of `part` is changed. InputError: neither of them, or one
        without what is changed. RewardError: Scores of a reward that was read from a
        record, where something has to be run.
        """
        made: Changed = applied(self.change, to, self.part)
        return made

    def page(self, *, path: str = "") -> Page:
        """Return the change and why, the line that makes it, and its effects.

        For a terminal `path` names the scores, and a command that tries the change
        stands for its line.
        """
        rank = (
            f"{self.rank}. "
            if self.rank
            else "Makes it worse: "
            if self.verdict == "harms"
            else ""
        )
        title = f"{rank}{self.named}" + (f" ({self.verdict})" if self.verdict else "")
        blocks: list[Block] = [Code(self._command(path) if path else self.line)]
        if path and self._command(path) == self.line:
            blocks.insert(0, "In the file of the reward:")
        blocks += [f"{self.outcome}."] if self.outcome else []
        blocks.append(More("", [_effects(self.effects), _examples(self.examples)]))
        return Page(title, blocks, f"{self.why}.")

    def _command(self, path: str) -> str:
        options = "" if self.part else self.change.options
        return f"rewardkit whatif {path} {options}" if options else self.line


@dataclass(frozen=True, eq=False, repr=False)
class Suggestions(HasPage):
    """Changes of a reward, the table of normalizations, and what was left out.

    With a trusted label the changes that make the reward order siblings more like it
    come first, those that make it worse last. Without one they are unranked: nothing
    here knows which completions are better.
    """

    changes: tuple[Suggestion, ...]
    normalization: tuple[Normalization, ...]
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """The normalization table, one row a way."""
        return pd.DataFrame([row.record() for row in self.normalization])

    def record(self) -> list[dict[str, Any]]:
        """Return all as plain data; normalizations as changes from the row "as_is"."""
        changes = [{"kind": "change", **item.record()} for item in self.changes]
        base: dict[str, dict[str, float]] = {}
        for row in self.normalization:
            measured = {name: getattr(row, name) for name in FIGURES}
            if row.code == "as_is":
                base[row.part] = measured
                continue
            told = {
                "code": row.code,
                "part": row.part,
                "line": row.line,
                "why": row.effect,
            }
            changes.append(
                {
                    "kind": "normalization",
                    **told,
                    "before": base[row.part],
                    "after": measured,
                }
            )
        return changes

    def page(self, *, path: str = "") -> Page:
        """Return the first change in full; the rest is `More`.

        `path` as of a change.
        """
        useful = [item for item in self.changes if item.verdict != "harms"]
        pages: list[Block] = [item.page(path=path) for item in self.changes]
        first = min(len(useful), 1)
        notes = [f"Note: {note}." for note in self.notes]
        works = [row for row in self.normalization if row.works]
        more: list[Block] = [*pages[first:SHOWN]]
        more += (
            [f"and {len(pages) - SHOWN} more in suggestions.changes"]
            if len(pages) > SHOWN
            else []
        )
        more += notes * bool(useful)
        more += normalization_blocks(self.normalization, has_lines=not path)
        left = [name_codes(self.changes[first:])] * (first < len(pages))
        if works:
            tried = sum(row.code != "as_is" for row in self.normalization)
            left.append(
                f"{len(works)} of {tried} reward normalizations change the advantages"
            )
        all_of_it = "All: suggestions.text(verbose=True)."
        foot = f"Also measured: {'; '.join(left)}. {all_of_it}" if left else ""
        first_blocks = [*pages[:first], *notes * (not useful), More("", more)]
        return Page(self._caption(bool(useful)), first_blocks, foot=foot)

    def _caption(self, useful: bool) -> str:
        """Say how many changes the label ranks, and why the others are unranked.

        Args:
            useful: Whether there is a change to suggest; if not, say only that.
        """
        judged = [bool(item.verdict) for item in self.changes]
        if not useful:
            return "No change of the reward to suggest."
        if not any(judged):
            return f"Changes to consider, unranked: {UNRANKED}"
        ranked = sum(item.rank is not None for item in self.changes)
        told = f"Changes to consider, {ranked} of {len(judged)} ranked by the label"
        return (
            told
            if all(judged)
            else f"{told}; those without a verdict are unranked: {UNRANKED}"
        )


def _where(item: Suggestion | Normalization) -> str:
    return f"[{item.part}] " if item.part else ""


def _effects(effects: Sequence[Effect]) -> Block:
    """Return a row an effect that is worth one; a line where nothing moves."""
    if not any(item.difference for item in effects):
        still = [item for item in effects if item.figure != "effective_weight"]
        return f"Nothing of this changes: {', '.join(f'{item.what} {percent(item.before)}' for item in still)}"
    rows = [
        (
            item.what,
            _around(item.before, item.before_interval),
            _around(item.after, item.after_interval),
            item.moved.replace(" points", "").replace(" ", "\N{NO-BREAK SPACE}"),
        )
        for item in effects
        if item.told
    ]
    held = " held out from the fit" if any(item.held_out for item in effects) else ""
    on = f"share, on {counted(effects[0].prompts, 'prompt')}{held}"
    header = (on, "before (95 % interval)", "after", "difference in points")
    return Table("", header, rows, header[1:], is_open=True)


def _around(value: float, interval: tuple[float, float]) -> str:
    ends = (
        ""
        if math.isnan(interval[0])
        else f" ({percent(interval[0])} to {percent(interval[1])})"
    )
    return f"{percent(value)}{ends}".replace(" ", "\N{NO-BREAK SPACE}")


def _examples(examples: Sequence[Mapping[str, Any]]) -> Table:
    names = list(dict.fromkeys(name for example in examples for name in example))
    rows = [[_cell(name, example.get(name)) for name in names] for example in examples]
    return Table(
        "", [name.replace("_", " ") for name in names], rows, is_open=True, most=SHOWN
    )


def _cell(name: str, value: Any) -> str | UserText:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value) if name == "rollout_id" else UserText(value)


def normalization_blocks(
    rows: Sequence[Normalization], *, is_open: bool = False, has_lines: bool = True
) -> list[Block]:
    """Return the normalizations that change something, and why others do not.

    `has_lines`: with the line of Python that makes each.
    """
    cells = [
        (
            f"{_where(row)}{row.what}",
            row.effect,
            *(percent(getattr(row, key)) for key in FIGURES),
            row.line if has_lines else "",
        )
        for row in rows
        if row.works or row.code == "as_is"
    ]
    header = ("normalization", "effect on the advantages", *FIGURES.values(), "line")
    tried = counted(sum(row.code != "as_is" for row in rows), "normalization")
    caption = f"{tried}, measured on these rollouts"
    return [
        Table(caption, header, cells, [*FIGURES.values()], is_open),
        *_without_effect(rows),
    ]


def _without_effect(rows: Sequence[Normalization]) -> list[str]:
    """Return the normalizations that change nothing, a line a reason."""
    without: dict[str, list[str]] = {}
    for row in rows:
        if not row.works and row.code != "as_is":
            without.setdefault(row.effect.removeprefix("no effect: "), []).append(
                f"{_where(row)}{row.what}"
            )
    return [f"No effect ({why}): {', '.join(what)}." for why, what in without.items()]
