"""Cases, written by hand: completions with what a reward or judge should give."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from rewardkit.errors import CasesError, did_you_mean, preview
from rewardkit.primitives.messages import assistant_text
from rewardkit.rewards.reward import Floats, Rows
from rewardkit.rollouts.columns import ALIASES, Columns, free_name
from rewardkit.rollouts.files import json_lines, read_files
from rewardkit.rollouts.paths import (
    GALLERY_PREFIX,
    place_to_write,
    resolve,
    write_whole,
)
from rewardkit.rollouts.values import SourceRows
from rewardkit.scoring.outcomes import STATUSES

TOLERANCE: Final = 0.01
"""How far a score may be from an expected number where a case says nothing else."""

ROUNDING: Final = 1e-9
"""A difference in the last digits of a float is no miss."""

OWN_KEYS: Final = ("name", "why", "reward", "scores", "tolerance")
"""Keys of a case that are no columns."""

EXPECTED_STATUSES: Final = ("unscored", *STATUSES[1:])


@dataclass(frozen=True)
class Expected:
    """An expectation: a range [low, high], or a status, "unscored" for all but scored.

    `written` is how it stands in the case.
    """

    low: float = math.nan
    high: float = math.nan
    status: str = "scored"
    written: Any = None

    @classmethod
    def read(cls, value: Any, tolerance: float, where: str) -> Expected:
        """Read a number (± tolerance), [low, high], or the name of a status.

        Raises:
            CasesError: it is anything else.
        """
        if isinstance(value, str) and value in EXPECTED_STATUSES:
            return cls(status=value, written=value)
        if _is_number(value):
            return cls(value - tolerance, value + tolerance, written=value)
        if isinstance(value, list | tuple) and len(value) == 2:
            if all(map(_is_number, value)) and value[0] <= value[1]:
                return cls(value[0], value[1], written=list(value))
        raise CasesError(
            f"{where} expects {value!r}; write a number, a range [low, high], or one "
            f"of {', '.join(EXPECTED_STATUSES)}"
        )

    def met_by(self, score: float, status: str) -> bool:
        """Return whether a score with this status is what was expected."""
        if self.status == "unscored":
            return status != "scored"
        if self.status != "scored":
            return status == self.status
        is_in_range = self.low - ROUNDING <= score <= self.high + ROUNDING
        return status == "scored" and is_in_range


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


@dataclass(frozen=True)
class Case:
    """One completion with its columns and what a reward is expected to give.

    `reward`, or `scores` by component, or both.
    """

    name: str
    columns: Mapping[str, Any]
    reward: Expected | None = None
    scores: Mapping[str, Expected] = field(default_factory=dict)
    why: str = ""


LabelledCases = str | Path | Iterable[Mapping[str, Any]]
CaseSource = str | Path | Iterable[Case | Mapping[str, Any]]


def load_cases(source: CaseSource) -> list[Case]:
    """Load cases from a JSONL file, dicts, or "gallery:arithmetic" for bundled ones.

    Keys are any column (`completion`, `ground_truth` ...), `reward` and `scores` with
    what is expected (a number, a range [low, high], or "unscored", "gated",
    "abstained", "error"), `tolerance` of the numbers (default 0.01), `name` and `why`.

    Raises:
        CasesError: no such file, a broken line, a case without completion or
            expectation, a name twice.

    >>> load_cases([{"completion": "4", "reward": 1.0}])[0].reward.low
    0.99
    """
    if isinstance(source, str | Path):
        path = resolve(source, "cases.jsonl")
        cases, place = _read_file(path), str(path)
    elif isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise CasesError(
            f"cases={preview(source)} are no cases; give a list of them, or the path "
            "of a case file"
        )
    else:
        numbered = enumerate(source, start=1)
        cases = [_read_case(raw, f"case {line}", line) for line, raw in numbered]
        place = "case"
    if not cases:
        raise CasesError(f"{source!s} has no cases; give one a line")
    ((name, times),) = Counter(case.name for case in cases).most_common(1)
    if times > 1:
        raise CasesError(
            f"{place}: two cases are called {name!r}; give each a name of its own"
        )
    return cases


def _read_file(path: Path) -> list[Case]:
    if not path.is_file():
        raise CasesError(
            f"there is no case file {str(path)!r}; give a JSONL file with one case a "
            "line"
        )
    cases = []
    for place, raw in json_lines(path):
        where = f"{path}:{place.line}"
        if isinstance(raw, ValueError):
            raise CasesError(f"{where}: {raw}; each line is one case as a JSON object")
        if not isinstance(raw, Mapping):
            raise CasesError(
                f"{where}: a row is an object, not {preview(raw)}; each line is one "
                "case as a JSON object"
            )
        cases.append(_read_case(raw, where, place.line))
    return cases


def _read_case(raw: Any, where: str, line: int) -> Case:
    """Read one case. CasesError: it is none, and `where` it stands."""
    if isinstance(raw, Case):
        return raw
    if not isinstance(raw, Mapping):
        raise CasesError(
            f"{where} is {raw!r}; a case is an object with a completion and what is "
            "expected"
        )
    _check_keys(raw, where)
    tolerance, scores = raw.get("tolerance", TOLERANCE), raw.get("scores", {})
    if not _is_number(tolerance) or tolerance < 0:
        raise CasesError(f"{where}: tolerance={tolerance!r} is not a number from 0")
    raw = {**raw, **_columns_by_alias(raw)}
    if "completion" not in raw and "messages" not in raw:
        raise CasesError(
            f"{where}: a case needs a completion; this one has {list(raw)}"
        )
    if not isinstance(scores, Mapping):
        raise CasesError(
            f"{where}: scores={scores!r} is not an object of component: expected"
        )
    if "reward" not in raw and not scores:
        raise CasesError(
            f"{where}: a case needs an expectation, 'reward' or 'scores'; this one has "
            f"{list(raw)}"
        )
    columns = {str(key): value for key, value in raw.items() if key not in OWN_KEYS}
    text = columns.get("completion", columns.get("messages"))
    columns["completion"] = assistant_text(text)
    reward = None
    if "reward" in raw:
        reward = Expected.read(raw["reward"], tolerance, where)
    by_component = {}
    for name, value in scores.items():
        expected = Expected.read(value, tolerance, f"{where}: {name}")
        by_component[str(name)] = expected
    name, why = str(raw.get("name", f"line {line}")), str(raw.get("why", ""))
    return Case(name, columns, reward, by_component, why)


def _check_keys(raw: Mapping[Any, Any], where: str) -> None:
    """Raise a CasesError where a key is a slip of one of `OWN_KEYS`."""
    for key in raw:
        near = _find_near(str(key))
        if near and key not in (*OWN_KEYS, "score"):
            raise CasesError(
                f"{where}: {key!r} is not a key of a case; did you mean {near[0]!r}?"
            )


@cache
def _find_near(key: str) -> list[str]:
    return get_close_matches(key, OWN_KEYS, n=1, cutoff=0.8)


def _columns_by_alias(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that stand under another name, as in a copied row of a log."""
    columns = {}
    for name in ("prompt", "completion", "ground_truth"):
        if name in raw or (name == "completion" and "messages" in raw):
            continue
        for alias in ALIASES[name]:
            if alias in raw:
                columns[name] = raw[alias]
                break
    return columns


