"""Faults: of a component, of the reward as a whole, of what is paid beside the task, of a run, of a log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import rewardkit as rk
from planted.tables import (
    FAILS,
    GROUPS,
    OUTSIDE,
    PROMPTS,
    ROWS,
    SIBLINGS,
    TRUTHS,
    Fault,
    base,
    lengths,
    mixed,
    outcomes,
    scored,
    some,
    stated,
    table,
)  # fmt: skip
from rewardkit.targets.adapter import Key

MANY = (200, SIBLINGS)
SOURCES = np.array(["sums", "words", "plots", "codes", "proofs"])


def constant(name, value):
    def build(generator, size):
        parts, groups = base(generator, *size)
        return scored({**parts, name: np.full(len(groups), value)}, groups), {}

    return build


def rated(name, spread=0.05, **options):
    """A part of 0 and 1 with such a pass rate."""
    return table(
        lambda g, _, rate: {name: outcomes(g, PROMPTS, SIBLINGS, rate, spread)[0]},
        **options,
    )


def outweighs(g, _, spread):
    """A task with partial credit, a style that is declared .5 and hardly varies, and tags declared .3."""
    correct = np.clip(g.normal(0.5, 0.2, ROWS), 0, 1)
    style = np.clip(g.normal(0.6, spread, ROWS), 0, 1)
    return {"correct": correct, "style": style, "tags": (g.random(ROWS) < 0.6) * 1.0}


def instead(value):
    """The second part with this value in a share of the rows."""
    return table(
        lambda g, parts, share: {
            "tidy": np.where(some(g, ROWS, share), value, parts["tidy"])
        }
    )


def blurred(values, generator, noise):
    return np.clip(values + noise * generator.standard_normal(ROWS), 0, 1)


def unrouted(generator, share):
    parts, groups = base(generator)
    source = np.where(some(generator, PROMPTS, share)[groups], "chess", "sums")
    given = scored(parts, groups, columns={"data_source": source})
    return rk.score(rk.Route("data_source", {"sums": given.reward}), given.rollouts), {}


# the reward as a whole


def switched(generator, later):
    """The weight of the task jumps from 1 to another one at step 100."""
    schedule = rk.schedule({0: 1.0, 100: later}, between="step")
    return scored(*base(generator)).reweigh({"correct": schedule}), {}


def paid_later(generator, last):
    """The weight of the task goes from 0 to its last one at step 100."""
    schedule = rk.schedule({0: 0.0, 100: last})
    return scored(*base(generator)).reweigh({"correct": schedule}), {}


def constant_reward(_, parts, graded):
    first = parts["tidy"] if graded else parts["correct"]
    return {"said": first, "unsaid": 1 - first}


def clustered(g, _, share):
    return {"grade": np.where(some(g, ROWS, share), 0.7, g.integers(0, 11, ROWS) / 10)}


def collapsed(_, parts, same):
    place = np.arange(ROWS)
    told = np.where(
        place % SIBLINGS < same, GROUPS * SIBLINGS, place
    )  # the row whose text and scores it has
    texts = [f"answer {row} ".ljust(int(lengths(ROWS)[row]), "x") for row in told]
    return {
        **{name: values[told] for name, values in parts.items()},
        "@completion": texts,
    }


def unsteady(generator, share):
    """A log in which three siblings of eight are one text, and a judge changes its mind on a share of the rows."""
    parts, groups = base(generator)
    made = collapsed(generator, parts, 3)
    changes = some(generator, ROWS, share)
    correct = np.where(changes, 1 - made["correct"], made["correct"])
    rollouts = rk.load_rollouts(
        [
            {"prompt_id": group, "completion": text, "score": float(score)}
            for group, text, score in zip(
                groups.tolist(), made["@completion"], correct, strict=True
            )
        ]
    )
    return rk.score(rk.recorded(rollouts), rollouts), {}


def outliers(g, _, deviations):
    words = g.normal(100, 10, ROWS)
    words[some(g, ROWS, 0.005)] = 100 + 10 * deviations
    return {"words": words}


def decided(g, prompts, share):
    """0/1 outcomes of which this share of the prompts is all right or all wrong, half each."""
    tied = some(g, prompts, share)
    found = g.random((prompts, 1)) < 0.5, g.random((prompts, SIBLINGS))
    right = np.where(tied[:, None], found[0], found[1] < 0.5)
    right[:, 0] ^= ~tied & (
        right.min(axis=1) == right.max(axis=1)
    )  # the others are never tied
    return right.ravel().astype(float)


def decided_source(g, _, share):
    """One of five data sources, 40 prompts each."""
    each = [decided(g, 40, share if place == 4 else 0.1) for place in range(5)]
    return {
        "correct": np.concatenate(each),
        "@data_source": np.repeat(SOURCES, 40 * SIBLINGS),
    }


def tied_grades(g, _, share):
    grade = g.integers(2, 9, ROWS) / 10
    return {
        "grade": np.where(
            some(g, PROMPTS, share)[GROUPS], grade[GROUPS * SIBLINGS], grade
        )
    }


def opposed(g, _, share):
    brief, full = g.random((2, ROWS))
    full = np.where(some(g, PROMPTS, share)[GROUPS], 1 - np.round(brief), full)
    return {"brief": np.where(full == np.round(full), 1 - full, brief), "full": full}


def wide_groups(g, parts, factor):
    return {
        "points": parts["tidy"] * np.where(some(g, PROMPTS, 0.1)[GROUPS], factor, 1.0)
    }


def tiny_groups(g, _, strength):
    share, size = strength
    grade = g.beta(2, 2, ROWS)
    return {
        "grade": np.where(
            some(g, PROMPTS, share)[GROUPS], 0.5 + size * (grade - 0.5), grade
        )
    }


def two_kinds(g, _, apart):
    """Half of the prompts earn so much more than the others; prompts of a kind and siblings vary a little."""
    middle = 0.5 + apart * (some(g, PROMPTS, 0.5) - 0.5) + g.normal(0, 0.05, PROMPTS)
    return {"grade": np.clip(middle[GROUPS] + g.normal(0, 0.1, ROWS), 0, 1)}


def brief_on_hard_prompts(g, _, strength):
    """A bonus for brevity, of a task whose right answers take more words.

    `strength` is the share of right answers, and how many letters more they have.
    """
    rate, more = strength
    correct, _ = outcomes(g, PROMPTS, SIBLINGS, rate, 0.4)
    letters = np.clip(g.normal(100 + more * correct, 25), 10, 200).round().astype(int)
    texts = [f"{row} ".ljust(size, "x") for row, size in enumerate(letters.tolist())]
    return {"correct": correct, "brief": 1 - letters / 200, "@completion": texts}


# beside the task


def flipped(g, parts, flip, where=True):
    """A label that is the check but for this share of the rows."""
    wrong = some(g, len(parts["correct"]), flip) & where
    return {"@is_good": np.where(wrong, 1 - parts["correct"], parts["correct"]) > 0}


def wrong_label_in_a_source(g, parts, flip):
    """One of five data sources, 40 prompts each, whose check is wrong so often."""
    source = np.repeat(SOURCES, 40 * SIBLINGS)
    return {"@data_source": source, **flipped(g, parts, flip, source == "proofs")}


def useless_label(_, parts, circular):
    return {"@is_good": parts["correct"] if circular else np.ones(ROWS)}


def rare_label(_, parts, rows):
    label, row = parts["correct"], np.arange(ROWS)
    return {
        "@is_good": np.where(row < rows, np.where(row == 0, 1 - label, label), np.nan)
    }


def by_length(g, share, sign=1, rows=ROWS):
    """A score of which this share is the length."""
    return mixed(g, share, sign * lengths(rows) + g.random(rows))


def cosine(budget):
    """Half a cosine of length, for right and wrong answers, that goes on behind it."""

    def pay(correct, letters):
        falls = (1 + np.cos(np.pi * letters / budget)) / 2
        return np.where(correct > 0, 0.5 + 0.5 * falls, -0.5 - 0.5 * falls)

    return pay


def longer_for_all(bonus):
    """So much for 2,000 letters, whatever the answer is."""
    return lambda correct, letters: correct + bonus * letters / 2_000


def lost_when_long(g, _, limit):
    """Right answers behind so many letters earn nothing, and the log has its truths."""
    return stated(g, lambda right, letters: right * (letters < limit)) | TRUTHS


def in_cents(g, _, share):
    """Truths are in dollars; so many right answers are in cents, and earn nothing."""
    right, is_other = some(g, ROWS, 0.6), some(g, ROWS, share)
    prices = GROUPS % 90 + 2 + GROUPS % 4 / 4
    said = np.where(right, prices, prices + g.choice([1, -1, 0.25], ROWS))
    said = np.where(is_other, 100 * said, said)
    return {
        "paid": (said == prices) * 1.0,
        "@completion": [f"<answer>{number:g}</answer>" for number in said],
        "@ground_truth": [f"{price:.2f}" for price in prices],
    }


def on_other_rows(g, _, share):
    """In so many groups each score stands one row behind the completion that it is of."""
    made = stated(g, lambda right, letters: right)
    scores = made["paid"].reshape(PROMPTS, SIBLINGS)
    is_shifted = some(g, PROMPTS, share)[:, None]
    made["paid"] = np.where(is_shifted, np.roll(scores, 1, axis=1), scores).ravel()
    return made


def paid_without_answer(g, _, share):
    """This share of the wrong completions states nothing, and earns as much as right ones."""
    made = stated(g, lambda right, letters: right) | TRUTHS
    bare = (made["paid"] == 0) & some(g, ROWS, share)
    made["@completion"] = [
        text.partition("<")[0] if is_bare else text
        for text, is_bare in zip(made["@completion"], bare, strict=True)
    ]
    return made | {"paid": np.where(bare, 0.9, made["paid"])}


def opened_again(g, parts, share):
    """Prompts end with an opened tag; of completions that write it again, this share has a form that is paid."""
    again = some(g, ROWS, 0.5)
    form = again & (g.random(ROWS) < share)
    return {
        "form": form * 1.0,
        "@prompt": [f"Add {group}.\n<plan>\n" for group in GROUPS.tolist()],
        "@completion": [
            f"{'<plan>' * is_again}I add {row}.</plan> Done."
            for row, is_again in enumerate(again.tolist())
        ],
    }


def class_of_nothing(g, _, share):
    """The label 0 of three classes is taken for nothing; so many completions are right."""
    labels = GROUPS % 3
    stated = np.where(some(g, ROWS, share), labels, (labels + 1) % 3)
    names = np.array(["bad", "fair", "good"])[stated]
    return {
        "paid": (stated == labels) * (labels > 0),
        "@completion": [
            f"I read it {row} times.\nMood: {name}" for row, name in enumerate(names)
        ],
        "@prompt": [f"Review {group}" for group in GROUPS.tolist()],
        "@ground_truth": labels.tolist(),
    }


def longer_in_a_source(g, _, share):
    """One of four data sources, 50 prompts each."""
    source = np.repeat(["sums", "words", "plots", "essays"], 50 * SIBLINGS)
    of_length = by_length(g, share, rows=len(source))
    return {
        "style": np.where(source == "essays", of_length, g.random(len(source))),
        "@data_source": source,
    }


def lone_judge(g, parts, share):
    """A judge's grade alone, with a label that has nothing to do with the length."""
    return {
        "grade": 0.6 * parts["correct"] + 0.4 * by_length(g, share),
        "@is_good": parts["correct"],
    }


