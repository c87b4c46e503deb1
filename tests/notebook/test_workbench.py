"""The workbench without a browser: its controls are set, and what they show and give is read."""

import json
import math
import re
import threading
from html.parser import HTMLParser

import numpy as np
import pytest
from html_read import cells, plain_text

import rewardkit as rk
from rewardkit.notebook.workbench.bench import Opened
from rewardkit.notebook.workbench.case_form import read_expected
from rewardkit.notebook.workbench.parts import KEYS

HOSTILE = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
    "<a href='javascript:alert(1)'>x</a><style>body{display:none}</style>\x00\u202e\ud800"
)


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


def reward(**options):
    components = [
        rk.Component("right", right, weight=1.0, primary=True, why="the task"),
        rk.Component("brief", brief, weight=0.5, gate=rk.gate("right", at_least=1.0), why="short"),
    ]
    return rk.Reward("r", {"prediction": rk.extract.tag("answer")}, components, **options)


@pytest.fixture
def bench(tmp_path):
    return rk.Workbench(reward(), rows(), cases=tmp_path / "cases.jsonl")


def panels(workbench):
    return {panel.title: panel for panel in workbench._panels}


def tab(workbench, title):
    """A tab that is in sight."""
    found = panels(workbench)[title]
    found.active = True
    found.refresh()
    return found


# Compose


def test_a_weight_that_moves_gives_what_reweigh_gives_and_runs_nothing():
    calls = []

    def counted(completion):
        calls.append(completion)
        return len(completion) % 2

    made = rk.Reward("counted", {}, [rk.Component("odd", counted, weight=1.0)])
    scores = rk.score(made, rows())
    workbench = rk.Workbench(made, scores)
    assert len(calls) == len(scores)
    compose = panels(workbench)["Compose"]
    before = compose.picture.value
    compose.sliders["odd"].value = -0.5
    np.testing.assert_allclose(workbench.scores.rewards, scores.reweigh({"odd": -0.5}).rewards)
    assert workbench.line == "reward.reweigh({'odd': -0.5})"
    assert workbench.reward.weights == {"odd": -0.5} and compose.numbers["odd"].value == -0.5
    assert compose.picture.value != before and "<svg" in compose.picture.value
    assert len(calls) == len(scores)


def test_a_number_beyond_the_end_of_a_slider_makes_the_slider_longer(bench):
    compose = panels(bench)["Compose"]
    compose.numbers["right"].value = 7.5
    assert compose.sliders["right"].value == 7.5 and compose.sliders["right"].min == -7.5
    assert bench.reward.weights["right"] == 7.5


def test_a_weight_is_typed_as_it_is_and_one_that_is_too_large_is_refused(bench):
    compose = panels(bench)["Compose"]
    compose.numbers["brief"].value = 0.00001
    assert bench.reward.weights["brief"] == 0.00001
    assert bench.line == "reward.reweigh({'brief': 1e-05})"
    for odd in (99999.0, -1e308, math.inf, math.nan):
        compose.numbers["brief"].value = odd
        assert "is not between -1000 and 1000; it stays 1e-05" in compose.message.text
        assert bench.reward.weights["brief"] == compose.numbers["brief"].value == 0.00001
    compose.undo.click()
    assert bench.line == "reward" and compose.message.text == ""


def test_a_page_that_puts_a_slider_on_a_step_moves_no_weight(tmp_path):
    odd = reward().reweigh({"right": 1 / 3, "brief": 1500.0})
    workbench = rk.Workbench(odd, rows())
    compose = panels(workbench)["Compose"]
    compose.sliders["right"].value = 0.33
    assert workbench.line == "reward" and workbench.reward.weights == odd.weights
    assert compose.numbers["right"].value == 1 / 3 and compose.numbers["brief"].value == 1500.0
    compose.sliders["right"].value = 0.34
    assert workbench.reward.weights["right"] == 0.34


def test_what_is_shown_are_the_figures_of_a_diagnosis(bench):
    compose = panels(bench)["Compose"]
    compose.numbers["brief"].value = 0.25
    diagnosis = rk.diagnose(bench.scores)
    figures = bench._bench.figures
    expected = diagnosis.components.set_index("component")["effective_weight"]
    for name, share in figures.effective.items():
        assert share == pytest.approx(expected[name])
    assert figures.tied_share == pytest.approx(diagnosis.views[0].dead.mean())
    np.testing.assert_allclose(figures.rewards, rk.score(bench.reward, rows()).rewards)


def test_the_label_is_held_against_the_rewards_within_groups():
    workbench = rk.Workbench(reward(), rows(), label="is_good")
    figures = workbench._bench.figures
    wins = pairs = 0.0
    found = rk.score(reward(), rows()).rewards.reshape(6, 4)
    for group in found:  # the first of each group is the good one
        wins += sum(1.0 if group[0] > other else 0.5 if group[0] == other else 0.0 for other in group[1:])
        pairs += 3
    assert figures.auc == pytest.approx(wins / pairs)
    assert f"{wins / pairs:.3f}" in panels(workbench)["Compose"].picture.value
    assert math.isnan(rk.Workbench(reward(), rows())._bench.figures.auc)


