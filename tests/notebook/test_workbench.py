"""The workbench without a browser: its controls are set, and what they show and give is read."""

import dataclasses
import json
import math
import re
import threading
import time
from html.parser import HTMLParser

import numpy as np
import pytest
from html_read import cells, plain_text

import rewardkit as rk
from rewardkit.notebook.tiles import forecast_tile, signal_tile
from rewardkit.notebook.workbench.bench import Opened
from rewardkit.notebook.workbench.browse import ROW_ORDERS
from rewardkit.notebook.workbench.case_form import read_expected
from rewardkit.notebook.workbench.parts import keys

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("short_rehearsals")]

HOSTILE = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
    "<a href='javascript:alert(1)'>x</a><style>body{display:none}</style>\x00\u202e\ud800"
)
FIELDS = {"prediction": rk.extract.tag("answer")}


def right(prediction, ground_truth):
    return prediction == ground_truth


def brief(completion):
    return max(0.0, 1 - len(completion) / 100)


def rows(groups=6, size=4):
    """Rollouts of which the first of each group is right; of the last group all are."""
    return [
        {
            "prompt_id": f"p{group}",
            "prompt": f"question {group}",
            "completion": f"{'why ' * n}<answer>{1 if n == 0 or group == groups - 1 else 2 + n}</answer>",
            "ground_truth": "1",
            "kind": "easy" if group % 2 else "hard",
            "is_good": n == 0,
        }
        for group in range(groups)
        for n in range(size)
    ]


def reward():
    gate = rk.gate("right", at_least=1.0)
    components = [
        rk.Component("right", right, weight=1.0, primary=True, why="the task"),
        rk.Component("brief", brief, weight=0.5, gate=gate, why="short"),
    ]
    return rk.Reward("r", FIELDS, components)


def one(function, log=None, *, of=None, **options):
    """A workbench of a reward of one component."""
    made = rk.Reward(
        "one", {}, [rk.Component(function.__name__, function, **(of or {}))]
    )
    return rk.Workbench(made, log or rows(), **options)


@pytest.fixture
def bench(tmp_path):
    return rk.Workbench(reward(), rows(), cases=tmp_path / "cases.jsonl")


@pytest.fixture
def compose(bench):
    return panels(bench)["Compose"]


@pytest.fixture
def browse(bench):
    return tab(bench, "Browse")


def panels(workbench):
    return {panel.title: panel for panel in workbench._panels}


def tab(workbench, title):
    """A tab that is in sight."""
    found = panels(workbench)[title]
    found.active = True
    found.refresh()
    return found


def opened(workbench, row):
    """Browse with a row open."""
    browse = tab(workbench, "Browse")
    workbench._bench.opened = Opened(row)
    return browse


def send(where, *command):
    """Do in a workbench, or in one of its tabs, what sends this command."""
    (where._bench if isinstance(where, rk.Workbench) else where.bench).obey(*command)


def weigh(where, **weights):
    for name, weight in weights.items():
        send(where, "weigh", name, weight)


def is_unmoved(workbench):
    """Whether the settings are those that all starts from."""
    return workbench._bench.variant == workbench._bench.start


def controls(pane):
    """What is shown, by command: the value of a field, the choice of a list, whether a switch is on."""
    found, command = {}, ()
    for name, attributes in _tags(pane.value):
        if name in ("input", "select"):
            command = tuple(json.loads(attributes["data-rk"]))
            is_switch = attributes.get("type") == "checkbox"
            found[command] = (
                "checked" in attributes if is_switch else attributes.get("value")
            )
        elif name == "option" and "selected" in attributes:
            found[command] = json.loads(attributes["value"])
    return found


def weights(compose):
    """The weights in the boxes of the page."""
    found = controls(compose.controls).items()
    return {name: float(value) for (verb, name, *_), value in found if verb == "weigh"}


def standing(workbench):
    """The tiles above the tabs by question, when nothing moves any more."""
    assert workbench.panel
    workbench._standing.wait()
    return {tile.question: tile for tile in workbench._standing.card.tiles}


# above the tabs


def test_the_tiles_are_those_of_a_diagnosis_and_follow_a_weight(bench, compose):
    before = standing(bench)
    assert before["Learnable signal"].figure == "100 %"
    assert before["Right on cases"].words == "there is no such case file yet"
    assert (
        before["Holes and losses"].words == before["Contract"].words == "not probed yet"
    )
    assert (
        before["Trained on it"].figure != "\u2026"
        and "aria-busy" not in bench._standing.widget.value
    )
    weigh(compose, brief=0.0)  # the last group is all right
    assert (
        'aria-busy="true"' in bench._standing.widget.value
        and ">83 %" in bench._standing.widget.value
    )
    now = standing(bench)
    assert "aria-busy" not in bench._standing.widget.value
    found = rk.diagnose(bench.scores)
    assert now["Trained on it"] == forecast_tile(rk.forecast(bench.scores), found)
    assert now["Learnable signal"] == signal_tile(found)


@pytest.mark.parametrize("is_in_forecast", [False, True])
def test_back_at_settings_of_before_the_tiles_are_theirs_again(
    bench, compose, monkeypatch, is_in_forecast
):
    weigh(compose, brief=0.0)
    before = standing(bench)
    assert before["Learnable signal"].figure == "83 %"

    def move_and_forecast(scores, **options):
        weigh(compose, brief=0.0)
        return rk.forecast(scores, **options)

    if is_in_forecast:
        place = "rewardkit.notebook.workbench.panel.forecast"
        monkeypatch.setattr(place, move_and_forecast)
    send(compose, "reset")
    if is_in_forecast:
        bench._standing.wait()
    weigh(compose, brief=0.0)
    assert standing(bench) == before


def test_cases_and_probes_have_their_tiles_and_probes_of_earlier_settings_are_told_as_such(
    tmp_path,
):
    case = {
        "completion": "<answer>1</answer>",
        "ground_truth": "1",
        "scores": {"right": 1.0},
    }
    workbench = rk.Workbench(reward(), rows(), cases=[case, {**case, "reward": 0.5}])
    found = standing(workbench)["Right on cases"]
    assert (found.figure, found.grade) == ("1 of 2", "high")
    probes = panels(workbench)["Probes"]
    probes.start()
    probes.wait(120)
    told = standing(workbench)
    assert (
        told["Contract"].figure == "kept"
        and told["Holes and losses"].words == "loses_layout"
    )
    weigh(panels(workbench)["Compose"], brief=0.1)
    told = standing(workbench)
    assert (
        told["Contract"].words == "of earlier settings"
        and told["Holes and losses"].grade == "info"
    )
    assert (
        told["Holes and losses"].reason
        == "the probes ran on earlier settings; run them again"
    )


# Compose


