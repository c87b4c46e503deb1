"""Each probe against a reward that errs in its way, and against one that does not."""

import math
import re

import pytest
from planted_probes import DATA, PLANTED, inside, strict, tags

import rewardkit as rk
from rewardkit.errors import InputError
from rewardkit.probes.results.sentences import EXPLAINS
from rewardkit.probes.strategies.families import FAMILIES, PROBES

CLEAN = rk.Reward("strict", components=[rk.Component("correct", strict)])
ASKED = "equivalents"
BY_NAME = {probe.name: probe for probe in PROBES}


def probed(function, data, **options):
    """The result of probing a function as the one component of a reward, whatever it may give."""
    return rk.probe(rk.Reward("r", components=[rk.Component("c", function, range=None)]), data, **options)


def codes(result):
    """Every probe that found something, whatever its severity."""
    return {code for item in result.findings for code in (item.code, *item.evidence.get("also", ()))}


@pytest.mark.parametrize("planted", [pytest.param(item, id=f"{item.probe}, {item.data}") for item in PLANTED])
def test_a_planted_hole_is_found_by_its_probe_and_a_strict_reward_stands_it(planted):
    probes = {"only": planted.probe, "timeout": None}
    found = rk.probe(planted.reward(), DATA[planted.data], **probes)
    assert planted.probe in codes(found)
    (item,) = found[planted.probe]
    expected = "info" if BY_NAME[planted.probe].knows == "known" else ("warn", "high")
    assert item.severity in expected and item.evidence["found"] > 0
    clean = rk.probe(CLEAN, DATA[planted.data], **probes)
    assert not clean.alarms and (planted.probe == "in_code" or not clean.findings)  # CLEAN reads code, too


def test_every_probe_that_expects_a_wrong_answer_to_fail_has_a_planted_hole():
    holes = {
        probe.name
        for probe in PROBES
        if probe.expects in ("wrong", "right", "mark") and probe.family != "equivalents"
    }
    elsewhere = {"other_item", "other_order", "copied_block", "repeated_turns"}  # on data of their own
    assert holes == {item.probe for item in PLANTED} | elsewhere


@pytest.mark.parametrize(("name", "alarms"), [("busy", ["repeated_turns"]), ("reward", [])])
def test_calls_that_are_paid_without_an_end_are_high_and_found_on_eight_prompts(name, alarms):
    result = rk.probe(rk.load_reward(f"gallery:tool_use.{name}"), "gallery:tool_use", timeout=None)
    assert [item.code for item in result.alarms] == alarms
    assert all((item.severity, item.n) == ("high", 8) for item in result.alarms)


@pytest.mark.parametrize("data", [name for name in DATA if name != "thousands"])
def test_a_strict_reward_has_no_alarm_on_any_kind_of_answer(data):
    result = rk.probe(CLEAN, DATA[data], timeout=5)
    assert result.calibration.mode == "truth" and result.calls > 300
    assert not result.alarms, [item.sentence for item in result.alarms]


LOST = {
    "newline_at_the_end": lambda completion: completion.endswith("\n"),
    "spaces_at_the_end": lambda completion: completion.endswith("  "),
    "windows_lines": lambda completion: "\r\n" in completion,
    "space_in_the_mark": lambda completion: re.search(r"<answer> \d", completion),
    "answer_on_a_line": lambda completion: "<answer>\n" in completion,
    "several_lines": lambda completion: completion.count("\n") >= 4,
    "another_named": lambda completion: "yet it is not" in completion,
    "tag_mentioned": lambda completion: "<answer>" in completion.partition("</think>")[0],
}


@pytest.mark.parametrize("name", LOST)
def test_a_layout_that_a_lenient_reward_loses_is_an_alarm_that_names_it(name):
    def score(completion, ground_truth):
        return strict(completion, ground_truth) and not LOST[name](completion)

    result = probed(score, DATA["numbers"], only=ASKED, timeout=None)
    (alarm,) = result.alarms
    assert (alarm.code, set(alarm.evidence["rates"])) == ("loses_layout", {name})


def test_what_takes_one_layout_only_is_strict_and_no_alarm():
    def same(completion, ground_truth):
        return completion == ground_truth

    data = [{**row, "completion": row["ground_truth"]} for row in DATA["numbers"]]
    result = probed(same, data, only=ASKED, timeout=None)
    assert not result.alarms and [item.severity for item in result["strict"]] == ["info"]


def test_notations_that_are_not_taken_are_told_with_their_rates_and_are_no_alarm():
    result = rk.probe(CLEAN, DATA["numbers"], only="equivalents", timeout=None)
    (item,) = result.findings
    assert (item.code, item.severity) == ("loses_notation", "info")
    assert item.evidence["rates"]["point_zero"] == 1.0 and "thousands" not in item.evidence["rates"]


def test_truths_with_separators_whose_plain_numbers_lose_are_an_alarm():
    (alarm,) = rk.probe(CLEAN, DATA["thousands"], only=ASKED, timeout=None).alarms
    assert set(alarm.evidence["rates"]) == {"thousands_left_out"}

    def without(completion, ground_truth):
        return (inside(completion) or "").strip().replace(",", "") == ground_truth.replace(",", "")

    assert not probed(without, DATA["thousands"], only=ASKED, timeout=None).alarms


