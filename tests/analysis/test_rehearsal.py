"""The rehearsal: kinds, the policy over them, and the outlook that it gives.

The rollouts of `data/training` come from a small language model whose real training
is on record: brevity that is paid without a gate, filler words without an end, and
form alone end at 0.00 there; the task alone, and brevity behind a gate, at 0.7 to 0.8.
"""

from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import pytest

import rewardkit as rk
from rewardkit.analysis.parts import make_views
from rewardkit.analysis.rehearsal.kinds import (
    find_hacks,
    find_kinds,
    form_of,
    learnable,
)
from rewardkit.analysis.rehearsal.outlook import outlook_of
from rewardkit.analysis.rehearsal.policy import (
    NEVER,
    Learners,
    Material,
    RehearsalPlan,
    fit_ability,
    rehearse,
)
from rewardkit.analysis.rehearsal.reach import lengthened, limit_calls, rungs_of
from rewardkit.analysis.rehearsal.rehearsal import rehearse_view
from rewardkit.analysis.rehearsal.rows import collect, pay_rows
from rewardkit.analysis.statistics.advantages import grpo

ROLLOUTS = Path(__file__).parents[2] / "data" / "training" / "rollouts"
FILLERS = ("well ", "so ", "now ", "hmm ")


def exact(prediction, ground_truth):
    return float(prediction == ground_truth)


def short(completion):
    return max(0.0, 1 - len(completion) / 100)


def fillers(completion):
    return float(sum(map(completion.count, FILLERS)))


def paid(*beside, weight=1.0):
    task = rk.Component("exact", exact, weight=weight)
    fields = {"prediction": rk.extract.tag("answer")}
    return rk.Reward("paid", fields=fields, components=[task, *beside])


RIGHT = rk.gate("exact", at_least=1.0)
BRIEF = rk.Component("short", short, weight=0.3)
GATED = rk.Component("short", short, weight=0.3, gate=RIGHT)
WORDS = rk.Component("fillers", fillers, weight=0.1, range=(0.0, 100.0))
FORM = rk.Component("form", rk.measure.tags("think", "answer"), weight=0.3)


@pytest.fixture(scope="module")
def sums():
    """The rollouts of hard sums, with a label that says which are right."""
    table = pd.read_parquet(ROLLOUTS / "sums-hard.parquet")
    scores = rk.score(paid(), rk.load_rollouts(table))
    return table.assign(right=scores.score("exact") == 1)


FORETOLD = {
    "the task": (paid(), "rises", ""),
    "brevity gated": (paid(GATED), "rises", ""),
    "brevity": (paid(BRIEF), "falls", "empty completions"),
    "filler words": (paid(WORDS), "falls", "longer completions with"),
    "form alone": (paid(FORM, weight=0.0), "falls", "with `<think>` and `<answer>`"),
}


@pytest.mark.parametrize(
    ("reward", "outlook", "grows"), FORETOLD.values(), ids=FORETOLD
)
def test_what_real_training_did_is_foretold(sums, reward, outlook, grows):
    scores = rk.score(reward, rk.load_rollouts(sums))
    found = rk.forecast(scores, label="right").outlook
    assert found.task == outlook
    assert (found.fragility > 0.1) == (outlook == "falls")
    assert found.sound > 0.6
    if grows:
        assert grows in found.takes_over.kind
        assert found.takes_over.component in repr(reward)


@pytest.mark.parametrize("name", [*FORETOLD][:3])
@pytest.mark.parametrize("label", ["right", None], ids=["label", "no label"])
def test_what_the_log_lacks_is_reached(sums, name, label):
    reward, outlook, grows = FORETOLD[name]
    table = sums[sums["completion"].str.len() > 20]
    found = rk.forecast(rk.score(reward, rk.load_rollouts(table)), label=label).outlook
    assert found.task == outlook
    assert grows in found.takes_over.kind


def brief_by_step(weights):
    return replace(BRIEF, weight=rk.schedule(weights, between="step"))


@pytest.mark.parametrize(
    ("reward", "outlook"),
    [
        (paid(brief_by_step({0: 0.3})), "falls"),
        (paid(brief_by_step({0: 0.3, 5: 0.0})), "rises"),
        (paid(BRIEF, weight=rk.schedule({0: 1.0, 80: 0.0})), "falls"),
        (paid(FORM, weight=rk.schedule({0: 0.0, 20: 1.0}, between="step")), "rises"),
    ],
    ids=[
        "brevity throughout",
        "brevity for 5 steps",
        "a task that fades",
        "form first",
    ],
)
def test_learners_are_paid_the_weights_of_their_step(sums, reward, outlook):
    scores = rk.score(reward, rk.load_rollouts(sums))
    assert rk.forecast(scores, label="right").outlook.task == outlook


