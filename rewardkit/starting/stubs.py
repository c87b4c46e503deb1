"""Case stubs: completions of a log that are worth deciding on, with what the starting reward gives now."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

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
from rewardkit.starting.ways import Way, other_readings

__all__ = ["TODO", "stubs"]

TODO = "TODO: "
"""What the `why` of a case begins with that nobody has decided on."""

QUOTA = {"readings differ": 7, "at a threshold": 4, "highest reward": 4, "right": 2, "wrong": 3}
"""Kind of case -> how many there are of it, where the log has as many. Our choice."""
LONG = 20_000  # characters of a completion that nobody reads: shorter ones come first
QUOTED = 60  # characters of a value in a `why`
CLOSE = 0.25
"""Distance of a length from a limit, as a share of it, up to which it is at it. Our choice."""
SCORED = STATUSES.index("scored")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Stub:
    """A row that is worth a case, of which kind, and why."""

    row: Row
    kind: str
    why: str
    task: str = ""


def stubs(tasks: Sequence[Task], scores: Scores) -> list[dict[str, Any]]:
    """The cases, as a case file has them: at most twenty, of different completions and many prompts."""
    places = {row: place for place, row in enumerate(scores.rollouts.table["rollout_id"].tolist())}
    ids = _highest(scores)
    pools: dict[str, list[Stub]] = {kind: [] for kind in (*QUOTA, "another")}
    for task in tasks:
        at = [places[row["rollout_id"]] for row in task.rows]
        for stub in _of_task(task, scores, at, ids):
            pools[stub.kind].append(stub)
    for kind, pool in pools.items():
        pools[kind] = in_turn(sorted(pool, key=lambda stub: len(stub.row["completion"]) > LONG), _task)
    chosen = _chosen(pools, sum(QUOTA.values()))
    counts: Counter[str] = Counter()
    cases = []
    for stub in chosen:
        counts[stub.kind] += 1
        cases.append(_case(stub, counts[stub.kind], scores.reward))
    return cases


def _task(stub: Stub) -> str:
    return stub.task


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

    def take(kind: str, count: int) -> None:
        for _ in range(count):
            left = [stub for stub in pools[kind] if _key(stub.row) not in done]
            if not left or len(chosen) == total:
                return
            stub = min(left, key=lambda stub: prompts[_prompt(stub.row)])  # the first of them, as min has it
            done.add(_key(stub.row))
            prompts[_prompt(stub.row)] += 1
            chosen.append(stub)

    for kind, count in QUOTA.items():
        take(kind, count)
    while len(chosen) < total:
        before = len(chosen)
        for kind in pools:
            take(kind, 1)
        if len(chosen) == before:
            break
    return sorted(chosen, key=lambda stub: list(pools).index(stub.kind))


def _key(row: Row) -> Hashable:
    return row["completion"], repr(row.get("ground_truth")), repr(row.get("data_source"))


def _prompt(row: Row) -> str:
    return repr(row.get("prompt_id", row.get("prompt")))


# --- what a task has that is worth a case


def _of_task(task: Task, scores: Scores, at: Sequence[int], ids: set[Any]) -> Iterator[Stub]:
    yield from _differing(task)
    yield from _near(task, scores, at)
    for row, place in zip(task.rows, at, strict=True):
        if row["rollout_id"] in ids:
            why = (
                f"read it to the end: is this worth one of the highest rewards, {scores.rewards[place]:.3g}?"
            )
            yield Stub(row, "highest reward", why, task.name)
    yield from _plain(task)
    order = in_turn(range(len(at)), lambda place: round(float(scores.rewards[at[place]]), 2))
    for place in order:
        yield Stub(task.rows[place], "another", "confirm what it earns, and say why", task.name)


def _highest(scores: Scores) -> set[Any]:
    """Ids of the best-paid rows, of different prompts and words."""
    count = 2 * QUOTA["highest reward"]
    return {row for view in make_views(scores) for row in highest(scores, view, count)["rollout_id"]}


def _differing(task: Task) -> Iterator[Stub]:
    """Rows in which the ways read different answers: first where one is right and another is not."""
    found, readings = [], (*task.ways, *other_readings(task.taken, task.rows, task.truth))
    for place in range(len(task.rows)):
        read = {way: way.values[place] for way in readings}
        different = {_normal(value) for value in read.values() if value is not None}
        mine = task.taken.values[place] if task.taken else None
        if len(different) > 1 or (different and mine is None):
            verdicts = {way.scores[place] for way in read}
            found.append((-len(verdicts), -len(different), place))
    order = [place for *_, place in sorted(found)]
    for place in in_turn(order, lambda place: tuple(_how(way, place) for way in readings)):
        row = task.rows[place]
        takes = ", ".join(f"{_said(way)} takes {_quoted(way.values[place])}" for way in readings)
        truth = f"; the truth is {_quoted(row.get('ground_truth'))}" if task.truth.verified else ""
        yield Stub(row, "readings differ", f"say which is the answer: {takes}{truth}", task.name)


def _how(way: Way, place: int) -> tuple[bool, float | None]:
    return way.values[place] is None, way.scores[place]


def _normal(value: str) -> str:
    number = read_number(value)
    return normal_text(value) if number is None else str(number)


def _near(task: Task, scores: Scores, at: Sequence[int]) -> Iterator[Stub]:
    """Rows whose score is nearest to where it begins to fall, or to count."""
    found = []
    limits, penalties = task.limits, {name for name, weight in scores.reward.weights.items() if weight < 0}
    for name in scores.reward.names:
        values, scored = scores.score(name), scores.status(name) == SCORED
        for place, row in enumerate(task.rows):
            value = float(values[at[place]])
            if not scored[at[place]]:
                continue
            if limits is not None and name in ("concise", "length"):
                size = len(words(row["completion"]))
                edges = limits.full_until, limits.zero_from
                said = f"{size:,} words, full credit to {edges[0]:,}, none from {edges[1]:,}"
                distance = min(abs(size - edge) / edge for edge in edges)
                if distance > CLOSE:
                    continue
            elif 0 < value < 1 and name not in penalties:
                said, distance = "more than nothing, less than all", min(value, 1 - value)
            else:
                continue
            found.append((distance, place, name, f"confirm that {name!r} gives {value:.3g}: {said}"))
    found.sort()
    for _, place, _, why in in_turn(found, lambda item: (item[2], item[3])):
        yield Stub(task.rows[place], "at a threshold", why, task.name)


def _plain(task: Task) -> Iterator[Stub]:
    """Rows whose verdict is plain: right or wrong however they are read; and those without an answer."""
    if task.taken is None or not task.truth.verified:
        return
    for place, row in enumerate(task.rows):
        verdicts = {way.scores[place] for way in task.ways if way.values[place] is not None}
        value, truth = _quoted(task.taken.values[place]), _quoted(row.get("ground_truth"))
        if not verdicts:
            yield Stub(row, "wrong", "confirm that there is no answer in it, and what that earns", task.name)
        elif verdicts == {1.0}:
            yield Stub(row, "right", f"confirm that {value} is right, and what it earns", task.name)
        elif verdicts == {0.0}:
            why = f"confirm that {value} is wrong beside {truth}, and what it earns"
            yield Stub(row, "wrong", why, task.name)


def _said(way: Way) -> str:
    return "the completion itself" if way.extractor is None else repr(way.extractor)


def _quoted(value: Any) -> str:
    return "nothing" if value is None else repr(one_line(str(value), QUOTED))


# --- as a case file has them


def _case(stub: Stub, number: int, reward: Reward) -> dict[str, Any]:
    """A case with what the reward gives now."""
    row = {name: _plain_value(value) for name, value in stub.row.items()}
    asked = [name for name in reward.needs if name not in ("completion", "ground_truth") and name in row]
    columns = {name: row[name] for name in ("completion", "ground_truth", *asked) if name in row}
    result = reward(**columns)
    parts = reward.parts({name: [value] for name, value in columns.items()}, 1)
    given = {
        name: round(result.scores[name], 4) if result.status[name] == "scored" else result.status[name]
        for part in parts
        for name in part.reward.names
    }
    judged = result.reward == result.reward
    return {
        "name": f"{stub.kind} {number}",
        **({"prompt": prompt_text(row["prompt"])} if row.get("prompt") is not None else {}),
        **columns,
        "reward": round(result.reward, 4) if judged else "unscored",
        "scores": given,
        "why": f"{TODO}{stub.why} (rollout {one_line(str(row['rollout_id']), QUOTED)})",
    }


def _plain_value(value: Any) -> Any:
    """A value as JSON has it."""
    return (
        value if isinstance(value, str | int | float | None) else json.loads(json.dumps(value, default=str))
    )
