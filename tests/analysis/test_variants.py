"""whatif(): the diagnosis of a variant is that of the reward written so and scored anew."""

import numpy as np
import pytest

import rewardkit as rk

ROLLOUTS = rk.load_rollouts("gallery:arithmetic").select(range(320))


def long(completion):
    return len(completion) > 60


def answers(completion):
    return None if "=" in completion else "<answer>" in completion


def reward(gate=None, *, concise=None, whole=None):
    """Two components, the second behind `gate`, a third behind `concise`, and all of them behind `whole`."""
    return rk.Reward(
        "v",
        gate=whole,
        fields={"prediction": rk.extract.number(which="last")},
        components=[
            rk.Component("correct", rk.verify.numbers_equal),
            rk.Component("long", long, weight=0.5, gate=gate),
            rk.Component("concise", rk.measure.length(full_until=10, zero_from=30), weight=0.2, gate=concise),
        ],
    )


RIGHT = rk.gate("correct", at_least=1.0)
AFTER_LONG = rk.gate("long", at_least=1.0)


def same(found, wanted):
    for name in wanted.reward.names:
        np.testing.assert_array_equal(found.status(name), wanted.status(name))
        np.testing.assert_array_equal(found.score(name), wanted.score(name))
    np.testing.assert_allclose(found.rewards, wanted.rewards)
    assert found.reward.record()["fingerprints"] == wanted.reward.record()["fingerprints"]


def test_weights_are_those_of_scores_weighed_anew():
    scores = rk.score(reward(), ROLLOUTS)
    found = rk.whatif(scores, weights={"long": -2.0})
    assert found.diagnosis.record() == rk.diagnose(scores.reweigh({"long": -2.0})).record()
    assert found.before.record() == rk.diagnose(scores).record() and found.to_score == {}


@pytest.mark.parametrize("concise", [None, AFTER_LONG], ids=["alone", "with another behind it"])
def test_a_gate_that_closes_gives_what_scoring_behind_it_would(concise):
    scores = rk.score(reward(concise=concise), ROLLOUTS)
    found = rk.whatif(scores, gates={"long": RIGHT})
    same(found.scores, rk.score(reward(RIGHT, concise=concise), ROLLOUTS))
    assert found.to_score == {} and "long" not in found.record()["to_score"]


def test_a_gate_that_closes_changes_nothing_where_the_whole_reward_is_closed_or_unknown():
    whole = rk.gate(answers)
    scores = rk.score(reward(whole=whole), ROLLOUTS)
    gates = scores.table["gate/reward"]
    assert (gates == 0).any() and gates.isna().any() and (gates == 1).any()
    found = rk.whatif(scores, gates={"long": RIGHT})
    same(found.scores, rk.score(reward(RIGHT, whole=whole), ROLLOUTS))
    back = rk.whatif(found.scores, gates={"long": None})
    reopened = (found.scores.table["status/long"] == "gated") & (gates == 1)
    assert back.to_score == {"long": int(reopened.sum())}  # not those that the whole reward's gate keeps shut
    same(rk.whatif(found.scores, gates={"long": None}, run=True).scores, scores)


def test_a_gate_that_opens_counts_the_rows_that_nothing_was_scored_for():
    scores = rk.score(reward(RIGHT), ROLLOUTS)
    found = rk.whatif(scores, gates={"long": None})
    gated = int((scores.table["status/long"] == "gated").sum())
    assert found.to_score == {"long": gated} and gated > 50
    assert int(np.isnan(found.scores.rewards).sum()) == gated  # missing, not 0
    assert f"{gated} rows must be scored for 'long' first" in repr(found)


def test_a_gate_that_opens_can_score_its_rows():
    scores = rk.score(reward(RIGHT), ROLLOUTS)
    found = rk.whatif(scores, gates={"long": None}, run=True)
    same(found.scores, rk.score(reward(), ROLLOUTS))
    assert found.to_score == {}
    other = rk.whatif(scores, gates={"long": rk.gate("correct", at_most=0.0)}, run=True)
    same(other.scores, rk.score(reward(rk.gate("correct", at_most=0.0)), ROLLOUTS))


def test_scores_are_left_as_they_were():
    scores = rk.score(reward(), ROLLOUTS)
    before = scores.table.copy()
    rk.whatif(scores, gates={"long": RIGHT}, weights={"correct": 3.0})
    assert scores.table.equals(before)


def test_other_settings_of_the_trainer_are_of_the_variant_only():
    diagnosis = rk.diagnose(rk.score(reward(), ROLLOUTS), training={"scale_rewards": "none"}, seed=3)
    found = rk.whatif(diagnosis, training={"estimator": "rloo"})
    assert (found.before.training.name, found.diagnosis.training.name) == ("dr_grpo", "rloo")
    kept = rk.whatif(diagnosis, weights={"long": 1.0})
    assert (kept.diagnosis.training.name, kept.diagnosis.seed) == ("dr_grpo", 3)


def test_scores_from_disk_can_be_varied_and_not_run(tmp_path):
    rk.score(reward(), ROLLOUTS).save(tmp_path / "run")
    loaded = rk.load_scores(tmp_path / "run")
    found = rk.whatif(loaded, gates={"long": RIGHT})
    same(found.scores, rk.score(reward(RIGHT), ROLLOUTS))
    with pytest.raises(rk.RewardError, match="was read from a run record and cannot score"):
        rk.whatif(loaded, gates={"long": None}, run=True)


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        ({"lung": None}, r"gates= names 'lung'; reward 'v' has .*did you mean 'long'"),
        ({"long": rk.gate(lambda correct: correct > 0)}, "only a gate on a column by name can be decided"),
        ({"long": 1.0}, "the gate of 'long' is 1.0"),
        ({"long": rk.gate("nowhere", at_least=1)}, "a gate is on 'nowhere', which these scores do not have"),
    ],
)
def test_what_cannot_be_decided_is_one_sentence(gates, said):
    with pytest.raises(rk.RewardError, match=said):
        rk.whatif(rk.score(reward(), ROLLOUTS), gates=gates)


def test_a_route_has_no_gates_of_its_own():
    route = rk.Route("task", {}, reward(RIGHT))
    scores = rk.score(route, ROLLOUTS)
    with pytest.raises(rk.RewardError, match="take the part of the route that is meant"):
        rk.whatif(scores, gates={"long": None})


def test_a_gate_on_what_the_whole_reward_is_gated_by_needs_scoring():
    scores = rk.score(reward(whole=rk.gate("correct", at_least=1.0)), ROLLOUTS)
    with pytest.raises(rk.RewardError, match="the gate on the whole reward asks for 'correct'"):
        rk.whatif(scores, gates={"correct": rk.gate("long", at_least=1.0)})