def test_undo_takes_back_one_move_and_reset_all(bench):
    compose = panels(bench)["Compose"]
    compose.numbers["right"].value = 2.0
    compose.numbers["brief"].value = -0.5
    compose.undo.click()
    assert bench.reward.weights == {"right": 2.0, "brief": 0.5} and compose.numbers["brief"].value == 0.5
    compose.numbers["brief"].value = 0.1
    compose.reset.click()
    assert bench.line == "reward" and compose.sliders["right"].value == 1.0
    compose.undo.click()
    assert bench.reward.weights == {"right": 2.0, "brief": 0.1}


def test_a_slider_that_is_drawn_is_one_move_for_undo(bench):
    compose = panels(bench)["Compose"]
    for step in range(10):
        compose.sliders["right"].value = 1.0 + step / 10
    compose.undo.click()
    assert bench.line == "reward"
    compose.undo.click()
    assert "Nothing to undo" in compose.message.text


def test_a_gate_that_opens_says_what_must_be_scored_and_scores_it_on_a_click(bench):
    compose = panels(bench)["Compose"]
    assert compose.score_rows.layout.display == "none"
    compose.switches["brief"].value = False
    assert "15 rows for 'brief'" in compose.message.text and compose.score_rows.layout.display == ""
    assert np.isnan(bench.scores.rewards).sum() == 15
    compose.score_rows.click()
    ungated = rk.Reward(
        "r",
        {"prediction": rk.extract.tag("answer")},
        [rk.Component("right", right, weight=1.0), rk.Component("brief", brief, weight=0.5)],
    )
    np.testing.assert_allclose(bench.scores.rewards, rk.score(ungated, rows()).rewards)
    assert compose.message.text == "" and compose.score_rows.layout.display == "none"
    compose.numbers["brief"].value = 0.7
    assert not np.isnan(bench.scores.rewards).any()  # what was scored stays


def test_the_threshold_of_a_gate_moves_without_scoring(bench):
    compose = panels(bench)["Compose"]
    compose.thresholds["brief"]["at_least"].value = 1.5
    assert (bench.scores.score("right") == 1).any() and np.isnan(bench.scores.score("brief")).all()
    assert bench.reward.components[1].gate == rk.gate("right", at_least=1.5)


def test_the_line_of_code_gives_the_reward_that_stands(bench):
    import dataclasses

    compose = panels(bench)["Compose"]
    compose.numbers["right"].value = 0.8
    compose.thresholds["brief"]["at_least"].value = 0.5
    compose.aggregation.value = "weighted_mean"
    given = {"reward": reward(), "rk": rk, "dataclasses": dataclasses}
    made = eval(bench.line, given)
    assert made.record() == bench.reward.record()


def test_an_aggregation_that_the_weights_do_not_fit_is_refused_and_nothing_changes():
    made = rk.Reward("p", {}, [rk.Component("a", brief, weight=1.0), rk.Component("b", brief, weight=-0.5)])
    workbench = rk.Workbench(made, rows())
    compose = panels(workbench)["Compose"]
    compose.aggregation.value = "product"
    assert "penalties" in compose.message.text
    assert compose.aggregation.value == "weighted_sum" and workbench.line == "reward"


def test_copy_as_code_is_a_reward_that_loads(bench, tmp_path):
    workbench = rk.Workbench("gallery:arithmetic", "gallery:arithmetic")
    compose = panels(workbench)["Compose"]
    compose.numbers["format"].value = 0.35
    compose.code.click()
    text = _text_of(compose.written.value, "pre")
    (tmp_path / "copied.py").write_text(text)
    assert rk.load_reward(f"{tmp_path / 'copied.py'}:reward").weights["format"] == 0.35


def test_scaling_changes_the_advantages_and_not_the_rewards(bench):
    compose = panels(bench)["Compose"]
    rewards, advantages = bench.scores.rewards, bench._bench.figures.advantages
    compose.scaling.value = "none"
    np.testing.assert_array_equal(bench.scores.rewards, rewards)
    now = bench._bench.figures.advantages
    by_hand = rewards.reshape(6, 4) - rewards.reshape(6, 4).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(now.reshape(6, 4), by_hand, atol=1e-12)
    assert not np.allclose(now, advantages)


def test_a_route_composes_its_weights_and_says_what_it_does_not():
    parts = {"easy": reward(), "hard": rk.Reward("other", {}, [rk.Component("short", brief, weight=0.3)])}
    workbench = rk.Workbench(rk.Route("kind", parts), rows())
    compose = panels(workbench)["Compose"]
    compose.numbers["short"].value = 0.9
    assert workbench.reward.weights["short"] == 0.9 and not compose.switches
    expected = rk.score(rk.Route("kind", parts), rows()).reweigh({"short": 0.9}).rewards
    np.testing.assert_allclose(workbench.scores.rewards, expected)


def test_a_row_that_a_route_has_no_reward_for_is_read_without_scores():
    route = rk.Route("kind", {"easy": reward()})
    workbench = rk.Workbench(route, rows())
    browse = tab(workbench, "Browse")
    browse.kind.value = "no reward"
    assert len(browse.rows) == 12 and "has no part for row 0" in browse.page.value
    assert "question 0" in browse.page.value and "not judged" in browse.page.value
    browse.later.click()
    assert "has no part for row 1" in browse.page.value


# Browse


def graded(completion):
    if completion.startswith("why why why"):
        rk.note("verdict", {"reason": f"refused {HOSTILE}", "raw": [HOSTILE], "cost": 0.5})
        raise rk.NotJudged("the judge refuses")
    said = {"level": "good", "reason": "clear steps", "raw": ["{raw}"], "tokens": [9, 2], "cost": 0.25}
    rk.note("verdict", said)
    return 1.0


