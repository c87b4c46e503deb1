"""Read the ratings in a judge's replies: their columns, and their common forms.

>>> rating = read_rating("Clear, but short. **Rating: 3/10**")
>>> rating.number, rating.frame.top, rating.frame.write("9")
('3', 10.0, '**Rating: 9/10**')
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardkit.html.excerpts import one_line
from rewardkit.probes.code.verdicts import LONGEST_REPLY, MOST_REPLIES, OF_JUDGE
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.text_columns import FEWEST_TEXTS, NO_TEXT_COLUMNS
from rewardkit.strategies.strategy import Row, completion_of, prompt_of

VALUES_OF_SCALE = 5  # ratings that are tried, spread over a scale: our choice
LARGEST_SCALE = 100

USUAL_TOPS = (1.0, 5.0, 10.0, 100.0)
MOST_ON_SCALE = 0.95
"""Share of the ratings that a scale has to hold: a judge may leave it. Our choice."""

RATED_NUMBER = r"\d+(?:\.\d+)?"
QUOTES = r"[\"'*_`]{0,4}"
OPENING, CLOSING = r"[\"'*_`(\[<{]{0,5}", r"[\"'*_`)\]}]{0,5}(?:</\w{1,20}>)?"
VALUE = rf"(?<![-\d.,/])(?P<number>{RATED_NUMBER})(?![\d,]*\d|\.\d|\w|\s?[-–]\s?\d)"
SCALE_BEHIND = (
    rf"{QUOTES}\s?(?:(?:/|out\sof|of)\s?(?P<top>{RATED_NUMBER})(?![\d/]|\.\d)|%)"
)
RATING_LABEL = (
    r"(?:(?:overall|final|total)\s)?\b"
    r"(?:rating|score|grade|mark|overall(?:\s\w{1,20})?|rated?\s(?:it|this|the))\b"
)
JOINT = (
    rf"{QUOTES}(?:\s?\([^()\n]{{1,20}}\))?{QUOTES}"
    r"(?:\s(?:is|of|it|this|as|at|an?|the|response|answer|reply)\b){0,4}"
    rf"\s{{0,3}}[:=>–-]?{QUOTES}\s{{0,3}}"
)
LABELLED = rf"{OPENING}{RATING_LABEL}{JOINT}{OPENING}|\[\[\s?"
GIVEN = rf"\b(?:give|gave|award|deserves|worth|rated?|scored|graded)\b{JOINT}{OPENING}"


def _pattern(head: str, scale: str, end: str = "") -> re.Pattern[str]:
    tail = f"(?P<tail>{scale}{CLOSING})"
    return re.compile(f"(?im)(?P<head>{head}){VALUE}{tail}{end}")


RATING_PATTERNS = (
    _pattern(LABELLED, f"(?:{SCALE_BEHIND})?"),
    _pattern(GIVEN, SCALE_BEHIND),
    _pattern(rf"^{OPENING}", f"(?:{SCALE_BEHIND})?", r"[ \r]*$"),
    _pattern(OPENING, SCALE_BEHIND, r"\.?\s*\Z"),
)
"""Forms of a rating, the surest first: behind a label or in brackets, behind a verb and
with its scale, alone on a line, at the end with its scale."""
OVERALL = re.compile(r"(?i)overall|final|total")
SCALE_BEFORE = re.compile(
    rf"(?i)\bscale\s(?:of|from)\s\d+\s?(?:to|-|–)\s?({RATED_NUMBER})"
)


@dataclass(frozen=True)
class Frame:
    """The text around a rating, and its scale.

    `top` is the end of the scale that the text states, or None. `neighbours` says where
    other numbers stand, "" without any.
    """

    head: str
    tail: str
    top: float | None
    neighbours: str

    def write(self, number: str) -> str:
        """Write another rating in this frame, on one line."""
        return one_line(f"{self.head}{number}{self.tail}")

    @property
    def words(self) -> tuple[str, str]:
        """Return the text before and after the number."""
        return self.head, self.tail


@dataclass(frozen=True)
class Rating:
    """A rating in a text, with the text before and after its number."""

    before: str
    number: str
    after: str
    frame: Frame

    def write(self, number: str) -> str:
        """Write the text with another rating."""
        return f"{self.before}{number}{self.after}"


def read_rating(text: str) -> Rating | None:
    """Return the rating in a text, or None if there is none, or several.

    >>> read_rating("clarity score: 4, accuracy score: 3, overall score: 3").number
    '3'
    >>> read_rating("The score rose from 2-3. Score: 4. Score: 5")
    """
    if len(text) > LONGEST_REPLY:
        return None
    for pattern in RATING_PATTERNS:
        matches = list(pattern.finditer(text))
        if not matches:
            continue
        if len(matches) > 1:
            matches = [item for item in matches if OVERALL.search(item["head"])]
        return _rating_of(matches[0]) if len(matches) == 1 else None
    return None


def _rating_of(match: re.Match[str]) -> Rating | None:
    """Read a rating with its scale; None if the rating is beyond the scale."""
    text, head, tail = match.string, match["head"], match["tail"]
    in_words = SCALE_BEFORE.findall(text[: match.start()])
    tops = [*in_words, *re.findall(RATED_NUMBER, head)]
    if match["top"] or "%" in tail:
        tops.append(match["top"] or "100")
    top = float(tops[-1]) if tops else None
    if top is not None and not max(1.0, float(match["number"])) <= top <= LARGEST_SCALE:
        return None
    places = []
    if re.search(r"\d", text[: match.start()]):
        places.append(" behind another number")
    if re.search(r"\d", text[match.end() :]):
        places.append(" before another number")
    frame = Frame(head, tail, top, " and".join(places))
    start, end = match.span("number")
    return Rating(text[:start], match["number"], text[end:], frame)


def usual_top(ratings: Iterable[float]) -> float | None:
    """Return the end of the smallest usual scale that holds ratings; None without one.

    >>> usual_top([0.5, 0.75]), usual_top([3, 7]), usual_top([3, 700])
    (1.0, 10.0, None)
    """
    values = np.fromiter(ratings, dtype=float)
    for top in USUAL_TOPS if len(values) else ():
        if (values <= top).mean() >= MOST_ON_SCALE:
            return top
    return None


def ratings_up_to(top: float, written: Sequence[str]) -> list[str]:
    """Return ratings from all over a scale, the worst number first.

    Args:
        top: The largest rating.
        written: Ratings of the log, which show whether 0 and decimals are written.

    >>> ratings_up_to(10, ["4", "7"]), ratings_up_to(5, ["4.5", "1"])
    (['1', '3', '6', '8', '9', '10'], ['1', '2', '2.5', '3', '4', '4.5', '5'])
    >>> ratings_up_to(1, ["0.25", "0.50"])
    ['0.00', '0.25', '0.50', '0.75', '0.90', '1.00']
    """
    decimals = [len(number.partition(".")[2]) for number in written]
    has_zero = any(float(number) == 0 for number in written)
    lowest = 0 if has_zero or top == 1 else 1
    spread = np.linspace(lowest, top, VALUES_OF_SCALE)
    if top > 1:
        spread = np.round(spread)
    near_top = 0.9 * top if top in (1, 10, 100) else top
    values = {*spread.tolist(), near_top}
    if any(decimals) and top > 1:
        values |= {spread[1] + 0.5, top - 0.5}
    if not any(decimals):
        values = {value for value in values if value == round(value)}
    form = f".{max(decimals)}f" if all(decimals) else "g"
    texts = (format(value, form) for value in sorted(values))
    return list(dict.fromkeys(texts))


MOST_FORMS = 10  # forms of a rating that are tried: our choice
FEWEST_OF_FORM = 2  # replies that make a form a habit of the judge
ROWS_TRIED = 3  # rows on which ratings are tried: our choice


@dataclass(frozen=True)
class ReplyPlace:
    """The place of replies in a log: a column, or a key of its objects."""

    column: str
    key: str = ""

    @property
    def name(self) -> str:
        """Return the place as code writes it."""
        return f"{self.column}[{self.key!r}]" if self.key else self.column

    def write(self, row: Row, reply: str) -> dict[str, Any]:
        """Return the column of a row with another reply."""
        value = {**row[self.column], self.key: reply} if self.key else reply
        return {self.column: value}


@dataclass(frozen=True, eq=False)
class Reply:
    """A reply of the log: its row, the row's reward, and its rating."""

    row: Row
    earned: float
    rating: Rating


