"""whatif(): the diagnosis of a variant is that of the reward written so and scored anew."""

from dataclasses import replace

import numpy as np
import pytest
from planted.tables import same

import rewardkit as rk

pytestmark = pytest.mark.usefixtures("short_rehearsals")

ROLLOUTS = rk.load_rollouts("gallery:arithmetic").select(range(320))


def long(completion):
    return len(completion) > 60


def answers(completion):
    return None if "=" in completion else "<answer>" in completion


def reward(gate=None, *, whole=None):
    """Two components, the second behind `gate`, and both of them behind `whole`."""
    parts = [
        rk.Component("correct", rk.verify.numbers_equal),
        rk.Component("long", long, weight=0.5, gate=gate),
    ]
    return rk.Reward(
        "v", {"prediction": rk.extract.number(which="last")}, parts, gate=whole
    )


RIGHT = rk.gate("correct", at_least=1.0)


def test_a_gate_that_opens_counts_the_rows_that_nothing_was_scored_for():
    scores = rk.score(reward(RIGHT), ROLLOUTS)
    found = rk.whatif(scores, gates={"long": None})
    gated = int((scores.table["status/long"] == "gated").sum())
    assert found.to_score == {"long": gated} and gated > 50
    assert int(np.isnan(found.scores.rewards).sum()) == gated  # missing, not 0
    text, ran = repr(found), repr(rk.whatif(scores, gates={"long": None}, run=True))
    assert f"{gated} rows must be scored for 'long' first" in text
    assert (
        "What is new or gone cannot be said before" in text
        and "cannot be said" not in ran
    )
    assert "new: " in ran and "new: " not in text


