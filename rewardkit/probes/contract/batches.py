"""Score batches of rows for the contract, and watch functions for what they change.

Rows are varied so that code that tidies up its input changes something.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rewardkit.analysis.statistics import Mask
from rewardkit.findings import Example, Finding
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import SHARE_OF_RULE, Tries, group_rows, score_rows
from rewardkit.rewards.component import is_async
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.strategies.strategy import Row
from rewardkit.targets.adapter import OF_PROMPT, Adapter

Rewards = list[float]

MOST_IN_ORDER = 512
"""Rows of a log that are scored in two orders. Our choice."""
PASSES_IN_ORDER = 3
"""Passes over these rows where the order matters."""


@dataclass(eq=False)
class Batches:
    """A reward and rows that it judges, to be scored in different batches."""

    observed: Observed
    rows: list[Row]
    limit: TimeLimit | None
    seconds: float | None
    unsendable: str | None

    @property
    def reward(self) -> Reward:
        """Return the reward."""
        return self.observed.reward

    @property
    def tries(self) -> Tries:
        """Return the reward with an account of what was tried."""
        return self.observed.tries

    def score(
        self, rows: Sequence[Row], reward: Reward, limit: TimeLimit | None = None
    ) -> Outcomes:
        """Score copies of rows in one pass, a group for each call of the trainer."""
        self.tries.calls += len(rows)
        copies = [copy.deepcopy(dict(row)) for row in rows]
        groups = group_rows(rows, self.shared_columns)
        return score_rows(reward, copies, limit or self.limit, groups)

    @cached_property
    def shared_columns(self) -> list[str]:
        """List the columns that have one value for all rows of a call."""
        names = list(OF_PROMPT) if self.tries.by_group else []
        for function in self.reward.functions:
            if isinstance(function, Adapter):
                names += function.shared_columns
        return names

    def rewards(self, rows: Sequence[Row], limit: TimeLimit | None = None) -> Rewards:
        """Return the rewards of rows in one call, (rows,)."""
        rewards: Rewards = self.score(rows, self.reward, limit).rewards.tolist()
        return rewards

    def rewards_alone(self, rows: Sequence[Row]) -> Rewards:
        """Return the rewards of rows, each in a call of its own, (rows,)."""
        return [self.rewards([row])[0] for row in rows]

    @cached_property
    def first(self) -> Rewards:
        """Score all rows in one call."""
        return self.rewards(self.rows)

    @cached_property
    def second(self) -> Rewards:
        """Score all rows once more."""
        return self.rewards(self.rows)

    @cached_property
    def is_unsteady(self) -> bool:
        """Return whether the same rows earn something else the second time."""
        return not are_same(self.first, self.second)

    @cached_property
    def elsewhere(self) -> Rewards:
        """Score all rows in another process."""
        return self.rewards_anew(self.rows)

    def rewards_anew(self, rows: Sequence[Row]) -> Rewards:
        """Return the rewards of rows in a new process, (rows,)."""
        with time_limit(self.seconds, processes=1) as fresh:
            return self.rewards(rows, fresh)

    @property
    def rows_of_log(self) -> list[Row]:
        """Return the judged rows of the log by prompt, as far as there is time."""
        rows = [row for row, outcome in self.observed.pool if outcome.is_judged]
        rows.sort(key=lambda row: repr(row.get("prompt")))
        seconds = SHARE_OF_RULE * self.tries.seconds_left
        fitting = seconds / (PASSES_IN_ORDER * self.tries.seconds_in_one_process)
        return rows[: int(min(fitting, MOST_IN_ORDER))]

    @cached_property
    def varied_rows(self) -> list[dict[str, Any]]:
        """Write the rows in other forms, leaving out those on which a call hangs.

        Watched functions run without a time limit.
        """
        rows = vary(self.rows, self.tries)
        if self.limit is None:
            return rows
        siblings = [rows[:2]] * len(rows)
        outcomes = self.tries.outcomes(rows, siblings, until_gone=True)
        are_back = [outcome.is_tried and not outcome.is_gone for outcome in outcomes]
        return list(compress(rows, are_back))

    def example(self, row: Row, reward: float, outcome: str = "") -> Example:
        """Make an example of a row."""
        return self.observed.row_example(row, reward, "contract", outcome)

    def report(
        self,
        code: str,
        phrase: str,
        examples: Sequence[Example] = (),
        component: str | None = None,
    ) -> Finding:
        """Make the finding of a broken rule; its sentence contains `phrase`."""
        if len(self.reward.names) < 2:
            component = None
        return self.observed.finding(
            code,
            max(1, len(self.rows)),
            component=component,
            examples=examples,
            kind="contract",
            what=phrase.rstrip("."),
        )

    def report_changes(
        self, code: str, rewards: Rewards, by: str = ""
    ) -> list[Finding]:
        """Report rows that earn something else now; `rewards` may repeat the rows."""
        before = np.resize(self.first, len(rewards))
        places = np.flatnonzero(~_are_close(before, rewards)).tolist()
        if not places:
            return []
        examples = []
        for place in places:
            reward, row = rewards[place], self.rows[place % len(self.rows)]
            change = f"{_amount(reward)}, before {_amount(before[place])}"
            examples.append(self.example(row, reward, change))
        steps = np.abs(np.subtract(rewards, before))[places]
        lost = int(np.isnan(steps).sum())
        phrase = f"{by}{len(places)} of {len(rewards)} rows"
        if lost < len(steps):
            phrase += f", by up to {np.nanmax(steps):.3g}"
        if lost:
            phrase += f", {lost} of which have a reward only one time"
        return [self.report(code, phrase, examples)]

    def report_turned(
        self, rows: Sequence[Row], rewards: Rewards, turned: Rewards
    ) -> list[Finding]:
        """Report rows of the log that earn something else in reverse order."""
        examples = []
        differ = ~_are_close(rewards, turned)
        for place in np.flatnonzero(differ).tolist():
            reward = rewards[place]
            change = f"{_amount(reward)}, in reverse order {_amount(turned[place])}"
            examples.append(self.example(rows[place], reward, change))
        if not examples:
            return []
        phrase = f"{len(examples)} of {len(rows)} logged rows"
        finding = self.report("hidden_state", phrase, examples)
        return [replace(finding, evidence={**finding.evidence, "trait": "order"})]

    def report_watched(
        self, code: str, rows: Sequence[Row], error: type[Exception], phrase: str
    ) -> list[Finding]:
        """Report the first component whose watched function raises this error.

        The sentence contains `phrase` with the `words` of the error and its `count`.
        """
        if not rows:  # no time was left to write any
            return []
        outcomes = self.score(rows, watch(self.reward, error))
        for name, outcome in outcomes.components.items():
            failed = []
            words = ""
            for place, reason in sorted(outcome.reasons.items()):
                if reason.error == error.__name__:
                    failed.append(rows[place])
                    words = words or reason.words
            if not failed:
                continue
            row, reward = failed[0], math.nan
            if error is ArgumentChanged:
                row = next(filter(self._changes_alone, failed), row)
                (reward,) = self.rewards([row])
            count = f"{len(failed)} of {len(rows)}"
            phrase = phrase.format(words=words, count=count)
            example = self.example(row, reward, words)
            return [self.report(code, phrase, [example], name)]
        return []

    def _changes_alone(self, row: Row) -> bool:
        """Return whether an argument is changed in a call with this row alone."""
        scored = self.score([row], watch(self.reward, ArgumentChanged))
        return any(outcome.reasons for outcome in scored.components.values())


def are_same(first: Rewards, second: Rewards) -> bool:
    """Return whether rewards are the same, missing ones as well."""
    return bool(_are_close(first, second).all())


def _are_close(first: ArrayLike, second: ArrayLike) -> Mask:
    return np.isclose(first, second, rtol=1e-9, atol=1e-9, equal_nan=True)


def _amount(reward: float) -> str:
    return "no reward" if math.isnan(reward) else f"{reward:.6g}"


# --- functions that report when they change their arguments


Watched = Sequence[tuple[str, Any, str]]
"""Arguments: their names, their values, and the repr of these before the call."""


class ArgumentChanged(TypeError):
    """A function changed an argument."""


class GivesNaN(TypeError):
    """A function gave a list that holds a NaN."""


@dataclass(frozen=True, repr=False)
class WatchedFunction:
    """A wrapped function of the user that raises `error` when it breaks the rule.

    Once it has changed an argument, nested or not, each later call raises as well,
    because the rows of a failed batch are called again one by one. `changes` describes
    the changes.
    """

    function: Callable[..., Any]
    error: type[Exception]
    changes: list[str] = field(default_factory=list, init=False)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @property
    def is_async(self) -> bool:
        """Return whether its answer has to be awaited."""
        return is_async(self.function)

    @property
    def together(self) -> str:
        """Return which rows a call gets as a field, "" for a single row."""
        return str(getattr(self.function, "together", ""))

    def __call__(self, /, *positional: Any, **keywords: Any) -> Any:
        """Call the function and check its arguments and its answer.

        Raises:
            ArgumentChanged: It changed an argument.
            GivesNaN: It gave a NaN.
        """
        arguments = [*enumerate(positional, start=1), *keywords.items()]
        watched = [(str(name), value, repr(value)) for name, value in arguments]
        answer = self.function(*positional, **keywords)
        if self.is_async:
            return self._await(answer, watched)
        return self._check(answer, watched)

    async def _await(self, answer: Any, watched: Watched) -> Any:
        return self._check(await answer, watched)

    def _check(self, answer: Any, watched: Watched) -> Any:
        if self.error is GivesNaN:
            if isinstance(answer, list) and any(map(_is_nan, answer)):
                raise GivesNaN("gives NaN")
            return answer
        # a copy would not do: many objects have their address in their repr
        for name, value, before in watched:
            if repr(value) != before:
                self.changes.append(f"changed its argument {name!r}")
        if self.changes:
            raise ArgumentChanged(self.changes[0])
        return answer


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def watch(reward: Reward, error: type[Exception]) -> Reward:
    """Return the reward with each of the user's functions watched, but for gates."""

    def watch_branch(branch: Reward) -> Reward:
        fields = {
            name: _watch_function(function, error)
            for name, function in branch.fields.items()
        }
        components = [
            replace(item, function=_watch_function(item.function, error))
            for item in branch.components
        ]
        return replace(branch, fields=fields, components=components)

    return reward.map(watch_branch)


