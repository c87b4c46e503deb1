"""probe() as a whole: one finding a cause, budgets, what is inconclusive, and what its author declared."""

import math
import os
import re
import time

import numpy as np
import pytest
from planted_probes import DATA, inside, strict, tags

import rewardkit as rk
from rewardkit.findings import as_code
from rewardkit.probes.verdicts import severity

FAST = {"timeout": None, "only": ["calibration", "nothing_there", "shotgun", "near_misses", "padding"]}


def made(function, **options):
    return rk.Reward("r", components=[rk.Component("c", function, **options)])


def fails(completion):
    raise KeyError("difficulty")


def nothing(completion):
    return None


def same(completion, ground_truth):
    return 0.3


def deaf(completion, ground_truth):
    return inside(completion) is not None


@pytest.mark.parametrize(
    ("function", "code", "says"),
    [
        pytest.param(fails, "always_errors", "KeyError: 'difficulty'", id="raises"),
        pytest.param(nothing, "always_abstains", "returned None", id="abstains"),
        pytest.param(same, "constant", "Always 0.3. All", id="constant"),
        pytest.param(deaf, "ignores_truth", "Ignores the ground truth.", id="deaf to the truth"),
    ],
)
def test_a_reward_that_fails_as_a_whole_gets_one_finding_that_says_so(function, code, says):
    (item,) = rk.probe(made(function), DATA["numbers"], timeout=5).findings
    assert (item.code, item.severity, item.family) == (code, "high", "calibration") and says in item.sentence


def test_a_reward_that_is_late_each_time_ends_after_a_few_calls():
    def sleeps(completion):
        time.sleep(30)

    result = rk.probe(made(sleeps), DATA["numbers"], timeout=0.2)
    assert [item.code for item in result.findings] == ["always_late"] and result.calls <= 8


def test_a_budget_is_kept_and_what_was_not_tried_is_listed():
    def slow(completion, ground_truth):
        time.sleep(0.2)
        return strict(completion, ground_truth)

    began = time.monotonic()
    result = rk.probe(made(slow), DATA["numbers"], timeout=5, budget=4)
    assert time.monotonic() - began < 12  # the budget, the start of the workers and a loaded machine
    assert result.calls < 100 and "rubric" in result.untried and not result.alarms
    assert str(result).startswith("r: unfinished, as the budget was over: no hole found in ")


def test_rollouts_without_a_truth_get_only_the_probes_that_need_none():
    def quality(completion):
        return min(1.0, len(completion.split()) / 40)

    data = [
        {**row, "ground_truth": None, "completion": "word " * (place + 3)}
        for place, row in enumerate(DATA["numbers"])
    ]
    result = rk.probe(made(quality), data, **FAST)
    assert result.calibration.mode == "no truth"
    assert [(item.code, item.family) for item in result.alarms] == [("longer", "padding")]


def test_a_reward_that_pays_against_the_truth_is_told_to_be_inverted():
    def distance(completion, ground_truth):
        try:
            return abs(float(inside(completion)) - float(ground_truth))
        except (TypeError, ValueError):
            return 0.0

    (item,) = rk.probe(made(distance, range=None), DATA["numbers"], **FAST).findings
    assert (item.code, item.severity) == ("inverted", "high")


def test_what_chance_gives_is_taken_for_no_hole():
    generator = np.random.default_rng(5)

    def noisy(completion, ground_truth):
        return strict(completion, ground_truth) * 0.6 + generator.random() * 0.4

    result = rk.probe(made(noisy), DATA["numbers"], **FAST)
    assert result.calibration.mode == "truth" and not result.alarms


def test_one_cause_is_one_finding_that_names_the_other_probes():
    def somewhere(completion, ground_truth):
        return ground_truth in completion

    (alarm,) = rk.probe(made(somewhere), DATA["numbers"], **FAST).alarms
    assert alarm.code == "mentioned" and alarm.severity == "high"
    assert {"every_number", "several_answers", "several_marks", "too_much"} <= set(alarm.evidence["also"])


