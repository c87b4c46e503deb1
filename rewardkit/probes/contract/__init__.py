"""Rules for what a trainer expects of a reward function, each tried on a few rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, cycle, product
from typing import Any

import numpy as np

from rewardkit.answers.truth_column import NO_TRUTH_COLUMNS
from rewardkit.errors import preview
from rewardkit.findings import Finding, Findings, most, rule, run_rules
from rewardkit.probes.contract.batches import (
    ArgumentChanged,
    Batches,
    GivesNaN,
    are_same,
)
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import Tries
from rewardkit.probes.subjects.log import in_turn
from rewardkit.rewards.component import parameters
from rewardkit.rewards.reward import ROLLOUT, Reward
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.strategies.added_text import filler
from rewardkit.strategies.strategy import Row, completion_of
from rewardkit.targets import TARGETS, trl
from rewardkit.targets.adapter import Adapter
from rewardkit.targets.columns import FAMILIAR, OF_DATA

ROWS_OF_CONTRACT = 12
"""Rows on which the contract is tried. Our choice: at least two of each kind that
rewards usually tell apart."""

MOST_PASSES = 15
"""Passes over the rows if no rule is broken."""
ROWS_MADE_LONG, LONG_WORDS = 4, 2000
"""Rows that are tried with filler before them, and the words of it. Our choice."""

NO_ANSWER = "I do not know."
OF_PROMPT_IN_LOG = ("prompt", "ground_truth")
"""Columns by which rows of one prompt are known, in whatever step they stand."""
CANONICAL_COLUMNS = (*OF_DATA, "messages", "rollout_id", "prompt_id")


def check_contract(
    observed: Observed,
    *,
    unsendable: str | None,
    timeout: float | None,
    seed: int,
) -> list[Finding]:
    """Return a finding for each rule of the contract that a reward breaks.

    Args:
        observed: The reward, and rows that it judged.
        unsendable: Why calls cannot be made in another process. If None, calls run in
            one other process, which keeps its state from call to call.
        timeout: Seconds that one call may take.
        seed: The seed for drawing rows.
    """
    rows = _choose_rows(observed, seed)[: rows_in_time(observed.tries)]
    seconds = None if unsendable else timeout
    with time_limit(seconds, processes=1) as limit:
        batches = Batches(observed, rows, limit, seconds, unsendable)
        # rewardkit's own functions keep the contract
        has_more = observed.tries.runs_users_code and len(rows) > 1
        return run_rules(CONTRACT_RULES if has_more else (not_picklable,), batches)


def rows_in_time(tries: Tries) -> int:
    """Return the number of rows on which there is time to check the contract."""
    seconds_a_row = MOST_PASSES * tries.seconds_in_one_process
    fitting = max(0.0, tries.seconds_left) / seconds_a_row
    return int(min(fitting, ROWS_OF_CONTRACT))


def _choose_rows(observed: Observed, seed: int) -> list[Row]:
    """Draw rows that were judged, with as many different rewards as there are."""
    judged = [
        (outcome.reward, row)
        for row, outcome in observed.pool
        if outcome.is_judged and not outcome.failures
    ]
    order = np.random.default_rng(seed).permutation(len(judged))
    drawn = in_turn([judged[place] for place in order], lambda pair: pair[0])
    return [row for _, row in drawn]


# --- the rules


@rule("not_picklable")
def not_picklable(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that cannot be sent to another process."""
    if batches.unsendable:
        yield batches.report("not_picklable", batches.unsendable)