def cases_of(source: CaseSource) -> list[Case]:
    """Return the cases of a source; no cases, unlike in `load_cases`, are no error."""
    if isinstance(source, Iterable) and not isinstance(source, str | Path | Mapping):
        source = list(source)
        cases = [case for case in source if isinstance(case, Case)]
        if len(cases) == len(source):
            return cases
    return load_cases(source)


def append_cases(path: str | Path, cases: Iterable[Mapping[str, Any]]) -> int:
    """Add cases to a JSONL file, which is made where there is none.

    A case that asks and expects what one of the file does is passed over; a name that
    is in use gets a number. Lines that are there are not touched, and a reader sees the
    old file or the new one.

    Returns:
        The number of cases that were added.

    Raises:
        CasesError: the file cannot be read as cases, a case is none or cannot be
            written as JSON; these are the cases that come with rewardkit.
        InputError: there is no such folder.

    >>> from tempfile import TemporaryDirectory
    >>> case = {"name": "four", "completion": "4", "reward": 1.0}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "cases.jsonl"
    ...     same, other = {**case, "name": "again"}, {**case, "completion": "IV"}
    ...     append_cases(path, [case, same, other])
    ...     print(path.read_text(), end="")
    2
    {"name": "four", "completion": "4", "reward": 1.0}
    {"name": "four (2)", "completion": "IV", "reward": 1.0}
    """
    if str(path).startswith(GALLERY_PREFIX):
        raise CasesError(
            f"{str(path)!r} are cases that come with rewardkit; give a case file of "
            "your own"
        )
    file = place_to_write(path)
    before = file.read_bytes() if file.is_file() else b""
    names: set[str] = set()
    contents: set[str] = set()
    if before.strip():
        names = {case.name for case in load_cases(file)}
        contents = {_content_of(case) for _, case in json_lines(file)}
    lines: list[bytes] = []
    for case in cases:
        load_cases([case])
        name = free_name(str(case.get("name", "case")), names, "{} ({})")
        line = _as_line({"name": name, **case} | {"name": name})
        if _content_of(case) not in contents:
            contents.add(_content_of(case))
            names.add(name)
            lines.append(line)
    if not lines:
        return 0
    if before and not before.endswith(b"\n"):
        before += b"\n"
    text = before + b"".join(lines)
    write_whole(file, lambda temporary: temporary.write_bytes(text))
    return len(lines)


