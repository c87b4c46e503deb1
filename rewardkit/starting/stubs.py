"""Case stubs: completions of a log to decide on, with what the first reward gives."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from rewardkit.answers import Row
from rewardkit.html.excerpts import one_line
from rewardkit.primitives import extract
from rewardkit.primitives.messages import prompt_text
from rewardkit.primitives.texts import normal_text, words
from rewardkit.primitives.verify import read_number
from rewardkit.probes.subjects.log import in_turn
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.scores import Scores
from rewardkit.starting.extractions import measure_extractor
from rewardkit.starting.task import Task

TODO = "TODO: "
"""Beginning of the `why` of a case that nobody has decided on."""

QUOTA = {
    "readings differ": 7,
    "at a threshold": 4,
    "highest reward": 4,
    "right": 2,
    "wrong": 3,
}
"""Kind of case -> how many of it, where the log has as many. Our choice."""

ANOTHER = "another"  # kind of the cases that fill up where a kind has too few
LONGEST_READ_FIRST = 20_000
"""Characters of a completion; longer ones come last, as nobody reads them."""
LONGEST_IN_WHY = 60  # characters of a value in a `why`
NEAR_LIMIT = 0.25
"""Distance of a length from a limit, as a share of it, that is near. Our choice."""


class Stub(NamedTuple):
    """A row that is worth a case, of which kind, why, and the number of its task."""

    kind: str
    row: Row
    why: str
    task: int

    @property
    def identity(self) -> Hashable:
        """What no two cases have in common."""
        columns = ("ground_truth", "data_source")
        others = [repr(self.row.get(name)) for name in columns]
        return (self.row["completion"], *others)

    @property
    def prompt(self) -> str:
        """What tells its prompt from others."""
        return repr(self.row.get("prompt_id", self.row.get("prompt")))


def write_stubs(tasks: Sequence[Task], scores: Scores) -> list[dict[str, Any]]:
    """Return up to twenty cases, as a case file has them.

    They are of different completions and many prompts.
    """
    ids = scores.rollouts.table["rollout_id"].tolist()
    place_of = {rollout_id: place for place, rollout_id in enumerate(ids)}
    stubs = []
    for number, task in enumerate(tasks):
        places = [place_of[row["rollout_id"]] for row in task.rows]
        for kind, row, why in _find_rows(task, scores, places):
            stubs.append(Stub(kind, row, why, number))
    stubs.sort(key=lambda stub: len(stub.row["completion"]) > LONGEST_READ_FIRST)
    chosen = _choose(in_turn(stubs, lambda stub: (stub.kind, stub.task)))
    return [_write_case(stub, scores.reward) for stub in chosen]


def _choose(stubs: Sequence[Stub]) -> list[Stub]:
    """Choose stubs of each kind by its quota, then of kinds that have more.

    No completion is chosen twice.
    """
    by_quota = list(Counter(QUOTA).elements())
    kinds = [*QUOTA, ANOTHER]
    chosen: dict[Hashable, Stub] = {}
    prompts: Counter[str] = Counter()
    for kind in [*by_quota, *kinds * len(by_quota)]:
        options = []
        for stub in stubs:
            if stub.kind == kind and stub.identity not in chosen:
                options.append(stub)
        if options:
            stub = min(options, key=lambda option: prompts[option.prompt])
            chosen[stub.identity] = stub
            prompts[stub.prompt] += 1
        if len(chosen) == len(by_quota):
            break
    return sorted(chosen.values(), key=lambda stub: kinds.index(stub.kind))


# --- what a task has that is worth a case

Worth = tuple[str, Row, str]
"""Kind of a case, its row, and why it is worth one."""


def _find_rows(task: Task, scores: Scores, places: Sequence[int]) -> Iterator[Worth]:
    """Yield rows that are worth a case; `places` are those of the rows in `scores`."""
    yield from _find_differing(task)
    yield from _find_near_thresholds(task, scores, places)
    rewards = scores.rewards[places].tolist()
    yield from _find_highest(task, rewards)
    yield from _find_plain(task)
    order = in_turn(range(len(places)), lambda place: round(rewards[place], 2))
    for place in order:
        yield ANOTHER, task.rows[place], "confirm what it earns, and say why"


def _find_highest(task: Task, rewards: Sequence[float]) -> Iterator[Worth]:
    rows = list(zip(rewards, task.rows, strict=True))
    different = set()
    for reward, row in rows:
        if not math.isnan(reward):
            different.add((reward, row["completion"]))
    highest = sorted(different)[-QUOTA["highest reward"] :]
    levels = {reward for reward, _ in highest}
    for reward, row in rows:
        if reward in levels:
            question = f"is this worth one of the highest rewards, {reward:.3g}?"
            yield "highest reward", row, f"read it to the end: {question}"


def _find_differing(task: Task) -> Iterator[Worth]:
    """Yield rows in which ways to read the answer differ.

    First those where one way is right and another is not. Where the last number is
    taken for the answer, the first one is a way, too.
    """
    ways = list(task.extractions)
    if task.chosen is not None and task.chosen.extractor == extract.number():
        first = extract.number(which="first")
        ways.append(measure_extractor(first, task.rows, task.truth))
    differing = []
    for place in range(len(task.rows)):
        answers = set()
        pattern = []  # rows of one pattern differ in the same ways
        for way in ways:
            value = way.values[place]
            pattern.append((value is None, way.scores[place]))
            if value is not None:
                answers.add(_normalize(value))
        is_missed = task.chosen is None or task.chosen.values[place] is None
        if len(answers) > 1 or (answers and is_missed):
            scores = {score for _, score in pattern}
            differing.append((-len(scores), -len(answers), place, tuple(pattern)))
    differing.sort(key=lambda entry: entry[:3])
    for _, _, place, _ in in_turn(differing, lambda entry: entry[3]):
        row = task.rows[place]
        readings = []
        for way in ways:
            readings.append(f"{way.short_code} takes {_quote(way.values[place])}")
        why = f"say which is the answer: {', '.join(readings)}"
        if task.truth.verified:
            why += f"; the truth is {_quote(row.get('ground_truth'))}"
        yield "readings differ", row, why


def _normalize(value: str) -> str:
    number = read_number(value)
    return normal_text(value) if number is None else str(number)


def _find_near_thresholds(
    task: Task, scores: Scores, places: Sequence[int]
) -> Iterator[Worth]:
    """Yield rows whose score is nearest to where it begins to fall, or to count."""
    near = []
    for name, weight in scores.reward.weights.items():
        for place, value in enumerate(scores.score(name)[places].tolist()):
            if math.isnan(value):
                continue
            description = "more than nothing, less than all"
            distance = min(value, 1 - value)
            is_near = 0 < value < 1 and weight >= 0
            if task.limits and name in ("concise", "length"):
                full, zero, _ = task.limits
                size = len(words(task.rows[place]["completion"]))
                credit = f"full credit to {full:,}, none from {zero:,}"
                description = f"{size:,} words, {credit}"
                distance = min(abs(size - full) / full, abs(size - zero) / zero)
                is_near = distance <= NEAR_LIMIT
            if is_near:
                why = f"confirm that {name!r} gives {value:.3g}: {description}"
                near.append((distance, place, name, why))
    for _, place, _, why in in_turn(sorted(near), lambda entry: entry[2:]):
        yield "at a threshold", task.rows[place], why


def _find_plain(task: Task) -> Iterator[Worth]:
    """Yield rows that are right, or wrong, in every way, or have no answer."""
    if task.chosen is None or not task.truth.verified:
        return
    for place, row in enumerate(task.rows):
        verdicts = set()
        for way in task.extractions:
            if way.values[place] is not None:
                verdicts.add(way.scores[place])
        if not verdicts:
            why = "confirm that there is no answer in it, and what that earns"
            yield "wrong", row, why
            continue
        answer = task.chosen.values[place]
        if answer is not None and verdicts in ({1.0}, {0.0}):
            kind = "right" if verdicts == {1.0} else "wrong"
            truth = _quote(row.get("ground_truth"))
            verdict = f"{_quote(answer)} is {kind} beside {truth}"
            yield kind, row, f"confirm that {verdict}, and what it earns"


def _quote(value: Any) -> str:
    if value is None:
        return "nothing"
    return repr(one_line(str(value), LONGEST_IN_WHY))


def _write_case(stub: Stub, reward: Reward) -> dict[str, Any]:
    """Return a case as a case file has it, with what the reward gives now."""
    row = json.loads(json.dumps(stub.row, default=str))
    wanted = ("completion", "ground_truth", *reward.needs)
    columns = {name: row[name] for name in wanted if name in row}
    result = reward(**columns)
    scores: dict[str, float | str] = {}
    for name in reward.branches[stub.task].names:
        scores[name] = result.status[name]
        if result.status[name] == "scored":
            scores[name] = round(result.scores[name], 4)
    prompt = {}
    if row.get("prompt") is not None:
        prompt["prompt"] = prompt_text(row["prompt"])
    is_unscored = math.isnan(result.reward)
    rollout_id = one_line(str(row["rollout_id"]), LONGEST_IN_WHY)
    return {
        "name": stub.kind,
        **prompt,
        **columns,
        "reward": "unscored" if is_unscored else round(result.reward, 4),
        "scores": scores,
        "why": f"{TODO}{stub.why} (rollout {rollout_id})",
    }
