"""The outcome of a `%%reward` cell, and its changes since it was last saved."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rewardkit.analysis.comparison.before_after import before_after
from rewardkit.analysis.comparison.definition_changes import definition_changes
from rewardkit.analysis.comparison.matching import match_rows
from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.parts import make_views, only_finite
from rewardkit.errors import InputError
from rewardkit.findings import counted
from rewardkit.html import markup
from rewardkit.html.excerpts import one_line, visible
from rewardkit.notebook.tiles import contract_tile
from rewardkit.probes.points import probe_point
from rewardkit.probes.result import ProbeResult
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.scoring.check_result import CheckResult
from rewardkit.scoring.scores import Scores

LINES_ABOVE = 1  # lines of the cell that are not in the file: the line of the magic
LINE_ENDS = re.compile("\r\n|\r|\n")
"""Line ends as Python and the notebook count them; a form feed is none."""
LONGEST_FAILURE = 300  # characters of a reason
LONGEST_CODE_LINE = 120  # characters
MOST_MOVES = 3  # lines on rewards, advantages, and the order of siblings


@dataclass(frozen=True)
class RewardCell:
    """A cell that is a reward file: the file, and its text."""

    path: Path
    text: str

    def point_to_lines(self, text: str, escape: Callable[[str], str] = str) -> str:
        """Replace references to lines of the file by lines of the cell."""
        lines = LINE_ENDS.split(self.text)

        def place(match: re.Match[str]) -> str:
            number = int(match[1])
            line = "".join(lines[number - 1 : number]).strip()
            code = escape(f"`{visible(line[:LONGEST_CODE_LINE])}`")
            return f"line {number + LINES_ABOVE} of the cell, {code}"

        return re.sub(rf"[^\s(]*\b{re.escape(self.path.name)}:(\d+)", place, text)


@dataclass(frozen=True, eq=False)
class SavedReward:
    """A saved version of a reward file, its reward, and its scores if it was scored."""

    data: bytes
    reward: Reward
    scores: Scores | None = None

    @property
    def lines(self) -> list[str]:
        """Return the lines of the file."""
        return LINE_ENDS.split(self.data.decode("utf-8", "replace"))


def describe_changes(before: SavedReward, after: SavedReward) -> list[str]:
    """Describe changes of lines, definition, and rewards on the same rollouts."""
    diff = difflib.unified_diff(before.lines, after.lines, n=0, lineterm="")
    signs = [line[0] for line in list(diff)[2:]]
    sentences = [f"+{signs.count('+')} -{signs.count('-')} lines"]
    for change in definition_changes(before.reward.record(), after.reward.record()):
        if not change.is_source:
            sentences.append(one_line(change))
    return [*sentences, *_describe_moves(before.scores, after.scores)]


def _describe_moves(a: Scores | None, b: Scores | None) -> list[str]:
    if a is None or b is None or a.rollouts.fingerprint != b.rollouts.fingerprint:
        return []
    try:
        first = Diagnosis(a, (), Training(), 0, make_views(only_finite(a)))
        second = Diagnosis(b, (), Training(), 0, make_views(only_finite(b)))
        moves = before_after(first, second, match_rows(a, b))
    except InputError as error:
        return [f"rewards are not compared: {one_line(error)}"]
    if not moves.changed:
        return ["no reward changed"]
    return [one_line(line, 400) for line in moves.moves[:MOST_MOVES]]


def describe_failures(scores: Scores) -> list[str]:
    """Say how many calls of each component failed, and why."""
    failures = []
    for name, counts in scores.counts.items():
        if not counts["error"]:
            continue
        reasons = Counter(scores.errors(name))
        ((reason, _),) = reasons.most_common(1)
        frequency = "most often " if len(reasons) > 1 else ""
        calls = counted(len(scores) - counts["gated"], "call")
        failures.append(
            f"{counts['error']:,} of {calls} of {name!r} failed ({frequency}"
            f"{one_line(reason, LONGEST_FAILURE)})"
        )
    return failures


@dataclass(frozen=True, eq=False)
class CellOutcome:
    """The outcome of a reward cell.

    `saved` says where it was saved, `changes` what differs from the last saved version,
    `variables` which variables were set. `contract` and `scores` are None without
    rollouts, `cases` without cases. `is_verbose`: show the complete text.
    """

    cell: RewardCell
    saved: str
    variables: str
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    contract: ProbeResult | None = None
    scores: Scores | None = None
    cases: CheckResult | None = None
    is_verbose: bool = False

    @property
    def failures(self) -> list[str]:
        """Say which calls on the rollouts failed, unless the contract has alarms."""
        if self.scores is None or self.contract is None or self.contract.alarms:
            return []
        return describe_failures(self.scores)

    @property
    def contract_line(self) -> str:
        """Say whether the contract is kept, "" if it was not tried."""
        if self.contract is None:
            return ""
        if self.failures:
            return f"contract: not kept, as {'; '.join(self.failures)}"
        tile = contract_tile(self.contract)
        return f"contract: {tile.figure}, {tile.words}"

    def __repr__(self) -> str:
        changes = [f"  {line}" for line in self.changes]
        lines = [self.saved, *changes, self.variables, *self.notes]
        if self.contract is not None:
            lines.append(self.contract_line)
            for finding in self.contract.findings:
                lines += probe_point(finding, self.contract.reward).lines(True)
        for record in (self.scores, self.cases):
            if record is not None:
                lines.append(record.text(verbose=self.is_verbose))
        return self.cell.point_to_lines("\n".join(lines))

    def _repr_html_(self) -> str:
        changes = markup.listed(map(markup.escaped, self.changes))
        notes = markup.paragraphs(self.variables, *self.notes, self.contract_line)
        head = f"<p><b>{markup.escaped(self.saved)}</b></p>{changes}{notes}"
        parts = [f'<div class="rewardkit">{head}</div>']
        contract = None if self.failures else self.contract
        for record in (contract, self.scores, self.cases):
            if record is not None:
                parts.append(record._repr_html_())
        return self.cell.point_to_lines("".join(parts), markup.escaped)