graded.asks_model = True


def test_a_verdict_is_read_with_its_cost_and_rows_are_found_by_level_and_by_why_they_are_not_judged():
    browse = tab(rk.Workbench(rk.Reward("j", {}, [rk.Component("graded", graded)]), rows()), "Browse")
    labels = dict((value, label) for label, value in browse.column.options)
    assert labels["verdict/graded"] == "level of graded"
    browse.column.value, browse.value.value = "verdict/graded", "good"
    told = plain_text(browse.page.value)
    assert len(browse.rows) == 18
    assert all(word in told for word in ("good", "clear steps", "9 + 2", "0.25", "raw answer", "{raw}"))
    browse.column.value, browse.value.value = "error/graded", "the judge refuses"
    assert len(browse.rows) == 6
    assert "not judged" in plain_text(browse.page.value) and "<script" not in browse.page.value
    browse.clear.click()
    browse.kind.value = "abstained"
    assert len(browse.rows) == 6


def test_filters_find_the_rows_that_they_say(bench):
    browse = tab(bench, "Browse")
    assert len(browse.rows) == 24
    browse.text.value = "WHY WHY WHY"
    assert len(browse.rows) == 6 and "6 of 24 completions" in browse.found.text
    browse.column.value = "kind"
    browse.value.value = "easy"
    assert len(browse.rows) == 3
    browse.clear.click()
    assert len(browse.rows) == 24 and browse.value.value == ""
    browse.component.value = "brief"
    browse.low.value = "0.8"
    scores = bench.scores.score("brief")
    assert set(browse.rows) == set(np.flatnonzero(scores >= 0.8)) and 0 < len(browse.rows) < 24
    edges = sorted(set(scores[~np.isnan(scores)].tolist()))[:2]
    browse.low.value, browse.high.value = str(edges[0]), str(edges[1])
    assert set(browse.rows) == set(np.flatnonzero(np.isin(scores, edges))) and len(browse.rows) < 24
    browse.low.value, browse.high.value = "0.8", ""
    browse.high.value = "much"
    assert "'much' is no number" in browse.found.text and 0 < len(browse.rows) < 24
    browse.low.value = "nan"
    assert "'nan' is no number" in browse.found.text
    browse.clear.click()
    browse.status.value = "gated"
    assert len(browse.rows) == 15
    browse.clear.click()
    browse.kind.value = "tied"
    assert len(browse.rows) == 0 and "No completion is like this" in browse.found.text
    assert browse.page.value == "" and not browse.siblings.children
    assert browse.form.widget.layout.display == "none"
    bench._bench.open(Opened(3))
    assert "rollout 4" in browse.page.value and browse.form.widget.layout.display == ""
    browse.clear.click()
    browse.low.value = "1.9"
    assert browse.page.value == ""
    panels(bench)["Compose"].numbers["right"].value = 2.0  # which the filter finds
    assert len(browse.rows) and "reward 2" in plain_text(browse.page.value)


def test_wrong_but_paid_and_right_but_unpaid_are_told_by_the_label():
    def fooled(completion):
        return "why why" in completion  # pays the third and fourth, of which none is good

    workbench = rk.Workbench(rk.Reward("f", {}, [rk.Component("fooled", fooled)]), rows(), label="is_good")
    browse = tab(workbench, "Browse")
    browse.kind.value = "wrong but paid"
    assert set(browse.rows % 4) == {2, 3} and len(browse.rows) == 12
    browse.kind.value = "right but unpaid"
    assert set(browse.rows % 4) == {0} and len(browse.rows) == 6


def test_what_is_paid_is_told_from_the_medians_of_right_and_wrong():
    def skewed(n, is_good):
        return 1.0 if is_good else (0.0, 0.0, 0.45, 10.0)[n]  # middle: 0.5 by medians, 1.1 by means

    log = [{**row, "n": at % 4} for at, row in enumerate(rows())]
    workbench = rk.Workbench(
        rk.Reward("s", {}, [rk.Component("skewed", skewed, range=None)]), log, label="is_good"
    )
    browse = tab(workbench, "Browse")
    browse.kind.value = "right but unpaid"
    assert len(browse.rows) == 0
    browse.kind.value = "wrong but paid"
    assert set(browse.rows % 4) == {3}


def test_without_a_label_and_a_truth_it_says_that_right_and_wrong_are_not_known():
    def constant(completion):
        return 1.0

    bare = [{"prompt_id": "p", "completion": f"text {n}"} for n in range(4)]
    workbench = rk.Workbench(rk.Reward("c", {}, [rk.Component("constant", constant)]), bare)
    browse = tab(workbench, "Browse")
    browse.kind.value = "wrong but paid"
    assert "is not known here; give label=" in browse.found.text


