"""explain(): one completion, with fields, spans, gates, weights, notes and total."""

import math
import re

import pytest
from scored import score

import rewardkit as rk
from rewardkit.scoring.explain import explained


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
WRONG = {**RIGHT, "completion": "<answer>5</answer>"}
ROUTE = rk.Route("data_source", {"x": REWARD})


def of_scores(reward, rollout):
    """The explanation of what scoring left."""
    return explained(rk.score(reward, [{**rollout, "unused": 1}], notes=True), 0)


@pytest.mark.parametrize("explain", [rk.explain, of_scores])
@pytest.mark.parametrize("reward", [REWARD, ROUTE])
def test_every_component_has_a_line_with_what_it_added_and_the_lines_add_up(explain, reward):
    of_x = {"data_source": "x"}
    explanation = explain(reward, RIGHT | of_x)
    lines = {line.component: line for line in explanation.lines}
    assert (explanation.reward, explanation.result.reward) == ("r", 2.75)
    assert [lines[name].contribution for name in ("correct", "long", "extra")] == [2.0, -0.25, 1.0]
    assert math.isnan(lines["judge"].contribution)
    assert (lines["judge"].status, lines["judge"].reason) == ("abstained", "returned None")
    assert (lines["correct"].why, lines["extra"].gate) == ("the task", "gate('correct', at_least=1.0)")
    assert explanation.spans == {"prediction": [(8, 9)]}
    assert explanation.result.fields == {"prediction": "4", "size": 18}
    assert explanation.result.notes == {"words": 1}
    gated = {line.component: line for line in explain(reward, WRONG | of_x).lines}["extra"]
    assert (gated.status, gated.contribution) == ("gated", 0.0)


def test_a_scored_rollout_is_explained_without_calling_anything_again():
    called = []
    scores = score(lambda completion: called.append(1) or 1 / 0, rows="a")
    (line,) = explained(scores, 0).lines
    assert (line.status, called) == ("error", [1])
    assert re.fullmatch(r"ZeroDivisionError: division by zero \(test_explain.py:\d+\)", line.reason)


@pytest.mark.parametrize(
    ("reward", "rollout", "said"),
    [
        (REWARD, {"completion": "x"}, "asks for 'ground_truth'"),
        (ROUTE, {**RIGHT, "data_source": "y"}, "nothing to explain"),
        (None, RIGHT, "explain takes a Reward, not None"),
        (REWARD, 3, r"explain takes one rollout, a dict of columns such as rollouts\[0\], not 3"),
    ],
)
def test_what_cannot_be_explained_is_said_in_a_sentence(reward, rollout, said):
    with pytest.raises(rk.InputError, match=said):
        rk.explain(reward, rollout)


def test_as_text_it_shows_everything_and_as_html_it_marks_the_spans():
    text = str(rk.explain(REWARD, RIGHT))
    for said in (
        "reward 'r': 2.75", "field prediction = '4' (characters 8-9)", "field size = 18", "note words = 1",
        "the task", "returned None",
    ):  # fmt: skip
        assert said in text
    assert ">4</mark>" in rk.explain(REWARD, RIGHT)._repr_html_()