def test_a_weight_that_moves_gives_what_reweigh_gives_and_runs_nothing():
    calls = []

    def odd(completion):
        calls.append(completion)
        return len(completion) % 2

    workbench = one(odd)
    scores, compose = workbench.scores, panels(workbench)["Compose"]
    assert len(calls) == len(scores)
    before = compose.picture.value
    weigh(compose, odd=-0.5)
    np.testing.assert_allclose(
        workbench.scores.rewards, scores.reweigh({"odd": -0.5}).rewards
    )
    assert workbench.reward.weights == {"odd": -0.5}
    assert compose.picture.value != before and "<svg" in compose.picture.value
    send(tab(workbench, "Browse"), "step", 1)
    assert len(calls) == len(
        scores
    )  # a page of a completion calls nothing again either


def test_a_weight_is_typed_as_it_is_beyond_the_slider_too_and_one_that_is_too_large_is_refused(
    bench, compose
):
    weigh(compose, right=7.5)
    assert bench.reward.weights["right"] == 7.5
    send(compose, "undo")
    weigh(compose, brief=0.00001)
    for odd in (99999.0, -1e308, None):
        weigh(compose, brief=odd)
        assert "is between -1000 and 1000, not " in compose.message.text
        assert "it stays 1e-05" in compose.message.text
        assert bench.reward.weights["brief"] == weights(compose)["brief"] == 0.00001
    send(compose, "undo")
    assert is_unmoved(bench) and compose.message.text == ""


def test_controls_show_six_digits_of_a_weight_and_a_slider_reaches_twice_as_far():
    compose = panels(
        rk.Workbench(reward().reweigh({"right": 1 / 3, "brief": 1500.0}), rows())
    )["Compose"]
    assert weights(compose) == {"right": 0.333333, "brief": 1500.0}
    ends = re.findall(
        r'type="range"[^>]* min="([^"]*)" max="([^"]*)"', compose.controls.value
    )
    assert ends == [("-1", "1"), ("-3000", "3000")]


def test_a_page_that_is_loaded_later_is_shown_the_controls_as_they_stand(
    bench, compose, browse
):
    weigh(compose, right=0.25)
    send(bench, "ask", "column", "kind")
    send(bench, "ask", "value", 1)
    send(bench, "ask", "low", 0.125)
    send(bench, "show")
    assert weights(compose) == {"right": 0.25, "brief": 0.5}
    asked = controls(browse.filters)
    assert (asked["ask", "column"], asked["ask", "value"], asked["ask", "low"]) == (
        "kind",
        1,
        "0.125",
    )


def test_the_label_is_held_against_the_rewards_within_groups(bench):
    workbench = rk.Workbench(reward(), rows(), label="is_good")
    found = rk.score(reward(), rows()).rewards.reshape(
        6, 4
    )  # the first of each group is the good one
    wins = (found[:, :1] > found[:, 1:]).sum() + 0.5 * (
        found[:, :1] == found[:, 1:]
    ).sum()
    assert workbench._bench.figures.auc == pytest.approx(wins / 18)
    assert f"{wins / 18:.3f}" in panels(workbench)["Compose"].picture.value
    assert "The label is not used" not in panels(workbench)["Compose"].picture.value
    assert math.isnan(bench._bench.figures.auc)


def test_a_label_that_is_not_used_is_named_with_the_reason():
    log = [{**row, "judged": at % 4} for at, row in enumerate(rows(groups=12))]
    workbench = rk.Workbench(reward(), log, label="judged")
    picture = plain_text(panels(workbench)["Compose"].picture.value)
    assert (
        "The label is not used: 'judged'" in picture
        and "is not one of two values" in picture
    )
    assert (
        standing(workbench)["Trained on it"].figure != "-"
    )  # it is forecast without it


def test_undo_takes_back_one_move_which_a_drawn_slider_is_and_reset_all(bench, compose):
    for step in range(10):
        weigh(compose, right=1.0 + step / 10)
    weigh(compose, brief=-0.5)
    send(compose, "undo")
    assert bench.reward.weights == weights(compose) == {"right": 1.9, "brief": 0.5}
    send(compose, "reset")
    assert is_unmoved(bench) and weights(compose)["right"] == 1.0
    send(compose, "undo")
    send(compose, "undo")
    assert is_unmoved(bench)
    send(compose, "undo")
    assert "Nothing to undo" in compose.message.text


def test_a_gate_that_opens_says_what_must_be_scored_and_scores_it_on_a_click(
    bench, compose
):
    assert compose.to_score.value == ""
    assert "its gate is open in 38 % of the rows" in compose.picture.value
    send(compose, "gate", "brief", "on", False)
    assert (
        "15 rows for 'brief'" in compose.message.text
        and "Score them" in compose.to_score.value
    )
    assert np.isnan(bench.scores.rewards).sum() == 15
    send(compose, "score")
    ungated = [dataclasses.replace(item, gate=None) for item in reward().components]
    expected = rk.score(dataclasses.replace(reward(), components=ungated), rows())
    np.testing.assert_allclose(bench.scores.rewards, expected.rewards)
    assert compose.message.text == "" and compose.to_score.value == ""
    weigh(compose, brief=0.7)
    assert not np.isnan(bench.scores.rewards).any()  # what was scored stays
    send(compose, "undo")
    send(compose, "undo")
    assert controls(compose.controls)["gate", "brief", "on"] and is_unmoved(bench)


@pytest.mark.parametrize(
    ("limit", "said"), [(None, "a limit is a number"), (2.0, "can never open")]
)
def test_a_limit_that_no_gate_has_is_refused_and_its_box_stays(limit, said):
    gate = rk.gate("right", at_least=0.5, at_most=1.0)
    parts = [rk.Component("right", right), rk.Component("brief", brief, gate=gate)]
    compose = panels(rk.Workbench(rk.Reward("r", FIELDS, parts), rows()))["Compose"]
    send(compose, "gate", "brief", "at_least", limit)
    assert said in compose.message.text
    send(compose, "undo")
    asked = controls(compose.controls)
    assert (asked["gate", "brief", "at_least"], asked["gate", "brief", "at_most"]) == (
        "0.5",
        "1",
    )


def test_an_aggregation_that_the_weights_do_not_fit_is_refused_and_nothing_changes():
    made = rk.Reward(
        "p",
        {},
        [rk.Component("a", brief, weight=1.0), rk.Component("b", brief, weight=-0.5)],
    )
    workbench = rk.Workbench(made, rows())
    compose = panels(workbench)["Compose"]
    send(compose, "choose", "aggregation", "product")
    assert "penalties" in compose.message.text
    assert controls(compose.settings)["choose", "aggregation"] == "weighted_sum"
    assert is_unmoved(workbench)


def test_copy_as_code_is_a_reward_that_loads(tmp_path):
    compose = panels(rk.Workbench("gallery:arithmetic", "gallery:arithmetic"))[
        "Compose"
    ]
    weigh(compose, format=0.35)
    send(compose, "code")
    (tmp_path / "copied.py").write_text(
        plain_text(compose.written.value.partition("</button>")[2])
    )
    assert rk.load_reward(f"{tmp_path / 'copied.py'}:reward").weights["format"] == 0.35


