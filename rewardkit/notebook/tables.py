"""Tables of figures for the notebooks: a record in, a data frame out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.diagnosis import Diagnosis

GROUP_SIZES = (2, 4, 8, 16, 32)  # as trainers have them


def group_sizes(
    diagnosis: Diagnosis, sizes: Sequence[int] = GROUP_SIZES
) -> pd.DataFrame:
    """Return the share of groups without a signal by group size (and part).

    ``groups`` is how many it is of: those with so many rewards, for a fit those with
    two or more; ``batches`` how many are sampled for a full one where such groups are
    dropped; ``how`` says whether the share is exact, fitted, or why there is none.
    """
    rows = [
        {
            "part": part,
            "group_size": size,
            "groups": share.groups,
            "without_a_signal": share.value,
            "from": share.interval[0],
            "to": share.interval[1],
            "batches": share.batches if share.value <= 1 else np.nan,
            "how": share.why or share.method,
        }
        for size in sizes
        for part, share in diagnosis.dead_share(size).items()
    ]
    return _table(rows)


def correlated(diagnosis: Diagnosis) -> pd.DataFrame:
    """Return how much two components say the same among siblings, a row a pair.

    The strongest come first; where there is no correlation, `why_not` says why.
    """
    pairs = [
        {"part": view.part, **pair}
        for view in diagnosis.views
        for pair in view.correlations.record()
    ]
    pairs.sort(key=lambda pair: -abs(np.nan_to_num(pair["value"])))
    return _table(pairs).rename(columns={"value": "correlation"})


def _table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the rows as a table, of a single part without its name."""
    table = pd.DataFrame(
        rows, dtype=object
    )  # as objects: Arrow-backed text takes no lone surrogates
    return table if table.empty or table["part"].any() else table.drop(columns="part")
