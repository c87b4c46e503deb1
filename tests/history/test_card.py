"""The card: what is known of a reward, read from its definition, kept runs and a baseline."""

import json

import pytest

import rewardkit as rk
from rewardkit.errors import InputError
from rewardkit.history.baseline import accept
from rewardkit.history.card import card
from rewardkit.history.versions import note_figures

FILE = '''"""Invoices: is the total the one on the paper?

What it misses: the currency.
"""
import rewardkit as rk

def total(completion, ground_truth):
    return float(completion == ground_truth)

def short(completion):
    return max(0.0, 1 - len(completion) / 10)

reward = rk.Reward("invoices", components=[
    rk.Component("total", total, weight=1.0, why="the task itself"),
    rk.Component("short", short, weight=WEIGHT, why="answers are read by a parser",
                 gate=rk.gate("total", at_least=1.0)),
])
'''
ROWS = [
    {"prompt": f"{n}?", "completion": text, "ground_truth": str(n)}
    for n in range(12)
    for text in (str(n), "none", f"about {n}", "")
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with two kept versions of a reward, checked and probed, and its file."""
    folder = tmp_path_factory.mktemp("card")
    path = folder / "invoices.py"
    for weight, note in ((0.4, "first"), (0.2, "brevity paid less")):
        path.write_text(FILE.replace("WEIGHT", str(weight)))
        reward = rk.load_reward(f"{path}:reward")
        rk.keep(rk.score(reward, ROWS), note=note, folder=folder / "runs")
    note_figures(reward, {"cases": [7, 8], "exploits": 1}, folder / "runs")
    return folder


def read(kept):
    return rk.load_reward(f"{kept / 'invoices.py'}:reward")


def test_a_card_says_purpose_components_checks_data_and_versions(kept):
    told = card(read(kept), folder=kept / "runs")
    text = " ".join(told.text(verbose=True).split())
    for words in (
        "Card of invoices, v2",
        "Invoices: is the total the one on the paper?",
        "What it misses: the currency.",
        "total (the task)",
        "the task itself",
        "gate('total', at_least=1.0)",
        "cases: 7 of 8 pass",
        "probes: 1 found",
        "data: 48 rollouts from memory",
        "brevity paid less",
        "where a score is missing: the reward is not judged",
        "No finding is accepted.",
    ):
        assert words in text, words
    assert [run.note for run in told.versions] == ["brevity paid less", "first"]


def test_the_card_of_a_kept_run_is_that_of_its_reward(kept):
    newest = rk.runs(kept / "runs")["v2"]
    assert card(newest).record() == card(read(kept), folder=kept / "runs").record()
    first = card(rk.runs(kept / "runs")["v1"])
    assert first.purpose == card(newest).purpose
    assert first.about["components"][1]["weight"] == 0.4


def test_what_nobody_measured_is_said_to_be_unknown_with_what_measures_it(tmp_path):
    told = card(rk.load_reward("gallery:arithmetic"), folder=tmp_path)
    assert told.run is None and told.figures == {} and len(told.versions) == 0
    text = str(told)
    for name in ("check", "probe", "score"):
        assert f"not known: rewardkit {name} REWARD" in text


def test_known_holes_stand_with_their_reasons_and_what_training_came_to(kept, tmp_path):
    flawed = rk.load_reward("gallery:arithmetic.flawed")
    found = rk.diagnose(rk.score(flawed, "gallery:arithmetic"))
    path = tmp_path / "accepted.json"
    accept(path, found.alarms[:1], "the old prompts", reward=flawed.name)
    accept(path, found.alarms[:1], "of another", reward="invoices")
    content = json.loads(path.read_text())
    content["accepted"][0]["until"] = "2026-01-31"
    path.write_text(json.dumps(content))
    watched = rk.monitor("gallery:brevity")
    told = card(flawed, folder=tmp_path, baseline=path, training=[watched])
    (entry,) = told.accepted
    assert entry.finding == found.alarms[0].key
    text = " ".join(str(told).split())
    assert "the old prompts" in text
    assert "2026-01-31 (over)" in text and "of another" not in text
    assert f"{watched.verdict}. {watched.sentence}" in text


def test_a_route_has_the_components_of_each_part(tmp_path):
    text = str(card(rk.load_reward("gallery:routed"), folder=tmp_path))
    reward = rk.load_reward("gallery:routed")
    for value, part in reward.rewards.items():
        assert f"{reward.routed_by} {value}" in text
        assert part.components
        for item in part.components:
            assert item.name in text
            assert item.why and item.why[:30] in text


def test_what_is_no_reward_has_no_card():
    with pytest.raises(InputError, match="card takes a reward or a kept run, not 'v2'"):
        card("v2")
