"""Clean controls: what an engineer would leave as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import rewardkit as rk
from planted.beside import run, wrong_label
from planted.components import instead
from planted.tables import FAILS, PROMPTS, ROWS, SIBLINGS, Made, base, beside, outcomes, scored, some


def drawn(draw, *, siblings=SIBLINGS, prompts=PROMPTS, ranges=(0.0, 1.0)):
    """One component, of which `draw(generator, groups)` gives the scores."""

    def build(generator):
        groups = np.repeat(np.arange(prompts), siblings)
        return scored({"correct": draw(generator, groups)}, groups, ranges={"correct": ranges}), {}

    return build


def healthy(rate, siblings):
    """A task that is right or wrong, alone; prompts are of somewhat different difficulty."""
    return drawn(lambda g, groups: outcomes(g, PROMPTS, siblings, rate)[0], siblings=siblings)


def two(**options):
    """The healthy task and its second part, with these options of `scored`."""
    return beside(lambda *_: {}, **options)


def under(**training):
    """The same under other advantages."""
    return lambda generator: (two()(generator)[0], {"training": training})


def graded(generator, groups):
    middle = generator.beta(4, 4, PROMPTS)[groups]
    return generator.beta(6 * middle, 6 * (1 - middle))


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


def sized(prompts, siblings):
    return lambda generator: (scored(*base(generator, prompts, siblings)), {})


def ragged(smallest):
    """Groups of different sizes."""

    def build(generator):
        parts, groups = base(generator, PROMPTS, 12)
        keep = np.arange(len(groups)) % 12 < generator.integers(smallest, 13, PROMPTS)[groups]
        return scored({name: values[keep] for name, values in parts.items()}, groups[keep]), {}

    return build


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
    "graded": drawn(graded),
    "five levels": drawn(lambda g, groups: g.binomial(4, g.beta(4, 4, PROMPTS)[groups]) / 4),
    "correct and tidy": two(),
    "shaped": shaped,
    "a small format": beside(
        lambda g, parts, _: {"tagged": (g.random(ROWS) < 0.8) * 1.0}, weights={"tagged": 0.1}
    ),
    "five functions, one the task": five_functions,
    "unbalanced by design": two(
        components={"tidy": {"weight": 3.0, "why": "this stage teaches layout"}, "correct": {"primary": True}}
    ),
    "as heavy by design, and varies more": beside(
        lambda g, parts, _: {"effort": (g.random(ROWS) < 0.5) * 1.0},
        components={"effort": {"weight": 1.0, "why": "this stage teaches to show the work"}},
        weights={"tidy": 0.1},
    ),
    "one group": sized(1, 8),
    "three groups": sized(3, 4),
    "twelve groups": sized(12, 4),
    "pairs of siblings": sized(PROMPTS, 2),
    "graded pairs of siblings": drawn(lambda g, groups: g.beta(2, 2, len(groups)), siblings=2, prompts=200),
    "no siblings": sized(PROMPTS, 1),
    "ragged": ragged(2),
    "ragged, some alone": ragged(1),
    **{  # useless, but no fault that one could see in a score table
        f"noise of weight {weight}": beside(
            lambda g, parts, _: {"random": g.random(ROWS)}, weights={"random": weight}
        )
        for weight in (0.2, 0.5)
    },
    "a penalty that rarely fires": beside(
        lambda g, parts, _: {"loops": some(g, ROWS, 0.02).astype(float)}, weights={"loops": -0.5}
    ),
    "a penalty that never fires": beside(
        lambda g, parts, _: {"unsafe": np.zeros(ROWS)}, weights={"unsafe": -1.0}
    ),
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
    "points": drawn(lambda g, groups: g.normal(g.normal(0, 1, PROMPTS)[groups], 1), ranges=None),
    "points with a long tail": drawn(lambda g, groups: g.lognormal(0, 0.5, len(groups)), ranges=None),
    "points with two tails": drawn(lambda g, groups: g.laplace(0, 1, len(groups)), ranges=None),
    "as large as float32 holds": beside(  # whose squares it does not
        lambda g, parts, _: {name: 1e38 * values for name, values in parts.items()},
        ranges={"correct": None, "tidy": None},
        weights={"correct": 0.5, "tidy": 0.25},
    ),
    "outliers that are recorded only": beside(
        lambda g, parts, _: {"words": np.where(some(g, ROWS, 0.01), 5000, g.normal(100, 10, ROWS))},
        weights={"words": 0.0},
        ranges={"words": None},
    ),
    "minus one or one": drawn(
        lambda g, groups: 2 * outcomes(g, PROMPTS, SIBLINGS, 0.5)[0] - 1, ranges=(-1.0, 1.0)
    ),
    "a bonus behind the task": two(components={"tidy": {"gate": rk.gate("correct", at_least=1.0)}}),
    "few rows not judged": lambda generator: instead(np.nan)(generator, 0.005),
    "recorded only": beside(  # a constant, one that often fails, one that is nearly always 0
        lambda g, parts, _: {
            "version": np.ones(ROWS),
            "probe": np.where(some(g, ROWS, 0.3), FAILS, 0.5),
            "rare": some(g, ROWS, 0.02).astype(float),
        },
        weights={"version": 0.0, "probe": 0.0, "rare": 0.0},
    ),
    "right answers are longer": longer_when_right,
    "many columns": many_columns,
    "fifteen prompts that no answer solves": drawn(
        lambda g, groups: np.where(groups < 15, 0.0, outcomes(g, PROMPTS, SIBLINGS, 0.5)[0])
    ),
    "short answers": short_answers,
    "a product": two(aggregation="product"),
    "not scaled": under(scale_rewards="none"),
    "scaled by batch": under(scale_rewards="batch"),
    "normalised, then added": under(multi_objective_aggregation="normalize_then_sum"),
}
