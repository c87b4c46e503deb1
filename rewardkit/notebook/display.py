"""What notebooks show of rollouts, cases and findings.

Escaped HTML, with prompts and completions left out on request.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import HTML
from matplotlib_inline.backend_inline import set_matplotlib_formats
from pandas.api.types import is_number

from rewardkit.analysis.suggestions.normalization import Normalization
from rewardkit.analysis.suggestions.suggestion import Suggestions, normalization_blocks
from rewardkit.findings import SEVERITY_MARKS, Finding, counted
from rewardkit.html import cards, markup
from rewardkit.html.excerpts import hidden_user_texts
from rewardkit.html.markup import escaped
from rewardkit.html.pages import HasPage, Page, redact_finding
from rewardkit.judges.report import JudgeReport
from rewardkit.mutation.results import MutantResult
from rewardkit.notebook.tiles import BROKEN, Tile, probe_tiles
from rewardkit.primitives.extract import Extractor
from rewardkit.probes.probe import ProbeResult
from rewardkit.probes.results import rendering
from rewardkit.probes.results.summary import kind_of_alarm
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.table import Rollouts
from rewardkit.scoring.cases import CheckResult
from rewardkit.scoring.explain import spans_of
from rewardkit.scoring.scores import Scores


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
        return HTML(markup.paragraphs(*lines))

    def about(self, rollouts: Rollouts) -> HTML:
        """How rollouts were read and grouped, without any text of theirs."""
        columns = list(map(str, rollouts.table.columns))
        return HTML(cards.rollouts_page(rollouts.summary(), columns, []).html)

    def reward(self, reward: Reward) -> HTML:
        """A reward as it is declared, with the parts of a route."""
        return self._record(reward)

    def scores(self, scores: Scores) -> HTML:
        """How the reward and each component are spread."""
        return self._record(scores)

    def extraction(
        self,
        rollouts: Rollouts,
        extractors: Mapping[str, Extractor],
        *,
        limit: int = 6,
        note: str = "",
    ) -> HTML:
        """How often each extractor finds something, then the completions on which they disagree most.

        In these their spans are marked; an extractor that finds nothing anywhere is left out of them. `note`
        is a sentence between.
        """
        texts = rollouts.table["completion"].tolist()
        marks = {
            name: [spans_of(one, text) for text in texts]
            for name, one in extractors.items()
        }
        values = {
            name: [
                text[slice(*spans[0])] if spans else None
                for text, spans in zip(texts, some, strict=True)
            ]
            for name, some in marks.items()
        }
        finders = [
            name
            for name, found in values.items()
            if any(value is not None for value in found)
        ]
        variety = [
            len({values[name][row] for name in finders}) for row in range(len(texts))
        ]
        chosen: dict[str, int] = {}
        for row in sorted(range(len(texts)), key=lambda row: -variety[row]):
            chosen.setdefault(texts[row], row)
        blocks = []
        for text, row in [] if self.redact else list(chosen.items())[:limit]:
            marked = markup.marked(text, {name: marks[name][row] for name in finders})
            found = ", ".join(f"{name} = {values[name][row]!r}" for name in finders)
            blocks.append(f"{marked}<small>{escaped(found)}</small>")
        first, shares = next(iter(values.values())), []
        for name, own in values.items():
            finds = [value is not None for value in own]
            differs = [a != b for a, b in zip(own, first, strict=True)]
            told = (f"{sum(some) / max(len(some), 1):.1%}" for some in (finds, differs))
            shares.append((name, repr(extractors[name]), *told))
        header = ("name", "extractor", "finds something", "differs from the first")
        table = markup.table(header, shares, numeric=header[2:]) + markup.paragraphs(
            note
        )
        caption = "extractions, where they differ most" if blocks else "extractions"
        return _html(table + markup.listed(blocks, numbered=True), caption)

    def judges(self, reports: Mapping[str, JudgeReport | None]) -> HTML:
        """How each component that asks a model agrees with the cases; which have no case that tells it."""
        if not reports:
            return self.note("No component of this reward asks a model.")
        bodies = []
        for name, report in reports.items():
            if report is None:
                why = "no case expects a score of it, so nothing says that it agrees with people."
                bodies.append(markup.paragraphs(f"{name}: {why}"))
                continue
            bodies.append(self._record(report).data)
        return HTML("".join(bodies))

    def misses(self, result: CheckResult | None) -> HTML:
        """The outcome of a check: every miss with what was expected, what came and why it matters.

        ``None``: there are no cases.
        """
        if result is None:
            line = '{"completion": "...", "ground_truth": "...", "reward": 1.0, "why": "..."}'
            body = (
                f"<p>Each is one line of a JSONL file: <code>{escaped(line)}</code></p>"
            )
            return _html(
                body,
                "no cases were given: write down what the reward must give, and why",
            )
        return self._record(result)

    def contract(self, result: ProbeResult) -> HTML:
        """What of the contract is broken, with examples and what to do."""
        return self._probed(result, probe_tiles(result)[1], broken=True)

    def probes(self, result: ProbeResult) -> HTML:
        """What is paid or lost wrongly, with examples and what to do, and what could not be decided."""
        rest = rendering.rest_page(result, texts=not self.redact)
        return self._probed(result, probe_tiles(result)[0], broken=False, rest=rest)

    def _probed(
        self, result: ProbeResult, tile: Tile, *, broken: bool, rest: str = ""
    ) -> HTML:
        found = [
            self._finding(one)
            for one in result.findings
            if (kind_of_alarm(one) == BROKEN) == broken
        ]
        page = rendering.findings_page(result, found, texts=not self.redact)
        return _html(page + rest, f"{tile.question}: {tile.figure}, {tile.said}")

    def _record(self, record: HasPage) -> HTML:
        with hidden_user_texts(self.redact):
            return HTML(record.page().html)

    def _finding(self, finding: Finding) -> Finding:
        return redact_finding(finding) if self.redact else finding

    def mutants(self, found: MutantResult | None) -> HTML:
        """The changes of the reward that no case notices, and the cases that would; ``None``: no cases."""
        if found is None:
            return _html("", "no mutants: there are no cases that could catch them")
        with hidden_user_texts(self.redact):
            return HTML(found.page().html)

    def findings(self, findings: Sequence[Finding]) -> HTML:
        """Findings, most severe first, with rollouts to read."""
        if not findings:
            return _html("", "nothing found")
        rows = [
            (
                SEVERITY_MARKS[one.severity],
                one.code,
                one.sentence,
                ", ".join(map(str, one.rollout_ids)),
            )
            for one in map(self._finding, findings)
        ]
        header = ("severity", "code", "what it means", "rollouts to read")
        return _html(
            markup.table(header, rows, stacked=True), counted(len(findings), "finding")
        )

    def frame(
        self, frame: pd.DataFrame, caption: str, *, names: Sequence[str] = ()
    ) -> HTML:
        """A table of figures.

        Names of columns are shown as words, but for `names`, such as a component's, that they may end with.
        """
        if frame.empty:
            return _html("", f"{caption}: none")
        header, numeric = [], []
        for column in map(str, frame.columns):
            own = next((name for name in names if column.endswith(name)), "")
            header.append(column.removesuffix(own).replace("_", " ") + own)
            numeric += [header[-1]] if frame[column].map(is_number).all() else []
        rows = [
            [_figure(value) for value in row] for row in frame.itertuples(index=False)
        ]
        return _html(markup.table(header, rows, numeric=numeric), caption)

    def suggestions(self, suggestions: Suggestions) -> HTML:
        """The changes of the reward: code, effects with intervals, examples to read; then the notes."""
        return self._record(replace(suggestions, normalization=()))

    def normalization(self, rows: Sequence[Normalization]) -> HTML:
        """The normalization table."""
        return HTML(
            Page("normalizations", normalization_blocks(rows, is_open=True)).html
        )

    def completions(self, frame: pd.DataFrame, caption: str) -> HTML:
        """Completions to read, each with its figures above it; texts are left out where they are redacted."""
        items = []
        for row in frame.to_dict("records"):
            body = markup.quoted(
                markup.marked(self.text(row.pop("completion")), {}, limit=READ)
            )
            told = []
            for name, value in row.items():
                own = str(name).removeprefix(
                    "score/"
                )  # the name of a component as it is
                words = own if own != name else str(name).replace("_", " ")
                # a route has no score for the components of its other parts
                if value is not None and not (
                    isinstance(value, float) and math.isnan(value)
                ):
                    told.append(
                        f"{words} {self.text(value) if name in TEXTS else _figure(value)}"
                    )
            items.append(f"{escaped(', '.join(told))}{body}")
        return _html(markup.listed(items, numbered=True), caption)


TEXTS = ("completion", "prompt", "ground_truth")
"""Columns that are left out where texts are redacted."""
READ = 1000  # characters of a completion that is shown to be read


def _html(body: str, caption: str) -> HTML:
    return HTML(markup.card(caption, body))


def _figure(value: Any) -> str:
    if isinstance(value, float):
        return (
            "-" if math.isnan(value) else "0" if abs(value) < 1e-9 else f"{value:.3g}"
        )
    return str(value)