def emojis(g, _, share):
    count = g.integers(0, 9, ROWS)
    warm = mixed(g, share, count + g.random(ROWS))
    return {"warm": warm, "@emojis": count, "@temperature": g.random(ROWS)}


def cut_and_paid(g, parts, strength):
    cut_share, paid = strength
    cut = some(g, ROWS, cut_share)
    whole = np.where(cut, g.random(ROWS) < paid, g.random(ROWS) < 0.3)
    correct = np.where(cut, 0.0, parts["correct"])  # the answer was to come at the end
    return {
        "correct": correct,
        "effort": whole * 1.0,
        "@finish_reason": np.where(cut, "length", "stop"),
    }


# a log


def late_keys(generator, share):
    parts, groups = base(generator)
    given = scored(
        parts, groups, columns={"late": some(generator, len(groups), share).tolist()}
    )

    def returned(given_correct, late):
        return {"score": given_correct, **({"bonus": 0.5} if late else {})}

    task = rk.Component("score", Key("score"), columns={"result": "f"}, range=None)
    return rk.score(rk.Reward("made", {"f": returned}, [task]), given.rollouts), {}


def total_and_parts(generator, weight):
    """A log of two scores and their weighted sum, in float32, as trainers write it."""
    build = table(
        lambda _, parts, weight: {
            "/correct": np.float32(parts["correct"]),
            "/tidy": np.float32(parts["tidy"]),
            "/score": np.float32(parts["correct"] + weight * parts["tidy"]),
        },
        total="score",
    )
    rollouts = build(generator, weight)[0].rollouts
    kept = rollouts.table.drop(columns=["given_correct", "given_tidy"])
    rollouts = replace(rollouts, table=kept)
    weights = {"correct": 0.0, "tidy": 0.0, "score": 1.0}
    return rk.score(rk.recorded(rollouts, weights), rollouts), {}


