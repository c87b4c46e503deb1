"""Render a completion with its turns, fields, scores and siblings, escaped."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rewardkit.errors import RewardError, preview
from rewardkit.html import cards, markup
from rewardkit.html.blocks import Block
from rewardkit.html.excerpts import make_excerpt, one_line
from rewardkit.html.pages import Page
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.parts import preview_lines, render
from rewardkit.plain import Plain, Record
from rewardkit.primitives.extract import Span
from rewardkit.primitives.messages import (
    arguments_of,
    as_list,
    calls_of,
    content_text,
    plain_value,
)
from rewardkit.scoring.explain import explain, field_spans

LONGEST_COMPLETION = 12_000
"""Most characters shown of a completion; the middle of a longer one is cut."""
LONGEST_TURN = 4_000
LONGEST_VALUE = 200  # characters of other columns
LONGEST_LISTED = 90  # characters of a completion in the list
RIGHTNESS = {1.0: "right", 0.0: "wrong"}
"""Label -> kind of a completion; without a label it is "open"."""
MARKS = {"right": "\u2713", "wrong": "\u2717"}
MOST_BLOCKS = 48  # most siblings drawn; in a larger group those around the open one
IN_PLACE = {"prompt", "completion", "messages", "ground_truth", "rollout_id"}
"""Columns with a fixed place on the page, not listed among the others."""


# --- the list


def line(bench: Bench, row: int) -> Record:
    """Return a line of the list: row, reward, right or wrong, first words, flag."""
    word = RIGHTNESS.get(float(bench.right[0][row]), "")
    text = str(bench.scored.table["completion"].iloc[row])
    return {
        "row": row,
        "reward": _figure(bench.figures.rewards[row]),
        "mark": MARKS.get(word, ""),
        "word": word,
        "text": one_line(text[:400])[:LONGEST_LISTED] or "(nothing)",
        "flagged": row in bench.flagged,
    }


def around(bench: Bench, row: int, most: int) -> list[int]:
    """Return at most `most` siblings, best first, in a window around the row."""
    rows = bench.siblings(row)
    rewards = np.nan_to_num(bench.figures.rewards[rows], nan=-math.inf)
    rows = rows[np.argsort(-rewards, kind="stable")]
    place = int(np.flatnonzero(rows == row)[0])
    start = max(0, min(place - most // 2, len(rows) - most))
    return [int(item) for item in rows[start : start + most]]


def _blocks(bench: Bench, rows: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return the height of each row's block, 0 to 1, and its label."""
    low, high = bench.ends
    rewards = bench.figures.rewards[rows]
    heights = (rewards - low) / ((high - low) or 1.0)
    labels = bench.right[0][rows]
    return np.clip(heights, 0.0, 1.0).tolist(), labels.tolist()


# --- the page of the open completion


def opened_page(bench: Bench, opened: Opened) -> str:
    """Render the open row, or completion of a probe or case."""
    if opened.row is not None:
        return row_page(bench, opened.row)
    columns = opened.columns
    spans = field_spans(bench.reward, columns)
    fields = [(name, "marked above", "") for name in spans]
    fields.append(("ground_truth", _short_text(columns.get("ground_truth")), ""))
    table = markup.html_of(cards.taken_table(fields).html)
    texts = _texts(columns, str(columns.get("completion", "")), spans)
    return render("read", "", {"about": opened.about}, [], texts, table, [])


def row_page(bench: Bench, row: int) -> str:
    """Render the page of a row."""
    columns = bench.scored.rollouts[row]
    spans = {}
    blocks: list[Block] = []
    try:
        explanation = explain(bench.scores, row)
    except RewardError as error:  # the route has no reward for this row
        blocks.append(str(error))
    else:
        columns = explanation.columns
        spans = explanation.spans
        total = _figure(bench.figures.rewards[row])
        blocks = explanation.blocks(total, bench.variant.aggregation or "reward")
    text = str(bench.scored.table["completion"].iloc[row])
    others = []
    for name, value in columns.items():
        if name not in IN_PLACE:
            others.append((name, _short_text(value)))
    return render(
        "read",
        row,
        _head(bench, row),
        _siblings(bench, row),
        _texts(columns, text, spans),
        markup.html_of(Page("", blocks).body),
        others,
    )


