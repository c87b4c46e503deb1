"""What the usual normalizations of a reward would do to the advantages.

Measured on the user's own rollouts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rewardkit.analysis.statistics.groups import Floats, group_stats
from rewardkit.analysis.statistics.signal import moved as moved_share
from rewardkit.analysis.statistics.signal import of_one_size, sample_size, top_decile
from rewardkit.analysis.view import View
from rewardkit.findings import percent
from rewardkit.primitives.weights import Transform, min_max, rank, standardise
from rewardkit.rewards.training import Training

__all__ = ["Normalization", "normalizations"]

NO_EFFECT = (
    0.005  # share of the advantage that moves; less is rounding and the 1e-4 in the denominators: our choice
)
CLIP = 3.0
SUMMED: dict[str, Any] = {"estimator": None, "multi_objective_aggregation": "sum_then_normalize"}
GDPO: dict[str, Any] = {"estimator": None, "multi_objective_aggregation": "normalize_then_sum"}


@dataclass(frozen=True)
class Normalization:
    """One way to normalise and what it does to the advantages.

    `line` makes it: code, or settings of the trainer that the diagnosis is for; "" where there are none.
    `changed` is the share of the absolute advantage, before and after, that differs, both sides scaled to the
    same size (an optimiser's step size takes up a common factor); `sign_changes` the share of rows whose
    advantage changes sign; `top_decile` the share of the absolute advantage in the tenth of the groups that
    holds most; `small_groups` the share in groups whose reward varies less than a tenth of the typical group;
    `sample_size` the effective sample size as a share of the rows; `zero_std` the share of groups without a
    signal.
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

    def record(self) -> dict[str, Any]:
        """The entry as plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def normalizations(view: View) -> list[Normalization]:
    """The table of normalizations under the view's own advantage scaling, first the reward as it is.

    Empty where no reward is judged. None of them gives a group of tied sums a signal, which `zero_std` shows.
    """
    if not (~np.isnan(view.rewards)).any():
        return []
    base = view.advantages
    rows = [_measure(view, "as_is", "as it is", "", base, base)]
    for code, what, line, transform in _transforms():
        changed = transform(view.rewards, view.groups)
        after = view.advantages_of(changed)
        cut = _cut(view.rewards, transform, "reward{}") if "3 sigma" in what else ""
        rows.append(_measure(view, code, what, line, base, after, cut=cut))
    rows += list(_by_component(view, base))
    scalings: tuple[tuple[Literal["group", "batch", "none"], str], ...] = (
        ("group", "group std"),
        ("batch", "batch std"),
        ("none", "no std"),
    )
    for scaling, line in scalings:
        other = replace(view.training, **SUMMED, scale_rewards=scaling)
        if other.name != view.training.name:
            after, made = view.advantages_of(view.rewards, other), setting(view, other)
            remark = "" if made else f"; {view.training.trainer} has no setting for it"
            what = f"advantage with {line}"
            rows.append(_measure(view, line.replace(" ", "_"), what, made, base, after, remark))
    if view.training.name == "gdpo":
        return rows
    other = replace(view.training, **GDPO)
    after = view.advantages_of(view.rewards, other)
    line = setting(view, other)
    rows.append(
        _measure(
            view,
            "normalize_then_sum",
            "each component standardised in its group, then summed (GDPO)",
            line,
            base,
            after,
            "" if view.additive else f"; it is a sum, where the reward is a {view.reward.aggregation}",
        )
    )
    return rows


def setting(view: View, other: Training) -> str:
    """The settings of the view's trainer that give the advantages of `other`; "" where it has none.

    verl's are those of its command line. Of a trainer that is not known here, what rewardkit calls them.
    """
    name = other.name
    if view.training.trainer == "verl":
        if name == "gdpo":
            keys, weights = ",".join(view.names), ",".join(f"{weight:g}" for weight in view.weights)
            return (
                f"algorithm.adv_estimator=gdpo +algorithm.gdpo_reward_keys=[{keys}] "
                f"+algorithm.gdpo_reward_weights=[{weights}]"
            )
        if name == "batch":  # verl has no such scaling
            return ""
        return f"algorithm.adv_estimator=grpo algorithm.norm_adv_by_std_in_grpo={name == 'grpo'}"
    call = "GRPOConfig" if view.training.trainer == "trl" else "rk.Training"
    if name == "gdpo":
        return f'{call}(multi_objective_aggregation="normalize_then_sum")'
    back = "" if view.training.name != "gdpo" else ', multi_objective_aggregation="sum_then_normalize"'
    return f'{call}(scale_rewards="{other.scale_rewards}"{back})'


def _transforms() -> list[tuple[str, str, str, Transform]]:
    batch, group = "over the batch", "within the group"
    made: list[tuple[str, str, Transform]] = [
        ("standardise", f"clip at 3 sigma and standardise {batch}", standardise(clip=CLIP, within="batch")),
        ("min_max", f"min-max {batch}", min_max(within="batch")),
        ("standardise_group", f"standardise {group}, clip at 3 sigma", standardise(clip=CLIP)),
        ("min_max_group", f"min-max {group}", min_max()),
        ("rank_group", f"rank {group}", rank()),
    ]
    return [
        (code, what, f"rk.Reward(..., transform=rk.weigh.{transform!r})", transform)
        for code, what, transform in made
    ]


def _by_component(view: View, base: Floats) -> list[Normalization]:
    """The same maps on each component before summing; none for what is no sum.

    Over the batch min-max is a change of weights, and its line says so.
    """
    if not view.additive and view.training.name != "gdpo":
        return []
    columns, weights = view.score_columns, view.weights
    scale = {
        name: np.nanmax(column) - np.nanmin(column)
        for name, column in zip(view.names, columns.T, strict=True)
        if not np.isnan(column).all()
    }
    stretched = {
        name: float(f"{weight / scale[name]:.4g}")
        for name, weight in zip(view.names, weights, strict=True)
        if scale.get(name)
    }
    reweighed = f"scores.reweigh({stretched})"
    ways = [
        (
            "standardise",
            "clip at 3 sigma and standardise over the batch",
            "",
            standardise(clip=CLIP, within="batch"),
        ),
        ("min_max", "min-max over the batch", reweighed, min_max(within="batch")),
        ("rank", "rank within the group", "", rank()),
    ]
    rows = []
    for code, what, line, transform in ways:
        changed = np.column_stack([transform(column, view.groups) for column in columns.T])
        total = np.where(np.isnan(changed), 0.0, changed) @ weights
        total[view.gate == 0], total[np.isnan(view.rewards)] = 0.0, np.nan
        after = view.advantages_of(total, columns=changed)
        said = [
            _cut(column, transform, f"score{{}} of {name!r}")
            for name, column, weight in zip(view.names, columns.T, weights, strict=True)
            if "3 sigma" in what and weight > 0
        ]
        cut = ", ".join(item for item in said if item).replace(", the clip cuts ", ", ")
        rows.append(
            _measure(view, f"{code}_components", f"each component: {what}", line, base, after, cut=cut)
        )
    return rows


def _measure(
    view: View, code: str, what: str, line: str, base: Floats, after: Floats, remark: str = "", cut: str = ""
) -> Normalization:
    moved, before, after = moved_share(base, after), of_one_size(base), of_one_size(after)
    flipped = float(np.nanmean((np.sign(_snap(after)) * np.sign(_snap(before))) < 0))
    typical = np.nanmedian(view.stats.std[view.stats.live]) if view.stats.live.any() else np.nan
    small = view.stats.live & (view.stats.std < view.thresholds["small_std"] * typical)
    held = np.bincount(view.groups, np.abs(np.nan_to_num(after)), minlength=len(view.stats.count))
    stats = group_stats(after, view.groups)
    counted = stats.live.sum() + stats.dead.sum()
    return Normalization(
        code,
        what,
        line,
        _effect(code, view, moved, flipped, cut) + remark,
        moved,
        flipped,
        top_decile(after, view.groups),
        float(held[small].sum() / held.sum()) if held.any() else float("nan"),
        sample_size(after),
        float(stats.dead.sum() / counted) if counted else float("nan"),
        view.part,
    )


def _effect(code: str, view: View, moved: float, flipped: float, cut: str) -> str:
    """What a way does, in words; `cut` says what its clip cuts. Where signs change, that is an effect."""
    if code == "as_is":
        return "the advantages as they are now"
    if moved < NO_EFFECT and not flipped:
        scales = view.training.scales_groups
        why = "group scaling cancels it" if scales else "it only rescales all advantages alike"
        if view.training.name == "gdpo":
            why = "GDPO standardises each component by itself"
        return f"no effect: {why}{cut and f', though {cut}'}"
    signs = f", and the sign of {percent(flipped)} of the rows" if flipped > 0 else ""
    return f"moves {percent(moved)} of the advantage{signs}{cut and f'; {cut}'}"


def _cut(scores: Floats, transform: Transform, what: str) -> str:
    """A word on the values that a clip over the batch cuts from above, the rare successes; "" without any."""
    known = scores[~np.isnan(scores)]
    spread = known.std(ddof=1) if len(known) > 1 and transform.within == "batch" else 0.0
    cut = int((known > known.mean() + CLIP * spread).sum()) if spread else 0
    if not cut:
        return ""
    return f"the clip cuts {cut} rare high {what.format('s' if cut > 1 else '')}"


def _snap(advantages: Floats) -> Floats:
    """Without the last digits, so that a rounding error has no sign."""
    return np.where(np.abs(advantages) < 1e-6, 0.0, advantages)
