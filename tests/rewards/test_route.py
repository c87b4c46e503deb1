"""Route: every row gets the reward of its source, and nothing else does."""

import math

import numpy as np
import pytest

import rewardkit as rk


class Counted:
    def __init__(self, answer):
        self.answer, self.seen = answer, []

    def __call__(self, completion):
        self.seen.append(completion)
        return self.answer


def reward(name, *pairs, **options):
    """A reward of constant components: (name, score, weight)."""
    parts = [rk.Component(part, Counted(score), weight=weight) for part, score, weight in pairs]
    return rk.Reward(name, components=parts, **options)


def rows(*sources):
    return [{"prompt": "p", "completion": str(i), "data_source": source} for i, source in enumerate(sources)]


def route(**options):
    return rk.Route(
        "data_source",
        {"x": reward("one", ("both", 1.0, 1.0), ("own", 0.5, 2.0)), "y": reward("two", ("both", 0.5, 4.0))},
        **options,
    )


def test_every_row_is_scored_by_the_reward_of_its_source_only():
    made = route()
    scores = rk.score(made, rows("x", "y", "x"))
    assert scores.rewards.tolist() == [2.0, 2.0, 2.0]
    assert scores.score("both").tolist() == [1.0, 0.5, 1.0]
    assert scores.table["status/own"].tolist() == ["scored", "gated", "scored"]
    assert made.routing.rewards["x"].components[0].function.seen == ["0", "2"]
    assert made.routing.rewards["y"].components[0].function.seen == ["1"]


@pytest.mark.parametrize("source", ["z", None, ""])
def test_an_unmatched_source_is_not_judged(source):
    scores = rk.score(route(), rows("x", source))
    assert math.isnan(scores.rewards[1])
    assert [scores.table[f"status/{name}"][1] for name in ("both", "own")] == ["abstained"] * 2
    assert scores.table["error/both"][1].startswith("no reward for data_source=")


@pytest.mark.parametrize("source", [["x"], {"x": 1}])
def test_a_source_that_is_a_list_or_dict_is_unmatched_and_not_a_crash(source):
    scores = rk.score(route(), rows("x", source))
    assert np.isnan(scores.rewards).tolist() == [False, True]


def test_unmatched_sources_go_to_the_default():
    scores = rk.score(route(default=reward("rest", ("own", 1.0, 7.0))), rows("x", "z", None))
    assert scores.rewards.tolist() == [2.0, 7.0, 7.0]


def test_a_reward_for_rows_without_a_source_is_not_for_those_of_an_unknown_one():
    made = rk.Route("data_source", {None: reward("none", ("c", 1.0, 1.0)), "x": reward("x", ("c", 0.0, 1.0))})
    assert np.isnan(rk.score(made, rows("x", None, "z")).rewards).tolist() == [False, False, True]


def test_a_route_over_numbers_scores_and_is_recorded(tmp_path):
    made = rk.Route("step", {1: reward("one", ("c", 1.0, 1.0)), 2: reward("two", ("c", 0.5, 1.0))})
    scores = rk.score(made, [{"prompt": "p", "completion": "a", "step": step} for step in (1, 2, 3)])
    np.testing.assert_array_equal(scores.rewards, [1.0, 0.5, math.nan])
    loaded = rk.load_scores(scores.save(tmp_path / "out"))
    np.testing.assert_array_equal(loaded.reweigh({"c": 2.0}).rewards, [2.0, 1.0, math.nan])


def test_one_completion_is_routed_too():
    made = route()
    assert made(completion="a", data_source="y").reward == 2.0
    result = made(completion="a", data_source="z")
    assert math.isnan(result.reward)
    assert result.errors["both"] == "no reward for data_source='z'"


def test_groups_stay_groups_within_a_part():
    def share(completion):
        return [1 / len(completion)] * len(completion)

    made = rk.Route(
        "data_source",
        {"x": rk.Reward("x", components=[rk.Component("c", share, group=True)])},
        reward("y", ("c", 1, 1)),
    )
    assert rk.score(made, rows("x", "y", "x", "x", "y")).score("c").tolist() == [
        1 / 3,
        1.0,
        1 / 3,
        1 / 3,
        1.0,
    ]


