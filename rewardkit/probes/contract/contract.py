"""What a trainer takes for granted of a reward, as rules, each tried on a few rows."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rewardkit.findings import Example, Finding, most, rule, run_rules
from rewardkit.probes.contract.watching import (
    ArgumentChanged,
    GivesNaN,
    vary,
    watch,
)
from rewardkit.probes.findings.evidence import Observed, make_finding, row_example
from rewardkit.probes.runner import looks_at_group, runs_users_code, score_rows
from rewardkit.probes.subjects.log import in_turn
from rewardkit.rewards.reward import ROLLOUT, Reward
from rewardkit.rewards.signature import parameters
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.strategies.subject import Row
from rewardkit.targets import TARGETS, trl
from rewardkit.targets.adapter import FAMILIAR, OF_DATA, Adapter

CONTRACT_ROWS = 12
"""Rows on which the contract is tried. Our choice: two of each kind that rewards
usually tell apart, and more."""

MOST_PASSES = 12
"""Passes over the rows, while all is well."""

CONTRACT_EXAMPLES = 3
"""Rows that show a broken rule."""

CANONICAL_COLUMNS = (*OF_DATA, "messages", "rollout_id", "prompt_id")

Findings = Sequence[Finding]
Rewards = list[float]


def check_contract(
    observed: Observed,
    *,
    unsendable: str | None,
    timeout: float | None,
    seed: int = 0,
) -> list[Finding]:
    """Find the rules that a reward breaks, one finding a rule.

    Args:
        observed: The reward, and rows that it judged.
        unsendable: Why calls cannot be made in another process; without it they are,
            in one where each call meets what the last left behind.
        timeout: Seconds that one call may take.
        seed: Draws the rows.
    """
    tries = observed.tries
    seconds_a_row = 2 * tries.seconds_a_call * MOST_PASSES  # in one process of several
    fitting = CONTRACT_ROWS
    if seconds_a_row * CONTRACT_ROWS > tries.seconds_left:
        fitting = max(0, int(tries.seconds_left / (seconds_a_row or 1)))
    rows = _choose_rows(observed, seed)[:fitting]
    seconds = None if unsendable else timeout
    with time_limit(seconds, processes=1) as limit:
        batches = Batches(observed, rows, limit, seconds, unsendable)
        # rewardkit's own functions keep the contract
        has_more = runs_users_code(observed.reward) and len(rows) > 1
        return run_rules(CONTRACT_RULES if has_more else (not_picklable,), batches)


def _choose_rows(observed: Observed, seed: int) -> list[Row]:
    """Draw rows that were judged, with as many different rewards as there are."""
    judged = [
        (outcome.reward, row)
        for row, outcome in observed.calibration.pool
        if outcome.is_judged and not outcome.failures
    ]
    order = np.random.default_rng(seed).permutation(len(judged)).tolist()
    drawn = in_turn([judged[place] for place in order], lambda pair: pair[0])
    return [row for _, row in drawn[:CONTRACT_ROWS]]


@dataclass(eq=False)
class Batches:
    """A reward and rows that it judges, to be scored in batches of several kinds."""

    observed: Observed
    rows: list[Row]
    limit: TimeLimit | None
    seconds: float | None
    unsendable: str | None

    @property
    def reward(self) -> Reward:
        """The reward."""
        return self.observed.reward

    def score(
        self, rows: Sequence[Row], reward: Reward, limit: TimeLimit | None = None
    ) -> Outcomes:
        """Score copies of rows in one call, as one group."""
        self.observed.tries.calls += len(rows)
        copies = [copy.deepcopy(dict(row)) for row in rows]
        one_group = np.zeros(len(rows), dtype=np.intp)
        return score_rows(reward, copies, limit or self.limit, one_group)

    def rewards(self, rows: Sequence[Row], limit: TimeLimit | None = None) -> Rewards:
        """Return the rewards of rows in one call, (rows,)."""
        rewards: Rewards = self.score(rows, self.reward, limit).rewards.tolist()
        return rewards

    def rewards_alone(self, rows: Sequence[Row]) -> Rewards:
        """Return the rewards of rows, each in a call of its own, (rows,)."""
        return [reward for row in rows for reward in self.rewards([row])]

    @cached_property
    def first(self) -> Rewards:
        """The rewards of all rows in one call."""
        return self.rewards(self.rows)

    @cached_property
    def second(self) -> Rewards:
        """The same, called again."""
        return self.rewards(self.rows) if self.first else []

    @cached_property
    def is_unsteady(self) -> bool:
        """Whether the same rows earn something else the second time."""
        return not _are_same(self.first, self.second)

    @cached_property
    def elsewhere(self) -> Rewards:
        """The same in another process."""
        with time_limit(self.seconds, processes=1) as fresh:
            return self.rewards(self.rows, fresh)

    @cached_property
    def varied_rows(self) -> list[dict[str, Any]]:
        """The rows in other forms, without those that no call comes back from.

        Watching has no time limit.
        """
        tries = self.observed.tries
        rows = vary(self.rows, tries.variants)
        if self.limit is None:
            return rows
        siblings = [rows[:2]] * len(rows)
        outcomes = tries.outcomes(rows, siblings, until=lambda outcome: outcome.is_gone)
        return [
            row
            for row, outcome in zip(rows, outcomes, strict=True)
            if outcome is not None and not outcome.is_gone
        ]

    def report(
        self,
        code: str,
        what: str,
        examples: Sequence[Example] = (),
        component: str | None = None,
    ) -> Finding:
        """Make the finding of a broken rule; `what` goes into its sentence."""
        return make_finding(
            code,
            max(1, len(self.rows)),
            component=component if len(self.reward.names) > 1 else None,
            examples=examples,
            kind="contract",
            what=what.rstrip("."),
        )

    def report_changes(
        self, code: str, rewards: Rewards, by: str = ""
    ) -> Iterator[Finding]:
        """Report rewards of the same rows, once or several times, that have changed."""
        count = len(self.rows)
        steps: list[float] = []
        examples: list[Example] = []
        for place, reward in enumerate(rewards):
            before = self.first[place % count]
            if not _are_same([before], [reward]):
                steps.append(abs(reward - before))
                change = f"{reward:.6g}, before {before:.6g}"
                examples.append(_example(self.rows[place % count], reward, change))
        if steps:
            sizes = [step for step in steps if not math.isnan(step)]
            largest = max(sizes, default=0.0)
            what = f"{by}{len(steps)} of {len(rewards)} rows, by up to {largest:.3g}"
            yield self.report(code, what, examples[:CONTRACT_EXAMPLES])

    def watch(
        self, rows: Sequence[Row], error: type[Exception], **options: bool
    ) -> Violation | None:
        """Find the first component whose watched function raises this error."""
        outcomes = self.score(rows, watch(self.reward, **options))
        for name, outcome in outcomes.components.items():
            places = sorted(
                place
                for place, reason in outcome.reasons.items()
                if reason.error == error.__name__
            )
            if places:
                row, words = rows[places[0]], outcome.reasons[places[0]].words
                reward = math.nan
                if error is not GivesNaN:
                    reward = self.rewards([row])[0]
                return Violation(name, words, len(places), _example(row, reward, words))
        return None


@dataclass(frozen=True)
class Violation:
    """What a watched function of a component did, on how many rows."""

    component: str
    words: str
    rows: int
    example: Example


def _example(row: Row, reward: float, outcome: str) -> Example:
    return row_example(row, reward, "contract", outcome)


def _are_same(first: Rewards, second: Rewards) -> bool:
    """Whether rewards are the same, missing ones as well."""
    return len(first) == len(second) and np.allclose(
        first, second, rtol=1e-9, atol=1e-9, equal_nan=True
    )


# --- the rules


@rule("not_picklable")
def not_picklable(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that no other process can be given."""
    if batches.unsendable:
        yield batches.report("not_picklable", batches.unsendable)


