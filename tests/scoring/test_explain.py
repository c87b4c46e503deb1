"""explain(): one completion, with fields, spans, gates, weights, notes and total."""

import math

import pytest

import rewardkit as rk


def long(completion):
    rk.note("words", len(completion.split()))
    return 0.5


REWARD = rk.Reward(
    "r",
    {"prediction": rk.extract.tag("answer"), "size": lambda completion: len(completion)},
    [
        rk.Component("correct", rk.verify.numbers_equal, weight=2.0, why="the task"),
        rk.Component("long", long, weight=-0.5),
        rk.Component("extra", lambda completion: True, gate=rk.gate("correct", at_least=1.0)),
        rk.Component("judge", lambda completion: None, weight=0),
    ],
)
RIGHT = {"completion": "<answer>4</answer>", "ground_truth": "4", "unused": object()}


def lines(explanation):
    return {line.component: line for line in explanation.lines}


def test_every_component_has_a_line_with_what_it_added():
    explanation = rk.explain(REWARD, RIGHT)
    assert explanation.result.reward == 2.75
    found = lines(explanation)
    assert [found[name].contribution for name in ("correct", "long", "extra")] == [2.0, -0.25, 1.0]
    assert math.isnan(found["judge"].contribution)
    assert (found["judge"].status, found["judge"].reason) == ("abstained", "returned None")
    assert (found["correct"].why, found["extra"].gate) == ("the task", "gate('correct', at_least=1.0)")


def test_the_lines_add_up_to_the_reward_of_a_weighted_sum():
    explanation = rk.explain(REWARD, RIGHT)
    assert sum(line.contribution for line in explanation.lines if line.weight) == explanation.result.reward


def test_a_gated_component_added_nothing():
    wrong = {**RIGHT, "completion": "<answer>5</answer>"}
    extra = lines(rk.explain(REWARD, wrong))["extra"]
    assert (extra.status, extra.contribution) == ("gated", 0.0)


def test_spans_are_those_of_the_extractors():
    explanation = rk.explain(REWARD, RIGHT)
    assert explanation.spans == {"prediction": [(8, 9)]}
    assert explanation.result.fields == {"prediction": "4", "size": 18}


def test_other_aggregations_have_no_contributions():
    reward = rk.Reward("r", components=[rk.Component("c", long)], aggregation="minimum")
    assert math.isnan(rk.explain(reward, RIGHT).lines[0].contribution)


def test_it_speaks_of_the_reward_before_the_transform():
    reward = rk.Reward("r", components=[rk.Component("c", long, weight=3)], transform=rk.weigh.standardise())
    assert rk.explain(reward, RIGHT).result.reward == 1.5


def test_a_row_of_rollouts_may_have_a_column_named_like_a_component_when_it_is_explained():
    rollouts = rk.load_rollouts([{**RIGHT, "extra": "of the log"}])
    assert rk.explain(REWARD, rollouts[0]).result.reward == 2.75


def test_a_missing_column_is_an_error():
    with pytest.raises(rk.RewardError, match="asks for 'ground_truth'"):
        rk.explain(REWARD, {"completion": "x"})


def test_a_route_is_explained_by_the_part_of_the_row():
    route = rk.Route("data_source", {"x": REWARD})
    explanation = rk.explain(route, {**RIGHT, "data_source": "x"})
    assert (explanation.reward, explanation.result.reward) == ("r", 2.75)
    with pytest.raises(rk.RewardError, match="nothing to explain"):
        rk.explain(route, {**RIGHT, "data_source": "y"})
    with pytest.raises(rk.RewardError, match="asks for 'data_source'"):
        rk.explain(route, RIGHT)


def test_as_text_it_shows_reward_fields_spans_components_and_notes():
    text = str(rk.explain(REWARD, RIGHT))
    for said in (
        "reward 'r': 2.75",
        "field prediction = '4' (characters 8-9)",
        "field size = 18",
        "note words = 1",
        "the task",
        "returned None",
    ):
        assert said in text


def test_as_html_it_marks_the_spans_and_escapes_everything():
    hostile = {**RIGHT, "completion": "<script>alert(1)</script><answer>4</answer>", "ground_truth": "<b>4"}
    shown = rk.explain(REWARD, hostile)._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    assert "<b>4" not in shown
    assert ">4</mark>" in shown
    assert all(name in shown for name in ("correct", "words", "returned None"))
