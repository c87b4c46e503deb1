"""Update a case file after a person accepted what a changed reward gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from rewardkit.errors import CasesError, did_you_mean
from rewardkit.plain import Plain, Record
from rewardkit.rewards.reward import Reward
from rewardkit.rollouts.paths import write_content
from rewardkit.scoring.cases import (
    PAIR_KEYS,
    TODO,
    Case,
    as_line,
    case_file,
    load_cases,
)
from rewardkit.scoring.check import evaluate_cases
from rewardkit.scoring.check_result import (
    ABOVE,
    BELOW,
    DROPPED,
    EQUAL,
    REWARD,
    CheckResult,
)
from rewardkit.scoring.expectations import Expectation, numbered


@dataclass(frozen=True)
class Update:
    """A decision on what a case expects of the reward or a component.

    Attributes:
        case: Name of the case.
        part: "reward", or the component.
        expected: A value, a range or a status. For two completions `ABOVE`, `BELOW` or
            `EQUAL`. `DROPPED` removes the case from the file.
    """

    case: str
    part: str
    expected: Any


def propose_updates(result: CheckResult) -> list[Update]:
    """Return the updates under which missed cases would pass."""
    updates = []
    for miss in result.misses:
        if miss.proposed is not None:
            updates.append(Update(miss.case, miss.what, miss.proposed))
    return updates


def update_cases(path: str | Path, updates: Iterable[Update]) -> int:
    """Write updates to a case file, whole or not at all.

    Lines of other cases keep their bytes, and keys their order. An updated case is
    decided, so TODO is removed from its `why`.

    Returns:
        The number of cases that changed.

    Raises:
        CasesError: The file cannot be read as cases, or lacks a case.
    """
    by_case: dict[str, list[Update]] = {}
    for update in updates:
        by_case.setdefault(update.case, []).append(update)
    names = {case.name for case in load_cases(path)}
    for name in by_case:
        if name not in names:
            raise CasesError(
                f"{str(path)!r} has no case {name!r}, so nothing was written"
                f"{did_you_mean(name, names)}"
            )

    def edit(name: str, raw: Record) -> Record | None:
        for update in by_case.get(name, ()):
            if update.expected == DROPPED:
                return None
            raw = _updated(raw, update)
        return raw

    return _rewrite(path, edit)


def _updated(raw: Record, update: Update) -> Record:
    """Return the JSON object of a case after an update."""
    case = dict(raw)
    if update.expected in (ABOVE, BELOW, EQUAL):
        case = _with_order(raw, update.expected)
    else:
        scores = raw.get("scores", {})
        if update.part in scores and (update.part != REWARD or REWARD not in raw):
            case["scores"] = {**scores, update.part: update.expected}
        else:
            case[REWARD] = update.expected
    why = str(raw.get("why", "")).lstrip()
    if why.startswith(TODO):
        case["why"] = why.removeprefix(TODO).lstrip(": ")
    return case


def _with_order(raw: Plain, decision: str) -> Record:
    """Return a case of two completions after the decision which is better."""
    first, second = raw.get("pair") or raw.get("equal") or (raw["above"], raw["below"])
    if decision == EQUAL:
        decided: Record = {"equal": [first, second]}
    elif decision == ABOVE:
        decided = {"above": first, "below": second}
    else:
        decided = {"above": second, "below": first}
    case: Record = {}
    for key, value in raw.items():
        if key in chain(*PAIR_KEYS):
            case |= decided
        else:
            case[key] = value
    return case


def replace_component(
    path: str | Path,
    reward: Reward,
    old: str,
    names: Sequence[str],
    *,
    timeout: float | None = None,
) -> int:
    """Replace the name of a component in a case file, whole or not at all.

    One name means that the component was renamed: its expectations stay. Several names
    mean that it was split: its expectations are removed, as the parts' present scores
    were not decided by anyone, and a case without other expectations is undecided. An
    order is assigned to the first part that meets it, if any.

    Args:
        path: The case file.
        reward: The changed reward.
        old: The component that is gone.
        names: Components of the reward that replace it.
        timeout: Seconds for each call of a user's function.

    Returns:
        The number of cases that changed.

    Raises:
        CasesError: The file cannot be read or does not name the component, or the
            reward lacks one of `names`.
    """
    for name in names:
        if name not in reward.names:
            raise CasesError(
                f"reward {reward.name!r} has no component {name!r} to stand for "
                f"{old!r}; it has {list(reward.names)}"
                f"{did_you_mean(name, reward.names)}"
            )
    cases = [case for case in load_cases(path) if old in case.parts]
    if not cases or not names:
        raise CasesError(f"no case of {str(path)!r} names a component {old!r}")
    is_split = len(names) > 1
    order_parts = {}
    if is_split:
        order_parts = _find_order_parts(reward, cases, names, timeout)

    def edit(case_name: str, raw: Record) -> Record:
        case = dict(raw)
        if raw.get("component") == old:
            default = old if is_split else names[0]
            case["component"] = order_parts.get(case_name, default)
        if old in raw.get("scores", {}):
            if is_split:
                return _without_split(case, old, names)
            case["scores"] = _rename_key(raw["scores"], old, names[0])
        return case

    return _rewrite(path, edit)


def _find_order_parts(
    reward: Reward, cases: Sequence[Case], names: Sequence[str], timeout: float | None
) -> dict[str, str]:
    """Return for each order the first of these components that meets it, by case."""
    parts: dict[str, str] = {}
    outcomes = evaluate_cases(reward, cases, timeout)
    for case, row in numbered(cases):
        if case.below is None:
            continue
        for name in names:
            if Expectation(case, name, row, below=row + 1).is_met(outcomes):
                parts.setdefault(case.name, name)
    return parts


def _without_split(raw: Plain, old: str, names: Sequence[str]) -> Record:
    """Return a case without the expectation of a component that was split.

    Its `why` records the expectation. Without another one the case is undecided.
    """
    case = dict(raw)
    scores = dict(raw["scores"])
    question = f"{old} was to be {json.dumps(scores.pop(old))} before it was split"
    question += f"; what are {', '.join(names)} to be?"
    case["scores"] = scores
    if not scores:
        del case["scores"]
    why = str(raw.get("why", ""))
    if scores or REWARD in case:
        case["why"] = f"{why} ({question})".lstrip()
    else:
        case["why"] = f"{TODO}: {question} {why}".rstrip()
    return case


def _rename_key(scores: Plain, old: str, new: str) -> Record:
    """Return a dict with a key renamed, unless the new key exists already."""
    renamed: Record = {}
    for key, value in scores.items():
        name = new if key == old else key
        renamed[name] = scores.get(name, value)
    return renamed


def suggest_component(
    reward: Reward, cases: Iterable[Case], old: str, *, timeout: float | None = None
) -> str:
    """Return the component that meets most expectations of a removed component.

    Ties go to the most similar name. "" if no component meets any.
    """
    cases = [case for case in cases if old in case.parts]
    outcomes = evaluate_cases(reward, cases, timeout)
    met = dict.fromkeys(reward.names, 0)
    for case, row in numbered(cases):
        below = None if case.below is None else row + 1
        for name in reward.names:
            item = Expectation(case, name, row, case.scores.get(old), below)
            met[name] += item.is_met(outcomes)
    most = max(met.values(), default=0)
    best = [name for name, count in met.items() if count == most > 0]
    similar = [name for name in best if did_you_mean(old, [name])]
    return next(iter([*similar, *best]), "")


def _rewrite(path: str | Path, edit: Callable[[str, Record], Record | None]) -> int:
    """Edit each case of a file; return the number of changed cases.

    `edit` gets the name and the JSON object of a case; None removes the case.
    """
    file = case_file(path)
    load_cases(file)
    with file.open("rb") as content:
        lines = list(content)
    changed = 0
    for at, line in enumerate(lines):
        if not line.strip():
            continue
        raw = json.loads(line.decode("utf-8-sig"))
        case = edit(str(raw.get("name", f"line {at + 1}")), raw)
        if case is None:
            lines[at] = b""
            changed += 1
        elif case != raw:
            load_cases([case])
            ending = line[len(line.rstrip()) :]
            lines[at] = as_line(case).rstrip(b"\n") + ending
            changed += 1
    if changed:
        write_content(file, b"".join(lines))
    return changed
