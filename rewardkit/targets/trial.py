"""How a value is to be read: the ways that targets propose, tried on a few rows."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from rewardkit.errors import RewardError, preview
from rewardkit.primitives.messages import NO_JSON, read_strict_json
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import is_async, parameters
from rewardkit.rollouts.columns import LOGGED, lists_of_columns
from rewardkit.scoring.answers import as_list
from rewardkit.scoring.callers import spread
from rewardkit.scoring.calls import Calls
from rewardkit.scoring.deadlines import CannotLimit, TimeLimit, answered
from rewardkit.targets.adapter import Adapter, plain_values
from rewardkit.targets.columns import SAMPLE, Row
from rewardkit.targets.exported import RewardHolder
from rewardkit.targets.target import JUDGED, Target, TrainerReading

TRIAL_SECONDS = 10.0
"""Limit of one call, where the caller names none. Our choice."""

AGREES, DIFFERS = 0.95, 0.75
"""Share of the log's scores from which a reading gives them, and up to which another
one is looked for. Our choice."""

MOST_LATE_TRIALS = 2
"""Trying one function may take as long as this many calls that are too slow.

Our choice: one may be chance.
"""


@dataclass(frozen=True)
class ReadingTrial:
    """A target's reading of a value, tried on the rows of a sample.

    `answers` has for each row a number, a dict, ``None``, or the Reason of a failure.
    """

    target: Target
    reading: TrainerReading
    answers: tuple[Any, ...]

    @property
    def name(self) -> str:
        """What to choose it by: the target, and the way where there are several."""
        way = self.reading.way
        return f"{self.target.name}:{way}" if way else self.target.name

    @property
    def works(self) -> bool:
        """Whether one call at least gave what a reward can be."""
        return any(map(_is_reward, self.answers))

    @property
    def tells_apart(self) -> bool:
        """Whether two rows got different rewards, as if it understood its arguments."""
        return len(set(map(repr, filter(_is_reward, self.answers)))) > 1

    def agreement(self, rows: Sequence[Row]) -> float | None:
        """Return the share of the rows on which it gives what the log has.

        Of the columns of scores that one counts which it agrees with most; not one that
        is the same for all rows. None where the log has none.
        """
        shares = []
        for column in {name for row in rows for name in row if name.startswith(LOGGED)}:
            logged, same = [], []
            for row, answer in zip(rows, self.answers, strict=True):
                ours, theirs = self._main_number(answer), row.get(column)
                if theirs is not None and _is_number(theirs):
                    logged.append(theirs)
                    same.append(ours is not None and math.isclose(ours, theirs))
            if len(set(logged)) > 1:
                shares.append(fmean(same))
        return max(shares, default=None)

    def _main_number(self, answer: Any) -> float | None:
        """Return what an answer pays, None where it pays nothing."""
        if isinstance(answer, Mapping):
            answer = answer.get(self.reading.main or "score")
        return float(answer) if _is_number(answer) and answer is not None else None

    @property
    def rewards(self) -> list[Any]:
        """The answers, a number for a dict in which it is the only one."""
        rewards = []
        for answer in self.answers:
            if isinstance(answer, Mapping):
                numbers = [value for value in answer.values() if _is_number(value)]
                answer = numbers[0] if len(numbers) == 1 else answer
            rewards.append(answer)
        return rewards

    @property
    def calls_made(self) -> list[Any]:
        """The answers but for those of calls that were not made."""
        return [answer for answer in self.answers if not _is_untried(answer)]

    @property
    def failures(self) -> list[Reason]:
        """Why calls failed."""
        return [answer for answer in self.calls_made if isinstance(answer, Reason)]

    @property
    def dicts(self) -> list[Mapping[str, Any]]:
        """The answers that are dicts."""
        return [answer for answer in self.answers if isinstance(answer, Mapping)]

    @property
    def keys(self) -> list[str]:
        """The keys of the dicts, in order, whose values are all numbers or ``None``."""
        keys = []
        for key, scores in lists_of_columns(self.dicts).items():
            if not all(map(_is_number, scores)):
                continue
            if key == self.reading.main or set(scores) != {None}:
                keys.append(key)
        return keys

    @property
    def says_judged(self) -> bool:
        """Whether export wrote it, with a key that says where there is no reward."""
        values = getattr(self.reading.adapter.function, "__globals__", {}).values()
        is_ours = any(isinstance(value, RewardHolder) for value in values)
        return is_ours and {JUDGED, self.reading.main} <= set(self.keys)

    def differs(self, other: ReadingTrial) -> bool:
        """Whether a row that both were tried on got another answer."""
        for answer, other_answer in zip(self.answers, other.answers, strict=True):
            if _is_untried(answer) or _is_untried(other_answer):
                continue
            if answer != other_answer:
                return True
        return False


def _is_untried(answer: Any) -> bool:
    return isinstance(answer, Reason) and answer.code is ReasonCode.NOT_TRIED


def _is_late(answer: Any) -> bool:
    return isinstance(answer, Reason) and answer.code is ReasonCode.LATE


def _is_number(answer: Any) -> bool:
    return answer is None or isinstance(answer, int | float)


def _is_reward(answer: Any) -> bool:
    if isinstance(answer, Mapping):
        return any(map(_is_number, answer.values()))
    return _is_number(answer)


# --- choosing


def choose_reading(
    value: Any,
    name: str,
    targets: Sequence[Target],
    way: str,
    rows: Sequence[Row],
    limit: TimeLimit,
) -> ReadingTrial:
    """Choose the only reading, or the one that works, or that tells completions apart.

    Of several ways of one trainer in which no completion differs from another the first
    is taken: the one that fits the rollouts. Without `rows` a made-up sample is tried.
    RewardError: none is proposed, or several are as likely.
    """
    allowance = Allowance(MOST_LATE_TRIALS * limit.seconds)
    sample = rows or SAMPLE
    trials = []
    for target, reading in _propose(value, name, targets, way, rows):
        trials.append(try_reading(target, reading, sample, limit, allowance))
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
        # one that understood its arguments pays another text otherwise
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


def _is_logged(trial: ReadingTrial, other: ReadingTrial, rows: Sequence[Row]) -> bool:
    """Return whether a trial gives the scores of the log, and another does not."""
    share, other_share = trial.agreement(rows), other.agreement(rows)
    if share is None or other_share is None:
        return False
    return share >= AGREES and other_share <= DIFFERS


def _as_logged(
    trial: ReadingTrial, rows: Sequence[Row], limit: TimeLimit, allowance: Allowance
) -> ReadingTrial:
    """Hand over arguments in another form, where only that works or gives the log."""
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
        if _is_logged(other, trial, rows) or 2 * len(other.failures) < failures:
            return other
    return trial


def _other_forms(
    adapter: Adapter, rows: Sequence[Row]
) -> Iterator[tuple[Adapter, dict[str, str]]]:
    """Yield adapters with arguments in another form, and what these are, by column."""
    names = []
    for name in adapter.needs:
        is_text = name == "completion"
        if not is_text and all(_is_json(row.get(name)) for row in rows):
            names.append(name)
    if names:
        forms = {name: f"{name}, parsed from JSON" for name in names}
        yield replace(adapter, parsed=tuple(names)), forms
    if all(isinstance(row.get("prompt"), str) for row in rows):
        needs = (*adapter.needs, "prompt")
        text = "prompt and completion, as the log's scores say"
        yield replace(adapter, has_prompt=True, needs=needs), {"completion": text}


def _is_json(value: Any) -> bool:
    """Return whether a value is the text of an object or list."""
    is_container = isinstance(value, str) and value.startswith(("{", "["))
    return is_container and read_strict_json(value) is not NO_JSON


def _distinct(trials: Sequence[ReadingTrial]) -> list[ReadingTrial]:
    """Leave out trials that tell completions apart just as an earlier one does."""
    distinct: list[ReadingTrial] = []
    for trial in trials:
        is_again = any(trial.rewards == other.rewards for other in distinct)
        if not (trial.tells_apart and is_again):
            distinct.append(trial)
    return distinct


def _name_others(trials: Sequence[ReadingTrial]) -> ReadingTrial:
    """Return the first trial; its reason names others that give other values."""
    first, *others = trials
    names = []
    for trial in others:
        if trial.works and first.differs(trial):
            names.append(trial.name)
    if not names:
        return first
    reason = (
        f"{first.reading.reason} (other values as {', '.join(names)}: choose that with "
        "--as)"
    )
    return replace(first, reading=replace(first.reading, reason=reason))


def _describe_candidate(trial: ReadingTrial) -> str:
    """Describe a trial among several, and why it did not work if so."""
    failure = ""
    if trial.failures and not trial.works:
        failure = f"; on a sample: {trial.failures[0]}"
    return f"{trial.name}, {trial.target.form} ({trial.reading.reason}{failure})"


def _propose(
    value: Any, name: str, targets: Sequence[Target], way: str, rows: Sequence[Row]
) -> list[tuple[Target, TrainerReading]]:
    """Return the different ways in which the targets would call a value.

    Where some are sure, only these. RewardError: there is none.
    """
    proposals: list[tuple[Target, TrainerReading]] = []
    for target in targets:
        for reading in target.readings(value, rows):
            if all(reading.adapter != other.adapter for _, other in proposals):
                proposals.append((target, reading))
    sure = [proposal for proposal in proposals if proposal[1].sure]
    proposals = sure or proposals
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
    if callable(value):
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


# --- trying


@dataclass(eq=False)
class Allowance:
    """The `seconds` that are left for trying one function, in all its readings.

    They are not counted where a process had to start, which also imports what the
    function needs.
    """

    seconds: float
    is_starting: bool = True


def try_reading(
    target: Target,
    reading: TrainerReading,
    rows: Sequence[Row],
    limit: TimeLimit,
    allowance: Allowance,
) -> ReadingTrial:
    """Call a reading for each of these rows, or for all where it needs siblings.

    Each call is limited where the function can be sent to another process, and all of
    them by the allowance: a Reason stands for the answer of a call that was not made.
    """
    together = reading.adapter.together
    inputs: list[Any] = [dict(row) for row in rows]
    if together == "group":
        inputs = [inputs]
    elif together == "batch":
        inputs = [[row] for row in inputs]
    answers: list[Any] = []
    while len(answers) < len(inputs) and allowance.seconds > 0:
        # twice as many each time
        batch = inputs[len(answers) :][: max(1, len(answers))]
        start = time.monotonic()
        batch_answers = _call(reading, batch, limit)
        seconds = min(time.monotonic() - start, limit.seconds * len(batch))
        is_late = any(map(_is_late, batch_answers))
        if is_late or not allowance.is_starting:
            allowance.seconds -= seconds
        allowance.is_starting = is_late
        answers += batch_answers
    untried = Reason(ReasonCode.NOT_TRIED, seconds=limit.seconds)
    answers += [untried] * (len(inputs) - len(answers))
    if together:
        size = len(rows) if together == "group" else 1
        lists, answers = answers, []
        for answer in lists:
            scores = as_list(answer, lambda score: score, "scores")
            answers += spread(scores, size)
    return ReadingTrial(target, reading, tuple(answers))


def _call(
    reading: TrainerReading, inputs: Sequence[Any], limit: TimeLimit
) -> list[Any]:
    """Return the answers, of another process where the function can be sent."""
    adapter = reading.adapter
    calls = Calls(adapter, [inputs], {}, len(inputs), plain_values, is_async(adapter))
    try:
        return limit.run(calls)
    except CannotLimit:
        return answered(calls)
