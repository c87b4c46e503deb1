"""diagnose(): Scores -> findings on sparsity, clustering, variance, group signal and components."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis import slices
from rewardkit.analysis.arguments import check_label, check_seed, names_of
from rewardkit.analysis.findings import RULES, THRESHOLDS
from rewardkit.analysis.findings.log import not_finite, of_log, only_finite
from rewardkit.analysis.make_view import make_view
from rewardkit.analysis.rendering import diagnosis_page
from rewardkit.analysis.statistics.bootstrap import Bootstrap
from rewardkit.analysis.statistics.dead_share import DeadShare, dead_share
from rewardkit.analysis.tables import component_row, highest, over_steps, signal_of
from rewardkit.analysis.view import View
from rewardkit.errors import Cancelled, InputError, did_you_mean, preview
from rewardkit.findings import SEVERITIES, Finding, counted, run_rules
from rewardkit.html.pages import HasPage, Page
from rewardkit.rewards.plan import Part
from rewardkit.rewards.training import Training
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.scores import Scores


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(HasPage):
    """What was found in scores: `findings`, most severe first behind what the log itself contradicts.

    `views` hold the arrays they were computed from, one a data source; `by` names the columns whose values
    were looked at by themselves.
    """

    scores: Scores
    findings: tuple[Finding, ...]
    training: Training
    seed: int
    views: tuple[View, ...] = field(repr=False)
    by: tuple[str, ...] = ()

    def __getitem__(self, code: str) -> list[Finding]:
        """The findings with this code."""
        return [finding for finding in self.findings if finding.code == code]

    @property
    def worst(self) -> str | None:
        """The highest severity found."""
        return min(
            (item.severity for item in self.findings),
            key=SEVERITIES.index,
            default=None,
        )

    @cached_property
    def components(self) -> pd.DataFrame:
        """One row a component (and part), with what its scores look like.

        The columns: weight, effective weight, counts by status, mean, std, lowest and highest score, share at
        the ends of the range.

        ``effective_weight`` is the share of the squared advantage (NaN where it cannot be told),
        ``sign_influence`` the share of the advantages whose sign turns without the component, ``between`` the
        share of the variance that lies between groups, which group advantages never see, ``dead_groups`` the
        share of groups whose siblings all got the same score.
        """
        return pd.DataFrame(
            [component_row(view, name) for view in self.views for name in view.names]
        )

    @cached_property
    def group_signal(self) -> pd.DataFrame:
        """One row a slice (all rows, then each value of the columns that make a group, and of those in `by`).

        The columns: groups, mean reward, mean of the primary component, share of groups without a signal,
        share without a right completion.

        ``top_decile`` is the share of the absolute advantage in the tenth of the groups that holds most,
        ``sample_size`` the effective sample size of the absolute advantage as a share of the rows,
        ``merged_vectors`` how many of the distinct vectors of paid scores that siblings have get the
        advantage of another one: 1 - distinct advantages / distinct vectors, within groups that have an
        advantage. What a vector says is lost there; to normalise each component before adding loses less.
        """
        rows = []
        names = [
            *slices.usable(self.scores, self.scores.rollouts.group_key[1:]),
            *self.by,
        ]
        for view in self.views:
            whole = Part(view.part, view.reward, view.rows)
            rows.append(
                {
                    "slice": view.part or "all",
                    **signal_of(view, np.ones(len(view), dtype=bool)),
                }
            )
            for item in slices.rows_by(self.scores, whole, list(dict.fromkeys(names))):
                rows.append(
                    {
                        "slice": item.label,
                        **signal_of(view, np.isin(view.rows, item.rows)),
                    }
                )
        labels = pd.Series(
            [row.pop("slice") for row in rows], dtype=object
        )  # may hold lone surrogates
        table = pd.DataFrame(rows)
        table.insert(0, "slice", labels)
        return table

    def over_steps(self, window: int = 1) -> pd.DataFrame:
        """How the reward and each component are distributed at each step of a run; empty without steps.

        One row a step and figure ("reward", then the components): rows, mean, std, the 5, 25, 50, 75 and 95 %
        quantiles, the share of the scores at the minimum of the range, the share of the groups that are tied.
        Each is of the last `window` steps together. InputError: a window that is no whole number from 1 on.
        """
        if not isinstance(window, int) or isinstance(window, bool) or window < 1:
            raise InputError(
                f"window={window!r} is not a whole number of steps from 1 on"
            )
        return pd.concat(
            [over_steps(view, window) for view in self.views], ignore_index=True
        )

    def highest(self, n: int = 8) -> pd.DataFrame:
        """The `n` completions of highest reward (of each part), diverse, to read what is really paid for.

        One row a completion, best first: rollout_id, the columns of its group, reward, advantage,
        ``score/<component>`` of each paid component, completion. At most one a prompt while there are
        prompts, and none nearly the same text as another, so that there may be fewer; of equal rewards the
        one of higher advantage. They are looked for among the 500 highest rewards. InputError: no `n` > 0.

        >>> import rewardkit as rk
        >>> reward = rk.load_reward("gallery:arithmetic.flawed")
        >>> rk.diagnose(rk.score(reward, "gallery:arithmetic")).highest(3)["reward"].is_monotonic_decreasing
        True
        """
        if not isinstance(n, int) or isinstance(n, bool) or n < 1:
            raise InputError(
                f"highest takes a number of completions from 1 on, not {n!r}"
            )
        return pd.concat(
            [highest(self.scores, view, n) for view in self.views], ignore_index=True
        )

    def dead_share(self, size: int) -> dict[str, DeadShare]:
        """The share of groups without a signal that groups of `size` would have, by part of the reward.

        Where groups without spread in a `filter_metric` are dropped, it is that metric's.
        """
        return {
            view.part: dead_share(view.filtered_by, view.groups, view.bootstrap, size)
            for view in self.views
        }

    def record(self) -> dict[str, Any]:
        """The diagnosis as plain data; with the settings' size of a group, what its share of dead ones is."""
        size = self.training.num_generations
        shares = self.dead_share(size) if size is not None else {}
        return {
            "reward": self.scores.reward.name,
            "rows": len(self.scores),
            "training": self.training.record(),
            "dead_share": [
                {"part": part, **share.record()} for part, share in shares.items()
            ],
            "findings": [finding.record() for finding in self.findings],
        }

    def page(self) -> Page:
        """Return a verdict and the three findings that matter most, the others folded."""
        on = f"{counted(len(self.scores), 'rollout')}, {self.training}."
        return diagnosis_page(self.scores.reward.name, on, self.findings, self.views)


