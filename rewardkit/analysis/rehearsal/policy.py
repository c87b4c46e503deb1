"""A policy over kinds of completions, and its training, step by step.

The policy draws a kind, with the same chances for every prompt. It is right with a
chance that depends on the kind, the prompt and one skill. It then writes a completion
of the log that fits. Each step draws groups, computes the trainer's advantages, and
moves three things along them:

- the logit of a kind, by the sum of its advantages less its share of all of them;
- the skill: up if right completions have higher advantages than wrong ones of their
  kind, and down by the size of the step, as updates for other reasons wear off what
  the policy knew;
- the hack, in kinds where some wrong completions are paid as right ones are: up if
  those have higher advantages than the other wrong ones.

The size of a step does not depend on the size of the rewards, as with Adam. The speeds
are fitted to real runs (`data/training`); see `Learners`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rewardkit.analysis.statistics import Codes, Floats, Mask, number_of

PRIOR_SPREAD = 1.5
"""Standard deviation of the difficulty of prompts, in logits. Our choice."""
PRIOR_COUNT = 0.5
"""Observations that the mean of all rows is worth in the ability of a kind."""
NEWTON_STEPS = 60
SIZE_MEMORY = 0.9
"""What the running size of advantages keeps of itself in a step."""
LEAST_SIZE = 1e-4
"""Mean square of a batch's advantages under which a step is no longer scaled up."""
NEVER = -np.inf
"""Logit of what no row of a kind is: right, or a hack."""
DAMPING = 0.3
"""Power of a kind's share that divides its step: 0 is the plain policy gradient, 1 the
natural one."""
STATES = 3
"""Of a completion: wrong, right, and `HACK`: wrong and paid as right ones are."""
HACK = 2

Payment = Callable[[Codes, Codes, Codes, int], tuple[Floats, Floats]]
"""Rows drawn, their groups and batches, the step -> their rewards and advantages.

The rows, groups, batches and what is returned are (drawn,).
"""


def sigmoid(values: Floats) -> Floats:
    """Return the logistic function."""
    return 1 / (1 + np.exp(-values))


@dataclass(frozen=True, eq=False)
class Material:
    """The completions that a policy may write, and its chances at the start.

    `kinds` and `prompts` are codes, (rows,). `right` marks the rows that did the task,
    `hacks` the wrong ones that are paid as right ones are, `is_first` those of the
    first stage of a run, (rows,) each. `learnable` says how well the text tells hacks
    apart, 0 to 1.

    `shares` are the chances of kinds at the start, (kinds,). A kind that the log lacks
    has a parent in `parents`, (kinds,), -1 for none, and its chance moves with that of
    the parent. The logit of being right is `ability` of the kind, (kinds,), plus `ease`
    of the prompt, (prompts,).
    """

    kinds: Codes
    prompts: Codes
    right: Mask
    hacks: Mask
    learnable: float
    shares: Floats
    parents: Codes
    ability: Floats
    ease: Floats
    is_first: Mask

    @cached_property
    def states(self) -> Codes:
        """Return a code for the kind and the state of each row, (rows,)."""
        return STATES * self.kinds + np.where(self.hacks, HACK, self.right)

    @cached_property
    def counts(self) -> Codes:
        """Return how many rows have each of these codes."""
        return np.bincount(self.states, minlength=STATES * len(self.shares))

    @cached_property
    def order(self) -> Codes:
        """Return the rows in the order of their codes."""
        return np.argsort(self.states, kind="stable")

    @cached_property
    def stands_for(self) -> Codes:
        """Return each code, or the commonest of its kind where no row has it."""
        by_kind = self.counts.reshape(-1, STATES)
        most = STATES * np.arange(len(by_kind)) + by_kind.argmax(axis=1)
        codes = np.arange(len(self.counts))
        return np.where(self.counts > 0, codes, np.repeat(most, STATES))

    @cached_property
    def hack(self) -> Floats:
        """Return the logit of a wrong completion being a hack by kind, (kinds,).

        `NEVER` where none is.
        """
        later = self.counts.reshape(-1, STATES)
        first = np.bincount(self.states[self.is_first], minlength=len(self.counts))
        first = first.reshape(-1, STATES)
        has_wrong = first[:, 0] + first[:, HACK] > 0
        plain, _, hacks = np.where(has_wrong[:, np.newaxis], first, later).T
        share = (hacks + 0.5) / (plain + hacks + 1)
        return np.where(later[:, HACK] > 0, np.log(share / (1 - share)), NEVER)

    def draw(self, kinds: Codes, states: Codes, random: np.random.Generator) -> Codes:
        """Draw a row of each kind and state, of any state where none has this one."""
        keys = self.stands_for[STATES * kinds + states]
        places = (random.random(keys.shape) * self.counts[keys]).astype(np.intp)
        starts = np.cumsum(self.counts) - self.counts
        return np.asarray(self.order[starts[keys] + places])