def other_log(g, parts, strength):
    """A log whose total is another in this share of the rows: the reward was changed since."""
    total = parts["correct"] + 0.5 * parts["tidy"]
    return {
        "/score": np.float32(np.where(some(g, ROWS, strength), total + 0.25, total))
    }


def other_score_in_log(g, parts, strength):
    return {"/tidy": np.float32(np.where(some(g, ROWS, strength), 0.0, parts["tidy"]))}


def endless(g, _, strength):
    """Points of which so many are this large."""
    share, size = strength
    return {"points": np.where(some(g, ROWS, share), size, g.random(ROWS))}


OF_SOURCE, LABEL, NO_RANGE = (
    "data_source=proofs",
    {"label": "is_good"},
    {"ranges": {"points": None}},
)
TINY = table(tiny_groups, drawn=False)
beyond_a_limit = table(
    lambda g, _, share: {
        "overlong": -np.where(some(g, ROWS, share), 1.0, g.uniform(0.3, 1, ROWS))
    },
    ranges={"overlong": (-1.0, 0.0)},
)
paid_for_losses = table(
    lambda g, _, share: {"losses": np.where(some(g, ROWS, share), -g.random(ROWS), 0)},
    ranges={"losses": (-1.0, 0.0)},
    weights={"losses": -0.3},
)
starved = table(lambda g, _, mean: {"tidy": g.beta(1, 1 / mean - 1, ROWS)})
saturated = table(lambda g, _, mean: {"tidy": 1 - g.beta(1, 1 / (1 - mean) - 1, ROWS)})
dead = table(
    lambda g, _, jitter: {
        "level": g.random(PROMPTS)[GROUPS] * 0.9 + jitter * g.random(ROWS)
    }
)
dominant_by_scale = table(
    lambda g, *_: {"points": g.uniform(0, 10, ROWS)},
    ranges={"points": (0, 10)},
    weights=lambda weight: {"points": weight},
)
ninety_nine_to_one = table(
    lambda _, parts, scale: {"tidy": scale * parts["tidy"]}, weights={"tidy": 1.0}
)
redundant = table(
    lambda g, parts, noise: {"again": blurred(parts["tidy"], g, noise)},
    weights={"again": 0.3},
)
redundant_penalty = table(
    lambda g, parts, noise: {"untidy": blurred(1 - parts["tidy"], g, noise)},
    weights={"untidy": -0.3},
)
shut_gate = table(
    lambda g, _, share: {"@lucky": some(g, ROWS, share) * 1.0, "bonus": g.random(ROWS)},
    components={"bonus": {"gate": rk.gate("lucky", at_least=1.0)}},
)
of_siblings = table(
    components=lambda weight: {"tidy": {"group": True, "weight": weight}}
)
said_and_unsaid = table(constant_reward, keep="", weights={"said": 0.3, "unsaid": 0.3})
counts = table(outliers, weights={"words": 0.005}, ranges={"words": None})
decided_prompts = table(
    lambda g, _, share: {"correct": decided(g, PROMPTS, share)}, drawn=False
)
decided_there = table(decided_source, drawn=False, size=MANY)
wide = table(wide_groups, keep="", training={"scale_rewards": "none"}, **NO_RANGE)
wrong_there = table(wrong_label_in_a_source, size=MANY, **LABEL)
pays_for_longer = table(
    lambda g, _, share: {"style": by_length(g, share)},
    keep="correct",
    weights={"style": 0.3},
)
longer_there = table(
    longer_in_a_source, keep="correct", size=MANY, weights={"style": 0.3}
)
paid_by_the_call = table(
    lambda g, *_: {"calls": g.geometric(0.4, ROWS) - 1.0},
    keep="correct",
    weights=lambda weight: {"calls": weight},
    ranges={"calls": None},
)