def diagnose(
    scores: Scores,
    *,
    training: Any = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    by: Sequence[str] | None = None,
    seed: int = 0,
    thresholds: Mapping[str, float] | None = None,
    progress: Callable[[float], bool] | None = None,
) -> Diagnosis:
    """Findings on what these scores would do to training under group advantages.

    `training` says which advantages the figures are of, as `Training.of` takes it. `label` names a column
    that is trusted to say which completions are good, of two values; `columns` the columns of numbers that
    are held against the advantages (all that the rollouts have). Each value of the columns `by` is looked at
    as well, by itself (data_source, task, policy and step, where the rollouts have them and siblings share
    them), at a level that holds for all of them together; what is true of the whole is not said again.
    Intervals are a bootstrap over prompts, seeded. `thresholds` overrides entries of
    `analysis.findings.THRESHOLDS`. A route is diagnosed one reward at a time. Scores and rewards that
    float32 does not hold count as not judged, in the `scores` of the diagnosis as well. InputError: unknown
    setting or threshold, a column `by` that differs among siblings or has too many values, a route without a
    reward for any row. `progress` is told the share of the work that is done, from 0 to 1, and says whether
    to go on: Cancelled where it does not.
    """
    if not isinstance(scores, Scores):
        raise InputError(
            f"diagnose takes Scores, as rk.score or rk.load_scores give them, not {preview(scores)}"
        )
    check_label(label)
    check_seed(seed)
    columns = names_of(columns, "columns") if columns is not None else None
    found = not_finite(scores, seed=seed)
    scores = only_finite(scores)
    training = Training.of(training)
    options: dict[str, Any] = {
        "training": training,
        "label": label,
        "columns": columns,
        "seed": seed,
    }
    views = make_views(scores, thresholds=thresholds, **options)
    names = slices.chosen(scores, by)
    wholes = [Part(view.part, view.reward, view.rows) for view in views]
    sliced = [slices.parts_of(scores, whole, names) for whole in wholes]
    total, done = sum(len(part.rows) for part in chain(wholes, *sliced)) * len(RULES), 0

    def looked_at(rows: int) -> None:
        nonlocal done
        done += rows
        if progress is not None and not progress(min(done / max(total, 1), 1.0)):
            raise Cancelled("the diagnosis was cancelled")

    def look_at(view: View) -> list[Finding]:
        return run_rules(
            RULES,
            view,
            thresholds=view.thresholds,
            after_rule=lambda: looked_at(len(view)),
        )

    for view in views:
        found += look_at(view)

    def of(part: Part, tests: int) -> list[Finding]:
        view = make_view(
            scores, part, thresholds=views[0].thresholds, tests=tests, **options
        )
        return look_at(view)

    for view, parts in zip(views, sliced, strict=True):
        said = [item for item in found if item.part == view.part]
        found += slices.news(parts, said, of)
    found += _unmatched(scores, views)
    ranked = sorted(
        found,
        key=lambda item: (
            item.order[0],
            bool(item.evidence.get("inconclusive")),
            item.order,
        ),
    )
    log = of_log(
        scores
    )  # first: where the log says otherwise, all else is of another reward
    first = [item for item in log if item.severity != "info"]
    ranked = [*first, *ranked, *(item for item in log if item.severity == "info")]
    return Diagnosis(scores, tuple(ranked), training, seed, views, tuple(names))


