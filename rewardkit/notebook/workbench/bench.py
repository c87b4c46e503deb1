"""Bench: the state that the tabs of a workbench share and observe."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import traitlets

from rewardkit.analysis.parts import make_views, only_finite
from rewardkit.analysis.statistics import Codes, Floats, rows_by_code
from rewardkit.analysis.suggestions.change import Change
from rewardkit.analysis.view import View
from rewardkit.analysis.whatif import with_gates
from rewardkit.errors import InputError, did_you_mean
from rewardkit.findings import counted, percent
from rewardkit.history.keep import keep
from rewardkit.history.run import Run
from rewardkit.notebook.workbench.variant import Figures, Variant, figures_of
from rewardkit.plain import Plain, Record
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.rollouts.paths import GALLERY_PREFIX
from rewardkit.scoring.case_updates import Update, update_cases
from rewardkit.scoring.cases import Case, CaseSource, append_cases, cases_of, load_cases
from rewardkit.scoring.check import check, components_of
from rewardkit.scoring.check_result import CheckResult
from rewardkit.scoring.scores import Scores
from rewardkit.suspects.patched import judge_rightness, read_label

CASE_FILE = "cases.jsonl"
"""Default case file."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Opened:
    """The content of Browse: a row of the rollouts, or a completion with its columns.

    `case` has proposed expectations for it.
    """

    row: int | None = None
    columns: Plain = field(default_factory=dict)
    about: str = ""
    case: Plain | None = None