QUIZ = [
    {
        "prompt_id": f"p{row // 8}",
        "completion": "w",
        "a": row % 3 / 2,
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
        components=[
            replace(first, gate=gate),
            *others,
            rk.Component("C", lambda a: 1 - a),
        ],
        gate=whole,
    )


B = rk.Component("B", lambda a: 1 - a, weight=0.5)
HALF = rk.gate("A", at_least=0.5)
HANGS = {
    "asks for the score": {"others": [rk.Component("U", unlike, weight=0.7)]},
    "a predicate": {"others": [replace(B, gate=rk.gate(lambda A: A >= 0.5))]},
    "the whole gate, two steps on": {
        "others": [replace(B, gate=HALF)],
        "whole": rk.gate("B", at_least=0.5),
    },
    "the whole gate is a predicate": {"whole": rk.gate(lambda A: A >= 0.5)},
    "its siblings": {"first": rk.Component("A", rank_of, group=True)},
    "a batch behind it": {
        "others": [rk.Component("B", share_of, batch=True, gate=HALF)]
    },
}


@pytest.mark.parametrize("recorded", [False, True], ids=["at hand", "from a record"])
@pytest.mark.parametrize("what", HANGS)
def test_what_hangs_on_a_gated_component_is_scored_or_refused_and_never_wrong(
    what, recorded, tmp_path
):
    options = HANGS[what]
    scores = rk.score(quiz(**options), QUIZ)
    wanted = rk.score(quiz(Q, **options), QUIZ)
    assert not np.allclose(scores.rewards, wanted.rewards, equal_nan=True)
    if recorded:
        scores = rk.load_scores(scores.save(tmp_path / "run"))
    with pytest.raises(
        rk.RewardError, match="so that the scores do not say what another gate does; "
    ):
        rk.whatif(scores, gates={"A": Q})
    if recorded:
        with pytest.raises(
            rk.RewardError, match="was read from a run record and cannot score"
        ):
            rk.whatif(
                rk.load_scores(wanted.save(tmp_path / "other")),
                gates={"A": None},
                run=True,
            )
    else:
        same(rk.whatif(scores, gates={"A": Q}, run=True).scores, wanted)
        same(rk.whatif(wanted, gates={"A": None}, run=True).scores, scores)


SEEN = rk.gate(answers)
UNSURE = [{**row, "q": None if at % 4 else 1.0} for at, row in enumerate(QUIZ)]
U, U_BEHIND = [rk.Component("U", unlike)], [rk.Component("U", unlike, gate=Q)]
SHUT = reward(whole=SEEN), reward(RIGHT, whole=SEEN)
NO_Q, NO_GATE = {"A": None}, {"long": None}
CASES = [  # what is changed, rows, reward before, gates, the reward written so, rows to score first
    ("it closes", ROLLOUTS, reward(), {"long": RIGHT}, reward(RIGHT), {}),
    ("the whole is closed or unknown", ROLLOUTS, SHUT[0], {"long": RIGHT}, SHUT[1], {}),
    (
        "it opens where the whole lets it",
        ROLLOUTS,
        SHUT[1],
        NO_GATE,
        SHUT[0],
        {"long": 35},
    ),
    ("it opens", ROLLOUTS, reward(RIGHT), NO_GATE, reward(), {"long": 283}),
    ("it was not decided", UNSURE, quiz(Q), NO_Q, quiz(), {"A": 180}),
    (
        "it asks for what is gated",
        QUIZ,
        quiz(Q, others=U_BEHIND),
        {"U": None},
        quiz(Q, others=U),
        {},
    ),
]


@pytest.mark.parametrize("recorded", [False, True], ids=["at hand", "from a record"])
@pytest.mark.parametrize(
    ("what", "rows", "before", "gates", "written", "to_score"), CASES
)
def test_another_gate_gives_what_scoring_behind_it_would(
    what, rows, before, gates, written, to_score, recorded, tmp_path
):
    scores, wanted = rk.score(before, rows), rk.score(written, rows)
    if "whole" in what:
        assert set(scores.table["gate/reward"].fillna(-1)) == {0, 1, -1}
    if (
        recorded and "whole" not in what
    ):  # by a predicate, of which a record does not say what it asks for
        scores = rk.load_scores(scores.save(tmp_path / "run"))
    found = rk.whatif(scores, gates=gates)
    assert found.to_score == found.record()["to_score"] == to_score
    if not to_score:
        same(found.scores, wanted)
    if not recorded:
        same(rk.whatif(scores, gates=gates, run=True).scores, wanted)


def test_a_variant_keeps_all_settings_of_the_diagnosis_and_a_label_is_of_both_sides():
    more = []
    for row in QUIZ:
        level = row["prompt_id"][-1] > "4"
        more.append({**row, "level": level, "good": float(row["a"] == 0)})
    scores = rk.score(quiz(others=[B]), more)
    kept = {"columns": [], "by": ["level"], "thresholds": {"sparse": 0.2}, "seed": 2}
    diagnosis = rk.diagnose(scores, **kept)
    found = rk.whatif(diagnosis, weights={"B": 0.5})  # which it has
    assert found.diagnosis.record() == diagnosis.record()
    assert "Findings: the same as before" in repr(found)
    assert "changes its sign" in repr(found) and found.changes.changed == 0
    kept["label"], training = "good", {"estimator": "rloo"}
    other = rk.whatif(diagnosis, weights={"B": -2.0}, training=training, label="good")
    wanted = rk.diagnose(scores.reweigh({"B": -2.0}), training=training, **kept)
    assert other.diagnosis.record() == wanted.record() and other.to_score == {}
    assert other.before.record() == rk.diagnose(scores, **kept).record()


def test_gates_are_those_of_one_reward_and_of_what_its_own_gate_does_not_ask_for():
    for made, said in (
        (
            rk.Route("task", {}, reward(RIGHT)),
            "take the part of the route that is meant",
        ),
        (reward(whole=RIGHT), "the gate on the whole reward asks for 'correct'"),
    ):
        with pytest.raises(rk.RewardError, match=said):
            rk.whatif(rk.score(made, ROLLOUTS), gates={"correct": None})
