"""Cases: completions with the reward that people decided they should get."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import CasesError, did_you_mean, preview
from rewardkit.plain import Plain, Record, is_finite_number
from rewardkit.primitives.messages import assistant_text
from rewardkit.rollouts.columns import ALIASES, free_name
from rewardkit.rollouts.lines import json_lines
from rewardkit.rollouts.paths import (
    GALLERY_PREFIX,
    place_to_write,
    resolve,
    write_content,
)
from rewardkit.scoring.expected import TOLERANCE, Expected

WHOLE: Final = ""
"""The name of the whole reward in place of a component's."""

TODO: Final = "TODO"
"""Start of the `why` of an undecided case."""

OWN_KEYS: Final = (
    "name",
    "why",
    "reward",
    "scores",
    "tolerance",
    "above",
    "below",
    "equal",
    "pair",
    "component",
)
"""Keys of a case that are not columns."""

PAIR_KEYS: Final = (("above", "below"), ("equal",), ("pair",))
"""Keys of two completions: an order, equally good ones, or undecided ones."""

SHARED_KEYS: Final = ("prompt", "prompt_id", "ground_truth")
"""Columns that two compared completions share."""


@dataclass(frozen=True)
class Case:
    """A completion with its expected reward, or an order of two completions.

    Attributes:
        name: The unique name of the case.
        columns: The completion and its other columns; for an order, those of the
            completion that should get more.
        reward: The expected reward, if any.
        scores: Component -> expected score.
        why: The explanation; for an undecided case, the question to decide.
        below: Columns of the completion that should get less, None without an order.
        component: The component that the order is about, "" for the reward.
        is_equal: Whether both completions should get the same.
    """

    name: str
    columns: Plain
    reward: Expected | None = None
    scores: Mapping[str, Expected] = field(default_factory=dict)
    why: str = ""
    below: Plain | None = None
    component: str = WHOLE
    is_equal: bool = False

    @property
    def is_undecided(self) -> bool:
        """Return whether the case is undecided: it neither passes nor fails."""
        return self.why.lstrip().startswith(TODO)

    @property
    def rows(self) -> tuple[Plain, ...]:
        """Return the columns of each completion: of one, or of two."""
        return (self.columns,) if self.below is None else (self.columns, self.below)

    @property
    def parts(self) -> tuple[str, ...]:
        """Return the components with expectations, "" standing for the reward."""
        names = [] if self.reward is None else [WHOLE]
        if self.below is not None:
            names.append(self.component)
        return (*names, *self.scores)


CaseSource = str | Path | Iterable[Case | Plain]