def test_the_order_is_what_it_says_and_missing_rewards_come_last():
    def some(completion):
        return None if "why why why" in completion else brief(completion)

    workbench = rk.Workbench(rk.Reward("s", {}, [rk.Component("some", some)]), rows())
    browse = tab(workbench, "Browse")
    rewards = workbench.scores.rewards
    for order, sign in (("reward, highest first", -1), ("reward, lowest first", 1)):
        browse.order.value = order
        listed = rewards[browse.rows]
        known = listed[~np.isnan(listed)]
        assert (np.diff(sign * known) >= 0).all() and np.isnan(listed[len(known) :]).all()
        assert len(known) == 18
    browse.order.value = "log"
    assert list(browse.rows) == list(range(24))
    browse.order.value = "length"
    lengths = [len(rows()[row]["completion"]) for row in browse.rows]
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize("order", ["advantage", "spread of the group"])
def test_an_order_by_figures_of_the_group_has_the_largest_first(bench, order):
    browse = tab(bench, "Browse")
    browse.order.value = order
    figures = bench._bench.figures
    spreads = np.repeat(np.nan_to_num(figures.high - figures.low), 4)  # groups of four, one after the other
    keys = {"advantage": figures.advantages, "spread of the group": spreads}[order][browse.rows]
    assert len(set(keys.tolist())) > 1
    np.testing.assert_array_equal(keys, np.sort(keys)[::-1])


