"""Route; and a reward that is read from a run record, the same definition, of which nothing is run."""

import json
import math
import runpy

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.rewards.recorded import reward_from_record

SEEN = []


def reward(name, *pairs, **options):
    """A reward of constant components: (name, score, weight)."""

    def constant(score):
        return lambda completion: SEEN.append((name, completion)) or score

    parts = [
        rk.Component(part, constant(score), weight=weight)
        for part, score, weight in pairs
    ]
    return rk.Reward(name, components=parts, **options)


def rows(*sources):
    return [
        {"prompt": "p", "completion": str(i), "data_source": source}
        for i, source in enumerate(sources)
    ]


def route(**options):
    two = reward("two", ("both", 0.5, 4.0))
    return rk.Route(
        "data_source",
        {"x": reward("one", ("both", 1.0, 1.0), ("own", 0.5, 2.0)), "y": two},
        **options,
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
    row = scores.table.iloc[1]
    assert row["status/both"] == row["status/own"] == "abstained"
    assert row["error/both"].startswith("no reward for data_source=")
    scores = rk.score(route(default=REST), rows("x", source))
    assert scores.rewards.tolist() == [2.0, 7.0]


def test_each_part_keeps_its_own_aggregation_gate_and_transform():
    parts = {
        "x": reward("x", ("a", 0.5, 1.0), ("b", 0.25, 1.0), aggregation="minimum"),
        "y": reward("y", ("a", 1.0, 3.0), gate=rk.gate("completion", equals="1")),
        "z": reward("z", ("a", 1.0, 3.0), transform=rk.weigh.rank()),
    }
    scores = rk.score(rk.Route("data_source", parts), rows("x", "y", "y", "z", "z"))
    assert scores.rewards.tolist() == [0.25, 3.0, 0.0, 0.5, 0.5]


TRUTH = rk.Reward("r", components=[rk.Component("c", lambda truth: True)])
LACKING = (
    r"the route asks for 'data_sorce'; this table has .*did you mean 'data_source'\?"
)
CANNOT_BE = {
    "has no rewards": lambda: rk.Route("data_source", {}),
    "takes rewards": lambda: rk.Route("data_source", {"x": route()}),
    "a field and of a component": lambda: rk.Route(
        "data_source", {"x": ONE, "y": rk.Reward("y", {"c": len}, REST.components)}
    ),
    LACKING: lambda: rk.score(rk.Route("data_sorce", {"x": ONE}), rows("x")),
    "component 'c' asks for 'truth'": lambda: rk.score(
        rk.Route("data_source", {"x": TRUTH}), rows("y")
    ),
    r"no component 'onw'.*did you mean 'own'\?": lambda: route().reweigh({"onw": 1.0}),
}


@pytest.mark.parametrize("said", CANNOT_BE)
def test_a_route_that_cannot_be_is_an_error(said):
    with pytest.raises(rk.RewardError, match=said):
        CANNOT_BE[said]()


def prints(made):
    return made.record()["fingerprints"]


def test_the_scoring_fingerprint_follows_column_parts_and_default_and_not_the_weights():
    base, reweighed = prints(route()), prints(route().reweigh({"own": 3.0}))
    assert (
        base["scoring"] == reweighed["scoring"]
        and base["reward"] != reweighed["reward"]
    )
    one, two = (
        rk.Reward("p", components=[rk.Component("c", rk.measure.keywords(word))])
        for word in "ab"
    )
    routes = [
        route(), route(default=REST),
        *(rk.Route(column, {value: one}) for column, value in (("s", "x"), ("t", "x"), ("s", "y"))),
        *(rk.Route("s", {"default": part}, rest) for part, rest in ((one, one), (two, one), (one, two))),
    ]  # fmt: skip
    assert len({prints(made)["scoring"] for made in routes}) == len(routes)


def test_scores_of_a_route_can_be_saved_reweighed_and_diagnosed(tmp_path):
    scores = rk.score(route(), rows("x", "y", "x", "y", "z"))
    loaded = rk.load_scores(scores.save(tmp_path / "run"))
    assert loaded.record == scores.record
    assert rk.diagnose(loaded).record() == rk.diagnose(scores).record()
    np.testing.assert_array_equal(
        loaded.reweigh({"both": 10}).rewards, [11.0, 5.0, 11.0, 5.0, math.nan]
    )
    rest = rk.score(route(default=REST), rows("x", "z")).reweigh({"own": 1})
    assert rest.rewards.tolist() == [1.5, 1.0]
    by_number = rk.Route("step", {1: ONE})
    scores = rk.score(
        by_number, [{"prompt": "p", "completion": "a", "step": step} for step in (1, 2)]
    )
    loaded = rk.load_scores(scores.save(tmp_path / "numbers"))
    np.testing.assert_array_equal(loaded.reweigh({"c": 2.0}).rewards, [2.0, math.nan])


# a route of a task each


ANSWER = {"prediction": rk.extract.tag("answer")}
SUMS = rk.Component("correct", rk.verify.numbers_equal, primary=True)
WORDS = rk.Component("correct", rk.verify.matches, weight=2.0, primary=True)
THE = rk.Component("the", rk.measure.keywords("the"), weight=0.5)
BOTH = rk.Route(
    "data_source",
    {
        "sums": rk.Reward("sums", ANSWER, [SUMS]),
        "words": rk.Reward("words", ANSWER, [WORDS, THE]),
    },
)
LOG = rk.load_rollouts(
    [
        {"prompt": f"question {at}", "completion": text, "ground_truth": truth, "data_source": source}
        for at, (truth, source) in enumerate({"4": "sums", "12": "sums", "cat": "words", "Rome": "words"}.items())
        for text in (f"<answer>{truth}</answer>", "the <answer>9</answer>", "no")
    ]
)  # fmt: skip


def test_a_route_its_explanation_and_its_export_pay_each_row_by_its_source(tmp_path):
    rewards = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.5, 0.0, 2.0, 0.5, 0.0]
    assert rk.score(BOTH, LOG).rewards.tolist() == rewards
    assert "words: reward 0.5" in str(rk.explain(BOTH, dict(LOG.table.iloc[7])))
    place = rk.export(BOTH, to="trl", path=tmp_path / "out.py").path
    columns = LOG.table.drop(columns=["prompt", "completion"]).to_dict("list")
    exported = runpy.run_path(str(place))["sums_words"]
    paid = exported(list(LOG.table["prompt"]), list(LOG.table["completion"]), **columns)
    assert paid == rewards


