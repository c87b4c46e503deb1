"""Defects that a review of the core found, each with the case that showed it."""

import csv
import gc
import importlib
import os
import sys
import threading
import weakref

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.analysis import grouping
from rewardkit.analysis.changes import Change, applied
from rewardkit.rollouts.write import write_whole


def style(completion):
    return len(completion) / 100


def right(completion, ground_truth):
    return completion == ground_truth


@pytest.mark.parametrize("names", [("correct", "style"), ("style", "correct")])
def test_of_equal_weights_the_primary_reads_the_truth_in_whatever_order_they_stand(names):
    made = {"correct": rk.Component("correct", right), "style": rk.Component("style", style)}
    assert rk.Reward("r", components=[made[name] for name in names]).primary == "correct"


def test_the_truth_may_be_read_by_a_field():
    fields = {"prediction": rk.extract.number(), "distance": lambda prediction, ground_truth: 1.0}
    near = rk.Component("near", lambda distance: distance)
    assert rk.Reward("r", fields, [rk.Component("style", style), near]).primary == "near"


def test_a_mean_of_one_component_and_a_penalty_shows_its_diagnosis():
    parts = [rk.Component("correct", right), rk.Component("style", style, weight=-0.5)]
    reward = rk.Reward("r", components=parts, aggregation="weighted_mean")
    rows = [
        {"prompt_id": f"p{at // 4}", "completion": "ab"[at % 2] * (1 + at % 3), "ground_truth": "a"}
        for at in range(40)
    ]
    diagnosis = rk.diagnose(rk.score(reward, rows))
    influence = diagnosis.components.set_index("component")["sign_influence"]
    assert np.isnan(influence["correct"]) and influence["style"] >= 0
    assert "correct" in diagnosis._repr_html_()


def test_a_failed_field_behind_a_closed_gate_is_an_error_of_what_is_added_too():
    def number(completion):
        if completion == "bad":
            raise ValueError("no number")
        return 1.0

    gated = rk.Component("gated", lambda number: number, gate=rk.gate("open", at_least=1.0))
    opening = rk.Component("open", lambda completion: 0.0)
    reward = rk.Reward("r", {"number": number}, [opening, gated])
    scores = rk.score(reward, [{"completion": text, "prompt_id": "p"} for text in ("bad", "fine")])
    added = Change(added=(rk.Component("new", lambda number: 0.5),))
    changed = applied(added, scores)
    assert changed.table["status/new"].tolist() == ["error", "scored"]
    assert np.isnan(changed.score("new")[0]) and "no number" in changed.table["error/new"][0]


