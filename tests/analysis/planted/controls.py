"""Clean controls: what an engineer would leave as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import rewardkit as rk
from planted.beside import run, wrong_label
from planted.components import instead
from planted.tables import FAILS, PROMPTS, SIBLINGS, Made, base, outcomes, scored, some


def healthy(rate, siblings):
    """A task that is right or wrong, alone; prompts are of somewhat different difficulty."""

    def build(generator):
        correct, groups = outcomes(generator, PROMPTS, siblings, rate)
        return scored({"correct": correct}, groups), {}

    return build


def two(**options):
    """The healthy task and its second part, with these options of `scored`."""

    def build(generator):
        parts, groups = base(generator)
        return scored(parts, groups, **options), {}

    return build


def under(**training):
    """The same under other advantages."""
    return lambda generator: (two()(generator)[0], {"training": training})


def graded(generator):
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    middle = generator.beta(4, 4, PROMPTS)[groups]
    return scored({"grade": generator.beta(6 * middle, 6 * (1 - middle))}, groups), {}


def levels(generator):
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    return scored({"grade": generator.binomial(4, generator.beta(4, 4, PROMPTS)[groups]) / 4}, groups), {}


def shaped(generator):
    parts, groups = base(generator)
    near = np.where(parts["correct"] > 0, 1.0, generator.beta(2, 3, len(groups)))
    tagged = generator.random(len(groups)) < np.where(parts["correct"] > 0, 0.95, 0.7)
    made = {"correct": parts["correct"], "near": near, "tagged": tagged.astype(float)}
    return scored(made, groups, weights={"near": 0.3, "tagged": 0.2}), {}


def five_functions(generator):
    """A widely copied set: the check reads the truth and gives 2, four format functions give up to .5."""
    parts, groups = base(generator)
    given = {
        name: (generator.random(len(groups)) < 0.6) / 2 for name in ("integer", "strict", "soft", "tags")
    }
    every = {"correct": 2 * parts["correct"], **given}
    options = {"ranges": dict.fromkeys(every), "weights": dict.fromkeys(every, 1.0)}
    made = scored(every, groups, columns={"ground_truth": groups}, **options)
    first = replace(made.reward.components[0], function=lambda given, ground_truth: given)
    reward = replace(made.reward, components=[*made.reward.components[1:], first])
    return rk.score(reward, made.rollouts), {}


def small_format(generator):
    parts, groups = base(generator)
    tagged = (generator.random(len(groups)) < 0.8).astype(float)
    return scored({"correct": parts["correct"], "tagged": tagged}, groups, weights={"tagged": 0.1}), {}


def by_design(generator):
    parts, groups = base(generator)
    heavy = {"tidy": {"weight": 3.0, "why": "this stage teaches layout"}, "correct": {"primary": True}}
    return scored(parts, groups, components=heavy), {}


def sized(prompts, siblings):
    return lambda generator: (scored(*base(generator, prompts, siblings)), {})


def ragged(smallest):
    """Groups of different sizes."""

    def build(generator):
        parts, groups = base(generator, PROMPTS, 12)
        keep = np.arange(len(groups)) % 12 < generator.integers(smallest, 13, PROMPTS)[groups]
        return scored({name: values[keep] for name, values in parts.items()}, groups[keep]), {}

    return build


def noise(weight):
    """A component that is noise: useless, but no fault of a score table that one could see there."""

    def build(generator):
        parts, groups = base(generator)
        random = generator.random(len(groups))
        return scored({**parts, "random": random}, groups, weights={"random": weight}), {}

    return build


def rare_penalty(generator):
    parts, groups = base(generator)
    loops = some(generator, len(groups), 0.02).astype(float)
    return scored({**parts, "loops": loops}, groups, weights={"loops": -0.5}), {}


def silent_penalty(generator):
    parts, groups = base(generator)
    return scored({**parts, "unsafe": np.zeros(len(groups))}, groups, weights={"unsafe": -1.0}), {}


def _sources(generator):
    each = [outcomes(generator, 40, SIBLINGS, rate)[0] for rate in (0.35, 0.5, 0.65)]
    groups = np.repeat(np.arange(120), SIBLINGS)
    return np.concatenate(each), groups, np.array(["sums", "words", "plots"])[groups // 40]


def sources(generator):
    correct, groups, source = _sources(generator)
    parts = {"correct": correct, "tidy": generator.beta(3, 2, len(groups))}
    return scored(parts, groups, columns={"data_source": source}), {}


def shared_ids(generator):
    """Sources that number their prompts from 0 each."""
    correct, groups, source = _sources(generator)
    ids = [f"p{group % 40}" for group in groups]
    return scored({"correct": correct}, groups, columns={"data_source": source, "prompt_id": ids}), {}


def two_policies(generator):
    """The same prompts answered by two policies, one of them somewhat better."""
    each = [outcomes(generator, 50, SIBLINGS, rate)[0] for rate in (0.4, 0.6)]
    groups = np.repeat(np.arange(100), SIBLINGS)
    policy = np.array(["before", "after"])[groups // 50]
    ids = [f"p{group % 50}" for group in groups]
    columns = {"policy": policy, "prompt_id": ids}
    return scored({"correct": np.concatenate(each)}, groups, columns=columns), {}


def routed(generator):
    given, _ = sources(generator)
    names = given.rollouts.table["data_source"].unique()
    return rk.score(rk.Route("data_source", dict.fromkeys(names, given.reward)), given.rollouts), {}


def better(**changes):
    """A run that gets better, seen with its label."""
    return lambda generator: (run(generator, **changes), {"label": "is_good"})


def better_binary(generator):
    """Right answers from a third to two thirds over ten steps, unlabelled."""
    each = [outcomes(generator, 30, SIBLINGS, 0.33 + 0.033 * step)[0] for step in range(10)]
    groups = np.repeat(np.arange(300), SIBLINGS)
    correct = np.concatenate(each)
    parts = {"correct": correct, "tidy": generator.beta(3, 2, len(groups))}
    return scored(parts, groups, columns={"step": groups // 30}), {}


def labelled(generator):
    return wrong_label(generator, 0.02)


def labelled_in_part(generator):
    """Three rows in ten were labelled, and the check agrees with nearly all of these."""
    parts, groups = base(generator)
    good = np.where(some(generator, len(groups), 0.02), 1 - parts["correct"], parts["correct"])
    good = np.where(some(generator, len(groups), 0.3), good, np.nan)
    return scored(parts, groups, columns={"is_good": good}), {"label": "is_good"}


def same_log(generator):
    """A log in float32, as trainers hold rewards, of just these scores."""
    parts, groups = base(generator)
    total = np.float32(np.float32(parts["correct"]) + np.float32(0.5) * np.float32(parts["tidy"]))
    columns = {"score": total, **{name: np.float32(values) for name, values in parts.items()}}
    return scored(parts, groups, logged=columns, total="score"), {}


def log_alone(generator):
    """The same log without a reward: its scores as they stand there."""
    rollouts = same_log(generator)[0].rollouts
    given = [name for name in rollouts.table if name.startswith("given_")]  # which no log has
    rollouts = replace(rollouts, table=rollouts.table.drop(columns=given))
    return rk.score(rk.recorded(rollouts, {"correct": 1.0, "tidy": 0.5, "score": 0.0}), rollouts), {}


def cut_unpaid(generator):
    """One answer in ten is cut, and earns nothing for it."""
    parts, groups = base(generator)
    cut = some(generator, len(groups), 0.1)
    parts = {name: np.where(cut, 0.0, values) for name, values in parts.items()}
    return scored(parts, groups, columns={"finish_reason": np.where(cut, "length", "stop")}), {}


def points(generator):
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    made = generator.normal(generator.normal(0, 1, PROMPTS)[groups], 1)
    return scored({"points": made}, groups, ranges={"points": None}), {}


def skewed_points(generator):
    """Points with a long tail, as word counts or speed-ups have: lognormal, of sigma one half."""
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    return scored({"points": generator.lognormal(0, 0.5, len(groups))}, groups, ranges={"points": None}), {}


def two_tailed_points(generator):
    """Points that mostly lie close and now and then far out, with no gap: Laplace."""
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    return scored({"points": generator.laplace(0, 1, len(groups))}, groups, ranges={"points": None}), {}


def large_points(generator):
    """Points as large as a trainer's float32 holds, whose squares it does not."""
    parts, groups = base(generator)
    large = {name: 1e38 * values for name, values in parts.items()}
    return scored(large, groups, ranges=dict.fromkeys(large), weights={"correct": 0.5, "tidy": 0.25}), {}


