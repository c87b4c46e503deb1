"""Pages of records: a title and blocks, rendered as HTML, Markdown and plain text.

README.md explains how a record gets its page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.findings import SEVERITY_MARKS, Example, Finding
from rewardkit.html.blocks import (
    Action,
    Block,
    Facts,
    Piece,
    Quote,
    join_html,
    join_lines,
    join_markdown,
    make_pieces,
)
from rewardkit.html.excerpts import (
    Span,
    Text,
    UserText,
    escape_markdown,
    one_line,
    prefix_lines,
    user_texts_are_hidden,
    wrap_line,
)
from rewardkit.html.has_page import HasPage as HasPage
from rewardkit.html.markup import card, folded, html_of, part
from rewardkit.reasons import HIDDEN, Reason

UNDER_MARK = 7 * " "  # indent below the headline of a finding


@dataclass(frozen=True)
class More(Piece):
    """Blocks under a caption: folded in HTML, left out of a short text.

    Without a caption, HTML shows them unfolded.
    """

    caption: str
    blocks: Sequence[Block]
    is_open: bool = False

    def lines(self, verbose: bool) -> list[str]:
        if not verbose or not self.blocks:
            return []
        lines = join_lines(self.blocks, verbose)
        if not self.caption:
            return lines
        return [f"{self.caption}:", *prefix_lines("  ", lines)]

    @property
    def html(self) -> str:
        body = join_html(self.blocks)
        if not self.caption or not body:
            return body
        return folded(self.caption, body, is_open=self.is_open)

    @property
    def markdown(self) -> str:
        body = join_markdown(self.blocks)
        if not self.caption or not body:
            return body
        return f"**{escape_markdown(self.caption)}**\n\n{body}"


@dataclass(frozen=True, repr=False)
class Page(HasPage, Piece):
    """The page of a record: the verdict as `title`, a `summary` after it, and blocks.

    `foot` is the last line of a short text only, and says how to get the full text.
    """

    title: Text
    blocks: Sequence[Block] = ()
    summary: Text = ""
    foot: str = ""

    def page(self) -> Page:
        return self

    def lines(self, verbose: bool) -> list[str]:
        head = str(self.title)
        if str(self.summary):
            head += f": {self.summary}"
        blocks = list(self.blocks)
        if self.foot and not verbose:
            blocks.append(self.foot)
        return [*wrap_line(head), *prefix_lines("  ", join_lines(blocks, verbose))]

    @property
    def html(self) -> str:
        """Return it as escaped HTML with its style sheet."""
        return card(str(self.title), self.body, summary=str(self.summary))

    @property
    def inner_html(self) -> str:
        body = html_of(self.body)
        return part("parts", "inner", str(self.title), str(self.summary), body)

    @property
    def body(self) -> str:
        """Return the blocks below its title as escaped HTML."""
        return join_html(self.blocks)

    @property
    def markdown(self) -> str:
        head = f"**{escape_markdown(self.title)}**"
        if str(self.summary):
            head += f": {escape_markdown(self.summary)}"
        return f"{head}\n\n{join_markdown(self.blocks)}"


# --- findings on a page


@dataclass(frozen=True)
class Point(Piece):
    """A finding on a page: its code, sentence, reason, advice and examples.

    The first example is shown, the others are folded together with the `details`.
    `actions` are buttons.
    """

    severity: str
    code: str
    sentence: Text
    reason: Text = ""
    advice: Text = ""
    examples: Sequence[Quote] = ()
    details: Sequence[Block] = ()
    actions: Sequence[Action] = ()

    @property
    def mark(self) -> str:
        """The mark of its severity: a shape and a word."""
        return SEVERITY_MARKS[self.severity]

    def freeze(self) -> Point:
        """Return a copy with plain texts; users' texts are left out if hidden."""
        examples = []
        for quote in self.examples:
            text = None if user_texts_are_hidden() else quote.text
            examples.append(replace(quote, about=str(quote.about), text=text))
        texts = (str(self.sentence), str(self.reason), str(self.advice))
        return Point(self.severity, self.code, *texts, examples)

    def lines(self, verbose: bool) -> list[str]:
        """Return its lines for a terminal; further examples only if `verbose`."""
        head = f"{self.mark} {self.code}: {self.sentence}"
        if str(self.reason):
            head += f" {self.reason}"
        blocks: list[Block] = [*self.examples[:1]]
        if verbose:
            blocks = [*self.examples, *self.details]
        below = join_lines(blocks, verbose)
        if str(self.advice):
            below += wrap_line(f"fix: {self.advice}")
        lines = wrap_line(head, indent=UNDER_MARK)
        return [*lines, *prefix_lines(UNDER_MARK, below)]

    @property
    def html(self) -> str:
        texts = replace(self, reason=str(self.reason), advice=str(self.advice))
        first = html_of(join_html(self.examples[:1]))
        others = html_of(join_html([*self.examples[1:], *self.details]))
        return part("parts", "point", texts, first, others)

    @property
    def markdown(self) -> str:
        head = f"**{self.mark}** `{self.code}`: {escape_markdown(self.sentence)}"
        if str(self.reason):
            head += f" {escape_markdown(self.reason)}"
        paragraphs = [head, *(example.markdown for example in self.examples)]
        if str(self.advice):
            paragraphs.append(f"**Fix:** {escape_markdown(self.advice)}")
        paragraphs += [piece.markdown for piece in make_pieces(self.details)]
        return "\n\n".join(paragraphs)


