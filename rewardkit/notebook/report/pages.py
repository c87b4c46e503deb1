"""Pages: self-contained HTML of a report, of what executed notebooks came to; and Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rewardkit.findings import SEVERITIES, counted
from rewardkit.html import cards, markup
from rewardkit.notebook.report.executed import Story
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
)
from rewardkit.rewards.recorded import is_recorded
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.training import Training
from rewardkit.rollouts.table import Rollouts

ORDER = ("high", "warn", "info", "good")
QUESTIONS = (CASES, SIGNAL, EXPLOITS, CONTRACT, SELECTS)


@dataclass(frozen=True)
class Page:
    """One executed notebook of a report: its title, its file, what it became, and its error if it failed.

    `short` is what it says that it came to; ``None`` where it does not.
    """

    title: str
    file: str
    story: Story
    error: str | None = None
    short: Short | None = None

    @property
    def anchor(self) -> str:
        """What it is called where several pages stand in one file."""
        return re.sub(r"\W+", "-", self.file.removesuffix(".html"))


@dataclass(frozen=True, eq=False)
class Summary:
    """What a report says of one reward on its first page, from its pages; `redact` leaves texts out."""

    name: str
    reward: Reward
    rollouts: Rollouts
    training: Training
    pages: tuple[Page, ...]
    redact: bool = False

    @cached_property
    def scorecard(self) -> Scorecard:
        """Its verdict, tiles and points, the worst first."""
        shorts = [item.short for item in self.pages if item.short]
        tiles = {tile.question: tile for short in shorts for tile in short.tiles}
        recorded = is_recorded(self.reward)
        if recorded:
            tiles[CASES] = cases_tile(None, recorded=True)
        nothing = "scores of a log" if recorded else "its page failed"
        points = [point for short in shorts for point in short.points]
        points.sort(key=lambda item: SEVERITIES.index(item.severity))
        failed = tuple(item.title for item in self.pages if item.error)
        if CONTRACT in tiles:
            tiles[CONTRACT] = contract_on_log(tiles[CONTRACT], points)
        asked = (
            tiles.get(question, Tile(question, "info", "-", nothing))
            for question in QUESTIONS
        )
        return Scorecard(self.name, tuple(asked), tuple(points), failed)

    @property
    def verdict(self) -> str:
        """Whether the reward is ready, and why, in a sentence."""
        return self.scorecard.verdict

    @property
    def size(self) -> str:
        """How many rollouts it is of, in words."""
        about = self.rollouts.summary()
        return f"{counted(about['rows'], 'rollout')} in {counted(about['groups'], 'group')}"

    @property
    def facts(self) -> dict[str, str]:
        """What its pages tell beside tiles and points, by name."""
        return {
            name: text
            for page in self.pages
            if page.short
            for name, text in page.short.facts.items()
        }

    @property
    def pictures(self) -> Any:
        """The pictures of its pages that stand on the first one, as a piece of HTML."""
        return markup.html_of("".join(page.story.pictures for page in self.pages))


# --- the first page


def index_page(summaries: Sequence[Summary], *, inline: bool = False) -> str:
    """The first page: a scorecard a reward, beside each other. With `inline` the pages follow on it."""
    first = summaries[0]
    title = "Reward report" + (f": {first.name}" if len(summaries) == 1 else "")
    cards = []
    for summary in summaries:
        card = summary.scorecard
        differs = [
            _differs(card, first.scorecard, tile.question) for tile in card.tiles
        ]
        links = [
            (f"#{page.anchor}-top" if inline else page.file, page)
            for page in summary.pages
        ]
        cards.append((card, differs, summary.pictures, links))
    about = f"{first.size}, {first.training}"
    stories = [
        (summary.name, page)
        for summary in summaries
        for page in summary.pages
        if inline
    ]
    told = [_macro("story", name, page, f"{page.anchor}-") for name, page in stories]
    return markup.page(
        title, _macro("first", title, about, _facts(summaries), cards) + "".join(told)
    )


def _macro(name: str, *values: Any) -> str:
    return markup.part("report", name, *values)


def _differs(card: Scorecard, first: Scorecard, question: str) -> str:
    """Whether a tile is better or worse than that of the first reward; "" where it is neither."""
    mine, other = (
        next(
            (
                ORDER.index(tile.grade)
                for tile in one.tiles
                if tile.question == question
            ),
            None,
        )
        for one in (card, first)
    )
    if mine is None or other is None or mine == other:
        return ""
    return f"graded {'better' if mine > other else 'worse'} than {first.name}"


def _facts(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    """What the report is of: the rollouts, and how rewards that were trainers' functions were read."""
    first, origins = (
        summaries[0],
        [item.reward.origin for item in summaries if not item.redact],
    )
    return [
        *cards.describe_reading(first.rollouts.summary()),
        *(("Reward", origin.replace("; ", ";\n")) for origin in origins if origin),
        ("Advantages", f"{first.training}, which all figures are for"),
        *((name, text) for name, text in first.facts.items() if name != "Log"),
        *(
            ("Log", f"{item.name}: {item.facts['Log']}")
            for item in summaries
            if "Log" in item.facts
        ),
    ]


# --- the page of a notebook


def notebook_page(item: Page, summary: Summary) -> str:
    """The page of one notebook, with the way to the others."""
    root = "../" * item.file.count("/")
    beside = [(page.title, root + page.file, page is item) for page in summary.pages]
    pages = [("All results", f"{root or './'}index.html", False), *beside]
    return markup.page(
        f"{item.title}: {summary.name}", _macro("story", summary.name, item, ""), pages
    )


# --- for a pull request


def summary_markdown(summaries: Sequence[Summary]) -> str:
    """The report in a few lines of Markdown, as they fit a pull request."""
    first = summaries[0]
    lines = [
        "## Reward report",
        "",
        f"{first.size}, advantages as of {_plain(str(first.training))}.",
        "",
    ]
    lines += [
        f"- note: {_plain(sentence)}"
        for sentence in first.rollouts.summary()["warnings"]
    ]
    for summary in summaries:
        card = summary.scorecard
        lines += [
            "",
            f"### {_plain(summary.name)}",
            "",
            f"**{_plain(card.verdict)}**",
            "",
        ]
        lines += [
            f"- {markup.GRADE_MARKS[tile.grade]} {tile.question}: {_plain(tile.figure)}"
            + f" ({tile.ends})" * bool(tile.ends)
            + f" ({_plain(tile.words)})"
            for tile in card.tiles
        ]
        lines += [f"- Log: {summary.facts['Log']}"] if "Log" in summary.facts else []
        lines += [
            f"- {markup.GRADE_MARKS[point.severity]} {point.severity}: `{point.code}` {_plain(f'{point.sentence} {point.advice}')}"
            for point in card.worst
        ]
        lines += [f"- and {card.rest}"] if card.rest else []
        lines += [
            f"- page failed: {item.title} ({_plain(item.error)})"
            for item in summary.pages
            if item.error
        ]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """One line of text that Markdown does not take for markup."""
    return re.sub(r"([\\`*_<>\[\]|])", r"\\\1", " ".join(text.split()))
