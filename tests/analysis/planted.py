"""Score tables with one known fault each, in an easy and a hard strength, and clean controls.

A fault is what an engineer who knows the run would call one. Its strengths follow from the comment above it
and not from the thresholds of the findings: easy is a fault that nobody would let pass, hard one that still
deserves a word where it is read from about a hundred prompts. What comes of it is in `planted_report.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

import rewardkit as rk
from rewardkit.logs import Logged
from rewardkit.targets.adapter import Key

PROMPTS, SIBLINGS = 100, 8
FAILS, OUTSIDE = -9.0, 7.0
"""Given scores for which a component raises, and which its range does not hold."""

Made = tuple[rk.Scores, dict[str, Any]]
"""Scores, and what rk.diagnose is told beside them."""


@dataclass(frozen=True)
class Fault:
    """A kind of fault: what makes it of a generator and a strength, and the finding that names it."""

    build: Callable[[np.random.Generator, Any], Made]
    easy: Any
    hard: Any
    code: str
    component: str | None = None
    part: str = ""

    def made(self, name: str, seed: int, *, hard: bool) -> Made:
        """The table of this seed; a seed gives the same noise in both strengths."""
        return self.build(generator_of(name, seed), self.hard if hard else self.easy)


@dataclass(frozen=True)
class Outcome:
    """What a diagnosis said of a planted fault: found, or only "inconclusive"; and what else it warned of.

    `beside` are the codes of further findings of severity warn or high about the same component, `elsewhere`
    of those about others.
    """

    found: bool
    unsure: bool
    severity: str
    beside: tuple[str, ...]
    elsewhere: tuple[str, ...]


def outcome(name: str, seed: int, *, hard: bool) -> Outcome:
    """What rk.diagnose says of this fault."""
    fault = FAULTS[name]
    scores, options = fault.made(name, seed, hard=hard)
    findings = rk.diagnose(scores, **options).findings
    own = [
        item
        for item in findings
        if (item.code, item.component, item.part) == (fault.code, fault.component, fault.part)
    ]
    sure = [item for item in own if not item.evidence.get("inconclusive")]
    loud = [item for item in findings if item.severity != "info" and item not in own]
    return Outcome(
        bool(sure),
        bool(own) and not sure,
        sure[0].severity if sure else "",
        tuple(item.code for item in loud if item.component == fault.component),
        tuple(item.code for item in loud if item.component != fault.component),
    )


def false_findings(name: str, seed: int) -> list[tuple[str, str]]:
    """Severity and code of each finding above "info" on a control."""
    scores, options = CONTROLS[name](generator_of(name, seed))
    return [
        (item.severity, item.code)
        for item in rk.diagnose(scores, **options).findings
        if item.severity != "info"
    ]


def generator_of(name: str, seed: int) -> np.random.Generator:
    """A stream of its own for each name and seed."""
    return np.random.default_rng([seed, crc32(name.encode())])


# what tables are made of


def scored(
    parts: Mapping[str, np.ndarray],
    groups: np.ndarray,
    *,
    weights: Mapping[str, float] | None = None,
    ranges: Mapping[str, Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
    components: Mapping[str, Mapping[str, Any]] | None = None,
    logged: Mapping[str, Sequence[Any]] | None = None,
    total: str | None = None,
    **reward_options: Any,
) -> rk.Scores:
    """Scores in which each component gives these numbers; NaN is not judged, FAILS raises.

    The first weighs 1, the others 0.5. `columns` are more of the rollouts, `components` more options of a
    component, `logged` scores that a trainer wrote. One prompt a group, completions of 20 to 200 letters.
    """
    size = np.random.default_rng(len(groups)).integers(20, 201, len(groups))
    given = {
        "prompt_id": [f"p{group}" for group in groups],
        "completion": [f"{row} ".ljust(int(size[row]), "x") for row in range(len(groups))],
        **(columns or {}),
        **{f"given_{name}": values for name, values in parts.items()},
        **{f"logged/{name}": values for name, values in (logged or {}).items()},
    }
    plain = {name: [_plain(value) for value in values] for name, values in given.items()}
    rows = [dict(zip(plain, values, strict=True)) for values in zip(*plain.values(), strict=True)]
    made = [
        rk.Component(
            name,
            _given,
            columns={"given": f"given_{name}"},
            range=(ranges or {}).get(name, (0.0, 1.0)),
            **{
                "weight": (weights or {}).get(name, 0.5 if place else 1.0),
                **(components or {}).get(name, {}),
            },
        )
        for place, name in enumerate(parts)
    ]
    rollouts = rk.load_rollouts(rows)
    if logged:
        names = {name: f"logged/{name}" for name in logged}
        column = names.get(total or "")
        rollouts = replace(rollouts, logged=Logged(names, dict.fromkeys(names, 1.0), column, "nan"))
    return rk.score(rk.Reward("made", components=made, **reward_options), rollouts)


def _given(given):
    return given if given != FAILS else 1 / 0


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and np.isnan(value) else value


def outcomes(generator, prompts, siblings, rate, spread=0.05):
    """0/1 outcomes of groups whose pass rates are beta distributed around `rate`, and group codes."""
    rates = generator.beta(rate / spread, (1 - rate) / spread, size=prompts)
    found = generator.random((prompts, siblings)) < rates[:, None]
    return found.ravel().astype(float), np.repeat(np.arange(prompts), siblings)


def base(generator, prompts=PROMPTS, siblings=SIBLINGS, rate=0.45):
    """A task that is right or wrong at a middling pass rate, and an unrelated, lighter second part."""
    correct, groups = outcomes(generator, prompts, siblings, rate)
    return {"correct": correct, "tidy": generator.beta(3, 2, len(groups))}, groups


def lengths(groups):
    """The lengths that `scored` gives completions."""
    return np.random.default_rng(len(groups)).integers(20, 201, len(groups))


def some(generator, rows, share):
    """Exactly this share of the rows (at least one), drawn at random."""
    chosen = np.zeros(rows, dtype=bool)
    chosen[generator.permutation(rows)[: max(1, round(share * rows))]] = True
    return chosen


# one function a kind: (generator, strength) -> scores and options


def constant_component(generator, size):
    parts, groups = base(generator, *size)
    return scored({**parts, "tidy": np.full(len(groups), 0.7)}, groups), {}


def constant_task(generator, size):
    parts, groups = base(generator, *size)
    return scored({**parts, "correct": np.zeros(len(groups))}, groups), {}


def constant_reward(generator, graded):
    parts, groups = base(generator)
    first = parts["tidy"] if graded else parts["correct"]
    return scored({"said": first, "unsaid": 1 - first}, groups, weights={"said": 0.3, "unsaid": 0.3}), {}


def sparse_task(generator, rate, **options):
    parts, groups = base(generator)
    correct, _ = outcomes(generator, PROMPTS, SIBLINGS, rate, 0.1)
    return scored({**parts, "correct": correct}, groups, **options), {}


def sparse_open(generator, rate):
    return sparse_task(generator, rate, ranges={"correct": None, "tidy": None})


def sparse_bonus(generator, rate):
    parts, groups = base(generator)
    bonus, _ = outcomes(generator, PROMPTS, SIBLINGS, rate)
    return scored({**parts, "bonus": bonus}, groups), {}


def starved(generator, mean):
    parts, groups = base(generator)
    return scored({**parts, "tidy": generator.beta(1, 1 / mean - 1, len(groups))}, groups), {}


def saturated(generator, mean):
    parts, groups = base(generator)
    return scored({**parts, "tidy": 1 - generator.beta(1, 1 / (1 - mean) - 1, len(groups))}, groups), {}


def saturated_format(generator, rate):
    parts, groups = base(generator)
    return scored({**parts, "tagged": outcomes(generator, PROMPTS, SIBLINGS, rate)[0]}, groups), {}


def binary(generator, range_):
    parts, groups = base(generator)
    return scored(parts, groups, ranges={"correct": range_}), {}


def clustered(generator, share):
    rows = PROMPTS * SIBLINGS
    grade = np.where(some(generator, rows, share), 0.7, generator.integers(0, 11, rows) / 10)
    return scored({"grade": grade}, np.repeat(np.arange(PROMPTS), SIBLINGS)), {}


def collapsed(generator, same):
    parts, groups = base(generator)
    place = np.arange(len(groups))
    first = place % SIBLINGS < same
    told = np.where(first, groups * SIBLINGS, place)  # the row whose text and scores it has
    texts = [f"answer {row} ".ljust(int(lengths(groups)[row]), "x") for row in told]
    return scored({name: values[told] for name, values in parts.items()}, groups,
                  columns={"completion": texts}), {}  # fmt: skip


def outliers(generator, deviations):
    parts, groups = base(generator)
    words = generator.normal(100, 10, len(groups))
    words[some(generator, len(groups), 0.005)] = 100 + 10 * deviations
    return scored({**parts, "words": words}, groups, weights={"words": 0.005}, ranges={"words": None}), {}


def _decided(generator, prompts, share):
    """0/1 outcomes of which this share of the prompts is all right or all wrong, half each."""
    decided = some(generator, prompts, share)
    rates = np.where(decided, (generator.random(prompts) < 0.5).astype(float), 0.5)
    outcome_ = generator.random((prompts, SIBLINGS)) < rates[:, None]
    outcome_[:, 0] ^= ~decided & (outcome_.min(axis=1) == outcome_.max(axis=1))  # the others are never tied
    return outcome_.ravel().astype(float)


def decided_prompts(generator, share):
    correct = _decided(generator, PROMPTS, share)
    return scored({"correct": correct}, np.repeat(np.arange(PROMPTS), SIBLINGS)), {}


def tied_grades(generator, share):
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    grade = generator.integers(2, 9, len(groups)) / 10
    tied = some(generator, PROMPTS, share)[groups]
    return scored({"grade": np.where(tied, grade[groups * SIBLINGS], grade)}, groups), {}


def decided_source(generator, share):
    """One of five data sources, 40 prompts each."""
    each = [_decided(generator, 40, share if place == 4 else 0.1) for place in range(5)]
    groups = np.repeat(np.arange(200), SIBLINGS)
    source = np.array(["sums", "words", "plots", "codes", "proofs"])[groups // 40]
    return scored({"correct": np.concatenate(each)}, groups, columns={"data_source": source}), {}


def opposed(generator, share):
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    brief, full = generator.random((2, len(groups)))
    full = np.where(some(generator, PROMPTS, share)[groups], 1 - np.round(brief), full)
    brief = np.where(full == np.round(full), 1 - full, brief)
    return scored({"brief": brief, "full": full}, groups, weights={"brief": 1.0, "full": 1.0}), {}


def wide_groups(generator, factor):
    parts, groups = base(generator)
    wide = some(generator, PROMPTS, 0.1)[groups]
    points = parts["tidy"] * np.where(wide, factor, 1.0)
    made = scored({"points": points}, groups, ranges={"points": None})
    return made, {"training": {"scale_rewards": "none"}}


def tiny_groups(generator, strength):
    share, size = strength
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    grade = generator.beta(2, 2, len(groups))
    tiny = some(generator, PROMPTS, share)[groups]
    return scored({"grade": np.where(tiny, 0.5 + size * (grade - 0.5), grade)}, groups), {}


def dead(generator, jitter):
    parts, groups = base(generator)
    level = generator.random(PROMPTS)[groups] * 0.9 + jitter * generator.random(len(groups))
    return scored({**parts, "level": level}, groups), {}


def dominant(generator, weight):
    parts, groups = base(generator)
    points = generator.uniform(0, 10, len(groups))
    made = scored({**parts, "points": points}, groups, weights={"points": weight}, ranges={"points": (0, 10)})
    return made, {}


def outweighs(generator, spread):
    """A task with partial credit, a style that is declared .5 and hardly varies, and tags declared .3."""
    groups = np.repeat(np.arange(PROMPTS), SIBLINGS)
    correct = np.clip(generator.normal(0.5, 0.2, len(groups)), 0, 1)
    style = np.clip(generator.normal(0.6, spread, len(groups)), 0, 1)
    tags = (generator.random(len(groups)) < 0.6).astype(float)
    parts = {"correct": correct, "style": style, "tags": tags}
    return scored(parts, groups, weights={"tags": 0.3}), {}


def redundant(generator, noise):
    parts, groups = base(generator)
    again = np.clip(parts["tidy"] + noise * generator.standard_normal(len(groups)), 0, 1)
    return scored({**parts, "again": again}, groups, weights={"again": 0.3}), {}


def redundant_penalty(generator, noise):
    parts, groups = base(generator)
    untidy = np.clip(1 - parts["tidy"] + noise * generator.standard_normal(len(groups)), 0, 1)
    return scored({**parts, "untidy": untidy}, groups, weights={"untidy": -0.3}), {}


def shut_gate(generator, share):
    parts, groups = base(generator)
    lucky = some(generator, len(groups), share).astype(float)
    gated = {"bonus": {"gate": rk.gate("lucky", at_least=1.0)}}
    parts["bonus"] = generator.random(len(groups))
    return scored(parts, groups, columns={"lucky": lucky}, components=gated), {}


def _instead(value):
    def build(generator, share):
        parts, groups = base(generator)
        tidy = np.where(some(generator, len(groups), share), value, parts["tidy"])
        return scored({**parts, "tidy": tidy}, groups), {}

    return build


def unrouted(generator, share):
    parts, groups = base(generator)
    source = np.where(some(generator, PROMPTS, share)[groups], "chess", "sums")
    given = scored(parts, groups, columns={"data_source": source})
    return rk.score(rk.Route("data_source", {"sums": given.reward}), given.rollouts), {}


def wrong_label(generator, flip):
    parts, groups = base(generator)
    flipped = some(generator, len(groups), flip)
    good = np.where(flipped, 1 - parts["correct"], parts["correct"]) > 0
    return scored(parts, groups, columns={"is_good": good}), {"label": "is_good"}


def useless_label(generator, circular):
    parts, groups = base(generator)
    label = parts["correct"] if circular else np.where(np.arange(len(groups)) < 16, parts["correct"], np.nan)
    label = label if circular else np.where(np.arange(len(groups)) == 0, 1 - label, label)
    return scored(parts, groups, columns={"is_good": label}), {"label": "is_good"}


def _mixed(generator, share, values):
    """A score that is these values for this share of its variance and otherwise noise, from 0 to 1."""
    noise, values = generator.random(len(values)), np.argsort(np.argsort(values)) / len(values)
    return (np.sqrt(share) * values + np.sqrt(1 - share) * noise) / (np.sqrt(share) + np.sqrt(1 - share))


def longer(generator, share):
    parts, groups = base(generator)
    style = _mixed(generator, share, lengths(groups) + generator.random(len(groups)))
    return scored({"correct": parts["correct"], "style": style}, groups, weights={"style": 0.3}), {}


def shorter(generator, share):
    parts, groups = base(generator)
    brief = _mixed(generator, share, -lengths(groups) + generator.random(len(groups)))
    return scored({**parts, "brief": brief}, groups, weights={"brief": 0.5, "tidy": 0.1}), {}


def lone_judge(generator, share):
    """A judge's grade alone, with a label that has nothing to do with the length."""
    parts, groups = base(generator)
    style = _mixed(generator, share, lengths(groups) + generator.random(len(groups)))
    grade = 0.6 * parts["correct"] + 0.4 * style
    return scored({"grade": grade}, groups, columns={"is_good": parts["correct"]}), {"label": "is_good"}


