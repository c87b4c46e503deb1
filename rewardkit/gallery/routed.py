"""Several tasks in one run: each row is paid by the reward of its `data_source`.

What it is for: mixtures. The sources here are word problems, multiple choice, JSON
records and Chinese mathematics, with the gallery's own rewards, all of which pay 1.0
for the task and at most 0.2 for form, so that no source drowns the others. A row of
another source is not judged: reward NaN, status "abstained", so that it is seen before
a run: a default reward would pay it by the wrong rule, and 0.0 would call it wrong.

What it misses: an hour of one source is not an hour of another. Where the shares of
right answers differ, so do the groups that carry a signal: look at the findings of each
source, not at the mean of all.
"""

from __future__ import annotations

import rewardkit as rk
from rewardkit.gallery import chinese, gsm8k, json_record, multiple_choice

reward = rk.Route(
    "data_source",
    {
        "gsm8k": gsm8k.reward,
        "choice": multiple_choice.reward,
        "invoices": json_record.reward,
        "chinese": chinese.reward,
    },
    name="routed-v1",
)
