"""Case stubs: completions of a log that are worth deciding on, with what the starting reward gives now."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from rewardkit.answers.truths import Row
from rewardkit.html.excerpts import one_line
from rewardkit.primitives import extract
from rewardkit.primitives.texts import normal_text, words
from rewardkit.primitives.verify import read_number
from rewardkit.probes.subjects.log import in_turn, prompt_text
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.scores import Scores
from rewardkit.starting.extractions import extracted
from rewardkit.starting.task import Task

TODO = "TODO: "
"""What the `why` of a case begins with that nobody has decided on."""

QUOTA = {
    "readings differ": 7,
    "at a threshold": 4,
    "highest reward": 4,
    "right": 2,
    "wrong": 3,
}
"""Kind of case -> how many there are of it, where the log has as many. Our choice."""
LONG = 20_000  # characters of a completion that nobody reads: shorter ones come first
QUOTED = 60  # characters of a value in a `why`
CLOSE = 0.25
"""Distance of a length from a limit, as a share of it, up to which it is at it. Our choice."""


class Stub(NamedTuple):
    """A row that is worth a case, of which kind, why, and of which task."""

    kind: str
    row: Row
    why: str
    task: int


def stubs(tasks: Sequence[Task], scores: Scores) -> list[dict[str, Any]]:
    """The cases, as a case file has them: at most twenty, of different completions and many prompts."""
    places = {
        row: place
        for place, row in enumerate(scores.rollouts.table["rollout_id"].tolist())
    }
    found = [
        Stub(*worth, number)
        for number, task in enumerate(tasks)
        for worth in _of_task(
            task, scores, [places[row["rollout_id"]] for row in task.rows]
        )
    ]
    found.sort(key=lambda stub: len(stub.row["completion"]) > LONG)
    chosen = _chosen(in_turn(found, lambda stub: (stub.kind, stub.task)))
    return [_case(stub, scores.reward) for stub in chosen]


def _chosen(found: Sequence[Stub]) -> list[Stub]:
    """Stubs of each kind by its quota, then of those that have more; no completion twice."""
    by_quota, kinds = list(Counter(QUOTA).elements()), [*QUOTA, "another"]
    taken: list[Stub] = []
    for kind in [*by_quota, *kinds * len(by_quota)]:
        done, prompts = {_asked(stub) for stub in taken}, Counter(map(_prompt, taken))
        left = [
            stub for stub in found if stub.kind == kind and _asked(stub) not in done
        ]
        if left:
            taken.append(
                min(left, key=lambda stub: prompts[_prompt(stub)])
            )  # of several the first
        if len(taken) == len(by_quota):
            break
    return sorted(taken, key=lambda stub: kinds.index(stub.kind))


def _asked(stub: Stub) -> Hashable:
    """What no two cases have in common."""
    return (
        stub.row["completion"],
        repr(stub.row.get("ground_truth")),
        repr(stub.row.get("data_source")),
    )


def _prompt(stub: Stub) -> str:
    return repr(stub.row.get("prompt_id", stub.row.get("prompt")))


# --- what a task has that is worth a case


def _of_task(
    task: Task, scores: Scores, at: Sequence[int]
) -> Iterator[tuple[str, Row, str]]:
    """Kinds of cases, rows that are worth one, and why; `at` are the places of the rows in the scores."""
    rewards = scores.rewards[at].tolist()
    yield from _differing(task)
    yield from _near(task, scores, at)
    rows = list(zip(rewards, task.rows, strict=True))
    paid = sorted(
        {(reward, row["completion"]) for reward, row in rows if not math.isnan(reward)}
    )
    highest = [reward for reward, _ in paid[-QUOTA["highest reward"] :]]
    for reward, row in rows:
        if reward in highest:
            why = f"read it to the end: is this worth one of the highest rewards, {reward:.3g}?"
            yield "highest reward", row, why
    yield from _plain(task)
    for place in in_turn(range(len(at)), lambda place: round(rewards[place], 2)):
        yield "another", task.rows[place], "confirm what it earns, and say why"


def _differing(task: Task) -> Iterator[tuple[str, Row, str]]:
    """Rows in which answers are read differently: first where one reading is right and another is not.

    Where the last number is taken for the answer, marked or not, the first one is a reading, too.
    """
    readings, found = list(task.extractions), []
    if task.chosen is not None and task.chosen.extractor == extract.number():
        readings.append(extracted(extract.number(which="first"), task.rows, task.truth))
    for place in range(len(task.rows)):
        different = {
            _normal(value)
            for one in readings
            if (value := one.values[place]) is not None
        }
        missed = task.chosen is None or task.chosen.values[place] is None
        if len(different) > 1 or (different and missed):
            how = tuple(
                (one.values[place] is None, one.scores[place]) for one in readings
            )
            found.append(
                (-len({score for _, score in how}), -len(different), place, how)
            )
    found.sort(key=lambda item: item[:3])
    for _, _, place, _ in in_turn(found, lambda item: item[3]):
        row = task.rows[place]
        takes = ", ".join(
            f"{one.short} takes {_quoted(one.values[place])}" for one in readings
        )
        truth = (
            f"; the truth is {_quoted(row.get('ground_truth'))}"
            if task.truth.verified
            else ""
        )
        yield "readings differ", row, f"say which is the answer: {takes}{truth}"


def _normal(value: str) -> str:
    number = read_number(value)
    return normal_text(value) if number is None else str(number)


def _near(
    task: Task, scores: Scores, at: Sequence[int]
) -> Iterator[tuple[str, Row, str]]:
    """Rows whose score is nearest to where it begins to fall, or to count."""
    found, limits = [], task.limits
    for name, weight in scores.reward.weights.items():
        for place, value in enumerate(scores.score(name)[at].tolist()):
            said, distance = "more than nothing, less than all", min(value, 1 - value)
            is_near = 0 < value < 1 and weight >= 0
            if limits and name in ("concise", "length"):
                size = len(words(task.rows[place]["completion"]))
                said = f"{size:,} words, full credit to {limits[0]:,}, none from {limits[1]:,}"
                distance = min(abs(size - limit) / limit for limit in limits[:2])
                is_near = distance <= CLOSE
            if is_near and not math.isnan(value):
                found.append(
                    (
                        distance,
                        place,
                        name,
                        f"confirm that {name!r} gives {value:.3g}: {said}",
                    )
                )
    for _, place, _, why in in_turn(sorted(found), lambda item: item[2:]):
        yield "at a threshold", task.rows[place], why


def _plain(task: Task) -> Iterator[tuple[str, Row, str]]:
    """Rows whose verdict is plain: right or wrong however they are read; and those without an answer."""
    if task.chosen is None or not task.truth.verified:
        return
    for place, row in enumerate(task.rows):
        verdicts = {
            one.scores[place]
            for one in task.extractions
            if one.values[place] is not None
        }
        kind = "right" if verdicts == {1.0} else "wrong" if verdicts == {0.0} else ""
        value, truth = task.chosen.values[place], _quoted(row.get("ground_truth"))
        if not verdicts:
            yield (
                "wrong",
                row,
                "confirm that there is no answer in it, and what that earns",
            )
        elif kind and value is not None:
            yield (
                kind,
                row,
                f"confirm that {_quoted(value)} is {kind} beside {truth}, and what it earns",
            )


def _quoted(value: Any) -> str:
    return "nothing" if value is None else repr(one_line(str(value), QUOTED))


def _case(stub: Stub, reward: Reward) -> dict[str, Any]:
    """A case as a case file has it, with what the reward gives now."""
    row = json.loads(json.dumps(stub.row, default=str))
    columns = {
        name: row[name]
        for name in ("completion", "ground_truth", *reward.needs)
        if name in row
    }
    result = reward(**columns)
    given = {
        name: round(result.scores[name], 4)
        if result.status[name] == "scored"
        else result.status[name]
        for name in reward.branches[stub.task].names
    }
    prompt = (
        {"prompt": prompt_text(row["prompt"])} if row.get("prompt") is not None else {}
    )
    paid = "unscored" if math.isnan(result.reward) else round(result.reward, 4)
    why = f"{TODO}{stub.why} (rollout {one_line(str(row['rollout_id']), QUOTED)})"
    return {
        "name": stub.kind,
        **prompt,
        **columns,
        "reward": paid,
        "scores": given,
        "why": why,
    }