def explain_columns(meanings: Mapping[str, str]) -> More:
    """Return folded explanations of a table's columns, to show below it."""
    return More("What its columns say", [Facts([*meanings.items()])])


def point_of(
    finding: Finding,
    *,
    reason: Text = "",
    examples: Sequence[Quote] = (),
    details: Sequence[Block] = (),
    actions: Sequence[Action] = (),
) -> Point:
    """Return a finding in the form that all pages share."""
    without_quotes = redact_finding(finding).statement
    return Point(
        finding.severity,
        finding.code,
        UserText(finding.statement, instead=without_quotes),
        reason,
        finding.advice,
        examples,
        details,
        actions,
    )


def accepted_findings(findings: Iterable[Finding]) -> More:
    """Return accepted findings with their reasons, folded."""
    lines: list[Block] = []
    for finding in findings:
        if finding.accepted:
            statement = redact_finding(finding).statement
            text = f"{finding.code}: {{}} Accepted: {one_line(finding.accepted)}"
            lines.append(
                UserText(text.format(finding.statement), text.format(statement))
            )
    return More("Accepted", lines)


def redact_finding(finding: Finding) -> Finding:
    """Return a finding without quotes of completions, truths or error messages."""
    evidence: dict[str, Any] = {}
    for name, value in finding.evidence.items():
        if name == "truths" or (name == "says" and finding.code == "exploit"):
            value = HIDDEN
        elif name in ("words", "pays") and "`" in str(value):  # quotes of completions
            value = HIDDEN if name == "words" else [HIDDEN]
        elif isinstance(value, Reason):
            value = value.redacted()
        evidence[name] = value
    examples = tuple(map(redact_example, finding.examples))
    return replace(finding, evidence=evidence, examples=examples)


def redact_example(example: Example) -> Example:
    """Return an example without its columns, and without quotes in its reason."""
    if example.reason is None:
        return replace(example, columns={})
    reason = example.reason.redacted()
    return replace(example, columns={}, reason=reason, outcome=str(reason))


def quote_of(
    example: Example,
    about: Text,
    spans: Mapping[str, Sequence[Span]],
    *,
    longest: int,
) -> Quote:
    """Return the completion of an example, below the line `about` it."""
    values = []
    if not example.outcome and not math.isnan(example.reward):
        values.append(("this", example.reward))
        if not math.isnan(example.right):
            best, least = example.ends
            values += [(best, example.right), (least, example.wrong)]
    text = example.completion if "completion" in example.columns else None
    return Quote(about, text, spans, longest, values)