def fit_ability(
    kinds: Codes, prompts: Codes, right: Mask, stages: Codes
) -> tuple[Floats, Floats]:
    """Return the ability of each kind and the ease of each prompt, in logits.

    A Rasch model with a skill that changes by stage, fitted by alternating Newton
    steps. The ability is that of the first stage, `NEVER` for kinds without a right
    row.

    Args:
        kinds: codes, (rows,).
        prompts: codes, (rows,).
        right: which rows are right, (rows,).
        stages: codes of the stages of a run, (rows,).
    """
    total = number_of(kinds)
    count = number_of(prompts)
    possible = np.bincount(kinds, right, minlength=total) > 0
    mean = float(np.clip(right.mean(), 1e-2, 1 - 1e-2))
    middle = np.log(mean / (1 - mean))
    ability = np.where(possible, middle, NEVER)
    ease = np.zeros(count)
    skill = np.zeros(number_of(stages))
    used = possible[kinds]
    kinds = kinds[used]
    prompts = prompts[used]
    stages = stages[used]
    right = right[used]

    def newton_step(codes: Codes, prior: Floats, strength: float) -> Floats:
        chance = sigmoid(ability[kinds] + ease[prompts] + skill[stages])
        slope = np.bincount(codes, right - chance, len(prior)) - strength * prior
        bend = np.bincount(codes, chance * (1 - chance), len(prior)) + strength
        return np.clip(slope / bend, -1, 1)

    for _ in range(NEWTON_STEPS):
        ease += newton_step(prompts, ease, PRIOR_SPREAD**-2)
        ease -= ease.mean()
        step = newton_step(kinds, ability - middle, PRIOR_COUNT)
        ability += step
        if len(skill) > 1:
            skill += newton_step(stages, skill, PRIOR_SPREAD**-2)
    return ability + skill[0], ease


@dataclass(frozen=True, eq=False)
class Learners:
    """How fast each of several learners learns, (learners,) each.

    `style` is the step of a kind's logit. `contrast` is the step of the skill, by how
    right completions are paid against wrong ones of their kind. `erosion` is what the
    skill loses in each step.
    """

    style: Floats
    contrast: Floats
    erosion: Floats

    def __len__(self) -> int:
        return len(self.style)


def mean_known(values: Floats) -> Floats:
    """Return the mean of the last axis without NaN, 0 where all values are NaN."""
    count = (~np.isnan(values)).sum(axis=-1)
    return np.asarray(np.nansum(values, axis=-1) / np.maximum(count, 1))


@dataclass(frozen=True, eq=False)
class Course:
    """The training of each learner, step by step.

    `rows` are those drawn, (steps, learners, drawn); `shares` the chances of the kinds,
    (steps, learners, kinds); `skill`, `hack` and `rewards`, the mean reward, are
    (steps, learners).
    """

    rows: Codes
    shares: Floats
    skill: Floats
    hack: Floats
    rewards: Floats

    def mean(self, values: Floats) -> Floats:
        """Return the mean of a column over what was drawn, (steps, learners)."""
        return mean_known(values[self.rows])


@dataclass(frozen=True)
class RehearsalPlan:
    """The size of a training: steps, prompts a step, completions a prompt.

    `first_step` is the number of its first step, `seed` the seed of all draws.
    """

    steps: int
    prompts: int
    generations: int
    seed: int = 0
    first_step: int = 0

    @property
    def last_step(self) -> int:
        """Return the number of the last step."""
        return self.first_step + self.steps - 1


def rehearse(
    material: Material, payment: Payment, learners: Learners, plan: RehearsalPlan
) -> Course:
    """Train each learner on prompts drawn anew for each of them.

    Args:
        material: what can be written.
        payment: rewards and advantages of the rows drawn in a step, as the trainer
            computes them.
        learners: their speeds.
        plan: the number of steps, prompts and completions.
    """
    count = len(learners)
    drawn = plan.prompts * plan.generations
    groups = np.repeat(np.arange(count * plan.prompts), plan.generations)
    batches = np.repeat(np.arange(count), drawn)
    policies = _Policies(material, learners, plan)
    course = []
    for step in range(plan.steps):
        batch = policies.draw()
        rewards, advantages = payment(
            batch.rows.ravel(), groups, batches, plan.first_step + step
        )
        mean = mean_known(rewards.reshape(count, drawn))
        course.append((batch.rows, batch.shares, policies.skill, policies.hack, mean))
        advantages = np.nan_to_num(advantages).reshape(count, drawn)
        policies.learn(batch, advantages, step)
    return Course(*map(np.array, zip(*course, strict=True)))


