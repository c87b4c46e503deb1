"""Add columns that a log lacks: from the data set of the run, or constants."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from os.path import commonprefix
from pathlib import Path
from typing import Any

from rewardkit.errors import RolloutsError, did_you_mean, preview
from rewardkit.primitives.messages import as_list, content_text
from rewardkit.rollouts.columns import RESULT_PREFIXES, Columns, map_columns
from rewardkit.rollouts.files import read_files
from rewardkit.rollouts.values import SourceRows, key_text

COLUMNS_OF_A_RUN = frozenset(
    "rollout_id completion messages policy step reward reward_raw".split()
)
"""Columns of a run, which are left out of a join."""

SCORE_PREFIXES = (*RESULT_PREFIXES, "logged/")
"""Prefixes of columns of scores, which are left out of a join, too."""

ALIKE_CHARACTERS = 16
"""Least common prefix of two similar prompts in an error. Our choice."""

MOST_COMPARED = 1_000
"""Rows of a data set that are searched for a similar prompt. Our choice."""

_SPECIAL = re.compile(
    r"<\|(?P<bar>[^<>|\s]{1,60})\|>|<｜(?P<wide>[^<>｜]{1,60})｜>|\[\|(?P<square>[a-z]{1,20})\|\]"
    r"|\[(?P<inst>/?INST)\]|</?s>|<(?:bos|eos|pad)>|<(?:start|end)_of_turn>|<</?SYS>>|</?think(?:ing)?>"
)
"""Special tokens around messages in the chat templates of eight families."""

_OPEN_TAG = re.compile(r"<[A-Za-z][\w-]{0,40}>\s*\Z")
"""A tag that a template opens for the model, such as <THINK> or <reasoning>."""

_USER = "user human instruction question inst user_token"
_ASSISTANT = "assistant model gpt ai bot response /inst chatbot_token"
_ROLES = {  # as templates name them -> ours
    **dict.fromkeys(_USER.split(), "user"),
    **dict.fromkeys(_ASSISTANT.split(), "assistant"),
    **dict.fromkeys(("system", "developer", "system_token"), "system"),
    "tool": "tool",
}
_NAMES = "|".join(filter(str.isalpha, _ROLES))
_TURN = re.compile(
    r"(?:(?<![ \t])(?P<line>user|assistant|model|system|developer|tool)[ "
    r"\t*]*(?:\n|\Z)"
    rf"|(?P<colon>{_NAMES})[ \t*]*[:：])[\s*]*",
    re.IGNORECASE,
)
"""The start of a turn; some logs lack the line break before it."""

Match = tuple[Sequence[int], bool]
"""The matching rows of a data set, and whether only the last question matches."""


@dataclass(frozen=True)
class DataSet:
    """A data set to join, with canonical columns and the number of unreadable rows."""

    name: str
    columns: Columns
    rejected: int
    _rows_by_key: dict[str, dict[str, list[int]]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def of(cls, source: Any) -> DataSet:
        """Read a file, folder, table or dicts; RolloutsError: there are no rows."""
        name = str(source) if isinstance(source, str | Path) else "the joined table"
        rows = SourceRows.joined(read_files(source, {}))
        rejected = len(rows.rejected)
        if rows.is_empty:
            raise RolloutsError(
                f"{name!r} has no rows to join ({rejected} cannot be read)"
            )
        canonical = {old: new for new, old in map_columns(rows.columns, {}).items()}
        columns = {}
        for old, cells in rows.columns.items():
            columns[canonical.get(old, old)] = cells
        return cls(name, columns, rejected)

    def rows_by_key(self, on: str) -> dict[str, list[int]]:
        """Return the rows of each key of a column; the index is built once."""
        if on not in self._rows_by_key:
            rows_by_key: dict[str, list[int]] = {}
            for row, value in enumerate(self.columns[on]):
                for key in dict.fromkeys(_keys(value, on)[:2]):
                    rows_by_key.setdefault(key, []).append(row)
            self._rows_by_key[on] = rows_by_key
        return self._rows_by_key[on]


def join_columns(
    columns: Columns,
    data: DataSet,
    *,
    on: str = "prompt",
    without: Collection[str] = (),
    is_part: bool = False,
) -> tuple[Columns, str, list[str]]:
    """Fill missing values from rows of a data set with the same `on`.

    Values of the log are kept. A value stays missing if several matching rows differ.

    Args:
        columns: The columns of the log.
        data: The data set.
        on: The column to match, see `match`.
        without: Columns that are not joined.
        is_part: Whether these rows are a part of a log, of which none need match.

    Returns:
        The filled columns, a note, and warnings.

    Raises:
        RolloutsError: One side lacks the column `on`, or nothing matches.

    >>> log = {"prompt": ["2+2?", "5+5?"], "completion": ["4", "7"]}
    >>> data = DataSet.of([{"question": "2+2? ", "answer": "4"}])
    >>> join_columns(log, data)[0]["ground_truth"]
    ['4', None]
    """
    name = data.name
    joined = data.columns
    _check_key(on, columns, data)
    matches = match(columns[on], data, on)
    count = len(matches)
    matched = sum(bool(partners) for partners, _ in matches)
    if not matched and not is_part:
        raise RolloutsError(
            f"no row of the rollouts matches {name!r} by {on}: "
            f"{_describe_unmatched(columns[on][0], joined[on], on)}; is it "
            "the set of this run, and the right column?"
        )
    filled = dict(columns)
    new_columns = []
    gains = []
    left_out = []
    differences = []
    for column, cells in joined.items():
        if column in {*COLUMNS_OF_A_RUN, *without} or column.startswith(SCORE_PREFIXES):
            left_out.append(column)
        elif column != on:
            logged = columns.get(column, [None] * count)
            may_cut = column != "ground_truth"
            result = _fill(logged, cells, matches, may_cut=may_cut)
            filled[column] = result.cells
            missing = logged.count(None)
            gain = missing - filled[column].count(None)
            if missing == count:
                new_columns.append(column)
            elif gain:
                gains.append(f"filled {gain} missing values of {column}")
            differences += _describe_differences(result, column, count, name)
    new_names = ", ".join(new_columns)
    clauses = [
        f"joined {name!r} by {on}: {matched} of {count} rows matched",
        f"brought {new_names or 'no column'}",
        *gains,
    ]
    if left_out:
        clauses.append(f"left out {', '.join(left_out)}")
    if data.rejected:
        differences.append(
            f"{data.rejected} rows of {name!r} cannot be read and were not joined"
        )
    warnings = _warn_of_matches(matches, name, on, new_names or "nothing")
    return filled, "; ".join(clauses), [*warnings, *differences]


def _describe_unmatched(value: Any, cells: Sequence[Any], on: str) -> str:
    """Show a value and the most similar one of a data set, from their difference on."""
    alike = f"the rollouts have {preview(value)}, the data set {preview(cells[0])}"
    longest = ALIKE_CHARACTERS - 1
    our_keys = dict.fromkeys(_keys(value, on)[:2])
    for cell in cells[:MOST_COMPARED]:
        their_keys = dict.fromkeys(_keys(cell, on)[:2])
        for ours, theirs in product(our_keys, their_keys):
            same = len(commonprefix([ours, theirs]))  # noqa: RUF071  (texts, not paths)
            if same > longest:
                longest = same
                alike = (
                    f"after {ours[same - ALIKE_CHARACTERS : same]!r} the rollouts have "
                    f"{preview(ours[same:])}, the data set {preview(theirs[same:])}"
                )
    return alike


def _describe_differences(
    result: FilledColumn, column: str, count: int, name: str
) -> list[str]:
    """Count the rows whose matches differ in a column, or differ from the log."""
    sentences = []
    several = f"of {count} rows match several rows of {name!r} that differ in"
    if result.ambiguous:
        sentences.append(f"{result.ambiguous} {several} {column}: left missing")
    if result.cut:
        keys = ", ".join(f"{column}[{key!r}]" for key in result.keys)
        sentences.append(f"{result.cut} {several} {keys}: left out of {column} there")
    if result.different:
        sentences.append(
            f"{column} is in the log and in {name!r} and differs in "
            f"{result.different} rows: kept from the log"
        )
    return sentences


def _check_key(on: str, columns: Columns, data: DataSet) -> None:
    """Raise a RolloutsError if one side lacks the column to join on."""
    tables = {"the rollouts have": columns, f"{data.name!r} has": data.columns}
    for subject, table in tables.items():
        if on not in table:
            hint = did_you_mean(on, table)
            raise RolloutsError(f"the join is on {on!r}; {subject} {list(table)}{hint}")


def _warn_of_matches(
    matches: Sequence[Match], name: str, on: str, new_names: str
) -> list[str]:
    """Describe rows without a match, or of which only the last question matches."""
    warnings = []
    unmatched = sum(not rows for rows, _ in matches)
    if unmatched:
        warnings.append(
            f"{unmatched} of {len(matches)} rows match no row of {name!r} by {on}: "
            f"they lack {new_names}"
        )
    by_question = sum(is_by_question for _, is_by_question in matches)
    if by_question:
        warnings.append(
            f"{by_question} of {len(matches)} rows have turns before the question that "
            f"no row of {name!r} has; make sure they are examples, not another "
            "conversation"
        )
    return warnings


@dataclass(frozen=True)
class FilledColumn:
    """A column of a log, filled from the matching rows of a data set.

    It counts rows: `different` rows have another value in the log; `ambiguous` rows
    stay missing, as their matches differ; `cut` rows have objects without `keys`, in
    which their matches differ.
    """

    cells: list[Any]
    different: int
    ambiguous: int
    cut: int
    keys: tuple[str, ...]


def _fill(
    logged: Sequence[Any],
    joined: Sequence[Any],
    matches: Sequence[Match],
    *,
    may_cut: bool,
) -> FilledColumn:
    """Fill missing cells of a column with the common value of the matching rows.

    If they `may_cut`, objects that differ are reduced to the keys in which they agree.
    """
    cells = list(logged)
    ambiguous = different = cut = 0
    keys: dict[str, None] = {}
    for row, (partners, _) in enumerate(matches):
        if not partners:
            continue
        values = [joined[partner] for partner in partners]
        value = values[0]
        is_missing = cells[row] is None
        if any(other != value for other in values):
            shared = _shared_part(values) if is_missing and may_cut else {}
            if shared:
                cells[row] = shared
                cut += 1
                all_keys = chain.from_iterable(values)
                keys |= dict.fromkeys(key for key in all_keys if key not in shared)
            else:
                ambiguous += is_missing
        elif is_missing:
            cells[row] = value
        elif value is not None:
            different += cells[row] != value
    return FilledColumn(cells, different, ambiguous, cut, tuple(keys))


def _shared_part(values: Sequence[Any]) -> dict[str, Any]:
    """Return the items in which all objects agree, {} if a value is not an object.

    A key that one object lacks is left out, even if its value is None in the others.
    """
    first, *others = values
    if not all(isinstance(value, Mapping) for value in values):
        return {}
    shared = dict(first)
    for other in others:
        keys = [key for key in shared if key in other and other[key] == shared[key]]
        shared = {key: shared[key] for key in keys}
    return shared


def fill_columns(
    columns: Columns, fill: Mapping[str, Any]
) -> tuple[Columns, list[str]]:
    """Fill missing values with constants; return the columns, and a note on each."""
    filled = dict(columns)
    notes = []
    rows = len(columns["completion"])
    for name, value in fill.items():
        logged = columns.get(name, [None] * rows)
        filled[name] = [value if cell is None else cell for cell in logged]
        notes.append(f"set {name} to {value!r} in {logged.count(None)} of {rows} rows")
    return filled, notes


def match(log: Sequence[Any], data: DataSet, on: str) -> list[Match]:
    r"""Find the data-set rows of each logged value, or of its last question.

    Texts match up to white space, other values as JSON. Prompts are compared by their
    turns, without roles and special tokens: all turns; else those without the system
    prompt; else only the user's last turn, if the model spoke before (few-shot examples
    that the data set lacks).

    >>> data = DataSet.of([{"prompt": "3+3?"}, {"prompt": "2+2?"}])
    >>> match(["system\nBe brief.\nuser\n2+2?\nassistant\n"], data, "prompt")
    [([1], False)]
    """
    rows_by_key = data.rows_by_key(on)
    texts = list(map(repr, log))
    by_text: dict[str, Match] = {}
    for text, value in zip(texts, log, strict=True):
        if text in by_text:
            continue
        by_text[text] = ((), False)
        for place, key in enumerate(_keys(value, on)):
            if key in rows_by_key:
                by_text[text] = (rows_by_key[key], place == 2)
                break
    return [by_text[text] for text in texts]


def _keys(value: Any, on: str) -> list[str]:
    """Return the texts by which a value is compared, the most reliable first."""
    if on == "prompt":
        return _prompt_keys(value)
    if isinstance(value, str):
        return [" ".join(unicodedata.normalize("NFC", value).split())]
    if value is None:
        return []
    return [f"json {key_text(value)}"]


def _prompt_keys(prompt: Any) -> list[str]:
    """Return a prompt with and without its system prompt, and its last question."""
    turns = _turns(prompt)
    is_open = turns[-1:] == [("assistant", "")]  # the model's turn begins
    if is_open and len(turns) > 1 and not turns[0][0]:
        turns[0] = ("system", turns[0][1])
    others = [turn for turn in turns if turn[0] != "system"]
    if not any(text for _, text in others):
        return []
    keys = [_joined_texts(turns), _joined_texts(others)]
    if is_open and [role for role, _ in others[-3:-1]] == ["assistant", "user"]:
        keys.append(others[-2][1])
    return keys


def _joined_texts(turns: Sequence[tuple[str, str]]) -> str:
    return " ".join(text for _, text in turns if text)


def _turns(prompt: Any) -> list[tuple[str, str]]:
    """Return the role ("" if unnamed) and the text of each turn of a prompt."""
    messages = as_list(prompt)
    text = ""
    if messages is None:
        if prompt is not None:
            text = str(prompt)
    else:
        messages = [message for message in messages if isinstance(message, Mapping)]
        # a prefilled answer
        if messages and messages[-1].get("role") == "assistant":
            messages.pop()
        for message in messages:
            content = content_text(message.get("content"))
            text += f"\n{message.get('role')}\n{content}\n"
        text += "\nassistant\n"
    text = _OPEN_TAG.sub("", unicodedata.normalize("NFC", text))
    text = _SPECIAL.sub(_line, text)
    turns = []
    start = 0
    role = ""
    for mark in _TURN.finditer(text):
        turns.append((role, _plain(text[start : mark.start()])))
        start = mark.end()
        role = _ROLES[(mark["line"] or mark["colon"]).lower()]
    turns.append((role, _plain(text[start:])))
    return turns if turns[0][1] else turns[1:]


def _line(token: re.Match[str]) -> str:
    """Return a special token as a line with the name of its role, or an empty one."""
    name = token[token.lastgroup or 0].lower()
    role = _ROLES.get(name)
    return f"\n{role}\n" if role else "\n"


def _plain(text: str) -> str:
    """Return a text for comparison, without the trailing marks of "### Response:"."""
    return " ".join(text.split()).rstrip("#* ")