def test_two_causes_in_two_components_are_two_findings():
    def wordy(completion):
        return min(1.0, len(completion.split()) / 400)

    def loose(completion, ground_truth):
        answers = re.findall(r"\d+", inside(completion) or "")
        return ground_truth in answers

    reward = rk.Reward(
        "r", components=[rk.Component("task", loose), rk.Component("words", wordy, weight=0.6)]
    )
    alarms = rk.probe(reward, DATA["numbers"], **FAST).alarms
    assert {item.component for item in alarms} == {"task", "words"}


def graded(completion, ground_truth):
    try:
        return max(
            0.0, 1 - abs(float(inside(completion) or "nan") - float(ground_truth)) / float(ground_truth)
        )
    except ValueError:
        return 0.0


def test_partial_credit_for_a_near_answer_is_no_hole():
    result = rk.probe(made(graded), DATA["numbers"], **FAST)
    assert result.calibration.mode == "truth" and not result.alarms


def leaking(share, **options):
    def form(completion):
        return inside(completion) is not None

    task = rk.Component("task", strict, weight=1 - share, primary=True)
    return rk.Reward("r", components=[task, rk.Component("form", form, weight=share, **options)])


@pytest.mark.parametrize(
    ("share", "options", "allowed", "expected"),
    [
        pytest.param(0.1, {}, 0.5, "info", id="a small bonus is told"),
        pytest.param(0.6, {}, 0.5, "warn", id="over half of the ceiling is a warning"),
        pytest.param(0.6, {}, 0.7, "info", id="unless so much is allowed"),
        pytest.param(0.8, {}, 0.5, "high", id="over three quarters is high"),
        pytest.param(0.6, {"expects_partial": True}, 0.5, None, id="unless the author says so"),
    ],
)
def test_leakage_is_told_with_its_share_and_a_finding_above_one(share, options, allowed, expected):
    reward, asked = leaking(share, **options), {"only": "calibration", "timeout": None}
    found = rk.probe(reward, DATA["numbers"], leakage=allowed, **asked)["leakage"]
    assert [item.severity for item in found] == ([expected] if expected else [])
    for item in found:
        assert (item.component, item.threshold) == ("form", allowed)
        assert item.evidence["value"] == pytest.approx(share)


def test_a_gate_that_is_open_for_wrong_answers_is_found_and_one_that_closes_is_not():
    def reward(limit):
        task = rk.Component("task", strict)
        brief = rk.Component(
            "brief",
            lambda completion: inside(completion) is not None,
            weight=0.5,
            gate=rk.gate("task", at_least=limit),
        )
        return rk.Reward("r", components=[task, brief])

    options = {
        "only": ["padding", "calibration"],
        "timeout": None,
    }  # what leaks through the gate is the gate's
    (item,) = rk.probe(reward(0.0), DATA["numbers"], **options).findings
    assert (item.code, item.component) == ("open_gate", "brief")
    assert item.evidence["gain"] == pytest.approx(0.5 / 1.5)
    assert not rk.probe(reward(1.0), DATA["numbers"], **options).findings


def unpaid(completion, ground_truth):
    return strict(completion, ground_truth) and ground_truth not in ("83", "64")


def paid(completion, ground_truth):
    return strict(completion, ground_truth) or (
        ground_truth in ("17", "35", "9") and "<answer>" in completion
    )


@pytest.mark.parametrize(("function", "truths"), [(unpaid, ["83", "64"]), (paid, ["17", "9", "35"])])
def test_prompts_on_which_right_and_wrong_earn_alike_are_told_with_their_truths(function, truths):
    result = rk.probe(made(function), DATA["numbers"], only="calibration", timeout=None)
    (item,) = result["right_unpaid" if function is unpaid else "wrong_paid"]
    assert (item.evidence["found"], item.evidence["tried"]) == (len(truths), 8)
    assert ", ".join(map(repr, truths)) in item.sentence and item.severity == "warn"
    assert item.examples[0].reward == (function is paid)


