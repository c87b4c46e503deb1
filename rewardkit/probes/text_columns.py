"""Columns that a log made from each completion: token ids, counts, copies, answers.

A probe writes such columns anew for each completion of its own: a length bonus that
reads `len(completion_ids)` must see the new length. How to write a column is learnt
from the log. The tokenizer is not known, so the ids of the row are repeated or cut.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from rewardkit.analysis.statistics import numbered, within
from rewardkit.answers.formats import find_tags
from rewardkit.answers.marks import CLEAR_MARKS, LOOSE_MARKS
from rewardkit.plain import is_number
from rewardkit.primitives import extract
from rewardkit.primitives.verify.numbers import distance, read_decimal, read_number
from rewardkit.strategies.strategy import Row

MOST_ROWS_READ = 240  # rows of the log from which columns are learnt
FEWEST_TEXTS = 6  # rows from which a column can be learnt: our choice
FOLLOWS = 0.95
"""Least correlation of a column with the length of the text, and least share of the
rows on which a reader of answers must agree with a column. Our choice."""
FOLLOWS_BY_NAME = 0.8
"""Least correlation for lists of numbers, which are short for short texts, and for
columns that are named as lengths. Our choice."""
CUT = 3
"""Factor by which a length is off if the log has cut the text. Our choice."""
LENGTH_NAME = re.compile(r"(?i)len(gth)?(_|\b)|tokens|n_tok|characters|words")

NO_TEXT_COLUMNS = {"completion", "messages", "prompt", "ground_truth"}
"""Columns that are not made from the completion, or that `Tries.varied` writes."""

Write = Callable[[Any, str, str], Any]
"""Makes the value for a new completion from the old value, old and new completion."""


@dataclass(frozen=True)
class TextColumns:
    """The columns that change with the completion, and how to write them anew.

    `writers` are by column. The `doubtful` columns are written by them or not at all,
    and may be wrong: token ids, answers that no known reader takes from the text, and
    what another system made of the completion, such as a judge's reply or test results.
    """

    writers: Mapping[str, Write] = field(default_factory=dict)
    doubtful: tuple[str, ...] = ()

    def write(self, row: Row, completion: str) -> dict[str, Any]:
        """Return the columns of a row that change with its completion."""
        text = row.get("completion")
        if not isinstance(text, str) or text == completion:
            return {}
        return _write_columns(self.writers, row, text, completion)

    def other_values(self, rows: Sequence[Row], name: str) -> list[tuple[Row, Any]]:
        """Pair rows with another value of a doubtful column, where it differs.

        A list of token ids keeps its length, its first and its last id. Any other value
        is that of the next row, rewritten for the row's own completion.
        """
        write = self.writers.get(name)
        pairs = []
        for row, other in zip(rows, [*rows[1:], *rows[:1]], strict=True):
            value, changed = row.get(name), other.get(name)
            if isinstance(value, list) and write is not None:
                inner = value[1:2] * (len(value) - 2)
                changed = [*value[:1], *inner, *value[-1:]]
            elif write is not None and changed is not None:
                changed = write(changed, other["completion"], row["completion"])
            if changed != value:
                pairs.append((row, changed))
        return pairs


def _write_columns(
    writers: Mapping[str, Write], row: Row, old: str, new: str
) -> dict[str, Any]:
    return {
        name: write(row[name], old, new)
        for name, write in writers.items()
        if row.get(name) is not None
    }


def learn_text_columns(rows: Sequence[Row], groups: Iterable[int]) -> TextColumns:
    """Learn from a log which columns follow the completion, and how to write them.

    Args:
        rows: The rows of the log.
        groups: Codes of their prompts.
    """
    step = max(1, len(rows) // MOST_ROWS_READ)
    sample = []
    for row, group in zip(rows[::step], list(groups)[::step], strict=True):
        text = row.get("completion")
        if isinstance(text, str) and text:
            sample.append(Cell(text, row, int(group)))
    if len(sample) < FEWEST_TEXTS:
        return TextColumns()
    writers = {}
    doubtful = []
    for name, column in _columns_of(sample):
        if name in NO_TEXT_COLUMNS:
            continue
        write = _learn_writer(column, name)
        if write is not None:
            writers[name] = write
        if _is_doubtful(column, write):
            doubtful.append(name)
    return TextColumns(writers, tuple(doubtful))


class Cell(NamedTuple):
    """A value of a column, or a whole row, with its completion and prompt."""

    text: str
    value: Any
    prompt: int


Sample = Sequence[Cell]


def _columns_of(sample: Sample) -> Iterator[tuple[str, Sample]]:
    """Yield each column of rows, or key of objects, with its values."""
    for name in dict.fromkeys(chain.from_iterable(cell.value for cell in sample)):
        yield name, [cell._replace(value=cell.value.get(name)) for cell in sample]


def _learn_writer(sample: Sample, name: str) -> Write | None:
    """Learn how to write a column; None if it does not follow the text."""
    objects = [cell for cell in sample if isinstance(cell.value, dict)]
    if objects:
        writers = {}
        for key, column in _columns_of(objects):
            write = _learn_writer(column, key)
            if write is not None:
                writers[key] = write
        return partial(_write_object, writers) if writers else None
    filled = [cell for cell in sample if cell.value not in (None, "")]
    write = _learn_length(filled, name)
    if write is not None or not _differs(sample):
        return write
    copies = 0
    for cell in filled:
        copies += _write_copy(cell.value, cell.text, "") != cell.value
    if copies >= FOLLOWS * max(1, len(filled)):
        return _write_copy
    return _learn_answer(filled)


def _is_doubtful(sample: Sample, write: Write | None) -> bool:
    """Return whether a column may be written wrongly, see `TextColumns`."""
    objects = [cell for cell in sample if isinstance(cell.value, dict)]
    if objects and isinstance(write, partial):
        (writers,) = write.args
        columns = _columns_of(objects)
        return any(_is_doubtful(column, writers.get(key)) for key, column in columns)
    if write is None:
        return _differs(sample)
    has_lists = any(isinstance(cell.value, list) for cell in sample)
    return has_lists and write is not _write_copy  # a list of token ids


def _differs(sample: Sample) -> bool:
    """Return whether a column often differs between siblings with different texts."""
    by_prompt = defaultdict(list)
    for cell in sample:
        by_prompt[cell.prompt].append(cell)
    if all(map(_is_of_tasks, by_prompt.values())):
        return False
    count = different = 0
    for first, second in chain.from_iterable(map(pairwise, by_prompt.values())):
        if first.text != second.text:
            count += 1
            different += first.value != second.value
    return different >= max(2, 0.1 * count)


def _is_of_tasks(cells: Sequence[Cell]) -> bool:
    """Return whether tasks share a prompt: each value has one run of several rows."""
    lengths = [len(list(run)) for _, run in groupby(cell.value for cell in cells)]
    values = {repr(cell.value) for cell in cells}
    return len(lengths) == len(values) and min(lengths) > 1


def _write_object(writers: Mapping[str, Write], value: Any, old: str, new: str) -> Any:
    if not isinstance(value, dict):
        return value
    return {**value, **_write_columns(writers, value, old, new)}


# --- lengths


COUNTS: tuple[Callable[[str], int], ...] = (len, lambda text: len(text.split()))
"""Exact counts: of characters and of words."""


def _learn_length(sample: Sample, name: str) -> Write | None:
    """Learn to write a count of characters, words or tokens, or a list of token ids."""
    sizes = [_size_of(cell.value) for cell in sample]
    if len(sizes) < FEWEST_TEXTS or None in sizes or len(set(sizes)) < 3:
        return None
    is_list = isinstance(sample[0].value, list)
    for count in COUNTS:
        if all(count(cell.text) == cell.value for cell in sample):
            return partial(_write_count, count)
    is_named = LENGTH_NAME.search(name) is not None
    limit = FOLLOWS_BY_NAME if is_list or is_named else FOLLOWS
    slope = _fit_slope(sample, sizes, limit, has_cuts=is_named)
    if slope is None:
        return None
    longest = max((cell.value for cell in sample), key=len) if is_list else None
    return partial(_write_length, slope, longest)


def _fit_slope(
    sample: Sample, sizes: Sequence[float | None], limit: float, *, has_cuts: bool
) -> float | None:
    """Fit the growth of a size per character; None if it correlates less than `limit`.

    Only siblings are compared. With `has_cuts` the fit leaves out rows whose size is
    that of the full text, while the log has cut the text.
    """
    prompts = np.array([cell.prompt for cell in sample])
    characters = np.array([len(cell.text) for cell in sample], dtype=float)
    counts = np.array(sizes, dtype=float)
    if has_cuts:
        ratios = counts / characters
        usual = np.median(ratios)
        if usual <= 0:
            return None
        is_whole = (ratios < CUT * usual) & (ratios > usual / CUT)
        prompts, characters = prompts[is_whole], characters[is_whole]
        counts = counts[is_whole]
    groups = numbered(prompts)
    if groups.max() + 1 == len(groups):
        groups = np.zeros_like(groups)  # each prompt stands alone
    lengths, counts = within(characters, groups), within(counts, groups)
    square = float(lengths @ lengths)
    product = float(lengths @ counts)
    norm = math.sqrt(square * float(counts @ counts))
    return product / square if norm and product >= limit * norm else None


def _size_of(value: Any) -> float | None:
    """Return a number, or the length of a list of numbers; None for anything else."""
    if isinstance(value, list):
        is_numeric = all(isinstance(item, int | float) for item in value)
        return len(value) if is_numeric else None
    return value if is_number(value) else None


def _write_count(count: Callable[[str], int], value: Any, old: str, new: str) -> Any:
    return type(value)(count(new))


def _write_length(
    slope: float, longest: list[Any] | None, value: Any, old: str, new: str
) -> Any:
    """Change a count, or the length of a list, by the slope for the added characters.

    An empty list gets the items of the `longest` one.
    """
    change = slope * (len(new) - len(old))
    if not isinstance(value, list):
        return type(value)(max(0, round(value + change)))
    size = max(1, round(len(value) + change))
    filled = value or longest or []
    inner = filled[:-1] or filled
    last = filled[-1:]  # which may end the text
    repeats = size // len(inner) + 1
    return [*(inner * repeats)[: size - 1], *last]


# --- copies and parts of the text


def _write_copy(value: Any, old: str, new: str) -> Any:
    """Replace a text in a value, including its lists and objects."""
    if isinstance(value, str):
        return value.replace(old, new) if old else value
    if isinstance(value, list):
        return [_write_copy(item, old, new) for item in value]
    if isinstance(value, dict):
        return {key: _write_copy(item, old, new) for key, item in value.items()}
    return value


def _learn_answer(sample: Sample) -> Write | None:
    """Learn which reader extracts a column's answers from the completions."""
    tags = find_tags([cell.text for cell in sample])
    inside = [extract.tag(name) for name in tags]
    behind = [extract.after(f"</{name}>", until="end") for name in tags]
    readers = [*CLEAR_MARKS.values(), *inside, *behind, *LOOSE_MARKS.values()]
    for reader in readers:
        agreed = sum(_says_same(reader(cell.text), cell.value) for cell in sample)
        if agreed >= FOLLOWS * max(1, len(sample)):
            return partial(_write_answer, reader)
    return None


def _says_same(answer: str | None, value: Any) -> bool:
    if answer is None:
        return False
    if isinstance(value, str):
        return answer.strip() == value.strip()
    number, written = read_number(answer), read_number(str(value))
    if number is None or written is None:
        return False
    return not distance(number, written)


def _write_answer(
    reader: Callable[[str], str | None], value: Any, old: str, new: str
) -> Any:
    """Read the answer of the new completion; "" or None if it has none."""
    answer = reader(new)
    if isinstance(value, str):
        return answer or ""
    number = read_decimal(answer)
    return None if number is None else type(value)(number)
