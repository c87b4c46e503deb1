"""Pages: self-contained HTML of a report, from scorecards and executed notebooks; and Markdown."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import matplotlib.pyplot as plt

from rewardkit.analysis.diagnosis import Diagnosis
from rewardkit.analysis.forecast import Forecast
from rewardkit.findings import counted
from rewardkit.html import cards, markup
from rewardkit.notebook import plots
from rewardkit.notebook.report.executed import Story, themed
from rewardkit.notebook.scorecard import Scorecard, Short, point_of_cases, points_of, sorted_points
from rewardkit.notebook.tiles import GRADES, MARKS, cases_tile, forecast_tile, signal_tile
from rewardkit.rewards.recorded import is_recorded
from rewardkit.scoring.cases import CheckResult

__all__ = ["Page", "Summary", "index_page", "notebook_page", "summary_markdown"]

AGREES = "wherever the log has a score to compare with, this reward gives the same"
ORDER = ("high", "warn", "info", "good")
SIZE = (5.6, 3.1)  # inches of a picture on the first page


@dataclass(frozen=True)
class Page:
    """One executed notebook of a report: its title, its file, what it became, and its error if it failed."""

    title: str
    file: str
    story: Story
    error: str | None = None

    @property
    def anchor(self) -> str:
        """What it is called where several pages stand in one file."""
        return re.sub(r"\W+", "-", self.file.removesuffix(".html"))


@dataclass(frozen=True)
class Summary:
    """What a report says of one reward on its first page; texts are left out with `redact`."""

    name: str
    diagnosis: Diagnosis
    forecast: Forecast
    checked: CheckResult | None
    pages: tuple[Page, ...]
    probed: Short | None = None
    redact: bool = False

    @cached_property
    def scorecard(self) -> Scorecard:
        """Its verdict, tiles and points."""
        diagnosis, probed = self.diagnosis, self.probed
        cases = probed.tiles[0] if probed else cases_tile(self.checked, recorded=self.recorded)
        others = probed.tiles[1:] if probed else ()
        tiles = (cases, signal_tile(diagnosis), *others, forecast_tile(self.forecast, diagnosis))
        missed = point_of_cases(self.checked, redact=self.redact) if self.checked else []
        found = points_of(diagnosis, redact=self.redact)
        points = sorted_points([*(probed.points if probed else ()), *missed, *found])
        failed = tuple(item.title for item in self.pages if item.error)
        return Scorecard(self.name, tiles, points, failed)

    @property
    def verdict(self) -> str:
        """Whether the reward is ready, and why, in a sentence."""
        return self.scorecard.verdict

    @property
    def size(self) -> str:
        """How many rollouts it is of, in words."""
        about = self.diagnosis.scores.rollouts.summary()
        return f"{counted(about['rows'], 'rollout')} in {counted(about['groups'], 'group')}"

    @property
    def recorded(self) -> bool:
        """Whether the reward is what stands in the log."""
        return is_recorded(self.diagnosis.scores.reward)

    @property
    def agrees(self) -> bool:
        """Whether the log has scores, the reward was computed anew, and no score differs."""
        against = any(item.code in ("log_mismatch", "log_not_compared") for item in self.diagnosis.findings)
        return bool(self.diagnosis.scores.rollouts.logged) and not self.recorded and not against


# --- the first page


def index_page(summaries: Sequence[Summary], *, inline: bool = False) -> str:
    """The first page: a scorecard a reward, beside each other. With `inline` the pages follow on it."""
    first = summaries[0]
    title = "Reward report" + (f": {first.name}" if len(summaries) == 1 else "")
    cards = []
    for summary in summaries:
        card, pictures = summary.scorecard, markup.html_of(_pictures(summary.diagnosis))
        differs = [_differs(card, first.scorecard, tile.question) for tile in card.tiles]
        links = [(f"#{page.anchor}-top" if inline else page.file, page) for page in summary.pages]
        cards.append((card, differs, pictures, links))
    about = f"{first.size}, {first.diagnosis.training}"
    stories = [(summary.name, page) for summary in summaries for page in summary.pages if inline]
    told = [_macro("story", name, page, f"{page.anchor}-") for name, page in stories]
    return markup.page(title, _macro("first", title, about, _facts(summaries), cards) + "".join(told))


def _macro(name: str, *values: Any) -> str:
    return markup.part("report", name, *values, marks=MARKS, grades=GRADES)


def _differs(card: Scorecard, first: Scorecard, question: str) -> str:
    """Whether a tile is better or worse than that of the first reward; "" where it is neither."""
    mine, other = (
        next((ORDER.index(tile.grade) for tile in one.tiles if tile.question == question), None)
        for one in (card, first)
    )
    if mine is None or other is None or mine == other:
        return ""
    return f"graded {'better' if mine > other else 'worse'} than {first.name}"


def _facts(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    """What the report is of: the rollouts, and how rewards that were trainers' functions were read."""
    summary = summaries[0]
    origins = [item.diagnosis.scores.reward.origin for item in summaries if not item.redact]
    label = summary.diagnosis.views[0].context.label_name
    return [
        *cards.facts(summary.diagnosis.scores.rollouts.summary()),
        *(("Reward", origin.replace("; ", ";\n")) for origin in origins if origin),
        ("Advantages", f"{summary.diagnosis.training}, which all figures are for"),
        *([("Label", f"{label}, trusted to say which completions are good")] if label else []),
        *(("Log", f"{item.name}: {AGREES}") for item in summaries if item.agrees),
    ]


