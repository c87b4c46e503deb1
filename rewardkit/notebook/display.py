"""What notebooks show of rollouts, cases and findings.

Escaped HTML, with prompts and completions left out on request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib_inline.backend_inline import set_matplotlib_formats

from rewardkit.analysis.forecast import Forecast
from rewardkit.analysis.suggestions.normalization import Normalization
from rewardkit.analysis.suggestions.suggestion import Suggestions, normalization_blocks
from rewardkit.findings import SEVERITY_MARKS, Finding, counted
from rewardkit.html import cards, markup
from rewardkit.html.pages import Page
from rewardkit.judges.report import JudgeReport
from rewardkit.notebook import probed
from rewardkit.notebook.redaction import redacted_finding, redacted_reason
from rewardkit.notebook.tiles import Tile, probe_tiles
from rewardkit.primitives.extract import Extractor
from rewardkit.probes.mutants.results import MutantResult
from rewardkit.probes.probe import ProbeResult
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import CheckResult
from rewardkit.scoring.explain import Explanation, explained, spans_of
from rewardkit.scoring.scores import Scores

__all__ = ["TEXTS", "Show", "begin", "redacted_reason"]


def begin() -> HTML:
    """Set a notebook up: figures as SVG, and what is printed in a box that scrolls.

    A reward that prints for every row would push the rest out of sight. A report page is shortened by itself.
    """
    plt.rcParams["svg.fonttype"] = "none"
    set_matplotlib_formats("svg")  # type: ignore[no-untyped-call]
    return HTML(f"<style>{PRINTED} {{ max-height: 20em; overflow-y: auto; }}</style>")


PRINTED = ".jp-OutputArea-output[data-mime-type^='application/vnd.jupyter.std']"


@dataclass(frozen=True)
class Show:
    """Turns records into HTML.

    With ``redact=True`` nothing of a prompt, completion, extraction or ground truth is shown.
    """

    redact: bool = False

    def text(self, value: Any) -> str:
        """A text of the rollouts, or what stands in its place."""
        if self.redact and value is not None:
            return f"[redacted, {len(str(value).split())} words]"
        return "-" if value is None else str(value)

    def note(self, *lines: object) -> HTML:
        """Lines of plain text."""
        return HTML("".join(f"<p>{markup.escaped(line)}</p>" for line in lines))

    def about(self, rollouts: Rollouts) -> HTML:
        """How rollouts were read and grouped, without any text of theirs."""
        return HTML(cards.rollouts(rollouts.summary(), list(map(str, rollouts.table.columns)), []))

    def scores(self, scores: Scores) -> HTML:
        """How the reward and each component are spread."""
        return HTML(scores.card(redacted_reason if self.redact else str))

    def rollouts(self, rollouts: Rollouts, *, limit: int = 8) -> HTML:
        """The first rollouts as a table; a prompt that stands in the row above is not shown again."""
        first = [rollouts[row] for row in range(min(limit, len(rollouts)))]
        rows = cards.first_rows(first, rollouts.group_key, text=self.text if self.redact else None)
        return _html(rows, f"{len(rollouts):,} rollouts, the first {len(first)} of them")

    def group(self, rollouts: Rollouts, number: int = 0) -> HTML:
        """The siblings of one group: the prompt, then each distinct completion and how often it came."""
        rows = rollouts.select(rollouts.groups == number)
        texts: dict[str, int] = {}
        for row in rows:
            texts[row["completion"]] = texts.get(row["completion"], 0) + 1
        table = markup.table(
            ("times", "completion"),
            [(count, self.text(text)) for text, count in texts.items()],
            numeric=("times",),
        )
        head = {
            name: rows[0][name] for name in (*rollouts.group_key, "prompt", "ground_truth") if name in rows[0]
        }
        private = ("prompt", "ground_truth")
        about = "".join(
            f"<p><b>{markup.escaped(name)}</b>: "
            f"{markup.escaped(self.text(value) if name in private else value)}</p>"
            for name, value in head.items()
        )
        return _html(about + table, f"one group: {len(rows)} completions, {len(texts)} different")

    def extraction(
        self, rollouts: Rollouts, extractors: Mapping[str, Extractor], *, limit: int = 6, note: str = ""
    ) -> HTML:
        """How often each extractor finds something, then the completions on which they disagree most.

        In these their spans are marked; an extractor that finds nothing anywhere is left out of them. `note`
        is a sentence between.
        """
        texts = rollouts.table["completion"].tolist()
        marks = {
            name: [spans_of(extractor, text) for text in texts] for name, extractor in extractors.items()
        }
        values = {
            name: [
                text[slice(*spans[0])] if spans else None for text, spans in zip(texts, found, strict=True)
            ]
            for name, found in marks.items()
        }
        finders = [name for name, found in values.items() if any(value is not None for value in found)]
        variety = [len({values[name][row] for name in finders}) for row in range(len(texts))]
        chosen: dict[str, int] = {}
        for row in sorted(range(len(texts)), key=lambda row: (-variety[row], row)):
            if len(chosen) == limit:
                break
            chosen.setdefault(texts[row], row)
        blocks = []
        for text, row in chosen.items() if not self.redact else ():
            spans = {name: marks[name][row] for name in finders}
            found = ", ".join(
                f"{markup.escaped(name)} = {markup.escaped(repr(values[name][row]))}" for name in finders
            )
            blocks.append(f"<li>{markup.marked(text, spans)}<small>{found}</small></li>")
        counts = [
            (
                name,
                repr(extractors[name]),
                f"{sum(value is not None for value in found) / max(len(found), 1):.1%}",
                f"{_different(found, values):.1%}",
            )
            for name, found in values.items()
        ]
        header = ("name", "extractor", "finds something", "differs from the first")
        said = f"<p>{markup.escaped(note)}</p>" if note else ""
        return _html(
            markup.table(header, counts, numeric=header[2:]) + said + f"<ol>{''.join(blocks)}</ol>",
            "extractions, where they differ most" if blocks else "extractions",
        )

    def explanation(self, scores: Scores, row: int) -> HTML:
        """Why one completion got its reward, from what scoring left: nothing is called again."""
        explanation = explained(scores, row)
        if self.redact:
            return _html(_redacted_explanation(explanation), "one completion")
        return HTML(explanation._repr_html_())

    def judges(self, reports: Mapping[str, JudgeReport | None]) -> HTML:
        """How each component that asks a model agrees with the cases; which have no case that tells it."""
        if not reports:
            return self.note("No component of this reward asks a model.")
        bodies = []
        for name, report in reports.items():
            if report is None:
                why = f"{name}: no case expects a score of it, so nothing says that it agrees with people."
                bodies.append(f"<p>{markup.escaped(why)}</p>")
                continue
            if self.redact:
                reasons = {redacted_reason(why): count for why, count in report.not_judged.items()}
                report = replace(report, examples=(), not_judged=reasons)
            bodies.append(report._repr_html_())
        return HTML("".join(bodies))

    def misses(self, result: CheckResult | None) -> HTML:
        """The outcome of a check: every miss with what was expected, what came and why it matters.

        ``None``: there are no cases.
        """
        if result is None:
            line = '{"completion": "...", "ground_truth": "...", "reward": 1.0, "why": "..."}'
            body = f"<p>Each is one line of a JSONL file: <code>{markup.escaped(line)}</code></p>"
            return _html(body, "no cases were given: write down what the reward must give, and why")
        if not result.misses:
            return _html("", f"cases missed: none of {len(result.cases)}")
        missed, reason = result.record()["misses"], redacted_reason if self.redact else str
        first, others = (
            cards.misses(some, text=self.text, reason=reason, limit=MISSED)
            for some in (missed[: cards.MISSES], missed[cards.MISSES :])
        )
        more = markup.folded(f"and {len(missed) - cards.MISSES} more", others) if others else ""
        return _html(first + more, f"{result.failed} of {len(result.cases)} cases missed")

    def contract(self, result: ProbeResult) -> HTML:
        """What of the contract is broken, with examples and what to do."""
        return _html(probed.contract(result, redact=self.redact), _told_by(probe_tiles(result)[1]))

    def probes(self, result: ProbeResult) -> HTML:
        """What is paid or lost wrongly, with examples and what to do, and what could not be decided."""
        return _html(probed.probes(result, redact=self.redact), _told_by(probe_tiles(result)[0]))

    def mutants(self, found: MutantResult | None, again: str = "") -> HTML:
        """The changes of the reward that no case notices, and the cases that would; ``None``: no cases.

        `again` is code that makes the result anew and writes the proposed cases.
        """
        if found is None:
            return _html("", "no mutants: there are no cases that could catch them")
        return _html(probed.mutants(found, redact=self.redact, again=again), found.verdict)

    def findings(self, findings: Sequence[Finding]) -> HTML:
        """Findings, most severe first, with rollouts to read."""
        if not findings:
            return _html("", "nothing found")
        rows = [
            (
                SEVERITY_MARKS[item.severity],
                item.code,
                redacted_finding(item).sentence if self.redact else item.sentence,
                ", ".join(map(str, item.rollout_ids)),
            )
            for item in findings
        ]
        return _html(
            markup.table(("severity", "code", "what it means", "rollouts to read"), rows, stacked=True),
            counted(len(findings), "finding"),
        )

    def frame(
        self,
        frame: pd.DataFrame,
        caption: str,
        below: str = "",
        *,
        names: Sequence[str] = (),
        folded: bool = False,
    ) -> HTML:
        """A table of figures, and a sentence below it, which is left out where texts are.

        Names of columns are shown as words, but for `names`, such as a component's, that they may end with.
        A `folded` table opens on a click.
        """
        if frame.empty:
            return _html("", f"{caption}: none")

        def words(column: object) -> str:
            own = next((name for name in names if str(column).endswith(name)), "")
            return str(column).removesuffix(own).replace("_", " ") + own

        rows = [[_figure(value) for value in row] for row in frame.itertuples(index=False)]
        numeric = [words(name) for name in frame.columns if pd.api.types.is_numeric_dtype(frame[name])]
        said = markup.escaped(below).replace("; ", ";<br>")
        table = markup.table([words(name) for name in frame.columns], rows, numeric=numeric)
        return _html(
            (markup.folded(f"{len(rows)} rows", table) if folded else table)
            + (f"<p>{said}</p>" if below and not self.redact else ""),
            caption,
        )

    def suggestions(self, suggestions: Suggestions) -> HTML:
        """The changes of the reward: code, effects with intervals, examples to read; then the notes."""
        return HTML(replace(suggestions, normalization=()).page(redact=self.redact).html)

    def normalization(self, rows: Sequence[Normalization]) -> HTML:
        """The normalization table."""
        return HTML(Page("normalizations", normalization_blocks(rows, is_open=True)).html)

    def forecast(self, found: Forecast) -> HTML:
        """What a reward selects for at the ends of both views, with its notes and limits."""
        return HTML(found._repr_html_())

    def completions(self, frame: pd.DataFrame, caption: str) -> HTML:
        """Completions to read, each with its figures above it; texts are left out where they are redacted."""
        items = []
        for row in frame.to_dict("records"):
            text = self.text(row.pop("completion"))
            told = ", ".join(
                f"{_told(str(name))} {self.text(value) if name in TEXTS else _figure(value)}"
                for name, value in row.items()
                if not pd.isna(value)  # of a route the components of the other parts
            )
            body = markup.quoted(markup.marked(text, {}, limit=READ))
            items.append(f"<li>{markup.escaped(told)}{body}</li>")
        return _html(f"<ol>{''.join(items)}</ol>", caption)


TEXTS = ("completion", "prompt", "ground_truth")
"""Columns that are left out where texts are redacted."""
READ, MISSED = 1000, 400  # characters of a completion that is shown to be read, and of one in a table


def _told_by(tile: Tile) -> str:
    return f"{tile.question}: {tile.figure}, {tile.said}"


def _told(column: str) -> str:
    """The name of a column as words; that of a component as it is."""
    return column.removeprefix("score/") if column.startswith("score/") else column.replace("_", " ")


def _html(body: str, caption: str) -> HTML:
    return HTML(markup.card(caption[:1].upper() + caption[1:], body))


def _different(found: Sequence[Any], values: Mapping[str, Sequence[Any]]) -> float:
    first = next(iter(values.values()))
    return float(np.mean([a != b for a, b in zip(found, first, strict=True)])) if found else 0.0


def _figure(value: Any) -> str:
    if isinstance(value, float):
        return "-" if pd.isna(value) else "0" if abs(value) < 1e-9 else f"{value:.3g}"
    return str(value)


def _redacted_explanation(explanation: Explanation) -> str:
    rows = [
        (
            line.component,
            line.status,
            _figure(line.score),
            f"{line.weight:g}",
            line.gate,
            redacted_reason(line.reason) if line.reason else line.why,
        )
        for line in explanation.lines
    ]
    return markup.table(
        ("component", "status", "score", "weight", "gate", "why"), rows, numeric=("score", "weight")
    )
