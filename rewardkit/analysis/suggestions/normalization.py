"""What the usual normalizations of a reward would do to the advantages, measured on the rollouts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from rewardkit.analysis.statistics.groups import Floats, group_stats
from rewardkit.analysis.statistics.signal import moved as moved_share
from rewardkit.analysis.statistics.signal import of_one_size, sample_size, top_decile
from rewardkit.analysis.view import View
from rewardkit.findings import percent
from rewardkit.primitives.weights import Transform, min_max, rank, standardise
from rewardkit.rewards.training import Training

__all__ = ["FIGURES", "Normalization", "normalizations"]

NO_EFFECT = 0.005
"""Share of the advantage that moves; less is rounding and the 1e-4 in the denominators. Our choice."""
CLIP = 3.0
SUMMED: dict[str, Any] = {"estimator": None, "multi_objective_aggregation": "sum_then_normalize"}
GDPO: dict[str, Any] = {"estimator": None, "multi_objective_aggregation": "normalize_then_sum"}
CLIPPED = f"clip at {CLIP:g} sigma and standardise over the batch"
TRANSFORMS: dict[str, tuple[str, Transform]] = {
    "standardise": (CLIPPED, standardise(clip=CLIP, within="batch")),
    "min_max": ("min-max over the batch", min_max(within="batch")),
    "standardise_group": (f"standardise within the group, clip at {CLIP:g} sigma", standardise(clip=CLIP)),
    "min_max_group": ("min-max within the group", min_max()),
    "rank_group": ("rank within the group", rank()),
}
"""Maps of the whole reward."""
EACH = {"standardise": "standardise", "min_max": "min_max", "rank": "rank_group"}
"""Those that are tried on each component, too."""
SCALINGS = {"group_std": "group", "batch_std": "batch", "no_std": "none"}
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
class Normalization:
    """One way to normalise and what it does to the advantages.

    `line` makes it: code, or settings of the trainer that the diagnosis is for; "" where there are none.
    `changed` is the share of the absolute advantage, before and after, that differs, both sides scaled to the
    same size (an optimiser's step size takes up a common factor); `sign_changes` the share of the rows with
    an advantage on both sides whose sign turns; `top_decile` the share of the absolute advantage in the tenth
    of the groups that holds most; `small_groups` the share in groups whose reward varies less than a tenth of
    the usual group; `sample_size` the effective sample size as a share of the rows; `zero_std` the share of
    groups without a signal. `works`: whether it changes anything.
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
        return self.code != "as_is" and (self.changed >= NO_EFFECT or self.sign_changes > 0)

    def record(self) -> dict[str, Any]:
        """The entry as plain data."""
        return asdict(self)


def normalizations(view: View) -> list[Normalization]:
    """The table of normalizations under the view's own advantage scaling, first the reward as it is.

    Empty where no reward is judged. None of them gives a group of tied sums a signal, which `zero_std` shows.
    """
    if np.isnan(view.rewards).all():
        return []
    rows = [_measure(view, "as_is", "as it is", "", view.advantages)]
    for code, (what, transform) in TRANSFORMS.items():
        after = view.advantages_of(transform(view.rewards, view.groups))
        line = f"rk.Reward(..., transform=rk.weigh.{transform!r})"
        rows.append(_measure(view, code, what, line, after, cut=_cut(view.rewards, transform, "reward")))
    return [*rows, *_by_component(view), *_by_setting(view)]


def _by_component(view: View) -> Iterator[Normalization]:
    """Maps of each component before summing; none for what is no sum.

    Over the batch min-max is a change of weights, and its line says so.
    """
    if not view.additive and view.training.name != "gdpo":
        return
    columns = {name: view.scores[name] for name in view.names}
    spans = {
        name: np.ptp(values[~np.isnan(values)])
        for name, values in columns.items()
        if not np.isnan(values).all()
    }
    stretched = {
        name: float(f"{view.components[name].weight / span:.4g}") for name, span in spans.items() if span
    }
    for name, of in EACH.items():
        what, transform = TRANSFORMS[of]
        changed = np.column_stack([transform(values, view.groups) for values in columns.values()])
        total = np.nan_to_num(changed) @ view.weights
        total[view.gate == 0], total[np.isnan(view.rewards)] = 0.0, np.nan
        paid = {key: values for key, values in columns.items() if view.components[key].weight > 0}
        cut = ", ".join(
            filter(None, (_cut(values, transform, f"score of {key!r}") for key, values in paid.items()))
        )
        yield _measure(
            view,
            f"{name}_components",
            f"each component: {what}",
            f"scores.reweigh({stretched})" if name == "min_max" else "",
            view.advantages_of(total, columns=changed),
            cut=cut,
        )


def _by_setting(view: View) -> Iterator[Normalization]:
    """Other settings of the trainer."""
    for code, scaling in SCALINGS.items():
        other = replace(view.training, **SUMMED, scale_rewards=scaling)  # type: ignore[arg-type]
        if other.name != view.training.name:
            made = setting(view, other)
            remark = "" if made else f"; {view.training.trainer} has no setting for it"
            what = f"advantage with {code.replace('_', ' ')}"
            yield _measure(view, code, what, made, view.advantages_of(view.rewards, other), remark)
    if view.training.name != "gdpo":
        other = replace(view.training, **GDPO)
        remark = "" if view.additive else f"; it is a sum, where the reward is a {view.reward.aggregation}"
        what = "each component standardised in its group, then summed (GDPO)"
        after = view.advantages_of(view.rewards, other)
        yield _measure(view, "normalize_then_sum", what, setting(view, other), after, remark)


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


def _measure(
    view: View, code: str, what: str, line: str, after: Floats, remark: str = "", cut: str = ""
) -> Normalization:
    base = view.advantages
    moved, before, after = moved_share(base, after), of_one_size(base), of_one_size(after)
    known = ~np.isnan(before) & ~np.isnan(after)
    turned = np.sign(_snap(after[known])) * np.sign(_snap(before[known])) < 0
    small = view.stats.live & (view.stats.std < view.thresholds["small_std"] * view.usual_std)
    held = np.bincount(view.groups, np.abs(np.nan_to_num(after)), minlength=len(view.stats.count))
    stats = group_stats(after, view.groups)
    several = (stats.count > 1).sum()
    found = Normalization(
        code,
        what,
        line,
        "",
        moved,
        float(turned.mean()) if known.any() else 0.0,
        top_decile(after, view.groups),
        float(held[small].sum() / held.sum()) if held.any() else float("nan"),
        sample_size(after),
        float(stats.dead.sum() / several) if several else float("nan"),
        view.part,
    )
    return replace(found, effect=_effect(found, view, cut) + remark)


def _effect(found: Normalization, view: View, cut: str) -> str:
    """What a way does, in words; `cut` says what its clip cuts. Where signs change, that is an effect."""
    if found.code == "as_is":
        return "the advantages as they are now"
    if not found.works:
        why = (
            "group scaling cancels it"
            if view.training.scales_groups
            else "it only rescales all advantages alike"
        )
        if view.training.name == "gdpo":
            why = "GDPO standardises each component by itself"
        return f"no effect: {why}{cut and f', though {cut}'}"
    signs = f", and the sign of {percent(found.sign_changes)} of the rows" if found.sign_changes > 0 else ""
    return f"moves {percent(found.changed)} of the advantage{signs}{cut and f'; {cut}'}"


def _cut(scores: Floats, transform: Transform, what: str) -> str:
    """A word on the values that a clip over the batch cuts from above, the rare successes; "" without any."""
    known = scores[~np.isnan(scores)]
    if not isinstance(transform, standardise) or transform.within != "batch" or len(known) < 2:
        return ""
    cut = int((known > known.mean() + CLIP * known.std(ddof=1)).sum()) if np.ptp(known) else 0
    return f"the clip cuts {cut} rare high values of the {what}" if cut else ""


def _snap(advantages: Floats) -> Floats:
    """Without the last digits, so that a rounding error has no sign."""
    return np.where(np.abs(advantages) < 1e-6, 0.0, advantages)