def emojis(generator, share):
    parts, groups = base(generator)
    count = generator.integers(0, 9, len(groups))
    warm = _mixed(generator, share, count + generator.random(len(groups)))
    made = scored({"correct": parts["correct"], "warm": warm}, groups, weights={"warm": 0.3},
                  columns={"emojis": count, "temperature": generator.random(len(groups))})  # fmt: skip
    return made, {}


def longer_in_a_source(generator, share):
    """One of four data sources, 50 prompts each."""
    parts, groups = base(generator, 200)
    source = np.array(["sums", "words", "plots", "essays"])[groups // 50]
    of_length = _mixed(generator, share, lengths(groups) + generator.random(len(groups)))
    style = np.where(source == "essays", of_length, generator.random(len(groups)))
    made = {"correct": parts["correct"], "style": style}
    return scored(made, groups, weights={"style": 0.3}, columns={"data_source": source}), {}


def wrong_label_in_a_source(generator, flip):
    """One of five data sources, 40 prompts each, whose check is wrong so often."""
    parts, groups = base(generator, 200)
    source = np.array(["sums", "words", "plots", "codes", "proofs"])[groups // 40]
    flipped = some(generator, len(groups), flip) & (source == "proofs")
    good = np.where(flipped, 1 - parts["correct"], parts["correct"]) > 0
    return scored(parts, groups, columns={"data_source": source, "is_good": good}), {"label": "is_good"}


def cut_and_paid(generator, strength):
    cut_share, paid = strength
    parts, groups = base(generator)
    cut = some(generator, len(groups), cut_share)
    whole = np.where(cut, generator.random(len(groups)) < paid, generator.random(len(groups)) < 0.3)
    correct = np.where(cut, 0.0, parts["correct"])  # the answer was to come at the end
    parts = {"correct": correct, "effort": whole.astype(float)}
    ended = np.where(cut, "length", "stop")
    return scored(parts, groups, weights={"effort": 1.0}, columns={"finish_reason": ended}), {}


def run(generator, *, reward=0.4, label=0.0, growth=0.0, repeats=0.0, steps=6, prompts=20, siblings=4):
    """A run whose reward rises by so much from the first to the last step, and what else changes.

    Of two siblings of one step the good one always earns more, so that the label is followed within groups.
    `label` is the change of the share that is good, `growth` of the length, as a share; `repeats` of the
    share of answers that are the prompt's stock answer.
    """
    rows = steps * prompts * siblings
    step = np.repeat(np.arange(steps), prompts * siblings)
    time, prompt = step / (steps - 1), np.arange(rows) // siblings % prompts
    good = generator.random(rows) < 0.5 + label * (time - 0.5)
    paid = 0.1 + (reward - 0.2 * label) * time + 0.2 * good + generator.normal(0, 0.03, rows).clip(-0.1, 0.1)
    size = np.round(100 * (1 + growth * time) * generator.uniform(0.5, 1.5, rows)).astype(int)
    stock = generator.random(rows) < repeats * time
    text = [f"p{prompt[row]}" if stock[row] else f"{row} ".ljust(size[row], "x") for row in range(rows)]
    text = [item.ljust(100, "x") if stock[row] else item for row, item in enumerate(text)]
    columns = {"completion": text, "step": step, "is_good": good}
    return scored({"paid": paid}, prompt, columns=columns)


def label_falls(generator, change):
    return run(generator, label=-change), {"label": "is_good"}


def answers_grow(generator, growth):
    return run(generator, growth=growth), {}


def answers_repeat(generator, share):
    return run(generator, repeats=share), {}


def other_log(generator, strength):
    """A log whose total is another in this share of the rows: the reward was changed since."""
    parts, groups = base(generator)
    total = parts["correct"] + 0.5 * parts["tidy"]
    wrong = some(generator, len(groups), strength)
    logged = {"score": np.float32(np.where(wrong, total + 0.25, total))}
    return scored(parts, groups, logged=logged, total="score"), {}


def other_score_in_log(generator, strength):
    parts, groups = base(generator)
    wrong = some(generator, len(groups), strength)
    logged = {"tidy": np.float32(np.where(wrong, 0.0, parts["tidy"]))}
    return scored(parts, groups, logged=logged), {}


def log_of_others(generator, name):
    parts, groups = base(generator)
    return scored(parts, groups, logged={name: parts["correct"]}), {}


def late_keys(generator, share):
    parts, groups = base(generator)
    late = some(generator, len(groups), share)
    given = scored(parts, groups, columns={"late": late.tolist()})

    def returned(given_correct, late):
        return {"score": given_correct, **({"bonus": 0.5} if late else {})}

    task = rk.Component("score", Key("score"), columns={"result": "f"}, range=None)
    return rk.score(rk.Reward("made", {"f": returned}, [task]), given.rollouts), {}


FAULTS: dict[str, Fault] = {
    # Prompts and siblings: a batch; a first look of 48 answers. One value on all of them is no accident.
    "constant component": Fault(constant_component, (100, 8), (12, 4), "constant", "tidy"),
    "constant task": Fault(constant_task, (100, 8), (12, 4), "constant", "correct"),
    # x and 1 - x at one weight, of 0 and 1; graded, where the sum is equal up to its last digit only.
    "constant reward": Fault(constant_reward, False, True, "constant", None),
    # One completion in thirty is paid; one in seven, where most groups of eight hold none or one.
    "sparse task": Fault(sparse_task, 1 / 30, 1 / 7, "sparse", "correct"),
    "sparse task, range not declared": Fault(sparse_open, 1 / 30, 1 / 7, "sparse", "correct"),
    "sparse bonus": Fault(sparse_bonus, 1 / 30, 1 / 7, "sparse", "bonus"),
    # Of the range a hundredth is earned; a thirtieth: next to nothing to tell anyone apart by.
    "starved": Fault(starved, 0.01, 1 / 30, "starved", "tidy"),
    "saturated": Fault(saturated, 0.99, 1 - 1 / 30, "saturated", "tidy"),
    "saturated tags": Fault(saturated_format, 0.99, 1 - 1 / 30, "saturated", "tagged"),
    # 0 or 1 in a declared range; as a trainer's function gives it, whose range nobody declared.
    "binary": Fault(binary, (0.0, 1.0), None, "binary", "correct"),
    # A judge that gives 7 of 10 to nineteen answers in twenty; to nine in ten.
    "clustered": Fault(clustered, 0.95, 0.9, "clustered", None),
    # Eight siblings of which seven say the same; of which five do, more than half.
    "collapsed outputs": Fault(collapsed, 7, 5, "collapsed_outputs", None),
    # Four counts of 800 that lie fifty deviations out; eight, which a normal count never does.
    "outliers": Fault(outliers, 50, 8, "outliers", "words"),
    # Prompts that the policy always or never solves: four in five; every second one, twice the compute.
    "all right or all wrong": Fault(decided_prompts, 0.8, 0.5, "zero_std_groups", None),
    "grades tied": Fault(tied_grades, 0.8, 0.5, "zero_std_groups", None),
    "all right or all wrong in a source": Fault(
        decided_source, 0.9, 0.6, "zero_std_groups", None, "data_source=proofs"
    ),
    # Three groups in ten where what one pays the other takes; one in ten, lost without a trace in the mean.
    "opposed": Fault(opposed, 0.3, 0.1, "opposed", None),
    # A tenth of the prompts whose points run to 40 where the others' run to 1; to 15.
    "wide groups": Fault(wide_groups, 40, 15, "high_variance", None),
    # A fifth of the groups that differ by a thousandth of the usual; a tenth that differ by a thirtieth.
    "tiny differences": Fault(tiny_groups, (0.2, 0.001), (0.1, 1 / 30), "amplified_noise", None),
    # A level of the prompt; with the noise of a sum in other order.
    "dead": Fault(dead, 0.0, 1e-10, "dead", "level"),
    # Points from 0 to 10 beside a task of 0 and 1: at half its weight; at a fifth (3 of 5 parts of all).
    "dominant by scale": Fault(dominant, 0.5, 0.2, "dominant", "points"),
    # Tags declared .3 against a style declared .5 that hardly varies; that varies half as much as tags.
    "outweighs": Fault(outweighs, 0.05, 0.15, "dominant", "tags"),
    # The same measure twice, to the second digit; a judge asked twice (correlation .95).
    "redundant": Fault(redundant, 0.01, 0.066, "redundant", "again"),
    "redundant penalty": Fault(redundant_penalty, 0.01, 0.066, "redundant", "untidy"),
    # Open for one answer in a hundred; in fifty.
    "shut gate": Fault(shut_gate, 0.01, 0.02, "gate_rarely_open", "bonus"),
    # Rows without a score: a third; one in thirty, which is 24 of 800 and no rounding error.
    "abstentions": Fault(_instead(np.nan), 1 / 3, 1 / 30, "abstentions", "tidy"),
    "errors": Fault(_instead(FAILS), 1 / 3, 1 / 30, "errors", "tidy"),
    "out of range": Fault(_instead(OUTSIDE), 1 / 3, 1 / 30, "out_of_range", "tidy"),
    "a source without a reward": Fault(unrouted, 1 / 3, 1 / 30, "abstentions", None),
    # The check has nothing to do with the truth; it is wrong in one answer in six.
    "label disagrees": Fault(wrong_label, 0.5, 1 / 6, "label_disagrees", None),
    # The same in one data source of five alone; there it is wrong in one answer in four.
    "label disagrees in a source": Fault(
        wrong_label_in_a_source, 0.5, 1 / 4, "label_disagrees", None, "data_source=proofs"
    ),
    # The label is the check; it is there for two groups of a hundred.
    "label unusable": Fault(useless_label, True, False, "label_unusable", None),
    # A score that is the length (or a count) alone; for half of its variance.
    "pays for longer": Fault(longer, 1.0, 0.5, "length_bias", None),
    "pays for longer in a source": Fault(
        longer_in_a_source, 1.0, 0.5, "length_bias", None, "data_source=essays"
    ),
    "pays for shorter": Fault(shorter, 1.0, 0.5, "length_bias", None),
    "a lone judge pays for longer": Fault(lone_judge, 1.0, 0.5, "length_bias", None),
    "pays for emojis": Fault(emojis, 1.0, 0.5, "column_bias", None),
    # A quarter of the answers cut, all of them paid for effort; a tenth, of which three in four are.
    "cut and paid": Fault(cut_and_paid, (0.25, 1.0), (0.1, 0.75), "truncated_paid", None),
    # While the reward rises by .4: the good ones fall from .8 to .2; from .65 to .35.
    "label falls": Fault(label_falls, 0.6, 0.3, "drift", None),
    # Answers twice as long at the end; half as long again.
    "answers grow": Fault(answers_grow, 1.0, 0.5, "drift", None),
    # At the end nine answers in ten are the stock one; every second, a quarter of the pairs.
    "answers repeat": Fault(answers_repeat, 0.9, 0.5, "drift", None),
    # The reward was changed since: for a third of the answers; for four of 800.
    "other log": Fault(other_log, 1 / 3, 0.005, "log_mismatch", None),
    "other score in the log": Fault(other_score_in_log, 1 / 3, 0.005, "log_mismatch", "tidy"),
    # The log's function has another name; the same in capitals.
    "log of others": Fault(log_of_others, "judge", "Correct", "log_not_compared", None),
    # Keys that came after the sample: in a third of the rows; in one.
    "late keys": Fault(late_keys, 1 / 3, 1 / 800, "unread_keys", None),
}


# controls: what an engineer would leave as it is


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


def plus_minus(generator):
    correct, groups = outcomes(generator, PROMPTS, SIBLINGS, 0.5)
    return scored({"correct": 2 * correct - 1}, groups, ranges={"correct": (-1.0, 1.0)}), {}


def gated_bonus(generator):
    parts, groups = base(generator)
    gates = {"tidy": {"gate": rk.gate("correct", at_least=1.0)}}
    return scored(parts, groups, components=gates), {}


def few_unjudged(generator):
    return _instead(np.nan)(generator, 0.005)


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
    "unbalanced by design": by_design,
    "one group": sized(1, 8),
    "three groups": sized(3, 4),
    "twelve groups": sized(12, 4),
    "pairs of siblings": sized(PROMPTS, 2),
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