@rule("differs_between_calls", "hidden_state")
def differs_between_calls(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that is random, or keeps a state from call to call.

    A random reward differs in every process, a state starts afresh.
    """
    if batches.is_unsteady:
        code = "differs_between_calls"
        if are_same(batches.first, batches.elsewhere):
            code = "hidden_state"
        yield from batches.report_changes(code, batches.second)


@rule("hidden_state")
def keeps_state(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that gives the log's rows something else in reverse order.

    It keeps a namespace, or what it saw last. Each order is scored in a new process,
    and the first once more where they differ, as random scores differ there, too.
    """
    tries, rows = batches.tries, batches.rows_of_log
    functions = batches.reward.functions
    is_checked = batches.is_unsteady or batches.limit is None or tries.asks_model
    if is_checked or tries.by_group or any(_get_together(item) for item in functions):
        return
    first = batches.rewards_anew(rows)
    turned = batches.rewards_anew(rows[::-1])[::-1]
    if not are_same(first, turned) and are_same(first, batches.rewards_anew(rows)):
        yield from batches.report_turned(rows, first, turned)


@rule("ignores_completion")
def ignores_completion(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that is the same for any completion.

    Rows are tried with completions of other rows, with an empty one, and with the
    truth, bare and in the usual marks.
    """
    rows, first = batches.rows, batches.first
    if batches.is_unsteady or batches.tries.by_group:
        return
    if are_same(first, [first[0]] * len(first)) or batches.tries.unwritable:
        return
    texts = [completion_of(row) for row in rows]
    truths = [str(row.get("ground_truth")) for row in rows]
    half = len(rows) // 2
    for completions in (
        texts[1:] + texts[:1],
        texts[half:] + texts[:half],
        [""] * len(rows),
        truths,
        [rf"<answer>{text}</answer> \boxed{{{text}}} #### {text}" for text in truths],
    ):
        exchanged = map(batches.tries.varied, rows, completions)
        if not are_same(first, batches.rewards(list(exchanged))):
            return
    examples = [
        batches.example(row, reward) for row, reward in zip(rows, first, strict=True)
    ]
    yield batches.report("ignores_completion", "", examples)


@rule("data_unread")
def data_unread(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report columns of the prompt that the reward asks for and does not use.

    Rows are tried with the columns of other prompts. Only rewards without a truth are
    tried: calibration shows whether a truth is used.
    """
    if batches.is_unsteady or batches.tries.by_group:
        return
    if batches.observed.calibration.mode != "no truth":
        return
    rows, first = batches.rows, batches.first
    needed = {*batches.reward.needs} - NO_TRUTH_COLUMNS
    names = sorted(needed.intersection(chain.from_iterable(rows)))
    cells = [list(map(row.get, names)) for row in rows]
    exchanged = []
    for row, values in zip(rows, cells, strict=True):
        others = (other for other in cells if other != values)
        other_values = dict(zip(names, next(others, ()), strict=False))
        exchanged.append({**row, **other_values})
    if exchanged == rows or are_same(first, [first[0]] * len(first)):
        return
    if not are_same(first, batches.rewards(exchanged)):
        return
    best = int(np.nanargmax(first))
    other = ", ".join(f"{name}={preview(exchanged[best][name])}" for name in names)
    example = batches.example(rows[best], first[best], f"the same with {other}")
    yield batches.report("data_unread", " and ".join(names), [example])


@rule("depends_on_order")
def depends_on_order(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that changes with the order of the rows."""
    if batches.is_unsteady:
        return
    rows = "its siblings" if batches.tries.by_group else "the rows in a batch"
    turned = batches.rewards(batches.rows[::-1])[::-1]
    yield from batches.report_changes(
        "depends_on_order", turned, f"the order of {rows}: "
    )


@rule("depends_on_siblings")
def depends_on_siblings(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that changes with the other rows of a batch."""
    if batches.is_unsteady or batches.tries.by_group:
        return
    if any(finding.code == "depends_on_order" for finding in findings):
        return
    rows = batches.rows
    others = "which other completions stand in its batch: "
    twice = "whether the same completion stands in its batch twice: "
    code = "depends_on_siblings"
    of_others = batches.report_changes(code, batches.rewards_alone(rows), others)
    of_doubled = batches.report_changes(code, batches.rewards(rows * 2), twice)
    changes = of_others or of_doubled
    tries = batches.tries
    if not changes and not tries.unwritable:
        unanswered = tries.varied(rows[0], NO_ANSWER)
        after_it = batches.rewards([unanswered, *rows])[1:]
        by = "whether one without an answer stands before it in its batch: "
        if not np.isnan(after_it).all():  # else it raises there
            changes = batches.report_changes(code, after_it, by)
    if changes and _gets_groups(batches.reward):
        # completions are compared with each other on purpose, such as by length
        is_relative = bool(of_others) and not of_doubled
        if is_relative or not _reads_other_prompts(batches):
            evidence = {**changes[0].evidence, "trait": "relative", "doubt": ""}
            changes = [replace(changes[0], severity="info", evidence=evidence)]
    yield from changes


def _gets_groups(reward: Reward) -> bool:
    """Return whether the trainer passes whole groups to all of the user's functions."""
    functions = filter(TimeLimit.needed, reward.functions)
    return all(map(_get_together, functions))


def _get_together(function: Any) -> str:
    """Return what rows a function gets in one call: "batch", "group", or ""."""
    return str(getattr(function, "together", ""))


def _reads_other_prompts(batches: Batches) -> bool:
    """Return whether completions of other prompts in a call change what rows earn.

    Before the rows of each prompt stand one without an answer, the rows of the other
    prompts, and the same completions as answers to those. With a single prompt nothing
    says that siblings alone count.
    """
    tries = batches.tries
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in batches.rows:
        groups[repr([row.get(name) for name in OF_PROMPT_IN_LOG])].append(row)
    if len(groups) < 2:
        return True
    for key, group in groups.items():
        strangers: list[Row] = []
        for other, rows in groups.items():
            if other != key:
                strangers += rows
        if not tries.unwritable:
            texts = [NO_ANSWER, *map(completion_of, group)]
            copies = map(tries.varied, cycle(strangers), texts)
            strangers = [*copies, *strangers]
        beside = batches.rewards([*strangers, *group])[len(strangers) :]
        if not are_same(batches.rewards(group), beside):
            return True
    return False


@rule("changes_arguments")
def changes_arguments(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that changes its arguments: a row, or a list of several."""
    rows = [*batches.rows, *batches.varied_rows]
    yield from batches.report_watched(
        "changes_arguments", rows, ArgumentChanged, "{words}"
    )


@rule("nan_for_none")
def nan_for_none(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report NaN in a list for TRL; rows that were left unjudged are tried as well."""
    if not any(isinstance(item, trl.Function) for item in batches.reward.functions):
        return
    unjudged = [
        row
        for row, outcome in batches.observed.pool
        if not outcome.is_judged and not outcome.failures
    ]
    rows = [*unjudged[:ROWS_OF_CONTRACT], *batches.varied_rows]
    where = "on {count} rows"
    yield from batches.report_watched("nan_for_none", rows, GivesNaN, where)


@rule("differs_as_text")
def differs_as_text(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report a reward that scores messages and the same text differently.

    One whose limit on length counts the messages does, so long completions are tried as
    well. Rewards that cannot read a text are not compared.
    """
    as_texts = batches.reward.map(_read_texts)
    if batches.is_unsteady or as_texts is batches.reward:
        return
    rows = [*batches.rows]
    for row in batches.rows[:ROWS_MADE_LONG]:
        long_text = f"{filler(LONG_WORDS)}\n{row.get('completion')}"
        rows.append(batches.tries.varied(row, long_text))
    rewards = np.array(batches.rewards(rows))
    others = batches.score(rows, as_texts).rewards
    is_other = np.abs(rewards - others) > 1e-9
    share_of_log = is_other[: len(batches.rows)].mean()
    if np.isnan(others).any() or share_of_log > 0.5:
        return
    examples = [
        batches.example(
            rows[place],
            rewards[place],
            f"{rewards[place]:.6g} as a list of messages, {others[place]:.6g} as text",
        )
        for place in np.flatnonzero(is_other).tolist()
    ]
    if examples:
        phrase = f"{len(examples)} of {len(rows)} completions"
        yield batches.report("differs_as_text", phrase, examples)


def _read_texts(branch: Reward) -> Reward:
    """Return a reward whose functions for TRL get texts in place of messages."""
    components = []
    for item in branch.components:
        function = item.function
        if isinstance(function, trl.Function) and function.conversational:
            item = replace(item, function=replace(function, conversational=False))
        components.append(item)
    if components == list(branch.components):
        return branch
    return replace(branch, components=components)


@rule("outside_trainer_range")
def outside_trainer_range(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report scores beyond a trainer's range, of components that declare no range."""
    functions = batches.reward.functions
    modules = {type(item).__module__.rpartition(".")[2] for item in functions}
    targets = [item for item in TARGETS if item.name in modules]
    components = [item for item in batches.reward.all_components if item.range is None]
    for target, component in product(targets, components):
        if not target.abilities.bounds:
            continue
        name = component.name
        low, high = target.abilities.bounds
        scored = []
        for row, outcome in batches.observed.pool:
            if name in outcome.scores:
                scored.append((row, outcome.scores[name]))
        beyond = [pair for pair in scored if not low <= pair[1] <= high]
        if beyond:
            middle = (low + high) / 2
            scores = [score for _, score in beyond]
            worst = max(scores, key=lambda score: (abs(score - middle), score))
            phrase = (
                f"{worst:g} and the like to {len(beyond)} of {len(scored)} "
                f"completions, and {target.title} wants [{low:g}, {high:g}]"
            )
            examples = [batches.example(*pair, f"{pair[1]:g}") for pair in beyond]
            yield batches.report("outside_trainer_range", phrase, examples, name)
            return


@rule("undeclared_column")
def undeclared_column(batches: Batches, findings: Findings) -> Iterator[Finding]:
    """Report columns that are read but not declared: a trainer may not pass them."""
    adapters = [item for item in batches.reward.functions if isinstance(item, Adapter)]
    if batches.is_unsteady or not adapters or ROLLOUT not in batches.reward.needs:
        return
    declared = {*batches.reward.needs, *CANONICAL_COLUMNS, *FAMILIAR}
    for adapter in adapters:
        declared |= {*adapter.needs, *parameters(adapter.function)}
    undeclared = []
    for name in dict.fromkeys(chain.from_iterable(batches.rows)):
        if name not in declared and not any(item.gives(name) for item in adapters):
            undeclared.append(name)
    if not undeclared:
        return
    with_all = batches.rewards_alone(batches.rows)

    def is_read(columns: Sequence[str]) -> bool:
        rows = []
        for row in batches.rows:
            rows.append({name: row[name] for name in row if name not in columns})
        return not are_same(with_all, batches.rewards_alone(rows))

    if is_read(undeclared):
        columns = [name for name in undeclared if is_read([name])]
        yield batches.report("undeclared_column", most(columns or undeclared))


CONTRACT_RULES = (
    not_picklable,
    differs_between_calls,
    keeps_state,
    ignores_completion,
    data_unread,
    depends_on_order,
    depends_on_siblings,
    changes_arguments,
    nan_for_none,
    differs_as_text,
    outside_trainer_range,
    undeclared_column,
)