@dataclass(frozen=True, eq=False)
class _Batch:
    """The rows of a step, (learners, drawn), and the chances of kinds in `shares`.

    `chance` is that of being right, `hack_chance` that of a wrong row being a hack.
    """

    rows: Codes
    kinds: Codes
    right: Mask
    chance: Floats
    is_hack: Mask
    hack_chance: Floats
    shares: Floats


class _Policies:
    """The policies of several learners, as training moves them.

    `logits` of kinds are (learners, kinds), of a child relative to its parent; `skill`
    and `hack` are (learners,) and add to the logits of being right and of a wrong one
    being a hack.
    """

    def __init__(
        self, material: Material, learners: Learners, plan: RehearsalPlan
    ) -> None:
        self.material = material
        self.learners = learners
        self.plan = plan
        self.random = np.random.default_rng(plan.seed)
        self.children = np.flatnonzero(material.parents >= 0)
        logits = np.log(material.shares)
        logits[self.children] -= logits[material.parents[self.children]]
        count = len(learners)
        prompts = len(material.ease)
        self.logits = np.tile(logits, (count, 1))
        self.skill = np.zeros(count)
        self.hack = np.zeros(count)
        self.size = np.zeros(count)
        self.prompts = self.random.integers(0, prompts, (count, prompts))
        able = sigmoid(material.ability)
        self.able = able / max(float(able.max()), 1e-12)

    def draw(self) -> _Batch:
        """Return what each learner writes for prompts drawn for it."""
        material = self.material
        random = self.random
        plan = self.plan
        learner = np.arange(len(self.learners))[:, None]
        kinds = len(material.shares)
        shape = (len(learner), plan.prompts * plan.generations)
        shares = _softmax(self.logits, self.children, material.parents)
        ends = np.cumsum(shares, axis=1)
        at = random.random(shape) + learner
        kind = np.searchsorted((ends + learner).ravel(), at.ravel())
        kind = np.minimum(kind.reshape(shape) - kinds * learner, kinds - 1)
        places = random.integers(0, len(material.ease), (len(learner), plan.prompts))
        drawn_prompts = self.prompts[learner, places]
        logit = material.ability[kind] + self.skill[:, None]
        logit += np.repeat(material.ease[drawn_prompts], plan.generations, axis=1)
        chance = sigmoid(logit)
        right = random.random(shape) < chance
        hack_chance = sigmoid(material.hack[kind] + self.hack[:, None])
        is_hack = ~right & (random.random(shape) < hack_chance)
        rows = material.draw(kind, np.where(is_hack, HACK, right), random)
        return _Batch(rows, kind, right, chance, is_hack, hack_chance, shares)

    def learn(self, batch: _Batch, advantages: Floats, step: int) -> None:
        """Move each policy along `advantages`, (learners, drawn)."""
        learners = self.learners
        squares = (advantages**2).mean(axis=1)
        self.size = SIZE_MEMORY * self.size + (1 - SIZE_MEMORY) * squares
        size = self.size / (1 - SIZE_MEMORY ** (step + 1))
        scale = np.sqrt(np.maximum(size, LEAST_SIZE))
        slope = self._slope(batch, advantages)
        self.logits += (learners.style / scale)[:, None] * slope
        gain = (advantages * (batch.right - batch.chance)).mean(axis=1) / scale
        wear = (advantages**2 * self.able[batch.kinds]).mean(axis=1) / scale**2
        self.skill = self.skill + learners.contrast * gain - learners.erosion * wear
        surprise = ~batch.right * (batch.is_hack - batch.hack_chance)
        gain = (advantages * surprise).mean(axis=1) / scale
        self.hack = self.hack + learners.contrast * self.material.learnable * gain

    def _slope(self, batch: _Batch, advantages: Floats) -> Floats:
        """Return how far each kind's logit goes up, (learners, kinds)."""
        count, kinds = batch.shares.shape
        learner = np.arange(count)[:, None]
        places = (batch.kinds + kinds * learner).ravel()
        sums = np.bincount(places, advantages.ravel(), count * kinds)
        slope = sums.reshape(count, kinds) / advantages.shape[1]
        slope -= batch.shares * advantages.mean(axis=1, keepdims=True)
        slope /= np.maximum(batch.shares, 1e-6) ** DAMPING
        for child in self.children[::-1]:
            slope[:, self.material.parents[child]] += slope[:, child]
        return np.asarray(slope)


def _softmax(relative: Floats, children: Codes, parents: Codes) -> Floats:
    """Return the chances of kinds; that of a child is a part of its parent's logit."""
    logits = relative.copy()
    for child in children:  # parents stand before their children
        logits[:, child] += logits[:, parents[child]]
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))
