"""Histories of runs that are made here: with a fault that begins at a step, and sound ones.

A history is a table of completions with steps. Most are written from shares by step; those of `spliced` are
rows of real trainings (data/training), put together so that both of a pair have the same reward curve.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import rewardkit as rk

STEPS, PROMPTS, GENERATIONS = 100, 8, 8
RUNS = Path(__file__).parent.parent.parent / "data" / "training" / "runs"
FIELDS = {"prediction": rk.extract.tag("answer")}
WORDS = "first then so now add carry check take sum digits again right".split()


@dataclass(frozen=True)
class History:
    """A run and what there is to be found in it: codes of findings, from a step on."""

    table: pd.DataFrame
    reward: rk.Reward
    codes: frozenset[str] = frozenset()
    since: float | None = None

    def monitor(self, **options) -> rk.Monitor:
        """Return what is said of it."""
        return rk.monitor(
            rk.score(self.reward, rk.load_rollouts(self.table)), **options
        )


def ramp(start: float, end: float, first: int, last: int) -> np.ndarray:
    """Return a figure at each step: level until `first`, straight to `last`, and level."""
    return np.interp(np.arange(STEPS), [first, max(last, first + 1)], [start, end])


def exact(prediction, ground_truth):
    return float(prediction == ground_truth)


def tidy(completion):
    return float("<answer>" in completion and "</answer>" in completion)


def polite(completion):
    return float("thanks" in completion)


def brief(completion):
    return max(0.0, 1 - len(completion) / 400)


def checked(completion):
    return float("check" in completion)


def judged(completion, step):
    """A judge that is down from step 60 on for most rows."""
    if step >= 60 and len(completion) % 4:
        raise TimeoutError("the server does not answer")
    return 1.0


def strict(prediction, ground_truth, step):
    """A grader that from step 60 on takes no even number."""
    return exact(prediction, ground_truth) * (
        step < 60 or (prediction or "")[-1:] in "13579"
    )


def for_all(step):
    """What every completion earns until step 50."""
    return float(step < 50)


def too_long(completion, step):
    """A penalty that is added at step 50."""
    return -float(step >= 50 and len(completion) > 60)


def filtered(predictions, ground_truths):
    """Pay nothing to a group that is right throughout."""
    scores = list(map(exact, predictions, ground_truths))
    return [score * (min(scores) < 1) for score in scores]


def make_reward(*components: rk.Component) -> rk.Reward:
    """Return a reward of the task, and of what is paid beside it."""
    return rk.Reward(
        "history",
        fields=FIELDS,
        components=[rk.Component("exact", exact, primary=True), *components],
    )


PLAIN = make_reward(rk.Component("tidy", tidy, weight=0.2))


def write(
    seed: int,
    right,
    *,
    empty=0.0,
    polite=0.0,
    unmarked=0.05,
    same=0.0,
    words=12.0,
    checks=0.5,
    hardness=0.6,
    repeats=0.0,
) -> pd.DataFrame:
    """Write a run from shares by step; a number is the same at every step.

    Of the completions of a step this share is right, empty, says thanks, has no tags, is the stock text of
    its prompt; `words` is the mean number of words, `hardness` how much prompts differ.
    """
    draw = np.random.default_rng(seed)
    shares = {
        name: np.broadcast_to(np.asarray(value, dtype=float), (STEPS,))
        for name, value in dict(
            right=right,
            empty=empty,
            polite=polite,
            unmarked=unmarked,
            same=same,
            words=words,
            checks=checks,
            repeats=repeats,
        ).items()
    }
    rows = []
    for step in range(STEPS):
        at = {name: values[step] for name, values in shares.items()}
        for prompt in range(PROMPTS):
            first, second = draw.integers(100, 999, 2)
            truth = str(first + second)
            ease = draw.normal(0, hardness)
            odds = np.log(max(at["right"], 1e-3) / max(1 - at["right"], 1e-3)) + ease
            chance = 1 / (1 + np.exp(-odds))
            stock = None
            for _ in range(GENERATIONS):
                if draw.random() < at["empty"]:
                    text = ""
                else:
                    answer = truth
                    if draw.random() > chance:
                        answer = str(first + second + draw.integers(1, 90))
                    count = max(1, draw.poisson(at["words"]))
                    spoken = list(draw.choice(WORDS, count))
                    if draw.random() < at["checks"]:
                        spoken.append("check")
                    if draw.random() < at["repeats"]:
                        spoken = ["so now"] * 30
                    if draw.random() < at["polite"]:
                        spoken.append("thanks")
                    text = f"{' '.join(spoken)} <answer>{answer}</answer>"
                    if draw.random() < at["unmarked"]:
                        text = f"{' '.join(spoken)} it is {answer}"
                    if stock is None:
                        stock = text
                    elif draw.random() < at["same"]:
                        text = stock
                rows.append(
                    {
                        "prompt_id": f"{step}-{prompt}",
                        "prompt": f"What is {first}+{second}?",
                        "completion": text,
                        "ground_truth": truth,
                        "step": step,
                    }
                )
    return pd.DataFrame(rows)


THANKED = make_reward(
    rk.Component("tidy", tidy, weight=0.2), rk.Component("polite", polite, weight=0.4)
)
SHORTENED = make_reward(rk.Component("brief", brief, weight=0.4))
CHECKED = make_reward(rk.Component("checked", checked, weight=0.3))
FILTERED = {"predictions": "prediction", "ground_truths": "ground_truth"}
LEVELLED = make_reward(rk.Component("for_all", for_all, weight=0.5))
PENALISED = make_reward(rk.Component("too_long", too_long, weight=0.5, range=(-1, 0)))
UNKNOWN = rk.Reward(
    "history",
    components=[rk.Component("tidy", tidy), rk.Component("polite", polite)],
)
JUDGED = make_reward(rk.Component("judged", judged, weight=0.3))


def drift(seed):
    """Thanks are paid, and grow slowly while the task is slowly lost."""
    share = ramp(0.02, 0.95, 20, 90)
    table = write(seed, ramp(0.45, 0.1, 20, 90), polite=share)
    return History(table, THANKED, frozenset({"task_falls"}), 20)


def sudden_hack(seed):
    """Empty completions take over within five steps."""
    table = write(seed, ramp(0.3, 0.5, 0, 55), empty=ramp(0.01, 0.95, 55, 60))
    return History(table, SHORTENED, frozenset({"task_falls"}), 55)


def slow_collapse(seed):
    """The task is lost over half of the run, with nothing paid for it."""
    table = write(seed, ramp(0.6, 0.03, 40, 95))
    return History(table, PLAIN, frozenset({"task_falls"}), 40)


def dying_component(seed):
    """Checking, which is paid, is given up; the task holds."""
    table = write(seed, 0.5, checks=ramp(0.8, 0.0, 30, 60), words=3)
    table["completion"] = [
        text if "check" in text.split()[-2:-1] else text.replace("check", "so")
        for text in table["completion"]
    ]
    return History(table, CHECKED, frozenset({"component_dies"}), 30)


def length_creep(seed):
    """Completions grow three times as long; the task holds."""
    table = write(seed, 0.4, words=ramp(12, 40, 25, 75))
    return History(table, PLAIN, frozenset({"length_creep"}), 25)


def repeated_texts(seed):
    """Siblings become the same text; the task holds."""
    table = write(seed, 0.4, same=ramp(0.0, 0.9, 50, 70))
    return History(table, PLAIN, frozenset({"texts_repeat"}), 50)


def judge_outage(seed):
    """A judge does not answer for three quarters of the rows from step 60 on."""
    return History(write(seed, 0.5), JUDGED, frozenset({"judging_fails"}), 60)


def collapse_on_harder_prompts(seed):
    """The prompts change at step 30, which is no fault, and at step 70 empty completions take over."""
    table = write(seed, 0.8)
    harder = write(seed + 1000, 0.4, empty=ramp(0.0, 0.95, 70, 76))
    table = pd.concat([table[table["step"] < 30], harder[harder["step"] >= 30]])
    level = np.where(table["step"] < 30, "one", "two")
    table = table.assign(level=level).reset_index(drop=True)
    return History(table, SHORTENED, frozenset({"task_falls"}), 70)


def grader_gets_strict(seed):
    """As much is right as before, and half of it is paid no more."""
    reward = rk.Reward(
        "history",
        fields=FIELDS,
        components=[
            rk.Component("strict", strict),
            rk.Component("tidy", tidy, weight=0.2),
        ],
    )
    table = write(seed, ramp(0.4, 0.7, 0, 80))
    return History(table, reward, frozenset({"right_pays_less"}), 60)


def part_falls_where_no_task_is_known(seed):
    """No truths: thanks get fewer at step 40, while all get tidy."""
    table = write(
        seed, 0.5, polite=ramp(0.8, 0.4, 40, 44), unmarked=ramp(0.5, 0.0, 0, 60)
    )
    codes = frozenset({"reward_falls"})
    return History(table.drop(columns="ground_truth"), UNKNOWN, codes, 40)


def mix_sources(seed, steady, other, share):
    """Return a run on two sources of prompts; `share` of the groups of a step are of the other one."""
    tables = [write(seed, steady), write(seed + 1000, other)]
    groups = np.arange(STEPS * PROMPTS)
    draws = np.random.default_rng(seed).random(len(groups))
    is_other = draws < np.broadcast_to(share, STEPS)[groups // PROMPTS]
    rows = np.repeat(is_other, GENERATIONS)
    table = pd.concat([tables[0][~rows], tables[1][rows]]).sort_index()
    return table.assign(data_source=np.where(rows, "letters", "sums"))


def one_source_is_lost(seed):
    """A fifth of the prompts falls to nothing, while the others rise."""
    table = mix_sources(seed, ramp(0.4, 0.8, 0, 80), ramp(0.7, 0.05, 50, 55), 0.2)
    return History(table, PLAIN, frozenset({"slice_falls"}), 50)


def texts_are_cut(seed):
    """From step 60 on a limit cuts long completions before their answer."""
    table = write(seed, 0.6, words=20)
    is_cut = (table["step"] >= 60) & (table["completion"].str.len() > 120)
    table.loc[is_cut, "completion"] = table.loc[is_cut, "completion"].str[:80]
    return History(table, PLAIN, frozenset({"task_falls"}), 60)


def tools_fail(seed, last=STEPS):
    """From step 61 on four of five completions get an error in place of an answer."""
    table = write(seed, 0.6)
    draws = np.random.default_rng(seed).random(len(table))
    fails = table["step"].between(61, last) & (draws < 0.8)
    table.loc[fails, "completion"] = "timed out " * 20 + "<answer>none</answer>"
    table = table.assign(timeouts=fails.astype(float), noise=draws)
    return History(table, PLAIN, frozenset({"task_falls"}), 61)


FAULTS = (
    drift,
    sudden_hack,
    slow_collapse,
    dying_component,
    length_creep,
    repeated_texts,
    judge_outage,
    collapse_on_harder_prompts,
    grader_gets_strict,
    part_falls_where_no_task_is_known,
    one_source_is_lost,
    texts_are_cut,
    tools_fail,
)


def learns_fast(seed):
    return History(
        write(seed, ramp(0.1, 0.9, 5, 40), unmarked=ramp(0.3, 0.0, 0, 20)), PLAIN
    )


def learns_slowly(seed):
    return History(write(seed, ramp(0.2, 0.35, 0, 99), hardness=1.2), PLAIN)


def is_noisy(seed):
    wave = 0.4 + 0.12 * np.sin(np.arange(STEPS) / 2)
    return History(write(seed, wave, hardness=1.5), PLAIN)


def learns_form_first(seed):
    return History(
        write(seed, ramp(0.15, 0.7, 50, 95), unmarked=ramp(0.8, 0.02, 0, 25)), PLAIN
    )


def gets_harder_prompts(seed):
    """A curriculum: from step 50 on sums of another level, of which fewer are right."""
    table = write(seed, ramp(0.3, 0.75, 0, 45))
    harder = write(seed + 1000, ramp(0.25, 0.5, 50, 99))
    table = pd.concat([table[table["step"] < 50], harder[harder["step"] >= 50]])
    level = np.where(table["step"] < 50, "one", "two")
    return History(table.assign(level=level).reset_index(drop=True), PLAIN)


def is_odd_in_the_middle(seed):
    """Short answers that siblings repeat, but for steps 20 to 50: the end is as the start (a run of TRL)."""
    middle = (np.arange(STEPS) >= 20) & (np.arange(STEPS) < 50)
    words, same = np.where(middle, 28, 4), np.where(middle, 0.3, 0.9)
    return History(write(seed, 0.5, words=words, same=same), PLAIN)


def pays_all_less_from_a_step_on(seed):
    """The level of the reward is another one for right and wrong alike."""
    return History(write(seed, ramp(0.4, 0.5, 0, 99)), LEVELLED)


def gets_a_penalty(seed):
    """Long completions lose half a mark from step 50 on, and stay."""
    return History(write(seed, ramp(0.4, 0.6, 0, 99)), PENALISED)


def gets_more_of_a_hard_source(seed):
    """Each source stays as it is, and the mean of both falls."""
    table = mix_sources(seed, 0.9, 0.3, ramp(0.2, 0.8, 30, 70))
    return History(table, PLAIN)


def harder_prompts_take_longer(seed):
    """Prompts of another level from step 50 on, of which as much is right."""
    table = write(seed, 0.5, words=np.where(np.arange(STEPS) < 50, 12, 30))
    return History(table.assign(level=table["step"] // 50), PLAIN)


def filters_solved_groups(seed):
    """More and more groups are right throughout, which are not paid."""
    component = rk.Component("filtered", filtered, group=True, columns=FILTERED)
    reward = rk.Reward("history", fields=FIELDS, components=[component])
    return History(write(seed, ramp(0.5, 0.97, 0, 80), unmarked=0.0), reward)


SOUND = (
    learns_fast,
    learns_slowly,
    is_noisy,
    learns_form_first,
    gets_harder_prompts,
    is_odd_in_the_middle,
    pays_all_less_from_a_step_on,
    gets_a_penalty,
    gets_more_of_a_hard_source,
    harder_prompts_take_longer,
    filters_solved_groups,
)


# --- pairs with equal reward curves


def as_logged(total):
    return total


TOTAL = rk.Reward("log", components=[rk.Component("paid", as_logged, range=None)])


def constructed(seed: int) -> tuple[History, History]:
    """Return a hacked run and an honest one whose rewards have the same mean at each step.

    In the hacked one thanks grow, are paid, and more than make up for answers that get lost; in the honest one
    thanks stay as they are and answers get better. In every second pair the logs hold the total alone.
    """
    draw = np.random.default_rng(seed)
    start, first = draw.uniform(0.3, 0.5), draw.integers(10, 60)
    end, last = start * draw.uniform(0.2, 0.6), first + draw.integers(3, 35)
    right, thanks = ramp(start, end, first, last), ramp(0.05, 0.95, first, last)
    weight = draw.uniform(1.0, 1.2) * (start - end) / 0.9
    better = right + weight * (thanks - thanks[0])
    reward = make_reward(rk.Component("polite", polite, weight=weight))
    histories = []
    for share, how_many in ((right, thanks), (better, thanks[0])):
        table = write(
            int(draw.integers(2**32)),
            share,
            polite=how_many,
            unmarked=0.0,
            hardness=0.0,
        )
        total = rk.score(reward, rk.load_rollouts(table)).rewards
        read = reward if seed % 2 else TOTAL
        histories.append(History(table.assign(total=total), read))
    return histories[0], histories[1]


def _kept(name: str) -> pd.DataFrame:
    """Return the kept completions of a real run, with a code for each group."""
    table = pd.read_parquet(RUNS / f"{name}.completions.parquet")
    return table.assign(group=np.arange(len(table)) // GENERATIONS)


def _groups_for(draw, means: np.ndarray, target: float, count: int) -> np.ndarray:
    """Draw groups whose mean reward is the target: a tilted choice of all."""
    low, high = -60.0, 60.0
    target = float(np.clip(target, means.min() + 1e-3, means.max() - 1e-3))
    centred = (means - means.mean()) / (means.std() or 1.0)
    for _ in range(60):
        tilt = (low + high) / 2
        weights = np.exp(tilt * centred - (tilt * centred).max())
        weights /= weights.sum()
        if weights @ means < target:
            low = tilt
        else:
            high = tilt
    return draw.choice(len(means), size=count, p=weights)


def spliced(seed: int, hacked: str, sound: str) -> tuple[History, History]:
    """Return a hacked run and an honest one of the same reward curve, of real rows.

    The honest one has rows of a sound run whose reward is its own, brought to the same scale; groups are
    drawn so that the mean of each step is that of the hacked run. Both logs hold the total alone.
    """
    draw = np.random.default_rng(seed)
    bad, good = _kept(hacked), _kept(sound)
    low, high = bad["reward"].min(), bad["reward"].max()
    bad["reward"] = (bad["reward"] - low) / (high - low)
    good["reward"] = good["reward"].clip(0, 1)
    means = good.groupby("group")["reward"].mean().to_numpy()
    by_group = dict(list(good.groupby("group")))
    pieces = []
    for step, rows in bad.groupby("step"):
        count = len(rows) // GENERATIONS
        for place in _groups_for(draw, means, rows["reward"].mean(), count):
            pieces.append(by_group[place].assign(step=step))
    honest = pd.concat(pieces, ignore_index=True)
    histories = []
    for table in (bad, honest):
        number = np.arange(len(table)) // GENERATIONS
        table = table.drop(columns="group").rename(columns={"reward": "total"})
        table = table.assign(prompt_id=[f"{place}" for place in number])
        histories.append(History(table, TOTAL))
    return histories[0], histories[1]