def test_scaling_changes_the_advantages_and_not_the_rewards(bench):
    rewards, advantages = bench.scores.rewards, bench._bench.figures.advantages
    send(panels(bench)["Compose"], "choose", "scale_rewards", "none")
    np.testing.assert_array_equal(bench.scores.rewards, rewards)
    now = bench._bench.figures.advantages
    by_hand = rewards.reshape(6, 4) - rewards.reshape(6, 4).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(now.reshape(6, 4), by_hand, atol=1e-12)
    assert not np.allclose(now, advantages)


def test_a_component_without_a_gate_gets_one_on_the_task_by_a_switch():
    components = [rk.Component("right", right), rk.Component("brief", brief)]
    bench = rk.Workbench(rk.Reward("open", FIELDS, components), rows())
    compose = panels(bench)["Compose"]
    assert "only where right" in compose.controls.value
    before = bench.scores.rewards
    send(compose, "gate", "brief", "on", True)
    gated = [
        components[0],
        dataclasses.replace(components[1], gate=rk.gate("right", at_least=1.0)),
    ]
    by_hand = rk.score(rk.Reward("gated", FIELDS, gated), rows()).rewards
    np.testing.assert_array_equal(bench.scores.rewards, by_hand)
    assert bench.reward.components[1].gate == rk.gate("right", at_least=1.0)
    send(compose, "gate", "brief", "on", False)
    np.testing.assert_array_equal(bench.scores.rewards, before)