def test_rows_are_paid_as_the_scores_of_a_step_are(sums):
    reward = paid(brief_by_step({0: 0.3, 100: 0.9}), weight=rk.schedule({0: 1, 50: 0}))
    scores = rk.score(reward, rk.load_rollouts(sums))
    (view,) = make_views(scores, label="right")
    rows, *_ = collect(view)
    pay, every = pay_rows(view, rows), np.arange(len(view))
    for step in (0, 25, 100):
        rewards, _ = pay(every, view.groups, np.zeros_like(every), step)
        assert rewards == pytest.approx(scores.at(step).rewards)


def test_weights_are_followed_as_far_as_they_are_said_to_be(sums, monkeypatch):
    monkeypatch.setattr("rewardkit.analysis.rehearsal.rehearsal.LEARNERS", 1)
    reward = paid(replace(BRIEF, weight=rk.schedule({0: 0.3, 1000: 0.0})))
    scores = rk.score(reward, rk.load_rollouts(sums[:320]))
    (run,) = rk.forecast(scores, label="right").rehearsals.values()
    assert run.plan.steps == 640
    assert run.untried == ("weights change until step 1000, and step 639 is the last",)
    mean = rk.forecast(
        rk.score(replace(reward, aggregation="weighted_mean"), scores.rollouts),
        label="right",
    )
    assert "this reward is no plain sum" in " ".join(mean.notes)


def test_where_chance_is_paid_nothing_takes_over(sums):
    def by_chance(completion, ground_truth):
        return crc32(f"{ground_truth}|{completion}".encode()) % 100 / 100

    reward = paid(rk.Component("luck", by_chance), weight=0.0)
    found = rk.forecast(rk.score(reward, rk.load_rollouts(sums)), label="right").outlook
    assert found.task == "falls" and found.takes_over is None
    assert "what chance pays in the 45 % of groups" in found.sentence


def test_large_batches_are_rehearsed_with_fewer_prompts(sums, monkeypatch):
    monkeypatch.setattr("rewardkit.analysis.rehearsal.rehearsal.STEPS", 2)
    scores = rk.score(paid(BRIEF), rk.load_rollouts(sums))
    training = rk.Training(prompts_per_batch=4096, num_generations=256)
    (view,) = make_views(scores, training=training)
    assert rehearse_view(view).course.rows.shape == (2, 32, 1024)


def test_a_reward_that_judges_no_row_has_no_outlook_and_raises_nothing(sums):
    def silent(prediction, ground_truth):
        return None

    task = rk.Component("exact", silent)
    fields = {"prediction": rk.extract.tag("answer")}
    reward = rk.Reward("mute", fields=fields, components=[task, BRIEF])
    scores = rk.score(reward, rk.load_rollouts(sums.drop(columns="right")))
    assert rk.forecast(scores).outlook is None


def test_a_log_without_truths_has_no_outlook_of_the_task(sums):
    table = sums.drop(columns=["right", "ground_truth"])
    reward = rk.Reward("brief", components=[BRIEF])
    forecast = rk.forecast(rk.score(reward, rk.load_rollouts(table)))
    found = forecast.outlook
    assert found.task is None and "label=" in found.why
    assert found.takes_over.kind.startswith("empty completions")
    figures = set(forecast.table["figure"])
    assert "reward" in figures and "task" not in figures
    assert "empty completions take over within" in " ".join(str(forecast).split())


def test_stored_scores_say_that_nothing_longer_was_tried(sums, tmp_path):
    scores = rk.score(paid(WORDS), rk.load_rollouts(sums))
    scores.save(tmp_path / "run")
    stored = rk.forecast(rk.load_scores(tmp_path / "run"))
    (reason,) = stored.outlook.untried
    assert "the reward is not at hand" in reason
    assert reason in repr(stored)
    assert rk.forecast(scores).outlook.untried == ()


# --- kinds


@pytest.mark.parametrize(
    ("completion", "form"),
    [
        (" \n", "empty"),
        ("4", "no mark"),
        ("<think>a</think> \\boxed{4}", "<think> </think> \\boxed{"),
        ("```py\n```\n```\n```", "```"),
    ],
)
def test_the_form_is_the_marks_in_their_order(completion, form):
    assert form_of(completion) == form


def test_a_kind_is_split_where_the_pay_turns_and_not_where_it_does_not():
    texts = ["<a>" for _ in range(200)]
    turns = np.arange(200.0)
    target = np.where(turns > 130, 1.0, 0.0)
    codes, kinds = find_kinds(texts, {"characters": turns}, [target])
    assert [kind.words for kind in kinds][
        -1
    ] == "long completions (above 129 characters)"
    assert target[codes == codes[-1]].mean() > 0.95
    codes, kinds = find_kinds(texts, {"characters": turns}, [np.zeros(200)])
    assert len(kinds) == 1 and not codes.any()


