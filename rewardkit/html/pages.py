"""A page: what a record says of itself, rendered as HTML, Markdown and plain text.

A page is a title and blocks. It knows which of its texts users wrote: they are
`UserText`, and every `Quote` is one. `excerpts.hide_user_texts()` hides them all, in
each rendering, when it is rendered.

How a record gets its page stands in README.md.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby
from typing import Any

from rewardkit.findings import SEVERITY_MARKS, Example, Finding
from rewardkit.html.excerpts import (
    LINE,
    LONGEST_EXCERPT,
    Excerpt,
    Span,
    UserText,
    make_excerpt,
    one_line,
    user_texts_are_hidden,
)
from rewardkit.html.markup import (
    aligned,
    card,
    code,
    drop_empty_columns,
    escaped,
    folded,
    html_of,
    listed,
    marked,
    number,
    paragraphs,
    part,
    table,
)
from rewardkit.reasons import HIDDEN, Reason

MOST_ROWS = 24  # rows of a table; the others are counted
LONGEST_CELL = 200  # characters of a cell in HTML and Markdown
LONGEST_TEXT_CELL = 60  # characters of a cell in a terminal
LONGEST_IN_LINE = 70  # characters of a completion in a short text
LONGEST_LINE = 800
"""Characters of a line or a sentence, which may quote what a user's function said."""
INDENT = 4 * " "  # before the further lines of a wrapped line
UNDER_MARK = 7 * " "  # before what stands below the headline of a finding

Text = str | UserText


@dataclass(frozen=True)
class Code:
    """A line of code, whole, so that it can be copied."""

    line: Text

    def lines(self, verbose: bool) -> list[str]:
        """Return it for a terminal."""
        return f"  {self.line}".splitlines()

    @property
    def html(self) -> str:
        """Return it as escaped HTML."""
        return code(str(self.line))

    @property
    def markdown(self) -> str:
        """Return it as Markdown."""
        return _fence(str(self.line))