def outliers_recorded(generator):
    """Word counts of which a few are thousands, recorded and not paid."""
    parts, groups = base(generator)
    words = np.where(some(generator, len(groups), 0.01), 5000, generator.normal(100, 10, len(groups)))
    return scored({**parts, "words": words}, groups, weights={"words": 0.0}, ranges={"words": None}), {}


def graded_pairs(generator):
    """Two siblings a prompt, whose grades come close now and then."""
    groups = np.repeat(np.arange(2 * PROMPTS), 2)
    return scored({"grade": generator.beta(2, 2, len(groups))}, groups), {}


def as_heavy(generator):
    """A second part that is as heavy as the task, by design, and varies more."""
    parts, groups = base(generator)
    parts["effort"] = (generator.random(len(groups)) < 0.5).astype(float)
    why = {"effort": {"weight": 1.0, "why": "this stage teaches to show the work"}}
    return scored(parts, groups, components=why, weights={"tidy": 0.1}), {}


def plus_minus(generator):
    correct, groups = outcomes(generator, PROMPTS, SIBLINGS, 0.5)
    return scored({"correct": 2 * correct - 1}, groups, ranges={"correct": (-1.0, 1.0)}), {}


def gated_bonus(generator):
    parts, groups = base(generator)
    gates = {"tidy": {"gate": rk.gate("correct", at_least=1.0)}}
    return scored(parts, groups, components=gates), {}