def load_cases(source: CaseSource) -> list[Case]:
    """Load cases from a JSONL file, dicts, or "gallery:arithmetic" for bundled ones.

    A case is an object. Its keys, beside any columns (`prompt`, `ground_truth` ...):

    - `completion`, with `reward`, `scores` (component -> expectation), or both. An
      expectation is a value (a number, within `tolerance`, by default 0.01), a range
      [low, high], or a status: "unscored", "gated", "abstained", "error".
    - Or `above` and `below`, an order: two objects with a `completion` each, of the
      same prompt. The first should get more, of the reward or of a `component`. Or
      `equal`, a list of two such objects that should get the same; or `pair`, such a
      list of an undecided case.
    - `name`, and `why`. If `why` begins with TODO the case is undecided: it neither
      passes nor fails, and needs no expectation yet.

    Raises:
        CasesError: The file is missing, a line is broken, a case lacks a completion or
            an expectation, or a name occurs twice.

    >>> load_cases([{"completion": "4", "reward": 1.0}])[0].reward.low
    0.99
    >>> order = {"above": {"completion": "4"}, "below": {"completion": "5"}}
    >>> load_cases([order])[0].rows
    ({'completion': '4'}, {'completion': '5'})
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
    """Read one case. CasesError: it is invalid; the message names `where`."""
    if isinstance(raw, Case):
        return raw
    if not isinstance(raw, Mapping):
        raise CasesError(
            f"{where} is {raw!r}; a case is an object with a completion and what is "
            "expected"
        )
    _check_keys(raw, where)
    name, why = str(raw.get("name", f"line {line}")), str(raw.get("why", ""))
    for keys in PAIR_KEYS:
        if not raw.keys().isdisjoint(keys):
            return _read_order(raw, where, name, why, keys)
    tolerance, scores = raw.get("tolerance", TOLERANCE), raw.get("scores", {})
    if not is_finite_number(tolerance) or tolerance < 0:
        raise CasesError(f"{where}: tolerance={tolerance!r} is not a number from 0")
    if not isinstance(scores, Mapping):
        raise CasesError(
            f"{where}: scores={scores!r} is not an object of component: expected"
        )
    columns = _read_columns(raw, where)
    reward = None
    if "reward" in raw:
        reward = Expected.parse(raw["reward"], tolerance, where)
    by_component = {}
    for component, value in scores.items():
        expected = Expected.parse(value, tolerance, f"{where}: {component}")
        by_component[str(component)] = expected
    case = Case(name, columns, reward, by_component, why)
    if not case.parts and not case.is_undecided:
        raise CasesError(
            f"{where}: a case needs an expectation, 'reward', 'scores', or 'above' and "
            f"'below', or a 'why' that begins with {TODO}; this one has {list(raw)}"
        )
    return case


def _read_order(
    raw: Plain, where: str, name: str, why: str, keys: Sequence[str]
) -> Case:
    """Read a case of two completions under `keys`, one of `PAIR_KEYS`."""
    labels = " and ".join(map(repr, keys))
    for key in ("completion", "messages", "reward", "scores", "tolerance"):
        if key in raw:
            raise CasesError(
                f"{where}: {key!r} is of one completion, and {labels} of two; write a "
                "case for each"
            )
    for key in chain.from_iterable(PAIR_KEYS):
        if key in raw and key not in keys:
            raise CasesError(f"{where}: {labels} and {key!r} say different things")
    objects = {key: raw.get(key) for key in keys}
    if len(keys) == 1:
        (both,) = objects.values()
        if not isinstance(both, list) or len(both) != 2:
            raise CasesError(
                f"{where}: {labels} is {preview(both)}; write a list of two objects "
                "with a completion each"
            )
        objects = {f"{keys[0]}[{place}]": both[place] for place in (0, 1)}
    shared = {key: value for key, value in raw.items() if key not in OWN_KEYS}
    columns = []
    for key, item in objects.items():
        if not isinstance(item, Mapping):
            raise CasesError(
                f"{where}: {key}={preview(item)} is no object with a completion; "
                "give two, each with its own"
            )
        misplaced_keys = sorted({*SHARED_KEYS} & item.keys())
        if misplaced_keys:
            raise CasesError(
                f"{where}: {key!r} has a {misplaced_keys[0]!r} of its own; an order is "
                "of two completions of the same prompt, so write it beside 'above'"
            )
        columns.append(_read_columns({**shared, **item}, f"{where}: {key!r}"))
    component = raw.get("component", WHOLE)
    if not isinstance(component, str):
        raise CasesError(f"{where}: component={component!r} is no name of a component")
    is_equal = keys == ("equal",)
    case = Case(name, columns[0], None, {}, why, columns[1], component, is_equal)
    if keys == ("pair",) and not case.is_undecided:
        raise CasesError(
            f"{where}: nothing says which of the 'pair' is better; put them under "
            "'above' and 'below', or under 'equal' where none is"
        )
    return case


def _read_columns(raw: Plain, where: str) -> Record:
    """Read the columns of a completion. CasesError: it has no completion."""
    raw = {**raw, **_columns_by_alias(raw)}
    if "completion" not in raw and "messages" not in raw:
        raise CasesError(
            f"{where}: a case needs a completion; this one has {list(raw)}"
        )
    columns = {str(key): value for key, value in raw.items() if key not in OWN_KEYS}
    text = columns.get("completion", columns.get("messages"))
    columns["completion"] = assistant_text(text)
    return columns


def _check_keys(raw: Mapping[Any, Any], where: str) -> None:
    """Raise a CasesError if a key is a misspelt one of `OWN_KEYS`."""
    for key in raw:
        slip = _describe_slip(str(key))
        if slip and key not in (*OWN_KEYS, "score"):
            raise CasesError(f"{where}: {key!r} is not a key of a case{slip}")


@cache
def _describe_slip(key: str) -> str:
    return did_you_mean(key, OWN_KEYS, likeness=0.8)


def _columns_by_alias(raw: Plain) -> Record:
    """Return columns under their canonical names, as a log's row may use others."""
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
    """Return the cases of a source; unlike `load_cases`, accept an empty list."""
    if isinstance(source, Iterable) and not isinstance(source, str | Path | Mapping):
        source = list(source)
        cases = [case for case in source if isinstance(case, Case)]
        if len(cases) == len(source):
            return cases
    return load_cases(source)


def append_cases(path: str | Path, cases: Iterable[Plain]) -> int:
    """Add cases to a JSONL file; create it if it is missing.

    A case with the content of an existing one is skipped, and a name that exists gets a
    number. Existing lines are not changed, and the file is replaced atomically.

    Returns:
        The number of added cases.

    Raises:
        CasesError: The file cannot be read as cases, a case is invalid or cannot be
            written as JSON, or the path is of the cases that come with rewardkit.
        InputError: The folder does not exist.

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
    file = case_file(path)
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
        line = as_line({"name": name, **case} | {"name": name})
        if _content_of(case) not in contents:
            contents.add(_content_of(case))
            names.add(name)
            lines.append(line)
    if not lines:
        return 0
    if before and not before.endswith(b"\n"):
        before += b"\n"
    write_content(file, before + b"".join(lines))
    return len(lines)


def case_file(path: str | Path) -> Path:
    """Return the path of a case file to write. Errors as in `append_cases`."""
    if str(path).startswith(GALLERY_PREFIX):
        raise CasesError(
            f"{str(path)!r} are cases that come with rewardkit; give a case file of "
            "your own"
        )
    return place_to_write(path)


def as_line(case: Plain) -> bytes:
    """Return a case as a line of JSON, lone surrogates escaped."""
    try:
        text = json.dumps(case, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise CasesError(
            f"case {case.get('name')!r} cannot be written as JSON ({error}); give "
            "texts, numbers, lists and dicts"
        ) from None
    return f"{text}\n".encode("utf-8", "backslashreplace")


def _content_of(case: Plain) -> str:
    """Return a key of the content of a case: all but its name and why."""
    content = {key: value for key, value in case.items() if key not in ("name", "why")}
    return json.dumps(content, sort_keys=True, default=preview)