def test_what_probes_of_special_truths_show_is_not_told_again_of_their_prompts():
    def scores(completion, ground_truth):
        return strict(completion, ground_truth) and ground_truth != "0"

    asked = {"only": ["calibration", "special_values"], "timeout": None}
    result = rk.probe(made(scores), DATA["special"], **asked)
    assert result["zero_is_right"] and not result["right_unpaid"]


@pytest.mark.parametrize(("share", "severities"), [(0.5, ["high"]), (0.3, ["warn"]), (0.15, [])])
def test_credit_that_any_text_earns_is_found_and_credit_for_an_answer_that_is_near_is_not(share, severities):
    def flat(completion, ground_truth):
        number = (inside(completion) or "").strip().isdigit()
        return float(strict(completion, ground_truth)) if number else share

    asked = {"only": ["calibration", "nothing_there"], "timeout": None}
    found = rk.probe(made(flat), DATA["numbers"], **asked)["flat_credit"]
    assert [item.severity for item in found] == severities
    assert all(item.evidence["gain"] == pytest.approx(share) for item in found)
    assert not rk.probe(made(graded), DATA["numbers"], **asked)["flat_credit"]


def test_a_field_that_fails_is_one_finding_whatever_asks_for_it():
    def number(completion):
        return float(inside(completion))

    def near(number, ground_truth):
        return abs(number - float(ground_truth)) < 1

    def same(number, ground_truth):
        return number == float(ground_truth)

    components = [rk.Component("near", near), rk.Component("same", same)]
    reward = rk.Reward("r", {"number": number}, components)
    (item,) = rk.probe(reward, DATA["numbers"], only="contract", timeout=None)["raises"]
    assert "field 'number' failed: ValueError" in item.sentence


def test_a_reward_on_a_whole_group_is_tried_beside_the_siblings():
    def first_right(completion, ground_truth):
        rights = [strict(text, truth) for text, truth in zip(completion, ground_truth, strict=True)]
        return [right / len(rights) for right in rights]

    result = rk.probe(made(first_right, group=True), DATA["numbers"], **FAST)
    assert result.calibration.mode == "truth" and not result.alarms
    scale = next(iter(result.calibration.scales.values()))
    assert (scale.right, scale.wrong) == (0.5, 0.0)


def test_each_part_of_a_route_is_calibrated_and_judged_by_itself():
    def somewhere(completion, ground_truth):
        return ground_truth in completion

    route = rk.Route("data_source", {"a": made(strict), "b": made(somewhere)})
    data = [
        {**row, "data_source": source, "prompt_id": f"{source}{row['prompt_id']}"}
        for source in "ab"
        for row in DATA["numbers"]
    ]
    alarms = rk.probe(route, data, **FAST).alarms
    assert [(item.code, item.part) for item in alarms] == [("mentioned", "b")]


def test_the_form_of_answers_is_learned_from_the_rollouts():
    def quoted(completion, ground_truth):
        found = re.search(r"~~ (\S+) ~~", completion)
        return found is not None and found[1] == ground_truth

    data = [
        {**row, "completion": f"I say ~~ {inside(row['completion'])} ~~ to this."} for row in DATA["numbers"]
    ]
    result = rk.probe(made(quoted), data, **FAST)
    assert result.calibration.mode == "truth" and not result.alarms
    assert result.calibration.subjects[0].reference == "I say ~~ 42 ~~ to this."