def _unmatched(scores: Scores, views: tuple[View, ...]) -> list[Finding]:
    """The rows that a route has no reward for."""
    rows = np.ones(len(scores))
    for view in views:
        rows[view.rows] = 0.0
    left = np.flatnonzero(rows)
    if not len(left):
        return []
    limits, seed = views[0].thresholds, views[0].bootstrap.seed
    share, limit = len(left) / len(scores), limits["abstained"]
    severity = (
        "high"
        if share >= limits["lost_rows_high"]
        else "warn"
        if share >= limit
        else "info"
    )
    (column,) = scores.reward.split_by
    values = list(
        dict.fromkeys(repr(value) for value in scores.table[column].iloc[left])
    )
    named = ", ".join(values[:5]) + (
        f" and {len(values) - 5} more" if len(values) > 5 else ""
    )
    prompts = scores.rollouts.prompts
    interval = Bootstrap(prompts, seed=seed).interval(
        [rows, np.ones(len(scores))], prompts
    )
    reason = f"no reward for {column}={named}"
    evidence = {
        "value": share,
        "interval": interval,
        "rows": len(left),
        "reason": reason,
        "paid": False,
    }
    ids = tuple(scores.table["rollout_id"].iloc[left[:5]])
    return [Finding("abstentions", severity, None, evidence, len(scores), limit, ids)]


def make_views(
    scores: Scores,
    *,
    training: Any = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    seed: int = 0,
    thresholds: Mapping[str, float] | None = None,
) -> tuple[View, ...]:
    """The arrays that findings are computed from, one `View` a part of the reward.

    What is not finite counts as not judged. Errors as in `diagnose`.
    """
    scores, training = only_finite(scores), Training.of(training)
    for name in thresholds or {}:
        if name not in THRESHOLDS:
            raise InputError(
                f"there is no threshold {name!r}; there are "
                f"{sorted(THRESHOLDS)}{did_you_mean(name, THRESHOLDS)}"
            )
    split = {
        name: column_values(scores.rollouts.table[name])
        for name in scores.reward.split_by
    }
    parts = scores.reward.parts(split, len(scores))
    if not parts:
        raise InputError(
            f"no row of these scores has a reward: {scores.reward.name!r} has none for the values of "
            f"{list(split)}"
        )
    limits = {**THRESHOLDS, **(thresholds or {})}
    make = partial(
        make_view,
        scores,
        training=training,
        seed=seed,
        thresholds=limits,
        label=label,
        columns=columns,
    )
    return tuple(map(make, parts))
