"""Clean controls: what an engineer would leave as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import rewardkit as rk
from planted.faults import cosine, flipped, instead, opened_again
from planted.tables import (
    FAILS,
    GROUPS,
    PROMPTS,
    ROWS,
    SIBLINGS,
    TRUTHS,
    Made,
    base,
    outcomes,
    scored,
    some,
    stated,
    table,
)


def alone(draw, *, prompts=PROMPTS, siblings=SIBLINGS, ends=(0.0, 1.0)):
    """One component, of which `draw(generator)` gives the scores."""
    ranges, size = {"correct": ends}, (prompts, siblings)
    return table(
        lambda g, *_: {"correct": draw(g)}, drawn=False, size=size, ranges=ranges
    )


def binary(rate=0.5, siblings=SIBLINGS):
    """A draw of right and wrong; prompts are of somewhat different difficulty."""
    return lambda g: outcomes(g, PROMPTS, siblings, rate)[0]


def under(**training):
    return table(training=training)


def graded(g):
    middle = g.beta(4, 4, PROMPTS)[GROUPS]
    return g.beta(6 * middle, 6 * (1 - middle))


def closed_tag(g, parts, _):
    """Some write the tag of their prompts again; as many of them as of others close it."""
    made = opened_again(g, parts, 1.0)
    closed = (g.random(ROWS) < 0.6).tolist()
    pairs = zip(made["@completion"], closed, strict=True)
    texts = [text if is_closed else text[:9] for text, is_closed in pairs]
    return made | {"form": np.array(closed) * 1.0, "@completion": texts}


def recorded_only(g, *_):
    """A constant, one that often fails, one that is nearly always 0."""
    failing = np.where(some(g, ROWS, 0.3), FAILS, 0.5)
    return {
        "version": np.ones(ROWS),
        "probe": failing,
        "rare": some(g, ROWS, 0.02) * 1.0,
    }


def shaped(g, parts, _):
    near = np.where(parts["correct"] > 0, 1.0, g.beta(2, 3, ROWS))
    return {
        "near": near,
        "tagged": (g.random(ROWS) < np.where(parts["correct"] > 0, 0.95, 0.7)) * 1.0,
    }


def five_functions(generator):
    """A widely copied set: the check reads the truth and gives 2, four format functions give up to .5."""
    parts, groups = base(generator)
    names = ("integer", "strict", "soft", "tags")
    every = {
        "correct": 2 * parts["correct"],
        **{name: (generator.random(ROWS) < 0.6) / 2 for name in names},
    }
    options = {"ranges": dict.fromkeys(every), "weights": dict.fromkeys(every, 1.0)}
    made = scored(every, groups, columns={"ground_truth": groups}, **options)
    first = replace(
        made.reward.components[0], function=lambda given, ground_truth: given
    )
    reward = replace(made.reward, components=[*made.reward.components[1:], first])
    return rk.score(reward, made.rollouts), {}


def ragged(smallest):
    """Groups of different sizes."""

    def build(generator):
        parts, groups = base(generator, PROMPTS, 12)
        keep = (
            np.arange(len(groups)) % 12
            < generator.integers(smallest, 13, PROMPTS)[groups]
        )
        return scored(
            {name: values[keep] for name, values in parts.items()}, groups[keep]
        ), {}

    return build


def several(column, names, rates, prompts=40, *, tidy=True):
    """Sources, policies or steps of a pass rate each; where they are not `tidy`, they share prompt ids."""

    def more(g, *_):
        correct = np.concatenate(
            [outcomes(g, prompts, SIBLINGS, rate)[0] for rate in rates]
        )
        made = {"correct": correct, f"@{column}": np.repeat(names, prompts * SIBLINGS)}
        if tidy:
            return made | {"tidy": g.beta(3, 2, len(correct))}
        return made | {
            "@prompt_id": [f"p{at // SIBLINGS % prompts}" for at in range(len(correct))]
        }

    return table(more, drawn=False, size=(prompts * len(names), SIBLINGS))


SOURCES = "data_source", ["sums", "words", "plots"], (0.35, 0.5, 0.65)
STEPS = "step", range(10), [0.33 + 0.033 * step for step in range(10)], 30
POLICIES = "policy", ["before", "after"], (0.4, 0.6), 50


def routed(generator):
    given, _ = several(*SOURCES)(generator)
    names = given.rollouts.table["data_source"].unique()
    return rk.score(
        rk.Route("data_source", dict.fromkeys(names, given.reward)), given.rollouts
    ), {}


def labelled_in_part(g, parts, _):
    """Three rows in ten were labelled, and the check agrees with nearly all of these."""
    good = flipped(g, parts, 0.02)["@is_good"]
    return {"@is_good": np.where(some(g, ROWS, 0.3), good, np.nan)}


def same_log(_, parts, __):
    """A log in float32, as trainers hold rewards, of just these scores."""
    total = np.float32(
        np.float32(parts["correct"]) + np.float32(0.5) * np.float32(parts["tidy"])
    )
    return {
        "/score": total,
        **{f"/{name}": np.float32(values) for name, values in parts.items()},
    }


def log_alone(generator):
    """The same log without a reward: its scores as they stand there."""
    rollouts = table(same_log, total="score")(generator)[0].rollouts
    given = [
        name for name in rollouts.table if name.startswith("given_")
    ]  # which no log has
    rollouts = replace(rollouts, table=rollouts.table.drop(columns=given))
    return rk.score(
        rk.recorded(rollouts, {"correct": 1.0, "tidy": 0.5, "score": 0.0}), rollouts
    ), {}


def cut_unpaid(g, parts, _):
    """One answer in ten is cut, and earns nothing for it."""
    cut = some(g, ROWS, 0.1)
    unpaid = {name: np.where(cut, 0.0, values) for name, values in parts.items()}
    return {**unpaid, "@finish_reason": np.where(cut, "length", "stop")}


def longer_when_right(g, parts, _):
    """Right answers are longer, as they show their work; nothing else is paid for it."""
    size = np.where(parts["correct"] > 0, 120, 60) + g.integers(0, 60, ROWS)
    return {
        "@completion": [
            f"{row} ".ljust(letters, "x") for row, letters in enumerate(size.tolist())
        ]
    }


def short_answers(g, *_):
    """Answers that are one number of about ten likely ones, so that some siblings say the same."""
    said = np.minimum(g.geometric(0.12, ROWS), 15)
    return {
        "correct": (said <= 5) * 1.0,
        "@completion": [f"{number}".rjust(3) for number in said],
    }


def near_on_hard_prompts(g, *_):
    """Credit for near misses, of a task that half of the prompts never see solved."""
    correct, _ = outcomes(g, PROMPTS, SIBLINGS, 0.35, 0.4)
    near = np.where(correct > 0, 1.0, g.beta(2, 3, ROWS))
    return {"correct": correct, "near": near}


def of_length(pay):
    """A lone number of stated answers that `pay(right, letters)` gives."""
    return table(lambda g, *_: stated(g, pay), drawn=False, ranges={"paid": None})


def overlong(correct, letters):
    """DAPO's penalty: one less for each answer, over the last 400 letters of 2,000."""
    return correct - np.clip((letters - 1_600) / 400, 0, 1)