@dataclass(frozen=True, eq=False)
class RatedForm:
    """A form in which the judge often writes, with its replies, the best paid first.

    `texts` are the ratings to try, from the lowest to the top of the scale; those in
    `doubtful` may be beyond it.
    """

    frame: Frame
    replies: Sequence[Reply]
    top: float
    texts: Mapping[float, str]
    doubtful: frozenset[float]

    def write(self, rating: float, number: int) -> str:
        """Write one of its replies, by its number, with another rating."""
        reply = self.replies[number % len(self.replies)]
        return reply.rating.write(self.texts.get(rating, "970"))

    def phrase(self, rating: float) -> str:
        """Write a rating in this form."""
        return self.frame.write(self.texts[rating])


def find_replies(observed: Observed) -> dict[ReplyPlace, list[Reply]]:
    """Find the columns of the reward in which each completion is rated."""
    logged_names = observed.tries.logged_names
    left_out = {*NO_TEXT_COLUMNS, *map(logged_names.get, NO_TEXT_COLUMNS)}
    places = defaultdict(list)
    for row, reward in observed.calibration.judged[:MOST_REPLIES]:
        completion = completion_of(row)
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
            if isinstance(text, str):
                yield ReplyPlace(column, key), text


def _rates(place: ReplyPlace, replies: Sequence[Reply]) -> bool:
    """Return whether ratings are of completions, not of prompts.

    If no prompt has two of them, the name of their column must say so.
    """
    if len(replies) < FEWEST_TEXTS:
        return False
    by_prompt = defaultdict(set)
    for reply in replies:
        prompt = prompt_of(reply.row)
        by_prompt[prompt].add(reply.rating.number)
    if len(by_prompt) == len(replies):
        return OF_JUDGE.search(place.name) is not None
    return any(len(numbers) > 1 for numbers in by_prompt.values())