def _as_line(case: Mapping[str, Any]) -> bytes:
    """Write a case as a line of JSON; half a character as an escape."""
    try:
        text = json.dumps(case, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise CasesError(
            f"case {case['name']!r} cannot be written as JSON ({error}); give texts, "
            "numbers, lists and dicts"
        ) from None
    return f"{text}\n".encode("utf-8", "backslashreplace")


def _content_of(case: Mapping[str, Any]) -> str:
    """Return what a case asks and expects, as a key: all but its name and why."""
    content = {key: value for key, value in case.items() if key not in ("name", "why")}
    return json.dumps(content, sort_keys=True, default=preview)


def read_labelled(
    cases: LabelledCases, label: str, levels: Mapping[str, float]
) -> tuple[Columns, Floats, Rows]:
    """Read cases with what people say that a judge should say of them.

    The prompt of a case is its `prompt_id`, else its `prompt`; without any each case
    has its own.

    Args:
        cases: a file, or dicts of columns.
        label: the column of labels: a level, a number in [0, 1], or a bool.
        levels: level -> its score.

    Returns:
        The columns but `label`, and of each case, (cases,), the score that it should
        get, NaN without a label, and the code of its prompt.

    Raises:
        CasesError: there are none, what is no object, a label that is none, no label.
    """
    columns = _columns(cases)
    count = len(next(iter(columns.values()), ()))
    labels = _labels(columns.pop(label, [None] * count), levels, label)
    owner = columns.get("prompt_id", columns.get("prompt", list(range(count))))
    prompts = np.unique([repr(value) for value in owner], return_inverse=True)[1]
    return columns, labels, np.asarray(prompts, dtype=np.intp)


def _columns(cases: LabelledCases) -> Columns:
    """Read cases as columns. CasesError: none, or what is no object."""
    if not isinstance(cases, str | Path | Iterable) or isinstance(cases, Mapping):
        raise CasesError(
            f"cases are a JSONL file or dicts, each with a label, not {preview(cases)}"
        )
    if isinstance(cases, str | Path):
        cases = resolve(cases, "cases.jsonl")
    rows = SourceRows.joined(read_files(cases, {}))
    for place in rows.rejected:
        raise CasesError(f"case at {place.place}: {place.reason}")
    if not rows.places:
        raise CasesError("there are no cases; give one a line, each with a label")
    return rows.columns


def _labels(cells: Sequence[Any], levels: Mapping[str, float], label: str) -> Floats:
    """Return the score that each case should get, NaN without a label, (cases,)."""
    labels = np.full(len(cells), np.nan)
    for row, value in enumerate(cells):
        if isinstance(value, str) and value in levels:
            labels[row] = levels[value]
        elif isinstance(value, int | float) and 0 <= value <= 1:
            labels[row] = float(value)
        elif value is not None:
            choices = f"one of {', '.join(map(repr, levels))}, " if levels else ""
            near = did_you_mean(value, levels) if isinstance(value, str) else ""
            raise CasesError(
                f"case {row + 1}: {preview(value)} in {label!r} does not fit; give "
                f"{choices}a number in [0, 1], or true or false{near}"
            )
    if np.isnan(labels).all():
        raise CasesError(
            f"no case has a {label!r}; give each the level or score that it should get"
        )
    return labels