@dataclass(frozen=True)
class Table:
    """Rows under a caption; the columns named in `numeric` are set flush right.

    A table that is not open is folded in HTML and left out of a short text. Columns
    that are "" in every row are left out, rows beyond `most` are counted, cells are cut
    at `limit` characters. A `stacked` one has a line a cell on a narrow page.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    numeric: Sequence[str] = ()
    is_open: bool = False
    most: int = MOST_ROWS
    limit: int = LONGEST_CELL
    stacked: bool = False

    def lines(self, verbose: bool) -> list[str]:
        """Return it for a terminal, a sentence a row where it is wider than a line."""
        if not self.rows or not (self.is_open or verbose):
            return []
        header, rows = self._columns
        cells = [_row_of_text(row) for row in rows[: self.most]]
        lines = aligned([_row_of_text(header), *cells])
        if max(map(len, lines)) > LINE.get() - len(INDENT):
            lines = [_row_as_sentence(header, row) for row in cells]
        lines += self._left_out()
        if not self.caption:
            return [f"  {line}" for line in lines]
        return [f"{self.caption}:", *(f"  {line}" for line in lines)]

    @property
    def html(self) -> str:
        """Return it as escaped HTML; "" without rows."""
        if not self.rows:
            return ""
        body = table(
            *self._columns,
            numeric=self.numeric,
            stacked=self.stacked,
            most=self.most,
            limit=self.limit,
        )
        if not self.is_open:
            return folded(self.caption, body)
        return paragraphs(self.caption and f"{self.caption}:") + body

    @property
    def markdown(self) -> str:
        """Return it as Markdown; "" without rows."""
        if not self.rows:
            return ""
        header, rows = self._columns
        lines = [_row_of_markdown(header, self.limit), "| --- " * len(header) + "|"]
        lines += [_row_of_markdown(row, self.limit) for row in rows[: self.most]]
        body = "\n".join([*lines, *(f"\n{line}" for line in self._left_out())])
        return f"{_md(self.caption)}:\n\n{body}" if self.caption else body

    @property
    def _columns(self) -> tuple[list[str], list[list[object]]]:
        return drop_empty_columns(self.header, self.rows)

    def _left_out(self) -> list[str]:
        left = len(self.rows) - self.most
        return [f"and {left:,} more"] if left > 0 else []


@dataclass(frozen=True)
class Facts:
    """Named values, a line each."""

    rows: Sequence[tuple[str, object]]

    def lines(self, verbose: bool) -> list[str]:
        """Return them for a terminal."""
        lines = []
        for name, value in self.rows:
            lines += _wrap(f"{name}: {value}")
        return lines

    @property
    def html(self) -> str:
        """Return them as escaped HTML; "" where there are none."""
        return table(("", ""), self.rows, limit=600) if self.rows else ""

    @property
    def markdown(self) -> str:
        """Return them as Markdown."""
        return "\n".join(f"- {_md(name)}: {_md(value)}" for name, value in self.rows)


@dataclass(frozen=True)
class Picture:
    """A picture as SVG; text and Markdown have none."""

    svg: str

    def lines(self, verbose: bool) -> list[str]:
        """Return no line."""
        return []

    @property
    def html(self) -> str:
        """Return the SVG."""
        return self.svg

    @property
    def markdown(self) -> str:
        """Return nothing."""
        return ""


@dataclass(frozen=True)
class Quote:
    """A completion with the fields marked in it, below a line on where it is from.

    It is a text of a user, so that a page with hidden texts has only the line. `values`
    are what it earned and what other answers earn there, drawn as bars where there is
    room.
    """

    about: Text
    text: str | None
    """``None``: there is nothing to quote."""
    spans: Mapping[str, Sequence[Span]] = field(default_factory=dict)
    longest: int = LONGEST_EXCERPT
    values: Sequence[tuple[str, float]] = ()

    def lines(self, verbose: bool) -> list[str]:
        """Return it for a terminal; a short text has one line of the completion."""
        lines = _wrap(self.heading) if self.heading else []
        excerpt = self._make_excerpt(self.longest if verbose else LONGEST_IN_LINE)
        if excerpt is None:
            return lines
        if not verbose:
            return [*lines, f"| {one_line(excerpt.text)}"]
        return [*lines, *(f"| {line}" for line in excerpt.bracketed().split("\n"))]

    @property
    def html(self) -> str:
        """Return it as escaped HTML."""
        excerpt = self._make_excerpt(self.longest)
        body = ""
        if excerpt is not None:
            longest = 2 * len(excerpt.text) + 1
            body = marked(excerpt.text, excerpt.spans, limit=longest)
        return part("parts", "quote", str(self.about), self._bars(), html_of(body))

    @property
    def markdown(self) -> str:
        """Return it as Markdown."""
        excerpt = self._make_excerpt(self.longest)
        pieces = [_md(self.heading)]
        if excerpt is not None:
            pieces.append(_fence(excerpt.bracketed()))
        return "\n\n".join(filter(None, pieces))

    @property
    def heading(self) -> str:
        """What it earned beside other answers, and where it is from, in one line."""
        if not self.values:
            return str(self.about)
        first, *others = [f"{value:.4g}" for _, value in self.values]
        earned = [f"earns {first}"]
        for (name, _), value in zip(self.values[1:], others, strict=True):
            earned.append(f"{name} {value}")
        return "; ".join(filter(None, [", ".join(earned), str(self.about)]))

    def _bars(self) -> list[tuple[str, float, float]]:
        """Return name, number and width in percent of the bar of each value."""
        numbers = [0.0, *(value for _, value in self.values)]
        low = min(numbers)
        reach = (max(numbers) - low) or 1.0
        return [
            (name, value, 100 * (value - low) / reach) for name, value in self.values
        ]

    def _make_excerpt(self, longest: int) -> Excerpt | None:
        if self.text is None or user_texts_are_hidden():
            return None
        if self.text.strip():
            return make_excerpt(self.text, self.spans, longest=longest)
        nothing = f"(white space: {one_line(repr(self.text), 60)})"
        return Excerpt(nothing if self.text else "(nothing)", {})


@dataclass(frozen=True)
class Action:
    """A button on the workbench: a label, and the command that it sends."""

    label: str
    command: Sequence[Any]
    title: str = ""
    about: str = ""
    """What it would do, beside the button."""

    def lines(self, verbose: bool) -> list[str]:
        """Return no line."""
        return []

    @property
    def html(self) -> str:
        """Return the button."""
        return part("parts", "actions", [self])

    @property
    def markdown(self) -> str:
        """Return nothing."""
        return ""


@dataclass(frozen=True)
class Point:
    """A finding on a page: code, what is wrong, why it matters, examples, what to do.

    The first of the `examples` is in sight, the others are folded with the `details`.
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
        """The severity as a shape and a word."""
        return SEVERITY_MARKS[self.severity]

    def freeze(self) -> Point:
        """Return it in plain texts, with those of users only if they are not hidden."""
        examples = []
        for quote in self.examples:
            text = None if user_texts_are_hidden() else quote.text
            examples.append(replace(quote, about=str(quote.about), text=text))
        texts = (str(self.sentence), str(self.reason), str(self.advice))
        return Point(self.severity, self.code, *texts, examples)

    def lines(self, verbose: bool) -> list[str]:
        """Return it for a terminal; a short one has the first example in a line."""
        said = " ".join(filter(None, (str(self.sentence), str(self.reason))))
        lines = _wrap(f"{self.mark} {self.code}: {said}", indent=UNDER_MARK)
        below = []
        examples = self.examples if verbose else self.examples[:1]
        for example in examples:
            below += example.lines(verbose)
        if verbose:
            below += _lines_of(self.details, verbose)
        if str(self.advice):
            below += _wrap(f"fix: {self.advice}")
        return [*lines, *(f"{UNDER_MARK}{line}" for line in below)]

    @property
    def html(self) -> str:
        """Return it as escaped HTML."""
        shown = replace(self, reason=str(self.reason), advice=str(self.advice))
        first = html_of(_html_of_blocks(self.examples[:1]))
        more = html_of(_html_of_blocks([*self.examples[1:], *self.details]))
        return part("parts", "point", shown, first, more)

    @property
    def markdown(self) -> str:
        """Return it as Markdown."""
        said = " ".join(filter(None, (_md(self.sentence), _md(self.reason))))
        pieces = [f"**{self.mark}** `{self.code}`: {said}"]
        pieces += [example.markdown for example in self.examples]
        if str(self.advice):
            pieces.append(f"**Fix:** {_md(self.advice)}")
        return "\n\n".join([*pieces, *map(_markdown_of, self.details)])


