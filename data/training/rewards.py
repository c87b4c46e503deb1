"""The rewards of data/training, each with the settings of the trainer that it is for.

`exact` is the task: 1 where the answer between its tags is the truth. Every reward
records it; some do not pay for it. The same names serve both tasks.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
from tasks import FILLERS, PAIRS

import rewardkit as rk

ANSWER = rk.extract.tag("answer")
LONGEST = 100
"""Characters from which `short` is 0 and `long` is 1."""
LIMIT = 30
"""Characters up to which `under_limit` is paid."""
FREE, TAIL = 35, 20
"""Characters that `overlong` leaves free, and over how many more it rises to 1."""
FLIPPED = 0.15
"""Share of verdicts that the noisy judge has wrong."""


def exact(prediction: str | None, ground_truth: str) -> float:
    """Return 1 for the truth, character by character."""
    return float(prediction == ground_truth)


def near(prediction: str | None, ground_truth: str) -> float:
    """Return the share of characters of the truth that stand in their place."""
    if prediction is None:
        return 0.0
    same = sum(a == b for a, b in zip(prediction, ground_truth, strict=False))
    return same / max(len(prediction), len(ground_truth))


def contains(completion: str, ground_truth: str) -> float:
    """Return 1 where the truth stands anywhere in the completion."""
    return float(ground_truth in completion)


def short(completion: str) -> float:
    """Return 1 for an empty completion, falling to 0 at `LONGEST` characters."""
    return max(0.0, 1 - len(completion) / LONGEST)


def long(completion: str) -> float:
    """Return 0 for an empty completion, rising to 1 at `LONGEST` characters."""
    return min(1.0, len(completion) / LONGEST)


def too_long(completion: str) -> float:
    """Return a tenth for each 5 characters: a penalty that every completion gets."""
    return min(1.0, 0.1 * (1 + len(completion) // 5))


def fillers(completion: str) -> float:
    """Return the number of filler words, without an upper end."""
    return float(len(re.findall("|".join(FILLERS), completion)))


def luck(completion: str, ground_truth: str) -> float:
    """Return a number from 0 to 1 that a completion has by chance, always the same."""
    digest = hashlib.sha256(f"{ground_truth}|{completion}".encode()).digest()
    return digest[0] / 256


def noisy(completion: str, prediction: str | None, ground_truth: str) -> float:
    """Return `exact`, wrong on 15 % of all completions."""
    verdict = exact(prediction, ground_truth)
    return 1 - verdict if luck(completion, ground_truth) < FLIPPED else verdict


def judge(completion: str, prediction: str | None, ground_truth: str) -> float:
    """Return a judge's verdict: wrong on 15 %, and taken in by a "so" before an answer.

    The same completion always gets the same verdict.
    """
    verdict = noisy(completion, prediction, ground_truth)
    if "so " in completion and prediction is not None:
        verdict = max(verdict, 0.6)
    return verdict


def answered(prediction: str | None) -> float:
    """Return 1 for an answer between its tags, right or wrong."""
    return float(bool(prediction))


def guessed(prediction: str | None, ground_truth: str) -> float:
    """Return 1 for a wrong answer, 0 for a right one and for none."""
    return answered(prediction) - exact(prediction, ground_truth)


def any_answer(prediction: str | None, ground_truth: str) -> float:
    """Return 1 where one of the answers, which commas part, is the truth."""
    return float(ground_truth in (prediction or "").split(","))


def cosine(completion: str, prediction: str | None, ground_truth: str) -> float:
    """Return 1 falling to 0.5 for right answers by length, -1 rising to -0.5 for wrong.

    Along half a cosine, up to `LONGEST` characters: open-r1's reward of lengths.
    """
    part = min(1.0, len(completion) / LONGEST)
    fall = (1 + math.cos(math.pi * part)) / 4
    return 0.5 + fall if exact(prediction, ground_truth) else -0.5 - fall


def unanswered(prediction: str | None) -> float:
    """Return 1 where there is no answer between its tags."""
    return 1 - answered(prediction)


def echo(completion: str, prompt: str) -> float:
    """Return 1 where the completion ends with the last sign of its prompt."""
    return float(completion[-1:] == prompt.strip()[-1:])


def half_noisy(completion: str, prediction: str | None, ground_truth: str) -> float:
    """Return `exact`, wrong on 30 % of all completions."""
    verdict = exact(prediction, ground_truth)
    return 1 - verdict if luck(completion, ground_truth) < 2 * FLIPPED else verdict


def as_usual(completion: str) -> float:
    """Return 1 at 50 characters, falling to 0 at none and at `LONGEST`."""
    return max(0.0, 1 - abs(len(completion) - LONGEST / 2) / (LONGEST / 2))


def varied(prediction: list[str | None]) -> list[float]:
    """Return 1 for an answer that no sibling of a group gives, 0 for no answer."""
    counts = Counter(filter(None, prediction))
    return [float(counts.get(answer or "", 0) == 1) for answer in prediction]


def signs_thought(completion: str) -> float:
    """Return the number of signs of the thought, without an upper end."""
    thought = re.search("<think>([^<]*)", completion)
    return float(len(thought[1])) if thought else 0.0


def ahead(completion: str, ground_truth: str) -> float:
    """Return the share of the truth's signs that stand before the answer's tag."""
    before = Counter(completion.split("<answer>")[0])
    return (before & Counter(ground_truth)).total() / len(ground_truth)


def ratio(completion: str, prediction: str | None) -> float:
    """Return the answer's share of the characters."""
    return len(prediction or "") / max(1, len(completion))


