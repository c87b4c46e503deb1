"""What a reward cell shows: where it was saved, what changed, and what it gives."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rewardkit.analysis.before_after import Undiagnosed, before_after
from rewardkit.analysis.definition_changes import definition_changes
from rewardkit.analysis.matching import match_rows
from rewardkit.analysis.view import make_views, only_finite
from rewardkit.errors import InputError
from rewardkit.html import markup
from rewardkit.html.excerpts import one_line, visible
from rewardkit.notebook.tiles import contract_tile
from rewardkit.probes.points import probe_point
from rewardkit.probes.result import ProbeResult
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.cases import CheckResult
from rewardkit.scoring.scores import Scores

ABOVE = 1  # lines of a cell above those of its file: the one with the magic
LINE_ENDS = re.compile(
    "\r\n|\r|\n"
)  # as Python and the notebook count lines; a form feed is none
LONGEST_CODE_LINE = 120  # characters
MOST_MOVES = 3  # lines on rewards, advantages, and the order of siblings


@dataclass(frozen=True)
class Cell:
    """A cell that is a reward file: the file, and its text."""

    path: Path
    text: str

    def placed(self, said: str, shown: Callable[[str], str] = str) -> str:
        """Return a text with lines of the file as those of the cell."""
        lines = LINE_ENDS.split(self.text)

        def line(found: re.Match[str]) -> str:
            number = int(found[1])
            code = visible(
                "".join(lines[number - 1 : number]).strip()[:LONGEST_CODE_LINE]
            )
            return f"line {number + ABOVE} of the cell, {shown(f'`{code}`')}"

        return re.sub(rf"[^\s(]*\b{re.escape(self.path.name)}:(\d+)", line, said)


@dataclass(frozen=True, eq=False)
class Saved:
    """A reward file as it was saved, with its reward and scores where it was run."""

    data: bytes
    reward: Reward
    scores: Scores | None = None


def changes(before: Saved, after: Saved) -> list[str]:
    """Say what changed: lines, definition, and rewards on the same rollouts."""
    old, new = (
        LINE_ENDS.split(one.data.decode("utf-8", "replace")) for one in (before, after)
    )
    signs = [
        line[0] for line in list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
    ]
    told = definition_changes(before.reward.record(), after.reward.record())
    lines = f"+{signs.count('+')} -{signs.count('-')} lines"
    return [
        lines,
        *(one_line(item) for item in told if item.what != "source"),
        *_of_rewards(before, after),
    ]


def _of_rewards(before: Saved, after: Saved) -> list[str]:
    a, b = before.scores, after.scores
    if a is None or b is None or a.rollouts.fingerprint != b.rollouts.fingerprint:
        return []
    try:
        first, second = (
            Undiagnosed(side, make_views(only_finite(side))) for side in (a, b)
        )
        changed = before_after(first, second, match_rows(a, b))
    except InputError as error:
        return [f"rewards are not compared: {one_line(error)}"]
    if not changed.changed:
        return ["no reward changed"]
    return [one_line(line, 400) for line in changed.moves[:MOST_MOVES]]


@dataclass(frozen=True, eq=False)
class Written:
    """What became of a reward cell.

    `saved` says where it was saved, `changes` what is other than when it was saved
    before, `made` what the names in the notebook are. ``None``: no rollouts for the
    contract and the scores, or no cases.
    """

    cell: Cell
    saved: str
    made: str
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    contract: ProbeResult | None = None
    scores: Scores | None = None
    cases: CheckResult | None = None

    def __repr__(self) -> str:
        lines = [
            self.saved,
            *(f"  {line}" for line in self.changes),
            self.made,
            *self.notes,
        ]
        if self.contract is not None:
            tile = contract_tile(self.contract)
            lines.append(f"contract: {tile.figure}, {tile.words}")
            for finding in self.contract.findings:
                lines += probe_point(finding, self.contract.reward).lines(True)
        lines += [] if self.scores is None else [repr(self.scores)]
        lines += [] if self.cases is None else [repr(self.cases)]
        return self.cell.placed("\n".join(lines))

    def _repr_html_(self) -> str:
        moved = markup.listed(map(markup.escaped, self.changes))
        notes = markup.paragraphs(self.made, *self.notes)
        head = f"<p><b>{markup.escaped(self.saved)}</b></p>{moved}{notes}"
        parts = [f'<div class="rewardkit">{head}</div>']
        for record in (self.contract, self.scores, self.cases):
            if record is not None:
                parts.append(record._repr_html_())
        return self.cell.placed("".join(parts), markup.escaped)