@dataclass(frozen=True)
class More:
    """Blocks behind a caption: folded in HTML, left out of a short text.

    Without a caption they are in sight on HTML pages, and left out of a short text
    alone.
    """

    caption: str
    blocks: Sequence[Block]
    is_open: bool = False

    def lines(self, verbose: bool) -> list[str]:
        """Return them for a terminal; none where the text is short."""
        if not verbose or not self.blocks:
            return []
        lines = _lines_of(self.blocks, verbose)
        if not self.caption:
            return lines
        return [f"{self.caption}:", *(f"  {line}" for line in lines)]

    @property
    def html(self) -> str:
        """Return them as escaped HTML; "" where there are none."""
        body = _html_of_blocks(self.blocks)
        if not self.caption or not body:
            return body
        return folded(self.caption, body, is_open=self.is_open)

    @property
    def markdown(self) -> str:
        """Return them as Markdown; "" where there are none."""
        body = _join_markdown(self.blocks)
        if not self.caption or not body:
            return body
        return f"**{_md(self.caption)}**\n\n{body}"


@dataclass(frozen=True, repr=False)
class Page:
    """What a record says: a verdict as `title`, `summary` behind it, blocks below it.

    Text is a line, and lines that follow each other are a list. `foot` stands at the
    end of a short text alone: it says how to get the rest.
    """

    title: Text
    blocks: Sequence[Block] = ()
    summary: Text = ""
    foot: str = ""

    def text(self, *, verbose: bool = False) -> str:
        """Return it as plain text; `verbose` has what HTML folds, too."""
        return "\n".join(self.lines(verbose))

    def lines(self, verbose: bool) -> list[str]:
        """Return the lines of its text."""
        head = f"{self.title}: {self.summary}" if str(self.summary) else str(self.title)
        blocks = list(self.blocks)
        if self.foot and not verbose:
            blocks.append(self.foot)
        return [*_wrap(head), *(f"  {line}" for line in _lines_of(blocks, verbose))]

    @property
    def html(self) -> str:
        """Return it as escaped HTML with its style sheet."""
        return card(str(self.title), self.body, said=str(self.summary))

    @property
    def body(self) -> str:
        """Return what stands below its title as escaped HTML."""
        return _html_of_blocks(self.blocks)

    @property
    def markdown(self) -> str:
        """Return it as Markdown."""
        summary = f": {_md(self.summary)}" if str(self.summary) else ""
        return f"**{_md(self.title)}**{summary}\n\n{_join_markdown(self.blocks)}"

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html

    def _repr_markdown_(self) -> str:
        return self.markdown


Block = Text | Code | Table | Facts | Picture | Quote | Action | Point | More | Page


class HasPage:
    """A record that shows itself: as HTML or Markdown in a notebook, as text elsewhere.

    A record inherits this and composes its `page`; a dataclass needs ``repr=False``.
    """

    def page(self) -> Page:
        """Return what the record says of itself."""
        raise NotImplementedError

    def text(self, *, verbose: bool = False) -> str:
        """Return the record as plain text; `verbose` leaves nothing out."""
        return self.page().text(verbose=verbose)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.page().html

    def _repr_markdown_(self) -> str:
        return self.page().markdown


# --- findings on a page


