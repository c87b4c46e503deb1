"""probe(): what bad answers would earn of a reward, and what right ones would lose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rewardkit.errors import RewardError, RolloutsError, did_you_mean
from rewardkit.findings import SEVERITIES, Finding, percent
from rewardkit.probes.contract.contract import contract
from rewardkit.probes.results import rendering
from rewardkit.probes.results.baseline import Baseline, load_baseline, under_baseline
from rewardkit.probes.results.causes import told
from rewardkit.probes.results.evidence import Known, Seen, special
from rewardkit.probes.results.failures import WRONG_MODES, constants, failures, hangs, whole, wrong_mode
from rewardkit.probes.results.floor import LEAKAGE
from rewardkit.probes.results.merging import merged
from rewardkit.probes.runner import Tries, Variants
from rewardkit.probes.search.exploits import exploit_finding
from rewardkit.probes.search.search import CALLS, cannot_search
from rewardkit.probes.search.search import search as search_exploits
from rewardkit.probes.strategies.attempts import Attempt, Probe, Subject
from rewardkit.probes.strategies.families import chosen
from rewardkit.probes.subjects.calibration import calibrate
from rewardkit.probes.subjects.cases import with_cases
from rewardkit.probes.subjects.scales import Calibration
from rewardkit.probes.verdicts import WILD, Trial, tallied
from rewardkit.rewards.reward import Reward, check_reward
from rewardkit.rollouts.table import Rollouts, load_rollouts
from rewardkit.scoring.cases import CaseSource, cases_of
from rewardkit.scoring.deadlines import TimeLimit, cannot_limit, time_limit
from rewardkit.scoring.printed import caught_prints

__all__ = ["BUDGET", "TIMEOUT", "Inconclusive", "ProbeResult", "probe"]

TIMEOUT = 5.0
"""Seconds that one call may take. Our choice: an ordinary call takes a thousandth of that."""

BUDGET = 60.0
"""Seconds for all of it. Our choice."""

PATIENCE = 2  # late calls of one pass, after which the others of it are not made
FAILING = ("always_errors", "always_abstains", "always_late", "wrong_length", "wrong_type", "not_finite")


@dataclass(frozen=True)
class Inconclusive:
    """What could not be decided: the probe, family or part, and why, with what is needed."""

    probe: str
    why: str

    def record(self) -> dict[str, str]:
        """It as plain data."""
        return {"probe": self.probe, "why": self.why}


@dataclass(frozen=True, eq=False)
class ProbeResult:
    """What probing found: `findings`, the worst first, what is `inconclusive`, and how much was tried.

    `untried` are probes for which the budget was over. `calibration` says how right and wrong answers were
    written and what they earned.
    """

    reward: Reward
    findings: tuple[Finding, ...]
    inconclusive: tuple[Inconclusive, ...]
    calibration: Calibration
    probes: tuple[str, ...]
    calls: int
    untried: Mapping[str, int] = field(default_factory=dict)
    baseline: Baseline | None = None

    def __repr__(self) -> str:
        return rendering.text(self)

    def _repr_html_(self) -> str:
        return rendering.page(self)

    def __getitem__(self, code: str) -> list[Finding]:
        """The findings with this code."""
        return [item for item in self.findings if item.code == code]

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """Findings of severity high or warn that are not accepted."""
        return tuple(item for item in self.findings if item.severity != "info" and not item.accepted)

    @property
    def table(self) -> pd.DataFrame:
        """One row a finding: severity, code, family, component, part, rate, gain, n, sentence."""
        rows = [
            {
                "severity": item.severity,
                "code": item.code,
                "family": item.family,
                "component": item.component,
                "part": item.part,
                "rate": item.evidence.get("value"),
                "gain": item.evidence.get("gain"),
                "n": item.n,
                "sentence": item.sentence,
                "accepted": item.accepted,
            }
            for item in self.findings
        ]
        names = "severity code family component part rate gain n sentence accepted".split()
        return pd.DataFrame(rows, columns=names, dtype=object)

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
    many times, and says whether to go on: if not, the rest is untried. RewardError: a column is asked for
    that is not there.
    """
    check_reward(reward, "probe")
    _check_numbers(timeout=timeout, budget=budget, leakage=leakage, search=search)
    if not isinstance(rollouts, Rollouts):
        rollouts = load_rollouts(rollouts)
    if baseline is not None and not isinstance(baseline, Baseline):
        baseline = load_baseline(baseline)  # before anything is run: a broken file should not cost a minute
    if cases is not None:
        rollouts = with_cases(rollouts, cases_of(cases))
    probes, families = chosen(only)
    reward.check_columns(list(rollouts.as_logged()))
    if label is not None and label not in rollouts.table:
        raise RolloutsError(
            f"there is no column {label!r} to be the label; the rollouts have {list(rollouts.table.columns)}"
            f"{did_you_mean(label, map(str, rollouts.table.columns))}"
        )
    unsendable = cannot_limit(reward.functions)
    variants = Variants(rollouts.mapping)
    notes = []
    unlimited = unsendable or _unlimited(reward, timeout)
    if unlimited and "hang" in families:
        notes.append(Inconclusive("hang", f"no call can be ended, as {unlimited}"))
    with time_limit(None if unsendable else timeout, patience=PATIENCE) as limit:
        tries = Tries(reward, limit, budget, progress=progress)
        calibration = calibrate(tries, rollouts, variants, label=label, seed=seed)
        found = list(whole(calibration, tries))
        trials: list[Trial] = []
        settled = bool(found)  # one finding says it all
        tries.reach(CALIBRATED)
        if not settled:
            known = _known(tries, calibration, variants)
            subjects = tuple(item for item in calibration.subjects if item.rollout_id in known)
            calibration = replace(calibration, subjects=subjects)
            seen = Seen(reward, calibration, known, variants, _special(rollouts))
            trials = _tried(tries, calibration, variants, [item for item in probes if item.expects != "back"])
            tries.reach(TRIED)
            graded = _graded(trials, calibration, always=expects_partial)
            found += failures(trials, calibration, seen)
            if wild := seen.noise > WILD:
                notes.append(Inconclusive("probes", _too_wild(seen.noise)))
            else:
                tallies = tallied(trials, calibration.scales, graded=graded, noise=seen.noise)
                found += told(trials, tallies, seen, leakage=leakage)
            if search and "search" in families and subjects and not wild:
                if why := cannot_search(calibration):
                    notes.append(Inconclusive("search", why))
                else:
                    exploits = search_exploits(
                        tries, calibration, variants, calls=search, seed=seed, skip=tuple(found)
                    )
                    found += [exploit_finding(item, seen) for item in exploits]
            tries.reach(SEARCHED)
            found += [
                wrong_mode(mode, tries.calls, part)
                for part, mode in calibration.modes.items()
                if mode in WRONG_MODES
            ]
            found += constants(calibration)
            if not unlimited and not any(item.code == "hang" for item in found):
                found += hangs(tries, calibration, seen, [item for item in probes if item.expects == "back"])
        tries.reach(HUNG)
        if "contract" in families and not (trials == [] and found and found[0].code in FAILING):
            broken = list(
                contract(reward, calibration, tries, unsendable=unsendable, timeout=timeout, seed=seed)
            )
            if any(item.code == "depends_on_siblings" for item in broken):  # alone, all are the same
                found = [item for item in found if item.code != "constant"]
            found += broken
        tries.reach(1.0)
    order = {name: place for place, name in enumerate(SEVERITIES)}
    found = merged([item for item in found if item.family in families], list(calibration.modes))
    found.sort(key=lambda item: (order[item.severity], -float(item.evidence.get("risk", 0.0))))
    result = ProbeResult(
        reward,
        tuple(found),
        (*notes, *(Inconclusive(part, why) for part, why in calibration.why.items() if not settled)),
        calibration,
        tuple(item.name for item in probes),
        tries.calls,
        _untried(trials, probes, tries),
    )
    return result if baseline is None else under_baseline(result, baseline)


