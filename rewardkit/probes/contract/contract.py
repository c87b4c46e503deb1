"""Contract: what a trainer takes for granted of a reward, as a list of rules, each tried on a few rows."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rewardkit.findings import Example, Finding, most, read_codes, rule, run_rules
from rewardkit.probes.contract.watching import (
    ArgumentChanged,
    GivesNaN,
    varied,
    watching,
)
from rewardkit.probes.results.evidence import finding, row_example
from rewardkit.probes.runner import Tries, by_group, evaluated
from rewardkit.probes.subjects.log import in_turn
from rewardkit.probes.subjects.scales import Calibration
from rewardkit.rewards.reward import ROLLOUT, Reward
from rewardkit.rewards.signature import parameters
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.outcomes import Outcomes
from rewardkit.strategies.subject import Row
from rewardkit.targets import TARGETS, trl
from rewardkit.targets.adapter import FAMILIAR, OF_DATA, Adapter

ROWS = 12
"""On which the contract is tried. Our choice: two of each kind that rewards usually tell apart, and more."""
PASSES = 12
"""Over the rows, at the most, while all is well."""
CANONICAL = (*OF_DATA, "messages", "rollout_id", "prompt_id")


@dataclass(frozen=True)
class Broken:
    """How a rule is broken, in the words that its sentence asks for, and the rows that show it."""

    what: str
    examples: tuple[Example, ...] = ()
    component: str | None = None


Findings = Sequence[Finding]


def contract(
    reward: Reward,
    calibration: Calibration,
    tries: Tries,
    *,
    unsendable: str | None,
    timeout: float | None,
    seed: int = 0,
) -> Iterator[Finding]:
    """What of the contract is broken, one finding a rule, on as many rows as there is time for.

    `unsendable` says why calls cannot be made in another process; without it they are, in one where each
    call meets what the last left behind, and may take `timeout` seconds.
    """
    each = 2 * tries.each  # in one process where there were several
    fits = (
        ROWS
        if each * PASSES * ROWS <= tries.left
        else int(tries.left / (each * PASSES or 1))
    )
    rows = _rows(calibration, seed)[: max(0, fits)]
    seconds = None if unsendable else timeout
    with time_limit(seconds, processes=1) as limit:
        batches = Batches(reward, rows, calibration, tries, limit, seconds, unsendable)
        # rewardkit's own functions keep the contract
        has_own = any(map(TimeLimit.needed, filter(callable, reward.functions)))
        rules = RULES if has_own and len(rows) > 1 else (not_picklable,)
        yield from run_rules(rules, batches)


def _rows(calibration: Calibration, seed: int) -> list[Row]:
    """Rows that were judged, with as many different rewards as there are."""
    judged = [
        (got.reward, row)
        for row, got in calibration.pool
        if got.judged and not got.failures
    ]
    drawn = [
        judged[at]
        for at in np.random.default_rng(seed).permutation(len(judged)).tolist()
    ]
    return [row for _, row in in_turn(drawn, lambda item: item[0])[:ROWS]]


@dataclass(eq=False)
class Batches:
    """A reward and rows that it judges, to be scored in batches of several kinds."""

    reward: Reward
    rows: list[Row]
    calibration: Calibration
    tries: Tries
    limit: TimeLimit | None
    seconds: float | None
    unsendable: str | None

    def evaluated(
        self, rows: Sequence[Row], limit: TimeLimit | None, reward: Reward
    ) -> Outcomes:
        """What is found of the rows in one call."""
        self.tries.calls += len(rows)
        copies = [copy.deepcopy(dict(row)) for row in rows]
        return evaluated(reward, copies, limit, np.zeros(len(rows), dtype=np.intp))

    def rewards(
        self, *groups: Sequence[Row], limit: TimeLimit | None = None
    ) -> list[float]:
        """The rewards of groups of rows, one call behind the other."""
        found = [
            self.evaluated(rows, limit or self.limit, self.reward) for rows in groups
        ]
        return [reward for one in found for reward in one.rewards.tolist()]

    @cached_property
    def first(self) -> list[float]:
        """The rewards of all rows in one call."""
        return self.rewards(self.rows)

    @cached_property
    def second(self) -> list[float]:
        """The same again."""
        return self.rewards(self.rows) if self.first else []

    @property
    def unsteady(self) -> bool:
        """Whether the same rows earn something else the second time."""
        return not _same(self.first, self.second)

    @cached_property
    def elsewhere(self) -> list[float]:
        """The same in another process."""
        with time_limit(self.seconds, processes=1) as fresh:
            return self.rewards(self.rows, limit=fresh)

    @cached_property
    def turned(self) -> list[float]:
        """The same of the rows in the opposite order."""
        return self.rewards(self.rows[::-1])[::-1]

    @cached_property
    def varied(self) -> list[dict[str, Any]]:
        """The rows in other forms, without those that no call comes back from: watching has no time limit."""
        rows = varied(self.rows, self.tries.variants)
        if self.limit is None:
            return rows
        beside = [rows[:2]] * len(rows)
        found = self.tries.outcomes(rows, beside, until=lambda outcome: outcome.gone)
        return [
            row
            for row, got in zip(rows, found, strict=True)
            if got is not None and not got.gone
        ]

    def moved(self, got: Sequence[float], by: str = "") -> Broken | None:
        """What another way of scoring (the same rows once or again and again) gives otherwise."""
        count = len(self.rows)
        before = [self.first[place % count] for place in range(len(got))]
        places = [
            place
            for place in range(len(got))
            if not _same([before[place]], [got[place]])
        ]
        if not places:
            return None
        steps = [abs(got[place] - before[place]) for place in places]
        largest = max((step for step in steps if not math.isnan(step)), default=0.0)
        examples = tuple(
            _example(
                self.rows[at % count],
                got[at],
                f"{got[at]:.6g}, before {before[at]:.6g}",
            )
            for at in places[:3]
        )
        return Broken(
            f"{by}{len(places)} of {len(got)} rows, by up to {largest:.3g}", examples
        )

    def report(self, code: str, broken: Broken | None) -> Iterator[Finding]:
        """Report that a rule is broken, where it is."""
        if broken is not None:
            yield finding(
                code,
                "contract",
                max(1, len(self.rows)),
                grave=read_codes()["probe"][code]["severity"],
                component=broken.component,
                examples=broken.examples,
                kind="contract",
                what=broken.what.rstrip("."),
            )

    def watched(
        self, rows: Sequence[Row], error: type[Exception], **options: bool
    ) -> tuple[Broken, list[int]] | None:
        """Where a watched function raises this error, and at which rows."""
        found = self.evaluated(rows, self.limit, watching(self.reward, **options))
        for name, outcome in found.components.items():
            places = sorted(
                place
                for place, reason in outcome.reasons.items()
                if reason.error == error.__name__
            )
            if places:
                row, words = rows[places[0]], outcome.reasons[places[0]].words
                earned = math.nan if error is GivesNaN else self.rewards([row])[0]
                component = name if len(self.reward.names) > 1 else None
                example = _example(row, earned, words)
                return Broken(words, (example,), component), places
        return None


def _example(row: Row, earned: float, said: str) -> Example:
    return row_example(row, earned, "contract", said)


def _same(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the rewards are the same, missing ones as well."""
    return len(first) == len(second) and np.allclose(
        first, second, rtol=1e-9, atol=1e-9, equal_nan=True
    )