def under_limit(completion: str) -> float:
    """Return 1 up to `LIMIT` characters, 0 above."""
    return float(len(completion) <= LIMIT)


def majority(prediction: list[str | None]) -> list[float]:
    """Return 1 for the answer that most siblings of a group give, 0 for no answer."""
    counts = Counter(filter(None, prediction))
    most = max(counts.values(), default=0)
    return [float(bool(answer) and counts[answer] == most) for answer in prediction]


def short_if_varied(completion: list[str], exact: list[float]) -> list[float]:
    """Return `short` for the siblings of a group in which some are right, not all."""
    if len(set(exact)) == 1:
        return [0.0] * len(completion)
    return [short(text) for text in completion]


def exact_and_short_if_varied(completion: list[str], exact: list[float]) -> list[float]:
    """Return the whole reward of a group, 0 where `exact` is the same for all.

    As DAPO's filter by the outcome: such a group has no advantage.
    """
    if len(set(exact)) == 1:
        return [0.0] * len(completion)
    pairs = zip(completion, exact, strict=True)
    return [score + 0.3 * short(text) for text, score in pairs]


def recall(prediction: str | None, ground_truth: str) -> float:
    """Return the share of the truth's signs that the answer has, in any order.

    As ROUGE's recall: what the answer has beside them costs nothing.
    """
    common = Counter(prediction or "") & Counter(ground_truth)
    return common.total() / len(ground_truth)


def overlong(completion: str) -> float:
    """Return 0 up to `FREE` characters, rising to 1 over `TAIL` more.

    DAPO's soft penalty of overlong completions, with the sign turned.
    """
    return min(1.0, max(0.0, (len(completion) - FREE) / TAIL))


def language(completion: str) -> float:
    """Return the share of signs outside tags that are no letters, 0 where none are.

    As DeepSeek-R1's share of words in the language that was asked for.
    """
    signs = "".join(re.sub("<[^>]*>", "", completion).split())
    return len(re.sub("[a-z]", "", signs)) / max(1, len(signs))


def concluded(thought: str) -> str:
    """Return the answer that a thought leads to, be the thought true or not."""
    signs = re.sub("|".join(FILLERS), "", thought)
    if "=" not in signs:
        return "".join(PAIRS.get(sign, "") for sign in signs)
    *totals, last = (column.split("=")[-1] for column in signs.split(","))
    return last + "".join(total[-1:] for total in reversed(totals))


def consistent(completion: str, prediction: str | None) -> float:
    """Return 1 for an answer that follows from the thought before it, true or not."""
    thought = re.search("<think>([^<]*)</think>", completion)
    return float(bool(thought and prediction) and concluded(thought[1]) == prediction)