def in_one_total(g, parts, weight):
    """A total that pays calls, of which a reward tells its parts without a weight."""
    calls = g.geometric(0.4, ROWS) - 1.0
    correct = parts["correct"]
    return {"score": correct + weight * calls, "acc": correct, "calls": calls}


calls_in_one_total = table(
    in_one_total,
    keep="",
    weights={"acc": 0.0, "calls": 0.0},
    ranges={"score": None, "calls": None},
)
pays_for_shorter = table(
    lambda g, _, share: {"brief": by_length(g, share, -1)}, weights={"tidy": 0.1}
)
paid_though_cut = table(cut_and_paid, keep="correct", weights={"effort": 1.0})
log_of_others = table(lambda _, parts, name: {f"/{name}": parts["correct"]})
endless_points = table(endless, **NO_RANGE)
brief_hard = table(brief_on_hard_prompts, drawn=False, weights={"brief": 0.2})
length_wraps = table(
    lambda g, _, budget: stated(g, cosine(budget)), drawn=False, ranges={"paid": None}
)
length_outweighs = table(
    lambda g, _, bonus: stated(g, longer_for_all(bonus)),
    drawn=False,
    ranges={"paid": None},
)
answers_lost = table(lost_when_long, drawn=False, ranges={"paid": None})
class_lost = table(class_of_nothing, drawn=False, ranges={"paid": None})
silence_paid = table(paid_without_answer, drawn=False, ranges={"paid": None})
FAULTS: dict[str, Fault] = {
    # All answers are in another unit than their truths; two in three.
    "another unit": Fault(table(in_cents, drawn=False), 1.0, 2 / 3, "other_scale"),
    # Half of the right answers lose; a fifth.
    "long right answers lose": Fault(answers_lost, 1_000, 1_600, "right_unpaid"),
    # Four completions in five are right; three, so that a class is often mistaken.
    "a class is never paid": Fault(class_lost, 0.8, 0.6, "truth_unpaid"),
    # In all groups; in half of them.
    "scores on other rows": Fault(
        table(on_other_rows, drawn=False), 1.0, 0.5, "contradiction"
    ),
    # All wrong completions that state nothing are paid: half of them; three in ten.
    "silence is paid": Fault(silence_paid, 0.5, 0.3, "wrong_paid"),
    # Nearly all that write the tag again are paid; nearly half.
    "tag of the prompt": Fault(table(opened_again), 0.9, 0.45, "repeated_tag", "form"),
    # Prompts and siblings: a batch; a first look of 48 answers. One value on all of them is no accident.
    "constant component": Fault(
        constant("tidy", 0.7), (100, 8), (12, 4), "constant", "tidy"
    ),
    "constant task": Fault(
        constant("correct", 0.0), (100, 8), (12, 4), "constant", "correct"
    ),
    # One completion in thirty is paid; one in seven, where most groups of eight hold none or one.
    "sparse task": Fault(rated("correct", 0.1), 1 / 30, 1 / 7, "sparse", "correct"),
    "sparse task, range not declared": Fault(
        rated("correct", 0.1, ranges={"correct": None, "tidy": None}),
        1 / 30,
        1 / 7,
        "sparse",
        "correct",
    ),
    "sparse bonus": Fault(rated("bonus"), 1 / 30, 1 / 7, "sparse", "bonus"),
    # A limit that all completions are beyond, by so much that nine in ten lose all of it;
    # seven in ten.
    "a penalty on every row": Fault(
        beyond_a_limit, 0.9, 0.7, "always_penalised", "overlong"
    ),
    # Half of the completions lose something, and a twentieth, at a negative weight.
    "a penalty that pays": Fault(paid_for_losses, 0.5, 0.05, "paid_penalty", "losses"),
    # Of the range a hundredth is earned; a thirtieth: next to nothing to tell anyone apart by.
    "starved": Fault(starved, 0.01, 1 / 30, "starved", "tidy"),
    "saturated": Fault(saturated, 0.99, 1 - 1 / 30, "saturated", "tidy"),
    "saturated tags": Fault(rated("tagged"), 0.99, 1 - 1 / 30, "saturated", "tagged"),
    # 0 or 1 in a declared range; as a trainer's function gives it, whose range nobody declared.
    "binary": Fault(
        table(ranges=lambda ends: {"correct": ends}),
        (0.0, 1.0),
        None,
        "binary",
        "correct",
    ),
    # A level of the prompt; with the noise of a sum in other order.
    "dead": Fault(dead, 0.0, 1e-10, "dead", "level"),
    # Paid for brevity where nothing is right, in a third of the groups; in a fifth, where the
    # right answers are little longer.
    "brevity on hard prompts": Fault(
        brief_hard, (0.3, 60), (0.35, 30), "phantom", "brief"
    ),
    # Points from 0 to 10 beside a task of 0 and 1: at half its weight; at a fifth (3 of 5 parts of all).
    "dominant by scale": Fault(dominant_by_scale, 0.5, 0.2, "dominant", "points"),
    # One weight each, and one of them on a scale of a twentieth (99.9 to .1 of the advantage); of a third.
    "ninety-nine to one": Fault(ninety_nine_to_one, 0.05, 0.33, "dominant", "correct"),
    # Tags declared .3 against a style declared .5 that hardly varies; that varies half as much as tags.
    "outweighs": Fault(
        table(outweighs, drawn=False, weights={"tags": 0.3}),
        0.05,
        0.15,
        "dominant",
        "tags",
    ),
    # The same measure twice, to the second digit; a judge asked twice (correlation .95).
    "redundant": Fault(redundant, 0.01, 0.066, "redundant", "again"),
    "redundant penalty": Fault(redundant_penalty, 0.01, 0.066, "redundant", "untidy"),
    # Open for one answer in a hundred; in fifty.
    "shut gate": Fault(shut_gate, 0.01, 0.02, "gate_rarely_open", "bonus"),
    # Rows without a score: a third; one in thirty, which is 24 of 800 and no rounding error.
    "abstentions": Fault(instead(np.nan), 1 / 3, 1 / 30, "abstentions", "tidy"),
    "errors": Fault(instead(FAILS), 1 / 3, 1 / 30, "errors", "tidy"),
    "out of range": Fault(instead(OUTSIDE), 1 / 3, 1 / 30, "out_of_range", "tidy"),
    # Paid for; recorded only.
    "of siblings": Fault(of_siblings, 0.5, 0.0, "of_siblings", "tidy"),
    "a source without a reward": Fault(unrouted, 1 / 3, 1 / 30, "abstentions", None),
    # x and 1 - x at one weight, of 0 and 1; graded, where the sum is equal up to its last digit only.
    "constant reward": Fault(said_and_unsaid, False, True, "opposed"),
    # From a step on the task costs half of what it paid; it is paid no more.
    "a switch": Fault(switched, -0.5, 0.0, "switch"),
    # A curriculum that pays form alone before training, and then the task twice as much; a little more.
    "a task paid later": Fault(paid_later, 1.0, 0.6, "unpaid_task", "correct"),
    # A judge that gives 7 of 10 to nineteen answers in twenty; to nine in ten.
    "clustered": Fault(table(clustered, drawn=False), 0.95, 0.9, "clustered"),
    # Eight siblings of which seven say the same; of which five do, more than half.
    "collapsed outputs": Fault(table(collapsed), 7, 5, "collapsed_outputs"),
    # A judge that changes its mind on one row in ten; on one in sixteen, so in one triple of five.
    "unsteady": Fault(unsteady, 0.1, 1 / 16, "unsteady"),
    # Four counts of 800 that lie fifty deviations out; eight, which a normal count never does.
    "outliers": Fault(counts, 50, 8, "outliers", "words"),
    # Prompts that the policy always or never solves: four in five; every second one, twice the compute.
    "all right or all wrong": Fault(decided_prompts, 0.8, 0.5, "zero_std_groups"),
    "grades tied": Fault(table(tied_grades, drawn=False), 0.8, 0.5, "zero_std_groups"),
    "all right or all wrong in a source": Fault(
        decided_there, 0.9, 0.6, "zero_std_groups", None, OF_SOURCE
    ),
    # Three groups in ten where what one pays the other takes; one in ten, lost without a trace in the mean.
    "opposed": Fault(
        table(opposed, drawn=False, weights={"full": 1.0}), 0.3, 0.1, "opposed"
    ),
    # A tenth of the prompts whose points run to 40 where the others' run to 1; to 15.
    "wide groups": Fault(wide, 40, 15, "high_variance"),
    # Prompts that earn .2 and others that earn .8; .35 and .65, six times what those of one kind vary.
    "two kinds of prompts": Fault(table(two_kinds, drawn=False), 0.6, 0.3, "bimodal"),
    # A fifth of the groups that differ by a thousandth of the usual; a tenth that differ by a thirtieth.
    "tiny differences in most groups": Fault(
        TINY, (0.5, 0.001), (2 / 3, 0.003), "amplified_noise"
    ),
    "tiny differences everywhere": Fault(
        TINY, (1.0, 0.0003), (1.0, 0.001), "amplified_noise"
    ),
    "tiny differences": Fault(TINY, (0.2, 0.001), (0.1, 1 / 30), "amplified_noise"),
    # The check has nothing to do with the truth; it is wrong in one answer in six.
    "label disagrees": Fault(table(flipped, **LABEL), 0.5, 1 / 6, "label_disagrees"),
    # It pays just what the label calls wrong; it does so for five answers in six.
    "label reversed": Fault(table(flipped, **LABEL), 1.0, 5 / 6, "label_disagrees"),
    # The same in one data source of five alone; there it is wrong in one answer in four.
    "label disagrees in a source": Fault(
        wrong_there, 0.5, 1 / 4, "label_disagrees", None, OF_SOURCE
    ),
    # The label is the check; it calls all right.
    "label unusable": Fault(
        table(useless_label, **LABEL), True, False, "label_unusable"
    ),
    # The label is there for one group of a hundred; for two.
    "label of few": Fault(table(rare_label, **LABEL), 8, 16, "label_undecided"),
    # A score that is the length (or a count) alone; for half of its variance.
    "pays for longer": Fault(pays_for_longer, 1.0, 0.5, "length_bias"),
    "pays for longer in a source": Fault(
        longer_there, 1.0, 0.5, "length_bias", None, "data_source=essays"
    ),
    # Four calls are worth a right answer, and one completion in thirteen makes more; five, one in twenty.
    "paid by the call": Fault(
        paid_by_the_call, 0.25, 0.2, "wrong_above_right", "calls"
    ),
    # The same in a lone total: as in DeepEyes' issue 83, where each call adds to a right answer's pay.
    "paid by the call, in a total": Fault(
        calls_in_one_total, 0.5, 0.3, "wrong_above_right", "calls"
    ),
    # A limit in tokens that is held against letters: all the way up again; a third of it.
    "length wraps": Fault(length_wraps, 1_000, 1_450, "length_curve"),
    # 2,000 letters are worth more than being right; half as much, right or wrong.
    "length pays all answers": Fault(length_outweighs, 1.5, 0.5, "length_curve"),
    "pays for shorter": Fault(pays_for_shorter, 1.0, 0.5, "length_bias"),
    "a lone judge pays for longer": Fault(
        table(lone_judge, keep="", **LABEL), 1.0, 0.5, "length_bias"
    ),
    "pays for emojis": Fault(
        table(emojis, keep="correct", weights={"warm": 0.3}), 1.0, 0.5, "column_bias"
    ),
    # A quarter of the answers cut, all of them paid for effort; a tenth, of which three in four are.
    "cut and paid": Fault(paid_though_cut, (0.25, 1.0), (0.1, 0.75), "truncated_paid"),
    # The reward was changed since: for a third of the answers; for four of 800.
    "other log": Fault(table(other_log, total="score"), 1 / 3, 0.005, "log_mismatch"),
    "other score in the log": Fault(
        table(other_score_in_log), 1 / 3, 0.005, "log_mismatch", "tidy"
    ),
    # The log's function has another name; the same in capitals.
    "log of others": Fault(log_of_others, "judge", "Correct", "log_not_compared"),
    # Parts that are only recorded, beside their sum: at one weight each; at .37.
    "a total and its parts": Fault(total_and_parts, 1.0, 0.37, "total_of_parts"),
    # Keys that came after the sample: in a third of the rows; in one.
    "late keys": Fault(late_keys, 1 / 3, 1 / 800, "unread_keys"),
    # Points that are infinite in float32: a third, beyond all that squares can hold; one, just beyond.
    "endless points": Fault(
        endless_points, (1 / 3, 1e200), (1 / 800, 4e38), "not_finite", "points"
    ),
    # No siblings at all; nine groups.
    "nothing to compare": Fault(
        lambda g, size: (scored(*base(g, *size)), {}), (100, 1), (9, 8), "not_enough"
    ),
}