@rule("not_picklable")
def not_picklable(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that no other process can be given."""
    if batches.unsendable:
        yield from batches.report("not_picklable", Broken(batches.unsendable))


@rule("differs_between_calls")
def differs_between_calls(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that is random: it differs in every process."""
    if batches.unsteady and not _same(batches.first, batches.elsewhere):
        changed = batches.moved(batches.second)
        yield from batches.report("differs_between_calls", changed)


@rule("hidden_state")
def hidden_state(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that keeps something from call to call."""
    if batches.unsteady and _same(batches.first, batches.elsewhere):
        yield from batches.report("hidden_state", batches.moved(batches.second))


@rule("ignores_completion")
def ignores_completion(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """The completions of other rows, nothing, and the truth, bare and in the usual marks."""
    if batches.unsteady:
        return
    rows, first = batches.rows, batches.first
    if by_group(batches.reward) or _same(first, [first[0]] * len(first)):
        return
    texts = [str(row.get("completion")) for row in rows]
    truths = [str(row.get("ground_truth")) for row in rows]
    marked = [
        rf"<answer>{truth}</answer> \boxed{{{truth}}} #### {truth}" for truth in truths
    ]
    half, variants = len(rows) // 2, batches.tries.variants
    for others in (
        texts[1:] + texts[:1],
        texts[half:] + texts[:half],
        [""] * len(rows),
        truths,
        marked,
    ):
        got = batches.rewards(
            [variants.of(row, text) for row, text in zip(rows, others, strict=True)]
        )
        if not _same(first, got):
            return
    yield from batches.report(
        "ignores_completion",
        Broken(
            "", tuple(_example(row, first[at], "") for at, row in enumerate(rows[:3]))
        ),
    )


@rule("depends_on_order")
def depends_on_order(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that the order of the rows changes."""
    if batches.unsteady:
        return
    rows = "its siblings" if by_group(batches.reward) else "the rows in a batch"
    changed = batches.moved(batches.turned, f"the order of {rows}: ")
    yield from batches.report("depends_on_order", changed)


@rule("depends_on_siblings")
def depends_on_siblings(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that the other rows of a batch change."""
    if batches.unsteady:
        return
    rows = batches.rows
    reported = any(item.code == "depends_on_order" for item in findings)
    if reported or by_group(batches.reward):
        return
    others = "which other completions stand in its batch: "
    again = "whether the same completion stands in its batch twice: "
    changed = (
        batches.moved(batches.rewards(*([row] for row in rows)), others)
        or batches.moved(batches.rewards(rows[: len(rows) // 2]), others)
        or batches.moved(batches.rewards([*rows, *rows]), again)
    )
    yield from batches.report("depends_on_siblings", changed)


@rule("changes_arguments")
def changes_arguments(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Rows by themselves, then those that only stand in a list with others."""
    rows = [*batches.rows, *batches.varied]
    for lasting in (False, True):
        found = batches.watched(rows, ArgumentChanged, lasting=lasting)
        if found is not None:
            broken, places = found
            on = (
                "where several rows come together"
                if lasting
                else f"on {len(places)} of {len(rows)} rows"
            )
            yield from batches.report(
                "changes_arguments", replace(broken, what=f"{broken.what}, {on}")
            )
            return


@rule("nan_for_none")
def nan_for_none(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Rows that were not judged, too: a NaN may be the reason."""
    if not any(isinstance(item, trl.Function) for item in batches.reward.functions):
        return
    unjudged = [
        row
        for row, got in batches.calibration.pool
        if not got.judged and not got.failures
    ]
    rows = [*unjudged[:ROWS], *batches.varied]
    found = batches.watched(rows, GivesNaN, nan=True)
    if found is None:
        return
    broken, places = found
    yield from batches.report(
        "nan_for_none", replace(broken, what=f"on {len(places)} of {len(rows)} rows")
    )


@rule("outside_trainer_range")
def outside_trainer_range(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Scores of the log that leave the range that the trainer wants, of components that declare none."""
    modules = {
        type(item).__module__.rpartition(".")[2] for item in batches.reward.functions
    }
    wanted = [
        item for item in TARGETS if item.name in modules and item.abilities.bounds
    ]
    free = [item.name for item in batches.reward.all_components if item.range is None]
    for target in wanted:
        low, high = target.abilities.bounds or (-math.inf, math.inf)
        for name in free:
            scored = [
                (row, got.scores[name])
                for row, got in batches.calibration.pool
                if name in got.scores
            ]
            beyond = [
                (row, score) for row, score in scored if score < low or score > high
            ]
            if beyond:
                worst = max(
                    (score for _, score in beyond),
                    key=lambda score: abs(score - (low + high) / 2),
                )
                yield from batches.report(
                    "outside_trainer_range",
                    Broken(
                        f"{worst:g} and the like to {len(beyond)} of {len(scored)} completions, and "
                        f"{target.title} wants [{low:g}, {high:g}]",
                        tuple(
                            _example(row, score, f"{score:g}")
                            for row, score in beyond[:3]
                        ),
                        name if len(batches.reward.names) > 1 else None,
                    ),
                )
                return


@rule("undeclared_column")
def undeclared_column(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Columns are taken away that it does not ask for by name: a trainer without them fails late."""
    if batches.unsteady:
        return
    adapters = [item for item in batches.reward.functions if isinstance(item, Adapter)]
    if not adapters or ROLLOUT not in batches.reward.needs:
        return
    asked = {*batches.reward.needs, *CANONICAL, *FAMILIAR}
    asked |= {
        name for item in adapters for name in (*item.needs, *parameters(item.function))
    }
    others = list(
        dict.fromkeys(name for row in batches.rows for name in row if name not in asked)
    )

    def reads(*names: str) -> bool:
        kept = [
            {name: row[name] for name in row if name not in names}
            for row in batches.rows
        ]
        return not _same(alone, batches.rewards(*([row] for row in kept)))

    alone = batches.rewards(*([row] for row in batches.rows)) if others else []
    if not others or not reads(*others):
        return
    yield from batches.report(
        "undeclared_column",
        Broken(most([name for name in others if reads(name)] or others)),
    )


RULES = (
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
