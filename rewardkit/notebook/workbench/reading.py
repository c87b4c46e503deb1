"""Reading: one completion as a page: its turns, what fields took of it, its scores. Escaped throughout."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.errors import RewardError, preview
from rewardkit.html import cards, markup
from rewardkit.html.excerpts import Shown, shown
from rewardkit.notebook.workbench.bench import Bench, Opened
from rewardkit.primitives.extract import Span
from rewardkit.primitives.messages import arguments_of, as_list, calls_of, content_text, plain_value
from rewardkit.scoring.explain import Explanation, explained, field_spans

__all__ = ["card", "completion_text", "opened_page"]

LONGEST = 12_000
"""Characters of a completion that are shown; of a longer one the middle is left out, with its number."""
LONGEST_TURN = 4_000
EXCERPT = 280  # characters of a sibling on its card
COLUMN = 200  # characters of another column
MARK = {"scored": "", "gated": "gated", "abstained": "not judged", "error": "error"}


def opened_page(bench: Bench, opened: Opened) -> str:
    """The page of what is open: a row of the rollouts, or a completion that a probe tried."""
    return _row(bench, opened.row) if opened.row is not None else _tried(bench, opened)


def _row(bench: Bench, row: int) -> str:
    columns, spans = bench.scored.rollouts[row], {}
    try:
        found = explained(bench.scores, row)
    except RewardError as error:  # a route that has no reward for it
        told = f"<p>{markup.escaped(error)}</p>"
    else:
        columns, spans = found.columns, found.spans
        told = _legend(found) + _scores(found, bench, row) + cards.verdicts(found.result.verdicts)
    return (
        f'<article aria-label="completion">{_head(bench, row)}{_prompt(columns)}'
        f"{_said(columns, completion_text(bench, row), spans)}{told}{_columns(bench, row)}</article>"
    )


def _tried(bench: Bench, opened: Opened) -> str:
    columns = opened.columns
    reward = bench.scored.reward
    spans = field_spans(reward, columns)
    text = str(columns.get("completion", ""))
    truth = columns.get("ground_truth")
    legend = [(name, "marked above") for name in spans]
    return (
        f'<article aria-label="completion"><p><b>{markup.escaped(opened.about)}</b></p>{_prompt(columns)}'
        f"{_said(columns, text, spans)}"
        f"{markup.table(('field', 'value'), [*legend, ('ground_truth', _text(truth))])}</article>"
    )


def _head(bench: Bench, row: int) -> str:
    """Reward, advantage and standing among siblings, and who it is."""
    figures = bench.figures
    siblings = bench.siblings(row)
    reward, advantage = figures.rewards[row], figures.advantages[row]
    better = int((figures.rewards[siblings] > reward).sum())
    rank = "" if math.isnan(reward) else f", {better} of its {len(siblings) - 1} siblings earn more"
    right, by = bench.right
    judged = "" if math.isnan(right[row]) else f" \u00b7 <b>{right_mark(right[row])}</b>"
    told = f'<span class="rewardkit-aside"> ({markup.escaped(by)})</span>' if judged else ""
    raw = float(bench.scores.table["reward_raw"].iloc[row])
    before = f" (before the transform {_figure(raw)})" if abs(raw - reward) > 1e-9 else ""
    identity = markup.escaped(bench.scored.table["rollout_id"].iloc[row])
    return (
        f'<p class="rewardkit-head"><b>reward {_figure(reward)}</b>{before} \u00b7 '
        f"advantage {_signed(advantage)}{rank}{judged}{told} \u00b7 rollout {identity}</p>"
    )


def right_mark(value: float) -> str:
    """Right or wrong as a word with a mark."""
    return "" if math.isnan(value) else "\u2713 right" if value == 1 else "\u2717 wrong"


def _prompt(columns: Mapping[str, Any]) -> str:
    prompt = columns.get("prompt")
    turns = as_list(prompt)
    if prompt is None or (turns is not None and not turns):
        return ""
    body = _turns(turns) if turns else _plain(str(prompt), {}, LONGEST_TURN)
    return f"<details open><summary>prompt</summary>{body}</details>"


def _said(columns: Mapping[str, Any], completion: str, spans: Mapping[str, Sequence[Span]]) -> str:
    """The completion, and before it the turns that led to it where there is a transcript."""
    marked = f'<div class="rewardkit-completion">{_plain(completion, spans, LONGEST)}</div>'
    turns = as_list(columns.get("messages"))
    if not turns:
        return marked
    last = len(turns) - 1
    if content_text(_message(turns[last]).get("content")) == completion:
        return _turns(turns[:last]) + _label("assistant, the last turn") + marked
    return _turns(turns) + _label("completion, as the reward is given it") + marked


def _turns(turns: Sequence[Any]) -> str:
    """Messages one below the other, calls of tools and what they gave folded."""
    return "".join(_turn(_message(turn)) for turn in turns)


def _message(turn: Any) -> Mapping[str, Any]:
    return turn if isinstance(turn, Mapping) else {"role": "", "content": str(turn)}


def _turn(message: Mapping[str, Any]) -> str:
    role = str(message.get("role") or "message")
    text = content_text(message.get("content"))
    body = _plain(text, {}, LONGEST_TURN) if text else ""
    if role in ("tool", "function"):
        name = message.get("name") or message.get("tool_call_id") or ""
        told = f"{role} {name} gave {len(text):,} characters"
        return markup.folded(told, body)
    return _label(role) + body + "".join(map(_call, calls_of(message)))


def _call(function: Mapping[str, Any]) -> str:
    given = arguments_of(function)
    try:
        text = (
            given if isinstance(given, str) else json.dumps(plain_value(given), ensure_ascii=False, indent=1)
        )
    except ValueError:
        text = preview(given)
    return markup.folded(f"calls {function['name']}", _plain(text, {}, LONGEST_TURN))


def _label(role: str) -> str:
    return f'<p class="rewardkit-role">{markup.escaped(role, limit=COLUMN)}</p>'


def _plain(text: str, spans: Mapping[str, Sequence[Span]], longest: int) -> str:
    """A text with its spans marked; of a long one the middle is left out."""
    seen: Shown = shown(text, spans, longest=longest)
    return markup.marked(seen.text, seen.spans, limit=2 * len(seen.text) + 1)


def _legend(found: Explanation) -> str:
    """What each field took, under the name that stands beside its marks."""
    rows = [
        (name, "not found" if value is None else repr(value), _place(found.spans.get(name, ())))
        for name, value in found.result.fields.items()
    ]
    if "ground_truth" in found.columns:
        rows.append(("ground_truth", _text(found.columns["ground_truth"]), ""))
    return markup.table(("field", "value", "characters"), rows) if rows else ""


def _place(spans: Sequence[Span]) -> str:
    return ", ".join(f"{start}-{end}" for start, end in spans[:4])


def _scores(found: Explanation, bench: Bench, row: int) -> str:
    """Every component's score, gate, weight and what it adds, and the total."""
    rows = [
        (
            line.component,
            "-" if math.isnan(line.score) else f"{line.score:.4g}",
            f"{line.weight:g}",
            "-" if math.isnan(line.contribution) else f"{line.contribution + 0.0:.4g}",
            MARK[line.status],
            line.gate,
            line.reason or line.why,
        )
        for line in found.lines
    ]
    total = _figure(bench.figures.rewards[row])
    rows.append(("total", "", "", total, "", "", f"{bench.variant.aggregation or 'reward'}"))
    header = ("component", "score", "weight", "adds", "status", "gate", "why")
    used = [at for at in range(len(header)) if any(row[at] for row in rows)]
    table = markup.table(
        [header[at] for at in used],
        [[row[at] for at in used] for row in rows],
        numeric=("score", "weight", "adds"),
    )
    notes = found.result.notes
    told = markup.table(("note", "value"), [(name, _text(value)) for name, value in notes.items()])
    return table + (told if notes else "")