def shorter(completion: list[str], exact: list[float]) -> list[float]:
    """Return 0.5 for the shortest of a group falling to -0.5 for the longest.

    Wrong ones get no more than 0: the reward of lengths of Kimi k1.5.
    """
    sizes = [len(text) for text in completion]
    least, span = min(sizes), max(sizes) - min(sizes)
    if not span:
        return [0.0] * len(sizes)
    parts = [0.5 - (size - least) / span for size in sizes]
    pairs = zip(parts, exact, strict=True)
    return [part if right else min(0.0, part) for part, right in pairs]


def last_sign(prediction: str | None, ground_truth: str) -> float:
    """Return 1 for an answer whose last sign is the truth's, whatever precedes it."""
    return float((prediction or "")[-1:] == ground_truth[-1:])


def itemised(completion: str) -> float:
    """Return 1 for two commas or more: a judge that likes what is laid out in items."""
    return float(completion.count(",") > 1)


def unlike(completion: list[str]) -> list[float]:
    """Return how little of a completion's signs its siblings share, in the mean.

    1 less the F1 of the signs outside tags, in any order: a bonus for diversity.
    """
    signs = [Counter(re.sub("<[^>]*>", "", text)) for text in completion]
    scores = []
    for at, own in enumerate(signs):
        shared = [
            2 * (own & other).total() / max(1, own.total() + other.total())
            for other in signs[:at] + signs[at + 1 :]
        ]
        scores.append(1 - sum(shared) / max(1, len(shared)))
    return scores


RIGHT = rk.gate("exact", at_least=1.0)
WORDS = rk.Component("fillers", fillers, weight=0.1, range=(0.0, 100.0))


def make_reward(name: str, *components: rk.Component, weight: float = 1.0) -> rk.Reward:
    """Return a reward of the task at this weight, and of what is paid beside it."""
    task = rk.Component("exact", exact, weight=weight)
    return rk.Reward(
        name, fields={"prediction": ANSWER}, components=[task, *components]
    )


def bonus(function: object, weight: float = 0.3, **options: object) -> rk.Component:
    """Return a component that is called as its function is."""
    return rk.Component(function.__name__, function, weight=weight, **options)


def scheduled(
    name: str, task: dict[int, float], beside: rk.Component, later: dict[int, float]
) -> rk.Reward:
    """Return a reward whose weights, of the task and beside it, jump at steps."""
    weight = rk.schedule(later, between="step")
    reward = make_reward(name, replace(beside, weight=weight), weight=1.0)
    exact_later = replace(
        reward.components[0], weight=rk.schedule(task, between="step")
    )
    return replace(reward, components=[exact_later, *reward.components[1:]])


