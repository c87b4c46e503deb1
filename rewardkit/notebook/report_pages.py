"""The pages of a report: self-contained HTML of executed notebooks; and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rewardkit.findings import SEVERITIES, counted
from rewardkit.html import cards, markup
from rewardkit.html.pages import Point
from rewardkit.notebook.executed import Story
from rewardkit.notebook.scorecard import Scorecard, Short
from rewardkit.notebook.tiles import (
    CASES,
    CONTRACT,
    EXPLOITS,
    SELECTS,
    SIGNAL,
    Tile,
    cases_tile,
    contract_on_log,
    unknown,
)
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.rollouts.table import Rollouts

GRADE_ORDER = ("high", "warn", "info", "good")
QUESTIONS = (CASES, SIGNAL, EXPLOITS, CONTRACT, SELECTS)


@dataclass(frozen=True)
class NotebookPage:
    """One executed notebook of a report: its title, its file, and what it became.

    `error` is why it failed; `short` is what it came to, None where it does not say.
    """

    title: str
    file: str
    story: Story
    error: str | None = None
    short: Short | None = None

    @property
    def anchor(self) -> str:
        """Return its name where several pages stand in one file."""
        return re.sub(r"\W+", "-", self.file.removesuffix(".html"))


@dataclass(frozen=True, eq=False)
class Summary:
    """What the first page of a report says of one reward, from the pages of it.

    `redact` leaves texts of users out.
    """

    name: str
    reward: Reward
    rollouts: Rollouts
    training: Training
    pages: tuple[NotebookPage, ...]
    redact: bool = False

    @cached_property
    def scorecard(self) -> Scorecard:
        """Return its verdict, tiles and points, the worst first."""
        tiles: dict[str, Tile] = {}
        points: list[Point] = []
        for short in self._shorts():
            points += short.points
            for tile in short.tiles:
                tiles[tile.question] = tile
        points.sort(key=lambda point: SEVERITIES.index(point.severity))
        nothing = "its page failed"
        if is_recorded(self.reward):
            nothing = "scores of a log"
            tiles[CASES] = cases_tile(None, recorded=True)
        if CONTRACT in tiles:
            tiles[CONTRACT] = contract_on_log(tiles[CONTRACT], points)
        in_order = []
        for question in QUESTIONS:
            in_order.append(tiles.get(question) or unknown(question, nothing))
        failed = tuple(page.title for page in self.pages if page.error)
        return Scorecard(self.name, tuple(in_order), tuple(points), failed)

    @property
    def verdict(self) -> str:
        """Return whether the reward is ready, and why, in a sentence."""
        return self.scorecard.verdict

    @property
    def size(self) -> str:
        """Return how many rollouts it is of, in words."""
        about = self.rollouts.summary()
        rows, groups = counted(about["rows"], "rollout"), about["groups"]
        return f"{rows} in {counted(groups, 'group')}"

    @property
    def facts(self) -> dict[str, str]:
        """Return what its pages say beside tiles and points, by name."""
        facts: dict[str, str] = {}
        for short in self._shorts():
            facts |= short.facts
        return facts

    @property
    def pictures(self) -> Any:
        """Return the pictures of its pages that stand on the first one, as HTML."""
        return markup.html_of("".join(page.story.pictures for page in self.pages))

    def _shorts(self) -> Iterator[Short]:
        for page in self.pages:
            if page.short is not None:
                yield page.short


# --- the first page


def index_page(summaries: Sequence[Summary], *, inline: bool = False) -> str:
    """Return the first page: scorecards beside each other; `inline`: then the pages."""
    first = summaries[0]
    title = "Reward report"
    if len(summaries) == 1:
        title += f": {first.name}"
    scorecards, stories = [], ""
    for summary in summaries:
        card = summary.scorecard
        differences = [_compare(tile, first) for tile in card.tiles]
        links = []
        for page in summary.pages:
            links.append((f"#{page.anchor}-top" if inline else page.file, page))
            if inline:
                stories += _render("story", summary.name, page, f"{page.anchor}-")
        scorecards.append((card, differences, summary.pictures, links))
    about = f"{first.size}, {first.training}"
    body = _render("first", title, about, _list_facts(summaries), scorecards)
    return markup.page(title, body + stories)


def _render(macro: str, *values: Any) -> str:
    return markup.part("report", macro, *values)


def _compare(tile: Tile, first: Summary) -> str:
    """Say whether a tile is better or worse than the first reward's; "" for neither."""
    grade = GRADE_ORDER.index(tile.grade)
    for other in first.scorecard.tiles:
        if other.question == tile.question and other.grade != tile.grade:
            is_better = grade > GRADE_ORDER.index(other.grade)
            return f"graded {'better' if is_better else 'worse'} than {first.name}"
    return ""


def _list_facts(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    """Return what the report is of: the rollouts, and how rewards were read."""
    first = summaries[0]
    facts = cards.describe_reading(first.rollouts.summary())
    for summary in summaries:
        if summary.reward.origin and not summary.redact:
            facts.append(("Reward", summary.reward.origin.replace("; ", ";\n")))
    facts.append(("Advantages", f"{first.training}, which all figures are for"))
    facts += [(name, text) for name, text in first.facts.items() if name != "Log"]
    for summary in summaries:
        if "Log" in summary.facts:
            facts.append(("Log", f"{summary.name}: {summary.facts['Log']}"))
    return facts


# --- the page of a notebook


def notebook_page(page: NotebookPage, summary: Summary) -> str:
    """Return the page of one notebook, with the way to the others."""
    root = "../" * page.file.count("/")
    pages = [("All results", f"{root or './'}index.html", False)]
    for other in summary.pages:
        pages.append((other.title, root + other.file, other is page))
    body = _render("story", summary.name, page, "")
    return markup.page(f"{page.title}: {summary.name}", body, pages)


# --- for a pull request


def summary_markdown(summaries: Sequence[Summary]) -> str:
    """Return the report in a few lines of Markdown, as they fit a pull request."""
    first = summaries[0]
    advantages = f"advantages as of {_plain(str(first.training))}"
    lines = ["## Reward report", "", f"{first.size}, {advantages}.", ""]
    for sentence in first.rollouts.summary()["warnings"]:
        lines.append(f"- note: {_plain(sentence)}")
    for summary in summaries:
        verdict = f"**{_plain(summary.verdict)}**"
        lines += ["", f"### {_plain(summary.name)}", "", verdict, ""]
        lines += _list_results(summary)
    return "\n".join([*lines, ""])


def _list_results(summary: Summary) -> list[str]:
    lines, card = [], summary.scorecard
    for tile in card.tiles:
        line = f"- {markup.GRADE_MARKS[tile.grade]} {tile.question}: "
        line += _plain(tile.figure)
        if tile.ends:
            line += f" ({tile.ends})"
        lines.append(f"{line} ({_plain(tile.words)})")
    if "Log" in summary.facts:
        lines.append(f"- Log: {summary.facts['Log']}")
    for point in card.worst:
        mark = f"{markup.GRADE_MARKS[point.severity]} {point.severity}"
        sentences = _plain(f"{point.sentence} {point.advice}")
        lines.append(f"- {mark}: `{point.code}` {sentences}")
    if card.rest:
        lines.append(f"- and {card.rest}")
    for page in summary.pages:
        if page.error:
            lines.append(f"- page failed: {page.title} ({_plain(page.error)})")
    return lines


def _plain(text: str) -> str:
    """Return one line of text that Markdown does not take for markup."""
    return re.sub(r"([\\`*_<>\[\]|])", r"\\\1", " ".join(text.split()))