def test_what_stands_in_the_panel_is_kept_on_a_click(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bench = rk.Workbench("gallery:arithmetic", "gallery:arithmetic")
    compose = panels(bench)["Compose"]
    weigh(compose, format=0.35)
    send(compose, "keep")
    assert "Kept as v1 in runs" in compose.message.text
    assert f"--note TEXT --folder {tmp_path / 'runs'}" in compose.message.text
    (run,) = rk.runs()
    np.testing.assert_array_equal(run.scores.rewards, bench.scores.rewards)
    run.version.restore(tmp_path / "again")
    again = rk.load_reward(f"{tmp_path / 'again' / 'reward.py'}:reward")
    assert again.weights == bench.reward.weights
    (tmp_path / "runs").rename(tmp_path / "old")
    (tmp_path / "runs").write_text("in the way")
    send(compose, "keep")
    assert "nothing can be kept in 'runs'" in compose.message.text


def test_what_is_wrong_but_paid_tells_its_limit_and_takes_another(bench, browse):
    send(browse, "ask", "kind", "wrong but paid")
    middle = bench._bench.middle
    assert f"wrong, and paid {middle:.3g} or more" in browse._describe_count()
    few = len(browse.rows)
    send(browse, "ask", "low", 0.0)
    assert len(browse.rows) > few and "paid 0 or more" in browse._describe_count()


def test_a_schedule_is_looked_at_by_step_and_stays_unless_its_weight_is_moved(
    tmp_path,
):
    later = rk.schedule({0: 0.5, 80: 0.0}, between="step")
    components = [
        rk.Component("right", right),
        rk.Component("brief", brief, weight=later),
    ]
    scheduled = rk.Reward("scheduled", FIELDS, components)
    unanswered = {"completion": "", "ground_truth": "1", "reward": 0.0}
    bench = rk.Workbench(scheduled, rows(), [unanswered])
    compose = panels(bench)["Compose"]
    assert "weights_of_step" in compose.settings.value
    assert bench._bench.checked.passed == 0  # no answer, paid for being brief
    send(compose, "choose", "weights_of_step", "80")
    alone = rk.score(rk.Reward("alone", FIELDS, components[:1]), rows()).rewards
    np.testing.assert_array_equal(bench.scores.rewards, alone)
    assert bench._bench.checked.passed == 1
    assert bench.reward.weights == scheduled.weights and bench.reward.is_scheduled
    send(compose, "choose", "weights_of_step", "each row's own")
    np.testing.assert_array_equal(
        bench.scores.rewards, rk.score(scheduled, rows()).rewards
    )
    weigh(compose, brief=0.1)
    assert not bench.reward.is_scheduled
    assert (
        "weights_of_step"
        not in panels(rk.Workbench(reward(), rows()))["Compose"].settings.value
    )


def test_a_route_composes_its_weights_and_a_row_that_it_has_no_reward_for_is_read_without_scores():
    parts = {
        "easy": reward(),
        "hard": rk.Reward("other", {}, [rk.Component("short", brief, weight=0.3)]),
    }
    workbench = rk.Workbench(rk.Route("kind", parts), rows())
    compose = panels(workbench)["Compose"]
    weigh(compose, short=0.9)
    assert (
        workbench.reward.weights["short"] == 0.9
        and '"gate"' not in compose.controls.value
    )
    expected = rk.score(rk.Route("kind", parts), rows()).reweigh({"short": 0.9}).rewards
    np.testing.assert_allclose(workbench.scores.rewards, expected)
    browse = tab(rk.Workbench(rk.Route("kind", {"easy": reward()}), rows()), "Browse")
    send(browse, "ask", "kind", "no reward")
    assert len(browse.rows) == 12
    told = plain_text(browse.page.value)
    assert all(
        word in told for word in ("has no part for row 0", "question 0", "not judged")
    )
    send(browse, "step", 1)
    assert "has no part for row 1" in browse.page.value


# Browse: what is found


def test_a_verdict_is_read_with_its_cost_and_rows_are_found_by_level_and_by_why_they_are_not_judged():
    def graded(completion):
        if completion.startswith("why why why"):
            rk.note(
                "verdict",
                {"reason": f"refused {HOSTILE}", "raw": [HOSTILE], "cost": 0.5},
            )
            raise rk.NotJudged("the judge refuses")
        said = {
            "level": "good",
            "reason": "clear steps",
            "raw": ["{raw}"],
            "tokens": [9, 2],
            "cost": 0.25,
        }
        rk.note("verdict", said)
        return 1.0

    graded.asks_model = True
    browse = tab(one(graded), "Browse")
    assert "level of graded" in browse.filters.value
    send(browse, "ask", "column", "verdict/graded")
    assert browse.filter.value == "good"  # the most frequent
    told = plain_text(browse.page.value)
    assert len(browse.rows) == 18
    assert all(
        word in told
        for word in ("good", "clear steps", "9 + 2", "0.25", "raw answer", "{raw}")
    )
    send(browse, "ask", "column", "error/graded")
    send(browse, "ask", "value", browse.choices.index("the judge refuses"))
    assert len(browse.rows) == 6
    assert (
        "not judged" in plain_text(browse.page.value)
        and "<script" not in browse.page.value
    )
    send(browse, "clear")
    send(browse, "ask", "kind", "abstained")
    assert len(browse.rows) == 6


FOUND = [
    ({"text": "WHY WHY WHY"}, lambda at, paid: at % 4 == 3),
    (
        {"text": "WHY WHY WHY", "column": "kind", "value": 1},
        lambda at, paid: at % 8 == 7,
    ),
    ({"component": "brief", "low": 0.8}, lambda at, paid: paid >= 0.8),
    (
        {"component": "brief", "low": 0.7, "high": 0.78},
        lambda at, paid: (paid >= 0.7) & (paid <= 0.78),
    ),
    ({"kind": "gated"}, lambda at, paid: np.isnan(paid)),
    ({"kind": "gated", "component": "brief"}, lambda at, paid: np.isnan(paid)),
]


@pytest.mark.parametrize(("asked", "expected"), FOUND)
def test_filters_find_the_rows_that_they_say(bench, browse, asked, expected):
    for name, value in asked.items():
        send(browse, "ask", name, value)
    found = np.flatnonzero(expected(np.arange(24), bench.scores.score("brief")))
    assert sorted(browse.rows) == found.tolist() and 0 < len(found) < 24
    assert f"{len(found)} of 24 completions" in browse.count.text
    send(browse, "clear")
    assert len(browse.rows) == 24 and browse.count.text == "24 completions"
    asked = controls(browse.filters)
    assert (
        asked["ask", "kind"] == "all"
        and asked["ask", "low"] == asked["ask", "text"] == ""
    )


def test_an_empty_limit_is_none_and_where_nothing_is_found_nothing_is_shown(
    bench, browse
):
    send(browse, "ask", "low", 99)
    assert len(browse.rows) == 0
    send(browse, "ask", "low", None)
    assert len(browse.rows) == 24
    send(browse, "ask", "kind", "tied")
    assert len(browse.rows) == 0 and "No completion is like this" in browse.count.text
    assert browse.page.value == browse.list.value == "" and cannot_open(browse)
    bench._bench.open(Opened(3))
    assert "rollout 4" in browse.page.value and not cannot_open(browse)
    send(browse, "clear")
    send(browse, "ask", "low", 1.9)
    assert browse.page.value == ""
    weigh(panels(bench)["Compose"], right=2.0)  # which the filter finds
    assert len(browse.rows) and "reward 2" in plain_text(browse.page.value)


def cannot_open(browse):
    return (
        "disabled"
        in re.search(r"<button[^>]*rewardkit-case-open[^>]*>", browse.form.form.value)[
            0
        ]
    )


def fooled(completion):
    return "why why" in completion  # pays the third and fourth, of which none is good


def skewed(n, is_good):
    return (
        1.0 if is_good else (0.0, 0.0, 0.45, 10.0)[n]
    )  # middle: 0.5 by medians, 1.1 by means


@pytest.mark.parametrize(
    ("pays", "wrong", "unpaid"), [(fooled, {2, 3}, {0}), (skewed, {3}, set())]
)
def test_what_is_paid_wrongly_is_told_by_the_label_from_the_medians_of_right_and_wrong(
    pays, wrong, unpaid
):
    log = [{**row, "n": at % 4} for at, row in enumerate(rows())]
    browse = tab(one(pays, log, of={"range": None}, label="is_good"), "Browse")
    for kind, expected in (("wrong but paid", wrong), ("right but unpaid", unpaid)):
        send(browse, "ask", "kind", kind)
        assert set(browse.rows % 4) == expected and len(browse.rows) == 6 * len(
            expected
        )


def test_without_a_label_and_a_truth_it_says_that_right_and_wrong_are_not_known():
    browse = tab(
        one(brief, [{"prompt_id": "p", "completion": f"text {n}"} for n in range(4)]),
        "Browse",
    )
    send(browse, "ask", "kind", "wrong but paid")
    assert "is not known here; give label=" in browse.count.text


def test_the_order_is_what_it_says_and_what_is_missing_comes_last():
    def some(completion, prompt):
        return (
            None if "why why why" in completion else brief(completion) * int(prompt[-1])
        )

    workbench = one(some)
    browse, figures = tab(workbench, "Browse"), workbench._bench.figures
    log = rows()
    keys_of = {
        "reward, highest first": -figures.rewards,
        "reward, lowest first": figures.rewards,
        "advantage": -figures.advantages,
        "length": np.array([-len(row["completion"]) for row in log], dtype=float),
        "log": np.arange(24.0),
    }
    assert list(keys_of) == list(ROW_ORDERS)
    for order, values in keys_of.items():
        send(browse, "ask", "order", order)
        found = values[browse.rows]
        known = found[~np.isnan(found)]
        assert len(set(known.round(9))) > 1 and (np.diff(known) >= 0).all(), order
        assert np.isnan(found[len(known) :]).all() and len(found) == 24


# Browse: the list and the open one


def test_keys_and_buttons_go_through_what_was_found_and_stop_at_its_ends(bench, browse):
    send(browse, "ask", "text", "why why why")
    passed = []
    for _ in range(8):
        passed.append(bench._bench.opened.row)
        send(bench, "step", 1)
    assert passed[:6] == list(browse.rows) and passed[6:] == [browse.rows[-1]] * 2
    assert "last of 6" in browse.count.text
    bench._bench.opened = Opened(
        next(row for row in range(24) if row not in browse.rows)
    )  # a sibling, say
    send(browse, "step", -1)
    assert bench._bench.opened.row == browse.rows[-1]
    send(bench, "step", -1)
    assert bench._bench.opened.row == browse.rows[-2]
    assert (
        f'data-row="{browse.rows[-2]}"' in browse.page.value
    )  # by which the page marks the line


def test_what_the_page_sends_is_done_once_though_it_is_sent_again(bench, browse):
    read = bench._bench.receive
    read(json.dumps([[1, ["open", 5]], [2, ["step", 1]]]))
    place = bench._bench.opened.row
    read(json.dumps([[1, ["open", 5]], [2, ["step", 1]], [3, ["flag"]]]))
    read(json.dumps([[3, ["flag"]]]))
    assert bench._bench.opened.row == place and list(bench._bench.flagged) == [place]
    for odd in (["nothing", "of ours"], ["open", 99999], ["open", -1]):
        send(bench, *odd)
    assert bench._bench.opened.row == place
    assert bench.flagged == [place + 1] and "flagged" in browse.page.value
    send(browse, "ask", "kind", "flagged")
    assert list(browse.rows) == [place]
    send(bench, "flag")
    assert list(browse.rows) == []
    send(bench, "case")
    assert bench.flagged == [] and ("case-set", "expected") in controls(
        browse.form.form
    )
    assert browse.form.message.widget.layout.display == ""


def test_only_a_page_of_the_list_is_rendered_and_it_turns_with_what_is_open():
    workbench = rk.Workbench(reward(), rows(groups=100))
    browse = tab(workbench, "Browse")
    assert len(browse.rows) == 400 and browse.list.value.count('role="option"') == 60
    assert browse.count.text == "400 completions; 1 to 60 are listed"
    workbench._bench.opened = Opened(int(browse.rows[130]))
    assert (
        f'data-line="{browse.rows[130]}"' in browse.list.value
        and len(browse.listed) == 60
    )
    assert browse.count.text == "400 completions; 121 to 180 are listed"


def blocks(page):
    """Row, whether it is open, and what is said of each block of a sibling."""
    found = re.findall(
        r'<button [^>]*data-rk=\'\["open", (\d+)\]\'[^>]*?( aria-current="true")? title="([^"]*)"',
        page,
    )
    return [(int(row), bool(current), said) for row, current, said in found]


def test_the_open_completion_stands_beside_its_siblings_and_each_opens(bench):
    browse, figures = opened(bench, 9), bench._bench.figures
    found = blocks(browse.page.value)
    shown = [row for row, _, _ in found]
    assert sorted(shown) == [8, 9, 10, 11] and [
        row for row, current, _ in found if current
    ] == [9]
    rewards = figures.rewards[shown]
    np.testing.assert_array_equal(rewards, np.sort(rewards)[::-1])
    for row, _, said in found:
        verdict = "right" if row == 8 else "wrong"
        assert (
            said
            == f"reward {figures.rewards[row]:.4g}, advantage {figures.advantages[row]:+.2f}, {verdict}"
        )
    send(bench, "open", 10)
    assert bench._bench.opened.row == 10
    assert (
        "why why <answer>" in plain_text(browse.page.value)
        and "why why why" not in browse.page.value
    )
    large = opened(rk.Workbench(reward(), rows(groups=2, size=90)), 60)
    assert len(blocks(large.page.value)) == 48 and 60 in [
        row for row, _, _ in blocks(large.page.value)
    ]


def test_the_page_has_every_component_and_what_the_field_took(bench):
    browse = opened(bench, 0)
    page = browse.page.value
    assert "<mark " in page and ">1</mark>" in page
    assert "reward 1.41" in plain_text(page)  # 1 + 0.5 * (1 - 18 / 100)
    assert cells(page, "component") == [
        ["component", "score", "weight", "adds", "gate", "why"],
        ["right", "1", "1", "1", "", "the task"],
        ["brief", "0.82", "0.5", "0.41", "gate('right', at_least=1.0)", "short"],
        ["total", "", "", "1.41", "", "weighted_sum"],
    ]
    bench._bench.opened = Opened(1)
    assert cells(browse.page.value, "component")[1:] == [
        ["right", "0", "1", "0", "", "", "the task"],
        ["brief", "-", "0.5", "0", "gated", "gate('right', at_least=1.0)", "short"],
        ["total", "", "", "0", "", "", "weighted_sum"],
    ]


@pytest.mark.parametrize("longer, folds", [("", 0), ("x" * 300, 2)])
def test_a_transcript_is_shown_turn_by_turn_with_what_is_long_folded(longer, folds):
    given = json.dumps({"a": 2, "b": f"<b>{longer}"})
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "add", "arguments": given},
    }
    messages = [
        {"role": "user", "content": "what is 2+2?"},
        {"role": "assistant", "content": "let me see", "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": "c1",
            "name": "add",
            "content": f"4<script>{longer}",
        },
        {"role": "assistant", "content": "it is <answer>4</answer>"},
    ]
    logged = [
        {"prompt_id": "p", "messages": messages, "ground_truth": "4"} for _ in range(2)
    ]
    page = tab(rk.Workbench(reward(), logged), "Browse").page.value
    called = "calls add" if longer else "add {"
    said = ("what is 2+2?", "let me see", called, "tool add", "it is <answer>")
    places = [plain_text(page).index(text) for text in said]
    assert places == sorted(places)
    assert len(re.findall("<summary>(calls add|tool add gave 309)", page)) == folds
    assert "<script" not in page and "4&lt;script&gt;" in page


