"""The page of a monitor: figures by window, who pays, completions to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rewardkit.analysis.rehearsal.reach import HALF
from rewardkit.analysis.statistics import Codes, spread_out
from rewardkit.analysis.summary import different
from rewardkit.findings import Finding, counted, list_amounts, percent, short_number
from rewardkit.html.blocks import Block, Quote, Table
from rewardkit.html.excerpts import UserText
from rewardkit.monitoring.changes import FEWEST_TO_TELL, find_change
from rewardkit.monitoring.pressure import NewlyPaid
from rewardkit.monitoring.timeline import STATED, Timeline

SHOWN_WINDOWS = 6
"""Windows of the table on the first page. Our choice."""
CAUSES_SHOWN = 3
"""Newly paid features shown, and completions of highest reward. Our choice."""


def figures_table(timeline: Timeline) -> Table:
    """Return the table of figures: one row per figure, one column per window."""
    windows = timeline.windows
    places = spread_out(np.arange(len(windows)), SHOWN_WINDOWS)
    header = ["mean of"]
    for place in places:
        first, last = windows.first[place], windows.last[place]
        steps = f"{first:g}" if first == last else f"{first:g}-{last:g}"
        header.append(f"step {steps}")
    header.append("changes at")
    rows = []
    for name, figure in timeline.figures.items():
        cells = [_cell(figure.means[place]) for place in places]
        changes = filter(None, (find_change(figure, windows, way) for way in (1, -1)))
        change = max(changes, key=lambda item: item.z, default=None)
        since = "" if change is None else f"{change.since:g}"
        rows.append([name, *cells, since])
    of_part = f" of {timeline.view.part}" if timeline.view.part else ""
    return Table(f"What changed{of_part}", header, rows, header[1:], True)


def _cell(value: float) -> str:
    return "-" if np.isnan(value) else short_number(round(float(value), 3))


def who_pays(timeline: Timeline) -> list[Block]:
    """Return what changed the reward, and each newly paid feature with an example."""
    blocks: list[Block] = list(_split_of_reward(timeline))
    pairs: list[list[Quote]] = []
    for item in timeline.causes[:CAUSES_SHOWN]:
        change = item.change
        text = (
            f"Newly paid: completions that {item.words}: {percent(change.before)} to "
            f"{percent(change.after)} since step {change.since:g}"
        )
        amount = item.by_component[item.component]
        if amount > 0:
            text += f", paid by {item.component}"
            if np.isnan(item.pressure):
                text += f": {amount:+.3g} each"
        blocks.append(UserText(text, "Newly paid: a form or wording of completions"))
        pair = _pair_of(timeline, item)
        if pair not in pairs:  # one completion may show several paid features
            blocks += pair
            pairs.append(pair)
    return blocks


def examples_of(alarm: Finding, timelines: Sequence[Timeline]) -> list[Quote]:
    """Return a right completion that is no longer paid, if its prompt once paid."""
    for timeline in timelines:
        if alarm.code != "right_pays_less" or alarm.part != timeline.view.part:
            continue
        steps, unpaid = timeline.view.context.steps, timeline.right_unpaid
        is_after = steps >= alarm.evidence["since"]
        before = np.flatnonzero(~is_after & (unpaid == 0))
        return _pair(timeline, before, np.flatnonzero(is_after & (unpaid == 1)))[1:]
    return []


def _pair_of(timeline: Timeline, item: NewlyPaid) -> list[Quote]:
    """Return an earlier completion without a feature, and a later one with it."""
    rows, windows = timeline.rows_read, timeline.windows_read
    before = rows[windows.rows_in(item.change.reference) & (item.rows == 0)]
    after = rows[windows.rows_in(item.change.ending) & (item.rows == 1)]
    if timeline.task is not None:  # a wrong completion shows the exploit best
        is_wrong = timeline.task.scores[after] < HALF
        after = after[is_wrong] if is_wrong.any() else after
    return _pair(timeline, before, after)


def _pair(timeline: Timeline, before: Codes, after: Codes) -> list[Quote]:
    """Return the best paid row of `after` and a row of `before`, or [].

    Rows of the same prompt are preferred.
    """
    if not len(before) or not len(after):
        return []
    view = timeline.view
    prompts = view.bootstrap.prompts
    rewards = np.nan_to_num(view.rewards, nan=-np.inf)
    after = after[np.argsort(-rewards[after], kind="stable")]
    has_earlier = np.isin(prompts[after], prompts[before])
    later_row = after[np.argmax(has_earlier)]  # the first row if no prompt is shared
    earlier_row = before[np.argmax(prompts[before] == prompts[later_row])]
    return [
        _quote(timeline, "before", earlier_row),
        _quote(timeline, "after", later_row),
    ]


def _quote(timeline: Timeline, about: str, row: int) -> Quote:
    """Quote a completion with its reward and scores."""
    view = timeline.view
    values = [("reward", float(view.rewards[row]))]
    for name in view.paid_names:
        values.append((name, float(view.scores[name][row])))
    assert view.context.steps is not None
    step = view.context.steps[row]
    return Quote(f"{about}, step {step:g}", str(view.completions[row]), values=values)


def _split_of_reward(timeline: Timeline) -> Iterator[str]:
    """Yield what each component adds to the change of an additive reward."""
    total = len(timeline.windows)
    early = int(timeline.is_early(np.arange(total)).sum())
    parts = {}
    for name, figure in timeline.amounts.items():
        start = figure.mean(slice(early))
        parts[name] = figure.mean(slice(total - early, None)) - start
    change = sum(parts.values())
    if parts and not np.isnan(change):
        yield (
            f"From the start to the end the reward changes by {change:+.3g}: "
            f"{list_amounts(parts)}"
        )


def highest_at_end(timeline: Timeline) -> list[Block]:
    """Quote different completions of the highest reward in the last steps."""
    view, windows = timeline.view, timeline.windows.row_windows
    last = timeline.is_early(len(timeline.windows) - 1 - windows)
    at_end = replace(view, rewards=np.where(last, view.rewards, np.nan))
    rows = different(at_end, CAUSES_SHOWN)
    return [_quote(timeline, "paid most", int(row)) for row in rows]


def notes_on(timeline: Timeline, primary: str | None) -> Iterator[str]:
    """Yield what could not be decided about a part of a run, and why."""
    why = timeline.view.context.why_no_label
    if why:
        yield f"the label is not used: {why}"
    dropped = len(timeline.view) - timeline.windows.row_count
    if dropped:
        yield (
            f"{counted(dropped, 'row')} are left out: they have no step, or one that a "
            "restarted run did again"
        )
    if primary is not None and timeline.task_name == STATED:
        yield (
            "what is right is read from the answers that completions state, not from "
            f"{primary!r}"
        )
    if timeline.task_is_guess:
        yield (
            f"{timeline.task_name} is taken for the task by its name, or as it scores "
            "the rows that others do not: primary= or label= says it for certain"
        )
    if timeline.task is None:
        yield (
            "nothing says which completions are right: no label, no truths that "
            "answers can be compared with, no component that is known to be the task "
            "(label=, primary=)"
        )
    groups = int(timeline.dead_groups.counts.sum())
    if groups < FEWEST_TO_TELL <= len(timeline.view.owner) and timeline.view.several:
        yield (
            f"only {counted(groups, 'group')} with two completions that have a reward: "
            "too few to say whether groups have a signal"
        )
    if not timeline.view.several:
        yield (
            "no group has two completions with a reward, so nothing says what "
            "siblings are paid for"
        )
