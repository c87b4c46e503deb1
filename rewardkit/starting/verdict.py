"""Find a log's own verdict: which completions its scores or labels call right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rewardkit.analysis.statistics import Floats, Mask
from rewardkit.findings import counted, percent
from rewardkit.rewards.recorded import possible_scores
from rewardkit.rollouts.columns import RIGHT_NAME
from rewardkit.rollouts.logs.log import SCORE_NAME
from rewardkit.rollouts.table import Rollouts
from rewardkit.starting.extractions import Extraction, Objects

FEWEST_VERDICTS = 20
"""Least judged rows for the verdict to choose a way to read. Our choice."""
BETTER_SHARE = 0.05
"""Least gain in agreement for which another way is chosen. Our choice."""
USUAL_AGREEMENT = 0.9
"""Least agreement for which truths are read as another kind. Our choice."""


@dataclass(frozen=True, eq=False)
class LogVerdict:
    """The verdict of a column of the log on completions.

    Attributes:
        name: The column.
        is_right: (rows,) 1.0 for right, 0.0 for wrong, NaN for missing.
    """

    name: str
    is_right: Floats

    def differs(self, scores: Objects) -> Mask:
        """Return the rows, (rows,), that these scores judge otherwise.

        A missing score (None) or verdict is no difference.
        """
        is_other = (scores == 1) != (self.is_right == 1)
        return np.asarray(self._is_judged(scores) & is_other, dtype=bool)

    def agreement(self, way: Extraction) -> float:
        """Return the share of rows on which a way to read answers agrees.

        It is the balanced mean over rows called right and rows called wrong. Otherwise
        a way that finds nothing right would agree on most rows if few are right.
        """
        judged = self._is_judged(way.scores)
        agrees = pd.Series(~self.differs(way.scores)[judged])
        shares = agrees.groupby(self.is_right[judged]).mean()
        return float(shares.mean()) if len(shares) else 0.0

    def is_enough(self, way: Extraction) -> bool:
        """Return whether it judges enough rows to compare a way to read with it."""
        return int(self._is_judged(way.scores).sum()) >= FEWEST_VERDICTS

    def choose(self, chosen: Extraction, ways: Sequence[Extraction]) -> Extraction:
        """Return the way that agrees clearly more often, else the chosen one."""
        if not self.is_enough(chosen):
            return chosen
        best = max(ways, key=self.agreement, default=chosen)
        if self.agreement(best) >= self.agreement(chosen) + BETTER_SHARE:
            return best
        return chosen

    def compare(self, scores: Objects) -> str:
        """Describe how often the log and these scores call a completion right."""
        judged = self._is_judged(scores)
        if not judged.any():
            share = percent(float(np.nanmean(self.is_right)))
            return f"the log's {self.name!r} calls {share} right"
        logged = percent(float(np.mean(self.is_right[judged] == 1)))
        share_right = percent(float(np.mean(scores[judged] == 1)))
        count = int(self.differs(scores).sum())
        outcome = "and they agree on each"
        if count:
            outcome = f"and they differ on {counted(count, 'completion')}"
        return (
            f"the log's {self.name!r} calls {logged} right, this reading "
            f"{share_right}, {outcome}"
        )

    def describe(self, rows: Sequence[int]) -> str:
        """Say which of one or two completions the log calls right."""
        verdicts = self.is_right[list(rows)].tolist()
        if np.isnan(verdicts).any():
            return ""
        if len(set(verdicts)) > 1:
            which = "only the first" if verdicts[0] else "only the second"
            return f"the log's {self.name!r} calls {which} right"
        which = "both" if len(verdicts) > 1 else "it"
        word = "right" if verdicts[0] else "wrong"
        return f"the log's {self.name!r} calls {which} {word}"

    def _is_judged(self, scores: Objects) -> Mask:
        return np.asarray(pd.notna(scores) & ~np.isnan(self.is_right), dtype=bool)


def find_verdict(rollouts: Rollouts) -> LogVerdict | None:
    """Return the verdict of a log, None if no score or label is one.

    Columns with a name such as "correct" come first, then the total, then other scores.
    A verdict is a share up to 1, of which 1 is right, or has two values, of which the
    higher is right.
    """
    logged = rollouts.logged.components
    columns = dict(logged)
    columns |= {name: name for name in possible_scores(rollouts)}
    names = [name for name in columns if RIGHT_NAME.fullmatch(name) or name == "label"]
    names += [name for name in columns if columns[name] == rollouts.logged.total]
    names += [name for name in columns if name in logged or SCORE_NAME.search(name)]
    for name in names:
        column = pd.to_numeric(rollouts.table[columns[name]], errors="coerce")
        values = column.to_numpy(dtype=float, na_value=np.nan)
        is_missing = np.isnan(values)
        levels = np.unique(values[~is_missing])
        if not len(levels):
            continue
        is_share = levels[0] >= 0 and levels[-1] == 1
        if is_share or not levels.any():
            right = 1.0
        elif len(levels) == 2:
            right = levels[1]
        else:
            continue
        verdicts = np.where(is_missing, np.nan, values >= right)
        return LogVerdict(name, verdicts)
    return None