# from a run record


def listed(completion):
    return [1.0] * len(completion)


def is_long(completion):
    return len(completion) > 3


LONG = rk.Component("a", is_long)
SCORES = rk.score(rk.Reward("r", components=[LONG]), [{"completion": "long"}])
OPTIONS = {
    "gates": {"gate": rk.gate("a", at_least=0.5, at_most=1)},
    "a gate on a predicate": {"gate": rk.gate(is_long)},
    "columns and range": {
        "columns": {"completion": "prompt"},
        "range": (0.0, float("inf")),
    },
    "a group": {"group": True},
    "paid in part": {
        "expects_partial": True,
        "primary": True,
        "weight": -0.5,
        "why": "so",
    },
}


def read(reward):
    return reward_from_record(json.loads(json.dumps(reward.record())))


@pytest.mark.parametrize("kind", OPTIONS)
def test_the_reward_of_a_record_has_the_same_record_and_component(kind):
    parts = [LONG, rk.Component("b", listed, **OPTIONS[kind])]
    reward = rk.Reward(
        "r", {"f": rk.extract.tag("x")}, parts, gate=rk.gate("a", equals=1.0)
    )
    assert read(reward).record() == reward.record()
    component, original = read(reward).components[1], reward.components[1]
    for option in ("range", "batch", "group", "primary", "weight"):
        assert getattr(component, option) == getattr(original, option)
    on_column = original.gate is not None and isinstance(original.gate.on, str)
    assert (component.gate == original.gate) == (on_column or original.gate is None)


def test_rewardkits_transforms_are_made_again():
    clipped = rk.weigh.standardise(clip=2.5, within="batch")
    for transform in (clipped, rk.weigh.rank(within="batch")):
        reward = rk.Reward("r", components=[LONG], transform=transform)
        assert read(reward).transform == transform


@pytest.mark.parametrize(
    "text",
    [
        "softmax()",
        "rank(1)",
        "rank(clip=1)",
        "rank(",
        "rank(within=open('x'))",
        "twice",
    ],
)
def test_any_other_text_is_kept_and_never_evaluated_and_says_so_where_it_is_asked(text):
    record = rk.Reward(
        "r", components=[LONG], transform=lambda rewards, groups: rewards
    ).record()
    reward = reward_from_record({**record, "transform": text})
    assert reward.record()["transform"] == text
    with pytest.raises(
        rk.RewardError, match="read from a run record and cannot be run"
    ):
        SCORES.under(reward)


def test_it_is_weighed_anew_and_what_is_no_record_is_refused():
    heavier = read(SCORES.reward).reweigh({"a": 3.0})
    assert SCORES.under(heavier).rewards.tolist() == [3.0]
    with pytest.raises(rk.RewardError, match="does not hold a reward"):
        reward_from_record({"name": "r", "version": 2})
