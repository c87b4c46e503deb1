"""What a reward cell shows: where it was saved, what changed, its contract, scores and cases."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from rewardkit.analysis.compare import compare
from rewardkit.analysis.comparison.comparison import moved
from rewardkit.analysis.comparison.definition_changes import definition_changes
from rewardkit.errors import InputError
from rewardkit.html import markup
from rewardkit.html.excerpts import one_line
from rewardkit.notebook.display import Show
from rewardkit.notebook.reward_cell.errors import ComponentError
from rewardkit.notebook.tiles import probe_tiles
from rewardkit.probes.probe import ProbeResult
from rewardkit.probes.results.rendering import finding_text
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.cases import CheckResult
from rewardkit.scoring.scores import Scores

__all__ = ["Saved", "Written", "changes"]

MOVES = 3  # lines of what a comparison of rewards tells: rewards, advantages, order of siblings


@dataclass(frozen=True, eq=False)
class Saved:
    """A reward file as it was saved, with its reward and scores where it was run."""

    data: bytes
    reward: Reward
    scores: Scores | None = None


def changes(before: Saved, after: Saved) -> list[str]:
    """What changed from one to the other: lines, definition, and rewards where the rollouts are the same."""
    old, new = (one.data.decode("utf-8", "replace").splitlines() for one in (before, after))
    signs = [line[0] for line in list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]]
    told = definition_changes(before.reward.record(), after.reward.record())
    lines = f"+{signs.count('+')} -{signs.count('-')} lines"
    return [lines, *(one_line(item) for item in told if item.what != "source"), *_of_rewards(before, after)]


def _of_rewards(before: Saved, after: Saved) -> list[str]:
    a, b = before.scores, after.scores
    if a is None or b is None or a.rollouts.fingerprint != b.rollouts.fingerprint:
        return []
    try:
        found = compare(a, b)
    except InputError as error:
        return [f"rewards are not compared: {one_line(error)}"]
    return [one_line(line, 400) for line in moved(found)[:MOVES]] if found.changed else ["no reward changed"]


@dataclass(frozen=True, eq=False)
class Written:
    """What became of a reward cell.

    `saved` says where, `changes` what is other than when it was saved before, `made` what the names in the
    notebook are. ``None``: no rollouts for the contract and the scores, or no cases.
    """

    saved: str
    made: str
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    contract: ProbeResult | None = None
    scores: Scores | None = None
    errors: tuple[ComponentError, ...] = ()
    cases: CheckResult | None = None

    def __repr__(self) -> str:
        lines = [self.saved, *(f"  {line}" for line in self.changes), self.made, *self.notes]
        if self.contract is not None:
            kept = probe_tiles(self.contract)[1]
            lines.append(f"contract: {kept.figure}, {kept.said}")
            lines += [finding_text(item, self.contract.reward) for item in self.contract.findings]
        lines += [] if self.scores is None else [repr(self.scores)]
        lines += map(str, self.errors)
        return "\n".join(lines if self.cases is None else [*lines, repr(self.cases)])

    def _repr_html_(self) -> str:
        show = Show()
        moved = markup.listed(map(markup.escaped, self.changes))
        said = f"<p><b>{markup.escaped(self.saved)}</b></p>{moved}{show.note(self.made, *self.notes).data}"
        parts = [f'<div class="rewardkit">{said}</div>']
        parts += [] if self.contract is None else [show.contract(self.contract).data]
        parts += [] if self.scores is None else [show.scores(self.scores).data]
        parts += [f'<div class="rewardkit">{markup.code(error)}</div>' for error in self.errors]
        parts += [] if self.cases is None else [show.misses(self.cases).data]
        return "".join(parts)