def _watch_function(function: Any, error: type[Exception]) -> Any:
    if not TimeLimit.needed(function):
        return function
    if not isinstance(function, Adapter):
        return WatchedFunction(function, error)
    # an adapter may call a method, or its object in a way of its own
    is_special = function.method or type(function).called is not Adapter.called
    if is_special or not callable(function.function):
        return function
    return replace(function, function=WatchedFunction(function.function, error))


def _pad(text: str) -> str:
    return f"  \t{text}\n\n "


TALK = "Sure! **So**:\n```\n{}\n```\n\\[ $1,000 \\] I hope that this helps.<|im_end|>"
TEXT_FORMS: tuple[Callable[[str], str], ...] = (
    _pad,
    lambda text: text.replace("\n", "\r\n") + "\r\n",
    str.upper,
    str.lower,
    "{} Cafe\u0301 \ufb01t \uff14\u00a0\u200b".format,
    TALK.format,
    " I do not know.\n".format,
)
"""Forms that code strips or normalizes: white space, line ends, case, Unicode, marks
and talk around the answer; and a completion without an answer."""

PADDED_COLUMNS = ("prompt", "ground_truth")


def vary(rows: Iterable[Row], tries: Tries) -> list[dict[str, Any]]:
    """Return rows with the completion in a form that code often tidies up, in turn.

    The last turn of a transcript gets that form too, and the other texts get white
    space around them.
    """
    varied = []
    for place, row in enumerate(rows):
        form = TEXT_FORMS[place % len(TEXT_FORMS)]
        completion = None
        if isinstance(row.get("completion"), str) and not tries.unwritable:
            completion = form(row["completion"])
        padded = {
            name: _pad(row[name])
            for name in PADDED_COLUMNS
            if isinstance(row.get(name), str)
        }
        varied.append(tries.varied(row, completion, **padded))
    return varied