def _columns(bench: Bench, row: int) -> str:
    """The other columns of the rollout, folded."""
    shown_above = {"prompt", "completion", "messages", "ground_truth", "rollout_id"}
    rollout = bench.scored.rollouts[row]
    rows = [(name, _text(value)) for name, value in rollout.items() if name not in shown_above]
    return markup.folded("columns of the log", markup.table(("column", "value"), rows)) if rows else ""


def card(bench: Bench, row: int, *, chosen: bool) -> str:
    """A sibling in short: reward, advantage, whether it is right, how it ends."""
    figures, right = bench.figures, bench.right[0][row]
    text = completion_text(bench, row)
    seen = shown(text, longest=EXCERPT).text
    mark = f"<p>{right_mark(right)}</p>" if right == right else ""
    state = ' aria-current="true"' if chosen else ""
    return (
        f"<div{state}><p><b>{_figure(figures.rewards[row])}</b> \u00b7 advantage "
        f'{_signed(figures.advantages[row])}</p>{mark}<div dir="auto" class="rewardkit-excerpt">'
        f"{markup.escaped(seen, limit=None)}</div></div>"
    )


def completion_text(bench: Bench, row: int) -> str:
    """The completion of a row."""
    return str(bench.scored.table["completion"].iloc[row])


def _text(value: Any) -> str:
    text = "missing" if value is None else str(value)
    return text if len(text) <= COLUMN else f"{text[:COLUMN]} ... {len(text) - COLUMN:,} more characters"


def _figure(value: float) -> str:
    return "not judged" if math.isnan(value) else f"{value + 0.0:.4g}"


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value + 0.0:+.2f}"