# cases


def test_what_a_wrong_answer_is_paid_is_not_proposed_as_what_it_should_earn():
    wordy = rk.Component("wordy", lambda completion: "why" in completion, weight=5.0)
    paid = rk.Reward("r", FIELDS, [rk.Component("right", right), wordy])
    form = opened(rk.Workbench(paid, rows()), 1).form
    assert form.fields["expected"] == "" and "This answer is wrong" in form.message.text
    form.add()
    assert "Not saved: '' is nothing that can be expected" in form.message.text


@pytest.mark.parametrize(("side", "places"), [("above", (0, 1)), ("below", (1, 0))])
def test_a_case_from_browse_may_be_an_order_of_two_siblings(
    bench, tmp_path, side, places
):
    form = opened(bench, 0).form
    ids = list(bench.scores.table["rollout_id"])
    form.set("expected", f"{side} {ids[1]}")
    form.set("what", "right") if side == "below" else None
    form.set("expected", f"{side} {ids[1]}")
    form.add()
    (case,) = map(json.loads, (tmp_path / "cases.jsonl").read_text().splitlines())
    texts = [case[key]["completion"] for key in ("above", "below")]
    assert texts == [rows()[place]["completion"] for place in places]
    assert case["ground_truth"] == "1" and "ground_truth" not in case["above"]
    assert case.get("component") == ("right" if side == "below" else None)
    form.set("expected", "above no")
    form.add()
    assert "names no sibling of this completion" in form.message.text


def test_a_case_from_browse_is_in_the_file_and_among_the_cases(bench, tmp_path):
    browse, matrix = opened(bench, 1), tab(bench, "Cases")
    assert "There is no file" in matrix.message.text
    form = browse.form
    assert form.fields["expected"] == "0" and form.fields["name"]
    for name, text in (
        ("name", "told at length"),
        ("why", "wrong is wrong"),
        ("expected", "0 to 0.1"),
    ):
        form.set(name, text)
    form.add()
    assert "Saved as 'told at length'" in form.message.text
    (case,) = map(json.loads, (tmp_path / "cases.jsonl").read_text().splitlines())
    assert case["reward"] == [0.0, 0.1] and case["why"] == "wrong is wrong"
    assert case["completion"] == rows()[1]["completion"] and case["ground_truth"] == "1"
    assert (
        "1 of 1 cases passed" in matrix.message.text
        and "1 case passed" in matrix.page.value
    )
    form.add()
    assert "already" in form.message.text
    form.set("what", "brief")
    assert form.fields["expected"] == "gated"
    form.set("name", "gated")
    form.add()
    (_, case) = map(json.loads, (tmp_path / "cases.jsonl").read_text().splitlines())
    assert case["scores"] == {"brief": "gated"} and "reward" not in case
    assert rk.check(reward(), tmp_path / "cases.jsonl").failed == 0


def test_a_case_file_that_is_not_there_is_named_with_the_one_that_is_meant(tmp_path):
    (tmp_path / "cases.jsonl").write_text('{"completion": "x", "ground_truth": "1"}\n')
    workbench = rk.Workbench(reward(), rows(), cases=tmp_path / "case.jsonl")
    said = tab(workbench, "Cases").message.text
    assert "There is no file" in said and "did you mean 'cases.jsonl'?" in said


@pytest.mark.parametrize(
    ("what", "expected", "said"),
    [
        ("reward", "gated", "what a component can be, not the reward"),
        ("reward", "2", "the reward is between 0 and 1.5 with the weights"),
        ("reward", "1.6 to 2", "and never 1.6 to 2"),
        ("reward", "1.5", ""),
        ("reward", "unscored", ""),
        ("brief", "1.1", "'brief' is between 0 and 1"),
        ("brief", "gated", ""),
    ],
)
def test_a_case_that_no_completion_can_pass_is_not_saved(bench, what, expected, said):
    form = opened(bench, 1).form
    form.set("what", what)
    form.set("expected", expected)
    form.add()
    start = "Not saved: " if said else "Saved as"
    assert form.message.text.startswith(start) and said in form.message.text