# --- the policy


def material(right, shares, parents=(-1, -1), hacks=(0,) * 8, learnable=1.0):
    """Return two kinds of four rows of one prompt; `right` says which rows are."""
    kinds = np.repeat([0, 1], 4)
    right = np.array(right, dtype=bool)
    ability = np.where([right[:4].any(), right[4:].any()], 0.0, NEVER)
    prompts = np.zeros(8, dtype=int)
    shares, parents = np.array(shares), np.array(parents)
    hacks = np.array(hacks, dtype=bool)
    return Material(
        kinds,
        prompts,
        right,
        hacks,
        learnable,
        shares,
        parents,
        ability,
        ease=np.zeros(1),
        is_first=np.ones(8, dtype=bool),
    )


def trained(stuff, rewards):
    learners = Learners(*(np.full(4, speed) for speed in (1.0, 0.1, 0.03)))
    rewards = np.array(rewards, dtype=float)

    def pay(rows, groups, _batches, _step):
        return rewards[rows], grpo(rewards[rows], groups)

    return rehearse(stuff, pay, learners, RehearsalPlan(60, 8, 8))


def test_the_kind_that_is_paid_takes_over_and_without_pay_nothing_moves():
    stuff = material([0, 0, 0, 0, 0, 0, 0, 0], [0.9, 0.1])
    course = trained(stuff, [0, 0, 0, 0, 1, 1, 1, 1])
    assert course.shares[0] == pytest.approx(np.tile([0.9, 0.1], (4, 1)))
    assert (course.shares[-1, :, 1] > 0.9).all()
    still = trained(stuff, np.zeros(8))
    assert still.shares == pytest.approx(np.tile([0.9, 0.1], (60, 4, 1)))
    assert not still.skill.any()


def test_the_skill_grows_where_right_is_paid_and_wears_off_where_it_is_not():
    stuff = material([1, 1, 0, 0, 1, 1, 0, 0], [0.5, 0.5])
    by_right = trained(stuff, [1, 1, 0, 0, 1, 1, 0, 0])
    by_chance = trained(stuff, [1, 0, 1, 0, 1, 0, 1, 0])
    assert (by_right.skill[-1] > 0.5).all() and (by_chance.skill[-1] < -0.5).all()
    assert (by_right.mean(stuff.right.astype(float))[-15:].mean(axis=0) > 0.6).all()