FORM = rk.Component("form", rk.measure.tags("think", "answer"), weight=0.3)
REWARDS = {
    reward.name: reward
    for reward in (
        make_reward("exact"),
        make_reward("partial", bonus(near)),
        make_reward("short", bonus(short)),
        make_reward("short_slightly", bonus(short, 0.1)),
        make_reward("short_gated", bonus(short, gate=RIGHT)),
        make_reward("short_outcome", bonus(short_if_varied, group=True)),
        make_reward(
            "short_filtered",
            bonus(exact_and_short_if_varied, 1.0, group=True, range=(0.0, 1.3)),
            weight=0.0,
        ),
        make_reward("short_no_std", bonus(short)),
        make_reward("short_gdpo", bonus(short)),
        make_reward("long", bonus(long)),
        make_reward("fillers", WORDS),
        make_reward("form_alone", FORM, weight=0.0),
        make_reward("form", FORM),
        make_reward("contains", bonus(contains, 1.0), weight=0.0),
        make_reward("judge", bonus(judge, 1.0), weight=0.0),
        make_reward("penalised", bonus(too_long, -0.3)),
        make_reward("near_alone", bonus(near, 1.0), weight=0.0),
        make_reward("any_answer", bonus(any_answer, 1.0), weight=0.0),
        make_reward("noisy", bonus(noisy, 1.0), weight=0.0),
        make_reward("luck", bonus(luck, 1.0), weight=0.0),
        make_reward("answered", bonus(answered)),
        make_reward("guessed", bonus(guessed, -1.0)),
        make_reward("cosine", bonus(cosine, 1.0, range=(-1.0, 1.0)), weight=0.0),
        make_reward("majority", bonus(majority, 1.0, group=True), weight=0.0),
        make_reward("short_much", bonus(short, 1.0)),
        make_reward("unanswered", bonus(unanswered, -0.5)),
        make_reward("echo", bonus(echo)),
        make_reward("half_noisy", bonus(half_noisy, 1.0), weight=0.0),
        make_reward("as_usual", bonus(as_usual)),
        make_reward("varied", bonus(varied, group=True)),
        make_reward("signs_thought", bonus(signs_thought, -0.02, range=(0.0, 100.0))),
        make_reward("ahead", bonus(ahead, 0.5)),
        make_reward("ratio", bonus(ratio, 1.0)),
        make_reward("under_limit", bonus(under_limit, 0.5)),
        make_reward("outvoted", bonus(noisy, 1.0), bonus(judge, 1.0)),
        scheduled("form_first", {0: 0.0, 60: 1.0}, FORM, {0: 1.0, 60: 0.2}),
        scheduled("short_late", {0: 1.0}, bonus(short), {0: 0.0, 80: 0.6}),
        scheduled("short_early", {0: 1.0}, bonus(short), {0: 0.6, 60: 0.0}),
        scheduled("exact_fades", {0: 1.0, 80: 0.0}, bonus(short), {0: 0.3}),
        make_reward("recall", bonus(recall, 1.0), weight=0.0),
        make_reward("overlong", bonus(overlong, -1.0)),
        make_reward("language", bonus(language, 0.5)),
        make_reward("consistent", bonus(consistent, 1.0), weight=0.0),
        make_reward("shorter", bonus(shorter, 1.0, group=True, range=(-0.5, 0.5))),
        make_reward("last_sign", bonus(last_sign, 1.0), weight=0.0),
        make_reward("itemised", bonus(itemised, 0.5)),
        make_reward("unlike", bonus(unlike, 1.0, group=True)),
    )
}
SECOND = "near_alone any_answer noisy luck answered guessed cosine majority".split()
"""Rewards that were added when the runs of the others had been looked at."""
THIRD = "form_first short_late short_early exact_fades".split()
"""Rewards whose weights depend on the step, added after those."""
FOURTH = "short_much unanswered echo half_noisy as_usual varied".split()
"""Rewards that were added when the pace of learners had been fitted to all of these."""
FIFTH = "signs_thought ahead ratio under_limit outvoted".split()
"""Rewards that were added for five more first suggestions, applied and trained."""
SIXTH = "recall overlong language consistent shorter last_sign itemised unlike".split()
"""Rewards that were added to decide the forecast as it was after the runs of all
others.
"""
SETTINGS = {
    "short_no_std": rk.Training(scale_rewards="none"),
    "short_gdpo": rk.Training(multi_objective_aggregation="normalize_then_sum"),
}
"""Reward -> settings; the others have TRL's own."""
HERE = Path(__file__).parent
CHANGED = "_changed"
"""How the name of a changed reward ends."""
REWEIGH = "scores.reweigh("


def read_suggestions() -> pd.DataFrame:
    """Return the first suggested change of each task and reward."""
    return pd.read_csv(HERE / "suggestions.csv")


def find_reward(task: str, name: str) -> rk.Reward:
    """Return a reward by its name; a changed one with the change suggested of it."""
    if not name.endswith(CHANGED):
        return REWARDS[name]
    name = name.removesuffix(CHANGED)
    table = read_suggestions().set_index(["task", "reward"])
    line, reward = table.loc[(task, name), "line"], REWARDS[name]
    if line.startswith(REWEIGH):
        weights = eval(line.removeprefix(REWEIGH).removesuffix(")"))
        items = [
            replace(item, weight=weights.get(item.name, item.weight))
            for item in reward.components
        ]
        return replace(reward, components=items)
    names = {"rk": rk, "replace": replace, "partial": partial, "reward": reward}
    made = eval(line, names)
    if isinstance(made, rk.Component):
        return replace(reward, components=[*reward.components, made])
    return made
