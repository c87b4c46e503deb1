"""Bench: what the tabs of a workbench have in common, and how one tells the others of a change."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import numpy as np
import traitlets
from numpy.typing import NDArray

from rewardkit.analysis.statistics.groups import Floats
from rewardkit.analysis.suggestions.change import Change
from rewardkit.analysis.view import View, make_views, only_finite
from rewardkit.analysis.whatif import with_gates
from rewardkit.errors import InputError
from rewardkit.findings import counted, percent
from rewardkit.notebook.workbench.figures import Figures, figures_of
from rewardkit.notebook.workbench.variant import Variant
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.rollouts.package_data import GALLERY
from rewardkit.scoring.case_writing import append_cases
from rewardkit.scoring.cases import (
    Case,
    CaseSource,
    CheckResult,
    cases_of,
    check,
    components_of,
    load_cases,
)
from rewardkit.scoring.scores import Scores
from rewardkit.suspects.rightness import label_of, rightness

CASES = "cases.jsonl"
"""The case file, where none was given."""

T = TypeVar("T")


class Held(Generic[T]):
    """A property of a bench that is computed when it is first asked for under a variant."""

    def __init__(self, made: Callable[[Any], T]) -> None:
        self.made = made

    def __get__(self, bench: Bench, owner: type[Bench]) -> T:
        held = (
            bench.held
        )  # that of the variant of now: a thread may still compute for one before
        if self.made not in held:
            held[self.made] = self.made(bench)
        return cast("T", held[self.made])


@dataclass(frozen=True, eq=False)
class Opened:
    """What Browse shows: a row of the rollouts, or a completion of a probe or a case, with its columns.

    `case` is what is proposed to expect of it.
    """

    row: int | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""
    case: Mapping[str, Any] | None = None


class Bench(traitlets.HasTraits):
    """The scores that everything starts from, the variant that stands, what is open, and the cases.

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
        self.label, self.timeout, self.seed = label, timeout, seed
        self.cases_path = ""
        self.given: tuple[Case, ...] = ()
        if isinstance(cases, str | Path) and not str(cases).startswith(GALLERY):
            self.cases_path = str(cases)
        elif cases is not None:
            self.given = tuple(cases_of(cases))
        self.flagged: list[int] = []  # rows, in the order in which they were flagged
        self.undone: list[Variant] = []
        self.commands: dict[str, Callable[..., Any]] = {}
        self.drawn: dict[
            Scores, dict[str, Any]
        ] = {}  # pictures of scores, by component
        self._obeyed = 0
        self.held: dict[Any, Any] = {}
        self._gated: dict[Any, tuple[Scores, dict[str, int]]] = {}
        self._views: dict[Any, tuple[View, ...]] = {}
        self.start = self.variant = Variant.of(start, Training.of(training))
        self.observe(self.forget, ["variant", "revised", "cases_written"])

    @property
    def now(self) -> tuple[Variant, int]:
        """What a result that takes a while is of."""
        return self.variant, self.revised

    def options(self, variant: Variant) -> dict[str, Any]:
        """What a diagnosis, or a forecast, of a variant is made with."""
        return {"training": variant.training, "label": self.label, "seed": self.seed}

    def gated(self, variant: Variant) -> tuple[Scores, dict[str, int]]:
        """The scores under the gates of a variant, and by component the rows that would have to be scored.

        The last few are kept, as a slider comes back to them; nothing is scored.
        """
        base, moved = variant.base, variant.moved
        if not moved:
            return base, {}
        return kept(self._gated, (base, repr(moved)), lambda: with_gates(base, moved))

    def views_of(self, variant: Variant) -> tuple[View, ...]:
        """The arrays of each part of the reward under a variant, what is not finite counted as not judged."""
        scores, _ = self.gated(variant)
        key = variant.base, repr((variant.gates, variant.training))
        views = kept(
            self._views,
            key,
            lambda: make_views(only_finite(scores), **self.options(variant)),
        )
        return tuple(view.under(variant.combined(view.reward)) for view in views)

    def obey(self, verb: str, *what: Any) -> None:
        """Do what a person does in the page; a command that is not known is of an older page, and is left."""
        if verb in self.commands:
            self.commands[verb](*what)

    def read(self, sent: str) -> None:
        """Obey what the page sent, each numbered command once: of the last few it sends all again."""
        for number, command in json.loads(sent or "[]"):
            if number > self._obeyed:
                self._obeyed = number
                self.obey(*command)

    def forget(self, _: Any = None) -> None:
        """Compute anew what is asked for, as the variant, or the file of the cases, may be another now."""
        self.held = {}

    @Held
    def views(self) -> tuple[View, ...]:
        """The arrays of each part of the reward under the variant."""
        return self.views_of(self.variant)

    @Held
    def figures(self) -> Figures:
        """The figures under the variant."""
        return figures_of(self.views, len(self.scored))

    @cached_property
    def before(self) -> Figures:
        """The figures at the start."""
        return figures_of(self.views_of(self.start), len(self.scored))

    @Held
    def scores(self) -> Scores:
        """The scored table under the variant."""
        scores, _ = self.gated(self.variant)
        return scores.under(self.variant.combined(scores.reward))

    @Held
    def checked(self) -> CheckResult | None:
        """The reward under the variant held to the cases as they are now; ``None`` without cases.

        What they expect of components that it does not have is left out, and counted.
        InputError or OSError: they cannot be read, or not be held to this reward.
        """
        cases = self.cases()
        ignored = components_of(cases)  # by a reward that has no such one
        return (
            check(self.reward, cases, ignore=ignored, timeout=self.timeout)
            if cases
            else None
        )

    def go(self, variant: Variant, *, undone: bool = False) -> None:
        """Go over to a variant; `undone`: it is one from before."""
        if variant != self.variant and not undone:
            self.undone.append(self.variant)
        self.variant = variant

    def apply(self, change: Change, part: str, what: str) -> str:
        """Make a change of the reward as it stands; what was done, in a sentence.

        Errors as in `Suggestion.apply`.
        """
        variant, before = (
            self.variant.after(change, self.scores, part),
            self.figures.tied_share,
        )
        self.gated(variant)
        self.go(variant)
        moved = f"{percent(before)} -> {percent(self.figures.tied_share)}"
        return f"Applied: {what}. Groups without a signal: {moved}. Undo in Compose takes it back."

    def open(self, opened: Opened) -> None:
        """Open something that another tab than Browse asks for, so that Browse is to be seen."""
        self.opened = opened
        self.asked_for += 1

    def flag(self) -> None:
        """Mark the row that is open, or take its mark away."""
        if self.opened is not None and (row := self.opened.row) is not None:
            (self.flagged.remove if row in self.flagged else self.flagged.append)(row)

    def score_missing(self) -> None:
        """Score the rows that the gates of the variant let in, and hold them. Errors as in `whatif`."""
        base, moved = self.variant.base, self.variant.moved
        scores, _ = with_gates(base, moved, run=True)
        self._gated[base, repr(moved)] = (scores.under(base.reward), {})
        self._views.clear()
        self.revised += 1

    @property
    def reward(self) -> Reward:
        """The reward under the variant, with its gates."""
        return cast("Reward", self.variant.reward)

    @cached_property
    def right(self) -> tuple[Floats, str]:
        """Which rows are right: 1, 0 or NaN where that is not known, (rows,), and by what.

        The label where there is one, else the answer, else full marks, as `suspect` has
        it. It does not move with the weights.
        """
        views = self.views_of(self.start)
        if self.label is not None:
            values = np.full(len(self.scored), np.nan)
            for view in views:
                found, _ = label_of(view, self.label)
                if found is not None:
                    values[view.rows] = found
            if not np.isnan(values).all():
                return values, f"by the column {self.label!r}"
        found_right = rightness(self.scored, views, self.before.advantages)
        return (
            found_right.values,
            f"right is one {found_right.by}" if found_right.by else "",
        )

    @cached_property
    def rows_of_group(self) -> list[NDArray[np.intp]]:
        """The rows of each group."""
        groups = self.scored.groups
        order = np.argsort(groups, kind="stable")
        return (
            np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
            if len(order)
            else []
        )

    @Held
    def ends(self) -> tuple[float, float]:
        """A low and a high reward under the variant, between which blocks of siblings are drawn."""
        known = self.figures.rewards[np.isfinite(self.figures.rewards)]
        low, high = np.quantile(known, [0.01, 0.99]) if len(known) else (0.0, 1.0)
        return float(low), float(high)

    def siblings(self, row: int) -> NDArray[np.intp]:
        """The rows of the group that a row belongs to, in order, itself among them."""
        return self.rows_of_group[int(self.scored.groups[row])]

    @cached_property
    def row_of(self) -> dict[Any, int]:
        """The row of each rollout, by the id that findings name it by."""
        return {
            value: row
            for row, value in enumerate(self.scored.table["rollout_id"].tolist())
        }

    def cases(self) -> list[Case]:
        """The cases as they are now: those of the file, read anew, or those that were given.

        CasesError: the file cannot be read.
        """
        written = (
            load_cases(self.cases_path)
            if self.cases_path and Path(self.cases_path).is_file()
            else []
        )
        return [*self.given, *written]

    def write_case(self, case: Mapping[str, Any], path: str) -> str:
        """Add a case to a file, which is that of the cases from then on; what became of it, in a sentence.

        InputError, and nothing is written or changed, where that cannot be done.
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
        *before, last = load_cases(path)
        more = f", which has {counted(len(before), 'other case')}" if before else ""
        return f"Saved as {last.name!r} in {path}{more}."


KEPT = 8
"""Variants of gates whose tables are kept: a person goes back and forth between a few. Our choice."""


def kept(held: dict[Any, T], key: Any, made: Callable[[], T]) -> T:
    """What was made for a key, and is held with that of the last few."""
    if key not in held:
        while len(held) >= KEPT:
            held.pop(next(iter(held)))
        held[key] = made()
    return held[key]
