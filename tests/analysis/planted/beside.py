"""Faults of what is paid beside the task, against a label, and over the steps of a run."""

from __future__ import annotations

import numpy as np

from planted.tables import Fault, base, lengths, mixed, scored, some


def wrong_label(generator, flip):
    parts, groups = base(generator)
    flipped = some(generator, len(groups), flip)
    good = np.where(flipped, 1 - parts["correct"], parts["correct"]) > 0
    return scored(parts, groups, columns={"is_good": good}), {"label": "is_good"}


def wrong_label_in_a_source(generator, flip):
    """One of five data sources, 40 prompts each, whose check is wrong so often."""
    parts, groups = base(generator, 200)
    source = np.array(["sums", "words", "plots", "codes", "proofs"])[groups // 40]
    flipped = some(generator, len(groups), flip) & (source == "proofs")
    good = np.where(flipped, 1 - parts["correct"], parts["correct"]) > 0
    return scored(parts, groups, columns={"data_source": source, "is_good": good}), {"label": "is_good"}


def useless_label(generator, circular):
    parts, groups = base(generator)
    label = parts["correct"] if circular else np.where(np.arange(len(groups)) < 16, parts["correct"], np.nan)
    label = label if circular else np.where(np.arange(len(groups)) == 0, 1 - label, label)
    return scored(parts, groups, columns={"is_good": label}), {"label": "is_good"}


def longer(generator, share):
    parts, groups = base(generator)
    style = mixed(generator, share, lengths(groups) + generator.random(len(groups)))
    return scored({"correct": parts["correct"], "style": style}, groups, weights={"style": 0.3}), {}


def longer_in_a_source(generator, share):
    """One of four data sources, 50 prompts each."""
    parts, groups = base(generator, 200)
    source = np.array(["sums", "words", "plots", "essays"])[groups // 50]
    of_length = mixed(generator, share, lengths(groups) + generator.random(len(groups)))
    style = np.where(source == "essays", of_length, generator.random(len(groups)))
    made = {"correct": parts["correct"], "style": style}
    return scored(made, groups, weights={"style": 0.3}, columns={"data_source": source}), {}


def shorter(generator, share):
    parts, groups = base(generator)
    brief = mixed(generator, share, -lengths(groups) + generator.random(len(groups)))
    return scored({**parts, "brief": brief}, groups, weights={"brief": 0.5, "tidy": 0.1}), {}


def paid_by_the_call(generator, weight):
    """A task, and a nudge for each call without an end: most make none, a few very many."""
    parts, groups = base(generator)
    calls = generator.geometric(0.4, len(groups)) - 1.0
    made = {"correct": parts["correct"], "calls": calls}
    return scored(made, groups, weights={"calls": weight}, ranges={"calls": None}), {}


def lone_judge(generator, share):
    """A judge's grade alone, with a label that has nothing to do with the length."""
    parts, groups = base(generator)
    style = mixed(generator, share, lengths(groups) + generator.random(len(groups)))
    grade = 0.6 * parts["correct"] + 0.4 * style
    return scored({"grade": grade}, groups, columns={"is_good": parts["correct"]}), {"label": "is_good"}


def emojis(generator, share):
    parts, groups = base(generator)
    count = generator.integers(0, 9, len(groups))
    warm = mixed(generator, share, count + generator.random(len(groups)))
    made = scored({"correct": parts["correct"], "warm": warm}, groups, weights={"warm": 0.3},
                  columns={"emojis": count, "temperature": generator.random(len(groups))})  # fmt: skip
    return made, {}


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


FAULTS: dict[str, Fault] = {
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
    # Four calls are worth a right answer, and one completion in thirteen makes more; five, one in twenty.
    "paid by the call": Fault(paid_by_the_call, 0.25, 0.2, "wrong_above_right", "calls"),
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
}