def test_a_fingerprint_is_of_the_code_that_ran_though_its_file_is_edited_afterwards(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "edited_after_scoring.py"
    file.write_text("def paid(completion):\n    return 1.0\n")
    module = importlib.import_module("edited_after_scoring")
    reward = rk.Reward("r", components=[rk.Component("paid", module.paid)])
    before = reward.record()["fingerprints"]
    file.write_text("def paid(completion):\n    return 0.0\n")
    assert rk.score(reward, [{"completion": "x"}]).rewards.tolist() == [1.0]
    assert reward.reweigh({"paid": 2.0}).reweigh({"paid": 1.0}).record()["fingerprints"] == before
    importlib.invalidate_caches()
    sys.modules.pop("edited_after_scoring")
    again = importlib.import_module("edited_after_scoring")
    assert rk.Reward("r", components=[rk.Component("paid", again.paid)]).record()["fingerprints"] != before


def test_a_route_tells_weights_that_differ_as_not_one_and_can_be_replaced():
    from dataclasses import replace

    heavy = rk.Reward("a", components=[rk.Component("c", style, weight=2.0)])
    light = rk.Reward("b", components=[rk.Component("c", style, weight=0.5), rk.Component("d", style)])
    route = rk.Route("data_source", {"x": heavy, "y": light})
    assert np.isnan(route.weights["c"]) and route.weights["d"] == 1.0
    renamed = replace(route, name="other")
    assert renamed.name == "other" and renamed.record()["route"] == route.record()["route"]
    got = rk.score(renamed, [{"completion": "x" * 50, "data_source": s} for s in "xyz"])
    assert got.rewards.tolist()[:2] == [1.0, 0.75] and np.isnan(got.rewards[2])


def test_whole_numbers_take_the_fast_way_and_a_huge_one_is_an_error_of_its_row():
    counted = rk.Component("counted", lambda completion: int(completion), range=None)
    scores = rk.score(
        rk.Reward("r", components=[counted]), [{"completion": text} for text in ("3", "1" + "0" * 400, "-2")]
    )
    assert scores.score("counted").tolist()[::2] == [3.0, -2.0]
    assert scores.table["status/counted"].tolist() == ["scored", "error", "scored"]


def test_files_get_the_permissions_of_the_process_which_keeps_its_umask(tmp_path):
    seen = set()
    done = threading.Event()

    def watch():
        while not done.is_set():
            mask = os.umask(0o027)
            seen.add(mask)
            os.umask(mask)

    old = os.umask(0o027)
    try:
        thread = threading.Thread(target=watch)
        thread.start()
        for at in range(200):
            write_whole(tmp_path / f"{at}.txt", lambda path: path.write_text("x"))
        done.set()
        thread.join()
        modes = {(tmp_path / f"{at}.txt").stat().st_mode & 0o777 for at in range(200)}
    finally:
        done.set()
        os.umask(old)
    assert seen == {0o027} and modes == {0o640}


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")

    def full(path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_whole(file, full)
    assert file.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]


def test_resamples_are_shared_while_one_has_them_and_then_let_go():
    one, two = (grouping.Bootstrap(np.arange(50), resamples=20) for _ in range(2))
    assert one.weights is two.weights
    kept = weakref.ref(one.weights)
    del one, two
    gc.collect()
    assert kept() is None


# 4: extras of a TRL log become rewards


def trl_log(*, weights=(1.0, 1.0), scaled=True, **extras):
    """Two reward functions and what log_extra brought, as floats; advantages as TRL computes them."""
    draw = np.random.default_rng(0)
    rows = []
    for prompt in range(6):
        rewards = draw.random((4, 2)).astype(np.float32)
        total = rewards @ np.array(weights)
        advantages = (total - total.mean()) / (total.std(ddof=1) + 1e-4 if scaled else 1.0)
        for at in range(4):
            own = {name: float(np.float32(make(prompt, at, draw))) for name, make in extras.items()}
            judged = {"accuracy_reward": float(rewards[at, 0]), "style": float(rewards[at, 1])}
            head = {"step": 1, "prompt": f"p{prompt}", "completion": f"c{at}"}
            rows.append({**head, **judged, **own, "advantage": float(np.float32(advantages[at]))})
    return rows


EXTRAS = {
    "difficulty": lambda prompt, at, draw: prompt,
    "num_tokens": lambda prompt, at, draw: draw.integers(500),
}


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("extras", [{}, EXTRAS, {"difficulty": EXTRAS["difficulty"]}], ids=list)
def test_numbers_that_trl_logged_beside_the_rewards_are_no_rewards(scaled, extras):
    logged = rk.load_rollouts(trl_log(scaled=scaled, **extras)).logged
    assert logged.weights == {"accuracy_reward": 1.0, "style": 1.0, **dict.fromkeys(extras, 0.0)}


def test_where_the_advantages_do_not_tell_which_are_rewards_that_is_said():
    rollouts = rk.load_rollouts(trl_log(weights=(1.0, 0.2), **EXTRAS))
    assert set(rollouts.logged.weights.values()) == {1.0}
    (said,) = [text for text in rollouts.warnings if "cannot be told from the advantages" in text]
    assert "'num_tokens'" in said


# 10: the limit on cells of CSV is the process's


def test_reading_csv_never_lowers_a_limit_that_others_read_under(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("completion,prompt\n" + "x" * 200_000 + ",p\n")
    before = csv.field_size_limit(131_072)
    try:
        assert len(rk.load_rollouts(path).columns()["completion"][0]) == 200_000
        assert csv.field_size_limit() >= 200_000
    finally:
        csv.field_size_limit(before)


# what a full disk leaves


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_of_two_files_that_belong_together_a_full_disk_leaves_neither(tmp_path, monkeypatch):
    scores = rk.score(rk.Reward("r", components=[rk.Component("c", style)]), [{"completion": "a"}])
    before = scores.save(tmp_path / "out")
    texts = {path.name: path.read_bytes() for path in before.iterdir()}

    def full(path, text, **options):
        with open("/dev/full", "w") as disk:
            disk.write(text)

    monkeypatch.setattr("pathlib.Path.write_text", full)
    other = rk.score(rk.Reward("other", components=[rk.Component("d", style)]), [{"completion": "b"}])
    with pytest.raises(OSError, match=r"No space left on device: '.*run\.json'"):
        other.save(tmp_path / "out")
    assert {path.name: path.read_bytes() for path in before.iterdir()} == texts