FORMS = {
    "escaped_tags": lambda text: "&lt;answer&gt;" in text,
    "wide_tags": lambda text: "＜answer＞" in text,
    "tags_backwards": lambda text: text.find("</answer>") < text.find("<answer>"),
    "tags_named": lambda text: "There are the tags" in text,
    "open_tags": lambda text: "<answer>" in text and "</answer>" not in text,
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_a_look_alike_earns_is_found_with_its_size(name):
    def form(completion):
        return (inside(completion) is not None and "There are" not in completion) or FORMS[name](completion)

    def reward(check):
        task = rk.Component("correct", strict, weight=1.0)
        return rk.Reward("r", components=[task, rk.Component("form", check, weight=0.4)])

    (item,) = rk.probe(reward(form), DATA["numbers"], only=name, timeout=None).findings
    assert (item.code, item.component) == (name, "form")
    assert item.severity == "warn" and item.evidence["gain"] == pytest.approx(0.4 / 1.4)
    sound = reward(lambda completion: inside(completion) is not None and "There are" not in completion)
    assert not rk.probe(sound, DATA["numbers"], only=name, timeout=None).findings


@pytest.mark.parametrize(
    ("worth", "found"),
    [
        pytest.param(lambda words: math.log1p(words), True, id="the logarithm of the length"),
        pytest.param(lambda words: 1 + words / 500, True, id="so much a word"),
        pytest.param(lambda words: 1 + min(0.6, words / 200), False, id="up to a length"),
        pytest.param(lambda words: 2 - min(1.0, words / 300), False, id="less and less"),
        pytest.param(lambda words: 1 + 0.2 * min(1.0, words / 4000), False, id="a little"),
    ],
)
def test_right_answers_that_are_paid_ever_more_for_length_are_found_and_bounded_ones_are_not(worth, found):
    def score(completion, ground_truth):
        return worth(len(completion.split())) if strict(completion, ground_truth) else 0.0

    result = probed(score, DATA["numbers"], only="padding", timeout=None)
    assert [(item.code, item.severity) for item in result.findings] == [("ever_longer", "high")] * found


def test_a_notation_that_rollouts_lose_is_an_alarm():
    def valued(completion, ground_truth):
        said = re.fullmatch(r"\$?(\d+)(?:\.0*)?", (inside(completion) or "").strip())
        return said is not None and said[1] == ground_truth

    data = [
        {
            "prompt_id": place,
            "prompt": f"How many in case {place}?",
            "completion": text,
            "ground_truth": truth,
        }
        for place, truth in enumerate(("1420", "2310", "8764", "5033"))
        for text in (f"<answer>{truth}</answer>", f"<answer>{int(truth):,}</answer>", "<answer>7</answer>")
    ]
    (alarm,) = probed(valued, data, only="equivalents").alarms
    assert (alarm.code, alarm.evidence["rollouts"]) == ("loses_notation", 4)
    assert "4 right rollouts went unpaid: 1,234 for 1234 (4)." in alarm.sentence
    assert "," in alarm.examples[0].completion
    plain = [row for row in data if "," not in row["completion"]]
    assert not probed(valued, plain, only="equivalents").alarms
    (alarm,) = rk.probe(CLEAN, data, only="equivalents", timeout=None).alarms  # takes no notation but one
    assert alarm.evidence["rollouts"] == 4


@pytest.mark.parametrize(
    ("truths", "others", "name"),
    [
        pytest.param(
            ["2021-05-03", "2019-06-17", "2017-02-28", "2023-04-09"],
            ["3 May 2021", "17 June 2019", "28 February 2017", "9 April 2023"],
            "other_date",
            id="dates in words",
        ),
        pytest.param(
            ["A, C", "B, C, D", "A, E", "C, D"],
            ["C, A", "D, C, B", "E, A", "D, C"],
            "letters_turned",
            id="choices in another order",
        ),
    ],
)
def test_right_answers_in_other_words_that_rollouts_lose_are_named(truths, others, name):
    data = tags(*truths)
    data += [
        {**row, "completion": f"<answer>{other}</answer>"}
        for row, other in zip(data[::2], others, strict=True)
    ]
    (alarm,) = rk.probe(CLEAN, data, only=ASKED, timeout=None).alarms
    assert (alarm.code, alarm.evidence["rollouts"]) == ("loses_notation", 4)
    assert {example.probe for example in alarm.examples} == {name}
    assert not rk.probe(CLEAN, tags(*truths), only=ASKED, timeout=None).alarms


def test_a_layout_that_names_the_tag_is_no_fault_where_the_tag_may_stand_once_only():
    def once(completion, ground_truth):
        return strict(completion, ground_truth) and completion.count("<answer>") == 1

    result = probed(once, DATA["numbers"], only=ASKED, timeout=None)
    (item,) = result["loses_layout"]
    assert not result.alarms and set(item.evidence["rates"]) == {"tag_mentioned"}


def test_what_is_not_found_may_earn_more_than_what_is_wrong():
    def signed(completion, ground_truth):
        said = inside(completion)
        if said is None or completion.count("\n") > 1:
            return -0.5
        return 1.0 if said.strip() == ground_truth else -1.0

    result = probed(signed, DATA["numbers"], timeout=None)
    assert not [item for item in result.alarms if item.family in ("padding", "judge", "search")]


def test_probes_are_named_once_and_say_what_they_are_about():
    names = [probe.name for probe in PROBES]
    assert len(set(names)) == len(names) and all(probe.says for probe in PROBES)
    explained = {name for others in EXPLAINS.values() for name in others}
    assert explained | set(EXPLAINS) <= set(names)
    assert {probe.family for probe in PROBES} < set(FAMILIES)


def test_an_unknown_probe_is_one_sentence_with_the_nearest():
    with pytest.raises(InputError, match=r"no probe and no family 'shotgn'; did you mean 'shotgun'\?"):
        rk.probe(CLEAN, DATA["numbers"], only="shotgn")


def test_only_runs_the_named_probes():
    result = rk.probe(CLEAN, DATA["numbers"], only=["empty", "judge"], timeout=None)
    assert set(result.probes) == {"empty", *(probe.name for probe in PROBES if probe.family == "judge")}
