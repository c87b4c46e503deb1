"""Completions that the log lacks and a policy can reach: longer and shorter ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rewardkit.analysis.rehearsal.kinds import Kind, form_of
from rewardkit.analysis.statistics import (
    Codes,
    Floats,
    finite,
    group_stats,
    spread_out,
)
from rewardkit.analysis.view import View
from rewardkit.errors import InputError
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.route import bind
from rewardkit.rollouts.values import column_values
from rewardkit.scoring.deadlines import TimeLimit, time_limit
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.prints import caught_prints

FACTORS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""How many times as long as its model a longer completion is. Our choice."""
RATIO = 0.02
"""Chance of a kind that the log lacks, as a part of that of its parent. Our choice."""
MOST_LADDERS = 4
"""Kinds that are made longer: those that hold most, and those that are paid best."""
MODELS = 8
"""Completions of a kind that are made longer, right and wrong ones."""
HALF = 0.5
"""What must be done of the task for a completion to be right."""
CHARACTERS_A_TOKEN = 4
"""Of English text under common tokenizers. Our choice."""
TIMEOUT = 2.0
"""Seconds that a reward may take for a longer completion. Our choice."""
END_OF_THOUGHT = re.compile(r"</(?:think|thinking|reasoning|thought|scratchpad)>", re.I)
WORD = re.compile(r"\S+\s*")
FROM_TEXT = re.compile(r"(?i)(?:.*_)?(?:ids|tokens?|length|logprobs?|messages|turns)")
"""Names of columns that are made from the text, and would be those of another one."""


@dataclass(frozen=True, eq=False)
class Reached:
    """Completions that the log lacks, and what they earn.

    `places`, `kinds` and `keeps` are (texts,): the row that a text is made of, its
    place in `names`, and whether it still states the answer of that row. `parents`,
    (names,), are the kinds that these are made of: codes of the log's kinds, then of
    `names`. `why_none` says why there are no texts.
    """

    texts: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    keeps: list[bool] = field(default_factory=list)
    names: list[Kind] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    rewards: Floats = field(default_factory=lambda: np.zeros(0))
    scores: dict[str, Floats] = field(default_factory=dict)
    why_none: str = ""

    def add(self, text: str, place: int, keeps: bool) -> None:
        """Add a completion of the kind that was named last."""
        self.texts.append(text)
        self.places.append(int(place))
        self.kinds.append(len(self.names) - 1)
        self.keeps.append(keeps)


def without_thought(completion: str) -> str:
    """Return the text behind the thought; all of it without a thought.

    >>> without_thought("<think>2+2</think> 4")
    ' 4'
    """
    end = END_OF_THOUGHT.search(completion)
    return completion[end.end() :] if end else completion