def test_a_case_lends_its_form_where_no_rollout_is_right():
    def quoted(completion, ground_truth):
        found = re.search(r"~~ (\S+) ~~", completion)
        return found is not None and found[1] == ground_truth

    data = [{**row, "completion": "no idea"} for row in tags(42, 17)]
    none_right = rk.probe(made(quoted), data, **FAST)
    assert (
        not none_right.findings and "perhaps because none of them is right" in none_right.inconclusive[0].why
    )
    case = {"prompt": "How many?", "completion": "So ~~ 12 ~~ it is", "ground_truth": "12", "reward": 1.0}
    result = rk.probe(made(quoted), data, cases=rk.load_cases([case]), **FAST)
    assert result.calibration.mode == "truth"


def test_the_same_seed_gives_the_same_findings_and_nothing_of_the_users_is_changed():
    rollouts = rk.load_rollouts(DATA["numbers"])
    before = rollouts.table.copy(deep=True)

    def somewhere(completion, ground_truth):
        return ground_truth in completion

    first, second = (rk.probe(made(somewhere), rollouts, seed=3, **FAST).record() for _ in range(2))
    assert first == second and rollouts.table.equals(before)


def test_a_finding_has_examples_a_snippet_that_shows_it_and_a_case_that_fails():
    def somewhere(completion, ground_truth):
        return ground_truth in completion

    reward = made(somewhere)
    (alarm,) = rk.probe(reward, DATA["numbers"], **FAST).alarms
    assert 1 <= len(alarm.examples) <= 3 and alarm.rollout_ids
    for example in alarm.examples:
        line = example.snippet.partition("  #")[0]
        assert eval(line, {"reward": reward}) == example.reward == 1.0
    cases = rk.load_cases(alarm.cases)
    assert rk.check(reward, cases).failed == len(cases)
    assert rk.check(made(strict), cases).failed == 0


def test_severity_rises_with_what_a_policy_could_gain():
    assert [severity(value) for value in (0.05, 0.2, 0.9)] == ["info", "warn", "high"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("x" * 5000, "'x' * 5000", id="one sign"),
        pytest.param(
            "<answer>" + "1" * 500 + "</answer>", "'<answer>' + '1' * 500 + '</answer>'", id="inside"
        ),
        pytest.param("ab" * 300, "'ab' * 300", id="two signs"),
    ],
)
def test_a_long_text_is_written_by_what_repeats_in_it(text, code):
    assert as_code(text) == code and eval(as_code(text)) == text


def test_without_a_time_limit_nothing_is_tried_that_may_hang():
    result = rk.probe(made(strict), DATA["numbers"], only="hang", timeout=None)
    assert [item.probe for item in result.inconclusive] == ["hang"] and not result.findings


def sleepy(completion, ground_truth):
    time.sleep(0.4)
    return strict(completion, ground_truth)


@pytest.mark.parametrize(("score", "budget"), [(strict, 1e-9), (sleepy, 0.5)])
def test_a_budget_that_is_over_before_anything_is_known_is_said_and_accuses_nobody(score, budget):
    result = rk.probe(made(score), DATA["numbers"], budget=budget)
    assert not result.findings and "budget" in result.inconclusive[0].why


@pytest.mark.parametrize(
    ("only", "searched", "told"),
    [
        pytest.param(None, 400, ["search"], id="too few prompts"),
        pytest.param(None, 0, [], id="no search was asked for"),
        pytest.param("padding", 400, [], id="other families were asked for"),
    ],
)
def test_where_nothing_can_be_searched_for_it_is_said_why(only, searched, told):
    result = rk.probe(made(strict), DATA["numbers"][:4], only=only, search=searched, timeout=None)
    said = {item.probe: item.why for item in result.inconclusive if item.probe != "hang"}
    assert list(said) == told and all("fewer than 3 prompts" in why for why in said.values())