def few_unjudged(generator):
    return instead(np.nan)(generator, 0.005)


def recorded_only(generator):
    """Components of weight 0: a constant one, one that often fails, one that is nearly always 0."""
    parts, groups = base(generator)
    rows = len(groups)
    more = {
        "version": np.ones(rows),
        "probe": np.where(some(generator, rows, 0.3), FAILS, 0.5),
        "rare": some(generator, rows, 0.02).astype(float),
    }
    return scored({**parts, **more}, groups, weights=dict.fromkeys(more, 0.0)), {}


def longer_when_right(generator):
    """Right answers are longer, as they show their work; nothing else is paid for it."""
    parts, groups = base(generator)
    size = np.where(parts["correct"] > 0, 120, 60) + generator.integers(0, 60, len(groups))
    texts = [f"{row} ".ljust(int(letters), "x") for row, letters in enumerate(size)]
    return scored(parts, groups, columns={"completion": texts}), {}


def many_columns(generator):
    """Ten columns of numbers that have nothing to do with anything."""
    parts, groups = base(generator)
    return scored(parts, groups, columns={f"c{at}": generator.random(len(groups)) for at in range(10)}), {}


def some_unsolvable(generator):
    """Fifteen prompts of a hundred that no answer solves, as real sets of problems have."""
    correct, groups = outcomes(generator, PROMPTS, SIBLINGS, 0.5)
    return scored({"correct": np.where(groups < 15, 0.0, correct)}, groups), {}


def short_answers(generator):
    """Answers that are one number of about ten likely ones, so that some siblings say the same."""
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    said = np.minimum(generator.geometric(0.12, len(groups)), 15)
    texts = [f"{number}".rjust(3) for number in said]
    return scored({"correct": (said <= 5).astype(float)}, groups, columns={"completion": texts}), {}


CONTROLS: dict[str, Callable[[np.random.Generator], Made]] = {
    **{
        f"binary {rate} of {siblings}": healthy(rate, siblings)
        for siblings, rates in ((4, (0.5,)), (8, (0.3, 0.4, 0.5, 0.6, 0.7)), (16, (0.25, 0.5, 0.75)))
        for rate in rates
    },
    "graded": graded,
    "five levels": levels,
    "correct and tidy": two(),
    "shaped": shaped,
    "correct and a small format": small_format,
    "five functions, one the task": five_functions,
    "unbalanced by design": by_design,
    "as heavy by design": as_heavy,
    "one group": sized(1, 8),
    "three groups": sized(3, 4),
    "twelve groups": sized(12, 4),
    "pairs of siblings": sized(PROMPTS, 2),
    "graded pairs of siblings": graded_pairs,
    "no siblings": sized(PROMPTS, 1),
    "ragged": ragged(2),
    "ragged, some alone": ragged(1),
    "noise of weight 0.2": noise(0.2),
    "noise of weight 0.5": noise(0.5),
    "a penalty that rarely fires": rare_penalty,
    "a penalty that never fires": silent_penalty,
    "three sources": sources,
    "sources that share prompt ids": shared_ids,
    "two policies": two_policies,
    "a route": routed,
    "a run that gets better": better(label=0.4),
    "a run whose answers grow a little": better(label=0.4, growth=0.1),
    "a run that stays": better(reward=0.0),
    "ten steps of a binary task": better_binary,
    "a label that is followed": labelled,
    "a label of a part of the rows": labelled_in_part,
    "a log that agrees": same_log,
    "a log alone": log_alone,
    "cut answers that earn nothing": cut_unpaid,
    "points": points,
    "points with a long tail": skewed_points,
    "points with two tails": two_tailed_points,
    "enormous points": large_points,
    "outliers that are recorded only": outliers_recorded,
    "minus one or one": plus_minus,
    "a bonus behind the task": gated_bonus,
    "few rows not judged": few_unjudged,
    "recorded only": recorded_only,
    "right answers are longer": longer_when_right,
    "many columns": many_columns,
    "some unsolvable": some_unsolvable,
    "short answers": short_answers,
    "a product": two(aggregation="product"),
    "not scaled": under(scale_rewards="none"),
    "scaled by batch": under(scale_rewards="batch"),
    "normalised, then added": under(multi_objective_aggregation="normalize_then_sum"),
}
