"""What the usual normalizations of a reward would do to the advantages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.statistics import Floats, group_stats
from rewardkit.analysis.statistics.advantages import (
    moved,
    of_one_size,
    sample_size,
    top_decile,
)
from rewardkit.analysis.view import View
from rewardkit.findings import percent
from rewardkit.plain import PlainRecord
from rewardkit.primitives.weights import Transform, min_max, rank, standardise
from rewardkit.rewards.training import Training

NO_EFFECT = 0.005
"""Share of the advantage that moves; less is rounding. Our choice."""
CLIP = 3.0
CLIPPED = f"clip at {CLIP:g} sigma and standardise over the batch"
TRANSFORMS: dict[str, tuple[str, Transform]] = {
    "standardise": (CLIPPED, standardise(clip=CLIP, within="batch")),
    "min_max": ("min-max over the batch", min_max(within="batch")),
    "standardise_group": (
        f"standardise within the group, clip at {CLIP:g} sigma",
        standardise(clip=CLIP),
    ),
    "min_max_group": ("min-max within the group", min_max()),
    "rank_group": ("rank within the group", rank()),
}
"""Maps of the whole reward."""
EACH = {"standardise": "standardise", "min_max": "min_max", "rank": "rank_group"}
"""Those that are tried on each component, too."""
SUMMED = {"multi_objective_aggregation": "sum_then_normalize"}
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "group_std": ("advantage with group std", {**SUMMED, "scale_rewards": "group"}),
    "batch_std": ("advantage with batch std", {**SUMMED, "scale_rewards": "batch"}),
    "no_std": ("advantage with no std", {**SUMMED, "scale_rewards": "none"}),
    "normalize_then_sum": (
        "each component standardised in its group, then summed (GDPO)",
        {"multi_objective_aggregation": "normalize_then_sum"},
    ),
}
"""Other settings of the trainer."""
FIGURES = {
    "changed": "moved",
    "sign_changes": "sign changes",
    "top_decile": "top tenth of groups",
    "small_groups": "small-spread groups",
    "sample_size": "effective sample",
    "zero_std": "tied groups",
}
"""What the figures of a normalization are called."""


@dataclass(frozen=True)
class Normalization(PlainRecord):
    """One way to normalise and what it does to the advantages.

    `line` makes it: code, or settings of the trainer that the diagnosis is for; ""
    where there are none. `changed` is the share of the absolute advantage, before and
    after, that differs, both sides scaled to the same size (an optimiser's step size
    takes up a common factor); `sign_changes` the share of the rows with an advantage on
    both sides whose sign turns; `top_decile` the share of the absolute advantage in the
    tenth of the groups that holds most; `small_groups` the share in groups whose reward
    varies less than a tenth of the usual group; `sample_size` the effective sample size
    as a share of the rows; `zero_std` the share of groups without a signal. `works`:
    whether it changes anything.
    """

    code: str
    what: str
    line: str
    effect: str
    changed: float
    sign_changes: float
    top_decile: float
    small_groups: float
    sample_size: float
    zero_std: float
    part: str = ""

    @property
    def works(self) -> bool:
        """Whether it changes the advantages."""
        return self.code != "as_is" and (
            self.changed >= NO_EFFECT or self.sign_changes > 0
        )


def normalizations(view: View) -> list[Normalization]:
    """Return the table of normalizations, first the reward as it is.

    Empty where no reward is judged. None of them gives a group of tied sums a signal,
    which `zero_std` shows.
    """
    if np.isnan(view.rewards).all():
        return []
    rows = [_measure(view, "as_is", "as it is", "", view.advantages)]
    for code, (what, transform) in TRANSFORMS.items():
        after = view.advantages_of(transform(view.rewards, view.groups))
        line, cut = (
            f"rk.Reward(..., transform=rk.weigh.{transform!r})",
            _cut(transform, reward=view.rewards),
        )
        rows.append(_measure(view, code, what, line, after, cut=cut))
    return [*rows, *_by_component(view), *_by_setting(view)]


def _by_component(view: View) -> Iterator[Normalization]:
    """Return maps of each component before summing; none for what is no sum.

    Over the batch min-max is a change of weights, and its line says so.
    """
    if not view.additive and view.training.name != "gdpo":
        return
    scores, weights = (
        view.scores,
        dict(zip(view.names, view.weights.tolist(), strict=True)),
    )
    spans = pd.DataFrame(scores).max() - pd.DataFrame(scores).min()
    stretched = {
        name: float(f"{weights[name] / spans[name]:.4g}")
        for name in scores
        if spans[name] > 0
    }
    paid = {
        f"score of {name!r}": scores[name] for name in view.names if weights[name] > 0
    }
    for code, of in EACH.items():
        what, transform = TRANSFORMS[of]
        changed = np.column_stack(
            [transform(scores[name], view.groups) for name in view.names]
        )
        total = np.nan_to_num(changed) @ view.weights
        total[view.gate == 0], total[np.isnan(view.rewards)] = 0.0, np.nan
        after = view.advantages_of(total, columns=changed)
        line = f"scores.reweigh({stretched})" if code == "min_max" else ""
        told = f"{code}_components", f"each component: {what}", line
        yield _measure(view, *told, after, cut=_cut(transform, **paid))


def _by_setting(view: View) -> Iterator[Normalization]:
    """Other settings of the trainer."""
    for code, (what, options) in SETTINGS.items():
        other = replace(view.training, estimator=None, **options)
        if other.name == view.training.name:
            continue
        made, remark = _setting(view, other), ""
        if other.name == "gdpo":
            remark = (
                ""
                if view.additive
                else f"; it is a sum, where the reward is a {view.reward.aggregation}"
            )
        elif not made:
            remark = f"; {view.training.trainer} has no setting for it"
        yield _measure(
            view, code, what, made, view.advantages_of(view.rewards, other), remark
        )


def _setting(view: View, other: Training) -> str:
    """Return the trainer's settings that give the advantages of `other`, or "".

    verl's are those of its command line. Of a trainer that is not known here, what
    rewardkit calls them.
    """
    if view.training.trainer == "verl":
        keys, weights = (
            ",".join(view.names),
            ",".join(f"{weight:g}" for weight in view.weights),
        )
        grpo = f"algorithm.adv_estimator=grpo algorithm.norm_adv_by_std_in_grpo={other.name == 'grpo'}"
        gdpo = f"+algorithm.gdpo_reward_keys=[{keys}] +algorithm.gdpo_reward_weights=[{weights}]"
        return {"batch": "", "gdpo": f"algorithm.adv_estimator=gdpo {gdpo}"}.get(
            other.name, grpo
        )
    call = "GRPOConfig" if view.training.trainer == "trl" else "rk.Training"
    if other.name == "gdpo":
        return f'{call}(multi_objective_aggregation="normalize_then_sum")'
    back = (
        ""
        if view.training.name != "gdpo"
        else ', multi_objective_aggregation="sum_then_normalize"'
    )
    return f'{call}(scale_rewards="{other.scale_rewards}"{back})'


def _measure(
    view: View,
    code: str,
    what: str,
    line: str,
    after: Floats,
    remark: str = "",
    cut: str = "",
) -> Normalization:
    base = view.advantages
    changed, before, after = moved(base, after), of_one_size(base), of_one_size(after)
    known = ~np.isnan(before) & ~np.isnan(after)
    turned = (
        np.prod([np.sign(side[known].round(6)) for side in (before, after)], axis=0) < 0
    )
    small = view.stats.live & (
        view.stats.std < view.thresholds["small_std"] * view.usual_std
    )
    held = np.bincount(
        view.groups, np.abs(np.nan_to_num(after)), minlength=len(view.stats.count)
    )
    stats = group_stats(after, view.groups)
    several = (stats.count > 1).sum()
    found = Normalization(
        code,
        what,
        line,
        "the advantages as they are now",
        changed,
        float(turned.mean()) if known.any() else 0.0,
        top_decile(after, view.groups),
        float(held[small].sum() / held.sum()) if held.any() else float("nan"),
        sample_size(after),
        float(stats.dead.sum() / several) if several else float("nan"),
        view.part,
    )
    return (
        found
        if code == "as_is"
        else replace(found, effect=_effect(found, view, cut) + remark)
    )


def _effect(found: Normalization, view: View, cut: str) -> str:
    """Say what a normalization does; `cut` says what its clip cuts."""
    if found.works:
        turned = (
            f", and the sign of {percent(found.sign_changes)} of the rows"
            if found.sign_changes
            else ""
        )
        return f"moves {percent(found.changed)} of the advantage{turned}{cut and f'; {cut}'}"
    why = "it only rescales all advantages alike"
    if view.training.name == "gdpo":
        why = "GDPO standardises each component by itself"
    elif view.training.scales_groups:
        why = "group scaling cancels it"
    return f"no effect: {why}{cut and f', though {cut}'}"


def _cut(transform: Transform, **scores: Floats) -> str:
    """Say how many rare successes a clip over the batch cuts from above, or ""."""
    said = []
    for what, values in scores.items():
        known = values[~np.isnan(values)]
        if (
            isinstance(transform, standardise)
            and transform.within == "batch"
            and len(known) > 1
        ):
            cut = (
                int((known > known.mean() + CLIP * known.std(ddof=1)).sum())
                if np.ptp(known)
                else 0
            )
            said += (
                [f"the clip cuts {cut} rare high values of the {what}"] if cut else []
            )
    return ", ".join(said)