def test_a_case_of_what_looks_at_siblings_expects_no_more_than_a_case_can_say(tmp_path):
    def rare(completion):
        return [1.0 / completion.count(text) for text in completion]

    spread = rk.Component("rare", rare, weight=0.5, group=True, why="not all the same")
    made = rk.Reward("g", {}, [rk.Component("brief", brief, why="short"), spread])
    form = tab(
        rk.Workbench(made, rows(), cases=tmp_path / "cases.jsonl"), "Browse"
    ).form
    for what in ("brief", "rare", "reward"):
        form.set("what", what)
        form.add()
        assert "Saved" in form.message.text
    result = rk.check(made, tmp_path / "cases.jsonl")
    assert len(result.cases) == 3 and result.failed == 0
    form.set("what", "brief")
    form.set("what", "reward")
    assert "A case stands alone" in form.message.text


def test_an_expectation_is_read_as_a_person_writes_it_and_what_is_none_is_named():
    read = {
        "1": 1,
        "0.5 to 0.8": [0.5, 0.8],
        "[0, 1]": [0, 1],
        " gated ": "gated",
        "-2.5": -2.5,
    }
    assert {text: read_expected(text) for text in read} == read
    for text in ("", "much", "1 to", "[1]", "true", '"1"', "null"):
        with pytest.raises(
            rk.InputError, match="nothing that can be expected; give a number"
        ):
            read_expected(text)


def test_a_case_file_that_cannot_be_written_is_named_and_the_form_keeps_the_case(
    bench, tmp_path
):
    form, before = tab(bench, "Browse").form, bench._bench.cases_path
    form.set("why", "kept")
    (tmp_path / "folder.jsonl").mkdir()
    for path, why in (
        (str(tmp_path / "no" / "such" / "cases.jsonl"), "there is no folder"),
        (str(tmp_path / "folder.jsonl"), "Not saved: "),
        ("ca\0ses.jsonl", "null character"),
        ("", "give its path, such as cases.jsonl"),
    ):
        form.set("path", path)
        form.add()
        assert why in form.message.text and form.fields["why"] == "kept"
    assert bench._bench.cases_path == before
    form.set("path", str(tmp_path / "cases.jsonl"))
    for odd in ("2 to 1", "nan", "1e999"):  # which no case may expect
        form.set("expected", odd)
        form.add()
        assert (
            form.message.text.startswith("Not saved: ")
            and not (tmp_path / "cases.jsonl").exists()
        )
    form.set("expected", "1")
    form.set("path", str(tmp_path / "cases.jsonl"))
    form.add()
    assert form.message.text.startswith("Saved as")


def test_a_broken_case_file_is_named_and_left_as_it_is(tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text('{"completion": "x", "reward": 1}\n{oops\n')
    with pytest.raises(rk.CasesError, match="2"):
        rk.Workbench(reward(), rows(), cases=file)
    file.write_text(
        '{"name": "one", "completion": "x", "ground_truth": "1", "reward": 0}\n'
    )
    workbench = rk.Workbench(reward(), rows(), cases=file)
    file.write_text("{oops\n")
    form = tab(workbench, "Browse").form
    form.add()
    assert "Not saved" in form.message.text and file.read_text() == "{oops\n"
    assert "cases.jsonl" in tab(workbench, "Cases").message.text
    probes = panels(workbench)["Probes"]
    probes.start()
    assert "cases.jsonl" in probes.message.text and not probes.busy
    assert standing(workbench)["Right on cases"].words == "the tab Cases says why"


def test_what_a_case_expects_is_accepted_and_an_undecided_one_is_decided(tmp_path):
    """The buttons of Cases write to the file; a list of cases has none."""
    right, wrong = "<answer>1</answer>", "<answer>2</answer>"
    given = [
        {
            "name": "low",
            "completion": right,
            "ground_truth": "1",
            "scores": {"right": 0},
        },
        {
            "name": "pair",
            "ground_truth": "1",
            "above": {"completion": wrong},
            "below": {"completion": right},
            "why": "TODO: one is short",
        },
    ]
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(f"{json.dumps(case)}\n" for case in given))
    workbench = rk.Workbench(reward(), rows(), cases=file)
    cases = tab(workbench, "Cases")
    assert "0 of 1 cases passed, 1 undecided" in cases.message.text
    told = plain_text(cases.page.value)
    assert "Accept this: right 1.0" in told and "Undecided: reward is" in told
    for said in ("Above is better", "Below is better", wrong, right):
        assert said in told
    send(workbench, "case-accept", 0, 0)
    assert "1 of 1 cases passed, 1 undecided" in cases.message.text
    send(workbench, "case-accept", 1, 1)  # below is better
    send(workbench, "case-accept", 1, 9)
    first, second = map(json.loads, file.read_text().splitlines())
    assert first["scores"] == {"right": 1.0}
    assert second["above"] == {"completion": right} and second["why"] == "one is short"
    assert "2 of 2 cases passed" in cases.message.text
    listed = rk.Workbench(reward(), rows(), cases=rk.load_cases(given))
    assert "case-accept" not in tab(listed, "Cases").page.value


def test_a_missed_case_comes_first_with_its_reason_and_opens_in_browse():
    case = {"ground_truth": "1", "scores": {"right": 1}}
    given = [
        {"name": "a", "completion": "<answer>1</answer>", "why": "w", **case},
        {"name": "b", "completion": "<answer>2</answer>", "why": "v", **case},
    ]
    workbench = rk.Workbench(reward(), rows(), cases=rk.load_cases(given))
    cases = tab(workbench, "Cases")
    assert "1 of 2 cases passed" in cases.message.text
    told = plain_text(cases.page.value)
    assert told.index("b: right 0.0, not 1") < told.index("1 case passed")
    assert "prediction = '2'" in told and '["open-case", 1]' in cases.page.value
    send(workbench, "open-case", 1)
    send(workbench, "open-case", 7)
    browse = tab(workbench, "Browse")
    told = plain_text(browse.page.value)
    assert (
        "Case b: Missed: right 0.0, not 1; fields: prediction = '2'. v" in told
        and ">2</mark>" in browse.page.value
    )
    assert browse.form.fields["name"] == "b"


def test_two_panels_on_one_case_file_do_not_lose_each_others_cases(tmp_path):
    file = tmp_path / "cases.jsonl"
    first, other = (rk.Workbench(reward(), rows(), cases=file) for _ in range(2))
    for workbench, row, name in (
        (first, 1, "first"),
        (other, 2, "second"),
        (first, 3, "third"),
    ):
        form = opened(workbench, row).form
        form.set("name", name)
        form.add()
    assert [case.name for case in rk.load_cases(file)] == ["first", "second", "third"]
    assert [case.name for case in first.cases] == ["first", "second", "third"]
    matrix = tab(other, "Cases")
    matrix.again()
    assert "3 of 3 cases passed" in matrix.message.text


