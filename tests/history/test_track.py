"""Kept runs for experiment trackers: what one is told, and refusals; `tests/trainers` has the real trackers."""

import sys
from types import SimpleNamespace

import pandas as pd
import pytest
from commands import refused

import rewardkit as rk


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """A run of a route, one of whose values is no name that trackers take."""
    monkeypatch.chdir(tmp_path)
    right = rk.Component("right", rk.verify.matches)
    tidy = rk.Component("tidy", rk.measure.tags("answer"), weight=0.2)
    parts = {"maths=1": rk.Reward("maths", components=[right])}
    reward = rk.Route("data_source", parts, rk.Reward("rest", components=[right, tidy]))
    rows = []
    for source in ("maths=1", "other"):
        row = {"completion": "a", "prediction": "a", "ground_truth": "a"}
        rows.append({**row, "data_source": source})
    figures = {"effective_weights": {"rest": {"right": 0.9, "tidy": float("nan")}}}
    return rk.score(reward, rk.load_rollouts(pd.DataFrame(rows))).keep(figures=figures)


class Tracker(SimpleNamespace):
    """A tracker with trackio's face, which notes what it is told."""

    def __init__(self, fault=None):
        super().__init__(told=[], fault=fault)

    def init(self, project, **options):
        self.told.append((project, options["config"]))

    def log(self, metrics, **_):
        if self.fault:
            raise self.fault
        self.told.append(metrics)

    def finish(self):
        self.told.append("finished")


def test_names_are_those_that_every_tracker_takes_and_what_is_not_known_is_left_out(
    kept, monkeypatch
):
    tracker = Tracker()
    tracker.Artifact = lambda *_, **__: SimpleNamespace(add_dir=lambda folder: None)
    tracker.log_artifact = lambda artifact: None
    monkeypatch.setitem(sys.modules, "trackio", tracker)
    tracked = rk.track(kept, "trackio")
    (project, config), metrics, last = tracker.told
    assert (project, last) == (kept.version.about["reward"], "finished")
    weights = {name: config[name] for name in config if name.startswith("weight/")}
    assert weights == {
        "weight/maths_1/right": 1.0,
        "weight/default/right": 1.0,
        "weight/default/tidy": 0.2,
    }
    assert metrics["effective_weights/rest/right"] == 0.9
    assert not any("tidy" in name for name in metrics)  # NaN
    assert "signal" not in metrics  # None: no group has two rows
    assert tracked.record()["metrics"] == metrics


NO_ANSWER = (
    "API request to http://localhost:1/api failed with exception HTTPConnection"
    "Pool(host='localhost'): Max retries exceeded (Caused by <urllib3 0x7f>)"
)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("no room", "no room"),
        (NO_ANSWER, "API request to http://localhost:1/api failed"),
    ],
)
def test_a_fault_of_a_tracker_is_its_first_sentence_and_its_run_is_finished(
    kept, monkeypatch, fault, said
):
    tracker = Tracker(fault=OSError(fault))
    monkeypatch.setitem(sys.modules, "trackio", tracker)
    with pytest.raises(rk.InputError, match=rf"did not take v1; it says: {said}$"):
        rk.track(kept, "trackio")
    assert tracker.told[-1] == "finished"


def test_what_cannot_be_exported_is_told(kept, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    refused("runs export v1 --to mlflow", "install it with 'pip install mlflow'")
    refused("runs export v1 --to mlfow", "'mlfow' is not one of 'mlflow', 'trackio'")
    refused("runs export v1", "export names a tracker: give --to")
    refused("runs export v9 --to wandb", "there is no run 'v9'")
    with pytest.raises(rk.InputError, match="did you mean 'mlflow'"):
        rk.track(kept, "mlfow")
    with pytest.raises(rk.InputError, match=r"takes a kept run of rk\.runs"):
        rk.track("v1", "mlflow")