class Bench(traitlets.HasTraits):
    """The initial scores, the current variant, the open completion, and the cases.

    Tabs observe `variant`, `revised` (counts scorings of missing rows), `opened`,
    `browse_requests` (counts completions that other tabs opened), `cases_written`,
    `probed` and `diagnosed` (a result, and `now` of its settings). Values that depend
    on the variant are computed on first use. `past_variants` is the stack for Undo. An
    action in the page arrives as a command, such as ["open", 12], for `commands`.
    """

    variant = traitlets.Any()
    opened = traitlets.Any()
    probed = traitlets.Any()
    diagnosed = traitlets.Any()
    cases_written = traitlets.Int()
    revised = traitlets.Int()
    browse_requests = traitlets.Int()

    def __init__(
        self,
        start: Scores,
        *,
        cases: CaseSource | None = None,
        label: str | None = None,
        training: Any = None,
        timeout: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.scored = start  # the initial scores
        self.label = label
        self.timeout = timeout
        self.seed = seed
        self.cases_path = ""
        self.listed_cases: tuple[Case, ...] = ()
        if isinstance(cases, str | Path) and not str(cases).startswith(GALLERY_PREFIX):
            self.cases_path = str(cases)
        elif cases is not None:
            self.listed_cases = tuple(cases_of(cases))
        self.flagged: list[int] = []  # rows, in the order of flagging
        self.past_variants: list[Variant] = []
        self.commands: dict[str, Callable[..., Any]] = {}
        # scores -> sparkline of each component
        self.sparks: dict[Scores, Record] = {}
        self._last_command = 0
        self._right: tuple[Floats, str] | None = None
        self._computed: Record = {}  # values for the current variant, by name
        self._gated: dict[Any, tuple[Scores, dict[str, int]]] = {}
        self._views: dict[Any, tuple[View, ...]] = {}
        self.start = self.variant = Variant.of(start, Training.of(training))
        self.before = figures_of(self.views_of(self.start), len(start))
        self.observe(self.forget, ["variant", "revised", "cases_written"])

    @property
    def now(self) -> tuple[Variant, int]:
        """Return the current settings, to which a slow result is compared later."""
        return self.variant, self.revised

    def options(self, variant: Variant) -> Record:
        """Return the options for a diagnosis or a forecast of a variant."""
        return {"training": variant.training, "label": self.label, "seed": self.seed}

    def gated(self, variant: Variant) -> tuple[Scores, dict[str, int]]:
        """Return the scores under a variant's gates, and the counts of unscored rows.

        Counts are by component. Nothing is scored here. The last few results are
        cached, as a slider often returns to a position.
        """
        base = variant.base
        moved = variant.moved
        if not moved:
            return base, {}
        key = base, repr(moved)
        return remember(self._gated, key, lambda: with_gates(base, moved))

    def views_of(self, variant: Variant) -> tuple[View, ...]:
        """Return the arrays of each part of the reward under a variant.

        A reward that is not finite counts as not judged.
        """
        scores, _ = self.gated(variant)
        key = variant.base, repr((variant.gates, variant.training))
        views = remember(
            self._views,
            key,
            lambda: make_views(only_finite(scores), **self.options(variant)),
        )
        return tuple(view.under(variant.at_step(view.reward)) for view in views)

    def obey(self, verb: str, *arguments: Any) -> None:
        """Run a command of the page; an unknown one, of an older page, is ignored."""
        if verb in self.commands:
            self.commands[verb](*arguments)

    def receive(self, text: str) -> None:
        """Run new commands of the page, which sends its last few again each time."""
        for number, command in json.loads(text or "[]"):
            if number > self._last_command:
                self._last_command = number
                self.obey(*command)

    def forget(self, _: Any = None) -> None:
        """Drop the values computed for the variant and the case file."""
        self._computed = {}

    def _compute(self, name: str, make: Callable[[], T]) -> T:
        """Return the value `name` for the current variant; compute it on first use."""
        computed = self._computed  # a thread may still compute for an earlier variant
        if name not in computed:
            computed[name] = make()
        value: T = computed[name]
        return value

    @property
    def views(self) -> tuple[View, ...]:
        """Return the arrays of each part of the reward under the variant."""
        return self._compute("views", lambda: self.views_of(self.variant))

    @property
    def figures(self) -> Figures:
        """Return the figures under the variant."""
        rows = len(self.scored)
        return self._compute("figures", lambda: figures_of(self.views, rows))

    @property
    def scores(self) -> Scores:
        """Return the scored table under the variant."""

        def make() -> Scores:
            scores, _ = self.gated(self.variant)
            return scores.under(self.variant.at_step(scores.reward))

        return self._compute("scores", make)

    @property
    def checked(self) -> CheckResult | None:
        """Check the variant against the current cases; None without cases.

        Expectations for components that it lacks are left out, and counted. InputError
        or OSError: the cases cannot be read, or do not fit this reward.
        """
        return self._compute("checked", self._check)

    def _check(self) -> CheckResult | None:
        cases = self.cases()
        if not cases:
            return None
        ignored = components_of(cases)  # the reward may lack some of them
        step = self.variant.step
        reward = self.reward if step is None else self.reward.at(step)
        return check(reward, cases, ignore=ignored, timeout=self.timeout)

    def keep(self) -> Run:
        """Keep the current reward, with its schedules, and its scores as a run.

        Raises:
            RolloutsError: The folder ``runs`` cannot be written.
        """
        scores, _ = self.gated(self.variant)
        run = keep(scores.under(self.variant.combined(scores.reward)))
        if self.variant.step is None and self.checked is not None:
            counts = [self.checked.passed, self.checked.decided]
            run.version.note_figures({"cases": counts})
        return run

    def go(self, variant: Variant, *, can_undo: bool = True) -> None:
        """Switch to a variant; `can_undo`: Undo returns to the variant before."""
        if variant != self.variant and can_undo:
            self.past_variants.append(self.variant)
        self.variant = variant

    def apply(self, change: Change, part: str, description: str) -> str:
        """Apply a change to the current reward; return a sentence about its effect.

        Errors as in `Suggestion.apply`.
        """
        variant = self.variant.after(change, self.scores, part)
        before = self.figures.tied_share
        self.gated(variant)
        self.go(variant)
        moved = f"{percent(before)} -> {percent(self.figures.tied_share)}"
        return (
            f"Applied: {description}. Groups without a signal: {moved}. "
            "Undo in Compose takes it back."
        )

    def open(self, opened: Opened) -> None:
        """Open a completion from another tab, and switch to Browse."""
        self.opened = opened
        self.browse_requests += 1

    def flag(self) -> None:
        """Flag the open row, or remove its flag."""
        row = self.opened.row if self.opened is not None else None
        if row is not None:
            if row in self.flagged:
                self.flagged.remove(row)
            else:
                self.flagged.append(row)

    def score_missing(self) -> None:
        """Score the unscored rows that the variant's gates let in.

        Errors as in `whatif`.
        """
        base = self.variant.base
        moved = self.variant.moved
        scores, _ = with_gates(base, moved, run=True)
        self._gated[base, repr(moved)] = (scores.under(base.reward), {})
        self._views.clear()
        self.revised += 1

    @property
    def reward(self) -> Reward:
        """Return the reward under the variant, with its gates."""
        variant: Variant = self.variant
        return variant.make_reward()

    @property
    def right(self) -> tuple[Floats, str]:
        """Return which rows are right, (rows,): 1, 0 or NaN if unknown, and the source.

        The source is the label if there is one, else the answer, else full marks, as in
        `suspect`. It does not depend on the weights.
        """
        return self._right or self.cache_right()

    @property
    def middle(self) -> float:
        """Return the reward halfway between the medians of wrong and right rows.

        NaN without right rows, or without wrong rows: then no row counts as paid or
        unpaid.
        """
        right = self.right[0]
        rewards = self.figures.rewards
        medians = []
        for value in (0, 1):
            judged = rewards[(right == value) & np.isfinite(rewards)]
            if not len(judged):
                return np.nan
            medians.append(float(np.median(judged)))
        return sum(medians) / 2

    def cache_right(self) -> tuple[Floats, str]:
        """Find which rows are right, and cache it for Browse."""
        self._right = self._find_right()
        return self._right

    def _find_right(self) -> tuple[Floats, str]:
        views = self.views_of(self.start)
        if self.label is not None:
            values, _ = read_label(len(self.scored), views)
            if values is not None:
                return values, f"by the column {self.label!r}"
        right = judge_rightness(self.scored, views, self.before.advantages)
        return right.values, f"right is one {right.by}" if right.by else ""

    @cached_property
    def rows_of_group(self) -> list[Codes]:
        """Return the rows of each group."""
        groups = self.scored.groups
        return rows_by_code(groups) if len(groups) else []

    @property
    def ends(self) -> tuple[float, float]:
        """Return the 1 % and 99 % quantiles of rewards, the scale to draw siblings."""
        return self._compute("ends", self._find_ends)

    def _find_ends(self) -> tuple[float, float]:
        rewards = self.figures.rewards
        rewards = rewards[np.isfinite(rewards)]
        if not len(rewards):
            return 0.0, 1.0
        low, high = np.quantile(rewards, [0.01, 0.99])
        return float(low), float(high)

    def siblings(self, row: int) -> Codes:
        """Return the rows of a row's group, including itself."""
        return self.rows_of_group[int(self.scored.groups[row])]

    @cached_property
    def row_of(self) -> dict[Any, int]:
        """Return the row of each rollout_id."""
        ids = self.scored.table["rollout_id"].tolist()
        return {rollout_id: row for row, rollout_id in enumerate(ids)}

    @property
    def missing_cases(self) -> str:
        """Say that the case file does not exist; "" if it does, or none was named."""
        path = Path(self.cases_path)
        if not self.cases_path or path.exists():
            return ""
        neighbours = sorted(file.name for file in path.parent.glob(f"*{path.suffix}"))
        near = did_you_mean(path.name, neighbours) or "."
        return f"There is no file {self.cases_path!r} yet; Browse makes it{near}"

    def cases(self) -> list[Case]:
        """Return the listed cases and those of the case file, which is read again.

        Raises:
            CasesError: the file cannot be read.
        """
        if self.cases_path and Path(self.cases_path).is_file():
            return [*self.listed_cases, *load_cases(self.cases_path)]
        return list(self.listed_cases)

    def write_case(self, case: Plain, path: str) -> str:
        """Add a case to a file, which becomes the case file.

        Returns:
            A sentence about the result.

        Raises:
            InputError: the file cannot be written; then nothing is changed.
        """
        if not path:
            raise InputError(
                "there is no case file to write to; give its path, such as cases.jsonl"
            )
        path = os.path.expanduser(path)
        try:
            added = append_cases(path, [case])
        except OSError as error:
            raise InputError(f"{path!r} cannot be written ({error.strerror})") from None
        self.cases_path = path
        if not added:
            return f"A case that expects the same is in {path} already."
        self.cases_written += added
        *others, last = load_cases(path)
        note = f", which has {counted(len(others), 'other case')}" if others else ""
        return f"Saved as {last.name!r} in {path}{note}."

    def update_cases(self, updates: Sequence[Update]) -> None:
        """Write accepted updates to the case file.

        Raises:
            InputError: the file cannot be written; then nothing is changed.
        """
        try:
            self.cases_written += update_cases(self.cases_path, updates)
        except OSError as error:
            raise InputError(
                f"{self.cases_path!r} cannot be written ({error.strerror})"
            ) from None


VARIANTS_REMEMBERED = 8
"""Values in a cache of `remember`. Our choice: a person compares a few variants."""


def remember(memory: dict[Any, T], key: Any, make: Callable[[], T]) -> T:
    """Return the value of a key, or make it; `memory` caches the last few."""
    if key not in memory:
        while len(memory) >= VARIANTS_REMEMBERED:
            memory.pop(next(iter(memory)))
        memory[key] = make()
    return memory[key]
