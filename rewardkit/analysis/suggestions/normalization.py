"""What the usual normalizations of a reward would do to the advantages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rewardkit.analysis.statistics import Floats, group_stats, in_both, ratio
from rewardkit.analysis.statistics.advantages import (
    moved,
    of_one_size,
    sample_size,
    top_decile,
)
from rewardkit.analysis.view import View
from rewardkit.findings import percent
from rewardkit.plain import PlainRecord, Record
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
SETTINGS: dict[str, tuple[str, Record]] = {
    "group_std": ("advantage with group std", {**SUMMED, "scale_rewards": "group"}),
    "batch_std": ("advantage with batch std", {**SUMMED, "scale_rewards": "batch"}),
    "no_std": ("advantage with no std", {**SUMMED, "scale_rewards": "none"}),
    "normalize_then_sum": (
        "each component standardised in its group, then summed (GDPO)",
        {"multi_objective_aggregation": "normalize_then_sum"},
    ),
}
"""Other settings of the trainer."""
NORMALIZATION_FIGURES = {
    "changed": ("moved", "share of the absolute advantage that it changes"),
    "sign_changes": (
        "sign changes",
        "share of the completions whose advantage turns its sign",
    ),
    "top_decile": (
        "top tenth of groups",
        "share of the absolute advantage in the groups that hold most",
    ),
    "sample_size": (
        "effective sample",
        "effective sample size, as a share of the rows",
    ),
    "zero_std": ("tied groups", "share of the groups without a signal"),
    "phantom": (
        "where nothing is right",
        "share of the squared advantage in groups in which nothing is right",
    ),
}
"""What each figure of a normalization is called, and what it says."""


@dataclass(frozen=True)
class Normalization(PlainRecord):
    """One way to normalise and what it does to the advantages.

    `line` makes it: code, or settings of the trainer; "" where there are none.
    `changed` is the share of the absolute advantage that differs, both sides scaled to
    the same size, as the step size takes up a common factor. `sign_changes` is the
    share of the rows with an advantage on both sides whose sign turns, `top_decile` the
    share of the absolute advantage in the tenth of the groups that holds most,
    `sample_size` the effective sample size as a share of the rows, `zero_std` the share
    of groups without a signal, `phantom` the share of the squared advantage in groups
    in which nothing is right.
    """

    code: str
    what: str
    line: str
    effect: str
    changed: float
    sign_changes: float
    top_decile: float
    sample_size: float
    zero_std: float
    phantom: float
    part: str = ""

    @property
    def works(self) -> bool:
        """Return whether it changes the advantages."""
        is_moved = self.changed >= NO_EFFECT or self.sign_changes > 0
        return is_moved and self.code != "as_is"


def normalizations(view: View) -> list[Normalization]:
    """Return the table of normalizations, first the reward as it is.

    Empty where no reward is judged. None of them gives a group of tied sums a signal,
    which `zero_std` shows.
    """
    if not view.is_judged.any():
        return []
    rows = [_measure(view, "as_is", "as it is", "", view.advantages)]
    for code, (name, transform) in TRANSFORMS.items():
        after = view.advantages_of(transform(view.rewards, view.groups))
        line = f"rk.Reward(..., transform=rk.weigh.{transform!r})"
        rows.append(_measure(view, code, name, line, after))
    if view.additive or view.training.name == "gdpo":
        rows += _by_component(view)
    return [*rows, *_by_setting(view)]


def _by_component(view: View) -> Iterator[Normalization]:
    """Yield maps of each component before summing.

    Over the batch min-max is a change of weights, and its line says so.
    """
    stretched = {}
    for name, weight in zip(view.names, view.weights.tolist(), strict=True):
        column = pd.Series(view.scores[name])
        span = column.max() - column.min()
        if span > 0:
            stretched[name] = float(f"{weight / span:.4g}")
    for code, transform_code in EACH.items():
        title, transform = TRANSFORMS[transform_code]
        columns = [transform(view.scores[name], view.groups) for name in view.names]
        changed = np.column_stack(columns)
        total = np.nan_to_num(changed) @ view.weights
        total[view.gate == 0] = 0.0
        total[~view.is_judged] = np.nan
        yield _measure(
            view,
            f"{code}_components",
            f"each component: {title}",
            f"scores.reweigh({stretched})" if code == "min_max" else "",
            view.advantages_of(total, columns=changed),
        )


def _by_setting(view: View) -> Iterator[Normalization]:
    """Yield other settings of the trainer."""
    for code, (name, options) in SETTINGS.items():
        training = replace(view.training, estimator=None, **options)
        if training.name == view.training.name:
            continue
        line = _settings_line(view, training)
        remark = ""
        if training.name == "gdpo" and not view.additive:
            remark = f"; it is a sum, where the reward is a {view.reward.aggregation}"
        elif not line:
            remark = f"; {view.training.trainer} has no setting for it"
        after = view.advantages_of(view.rewards, training)
        yield _measure(view, code, name, line, after, remark=remark)
    verdicts = view.verdicts
    has_phantom = view.phantom_mass(view.advantages)[0].any()
    if verdicts is None or not verdicts.is_component or not has_phantom:
        return
    training = replace(view.training, filter_metric=verdicts.name)
    line = ""
    if view.training.trainer == "verl":
        line = (
            "algorithm.filter_groups.enable=True "
            f"algorithm.filter_groups.metric={verdicts.name}"
        )
    after = view.advantages_of(view.rewards, training)
    name = f"groups dropped in which {verdicts.name!r} does not vary (DAPO)"
    yield _measure(view, "filter_task", name, line, after)


def _settings_line(view: View, training: Training) -> str:
    """Return the settings that make the trainer of a view train so; "" without any.

    verl's are those of its command line. Of a trainer that is not known here, what
    rewardkit calls them.
    """
    if view.training.trainer == "verl":
        if training.name == "batch":
            return ""
        if training.name == "gdpo":
            keys = ",".join(view.names)
            weights = ",".join(f"{weight:g}" for weight in view.weights)
            return (
                "algorithm.adv_estimator=gdpo "
                f"+algorithm.gdpo_reward_keys=[{keys}] "
                f"+algorithm.gdpo_reward_weights=[{weights}]"
            )
        return (
            "algorithm.adv_estimator=grpo "
            f"algorithm.norm_adv_by_std_in_grpo={training.name == 'grpo'}"
        )
    call = "GRPOConfig" if view.training.trainer == "trl" else "rk.Training"
    if training.name == "gdpo":
        return f'{call}(multi_objective_aggregation="normalize_then_sum")'
    options = f'scale_rewards="{training.scale_rewards}"'
    if view.training.name == "gdpo":
        options += ', multi_objective_aggregation="sum_then_normalize"'
    return f"{call}({options})"


def _measure(
    view: View,
    code: str,
    name: str,
    line: str,
    advantages: Floats,
    *,
    remark: str = "",
) -> Normalization:
    before = of_one_size(view.advantages)
    after = of_one_size(advantages)
    is_turned = before.round(6) * after.round(6) < 0
    sign_changes = np.nan_to_num(ratio(is_turned, in_both(before, after)))
    stats = group_stats(after, view.groups)
    measured = Normalization(
        code,
        name,
        line,
        "the advantages as they are now",
        moved(view.advantages, advantages),
        float(sign_changes),
        top_decile(after, view.groups),
        sample_size(after),
        stats.dead_share,
        ratio(*view.phantom_mass(after)),
        view.part,
    )
    if code == "as_is":
        return measured
    effect = _describe_effect(measured, view.training)
    return replace(measured, effect=effect + remark)


def _describe_effect(measured: Normalization, training: Training) -> str:
    """Say what a normalization does."""
    if measured.works:
        effect = f"moves {percent(measured.changed)} of the advantage"
        if measured.sign_changes:
            share = percent(measured.sign_changes)
            effect += f", and the sign of {share} of the rows"
        return effect
    reason = "it only rescales all advantages alike"
    if training.name == "gdpo":
        reason = "GDPO standardises each component by itself"
    elif training.scales_groups:
        reason = "group scaling cancels it"
    return f"no effect: {reason}"
