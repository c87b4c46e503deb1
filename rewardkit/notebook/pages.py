"""Report pages: self-contained HTML from executed notebooks and summaries, and the summary as Markdown."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from nbconvert import HTMLExporter
from nbconvert.filters import strip_ansi
from nbformat.v4 import new_output

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.findings import SEVERITY_MARKS, counted, percent
from rewardkit.html import cards, markup
from rewardkit.notebook import plots
from rewardkit.notebook.display import Show
from rewardkit.notebook.probed import Checked
from rewardkit.rewards.recorded import is_recorded
from rewardkit.scoring.cases import CheckResult

__all__ = ["Page", "Summary", "index_page", "notebook_body", "page", "summary_markdown"]

WIDGET = "application/vnd.jupyter.widget-view+json"
AGREES = "Log: wherever the log has a score to compare with, this reward gives the same."
SHOWN_FINDINGS = 8
STREAM_LINES = 10  # of what one cell printed: a reward that prints tells it of every row
LONGEST_STREAM = 3000  # characters of these lines
STYLE = """
:root { color-scheme: light; } * { box-sizing: border-box; } body { margin: 0 auto; max-width: 76rem;
padding: 1rem; font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #1a1a1a; background: #fff;
overflow-wrap: break-word; } h1 { font-size: 1.6rem; line-height: 1.25; } h2 { font-size: 1.25rem;
margin-top: 2rem; } h3 { font-size: 1.05rem; } a { color: #00558c; } nav { margin-bottom: 1rem; } nav a {
margin-right: 1rem; } pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; background:
#f6f6f4; padding: .6rem; border-radius: 4px; font-size: .85rem; } code { font-size: .9em; overflow-wrap:
anywhere; } table { border-collapse: collapse; font-size: .85rem; } th, td { border-bottom: 1px solid #ddd;
vertical-align: top; } th { background: #f6f6f4; } img { max-width: 100%; height: auto; } figure { margin:
.5rem 0; } details.code { margin: .2rem 0; } details.code > summary { color: #666; font-size: .75rem;
cursor: pointer; } .card { border: 1px solid #ccc; border-radius: 6px; padding: .2rem 1rem 1rem; margin:
1rem 0; } .verdict { font-weight: 700; } .verdict.stop { color: #a33c00; } .verdict.care { color: #7a5500; }
.verdict.go { color: #006b4f; } .failed { color: #a33c00; font-weight: 700; } .muted { color: #555;
font-size: .9rem; } .jp-OutputArea-output, .output { overflow-x: auto; } ol > li { margin-bottom: .8rem; }
.anchor-link { display: none; }
.pictures { display: flex; flex-wrap: wrap; gap: .5rem; }
.pictures img { flex: 1 1 20rem; min-width: 0; max-width: 36rem; }
.rewardkit table { margin-bottom: .6rem; } .rewardkit pre { margin: .3rem 0; }
@media (max-width: 40rem) { figure:not(.pictures) { overflow-x: auto; }
figure:not(.pictures) img { max-width: 40rem; } }
"""


@dataclass(frozen=True)
class Page:
    """One executed notebook of a report: its title, file and body; `error` where it failed."""

    title: str
    file: str
    body: str
    error: str | None = None


@dataclass(frozen=True)
class Summary:
    """What a report says of one reward on its first page."""

    name: str
    diagnosis: Diagnosis
    checked: CheckResult | None
    pages: tuple[Page, ...]
    probed: Checked | None = None

    @property
    def verdict(self) -> tuple[str, str]:
        """("stop", "care" or "go", sentence)."""
        reasons = [f"the page '{item.title}' failed" for item in self.pages if item.error]
        if self.checked is not None and self.checked.failed:
            reasons.append(f"{self.checked.failed} of {len(self.checked.cases)} cases are missed")
        counts = {
            severity: sum(item.severity == severity for item in self.diagnosis.findings)
            for severity in ("high", "warn")
        }
        if self.probed is not None and self.probed.high:
            reasons.append(self.probed.high)
        if counts["high"]:
            reasons.append(f"{counts['high']} finding{'s' * (counts['high'] > 1)} of high severity")
        if reasons:
            return "stop", f"Not ready: {', and '.join(reasons)}."
        unchecked = "" if self.checked is not None else f" {self._unchecked}"
        warned = [self.probed.warn] if self.probed is not None and self.probed.warn else []
        if not any((view.stats.count > 1).any() for view in self.diagnosis.views):
            return "care", "Too little to judge: no group has two completions to compare." + unchecked
        if counts["warn"]:
            warned.append(f"{counts['warn']} warning{'s' * (counts['warn'] > 1)}")
        if warned:
            return "care", f"Read before use: {', and '.join(warned)}." + unchecked
        if few := self.diagnosis["not_enough"]:
            return "care", f"Too little to judge: {few[0].evidence['reason']}." + unchecked
        if self.probed is not None and self.probed.inconclusive:
            return "care", f"Not probed: {self.probed.inconclusive}." + unchecked
        return "go", "No objection found." + unchecked

    @property
    def _unchecked(self) -> str:
        if self.recorded:
            return "These are the scores in the log, so nothing says that they are right."
        if self.probed is not None and not self.probed.inconclusive:
            return "No cases were given, so only the probes speak for it."
        return "No cases were given, so nothing says that it is right."

    @property
    def recorded(self) -> bool:
        """Whether the reward is what stands in the log."""
        return is_recorded(self.diagnosis.scores.reward)

    @property
    def agrees(self) -> bool:
        """Whether the log has scores, the reward was computed anew, and no score differs."""
        against = any(item.code in ("log_mismatch", "log_not_compared") for item in self.diagnosis.findings)
        return bool(self.diagnosis.scores.rollouts.logged) and not self.recorded and not against


def page(title: str, body: str, *, root: str = "") -> str:
    """A whole HTML page around a body; `root` is the relative path to the index, "" on the index itself."""
    back = f'<nav><a href="{root}index.html">All results</a></nav>' if root else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{html.escape(title)}</title><style>{STYLE}{markup.STACKED}</style></head><body>{back}{body}</body></html>\n"
    )


def notebook_body(notebook: Any, *, redact: bool) -> tuple[str, str | None]:
    """The body of an executed notebook's page, and its error where a cell failed.

    Widgets are left to the live notebook.
    """
    error = None
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        kept = [] if redact else _streams(outputs)  # what the reward's own code prints may quote a completion
        for output in outputs:
            if output.output_type == "stream":
                continue
            if output.get("data", {}).pop(WIDGET, None) is not None and "text/html" not in output.data:
                continue  # nothing stands in its place
            if output.output_type == "error":
                error = f"{output.ename}: {output.evalue}" if not redact else output.ename
                if redact:
                    output.evalue, output.traceback = "[redacted]", [f"{output.ename}: [redacted]"]
            kept.append(output)
        if cell.cell_type == "code":
            cell.outputs = kept
    notebook.cells = [
        cell for cell in notebook.cells if "papermill-error-cell-tag" not in cell.metadata.get("tags", [])
    ]
    exporter = HTMLExporter(
        extra_template_basedirs=[str(Path(__file__).parent / "templates")], template_name="rewardkit"
    )
    body, _ = exporter.from_notebook_node(notebook)
    body = re.sub(r"<script\b.*?</script>", "", body, flags=re.DOTALL | re.IGNORECASE)
    return body, error


def _streams(outputs: Sequence[Any]) -> list[Any]:
    """What a cell printed: one output a stream, however many pieces it came in, and short."""
    printed: dict[str, str] = {}
    for output in outputs:
        if output.output_type == "stream":
            printed[output.name] = printed.get(output.name, "") + output.text
    return [new_output("stream", name=name, text=shown(text)) for name, text in printed.items()]


def shown(text: str) -> str:
    r"""The first lines of what a cell printed, without control characters, and how much more there was.

    Of a line that was written over, such as a progress bar's, the last state counts.

    >>> print(shown("row\n" * 1600).splitlines()[-1])
    [1,590 more lines are left out of this page]
    """
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    first = "\n".join(_clean(line.rstrip("\r").rpartition("\r")[2]) for line in lines[:STREAM_LINES])
    left = {"characters": len(first) - LONGEST_STREAM, "lines": len(lines) - STREAM_LINES}
    more = " and ".join(f"{count:,} more {what}" for what, count in left.items() if count > 0)
    return first[:LONGEST_STREAM] + (f"\n[{more} are left out of this page]" if more else "") + "\n"


def _clean(line: str) -> str:
    return "".join(character for character in strip_ansi(line) if character == "\t" or character >= " ")


def index_page(summaries: Sequence[Summary], *, redact: bool, inline: bool = False) -> str:
    """The first page: a card a reward with verdict, cases, main findings, picture and links.

    With `inline` the pages themselves follow in the same file.
    """
    scores = summaries[0].diagnosis.scores
    cards = "".join(_card(summary, redact=redact, inline=inline) for summary in summaries)
    body = f"<h1>Reward report</h1>{_about(summaries, redact=redact)}{cards}"
    if inline:
        for summary in summaries:
            for item in summary.pages:
                head = f'<p class="muted">{html.escape(summary.name)}</p>{_failure(item)}'
                body += f'<hr><section id="{_anchor(item.file)}">{head}{_unique(item)}</section>'
    return page(f"Reward report: {scores.reward.name}", body)


def _about(summaries: Sequence[Summary], *, redact: bool) -> str:
    """What the report is of: the rollouts, and how rewards that were trainers' functions were read."""
    summary = summaries[0]
    origins = [item.diagnosis.scores.reward.origin for item in summaries]
    rollouts = summary.diagnosis.scores.rollouts
    about, label = rollouts.summary(), summary.diagnosis.views[0].context.label_name
    rows = [
        *cards.facts(about),
        *(("Reward", origin.replace("; ", ";\n")) for origin in origins if origin and not redact),
        ("Advantages", f"{summary.diagnosis.training}, which all figures are for"),
        *([("Label", f"{label}, trusted to say which completions are good")] if label else []),
    ]
    return markup.table(("", ""), rows)


def _card(summary: Summary, *, redact: bool, inline: bool) -> str:
    kind, sentence = summary.verdict
    diagnosis, show = summary.diagnosis, Show(redact=redact)
    shown = diagnosis.findings[:SHOWN_FINDINGS]
    findings = "".join(
        f"<li>{SEVERITY_MARKS[item.severity]}: <b>{item.code}</b>. {markup.escaped(show.sentence(item))}</li>"
        for item in shown
    )
    more = len(diagnosis.findings) - len(shown)
    rest = f"<p class='muted'>and {more} more, on the last page</p>" if more > 0 else ""
    cases = _cases(summary.checked) if summary.checked is not None else ""
    probes = _probes(summary.probed) if summary.probed is not None else ""
    log = f"<p>{AGREES}</p>" if summary.agrees else ""
    links = ""
    for item in summary.pages:
        target = f"#{_anchor(item.file)}" if inline else item.file
        links += f'<li><a href="{target}">{html.escape(item.title)}</a>{_flag(item)}</li>'
    return (
        f'<section class="card"><h2>{markup.escaped(summary.name)}</h2>'
        f'<p class="verdict {kind}">{markup.escaped(sentence)}</p>{cases}{log}'
        f"{probes}<h3>Findings</h3><ul>{findings or '<li>nothing found</li>'}</ul>{rest}{_picture(diagnosis)}"
        f"<h3>Pages</h3><ul>{links}</ul></section>"
    )


def _cases(checked: CheckResult) -> str:
    names = list(dict.fromkeys(miss.case for miss in checked.misses))
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    missed = f"<p>Missed: {markup.escaped('; '.join(names[:5]))}{more}.</p>" if names else ""
    return f"<p>Cases: {checked.passed} of {len(checked.cases)} passed.</p>{missed}"


def _probes(probed: Checked) -> str:
    """What a policy would find, and how strong the case file is."""
    alarms = "".join(
        f"<li>{SEVERITY_MARKS[item['severity']]}: <b>{markup.escaped(item['code'])}</b>. "
        f"{markup.escaped(item['sentence'])}</li>"
        for item in probed.alarms[:SHOWN_FINDINGS]
    )
    more = len(probed.alarms) - SHOWN_FINDINGS
    rest = f"<p class='muted'>and {more} more, on the page of checks</p>" if more > 0 else ""
    mutants = f"<p>{markup.escaped(probed.mutants)}</p>" if probed.mutants else ""
    return (
        f"<h3>Probes</h3><p>{markup.escaped(_sentence(probed.line))}</p>"
        f"{f'<ul>{alarms}</ul>' if alarms else ''}{rest}{mutants}"
    )


def _sentence(text: str) -> str:
    """Words as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def _flag(item: Page) -> str:
    return ' <span class="failed">(failed)</span>' if item.error else ""


def _failure(item: Page) -> str:
    return (
        f'<p class="failed">This page stopped with an error: {markup.escaped(item.error)}</p>'
        if item.error
        else ""
    )


def _picture(diagnosis: Diagnosis) -> str:
    """Distribution of the reward and the groups of the first part, beside each other where there is room."""
    images = ""
    for alt in ("Histogram of the reward", "Groups sorted by mean reward"):
        figure, ax = plt.subplots(figsize=(5.6, 3.3), layout="constrained")
        try:
            if alt.startswith("Histogram"):
                plots.reward_histogram(diagnosis.scores, ax=ax)
            else:
                plots.group_picture(diagnosis.views[0], ax=ax)
            buffer = io.BytesIO()
            figure.savefig(buffer, format="png", dpi=120)
        finally:
            plt.close(figure)
        images += (
            f'<img src="data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}" alt="{alt}">'
        )
    return f'<figure class="pictures">{images}</figure>'


def _anchor(file: str) -> str:
    return re.sub(r"\W+", "-", file.removesuffix(".html"))


def _unique(item: Page) -> str:
    """The body with ids of its own, so that several stand in one file."""
    return re.sub(
        r'\b(id|href)="(#?)',
        rf'\1="\2{_anchor(item.file)}-',
        re.sub(r'\bhref="(?!#)', 'data-keep="', item.body),
    ).replace('data-keep="', 'href="')


def notebook_page(item: Page, summary_name: str) -> str:
    """The page of one notebook."""
    root = "../" * item.file.count("/")
    return page(
        f"{item.title}: {summary_name}",
        f'<p class="muted">{html.escape(summary_name)}</p>{_failure(item)}{item.body}',
        root=root or "./",
    )


def summary_markdown(summaries: Sequence[Summary], *, redact: bool) -> str:
    """The report in a few lines of Markdown, as they fit a pull request."""
    show = Show(redact=redact)
    lines = ["## Reward report", ""]
    about = summaries[0].diagnosis.scores.rollouts.summary()
    lines += [
        f"{counted(about['rows'], 'rollout')} in {counted(about['groups'], 'group')}, advantages as of "
        f"{_plain(str(summaries[0].diagnosis.training))}.",
        "",
    ]
    lines += [f"- note: {_plain(sentence)}" for sentence in about["warnings"]] + [""] * bool(
        about["warnings"]
    )
    for summary in summaries:
        diagnosis = summary.diagnosis
        lines += [f"### {_plain(summary.name)}", "", f"**{_plain(summary.verdict[1])}**", ""]
        if summary.checked is not None:
            lines.append(f"- cases: {summary.checked.passed} of {len(summary.checked.cases)} passed")
        lines += _probed_lines(summary.probed) if summary.probed is not None else []
        if summary.agrees:
            lines.append(f"- {AGREES}")
        for view in diagnosis.views:
            dead, several = int(view.dead.sum()), int((view.dead | view.live).sum())
            if several:
                where = f"{view.part}: " if view.part else ""
                of = counted(several, "group")
                lines.append(f"- {where}{percent(dead / several)} of {of} without a signal")
        lines += [
            f"- {item.severity}: `{item.code}` {_plain(show.sentence(item))}"
            for item in diagnosis.findings
            if item.severity != "info"
        ]
        lines += [
            f"- page failed: {item.title} ({_plain(item.error)})" for item in summary.pages if item.error
        ]
        lines.append("")
    return "\n".join(lines)


def _probed_lines(probed: Checked) -> list[str]:
    """What probing came to, in Markdown."""
    return [
        f"- probes: {_plain(probed.line)}",
        *(f"- {item['severity']}: `{item['code']}` {_plain(item['sentence'])}" for item in probed.alarms),
        *([f"- {_plain(probed.mutants)}"] if probed.mutants else []),
    ]


def _plain(text: str) -> str:
    """One line of text that Markdown does not take for markup."""
    return re.sub(r"([\\`*_<>\[\]|])", r"\\\1", " ".join(text.split()))