def _too_wild(noise: float) -> str:
    return (
        f"the same completion earns {percent(noise)} of what being right adds more or less another time, so "
        "that nothing can be told of what is paid; take chance out of the reward, or average it"
    )


def _check_numbers(*, timeout: float | None, budget: float, leakage: float, search: int) -> None:
    """RewardError where one of the numbers is none that makes sense."""
    checked: tuple[tuple[str, float, bool, str], ...] = (
        ("timeout", timeout or 0, timeout is None or timeout > 0, "seconds above 0, or None"),
        ("budget", budget, budget > 0, "seconds above 0"),
        ("leakage", leakage, 0 <= leakage <= 1, "a share from 0 to 1"),
        ("search", search, search >= 0, "a number of completions"),
    )
    for name, value, fits, wanted in checked:
        if not fits:
            raise RewardError(f"{name}={value!r} cannot be used for probing; give {wanted}")


CALIBRATED, TRIED, SEARCHED, HUNG = 0.15, 0.6, 0.85, 0.9
"""Shares of the work that are done after its stages, about, for a bar to tell. Our choice."""
AGAIN = 4
"""How often the same completions are tried to see whether they earn the same. Our choice."""


def _unlimited(reward: Reward, timeout: float | None) -> str | None:
    """Why calls of a reward's own code have no limit in time; ``None`` where they have one, or need none."""
    if timeout is None and any(map(TimeLimit.needed, filter(callable, reward.functions))):
        return "there is no timeout; give one in seconds"
    return None