def _pictures(diagnosis: Diagnosis) -> str:
    """Distribution of the reward, and the groups of the first part."""
    drawn, buffer = "", io.StringIO()
    pictures: tuple[tuple[Any, Any], ...] = (
        (plots.reward_histogram, diagnosis.scores),
        (plots.group_picture, diagnosis.views[0]),
    )
    for draw, record in pictures:
        with plt.rc_context({"svg.fonttype": "none"}):
            figure, ax = plt.subplots(figsize=SIZE, layout="constrained")
            try:
                draw(record, ax=ax)
                figure.savefig(buffer := io.StringIO(), format="svg")
            finally:
                plt.close(figure)
        drawn += themed(buffer.getvalue())
    return drawn


# --- the page of a notebook


def notebook_page(item: Page, summary: Summary) -> str:
    """The page of one notebook, with the way to the others."""
    root = "../" * item.file.count("/")
    beside = [(page.title, root + page.file, page is item) for page in summary.pages]
    pages = [("All results", f"{root or './'}index.html", False), *beside]
    return markup.page(f"{item.title}: {summary.name}", _macro("story", summary.name, item, ""), pages)


# --- for a pull request


def summary_markdown(summaries: Sequence[Summary]) -> str:
    """The report in a few lines of Markdown, as they fit a pull request."""
    first = summaries[0]
    training = _plain(str(first.diagnosis.training))
    lines = ["## Reward report", "", f"{first.size}, advantages as of {training}.", ""]
    warnings = first.diagnosis.scores.rollouts.summary()["warnings"]
    lines += [f"- note: {_plain(sentence)}" for sentence in warnings]
    for summary in summaries:
        card = summary.scorecard
        lines += ["", f"### {_plain(summary.name)}", "", f"**{_plain(card.verdict)}**", ""]
        lines += [
            f"- {MARKS[tile.grade]} {tile.question}: {_plain(tile.figure)}"
            + f" ({tile.ends})" * bool(tile.ends)
            + f" ({_plain(tile.said)})"
            for tile in card.tiles
        ]
        lines += [f"- Log: {AGREES}"] if summary.agrees else []
        lines += [
            f"- {MARKS[point.severity]} {point.severity}: `{point.code}` {_plain(f'{point.what} {point.do}')}"
            for point in card.worst
        ]
        lines += [f"- and {card.more}"] if card.more else []
        lines += [
            f"- page failed: {item.title} ({_plain(item.error)})" for item in summary.pages if item.error
        ]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """One line of text that Markdown does not take for markup."""
    return re.sub(r"([\\`*_<>\[\]|])", r"\\\1", " ".join(text.split()))
