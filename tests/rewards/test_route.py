"""Route: every row gets the reward of its source, and nothing else does."""

import math

import numpy as np
import pytest

import rewardkit as rk

SEEN = []


def reward(name, *pairs, **options):
    """A reward of constant components: (name, score, weight)."""

    def constant(score):
        return lambda completion: SEEN.append((name, completion)) or score

    parts = [rk.Component(part, constant(score), weight=weight) for part, score, weight in pairs]
    return rk.Reward(name, components=parts, **options)


def rows(*sources):
    return [{"prompt": "p", "completion": str(i), "data_source": source} for i, source in enumerate(sources)]


def route(**options):
    two = reward("two", ("both", 0.5, 4.0))
    return rk.Route(
        "data_source", {"x": reward("one", ("both", 1.0, 1.0), ("own", 0.5, 2.0)), "y": two}, **options
    )


ONE = reward("x", ("c", 1, 1))
REST = reward("rest", ("own", 1.0, 7.0))


def test_every_row_is_scored_by_the_reward_of_its_source_only():
    SEEN.clear()
    scores = rk.score(route(), rows("x", "y", "x"))
    assert scores.rewards.tolist() == [2.0, 2.0, 2.0]
    assert scores.score("both").tolist() == [1.0, 0.5, 1.0]
    assert scores.table["status/own"].tolist() == ["scored", "gated", "scored"]
    assert set(SEEN) == {("one", "0"), ("two", "1"), ("one", "2")}


@pytest.mark.parametrize("source", ["z", None, "", ["x"], {"x": 1}], ids=repr)
def test_an_unmatched_source_is_not_judged_or_goes_to_the_default(source):
    scores = rk.score(route(), rows("x", source))
    assert np.isnan(scores.rewards).tolist() == [False, True]
    assert [scores.table[f"status/{name}"][1] for name in ("both", "own")] == ["abstained"] * 2
    assert scores.table["error/both"][1].startswith("no reward for data_source=")
    assert rk.score(route(default=REST), rows("x", source)).rewards.tolist() == [2.0, 7.0]


def test_one_completion_is_routed_too():
    assert route()(completion="a", data_source="y").reward == 2.0
    result = route()(completion="a", data_source="z")
    assert math.isnan(result.reward) and result.errors["both"] == "no reward for data_source='z'"


def test_each_part_keeps_its_own_aggregation_gate_and_transform():
    parts = {
        "x": reward("x", ("a", 0.5, 1.0), ("b", 0.25, 1.0), aggregation="minimum"),
        "y": reward("y", ("a", 1.0, 3.0), gate=rk.gate("completion", equals="1")),
        "z": reward("z", ("a", 1.0, 3.0), transform=rk.weigh.rank()),
    }
    scores = rk.score(rk.Route("data_source", parts), rows("x", "y", "y", "z", "z"))
    assert scores.table["reward_raw"].tolist() == [0.25, 3.0, 0.0, 3.0, 3.0]
    assert scores.rewards.tolist() == [0.25, 3.0, 0.0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: rk.Route("data_source", {}), "has no rewards"),
        (lambda: rk.Route("data_source", {"x": len}), "takes rewards"),
        (lambda: rk.Route("data_source", {"x": route()}), "takes rewards"),
        (lambda: rk.Route("data_source", {"x": ONE, "y": rk.Reward("y", {"c": len}, REST.components)}),
         "a field and of a component"),
        (lambda: rk.score(rk.Route("data_sorce", {"x": ONE}), rows("x")),
         r"the route asks for 'data_sorce'; this table has .*did you mean 'data_source'\?"),
        (lambda: rk.score(rk.Route("data_source", {"x": rk.Reward("r", components=[
            rk.Component("c", lambda truth: True)])}), rows("y")), "component 'c' asks for 'truth'"),
        (lambda: rk.score(route(), rows("x")).reweigh({"onw": 1.0}),
         r"no component 'onw'.*did you mean 'own'\?"),
    ],
    ids=["no rewards", "no reward", "a route", "names that meet", "no column", "a part's column", "weights"],
)  # fmt: skip
def test_a_route_that_cannot_be_is_an_error(make, said):
    with pytest.raises(rk.RewardError, match=said):
        make()


def prints(made):
    return made.record()["fingerprints"]


def test_the_scoring_fingerprint_follows_column_parts_and_default_and_not_the_weights():
    base, reweighed = prints(route()), prints(route().reweigh({"own": 3.0}))
    assert base == prints(route())
    assert base["scoring"] == reweighed["scoring"] and base["reward"] != reweighed["reward"]
    parts = [rk.Component("c", rk.measure.keywords(word)) for word in "ab"]
    one, two = (rk.Reward("p", components=[part]) for part in parts)
    routes = [
        route(), route(default=REST), rk.Route("s", {"x": one}), rk.Route("t", {"x": one}),
        rk.Route("s", {"column": one}), rk.Route("t", {"column": one}),
        *(rk.Route("s", {"default": part}, rest) for part, rest in ((one, one), (two, one), (one, two))),
    ]  # fmt: skip
    assert len({prints(made)["scoring"] for made in routes}) == len(routes)


def test_scores_of_a_route_can_be_saved_reweighed_and_diagnosed(tmp_path):
    scores = rk.score(route(), rows("x", "y", "x", "y", "z"))
    loaded = rk.load_scores(scores.save(tmp_path / "run"))
    assert loaded.record == scores.record
    assert rk.diagnose(loaded).record() == rk.diagnose(scores).record()
    np.testing.assert_array_equal(loaded.reweigh({"both": 10}).rewards, [11.0, 5.0, 11.0, 5.0, math.nan])
    np.testing.assert_array_equal(loaded.reweigh({"own": 0}).rewards, [1.0, 2.0, 1.0, 2.0, math.nan])
    rest = rk.score(route(default=REST), rows("x", "z")).reweigh({"own": 1})
    assert rest.rewards.tolist() == [1.5, 1.0]
    by_number = rk.Route("step", {1: ONE, 2: reward("two", ("c", 0.5, 1.0))})
    scores = rk.score(by_number, [{"prompt": "p", "completion": "a", "step": step} for step in (1, 2, 3)])
    loaded = rk.load_scores(scores.save(tmp_path / "numbers"))
    np.testing.assert_array_equal(loaded.reweigh({"c": 2.0}).rewards, [2.0, 1.0, math.nan])