HACK = [0, 0, 1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("learnable", [1.0, 0.0], ids=["a hack", "errors by chance"])
def test_wrong_ones_that_are_paid_like_right_ones_take_over_if_they_can_be_learnt(
    learnable,
):
    right = [1, 0, 0, 0, 1, 0, 0, 0]
    stuff = material(right, [0.5, 0.5], hacks=HACK, learnable=learnable)
    course = trained(stuff, np.add(right, HACK))
    assert (course.hack[-1] > 1).all() == bool(learnable)
    last = course.mean(np.array(HACK, dtype=float))[-15:].mean(axis=0)
    assert (last > 0.3).all() == bool(learnable)


def test_a_hack_is_a_wrong_one_paid_like_right_ones_that_its_text_gives_away():
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("abcdef"), 30)) for _ in range(400)]
    right = np.zeros(400, dtype=bool)
    right[:80] = True
    rewards = np.where(right, 1.0, 0.0)
    rewards[80:200] = 0.9
    hacks = find_hacks(rewards, right)
    assert hacks.tolist() == [80 <= row < 200 for row in range(400)]
    prompts = random.permutation(np.arange(400) // 8)
    assert learnable(texts, prompts, right, hacks) < 0.25
    marked = [text + " so" * int(hack) for text, hack in zip(texts, hacks, strict=True)]
    assert learnable(marked, prompts, right, hacks) > 0.9
    assert learnable(marked, prompts, right, hacks & (np.arange(400) < 84)) == 0
    assert not find_hacks(np.zeros(400), right).any()


def test_a_kind_that_the_log_lacks_follows_the_one_below_it():
    stuff = material(np.zeros(8), [0.98, 0.0196], parents=(-1, 0))
    course = trained(stuff, [0, 0, 0, 0, 1, 1, 1, 1])
    first = course.shares[0, 0]
    assert first[1] / first[0] == pytest.approx(0.02)
    assert (course.shares[-1, :, 1] > 0.9).all()


@pytest.mark.parametrize("learnt", [0.0, 2.0])
def test_the_ability_of_kinds_the_ease_of_prompts_and_what_a_run_learnt_are_told_apart(
    learnt,
):
    random = np.random.default_rng(0)
    kinds, prompts = random.integers(0, 3, 9000), random.integers(0, 90, 9000)
    stages = np.repeat([0, 1], [3000, 6000])
    ease = np.linspace(-2, 2, 90)
    logit = np.array([1.0, -1.0, -99.0])[kinds] + ease[prompts] + learnt * stages
    right = random.random(9000) < 1 / (1 + np.exp(-logit))
    ability, found = fit_ability(kinds, prompts, right, stages)
    assert ability[:2] == pytest.approx([1, -1], abs=0.15) and ability[2] == NEVER
    assert np.corrcoef(found, ease)[0, 1] > 0.95


STEPS = [
    pytest.param(np.arange(40), 4, 8, id="8 steps have 32 groups"),
    pytest.param(np.arange(20), 3, 11, id="11 steps have 33"),
    pytest.param(np.arange(200), 8, 30, id="15 % of the steps"),
    pytest.param(np.arange(0, 1000, 10), 8, 15, id="every tenth step is logged"),
    pytest.param(np.arange(10), 40, 10, id="too few steps for a run"),
    pytest.param(np.arange(12), 2, 12, id="fewer groups than a start has"),
]


@pytest.mark.parametrize(("steps", "groups", "first"), STEPS)
def test_a_run_begins_with_the_steps_that_have_enough_groups(steps, groups, first):
    """Ten prompts come again and again, so that no code of a group is that of a prompt."""
    rows = []
    for number, step in enumerate(np.repeat(steps, groups).tolist()):
        prompt = {"prompt": f"{number % 10}?", "prompt_id": number, "step": step}
        for answer in ("7", "8"):
            completion = f"<answer>{answer}</answer>"
            rows.append({**prompt, "completion": completion, "ground_truth": "7"})
    (view,) = make_views(rk.score(paid(), rk.load_rollouts(rows)))
    is_start = view.stages == 0
    assert np.unique(view.context.steps[is_start]).tolist() == steps[:first].tolist()


# --- siblings


def first_alone(completion):
    """Pay the first sibling of each group, and nothing to the others."""
    return [1.0] + [0.0] * (len(completion) - 1)


def first_read(completion, prediction):
    return first_alone(completion)


def first_asked(completion):
    return first_alone(completion)


first_asked.asks_model = True


@pytest.mark.parametrize(
    ("function", "untried"),
    [
        (first_alone, ["looks at siblings"]),
        (first_read, ["looks at siblings", "`first` reads 'prediction'"]),
        (first_asked, ["looks at siblings", "asks a model"]),
    ],
    ids=["scored anew", "as logged", "of a model"],
)
def test_siblings_are_scored_anew_unless_other_prompts_would_be_seen(
    sums, function, untried, monkeypatch
):
    monkeypatch.setattr("rewardkit.analysis.rehearsal.rehearsal.STEPS", 12)
    first = rk.Component("first", function, group=True)
    scores = rk.score(paid(first, weight=0.0), rk.load_rollouts(sums))
    (view,) = make_views(scores, label="right")
    with limit_calls() as limit:
        run = rehearse_view(view, limit=limit)
    assert len(run.untried) == len(untried)
    assert all(map(str.__contains__, run.untried, untried))
    eighths = np.full((12, len(run.pace)), 1 / 8)
    is_eighth = run.course.rewards == pytest.approx(eighths)
    assert is_eighth == (function is first_alone)


# --- longer completions


def test_longer_completions_keep_their_end_until_they_are_cut():
    text = "<think>so 2+2</think><answer>4</answer>"
    twice = lengthened(text, 2.0)
    assert 2 * len(text) <= len(twice) <= 2 * len(text) + 3
    assert twice.startswith("<think>so so so") and twice.endswith(text[-19:])
    *whole, last = rungs_of(text, 150)
    assert all("<answer>4</answer>" in rung for rung in whole)
    assert len(last) == 150 and "</answer>" not in last


@pytest.mark.parametrize(("tokens", "longest"), [(None, 63), (10, 63), (60, 240)])
def test_longer_completions_are_cut_where_the_training_cuts_them(sums, tokens, longest):
    logged = sums[sums["completion"].str.len() < 64]
    scores = rk.score(paid(), rk.load_rollouts(logged))
    training = rk.Training(max_completion_length=tokens)
    (view,) = make_views(scores, training=training, label="right", seed=0)
    with limit_calls() as limit:
        rows, *_ = collect(view, limit=limit)
    assert logged["completion"].str.len().max() == 63
    assert max(map(len, rows.completions)) == longest


@pytest.mark.parametrize(
    ("start", "end", "outlook"),
    [(0.1, 0.2, "rises"), (0.1, 0.19, "stalls"), (0.4, 0.2, "falls"), (0, 0, "stalls")],
)
def test_the_outlook_is_read_from_start_and_end(start, end, outlook):
    assert outlook_of(start, end) == outlook