def _tried(
    tries: Tries, calibration: Calibration, variants: Variants, probes: Sequence[Probe]
) -> list[Trial]:
    """All attempts on all subjects, one subject after the other, so that a budget goes first into breadth.

    A probe of which a call was late is not tried on other subjects.
    """
    trials: list[Trial] = []
    late: set[str] = set()
    for number, subject in enumerate(calibration.subjects):
        tries.reach(CALIBRATED + (TRIED - CALIBRATED) * number / len(calibration.subjects))
        planned = [
            (place, probe, attempt)
            for probe in probes
            if probe.name not in late
            for place, attempt in enumerate(probe.attempts(subject))
        ]
        planned.sort(key=lambda item: item[0])  # the first attempt of each probe before the second of one
        plans = [(probe, attempt) for _, probe, attempt in planned if not late or _formed(subject, attempt)]
        while plans:
            made = _made(tries, subject, plans, variants)
            trials += [trial for trial in made if trial.tried or trial.late]
            late |= {trial.probe.name for trial in made if trial.late}
            plans = [(trial.probe, trial.attempt) for trial in made if not trial.tried and not trial.late]
            if late:  # what has the form of an answer is less likely to end like this
                plans = [(probe, item) for probe, item in plans if _formed(subject, item)]
            if tries.left <= tries.each or len(plans) == len(made):
                break
        trials += [Trial(probe, subject, item, (None,) * len(item.completions)) for probe, item in plans]
    return trials


def _made(
    tries: Tries, subject: Subject, plans: Sequence[tuple[Probe, Attempt]], variants: Variants
) -> list[Trial]:
    """The attempts of some probes on a subject, with what they got."""
    rows = [row for _, attempt in plans for row in _rows(subject, attempt, variants)]
    siblings = [subject.siblings] * len(rows) if subject.siblings else []
    outcomes = iter(tries.outcomes(rows, siblings))
    return [
        Trial(probe, subject, attempt, tuple(next(outcomes) for _ in attempt.completions))
        for probe, attempt in plans
    ]


def _formed(subject: Subject, attempt: Attempt) -> bool:
    """Whether all completions of an attempt have the marks of an answer."""
    form = subject.format
    return all(form.opening in text and form.closing in text for text in attempt.completions)


def _rows(subject: Subject, attempt: Attempt, variants: Variants) -> list[dict[str, Any]]:
    return [variants.of(subject.columns, text, **attempt.columns) for text in attempt.completions]


def _known(tries: Tries, calibration: Calibration, variants: Variants) -> dict[Any, Known]:
    """What the reference and the baseline of each subject got; again, where code of the user's own runs."""
    subjects = calibration.subjects
    rows = [
        variants.of(subject.columns, text)
        for subject in subjects
        for text in (subject.reference, subject.baseline)
    ]
    siblings = [subject.siblings for subject in subjects for _ in range(2)]
    own = any(map(TimeLimit.needed, filter(callable, tries.reward.functions)))
    rounds = [tries.outcomes(rows, siblings if any(siblings) else []) for _ in range(AGAIN if own else 1)]
    found = {}
    for place, subject in enumerate(subjects):
        pairs = [(some[2 * place], some[2 * place + 1]) for some in rounds]
        whole = [(a, b) for a, b in pairs if a is not None and b is not None]
        if whole:
            again = tuple((a.reward, b.reward) for a, b in whole[1:])
            found[subject.rollout_id] = Known(*whole[0], again)
    return found


def _graded(trials: Iterable[Trial], calibration: Calibration, *, always: bool) -> dict[Any, bool]:
    """Whether a nearly right answer earns a part, of each subject."""
    found = {subject.rollout_id: always for subject in calibration.subjects}
    for trial in trials:
        if trial.probe.knows in ("near", "guess") and trial.tried and not trial.failed:
            scale = calibration.scales[trial.subject.rollout_id]
            found[trial.subject.rollout_id] |= 0.05 < scale.gain(trial.reward) < 0.95
    return found


def _special(rollouts: Rollouts) -> frozenset[str]:
    """What kinds of special truths the rollouts have."""
    return frozenset(map(special, rollouts.columns().get("ground_truth", [])))


def _untried(trials: Sequence[Trial], probes: Iterable[Probe], tries: Tries) -> dict[str, int]:
    """Probe -> number of attempts that the budget did not reach; 0 where none was made any more."""
    if not trials and tries.left <= tries.each and not tries.hopeless:
        return {item.name: 0 for item in probes}
    found: dict[str, int] = {}
    for trial in trials:
        if not trial.tried:
            found[trial.probe.name] = found.get(trial.probe.name, 0) + 1
    return found
