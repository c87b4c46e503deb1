"""A reward that is read from a run record: the same definition, of which nothing is run."""

import json

import pytest

import rewardkit as rk
from rewardkit.rewards.run_record import reward_from_record


def listed(completion):
    return [1.0] * len(completion)


def is_long(completion):
    return len(completion) > 3


ONE = rk.Component("a", is_long)
SCORES = rk.score(rk.Reward("r", components=[ONE]), [{"completion": "long"}])
OPTIONS = {
    "gates": {"gate": rk.gate("a", at_least=0.5, at_most=1)},
    "a gate on a predicate": {"gate": rk.gate(is_long)},
    "columns and range": {"columns": {"completion": "prompt"}, "range": (0.0, float("inf"))},
    "a group": {"group": True},
    "paid in part": {"expects_partial": True, "primary": True, "weight": -0.5, "why": "so"},
}


def read(reward):
    return reward_from_record(json.loads(json.dumps(reward.record())))


@pytest.mark.parametrize("kind", OPTIONS)
def test_the_reward_of_a_record_has_the_same_record_and_component(kind):
    parts = [ONE, rk.Component("b", listed, **OPTIONS[kind])]
    reward = rk.Reward("r", {"f": rk.extract.tag("x")}, parts, gate=rk.gate("a", equals=1.0))
    assert read(reward).record() == reward.record()
    component, original = read(reward).components[1], reward.components[1]
    for option in ("columns", "range", "batch", "group", "primary", "weight"):
        assert getattr(component, option) == (getattr(original, option) or {"columns": {}}.get(option, False))
    on_column = original.gate is not None and isinstance(original.gate.on, str)
    assert (component.gate == original.gate) == (on_column or original.gate is None)


@pytest.mark.parametrize(
    "transform",
    [rk.weigh.standardise(clip=2.5, within="batch"), rk.weigh.rank(within="batch")],
    ids=repr,
)
def test_rewardkits_transforms_are_made_again(transform):
    assert read(rk.Reward("r", components=[ONE], transform=transform)).transform == transform


@pytest.mark.parametrize(
    "text", ["softmax()", "rank(1)", "rank(clip=1)", "rank(", "rank(within=open('x'))", "twice"]
)
def test_any_other_text_is_kept_and_never_evaluated_and_says_so_where_it_is_asked(text):
    record = rk.Reward("r", components=[ONE], transform=lambda rewards, groups: rewards).record()
    reward = reward_from_record({**record, "transform": text})
    assert reward.record()["transform"] == text
    with pytest.raises(rk.RewardError, match="read from a run record and cannot be run"):
        SCORES.under(reward)


def test_it_is_weighed_anew_and_what_is_no_record_is_refused():
    assert SCORES.under(read(SCORES.reward).reweigh({"a": 3.0})).rewards.tolist() == [3.0]
    with pytest.raises(rk.RewardError, match="does not hold a reward"):
        reward_from_record({"name": "r", "version": 2})
