"""What a reward cell shows: where it was saved, what changed, its contract, components and cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rewardkit.html import markup
from rewardkit.html.excerpts import one_line
from rewardkit.notebook.display import Show
from rewardkit.notebook.reward_cell.errors import ComponentError
from rewardkit.notebook.tiles import probe_tiles
from rewardkit.probes.probe import ProbeResult
from rewardkit.probes.results.rendering import finding_text
from rewardkit.scoring.cases import CheckResult
from rewardkit.scoring.outcomes import STATUSES
from rewardkit.scoring.scores import Scores

__all__ = ["Written", "component_rows"]

HEADER = ("component", "mean", "rows")


@dataclass(frozen=True, eq=False)
class Written:
    """What became of a reward cell.

    `saved` says where, `changes` what is other than when it was saved before, `made` what the names in the
    notebook are; `components` has a row each. ``None``: no rollouts for the contract, or no cases.
    """

    saved: str
    made: str
    changes: tuple[str, ...] = ()
    contract: ProbeResult | None = None
    components: tuple[tuple[str, str, str], ...] = ()
    errors: tuple[ComponentError, ...] = ()
    cases: CheckResult | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = [self.saved, *(f"  {line}" for line in self.changes), self.made, *self.notes]
        if self.contract is not None:
            kept = probe_tiles(self.contract)[1]
            lines.append(f"contract: {kept.figure}, {kept.said}")
            lines += [finding_text(item, self.contract.reward) for item in self.contract.findings]
        if self.components:
            lines += markup.aligned([HEADER, *self.components])
        lines += map(error_text, self.errors)
        return "\n".join(lines if self.cases is None else [*lines, repr(self.cases)])

    def _repr_html_(self) -> str:
        show = Show()
        moved = markup.listed(map(markup.escaped, self.changes))
        said = f"<p><b>{markup.escaped(self.saved)}</b></p>{moved}{show.note(self.made, *self.notes).data}"
        parts = [f'<div class="rewardkit">{said}</div>']
        if self.contract is not None:
            parts.append(show.contract(self.contract).data)
        if self.components:
            rows = markup.table(HEADER, self.components, numeric=("mean",))
            parts.append(f'<div class="rewardkit">{rows}</div>')
        parts += [f'<pre style="{WRAPPED}">{markup.escaped(error_text(item))}</pre>' for item in self.errors]
        if self.cases is not None:
            parts.append(show.misses(self.cases).data)
        return "".join(parts)


WRAPPED = "white-space:pre-wrap;overflow-wrap:anywhere"


def error_text(error: ComponentError) -> str:
    """The most frequent error of a component in words, and below it the line of the cell."""
    rows = f"{error.rows:,} {'row' if error.rows == 1 else 'rows'}"
    what = f"{one_line(error.component)} fails for {rows}: {one_line(error.reason)}"
    what += f"; {error.untried:,} others were not tried" if error.untried else ""
    return f"{what}\n{error.place}" if error.place else what


def component_rows(scores: Scores) -> tuple[tuple[str, str, str], ...]:
    """A row a component: name, mean of what was scored, and how many rows have which status."""
    rows = []
    for name, counts in scores.counts.items():
        found = scores.score(name)
        mean = f"{np.nanmean(found):.3f}" if counts["scored"] else "-"
        told = ", ".join(f"{counts[status]:,} {status}" for status in STATUSES if counts[status])
        if counts["scored"] and name in scores.unbounded:
            told += f", from {np.nanmin(found):.4g} to {np.nanmax(found):.4g}"
        rows.append((name, mean, told))
    return tuple(rows)
