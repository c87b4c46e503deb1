"""Case stubs: completions of a log that are worth deciding on, with what the starting reward gives now."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rewardkit.analysis.diagnosis import make_views
from rewardkit.analysis.tables import highest
from rewardkit.html.excerpts import one_line
from rewardkit.primitives.texts import normal_text, words
from rewardkit.primitives.verify import read_number
from rewardkit.probes.subjects.log import prompt_text
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.outcomes import STATUSES
from rewardkit.scoring.scores import Scores
from rewardkit.starting.task import Task
from rewardkit.starting.truths import Row
from rewardkit.starting.ways import other_readings

__all__ = ["TODO", "stubs"]

TODO = "TODO: "
"""What the `why` of a case begins with that nobody has decided on."""

QUOTA = {"readings differ": 7, "at a threshold": 4, "highest reward": 4, "right": 2, "wrong": 3}
"""Kind of case -> how many there are of it, where the log has as many. Our choice."""
LONG = 20_000  # characters of a completion that nobody reads: shorter ones come first
QUOTED = 60  # characters of a value in a `why`
CLOSE = 0.25
"""Distance of a length from a limit, as a share of it, up to which it is at it. Our choice."""
Item = TypeVar("Item")


class Stub(NamedTuple):
    """A row that is worth a case, of which kind, why, and of which task."""

    row: Row
    kind: str
    why: str
    task: str


def stubs(tasks: Sequence[Task], scores: Scores) -> list[dict[str, Any]]:
    """The cases, as a case file has them: at most twenty, of different completions and many prompts."""
    places = {row: place for place, row in enumerate(scores.rollouts.table["rollout_id"].tolist())}
    pools: dict[str, list[Stub]] = {kind: [] for kind in (*QUOTA, "another")}
    for task in tasks:
        at = [places[row["rollout_id"]] for row in task.rows]
        for kind, row, why in _of_task(task, scores, at):
            pools[kind].append(Stub(row, kind, why, task.name))
    for kind, pool in pools.items():
        pool.sort(key=lambda stub: len(stub.row["completion"]) > LONG)
        pools[kind] = in_turn(pool, lambda stub: stub.task)
    counts: Counter[str] = Counter()
    cases = []
    for stub in _chosen(pools, sum(QUOTA.values())):
        counts[stub.kind] += 1
        cases.append(_case(stub, f"{stub.kind} {counts[stub.kind]}", scores.reward))
    return cases


def in_turn(items: Sequence[Item], key: Callable[[Item], Hashable]) -> list[Item]:
    """The items, the first of each key, then the second of each, and so on.

    >>> in_turn(["a1", "a2", "b1"], lambda item: item[0])
    ['a1', 'b1', 'a2']
    """
    turns: Counter[Hashable] = Counter()
    order = []
    for item in items:
        order.append(turns[key(item)])
        turns[key(item)] += 1
    return [items[at] for at in sorted(range(len(items)), key=order.__getitem__)]


def _chosen(pools: dict[str, list[Stub]], total: int) -> list[Stub]:
    """Stubs of each pool by its quota, then of those that have more; no completion twice."""
    chosen: list[Stub] = []
    done: set[Hashable] = set()
    prompts: Counter[str] = Counter()
    by_quota = [kind for kind, count in QUOTA.items() for _ in range(count)]
    for kind in [*by_quota, *list(pools) * total]:
        left = [stub for stub in pools[kind] if _key(stub.row) not in done]
        if left and len(chosen) < total:
            stub = min(left, key=lambda stub: prompts[_prompt(stub.row)])  # the first of them, as min has it
            done.add(_key(stub.row))
            prompts[_prompt(stub.row)] += 1
            chosen.append(stub)
    return sorted(chosen, key=lambda stub: list(pools).index(stub.kind))


def _key(row: Row) -> Hashable:
    return row["completion"], repr(row.get("ground_truth")), repr(row.get("data_source"))


def _prompt(row: Row) -> str:
    return repr(row.get("prompt_id", row.get("prompt")))


# --- what a task has that is worth a case: its kind, the row, why

Found = tuple[str, Row, str]


def _of_task(task: Task, scores: Scores, at: Sequence[int]) -> Iterator[Found]:
    """What is worth a case; `at` are the places of the task's rows in the scores."""
    yield from _differing(task)
    yield from _near(task, scores, at)
    tops = [highest(scores, view, 2 * QUOTA["highest reward"]) for view in make_views(scores)]
    ids = {row for table in tops for row in table["rollout_id"]}
    rewards = [float(scores.rewards[place]) for place in at]
    for row, reward in zip(task.rows, rewards, strict=True):
        if row["rollout_id"] in ids:
            why = f"read it to the end: is this worth one of the highest rewards, {reward:.3g}?"
            yield "highest reward", row, why
    yield from _plain(task)
    for place in in_turn(range(len(at)), lambda place: round(rewards[place], 2)):
        yield "another", task.rows[place], "confirm what it earns, and say why"


