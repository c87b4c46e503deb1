"""Bench: what the tabs of a workbench share, and how they hear of a change."""

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
"""Case file where none was given."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Opened:
    """What Browse shows: a row of the rollouts, or a completion with its columns.

    `case` is what is proposed to expect of it.
    """

    row: int | None = None
    columns: Plain = field(default_factory=dict)
    about: str = ""
    case: Plain | None = None


class Bench(traitlets.HasTraits):
    """The scores at the start, the variant of now, what is open, and the cases.

    Observe `variant`, `revised` (rows were scored), `opened`, `asked_for` (by another
    tab than Browse), `cases_written`, `probed` and `diagnosed` (a result, and what was
    `now`); what hangs on the variant is computed when it is asked for. `undone` are the
    variants before. What a person does in the page comes as a command, such as ["open",
    12], to one of `commands`.
    """

    variant = traitlets.Any()
    opened = traitlets.Any()
    probed = traitlets.Any()
    diagnosed = traitlets.Any()
    cases_written = traitlets.Int()
    revised = traitlets.Int()
    asked_for = traitlets.Int()

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
        self.scored = start  # the scores that everything starts from
        self.label = label
        self.timeout = timeout
        self.seed = seed
        self.cases_path = ""
        self.listed_cases: tuple[Case, ...] = ()
        if isinstance(cases, str | Path) and not str(cases).startswith(GALLERY_PREFIX):
            self.cases_path = str(cases)
        elif cases is not None:
            self.listed_cases = tuple(cases_of(cases))
        self.flagged: list[int] = []  # rows, in the order in which they were flagged
        self.undone: list[Variant] = []
        self.commands: dict[str, Callable[..., Any]] = {}
        # pictures of scores, by component
        self.drawn: dict[Scores, Record] = {}
        self._last_command = 0
        self._right: tuple[Floats, str] | None = None
        self._computed: Record = {}  # under the variant of now, by name
        self._gated: dict[Any, tuple[Scores, dict[str, int]]] = {}
        self._views: dict[Any, tuple[View, ...]] = {}
        self.start = self.variant = Variant.of(start, Training.of(training))
        self.before = figures_of(self.views_of(self.start), len(start))
        self.observe(self.forget, ["variant", "revised", "cases_written"])

    @property
    def now(self) -> tuple[Variant, int]:
        """Return the settings that a result which takes a while is of."""
        return self.variant, self.revised

    def options(self, variant: Variant) -> Record:
        """Return the options for a diagnosis or a forecast of a variant."""
        return {"training": variant.training, "label": self.label, "seed": self.seed}

    def gated(self, variant: Variant) -> tuple[Scores, dict[str, int]]:
        """Return the scores under a variant's gates, and what must be scored first.

        The last few are kept, as a slider comes back to them; nothing is scored.
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
        """Do what a person does in the page; unknown commands are of an older page."""
        if verb in self.commands:
            self.commands[verb](*arguments)

    def receive(self, text: str) -> None:
        """Obey what the page sent, each command once: the page repeats its last few."""
        for number, command in json.loads(text or "[]"):
            if number > self._last_command:
                self._last_command = number
                self.obey(*command)

    def forget(self, _: Any = None) -> None:
        """Compute anew what hangs on the variant and on the file of the cases."""
        self._computed = {}

    def _compute(self, name: str, make: Callable[[], T]) -> T:
        """Return what was computed under the variant of now, or compute it."""
        computed = self._computed  # a thread may still compute for the variant before
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
        """Return the check of the variant against the cases of now; None without cases.

        What they expect of components that it does not have is left out, and counted.
        InputError or OSError: they cannot be read, or not be held to this reward.
        """
        return self._compute("checked", self._check)

    def _check(self) -> CheckResult | None:
        cases = self.cases()
        if not cases:
            return None
        ignored = components_of(cases)  # by a reward that has no such component
        step = self.variant.step
        reward = self.reward if step is None else self.reward.at(step)
        return check(reward, cases, ignore=ignored, timeout=self.timeout)

    def keep(self) -> Run:
        """Keep the reward as it stands, with its schedules, and its scores.

        Raises:
            RolloutsError: The folder runs cannot be written.
        """
        scores, _ = self.gated(self.variant)
        run = keep(scores.under(self.variant.combined(scores.reward)))
        if self.variant.step is None and self.checked is not None:
            counts = [self.checked.passed, self.checked.decided]
            run.version.note_figures({"cases": counts})
        return run

    def go(self, variant: Variant, *, undone: bool = False) -> None:
        """Go over to a variant; `undone`: it is one from before."""
        if variant != self.variant and not undone:
            self.undone.append(self.variant)
        self.variant = variant

    def apply(self, change: Change, part: str, description: str) -> str:
        """Make a change of the reward as it stands; return what was done, in words.

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
        """Open something for another tab than Browse, and turn to Browse."""
        self.opened = opened
        self.asked_for += 1

    def flag(self) -> None:
        """Mark the row that is open, or take its mark away."""
        row = self.opened.row if self.opened is not None else None
        if row is not None:
            if row in self.flagged:
                self.flagged.remove(row)
            else:
                self.flagged.append(row)

    def score_missing(self) -> None:
        """Score the rows that the variant's gates let in. Errors as in `whatif`."""
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
        """Return which rows are right: 1, 0 or NaN where unknown, (rows,), and by what.

        By the label where there is one, else by the answer, else by full marks, as in
        `suspect`. It does not move with the weights.
        """
        return self._right or self.keep_right()

    @property
    def middle(self) -> float:
        """Return the reward halfway between the medians of wrong and right rows.

        NaN where there are no right or no wrong ones, so that nothing is paid or
        unpaid.
        """
        right = self.right[0]
        rewards = self.figures.rewards
        medians = []
        for value in (0, 1):
            judged = rewards[(right == value) & np.isfinite(rewards)]
            medians.append(float(np.median(judged)) if len(judged) else np.nan)
        return sum(medians) / 2

    def keep_right(self) -> tuple[Floats, str]:
        """Find which rows are right and keep it, before Browse asks for it."""
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
        """Return a low and a high reward, between which siblings are drawn."""
        return self._compute("ends", self._find_ends)

    def _find_ends(self) -> tuple[float, float]:
        rewards = self.figures.rewards
        rewards = rewards[np.isfinite(rewards)]
        if not len(rewards):
            return 0.0, 1.0
        low, high = np.quantile(rewards, [0.01, 0.99])
        return float(low), float(high)

    def siblings(self, row: int) -> Codes:
        """Return the rows of the group that a row belongs to, itself among them."""
        return self.rows_of_group[int(self.scored.groups[row])]

    @cached_property
    def row_of(self) -> dict[Any, int]:
        """Return the row of each rollout_id."""
        ids = self.scored.table["rollout_id"].tolist()
        return {rollout_id: row for row, rollout_id in enumerate(ids)}

    @property
    def missing_cases(self) -> str:
        """Say that the file of the cases is not there; "" where none is missing."""
        path = Path(self.cases_path)
        if not self.cases_path or path.exists():
            return ""
        beside = sorted(file.name for file in path.parent.glob(f"*{path.suffix}"))
        near = did_you_mean(path.name, beside) or "."
        return f"There is no file {self.cases_path!r} yet; Browse makes it{near}"

    def cases(self) -> list[Case]:
        """Return the cases that were given and those of the file, read anew.

        Raises:
            CasesError: the file cannot be read.
        """
        if self.cases_path and Path(self.cases_path).is_file():
            return [*self.listed_cases, *load_cases(self.cases_path)]
        return list(self.listed_cases)

    def write_case(self, case: Plain, path: str) -> str:
        """Add a case to a file, which is the case file from then on.

        Returns:
            What became of it, in a sentence.

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
        """Write what a person accepted to the case file.

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
"""Variants of gates whose tables are kept: a person compares a few. Our choice."""


def remember(memory: dict[Any, T], key: Any, make: Callable[[], T]) -> T:
    """Return the value of a key, or make it; the memory has those of the last few."""
    if key not in memory:
        while len(memory) >= VARIANTS_REMEMBERED:
            memory.pop(next(iter(memory)))
        memory[key] = make()
    return memory[key]