def test_a_case_form_that_is_written_in_stays_while_weights_move(bench):
    browse, compose = tab(bench, "Browse"), panels(bench)["Compose"]
    form, proposed = browse.form, browse.form.fields["expected"]
    form.set("name", "mine")
    form.set("why", "it is odd")
    weigh(compose, right=2.0)
    assert (form.fields["name"], form.fields["why"]) == ("mine", "it is odd")
    assert form.fields["expected"] != proposed  # nobody wrote it: it follows
    form.set("expected", "0.5 to 0.8")
    weigh(compose, right=3.0)
    assert form.fields["expected"] == "0.5 to 0.8" and form.fields["name"] == "mine"
    send(browse, "step", 1)
    assert form.fields["name"].startswith("rollout ") and form.fields["why"] == ""


def test_cases_may_be_dicts_and_what_they_say_of_other_versions_is_left_out_and_told():
    given = [
        {
            "completion": "<answer>1</answer>",
            "ground_truth": "1",
            "scores": {"right": 1.0, "gone": 0.0},
        }
    ]
    told = tab(rk.Workbench(reward(), rows(), cases=given), "Cases").message.text
    assert told.startswith(
        "1 of 1 cases passed; what they expect of 'gone' is left out"
    )


# probes and findings


def worded(completion):
    return min(len(completion) / 400, 1.0)


