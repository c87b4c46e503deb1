"""Replies of a judge in a log: where they stand, and how it often writes a rating."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardkit.primitives.messages import prompt_text
from rewardkit.probes.code.verdicts import OF_JUDGE
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.ratings.reading import (
    MOST_ON_SCALE,
    Frame,
    Rating,
    ratings_up_to,
    read_rating,
    usual_top,
)
from rewardkit.probes.text_columns import FEWEST_TEXTS, NO_TEXT_COLUMNS
from rewardkit.strategies.strategy import Row

MOST_REPLIES = 500  # rows of the log that are read: our choice
MOST_FORMS = 10  # ways to write a rating that are tried: our choice
FEWEST_OF_FORM = 2  # replies that make one a habit of the judge
ROWS_TRIED = 3  # rows beside which ratings are tried: our choice


@dataclass(frozen=True)
class ReplyPlace:
    """Where a log keeps replies: a column, or a key of its objects."""

    column: str
    key: str = ""

    @property
    def name(self) -> str:
        """Its name as code has it."""
        return f"{self.column}[{self.key!r}]" if self.key else self.column

    def write(self, row: Row, reply: str) -> dict[str, Any]:
        """Return the column of a row with another reply."""
        value = {**row[self.column], self.key: reply} if self.key else reply
        return {self.column: value}


@dataclass(frozen=True, eq=False)
class Reply:
    """A reply of the log: its row, what that earned, and its rating."""

    row: Row
    earned: float
    rating: Rating


@dataclass(frozen=True, eq=False)
class RatedForm:
    """A form in which the judge often writes, and its replies, the best paid first.

    `texts` are the ratings to be tried, from the worst number to the top of the scale;
    those in `doubtful` may be beyond it.
    """

    frame: Frame
    replies: Sequence[Reply]
    top: float
    texts: Mapping[float, str]
    doubtful: frozenset[float]

    @property
    def ends(self) -> set[float]:
        """The worst and the best number."""
        return {min(self.texts), max(self.texts)}

    def write(self, rating: float, number: int) -> str:
        """Write one of its replies, by its number, with another rating."""
        reply = self.replies[number % len(self.replies)]
        beyond = "970" if self.top > 10 else "97"
        return reply.rating.write(self.texts.get(rating, beyond))

    def phrase(self, rating: float) -> str:
        """Write a rating in this form."""
        return self.frame.write(self.texts[rating])


def find_replies(observed: Observed) -> dict[ReplyPlace, list[Reply]]:
    """Find the columns of the reward in which each completion is rated."""
    logged_names = observed.tries.logged_names
    left_out = {*NO_TEXT_COLUMNS, *map(logged_names.get, NO_TEXT_COLUMNS)}
    places: dict[ReplyPlace, list[Reply]] = defaultdict(list)
    for row, reward in observed.calibration.judged[:MOST_REPLIES]:
        completion = str(row.get("completion"))
        for column in observed.shown_columns(row).keys() - left_out:
            for place, text in _texts_in(column, row[column]):
                rating = read_rating(text)
                if rating is not None and text not in completion:
                    places[place].append(Reply(row, reward, rating))
    names = sorted(places, key=lambda place: place.name)
    return {name: places[name] for name in names if _rates(name, places[name])}


def _texts_in(column: str, value: Any) -> Iterator[tuple[ReplyPlace, str]]:
    if isinstance(value, str):
        yield ReplyPlace(column), value
    elif isinstance(value, dict):
        for key, text in value.items():
            if isinstance(key, str) and isinstance(text, str):
                yield ReplyPlace(column, key), text


def _rates(place: ReplyPlace, replies: Sequence[Reply]) -> bool:
    """Whether ratings are of completions, not of prompts.

    Where no prompt has two of them, the name of their column has to say so.
    """
    if len(replies) < FEWEST_TEXTS:
        return False
    by_prompt: dict[str, set[str]] = defaultdict(set)
    for reply in replies:
        prompt = prompt_text(reply.row.get("prompt"))
        by_prompt[prompt].add(reply.rating.number)
    if len(by_prompt) == len(replies):
        return OF_JUDGE.search(place.name) is not None
    return any(len(numbers) > 1 for numbers in by_prompt.values())


def common_forms(replies: Sequence[Reply]) -> list[RatedForm]:
    """Return the forms of ratings, the commonest first, with ratings to be tried."""
    by_frame: dict[Frame, list[Reply]] = defaultdict(list)
    for reply in sorted(replies, key=lambda reply: -reply.earned):
        by_frame[reply.rating.frame].append(reply)
    unscaled = sorted(
        float(reply.rating.number) for reply in replies if not reply.rating.frame.top
    )
    stated_tops = {frame.top for frame in by_frame if frame.top}
    top_of_log = usual_top(unscaled)
    if top_of_log and top_of_log > 1 and len(stated_tops) == 1:
        top_of_log = max(top_of_log, *stated_tops)
    common = sorted(by_frame.items(), key=lambda item: -len(item[1]))
    forms: list[RatedForm] = []
    for frame, group in common[:MOST_FORMS]:
        top = frame.top or top_of_log
        if top is None or len(group) < FEWEST_OF_FORM:
            continue
        texts = ratings_up_to(top, [reply.rating.number for reply in group])
        by_value = {float(text): text for text in texts}
        doubtful: set[float] = set()
        if not frame.top and top > 1:
            few = int((1 - MOST_ON_SCALE) * len(unscaled))
            low, high = unscaled[few], unscaled[-1 - few]
            doubtful = {value for value in by_value if not low <= value <= high}
        forms.append(RatedForm(frame, group, top, by_value, frozenset(doubtful)))
    return forms


def best_rows(replies: Sequence[Reply]) -> list[Reply]:
    """Return the best paid rows, of other prompts and ratings as far as there are any.

    What is paid for one rating of its own, such as a truth, differs between them.
    """
    best = sorted(replies, key=lambda reply: -reply.earned)
    different: list[Reply] = []
    prompts: set[str] = set()
    numbers: set[str] = set()
    for reply in best:
        prompt, number = prompt_text(reply.row.get("prompt")), reply.rating.number
        if prompt not in prompts and number not in numbers:
            different.append(reply)
            prompts.add(prompt)
            numbers.add(number)
    return list(dict.fromkeys([*different, *best]))[:ROWS_TRIED]
