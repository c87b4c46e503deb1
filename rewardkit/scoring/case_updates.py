"""Updates of a case file: what a person accepts of a reward that has changed."""

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
        expected: A value, a range or a status; of two completions `ABOVE` or `BELOW`,
            which is better, or `EQUAL`; `DROPPED` to take the case out of the file.
    """

    case: str
    part: str
    expected: Any


def propose_updates(result: CheckResult) -> list[Update]:
    """Return for each miss the update under which the case would pass, if any."""
    updates = []
    for miss in result.misses:
        if miss.proposed is not None:
            updates.append(Update(miss.case, miss.what, miss.proposed))
    return updates


def update_cases(path: str | Path, updates: Iterable[Update]) -> int:
    """Write updates to a case file, whole or not at all.

    Lines of other cases keep their bytes, and keys their order. A case that is updated
    is decided: TODO is taken from its `why`.

    Returns:
        The number of cases that changed.

    Raises:
        CasesError: the file cannot be read as cases, or has no such case.
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
    """Return a case, as a file has it, after an update."""
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
    """Return a case of two completions after it was decided which is better."""
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
    """Let cases name other components in the place of one, whole or not at all.

    With one name the component was renamed, and all that is expected of it stays. With
    several it was split, and what a part gives now is no expectation: nothing is
    expected of the parts, and a case that expects nothing else is undecided. An order
    goes by the first part that has it, and stays as it is where none has.

    Returns:
        The number of cases that changed.

    Raises:
        CasesError: the file cannot be read or names no such component, or the reward
            lacks one of `names`.
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
    of_order: dict[str, str] = {}
    if is_split:
        outcomes = evaluate_cases(reward, cases, timeout)
        for case, row in numbered(cases):
            for name in names if case.below is not None else ():
                if Expectation(case, name, row, below=row + 1).is_met(outcomes):
                    of_order.setdefault(case.name, name)

    def edit(case_name: str, raw: Record) -> Record:
        case = dict(raw)
        if raw.get("component") == old:
            otherwise = old if is_split else names[0]
            case["component"] = of_order.get(case_name, otherwise)
        if old in raw.get("scores", {}):
            if is_split:
                return _without_split(case, old, names)
            case["scores"] = _rename_key(raw["scores"], old, names[0])
        return case

    return _rewrite(path, edit)


def _without_split(raw: Plain, old: str, names: Sequence[str]) -> Record:
    """Return a case without what it expects of a component that was split.

    Its `why` says what that was. It is undecided unless it expects something else.
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
    """Return a dict with a key in the place of one; a key that is there stays."""
    renamed: Record = {}
    for key, value in scores.items():
        name = new if key == old else key
        renamed[name] = scores.get(name, value)
    return renamed


def suggest_component(
    reward: Reward, cases: Iterable[Case], old: str, *, timeout: float | None = None
) -> str:
    """Return the component that meets most of what cases expect of one that is gone.

    Of those that meet as much the one with the nearest name; "" where none meets
    anything.
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
    near = [name for name in best if did_you_mean(old, [name])]
    return next(iter([*near, *best]), "")


def _rewrite(path: str | Path, edit: Callable[[str, Record], Record | None]) -> int:
    """Write a case file anew after an edit of its cases; return how many changed.

    The line of a case that an edit makes None of is taken out.
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
