"""Make the pages of rollouts, rewards, scores, checks and explanations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardkit.findings import counted, describe_size, short_number
from rewardkit.html.blocks import Block, Facts, Picture, Quote, Table
from rewardkit.html.excerpts import UserText, quote_reason
from rewardkit.html.markup import Bar, number
from rewardkit.html.pages import More, Page
from rewardkit.html.pictures import histogram_svg
from rewardkit.plain import Plain, Record
from rewardkit.reasons import Reason

MOST_MISSES = 12  # missed expectations shown unfolded
MOST_ANSWERS = 12  # raw answers of models
SCORE_FIGURES = ("weight", "mean", "std", "lowest", "highest")
USER_COLUMNS = ("prompt", "completion", "ground_truth")
"""Columns with users' texts."""


# --- rollouts and rewards


def rollouts_page(about: Plain, columns: Sequence[str], rows: Sequence[Plain]) -> Page:
    """Return the page of rollouts: how they were read, and their first rows.

    `about` is their summary.
    """
    facts = Facts(describe_reading(about, columns))
    first_rows = More("The first rows", [_first_rows(rows, about["group_key"])])
    size = describe_size(about["rows"], about["sampled_from"])
    return Page(size, [facts, first_rows])


def describe_reading(
    about: Plain, columns: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Describe how rollouts were read: source, groups, columns, notes, warnings.

    Without `columns`, only the renamed columns are listed.
    """
    renamed = []
    for name, source in about["mapping"].items():
        if name != source:
            renamed.append(f"{name} from {source}")
    listed = ", ".join(columns or renamed)
    if columns and renamed:
        listed += f" ({', '.join(renamed)})"
    rows = f"{about['rows']:,} from {about['source']}"
    if about["kind"] not in ("", "rollouts"):
        rows += f" ({about['kind']})"
    if about["rejected"]:
        rows += f", {counted(len(about['rejected']), 'row')} kept out"
    facts = [
        ("Rollouts", rows),
        ("Groups", _describe_groups(about)),
        ("Columns", listed),
        ("Log", "; ".join(about["notes"])),
    ]
    facts += [("Note", sentence) for sentence in about["warnings"]]
    return [(name, text) for name, text in facts if text]


def _describe_groups(about: Plain) -> str:
    text = f"{about['groups']:,} by {', '.join(about['group_key']) or 'row'}"
    sizes = [f"{count} of {size}" for size, count in about["group_sizes"].items()]
    if sizes:
        text += f" (sizes: {', '.join(sizes)})"
    if about["prompts"] != about["groups"]:
        text += f", of {about['prompts']:,} prompts"
    return text


def _first_rows(rows: Sequence[Plain], group_key: Sequence[str]) -> Table:
    """Return rollouts as a table of id, group and texts; a prompt is not repeated."""
    wanted = dict.fromkeys(["rollout_id", *group_key, *USER_COLUMNS])
    names = [name for name in wanted if any(name in row for row in rows)]
    cells: list[list[object]] = []
    prompt: object = None
    for row in rows:
        line: list[object] = []
        for name in names:
            if name == "prompt" and cells and row[name] == prompt:
                line.append("as above")
            elif name in USER_COLUMNS:
                line.append(UserText(row[name]))
            else:
                line.append("-" if row[name] is None else row[name])
        prompt = row.get("prompt")
        cells.append(line)
    return Table("", names, cells)


def reward_page(about: Plain, parts: Sequence[Page]) -> Page:
    """Return the page of a reward from its record: fields, components, options.

    For a route: a table of its rewards, then the pages of its branches, `parts`.
    """
    title = f"Reward {about['name']}"
    if "route" in about:
        return Page(title, [_route_table(about["route"]), *parts])
    fields = Table("", ("field", "function"), [*about["fields"].items()])
    rows = []
    for item in about["components"]:
        ends = [f"{float(end):g}" for end in item["range"] or ()]
        span = " to ".join(ends) or "unbounded"
        rows.append((
            item["name"],
            item["function"],
            item.get("schedule", f"{item['weight']:g}"),
            item["gate"] or "",
            span,
            item["why"],
        ))  # fmt: skip
    header = ("component", "function", "weight", "gate", "range", "why")
    options = [
        ("aggregation", about["aggregation"]),
        ("on missing", about["on_missing"]),
        ("origin", UserText(about["origin"] or "", instead="")),
        ("gate of the whole reward", about["gate"]),
        ("transform", about["transform"]),
    ]
    set_options = [(name, value) for name, value in options if str(value or "")]
    components = Table("", header, rows, ("weight",))
    return Page(title, [fields, components, Facts(set_options)])


def _route_table(route: Plain) -> Table:
    inner = [(item["value"], item["reward"]) for item in route["rewards"]]
    if route["default"]:
        inner.append(("(any other)", route["default"]))
    rows = []
    for value, reward in inner:
        weights = reward["weights"].items()
        listed = ", ".join(f"{name} {weight:g}" for name, weight in weights)
        rows.append((value, reward["name"], listed, reward["aggregation"]))
    header = (route["column"], "reward", "weights", "aggregation")
    return Table("", header, rows)


# --- scores


@dataclass(frozen=True)
class ComponentScores:
    """A component of scored rollouts.

    `figures` are mean, standard deviation, minimum and maximum of its scores (see
    `summarize`). `counts` are by status, `errors` are reasons.
    """

    name: str
    weight: float
    figures: Sequence[float]
    counts: Mapping[str, int]
    errors: Sequence[Reason]


def scores_page(
    name: str,
    rewards: NDArray[Any],
    components: Sequence[ComponentScores],
    models: Sequence[UserText | str],
) -> Page:
    """Return the page of scores: distributions, counts by status, errors, `models`.

    A table row has a component's weight, mean, standard deviation, observed range, and
    counts by status. The most frequent reason for errors follows the table.
    """
    missing = int(np.isnan(rewards).sum())
    summary = f"{len(rewards):,} rollouts"
    if missing < len(rewards):
        mean, std, *_ = summarize(rewards)
        summary += f", mean reward {short_number(mean)}, std {short_number(std)}"
    if missing:
        summary += f", {missing:,} ({missing / len(rewards):.1%}) not judged"
    statuses: dict[str, None] = {}
    for item in components:
        statuses |= dict.fromkeys(item.counts)
    rows = []
    errors = []
    for item in components:
        row: list[object] = [item.name, item.weight, *item.figures]
        for status in statuses:
            count = item.counts[status]
            row.append(f"{count:,}" if count else "")
        rows.append(row)
        for reason, _ in Counter(item.errors).most_common(1):
            failures = counted(len(item.errors), "error")
            before = f"{item.name}: {failures}, most often "
            errors.append(quote_reason(reason, before=before))
    header = ["component", *SCORE_FIGURES, *statuses]
    table = Table("", header, rows, header[1:])
    blocks = [Picture(histogram_svg(rewards)), table, *errors, *models]
    return Page(f"Scores of {name}", blocks, summary)


def summarize(values: NDArray[Any]) -> list[float]:
    """Return mean, standard deviation, minimum and maximum, ignoring NaN."""
    is_judged = ~np.isnan(values)
    # a large array is copied only if necessary
    judged = values if is_judged.all() else values[is_judged]
    if not len(judged):
        return [math.nan] * 4
    with np.errstate(over="ignore", invalid="ignore"):  # scores may be huge
        return [judged.mean(), judged.std(), judged.min(), judged.max()]


# --- checks and judges


def check_page(name: str, outcome: Plain, notes: Sequence[str]) -> Page:
    """Return the page of a check, from its record: counts, misses, undecided cases.

    `got` of a miss may be a `UserText`. `notes` say what was not checked.
    """
    passed = outcome["passed"]
    failed = outcome["failed"]
    mark = "-"
    if failed or outcome["unknown"]:
        mark = "\u2717"
    elif passed:
        mark = "\u2713"
    blocks: list[Block] = list(notes)
    if outcome["left_out"]:
        counts = [f"{count} of {part!r}" for part, count in outcome["left_out"].items()]
        blocks.append(
            f"Left out, as the reward has no such component: {', '.join(counts)}"
        )
    tables, more_misses = _miss_tables(outcome["misses"])
    blocks += tables
    pending = []
    for case in outcome["to_decide"]:
        completions = _completions(case["completion"], case["below"])
        pending.append((case["case"], case["got"], completions, UserText(case["why"])))
    caption = f"To decide: {counted(len(pending), 'case')}, neither passed nor failed"
    names = ("case", "now gets", "completion", "why")
    blocks.append(
        Table(caption, names, pending, is_open=True, most=200, stacked=True, limit=400)
    )
    title = f"{mark} {passed:,} of {passed + failed:,} cases passed, {failed:,} failed"
    if pending:
        title += f", {len(pending):,} undecided"
    foot = ""
    if more_misses:
        count = counted(more_misses, "more missed expectation")
        foot = f"And {count}: text(verbose=True)"
    return Page(title, blocks, f"reward {name}", foot)


def _miss_tables(misses: Sequence[Plain]) -> tuple[list[Table], int]:
    """Return tables of the first and of the other misses, and the number of others."""
    rows = []
    for miss in misses:
        fields = [f"{key} = {value!r}" for key, value in miss["fields"].items()]
        truth = miss["ground_truth"]
        rows.append((
            miss["case"],
            miss["what"],
            miss["expected"],
            miss["got"],
            UserText("; ".join(fields)) if fields else "",
            UserText(repr(truth)) if truth is not None else "",
            _completions(f"{miss['turns']}{miss['completion']}", miss["below"]),
            UserText(miss["why"]) if miss["why"] else "",
        ))  # fmt: skip
    header = ("case", "what", "expected", "got", "fields", "truth", "completion", "why")
    options: Record = {"numeric": ("expected",), "most": 200, "stacked": True}
    others = rows[MOST_MISSES:]
    first_table = Table("", header, rows[:MOST_MISSES], limit=400, **options)
    other_table = Table(f"and {len(others):,} more", header, others, **options)
    return [first_table, other_table], len(others)


def _completions(completion: str, below: str) -> UserText:
    """Return a completion, followed by the lower one if the case is an order."""
    if below:
        completion += f"\n-- below:\n{below}"
    return UserText(completion)


VERDICT_COLUMNS = ("level", "reason", "tokens", "cost", "cached", "raw")
"""Parts of a verdict with their own place; others are added to the reason."""


def verdict_blocks(verdicts: Mapping[str, Plain]) -> list[Block]:
    """Return the verdicts of models on each component, with raw answers folded."""
    rows = []
    answers: list[Block] = []
    for name, verdict in verdicts.items():
        tokens = cost = ""
        if verdict.get("cached"):
            cost = "cached"
        else:
            counts = verdict.get("tokens") or ()
            tokens = " + ".join(f"{count:,.0f}" for count in counts)
            if verdict.get("cost") is not None:
                cost = number(verdict["cost"])
        reasons = [str(verdict.get("reason", ""))]
        for key, value in verdict.items():
            if key not in VERDICT_COLUMNS and value is not None:
                reasons.append(f"{key}: {value}")
        level = UserText(verdict.get("level", "not judged"))
        rows.append((name, level, UserText("\n".join(reasons)), tokens, cost))
        for text in verdict.get("raw") or ():
            answers.append(Quote(name, text, longest=1000))
    if not rows:
        return []
    header = ("judged", "level", "reason", "tokens", "cost")
    table = Table("", header, rows, ("tokens", "cost"), limit=400)
    caption = "raw answers" if len(answers) > 1 else "raw answer"
    hidden = len(answers) - MOST_ANSWERS
    if hidden > 0:
        answers[MOST_ANSWERS:] = [f"and {hidden:,} more"]
    return [table, More(caption, answers)]


# --- one completion


def result_page(
    reward: float,
    rows: Sequence[tuple[str, str, float, str, Reason | None]],
    fields: Plain,
    notes: Plain,
) -> Page:
    """Return the page of the result of one completion.

    `rows` are component, status, score, weight and reason.
    """
    lines = []
    for name, status, score, weight, reason in rows:
        why = quote_reason(reason) if reason else ""
        lines.append((name, status, number(score), weight, why))
    header = ("component", "status", "score", "weight", "reason")
    title = f"Reward {number(reward)}"
    if math.isnan(reward):
        title = "No reward: not judged"
    values = []
    for name, value in fields.items():
        values.append((name, "not found" if value is None else UserText(repr(value))))
    noted = [(name, UserText(repr(value))) for name, value in notes.items()]
    blocks = [
        Table("", header, lines, ("score", "weight")),
        Table("", ("field", "value"), values),
        Table("", ("note", "value"), noted),
    ]
    return Page(title, blocks)


def contribution_table(lines: Sequence[Any], total: str, combined: str) -> Table:
    """Return a table of each component's contribution, with bars, and the total.

    `lines` are those of an Explanation; `combined` is the aggregation.
    """
    largest = 0.0
    for line in lines:
        if not math.isnan(line.contribution):
            largest = max(largest, abs(line.contribution))
    rows: list[tuple[object, ...]] = []
    for line in lines:
        adds = 0.0 if math.isnan(line.contribution) else line.contribution
        bar = Bar(number(line.contribution), round(50 * adds / (largest or 1.0), 1))
        status = {"scored": "", "abstained": "not judged"}.get(line.status, line.status)
        reason = quote_reason(line.why_not) if line.why_not else line.why
        weight = f"{line.weight:g}"
        rows.append(
            (line.component, number(line.score), weight, bar, status, line.gate, reason)
        )
    rows.append(("total", "", "", total, "", "", combined))
    header = ("component", "score", "weight", "adds", "status", "gate", "why")
    return Table("", header, rows, header[1:4], limit=600)


def taken_table(fields: Sequence[tuple[str, object, str]]) -> Table:
    """Return a table of each field's extraction and its position in characters."""
    return Table("", ("field", "value", "characters"), fields, limit=600)


def note_table(notes: Plain) -> Table:
    """Return a table of the components' notes."""
    rows = [(name, UserText(value)) for name, value in notes.items()]
    return Table("", ("note", "value"), rows, limit=600)
