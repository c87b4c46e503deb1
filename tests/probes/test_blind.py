"""Where nothing is found: whether what was tried could have found a hole, and what wrong answers earn."""

import json
import math
import random
from dataclasses import replace
from functools import partial

import pytest
from planted_probes import CLEAN, inside, made, number, probed, somewhere, strict

import rewardkit as rk
from rewardkit.notebook.tiles import holes_tile
from rewardkit.probes.result import Inconclusive

pytestmark = pytest.mark.integration

chance = random.Random(0)


def raises(completion):
    raise KeyError("answer")


def noisy(completion, ground_truth):
    return strict(completion, ground_truth) * chance.random()


def formed(completion):
    """Whether the last answer tag has a number."""
    return not math.isnan(number(inside(completion)))


NOT_GREEN = {
    # the reward, options of probe, what the tile says beside its figure
    "only the contract": (CLEAN, {"only": "contract"}, "-", "only the contract"),
    "right answers alone": (
        CLEAN,
        {"only": "equivalents"},
        "-",
        "no wrong answer could be tried",
    ),
    "it fails on all": (raises, {}, "-", "it judged none of what was tried"),
    "chance": (noisy, {}, "-", "differs by up to"),
    "no time": (CLEAN, {"budget": 1e-6}, "-", "was over before"),
    "few probes": (CLEAN, {"only": ["padding"]}, "0 found", "only= leaves out"),
}


@pytest.mark.parametrize(
    ("reward", "options", "figure", "reason"), NOT_GREEN.values(), ids=NOT_GREEN
)
def test_nothing_found_is_not_green_where_nothing_could_have_been_found(
    reward, options, figure, reason
):
    result = probed(reward, search=0, **options)
    tile = holes_tile(result)
    assert (tile.grade, tile.figure) == ("info", figure)
    assert reason in tile.reason and tile.is_unknown


def test_nothing_found_is_green_where_all_was_tried_and_wrong_answers_earn_nothing():
    result = probed(CLEAN)
    assert (result.why_blind, result.gaps, result.wrong_share) == ("", (), 0.0)
    tile = holes_tile(result)
    assert (tile.grade, tile.figure) == ("good", "0 found")
    assert "a wrong answer" not in tile.words


def test_what_a_well_formed_wrong_answer_earns_is_on_the_tile():
    components = [
        rk.Component("right", strict, weight=0.75),
        rk.Component("formed", formed, weight=0.25),
    ]
    result = probed(rk.Reward("formed", components=components))
    assert result.wrong_share == pytest.approx(0.25)
    tile = holes_tile(result)
    assert (tile.grade, tile.figure) == ("good", "0 found")
    assert "a wrong answer earns up to 25 %" in tile.words


def test_what_wrong_completions_of_the_log_earn_is_on_the_tile_where_it_is_more():
    """Half of the values of an object are paid; a made-up wrong object has none right."""
    rows = []
    for bill in range(10):
        truth = {"total": 31 * bill + 20, "city": f"town {bill}"}
        for total in (truth["total"], 7, 9000, truth["total"]):
            stated = json.dumps({**truth, "total": total})
            row = {"prompt_id": bill, "prompt": f"Bill {bill}?"}
            rows.append(
                {**row, "completion": stated, "ground_truth": json.dumps(truth)}
            )
    component = rk.Component("values", partial(rk.verify.json_equal, partial=True))
    reward = rk.Reward("bill", {"prediction": rk.extract.json_value()}, [component])
    result = rk.probe(reward, rows, search=0, expects_partial=True)
    assert result.logged_wrong == result.wrong_share == 0.5
    assert "a wrong answer earns up to 50 %" in holes_tile(result).words
    assert "Wrong completions of the log: 50 %" in result.text(verbose=True)


def test_without_a_right_answer_nothing_is_said_of_what_wrong_ones_earn():
    result = probed(made(raises), search=0)
    assert math.isnan(result.wrong_share)


@pytest.mark.parametrize("only", [None, "contract"])
def test_a_reward_that_always_raises_breaks_the_contract_also_by_itself(only):
    result = probed(raises, only=only, search=0)
    (alarm,) = result["always_errors"]
    assert alarm in result.alarms and "KeyError: 'answer'" in alarm.sentence


@pytest.fixture(scope="module")
def clean():
    return probed(CLEAN, search=0)


def doubted(clean, doubt):
    """The result with a finding for information, of something that is paid."""
    finding = probed(somewhere, search=0).alarms[0]
    evidence = {**finding.evidence, "doubt": doubt}
    finding = replace(finding, severity="info", evidence=evidence)
    return replace(clean, findings=(finding,)), finding.code


def test_what_is_not_decided_makes_nothing_found_neutral(clean):
    open_part = Inconclusive("chemistry", "no right answer is known")
    result = replace(clean, inconclusive=(*clean.inconclusive, open_part))
    assert result.gaps == ("not decided: chemistry",)
    assert holes_tile(result).grade == "info"
    assert "calls; not decided: chemistry" in result.verdict
    result, code = doubted(clean, "one_answer")
    assert result.gaps == (f"not decided: {code}",)


def test_luck_on_a_few_prompts_is_decided(clean):
    result, _ = doubted(clean, "rare")
    assert result.gaps == () and holes_tile(result).grade == "good"
