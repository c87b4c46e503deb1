"""probe(): what bad answers would earn of a reward, and what right ones would lose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

import pandas as pd

from rewardkit.errors import RolloutsError, check_label, check_seed
from rewardkit.findings import Finding, percent
from rewardkit.judges.report import warn_of_calls
from rewardkit.plain import PlainRecord
from rewardkit.probes.arguments import check_arguments
from rewardkit.probes.contract.contract import contract
from rewardkit.probes.families import chosen
from rewardkit.probes.results import rendering
from rewardkit.probes.results.baseline import Baseline, load_baseline, under_baseline
from rewardkit.probes.results.causes import told
from rewardkit.probes.results.evidence import Seen, merged, special
from rewardkit.probes.results.failures import (
    failures,
    hangs,
    last_calls,
    of_parts,
    whole,
)
from rewardkit.probes.results.floor import LEAKAGE, against_label
from rewardkit.probes.runner import Outcome, Tries, Variants
from rewardkit.probes.search.exploits import exploit_finding
from rewardkit.probes.search.search import CALLS, cannot_search
from rewardkit.probes.search.search import search as search_exploits
from rewardkit.probes.subjects.calibration import calibrate
from rewardkit.probes.subjects.cases import with_cases
from rewardkit.probes.subjects.scales import Calibration
from rewardkit.probes.trials import Known, Trial, known, trials
from rewardkit.probes.verdicts import WILD, tallied
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.table import Rollouts, load_rollouts
from rewardkit.scoring.cases import CaseSource, cases_of
from rewardkit.scoring.deadlines import TimeLimit, cannot_limit, time_limit
from rewardkit.scoring.printed import caught_prints
from rewardkit.strategies.strategy import Strategy
from rewardkit.strategies.subject import Row

TIMEOUT = 5.0
"""Seconds that one call may take. Our choice: an ordinary call takes a thousandth of that."""

BUDGET = 60.0
"""Seconds for all of it. Our choice."""

PATIENCE = 2  # late calls of one pass, after which the others of it are not made
SOME = 0.5  # share of the attempts that fail from which it is said that little is known: our choice
FAILING = (
    "always_errors",
    "always_abstains",
    "always_late",
    "wrong_length",
    "wrong_type",
    "not_finite",
)


@dataclass(frozen=True)
class Inconclusive(PlainRecord):
    """What could not be decided: the probe, family or part, and why, with what is needed."""

    probe: str
    why: str


@dataclass(frozen=True, eq=False)
class ProbeResult:
    """What probing found: `findings`, the worst first, what is `inconclusive`, and how much was tried.

    Of the `probes` that were asked for those that fit a prompt were `made`; for those `untried` the budget
    was over. `calibration` says how right and wrong answers were written and what they earned.
    """

    reward: Reward
    findings: tuple[Finding, ...]
    inconclusive: tuple[Inconclusive, ...]
    calibration: Calibration
    probes: tuple[str, ...]
    families: frozenset[str]
    made: frozenset[str]
    calls: int
    untried: Mapping[str, int] = field(default_factory=dict)
    baseline: Baseline | None = None

    def __repr__(self) -> str:
        return rendering.text(self)

    def text(self, *, verbose: bool = False) -> str:
        """The plain-text rendering, as it is printed; where it is `verbose` all findings and examples."""
        return rendering.text(self, verbose=verbose)

    def _repr_html_(self) -> str:
        return rendering.page(self)

    def __getitem__(self, code: str) -> list[Finding]:
        """The findings with this code."""
        return [item for item in self.findings if item.code == code]

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Findings of severity high or warn that are not accepted."""
        return tuple(
            item
            for item in self.findings
            if item.severity != "info" and not item.accepted
        )

    @property
    def table(self) -> pd.DataFrame:
        """One row a finding: severity, code, family, component, part, rate, gain, n, sentence."""
        names = "severity code family component part n sentence accepted".split()
        table = pd.DataFrame(
            map(attrgetter(*names), self.findings), columns=names, dtype=object
        )
        for place, (name, key) in enumerate((("rate", "value"), ("gain", "gain")), 5):
            values = [item.evidence.get(key) for item in self.findings]
            table.insert(place, name, pd.Series(values, dtype=object))
        return table

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The cases to add to a case file, of the findings that are alarms."""
        return [case for item in self.alarms for case in item.cases]

    def record(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "reward": self.reward.name,
            "findings": [item.record() for item in self.findings],
            "inconclusive": [item.record() for item in self.inconclusive],
            "untried": dict(self.untried),
            "probes": list(self.probes),
            "subjects": len(self.calibration.subjects),
            "calls": self.calls,
        }


@contextmanager
def _shallow() -> Iterator[None]:
    """RolloutsError where rollouts hold what is nested too deeply to be copied or written."""
    try:
        yield
    except RecursionError:
        raise RolloutsError(
            "a value of the rollouts is nested deeper than Python can copy; make the lists and objects in "
            "their columns flatter, or write them as text"
        ) from None


@_shallow()
@caught_prints()  # by attempts in their thousands; nobody is to read it
def probe(
    reward: Reward,
    rollouts: Rollouts | str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    cases: CaseSource | None = None,
    label: str | None = None,
    only: Sequence[str] | str | None = None,
    timeout: float | None = TIMEOUT,
    budget: float = BUDGET,
    leakage: float = LEAKAGE,
    search: int = CALLS,
    expects_partial: bool = False,
    seed: int = 0,
    baseline: Baseline | str | Path | None = None,
    progress: Callable[[float], bool] | None = None,
) -> ProbeResult:
    """What bad answers would earn of a reward, and what right ones would lose.

    Completions with a known verdict are built from the user's own rollouts (and `cases`), scored, and held
    against what a right and a plainly wrong answer of the same form earn. `label` names a column that says
    which rollouts are right. `only` names families or probes. Each call may take `timeout` seconds, all of it
    `budget`; what was not tried is in `.untried`. A wrong answer in good form may earn `leakage` of the
    ceiling. Beyond the fixed list `search` completions are put together and tried, and what pays is made as
    small as it goes (0: none). With `expects_partial` nearly right answers may earn a part. `baseline` is a
    file of accepted findings, which are no alarms. `progress` is told the share of the work that is done,
    many times, and says whether to go on: if not, the rest is untried. A judge among the components is asked
    for each completion, up to its budget; without one a warning is logged. RewardError: a column is asked for
    that is not there.
    """
    check_reward(reward, "probe")
    warn_of_calls(reward)
    check_arguments(
        timeout=timeout,
        budget=budget,
        leakage=leakage,
        search=search,
        progress=progress,
    )
    check_seed(seed)
    check_label(label)
    if not isinstance(rollouts, Rollouts):
        rollouts = load_rollouts(rollouts)
    if baseline is not None and not isinstance(baseline, Baseline):
        baseline = load_baseline(
            baseline
        )  # before anything is run: a broken file should not cost a minute
    if cases is not None:
        rollouts = with_cases(rollouts, cases_of(cases))
    probes, families = chosen(only)
    reward.check_columns(list(rollouts.as_logged()))
    rollouts.check_columns([label] if label is not None else [])
    truths = frozenset(map(special, rollouts.columns().get("ground_truth", [])))
    run = _Run(reward, probes, families, timeout, seed, truths)
    with time_limit(None if run.unsendable else timeout, patience=PATIENCE) as limit:
        tries = run.tries = Tries(
            reward, limit, budget, Variants(rollouts.mapping), progress=progress
        )
        calibration = calibrate(tries, rollouts, label=label, seed=seed)
        tries.reach(CALIBRATED)
        found = list(whole(calibration, tries))
        all_said = bool(found)
        if all_said:  # one finding says it all
            calibration = replace(calibration, why={})
        else:
            calibration, found = run.what_is_paid(
                calibration, leakage, search, partial=expects_partial
            )
            found += run.what_never_ends(calibration)
        tries.reach(HUNG)
        found = run.with_contract(found, calibration)
        found += [] if all_said else run.what_fails(calibration)
        if any(
            item.code == "ignores_completion" for item in found
        ):  # why no right answer earns more
            calibration = replace(calibration, why={})
        tries.reach(1.0)
    found = merged(
        [item for item in found if item.family in families], list(calibration.modes)
    )
    found.sort(key=lambda item: item.order)
    notes = [
        *(Inconclusive(part, why) for part, why in calibration.why.items()),
        *run.notes,
    ]
    names = tuple(item.name for item in probes)
    made = {
        one.probe.name
        for one in [*run.trials, *run.last]
        if any(out is not None for out in one.outcomes)
    }
    untried = _untried(run.trials, probes, tries)
    told = tuple(found), tuple(notes), calibration, names, families, frozenset(made)
    result = ProbeResult(reward, *told, tries.calls, untried)
    return result if baseline is None else under_baseline(result, baseline)


@dataclass(eq=False)
class _Run:
    """One probing: what is tried of which reward, and the `trials` and `notes` so far.

    `last` are the trials of what may never end; `failed` are other rows that failed, of so many `others`.
    """

    reward: Reward
    probes: Sequence[Strategy]
    families: frozenset[str]
    timeout: float | None
    seed: int
    truths: frozenset[str]
    trials: list[Trial] = field(default_factory=list)
    last: list[Trial] = field(default_factory=list)
    failed: list[tuple[Row, Outcome]] = field(default_factory=list)
    others: int = 0
    notes: list[Inconclusive] = field(default_factory=list)
    tries: Tries = field(init=False)

    @cached_property
    def unsendable(self) -> str | None:
        """Why calls cannot be made in a process that can be ended; ``None`` where they can."""
        return cannot_limit(self.reward.functions)

    @property
    def unlimited(self) -> str | None:
        """Why calls of the reward's own code have no time limit; ``None`` where they have, or need none."""
        if self.unsendable:
            return self.unsendable
        needed = any(map(TimeLimit.needed, filter(callable, self.reward.functions)))
        return (
            "there is no timeout; give one in seconds"
            if self.timeout is None and needed
            else None
        )

    def what_is_paid(
        self,
        calibration: Calibration,
        leakage: float,
        search: int,
        *,
        partial: bool,
    ) -> tuple[Calibration, list[Finding]]:
        """What subjects gain and lose; with the calibration of those that could be tried."""
        tries = self.tries
        measured = known(tries, calibration.subjects)
        subjects = tuple(
            item for item in calibration.subjects if item.rollout_id in measured
        )
        calibration = replace(calibration, subjects=subjects)
        seen = self._seen(calibration, measured)
        probes = [item for item in self.probes if item.expects != "back"]
        self.trials = trials(tries, subjects, probes, seen.falls)
        tries.reach(TRIED)
        found = list(against_label(seen))
        graded = _graded(self.trials, calibration, always=partial)
        if seen.noise > WILD:
            why = (
                f"the same completion scored twice differs by up to {percent(seen.noise)} of what being "
                "right adds, so nothing can be told of what is paid; take chance out of the reward, or "
                "average it"
            )
            self.notes.append(Inconclusive("probes", why))
        else:
            tallies = tallied(
                self.trials, calibration.scales, graded=graded, noise=seen.noise
            )
            found += told(self.trials, tallies, seen, leakage=leakage)
            if search and "search" in self.families and subjects:
                with self._watched(lambda got: True):
                    found += self._searched(calibration, seen, search, found)
        tries.reach(SEARCHED)
        return calibration, [*found, *of_parts(calibration, tries.calls)]

    def _searched(
        self, calibration: Calibration, seen: Seen, calls: int, found: Sequence[Finding]
    ) -> list[Finding]:
        """Exploits that no finding explains so far."""
        if (
            why := self.tries.over
            if self.tries.left <= self.tries.each
            else cannot_search(calibration)
        ):
            self.notes.append(Inconclusive("search", why))
            return []
        exploits = search_exploits(
            self.tries, calibration, calls=calls, seed=self.seed, skip=tuple(found)
        )
        return [exploit_finding(item, seen) for item in exploits]

    def _seen(
        self, calibration: Calibration, measured: Mapping[Any, Known] | None = None
    ) -> Seen:
        return Seen(
            self.reward, calibration, measured or {}, self.tries.variants, self.truths
        )

    @contextmanager
    def _watched(self, worth: Callable[[Outcome], bool]) -> Iterator[None]:
        """What fails of what is tried here, and is `worth` it, is kept, as it is of no trial."""
        calls, failed = self.tries.calls, len(self.tries.failed)
        yield
        self.others += self.tries.calls - calls
        self.failed += [pair for pair in self.tries.failed[failed:] if worth(pair[1])]

    def what_fails(self, calibration: Calibration) -> list[Finding]:
        """Completions that failed; with a note where most did, of which nothing is known then."""
        tried = [trial for trial in self.trials if trial.tried]
        if (failed := sum(trial.failed for trial in tried)) > SOME * len(tried):
            self.notes.append(
                Inconclusive(
                    "probes",
                    f"{failed} of {len(tried)} attempts failed, so what they would earn is not known",
                )
            )
        return list(
            failures(self.trials, self.failed, self.others, self._seen(calibration))
        )

    def what_never_ends(self, calibration: Calibration) -> list[Finding]:
        """Calls that do not come back."""
        if self.unlimited:
            if "hang" in self.families:
                self.notes.append(
                    Inconclusive("hang", f"no call can be ended, as {self.unlimited}")
                )
            return []
        if any(trial.late for trial in self.trials) or any(
            got.late for _, got in calibration.pool
        ):
            return []
        probes = [item for item in self.probes if item.expects == "back"]
        self.last = last_calls(self.tries, calibration, probes)
        return list(
            hangs(self.last, self._seen(calibration), max(1.0, self.tries.left))
        )

    def with_contract(
        self, found: list[Finding], calibration: Calibration
    ) -> list[Finding]:
        """The findings with those of the contract, which says more than that all is the same."""
        if "contract" not in self.families or (
            found and found[0].code in FAILING and not self.trials
        ):
            return found
        options: dict[str, Any] = {
            "unsendable": self.unsendable,
            "timeout": self.timeout,
            "seed": self.seed,
        }
        with self._watched(
            lambda got: got.gone
        ):  # truths are changed there, too, so that others may fail
            broken = list(contract(self.reward, calibration, self.tries, **options))
        if any(
            item.code == "depends_on_siblings" for item in broken
        ):  # alone, all are the same
            found = [item for item in found if item.code != "constant"]
        return found + broken


CALIBRATED, TRIED, SEARCHED, HUNG = 0.15, 0.6, 0.85, 0.9
"""Shares of the work that are done after its stages, about, for a bar to tell. Our choice."""


def _graded(
    made: Iterable[Trial], calibration: Calibration, *, always: bool
) -> dict[Any, bool]:
    """Whether nearly right answers earn a part, by subject: as they do anywhere in its part of the log."""
    parts: set[str] = set()
    for trial in made:
        if trial.probe.knows in ("near", "guess") and trial.tried and not trial.failed:
            if (
                0.05
                < calibration.scales[trial.subject.rollout_id].gain(trial.reward)
                < 0.95
            ):
                parts.add(trial.subject.part)
    return {
        subject.rollout_id: always or subject.part in parts
        for subject in calibration.subjects
    }


def _untried(
    made: Sequence[Trial], probes: Iterable[Strategy], tries: Tries
) -> dict[str, int]:
    """Strategy -> number of attempts that the budget did not reach; 0 where none was made any more."""
    if not made and tries.left <= tries.each and not tries.hopeless:
        return {item.name: 0 for item in probes}
    return dict(Counter(trial.probe.name for trial in made if not trial.tried))
