"""whatif(): the diagnosis of a variant is that of the reward written so and scored anew."""

from dataclasses import replace

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
        rk.whatif(scores, gates={"correct": None})


# what hangs on a gated component in other ways

QUIZ = [
    {
        "prompt_id": f"p{row // 8}",
        "completion": "w",
        "a": float(row % 3) / 2,
        "q": float(row % 5 > 1),
        "t": "x",
    }
    for row in range(240)
]
Q = rk.gate("q", at_least=1)


def unlike(A):
    return 0.5 * (1 - A)


def rank_of(a):
    return [sum(other < value for other in a) / 10 for value in a]


def share_of(a):
    total = sum(a)
    return [value / total for value in a]


def quiz(gate=None, *, first=None, others=(), whole=None):
    """`A` behind `gate` (or `first` in its place), then `others`, all of them behind `whole`."""
    first = first or rk.Component("A", lambda a: a)
    return rk.Reward(
        "quiz",
        components=[replace(first, gate=gate), *others, rk.Component("C", lambda a: 1 - a)],
        gate=whole,
    )


B = rk.Component("B", lambda a: 1 - a, weight=0.5)
HANGS = {
    "asks for the score": {"others": [rk.Component("U", unlike, weight=0.7)]},
    "a predicate": {"others": [replace(B, gate=rk.gate(lambda A: A >= 0.5))]},
    "the whole gate, two steps on": {
        "others": [replace(B, gate=rk.gate("A", at_least=0.5))],
        "whole": rk.gate("B", at_least=0.5),
    },
    "the whole gate is a predicate": {"whole": rk.gate(lambda A: A >= 0.5)},
    "its siblings": {"first": rk.Component("A", rank_of, group=True)},
    "its batch": {"first": rk.Component("A", share_of, batch=True)},
    "a batch behind it": {
        "others": [rk.Component("B", share_of, batch=True, gate=rk.gate("A", at_least=0.5))]
    },
}


@pytest.mark.parametrize("recorded", [False, True], ids=["at hand", "from a record"])
@pytest.mark.parametrize("what", HANGS)
def test_what_hangs_on_a_gated_component_is_scored_or_refused_and_never_wrong(what, recorded, tmp_path):
    options = HANGS[what]
    scores = rk.score(quiz(**options), QUIZ)
    wanted = rk.score(quiz(Q, **options), QUIZ)
    assert not np.allclose(scores.rewards, wanted.rewards, equal_nan=True)
    if recorded:
        scores = rk.load_scores(scores.save(tmp_path / "run"))
    with pytest.raises(rk.RewardError, match="so that the scores do not say what another gate does; "):
        rk.whatif(scores, gates={"A": Q})
    if not recorded:
        same(rk.whatif(scores, gates={"A": Q}, run=True).scores, wanted)
        same(rk.whatif(wanted, gates={"A": None}, run=True).scores, scores)


def test_a_batch_that_no_gate_changes_is_scored_on_all_rows_or_left_as_it_is():
    batch = rk.Component("D", share_of, batch=True)
    scores = rk.score(quiz(Q, others=[batch]), QUIZ)
    same(rk.whatif(scores, gates={"A": None}, run=True).scores, rk.score(quiz(others=[batch]), QUIZ))


def test_in_scores_from_disk_a_gate_by_name_is_still_one_by_name(tmp_path):
    behind = [replace(B, gate=rk.gate("A", at_least=0.5))]
    loaded = rk.load_scores(rk.score(quiz(others=behind), QUIZ).save(tmp_path / "run"))
    same(rk.whatif(loaded, gates={"A": Q}).scores, rk.score(quiz(Q, others=behind), QUIZ))


def test_rows_whose_gate_could_not_be_decided_have_to_be_scored_where_it_is_taken_away():
    rows = [{**row, "q": None if at % 4 else 1.0} for at, row in enumerate(QUIZ)]
    found = rk.whatif(rk.score(quiz(Q), rows), gates={"A": None})
    assert found.to_score == {"A": 180}
    same(rk.whatif(rk.score(quiz(Q), rows), gates={"A": None}, run=True).scores, rk.score(quiz(), rows))