def formal(g, *_):
    """One answer in ten has not the form that is asked for, and loses all, as a wrong one does not."""
    is_formal = ~some(g, ROWS, 0.1)
    pay = lambda right, _: np.where(is_formal, 0.2 + 0.8 * right, 0.0)  # noqa: E731
    return stated(g, pay) | TRUTHS


def tagged(g, *_):
    """Three answers in ten lack the thought in tags that is asked for, which makes completions longer."""
    has_thought = ~some(g, ROWS, 0.3)
    made = stated(g, lambda right, _: right * has_thought, longest=115)
    texts = []
    for text, is_tagged in zip(made["@completion"], has_thought, strict=True):
        thought = "<think>" + text.replace("<answer>", "</think><answer>")
        texts.append(thought if is_tagged else text)
    return {**made, "@completion": texts}


def few_calls(g, parts, _):
    """A total that pays up to three calls, less than a right answer."""
    calls = g.integers(0, 4, ROWS) * 1.0
    return {
        "score": parts["correct"] + 0.2 * calls,
        "acc": parts["correct"],
        "calls": calls,
    }


WHY = {"weight": 1.0, "why": "this stage teaches to show the work"}
LAYOUT = {
    "tidy": {"weight": 3.0, "why": "this stage teaches layout"},
    "correct": {"primary": True},
}
CONTROLS: dict[str, Callable[[np.random.Generator], Made]] = {
    **{
        f"binary {rate} of {siblings}": alone(binary(rate, siblings), siblings=siblings)
        for siblings, rates in (
            (4, (0.5,)),
            (8, (0.3, 0.4, 0.5, 0.6, 0.7)),
            (16, (0.25, 0.5, 0.75)),
        )
        for rate in rates
    },
    "graded": alone(graded),
    "five levels": alone(lambda g: g.binomial(4, g.beta(4, 4, PROMPTS)[GROUPS]) / 4),
    "correct and tidy": table(),
    "shaped": table(shaped, keep="correct", weights={"near": 0.3, "tagged": 0.2}),
    "a small format": table(
        lambda g, *_: {"tagged": (g.random(ROWS) < 0.8) * 1.0}, weights={"tagged": 0.1}
    ),
    "five functions, one the task": five_functions,
    "near misses on hard prompts": table(
        near_on_hard_prompts, drawn=False, weights={"near": 0.3}
    ),
    "a bonus that only right answers get, on hard prompts": table(
        lambda g, *_: {
            "correct": outcomes(g, PROMPTS, SIBLINGS, 0.5, 0.4)[0],
            "brief": g.random(ROWS),
        },
        drawn=False,
        components={"brief": {"gate": rk.gate("correct", at_least=1.0)}},
    ),
    "a cosine of length within its budget": of_length(cosine(2_100)),
    "overlong answers lose": of_length(overlong),
    "overlong answers lose, right or minus one": of_length(
        lambda correct, letters: overlong(2 * correct - 1, letters)
    ),
    "right answers earn more if brief": of_length(
        lambda correct, letters: correct * (1 - 0.3 * letters / 2_000)
    ),
    "right answers earn more by thought, up to a limit": of_length(
        lambda correct, letters: correct * (0.5 + 0.5 * np.clip(letters / 800, 0, 1))
    ),
    "brevity within a group, wrong answers at most zero": of_length(
        lambda correct, letters: np.where(
            correct > 0, 1.5 - letters / 2_000, np.minimum(0, 0.5 - letters / 2_000)
        )
    ),
    "letters that are paid nothing": of_length(lambda correct, letters: correct * 1.0),
    "credit that grows with closeness, truths known": table(
        lambda g, *_: (
            stated(g, lambda right, letters: np.where(right, 1.0, g.random(ROWS) / 2))
            | TRUTHS
        ),
        drawn=False,
        ranges={"paid": None},
    ),
    "a form without which right answers lose, truths known": table(
        formal, drawn=False, ranges={"paid": None}
    ),
    "tags without which right answers lose, in short completions": table(
        tagged, drawn=False, ranges={"paid": None}
    ),
    "calls that add less than being right, in a total": table(
        few_calls,
        keep="",
        weights={"acc": 0.0, "calls": 0.0},
        ranges={"score": None, "calls": None},
    ),
    "unbalanced by design": table(components=LAYOUT),
    "as heavy by design, and varies more": table(
        lambda g, *_: {"effort": (g.random(ROWS) < 0.5) * 1.0},
        components={"effort": WHY},
        weights={"tidy": 0.1},
    ),
    "one group": table(size=(1, 8)),
    "three groups": table(size=(3, 4)),
    "twelve groups": table(size=(12, 4)),
    "pairs of siblings": table(size=(PROMPTS, 2)),
    "graded pairs of siblings": alone(
        lambda g: g.beta(2, 2, 400), siblings=2, prompts=200
    ),
    "no siblings": table(size=(PROMPTS, 1)),
    "ragged": ragged(2),
    "ragged, some alone": ragged(1),
    **{  # useless, but no fault that one could see in a score table
        f"noise of weight {weight}": table(
            lambda g, *_: {"random": g.random(ROWS)}, weights={"random": weight}
        )
        for weight in (0.2, 0.5)
    },
    "a penalty that rarely fires": table(
        lambda g, *_: {"loops": some(g, ROWS, 0.02) * 1.0}, weights={"loops": -0.5}
    ),
    "a closing tag behind the prompt's": table(closed_tag),
    "a small cost of each letter": table(
        lambda g, *_: {"cost": -g.uniform(0.2, 1, ROWS)},
        ranges={"cost": (-1.0, 0.0)},
        weights={"cost": 0.1},
    ),
    "a penalty that never fires": table(
        lambda *_: {"unsafe": np.zeros(ROWS)}, weights={"unsafe": -1.0}
    ),
    "a penalty without a weight that never fires": table(
        lambda *_: {"penalty_repeats": np.zeros(ROWS)}, weights={"penalty_repeats": 1.0}
    ),
    "three sources": several(*SOURCES),
    "sources that share prompt ids": several(*SOURCES, tidy=False),
    "two policies": several(*POLICIES, tidy=False),
    "a route": routed,
    "ten steps of a binary task": several(*STEPS),
    "a label that is followed": table(
        lambda g, parts, _: flipped(g, parts, 0.02), label="is_good"
    ),
    "a label of a part of the rows": table(labelled_in_part, label="is_good"),
    "a log that agrees": table(same_log, total="score"),
    "a log alone": log_alone,
    "cut answers that earn nothing": table(cut_unpaid),
    "points": alone(lambda g: g.normal(g.normal(0, 1, PROMPTS)[GROUPS], 1), ends=None),
    "points with a long tail": alone(lambda g: g.lognormal(0, 0.5, ROWS), ends=None),
    "points with two tails": alone(lambda g: g.laplace(0, 1, ROWS), ends=None),
    "as large as float32 holds": table(  # whose squares it does not
        lambda _, parts, __: {name: 1e38 * values for name, values in parts.items()},
        ranges={"correct": None, "tidy": None},
        weights={"correct": 0.5, "tidy": 0.25},
    ),
    "outliers that are recorded only": table(
        lambda g, *_: {
            "words": np.where(some(g, ROWS, 0.01), 5000, g.normal(100, 10, ROWS))
        },
        weights={"words": 0.0},
        ranges={"words": None},
    ),
    "minus one or one": alone(lambda g: 2 * binary()(g) - 1, ends=(-1.0, 1.0)),
    "a bonus behind the task": table(
        components={"tidy": {"gate": rk.gate("correct", at_least=1.0)}}
    ),
    "few rows not judged": lambda generator: instead(np.nan)(generator, 0.005),
    "recorded only": table(
        recorded_only, weights=dict.fromkeys(("version", "probe", "rare"), 0.0)
    ),
    "right answers are longer": table(longer_when_right),
    "many columns": table(
        lambda g, *_: {f"@c{at}": g.random(ROWS) for at in range(10)}
    ),
    "fifteen prompts that no answer solves": alone(
        lambda g: np.where(GROUPS < 15, 0.0, binary()(g))
    ),
    "short answers": table(short_answers, drawn=False),
    "a product": table(aggregation="product"),
    "not scaled": under(scale_rewards="none"),
    "scaled by batch": under(scale_rewards="batch"),
    "normalised, then added": under(multi_objective_aggregation="normalize_then_sum"),
}