def test_one_a_group_lists_each_group_once(bench):
    browse = tab(bench, "Browse")
    browse.one_a_group.value = True
    assert sorted(row // 4 for row in browse.rows) == list(range(6))
    assert browse.found.text == "6 groups, each by its first completion"
    browse.text.value = "3</answer>"  # which the last group does not say
    assert browse.found.text.startswith("5 of 6 groups, ")


def test_the_highest_are_those_of_a_diagnosis(bench):
    browse = tab(bench, "Browse")
    browse.kind.value = "highest"
    ids = rk.diagnose(bench.scores).highest(24)["rollout_id"]
    assert set(bench.scores.table["rollout_id"].iloc[browse.rows]) == set(ids)


def test_next_and_previous_go_through_what_was_found_and_stop_at_its_ends(bench):
    browse = tab(bench, "Browse")
    browse.text.value = "why why why"
    opened = []
    for _ in range(8):
        opened.append(bench._bench.opened.row)
        browse.later.click()
    assert opened[:6] == list(browse.rows) and opened[6:] == [browse.rows[-1]] * 2
    assert "last of 6" in browse.found.text
    bench._bench.opened = Opened(next(row for row in range(24) if row not in browse.rows))  # a sibling, say
    browse.earlier.click()
    assert bench._bench.opened.row == browse.rows[-1]
    browse.earlier.click()
    assert bench._bench.opened.row == browse.rows[-2]
    assert browse.list.value == browse.rows[-2]


def test_only_a_page_of_the_list_is_rendered_and_it_turns_with_what_is_open():
    workbench = rk.Workbench(reward(), rows(groups=100))
    browse = tab(workbench, "Browse")
    assert len(browse.rows) == 400 and len(browse.list.options) == 60
    assert browse.found.text == "400 completions; 1 to 60 are listed"
    workbench._bench.opened = Opened(int(browse.rows[130]))
    assert browse.list.value == browse.rows[130] and len(browse.list.options) == 60
    assert browse.found.text == "400 completions; 121 to 180 are listed"


def test_the_open_completion_stands_beside_its_siblings_and_each_opens(bench):
    browse = tab(bench, "Browse")
    bench._bench.opened = Opened(9)
    assert sorted(browse._shown) == [8, 9, 10, 11] and len(browse.siblings.children) == 4
    rewards = bench._bench.figures.rewards[browse._shown]
    np.testing.assert_array_equal(rewards, np.sort(rewards)[::-1])
    assert len(set(rewards.tolist())) > 1
    for row, card in zip(browse._shown, browse.siblings.children, strict=True):
        assert f"advantage {bench._bench.figures.advantages[row]:+.2f}" in plain_text(card.children[1].value)
    place = browse._shown.index(10)
    browse.siblings.children[place].children[0].click()
    assert bench._bench.opened.row == 10
    assert "why why <answer>" in plain_text(browse.page.value) and "why why why" not in browse.page.value


def test_of_a_large_group_the_siblings_around_the_open_one_are_shown():
    workbench = rk.Workbench(reward(), rows(groups=2, size=50))
    browse = tab(workbench, "Browse")
    workbench._bench.opened = Opened(30)
    assert len(browse.siblings.children) == 16 and 30 in browse._shown


def test_the_page_has_every_component_and_what_the_field_took(bench):
    browse = tab(bench, "Browse")
    bench._bench.opened = Opened(0)
    page = browse.page.value
    explanation = rk.explain(reward(), bench.scores.rollouts[0])
    for line in explanation.lines:
        assert line.component in page and line.why in page
    assert '<mark style="' in page and ">1</mark>" in page
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


def test_a_page_calls_nothing_again():
    calls = []

    def counted(completion):
        calls.append(completion)
        return 1.0

    workbench = rk.Workbench(rk.Reward("c", {}, [rk.Component("counted", counted)]), rows())
    browse = tab(workbench, "Browse")
    before = len(calls)
    browse.later.click()
    assert len(calls) == before == 24 and "counted" in browse.page.value


def test_weights_that_move_while_browse_is_out_of_sight_are_shown_when_it_comes_back(bench):
    panel = bench.panel
    browse, compose = panels(bench)["Browse"], panels(bench)["Compose"]
    compose.numbers["right"].value = 3.0
    assert "reward 3" not in plain_text(browse.page.value)
    _tabs(panel).selected_index = 1
    assert "reward 3" in plain_text(browse.page.value)


def test_a_transcript_is_shown_turn_by_turn_with_its_calls_folded():
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": "<b>"}'}}
    messages = [
        {"role": "user", "content": "what is 2+2?"},
        {"role": "assistant", "content": "let me see", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "add", "content": "4<script>"},
        {"role": "assistant", "content": "it is <answer>4</answer>"},
    ]
    logged = [{"prompt_id": "p", "messages": messages, "ground_truth": "4"} for _ in range(2)]
    workbench = rk.Workbench(reward(), logged)
    page = tab(workbench, "Browse").page.value
    plain = plain_text(page)
    places = [
        plain.index(text) for text in ("what is 2+2?", "let me see", "calls add", "gave 9", "it is <answer>")
    ]
    assert places == sorted(places)
    assert (
        len(re.findall("<details(?! open)", page)) >= 2
        and "<script" not in page
        and "4&lt;script&gt;" in page
    )


# cases


def test_a_case_from_browse_is_in_the_file_and_the_table(bench, tmp_path):
    browse, table = tab(bench, "Browse"), tab(bench, "Cases")
    assert "no cases yet" in table.message.text
    bench._bench.opened = Opened(1)
    form = browse.form
    assert form.expected.value == "0" and form.name.value
    form.name.value, form.why.value, form.expected.value = "told at length", "wrong is wrong", "0 to 0.1"
    form.save.click()
    assert "Saved as 'told at length'" in form.message.text
    (line,) = (tmp_path / "cases.jsonl").read_text().splitlines()
    case = json.loads(line)
    assert case["reward"] == [0.0, 0.1] and case["why"] == "wrong is wrong"
    assert case["completion"] == rows()[1]["completion"] and case["ground_truth"] == "1"
    assert "1 of 1 cases passed" in table.message.text and "told at length" in table.table.value
    form.save.click()
    assert "already" in form.message.text
    assert len((tmp_path / "cases.jsonl").read_text().splitlines()) == 1


def test_a_case_can_expect_the_score_of_a_component_or_that_it_is_gated(bench, tmp_path):
    browse = tab(bench, "Browse")
    bench._bench.opened = Opened(1)
    browse.form.what.value = "brief"
    assert browse.form.expected.value == "gated"
    browse.form.save.click()
    (case,) = map(json.loads, (tmp_path / "cases.jsonl").read_text().splitlines())
    assert case["scores"] == {"brief": "gated"} and "reward" not in case
    assert rk.check(reward(), tmp_path / "cases.jsonl").failed == 0


def test_a_case_of_what_looks_at_siblings_expects_no_more_than_a_case_can_say(tmp_path):
    def rare(completion):
        return [1.0 / completion.count(text) for text in completion]

    spread = rk.Component("rare", rare, weight=0.5, group=True, why="not all the same")
    made = rk.Reward("g", {}, [rk.Component("brief", brief, why="short"), spread])
    workbench = rk.Workbench(made, rows(), cases=tmp_path / "cases.jsonl")
    form = tab(workbench, "Browse").form
    for what in ("brief", "rare", "reward"):
        form.what.value = what
        form.save.click()
        assert "Saved" in form.message.text
    result = rk.check(made, tmp_path / "cases.jsonl")
    assert len(result.cases) == 3 and result.failed == 0
    form.what.value = "brief"
    form.what.value = "reward"
    assert "A case stands alone" in form.message.text


def test_a_reward_that_asks_for_a_column_with_a_name_of_cases_makes_none(tmp_path):
    def named(name):
        return float(name == "ann")

    log = [{**row, "name": "ann"} for row in rows()]
    workbench = rk.Workbench(rk.Reward("n", {}, [rk.Component("named", named)]), log, tmp_path / "c.jsonl")
    form = tab(workbench, "Browse").form
    form.save.click()
    assert "asks for a column 'name'" in form.message.text and not (tmp_path / "c.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("0.5 to 0.8", [0.5, 0.8]), ("[0, 1]", [0, 1]), (" gated ", "gated"), ("-2.5", -2.5)],
)
def test_an_expectation_is_read_as_a_person_writes_it(text, value):
    assert read_expected(text) == value


@pytest.mark.parametrize("text", ["", "much", "1 to", "[1]", "true", '"1"', "null"])
def test_what_is_no_expectation_is_named(text):
    with pytest.raises(rk.InputError, match="nothing that can be expected; give a number"):
        read_expected(text)


@pytest.mark.parametrize("expected", ["2 to 1", "nan", "1e999"])
def test_an_expectation_that_no_case_may_have_is_refused_in_the_form(bench, tmp_path, expected):
    form = tab(bench, "Browse").form
    form.expected.value = expected
    form.save.click()
    assert form.message.text.startswith("Not saved: ") and not (tmp_path / "cases.jsonl").exists()


def test_a_case_file_that_cannot_be_written_is_named_and_the_form_keeps_the_case(bench, tmp_path):
    form, before = tab(bench, "Browse").form, bench._bench.cases_path
    form.why.value = "kept"
    form.path.value = str(tmp_path / "no" / "such" / "cases.jsonl")
    form.save.click()
    assert "there is no folder" in form.message.text and form.why.value == "kept"
    (tmp_path / "folder.jsonl").mkdir()
    form.path.value = str(tmp_path / "folder.jsonl")
    form.save.click()
    assert form.message.text.startswith("Not saved: ")
    form.path.value = "ca\0ses.jsonl"
    form.save.click()
    assert "null character" in form.message.text
    form.path.value = ""
    form.save.click()
    assert "give its path, such as cases.jsonl" in form.message.text
    assert bench._bench.cases_path == before
    form.path.value = str(tmp_path / "cases.jsonl")
    form.save.click()
    assert form.message.text.startswith("Saved as")


def test_a_broken_case_file_is_named_and_left_as_it_is(tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text('{"completion": "x", "reward": 1}\n{oops\n')
    with pytest.raises(rk.CasesError, match="2"):
        rk.Workbench(reward(), rows(), cases=file)
    file.write_text('{"name": "one", "completion": "x", "ground_truth": "1", "reward": 0}\n')
    workbench = rk.Workbench(reward(), rows(), cases=file)
    file.write_text("{oops\n")
    form = tab(workbench, "Browse").form
    form.save.click()
    assert "Not saved" in form.message.text and file.read_text() == "{oops\n"
    table = tab(workbench, "Cases")
    assert "cases.jsonl" in table.message.text


def test_the_table_of_cases_is_searched_and_explains_a_miss(tmp_path):
    cases = [
        {
            "name": "a",
            "completion": "<answer>1</answer>",
            "ground_truth": "1",
            "scores": {"right": 1},
            "why": "w",
        },
        {
            "name": "b",
            "completion": "<answer>2</answer>",
            "ground_truth": "1",
            "scores": {"right": 1},
            "why": "v",
        },
    ]
    workbench = rk.Workbench(reward(), rows(), cases=rk.load_cases(cases))
    table = tab(workbench, "Cases")
    assert "1 of 2 cases passed, 1 missed" in table.message.text
    plain = plain_text(table.table.value)
    assert "right 0.0, not 1" in plain and "prediction = '2'" in plain
    assert plain.index("missed") < plain.index("passed")
    table.show.value = "passed"
    assert "prediction = '2'" not in plain_text(table.table.value)
    table.show.value = "all"
    table.search.value = ">2<"
    assert "passed" not in plain_text(table.table.value)
    table.search.value = "nothing like it"
    assert "No case is like this" in table.table.value


def test_two_panels_on_one_case_file_do_not_lose_each_others_cases(tmp_path):
    file = tmp_path / "cases.jsonl"
    one, other = (rk.Workbench(reward(), rows(), cases=file) for _ in range(2))
    for workbench, name in ((one, "first"), (other, "second"), (one, "third")):
        form = tab(workbench, "Browse").form
        workbench._bench.opened = Opened({"first": 1, "second": 2, "third": 3}[name])
        form.name.value = name
        form.save.click()
    assert [case.name for case in rk.load_cases(file)] == ["first", "second", "third"]
    table = tab(other, "Cases")
    table.again.click()
    assert "3 of 3 cases passed" in table.message.text


def test_browse_by_itself_follows_the_weights_and_leaves_the_panel_where_it_is(bench):
    panel, alone = bench.panel, bench.browse
    alone.kind.value = "highest"
    compose = panels(bench)["Compose"]
    compose.numbers["right"].value = -3.0
    assert bench._bench.opened.row == 0 and 0 not in alone.rows and bench._bench.right[0][alone.rows[0]] == 0
    assert _tabs(panel).selected_index == 0


# probes and findings


def test_probes_run_in_the_background_and_their_examples_open_in_browse(bench):
    def lenient(completion, ground_truth):
        return ground_truth in completion

    workbench = rk.Workbench(
        rk.Reward("lenient", {}, [rk.Component("lenient", lenient)]), "gallery:arithmetic"
    )
    panel = workbench.panel
    probes = panels(workbench)["Probes"]
    probes.running.run.click()
    probes.running.wait(120)
    assert probes.result.alarms and probes.result.alarms[0].code in probes.page.value
    assert not probes.running.run.disabled and probes.running.cancel.disabled
    label, _ = probes.examples.list.options[0]
    probes.examples.open.click()  # the first is chosen
    assert _tabs(panel).selected_index == 1
    page = plain_text(panels(workbench)["Browse"].page.value)
    assert probes.result.alarms[0].code in label and probes.result.alarms[0].code in page
    form = panels(workbench)["Browse"].form
    assert form.expected.value and form.why.value
    panels(workbench)["Compose"].numbers["lenient"].value = 0.5
    assert probes.result.alarms[0].code in plain_text(panels(workbench)["Browse"].page.value)


def test_probes_that_are_cancelled_show_what_was_found_and_can_run_again():
    import time

    def slow(completion, ground_truth):
        time.sleep(0.02)
        return ground_truth in completion

    workbench = rk.Workbench(rk.Reward("slow", {}, [rk.Component("slow", slow)]), rows(groups=4), timeout=5)
    probes = panels(workbench)["Probes"]
    began = time.monotonic()
    probes.running.run.click()
    time.sleep(1.0)
    probes.running.cancel.click()
    probes.running.wait(30)
    assert time.monotonic() - began < 20  # all of it takes longer than the 60 s it may
    assert "Cancelled" in probes.running.message.text
    assert probes.result.untried or "cancelled" in str(probes.result.inconclusive)
    assert not probes.running.run.disabled


def test_findings_are_those_of_a_diagnosis_and_open_their_rollouts(bench):
    findings = panels(bench)["Findings"]
    findings.running.run.click()
    findings.running.wait()
    expected = rk.diagnose(bench.scores)
    assert [item.code for item in findings.result.findings] == [item.code for item in expected.findings]
    findings.examples.list.value = findings.examples.list.options[0][1]
    findings.examples.open.click()
    assert bench._bench.opened.row is not None


def test_a_diagnosis_that_is_cancelled_leaves_the_last_one(bench):
    findings = panels(bench)["Findings"]
    work, cancelled = findings._work, threading.Event()

    def waits():
        of_now = work()
        return lambda progress: cancelled.wait(30) and of_now(progress)  # or it is over before the click

    findings._work = waits
    findings.running.run.click()
    findings.running.cancel.click()
    cancelled.set()
    findings.running.wait()
    assert findings.running.message.text == "Cancelled." and findings.page.value == ""
    assert findings.result is None and not findings.running.run.disabled


def test_findings_are_of_the_settings_at_the_click_and_it_says_so_when_they_move(bench):
    findings, compose = panels(bench)["Findings"], panels(bench)["Compose"]
    at_the_click, work, moved = rk.diagnose(bench.scores), findings._work, threading.Event()

    def waits():
        assert threading.current_thread() is threading.main_thread()  # where nothing moves meanwhile
        of_now = work()
        return lambda progress: moved.wait(30) and of_now(progress)

    findings._work = waits
    findings.running.run.click()
    name = next(iter(compose.sliders))
    before = compose.sliders[name].value
    compose.sliders[name].value = -0.5
    moved.set()
    findings.running.wait()
    assert findings.result.record()["findings"] == at_the_click.record()["findings"]
    assert findings.result.record()["findings"] != rk.diagnose(bench.scores).record()["findings"]
    assert "settings have moved" in findings.moved.text
    compose.sliders[name].value = before
    assert findings.moved.text == ""


def test_what_stands_in_the_panel_is_what_is_probed_and_diagnosed(bench):
    compose, found = panels(bench)["Compose"], panels(bench)
    compose.numbers["right"].value = -0.75
    compose.scaling.value = "none"
    assert found["Findings"]._work()(lambda share: True).training.scale_rewards == "none"
    probed = found["Probes"]._work()(lambda share: False)
    assert probed.reward.weights == {"right": -0.75, "brief": 0.5}


def test_a_case_form_that_is_written_in_stays_while_weights_move(bench):
    browse, compose = tab(bench, "Browse"), panels(bench)["Compose"]
    form, proposed = browse.form, browse.form.expected.value
    form.name.value, form.why.value = "mine", "it is odd"
    compose.numbers["right"].value = 2.0
    assert (form.name.value, form.why.value) == ("mine", "it is odd")
    assert form.expected.value != proposed  # nobody wrote it: it follows
    form.expected.value = "0.5 to 0.8"
    compose.numbers["right"].value = 3.0
    assert form.expected.value == "0.5 to 0.8" and form.name.value == "mine"
    browse.later.click()
    assert form.name.value.startswith("rollout ") and form.why.value == ""


def test_cases_of_another_version_are_left_out_as_asked(tmp_path):
    given = [{"completion": "<answer>1</answer>", "ground_truth": "1", "scores": {"right": 1.0, "gone": 0.0}}]
    cases = tab(rk.Workbench(reward(), rows(), cases=given, ignore=["gone"]), "Cases")
    assert cases.message.text == "1 of 1 cases passed."
    cases = tab(rk.Workbench(reward(), rows(), cases=given), "Cases")
    assert "'gone'" in cases.message.text


def test_a_column_of_very_many_values_says_how_many_are_not_listed():
    log = [{**row, "run": f"run {at}"} for at, row in enumerate(rows(groups=150))]
    browse = tab(rk.Workbench(reward(), log), "Browse")
    browse.column.value = "run"
    assert (
        len(browse.value.options) == 501
        and browse.value.options[-1][0] == "(100 rarer values are not listed)"
    )
    browse.value.value = "run 3"
    assert list(browse.rows) == [3]


def test_what_work_in_the_background_raises_is_said_in_the_panel(bench, monkeypatch, capsys):
    findings = panels(bench)["Findings"]

    def broken(progress):
        raise rk.InputError("no such thing")

    findings._work = lambda: broken
    findings.running.run.click()
    findings.running.wait()
    assert findings.running.message.text == "no such thing" and not findings.running.run.disabled


# bad input and the whole


def test_hostile_texts_are_escaped_everywhere(tmp_path):
    hostile = [
        {
            "prompt_id": f"p{n // 4}",
            "prompt": HOSTILE,
            "completion": f"{HOSTILE}<answer>{n % 3}{HOSTILE}</answer>",
            "ground_truth": HOSTILE,
            "column": HOSTILE,
        }
        for n in range(8)
    ]

    def fails(completion):
        raise ValueError(completion)

    made = rk.Reward(
        "h",
        {"prediction": rk.extract.tag("answer")},
        [rk.Component("right", right), rk.Component("fails", fails)],
        on_missing="zero",
    )
    workbench = rk.Workbench(made, hostile, cases=tmp_path / "cases.jsonl")
    browse = tab(workbench, "Browse")
    browse.form.name.value = browse.form.why.value = HOSTILE[:50]
    browse.form.expected.value = "5"
    browse.form.save.click()
    assert "Saved" in browse.form.message.text
    browse.text.value = "<script>"
    assert len(browse.rows) == 8
    table = tab(workbench, "Cases")
    compose = panels(workbench)["Compose"]
    compose.code.click()
    for found in (*_html_of(workbench.panel), workbench._repr_mimebundle_()[0]["text/html"]):
        tags = _tags(found.replace(KEYS, ""))
        assert not {"script", "img", "a"} & {name for name, _ in tags}, found[:200]
        assert not [key for _, attributes in tags for key in attributes if key.startswith("on")] or (
            "rewardkit-copy" in found
        )
        assert "\x00" not in found and "\u202e" not in found and "\ud800" not in found
    assert "window.pwned" in plain_text(browse.page.value) and "window.pwned" in plain_text(table.table.value)


def test_a_completion_of_a_megabyte_is_shown_in_part_and_its_spans_in_place():
    long = f"{'a b ' * 150_000}<answer>1</answer>{'c d ' * 150_000}"
    logged = [{**row, "completion": long} if n == 0 else row for n, row in enumerate(rows())]
    workbench = rk.Workbench(reward(), logged)
    browse = tab(workbench, "Browse")
    workbench._bench.opened = Opened(0)
    page = browse.page.value
    assert len(page) < 60_000 and ">1</mark>" in page and "characters\u27e9" in page


def test_no_rollouts_a_wrong_reward_and_a_wrong_label_are_each_one_sentence():
    with pytest.raises(rk.RolloutsError):
        rk.Workbench(reward(), [])
    with pytest.raises(rk.RewardError, match="Workbench takes a Reward"):
        rk.Workbench(print, rows())
    with pytest.raises(rk.InputError, match="is_god"):
        rk.Workbench(reward(), rows(), label="is_god")
    with pytest.raises(rk.InputError, match="give the rollouts"):
        rk.Workbench(reward(), rk.score(rk.Reward("o", {}, [rk.Component("brief", brief)]), rows()))
    with pytest.raises(rk.CasesError, match="case 1 is 3; a case is an object"):
        rk.Workbench(reward(), rows(), cases=[3])
    with pytest.raises(rk.CasesError, match="are no cases; give a list of them"):
        rk.Workbench(reward(), rows(), cases=3)


def test_cases_may_be_dicts():
    given = [{"completion": "<answer>1</answer>", "ground_truth": "1", "scores": {"right": 1.0}}]
    cases = tab(rk.Workbench(reward(), rows(), cases=given), "Cases")
    assert cases.message.text == "1 of 1 cases passed."


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (["yes", "no"], "holds no numbers but"),
        ([0, 1, 2, 3], "is not one of two values"),
        ([True], "it has 1"),
    ],
)
def test_a_label_that_is_not_used_is_named_with_the_reason(values, why):
    log = [{**row, "judged": values[at % len(values)]} for at, row in enumerate(rows())]
    workbench = rk.Workbench(reward(), log, label="judged")
    picture = plain_text(panels(workbench)["Compose"].picture.value)
    assert "The label is not used: 'judged'" in picture and why in picture
    assert (
        "The label is not used"
        not in panels(rk.Workbench(reward(), rows(), label="is_good"))["Compose"].picture.value
    )


