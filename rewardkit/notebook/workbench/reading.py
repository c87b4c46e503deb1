"""Reading: one completion with its turns, fields, scores and siblings, escaped."""

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
from rewardkit.html.pictures import RIGHTNESS, strip_svg
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.notebook.workbench.parts import render
from rewardkit.primitives.extract import Span
from rewardkit.primitives.messages import (
    arguments_of,
    as_list,
    calls_of,
    content_text,
    plain_value,
)
from rewardkit.scoring.explain import explained, field_spans

LONGEST_READ = 12_000
"""Characters of a completion; of a longer one the middle is left out."""
LONGEST_TURN = 4_000
LONGEST_VALUE = 200  # characters of another column
LONGEST_LISTED = 90  # characters of a completion in the list
MOST_IN_STRIP = 16  # siblings in the strip of a line
MOST_BLOCKS = 48  # siblings as blocks; of larger groups those around the open one
RIGHT_WORDS = {1.0: "\u2713 right", 0.0: "\u2717 wrong"}


def line(bench: Bench, row: int) -> dict[str, Any]:
    """Return a line of the list: reward, right or wrong, beginning, and siblings."""
    right = float(bench.right[0][row])
    text = str(bench.scored.table["completion"].iloc[row])
    blocks = zip(*_blocks(bench, around(bench, row, MOST_IN_STRIP)), strict=True)
    return {
        "row": row,
        "reward": _figure(bench.figures.rewards[row]),
        "mark": RIGHT_WORDS.get(right, "")[:1],
        "said": RIGHT_WORDS.get(right, "")[2:],
        "text": one_line(text[:400])[:LONGEST_LISTED] or "(nothing)",
        "strip": markup.html_of(strip_svg(blocks)),
        "flagged": row in bench.flagged,
    }