@rule("differs_between_calls")
def differs_between_calls(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that is random: it differs in every process."""
    if batches.is_unsteady and not _are_same(batches.first, batches.elsewhere):
        yield from batches.report_changes("differs_between_calls", batches.second)


@rule("hidden_state")
def hidden_state(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that keeps something from call to call."""
    if batches.is_unsteady and _are_same(batches.first, batches.elsewhere):
        yield from batches.report_changes("hidden_state", batches.second)


@rule("ignores_completion")
def ignores_completion(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that no other completion changes.

    Tried are completions of other rows, nothing, and the truth, bare and in the usual
    marks.
    """
    rows, first = batches.rows, batches.first
    if batches.is_unsteady or looks_at_group(batches.reward):
        return
    if _are_same(first, [first[0]] * len(first)):
        return
    texts = [str(row.get("completion")) for row in rows]
    truths = [str(row.get("ground_truth")) for row in rows]
    half = len(rows) // 2
    for completions in (
        texts[1:] + texts[:1],
        texts[half:] + texts[:half],
        [""] * len(rows),
        truths,
        [rf"<answer>{text}</answer> \boxed{{{text}}} #### {text}" for text in truths],
    ):
        exchanged = [
            batches.observed.tries.variants.of(row, completion)
            for row, completion in zip(rows, completions, strict=True)
        ]
        if not _are_same(first, batches.rewards(exchanged)):
            return
    pairs = list(zip(rows, first, strict=True))[:CONTRACT_EXAMPLES]
    examples = [_example(row, reward, "") for row, reward in pairs]
    yield batches.report("ignores_completion", "", examples)


@rule("depends_on_order")
def depends_on_order(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that the order of the rows changes."""
    if batches.is_unsteady:
        return
    rows = "the rows in a batch"
    if looks_at_group(batches.reward):
        rows = "its siblings"
    turned = batches.rewards(batches.rows[::-1])[::-1]
    yield from batches.report_changes(
        "depends_on_order", turned, f"the order of {rows}: "
    )


@rule("depends_on_siblings")
def depends_on_siblings(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that the other rows of a batch change."""
    if batches.is_unsteady or looks_at_group(batches.reward):
        return
    if any(finding.code == "depends_on_order" for finding in findings):
        return
    rows = batches.rows
    others = "which other completions stand in its batch: "
    twice = "whether the same completion stands in its batch twice: "
    code = "depends_on_siblings"
    reports = list(batches.report_changes(code, batches.rewards_alone(rows), others))
    if not reports:
        half = batches.rewards(rows[: len(rows) // 2])
        reports = list(batches.report_changes(code, half, others))
    if not reports:
        doubled = batches.rewards([*rows, *rows])
        reports = list(batches.report_changes(code, doubled, twice))
    yield from reports


@rule("changes_arguments")
def changes_arguments(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that changes its arguments: a row, or a list of several."""
    rows = [*batches.rows, *batches.varied_rows]
    for lasting in (False, True):
        violation = batches.watch(rows, ArgumentChanged, lasting=lasting)
        if violation is not None:
            where = f"on {violation.rows} of {len(rows)} rows"
            if lasting:
                where = "where several rows come together"
            yield batches.report(
                "changes_arguments",
                f"{violation.words}, {where}",
                [violation.example],
                violation.component,
            )
            return


@rule("nan_for_none")
def nan_for_none(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report NaN in a list for TRL, also on rows that were not judged for it."""
    if not any(isinstance(item, trl.Function) for item in batches.reward.functions):
        return
    unjudged = [
        row
        for row, outcome in batches.observed.calibration.pool
        if not outcome.is_judged and not outcome.failures
    ]
    rows = [*unjudged[:CONTRACT_ROWS], *batches.varied_rows]
    violation = batches.watch(rows, GivesNaN, nan=True)
    if violation is not None:
        yield batches.report(
            "nan_for_none",
            f"on {violation.rows} of {len(rows)} rows",
            [violation.example],
            violation.component,
        )


@rule("outside_trainer_range")
def outside_trainer_range(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report scores of the log beyond a trainer's range, of components without one."""
    modules = {
        type(item).__module__.rpartition(".")[2] for item in batches.reward.functions
    }
    unbounded = [
        component.name
        for component in batches.reward.all_components
        if component.range is None
    ]
    for target in TARGETS:
        bounds = target.abilities.bounds
        if target.name not in modules or not bounds:
            continue
        low, high = bounds
        for name in unbounded:
            scores = [
                (row, outcome.scores[name])
                for row, outcome in batches.observed.calibration.pool
                if name in outcome.scores
            ]
            beyond = [pair for pair in scores if pair[1] < low or pair[1] > high]
            if beyond:
                values = [score for _, score in beyond]
                lowest, highest = min(values), max(values)
                is_below = low - lowest > highest - high
                worst = lowest if is_below else highest
                yield batches.report(
                    "outside_trainer_range",
                    f"{worst:g} and the like to {len(beyond)} of {len(scores)} "
                    f"completions, and {target.title} wants [{low:g}, {high:g}]",
                    [
                        _example(row, score, f"{score:g}")
                        for row, score in beyond[:CONTRACT_EXAMPLES]
                    ],
                    name,
                )
                return


@rule("undeclared_column")
def undeclared_column(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report columns that are read but not asked for: a trainer fails without them."""
    adapters = [item for item in batches.reward.functions if isinstance(item, Adapter)]
    if batches.is_unsteady or not adapters or ROLLOUT not in batches.reward.needs:
        return
    declared = {*batches.reward.needs, *CANONICAL_COLUMNS, *FAMILIAR}
    for adapter in adapters:
        declared |= {*adapter.needs, *parameters(adapter.function)}
    names = dict.fromkeys(name for row in batches.rows for name in row)
    undeclared = [name for name in names if name not in declared]
    if not undeclared:
        return
    with_all = batches.rewards_alone(batches.rows)

    def is_read(columns: Sequence[str]) -> bool:
        rows = [
            {name: value for name, value in row.items() if name not in columns}
            for row in batches.rows
        ]
        return not _are_same(with_all, batches.rewards_alone(rows))

    if is_read(undeclared):
        columns = [name for name in undeclared if is_read([name])]
        yield batches.report("undeclared_column", most(columns or undeclared))


CONTRACT_RULES = (
    not_picklable,
    differs_between_calls,
    hidden_state,
    ignores_completion,
    depends_on_order,
    depends_on_siblings,
    changes_arguments,
    nan_for_none,
    outside_trainer_range,
    undeclared_column,
)