def common_forms(replies: Sequence[Reply]) -> list[RatedForm]:
    """Return the forms of ratings, the commonest first, with ratings to try."""
    by_frame = defaultdict(list)
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
    forms = []
    for frame, group in common[:MOST_FORMS]:
        top = frame.top or top_of_log
        if top is None or len(group) < FEWEST_OF_FORM:
            continue
        texts = ratings_up_to(top, [reply.rating.number for reply in group])
        by_value = {float(text): text for text in texts}
        doubtful = set()
        if not frame.top and top > 1:
            few = int((1 - MOST_ON_SCALE) * len(unscaled))
            low, high = unscaled[few], unscaled[-1 - few]
            doubtful = {value for value in by_value if not low <= value <= high}
        forms.append(RatedForm(frame, group, top, by_value, frozenset(doubtful)))
    return forms


def best_rows(replies: Sequence[Reply]) -> list[Reply]:
    """Return the best paid rows, those of different prompts and ratings first.

    A rating that is right for one prompt only, such as a truth, differs between them.
    """
    best = sorted(replies, key=lambda reply: -reply.earned)
    different = []
    prompts = set()
    numbers = set()
    for reply in best:
        prompt, number = prompt_of(reply.row), reply.rating.number
        if prompt not in prompts and number not in numbers:
            different.append(reply)
            prompts.add(prompt)
            numbers.add(number)
    return list(dict.fromkeys([*different, *best]))[:ROWS_TRIED]
