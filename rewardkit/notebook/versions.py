"""The versions of a reward file that a notebook saved, in memory, and what changed between two of them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from itertools import islice

from rewardkit.analysis.compare import compare
from rewardkit.analysis.comparison.comparison import moved
from rewardkit.analysis.comparison.definition_changes import Change, definition_changes
from rewardkit.errors import InputError
from rewardkit.html import markup
from rewardkit.html.excerpts import one_line, visible
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.scores import Scores

__all__ = ["Difference", "History", "Version", "changed"]

LINES = 400  # of a difference that are shown
WRAPPED = "white-space:pre-wrap;overflow-wrap:anywhere"
SHADES = {"+": "rgba(0,158,115,.18)", "-": "rgba(213,94,0,.18)"}  # seen on light and dark; the sign says it


@dataclass(frozen=True, eq=False)
class Version:
    """The content of a reward file, with its reward and scores where it was run."""

    data: bytes
    reward: Reward | None = None
    scores: Scores | None = None

    @property
    def lines(self) -> list[str]:
        """Its lines, in which another line end than a line feed, or none, can be seen."""
        *lines, last = self.data.decode("utf-8", "replace").split("\n")
        return [visible(line) for line in lines] + ([f"{visible(last)}⟨no line end⟩"] if last else [])


@dataclass(frozen=True, eq=False)
class History:
    """The version of a file that a notebook saved last, and the one it replaced, ``None`` for a new file."""

    saved: Version
    before: Version | None = None

    @classmethod
    def first(cls, found: bytes | None, data: bytes) -> History:
        """That of a file which was saved for the first time, over what was `found` on disk."""
        return cls(Version(data), None if found is None else Version(found))

    def then(self, found: bytes | None, data: bytes) -> History:
        """The history once `data` is saved over what was `found` on disk."""
        if data == self.saved.data == found:
            return self
        if found in (None, data, self.saved.data):
            return History(Version(data), self.saved)
        return History(Version(data), Version(found))  # changed by another hand: that is what is replaced


def changed(before: Version, after: Version) -> str:
    """What changed, in one line."""
    return "; ".join([*(one_line(item) for item in _changes(before, after)), _counts(before, after)])


def _counts(before: Version | None, after: Version) -> str:
    """How many lines came and went: "+3 -1 lines"."""
    signs = [line[0] for line in _unified(before, after, context=0)]
    return f"+{signs.count('+')} -{signs.count('-')} lines"


def _changes(before: Version | None, after: Version) -> list[Change]:
    """What changed of the definition, where both versions were run; not that the source did."""
    if before is None or before.reward is None or after.reward is None:
        return []
    found = definition_changes(before.reward.record(), after.reward.record())
    return [item for item in found if item.what != "source"]


def _unified(before: Version | None, after: Version, *, context: int = 3) -> list[str]:
    """The lines of a unified difference, without its head."""
    old = before.lines if before else []
    return list(islice(difflib.unified_diff(old, after.lines, lineterm="", n=context), 2, None))


@dataclass(frozen=True, eq=False)
class Difference:
    """A file as it is against the version before the last one that was saved: its lines, and what they do."""

    head: str
    lines: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, name: str, history: History, now: bytes) -> Difference:
        """Of the file called `name`, which now has this content."""
        before, saved = history.before, history.saved
        current = saved if now == saved.data else Version(now)
        lines = tuple(_unified(before, current))
        against = "against the version before the last save" if before else "all new: it replaced no file"
        head = f"{name}, {_counts(before, current)}, {against}" if lines else f"{name} is as it was before"
        notes = [one_line(item) for item in _changes(before, current)]
        if current is not saved:
            notes.append("it was changed outside of this notebook since it was saved here")
        return cls(head, lines, (*notes, *_of_rewards(before, current)))

    def __repr__(self) -> str:
        return "\n".join([self.head, *self._notes("  "), *self.lines[:LINES], *self._left])

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{markup.escaped(note)}</li>" for note in self.notes)
        body = "".join(map(_line_html, [*self.lines[:LINES], *self._left]))
        return (
            f'<div class="rewardkit"><p><b>{markup.escaped(self.head)}</b></p><ul>{notes}</ul>'
            f'<pre style="{WRAPPED}">{body}</pre></div>'
        )

    def _notes(self, indent: str) -> list[str]:
        return [f"{indent}{note}" for note in self.notes]

    @property
    def _left(self) -> list[str]:
        left = len(self.lines) - LINES
        return [f"... {left} more lines"] if left > 0 else []


def _line_html(line: str) -> str:
    shade = SHADES.get(line[:1])
    style = f' style="background:{shade}"' if shade else ""
    return f"<span{style}>{markup.escaped(line)}</span>\n"


def _of_rewards(before: Version | None, after: Version) -> list[str]:
    """What changed in rewards, where both versions were scored on the same rollouts."""
    if before is None or before.scores is None or after.scores is None:
        return []
    if before.scores.rollouts.fingerprint != after.scores.rollouts.fingerprint:
        return ["rewards are not compared, as the two were scored on different rollouts"]
    try:
        found = compare(before.scores, after.scores)
    except InputError as error:
        return [f"rewards are not compared: {one_line(error)}"]
    if not found.changed:
        return ["no reward changed"]
    return [one_line(line, 400) for line in moved(found)[:3]]