def test_scores_with_errors_everywhere_are_shown_as_such():
    def fails(completion):
        raise ValueError("never")

    workbench = rk.Workbench(rk.Reward("f", {}, [rk.Component("fails", fails)]), rows())
    compose, browse = panels(workbench)["Compose"], tab(workbench, "Browse")
    assert "No reward was judged" in compose.picture.value
    assert "No group has a signal" in compose.picture.value
    browse.kind.value = "error"
    assert len(browse.rows) == 24 and "ValueError: never" in plain_text(browse.page.value)


def test_one_row_and_infinite_scores_have_a_picture():
    def endless(completion):
        return math.inf

    component = rk.Component("endless", endless, range=None)
    workbench = rk.Workbench(rk.Reward("i", {}, [component]), rows()[:1])
    assert "<svg" not in panels(workbench)["Compose"].picture.value
    one = rk.Workbench(reward(), rows()[:1])
    assert "<svg" in panels(one)["Compose"].picture.value


def test_a_page_without_a_kernel_has_the_picture_and_a_live_one_the_widget(bench):
    data, _ = bench._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}
    assert "<svg" in data["text/html"] and "question 0" not in data["text/html"]


def test_each_tab_is_usable_alone(bench):
    for name in ("compose", "browse", "cases", "probes", "findings"):
        data, _ = getattr(bench, name)._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in data
    alone = bench.browse
    alone.text.value = "why why why"
    assert len(alone.rows) == 6
    panels(bench)["Compose"].numbers["right"].value = 9.0
    assert "reward 9" in plain_text(alone.page.value) or "reward 0" in plain_text(alone.page.value)
    assert bench._bench.variant.weights["right"] == 9.0


def test_a_timeout_bounds_scoring():
    import time

    def hangs(completion):
        time.sleep(60 if "why why why" in completion else 0)
        return 1.0

    workbench = rk.Workbench(rk.Reward("h", {}, [rk.Component("hangs", hangs)]), rows(groups=1), timeout=0.5)
    assert np.isnan(workbench.scores.rewards).sum() == 1


# pictures


def _text_of(html, tag):
    found, inside = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, name, attrs):
            inside.append(name)

        def handle_endtag(self, name):
            inside.pop()

        def handle_data(self, data):
            if inside and inside[-1] == tag:
                found.append(data)

    Reader().feed(html)
    return "".join(found)


def _tags(html):
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, name, attrs):
            found.append((name, dict(attrs)))

    Reader().feed(html)
    return found


def _tabs(panel):
    return panel.children[2]


def _html_of(widget):
    """The HTML of a widget and all that it holds."""
    value = getattr(widget, "value", None)
    found = [value] if isinstance(value, str) and type(widget).__name__ == "HTML" else []
    for child in getattr(widget, "children", ()):
        found += _html_of(child)
    return found