def around(bench: Bench, row: int, most: int) -> list[int]:
    """Return the siblings to show, best first, of a large group those around a row."""
    rows = bench.siblings(row)
    rewards = np.nan_to_num(bench.figures.rewards[rows], nan=-math.inf)
    rows = rows[np.argsort(-rewards, kind="stable")]
    start = max(
        0, min(int(np.flatnonzero(rows == row)[0]) - most // 2, len(rows) - most)
    )
    return [int(item) for item in rows[start : start + most]]


def _blocks(bench: Bench, rows: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return the height of each row's block, from 0 to 1, and if it is right."""
    low, high = bench.ends
    rewards = np.clip(
        (bench.figures.rewards[rows] - low) / ((high - low) or 1.0), 0.0, 1.0
    )
    return rewards.tolist(), bench.right[0][rows].tolist()


def opened_page(bench: Bench, opened: Opened) -> str:
    """Return the page of what is open: a row, or a completion of a probe or case."""
    if opened.row is None:
        return _other_page(bench, opened)
    return row_page(bench, opened.row)


def row_page(bench: Bench, row: int, *, still: bool = False) -> str:
    """Return the page of a row; `still`: without anything to click."""
    found, why, columns, spans = None, "", bench.scored.rollouts[row], {}
    try:
        found = explained(bench.scores, row)
        columns, spans = found.columns, found.spans
    except RewardError as error:  # a route that has no reward for it
        why = str(error)
    text = str(bench.scored.table["completion"].iloc[row])
    shown_above = {"prompt", "completion", "messages", "ground_truth", "rollout_id"}
    others = [
        (name, _text(value))
        for name, value in columns.items()
        if name not in shown_above
    ]
    blocks: list[Block] = [why] if why else []
    if found:
        total = _figure(bench.figures.rewards[row])
        blocks = found.blocks(total, bench.variant.aggregation or "reward")
    head = {**_head(bench, row), "still": still}
    return render(
        "read",
        row,
        head,
        _siblings(bench, row),
        _said(columns, text, spans),
        markup.html_of(Page("", blocks).body),
        others,
    )


def _other_page(bench: Bench, opened: Opened) -> str:
    columns = opened.columns
    spans = field_spans(bench.reward, columns)
    fields = [(name, "marked above", "") for name in spans]
    fields.append(("ground_truth", _text(columns.get("ground_truth")), ""))
    taken = markup.html_of(cards.taken_table(fields).html)
    said = _said(columns, str(columns.get("completion", "")), spans)
    return render("read", "", {"about": opened.about}, [], said, taken, [])


def _head(bench: Bench, row: int) -> dict[str, Any]:
    """Reward, advantage and standing among siblings, and who it is."""
    figures, siblings, (right, by) = bench.figures, bench.siblings(row), bench.right
    reward = float(figures.rewards[row])
    better = int((figures.rewards[siblings] > reward).sum())
    raw = float(bench.scores.table["reward_raw"].iloc[row])
    return {
        "about": "",
        "reward": _figure(reward),
        "raw": _figure(raw) if abs(raw - reward) > 1e-9 else "",
        "advantage": _signed(figures.advantages[row]),
        "rank": ""
        if math.isnan(reward)
        else f"{better} of its {len(siblings) - 1} siblings earn more",
        "right": RIGHT_WORDS.get(float(right[row]), ""),
        "by": by,
        "identity": bench.scored.table["rollout_id"].iloc[row],
        "flagged": row in bench.flagged,
    }


def _siblings(bench: Bench, row: int) -> list[dict[str, Any]]:
    """Return a block for each sibling: height, right or wrong, and its row."""
    rows = around(bench, row, MOST_BLOCKS)
    figures, found = bench.figures, []
    for one, height, right in zip(rows, *_blocks(bench, rows), strict=True):
        said = [
            f"reward {_figure(figures.rewards[one])}",
            f"advantage {_signed(figures.advantages[one])}",
        ]
        kind, height = (
            RIGHTNESS.get(right, "open"),
            0 if math.isnan(height) else round(100 * height),
        )
        said += [kind] if kind != "open" else []
        found.append(
            {"row": one, "height": height, "kind": kind, "said": ", ".join(said)}
        )
    return found


def _said(
    columns: Mapping[str, Any], completion: str, spans: Mapping[str, Sequence[Span]]
) -> dict[str, Any]:
    """Return the prompt, the turns before the completion, and the completion."""
    prompt, turns = columns.get("prompt"), as_list(columns.get("messages"))
    asked, what = as_list(prompt), ""
    if asked is None and prompt is not None:
        asked = [{"content": prompt}]
    if turns:
        what = "completion, as the reward is given it"
        if content_text(_message(turns[-1]).get("content")) == completion:
            turns, what = turns[:-1], "assistant, the last turn"
    return {
        "prompt": list(map(_turn, asked or [])),
        "turns": list(map(_turn, turns or [])),
        "what": what,
        "text": plain(completion, spans)
        if completion
        else markup.html_of("<p>(nothing)</p>"),
    }


def _message(turn: Any) -> Mapping[str, Any]:
    return turn if isinstance(turn, Mapping) else {"role": "", "content": str(turn)}


def _turn(turn: Any) -> dict[str, Any]:
    """Return a message: role, text and calls of tools; long results are folded."""
    message = _message(turn)
    role, text = str(message.get("role") or ""), content_text(message.get("content"))
    folded = ""
    if role in ("tool", "function"):
        name = message.get("name") or message.get("tool_call_id") or ""
        role = f"{role} {name}"
        folded = (
            f"{role} gave {len(text):,} characters" if len(text) > LONGEST_VALUE else ""
        )
    body = plain(text, {}, LONGEST_TURN) if text else ""
    calls = list(map(_call, calls_of(message)))
    return {
        "role": one_line(role, LONGEST_VALUE),
        "folded": one_line(folded, LONGEST_VALUE),
        "body": body,
        "calls": calls,
    }


def _call(function: Mapping[str, Any]) -> tuple[str, Any]:
    """Return a call in a line, or its name and its long arguments to unfold."""
    name, given = one_line(function["name"], LONGEST_VALUE), arguments_of(function)
    if not isinstance(given, str):
        try:
            given = json.dumps(plain_value(given), ensure_ascii=False, indent=1)
        except ValueError:
            given = preview(given)
    line = " ".join(given.split())
    if len(line) <= LONGEST_VALUE:
        return f"{name} {line}", ""
    return f"calls {name}", plain(given, {}, LONGEST_TURN)


def plain(
    text: str, spans: Mapping[str, Sequence[Span]], longest: int = LONGEST_READ
) -> Any:
    """Return a text with its spans marked, of a long one without the middle."""
    seen = make_excerpt(text, spans, longest=longest)
    return markup.html_of(
        markup.marked(seen.text, seen.spans, limit=2 * len(seen.text) + 1)
    )


def _text(value: Any) -> str:
    text = "missing" if value is None else str(value)
    return (
        text
        if len(text) <= LONGEST_VALUE
        else f"{text[:LONGEST_VALUE]} ... {len(text) - LONGEST_VALUE:,} more characters"
    )


def _figure(value: float) -> str:
    return "not judged" if math.isnan(value) else markup.number(value)


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value + 0.0:+.2f}"