def _differing(task: Task) -> Iterator[Found]:
    """Rows in which the ways read different answers: first where one is right and another is not."""
    readings, found = [*task.ways, *other_readings(task.taken, task.rows, task.truth)], []
    for place in range(len(task.rows)):
        different = {_normal(value) for way in readings if (value := way.values[place]) is not None}
        missed = task.taken is None or task.taken.values[place] is None
        if len(different) > 1 or (different and missed):
            how = tuple((way.values[place] is None, way.scores[place]) for way in readings)
            found.append((-len({score for _, score in how}), -len(different), place, how))
    found.sort(key=lambda item: item[:3])
    for _, _, place, _ in in_turn(found, lambda item: item[3]):
        row = task.rows[place]
        takes = ", ".join(f"{way.short} takes {_quoted(way.values[place])}" for way in readings)
        truth = f"; the truth is {_quoted(row.get('ground_truth'))}" if task.truth.verified else ""
        yield "readings differ", row, f"say which is the answer: {takes}{truth}"


def _normal(value: str) -> str:
    number = read_number(value)
    return normal_text(value) if number is None else str(number)


def _near(task: Task, scores: Scores, at: Sequence[int]) -> Iterator[Found]:
    """Rows whose score is nearest to where it begins to fall, or to count."""
    found = []
    limits = (task.limits.full_until, task.limits.zero_from) if task.limits else ()
    for name, weight in scores.reward.weights.items():
        for place in np.flatnonzero(scores.status(name)[at] == STATUSES.index("scored")).tolist():
            value = float(scores.score(name)[at][place])
            if limits and name in ("concise", "length"):
                size = len(words(task.rows[place]["completion"]))
                said = f"{size:,} words, full credit to {limits[0]:,}, none from {limits[1]:,}"
                distance = min(abs(size - limit) / limit for limit in limits)
                is_near = distance <= CLOSE
            else:
                said, distance = "more than nothing, less than all", min(value, 1 - value)
                is_near = 0 < value < 1 and weight >= 0
            if is_near:
                found.append((distance, place, name, f"confirm that {name!r} gives {value:.3g}: {said}"))
    found.sort()
    for _, place, _, why in in_turn(found, lambda item: item[2:]):
        yield "at a threshold", task.rows[place], why


def _plain(task: Task) -> Iterator[Found]:
    """Rows whose verdict is plain: right or wrong however they are read; and those without an answer."""
    for place, row in enumerate(task.rows if task.taken is not None and task.truth.verified else ()):
        verdicts = {way.scores[place] for way in task.ways if way.values[place] is not None}
        value = _quoted(task.taken.values[place]) if task.taken else ""
        if not verdicts:
            yield "wrong", row, "confirm that there is no answer in it, and what that earns"
        elif verdicts == {1.0}:
            yield "right", row, f"confirm that {value} is right, and what it earns"
        elif verdicts == {0.0}:
            said = f"{value} is wrong beside {_quoted(row.get('ground_truth'))}"
            yield "wrong", row, f"confirm that {said}, and what it earns"


def _quoted(value: Any) -> str:
    return "nothing" if value is None else repr(one_line(str(value), QUOTED))


# --- as a case file has them


def _case(stub: Stub, name: str, reward: Reward) -> dict[str, Any]:
    """A case with what the reward gives now."""
    row = json.loads(json.dumps(stub.row, default=str))
    asked = ["completion", "ground_truth", *(name for name in reward.needs if name in row)]
    columns = {name: row[name] for name in asked if name in row}
    result = reward(**columns)
    parts = reward.parts({name: [value] for name, value in columns.items()}, 1)
    given = {
        name: round(result.scores[name], 4) if result.status[name] == "scored" else result.status[name]
        for part in parts
        for name in part.reward.names
    }
    return {
        "name": name,
        **({"prompt": prompt_text(row["prompt"])} if row.get("prompt") is not None else {}),
        **columns,
        "reward": "unscored" if math.isnan(result.reward) else round(result.reward, 4),
        "scores": given,
        "why": f"{TODO}{stub.why} (rollout {one_line(str(row['rollout_id']), QUOTED)})",
    }