def point_of(
    finding: Finding,
    *,
    reason: Text = "",
    advice: Text | None = None,
    examples: Sequence[Quote] = (),
    details: Sequence[Block] = (),
    actions: Sequence[Action] = (),
) -> Point:
    """Return a finding as it stands on every page; `advice` defaults to its own."""
    without_quotes = redact_finding(finding).statement
    return Point(
        finding.severity,
        finding.code,
        UserText(finding.statement, instead=without_quotes),
        reason,
        finding.advice if advice is None else advice,
        examples,
        details,
        actions,
    )


def redact_finding(finding: Finding) -> Finding:
    """Return a finding that quotes no completion, truth or message of an error."""
    evidence: dict[str, Any] = {}
    for name, value in finding.evidence.items():
        if name == "truths" or (name == "says" and finding.code == "exploit"):
            value = HIDDEN
        elif isinstance(value, Reason):
            value = value.redacted()
        evidence[name] = value
    examples = tuple(map(redact_example, finding.examples))
    return replace(finding, evidence=evidence, examples=examples)


def redact_example(example: Example) -> Example:
    """Return an example without its columns; beside a reason it says figures only."""
    if example.reason is None:
        return replace(example, columns={})
    reason = example.reason.redacted()
    return replace(example, columns={}, reason=reason, said=str(reason))


def quote_of(
    example: Example,
    about: Text,
    spans: Mapping[str, Sequence[Span]],
    *,
    longest: int = LONGEST_EXCERPT,
) -> Quote:
    """Return the completion that shows a finding, below what is said about it."""
    values = [("this", example.reward)]
    if not math.isnan(example.right):
        best, least = "a right answer", "a wrong one"
        if example.of_rollouts:
            best, least = "the best rollout", "the least"
        values += [(best, example.right), (least, example.wrong)]
    if example.said or math.isnan(example.reward):
        values = []
    text = example.completion if "completion" in example.columns else None
    return Quote(about, text, spans, longest, values)


# --- rendering


def _wrap(text: Text, *, indent: str = INDENT) -> list[str]:
    """Break a line where the terminal ends; the blanks that it begins with stay."""
    line = str(text)
    blanks = line[: len(line) - len(line.lstrip(" "))]
    return textwrap.wrap(
        one_line(line, LONGEST_LINE),
        LINE.get() - 4,
        initial_indent=blanks,
        subsequent_indent=blanks + indent,
        break_on_hyphens=False,
    )


def _lines_of(blocks: Sequence[Block], verbose: bool) -> list[str]:
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, str | UserText):
            lines += _wrap(block)
        else:
            lines += block.lines(verbose)
    return lines


def _row_of_text(row: Sequence[object]) -> list[str]:
    return [one_line(_format_cell(cell), LONGEST_TEXT_CELL) for cell in row]


def _format_cell(cell: object) -> object:
    return number(cell) if isinstance(cell, float) else cell


def _row_as_sentence(header: Sequence[str], row: Sequence[str]) -> str:
    cells = zip(header[1:], row[1:], strict=True)
    sentence = "; ".join(f"{name}: {cell}" for name, cell in cells if cell)
    return ": ".join(filter(None, (row[0], sentence)))


def _html_of_blocks(blocks: Sequence[Block]) -> str:
    """Render blocks; lines of text that follow each other are a list."""
    pieces = []
    for is_text, run in groupby(blocks, lambda item: isinstance(item, str | UserText)):
        bodies = [_html_of_block(block) for block in run]
        pieces.append(listed(bodies) if is_text else "".join(bodies))
    return "".join(pieces)


def _html_of_block(block: Block) -> str:
    if isinstance(block, str | UserText):
        return escaped(block, limit=LONGEST_LINE)
    if isinstance(block, Page):  # in another page
        texts = str(block.title), str(block.summary)
        return part("parts", "inner", *texts, html_of(block.body))
    return block.html


def _join_markdown(blocks: Sequence[Block]) -> str:
    pieces = []
    for is_text, run in groupby(blocks, lambda item: isinstance(item, str | UserText)):
        if is_text:
            pieces.append("\n".join(f"- {_md(text)}" for text in run))
        else:
            pieces += map(_markdown_of, run)
    return "\n\n".join(filter(None, pieces))


def _markdown_of(block: Block) -> str:
    if isinstance(block, str | UserText):
        return _md(block)
    return block.markdown


def _row_of_markdown(row: Sequence[object], longest: int) -> str:
    cells = [_md(_format_cell(cell), longest) for cell in row]
    return f"| {' | '.join(cells)} |"


def _md(text: object, longest: int = LONGEST_LINE) -> str:
    """Return text as Markdown that shows it as it is, without markup of its own."""
    line = escape(one_line(text, longest), quote=False)
    return re.sub(r"([\\`*_\[\]#+!|~$]|^-)", r"\\\1", line)


def _fence(text: str) -> str:
    """Return lines as a block of code that no line of them ends."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