def test_each_part_keeps_its_own_aggregation_gate_and_transform():
    made = rk.Route(
        "data_source",
        {
            "x": reward("x", ("a", 0.5, 1.0), ("b", 0.25, 1.0), aggregation="minimum"),
            "y": reward("y", ("a", 1.0, 3.0), gate=rk.gate("completion", equals="1")),
            "z": reward("z", ("a", 1.0, 3.0), transform=rk.weigh.rank()),
        },
    )
    scores = rk.score(made, rows("x", "y", "y", "z", "z"))
    assert scores.table["reward_raw"].tolist() == [0.25, 3.0, 0.0, 3.0, 3.0]
    assert scores.rewards.tolist() == [0.25, 3.0, 0.0, 0.5, 0.5]


def test_reweighing_reaches_every_reward_that_has_the_component():
    scores = rk.score(route(), rows("x", "y"))
    assert scores.reweigh({"both": 10.0}).rewards.tolist() == [11.0, 5.0]
    assert scores.reweigh({"own": 0.0}).rewards.tolist() == [1.0, 2.0]
    with pytest.raises(rk.RewardError, match=r"no component 'onw'.*did you mean 'own'\?"):
        scores.reweigh({"onw": 1.0})


FIELD_C = rk.Reward("y", {"c": lambda completion: 1}, [rk.Component("d", lambda c: c)])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: rk.Route("data_source", {}), "has no rewards"),
        (lambda: rk.Route("data_source", {"x": len}), "takes rewards"),
        (lambda: rk.Route("data_source", {"x": route()}), "takes rewards"),
        (
            lambda: rk.Route("data_source", {"x": reward("x", ("c", 1, 1)), "y": FIELD_C}),
            "a field and of a component",
        ),
    ],
)
def test_a_route_that_cannot_be_is_an_error(make, said):
    with pytest.raises(rk.RewardError) as raised:
        make()
    assert said in str(raised.value)


def test_rollouts_without_the_routing_column_are_an_error_with_the_nearest_name():
    said = r"the route asks for 'data_sorce'; this table has .*did you mean 'data_source'\?"
    with pytest.raises(rk.RewardError, match=said):
        rk.score(rk.Route("data_sorce", {"x": reward("x", ("c", 1, 1))}), rows("x"))


def test_what_a_part_asks_for_must_be_there_too():
    asking = rk.Reward("r", components=[rk.Component("c", lambda truth: True)])
    with pytest.raises(rk.RewardError, match="component 'c' asks for 'truth'"):
        rk.score(rk.Route("data_source", {"x": asking}), rows("y"))


def fingerprints(**options):
    return route(**options).record()["fingerprints"]


def test_the_fingerprints_follow_the_parts():
    base = fingerprints()
    assert base == fingerprints()
    reweighed = route().reweigh({"own": 3.0}).record()["fingerprints"]
    assert base["scoring"] == reweighed["scoring"] and base["reward"] != reweighed["reward"]
    assert fingerprints(default=reward("rest", ("own", 1.0, 7.0)))["scoring"] != base["scoring"]


def test_a_part_called_default_and_the_default_are_both_in_the_fingerprint():
    def scoring(part, rest):
        made = rk.Route("s", {"default": rk.Reward("p", components=[rk.Component("c", part)])},
                        rk.Reward("q", components=[rk.Component("c", rest)]))  # fmt: skip
        return made.record()["fingerprints"]["scoring"]

    one, two = rk.measure.keywords("a"), rk.measure.keywords("b")
    assert len({scoring(one, one), scoring(two, one), scoring(one, two)}) == 3


def test_the_routing_column_is_in_the_fingerprint_whatever_the_parts_are_called():
    def scoring(column, part):
        return rk.Route(column, {part: reward("p", ("c", 1, 1))}).record()["fingerprints"]["scoring"]

    assert scoring("s", "x") != scoring("t", "x")
    assert scoring("s", "column") != scoring("t", "column")


def test_saved_scores_of_a_route_can_be_reweighed_and_diagnosed(tmp_path):
    scores = rk.score(route(), rows("x", "y", "x", "y", "z"))
    loaded = rk.load_scores(scores.save(tmp_path))
    assert loaded.record == scores.record
    np.testing.assert_array_equal(
        loaded.reweigh({"both": 3.0}).rewards, scores.reweigh({"both": 3.0}).rewards
    )
    assert rk.diagnose(loaded).record() == rk.diagnose(scores).record()
