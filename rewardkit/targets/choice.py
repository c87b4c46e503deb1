"""Choose one of the readings that targets propose for a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.errors import RewardError, preview
from rewardkit.primitives.messages import NO_JSON, read_strict_json
from rewardkit.rewards.component import parameters
from rewardkit.rewards.script import MAKER
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.prints import caught_prints
from rewardkit.targets import TARGETS, find_target
from rewardkit.targets.adapter import Adapter
from rewardkit.targets.columns import SAMPLE, Row, required_parameters
from rewardkit.targets.target import Target, TrainerReading
from rewardkit.targets.trial import Allowance, ReadingTrial, try_reading

TRIAL_SECONDS = 10.0
"""Default limit of a call, in seconds. Our choice."""

AGREES, DIFFERS = 0.95, 0.9
"""Shares of the log's scores that a reading reproduces: from the first on it counts as
the logged one, up to the second another reading is sought. Our choice."""

MOST_LATE_TRIALS = 2
"""Late calls, at most, in the time for all trials of a function.

Our choice: one late call may be chance.
"""


@dataclass(frozen=True)
class ChoiceOptions:
    """The options for choosing a reading.

    The reading is one of `targets` and of the way `way` ("" for any). It is tried on
    `rows`, or on a made-up sample if there are none; `limit` is for each call.
    """

    targets: Sequence[Target]
    way: str
    rows: Sequence[Row]
    limit: TimeLimit


@contextmanager
def choice_options(
    as_: str | None, rows: Sequence[Row], timeout: float | None
) -> Iterator[ChoiceOptions]:
    """Yield the options for "target:way"; drop the prints of trial calls."""
    target_name, _, way = (as_ or "").partition(":")
    targets: Sequence[Target] = [find_target(target_name)] if target_name else TARGETS
    seconds = TRIAL_SECONDS if timeout is None else timeout
    with caught_prints(), time_limit(seconds) as limit:
        assert limit is not None
        yield ChoiceOptions(targets, way, rows, limit)


def choose_reading(value: Any, name: str, options: ChoiceOptions) -> ReadingTrial:
    """Choose the only reading, or the one that works, or that tells completions apart.

    If no way of a trainer tells completions apart, the first one wins: it fits the form
    of the rollouts. RewardError: no reading is proposed, or several are as likely.
    """
    rows, limit = options.rows, options.limit
    allowance = Allowance(MOST_LATE_TRIALS * limit.seconds)
    sample = rows or SAMPLE
    trials = _try_proposals(_propose(value, name, options), options, allowance)
    trials = [trial for trial in trials if trial.works] or trials
    logged = []
    for trial in trials:
        if any(_is_logged(trial, other, rows) for other in trials):
            logged.append(trial)
    trials = logged or trials
    if rows:
        trials[0] = _as_logged(trials[0], rows, limit, allowance)
    first = trials[0]
    if len(trials) == 1 or (first.works and first.reading.fits_rows):
        return _name_others(trials)
    trials = _distinct([trial for trial in trials if trial.tells_apart] or trials)
    is_undecided = len(trials) > 1 and trials[0].tells_apart
    if is_undecided:
        # a function that reads its arguments rewards another text differently
        other_rows = [{**row, "completion": "?"} for row in sample]
        sensitive = []
        for trial in trials:
            target, reading = trial.target, trial.reading
            other = try_reading(target, reading, other_rows, limit, allowance)
            if trial.differs(other):
                sensitive.append(trial)
        trials = sensitive or trials
    several_targets = len({trial.target.name for trial in trials}) > 1
    if len(trials) > 1 and (is_undecided or several_targets):
        raise RewardError(
            f"{name} can be read in more ways than one: "
            f"{'; '.join(map(_describe_candidate, trials))}; choose with "
            + " or ".join(f"--as {trial.name}" for trial in trials)
        )
    return _name_others(trials)


def _try_proposals(
    proposals: Sequence[tuple[Target, TrainerReading]],
    options: ChoiceOptions,
    allowance: Allowance,
) -> list[ReadingTrial]:
    """Try the sure proposals, or the others if there are none or they fail on all rows.

    A sure one may fail if a function uses a trainer's names in its own way, which only
    rows of a log can show.
    """

    def trials_of(are_sure: bool) -> list[ReadingTrial]:
        sample = options.rows or SAMPLE
        trials = []
        for target, reading in proposals:
            if reading.sure is are_sure:
                trial = try_reading(target, reading, sample, options.limit, allowance)
                trials.append(trial)
        return trials

    trials = trials_of(are_sure=True)
    if not trials:
        return trials_of(are_sure=False)
    if options.rows and all(trial.fails for trial in trials):
        trials = [trial for trial in trials_of(are_sure=False) if trial.works] or trials
    return trials


def _is_logged(trial: ReadingTrial, other: ReadingTrial, rows: Sequence[Row]) -> bool:
    """Return whether a trial reproduces the scores of the log, and another does not."""
    share, other_share = trial.agreement(rows), other.agreement(rows)
    if share is None or other_share is None:
        return False
    return share >= AGREES and other_share <= DIFFERS


def _as_logged(
    trial: ReadingTrial, rows: Sequence[Row], limit: TimeLimit, allowance: Allowance
) -> ReadingTrial:
    """Pass arguments in another form if only that works or reproduces the log."""
    share, failures = trial.agreement(rows), len(trial.failures)
    if 2 * failures <= len(rows) and (share is None or share > DIFFERS):
        return trial
    reading = trial.reading
    for adapter, forms in _other_forms(reading.adapter, rows):
        mapping = dict(reading.mapping)
        for name, column in mapping.items():
            mapping[name] = forms.get(column, column)
        changed = replace(reading, adapter=adapter, mapping=mapping)
        other = try_reading(trial.target, changed, rows, limit, allowance)
        fails_less = other.works and 2 * len(other.failures) < failures
        if fails_less or _is_logged(other, trial, rows):
            return other
    return trial


def _other_forms(
    adapter: Adapter, rows: Sequence[Row]
) -> Iterator[tuple[Adapter, dict[str, str]]]:
    """Yield adapters with arguments in another form, with a phrase for each column."""
    names = []
    for name in adapter.needs:
        is_text = name == "completion"
        if not is_text and all(_is_json(row.get(name)) for row in rows):
            names.append(name)
    if names:
        words = {name: f"{name}, parsed from JSON" for name in names}
        forms = tuple((name, "parsed") for name in names)
        yield replace(adapter, forms=forms), words
    if all(isinstance(row.get("prompt"), str) for row in rows):
        needs = (*adapter.needs, "prompt")
        forms = (("completion", "behind the prompt"),)
        text = "prompt and completion, as the log's scores say"
        yield replace(adapter, forms=forms, needs=needs), {"completion": text}


def _is_json(value: Any) -> bool:
    """Return whether a value is the JSON text of an object or list."""
    is_container = isinstance(value, str) and value.startswith(("{", "["))
    return is_container and read_strict_json(value) is not NO_JSON


def _distinct(trials: Sequence[ReadingTrial]) -> list[ReadingTrial]:
    """Leave out trials that give the same rewards as an earlier one."""
    distinct: list[ReadingTrial] = []
    for trial in trials:
        is_again = any(trial.rewards == other.rewards for other in distinct)
        if not (trial.tells_apart and is_again):
            distinct.append(trial)
    return distinct


def _name_others(trials: Sequence[ReadingTrial]) -> ReadingTrial:
    """Return the first trial, with a reason that names trials with other values."""
    first, *others = trials
    names = [trial.name for trial in others if trial.works and first.differs(trial)]
    if not names:
        return first
    reason = (
        f"{first.reading.reason} (other values as {', '.join(names)}: choose that with "
        "--as)"
    )
    return replace(first, reading=replace(first.reading, reason=reason))


def _describe_candidate(trial: ReadingTrial) -> str:
    """Describe a trial among several, with its failure if it did not work."""
    failure = ""
    if trial.failures and not trial.works:
        failure = f"; on a sample: {trial.failures[0]}"
    return f"{trial.name}, {trial.target.form} ({trial.reading.reason}{failure})"


def _propose(
    value: Any, name: str, options: ChoiceOptions
) -> list[tuple[Target, TrainerReading]]:
    """Return the different readings that the targets propose for a value.

    RewardError: there is none.
    """
    targets, way = options.targets, options.way
    proposals: list[tuple[Target, TrainerReading]] = []
    for target in targets:
        for reading in target.readings(value, options.rows):
            if all(reading.adapter != other.adapter for _, other in proposals):
                proposals.append((target, reading))
    chosen = [proposal for proposal in proposals if way in ("", proposal[1].way)]
    if chosen:
        return chosen
    if proposals:
        ways = [reading.way for _, reading in proposals if reading.way]
        raise RewardError(
            f"{name} cannot be read as {way!r}; {targets[0].name} has "
            f"{ways or 'one way only'}"
        )
    fact = f"it is {preview(value)}"
    if isinstance(value, type):
        methods = [method for method in vars(value) if not method.startswith("_")]
        fact = f"it is a class with the methods {methods}"
        needed = required_parameters(value)
        if methods and needed:
            makers = [method for method in methods if MAKER.match(method)]
            method = f"{makers[0]}()" if makers else methods[0]
            fact += f", made with {', '.join(needed)} (write a file with reward = "
            fact += f"{name}(...).{method})"
        elif methods:
            fact += f" (name one, as {name}.{methods[0]})"
    elif callable(value):
        fact = f"its parameters are {list(parameters(value))}"
    if len(targets) == 1:
        raise RewardError(
            f"{name} cannot be read as {targets[0].title}: {fact}; expected "
            f"{targets[0].form}"
        )
    titles = [target.title for target in targets if target.name != "plain"]
    raise RewardError(
        f"{name} is not a reward: {fact}; give a Reward, a function that returns one, "
        "f(completion, ground_truth), or a reward function of one of "
        f"{', '.join(titles)}"
    )