def _head(bench: Bench, row: int) -> Record:
    """Return reward, advantage, rank among siblings, label and id of a row."""
    rewards = bench.figures.rewards
    siblings = bench.siblings(row)
    right, by = bench.right
    kind = RIGHTNESS.get(float(right[row]), "")
    reward = float(rewards[row])
    raw = float(bench.scores.table["reward_raw"].iloc[row])
    rank = ""
    if not math.isnan(reward):
        better = int((rewards[siblings] > reward).sum())
        rank = f"{better} of its {len(siblings) - 1} siblings earn more"
    return {
        "about": "",
        "reward": _figure(reward),
        "raw": _figure(raw) if abs(raw - reward) > 1e-9 else "",
        "advantage": _signed(bench.figures.advantages[row]),
        "rank": rank,
        "right": f"{MARKS[kind]} {kind}" if kind else "",
        "by": by,
        "identity": bench.scored.table["rollout_id"].iloc[row],
        "flagged": row in bench.flagged,
    }


def _siblings(bench: Bench, row: int) -> list[Record]:
    """Return a block for each sibling: row, height in percent, kind and tooltip."""
    rows = around(bench, row, MOST_BLOCKS)
    figures = bench.figures
    blocks = []
    for sibling, share, right in zip(rows, *_blocks(bench, rows), strict=True):
        kind = RIGHTNESS.get(right, "open")
        title = (
            f"reward {_figure(figures.rewards[sibling])}, "
            f"advantage {_signed(figures.advantages[sibling])}"
        )
        if kind != "open":
            title += f", {kind}"
        height = 0 if math.isnan(share) else round(100 * share)
        blocks.append({"row": sibling, "height": height, "kind": kind, "title": title})
    return blocks


def _texts(
    columns: Plain, completion: str, spans: Mapping[str, Sequence[Span]]
) -> Record:
    """Return the prompt, the turns before the completion, and the completion."""
    prompt = as_list(columns.get("prompt"))
    if prompt is None and columns.get("prompt") is not None:
        prompt = [{"content": columns["prompt"]}]
    turns = as_list(columns.get("messages"))
    caption = ""
    if turns:
        caption = "completion, as the reward is given it"
        if content_text(_message(turns[-1]).get("content")) == completion:
            turns = turns[:-1]
            caption = "assistant, the last turn"
    text = markup.html_of("<p>(nothing)</p>")
    if completion:
        text = mark_fields(completion, spans)
    return {
        "prompt": list(map(_turn, prompt or [])),
        "turns": list(map(_turn, turns or [])),
        "caption": caption,
        "text": text,
    }


def _message(turn: Any) -> Plain:
    return turn if isinstance(turn, Mapping) else {"role": "", "content": str(turn)}


def _turn(turn: Any) -> Record:
    """Return a message: role, text and tool calls; long results are folded."""
    message = _message(turn)
    role = str(message.get("role") or "")
    text = content_text(message.get("content"))
    summary = ""
    if role in ("tool", "function"):
        name = message.get("name") or message.get("tool_call_id") or ""
        role = f"{role} {name}"
        if len(text) > LONGEST_VALUE:
            summary = f"{role} gave {len(text):,} characters"
    return {
        "role": one_line(role, LONGEST_VALUE),
        "folded": one_line(summary, LONGEST_VALUE),
        "body": mark_fields(text, {}, LONGEST_TURN) if text else "",
        "calls": list(map(_call, calls_of(message))),
    }


def _call(function: Plain) -> tuple[str, Any]:
    """Return a tool call in one line, or its name and long arguments to unfold."""
    name = one_line(function["name"], LONGEST_VALUE)
    arguments = arguments_of(function)
    if not isinstance(arguments, str):
        try:
            plain = plain_value(arguments)
            arguments = json.dumps(plain, ensure_ascii=False, indent=1)
        except ValueError:
            arguments = preview(arguments)
    line = " ".join(arguments.split())
    if len(line) <= LONGEST_VALUE:
        return f"{name} {line}", ""
    return f"calls {name}", mark_fields(arguments, {}, LONGEST_TURN)


def mark_fields(
    text: str, spans: Mapping[str, Sequence[Span]], longest: int = LONGEST_COMPLETION
) -> Any:
    """Return a text with its spans marked; the middle of a long text is cut."""
    excerpt = make_excerpt(text, spans, longest=longest)
    limit = 2 * len(excerpt.text) + 1
    return markup.html_of(markup.marked(excerpt.text, excerpt.spans, limit=limit))


def _short_text(value: Any) -> str:
    return "missing" if value is None else preview_lines(str(value), LONGEST_VALUE)


def _figure(value: float) -> str:
    return "not judged" if math.isnan(value) else markup.number(value)


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value + 0.0:+.2f}"
