"""diagnose(): what scores would do to training, as findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rewardkit.analysis.findings import (
    components,
    groups,
    length,
    logs,
    phantom,
    scored,
    shortcuts,
    sparsity,
    spread,
)
from rewardkit.analysis.findings.by_outlook import judge_by_outlook
from rewardkit.analysis.parts import (
    choose_columns,
    explain_slices,
    find_news,
    make_view,
    make_views,
    parts_of,
    prepare_scores,
    rows_by,
    usable_columns,
)
from rewardkit.analysis.statistics.distributions import DeadShare, dead_share
from rewardkit.analysis.summary import (
    component_row,
    diagnosis_page,
    highest,
    over_steps,
    signal_of,
)
from rewardkit.analysis.verdicts import rows_to_read
from rewardkit.analysis.view import View
from rewardkit.errors import (
    Cancelled,
    InputError,
    check_label,
    check_whole_number,
    did_you_mean,
    names_of,
    preview,
)
from rewardkit.findings import Finding, Rule, describe_size, run_rules
from rewardkit.history.baseline import AcceptsFindings, Baseline, load_baseline
from rewardkit.html.pages import HasPage, Page
from rewardkit.plain import Record
from rewardkit.rewards.reward import Part
from rewardkit.rewards.training import Training
from rewardkit.scoring.scores import Scores

SCORED_RULES: tuple[Rule, ...] = (
    scored.not_finite,
    scored.without_reward,
    logs.log_mismatch,
    logs.unread_keys,
    scored.logged,
    logs.parts_of_total,
)
"""Of all scored rows."""
VIEW_RULES: tuple[Rule, ...] = (
    components.lost_rows,
    sparsity.shape,
    groups.not_enough,
    groups.cancelling,
    groups.constant_reward,
    groups.clustered,
    groups.zero_std_groups,
    groups.collapsed_outputs,
    groups.unsteady,
    spread.wide,
    spread.amplified_noise,
    spread.bimodal,
    components.of_siblings,
    components.gates,
    components.repeated_tag,
    components.redundant,
    components.dominant,
    components.switch,
    components.unpaid_task,
    phantom.phantom,
    shortcuts.label,
    shortcuts.wrong_above_right,
    shortcuts.order,
    length.length_curve,
    shortcuts.truncated,
)
"""Of a `View`, in their order: each rule gets the findings of those before it."""
THRESHOLDS: dict[str, float] = {}
"""Name -> where a number begins to matter; its source stands in the rule."""
for view_rule in VIEW_RULES:
    THRESHOLDS |= view_rule.thresholds

FIRST_WEIGHTS = (
    "the rows have no step, so that weights are those before training; scores.at(step) "
    "and --at-step look at a later step"
)
"""What is said where weights depend on the step and rows do not tell it."""


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(AcceptsFindings, HasPage):
    """The findings on scores: first what the log contradicts, then the most severe.

    `views` hold the arrays they were computed from, one a data source; `by` names the
    columns whose values were looked at by themselves, and `notes` say which values of
    the columns that the caller named are too rare for that, and which weights hold.
    """

    scores: Scores
    findings: tuple[Finding, ...]
    training: Training
    seed: int
    views: tuple[View, ...] = field(repr=False)
    by: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    baseline: Baseline | None = None

    @property
    def reward_name(self) -> str:
        """Return the name of the reward."""
        return self.scores.reward.name

    @cached_property
    def components(self) -> pd.DataFrame:
        """Return one row a component (and part), with what its scores look like.

        The columns: weight, effective weight, counts by status, mean, std, lowest and
        highest score, share at the ends of the range.

        ``effective_weight`` is the share of the squared advantage (NaN where it cannot
        be told), ``sign_influence`` the share of the advantages whose sign turns
        without the component, ``between`` the share of the variance that lies between
        groups, which group advantages never see, ``dead_groups`` the share of groups
        whose siblings all got the same score.
        """
        rows = []
        for view in self.views:
            rows += [component_row(view, name) for name in view.names]
        return pd.DataFrame(rows)

    @cached_property
    def group_signal(self) -> pd.DataFrame:
        """Return one row a slice, with the signal of its groups.

        The slices are all rows, then each value of the columns that make a group and of
        those in `by`. The columns: groups, mean reward, mean of the primary component,
        share of groups without a signal, share with a signal of the task (completions
        differ in the task), share without a right completion.

        ``top_decile`` is the share of the absolute advantage in the tenth of the groups
        that holds most, ``sample_size`` the effective sample size of the absolute
        advantage as a share of the rows.
        """
        names = usable_columns(self.scores, self.scores.rollouts.group_key[1:])
        names = list(dict.fromkeys([*names, *self.by]))
        labels = []
        rows = []
        for view, part in zip(self.views, self.scores.parts, strict=True):
            labels.append(view.part or "all")
            rows.append(signal_of(view, np.ones(len(view), dtype=bool)))
            for piece in rows_by(self.scores, part, names):
                labels.append(piece.label)
                rows.append(signal_of(view, np.isin(view.rows, piece.rows)))
        table = pd.DataFrame(rows)
        # as objects, since a label may hold lone surrogates
        table.insert(0, "slice", pd.Series(labels, dtype=object))
        return table

    def over_steps(self, window: int = 1, *, apart: int = 1) -> pd.DataFrame:
        """Return the spread of the reward and of each component at each step.

        One row for each figure ("reward", then the components) and each `apart`-th
        step, counted back from the last one; empty without steps. Each is over the last
        `window` steps: rows (with a score), mean, std, p5, p25, median, p75, p95,
        at_minimum (share of the scores at the lower end of the declared range, else at
        the lowest score; NaN for the reward), zero_std (share of tied groups).

        Raises:
            InputError: one of the two is no whole number from 1 on.
        """
        check_whole_number("window", window, 1)
        check_whole_number("apart", apart, 1)
        tables = [over_steps(view, window, apart) for view in self.views]
        return pd.concat(tables, ignore_index=True)

    def highest(self, n: int = 8) -> pd.DataFrame:
        """Return different completions of highest reward, to read what is paid for.

        Up to `n` of each part among the 500 highest rewards, best first; equal rewards
        by their advantage. One a prompt while there are prompts, and no two nearly the
        same, so that there may be fewer. The columns: rollout_id, the columns of the
        group, reward, advantage, ``score/<component>`` of each paid component,
        completion.

        Raises:
            InputError: `n` is no whole number from 1 on.

        >>> import rewardkit as rk
        >>> reward = rk.load_reward("gallery:arithmetic.flawed")
        >>> diagnosis = rk.diagnose(rk.score(reward, "gallery:arithmetic"))
        >>> diagnosis.highest(3)["reward"].is_monotonic_decreasing
        True
        """
        check_whole_number("n", n, 1)
        tables = [highest(self.scores, view, n) for view in self.views]
        return pd.concat(tables, ignore_index=True)

    def dead_share(self, size: int) -> dict[str, DeadShare]:
        """Return the share of groups without a signal at another group size, by part.

        Where groups without spread in a `filter_metric` are dropped, it is that
        metric's.
        """
        shares = {}
        for view in self.views:
            values = view.filtered_by
            shares[view.part] = dead_share(values, view.groups, view.bootstrap, size)
        return shares

    def record(self) -> Record:
        """Return the diagnosis as plain data.

        With the share of dead groups at the group size of the settings, where they have
        one.
        """
        size = self.training.num_generations
        dead_shares = []
        if size is not None:
            for part, share in self.dead_share(size).items():
                dead_shares.append({"part": part, **share.record()})
        return {
            "reward": self.scores.reward.name,
            "rows": len(self.scores),
            "training": self.training.record(),
            "dead_share": dead_shares,
            "findings": [finding.record() for finding in self.findings],
        }

    def page(self) -> Page:
        """Return a verdict and the findings that matter most, the others folded."""
        sampled_from = self.scores.rollouts.sampled_from
        on = f"{describe_size(len(self.scores), sampled_from)}, {self.training}."
        return diagnosis_page(
            self.reward_name,
            on,
            self.findings,
            self.views,
            (*self.notes, *self.baseline_changes()),
        )


def diagnose(
    scores: Scores,
    *,
    training: Any = None,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    by: Sequence[str] | None = None,
    seed: int = 0,
    thresholds: Mapping[str, float] | None = None,
    baseline: Baseline | str | Path | None = None,
    progress: Callable[[float], bool] | None = None,
) -> Diagnosis:
    """Find what these scores would do to training under group advantages.

    A route is diagnosed one reward at a time. Scores and rewards that float32 does not
    hold count as not judged, in the `scores` of the diagnosis as well. Intervals are a
    bootstrap over prompts.

    Args:
        scores: what `rk.score` or `rk.load_scores` returned.
        training: the settings of the trainer, as `Training.of` takes them.
        label: a trusted column of two values that says which completions are good.
        columns: columns of numbers to compare with the advantages; None: all.
        by: columns whose values are slices, each diagnosed by itself, too, for findings
            that all rows do not show; the level holds for all slices together. By
            default data_source, task and policy, where siblings share them.
            `rk.monitor` looks at steps.
        seed: of the bootstrap.
        thresholds: replaces entries of `analysis.diagnosis.THRESHOLDS`.
        baseline: accepted findings, or a file of them.
        progress: called with the share of the work that is done, from 0 to 1; returns
            whether to go on.

    Raises:
        InputError: an unknown setting or threshold, a column of `by` that differs among
            siblings or has too many values, a route without a reward for any row.
        Cancelled: `progress` returned False.
    """
    if not isinstance(scores, Scores):
        raise InputError(
            "diagnose takes Scores, as rk.score or rk.load_scores give them, not "
            f"{preview(scores)}"
        )
    check_label(label)
    check_whole_number("seed", seed, 0)
    limits = _limits(thresholds)
    if baseline is not None:
        baseline = load_baseline(baseline)  # a broken file should not cost a minute
    options: Record = {
        "training": Training.of(training),
        "label": label,
        "columns": None if columns is None else names_of(columns, "columns"),
        "seed": seed,
        "thresholds": limits,
    }
    finite = prepare_scores(scores, options["training"])
    views = make_views(finite, **options)
    names = choose_columns(finite, by)
    wholes = finite.parts
    pieces = [parts_of(finite, part, names) for part in wholes]
    report = _reporter(progress, [*wholes, *chain.from_iterable(pieces)])

    def look_at(view: View) -> list[Finding]:
        return run_rules(
            VIEW_RULES, view, thresholds=limits, after_rule=lambda: report(len(view))
        )

    all_rows = scored.Scored(scores, finite, views, seed)
    findings = run_rules(SCORED_RULES, all_rows, thresholds=limits)
    for view, part in zip(views, wholes, strict=True):
        for item in look_at(view):
            if item.code == "phantom":
                few = replace(part, rows=part.rows[rows_to_read(view.groups)])
                item = judge_by_outlook(item, make_view(finite, few, **options))
            findings.append(item)
    for view, parts in zip(views, pieces, strict=True):
        of_view = [finding for finding in findings if finding.part == view.part]
        findings += find_news(
            parts,
            of_view,
            lambda part, tests: look_at(
                make_view(finite, part, tests=tests, **options)
            ),
        )
    findings = sorted(scored.merge_causes(findings), key=_rank)
    notes = []
    if finite.reward.is_scheduled and views and views[0].context.steps is None:
        notes.append(FIRST_WEIGHTS)
    if by is not None:
        for part in wholes:
            notes += explain_slices(finite, part, names)
    diagnosis = Diagnosis(
        finite,
        tuple(findings),
        options["training"],
        seed,
        views,
        tuple(names),
        tuple(notes),
    )
    return diagnosis if baseline is None else diagnosis.under_baseline(baseline)


def _limits(thresholds: Mapping[str, float] | None) -> dict[str, float]:
    """Return all thresholds, with those that the caller replaces."""
    for name, limit in (thresholds or {}).items():
        if not isinstance(limit, int | float) or limit != limit:
            raise InputError(
                f"the threshold {name!r} is {limit!r}, not a number; give one, such as "
                f"{THRESHOLDS.get(name, 0.1)}"
            )
        if name not in THRESHOLDS:
            raise InputError(
                f"there is no threshold {name!r}; there are "
                f"{sorted(THRESHOLDS)}{did_you_mean(name, THRESHOLDS)}"
            )
    return {**THRESHOLDS, **(thresholds or {})}


def _reporter(
    progress: Callable[[float], bool] | None, parts: Sequence[Part]
) -> Callable[[int], None]:
    """Return a function that reports that a rule has looked at so many rows."""
    total = max(1, len(VIEW_RULES) * sum(len(part.rows) for part in parts))
    rows_done = 0

    def report(rows: int) -> None:
        nonlocal rows_done
        rows_done += rows
        if progress is not None and not progress(min(rows_done / total, 1.0)):
            raise Cancelled("the diagnosis was cancelled")

    return report


def _rank(finding: Finding) -> tuple[Any, ...]:
    """Return the sort key of a finding: the log, the label, then the worst.

    If the log disagrees, all other findings are of another reward than the log's. A
    label that disagrees says more than any other figure.
    """
    is_minor = finding.severity == "info"
    if finding.code in logs.LOG_CODES:
        return (3 if is_minor else 0,)
    if finding.code == "label_disagrees" and not finding.part and not is_minor:
        return (1,)
    is_open = bool(finding.evidence.get("inconclusive"))
    return 2, finding.order[0], is_open, finding.order