def test_probes_are_cards_whose_exploits_open_become_cases_and_are_closed(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    longer = (
        rk.Component(name, worded, weight=weight)
        for name, weight in (("worded", 2.0), ("more", 1.0))
    )
    items = [rk.Component("right", right, primary=True), *longer]
    workbench = rk.Workbench(rk.Reward("w", FIELDS, items), "gallery:arithmetic")
    assert workbench.panel
    probes, browse = panels(workbench)["Probes"], panels(workbench)["Browse"]
    probes.start()
    probes.wait(120)
    assert probes.result.alarms and probes.result.alarms[0].code in probes.page.value
    assert can(probes) == {"run"}
    told = plain_text(probes.page.value)
    assert "a right answer" in told and "Fix:" in told and "<mark " in probes.page.value
    at = int(re.search(r'data-rk=.\["hole-fix", (\d+)\]', probes.page.value)[1])
    finding = probes.findings[at]
    assert finding.component == "worded"
    assert "Components: worded, more." in finding.sentence
    send(workbench, "hole", at)
    assert workbench._tabs.selected_index == 1
    assert finding.code in plain_text(browse.page.value)
    assert browse.form.fields["expected"] and browse.form.fields["why"]
    send(workbench, "hole-case", at)
    assert "in cases.jsonl" in probes.message.text
    (case,) = rk.load_cases(tmp_path / "cases.jsonl")
    assert rk.check(workbench.reward, [case]).failed == 1
    browse.form.set("name", "from the form")
    browse.form.add()
    assert "already" in browse.form.message.text
    send(workbench, "hole-fix", at)
    assert [item.gate for item in workbench.reward.components[1:]] == [
        rk.gate("right", at_least=1.0)
    ] * 2
    assert f'["hole-fix", {at}]' not in probes.page.value  # it is applied
    assert rk.check(workbench.reward, [case]).passed == 1
    assert (
        "Applied" in probes.message.text and "settings have moved" in probes.moved.text
    )
    assert finding.code in plain_text(browse.page.value)  # what is open stays so
    assert controls(panels(workbench)["Compose"].controls)["gate", "worded", "on"]
    send(workbench, "undo")
    assert is_unmoved(workbench) and probes.moved.text == ""
    assert f'["hole-fix", {at}]' in probes.page.value
    for verb in ("hole", "hole-fix", "hole-case"):
        probes.message.clear()
        send(workbench, verb, 99)  # a button of a page that is gone
        assert "of an earlier result" in probes.message.text


def test_probes_that_are_cancelled_show_what_was_found_and_can_run_again():
    def slow(completion, ground_truth):
        time.sleep(0.02)
        return ground_truth in completion

    probes = panels(one(slow, rows(groups=4), timeout=5))["Probes"]
    began = time.monotonic()
    probes.start()
    time.sleep(1.0)
    probes.end()
    probes.wait(30)
    assert time.monotonic() - began < 20  # all of it takes longer than the 60 s it may
    assert "Cancelled" in probes.message.text
    assert probes.result.untried or "cancelled" in str(probes.result.inconclusive)
    assert can(probes) == {"run"}


def test_findings_are_those_of_a_diagnosis_open_their_rollouts_and_try_each_change(
    monkeypatch,
):
    # also a change that adds a component, after which this training ends no higher
    monkeypatch.setattr("rewardkit.analysis.suggest.LEAST_HIGHER", -1.0)
    rollouts = rk.load_rollouts("gallery:arithmetic")
    rollouts = rollouts.select(rollouts.groups % 4 == 1)
    workbench = rk.Workbench("gallery:arithmetic.flawed", rollouts)
    findings, compose = panels(workbench)["Findings"], panels(workbench)["Compose"]
    findings.start()
    findings.wait()
    expected = rk.diagnose(workbench.scores)
    assert [item.code for item in findings.result.findings] == [
        item.code for item in expected.findings
    ]
    row = int(re.search(r'data-rk=.\["open", (\d+)\]', findings.page.value)[1])
    send(workbench, "open", row)
    assert workbench._bench.opened.row == row
    send(workbench, "try", len(findings.changes))
    assert "of an earlier result" in findings.message.text
    kinds = set()
    for at, change in enumerate(findings.changes):
        assert f'["try", {at}]' in findings.page.value
        send(workbench, "try", at)
        assert "Applied" in findings.message.text
        np.testing.assert_allclose(workbench.scores.rewards, change.scores.rewards)
        np.testing.assert_allclose(
            rk.score(workbench.reward, rollouts).rewards, change.scores.rewards
        )
        assert list(weights(compose)) == list(workbench.reward.names)
        weigh(compose, format=0.31)  # weights move on top of it
        send(compose, "undo")
        send(compose, "undo")
        assert is_unmoved(workbench) and list(weights(compose)) == list(
            expected.scores.reward.names
        )
        kinds.add(change.code)
    assert {"gate_component", "graduate"} <= kinds


def can(tried):
    """Which of the buttons of a tab can be clicked."""
    buttons = re.findall(r'rewardkit-(run|cancel)-\w+"([^>]*)', tried.bar.value)
    return {verb for verb, more in buttons if "disabled" not in more}


def held(findings, go, answer=None):
    """A diagnosis that waits until it may go on, and takes its settings where nothing moves meanwhile."""
    work = findings._work

    def waits():
        assert threading.current_thread() is threading.main_thread()
        of_now = answer or work()
        return lambda progress: go.wait(30) and of_now(progress)

    findings._work = waits
    findings.start()


def broken(progress):
    raise rk.InputError("no such thing")


@pytest.mark.parametrize(
    ("answer", "said"), [(None, "Cancelled."), (broken, "no such thing")]
)
def test_a_diagnosis_that_is_cancelled_or_fails_says_so_and_leaves_the_last_one(
    bench, answer, said
):
    findings, go = panels(bench)["Findings"], threading.Event()
    before = findings.page.value
    held(findings, go, answer)
    if not answer:
        findings.end()
    go.set()
    findings.wait()
    assert findings.message.text == said and can(findings) == {"run"}
    assert findings.page.value == before and findings.result is None


def test_findings_are_of_the_settings_at_the_click_and_it_says_so_when_they_move(
    bench, compose
):
    findings, moved = panels(bench)["Findings"], threading.Event()
    at_the_click = rk.diagnose(bench.scores)
    held(findings, moved)
    weigh(compose, right=-0.5)
    moved.set()
    findings.wait()
    assert findings.result.record()["findings"] == at_the_click.record()["findings"]
    assert (
        findings.result.record()["findings"]
        != rk.diagnose(bench.scores).record()["findings"]
    )
    assert "settings have moved" in findings.moved.text
    weigh(compose, right=1.0)
    assert findings.moved.text == ""


def test_what_stands_in_the_panel_is_what_is_probed_and_diagnosed(bench):
    found = panels(bench)
    weigh(bench, right=-0.75)
    send(found["Compose"], "choose", "scale_rewards", "none")
    assert (
        found["Findings"]._work()(lambda share: True)[0].training.scale_rewards
        == "none"
    )
    probed = found["Probes"]._work()(lambda share: False)
    assert probed.reward.weights == {"right": -0.75, "brief": 0.5}


# bad input and the whole


def test_hostile_texts_are_escaped_everywhere(tmp_path):
    def fails(completion):
        raise ValueError(completion)

    answer = f"{HOSTILE}<answer>@{HOSTILE}</answer>"
    texts = {"prompt": HOSTILE, "ground_truth": HOSTILE, "c": HOSTILE}
    hostile = [
        {**row, **texts, "completion": answer.replace("@", str(n % 3))}
        for n, row in enumerate(rows(2))
    ]
    items = [rk.Component("right", right), rk.Component("fails", fails)]
    made = rk.Reward(HOSTILE, FIELDS, items, on_missing="zero")
    workbench = rk.Workbench(made, hostile, cases=tmp_path / "cases.jsonl")
    browse, probes = tab(workbench, "Browse"), panels(workbench)["Probes"]
    send(browse, "case")
    for name in ("name", "why"):
        browse.form.set(name, HOSTILE[:50])
    browse.form.set("expected", "2")
    browse.form.add()
    assert "Saved" in browse.form.message.text
    send(browse, "ask", "text", "<script>")
    assert len(browse.rows) == 8
    matrix = tab(workbench, "Cases")
    send(workbench, "code")
    send(browse, "ask", "column", "c")
    for panel in (probes, panels(workbench)["Findings"]):
        panel.start()
        panel.wait(120)
    standing(workbench)
    for found in (
        *_html_of(workbench.panel),
        workbench._repr_mimebundle_()[0]["text/html"],
    ):
        tags = _tags(found.replace(keys(), ""))
        assert not {"script", "img", "a"} & {name for name, _ in tags}, found[:200]
        own = [
            key for _, attributes in tags for key in attributes if key.startswith("on")
        ]
        assert own == []
        assert "\x00" not in found and "\u202e" not in found and "\ud800" not in found
    assert all(
        "window.pwned" in plain_text(one.value) for one in (browse.page, matrix.page)
    )


def test_a_completion_of_a_megabyte_is_shown_in_part_and_its_spans_in_place():
    long = f"{'a b ' * 150_000}<answer>1</answer>{'c d ' * 150_000}"
    logged = [
        {**row, "completion": long} if n == 0 else row for n, row in enumerate(rows())
    ]
    page = opened(rk.Workbench(reward(), logged), 0).page.value
    assert len(page) < 60_000 and ">1</mark>" in page and "characters\u27e9" in page


def test_what_cannot_be_used_is_one_sentence():
    for given, options, why in [
        ((reward(), []), {}, "has no rows"),
        ((print, rows()), {}, "Workbench takes a Reward"),
        ((reward(), rows()), {"label": "is_god"}, "is_god"),
        ((reward(), rows()), {"cases": [3]}, "case 1 is 3; a case is an object"),
        ((reward(), rows()), {"cases": 3}, "are no cases; give a list of them"),
    ]:
        with pytest.raises(rk.InputError, match=why):
            rk.Workbench(*given, **options)


def test_a_folder_of_scores_is_taken_as_it_is_and_scored_again_by_another_reward(
    tmp_path, monkeypatch
):
    kept = rk.score(reward(), rows(), to=tmp_path / "kept")
    with monkeypatch.context() as patched:
        patched.delattr("rewardkit.notebook.workbench.panel.score")
        workbench = rk.Workbench(reward(), tmp_path / "kept")
    np.testing.assert_array_equal(workbench.scores.rewards, kept.rewards)
    assert workbench.reward.components[0].function is right
    other = rk.Reward("r", components=[rk.Component("brief", brief)])
    again = rk.Workbench(other, str(tmp_path / "kept")).scores
    np.testing.assert_array_equal(again.rewards, rk.score(other, rows()).rewards)


def test_scores_with_errors_everywhere_are_shown_as_such():
    def fails(completion):
        raise ValueError("never")

    workbench = one(fails)
    compose, browse = panels(workbench)["Compose"], tab(workbench, "Browse")
    assert "No reward was judged" in compose.picture.value
    assert "No group has a signal" in compose.picture.value
    send(browse, "ask", "kind", "error")
    assert len(browse.rows) == 24 and "ValueError: never" in plain_text(
        browse.page.value
    )
    assert standing(workbench)["Learnable signal"].grade in ("high", "info")


def test_a_page_without_a_kernel_has_tiles_and_picture_and_a_live_one_the_widget(
    bench,
):
    data, _ = bench._repr_mimebundle_()
    assert set(data) == {
        "text/plain",
        "text/html",
        "application/vnd.jupyter.widget-view+json",
    }
    assert "<svg" in data["text/html"] and "question 0" not in data["text/html"]
    assert "100 %" in data["text/html"] and "rk-tile" in data["text/html"]


def test_a_timeout_bounds_scoring():
    def hangs(completion):
        time.sleep(60 if "why why why" in completion else 0)
        return 1.0

    assert np.isnan(one(hangs, rows(groups=1), timeout=0.5).scores.rewards).sum() == 1


def _tags(html):
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, name, attrs):
            found.append((name, dict(attrs)))

    Reader().feed(html)
    return found


def _html_of(widget):
    """The HTML of a widget and all that it holds."""
    value = getattr(widget, "value", None)
    found = (
        [value] if isinstance(value, str) and type(widget).__name__ == "HTML" else []
    )
    return found + [
        html for child in getattr(widget, "children", ()) for html in _html_of(child)
    ]
