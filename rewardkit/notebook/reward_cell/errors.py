"""Where in a cell an error came from: while its file was imported, or of a component for some rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rewardkit.errors import InputError, describe_error
from rewardkit.findings import counted
from rewardkit.html.excerpts import one_line, visible
from rewardkit.probes.contract.watching import Wrapped, wrapping
from rewardkit.rewards.plan import ROLLOUT
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.calls import line_of
from rewardkit.scoring.deadlines import UNTRIED
from rewardkit.scoring.outcomes import STATUSES
from rewardkit.scoring.score import score
from rewardkit.scoring.scores import Scores

__all__ = [
    "CellError",
    "ComponentError",
    "asking_place",
    "component_errors",
    "explained",
    "place_in",
]

LINE_ENDS = re.compile("\r\n|\r|\n")  # as Python and the notebook count lines; a form feed is none
ABOVE = 1  # lines of a cell above those of its file: the one with the magic
LONGEST = 160  # characters of a line that are shown
SIBLINGS = 32  # rows of a group that are scored again to find the line of an error


class CellError(InputError):
    """What stops a reward cell: a sentence, and the line of the cell that it comes from."""

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


def place_in(source: str, line: int | None, column: int | None = None) -> str:
    """A line of the file of a cell, from 1, in words: its number in the cell, its text, the `column`.

    "" where the file has no such line.
    """
    lines = LINE_ENDS.split(source)
    if line is None or not 0 < line <= len(lines):
        return ""
    text = lines[line - 1]
    shown = f"line {line + ABOVE} of the cell:\n    {visible(text[:LONGEST])}"
    if column is None or not 0 < column <= LONGEST:
        return shown
    before = re.sub(r"[^\t]", " ", visible(text[: column - 1]))
    return f"{shown}\n    {before}^"


def explained(error: BaseException, source: str, file: str) -> str:
    """What an error says, in one line, and below it the line of the cell that it came from.

    `file` is what the code of the cell was compiled as, and `source` its text.
    """
    first = error.__cause__ if isinstance(error, InputError) and error.__cause__ else error
    what = str(first) if isinstance(first, InputError) else describe_error(first)
    column = None
    if isinstance(first, SyntaxError) and first.filename == file:
        what, column = f"{type(first).__name__}: {first.msg}", first.offset
    place = place_in(source, line_of(first, file), column)
    return one_line(what, 600) + (f"\n{place}" if place else "")


def asking_place(reward: Reward, columns: Collection[str], source: str, file: str) -> str:
    """Where in a cell the function stands that asks for a column which is not there; "" where none does."""
    for part in reward.inner:
        known = {*columns, *part.fields, *part.names, ROLLOUT}
        for call in (*part.field_calls.values(), *(item.call for item in part.components)):
            code = getattr(call.function, "__code__", None)
            if not known.issuperset(call.asks_for) and code is not None and code.co_filename == file:
                return place_in(source, code.co_firstlineno)
    return ""


@dataclass(frozen=True)
class ComponentError:
    """The most frequent error of a component, in how many rows, and the line of the cell it comes from."""

    component: str
    reason: str
    rows: int
    untried: int = 0  # rows for which no call was made any more, as others were late
    place: str = ""

    def __str__(self) -> str:
        what = f"{one_line(self.component)} fails for {counted(self.rows, 'row')}: {one_line(self.reason)}"
        what += f"; {self.untried:,} others were not tried" if self.untried else ""
        return f"{what}\n{self.place}" if self.place else what


def component_errors(
    scores: Scores, source: str, file: str, *, timeout: float | None
) -> tuple[ComponentError, ...]:
    """The most frequent error of each component that has any.

    The line is found by scoring again one of the rows, with its siblings, under the same `timeout`.
    """
    found, rows = [], []
    for name in scores.reward.names:
        failed = scores.status(name) == STATUSES.index("error")
        reasons = scores.table[f"error/{name}"].to_numpy()[failed].tolist()
        counts = Counter(reason for reason in reasons if not reason.startswith(UNTRIED))
        for reason, count in counts.most_common(1):
            found.append(ComponentError(name, reason, count, len(reasons) - counts.total()))
            rows.append(int(np.flatnonzero(failed)[reasons.index(reason)]))
    if not found:
        return ()
    siblings = [np.flatnonzero(scores.groups == scores.groups[row])[:SIBLINGS].tolist() for row in rows]
    chosen = sorted({*rows, *(row for some in siblings for row in some)})
    placing = wrapping(scores.reward, lambda function: Placed(function, file))
    again = score(placing, scores.rollouts.select(chosen), timeout=timeout, patience=1)
    return tuple(
        replace(item, place=place_in(source, _raised_at(again, item.component, chosen.index(row))))
        for item, row in zip(found, rows, strict=True)
    )


def _raised_at(scores: Scores, component: str, row: int) -> int | None:
    """The line at which a component, or the field that it asks for, raised for a row."""
    found = re.search(rf"{RAISED_AT}(\d+)$", scores.table[f"error/{component}"].iloc[row] or "")
    return int(found[1]) if found else None


RAISED_AT = "RaisedAt: "
"""Before the line, in the reason of a row."""


class RaisedAt(Exception):
    """Raised in place of an error; its text is the line."""


@dataclass(frozen=True, repr=False)
class Placed(Wrapped):
    """A user's function that raises `RaisedAt` the innermost line of this `file` that an error came from."""

    file: str

    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        """What the function gives."""
        try:
            answer = self.function(*positional, **keywords)
        except Exception as error:
            raise self._placed(error) from error
        return self._later(answer) if self.is_async else answer

    async def _later(self, answer: Any) -> Any:
        try:
            return await answer
        except Exception as error:
            raise self._placed(error) from error

    def _placed(self, error: Exception) -> Exception:
        line = line_of(error, self.file)
        return error if line is None else RaisedAt(line)