def test_what_asks_for_a_gated_score_is_not_opened_by_the_loss_of_its_own_gate():
    def made(gate):
        return quiz(Q, others=[rk.Component("U", unlike, gate=gate)])

    found = rk.whatif(rk.score(made(rk.gate("q", at_least=0.5)), QUIZ), gates={"U": None})
    assert found.to_score == {}
    same(found.scores, rk.score(made(None), QUIZ))


@pytest.mark.parametrize(
    "gate",
    [
        pytest.param(rk.gate("t", at_least=1), id="at least a number"),
        pytest.param(rk.gate("t", at_most=1), id="at most a number"),
        pytest.param(rk.gate("t", equals=1), id="a number"),
    ],
)
def test_a_number_held_against_a_column_of_text_is_one_sentence(gate):
    with pytest.raises(rk.RewardError, match="compares 't' with a number, and it holds 'x'; give a column"):
        rk.whatif(rk.score(quiz(), QUIZ), gates={"A": gate})
    wanted = rk.score(quiz(rk.gate("t", equals="x")), QUIZ)
    same(rk.whatif(rk.score(quiz(), QUIZ), gates={"A": rk.gate("t", equals="x")}).scores, wanted)


# what a variant is held against


def test_a_variant_keeps_all_settings_of_the_diagnosis():
    scores = rk.score(quiz(others=[B]), [{**row, "level": row["prompt_id"][-1] > "4"} for row in QUIZ])
    diagnosis = rk.diagnose(scores, columns=[], by=["level"], thresholds={"sparse": 0.2}, seed=2)
    found = rk.whatif(diagnosis, weights={"B": 0.5})  # which it has
    assert found.diagnosis.record() == diagnosis.record()
    assert (found.diagnosis.by, found.diagnosis.views[0].context.named) == (("level",), [])
    assert found.diagnosis.views[0].thresholds["sparse"] == 0.2
    assert not [line for line in repr(found).splitlines() if line.startswith(("new", "gone"))]


def test_a_label_that_the_diagnosis_was_made_without_is_of_both_sides():
    rows = [{**row, "good": float(row["a"] == 0)} for row in QUIZ]
    diagnosis = rk.diagnose(rk.score(quiz(others=[B]), rows), columns=[], seed=1)
    found = rk.whatif(diagnosis, weights={"B": 0.5}, label="good")
    assert found.before.views[0].context.label_name == "good" and found.before.seed == 1
    assert found.before.record() == found.diagnosis.record()


def test_nothing_is_said_to_be_new_or_gone_before_the_rows_are_scored():
    scores = rk.score(reward(RIGHT), ROLLOUTS)
    text = repr(rk.whatif(scores, gates={"long": None}))
    assert "What is new or gone cannot be said before" in text
    assert not [line for line in text.splitlines() if line.startswith(("new:", "gone:"))]
    ran = repr(rk.whatif(scores, gates={"long": None}, run=True))
    assert [line for line in ran.splitlines() if line.startswith(("new:", "gone:"))]
    assert "cannot be said" not in ran


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({"weights": [1, 2]}, r"weights=\[1, 2\] is no dict of component: weight", id="a list"),
        pytest.param({"weights": "A"}, "weights='A' is no dict", id="a name"),
        pytest.param({"weights": {"A": "x"}}, "'x'", id="a weight in words"),
        pytest.param({"gates": [RIGHT]}, "gates=.* is no dict of component: gate", id="a list of gates"),
        pytest.param({"label": ["lab"]}, r"label=\['lab'\] is no name of a column", id="a list of labels"),
    ],
)
def test_options_of_another_kind_are_one_sentence(given, said):
    with pytest.raises((rk.InputError, rk.RewardError), match=said):
        rk.whatif(rk.score(quiz(), QUIZ), **given)


@pytest.mark.parametrize("source", [None, "run0", quiz()], ids=["none", "a path", "a reward"])
def test_what_are_no_scores_cannot_be_varied(source):
    with pytest.raises(rk.InputError, match=r"whatif takes Scores, as .* or a Diagnosis, not "):
        rk.whatif(source, weights={})