SHORTER: tuple[tuple[Callable[[str], str], bool], ...] = (
    (without_thought, True),
    (lambda completion: completion[: len(completion) // 2], False),
    (lambda completion: "", False),
)
"""Ways to shorten a completion, and whether each keeps the stated answer."""


def lengthened(completion: str, factor: float) -> str:
    """Return the completion with its beginning said again, `factor` times as long.

    The first half of its thought is repeated, or of the whole text without a thought,
    as by a model that has nothing left to say. What it states at the end stays.

    >>> lengthened("<think>so now 2+2</think> 4", 1.5)
    '<think>so so so so so so now 2+2</think> 4'
    """
    end = END_OF_THOUGHT.search(completion)
    stop = end.start() if end else len(completion)
    start = completion.rfind(">", 0, stop) + 1
    words = WORD.findall(completion[start:stop])
    unit = "".join(words[: max(1, len(words) // 2)]) or "so "
    missing = round(len(completion) * (factor - 1))
    times = -(-missing // len(unit))
    return completion[:start] + unit * times + completion[start:]


def rungs_of(completion: str, longest: int) -> Iterator[str]:
    """Yield longer and longer forms of a completion, the last cut off at `longest`."""
    for factor in FACTORS:
        text = lengthened(completion, factor)
        yield text[:longest]
        if len(text) >= longest:
            return


def limit_calls() -> AbstractContextManager[TimeLimit | None]:
    """Return the time limit under which a reward is called in `reach`."""
    return time_limit(TIMEOUT, patience=MODELS, processes=1)


def reach(
    view: View,
    kinds: list[Kind],
    codes: Codes,
    task: Floats,
    limit: TimeLimit,
) -> Reached:
    """Write and score completions that the log lacks: longer and shorter ones.

    Completions of the most frequent and of the best paid kinds are made longer, up to
    the `max_completion_length` of the training, or up to the longest of the log. Those
    of the most frequent kind are made shorter, by each way of `SHORTER` that gives a
    form that the log lacks.

    Args:
        view: the rows, and the reward that is called.
        kinds: those of the log.
        codes: the kind of each row, (rows,).
        task: the share that each row did of the task, (rows,).
        limit: the time limit of the calls, from `limit_calls`.
    """
    why = _why_not(view)
    if why:
        return Reached(why_none=why)
    reached = Reached()
    completions = [str(text) for text in view.completions]
    longest = max(map(len, completions))
    if view.training.max_completion_length is not None:
        cut = view.training.max_completion_length * CHARACTERS_A_TOKEN
        longest = max(longest, cut)
    for kind in _ladders(view, codes, len(kinds)):
        models = _models(np.flatnonzero(codes == kind), task)
        ladders = [[*rungs_of(completions[place], longest)] for place in models]
        below = kind
        for height in range(max(map(len, ladders))):
            reached.names.append(Kind(kinds[kind].form, kinds[kind].bounds, height + 1))
            reached.parents.append(below)
            for place, ladder in zip(models, ladders, strict=True):
                if height < len(ladder):
                    text = ladder[height]
                    reached.add(text, place, keeps=len(text) < longest)
            below = len(kinds) + len(reached.names) - 1
    _add_shorter(reached, completions, codes, task)
    return _scored(view, reached, limit)


def _add_shorter(
    reached: Reached, completions: list[str], codes: Codes, task: Floats
) -> None:
    """Add what is shorter than rows of the most frequent kind, a name for each way.

    Its parent is the kind of the log that is nearest in length.
    """
    forms = set(map(form_of, completions))
    lengths = group_stats(np.array([float(len(text)) for text in completions]), codes)
    models = _models(np.flatnonzero(codes == np.bincount(codes).argmax()), task)
    for shorten, keeps in SHORTER:
        texts = [shorten(completions[place]) for place in models]
        form = form_of(texts[0])
        if form in forms:
            continue
        away = np.abs(lengths.mean - np.mean([len(text) for text in texts]))
        reached.names.append(Kind(form, {}))
        reached.parents.append(int(away.argmin()))
        for place, text in zip(models, texts, strict=True):
            reached.add(text, place, keeps)


def looks_at_siblings(reward: Reward) -> bool:
    """Return whether what a completion earns depends on its siblings."""
    return reward.transform is not None or any(item.group for item in reward.components)


def why_not_called(reward: Reward) -> str:
    """Say why a reward is not called on completions of learners, "" where it is."""
    if not reward.can_run:
        return "the reward is not at hand"
    asks_model = any(getattr(item, "asks_model", False) for item in reward.functions)
    return "the reward asks a model" if asks_model else ""


def _why_not(view: View) -> str:
    reward = view.reward
    why = why_not_called(reward)
    if reward.can_run and looks_at_siblings(reward):
        why = "the reward looks at siblings"
    if why:
        return f"nothing that the log lacks was tried, as {why}"
    for name in reward.needs:
        if FROM_TEXT.fullmatch(name):
            return f"the reward reads {name!r}, which only logged completions have"
    return ""


def _ladders(view: View, codes: Codes, total: int) -> list[int]:
    """Return the kinds to make longer: the most frequent and the best paid ones."""
    counts = np.bincount(codes, minlength=total)
    sums = np.bincount(codes, np.nan_to_num(view.rewards), minlength=total)
    half = MOST_LADDERS // 2
    frequent = np.argsort(-counts)[:half]
    best_paid = np.argsort(-sums / np.maximum(counts, 1))[:half]
    return list(dict.fromkeys([*frequent.tolist(), *best_paid.tolist()]))


def _models(places: Codes, task: Floats) -> Codes:
    """Return rows of a kind, right ones and others, spread over all of them."""
    is_right = np.nan_to_num(task[places]) >= HALF
    right = spread_out(places[is_right], MODELS // 2)
    return np.union1d(right, spread_out(places[~is_right], MODELS // 2))


def columns_asked(view: View, rows: Any = slice(None)) -> dict[str, list[Any]]:
    """Return the columns that the reward asks for, of some rows."""
    table = view.context.table.iloc[rows]
    names = [name for name in view.reward.needs if name in table]
    return {name: column_values(table[name]) for name in names}


def _scored(view: View, reached: Reached, limit: TimeLimit) -> Reached:
    """Return the completions with their rewards and scores."""
    columns = columns_asked(view, reached.places) | {"completion": reached.texts}
    try:
        with caught_prints():
            plan = bind(view.reward, columns, len(reached.texts))
            outcomes = evaluate(plan, columns, limit=limit)
    except InputError as error:
        return Reached(why_none=f"what the log lacks could not be scored: {error}")
    scores = {name: outcomes.components[name].scores for name in view.reward.names}
    return replace(reached, rewards=finite(outcomes.rewards), scores=scores)