def test_what_only_a_combination_reaches_is_found_by_search_and_shown_in_its_smallest_form():
    def combined(completion, ground_truth):
        trick = "<bonus>because</bonus>" in completion
        return 1.0 if strict(completion, ground_truth) else 0.8 * trick

    result = rk.probe(made(combined), DATA["numbers"], timeout=None)
    (alarm,) = result.alarms
    assert (alarm.code, alarm.family, alarm.severity) == ("exploit", "search", "high")
    assert "<bonus>because</bonus>" in min((item.completion for item in alarm.examples), key=len)
    assert alarm.evidence["gain"] == pytest.approx(0.8) and "A search found an exploit" in alarm.sentence
    assert not rk.probe(made(combined), DATA["numbers"], timeout=None, search=0).alarms


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("budget", value) for value in ("1", 0, math.nan, True)),
        *(("search", value) for value in (1.5, True, -1)),
        *(("seed", value) for value in (-1, "a", 0.5)),
        *(("only", value) for value in (3, ["empty", 3])),
        ("timeout", "5"),
        ("leakage", 2),
        ("label", 3),
        ("progress", 3),
    ],
)
def test_an_option_that_makes_no_sense_is_an_error_that_names_it(name, value):
    with pytest.raises(rk.errors.InputError, match=f"^{name}=|no probe and no family 3;"):
        rk.probe(made(strict), DATA["numbers"], **{name: value})


def test_a_truth_that_is_too_deep_to_be_copied_is_an_error_that_says_so():
    deep = []
    for _ in range(3000):
        deep = [deep]
    with pytest.raises(rk.RolloutsError, match="nested deeper than Python can copy"):
        rk.probe(made(lambda completion: 1.0), [{**row, "ground_truth": deep} for row in DATA["numbers"]])


@pytest.mark.parametrize(
    ("only", "head"),
    [("search", "no hole found in"), ("contract", "no broken contract found in"), ("empty", "no hole found")],
)
def test_what_was_asked_for_is_what_was_not_found(only, head):
    assert head in str(rk.probe(made(strict), DATA["numbers"], only=only)).splitlines()[0]


def test_only_probes_of_which_something_was_tried_are_counted():
    result = rk.probe(
        made(strict), DATA["numbers"], only=["empty", "other_end", "example_echo"], timeout=None
    )
    assert result.made == {"empty", "example_echo"} and "no hole found in 2 probes on" in str(result)


KNOWN = {row["completion"] for row in DATA["numbers"]}


def knows_the_log(completion, ground_truth):
    if completion not in KNOWN:
        raise ValueError("unknown completion")
    return strict(completion, ground_truth)


def test_a_reward_that_errs_on_what_is_tried_is_not_usable_and_nothing_is_known_of_it():
    data = [row | {"ground_truth": {"is": row["ground_truth"]}} for row in DATA["numbers"]]
    result = rk.probe(
        made(lambda completion, ground_truth: knows_the_log(completion, ground_truth["is"])), data
    )
    assert [(item.code, item.severity) for item in result.alarms] == [("raises", "high")]
    assert "attempts failed, so what they would earn is not known" in result.inconclusive[-1].why


@pytest.mark.parametrize("word", ["NaN", "It may be this"], ids=["a constant", "of the search alone"])
def test_a_text_that_ends_the_process_is_told_whoever_tries_it(word):
    def ends(completion, ground_truth):
        if word in completion:
            os._exit(5)
        return strict(completion, ground_truth)

    result = rk.probe(made(ends), DATA["texts"], timeout=5)
    assert [(item.code, item.severity) for item in result.alarms] == [("dies", "high")]
    assert word in result["dies"][0].examples[0].completion


def test_a_cause_is_told_by_the_probe_that_is_gravest_so_that_its_numbers_say_why():
    def scores(completion, ground_truth):
        refused = "can't help" in completion and ground_truth in ("42", "17")
        return strict(completion, ground_truth) or refused or completion == "ok"

    (item,) = rk.probe(made(scores), DATA["numbers"], only="nothing_there", timeout=None).alarms
    assert (item.code, item.severity, item.evidence["found"]) == ("constant_text", "high", 8)
    assert item.evidence["also"] == ["refusal"]
